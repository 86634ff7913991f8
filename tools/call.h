#ifndef TOOLS_CALL_H
#define TOOLS_CALL_H

/* call - runs a tool: its arguments, its change, its errors. */

#include "mcp/mcp.h"
#include "task/change.h"
#include "task/query.h"
#include "tools/tools.h"

/* The longest answer of a tool. It has its JSON twice, plain and as a string,
   in an envelope of up to TOOLS_ENVELOPE. */
#define TOOLS_ANSWER_MAX (48 * 1024)
#define TOOLS_ENVELOPE 1024
#define TOOLS_RECEIPT_ROOM 8192 /* a receipt, twice, and its envelope */

struct tools {
    struct tasks *t;
    const struct cli_env *env;
    struct mcp_catalogue catalogue;
    struct mcp_tool tool[TASK_N_TOOLS]; /* the ones it offers */
    struct arena schemas; /* their input schemas */
    struct str texts;     /* of tools/tools.txt */
};

/* The text of this name. */
const char *tools_text(const struct tools *s, const char *name);

/* Writes the error, which is an answer: returns 0, or ERR_NOMEM. */
int tools_error(struct mcp_call *c, const struct task_error *e);

/* Begins x for c, and checks the arguments of its tool or prompt. Sets c->here
   for a call that may be deferred. Returns 0, or a code that x->e explains. */
int tools_args(struct mcp_call *c, struct task_ctx *x,
               struct task_args *args);
/* Adds to the answer at the end of out, an object, how arguments out of range
   were taken. Changes have it among their warnings. */
void tools_put_notes(struct buf *out, const struct task_args *args);
/* A change that a tool made, and its arguments. */
struct tools_change {
    struct task_ctx x;
    struct task_args args;
    struct task_receipt r;
};
/* Runs a tool that changes tasks, whose answer needs up to room bytes. Returns
   1 if the change in w is made and the answer has to be written; 0 if the error
   has been written; or ERR_NOMEM. */
int tools_change(struct mcp_call *c, size_t room, struct tools_change *w);

/* Runs a tool that changes a task and answers with the receipt. */
int tools_run_change(struct mcp_call *c);
/* create_task, of one task or of several. */
int tools_create(struct mcp_call *c);
/* The functions of attach_artifact. */
void tools_prepare_attach(struct mcp_call *c);
int tools_attach(struct mcp_call *c);

#endif
