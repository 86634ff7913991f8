/* wait - the tools that wait for others: wait_for_task and request_input, as
   plain calls and as deferred ones.

   A run searches the log from where the call began. So it does not matter how
   often it is run, by which process, or what it missed: a state that has passed
   is found in its event. A search that takes longer than a run continues in the
   next; each event above since is read once. The call's state holds what later
   rounds need: the deadline of a plain call, the stored question, and how far
   the search has come.

   The command line waits by the same conditions (tools_wait_look).

   1. Only a first round stores a question; each later one answers for it.
   2. A deferred call has no deadline: it ends with the event, or with its
      ttl. */

#include "tools/wait.h"
#include "task/view.h"
#include "base/clock.h"
#include "tools/get.h"

#include <string.h>

#define LIST_END "."    /* the cursor after the last task */
#define STEP_MS 5000    /* between two reports of a plain call's progress */

/* ---- claim_task ---- */

/* Answers with the whole task after the event of the claim, and with the same
   when the call is repeated with its key. If memory runs out, it answers with
   the receipt. */
int
tools_claim(struct mcp_call *c)
{
    struct tools_change w;
    size_t start = c->out->len;
    int rc = tools_change(c, TOOLS_ANSWER_MAX, &w);

    if (rc != 1)
        return rc;
    if (!w.r.id.p) {
        buf_printf(c->out, "{\"claimed\":false,\"message\":\"no task is "
                   "ready\"%s}", w.r.partial ? ",\"partial\":true" : "");
        return c->out->err;
    }
    rc = tools_put_event(c, &w.x, &w.args, w.r.seq);
    if (rc != 0 || c->out->err) {
        c->out->len = start;
        c->out->err = 0;
        view_receipt_json(c->out, &w.r);
    }
    if (c->out->err == 0)
        c->out->len--; /* its brace */
    buf_printf(c->out, ",\"claimed\":true%s,\"warnings\":%.*s}",
               w.r.renewed ? ",\"renewed\":true" : "",
               STR_ARG(w.r.warnings.p ? w.r.warnings : STR("[]")));
    return c->out->err;
}

/* ---- what both know ---- */

/* Takes the number off the front of a state; 0 if there is none. */
static uint64_t
take_number(struct str *state)
{
    uint64_t v;

    return str_u64(str_cut(state, ' '), &v) ? v : 0;
}

/* The deadline of a plain call: the first round sets it, and a state begins
   with it. It goes by the boot clock, which nobody sets; after a reboot it
   means nothing, so it is bounded. */
static int64_t
deadline(const struct mcp_call *c, int64_t timeout_s)
{
    struct str state = c->state;
    int64_t until = (int64_t)take_number(&state);
    int64_t last = clock_boot_ms() + timeout_s * 1000;

    return until > 0 && until < last ? until : last;
}

/* How long a plain call may still wait, by the deadline in its state. */
static int64_t
time_left(struct mcp_call *c, int64_t timeout_s, struct str more)
{
    int64_t until = deadline(c, timeout_s);

    mcp_state(c, arena_printf(c->arena, "%lld %.*s", (long long)until,
                              STR_ARG(more)));
    return until - clock_boot_ms();
}

/* Makes the call wait, a plain one no longer than left. */
static int
wait_on(struct mcp_call *c, bool deferred, int64_t left, int64_t timeout_s,
        struct str watch)
{
    int64_t all = timeout_s * 1000;

    mcp_watch(c, watch);
    if (deferred)
        return ERR_MORE;
    mcp_progress(c, (uint64_t)(all > left ? all - left : 0), (uint64_t)all,
                 "waiting");
    mcp_wait(c, left < STEP_MS ? left : STEP_MS);
    return ERR_MORE;
}

static struct str
task_watch(struct arena *a, struct str id)
{
    return arena_printf(a, "task/%.*s", STR_ARG(id));
}

/* ---- wait_for_task ---- */

enum until {
    UNTIL_CHANGE, UNTIL_TERMINAL, UNTIL_ANSWERED, UNTIL_HANDOFF, UNTIL_READY,
    UNTIL_STATUS
};

/* The event that a call waits for, and how far the search for it has come. It
   may take several runs: the state then holds all but the first members. */
