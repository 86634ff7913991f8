#ifndef JSON_H
#define JSON_H

/* json - bytes to tokens (RFC 8259, strict). No input or output, no recursion.
   The way back is json/write.h. */

#include "base/base.h"
#include "json/write.h"

#define JSON_MAX_TOKENS 65536 /* per text; 24 bytes each */

enum json_type {
    JSON_NULL,
    JSON_FALSE,
    JSON_TRUE,
    JSON_NUMBER,
    JSON_STRING,
    JSON_ARRAY,
    JSON_OBJECT
};

/* A token points into the text, which must outlive it, or into a copy as
   json_parse may make one. The members of an object are pairs of tokens, a
   string and its value; the first child of a container stands at t + 1, the
   sibling of t at t + t->span. */
struct json_tok {
    const char *p; /* a string's points behind its quote */
    uint32_t len;  /* bytes in the text; a string's without its quotes */
    uint32_t span; /* tokens in this value, itself included */
    uint32_t n;    /* members or elements of a container */
    uint8_t type;
    bool escaped; /* a string with a backslash in it */
};

/* Parses one text: 0 and its root in *root (memory in a), ERR_SYNTAX,
   ERR_TOO_LARGE (tokens or depth) or ERR_NOMEM. UTF-8 is validated, numbers
   are kept as their text, and where an escape is a lone surrogate the tokens
   are those of a copy in a that has \ufffd in its place. *at, where not NULL,
   is the offset of the byte that an error is about. */
int json_parse(struct arena *a, struct str text, const struct json_tok **root,
               size_t *at);

/* The value of an object's member, or NULL; the last wins where a name
   stands twice. t may be NULL or no object. Linear in the members. */
const struct json_tok *json_get(const struct json_tok *t, const char *name);
/* The text of a string token with its escapes resolved, in a where it has
   any; .p is NULL when t is NULL, no string, or there is no memory. */
struct str json_str(struct arena *a, const struct json_tok *t);
/* Whether t is a string that says z. */
bool json_is(const struct json_tok *t, const char *z);
/* Whether t is a number with an integral value in int64_t (1, 1.0, 1e3). */
bool json_int(const struct json_tok *t, int64_t *out);
/* The token's own bytes in the text, a string's quotes included. */
struct str json_raw(const struct json_tok *t);

#endif
