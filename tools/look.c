/* look - whether the condition of wait_for_task is met: a predicate on a task
   as its newest record has it.

   That record says when the task last reached each status, when each question
   was answered, and when its owner was last told something (task_reached and
   the functions beside it). So it shows what came and went again, no other
   record is read, and it does not matter how often a look is run, by which
   process, or what that process missed.

   1. With a task's id, that task is looked at. Otherwise the index lists tasks,
      a page at a time; a look that takes longer than a run goes on with the
      next page, and with what it has found. A task counts for its owner now, a
      question or an answer for its agents, whoever owns the task.
   2. Of all news, the oldest counts: a caller that passes its seq as the next
      since_seq finds the others then. Pages have the newest changes first, so
      it is known only after the last page, and after those of the tasks that
      changed meanwhile, which have left their places.
   3. What other tasks or time alone can bring about (ready, work) is looked up
      in the index, as it is now. */

#include "tools/look.h"
#include "base/clock.h"
#include "task/may.h"
#include "task/query.h"
#include "task/view.h"
#include "tools/call.h"

#include <string.h>

/* What look.pass lists. */
#define NEWS 'n'   /* what has changed since */
#define STATES 's' /* tasks as they are, whenever they changed */
#define OPEN 'o'   /* those with an open question, anyone's */

static const char *const words[UNTIL_STATUS] = {
    "change", "terminal", "answered", "handoff", "ready", "work", "question",
};

/* The statuses that are waited for, a bit each; 0: something else is. */
static unsigned
statuses_of(enum look_until until, int status)
{
    if (until == UNTIL_TERMINAL)
        return TASK_ENDED_BITS;
    if (until == UNTIL_HANDOFF)
        return 1u << TASK_HANDOFF_READY;
    return until == UNTIL_STATUS && status >= 0 ? 1u << status : 0;
}

int
look_begin(struct tasks *t, struct task_ctx *x, const struct task_args *args,
           uint64_t since, struct look *w)
{
    struct str until = task_arg_text(x->a, args, ARG_UNTIL);
    bool holds = args->v[ARG_SINCE_SEQ].p == NULL;
    int i = 0;

    while (until.p != NULL && i < UNTIL_STATUS && !str_is(until, words[i]))
        i++;
    *w = (struct look){
        .t = t,
        .a = x->a,
        .id = task_arg_text(x->a, args, F_TASK_ID),
        .agent = args->v[ARG_AGENT],
        .who = x->who,
        .self = args->self,
        .repo = x->who.repo,
        .repo_path = args->v[F_REPO_PATH],
        .until = (enum look_until)i,
        .statuses = statuses_of((enum look_until)i, task_status_of(until)),
        .heard = since,
        /* Every open question is news. */
        .since = task_arg_u64(args, ARG_SINCE_SEQ,
                              i == UNTIL_QUESTION ? 0 : since),
        .pass = NEWS,
    };
    w->who.name = w->agent;
    w->from = w->since;
    if (holds && w->id.p == NULL && w->statuses != 0)
        w->pass = STATES;
    if (holds && w->id.p == NULL && i == UNTIL_ANSWERED)
        w->pass = OPEN;
    w->holds = holds || w->id.p != NULL;
    return w->id.p != NULL || w->agent.p != NULL
               ? 0 : task_fail(x, ERR_INVALID, "agent",
                               "task_id or agent is required");
}

void
look_again(struct look *w)
{
    w->since = w->from = w->top;
    w->top = w->seq = 0;
    w->pass = NEWS;
    w->cursor = w->found = w->told = STR_NONE;
}

/* ---- whose ---- */

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

/* Whether the task has something for its owner to read that came while it
   waits. */
static bool
has_message(const struct look *w, const struct task *k)
{
    struct str item = STR_NONE;

    if (task_told(k) <= w->heard || !is_own(w, k))
        return false;
    do
        item = raw_list_next(k->f[F_MESSAGES], item);
    while (item.p != NULL && raw_member(item, "seen").p != NULL);
    return item.p != NULL || k->f[F_CANCEL_REQUESTED].p != NULL;
}

