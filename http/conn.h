#ifndef HTTP_CONN_H
#define HTTP_CONN_H

/* conn - a connection and its server, for http.c. No other folder includes
   it. */

#include "http.h"
#include "http/listen.h"

#define HTTP_KEEP ((size_t)16 * 1024) /* of a buffer kept between requests */
#define HTTP_SPARE ((size_t)192) /* behind a request: room to notice a close */

enum state {
    HEAD,    /* between requests, or inside a head */
    BODY,
    CHECKING,/* the handler is looking at the head */
    BUSY,    /* the handler has the request, no reply begun */
    STREAM,
    SENDING, /* the reply is complete, but not all sent */
    LINGER,  /* closed for writing; input is discarded */
    DEAD
};

struct http_conn {
    struct http *server;
    struct http_conn *next;  /* in todo */
    void *user_data;
    struct http_head *head;  /* NULL: not allocated */
    size_t pos;              /* offset in `in` where the request begins */
    size_t head_len, body_len;
    int fd;
    enum state state;
    int minor;               /* minor HTTP version of the request */
    int events;              /* events that fd is watched for */
    bool queued;
    bool known;              /* http_know */
    bool is_head;            /* the method is HEAD */
    bool keep;               /* keep the connection after this reply */
    bool refused;            /* the request was not read in full */
    bool moved;              /* `in` moved since the head was parsed */
    bool eof;                /* the client has closed */
    struct buf in, out;
    struct http_scan scan;
    struct http_chunks chunks;
    size_t gap;              /* bytes of chunk framing left after the body */
    size_t sent;             /* bytes of out already written */
    size_t held;             /* capacity of in and out: invariant 6 of http.c */
    int64_t since_ms;        /* start of the state, or of the last progress */
    unsigned slot;           /* index in the table */
    uint64_t nth;            /* serial number among accepted connections */
    uint64_t who;            /* http_share; 0: not called for this request */
};

struct http {
    struct loop *loop;
    const struct http_handler *handler;
    struct http_conn **conn; /* the table */
    unsigned limit;
    struct http_conn *todo;  /* list for run_todo */
    struct http_counts counts;
    struct loop_timer todo_timer, sweep_timer;
    struct buf spare;        /* a free buffer for the next reply */
    int fd;                  /* listening socket, -1: stopped */
    int also_fd;             /* another one, 0: none */
    bool paused;             /* out of descriptors: not accepting */
    char *path;              /* of the socket file it made */
    char address[HTTP_MAX_ADDRESS];
};

static inline size_t
conn_unsent(const struct http_conn *c)
{
    return c->out.len - c->sent;
}

#endif
