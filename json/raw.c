/* raw - steps through raw JSON.

   Replay trusts a correct CRC and reads a task in one pass over its bytes, with
   the functions here. They check only what they need to find the end of a
   value. Beyond that they read strings, numbers and lists that this program
   wrote; json.c reads the rest.

   1. No byte at or after end is read.
   2. No recursion: an array or object is skipped by counting brackets. In valid
      JSON the count alone finds the last one. */

#include "json/raw.h"
#include "json.h"
#include "base/word.h"

#include <string.h>

#define QUOTE_KEEP 1024 /* bytes of memory kept for the next text to quote */

/* The byte after the string whose quote is at p, or NULL. */
static inline const char *
skip_string(const char *p, const char *end)
{
    uint64_t w;

    for (p++; end - p >= 8; p += 8) {
        w = load64(p);
        if (has_byte(w, '"') || has_byte(w, '\\'))
            break;
    }
    for (; p < end; p++) {
        if (*p == '"')
            return p + 1;
        if (*p == '\\')
            p++;
    }
    return NULL;
}

static const char *
skip_container(const char *p, const char *end)
{
    size_t depth = 0;

    while (p && p < end) {
        if (*p == '"') {
            p = skip_string(p, end);
            continue;
        }
        if (*p == '[' || *p == '{')
            depth++;
        else if ((*p == ']' || *p == '}') && --depth == 0)
            return p + 1;
        p++;
    }
    return NULL;
}

const char *
raw_skip(const char *p, const char *end)
{
    const char *from = p;

    if (p >= end)
        return NULL;
    if (*p == '"')
        return skip_string(p, end);
    if (*p == '[' || *p == '{')
        return skip_container(p, end);
    while (p < end && (uint8_t)*p > ' ' && *p != ',' && *p != '}' &&
           *p != ']')
        p++;
    return p > from ? p : NULL;
}

struct raw_members
raw_members_of(struct str raw)
{
    struct raw_members m = {.p = raw.p, .end = raw.p};

    if (!raw.p)
        return m;
    m.end += raw.len;
    if (raw.len > 1 && *raw.p == '{') {
        m.p++;
        m.end--;
    }
    return m;
}

int
raw_next_name(struct raw_members *m)
{
    const char *p = m->p, *q;

    if (p < m->end && *p == ',')
        p++;
    if (p == m->end)
        return 0;
    q = *p == '"' ? skip_string(p, m->end) : NULL;
    if (!q || q == m->end || *q != ':')
        return ERR_FORMAT;
    m->name = (struct str){p + 1, (size_t)(q - p) - 2};
    m->value = (struct str){q + 1, 0};
    m->p = q + 1;
    return 1;
}

int
raw_next(struct raw_members *m)
{
    int rc = raw_next_name(m);

    if (rc != 1)
        return rc;
    m->p = raw_skip(m->value.p, m->end);
    if (!m->p)
        return ERR_FORMAT;
    m->value.len = (size_t)(m->p - m->value.p);
    return 1;
}

struct str
raw_inner(struct str raw)
{
    return raw.len < 2 ? STR_NONE : (struct str){raw.p + 1, raw.len - 2};
}

uint64_t
raw_u64(struct str raw)
{
    uint64_t v;

    return str_u64(raw, &v) ? v : 0;
}

struct str
raw_quote(struct arena *a, struct str text)
{
    static struct buf b; /* kept: every change comes by here */

    buf_reset(&b, QUOTE_KEEP);
    json_quote(&b, text);
    return b.err == 0 ? arena_str(a, buf_view(&b)) : STR_NONE;
}

struct str
raw_text(struct arena *a, struct str raw)
{
    struct str in = raw_inner(raw);
    struct json_tok t = {.p = in.p, .len = (uint32_t)in.len,
                         .type = JSON_STRING};

    if (!in.p || *raw.p != '"')
        return STR_NONE;
    t.escaped = memchr(in.p, '\\', in.len) != NULL;
    return json_str(a, &t);
}

struct str
raw_list_next(struct str raw, struct str item)
{
    const char *p = item.p ? item.p + item.len : raw.p, *q;

    if (!raw.p || p >= raw.p + raw.len || *raw.p != '[')
        return STR_NONE;
    p += *p == ',' || p == raw.p;
    q = raw_skip(p, raw.p + raw.len);
    return !q || *p == ']' ? STR_NONE : (struct str){p, (size_t)(q - p)};
}

bool
raw_list_has(struct str raw, struct str item)
{
    struct str next = STR_NONE;

    do
        next = raw_list_next(raw, next);
    while (next.p && !str_eq(next, item));
    return next.p;
}

struct str
raw_list_edit(struct arena *a, struct str list, struct str item,
              struct str with)
{
    char *p = arena_alloc(a, list.len + with.len + 3);
    struct str next = STR_NONE, put, out = {p, 0};

    if (!p)
        return STR_NONE;
    do {
        next = raw_list_next(list, next);
        put = next.p == item.p ? with /* or both NULL, at the end */ : next;
        if (put.len) {
            p[out.len] = out.len ? ',' : '[';
            memcpy(p + out.len + 1, put.p, put.len);
            out.len += put.len + 1;
        }
    } while (next.p);
    if (!out.len)
        p[out.len++] = '[';
    p[out.len++] = ']';
    return out;
}

size_t
raw_list_n(struct str raw)
{
    struct str item = STR_NONE;
    size_t n = 0;

    while ((item = raw_list_next(raw, item)).p)
        n++;
    return n;
}

struct str
raw_member(struct str raw, const char *name)
{
    struct raw_members m = raw_members_of(raw);

    while (raw_next(&m) == 1)
        if (str_is(m.name, name))
            return m.value;
    return STR_NONE;
}

struct str
raw_list_find(struct str raw, const char *name, struct str value)
{
    struct str item = STR_NONE;

    do
        item = raw_list_next(raw, item);
    while (item.p && !str_eq(raw_member(item, name), value));
    return item;
}
