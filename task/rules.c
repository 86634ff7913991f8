/* rules - a change of a task being made, and what it must keep to: which status
   may follow which, what the holder of a lease allows, what a task may depend
   on, and what done needs.

   1. transitions is the only statement of which status may follow which.
   2. The rules see what is staged in the same batch, because the index and
      store_read do.
   3. If memory runs out, the draft remembers it, and the change fails at its
      end. */

#include "task/rules.h"
#include "task/index.h"

#include <string.h>

#define WALK_MAX 10000 /* tasks looked at for cycles in one call */
#define WALK_BYTES (32 * 1024 * 1024) /* and bytes read */

/* ---- the draft ---- */

struct str
draft_keep(struct draft *d, struct str s)
{
    d->nomem |= !s.p;
    return s;
}

struct str
draft_quoted(struct draft *d, const char *text)
{
    return draft_keep(d, arena_printf(d->c->a, "\"%s\"", text));
}

void
draft_warn(struct draft *d, const char *text)
{
    d->warnings = draft_keep(d, raw_list_edit(d->c->a, d->warnings, STR_NONE,
                                              draft_quoted(d, text)));
}

struct str
draft_value(const struct draft *d, int field)
{
    struct str v = d->args->v[field];

    return str_is(v, "null") ? STR_NONE : v;
}

bool
draft_has_fields(const struct draft *d)
{
    for (int i = F_TASK_ID + 1; i < TASK_N_FIELDS; i++)
        if (i != F_CANCEL_REQUESTED && draft_given(d, i) &&
            !(i == F_NOT_BEFORE && d->tool != TOOL_UPDATE))
            return true;
    return false;
}

/* ---- statuses ---- */

#define S(status) (1u << TASK_##status)

static const unsigned transitions[TASK_N_STATUSES] = {
    [TASK_OPEN] = S(IN_PROGRESS) | S(HANDOFF_READY) | S(EXHAUSTED) |
                  S(DONE) | S(FAILED) | S(CANCELLED),
    [TASK_IN_PROGRESS] = S(OPEN) | S(HANDOFF_READY) | S(EXHAUSTED) |
                         S(DONE) | S(FAILED) | S(CANCELLED),
    [TASK_HANDOFF_READY] = S(OPEN) | S(IN_PROGRESS) | S(EXHAUSTED) |
                           S(FAILED) | S(CANCELLED),
    [TASK_EXHAUSTED] = S(OPEN) | S(IN_PROGRESS) | S(HANDOFF_READY) |
                       S(FAILED) | S(CANCELLED),
    /* Ended: update_task reopens them, with a reason. */
    [TASK_DONE] = S(OPEN) | S(IN_PROGRESS),
    [TASK_FAILED] = S(OPEN) | S(IN_PROGRESS),
    [TASK_CANCELLED] = S(OPEN) | S(IN_PROGRESS),
};

/* Done: a plan has items that are. */
#define FIRST_STATUSES (S(OPEN) | S(IN_PROGRESS) | S(HANDOFF_READY) | S(DONE))

int
rules_set_status(struct draft *d, enum task_status to)
{
    unsigned allowed = d->exists ? transitions[d->old.status]
                                 : FIRST_STATUSES;

    if (!(allowed & 1u << to) && !(d->exists && d->old.status == to)) {
        d->c->e.allowed = allowed;
        return d->exists
            ? task_fail(d->c, ERR_TRANSITION, "status", "a task that is %s "
                        "cannot become %s", task_status_name(d->old.status),
                        task_status_name(to))
            : task_fail(d->c, ERR_TRANSITION, "status", "a new task cannot "
                        "be %s", task_status_name(to));
    }
    d->k.status = to;
    d->k.f[F_STATUS] = draft_quoted(d, task_status_name(to));
    return 0;
}

/* ---- who may do what ---- */

