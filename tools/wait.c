/* wait - the tools that wait for others: claim_task, wait_for_task and
   request_input, as plain calls and as deferred ones.

   What wait_for_task waits for is looked for by tools/look.c, as it is for the
   command line. What a later round has to know, the deadline of a plain call,
   the question that was stored, how far a look has come, is in the call's
   state.

   1. Only a first round stores a question; each later one answers for it.
   2. A deferred call waits as long as its arguments say, from when it was
      made. If they say nothing, it ends with the event, or with its ttl.
   3. A call that waits to claim holds nothing: one that is cancelled, or whose
      caller is gone, is not run, so it takes no task. */

#include "tools/wait.h"
#include "task/claim.h"
#include "task/may.h"
#include "task/view.h"
#include "base/clock.h"
#include "base/utf8.h"
#include "tools/get.h"
#include "tools/look.h"

#include <string.h>

#define STEP_MS 5000    /* between two reports of a plain call's progress */

/* ---- what all of them use ---- */

/* Takes the number off the front of a state; 0 if there is none. */
static uint64_t
take_state_number(struct str *state)
{
    uint64_t v;

    return str_u64(str_cut(state, ' '), &v) ? v : 0;
}

/* The deadline of a plain call: the first round sets it, and a state begins
   with it. It goes by the boot clock, which nobody sets; after a reboot it
   means nothing, so it is bounded. A call that is sent again has waited since
   it was sent first. */
static int64_t
deadline(const struct mcp_call *c, int64_t timeout_s)
{
    const struct tools *s = c->ctx;
    struct str state = c->state;
    int64_t until = (int64_t)take_state_number(&state);
    int64_t last = clock_boot_ms() + timeout_s * 1000;
    int64_t now = store_now_ms(tasks_store(s->t));

    if (c->made_ms > 0 && c->made_ms < now)
        last -= now - c->made_ms;
    return until > 0 && until < last ? until : last;
}

/* A state that begins with a deadline. .p NULL: no memory. */
static struct str
state_of(const struct mcp_call *c, int64_t until, struct str more)
{
    return arena_printf(c->arena, "%lld %.*s", (long long)until, STR_ARG(more));
}

/* How long a plain call may still wait, by the deadline in its state. */
static int64_t
time_left(struct mcp_call *c, int64_t timeout_s, struct str more)
{
    int64_t until = deadline(c, timeout_s);

    mcp_state(c, state_of(c, until, more));
    return until - clock_boot_ms();
}

/* The same for a deferred call, by the time since it was made: INT64_MAX if its
   arguments do not say how long. */
static int64_t
deferred_left(const struct mcp_call *c, const struct task_args *args)
{
    const struct tools *s = c->ctx;
    int64_t now = store_now_ms(tasks_store(s->t));
    int64_t wait_s = (int64_t)task_arg_u64(args, ARG_WAIT_SECONDS, 0);

    if (!args->v[ARG_WAIT_SECONDS].p)
        return INT64_MAX;
    return (c->made_ms > 0 ? c->made_ms : now) + wait_s * 1000 - now;
}

/* Lets the call go on looking in its next run. */
static int
go_on_looking(struct mcp_call *c, int64_t timeout_s, struct str more)
{
    struct str state = state_of(c, deadline(c, timeout_s), more);

    return state.p != NULL ? mcp_go_on(c, state) : ERR_NOMEM;
}

/* Makes the call wait, no longer than left; due_ms is when time may end its
   wait, 0: never. */
static int
wait_on(struct mcp_call *c, bool deferred, int64_t left, int64_t timeout_s,
        struct str watch, int64_t due_ms)
{
    const struct tools *s = c->ctx;
    int64_t all = timeout_s * 1000;

    if (watch.p == NULL)
        return ERR_NOMEM;
    mcp_watch(c, watch);
    if (due_ms != 0) {
        due_ms -= store_now_ms(tasks_store(s->t));
        due_ms = due_ms > 0 ? due_ms : 1; /* it has come meanwhile */
    }
    if (!deferred) {
        mcp_progress(c, (uint64_t)(all > left ? all - left : 0),
                     (uint64_t)all, "waiting");
        left = left < STEP_MS ? left : STEP_MS;
    }
    if (left < INT64_MAX && (due_ms == 0 || left < due_ms))
        due_ms = left;
    if (due_ms != 0)
        mcp_wait(c, due_ms);
    return MCP_RUN_WAITS;
}

