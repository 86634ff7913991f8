/* compact - replaces the log by one without superseded records, when that is
   worth it or the disk gets full.

   THE COPY. Records are copied with only g and c changed. First, in slices and
   without the write lock, it copies the records up to the mark that are still
   the newest of their key (or that their kind keeps), and writes the end
   record; then, still without the lock, what was committed since, until little
   is left. Under the lock: copy that rest, fsync, give the old file a second
   name (log.G), fsync the directory, rename the new file over the log, fsync
   the directory, write the new mark. So the log's path is never empty, and
   other processes read the new log when they see the mark's new generation. A
   process that has opened the old log by another name would not see it; so a
   log that has one is read-only (store_note_names).

   A compaction that takes times back (store/state.c) changes the time of
   records too. All records of the new file are then as if written by a clock
   that stood still while it was ahead, so times never go back in a file.

   If a process dies between link and rename, the log has two names; the next
   process that takes the lock removes the second (store_unlink_old). If it dies
   after the rename, the mark is of the old generation and is rebuilt like any
   invalid mark. A closed generation is the log file from before a compaction,
   under that second name.

   THE ROOM. A log must be compacted while there is room for its copy. So a
   batch is committed only if, after it, there is room for all that a compaction
   would write. If not, closed generations make way if that suffices, the oldest
   first, then the log is compacted, and if that cannot be, only records of
   store_stage_last are taken. As long as nobody else takes the room, the log
   can therefore always be compacted. Each batch looks again how much room there
   is, so writes go on as soon as somebody frees some.

   Others may take all of it, so 64 KiB are kept in a file, the reserve. If a
   write of nothing but records of store_stage_last finds no room, the file is
   cut by a piece and the write tried again, so what others take in between
   costs a piece and not the reserve. Other batches need the room for what is
   missing of it as well, and then make it anew. Who holds the write lock uses
   it; a compaction does not.

   A compaction writes the newest records, and older ones that hold the answer
   for an idempotency key. Some of these are too old by now, but only a
   compaction finds that out; so on a full disk one is tried now and then, if
   records were superseded since the last one.

   File systems and quotas may lie about their room. So a write that fails for
   want of it has the last word, and leads to a compaction in the same way.

   Invariants:
   1. A lock on a separate byte, held from beginning to end, allows one
      compaction at a time. If the lock file is replaced meanwhile, the lock and
      the compaction are lost. The new file is then left alone, since it may be
      another process's.
   2. Until the rename, a compaction can be abandoned without a trace. */

#include "store/compact.h"
#include "store/state.h"
#include "base/clock.h"
#include "base/os.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h> /* rename */
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define SLICE (1024 * 1024) /* bytes read per call: some milliseconds */
#define SYNC_EVERY (8 * SLICE)
#define LAST_PART SLICE     /* may remain for the locked part */

#define RESERVE (64 * 1024) /* ends of some 60 tasks */
#define BLOCK 4096          /* the unit in which file systems give room */
#define CHANGE (2 * BLOCK)  /* one of a large task; also what a file takes
                               beside its records: blocks, directory entry */
/* A compaction writes the whole log. On a full disk it has to gain a 2048th of
   that and a record, so that each change costs a bounded number of writes. New
   keys leave room for twice as much, and for two changes: those there are can
   go on, and their older records are what a compaction gains. */
#define GAIN(s) (512 + (s)->log.end / 2048)
#define GROWTH(s) (2 * (CHANGE + (s)->log.end / 2048))
#define LOOK_EVERY (2 * CHANGE) /* growth of the log between looks */
#define PAUSE_MS (60 * 1000)    /* after an attempt that failed, */
#define HOUR_MS (60 * PAUSE_MS) /* and between those that may gain nothing */

/* ---- closed generations ---- */

