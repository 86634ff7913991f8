#ifndef TOOLS_GET_H
#define TOOLS_GET_H

/* get - the tools that read, and their parts that resources use. */

#include "tools/call.h"

/* get_task and list_tasks. */
int tools_get(struct mcp_call *c);
int tools_list(struct mcp_call *c);

/* Appends, like get_task, the task after event seq; args has no cursor. Returns
   0, or a code that x->e explains. */
int tools_put_event(struct mcp_call *c, struct task_ctx *x,
                    const struct task_args *args, uint64_t seq);
/* Appends the events of a task from *ev, which it moves, back to since: at most
   limit, as many as room and x->read_max allow. With room SIZE_MAX notes are
   not cut. Returns 0, or an error of task_event_prev. */
int tools_put_history(const struct tools *s, const struct task_ctx *x,
                      struct task_event *ev, uint64_t since, uint64_t limit,
                      size_t room, struct buf *out);
/* Appends the events of all tasks from event n (0: the newest) back: at most
   limit, as many as x->read_max allows, each with at most the first 512 bytes
   of its note. Returns 0, or an error of task_event_n. */
int tools_put_events(const struct tools *s, const struct task_ctx *x,
                     uint64_t n, uint64_t limit, struct buf *out);
/* Appends a list of tasks like list_tasks, as much as fits in one answer; with
   deps each says what it depends on. */
void tools_put_list(struct buf *out, const struct task_list *list, bool deps);

/* Makes *ev, an event of a task, its event number n. ERR_NOT_FOUND if that is
   not kept; ERR_INVALID if it is not an event of this task. */
int tools_event_at(const struct tools *s, struct arena *a, uint64_t n,
                   struct task_event *ev);

#endif
