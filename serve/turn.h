#ifndef SERVE_TURN_H
#define SERVE_TURN_H

/* turn - the turn: messages of any number of peers, in order per peer, run
   against the store and committed together before an answer is let out. It
   knows no descriptor: transports push messages and are given answers. */

#include "base/loop.h"
#include "mcp/mcp.h"
#include "store.h"

#define SERVE_MAX_QUEUE 256 /* messages of one peer not yet answered */
#define SERVE_FOLLOW_MS 50  /* how often others' commits are looked for */

struct serve;
struct peer; /* one live channel that takes messages */

struct serve_answer {
    enum mcp_status status; /* never MCP_WAITS */
    struct str body;        /* empty when there is nothing to say */
    const char *session;    /* id of the session that it made, or NULL */
};

/* What a transport does for its peer. None of them may call serve_leave,
   or push for another peer. The bytes are valid during the call only. */
struct peer_ops {
    /* Takes a message that is no answer: a notification or a request of the
       server's. event is the id of its SSE event, or empty. It goes before
       the answers that follow. */
    void (*message)(void *ctx, struct str body, struct str event);
    /* Takes the next answer, in order of the messages but for those that had
       to wait, whose answers come when they come. */
    void (*answer)(void *ctx, const struct serve_answer *a);
    /* The next message, in order, waits: its answer comes later. poll is not
       0: its client may come back for it after so many milliseconds. */
    void (*later)(void *ctx, unsigned poll_ms);
    /* These were all for now, as a rule for this turn: time to write. */
    void (*answered)(void *ctx);
    /* Everything pushed is answered, or kept to wait: texts may go, more may
       be pushed. */
    void (*done)(void *ctx);
};

/* All three must outlive the serve, which becomes the store's observer. 0 or
   ERR_NOMEM. */
int serve_new(struct serve **out, struct loop *l, struct store *store,
              struct mcp *mcp);
void serve_free(struct serve *s);
/* Turns until ended says so, which is asked after each. A signal stops what
   has not begun, and ends the listens; transports then flush and end. 0, or
   ERR_IO: no select. */
int serve_run(struct serve *s, bool (*ended)(void *ctx), void *ctx);
/* As a signal does: takes no more messages, drops those not yet run. */
void serve_stop(struct serve *s);
bool serve_stopping(const struct serve *s);
/* SIGHUP calls fn instead of ending the server. */
void serve_on_hangup(struct serve *s, void (*fn)(void *ctx), void *ctx);

/* A new peer, to be left again, or NULL when there is no memory. */
struct peer *serve_join(struct serve *s, const struct peer_ops *ops,
                        void *ctx);
/* Drops what it has pushed, and cancels what waits. */
void serve_leave(struct peer *p);
/* Takes one message into the queue of p; text and f must stay until done. 0;
   ERR_MORE: the queue is full, or what all peers have pushed, or the server
   stops; ERR_NOMEM. Neither is taken. */
int serve_push(struct peer *p, const struct mcp_facts *f, struct str text);
/* The same for the end of the session that f names. */
int serve_push_end(struct peer *p, const struct mcp_facts *f);
/* Whether messages of p wait for their turn. */
bool serve_pending(const struct peer *p);
/* Whether messages of p wait for an event. */
bool serve_waiting(const struct peer *p);
/* While held, no message of p is run: it has too many unread answers. */
void serve_hold(struct peer *p, bool held);
struct mcp *serve_mcp(const struct serve *s);

#endif