/* ---- claim_task ---- */

#define HELD_MAX 5           /* tasks named in you_hold */
#define PROMPT_MAX 2048      /* bytes of the resume prompt of each */

/* Appends to an object that ends the answer, without its brace, the tasks that
   the caller's session or name holds besides id, with what is needed to go on,
   as far as the answer has room. */
static void
put_held(struct mcp_call *c, const struct tools_change *w, size_t start)
{
    const struct tools *s = c->ctx;
    const char *before = ",\"you_hold\":[";
    struct task_event held[HELD_MAX];
    struct buf b = {0};
    int n = tasks_held(s->t, c->arena, &w->x.who, w->r.id, held, HELD_MAX);
    size_t cost = n > 0 ? json_cost(str_from(buf_view(c->out), start)) : 0;

    for (int i = 0; i < n; i++) {
        struct raw_members m = raw_members_of(held[i].v);
        struct str title = STR_NONE, lease = STR_NONE, prompt = STR_NONE;

        while (raw_next(&m) == 1)
            if (str_is(m.name, "lease"))
                lease = m.value;
            else if (str_is(m.name, "title"))
                title = m.value;
            else if (str_is(m.name, "resume_prompt"))
                prompt = m.value;
        if (!title.p)
            continue; /* a newer version wrote it */
        prompt = utf8_cut(raw_text(c->arena, prompt), PROMPT_MAX);
        buf_reset(&b, b.cap);
        buf_printf(&b, "%s{\"task_id\":\"%.*s\",\"title\":%.*s,"
                   "\"agent\":%.*s", before, STR_ARG(held[i].id),
                   STR_ARG(title), STR_ARG(raw_member(lease, "agent")));
        if (prompt.len > 0) {
            buf_z(&b, ",\"resume_prompt\":");
            json_quote(&b, prompt);
        }
        buf_char(&b, '}');
        cost += json_cost(buf_view(&b));
        if (b.err || cost > TOOLS_ANSWER_MAX - TOOLS_ENVELOPE)
            break;
        buf_str(c->out, buf_view(&b));
        before = ",";
    }
    if (*before == ',' && before[1] == '\0')
        buf_char(c->out, ']');
    buf_fini(&b);
}

/* Answers with the whole task after the event of the claim, and with the same
   when the call is repeated with its key. If memory runs out, it answers with
   the receipt. */
static int
put_claimed(struct mcp_call *c, struct tools_change *w)
{
    size_t start = c->out->len;
    int rc = tools_put_event(c, &w->x, &w->args, w->r.seq);

    if (rc != 0 || c->out->err) {
        c->out->len = start;
        c->out->err = 0;
        view_receipt_json(c->out, &w->r);
    }
    if (c->out->err == 0)
        c->out->len--; /* its brace */
    if (!w->args.v[F_TASK_ID].p)
        put_held(c, w, start);
    if (w->r.was.p) {
        buf_z(c->out, ",\"was\":");
        json_quote(c->out, w->r.was);
    }
    buf_printf(c->out, ",\"claimed\":true%s%s%.*s%s%s%.*s}",
               w->r.renewed ? ",\"renewed\":true" : "",
               w->r.agent.p ? ",\"agent\":" : "", STR_ARG(w->r.agent),
               w->args.own_name && !w->x.who.chosen
                   ? ",\"next\":\"pass it as agent from now on\"" : "",
               w->r.warnings.p ? ",\"warnings\":" : "",
               STR_ARG(w->r.warnings));
    return c->out->err;
}

/* Answers that there is no task to claim, which is no error, and why. */
static int
put_none(struct mcp_call *c, struct tools_change *w)
{
    const struct tools *s = c->ctx;
    struct task_want want = task_want_of(&w->args);
    size_t start = c->out->len;
    struct task_why why;
    int rc;

    want.who = w->x.who;
    rc = tasks_why_none(s->t, c->arena, &want, &why);
    if (rc != 0) {
        task_fail_store(&w->x, rc);
        return tools_error(c, &w->x.e);
    }
    view_none_json(c->out, &why, w->r.partial);
    c->out->len -= c->out->err == 0; /* its brace */
    put_held(c, w, start);
    buf_char(c->out, '}');
    tools_put_notes(c->out, &w->args);
    return c->out->err;
}

