/* actions - what each tool that changes a task does to it.

   1. A checkpoint of work that goes on is saved even if the task is blocked or
      another agent owns it, so that finished work is not lost. A warning says
      what is unusual. */

#include "task/actions.h"
#include "base/clock.h"
#include "base/utf8.h"
#include "task/cause.h"
#include "task/index.h"
#include "task/may.h"
#include "task/project.h"

#include <string.h>

#define MINTED 10 /* random letters and digits of an id */
/* Limits on a question's size in an answer, before and after it is answered:
   it must fit into one. See invariant 1 of task/fields.c. */
#define ASKED_COST ((size_t)22 * 1024)
#define ANSWERED_COST ((size_t)42 * 1024)

/* ---- create_task, import ---- */

static int
mint(struct draft *d)
{
    static const char set[] = "0123456789abcdefghijklmnopqrstuvwxyz";
    uint8_t random[MINTED];
    char text[MINTED + 3] = "t-";
    int rc;

    do {
        rc = random_bytes(random, sizeof random);
        if (rc != 0)
            return task_fail_store(d->c, rc);
        for (size_t i = 0; i < MINTED; i++)
            text[i + 2] = set[random[i] % 36];
    } while (tasks_find(d->t, str_of(text)));
    d->k.f[F_TASK_ID] = draft_quoted(d, text);
    d->id = raw_inner(d->k.f[F_TASK_ID]);
    return 0;
}

/* The task exists already. If it has every field that was given, this is a
   repeated request; fields that were not given do not count. */
static int
create_again(struct draft *d)
{
    int i, rc;

    rc = task_get(d->t, d->c->a, d->id, &d->old);
    if (rc != 0)
        return task_fail_store(d->c, rc);
    for (i = 0; i < TASK_N_FIELDS; i++)
        if (draft_given(d, i) && !str_eq(draft_value(d, i), d->old.f[i])) {
            rc = task_fail(d->c, ERR_EXISTS, task_arg_name(i).p, "a task with "
                           "this id exists, with another %s",
                           task_arg_name(i).p);
            d->c->e.version = d->old.version;
            return rc;
        }
    draft_warn(d, "the task already exists; nothing was changed");
    return DRAFT_UNCHANGED;
}

/* Whether the task's record is not JSON; if whole, also none before it is. */
static bool
is_garbled(struct draft *d, bool whole)
{
    struct task_event ev;

    return task_event_last(d->t, d->c->a, d->id, &ev) == ERR_GARBLED &&
           (!whole || task_event_whole(d->t, d->c->a, &ev) == ERR_GARBLED);
}

/* The caller, an agent, works on the task: it takes or renews a lease. */
static void
take_lease(struct draft *d)
{
    struct str lease = d->old.f[F_LEASE];
    struct str seconds = d->args->v[ARG_LEASE_SECONDS];
    bool mine = actor_is(&d->c->who, d->old.f[F_CURRENT_OWNER]);

    if (!seconds.p && mine)
        seconds = raw_member(lease, "seconds");
    d->k.f[F_LEASE] = draft_keep(d, task_lease_make(d->c->a, d->by, seconds,
        mine ? task_seat(lease) : STR(""), 0));
    d->hold = HOLD_OWN;
}

/* The same where a change begins or goes on with the task, unless it is another
   agent's. A person at a page or a terminal is not seen to stop. */
static void
work_on(struct draft *d)
{
    if (actor_is_named(&d->c->who) && !d->c->who.person &&
        d->hold < HOLD_TWIN && actor_is(&d->c->who, d->k.f[F_CURRENT_OWNER]))
        take_lease(d);
}

/* Fills in the defaults of a new task. */
static void
set_defaults(struct draft *d)
{
    const struct {
        int field;
        struct str value;
    } defaults[] = {
        {F_STATUS, STR("\"open\"")}, {F_PRIORITY, STR(TASK_PRIORITY)},
        {F_VERSION, STR("1")}, {F_CREATED_AT, d->now}, {F_CREATED_BY, d->by},
    };
    struct str *f = d->k.f;

    for (size_t i = 0; i < sizeof defaults / sizeof *defaults; i++)
        if (!f[defaults[i].field].p)
            f[defaults[i].field] = defaults[i].value;
    d->k.status = (enum task_status)task_status_of(raw_inner(f[F_STATUS]));
}

/* A task becomes in_progress. A caller that gave its name becomes the owner of
   a task that has none, or that was handed over or given up, as with a
   checkpoint. A caller without a name does not: it may still hand the task over
   under one. */
