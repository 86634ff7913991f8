#ifndef TOOLS_H
#define TOOLS_H

/* tools - the catalogue for mcp: tools for tasks, tasks as resources, prompts
   about them, and completions. */

#include "base/env.h"
#include "mcp/mcp.h"
#include "task/task.h"

struct tools;

/* Makes a catalogue over t; t and env must outlive it. With env->read_only it
   has only the tools that read. Returns 0 or ERR_NOMEM. */
int tools_new(struct tools **out, struct tasks *t, const struct cli_env *env);
const struct mcp_catalogue *tools_catalogue(const struct tools *s);
void tools_free(struct tools *s);
/* The name of a tool, and whether it changes tasks. */
const char *tools_name(enum task_tool tool);
bool tools_writes(enum task_tool tool);

#endif
