#ifndef CLI_BOARD_H
#define CLI_BOARD_H

/* board - all tasks in columns. */

#include "cli/command.h"

int cli_board(struct cli *c, int argc, char **argv);

#endif
