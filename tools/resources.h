#ifndef TOOLS_RESOURCES_H
#define TOOLS_RESOURCES_H

/* resources - tasks, the page and the skill as resources. */

#include "mcp/mcp.h"

#define TOOLS_BOARD "ui://mcptask/board" /* the page, as an MCP App */
/* The SKILL.md of packaging/plugin, which tells agents when to use which tool:
   as a skill of MCP (SEP-2640), and as text. */
#define TOOLS_SKILL "skill://mcptask/SKILL.md"

/* The whole file, or what follows its frontmatter. The text stays.
   ERR_NOMEM. */
int tools_skill_text(struct str *out);
int tools_skill_body(struct str *out);

/* Members of struct mcp_catalogue. */
int tools_skills(struct mcp_call *c, struct str uri);
int tools_resources(struct mcp_call *c, struct str cursor, struct str *next);
int tools_resource_read(struct mcp_call *c, struct str uri);
int tools_resource_key(void *ctx, struct arena *a, struct str uri,
                       struct str *key);
bool tools_resources_change(void *ctx, const struct mcp_change *c);
#define TOOLS_N_TEMPLATES 4
extern const struct mcp_template tools_templates[TOOLS_N_TEMPLATES];

#endif
