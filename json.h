#ifndef JSON_H
#define JSON_H

/* json - parses JSON into tokens (RFC 8259, strict). No I/O, no recursion.
   json/write.h writes JSON. */

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

/* A token points into the text, which must outlive it, or into json_parse's
   copy. The members of an object are pairs of tokens, a string and its value.
   The first child of a container is t + 1, the next sibling of t is t +
   t->span. */
struct json_tok {
    const char *p; /* for a string, the byte after its quote */
    uint32_t len;  /* bytes in the text; without a string's quotes */
    uint32_t span; /* tokens in this value, itself included */
    uint32_t n;    /* members or elements of a container */
    uint8_t type;
    bool escaped; /* the string contains a backslash */
};

/* U+FFFD, in a mix of cases that no writer of JSON uses: it stands for an
   escaped lone surrogate. */
#define JSON_LONE "\\uFFfd"

/* Parses a text. 0 with its root in *root (memory in a), ERR_SYNTAX,
   ERR_TOO_LARGE (tokens or depth) or ERR_NOMEM. UTF-8 is validated; numbers
   stay text. If an escape is a lone surrogate, the tokens refer to a copy in a
   that has JSON_LONE instead. On an error *at, if at is not NULL, is the offset
   of the offending byte. */
int json_parse(struct arena *a, struct str text, const struct json_tok **root,
               size_t *at);

/* Whether json_parse would accept text, except that lone surrogates are
   refused, and that any number of values and eight more levels are allowed.
   Needs no memory. */
bool json_is_valid(struct str text);

/* The value of an object's member, or NULL; the last one if the name is
   repeated. t may be NULL or not an object. Takes time linear in the
   members. */
const struct json_tok *json_get(const struct json_tok *t, const char *name);
/* The decoded text of a string token, in a if it has escapes. .p NULL: t is
   NULL or not a string, has an escape that json_parse would refuse, or memory
   ran out. */
struct str json_str(struct arena *a, const struct json_tok *t);
/* Returns whether t is a string equal to z, or to s. Needs no memory. */
bool json_is(const struct json_tok *t, const char *z);
bool json_is_str(const struct json_tok *t, struct str s);
/* Returns whether t is a number with an integral value in int64_t (1, 1.0,
   1e3). */
bool json_int(const struct json_tok *t, int64_t *out);
/* The token's bytes in the text, including a string's quotes. */
struct str json_raw(const struct json_tok *t);

#endif