struct wait {
    struct tasks *t;
    struct arena *a;
    int64_t until_ms;     /* when this run has to end; 0: never */
    struct str id;        /* .p NULL: any */
    struct str agent;     /* raw; .p NULL: anyone's */
    enum until until;
    int status; /* of UNTIL_STATUS */

    uint64_t since; /* events up to this do not count */
    uint64_t top;   /* the newest one when the search began; 0: it has not */
    uint64_t event; /* the next one to read of the current task; 0: none */
    uint64_t best;  /* the oldest match so far; 0: none */
    uint64_t past;  /* number of tasks searched that agent may have owned; 0:
                       tasks that it owns come first */
    struct str cursor; /* of the next task */
};

/* Reads what args, already checked, wait for. Returns 0, or a code that x->e
   explains. Without since_seq only events after since count. */
static int
read_wait(struct tasks *t, struct task_ctx *x, const struct task_args *args,
          uint64_t since, struct wait *w)
{
    static const char *const words[UNTIL_STATUS] = {
        "change", "terminal", "answered", "handoff", "ready",
    };
    struct str until = task_arg_text(x->a, args, ARG_UNTIL);
    int i = 0;

    while (until.p != NULL && i < UNTIL_STATUS && !str_is(until, words[i]))
        i++;
    *w = (struct wait){
        .t = t,
        .a = x->a,
        .id = task_arg_text(x->a, args, F_TASK_ID),
        .agent = args->v[ARG_AGENT],
        .until = (enum until)i,
        .status = task_status_of(until),
        .since = task_arg_u64(args, ARG_SINCE_SEQ, since),
    };
    return w->id.p != NULL || w->agent.p != NULL
               ? 0 : task_fail(x, ERR_INVALID, "agent",
                               "task_id or agent is required");
}

/* Whether task, after some event, is what the call waits for. */
static bool
is_met(const struct wait *w, const struct task *task)
{
    switch (w->until) {
    case UNTIL_TERMINAL:
        return task_status_ended(task->status);
    case UNTIL_HANDOFF:
        return task->status == TASK_HANDOFF_READY;
    case UNTIL_READY:
        return task->ready;
    case UNTIL_STATUS:
        return (int)task->status == w->status;
    case UNTIL_ANSWERED:
        return task->ev.r.n > w->since && str_is(task->ev.op, "update") &&
               raw_list_has(task->ev.set, STR("\"questions\""));
    default:
        return task->ev.r.n > w->since;
    }
}

static bool
is_agents(const struct wait *w, const struct task *task)
{
    return str_eq(task->f[F_CURRENT_OWNER], w->agent);
}

/* Whether it matches, and is older than every match so far. */
static bool
counts(struct wait *w, const struct task *task)
{
    uint64_t n = task->ev.r.n;

    if (!is_met(w, task) || (w->past > 0 && !is_agents(w, task)))
        return false;
    w->best = w->best == 0 || n < w->best ? n : w->best;
    return true;
}

static bool
is_over(const struct wait *w)
{
    return w->until_ms != 0 && clock_mono_ms() >= w->until_ms;
}

/* Reads a task after event n. ERR_NOT_FOUND if that is no longer kept. */
static int
read_event(const struct wait *w, struct arena *a, uint64_t n,
           struct task *task)
{
    struct task_event ev;
    int rc = task_event_n(w->t, a, n, &ev);

    return rc == 0 ? task_of(w->t, a, &ev, task) : rc;
}

/* Begins to search a task, from its current state. */
static void
take_up(struct wait *w, const struct task *now)
{
    w->event = 0;
    if (w->past > 0 && is_agents(w, now))
        return; /* it was among those that are */
    /* Whether it was ready before is not known any more. */
    if (!counts(w, now) && w->until != UNTIL_READY)
        w->event = now->ev.r.p;
}

/* Searches the events of the current task back to where the call began. Returns
   0, ERR_MORE if the run has to end, or an error. */
static int
look_back(struct wait *w)
{
    struct arena own = {0};
    struct task then;
    int rc = 0;

    while (rc == 0 && w->event > w->since) {
        rc = read_event(w, &own, w->event, &then);
        if (rc == 0) {
            w->event = counts(w, &then) ? 0 : then.ev.r.p;
            if (w->event > w->since && is_over(w))
                rc = ERR_MORE;
        }
        arena_reset(&own);
    }
    arena_fini(&own);
    if (rc != ERR_MORE)
        w->event = 0;
    return rc == ERR_NOT_FOUND ? 0 : rc;
}

