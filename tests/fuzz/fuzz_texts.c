/* fuzz_texts - any bytes as one of the texts that come from outside: the first
   byte says which.

   What must hold:
   1. No text crashes its parser, which reads nothing outside of it.
   2. What a parser accepts keeps the promises of its header, and is accepted
      when it is written again. */

#include "base/token.h"
#include "etcd/remote.h"
#include "etcd/txn.h"
#include "tests/fuzz/fuzz_store.h"

static bool
is_within(struct str part, struct str text)
{
    return part.p == NULL || (part.p >= text.p && part.len <= text.len &&
                              part.p <= text.p + text.len - part.len);
}

static void
check_url(struct arena *a, struct str text)
{
    struct etcd_url url;
    char why[256];
    int rc = etcd_url_read(text, &url, why);

    (void)a;
    HOLDS(rc == 0 || (rc == ERR_INVALID && strlen(why) < sizeof(why)));
    if (rc != 0)
        return;
    HOLDS(is_within(url.endpoints, text));
    HOLDS(strlen(url.prefix) > 0 && strlen(url.prefix) <= HEAD_PREFIX);
    HOLDS(url.patience_ms >= 100);
}

static void
check_tokens(struct arena *a, struct str text)
{
    struct tokens *t;
    char why[256];
    int rc;

    place_store();
    put_file(env.log_path, text.p, text.len);
    rc = tokens_load(&t, env.log_path, why);
    HOLDS(rc == 0 || (rc == ERR_INVALID && why[0] != '\0'));
    while (rc == 0 && text.len > 0) {
        struct str line = str_line(&text), word = token_word(&line);
        const struct token *found = tokens_find(t, fuzz_part(a, word));

        if (word.len > 0 && *word.p != '#')
            HOLDS(found != NULL && str_eq(found->agent, token_word(&line)));
    }
    tokens_free(t);
}

static void
check_head(struct arena *a, struct str text)
{
    char written[REMOTE_HEAD_MAX];
    struct head head, again;

    (void)a;
    if (!head_parse(text, &head))
        return;
    head_text(&head, written);
    HOLDS(head_parse(str_of(written), &again) && head_equal(&head, &again));
}

static void
check_batch(struct arena *a, struct str text)
{
    struct batch batch;

    (void)a;
    if (batch_read(text, &batch) != 0)
        return;
    HOLDS(is_within(batch.lines, text) && is_within(batch.newest, text));
    HOLDS(batch.first <= batch.last);
}

static void
check_meta(struct arena *a, struct str text)
{
    struct str newer;
    struct meta meta, again;
    struct buf b = {0};

    if (meta_read(a, text, &meta, &newer) != 0)
        return;
    meta_put(&b, &meta);
    HOLDS(b.err == 0 && meta_read(a, buf_view(&b), &again, &newer) == 0);
    HOLDS(strcmp(meta.epoch, again.epoch) == 0);
    HOLDS(meta.snap.parts == again.snap.parts);
    buf_fini(&b);
}

static void
check_answer(struct arena *a, struct str text)
{
    const struct json_tok *kv;
    struct txn_answer answer;
    struct txn_kv out;

    if (txn_read(a, text, false, &answer) != 0)
        return;
    for (uint32_t i = 0; i < 4; i++) {
        for (kv = NULL; (kv = txn_next(&answer, i, kv)) != NULL;)
            txn_kv(a, kv, &out);
        txn_only(a, &answer, i, &out);
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static void (*const checks[])(struct arena *a, struct str text) = {
        check_url, check_tokens, check_head, check_batch, check_meta,
        check_answer};
    struct arena a = {0};

    if (n > 0)
        checks[data[0] % (sizeof(checks) / sizeof(checks[0]))](
            &a, fuzz_part(&a, (struct str){(const char *)data + 1, n - 1}));
    arena_fini(&a);
    return 0;
}
