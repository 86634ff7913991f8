/* claim - the next task to claim, and why there is none.

   1. What a holder of the caller's client left comes first; then what was
      handed to it; then, by priority, what was begun, and what was not.
      A search passes by any number of tasks that the index alone rules out,
      such as those of other projects: a ready task must be found behind them.
      It reads READY_BYTES of records; then it passes over tasks that depend on
      others; after twice as many it ends. What was handed to the agent has a
      budget of its own.
   2. A task that was read and is blocked is parked, so the next search goes on
      after it; unless it is still kept for the agent.
   3. A task that is found has been read as far as a change of it needs: a task
      that only a newer version can read, or nobody, does not get in the way. */

#include "task/claim.h"
#include "task/cause.h"
#include "task/index.h"
#include "task/may.h"
#include "task/project.h"
#include "task/query.h"

#include <string.h>

#define READY_BYTES (TASK_READ_MAX / 4) /* under the lock: others wait */
#define N_PROJECTS 64
#define N_OWNERS 512

struct search {
    struct tasks *t;
    struct task_want *w;
    struct arena a;
    int64_t now_ms; /* when it began */
    uint64_t bytes;
    uint64_t project; /* see tasks_skip; 0: it asks for none */
    struct clashes clashes;
    /* Whether tasks of a project are asked for, by its atom. */
    struct {
        uint32_t atom;
        bool known, asked;
    } project_of[N_PROJECTS];
    /* Whether what is addressed to an owner is for the caller. */
    struct {
        uint32_t atom;
        bool reached;
    } owner[N_OWNERS];
};

/* Reads the task of e, whose memory the next one reuses. 1; 0: it cannot be
   read, since its record is not JSON (k->garbled) or from a newer version; or
   an error. */
static int
read_candidate(struct search *s, struct task_entry *e, struct task *k)
{
    struct task_event ev;
    int rc;

    s->bytes += e->e.len;
    arena_reset(&s->a);
    rc = task_entry_event(s->t, e, &s->a, &ev);
    if (rc == 0)
        rc = task_of(s->t, &s->a, &ev, k);
    k->garbled = rc == ERR_GARBLED;
    if (rc == 0)
        return 1;
    return rc == ERR_FORMAT || rc == ERR_GARBLED ? 0 : rc;
}

/* Whether the task of e is of the project that is asked for. */
static bool
is_here(struct search *s, const struct task_entry *e)
{
    const struct task_want *w = s->w;
    uint32_t atom = e->atom[ATOM_REPO_PATH], i = atom % N_PROJECTS;
    struct str repo_path;

    if (!s->project_of[i].known || s->project_of[i].atom != atom) {
        repo_path = task_entry_text(s->t, e, ATOM_REPO_PATH);
        s->project_of[i].known = true;
        s->project_of[i].atom = atom;
        s->project_of[i].asked = w->repo_path.p
                                ? project_matches(w->repo_path, repo_path)
                                : project_offers(w->who.repo, repo_path);
    }
    return s->project_of[i].asked ||
           (!w->repo_path.p && e->status == TASK_HANDOFF_READY &&
            task_entry_is_offered(s->t, e, &w->who));
}

/* Whether the task of e is wanted otherwise, whatever its state. */
static bool
is_wanted(const struct search *s, const struct task_entry *e)
{
    const struct task_want *w = s->w;

    return (!w->owner.p ||
            str_eq(task_entry_text(s->t, e, ATOM_OWNER), w->owner)) &&
           (!w->tag.p ||
            raw_list_has(task_entry_text(s->t, e, ATOM_TAGS), w->tag));
}

/* Whether what is addressed to the owner of e is for the caller. */
static bool
is_for_caller(struct search *s, const struct task_entry *e)
{
    uint32_t atom = e->atom[ATOM_OWNER], i = atom % N_OWNERS;

    if (s->owner[i].atom != atom) {
        s->owner[i].atom = atom;
        s->owner[i].reached =
            actor_reached(&s->w->who, task_entry_text(s->t, e, ATOM_OWNER));
    }
    return s->owner[i].reached;
}

/* Whether the caller may begin the task of e now, as far as its entry can
   tell. */
static bool
is_free(struct search *s, const struct task_entry *e)
{
    return task_entry_free(s->t, e, s->now_ms) &&
           (!task_entry_kept_for(s->t, e, s->now_ms).p || is_for_caller(s, e));
}

/* Notes when time may make a task ready. */
static void
note_due(struct search *s, int64_t due_ms)
{
    if (s->w->due_ms == 0 || due_ms < s->w->due_ms)
        s->w->due_ms = due_ms;
}

