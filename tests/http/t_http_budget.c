/* t_http_budget - what the buffers of the HTTP server may take: who is let in
   by the head, who makes way, and that all of it is given back. */

#include "tests/lib/http_rig.h"
#include "http/conn.h"

#define CROWD 60
#define HEAD_OF(more) "POST /size?2 HTTP/1.1\r\nHost: x\r\n" more "\r\n"
#define BODY_OF(len) "Content-Length: " len "\r\n"
#define FULL BODY_OF("8388608")
#define IN_CHUNKS "Transfer-Encoding: chunked\r\n"
#define NO_ROOM "HTTP/1.1 503 Service Unavailable\r\n"

static char zeros[256 * 1024];

/* Sends up to n bytes more of a body, as many as the socket takes. */
static void
send_some(struct client *k, size_t n, size_t *sent)
{
    ssize_t done = 0;

    if (k->fd >= 0 && n > 0)
        done = send(k->fd, zeros, n < sizeof zeros ? n : sizeof zeros,
                    MSG_NOSIGNAL);
    *sent += done > 0 ? (size_t)done : 0;
    turn(1);
}

static void
send_zeros(struct client *k, size_t n)
{
    size_t sent = 0;
    int i;

    for (i = 0; i < PATIENCE && sent < n; i++)
        send_some(k, n - sent, &sent);
    CHECK(sent == n);
    turn(2);
}

/* Sends n chunks of 64 KiB, or fewer if the server refuses them. */
static void
send_chunks(struct client *k, int n)
{
    while (n-- > 0 && !k->eof) {
        say(k, "10000\r\n");
        say_n(k, zeros, 65536);
        say(k, "\r\n");
        hear(k);
    }
}

/* Returns whether the request is answered with 503 and when to come again. */
static bool
is_refused(struct client *k)
{
    return hears_end(k) && strstr(k->got, NO_ROOM) == k->got &&
           strstr(k->got, "\r\nRetry-After: 1\r\n") != NULL &&
           strstr(k->got, "\r\nConnection: close\r\n") != NULL;
}

static bool
is_silent(struct client *k)
{
    hear(k);
    return k->len == 0 && !k->eof && k->err == 0;
}

/* Returns whether a request on a connection of its own is answered, with so
   many bytes of body. */
static bool
is_served(const char *head, size_t len)
{
    struct client k = join();
    bool ok;

    say(&k, head);
    send_zeros(&k, len);
    ok = hears(&k, "200 OK");
    leave(&k);
    return ok;
}

/* What each is sure to have for itself, and what it takes of the rest. */
static size_t
excess(const struct http_conn *c)
{
    size_t part = HTTP_BUDGET / 2 / c->server->limit;

    return c->in.cap > part ? c->in.cap - part : 0;
}

/* The memory of all buffers is what is counted, and never too much. */
static void
check_budget(void)
{
    const struct http *s = toy.http;
    size_t n = 0, common = 0, own;

    for (unsigned i = 0; i < s->counts.open; i++) {
        const struct http_conn *c = s->conn[i];

        n += c->in.cap + c->out.cap;
        common += excess(c);
        own = 0;
        for (unsigned k = 0; k < s->counts.open; k++)
            if (s->conn[k]->who == c->who)
                own += excess(s->conn[k]);
        CHECK(own <= HTTP_MAX_BODY);
    }
    CHECK(n == s->counts.held && n <= HTTP_BUDGET);
    CHECK(common <= HTTP_BUDGET / 2);
}

/* ---- who is let in ---- */

/* One principal sends as many large bodies as it likes and ends none: others
   are served at once, whatever the size. */
TEST(a_principal_leaves_room)
{
    struct client k[CROWD];
    size_t sent = 0;
    int i;

    open_toy();
    for (i = 0; i < CROWD; i++) {
        k[i] = join();
        say(&k[i], HEAD_OF("Who: 1\r\n" FULL));
        if (i == 0)
            send_zeros(&k[0], HTTP_MAX_BODY - 1);
        else
            CHECK(is_refused(&k[i]));
        check_budget();
    }
    CHECK(is_served(HEAD_OF("Who: 2\r\n" BODY_OF("12000")), 12000));
    CHECK(is_served(HEAD_OF("Who: 2\r\n" BODY_OF("100000")), 100000));
    CHECK(is_served(HEAD_OF("Who: 2\r\n" BODY_OF("1048576")), MIB));
    CHECK(is_served(HEAD_OF("Who: 2\r\n" FULL), HTTP_MAX_BODY));
    CHECK(is_served(HEAD_OF("Who: 1\r\n" BODY_OF("12000")), 12000));
    CHECK(toy.requests == 5 && is_silent(&k[0]));
    send_some(&k[0], 1, &sent);
    CHECK(hears(&k[0], "200 OK"));
    CHECK(is_served(HEAD_OF("Who: 1\r\n" FULL), HTTP_MAX_BODY));
    for (i = 0; i < CROWD; i++)
        leave(&k[i]);
    close_toy();
}

