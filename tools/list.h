#ifndef TOOLS_LIST_H
#define TOOLS_LIST_H

/* list - list_tasks. */

#include "tools/call.h"

/* The tool. */
int tools_list(struct mcp_call *c);
/* Appends a page of tasks as list_tasks has it, as far as one answer holds
   it. */
void tools_put_page(struct buf *out, const struct task_page *page);

#endif
