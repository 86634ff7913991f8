/* content - the contents of artifacts in etcd.

   P/a/<sha256> says of a content how many of its parts are there, how many
   bytes it has, and when somebody last put it; P/a is the sum of those bytes;
   P/c/<sha256>/<i> is part i. A transaction puts one part and counts it, if the
   count is as it was read; the first one also adds to the sum. So whoever puts
   the same content at the same time, or after one that was killed, goes on from
   there, nothing is counted twice, and what is whole says so.

   A host keeps what it has fetched as a file, checked against its name. */

#include "etcd/content.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PART (512 * 1024)
#define CONTENT_MAX (2 * PART)
#define MAX_TRIES 100 /* that others overtake */

/* ---- keys ---- */

static const char *
about_key(const struct engine *e, char key[HEAD_KEY])
{
    return head_key(key, e->url.prefix, "a/%s", e->content.hex);
}

static const char *
sum_key(const struct engine *e, char key[HEAD_KEY])
{
    return head_key(key, e->url.prefix, "a");
}

static const char *
part_key(const struct engine *e, char key[HEAD_KEY], uint64_t i)
{
    return head_key(key, e->url.prefix, "c/%s/%llu", e->content.hex,
                    (unsigned long long)i);
}

static uint64_t
parts_of(uint64_t bytes)
{
    return bytes <= PART ? 1 : (bytes + PART - 1) / PART;
}

/* Reads what operation 0 found. What makes no sense is as good as nothing. */
static int
read_about(struct engine *e, const struct txn_answer *t)
{
    struct txn_kv kv;
    int rc = txn_only(&e->mem, t, 0, &kv);
    struct str rest = kv.value;

    e->content.parts = 0;
    e->content.mod = 0;
    if (rc != 0)
        return rc;
    e->content.mod = kv.mod;
    return str_u64(str_cut(&rest, ' '), &e->content.parts) &&
                   str_u64(str_cut(&rest, ' '), &e->content.bytes) &&
                   e->content.bytes <= CONTENT_MAX
               ? 0 : ERR_NOT_FOUND;
}

static bool
is_right(const struct engine *e)
{
    char hex[SHA256_HEX + 1];

    sha256_hex(buf_view(&e->content.buf), hex);
    return strcmp(hex, e->content.hex) == 0;
}

static int
end(struct engine *e, int rc)
{
    buf_fini(&e->content.buf);
    return rc;
}

/* ---- to etcd ---- */

static int put_part(struct engine *e);

static int
on_put(struct engine *e, const struct etcd_answer *a)
{
    uint64_t all = parts_of(e->content.buf.len), used = 0;
    struct txn_answer t;
    struct txn_kv kv;
    int rc = txn_read(&e->mem, a->body, &t);

    if (rc != 0)
        return end(e, rc);
    if (e->content.puts && t.succeeded) {
        e->content.mod = t.revision;
        return ++e->content.parts >= all ? end(e, 0) : put_part(e);
    }
    rc = read_about(e, &t);
    if (rc != 0 && rc != ERR_NOT_FOUND)
        return end(e, rc);
    e->content.sum_mod = 0;
    if (txn_only(&e->mem, &t, 1, &kv) == 0 && str_u64(kv.value, &used))
        e->content.sum_mod = kv.mod;
    e->content.sum = used;
    return put_part(e);
}

/* What is whole already only gets a new time. */
static int
put_part(struct engine *e)
{
    uint64_t i = e->content.parts, size = e->content.buf.len;
    struct str rest = buf_view(&e->content.buf);
    char about[HEAD_KEY], sum[HEAD_KEY], key[HEAD_KEY], text[80];
    bool is_new = e->content.mod == 0;

    if (is_new && e->content.sum + size > e->url.artifacts_mib << 20)
        return end(e, engine_fail(e, ERR_FULL, "etcd has no room for more "
            "artifacts: artifacts=%llu in the URL of the store is the limit "
            "in MiB", (unsigned long long)e->url.artifacts_mib));
    if (e->tries++ == MAX_TRIES)
        return end(e, engine_fail(e, ERR_BUSY, "etcd: other hosts change the "
                                  "artifacts all the time: try again"));
    e->content.puts = true;
    txn_begin(&e->body);
    txn_if_mod(&e->body, about_key(e, about), e->content.mod);
    sum_key(e, sum);
    if (is_new)
        txn_if_mod(&e->body, sum, e->content.sum_mod);
    txn_then(&e->body);
    if (i < parts_of(size)) {
        rest = str_from(rest, i * PART);
        rest.len = rest.len < PART ? rest.len : PART;
        txn_put(&e->body, part_key(e, key, i++), rest, 0);
    }
    text_put(text, sizeof(text), "%llu %llu %lld", (unsigned long long)i,
             (unsigned long long)size, (long long)clock_wall_ms());
    txn_put(&e->body, about, str_of(text), 0);
    text_put(text, sizeof(text), "%llu",
             (unsigned long long)(e->content.sum + size));
    if (is_new)
        txn_put(&e->body, sum, str_of(text), 0);
    txn_else(&e->body);
    txn_range(&e->body, about, NULL);
    txn_range(&e->body, sum, NULL);
    return engine_ask_txn(e, on_put);
}

