#ifndef CLI_IMPORT_H
#define CLI_IMPORT_H

/* import - the command that reads what export wrote. */

#include "cli/command.h"

int admin_import(struct cli *c, int argc, char **argv);

#endif
