#ifndef HTTP_H
#define HTTP_H

/* http - an HTTP/1.1 server on the loop: listening, connections, and requests
   with their bodies; http/reply.h answers them. It knows no MCP. */

#include "http/parse.h"
#include "base/loop.h"

#define HTTP_CONNECTIONS 256              /* unless told otherwise */
#define HTTP_REQUEST_MS 10000             /* until a head or body is whole */
#define HTTP_MAX_BEHIND ((size_t)8 * 1024) /* bytes sent during a long wait */
#define HTTP_IDLE_MS 60000                /* between requests of the known */
#define HTTP_WRITE_MS 30000               /* without progress of a reply */
#define HTTP_PING_MS 15000                /* of silence on a stream */
#define HTTP_MAX_UNSENT ((size_t)1024 * 1024)       /* of one stream */
#define HTTP_BUDGET ((size_t)32 * 1024 * 1024)      /* of all together */

struct http;
struct http_conn; /* a connection, and the one request that it is at */

/* What the server's owner does. In each of them any reply may be begun for
   this connection, or none yet. */
struct http_handler {
    void *ctx;
    /* A head has come, its body not yet. A reply made here refuses the request:
       its body is not read, and the connection closes after the reply. */
    void (*head)(void *ctx, struct http_conn *c);
    /* The request is whole. */
    void (*request)(void *ctx, struct http_conn *c);
    /* The connection is gone, whatever it was at; c is freed after this. */
    void (*closed)(void *ctx, struct http_conn *c);
};

struct http_options {
    const char *host;     /* numeric address to bind */
    uint16_t port;        /* 0: any that is free */
    const char *unix_path; /* instead of the two above, or NULL */
    int fd;               /* a listening socket instead of all three; or -1 */
    unsigned connections; /* 0: HTTP_CONNECTIONS; at most what select can */
};

/* Whether only this machine can reach the address of o; also true where
   http_open refuses it. Binds nothing. */
bool http_is_local(const struct http_options *o);
/* Binds and listens; h must outlive it. A socket file that nobody answers on
   is replaced, mode 0600. ERR_IO or ERR_INVALID, and *why names the address
   and the reason; ERR_NOMEM. */
int http_open(struct http **out, struct loop *l,
              const struct http_options *o, const struct http_handler *h,
              char why[256]);
/* Closes everything; closed is called for each connection. Removes the
   socket file that it made. */
void http_free(struct http *s);
/* Closes the listening socket and idle connections; each other one closes
   when its reply is out. */
void http_stop(struct http *s);
/* Whether every connection is gone. */
bool http_is_idle(const struct http *s);
/* "127.0.0.1:8766", "[::1]:80" or "unix:PATH". */
const char *http_address(const struct http *s);

unsigned http_limit(const struct http *s); /* of connections */

struct http_counts {
    uint64_t accepted, refused, requests, bytes_in, bytes_out;
    unsigned open, streams;
    size_t held; /* bytes of the budget in use: what buffers have room for */
};
void http_count(const struct http *s, struct http_counts *out);

/* ---- the request ---- */

/* Both stay as they are from request until the reply has ended; what head is
   shown may move while the body comes, so nothing of it is to be kept. */
const struct http_head *http_request(const struct http_conn *c);
struct str http_body(const struct http_conn *c);
/* Marks its client as known. The others share three quarters of the
   connections, and when a new one comes, the quietest of them is dropped. */
void http_know(struct http_conn *c);
/* For a reply that takes long, begun or not: frees its request; head is NULL
   then and the body empty. From here on a client that closes, even if only for
   writing, is dropped, and so is one that sends HTTP_MAX_BEHIND bytes more. */
void http_forget(struct http_conn *c);
/* A pointer of the handler's, kept with the connection over its requests; NULL
   at first. */
void *http_mine(const struct http_conn *c);
void http_set_mine(struct http_conn *c, void *mine);
/* Closes the connection at once. closed is called later, from the loop. */
void http_drop(struct http_conn *c);

#endif
