/* dialect - a deferred call as its clients see it: its questions, and the call
   as a task of MCP: SEP-1686 in 2025-11-25, and the extension of 2026-07-28
   (SEP-2663).

   Both dialects show the same record (mcp/calls.h). A call whose tool answers
   with an error has failed in the first and completed in the second. Clients of
   the first fetch the result and are sent questions; those of the second find
   both in the answer of tasks/get.

   In the record the questions are a list. Each has its key, method and
   parameters; its answer, once that has come; and its delivery, if there is one
   (mcp/delivery.c):

     {"key":"answer","method":"elicitation/create","params":{},
      "held":{"by":3,"n":17,"to":"<id of a session>"}}

   by is the process, n the place of the request. held also has the client's
   task, if it made one, and "bare" if it was asked to make none. Void
   deliveries are left out when a list is written. */

#include "mcp/dialect.h"
#include "mcp/message.h"

#define GRACE_MS 10000 /* for a client to open its stream again */
#define MIN_POLL_MS 1000
#define MAX_POLL_MS 30000

/* ---- questions ---- */

int
mcp_read_questions(struct arena *a, struct str raw, struct mcp_question **out)
{
    const struct json_tok *list, *t, *held;
    struct mcp_question *q;
    struct str key;
    uint32_t i;
    int err;

    *out = NULL;
    if (raw.p == NULL)
        return 0;
    err = json_parse(a, raw, &list, NULL);
    if (err != 0 || list->type != JSON_ARRAY)
        return err == ERR_NOMEM ? err : ERR_INVALID;
    for (i = 0, t = list + 1; i < list->n; i++, t += t->span) {
        q = *out = arena_alloc(a, sizeof(*q));
        if (q == NULL || mcp_text(a, json_get(t, "key"), &key) != 0)
            return ERR_NOMEM;
        *q = (struct mcp_question){
            .i = i,
            .key = arena_str(a, key),
            .params = json_raw(json_get(t, "params")),
            .answer = json_get(t, "answer"),
        };
        held = json_get(t, "held");
        q->delivery.bare = json_get(held, "bare") != NULL;
        json_int(json_get(held, "n"), &q->delivery.n);
        json_int(json_get(held, "by"), &q->delivery.by);
        if (q->key.p == NULL ||
            mcp_text(a, json_get(t, "method"), &q->method) != 0 ||
            mcp_text(a, json_get(held, "to"), &q->delivery.to) != 0 ||
            mcp_text(a, json_get(held, "task"), &q->delivery.task) != 0)
            return ERR_NOMEM;
        out = &q->next;
    }
    return 0;
}

bool
mcp_is_reachable(const struct mcp_session *s)
{
    return !s->ended &&
           (s->local || s->news.channels != NULL || s->n_waiting > 0 ||
            clock_mono_ms() - s->heard_ms < GRACE_MS);
}

/* A session that came here from a process that is gone keeps its deliveries,
   which this process takes over. */
bool
mcp_delivery_lives(struct mcp *m, struct mcp_delivery *h)
{
    uint64_t me = store_instance(m->store);

    if ((uint64_t)h->by != me &&
        (h->to.len == 0 || store_alive(m->store, (uint64_t)h->by)))
        return store_alive(m->store, (uint64_t)h->by);
    for (const struct mcp_session *s = m->sessions; s != NULL; s = s->next)
        if (s->local ? h->to.len == 0 : str_is(h->to, s->id)) {
            h->by = (int64_t)me;
            return mcp_is_reachable(s);
        }
    return false;
}

static void
put_question_request(struct json_w *w, const struct mcp_question *q)
{
    json_put_str(w, "method", q->method);
    if (q->params.len > 0)
        json_put_raw(w, "params", q->params);
}

void
mcp_put_inputs(struct json_w *w, const struct mcp_question *q)
{
    json_put_obj(w, "inputRequests");
    for (; q != NULL; q = q->next) {
        if (q->answer != NULL)
            continue;
        json_key_str(w, q->key);
        json_obj(w);
        put_question_request(w, q);
        json_close(w);
    }
    json_close(w);
}

struct str
mcp_raw_questions(struct mcp *m, struct arena *a,
                  const struct mcp_question *q)
{
    struct buf b = {0};
    struct json_w w;

    if (q == NULL)
        return STR_NONE;
    json_w_init(&w, &b);
    json_arr(&w);
    for (; q != NULL; q = q->next) {
        struct mcp_delivery h = q->delivery;

        json_obj(&w);
        json_put_str(&w, "key", q->key);
        put_question_request(&w, q);
        if (q->answer != NULL)
            json_put_raw(&w, "answer", json_raw(q->answer));
        if (h.n != 0 && (q->answer != NULL || mcp_delivery_lives(m, &h))) {
            json_put_obj(&w, "held");
            json_put_int(&w, "by", h.by);
            json_put_int(&w, "n", h.n);
            json_put_str(&w, "to", h.to);
            if (h.task.p != NULL)
                json_put_str(&w, "task", h.task);
            if (h.bare)
                json_put_bool(&w, "bare", true);
            json_close(&w);
        }
        json_close(&w);
    }
    json_end(&w);
    return buf_take(&b, a);
}

/* Its shape has the revision under another name, so that older versions leave
   it alone. */
bool
mcp_is_plain(const struct call *k)
{
    return str_starts(k->shape, "{\"plain\"");
}

/* ---- the call as a task ---- */

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

static enum call_status
call_status_in(const struct call *k, enum mcp_rev rev)
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
    if (k->message.len > 0 && status == call_status_in(k, rev))
        json_put_str(w, "statusMessage", k->message);
    json_put_z(w, "createdAt", time_text(k->created_ms));
    json_put_z(w, "lastUpdatedAt", time_text(k->updated_ms));
    json_put_int(w, modern ? "ttlMs" : "ttl", k->ttl_ms);
    json_put_int(w, modern ? "pollIntervalMs" : "pollInterval", poll);
}

void
mcp_put_call_head(struct json_w *w, const struct mcp *m, const struct call *k,
                  enum mcp_rev rev)
{
    put_call_fields(w, m, k, rev, call_status_in(k, rev));
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
