#ifndef TOOLS_PROMPTS_H
#define TOOLS_PROMPTS_H

/* prompts - prompts about tasks, and completions. */

#include "tools/call.h"

#define TOOLS_N_PROMPTS 3
extern const struct mcp_prompt tools_prompts[TOOLS_N_PROMPTS];
/* As in struct mcp_catalogue. */
int tools_complete(struct mcp_call *c, struct mcp_completion *q);

#endif