static int
begin_work(struct draft *d, const char *field)
{
    struct str *owner = &d->k.f[F_CURRENT_OWNER];
    bool named = actor_is_named(&d->c->who);
    int rc = rules_check_begin(d, field);

    if (rc == 0 && named && (!owner->p || (d->exists &&
        d->old.status != TASK_OPEN && !draft_given(d, F_CURRENT_OWNER))))
        *owner = d->by;
    if (rc == 0)
        work_on(d);
    return rc;
}

static int
run_create(struct draft *d)
{
    int rc = 0;

    if (!draft_given(d, F_TITLE))
        return task_fail(d->c, ERR_INVALID, "title", "title is missing");
    if (d->id.p && tasks_is_archived(d->t, d->id)) {
        task_fail(d->c, ERR_EXISTS, "task_id", "an archived task has this "
                  "id");
        return task_next(d->c, "use another task_id");
    }
    if (d->id.p && tasks_find(d->t, d->id) && !is_garbled(d, true))
        return create_again(d);
    draft_take_fields(d);
    if (!d->id.p)
        rc = mint(d);
    set_defaults(d);
    if (!draft_given(d, F_REPO_PATH))
        d->k.f[F_REPO_PATH] = project_first(d->c->who.repo);
    if (rc == 0)
        rc = rules_set_status(d, d->k.status);
    if (rc == 0)
        rc = rules_check_links(d);
    return rc == 0 && d->k.status == TASK_IN_PROGRESS
        ? begin_work(d, "depends_on") : rc;
}

static int
run_import(struct draft *d)
{
    if (tasks_find(d->t, d->id) && !tasks_is_archived(d->t, d->id) &&
        !is_garbled(d, false))
        return task_fail(d->c, ERR_EXISTS, "task_id",
                         "the task already exists");
    draft_take_fields(d);
    d->k.extra = d->args->extra;
    set_defaults(d);
    return rules_check_links(d);
}

/* ---- save_checkpoint, handoff_task, mark_exhausted ---- */

/* Where the caller works, raw; .p NULL: unknown. */
static struct str
worktree(struct draft *d)
{
    const struct project *at = d->c->at;

    return at && at->tree[0]
               ? draft_keep(d, raw_quote(d->c->a, project_text(d->c->a,
                                                             at->tree)))
               : STR_NONE;
}

/* Notes in the task who made this checkpoint, when, where, and in which
   event. */
static void
set_checkpoint(struct draft *d)
{
    static const char *const names[] = {"seq", "agent", "at", "worktree",
                                        "notes"};
    const struct str raw[] = {draft_number(d, store_next_n(d->t->store)),
                              d->by, d->now, worktree(d),
                              d->args->v[ARG_NOTES]};

    d->k.f[F_CHECKPOINT] = draft_object(d, names, raw, 5);
}

static int
run_checkpoint(struct draft *d)
{
    bool starts = d->old.status != TASK_IN_PROGRESS;
    int rc = rules_set_status(d, TASK_IN_PROGRESS);

    if (rc != 0)
        return rc;
    rules_warn_owner(d);
    if ((starts || !d->old.f[F_CURRENT_OWNER].p) &&
        actor_is_named(&d->c->who))
        d->k.f[F_CURRENT_OWNER] = d->by;
    draft_take_fields(d);
    if (starts && d->k.blocked)
        draft_warn(d, "tasks that it depends on are not done");
    set_checkpoint(d);
    work_on(d);
    return 0;
}

/* When a task that is handed over now becomes open to anyone, raw. */
static struct str
handoff_end(struct draft *d)
{
    uint64_t seconds = task_arg_u64(d->args, ARG_EXPIRES_SECONDS, 0);
    int64_t at = store_now_ms(d->t->store);
    int64_t from = task_from_ms(draft_given(d, F_NOT_BEFORE)
                                    ? draft_value(d, F_NOT_BEFORE)
                                    : d->old.f[F_NOT_BEFORE]);

    at = from > at ? from : at;
    return draft_quoted(d, time_text(seconds ? at + (int64_t)seconds * 1000
                                     : task_handoff_end(STR_NONE, at)));
}

