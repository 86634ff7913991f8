/* change - every change of a task: one record that says what happened and
   holds the whole task as it is then. Each tool has an action, which makes the
   new state out of the arguments and the old one.

   1. A change is at most one record, staged under the lock after everything
      has been checked.
   2. A handler may be run again from its arguments.
   3. The body of the record is op, by, set, note, idem, warn, seqs, v, in this
      order.
      The members of v are in the order of enum task_field, unknown ones last,
      so that the index finds what it needs near the front.
   4. A checkpoint of work that goes on is saved even if the task is blocked or
      another agent owns it, so that finished work is not lost. A warning says
      what is unusual. */

#include "task/change.h"
#include "base/clock.h"
#include "base/sha256.h"
#include "base/utf8.h"
#include "task/cause.h"
#include "task/claim.h"
#include "task/index.h"
#include "task/project.h"
#include "task/rules.h"

#include <string.h>

#define STATE_MAX (256 * 1024) /* bytes of v */
/* More for a claim, or nobody could claim a full task; and for its import. */
#define CLAIM_ROOM (20 * 1024)
#define BODY_KEEP ((size_t)16 * 1024)
#define MINTED 10 /* random letters and digits of an id */
/* Limits on a question's size in an answer, before and after it is answered:
   it must fit into one. See invariant 1 of task/fields.c. */
#define ASKED_COST ((size_t)22 * 1024)
#define ANSWERED_COST ((size_t)42 * 1024)
/* Room for messages in a receipt: at least that of the longest one. */
#define DELIVERED_COST ((size_t)24 * 1024)

/* ---- parts of the new state ----

   If memory runs out, the draft remembers it, as in draft_keep. */

/* A number as raw JSON. */
static struct str
raw_number(struct draft *d, uint64_t v)
{
    return draft_keep(d, arena_printf(d->c->a, "%llu", (unsigned long long)v));
}

/* An object of n members, without those whose .p is NULL. */
static struct str
raw_object(struct draft *d, const char *const names[], const struct str raw[],
           size_t n)
{
    struct buf b = {0};

    for (size_t i = 0; i < n; i++)
        if (raw[i].p)
            buf_printf(&b, "%s\"%s\":%.*s", b.len ? "," : "{", names[i],
                       STR_ARG(raw[i]));
    buf_char(&b, '}');
    return draft_keep(d, buf_take(&b, d->c->a));
}

/* Edits the list of a field: see raw_list_edit. */
static void
edit_list(struct draft *d, int field, struct str old, struct str item)
{
    struct str *list = &d->k.f[field];

    *list = draft_keep(d, raw_list_edit(d->c->a, *list, old, item));
}

/* The first id of letter and a number, from n on, that no object in the list of
   a field has under this name. Imported lists may have any ids. */
static struct str
new_item_id(struct draft *d, int field, const char *name, char letter,
            uint64_t n)
{
    struct str id;

    do
        id = draft_keep(d, arena_printf(d->c->a, "\"%c%llu\"", letter,
                                        (unsigned long long)n++));
    while (raw_list_find(d->k.f[field], name, id).p);
    return id;
}

/* Copies the given fields into the new state, finds what blocks the task then
   and whether it may be begun by now, and notes at which commit the tests
   ran. */
static void
set_given_fields(struct draft *d)
{
    struct task *k = &d->k;

    for (int i = 0; i < TASK_N_FIELDS; i++)
        if (draft_given(d, i))
            k->f[i] = draft_value(d, i);
    if (draft_given(d, F_DEPENDS_ON)) {
        k->blocked_by = k->deps_failed = STR_NONE;
        d->nomem |= task_find_blockers(d->t, d->c->a, k) != 0;
        k->blocked = k->blocked_by.p != NULL;
    }
    if (draft_given(d, F_NOT_BEFORE))
        k->early = task_from_ms(k->f[F_NOT_BEFORE]) > store_now_ms(d->t->store);
    if (draft_given(d, F_PATHS) || draft_given(d, F_REPO_PATH) ||
        draft_given(d, F_PARENT_ID))
        d->nomem |= task_find_clashes(d->t, d->c->a, k) != 0;
    if (draft_given(d, F_TEST_RESULTS) && d->tool != TOOL_IMPORT)
        k->f[F_TESTED_COMMIT] = k->f[F_COMMIT];
}

/* ---- receipts ---- */

/* Fills in what a receipt says of the task as a change by an agent left it. */
static void
put_task_receipt(const struct draft *d, const struct task *k, struct str by,
                 struct task_receipt *out)
{
    struct str owner = k->f[F_CURRENT_OWNER];
    bool owns = actor_is(&d->c->who, owner) && d->hold != HOLD_TWIN;

    out->version = raw_u64(k->f[F_VERSION]);
    out->status = k->status;
    out->owner = str_eq(owner, by) ? STR_NONE : owner;
    out->lease = k->f[F_LEASE];
    out->messages = k->f[F_MESSAGES];
    out->stop = str_eq(by, owner) ? k->f[F_CANCEL_REQUESTED] : STR_NONE;
    out->taken = owns ? STR_NONE : actor_loss(d->c->a, &d->c->who,
                                              k->f[F_TAKEOVER]);
}

/* The receipt that was given for an event. */
static int
receipt_of(struct draft *d, const struct task_event *ev,
           struct task_receipt *out)
{
    struct str list = STR_NONE, last = STR_NONE, next = STR_NONE;
    struct task k;
    int rc = task_of(d->t, d->c->a, ev, &k);

