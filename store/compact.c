/* compact - replaces the log by one without superseded records.

   Records are copied with only g and c changed. First, in slices and without
   the write lock, it copies the records up to the mark that are still the
   newest of their key (or that their kind keeps), and writes the end record;
   then, still without the lock, what was committed since, until little is left.
   Under the lock: copy that rest, fsync, give the old file a second name
   (log.G), fsync the directory, rename the new file over the log, fsync the
   directory, write the new mark. So the log's path is never empty, and other
   processes read the new log when they see the mark's new generation. A process
   that has opened the old log by another name would not see it; so a log that
   has one is read-only (store_state).

   A compaction that takes times back (store/state.c) changes the time of records
   too. All records of the new file are then as if written by a clock that stood
   still while it was ahead, so times never go back in a file.

   If a process dies between link and rename, the log has two names; the next
   process that takes the lock removes the second (store_unlink_old). If it dies
   after the rename, the mark is of the old generation and is rebuilt like any
   invalid mark.

   Invariants:
   1. A lock on a separate byte, held from beginning to end, allows one
      compaction at a time. If the lock file is replaced meanwhile, the lock and
      the compaction are lost. The new file is then left alone, since it may be
      another process's.
   2. Until the rename, a compaction can be abandoned without a trace. */

#include "store/compact.h"
#include "store/files.h"
#include "store/load.h"
#include "store/read.h"
#include "base/clock.h"
#include "base/os.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h> /* rename */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SLICE (1024 * 1024)     /* bytes read per call */
#define SYNC_EVERY (8 * SLICE)
#define LAST_PART (1024 * 1024) /* bytes that may remain for the locked part */

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
    c->g = 0; /* no step accepts this as its own */
}

/* ---- copying ---- */

/* The time of what is written. */
static int64_t
time_of_copy(const struct store *s)
{
    int64_t latest_ms = s->compaction->latest_ms;
    return latest_ms != 0 ? latest_ms : store_now_ms(s);
}

static void
put_copy(struct compaction *c, struct store_rec *r)
{
    char time[TIME_LEN + 1];
    int64_t ms;
    if (c->latest_ms != 0 && time_parse(r->time, &ms) && ms > c->latest_ms) {
        time_format(c->latest_ms, time);
        r->time = str_of(time);
    }
    r->g = c->g;
    record_put(&c->out, r);
}

static int
sync_out(struct compaction *c)
{
    c->out_synced = c->out_len;
    return file_sync(c->fd, os_sync_data);
}

/* Takes no room that it is sure not to get. Syncs now and then, so that no sync
   takes long. */
static int
flush(struct store *s, struct compaction *c)
{
    int64_t len = c->out_len + (int64_t)c->out.len;
    int rc = room_look(s, len) > 0
                 ? ERR_FULL
                 : file_flush(c->fd, &c->out, &c->out_len, 2 * SLICE);
    return rc != 0 || c->out_len - c->out_synced < SYNC_EVERY ? rc
                                                              : sync_out(c);
}

/* Gives the new file the log's owner and group; or only the group, if it has
   the same permissions as the owner. */
static int
share(int fd, const struct stat *old)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return file_error();
    if ((old->st_uid != st.st_uid || old->st_gid != st.st_gid) &&
        fchown(fd, old->st_uid, old->st_gid) != 0 &&
        ((old->st_mode & 060) != 060 ||
         fchown(fd, (uid_t)-1, old->st_gid) != 0))
        return file_error();
    return fchmod(fd, old->st_mode & 0777) == 0 ? 0 : file_error();
}

/* Opens the new file, unless it is sure not to fit or the end to fail. */
static int
open_new(struct store *s, struct compaction *c)
{
    struct stat old;
    if (lstat(store_closed_path(s, s->log.g), &old) == 0 &&
        !store_is_log(s, &old))
        return ERR_EXISTS;
    unlink(c->path); /* left by a process that was killed; invariant 1 */
    c->fd = file_create(c->path);
    c->old_fd = fcntl(s->log.fd, F_DUPFD_CLOEXEC, 3);
    if (c->fd < 0 || c->old_fd < 0 || fstat(c->old_fd, &old) != 0)
        return file_error();
    int rc = share(c->fd, &old);
    if (rc == 0)
        rc = file_sync_path(s->dir);
    if (rc != 0)
        return rc;
    store_can_compact(s, 0); /* as far as closed generations can make way */
    return s->room.free >= s->live ? 0 : ERR_FULL;
}

int
store_compact_begin(struct store *s)
{
    store_note_names(s);
    if (!store_is_writable(s))
        return s->log.damaged ? ERR_DAMAGED : ERR_READONLY;
    if (s->log.g >= RECORD_MAX_G)
        return ERR_FULL;
    int rc = lock_try(&s->lock, LOCK_COMPACT);
    if (rc != 0)
        return rc;
    struct compaction *c = s->compaction = malloc(sizeof *c);
    if (c == NULL) {
        lock_release(&s->lock, LOCK_COMPACT);
        return ERR_NOMEM;
    }
    *c = (struct compaction){.fd = -1, .old_fd = -1, .g = s->log.g + 1,
                             .old_head = s->log.head,
                             .path = file_join(s->path, ".compact")};
    if (s->time.takes_back)
        c->latest_ms = clock_wall_ms();
    rc = c->path == NULL ? ERR_NOMEM : open_new(s, c);
    if (rc != 0)
        return rc;
    c->rd = (struct record_reader){.fd = c->old_fd, .end = s->log.end};
    struct record_header h = {.g = c->g, .compacted = true,
                              .replica = s->replica != NULL};
    text_put(h.id, sizeof h.id, "%s", s->id);
    record_put_header(&c->out, &h, time_of_copy(s));
    return 0;
}

