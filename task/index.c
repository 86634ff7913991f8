/* index - turns records into entries: the tasks, the order in which they
   changed, and the few fields that lists filter by.

   1. The index is a function of the records in order. All records, live or
      replayed, pass through apply, and undo exactly reverses the newest apply.
   2. Each readable task is on one of two lists, live or ended, both in falling
      order of n: apply puts a task first, since its n is the highest so far.
      When everything after it has been undone, the old entry's neighbours are
      correct again, so undo links it between them.
   3. count[s] is the number of tasks with status s.
   4. An entry holds each of its atoms once. A dropped atom stays readable until
      the next batch begins, because undo may hold it again.
   5. A record that this binary cannot read (from a newer one) has an entry on
      no list; it is kept and never changed. The same holds for the record of an
      archived task, except that task_import may write a successor. A record
      that is not JSON is on the lists, so that it is found: by what a scan has
      made of it or, if that is nothing, as an open task.
   6. Whether a lease is running is computed from the current time; no record
      marks its end.
   7. A live task is in one queue, chosen by its priority, by whether it was
      begun, was handed to an agent or was under a lease, and by whether it has
      dependencies: only then must a record be read to tell whether it is
      ready. A queue is in rising order of n: apply puts a task at its end; undo
      puts the old one back after the task it followed, or finds its place again
      if that has left the queue. A task under a lease is in none of them, but
      in held: a search passes by all of a session in one step, until it sees
      that the session is gone, or that leases have ended, and releases them.
      Where a search for one project has passed by the first tasks of a queue,
      the next one begins after them: t->skips has the last of them.
   8. A task that was found blocked is parked: it leaves its queue for a list
      of tasks whose blockers share a hash. It returns to its queue when its
      blocker is done, whether by an event or by undoing one, and when the task
      itself changes.
   9. named has every id on which a record of the log depends, so an id that it
      lacks is on no circle.
   10. The parts of a task are counted with the atom of its id, which they hold
      as their parent: that is there before and after the task is.
   11. Of agents that made a record, or work on a task, the names are kept, the
       first NAMES_MAX. Undo keeps them: they were seen. Names that differ only
       in their digits are one, or each session would add its own. */

#include "task/index.h"
#include "store/remote.h"
#include "task/may.h"
#include "task/project.h"
#include "task/rows.h"
#include "json.h"
#include "json/raw.h"
#include "base/clock.h"

#include <stdlib.h>
#include <string.h>

#define NAMES_MAX 512
#define NAMES_TOLD 5

/* With seven atoms: 216 bytes a task in all. */
_Static_assert(sizeof(struct task_entry) <= 136, "one atom more");

#define NAMED_BITS 17 /* of a hash: one of so many words */

/* ---- records ---- */

static uint64_t
mix(const struct tasks *t, uint64_t h, struct str s)
{
    return (h ^ str_sip(t->atoms.seed, s)) * UINT64_C(0x9e3779b97f4a7c15);
}

uint64_t
task_key_hash(const struct tasks *t, struct str op, struct str by,
              struct str idem, uint64_t *who)
{
    uint64_t h = mix(t, mix(t, 0, op), by);

    *who = mix(t, 0, raw_member(idem, "who")) >> 32;
    h = mix(t, h, raw_member(idem, "key")) ^ *who;
    return h ^ h >> 29;
}

/* The sum of a record shows that it is still the one that was checked. */
int
task_entry_event(struct tasks *t, struct task_entry *e, struct arena *a,
                 struct task_event *out)
{
    struct store_rec r;
    int rc = store_read(t->store, &e->e, a, &r);

    if (rc == 0)
        rc = (e->checked ? task_event_scan : task_event_of)(&r, out);
    e->checked |= rc == 0;
    return rc;
}

/* When the time begins for which a task is kept, by its status. */
static int64_t
kept_since(const struct task_entry *e, int64_t changed_ms)
{
    return e->status == TASK_HANDOFF_READY && e->from_ms > changed_ms
               ? e->from_ms : changed_ms;
}

int64_t
task_entry_due(const struct tasks *t, const struct task_entry *e,
               int64_t now_ms)
{
    return kept_since(e, store_past_ms(e->changed_ms, now_ms)) +
           store_skew_ms(t->store) + e->kept_ms;
}

bool
task_entry_is_early(const struct task_entry *e, int64_t now_ms)
{
    return e->from_ms > 0 && e->from_ms > now_ms;
}

