#ifndef TASK_LEASE_H
#define TASK_LEASE_H

/* task_lease - who may work on a task for a while, and which task is the next
   to be taken up. A lease is a raw object {agent, expires_at, seconds}. */

#include "task_index.h"

#define TASK_LEASE_S "900"                 /* where nobody says how long */
#define TASK_LEASE_MAX_MS (86400 * 1000)

/* When a lease ends; false: there is none. */
bool task_lease_end(struct str lease, int64_t *ms);
/* The lease of an agent (raw) that runs for seconds (raw, .p NULL: as many as
   TASK_LEASE_S) from now on; .p NULL: no memory. */
struct str task_lease_make(struct arena *a, struct str agent,
                           struct str seconds, int64_t now);
/* Whether one of a task's questions waits for its answer. */
bool task_has_open(struct str questions);

/* Whether the task of e may be begun, as far as the entry alone can tell: it
   is live, and nobody works on it, or somebody's lease has run out. */
bool task_entry_free(const struct tasks *t, const struct task_entry *e);
/* Puts e into its queue between its neighbours, as its own links name them,
   or takes it out; nothing where it belongs into none. */
void task_queue_link(struct tasks *t, struct task_entry *e, bool in);
/* Sets the links of e to the end of its queue. */
void task_queue_end(struct tasks *t, struct task_entry *e);

/* What the task to be claimed must be like. */
struct task_want {
    struct str by;        /* raw: who claims it */
    struct str repo_path; /* raw, .p NULL: any */
    struct str tag;       /* raw, .p NULL: any */
    bool partial;         /* out: it was not looked at all of them */
};

/* Of the tasks that are ready, and not handed to somebody else, one of the
   lowest priority number, and of these the one that has waited longest, in
   *out; NULL: there is none. Looks at no more than TASK_LOOK_MAX tasks. 0, or
   what store_read says. */
int task_find_ready(struct tasks *t, struct task_want *w,
                    struct task_entry **out);

#endif