/* Makes a claim that found nothing wait or, if it has not read all tasks, go
   on; cuts what it has written back to start. Returns 1 if it does neither. */
static int
wait_to_claim(struct mcp_call *c, struct tools_change *w, size_t start)
{
    int64_t wait_s = (int64_t)task_arg_u64(&w->args, ARG_WAIT_SECONDS, 0);
    bool waits = wait_s > 0 || c->rev < MCP_2026_07_28, deferred;
    bool blocked = w->x.e.code == ERR_BLOCKED;
    const struct tools *s = c->ctx;
    struct str id, watch = STR(TASK_FREE);
    int64_t left = 0, due = w->r.due_ms;

    if (!c->may_wait || (!waits && !w->r.more))
        return 1;
    deferred = waits && mcp_defer(c);
    if (deferred)
        left = deferred_left(c, &w->args);
    else if (wait_s > 0)
        left = time_left(c, wait_s, STR(""));
    if (left <= 0 && !w->r.more)
        return 1;
    c->out->len = start;
    c->is_error = false;
    if (w->r.more)
        return go_on_looking(c, wait_s, STR(""));
    /* What can make the one task ready that is asked for, or else any, and when
       time alone may. */
    id = task_arg_text(c->arena, &w->args, F_TASK_ID);
    if (id.p != NULL) {
        watch = arena_printf(c->arena, "task/%.*s\t" TASK_FREE, STR_ARG(id));
        due = tasks_due_ms(s->t, id);
        if (due == 0 && blocked)
            time_parse(raw_inner(w->x.e.expires), &due);
        else if (due == 0 && w->x.e.expires.p != NULL) /* it has just come */
            due = store_now_ms(tasks_store(s->t)) + 1000;
    }
    return wait_on(c, deferred, left, wait_s, watch, due);
}

/* Invariant 3: it claims in a run of its own, and so in the batch of the event
   that made the task ready, or later; no task is reserved for a caller that
   waits. */
int
tools_claim(struct mcp_call *c)
{
    struct tools_change w = {.r = {.seq = 0}};
    size_t start = c->out->len;
    int rc = tools_change(c, TOOLS_ANSWER_MAX, &w), waits;
    bool none = rc == 1 && w.r.id.p == NULL;

    if (none || (rc == 0 && may_later(&w.x.e))) {
        waits = wait_to_claim(c, &w, start);
        if (waits != 1)
            return waits;
    }
    if (rc != 1)
        return rc;
    return none ? put_none(c, &w) : put_claimed(c, &w);
}

/* ---- request_input ---- */

static bool
is_approval(struct str kind)
{
    return str_is(kind, "\"approval\"");
}

/* A form with the question: a choice, if it has options or is an approval, or a
   text. */
static struct str
form_of(struct arena *a, struct str question, struct str kind,
        struct str options)
{
    bool choice = raw_list_n(options) > 0 || is_approval(kind);

    if (raw_list_n(options) == 0)
        options = STR("[\"approve\",\"decline\"]");
    return arena_printf(a, "{\"message\":%.*s,\"requestedSchema\":{"
                        "\"type\":\"object\",\"properties\":{\"answer\":{"
                        "\"type\":\"string\",\"title\":\"Answer\","
                        "\"%s\":%.*s}},\"required\":[\"answer\"]}}",
                        STR_ARG(question),
                        choice ? "enum" : "maxLength",
                        STR_ARG(choice ? options : STR("4096")));
}

/* The text of a scalar as a raw string; for null and anything else "". */
static struct str
scalar_of(struct arena *a, const struct json_tok *t)
{
    if (t == NULL || t->type == JSON_NULL || t->type > JSON_STRING)
        return STR("\"\"");
    return t->type == JSON_STRING
        ? json_raw(t) : arena_printf(a, "\"%.*s\"", STR_ARG(json_raw(t)));
}

