/* t_http - requests, replies, streams and limits of the HTTP server. */

#include "tests/lib/http_rig.h"

/* ---- requests and replies ---- */

TEST(keep_alive)
{
    struct client k;
    int i;

    open_toy();
    k = join();
    turn(2);
    for (i = 0; i < 3; i++) {
        sys.reads = sys.writes = 0;
        say(&k, POST("5", "hello"));
        CHECK(hears(&k, "\r\n\r\nhello"));
        CHECK(sys.reads == 1 && sys.writes == 1);
        CHECK(str_starts(str_of(k.got), "HTTP/1.1 200 OK\r\n"));
        CHECK(strstr(k.got, "Content-Length: 5\r\n") != NULL);
        CHECK(strstr(k.got, "X-Toy: 1\r\n") != NULL);
        CHECK(strstr(k.got, "Cache-Control: no-store\r\n") != NULL);
        CHECK(strstr(k.got, "X-Content-Type-Options: nosniff\r\n") != NULL);
        CHECK(strstr(k.got, "Connection:") == NULL);
        forget_heard(&k);
    }
    CHECK(counts().requests == 3 && counts().accepted == 1);
    pass(2000); /* an idle one holds nothing */
    CHECK(counts().held == 0);
    say(&k, "POST /echo HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
            "Content-Length: 2\r\n\r\nno");
    CHECK(hears_end(&k) && strstr(k.got, "Connection: close\r\n") != NULL);
    CHECK(toy.closed == 1);
    leave(&k);
    close_toy();
}

TEST(pipelining)
{
    struct client k;

    open_toy();
    k = join();
    say(&k, POST("1", "a") POST("1", "b") GET("/later") POST("1", "c"));
    CHECK(hears(&k, "\r\n\r\nb"));
    turn(3);
    hear(&k);
    CHECK(times(k.got, "HTTP/1.1 200") == 2);
    CHECK(toy.requests == 3 && toy.n == 1);
    http_reply(toy.later[0], 202, NULL, NULL, STR_NONE);
    CHECK(toy.requests == 3); /* not from within the reply */
    drop_later(toy.later[0]);
    CHECK(hears(&k, "\r\n\r\nc") && strstr(k.got, "202 Accepted") != NULL);
    leave(&k);
    turn(2);
    CHECK(toy.closed == 1);
    close_toy();
}

TEST(many_pipelined_behind_a_slow_one)
{
    struct client k;
    int i;

    open_toy();
    k = join();
    say(&k, GET("/later"));
    for (i = 0; i < 400; i++) /* it reads no more than fits */
        (void)!send(k.fd, GET("/echo"), strlen(GET("/echo")), MSG_NOSIGNAL);
    turn(5);
    CHECK(counts().held < 8192 && toy.n == 1);
    CHECK(str_is(http_request(toy.later[0])->path, "/later"));
    http_reply(toy.later[0], 200, NULL, NULL, STR_NONE);
    drop_later(toy.later[0]);
    for (i = 0; i < PATIENCE && toy.requests < 401; i++)
        turn(1);
    turn(1);
    hear(&k);
    CHECK(times(k.got, "HTTP/1.1 200") == 401);
    leave(&k);
    close_toy();
}

/* Sends without a turn of the loop. */
static void
put(struct client *k, const char *z)
{
    size_t n = strlen(z);

    CHECK(send(k->fd, z, n, MSG_NOSIGNAL) == (ssize_t)n);
}

#define AHEAD 20

/* A client that sends many requests together has one of them in each turn of
   the loop, whatever they are, as has a client that sends one at a time. No
   turn waits, and new clients that push others out change nothing. */
