/* look - whether the condition of wait_for_task is met: in a task as it is now,
   or in an event since the call began.

   The state is looked at first, so it does not matter whether the condition was
   met before the call. Nor does it matter how often a look is run, by which
   process, or what that process missed: a condition that was met and no longer
   is can still be found in the events. A look that takes longer than a run goes
   on in the next; each event above since is read once.

   1. Without a task's id the first look is at all tasks that may count, with
      the index; later looks are at those that have changed since. Conditions
      that other tasks can bring about (ready, work) are always looked up in the
      index. */

#include "tools/look.h"
#include "base/clock.h"
#include "task/query.h"
#include "task/view.h"
#include "tools/call.h"

#include <string.h>

#define LIST_END "."    /* the cursor after the last task */
/* look.past: 0: the agent's tasks that have changed since; more: so many others
   that have changed, and may have been the agent's, were looked at. */
#define STATES UINT64_MAX /* tasks as they are, whenever they changed */
#define OPEN (UINT64_MAX - 1) /* those with an open question, anyone's */

static const char *const words[UNTIL_STATUS] = {
    "change", "terminal", "answered", "handoff", "ready", "work", "question",
};

/* Whether the index knows at once: no event is looked at. */
static bool
is_of_index(const struct look *w)
{
    return w->until == UNTIL_READY || w->until == UNTIL_WORK ||
           w->until == UNTIL_QUESTION;
}

int
look_begin(struct tasks *t, struct task_ctx *x, const struct task_args *args,
           uint64_t since, struct look *w)
{
    struct str until = task_arg_text(x->a, args, ARG_UNTIL);
    bool since_seq = args->v[ARG_SINCE_SEQ].p != NULL;
    int i = 0;

    while (until.p != NULL && i < UNTIL_STATUS && !str_is(until, words[i]))
        i++;
    *w = (struct look){
        .t = t,
        .a = x->a,
        .id = task_arg_text(x->a, args, F_TASK_ID),
        .agent = args->v[ARG_AGENT],
        .self = args->self,
        .until = (enum look_until)i,
        .status = task_status_of(until),
        .heard = since,
        /* Every open question is news. */
        .since = task_arg_u64(args, ARG_SINCE_SEQ,
                              i == UNTIL_QUESTION ? 0 : since),
    };
    if (is_of_index(w) || (i != UNTIL_CHANGE && !since_seq))
        w->past = i == UNTIL_ANSWERED ? OPEN : STATES;
    return w->id.p != NULL || w->agent.p != NULL
               ? 0 : task_fail(x, ERR_INVALID, "agent",
                               "task_id or agent is required");
}

void
look_again(struct look *w)
{
    w->since = w->top;
    w->top = w->best = w->event = w->message = 0;
    w->past = is_of_index(w) ? STATES : 0;
    w->cursor = STR_NONE;
}

/* ---- questions ---- */

/* Whether agent asked the question; if no agent is named, anyone. */
static bool
is_asked_by(const struct look *w, struct str question)
{
    return w->agent.p == NULL ||
           str_eq(raw_member(question, "by"), w->agent);
}

/* Whether a question waits for an answer by agent, or by anybody, and is news.
   Its id says when it was asked. */
static bool
is_asked_of(const struct look *w, struct str question)
{
    struct str to = raw_member(question, "to");
    struct str id = raw_inner(raw_member(question, "question_id"));
    uint64_t n;

    if (raw_member(question, "answer").p != NULL ||
        (w->agent.p != NULL && is_asked_by(w, question)) ||
        (w->agent.p != NULL && to.p != NULL && !str_eq(to, w->agent)))
        return false;
    return id.len == 0 || *id.p != 'q' || !str_u64(str_from(id, 1), &n) ||
           n > w->since;
}

/* How many of agent's questions have an answer, or have none. */
static size_t
count_asked(const struct look *w, const struct task *k, bool answered)
{
    struct str item = STR_NONE;
    size_t n = 0;

    while ((item = raw_list_next(k->f[F_QUESTIONS], item)).p != NULL)
        n += is_asked_by(w, item) &&
             (raw_member(item, "answer").p != NULL) == answered;
    return n;
}

static bool
is_asked_any(const struct look *w, const struct task *k)
{
    struct str item = STR_NONE;

    while ((item = raw_list_next(k->f[F_QUESTIONS], item)).p != NULL)
        if (k->needs_input && is_asked_of(w, item))
            return true;
    return false;
}

