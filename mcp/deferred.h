#ifndef MCP_DEFERRED_H
#define MCP_DEFERRED_H

/* deferred - calls that outlive their request. */

#include "mcp/message.h"

/* Makes a call of a run that ended with err. MCP_TASK, with the members of
   the task in place of its own; ERR_MORE, where a plain call waits for it; or
   an error. */
int mcp_deferred_create(struct request *r, int err);
/* Has r wait for k, and its session asked what it can be. ERR_MORE. */
int mcp_await(struct request *r, struct call *k);
/* Runs a call that has ended, and has a state, once more, for an answer among
   its questions, a list as a record has it: what it stages counts, its outcome
   does not. 0 or an error; ERR_INVALID: the tool does not take it. */
int mcp_run_late(struct mcp *m, struct str id, struct str questions);
/* Runs the call id again if it is marked, under the lock. 0 or an error. */
int mcp_run_if_marked(struct mcp *m, struct str id);

#endif
