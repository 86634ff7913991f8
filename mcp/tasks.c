/* tasks - tasks/get, result, list, cancel and update, in both dialects:
   SEP-1686 as 2025-11-25 has it, and the extension of 2026-07-28 (SEP-2663).

   Both stand over the same record (mcp/call.h) and differ in words: what a tool
   answers as its own error has failed in the one and completed in the other;
   the one fetches a result and is sent questions, the other finds both in
   what tasks/get answers.

   A task is its principal's, whatever revision it was made in. Reading one
   runs it again first where that has come due: for that, and to hold a
   question for the client that asks, a reading method takes the write lock;
   what it cannot stage it does without. */

#include "mcp/internal.h"
#include "base/clock.h"

#include <string.h>

#define MIN_POLL_MS 1000
#define MAX_POLL_MS 30000
#define PAGE 50
#define ASK_MS 2000 /* how often a waiting client may take a question over */
#define EXTENSION MCP_META "tasks"

/* ---- parameters ---- */

/* The extension is a matter of each request, and of no other revision. */
bool
mcp_extends(const struct request *r)
{
    const struct json_tok *caps =
        json_get(r->meta, MCP_META "clientCapabilities");
    const struct json_tok *t = json_get(json_get(caps, "extensions"),
                                        EXTENSION);

    return is_modern(r) && t != NULL && t->type == JSON_OBJECT;
}

int
mcp_refuse_extension(struct request *r)
{
    mcp_refuse(r, MCP_BAD_REQUEST, RPC_MISSING_CAPABILITY,
               "Missing required client capability", NULL, STR_NONE);
    r->fault.caps = MCP_EXTENSION;
    return MCP_REFUSED;
}

static int
refuse(struct request *r, enum rpc_code code, const char *text)
{
    return mcp_refuse(r, MCP_OK, code, text, NULL, STR_NONE);
}

/* Whether it is a method that changes a task. */
static bool
changes(const struct request *r)
{
    return r->method->run == mcp_task_cancel ||
           r->method->run == mcp_task_update;
}

int
mcp_task_judge(struct request *r)
{
    if (is_modern(r) && !r->extends)
        return mcp_refuse_extension(r);
    if (r->target.p == NULL)
        return refuse(r, RPC_INVALID_PARAMS, "taskId must be a string");
    if (changes(r) && r->call.read_only)
        return refuse(r, RPC_INVALID_REQUEST, "This token may only read");
    return 0;
}

int
mcp_task_judge_update(struct request *r)
{
    int err = mcp_task_judge(r);

    if (err == 0 && is_absent(json_get(r->params, "inputResponses")))
        return refuse(r, RPC_INVALID_PARAMS, "inputResponses is missing");
    return err;
}

/* What tools/call says of tasks, and whether its tool agrees. */
int
mcp_task_judge_call(struct request *r)
{
    const struct json_tok *task = json_get(r->params, "task");
    int support = r->tool->tasks;

    if (r->m->m->calls == NULL)
        return 0; /* no such capability was declared */
    if (is_modern(r))
        return support == MCP_TASK_REQUIRED && !r->extends
                   ? mcp_refuse_extension(r) : 0;
    if (r->rev != MCP_2025_11_25)
        return 0;
    r->task = !is_absent(task);
    if (r->task && support == MCP_TASK_FORBIDDEN)
        return refuse(r, RPC_METHOD_NOT_FOUND, "This tool runs as no task");
    if (!r->task && support == MCP_TASK_REQUIRED)
        return refuse(r, RPC_METHOD_NOT_FOUND,
                      "This tool runs as a task only");
    if (r->task && task->type != JSON_OBJECT)
        return refuse(r, RPC_INVALID_PARAMS, "task must be an object");
    if (r->task && !is_absent(json_get(task, "ttl")) &&
        !json_int(json_get(task, "ttl"), &r->ttl_ms))
        return refuse(r, RPC_INVALID_PARAMS,
                      "ttl must be a whole number of milliseconds");
    if (r->task && !mcp_can_defer(r))
        return refuse(r, RPC_INVALID_REQUEST, "Nothing can be kept here");
    return 0;
}

/* ---- what a tool says ---- */

