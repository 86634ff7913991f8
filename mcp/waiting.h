#ifndef MCP_WAITING_H
#define MCP_WAITING_H

/* waiting - messages that wait. */

#include "mcp/message.h"

#define MCP_MAX_WAITING 256 /* messages of one session */
#define MCP_WAITING_LEN ((size_t)8 * 1024 * 1024) /* memory of all */

/* Whether r's message waits already, or may: what clients do not take back
   has to end somewhere. */
bool mcp_may_wait(const struct request *r);
/* Has k wait for what the run of r said, which is its own or that of the
   message that it was copied from, in front of the others. ERR_NOMEM. */
int mcp_wait_again(struct mcp_message *k, const struct request *r);
/* k is with mcp again: takes it off the list of those that wait. */
void mcp_waiting_cut(struct mcp_message *k);
/* A record was committed: those that watch it are to be run again. */
void mcp_wake(struct mcp *m, const struct mcp_change *c);
/* When mcp_next has something; INT64_MAX: nobody knows. */
int64_t mcp_waiting_due_ms(const struct mcp *m);
/* What r, a notifications/cancelled, says: ends what is kept, or sets
   r->cancels. */
void mcp_take_cancel(struct request *r, const struct json_tok *params);

#endif
