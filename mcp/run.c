/* run - a run of a request: how it begins, what it may ask mcp for, and what
   becomes of it.

   A run that has to wait says for what, and returns MCP_RUN_WAITS. It is run
   again from its arguments, and mcp_request returns the answers that have come.
   This file sends nothing: messages go into the notes of a run, or its answer.

   From 2026-07-28 on a question ends the request: the client retries it with
   the answers and, signed, with the state of the call. Before, a call that asks
   becomes a deferred one, whose questions mcp/delivery.c sends, and its message
   waits until that has ended.

   1. A run begins in the state in which its message began to wait: questions
      that an earlier try of the same run asked are forgotten.
   2. A question of the handshake era is in a record before it is sent: its
      answer finds it in any process, at any time.
   3. A state opens only for the same principal, method, target and arguments.
      The call judges how long it accepts an answer. */

#include "mcp/run.h"
#include "base/sha256.h"
#include "base/utf8.h"
#include "mcp/dialect.h"
#include "mcp/methods.h"
#include "mcp/session.h"

#include <string.h>

/* MCP_MAX_WAITING and MCP_WAITING_LEN in words */
#define TOO_MANY_WAIT "too many calls are waiting (256 of a session, or 3/4 " \
                      "of the rest of 8 MiB); cancel some, or try again " \
                      "later"

/* Whether a call of r's tool by its principal can become a record. */
static bool
can_record(const struct request *r)
{
    return r->tool != NULL && !r->call.read_only &&
           mcp_is_writable(r->m->m);
}

bool
mcp_can_defer(const struct request *r)
{
    return can_record(r) && r->tool->tasks != MCP_TASK_FORBIDDEN;
}

/* ---- the state that a modern client keeps ---- */

struct state_head { /* before the state, in the sealed payload */
    uint8_t expires_ms[8]; /* never; only older versions read it */
    uint8_t round[8];
    uint8_t digest[SHA256_LEN];
};

/* Length and kind come first, so that no two lists give the same bytes. */
static void
add_state_text(struct sha256 *h, uint8_t kind, struct str s)
{
    uint8_t head[9] = {[8] = kind};

    mcp_put_be64(head, s.len);
    sha256_add(h, head, sizeof(head));
    if (s.p != NULL)
        sha256_add(h, s.p, s.len);
}

/* The digest of what the request asks for, however its JSON is written. */
static int
state_digest(const struct request *r, uint8_t out[SHA256_LEN])
{
    const struct json_tok *t = r->call.args;
    uint32_t n = t != NULL ? t->span : 0;
    struct sha256 h;

    sha256_init(&h);
    add_state_text(&h, JSON_STRING, str_of(r->method->name));
    add_state_text(&h, JSON_STRING, r->target);
    for (; n > 0; n--, t++) {
        struct str text = t->type < JSON_ARRAY ? json_raw(t)
                                               : (struct str){NULL, t->n};

        if (t->type == JSON_STRING && mcp_text(r->m->a, t, &text) != 0)
            return ERR_NOMEM;
        add_state_text(&h, t->type, text);
    }
    sha256_end(&h, out);
    return 0;
}

int
mcp_check_inputs(struct request *r)
{
    const struct json_tok *inputs = json_get(r->params, "inputResponses"),
                          *state = json_get(r->params, "requestState");
    const struct state_head *head;
    uint8_t want[SHA256_LEN];
    struct str text, opened = STR_NONE;
    int err = ERR_INVALID;

    if (!is_absent(inputs) && inputs->type != JSON_OBJECT)
        return mcp_refuse_params(r, "inputResponses must be an object");
    r->inputs = inputs;
    if (is_absent(state))
        return 0;
    text = mcp_text_of(r->m, state);
    if (text.p != NULL)
        err = sign_open(r->m->m->sign, "state", r->call.principal, text,
                        r->m->a, &opened);
    if (err == 0)
        err = state_digest(r, want);
    head = (const struct state_head *)(const void *)opened.p;
    if (err == 0 && (opened.len < sizeof(*head) ||
                     memcmp(head->digest, want, sizeof(want)) != 0))
        err = ERR_INVALID;
    if (err == ERR_NOMEM)
        return err;
    if (err != 0) /* invariant 3 */
        return mcp_refuse_params(r, "requestState belongs to another request; "
                                    "call again without it");
    r->call.round = (unsigned)mcp_get_be64(head->round);
    r->call.state = str_from(opened, sizeof(*head));
    return 0;
}

