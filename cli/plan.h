#ifndef CLI_PLAN_H
#define CLI_PLAN_H

/* plan - tasks from a Markdown list: mcptask add -. */

#include "cli/command.h"

/* Creates the tasks of standard input, with the options of add. Returns the
   exit code. */
int cli_add_list(struct cli *c);

#endif
