#ifndef CLI_ADMIN_H
#define CLI_ADMIN_H

/* admin - the commands that maintain the store, and check whether it can be
   used. */

#include "cli/command.h"

int cli_verify(struct cli *c);
int cli_compact(struct cli *c);
int cli_backup(struct cli *c);
int cli_archive(struct cli *c);
int cli_health(struct cli *c);
int cli_doctor(struct cli *c);
/* Checks the artifacts that the newest records name, and fetches those that
   only other hosts have; share: also puts them where the others find them.
   Prints each of the *bad ones. Returns CLI_OK, CLI_STORE if any is bad, or an
   exit code after printing the error. */
int cli_artifacts(struct cli *c, bool share, uint64_t *n, uint64_t *bad);
/* Writes the whole records of the log to a new one of this host alone, and says
   how many. Returns 0, or an exit code after printing the error. */
int cli_repair(struct cli *c, const char *out);

#endif
