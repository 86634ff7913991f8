#ifndef SERVE_TURN_H
#define SERVE_TURN_H

/* turn - runs the messages of any number of peers against the store, in order
   per peer, and commits them together before any answer goes out. Transports
   push messages and receive the answers. */

#include "base/loop.h"
#include "mcp/mcp.h"
#include "store.h"

#define TURN_MAX_QUEUE 256 /* messages of one peer not yet answered */
#define TURN_FOLLOW_MS 50  /* how often others' commits are read, */
#define TURN_LIST_MS 1000  /* if they can only change a list, */
#define TURN_IDLE_MS (10 * 1000) /* and if no client listens */
#define TURN_END_MS 900    /* to answer at the end the messages taken */

struct turn;
struct peer; /* one channel of messages, such as a connection */

struct turn_answer {
    enum mcp_status status; /* never MCP_WAITS */
    struct str body;        /* empty: the message has no answer */
    const char *session;    /* id of the session that it began, or NULL */
};

/* The functions of a transport, called with its peer's ctx; later, lost,
   answered, gone and behind may be NULL. None may call turn_leave, or push for
   another peer. The bytes are valid only during the call. */
struct peer_ops {
    /* Receives a notification or a request of the server, to be sent before
       later answers. event is the id of its SSE event, or empty. */
    void (*message)(void *ctx, struct str body, struct str event);
    /* Receives the next answer, in the order of the messages. Messages that had
       to wait are answered later, in any order. False: memory ran out, and a
       short error follows instead. */
    bool (*answer)(void *ctx, const struct turn_answer *a);
    /* There is no memory for that error either: the client must learn that it
       will get no answer. */
    void (*lost)(void *ctx);
    /* The next message, in order, has to wait: see mcp_polls and
       mcp_repeats. */
    void (*later)(void *ctx, const struct mcp_message *m);
    /* This turn has no more answers: time to write. */
    void (*answered)(void *ctx);
    /* Whether its client has left and no longer waits for an answer. */
    bool (*gone)(void *ctx);
    /* Whether its client has yet to read some of what it was sent. */
    bool (*behind)(void *ctx);
    /* Every message is answered or waits: more may be pushed. */
    void (*done)(void *ctx);
};

/* The turn becomes the store's observer. All three must outlive it. Returns 0
   or ERR_NOMEM. */
int turn_new(struct turn **out, struct loop *l, struct store *store,
             struct mcp *mcp);
void turn_free(struct turn *t);
/* Runs turns until ended, called after each, returns true. A signal ends the
   listens, and no more messages are accepted; then transports send the
   remaining answers, and end. Returns 0, ERR_IO if select fails, or the error
   of turn_fail. */
int turn_run(struct turn *t, bool (*ended)(void *ctx), void *ctx);
/* Does what a signal does: accepts no more messages. */
void turn_stop(struct turn *t);
bool turn_stopping(const struct turn *t);
/* Makes turn_run return this error after the current turn, for a transport that
   cannot continue. */
void turn_fail(struct turn *t, int err);
/* Makes SIGHUP call fn instead of ending the server. */
void turn_on_hangup(struct turn *t, void (*fn)(void *ctx), void *ctx);

/* Makes a peer, which turn_leave frees; NULL if memory ran out. */
struct peer *turn_join(struct turn *t, const struct peer_ops *ops,
                       void *ctx);
/* Drops p's messages, also those that wait, and frees p, which may be NULL. */
void turn_leave(struct peer *p);
/* Puts a message into the queue of p, or if text is NULL the end of the session
   that f names. text and f are copied. Returns 0; ERR_QUEUE_FULL if this queue
   or all of them together are full, or the server stops; ERR_NOMEM; ERR_INVALID
   as mcp_accept. An error leaves the queue unchanged. */
int turn_push(struct peer *p, const struct mcp_facts *f,
              const struct str *text);
/* Whether messages of p wait for their turn. */
bool turn_pending(const struct peer *p);
/* Where the notifications of p's waiting messages go: to message and answered,
   and nowhere while p is held. It can be that of p's session as well. */
struct mcp_sink *turn_sink(struct peer *p);
/* While p is held, its messages are not run: its client reads no answers. */
void turn_hold(struct peer *p, bool held);
struct mcp *turn_mcp(const struct turn *t);

#endif