/* handoff_task and mark_exhausted: the caller stops working on the task. */
static int
run_leave(struct draft *d)
{
    static const char *const names[] = {"from_agent", "agent", "to_agent",
                                        "reason", "at", "expires_at",
                                        "worktree"};
    bool handoff = d->tool == TOOL_HANDOFF, saves = draft_has_fields(d);
    struct str to = d->args->v[ARG_TO_AGENT], unseen = STR_NONE;
    const struct str raw[] = {handoff ? d->by : STR_NONE,
                              handoff ? STR_NONE : d->by, to,
                              d->args->v[ARG_REASON], d->now,
                              to.p ? handoff_end(d) : STR_NONE,
                              saves ? STR_NONE : worktree(d)};
    int rc = rules_set_status(d, handoff ? TASK_HANDOFF_READY : TASK_EXHAUSTED);
    if (rc != 0)
        return rc;
    if (saves)
        set_checkpoint(d);
    d->k.f[handoff ? F_HANDOFF : F_EXHAUSTED] = draft_object(d, names, raw,
                                                             7);
    rules_warn_owner(d);
    if (to.p)
        unseen = draft_keep(d, tasks_unseen(d->t, d->c->a, &d->c->who, to));
    if (unseen.len > 0) /* a slip, or the name of one that comes */
        draft_warn(d, unseen.p);
    draft_take_fields(d);
    d->k.f[F_CURRENT_OWNER] = to;
    return 0;
}

/* ---- claim_task ---- */

/* Notes that the task was taken from its owner, who is told so if it comes
   back. */
static void
set_takeover(struct draft *d)
{
    static const char *const names[] = {"from_agent", "agent", "reason", "at"};
    struct str reason = d->args->v[ARG_REASON];
    struct str left = raw_member(d->old.f[F_LEASE], "left");
    struct str raw[] = {d->old.f[F_CURRENT_OWNER], d->by, reason, d->now};

    if (!reason.p)
        raw[2] = d->old.gone || left.p ? STR("\"the agent had exited\"")
                                       : STR("\"the lease had expired\"");
    d->k.f[F_TAKEOVER] = draft_object(d, names, raw, 4);
}

/* An agent that holds the task already only renews its lease. */
static int
run_claim(struct draft *d)
{
    struct str owner = d->old.f[F_CURRENT_OWNER];
    bool begun = d->old.status == TASK_IN_PROGRESS;
    bool mine = actor_is(&d->c->who, owner);
    bool twin = d->hold == HOLD_TWIN; /* by takeover */
    int rc = task_check_place(d->c, d->args->v[F_REPO_PATH], &d->old);

    if (rc == 0)
        rc = rules_set_status(d, TASK_IN_PROGRESS);
    if (rc != 0)
        return rc;
    d->renews = mine && begun && !twin;
    if (owner.p && (mine ? twin : begun || (d->act == ACT_TAKE_OVER &&
                                            d->old.kept)))
        set_takeover(d);
    if (!mine)
        d->was = task_was(d->c->a, &d->old, store_now_ms(d->t->store));
    if (!d->renews)
        d->k.f[F_ATTEMPTS] =
            draft_number(d, raw_u64(d->old.f[F_ATTEMPTS]) + 1);
    d->k.f[F_CURRENT_OWNER] = d->by;
    take_lease(d);
    return 0;
}

/* ---- questions ---- */

/* Puts a question into the list, like draft_edit. It must fit into an answer of
   get_task. */
static int
put_question(struct draft *d, struct str old, struct str question,
             const char *field, size_t max)
{
    draft_edit(d, F_QUESTIONS, old, question);
    return json_cost(question) <= max ? 0
        : task_fail(d->c, ERR_TOO_LARGE, field, "%s is too long when encoded "
                    "as JSON", field);
}

/* Counts the open questions and finds the oldest open and the oldest answered
   one. */
static size_t
count_open(const struct draft *d, struct str *open, struct str *answered)
{
    struct str item = STR_NONE, *first;
    size_t n = 0;

    *open = *answered = STR_NONE;
    while ((item = raw_list_next(d->old.f[F_QUESTIONS], item)).p) {
        first = raw_member(item, "answer").p ? answered : open;
        n += first == open;
        if (!first->p)
            *first = item;
    }
    return n;
}

