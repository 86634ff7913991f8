#ifndef SERVE_WEB_H
#define SERVE_WEB_H

/* web - MCP over HTTP: routes, tokens, hosts and origins, streams of events,
   /health, /ready and /metrics. */

#include "http.h"
#include "serve/turn.h"

#define WEB_MAX_ALLOW 16

struct web;

struct web_options { /* texts that must outlive the server */
    struct http_options http;
    const char *token_file; /* NULL: no token is needed */
    const char *allow_host[WEB_MAX_ALLOW], *allow_origin[WEB_MAX_ALLOW];
    uint64_t rate;          /* of a principal, per second; 0: no limit */
    bool read_only;         /* the server never writes */
    bool debug;             /* a line on stderr for each request */
    /* Adds to /metrics; or NULL. */
    void (*put_metrics)(void *ctx, struct buf *b);
    void *metrics_ctx;
};

/* Serves MCP for t. SIGHUP makes it read the token file again. Returns 0;
   ERR_INVALID if an option is wrong, or an address that is not loopback has no
   tokens; or an error of http_open or tokens_load. why explains it. */
int web_open(struct web **out, struct turn *t, struct loop *l,
             struct store *store, const struct web_options *o,
             char why[256]);
void web_close(struct web *w);
/* Where it listens: "127.0.0.1:8766" or "unix:PATH". */
const char *web_address(const struct web *w);
/* For turn_run, with the struct web as ctx: whether the server stops and every
   reply is sent, or TURN_END_MS have passed. */
bool web_ended(void *ctx);
/* Appends the object of /ready for agent, the one of the request's token, or
   ""; a reader may not write. Returns its HTTP status, 200 or 503. */
int web_put_ready(struct buf *b, struct store *store, bool read_only,
                  struct str agent, bool reader);
/* Appends the text of /metrics, for Prometheus (text format 0.0.4). */
void web_put_metrics(struct buf *b, struct store *store,
                     const struct http *http, const struct mcp *mcp);

#endif
