#ifndef CLI_UNDO_H
#define CLI_UNDO_H

/* undo - the command that takes back the last change of an agent or person. */

#include "cli/command.h"

int cli_undo(struct cli *c);

#endif
