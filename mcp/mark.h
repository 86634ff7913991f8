#ifndef MCP_MARK_H
#define MCP_MARK_H

/* mark - names of sessions, for records. */

#include "mcp/catalogue.h"
#include "store.h"

/* A name for the session of c, or for the process on a pipe, that records and
   other processes understand; in c's memory. It begins with eight characters
   that differ from session to session. .p is NULL if there is no session. */
struct str mcp_session_mark(const struct mcp_call *c);
/* The mark of this process, in a; .p NULL: it has none. */
struct str mcp_process_mark(struct arena *a, struct store *s);
/* Whether two marks are of one session. */
bool mcp_session_is(struct str a, struct str b);
/* What can be seen of the session of a mark; of is a struct mcp, or a struct
   store where there is none. One on a pipe is alive or gone with its process.
   One over HTTP is gone once it was deleted, and alive while it has an open
   stream or a request under way or, for other processes, while its server runs;
   that the server has ended says nothing of it. */
enum sight mcp_see(const void *of, struct str mark);
enum sight mcp_see_process(const void *of, struct str mark);
/* Whether a token of this process has that agent. */
bool mcp_is_principal(const struct mcp_call *c, struct str name);

#endif
