#ifndef CLI_STORE_H
#define CLI_STORE_H

/* store - the store as commands open it. */

#include "cli/command.h"

/* Opens a store, once in a process; why as in store_open. To be closed also
   after an error. */
int cli_open_store(const struct cli_env *env, bool readonly,
                   struct cli_store *out, char why[256]);
void cli_close_store(struct cli_store *s);

/* Opens the store: 0, or an exit code, said. */
int cli_open(struct cli *c, bool readonly);
/* Closes it, and returns the exit code, so far rc. A damaged log is read as far
   as it is whole; whoever reads is told that this may not be all. */
int cli_close(struct cli *c, int rc);

/* Before a commit, under the lock: settles the calls that wait for what was
   staged. What cannot be settled now will be by whoever comes next. */
void cli_settle(struct cli *c);

/* One of the store's paths that cannot be written, and errno; NULL: all
   can, or can be made. */
const char *cli_not_writable(struct cli *c, const char *log, int *why);

/* The command: whether the store can be used. */
int cli_health(struct cli *c, int argc, char **argv);

#endif
