#ifndef CLI_WORK_H
#define CLI_WORK_H

/* work - the commands that work on tasks. */

#include "cli/command.h"

int cli_claim(struct cli *c);
int cli_checkpoint(struct cli *c);
int cli_handoff(struct cli *c);
int cli_answer(struct cli *c);
int cli_wait(struct cli *c);

#endif