/* ---- questions ---- */

int
mcp_need(struct mcp_call *c, unsigned set)
{
    c->of->run.missing |= set & ~c->caps;
    return (set & ~c->caps) == 0 ? 0 : ERR_CAPABILITY;
}

/* Makes a new question. From 2025-11-25 on there are other modes than forms, so
   a form has to name its mode. */
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
        .params = arena_str(c->arena, params),
    };
    if (mcp_cap_of(q->method) == MCP_ELICITATION && c->rev >= MCP_2025_11_25 &&
        params.len >= 2)
        q->params = arena_printf(c->arena, "{\"mode\":\"form\"%s%.*s",
                                 params.len > 2 ? "," : "",
                                 (int)params.len - 1, params.p + 1);
    return q->key.p != NULL && q->params.p != NULL ? q : NULL;
}

const struct json_tok *
mcp_request(struct mcp_call *c, const char *key, const char *method,
            struct str params)
{
    struct request *r = c->of;
    const struct json_tok *input = json_get(r->inputs, key);
    struct mcp_question **at = &r->run.questions;
    unsigned cap = mcp_cap_of(str_of(method));
    /* Before 2026-07-28 a call has to become a record to ask. */
    bool can_ask = is_modern(r) || r->reruns != NULL ||
                   (!r->m->waited && can_record(r) &&
                    (r->run.defers || r->tool->writes));