bool
rules_meet_holder(struct draft *d)
{
    struct task_holder holder = task_holder_of(&d->old);
    int to = task_status_of(raw_inner(d->args->v[F_STATUS]));
    bool claims = d->tool == TOOL_CLAIM;

    d->act = ACT_WORK;
    if (claims)
        d->act = task_arg_true(d->args, ARG_TAKEOVER) ? ACT_TAKE_OVER
                                                      : ACT_CLAIM;
    else if (d->tool == TOOL_HANDOFF)
        d->act = ACT_HAND_OVER;
    else if (d->tool == TOOL_UPDATE && task_status_ended(d->old.status) &&
             to >= 0 && transitions[d->old.status] & 1u << to)
        d->act = ACT_REOPEN;
    else if (d->tool == TOOL_UPDATE && !draft_has_fields(d))
        d->act = ACT_SAY;
    d->hold = actor_hold(&d->c->who, &holder);
    if (d->act == ACT_SAY || (d->hold != HOLD_SESSION &&
                              (d->hold != HOLD_CLIENT || claims)))
        return false;
    d->by = d->c->who.name = holder.name;
    d->hold = HOLD_OWN;
    return true;
}

/* Whether the change begins the task, by which the caller becomes its owner, or
   names another one than the task has. A caller without a name does not, nor
   one that takes back what it handed over, for a reason. */
static bool
takes_up(const struct draft *d)
{
    int to = task_status_of(raw_inner(d->args->v[F_STATUS]));

    if (!actor_is_named(&d->c->who) ||
        (draft_given(d, ARG_REASON) && d->tool == TOOL_UPDATE &&
         actor_gave(&d->c->who, &d->old)) ||
        (draft_given(d, F_CURRENT_OWNER) &&
         str_eq(d->args->v[F_CURRENT_OWNER], d->old.f[F_CURRENT_OWNER])))
        return false;
    return (d->tool == TOOL_CHECKPOINT && d->old.status != TASK_IN_PROGRESS) ||
           (d->tool == TOOL_UPDATE && to == TASK_IN_PROGRESS);
}

int
rules_check_may(struct draft *d)
{
    bool takes = d->act == ACT_TAKE_OVER, says = draft_given(d, ARG_REASON);
    enum task_may answer = may(&d->c->who, &d->old, d->act);
    int rc;

    if (answer == MAY_YES && d->act == ACT_WORK && takes_up(d))
        answer = may(&d->c->who, &d->old, ACT_TAKE_UP);
    rc = may_refuse(d->c, &d->old, answer);
    /* What is done to a task against what others rely on needs a reason. */
    if (rc == 0 && takes && !says)
        rc = task_fail(d->c, ERR_INVALID, "reason", "takeover needs a reason");
    if (rc == 0 && d->act == ACT_REOPEN && !says)
        rc = task_fail(d->c, ERR_TERMINAL, "reason", "the task is %s; to "
                       "reopen it, pass a reason",
                       task_status_name(d->old.status));
    if (rc == ERR_TERMINAL)
        d->c->e.allowed = transitions[d->old.status];
    if (rc == 0 && d->hold >= HOLD_TWIN && d->act != ACT_SAY && !takes &&
        d->act != ACT_CLAIM && !(d->act == ACT_HAND_OVER && d->c->who.person))
        draft_warn(d, "another agent holds a lease on this task");
    return rc;
}

void
rules_warn_owner(struct draft *d)
{
    struct str owner = d->old.f[F_CURRENT_OWNER];

    if (owner.p && actor_is_named(&d->c->who) && !actor_is(&d->c->who, owner))
        draft_warn(d, "another agent owns this task");
}

/* ---- dependencies ---- */

struct walk {
    struct draft *d;
    const char *field;
    bool exist;     /* missing tasks are refused */
    bool both;      /* what has parts waits for them, */
    struct str parent; /* raw: of this task */
    bool moved;     /* that parent is new */
    bool parts;     /* one in seen has parts, or this task, if it was moved */
    size_t n;       /* number of tasks in seen */
    uint64_t bytes; /* read of them */
};

static struct task_entry *seen[WALK_MAX];

/* Finds the task that dep names: *e, NULL if it is missing. */
static int
walk_to(struct walk *w, struct str dep, struct task_entry **e)
{
    struct draft *d = w->d;

    *e = tasks_find(d->t, raw_inner(dep));
    if (str_eq(raw_inner(dep), d->id))
        return task_fail(d->c, ERR_CYCLE, w->field, "%s would create a cycle "
                         "with this task", w->field);
    if (tasks_is_above(d->t, raw_inner(dep), w->parent)) {
        task_fail(d->c, ERR_CYCLE, w->field, "%s would create a cycle: it "
                  "leads to %.*s, which waits for this task as one of its "
                  "parts", w->field, STR_ARG(raw_inner(dep)));
        return task_next(d->c, "omit that dependency: a task that has parts "
                         "is ready when they have ended");
    }
    if (!*e && w->exist)
        return task_fail(d->c, ERR_NOT_FOUND, w->field, "%s: no such task "
                         "%.*s", w->field, STR_ARG(dep));
    return 0;
}

