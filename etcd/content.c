/* content - the contents of artifacts in etcd.

   P/a/<sha256> has, for a content, the number of its parts that are there, its
   size in bytes, and the time of the last put. P/a is the sum of those sizes,
   and P/c/<sha256>/<i> is part i. A transaction puts one part and counts it, if
   the count is as it was read; the first one also adds to the sum. So a host
   that puts the same content at the same time, or after one that was killed,
   continues there, nothing is counted twice, and the counts show what is whole.

   A host keeps what it has fetched as a file, checked against its name. A
   damaged content is dropped, so that it can be put again. Others are kept for
   at least one day after the last put: a batch that refers to a content comes
   right after its put. */

#include "etcd/content.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "etcd/engine.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CONTENT_MAX (2 * PART_MAX)
#define MAX_TRIES 100 /* that others overtake */
#define KEEP_MS (24 * 60 * 60 * 1000)
#define LIST 1000     /* names in an answer */

/* ---- keys ---- */

#define ALL "a" /* the sum of all */

static struct head_key
part_key(const struct engine *e, uint64_t i)
{
    return head_key("c/%s/%llu", e->content.hex, (unsigned long long)i);
}

static uint64_t
parts_of(uint64_t bytes)
{
    return bytes <= PART_MAX ? 1 : (bytes + PART_MAX - 1) / PART_MAX;
}

/* Reads what operation 0 found. What makes no sense counts as absent. */
static int
read_about(struct engine *e, const struct txn_answer *t)
{
    struct txn_kv kv;
    int rc = txn_only(&e->mem, t, 0, &kv);
    struct str rest;

    e->content.mod = rc == 0 ? kv.mod : 0;
    if (rc == 0) {
        rest = kv.value;
        if (str_u64(str_cut(&rest, ' '), &e->content.parts) &&
            str_u64(str_cut(&rest, ' '), &e->content.bytes) &&
            str_u64(rest, &e->content.at_ms) &&
            e->content.bytes <= CONTENT_MAX)
            return 0;
        rc = ERR_NOT_FOUND;
    }
    e->content.parts = e->content.bytes = e->content.at_ms = 0;
    return rc;
}

/* The same, and the sum, which operation 1 found. */
static int
read_both(struct engine *e, const struct txn_answer *t)
{
    struct txn_kv kv;

    e->content.sum = 0;
    e->content.sum_mod = 0;
    if (txn_only(&e->mem, t, 1, &kv) == 0 &&
        str_u64(kv.value, &e->content.sum))
        e->content.sum_mod = kv.mod;
    return read_about(e, t);
}

static void
range_both(struct engine *e)
{
    txn_range(&e->body, e->content.about, NULL);
    txn_range(&e->body, ALL, NULL);
}

static int
request_both(struct engine *e, engine_fn *then)
{
    e->content.changes = false;
    txn_then(&e->body);
    range_both(e);
    return engine_send_txn(e, then);
}

/* Ends the first part of a transaction; MAX_TRIES limits how often it fails. */
static int
send_change(struct engine *e, engine_fn *then)
{
    if (e->tries++ == MAX_TRIES)
        return engine_fail(e, ERR_BUSY, "etcd: other hosts keep changing the "
                           "artifacts; try again");
    e->content.changes = true;
    txn_else(&e->body);
    range_both(e);
    return engine_send_txn(e, then);
}

static void
put_sum(struct engine *e, uint64_t sum)
{
    char text[24];

    text_put(text, sizeof(text), "%llu", (unsigned long long)sum);
    txn_put(&e->body, ALL, str_of(text), 0);
}

static bool
is_right(const struct engine *e)
{
    char hex[SHA256_HEX + 1];

    sha256_hex(buf_view(&e->content.buf), hex);
    return strcmp(hex, e->content.hex) == 0;
}

/* ---- to etcd ---- */

static int put_content_part(struct engine *e);

static int
on_put(struct engine *e, const struct txn_answer *t)
{
    uint64_t all = parts_of(e->content.buf.len);
    int rc;

    if (e->content.changes && t->succeeded) {
        e->content.mod = t->revision;
        return ++e->content.parts >= all ? 0 : put_content_part(e);
    }
    rc = read_both(e, t);
    return rc == 0 || rc == ERR_NOT_FOUND ? put_content_part(e) : rc;
}

/* If all parts are there already, only the time is new. */
static int
put_content_part(struct engine *e)
{
    uint64_t i = e->content.parts, size = e->content.buf.len;
    struct str rest = buf_view(&e->content.buf);
    char text[80];
    bool is_new = e->content.mod == 0;

    if (is_new && e->content.sum + size > e->url.artifacts_mib << 20)
        return engine_fail(e, ERR_FULL, "etcd has no room for more artifacts; "
                           "run \"mcptask compact --orphans\", or raise "
                           "artifacts=%llu (MiB) in the URL of the store",
                           (unsigned long long)e->url.artifacts_mib);
    txn_if_mod(&e->body, e->content.about, e->content.mod);
    if (is_new)
        txn_if_mod(&e->body, ALL, e->content.sum_mod);
    txn_then(&e->body);
    if (i < parts_of(size)) {
        rest = str_from(rest, (size_t)(i * PART_MAX));
        rest.len = rest.len < PART_MAX ? rest.len : PART_MAX;
        txn_put(&e->body, part_key(e, i++).z, rest, 0);
    }
    text_put(text, sizeof(text), "%llu %llu %lld", (unsigned long long)i,
             (unsigned long long)size, (long long)clock_wall_ms());
    txn_put(&e->body, e->content.about, str_of(text), 0);
    if (is_new)
        put_sum(e, e->content.sum + size);
    return send_change(e, on_put);
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
                           "%.200s: %s", path, strerror(errno));
    e->content.buf.len = (size_t)n;
    if (n > CONTENT_MAX)
        return engine_fail(e, ERR_TOO_LARGE, "%.200s: longer than 1 MiB",
                           path);
    return is_right(e) ? 0 : engine_fail(e, ERR_DAMAGED, "%.200s: its content "
                                         "does not match its name", path);
}

