/* rules - what a change of a task has to keep to: which status follows on
   which, who may make it while a lease runs, and what a task may wait for.

   1. transitions is the only statement of which status follows on which.
   2. The rules see what is staged in the same batch, because the index and
      store_read do. */

#include "task/rules.h"
#include "task/index.h"
#include "json/raw.h"

/* ---- statuses ---- */

#define S(status) (1u << TASK_##status)

static const unsigned transitions[TASK_N_STATUSES] = {
    [TASK_OPEN] = S(IN_PROGRESS) | S(HANDOFF_READY) | S(EXHAUSTED) |
                  S(FAILED) | S(CANCELLED),
    [TASK_IN_PROGRESS] = S(OPEN) | S(HANDOFF_READY) | S(EXHAUSTED) |
                         S(DONE) | S(FAILED) | S(CANCELLED),
    [TASK_HANDOFF_READY] = S(OPEN) | S(IN_PROGRESS) | S(EXHAUSTED) |
                           S(FAILED) | S(CANCELLED),
    [TASK_EXHAUSTED] = S(OPEN) | S(IN_PROGRESS) | S(HANDOFF_READY) |
                       S(FAILED) | S(CANCELLED),
    /* Ended: to be reopened by update_task, with a reason. */
    [TASK_DONE] = S(OPEN) | S(IN_PROGRESS),
    [TASK_FAILED] = S(OPEN) | S(IN_PROGRESS),
    [TASK_CANCELLED] = S(OPEN) | S(IN_PROGRESS),
};

#define FIRST_STATUSES (S(OPEN) | S(IN_PROGRESS) | S(HANDOFF_READY))

int
rules_set_status(struct draft *d, enum task_status to)
{
    unsigned allowed = d->exists ? transitions[d->old.status]
                                 : FIRST_STATUSES;

    if (!(allowed & 1u << to) && !(d->exists && d->old.status == to)) {
        d->c->e.allowed = allowed;
        return DRAFT_FAIL(d, ERR_TRANSITION, "status",
                          "%s may not follow on %s", task_status_name(to),
                          d->exists ? task_status_name(d->old.status)
                                    : "none");
    }
    d->k.status = to;
    d->k.f[F_STATUS] = draft_quoted(d, task_status_name(to));
    return 0;
}

int
rules_check_ended(struct draft *d)
{
    int to = task_status_of(raw_inner(d->args->v[F_STATUS]));
    unsigned allowed = transitions[d->old.status];
    bool reopens = d->tool == TOOL_UPDATE && to >= 0 && allowed & 1u << to;

    if (!task_status_ended(d->old.status) ||
        (reopens && draft_given(d, ARG_REASON)))
        return 0;
    d->c->e.allowed = allowed;
    return reopens
        ? DRAFT_FAIL(d, ERR_TERMINAL, "reason", "the task is %s; to reopen it "
                     "give a reason", task_status_name(d->old.status))
        : DRAFT_FAIL(d, ERR_TERMINAL, NULL, "the task is %s and takes no "
                     "change", task_status_name(d->old.status));
}

/* ---- owners ---- */

bool
rules_is_unknown(struct str by)
{
    return str_is(by, "\"unknown\"");
}

/* Whether somebody else than the caller owns the task. */
static bool
is_others(const struct draft *d)
{
    struct str owner = d->old.f[F_CURRENT_OWNER];

    return owner.p && !rules_is_unknown(d->by) && !str_eq(owner, d->by);
}

int
rules_not_owner(struct draft *d, const char *field, const char *message)
{
    int rc = draft_refuse(d, ERR_NOT_OWNER, field, message);

    d->c->e.holder = d->old.f[F_CURRENT_OWNER];
    return rc;
}

void
rules_warn_owner(struct draft *d)
{
    if (is_others(d))
        draft_warn(d, "another agent owns this task");
}

/* ---- leases ---- */

int
rules_check_lease(struct draft *d)
{
    struct str holder = raw_member(d->old.f[F_LEASE], "agent");
    bool answers = draft_given(d, ARG_ANSWER) && !draft_has_fields(d);

    if (!d->old.leased || str_eq(holder, d->by) || answers)
        return 0;
    if (d->c->ownership_warn && d->tool != TOOL_CLAIM) {
        draft_warn(d, "another agent holds a lease on this task");
        return 0;
    }
    draft_fail_store(d, ERR_LEASE);
    d->c->e.holder = holder;
    return ERR_LEASE;
}

