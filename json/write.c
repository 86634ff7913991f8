/* write - quotes text, and writes JSON that follows the grammar.

   Its output is always accepted by json_parse: each call asserts that a value
   or a name may come next, and invalid UTF-8 becomes U+FFFD. */

#include "json/write.h"
#include "base/text.h"
#include "base/utf8.h"
#include "base/word.h"

#include <string.h>

#define ROOM (3 * BLOCK)       /* for one round of quote_into */
#define QUOTE_SLACK (ROOM + 8) /* room beyond the text: ROOM, some escapes */

_Static_assert(JSON_MAX_DEPTH % 8 == 0, "json_w.kind holds every level");

/* ---- blocks of text ---- */

#define BLOCK 8
#define HIGH (ONES * 0x80)

/* Returns whether the BLOCK bytes at p are ASCII without control characters.
   Then *hit has the highest bit of each byte that is a quote or a backslash,
   those of the first byte lowest, and no other. */
static inline bool
is_plain(const char *p, uint64_t *hit)
{
    uint64_t w = load64(p), quote = w ^ ONES * '"';
    uint64_t backslash = w ^ ONES * '\\';

    /* No sum carries into the next byte where it matters. */
    *hit = ~((quote + ONES * 0x7f) & (backslash + ONES * 0x7f)) & HIGH;
    return ((w | ~(w + ONES * 0x60)) & HIGH) == 0;
}

/* ---- quoting ---- */

/* The length of the longest prefix of a valid sequence at p, at least one: one
   U+FFFD replaces it. Any continuation byte can complete a good prefix. */
static size_t
bad_len(const char *p, const char *end)
{
    size_t k = end - p < 3 ? (size_t)(end - p) : 3;
    char whole[4];

    for (; k > 1; k--) {
        memcpy(whole, p, k);
        memset(whole + k, 0x80, sizeof(whole) - k);
        if (utf8_len(whole, whole + sizeof(whole)) > k)
            return k;
    }
    return 1;
}

/* Puts the replacement of the bytes at p, where a clean run ended; returns how
   many it replaces. */
static size_t
repair_byte(const char *p, const char *end, char to[6], size_t *put)
{
    static const char from[] = "\"\\\b\f\n\r\t", into[] = "\"\\bfnrt";
    const char *found;

    if ((uint8_t)*p >= 0x80) {
        memcpy(to, "\xef\xbf\xbd", 3);
        *put = 3;
        return bad_len(p, end);
    }
    found = memchr(from, *p, sizeof(from) - 1);
    to[0] = '\\';
    if (found != NULL) {
        to[1] = into[found - from];
        *put = 2;
    } else {
        to[1] = 'u';
        text_hex(to + 2, 4, (uint8_t)*p);
        *put = 6;
    }
    return 1;
}

/* Writes from *from to to, until to passes stop, which has ROOM bytes after it;
   returns the new to. Plain text goes in blocks; each escaped byte shifts the
   rest by one. */
static char *
quote_into(char *to, const char *stop, const char **from, const char *end)
{
    const char *p = *from;
    uint64_t hit;
    size_t n, k;

    while (p < end && to <= stop) {
        if (end - p >= BLOCK && is_plain(p, &hit) &&
            (hit == 0 || end - p >= 2 * BLOCK)) {
            memcpy(to, p, BLOCK);
            for (; hit != 0; hit &= hit - 1, to++) {
                n = (size_t)__builtin_ctzll(hit) / 8;
                to[n] = '\\';
                memcpy(to + n + 1, p + n, BLOCK);
            }
            to += BLOCK;
            p += BLOCK;
            continue;
        }
        if ((uint8_t)(*p - 0x20) < 0x60 && *p != '"' && *p != '\\') {
            *to++ = *p++;
            continue;
        }
        n = (uint8_t)*p >= 0x80 ? utf8_len(p, end) : 0;
        for (k = 0; k < n; k++)
            *to++ = *p++;
        if (n == 0) {
            p += repair_byte(p, end, to, &n);
            to += n;
        }
    }
    *from = p;
    return to;
}

void
json_quote(struct buf *b, struct str s)
{
    const char *p = s.p, *end = s.len > 0 ? p + s.len : p;
    /* Grows b once for a text with few escapes. */
    char *to = buf_room(b, s.len + QUOTE_SLACK);

    if (to == NULL)
        return;
    *to++ = '"';
    while ((to = quote_into(to, b->p + b->cap - ROOM, &p, end)), p < end) {
        b->len = (size_t)(to - b->p);
        to = buf_room(b, (size_t)(end - p) + QUOTE_SLACK);
        if (to == NULL)
            return;
    }
    *to++ = '"'; /* quote_into leaves some of ROOM */
    b->len = (size_t)(to - b->p);
}

size_t
json_quoted_len(struct str s)
{
    const char *p = s.p, *end = s.len > 0 ? p + s.len : p;
    char part[128];
    size_t len = 0;

    while (p < end)
        len += (size_t)(quote_into(part, part + sizeof(part) - ROOM, &p, end) -
                        part);
    return len;
}