TEST(requests_sent_ahead_take_turns)
{
    static const char *const requests[] = {GET("/echo"), CHUNKED,
                                           POST("3", "abc")};
    struct client ahead, single, k[AHEAD];
    int64_t from;
    int i, r;

    open_with((struct http_options){.fd = -1, .connections = 8});
    ahead = join_known();
    single = join_known();
    for (r = 0; r < 3; r++) {
        toy.requests = 0;
        from = sys.ms;
        forget_heard(&ahead);
        put(&ahead, "POST /echo HTTP/1.1\r\nHost: x\r\n"
                    "Content-Length: 2\r\n\r\nx");
        turn(2); /* its body is still to end */
        put(&ahead, "x");
        for (i = 1; i < AHEAD; i++)
            put(&ahead, requests[r]);
        for (i = 0; i < AHEAD; i++) {
            forget_heard(&single);
            put(&single, GET("/echo"));
            k[i] = join();
            CHECK(loop_turn(toy.loop, true) == 0);
            hear(&ahead);
            hear(&single);
            CHECK(toy.requests == 2U * (unsigned)(i + 1));
            CHECK(times(ahead.got, "HTTP/1.1 200") == (unsigned)(i + 1));
            CHECK(times(single.got, "HTTP/1.1 200") == 1);
        }
        CHECK(sys.ms == from && counts().refused > 0);
        for (i = 0; i < AHEAD; i++)
            leave(&k[i]);
        turn(2);
    }
    leave(&ahead);
    leave(&single);
    close_toy();
}

/* The end of its input does not take from a client what it has sent before. */
TEST(requests_before_the_end)
{
    struct client k;
    int i;

    open_toy();
    k = join();
    for (i = 0; i < AHEAD; i++)
        put(&k, GET("/echo"));
    CHECK(shutdown(k.fd, SHUT_WR) == 0);
    CHECK(hears_end(&k) && times(k.got, "HTTP/1.1 200") == AHEAD);
    leave(&k);
    close_toy();
}

TEST(chunked)
{
    struct client k;

    open_toy();
    k = join();
    say(&k, CHUNKED POST("1", "z"));
    CHECK(hears(&k, "\r\n\r\nhello, world") && hears(&k, "\r\n\r\nz"));
    say(&k, "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: "
            "chunked\r\n\r\nxyz\r\n");
    CHECK(hears_end(&k) && strstr(k.got, "400 Bad Request\n") == NULL);
    CHECK(strstr(k.got, "HTTP/1.1 400 Bad Request\r\n") != NULL);
    leave(&k);
    close_toy();
}

/* The answers are the same, however the input is split. */
TEST(splits)
{
    static const char text[] = CHUNKED POST("3", "abc") GET("/echo");
    size_t n = sizeof text - 1, i;
    struct client k;

    open_toy();
    for (i = 0; i <= n; i++) {
        k = join();
        say_n(&k, text, i);
        turn(2);
        say_n(&k, text + i, n - i);
        CHECK(hears(&k, "\r\n\r\nhello, world") && hears(&k, "\r\n\r\nabc") &&
              hears(&k, "Length: 0\r\n\r\n"));
        leave(&k);
    }
    k = join();
    for (i = 0; i < n; i++)
        say_n(&k, text + i, 1);
    CHECK(hears(&k, "\r\n\r\nabc") && hears(&k, "Length: 0\r\n\r\n"));
    leave(&k);
    turn(2);
    CHECK(toy.closed == counts().accepted && counts().open == 0);
    close_toy();
}

TEST(large_body)
{
    static char head[] = "POST /echo HTTP/1.1\r\nHost: x\r\n"
                         "Content-Length: 4194304\r\n\r\n";
    size_t len = 4 * MIB, i;
    char *body = malloc(len + 1);
    struct client k;

    for (i = 0; i < len; i++)
        body[i] = (char)('a' + i % 23);
    body[len] = '\0';
    open_toy();
    k = join();
    say(&k, head);
    say_n(&k, body, len);
    CHECK(hears(&k, body));
    say(&k, GET("/echo")); /* and the large buffers are gone */
    CHECK(hears(&k, "Length: 0\r\n\r\n") && counts().held <= 16384);
    leave(&k);
    close_toy();
    free(body);
}