static int
fail_long(struct walk *w)
{
    return task_fail(w->d->c, ERR_TOO_LARGE, w->field, "%s leads to more tasks "
                     "than a call can check (%d, or %d MiB); list fewer",
                     w->field, WALK_MAX, WALK_BYTES >> 20);
}

static int
note_seen(struct walk *w, struct task_entry *e)
{
    if (e->seen)
        return 0;
    if (w->n == WALK_MAX || w->bytes > WALK_BYTES)
        return fail_long(w);
    e->seen = true;
    seen[w->n++] = e;
    w->parts |= tasks_parts(w->d->t, task_entry_id(e)).total > 0;
    return 0;
}

/* Walks to the tasks that one with this parent (raw) depends on, but for a
   stored circle: see task_find_blockers. */
static int
walk_list(struct walk *w, struct str deps, struct str parent)
{
    struct str dep = STR_NONE;
    struct task_entry *e;
    int rc = 0;

    while (rc == 0 && (dep = raw_list_next(deps, dep)).p) {
        if (w->both && tasks_is_above(w->d->t, raw_inner(dep), parent))
            continue;
        rc = walk_to(w, dep, &e);
        if (rc == 0 && e)
            rc = note_seen(w, e);
    }
    return rc;
}

/* Walks to the parts of what was seen, but for those that lead nowhere. */
static int
walk_parts(struct walk *w)
{
    struct tasks *t = w->d->t;
    struct task_entry *at[N_LISTS], *e, *parent;
    struct str id;
    uint32_t atom = 0;
    bool under = false;
    int rc = 0;

    memcpy(at, t->newest, sizeof at);
    while (rc == 0 && (e = tasks_walk(at)) != NULL) {
        if (e->atom[ATOM_PARENT_ID] != atom) {
            atom = e->atom[ATOM_PARENT_ID];
            id = raw_inner(atoms_text(&t->atoms, atom));
            parent = tasks_find(t, id);
            under = (parent && parent->seen) ||
                    (w->moved && str_eq(id, w->d->id));
        }
        id = task_entry_id(e);
        if (under && !str_eq(id, w->d->id) &&
            (e->has_deps || tasks_parts(t, id).total > 0))
            rc = note_seen(w, e);
    }
    return rc;
}

/* Goes on to what a visited task depends on. */
static int
walk_from(struct walk *w, struct task_entry *e, struct arena *scratch)
{
    struct task_event ev;
    struct str f[TASK_N_HEAD];
    int rc;

    if (!e->has_deps)
        return 0;
    arena_reset(scratch);
    rc = task_entry_event(w->d->t, e, scratch, &ev);
    if (rc == ERR_GARBLED)
        return 0; /* nobody can tell */
    if (rc == 0)
        rc = task_head_of(ev.v, f);
    if (rc != 0)
        return task_fail_store(w->d->c, rc);
    w->bytes += e->e.len;
    return walk_list(w, f[F_DEPENDS_ON], f[F_PARENT_ID]);
}

/* Whether a record depends on the task, or on one above it. If not, no circle
   leads through it: it would have to come back to one of them. */
static bool
is_line_named(struct draft *d, struct str parent)
{
    bool named = tasks_is_named(d->t, d->id);

    for (int n = 0; parent.p && !named && n < PARENTS_MAX; n++) {
        named = tasks_is_named(d->t, raw_inner(parent));
        tasks_step_up(d->t, &parent);
    }
    return named;
}

/* Looks for a way back to this task from the tasks that it depends on. With
   both, what has parts waits for them: the way may lead from a task to its
   parts, and ends at a task above this one, too. With a new parent it may also
   begin with a part of this task. */
