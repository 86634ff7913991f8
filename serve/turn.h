#ifndef SERVE_TURN_H
#define SERVE_TURN_H

/* turn - runs the messages of any number of peers against the store, in order
   per peer, and commits them together before any answer goes out. Transports
   push messages and are given the answers. */

#include "base/loop.h"
#include "mcp/mcp.h"
#include "store.h"

#define TURN_MAX_QUEUE 256 /* messages of one peer not yet answered */
#define TURN_FOLLOW_MS 50  /* how often others' commits are read */

struct turn;
struct peer; /* one live channel that takes messages */

struct turn_answer {
    enum mcp_status status; /* never MCP_WAITS */
    struct str body;        /* empty: the message has no answer */
    const char *session;    /* id of the session that it made, or NULL */
};

/* What a transport does for its peer; later and answered may be NULL. None of
   them may call turn_leave, or push for another peer. The bytes are valid
   during the call only. */
struct peer_ops {
    /* Takes a notification or a request of the server. event is the id of its
       SSE event, or empty. It goes before the answers that follow. */
    void (*message)(void *ctx, struct str body, struct str event);
    /* Takes the next answer, in the order of the messages; those that had to
       wait are answered later, in any order. */
    void (*answer)(void *ctx, const struct turn_answer *a);
    /* The next message, in order, has to wait. If poll_ms is not 0 its client
       may come back for the answer after that time. */
    void (*later)(void *ctx, unsigned poll_ms);
    /* Those were all for this turn: time to write. */
    void (*answered)(void *ctx);
    /* Everything pushed is answered, or kept to wait: texts may go, more may
       be pushed. */
    void (*done)(void *ctx);
};

/* All three must outlive the turn, which becomes the store's observer. 0 or
   ERR_NOMEM. */
int turn_new(struct turn **out, struct loop *l, struct store *store,
              struct mcp *mcp);
void turn_free(struct turn *t);
/* Runs turns until ended, which is asked after each, returns true. A signal
   drops what has not begun, and ends the listens; transports then flush and
   end. 0, or ERR_IO: select failed. */
int turn_run(struct turn *t, bool (*ended)(void *ctx), void *ctx);
/* As a signal does: takes no more messages, drops those not yet run. */
void turn_stop(struct turn *t);
bool turn_stopping(const struct turn *t);
/* SIGHUP calls fn instead of ending the server. */
void turn_on_hangup(struct turn *t, void (*fn)(void *ctx), void *ctx);

/* A new peer, for turn_leave to free; NULL: no memory. */
struct peer *turn_join(struct turn *t, const struct peer_ops *ops,
                        void *ctx);
/* Drops what p has pushed, cancels what waits, frees p, which may be NULL. */
void turn_leave(struct peer *p);
/* Takes one message into the queue of p, or with a NULL text the end of the
   session that f names; the text and f must stay until done. 0; ERR_MORE: the
   queue is full, or what all peers have pushed, or the server stops;
   ERR_NOMEM. An error leaves the queue as it was. */
int turn_push(struct peer *p, const struct mcp_facts *f,
              const struct str *text);
/* Whether messages of p wait for their turn. */
bool turn_pending(const struct peer *p);
/* While held, no message of p is run: its client does not read the answers. */
void turn_hold(struct peer *p, bool held);
struct mcp *turn_mcp(const struct turn *t);

#endif