/* ---- questions ---- */

/* Whether agent asked the question; if no agent is named, anyone. */
static bool
is_asked_by(const struct look *w, struct str question)
{
    return w->agent.p == NULL ||
           str_eq(raw_member(question, "by"), w->agent);
}

/* Which event asked a question, by its id; 0: it does not say. */
static uint64_t
asked_at(struct str question)
{
    struct str id = raw_inner(raw_member(question, "question_id"));
    uint64_t n;

    return id.len > 1 && *id.p == 'q' && str_u64(str_from(id, 1), &n) ? n : 0;
}

/* Whether a question waits for an answer that agent, or anybody, may give, and
   is news. */
static bool
is_asked_of(const struct look *w, struct str question)
{
    uint64_t n = asked_at(question);

    if (raw_member(question, "answer").p != NULL ||
        (w->agent.p != NULL && (is_asked_by(w, question) ||
         answer_may(&w->who, question, false) != ANSWER_YES)))
        return false;
    return n == 0 || n > w->since;
}

/* How many of agent's questions have no answer. Sets *last to when the others
   were answered last, 0: there are none. */
static size_t
count_open_questions(const struct look *w, const struct task *k, uint64_t *last)
{
    struct str item = STR_NONE;
    size_t open = 0;

    *last = 0;
    while ((item = raw_list_next(k->f[F_QUESTIONS], item)).p != NULL) {
        uint64_t n = is_asked_by(w, item) ? task_answered(k, item) : 0;

        open += is_asked_by(w, item) && n == 0;
        *last = n > *last ? n : *last;
    }
    return open;
}

/* ---- conditions: the seq of the event that met them, or 0 ---- */

static uint64_t
question_seq(const struct look *w, const struct task *k)
{
    struct str item = STR_NONE;

    if (!k->needs_input)
        return 0;
    do
        item = raw_list_next(k->f[F_QUESTIONS], item);
    while (item.p != NULL && !is_asked_of(w, item));
    if (item.p == NULL)
        return 0;
    return asked_at(item) != 0 ? asked_at(item) : k->ev.r.n;
}

/* A status that was reached, and may have been left again. */
static uint64_t
status_seq(const struct look *w, const struct task *k)
{
    uint64_t last = 0, n;

    if (w->holds && w->statuses >> k->status & 1)
        return task_reached(k, k->status);
    for (int i = 0; i < TASK_N_STATUSES; i++) {
        n = w->statuses >> i & 1 ? task_reached(k, (enum task_status)i) : 0;
        last = n > w->since && n > last ? n : last;
    }
    return last;
}

/* An answer to one of agent's questions. With a task's id it counts, too, that
   none is open; without one, that the task ended while one was: nobody can
   answer that any more. */
static uint64_t
answer_seq(const struct look *w, const struct task *k)
{
    uint64_t last, end = 0;
    size_t open = count_open_questions(w, k, &last);

    if (w->pass == OPEN)
        return open > 0 ? k->ev.r.n : 0;
    if (w->pass == STATES || last > w->since)
        return last;
    if (w->id.p != NULL && open == 0)
        return last != 0 ? last : k->ev.r.n;
    if (w->id.p == NULL && open > 0 && task_status_ended(k->status))
        end = task_reached(k, k->status);
    return end > w->since ? end : 0;
}

static uint64_t
met_seq(const struct look *w, const struct task *k)
{
    bool is = k->ready;

    switch (w->until) {
    case UNTIL_CHANGE:
        is = k->ev.r.n > w->since;
        break;
    case UNTIL_ANSWERED:
        return answer_seq(w, k);
    case UNTIL_QUESTION:
        return question_seq(w, k);
    case UNTIL_READY:
        break;
    case UNTIL_WORK:
        if (w->agent.p != NULL)
            is = k->able && may(&w->who, k, ACT_CLAIM) == MAY_YES;
        break;
    default:
        return status_seq(w, k);
    }
    return is ? k->ev.r.n : 0;
}

/* ---- many tasks ---- */

