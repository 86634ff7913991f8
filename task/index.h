#ifndef TASK_INDEX_H
#define TASK_INDEX_H

/* index - index entries of tasks, and how records become entries. Used only in
   this folder. */

#include "task/task.h"
#include "task/tables.h"

/* Of a task under a lease: the session in which that was taken, if its end can
   be seen and says something, and the product of its client. Of every task: its
   paths, for which it depends on others whether it is ready. */
enum {
    ENTRY_SESSION = TASK_N_ATOMS, ENTRY_CLIENT, ENTRY_PATHS, ENTRY_N_ATOMS
};

struct task_entry {
    struct store_entry e;
    struct task_entry *newer, *older; /* in the same list, ordered by e.n */
    struct task_entry *sooner, *later; /* in the same queue, ordered by e.n */
    int64_t changed_ms;
    int64_t from_ms; /* task_from_ms */
    uint32_t atom[ENTRY_N_ATOMS]; /* interned raw values, by enum task_atom;
                                     then of the lease */
    union {
        int32_t kept_ms;  /* task_kept_until, after its at */
        uint32_t blocker; /* of a parked task, which nobody keeps: hash of its
                             blocker's id */
    };
    uint8_t status; /* TASK_N_STATUSES: unreadable here, on no list */
    uint8_t priority;
    bool has_deps : 1;
    bool has_open : 1;  /* has an open question */
    bool has_lease : 1; /* is in progress under one, which may have run out */
    bool has_left : 1;  /* and its holder was seen to be gone */
    bool released : 1;  /* and it was seen to have run out, or */
    bool gone : 1;      /* its holder to be gone */
    bool seen : 1;  /* visited by the current walk; else false */
    bool known : 1; /* a record was applied: it has a status and a place */
    bool archived : 1; /* in an archive: unreadable, but its id is taken */
    bool was_done : 1; /* it was done: what depends on it may begin */
    bool was_cancelled : 1;
    bool parked : 1; /* known to be blocked */
    bool passed : 1; /* some t->skips may end with it */
    bool checked : 1; /* its record was read or made here, and is JSON */
};

enum { LIST_LIVE, LIST_ENDED, N_LISTS };

/* The tasks that may be claimed; see task/index.c. */
struct task_queue {
    struct task_entry *first, *last;
};
#define TASK_N_PRIORITIES 5
/* Open tasks, and those of them that depend on others; then what was begun:
   released from a lease, handed to an agent, and all else. */
enum {
    QUEUE_PLAIN, QUEUE_DEPS, QUEUE_RELEASED, QUEUE_HANDED, QUEUE_BEGUN, N_QUEUES
};
#define TASK_PARKS 256
/* What is counted with the atom of a task's id: its parts; and of an owner. */
enum {
    PARTS_UNFINISHED, PARTS_DONE, PARTS_FAILED, PARTS_CANCELLED, TALLY_LEASES,
    N_TALLIES
};
_Static_assert(N_TALLIES == ATOM_TALLIES, "each has its place");
/* The first tasks of a queue, up to last, are of other projects than one. */
struct task_skip {
    const struct task_queue *q;
    uint64_t project; /* a hash of how it was asked for */
    struct task_entry *last; /* or NULL */
};
#define TASK_SKIPS 256

struct tasks {
    struct store *store;
    task_see_fn *see; /* of tasks_watch; or NULL */
    const void *see_of;
    uint64_t n_gone, told_gone; /* tasks whose holders were seen to be gone,
                                   and what tasks_lost last knew of */
    struct task_entry *newest[N_LISTS];
    struct task_queue queue[TASK_N_PRIORITIES][N_QUEUES];
    struct task_queue parks[TASK_PARKS]; /* by what blocks them */
    struct task_queue held; /* under a lease, those of a session in a row */
    struct atom_use unknown; /* as of a session, of those in none */
    int64_t held_ms; /* none of their leases ends before */
    struct task_skip skips[TASK_SKIPS]; /* by hash of queue and project */
    uint32_t n_parked;
    uint64_t count[TASK_N_STATUSES + 1];
    struct atoms atoms;
    struct atoms names; /* of agents: invariant 11 */
    struct task_keys keys;
    uint64_t *named;      /* see tasks_is_named; NULL: of no id */
    struct buf body; /* for the next record; reused, since it is in the cache */
};

/* What can be seen of who holds the lease (raw). The first call of a session
   over HTTP may be its only one: its end says nothing. */
enum sight tasks_see(const struct tasks *t, struct str lease);
/* The same of the lease of e; gone also if that was seen before. */
enum sight task_entry_sight(const struct tasks *t, const struct task_entry *e);
/* Moves the tasks from t->held to their queues whose leases have ended by
   now_ms, or whose holders are gone: sees each session once. Returns when the
   first of the other leases may end, on all hosts; 0: there is none. */
int64_t tasks_release(struct tasks *t, int64_t now_ms);
/* What is known of a queue and a project, for a search that adds to it. Valid
   until the next call. */
struct task_skip *tasks_skip(struct tasks *t, const struct task_queue *q,
                             uint64_t project);
