#ifndef CLI_SHOW_H
#define CLI_SHOW_H

/* show - the commands that show tasks and calls. */

#include "cli/command.h"

int cli_list(struct cli *c);
int cli_show(struct cli *c);
int cli_history(struct cli *c);
int cli_tail(struct cli *c);
int cli_board(struct cli *c);

/* Appends the whole task, as markdown or as JSON. */
void cli_put_whole(struct cli *c, const struct task *k, bool md);

#endif
