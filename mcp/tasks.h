#ifndef MCP_TASKS_H
#define MCP_TASKS_H

/* tasks - tasks/get, result, list, cancel and update. */

#include "mcp/message.h"

/* Refuses r because it lacks the extension; returns MCP_REFUSED. */
int mcp_refuse_extension(struct request *r);
/* Judge requests that name a task, tasks/update, and the task of tools/call. */
int mcp_task_judge(struct request *r);
int mcp_task_judge_update(struct request *r);
int mcp_task_judge_call(struct request *r);
/* Whether running one of these methods may stage records. */
bool mcp_task_writes(const struct request *r);
/* Run tasks/list, and the others; a plain call like tasks/result. */
int mcp_task_list(struct request *r);
int mcp_task_run(struct request *r);

#endif
