#ifndef SERVE_TURN_H
#define SERVE_TURN_H

/* turn - the turn: messages of any number of peers, in order per peer, run
   against the store and committed together before an answer is let out. It
   knows no descriptor: transports push messages and are given answers. */

#include "base/loop.h"
#include "mcp/mcp.h"
#include "store.h"

#define TURN_MAX_QUEUE 256 /* messages of one peer not yet answered */
#define TURN_FOLLOW_MS 50  /* how often others' commits are looked for */

struct turn;
struct peer; /* one live channel that takes messages */

struct turn_answer {
    enum mcp_status status; /* never MCP_WAITS */
    struct str body;        /* empty when there is nothing to say */
    const char *session;    /* id of the session that it made, or NULL */
};

/* What a transport does for its peer; later and answered may be NULL. None of
   them may call turn_leave, or push for another peer. The bytes are valid
   during the call only. */
struct peer_ops {
    /* Takes a message that is no answer: a notification or a request of the
       server's. event is the id of its SSE event, or empty. It goes before
       the answers that follow. */
    void (*message)(void *ctx, struct str body, struct str event);
    /* Takes the next answer, in order of the messages but for those that had
       to wait, whose answers come when they come. */
    void (*answer)(void *ctx, const struct turn_answer *a);
    /* The next message, in order, waits: its answer comes later. poll is not
       0: its client may come back for it after so many milliseconds. */
    void (*later)(void *ctx, unsigned poll_ms);
    /* These were all for now, as a rule for this turn: time to write. */
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
/* Turns until ended says so, which is asked after each. A signal stops what
   has not begun, and ends the listens; transports then flush and end. 0, or
   ERR_IO: no select. */
int turn_run(struct turn *t, bool (*ended)(void *ctx), void *ctx);
/* As a signal does: takes no more messages, drops those not yet run. */
void turn_stop(struct turn *t);
bool turn_stopping(const struct turn *t);
/* SIGHUP calls fn instead of ending the server. */
void turn_on_hangup(struct turn *t, void (*fn)(void *ctx), void *ctx);

/* A new peer, to be left again, or NULL when there is no memory. */
struct peer *turn_join(struct turn *t, const struct peer_ops *ops,
                        void *ctx);
/* Drops what it has pushed, and cancels what waits. */
void turn_leave(struct peer *p);
/* Takes one message into the queue of p, or with a NULL text the end of the
   session that f names; the text and f must stay until done. 0; ERR_MORE: the
   queue is full, or what all peers have pushed, or the server stops;
   ERR_NOMEM. An error leaves the queue as it was. */
int turn_push(struct peer *p, const struct mcp_facts *f,
              const struct str *text);
/* Whether messages of p wait for their turn. */
bool turn_pending(const struct peer *p);
/* While held, no message of p is run: it has too many unread answers. */
void turn_hold(struct peer *p, bool held);
struct mcp *turn_mcp(const struct turn *t);

#endif