static int
run_ask(struct draft *d)
{
    static const char *const names[] = {"question_id", "question", "options",
                                        "kind", "to", "by", "at", "session",
                                        "client", "own"};
    const struct task_actor *who = &d->c->who;
    const struct str *v = d->args->v;
    struct str open, old, raw[] = {
        STR_NONE, v[ARG_QUESTION],
        raw_list_n(v[ARG_OPTIONS]) > 0 ? v[ARG_OPTIONS] : STR_NONE,
        v[ARG_KIND].p ? v[ARG_KIND] : STR("\"question\""), v[ARG_TO], d->by,
        d->now,
        who->session.len ? raw_quote(d->c->a, who->session) : STR_NONE,
        who->client.len ? raw_quote(d->c->a, who->client) : STR_NONE,
        v[ARG_TO].p && str_eq(raw_inner(v[ARG_TO]), who->login)
            ? STR("true") : STR_NONE}; /* it is for the client's own user */

    if (count_open(d, &open, &old) >= TASK_MAX_OPEN) {
        task_fail(d->c, ERR_TOO_LARGE, "question", "%d questions are open, "
                  "which is the limit", TASK_MAX_OPEN);
        d->c->e.for_now = true;
        return task_next(d->c, "ask again after one of them is answered");
    }
    rules_warn_owner(d);
    if (raw_list_n(d->k.f[F_QUESTIONS]) >= TASK_MAX_QUESTIONS)
        draft_edit(d, F_QUESTIONS, old, STR(""));
    raw[0] = d->question_id = draft_new_id(d, F_QUESTIONS, names[0], 'q',
                                           store_next_n(d->t->store));
    return put_question(d, STR_NONE, draft_object(d, names, raw, 10),
                        "question", ASKED_COST);
}

/* The action that an answer without one has by its text (raw): an approval is
   given or declined, and a comment decides nothing. .p NULL: it is neither. */
static struct str
action_of(struct str asked, struct str text)
{
    if (!str_is(raw_member(asked, "kind"), "\"approval\"") ||
        raw_list_n(raw_member(asked, "options")) > 0 ||
        str_is(text, "\"approve\""))
        return STR("\"accept\"");
    return str_is(text, "\"decline\"") ? STR("\"decline\"") : STR_NONE;
}

/* The first answer counts. One that accepts has a text: one of the options, if
   the question has some. The answer is stored as it was given, without its
   last member, the question's id. */
static int
take_answer(struct draft *d)
{
    static const char last[] = ",\"question_id\":";
    struct str answer = d->args->v[ARG_ANSWER], asked, old, options;
    struct str id = raw_member(answer, "question_id");
    struct str action = raw_member(answer, "action");
    struct str text = raw_member(answer, "text"), implied = STR_NONE;
    bool accepts = !action.p || str_is(action, "\"accept\"");
    size_t n = count_open(d, &asked, &old);
    enum answer_may may = ANSWER_YES;

    if (n != 1 || id.p)
        asked = raw_list_find(d->old.f[F_QUESTIONS], "question_id", id);
    answer.len -= id.p ? id.len + sizeof last : 1;
    if (accepts && text.len <= strlen("\"\""))
        return task_fail(d->c, ERR_INVALID, "answer", "the answer has no text");
    if (!asked.p && !id.p && n > 0) {
        task_fail(d->c, ERR_INVALID, "answer", "%zu questions are open, so the "
                  "answer needs a question_id", n);
        return task_next(d->c, "call get_task to see the question_id of each");
    }
    if (!asked.p)
        return task_fail(d->c, ERR_NOT_FOUND, "answer", id.p
                         ? "the task has no such question"
                         : "the task has no open question");
    if (raw_member(asked, "answer").p)
        return task_fail(d->c, ERR_EXISTS, "answer", "the question has already "
                            "been answered");
    if (!action.p) {
        implied = action_of(asked, text);
        if (!implied.p)
            return task_fail(d->c, ERR_INVALID, "answer", "the answer to an "
                             "approval must be approve or decline; to comment, "
                             "also pass action accept or decline");
    }
    if (!d->c->who.user.p) /* who was asked, so that was judged */
        may = answer_may(&d->c->who, asked, false);
    if (may == ANSWER_WITHDRAW &&
        !str_is(action.p ? action : implied, "\"accept\""))
        may = ANSWER_YES;
    if (may != ANSWER_YES)
        return answer_refuse(d->c, may);
    options = raw_member(asked, "options");
    if (accepts && raw_list_n(options) > 0 && !raw_list_has(options, text))
        return task_fail(d->c, ERR_INVALID, "answer", "the answer must be one "
                         "of %.*s", STR_ARG(utf8_cut(options, 220)));
    return put_question(d, asked, draft_keep(d, arena_printf(d->c->a,
        "%.*s%s\"answer\":%.*s%s%.*s,\"by\":%.*s,\"at\":%.*s}}",
        (int)asked.len - 1, asked.p, asked.len > 2 ? "," : "", STR_ARG(answer),
        implied.p ? ",\"action\":" : "", STR_ARG(implied), STR_ARG(d->by),
        STR_ARG(d->now))), "answer", ANSWERED_COST);
}