    if (rc != 0)
        return task_fail_store(d->c, rc);
    if (str_is(ev->op, "attach"))
        list = k.f[F_ARTIFACTS];
    else if (str_is(ev->op, "ask"))
        list = k.f[F_QUESTIONS];
    while ((next = raw_list_next(list, next)).p)
        last = next;
    *out = (struct task_receipt){
        .id = ev->id,
        .op = ev->op,
        .seq = ev->r.n,
        .warnings = ev->warn,
        .token = ev->token.p != NULL,
        .artifact_id = raw_member(last, "artifact_id"),
        .question_id = raw_member(last, "question_id"),
        .renewed = str_is(ev->op, "claim") &&
                   !raw_list_has(ev->set, STR("\"status\"")) &&
                   !raw_list_has(ev->set, STR("\"current_owner\"")) &&
                   !raw_list_has(ev->set, STR("\"takeover\"")),
    };
    put_task_receipt(d, &k, ev->by, out);
    return 0;
}

static bool
same_member(struct str a, struct str b, const char *name)
{
    return str_eq(raw_member(a, name), raw_member(b, name));
}

/* Looks for the same request made before by this caller, with a key that is
   still valid. 1: *out is its receipt; 0: there is none; or an error. */
static int
find_replay(struct draft *d, struct task_receipt *out)
{
    uint64_t n = UINT64_MAX, hash, who;
    struct task_event ev;
    int64_t at;
    int rc;

    if (!d->idem.p)
        return 0;
    hash = task_key_hash(d->t, str_of(d->op), d->by, d->idem, &who);
    while (keys_find(&d->t->keys, who, hash, &n)) {
        rc = task_event_n(d->t, d->c->a, n, &ev);
        if (rc == ERR_NOT_FOUND || rc == ERR_FORMAT || rc == ERR_GARBLED ||
            (rc == 0 && !(str_is(ev.op, d->op) && str_eq(ev.by, d->by) &&
                          ev.idem.p && same_member(ev.idem, d->idem, "key") &&
                          same_member(ev.idem, d->idem, "who") &&
                          time_parse(ev.r.time, &at) &&
                          store_now_ms(d->t->store) - at < TASK_KEY_AGE_MS)))
            continue;
        if (rc == 0 && !same_member(ev.idem, d->idem, "args"))
            rc = ERR_IDEMPOTENCY;
        if (rc != 0)
            return task_fail_store(d->c, rc);
        rc = receipt_of(d, &ev, out);
        return rc == 0 ? 1 : rc;
    }
    return 0;
}

/* ---- leases ---- */

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

/* A task becomes in_progress: refused if it is blocked as the change leaves it;
   field names the argument at fault. A caller that gave its name becomes the
   owner of a task that has none, or that was handed over or given up, as with a
   checkpoint. A caller without a name does not: it may still hand the task over
   under one. */
static int
begin_work(struct draft *d, const char *field)
{
    struct str *owner = &d->k.f[F_CURRENT_OWNER];
    int rc = may_refuse(d->c, &d->k, may(&d->c->who, &d->k, ACT_BEGIN));

    if (rc != 0) {
        d->c->e.field = str_of(field);
        return rc;
    }
    if (actor_is_named(&d->c->who) && (!owner->p || (d->exists &&
        d->old.status != TASK_OPEN && !draft_given(d, F_CURRENT_OWNER))))
        *owner = d->by;
    work_on(d);
    return 0;
}

/* Notes that the holder, who has a lease, is gone; reason is raw. Earlier
   versions see a lease that ends sooner. */
static void
leave_lease(struct draft *d, struct str reason)
{
    d->op = "leave";
    d->note = reason;
    d->only_says = true;
    d->hold = HOLD_NONE;   /* it renews nothing, */
    d->c->unread = true;   /* and nobody reads the messages */
    d->k.f[F_LEASE] = draft_keep(d, task_lease_leave(d->c->a,
        d->old.f[F_LEASE], reason, store_now_ms(d->t->store)));
}

/* Keeps the lease only if it is the owner's and the task is in progress, and
   renews it with every write of its holder. An imported lease that is longer
   than a day is dropped. */
static void
renew_own_lease(struct draft *d)
{
    const struct task_actor *who = &d->c->who;
    struct str *lease = &d->k.f[F_LEASE];
    struct str agent = raw_member(*lease, "agent"), seat = STR(""), was;
    bool runs = str_is(who->client, TASK_RUN_CLIENT), gone = d->old.gone;
    int64_t now = store_now_ms(d->t->store), end;

    if (!lease->p)
        return;
    if (d->k.status != TASK_IN_PROGRESS || str_is(agent, "\"unknown\"") ||
        !str_eq(agent, d->k.f[F_CURRENT_OWNER]) ||
        (task_lease_end(*lease, &end) && end - now > TASK_LEASE_MAX_MS)) {
        *lease = STR_NONE;
        return;
    }
    if (d->hold != HOLD_OWN)
        return;
    /* It is taken in the caller's session or, if that is unknown or a command
       of mcptask run has it, stays where it was, unless that is seen to be
       gone. */
    was = raw_inner(raw_member(*lease, "session"));
    if (who->session.len > 0 && (runs || gone || !task_lease_is_run(*lease)))
        seat = draft_keep(d, task_seat_make(d->c->a, who->session, who->client,
            who->first, !runs && was.len > 0 &&
            (raw_member(*lease, "many").p || !actor_is_session(who, was))));
    else if (!gone && !runs)
        seat = task_seat(*lease);
    *lease = draft_keep(d, task_lease_make(d->c->a, agent,
        raw_member(*lease, "seconds"), seat, now));
}

/* Marks the messages as seen that the owner gets with the answer to this
   change, as many as fit into it. */
