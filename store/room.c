/* room - how much room the disk has, and when the log is compacted.

   A log must be compacted while there is room for its copy. So a batch is
   committed only if, after it, there is room for all that a compaction would
   write, and a little more. If not, closed generations make way if that
   suffices, the oldest first, then the log is compacted, and if that cannot be,
   only records of store_stage_last are taken, into whatever room is left. As
   long as nobody else takes the room, the log can therefore always be
   compacted. Each batch looks again how much room there is, so writes go on as
   soon as somebody frees some.

   A compaction writes the newest records, and older ones that hold the answer
   for an idempotency key. Some of these are too old by now, but only a
   compaction finds that out; so on a full disk one is tried now and then.

   File systems and quotas may lie about their room. So a write that fails for
   want of it has the last word, and leads to a compaction in the same way. */

#include "store/room.h"
#include "store/compact.h"
#include "store/files.h"
#include "base/clock.h"
#include "base/text.h"

#include <stdlib.h>
#include <sys/statvfs.h>

#define STEP (16 * 1024)    /* growth of the log between looks */
#define AHEAD (256 * 1024)  /* room to write while the log is compacted */
#define GROWTH (16 * 1024)  /* see store_has_room */
#define PAUSE_MS (60 * 1000) /* before another attempt, */
#define HOUR_MS (60 * PAUSE_MS) /* and if nothing has changed */

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

/* What a compaction, under way or killed, has taken of what it needs. */
static int64_t
begun_len(const struct store *s)
{
    char path[FILE_PATH_MAX + 32];
    struct stat st;
    text_put(path, sizeof path, "%s.compact", s->path);
    return lstat(path, &st) == 0 && S_ISREG(st.st_mode) ? (int64_t)st.st_size
                                                        : 0;
}

/* The room for a compaction's file, with what that has taken. */
static int64_t
copy_room(const struct store *s)
{
    int64_t room = free_room(s);
    return room == INT64_MAX ? room : room + begun_len(s);
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

int64_t
room_needed(const struct store *s, int64_t len)
{
    return s->live + s->held + ROOM_SPARE + len;
}

int64_t
store_room_needed(const struct store *s, int64_t *spare)
{
    *spare = begun_len(s) + store_closed_len(s);
    return room_needed(s, 0);
}

bool
store_has_room(struct store *s)
{
    struct room *m = &s->room;
    int64_t len = (int64_t)s->batch.len, need = room_needed(s, len);
    /* New keys leave some room for changes, so that there is something that a
       compaction can gain. */
    if (s->first != NULL && s->live - s->first->live > len / 2)
        need += GROWTH + s->log.end / 1024;
    m->missing = room_look(s, need);
    m->full = m->missing > 0;
    m->refused = m->free;
    if (m->full)
        store_deny(s, ERR_FULL, "%s: the disk is full; changes need %lld more "
                   "bytes, so free some space (tasks can still be ended and "
                   "handed over)", s->path, (long long)m->missing);
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

bool
room_make_way(struct store *s, int64_t len)
{
    return prune_closed(s, len);
}

void
room_note_full(struct store *s, int64_t missing)
{
    s->room.full = true;
    s->room.missing = missing;
    s->room.refused = copy_room(s);
}

/* ---- when to compact ---- */

void
room_note_attempt(struct store *s, int rc)
{
    const struct compaction *c = s->compaction;
    struct room *m = &s->room;
    m->tried_ms = clock_mono_ms();
    m->tried_end = s->log.end;
    m->reached = c == NULL ? 0 : c->out_len + (int64_t)c->out.len;
    if (rc == ERR_FULL)
        m->free = copy_room(s);
    if (rc == 0) {
        m->found = -1;
    } else if (rc == ERR_FULL &&
               (m->free < m->reached + ROOM_FLOOR || m->free < s->live)) {
        m->found = m->free;
    } else { /* more room, as far as the system tells, would not help */
        m->found = INT64_MAX;
        m->reached = 0;
    }
}

static bool
tried_within(const struct store *s, int64_t ms)
{
    return s->room.tried_ms != 0 && clock_mono_ms() - s->room.tried_ms < ms;
}

/* Whether the last attempt failed a short while ago, and one that writes len
   bytes would too. */
static bool
is_hopeless(const struct store *s, int64_t len)
{
    const struct room *m = &s->room;
    return m->free <= m->found && len >= m->reached &&
           tried_within(s, PAUSE_MS);
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
        room_look(s, m->full ? len + ROOM_FLOOR : len + ROOM_SPARE + AHEAD);
    if (m->full && m->free - m->missing >= m->refused)
        m->full = false;
    int64_t gain = m->full ? s->log.end / 2048 + 512 : s->log.end / 4;
    /* An idle process may keep the old file for a while. */
    if (!m->full && m->free >= len + ROOM_SPARE + AHEAD + s->log.end)
        return false;
    if (is_hopeless(s, len))
        return false;
    if (m->free >= len && s->log.end - len > gain)
        return true;
    return m->full && m->free >= live && older > 0 &&
           !tried_within(s, s->log.end == m->tried_end ? HOUR_MS : PAUSE_MS);
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
        return !is_hopeless(s, s->live + s->held);
    return wants_room(s);
}
