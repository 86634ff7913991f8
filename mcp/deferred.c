/* deferred - makes calls that outlive their request, runs them again, and ends
   them.

   A call becomes a record of the store (mcp/call.h) when its run has to wait
   and its client can do without the answer for now; so does a plain call that
   asks a client of the handshake era. It is run again from that record when
   its event comes, under the write lock and before the commit of that event:
   the event and its effect on the call are one batch. So a call ends without
   any process waiting for it, and only once.

   This file writes to no client: clients learn of a call from its record.

   Invariants:
   1. The record holds all that a run depends on: tool, arguments, round,
      state, answers, and the capabilities of its client.
   2. A run that ends a call, or makes it wait for something else, stages one
      record; a run that changes nothing stages nothing.
   3. A call stays marked until a run of it was staged or changed nothing: an
      error of the store, or too little memory, leaves its mark. */

#include "mcp/deferred.h"
#include "base/utf8.h"
#include "mcp/delivery.h"
#include "mcp/dialect.h"
#include "mcp/mcp.h"
#include "mcp/methods.h"
#include "mcp/run.h"
#include "mcp/session.h"

#define MAX_SETTLED 256  /* calls in a turn */
#define RETRY_MS 1000    /* after an error that left marks */
#define OFFER_MS 2000      /* how often a client may take a question over */

/* ---- records ---- */

/* Returns what is needed to run it again as if its client asked. A plain call
   reports no more progress: its client has the question. */
static struct str
shape_of(const struct request *r, struct arena *a)
{
    struct str mark = mcp_session_mark(&r->call);
    struct buf b = {0};
    struct json_w w;

    json_begin(&w, &b);
    json_put_int(&w, r->run.defers ? "rev" : "plain", r->rev);
    json_put_int(&w, "caps", r->call.caps);
    if (r->call.client.len > 0)
        json_put_str(&w, "client", r->call.client);
    if (r->call.agent.len > 0)
        json_put_str(&w, "agent", r->call.agent);
    if (mark.p != NULL)
        json_put_str(&w, "session", mark);
    if (r->call.here.len > 0)
        json_put_str(&w, "here", r->call.here);
    if (r->token.p != NULL && r->run.defers)
        json_put_raw(&w, "token", r->token);
    json_end(&w);
    return buf_take(&b, a);
}

/* Closes the questions that the run did not ask again. They keep their places,
   by which replies name them. */
static void
withdraw_questions(const struct request *r)
{
    static const struct json_tok none = {.type = JSON_NULL, .p = "null",
                                         .len = 4, .span = 1};

    for (struct mcp_question *q = r->run.questions; q != NULL; q = q->next)
        if (q->answer == NULL && !q->asked && !r->run.goes_on)
            q->answer = &none;
}

/* Makes k wait for what its run asked for. ERR_NOMEM. */
static int
set_waiting(const struct request *r, struct call *k, struct arena *a)
{
    withdraw_questions(r);
    k->questions = mcp_raw_questions(r->m->m, a, r->run.questions);
    if (k->questions.p == NULL && r->run.questions != NULL)
        return ERR_NOMEM;
    k->status = CALL_WORKING;
    for (const struct mcp_question *q = r->run.questions; q != NULL;
         q = q->next)
        if (q->answer == NULL)
            k->status = CALL_INPUT_REQUIRED;
    k->message = r->run.message;
    k->watch = r->run.watch;
    k->state = r->run.state;
    k->due_ms = r->run.wait_ms < 0 ? 0
                               : store_now_ms(r->m->m->store) + r->run.wait_ms;
    return 0;
}

/* The text that explains why a call failed, from its error or its first
   content: some clients read no other. */
static struct str
reason_of(struct arena *a, struct str outcome)
{
    const struct json_tok *t = NULL, *text;

    json_parse(a, outcome, &t, NULL);
    text = json_get(t, "message");
    t = json_get(t, "content");
    if (t != NULL && t->type == JSON_ARRAY && t->n > 0)
        text = json_get(t + 1, "text");
    return utf8_cut(json_str(a, text), MCP_MAX_MESSAGE);
}

/* Ends k with the outcome of its run: members, or an error. ERR_NOMEM. */
static int
set_ended(struct request *r, int err, struct call *k, struct arena *a)
{
    struct buf *out = r->call.out, fault = {0};
    struct str text;

    if (err != 0) {
        mcp_put_fault(r, err, &fault);
        text = buf_take(&fault, a);
    } else {
        json_close(&r->run.w);
        text = arena_str(a, (struct str){out->p + r->run.at - 1,
                                         out->len - r->run.at + 1});
    }
    if (text.p == NULL)
        return ERR_NOMEM;
    k->status = err != 0 ? CALL_FAILED : CALL_COMPLETED;
    k->is_error = r->call.is_error;
    *(err != 0 ? &k->error : &k->result) = text;
    k->message = err != 0 || k->is_error ? reason_of(a, text) : STR_NONE;
    k->watch = STR_NONE;
    if (k->questions.p == NULL) /* else an answer may still come */
        k->state = STR_NONE;
    k->due_ms = 0;
    return 0;
}

