/* replica - a store whose commits a remote orders (store/remote.h).

   The log of this host is a replica: a prefix of the one order of batches,
   except for g and c of each line. A turn of messages runs on memory as without
   a remote. Then it asks once: with staged records, whether they may be the
   next batch; else, if it has looked at records, whether memory has all that is
   committed. If others were first, what was staged is undone, their batches are
   appended, and the turn is run again on them. An answer without error is sent
   only after that.

   While the remote does not answer, writes fail and reads say how old they are.
   After a failure nothing is tried for a while, longer each time; a server then
   leaves it to store_tend to try again, so that no turn has to wait for that.

   Invariants:
   1. Every batch was staged on exactly the state that it follows: it is offered
      with the head of the log that memory equals.
   2. The log changes under the write lock only. Without it, a reader drops what
      it was told and asks again.
   3. The head's text belongs to one record: it is in the mark of that record,
      or unknown. If it is unknown, the remote compares the newest record.
   4. What was committed and cannot be written here (no room) is a success all
      the same. Memory lacks it until it can be written, and says so. */

#include "store/replica.h"
#include "store/state.h"
#include "store/remote.h"
#include "base/clock.h"
#include "base/text.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h> /* rename */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define RETRY_MS 5         /* while another process of this host has the lock */
#define PAUSE_MIN_MS 500   /* after a failure */
#define PAUSE_MAX_MS 5000
#define ASIDE_MAX (FILE_PATH_MAX + 64)
#define WAIT_MS 50         /* between looks while somebody waits */
#define FOLLOW_MS 1000     /* else */
#define LOCAL_MS 2000      /* with reads_local, older reads are stale */

/* ---- where the replica stands ---- */

static bool
knows_head(const struct store *s)
{
    return s->replica->head[0] != '\0' && s->replica->head_n == s->log.head;
}

static void
set_head(struct store *s, const char *head, uint64_t n)
{
    text_put(s->replica->head, REMOTE_HEAD_MAX, "%s", head);
    s->replica->head_n = n;
}

/* A damaged log counts as empty: everything is asked for. A compaction may have
   dropped the newest record. */
static void
note_position(struct store *s)
{
    struct remote_at *at = &s->replica->at;
    *at = (struct remote_at){.n = s->log.damaged ? 0 : s->log.head,
                             .push = s->replica->push};
    if (s->log.fd >= 0)
        at->g = s->log.g + LOG_NEXT_G - 1;
    text_put(at->id, sizeof at->id, "%s", s->id);
    if (knows_head(s) && !s->log.damaged)
        text_put(at->head, sizeof at->head, "%s", s->replica->head);
    else if (at->n > 0)
        log_seek(s->log.fd, s->log.end, at->n, &at->b, &at->sum);
}

/* ---- operations ---- */

/* Begins a commit that cannot win. If there is no room, the remote says that
   instead. */
static int
begin_probe(struct store *s)
{
    struct replica *r = s->replica;
    note_position(s);
    text_put(r->at.head, sizeof r->at.head, REMOTE_NOWHERE);
    int rc = r->remote->commit(r->remote->ctx, &r->at, STR("\n"),
                               s->log.head + 1, s->log.head + 1, 0);
    r->doing = rc == 0 ? REPLICA_PROBES : REPLICA_IDLE;
    return rc;
}

/* The content to share next, or NULL. Nothing is put for a call that was
   refused. */
static struct content *
next_content(const struct store *s)
{
    struct replica *r = s->replica;
    for (struct content *c = r->contents; c < r->contents + r->n_contents; c++)
        if (c->rc == ERR_PENDING &&
            (c->what != REMOTE_PUT || s->n_staged > c->at))
            return c;
    return NULL;
}

/* After a content was put the turn goes on; else it runs again. */
static void
end_content(struct store *s, int rc)
{
    struct replica *r = s->replica;
    r->shared->rc = rc;
    if (rc != 0)
        text_put(r->why, sizeof r->why, "%s",
                 r->remote->why(r->remote->ctx));
    if (rc == 0 && r->shared->what == REMOTE_PUT)
        return;
    store_unstage(s, 0);
    r->changed = true;
}