static int
check_deps(struct draft *d, bool both)
{
    bool deps = draft_given(d, F_DEPENDS_ON);
    struct walk w = {.d = d, .field = "depends_on",
                     .exist = deps && d->tool != TOOL_IMPORT,
                     .both = both,
                     .moved = both && draft_given(d, F_PARENT_ID)};
    struct arena scratch = {0};
    size_t i = 0;
    bool named;
    int rc;

    if (both)
        w.parent = w.moved ? draft_value(d, F_PARENT_ID)
                           : d->old.f[F_PARENT_ID];
    if (w.moved && !deps)
        w.field = "parent_id";
    w.parts = w.moved && tasks_parts(d->t, d->id).total > 0;
    if (!deps && !w.moved)
        return 0;
    rc = walk_list(&w, deps ? draft_value(d, F_DEPENDS_ON)
                            : d->old.f[F_DEPENDS_ON], STR_NONE);
    w.exist = false;
    named = (w.n > 0 || w.parts) && is_line_named(d, w.parent);
    for (int n = 0; rc == 0 && named && (n == 0 || i < w.n); n++) {
        for (; i < w.n && rc == 0; i++)
            rc = walk_from(&w, seen[i], &scratch);
        if (rc == 0 && both && w.parts)
            rc = n < PARENTS_MAX ? walk_parts(&w) : fail_long(&w);
    }
    while (w.n > 0)
        seen[--w.n]->seen = false;
    arena_fini(&scratch);
    return rc;
}

int
rules_check_links(struct draft *d)
{
    bool import = d->tool == TOOL_IMPORT;
    struct walk w = {.d = d, .field = "parent_id", .exist = !import};
    struct str id = draft_value(d, F_PARENT_ID);
    bool named = atoms_find(&d->t->atoms, d->k.f[F_TASK_ID]) != 0;
    struct task_entry *e;
    int rc = import ? check_deps(d, false) : 0;

    if (rc == 0) {
        rc = check_deps(d, true);
        d->circle = import && rc == ERR_CYCLE;
    }
    if (d->circle) { /* it is stored as it was elsewhere */
        d->c->e = (struct task_error){0};
        rc = 0;
    }
    /* The same of parents, whose ids are atoms. */
    for (; id.p && rc == 0; w.n++) {
        rc = w.n < WALK_MAX ? walk_to(&w, id, &e) : fail_long(&w);
        id = rc == 0 && e && named
                 ? task_entry_text(d->t, e, ATOM_PARENT_ID) : STR_NONE;
        w.exist = false;
    }
    return rc;
}

/* ---- evidence ---- */

int
rules_check_evidence(struct draft *d)
{
    struct str item = STR_NONE, failed, list;
    struct buf left = {0};
    const char *why = NULL;
    size_t n = 0;

    if (!d->c->require_pass)
        return 0;
    for (; (item = raw_list_next(d->k.f[F_TEST_RESULTS], item)).p; n++) {
        failed = raw_member(item, "failed");
        if (!str_is(raw_member(item, "exit_code"), "0"))
            why = "has no exit_code 0";
        else if (failed.p && !str_is(failed, "0") && !str_is(failed, "false"))
            why = "has failed tests";
        else if (str_is(raw_member(item, "passed"), "false"))
            why = "has not passed";
        if (why)
            return task_fail(d->c, ERR_EVIDENCE, "test_results", "done needs "
                             "tests that pass, but test_results[%zu] %s", n,
                             why);
    }
    if (!str_eq(d->k.f[F_COMMIT], d->k.f[F_TESTED_COMMIT]))
        return task_fail(d->c, ERR_EVIDENCE, "test_results", "test_results "
                         "are older than the last change of commit");
    if (n == 0)
        return task_fail(d->c, ERR_EVIDENCE, "test_results",
                         "done needs test_results");

    /* An item of acceptance is ticked if completed_steps has it word for word.
       The error gives numbers: errors never hold the content of a task. */
    for (n = 0; (item = raw_list_next(d->k.f[F_ACCEPTANCE], item)).p; n++) {
        if (raw_list_has(d->k.f[F_COMPLETED_STEPS], item))
            continue;
        if (left.len < 180)
            buf_printf(&left, "%sacceptance[%zu]", left.len ? ", " : "", n);
        else if (left.p[left.len - 1] != '.')
            buf_z(&left, ", ...");
    }
    d->nomem |= left.err != 0;
    if (left.len == 0)
        return 0;
    list = buf_take(&left, d->c->a);
    task_fail(d->c, ERR_EVIDENCE, "acceptance", "completed_steps lacks %.*s",
              STR_ARG(list));
    return task_next(d->c, "when these are met, add them word for word to "
                     "completed_steps");
}
