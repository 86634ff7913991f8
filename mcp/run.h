#ifndef MCP_RUN_H
#define MCP_RUN_H

/* run - begins and ends a run of a request. */

#include "mcp/message.h"

#define MCP_MAX_MESSAGE 256 /* bytes of a status message */

/* Kinds of results beside 0: input_required; a new task. */
enum { MCP_NEEDS_INPUT = 1, MCP_TASK = 2 };

/* Before a run: forgets the last one. The answer goes to out, by r->run.w. */
void mcp_begin_run(struct request *r, struct buf *out);
/* Opens the object whose members the run writes; the second takes back those
   written so far. */
void mcp_open_members(struct request *r);
void mcp_cut_members(struct request *r);
/* The outcome of a run that returned err: 0, a result; MCP_NEEDS_INPUT;
   MCP_RUN_WAITS; or an error. */
int mcp_end_run(struct request *r, int err);
/* Whether a call of r's tool by its principal can become a record, and whether
   it can be deferred. */
bool mcp_can_record(const struct request *r);
bool mcp_can_defer(const struct request *r);

#endif
