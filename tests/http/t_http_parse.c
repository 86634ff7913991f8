/* t_http_parse - heads and chunked bodies against RFC 9112, and what is read
   from a head. Each input ends at a guard page and comes whole, a byte at a
   time, and in two parts split at each point: the result must be the same. The
   parts are fed as a server would: a head again from the beginning, a body each
   byte once. */

#include "http/parse.h"
#include "base/base.h"
#include "tests/lib/faults.h"
#include "tests/lib/test.h"

#define MANY 2000 /* from so many bytes on only some splits are tried */

static struct http_head head;
static char big[HTTP_MAX_HEAD + 1024];

/* ---- heads ---- */

/* Feeds a head: returns its length, or the negative status; 0: incomplete. */
static int
feed(struct http_scan *s, const char *p, size_t n)
{
    int status = 0, rc;

    rc = http_parse_head(s, guard_copy(p, n), n, &head, &status);
    if (rc == ERR_SYNTAX)
        return -status;
    CHECK(rc == ERR_INCOMPLETE ? s->seen == n && status == 0 : s->seen == 0);
    return rc == ERR_INCOMPLETE ? 0 : rc;
}

static int
parse(const char *p, size_t n)
{
    struct http_scan s = {0};

    return feed(&s, p, n);
}

static int
parse_z(const char *z)
{
    return parse(z, strlen(z));
}

static char made[256];

/* Parses a head of three parts; it is in made. */
static int
parse_made(const char *before, const char *part, const char *behind)
{
    snprintf(made, sizeof(made), "%s%s%s", before, part, behind);
    return parse_z(made);
}

static void
check_splits(const char *name, const char *p, size_t n, int want)
{
    size_t step = TEST_STEP * (n < MANY ? 1 : n / 50), i;
    struct http_scan s = {0};
    int got = parse(p, n);

    if (!CHECK(got == want))
        fprintf(stderr, "  %s: %d, not %d\n", name, got, want);
    for (i = 0, got = 0; i <= n && got == 0; i++)
        got = feed(&s, p, i);
    if (!CHECK(got == want))
        fprintf(stderr, "  %s: a byte at a time %d\n", name, got);
    for (i = 0; i <= n; i += step) {
        s = (struct http_scan){0};
        got = feed(&s, p, i);
        if (got == 0)
            got = feed(&s, p, n);
        if (!CHECK(got == want)) {
            fprintf(stderr, "  %s: split at %zu %d\n", name, i, got);
            break;
        }
    }
}