TEST(continue)
{
    static const char head[] = "POST %s HTTP/1.1\r\nHost: x\r\n"
        "Expect: 100-continue\r\nContent-Length: 2\r\n\r\n";
    char text[256];
    struct client k;

    open_toy();
    k = join();
    snprintf(text, sizeof text, head, "/echo");
    say(&k, text);
    CHECK(hears(&k, "HTTP/1.1 100 Continue\r\n\r\n") && toy.requests == 0);
    say(&k, "hi");
    CHECK(hears(&k, "\r\n\r\nhi"));
    forget_heard(&k);
    snprintf(text, sizeof text, head, "/refuse");
    say(&k, text);
    CHECK(hears_end(&k) && times(k.got, "HTTP/1.1") == 1);
    CHECK(strstr(k.got, "HTTP/1.1 401 Unauthorized\r\n") != NULL);
    CHECK(strstr(k.got, "Connection: close\r\n") != NULL);
    leave(&k);
    close_toy();
}

TEST(head_method)
{
    struct client k;

    open_toy();
    k = join();
    say(&k, "HEAD /size?7 HTTP/1.1\r\nHost: x\r\n\r\n" GET("/size?3"));
    CHECK(hears(&k, "\r\n\r\nxxx") && times(k.got, "xx") == 2);
    CHECK(strstr(k.got, "Content-Length: 7\r\n") != NULL);
    say(&k, "HEAD /stream HTTP/1.1\r\nHost: x\r\n\r\n");
    CHECK(hears(&k, "text/event-stream"));
    forget_heard(&k);
    http_event(toy.later[0], STR_NONE, STR_NONE, 0, STR("no"));
    http_stream_end(toy.later[0]);
    drop_later(toy.later[0]);
    say(&k, GET("/size?3"));
    CHECK(hears(&k, "\r\n\r\nxxx") && times(k.got, "no\n") == 0);
    leave(&k);
    close_toy();
}

