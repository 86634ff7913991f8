/* The real binary, its path in argv[1] or MCPTASK, and hostile requests over
   raw sockets: some that two parsers may read in two ways, endless ones, large
   and deep JSON, batches, clients that vanish. */

#include "tests/lib/abuse.h"

/* ---- clients that vanish ---- */

static const char *const stages[] = {
    POST(CHUNKED) "5;x=y\r\n{\"jso\r\n2f\r\nnrpc\":\"2.0\",\"id\":1,"
    "\"method\":\"ping\",\"params\":{}}\r\n0\r\nX: y\r\n\r\n",
    POST("Expect: 100-continue\r\nContent-Length: 52\r\n") PING,
    POST(LISTENS "Content-Length: 290\r\n") LISTEN,
    GET("/sse", "Accept: text/event-stream\r\n"),
    GET("/health", "") GET("/metrics", "") GET("/nothing", ""),
};
#define STAGES (sizeof(stages) / sizeof(stages[0]))

/* Each request is cut after each byte: then the connection is reset, or half
   closed and read to its end. */
TEST(vanishing_clients)
{
    struct rig r = rig_probed();
    struct client c;
    size_t i, n;

    for (i = 0; i < STAGES; i++)
        for (n = 0; n <= strlen(stages[i]); n++) {
            c = dial(r.address);
            send_bytes(&c, stages[i], n);
            reset(&c);
            c = dial(r.address);
            send_bytes(&c, stages[i], n);
            if (stages[i][n] == '\0')
                CHECK(status_of(&c) == 200);
            shutdown(c.fd, SHUT_WR);
            CHECK(ends(&c));
            hang_up(&c);
        }
    rig_end(&r, "vanishing clients");
}

#define GONERS 6
#define ROUNDS_TO_NOTICE 40 /* fewer than their calls have time for */

/* A client that waits and has sent more must be noticed, too, when it leaves:
   else such clients would fill the table until their calls end. */
TEST(vanishing_waiters)
{
    struct rig r = rig_new("--port 0 --connections 8", 8192);
    struct client c = dial(r.address), w[GONERS];
    struct text call = {0}, head = {0};
    int i, n;

    CHECK(fetch(&c, "POST", "/mcp", TYPES,
                RPC(1, "tools/call", "{\"name\":\"create_task\","
                    "\"arguments\":{\"task_id\":\"a\",\"title\":\"x\"}}"))
          == 200);
    addf(&call, RPC(2, "tools/call", "{\"name\":\"wait_for_task\","
                    "\"arguments\":{\"task_id\":\"a\","
                    "\"timeout_seconds\":%d}}"), 50);
    addf(&head, "POST /mcp HTTP/1.1\r\n" HOST
         "Content-Type: application/json\r\nAccept: application/json\r\n"
         "Content-Length: %zu\r\n\r\n", call.len);
    add(&head, call.p, call.len);
    for (i = 0; i < GONERS; i++) {
        w[i] = dial(r.address);
        send_bytes(&w[i], head.p, head.len);
    }
    for (n = 0; n < ROUNDS_TO_NOTICE && metric(&c, "mcp_waiting") < GONERS;)
        n++;
    for (i = 0; i < GONERS; i++) {
        for (n = 0; n < 120; n++)
            send_bytes(&w[i], GET("/health", ""), strlen(GET("/health", "")));
        hang_up(&w[i]);
    }
    for (n = 0; n < ROUNDS_TO_NOTICE && metric(&c, "http_connections") > 1;)
        n++;
    CHECK(metric(&c, "http_connections") == 1);
    free(call.p);
    free(head.p);
    hang_up(&c);
    rig_end(&r, "vanishing waiters");
}

/* ---- smuggling ---- */

#define T(text) text, sizeof(text) - 1
#define SECRET "GET /metrics HTTP/1.1\r\n" HOST "\r\n"
#define FIELD(line) POST(CHUNKED line "\r\n") "0\r\n\r\n" SECRET
#define CODING(line) POST(line "\r\n") "0\r\n\r\n" SECRET
#define LENGTH(v) POST("Content-Length:" v "\r\n") "12345" SECRET
#define SIZE(line) POST(CHUNKED) line "12345\r\n0\r\n\r\n" SECRET
#define LAST GET("/health", "Connection: close\r\n")

/* Each is sent with LAST after it. If the end of a request is in doubt, one
   reply says so and nothing after it is read. If it is clear, what looks like a
   request in a body is not one. */