/* Finds the next task that agent owns, or then of the last changed ones, which
   it may have owned. */
static int
next_task(struct wait *w)
{
    bool ready = w->until == UNTIL_READY;
    struct arena own = {0};
    struct task_query q = {.owner = w->past > 0 ? STR_NONE
                                                : raw_text(&own, w->agent),
                           .since_n = ready ? 0 : w->since,
                           .ready = ready ? TASK_YES : TASK_EITHER,
                           .include_done = true, .limit = 1,
                           .uncounted = true, .cursor = w->cursor};
    struct task_list list;
    int rc = w->past == 0 && w->agent.p && !q.owner.p
                 ? ERR_NOMEM : tasks_list(w->t, &own, &q, &list);

    if (rc == 0 && list.n > 0)
        take_up(w, &list.tasks[0]);
    if (rc == 0) {
        w->past += w->past > 0;
        w->cursor = list.next.len > 0 ? arena_str(w->a, list.next)
                                      : STR(LIST_END);
        rc = w->cursor.p != NULL ? 0 : ERR_NOMEM;
    }
    arena_fini(&own);
    return rc;
}

/* Searches all changed tasks of an agent. One may have been handed on in the
   same batch as the event, so the last changed tasks of others are searched as
   well. Returns what look_back does. */
static int
look_around(struct wait *w)
{
    int rc = 0;

    for (;;) {
        if (w->event != 0) {
            rc = look_back(w);
        } else if (!str_is(w->cursor, LIST_END) && w->past <= TASK_LIST_MAX) {
            rc = next_task(w);
        } else if (w->past > 0 || w->best != 0 || w->until == UNTIL_READY) {
            return 0;
        } else {
            w->past = 1;
            w->cursor = STR_NONE;
        }
        if (rc != 0 || is_over(w))
            return rc != 0 ? rc : ERR_MORE;
    }
}

/* Returns 1 with *task after the event; 0 with the current *task, or without an
   id with its ev.r.n 0; ERR_MORE if the run has to end; or a code that x->e
   explains. */
static int
look(struct wait *w, struct task_ctx *x, struct task *task)
{
    bool begins = w->top == 0;
    int rc;

    if (begins)
        w->top = store_next_n(tasks_store(w->t)) - 1;
    task->ev.r.n = 0;
    if (w->id.p == NULL) {
        rc = look_around(w);
    } else {
        rc = task_get(w->t, w->a, w->id, task);
        if (rc == 0 && begins)
            take_up(w, task);
        if (rc == 0)
            rc = look_back(w);
    }
    if (rc == 0 && w->best != 0) {
        rc = read_event(w, w->a, w->best, task);
        if (rc == 0)
            return 1;
    }
    return rc == 0 || rc == ERR_MORE ? rc
                                     : task_fail_read(x, w->t, w->id, rc);
}

int
tools_wait_look(struct tasks *t, struct task_ctx *x,
                const struct task_args *args, uint64_t since,
                struct task *task)
{
    struct wait w;
    int rc = read_wait(t, x, args, since, &w);

    return rc == 0 ? look(&w, x, task) : rc;
}

void
tools_put_met(struct buf *out, struct tasks *t, bool met,
              const struct task *task, struct str agent)
{
    uint64_t seq = met ? task->ev.r.n : store_next_n(tasks_store(t)) - 1;

    buf_printf(out, "{\"met\":%s,\"seq\":%llu", met ? "true" : "false",
               (unsigned long long)seq);
    if (task->ev.r.n != 0) {
        buf_z(out, ",\"task\":");
        view_summary_json(out, task);
        if (str_eq(task->f[F_CURRENT_OWNER], agent))
            view_words_json(out, task->f[F_MESSAGES], 0,
                            task->f[F_CANCEL_REQUESTED]);
    }
    buf_char(out, '}');
}

/* The names to watch: a task, or the one that blocks it, or all tasks of an
   agent. A plain call looks again anyway; a deferred one has to watch all that
   can make a task ready. */