static int
begin_content(struct store *s, struct content *c)
{
    struct replica *r = s->replica;
    int rc = r->remote->content(r->remote->ctx, c->dir, c->hex,
                                c->what);
    r->shared = c;
    if (rc == 0)
        r->doing = REPLICA_SHARES;
    else
        end_content(s, rc);
    return rc == 0 ? 0 : ERR_PENDING;
}

/* Begins what the turn needs next: a content, a commit, or a pull. */
static int
begin_remote(struct store *s, bool asked)
{
    struct replica *r = s->replica;
    const struct remote *m = r->remote;
    struct content *c = asked ? next_content(s) : NULL;
    int rc = 0;
    r->began_ms = clock_mono_ms();
    r->asked = asked;
    r->due_ms = 0;
    if (c != NULL) {
        rc = begin_content(s, c);
    } else if (s->n_staged > 0 && knows_head(s) && r->heard) {
        struct str last = {s->batch.p + s->last->at, s->last->len};
        note_position(s);
        rc = m->commit(m->ctx, &r->at, buf_view(&s->batch), s->log.head + 1,
                       s->log.head + s->n_staged, record_sum(last));
        r->doing = rc == 0 ? REPLICA_COMMITS : REPLICA_IDLE;
    } else if (s->log.foreign && r->push != REMOTE_PUSH) {
        rc = store_deny_standing(s);
    } else {
        if (s->log.fd < 0) { /* the remote is told the id of an empty log */
            r->changed = true;
            rc = s->lock.held ? ERR_IO : store_take_lock(s, false);
            if (rc == 0)
                store_unlock(s);
        }
        if (rc == 0) {
            note_position(s);
            rc = m->pull(m->ctx, &r->at);
            r->doing = rc == 0 ? REPLICA_PULLS : REPLICA_IDLE;
        }
    }
    if (rc == ERR_BUSY)
        rc = ERR_PENDING;
    if (rc == ERR_PENDING)
        r->due_ms = r->began_ms + RETRY_MS;
    return rc;
}

/* Notes that the remote has refused a commit for lack of room, or that nothing
   can be done before it answers again. */
static int
note_failure(struct store *s, int rc)
{
    struct replica *r = s->replica;
    if (rc != ERR_UNREACHABLE && rc != ERR_UNKNOWN && rc != ERR_IO &&
        rc != ERR_READONLY && rc != ERR_FORMAT && rc != ERR_UNAUTHORIZED &&
        rc != ERR_FULL)
        return rc;
    store_deny(s, rc == ERR_UNKNOWN ? ERR_UNREACHABLE : rc, "%s",
               r->remote->why(r->remote->ctx));
    r->full |= rc == ERR_FULL;
    if (rc == ERR_FULL)
        return rc;
    r->err = rc;
    r->pause_ms = r->pause_ms == 0 ? PAUSE_MIN_MS : 2 * r->pause_ms;
    if (r->pause_ms > PAUSE_MAX_MS)
        r->pause_ms = PAUSE_MAX_MS;
    r->until_ms = clock_mono_ms() + r->pause_ms;
    return rc;
}

/* Goes on with the operation under way. */
static int
step_remote(struct store *s, struct remote_news *news)
{
    struct replica *r = s->replica;
    int rc = r->remote->step(r->remote->ctx, news);
    if (rc == ERR_PENDING)
        return rc;
    bool shares = r->doing == REPLICA_SHARES;
    /* That a pull succeeds does not say that there is room. */
    bool has_room = r->doing != REPLICA_PULLS || !r->full;
    r->doing = REPLICA_IDLE;
    if (shares) {
        news->what = REMOTE_SHARED;
        end_content(s, rc);
        return rc == ERR_UNREACHABLE ? note_failure(s, rc) : 0;
    }
    if (rc != 0)
        return note_failure(s, rc);
    if (has_room && (r->full || r->err != 0) && s->err != ERR_DAMAGED)
        store_allow(s);
    r->full = !has_room;
    r->err = 0;
    if (news->what != REMOTE_BEHIND) /* else it catches up first */
        r->push = REMOTE_FOLLOW;
    r->pause_ms = r->until_ms = 0;
    r->skew_ms = news->skew_ms;
    r->heard = true;
    return 0;
}

/* ---- what others committed ---- */

/* Under the lock: appends those of the lines that memory lacks, as lines of
   this log. ERR_FORMAT: they do not follow it. The lines are read back: what
   memory has is what the log has. */
