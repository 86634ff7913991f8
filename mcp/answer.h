#ifndef MCP_ANSWER_H
#define MCP_ANSWER_H

/* answer - takes the answers of clients to questions. */

#include "mcp/mcp.h"

struct request;

/* If t, a response, is to a request of ours, fills in r->reply. */
void mcp_take_answer_judge(struct request *r, const struct json_tok *t);
/* Takes the answer, under the lock. Returns 0 or an error. */
int mcp_take_answer(struct request *r);

#endif
