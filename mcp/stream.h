#ifndef MCP_STREAM_H
#define MCP_STREAM_H

/* stream - subscriptions/listen. What transports call is in mcp/mcp.h. */

#include "mcp/message.h"

/* Judge it, and run it. The run returns MCP_RUN_WAITS, with
   the acknowledgement in the notes; or 0 when the server ends it. */
int mcp_listen_judge(struct request *r);
int mcp_listen_run(struct request *r);
/* After the answer of a listen that the server ended: on stdio a line feed and
   notifications/cancelled. Does nothing if r is another request. */
void mcp_listen_put_end(const struct request *r, struct buf *out);

#endif
