#ifndef CLI_HOOK_H
#define CLI_HOOK_H

/* hook - the command that a client runs when a session starts and ends. */

#include "cli/command.h"

int cli_hook(struct cli *c);

#endif
