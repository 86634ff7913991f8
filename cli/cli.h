#ifndef CLI_H
#define CLI_H

/* cli - the commands: one table of them, and how they are run. */

#include "cli/command.h"

/* Runs the command argv[0] with what stands behind it, which is reordered.
   Returns the exit code, a text about an error having gone to stderr. */
int cli_main(const struct cli_env *env, int argc, char **argv);
/* All of them; the last has no name. */
extern const struct cli_command cli_commands[];

#endif
