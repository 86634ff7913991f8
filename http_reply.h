#ifndef HTTP_REPLY_H
#define HTTP_REPLY_H

/* http_reply - what the server itself says. What its owner says is in
   http.h. */

#include "http.h"

/* What the server itself says of a request, or of the lack of one. */
void http_refuse(struct http_conn *c, int status);
/* A comment, so that a stream is not taken for dead. */
void http_ping(struct http_conn *c);

#endif