static int
append_lines(struct store *s, const struct remote_news *news)
{
    struct mark m = {.g = s->log.g, .n = s->log.head};
    struct str rest = news->lines;
    struct store_rec r;
    int rc = 0;
    bool cut;
    while (rc == 0 && rest.len > 0) {
        const char *lf = memchr(rest.p, '\n', rest.len);
        if (lf == NULL ||
            record_parse((struct str){rest.p, (size_t)(lf - rest.p)},
                         &r) != 0 ||
            (r.n > m.n && (r.n != m.n + 1 || !record_key_ok(r.key)))) {
            rc = ERR_FORMAT;
        } else if (r.n > m.n) {
            r.g = s->log.g;
            record_put(&s->batch, &r);
            m.n = r.n;
        }
        if (rc == 0)
            rest = str_from(rest, (size_t)(lf + 1 - rest.p));
    }
    if (rc == 0)
        rc = s->batch.err;
    m.end = s->log.end + (int64_t)s->batch.len;
    /* Another process here may have taken these lines, and later ones. */
    if (rc != 0 || m.n > s->log.head)
        set_head(s, rc == 0 ? news->head : "", m.n);
    if (rc == 0 && m.n > s->log.head) {
        text_put(m.head, sizeof m.head, "%s", news->head);
        rc = store_put(s, buf_view(&s->batch), &m, &cut);
        if (rc == 0)
            rc = store_load_to(s, &m);
    }
    if (rc == ERR_FORMAT)
        store_deny(s, rc, "%s: the store's next records do not follow record "
                   "%llu", s->path, (unsigned long long)s->log.head);
    buf_reset(&s->batch, 64 * 1024);
    return rc;
}

/* Keeps the log under a second name, which no other log has. The path must
   never be empty, but not all file systems have hard links. */
static int
keep_log_aside(struct store *s, const char *what, char aside[ASIDE_MAX])
{
    struct stat there;
    text_put(aside, ASIDE_MAX, "%s.%s", s->path, what);
    for (int i = 2; link(s->path, aside) != 0; i++) {
        if (errno != EEXIST) {
            if (rename(s->path, aside) != 0)
                return -1;
            break;
        }
        if (lstat(aside, &there) != 0)
            return -1;
        if (store_is_log(s, &there))
            break;
        text_put(aside, ASIDE_MAX, "%s.%s-%d", s->path, what, i);
    }
    return file_sync_path(s->dir);
}

/* Under the lock: takes a whole log instead of this one. */
static int
install_replica(struct store *s, const struct remote_news *news)
{
    char aside[ASIDE_MAX];
    if ((news->aside != NULL && keep_log_aside(s, news->aside, aside) != 0) ||
        rename(news->path, s->path) != 0)
        return store_deny_errno(s, s->path, "cannot be replaced: ");
    if (news->aside != NULL && s->replica->at.push != REMOTE_PUSH)
        text_tell("mcptask: %.200s: may have records that etcd lacks, so it is "
                  "kept as %.240s\n", s->path, aside);
    s->id[0] = '\0';
    s->loaded = false;
    int rc = store_load(s, true);
    if (rc != 0)
        return rc;
    set_head(s, news->head, s->log.head);
    return store_put_mark(s, s->log.g, s->log.head, s->log.end, s->ino);
}

/* Brings memory and log up to date; takes the lock for that, if the turn does
   not have it. ERR_BUSY: ask again, perhaps once another process has released
   the lock. */
static int
follow_news(struct store *s, const struct remote_news *news)
{
    const struct remote_at *at = &s->replica->at;
    bool had = s->lock.held;
    s->replica->changed = true; /* locking follows, even if it fails */
    int rc = had ? 0 : store_take_lock(s, false);
    if (rc != 0)
        return rc;
    /* The news is useless if the log is another one by now; a whole log also
       if another process has gone on from a newer one. */
    if (s->log.head < at->n ||
        (news->what == REMOTE_REPLACE &&
         (s->log.head != at->n || s->log.g + LOG_NEXT_G - 1 != at->g)))
        rc = ERR_BUSY;
    else if (news->what == REMOTE_REPLACE)
        rc = install_replica(s, news);
    else
        rc = append_lines(s, news);
    if (!had)
        store_unlock(s);
    return rc;
}

