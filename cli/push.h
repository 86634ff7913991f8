#ifndef CLI_PUSH_H
#define CLI_PUSH_H

/* push - the commands that move a log into a store of several hosts, and out of
   it. */

#include "cli/command.h"

int cli_push(struct cli *c);
int cli_pull(struct cli *c);

#endif