bool
task_entry_free(const struct tasks *t, const struct task_entry *e,
                int64_t now_ms)
{
    return e->status != TASK_IN_PROGRESS || e->parked
        ? e->status < TASK_DONE : task_entry_due(t, e, now_ms) <= now_ms;
}

struct str
task_entry_kept_for(const struct tasks *t, const struct task_entry *e,
                    int64_t now_ms)
{
    return e->atom[ATOM_OWNER] && !e->parked &&
           (e->status == TASK_OPEN ||
            (e->status == TASK_HANDOFF_READY &&
             task_entry_due(t, e, now_ms) > now_ms))
        ? task_entry_text(t, e, ATOM_OWNER) : STR_NONE;
}

/* ---- parts ---- */

struct task_entry *
tasks_step_up(struct tasks *t, struct str *parent)
{
    struct task_entry *e = parent->p ? tasks_find(t, raw_inner(*parent)) : NULL;

    *parent = e ? task_entry_text(t, e, ATOM_PARENT_ID) : STR_NONE;
    return e;
}

bool
tasks_is_above(struct tasks *t, struct str id, struct str parent)
{
    for (int n = 0; parent.p && n < PARENTS_MAX; n++) {
        if (str_eq(raw_inner(parent), id))
            return true;
        tasks_step_up(t, &parent);
    }
    return false;
}

struct task_entry *
tasks_put_off(struct tasks *t, struct str parent, int64_t now_ms)
{
    struct task_entry *e;

    for (int n = 0; n < PARENTS_MAX && (e = tasks_step_up(t, &parent)); n++)
        if (e->status == TASK_CANCELLED || e->was_cancelled ||
            (task_entry_free(t, e, now_ms) && task_entry_is_early(e, now_ms)))
            return e;
    return NULL;
}

bool
task_entry_waits(struct tasks *t, const struct task_entry *e, int64_t now_ms)
{
    return tasks_parts(t, task_entry_id(e)).unfinished > 0 ||
           tasks_put_off(t, task_entry_text(t, e, ATOM_PARENT_ID), now_ms);
}

/* ---- lists and queues ---- */

static struct task_entry **
list_of(struct tasks *t, const struct task_entry *e)
{
    return &t->newest[task_status_ended((enum task_status)e->status)
                          ? LIST_ENDED : LIST_LIVE];
}

static struct task_queue *
queue_of(struct tasks *t, const struct task_entry *e)
{
    if (e->status >= TASK_DONE)
        return NULL;
    if (e->parked)
        return &t->parks[e->blocker % TASK_PARKS];
    if (e->status == TASK_HANDOFF_READY && e->atom[ATOM_OWNER])
        return &t->queue[e->priority][QUEUE_HANDED];
    if (e->has_lease && !e->released)
        return &t->held;
    if (e->has_lease)
        return &t->queue[e->priority][QUEUE_RELEASED];
    if (e->status != TASK_OPEN)
        return &t->queue[e->priority][QUEUE_BEGUN];
    return &t->queue[e->priority][e->has_deps ? QUEUE_DEPS : QUEUE_PLAIN];
}

/* The first and last task in held of the session of e. */
static struct atom_use *
session_of(struct tasks *t, const struct task_entry *e)
{
    uint32_t atom = e->atom[ENTRY_SESSION];

    return atom ? atoms_use(&t->atoms, atom) : &t->unknown;
}

/* Points the links of e at its place in its queue: at the end, of its session
   in held, or else searched for from the task `behind` on, if e still comes
   after that. */
static void
find_in_queue(struct tasks *t, struct task_entry *e, struct task_entry *behind)
{
    const struct task_queue *q = queue_of(t, e);

    if (!q)
        return;
    if (q == &t->held) {
        behind = session_of(t, e)->last;
        behind = behind ? behind : q->last;
    } else if (q->last && (e->parked || q->last->e.n < e->e.n)) {
        behind = q->last;
    } else if (behind && (queue_of(t, behind) != q || behind->e.n > e->e.n)) {
        behind = NULL;
    }
    for (;; behind = e->later) {
        e->later = behind ? behind->later : q->first;
        if (!e->later || e->later->e.n > e->e.n || q == &t->held)
            break;
    }
    e->sooner = behind;
}

struct task_entry *
tasks_walk(struct task_entry *at[N_LISTS])
{
    struct task_entry *e = at[LIST_LIVE], *ended = at[LIST_ENDED];
    int list = ended && (!e || ended->e.n > e->e.n) ? LIST_ENDED : LIST_LIVE;

    e = at[list];
    if (e)
        at[list] = e->older;
    return e;
}

