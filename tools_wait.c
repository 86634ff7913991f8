/* tools_wait - the tools that wait for others: wait_for_task and
   request_input, as plain calls and as deferred ones.

   A run looks at the log from where the call began, so it does not matter how
   often it is run, or by which process, or what it missed: an event that was
   there and is gone again is found where it stands, up to WALK_MAX events
   back. What a later round has to know, the deadline of a plain call or the
   question that was stored, stands in the call's state.

   The command line waits by the same conditions (tools_wait_look).

   1. Only a first round stores a question; each later one answers for it.
   2. A deferred call has no deadline: it ends with the event, or with its
      ttl. */

#include "task_lease.h"
#include "task_question.h"
#include "task_raw.h"
#include "tools_int.h"
#include "view.h"

#include <string.h>

#define WALK_MAX 1000   /* events of a task looked at in one run */
#define STEP_MS 5000    /* between two reports of a plain call's progress */

/* ---- what both know ---- */

/* Splits the state into the deadline of a plain call, 0 where there is none
   yet, and what stands behind it. */
static int64_t
read_state(const struct mcp_call *c, struct str *rest)
{
    const char *blank = c->state.len > 0 ? memchr(c->state.p, ' ',
                                                  c->state.len) : NULL;
    size_t n = blank != NULL ? (size_t)(blank - c->state.p) : 0;
    uint64_t ms = 0;

    *rest = STR_NONE;
    if (blank == NULL)
        return 0;
    *rest = (struct str){blank + 1, c->state.len - n - 1};
    str_u64((struct str){c->state.p, n}, &ms);
    return (int64_t)ms;
}

/* How long a plain call may still wait; the first round sets the deadline, and
   each has it in the state, before more. */
static int64_t
time_left(struct mcp_call *c, const struct tools *s, int64_t timeout_s,
          struct str more)
{
    int64_t now = store_now_ms(tasks_store(s->t)), until;
    struct str rest;

    until = read_state(c, &rest);
    if (until == 0)
        until = now + timeout_s * 1000;
    mcp_state(c, arena_printf(c->arena, "%lld %.*s", (long long)until,
                              (int)more.len, more.len > 0 ? more.p : ""));
    return until - now;
}

/* Has the call wait, a plain one no longer than left. */
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

struct wait {
    struct tasks *t;
    struct arena *a;
    struct str id, agent; /* .p NULL: any, anyone's */
    enum until until;
    int status; /* of UNTIL_STATUS */
    uint64_t since;
    bool past; /* tasks that were agent's, and may not be any more */
};

/* What args, which have been checked, wait for: 0, or a code that x->e
   explains. Without since_seq it is news behind since. */
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
        .agent = task_arg_text(x->a, args, ARG_AGENT),
        .until = (enum until)i,
        .status = task_status_of(until),
        .since = task_arg_u64(args, ARG_SINCE_SEQ, since),
    };
    return w->id.p != NULL || w->agent.p != NULL
               ? 0 : tools_refuse(x, ERR_INVALID, "agent",
                                  "task_id or agent is needed");
}

/* Whether this is what is waited for: task as some event left it. */
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
               task_list_has(task->ev.set, STR("\"questions\""));
    default:
        return task->ev.r.n > w->since;
    }
}

static bool
counts(const struct wait *w, const struct task *task)
{
    return is_met(w, task) &&
           (!w->past || str_eq(task_text(w->a, task->f[F_CURRENT_OWNER]),
                               w->agent));
}

/* Looks at a task's events from ev back to where the call began. 1: *task is
   as the event left it that is waited for; 0: it is as it is now; or an
   error. */
