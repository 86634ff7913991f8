/* question - the questions of a call, in the form of its record.

   This is a list. Each question has its key, method and parameters; its answer,
   once that has come; and its delivery, if there is one (mcp/delivery.c):

     {"key":"answer","method":"elicitation/create","params":{},
      "held":{"by":3,"n":17,"to":"<id of a session>"}}

   by is the process, n the place of the request. held also has the client's
   task, if it made one, and "bare" if it was asked to make none. Void
   deliveries are left out when a list is written. */

#include "mcp/question.h"
#include "mcp/message.h"

#define GRACE_MS 10000 /* for a client to open its stream again */

static int
read_delivery(struct arena *a, const struct json_tok *t, struct mcp_delivery *h)
{
    *h = (struct mcp_delivery){.bare = json_get(t, "bare") != NULL};
    json_int(json_get(t, "n"), &h->n);
    json_int(json_get(t, "by"), &h->by);
    return mcp_text(a, json_get(t, "to"), &h->to) != 0
               ? ERR_NOMEM : mcp_text(a, json_get(t, "task"), &h->task);
}

int
mcp_read_questions(struct arena *a, struct str raw, struct mcp_question **out)
{
    const struct json_tok *list, *t;
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
        if (q->key.p == NULL ||
            mcp_text(a, json_get(t, "method"), &q->method) != 0 ||
            read_delivery(a, json_get(t, "held"), &q->delivery) != 0)
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

/* Leaves out a delivery that is void. */
static void
put_stored_question(struct mcp *m, struct json_w *w,
                    const struct mcp_question *q)
{
    struct mcp_delivery h = q->delivery;

    json_obj(w);
    json_put_str(w, "key", q->key);
    put_question_request(w, q);
    if (q->answer != NULL)
        json_put_raw(w, "answer", json_raw(q->answer));
    if (h.n != 0 && (q->answer != NULL || mcp_delivery_lives(m, &h))) {
        json_put_obj(w, "held");
        json_put_int(w, "by", h.by);
        json_put_int(w, "n", h.n);
        json_put_str(w, "to", h.to);
        if (h.task.p != NULL)
            json_put_str(w, "task", h.task);
        if (h.bare)
            json_put_bool(w, "bare", true);
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
    for (; q != NULL; q = q->next)
        put_stored_question(m, &w, q);
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

int
mcp_stage_answers(struct request *r, const struct mcp_question *q,
                  struct call *k)
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
