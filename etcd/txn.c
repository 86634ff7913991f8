/* txn - writes transactions for etcd's gateway and reads their answers.

   In its JSON, bytes are base64, a 64-bit number is a string, and what is zero
   or false is absent. */

#include "etcd/txn.h"
#include "base/base64.h"
#include "base/text.h"

#define WHOLE_KEY 256 /* more than the longest key, with prefix and NUL */

/* ---- writing ---- */

/* Begins an element of the list that is open at the end of b. */
static void
begin_element(struct buf *b, const char *text)
{
    if (b->err == 0 && b->p[b->len - 1] != '[')
        buf_char(b, ',');
    buf_z(b, text);
}

static void
put_bytes(struct buf *b, const char *before, struct str bytes)
{
    buf_z(b, before);
    base64_encode(b, bytes);
    buf_char(b, '"');
}

static void
put_whole_key(struct txn *t, const char *before, const char *key)
{
    char whole[WHOLE_KEY];
    size_t len = text_put(whole, sizeof(whole), "%s/%s", t->prefix, key);

    put_bytes(&t->b, before, (struct str){whole, len});
}

/* Begins a transaction, unless it has a condition already. */
static void
begin_txn(struct txn *t)
{
    if (t->b.len == 0)
        buf_z(&t->b, "{\"compare\":[");
}

void
txn_if_value(struct txn *t, const char *key, struct str value)
{
    begin_txn(t);
    begin_element(&t->b, "{\"target\":\"VALUE\"");
    put_whole_key(t, ",\"key\":\"", key);
    put_bytes(&t->b, ",\"value\":\"", value);
    buf_char(&t->b, '}');
}

void
txn_if_mod(struct txn *t, const char *key, int64_t revision)
{
    begin_txn(t);
    begin_element(&t->b, "{\"target\":\"MOD\"");
    buf_printf(&t->b, ",\"mod_revision\":\"%lld\"", (long long)revision);
    put_whole_key(t, ",\"key\":\"", key);
    buf_char(&t->b, '}');
}

void
txn_then(struct txn *t)
{
    begin_txn(t);
    buf_z(&t->b, "],\"success\":[");
}

void
txn_else(struct txn *t)
{
    buf_z(&t->b, "],\"failure\":[");
}

void
txn_put(struct txn *t, const char *key, struct str value, int64_t lease)
{
    begin_element(&t->b, "{\"request_put\":{");
    if (lease != 0)
        buf_printf(&t->b, "\"lease\":\"%lld\",", (long long)lease);
    put_whole_key(t, "\"key\":\"", key);
    put_bytes(&t->b, ",\"value\":\"", value);
    buf_z(&t->b, "}}");
}

static void
put_keys(struct txn *t, const char *key, const char *end)
{
    put_whole_key(t, "\"key\":\"", key);
    if (end != NULL)
        put_whole_key(t, ",\"range_end\":\"", end);
    buf_z(&t->b, "}}");
}

void
txn_range(struct txn *t, const char *key, const char *end)
{
    begin_element(&t->b, "{\"request_range\":{");
    put_keys(t, key, end);
}

void
txn_first(struct txn *t, const char *key, const char *end, unsigned n)
{
    begin_element(&t->b, "{\"request_range\":{");
    buf_printf(&t->b, "\"limit\":\"%u\",", n);
    put_keys(t, key, end);
}

void
txn_delete(struct txn *t, const char *key, const char *end)
{
    begin_element(&t->b, "{\"request_delete_range\":{");
    put_keys(t, key, end);
}

void
txn_end(struct txn *t)
{
    buf_z(&t->b, "]}");
}

/* ---- reading ---- */

int64_t
txn_number(const struct json_tok *obj, const char *name)
{
    const struct json_tok *t = json_get(obj, name);
    uint64_t v = 0;

    return t != NULL && str_u64((struct str){t->p, t->len}, &v) &&
           v <= INT64_MAX ? (int64_t)v : 0;
}

int
txn_read(struct arena *a, struct str body, bool is_txn,
         struct txn_answer *out)
{
    int rc = json_parse(a, body, &out->root, NULL);
    const struct json_tok *yes;

    if (rc < 0)
        return rc == ERR_NOMEM ? rc : ERR_FORMAT;
    yes = json_get(out->root, "succeeded");
    out->len = body.len;
    out->succeeded = yes != NULL && yes->type == JSON_TRUE;
    out->revision = txn_number(json_get(out->root, "header"), "revision");
    out->responses = json_get(out->root, "responses");
    return out->revision > 0 || !is_txn ? 0 : ERR_FORMAT;
}

/* Element i of a list, or NULL. */
static const struct json_tok *
element_of(const struct json_tok *list, uint32_t i)
{
    const struct json_tok *t;

    if (list == NULL || list->type != JSON_ARRAY || i >= list->n)
        return NULL;
    for (t = list + 1; i > 0; i--)
        t += t->span;
    return t;
}

const struct json_tok *
txn_next(const struct txn_answer *t, uint32_t i, const struct json_tok *kv)
{
    const struct json_tok *kvs =
        json_get(json_get(element_of(t->responses, i), "response_range"),
                 "kvs");

    if (kv == NULL)
        return element_of(kvs, 0);
    kv += kv->span;
    return kv < kvs + kvs->span ? kv : NULL;
}

static int
decode_member(struct arena *a, const struct json_tok *kv, const char *name,
              struct str *out)
{
    struct str text = json_str(a, json_get(kv, name));
    int rc = text.p != NULL ? base64_decode(a, text, out) : 0;

    if (text.p == NULL) /* empty values are absent */
        *out = STR("");
    return rc == ERR_SYNTAX ? ERR_FORMAT : rc;
}

int
txn_kv(struct arena *a, const struct json_tok *kv, struct txn_kv *out)
{
    int rc = decode_member(a, kv, "key", &out->key);

    out->mod = txn_number(kv, "mod_revision");
    return rc == 0 ? decode_member(a, kv, "value", &out->value) : rc;
}

int
txn_only(struct arena *a, const struct txn_answer *t, uint32_t i,
         struct txn_kv *out)
{
    const struct json_tok *kv = txn_next(t, i, NULL);

    return kv != NULL ? txn_kv(a, kv, out) : ERR_NOT_FOUND;
}
