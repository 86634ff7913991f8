#ifndef MCP_RUN_H
#define MCP_RUN_H

/* run - a run of a request: what it begins with, and what it comes to. */

#include "mcp/message.h"

/* What a result's members are, beside 0: of an input_required one; of a task,
   just made. */
enum { MCP_ASKS = 1, MCP_TASK = 2 };

/* Before a run: forgets what the last one left. Its answer goes to out, by
   r->run.w. */
void mcp_begin_run(struct request *r, struct buf *out);
/* Opens the object whose members the run writes; and takes back what there is
   of those. */
void mcp_open_members(struct request *r);
void mcp_cut_members(struct request *r);
/* What a run comes to that ended with err: 0, a result; MCP_ASKS; ERR_MORE, it
   waits; or another error. */
int mcp_end_run(struct request *r, int err);
/* Whether a call of r's tool by its principal can be a record, and whether it
   can be deferred at all. */
bool mcp_can_record(const struct request *r);
bool mcp_can_defer(const struct request *r);

#endif
