#ifndef MCP_SESSION_H
#define MCP_SESSION_H

/* session - sessions: their ids and their records. */

#include "mcp/server.h"

#define MCP_SESSION_AGE_MS ((int64_t)30 * 24 * 60 * 60 * 1000)

/* Whether there is a store to write to. */
bool mcp_is_writable(const struct mcp *m);
/* A session for whom f names, without an id; NULL: no memory. */
struct mcp_session *mcp_session_new(struct mcp *m, const struct mcp_facts *f);
/* Gives it an id, once revision and capabilities are known. ERR_IO. */
int mcp_session_seal(struct mcp_session *s);
/* The session that f names. ERR_NOT_FOUND: unknown, ended, or of another
   principal or right to write. */
int mcp_session_find(struct mcp *m, const struct mcp_facts *f,
                     struct mcp_session **out);
/* Frees one that nobody uses. */
void mcp_session_free(struct mcp_session *s);
/* Stages the record of s with a change, or, where s has no record, changes it:
   log level (-1: as it is), ended, uri added or taken away. What memory
   holds follows the record once it is committed. 0, ERR_TOO_LARGE: too many
   subscriptions, or what store_stage says. */
int mcp_session_set(struct mcp_session *s, int level, bool end,
                    struct str add, struct str drop);
/* Whether such a change would be one. */
bool mcp_session_changes(const struct mcp_session *s, int level,
                         struct str add, struct str drop);
/* Whether changes of s are records. */
bool mcp_session_stored(const struct mcp_session *s);
/* Brings memory up to the record of s, unless it is; outside of a turn. 0,
   ERR_NOMEM, or what store_read says. */
int mcp_session_refresh(struct mcp_session *s);
/* A record "session/<id>" was committed. */
void mcp_session_changed(struct mcp *m, const struct mcp_change *c);

#endif