/* A question that is being asked. */
struct asked {
    struct tools_change w; /* has a receipt only in the first round */
    struct str id, question;
    struct str stored; /* raw: the question as the task has it */
    struct str answer; /* raw; .p NULL: it is open */
    struct str why;    /* why the client's user gave no answer; or empty */
    int64_t wait_s;
    bool deferred;
    bool again;        /* its client is asked again */
    bool ended;        /* the task has ended: nobody can answer any more */
};

/* Reads the state of the question. */
static int
read_question(struct mcp_call *c, struct asked *q)
{
    const struct tools *s = c->ctx;
    struct task_event ev;
    int rc = task_event_last(s->t, c->arena, q->id, &ev);

    if (rc != 0)
        return rc;
    q->stored = raw_list_find(raw_member(ev.v, "questions"), "question_id",
                              q->question);
    q->answer = raw_member(q->stored, "answer");
    q->ended = task_raw_ended(raw_member(ev.v, "status"));
    return q->stored.p != NULL ? 0 : ERR_NOT_FOUND;
}

/* From now on the user of its client answers, not the agent of this name (raw).
   Without memory, user.p stays NULL. */
static void
become_user(struct task_ctx *x, struct str agent)
{
    struct str name = raw_inner(agent);

    if (!name.p || str_is(name, "unknown"))
        name = name_says_product(x->who.client) ? x->who.client : STR("agent");
    x->who.user = arena_printf(x->a, "\"user of %.*s\"", STR_ARG(name));
}

/* Writes the receipt of a first round, or the state of the question in a later
   one. */
static int
put_asked(struct mcp_call *c, const struct asked *q)
{
    struct buf *b = c->out;
    const char *what;
    bool agents;

    if (q->w.r.id.p != NULL)
        view_receipt_json(b, &q->w.r);
    else
        buf_printf(b, "{\"task_id\":\"%.*s\",\"question_id\":%.*s}",
                   STR_ARG(q->id), STR_ARG(q->question));
    b->len -= b->err == 0; /* its brace */
    if (q->answer.p != NULL) {
        buf_printf(b, ",\"answered\":true,\"answer\":%.*s}",
                   STR_ARG(q->answer));
        return b->err;
    }
    buf_z(b, ",\"answered\":false");
    if (q->why.len > 0) {
        buf_z(b, ",\"message\":");
        json_quote(b, q->why);
        buf_z(b, ",\"next\":\"call wait_for_task with until answered\"");
    }
    what = is_approval(q->w.args.v[ARG_KIND]) &&
           raw_list_n(q->w.args.v[ARG_OPTIONS]) == 0
        ? "approve|decline" : "TEXT";
    agents = !is_approval(q->w.args.v[ARG_KIND]) || q->w.args.v[ARG_TO].p;
    buf_printf(b, ",\"how_to_answer\":\"%sa person uses the page or runs: "
               "mcptask answer %.*s %.*s %s\"}",
               agents ? "another agent calls update_task with answer "
                        "{question_id, text}, or " : "",
               STR_ARG(q->id),
               (int)q->question.len - 2, q->question.p + 1, what);
    return b->err;
}

/* Takes the reply of the client's user to the question of this key, if there is
   one, as its answer. If the client cannot ask or the user declines, as hosts
   without a person at hand do with every question, there is nothing left to
   wait for, but the question stays open. One that is cancelled is left to
   others, and from 2026-07-28 on a reply that is no answer is asked for
   again. */