/* Notes when the lease of e ends: the first of all may. */
static void
note_lease_end(struct tasks *t, const struct task_entry *e)
{
    if (e->changed_ms + e->kept_ms < t->held_ms)
        t->held_ms = e->changed_ms + e->kept_ms;
}

struct task_skip *
tasks_skip(struct tasks *t, const struct task_queue *q, uint64_t project)
{
    struct task_skip *skip = &t->skips[(project ^ (uintptr_t)q / sizeof *q) %
                                       TASK_SKIPS];

    if (skip->q != q || skip->project != project)
        *skip = (struct task_skip){q, project, NULL};
    return skip;
}

/* Corrects t->skips before e leaves the queue q or, not as its last, enters. */
static void
fix_skips(struct tasks *t, const struct task_queue *q, struct task_entry *e)
{
    for (struct task_skip *s = t->skips; s < t->skips + TASK_SKIPS; s++)
        if (s->last == e && e->sooner)
            (s->last = e->sooner)->passed = true;
        else if (s->last == e || (s->q == q && !e->passed))
            s->last = NULL;
    e->passed = false;
}

/* Inserts e between the neighbours that its links name, or removes it. */
static void
link_queue(struct tasks *t, struct task_entry *e, bool in)
{
    struct task_queue *q = queue_of(t, e);
    uint32_t owner = e->atom[ATOM_OWNER];
    struct atom_use *of;

    if (!q)
        return;
    if (in ? e->later && q != &t->held : e->passed)
        fix_skips(t, q, e);
    if (e->parked && in)
        t->n_parked++;
    else if (e->parked)
        t->n_parked--;
    *(e->sooner ? &e->sooner->later : &q->first) = in ? e : e->later;
    *(e->later ? &e->later->sooner : &q->last) = in ? e : e->sooner;
    if (e->has_lease && owner)
        atoms_use(&t->atoms, owner)->tally[TALLY_LEASES] += in ? 1 : UINT32_MAX;
    if (q != &t->held)
        return;
    /* Its session has a first and a last task there. */
    of = session_of(t, e);
    if (in)
        note_lease_end(t, e);
    if (!of->first || (!in && of->first == of->last))
        of->first = of->last = in ? e : NULL;
    else if (in)
        of->last = e;
    else if (of->first == e)
        of->first = e->later;
    else if (of->last == e)
        of->last = e->sooner;
}

/* See tasks_fate. */
static int
fate_of(const struct task_entry *e)
{
    if (e->status == TASK_DONE || e->was_done)
        return PARTS_DONE;
    if (e->status == TASK_CANCELLED || e->was_cancelled)
        return PARTS_CANCELLED;
    return e->status == TASK_FAILED || e->archived ? PARTS_FAILED
                                                   : PARTS_UNFINISHED;
}

/* Adds e to its counts, list and queue, or removes it from them. */
static void
link_entry(struct tasks *t, struct task_entry *e, bool in)
{
    uint32_t parent = e->atom[ATOM_PARENT_ID];

    if (parent)
        atoms_use(&t->atoms, parent)->tally[fate_of(e)] += in ? 1 : UINT32_MAX;
    t->count[e->status] += in ? 1 : UINT64_MAX;
    if (e->status == TASK_N_STATUSES)
        return;
    *(e->newer ? &e->newer->older : list_of(t, e)) = in ? e : e->older;
    if (e->older)
        e->older->newer = in ? e : e->newer;
    link_queue(t, e, in);
}

/* ---- parks ---- */

static void
move_in_queues(struct tasks *t, struct task_entry *e, bool parked,
               uint32_t blocker, struct task_entry *behind)
{
    link_queue(t, e, false);
    e->parked = parked;
    e->blocker = blocker;
    find_in_queue(t, e, behind);
    link_queue(t, e, true);
}

/* Only tasks that anybody may begin are parked: the others need kept_ms, which
   shares its place with blocker. What has passed stays so with a kept_ms of
   0. */
void
task_entry_park(struct tasks *t, struct task_entry *e, struct str dep)
{
    int64_t now = store_now_ms(t->store);

    if (!e->parked && task_entry_free(t, e, now) &&
        !task_entry_kept_for(t, e, now).p && tasks_fate(t, dep) != PARTS_DONE)
        move_in_queues(t, e, true, (uint32_t)str_hash(raw_inner(dep)), NULL);
}

