#ifndef CLI_ADMIN_H
#define CLI_ADMIN_H

/* admin - the commands that care for the store. */

#include "cli/command.h"

int admin_export(struct cli *c, int argc, char **argv);
int admin_verify(struct cli *c, int argc, char **argv);
int admin_compact(struct cli *c, int argc, char **argv);
int admin_backup(struct cli *c, int argc, char **argv);

#endif
