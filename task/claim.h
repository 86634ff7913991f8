#ifndef TASK_CLAIM_H
#define TASK_CLAIM_H

/* claim - the task that an agent is given which asks for one. */

#include "task/task.h"

struct task_entry;

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
