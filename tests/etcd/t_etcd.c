/* t_etcd - the client of etcd's gateway, against up to three fake members with
   one map. Members work only inside ask(), and the clock advances only where
   the client waits for nothing but time: a pause costs the test nothing. A
   member that is `hung` never answers, so the clock then advances to the end of
   the attempt. */

#include "etcd/client.h"
#include "http/parse.h"
#include "tests/lib/faults.h"
#include "tests/lib/gateway.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/select.h>

#define BUDGET 5000
#define TXN "{\"compare\":[{\"key\":\"YQ==\",\"target\":\"CREATE\"," \
    "\"create_revision\":\"0\"}],\"success\":[{\"request_put\":{\"key\":" \
    "\"YQ==\",\"value\":\"eA==\"}}],\"failure\":[{\"request_range\":{\"key\":" \
    "\"YQ==\"}}]}"
#define RANGE "{\"key\":\"YQ==\"}"
#define MANY "{\"key\":\"aw==\",\"range_end\":\"bA==\"}"

static struct gateway *g[3];
static size_t members;
static struct etcd *e;
static struct etcd_answer answer;
static bool hung[3];
static char why[256];

/* ---- the rig ---- */

/* The index of the endpoint in use. */
static unsigned
place(void)
{
    unsigned i = 0;

    while (i + 1 < members && strcmp(etcd_endpoint(e), g[i]->endpoint) != 0)
        i++;
    return i;
}

static void
start_as(size_t n, const char *user, const char *password)
{
    struct etcd_options o = {.user = str_of(user),
                             .password = str_of(password)};
    char list[128];
    size_t len = 0;

    members = n;
    for (size_t i = 0; i < n; i++) {
        g[i] = gateway_new(i > 0 ? g[0]->map : NULL);
        len += (size_t)snprintf(list + len, sizeof(list) - len, "%s%s",
                                i > 0 ? "," : "", g[i]->endpoint);
    }
    o.endpoints = str_of(list);
    CHECK(etcd_new(&e, &o, why) == 0);
}

static void
start(size_t n)
{
    start_as(n, "", "");
}

static void
stop(void)
{
    etcd_free(e);
    for (size_t i = members; i > 0; i--)
        gateway_free(g[i - 1]);
    memset(hung, 0, sizeof(hung));
}

static bool
is_ready(int fd, bool write)
{
    struct pollfd p = {.fd = fd, .events = write ? POLLOUT : POLLIN};

    return poll(&p, 1, 0) > 0;
}

/* One step of everybody. */
static int
step(void)
{
    long nomem = nomem_after;
    int64_t due;
    bool write;
    int fd, rc = etcd_step(e, &answer);

    nomem = nomem_after;
    nomem_after = LONG_MAX;
    fd = etcd_watch(e, &write, &due);
    CHECK(rc == ERR_PENDING ? due < INT64_MAX && fd < FD_SETSIZE
                         : due == INT64_MAX && fd == -1);
    for (size_t i = 0; i < members; i++)
        gateway_step(g[i]);
    if (rc == ERR_PENDING && due > clock_mono_ms() &&
        (fd < 0 || (hung[place()] && !is_ready(fd, write))))
        ahead_ms += due - clock_mono_ms();
    nomem_after = nomem;
    return rc;
}

static int
finish(void)
{
    int rc;

    while ((rc = step()) == ERR_PENDING)
        ;
    CHECK((rc == 0) == (answer.why[0] == '\0'));
    return rc;
}

static int
ask_for(const char *path, const char *body, int64_t budget_ms)
{
    int rc = etcd_begin(e, path, str_of(body), budget_ms);

    return rc != 0 ? rc : finish();
}

/* One attempt, at the endpoint in use. */
static int
ask_once(const char *path, const char *body)
{
    int rc = etcd_begin_at(e, place(), path, str_of(body), BUDGET);

    return rc != 0 ? rc : finish();
}

static int
ask(const char *path, const char *body)
{
    return ask_for(path, body, BUDGET);
}

static bool
body_has(const char *text)
{
    struct str rest = answer.body;

    for (; rest.len >= strlen(text); rest = str_from(rest, 1))
        if (str_starts(rest, text))
            return true;
    return false;
}

