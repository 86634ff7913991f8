/* turn - the turn.

   A transport pushes messages while the loop calls it back; each is parsed,
   judged and prepared on the spot. Then the turn: the write lock if a message
   of the turn may write, else only a look at what others wrote; the messages
   in order; one commit for all; the answers. A message whose run says that it
   waits is kept by mcp and run again in a later turn, when mcp gives it back.
   It refuses to write to any descriptor, and to let one peer's trouble become
   another's.

   Invariants:
   1. No answer is given to a transport before the commit of everything that
      was staged in its turn.
   2. Messages of one peer take effect in their order, and are answered in
      it, but for those that wait for an event, which hold up nothing. One
      that waits for the lock stops only its own peer.
   3. Where a commit fails, every message from the first that staged on is
      run again against the undone state: what such a read has seen and what
      such a writer has promised is not so.
   4. A turn is bounded in time, in messages, in bytes staged, in bytes
      answered and in the memory that its messages and their runs take; nor
      are more pushed than that. Peers that it did not come to are first in
      the next, and before them those of others than the one who filled it:
      many connections get nobody more turns.
   5. A message owns nothing: it lives in its peer's arena, which is reset
      when the peer's whole queue is answered, and in the transport's text;
      unless it waits: then it is mcp's copy. What a run takes is given back
      at the end of its turn.
   6. Each committed record, whoever wrote it, is shown to mcp once; while
      somebody listens, other processes' are looked for every
      SERVE_FOLLOW_MS. */

#include "serve/turn.h"

#include "base/clock.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

#define MAX_RUN 256                     /* messages in a turn */
#define MAX_TURN_MS MCP_SLICE_MS        /* then no more are run in it */
#define MAX_OUT ((size_t)1024 * 1024)   /* then no more are run in it */
#define MAX_ARENAS ((size_t)2 * 1024 * 1024) /* of those pushed, of runs */
#define ARENA_KEEP ((size_t)16 * 1024)  /* of an idle peer */
#define OUT_KEEP MAX_OUT                /* kept for the next turn */
#define COMPACT_PAUSE_MS (60 * 1000)    /* after one that was given up */

_Static_assert(STORE_MAX_BATCH > 4 * STORE_MAX_RECORD, "a turn has room");

struct msg { /* one that is to be run */
    struct msg *next;
    struct mcp_message *m;
    struct waiting *waiting; /* it was kept; NULL: it is new */
};

/* A message that waits for an event, in its peer's list of them. */
struct waiting {
    struct waiting *next, **at;
    struct peer *peer;
    struct msg msg; /* for when it is run again */
};

struct peer {
    struct serve *serve;
    const struct peer_ops *ops;
    void *ctx;
    struct mcp_sink sink; /* for what its waiting messages tell */
    uint64_t who;         /* hash of the principal that pushes */
    struct waiting *waiting;
    struct arena arena; /* of all that is queued or run in this turn */
    struct msg *head, *tail;
    size_t n;         /* pushed since the last done */
    size_t arena_len; /* of the arena, 0 when idle */
    struct peer *next; /* in serve's list of the busy */
    int64_t since_ms; /* when its first message began to wait for the lock */
    bool busy;        /* in that list, from the first push to done */
    bool waits;       /* since_ms counts */
    bool held;
};

/* A message that was run in this turn, and where its answer stands. */
struct ran {
    struct peer *peer;
    struct mcp_message *m;
    struct waiting *waiting;    /* or NULL, as in its msg */
    size_t off, end;            /* in serve's out */
    size_t notes_off, notes_end;
    enum mcp_status status;
};

