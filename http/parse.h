#ifndef HTTP_PARSE_H
#define HTTP_PARSE_H

/* parse - strict parsing of HTTP/1.1 (RFC 9112): heads of requests and answers,
   and chunked bodies. No I/O; all memory is the caller's. */

#include "base/base.h"

#define HTTP_MAX_HEAD 16384 /* bytes, with the final empty line */
#define HTTP_MAX_FIELDS 100
#define HTTP_MAX_TARGET 4096
#define HTTP_MAX_BODY ((size_t)8 * 1024 * 1024)

struct http_field {
    struct str name, value; /* value without surrounding blanks */
};

/* A head. The slices point into the parsed bytes. An answer's has no method,
   target or host. */
struct http_head {
    struct str method;
    struct str path, query; /* of the target; query without its "?" */
    struct str host;        /* from the target http://host/path, else from Host;
                               validated; .p NULL: absent, in HTTP/1.0 only */
    int minor;              /* of HTTP/1.minor: 0 or 1 */
    bool keep_alive;        /* the client's wish, or its version's default */
    bool chunked;
    bool expect;            /* 100-continue */
    int status;             /* of an answer: 100-999 */
    size_t content_length;  /* 0 if chunked or absent */
    size_t n;
    struct http_field field[HTTP_MAX_FIELDS];
};

/* Progress of the search for the end of a head. Initialize to zero. */
struct http_scan {
    size_t seen;  /* bytes already scanned */
    size_t first; /* start of the request line, after empty lines */
    size_t line;  /* start of the newest line */
};

/* Parses a head at p, of which len bytes have arrived. Pass the same s each
   time as more arrive; p may move between calls. Returns the length of the
   head, with *s zeroed again; ERR_INCOMPLETE: bytes of it have yet to arrive;
   or ERR_SYNTAX with the status to answer in *status (400, 413, 414, 417, 431,
   501, 505) before closing the connection. The result is the same for any split
   of the input. */
int http_parse_head(struct http_scan *s, const char *p, size_t len,
                    struct http_head *out, int *status);

/* The same for the head of an answer. ERR_SYNTAX: it is malformed, has more
   than HTTP_MAX_HEAD bytes, or a length above HTTP_MAX_BODY. */
int http_parse_answer(struct http_scan *s, const char *p, size_t len,
                      struct http_head *out);

/* State of a chunked body. Initialize to zero. */
struct http_chunks {
    uint64_t left; /* bytes of the chunk, or its size as read so far */
    size_t total;  /* bytes of data so far */
    size_t extra;  /* bytes of extensions and trailers so far */
    int digits;    /* of the size line so far */
    int state;
};

/* Decodes a chunked body in place: moves its data to p[0..*data) and returns
   how many bytes it consumed, which is all of them unless the body ended
   (*done). ERR_SYNTAX, or ERR_TOO_LARGE past HTTP_MAX_BODY; the bytes at p are
   then undefined. Trailers are checked and dropped. */
int http_parse_chunks(struct http_chunks *c, char *p, size_t len,
                      size_t *data, bool *done);

/* Returns the value of the first field of this lower-case name; .p NULL if
   absent. */
struct str http_field_of(const struct http_head *h, const char *name);
/* The same. Sets *twice if there is a second one, else leaves it alone. */
struct str http_field_once(const struct http_head *h, const char *name,
                           bool *twice);
/* Returns a query parameter's value, undecoded; .p NULL if absent. */
struct str http_query_of(const struct http_head *h, const char *name);
/* Returns whether the Accept field (RFC 9110, 12.5.1) allows the media type
   "type/subtype". True if there is no such field. */
bool http_accepts(const struct http_head *h, const char *type);
/* The same for a content coding and Accept-Encoding. False without one. */
bool http_accepts_coding(const struct http_head *h, const char *coding);
/* Returns whether a field value is this media type, ignoring parameters. */
bool http_is_type(struct str value, const char *type);

#endif
