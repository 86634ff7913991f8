#ifndef CLI_RUN_H
#define CLI_RUN_H

/* run - the command that runs another one under a supervisor. */

#include "cli/command.h"

int cli_run(struct cli *c);

#endif
