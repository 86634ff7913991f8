#ifndef MCP_RUN_H
#define MCP_RUN_H

/* run - a run of a request. mcp/catalogue.h has what a run may ask for. */

#include "mcp/message.h"

#define MCP_MAX_MESSAGE 256 /* bytes of a status message */

/* Kinds of results beside 0: input_required; a new task. */
enum { MCP_NEEDS_INPUT = 1, MCP_TASK = 2 };

/* Forgets the last run of r and runs its method. Appends its answer to out, or
   for a deferred call that runs again only the result, up to the end of the
   members: r->run.w writes it. Returns 0, a result; MCP_NEEDS_INPUT;
   MCP_RUN_WAITS; or an error. */
int mcp_run_method(struct request *r, struct buf *out);
/* Takes back the members written so far. */
void mcp_cut_members(struct request *r);
/* Whether a call of r's tool by its principal can be deferred. */
bool mcp_can_defer(const struct request *r);
/* Reads inputResponses and requestState of a modern request: a forged, old
   or foreign state is refused. */
int mcp_check_inputs(struct request *r);

#endif
