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

/* Takes the write lock and gives it back: what store_lock_patiently says. By
   that a torn tail is cut off, and memory is up to date. */
int cli_try_lock(struct cli *c);
/* Under the lock: settles the calls that wait for what was staged, commits,
   and gives up the lock. What store_commit says. */
int cli_commit(struct cli *c, bool *unknown);
/* Whether r is the newest record of its key. */
bool cli_is_newest(const struct cli *c, const struct store_rec *r);

#endif
