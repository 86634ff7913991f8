#ifndef CLI_H
#define CLI_H

/* cli - the commands: one table of them, and how they are run. */

#include "cli_command.h"

/* Runs the command argv[0] with what stands behind it, which is reordered.
   Returns the exit code, a text about an error having gone to stderr. */
int cli_main(const struct cli_env *env, int argc, char **argv);
/* All of them; the last has no name. */
extern const struct cli_command cli_commands[];

/* Opens one, once in a process; why as in store_open. To be closed also after
   an error. */
int cli_open_store(const struct cli_env *env, bool readonly,
                   struct cli_store *out, char why[256]);
void cli_close_store(struct cli_store *s);

/* Opens the store: 0, or an exit code, said. */
int cli_open(struct cli *c, bool readonly);

/* Before a commit, under the lock: settles the calls that wait for what was
   staged. What cannot be settled now will be by whoever comes next. */
void cli_settle(struct cli *c);

/* One of the store's paths that cannot be written, and errno; NULL: all
   can, or can be made. */
const char *cli_not_writable(struct cli *c, const char *log, int *why);

#endif
