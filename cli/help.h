#ifndef CLI_HELP_H
#define CLI_HELP_H

/* help - the text of --help. */

#include "cli/command.h"

/* What help explains besides commands. */
#define CLI_TOPICS "commands", "options", "http", "environment"

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
/* Runs the command help. */
int cli_help(struct cli *c);

#endif