/* The first task in t->held of another session than that of e. */
struct task_entry *task_entry_next_session(struct tasks *t,
                                           const struct task_entry *e);
/* The entry of a task's id, or NULL. */
struct task_entry *tasks_find(struct tasks *t, struct str id);
/* Whether a record has the id among its dependencies. True of a few others,
   too: of one in two million where 100,000 ids are named, and of one in 36
   where a million are. */
bool tasks_is_named(const struct tasks *t, struct str id);
/* Returns the later changed of the two entries at[], initially the heads of
   both lists, and advances past it. NULL: the end. */
struct task_entry *tasks_walk(struct task_entry *at[N_LISTS]);
/* One of the entry's interned texts. */
struct str task_entry_text(const struct tasks *t, const struct task_entry *e,
                           int atom);
/* The entry's task_id. */
struct str task_entry_id(const struct task_entry *e);
/* The hash by which the index files an idempotency key, and that of its
   principal. */
uint64_t task_key_hash(const struct tasks *t, struct str op, struct str by,
                       struct str idem, uint64_t *who);
/* What entries tell depends on the time, now_ms: that of store_now_ms, which a
   walk past many of them reads once.

   Returns whether the task of e may be begun, judged by the entry alone: it is
   live, and not in progress, or its lease has expired, or it is in progress
   without a lease and unchanged for TASK_STALE_MS. */
bool task_entry_free(const struct tasks *t, const struct task_entry *e,
                     int64_t now_ms);
/* Whether it may be begun only later, by its not_before. */
bool task_entry_is_early(const struct task_entry *e, int64_t now_ms);
/* Returns the entry of a parent (raw), or NULL, and sets *parent to its own. A
   walk takes PARENTS_MAX steps at most: stored parents may lead back. */
#define PARENTS_MAX 64
struct task_entry *tasks_step_up(struct tasks *t, struct str *parent);
/* Whether the task of id is above the one whose parent (raw) is given, up to
   PARENTS_MAX levels. */
bool tasks_is_above(struct tasks *t, struct str id, struct str parent);
/* Parts begin only after what they are parts of may begin. Returns the next
   task above one with this parent (raw) that is to begin later, or was
   cancelled; NULL: there is none up to PARENTS_MAX levels. */
struct task_entry *tasks_put_off(struct tasks *t, struct str parent,
                                 int64_t now_ms);
/* Whether the task of e is not ready for that reason, or since it has
   unfinished parts. */
bool task_entry_waits(struct tasks *t, const struct task_entry *e,
                      int64_t now_ms);
/* When time alone changes task_entry_free, or who may begin the task:
   store_skew_ms after the end of a lease. */
int64_t task_entry_due(const struct tasks *t, const struct task_entry *e,
                       int64_t now_ms);
/* Whether work on the task of e is offered to who, as far as projects go: it is
   of who's project or of none, or was handed over to exactly who's name. */
bool task_entry_is_offered(const struct tasks *t, const struct task_entry *e,
                           const struct task_actor *who);
/* A warning, as it stands in JSON, that no agent that address (raw) reaches was
   seen in the store, with the names that were seen last. Empty: one has a
   token or made a record that the store still has, or too many were seen to
   tell. .p NULL: no memory. */
struct str tasks_unseen(const struct tasks *t, struct arena *a,
                        const struct task_actor *who, struct str address);
/* The agent (raw) to whom the task of e was just handed over, or for whom it is
   meant; or .p NULL. */
struct str task_entry_kept_for(const struct tasks *t,
                               const struct task_entry *e, int64_t now_ms);
/* What became of the task whose id is dep (a raw JSON string): one of PARTS_*.
   One that is missing, or that only a newer version can read, may not have
   ended. */
int tasks_fate(struct tasks *t, struct str dep);
/* Takes e, which has been found blocked by dep (a raw JSON string), out of its
   queue until that is done, or e changes. */
void task_entry_park(struct tasks *t, struct task_entry *e, struct str dep);
/* Reads the newest record of e and splits it, as task_event_of. */
int task_entry_event(struct tasks *t, struct task_entry *e,
                     struct arena *a, struct task_event *out);

/* ---- tasks whose paths overlap ---- */

/* Finds the tasks under running leases, but for those whose holder is seen to
   be gone, of the project of k whose paths overlap those of k, which is neither
   above nor below them. Sets k->clashes to up to TASK_CLASHES of them, and
   k->clash_ms to when the first of their leases ends. 0 or ERR_NOMEM. */
#define TASK_CLASHES 4
int task_find_clashes(struct tasks *t, struct arena *a, struct task *k);

/* When the lease ends of a task of another agent than who that overlaps with e,
   by their entries alone; 0: there is none, or the record of e has to tell.
   *found, zeroed before, holds what was found in the same search: many tasks
   have the same paths. */
#define N_CLASHES 128
struct clashes {
    struct clash {
        uint32_t paths, repo; /* atoms */
        const struct task_entry *with; /* or NULL */
    } of[N_CLASHES];
};
int64_t task_entry_clash(struct tasks *t, const struct task_entry *e,
                         const struct task_actor *who, struct clashes *found);

#endif
