#ifndef CLI_EDITOR_H
#define CLI_EDITOR_H

/* editor - a task is changed in a person's text editor. */

#include "cli/command.h"

/* Opens task id in $VISUAL, $EDITOR or vi, and stores what was changed there,
   unless another change came first. Returns the exit code. */
int cli_edit_text(struct cli *c, const char *id);

#endif
