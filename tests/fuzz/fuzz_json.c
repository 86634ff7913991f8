/* fuzz_json - any bytes for the parser, and what it accepts for the writer.

   What must hold:
   1. No input crashes, and an error is one of those that json.h names, at an
      offset within the text.
   2. Accepted text, written again, is accepted and means the same.
   3. Written once more, it is the same byte for byte.
   4. Any bytes can be quoted, and json_quoted_len is the length of that. */

#include "tests/fuzz/fuzz.h"
#include "base/utf8.h"
#include "tests/lib/json_same.h"

static void
rewrite(struct arena *a, struct buf *b, const struct json_tok *t)
{
    struct json_w w;

    json_w_init(&w, b);
    copy_value(&w, a, t);
    json_w_end(&w);
    HOLDS(b->err == 0);
}

static void
check_accepted(struct arena *a, const struct json_tok *t)
{
    struct buf once = {0}, twice = {0};
    const struct json_tok *again;
    int64_t v;
    uint32_t i;

    for (i = 0; i < t->span; i++) {
        HOLDS(t[i].span >= 1 && t[i].span <= t->span - i);
        HOLDS(utf8_count(json_raw(&t[i])) <= json_raw(&t[i]).len);
        json_int(&t[i], &v);
        json_is(&t[i], "a");
        json_get(&t[i], "a");
    }
    rewrite(a, &once, t);
    HOLDS(json_parse(a, buf_view(&once), &again, NULL) == 0);
    HOLDS(same_value(a, t, again));
    rewrite(a, &twice, again);
    HOLDS(str_eq(buf_view(&once), buf_view(&twice)));
    buf_fini(&once);
    buf_fini(&twice);
}

static void
check_quote(struct arena *a, struct str text)
{
    const struct json_tok *t;
    struct buf b = {0};

    json_quote(&b, text);
    HOLDS(b.len == json_quoted_len(text) + 2);
    HOLDS(json_parse(a, buf_view(&b), &t, NULL) == 0);
    HOLDS(t->type == JSON_STRING && json_str(a, t).p != NULL);
    buf_fini(&b);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct str text = {(const char *)data, n};
    const struct json_tok *root;
    struct arena a = {0};
    size_t at = 0;
    int rc = json_parse(&a, text, &root, &at);

    if (rc == 0)
        check_accepted(&a, root);
    else
        HOLDS((rc == ERR_SYNTAX || rc == ERR_TOO_LARGE) && at <= n);
    check_quote(&a, text);
    arena_fini(&a);
    return 0;
}
