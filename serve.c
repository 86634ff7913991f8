/* serve - the turn.

   A transport pushes messages while the loop calls it back; each is parsed,
   judged and prepared on the spot. Then the turn: the write lock if a message
   of the turn may write, else only a look at what others wrote; the messages
   in order; one commit for all; the answers. It refuses to write to any
   descriptor, and to let one peer's trouble become another's.

   Invariants:
   1. No answer is given to a transport before the commit of everything that
      was staged in its turn.
   2. Messages of one peer take effect in their order, and are answered in
      it. One that waits for the lock stops only its own peer.
   3. Where a commit fails, every message from the first that staged on is
      run again against the undone state: what such a read has seen and what
      such a writer has promised is not so.
   4. A turn is bounded in messages, in bytes staged and in bytes answered.
   5. A message owns nothing: it lives in its peer's arena, which is reset
      when the peer's whole queue is answered, and in the transport's text. */

#include "serve.h"

#include <stdlib.h>

#define MAX_RUN 256                     /* messages in a turn */
#define MAX_OUT ((size_t)1024 * 1024)   /* then no more are run in it */
#define OUT_KEEP ((size_t)64 * 1024)    /* kept for the next turn */
#define COMPACT_PAUSE_MS (60 * 1000)    /* after one that was given up */

/* What may still be staged when a message is begun holds the largest record
   and what it brings along. */
#define MAX_STAGED ((size_t)STORE_MAX_BATCH - 2 * STORE_MAX_RECORD)
_Static_assert(STORE_MAX_BATCH > 4 * STORE_MAX_RECORD, "a turn has room");

struct msg { /* one that was pushed and not yet run */
    struct msg *next;
    struct mcp_message *m;
};

struct peer {
    struct serve *serve;
    const struct peer_ops *ops;
    void *ctx;
    struct mcp_session session;
    struct arena arena; /* of all that is queued or run in this turn */
    struct msg *head, *tail;
    size_t n;         /* pushed since the last done */
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
    size_t off, end;
    enum mcp_status status;
};

struct serve {
    struct loop *loop;
    struct store *store;
    const struct mcp_catalogue *catalogue;
    struct peer *busy, **busy_end; /* those with messages, the next first */
    struct buf out;                /* the answers of this turn */
    size_t n_ran;
    size_t first_staged; /* index into ran: the first that staged */
    int refuse;          /* why nothing can be written in this turn */
    bool locked;
    bool waiting;      /* a peer waits for the lock */
    bool stopping;
    bool compacting;
    int64_t compact_at_ms; /* not before then */
    struct ran ran[MAX_RUN];
};

int
serve_new(struct serve **out, struct loop *l, struct store *store,
          const struct mcp_catalogue *c)
{
    struct serve *s = calloc(1, sizeof(*s));

    if (s == NULL)
        return ERR_NOMEM;
    s->loop = l;
    s->store = store;
    s->catalogue = c;
    s->busy_end = &s->busy;
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
    buf_fini(&s->out);
    free(s);
}

void
serve_stop(struct serve *s)
{
    s->stopping = true;
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

struct peer *
serve_join(struct serve *s, const struct peer_ops *ops, void *ctx)
{
    struct peer *p = calloc(1, sizeof(*p));

    if (p == NULL)
        return NULL;
    p->serve = s;
    p->ops = ops;
    p->ctx = ctx;
    return p;
}

void
serve_leave(struct peer *p)
{
    struct serve *s;
    struct peer **at;

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
    arena_fini(&p->arena);
    free(p);
}

int
serve_push(struct peer *p, const struct mcp_facts *f, struct str text)
{
    struct serve *s = p->serve;
    struct msg *msg;
    int err;

    if (p->n >= SERVE_MAX_QUEUE || s->stopping)
        return ERR_MORE;
    msg = arena_alloc(&p->arena, sizeof(*msg));
    if (msg == NULL)
        return ERR_NOMEM;
    err = mcp_accept(s->catalogue, &p->session, f, &p->arena, text, &msg->m);
    if (err < 0)
        return err;
    mcp_prepare(msg->m);
    msg->next = NULL;
    if (p->head == NULL)
        p->head = msg;
    else
        p->tail->next = msg;
    p->tail = msg;
    p->n++;
    if (!p->busy)
        list_add(s, p);
    return 0;
}

bool
serve_pending(const struct peer *p)
{
    return p->busy;
}

void
serve_hold(struct peer *p, bool held)
{
    p->held = held;
}

/* ---- the turn ---- */

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
        if (p->held)
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

    s->out.len = 0;
    s->n_ran = 0;
    s->first_staged = MAX_RUN;
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
    store_refuse(s->store, refuse);
    r->status = mcp_run(r->m, &s->out);
    store_refuse(s->store, 0);
    if (s->out.err != 0) {
        s->out.len = r->off;
        s->out.err = 0;
    }
    r->end = s->out.len;
}

static bool
turn_is_full(const struct serve *s)
{
    return s->n_ran == MAX_RUN || s->out.len >= MAX_OUT ||
           store_staged_len(s->store) >= MAX_STAGED;
}

static void
run_peer(struct serve *s, struct peer *p)
{
    while (p->head != NULL) {
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
        run(s, r, err);
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

    if (!s->locked)
        return;
    if (s->first_staged < s->n_ran)
        err = store_commit(s->store, &unknown);
    if (err < 0 && unknown)
        err = ERR_UNKNOWN;
    if (err < 0) {
        s->out.len = s->ran[s->first_staged].off;
        for (i = s->first_staged; i < s->n_ran; i++)
            run(s, &s->ran[i], err);
    }
    store_unlock(s->store);
}

/* Gives the answers out, and then takes the peers off the list that have
   nothing left; those that have come first in the next turn. */
static void
release(struct serve *s)
{
    struct peer *p, *next, *done = NULL;
    size_t i;

    for (i = 0; i < s->n_ran; i++) {
        const struct ran *r = &s->ran[i];

        r->peer->ops->answer(
            r->peer->ctx, r->status,
            (struct str){s->out.p + r->off, r->end - r->off});
        if (i + 1 == s->n_ran || r[1].peer != r->peer)
            r->peer->ops->answered(r->peer->ctx);
    }
    buf_reset(&s->out, OUT_KEEP);
    p = s->busy;
    s->busy = NULL;
    s->busy_end = &s->busy;
    for (; p != NULL; p = next) {
        next = p->next;
        if (p->head != NULL) {
            list_add(s, p);
            continue;
        }
        arena_reset(&p->arena);
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

    if (!look_ahead(s, &writes))
        return;
    begin(s, writes);
    for (p = s->busy; p != NULL; p = p->next)
        if (!p->held)
            run_peer(s, p);
    commit(s);
    release(s);
}

/* One slice of a compaction, between turns, where there is one to do. */
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
    if (err < 0 && err != ERR_MORE)
        s->compact_at_ms = loop_now(s->loop) + COMPACT_PAUSE_MS;
}

int
serve_run(struct serve *s, bool (*ended)(void *ctx), void *ctx)
{
    bool writes;

    while (!ended(ctx)) {
        bool more = s->compacting || look_ahead(s, &writes);

        if (loop_turn(s->loop, s->stopping || !more) < 0)
            return ERR_IO;
        if (loop_signal(s->loop) != 0)
            s->stopping = true;
        if (s->stopping)
            continue;
        turn(s);
        compact(s);
    }
    return 0;
}