/* Returns whether a record of the part that is thinned out is kept. */
static bool
keeps_record(struct store *s, const struct store_rec *r, int64_t now_ms)
{
    if (!record_key_ok(r->key)) /* the old header and end record */
        return false;
    const struct store_entry *e = index_find(&s->index, r->key);
    if (e == NULL)
        return false;
    const struct store_kind *k = &s->kinds[e->kind];
    bool newest = e->n == r->n;
    return k->keep != NULL ? k->keep(k->ctx, r, newest, now_ms) : newest;
}

/* Copies up to a slice of lines. 1: more remain, 0: the end. */
static int
copy(struct store *s, struct compaction *c)
{
    int64_t until = c->rd.off + SLICE, now_ms = time_of_copy(s), off;
    struct store_rec r;
    struct str line;
    int rc;
    while ((rc = record_next(&c->rd, &line, &off)) != 0) {
        if (rc == ERR_IO || rc == ERR_NOMEM)
            return rc;
        if (rc != 1 || record_parse(line, &r) != 0)
            return ERR_DAMAGED;
        if (c->ended || keeps_record(s, &r, now_ms)) {
            put_copy(c, &r);
            c->count++;
        }
        if (c->rd.off >= until)
            break;
    }
    int wrote = flush(s, c);
    return wrote != 0 ? wrote : rc != 0;
}

/* Copies the last records and syncs the new file. */
static int
copy_rest(struct store *s, struct compaction *c)
{
    int rc;
    c->rd.end = s->log.end;
    while ((rc = copy(s, c)) > 0)
        continue;
    if (rc == 0 && c->rd.off != s->log.end)
        return ERR_IO; /* the file is shorter than it should be */
    return rc == 0 ? file_sync(c->fd, os_sync) : rc;
}

/* ---- the switch ---- */

/* Returns whether the path still leads to the new file. A process with another
   lock file may have begun its own compaction there. */
static bool
is_at_path(const struct compaction *c)
{
    struct stat own, at;
    return fstat(c->fd, &own) == 0 && lstat(c->path, &at) == 0 &&
           own.st_dev == at.st_dev && own.st_ino == at.st_ino;
}

/* Renames the new file over the log, after giving the log its second name. */
static int
replace_log(struct store *s, const char *path)
{
    int dir_fd = file_open_dir(s->dir);
    int rc = dir_fd < 0 ? file_error() : 0;
    if (rc == 0 && s->opt.closed_max != 0)
        rc = store_link_old(s);
    if (rc == 0 && rename(path, s->path) != 0)
        rc = file_error();
    if (rc != 0) {
        store_unlink_old(s);
        if (dir_fd >= 0)
            close(dir_fd);
        return rc;
    }
    /* Unsynced, either file may be the log after a power loss. The mark does
       not match the new one, so the next writer syncs it (store_recover). */
    return file_sync_dir(dir_fd) == 0
               ? 0
               : store_deny_errno(s, s->dir, "cannot be synced: ");
}

int
store_compact_switch(struct store *s)
{
    struct compaction *c = s->compaction;
    struct stat st;
    int rc = copy_rest(s, c);
    if (rc != 0)
        return rc;
    if (!is_at_path(c)) {
        store_compact_lost(s);
        return ERR_BUSY;
    }
    rc = replace_log(s, c->path);
    if (rc != 0)
        return rc;
    free(c->path);
    c->path = NULL;
    if (c->latest_ms != 0) {
        s->time.off = clock_wall_ms() - clock_boot_ms();
        s->time.takes_back = false;
    }
    if (fstat(c->fd, &st) == 0) /* an invalid mark is rebuilt */
        store_put_mark(s, c->g, s->log.head, c->out_len, st.st_ino);
    mark_forget(&s->lock);
    return 0;
}

int
store_compact_slice(struct store *s)
{
    struct compaction *c = s->compaction;
    if (c->g != s->log.g + 1 || s->log.damaged)
        return s->log.damaged ? ERR_DAMAGED : ERR_BUSY;
    int rc = copy(s, c);
    if (rc != 0)
        return rc > 0 ? ERR_PENDING : rc;
    if (!c->ended) {
        record_put_end(&c->out, c->g, c->old_head, c->count, time_of_copy(s));
        c->ended = true;
        rc = flush(s, c);
    }
    if (rc != 0)
        return rc;
    if (s->log.end - c->rd.off > LAST_PART) {
        c->rd.end = s->log.end;
        return ERR_PENDING;
    }
    /* Most bytes reach the disk before the lock is taken. */
    return c->out_synced < c->out_len ? sync_out(c) : 0;
}