/* Examines a task that is free. 1: it is ready and can be read: take it; 0: do
   not; or an error. */
static int
examine_free(struct search *s, struct task_entry *e)
{
    const struct task_actor *who = &s->w->who;
    struct task_entry *above = tasks_put_off(
        s->t, task_entry_text(s->t, e, ATOM_PARENT_ID), s->now_ms);
    struct task k;
    int64_t due;
    int rc;

    if (above && task_entry_is_early(above, s->now_ms))
        note_due(s, above->from_ms);
    if (above || tasks_parts(s->t, task_entry_id(e)).unfinished > 0)
        return 0;
    due = task_entry_clash(s->t, e, who, &s->clashes);
    if (due != 0) {
        note_due(s, due);
        return 0;
    }
    rc = read_candidate(s, e, &k);
    if (rc != 1)
        return rc;
    if (k.blocked)
        task_entry_park(s->t, e, raw_list_next(k.blocked_by, STR_NONE));
    if (!k.able)
        return 0;
    /* What the caller handed to its own product is meant for another session of
       that. */
    if (k.kept && actor_gave(who, &k) && !actor_is(who, k.f[F_CURRENT_OWNER])) {
        note_due(s, task_entry_due(s->t, e, s->now_ms));
        return 0;
    }
    if (!actor_clash(who, &k).p)
        return 1;
    note_due(s, k.clash_ms);
    return 0;
}

/* Returns the oldest of the next tasks in the queues and advances past it;
   NULL: the end. Invariant 1. */
static struct task_entry *
next_in(struct search *s, struct task_entry *at[N_QUEUES])
{
    struct task_entry *e = NULL;
    size_t i, from = 0;

    for (i = 0; i < N_QUEUES; i++) {
        if (at[i] && s->bytes > (i == QUEUE_DEPS ? READY_BYTES
                                                 : 2 * READY_BYTES)) {
            s->w->partial = s->w->more = true;
            at[i] = NULL;
        }
        if (at[i] && (!e || at[i]->e.n < e->e.n))
            e = at[from = i];
    }
    if (e)
        at[from] = e->later;
    return e;
}

/* Whether the task of e, under a lease, is the caller's to go on with: it had
   the lease, or may continue for a session of its client that is not seen to
   live. One that is not seen to be gone may wait for parts of the task. 1, 0,
   or an error. */
static int
is_inherited(struct search *s, struct task_entry *e)
{
    const struct task_actor *who = &s->w->who;
    struct str client = task_entry_text(s->t, e, ENTRY_CLIENT);
    struct str owner = task_entry_text(s->t, e, ATOM_OWNER);
    bool own = actor_is(who, owner), kin, left;
    struct task_holder holder;
    struct task k;
    int rc;

    kin = client.p ? name_is_product(raw_inner(client), who->client)
                   : actor_is_kin(who, owner);
    if ((!own && !kin) || !is_here(s, e) || !is_wanted(s, e) ||
        (!own && task_entry_sight(s->t, e) == SIGHT_ALIVE))
        return 0;
    rc = read_candidate(s, e, &k);
    if (rc != 1)
        return rc;
    holder = task_holder_of(&k);
    left = k.sight == SIGHT_GONE || raw_member(k.f[F_LEASE], "left").p;
    return (actor_is(who, holder.name) ||
            (actor_inherits(who, &holder) &&
             (left || k.parts.unfinished == 0))) &&
           may(who, &k, ACT_CLAIM) == MAY_YES;
}

/* Searches for what a holder of the caller's own client left, or it itself.
   Returns as find_in. */
static int
find_left(struct search *s, const struct task_queue *q, struct str *out)
{
    struct task_entry *e = q->first, *next;
    struct task k;
    bool free;
    int rc = 0;

    for (; e && rc == 0 && s->bytes <= READY_BYTES; e = next) {
        next = e->later;
        free = task_entry_free(s->t, e, s->now_ms);
        if (!free && !e->gone)
            continue; /* the clock was set back */
        *out = task_entry_id(e);
        rc = is_inherited(s, e);
        if (rc != 0 || free || e->has_left || !s->w->leave ||
            !store_locked(s->t->store))
            continue;
        /* Its holder is gone, which nobody has seen before: the time begins for
           which its task is kept. Without the lock, and if the disk is full,
           the next search notes that. */
        rc = read_candidate(s, e, &k);
        if (rc == 1 && k.gone)
            rc = s->w->leave(s->t, &s->a, &k);
        rc = rc == ERR_NOMEM ? rc : 0;
    }
    return rc;
}