int
mcp_await(struct request *r, struct call *k)
{
    struct store *s = r->m->m->store;
    int64_t now = store_now_ms(s), until = k->created_ms + k->ttl_ms;

    mcp_deliver(r, k);
    if (k->due_ms != 0 && k->due_ms < until)
        until = k->due_ms;
    /* A call that is due but was not run is left to other processes. */
    if (until <= now ||
        (k->status == CALL_INPUT_REQUIRED && now + OFFER_MS < until))
        until = now + OFFER_MS;
    mcp_watch(&r->call,
              arena_printf(r->call.arena, "call/%.*s", STR_ARG(k->id)));
    mcp_wait(&r->call, until - now);
    r->run.seen = store_next_n(s) - 1;
    return MCP_RUN_WAITS;
}

int
mcp_deferred_create(struct request *r, int err)
{
    struct arena *a = r->call.arena;
    struct call k = {
        .principal = r->call.principal,
        .tool = str_of(r->tool->name),
        .args = json_raw(r->call.args),
        .shape = shape_of(r, a),
        .ttl_ms = r->ttl_ms,
        .since = r->call.since,
        .round = r->call.round + 1,
    };

    if (k.shape.p == NULL || err == ERR_NOMEM || r->call.out->err != 0)
        return ERR_NOMEM;
    if (err == MCP_RUN_WAITS)
        err = set_waiting(r, &k, a);
    else
        err = set_ended(r, err, &k, a);
    mcp_cut_members(r);
    if (err != 0)
        return err;
    err = calls_create(r->m->m->calls, a, &k);
    if (err == ERR_TOO_LARGE)
        r->run.why = k.message.p;
    if (err != 0)
        return err;
    if (!r->run.defers)
        r->runs_as = k.id;
    mcp_follow(r, &k, true);
    if (!r->run.defers)
        return mcp_await(r, &k);
    mcp_put_created(r, &k);
    return MCP_TASK;
}

/* ---- run again ---- */

/* Reads the numbers in the shape of a request. Returns false if this binary
   cannot run such a one. */
static bool
read_shape(const struct json_tok *shape, bool plain, enum mcp_rev *rev,
           unsigned *caps)
{
    int64_t r, c;

    if (!json_int(json_get(shape, "caps"), &c) ||
        !json_int(json_get(shape, plain ? "plain" : "rev"), &r) || r < 0 ||
        r >= MCP_N_REVS)
        return false;
    *rev = (enum mcp_rev)r;
    *caps = (unsigned)c;
    return true;
}

/* Fills in r like the request that made k. Returns 0, ERR_NOMEM, or another
   error if this binary cannot run k. */
static int
recall(struct request *r, struct call *k)
{
    struct mcp_message *m = r->m;
    const struct mcp_tool *tool = mcp_find_tool(m->m->cat, k->tool);
    const struct json_tok *shape = NULL, *args = NULL;
    unsigned caps;
    int err = json_parse(m->a, k->shape, &shape, NULL);

    if (err == 0 && k->args.p != NULL)
        err = json_parse(m->a, k->args, &args, NULL);
    if (err != 0)
        return err;
    if (tool == NULL ||
        !read_shape(shape, mcp_is_plain(k), &m->scratch.rev, &caps))
        return ERR_INVALID;
    *r = (struct request){
        .m = m,
        .name = str_of(m->m->call->name),
        .rev = m->scratch.rev,
        .method = m->m->call,
        .target = k->tool,
        .tool = tool,
        .token = json_raw(json_get(shape, "token")),
        .log_level = -1,
        .again = k,
        .call = {
            .ctx = m->m->cat->ctx,
            .number = tool->number,
            .arena = m->a,
            .rev = m->scratch.rev,
            .principal = k->principal,
            .caps = caps,
            .may_wait = true,
            .args = args,
            .round = k->round,
            .state = k->state,
            .since = k->since,
            .made_ms = k->created_ms,
            .of = r,
        },
    };
    if (mcp_text(m->a, json_get(shape, "here"), &r->call.here) != 0 ||
        mcp_text(m->a, json_get(shape, "client"), &r->call.client) != 0 ||
        mcp_text(m->a, json_get(shape, "agent"), &r->call.agent) != 0 ||
        mcp_text(m->a, json_get(shape, "session"), &r->call.session) != 0)
        return ERR_NOMEM;
    if (r->call.here.p == NULL)
        r->call.here = STR("");
    return mcp_read_questions(m->a, k->questions, &r->run.questions);
}