TEST(http_1_0)
{
    struct client k;

    open_toy();
    k = join();
    say(&k, "POST /size?2 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    CHECK(hears(&k, "\r\n\r\nxx"));
    CHECK(strstr(k.got, "Connection: keep-alive\r\n") != NULL);
    say(&k, "GET /size?4 HTTP/1.0\r\n\r\n");
    CHECK(hears_end(&k) && strstr(k.got, "\r\n\r\nxxxx") != NULL);
    leave(&k);
    k = join();
    say(&k, "GET /stream HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    CHECK(hears(&k, "\r\n\r\n"));
    CHECK(strstr(k.got, "chunked") == NULL);
    CHECK(strstr(k.got, "Connection: close\r\n") != NULL);
    http_event(toy.later[0], STR_NONE, STR_NONE, 0, STR("a"));
    http_stream_end(toy.later[0]);
    drop_later(toy.later[0]);
    CHECK(hears_end(&k) && strstr(k.got, "\r\n\r\ndata: a\n\n") != NULL);
    leave(&k);
    close_toy();
}

TEST(errors)
{
    static const struct {
        const char *text, *status;
    } cases[] = {
        {"GET / HTTP/1.1\n\n", "400 Bad Request"},
        {"GET /echo HTTP/1.1\r\n\r\n", "400 Bad Request"},
        {"GET / HTTP/2.0\r\nHost: x\r\n\r\n", "505 HTTP"},
        {"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9999999999\r\n\r\n",
         "413 Content"},
        {"\x16\x03\x01\x02", "400 Bad Request"},
    };
    struct client k;
    size_t i;

    open_toy();
    for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        k = join();
        say(&k, cases[i].text);
        say(&k, GET("/echo")); /* nothing after it is a request */
        CHECK(hears_end(&k) && strstr(k.got, cases[i].status) != NULL);
        CHECK(times(k.got, "HTTP/1.1") == 1 && toy.requests == 0);
        CHECK(strstr(k.got, "Connection: close\r\n") != NULL);
        leave(&k);
    }
    close_toy();
}

/* A client that sends a large body without reading still gets the refusal. */
TEST(early_refusal_arrives)
{
    size_t len = 6 * MIB;
    char *body = calloc(1, len);
    struct client k;

    open_toy();
    k = join();
    say(&k, "POST /refuse HTTP/1.1\r\nHost: x\r\n"
            "Content-Length: 6291456\r\n\r\n");
    turn(3);
    say_n(&k, body, len);
    CHECK(hears(&k, "\r\n\r\nno\n"));
    CHECK(hears_end(&k) && toy.requests == 0);
    CHECK(counts().open == 1 && counts().held == 0); /* it may still send */
    pass(4000);
    CHECK(counts().open == 0);
    leave(&k);
    close_toy();
    free(body);
}

TEST(drop_from_within)
{
    struct client a, b;

    open_toy();
    a = join();
    b = join();
    say(&a, GET("/drop"));
    say(&b, GET("/drop_head"));
    CHECK(hears_end(&a) && hears_end(&b) && toy.closed == 2);
    leave(&a);
    leave(&b);
    close_toy();
}

TEST(large_reply_to_a_slow_reader)
{
    struct client k, other;

    open_toy();
    k = join();
    other = join();
    say(&k, GET("/size?12000000") GET("/size?1"));
    turn(5);
    CHECK(counts().held > MIB);
    say(&other, GET("/echo"));
    CHECK(hears(&other, "Length: 0\r\n\r\n"));
    CHECK(hears(&k, "Content-Length: 1\r\n\r\nx") && k.len > 12000000);
    CHECK(counts().held <= 2 * 16384);
    leave(&k);
    leave(&other);
    close_toy();
}

/* ---- streams ---- */

TEST(events)
{
    static const struct {
        const char *event, *id;
        unsigned retry;
        const char *data, *want;
    } cases[] = {
        {"", "", 0, "x", "00000009\r\ndata: x\n\n\r\n"},
        {"", "7.1", 0, "", "0000000f\r\nid: 7.1\ndata:\n\n\r\n"},
        {"endpoint", "", 0, "/m", "event: endpoint\ndata: /m\n\n"},
        {"message", "a", 500, "{}",
         "event: message\nid: a\nretry: 500\ndata: {}\n\n"},
        {"", "", 0, "a\nb\r\nc\rd\n",
         "data: a\ndata: b\ndata: c\ndata: d\ndata:\n\n"},
        {"", "", 0, "\r\r\n", "data:\ndata:\ndata:\n\n"},
    };
    struct client k;
    size_t i;

    open_toy();
    k = join_stream();
    CHECK(strstr(k.got, "Content-Type: text/event-stream\r\n") != NULL);
    CHECK(strstr(k.got, "Cache-Control: no-cache\r\n") != NULL);
    CHECK(strstr(k.got, "X-Accel-Buffering: no\r\n") != NULL);
    CHECK(strstr(k.got, "Transfer-Encoding: chunked\r\n") != NULL);
    for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        http_event(toy.later[0], str_of(cases[i].event),
                   str_of(cases[i].id), cases[i].retry,
                   str_of(cases[i].data));
        CHECK(hears(&k, cases[i].want));
        forget_heard(&k);
    }
    http_stream_end(toy.later[0]);
    drop_later(toy.later[0]);
    CHECK(hears(&k, "0\r\n\r\n") && counts().streams == 0);
    say(&k, POST("1", "q"));
    CHECK(hears(&k, "\r\n\r\nq"));
    leave(&k);
    close_toy();
}

/* A short stream and its answer take one write. */
TEST(short_stream_is_one_write)
{
    struct client k;

    open_toy();
    k = join();
    say(&k, GET("/later"));
    turn(2);
    sys.writes = 0;
    http_stream(toy.later[0], NULL);
    http_event(toy.later[0], STR_NONE, STR("1"), 0, STR("a"));
    http_event(toy.later[0], STR_NONE, STR_NONE, 0, STR("b"));
    http_stream_end(toy.later[0]);
    drop_later(toy.later[0]);
    CHECK(sys.writes == 1);
    CHECK(hears(&k, "data: b\n\n\r\n0\r\n\r\n") && sys.writes == 1);
    leave(&k);
    close_toy();
}

