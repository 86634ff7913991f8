#ifndef CLI_EDIT_H
#define CLI_EDIT_H

/* edit - the commands with which a person creates and changes tasks. */

#include "cli/command.h"

int cli_add(struct cli *c);
int cli_edit(struct cli *c);
int cli_done(struct cli *c);
int cli_failed(struct cli *c);
int cli_cancel(struct cli *c);
int cli_reopen(struct cli *c);
int cli_ask(struct cli *c);
int cli_message(struct cli *c);
int cli_attach(struct cli *c);

#endif