/* Whether the tasks of all agents may count. */
static bool
is_of_all(const struct look *w)
{
    return w->pass == OPEN || w->until == UNTIL_QUESTION ||
           (w->pass == NEWS && w->until == UNTIL_ANSWERED);
}

/* The tasks that may count, a page of them. */
static struct task_query
query_of(const struct look *w)
{
    bool news = w->pass == NEWS;
    bool asks = w->pass == OPEN || w->until == UNTIL_QUESTION;

    return (struct task_query){
        .has[ATOM_OWNER] = is_of_all(w) ? STR_NONE : w->agent,
        .status = news ? 0 : w->statuses,
        .since_n = news ? w->from : 0,
        .needs_input = asks ? TASK_YES : TASK_EITHER,
        .include_done = true, .limit = TASK_LIST_MAX, .uncounted = true,
        .cursor = w->cursor};
}

static int
keep_id(const struct look *w, const struct task *k, struct str *id)
{
    *id = arena_str(w->a, k->ev.id);
    return id->p != NULL ? 0 : ERR_NOMEM;
}

/* Notes the task if it meets the condition, or else has a message: invariant
   2. Who waits for questions does not see all its own tasks, nor is it woken
   by a change of them, so it is told of none. */
static int
look_at_task(struct look *w, const struct task *k)
{
    uint64_t seq = met_seq(w, k);

    if (seq == 0)
        return w->told.p == NULL && w->until != UNTIL_QUESTION &&
                       has_message(w, k)
                   ? keep_id(w, k, &w->told) : 0;
    if (w->seq != 0 && (w->pass != NEWS || w->seq < seq))
        return 0;
    w->seq = seq;
    return keep_id(w, k, &w->found);
}

/* Looks at the next page of tasks. *last: there is no other. */
static int
look_at_page(struct look *w, bool *last)
{
    struct arena own = {0};
    struct task_query q = query_of(w);
    struct task_list list;
    int rc = tasks_list(w->t, &own, &q, &list);

    if (rc == 0) {
        *last = list.next.len == 0;
        w->cursor = arena_str(w->a, list.next);
        rc = w->cursor.p != NULL ? 0 : ERR_NOMEM;
    }
    for (size_t i = 0; rc == 0 && i < list.n; i++)
        if (!list.tasks[i].garbled &&
            (is_of_all(w) || is_agents(w, &list.tasks[i])))
            rc = look_at_task(w, &list.tasks[i]);
    arena_fini(&own);
    return rc;
}

/* After the last page, begins with what is looked at next. False: nothing
   is. */
static bool
look_at_others(struct look *w)
{
    uint64_t head = store_next_n(tasks_store(w->t)) - 1;

    if (w->pass == OPEN) { /* none is open: the answered ones are next */
        w->pass = STATES;
    } else if (w->pass == NEWS && w->top < head) {
        w->from = w->top;
        w->top = head;
    } else {
        return false;
    }
    w->cursor = STR_NONE;
    return true;
}

/* Looks at all tasks that may count. 0, LOOK_UNFINISHED, or an error. */
static int
look_around(struct look *w)
{
    bool last, open;
    int rc;

    for (;;) {
        open = w->pass == OPEN;
        rc = look_at_page(w, &last);
        if (rc == 0 && w->seq != 0 && open) { /* its answer will be news */
            w->pass = NEWS;
            w->seq = 0;
            w->found = STR_NONE;
            return 0;
        }
        if (rc != 0 || (w->seq != 0 && w->pass != NEWS) ||
            (last && !look_at_others(w)))
            return rc;
        if (w->until_ms != 0 && clock_mono_ms() >= w->until_ms)
            return LOOK_UNFINISHED;
    }
}

/* A task that agent could claim: of those it owns, or of all. It also says when
   time may bring one. 0, LOOK_UNFINISHED, or an error. */