size_t
json_cost(struct str s)
{
    return s.len + json_quoted_len(s);
}

/* ---- the writer ---- */

/* Returns whether the innermost open level is an object. */
static bool
in_object(const struct json_w *w)
{
    unsigned level = w->depth - 1u;

    return w->depth > 0 && (w->kind[level / 8] >> level % 8 & 1) != 0;
}

/* Writes the comma before a value; every kind of value calls this. */
static void
before_value(struct json_w *w)
{
    if (in_object(w))
        ASSERT(w->key);
    else if (w->depth == 0)
        ASSERT(!w->comma);
    else if (w->comma)
        buf_char(w->b, ',');
    /* On the outermost level, comma means that the one value exists. */
    w->key = false;
    w->comma = true;
}

static void
open_level(struct json_w *w, bool object)
{
    unsigned level = w->depth, bit = 1u << level % 8;
    uint8_t *kind;

    ASSERT(level < JSON_MAX_DEPTH);
    before_value(w);
    kind = &w->kind[level / 8];
    *kind = (uint8_t)(object ? *kind | bit : *kind & ~bit);
    w->depth++;
    w->comma = false;
    buf_char(w->b, object ? '{' : '[');
}

void
json_w_init(struct json_w *w, struct buf *b)
{
    *w = (struct json_w){.b = b};
}

void
json_w_end(struct json_w *w)
{
    ASSERT(w->depth == 0 && w->comma);
}

void
json_obj(struct json_w *w)
{
    open_level(w, true);
}

void
json_arr(struct json_w *w)
{
    open_level(w, false);
}

void
json_close(struct json_w *w)
{
    ASSERT(w->depth > 0 && !w->key);
    buf_char(w->b, in_object(w) ? '}' : ']');
    w->depth--;
    w->comma = true; /* the level below now has a value */
}

void
json_key_str(struct json_w *w, struct str name)
{
    ASSERT(in_object(w) && !w->key);
    if (w->comma)
        buf_char(w->b, ',');
    json_quote(w->b, name);
    buf_char(w->b, ':');
    w->key = true;
}

void
json_name(struct buf *b, char before, struct str name)
{
    char *to = buf_room(b, name.len + 4);

    if (to == NULL)
        return;
    if (before != '\0')
        *to++ = before;
    *to++ = '"';
    for (size_t i = 0; i < name.len; i++)
        *to++ = name.p[i];
    *to++ = '"';
    *to++ = ':';
    b->len = (size_t)(to - b->p);
}

void
json_key(struct json_w *w, const char *name)
{
    ASSERT(in_object(w) && !w->key);
    json_name(w->b, w->comma ? ',' : '\0', str_of(name));
    w->key = true;
}

void
json_string(struct json_w *w, struct str s)
{
    before_value(w);
    json_quote(w->b, s);
}

void
json_z(struct json_w *w, const char *z)
{
    json_string(w, str_of(z));
}

void
json_number(struct json_w *w, int64_t v)
{
    before_value(w);
    if (v < 0)
        buf_char(w->b, '-');
    /* Negation in unsigned arithmetic: INT64_MIN does not overflow. */
    buf_u64(w->b, v < 0 ? 0 - (uint64_t)v : (uint64_t)v);
}

void
json_bool(struct json_w *w, bool v)
{
    before_value(w);
    buf_z(w->b, v ? "true" : "false");
}

void
json_splice(struct json_w *w, struct str raw)
{
    before_value(w);
    /* An arena returns a NULL slice when memory runs out. */
    if (raw.p == NULL && w->b->err == 0)
        w->b->err = ERR_NOMEM;
    ASSERT(raw.len > 0 || raw.p == NULL);
    buf_str(w->b, raw);
}

void
json_put_str(struct json_w *w, const char *name, struct str s)
{
    json_key(w, name);
    json_string(w, s);
}

void
json_put_z(struct json_w *w, const char *name, const char *z)
{
    json_key(w, name);
    json_z(w, z);
}

void
json_put_int(struct json_w *w, const char *name, int64_t v)
{
    json_key(w, name);
    json_number(w, v);
}

void
json_put_bool(struct json_w *w, const char *name, bool v)
{
    json_key(w, name);
    json_bool(w, v);
}

void
json_put_raw(struct json_w *w, const char *name, struct str raw)
{
    json_key(w, name);
    json_splice(w, raw);
}

void
json_put_obj(struct json_w *w, const char *name)
{
    json_key(w, name);
    json_obj(w);
}

void
json_put_arr(struct json_w *w, const char *name)
{
    json_key(w, name);
    json_arr(w);
}

void
json_begin(struct json_w *w, struct buf *b)
{
    json_w_init(w, b);
    json_obj(w);
}

void
json_end(struct json_w *w)
{
    json_close(w);
    json_w_end(w);
}