static struct str
watch_of(const struct wait *w, const struct task *task, bool deferred)
{
    char buf[TASK_ALIAS_MAX];
    struct str watch, first;
    size_t at = 0;

    if (w->id.p != NULL) {
        first = w->until == UNTIL_READY && task->blocked_by.p != NULL
                    ? raw_text(w->a, raw_list_next(task->blocked_by, &at))
                    : STR_NONE;
        return first.p != NULL && deferred
            ? arena_printf(w->a, "task/%.*s\ttask/%.*s", STR_ARG(first),
                           STR_ARG(w->id))
            : task_watch(w->a, first.p != NULL ? first : w->id);
    }
    watch = task_alias_of(w->agent, buf);
    return arena_printf(w->a, "%.*s%s", STR_ARG(watch),
                        deferred && w->until == UNTIL_READY ? "\t" TASK_ENDED
                                                            : "");
}

/* Continues where the last run ended, or after the events that earlier rounds
   have searched. */
static void
resume(const struct mcp_call *c, struct wait *w)
{
    uint64_t *const numbers[] = {&w->since, &w->top, &w->event, &w->best,
                                 &w->past};
    struct str state = c->state;

    w->until_ms = c->until_ms;
    take_number(&state);
    if (state.len > 0) {
        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
            *numbers[i] = take_number(&state);
        w->cursor = state;
    } else if (c->round > 0 && c->since > w->since) {
        w->since = c->since;
    }
}

/* Ends the run; the next one continues the search. */
static int
go_on(struct mcp_call *c, int64_t until, const struct wait *w)
{
    struct str state = arena_printf(
        c->arena, "%lld %llu %llu %llu %llu %llu %.*s", (long long)until,
        (unsigned long long)w->since, (unsigned long long)w->top,
        (unsigned long long)w->event, (unsigned long long)w->best,
        (unsigned long long)w->past, STR_ARG(w->cursor));

    return state.p != NULL ? mcp_go_on(c, state) : ERR_NOMEM;
}

int
tools_wait(struct mcp_call *c)
{
    const struct tools *s = c->ctx;
    struct task_args args;
    struct task_ctx x;
    struct task task;
    struct wait w;
    struct str watch;
    int64_t timeout_s, left, end;
    bool deferred;
    int rc = tools_args(c, &x, &args);

    if (rc == 0)
        rc = read_wait(s->t, &x, &args, c->since, &w);
    if (rc != 0)
        return tools_error(c, &x.e);
    resume(c, &w);
    rc = look(&w, &x, &task);
    if (rc < 0 && rc != ERR_MORE)
        return tools_error(c, &x.e);
    timeout_s = (int64_t)task_arg_u64(&args, ARG_TIMEOUT_SECONDS, 20);
    deferred = rc <= 0 && mcp_defer(c);
    /* Events that came during the search are searched as well. */
    if (rc == 0 && w.top < store_next_n(tasks_store(s->t)) - 1) {
        w = (struct wait){.since = w.top};
        rc = ERR_MORE;
    }
    if (rc == ERR_MORE)
        return go_on(c, deadline(c, timeout_s), &w);
    left = rc == 0 && !deferred ? time_left(c, timeout_s, STR_NONE) : 0;
    if (rc == 0 && (deferred || left > 0)) {
        watch = watch_of(&w, &task, deferred);
        /* No record says when a lease expires. */
        if (deferred && w.until == UNTIL_READY && task.ev.r.n != 0 &&
            task.leased && task_lease_end(task.f[F_LEASE], &end))
            mcp_wait(c, end - store_now_ms(tasks_store(s->t)));
        return watch.p != NULL
                   ? wait_on(c, deferred, left, timeout_s, watch) : ERR_NOMEM;
    }
    tools_put_met(c->out, s->t, rc == 1, &task, args.v[ARG_AGENT]);
    return c->out->err;
}

/* ---- request_input ---- */

