#ifndef WEB_INT_H
#define WEB_INT_H

/* web_int - what the files of web share: web.c (routes, streams, the end),
   web_check.c (who may ask) and web_state.c (how the server is). Nobody else
   includes it. */

#include "web.h"

/* ---- web_check.c ---- */

/* Whether Host and Origin are such that a browser's page of somewhere else
   cannot have sent this; address is our own. */
bool web_is_ours(const struct web_options *o, const char *address,
                 const struct http_head *h);
/* Whether another site's page has a browser fetch this without saying whose it
   is, as it does for an image. */
bool web_is_cross_site(const struct http_head *h);
/* Whether a field stands twice that says who asks, where or for what: whoever
   stands in front may have gone by the other one. */
bool web_is_ambiguous(const struct http_head *h);
/* The bearer token that came along, or empty. */
struct str web_bearer(const struct http_head *h);

/* ---- web_state.c ---- */

/* Appends the object of /health: which store it is, empty before the first
   write. */
void web_put_health(struct buf *b, struct store *store);
/* Appends the object of /ready: the HTTP status that goes with it. */
int web_put_ready(struct buf *b, struct store *store, bool read_only);
/* Appends the text of /metrics. */
void web_put_metrics(struct buf *b, struct store *store,
                     const struct http *http, const struct mcp *mcp);

#endif