#define WHOLE 1 /* the whole text is one head */
#define H "Host: h\r\n"
#define GET "GET / HTTP/1.1\r\n"
#define POST "POST / HTTP/1.1\r\n" H
#define CASE(name, lit, want) {name, lit, sizeof(lit) - 1, want}
static const struct {
    const char *name;
    const char *p;
    size_t len;
    int want;
} heads[] = {
    CASE("plain", GET H "\r\n", WHOLE),
    CASE("nothing", "", 0),
    CASE("no end", GET H, 0),
    CASE("half an end", GET H "\r", 0),
    CASE("a line of one byte is not the end", GET H "A\r\n", 0),
    CASE("1.0 without a host", "GET / HTTP/1.0\r\n\r\n", WHOLE),
    CASE("any token is a method", "M-SEARCH!~ / HTTP/1.1\r\n" H "\r\n", WHOLE),

    CASE("an empty line first", "\r\n" GET H "\r\n", WHOLE),
    CASE("two of them", "\r\n\r\n" GET H "\r\n", WHOLE),
    CASE("three of them", "\r\n\r\n\r\n" GET H "\r\n", -400),
    CASE("only one", "\r\n", 0),
    CASE("a bare LF first", "\n" GET H "\r\n", -400),
    CASE("a bare CR first", "\r" GET H "\r\n", -400),
    CASE("a blank first", " " GET H "\r\n", -400),

    CASE("bare LF, at once", "GET / HTTP/1.1\n", -400),
    CASE("bare LF behind a field", GET "Host: h\n", -400),
    CASE("bare LF at the end", GET H "\n", -400),
    CASE("bare CR in a value", GET "Host: h\rX: y\r\n", -400),
    CASE("bare CR in the request line", "GET /\rHTTP/1.1\r\n", -400),
    CASE("CR CR LF", GET H "\r\r\n", -400),
    CASE("CR CR within", GET "Host: h\r\rX: y\r\n", -400),
    CASE("NUL, at once", GET H "A: \0", -400),
    CASE("NUL in a name", GET H "A\0: b", -400),
    CASE("NUL in a target", "GET /\0 HTTP/1.1\r\n", -400),
    CASE("BEL", GET H "A: \a", -400),
    CASE("DEL", GET H "A: \x7f", -400),
    CASE("vertical tab", GET H "A: \v", -400),
    CASE("TLS", "\x16\x03\x01\x02", -400),
    CASE("HTAB within and around", GET H "A:\t \tb\tc\t\r\n\r\n", WHOLE),
    CASE("Latin 1 and UTF-8", GET H "A: \xe4 \xc3\xa4\r\n\r\n", WHOLE),

    CASE("two blanks", "GET  / HTTP/1.1\r\n" H "\r\n", -400),
    CASE("two blanks later", "GET /  HTTP/1.1\r\n" H "\r\n", -400),
    CASE("two targets", "GET / /x HTTP/1.1\r\n" H "\r\n", -400),
    CASE("a blank behind", "GET / HTTP/1.1 \r\n" H "\r\n", -400),
    CASE("HTAB for a blank", "GET\t/\tHTTP/1.1\r\n" H "\r\n", -400),
    CASE("no version", "GET /\r\n\r\n", -400),
    CASE("no method", " / HTTP/1.1\r\n" H "\r\n", -400),
    CASE("no target", "GET HTTP/1.1\r\n" H "\r\n", -400),
    CASE("a method is a token", "G(T / HTTP/1.1\r\n" H "\r\n", -400),
    CASE("lower case", "GET / http/1.1\r\n" H "\r\n", -400),
    CASE("no protocol's name", "GET / XTTP/1.1\r\n" H "\r\n", -400),
    CASE("two digits", "GET / HTTP/1.10\r\n" H "\r\n", -400),
    CASE("no digit", "GET / HTTP/1.x\r\n" H "\r\n", -400),
    CASE("no dot", "GET / HTTP/1,1\r\n" H "\r\n", -400),
    CASE("0.9", "GET / HTTP/0.9\r\n" H "\r\n", -505),
    CASE("1.2", "GET / HTTP/1.2\r\n" H "\r\n", -505),
    CASE("2.0", "PRI * HTTP/2.0\r\n\r\n", -505),

    CASE("absolute", "GET http://a/b?c HTTP/1.1\r\n" H "\r\n", WHOLE),
    CASE("absolute, upper", "GET HTTP://a:80/ HTTP/1.1\r\n" H "\r\n", WHOLE),
    CASE("absolute, no path", "GET http://a HTTP/1.1\r\n" H "\r\n", WHOLE),
    CASE("absolute, no Host", "GET http://a/ HTTP/1.1\r\n\r\n", -400),
    CASE("absolute, no host", "GET http:/// HTTP/1.1\r\n" H "\r\n", -400),
    CASE("absolute, nothing", "GET http:// HTTP/1.1\r\n" H "\r\n", -400),
    CASE("absolute, user", "GET http://u@a/ HTTP/1.1\r\n" H "\r\n", -400),
    CASE("absolute, star", "OPTIONS http://a* HTTP/1.1\r\n" H "\r\n", -400),
    CASE("https", "GET https://a/ HTTP/1.1\r\n" H "\r\n", -400),
    CASE("OPTIONS *", "OPTIONS * HTTP/1.1\r\n" H "\r\n", WHOLE),
    CASE("GET *", "GET * HTTP/1.1\r\n" H "\r\n", -400),
    CASE("OPTIONS *?", "OPTIONS *? HTTP/1.1\r\n" H "\r\n", -400),
    CASE("CONNECT", "CONNECT h:80 HTTP/1.1\r\n" H "\r\n", -400),
    CASE("relative", "GET a HTTP/1.1\r\n" H "\r\n", -400),
    CASE("only a query", "GET ?a HTTP/1.1\r\n" H "\r\n", -400),
    CASE("a fragment", "GET /#a HTTP/1.1\r\n" H "\r\n", -400),
    CASE("no ASCII", "GET /\xc3\xa4 HTTP/1.1\r\n" H "\r\n", -400),

    CASE("folded", GET H "A: b\r\n c\r\n\r\n", -400),
    CASE("folded by HTAB", GET H "A: b\r\n\tc\r\n\r\n", -400),
    CASE("folded first", GET " A: b\r\n" H "\r\n", -400),
    CASE("a line of blanks", GET H "  \r\n\r\n", -400),
    CASE("blank before the colon", GET H "A : b\r\n\r\n", -400),
    CASE("HTAB before the colon", GET H "A\t: b\r\n\r\n", -400),
    CASE("no colon", GET H "A\r\n\r\n", -400),
    CASE("no name", GET H ": b\r\n\r\n", -400),
    CASE("a name is a token", GET H "A[0]: b\r\n\r\n", -400),
    CASE("a name in Latin 1", GET H "\xe4: b\r\n\r\n", -400),
    CASE("an empty value", GET H "A:\r\nB: \t\r\n\r\n", WHOLE),

    CASE("no host", GET "\r\n", -400),
    CASE("two hosts", GET H H "\r\n", -400),
    CASE("two hosts in 1.0", "GET / HTTP/1.0\r\n" H H "\r\n", -400),
    CASE("two hosts, other case", GET H "hOST: h\r\n\r\n", -400),
    CASE("an empty host", GET "Host:\r\n\r\n", -400),
    CASE("an empty host in 1.0", "GET / HTTP/1.0\r\nHost:\r\n\r\n", -400),

    CASE("a length", POST "Content-Length: 42\r\n\r\n", WHOLE),
    CASE("zeros", POST "Content-Length: 000000000000000000000000000042\r\n\r\n",
         WHOLE),
    CASE("the largest", POST "Content-Length: 8388608\r\n\r\n", WHOLE),
    CASE("one more", POST "Content-Length: 8388609\r\n\r\n", -413),
    CASE("2 to the 32nd", POST "Content-Length: 4294967296\r\n\r\n", -413),
    CASE("2 to the 64th and 5",
         POST "Content-Length: 18446744073709551621\r\n\r\n", -413),
    CASE("minus", POST "Content-Length: -1\r\n\r\n", -400),
    CASE("plus", POST "Content-Length: +1\r\n\r\n", -400),
    CASE("hex", POST "Content-Length: 0x1\r\n\r\n", -400),
    CASE("a list", POST "Content-Length: 1, 1\r\n\r\n", -400),
    CASE("a comma behind", POST "Content-Length: 1,\r\n\r\n", -400),
    CASE("a quoted one", POST "Content-Length: \"1\"\r\n\r\n", -400),
    CASE("a blank within", POST "Content-Length: 1 1\r\n\r\n", -400),
    CASE("a fraction", POST "Content-Length: 1.0\r\n\r\n", -400),
    CASE("no digits", POST "Content-Length:\r\n\r\n", -400),
    CASE("twice the same",
         POST "Content-Length: 1\r\nContent-Length: 1\r\n\r\n", -400),
    CASE("twice, different",
         POST "Content-Length: 1\r\nContent-length: 2\r\n\r\n", -400),

    CASE("chunked", POST "Transfer-Encoding: chunked\r\n\r\n", WHOLE),
    CASE("any case", POST "transfer-encoding:ChunKed \r\n\r\n", WHOLE),
    CASE("CL.TE", POST "Content-Length: 1\r\n"
         "Transfer-Encoding: chunked\r\n\r\n", -400),
    CASE("TE.CL", POST "Transfer-Encoding: chunked\r\n"
         "Content-Length: 1\r\n\r\n", -400),
    CASE("TE.CL unknown",
         POST "Transfer-Encoding: x\r\nContent-Length: 1\r\n\r\n", -400),
    CASE("TE.TE", POST "Transfer-Encoding: chunked\r\n"
         "Transfer-Encoding: chunked\r\n\r\n", -501),
    CASE("TE.TE unknown", POST "Transfer-Encoding: chunked\r\n"
         "Transfer-Encoding: x\r\n\r\n", -501),
    CASE("TE in 1.0",
         "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", -400),
    CASE("TE with HTAB", POST "Transfer-Encoding:\tchunked\r\n\r\n", WHOLE),
    CASE("TE with VT", POST "Transfer-Encoding:\vchunked\r\n\r\n", -400),
    CASE("TE with a blank", POST "Transfer-Encoding : chunked\r\n\r\n", -400),
    CASE("TE folded", POST "Transfer-Encoding:\r\n chunked\r\n\r\n", -400),
    CASE("TE behind a LF", POST "X: y\nTransfer-Encoding: chunked\r\n\r\n",
         -400),
    CASE("gzip", POST "Transfer-Encoding: gzip, chunked\r\n\r\n", -501),
    CASE("identity", POST "Transfer-Encoding: identity\r\n\r\n", -501),
    CASE("xchunked", POST "Transfer-Encoding: xchunked\r\n\r\n", -501),
    CASE("a comma", POST "Transfer-Encoding: chunked,\r\n\r\n", -501),
    CASE("a comma before", POST "Transfer-Encoding: ,chunked\r\n\r\n", -501),
    CASE("chunked before", POST "Transfer-Encoding: chunked, x\r\n\r\n", -501),
    CASE("without a comma", POST "Transfer-Encoding: chunked chunked\r\n\r\n",
         -501),
    CASE("a parameter", POST "Transfer-Encoding: chunked;q=1\r\n\r\n", -501),
    CASE("no ASCII", POST "Transfer-Encoding: ch\xc3\xbcnked\r\n\r\n", -501),
    CASE("quoted", POST "Transfer-Encoding: \"chunked\"\r\n\r\n", -501),
    CASE("no coding", POST "Transfer-Encoding:\r\n\r\n", -501),

    CASE("expectation", POST "Expect: 100-Continue\r\n\r\n", WHOLE),
    CASE("unknown one", POST "Expect: 200-ok\r\n\r\n", -417),
    CASE("empty one", POST "Expect:\r\n\r\n", -417),
    CASE("with more", POST "Expect: 100-continue; a\r\n\r\n", -417),
    CASE("two of them",
         POST "Expect: 100-continue\r\nExpect: x\r\n\r\n", -417),
    CASE("ignored in 1.0", "POST / HTTP/1.0\r\nExpect: x\r\n\r\n", WHOLE),
};

