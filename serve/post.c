/* post - accepts messages posted to /mcp.

   A message that the turn has no room for is pushed again after the next turn,
   in rounds. A round has one message of each principal, the oldest first, so a
   principal that sends much does not keep others waiting. The body of a waiting
   message holds room that other requests of its principal may need, so the
   message is refused after MAX_WAIT_MS. */

#include "serve/post.h"

#define MAX_WAIT_MS (60 * 1000)

int
post_push(struct exchange *x, struct peer *to, const struct mcp_facts *f,
          const struct str *text)
{
    const struct mcp *m = exchange_mcp(x);
    uint64_t n = mcp_requests(m);
    int err = turn_push(to, f, text);

    n = mcp_requests(m) - n;
    if (n > 1)
        access_charge(&x->all->access, exchange_principal(x),
                      loop_now(x->all->loop), n - 1);
    return err;
}

/* Pushes or refuses the message; false: try again after the next turn. */
static bool
push_own(struct exchange *x)
{
    bool ends = (x->route->wants & ROUTE_ENDS) != 0;
    struct str body = http_body(x->c);
    int err = ERR_NOMEM;

    x->facts = exchange_facts(x);
    if (exchange_join(x))
        err = post_push(x, x->peer, &x->facts, ends ? NULL : &body);
    if (err == ERR_QUEUE_FULL && !turn_stopping(x->all->turn))
        return false;
    x->awaiting = err == 0;
    if (err < 0)
        exchange_unavailable(x);
    return true;
}

/* Answers a request above the rate. Clients before 2026-07-28 read an error
   only if the status is 200. A notification gets 429, since it has no answer
   and 202 would mean that it was accepted. */
static void
refuse_over_rate(struct exchange *x)
{
    bool modern = exchange_version(x) >= MCP_2026_07_28;
    struct buf b = {0};
    bool request = mcp_too_many(&b, http_body(x->c), x->wait_ms);

    exchange_answer(x, modern || !request ? MCP_TOO_MANY : MCP_OK,
                    buf_view(&b), NULL);
    buf_fini(&b);
}

/* The next round that has no message of its principal yet. */
static uint64_t
next_round(const struct exchange *x)
{
    const struct exchange *y;
    uint64_t n = x->all->last_round;

    for (y = x->all->first; y != NULL; y = y->next)
        if (y->round > n &&
            str_eq(exchange_principal(y), exchange_principal(x)))
            n = y->round;
    return n + 1;
}

void
post_run(struct exchange *x)
{
    x->awaiting = true;
    if (x->wait_ms > 0) {
        refuse_over_rate(x);
    } else if (x->all->n_rounds > 0 || !push_own(x)) {
        x->round = next_round(x);
        x->until_ms = loop_now(x->all->loop) + MAX_WAIT_MS;
        x->all->n_rounds++;
    }
}

void
post_run_delete(struct exchange *x)
{
    if (!exchange_lacks(x, exchange_field(x, "mcp-session-id"),
                        "Mcp-Session-Id is missing\n"))
        post_run(x);
}

/* The oldest exchange of the first round. */
static struct exchange *
first_later(const struct exchanges *all)
{
    struct exchange *x, *first = NULL;

    for (x = all->n_rounds > 0 ? all->first : NULL; x != NULL; x = x->next)
        if (x->round != 0 && (first == NULL || x->round <= first->round))
            first = x;
    return first;
}

static void
leave_rounds(struct exchange *x)
{
    x->round = 0;
    x->all->n_rounds--;
}

void
post_run_later(struct exchanges *all)
{
    int64_t now = loop_now(all->loop);
    struct exchange *x;

    while ((x = first_later(all)) != NULL && push_own(x)) {
        all->last_round = x->round;
        leave_rounds(x);
    }
    for (x = all->first; all->n_rounds > 0 && x != NULL; x = x->next)
        if (x->round != 0 && x->until_ms <= now) {
            leave_rounds(x);
            x->awaiting = false;
            exchange_unavailable(x);
        }
}