TEST(stalled_stream_is_dropped)
{
    char *data = malloc(100001);
    struct client slow, good, plain;
    struct http_conn *s, *g;
    bool behind = false;
    int i;

    memset(data, 'd', 100000);
    data[100000] = '\0';
    open_toy();
    slow = join_stream();
    good = join_stream();
    plain = join();
    s = toy.later[0];
    g = toy.later[1];
    for (i = 0; i < 1000 && toy.closed == 0; i++) {
        http_event(s, STR_NONE, STR_NONE, 0, str_of(data));
        CHECK(i > 0 || !http_is_behind(s)); /* it was not tried yet */
        turn(1);
        behind |= toy.closed == 0 && http_is_behind(s);
        CHECK(!http_is_behind(g));
        CHECK(counts().held <= 2 * HTTP_MAX_UNSENT + 202000);
        http_event(g, STR_NONE, STR_NONE, 0, STR("ok"));
        CHECK(hears(&good, "data: ok\n\n"));
        forget_heard(&good);
        say(&plain, GET("/echo"));
        CHECK(hears(&plain, "Length: 0\r\n\r\n"));
        forget_heard(&plain);
    }
    CHECK(toy.closed == 1 && toy.n == 1 && toy.later[0] == g && behind);
    CHECK(counts().streams == 1 && counts().held < 3 * 16384);
    leave(&slow);
    leave(&good);
    leave(&plain);
    close_toy();
    free(data);
}

TEST(large_event_to_a_good_reader)
{
    size_t len = 6 * MIB;
    char *data = malloc(len + 1);
    struct client k;

    memset(data, 'e', len);
    data[len] = '\0';
    open_toy();
    k = join_stream();
    http_event(toy.later[0], STR_NONE, STR_NONE, 0, str_of(data));
    http_stream_end(toy.later[0]);
    drop_later(toy.later[0]);
    CHECK(hears(&k, "\n\n\r\n0\r\n\r\n") && strstr(k.got, data) != NULL);
    leave(&k);
    close_toy();
    free(data);
}