static bool
why_has(const char *text)
{
    return strstr(answer.why, text) != NULL;
}

/* ---- one endpoint ---- */

TEST(answers)
{
    start(1);
    CHECK(ask("/v3/kv/range", RANGE) == 0);
    CHECK(!body_has("kvs") && !answer.resent);
    CHECK(ask("/v3/kv/txn", TXN) == 0);
    CHECK(body_has("\"succeeded\":true"));
    CHECK(str_is(gw_value(g[0]->map, "a"), "x"));
    CHECK(ask("/v3/kv/txn", TXN) == 0);
    CHECK(!body_has("succeeded") && body_has("\"value\":\"eA==\"}],"));
    CHECK(ask("/v3/lease/keepalive", "{\"ID\":\"5\"}") == 0);
    CHECK(body_has("{\"result\":{\"header\":"));
    CHECK(strcmp(etcd_endpoint(e), g[0]->endpoint) == 0);
    CHECK(g[0]->requests == 4 && g[0]->accepted == 1);
    stop();
}

/* The answers are the same in whatever parts they come. */
TEST(pieces)
{
    static const struct {
        const char *path, *body;
        int rc;
    } cases[] = {
        {"/v3/kv/range", RANGE, 0},
        {"/v3/kv/range", "{\"key\":\"Yg==\"}", 0}, /* chunked */
        {"/v3/lease/keepalive", "{\"ID\":\"5\"}", 0},
        {"/v3/kv/range", "{\"key\":\"\"}", ERR_INVALID}, /* with a trailer */
        {"/v3/lease/revoke", "{\"ID\":\"5\"}", ERR_NOT_FOUND},
    };
    static const size_t drips[] = {0, 1, 7, 1000};
    static char big[1000];
    struct buf whole = {0};

    start(1);
    memset(big, 'v', sizeof(big));
    gw_set(g[0]->map, STR("a"), STR("x"), 0, 2);
    gw_set(g[0]->map, STR("b"), (struct str){big, sizeof(big)}, 0, 2);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        for (size_t k = 0; k < 3 * sizeof(drips) / sizeof(drips[0]); k++) {
            g[0]->drip = drips[k / 3];
            g[0]->chunk = (size_t[]){0, 1, 100}[k % 3];
            CHECK(ask(cases[i].path, cases[i].body) == cases[i].rc);
            if (k == 0) {
                buf_reset(&whole, 0);
                buf_str(&whole, answer.body);
            }
            CHECK(str_eq(buf_view(&whole), answer.body));
        }
    CHECK(g[0]->accepted == 1);
    buf_fini(&whole);
    stop();
}

/* An answer that is cut anywhere does not count: the request is sent again. */
static void
test_cut(const char *path, const char *body, int want)
{
    int n = 0;
    uint64_t before;

    start(1);
    g[0]->chunk = 50;
    gw_set(g[0]->map, STR("a"), STR("x"), 0, 2);
    do {
        before = g[0]->requests;
        gateway_plan(g[0], 0, GATEWAY_CUT, n, NULL);
        CHECK(ask(path, body) == (want != 0 && n > 0 && answer.resent &&
                                  g[0]->requests > before + 1
                                      ? ERR_UNKNOWN : want) || want != 0);
        n += TEST_STEP;
    } while (g[0]->requests > before + 1 && n < 2000);
    CHECK(n > 300 && n < 2000 && !answer.resent);
    stop();
}

TEST(cuts)
{
    test_cut("/v3/kv/range", RANGE, 0);
    test_cut("/v3/kv/txn", TXN, 0);
    test_cut("/v3/kv/range", "{\"key\":\"\"}", ERR_INVALID);
}

/* After a lost answer, only status 200 proves anything. */
TEST(doubt)
{
    start(1);
    gateway_plan(g[0], 0, GATEWAY_LOSE_ANSWER, 0, NULL);
    gateway_plan(g[0], 1, GATEWAY_ERROR, 8, "etcdserver: mvcc: database space "
                 "exceeded");
    CHECK(ask("/v3/kv/txn", TXN) == ERR_UNKNOWN);
    CHECK(answer.resent && why_has("space exceeded"));
    gateway_plan(g[0], 0, GATEWAY_LOSE_ANSWER, 0, NULL);
    CHECK(ask("/v3/kv/txn", TXN) == 0);
    CHECK(answer.resent && !body_has("succeeded"));
    gateway_plan(g[0], 0, GATEWAY_LOSE, 0, NULL);
    CHECK(ask_once("/v3/kv/txn", TXN) == ERR_UNKNOWN);
    CHECK(ask("/v3/kv/txn", TXN) == 0);
    CHECK(!answer.resent);
    stop();
}

