#ifndef SERVE_POST_H
#define SERVE_POST_H

/* post - messages that are posted to /mcp, and the end of a session. */

#include "serve/exchange.h"

/* Routes. */
void post_run(struct exchange *x);
void post_run_delete(struct exchange *x);
/* As turn_push, for what x has brought; every request of a batch counts
   against the rate of its principal. */
int post_push(struct exchange *x, struct peer *to, const struct mcp_facts *f,
              const struct str *text);
/* After a turn: pushes those that it had no room for. */
void post_run_later(struct exchanges *all);

#endif