/* ---- a turn ---- */

/* Acts on what the remote said. ASK_ON: there is more to ask. */
#define ASK_ON 1
static int
act_on_news(struct store *s, const struct remote_news *news)
{
    struct replica *r = s->replica;
    bool unknown;
    if (news->what == REMOTE_SHARED)
        return ASK_ON;
    if (news->what == REMOTE_WON) {
        set_head(s, news->head, s->log.head + s->n_staged);
        r->lags = store_commit_here(s, &unknown) != 0;
        return 0; /* invariant 4 */
    }
    if (news->what == REMOTE_SAME) {
        if (r->at.n == s->log.head)
            set_head(s, news->head, r->at.n);
        r->lags = false;
        if (s->n_staged > 0 || !r->asked)
            return ASK_ON;
        return r->changed ? ERR_AGAIN : 0;
    }
    store_unstage(s, 0);
    int rc = follow_news(s, news);
    if (rc == ERR_BUSY) {
        r->due_ms = clock_mono_ms() + RETRY_MS;
        return ASK_ON;
    }
    r->lags = rc != 0;
    if (rc != 0)
        return rc;
    return news->more || !r->asked ? ASK_ON : ERR_AGAIN;
}

/* Asks until the turn can end. */
static int
continue_turn(struct store *s)
{
    struct replica *r = s->replica;
    struct remote_news news;
    for (;;) {
        if (r->doing == REPLICA_PROBES && step_remote(s, &news) == ERR_PENDING)
            return ERR_PENDING;
        if (r->doing == REPLICA_IDLE && clock_mono_ms() < r->due_ms)
            return ERR_PENDING;
        bool idle = r->doing == REPLICA_IDLE;
        int rc = idle && s->n_staged > 0 ? store_check_clock(s) : 0;
        if (rc != 0)
            return rc;
        rc = idle ? begin_remote(s, true) : 0;
        r->lags |= rc != 0 && rc != ERR_PENDING;
        if (rc == 0)
            rc = step_remote(s, &news);
        if (rc != 0)
            return rc;
        rc = act_on_news(s, &news);
        if (rc != ASK_ON)
            return rc;
    }
}

/* Ends a turn with the result rc. */
static int
end_replica_turn(struct store *s, int rc, bool *unknown)
{
    struct replica *r = s->replica;
    int64_t now = clock_mono_ms();
    size_t n = 0;
    r->wanted = false;
    r->due_ms = 0;
    if (rc == 0 || rc == ERR_AGAIN) {
        r->fresh = true;
        r->fresh_ms = r->began_ms;
    }
    if (rc != ERR_AGAIN)
        r->lost_ms = 0;
    else if (r->lost_ms == 0)
        r->lost_ms = now;
    else if (now - r->lost_ms >= REPLICA_PATIENCE_MS)
        rc = ERR_BUSY;
    if (rc < 0)
        store_unstage(s, 0);
    /* A turn that runs again asks only for what was not done. */
    for (size_t i = 0; rc == ERR_AGAIN && i < r->n_contents; i++)
        if (r->contents[i].rc != ERR_PENDING)
            r->contents[n++] = r->contents[i];
    r->n_contents = n;
    *unknown = rc == ERR_UNKNOWN;
    return rc;
}

/* store_commit with a remote. */
static int
commit_shared(struct store *s, bool *unknown)
{
    struct replica *r = s->replica;
    if (!r->wanted && store_lacks_room(s))
        return end_replica_turn(s, ERR_FULL, unknown);
    /* With nothing to ask, reads may be stale. */
    if (!r->wanted && s->n_staged == 0 && next_content(s) == NULL &&
        (!s->was_read || r->fresh || r->remote->reads_local ||
         store_is_paused(r))) {
        r->lost_ms = 0;
        r->n_contents = 0;
        return 0;
    }
    if (!r->wanted)
        r->changed = false;
    r->wanted = true;
    int rc = continue_turn(s);
    return rc == ERR_PENDING ? rc : end_replica_turn(s, rc, unknown);
}

int
store_commit(struct store *s, bool *unknown)
{
    *unknown = false;
    if (s->replica != NULL)
        return commit_shared(s, unknown);
    if (s->n_staged == 0)
        return 0;
    if (store_lacks_room(s)) {
        store_unstage(s, 0);
        return ERR_FULL;
    }
    int rc = store_commit_here(s, unknown);
    if (rc == ERR_FULL)
        s->refuse.ordinary = rc;
    return rc;
}

