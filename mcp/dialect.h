#ifndef MCP_DIALECT_H
#define MCP_DIALECT_H

/* dialect - a deferred call as its clients see it, a Task of either kind. */

#include "mcp/mcp.h"

struct request;

/* Whether a tool's result in rev carries structured content beside its text;
   and the members of a result that says json, an object. */
bool mcp_is_structured(const struct mcp *m, enum mcp_rev rev);
void mcp_put_said(struct str json, bool structured, struct buf *out);
/* The result that k keeps, as this server sends it: another may have kept
   structured content with it, as 0.1.0 always did, or have left it out. .p
   NULL: no memory. */
struct str mcp_result_of(const struct mcp *m, struct arena *a,
                         const struct call *k, enum mcp_rev rev);
/* Writes the members of k as the revision has a task: from 2026-07-28 on with
   its result, error or questions. Memory in a. */
void mcp_put_task(struct json_w *w, const struct mcp *m, struct arena *a,
                  const struct call *k, enum mcp_rev rev);
/* Writes those that each revision has, with the status that k has for it. */
void mcp_put_task_head(struct json_w *w, const struct mcp *m,
                       const struct call *k, enum mcp_rev rev);
/* Appends the members of the result that says that k was made. */
void mcp_put_created(const struct request *r, const struct call *k,
                     struct buf *out);
/* Between the two w writes an object at the end of b, which then becomes the
   members that a result begins with; at is where it began. */
void mcp_open_members(struct json_w *w, struct buf *b);
void mcp_close_members(struct json_w *w, struct buf *b, size_t at);

#endif