TEST(lost_clients_are_noticed)
{
    struct linger hard = {.l_onoff = 1};
    struct client waits, stream, reset, behind;

    open_toy();
    stream = join_stream();
    toy.forget = true;
    waits = join();
    say(&waits, GET("/later"));
    reset = join_stream();
    behind = join();
    say(&behind, GET("/later") GET("/echo")); /* with something unread */
    turn(2);
    CHECK(toy.n == 4);
    leave(&waits);
    pass(LOOP_IDLE_MS + 1);
    CHECK(toy.closed == 1 && toy.n == 3);
    setsockopt(reset.fd, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
    leave(&stream);
    leave(&reset);
    pass(LOOP_IDLE_MS + 1);
    CHECK(toy.closed == 3);
    leave(&behind);
    pass(LOOP_IDLE_MS + 1);
    CHECK(toy.closed == 4 && counts().open == 0 && counts().held == 0);
    close_toy();
}

/* A client that sends no more may still read, but not for long. */
TEST(half_closed_clients)
{
    struct client soon, late, both;

    open_toy();
    soon = join();
    say(&soon, GET("/later"));
    shutdown(soon.fd, SHUT_WR);
    both = join();
    say(&both, GET("/later"));
    shutdown(both.fd, SHUT_WR);
    turn(3);
    CHECK(toy.n == 2 && toy.closed == 0);
    http_reply(toy.later[0], 200, NULL, NULL, STR("soon"));
    drop_later(toy.later[0]);
    CHECK(hears(&soon, "\r\n\r\nsoon") && hears_end(&soon));
    http_forget(toy.later[0]);
    CHECK(hears_end(&both) && both.len == 0);
    toy.forget = true;
    late = join();
    say(&late, GET("/later"));
    shutdown(late.fd, SHUT_WR);
    pass(LOOP_IDLE_MS + 1);
    CHECK(hears_end(&late) && late.len == 0 && toy.closed == 3);
    leave(&soon);
    leave(&late);
    leave(&both);
    close_toy();
}

/* What arrives during a long wait is kept up to a limit; then only as much is
   read as shows the end, whatever the budget. */
TEST(input_during_a_wait)
{
    struct client kept, gone, much;
    char more[HTTP_MAX_AHEAD];
    int i;

    memset(more, 'x', sizeof more);
    open_toy();
    toy.forget = true;
    kept = join();
    gone = join();
    much = join();
    say(&kept, GET("/later"));
    say(&gone, GET("/stream"));
    say(&much, GET("/later"));
    for (i = 0; i < 150; i++)
        say(&kept, GET("/echo"));
    say_n(&gone, more, sizeof more - 1);
    say_n(&much, more, sizeof more - 1);
    pass(2 * LOOP_IDLE_MS);
    CHECK(toy.n == 3 && toy.closed == 0);
    say(&much, "x");
    leave(&gone);
    pass(2 * LOOP_IDLE_MS);
    CHECK(toy.n == 1 && toy.closed == 2);
    http_reply(toy.later[0], 200, NULL, NULL, STR_NONE);
    drop_later(toy.later[0]);
    for (i = 0; i < PATIENCE && toy.requests < 153; i++)
        turn(1);
    turn(1);
    hear(&kept);
    CHECK(times(kept.got, "HTTP/1.1 200") == 151);
    leave(&kept);
    leave(&much);
    close_toy();
}

/* A large request does not keep its memory while it waits. */
TEST(a_wait_gives_memory_back)
{
    char *body = calloc(1, MIB);
    struct client k;

    open_toy();
    toy.forget = true;
    k = join();
    say(&k, "POST /later HTTP/1.1\r\nHost: x\r\nContent-Length: 1048576"
            "\r\n\r\n");
    say_n(&k, body, MIB);
    say(&k, GET("/echo"));
    pass(LOOP_IDLE_MS + 1);
    CHECK(toy.n == 1 && counts().held > 0 && counts().held <= 8192);
    leave(&k);
    close_toy();
    free(body);
}

/* A machine that is switched off does not say goodbye. */
TEST(tcp_asks_who_is_there)
{
    struct sockaddr_in a, b;
    socklen_t len = sizeof a;
    struct client k;
    int fd, on = 0, found = 0;

    open_toy();
    k = join();
    turn(2);
    CHECK(getsockname(k.fd, (struct sockaddr *)&a, &len) == 0);
    for (fd = 3; fd < CLIENT_FDS && found == 0; fd++) {
        len = sizeof b;
        if (getpeername(fd, (struct sockaddr *)&b, &len) != 0 ||
            b.sin_port != a.sin_port)
            continue;
        found = fd;
        len = sizeof on;
        CHECK(getsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, &len) == 0 && on);
        len = sizeof on;
        CHECK(getsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &on, &len) == 0 &&
              on <= 120);
    }
    CHECK(found > 0);
    leave(&k);
    close_toy();
}