/* The first task in the queue of the project that is asked for. */
static struct task_entry *
first_of_project(struct search *s, const struct task_queue *q)
{
    struct task_skip *skip = tasks_skip(s->t, q, s->project);
    struct task_entry *e = skip->last ? skip->last->later : q->first;

    if (s->project == 0)
        return q->first;
    for (; e && !is_here(s, e); e = e->later)
        skip->last = e;
    if (skip->last)
        skip->last->passed = true;
    return e;
}

/* Searches some of the queues of one priority for tasks that were handed to
   w->who or, unless handed, for all others. 1: *out is the task's id; 0: none
   found; or an error. */
static int
find_in(struct search *s, const struct task_queue q[N_QUEUES], size_t from,
        size_t n, bool handed, struct str *out)
{
    struct task_entry *at[N_QUEUES] = {NULL}, *e;
    int64_t due;
    bool free;
    int rc = 0;

    for (size_t i = from; i < from + n; i++)
        at[i] = i == QUEUE_HANDED ? q[i].first : first_of_project(s, &q[i]);
    while (rc == 0 && (e = next_in(s, at)) != NULL) {
        *out = task_entry_id(e);
        if ((e->status == TASK_HANDOFF_READY && is_for_caller(s, e)) !=
                handed || !is_here(s, e) || !is_wanted(s, e))
            continue;
        free = is_free(s, e);
        if (free && !task_entry_is_early(e, s->now_ms)) {
            rc = examine_free(s, e);
        } else if (free || e->status != TASK_OPEN) {
            due = free ? e->from_ms : task_entry_due(s->t, e, s->now_ms);
            note_due(s, due < e->from_ms ? e->from_ms : due);
        } /* else no time makes it anybody's */
    }
    return rc;
}

struct task_want
task_want_of(const struct task_args *args)
{
    return (struct task_want){.who = {.name = args->v[ARG_AGENT]},
                              .repo_path = args->v[F_REPO_PATH],
                              .tag = args->v[ARG_TAG]};
}

int64_t
tasks_due_ms(struct tasks *t, struct str id)
{
    const struct task_entry *e = tasks_find(t, id);
    int64_t due, now = store_now_ms(t->store);
    bool free = e && task_entry_free(t, e, now);
    const struct task_entry *above = !e ? NULL : tasks_put_off(
        t, task_entry_text(t, e, ATOM_PARENT_ID), now);

    if (free && task_entry_is_early(e, now))
        return e->from_ms;
    if (free && above && task_entry_is_early(above, now))
        return above->from_ms;
    if (!e || (free && (e->status == TASK_OPEN ||
                        !task_entry_kept_for(t, e, now).p)))
        return 0;
    due = task_entry_due(t, e, now);
    return due < e->from_ms ? e->from_ms : due;
}

int
tasks_find_ready(struct tasks *t, struct task_want *w, struct str *out)
{
    struct str asked = w->repo_path.p ? w->repo_path : w->who.repo;
    struct search s = {.t = t, .w = w, .now_ms = store_now_ms(t->store)};
    uint32_t parked = t->n_parked;
    int64_t held_ms;
    int rc = store_loaded(t->store) ? 0 : ERR_IO;
    size_t i;

    if (asked.p) /* a hash of how it asks for a project */
        s.project = str_sip(t->atoms.seed, asked) << 1 | !w->repo_path.p;
    w->partial = w->more = false;
    w->due_ms = 0;
    held_ms = tasks_release(t, s.now_ms);
    for (i = 0; i < TASK_N_PRIORITIES && rc == 0 && w->who.name.p; i++)
        rc = find_left(&s, t->queue[i] + QUEUE_RELEASED, out);
    for (i = s.bytes = 0; i < TASK_N_PRIORITIES && rc == 0; i++)
        rc = find_in(&s, t->queue[i], QUEUE_HANDED, 1, true, out);
    for (i = s.bytes = 0; i < TASK_N_PRIORITIES && rc == 0; i++) {
        rc = find_in(&s, t->queue[i], QUEUE_RELEASED, 3, false, out);
        if (rc == 0)
            rc = find_in(&s, t->queue[i], QUEUE_PLAIN, 2, false, out);
    }
    if (rc != 1)
        *out = STR_NONE;
    if (rc == 0 && held_ms != 0)
        note_due(&s, held_ms);
    w->more = w->more && t->n_parked > parked;
    arena_fini(&s.a);
    return rc < 0 ? rc : 0;
}

/* ---- why there is none ---- */

/* Counts a task for who, which is copied into a: 0 or ERR_NOMEM. *out is NULL
   if enough others are named. */
