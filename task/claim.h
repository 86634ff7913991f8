#ifndef TASK_CLAIM_H
#define TASK_CLAIM_H

/* claim - the next task to claim, and why there is none. */

#include "task/check.h"
#include "task/task.h"

/* Which task is wanted. */
struct task_want {
    struct task_actor who; /* who claims it; without a name: any agent */
    struct str owner;     /* raw, .p NULL: anybody's */
    struct str repo_path; /* raw; .p NULL: of who's project, or what is handed
                             to who by its name; "*": any; a list: one */
    struct str tag;       /* raw, .p NULL: any */
    /* Notes that the holder of a task is gone: see task_leave. NULL: nothing
       does. */
    int (*leave)(struct tasks *t, struct arena *a, const struct task *k);
    bool partial;         /* out: not all tasks were examined, */
    bool more;            /* but the next search examines others */
    int64_t due_ms;       /* out: when time alone brings the next; 0: never */
};

/* From the arguments of claim_task; who has only the name that they give. */
struct task_want task_want_of(const struct task_args *args);
/* Finds the first of the tasks that who may claim. First come those under
   leases that ended, or whose holder is gone, of who or of a session that who
   inherits from (task/may.h); then those that were handed to who; then all that
   are ready and that no preference keeps from it, by priority, what was begun
   first, then by the longest wait. *out is its id; .p NULL: no task is ready.
   Under the lock it also has those noted whose holders are gone. 0, or an error
   of store_read. */
int tasks_find_ready(struct tasks *t, struct task_want *w, struct str *out);

/* Reads the newest events of up to max tasks, but for that of the id besides,
   under running leases of who's name, or of its session under any name. Memory
   in a. Returns how many, or an error of store_read. */
int tasks_held(struct tasks *t, struct arena *a, const struct task_actor *who,
               struct str besides, struct task_event *out, int max);

/* When somebody else may begin task id without a further change: when its
   not_before has come, its lease ends, its handoff is open to anyone or,
   without a lease, it counts as stale. 0: it does not depend on time. */
int64_t tasks_due_ms(struct tasks *t, struct str id);

/* Why no task is ready: up to three that who could claim by takeover; how many
   are blocked and by which tasks, how many are held and by whom, how many are
   for later, how many have a record that is not JSON; and how many are ready in
   other projects than those of w, and in
   which. */
#define TASK_REASONS 4
struct task_reason {
    struct str who;          /* raw: a task's id, an agent, or a repo_path, null
                                for none; .p NULL: end */
    struct str status;       /* of that task, .p NULL: there is no such task */
    uint64_t n;              /* tasks */
    int64_t until_ms;        /* when the first one held by the agent is free; 0:
                                a blocker */
    bool gone;               /* the agent is seen to be gone */
};
/* A task that only a preference keeps from who. All in memory of its own. */
#define TASK_COULD 3
struct task_could {
    struct str id, title; /* raw */
    struct str was;       /* see task_was */
    struct str to;        /* raw: to whom it was handed; .p NULL: to nobody */
    int64_t free_ms;      /* when it is anybody's; 0: at no time */
};
struct task_why {
    struct task_could could[TASK_COULD]; /* those that are free first */
    size_t n_could;
    uint64_t blocked, held, damaged, elsewhere;
    struct task_reason blockers[TASK_REASONS], holders[TASK_REASONS];
    struct task_reason projects[TASK_REASONS];
    uint64_t later;   /* tasks that may not be begun yet, */
    int64_t later_ms; /* the first of them from then on */
    uint64_t waiting; /* for their parts, or one above them: see task_cause */
    bool partial; /* not all tasks were examined */
};
/* Examines the tasks that match w, but for their project. Memory in a. 0, or an
   error of store_read. */
int tasks_why_none(struct tasks *t, struct arena *a,
                   const struct task_want *w, struct task_why *out);

#endif