int
store_open_closed(const struct store *s, uint64_t g)
{
    return open(store_closed_path(s, g),
                O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
}

/* Looks at the closed generations, the newest first. Returns their bytes.
   *oldest: the one before the oldest; *keep_from: the oldest of those that have
   no more than max bytes together, 0: all. */
static int64_t
measure_closed(const struct store *s, int64_t max, uint64_t *oldest,
               uint64_t *keep_from)
{
    int64_t sum = 0;
    struct stat st;
    *oldest = s->log.g;
    *keep_from = 0;
    for (uint64_t g = s->log.g; g > 0; g--, *oldest = g) {
        if (lstat(store_closed_path(s, g), &st) != 0 ||
            !S_ISREG(st.st_mode)) {
            /* Not closed, or not kept. The one before may be missing too, if a
               process was killed before it pruned. */
            if (g + 1 >= s->log.g)
                continue;
            break;
        }
        sum += st.st_size;
        if (sum > max && *keep_from == 0)
            *keep_from = g + 1;
    }
    return sum;
}

static int64_t
closed_len(const struct store *s)
{
    uint64_t oldest, keep_from;
    return measure_closed(s, INT64_MAX, &oldest, &keep_from);
}

void
store_prune(struct store *s, int64_t max)
{
    char reserve[FILE_PATH_MAX + 32];
    uint64_t oldest, keep_from;
    measure_closed(s, max, &oldest, &keep_from);
    for (uint64_t g = oldest + 1; g < keep_from; g++)
        unlink(store_closed_path(s, g));
    text_put(reserve, sizeof reserve, "%s.reserve", s->path);
    unlink(reserve); /* version 0.2.0 kept it for a full disk */
}

void
store_unlink_old(struct store *s)
{
    struct stat st;
    if (stat(s->path, &st) != 0 || !store_is_log(s, &st))
        return; /* the open file is already the closed generation */
    if (lstat(store_closed_path(s, s->log.g), &st) == 0 &&
        store_is_log(s, &st))
        unlink(store_closed_path(s, s->log.g));
}

/* ---- how much room there is ---- */

/* INT64_MAX: unknown. */
static int64_t
free_room(const struct store *s)
{
    struct statvfs v;
    if (statvfs(s->dir, &v) != 0 || v.f_blocks == 0 || v.f_frsize == 0 ||
        v.f_bavail > (uint64_t)INT64_MAX / 2 / v.f_frsize)
        return INT64_MAX;
    return (int64_t)((uint64_t)v.f_bavail * v.f_frsize);
}

/* The length of the regular file beside the log with this ending, or 0. */
static int64_t
len_beside(const struct store *s, const char *ending)
{
    char path[FILE_PATH_MAX + 32];
    struct stat st;
    text_put(path, sizeof path, "%s%s", s->path, ending);
    return lstat(path, &st) == 0 && S_ISREG(st.st_mode) ? (int64_t)st.st_size
                                                        : 0;
}

/* The room for a compaction's file, with what one that is under way, or was
   killed, has taken of it. */
static int64_t
copy_room(const struct store *s)
{
    int64_t room = free_room(s);
    return room == INT64_MAX ? room : room + len_beside(s, ".compact");
}

/* Deletes the oldest closed generations, of `missing` bytes or more, if they
   have so many. Returns whether it did. */
static bool
prune_for(struct store *s, int64_t missing)
{
    int64_t had = closed_len(s), left;
    if (missing > had)
        return false;
    store_prune(s, had - missing);
    left = closed_len(s);
    if (!s->room.told)
        text_tell("mcptask: %.300s: to make room, the oldest %lld bytes of "
                  "closed generations were deleted, and the history in them\n",
                  s->path, (long long)(had - left));
    s->room.told = true;
    return left < had;
}

/* Looks how much room there is, in s->room.free; closed generations make way
   for `need` bytes, if that suffices. Returns how many are still missing. */
static int64_t
look_for_room(struct store *s, int64_t need)
{
    struct room *m = &s->room;
    m->end = s->log.end;
    m->free = free_room(s);
    if (m->free < need)
        m->free = copy_room(s);
    if (m->free < need && prune_for(s, need - m->free))
        m->free = copy_room(s);
    return m->free < need ? need - m->free : 0;
}

/* ---- the reserve ---- */

static int64_t
reserve_len(const struct store *s)
{
    int64_t len = len_beside(s, ".spare");
    return len < RESERVE ? len : RESERVE;
}

static int
open_reserve(const struct store *s, int flags)
{
    char path[FILE_PATH_MAX + 32];
    text_put(path, sizeof path, "%s.spare", s->path);
    return open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | flags,
                0600);
}