static int
count_reason(struct arena *a, struct task_reason r[TASK_REASONS],
             struct str who, struct task_reason **out)
{
    size_t i = 0;

    while (i < TASK_REASONS && r[i].who.p && !str_eq(r[i].who, who))
        i++;
    *out = i < TASK_REASONS ? &r[i] : NULL;
    if (!*out || r[i].n++ > 0)
        return 0;
    r[i].who = arena_str(a, who);
    return r[i].who.p ? 0 : ERR_NOMEM;
}

/* Notes a task that only a preference keeps from the caller. */
static int
note_could(struct search *s, struct arena *a, struct task_entry *e,
           struct task_why *out)
{
    const struct task_actor *who = &s->w->who;
    bool timed = e->status != TASK_OPEN;
    int64_t due = timed ? task_entry_due(s->t, e, s->now_ms) : 0;
    struct task_could *c = out->could;
    size_t i = out->n_could;
    enum task_may why;
    struct task k;
    int rc;

    while (i > 0 && timed && (c[i - 1].free_ms == 0 || due < c[i - 1].free_ms))
        i--;
    if (i == TASK_COULD || !who->name.p)
        return 0;
    rc = read_candidate(s, e, &k);
    if (rc != 1)
        return rc;
    why = may(who, &k, ACT_CLAIM);
    if ((why != MAY_NOT_LEFT && why != MAY_NOT_KEPT) ||
        may(who, &k, ACT_TAKE_OVER) != MAY_YES || actor_clash(who, &k).p)
        return 0;
    out->n_could += out->n_could < TASK_COULD;
    memmove(c + i + 1, c + i, (out->n_could - i - 1) * sizeof *c);
    c[i] = (struct task_could){
        .id = arena_str(a, k.f[F_TASK_ID]), .title = arena_str(a, k.f[F_TITLE]),
        .was = task_was(a, &k, s->now_ms), .free_ms = due};
    if (k.status == TASK_HANDOFF_READY)
        c[i].to = arena_str(a, k.f[F_CURRENT_OWNER]);
    return c[i].id.p && c[i].title.p && c[i].was.p ? 0 : ERR_NOMEM;
}

/* Counts a task that an agent holds, or that was handed to one. */
static int
count_held(struct search *s, struct arena *a, const struct task_entry *e,
           struct task_why *out)
{
    struct str owner = task_entry_text(s->t, e, ATOM_OWNER);
    int64_t due = task_entry_due(s->t, e, s->now_ms);
    struct task_reason *r;
    int rc = count_reason(a, out->holders, owner.p ? owner
                                                   : STR("\"unknown\""), &r);

    out->held++;
    if (r && e->status != TASK_OPEN && (r->until_ms == 0 || due < r->until_ms))
        r->until_ms = due;
    if (r)
        r->gone |= e->gone;
    return rc;
}

/* Counts a task that anybody may begin, if it is blocked or damaged, or
   overlaps with one on which an agent works. */
static int
count_blocked(struct search *s, struct arena *a, struct task_entry *e,
              struct task_why *out)
{
    struct task_reason *r;
    struct task_entry *by;
    struct str first;
    struct task k;
    int rc = read_candidate(s, e, &k);

    out->damaged += k.garbled;
    if (rc != 1)
        return rc;
    rc = 0;
    if (!k.blocked && k.clashes.p) {
        out->held++;
        first = raw_list_next(k.clashes, STR_NONE);
        rc = count_reason(a, out->holders, raw_member(first, "agent"), &r);
        if (r && (r->until_ms == 0 || k.clash_ms < r->until_ms))
            r->until_ms = k.clash_ms;
    } else if (k.blocked) {
        out->blocked++;
        first = raw_list_next(k.blocked_by, STR_NONE);
        by = tasks_find(s->t, raw_inner(first));
        rc = count_reason(a, out->blockers, first, &r);
        if (r && by && by->status < TASK_N_STATUSES)
            r->status = str_of(task_status_name((enum task_status)by->status));
    }
    return rc;
}

/* Counts a task of another project, if it is ready. */
static int
count_elsewhere(struct search *s, struct arena *a, struct task_entry *e,
                struct task_why *out)
{
    struct str repo = task_entry_text(s->t, e, ATOM_REPO_PATH);
    bool reads = e->has_deps || e->atom[ENTRY_PATHS];
    struct task k = {.ready = !reads};
    struct task_reason *r;
    int rc = reads ? read_candidate(s, e, &k) : 1;

