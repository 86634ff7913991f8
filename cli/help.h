#ifndef CLI_HELP_H
#define CLI_HELP_H

/* help - the text of --help, and completion for shells. */

#include "cli/command.h"

/* Appends the help on cmd or, if cmd is NULL, on the program. Returns the exit
   code. */
int cli_help(struct buf *b, const struct cli_command *cmd);
/* Runs the command completion. */
int cli_completion(struct cli *c);

#endif
