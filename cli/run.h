#ifndef CLI_RUN_H
#define CLI_RUN_H

/* run - the command that runs another one under a supervisor; and how other
   commands start programs. */

#include "cli/command.h"

#include <sys/types.h>

int cli_run(struct cli *c);
/* Reports the commands that have ended while nobody was left to report their
   result. Errors are printed. */
void cli_run_tell_lost(const struct cli_env *env, const struct cli_store *s);
/* Starts the program at path, whose standard input, output and error are these
   descriptors; err -1: closed. Its signals are the default ones. Returns its
   number, or -1 with errno. If it
   cannot be executed, it prints that, and exits with 1. */
pid_t cli_start_program(const struct cli *c, const char *path,
                        char *const argv[], int in, int out, int err);
/* Waits for its end. Returns its exit code or 128 and its signal; or an exit
   code after printing the error, also for a start that failed, as pid -1. */
int cli_wait_program(const struct cli *c, const char *path, pid_t pid);

#endif