bool
mcp_is_structured(const struct mcp *m, enum mcp_rev rev)
{
    return m->cat->structured && rev >= MCP_2025_06_18;
}

void
mcp_put_said(struct str json, bool structured, struct buf *out)
{
    if (structured) {
        buf_z(out, "\"structuredContent\":");
        buf_str(out, json);
        buf_char(out, ',');
    }
    buf_z(out, "\"content\":[{\"type\":\"text\",\"text\":");
    json_quote(out, json);
    buf_z(out, "}]");
}

/* The result that k keeps, as this server sends it: another may have kept
   structured content with it, as 0.1.0 always did, or have left it out. .p
   NULL: no memory. */
static struct str
result_of(const struct mcp *m, struct arena *a, const struct call *k,
          enum mcp_rev rev)
{
    bool structured = mcp_is_structured(m, rev) && !k->is_error;
    const struct json_tok *t = NULL;
    struct str said = STR_NONE, sent;
    struct buf b = {0};

    if (!structured && !str_starts(k->result, "{\"structuredContent\":"))
        return k->result;
    json_parse(a, k->result, &t, NULL);
    t = json_get(t, "content");
    if (t != NULL && t->n == 1)
        said = json_str(a, json_get(t + 1, "text"));
    if (said.p == NULL || json_parse(a, said, &t, NULL) != 0 ||
        t->type != JSON_OBJECT)
        return k->result; /* the tool wrote its content itself */
    buf_char(&b, '{');
    mcp_put_said(said, structured, &b);
    buf_char(&b, '}');
    sent = b.err == 0 ? arena_str(a, buf_view(&b)) : STR_NONE;
    buf_fini(&b);
    return sent;
}

/* ---- a task on the wire ---- */

static void
put_time(struct json_w *w, const char *name, int64_t ms)
{
    char text[TIME_LEN + 1];

    time_format(ms, text);
    json_put_z(w, name, text);
}

static enum call_status
status_in(const struct call *k, enum mcp_rev rev)
{
    return rev < MCP_OLDEST_MODERN && k->status == CALL_COMPLETED &&
                   k->is_error ? CALL_FAILED : k->status;
}

/* The members of a Task. Who polls is asked to do so less often as time goes
   by. */
static void
put_task(struct json_w *w, const struct mcp *m, const struct call *k,
         enum mcp_rev rev, enum call_status status)
{
    bool modern = rev >= MCP_OLDEST_MODERN;
    int64_t poll = (store_now_ms(m->store) - k->created_ms) / 10;

    if (poll < MIN_POLL_MS)
        poll = MIN_POLL_MS;
    if (poll > MAX_POLL_MS)
        poll = MAX_POLL_MS;
    json_put_str(w, "taskId", k->id);
    json_put_z(w, "status", call_status_name(status));
    if (k->message.len > 0)
        json_put_str(w, "statusMessage", k->message);
    put_time(w, "createdAt", k->created_ms);
    put_time(w, "lastUpdatedAt", k->updated_ms);
    json_put_int(w, modern ? "ttlMs" : "ttl", k->ttl_ms);
    json_put_int(w, modern ? "pollIntervalMs" : "pollInterval", poll);
}

/* What is written as an object, as the members that a result begins with. */
static void
open_members(struct json_w *w, struct buf *b)
{
    json_w_init(w, b);
    json_obj(w);
}

static void
close_members(struct json_w *w, struct buf *b, size_t at)
{
    json_close(w);
    json_w_end(w);
    if (b->err != 0)
        return;
    memmove(b->p + at, b->p + at + 1, b->len - at - 2);
    b->len -= 2;
}

static void
put_requests(struct json_w *w, struct arena *a, const struct call *k)
{
    struct mcp_question *q = NULL;
    struct buf b = {0};

    if (mcp_read_questions(a, k->questions, &q) == ERR_NOMEM)
        b.err = ERR_NOMEM;
    mcp_put_inputs(&b, q);
    if (b.err == 0)
        json_put_raw(w, "inputRequests", buf_view(&b));
    else
        w->b->err = b.err;
    buf_fini(&b);
}