/* Turns of other connections do not touch them, and an idle server sleeps. */
TEST(idle_streams_cost_nothing)
{
    static struct client k[900];
    struct client active;
    unsigned n = sizeof k / sizeof k[0], i;

    open_with((struct http_options){.fd = -1, .connections = 2000});
    toy.forget = true;
    for (i = 0; i < n; i++)
        k[i] = join_stream();
    active = join();
    turn(3);
    CHECK(counts().streams == n && counts().held == 0);
    sys.many = n / 2;
    sys.full_selects = sys.selects = 0;
    for (i = 0; i < 50; i++) {
        sys.ms += 10; /* as if the request took that long */
        say(&active, GET("/echo"));
        CHECK(hears(&active, "Length: 0\r\n\r\n"));
        forget_heard(&active);
    }
    CHECK(sys.full_selects >= 4 && sys.full_selects <= 6);
    pass(300);
    sys.selects = 0;
    pass(10000); /* but for the sweeps */
    CHECK(sys.selects <= 25);
    http_event(toy.later[n - 1], STR_NONE, STR_NONE, 0, STR("hi"));
    CHECK(hears(&k[n - 1], "data: hi\n\n"));
    leave(&active);
    for (i = 0; i < n; i++)
        leave(&k[i]);
    pass(LOOP_IDLE_MS + 1);
    turn(2);
    CHECK(counts().open == 0 && counts().streams == 0);
    close_toy();
}

/* ---- limits ---- */

