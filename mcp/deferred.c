/* deferred - the life of a call that outlives its request: made by a run, run
   again, answered by clients, ended; and the methods by which clients follow
   it, in both dialects (see mcp/dialect.c).

   A call becomes a record of the store (mcp/calls.h) when its run has to wait
   and its client can do without the answer for now; so does a plain call that
   asks a client of the handshake era. It is run again from that record when
   its event comes, under the write lock and before the commit of that event:
   the event and its effect on the call are one batch. So a call ends without
   any process waiting for it, and only once.

   This file writes to no client: clients learn of a call from its record. A
   task belongs to its principal, whatever revision it was made in. Reading a
   task first runs it again if that is due. For that, and to deliver a question
   to the client that reads, a reading method takes the write lock. If it cannot
   stage anything, it still answers.

   Invariants:
   1. The record holds all that a run depends on: tool, arguments, round,
      state, answers, and the capabilities of its client.
   2. A run that ends a call, or makes it wait for something else, stages one
      record; a run that changes nothing stages nothing.
   3. A call stays marked until a run of it was staged or changed nothing: an
      error of the store, or too little memory, leaves its mark.
   4. The first answer to a question counts, even after the call has ended. */

#include "mcp/deferred.h"
#include "base/utf8.h"
#include "mcp/delivery.h"
#include "mcp/dialect.h"
#include "mcp/methods.h"
#include "mcp/run.h"
#include "mcp/session.h"

#include <string.h>

#define MAX_SETTLED 256  /* calls in a turn */
#define RETRY_MS 1000    /* after an error that left marks */
#define OFFER_MS 2000    /* how often a client may take a question over */
#define MIN_POLL_MS 100  /* poll intervals of a client's task */
#define MAX_POLL_MS (60 * 60 * 1000)
#define PAGE 50          /* tasks of an answer to tasks/list */

/* ---- records ---- */

/* Returns what is needed to run it again as if its client asked. A plain call
   reports no more progress: its client has the question. */
static struct str
call_shape(const struct request *r, struct arena *a)
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

static const struct json_tok no_answer = {.type = JSON_NULL, .p = "null",
                                          .len = 4, .span = 1};

/* Makes k wait for what its run asked for. ERR_NOMEM. */
static int
set_call_waiting(const struct request *r, struct call *k, struct arena *a)
{
    /* Questions that the run did not ask again are closed. They keep their
       places, by which replies name them. */
    for (struct mcp_question *q = r->run.questions; q != NULL; q = q->next)
        if (q->answer == NULL && !q->asked && !r->run.goes_on)
            q->answer = &no_answer;
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

/* Ends k with the outcome of its run: members, or an error. ERR_NOMEM. */
static int
set_call_ended(struct request *r, int err, struct call *k, struct arena *a)
{
    struct buf *out = r->call.out, fault = {0};
    const struct json_tok *t = NULL, *why;
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
    k->message = STR_NONE;
    if (err != 0 || k->is_error) {
        /* The reason, from the error or the first content: some clients read
           no other text. */
        json_parse(a, text, &t, NULL);
        why = json_get(t, "message");
        t = json_get(t, "content");
        if (t != NULL && t->type == JSON_ARRAY && t->n > 0)
            why = json_get(t + 1, "text");
        k->message = utf8_cut(json_str(a, why), MCP_MAX_MESSAGE);
    }
    k->watch = STR_NONE;
    if (k->questions.p == NULL) /* else an answer may still come */
        k->state = STR_NONE;
    k->due_ms = 0;
    return 0;
}

/* Makes r wait for k, and delivers k's questions to its session. Returns
   MCP_RUN_WAITS. */
static int
await_call(struct request *r, struct call *k)
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
        .shape = call_shape(r, a),
        .ttl_ms = r->ttl_ms,
        .since = r->call.since,
        .round = r->call.round + 1,
    };

    if (k.shape.p == NULL || err == ERR_NOMEM || r->call.out->err != 0)
        return ERR_NOMEM;
    if (err == MCP_RUN_WAITS)
        err = set_call_waiting(r, &k, a);
    else
        err = set_call_ended(r, err, &k, a);
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
        return await_call(r, &k);
    mcp_put_created(r, &k);
    return MCP_TASK;
}