/* If e is done, puts the tasks that waited for it back into their queues. They
   are mostly in the order of the queue, so the search for each place begins at
   the one before. */
static void
unpark(struct tasks *t, const struct task_entry *e)
{
    struct task_entry *p, *next, *behind[TASK_N_PRIORITIES] = {NULL};
    uint32_t h;

    if (t->n_parked == 0 || fate_of(e) != PARTS_DONE)
        return;
    h = (uint32_t)str_hash(task_entry_id(e));
    for (p = t->parks[h % TASK_PARKS].first; p; p = next) {
        next = p->later;
        if (p->blocker != h)
            continue;
        move_in_queues(t, p, false, 0, behind[p->priority]);
        behind[p->priority] = p;
    }
}

static void
drop_atoms(struct tasks *t, const struct task_entry *e)
{
    for (int i = 0; i < ENTRY_N_ATOMS; i++)
        atoms_drop(&t->atoms, e->atom[i]);
}

/* ---- names ---- */

/* Notes that an agent of this name (raw) was seen. Too little memory only costs
   a warning its truth. */
static void
note_agent(struct tasks *t, struct str name)
{
    char text[1024]; /* more than a name may have, escaped */
    uint32_t id;

    if (!str_starts(name, "\"") || name.len > sizeof text ||
        t->names.n > NAMES_MAX || str_is(name, "\"unknown\"") ||
        str_starts(name, "\"user of "))
        return;
    memcpy(text, name.p, name.len);
    if (name_stem(raw_inner(name)).len > 0)
        memset(text + name.len - 1 - NAME_HEX, '0', NAME_HEX);
    name.p = text;
    if (atoms_find(&t->names, name) == 0)
        (void)atoms_hold(&t->names, name, 0, &id);
}

struct str
tasks_unseen(const struct tasks *t, struct arena *a,
             const struct task_actor *who, struct str address)
{
    struct str word = raw_inner(address), stem = name_stem(word);
    bool seen = t->names.n > NAMES_MAX ||
                (who->has_token && who->has_token(who->of, word));
    struct buf b = {0};
    int told = 0;

    buf_z(&b, "no agent of that name was seen here");
    for (uint32_t id = t->names.n; !seen && id > 1; id--) {
        struct str name = raw_inner(atoms_text(&t->names, id - 1));
        struct name_agent agent = name_agent_of(name);

        seen = name_reaches(stem.len > 0 ? stem : word, &agent);
        name = agent.product.len > 0 ? agent.product : name;
        if (name.len <= 64 && told++ < NAMES_TOLD)
            buf_printf(&b, "%s%.*s", told == 1 ? "; known: " : ", ",
                       STR_ARG(name));
    }
    b.len = seen ? 0 : b.len;
    return buf_take(&b, a);
}

/* ---- functions called by the store ---- */

/* Holds the atoms of f. On an error it holds none of them. ERR_FORMAT: one is
   not JSON. */
static int
hold_atoms(struct tasks *t, const struct task_entry *old,
           struct task_entry *to, const struct str f[TASK_N_HEAD])
{
    struct str seat = task_seat(f[F_LEASE]);
    struct str text[ENTRY_N_ATOMS] = {
        [ENTRY_CLIENT] = raw_member(seat, "client"),
        [ENTRY_PATHS] = f[F_PATHS],
    };
    int i, rc = 0;

    for (i = 0; i < TASK_N_ATOMS; i++)
        text[i] = f[row_atoms[i].field];
    if (!raw_member(seat, "first").p)
        text[ENTRY_SESSION] = raw_member(seat, "session");
    memset(to->atom, 0, sizeof to->atom);
    for (i = 0; i < ENTRY_N_ATOMS && rc == 0; i++)
        rc = atoms_hold(&t->atoms, text[i], old->atom[i], &to->atom[i]);
    if (rc != 0)
        drop_atoms(t, to);
    return rc;
}

/* The two words of t->named that tell of an id, and four bits in each: together
   they are a Bloom filter. */
struct named_bits {
    uint64_t *word[2], bits[2];
};