    ASSERT(cap != 0);
    while (*at != NULL && !str_is((*at)->key, key))
        at = &(*at)->next;
    if (*at != NULL && (*at)->answer != NULL)
        return (*at)->answer;
    if (!can_ask)
        r->run.missing |= cap;
    if (!can_ask || mcp_need(c, cap) != 0)
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
copy_text(struct mcp_call *c, struct str *to, struct str text)
{
    *to = arena_str(c->arena, text);
    if (to->p == NULL)
        c->out->err = ERR_NOMEM;
}

void
mcp_state(struct mcp_call *c, struct str state)
{
    copy_text(c, &c->of->run.state, state);
}

void
mcp_explain(struct mcp_call *c, struct str text)
{
    const struct call *k = c->of->reruns;

    text = utf8_cut(text, MCP_MAX_MESSAGE);
    copy_text(c, &c->of->run.message, text);
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
    copy_text(c, &c->of->run.watch, what);
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
    if (r->reruns != NULL)
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
    if (r->reruns != NULL)
        mcp_put_related(&w, r->reruns->id);
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

/* ---- a run from its beginning to its outcome ---- */

void
mcp_cut_members(struct request *r)
{
    r->call.out->len = r->run.at;
    r->run.w.depth = r->run.depth;
    r->run.w.comma = r->run.w.key = false;
}

/* What becomes of a run that returned MCP_RUN_WAITS: this, MCP_NEEDS_INPUT, or
   an error. */
static int
outcome_of_wait(struct request *r)
{
    struct run *run = &r->run;
    bool waits = run->wait_ms >= 0 || run->watch.len > 0 || r->listen != NULL;

    run->seen = store_next_n(r->m->m->store) - 1;
    if (run->missing != 0)
        return ERR_CAPABILITY;
    if (!r->call.may_wait)
        return ERR_MAY_NOT_WAIT;
    if (!run->unanswered && !waits) {
        if (run->state.p == NULL)
            return ERR_IO; /* it waits for nothing, so for ever */
        run->wait_ms = 0;
    }
    if (run->defers || r->reruns != NULL)
        return MCP_RUN_WAITS;
    if (is_modern(r) && (run->unanswered || !waits))
        return MCP_NEEDS_INPUT;
    if (!mcp_may_wait(r))
        return mcp_fail(r, ERR_TOO_LARGE, TOO_MANY_WAIT);
    return MCP_RUN_WAITS;
}

/* Writes the refusal of a run that its client reads as a result of the tool;
   returns 0 or ERR_NOMEM, or err for any other outcome. A modern client gets an
   error for a capability that it lacks. */
static int
put_refusal(struct request *r, int err)
{
    static const struct {
        int err;
        const char *code, *text, *retryable;
    } refusals[] = {
        {ERR_UNAUTHORIZED, "unauthorized", "this token is read-only", "false"},
        {ERR_TOO_LARGE, "too_large", TOO_MANY_WAIT, "true"},
        {ERR_MAY_NOT_WAIT, "blocked",
         "this call waits, so send it outside a batch", "false"},
        {ERR_CAPABILITY, "unauthorized", "the client does not support",
         "false"},
    };
    const size_t n = sizeof(refusals) / sizeof(*refusals);
    struct buf lacks = {0};
    struct str text;
    size_t i = 0;

    while (i < n && refusals[i].err != err)
        i++;
    if (i == n || r->tool == NULL || (err == ERR_CAPABILITY && is_modern(r)))
        return err;
    for (unsigned k = 0; mcp_cap_name(k) != NULL; k++)
        if (r->run.missing & 1u << k)
            buf_printf(&lacks, " %s", mcp_cap_name(k));
    text = arena_printf(
        r->call.arena,
        "{\"code\":\"%s\",\"message\":\"%s%.*s\",\"retryable\":%s}",
        refusals[i].code, refusals[i].text, STR_ARG(buf_view(&lacks)),
        refusals[i].retryable);
    err = text.p == NULL ? ERR_NOMEM : lacks.err;
    buf_fini(&lacks);
    mcp_cut_members(r);
    r->call.is_error = true;
    mcp_put_output(&r->run.w, text, false);
    json_put_bool(&r->run.w, "isError", true);
    return err;
}

/* Writes the members of an input_required result. Returns MCP_NEEDS_INPUT,
   ERR_NOMEM, or an error of sign_seal. */
static int
put_input_required(struct request *r)
{
    struct str state = r->run.state;
    size_t len = sizeof(struct state_head) + state.len;
    struct state_head *head;
    struct buf sealed = {0};
    int err;

    mcp_cut_members(r);
    if (r->run.unanswered)
        mcp_put_inputs(&r->run.w, r->run.questions);
    if (state.p == NULL)
        return MCP_NEEDS_INPUT;
    head = arena_alloc(r->call.arena, len);
    if (head == NULL || state_digest(r, head->digest) != 0)
        return ERR_NOMEM;
    mcp_put_be64(head->expires_ms, UINT64_MAX);
    mcp_put_be64(head->round, (uint64_t)r->call.round + 1);
    if (state.len > 0)
        memcpy(head + 1, state.p, state.len);
    err = sign_seal(r->m->m->sign, "state", r->call.principal,
                    (struct str){(const char *)head, len}, &sealed);
    json_put_str(&r->run.w, "requestState", buf_view(&sealed));
    buf_fini(&sealed);
    return err != 0 ? err : MCP_NEEDS_INPUT;
}

int
mcp_run_method(struct request *r, struct buf *out)
{
    struct mcp_message *m = r->m;
    int err;

    r->run = (struct run){
        .notes = r->run.notes,
        .questions = r->reruns != NULL ? r->run.questions : NULL,
        .defers = r->task || (r->reruns != NULL && !mcp_is_plain(r->reruns)),
        .wait_ms = -1,
        .progress = r->progress,
    };
    json_w_init(&r->run.w, out);
    r->call.out = out;
    if (!m->waited)
        r->runs_as = STR_NONE;
    if (r->reruns == NULL)
        r->call.here = STR_NONE;
    if (!m->waited && r->reruns == NULL) {
        r->call.made_ms = m->repeat.began_ms;
        r->call.since = r->call.made_ms != 0 ? m->repeat.since
                                             : store_next_n(m->m->store) - 1;
    }
    r->call.is_error = r->call.content = false;
    r->call.until_ms = clock_mono_ms();
    if (m->waited || m->m->going == NULL) /* mcp/message.c, 4 */
        r->call.until_ms += MCP_SLICE_MS;
    r->call.read_max = MCP_READ_MAX / m->n;
    if (r->reruns == NULL)
        r->call.arena = &m->m->runs;
    if (r->reruns == NULL) {
        mcp_open_answer(&r->run.w, r->id);
        json_key(&r->run.w, "result");
    }
    json_obj(&r->run.w);
    r->run.at = out->len;
    r->run.depth = r->run.w.depth;
    err = r->method->run(r);
    if (err == MCP_RUN_WAITS)
        err = out->err != 0 ? out->err : outcome_of_wait(r);
    if (err == MCP_NEEDS_INPUT)
        return put_input_required(r);
    return put_refusal(r, err);
}
