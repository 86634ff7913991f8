/* answer - the responses of clients of the handshake era to the requests that
   mcp/delivery.c sent them.

   The id of a request names call, question and place: an answer finds its
   question in any process. The first answer counts, even after the call has
   ended. */

#include "mcp/answer.h"
#include "mcp/deferred.h"
#include "mcp/delivery.h"
#include "mcp/message.h"

#include <string.h>

#define MIN_POLL_MS 100 /* poll intervals of a client's task */
#define MAX_POLL_MS (60 * 60 * 1000)

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
poll_later(struct request *r, const struct json_tok *task)
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

/* Takes the status of the client's task: it has ended, or is polled again. */
static void
take_status(struct request *r, const struct json_tok *task)
{
    struct mcp_follow *at = poll_later(r, task);

    if (at == NULL || json_is(json_get(task, "status"), "working"))
        return;
    at->poll_ms = clock_mono_ms() + MCP_LOST_POLL_MS;
    at->fetch |= UINT32_C(1) << r->reply.question;
    mcp_follow_later(r->m->s, at);
}

static const struct json_tok no_answer = {"null", 4, 1, 0, JSON_NULL, false};

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
take_refusal(struct request *r, struct call *k,
             const struct mcp_question *all, struct mcp_question *q)
{
    struct mcp_session *s = r->m->s;
    struct mcp_follow *at = mcp_follow_call(s, k->id, k->status);
    const struct mcp_session *next = s;
    bool again = mcp_is_task_first(s, q) && r->reply.kind != 'r';

    if (r->reply.kind == 'c' && r->reply.place != (uint64_t)q->delivery.n)
        return 0; /* it belongs to an earlier request */
    if (!again) {
        if (at != NULL)
            at->refused |= UINT32_C(1) << r->reply.question;
        next = next_client(s, k->id, q);
    }
    q->delivery.n = 0;
    if (next == NULL)
        q->answer = &no_answer;
    else
        mcp_deliver_to(next, q);
    q->delivery.bare = again;
    return mcp_stage_answers(r, all, k);
}

/* Finds the question that r is about, its call, and all questions of that call.
   ERR_INVALID: it is gone, or belongs to another principal. */
static int
find_question(struct request *r, struct call *k, struct mcp_question **all,
              struct mcp_question **q)
{
    struct arena *a = r->call.arena;
    int err = calls_get(r->m->m->calls, a, r->target, mcp_who(r), k);

    if (err == 0)
        err = mcp_read_questions(a, k->questions, all);
    if (err != 0 && err != ERR_NOT_FOUND)
        return err;
    *q = err == 0 ? *all : NULL;
    while (*q != NULL && (*q)->i != r->reply.question)
        *q = (*q)->next;
    if (*q != NULL)
        return 0;
    return mcp_fail(r, ERR_INVALID, "No such question, or it has expired");
}

/* Whatever became of its call, the question gets its answer. */
static int
stage_answer(struct request *r, struct call *k,
             const struct mcp_question *all)
{
    struct mcp *m = r->m->m;

    if (!call_status_ended(k->status))
        return mcp_stage_answers(r, all, k);
    if (k->state.len == 0) /* else the call would begin again */
        return 0;
    return mcp_run_late(m, k->id, mcp_raw_questions(m, r->call.arena, all));
}

/* Whether r says that its client has made a task of the question. */
static bool
is_client_task(const struct request *r, const struct json_tok *result)
{
    const struct json_tok *id = json_get(json_get(result, "task"), "taskId");

    return r->reply.kind == 'c' && id != NULL && id->type == JSON_STRING;
}

/* The client has made a task of q: the record names it, so that any process can
   poll it. */
static int
take_client_task(struct request *r, struct call *k,
                 const struct mcp_question *all, struct mcp_question *q,
                 const struct json_tok *task)
{
    poll_later(r, task);
    q->delivery.task = json_str(r->call.arena, json_get(task, "taskId"));
    return q->delivery.task.p == NULL ? ERR_NOMEM
                                      : mcp_stage_answers(r, all, k);
}

/* The answer to q has come, from the client that was asked last or from one
   that was asked before it. */
static int
take_result(struct request *r, struct call *k, const struct mcp_question *all,
            struct mcp_question *q, const struct json_tok *result)
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
    err = stage_answer(r, k, all);
    if (err != ERR_TOO_LARGE || call_status_ended(k->status))
        return err;
    q->answer = &no_answer; /* it was too large to store */
    return mcp_stage_answers(r, all, k);
}

/* Only the client that has the question can refuse it or make a task of it, and
   only while its call goes on; an answer counts from any. */
int
mcp_take_answer(struct request *r)
{
    const struct json_tok *result = json_get(r->params, "result");
    struct mcp_question *all, *q = NULL;
    struct call k;
    bool open;
    int err = find_question(r, &k, &all, &q);

    if (q == NULL || q->answer != NULL)
        return err;
    open = !call_status_ended(k.status) &&
           mcp_was_delivered_to(r->m->s, &q->delivery);
    if (result == NULL || result->type != JSON_OBJECT)
        return open ? take_refusal(r, &k, all, q) : 0;
    if (r->reply.kind == 'g') {
        take_status(r, result);
        return 0;
    }
    if (!is_client_task(r, result))
        return take_result(r, &k, all, q, result);
    return open ? take_client_task(r, &k, all, q, json_get(result, "task"))
                : 0;
}
