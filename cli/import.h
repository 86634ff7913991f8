#ifndef CLI_IMPORT_H
#define CLI_IMPORT_H

/* import - the commands that write tasks out and read them in. */

#include "cli/command.h"

int cli_export(struct cli *c);
int cli_import(struct cli *c);

#endif
