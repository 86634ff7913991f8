#ifndef CLI_ADMIN_H
#define CLI_ADMIN_H

/* admin - the commands that maintain the store. */

#include "cli/command.h"

int cli_verify(struct cli *c);
int cli_compact(struct cli *c);
int cli_backup(struct cli *c);
int cli_archive(struct cli *c);

#endif