/* ---- conditions ---- */

static bool
is_agents(const struct look *w, const struct task *task)
{
    return str_eq(task->f[F_CURRENT_OWNER], w->agent);
}

/* Whether the caller owns the task. */
static bool
is_own(const struct look *w, const struct task *task)
{
    return (w->agent.p && is_agents(w, task)) ||
           (w->self.p && str_eq(task->f[F_CURRENT_OWNER], w->self));
}

/* Notes the task's event if it has a message for the owner, or asks it to stop,
   while it waits for something else. */
static void
hear(struct look *w, const struct task *task)
{
    const struct task_event *ev = &task->ev;

    if (ev->r.n > w->heard && is_own(w, task) && str_is(ev->op, "update") &&
        !str_eq(ev->by, task->f[F_CURRENT_OWNER]) &&
        (raw_list_has(ev->set, STR("\"messages\"")) ||
         (raw_list_has(ev->set, STR("\"cancel_requested\"")) &&
          task->f[F_CANCEL_REQUESTED].p)))
        w->message = ev->r.n;
}

/* A task as event n left it. ERR_NOT_FOUND: the event was dropped;
   ERR_GARBLED: only task->ev is set. */
static int
read_event(const struct look *w, struct arena *a, uint64_t n,
           struct task *task)
{
    struct task_event ev;
    int rc = task_event_n(w->t, a, n, &ev);

    if (rc == ERR_GARBLED)
        task->ev = ev;
    return rc == 0 ? task_of(w->t, a, &ev, task) : rc;
}

/* Whether the task's event is an answer to one of agent's questions; or, if no
   task is named, ended this task while a question was open: nobody can answer
   that any more. */
static bool
is_answer(const struct look *w, const struct task *task)
{
    struct arena own = {0};
    struct task before;
    bool is;

    if (task->ev.r.n <= w->since || !str_is(task->ev.op, "update"))
        return false;
    if (w->id.p == NULL && task_status_ended(task->status) &&
        count_asked(w, task, false) > 0)
        return true;
    is = raw_list_has(task->ev.set, STR("\"questions\""));
    if (is && w->agent.p != NULL &&
        read_event(w, &own, task->ev.r.p, &before) == 0)
        is = count_asked(w, task, true) > count_asked(w, &before, true);
    arena_fini(&own);
    return is;
}

/* Whether the condition is met in the task as some event left it. */
static bool
is_met(const struct look *w, const struct task *task)
{
    switch (w->until) {
    case UNTIL_TERMINAL:
        return task_status_ended(task->status);
    case UNTIL_HANDOFF:
        return task->status == TASK_HANDOFF_READY;
    case UNTIL_WORK:
        return task->ready && (!task->kept || w->agent.p == NULL ||
                               is_agents(w, task));
    case UNTIL_READY:
        return task->ready;
    case UNTIL_QUESTION:
        return is_asked_any(w, task);
    case UNTIL_STATUS:
        return (int)task->status == w->status;
    case UNTIL_ANSWERED:
        return is_answer(w, task);
    default:
        return task->ev.r.n > w->since;
    }
}

/* The same of the task as it is now. */
static bool
is_met_now(const struct look *w, const struct task *now)
{
    return is_met(w, now) || (w->until == UNTIL_ANSWERED && w->id.p != NULL &&
                              count_asked(w, now, false) == 0);
}

/* ---- one task ---- */

static bool
is_of_others(const struct look *w)
{
    return w->past > 0 && w->past < OPEN;
}

/* Whether the tasks of all agents are looked at. */
static bool
is_of_all(const struct look *w)
{
    return is_of_others(w) || w->past == OPEN || w->until == UNTIL_QUESTION;
}

/* Whether a task counts in which the condition is, or was, met: an answer
   counts whoever owns the task. */
static bool
counts(const struct look *w, const struct task *task)
{
    return !is_of_others(w) || w->until == UNTIL_ANSWERED ||
           is_agents(w, task);
}

static void
keep_oldest(struct look *w, uint64_t n)
{
    w->best = w->best == 0 || n < w->best ? n : w->best;
}

static bool
is_over(const struct look *w)
{
    return w->until_ms != 0 && clock_mono_ms() >= w->until_ms;
}

/* Takes up a task for all of agent's questions: one that is open is waited
   for. */