static int
take_reply(struct mcp_call *c, struct asked *q, const char *key,
           const struct json_tok *said)
{
    const struct tools *s = c->ctx;
    const struct json_tok *action = json_get(said, "action");
    struct str text, why = STR("");
    struct task_receipt r;
    int rc;

    if (said == NULL)
        return 0;
    if (said->type != JSON_OBJECT)
        why = STR("the client returned no answer");
    else if (json_is(action, "decline"))
        why = STR("the client's user declined to answer; the question stays "
                  "open");
    if (why.len > 0) {
        q->why = why;
        return 0;
    }
    if (json_is(action, "cancel")) {
        if (q->deferred)
            mcp_ask_again(c, key);
        return 0;
    }
    /* That a form was filled in does not say how: its text does. */
    text = scalar_of(c->arena, json_get(json_get(said, "content"), "answer"));
    if (json_is(action, "accept"))
        text = arena_printf(c->arena, "\"text\":%.*s", STR_ARG(text));
    else
        text = arena_printf(c->arena, "\"action\":%.*s,\"text\":%.*s",
                            STR_ARG(scalar_of(c->arena, action)),
                            STR_ARG(text));
    if (text.p == NULL)
        return ERR_NOMEM;
    text = arena_printf(c->arena, "{\"task_id\":\"%.*s\",\"answer\":{"
                        "\"question_id\":%.*s,%.*s}}", STR_ARG(q->id),
                        STR_ARG(q->question), STR_ARG(text));
    if (text.p == NULL || q->w.x.who.user.p == NULL)
        return ERR_NOMEM;
    rc = task_change_text(s->t, &q->w.x, TOOL_UPDATE, text, NULL, &r);
    if (rc == 0 || rc == ERR_EXISTS) /* the first answer wins */
        return read_question(c, q);
    if (rc != ERR_INVALID && rc != ERR_TOO_LARGE)
        return rc;
    q->again = c->rev >= MCP_2026_07_28;
    if (q->again)
        mcp_ask_again(c, key);
    else
        q->why = q->w.x.e.message;
    return 0;
}

/* Stores the question in a first round. Returns 1 with *q; else what
   tools_change returns. */
static int
begin_asking(struct mcp_call *c, struct asked *q)
{
    bool first;

    q->question = c->state;
    take_state_number(&q->question); /* the deadline */
    first = q->question.len == 0;
    if (first) {
        int rc = tools_change(c, TOOLS_RECEIPT_ROOM, &q->w);

        if (rc != 1)
            return rc;
        q->question = q->w.r.question_id;
    } else if (tools_args(c, &q->w.x, &q->w.args) != 0) {
        return tools_error(c, &q->w.x.e);
    }
    q->id = first ? q->w.r.id
                  : task_arg_text(c->arena, &q->w.args, F_TASK_ID);
    q->wait_s = (int64_t)task_arg_u64(&q->w.args, ARG_WAIT_SECONDS, 0);
    q->deferred = (q->wait_s > 0 || c->rev < MCP_2026_07_28) && mcp_defer(c);
    /* The question is stored, so it is no error that the call cannot wait. */
    if (first && !mcp_can_wait(c, q->deferred)) {
        q->deferred = false;
        q->wait_s = 0;
    }
    return 1;
}

int
tools_ask(struct mcp_call *c)
{
    struct asked q = {.answer = STR_NONE};
    const struct json_tok *said = NULL;
    int64_t left = 0;
    bool waits, asks = false;
    int rc = begin_asking(c, &q);

    if (rc != 1)
        return rc;
    rc = read_question(c, &q);
    if (q.w.r.id.p != NULL)
        rc = 0; /* it was staged in this run */
    waits = rc == 0 && q.answer.p == NULL && !q.ended &&
            (q.deferred || q.wait_s > 0);
    if (waits) {
        left = time_left(c, q.wait_s, q.question);
        if (q.deferred)
            left = deferred_left(c, &q.w.args);
        become_user(&q.w.x, raw_member(q.stored, "by"));
        asks = c->caps & MCP_ELICITATION &&
               answer_may(&q.w.x.who, q.stored, true) == ANSWER_YES;
        if (asks)
            said = mcp_request(c, "answer", "elicitation/create",
                               form_of(c->arena, q.w.args.v[ARG_QUESTION],
                                       q.w.args.v[ARG_KIND],
                                       q.w.args.v[ARG_OPTIONS]));
        rc = take_reply(c, &q, "answer", said);
    }
    if (rc != 0 && q.w.x.e.code == 0)
        task_fail_store(&q.w.x, rc);
    if (rc != 0)
        return tools_error(c, &q.w.x.e);
    if (!waits || q.answer.p != NULL || q.why.p != NULL ||
        (left <= 0 && (!q.again || q.deferred)))
        return put_asked(c, &q);
    left = left > 0 ? left : 0;
    rc = wait_on(c, q.deferred, left, q.wait_s,
                 arena_printf(c->arena, "task/%.*s", STR_ARG(q.id)), 0);
    if (!q.deferred && asks)
        mcp_wait(c, left); /* it has the question, and needs no progress */
    return rc;
}

/* ---- wait_for_task ---- */

