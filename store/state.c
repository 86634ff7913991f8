/* state - why writes are refused, what is lost, and what time it is.

   The log's own time is that of its newest record, and goes on with the boot
   clock from there, by what the mark says of both: a wall clock that is set
   back changes nothing, and one that is set ahead ages nothing. */

#include "store/state.h"
#include "base/clock.h"
#include "base/text.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#define JUMP_MS (60 * 60 * 1000) /* less is no matter to who asks for ages */
#define JUMP_KEPT_MS (7 * 24 * JUMP_MS) /* older ones are no matter, too */
#define TIME_MAX_MS (INT64_C(1) << 50) /* beyond the year 9999 */

/* ---- why writes are refused ---- */

int
store_deny(struct store *s, int err, const char *fmt, ...)
{
    va_list ap;
    if (s->err == ERR_DAMAGED) /* stands until the log is read anew */
        return err;
    va_start(ap, fmt);
    text_vput(s->why, sizeof s->why, fmt, ap);
    va_end(ap);
    s->err = err;
    return err;
}

int
store_deny_errno(struct store *s, int err, const char *path, const char *what)
{
    return store_deny(s, err, "%s: %s%s", path, what, strerror(errno));
}

int
store_deny_write(struct store *s)
{
    return store_deny(s, ERR_READONLY, "%s: no right to write; let this "
                      "user, or use --read-only", s->path);
}

/* What was refused before is not any more. */
void
store_allow(struct store *s)
{
    s->err = 0;
    s->why[0] = '\0';
}

void
store_note_damage(struct store *s, int64_t off, uint64_t behind,
                  const char *what)
{
    s->log.damaged = true;
    store_deny(s, ERR_DAMAGED, "%s: damaged at byte %lld, behind record "
               "%llu: %s; see mcptask verify", s->path, (long long)off,
               (unsigned long long)behind, what);
}

int
store_note_empty(struct store *s, const struct mark *m)
{
    s->log.damaged = true;
    s->log.lost.last = m->n;
    return store_deny(s, ERR_DAMAGED, "%s: is empty, but %lld bytes "
                      "of it were committed; see mcptask verify", s->path,
                      (long long)m->end);
}

const char *
store_damage(struct store *s, struct str key)
{
    const struct lost_key *k = NULL;
    uint64_t n = s->log.damaged ? lost_unnamed(&s->log.lost, s->log.head) : 0;
    if (s->log.damaged && key.p != NULL)
        k = lost_find(&s->log.lost, key);
    if (k != NULL && !k->passed)
        return "records of it are lost; it may be older than it was";
    if (n > 0) {
        text_put(s->lost_why, sizeof s->lost_why, "%llu record%s lost; any "
                 "task may be older than it was: see mcptask verify",
                 (unsigned long long)n, n == 1 ? " is" : "s are");
        return s->lost_why;
    }
    return k != NULL ? "records of its history are lost" : NULL;
}

bool
store_loaded(const struct store *s)
{
    return s->loaded;
}

bool
store_locked(const struct store *s)
{
    return s->lock.held;
}

void
store_state(const struct store *s, struct store_state *out)
{
    memset(out, 0, sizeof *out);
    out->path = s->path;
    text_put(out->id, sizeof out->id, "%s", s->id);
    out->g = s->log.g;
    out->head = s->log.head;
    out->len = s->log.end;
    out->superseded = s->superseded;
    out->keys = s->index.n;
    out->index_bytes = s->index.bytes;
    out->err = s->opt.readonly && s->err == 0 ? ERR_READONLY : s->err;
    text_put(out->why, sizeof out->why, "%s", s->why);
    if (out->err == 0 && s->busy_ms != 0 &&
        clock_mono_ms() - s->busy_ms >= STORE_LOCK_WAIT_MS) {
        out->err = ERR_BUSY;
        text_put(out->why, sizeof out->why, "%s: another process holds the "
                 "lock; end it if it does not go on", s->lock_path);
    }
    out->torn = s->torn;
    out->weak_locks = lock_is_by_process();
}

/* ---- time and the mark ---- */

/* A record has the time t: where it is well ahead of what the boot clock
   says, and was written just now, somebody set the clock. */
void
store_note_time(struct store *s, struct str t)
{
    int64_t ms, now = s->time_off + clock_boot_ms();
    if (!time_parse(t, &ms) || ms <= now)
        return;
    if (s->same_boot && s->loaded && ms - now > JUMP_MS) {
        if (now - s->jump_at > JUMP_KEPT_MS)
            s->jump_ms = 0;
        s->jump_ms += ms - now;
        s->jump_at = now;
    }
    s->time_off += ms - now;
}

static void
take_time(struct store *s, const struct mark *m)
{
    if (strcmp(m->boot, lock_boot_id()) != 0 || m->time_ms > TIME_MAX_MS ||
        m->jump_ms > TIME_MAX_MS || m->boot_ms > clock_boot_ms())
        return;
    if (s->time_off < m->time_ms - m->boot_ms)
        s->time_off = m->time_ms - m->boot_ms;
    if (s->jump_at <= m->jump_at) {
        s->jump_at = m->jump_at;
        s->jump_ms = m->jump_ms;
    }
    s->same_boot = true;
}

bool
store_takes_mark(struct store *s, const struct mark *m, const char *id,
                 ino_t ino)
{
    bool fits = mark_is_of(m, id, (uint64_t)ino);
    if (fits && m->id[0] != '\0')
        take_time(s, m);
    return fits;
}

int
store_put_mark(struct store *s, uint64_t g, uint64_t n, int64_t end,
               ino_t ino)
{
    struct mark m = {.g = g, .n = n, .end = end, .ino = (uint64_t)ino,
                     .boot_ms = clock_boot_ms()};
    int64_t ahead = clock_wall_ms() - m.boot_ms;
    if (!s->same_boot && s->time_off < ahead)
        s->time_off = ahead; /* what passed between two boots is no jump */
    s->same_boot = lock_boot_id()[0] != '\0';
    m.time_ms = s->time_off + m.boot_ms;
    m.jump_ms = s->jump_ms;
    m.jump_at = s->jump_at;
    text_put(m.id, sizeof m.id, "%s", s->id);
    text_put(m.boot, sizeof m.boot, "%s", lock_boot_id());
    return mark_write(&s->lock, &m);
}

int64_t
store_now_ms(const struct store *s)
{
    int64_t wall = clock_wall_ms(), seen = s->time_off + clock_boot_ms();
    return seen > wall ? seen : wall;
}

int64_t
store_age_ms(const struct store *s, int64_t t)
{
    int64_t now = s->same_boot ? s->time_off + clock_boot_ms()
                               : store_now_ms(s);
    return now - t - (s->same_boot && t <= s->jump_at ? s->jump_ms : 0);
}
