#ifndef HTTP_PARSE_H
#define HTTP_PARSE_H

/* parse - HTTP/1.1 requests from bytes (RFC 9112), strictly: heads and
   chunked bodies. No input or output, and no memory but the caller's. */

#include "base/base.h"

#define HTTP_MAX_HEAD 16384 /* bytes, with the empty line at its end */
#define HTTP_MAX_FIELDS 100
#define HTTP_MAX_TARGET 4096
#define HTTP_MAX_BODY ((size_t)8 * 1024 * 1024)

struct http_field {
    struct str name, value; /* value without the blanks around it */
};

/* A request's head. The slices point into the bytes that were parsed. */
struct http_head {
    struct str method;
    struct str path, query; /* of the target; query without its "?" */
    struct str host;        /* of the target http://host/path, else of Host;
                               valid; .p NULL: HTTP/1.0 need not have one */
    int minor;              /* of HTTP/1.minor: 0 or 1 */
    bool keep_alive;        /* what the client wants, by its version */
    bool chunked;
    bool expect;            /* 100-continue */
    size_t content_length;  /* 0 where chunked or absent */
    size_t n;
    struct http_field field[HTTP_MAX_FIELDS];
};

/* Where the search for the end of a head is. Zeroed = at its beginning. */
struct http_scan {
    size_t seen;  /* bytes that need not be looked at again */
    size_t first; /* where the request line begins, behind empty lines */
    size_t line;  /* where the newest line begins */
};

/* Parses one head at p, of which len bytes are there; s goes with it from
   call to call as more come, p may move. The bytes of the head, ERR_MORE, or
   ERR_SYNTAX: *status is what to answer before the connection is closed (400,
   413, 414, 417, 431, 501, 505). The same for any split of the input. When
   the head is whole, *s is zeroed again. */
int http_parse_head(struct http_scan *s, const char *p, size_t len,
                    struct http_head *out, int *status);

/* A chunked body on its way. Zeroed = at its beginning. */
struct http_chunks {
    uint64_t left; /* of the chunk, or of its size line so far */
    size_t total;  /* bytes of data so far */
    size_t extra;  /* bytes of extensions and trailers so far */
    int digits;    /* of the size line so far */
    int state;
};

/* Takes bytes of a chunked body, in place: moves its data to p[0..*data) and
   returns how many bytes it took, all of them unless the body has ended
   (*done) in between. ERR_SYNTAX, or ERR_TOO_LARGE past HTTP_MAX_BODY; the
   bytes at p mean nothing then. Trailers are checked and dropped. */
int http_parse_chunks(struct http_chunks *c, char *p, size_t len,
                      size_t *data, bool *done);

/* The value of a field by its name in lower case; .p NULL: absent. Where it
   stands more than once, the first. */
struct str http_field_of(const struct http_head *h, const char *name);
/* Whether it stands more than once. */
bool http_is_repeated(const struct http_head *h, const char *name);
/* The value of a query's parameter, not decoded; .p NULL: absent. */
struct str http_query_of(const struct http_head *h, const char *name);
/* Whether media type type/subtype is acceptable by the field Accept (RFC
   9110, 12.5.1): true where there is none. */
bool http_accepts(const struct http_head *h, const char *type);
/* Whether a content coding is, by Accept-Encoding: false without one. */
bool http_accepts_coding(const struct http_head *h, const char *coding);
/* Whether a field value is of this media type, parameters left aside. */
bool http_is_type(struct str value, const char *type);

#endif