TEST(heads)
{
    size_t i;
    int want;

    for (i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
        want = heads[i].want == WHOLE ? (int)heads[i].len : heads[i].want;
        check_splits(heads[i].name, heads[i].p, heads[i].len, want);
    }
}

/* What follows a head never changes the result. */
TEST(bytes_after_a_head)
{
    static const char *const behind[] = {GET H "\r\n", "\n", "\r\n\r\n", "x"};
    char text[256];
    size_t i, j, n;
    int want;

    for (i = 0; i < sizeof(heads) / sizeof(heads[0]); i++)
        for (j = 0; j < 4; j++) {
            if (heads[i].want == 0)
                continue;
            n = heads[i].len;
            memcpy(text, heads[i].p, n);
            memcpy(text + n, behind[j], strlen(behind[j]));
            want = heads[i].want == WHOLE ? (int)n : heads[i].want;
            CHECK(parse(text, n + strlen(behind[j])) == want);
        }
}

TEST(each_byte_of_a_value)
{
    char text[] = GET H "A: x";
    int c;

    for (c = 0; c < 256; c++) {
        text[sizeof(text) - 2] = (char)c;
        CHECK(parse(text, sizeof(text) - 1) ==
              ((c < ' ' && c != '\t' && c != '\r') || c == 0x7f ? -400 : 0));
    }
}

