#ifndef CLI_IMPORT_H
#define CLI_IMPORT_H

/* import - the commands that export and import tasks. */

#include "cli/command.h"

int cli_export(struct cli *c);
int cli_import(struct cli *c);

#endif