/* The same where each connection is its own principal: small requests always
   have room, head and all. */
TEST(small_requests_have_room)
{
    struct client k[CROWD], chunked, rest;
    int i, in = 0;

    open_toy();
    for (i = 0; i < CROWD; i++) {
        k[i] = join();
        say(&k[i], HEAD_OF(FULL));
        turn(2);
        if (is_silent(&k[i])) {
            send_zeros(&k[i], HTTP_MAX_BODY - 1);
            in++;
        } else {
            CHECK(is_refused(&k[i]));
        }
    }
    CHECK(in == 2);
    for (i = 0; i < CROWD; i++) {
        leave(&k[i >= in ? i : CROWD - 1]);
        k[i >= in ? i : CROWD - 1] = join();
    }
    for (i = in; i < CROWD; i++) { /* nor do many of them need it all */
        say(&k[i], HEAD_OF(BODY_OF("65000")));
        send_zeros(&k[i], 64999);
        CHECK(is_silent(&k[i]));
        check_budget();
    }
    CHECK(is_served(HEAD_OF(BODY_OF("65000")), 65000));
    rest = join();
    say(&rest, HEAD_OF(BODY_OF("195000")));
    turn(2);
    CHECK(is_silent(&rest));
    chunked = join();
    say(&chunked, HEAD_OF(BODY_OF("67000")));
    CHECK(is_refused(&chunked));
    leave(&chunked);
    chunked = join();
    say(&chunked, HEAD_OF(IN_CHUNKS));
    for (i = 0; i < 10; i++) {
        say(&chunked, "1770\r\n");
        say_n(&chunked, zeros, 6000);
        say(&chunked, "\r\n");
    }
    say(&chunked, "0\r\n\r\n");
    CHECK(hears(&chunked, "200 OK"));
    CHECK(is_silent(&k[0]) && is_silent(&k[1]));
    for (i = 0; i < CROWD; i++)
        leave(&k[i]);
    leave(&chunked);
    leave(&rest);
    close_toy();
}

/* Before anything of the body is sent, or asked for. */
TEST(the_head_decides)
{
    struct client a, b, c, d;

    open_toy();
    a = join();
    say(&a, HEAD_OF("Who: 1\r\n" BODY_OF("8000000")));
    b = join();
    say(&b, HEAD_OF("Who: 1\r\nExpect: 100-continue\r\n"
                    BODY_OF("1000000")));
    CHECK(is_refused(&b) && times(b.got, "HTTP/1.1") == 1);
    c = join(); /* a request that has no use for a large body */
    say(&c, HEAD_OF(BODY_OF("5")) "12345");
    CHECK(hears(&c, "200 OK"));
    forget_heard(&c);
    say(&c, HEAD_OF("Who: 0\r\n" BODY_OF("1000000")));
    CHECK(hears_end(&c) && strstr(c.got, "HTTP/1.1 413 ") == c.got);
    CHECK(toy.requests == 1);
    leave(&c);
    c = join();
    say(&c, HEAD_OF("Who: 0\r\n" BODY_OF("5")) "12345");
    CHECK(hears(&c, "200 OK"));
    d = join();
    turn(2);
    leave(&a); /* in the turn in which the next one comes */
    say(&d, HEAD_OF("Who: 1\r\nExpect: 100-continue\r\n"
                    BODY_OF("1000000")));
    CHECK(hears(&d, "100 Continue"));
    send_zeros(&d, 1000000);
    CHECK(hears(&d, "200 OK"));
    leave(&b);
    leave(&c);
    leave(&d);
    close_toy();
}

/* A body in chunks that meets others of its kind ends where the room does, and
   makes way for a body whose length is known. */
