#ifndef CLI_HELP_H
#define CLI_HELP_H

/* help - what is made from the table of commands: the text of --help, and
   scripts with which shells complete a command line. */

#include "cli/command.h"

/* The command of that name, or NULL. */
const struct cli_command *cli_find_command(const struct cli_command *all,
                                           const char *name);
/* Prints that there is no such command, and which one may be meant. Returns the
   exit code. */
int cli_fail_command(const struct cli *c, const char *name);
/* The option that every command has. */
extern const struct env_opt cli_json_opt;
/* Appends the help on c->cmd to c->out. Returns the exit code. */
int cli_help_command(struct cli *c);
/* The commands help and completion. */
int cli_help(struct cli *c);
int cli_completion(struct cli *c);

#endif
