#ifndef CLI_COMPLETE_H
#define CLI_COMPLETE_H

/* cli_complete - completion for shells. */

#include "cli_command.h"

int cli_completion(struct cli *c, int argc, char **argv);

#endif
