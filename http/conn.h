#ifndef HTTP_CONN_H
#define HTTP_CONN_H

/* conn - a connection, and the server whose it is, as the files of http
   know them. Nobody else includes it. */

#include "http.h"

#define HTTP_MAX_ADDRESS 160
#define HTTP_KEEP ((size_t)16 * 1024) /* of a buffer between two requests */

enum state {
    HEAD,    /* between requests, or inside a head */
    BODY,
    ASKED,   /* the handler looks at the head */
    BUSY,    /* the request is the handler's, and no reply begun */
    STREAM,
    SENDING, /* the reply is whole, and some of it unsent */
    LINGER,  /* closed for writing; what comes is thrown away */
    DEAD
};

struct http_conn {
    struct http *server;
    struct http_conn *next;  /* in todo */
    void *mine;
    struct http_head *head;  /* NULL: none at hand */
    struct buf in, out;
    struct http_scan scan;
    struct http_chunks chunks;
    size_t pos;              /* where in `in` the request begins */
    size_t head_len, body_len;
    size_t gap;              /* bytes that its chunks left behind the body */
    size_t sent;             /* bytes of out that are written */
    size_t held;             /* room that in and out have: invariant 4 */
    int64_t since_ms;        /* of the state, or of the last progress */
    unsigned slot;           /* in the table */
    uint64_t nth;            /* of all that were accepted */
    int fd;
    enum state state;
    int minor;               /* of the request */
    int events;              /* what fd is watched for */
    bool queued;
    bool known;              /* http_know */
    bool is_head;            /* of method */
    bool keep;               /* the connection, after this reply */
    bool refused;            /* the request was not read whole */
    bool moved;              /* `in` has, since the head was parsed */
    bool eof;                /* the client has closed */
};

struct http {
    struct loop *loop;
    const struct http_handler *handler;
    struct http_conn **conn; /* the table */
    unsigned limit;
    struct http_conn *todo;  /* for run_todo */
    struct loop_timer todo_timer, sweep_timer;
    struct http_counts counts;
    struct buf spare;        /* an empty one, for the next reply */
    int fd;                  /* -1: stopped */
    bool paused;             /* no descriptors left to accept with */
    bool starved;            /* some may not read because of the budget */
    struct http_conn *first; /* whose body may pass the budget, or NULL */
    char *path;              /* of the socket file that it made */
    char address[HTTP_MAX_ADDRESS];
};

static inline size_t
unsent(const struct http_conn *c)
{
    return c->out.len - c->sent;
}

/* Notes the time: c has made progress. */
void http_touch(struct http_conn *c);
/* Has the loop flush c, take its next request, or free it. */
void http_queue(struct http_conn *c);
/* Counts what c holds; that may drop it, or others. */
void http_account(struct http_conn *c);
/* The same, and watches c for what it can do next. To be called whenever that
   may have changed. */
void http_update(struct http_conn *c);
/* Writes once, as much as goes; ends the request when its reply is out. */
void http_flush(struct http_conn *c);
/* Whether its request is forgotten: see http_forget. */
bool http_is_waiting(const struct http_conn *c);
/* How many bytes may be read now. */
size_t http_room(struct http_conn *c);
/* Makes room for as many; false: memory did not suffice, and c is dropped. */
bool http_reserve(struct http_conn *c, size_t n);

#endif
