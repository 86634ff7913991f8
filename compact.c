/* compact - a log without what was superseded, in place of the log.

   Records are copied, never made anew: only g and c change. First, in slices
   and without the write lock, the records up to the mark that are still the
   newest of their key (or that their kind wants to keep) and the end record;
   then, still without it, what has been committed since, until little is
   left. Under the lock: that rest, fsync, a second name for the old file
   (log.G), fsync of the directory, the new file renamed over the log, fsync
   of the directory, the new mark. So the log's path is never empty, and
   other processes go over when they see the mark's new generation, as
   store_move.c has it.

   A process that dies between link and rename leaves a log with two names:
   the next one that takes the lock removes the second (store_compact_tidy).
   One that dies after the rename leaves a mark of the old generation, which
   is rebuilt like any wrong mark.

   Invariants:
   1. One compaction at a time, by a lock on a byte of its own, held from
      beginning to end. Where the lock file is replaced meanwhile the lock is
      lost, and the compaction with it; the new file is then not touched any
      more, since it may be another's.
   2. Until the rename, everything here can be given up without a trace. */

#include "store_int.h"
#include "text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h> /* rename */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SLICE (1024 * 1024)     /* bytes read by one call */
#define SYNC_EVERY (8 * SLICE)
#define LAST_BIT (1024 * 1024)  /* bytes that may be left for the lock */

struct compaction {
    uint64_t g; /* that is being made */
    char *path; /* of the new file, until it is renamed */
    int fd;
    int old_fd;      /* of the log, own, since a reload closes the store's */
    int64_t out_len, out_synced; /* bytes written */
    struct buf out;  /* bytes not yet written */
    uint64_t count;
    int64_t old_end; /* the part up to here is thinned out */
    uint64_t old_head;
    bool ended;      /* the end record is there: what follows is all kept */
    int64_t synced;  /* offset in the log up to which the copy is on disk */
    int64_t until_ms; /* how long to try for the write lock, 0: not yet */
    struct record_reader rd;
};

void
store_closed_path(const struct store *s, uint64_t g, char *out, size_t cap)
{
    text_put(out, cap, "%s.%llu", s->path, (unsigned long long)g);
}

bool
store_wants_compact(struct store *s)
{
    int64_t min = s->opt.compact_at ? s->opt.compact_at : STORE_COMPACT_AT;
    int64_t gain = s->superseded - s->superseded_base;
    if (s->moving || s->fd < 0 || s->no_lock || s->damaged)
        return false;
    if (s->err == 0 && gain >= min && gain > s->end / 2)
        return true;
    return store_is_short(s) && gain > 0 && gain >= s->end / 4;
}

void
store_compact_stop(struct store *s)
{
    struct compaction *c = s->compaction;
    if (c == NULL)
        return;
    if (c->fd >= 0)
        close(c->fd);
    if (c->old_fd >= 0)
        close(c->old_fd);
    if (c->path != NULL)
        unlink(c->path);
    free(c->path);
    buf_fini(&c->out);
    record_reader_fini(&c->rd);
    free(c);
    s->compaction = NULL;
    lock_release(&s->lock, LOCK_COMPACT);
}

void
store_compact_lost(struct store *s)
{
    struct compaction *c = s->compaction;
    if (c == NULL)
        return;
    free(c->path);
    c->path = NULL;
    c->g = 0; /* which no step takes for its own */
}

void
store_compact_tidy(struct store *s)
{
    char path[STORE_PATH_MAX + 32];
    struct stat st;
    store_closed_path(s, s->g, path, sizeof path);
    if (lstat(path, &st) == 0 && st.st_dev == s->dev && st.st_ino == s->ino)
        unlink(path);
}

/* ---- copying ---- */

/* Synced now and then, so that no sync is long. */
static int
flush(struct store *s, struct compaction *c)
{
    int rc = file_flush(c->fd, &c->out, &c->out_len, 2 * SLICE);
    if (rc == ERR_FULL && store_give_reserve(s))
        rc = file_flush(c->fd, &c->out, &c->out_len, 2 * SLICE);
    if (rc != 0 || c->out_len - c->out_synced < SYNC_EVERY)
        return rc;
    c->out_synced = c->out_len;
    return fdatasync(c->fd) == 0 ? 0 : file_errno(errno);
}

/* Lets those who may use the log use the new file as well: as its owner's,
   or as the group's, where that may do all that he may. */
static int
share(int fd, const struct stat *old)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return file_errno(errno);
    if ((old->st_uid != st.st_uid || old->st_gid != st.st_gid) &&
        fchown(fd, old->st_uid, old->st_gid) != 0 &&
        ((old->st_mode & 060) != 060 ||
         fchown(fd, (uid_t)-1, old->st_gid) != 0))
        return file_errno(errno);
    return fchmod(fd, old->st_mode & 0777) == 0 ? 0 : file_errno(errno);
}