TEST(chunks_go_first)
{
    static const char heads[2][200] = {
        HEAD_OF("Who: 4\r\n" BODY_OF("6000000")),
        HEAD_OF("Who: 5\r\n" BODY_OF("1000000"))};
    struct client fixed, small, large, late[2];
    int i;

    open_toy();
    fixed = join();
    say(&fixed, HEAD_OF("Who: 1\r\n" FULL));
    small = join();
    say(&small, HEAD_OF("Who: 2\r\n" IN_CHUNKS));
    send_chunks(&small, 14);
    large = join();
    say(&large, HEAD_OF("Who: 3\r\n" IN_CHUNKS));
    send_chunks(&large, 60);
    CHECK(is_silent(&fixed) && is_silent(&small) && is_silent(&large));
    check_budget();
    for (i = 0; i < 2; i++)
        late[i] = join();
    turn(2);
    for (i = 0; i < 2; i++) /* both in one turn */
        CHECK(send(late[i].fd, heads[i], strlen(heads[i]), MSG_NOSIGNAL) > 0);
    CHECK(is_refused(&large) && is_silent(&small));
    check_budget();
    send_chunks(&small, 60);
    CHECK(is_refused(&small) && is_silent(&fixed));
    send_zeros(&late[0], 6000000);
    send_zeros(&late[1], 1000000);
    send_zeros(&fixed, HTTP_MAX_BODY);
    CHECK(hears(&late[0], "200 OK") && hears(&late[1], "200 OK"));
    CHECK(hears(&fixed, "200 OK"));
    for (i = 0; i < 2; i++)
        leave(&late[i]);
    leave(&fixed);
    leave(&small);
    leave(&large);
    small = join(); /* the largest there may be */
    say(&small, HEAD_OF("Who: 2\r\n" IN_CHUNKS));
    send_chunks(&small, 128);
    say(&small, "0\r\n\r\n");
    CHECK(hears(&small, "200 OK"));
    leave(&small);
    turn(3);
    CHECK(counts().open == 0 && counts().held == 0);
    close_toy();
}

/* ---- output ---- */

TEST(budget_of_streams)
{
    char *data = malloc(MIB);
    struct client k[60];
    struct client good;
    int i, round;

    memset(data, 'd', MIB);
    open_toy();
    for (i = 0; i < 60; i++)
        k[i] = join_stream();
    good = join_stream();
    for (round = 0; round < 8 && toy.closed == 0; round++)
        for (i = (int)toy.n - 1; i >= 0 && toy.closed == 0; i--) {
            http_event(toy.later[i], STR_NONE, STR_NONE, 0,
                       (struct str){data, MIB - 1000});
            turn(1);
            hear(&good);
            check_budget();
        }
    CHECK(toy.closed > 0);
    hear(&good);
    CHECK(!good.eof && good.err == 0);
    for (i = 0; i < 60; i++)
        leave(&k[i]);
    leave(&good);
    close_toy();
    free(data);
}

/* Nobody waits for those who do not read: for what is let in, the stream with
   the most unsent bytes is dropped. */
TEST(output_makes_way)
{
    static const size_t unsent_of[] = {300000, 900000, 600000};
    struct client stream[3], reply, body[2];
    size_t sent = 0;
    int i, n;

    open_toy();
    reply = join();
    say(&reply, GET("/size?15000000"));
    for (i = 0; i < 3; i++) {
        stream[i] = join_stream();
        for (n = 0; n < 1000 && conn_unsent(toy.later[i]) < unsent_of[i]; n++) {
            http_event(toy.later[i], STR_NONE, STR_NONE, 0,
                       (struct str){zeros, 100000});
            turn(1);
        }
    }
    for (i = 0; i < 2; i++) {
        check_budget();
        CHECK(counts().streams == 3);
        body[i] = join();
        say(&body[i], HEAD_OF(FULL));
        send_zeros(&body[i], HTTP_MAX_BODY - 1);
    }
    check_budget();
    CHECK(counts().streams == 2 && toy.closed == 1 && toy.n == 2);
    CHECK(hears_end(&stream[1]) || stream[1].err != 0);
    CHECK(hears(&reply, "\r\n\r\nxxx") && !reply.eof);
    for (i = 0; i < 2; i++) {
        send_some(&body[i], 1, &sent);
        CHECK(hears(&body[i], "200 OK"));
        leave(&body[i]);
    }
    for (i = 0; i < 3; i++)
        leave(&stream[i]);
    leave(&reply);
    close_toy();
}

