/* turn - runs messages in turns: many messages, one commit.

   A transport pushes messages while the loop calls it back; each is copied,
   parsed, checked and prepared immediately. Then the turn takes the write lock
   if one of them may write, and otherwise reads what others wrote; runs the
   messages in order; commits once for all; and passes the answers to the
   transports. A message that has to wait stays, and the turn runs it again when
   mcp returns it. The turn writes to no descriptor, and an error of one peer
   does not affect others.

   Invariants:
   1. A transport gets an answer only after the commit of everything that was
      staged in its turn.
   2. The messages of a peer take effect and are answered in their order. One
      that waits for an event is answered later and holds up nothing. One that
      waits for the lock holds up only its own peer.
   3. When a commit fails, every message from the first one that staged is run
      again on the state before: what they read or answered did not happen. If
      there was no room, a compaction makes some first; if it cannot, only what
      ends or hands over work is committed.
   4. A turn is bounded in time, in messages, in bytes staged and answered, and
      in the memory for messages and runs; no more is accepted. Peers that it
      did not reach come first in the next turn, but those of the principal that
      filled it come last, so more connections bring no principal more turns.
   5. A message has memory of its own from turn_push until it is answered, and
      one that has to wait stays as it is. The memory of a run is freed when its
      turn ends.
   6. mcp sees each committed record once, whoever wrote it. While a client
      waits or subscribes, records of other processes are read every
      TURN_FOLLOW_MS; while one is only told of lists, as each that has sent
      initialize, every TURN_LIST_MS; else every TURN_IDLE_MS, since an old
      generation of the log keeps its room on the disk as long as a process has
      it open.
   7. With a remote, a commit takes a round trip, and so does what was read: the
      turn stays open. The loop goes on, and messages are accepted, but none is
      run and mcp keeps its waiting ones. If others were first, the turn is run
      again from its first message, and mcp sees their records before that: it
      stages nothing then. A peer may leave; its messages are not run again.
   8. Between turns the log is compacted in slices, and the remote's descriptor
      is watched. The remote may close it in any step, so it is watched only
      while the loop waits. */

#include "serve/turn.h"
#include "store/remote.h"

#include "base/clock.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

#define MAX_RUN TURN_MAX_QUEUE          /* messages in a turn: all of a peer */
#define MAX_TURN_MS MCP_SLICE_MS        /* then the turn runs no more */
#define MAX_OUT ((size_t)1024 * 1024)   /* then the turn runs no more */
/* For what is judged of new messages, and for runs. Transports limit texts. */
#define MAX_MEMORY ((size_t)2 * 1024 * 1024)
#define OUT_KEEP MAX_OUT                /* kept for the next turn */
#define SPARE_LEN ((size_t)4096) /* for errors when memory has run out */

struct msg { /* a message, until it is answered */
    struct msg *next;       /* in the queue of its peer */
    struct msg *same, **at; /* in the list of all of its peer */
    struct peer *peer;
    struct mcp_message *m;
    size_t len;             /* of a new one, counted in queued_len */
    bool waited;            /* it is no new one: mcp counts it */
};

struct peer {
    struct turn *turn;
    struct mcp_channel *channel;
    uint64_t who;         /* hash of the principal that pushes */
    struct msg *all;      /* its messages: queued, run, or waiting */
    struct msg *head, *tail; /* its queue */
    size_t n;         /* number pushed since it was last idle */
    struct peer *next; /* in the turn's list of busy peers */
    int64_t since_ms; /* when its first message began to wait for the lock */
    bool busy;        /* in that list, from a push until it was answered */
    bool waits;       /* its first message waits for the lock */
};

/* A message that was run in this turn, and the place of its answer. */
struct ran {
    struct peer *peer; /* NULL: it left while the turn was open */
    struct msg *msg;
    int refuse;                 /* why it must not write, or 0 */
    size_t off, end;            /* in turn's out */
    size_t notes_off, notes_end;
    enum mcp_status status;
    bool lost;                  /* there was no memory for an answer */
};