static int
look_back(const struct wait *w, struct task_event ev, struct task *task)
{
    struct task then;
    unsigned n = 0;
    int rc = task_of(w->t, w->a, &ev, task);

    if (rc != 0 || counts(w, task))
        return rc != 0 ? rc : 1;
    while (n++ < WALK_MAX && ev.r.p > w->since) {
        rc = task_event_prev(w->t, w->a, &ev);
        if (rc == ERR_NOT_FOUND)
            return 0; /* it went with an old generation */
        /* Whether it was ready then is not known any more. */
        if (rc == 0)
            rc = task_of(w->t, w->a, &ev, &then);
        if (rc != 0)
            return rc;
        if (w->until != UNTIL_READY && counts(w, &then)) {
            *task = then;
            return 1;
        }
    }
    return 0;
}

/* The same for whatever task that q asks for is the first to be met. */
static int
look_at(const struct wait *w, struct task_query *q, unsigned pages,
        struct task *task)
{
    struct task_page page;
    size_t i;
    int rc;

    do {
        rc = tasks_list(w->t, w->a, q, &page);
        for (i = page.n; rc == 0 && i > 0; i--) /* the oldest change first */
            rc = look_back(w, page.tasks[i - 1].ev, task);
        q->cursor = page.next;
    } while (rc == 0 && page.next.len > 0 && --pages > 0);
    return rc;
}

/* The same for an agent's. One may have been handed on in the batch of what
   is waited for: so the last ones of others are looked at as well. */
static int
look_around(const struct wait *w, struct task *task)
{
    struct task_query q = {.owner = w->agent, .since_n = w->since,
                           .include_done = true, .limit = TASK_LIST_MAX};
    struct wait past = *w;
    int rc;

    /* What makes a task ready may be no event of its own. */
    if (w->until == UNTIL_READY) {
        q.since_n = 0;
        q.ready = TASK_YES;
        return look_at(w, &q, 1, task);
    }
    rc = look_at(w, &q, WALK_MAX / TASK_LIST_MAX, task);

    past.past = true;
    q.owner = q.cursor = STR_NONE;
    return rc == 0 ? look_at(&past, &q, 1, task) : rc;
}

/* 1: *task is as it was when met; 0: it is as it is now, or without an id
   none, its ev.r.n 0; or a code that x->e explains. */
static int
look(const struct wait *w, struct task_ctx *x, struct task *task)
{
    struct task_event ev;
    int rc;

    if (w->id.p == NULL) {
        rc = look_around(w, task);
        if (rc == 0)
            task->ev.r.n = 0;
    } else if ((rc = task_event_last(w->t, w->a, w->id, &ev)) == 0) {
        rc = look_back(w, ev, task);
    }
    if (rc == ERR_NOT_FOUND && w->id.p != NULL)
        return task_fail_missing(&x->e, x->a, w->t, w->id);
    return rc < 0 ? task_fail_store(&x->e, rc) : rc;
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
              const struct task *task)
{
    uint64_t seq = met ? task->ev.r.n : store_next_n(tasks_store(t)) - 1;

    buf_printf(out, "{\"met\":%s,\"seq\":%llu", met ? "true" : "false",
               (unsigned long long)seq);
    if (task->ev.r.n != 0) {
        buf_z(out, ",\"task\":");
        view_summary_json(out, task);
    }
    buf_char(out, '}');
}

/* What is to be watched: a task, or what it is blocked by where that stands
   between, or all that is an agent's. A plain call looks again anyway; a
   deferred one has to hear also of what makes a task ready beside that. */
static struct str
watch_of(const struct wait *w, const struct task *task, bool deferred)
{
    char buf[TASK_ALIAS_MAX];
    struct buf quoted = {0};
    struct str watch, first;
    size_t at = 0;

    if (w->id.p != NULL) {
        first = w->until == UNTIL_READY && task->blocked_by.p != NULL
                    ? task_text(w->a, task_list_next(task->blocked_by, &at))
                    : STR_NONE;
        return first.p != NULL && deferred
            ? arena_printf(w->a, "task/%.*s\ttask/%.*s", STR_ARG(first),
                           STR_ARG(w->id))
            : task_watch(w->a, first.p != NULL ? first : w->id);
    }
    json_quote(&quoted, w->agent);
    watch = quoted.err == 0 ? task_alias_of(buf_view(&quoted), buf)
                            : STR_NONE;
    watch = arena_printf(w->a, "%.*s%s", STR_ARG(watch),
                         deferred && w->until == UNTIL_READY ? "\t" TASK_ENDED
                                                             : "");
    buf_fini(&quoted);
    return watch;
}

