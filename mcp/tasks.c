/* tasks - tasks/get, result, list, cancel and update, in both dialects (see
   mcp/dialect.c).

   A task belongs to its principal, whatever revision it was made in. Reading a
   task first runs it again if that is due. For that, and to deliver a question
   to the client that reads, a reading method takes the write lock. If it cannot
   stage anything, it still answers. */

#include "mcp/tasks.h"
#include "mcp/deferred.h"
#include "mcp/delivery.h"
#include "mcp/dialect.h"
#include "mcp/methods.h"
#include "mcp/run.h"
#include "mcp/session.h"

#define PAGE 50

/* ---- parameters ---- */

int
mcp_refuse_extension(struct request *r)
{
    mcp_refuse(r, MCP_BAD_REQUEST, RPC_MISSING_CAPABILITY,
               "Missing required client capability", STR_NONE);
    r->fault.caps = MCP_EXTENSION;
    return MCP_REFUSED;
}

static int
refuse_task(struct request *r, enum mcp_code code, const char *text)
{
    return mcp_refuse(r, MCP_OK, code, text, STR_NONE);
}

/* What is done with the task: get, its result, cancel, or update. A plain call
   waits for the result. */
static char
verb_of(const struct request *r)
{
    return r->runs_as.len > 0 ? 'r' : r->name.p[sizeof("tasks/") - 1];
}

/* Whether it is a method that changes a task. */
static bool
changes_call(const struct request *r)
{
    return verb_of(r) == 'c' || verb_of(r) == 'u';
}

int
mcp_task_judge(struct request *r)
{
    if (is_modern(r) && !r->extends)
        return mcp_refuse_extension(r);
    if (r->target.p == NULL)
        return mcp_refuse_params(r, "taskId must be a string");
    if (changes_call(r) && r->call.read_only)
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

/* ---- methods ---- */

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
    else
        mcp_run_if_marked(m, id);
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

    return changes_call(r) ||
           (mcp_is_writable(m) && !r->call.read_only &&
            (calls_is_marked(m->calls, mcp_call_of(r)) ||
             mcp_delivery_wanted(r)));
}

static int
put_fetched(struct request *r, struct call *k)
{
    if (!is_modern(r))
        mcp_deliver(r, k);
    mcp_put_call(&r->run.w, r->m->m, r->call.arena, k, r->rev);
    return 0;
}

static int
put_result(struct request *r, struct call *k)
{
    if (!call_status_ended(k->status))
        return mcp_await(r, k);
    if (k->status == CALL_COMPLETED) {
        mcp_put_outcome(&r->run.w, r->m->m, r->call.arena, k, r->rev);
        if (r->runs_as.len == 0)
            mcp_put_related(&r->run.w, k->id);
        return 0;
    }
    r->run.error = k->status == CALL_FAILED
                   ? k->error
                   : STR("{\"code\":-32603,"
                         "\"message\":\"The task was cancelled\"}");
    return ERR_INVALID;
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

static int
cancel_call(struct request *r, struct call *k)
{
    int err;

    if (call_status_ended(k->status))
        return mcp_fail(r, is_modern(r) ? 0 : ERR_INVALID,
                        "The task has already ended");
    k->status = CALL_CANCELLED;
    k->message = STR("The task was cancelled on request.");
    err = calls_stage(r->m->m->calls, k, "cancel");
    if (err == 0 && !is_modern(r))
        mcp_put_call_head(&r->run.w, r->m->m, k, r->rev);
    return err;
}

/* An answer counts once, for an open question: other keys are ignored. */
static int
update_call(struct request *r, struct call *k)
{
    struct mcp_question *all;
    bool news = false;
    int err = mcp_read_questions(r->call.arena, k->questions, &all);

    if (err != 0 || call_status_ended(k->status))
        return err;
    for (struct mcp_question *q = all; q != NULL; q = q->next) {
        const struct json_tok *t = json_get(r->inputs, q->key.p);

        if (q->answer != NULL || t == NULL || t->type != JSON_OBJECT)
            continue;
        q->answer = t;
        news = true;
    }
    return news ? mcp_stage_answers(r, all, k) : 0;
}

int
mcp_task_run(struct request *r)
{
    struct call k;
    int err = fetch_call(r, &k);

    if (err != 0)
        return err;
    switch (verb_of(r)) {
    case 'g':
        return put_fetched(r, &k);
    case 'r':
        return put_result(r, &k);
    case 'c':
        return cancel_call(r, &k);
    default:
        return update_call(r, &k);
    }
}