TEST(each_byte_of_a_name)
{
    char text[] = GET H "x: y\r\n\r\n", method[] = "x / HTTP/1.1\r\n" H "\r\n";
    int c;

    for (c = 1; c < 256; c++) {
        bool token = c < 0x7f && c > ' ' &&
                     strchr("\"(),/:;<=>?@[\\]{}", c) == NULL;

        text[sizeof(GET H) - 1] = (char)c;
        CHECK((parse_z(text) > 0) == token);
        method[0] = (char)c;
        CHECK((parse_z(method) > 0) == token);
    }
}

TEST(each_byte_of_a_target)
{
    char text[] = "GET /x HTTP/1.1\r\n" H "\r\n";
    int c;

    for (c = 1; c < 256; c++) {
        text[5] = (char)c;
        CHECK((parse_z(text) > 0) ==
              (c > ' ' && c < 0x7f && strchr("\"#<>", c) == NULL));
    }
}

TEST(hosts)
{
    static const struct {
        const char *host;
        bool good;
    } cases[] = {
        {"localhost", true}, {"localhost:8766", true}, {"127.0.0.1:1", true},
        {"a-b.c_d~", true}, {"[::1]", true}, {"[::1]:65535", true},
        {"[::ffff:1.2.3.4]:80", true}, {"h:0", true}, {"H.", true},
        {"[::1]:", true}, {":", false}, {"h::", false},
        {"h:65536", false}, {"h:000080", false}, {"h:", true}, {":80", false},
        {"h:8x", false}, {"h:-1", false}, {"h:+1", false}, {"h: 1", false},
        {"h:1:2", false}, {"::1", false}, {"[::1", false}, {"[]", false},
        {"[", false}, {"[::1]x", false}, {"[a/b]", false}, {"u@h", false},
        {"h/", false}, {"a b", false}, {"a,b", false}, {"a%00b", false},
        {"a\\b", false}, {"http://h", false}, {"\xe4", false}, {"h]", false},
        {"[::1%eth0]", false}, {"h?", false}, {"\"h\"", false}, {"*", false},
    };
    size_t i;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int n = parse_made(GET "Host: \t", cases[i].host, " \r\n\r\n");

        if (!CHECK(n == (cases[i].good ? (int)strlen(made) : -400)))
            fprintf(stderr, "  Host: %s\n", cases[i].host);
        if (cases[i].good)
            CHECK(str_is(head.host, cases[i].host));
        if (strpbrk(cases[i].host, "/? ") != NULL)
            continue;
        n = parse_made("GET http://", cases[i].host,
                       "/p HTTP/1.1\r\n" H "\r\n");
        CHECK(n == (cases[i].good ? (int)strlen(made) : -400));
    }
}

TEST(targets)
{
    static const struct {
        const char *target, *host, *path, *query;
    } cases[] = {
        {"/", "h", "/", NULL},
        {"/mcp?a=b", "h", "/mcp", "a=b"},
        {"/a?", "h", "/a", ""},
        {"/a??b?", "h", "/a", "?b?"},
        {"//x/y", "h", "//x/y", NULL},
        {"/%2e%zz", "h", "/%2e%zz", NULL},
        {"/?http://x/", "h", "/", "http://x/"},
        {"http://x/a?b", "x", "/a", "b"},
        {"hTTp://x:81", "x:81", "/", NULL},
        {"http://x?b", "x", "/", "b"},
        {"http://[::1]:1/?b", "[::1]:1", "/", "b"},
    };
    size_t i;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int n = parse_made("GET ", cases[i].target, " HTTP/1.1\r\n" H "\r\n");

        CHECK(n == (int)strlen(made));
        CHECK(str_is(head.host, cases[i].host));
        CHECK(str_is(head.path, cases[i].path));
        CHECK((head.query.p == NULL) == (cases[i].query == NULL));
        if (cases[i].query != NULL)
            CHECK(str_is(head.query, cases[i].query));
    }
    CHECK(parse_z("OPTIONS * HTTP/1.1\r\n" H "\r\n") > 0);
    CHECK(str_is(head.path, "*") && str_is(head.method, "OPTIONS"));
}