/* ---- errors of the gateway ---- */

/* What the gateway says, the result, and whether the request is sent again
   first. */
static const struct {
    int code;
    const char *text;
    int rc;
    bool again, doubt;
} errors[] = {
    {14, "etcdserver: request timed out", 0, true, true},
    {14, "etcdserver: leader changed", 0, true, true},
    {14, "etcdserver: no leader", 0, true, true},
    {2, "context deadline exceeded", 0, true, true},
    {13, "something new", 0, true, true},
    {8, "etcdserver: too many requests", 0, true, false},
    {8, "something else", 0, true, true},
    {8, "etcdserver: mvcc: database space exceeded", ERR_FULL, false, false},
    {8, "grpc: received message larger than max (2097163 vs. 2097152)",
     ERR_TOO_LARGE, false, false},
    {3, "etcdserver: request is too large", ERR_TOO_LARGE, false, false},
    {3, "etcdserver: too many operations in txn request", ERR_TOO_LARGE, false,
     false},
    {3, "etcdserver: duplicate key given in txn request", ERR_INVALID, false,
     false},
    {3, "etcdserver: user name is empty", ERR_UNAUTHORIZED, false, false},
    {16, "etcdserver: invalid auth token", ERR_UNAUTHORIZED, false, false},
    {7, "etcdserver: permission denied", ERR_READONLY, false, false},
    {5, "etcdserver: requested lease not found", ERR_NOT_FOUND, false, false},
    {9, "etcdserver: lease already exists", ERR_INVALID, false, false},
    {11, "etcdserver: mvcc: required revision has been compacted", ERR_INVALID,
     false, false},
    {12, "unknown service", ERR_FORMAT, false, false},
};

static void
test_error(size_t i, bool spaced)
{
    start(1);
    g[0]->map->spaced = spaced;
    gateway_plan(g[0], 0, GATEWAY_ERROR, errors[i].code, errors[i].text);
    CHECK(ask("/v3/kv/txn", TXN) == errors[i].rc);
    CHECK(g[0]->requests == (errors[i].again ? 2 : 1));
    CHECK(answer.resent == errors[i].doubt);
    CHECK(errors[i].again || (why_has(errors[i].text) &&
                              why_has(g[0]->endpoint)));
    gateway_plan(g[0], 0, GATEWAY_ERROR, errors[i].code, errors[i].text);
    CHECK(ask_once("/v3/kv/txn", TXN) ==
          (errors[i].doubt   ? ERR_UNKNOWN
           : errors[i].again ? ERR_UNREACHABLE
                             : errors[i].rc));
    stop();
}

TEST(errors)
{
    for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
        test_error(i, false);
        test_error(i, true);
    }
}

/* ---- bytes that are not etcd's ---- */

#define OK "HTTP/1.1 200 OK\r\n"
#define CHUNKED OK "Transfer-Encoding: chunked\r\n\r\n"

