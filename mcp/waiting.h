#ifndef MCP_WAITING_H
#define MCP_WAITING_H

/* waiting - the list of messages that wait. */

#include "mcp/message.h"

#define MCP_MAX_WAITING 256 /* messages of one session */
#define MCP_WAITING_LEN ((size_t)8 * 1024 * 1024) /* memory of all */

/* Whether r's message waits already, or may: the limits are there because
   clients may never cancel. */
bool mcp_may_wait(const struct request *r);
/* Makes k wait, at the front of the list, for what the run of r asked for,
   which is its own or that of the message it was copied from. ERR_NOMEM. */
int mcp_wait_again(struct mcp_message *k, const struct request *r);
/* Takes k off the list. */
void mcp_waiting_cut(struct mcp_message *k);
/* Call it for each committed record: messages that watch it will run again. */
void mcp_wake(struct mcp *m, const struct mcp_change *c);
/* When mcp_next has something; INT64_MAX: nobody knows. */
int64_t mcp_waiting_due_ms(const struct mcp *m);
/* Takes r, a notifications/cancelled: ends a waiting message, or sets
   r->cancels. */
void mcp_take_cancel(struct request *r, const struct json_tok *params);

#endif
