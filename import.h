#ifndef IMPORT_H
#define IMPORT_H

/* import - the command that reads what export wrote. */

#include "cli_command.h"

int admin_import(struct cli *c, int argc, char **argv);

#endif
