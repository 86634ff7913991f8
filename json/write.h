#ifndef JSON_WRITE_H
#define JSON_WRITE_H

/* write - a writer that can only produce valid JSON in valid UTF-8. */

#include "base/base.h"

#define JSON_MAX_DEPTH 128

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