static bool
is_repeated(const struct http_head *h, const char *name)
{
    bool twice = false;

    http_field_once(h, name, &twice);
    return twice;
}

TEST(reading_a_head)
{
    CHECK(parse_z("\r\nPOST /a HTTP/1.1\r\nHost: h\r\nX-A:  b c\t\r\nx-a: d\r\n"
                  "Content-Length: 007\r\nExpect: 100-continue\r\nE:\r\n\r\n")
          > 0);
    CHECK(head.minor == 1 && head.keep_alive && head.expect && !head.chunked);
    CHECK(head.content_length == 7 && head.n == 6);
    CHECK(str_is(head.method, "POST") && str_is(head.field[1].name, "X-A"));
    CHECK(str_is(http_field_of(&head, "x-a"), "b c"));
    CHECK(is_repeated(&head, "x-a") && !is_repeated(&head, "x"));
    CHECK(!is_repeated(&head, "host"));
    CHECK(http_field_of(&head, "e").p != NULL);
    CHECK(http_field_of(&head, "e").len == 0);
    CHECK(http_field_of(&head, "x-").p == NULL);
    CHECK(http_field_of(&head, "x-ab").p == NULL);
    CHECK(parse_z("POST / HTTP/1.1\r\n" H "Transfer-Encoding: CHUNKED\r\n\r\n")
          > 0);
    CHECK(head.chunked && head.content_length == 0 && !head.expect);
    CHECK(parse_z("POST / HTTP/1.0\r\nExpect: 100-continue\r\n\r\n") > 0);
    CHECK(head.minor == 0 && !head.expect && head.host.p == NULL);
}

TEST(keep_alive)
{
    static const struct {
        const char *fields;
        bool in_10, in_11;
    } cases[] = {
        {"", false, true},
        {"Connection: close\r\n", false, false},
        {"Connection: keep-alive\r\n", true, true},
        {"connection: Keep-Alive, Upgrade\r\n", true, true},
        {"Connection: x ,\tCLOSE\r\n", false, false},
        {"Connection: keep-alive, close\r\n", false, false},
        {"Connection: x\r\nConnection: keep-alive\r\n", true, true},
        {"Connection: keep-alive\r\nConnection: close\r\n", false, false},
        {"Connection:\r\n", false, true},
        {"Connection: ,,\r\n", false, true},
        {"Connection: closed, xkeep-alive\r\n", false, true},
        {"X-Connection: close\r\n", false, true},
    };
    size_t i;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        CHECK(parse_made("GET / HTTP/1.0\r\n" H, cases[i].fields, "\r\n") > 0);
        CHECK(head.keep_alive == cases[i].in_10);
        CHECK(parse_made(GET H, cases[i].fields, "\r\n") > 0);
        CHECK(head.keep_alive == cases[i].in_11);
    }
}

/* A head of n bytes: a target of t, then one field that fills it up. */
static void
fill_head(size_t n, size_t t)
{
    const char *rest = " HTTP/1.1\r\nHost: h\r\nA: ";

    memset(big, 'a', n);
    memcpy(big, "GET /", 5);
    memcpy(big + 4 + t, rest, strlen(rest));
    memcpy(big + n - 4, "\r\n\r\n", 4);
}

TEST(limits_of_a_head)
{
    fill_head(HTTP_MAX_HEAD, 1);
    check_splits("the longest head", big, HTTP_MAX_HEAD, HTTP_MAX_HEAD);
    fill_head(HTTP_MAX_HEAD + 1, 1);
    check_splits("a longer one", big, HTTP_MAX_HEAD + 1, -431);
    check_splits("a longer one, at once", big, HTTP_MAX_HEAD, -431);
    CHECK(parse(big, HTTP_MAX_HEAD - 1) == 0);
    fill_head(5000, HTTP_MAX_TARGET);
    check_splits("the longest target", big, 5000, 5000);
    fill_head(5000, HTTP_MAX_TARGET + 1);
    check_splits("a longer one", big, 5000, -414);
    memset(big + 5, 'a', HTTP_MAX_HEAD);
    check_splits("an endless target", big, HTTP_MAX_HEAD, -414);
    memcpy(big, "\r\nGET /", 7);
    check_splits("behind an empty line", big, HTTP_MAX_HEAD, -414);
    memset(big, '\n', HTTP_MAX_HEAD);
    check_splits("line feeds", big, HTTP_MAX_HEAD, -400);
}

