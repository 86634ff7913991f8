/* archive - ended tasks moved out of the log, into a file of its format.

   1. The file is new, whole and synced, its directory too, before the first
      record that drops a task is staged. Who dies in between leaves tasks
      twice, in the file and in the log, and never none.
   2. A task is dropped under the write lock, and only if its newest record is
      still the one that is in the file: what changed meanwhile stays.
   3. What is dropped is read from the file, so it is what can be read back. */

#include "cli/archive.h"
#include "cli/store.h"
#include "cli/text.h"
#include "base/clock.h"
#include "base/file.h"
#include "store/record.h"
#include "task/change.h"
#include "json/raw.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FLUSH_AT (1024 * 1024)
#define BATCH 200 /* records of one commit; each has its artifacts' names */

struct archive {
    struct cli *c;
    char path[4400];
    int fd;
    int64_t before_ms, len, body; /* bytes written; where records begin */
    struct buf out;
    uint64_t head, n, dropped;
};

static int
flush(struct archive *x)
{
    return file_flush(x->fd, &x->out, &x->len, FLUSH_AT);
}

static int
copy(void *ctx, const struct store_rec *r)
{
    struct archive *x = ctx;
    struct store_entry *e = store_find(x->c->s.store, r->key);
    struct task_event ev;
    int64_t at;

    cli_progress(x->c, r->n, x->head);
    if (e == NULL || e->n != r->n || !str_starts(r->key, "task/") ||
        !time_parse(r->time, &at) || at >= x->before_ms ||
        task_event_of(r, &ev) != 0)
        return 0;
    if (!task_raw_ended(raw_member(ev.v, "status")))
        return 0;
    record_put(&x->out, r);
    x->n++;
    return x->out.len < FLUSH_AT ? x->out.err : flush(x);
}

/* The whole file. */
static int
write_file(struct archive *x, const struct store_state *st)
{
    struct record_header h = {.g = st->g, .archive = true};
    char dir[sizeof(x->path)];
    int64_t now_ms = store_now_ms(x->c->s.store);
    int rc = record_new_id(&h);

    record_put_header(&x->out, &h, now_ms);
    x->body = (int64_t)x->out.len;
    if (rc == 0)
        rc = store_scan(x->c->s.store, 1, copy, x);
    record_put_end(&x->out, st->g, st->head, x->n, now_ms);
    if (rc == 0)
        rc = flush(x);
    if (rc == 0 && file_sync(x->fd, fsync) != 0)
        rc = file_errno(errno);
    text_put(dir, sizeof(dir), "%s", x->path);
    file_cut(dir);
    return rc == 0 ? file_sync_path(dir) : rc;
}

/* One commit; 1: there is more. */
static int
drop_some(struct archive *x, struct record_reader *rd)
{
    struct cli *c = x->c;
    struct store_rec r;
    struct str line;
    uint64_t staged = 0;
    bool unknown;
    int64_t off;
    int got = 1, done, rc = store_lock_patiently(c->s.store);

    if (rc != 0)
        return rc;
    for (int i = 0; i < BATCH && rc == 0 &&
                    store_staged_len(c->s.store) < STORE_MAX_BATCH / 4 &&
                    (got = record_next(rd, &line, &off)) == 1; i++) {
        rc = record_parse(line, &r) != 0 ? ERR_DAMAGED
             : str_starts(r.key, "task/") ? task_archive(c->s.tasks, &r)
                                          : ERR_VERSION;
        staged += rc == 0;
        rc = rc == ERR_VERSION ? 0 : rc;
    }
    cli_settle(c);
    done = store_commit(c->s.store, &unknown);
    store_unlock(c->s.store);
    x->dropped += done == 0 ? staged : 0;
    return done != 0 ? done : rc != 0 ? rc : got;
}

static int
drop_all(struct archive *x)
{
    struct record_reader rd = {.fd = x->fd, .off = x->body, .end = x->len};
    int rc;

    while ((rc = drop_some(x, &rd)) == 1)
        cli_progress(x->c, x->dropped, x->n);
    record_reader_fini(&rd);
    return rc;
}

/* Reads D, and names the file after its day. */
static int
begin(struct archive *x, const char *log)
{
    const char *arg = x->c->args.before;
    struct str day;
    char at[TIME_LEN + 1];

    if (arg == NULL)
        return cli_misuse(x->c, "--done-before", "missing: ");
    day = arena_printf(&x->c->a, "%sT00:00:00Z", arg);
    if (!time_parse(str_of(arg), &x->before_ms) &&
        (day.p == NULL || !time_parse(day, &x->before_ms)))
        return cli_misuse(x->c, arg, "neither a day (2026-07-28) nor a time: ");
    time_format(x->before_ms, at);
    text_put(x->path, sizeof(x->path), "%s.archive-%.10s", log, at);
    return 0;
}

/* Everything, the log being there. */
static int
archive(struct archive *x, struct store_state *st)
{
    bool whole;
    /* It mends a tail, if there is one. */
    int rc = store_lock_patiently(x->c->s.store);

    if (rc != 0)
        return cli_fail_store(x->c, rc);
    store_unlock(x->c->s.store);
    store_state(x->c->s.store, st); /* others may have written or compacted */
    x->head = st->head;
    x->fd = open(x->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (x->fd < 0 && errno == EEXIST)
        return cli_fail(x->c, ERR_EXISTS, "%s: exists: rename it, or import "
                        "and then remove it", x->path);
    if (x->fd < 0)
        return cli_fail_errno(x->c, ERR_IO, x->path);
    file_give(x->fd, st->path);
    rc = write_file(x, st);
    whole = rc == 0;
    if (!whole)
        rc = cli_fail_path(x->c, rc, x->path);
    else if (x->n > 0 && (rc = drop_all(x)) < 0)
        rc = cli_fail_store(x->c, rc);
    if (!whole || x->n == 0) /* else something may have been dropped */
        unlink(x->path);
    close(x->fd);
    return rc;
}

int
admin_archive(struct cli *c, int argc, char **argv)
{
    struct archive *x = calloc(1, sizeof(*x));
    struct store_state st;
    int rc;

    (void)argc;
    (void)argv;
    if (x == NULL)
        return cli_fail(c, ERR_NOMEM, "out of memory");
    store_state(c->s.store, &st);
    x->c = c;
    x->head = st.head;
    rc = begin(x, st.path);
    if (rc == 0 && st.g > 0)
        rc = archive(x, &st);
    if (rc == 0)
        cli_tell(c, "{archive}: {archived} tasks moved, {changed} changed "
                 "meanwhile and stay\n", "archive=%s archived=" U64
                 " changed=" U64, x->n > 0 ? x->path : "nothing to archive",
                 x->dropped, x->n - x->dropped);
    buf_fini(&x->out);
    free(x);
    return rc;
}
