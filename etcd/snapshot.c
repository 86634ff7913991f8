/* snapshot - makes a whole local log, empty or from the snapshot in etcd.

   A snapshot is the log of another host, after a compaction there, in parts.
   Each line gets the generation of this host while the parts arrive, so no more
   than a part and a line is in memory. The file appears beside the log under a
   name of this process and is synced before the store sees it. A process that
   was killed leaves its file; the next one that makes such a file removes
   it. */

#include "etcd/snapshot.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/os.h"
#include "base/text.h"
#include "store/record.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BUFFER (256 * 1024)
#define LEFT_S (60 * 60) /* without a write: its process was killed */

void
snapshot_drop(struct engine *e)
{
    if (e->file.fd >= 0)
        close(e->file.fd);
    if (e->file.path != NULL)
        unlink(e->file.path); /* unless the store has taken it */
    free(e->file.path);
    e->file.path = NULL;
    e->file.fd = -1;
    buf_fini(&e->file.in);
    buf_fini(&e->file.out);
}

static int
fail_file(struct engine *e, int err)
{
    engine_fail(e, err, "%.200s: %s", e->file.path, strerror(errno));
    snapshot_drop(e);
    return err;
}

/* Removes the files beside path that killed processes left. Their numbers may
   be those of another container, so their age decides. */
static void
remove_left(const char *path)
{
    const char *name = file_name(path);
    size_t n = (size_t)(strrchr(name, '-') + 1 - name);
    char *in = file_dir_of(path);
    DIR *dir = in != NULL ? opendir(in) : NULL;
    struct dirent *f;
    struct stat st;

    while (dir != NULL && (f = readdir(dir)) != NULL)
        if (strncmp(f->d_name, name, n) == 0 &&
            fstatat(dirfd(dir), f->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            clock_wall_ms() / 1000 - st.st_mtime > LEFT_S)
            unlinkat(dirfd(dir), f->d_name, 0);
    if (dir != NULL)
        closedir(dir);
    free(in);
}

static int
open_file(struct engine *e)
{
    snapshot_drop(e);
    e->file.path = engine_path(e, ".replica-");
    if (e->file.path == NULL)
        return ERR_NOMEM;
    remove_left(e->file.path);
    unlink(e->file.path); /* left by a process of that number */
    e->file.fd = file_create(e->file.path);
    if (e->file.fd < 0)
        return fail_file(e, file_error());
    file_give(e->file.fd, e->log);
    e->file.len = 0;
    e->file.header = false;
    return 0;
}

static void
put_header(struct engine *e, bool compacted)
{
    struct record_header h = {.g = e->at.g + 1, .compacted = compacted,
                              .replica = true};

    memcpy(h.id, e->meta.id, sizeof(h.id));
    record_put_header(&e->file.out, &h, clock_wall_ms());
    e->file.header = true;
}

/* Writes what is in out, if it is much or the last. */
static int
flush_file(struct engine *e, bool last)
{
    int rc;

    if (e->file.out.len < BUFFER && !last && e->file.out.err == 0)
        return 0;
    rc = file_flush(e->file.fd, &e->file.out, &e->file.len, BUFFER);
    return rc != 0 ? fail_file(e, rc) : 0;
}

/* Adds a line of another host's log. ERR_FORMAT: it is damaged. */
static int
add_snapshot_line(struct engine *e, struct str line)
{
    struct record_header h;
    struct store_rec r;

    if (!e->file.header) {
        if (record_parse_header(line, &h) != 0 ||
            strcmp(h.id, e->meta.id) != 0)
            return ERR_FORMAT;
        put_header(e, h.compacted);
        return 0;
    }
    if (record_parse(line, &r) != 0)
        return ERR_FORMAT;
    batch_check(&r, e->url.prefix, &e->reported);
    r.g = e->at.g + 1;
    record_put(&e->file.out, &r);
    return flush_file(e, false);
}

/* Adds the whole lines in in. */
static int
add_snapshot_lines(struct engine *e)
{
    struct str in = buf_view(&e->file.in), rest = in;
    int rc = e->file.in.err;

    while (rc == 0 && rest.len > 0 &&
           memchr(rest.p, '\n', rest.len) != NULL)
        rc = add_snapshot_line(e, str_cut(&rest, '\n'));
    if (rc == 0)
        buf_consume(&e->file.in, in.len - rest.len);
    return rc;
}

/* The file is whole: hands it over. */
static int
finish_file(struct engine *e)
{
    int rc = flush_file(e, true);

    if (rc != 0)
        return rc;
    rc = file_sync(e->file.fd, os_sync);
    if (rc != 0)
        return fail_file(e, rc);
    close(e->file.fd);
    e->file.fd = -1;
    e->news.what = REMOTE_REPLACE;
    e->news.more = true; /* the batches after it */
    e->news.path = e->file.path;
    e->known = true;
    head_text(&e->mine, e->news.head);
    return 0;
}

/* Another host has put a new snapshot in place, so its parts may be gone. */
static int
start_over(struct engine *e)
{
    snapshot_drop(e);
    engine_fail(e, 0, "etcd: the snapshot at %.80s is damaged; " ENGINE_REPAIR,
                e->url.prefix);
    return ERR_AGAIN;
}

static int request_snapshot_part(struct engine *e);

static int
on_snapshot_part(struct engine *e, const struct txn_answer *t)
{
    char hex[SHA256_HEX + 1];
    struct txn_kv kv;
    int rc = txn_only(&e->mem, t, 0, &kv);

    if (rc == 0) {
        sha256_add(&e->file.sum, kv.value.p, kv.value.len);
        buf_str(&e->file.in, kv.value);
        rc = add_snapshot_lines(e);
    }
    if (rc == ERR_NOT_FOUND || rc == ERR_FORMAT)
        return start_over(e);
    if (rc != 0)
        return rc;
    if (++e->file.part < e->meta.snap.parts)
        return request_snapshot_part(e);
    sha256_end_hex(&e->file.sum, hex);
    if (strcmp(hex, e->meta.snap.sha256) != 0 || e->file.in.len > 0)
        return start_over(e);
    e->mine = e->meta.snap.head;
    memcpy(e->mine.epoch, e->meta.epoch, sizeof(e->mine.epoch));
    return finish_file(e);
}

static int
request_snapshot_part(struct engine *e)
{
    txn_then(&e->body);
    txn_range(&e->body, head_key(HEAD_PART, e->meta.snap.id,
                                 (unsigned long long)e->file.part).z, NULL);
    return engine_send_txn(e, on_snapshot_part);
}

int
snapshot_take(struct engine *e)
{
    int rc = open_file(e);

    if (rc != 0)
        return rc;
    if (e->meta.snap.id[0] != '\0') {
        sha256_init(&e->file.sum);
        e->file.part = 0;
        return request_snapshot_part(e);
    }
    put_header(e, false);
    e->mine = head_first(e->meta.epoch);
    return finish_file(e);
}