TEST(number_of_fields)
{
    int n, extra, len;

    for (extra = 0; extra < 2; extra++) {
        len = snprintf(big, sizeof(big), "GET / HTTP/1.1\r\nHost: h\r\n");
        for (n = 1; n < HTTP_MAX_FIELDS + extra; n++)
            len += snprintf(big + len, 64, "f%d: %d\r\n", n, n);
        len += snprintf(big + len, 64, "\r\n");
        check_splits("fields", big, (size_t)len, extra ? -431 : len);
    }
    CHECK(str_is(http_field_of(&head, "f99"), "99"));
}

/* ---- chunked bodies ---- */

static struct result {
    int rc;       /* bytes taken, or the error */
    size_t data;  /* bytes of it in body */
    bool done;
} result;
static char *body;

static bool
feed_chunks(struct http_chunks *c, const char *p, size_t n)
{
    char *copy = (char *)guard_copy(p, n);
    size_t data = 0;
    int rc = http_parse_chunks(c, copy, n, &data, &result.done);

    if (rc < 0) {
        result.rc = rc;
        return false;
    }
    CHECK(data <= (size_t)rc && (size_t)rc <= n);
    CHECK((size_t)rc == n || result.done);
    memcpy(body + result.data, copy, data);
    result.data += data;
    result.rc += rc;
    return !result.done;
}

/* Feeds it in parts of `part` bytes, after one of `first`. */
static void
parse_chunks(const char *p, size_t n, size_t first, size_t part)
{
    struct http_chunks c = {0};
    size_t at = first;

    memset(&result, 0, sizeof(result));
    if (first > 0 && !feed_chunks(&c, p, first))
        return;
    for (; at < n; at += part)
        if (!feed_chunks(&c, p + at, part < n - at ? part : n - at))
            return;
}

#define TAKES(name, lit, data) {name, lit, sizeof(lit) - 1, data, 0, 0}
#define FAILS(name, lit, err) {name, lit, sizeof(lit) - 1, "", err, 0}
#define WAITS(name, lit, data) {name, lit, sizeof(lit) - 1, data, 0, -1}
#define LEAVES(name, lit, data, n) {name, lit, sizeof(lit) - 1, data, 0, n}
static const struct {
    const char *name;
    const char *p;
    size_t len;
    const char *data;
    int err;
    int left; /* bytes after the body; -1: incomplete */
} chunked[] = {
    TAKES("empty", "0\r\n\r\n", ""),
    TAKES("one", "3\r\nabc\r\n0\r\n\r\n", "abc"),
    TAKES("three", "1\r\na\r\n2\r\nbc\r\n1\r\nd\r\n0\r\n\r\n", "abcd"),
    TAKES("either case", "a\r\n0123456789\r\nA\r\n0123456789\r\n0\r\n\r\n",
          "01234567890123456789"),
    TAKES("line ends in data", "6\r\n\r\n0\r\n\r\r\n0\r\n\r\n", "\r\n0\r\n\r"),
    TAKES("zeros", "0000000000000001\r\na\r\n0000\r\n\r\n", "a"),
    TAKES("extensions", "1;a=b;c=\"d e\"\r\na\r\n0;\r\n\r\n", "a"),
    TAKES("trailers", "1\r\na\r\n0\r\nA: b\r\nC:\r\n\r\n", "a"),
    TAKES("trailers of weight", "0\r\nContent-Length: 5\r\n\r\n", ""),
    LEAVES("pipelined", "1\r\na\r\n0\r\n\r\nGET /", "a", 5),
    LEAVES("a line behind", "0\r\n\r\n\r\n", "", 2),
    WAITS("nothing", "", ""),
    WAITS("no data", "1\r\n", ""),
    WAITS("no line end", "1\r\na", "a"),
    WAITS("no last chunk", "1\r\na\r\n", "a"),
    WAITS("no last line", "1\r\na\r\n0\r\n", "a"),
    WAITS("half of it", "1\r\na\r\n0\r\n\r", "a"),
    WAITS("within a trailer", "0\r\nA: b\r\n", ""),
    FAILS("no size", "\r\n", ERR_SYNTAX),
    FAILS("no size, extension", ";a\r\n", ERR_SYNTAX),
    FAILS("0x", "0x1\r\na\r\n", ERR_SYNTAX),
    FAILS("plus", "+1\r\na\r\n", ERR_SYNTAX),
    FAILS("minus", "-1\r\n", ERR_SYNTAX),
    FAILS("blank before", " 1\r\na\r\n", ERR_SYNTAX),
    FAILS("blank behind", "1 \r\na\r\n", ERR_SYNTAX),
    FAILS("blank before ;", "1 ;a\r\n", ERR_SYNTAX),
    FAILS("no hex", "g\r\n", ERR_SYNTAX),
    FAILS("underscore", "1_0\r\n", ERR_SYNTAX),
    FAILS("comma", "1,1\r\n", ERR_SYNTAX),
    FAILS("NUL", "1\0\r\n", ERR_SYNTAX),
    FAILS("seventeen digits", "00000000000000001\r\na\r\n", ERR_SYNTAX),
    FAILS("too many digits", "ffffffffffffffffffff\r\n", ERR_TOO_LARGE),
    FAILS("2 to the 64th", "10000000000000000\r\n", ERR_TOO_LARGE),
    FAILS("one less", "ffffffffffffffff\r\n", ERR_TOO_LARGE),
    FAILS("one more than allowed", "800001\r\n", ERR_TOO_LARGE),
    FAILS("one more, in two", "1\r\na\r\n800000\r\n", ERR_TOO_LARGE),
    FAILS("bare LF", "1\na\r\n", ERR_SYNTAX),
    FAILS("bare CR", "1\ra\r\n", ERR_SYNTAX),
    FAILS("CR CR LF", "1\r\r\na", ERR_SYNTAX),
    FAILS("bare LF behind data", "1\r\na\n0\r\n\r\n", ERR_SYNTAX),
    FAILS("bare CR behind data", "1\r\na\r0\r\n\r\n", ERR_SYNTAX),
    FAILS("data too long", "1\r\nab\r\n0\r\n\r\n", ERR_SYNTAX),
    FAILS("data too short", "3\r\nab\r\n0\r\n\r\n", ERR_SYNTAX),
    FAILS("bare LF in an extension", "1;a\nb\r\n", ERR_SYNTAX),
    FAILS("bare CR in an extension", "1;a\rb\r\n", ERR_SYNTAX),
    FAILS("NUL in an extension", "1;\0\r\n", ERR_SYNTAX),
    FAILS("DEL in an extension", "1;a=\x7f\r\n", ERR_SYNTAX),
    FAILS("bare LF at the end", "0\r\n\n", ERR_SYNTAX),
    FAILS("bare LF before it", "0\n\r\n", ERR_SYNTAX),
    FAILS("CR CR at the end", "0\r\n\r\r", ERR_SYNTAX),
    FAILS("trailer without colon", "0\r\nA\r\n\r\n", ERR_SYNTAX),
    FAILS("trailer without name", "0\r\n: a\r\n\r\n", ERR_SYNTAX),
    FAILS("trailer, blank before :", "0\r\nA : b\r\n\r\n", ERR_SYNTAX),
    FAILS("trailer folded", "0\r\nA: b\r\n c\r\n\r\n", ERR_SYNTAX),
    FAILS("trailer with bare LF", "0\r\nA: b\n\r\n", ERR_SYNTAX),
    FAILS("trailer with bare CR", "0\r\nA: b\rc\r\n\r\n", ERR_SYNTAX),
    FAILS("trailer with NUL", "0\r\nA: \0\r\n\r\n", ERR_SYNTAX),
    FAILS("a request for a trailer", "0\r\nGET / HTTP/1.1\r\n", ERR_SYNTAX),
};

