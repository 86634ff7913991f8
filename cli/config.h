#ifndef CLI_CONFIG_H
#define CLI_CONFIG_H

/* config - what to paste into an MCP client. */

#include "cli/command.h"

/* This binary's own path; where the system does not tell, what PATH finds. */
struct str cli_own_path(struct arena *a);
/* Appends the names of the clients that config knows, a blank before each. */
void cli_put_clients(struct buf *b);
int cli_config(struct cli *c);

#endif
