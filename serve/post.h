#ifndef SERVE_POST_H
#define SERVE_POST_H

/* post - accepts messages posted to /mcp, and ends sessions. */

#include "serve/exchange.h"

/* The functions of two routes. */
void post_run(struct exchange *x);
void post_run_delete(struct exchange *x);
/* turn_push for the body that x brings; every request of a batch counts against
   the rate of its principal. */
int post_push(struct exchange *x, struct peer *to, const struct mcp_facts *f,
              const struct str *text);
/* Call it after a turn: pushes the messages that the turn had no room for. */
void post_run_later(struct exchanges *all);

#endif