static const struct {
    int rc; /* of a request that is sent once */
    const char *text;
} texts[] = {
    {0, OK "Content-Length: 2\r\n\r\n{}"},
    {0, OK "content-length:2\r\nConnection: close\r\n\r\n{}"},
    {0, OK "Content-Length: 2\r\n\r\n{}HTTP/1.1 200 OK\r\n"},
    {0, "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n{}"},
    {0, "HTTP/1.1 200\r\nContent-Length: 2\r\n\r\n{}"},
    {0, CHUNKED "1\r\n{\r\n1;x=y\r\n}\r\n0\r\nA: b\r\n\r\n"},
    {0, CHUNKED "2\r\n{}\r\n0\r\n\r\nmore"},
    {ERR_FORMAT, "HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request "
                 "to an HTTPS server.\n"},
    {ERR_FORMAT, "HTTP/1.1 404 Not Found\r\nContent-Length: 10\r\n\r\n"
                 "Not Found\n"},
    {ERR_FORMAT, OK "Content-Length: 6\r\n\r\n<html>"},
    {ERR_FORMAT, OK "\r\n{}"},
    {ERR_FORMAT, "HTTP/1.1 100 Continue\r\n\r\n" OK "Content-Length: 2\r\n\r\n"
                 "{}"},
    {ERR_FORMAT, "\x15\x03\x01"},
    {ERR_FORMAT, "SSH-2.0-x\r\n\r\n"},
    {ERR_UNKNOWN, "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 6\r\n\r\n"
                  "<html>"},
    {ERR_UNKNOWN, "HTTP/1.1 503 Busy\r\nContent-Length: 20\r\n\r\n"
                  "{\"code\":14,\"message\""},
    {ERR_UNKNOWN, ""},
    {ERR_UNKNOWN, OK "Content-Length: 2\n\n{}"},
    {ERR_UNKNOWN, OK "Content-Length: 3\r\n\r\n{}"},
    {ERR_UNKNOWN, OK "Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}"},
    {ERR_UNKNOWN, OK "Content-Length: +2\r\n\r\n{}"},
    {ERR_UNKNOWN, OK "Content-Length: 8388609\r\n\r\n{}"},
    {ERR_UNKNOWN, OK "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"},
    {ERR_UNKNOWN, OK "Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n"
                  "2\r\n{}\r\n0\r\n\r\n"},
    {ERR_UNKNOWN, OK " folded: x\r\n\r\n{}"},
    {ERR_UNKNOWN, "HTTP/1.1 20 OK\r\n\r\n"},
    {ERR_UNKNOWN, "HTTP/1.1 2000 OK\r\n\r\n"},
    {ERR_UNKNOWN, "HTTP/2.0 200 OK\r\n\r\n"},
    {ERR_UNKNOWN, "HTTP/1.1  200 OK\r\n\r\n"},
    {ERR_UNKNOWN, CHUNKED "x\r\n{}\r\n0\r\n\r\n"},
    {ERR_UNKNOWN, CHUNKED "2\r\n{}0\r\n\r\n"},
    {ERR_UNKNOWN, CHUNKED "2\r\n{}\r\n0\r\n"},
    {ERR_UNKNOWN, CHUNKED "2\r\n{}\r\n0\r\n: x\r\n\r\n"},
    {ERR_TOO_LARGE, CHUNKED "800001\r\n{}"},
    {ERR_TOO_LARGE, CHUNKED "ffffffffffffffff\r\n{}"},
};

TEST(texts)
{
    for (size_t i = 0; i < 2 * sizeof(texts) / sizeof(texts[0]); i++) {
        start(1);
        g[0]->drip = i % 2;
        gateway_plan(g[0], 0, GATEWAY_SAY, 0, texts[i / 2].text);
        if (!CHECK(ask_once("/v3/kv/txn", TXN) ==
                   texts[i / 2].rc))
            fprintf(stderr, "%s: %s\n", texts[i / 2].text, answer.why);
        CHECK(answer.body.len == (texts[i / 2].rc == 0 ? 2 : 0));
        g[0]->drip = 0;
        CHECK(ask("/v3/kv/txn", TXN) == 0 && !answer.resent);
        CHECK(g[0]->requests == 2);
        stop();
    }
}

/* Head, trailer and the whole answer have limits. */
TEST(limits)
{
    struct buf big = {0}, value = {0};
    char key[] = "k0";

    start(1);
    buf_z(&big, OK);
    while (big.len < HTTP_MAX_HEAD)
        buf_z(&big, "A: bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\r\n");
    buf_put(&big, "\r\n", 3);
    gateway_plan(g[0], 0, GATEWAY_SAY, 0, big.p);
    CHECK(ask_once("/v3/kv/txn", TXN) == ERR_UNKNOWN);
    CHECK(why_has("malformed"));
    memset(buf_room(&value, 1 << 20), 'x', 1 << 20);
    value.len = 1 << 20;
    for (; key[1] < '5'; key[1]++)
        gw_set(g[0]->map, str_of(key), buf_view(&value), 0, 2);
    CHECK(ask("/v3/kv/range", MANY) == 0);
    CHECK(answer.body.len > 6990000 && g[0]->accepted == 2);
    gw_set(g[0]->map, STR("k5"), buf_view(&value), 0, 2);
    CHECK(ask("/v3/kv/range", MANY) == ERR_TOO_LARGE);
    CHECK(why_has("too large"));
    buf_fini(&big);
    buf_fini(&value);
    stop();
}

