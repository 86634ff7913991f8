#ifndef ADMIN_H
#define ADMIN_H

/* admin - the commands that care for the store or move tasks between stores.
   Each is run by cli_main and returns its exit code. */

#include "cli.h"

int admin_export(struct cli *c, int argc, char **argv);
int admin_import(struct cli *c, int argc, char **argv);
int admin_verify(struct cli *c, int argc, char **argv);
int admin_compact(struct cli *c, int argc, char **argv);
int admin_archive(struct cli *c, int argc, char **argv);
int admin_backup(struct cli *c, int argc, char **argv);

#endif
