#ifndef MCP_ACCEPT_H
#define MCP_ACCEPT_H

/* accept - messages are judged. */

#include "mcp/message.h"

/* Parses and judges m->text by f; all else of m is zero but m->m, m->a and
   what m->scratch has. ERR_NOMEM. */
int mcp_judge(struct mcp_message *m, const struct mcp_facts *f);

#endif