int
store_confirm(struct store *s)
{
    struct replica *r = s->replica;
    bool unknown;
    if (r == NULL)
        return 0;
    if (!r->wanted && clock_mono_ms() < r->until_ms)
        return r->err;
    if (!r->wanted) {
        r->fresh = false;
        r->wanted = true;
        r->changed = false;
    }
    int rc = commit_shared(s, &unknown);
    return rc == ERR_AGAIN ? 0 : rc;
}

int
store_confirm_patiently(struct store *s)
{
    int rc;
    while ((rc = store_confirm(s)) == ERR_PENDING)
        store_await(s);
    return rc;
}

/* ---- push ---- */

int
store_push(struct store *s, bool again)
{
    char aside[ASIDE_MAX];
    int rc = 0;
    if (!s->lock.held) {
        s->replica->push = again ? REMOTE_CONTINUE : REMOTE_PUSH;
        rc = store_lock_patiently(s);
        text_put(aside, sizeof aside, "%s.before-etcd", s->path);
        if (rc == 0 && !again && !s->log.foreign)
            rc = store_deny(s, ERR_EXISTS, "%s: already shared in etcd; if "
                            "etcd has lost its records, run \"mcptask push "
                            "--continue\"", s->path);
        else if (rc == 0 && !again && access(aside, F_OK) == 0)
            rc = store_deny(s, ERR_EXISTS, "%s: already exists; rename it",
                            aside);
    }
    if (rc == 0)
        rc = store_confirm(s);
    if (rc == ERR_PENDING)
        return rc;
    s->replica->push = REMOTE_FOLLOW;
    store_unlock(s);
    return rc;
}

/* ---- contents ---- */

/* As store_content. */
static int
note_content(struct store *s, const char *dir, struct str hex,
             enum remote_content what)
{
    struct replica *r = s->replica;
    if (r == NULL || r->remote->content == NULL)
        return what == REMOTE_FETCH ? ERR_NOT_FOUND : 0;
    for (size_t i = 0; i < r->n_contents; i++)
        if (r->contents[i].what == what && str_is(hex, r->contents[i].hex))
            return r->contents[i].rc;
    if (store_is_paused(r)) {
        text_put(r->why, sizeof r->why, "%s", s->why);
        return r->err;
    }
    text_put(r->why, sizeof r->why, "too many artifacts at the same time; try "
             "again");
    if (r->n_contents == REPLICA_CONTENTS)
        return ERR_BUSY;
    struct content *c = &r->contents[r->n_contents++];
    *c = (struct content){.dir = dir, .what = what, .at = s->n_staged,
                          .rc = ERR_PENDING};
    text_put(c->hex, sizeof c->hex, "%.*s", STR_ARG(hex));
    return ERR_PENDING;
}

int
store_content(struct store *s, const char *dir, struct str hex, bool put)
{
    return note_content(s, dir, hex, put ? REMOTE_PUT : REMOTE_FETCH);
}

static int
share_content(struct store *s, const char *dir, struct str hex,
              enum remote_content what, struct remote_news *news)
{
    struct replica *r = s->replica;
    int rc = note_content(s, dir, hex, what);
    if (rc != ERR_PENDING)
        return rc;
    begin_content(s, r->contents);
    while (r->doing != REPLICA_IDLE && step_remote(s, news) == ERR_PENDING)
        store_await(s);
    r->n_contents = 0;
    return r->contents[0].rc;
}

int
store_share(struct store *s, const char *dir, struct str hex,
            enum remote_content what)
{
    struct remote_news news;
    return share_content(s, dir, hex, what, &news);
}

int
store_contents(struct store *s, const char *hex, struct str *names)
{
    struct remote_news news = {.lines = STR("")};
    int rc = share_content(s, "", str_of(hex), REMOTE_LIST, &news);
    *names = news.lines;
    return rc;
}

const char *
store_content_why(const struct store *s)
{
    return s->replica != NULL ? s->replica->why : "";
}

bool
store_uploads(const struct store *s, uint64_t *done, uint64_t *all)
{
    const struct remote *m = s->opt.remote;
    return m != NULL && m->uploads(m->ctx, done, all);
}