void
room_fill(const struct store *s)
{
    char bytes[256]; /* random, so that no file system makes them fewer */
    int64_t was = reserve_len(s), at = was;
    int fd = was < RESERVE ? open_reserve(s, O_CREAT) : -1, rc = 0;
    if (fd < 0)
        return;
    file_give(fd, s->path);
    for (; rc == 0 && at < RESERVE; at += (int64_t)sizeof bytes) {
        rc = random_bytes(bytes, sizeof bytes);
        if (rc == 0)
            rc = file_write_at(fd, bytes, sizeof bytes, at);
    }
    if (rc != 0 || file_sync(fd, os_sync) != 0)
        rc = ftruncate(fd, (off_t)was);
    close(fd);
}

bool
room_make_way(struct store *s, int64_t len, bool last)
{
    int64_t left = reserve_len(s), to = left - (len / BLOCK + 1) * BLOCK;
    if (!last || left == 0 || len - left > free_room(s))
        return prune_for(s, len);
    int fd = open_reserve(s, 0);
    bool cut = fd >= 0 && ftruncate(fd, to > 0 ? (off_t)to : 0) == 0;
    if (cut)
        file_sync(fd, os_sync); /* some free its blocks only then */
    if (fd >= 0)
        close(fd);
    return cut;
}

/* ---- what changes need ---- */

/* The room that a batch of len bytes needs, which takes blocks too; grows: with
   new keys. */
static int64_t
room_needed(const struct store *s, int64_t len, bool grows)
{
    return s->live + s->held + len + 2 * CHANGE + RESERVE - reserve_len(s) +
           (grows ? GROWTH(s) : 0);
}

int64_t
store_missing_room(const struct store *s, int64_t *need)
{
    int64_t copy = s->live + s->held, gain = s->log.end - copy;
    int64_t room = copy_room(s);
    *need = room_needed(s, 2 * CHANGE, true);
    if (room < *need)
        room += closed_len(s);
    if (room >= copy + CHANGE && room < *need && gain > GAIN(s))
        room += gain;
    return room < *need ? *need - room : 0;
}

/* Notes that so many bytes are missing, and whether that leaves enough for what
   ends or hands over work. */
static void
note_missing(struct store *s, int64_t missing)
{
    s->room.missing = missing;
    s->room.takes_last = free_room(s) >= BLOCK - reserve_len(s);
}

static void
deny_changes(struct store *s, int64_t missing)
{
    note_missing(s, missing);
    store_deny(s, ERR_FULL, "%s: changes need %lld more bytes on the disk%s; "
               "free some space", s->path, (long long)missing,
               s->room.takes_last
                   ? ", but tasks can still be ended and handed over" : "");
}

void
store_check_room(struct store *s)
{
    int64_t need, missing;
    if (store_only_reads(s) || s->err != 0 || s->log.fd < 0)
        return;
    missing = store_missing_room(s, &need);
    if (missing > 0)
        deny_changes(s, missing);
}

bool
store_can_compact(struct store *s, int64_t more)
{
    return look_for_room(s, s->live + s->held + CHANGE + more) == 0;
}

bool
store_has_room(struct store *s)
{
    struct room *m = &s->room;
    const struct staged *g = s->first;
    int64_t len = g != NULL ? (int64_t)s->batch.len : 2 * CHANGE;
    bool grows = g == NULL || s->live - g->live > len / 2;
    m->missing = look_for_room(s, room_needed(s, len, grows));
    m->full = m->missing > 0;
    m->refused = m->free;
    if (m->full)
        deny_changes(s, m->missing);
    return !m->full;
}

bool
store_lacks_room(struct store *s)
{
    if (s->n_staged == 0 || store_has_room(s))
        return false;
    if (!s->room.ordinary && (s->replica != NULL || !store_wants_compact(s)))
        return false;
    s->refuse.ordinary = ERR_FULL;
    return true;
}

bool
store_takes_last(const struct store *s)
{
    return s->refuse.ordinary != 0;
}

void
room_note_full(struct store *s, int64_t missing)
{
    note_missing(s, missing);
    s->room.full = true;
    s->room.refused = copy_room(s);
}

/* ---- when to compact ---- */

