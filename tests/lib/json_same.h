#ifndef TEST_JSON_SAME_H
#define TEST_JSON_SAME_H

/* Writes a parsed text again, and compares the meaning of two parsed texts. */

#include "json.h"

/* Recursive, as the parser bounds the depth. */
static inline void
copy_value(struct json_w *w, struct arena *a, const struct json_tok *t)
{
    const struct json_tok *c = t + 1;
    uint32_t i;

    switch (t->type) {
    case JSON_NULL:
        json_splice(w, STR("null"));
        break;
    case JSON_FALSE:
    case JSON_TRUE:
        json_bool(w, t->type == JSON_TRUE);
        break;
    case JSON_NUMBER:
        json_splice(w, json_raw(t));
        break;
    case JSON_STRING:
        json_string(w, json_str(a, t));
        break;
    case JSON_ARRAY:
        json_arr(w);
        for (i = 0; i < t->n; i++, c += c->span)
            copy_value(w, a, c);
        json_close(w);
        break;
    default:
        json_obj(w);
        for (i = 0; i < t->n; i++, c += c->span) {
            json_key_str(w, json_str(a, c));
            copy_value(w, a, ++c);
        }
        json_close(w);
    }
}

static inline bool
same_value(struct arena *a, const struct json_tok *x, const struct json_tok *y)
{
    uint32_t i, span = x->span;

    for (i = 0; i < span; i++, x++, y++) {
        if (x->type != y->type || x->span != y->span || x->n != y->n)
            return false;
        if (x->type == JSON_NUMBER && !str_eq(json_raw(x), json_raw(y)))
            return false;
        if (x->type == JSON_STRING && !str_eq(json_str(a, x), json_str(a, y)))
            return false;
    }
    return true;
}

#endif
