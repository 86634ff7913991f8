#ifndef TASK_ACTIONS_H
#define TASK_ACTIONS_H

/* actions - what each tool that changes a task does to it. */

#include "task/change.h"
#include "task/rules.h"

/* By enum task_tool, for those that change a task. run changes the draft, of
   the task as it was or, for a new one, of nothing: 0, DRAFT_UNCHANGED, or
   the code that the draft's error explains. */
struct task_action {
    const char *op;
    int (*run)(struct draft *d);
};
extern const struct task_action task_actions[];

/* Chooses a task for a claim without a task_id: sets the draft's id, or where
   no task is ready the receipt. 0, or as run. */
int actions_choose(struct draft *d, struct task_receipt *out);

#endif
