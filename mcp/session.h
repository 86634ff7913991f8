#ifndef MCP_SESSION_H
#define MCP_SESSION_H

/* session - sessions: their ids and their records. */

#include "mcp/server.h"

#define MCP_SESSION_AGE_MS ((int64_t)30 * 24 * 60 * 60 * 1000)

/* Whether there is a store that can be written. */
bool mcp_is_writable(const struct mcp *m);
/* Makes a session for the principal of f, without an id; NULL if memory ran
   out. */
struct mcp_session *mcp_session_new(struct mcp *m, const struct mcp_facts *f);
/* Gives it an id, once revision and capabilities are known. 0 or ERR_IO. */
int mcp_session_seal(struct mcp_session *s);
/* Finds the session of this id, for its principal in f. ERR_NOT_FOUND: it is
   unknown, has ended, or has another principal or right to write. */
int mcp_session_find(struct mcp *m, const struct mcp_facts *f, struct str id,
                     struct mcp_session **out);
/* Frees a session that nobody uses. */
void mcp_session_free(struct mcp_session *s);
/* Changes the log level (-1: unchanged), ends s, or adds or removes uri. Stages
   a record of s with the change, which memory takes over once it is committed;
   or, if s has no record, changes s. Returns 0, ERR_TOO_LARGE for too many
   subscriptions, or an error of store_stage. */
int mcp_session_set(struct mcp_session *s, int level, bool end,
                    struct str add, struct str drop);
/* Whether mcp_session_set would change anything. */
bool mcp_session_changes(const struct mcp_session *s, int level,
                         struct str add, struct str drop);
/* Whether changes of s are records. */
bool mcp_session_stored(const struct mcp_session *s);
/* Outside of a turn: brings memory up to the record of s. Returns 0, ERR_NOMEM,
   ERR_GARBLED if that is not JSON, or an error of store_read. */
int mcp_session_refresh(struct mcp_session *s);
/* Whether the session with this hash of its id is known to have ended. */
bool mcp_session_ended(uint64_t tag);
/* Call it when a record "session/<id>" was committed. */
void mcp_session_changed(struct mcp *m, const struct mcp_change *c);

#endif
