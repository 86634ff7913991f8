#ifndef CLI_EXPORT_H
#define CLI_EXPORT_H

/* export - the command that writes tasks. */

#include "cli/command.h"

int cli_export(struct cli *c);

#endif