/* Stages the outcome of a run of k, unless it changed nothing. */
static int
stage_outcome(struct request *r, int err, struct call *k)
{
    struct call now = *k;

    if (err == ERR_NOMEM || r->call.out->err != 0)
        return ERR_NOMEM;
    if (err == MCP_RUN_WAITS) {
        if (set_waiting(r, &now, r->m->a) != 0)
            return ERR_NOMEM;
        /* A run that came too early changes nothing, and needs no record. */
        if (k->due_ms > store_now_ms(r->m->m->store) &&
            k->due_ms < now.due_ms)
            now.due_ms = k->due_ms;
        if (now.status == k->status && now.due_ms == k->due_ms &&
            str_eq(now.message, k->message) &&
            str_eq(now.watch, k->watch) && str_eq(now.state, k->state) &&
            str_eq(now.questions, k->questions))
            return 0;
        now.round++;
        return calls_stage(r->m->m->calls, &now, "wait");
    }
    err = set_ended(r, err, &now, r->m->a);
    if (err == 0)
        err = calls_stage(r->m->m->calls, &now, "end");
    if (err != ERR_TOO_LARGE)
        return err;
    now.status = CALL_FAILED;
    now.result = STR_NONE;
    now.message = STR("The result is too large to store");
    now.error = STR("{\"code\":-32603,\"message\":"
                    "\"The result is too large to store\"}");
    return calls_stage(r->m->m->calls, &now, "end");
}

/* Whether a retry may succeed. After any other error a call stays unchanged,
   and holds up no others. */
static bool
is_passing(int err)
{
    return err == ERR_NOMEM || err == ERR_BUSY || err == ERR_FULL ||
           err == ERR_IO || err == ERR_READONLY || err == ERR_UNKNOWN ||
           err == ERR_UNREACHABLE || err == ERR_SKEW || err == ERR_AGAIN;
}

/* A run of a call from its record, outside of any message. */
struct rerun {
    struct call k;
    struct mcp_message msg; /* stands in for the one that made the call */
    struct request r;
    struct arena a;
    struct buf out, notes;
};

/* Reads call id and fills in what its run needs; with questions in place of
   those of its record, unless their p is NULL. Call rerun_end in any case. */
static int
rerun_begin(struct rerun *u, struct mcp *m, struct str id,
            struct str questions)
{
    int err;

    *u = (struct rerun){
        .msg = {.m = m, .s = &u->msg.scratch, .a = &u->a, .n = 1,
                .scratch.log_level = -1},
        .r = {.m = &u->msg},
    };
    err = calls_get(m->calls, &u->a, id, STR_NONE, &u->k);
    if (questions.p != NULL)
        u->k.questions = questions;
    return err != 0 ? err : recall(&u->r, &u->k);
}

/* Runs it; returns what mcp_run_method does. */
static int
rerun_run(struct rerun *u)
{
    u->r.run.notes = &u->notes;
    return mcp_run_method(&u->r, &u->out);
}

static void
rerun_end(struct rerun *u)
{
    buf_fini(&u->out);
    buf_fini(&u->notes);
    arena_fini(&u->a);
}

/* Runs a call whose mark was removed, and stages its outcome. Returns 0, or an
   error that a retry may mend: invariant 3. A call that is gone, or that this
   binary cannot run, is left to other processes. */
static int
run_marked_call(struct mcp *m, struct str id)
{
    struct rerun u;
    int err = rerun_begin(&u, m, id, STR_NONE);

    if (err == 0)
        err = stage_outcome(&u.r, rerun_run(&u), &u.k);
    if (err == 0) {
        if (u.r.run.goes_on)
            calls_mark(m->calls, id);
        else
            calls_saw(m->calls, id);
        mcp_follow_notes(m, id, buf_view(&u.notes));
    }
    rerun_end(&u);
    if (!is_passing(err))
        return 0;
    calls_mark(m->calls, id);
    return err;
}

int
mcp_run_late(struct mcp *m, struct str id, struct str questions)
{
    struct rerun u;
    int err;

    if (questions.p == NULL)
        return ERR_NOMEM;
    err = rerun_begin(&u, m, id, questions);
    if (err == 0)
        err = rerun_run(&u);
    if (err == 0 && u.r.call.is_error)
        err = ERR_INVALID;
    rerun_end(&u);
    return is_passing(err) || err == ERR_INVALID ? err : 0;
}

int
mcp_run_if_marked(struct mcp *m, struct str id)
{
    if (!store_locked(m->store) || !calls_is_marked(m->calls, id))
        return 0;
    calls_unmark(m->calls, id);
    return run_marked_call(m, id);
}

void
mcp_run_marked(struct mcp *m)
{
    char id[CALL_ID_LEN + 1];
    int64_t from = clock_mono_ms();
    int err = 0;

    /* After a failed commit these calls stay out of others' commits for a
       while. The lock is held, so one slice of time must do. */
    if (from < m->marked_ms)
        return;
    for (unsigned n = 0;
         err == 0 && n < MAX_SETTLED &&
         (n == 0 || clock_mono_ms() - from < MCP_SLICE_MS) &&
         !store_batch_is_full(m->store) &&
         calls_next_marked(m->calls, id);
         n++)
        err = run_marked_call(m, str_of(id));
    if (err != 0)
        m->marked_ms = clock_mono_ms() + RETRY_MS;
}

void
mcp_undo_marked(struct mcp *m, bool again)
{
    if (!again)
        m->marked_ms = clock_mono_ms() + RETRY_MS;
    mcp_follow_undo(m);
}

int64_t
mcp_marked_due_ms(const struct mcp *m)
{
    return calls_any_marked(m->calls) && mcp_is_writable(m) ? m->marked_ms
                                                            : INT64_MAX;
}
