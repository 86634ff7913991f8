#ifndef CLI_WHO_H
#define CLI_WHO_H

/* who - the command that shows what each agent does. */

#include "cli/command.h"

int cli_who(struct cli *c);

#endif
