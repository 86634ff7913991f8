/* time - the log's own time, and the mark that carries it.

   The log's time is that of its newest record plus the boot clock's time since
   then; the mark records both. So setting the wall clock back has no effect.

   Records of other hosts carry the time of their clocks. One that is far ahead
   must not end every lease, so leases and ages go by another clock, which such
   records do not advance. */

#include "store/time.h"
#include "store/state.h"
#include "base/clock.h"
#include "base/text.h"

#include <string.h>

#define TIME_MAX_MS (INT64_C(1) << 50) /* past the year 9999 */

/* Advances the clock for leases and ages to a log time, as an offset. */
static void
note_near(struct store_time *t, int64_t off)
{
    if (off > t->near && off + clock_boot_ms() <= clock_wall_ms() +
                                                      REMOTE_SKEW_MS)
        t->near = off;
}

void
store_note_time(struct store *s, struct str text)
{
    struct store_time *t = &s->time;
    int64_t ms, now = t->off + clock_boot_ms();
    if (!time_parse(text, &ms))
        return;
    if (s->replica != NULL)
        note_near(t, ms - clock_boot_ms());
    if (ms <= now)
        return;
    t->off += ms - now;
}

static void
take_time(struct store_time *t, const struct mark *m)
{
    if (strcmp(m->boot, lock_boot_id()) != 0 || m->time_ms > TIME_MAX_MS ||
        m->boot_ms > clock_boot_ms())
        return;
    if (t->off < m->time_ms - m->boot_ms)
        t->off = m->time_ms - m->boot_ms;
    note_near(t, m->time_ms - m->boot_ms);
    t->same_boot = true;
}

bool
store_takes_mark(struct store *s, const struct mark *m, const char *id,
                 ino_t ino)
{
    bool fits = mark_is_of(m, id, (uint64_t)ino);
    if (fits && m->id[0] != '\0')
        take_time(&s->time, m);
    if (s->replica != NULL) {
        text_put(s->replica->head, REMOTE_HEAD_MAX, "%s", fits ? m->head : "");
        s->replica->head_n = m->n;
    }
    return fits;
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
    t->same_boot = lock_boot_id()[0] != '\0';
    m.time_ms = t->off + m.boot_ms;
    text_put(m.id, sizeof m.id, "%s", s->id);
    text_put(m.boot, sizeof m.boot, "%s", lock_boot_id());
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
