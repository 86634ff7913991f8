#ifndef CLI_HELP_H
#define CLI_HELP_H

/* help - what --help prints, and completion for shells. */

#include "cli/command.h"

/* Appends the help of a command or, where cmd is NULL, of the program with all
   its commands, the last of which has no name. Its exit code. */
int cli_help(struct buf *b, const struct cli_command *commands,
             const struct cli_command *cmd);
int cli_completion(struct cli *c);

#endif
