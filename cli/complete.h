#ifndef CLI_COMPLETE_H
#define CLI_COMPLETE_H

/* complete - completion for shells. */

#include "cli/command.h"

int cli_completion(struct cli *c, int argc, char **argv);

#endif
