#ifndef TOOLS_WAIT_H
#define TOOLS_WAIT_H

/* wait - the tools for working with others: claim_task, request_input and
   wait_for_task. */

#include "tools/call.h"

/* The tools. */
int tools_claim(struct mcp_call *c);
int tools_ask(struct mcp_call *c);
int tools_wait(struct mcp_call *c);

/* For waiting without a server: whether the event of wait_for_task, with these
   arguments, has come after its since_seq or after since. Returns 1 with *task
   after the event; 0 with the current *task, or without a task_id with its
   ev.r.n 0; or a code that x->e explains. Memory in x->a. */
int tools_wait_look(struct tasks *t, struct task_ctx *x,
                    const struct task_args *args, uint64_t since,
                    struct task *task);
/* Appends what wait_for_task answers then: to agent (raw, .p NULL: nobody) also
   what it, if it owns the task, was told and has not read. */
void tools_put_met(struct buf *out, struct tasks *t, bool met,
                   const struct task *task, struct str agent);

#endif
