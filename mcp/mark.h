#ifndef MCP_MARK_H
#define MCP_MARK_H

/* mark - names of sessions, for records. */

#include "mcp/talk.h"

/* A name for the session of c, or for the process on a pipe, that records and
   other processes understand; in c's memory. It begins with eight characters
   that differ from session to session. .p is NULL if there is no session. */
struct str mcp_session_mark(const struct mcp_call *c);
/* Whether two marks are of one session. */
bool mcp_session_is(struct str a, struct str b);
/* Whether that session lives: its process does, and its client, as far as this
   process knows, is connected or made a request not long ago. */
bool mcp_session_lives(const struct mcp_call *c, struct str mark);
/* Whether a token of this process has that agent. */
bool mcp_is_principal(const struct mcp_call *c, struct str name);

#endif