/* A full table has room for one more as long as a connection is idle. */
TEST(the_quietest_makes_way)
{
    struct client waits, stream, body, slow, k[4];
    unsigned i;

    open_with((struct http_options){.fd = -1, .connections = 8});
    waits = join_known();
    say(&waits, GET("/later"));
    stream = join_known();
    say(&stream, GET("/stream"));
    body = join_known();
    say(&body, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\n");
    slow = join_known();
    say(&slow, GET("/size?30000000")); /* it reads none of it */
    for (i = 0; i < 4; i++) {
        sys.ms++;
        k[i] = join_known();
    }
    sys.ms++;
    say(&k[0], POST("1", "0")); /* so it is not the quietest any more */
    CHECK(hears(&k[0], "\r\n\r\n0") && counts().open == 8);
    put(&k[1], POST("1", "1")); /* nor is this one, as the server will see */
    for (i = 2; i < 4; i++) {
        struct client c = join_known();

        CHECK(hears_end(&k[i]) && k[i].len == 0 && counts().open == 8);
        CHECK(counts().refused == i - 1);
        leave(&k[i]);
        k[i] = c;
    }
    CHECK(hears(&k[1], "\r\n\r\n1"));
    say(&body, "b");
    CHECK(hears(&body, "\r\n\r\nb") && hears(&slow, "xxx"));
    http_event(toy.later[1], STR_NONE, STR_NONE, 0, STR("e"));
    http_reply(toy.later[0], 200, NULL, NULL, STR("late"));
    drop_later(toy.later[0]);
    CHECK(hears(&stream, "data: e") && hears(&waits, "\r\n\r\nlate"));
    for (i = 0; i < 4; i++) {
        say(&k[i], POST("1", "k"));
        CHECK(hears(&k[i], "\r\n\r\nk"));
        leave(&k[i]);
    }
    leave(&waits);
    leave(&stream);
    leave(&body);
    leave(&slow);
    turn(2);
    close_toy();
}

TEST(too_many_connections)
{
    struct client a, b, c;

    open_with((struct http_options){.fd = -1, .connections = 2});
    a = join_known();
    say(&a, GET("/stream"));
    b = join_known();
    say(&b, "POST /echo HTTP/1.1\r\n");
    c = join();
    say(&c, GET("/echo"));
    CHECK(hears_end(&c) && counts().refused == 1 && counts().open == 2);
    CHECK(strstr(c.got, "HTTP/1.1 503 ") == c.got);
    CHECK(strstr(c.got, "Retry-After: 1\r\n") != NULL);
    leave(&c);
    leave(&a);
    turn(2);
    c = join();
    say(&c, POST("1", "c"));
    say(&b, "Host: x\r\nContent-Length: 1\r\n\r\nb");
    CHECK(hears(&c, "\r\n\r\nc") && hears(&b, "\r\n\r\nb"));
    leave(&b);
    leave(&c);
    close_toy();
}

/* A silent client keeps nobody out: the stranger that was quiet longest is
   closed, never one that is known or waits for a reply. */
TEST(strangers_make_way)
{
    struct client known[3], waits, k[8], begun, last;
    unsigned i;

    open_with((struct http_options){.fd = -1, .connections = 12});
    known[0] = join_known();
    waits = join();
    say(&waits, GET("/later"));
    turn(1);
    for (i = 0; i < 8; i++) {
        k[i] = join();
        turn(1);
        sys.ms++;
    }
    CHECK(counts().open == 10 && counts().refused == 0);
    say(&k[0], "GET /ec"); /* so it is not the quietest any more */
    known[1] = join_known(); /* these have a quarter of the room */
    CHECK(hears_end(&k[1]) && k[1].len == 0 && counts().open == 10);
    known[2] = join_known();
    CHECK(counts().refused == 1 && counts().open == 11);
    sys.ms++;
    begun = join();
    say(&begun, "GET /echo HTTP/1.1\r\n");
    CHECK(counts().refused == 1 && counts().open == 12);
    last = join();
    say(&last, GET("/echo"));
    CHECK(hears(&last, "Length: 0\r\n\r\n") && hears_end(&k[2]));
    CHECK(counts().refused == 2 && counts().open == 12);
    say(&k[0], "ho HTTP/1.1\r\nHost: x\r\n\r\n");
    say(&begun, "Host: x\r\n\r\n");
    CHECK(hears(&k[0], " 200 OK") && hears(&begun, " 200 OK"));
    for (i = 0; i < 3; i++) {
        say(&known[i], GET("/echo"));
        CHECK(hears(&known[i], " 200 OK"));
        leave(&known[i]);
    }
    http_reply(toy.later[0], 200, NULL, NULL, STR("late"));
    drop_later(toy.later[0]);
    CHECK(hears(&waits, "\r\n\r\nlate"));
    for (i = 0; i < 8; i++)
        leave(&k[i]);
    leave(&waits);
    leave(&begun);
    leave(&last);
    close_toy();
}

TEST(few_descriptors)
{
    struct client k[12];
    unsigned i;

    limit_files(24);
    open_toy();
    limit_files(4096);
    for (i = 0; i < 12; i++) {
        k[i] = join();
        turn(1);
    }
    CHECK(counts().open == 6 && counts().refused == 6);
    for (i = 0; i < 12; i++)
        leave(&k[i]);
    close_toy();
    limit_files(10);
    open_toy();
    limit_files(4096);
    k[0] = join();
    say(&k[0], POST("1", "x"));
    CHECK(hears(&k[0], "\r\n\r\nx"));
    leave(&k[0]);
    close_toy();
}

/* The listening socket stays ready, so nobody waits for it. */
TEST(no_descriptor_left)
{
    struct client k[30];
    unsigned i;

    open_toy();
    for (i = 0; i < 30; i++)
        k[i] = join();
    limit_files(24);
    turn(3);
    CHECK(counts().open > 0 && counts().open < 24 && counts().refused == 0);
    for (i = 0; i < counts().open; i++)
        say(&k[i], GET("/later"));
    turn(3);
    sys.selects = 0;
    pass(5000);
    CHECK(sys.selects <= 12);
    limit_files(4096);
    say(&k[29], POST("1", "x"));
    pass(1000);
    CHECK(counts().open == 30 && hears(&k[29], "\r\n\r\nx"));
    for (i = 0; i < 30; i++)
        leave(&k[i]);
    close_toy();
}

TEST(no_descriptor_left_until_one_closes)
{
    struct client k[30];
    unsigned i, n;

    open_toy();
    for (i = 0; i < 30; i++)
        k[i] = join();
    limit_files(24);
    turn(3);
    n = (unsigned)counts().accepted;
    leave(&k[0]);
    turn(3);
    CHECK(counts().accepted == n + 1);
    for (i = 1; i < 30; i++)
        leave(&k[i]);
    limit_files(4096);
    close_toy();
}

int
main(void)
{
    limit_files(4096);
    test_run();
    return test_end("t_http");
}
