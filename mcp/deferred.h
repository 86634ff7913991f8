#ifndef MCP_DEFERRED_H
#define MCP_DEFERRED_H

/* deferred - calls that outlive their request, and the methods by which clients
   follow them. */

#include "mcp/message.h"

/* Makes a deferred call of a run that ended with err. Returns MCP_TASK, with
   the members of the task in place of its own; MCP_RUN_WAITS if a plain call
   waits for it; or an error. */
int mcp_deferred_create(struct request *r, int err);

/* If t, a response, is to a request of ours, fills in r->reply. */
void mcp_take_answer_judge(struct request *r, const struct json_tok *t);
/* Takes the answer, under the lock. Returns 0 or an error. */
int mcp_take_answer(struct request *r);

/* Judge requests that name a task, tasks/update, and the task of tools/call. */
int mcp_task_judge(struct request *r);
int mcp_task_judge_update(struct request *r);
int mcp_task_judge_call(struct request *r);
/* Whether running one of these methods may stage records. */
bool mcp_task_writes(const struct request *r);
/* Run the methods tasks/get, ...; for a plain call that waits, tasks/result. */
int mcp_task_get(struct request *r);
int mcp_task_result(struct request *r);
int mcp_task_list(struct request *r);
int mcp_task_cancel(struct request *r);
int mcp_task_update(struct request *r);

#endif