/* ---- between turns ---- */

void
store_tend(struct store *s, bool waits)
{
    struct replica *r = s->replica;
    struct remote_news news;
    if (r == NULL || r->wanted)
        return;
    r->tended = true;
    if (r->doing == REPLICA_IDLE) {
        int64_t now = clock_mono_ms();
        bool asks = true; /* one process of a host asks for all of them */
        r->remote->step(r->remote->ctx, &news); /* the engine's own work */
        if (waits && !r->waits && r->next_ms > now + WAIT_MS)
            r->next_ms = now;
        if (now < r->next_ms || now < r->until_ms)
            return;
        r->probed = r->full && !r->probed;
        r->next_ms = now + (waits ? WAIT_MS : FOLLOW_MS);
        if (r->probed) {
            r->next_ms = now;
            begin_probe(s);
        } else if (s->lock.fd >= 0) {
            if (waits)
                asks = lock_try(&s->lock, LOCK_PULL) == 0;
            else if (r->waits)
                lock_release(&s->lock, LOCK_PULL);
        }
        if (!r->probed && asks) {
            store_follow(s);
            r->changed = false;
            begin_remote(s, false);
        }
        r->waits = waits;
    }
    bool probes = r->doing == REPLICA_PROBES;
    if (r->doing == REPLICA_IDLE || step_remote(s, &news) != 0 || probes)
        return;
    int rc = act_on_news(s, &news);
    if (rc == ASK_ON && (r->due_ms != 0 || news.more))
        r->next_ms = r->due_ms; /* the lock was taken, or there is more */
    else if (rc == ASK_ON)
        r->fresh_ms = r->began_ms;
    r->due_ms = 0;
}

void
store_watch(const struct store *s, int *fd, bool *write, int64_t *due_ms)
{
    const struct replica *r = s->replica;
    int64_t next;
    *fd = -1;
    *write = false;
    *due_ms = INT64_MAX;
    if (r == NULL)
        return;
    *fd = r->remote->watch(r->remote->ctx, write, due_ms);
    if (r->doing != REPLICA_IDLE)
        return;
    next = r->next_ms > r->until_ms ? r->next_ms : r->until_ms;
    if (r->wanted) {
        *fd = -1; /* the remote is not polled before its next deadline */
        next = r->due_ms;
    }
    if (next < *due_ms && (r->wanted || r->tended))
        *due_ms = next;
}

void
store_await(const struct store *s)
{
    int64_t due, left;
    bool write;
    int fd;
    store_watch(s, &fd, &write, &due);
    left = due - clock_mono_ms();
    if (left < 0)
        left = 0;
    if (left > FOLLOW_MS)
        left = FOLLOW_MS;
    poll(&(struct pollfd){.fd = fd, .events = write ? POLLOUT : POLLIN}, 1,
         (int)left);
}

int
store_probe_hosts(struct store *s)
{
    struct replica *r = s->replica;
    struct remote_news news;
    ASSERT(s->lock.held && s->n_staged == 0);
    if (r == NULL)
        return 0;
    int rc = begin_probe(s);
    while (r->doing != REPLICA_IDLE &&
           (rc = step_remote(s, &news)) == ERR_PENDING)
        store_await(s);
    return rc;
}

int
store_examine(struct store *s, unsigned i, const char **what)
{
    const struct remote *m = s->opt.remote;
    struct remote_news news;
    int rc = m->examine(m->ctx, i);
    if (rc == 0)
        while ((rc = m->step(m->ctx, &news)) == ERR_PENDING)
            store_await(s);
    *what = m->why(m->ctx);
    return rc;
}

const char *
store_member(const struct store *s, int64_t *trip_us)
{
    const struct remote *m = s->opt.remote;
    return m != NULL ? m->member(m->ctx, trip_us) : NULL;
}

int64_t
store_stale_ms(const struct store *s)
{
    const struct replica *r = s->replica;
    if (r == NULL)
        return 0;
    int64_t age = clock_mono_ms() - r->fresh_ms;
    bool stale = r->err != 0 || r->lags ||
                 (r->remote->reads_local && age > LOCAL_MS);
    if (!stale)
        return 0;
    return age > 0 ? age : 1;
}