static const struct {
    const char *text;
    size_t len;
    const char *want; /* the statuses of all replies */
} smuggled[] = {
    /* heads and chunks that the parser refuses, with each status: t_http_parse
       has what is refused, and that what follows changes nothing */
    {T(FIELD("Content-Length: 5")), "400"},
    {T(LENGTH(" 5\r\nContent-Length: 6")), "400"},
    {T(CODING("X: y\nTransfer-Encoding: chunked")), "400"},
    {T(CODING("Transfer-Encoding: chun\0ked")), "400"},
    {T("GET /health\r\n" SECRET), "400"},
    {T(GET("/health", "Host: evil.example.com\r\n") SECRET), "400"},
    {T(LENGTH(" 8388609")), "413"},
    {T(CODING("Transfer-Encoding: gzip, chunked")), "501"},
    {T("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" SECRET), "505"},
    {T("GET http://evil.example.com/health HTTP/1.1\r\n" HOST "\r\n"
       SECRET), "403"},
    {T(SIZE("4\r\n")), "400"},
    {T(SIZE("5;\n" SECRET "\r\n")), "400"},
    {T(SIZE("800001\r\n")), "413"},
    {T(POST(CHUNKED) "0\r\n" SECRET), "400"},
    /* what it accepts: 12345 is not a message */
    {T(LENGTH("\t5 ")), "400 200 200"},
    {T(LENGTH(" 0000000005")), "400 200 200"},
    {T(CODING("Transfer-Encoding:\tCHUNKED\t")), "400 200 200"},
    {T(SIZE("5;;;=\"\\, GET /metrics HTTP/1.1\r\n")), "400 200 200"},
    {T(SIZE("0005\r\n")), "400 200 200"},
    {T(POST(CHUNKED) "0\r\nContent-Length: 90\r\n" CHUNKED "\r\n"),
     "400 200"},
    /* a second request inside the first one's body */
    {T(POST("Content-Length: 42\r\n") SECRET), "400 200"},
    {T(POST(CHUNKED) "2a\r\n" SECRET "\r\n0\r\n\r\n"), "400 200"},
    {T("GET /health HTTP/1.1\r\n" HOST "Content-Length: 42\r\n\r\n"
       SECRET), "200 200"},
    {T("GET /health HTTP/1.1\r\n" HOST CHUNKED "\r\n2a\r\n" SECRET
       "\r\n0\r\n\r\n"), "200 200"},
    {T("POST /nothing HTTP/1.1\r\n" HOST "Content-Length: 42\r\n\r\n"
       SECRET), "404"},
    {T("POST /mcp HTTP/1.1\r\n" HOST "Content-Length: 42\r\n\r\n"
       SECRET), "415"},
    {T("POST /mcp HTTP/1.1\r\nHost: evil.example.com\r\n" TYPES
       "Content-Length: 42\r\n\r\n" SECRET), "403"},
    {T(POST("Expect: 200-ok\r\nContent-Length: 42\r\n") SECRET), "417"},
    {T(POST("Expect: 100-continue\r\nContent-Length: 42\r\n") SECRET),
     "400 200"},
    {T(POST("Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\n"
            "HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n"
            "Content-Length: 42\r\n") SECRET), "400 200"},
    {T("CONNECT localhost:80 HTTP/1.1\r\n" HOST "\r\n" SECRET), "400"},
};

TEST(smuggling)
{
    struct rig r = rig_probed();
    size_t i;

    for (i = 0; i < sizeof(smuggled) / sizeof(smuggled[0]); i++) {
        struct client c = dial(r.address);
        struct text all = {0}, got = {0};
        int status;

        add(&all, smuggled[i].text, smuggled[i].len);
        add(&all, LAST, sizeof(LAST) - 1);
        send_bytes(&c, all.p, all.len);
        add(&got, "", 0);
        while ((status = reply_of(&c)) != 0)
            addf(&got, "%s%d", got.len > 0 ? " " : "", status);
        if (!CHECK(strcmp(got.p, smuggled[i].want) == 0))
            fprintf(stderr, "%s: %s\n", smuggled[i].text, got.p);
        CHECK(c.taken == c.raw.len);
        free(all.p);
        free(got.p);
        hang_up(&c);
    }
    rig_end(&r, "smuggling");
}

/* ---- requests without an end ---- */

