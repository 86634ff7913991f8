#ifndef TOOLS_WAIT_H
#define TOOLS_WAIT_H

/* wait - the tools for working with others: claim_task, request_input and
   wait_for_task. */

#include "tools/call.h"

/* The tools. */
int tools_claim(struct mcp_call *c);
int tools_ask(struct mcp_call *c);
int tools_wait(struct mcp_call *c);

#endif