static struct named_bits
named_bits_of(const struct tasks *t, struct str id)
{
    uint64_t h = str_hash(id) * UINT64_C(0x9e3779b97f4a7c15);
    struct named_bits m = {{NULL, NULL}, {0, 0}};

    for (int i = 0; i < 2; i++, h *= UINT64_C(0x9e3779b97f4a7c15)) {
        m.word[i] = &t->named[h >> (64 - NAMED_BITS)];
        for (int at = 24; at < 48; at += 6)
            m.bits[i] |= UINT64_C(1) << (h >> at & 63);
    }
    return m;
}

bool
tasks_is_named(const struct tasks *t, struct str id)
{
    struct named_bits m;

    if (!t->named)
        return false;
    m = named_bits_of(t, id);
    return (*m.word[0] & m.bits[0]) == m.bits[0] &&
           (*m.word[1] & m.bits[1]) == m.bits[1];
}

/* Notes that the ids of a list are named, for good: of a record that is undone,
   that costs a search. */
static int
note_dependencies(struct tasks *t, struct str deps)
{
    struct str dep = raw_list_next(deps, STR_NONE);

    if (dep.p && !t->named)
        t->named = calloc(1 << NAMED_BITS, sizeof *t->named);
    if (dep.p && !t->named)
        return ERR_NOMEM;
    for (; dep.p; dep = raw_list_next(deps, dep)) {
        struct named_bits m = named_bits_of(t, raw_inner(dep));

        *m.word[0] |= m.bits[0];
        *m.word[1] |= m.bits[1];
    }
    return 0;
}

/* Sets the values of e from r, and holds its atoms, which are probably those of
   old. Invariant 5. */
static int
read_entry(struct tasks *t, const struct store_rec *r,
           const struct task_entry *old, struct task_event *ev,
           struct task_entry *e)
{
    struct str f[TASK_N_HEAD];
    int rc = task_event_scan(r, ev), status;
    uint64_t priority;
    int64_t at, end;

    if (rc == 0)
        rc = task_head_of(ev->v, f);
    if (rc == 0)
        rc = note_dependencies(t, f[F_DEPENDS_ON]);
    if (rc == 0)
        rc = hold_atoms(t, old, e, f);
    if (rc == ERR_NOMEM)
        return rc;
    if (rc != 0)
        memset(f, 0, sizeof f);
    if (!time_parse(r->time, &e->changed_ms))
        e->changed_ms = 0;
    status = task_status_of(raw_inner(f[F_STATUS]));
    priority = raw_u64(f[F_PRIORITY]);
    e->status = (uint8_t)(status < 0 ? TASK_N_STATUSES : status);
    e->priority = (uint8_t)(priority < TASK_N_PRIORITIES
                            ? priority : TASK_N_PRIORITIES - 1);
    e->has_deps = f[F_DEPENDS_ON].len > 2;
    e->has_lease = e->status == TASK_IN_PROGRESS && f[F_LEASE].p;
    e->has_left = e->has_lease && raw_member(f[F_LEASE], "left").p;
    e->from_ms = task_from_ms(f[F_NOT_BEFORE]);
    at = kept_since(e, e->changed_ms);
    end = task_kept_until((enum task_status)e->status, f[F_LEASE],
                          f[F_HANDOFF], at);
    if (end == INT64_MAX)
        end = at;
    e->kept_ms = end < at ? -1 : (int32_t)(end - at);
    e->gone = e->has_left;
    e->released = e->has_left || (e->has_lease && e->kept_ms <= 0);
    e->has_open = f[F_QUESTIONS].p && task_open_question(f[F_QUESTIONS]).p;
    if (status < 0 && !json_is_valid(r->line)) {
        if (rc == 0)
            drop_atoms(t, e);
        rc = ERR_GARBLED;
        e->status = TASK_OPEN;
    }
    if (rc != 0) {
        memset(e->atom, 0, sizeof e->atom);
        e->priority = TASK_N_PRIORITIES - 1;
    }
    return 0;
}

/* The answer to a repeated request is made from its record, whose event is ev.
   One that creates several tasks has its key in the first of their records. */
static bool
answers_key(const struct store_rec *r, const struct task_event *ev)
{
    return ev->idem.p != NULL || (r->n > r->b && r->p == 0);
}