static int
find_work(struct look *w)
{
    bool own = w->until == UNTIL_READY;
    struct task_want want = {.who = w->who,
                             .owner = own ? w->agent : STR_NONE,
                             .repo_path = w->repo_path,
                             .leave = task_leave};
    struct str id;
    int rc;

    do
        rc = tasks_find_ready(w->t, &want, &id);
    while (rc == 0 && id.p == NULL && want.more && w->until_ms == 0);
    if (rc == 0 && id.p == NULL && want.more)
        return LOOK_UNFINISHED;
    w->due_ms = want.due_ms;
    if (rc == 0 && id.p != NULL)
        rc = task_get(w->t, w->a, id, &w->task);
    w->seq = w->task.ev.r.n;
    return rc;
}

/* ---- a look ---- */

static int
look_at_one(struct look *w)
{
    int rc;

    /* First: time may come while it looks. */
    if (w->until == UNTIL_READY || w->until == UNTIL_WORK)
        w->due_ms = tasks_due_ms(w->t, w->id);
    rc = task_get(w->t, w->a, w->id, &w->task);
    if (rc != 0)
        return rc;
    if (w->due_ms == 0)
        w->due_ms = w->task.clash_ms;
    w->seq = met_seq(w, &w->task);
    if (has_message(w, &w->task))
        w->told = w->id;
    return 0;
}

/* Whether the condition can no longer be met, unless somebody reopens what has
   ended. */
static bool
is_never(const struct look *w)
{
    if (w->id.p == NULL)
        return false;
    if (w->until == UNTIL_READY || w->until == UNTIL_WORK)
        return w->task.deps_failed.p != NULL ||
               task_status_ended(w->task.status);
    return w->until != UNTIL_CHANGE && task_status_ended(w->task.status);
}

/* Reads the event that met the condition, and the task as it was then if it has
   left that status since. The event may be gone with an old generation. */
static int
read_cause(struct look *w)
{
    bool left = w->statuses != 0 && !(w->statuses >> w->task.status & 1);
    struct task_event ev;
    int rc = 0;

    w->event = w->task.ev;
    if (w->seq == 0 || w->seq == w->event.r.n)
        return 0;
    rc = task_event_n(w->t, w->a, w->seq, &ev);
    if (rc == ERR_NOT_FOUND || rc == ERR_FORMAT || rc == ERR_GARBLED ||
        (rc == 0 && !str_eq(ev.id, w->task.ev.id)))
        return 0;
    if (rc == 0)
        w->event = ev;
    return rc == 0 && left ? task_of(w->t, w->a, &ev, &w->task) : rc;
}

int
look_take(struct look *w, struct task_ctx *x)
{
    int rc;

    if (w->top == 0)
        w->top = store_next_n(tasks_store(w->t)) - 1;
    w->task.ev.r.n = 0;
    w->due_ms = 0;
    if (w->id.p != NULL)
        rc = look_at_one(w);
    else if (w->until == UNTIL_READY || w->until == UNTIL_WORK)
        rc = find_work(w);
    else
        rc = look_around(w);
    if (rc == 0 && w->found.p == NULL)
        w->found = w->told;
    if (rc == 0 && w->task.ev.r.n == 0 && w->found.p != NULL)
        rc = task_get(w->t, w->a, w->found, &w->task);
    if (rc == 0 && w->task.ev.r.n != 0)
        rc = read_cause(w);
    if (rc == LOOK_UNFINISHED)
        return rc;
    if (rc != 0)
        return task_fail_read(x, w->t, w->id, rc);
    rc = w->id.p == NULL ? 0 : task_check_place(x, w->repo_path, &w->task);
    if (rc != 0)
        return rc;
    if (w->seq != 0)
        return LOOK_MET;
    if (w->id.p == NULL && w->until == UNTIL_ANSWERED && w->pass == STATES &&
        w->told.p == NULL)
        return LOOK_MET; /* no question of agent is open */
    if (is_never(w))
        return LOOK_NEVER;
    return w->told.p != NULL ? LOOK_MESSAGE : LOOK_NOT_YET;
}

