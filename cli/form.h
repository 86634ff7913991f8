#ifndef CLI_FORM_H
#define CLI_FORM_H

/* form - a task as a text that a person edits: its fields, and the goal. */

#include "cli/command.h"
#include "task/task.h"

#define FORM_MAX (256 * 1024) /* bytes of a text */

/* Appends the task. */
void form_put(struct buf *b, struct arena *a, const struct task *k);
/* Reads a text into JSON values, in a, by enum task_field. One that the text
   does not have is .p NULL. Returns 0; ERR_NOMEM; or ERR_SYNTAX with why. */
int form_read(struct arena *a, struct str text, struct str out[TASK_N_FIELDS],
              char why[128]);

#endif
