#ifndef HTTP_REPLY_H
#define HTTP_REPLY_H

/* reply - replies, and streams of server-sent events (WHATWG HTML 9.2). Each
   request gets one reply or one stream. */

#include "http.h"

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

/* ---- used only in http ---- */

/* Sends an error reply of the server itself, with the status text as body, and
   frees the request, which no handler may be looking at. */
void http_refuse(struct http_conn *c, int status);
/* Sends a comment, so that proxies and clients keep the stream open. */
void http_ping(struct http_conn *c);

#endif