/* A request is sent whole, however little the other end reads at once. */
TEST(large_request)
{
    struct buf body = {0}, value = {0};

    start(1);
    memset(buf_room(&value, 1 << 20), 'x', 1 << 20);
    value.len = 1 << 20;
    buf_z(&body, "{\"key\":\"YQ==\",\"value\":\"");
    base64_encode(&body, buf_view(&value));
    buf_put(&body, "\"}", 3);
    CHECK(ask("/v3/kv/put", body.p) == 0);
    CHECK(str_eq(gw_value(g[0]->map, "a"), buf_view(&value)));
    buf_fini(&body);
    buf_fini(&value);
    stop();
}

/* ---- connections ---- */

TEST(keep_alive)
{
    start(1);
    for (int i = 0; i < 10; i++)
        CHECK(ask("/v3/kv/range", RANGE) == 0);
    CHECK(g[0]->accepted == 1);
    gateway_hang_up(g[0]); /* between requests */
    CHECK(ask_once("/v3/kv/range", RANGE) == 0);
    CHECK(g[0]->accepted == 2 && !answer.resent);
    gateway_plan(g[0], 0, GATEWAY_LOSE, 0, NULL);
    CHECK(ask("/v3/kv/range", RANGE) == 0);
    CHECK(g[0]->accepted == 3 && answer.resent);
    stop();
}

/* A late answer is never taken for that of another request. */
TEST(cancel)
{
    start(1);
    etcd_cancel(e);
    CHECK(etcd_begin(e, "/v3/kv/txn", STR(TXN), BUDGET) == 0);
    while (g[0]->requests == 0)
        CHECK(step() == ERR_PENDING);
    etcd_cancel(e);
    CHECK(etcd_step(e, &answer) == ERR_PENDING);
    CHECK(ask("/v3/kv/range", RANGE) == 0);
    CHECK(body_has("kvs") && g[0]->accepted == 2);
    stop();
}

/* ---- endpoints ---- */

TEST(down)
{
    int64_t before;

    start(3);
    gateway_down(g[0]);
    before = ahead_ms;
    CHECK(ask("/v3/kv/txn", TXN) == 0);
    CHECK(g[1]->requests == 1 && !answer.resent && ahead_ms == before);
    CHECK(strcmp(etcd_endpoint(e), g[1]->endpoint) == 0);
    gateway_down(g[1]);
    gateway_down(g[2]);
    before = clock_mono_ms();
    CHECK(ask("/v3/kv/txn", TXN) == ERR_UNREACHABLE);
    CHECK(clock_mono_ms() - before >= BUDGET);
    CHECK(why_has("refused") && !answer.resent);
    gateway_up(g[2]);
    before = ahead_ms;
    CHECK(ask("/v3/kv/txn", TXN) == 0 && g[2]->requests == 1);
    CHECK(ahead_ms - before <= 10);
    stop();
}

/* The first endpoint is used again, but not before a minute has passed since it
   failed last. */
TEST(home)
{
    start(2);
    gateway_down(g[0]);
    CHECK(ask("/v3/kv/txn", TXN) == 0 && g[1]->requests == 1);
    gateway_up(g[0]);
    ahead_ms += 50000;
    CHECK(ask("/v3/kv/txn", TXN) == 0 && g[1]->requests == 2);
    ahead_ms += 10000;
    CHECK(ask("/v3/kv/txn", TXN) == 0 && g[0]->requests == 1);
    CHECK(strcmp(etcd_endpoint(e), g[0]->endpoint) == 0);
    gateway_down(g[0]);
    CHECK(ask("/v3/kv/txn", TXN) == 0 && g[1]->requests == 3);
    ahead_ms += 60000; /* it is still away */
    CHECK(ask("/v3/kv/txn", TXN) == 0 && g[1]->requests == 4);
    gateway_up(g[0]);
    CHECK(ask("/v3/kv/txn", TXN) == 0 && g[1]->requests == 5);
    stop();
}

