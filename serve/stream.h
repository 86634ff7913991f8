#ifndef SERVE_STREAM_H
#define SERVE_STREAM_H

/* stream - streams of a session's events, and the SSE transport of
   2024-11-05. Each function runs a route. */

#include "serve/exchange.h"

void stream_run(struct exchange *x);         /* GET /mcp */
void stream_run_sse(struct exchange *x);     /* GET /sse */
void stream_run_message(struct exchange *x); /* POST /message */

#endif
