#ifndef TOOLS_H
#define TOOLS_H

/* tools - the catalogue that mcp is given: the tools over tasks, tasks as
   resources, prompts about them, and completions. */

#include "env.h"
#include "mcp.h"
#include "task.h"

struct tools;
struct task_args;

/* A catalogue over t, which like env must outlive it. With env->read_only
   only the tools that read. 0 or ERR_NOMEM. */
int tools_new(struct tools **out, struct tasks *t, const struct cli_env *env);
const struct mcp_catalogue *tools_catalogue(const struct tools *s);
void tools_free(struct tools *s);

/* ---- wait_for_task, for who waits without a server ---- */

/* Whether what wait_for_task would wait for, its arguments parsed, is there
   now, looking back to its since_seq or to since: 1: *task is as the event
   left it; 0: it is as it is now, and without a task_id its ev.r.n is 0; or
   a code that x->e explains. Memory in x->a. */
int tools_wait_look(struct tasks *t, struct task_ctx *x,
                    const struct task_args *args, uint64_t since,
                    struct task *task);
/* Appends what wait_for_task answers then. */
void tools_put_met(struct buf *out, struct tasks *t, bool met,
                   const struct task *task);

#endif
