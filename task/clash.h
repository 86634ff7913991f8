#ifndef TASK_CLASH_H
#define TASK_CLASH_H

/* clash - tasks whose paths overlap. Used only in this folder. */

#include "task/index.h"

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

/* Whether s may be one of the paths: relative, of components that are neither
   empty nor "." nor "..". */
bool task_is_path(struct str s);

#endif