struct serve {
    struct loop *loop;
    struct store *store;
    struct mcp *mcp;
    void (*hangup)(void *ctx);
    void *hangup_ctx;
    struct loop_timer follow_timer, due_timer;
    struct peer *busy, **busy_end; /* those with messages, the next first */
    int64_t unheard_ms;            /* when nobody was there to listen */
    struct buf out;                /* the answers of this turn */
    struct buf notes;              /* what goes before them, a line each */
    size_t arenas_len;             /* of all peers */
    int64_t full_ms;               /* that ends this turn */
    struct peer *last;             /* whose messages it came to; or NULL */
    size_t n_ran;
    size_t first_staged; /* index into ran: the first that staged */
    int refuse;          /* why nothing can be written in this turn */
    int told;            /* what stderr was last told of the store */
    bool locked;
    bool waiting;      /* a peer waits for the lock */
    bool stopping;
    bool compacting, compact_failed;
    bool moving; /* to a new generation of the log */
    int64_t compact_at_ms; /* not before then */
    struct ran ran[MAX_RUN];
};

static void
on_record(void *ctx, const struct store_entry *e, const struct store_rec *r)
{
    struct serve *s = ctx;
    struct mcp_change c = {r->key, r->body, r->n, r->p == 0};

    (void)e;
    mcp_changed(s->mcp, &c);
}

/* Invariant 6. An error shows in the next turn that reads. */
static void
follow_others(void *ctx)
{
    struct serve *s = ctx;

    if (!s->stopping)
        store_follow(s->store);
}

static void
wake(void *ctx)
{
    (void)ctx; /* that the loop returned is enough */
}

int
serve_new(struct serve **out, struct loop *l, struct store *store,
          struct mcp *mcp)
{
    struct serve *s = calloc(1, sizeof(*s));
    struct store_state st;

    if (s == NULL)
        return ERR_NOMEM;
    s->loop = l;
    s->store = store;
    s->mcp = mcp;
    s->busy_end = &s->busy;
    s->follow_timer = (struct loop_timer){.fn = follow_others, .ctx = s};
    s->due_timer = (struct loop_timer){.fn = wake, .ctx = s};
    store_state(store, &st);
    s->told = st.err; /* at start by whoever has opened it */
    store_observe(store, on_record, s);
    *out = s;
    return 0;
}

void
serve_free(struct serve *s)
{
    if (s == NULL)
        return;
    if (s->compacting)
        store_compact_stop(s->store);
    store_observe(s->store, NULL, NULL);
    loop_timer_stop(s->loop, &s->follow_timer);
    loop_timer_stop(s->loop, &s->due_timer);
    buf_fini(&s->out);
    buf_fini(&s->notes);
    free(s);
}

void
serve_stop(struct serve *s)
{
    if (!s->stopping)
        mcp_end_listens(s->mcp);
    s->stopping = true;
}

void
serve_on_hangup(struct serve *s, void (*fn)(void *ctx), void *ctx)
{
    s->hangup = fn;
    s->hangup_ctx = ctx;
}

struct mcp *
serve_mcp(const struct serve *s)
{
    return s->mcp;
}

bool
serve_stopping(const struct serve *s)
{
    return s->stopping;
}

/* ---- peers ---- */

static void
list_add(struct serve *s, struct peer *p)
{
    p->next = NULL;
    p->busy = true;
    *s->busy_end = p;
    s->busy_end = &p->next;
}

/* For mcp: what a waiting message has to tell between turns. */
static void
send_note(void *ctx, struct str message, struct str event)
{
    struct peer *p = ctx;

    p->ops->message(p->ctx, message, event);
    p->ops->answered(p->ctx);
}

struct peer *
serve_join(struct serve *s, const struct peer_ops *ops, void *ctx)
{
    struct peer *p = calloc(1, sizeof(*p));

    if (p == NULL)
        return NULL;
    p->serve = s;
    p->ops = ops;
    p->ctx = ctx;
    p->sink = (struct mcp_sink){.send = send_note, .ctx = p};
    return p;
}

/* Invariant 4. */
static void
count_arena(struct peer *p, size_t len)
{
    p->serve->arenas_len += len - p->arena_len;
    p->arena_len = len;
}

static void
end_waiting(struct waiting *w)
{
    *w->at = w->next;
    if (w->next != NULL)
        w->next->at = w->at;
    mcp_drop(w->msg.m);
    free(w);
}

