#ifndef TOOLS_INT_H
#define TOOLS_INT_H

/* tools_int - what tools.c, tools_get.c and tools_uri.c share. */

#include "task_change.h"
#include "tools.h"

/* No answer of a tool is longer. It carries its JSON twice, as it is and as
   text in quotes, in an envelope that takes up to TOOLS_ENVELOPE. */
#define TOOLS_ANSWER_MAX (48 * 1024)
#define TOOLS_ENVELOPE 1024
#define TOOLS_PAGE 20     /* events of a history, if no limit is given */
#define TOOLS_URI_PAGE 50 /* resources of one page */

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

/* task_fail, for a message without numbers in it. */
int tools_refuse(struct task_ctx *x, int code, const char *field,
                 const char *message);

/* get_task, its arguments parsed: appends the answer to c->out. 0, or a code
   that x->e explains. */
int tools_get(const struct tools *s, struct task_ctx *x,
              const struct task_args *args, struct buf *out);
/* The entry of an artifact in a list of them, .p NULL: none. */
struct str tools_find_artifact(struct str list, struct str id);

bool tools_is_utf8(struct str s);

/* resources/list and resources/read, as in struct mcp_catalogue. */
int tools_resources(struct mcp_call *c, struct str cursor, struct str *next);
int tools_resource_read(struct mcp_call *c, struct str uri);
extern const struct mcp_template tools_templates[];
extern const size_t tools_n_templates;

#endif
