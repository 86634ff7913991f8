#ifndef CLI_ADMIN_H
#define CLI_ADMIN_H

/* admin - the commands that maintain the store. */

#include "cli/command.h"

int cli_verify(struct cli *c);
int cli_compact(struct cli *c);
int cli_backup(struct cli *c);
int cli_archive(struct cli *c);
/* Writes the whole records of the log to a new one of this host alone, and says
   how many. Returns 0, or an exit code after printing the error. */
int cli_repair(struct cli *c, const char *out);

#endif
