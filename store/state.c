/* state - what a store can do now, why not more, and how many records are
   lost.

   A store is in one of five modes (enum store_mode), and store_why_not says
   which and why. What decides it is noted where it is found: in the log and its
   lock file, how they could be opened; in err and why, the last failure, until
   a step of that kind succeeds. What a turn may stage is its own affair: see
   struct refusal. */

#include "store/state.h"
#include "store/remote.h"
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
    char why[FILE_WHY_MAX];
    return store_deny(s, file_error(), "%s: %s%s", path, what,
                      file_why(errno, path, why));
}

/* The modes and errors of the reasons, and for those that are known when a log
   is opened, a text to follow its path. */
static const struct {
    enum store_mode mode;
    int err;
    const char *text;
} reasons[] = {
    [WHY_NONE] = {STORE_LOADED, 0, NULL},
    [WHY_ASKED] = {STORE_READONLY, ERR_READONLY, NULL},
    [WHY_SHARED] = {STORE_READONLY, ERR_READONLY,
                    "other hosts share this store; pass --store URL"},
    [WHY_ALONE] = {STORE_READONLY, ERR_READONLY, "a log of this host alone; to "
                   "share it, run \"mcptask push\" as in docs/cluster.md"},
    [WHY_LINK] = {STORE_READONLY, ERR_READONLY, "read-only, since it has a "
                  "second hard link; remove the link, or mount the directory "
                  "instead of the file"},
    [WHY_MOUNT] = {STORE_READONLY, ERR_READONLY, "read-only, since the file "
                   "itself is mounted; mount its directory instead"},
    [WHY_PERMISSION] = {STORE_READONLY, ERR_READONLY, NULL},
    [WHY_DAMAGE] = {STORE_DAMAGED, ERR_DAMAGED, NULL},
    [WHY_FORMAT] = {STORE_FAILED, ERR_FORMAT, NULL},
    [WHY_IO] = {STORE_FAILED, ERR_IO, NULL},
    [WHY_ROOM] = {STORE_REFUSED, ERR_FULL, NULL},
    [WHY_BUSY] = {STORE_REFUSED, ERR_BUSY, NULL},
    [WHY_REMOTE] = {STORE_REFUSED, ERR_UNREACHABLE, NULL},
    [WHY_CLOCK] = {STORE_REFUSED, ERR_SKEW, NULL},
};

/* The reason for which a step has failed with err. */
static enum store_reason
reason_of_err(int err)
{
    for (size_t i = WHY_PERMISSION; i < sizeof reasons / sizeof *reasons; i++)
        if (reasons[i].err == err)
            return (enum store_reason)i;
    return err == ERR_UNAUTHORIZED ? WHY_REMOTE : WHY_IO;
}

bool
store_only_reads(const struct store *s)
{
    return s->opt.readonly && s->replica == NULL;
}

/* What a person has to change before this process can write the log. */
static enum store_reason
standing(const struct store *s)
{
    if (store_only_reads(s))
        return WHY_ASKED;
    if (s->log.foreign)
        return s->replica != NULL ? WHY_ALONE : WHY_SHARED;
    if (s->log.linked)
        return WHY_LINK;
    if (s->log.mounted)
        return WHY_MOUNT;
    return s->lock.readonly != 0 || s->log.readonly ? WHY_PERMISSION : WHY_NONE;
}

enum store_reason
store_why_not(const struct store *s)
{
    enum store_reason why = standing(s);
    if (s->log.damaged)
        return WHY_DAMAGE;
    if (s->err != 0 && s->err != ERR_READONLY)
        return reason_of_err(s->err);
    if (s->opt.readonly)
        return WHY_ASKED;
    if (why != WHY_NONE && why != WHY_PERMISSION)
        return why;
    if (s->err != 0) /* else it may have been granted: an attempt will tell */
        return WHY_PERMISSION;
    if (!s->loaded)
        return WHY_IO;
    return s->busy_ms != 0 &&
                   clock_mono_ms() - s->busy_ms >= STORE_LOCK_WAIT_MS
               ? WHY_BUSY : WHY_NONE;
}

bool
store_is_writable(const struct store *s)
{
    return s->log.fd >= 0 && s->lock.fd >= 0 && !s->log.damaged &&
           standing(s) == WHY_NONE;
}

int
store_deny_standing(struct store *s)
{
    enum store_reason why = standing(s);
    return reasons[why].text == NULL
               ? reasons[why].err
               : store_deny(s, reasons[why].err, "%s: %s", s->path,
                            reasons[why].text);
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
    return reasons[store_why_not(s)].mode == STORE_READONLY;
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
    enum store_reason why = store_why_not(s);

    *out = (struct store_state){
        .mode = reasons[why].mode, .path = s->path, .g = s->log.g,
        .head = s->log.head, .len = s->log.end, .superseded = s->superseded,
        .keys = s->index.n, .index_bytes = s->index.bytes, .torn = s->torn,
        .err = s->err != 0 && why >= WHY_PERMISSION ? s->err : reasons[why].err,
        .missing = s->room.missing, .shared = s->replica != NULL,
        .takes_last = s->room.takes_last,
    };
    text_put(out->id, sizeof out->id, "%s", s->id);
    text_put(out->why, sizeof out->why, "%s", s->why);
    if (out->err == ERR_DAMAGED)
        text_put(out->why, sizeof out->why, "%s; %s", s->why,
                 lost != NULL ? lost : "run mcptask verify");
    if (why == WHY_ASKED && s->opt.denied != NULL)
        text_put(out->why, sizeof out->why, "%s", s->opt.denied);
    if (s->why[0] == '\0' && reasons[why].text != NULL)
        text_put(out->why, sizeof out->why, "%s: %s", s->path,
                 reasons[why].text);
    if (why == WHY_BUSY && s->err == 0)
        text_put(out->why, sizeof out->why, "%s: another process holds the "
                 "lock; if it hangs, end it", s->lock.path);
    return out;
}
