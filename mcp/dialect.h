#ifndef MCP_DIALECT_H
#define MCP_DIALECT_H

/* dialect - writes a deferred call as a task, for either kind of client. */

#include "mcp/mcp.h"

struct request;

/* Writes the _meta of a message that belongs to a task. */
void mcp_put_related(struct json_w *w, struct str id);
/* Whether a tool's result in rev has structured content beside its text; and
   writes the members of a result with this text, then an object. */
bool mcp_is_structured(const struct mcp *m, enum mcp_rev rev);
void mcp_put_output(struct json_w *w, struct str text, bool structured);
/* Writes the members of k's stored result. Structured content depends on this
   server: another may have stored it, as 0.1.0 always did, or left it out. */
void mcp_put_outcome(struct json_w *w, const struct mcp *m, struct arena *a,
                     const struct call *k, enum mcp_rev rev);
/* Writes the members of k as a task of the revision, from 2026-07-28 on with
   its result, error or questions. Memory in a. */
void mcp_put_call(struct json_w *w, const struct mcp *m, struct arena *a,
                  const struct call *k, enum mcp_rev rev);
/* Writes those members that all revisions share, with k's status. */
void mcp_put_call_head(struct json_w *w, const struct mcp *m,
                       const struct call *k, enum mcp_rev rev);
/* Writes the members of r's result: the task that k has become. */
void mcp_put_created(struct request *r, const struct call *k);

#endif