/* Leaves out what the rounds before have looked at: a plain call's state says
   it, a deferred one's since, where since_seq is further back. */
static void
look_on(struct mcp_call *c, struct wait *w)
{
    uint64_t seen = c->round > 0 && w->id.p != NULL ? c->since : 0;
    struct str known;

    read_state(c, &known);
    str_u64(known, &seen);
    if (seen > w->since)
        w->since = seen;
}

int
tools_wait(struct mcp_call *c)
{
    const struct tools *s = c->ctx;
    struct task_args args;
    struct task_ctx x;
    struct task task;
    struct wait w;
    struct str watch, known;
    uint64_t seen;
    int64_t timeout_s, left, end;
    bool deferred;
    int rc = tools_args(c, &x, TOOL_WAIT, &args);

    if (rc == 0)
        rc = read_wait(s->t, &x, &args, c->since, &w);
    if (rc == 0)
        look_on(c, &w);
    seen = store_next_n(tasks_store(s->t)) - 1;
    if (rc == 0)
        rc = look(&w, &x, &task);
    if (rc < 0)
        return tools_error(c, &x.e);
    /* What this run has looked at the next one need not; of an agent's tasks
       it may not have seen all. */
    known = w.id.p != NULL
                ? arena_printf(c->arena, "%llu", (unsigned long long)seen)
                : STR_NONE;
    timeout_s = (int64_t)task_arg_u64(&args, ARG_TIMEOUT_SECONDS, 20);
    deferred = rc == 0 && mcp_defer(c);
    left = rc == 0 && !deferred ? time_left(c, s, timeout_s, known) : 0;
    if (rc == 0 && (deferred || left > 0)) {
        watch = watch_of(&w, &task, deferred);
        /* No record says that a lease is over. */
        if (deferred && w.until == UNTIL_READY && task.ev.r.n != 0 &&
            task.leased && task_lease_end(task.f[F_LEASE], &end))
            mcp_wait(c, end - store_now_ms(tasks_store(s->t)));
        return watch.p != NULL
                   ? wait_on(c, deferred, left, timeout_s, watch) : ERR_NOMEM;
    }
    tools_put_met(c->out, s->t, rc == 1, &task);
    return c->out->err;
}

/* ---- request_input ---- */

/* A form with the question and, where there are options, a choice. */
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
                        (int)options.len, options.p != NULL ? options.p : "");
}

/* Records what the caller's own user said, as the answer to the question.
   The first answer wins: that there is one already is no error. */
static int
record_answer(struct mcp_call *c, struct task_ctx *x, struct str id,
              struct str question, const struct json_tok *said)
{
    const struct tools *s = c->ctx;
    const struct json_tok *text = json_get(json_get(said, "content"),
                                           "answer");
    struct str action = json_str(c->arena, json_get(said, "action"));
    struct task_receipt r;
    struct buf b = {0};
    int rc;

    buf_printf(&b, "{\"task_id\":\"%.*s\",\"answer\":{\"question_id\":%.*s,"
               "\"action\":", STR_ARG(id), STR_ARG(question));
    json_quote(&b, action.p != NULL ? action : STR("cancel"));
    buf_z(&b, ",\"text\":");
    if (text != NULL && text->type <= JSON_STRING &&
        text->type != JSON_STRING) {
        json_quote(&b, json_raw(text));
    } else {
        buf_str(&b, text != NULL && text->type == JSON_STRING
                        ? json_raw(text) : STR("\"\""));
    }
    buf_z(&b, "}}");
    rc = b.err != 0 ? b.err
                    : task_change_text(s->t, x, TOOL_UPDATE,
                                       arena_str(c->arena, buf_view(&b)), &r);
    buf_fini(&b);
    return rc == ERR_EXISTS ? 0 : rc;
}