/* While a deferred call waits for a task, its client is shown what the task
   shows: the note of its last checkpoint, and, if it has a user to ask, the
   open questions that the caller, or anybody, may answer, and its own as their
   user. 1: the task has an answer from there, 0, or a code that x->e
   explains. */
static int
show_awaited(struct mcp_call *c, struct task_ctx *x, const struct look *w)
{
    struct str notes = raw_member(w->task.f[F_CHECKPOINT], "notes");
    struct str item = STR_NONE, key;
    const struct json_tok *said;
    enum answer_may may;
    int rc = 0;

    if (notes.p != NULL)
        mcp_explain(c, raw_text(c->arena, notes));
    while (rc == 0 && c->caps & MCP_ELICITATION &&
           (item = raw_list_next(w->task.f[F_QUESTIONS], item)).p != NULL) {
        struct asked q = {.w.x = *x, .id = w->id,
                          .question = raw_member(item, "question_id"),
                          .deferred = true};

        may = answer_may(&w->who, item, false);
        if (may == ANSWER_WITHDRAW)
            may = answer_may(&w->who, item, true);
        /* A record may hold other JSON in place of a question. */
        if (!str_starts(q.question, "\"") ||
            !str_starts(raw_member(item, "question"), "\"") ||
            raw_member(item, "answer").p || may != ANSWER_YES)
            continue;
        become_user(&q.w.x, w->agent.p ? w->agent : w->self);
        key = arena_printf(c->arena, "%.*s", STR_ARG(raw_inner(q.question)));
        if (key.p == NULL)
            return task_fail_store(x, ERR_NOMEM);
        said = mcp_request(c, key.p, "elicitation/create",
                           form_of(c->arena, raw_member(item, "question"),
                                   raw_member(item, "kind"),
                                   raw_member(item, "options")));
        rc = take_reply(c, &q, key.p, said);
        if (rc != 0 && q.w.x.e.code == 0)
            task_fail_store(&q.w.x, rc);
        if (rc != 0)
            x->e = q.w.x.e;
        else if (q.answer.p != NULL)
            rc = 1;
    }
    return rc;
}

int
tools_wait(struct mcp_call *c)
{
    const struct tools *s = c->ctx;
    struct task_args args;
    struct task_ctx x;
    struct look w;
    struct str state = c->state;
    int64_t timeout_s, left = 0;
    bool deferred;
    int answered, rc = tools_args(c, &x, &args);

    if (rc == 0)
        rc = look_begin(s->t, &x, &args, c->since, &w);
    if (rc == 0) {
        /* It goes on where the run before left off, or after what the rounds
           before have looked at. */
        w.until_ms = c->until_ms;
        take_state_number(&state);
        if (state.len > 0) {
            look_resume(&w, state);
        } else if (c->round > 0) {
            w.top = c->since > w.since ? c->since : w.since;
            look_again(&w);
        }
        rc = look_take(&w, &x);
    }
    if (rc < 0)
        return tools_error(c, &x.e);
    timeout_s = (int64_t)task_arg_u64(&args, ARG_WAIT_SECONDS, 20);
    deferred = (rc == LOOK_NOT_YET || rc == LOOK_UNFINISHED) && mcp_defer(c);
    /* Events that came while it looked are looked at as well. */
    if (rc == LOOK_NOT_YET && w.top < store_next_n(tasks_store(s->t)) - 1) {
        look_again(&w);
        rc = LOOK_UNFINISHED;
    }
    if (rc == LOOK_UNFINISHED)
        return go_on_looking(c, timeout_s, look_state(&w));
    if (rc == LOOK_NOT_YET)
        left = deferred ? deferred_left(c, &args)
                        : time_left(c, timeout_s, STR(""));
    if (rc == LOOK_NOT_YET && deferred && w.id.p != NULL && left > 0) {
        answered = show_awaited(c, &x, &w);
        if (answered == 1)
            return go_on_looking(c, timeout_s, look_state(&w));
        if (answered != 0)
            return tools_error(c, &x.e);
    }
    if (rc == LOOK_NOT_YET && left > 0)
        return wait_on(c, deferred, left, timeout_s, look_watch(&w),
                       w.due_ms);
    look_put(c->out, &w, rc);
    tools_put_notes(c->out, &args);
    return c->out->err;
}
