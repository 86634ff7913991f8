/* state - what a store can do now, why not more, how many records are lost, and
   what time it is.

   A store is in one of five modes (enum store_mode), and why_not says which and
   why. What decides it is noted where it is found: in the log and its lock
   file, how they could be opened; in err and why, the last failure, until a
   step of that kind succeeds. What a turn may stage is its own affair: see
   struct refusal.

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

#include "store/state.h"
#include "store/remote.h"
#include "base/clock.h"
#include "base/os.h"
#include "base/text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define ACCESS_MS 5000 /* between looks at permissions */
#define TIME_MAX_MS (INT64_C(1) << 50) /* past the year 9999 */
#define STAMP_AHEAD_MS (3 * REMOTE_SKEW_MS)
#define SLACK_MS 1000 /* a mark's time is not taken for set back */
#define PAST_MS (24 * 60 * 60 * 1000)

/* Why a store is not STORE_LOADED. */
enum reason {
    WHY_NONE,
    /* a person has to change something */
    WHY_ASKED,      /* it was opened for reading */
    WHY_SHARED,     /* a replica, opened without its remote */
    WHY_ALONE,      /* a log of this host, opened with a remote */
    WHY_LINK,       /* the log has another name, and so another lock file */
    WHY_MOUNT,      /* the log itself is a mount point: no rename over it */
    /* a step has failed, with an error of its own */
    WHY_PERMISSION, /* to write the log or its lock file */
    WHY_DAMAGE,
    WHY_FORMAT,     /* no log, or one of a later version */
    WHY_IO,
    WHY_ROOM,
    WHY_BUSY,       /* another process holds the lock */
    WHY_REMOTE,     /* it does not answer, or not as it should */
    WHY_CLOCK       /* it differs too much from the remote's */
};

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

bool
store_only_reads(const struct store *s)
{
    return s->opt.readonly && s->replica == NULL;
}

/* What a person has to change before this process can write the log. */
static enum reason
lasting_reason(const struct store *s)
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

/* Why changes cannot be committed now; WHY_NONE: they can. */
static enum reason
why_not(const struct store *s)
{
    enum reason why = lasting_reason(s);
    if (s->log.damaged)
        return WHY_DAMAGE;
    if (s->err != 0 && s->err != ERR_READONLY) {
        for (size_t i = WHY_PERMISSION; i < sizeof reasons / sizeof *reasons;
             i++)
            if (reasons[i].err == s->err)
                return (enum reason)i;
        return s->err == ERR_UNAUTHORIZED ? WHY_REMOTE : WHY_IO;
    }
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
           lasting_reason(s) == WHY_NONE;
}

int
store_deny_standing(struct store *s)
{
    enum reason why = lasting_reason(s);
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
    return reasons[why_not(s)].mode == STORE_READONLY;
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
    enum reason why = why_not(s);

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

/* ---- what the remote last said ---- */

int
store_check_clock(struct store *s)
{
    const struct remote *m = s->replica->remote;
    int64_t skew = s->replica->skew_ms, trip_us;
    if (llabs(skew) <= REMOTE_SKEW_MS)
        return 0;
    return store_deny(s, ERR_SKEW, "this host's clock is %lld ms %s that of "
                      "%s; correct the wrong clock", llabs(skew),
                      skew > 0 ? "behind" : "ahead of",
                      m->member(m->ctx, &trip_us));
}

bool
store_is_paused(const struct replica *r)
{
    return r->err != 0 && (r->tended || clock_mono_ms() < r->until_ms);
}

/* ---- the log file and its names ---- */

const char *
store_closed_path(const struct store *s, uint64_t g)
{
    static char path[STORE_CLOSED_PATH_MAX];
    text_put(path, sizeof path, "%s.%llu", s->path, (unsigned long long)g);
    return path;
}

bool
store_is_log(const struct store *s, const struct stat *st)
{
    return st->st_dev == s->dev && st->st_ino == s->ino;
}

void
store_note_names(struct store *s)
{
    struct stat st, is;
    bool linked = fstat(s->log.fd, &st) == 0 && st.st_nlink > 1;
    if (linked && st.st_nlink == 2)
        linked = lstat(store_closed_path(s, s->log.g), &is) != 0 ||
                 !store_is_log(s, &is);
    s->log.linked = linked;
}

/* An open file can be written whatever its permissions have become; not so on a
   file system that was mounted again for reading. */
void
store_check_access(struct store *s)
{
    int64_t now = clock_mono_ms();
    const char *path = s->path;
    struct statvfs v;
    int e = 0;
    if (store_only_reads(s) || s->err != 0 || now < s->access_ms)
        return;
    s->access_ms = now + ACCESS_MS;
    if (s->log.fd >= 0 && fstatvfs(s->log.fd, &v) == 0 &&
        (v.f_flag & ST_RDONLY) != 0)
        e = EROFS;
    if (e == 0 && (s->log.fd < 0 || s->log.readonly))
        e = file_why_not_writable(path);
    if (e == 0 && (s->lock.fd < 0 || s->lock.readonly != 0))
        e = file_why_not_writable(path = s->lock.path);
    errno = e;
    if (e != 0)
        store_deny_errno(s, path, "cannot be written: ");
    else if (s->log.fd >= 0)
        store_note_names(s);
}

/* ---- time ---- */

void
store_advance_time(struct store *s, int64_t off)
{
    struct store_time *t = &s->time;
    bool shared = s->replica != NULL;
    if (off <= t->off && (off <= t->near || !shared))
        return;
    int64_t ahead_ms = off + clock_boot_ms() - clock_wall_ms();
    if (off > t->off && (!shared || ahead_ms <= STAMP_AHEAD_MS))
        t->off = off;
    if (off > t->near && ahead_ms <= REMOTE_SKEW_MS)
        t->near = off;
}

void
store_adopt_mark(struct store *s, const struct mark *m)
{
    struct store_time *t = &s->time;
    int64_t off = m->time_ms - m->boot_ms;
    if (m->id[0] != '\0' && strcmp(m->boot, os_boot_id()) == 0 &&
        m->time_ms <= TIME_MAX_MS && m->boot_ms <= clock_boot_ms()) {
        if (s->replica == NULL && off < t->off - SLACK_MS)
            t->off = off; /* another process has taken times back */
        store_advance_time(s, off);
        t->same_boot = true;
    }
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
