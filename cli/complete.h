#ifndef CLI_COMPLETE_H
#define CLI_COMPLETE_H

/* complete - scripts with which shells complete a command line. */

#include "cli/command.h"

/* Runs the command completion. */
int cli_completion(struct cli *c);

#endif