/* Whether the task has ended: then nobody can answer any more. */
static bool
has_ended(const struct tools *s, struct arena *a, struct str id)
{
    struct task_event ev;

    return task_event_last(s->t, a, id, &ev) == 0 &&
           task_raw_ended(task_member(ev.v, "status"));
}

/* As the receipt of a first round, or how the question stands in a later
   one. answer is raw; .p NULL: it is open. */
static void
put_asked(struct mcp_call *c, const struct task_receipt *r, struct str id,
          struct str question, struct str answer)
{
    struct buf *b = c->out;

    if (r->id.p != NULL)
        view_receipt_json(b, r);
    else
        buf_printf(b, "{\"task_id\":\"%.*s\",\"question_id\":%.*s}",
                   STR_ARG(id), STR_ARG(question));
    b->len -= b->err == 0; /* its brace */
    if (answer.p != NULL)
        buf_printf(b, ",\"answered\":true,\"answer\":%.*s}",
                   STR_ARG(answer));
    else
        buf_printf(b, ",\"answered\":false,\"how_to_answer\":\"update_task "
                   "with answer {question_id, text}, or: mcptask answer %.*s "
                   "%.*s TEXT\"}", STR_ARG(id), (int)question.len - 2,
                   question.p + 1);
}

int
tools_ask(struct mcp_call *c)
{
    const struct tools *s = c->ctx;
    struct tools_change w = {0};
    const struct json_tok *said = NULL;
    struct str id, question, answer = STR_NONE;
    int64_t wait_s, left = 0;
    bool deferred, ended;
    int rc;

    read_state(c, &question);
    if (question.len == 0) {
        rc = tools_change(c, TOOL_ASK, TOOLS_RECEIPT_ROOM, &w);
        if (rc != 1)
            return rc;
        question = w.r.question_id;
    } else if ((rc = tools_args(c, &w.x, TOOL_ASK, &w.args)) != 0) {
        return tools_error(c, &w.x.e);
    }
    id = w.r.id.p != NULL ? w.r.id
                          : task_arg_text(c->arena, &w.args, F_TASK_ID);
    wait_s = (int64_t)task_arg_u64(&w.args, ARG_WAIT_SECONDS, 0);
    deferred = (wait_s > 0 || c->rev < MCP_2026_07_28) && mcp_defer(c);
    /* The question stands: that it cannot be waited for is no error. */
    if (w.r.id.p != NULL && !mcp_can_wait(c, deferred)) {
        deferred = false;
        wait_s = 0;
    }
    rc = task_question_answer(s->t, c->arena, id, question, &answer);
    if (w.r.id.p != NULL)
        rc = 0; /* it is staged: what is not known does not matter */
    ended = answer.p == NULL && has_ended(s, c->arena, id);
    if (rc == 0 && answer.p == NULL && !ended && (deferred || wait_s > 0)) {
        left = time_left(c, s, wait_s, question);
        if (c->caps & MCP_ELICITATION)
            said = mcp_ask(c, "answer", "elicitation/create",
                           form_of(c->arena, &w.args));
        if (said != NULL && said->type == JSON_OBJECT)
            rc = record_answer(c, &w.x, id, question, said);
        if (rc == 0 && said != NULL)
            rc = task_question_answer(s->t, c->arena, id, question, &answer);
    }
    if (rc != 0 && w.x.e.code == 0)
        task_fail_store(&w.x.e, rc);
    if (rc != 0)
        return tools_error(c, &w.x.e);
    if (answer.p == NULL && !ended && (deferred || left > 0))
        return wait_on(c, deferred, left, wait_s, task_watch(c->arena, id));
    put_asked(c, &w.r, id, question, answer);
    return c->out->err;
}