static void
take_up_asked(struct look *w, const struct task *now)
{
    if (now->needs_input && count_asked(w, now, false) > 0) {
        w->past = w->best = 0;
        w->cursor = STR_NONE;
    } else if (w->best == 0 && count_asked(w, now, true) > 0) {
        w->best = now->ev.r.n;
    }
}

/* Takes up a task as it is now. */
static void
take_up(struct look *w, const struct task *now)
{
    if (is_of_others(w) && is_agents(w, now))
        return; /* it was among agent's tasks */
    hear(w, now);
    if (is_met_now(w, now) && counts(w, now))
        keep_oldest(w, now->ev.r.n);
    else if (!is_of_index(w) || (w->id.p != NULL && w->since >= w->heard))
        w->event = now->ev.r.p;
}

/* Looks at the events of the task at hand, back to where the call began. 0;
   ERR_MORE: the run is over; or an error. */
static int
look_back(struct look *w)
{
    struct arena own = {0};
    struct task then;
    int rc = 0;

    while (rc == 0 && w->event > w->since) {
        rc = read_event(w, &own, w->event, &then);
        if (rc == ERR_GARBLED) { /* it says nothing */
            w->event = then.ev.r.p;
            rc = 0;
        } else if (rc == 0) {
            hear(w, &then);
            w->event = then.ev.r.p;
            /* The index knows only the present. */
            if (!is_of_index(w) && is_met(w, &then) && counts(w, &then)) {
                keep_oldest(w, then.ev.r.n);
                w->event = 0;
            }
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

/* ---- many tasks ---- */

/* The tasks that may count, one at a time; memory in own. */
static struct task_query
query_of(const struct look *w, struct arena *own)
{
    bool states = w->past == STATES, asked = w->until == UNTIL_QUESTION;

    return (struct task_query){
        .owner = is_of_all(w) ? STR_NONE : raw_text(own, w->agent),
        .status = !states                      ? 0
                  : w->until == UNTIL_HANDOFF  ? 1u << TASK_HANDOFF_READY
                  : w->until == UNTIL_STATUS   ? 1u << w->status
                  : w->until == UNTIL_TERMINAL ? TASK_ENDED_BITS : 0,
        .since_n = w->past >= OPEN && !asked ? 0 : w->since,
        .ready = w->until == UNTIL_READY ? TASK_YES : TASK_EITHER,
        .needs_input = asked || w->past == OPEN ? TASK_YES : TASK_EITHER,
        .include_done = true, .limit = 1, .uncounted = true,
        .cursor = w->cursor};
}

/* Takes up the next of these tasks. Of tasks as they are now, one is enough; of
   news, the oldest counts. */
static int
next_task(struct look *w)
{
    struct arena own = {0};
    struct task_query q = query_of(w, &own);
    bool asked = w->past >= OPEN && w->until == UNTIL_ANSWERED, end;
    struct task_list list;
    int rc = !q.owner.p && !is_of_all(w)
                 ? ERR_NOMEM : tasks_list(w->t, &own, &q, &list);

    if (rc == 0) {
        w->past += is_of_others(w);
        end = list.next.len == 0 ||
              (is_of_others(w) && w->past > TASK_LIST_MAX);
        w->cursor = end ? STR(LIST_END) : arena_str(w->a, list.next);
        rc = w->cursor.p != NULL ? 0 : ERR_NOMEM;
    }
    if (rc == 0 && list.n > 0 && !list.tasks[0].garbled)
        (asked ? take_up_asked : take_up)(w, &list.tasks[0]);
    if (w->past == STATES && !asked && w->best != 0 &&
        (w->until != UNTIL_QUESTION || w->since == 0))
        w->cursor = STR(LIST_END);
    arena_fini(&own);
    return rc;
}

/* Looks at all tasks that may count: as they are now, then at those that have
   changed. One may have been handed on in the very batch that meets the
   condition, so the latest tasks of others are looked at as well. Returns as
   look_back does; 1: it is met, whether or not by a task. */
static int
look_around(struct look *w)
{
    int rc;

    for (;;) {
        rc = 0;
        if (w->event != 0) {
            rc = look_back(w);
        } else if (!str_is(w->cursor, LIST_END)) {
            rc = next_task(w);
        } else if (w->past == OPEN) {
            w->past = STATES;
            w->cursor = STR_NONE;
        } else if (w->past == STATES && w->until == UNTIL_ANSWERED) {
            return 1;
        } else if (w->best != 0 || is_of_index(w) || is_of_others(w)) {
            return 0;
        } else {
            w->past = w->past == STATES ? 0 : 1;
            w->cursor = STR_NONE;
        }
        if (rc != 0 || is_over(w))
            return rc != 0 ? rc : ERR_MORE;
    }
}

/* A task that agent could claim: of those it owns, or of all. */
static int
find_work(struct look *w, bool own)
{
    struct task_want want = {.by = w->agent,
                             .owner = own ? w->agent : STR_NONE};
    struct str id;
    int rc;

    do
        rc = tasks_find_ready(w->t, &want, &id);
    while (rc == 0 && id.p == NULL && want.more && w->until_ms == 0);
    if (rc == 0 && id.p == NULL && want.more)
        return ERR_MORE;
    w->due_ms = want.due_ms;
    if (rc == 0 && id.p != NULL)
        rc = task_get(w->t, w->a, id, &w->task);
    if (rc == 0)
        w->best = w->task.ev.r.n;
    return rc;
}

/* ---- a look ---- */

/* The task of an id, and its events. */
static int
look_at_one(struct look *w, bool begins)
{
    int rc;

    if (is_of_index(w)) /* first: time may come while it looks */
        w->due_ms = tasks_due_ms(w->t, w->id);
    rc = task_get(w->t, w->a, w->id, &w->task);
    if (rc == 0 && begins)
        take_up(w, &w->task);
    return rc == 0 ? look_back(w) : rc;
}

/* Whether the condition can no longer be met, unless somebody reopens what has
   ended. */
static bool
is_never(const struct look *w)
{
    if (w->until == UNTIL_READY || w->until == UNTIL_WORK)
        return w->task.deps_failed.p != NULL ||
               task_status_ended(w->task.status);
    return w->until != UNTIL_CHANGE && task_status_ended(w->task.status);
}

int
look_take(struct look *w, struct task_ctx *x)
{
    bool begins = w->top == 0;
    int rc;

    if (begins)
        w->top = store_next_n(tasks_store(w->t)) - 1;
    w->task.ev.r.n = 0;
    w->due_ms = 0;
    rc = w->id.p != NULL ? look_at_one(w, begins)
         : w->until == UNTIL_WORK ? find_work(w, false) : look_around(w);
    if (rc == 0 && w->until == UNTIL_READY && w->id.p == NULL && w->best == 0)
        rc = find_work(w, true); /* it says when time may bring one */
    if (rc >= 0 && w->best != 0 && w->best != w->task.ev.r.n)
        rc = read_event(w, w->a, w->best, &w->task);
    if (rc < 0)
        return rc == ERR_MORE ? rc : task_fail_read(x, w->t, w->id, rc);
    if (rc == 1 || w->best != 0)
        return LOOK_MET;
    if (w->task.ev.r.n != 0 && is_never(w))
        return LOOK_NEVER;
    if (w->message != 0 && w->task.ev.r.n == 0)
        rc = read_event(w, w->a, w->message, &w->task);
    return rc != 0 ? task_fail_read(x, w->t, w->id, rc)
           : w->message != 0 ? LOOK_MESSAGE : LOOK_NOT_YET;
}

struct str
look_watch(const struct look *w)
{
    char buf[TASK_ALIAS_MAX];

    if (w->until == UNTIL_QUESTION && w->id.p == NULL)
        return STR(TASK_ASKED);
    if (w->until == UNTIL_WORK && w->id.p == NULL)
        return STR(TASK_FREE);
    if (w->id.p == NULL)
        return arena_printf(w->a, "%.*s%s",
                            STR_ARG(task_alias_of(w->agent, buf)),
                            w->until == UNTIL_READY      ? "\t" TASK_ENDED
                            : w->until == UNTIL_ANSWERED ? "\t" TASK_ASKED
                                                         : "");
    return arena_printf(w->a, "task/%.*s%s", STR_ARG(w->id),
                        is_of_index(w) && w->task.blocked_by.p != NULL
                            ? "\t" TASK_ENDED : "");
}

struct str
look_state(const struct look *w)
{
    return arena_printf(w->a, "%llu %llu %llu %llu %llu %llu %.*s",
                        (unsigned long long)w->since,
                        (unsigned long long)w->top,
                        (unsigned long long)w->event,
                        (unsigned long long)w->best,
                        (unsigned long long)w->past,
                        (unsigned long long)w->message, STR_ARG(w->cursor));
}

void
look_resume(struct look *w, struct str state)
{
    uint64_t *const numbers[] = {&w->since, &w->top, &w->event, &w->best,
                                 &w->past, &w->message};

    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (!str_u64(str_cut(&state, ' '), numbers[i]))
            *numbers[i] = 0;
    w->cursor = state;
}

/* ---- what came of it ---- */

/* All but 256, for what ends an answer. */
#define ROOM (TOOLS_ANSWER_MAX - TOOLS_ENVELOPE - 256)

/* An answer that is being written. */
struct answer {
    struct buf *out;
    size_t start; /* where it begins in out */
    bool cut;     /* it is not whole */
};

static size_t
room_in(const struct answer *p)
{
    size_t used = json_cost(str_from(buf_view(p->out), p->start));

    return used < ROOM ? ROOM - used : 0;
}

/* Appends a member where it fits into the answer. */
static void
put_fitting(struct answer *p, const char *name, struct str raw)
{
    if (raw.p == NULL)
        return;
    if (json_cost(raw) < room_in(p))
        buf_printf(p->out, ",\"%s\":%.*s", name, STR_ARG(raw));
    else
        p->cut = true;
}

/* Up to max of the questions that were waited for, as the task has them: those
   that are open, or that were answered last. */
static struct str
questions_of(const struct look *w, size_t max)
{
    bool open = w->until == UNTIL_QUESTION;
    size_t n = open ? 0 : count_asked(w, &w->task, true);
    struct str list = STR("[]"), item = STR_NONE;

    while ((item = raw_list_next(w->task.f[F_QUESTIONS], item)).p != NULL &&
           list.p != NULL) {
        bool answered = raw_member(item, "answer").p != NULL;

        if (open ? is_asked_of(w, item) && n++ < max
                 : answered && is_asked_by(w, item) && n-- <= max)
            list = raw_list_edit(w->a, list, STR_NONE, item);
    }
    return list;
}

/* Appends who met the condition, and how. */
static void
put_found(struct answer *p, const struct look *w)
{
    const struct task *k = &w->task;
    struct str questions = STR_NONE;

    if (w->until == UNTIL_ANSWERED || w->until == UNTIL_QUESTION) {
        for (size_t max = TASK_MAX_OPEN; max > 0; max--) {
            questions = questions_of(w, max);
            if (json_cost(questions) < room_in(p))
                break;
            p->cut = true;
        }
        put_fitting(p, "questions", questions);
    } else {
        put_fitting(p, "by", k->ev.by);
        put_fitting(p, "changed", k->ev.set);
    }
    put_fitting(p, "reason", k->ev.note);
    if (k->status == TASK_HANDOFF_READY)
        put_fitting(p, "handoff", k->f[F_HANDOFF]);
    if (task_status_ended(k->status))
        put_fitting(p, "result", k->f[F_RESULT]);
}

void
look_put(struct buf *out, const struct look *w, int outcome)
{
    uint64_t head = store_next_n(tasks_store(w->t)) - 1;
    uint64_t n = w->task.ev.r.n;
    struct answer p = {.out = out, .start = out->len};
    /* Because of another task that failed; this one has not changed. */
    bool blocked = outcome == LOOK_NEVER && !task_status_ended(w->task.status);

    buf_printf(out, "{\"met\":%s,\"seq\":%llu",
               outcome == LOOK_MET ? "true" : "false",
               (unsigned long long)(outcome == LOOK_MET && n != 0 ? n
                                                                  : head));
    if (blocked)
        buf_z(out, ",\"never\":true,\"message\":\"a task that it depends on "
              "failed or was cancelled\"");
    else if (outcome == LOOK_NEVER)
        buf_printf(out, ",\"never\":true,\"message\":\"the task is %s\"",
                   task_status_name(w->task.status));
    if (n != 0) {
        buf_z(out, ",\"task\":");
        view_summary_json(out, &w->task);
        if (is_own(w, &w->task))
            p.cut = !view_messages_json(out, w->task.f[F_MESSAGES], 0,
                                        w->task.f[F_CANCEL_REQUESTED],
                                        room_in(&p));
    }
    if (n != 0 && outcome >= LOOK_MET && !blocked)
        put_found(&p, w);
    buf_z(out, p.cut ? ",\"truncated\":true}" : "}");
}
