#ifndef MCP_STATE_H
#define MCP_STATE_H

/* state - what a modern client keeps for a call that asks it something. */

#include "mcp/message.h"

/* Reads inputResponses and requestState of a modern request: a forged, old
   or foreign state is refused. */
int mcp_check_inputs(struct request *r);
/* Writes the members of an input_required result. Returns MCP_NEEDS_INPUT,
   ERR_NOMEM, or an error of sign_seal. */
int mcp_put_input_required(struct request *r);

#endif