void
serve_leave(struct peer *p)
{
    struct serve *s;
    struct peer **at;
    struct msg *m;

    if (p == NULL)
        return;
    s = p->serve;
    for (at = &s->busy; p->busy && *at != p; at = &(*at)->next)
        ;
    if (p->busy) {
        *at = p->next;
        if (p->next == NULL)
            s->busy_end = at;
    }
    for (m = p->head; m != NULL; m = m->next)
        if (m->waiting == NULL)
            mcp_release(m->m);
    while (p->waiting != NULL)
        end_waiting(p->waiting);
    count_arena(p, 0);
    arena_fini(&p->arena);
    free(p);
}

/* What by cancels may have come with it, and be in a queue yet. */
static void
cancel_queued(struct serve *s, const struct mcp_message *by)
{
    const struct peer *p;
    const struct msg *m;

    for (p = mcp_cancels(by) ? s->busy : NULL; p != NULL; p = p->next)
        for (m = p->head; m != NULL; m = m->next)
            mcp_cancel(m->m, by);
}

/* A NULL text: the end of a session. */
static int
push(struct peer *p, const struct mcp_facts *f, const struct str *text)
{
    struct serve *s = p->serve;
    struct msg *msg;
    int err;

    if (p->n >= SERVE_MAX_QUEUE || s->stopping ||
        s->arenas_len >= MAX_ARENAS)
        return ERR_MORE;
    msg = arena_alloc(&p->arena, sizeof(*msg));
    if (msg == NULL)
        return ERR_NOMEM;
    err = text == NULL ? mcp_accept_end(s->mcp, f, &p->arena, &msg->m)
                       : mcp_accept(s->mcp, f, &p->arena, *text, &msg->m);
    if (err == 0)
        mcp_prepare(msg->m);
    count_arena(p, p->busy || err == 0 ? arena_size(&p->arena) : 0);
    if (err < 0)
        return err;
    p->who = str_hash(f->principal);
    msg->waiting = NULL;
    msg->next = NULL;
    if (p->head == NULL)
        p->head = msg;
    else
        p->tail->next = msg;
    p->tail = msg;
    p->n++;
    if (!p->busy)
        list_add(s, p);
    cancel_queued(s, msg->m);
    return 0;
}

int
serve_push(struct peer *p, const struct mcp_facts *f, struct str text)
{
    return push(p, f, &text);
}

int
serve_push_end(struct peer *p, const struct mcp_facts *f)
{
    return push(p, f, NULL);
}

bool
serve_pending(const struct peer *p)
{
    return p->busy;
}

bool
serve_waiting(const struct peer *p)
{
    return p->waiting != NULL;
}

void
serve_hold(struct peer *p, bool held)
{
    p->held = held;
    mcp_sink_block(p->serve->mcp, &p->sink, held);
}

/* ---- the turn ---- */

/* Whether p's next message is to be run: at the end only those that waited
   are, which are the first of a queue. */
static bool
may_run(const struct serve *s, const struct peer *p)
{
    return p->head != NULL && !p->held &&
           (!s->stopping || p->head->waiting != NULL);
}

/* Whether there is a message to run, and with *writes whether one of them
   may write. */
static bool
look_ahead(const struct serve *s, bool *writes)
{
    const struct peer *p;
    const struct msg *m;
    bool any = false;

    *writes = false;
    for (p = s->busy; p != NULL; p = p->next) {
        if (!may_run(s, p))
            continue;
        any = true;
        for (m = p->head; m != NULL && !*writes; m = m->next)
            *writes = mcp_writes(m->m);
    }
    return any;
}

/* Takes the lock, or at least what others wrote. An error of either is not
   the end of the turn: reads go on with what is known. */
