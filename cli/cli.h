#ifndef CLI_H
#define CLI_H

/* cli - the commands: one table of them, and how they are run. */

#include "cli/command.h"

/* Runs the command argv[0] with the words after it, up to a NULL; they are
   reordered. Returns the exit code; errors have been told on stderr. */
int cli_main(const struct cli_env *env, char **argv);
/* All of them; the last has no name. */
extern const struct cli_command cli_commands[];

#endif
