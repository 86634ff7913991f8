#ifndef CLI_BOARD_H
#define CLI_BOARD_H

/* board - the command that shows all tasks in columns. */

#include "cli/command.h"

int cli_board(struct cli *c);

#endif
