#ifndef TASK_ACTIONS_H
#define TASK_ACTIONS_H

/* actions - what each tool that changes a task does to it. */

#include "task/change.h"
#include "task/rules.h"

/* By enum task_tool, for the tools that change a task. run changes the draft,
   which begins as the stored task or, for a new one, empty. Returns 0,
   DRAFT_UNCHANGED, or a code that the draft's error explains. */
struct task_action {
    const char *op;
    int (*run)(struct draft *d);
};
extern const struct task_action task_actions[];

#endif
