/* talk - what a call may ask mcp for while it runs.

   A run that has to wait says for what, and returns MCP_RUN_WAITS. It is run
   again from its arguments, and mcp_request returns the answers that have come.
   This file sends nothing: messages go into the notes of a run, or its
   answer. */

#include "mcp/talk.h"
#include "base/text.h"
#include "base/utf8.h"
#include "mcp/dialect.h"
#include "mcp/message.h"
#include "mcp/run.h"

/* ---- questions ---- */

int
mcp_need(struct mcp_call *c, unsigned set)
{
    c->of->run.missing |= set & ~c->caps;
    return (set & ~c->caps) == 0 ? 0 : ERR_CAPABILITY;
}

/* The parameters in the form of the revision: from 2025-11-25 on there are
   other modes than forms, so a form has to name its mode. */
static struct str
shape_params(struct mcp_call *c, bool form, struct str params)
{
    if (!form || c->rev < MCP_2025_11_25 || params.len < 2)
        return arena_str(c->arena, params);
    return arena_printf(c->arena, "{\"mode\":\"form\"%s%.*s",
                        params.len > 2 ? "," : "", (int)params.len - 1,
                        params.p + 1);
}

/* Makes a new question. */
static struct mcp_question *
new_question(struct mcp_call *c, const char *key, const char *method,
             struct str params)
{
    struct arena *a = c->of->m->a;
    struct mcp_question *q = arena_alloc(a, sizeof(*q));

    if (q == NULL)
        return NULL;
    *q = (struct mcp_question){
        .key = arena_str(a, str_of(key)),
        .method = str_of(method),
        .params = shape_params(c, mcp_cap_of(str_of(method)) == MCP_ELICITATION,
                               params),
    };
    return q->key.p != NULL && q->params.p != NULL ? q : NULL;
}

/* Before 2026-07-28 a call has to become a record to ask. */
static bool
can_request(const struct request *r)
{
    return is_modern(r) || r->again != NULL ||
           (!r->m->waited && mcp_can_record(r) &&
            (r->run.defers || r->tool->writes));
}

const struct json_tok *
mcp_request(struct mcp_call *c, const char *key, const char *method,
            struct str params)
{
    struct request *r = c->of;
    const struct json_tok *input = json_get(r->inputs, key);
    struct mcp_question **at = &r->run.questions;
    unsigned cap = mcp_cap_of(str_of(method));

    ASSERT(cap != 0);
    while (*at != NULL && !str_is((*at)->key, key))
        at = &(*at)->next;
    if (*at != NULL && (*at)->answer != NULL)
        return (*at)->answer;
    if (!can_request(r))
        r->run.missing |= cap;
    if (!can_request(r) || mcp_need(c, cap) != 0)
        return NULL;
    if (*at == NULL)
        *at = new_question(c, key, method, params);
    if (*at == NULL) {
        c->out->err = ERR_NOMEM;
        return NULL;
    }
    (*at)->asked = true;
    if (input != NULL && input->type == JSON_OBJECT)
        return (*at)->answer = input;
    r->run.unanswered = true;
    return NULL;
}

void
mcp_ask_again(struct mcp_call *c, const char *key)
{
    struct mcp_question *q = c->of->run.questions;

    while (q != NULL && !str_is(q->key, key))
        q = q->next;
    if (q == NULL)
        return;
    q->answer = NULL;
    q->asked = c->of->run.unanswered = true;
}

/* ---- waits ---- */

/* Keeps a text for the time after the run. */
static void
keep_text(struct mcp_call *c, struct str *to, struct str text)
{
    *to = arena_str(c->arena, text);
    if (to->p == NULL)
        c->out->err = ERR_NOMEM;
}

void
mcp_state(struct mcp_call *c, struct str state)
{
    keep_text(c, &c->of->run.state, state);
}

void
mcp_explain(struct mcp_call *c, struct str text)
{
    const struct call *k = c->of->again;

    text = utf8_cut(text, MCP_MAX_MESSAGE);
    keep_text(c, &c->of->run.message, text);
    if (k != NULL && !str_eq(text, k->message)) /* the log only grows */
        mcp_progress(c, store_next_n(c->of->m->m->store), 0,
                     arena_printf(c->arena, "%.*s", STR_ARG(text)).p);
}

void
mcp_wait(struct mcp_call *c, int64_t ms)
{
    c->of->run.wait_ms = ms > 0 ? ms : 0;
}

int
mcp_go_on(struct mcp_call *c, struct str state)
{
    mcp_state(c, state);
    mcp_wait(c, 0);
    c->of->run.goes_on = true;
    return MCP_RUN_WAITS;
}

void
mcp_watch(struct mcp_call *c, struct str what)
{
    keep_text(c, &c->of->run.watch, what);
}

bool
mcp_defer(struct mcp_call *c)
{
    struct request *r = c->of;

    /* A call that began to wait as a plain one stays plain. */
    r->run.defers |= r->extends && !r->m->waited && mcp_can_defer(r);
    return r->run.defers;
}

bool
mcp_can_wait(struct mcp_call *c, bool deferred)
{
    const struct request *r = c->of;

    if (!c->may_wait) /* in the tests of a catalogue there is no request */
        return false;
    if (r->again != NULL)
        return true;
    return (deferred || mcp_may_wait(r)) &&
           ((is_modern(r) && !deferred) ||
            calls_have_room(r->m->m->calls, c->principal));
}

/* Later revisions have no such streams, and earlier clients do not expect a
   stream to end. */
void
mcp_poll(struct mcp_call *c, unsigned retry_ms)
{
    const struct mcp_message *m = c->of->m;

    if (m->http && c->rev == MCP_2025_11_25 && m->s->id[0] != '\0' &&
        !m->s->sse && m->repeat.began_ms == 0)
        c->of->run.poll_ms = retry_ms;
}

/* ---- notes ---- */

void
mcp_progress(struct mcp_call *c, uint64_t progress, uint64_t total,
             const char *message)
{
    struct request *r = c->of;
    struct json_w w;

    /* Progress has to increase, however soon the call is run again. */
    if (r->token.p == NULL || progress < r->run.progress)
        return;
    r->run.progress = progress + 1;
    mcp_open_message(&w, r->run.notes, NULL, STR("notifications/progress"));
    if (r->again != NULL)
        mcp_put_related(&w, r->again->id);
    json_put_raw(&w, "progressToken", r->token);
    json_put_int(&w, "progress", (int64_t)progress);
    if (total > 0)
        json_put_int(&w, "total", (int64_t)total);
    if (message != NULL && c->rev >= MCP_2025_03_26)
        json_put_z(&w, "message", message);
    mcp_close_note(&w);
}

/* Goes by the current level of the session, which may change while a call
   waits. */
bool
mcp_logs(const struct mcp_call *c, int level)
{
    const struct request *r = c->of;

    return level <= (is_modern(r) ? r->log_level : r->m->s->log_level);
}

void
mcp_log(struct mcp_call *c, int level, struct str data)
{
    const struct request *r = c->of;
    struct json_w w;

    if (!mcp_logs(c, level))
        return;
    mcp_open_message(&w, r->run.notes, NULL, STR("notifications/message"));
    json_put_z(&w, "level", mcp_level_name(level));
    json_put_z(&w, "logger", r->m->m->cat->name);
    json_put_raw(&w, "data", data);
    mcp_close_note(&w);
}
