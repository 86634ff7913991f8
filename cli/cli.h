#ifndef CLI_H
#define CLI_H

/* cli - runs a command. */

#include "cli/command.h"

/* Runs the command argv[0] with the words after it, up to a NULL, and reorders
   them. Returns the exit code; errors have been printed on stderr. */
int cli_main(const struct cli_env *env, char **argv);

#endif