/* ---- run again ---- */

/* Stages the outcome of a run of k, unless it changed nothing. */
static int
stage_outcome(struct request *r, int err, struct call *k)
{
    struct call now = *k;

    if (err == ERR_NOMEM || r->call.out->err != 0)
        return ERR_NOMEM;
    if (err == MCP_RUN_WAITS) {
        if (set_call_waiting(r, &now, r->m->a) != 0)
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
    err = set_call_ended(r, err, &now, r->m->a);
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
may_pass(int err)
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

/* Reads call id and fills in the request like the one that made it; with
   questions in place of those of its record, unless their p is NULL. Call
   rerun_end in any case. Returns 0, ERR_NOMEM, or another error if there is no
   such call, or this binary cannot run it. */
static int
rerun_begin(struct rerun *u, struct mcp *m, struct str id,
            struct str questions)
{
    const struct json_tok *shape = NULL, *args = NULL;
    const struct mcp_tool *tool;
    struct request *r = &u->r;
    struct arena *a = &u->a;
    struct call *k = &u->k;
    int64_t rev, caps;
    int err;

    *u = (struct rerun){
        .msg = {.m = m, .s = &u->msg.scratch, .a = a, .n = 1,
                .scratch.log_level = -1},
    };
    err = calls_get(m->calls, a, id, STR_NONE, k);
    if (questions.p != NULL)
        k->questions = questions;
    if (err == 0)
        err = json_parse(a, k->shape, &shape, NULL);
    if (err == 0 && k->args.p != NULL)
        err = json_parse(a, k->args, &args, NULL);
    if (err != 0)
        return err;
    tool = mcp_find_tool(m->cat, k->tool);
    if (tool == NULL || !json_int(json_get(shape, "caps"), &caps) ||
        !json_int(json_get(shape, mcp_is_plain(k) ? "plain" : "rev"), &rev) ||
        rev < 0 || rev >= MCP_N_REVS)
        return ERR_INVALID;
    u->msg.scratch.rev = (enum mcp_rev)rev;
    *r = (struct request){
        .m = &u->msg,
        .name = str_of(m->call->name),
        .rev = (enum mcp_rev)rev,
        .method = m->call,
        .target = k->tool,
        .tool = tool,
        .token = json_raw(json_get(shape, "token")),
        .log_level = -1,
        .reruns = k,
        .call = {
            .ctx = m->cat->ctx,
            .number = tool->number,
            .arena = a,
            .rev = (enum mcp_rev)rev,
            .principal = k->principal,
            .caps = (unsigned)caps,
            .may_wait = true,
            .args = args,
            .round = k->round,
            .state = k->state,
            .since = k->since,
            .made_ms = k->created_ms,
            .of = r,
        },
        .run.notes = &u->notes,
    };
    if (mcp_text(a, json_get(shape, "here"), &r->call.here) != 0 ||
        mcp_text(a, json_get(shape, "client"), &r->call.client) != 0 ||
        mcp_text(a, json_get(shape, "agent"), &r->call.agent) != 0 ||
        mcp_text(a, json_get(shape, "session"), &r->call.session) != 0)
        return ERR_NOMEM;
    if (r->call.here.p == NULL)
        r->call.here = STR("");
    return mcp_read_questions(a, k->questions, &r->run.questions);
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
        err = stage_outcome(&u.r, mcp_run_method(&u.r, &u.out), &u.k);
    if (err == 0) {
        if (u.r.run.goes_on)
            calls_mark(m->calls, id);
        else
            calls_saw(m->calls, id);
        mcp_follow_notes(m, id, buf_view(&u.notes));
    }
    rerun_end(&u);
    if (!may_pass(err))
        return 0;
    calls_mark(m->calls, id);
    return err;
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
mcp_undo_marked(struct mcp *m, bool retried)
{
    if (!retried)
        m->marked_ms = clock_mono_ms() + RETRY_MS;
    mcp_follow_undo(m);
}

int64_t
mcp_marked_due_ms(const struct mcp *m)
{
    return calls_any_marked(m->calls) && mcp_is_writable(m) ? m->marked_ms
                                                            : INT64_MAX;
}

/* Runs a call that has ended, and has a state, once more for a late answer.
   questions is its list with the answer, in the form of a record. What the run
   stages counts, its outcome does not. Returns 0 or an error; ERR_INVALID: the
   tool refuses the answer. */
static int
run_late(struct mcp *m, struct str id, struct str questions)
{
    struct rerun u;
    int err;

    if (questions.p == NULL)
        return ERR_NOMEM;
    err = rerun_begin(&u, m, id, questions);
    if (err == 0)
        err = mcp_run_method(&u.r, &u.out);
    if (err == 0 && u.r.call.is_error)
        err = ERR_INVALID;
    rerun_end(&u);
    return may_pass(err) || err == ERR_INVALID ? err : 0;
}

/* Stages k with its questions, of which some have new answers, and marks
   it. */
static int
stage_answers(struct request *r, const struct mcp_question *q, struct call *k)
{
    struct mcp *m = r->m->m;
    const struct json_tok *list;
    int err;

    k->questions = mcp_raw_questions(m, r->call.arena, q);
    k->due_ms = 1; /* in case it is not run in this turn */
    if (k->questions.p == NULL)
        return ERR_NOMEM;
    /* An answer is nested deeper here than in its message, among others. */
    err = json_parse(r->call.arena, k->questions, &list, NULL);
    if (err != 0)
        return err;
    err = calls_stage(m->calls, k, "answer");
    if (err == 0)
        calls_mark(m->calls, k->id);
    return err;
}

/* ---- responses of clients of the handshake era ---- */

/* The id of a request that mcp/delivery.c sends names call, question and place:
   an answer finds its question in any process. */
void
mcp_take_answer_judge(struct request *r, const struct json_tok *t)
{
    struct str id = json_str(r->m->a, json_get(t, "id")), kind;
    uint64_t q, place = 0;

    if (r->m->f->read_only || !str_is(str_cut(&id, '-'), "mcptask"))
        return;
    kind = str_cut(&id, '.');
    r->target = str_cut(&id, '.');
    if (kind.len != 1 || memchr("cgr", *kind.p, 3) == NULL ||
        r->target.len != CALL_ID_LEN || !str_u64(str_cut(&id, '.'), &q) ||
        q >= MCP_MAX_DELIVERED)
        return;
    str_u64(str_cut(&id, '.'), &place);
    r->reply = (struct reply){*kind.p, (unsigned)q, place};
    r->params = t;
    r->call = (struct mcp_call){.arena = r->m->a,
                                .principal = r->m->f->principal};
}

/* The task that a client has made of a question says itself when it is polled
   next. Returns how r's session follows its call, or NULL. */
static struct mcp_follow *
poll_task_later(struct request *r, const struct json_tok *task)
{
    struct mcp *m = r->m->m;
    struct mcp_follow *at = mcp_follow_of(r->m->s, r->target);
    int64_t wait = MCP_POLL_MS;

    if (at == NULL)
        return NULL;
    json_int(json_get(task, "pollInterval"), &wait);
    at->poll_ms = clock_mono_ms() + mcp_clamp(wait, MIN_POLL_MS, MAX_POLL_MS);
    if (at->poll_ms < m->delivery_ms)
        m->delivery_ms = at->poll_ms;
    return at;
}

/* Another session that follows call id, and can be asked at once. */
static const struct mcp_session *
next_client(const struct mcp_session *s, struct str id,
            const struct mcp_question *q)
{
    for (const struct mcp_session *o = s->m->sessions; o != NULL; o = o->next) {
        const struct mcp_follow *at = mcp_follow_of(o, id);

        if (o != s && at != NULL && !(at->refused >> q->i & 1) &&
            (mcp_cap_of(q->method) & o->caps) && mcp_channel_of(o, id) != NULL)
            return o;
    }
    return NULL;
}

/* The client that q was delivered to could not or would not ask its user. If it
   had made a task of q and that has failed, it is not asked again; if it knows
   of no such task, it is. */
static int
record_refusal(struct request *r, struct call *k,
               const struct mcp_question *all, struct mcp_question *q)
{
    struct mcp_session *s = r->m->s;
    struct mcp_follow *at = mcp_follow_call(s, k->id, k->status);
    const struct mcp_session *next = s;
    bool bare = mcp_is_task_first(s, q) && r->reply.kind != 'r';

    if (r->reply.kind == 'c' && r->reply.place != (uint64_t)q->delivery.n)
        return 0; /* it belongs to an earlier request */
    if (!bare) {
        if (at != NULL)
            at->refused |= UINT32_C(1) << r->reply.question;
        next = next_client(s, k->id, q);
    }
    q->delivery.n = 0;
    if (next == NULL)
        q->answer = &no_answer;
    else
        mcp_deliver_to(next, q);
    q->delivery.bare = bare;
    return stage_answers(r, all, k);
}

/* The answer to q has come, from the client that was asked last or from one
   that was asked before it. */
static int
record_result(struct request *r, struct call *k,
              const struct mcp_question *all, struct mcp_question *q,
              const struct json_tok *result)
{
    struct mcp_follow *at = NULL;
    int err;

    q->answer = result;
    if (json_is(json_get(result, "action"), "cancel"))
        at = mcp_follow_call(r->m->s, k->id, k->status);
    if (at != NULL) /* the tool may leave the question to others */
        at->refused |= UINT32_C(1) << r->reply.question;
    if (mcp_was_delivered_to(r->m->s, &q->delivery))
        q->delivery.n = 0; /* it is withdrawn only from one asked since */
    if (call_status_ended(k->status)) {
        if (k->state.len == 0) /* else the call would begin again */
            return 0;
        return run_late(r->m->m, k->id,
                        mcp_raw_questions(r->m->m, r->call.arena, all));
    }
    err = stage_answers(r, all, k);
    if (err != ERR_TOO_LARGE)
        return err;
    q->answer = &no_answer; /* it was too large to store */
    return stage_answers(r, all, k);
}

/* Only the client that has the question can refuse it or make a task of it, and
   only while its call goes on; an answer counts from any. */
int
mcp_take_answer(struct request *r)
{
    const struct json_tok *result = json_get(r->params, "result"), *task;
    struct arena *a = r->call.arena;
    struct mcp_question *all, *q;
    struct mcp_follow *at;
    struct call k;
    bool open;
    int err = calls_get(r->m->m->calls, a, r->target, mcp_who(r), &k);

    if (err == 0)
        err = mcp_read_questions(a, k.questions, &all);
    if (err != 0 && err != ERR_NOT_FOUND)
        return err;
    for (q = err == 0 ? all : NULL; q != NULL; q = q->next)
        if (q->i == r->reply.question)
            break;
    if (q == NULL) /* or it belongs to another principal */
        return mcp_fail(r, ERR_INVALID,
                        "No such question, or it has expired");
    if (q->answer != NULL)
        return 0;
    open = !call_status_ended(k.status) &&
           mcp_was_delivered_to(r->m->s, &q->delivery);
    if (result == NULL || result->type != JSON_OBJECT)
        return open ? record_refusal(r, &k, all, q) : 0;
    if (r->reply.kind == 'g') { /* the client's task has ended, or goes on */
        at = poll_task_later(r, result);
        if (at == NULL || json_is(json_get(result, "status"), "working"))
            return 0;
        at->poll_ms = clock_mono_ms() + MCP_LOST_POLL_MS;
        at->fetch |= UINT32_C(1) << r->reply.question;
        mcp_follow_later(r->m->s, at);
        return 0;
    }
    task = json_get(result, "task");
    if (r->reply.kind != 'c' || json_get(task, "taskId") == NULL ||
        json_get(task, "taskId")->type != JSON_STRING)
        return record_result(r, &k, all, q, result);
    if (!open)
        return 0;
    /* The client has made a task of q: the record names it, so that any process
       can poll it. */
    poll_task_later(r, task);
    q->delivery.task = json_str(a, json_get(task, "taskId"));
    return q->delivery.task.p == NULL ? ERR_NOMEM : stage_answers(r, all, &k);
}

/* ---- methods: their parameters ---- */

static int
refuse_task(struct request *r, enum mcp_code code, const char *text)
{
    return mcp_refuse(r, MCP_OK, code, text, STR_NONE);
}

int
mcp_task_judge(struct request *r)
{
    if (is_modern(r) && !r->extends)
        return mcp_refuse_extension(r);
    if (r->target.p == NULL)
        return mcp_refuse_params(r, "taskId must be a string");
    if (r->method->cache == WRITES && r->call.read_only)
        return refuse_task(r, RPC_INVALID_REQUEST, "This token is read-only");
    return 0;
}

int
mcp_task_judge_update(struct request *r)
{
    int err = mcp_task_judge(r);

    if (err == 0 && is_absent(json_get(r->params, "inputResponses")))
        return mcp_refuse_params(r, "inputResponses is missing");
    return err;
}

/* Judges the task of tools/call, and whether its tool allows it. */
int
mcp_task_judge_call(struct request *r)
{
    const struct json_tok *task = json_get(r->params, "task");
    int support = r->tool->tasks;

    if (is_modern(r))
        return support == MCP_TASK_REQUIRED && !r->extends
                   ? mcp_refuse_extension(r) : 0;
    if (r->rev != MCP_2025_11_25)
        return 0;
    r->task = !is_absent(task);
    if (r->task && support == MCP_TASK_FORBIDDEN)
        return refuse_task(r, RPC_METHOD_NOT_FOUND,
                           "This tool cannot run as a task");
    if (!r->task && support == MCP_TASK_REQUIRED)
        return refuse_task(r, RPC_METHOD_NOT_FOUND,
                           "This tool runs only as a task; send params.task");
    if (r->task && task->type != JSON_OBJECT)
        return mcp_refuse_params(r, "task must be an object");
    if (r->task && !is_absent(json_get(task, "ttl")) &&
        !json_int(json_get(task, "ttl"), &r->ttl_ms))
        return mcp_refuse_params(r, "ttl must be a whole number of "
                                    "milliseconds");
    if (r->task && !mcp_can_defer(r))
        return refuse_task(r, RPC_INVALID_REQUEST, r->call.read_only
                           ? "This token is read-only"
                           : "The store is read-only, so no task can be "
                             "created");
    return 0;
}

/* ---- methods: their runs ---- */

/* The task that r names, in its current state. A call that a plain call waits
   for ends after it in the turn: its client gets the questions first. */
static int
fetch_call(struct request *r, struct call *k)
{
    struct mcp *m = r->m->m;
    struct str id = mcp_call_of(r);
    bool plain = r->runs_as.len > 0;
    int err;

    if (plain)
        calls_mark_due(m->calls, id);
    if (!plain && store_locked(m->store) && calls_is_marked(m->calls, id)) {
        calls_unmark(m->calls, id);
        run_marked_call(m, id);
    }
    err = calls_get(m->calls, r->call.arena, id, mcp_who(r), k);
    if (err == 0 && mcp_is_plain(k) != plain)
        err = ERR_NOT_FOUND;
    if (err != ERR_NOT_FOUND)
        return err;
    return mcp_fail(r, ERR_INVALID, "No such task, or it has expired");
}

bool
mcp_task_writes(const struct request *r)
{
    struct mcp *m = r->m->m;

    return r->method->cache == WRITES ||
           (mcp_is_writable(m) && !r->call.read_only &&
            (calls_is_marked(m->calls, mcp_call_of(r)) ||
             mcp_delivery_wanted(r)));
}

int
mcp_task_get(struct request *r)
{
    struct call k;
    int err = fetch_call(r, &k);

    if (err != 0)
        return err;
    if (!is_modern(r))
        mcp_deliver(r, &k);
    mcp_put_call(&r->run.w, r->m->m, r->call.arena, &k, r->rev);
    return 0;
}

int
mcp_task_result(struct request *r)
{
    struct call k;
    int err = fetch_call(r, &k);

    if (err != 0)
        return err;
    if (!call_status_ended(k.status))
        return await_call(r, &k);
    if (k.status == CALL_COMPLETED) {
        mcp_put_outcome(&r->run.w, r->m->m, r->call.arena, &k, r->rev);
        if (r->runs_as.len == 0)
            mcp_put_related(&r->run.w, k.id);
        return 0;
    }
    r->run.error = k.status == CALL_FAILED
                   ? k.error
                   : STR("{\"code\":-32603,"
                         "\"message\":\"The task was cancelled\"}");
    return ERR_INVALID;
}

int
mcp_task_cancel(struct request *r)
{
    struct call k;
    int err = fetch_call(r, &k);

    if (err != 0)
        return err;
    if (call_status_ended(k.status))
        return mcp_fail(r, is_modern(r) ? 0 : ERR_INVALID,
                        "The task has already ended");
    k.status = CALL_CANCELLED;
    k.message = STR("The task was cancelled on request.");
    err = calls_stage(r->m->m->calls, &k, "cancel");
    if (err == 0 && !is_modern(r))
        mcp_put_call_head(&r->run.w, r->m->m, &k, r->rev);
    return err;
}

/* An answer counts once, for an open question: other keys are ignored. */
int
mcp_task_update(struct request *r)
{
    struct mcp_question *all;
    struct call k;
    bool news = false;
    int err = fetch_call(r, &k);

    if (err == 0)
        err = mcp_read_questions(r->call.arena, k.questions, &all);
    if (err != 0 || call_status_ended(k.status))
        return err;
    for (struct mcp_question *q = all; q != NULL; q = q->next) {
        const struct json_tok *t = json_get(r->inputs, q->key.p);

        if (q->answer != NULL || t == NULL || t->type != JSON_OBJECT)
            continue;
        q->answer = t;
        news = true;
    }
    return news ? stage_answers(r, all, &k) : 0;
}

int
mcp_task_list(struct request *r)
{
    char ids[PAGE][CALL_ID_LEN + 1];
    struct mcp *m = r->m->m;
    uint64_t before = 0, last;
    bool more;
    size_t n;
    struct arena a = {0}; /* records may be long: it holds one at a time */
    struct json_w *w = &r->run.w;
    struct call k;
    int err = 0;

    if (r->target.p != NULL && !str_u64(r->target, &before))
        return mcp_fail(r, ERR_INVALID, "Unknown cursor");
    n = calls_list(m->calls, mcp_who(r), before, ids, PAGE, &last, &more);
    json_put_arr(w, "tasks");
    for (size_t i = 0; i < n && err == 0; i++) {
        err = calls_get(m->calls, &a, str_of(ids[i]), mcp_who(r), &k);
        if (err == 0 && mcp_is_plain(&k))
            err = ERR_NOT_FOUND;
        if (err == 0) {
            json_obj(w);
            mcp_put_call_head(w, m, &k, r->rev);
            json_close(w);
        } else if (err == ERR_NOT_FOUND || err == ERR_GARBLED) {
            err = 0; /* another's, a newer version's, or not JSON */
        }
        arena_reset(&a);
    }
    arena_fini(&a);
    json_close(w);
    if (more)
        json_put_str(w, "nextCursor",
                     arena_printf(r->call.arena, "%llu",
                                  (unsigned long long)last));
    return err;
}