/* ---- everything at once ---- */

#define GUESTS 40
#define STEPS 2000

static uint64_t dice;

static unsigned
roll(unsigned n)
{
    dice = dice * UINT64_C(6364136223846793005) + 1442695040888963407U;
    return (unsigned)(dice >> 33) % n;
}

static struct guest {
    struct client k;
    size_t left;  /* of a body of a known length */
    bool chunked;
} guests[GUESTS];

/* Sends the head of any request. */
static void
arrive(struct guest *g)
{
    static const char *const paths[] = {"/size?2", "/size?2", "/echo",
                                        "/later", "/stream", "/refuse",
                                        "/drop", "/size?3000000"};
    char head[200];
    int n;

    *g = (struct guest){.k = join(), .chunked = roll(3) == 0};
    g->left = roll(4) == 0 ? HTTP_MAX_BODY : roll(1 << (10 + roll(14)));
    n = snprintf(head, sizeof head, "POST %s HTTP/1.1\r\nHost: x\r\n",
                 paths[roll(8)]);
    if (roll(3) > 0)
        n += snprintf(head + n, sizeof head - (size_t)n, "Who: %u\r\n",
                      roll(5));
    if (g->chunked)
        snprintf(head + n, sizeof head - (size_t)n, IN_CHUNKS "\r\n");
    else
        snprintf(head + n, sizeof head - (size_t)n,
                 "Content-Length: %zu\r\n\r\n", g->left);
    say(&g->k, head);
}

static void
send_more(struct guest *g)
{
    size_t sent = 0;

    if (g->chunked && roll(8) == 0)
        say(&g->k, "0\r\n\r\n");
    else if (g->chunked)
        send_chunks(&g->k, (int)roll(8));
    else
        send_some(&g->k, roll(2) == 0 ? g->left : roll(200000), &sent);
    g->left -= sent < g->left ? sent : g->left;
}

static void
vanish(struct guest *g)
{
    struct linger hard = {.l_onoff = 1};

    if (roll(2) == 0)
        setsockopt(g->k.fd, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
    leave(&g->k);
}

/* The handler does something with a request that it has. */
static void
answer_one(void)
{
    struct http_conn *c = toy.n > 0 ? toy.later[roll(toy.n)] : NULL;

    if (c == NULL)
        return;
    switch (roll(5)) {
    case 0:
        http_forget(c);
        break;
    case 1:
        http_drop(c);
        break;
    case 2:
        if (http_is_stream(c))
            http_stream_end(c);
        else
            http_reply(c, 200, NULL, NULL, STR("late"));
        drop_later(c);
        break;
    default:
        http_event(c, STR_NONE, STR_NONE, 0,
                   (struct str){zeros, roll(sizeof zeros)});
    }
}

/* However requests end, in whatever order, what they took is given back. */
static void
test_all_room_comes_back(uint64_t seed)
{
    struct guest *g;
    int i;

    dice = seed;
    open_toy();
    memset(guests, 0, sizeof guests);
    for (i = 0; i < GUESTS; i++)
        guests[i].k.fd = -1;
    for (i = 0; i < STEPS && test_failed == 0; i++) {
        g = &guests[roll(GUESTS)];
        if (g->k.fd < 0)
            arrive(g);
        else if (roll(8) == 0 || g->k.eof || g->k.err != 0)
            vanish(g);
        else
            send_more(g);
        if (roll(2) == 0)
            answer_one();
        if (roll(4) == 0 && g->k.fd >= 0)
            hear(&g->k);
        if (roll(100) == 0)
            pass(1000 * roll(14));
        turn(1);
        check_budget();
    }
    for (i = 0; i < GUESTS; i++)
        if (guests[i].k.fd >= 0)
            vanish(&guests[i]);
    while (toy.n > 0)
        http_drop(toy.later[--toy.n]);
    pass(HTTP_REQUEST_MS);
    CHECK(counts().open == 0 && counts().held == 0);
    CHECK(is_served(HEAD_OF("Who: 1\r\n" FULL), HTTP_MAX_BODY));
    CHECK(is_served(HEAD_OF("Who: 2\r\n" FULL), HTTP_MAX_BODY));
    close_toy();
}

int
main(void)
{
    limit_files(4096);
    test_run();
    for (uint64_t seed = 1; seed <= 3; seed++)
        test_all_room_comes_back(seed);
    return test_end("t_http_budget");
}
