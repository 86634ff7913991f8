/* dialect - writes a deferred call as a task of MCP: SEP-1686 in 2025-11-25,
   and the extension of 2026-07-28 (SEP-2663).

   Both show the same record (mcp/call.h). A call whose tool answers with an
   error has failed in the first and completed in the second. Clients of the
   first fetch the result and are sent questions; those of the second find
   both in the answer of tasks/get. */

#include "mcp/dialect.h"
#include "mcp/message.h"

#define MIN_POLL_MS 1000
#define MAX_POLL_MS 30000

static void
put_related(struct json_w *w, struct str id)
{
    json_put_obj(w, MCP_META "related-task");
    json_put_str(w, "taskId", id);
    json_close(w);
}

void
mcp_put_related(struct json_w *w, struct str id)
{
    json_put_obj(w, "_meta");
    put_related(w, id);
    json_close(w);
}

bool
mcp_is_structured(const struct mcp *m, enum mcp_rev rev)
{
    return m->cat->structured && rev >= MCP_2025_06_18;
}

void
mcp_put_output(struct json_w *w, struct str text, bool structured)
{
    if (structured)
        json_put_raw(w, "structuredContent", text);
    json_put_arr(w, "content");
    json_obj(w);
    json_put_z(w, "type", "text");
    json_put_str(w, "text", text);
    json_close(w);
    json_close(w);
}

void
mcp_put_outcome(struct json_w *w, const struct mcp *m, struct arena *a,
                const struct call *k, enum mcp_rev rev)
{
    bool structured = mcp_is_structured(m, rev) && !k->is_error;
    const struct json_tok *t = NULL;
    struct str said = STR_NONE;

    if (structured || str_starts(k->result, "{\"structuredContent\":"))
        json_parse(a, k->result, &t, NULL);
    t = json_get(t, "content");
    if (t != NULL && t->n == 1)
        said = json_str(a, json_get(t + 1, "text"));
    if (said.p == NULL || json_parse(a, said, &t, NULL) != 0 ||
        t->type != JSON_OBJECT)
        mcp_put_members(w, k->result); /* the tool wrote its content itself */
    else
        mcp_put_output(w, said, structured);
}

static void
put_call_time(struct json_w *w, const char *name, int64_t ms)
{
    json_put_z(w, name, time_text(ms));
}

static enum call_status
status_in(const struct call *k, enum mcp_rev rev)
{
    return rev < MCP_OLDEST_MODERN && k->status == CALL_COMPLETED &&
                   k->is_error ? CALL_FAILED : k->status;
}

/* Writes the members of a task. It asks clients to poll less often as time goes
   by. */
static void
put_call_fields(struct json_w *w, const struct mcp *m, const struct call *k,
                enum mcp_rev rev, enum call_status status)
{
    bool modern = rev >= MCP_OLDEST_MODERN;
    int64_t poll = mcp_clamp((store_now_ms(m->store) - k->created_ms) / 10,
                             MIN_POLL_MS, MAX_POLL_MS);

    json_put_str(w, "taskId", k->id);
    json_put_z(w, "status", call_status_name(status));
    if (k->message.len > 0 && status == status_in(k, rev))
        json_put_str(w, "statusMessage", k->message);
    put_call_time(w, "createdAt", k->created_ms);
    put_call_time(w, "lastUpdatedAt", k->updated_ms);
    json_put_int(w, modern ? "ttlMs" : "ttl", k->ttl_ms);
    json_put_int(w, modern ? "pollIntervalMs" : "pollInterval", poll);
}

void
mcp_put_call_head(struct json_w *w, const struct mcp *m, const struct call *k,
                  enum mcp_rev rev)
{
    put_call_fields(w, m, k, rev, status_in(k, rev));
}

void
mcp_put_call(struct json_w *w, const struct mcp *m, struct arena *a,
             const struct call *k, enum mcp_rev rev)
{
    struct mcp_question *q = NULL;

    mcp_put_call_head(w, m, k, rev);
    if (rev < MCP_OLDEST_MODERN)
        return;
    if (k->status == CALL_INPUT_REQUIRED) {
        if (mcp_read_questions(a, k->questions, &q) == ERR_NOMEM)
            w->b->err = ERR_NOMEM;
        mcp_put_inputs(w, q);
    } else if (k->status == CALL_COMPLETED) {
        /* A result within a result has to name its own type. */
        json_put_obj(w, "result");
        json_put_z(w, "resultType", "complete");
        mcp_put_outcome(w, m, a, k, rev);
        json_close(w);
    } else if (k->status == CALL_FAILED) {
        json_put_raw(w, "error", k->error);
    }
}

/* In the older dialect a task begins as working, even one that has ended. */
void
mcp_put_created(struct request *r, const struct call *k)
{
    struct json_w *w = &r->run.w;
    struct mcp *m = r->m->m;

    if (is_modern(r)) {
        bool ended = call_status_ended(k->status);

        put_call_fields(w, m, k, r->rev, ended ? CALL_WORKING : k->status);
        return;
    }
    json_put_obj(w, "task");
    put_call_fields(w, m, k, r->rev, CALL_WORKING);
    json_close(w);
    json_put_obj(w, "_meta");
    json_put_str(w, MCP_META "model-immediate-response",
                 arena_printf(r->call.arena, "%s continues as task %.*s, and "
                              "your client waits for its result. Meanwhile, "
                              "work on something else.", r->tool->name,
                              STR_ARG(k->id)));
    put_related(w, k->id);
    json_close(w);
}
