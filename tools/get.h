#ifndef TOOLS_GET_H
#define TOOLS_GET_H

/* get - the tools that read, and what resources take from them. */

#include "tools/call.h"

/* get_task and list_tasks. */
int tools_get(struct mcp_call *c);
int tools_list(struct mcp_call *c);

/* Appends the task as event seq left it, as get_task does; args has no cursor.
   0, or a code that x->e explains. */
int tools_put_event(struct mcp_call *c, struct task_ctx *x,
                    const struct task_args *args, uint64_t seq);
/* Appends the events of a task from ev back to since, limit at most, as far
   as they cost no more than room and are read by x->read_max; of a history
   with room SIZE_MAX no note is cut. 0, or what task_event_prev says. */
int tools_put_history(const struct tools *s, const struct task_ctx *x,
                      struct task_event ev, uint64_t since, uint64_t limit,
                      size_t room, struct buf *out);
/* Appends a list of tasks as list_tasks has it, as far as one answer holds
   it. */
void tools_put_list(struct buf *out, const struct task_list *list);

/* The time or seq that an argument holds. */
void tools_since(const struct task_args *args, int arg,
                 struct task_query *q);
/* Makes *ev, an event of a task, the one with number n. ERR_NOT_FOUND: that is
   not kept; ERR_INVALID: it is not an event of this task. */
int tools_event_at(const struct tools *s, struct arena *a, uint64_t n,
                   struct task_event *ev);
bool tools_is_utf8(struct str s);

#endif
