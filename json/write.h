#ifndef JSON_WRITE_H
#define JSON_WRITE_H

/* write - a writer that only produces valid JSON in valid UTF-8. */

#include "base/base.h"

#define JSON_MAX_DEPTH 128

struct json_w {
    struct buf *b;
    uint8_t kind[JSON_MAX_DEPTH / 8]; /* one bit per level: object or array */
    uint16_t depth;
    bool comma; /* this level already has a value */
    bool key;   /* a name was written; its value must follow */
};

/* Starts writing one value at the end of b. Misuse (two values, a value without
   a name in an object, an unclosed level at json_w_end) fails an assertion. */
void json_w_init(struct json_w *w, struct buf *b);
void json_w_end(struct json_w *w);
/* json_w_init and json_obj together; json_close and json_w_end. */
void json_begin(struct json_w *w, struct buf *b);
void json_end(struct json_w *w);
void json_obj(struct json_w *w);
void json_arr(struct json_w *w);
void json_close(struct json_w *w); /* closes the innermost level */
void json_key(struct json_w *w, const char *name); /* needs no escapes */
void json_key_str(struct json_w *w, struct str name);
/* Replaces invalid UTF-8 by U+FFFD. */
void json_string(struct json_w *w, struct str s);
void json_z(struct json_w *w, const char *z);
void json_number(struct json_w *w, int64_t v);
void json_bool(struct json_w *w, bool v);
/* Writes a text that json_parse accepted or this writer made. */
void json_splice(struct json_w *w, struct str raw);
/* json_key and the value together. */
void json_put_str(struct json_w *w, const char *name, struct str s);
void json_put_z(struct json_w *w, const char *name, const char *z);
void json_put_int(struct json_w *w, const char *name, int64_t v);
void json_put_bool(struct json_w *w, const char *name, bool v);
void json_put_raw(struct json_w *w, const char *name, struct str raw);
/* Opens an object, or an array, that is a member. */
void json_put_obj(struct json_w *w, const char *name);
void json_put_arr(struct json_w *w, const char *name);
/* Appends the character `before`, unless it is NUL, then the name of a member
   in quotes and a colon. The name needs no escapes. */
void json_name(struct buf *b, char before, struct str name);
/* Appends s to b in quotes, escaped. */
void json_quote(struct buf *b, struct str s);
/* The bytes that json_quote adds for s, not counting the quotes. */
size_t json_quoted_len(struct str s);
/* The same plus s.len: the bytes of s in an answer that has it both as JSON and
   as quoted text. */
size_t json_cost(struct str s);

#endif
