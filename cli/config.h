#ifndef CLI_CONFIG_H
#define CLI_CONFIG_H

/* config - what to paste into an MCP client, and the client's own command. */

#include "cli/command.h"

/* The path of this binary, or what it was called where the system does not
   say. */
struct str cli_own_path(struct cli *c);
/* Appends the names of the clients that config knows, each after a blank. */
void cli_put_clients(struct buf *b);
int cli_config(struct cli *c);
int cli_setup(struct cli *c);

#endif