/* An endpoint that does not answer costs a second; when all were asked, two. */
TEST(hung)
{
    int64_t before;

    start(3);
    CHECK(ask("/v3/kv/range", RANGE) == 0);
    hung[0] = true;
    g[0]->frozen = true;
    before = clock_mono_ms();
    CHECK(ask("/v3/kv/txn", TXN) == 0);
    CHECK(answer.resent && body_has("succeeded") && g[1]->requests == 1);
    CHECK(clock_mono_ms() - before >= 1000);
    CHECK(ahead_ms - before < 1500 || clock_mono_ms() - before < 2000);
    hung[1] = true;
    g[1]->frozen = true;
    before = ahead_ms;
    CHECK(ask_once("/v3/kv/txn", TXN) == ERR_UNKNOWN);
    CHECK(ahead_ms - before <= 1000 && why_has("no answer"));
    CHECK(g[2]->requests == 0);
    /* All three hang, and the second is asked again before the end. */
    hung[2] = g[2]->frozen = true;
    before = clock_mono_ms();
    CHECK(ask_for("/v3/kv/txn", TXN, 3500) == ERR_UNKNOWN);
    CHECK(clock_mono_ms() - before >= 3500 && why_has(g[1]->endpoint));
    stop();
}

/* If nobody answers, the budget ends the request. */
TEST(budget)
{
    int64_t before;

    start(1);
    hung[0] = true;
    g[0]->frozen = true;
    before = clock_mono_ms();
    CHECK(ask_for("/v3/kv/txn", TXN, 4500) == ERR_UNKNOWN);
    CHECK(clock_mono_ms() - before >= 4500 && answer.resent);
    CHECK(ask_for("/v3/kv/txn", TXN, 0) == ERR_UNREACHABLE);
    stop();
    start(1);
    for (uint64_t i = 0; i < 28; i++)
        gateway_plan(g[0], i, GATEWAY_ERROR, 14, "etcdserver: no leader");
    before = clock_mono_ms();
    CHECK(ask("/v3/kv/txn", TXN) == ERR_UNKNOWN || g[0]->requests == 29);
    CHECK(g[0]->requests >= 25 && why_has(g[0]->requests < 29 ? "leader" : ""));
    stop();
}

/* An endpoint that is no gateway is skipped, unless none is. */
TEST(alien)
{
    static const char text[] = "HTTP/1.1 404 Not Found\r\nContent-Length: 0"
                               "\r\n\r\n";

    start(2);
    gateway_plan(g[0], 0, GATEWAY_SAY, 0, text);
    CHECK(ask("/v3/kv/txn", TXN) == 0);
    CHECK(g[1]->requests == 1 && !answer.resent);
    gateway_plan(g[0], 0, GATEWAY_SAY, 0, text);
    gateway_plan(g[1], 0, GATEWAY_SAY, 0, text);
    CHECK(ask("/v3/kv/txn", TXN) == ERR_FORMAT);
    CHECK(why_has("status 404"));
    stop();
}

/* A member in the minority has no leader: another one is asked. */
TEST(no_leader)
{
    start(3);
    gateway_plan(g[0], 0, GATEWAY_ERROR, 14, "etcdserver: no leader");
    gateway_plan(g[1], 0, GATEWAY_ERROR_AFTER, 14, "etcdserver: request timed "
                 "out");
    CHECK(ask("/v3/kv/txn", TXN) == 0);
    CHECK(answer.resent && !body_has("succeeded"));
    CHECK(g[2]->requests == 1);
    stop();
}

/* ---- authentication ---- */