struct turn {
    struct loop *loop;
    struct store *store;
    struct mcp *mcp;
    void (*hangup)(void *ctx);
    void *hangup_ctx;
    struct loop_timer follow_timer, due_timer, remote_timer;
    struct peer *busy, **busy_end; /* peers with messages, the next first */
    int64_t looked_ms;             /* when it last looked for listeners */
    struct buf out;                /* the answers of this turn */
    struct buf notes;              /* messages before them, a line each */
    struct buf spare;              /* for an answer without memory: SPARE_LEN */
    size_t queued_len;             /* of all new messages */
    int64_t full_ms;               /* when this turn ends */
    struct peer *last;             /* the last one it reached, or NULL */
    size_t n_ran;
    size_t first_staged; /* index into ran: the first that staged */
    int refuse;          /* why nothing can be written in this turn */
    int reported;        /* the store's error last reported on stderr */
    int failed;          /* the error of turn_fail, or 0 */
    bool locked;
    bool waiting;      /* a peer waits for the lock */
    bool stopping;
    bool open;   /* its commit is under way: invariant 7 */
    bool writes; /* a message of this turn may */
    bool ends_listens; /* once it is no longer open */
    bool notifying;    /* on_record runs */
    unsigned failures; /* of this turn's commit, after which it was run with
                          the error, */
    unsigned no_room;  /* and because there was no room */
    bool compacting, compact_failed;
    int remote_fd;       /* + 1, while it is watched; or 0 */
    bool remote_ready;   /* it is time for the store to go on */
    struct ran ran[MAX_RUN];
};

static void
on_record(void *ctx, const struct store_entry *e, const struct store_rec *r)
{
    struct turn *t = ctx;
    struct mcp_change c = {r->key, r->body, r->n, r->p == 0};
    size_t staged = store_staged_n(t->store);

    (void)e;
    t->notifying = true;
    mcp_changed(t->mcp, &c);
    t->notifying = false;
    ASSERT(store_staged_n(t->store) == staged);
}

/* Invariant 6. The next turn that reads finds an error again. */
static void
follow_others(void *ctx)
{
    struct turn *t = ctx;

    if (!t->stopping && !t->open)
        store_follow(t->store);
}

/* ---- the remote, in each wait of the loop: invariant 8 ---- */

static void
on_remote_ready(void *ctx, int fd, int events)
{
    (void)fd;
    (void)events;
    ((struct turn *)ctx)->remote_ready = true;
}

static void
on_remote_due(void *ctx)
{
    ((struct turn *)ctx)->remote_ready = true;
}

static void
watch_remote(struct turn *t)
{
    int64_t due;
    bool write;
    int fd;

    store_watch(t->store, &fd, &write, &due);
    t->remote_ready = false;
    if (fd >= 0 && loop_watch(t->loop, fd, write ? LOOP_WRITE : LOOP_READ,
                              on_remote_ready, t) == 0)
        t->remote_fd = fd + 1;
    if (due != INT64_MAX)
        loop_timer_set(t->loop, &t->remote_timer, due);
}

static void
unwatch_remote(struct turn *t)
{
    if (t->remote_fd != 0)
        loop_watch(t->loop, t->remote_fd - 1, 0, NULL, NULL);
    t->remote_fd = 0;
    if (t->remote_timer.set)
        loop_timer_stop(t->loop, &t->remote_timer);
}

/* ---- begin and end ---- */

int
turn_new(struct turn **out, struct loop *l, struct store *store,
         struct mcp *mcp)
{
    struct turn *t = calloc(1, sizeof(*t));

    if (t != NULL)
        buf_reserve(&t->spare, SPARE_LEN);
    if (t == NULL || t->spare.err != 0) {
        free(t);
        return ERR_NOMEM;
    }
    t->loop = l;
    t->store = store;
    t->mcp = mcp;
    t->busy_end = &t->busy;
    t->follow_timer = (struct loop_timer){.fn = follow_others, .ctx = t};
    t->remote_timer = (struct loop_timer){.fn = on_remote_due, .ctx = t};
    t->reported = store_state(store)->err; /* reported when it was opened */
    store_observe(store, on_record, t);
    *out = t;
    return 0;
}

void
turn_free(struct turn *t)
{
    if (t == NULL)
        return;
    unwatch_remote(t);
    if (t->compacting)
        store_compact_stop(t->store);
    store_observe(t->store, NULL, NULL);
    loop_timer_stop(t->loop, &t->follow_timer);
    loop_timer_stop(t->loop, &t->due_timer);
    buf_fini(&t->out);
    buf_fini(&t->notes);
    buf_fini(&t->spare);
    free(t);
}

/* Listens that wait may be part of an open turn, which has to end first. */
static void
end_listens(struct turn *t)
{
    if (t->ends_listens && !t->open)
        mcp_end_listens(t->mcp);
    t->ends_listens &= t->open;
}