struct str
look_watch(const struct look *w)
{
    bool ready = w->until == UNTIL_READY || w->until == UNTIL_WORK;
    const char *others = "";
    char buf[TASK_ALIAS_MAX];

    if (w->until == UNTIL_QUESTION && w->id.p == NULL)
        return STR(TASK_ASKED);
    if (w->until == UNTIL_WORK && w->id.p == NULL)
        return STR(TASK_FREE);
    if (w->id.p == NULL) {
        const char *more = "";

        if (w->until == UNTIL_READY)
            more = "\t" TASK_ENDED;
        else if (w->until == UNTIL_ANSWERED)
            more = "\t" TASK_ASKED;
        return arena_printf(w->a, "%.*s%s",
                            STR_ARG(task_alias_of(w->agent, buf)), more);
    }
    if (ready && (w->task.clashes.p != NULL || w->task.above.p != NULL ||
                  w->task.parts.unfinished > 0))
        others = "\t" TASK_FREE;
    else if (ready && w->task.blocked_by.p != NULL)
        others = "\t" TASK_ENDED;
    return arena_printf(w->a, "task/%.*s%s", STR_ARG(w->id), others);
}

/* The id is that of the task found; without a seq, of one with a message. */
struct str
look_state(const struct look *w)
{
    return arena_printf(w->a, "%llu %llu %llu %c %llu %.*s %.*s",
                        (unsigned long long)w->since,
                        (unsigned long long)w->from,
                        (unsigned long long)w->top, w->pass,
                        (unsigned long long)w->seq,
                        STR_ARG(w->seq != 0 ? w->found : w->told),
                        STR_ARG(w->cursor));
}

void
look_resume(struct look *w, struct str state)
{
    uint64_t since, from, top, seq;
    struct str pass, id;

    if (!str_u64(str_cut(&state, ' '), &since) ||
        !str_u64(str_cut(&state, ' '), &from) ||
        !str_u64(str_cut(&state, ' '), &top))
        return;
    pass = str_cut(&state, ' ');
    if ((!str_is(pass, "n") && !str_is(pass, "s") && !str_is(pass, "o")) ||
        !str_u64(str_cut(&state, ' '), &seq))
        return;
    id = str_cut(&state, ' ');
    if (seq != 0 && id.len == 0)
        return;
    w->since = w->from = since;
    w->pass = *pass.p;
    if (tasks_is_archived(w->t, id)) /* what was found is gone: anew */
        return;
    w->from = from;
    w->top = top;
    w->seq = seq;
    if (id.len > 0)
        *(seq != 0 ? &w->found : &w->told) = id;
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
room_in_page(const struct answer *p)
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
    if (json_cost(raw) < room_in_page(p))
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
    struct str list = STR("[]"), item = STR_NONE;
    size_t n = 0;

    while (!open &&
           (item = raw_list_next(w->task.f[F_QUESTIONS], item)).p != NULL)
        n += is_asked_by(w, item) && raw_member(item, "answer").p != NULL;
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
            if (json_cost(questions) < room_in_page(p))
                break;
            p->cut = true;
        }
        put_fitting(p, "questions", questions);
    } else {
        put_fitting(p, "by", w->event.by);
        put_fitting(p, "changed", w->event.set);
    }
    put_fitting(p, "reason", w->event.note);
    if (k->status == TASK_HANDOFF_READY)
        put_fitting(p, "handoff", k->f[F_HANDOFF]);
    if (task_status_ended(k->status))
        put_fitting(p, "result", k->f[F_RESULT]);
}

void
look_put(struct buf *out, const struct look *w, int outcome)
{
    uint64_t n = w->task.ev.r.n;
    struct answer p = {.out = out, .start = out->len};
    /* Because of another task that failed; this one has not changed. */
    bool blocked = outcome == LOOK_NEVER && !task_status_ended(w->task.status);

    /* Not the head of the log: more may have come since it looked. */
    buf_printf(out, "{\"met\":%s,\"seq\":%llu",
               outcome == LOOK_MET ? "true" : "false",
               (unsigned long long)(outcome == LOOK_MET && n != 0 ? w->seq
                                                                  : w->top));
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
                                        room_in_page(&p));
    }
    if (n != 0 && outcome >= LOOK_MET && !blocked)
        put_found(&p, w);
    buf_z(out, p.cut ? ",\"truncated\":true}" : "}");
}