TEST(login)
{
    start_as(2, "m\"", "p\\w");
    CHECK(ask("/v3/kv/txn", TXN) == 0); /* without a login */
    CHECK(g[0]->requests == 1);
    g[0]->user = g[1]->user = "m\"";
    g[0]->password = g[1]->password = "p\\w";
    CHECK(ask("/v3/kv/range", RANGE) == 0);
    CHECK(g[0]->requests == 4 && g[0]->logins == 1);
    CHECK(ask_once("/v3/kv/range", RANGE) == 0);
    CHECK(g[0]->requests == 5);
    gateway_expire(g[0]);
    CHECK(ask_once("/v3/kv/range", RANGE) == 0);
    CHECK(g[0]->requests == 8 && !answer.resent);
    gateway_expire(g[0]); /* and the login fails: at the other one */
    gateway_plan(g[0], 1, GATEWAY_LOSE, 0, NULL);
    CHECK(ask("/v3/kv/range", RANGE) == 0);
    CHECK(g[1]->logins == 1 && !answer.resent);
    g[1]->user = NULL; /* authentication is off again */
    CHECK(ask("/v3/kv/range", RANGE) == 0);
    CHECK(g[1]->requests == 5);
    stop();
}

TEST(login_refused)
{
    start_as(1, "m", "wrong");
    g[0]->user = "m";
    g[0]->password = "right";
    CHECK(ask("/v3/kv/range", RANGE) == ERR_UNAUTHORIZED);
    CHECK(g[0]->requests == 2 && why_has("invalid user ID or password"));
    g[0]->password = "wrong";
    gateway_plan(g[0], 1, GATEWAY_SAY, 0, OK "Content-Length: 18\r\n\r\n"
                 "{\"token\":\"a\\r\\nb\"}");
    CHECK(ask("/v3/kv/range", RANGE) == 0); /* without that token */
    gateway_plan(g[0], 0, GATEWAY_ERROR, 16, "etcdserver: invalid auth token");
    gateway_plan(g[0], 2, GATEWAY_ERROR, 16, "etcdserver: invalid auth token");
    CHECK(ask("/v3/kv/range", RANGE) == ERR_UNAUTHORIZED);
    stop();
}

/* An etcd that was set up again, or restored, does not answer an older token at
   all: a new one is taken in time. */
TEST(login_again)
{
    start_as(1, "m", "p");
    hung[0] = true;
    g[0]->user = "m";
    g[0]->password = "p";
    g[0]->younger = true;
    CHECK(ask("/v3/kv/range", RANGE) == 0);
    gateway_expire(g[0]);
    CHECK(ask("/v3/kv/range", RANGE) == 0);
    CHECK(g[0]->logins == 3);
    gateway_expire(g[0]); /* the only attempt here, but the first */
    CHECK(etcd_begin_at(e, 0, "/v3/kv/range", STR(RANGE), 1000) == 0);
    CHECK(finish() == ERR_UNKNOWN);
    CHECK(etcd_begin_at(e, 0, "/v3/kv/range", STR(RANGE), 1000) == 0);
    CHECK(finish() == 0);
    stop();
}

static int
unread(int fd)
{
    int n = 0;

    CHECK(ioctl(fd, FIONREAD, &n) == 0);
    return n;
}

/* An answer that never stops ends by its limit, not in one step. */
TEST(answer_flooded)
{
    static const char head[] = OK "Transfer-Encoding: chunked\r\n\r\n"
                               "7fffff\r\n";
    size_t len = 2 << 20;
    char *text = malloc(len + 1);
    int64_t due;
    bool write;
    int fd = -1, before;

    memset(text, 'x', len);
    text[len] = '\0';
    memcpy(text, head, sizeof(head) - 1);
    start(1);
    gateway_plan(g[0], 0, GATEWAY_SAY, 0, text);
    CHECK(etcd_begin(e, "/v3/kv/range", STR(RANGE), BUDGET) == 0);
    for (int i = 0; i < 10 && g[0]->requests == 0; i++) {
        CHECK(etcd_step(e, &answer) == ERR_PENDING);
        gateway_step(g[0]);
        fd = etcd_watch(e, &write, &due);
    }
    for (int i = 0; i < 100 && unread(fd) < 96 * 1024; i++)
        gateway_step(g[0]);
    before = unread(fd);
    CHECK(before >= 96 * 1024 && etcd_step(e, &answer) == ERR_PENDING);
    CHECK(before - unread(fd) <= 64 * 1024);
    etcd_cancel(e);
    free(text);
    stop();
}

/* ---- clocks, memory, descriptors, options ---- */