void
turn_stop(struct turn *t)
{
    if (!t->stopping)
        t->ends_listens = true;
    t->stopping = true;
    end_listens(t);
}

void
turn_fail(struct turn *t, int err)
{
    t->failed = err;
}

void
turn_on_hangup(struct turn *t, void (*fn)(void *ctx), void *ctx)
{
    t->hangup = fn;
    t->hangup_ctx = ctx;
}

struct mcp *
turn_mcp(const struct turn *t)
{
    return t->mcp;
}

bool
turn_stopping(const struct turn *t)
{
    return t->stopping;
}

/* ---- peers ---- */

static void
list_add(struct turn *t, struct peer *p)
{
    p->next = NULL;
    p->busy = true;
    *t->busy_end = p;
    t->busy_end = &p->next;
}

struct peer *
turn_join(struct turn *t, struct mcp_channel *channel)
{
    struct peer *p = calloc(1, sizeof(*p));

    if (p == NULL)
        return NULL;
    p->turn = t;
    p->channel = channel;
    return p;
}

/* Invariant 4: m counts as one of len bytes from now on. */
static void
count_msg(struct msg *m, size_t len)
{
    m->peer->turn->queued_len += len - m->len;
    m->len = len;
}

static void
end_msg(struct msg *m)
{
    *m->at = m->same;
    if (m->same != NULL)
        m->same->at = m->at;
    count_msg(m, 0);
    mcp_release(m->m);
    free(m);
}

void
turn_leave(struct peer *p)
{
    struct turn *t;
    struct peer **at;

    if (p == NULL)
        return;
    t = p->turn;
    ASSERT(!t->notifying);
    /* Invariant 7. What its messages staged is committed even so. */
    for (size_t i = 0; t->open && i < t->n_ran; i++)
        if (t->ran[i].peer == p)
            t->ran[i].peer = NULL;
    if (t->last == p)
        t->last = NULL;
    for (at = &t->busy; p->busy && *at != p; at = &(*at)->next)
        ;
    if (p->busy) {
        *at = p->next;
        if (p->next == NULL)
            t->busy_end = at;
    }
    while (p->all != NULL)
        end_msg(p->all);
    free(p);
}

int
turn_push(struct peer *p, const struct mcp_facts *f, const struct str *text)
{
    struct turn *t = p->turn;
    struct msg *m;
    int err;

    if (p->n >= TURN_MAX_QUEUE || t->stopping ||
        t->queued_len >= MAX_MEMORY)
        return ERR_QUEUE_FULL;
    m = calloc(1, sizeof(*m));
    err = m != NULL ? mcp_accept(t->mcp, f, text, &m->m) : ERR_NOMEM;
    if (err != 0) {
        free(m);
        return err;
    }
    m->peer = p;
    m->at = &p->all;
    m->same = p->all;
    if (m->same != NULL)
        m->same->at = &m->same;
    p->all = m;
    mcp_prepare(m->m);
    count_msg(m, mcp_judged_len(m->m));
    p->who = str_hash(f->principal);
    if (p->head == NULL)
        p->head = m;
    else
        p->tail->next = m;
    p->tail = m;
    p->n++;
    if (!p->busy)
        list_add(t, p);
    return 0;
}

bool
turn_pending(const struct peer *p)
{
    return p->busy;
}

/* ---- the turn ---- */

/* Why messages are run again instead of being undone one by one. The messages
   of a turn build on one another: the second of two that create the same task
   fails because the first one is staged. If the commit fails, every answer from
   the first message that staged may be wrong. So memory goes back to the last
   commit and the same messages run once more, while the store refuses writes
   with the error of the commit: each client gets the answer that it would have
   got if the store had refused from the start. No handler needs a way to undo
   its work; the price is the rule that every handler may run twice. A turn that
   another host overtook is run again in the same way, on top of that host's
   records, and is committed then. */

static bool
may_run(const struct peer *p)
{
    return p->head != NULL && !p->channel->blocked;
}

/* Whether there is a message to run; *writes: one of them may write. */
static bool
has_work(const struct turn *t, bool *writes)
{
    const struct peer *p;
    const struct msg *m;
    bool any = false;

    *writes = false;
    for (p = t->busy; p != NULL; p = p->next) {
        if (!may_run(p))
            continue;
        any = true;
        for (m = p->head; m != NULL && !*writes; m = m->next)
            *writes = mcp_writes(m->m);
    }
    return any;
}