static int
apply_task(void *ctx, struct store_entry *se, const struct store_rec *r)
{
    struct tasks *t = ctx;
    struct task_entry *e = (struct task_entry *)se, now = *e;
    struct task_event ev = {.idem = STR_NONE};
    struct str result;
    uint64_t hash, who;

    if (r->b == r->n)
        atoms_sweep(&t->atoms); /* invariant 4: older batches are final */
    if (read_entry(t, r, e, &ev, &now) != 0)
        return ERR_NOMEM;
    now.archived = task_event_archives(&ev);
    if (!now.archived)
        note_agent(t, ev.by);
    if (now.status == TASK_IN_PROGRESS &&
        !str_eq(task_entry_text(t, &now, ATOM_OWNER), ev.by))
        note_agent(t, task_entry_text(t, &now, ATOM_OWNER));
    result = now.archived ? raw_member(ev.v, "result") : STR_NONE;
    now.was_done = str_is(result, "\"done\"");
    now.was_cancelled = str_is(result, "\"cancelled\"");
    if (ev.idem.p) {
        hash = task_key_hash(t, ev.op, ev.by, ev.idem, &who);
        if (keys_add(&t->keys, who, hash, r->n) != 0) {
            drop_atoms(t, &now);
            return ERR_NOMEM;
        }
    }
    if (e->known) {
        drop_atoms(t, e);
        link_entry(t, e, false);
    }
    now.e.held = answers_key(r, &ev);
    now.known = true;
    now.parked = now.checked = now.passed = false;
    now.newer = NULL;
    now.older = *list_of(t, &now);
    find_in_queue(t, &now, NULL);
    *e = now;
    link_entry(t, e, true);
    unpark(t, e);
    return 0;
}

static void
undo_task(void *ctx, struct store_entry *se, struct store_entry *old_se)
{
    struct tasks *t = ctx;
    struct task_entry *e = (struct task_entry *)se;
    struct task_entry *old = (struct task_entry *)old_se;

    keys_undo(&t->keys, e->e.n);
    link_entry(t, e, false);
    drop_atoms(t, e);
    if (!old->known)
        return;
    for (int i = 0; i < ENTRY_N_ATOMS; i++)
        atoms_hold_again(&t->atoms, old->atom[i]);
    old->e.chain = e->e.chain; /* the store's own */
    old->passed = false;
    find_in_queue(t, old, old->sooner);
    *e = *old;
    link_entry(t, e, true);
    unpark(t, e);
}

static bool
keep_record(void *ctx, const struct store_rec *r, bool newest, int64_t now_ms)
{
    struct task_event ev;
    int64_t at;

    (void)ctx;
    return newest || (task_event_scan(r, &ev) == 0 && answers_key(r, &ev) &&
                      time_parse(r->time, &at) &&
                      now_ms - at < TASK_KEY_AGE_MS);
}

static void
reset_tasks(void *ctx)
{
    struct tasks *t = ctx;

    atoms_fini(&t->atoms);
    atoms_fini(&t->names);
    keys_fini(&t->keys);
    free(t->named);
    *t = (struct tasks){.store = t->store, .see = t->see, .see_of = t->see_of,
                        .n_gone = t->n_gone, .told_gone = t->told_gone,
                        .atoms = t->atoms, .names = t->names, .body = t->body};
}

/* ---- all tasks ---- */

struct tasks *
tasks_new(void)
{
    struct tasks *t = calloc(1, sizeof *t);

    row_check();
    if (!t)
        return NULL;
    /* Without randomness the seed is 0: slower under attack, but correct. */
    (void)random_bytes(t->atoms.seed, sizeof t->atoms.seed);
    memcpy(t->names.seed, t->atoms.seed, sizeof t->names.seed);
    return t;
}

void
tasks_kind(struct tasks *t, struct store_kind *out)
{
    *out = (struct store_kind){
        .prefix = TASK_PREFIX,
        .entry_size = sizeof(struct task_entry),
        .ctx = t,
        .apply = apply_task,
        .undo = undo_task,
        .keep = keep_record,
        .reset = reset_tasks,
    };
}

void
tasks_bind(struct tasks *t, struct store *s)
{
    t->store = s;
}

void
tasks_watch(struct tasks *t, task_see_fn *see, const void *of)
{
    t->see = see;
    t->see_of = of;
}

enum sight
tasks_see(const struct tasks *t, struct str lease)
{
    struct str seat = task_seat(lease);
    enum sight sight;

    if (!t->see || seat.len == 0)
        return SIGHT_UNKNOWN;
    sight = t->see(t->see_of, raw_inner(raw_member(seat, "session")));
    return sight == SIGHT_GONE && raw_member(seat, "first").p ? SIGHT_UNKNOWN
                                                              : sight;
}