static void
deliver_messages(struct draft *d)
{
    const struct task_actor *who = &d->c->who;
    struct str *list = &d->k.f[F_MESSAGES], item = STR_NONE;
    struct buf b = {0};
    size_t room = DELIVERED_COST, cost;
    bool seen;

    if (!list->p || !actor_is_named(who) || d->hold == HOLD_TWIN ||
        d->c->unread || (!actor_is(who, d->k.f[F_CURRENT_OWNER]) &&
                         !actor_is(who, d->old.f[F_CURRENT_OWNER])))
        return;
    while ((item = raw_list_next(*list, item)).p) {
        seen = raw_member(item, "seen").p;
        cost = seen ? 0 : json_cost(item);
        room = cost <= room ? room - cost : 0; /* in order */
        buf_char(&b, b.len ? ',' : '[');
        if (seen || room == 0) {
            buf_str(&b, item);
            continue;
        }
        buf_put(&b, item.p, item.len - 1);
        buf_printf(&b, "%s\"seen\":%llu}", item.len > 2 ? "," : "",
                   (unsigned long long)store_next_n(d->t->store));
    }
    buf_char(&b, ']');
    *list = draft_keep(d, buf_take(&b, d->c->a));
}

/* ---- the end ---- */

/* A task that becomes done needs evidence, if that is asked for, and warns of
   what looks wrong. */
static int
end_work(struct draft *d)
{
    if (raw_list_n(d->k.f[F_TEST_RESULTS]) == 0) {
        if (d->c->require_evidence)
            return task_fail(d->c, ERR_EVIDENCE, "test_results", "done needs "
                                "test_results");
        draft_warn(d, "done without test_results");
    }
    if (raw_list_n(d->k.f[F_REMAINING_STEPS]) != 0)
        draft_warn(d, "done, but remaining_steps is not empty");
    if (d->k.blocked)
        draft_warn(d, "done, but tasks that it depends on are not");
    if (task_open_question(d->k.f[F_QUESTIONS]).p)
        draft_warn(d, "done, but questions are still open");
    if (tasks_parts(d->t, d->id).unfinished > 0)
        draft_warn(d, "done, but child tasks have not ended");
    return rules_check_evidence(d);
}

/* ---- create_task, import ---- */

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

static int
run_create(struct draft *d)
{
    static const char set[] = "0123456789abcdefghijklmnopqrstuvwxyz";
    uint8_t random[MINTED];
    char text[MINTED + 3] = "t-";
    int rc;

    if (!draft_given(d, F_TITLE))
        return task_fail(d->c, ERR_INVALID, "title", "title is missing");
    if (d->id.p && tasks_is_archived(d->t, d->id)) {
        task_fail(d->c, ERR_EXISTS, "task_id", "an archived task has this "
                  "id");
        return task_next(d->c, "use another task_id");
    }
    if (d->id.p && tasks_find(d->t, d->id) && !is_garbled(d, true))
        return create_again(d);
    set_given_fields(d);
    if (!d->id.p) {
        do {
            rc = random_bytes(random, sizeof random);
            if (rc != 0)
                return task_fail_store(d->c, rc);
            for (size_t i = 0; i < MINTED; i++)
                text[i + 2] = set[random[i] % 36];
        } while (tasks_find(d->t, str_of(text)));
        d->k.f[F_TASK_ID] = draft_quoted(d, text);
        d->id = raw_inner(d->k.f[F_TASK_ID]);
    }
    set_defaults(d);
    if (!draft_given(d, F_REPO_PATH))
        d->k.f[F_REPO_PATH] = project_first(d->c->who.repo);
    rc = rules_set_status(d, d->k.status);
    if (rc == 0)
        rc = rules_check_links(d);
    if (rc == 0 && d->k.status == TASK_DONE)
        rc = end_work(d);
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
    set_given_fields(d);
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
    const struct str raw[] = {raw_number(d, store_next_n(d->t->store)),
                              d->by, d->now, worktree(d),
                              d->args->v[ARG_NOTES]};

    d->k.f[F_CHECKPOINT] = raw_object(d, names, raw, 5);
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
    set_given_fields(d);
    if (starts && d->k.blocked)
        draft_warn(d, "tasks that it depends on are not done");
    set_checkpoint(d);
    work_on(d);
    return 0;
}

/* Notes from whom the task is taken, which is told so if it comes back. */
static void
set_takeover(struct draft *d, struct str reason)
{
    static const char *const names[] = {"from_agent", "agent", "reason", "at"};
    const struct str raw[] = {d->old.f[F_CURRENT_OWNER], d->by, reason, d->now};

    d->k.f[F_TAKEOVER] = raw_object(d, names, raw, 4);
}

/* handoff_task and mark_exhausted: the caller stops working on the task, or a
   person takes it from the agent that does. */
static int
run_leave(struct draft *d)
{
    static const char *const names[] = {"from_agent", "agent", "to_agent",
                                        "reason", "at", "expires_at",
                                        "worktree"};
    bool handoff = d->tool == TOOL_HANDOFF, saves = draft_has_fields(d);
    struct str to = d->args->v[ARG_TO_AGENT], end = STR_NONE, unseen;
    uint64_t seconds = task_arg_u64(d->args, ARG_EXPIRES_SECONDS, 0);
    int64_t at = store_now_ms(d->t->store), from;
    int rc = rules_set_status(d, handoff ? TASK_HANDOFF_READY : TASK_EXHAUSTED);

    if (rc != 0)
        return rc;
    if (to.p) { /* until it becomes open to anyone */
        from = task_from_ms(draft_given(d, F_NOT_BEFORE)
                                ? draft_value(d, F_NOT_BEFORE)
                                : d->old.f[F_NOT_BEFORE]);
        at = from > at ? from : at;
        at = seconds ? at + (int64_t)seconds * 1000
                     : task_handoff_end(STR_NONE, at);
        end = draft_quoted(d, time_text(at));
    }
    if (saves)
        set_checkpoint(d);

    const struct str raw[] = {handoff ? d->by : STR_NONE,
                              handoff ? STR_NONE : d->by, to,
                              d->args->v[ARG_REASON], d->now, end,
                              saves ? STR_NONE : worktree(d)};

    d->k.f[handoff ? F_HANDOFF : F_EXHAUSTED] = raw_object(d, names, raw, 7);
    if (handoff && d->hold == HOLD_OTHER && d->c->who.person)
        set_takeover(d, raw[3].p ? raw[3] : STR("\"handed over\""));
    else
        rules_warn_owner(d);
    if (to.p) {
        unseen = draft_keep(d, tasks_unseen(d->t, d->c->a, &d->c->who, to));
        if (unseen.len > 0) /* a slip, or the name of one that comes */
            draft_warn(d, unseen.p);
    }
    set_given_fields(d);
    d->k.f[F_CURRENT_OWNER] = to;
    return 0;
}