/* ---- messages ---- */

/* Counts the unread messages from the caller, and finds the oldest message. */
static size_t
count_unread(const struct draft *d, struct str *first)
{
    struct str item = STR_NONE;
    size_t n = 0;

    *first = STR_NONE;
    while ((item = raw_list_next(d->k.f[F_MESSAGES], item)).p) {
        if (!first->p)
            *first = item;
        n += !raw_member(item, "seen").p &&
             actor_is(&d->c->who, raw_member(item, "from"));
    }
    return n;
}

static int
take_message(struct draft *d)
{
    static const char *const names[] = {"from", "at", "text"};
    const struct str raw[] = {d->by, d->now, d->args->v[ARG_MESSAGE]};
    struct str first;

    if (count_unread(d, &first) >= TASK_MAX_UNREAD) {
        task_fail(d->c, ERR_TOO_LARGE, "message", "the owner has not read your "
                  "last %d messages, which is the limit", TASK_MAX_UNREAD);
        d->c->e.for_now = true;
        return task_next(d->c, "try again after the owner has changed the "
                         "task, which is when it reads messages");
    }
    if (raw_list_n(d->k.f[F_MESSAGES]) >= TASK_MAX_MESSAGES)
        draft_edit(d, F_MESSAGES, first, STR(""));
    draft_edit(d, F_MESSAGES, STR_NONE, draft_object(d, names, raw, 3));
    return 0;
}

/* Somebody asks the owner to stop work; null takes that back. */
static void
take_stop(struct draft *d)
{
    static const char *const names[] = {"by", "reason", "at"};
    struct str stop = draft_value(d, F_CANCEL_REQUESTED);
    struct str by = raw_member(stop, "by");
    const struct str raw[] = {!actor_is_named(&d->c->who) && by.p ? by : d->by,
                              raw_member(stop, "reason"), d->now};

    d->k.f[F_CANCEL_REQUESTED] = stop.p ? draft_object(d, names, raw, 3)
                                        : STR_NONE;
}

/* ---- update_task ---- */

/* Warns of what looks wrong about a task that is done. */
static void
warn_of_done(struct draft *d)
{
    if (raw_list_n(d->k.f[F_REMAINING_STEPS]) != 0)
        draft_warn(d, "done, but remaining_steps is not empty");
    if (d->k.blocked)
        draft_warn(d, "done, but tasks that it depends on are not");
    if (task_open_question(d->k.f[F_QUESTIONS]).p)
        draft_warn(d, "done, but questions are still open");
    if (tasks_parts(d->t, d->id).unfinished > 0)
        draft_warn(d, "done, but child tasks have not ended");
}

/* Checks what a new status requires apart from the transition. */
static int
check_update_status(struct draft *d)
{
    enum task_status to = d->k.status;

    if (to == d->old.status) {
        if (to == TASK_IN_PROGRESS && draft_given(d, F_STATUS))
            work_on(d);
        return 0;
    }
    if (to == TASK_IN_PROGRESS)
        return begin_work(d, "status");
    if (to != TASK_DONE)
        return 0;
    if (raw_list_n(d->k.f[F_TEST_RESULTS]) == 0) {
        if (d->c->require_evidence)
            return task_fail(d->c, ERR_EVIDENCE, "test_results", "done needs "
                                "test_results");
        draft_warn(d, "done without test_results");
    }
    warn_of_done(d);
    return rules_check_evidence(d);
}

static int
update_fields(struct draft *d)
{
    int rc = 0;

    if (!draft_given(d, F_CURRENT_OWNER))
        rules_warn_owner(d);
    if (draft_given(d, F_STATUS))
        rc = rules_set_status(d, (enum task_status)
                              task_status_of(raw_inner(d->args->v[F_STATUS])));
    if (rc == 0)
        rc = rules_check_links(d);
    if (rc != 0)
        return rc;
    draft_take_fields(d);
    if (task_status_ended(d->old.status))
        d->k.f[F_CANCEL_REQUESTED] = STR_NONE;
    /* An open task's owner is whom it is meant for. */
    if (d->k.status == TASK_OPEN && d->old.status != TASK_OPEN &&
        !draft_given(d, F_CURRENT_OWNER))
        d->k.f[F_CURRENT_OWNER] = STR_NONE;
    return check_update_status(d);
}