enum sight
task_entry_sight(const struct tasks *t, const struct task_entry *e)
{
    if (e->gone)
        return SIGHT_GONE;
    if (!t->see || e->atom[ENTRY_SESSION] == 0)
        return SIGHT_UNKNOWN;
    return t->see(t->see_of, raw_inner(task_entry_text(t, e, ENTRY_SESSION)));
}

struct task_entry *
task_entry_next_session(struct tasks *t, const struct task_entry *e)
{
    return ((struct task_entry *)session_of(t, e)->last)->later;
}

int64_t
tasks_release(struct tasks *t, int64_t now_ms)
{
    struct task_entry *e, *next, *behind[TASK_N_PRIORITIES] = {NULL};
    int64_t skew = store_skew_ms(t->store);
    bool over = now_ms - skew >= t->held_ms, gone = false;
    uint32_t session = UINT32_MAX;

    if (over)
        t->held_ms = INT64_MAX;
    for (e = t->held.first; e; e = next) {
        if (e->atom[ENTRY_SESSION] != session)
            gone = task_entry_sight(t, e) == SIGHT_GONE;
        session = e->atom[ENTRY_SESSION];
        next = gone || over ? e->later : task_entry_next_session(t, e);
        if (!gone && !task_entry_free(t, e, now_ms)) {
            note_lease_end(t, e);
            continue;
        }
        link_queue(t, e, false);
        e->released = true;
        e->gone = gone;
        t->n_gone += gone;
        find_in_queue(t, e, behind[e->priority]);
        link_queue(t, e, true);
        behind[e->priority] = e;
    }
    return t->held.first ? t->held_ms + skew : 0;
}

bool
tasks_lost(struct tasks *t)
{
    uint64_t told = t->told_gone;

    tasks_release(t, store_now_ms(t->store));
    t->told_gone = t->n_gone;
    return t->n_gone != told;
}

void
tasks_free(struct tasks *t)
{
    if (!t)
        return;
    reset_tasks(t);
    buf_fini(&t->body);
    free(t);
}

struct store *
tasks_store(const struct tasks *t)
{
    return t->store;
}

uint64_t
tasks_count(const struct tasks *t, enum task_status s)
{
    return t->count[s];
}

struct task_entry *
tasks_find(struct tasks *t, struct str id)
{
    char key[STORE_MAX_KEY];
    size_t n = sizeof TASK_PREFIX - 1;

    if (id.len == 0 || id.len > sizeof key - n)
        return NULL;
    memcpy(key, TASK_PREFIX, n);
    memcpy(key + n, id.p, id.len);
    return (struct task_entry *)store_find(t->store,
                                           (struct str){key, n + id.len});
}

struct str
task_entry_text(const struct tasks *t, const struct task_entry *e, int atom)
{
    return atoms_text(&t->atoms, e->atom[atom]);
}

bool
task_entry_is_offered(const struct tasks *t, const struct task_entry *e,
                      const struct task_actor *who)
{
    return !who->repo.p ||
           project_offers(who->repo, task_entry_text(t, e, ATOM_REPO_PATH)) ||
           (e->status == TASK_HANDOFF_READY && who->name.p &&
            str_eq(task_entry_text(t, e, ATOM_OWNER), who->name));
}

struct str
task_entry_id(const struct task_entry *e)
{
    size_t n = sizeof TASK_PREFIX - 1;

    return (struct str){e->e.key + n, e->e.key_len - n};
}

bool
tasks_is_archived(struct tasks *t, struct str id)
{
    const struct task_entry *e = tasks_find(t, id);

    return e && e->archived;
}

struct task_parts
tasks_parts(const struct tasks *t, struct str id)
{
    char raw[STORE_MAX_KEY + 2];
    const uint32_t *n;
    uint32_t atom;

    if (id.len > STORE_MAX_KEY)
        return (struct task_parts){0};
    raw[0] = raw[id.len + 1] = '"';
    memcpy(raw + 1, id.p, id.len);
    atom = atoms_find(&t->atoms, (struct str){raw, id.len + 2});
    if (!atom)
        return (struct task_parts){0};
    n = atoms_use(&t->atoms, atom)->tally;
    return (struct task_parts){
        .total = (uint64_t)n[PARTS_UNFINISHED] + n[PARTS_DONE] +
                 n[PARTS_FAILED] + n[PARTS_CANCELLED],
        .unfinished = n[PARTS_UNFINISHED],
        .done = n[PARTS_DONE],
        .failed = n[PARTS_FAILED],
    };
}