/* ---- claim_task ---- */

/* An agent that holds the task already only renews its lease. */
static int
run_claim(struct draft *d)
{
    struct str owner = d->old.f[F_CURRENT_OWNER];
    struct str reason = d->args->v[ARG_REASON];
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
                                            d->old.kept))) {
        if (!reason.p && (d->old.gone || raw_member(d->old.f[F_LEASE],
                                                    "left").p))
            reason = STR("\"the agent had exited\"");
        else if (!reason.p)
            reason = STR("\"the lease had expired\"");
        set_takeover(d, reason);
    }
    if (!mine)
        d->was = task_was(d->c->a, &d->old, store_now_ms(d->t->store));
    if (!d->renews)
        d->k.f[F_ATTEMPTS] = raw_number(d, raw_u64(d->old.f[F_ATTEMPTS]) + 1);
    d->k.f[F_CURRENT_OWNER] = d->by;
    take_lease(d);
    return 0;
}

/* ---- questions ---- */

/* Puts a question into the list, like edit_list. It must fit into an answer of
   get_task. */
static int
put_question(struct draft *d, struct str old, struct str question,
             const char *field, size_t max)
{
    edit_list(d, F_QUESTIONS, old, question);
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
        edit_list(d, F_QUESTIONS, old, STR(""));
    raw[0] = d->question_id = new_item_id(d, F_QUESTIONS, names[0], 'q',
                                           store_next_n(d->t->store));
    return put_question(d, STR_NONE, raw_object(d, names, raw, 10),
                        "question", ASKED_COST);
}

/* The first answer counts. One that accepts has a text: one of the options, if
   the question has some. The answer is stored as it was given, without its
   last member, the question's id. */
static int
answer_question(struct draft *d)
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
    /* Without an action the text of the answer to an approval gives it or
       declines it; a comment decides nothing. */
    if (!action.p && (!str_is(raw_member(asked, "kind"), "\"approval\"") ||
                      raw_list_n(raw_member(asked, "options")) > 0 ||
                      str_is(text, "\"approve\"")))
        implied = STR("\"accept\"");
    else if (!action.p && str_is(text, "\"decline\""))
        implied = STR("\"decline\"");
    else if (!action.p)
        return task_fail(d->c, ERR_INVALID, "answer", "the answer to an "
                         "approval must be approve or decline; to comment, "
                         "also pass action accept or decline");
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

static int
add_message(struct draft *d)
{
    static const char *const names[] = {"from", "at", "text"};
    const struct str raw[] = {d->by, d->now, d->args->v[ARG_MESSAGE]};
    struct str list = d->k.f[F_MESSAGES], item = STR_NONE;
    size_t unread = 0; /* of the caller's */

    while ((item = raw_list_next(list, item)).p)
        unread += !raw_member(item, "seen").p &&
                  actor_is(&d->c->who, raw_member(item, "from"));
    if (unread >= TASK_MAX_UNREAD) {
        task_fail(d->c, ERR_TOO_LARGE, "message", "the owner has not read your "
                  "last %d messages, which is the limit", TASK_MAX_UNREAD);
        d->c->e.for_now = true;
        return task_next(d->c, "try again after the owner has changed the "
                         "task, which is when it reads messages");
    }
    if (raw_list_n(list) >= TASK_MAX_MESSAGES)
        edit_list(d, F_MESSAGES, raw_list_next(list, STR_NONE), STR(""));
    edit_list(d, F_MESSAGES, STR_NONE, raw_object(d, names, raw, 3));
    return 0;
}

/* ---- update_task ---- */

static int
update_fields(struct draft *d)
{
    enum task_status was = d->old.status, to;
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
    set_given_fields(d);
    to = d->k.status;
    if (task_status_ended(was))
        d->k.f[F_CANCEL_REQUESTED] = STR_NONE;
    /* An open task's owner is whom it is meant for. */
    if (to == TASK_OPEN && was != TASK_OPEN && !draft_given(d, F_CURRENT_OWNER))
        d->k.f[F_CURRENT_OWNER] = STR_NONE;
    if (to == TASK_IN_PROGRESS && to != was)
        return begin_work(d, "status");
    if (to == TASK_IN_PROGRESS && draft_given(d, F_STATUS))
        work_on(d);
    return to == TASK_DONE && to != was ? end_work(d) : 0;
}

static int
run_update(struct draft *d)
{
    static const char *const names[] = {"by", "reason", "at"};
    bool fields = draft_has_fields(d), answers = draft_given(d, ARG_ANSWER);
    bool says = draft_given(d, ARG_MESSAGE), left = draft_given(d, ARG_LEFT);
    bool stops = draft_given(d, F_CANCEL_REQUESTED);
    struct str lease = d->old.f[F_LEASE], stop, by;
    int rc = 0;

    if (!fields && !answers && !says && !stops && !left)
        return task_fail(d->c, ERR_INVALID, NULL,
                         "pass at least one field to change");
    d->only_says = !fields && !answers;
    if (left) {
        /* A hook reports that the holder's session ended, or is gone. A command
           of mcptask run goes on. */
        if (!d->old.leased || raw_member(lease, "left").p ||
            task_lease_is_run(lease) ||
            !(d->old.gone || actor_is(&d->c->who, raw_member(lease, "agent"))))
            return DRAFT_UNCHANGED;
        leave_lease(d, d->args->v[ARG_LEFT]);
        return 0;
    }
    if (answers)
        rc = answer_question(d);
    if (rc == 0 && says)
        rc = add_message(d);
    if (rc == 0 && fields)
        rc = update_fields(d);
    if (rc == 0 && stops) {
        /* Somebody asks the owner to stop work; null takes that back. */
        stop = draft_value(d, F_CANCEL_REQUESTED);
        by = raw_member(stop, "by");

        const struct str raw[] = {!actor_is_named(&d->c->who) && by.p ? by
                                                                      : d->by,
                                  raw_member(stop, "reason"), d->now};

        d->k.f[F_CANCEL_REQUESTED] = stop.p ? raw_object(d, names, raw, 3)
                                            : STR_NONE;
    }
    return rc;
}

