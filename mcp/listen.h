#ifndef MCP_LISTEN_H
#define MCP_LISTEN_H

/* listen - subscriptions/listen. */

#include "mcp/message.h"

/* Judges and runs it. run: ERR_MORE with the acknowledgement in the notes; 0
   when the server ends it. */
int mcp_listen_judge(struct request *r);
int mcp_listen_run(struct request *r);
/* It was kept: it hears of changes from its run on. */
void mcp_listen_begin(struct mcp_message *m);
/* It is dropped: frees what it has beside the message's arenas. */
void mcp_listen_end(struct mcp_message *m);
/* Behind the answer of a listen that the server ended: on stdio a line feed
   and notifications/cancelled. Nothing where r is another request. */
void mcp_listen_put_end(const struct request *r, struct buf *out);

#endif
