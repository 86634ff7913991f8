#ifndef CLI_SHOW_H
#define CLI_SHOW_H

/* show - the commands that look at tasks and calls. */

#include "cli/command.h"

int cli_list(struct cli *c, int argc, char **argv);
int cli_show(struct cli *c, int argc, char **argv);
int cli_history(struct cli *c, int argc, char **argv);
int cli_tail(struct cli *c, int argc, char **argv);

#endif
