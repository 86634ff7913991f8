#ifndef MCP_DEFERRED_H
#define MCP_DEFERRED_H

/* deferred - calls that outlive their request. */

#include "mcp/message.h"

/* Makes a deferred call of a run that ended with err. Returns MCP_TASK, with
   the members of the task in place of its own; MCP_RUN_WAITS if a plain call
   waits for it; or an error. */
int mcp_deferred_create(struct request *r, int err);
/* Makes r wait for k, and delivers k's questions to its session. Returns
   MCP_RUN_WAITS. */
int mcp_await(struct request *r, struct call *k);
/* Runs a call that has ended, and has a state, once more for a late answer.
   questions is its list with the answer, in the form of a record. What the run
   stages counts, its outcome does not. Returns 0 or an error; ERR_INVALID: the
   tool refuses the answer. */
int mcp_run_late(struct mcp *m, struct str id, struct str questions);
/* Runs the call id again if it is marked, under the lock. 0 or an error. */
int mcp_run_if_marked(struct mcp *m, struct str id);

#endif