int
tasks_fate(struct tasks *t, struct str dep)
{
    const struct task_entry *e = tasks_find(t, raw_inner(dep));

    return e ? fate_of(e) : PARTS_UNFINISHED;
}

/* ---- tasks whose paths overlap ----

   Paths are advice between agents: no file is locked. They are compared as raw
   JSON strings, which are canonical, by component and without globs. They are
   in the entries of tasks, so that no record is read. */

/* Whether a path of one list (raw) is one of the other, or a directory above
   it. */
static bool
paths_overlap(struct str one, struct str two)
{
    struct str x = STR_NONE, y, a, b;
    size_t n;

    while ((x = raw_list_next(one, x)).p)
        for (y = STR_NONE; (y = raw_list_next(two, y)).p;) {
            a = raw_inner(x);
            b = raw_inner(y);
            n = a.len < b.len ? a.len : b.len;
            if (a.p && b.p && memcmp(a.p, b.p, n) == 0 &&
                (a.len == b.len || (a.len > n ? a : b).p[n] == '/'))
                return true;
        }
    return false;
}

/* Whether the task of e is held, is of the same project, and has paths that
   overlap these. */
static bool
overlaps(const struct tasks *t, const struct task_entry *e,
         struct str repo_path, struct str paths, int64_t now_ms)
{
    return e->atom[ENTRY_PATHS] &&
           project_same(repo_path, task_entry_text(t, e, ATOM_REPO_PATH)) &&
           paths_overlap(paths, task_entry_text(t, e, ENTRY_PATHS)) &&
           !task_entry_free(t, e, now_ms);
}

/* Whether the task of e is that of id, or above or below it. */
static bool
is_related(struct tasks *t, const struct task_entry *e, struct str id,
           struct str parent)
{
    return str_eq(task_entry_id(e), id) ||
           tasks_is_above(t, task_entry_id(e), parent) ||
           tasks_is_above(t, id, task_entry_text(t, e, ATOM_PARENT_ID));
}

int
task_find_clashes(struct tasks *t, struct arena *a, struct task *k)
{
    const struct task_entry *e = t->held.first;
    struct buf b = {0};
    int64_t due, now;
    size_t n = 0;

    k->clashes = STR_NONE;
    k->clash_ms = 0;
    if (!k->f[F_PATHS].p)
        return 0;
    now = store_now_ms(t->store);
    for (; e && n < TASK_CLASHES; e = e->later) {
        if (!overlaps(t, e, k->f[F_REPO_PATH], k->f[F_PATHS], now) ||
            is_related(t, e, k->ev.id, k->f[F_PARENT_ID]) ||
            task_entry_sight(t, e) == SIGHT_GONE)
            continue;
        buf_printf(&b, "%s{\"task_id\":\"%.*s\",\"agent\":%.*s}",
                   n > 0 ? "," : "[", STR_ARG(task_entry_id(e)),
                   STR_ARG(task_entry_text(t, e, ATOM_OWNER)));
        due = task_entry_due(t, e, now);
        if (n++ == 0 || due < k->clash_ms)
            k->clash_ms = due;
    }
    if (n == 0)
        return 0;
    buf_char(&b, ']');
    k->clashes = buf_take(&b, a);
    return k->clashes.p ? 0 : ERR_NOMEM;
}

int64_t
task_entry_clash(struct tasks *t, const struct task_entry *e,
                 const struct task_actor *who, struct clashes *found)
{
    uint32_t paths = e->atom[ENTRY_PATHS], repo = e->atom[ATOM_REPO_PATH];
    struct clash *c = &found->of[(paths ^ repo) % N_CLASHES];
    const struct task_entry *o = t->held.first;
    int64_t now = store_now_ms(t->store);

    if (!paths)
        return 0;
    if (c->paths != paths || c->repo != repo) {
        while (o && (!overlaps(t, o, task_entry_text(t, e, ATOM_REPO_PATH),
                               task_entry_text(t, e, ENTRY_PATHS), now) ||
                     actor_is(who, task_entry_text(t, o, ATOM_OWNER)) ||
                     task_entry_sight(t, o) == SIGHT_GONE))
            o = o->later;
        *c = (struct clash){paths, repo, o};
    }
    return !c->with || is_related(t, c->with, task_entry_id(e),
                                  task_entry_text(t, e, ATOM_PARENT_ID))
        ? 0 : task_entry_due(t, c->with, now);
}