static bool
is_case(size_t i)
{
    int left = chunked[i].left < 0 ? 0 : chunked[i].left;

    if (chunked[i].err != 0)
        return result.rc == chunked[i].err;
    return result.rc == (int)chunked[i].len - left &&
           result.done == (chunked[i].left >= 0) &&
           str_is((struct str){body, result.data}, chunked[i].data);
}

TEST(chunks)
{
    size_t i, first, n;

    for (i = 0; i < sizeof(chunked) / sizeof(chunked[0]); i++) {
        n = chunked[i].len;
        parse_chunks(chunked[i].p, n, 0, 1);
        if (!CHECK(is_case(i)))
            fprintf(stderr, "  %s: %d\n", chunked[i].name, result.rc);
        for (first = 0; first <= n; first++) {
            parse_chunks(chunked[i].p, n, first, n);
            if (!CHECK(is_case(i)))
                fprintf(stderr, "  %s: %d, split at %zu\n", chunked[i].name,
                        result.rc, first);
        }
    }
}

/* The largest body, in one chunk and in many, in reads of any size. */
TEST(largest_body)
{
    static const size_t sizes[] = {1, 4000, 1 << 20, HTTP_MAX_BODY};
    static const size_t parts[] = {4095, 65536, GUARD_MAX};
    char *text = malloc(HTTP_MAX_BODY * 8);
    size_t i, j, n, left;

    for (i = 0; i < 4; i++) {
        n = 0;
        for (left = HTTP_MAX_BODY; left > 0;) {
            size_t chunk = sizes[i] < left ? sizes[i] : left;

            n += (size_t)sprintf(text + n, "%zX\r\n", chunk);
            memset(text + n, 'a', chunk);
            n += chunk;
            memcpy(text + n, "\r\n", 2);
            n += 2;
            left -= chunk;
        }
        memcpy(text + n, "0\r\n\r\n1\r\n", 8);
        for (j = 0; j < 3; j++) {
            parse_chunks(text, n + 8, 0, parts[j]);
            CHECK(result.rc == (int)n + 5 && result.done);
            CHECK(result.data == HTTP_MAX_BODY);
        }
        memcpy(text + n, "1\r\n", 3);
        parse_chunks(text, n + 8, 7, 65536);
        CHECK(result.rc == ERR_TOO_LARGE);
    }
    CHECK(body[0] == 'a' && memcmp(body, body + 1, HTTP_MAX_BODY - 1) == 0);
    free(text);
}

