#ifndef SERVE_H
#define SERVE_H

/* serve - the turn: messages of any number of peers, in order per peer, run
   against the store and committed together before an answer is let out. It
   knows no descriptor: transports push messages and are given answers. */

#include "loop.h"
#include "mcp.h"
#include "store.h"

#define SERVE_MAX_QUEUE 256 /* messages of one peer not yet answered */

struct serve;
struct peer; /* one live channel that takes messages */

/* What a transport does for its peer. None of them may call serve_leave,
   or push for another peer. */
struct peer_ops {
    /* Takes the next answer, in order of the messages; empty when there is
       nothing to say. The bytes are valid during the call only. */
    void (*answer)(void *ctx, enum mcp_status status, struct str body);
    /* These were all for now, as a rule for this turn: time to write. */
    void (*answered)(void *ctx);
    /* Everything pushed is answered: texts may go, more may be pushed. */
    void (*done)(void *ctx);
};

/* All four must outlive the serve. 0 or ERR_NOMEM. */
int serve_new(struct serve **out, struct loop *l, struct store *store,
              const struct mcp_catalogue *c);
void serve_free(struct serve *s);
/* Turns until ended says so, which is asked after each. A signal stops what
   has not begun; transports then flush and end. 0, or ERR_IO: no select. */
int serve_run(struct serve *s, bool (*ended)(void *ctx), void *ctx);
/* As a signal does: takes no more messages, drops those not yet run. */
void serve_stop(struct serve *s);
bool serve_stopping(const struct serve *s);

/* A new peer, to be left again, or NULL when there is no memory. */
struct peer *serve_join(struct serve *s, const struct peer_ops *ops,
                        void *ctx);
/* Drops what it has pushed. */
void serve_leave(struct peer *p);
/* Takes one message into the queue of p; text and f must stay until done. 0;
   ERR_MORE: the queue is full or the server stops, ERR_NOMEM: not taken. */
int serve_push(struct peer *p, const struct mcp_facts *f, struct str text);
/* Whether messages of p wait for an answer. */
bool serve_pending(const struct peer *p);
/* While held, no message of p is run: it has too many unread answers. */
void serve_hold(struct peer *p, bool held);

#endif
