#ifndef SERVE_EXCHANGE_H
#define SERVE_EXCHANGE_H

/* exchange - a request over HTTP and its reply: one body, or a stream of
   events. Each connection has one exchange for all of its requests. */

#include "http/reply.h"
#include "serve/access.h"

#define EXCHANGE_FIELDS 160 /* bytes of the fields of one reply */
#define EXCHANGE_OVER ".over" /* the end of the id of an event that is the last
                                 of its stream */
/* How long a client that has lost its stream waits before it opens it again.
   Official clients try twice, so a restart may take four seconds. By themselves
   they would give up after two and a half; on /sse they would wait for three
   before each try. */
#define EXCHANGE_AGAIN_MS 2000
#define EXCHANGE_VERSION "mcp-protocol-version"

struct exchange;

enum { /* the flags of a route */
    ROUTE_FREE = 1,   /* needs no token */
    ROUTE_BODY = 2,   /* has a body, application/json */
    ROUTE_STREAM = 4, /* the client accepts text/event-stream */
    ROUTE_OLD = 8,    /* only in revisions with sessions */
    ROUTE_ENDS = 16,  /* ends a session */
    ROUTE_ANSWER = 32, /* the client accepts JSON or a stream */
    ROUTE_TOKENS = 64, /* only where there are tokens */
    ROUTE_ALWAYS = 128 /* does not count for the rate */
};

/* A path and a method that the server answers. */
struct route {
    const char *path, *method;
    int wants;
    void (*run)(struct exchange *x);
};

struct exchanges { /* shared by all of a server */
    struct turn *turn;
    struct loop *loop;
    struct store *store;
    struct http *http;
    struct access access;
    struct exchange *first;  /* the newest */
    uint64_t last_round;     /* the last one that was pushed: see post.c */
    unsigned n_rounds;       /* exchanges that wait to be pushed */
    struct loop_timer timer; /* frees exchanges, and ends the server */
    struct buf page;         /* the fields of the board, NUL-terminated */
    struct buf state;        /* a reply about the state of the server */
    struct buf metrics;      /* the last reply of /metrics, */
    int64_t metrics_ms;      /* and when it was made */
    int64_t end_ms;          /* when the server ends; 0: it runs */
};

struct exchange {
    struct exchanges *all;
    struct exchange *next, **at; /* in the list of all */
    struct http_conn *c;         /* NULL: it is to be freed */
    const struct route *route;
    struct caller caller;
    bool json, sse;   /* what its client accepts */
    uint64_t counted; /* hash of the principal that its connection counts for;
                         0: none */
    bool awaiting;    /* its reply waits for an answer */
    unsigned wait_ms; /* its request must wait this long for the rate; 0: it may
                         run */
    bool legacy;      /* it is a stream of the SSE transport */
    struct peer *peer; /* NULL: not needed yet */
    struct mcp_facts facts;
    struct mcp_session *session; /* whose stream it is, or NULL */
    struct mcp_channel channel;
    size_t posts_len;    /* bytes that others posted for its stream, until its
                            peer is done */
    struct buf repeat;   /* the id by which its request is sent again, or
                            empty */
    uint64_t round;      /* the round that pushes it; 0: it does not wait */
    int64_t until_ms;    /* how long it waits for its round */
};

/* Makes one for a new connection; NULL if memory ran out. */
struct exchange *exchange_new(struct exchanges *all, struct http_conn *c);
void exchange_free(struct exchange *x);
/* When the server stops: ends a reply that no message in the turn will end. */
void exchange_end(struct exchange *x);
/* The timer's function, with the struct exchanges as ctx: frees exchanges that
   have parted with their connections. */
void exchange_sweep(void *ctx);

struct str exchange_field(const struct exchange *x, const char *name);
/* The revision in the request's header field, or -1. */
int exchange_version(const struct exchange *x);
struct mcp_facts exchange_facts(const struct exchange *x);
struct mcp *exchange_mcp(const struct exchange *x);
struct str exchange_principal(const struct exchange *x);
bool exchange_same_caller(const struct exchange *a, const struct exchange *b);
/* Makes its peer unless it has one; false if memory ran out. */
bool exchange_join(struct exchange *x);

void exchange_reply(struct exchange *x, int status, const char *fields,
                    const char *type, struct str body);
void exchange_reply_text(struct exchange *x, int status, const char *fields,
                         const char *text);
void exchange_unavailable(struct exchange *x);
/* Whether a required value is missing; then replies 400 and text. */
bool exchange_lacks(struct exchange *x, struct str value, const char *text);
void exchange_begin_stream(struct exchange *x, const char *fields);
/* Replies with an answer to its request; session is the id of one that it
   began, or NULL. */
void exchange_answer(struct exchange *x, enum mcp_status status,
                     struct str body, const char *session);

#endif