/* Each goes on sending after its reply, and reads nothing more. */
static const struct endless {
    const char *begin, *again;
    int status; /* 0: nothing has to come */
} endless[] = {
    {"GET /", "aaaaaaaaaaaaaaaa", 414},
    {"AAAAAAAAAAAAAAAA", "AAAAAAAAAAAAAAAA", 414},
    {"GET /health HTTP/1.1\r\n" HOST "X: ", "aaaaaaaaaaaaaaaa", 431},
    {"GET /health HTTP/1.1\r\n" HOST, "X: y\r\n", 431},
    {"GET /health HTTP/1.1\r\n" HOST, "aaaaaaaaaaaaaaaa", 431},
    {"", "\r\n", 400},
    {POST("Content-Length: 8388609\r\n"), "aaaaaaaaaaaaaaaa", 413},
    {POST("Content-Length: 8388608\r\n"), "[[[[[[[[[[[[[[[[", 400},
    {POST(CHUNKED), "20\r\naaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n", 413},
    {POST(CHUNKED), "1\r\na\r\n", 0},
    {POST(CHUNKED), "0", 400},
    {POST(CHUNKED) "1;", "aaaaaaaaaaaaaaaa", 400},
    {POST(CHUNKED) "0\r\n", "X: y\r\n", 400},
    {POST(CHUNKED) "0\r\n", "aaaaaaaaaaaaaaaa", 400},
    {"", GET("/health", ""), 200},
    {"", POST("Content-Length: 5\r\n") "12345", 400},
    {"", "POST /mcp HTTP/1.1\r\n" HOST TYPES "Expect: 100-continue\r\n"
         CHUNKED "\r\n1\r\na\r\n0\r\n\r\n", 400},
};
#define ENDLESS (sizeof(endless) / sizeof(endless[0]))

TEST(endless_requests)
{
    struct rig r = rig_probed();
    struct client c[ENDLESS], good = dial(r.address);
    struct pollfd p[ENDLESS];
    struct text again[ENDLESS];
    size_t sent[ENDLESS] = {0}, i, left = 0;
    int status[ENDLESS] = {0};

    for (i = 0; i < ENDLESS; i++) {
        c[i] = dial(r.address);
        send_z(&c[i], endless[i].begin);
        again[i] = repeat(endless[i].again);
        left += endless[i].status != 0;
    }
    while (left > 0) {
        for (i = 0; i < ENDLESS; i++) {
            bool more = endless[i].status != 0 || sent[i] < MIB / 4;

            p[i] = (struct pollfd){c[i].fd, more ? POLLOUT : 0, 0};
            if (status[i] == 0)
                p[i].events |= POLLIN;
        }
        if (poll(p, ENDLESS, DEADLINE_MS) < 1)
            break;
        for (i = 0; i < ENDLESS; i++) {
            if (status[i] == 0 && (p[i].revents & POLLIN)) {
                status[i] = status_of(&c[i]);
                left -= endless[i].status != 0;
                if (status[i] == 0) /* closed: it would be ready for ever */
                    shut(&c[i].fd);
            }
            if (c[i].fd >= 0 && (p[i].revents & POLLOUT))
                send_more(&c[i], &again[i], &sent[i]);
        }
    }
    CHECK(metric(&good, "http_held_bytes") < 2 * (long)MIB);
    hang_up(&good);
    for (i = 0; i < ENDLESS; i++) {
        /* On a slow machine time may run out first. */
        if (!CHECK(endless[i].status == 0 || status[i] == 408 ||
                   status[i] == endless[i].status))
            fprintf(stderr, "%s: %d\n", endless[i].begin, status[i]);
        free(again[i].p);
        hang_up(&c[i]);
    }
    rig_end(&r, "endless requests");
}

/* ---- JSON ---- */

/* begin, then `again` repeated up to 1 MiB, then end. */
static struct text
large(const char *begin, const char *again, const char *end)
{
    struct text t = {0};

    add(&t, begin, strlen(begin));
    add_times(&t, again, (MIB - t.len - strlen(end)) / strlen(again));
    add(&t, end, strlen(end));
    return t;
}

#define INSIDE "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":"

