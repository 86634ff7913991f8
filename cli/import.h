#ifndef CLI_IMPORT_H
#define CLI_IMPORT_H

/* import - the command that adds tasks from a file. */

#include "cli/command.h"

int cli_import(struct cli *c);

#endif