/* Runs message i of the turn and notes where its answer is. Unless refuse is 0,
   the store refuses writes with it. */
static void
run_message(struct turn *t, size_t i, int refuse)
{
    struct ran *r = &t->ran[i];
    size_t staged = store_staged_n(t->store);

    r->off = t->out.len;
    r->notes_off = t->notes.len;
    store_refuse(t->store, refuse);
    r->status = mcp_run(r->msg->m, &t->out, &t->notes);
    store_refuse(t->store, 0);
    r->lost = t->out.err != 0;
    if (r->lost)
        t->out.len = r->off;
    if (t->notes.err != 0)
        t->notes.len = r->notes_off;
    t->out.err = t->notes.err = 0;
    r->end = t->out.len;
    r->notes_end = t->notes.len;
    if (store_staged_n(t->store) > staged && i < t->first_staged)
        t->first_staged = i;
}

/* Runs the messages of p, until the turn is full or one has to wait for the
   lock. */
static void
run_peer(struct turn *t, struct peer *p)
{
    int64_t now = loop_now(t->loop);

    while (may_run(p)) {
        struct ran *r = &t->ran[t->n_ran];
        int refuse = 0; /* why the message may not stage */

        if (mcp_writes(p->head->m)) {
            refuse = t->refuse;
            if (!t->locked && refuse == 0) { /* another process has the lock */
                if (!p->waits)
                    p->since_ms = now;
                p->waits = true;
                refuse = ERR_BUSY;
                if (now - p->since_ms < STORE_LOCK_WAIT_MS) {
                    t->waiting = true;
                    return;
                }
            }
        }
        if (t->n_ran == MAX_RUN || t->out.len + t->notes.len >= MAX_OUT ||
            store_batch_is_full(t->store) ||
            mcp_runs_len(t->mcp) >= MAX_MEMORY ||
            (t->n_ran > 0 && clock_mono_ms() >= t->full_ms))
            return; /* invariant 4 */
        r->peer = p;
        r->msg = p->head;
        r->refuse = refuse;
        run_message(t, t->n_ran, refuse);
        t->last = p;
        t->n_ran++;
        p->head = p->head->next;
        if (t->locked)
            p->waits = false;
    }
}

/* Invariants 3 and 7: runs messages again from this one on. */
static void
rerun_messages(struct turn *t, size_t from, int refuse)
{
    if (from >= t->n_ran)
        return;
    t->out.len = t->ran[from].off;
    t->notes.len = t->ran[from].notes_off;
    if (from == 0)
        mcp_end_turn(t->mcp);
    t->first_staged = MAX_RUN;
    for (size_t i = from; i < t->n_ran; i++)
        if (t->ran[i].peer != NULL)
            run_message(t, i, refuse != 0 ? refuse : t->ran[i].refuse);
}

/* Makes room, if it can, for which it has to release the lock. Returns whether
   the turn may be run again: with more room, or with what ends or hands over
   work alone. */
static bool
make_disk_room(struct turn *t)
{
    if (!t->locked)
        return false;
    if (t->no_room++ == 0 && !store_is_shared(t->store) &&
        (t->compacting || store_wants_compact(t->store))) {
        store_unlock(t->store);
        store_make_room(t->store); /* it locks the store itself */
        t->compacting = false;
        return store_lock_wait(t->store) == 0;
    }
    return t->no_room <= 2 && store_takes_last(t->store);
}

/* Invariants 1, 3 and 7. Returns false while the remote has not answered. A
   turn that fails twice is answered as it is, and its reads carry a note that
   they may be stale. */
static bool
commit_turn(struct turn *t)
{
    bool shared = store_is_shared(t->store), again, unknown;
    int err;

    for (;;) {
        unknown = false;
        if (t->locked && !t->open)
            mcp_run_marked(t->mcp);
        err = store_commit(t->store, &unknown);
        t->open = err == ERR_PENDING;
        if (err >= 0 || t->open)
            return !t->open;
        if (t->locked)
            mcp_undo_marked(t->mcp, err == ERR_AGAIN);
        if (unknown)
            err = ERR_UNKNOWN;
        again = err == ERR_AGAIN || (err == ERR_FULL && make_disk_room(t));
        rerun_messages(t, shared ? 0 : t->first_staged, again ? 0 : err);
        if (!again && (!shared || t->failures++ > 0))
            return true;
    }
}

/* Passes the notes and the answer of r's message to its channel, or makes the
   message wait. If memory runs out for that, it still gets a short answer. */