/* ---- attach_artifact ---- */

static int
run_attach(struct draft *d)
{
    static const char *const names[] = {"artifact_id", "name", "type",
        "size", "sha256", "path", "description", "agent", "at"};
    const struct str *v = d->args->v;
    const struct task_blob *blob = d->blob;
    struct str list = d->k.f[F_ARTIFACTS], *id = &d->artifact_id;
    struct str item = STR_NONE;
    struct str raw[] = {STR_NONE, v[ARG_NAME],
        v[ARG_TYPE].p ? v[ARG_TYPE] : STR("\"file\""), STR_NONE, STR_NONE,
        v[ARG_PATH], v[ARG_DESCRIPTION], d->by, d->now};
    size_t n = raw_list_n(list), i;

    if (blob->stored) {
        raw[3] = raw_number(d, blob->size);
        raw[4] = draft_quoted(d, blob->sha256);
    }
    if (blob->warning)
        draft_warn(d, blob->warning);
    rules_warn_owner(d);
    while ((item = raw_list_next(list, item)).p) {
        for (i = 1; i < 7; i++) /* all but id, agent and time */
            if (!str_eq(raw_member(item, names[i]), raw[i]))
                break;
        if (i == 7) {
            *id = raw_member(item, "artifact_id");
            draft_warn(d, "already attached; nothing was changed");
            return DRAFT_UNCHANGED;
        }
    }
    if (n >= TASK_MAX_ARTIFACTS) {
        task_fail(d->c, ERR_TOO_LARGE, "artifacts", "the task has %d "
                  "artifacts, which is the limit", TASK_MAX_ARTIFACTS);
        return task_next(d->c, "attach it to another task");
    }
    raw[0] = *id = new_item_id(d, F_ARTIFACTS, names[0], 'a', n + 1);
    edit_list(d, F_ARTIFACTS, STR_NONE,
               raw_object(d, names, raw, sizeof raw / sizeof *raw));
    return 0;
}

/* By enum task_tool, for the tools that change a task. run changes the draft,
   which begins as the stored task or, for a new one, empty. Returns 0,
   DRAFT_UNCHANGED, or a code that the draft's error explains. */
