#ifndef SERVE_EXCHANGE_H
#define SERVE_EXCHANGE_H

/* exchange - a request over HTTP and its reply: one body, or a stream of
   events. Each connection has one exchange for all of its requests. */

#include "http/reply.h"
#include "serve/access.h"
#include "serve/route.h"

#define EXCHANGE_RETRY "Retry-After: 1\r\n"
#define EXCHANGE_FIELDS 160 /* bytes of the fields of one reply */
#define EXCHANGE_VERSION "mcp-protocol-version"

struct exchanges { /* what all of a server share */
    struct turn *turn;
    struct loop *loop;
    struct store *store;
    struct http *http;
    struct access access;
    struct exchange *first;  /* the newest */
    uint64_t last_id;        /* of those kept; from a random one on */
    uint64_t last_round;     /* that was pushed: see post.c */
    unsigned n_rounds;       /* exchanges that wait to be pushed */
    struct loop_timer timer; /* for what is kept, and for the end */
    struct buf page;         /* the fields of the board, NUL-terminated */
    int64_t end_ms;          /* 0: it goes on */
};

struct exchange {
    struct exchanges *all;
    struct exchange *next, **at; /* in the list of all */
    struct http_conn *c;         /* NULL: it is kept for its client */
    const struct route *route;
    struct caller caller;
    bool json, sse;   /* what its client accepts */
    uint64_t counted; /* the principal its connection counts for; 0: none */
    bool asking;      /* its reply waits for an answer */
    unsigned wait_ms; /* its request is one too many until then; 0: not */
    bool legacy;      /* it is a stream of the SSE transport */
    struct peer *peer; /* NULL: not needed so far */
    struct mcp_facts facts;
    struct mcp_session *session; /* whose stream it is, or NULL */
    struct mcp_sink sink;
    struct arena posts;  /* what other exchanges posted for its stream */
    size_t posts_len;
    struct buf id;       /* of its last event, when it may be kept */
    struct buf missed;   /* messages while it was kept, a line each */
    uint64_t round;      /* in which it is pushed; 0: it does not wait */
    int64_t until_ms;    /* for which it is kept */
};

/* For a new connection: NULL when there is no memory. */
struct exchange *exchange_new(struct exchanges *all, struct http_conn *c);
void exchange_free(struct exchange *x);
/* Its connection is gone: keeps it where its client may come back. */
void exchange_lost(struct exchange *x);
/* Ends a reply that nobody will end any more, when the server stops. */
void exchange_end(struct exchange *x);
/* For the timer, ctx is the struct exchanges: frees those kept too long. */
void exchange_sweep(void *ctx);

struct str exchange_field(const struct exchange *x, const char *name);
/* The revision that the request names, or -1. */
int exchange_version(const struct exchange *x);
struct mcp_facts exchange_facts(const struct exchange *x);
struct mcp *exchange_mcp(const struct exchange *x);
struct str exchange_principal(const struct exchange *x);
bool exchange_same_caller(const struct exchange *a, const struct exchange *b);
/* Makes its peer, where it has none: false without the memory. */
bool exchange_join(struct exchange *x);

void exchange_reply(struct exchange *x, int status, const char *fields,
                    const char *type, struct str body);
void exchange_say(struct exchange *x, int status, const char *fields,
                  const char *text);
void exchange_unavailable(struct exchange *x);
/* A reply in b, or 503 where memory did not suffice for it; frees b. */
void exchange_give(struct exchange *x, int status, const char *type,
                   struct buf *b);
/* Whether a required value is missing; then 400 and text are the reply. */
bool exchange_lacks(struct exchange *x, struct str value, const char *text);
void exchange_begin_stream(struct exchange *x, const char *fields);
/* Takes the answer to what x has asked; for its peer. */
void exchange_answer(void *ctx, const struct turn_answer *a);
void exchange_free_posts(struct exchange *x);
/* Continues a reply that is kept for this caller as the event of that id of
   that session, on x's connection: then x is gone. */
bool exchange_resume(struct exchange *x, struct str session, struct str id);

#endif