static void
give_answer(struct turn *t, const struct ran *r)
{
    const struct mcp_channel *to = r->peer->channel;
    struct msg *m = r->msg;
    struct mcp_out o = {.to = m->m, .status = r->status};
    bool fits = !r->lost;

    if (r->notes_off < r->notes_end)
        mcp_send_notes(to, (struct str){t->notes.p + r->notes_off,
                                        r->notes_end - r->notes_off});
    if (r->status == MCP_WAITS &&
        mcp_keep(m->m, r->peer->channel, m) == 0) {
        count_msg(m, 0);
        if (!m->waited)
            to->send(to->ctx, &o);
        m->waited = true;
        return;
    }
    if (r->status == MCP_WAITS) {
        o.status = MCP_OK;
        fits = false;
    }
    if (r->end > r->off)
        o.text = (struct str){t->out.p + r->off, r->end - r->off};
    if (!fits || !to->send(to->ctx, &o)) {
        mcp_no_memory(m->m, &t->spare);
        o.text = buf_view(&t->spare);
        if (t->spare.err != 0 || !to->send(to->ctx, &o))
            to->send(to->ctx, &(struct mcp_out){.to = m->m,
                                                .status = MCP_LOST});
        buf_reset(&t->spare, SPARE_LEN);
        buf_reserve(&t->spare, SPARE_LEN);
    }
    end_msg(m);
}

/* Invariant 4: moves the peers after the last one that was run to the front,
   but those of its principal after the others. */
static void
rotate_peers(struct turn *t)
{
    struct peer *p, *own = NULL, **own_end = &own;

    if (t->last == NULL)
        return;
    *t->busy_end = t->busy;
    p = t->last->next;
    t->last->next = NULL;
    t->busy_end = &t->busy;
    for (; p != NULL; p = p->next) {
        struct peer ***end = p->who == t->last->who ? &own_end : &t->busy_end;

        **end = p;
        *end = &p->next;
    }
    *own_end = NULL;
    *t->busy_end = own;
    if (own != NULL)
        t->busy_end = own_end;
}

/* Passes on the answers, then removes peers without messages from the list. */
static void
release_turn(struct turn *t)
{
    struct peer *p, *next;

    for (size_t i = 0; i < t->n_ran; i++)
        if (t->ran[i].peer != NULL)
            give_answer(t, &t->ran[i]);
    buf_reset(&t->notes, OUT_KEEP / 16);
    buf_reset(&t->out, OUT_KEEP);
    mcp_end_turn(t->mcp);
    rotate_peers(t);
    p = t->busy;
    t->busy = NULL;
    t->busy_end = &t->busy;
    for (; p != NULL; p = next) {
        next = p->next;
        if (p->head != NULL) {
            list_add(t, p);
            continue;
        }
        p->n = 0;
        p->busy = p->waits = false;
    }
    for (size_t i = 0; i < t->n_ran; i++) {
        p = t->ran[i].peer;
        if (p != NULL && (i + 1 == t->n_ran || t->ran[i + 1].peer != p) &&
            p->channel->done != NULL)
            p->channel->done(p->channel->ctx); /* may put p back on the list */
    }
}

/* Ends the turn, unless it stays open. */
static void
try_end_turn(struct turn *t)
{
    const struct store_state *st;

    if (!commit_turn(t))
        return;
    if (t->locked)
        store_unlock(t->store);
    st = t->writes ? store_state(t->store) : NULL;
    if (st != NULL && st->err != t->reported &&
        (st->err != 0 || t->locked)) { /* writes begin to fail, or work again */
        t->reported = st->err;
        text_tell("mcptask: %.300s%s\n", st->err != 0 ? st->why : st->path,
                  st->err != 0 ? "; writes fail until that is fixed"
                              : ": writes work again");
    }
    release_turn(t);
    end_listens(t);
}

