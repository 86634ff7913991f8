#ifndef SERVE_STATE_H
#define SERVE_STATE_H

/* state - how the server is, for those who watch it. */

#include "http.h"
#include "mcp/mcp.h"
#include "store.h"

/* Appends the object of /health: which store it is, empty before the first
   write. */
void state_put_health(struct buf *b, struct store *store);
/* Appends the object of /ready; returns the HTTP status that goes with it. */
int state_put_ready(struct buf *b, struct store *store, bool read_only);
/* Appends the text of /metrics. */
void state_put_metrics(struct buf *b, struct store *store,
                       const struct http *http, const struct mcp *mcp);

#endif