void
rules_settle_lease(struct draft *d)
{
    struct str *lease = &d->k.f[F_LEASE];
    struct str agent = raw_member(*lease, "agent");
    int64_t now = store_now_ms(d->t->store), end;

    if (!lease->p)
        return;
    if (d->k.status != TASK_IN_PROGRESS || rules_is_unknown(agent) ||
        !str_eq(agent, d->k.f[F_CURRENT_OWNER]) ||
        (task_lease_end(*lease, &end) && end - now > TASK_LEASE_MAX_MS))
        *lease = STR_NONE;
    else if (str_eq(agent, d->by))
        *lease = draft_keep(d, task_lease_make(d->c->a, agent,
                                               raw_member(*lease, "seconds"),
                                               now));
}

/* ---- dependencies ---- */

struct walk {
    struct draft *d;
    struct task_entry **seen;
    size_t n, cap;
    uint64_t bytes;
    const char *field;
};

static int
walk_to(struct walk *w, struct str dep)
{
    struct draft *d = w->d;
    struct task_entry *e = tasks_find(d->t, raw_inner(dep)), **seen;

    if (str_eq(raw_inner(dep), d->id))
        return DRAFT_FAIL(d, ERR_CYCLE, w->field, "%s leads back to this task",
                          w->field);
    if (!e || e->seen)
        return 0; /* imported before what it depends on, or known */
    if (w->n == TASK_WALK_MAX || w->bytes > TASK_WALK_BYTES)
        return DRAFT_FAIL(d, ERR_TOO_LARGE, w->field, "%s leads to more tasks "
                          "than can be checked", w->field);
    if (w->n == w->cap) {
        size_t cap = w->cap ? w->cap * 2 : 64;

        seen = arena_grow(d->c->a, w->seen, w->cap * sizeof *seen,
                          cap * sizeof *seen);
        if (!seen)
            return draft_fail_store(d, ERR_NOMEM);
        w->seen = seen;
        w->cap = cap;
    }
    e->seen = true;
    w->seen[w->n++] = e;
    return 0;
}

/* The tasks of a list, or the one that a single value names. */
static int
walk_list(struct walk *w, struct str deps)
{
    size_t at = 0;
    struct str dep;
    int rc = 0;

    while (rc == 0 && (dep = raw_list_next(deps, &at)).p)
        rc = walk_to(w, dep);
    return rc;
}

/* Goes on from a task that was reached. */
static int
walk_from(struct walk *w, const struct task_entry *e, struct arena *scratch)
{
    struct task_event ev;
    struct str f[TASK_N_HEAD];
    int rc;

    if (!e->has_deps)
        return 0;
    arena_reset(scratch);
    rc = task_entry_event(w->d->t, e, scratch, &ev);
    if (rc == 0)
        rc = task_head_of(ev.v, f);
    if (rc != 0)
        return draft_fail_store(w->d, rc);
    w->bytes += e->e.len;
    return walk_list(w, f[F_DEPENDS_ON]);
}

/* Refuses what leads back to the task: tasks that it depends on, and those
   that they do, by whatever way; or its parent and that one's. */
static int
check_ways(struct draft *d, const char *field, struct str first, bool deps)
{
    struct walk w = {.d = d, .field = field};
    struct arena scratch = {0};
    size_t i;
    int rc;

    rc = walk_list(&w, first);
    for (i = 0; i < w.n && rc == 0; i++)
        rc = deps ? walk_from(&w, w.seen[i], &scratch)
                  : walk_list(&w, atoms_text(&d->t->atoms,
                                             w.seen[i]->parent_id));
    for (i = 0; i < w.n; i++)
        w.seen[i]->seen = false;
    arena_fini(&scratch);
    return rc;
}

static bool
is_task(const struct draft *d, struct str raw)
{
    struct str id = raw_inner(raw);

    return str_eq(id, d->id) || tasks_find(d->t, id);
}

int
rules_check_links(struct draft *d)
{
    struct str deps = d->args->v[F_DEPENDS_ON], dep;
    struct str parent = d->args->v[F_PARENT_ID];
    bool all = d->tool != TOOL_IMPORT;
    size_t at = 0, i = 0;
    int rc;

    if (str_is(deps, "null"))
        deps = STR_NONE;
    if (str_is(parent, "null"))
        parent = STR_NONE;
    for (; all && (dep = raw_list_next(deps, &at)).p; i++)
        if (!is_task(d, dep))
            return DRAFT_FAIL(d, ERR_NOT_FOUND, "depends_on",
                              "depends_on[%zu] is no task", i);
    if (all && parent.p && !is_task(d, parent))
        return draft_refuse(d, ERR_NOT_FOUND, "parent_id",
                            "parent_id is no task");
    rc = check_ways(d, "depends_on", deps, true);
    return rc == 0 ? check_ways(d, "parent_id", parent, false) : rc;
}

bool
rules_is_blocked(const struct draft *d)
{
    struct str dep;
    size_t at = 0;

    while ((dep = raw_list_next(d->k.f[F_DEPENDS_ON], &at)).p)
        if (!tasks_is_done(d->t, dep))
            return true;
    return false;
}
