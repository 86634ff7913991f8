#ifndef TASK_CHANGE_H
#define TASK_CHANGE_H

/* change - the tools that change a task, behind their arguments. */

#include "task/task.h"
#include "task/check.h"

/* Runs a tool that changes a task: stages one record, or none when the
   request changes nothing, and fills the receipt. 0, or a code that c->e
   explains. Under the lock; blob is for TOOL_ATTACH only. TOOL_CLAIM without
   a task_id takes the one that task_find_ready gives; where there is none the
   receipt has no id. */
int task_change(struct tasks *t, struct task_ctx *c, enum task_tool tool,
                const struct task_args *args, const struct task_blob *blob,
                struct task_receipt *out);

/* The same with the arguments as JSON text, an object. */
int task_change_text(struct tasks *t, struct task_ctx *c, enum task_tool tool,
                     struct str text, struct task_receipt *out);

#endif