/* A result within a result has to say itself what it is. */
static void
put_inlined(struct json_w *w, struct arena *a, struct str result)
{
    struct str inner = {result.p + 1, result.len - 1};
    struct str raw = result.p == NULL ? STR_NONE
        : arena_printf(a, "{\"resultType\":\"complete\"%s%.*s",
                       inner.len > 1 ? "," : "", STR_ARG(inner));

    if (raw.p == NULL)
        w->b->err = ERR_NOMEM;
    else
        json_put_raw(w, "result", raw);
}

void
mcp_put_task(struct json_w *w, const struct mcp *m, struct arena *a,
             const struct call *k, enum mcp_rev rev)
{
    put_task(w, m, k, rev, status_in(k, rev));
    if (rev < MCP_OLDEST_MODERN)
        return;
    if (k->status == CALL_INPUT_REQUIRED)
        put_requests(w, a, k);
    else if (k->status == CALL_COMPLETED)
        put_inlined(w, a, result_of(m, a, k, rev));
    else if (k->status == CALL_FAILED)
        json_put_raw(w, "error", k->error);
}

/* In the older dialect a task begins as working, even one that has ended. */
void
mcp_put_created(const struct request *r, const struct call *k,
                struct buf *out)
{
    size_t at = out->len;
    struct json_w w;

    if (is_modern(r)) {
        open_members(&w, out);
        put_task(&w, r->m->m, k, r->rev,
                 call_status_ended(k->status) ? CALL_WORKING : k->status);
        close_members(&w, out, at);
        return;
    }
    buf_z(out, "\"task\":");
    open_members(&w, out);
    put_task(&w, r->m->m, k, r->rev, CALL_WORKING);
    json_close(&w);
    json_w_end(&w);
    buf_printf(out, ",\"_meta\":{\"" MCP_META "model-immediate-response\":"
               "\"%s goes on as task %.*s, which its client watches. Do "
               "something else meanwhile.\"," MCP_RELATED "%.*s\"}}",
               r->tool->name, STR_ARG(k->id), STR_ARG(k->id));
}

/* ---- methods ---- */

struct str
mcp_who(const struct request *r)
{
    return r->call.principal.p != NULL ? r->call.principal : STR("");
}

struct str
mcp_call_of(const struct request *r)
{
    return r->runs_as.len > 0 ? r->runs_as : r->target;
}

/* The task that r is about, as it is now. What a plain call waits for ends
   behind it in its turn: its client is told of its questions first. */
static int
fetch(struct request *r, struct call *k)
{
    struct mcp *m = r->m->m;
    struct str id = mcp_call_of(r);
    bool plain = r->runs_as.len > 0;
    int err;

    if (plain)
        calls_mark_due(m->calls, id);
    else
        mcp_settle_call(m, id);
    err = calls_get(m->calls, r->call.arena, id, mcp_who(r), k);
    if (err == 0 && mcp_is_plain(k) != plain)
        err = ERR_NOT_FOUND;
    if (err != ERR_NOT_FOUND)
        return err;
    r->why = "No such task, or its time is over";
    return ERR_INVALID;
}

bool
mcp_task_writes(const struct request *r)
{
    struct mcp *m = r->m->m;

    return changes(r) ||
           (mcp_is_writable(m) && !r->call.read_only &&
            (calls_is_marked(m->calls, mcp_call_of(r)) ||
             mcp_hold_wanted(r)));
}

int
mcp_task_get(struct request *r, struct buf *out)
{
    struct call k;
    struct json_w w;
    size_t at = out->len;
    int err = fetch(r, &k);

    if (err != 0)
        return err;
    if (!is_modern(r))
        mcp_hold(r, &k);
    open_members(&w, out);
    mcp_put_task(&w, r->m->m, r->call.arena, &k, r->rev);
    close_members(&w, out, at);
    return out->err;
}

int
mcp_await(struct request *r, struct call *k)
{
    struct store *s = r->m->m->store;
    struct arena *a = r->call.arena;
    int64_t now = store_now_ms(s), until = k->created_ms + k->ttl_ms;

    mcp_hold(r, k);
    if (k->due_ms != 0 && k->due_ms < until)
        until = k->due_ms;
    /* One that is due and still here is for others to run. */
    if (until <= now ||
        (k->status == CALL_INPUT_REQUIRED && now + ASK_MS < until))
        until = now + ASK_MS;
    mcp_watch(&r->call, arena_printf(a, "call/%.*s", STR_ARG(k->id)));
    mcp_wait(&r->call, until - now);
    r->seen = store_next_n(s) - 1;
    return ERR_MORE;
}