static void
begin(struct serve *s, bool writes)
{
    int err = ERR_MORE;

    s->out.len = s->notes.len = 0;
    s->n_ran = 0;
    s->first_staged = MAX_RUN;
    s->full_ms = clock_mono_ms() + MAX_TURN_MS;
    s->last = NULL;
    s->refuse = 0;
    if (writes)
        err = s->waiting ? store_lock_wait(s->store) : store_lock(s->store);
    s->waiting = false;
    s->locked = err == 0;
    if (s->locked)
        return;
    store_follow(s->store);
    if (err != ERR_MORE)
        s->refuse = err;
}

/* Why p's next message, which writes, may not stage: an error, 0 when it
   may, ERR_MORE when p has to wait for the lock. */
static int
may_write(struct serve *s, struct peer *p)
{
    int64_t now = loop_now(s->loop);

    if (s->locked || s->refuse != 0)
        return s->refuse;
    if (!p->waits)
        p->since_ms = now;
    p->waits = true;
    return now - p->since_ms < STORE_LOCK_WAIT_MS ? ERR_MORE : ERR_BUSY;
}

/* Runs r's message under refusal, or not, and notes its answer. Without the
   memory for even an error there is no answer. */
static void
run(struct serve *s, struct ran *r, int refuse)
{
    r->off = s->out.len;
    r->notes_off = s->notes.len;
    store_refuse(s->store, refuse);
    r->status = mcp_run(r->m, &s->out, &s->notes);
    store_refuse(s->store, 0);
    if (s->out.err != 0)
        s->out.len = r->off;
    if (s->notes.err != 0)
        s->notes.len = r->notes_off;
    s->out.err = s->notes.err = 0;
    r->end = s->out.len;
    r->notes_end = s->notes.len;
}

static bool
turn_is_full(const struct serve *s)
{
    return s->n_ran == MAX_RUN || s->out.len + s->notes.len >= MAX_OUT ||
           store_staged_len(s->store) >= STORE_FULL_BATCH ||
           mcp_runs_len(s->mcp) >= MAX_ARENAS ||
           (s->n_ran > 0 && clock_mono_ms() >= s->full_ms);
}

static void
run_peer(struct serve *s, struct peer *p)
{
    while (may_run(s, p)) {
        struct ran *r = &s->ran[s->n_ran];
        size_t staged = store_staged_n(s->store);
        int err = mcp_writes(p->head->m) ? may_write(s, p) : 0;

        if (err == ERR_MORE) {
            s->waiting = true;
            return;
        }
        if (turn_is_full(s))
            return;
        r->peer = p;
        r->m = p->head->m;
        r->waiting = p->head->waiting;
        run(s, r, err);
        s->last = p;
        if (store_staged_n(s->store) > staged && s->n_ran < s->first_staged)
            s->first_staged = s->n_ran;
        s->n_ran++;
        p->head = p->head->next;
        if (s->locked)
            p->waits = false;
    }
}

/* Invariants 1 and 3. */
static void
commit(struct serve *s)
{
    bool unknown = false;
    size_t i;
    int err = 0;

    if (!s->locked) {
        if (s->refuse != 0)
            mcp_undo_marked(s->mcp);
        return;
    }
    mcp_run_marked(s->mcp);
    if (store_staged_n(s->store) > 0)
        err = store_commit(s->store, &unknown);
    if (err < 0)
        mcp_undo_marked(s->mcp);
    if (err < 0 && unknown)
        err = ERR_UNKNOWN;
    if (err < 0 && s->first_staged < s->n_ran) {
        s->out.len = s->ran[s->first_staged].off;
        s->notes.len = s->ran[s->first_staged].notes_off;
        for (i = s->first_staged; i < s->n_ran; i++)
            run(s, &s->ran[i], err);
    }
    store_unlock(s->store);
}

/* Whoever runs the server learns when writes begin to fail, and when they
   work again. */
static void
tell_trouble(struct serve *s)
{
    struct store_state st;

    store_state(s->store, &st);
    if (st.err == s->told || (st.err == 0 && !s->locked))
        return;
    s->told = st.err;
    text_tell("mcptask: %.300s%s\n", st.err != 0 ? st.why : st.path,
              st.err != 0 ? "; until that is mended writes fail"
                          : ": writes work again");
}