TEST(skew)
{
    static const int64_t ahead[] = {0, 7200000, -7200000, 86400000};

    start(1);
    for (size_t i = 0; i < sizeof(ahead) / sizeof(ahead[0]); i++) {
        g[0]->date_ms = ahead[i];
        CHECK(ask("/v3/kv/range", RANGE) == 0);
        CHECK(answer.skew_ms >= ahead[i] - 10000 &&
              answer.skew_ms <= ahead[i] + 501);
    }
    gateway_plan(g[0], 0, GATEWAY_SAY, 0, OK "Content-Length: 2\r\nDate: Sun, "
                 "22 Foo 2026 17:56:29 GMT\r\n\r\n{}");
    CHECK(ask("/v3/kv/range", RANGE) == 0 && answer.skew_ms == 0);
    gateway_plan(g[0], 0, GATEWAY_SAY, 0, OK "Content-Length: 2\r\nDate: "
                 "\r\n\r\n{}");
    CHECK(ask("/v3/kv/range", RANGE) == 0 && answer.skew_ms == 0);
    stop();
}

/* A time is told only of the endpoint that answered last. */
TEST(skew_of)
{
    start(2);
    g[0]->date_ms = 7200000;
    gateway_down(g[1]);
    for (uint64_t i = 0; i < 20; i++)
        gateway_plan(g[0], i, GATEWAY_ERROR, 14, "etcdserver: no leader");
    CHECK(ask_for("/v3/kv/range", RANGE, 100) == ERR_UNKNOWN);
    CHECK(answer.skew_ms == 0);
    stop();
}

TEST(nomem)
{
    bool hit = true;
    int rc;

    for (long n = 0; hit && n < 100; n++) {
        start_as(1, "m", "p");
        g[0]->user = "m";
        g[0]->password = "p";
        nomem_start(n, true);
        rc = etcd_begin(e, "/v3/kv/txn", STR(TXN), BUDGET);
        rc = rc != 0 ? rc : finish();
        hit = nomem_stop();
        CHECK(rc == 0 || rc == ERR_NOMEM || rc == ERR_UNKNOWN);
        if (rc == ERR_NOMEM)
            CHECK(g[0]->map->n == 0);
        CHECK(ask("/v3/kv/range", RANGE) == 0);
        stop();
    }
    CHECK(!hit);
}

TEST(descriptors)
{
    struct rlimit limit;
    int first = dup(0), fd = first;

    CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    limit.rlim_cur = limit.rlim_max;
    CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    start(1);
    while (fd >= 0 && fd < FD_SETSIZE - 1)
        fd = dup(0);
    CHECK(ask_for("/v3/kv/range", RANGE, 100) == ERR_UNREACHABLE);
    CHECK(why_has(strerror(EMFILE)) && g[0]->accepted == 0);
    for (; fd > first + 10; fd--)
        close(fd);
    CHECK(ask("/v3/kv/range", RANGE) == 0);
    stop();
}

TEST(options)
{
    static const char *const bad[] = {
        "", "127.0.0.1", "127.0.0.1:", "127.0.0.1:0", "127.0.0.1:65536", ":1",
        "localhost:2379", "127.0.0.1:1,", ",127.0.0.1:1", "::1:2379",
        "[127.0.0.1]:1", "[::1:1", "[]:1", "127.0.0.1:1:1", "[::1%lo]:1",
        "1.1.1.1:1,1.1.1.1:1,1.1.1.1:1,1.1.1.1:1,1.1.1.1:1,1.1.1.1:1,"
        "1.1.1.1:1,1.1.1.1:1,1.1.1.1:1",
    };
    struct etcd_options o = {.endpoints = STR("[::1]:2379,127.0.0.1:1")};

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct etcd_options of = {.endpoints = str_of(bad[i])};

        why[0] = '\0';
        CHECK(etcd_new(&e, &of, why) == ERR_INVALID);
        CHECK(strstr(why, "endpoint") != NULL);
    }
    CHECK(etcd_new(&e, &o, why) == 0);
    CHECK(strcmp(etcd_endpoint(e), "[::1]:2379") == 0);
    etcd_free(e);
    etcd_free(NULL);
}
