#ifndef TOOLS_WAIT_H
#define TOOLS_WAIT_H

/* wait - the tools of who works with others: claim_task, request_input and
   wait_for_task. */

#include "tools/call.h"

/* The tools. */
int tools_claim(struct mcp_call *c);
int tools_ask(struct mcp_call *c);
int tools_wait(struct mcp_call *c);

/* For who waits without a server: whether what wait_for_task would wait for,
   its arguments parsed, is there now, looking back to its since_seq or to
   since: 1: *task is as the event left it; 0: it is as it is now, and without
   a task_id its ev.r.n is 0; or a code that x->e explains. Memory in x->a. */
int tools_wait_look(struct tasks *t, struct task_ctx *x,
                    const struct task_args *args, uint64_t since,
                    struct task *task);
/* Appends what wait_for_task answers then: to agent (raw, .p NULL: nobody) also
   what it, if it owns the task, was told and has not read. */
void tools_put_met(struct buf *out, struct tasks *t, bool met,
                   const struct task *task, struct str agent);

#endif