TEST(large_json)
{
    static const struct {
        const char *begin, *again, *end;
        int status;
    } cases[] = {
        {"", "[", "", 400},
        {"", "{\"a\":", "", 400},
        {"", "[{\"a\":", "", 400},
        {INSIDE, "[", "}", 400},
        {INSIDE "{\"a\":", "[[[[[[[[", "0}}", 400},
        {INSIDE "{\"a\":[", "[],", "0]}}", 400},
        {INSIDE "{\"a\":[", "0,", "0]}}", 400},
        {INSIDE "{", "\"a\":0,", "\"a\":0}}", 400},
        {INSIDE "{\"a\":\"", "aaaaaaaa", "\"}}", 200},
        {INSIDE "{\"a\":\"", "\\u0000", "\"}}", 200},
        {INSIDE "{\"", "\\ud83d\\ude00", "\":0}}", 200},
        {INSIDE "{\"a\":\"", "\\ud83d", "\"}}", 200},
        {INSIDE "{\"a\":\"", "\xf0\x9f\x98\x80", "\"}}", 200},
        {INSIDE "{\"a\":\"", "\xf0\x9f\x98", "\"}}", 400},
        {INSIDE "{\"a\":", "1", "}}", 200},
        {INSIDE "{\"a\":1e", "9", "}}", 200},
        {INSIDE "{\"a\":", "-", "1}}", 400},
        {"", " \t\r\n", PING, 200},
        {PING, " \t\r\n", "", 200},
        {"", PING, "", 400},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"", "a", "\"}", 200},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"", "\\n", "\"}", 200},
        {"{\"jsonrpc\":\"2.0\",\"id\":", "1", ",\"method\":\"ping\"}", 200},
        {"{\"jsonrpc\":\"2.0\",\"method\":\"ping\",\"id\":\"", "\\n", "\"}",
         200},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"", ",\"method\":0",
         "}", 400},
        {"[", "0,", "0]", 400},
        {"[", "[],", "[]]", 400},
        {"[", PING ",", PING "]", 400},
    };
    struct rig r = rig_probed();
    struct client c = dial(r.address);
    size_t i;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct text t = large(cases[i].begin, cases[i].again, cases[i].end);
        int status = fetch(&c, "POST", "/mcp", TYPES, t.p);

        if (!CHECK(status == cases[i].status))
            fprintf(stderr, "%s%s..: %d %.300s\n", cases[i].begin,
                    cases[i].again, status, c.body.p);
        free(t.p);
    }
    hang_up(&c);
    rig_end(&r, "large JSON");
}

/* ---- batches ---- */

/* Whether a batch of n messages, each of them text, gets this status. */
static bool
batch_gives(struct client *c, const char *fields, size_t n, const char *text,
            int status)
{
    struct text t = {0};
    size_t i;
    bool ok;

    for (i = 0; i < n; i++)
        addf(&t, "%s%s", i == 0 ? "[" : ",", text);
    addf(&t, n == 0 ? "[]" : "]");
    ok = fetch(c, "POST", "/mcp", fields, t.p) == status;
    free(t.p);
    return ok;
}

TEST(batches)
{
    struct rig r = rig_probed();
    struct client c = dial(r.address);
    char fields[1024];

    session_new(&c, fields);
    CHECK(batch_gives(&c, fields, 64, PING, 200));
    CHECK(batch_gives(&c, fields, 64, "[" PING "]", 200));
    CHECK(batch_gives(&c, fields, 64, "0", 200));
    CHECK(batch_gives(&c, fields, 65, PING, 400));
    CHECK(batch_gives(&c, fields, 5000, PING, 400));
    CHECK(batch_gives(&c, fields, 60000, "0", 400));
    CHECK(batch_gives(&c, fields, 0, "", 400));
    hang_up(&c);
    rig_end(&r, "batches");
}

/* A batch is one message; its answers would take 400 MiB. */
TEST(a_batch_of_reads)
{
    struct rig r = rig_probed();
    struct client c = dial(r.address);
    char fields[1024], uri[128], read[256];
    struct text t = {0};
    int i;

    attach(&r, uri);
    session_new(&c, fields);
    snprintf(read, sizeof(read), "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":"
             "\"resources/read\",\"params\":{\"uri\":\"%s\"}}", uri);
    for (i = 0; i < 64; i++)
        addf(&t, "%s%s", i == 0 ? "[" : ",", read);
    addf(&t, "]");
    CHECK(fetch(&c, "POST", "/mcp", fields, t.p) == 200);
    CHECK(strstr(c.body.p, "\"contents\":[{") != NULL);
    CHECK(strstr(c.body.p, "The batch is too large; send") != NULL);
    free(t.p);
    hang_up(&c);
    rig_end(&r, "a batch of reads");
}

int
main(int argc, char **argv)
{
    if (!abuse_begin(argc, argv))
        return 2;
    test_run();
    return abuse_end("abuse");
}
