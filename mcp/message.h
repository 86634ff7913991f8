#ifndef MCP_MESSAGE_H
#define MCP_MESSAGE_H

/* message - a message with its requests, from mcp_accept to mcp_release. */

#include "mcp/request.h"

#define MCP_MAX_WAITING 256 /* messages of one session */
#define MCP_WAITING_LEN ((size_t)8 * 1024 * 1024) /* memory of all */

enum message_state { /* those that wait come last */
    MESSAGE_QUEUED,  /* to be run: it is new, or its wait is over */
    MESSAGE_RUN,     /* run in this turn: its answer is not out yet */
    MESSAGE_WAITS,   /* for its event, or for a time */
    MESSAGE_GOES_ON  /* with a long search, when the others had their turn */
};

struct mcp_message {
    struct mcp *m;
    struct mcp_message *next, **at; /* in m->messages */
    enum message_state state;
    struct arena own;          /* holds itself and all but the text */
    struct arena *a;           /* &own */
    struct mcp_session *s;
    const struct mcp_facts *f; /* while it is judged */
    int named;                 /* the revision in f->version, or -1 */
    bool modern;               /* its first value claims to be */
    bool no_memory;            /* memory ran out while it was judged */
    bool batch, ends, made;    /* ends: of mcp_accept_end */
    bool http;
    struct mcp_repeat repeat;  /* as in its facts */
    struct buf text;           /* as it came */
    struct request *v;
    size_t n;
    /* if it waits, or has waited: then it has one request */
    bool waited;
    bool ready;      /* to be run again */
    bool cancelled;
    size_t len;      /* bytes of all this, as counted in waiting_len */
    void *owner;
    struct mcp_channel *channel;
    int64_t due_ms;  /* INT64_MAX: never */
    uint64_t watch[CALL_NAMES_MAX]; /* hashes of what it watches; 0: nothing */
    struct buf kept; /* call.state of its next run */

    struct mcp_session scratch; /* stands in for a session */
};

/* Makes a message without text or requests, in memory of its own; NULL if
   memory ran out. mcp_release frees it. */
struct mcp_message *mcp_message_new(struct mcp *m);
/* Puts m, which is judged, into the list. */
void mcp_message_queue(struct mcp_message *m);
/* Whether k waits now. */
bool mcp_is_waiting(const struct mcp_message *k);
/* Whether r's message has waited, or may: the limits are there because clients
   may never cancel. */
bool mcp_may_wait(const struct request *r);
/* Call it for each committed record: messages that watch it will run again. */
void mcp_wake(struct mcp *m, const struct mcp_change *c);
/* When mcp_next has something; INT64_MAX: nobody knows. */
int64_t mcp_waiting_due_ms(const struct mcp *m);
/* Takes r, a notifications/cancelled: ends a waiting request of its session, or
   makes a queued one get neither run nor answer. */
void mcp_take_cancel(struct request *r, const struct json_tok *params);

/* The text of t; .p NULL if it is not a string, or if memory ran out, which
   ends the judging of m. */
struct str mcp_text_of(struct mcp_message *m, const struct json_tok *t);

#endif