/* Has r's message wait: what mcp cannot keep is answered as such. */
static bool
keep(const struct ran *r)
{
    struct waiting *w = r->waiting;
    struct peer *p = r->peer;

    if (w != NULL)
        return mcp_keep(r->m, &p->sink, w, &w->msg.m) == 0;
    w = calloc(1, sizeof(*w));
    if (w == NULL || mcp_keep(r->m, &p->sink, w, &w->msg.m) < 0) {
        free(w);
        return false;
    }
    w->peer = p;
    w->msg.waiting = w;
    w->at = &p->waiting;
    w->next = p->waiting;
    if (w->next != NULL)
        w->next->at = &w->next;
    p->waiting = w;
    return true;
}

static void
give_notes(const struct serve *s, const struct ran *r)
{
    if (r->notes_off < r->notes_end)
        mcp_give_notes((struct str){s->notes.p + r->notes_off,
                                    r->notes_end - r->notes_off},
                       r->peer->ops->message, r->peer->ctx);
}

/* Gives out what r's message has to say, or has it wait. */
static void
give(const struct serve *s, const struct ran *r)
{
    const struct peer *p = r->peer;
    struct serve_answer a = {r->status, STR_NONE, NULL};
    struct buf b = {0};

    give_notes(s, r);
    if (r->status == MCP_WAITS && keep(r)) {
        if (r->waiting == NULL)
            p->ops->later(p->ctx, mcp_polls(p->waiting->msg.m));
        return;
    }
    if (r->end > r->off)
        a.body = (struct str){s->out.p + r->off, r->end - r->off};
    if (r->status == MCP_WAITS) {
        a.status = MCP_OK;
        mcp_no_memory(r->m, &b);
        a.body = buf_view(&b);
    }
    a.session = mcp_made_session(r->m);
    p->ops->answer(p->ctx, &a);
    if (r->waiting != NULL)
        end_waiting(r->waiting);
    buf_fini(&b);
}

/* Puts those behind the last peer that was run before all others; and of all
   these the ones of its principal behind the rest. Invariant 4. */
static void
rotate(struct serve *s)
{
    struct peer *p, *own = NULL, **own_end = &own;

    if (s->last == NULL)
        return;
    *s->busy_end = s->busy;
    p = s->last->next;
    s->last->next = NULL;
    s->busy_end = &s->busy;
    for (; p != NULL; p = p->next) {
        struct peer ***end = p->who == s->last->who ? &own_end : &s->busy_end;

        **end = p;
        *end = &p->next;
    }
    *own_end = NULL;
    *s->busy_end = own;
    if (own != NULL)
        s->busy_end = own_end;
}

/* Gives the answers out, and then takes the peers off the list that have
   nothing left. */
static void
release(struct serve *s)
{
    struct peer *p, *next, *done = NULL;
    size_t i;

    for (i = 0; i < s->n_ran; i++) {
        const struct ran *r = &s->ran[i];

        give(s, r);
        if (r->waiting == NULL)
            mcp_release(r->m);
        if (i + 1 == s->n_ran || r[1].peer != r->peer)
            r->peer->ops->answered(r->peer->ctx);
    }
    buf_reset(&s->notes, OUT_KEEP / 16);
    buf_reset(&s->out, OUT_KEEP);
    mcp_end_turn(s->mcp);
    rotate(s);
    p = s->busy;
    s->busy = NULL;
    s->busy_end = &s->busy;
    for (; p != NULL; p = next) {
        next = p->next;
        if (p->head != NULL) {
            list_add(s, p);
            continue;
        }
        /* One whose message waits may have no more to say for long. */
        if (p->arena_len > ARENA_KEEP || p->waiting != NULL)
            arena_fini(&p->arena);
        else
            arena_reset(&p->arena);
        count_arena(p, 0);
        p->n = 0;
        p->busy = p->waits = false;
        p->next = done;
        done = p;
    }
    for (p = done; p != NULL; p = next) {
        next = p->next; /* done may push, and so list p anew */
        p->ops->done(p->ctx);
    }
}