    if (rc != 1)
        return rc;
    if (!k.ready)
        return 0;
    out->elsewhere++;
    return count_reason(a, out->projects, repo.p ? repo : STR("null"), &r);
}

int
tasks_why_none(struct tasks *t, struct arena *a, const struct task_want *w,
               struct task_why *out)
{
    struct task_want want = *w;
    struct search s = {.t = t, .w = &want, .now_ms = store_now_ms(t->store)};
    struct task_entry *at[N_LISTS] = {t->newest[LIST_LIVE]}, *e;
    size_t looked = 0;
    int rc = 0;

    *out = (struct task_why){0};
    tasks_release(t, s.now_ms);
    while (rc == 0 && !out->partial && (e = tasks_walk(at)) != NULL) {
        out->partial = looked++ == TASK_LOOK_MAX || s.bytes > READY_BYTES;
        if (out->partial || !is_wanted(&s, e))
            continue;
        if (!is_here(&s, e)) {
            if (!e->parked && is_free(&s, e) &&
                !task_entry_is_early(e, s.now_ms) &&
                !task_entry_waits(t, e, s.now_ms))
                rc = count_elsewhere(&s, a, e, out);
        } else if (!is_free(&s, e)) {
            rc = count_held(&s, a, e, out);
            if (rc == 0 && (!e->has_lease || e->has_left) &&
                !task_entry_waits(t, e, s.now_ms))
                rc = note_could(&s, a, e, out);
        } else if (task_entry_is_early(e, s.now_ms)) {
            if (out->later++ == 0 || e->from_ms < out->later_ms)
                out->later_ms = e->from_ms;
        } else if (task_entry_waits(t, e, s.now_ms)) {
            out->waiting++;
        } else {
            rc = count_blocked(&s, a, e, out);
        }
    }
    /* A task that was handed to a name which was never seen says so. */
    for (size_t i = 0; rc == 0 && i < out->n_could; i++) {
        struct task_could *c = &out->could[i];
        struct str rest = c->to.p ? tasks_unseen(t, a, &w->who, c->to)
                                  : STR(""), unseen = str_cut(&rest, ';');

        if (unseen.len > 0)
            c->was = arena_printf(a, "%.*s; %.*s", STR_ARG(c->was),
                                  STR_ARG(unseen));
        rc = unseen.p && c->was.p ? 0 : ERR_NOMEM;
    }
    arena_fini(&s.a);
    return rc;
}

/* ---- what is held already ---- */

/* Adds the newest event of e, if its lease runs. Returns how many there are
   then, or an error of store_read. */
static int
add_held(struct tasks *t, struct arena *a, struct task_entry *e,
         struct task_event *out, int n)
{
    int rc = task_entry_free(t, e, store_now_ms(t->store))
                 ? ERR_FORMAT : task_entry_event(t, e, a, &out[n]);

    if (rc == ERR_FORMAT || rc == ERR_GARBLED)
        return n;
    return rc == 0 ? n + 1 : rc;
}

/* Whether the lease of e is of who's session. */
static bool
is_session_own(const struct tasks *t, const struct task_actor *who,
               const struct task_entry *e)
{
    return actor_is_session(who,
                            raw_inner(task_entry_text(t, e, ENTRY_SESSION)));
}

/* First those of the session. Only if the name has others, too, are all
   examined. */
int
tasks_held(struct tasks *t, struct arena *a, const struct task_actor *who,
           struct str besides, struct task_event *out, int max)
{
    const struct task_entry *not = tasks_find(t, besides);
    uint32_t mine = who->name.p ? atoms_find(&t->atoms, who->name) : 0;
    uint32_t left = mine ? atoms_use(&t->atoms, mine)->tally[TALLY_LEASES] : 0;
    struct task_entry *e, *next;
    int n = 0;

    for (e = t->held.first; e && n >= 0 && n < max; e = next) {
        next = e->later;
        if (!is_session_own(t, who, e)) {
            next = task_entry_next_session(t, e);
            continue;
        }
        left -= left > 0 && e->atom[ATOM_OWNER] == mine;
        n = e == not ? n : add_held(t, a, e, out, n);
    }
    for (int p = 0; p <= TASK_N_PRIORITIES && left > 0; p++) {
        e = p == 0 ? t->held.first : t->queue[p - 1][QUEUE_RELEASED].first;
        for (; e && left > 0 && n >= 0 && n < max; e = e->later) {
            if (e->atom[ATOM_OWNER] != mine ||
                (p == 0 && is_session_own(t, who, e)))
                continue;
            left--;
            n = e == not ? n : add_held(t, a, e, out, n);
        }
    }
    return n;
}
