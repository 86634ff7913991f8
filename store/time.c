/* time - the log's own time, and the mark that carries it.

   The log's time is that of its newest record plus the boot clock's time since
   then; the mark records both. So setting the wall clock back has no effect.
   Nor has setting it right after it was ahead: this host cannot tell the two
   apart, so a person has to say so. Then a compaction takes those times back,
   and the mark has an earlier time than memory. Where the boot has no name,
   marks carry no time, so processes keep theirs until they end.

   Records of other hosts carry the time of their clocks, while this host's is
   known to be right: without that it may not write. So a time that is far ahead
   of it is left out. Leases and ages go by a clock of their own, which is
   stricter: hosts that may write can be 10 s apart. */

#include "store/time.h"
#include "store/state.h"
#include "store/remote.h"
#include "base/clock.h"
#include "base/text.h"

#include <string.h>

#define TIME_MAX_MS (INT64_C(1) << 50) /* past the year 9999 */
#define STAMP_AHEAD_MS (3 * REMOTE_SKEW_MS)
#define SLACK_MS 1000 /* a mark's time is not taken for set back */
#define PAST_MS (24 * 60 * 60 * 1000)

/* Advances an offset to that of a log time, unless that is more than max_ms
   ahead of the wall clock. */
static void
advance(int64_t *off, int64_t to, int64_t max_ms)
{
    if (to > *off && to + clock_boot_ms() - clock_wall_ms() <= max_ms)
        *off = to;
}

static void
advance_clocks(struct store *s, int64_t to)
{
    bool shared = s->replica != NULL;
    advance(&s->time.off, to, shared ? STAMP_AHEAD_MS : INT64_MAX);
    advance(&s->time.near, to, REMOTE_SKEW_MS);
}

void
store_note_time(struct store *s, struct str text)
{
    int64_t ms;
    if (time_parse(text, &ms))
        advance_clocks(s, ms - clock_boot_ms());
}

static void
take_time(struct store *s, const struct mark *m)
{
    struct store_time *t = &s->time;
    int64_t off = m->time_ms - m->boot_ms;
    if (strcmp(m->boot, os_boot_id()) != 0 || m->time_ms > TIME_MAX_MS ||
        m->boot_ms > clock_boot_ms())
        return;
    if (s->replica == NULL && off < t->off - SLACK_MS)
        t->off = off; /* another process has taken times back */
    advance_clocks(s, off);
    t->same_boot = true;
}

void
store_take_mark(struct store *s, const struct mark *m)
{
    if (m->id[0] != '\0')
        take_time(s, m);
    if (s->replica != NULL) {
        text_put(s->replica->head, REMOTE_HEAD_MAX, "%s", m->head);
        s->replica->head_n = m->n;
    }
}

int
store_put_mark(struct store *s, uint64_t g, uint64_t n, int64_t end,
               ino_t ino)
{
    struct store_time *t = &s->time;
    struct mark m = {.g = g, .n = n, .end = end, .ino = (uint64_t)ino,
                     .boot_ms = clock_boot_ms()};
    int64_t ahead = clock_wall_ms() - m.boot_ms;
    if (!t->same_boot && t->off < ahead)
        t->off = ahead;
    t->same_boot = os_boot_id()[0] != '\0';
    m.time_ms = t->off + m.boot_ms;
    text_put(m.id, sizeof m.id, "%s", s->id);
    text_put(m.boot, sizeof m.boot, "%s", os_boot_id());
    if (s->replica != NULL && s->replica->head_n == n)
        text_put(m.head, sizeof m.head, "%s", s->replica->head);
    return mark_write(&s->lock, &m);
}

static int64_t
clock_of(int64_t off)
{
    int64_t wall = clock_wall_ms(), seen = off + clock_boot_ms();
    return seen > wall ? seen : wall;
}

int64_t
store_stamp_ms(const struct store *s)
{
    return clock_of(s->time.off);
}

int64_t
store_now_ms(const struct store *s)
{
    return clock_of(s->replica != NULL ? s->time.near : s->time.off);
}

int64_t
store_skew_ms(const struct store *s)
{
    return s->replica != NULL ? REMOTE_SKEW_MS : 0;
}

void
store_take_back_time(struct store *s)
{
    s->time.takes_back = true;
}

int64_t
store_past_ms(int64_t t, int64_t now_ms)
{
    return t - now_ms > PAST_MS ? 0 : t;
}
