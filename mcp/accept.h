#ifndef MCP_ACCEPT_H
#define MCP_ACCEPT_H

/* accept - judges messages. */

#include "mcp/message.h"

/* Parses and judges m->text by f. All of m is zero but text, m, a and what
   scratch has. Returns 0 or ERR_NOMEM. */
int mcp_judge(struct mcp_message *m, const struct mcp_facts *f);

#endif
