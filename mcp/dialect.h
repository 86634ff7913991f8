#ifndef MCP_DIALECT_H
#define MCP_DIALECT_H

/* dialect - a deferred call as its clients see it, a Task of either kind. */

#include "mcp/mcp.h"

struct request;

/* Writes the _meta of what belongs to a task. */
void mcp_put_related(struct json_w *w, struct str id);
/* Whether a tool's result in rev carries structured content beside its text;
   and the members of a result that says text, then an object. */
bool mcp_is_structured(const struct mcp *m, enum mcp_rev rev);
void mcp_put_said(struct json_w *w, struct str text, bool structured);
/* Writes the members of the result that k keeps, as this server sends it:
   another may have kept structured content with it, as 0.1.0 always did, or
   have left it out. */
void mcp_put_outcome(struct json_w *w, const struct mcp *m, struct arena *a,
                     const struct call *k, enum mcp_rev rev);
/* Writes the members of k as the revision has a task: from 2026-07-28 on with
   its result, error or questions. Memory in a. */
void mcp_put_task(struct json_w *w, const struct mcp *m, struct arena *a,
                  const struct call *k, enum mcp_rev rev);
/* Writes those that each revision has, with the status that k has for it. */
void mcp_put_task_head(struct json_w *w, const struct mcp *m,
                       const struct call *k, enum mcp_rev rev);
/* Writes the members of the result of r that says that k was made. */
void mcp_put_created(struct request *r, const struct call *k);

#endif