void
room_note_attempt(struct store *s, int rc)
{
    const struct compaction *c = s->compaction;
    struct room *m = &s->room;
    int64_t reached = c != NULL ? c->out_len + (int64_t)c->out.len : 0;
    int64_t copy = s->live + s->held;
    m->tried_ms = clock_mono_ms();
    m->needed = rc == 0 ? -1 : INT64_MAX;
    if (rc != ERR_FULL)
        return;
    m->free = copy_room(s);
    if (m->free < reached + CHANGE || m->free < copy) /* else the system lies */
        m->needed = copy + CHANGE;
}

bool
store_wants_compact(struct store *s)
{
    struct room *m = &s->room;
    int64_t min = s->opt.compact_at ? s->opt.compact_at : STORE_COMPACT_AT;
    int64_t gain = s->superseded - s->superseded_base;
    int64_t since_ms = m->tried_ms != 0 ? clock_mono_ms() - m->tried_ms
                                        : INT64_MAX;
    if (!store_is_writable(s))
        return false;
    /* After ERR_FULL there may be room again without a write since. */
    bool refused = s->err != 0 && (s->err != ERR_FULL || m->full);
    if (!refused && gain >= min && gain > s->log.end / 2)
        return m->free > m->needed || since_ms >= PAUSE_MS;

    /* Else for want of room: on a full disk a small gain is enough, and now and
       then one that is not certain. It counts as full until as much has been
       freed as was missing: the file system may lie. */
    const struct staged *g = s->first; /* what is staged can be undone */
    int64_t live = g != NULL ? g->live : s->live;
    int64_t len = live + (g != NULL ? g->held : s->held);
    int64_t older = g != NULL ? g->superseded : s->superseded;
    if (m->full || llabs(s->log.end - m->end) >= LOOK_EVERY)
        look_for_room(s, len + CHANGE);
    if (m->full && m->free - m->missing >= m->refused)
        m->full = false;
    /* An idle process may keep the old file for a while, beside the new one. */
    if (!m->full && m->free >= len + s->log.end)
        return false;
    if (m->free <= m->needed && since_ms < PAUSE_MS)
        return false; /* an attempt would fail again */
    if (m->free >= len + CHANGE &&
        s->log.end - len > (m->full ? GAIN(s) : s->log.end / 4))
        return true;
    return m->full && m->free >= live + CHANGE && older > s->superseded_base &&
           since_ms >= HOUR_MS;
}

/* ---- the copy ---- */

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

/* The time of what is written. */
static int64_t
time_of_copy(const struct store *s)
{
    int64_t latest_ms = s->compaction->latest_ms;
    return latest_ms != 0 ? latest_ms : store_now_ms(s);
}

static int
sync_copy(struct compaction *c)
{
    c->out_synced = c->out_len;
    return file_sync(c->fd, os_sync_data);
}

/* Takes no room that it is sure not to get. Syncs now and then, so that no sync
   takes long. */
static int
flush_copy(struct store *s, struct compaction *c)
{
    int64_t len = c->out_len + (int64_t)c->out.len;
    int rc = look_for_room(s, len) > 0
                 ? ERR_FULL
                 : file_flush(c->fd, &c->out, &c->out_len, 2 * SLICE);
    return rc != 0 || c->out_len - c->out_synced < SYNC_EVERY ? rc
                                                              : sync_copy(c);
}

/* Gives the new file the log's owner and group; or only the group, if it has
   the same permissions as the owner. */
static int
give_copy(int fd, const struct stat *old)
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

