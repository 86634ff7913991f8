/* fuzz_http - any bytes as a head and a chunked body behind it, whole and
   again in parts.

   What must hold:
   1. No input crashes, nothing outside of it is read, and every slice of a
      head lies within it.
   2. Whatever the parts, the result is the same: status or length, each
      slice, each byte of the body.
   3. A head that is accepted keeps the promises of http/parse.h. */

#include "tests/fuzz/fuzz_words.h"

static const char *const words[] = {
    "GET / HTTP/1.1\r\nHost: h\r\n", "POST ", " HTTP/1.1\r\n",
    " HTTP/1.0\r\n", "Host: ", "\r\n", "\r\n\r\n", "OPTIONS *", "http://",
    "Content-Length: ", "Transfer-Encoding: ", "chunked", "Expect: ",
    "100-continue", "Connection: ", "keep-alive", "close", "Accept: ",
    "text/html", "text/*", "*/*", ";q=0", "?a=", "&a", "[::1]:80", "127.0.0.1",
    "GET http://h:1?a=b&c HTTP/1.1\r\n", "GET /p?a HTTP/2.0\r\n",
    "3\r\nabc\r\n", "0\r\n", ";x=y\r\n", "A: b\r\n",
    "18446744073709551615", "8388608", "800000\r\n", "fffffffffffffff",
    "http://h@", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
};

/* ---- heads ---- */

struct parsed {
    struct http_head head;
    char *p; /* what the head points into */
    int rc, status;
};

static void
check_slice(struct str a, const char *from_a, struct str b,
            const char *from_b, size_t n)
{
    HOLDS((a.p == NULL) == (b.p == NULL) && a.len == b.len);
    if (a.p == NULL)
        return;
    HOLDS(a.p - from_a == b.p - from_b);
    HOLDS(a.p >= from_a && a.len <= n && a.p <= from_a + n - a.len);
}

static void
check_same(const struct parsed *a, const struct parsed *b)
{
    const struct http_head *g = &a->head, *h = &b->head;
    size_t i, n = (size_t)a->rc;

    HOLDS(a->rc == b->rc);
    HOLDS(a->rc != ERR_SYNTAX || a->status == b->status);
    if (a->rc < 0)
        return;
    check_slice(g->method, a->p, h->method, b->p, n);
    check_slice(g->path, a->p, h->path, b->p, n);
    check_slice(g->query, a->p, h->query, b->p, n);
    check_slice(g->host, a->p, h->host, b->p, n);
    HOLDS(g->n == h->n && g->minor == h->minor && g->expect == h->expect);
    HOLDS(g->keep_alive == h->keep_alive && g->chunked == h->chunked);
    HOLDS(g->content_length == h->content_length);
    for (i = 0; i < g->n; i++) {
        check_slice(g->field[i].name, a->p, h->field[i].name, b->p, n);
        check_slice(g->field[i].value, a->p, h->field[i].value, b->p, n);
    }
    check_slice(http_query_of(g, "a"), a->p, http_query_of(h, "a"), b->p, n);
    HOLDS(http_accepts(g, "text/html") == http_accepts(h, "text/html"));
}

static void
check_promises(const struct http_head *h)
{
    bool twice = false;
    size_t i, j;

    HOLDS(h->minor == 0 || (h->minor == 1 && h->host.len > 0));
    HOLDS(h->path.len > 0 && h->path.len <= HTTP_MAX_TARGET);
    HOLDS(h->n <= HTTP_MAX_FIELDS && h->content_length <= HTTP_MAX_BODY);
    HOLDS(!h->chunked || (h->content_length == 0 && h->minor == 1));
    HOLDS(!h->chunked || http_field_of(h, "content-length").p == NULL);
    http_field_once(h, "host", &twice);
    HOLDS(!twice);
    for (i = 0; i < h->n; i++) {
        struct str v = h->field[i].value;

        HOLDS(h->field[i].name.len > 0);
        for (j = 0; j < v.len; j++)
            HOLDS((uint8_t)v.p[j] >= ' ' || v.p[j] == '\t');
        HOLDS(v.len == 0 || (*v.p != ' ' && v.p[v.len - 1] != ' '));
        http_is_type(v, "text/html");
    }
}

static void
parse_in_parts(struct parsed *a, const uint8_t *data, size_t n)
{
    struct http_scan s = {0};
    size_t at = 0;

    for (;;) {
        at += random_part(n - at);
        free(a->p);
        a->p = fuzz_copy(data, at);
        a->rc = http_parse_head(&s, a->p, at, &a->head, &a->status);
        if (a->rc != ERR_INCOMPLETE || at == n)
            return;
    }
}

/* The length of the head, or 0. */
static size_t
check_head(const uint8_t *data, size_t n)
{
    static struct parsed whole, parts;
    struct http_scan s = {0};

    whole.p = fuzz_copy(data, n);
    whole.rc = http_parse_head(&s, whole.p, n, &whole.head, &whole.status);
    HOLDS(whole.rc == ERR_INCOMPLETE || whole.rc == ERR_SYNTAX || whole.rc > 0);
    HOLDS(whole.rc != ERR_INCOMPLETE || n < HTTP_MAX_HEAD);
    HOLDS(whole.rc != ERR_SYNTAX ||
          (whole.status >= 400 && whole.status <= 505));
    if (whole.rc > 0)
        check_promises(&whole.head);
    parse_in_parts(&parts, data, n);
    check_same(&whole, &parts);
    free(whole.p);
    free(parts.p);
    whole.p = parts.p = NULL;
    return whole.rc > 0 ? (size_t)whole.rc : 0;
}

/* ---- bodies ---- */

static void
check_chunks(const uint8_t *data, size_t n)
{
    struct http_chunks c = {0};
    char *whole = fuzz_copy(data, n), *part;
    bool done = false, ended;
    size_t want, len, got = 0, at = 0, size;
    int all, rc = 0;

    all = http_parse_chunks(&c, whole, n, &want, &ended);
    HOLDS(all == ERR_SYNTAX || all == ERR_TOO_LARGE || all >= 0);
    HOLDS(all < 0 || ((ended || (size_t)all == n) && want <= (size_t)all));
    memset(&c, 0, sizeof(c));
    while (at < n && !done && rc >= 0) {
        size = random_part(n - at);
        part = fuzz_copy(data + at, size);
        rc = http_parse_chunks(&c, part, size, &len, &done);
        if (rc >= 0) {
            HOLDS(done || (size_t)rc == size);
            HOLDS(all < 0 || (len <= want - got &&
                              memcmp(whole + got, part, len) == 0));
            got += len;
            at += (size_t)rc;
        }
        free(part);
    }
    HOLDS(all < 0 ? rc == all : rc >= 0 && at == (size_t)all);
    HOLDS(all < 0 || (got == want && done == ended && c.total == want));
    free(whole);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    size_t head;

    n = spell(words, sizeof(words) / sizeof(words[0]), data, n);
    head = check_head(text, n);
    check_chunks(text + head, n - head);
    return 0;
}