/* Reads the file dir/hex. */
static int
read_file(struct engine *e, const char *dir)
{
    char path[4096], *room = buf_room(&e->content.buf, CONTENT_MAX + 1);
    ssize_t n = -1;
    int fd;

    text_put(path, sizeof(path), "%s/%s", dir, e->content.hex);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && room != NULL)
        n = file_read_at(fd, room, CONTENT_MAX + 1, 0);
    if (fd >= 0)
        close(fd);
    if (n < 0)
        return engine_fail(e, room == NULL ? ERR_NOMEM : ERR_NOT_FOUND,
                           "%.200s: %s", path, err_text(errno));
    e->content.buf.len = (size_t)n;
    if (n > CONTENT_MAX)
        return engine_fail(e, ERR_TOO_LARGE, "%.200s: longer than 1 MiB",
                           path);
    return is_right(e) ? 0 : engine_fail(e, ERR_DAMAGED, "%.200s: its content "
                                         "is not what its name says", path);
}

/* ---- from etcd ---- */

static int
lacks(struct engine *e, int err, const char *what)
{
    return end(e, engine_fail(e, err, "etcd %s content %.12s... of an "
        "artifact: mcptask push --continue on a host that has it puts it there",
        what, e->content.hex));
}

static int ask_part(struct engine *e);

static int
on_get(struct engine *e, const struct etcd_answer *a)
{
    struct txn_answer t;
    struct txn_kv kv;
    int rc = txn_read(&e->mem, a->body, &t);

    if (rc == 0)
        rc = read_about(e, &t);
    if (rc == ERR_NOT_FOUND ||
        (rc == 0 && e->content.parts < parts_of(e->content.bytes)))
        return lacks(e, ERR_NOT_FOUND, "lacks the");
    if (rc == 0)
        rc = txn_only(&e->mem, &t, 1, &kv);
    if (rc == 0)
        buf_str(&e->content.buf, kv.value);
    if (rc == 0 && e->content.buf.err == 0 &&
        ++e->content.next < e->content.parts)
        return ask_part(e);
    if (rc == ERR_NOMEM || e->content.buf.err != 0)
        return end(e, ERR_NOMEM);
    if (rc != 0 || !is_right(e))
        return lacks(e, ERR_DAMAGED, "has a damaged");
    rc = file_write_whole(e->content.dir, e->content.hex,
                          buf_view(&e->content.buf));
    return end(e, rc == 0 ? 0 : engine_fail(e, rc, "%.200s: %s",
                                            e->content.dir, err_text(errno)));
}

static int
ask_part(struct engine *e)
{
    char key[HEAD_KEY];

    txn_begin(&e->body);
    txn_then(&e->body);
    txn_range(&e->body, about_key(e, key), NULL);
    txn_range(&e->body, part_key(e, key, e->content.next), NULL);
    return engine_ask_txn(e, on_get);
}

/* ---- both ---- */

int
content_begin(struct engine *e, const char *dir, const char *hex, bool put)
{
    char key[HEAD_KEY];
    int rc;

    buf_fini(&e->content.buf);
    e->content.dir = dir;
    text_put(e->content.hex, sizeof(e->content.hex), "%s", hex);
    e->content.next = 0;
    e->content.puts = false;
    if (!put)
        return ask_part(e);
    rc = read_file(e, dir);
    if (rc != 0)
        return end(e, rc);
    txn_begin(&e->body);
    txn_then(&e->body);
    txn_range(&e->body, about_key(e, key), NULL);
    txn_range(&e->body, sum_key(e, key), NULL);
    return engine_ask_txn(e, on_put);
}
