#ifndef SERVE_TURN_H
#define SERVE_TURN_H

/* turn - runs the messages of any number of peers against the store, in order
   per peer, and commits them together before any answer goes out. A transport
   pushes messages, and gets the answers through its channel (mcp/mcp.h), in the
   order of the messages; to those that had to wait later, in any order. */

#include "base/loop.h"
#include "mcp/mcp.h"
#include "store.h"

#define TURN_MAX_QUEUE 256 /* messages of one peer not yet answered */
#define TURN_FOLLOW_MS 50  /* how often others' commits are read, */
#define TURN_LIST_MS 1000  /* if they can only change a list, */
#define TURN_IDLE_MS (10 * 1000) /* and if no client listens */
#define TURN_END_MS 900    /* to answer at the end the messages taken */

struct turn;
struct peer; /* the messages of one channel, such as a connection */

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

/* Makes a peer, which turn_leave frees; NULL if memory ran out. The functions
   of its channel may not call turn_leave, nor push for another peer. While it
   is blocked, its messages are not run. */
struct peer *turn_join(struct turn *t, struct mcp_channel *channel);
/* Drops p's messages, also those that wait, and frees p, which may be NULL. */
void turn_leave(struct peer *p);
/* Puts a message into the queue of p, or if text is NULL the end of the session
   that f names. text and f are copied. Returns 0; ERR_QUEUE_FULL if this queue
   or all of them together are full, or the server stops; ERR_NOMEM; ERR_INVALID
   as mcp_accept. An error leaves the queue unchanged. */
int turn_push(struct peer *p, const struct mcp_facts *f,
              const struct str *text);
/* Whether messages of p wait for their turn, or its end. */
bool turn_pending(const struct peer *p);
struct mcp *turn_mcp(const struct turn *t);

#endif