/* ---- out of etcd ---- */

static int
on_drop(struct engine *e, const struct txn_answer *t)
{
    int err = e->content.damaged ? ERR_DAMAGED : 0, rc;
    int64_t mod = e->content.mod;

    if (e->content.changes && t->succeeded)
        return err;
    rc = read_both(e, t);
    if (e->content.mod == 0 || (err != 0 && e->content.mod != mod))
        return err;
    if (err == 0 && rc == 0 && clock_wall_ms() - (int64_t)e->content.at_ms <
                                   KEEP_MS)
        return ERR_BUSY;
    txn_if_mod(&e->body, e->content.about, e->content.mod);
    txn_if_mod(&e->body, ALL, e->content.sum_mod);
    txn_then(&e->body);
    txn_delete(&e->body, e->content.about, NULL);
    txn_delete(&e->body, head_key("c/%s/", e->content.hex).z,
               head_key("c/%s0", e->content.hex).z);
    put_sum(e, e->content.sum > e->content.bytes
                   ? e->content.sum - e->content.bytes : 0);
    return send_change(e, on_drop);
}

/* ---- from etcd ---- */

static int
fail_lacking(struct engine *e, int err, const char *what)
{
    return engine_fail(e, err, "etcd %s content of artifact %.12s...; run "
                       "\"mcptask push --continue\" on a host that has it",
                       what, e->content.hex);
}

static int request_content_part(struct engine *e);

static int
on_get(struct engine *e, const struct txn_answer *t)
{
    struct txn_kv kv;
    int rc = read_about(e, t);

    if (rc == ERR_NOT_FOUND ||
        (rc == 0 && e->content.parts < parts_of(e->content.bytes)))
        return fail_lacking(e, ERR_NOT_FOUND, "lacks the");
    if (rc == 0)
        rc = txn_only(&e->mem, t, 1, &kv);
    if (rc == 0)
        buf_str(&e->content.buf, kv.value);
    if (rc == 0 && e->content.buf.err == 0 &&
        ++e->content.next < e->content.parts)
        return request_content_part(e);
    if (rc == ERR_NOMEM || e->content.buf.err != 0)
        return ERR_NOMEM;
    e->content.damaged = rc != 0 || !is_right(e);
    if (e->content.damaged) {
        fail_lacking(e, ERR_DAMAGED, "had a damaged");
        return request_both(e, on_drop);
    }
    rc = file_write_whole(e->content.dir, e->content.hex,
                          buf_view(&e->content.buf));
    return rc == 0 ? 0 : engine_fail(e, rc, "%.200s: %s", e->content.dir,
                                     strerror(errno));
}

static int
request_content_part(struct engine *e)
{
    txn_then(&e->body);
    txn_range(&e->body, e->content.about, NULL);
    txn_range(&e->body, part_key(e, e->content.next).z, NULL);
    return engine_send_txn(e, on_get);
}

static int
on_contents(struct engine *e, const struct txn_answer *t)
{
    const struct json_tok *kv = NULL;
    size_t skip = strlen(e->url.prefix) + 3;
    struct txn_kv v;
    int rc = 0;

    buf_reset(&e->lines, 0);
    while (rc == 0 && (kv = txn_next(t, 0, kv)) != NULL &&
           (rc = txn_kv(&e->mem, kv, &v)) == 0) {
        if (v.key.len != skip + SHA256_HEX)
            return engine_fail(e, ERR_FORMAT, "etcd: %.*s is not an artifact's "
                               "content", STR_ARG(v.key));
        buf_str(&e->lines, str_from(v.key, skip));
        buf_char(&e->lines, '\n');
    }
    e->news.lines = buf_view(&e->lines);
    return rc == 0 ? e->lines.err : rc;
}

int
content_begin(struct engine *e, const char *dir, const char *hex,
              enum remote_content what)
{
    int rc;

    e->content.dir = dir;
    text_put(e->content.hex, sizeof(e->content.hex), "%s", hex);
    text_put(e->content.about, sizeof(e->content.about), ALL "/%s", hex);
    e->content.next = 0;
    e->content.damaged = false;
    if (what == REMOTE_FETCH)
        return request_content_part(e);
    if (what == REMOTE_LIST) { /* hex "": from the beginning */
        txn_then(&e->body);
        txn_first(&e->body,
                  head_key(ALL "/%s%s", hex, hex[0] != '\0' ? "." : "").z,
                  "a0", LIST);
        return engine_send_txn(e, on_contents);
    }
    if (what == REMOTE_DROP)
        return request_both(e, on_drop);
    rc = read_file(e, dir);
    return rc == 0 ? request_both(e, on_put) : rc;
}
