#ifndef HTTP_H
#define HTTP_H

/* http - an HTTP/1.1 server on the loop: listening, connections, and requests
   with their bodies; replies, and streams of server-sent events (WHATWG HTML
   9.2). It does not know MCP. */

#include "http/parse.h"
#include "base/loop.h"

#include <sys/select.h>

#define HTTP_CONNECTIONS 256              /* the default */
#define HTTP_MAX_CONNECTIONS (FD_SETSIZE - 16) /* the rest is for others */
#define HTTP_REQUEST_MS 10000             /* for a complete head or body */
#define HTTP_UNREAD_MS 60000              /* the same, of one that sends faster
                                             than the server reads */
#define HTTP_MAX_AHEAD ((size_t)8 * 1024) /* bytes that a client may send ahead
                                             during a long wait */
#define HTTP_IDLE_MS 60000                /* between requests of known
                                             clients */
#define HTTP_WRITE_MS 30000               /* without progress in a reply */
#define HTTP_PING_MS 15000                /* of silence on a stream */
#define HTTP_MAX_UNSENT ((size_t)1024 * 1024)       /* bytes, per stream */
/* Bytes of all input not done with and all unsent output. Half of it is 64 KiB
   for each of HTTP_CONNECTIONS, or a head for each that select allows; the
   other half is two of the largest bodies at the same time. */
#define HTTP_BUDGET ((size_t)32 * 1024 * 1024)

struct http;
struct http_conn; /* a connection and its current request */

/* The server owner's callbacks. Each may begin a reply on c, or leave that for
   later. */
struct http_handler {
    void *ctx;
    /* A head has arrived, but not its body. A reply sent here refuses the
       request: the body is not read, and the connection closes after the
       reply. */
    void (*head)(void *ctx, struct http_conn *c);
    /* The request is complete. */
    void (*request)(void *ctx, struct http_conn *c);
    /* The connection has ended, in any state. c is freed on return. */
    void (*closed)(void *ctx, struct http_conn *c);
};

struct http_options {
    const char *host;     /* numeric address to bind */
    uint16_t port;        /* 0: any free port */
    const char *unix_path; /* used instead of host and port, or NULL */
    int fd;               /* a listening socket to use instead, or -1 */
    int also_fd;          /* another one besides fd; 0: none */
    unsigned connections; /* 0: HTTP_CONNECTIONS; capped at what select
                             allows */
};

/* Returns whether only this machine can reach the address in o; also true of
   one that http_open would refuse. Binds nothing. */
bool http_is_local(const struct http_options *o);
/* Binds and listens. h must outlive the server. Replaces a socket file that no
   process listens on; the mode is 0600. Returns 0, ERR_NOMEM, or ERR_IO or
   ERR_INVALID with the address and the reason in *why. */
int http_open(struct http **out, struct loop *l,
              const struct http_options *o, const struct http_handler *h,
              char why[256]);
/* Closes everything, calling closed for each connection, and removes the socket
   file it made. */
void http_free(struct http *s);
/* Closes the listening socket and idle connections; the others close after
   their reply. */
void http_stop(struct http *s);
/* Returns whether all connections have ended. */
bool http_is_idle(const struct http *s);
/* "127.0.0.1:8766", "[::1]:80" or "unix:PATH"; of two sockets the one of
   TCP. */
const char *http_address(const struct http *s);

unsigned http_limit(const struct http *s); /* maximum connections */

struct http_counts {
    uint64_t accepted, refused, requests, bytes_in, bytes_out;
    unsigned open, streams;
    size_t held; /* bytes of the budget in use: capacity of all buffers */
};
void http_count(const struct http *s, struct http_counts *out);

/* ---- the request ---- */

/* The current request's head and body. Both stay valid from request until the
   reply ends. While the body is arriving (head), slices of the head may move:
   keep no pointers. */
const struct http_head *http_request(const struct http_conn *c);
struct str http_body(const struct http_conn *c);
/* Marks the client as known. Unknown clients share three quarters of the
   connections; when a new one comes, the quietest of them is dropped. If the
   table is full before that, the quietest idle connection is, known or not. */
void http_know(struct http_conn *c);
/* To be called in head for a request whose body may be large. Its room beyond
   what each connection has for itself is shared by all requests with the same
   who (not 0), which together may use HTTP_MAX_BODY. One that finds no room is
   answered with 503, or without this call with 413. */
void http_share(struct http_conn *c, uint64_t who);
/* For a long reply, begun or not: frees the request; its head is then NULL and
   its body empty. From then on a client that closes, even for writing only, is
   dropped, as is one that sends more than HTTP_MAX_AHEAD bytes. */
void http_forget(struct http_conn *c);
/* Whether its client was sent more than it, or the system, could take so far;
   what was added since the last turn of the loop does not count. */
bool http_is_behind(const struct http_conn *c);
/* Whether its client has closed, even if the loop has not seen that yet. */
bool http_is_gone(const struct http_conn *c);
/* The handler's own pointer, kept for the life of the connection. Initially
   NULL. */
void *http_user_data(const struct http_conn *c);
void http_set_user_data(struct http_conn *c, void *user_data);
/* Closes the connection immediately. The loop calls closed later. */
void http_drop(struct http_conn *c);

/* ---- the reply: each request gets one, or one stream ---- */

#define HTTP_RETRY "Retry-After: 1\r\n" /* a field for each 503 */

/* Sends a whole reply. fields is NULL or lines ending with CRLF; type may be
   NULL if there is no body. The reply is not cacheable unless fields include
   Cache-Control. A reply to HEAD has no body. Bytes that the first write does
   not accept are sent as the client reads. */
void http_reply(struct http_conn *c, int status, const char *fields,
                const char *type, struct str body);
/* Begins an event stream with status 200 and sends its head. It sends a comment
   after each HTTP_PING_MS of silence. */
void http_stream(struct http_conn *c, const char *fields);
bool http_is_stream(const struct http_conn *c);
/* Sends one event. event and id may be empty, retry_ms 0; data may have several
   lines. A client that leaves HTTP_MAX_UNSENT bytes unread is dropped. */
void http_event(struct http_conn *c, struct str event, struct str id,
                unsigned retry_ms, struct str data);
/* Ends the stream; the connection is then ready for its next request. */
void http_stream_end(struct http_conn *c);

#endif
