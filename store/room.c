/* room - how much room the disk has, and when the log is compacted.

   A log must be compacted while there is room for its copy. So a batch is
   committed only if, after it, there is room for all that a compaction would
   write. If not, closed generations make way if that suffices, the oldest
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
   want of it has the last word, and leads to a compaction in the same way. */

#include "store/room.h"
#include "store/compact.h"
#include "store/files.h"
#include "base/clock.h"
#include "base/os.h"
#include "base/text.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define RESERVE (64 * 1024) /* ends of some 60 tasks */
#define PIECE 4096          /* the least that is cut off it: a block */
#define OVER (8 * 1024)     /* what a copy takes beside its records: blocks,
                               header, directory entries */
/* New keys leave so much for changes of those there are: enough records for a
   compaction to gain what it has to on a full disk. */
#define GROWTH(s) (16 * 1024 + (s)->log.end / 1024)
#define GAIN(s) (512 + (s)->log.end / 2048)
#define CHANGE (8 * 1024)   /* asked for if nothing is staged */
#define STEP (16 * 1024)    /* growth of the log between looks */
#define PAUSE_MS (60 * 1000) /* after an attempt that failed, */
#define HOUR_MS (60 * PAUSE_MS) /* and between those that may gain nothing */

/* ---- how much there is ---- */

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
prune_closed(struct store *s, int64_t missing)
{
    int64_t had = store_closed_len(s), left;
    if (missing > had)
        return false;
    store_prune(s, had - missing);
    left = store_closed_len(s);
    if (!s->room.told)
        text_tell("mcptask: %.300s: to make room, the oldest %lld bytes of "
                  "closed generations were deleted, and the history in them\n",
                  s->path, (long long)(had - left));
    s->room.told = true;
    return left < had;
}

int64_t
room_look(struct store *s, int64_t need)
{
    struct room *m = &s->room;
    m->end = s->log.end;
    m->free = free_room(s);
    if (m->free < need)
        m->free = copy_room(s);
    if (m->free < need && prune_closed(s, need - m->free))
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
    int64_t left = reserve_len(s), to = left - (len / PIECE + 1) * PIECE;
    if (!last || left == 0 || len - left > free_room(s))
        return prune_closed(s, len);
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
    return s->live + s->held + len + 2 * OVER + RESERVE - reserve_len(s) +
           (grows ? GROWTH(s) : 0);
}

int64_t
store_missing_room(const struct store *s, int64_t *need)
{
    int64_t copy = s->live + s->held, gain = s->log.end - copy;
    int64_t room = copy_room(s);
    *need = room_needed(s, 2 * CHANGE, true);
    if (room < *need)
        room += store_closed_len(s);
    if (room >= copy + OVER && room < *need && gain > GAIN(s))
        room += gain;
    return room < *need ? *need - room : 0;
}

/* Notes that so many bytes are missing, and whether that leaves enough for what
   ends or hands over work. */
static void
note_missing(struct store *s, int64_t missing)
{
    s->room.missing = missing;
    s->room.takes_last = free_room(s) >= PIECE - reserve_len(s);
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
    return room_look(s, s->live + s->held + OVER + more) == 0;
}

bool
store_has_room(struct store *s)
{
    struct room *m = &s->room;
    const struct staged *g = s->first;
    int64_t len = g != NULL ? (int64_t)s->batch.len : 2 * CHANGE;
    bool grows = g == NULL || s->live - g->live > len / 2;
    m->missing = room_look(s, room_needed(s, len, grows));
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
    if (m->free < reached + OVER || m->free < copy) /* else the system lies */
        m->needed = copy + OVER;
}

static bool
tried_within(const struct store *s, int64_t ms)
{
    return s->room.tried_ms != 0 && clock_mono_ms() - s->room.tried_ms < ms;
}

/* Whether the last attempt failed a short while ago, and one would again. */
static bool
is_hopeless(const struct store *s)
{
    return s->room.free <= s->room.needed && tried_within(s, PAUSE_MS);
}

/* Whether the log should be compacted for want of room. On a full disk a small
   gain is enough, and now and then one that is not certain. It counts as full
   until as much has been freed as was missing: the file system may lie. */
static bool
wants_room(struct store *s)
{
    struct room *m = &s->room;
    const struct staged *g = s->first; /* what is staged can be undone */
    int64_t live = g != NULL ? g->live : s->live;
    int64_t len = live + (g != NULL ? g->held : s->held);
    int64_t older = g != NULL ? g->superseded : s->superseded;
    if (m->full || llabs(s->log.end - m->end) >= STEP)
        room_look(s, len + OVER);
    if (m->full && m->free - m->missing >= m->refused)
        m->full = false;
    /* An idle process may keep the old file for a while, beside the new one. */
    if (!m->full && m->free >= len + s->log.end)
        return false;
    if (is_hopeless(s))
        return false;
    if (m->free >= len + OVER && s->log.end - len > (m->full ? GAIN(s)
                                                              : s->log.end / 4))
        return true;
    return m->full && m->free >= live + OVER && older > s->superseded_base &&
           !tried_within(s, HOUR_MS);
}

bool
store_wants_compact(struct store *s)
{
    int64_t min = s->opt.compact_at ? s->opt.compact_at : STORE_COMPACT_AT;
    int64_t gain = s->superseded - s->superseded_base;
    if (!store_is_writable(s))
        return false;
    /* After ERR_FULL there may be room again without a write since. */
    bool refused = s->err != 0 && (s->err != ERR_FULL || s->room.full);
    if (!refused && gain >= min && gain > s->log.end / 2)
        return !is_hopeless(s);
    return wants_room(s);
}