static const struct {
    const char *op;
    int (*run)(struct draft *d);
} actions[] = {
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

/* ---- the record ---- */

static void
put_state(struct buf *b, const struct task *k)
{
    char before = '{';

    for (int i = 0; i < TASK_N_FIELDS; i++) {
        if (!k->f[i].p)
            continue;
        json_name(b, before, task_arg_name(i));
        buf_str(b, k->f[i]);
        before = ',';
    }
    if (k->extra.len) {
        buf_char(b, before);
        buf_str(b, k->extra);
    }
    buf_char(b, '}');
}

static void
put_seq(struct buf *b, char *before, struct str name, uint64_t seq)
{
    if (seq == 0)
        return;
    json_name(b, *before, name);
    buf_u64(b, seq);
    *before = ',';
}

/* What task_reached and the others read, after event n. A status is reached
   anew by another owner, and by whoever hands the task over or gives it up
   again. */
static void
put_seqs(struct buf *b, const struct draft *d, uint64_t n)
{
    const struct task *old = &d->old;
    bool anew = d->k.status != old->status || d->tool == TOOL_HANDOFF ||
                d->tool == TOOL_EXHAUST ||
                !str_eq(d->k.f[F_CURRENT_OWNER], old->f[F_CURRENT_OWNER]);
    bool tells = !actor_is(&d->c->who, d->k.f[F_CURRENT_OWNER]) &&
                 (draft_given(d, ARG_MESSAGE) ||
                  (draft_given(d, F_CANCEL_REQUESTED) &&
                   d->k.f[F_CANCEL_REQUESTED].p)); /* its owner */
    struct str item = STR_NONE;
    char before = '{', first = '{';

    buf_z(b, ",\"seqs\":");
    for (int i = 0; i < TASK_N_STATUSES; i++) {
        enum task_status s = (enum task_status)i;

        put_seq(b, &before, str_of(task_status_name(s)),
                anew && s == d->k.status ? n : task_reached(old, s));
    }
    put_seq(b, &before, STR("told"), tells ? n : task_told(old));
    while ((item = raw_list_next(d->k.f[F_QUESTIONS], item)).p) {
        struct str id = raw_member(item, "question_id"), was = item;
        uint64_t answered;

        if (!str_starts(id, "\"") || !raw_member(item, "answer").p)
            continue; /* it is open, or of another form */
        if (!old->ev.seqs.p)
            was = raw_list_find(old->f[F_QUESTIONS], "question_id", id);
        answered = task_answered(old, was); /* 0: by this event */
        if (first == '{')
            buf_z(b, ",\"answers\":");
        put_seq(b, &first, raw_inner(id), answered ? answered : n);
    }
    buf_z(b, first == '{' ? "}" : "}}");
}

/* All of the record's body but v. */
static void
put_body(struct buf *b, const struct draft *d)
{
    char before = '[';

    buf_printf(b, "\"op\":\"%s\",\"by\":%.*s,\"set\":", d->op,
               STR_ARG(d->by));
    /* The names of the fields that changed, without those that always do. */
    for (int i = 0; i < TASK_N_FIELDS; i++) {
        if (i == F_TASK_ID || i == F_VERSION || i == F_CREATED_AT ||
            i == F_CREATED_BY || i == F_ATTEMPTS || i == F_TESTED_COMMIT ||
            str_eq(d->old.f[i], d->k.f[i]) ||
            (i == F_LEASE && d->old.f[i].p && d->k.f[i].p)) /* renewed */
            continue;
        buf_char(b, before);
        json_quote(b, task_arg_name(i));
        before = ',';
    }
    buf_z(b, before == '[' ? "[]" : "]");
    if (d->note.p)
        buf_printf(b, ",\"note\":%.*s", STR_ARG(d->note));
    if (d->idem.p)
        buf_printf(b, ",\"idem\":%.*s", STR_ARG(d->idem));
    if (d->warnings.p)
        buf_printf(b, ",\"warn\":%.*s", STR_ARG(d->warnings));
    if (d->c->who.principal.len > 0)
        buf_z(b, ",\"token\":true");
    if (d->exists)
        put_seqs(b, d, store_next_n(d->t->store));
    buf_z(b, ",\"v\":");
}

/* Stages a record. On a full disk the error says what is still taken. */
static int
put_record(struct draft *d, struct str key, struct str body)
{
    struct store *s = d->t->store;
    const struct store_state *st;
    /* The change lets an agent stop, or another go on. It may take the room
       that is left on a full disk. A checkpoint may not: agents save them as
       often as they like. */
    bool last = d->tool == TOOL_HANDOFF || d->tool == TOOL_EXHAUST ||
                draft_given(d, ARG_ANSWER) ||
                (d->exists && task_status_ended(d->k.status) &&
                 !task_status_ended(d->old.status));
    int rc = last ? store_stage_last(s, key, body)
                  : store_stage(s, key, body);

    if (rc == 0)
        return 0;
    st = store_state(s);
    if (rc != ERR_FULL || last || st->missing == 0)
        return task_fail_store(d->c, rc);
    task_fail(d->c, rc, NULL, "changes need %lld more bytes on the disk",
              (long long)st->missing);
    if (!st->takes_last)
        return task_next(d->c, "tell the operator to free disk space, then try "
                         "again");
    return task_next(d->c, "tell the operator to free disk space, then try "
                     "again; handoff_task, mark_exhausted, answers and ending "
                     "a task still work");
}

/* Stages the record of a change that passed all checks. */
static int
stage_change(struct draft *d, struct task_receipt *out)
{
    struct store *s = d->t->store;
    struct str *lost = &d->k.f[F_TAKEOVER], from, key;
    uint64_t seq = store_next_n(s);
    bool claims = d->tool == TOOL_CLAIM || d->tool == TOOL_IMPORT;
    struct buf *b = &d->t->body;
    int big = F_TITLE, rc = 0;
    size_t at;

    if (d->exists && !d->only_says) {
        d->k.f[F_VERSION] = raw_number(d, d->old.version + 1);
        /* The note of a takeover is dropped once the agent that lost the task
           owns it again; or, if that was another session of the same name, once
           that name does not. */
        from = raw_member(*lost, "from_agent");
        if (str_eq(d->k.f[F_CURRENT_OWNER], from) !=
            str_eq(raw_member(*lost, "agent"), from))
            *lost = STR_NONE;
    }
    renew_own_lease(d);
    deliver_messages(d);
    buf_reset(b, b->cap);
    put_body(b, d);
    at = b->len;
    put_state(b, &d->k);
    key = arena_printf(d->c->a, TASK_PREFIX "%.*s", STR_ARG(d->id));
    if (b->err || !key.p || d->nomem) {
        rc = task_fail_store(d->c, ERR_NOMEM);
    } else if (b->len - at > STATE_MAX + (claims ? CLAIM_ROOM : 0)) {
        for (int i = 0; i < TASK_N_FIELDS; i++)
            if (d->k.f[i].len > d->k.f[big].len)
                big = i;
        rc = task_fail(d->c, ERR_TOO_LARGE, task_arg_name(big).p, "the task "
                       "would exceed %d bytes; its largest field is %s",
                       STATE_MAX, task_arg_name(big).p);
    } else {
        rc = put_record(d, key, buf_view(b));
    }
    if (rc == 0)
        tasks_find(d->t, d->id)->checked = true;
    buf_reset(b, BODY_KEEP);
    *out = (struct task_receipt){
        .id = d->id,
        .op = str_of(d->op),
        .seq = seq,
        .warnings = d->warnings,
        .token = d->c->who.principal.len > 0,
        .artifact_id = d->artifact_id,
        .question_id = d->question_id,
        .circle = d->circle,
        .renewed = d->renews,
        .was = d->was,
    };
    put_task_receipt(d, &d->k, d->by, out);
    return rc;
}

int
task_leave(struct tasks *t, struct arena *a, const struct task *k)
{
    struct task_args args = {.notes = STR_NONE};
    struct task_ctx c = {.a = a};
    struct draft d = {.t = t, .c = &c, .args = &args, .tool = TOOL_CLAIM,
                      .exists = true, .id = k->ev.id, .k = *k, .old = *k};
    struct task_receipt r;

    d.by = c.who.name = raw_member(k->f[F_LEASE], "agent");
    d.now = draft_quoted(&d, time_text(store_now_ms(t->store)));
    leave_lease(&d, STR("\"exited\""));
    return stage_change(&d, &r);
}

/* ---- the way in ---- */

/* Begins a change with the arguments. */
static void
begin_draft(struct draft *d)
{
    const struct str *v = d->args->v;
    int agent = d->tool == TOOL_HANDOFF ? ARG_FROM_AGENT : ARG_AGENT;
    char hex[SHA256_HEX + 1];
    bool token;

    d->c->e = (struct task_error){0};
    d->op = actions[d->tool].op;
    d->id = raw_inner(v[F_TASK_ID]);
    d->by = v[agent].p ? v[agent] : d->args->self; /* of an import */
    if (!d->by.p)
        d->by = STR("\"unknown\"");
    if (d->c->who.user.p)
        d->by = d->c->who.user;
    d->c->who.name = d->by;
    token = d->c->who.principal.len > 0; /* its agent is the caller */
    d->c->who.unnamed = !d->c->who.chosen && !token &&
                        (d->args->own_name || !v[agent].p);
    d->note = v[ARG_NOTES];
    if (!d->note.p && (d->tool == TOOL_UPDATE || d->tool == TOOL_CLAIM))
        d->note = v[ARG_REASON];
    d->now = draft_quoted(d, time_text(store_now_ms(d->t->store)));
    d->warnings = d->args->notes;
    if (!draft_given(d, ARG_IDEMPOTENCY_KEY))
        return;
    task_args_digest(d->args, hex);
    d->idem = draft_keep(d, arena_printf(d->c->a,
        "{\"key\":%.*s,\"args\":\"%s\"%s%.*s}",
        STR_ARG(v[ARG_IDEMPOTENCY_KEY]), hex, token ? ",\"who\":" : "",
        STR_ARG(token ? d->by : STR_NONE)));
}

/* Loads the task or, if its record is not JSON, the state before it, and checks
   what all changes do. Under the holder's name, the request may have been made
   before. 1: *out is its receipt; 0, or an error. */
static int
load_task(struct draft *d, struct task_receipt *out)
{
    struct task *old = &d->old;
    struct task_event ev;
    uint64_t version;
    int rc = task_event_last(d->t, d->c->a, d->id, &ev);

    d->mends = rc == ERR_GARBLED;
    if (d->mends)
        rc = task_event_whole(d->t, d->c->a, &ev);
    if (rc == 0)
        rc = task_of(d->t, d->c->a, &ev, old);
    if (rc != 0)
        return task_fail_read(d->c, d->t, d->id, rc);
    if (d->mends) {
        old->version++; /* the change that is lost had this one */
        draft_warn(d, "the newest record was not JSON, so this change "
                   "continues from the one before it");
    }
    d->exists = true;
    d->k = *old;
    if (rules_meet_holder(d)) {
        rc = find_replay(d, out);
        if (rc != 0)
            return rc;
    }
    version = task_arg_u64(d->args, ARG_EXPECTED_VERSION, old->version);
    if (version != old->version) {
        rc = task_fail(d->c, ERR_VERSION, "expected_version",
                       "the task is at version %llu",
                       (unsigned long long)old->version);
        d->c->e.version = old->version;
        return rc;
    }
    rc = rules_check_may(d);
    if (rc != ERR_KEPT || !old->gone || raw_member(old->f[F_LEASE], "left").p)
        return rc;
    /* The first to be refused what an agent left begins the time for which that
       is kept. */
    if (task_leave(d->t, d->c->a, old) != 0 ||
        task_get(d->t, d->c->a, d->id, old) != 0)
        return rc;
    return may_refuse(d->c, old, MAY_NOT_LEFT);
}

/* Runs the action and stages its result. If it changes nothing, *out is the
   receipt of that. */
static int
finish_change(struct draft *d, struct task_receipt *out)
{
    int rc = actions[d->tool].run(d);

    if (rc != DRAFT_UNCHANGED || d->mends)
        return rc == 0 || rc == DRAFT_UNCHANGED ? stage_change(d, out) : rc;
    rc = receipt_of(d, &d->old.ev, out);
    out->warnings = d->warnings;
    out->artifact_id = d->artifact_id;
    out->question_id = STR_NONE;
    out->renewed = false;
    out->messages = STR_NONE;
    out->stop = str_eq(d->by, out->owner) ? d->old.f[F_CANCEL_REQUESTED]
                                          : STR_NONE;
    return rc;
}

int
task_change(struct tasks *t, struct task_ctx *c, enum task_tool tool,
            const struct task_args *args, const struct task_blob *blob,
            struct task_receipt *out)
{
    struct draft d = {.t = t, .c = c, .args = args, .tool = tool,
                      .blob = blob};
    int rc;

    begin_draft(&d);
    rc = find_replay(&d, out);
    if (rc == 0 && tool == TOOL_CLAIM)
        rc = may_refuse(c, NULL, may(&c->who, NULL, ACT_CLAIM));
    if (rc == 0 && tool == TOOL_CLAIM && !d.id.p) {
        struct task_want w = task_want_of(args);

        w.who = c->who;
        w.leave = task_leave;
        rc = tasks_find_ready(t, &w, &d.id);
        *out = (struct task_receipt){.partial = w.partial, .more = w.more,
                                     .due_ms = w.due_ms};
        if (rc != 0)
            rc = task_fail_store(c, rc);
        else if (!d.id.p)
            return 0;
    }
    if (rc == 0 && tool != TOOL_CREATE)
        rc = load_task(&d, out);
    if (rc == 0)
        return finish_change(&d, out);
    return rc < 0 ? rc : 0;
}

/* ---- several tasks at once ---- */

/* Creates each of several tasks. whole is the request; its key is stored with
   the first task. */
static int
create_each(const struct draft *whole, const struct json_tok *list,
            struct task_receipt *out)
{
    struct task_ctx *c = whole->c;
    const struct json_tok *obj = list + 1;
    struct str agent = whole->args->v[ARG_AGENT], ids[TASK_MAX_NEW], why;
    uint64_t seq = store_next_n(whole->t->store);
    size_t i, made = 0, old = 0;
    int rc = 0;

    c->ids = ids;
    for (i = 0; i < list->n && rc == 0; i++, obj += obj->span) {
        struct task_args args;
        struct draft d = {.t = whole->t, .c = c, .args = &args,
                          .tool = TOOL_CREATE};

        c->n_ids = i;
        rc = task_args_parse(c, TOOL_CREATE, obj, &args);
        if (rc != 0)
            continue;
        if (args.v[ARG_TASKS].p || args.v[ARG_IDEMPOTENCY_KEY].p ||
            (args.v[ARG_AGENT].p && !args.own_name &&
             !str_eq(args.v[ARG_AGENT], agent))) {
            rc = task_fail(c, ERR_INVALID, "tasks", "agent, tasks and "
                           "idempotency_key belong beside tasks, not in its "
                           "items");
            continue;
        }
        args.v[ARG_AGENT] = agent;
        begin_draft(&d);
        if (i == 0)
            d.idem = whole->idem;
        rc = finish_change(&d, &out[i]);
        ids[i] = out[i].id;
        if (rc == 0 && out[i].seq == seq + made)
            made++;
        else
            old = i;
    }
    c->ids = NULL;
    if (rc == 0 && made != 0 && made != list->n) {
        task_fail(c, ERR_EXISTS, "tasks", "tasks[%zu] already exists, but "
                  "others do not", old);
        return task_next(c, "omit those that exist; the others can refer to "
                         "them by task_id");
    }
    why = rc == 0 ? STR_NONE : arena_printf(c->a, "tasks[%zu]: %.*s", i - 1,
                                            STR_ARG(c->e.message));
    if (why.p)
        c->e.message = why;
    return rc;
}

int
task_create_all(struct tasks *t, struct task_ctx *c,
                const struct task_args *args, struct task_receipt *out,
                size_t *n)
{
    struct draft d = {.t = t, .c = c, .args = args, .tool = TOOL_CREATE};
    size_t staged = store_staged_n(t->store);
    const struct json_tok *list;
    struct task_event ev;
    int rc = json_parse(c->a, args->v[ARG_TASKS], &list, NULL);

    if (rc != 0)
        return task_fail_store(c, rc);
    /* Arguments beside tasks apply to all of them. */
    for (int i = 0; i < TASK_N_FIELDS; i++)
        if (args->v[i].p)
            return task_fail(c, ERR_INVALID, task_arg_name(i).p, "put %s in "
                             "each item of tasks", task_arg_name(i).p);
    if (list->n == 0 || list->n > TASK_MAX_NEW ||
        args->v[ARG_TASKS].len > TASK_MAX_NEW_LEN)
        return task_fail(c, list->n > 0 ? ERR_TOO_LARGE : ERR_INVALID, "tasks",
                         "tasks must have 1 to %d items, at most %d bytes in "
                         "all",
                         TASK_MAX_NEW, TASK_MAX_NEW_LEN);
    *n = list->n;
    begin_draft(&d);
    rc = find_replay(&d, out);
    if (rc < 0)
        return rc;
    if (rc == 0) {
        rc = create_each(&d, list, out);
        if (rc != 0)
            store_unstage(t->store, staged);
        return rc;
    }
    /* The same request made them before, in the events from the first on. */
    rc = 0;
    for (size_t i = 1; i < *n && rc == 0; i++) {
        rc = task_event_n(t, c->a, out[0].seq + i, &ev);
        rc = rc == 0 ? receipt_of(&d, &ev, &out[i]) : task_fail_store(c, rc);
    }
    return rc;
}

int
task_change_text(struct tasks *t, struct task_ctx *c, enum task_tool tool,
                 struct str text, const struct task_blob *blob,
                 struct task_receipt *out)
{
    const struct json_tok *obj;
    struct task_args args;
    int rc = json_parse(c->a, text, &obj, NULL);

    if (rc != 0)
        return task_fail_store(c, rc);
    rc = task_args_parse(c, tool, obj, &args);
    return rc == 0 ? task_change(t, c, tool, &args, blob, out) : rc;
}

int
task_import(struct tasks *t, struct task_ctx *c, const struct json_tok *obj,
            struct task_receipt *out)
{
    const struct json_tok *at;
    struct task_args args;
    struct draft d = {.t = t, .c = c, .args = &args, .tool = TOOL_IMPORT};
    struct str changed;
    int64_t ms;
    int rc;

    c->e = (struct task_error){0};
    rc = task_args_parse(c, TOOL_IMPORT, obj, &args);
    if (rc != 0)
        return rc;
    begin_draft(&d);
    /* The record has the time of the import: the note says when the task last
       changed in the store that it comes from. */
    at = json_get(obj, "updated_at");
    changed = at && at->type == JSON_NUMBER ? json_raw(at)
                                            : json_str(c->a, at);
    if (changed.p && task_time_parse(changed, &ms))
        d.note = draft_keep(&d, arena_printf(c->a, "\"last changed %s\"",
                                             time_text(ms)));
    return finish_change(&d, out);
}

int
task_archive(struct tasks *t, const struct store_rec *r)
{
    const unsigned kept = 1u << F_TASK_ID | 1u << F_PARENT_ID |
                          1u << F_DEPENDS_ON | 1u << F_VERSION;
    const struct store_entry *e = store_find(t->store, r->key);
    struct task k = {.extra = STR_NONE};
    struct task_event ev;
    struct buf *b = &t->body;
    int i, rc;

    if (!e || e->n != r->n)
        return ERR_VERSION;
    if ((rc = task_event_of(r, &ev)) != 0 ||
        (rc = task_head_of(ev.v, k.f)) != 0)
        return rc;
    k.f[F_RESULT] = k.f[F_STATUS];
    k.f[F_ARTIFACTS] = raw_member(ev.v, "artifacts"); /* still in use */
    for (i = 0; i < TASK_N_HEAD; i++)
        if (!(kept >> i & 1))
            k.f[i] = i == F_STATUS ? STR("\"archived\"") : STR_NONE;
    buf_reset(b, b->cap);
    buf_z(b, "\"op\":\"archive\",\"by\":\"mcptask\",\"v\":");
    put_state(b, &k);
    rc = b->err ? b->err : store_stage_last(t->store, r->key, buf_view(b));
    buf_reset(b, BODY_KEEP);
    return rc;
}