/* Runs the messages in the queues, and ends the turn if it can. */
static void
run_queues(struct turn *t)
{
    bool settle = mcp_marked_due_ms(t->mcp) <= loop_now(t->loop), locks;
    struct peer *p;
    int err = 0;

    if (!has_work(t, &t->writes) && !settle)
        return;
    t->out.len = t->notes.len = 0;
    t->n_ran = 0;
    t->first_staged = MAX_RUN;
    t->full_ms = clock_mono_ms() + MAX_TURN_MS;
    t->last = NULL;
    t->refuse = 0;
    t->failures = t->no_room = 0;
    locks = t->writes || settle;
    if (locks)
        err = t->waiting ? store_lock_wait(t->store) : store_lock(t->store);
    t->locked = locks && err == 0;
    if (!t->locked) { /* if that fails, reads are answered from memory */
        store_follow(t->store);
        if (err != ERR_BUSY) /* another process has the lock */
            t->refuse = err;
    }
    t->waiting = settle && !t->locked && t->refuse == 0;
    for (p = t->busy; p != NULL; p = p->next)
        if (!p->channel->blocked)
            run_peer(t, p);
    if (!t->locked && t->refuse != 0)
        mcp_undo_marked(t->mcp, false);
    try_end_turn(t);
}

/* Puts messages whose wait is over before the new ones of their peer. */
static void
queue_ready(struct turn *t)
{
    struct mcp_message *next;
    struct msg *m;

    while ((m = mcp_next(t->mcp, loop_now(t->loop), &next)) != NULL) {
        struct peer *p = m->peer;

        if (p->channel->gone != NULL && p->channel->gone(p->channel->ctx)) {
            end_msg(m); /* its answer would be lost, and its work with it */
            continue;
        }
        m->next = p->head;
        if (p->head == NULL)
            p->tail = m;
        p->head = m;
        if (!p->busy)
            list_add(t, p);
    }
}

static void
set_timers(struct turn *t)
{
    static const int64_t every_ms[] = {[MCP_HEARS_NOTHING] = TURN_IDLE_MS,
                                       [MCP_HEARS_LISTS] = TURN_LIST_MS,
                                       [MCP_HEARS_ALL] = TURN_FOLLOW_MS};
    int64_t due = mcp_due_ms(t->mcp), settle = mcp_marked_due_ms(t->mcp);
    int64_t at = t->looked_ms + TURN_FOLLOW_MS;

    if (settle < due)
        due = settle;
    if (due != INT64_MAX && (!t->due_timer.set || t->due_timer.at_ms != due))
        loop_timer_set(t->loop, &t->due_timer, due);
    /* Invariant 6. mcp_listens visits every stream, so it is called about once
       in TURN_FOLLOW_MS. */
    if (t->stopping)
        return;
    if (!t->follow_timer.set || loop_now(t->loop) >= at) {
        t->looked_ms = loop_now(t->loop);
        at = loop_next(t->loop, every_ms[mcp_listens(t->mcp)]);
    }
    if (!t->follow_timer.set || at < t->follow_timer.at_ms)
        loop_timer_set(t->loop, &t->follow_timer, at);
}

/* Does one slice of a compaction, if one is due. */
static void
compact_slice(struct turn *t)
{
    int err;

    if (!t->compacting && !store_wants_compact(t->store))
        return;
    err = store_compact(t->store);
    t->compacting = err == ERR_PENDING;
    if (err >= 0 || err == ERR_PENDING || err == ERR_BUSY || err == ERR_FULL ||
        t->compact_failed) /* a full disk is reported when a write fails */
        return;
    text_tell("mcptask: the log cannot be compacted, so it keeps growing; run "
              "\"mcptask compact\" to see why\n");
    t->compact_failed = true;
}

/* One turn of the loop is over. */
static void
handle_events(struct turn *t)
{
    if (t->hangup != NULL && loop_hung_up())
        t->hangup(t->hangup_ctx);
    if (loop_signal() != 0)
        turn_stop(t);
    if (t->open) {
        if (t->remote_ready)
            try_end_turn(t);
        if (t->open || t->stopping) /* it may have been the last */
            return;
    }
    queue_ready(t);
    run_queues(t);
    if (t->open)
        return;
    mcp_tick(t->mcp, loop_now(t->loop));
    if (t->stopping)
        return;
    if (!t->waiting)
        compact_slice(t);
    if (t->remote_ready)
        store_tend(t->store, mcp_waits(t->mcp));
}

int
turn_run(struct turn *t, bool (*ended)(void *ctx), void *ctx)
{
    bool writes;

    store_tend(t->store, false);
    while (t->failed == 0 && (!ended(ctx) || t->open)) {
        bool more = !t->open &&
                    (has_work(t, &writes) ||
                     (t->compacting && !t->stopping));

        if (!t->open)
            set_timers(t);
        watch_remote(t);
        if (loop_turn(t->loop, !more) < 0)
            return ERR_IO;
        unwatch_remote(t);
        handle_events(t);
    }
    return t->failed;
}
