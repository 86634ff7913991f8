#ifndef CLI_RUN_H
#define CLI_RUN_H

/* run - the command that runs another one under a supervisor. */

#include "cli/command.h"

int cli_run(struct cli *c);
/* Reports the commands that have ended while nobody was left to report their
   result. Errors are printed. */
void cli_run_tell_lost(const struct cli_env *env, const struct cli_store *s);

#endif