/* The new file: where it would not fit, or its end is sure to fail, it is
   not begun. */
static int
open_new(struct store *s, struct compaction *c)
{
    char closed[STORE_PATH_MAX + 32];
    struct stat old;
    store_closed_path(s, s->g, closed, sizeof closed);
    if (lstat(closed, &old) == 0 &&
        (old.st_dev != s->dev || old.st_ino != s->ino))
        return ERR_EXISTS;
    unlink(c->path); /* of a process that was killed; invariant 1 */
    c->fd = open(c->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    c->old_fd = fcntl(s->fd, F_DUPFD_CLOEXEC, 3);
    if (c->fd < 0 || c->old_fd < 0 || fstat(c->old_fd, &old) != 0)
        return file_errno(errno);
    int rc = share(c->fd, &old);
    if (rc != 0)
        return rc;
    int64_t need = s->end - s->superseded;
    return store_has_room(s, need) ||
           (store_give_reserve(s) && store_has_room(s, need)) ? 0 : ERR_FULL;
}

static int
begin(struct store *s)
{
    char time[TIME_LEN + 1];
    struct compaction *c = calloc(1, sizeof *c);
    size_t cap = strlen(s->path) + 16;
    if (c == NULL) {
        lock_release(&s->lock, LOCK_COMPACT);
        return ERR_NOMEM;
    }
    s->compaction = c;
    c->fd = c->old_fd = -1;
    c->g = s->g + 1;
    c->old_end = s->end;
    c->old_head = s->head;
    c->path = malloc(cap);
    if (c->path == NULL)
        return ERR_NOMEM;
    text_put(c->path, cap, "%s.compact", s->path);
    int rc = open_new(s, c);
    if (rc != 0)
        return rc;
    c->rd = (struct record_reader){.fd = c->old_fd, .end = c->old_end};
    struct record_header h = {.g = c->g, .compacted = true};
    text_put(h.id, sizeof h.id, "%s", s->id);
    time_format(store_now_ms(s), time);
    record_put_header(&c->out, &h, str_of(time));
    return 0;
}

/* Whether a record below old_end is carried along. */
static bool
carried(struct store *s, const struct store_rec *r, int64_t now_ms)
{
    if (!record_key_ok(r->key)) /* the old header and end record */
        return false;
    const struct store_entry *e = index_find(&s->index, r->key);
    bool newest = e != NULL && e->n == r->n;
    if (e == NULL || e->kind == STORE_NO_KIND ||
        s->kinds[e->kind].keep == NULL)
        return newest;
    return s->kinds[e->kind].keep(s->kinds[e->kind].ctx, r, newest, now_ms);
}

/* Copies up to a slice of lines: 1 when there are more, 0 at the end. */
static int
copy(struct store *s, struct compaction *c)
{
    int64_t until = c->rd.off + SLICE, now_ms = store_now_ms(s), off;
    struct store_rec r;
    struct str line;
    int rc;
    while ((rc = record_next(&c->rd, &line, &off)) != 0) {
        if (rc == ERR_IO || rc == ERR_NOMEM)
            return rc;
        if (rc != 1 || record_parse(line, &r) != 0)
            return ERR_DAMAGED;
        if (c->ended || carried(s, &r, now_ms)) {
            r.g = c->g;
            record_put(&c->out, &r);
            c->count++;
        }
        if (c->rd.off >= until)
            break;
    }
    int wrote = flush(s, c);
    return wrote != 0 ? wrote : rc != 0;
}

static int
put_end(struct store *s, struct compaction *c)
{
    char time[TIME_LEN + 1];
    time_format(store_now_ms(s), time);
    record_put_end(&c->out, c->g, c->old_head, c->count, str_of(time));
    c->ended = true;
    return flush(s, c);
}

/* ---- the switch ---- */

void
store_prune(struct store *s, int64_t max)
{
    int64_t sum = 0;
    char path[STORE_PATH_MAX + 32];
    struct stat st;
    uint64_t oldest = s->g, keep_from = 0;
    for (uint64_t g = s->g; g > 0; g--, oldest = g) {
        store_closed_path(s, g, path, sizeof path);
        if (lstat(path, &st) != 0 || !S_ISREG(st.st_mode)) {
            if (g == s->g) /* it is not closed, or was not kept */
                continue;
            break;
        }
        sum += st.st_size;
        if (sum > max && keep_from == 0)
            keep_from = g + 1;
    }
    for (uint64_t g = oldest + 1; g < keep_from; g++) {
        store_closed_path(s, g, path, sizeof path);
        unlink(path);
    }
}

/* Gives the old log its second name, where it is to be kept. Without hard
   links (FAT, some network file systems) there is none, and history begins
   anew. */
static int
keep_old(struct store *s, const char *closed)
{
    if (s->opt.closed_max == 0)
        return 0;
    if (link(s->path, closed) == 0)
        return file_sync_path(s->dir);
    return errno == EPERM || errno == ENOSYS || errno == EOPNOTSUPP ||
                   errno == EMLINK ? 0 : file_errno(errno);
}

/* Whether the path still names the new file: who could not see the lock on
   the second byte may have begun one of his own there. */
static bool
is_at_path(const struct compaction *c)
{
    struct stat own, at;
    return fstat(c->fd, &own) == 0 && lstat(c->path, &at) == 0 &&
           own.st_dev == at.st_dev && own.st_ino == at.st_ino;
}

/* Under the lock, the new file being whole but for what came last. */
static int
switch_over(struct store *s, struct compaction *c)
{
    char closed[STORE_PATH_MAX + 32];
    int rc;
    c->rd.end = s->end;
    while ((rc = copy(s, c)) > 0)
        continue;
    if (rc != 0)
        return rc;
    if (c->rd.off != s->end) /* the file was shorter than it is */
        return ERR_IO;
    int dir_fd = file_open_dir(s->dir);
    if (dir_fd < 0 || file_sync(c->fd, fsync) != 0)
        goto failed;
    store_closed_path(s, s->g, closed, sizeof closed);
    if (!is_at_path(c)) {
        store_compact_lost(s);
        close(dir_fd);
        return ERR_BUSY;
    }
    rc = keep_old(s, closed);
    if (rc != 0 || rename(c->path, s->path) != 0)
        goto failed;
    free(c->path);
    c->path = NULL;
    /* Unsynced, after a power loss either file may be the log. The mark does
       not fit the new one: who builds on it syncs it (store_recover). */
    if (file_sync_dir(dir_fd) != 0)
        return store_deny(s, file_errno(errno), "%s: cannot be "
                          "synced: %s", s->dir, strerror(errno));
    struct mark m = {c->g, s->head, c->out_len};
    mark_write(&s->lock, &m); /* a wrong one is rebuilt */
    mark_forget(&s->lock);
    return 0;
failed:
    if (rc == 0)
        rc = file_errno(errno);
    store_compact_tidy(s);
    if (dir_fd >= 0)
        close(dir_fd);
    return rc;
}

static int
finish(struct store *s, struct compaction *c)
{
    int rc = store_lock(s);
    if (rc == ERR_MORE)
        rc = store_lock_wait(s);
    if (c->until_ms == 0)
        c->until_ms = clock_mono_ms() + STORE_LOCK_WAIT_MS;
    if (rc == ERR_MORE && clock_mono_ms() >= c->until_ms)
        return ERR_BUSY;
    if (rc != 0)
        return rc;
    rc = c->g == s->g + 1 ? switch_over(s, c) : ERR_BUSY;
    store_unlock(s);
    if (rc == 0)
        store_prune(s, s->opt.closed_max);
    return rc;
}

/* One slice; ERR_MORE: there is more to do. */
static int
step(struct store *s, struct compaction *c)
{
    int rc = store_follow(s);
    if (rc != 0)
        return rc;
    if (c->g != s->g + 1 || s->damaged)
        return s->damaged ? ERR_DAMAGED : ERR_BUSY;
    rc = copy(s, c);
    if (rc != 0)
        return rc > 0 ? ERR_MORE : rc;
    if (!c->ended)
        rc = put_end(s, c);
    if (rc != 0)
        return rc;
    if (s->end - c->rd.off > LAST_BIT) {
        c->rd.end = s->end;
        return ERR_MORE;
    }
    /* The bulk goes to disk before the lock is taken. */
    if (c->synced < c->rd.off && file_sync(c->fd, fdatasync) != 0)
        return file_errno(errno);
    c->synced = c->rd.off;
    return finish(s, c);
}

int
store_compact(struct store *s)
{
    int rc = 0;
    if (s->lock.held)
        return ERR_BUSY;
    if (s->compaction == NULL) {
        rc = store_follow(s);
        while (s->moving && rc == 0)
            rc = store_move(s) == ERR_MORE ? 0 : store_follow(s);
        if (rc != 0 || s->fd < 0)
            return rc;
        if (s->no_lock || s->lock.fd < 0)
            return ERR_READONLY;
        if (s->g >= RECORD_MAX_G)
            return ERR_FULL;
        rc = lock_try(&s->lock, LOCK_COMPACT);
        if (rc != 0)
            return rc == ERR_MORE ? ERR_BUSY : rc;
        rc = begin(s);
    }
    if (rc == 0)
        rc = step(s, s->compaction);
    if (rc == ERR_MORE)
        return rc;
    store_compact_stop(s);
    return rc == 0 ? store_follow(s) : rc;
}
