#ifndef SERVE_INTERNAL_H
#define SERVE_INTERNAL_H

/* internal - what the files of web share: web.c (routes, streams, the end),
   access.c (who may ask) and state.c (how the server is). Nobody else
   includes it. */

#include "serve/web.h"

#define WEB_SHARES 64 /* principals whose rate is known */

/* ---- serve/access.c ---- */

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
/* What each principal has asked for of late; all zero first. */
struct web_rate {
    struct web_share {
        uint64_t who;    /* hash of its name */
        int64_t free_us; /* until then it has asked for its share */
    } of[WEB_SHARES];
};
/* That time of who, now at least; to be moved by what each request takes. Where
   all have one, who was free first makes room: he has nothing to remember
   unless more than WEB_SHARES ask at once. */
int64_t *web_rate_of(struct web_rate *r, struct str who, int64_t now_us);
/* The bearer token that came along, or empty. */
struct str web_bearer(const struct http_head *h);

/* ---- serve/state.c ---- */

/* Appends the object of /health: which store it is, empty before the first
   write. */
void web_put_health(struct buf *b, struct store *store);
/* Appends the object of /ready: the HTTP status that goes with it. */
int web_put_ready(struct buf *b, struct store *store, bool read_only);
/* Appends the text of /metrics. */
void web_put_metrics(struct buf *b, struct store *store,
                     const struct http *http, const struct mcp *mcp);

#endif
