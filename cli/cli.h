#ifndef CLI_H
#define CLI_H

/* cli - the table of commands, and the function that runs one. */

#include "cli/command.h"

/* Runs the command argv[0] with the words after it, up to a NULL, and reorders
   them. Returns the exit code; errors have been printed on stderr. */
int cli_main(const struct cli_env *env, char **argv);
/* All commands; a row without a name ends the table. */
extern const struct cli_command cli_commands[];

#endif
