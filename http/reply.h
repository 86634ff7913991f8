#ifndef HTTP_REPLY_H
#define HTTP_REPLY_H

/* reply - replies, and streams of server-sent events (WHATWG HTML 9.2).
   Each request gets one of the two, once. */

#include "http.h"

/* The whole reply. fields is NULL or lines that end with CRLF; type may be
   NULL where there is no body. Unless fields name Cache-Control, nobody may
   store it. To HEAD goes no body. What one write does not take is sent as
   the client reads. */
void http_reply(struct http_conn *c, int status, const char *fields,
                const char *type, struct str body);
/* Begins a stream of events, at once, with status 200. Should nothing be
   sent for HTTP_PING_MS, a comment is. */
void http_stream(struct http_conn *c, const char *fields);
bool http_is_stream(const struct http_conn *c);
/* Sends one event; event and id may be empty, retry_ms 0. data may have several
   lines. A client that leaves HTTP_MAX_UNSENT bytes unread is dropped. */
void http_event(struct http_conn *c, struct str event, struct str id,
                unsigned retry_ms, struct str data);
/* Ends the stream; the connection goes on to its next request. */
void http_stream_end(struct http_conn *c);

/* ---- for the files of http alone ---- */

/* A reply of the server itself: the text of the status. */
void http_refuse(struct http_conn *c, int status);
/* A comment, so that a stream is not taken for dead. */
void http_ping(struct http_conn *c);

#endif