/* A hook reports that the holder's session ended, or is gone. A command of
   mcptask run goes on. */
static int
run_left(struct draft *d)
{
    struct str lease = d->old.f[F_LEASE];

    if (!d->old.leased || raw_member(lease, "left").p ||
        task_lease_is_run(lease) ||
        !(d->old.gone || actor_is(&d->c->who, raw_member(lease, "agent"))))
        return DRAFT_UNCHANGED;
    rules_leave(d, d->args->v[ARG_LEFT]);
    return 0;
}

static int
run_update(struct draft *d)
{
    bool fields = draft_has_fields(d), answers = draft_given(d, ARG_ANSWER);
    bool says = draft_given(d, ARG_MESSAGE);
    int rc = 0;

    if (!fields && !answers && !says && !draft_given(d, F_CANCEL_REQUESTED) &&
        !draft_given(d, ARG_LEFT))
        return task_fail(d->c, ERR_INVALID, NULL,
                         "pass at least one field to change");
    d->only_says = !fields && !answers;
    if (draft_given(d, ARG_LEFT))
        return run_left(d);
    if (answers)
        rc = take_answer(d);
    if (rc == 0 && says)
        rc = take_message(d);
    if (rc == 0 && fields)
        rc = update_fields(d);
    if (rc == 0 && draft_given(d, F_CANCEL_REQUESTED))
        take_stop(d);
    return rc;
}

/* ---- attach_artifact ---- */

/* The id of an artifact that differs from this one only in time and agent. */
static struct str
find_artifact(struct str list, const char *const names[],
              const struct str raw[], size_t n)
{
    struct str entry = STR_NONE;
    size_t i;

    while ((entry = raw_list_next(list, entry)).p) {
        for (i = 1; i < n; i++)
            if (!str_eq(raw_member(entry, names[i]), raw[i]))
                break;
        if (i == n)
            return raw_member(entry, "artifact_id");
    }
    return STR_NONE;
}

static int
run_attach(struct draft *d)
{
    static const char *const names[] = {"artifact_id", "name", "type",
        "size", "sha256", "path", "description", "agent", "at"};
    const struct str *v = d->args->v;
    const struct task_blob *blob = d->blob;
    struct str list = d->k.f[F_ARTIFACTS], *id = &d->artifact_id;
    struct str raw[] = {STR_NONE, v[ARG_NAME],
        v[ARG_TYPE].p ? v[ARG_TYPE] : STR("\"file\""), STR_NONE, STR_NONE,
        v[ARG_PATH], v[ARG_DESCRIPTION], d->by, d->now};
    size_t n = raw_list_n(list);

    if (blob->stored) {
        raw[3] = draft_number(d, blob->size);
        raw[4] = draft_quoted(d, blob->sha256);
    }
    if (blob->warning)
        draft_warn(d, blob->warning);
    rules_warn_owner(d);
    *id = find_artifact(list, names, raw, 7);
    if (id->p) {
        draft_warn(d, "already attached; nothing was changed");
        return DRAFT_UNCHANGED;
    }
    if (n >= TASK_MAX_ARTIFACTS) {
        task_fail(d->c, ERR_TOO_LARGE, "artifacts", "the task has %d "
                  "artifacts, which is the limit", TASK_MAX_ARTIFACTS);
        return task_next(d->c, "attach it to another task");
    }
    raw[0] = *id = draft_new_id(d, F_ARTIFACTS, names[0], 'a', n + 1);
    draft_edit(d, F_ARTIFACTS, STR_NONE,
               draft_object(d, names, raw, sizeof raw / sizeof *raw));
    return 0;
}

const struct task_action task_actions[] = {
    [TOOL_CREATE] = {"create", run_create},
    [TOOL_CHECKPOINT] = {"checkpoint", run_checkpoint},
    [TOOL_HANDOFF] = {"handoff", run_leave},
    [TOOL_EXHAUST] = {"exhaust", run_leave},
    [TOOL_ATTACH] = {"attach", run_attach},
    [TOOL_UPDATE] = {"update", run_update},
    [TOOL_CLAIM] = {"claim", run_claim},
    [TOOL_ASK] = {"ask", run_ask},
    [TOOL_IMPORT] = {"import", run_import},
};
