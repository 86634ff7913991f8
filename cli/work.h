#ifndef CLI_WORK_H
#define CLI_WORK_H

/* work - the commands that create and change tasks, ask and wait. */

#include "cli/command.h"

int cli_add(struct cli *c);
int cli_edit(struct cli *c);
int cli_claim(struct cli *c);
int cli_checkpoint(struct cli *c);
int cli_handoff(struct cli *c);
int cli_attach(struct cli *c);
int cli_done(struct cli *c);
int cli_failed(struct cli *c);
int cli_cancel(struct cli *c);
int cli_reopen(struct cli *c);
int cli_ask(struct cli *c);
int cli_answer(struct cli *c);
int cli_message(struct cli *c);
int cli_wait(struct cli *c);

#endif