TEST(endless_extras)
{
    static const char *const begins[] = {"1;", "0\r\nA: ", "0\r\nA", "0"};
    size_t i, n, part;

    for (i = 0; i < 4; i++)
        for (part = 1; part < 3000; part += 700) {
            n = strlen(begins[i]);
            memset(big, i == 3 ? '0' : 'a', 3000);
            memcpy(big, begins[i], n);
            parse_chunks(big, 3000, 0, part);
            CHECK(result.rc == ERR_SYNTAX);
        }
    for (n = 0; n + 6 < sizeof(big); n += 6)
        memcpy(big + n, "1;\r\na\r\n", 7);
    parse_chunks(big, n, 0, n);
    CHECK(result.rc == ERR_SYNTAX);
    n = (size_t)sprintf(big, "0\r\nA: ");
    memset(big + n, 'a', 1017);
    memcpy(big + n + 1017, "\r\n\r\n", 4);
    parse_chunks(big, n + 1021, 0, n);
    CHECK(result.rc == (int)n + 1021 && result.done);
}

/* ---- reading a head ---- */

TEST(query)
{
    static const struct {
        const char *query, *name, *value;
    } cases[] = {
        {"?a=1&b=2", "a", "1"}, {"?a=1&b=2", "b", "2"},
        {"?a=1&b=2", "c", NULL}, {"?a=1&a=2", "a", "1"},
        {"?a", "a", ""}, {"?a=", "a", ""}, {"?a&b=c", "b", "c"},
        {"?a=b=c", "a", "b=c"}, {"?ab=1", "a", NULL}, {"?a=1", "ab", NULL},
        {"?A=1", "a", NULL}, {"", "a", NULL}, {"?", "a", NULL},
        {"?&&a=%20", "a", "%20"}, {"?b=a&c=a", "a", NULL},
    };
    struct str value;
    size_t i;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        CHECK(parse_made("GET /p", cases[i].query,
                         " HTTP/1.1\r\n" H "\r\n") > 0);
        value = http_query_of(&head, cases[i].name);
        CHECK((value.p == NULL) == (cases[i].value == NULL));
        if (cases[i].value != NULL)
            CHECK(str_is(value, cases[i].value));
    }
}

TEST(accepts)
{
    static const struct {
        const char *fields;
        bool json, events;
    } cases[] = {
        {"", true, true},
        {"Accept: */*\r\n", true, true},
        {"Accept: application/json, text/event-stream\r\n", true, true},
        {"Accept: application/json\r\nAccept: text/event-stream\r\n", true,
         true},
        {"accept: APPLICATION/JSON\r\n", true, false},
        {"Accept: application/json;q=0.5 , text/html\r\n", true, false},
        {"Accept: application/json; q=0, */*\r\n", false, true},
        {"Accept: */*, application/json;Q=0.000\r\n", false, true},
        {"Accept: application/*;q=0, */*;q=0.001\r\n", false, true},
        {"Accept: application/*;q=0, application/json\r\n", true, false},
        {"Accept: text/*\r\n", false, true},
        {"Accept: TEXT/*;q=1.0, */*;q=0\r\n", false, true},
        {"Accept: */*;q=0\r\n", false, false},
        {"Accept: application/json;charset=utf-8;q=0\r\n", false, false},
        {"Accept: application/json;charset=utf-8\r\n", true, false},
        {"Accept: application/jsonx, application/jso, text\r\n", false, false},
        {"Accept: app/*, application*, */json, *, /*\r\n", false, false},
        {"Accept: text/event-stream;q=\r\n", false, true},
        {"Accept:\r\n", false, false},
        {"Accept: ,,\r\n", false, false},
        {"Accept: application/json;q=0, application/json\r\n", true, false},
        {"Accept: application/json, application/json;q=0\r\n", true, false},
    };
    size_t i;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        CHECK(parse_made(GET H, cases[i].fields, "\r\n") > 0);
        if (!CHECK(http_accepts(&head, "application/json") == cases[i].json &&
                   http_accepts(&head, "text/event-stream") ==
                       cases[i].events))
            fprintf(stderr, "  %s", cases[i].fields);
    }
}

TEST(types)
{
    CHECK(http_is_type(STR("application/json"), "application/json"));
    CHECK(http_is_type(STR("Application/JSON ; a=b"), "application/json"));
    CHECK(http_is_type(STR("application/json;"), "application/json"));
    CHECK(!http_is_type(STR("application/json, a/b"), "application/json"));
    CHECK(!http_is_type(STR("application/jsonl"), "application/json"));
    CHECK(!http_is_type(STR("application/jso"), "application/json"));
    CHECK(!http_is_type(STR("text/plain;application/json"),
                        "application/json"));
    CHECK(!http_is_type(STR(""), "application/json"));
    CHECK(!http_is_type(STR_NONE, "application/json"));
}

int
main(void)
{
    body = malloc(HTTP_MAX_BODY + 1);
    test_run();
    free(body);
    return test_end("t_http_parse");
}
