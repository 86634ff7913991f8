#ifndef TOOLS_SKILL_H
#define TOOLS_SKILL_H

/* skill - the SKILL.md of packaging/plugin, which tells agents when to use
   which tool: as a skill of MCP (SEP-2640), and as text. */

#include "base/base.h"

struct mcp_call;

#define TOOLS_SKILL "skill://mcptask/SKILL.md"

/* The whole file, or what follows its frontmatter. The text stays.
   ERR_NOMEM. */
int tools_skill_text(struct str *out);
int tools_skill_body(struct str *out);

/* A member of struct mcp_catalogue. */
int tools_skills(struct mcp_call *c, struct str uri);

#endif