/* A form with the question and, if it has options, a choice. */
static struct str
form_of(struct arena *a, const struct task_args *args)
{
    struct str options = args->v[ARG_OPTIONS];

    return arena_printf(a, "{\"message\":%.*s,\"requestedSchema\":{"
                        "\"type\":\"object\",\"properties\":{\"answer\":{"
                        "\"type\":\"string\",\"title\":\"Answer\","
                        "\"maxLength\":4096%s%.*s}},"
                        "\"required\":[\"answer\"]}}",
                        STR_ARG(args->v[ARG_QUESTION]),
                        options.p != NULL ? ",\"enum\":" : "",
                        STR_ARG(options));
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
    struct str answer; /* raw; .p NULL: it is open */
    struct str why;    /* why the client's user gave no answer; or empty */
    int64_t wait_s;
    bool deferred;
    bool ended;        /* the task has ended: nobody can answer any more */
};

/* Reads the state of the question. */
static int
read_question(struct mcp_call *c, struct asked *q)
{
    const struct tools *s = c->ctx;
    struct task_event ev;
    struct str item;
    int rc = task_event_last(s->t, c->arena, q->id, &ev);

    if (rc != 0)
        return rc;
    item = raw_list_find(raw_member(ev.v, "questions"), "question_id",
                         q->question);
    q->answer = raw_member(item, "answer");
    q->ended = task_raw_ended(raw_member(ev.v, "status"));
    return item.p != NULL ? 0 : ERR_NOT_FOUND;
}

/* Records the reply of the client's user as the answer to the question. The
   first answer wins: finding another is not an error. */
static int
record_answer(struct mcp_call *c, struct asked *q,
              const struct json_tok *said)
{
    const struct tools *s = c->ctx;
    struct arena *a = c->arena;
    struct str text = scalar_of(a, json_get(json_get(said, "content"),
                                            "answer"));
    struct str action = scalar_of(a, json_get(said, "action"));
    struct task_receipt r;
    int rc;

    text = arena_printf(a, "{\"task_id\":\"%.*s\",\"answer\":{"
                        "\"question_id\":%.*s,\"action\":%.*s,\"text\":%.*s}}",
                        STR_ARG(q->id), STR_ARG(q->question), STR_ARG(action),
                        STR_ARG(text));
    if (text.p == NULL)
        return ERR_NOMEM;
    rc = task_change_text(s->t, &q->w.x, TOOL_UPDATE, text, NULL, &r);
    return rc == ERR_EXISTS ? 0 : rc;
}

/* Writes the receipt of a first round, or the state of the question in a later
   one. */
static int
put_asked(struct mcp_call *c, const struct asked *q)
{
    struct buf *b = c->out;

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
    }
    buf_printf(b, ",\"how_to_answer\":\"update_task with answer {question_id, "
               "text}, or: mcptask answer %.*s %.*s TEXT\"}", STR_ARG(q->id),
               (int)q->question.len - 2, q->question.p + 1);
    return b->err;
}

/* Takes the reply of the client's user, if there is one. If the client
   could not ask, there is nothing left to wait for. */
static int
hear(struct mcp_call *c, struct asked *q, const struct json_tok *said)
{
    int rc;

    if (said == NULL)
        return 0;
    if (said->type != JSON_OBJECT) {
        q->why = STR("the client gave no answer");
        return 0;
    }
    rc = record_answer(c, q, said);
    if (rc == ERR_INVALID) {
        q->why = q->w.x.e.message;
        return 0;
    }
    return rc == 0 ? read_question(c, q) : rc;
}

/* Stores the question in a first round. Returns 1 with *q; else what
   tools_change returns. */
static int
begin_asking(struct mcp_call *c, struct asked *q)
{
    bool first;

    q->question = c->state;
    take_number(&q->question); /* the deadline */
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
    bool waits;
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
        if (c->caps & MCP_ELICITATION)
            said = mcp_ask(c, "answer", "elicitation/create",
                           form_of(c->arena, &q.w.args));
        rc = hear(c, &q, said);
    }
    if (rc != 0 && q.w.x.e.code == 0)
        task_fail_store(&q.w.x, rc);
    if (rc != 0)
        return tools_error(c, &q.w.x.e);
    if (!waits || q.answer.p != NULL || q.why.p != NULL ||
        (!q.deferred && left <= 0))
        return put_asked(c, &q);
    wait_on(c, q.deferred, left, q.wait_s, task_watch(c->arena, q.id));
    if (!q.deferred && (c->caps & MCP_ELICITATION))
        mcp_wait(c, left); /* it reads the question: only the answer counts */
    return ERR_MORE;
}