int
store_compact_begin(struct store *s)
{
    struct stat old;
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
    if (c->path == NULL)
        return ERR_NOMEM;
    /* A file of the name that the old one would get: in a copy of the store. */
    if (lstat(store_closed_path(s, s->log.g), &old) == 0 &&
        !store_is_log(s, &old))
        return ERR_EXISTS;
    unlink(c->path); /* left by a process that was killed; invariant 1 */
    c->fd = file_create(c->path);
    c->old_fd = fcntl(s->log.fd, F_DUPFD_CLOEXEC, 3);
    if (c->fd < 0 || c->old_fd < 0 || fstat(c->old_fd, &old) != 0)
        return file_error();
    rc = give_copy(c->fd, &old);
    if (rc == 0)
        rc = file_sync_path(s->dir);
    if (rc != 0)
        return rc;
    store_can_compact(s, 0); /* as far as closed generations can make way */
    if (s->room.free < s->live)
        return ERR_FULL;
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
copy_lines(struct store *s, struct compaction *c)
{
    int64_t until = c->rd.off + SLICE, now_ms = time_of_copy(s), off, ms;
    char time[TIME_LEN + 1];
    struct store_rec r;
    struct str line;
    int rc;
    while ((rc = record_next(&c->rd, &line, &off)) != 0) {
        if (rc == ERR_IO || rc == ERR_NOMEM)
            return rc;
        if (rc != 1 || record_parse(line, &r) != 0)
            return ERR_DAMAGED;
        if (c->ended || keeps_record(s, &r, now_ms)) {
            if (c->latest_ms != 0 && time_parse(r.time, &ms) &&
                ms > c->latest_ms) {
                time_format(c->latest_ms, time);
                r.time = str_of(time);
            }
            r.g = c->g;
            record_put(&c->out, &r);
            c->count++;
        }
        if (c->rd.off >= until)
            break;
    }
    int wrote = flush_copy(s, c);
    return wrote != 0 ? wrote : rc != 0;
}

int
store_compact_slice(struct store *s)
{
    struct compaction *c = s->compaction;
    if (c->g != s->log.g + 1 || s->log.damaged)
        return s->log.damaged ? ERR_DAMAGED : ERR_BUSY;
    int rc = copy_lines(s, c);
    if (rc != 0)
        return rc > 0 ? ERR_PENDING : rc;
    if (!c->ended) {
        record_put_end(&c->out, c->g, c->old_head, c->count, time_of_copy(s));
        c->ended = true;
        rc = flush_copy(s, c);
    }
    if (rc != 0)
        return rc;
    if (s->log.end - c->rd.off > LAST_PART) {
        c->rd.end = s->log.end;
        return ERR_PENDING;
    }
    /* Most bytes reach the disk before the lock is taken. */
    return c->out_synced < c->out_len ? sync_copy(c) : 0;
}

/* Gives the log its second name. Without hard links (FAT, some network file
   systems) it gets none, and history begins again. */
static int
link_old(struct store *s)
{
    if (link(s->path, store_closed_path(s, s->log.g)) == 0)
        return file_sync_path(s->dir);
    return errno == EPERM || errno == ENOSYS || errno == EOPNOTSUPP ||
                   errno == EMLINK || errno == EEXIST ? 0 : file_error();
}

int
store_compact_switch(struct store *s)
{
    struct compaction *c = s->compaction;
    struct stat own, at;
    int rc;
    c->rd.end = s->log.end;
    while ((rc = copy_lines(s, c)) > 0)
        continue;
    if (rc == 0 && c->rd.off != s->log.end)
        return ERR_IO; /* the file is shorter than it should be */
    if (rc == 0)
        rc = file_sync(c->fd, os_sync);
    if (rc != 0)
        return rc;
    /* A process with another lock file may have begun its own there. */
    if (fstat(c->fd, &own) != 0 || lstat(c->path, &at) != 0 ||
        own.st_dev != at.st_dev || own.st_ino != at.st_ino) {
        store_compact_lost(s);
        return ERR_BUSY;
    }
    int dir_fd = file_open_dir(s->dir);
    rc = dir_fd < 0 ? file_error() : 0;
    if (rc == 0 && s->opt.closed_max != 0)
        rc = link_old(s);
    if (rc == 0 && rename(c->path, s->path) != 0)
        rc = file_error();
    if (rc != 0) {
        store_unlink_old(s);
        if (dir_fd >= 0)
            close(dir_fd);
        return rc;
    }
    /* Unsynced, either file may be the log after a power loss. The mark does
       not match the new one, so the next writer syncs it (recover_tail). */
    if (file_sync_dir(dir_fd) != 0)
        return store_deny_errno(s, s->dir, "cannot be synced: ");
    free(c->path);
    c->path = NULL;
    if (c->latest_ms != 0) {
        s->time.off = clock_wall_ms() - clock_boot_ms();
        s->time.takes_back = false;
    }
    store_put_mark(s, c->g, s->log.head, c->out_len, own.st_ino);
    mark_forget(&s->lock); /* an invalid one is rebuilt */
    return 0;
}
