#ifndef MCP_ANSWER_H
#define MCP_ANSWER_H

/* answer - what clients say to the questions that they were sent. */

#include "mcp/mcp.h"

struct request;

/* Where t, a response, is to a request of ours, r says to which. */
void mcp_take_answer_judge(struct request *r, const struct json_tok *t);
/* Takes it, under the lock: 0 or an error. */
int mcp_take_answer(struct request *r);

#endif
