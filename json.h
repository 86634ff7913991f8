#ifndef JSON_H
#define JSON_H

/* json - bytes to tokens (RFC 8259, strict), and a writer that can only
   produce valid JSON in valid UTF-8. No input or output, no recursion. */

#include "base/base.h"

#define JSON_MAX_DEPTH 128
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

/* ---- the writer ---- */

struct json_w {
    struct buf *b;
    uint8_t kind[JSON_MAX_DEPTH / 8]; /* a bit a level: object or array */
    uint16_t depth;
    bool comma; /* a value went before on this level */
    bool key;   /* a member's name was written, its value must follow */
};

/* Starts one value at the end of b. Misuse (two values, a value without a
   name in an object, an unclosed level at json_w_end) is an assert. */
void json_w_init(struct json_w *w, struct buf *b);
void json_w_end(struct json_w *w);
void json_obj(struct json_w *w);
void json_arr(struct json_w *w);
void json_close(struct json_w *w); /* the innermost object or array */
void json_key(struct json_w *w, const char *name);
void json_key_str(struct json_w *w, struct str name);
/* Bytes that are no valid UTF-8 become U+FFFD. */
void json_string(struct json_w *w, struct str s);
void json_z(struct json_w *w, const char *z);
void json_number(struct json_w *w, int64_t v);
void json_bool(struct json_w *w, bool v);
void json_null(struct json_w *w);
/* Splices a text that json_parse accepted or this writer made. */
void json_splice(struct json_w *w, struct str raw);
/* json_key and the value in one. */
void json_put_str(struct json_w *w, const char *name, struct str s);
void json_put_z(struct json_w *w, const char *name, const char *z);
void json_put_int(struct json_w *w, const char *name, int64_t v);
void json_put_bool(struct json_w *w, const char *name, bool v);
void json_put_raw(struct json_w *w, const char *name, struct str raw);
/* The string s in quotes, escaped, at the end of b. */
void json_quote(struct buf *b, struct str s);
/* How many bytes json_quote adds for s, its quotes not counted. */
size_t json_quoted_len(struct str s);

#endif