int
mcp_task_result(struct request *r, struct buf *out)
{
    struct str sent;
    struct call k;
    int err = fetch(r, &k);

    if (err != 0)
        return err;
    if (!call_status_ended(k.status))
        return mcp_await(r, &k);
    if (k.status == CALL_COMPLETED) {
        sent = result_of(r->m->m, r->call.arena, &k, r->rev);
        if (sent.p == NULL)
            return ERR_NOMEM;
        buf_put(out, sent.p + 1, sent.len - 2);
        if (r->runs_as.len > 0)
            return 0;
        buf_printf(out, "%s\"_meta\":{" MCP_RELATED "%.*s\"}}",
                   sent.len > 2 ? "," : "", STR_ARG(k.id));
        return 0;
    }
    r->error = k.status == CALL_FAILED
                   ? k.error
                   : STR("{\"code\":-32603,"
                         "\"message\":\"The task was cancelled\"}");
    return ERR_INVALID;
}

int
mcp_task_list(struct request *r, struct buf *out)
{
    char ids[PAGE][CALL_ID_LEN + 1];
    struct mcp *m = r->m->m;
    uint64_t before = 0, last;
    bool more;
    size_t i, n;
    struct arena a = {0}; /* a record may be long, and none outlives its turn */
    struct json_w w;
    struct call k;
    int err = 0;

    if (r->target.p != NULL && !str_u64(r->target, &before)) {
        r->why = "Unknown cursor";
        return ERR_INVALID;
    }
    n = calls_list(m->calls, mcp_who(r), before, ids, PAGE, &last, &more);
    buf_z(out, "\"tasks\":");
    json_w_init(&w, out);
    json_arr(&w);
    for (i = 0; i < n && err == 0; i++) {
        err = calls_get(m->calls, &a, str_of(ids[i]), mcp_who(r), &k);
        if (err == 0 && mcp_is_plain(&k))
            err = ERR_NOT_FOUND;
        if (err == 0) {
            json_obj(&w);
            put_task(&w, m, &k, r->rev, status_in(&k, r->rev));
            json_close(&w);
        } else if (err == ERR_NOT_FOUND) {
            err = 0; /* it is of another, or of a newer version */
        }
        arena_reset(&a);
    }
    arena_fini(&a);
    json_close(&w);
    json_w_end(&w);
    if (more)
        buf_printf(out, ",\"nextCursor\":\"%llu\"", (unsigned long long)last);
    return err;
}

int
mcp_task_cancel(struct request *r, struct buf *out)
{
    struct call k;
    struct json_w w;
    size_t at = out->len;
    int err = fetch(r, &k);

    if (err == 0 && call_status_ended(k.status)) {
        r->why = "The task has ended already";
        return is_modern(r) ? 0 : ERR_INVALID;
    }
    if (err == 0) {
        k.status = CALL_CANCELLED;
        k.message = STR("The task was cancelled by request.");
        err = calls_stage(r->m->m->calls, r->call.arena, &k, "cancel");
    }
    if (err != 0 || is_modern(r))
        return err;
    open_members(&w, out);
    put_task(&w, r->m->m, &k, r->rev, k.status);
    close_members(&w, out, at);
    return out->err;
}

/* An answer counts once, and for what is open: other keys are none of ours. */
int
mcp_task_update(struct request *r, struct buf *out)
{
    struct mcp_question *all, *q;
    const struct json_tok *t;
    struct call k;
    bool news = false;
    int err = fetch(r, &k);

    (void)out;
    if (err == 0)
        err = mcp_read_questions(r->call.arena, k.questions, &all);
    if (err != 0 || call_status_ended(k.status))
        return err;
    for (q = all; q != NULL; q = q->next) {
        t = json_get(r->inputs, q->key.p);
        if (q->answer != NULL || t == NULL || t->type != JSON_OBJECT)
            continue;
        q->answer = t;
        news = true;
    }
    return news ? mcp_stage_answers(r, all, &k) : 0;
}
