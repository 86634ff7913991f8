/* state - why writes are refused, and how many records are lost.

   These members of struct store say what is possible. They are not one mode,
   since several can be set and each ends in its own way:

   set            reads              writes                    until
   !loaded        fail               all is read again first   that is done
   opt.readonly   yes                no                        ever
   replica        as usual           no                        ever
   ->readonly
   no_lock        without recovery   no                        the next follow
   log_readonly   yes                if it can be reopened     it is reopened
   mounted        yes                no                        another log
   foreign        yes                by store_push only        that is done
   log.damaged    of what is whole   no (a replica starts      another log
                                     over)
   replica->err   stale              no                        it answers
   err            yes                yes (state for people)    one succeeds
   refuse         yes                fail with it              store_refuse(0)
   room.last_only yes                of store_stage_last only  store_unlock
*/

#include "store/state.h"
#include "base/clock.h"
#include "base/text.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

int
store_deny(struct store *s, int err, const char *fmt, ...)
{
    va_list ap;
    if (s->err == ERR_DAMAGED) /* stays until the log is read again */
        return err;
    va_start(ap, fmt);
    text_vput(s->why, sizeof s->why, fmt, ap);
    va_end(ap);
    s->err = err;
    return err;
}

int
store_deny_errno(struct store *s, const char *path, const char *what)
{
    return store_deny(s, file_error(), "%s: %s%s", path, what,
                      strerror(errno));
}

bool
store_is_writable(const struct store *s)
{
    return s->log.fd >= 0 && s->lock.fd >= 0 && !s->no_lock &&
           !s->log_readonly && !s->log.damaged && !s->foreign;
}

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
    store_deny(s, ERR_DAMAGED, "%s: damaged at byte %lld, after record "
               "%llu: %s", s->path, (long long)off,
               (unsigned long long)behind, what);
}

const char *
store_damage(struct store *s)
{
    uint64_t n = s->log.damaged ? log_lost(&s->log) : 0;

    if (n == 0)
        return NULL;
    text_put(s->lost_why, sizeof s->lost_why, "%llu %s lost, so tasks may be "
             "outdated; run mcptask verify", (unsigned long long)n,
             n == 1 ? "record is" : "records are");
    return s->lost_why;
}

bool
store_loaded(struct store *s)
{
    s->was_read = true;
    return s->loaded;
}

int
store_deny_foreign(struct store *s)
{
    if (s->replica != NULL && s->replica->push == REMOTE_PUSH)
        return 0;
    return store_deny(s, ERR_READONLY, s->replica == NULL
                      ? "%s: other hosts share this store: give --store"
                      : "%s: a log of this host alone: to share it, mcptask "
                        "push", s->path);
}

bool
store_locked(const struct store *s)
{
    return s->lock.held;
}

const char *
store_id(const struct store *s)
{
    return s->id;
}

const char *
store_path(const struct store *s)
{
    return s->path;
}

bool
store_is_readonly(const struct store *s)
{
    bool asked = s->replica != NULL ? s->replica->readonly : s->opt.readonly;
    return s->err == ERR_READONLY || (asked && s->err == 0);
}

bool
store_is_shared(const struct store *s)
{
    return s->replica != NULL;
}

const struct store_state *
store_state(struct store *s)
{
    struct store_state *out = &s->shown;
    const char *lost = store_damage(s);

    *out = (struct store_state){
        .path = s->path, .g = s->log.g, .head = s->log.head,
        .len = s->log.end, .superseded = s->superseded, .keys = s->index.n,
        .index_bytes = s->index.bytes, .torn = s->torn,
        .err = store_is_readonly(s) ? ERR_READONLY : s->err,
        .missing = s->room.missing, .shared = s->replica != NULL,
    };
    text_put(out->id, sizeof out->id, "%s", s->id);
    text_put(out->why, sizeof out->why, "%s", s->why);
    if (out->err == ERR_DAMAGED)
        text_put(out->why, sizeof out->why, "%s; %s", s->why,
                 lost != NULL ? lost : "run mcptask verify");
    if (out->err == 0 && s->busy_ms != 0 &&
        clock_mono_ms() - s->busy_ms >= STORE_LOCK_WAIT_MS) {
        out->err = ERR_BUSY;
        text_put(out->why, sizeof out->why, "%s: another process holds the "
                 "lock; end it if it hangs", s->lock.path);
    }
    return out;
}