static void
turn(struct serve *s)
{
    struct peer *p;
    bool writes;

    bool settle = mcp_marked_due_ms(s->mcp) <= loop_now(s->loop);

    if (!look_ahead(s, &writes) && !settle)
        return;
    begin(s, writes || settle);
    s->waiting = settle && !s->locked && s->refuse == 0;
    for (p = s->busy; p != NULL; p = p->next)
        if (!p->held)
            run_peer(s, p);
    commit(s);
    if (writes)
        tell_trouble(s);
    release(s);
}

/* One slice of a compaction, where there is one to do. */
static void
compact(struct serve *s)
{
    int err;

    if (s->waiting || loop_now(s->loop) < s->compact_at_ms)
        return;
    if (!s->compacting && !store_wants_compact(s->store))
        return;
    err = store_compact(s->store);
    s->compacting = err == ERR_MORE;
    if (err >= 0 || err == ERR_MORE)
        return;
    s->compact_at_ms = loop_now(s->loop) + COMPACT_PAUSE_MS;
    if (err != ERR_BUSY && !s->compact_failed)
        text_tell("mcptask: the log cannot be compacted: mcptask compact says "
                  "why; until then it grows\n");
    s->compact_failed |= err != ERR_BUSY;
}

/* What the log needs between turns. */
static void
tend(struct serve *s)
{
    if (!s->moving)
        compact(s);
    s->moving = store_move(s->store) == ERR_MORE;
}

/* Puts the messages that have waited long enough before those of their
   peers that are new. */
static void
take_ready(struct serve *s)
{
    struct mcp_message *m;
    struct waiting *w;

    while ((w = mcp_next(s->mcp, loop_now(s->loop), &m)) != NULL) {
        struct peer *p = w->peer;

        w->msg.m = m;
        w->msg.next = p->head;
        if (p->head == NULL)
            p->tail = &w->msg;
        p->head = &w->msg;
        if (!p->busy)
            list_add(s, p);
    }
}

/* Invariant 6. mcp_listens looks at every stream, so in a busy time it is not
   asked each turn: soon after a no, the timer asks again. */
static void
set_follow(struct serve *s)
{
    int64_t now = loop_now(s->loop);

    if (s->follow_timer.set || s->stopping)
        return;
    if (now - s->unheard_ms < SERVE_FOLLOW_MS || mcp_listens(s->mcp))
        loop_timer_set(s->loop, &s->follow_timer, now + SERVE_FOLLOW_MS);
    else
        s->unheard_ms = now;
}

static void
set_timers(struct serve *s)
{
    int64_t due = mcp_due_ms(s->mcp), settle = mcp_marked_due_ms(s->mcp);

    if (settle < due)
        due = settle;
    if (due != INT64_MAX && (!s->due_timer.set || s->due_timer.at_ms != due))
        loop_timer_set(s->loop, &s->due_timer, due);
    set_follow(s);
}

static void
take_signals(struct serve *s)
{
    if (s->hangup != NULL && loop_hung_up(s->loop))
        s->hangup(s->hangup_ctx);
    if (loop_signal(s->loop) != 0)
        serve_stop(s);
}

int
serve_run(struct serve *s, bool (*ended)(void *ctx), void *ctx)
{
    bool writes;

    while (!ended(ctx)) {
        bool more = look_ahead(s, &writes) ||
                    ((s->compacting || s->moving) && !s->stopping);

        set_timers(s);
        if (loop_turn(s->loop, !more) < 0)
            return ERR_IO;
        take_signals(s);
        take_ready(s);
        turn(s);
        mcp_tick(s->mcp, loop_now(s->loop));
        if (!s->stopping)
            tend(s);
    }
    return 0;
}
