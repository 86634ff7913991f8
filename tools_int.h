#ifndef TOOLS_INT_H
#define TOOLS_INT_H

/* tools_int - what tools.c, tools_get.c, tools_uri.c and tools_prompts.c
   share. */

#include "task_change.h"
#include "tools.h"

/* No answer of a tool is longer. It carries its JSON twice, as it is and as
   text in quotes, in an envelope that takes up to TOOLS_ENVELOPE. */
#define TOOLS_ANSWER_MAX (48 * 1024)
#define TOOLS_ENVELOPE 1024
#define TOOLS_RECEIPT_ROOM 8192 /* a receipt, twice, and its envelope */
#define TOOLS_PAGE 20     /* events of a history, if no limit is given */
#define TOOLS_URI_PAGE 50 /* resources of one page */

#define TOOLS_BOARD "ui://mcptask/board" /* the page, as an MCP App */

struct tools {
    struct tasks *t;
    const struct cli_env *env;
    struct mcp_tool tool[TASK_N_TOOLS]; /* those offered */
    enum task_tool kind[TASK_N_TOOLS];
    struct buf schemas; /* their input schemas, each ended by a NUL */
    struct mcp_catalogue catalogue;
};

/* Bytes that s takes in an answer. */
size_t tools_cost(struct str s);

/* Writes the error; what a call returns is about its answer, not its end. */
int tools_error(struct mcp_call *c, const struct task_error *e);
/* task_fail, for a message without numbers in it. */
int tools_refuse(struct task_ctx *x, int code, const char *field,
                 const char *message);

/* Begins x for c, and holds its arguments against what tool takes. 0, or a
   code that x->e explains. */
int tools_args(const struct mcp_call *c, struct task_ctx *x,
               enum task_tool tool, struct task_args *args);
/* A change that a tool made, and with what. */
struct tools_change {
    struct task_ctx x;
    struct task_args args;
    struct task_receipt r;
};
/* Runs a tool that changes tasks, whose answer needs up to room bytes. 1: w
   says what came of it, and the answer is to be written; 0: the error has
   been; or ERR_NOMEM. */
int tools_change(struct mcp_call *c, enum task_tool tool, size_t room,
                 struct tools_change *w);

/* The time or seq that an argument holds. */
void tools_since(const struct task_args *args, int arg,
                 struct task_query *q);

/* Appends a page of tasks as list_tasks has it, as far as one answer holds
   it. */
void tools_put_page(struct buf *out, const struct task_page *page);

/* get_task, its arguments parsed: appends the answer to c->out. 0, or a code
   that x->e explains. */
int tools_get(const struct tools *s, struct task_ctx *x,
              const struct task_args *args, struct buf *out);
/* The same for the task as event seq left it; args has no cursor. */
int tools_get_event(const struct tools *s, struct task_ctx *x,
                    const struct task_args *args, uint64_t seq,
                    struct buf *out);
/* The entry of an artifact in a list of them, .p NULL: none. */
struct str tools_find_artifact(struct str list, struct str id);

/* Whether events of a history have come to max bytes (0: there is no end)
   with ev, *read being those before it. The first is always shown. */
bool tools_read_enough(size_t *read, size_t max, const struct task_event *ev);
/* Makes *ev, an event of a task, the one with number n. ERR_NOT_FOUND: that is
   not kept; ERR_INVALID: it is none of this task. */
int tools_event_at(const struct tools *s, struct arena *a, uint64_t n,
                   struct task_event *ev);

bool tools_is_utf8(struct str s);

/* The tools of tools_work.c. */
int tools_run_claim(struct mcp_call *c);
/* tools_wait.c */
int tools_ask(struct mcp_call *c);
int tools_wait(struct mcp_call *c);

/* These are as in struct mcp_catalogue. */
int tools_resources(struct mcp_call *c, struct str cursor, struct str *next);
int tools_resource_read(struct mcp_call *c, struct str uri);
struct str tools_resource_key(void *ctx, struct arena *a, struct str uri);
bool tools_resources_change(void *ctx, const struct mcp_change *c);
#define TOOLS_N_TEMPLATES 4
extern const struct mcp_template tools_templates[TOOLS_N_TEMPLATES];

#define TOOLS_N_PROMPTS 3
extern const struct mcp_prompt tools_prompts[TOOLS_N_PROMPTS];
int tools_complete(struct mcp_call *c, struct mcp_completion *q);

#endif
