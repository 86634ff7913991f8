#ifndef TOOLS_URI_H
#define TOOLS_URI_H

/* uri - tasks as resources. */

#include "tools/call.h"

#define TOOLS_BOARD "ui://mcptask/board" /* the page, as an MCP App */

/* Members of struct mcp_catalogue. */
int tools_resources(struct mcp_call *c, struct str cursor, struct str *next);
int tools_resource_read(struct mcp_call *c, struct str uri);
int tools_resource_key(void *ctx, struct arena *a, struct str uri,
                       struct str *key);
bool tools_resources_change(void *ctx, const struct mcp_change *c);
#define TOOLS_N_TEMPLATES 4
extern const struct mcp_template tools_templates[TOOLS_N_TEMPLATES];

#endif
