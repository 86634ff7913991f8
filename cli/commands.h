#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

/* commands - every command, and every option of a command, a row each: the
   source of the parser, of --help, of completion and of the manual's lists. */

#include "cli/command.h"

/* By group; one without a name ends them. */
extern const struct cli_command cli_commands[];

#endif
