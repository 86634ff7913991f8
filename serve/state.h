#ifndef SERVE_STATE_H
#define SERVE_STATE_H

/* state - reports the state of the server to monitoring. */

#include "http.h"
#include "mcp/mcp.h"
#include "store.h"

/* Appends the object of /health, with the id of the store, which is empty
   before the first write. */
void state_put_health(struct buf *b, struct store *store);
/* Appends the object of /ready for agent, the one of the request's token, or
   ""; a reader may not write. Returns its HTTP status, 200 or 503. */
int state_put_ready(struct buf *b, struct store *store, bool read_only,
                    struct str agent, bool reader);
/* Appends the text of /metrics. */
void state_put_metrics(struct buf *b, struct store *store,
                       const struct http *http, const struct mcp *mcp);

#endif
