#ifndef TASK_CLAIM_H
#define TASK_CLAIM_H

/* claim - the next task to claim, and why there is none. */

#include "task/check.h"
#include "task/task.h"

/* What a task to be claimed must be like. */
struct task_want {
    struct str by;        /* raw: who claims it */
    struct str repo_path; /* raw, .p NULL: any */
    struct str tag;       /* raw, .p NULL: any */
    bool partial;         /* out: not all tasks were looked at, */
    bool more;            /* but the next search sees others */
    int64_t due_ms;       /* out: when time alone brings the next; 0: never */
};

/* What claim_task's arguments want; by is .p NULL where agent is not given. */
struct task_want task_want_of(const struct task_args *args);
/* Of the tasks that are ready, and not handed to somebody else, the one that
   comes first: those handed to by, then the lowest priority number, then what
   has waited longest. Its id in *out; .p NULL: no task is ready. 0, or what
   store_read says. */
int tasks_find_ready(struct tasks *t, struct task_want *w, struct str *out);

/* When time alone lets anybody begin task id, which somebody has: its lease
   ends, or who has none has not changed it for long; 0: it does not. */
int64_t tasks_due_ms(struct tasks *t, struct str id);

/* Why no task is ready: how many are blocked, and by which most; how many are
   in somebody's hands, and in whose most. */
#define TASK_REASONS 4
struct task_reason {
    struct str who;          /* raw: a task's id, or an agent; .p NULL: no
                                more are named */
    struct str status;       /* of that task, .p NULL: it is not there */
    uint64_t n;              /* tasks */
    int64_t until_ms;        /* when the agent's first one is anyone's; 0: a
                                task's */
};
struct task_why {
    uint64_t blocked, held;
    struct task_reason blockers[TASK_REASONS], holders[TASK_REASONS];
    bool partial; /* not all tasks were looked at */
};
/* Of the tasks that w may want. Memory in a, and as in tasks_owners. 0, or
   what store_read says. */
int tasks_why_none(struct tasks *t, struct arena *a,
                   const struct task_want *w, struct task_why *out);

#endif
