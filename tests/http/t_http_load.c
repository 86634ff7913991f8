/* t_http_load - the HTTP server when time or memory runs out; its addresses;
   and how it ends. What its buffers may take is in t_http_budget. */

#include "tests/lib/http_rig.h"

/* ---- deadlines ---- */

TEST(deadlines)
{
    struct client quiet, known, head, body, fine;

    open_toy();
    quiet = join();
    known = join_known();
    head = join();
    body = join();
    fine = join();
    say(&head, "GET /echo HT");
    say(&body, POST("10", "abc"));
    say(&fine, GET("/later"));
    pass(HTTP_REQUEST_MS - 2000);
    say(&head, "T"); /* a byte now and then does not help */
    hear(&head);
    hear(&body);
    CHECK(head.len == 0 && body.len == 0);
    pass(3000);
    CHECK(hears_end(&head) && hears_end(&body));
    CHECK(strstr(head.got, "HTTP/1.1 408 Request Timeout\r\n") == head.got);
    CHECK(strstr(body.got, "HTTP/1.1 408 ") == body.got);
    CHECK(hears_end(&quiet) && quiet.len == 0);
    pass(HTTP_IDLE_MS - HTTP_REQUEST_MS - 5000);
    hear(&known);
    CHECK(!known.eof);
    pass(HTTP_REQUEST_MS + 5000);
    CHECK(hears_end(&known) && known.len == 0);
    http_reply(toy.later[0], 200, NULL, NULL, STR("late"));
    drop_later(toy.later[0]);
    CHECK(hears(&fine, "\r\n\r\nlate"));
    leave(&quiet);
    leave(&known);
    leave(&head);
    leave(&body);
    leave(&fine);
    close_toy();
}

/* A client has its time for sending. That of the server, while it is away, does
   not count... */
TEST(time_away_does_not_count)
{
    char *body = calloc(1, MIB);
    struct client k;
    int i;

    open_toy();
    k = join();
    say(&k, "POST /size?2 HTTP/1.1\r\nHost: x\r\n"
            "Content-Length: 1048576\r\n\r\n");
    say_n(&k, body, MIB / 2);
    for (i = 0; i < 2; i++) {
        sys.ms += 2 * HTTP_REQUEST_MS;
        say_n(&k, body, MIB / 8);
        pass(3000); /* it could not send before */
    }
    say_n(&k, body, MIB / 4);
    CHECK(hears(&k, "200 OK"));
    leave(&k);
    close_toy();
    free(body);
}

/* ...and if it reads more slowly than the client sends, there is more. */
static void
test_a_slow_server_has_more_time(int64_t turn_ms, const char *want)
{
    char *body = calloc(1, HTTP_MAX_BODY);
    size_t sent = 0;
    struct client k;
    int i;

    sys.ms += 1000 - sys.ms % 1000; /* turns end when the sweep is due */
    open_toy();
    k = join();
    say(&k, "POST /size?2 HTTP/1.1\r\nHost: x\r\n"
            "Content-Length: 8388608\r\n\r\n");
    for (i = 0; i < 1000 && k.len == 0; i++) {
        ssize_t n = send(k.fd, body, HTTP_MAX_BODY - sent, MSG_NOSIGNAL);

        sent += n > 0 ? (size_t)n : 0;
        sys.ms += turn_ms;
        turn(1);
        hear(&k);
    }
    CHECK(i > 2 * HTTP_REQUEST_MS / turn_ms && strstr(k.got, want) != NULL);
    leave(&k);
    close_toy();
    free(body);
}

TEST(slow_readers_have_an_end)
{
    struct client stuck, slow;
    char some[65536];
    int i, n;

    open_toy();
    stuck = join();
    slow = join();
    say(&stuck, GET("/size?30000000"));
    say(&slow, GET("/size?20000000"));
    for (i = 0; i < 5; i++) { /* one makes progress, if slowly */
        pass(HTTP_WRITE_MS - 15000);
        for (n = 0; n < 30; n++)
            (void)!recv(slow.fd, some, sizeof some, 0);
        turn(2);
    }
    CHECK(counts().open == 1 && toy.closed == 1);
    leave(&stuck);
    leave(&slow);
    turn(2);
    CHECK(counts().open == 0 && counts().held == 0);
    close_toy();
}

TEST(ping)
{
    struct client k;

    open_toy();
    k = join_stream();
    pass(HTTP_PING_MS - 3000);
    http_event(toy.later[0], STR_NONE, STR_NONE, 0, STR("x"));
    CHECK(hears(&k, "data: x\n\n"));
    pass(HTTP_PING_MS - 1000);
    hear(&k);
    CHECK(times(k.got, ": ka\n\n") == 0);
    pass(2 * HTTP_PING_MS + 3000);
    hear(&k);
    CHECK(times(k.got, "00000006\r\n: ka\n\n\r\n") >= 2);
    CHECK(times(k.got, ": ka") <= 3 && toy.closed == 0);
    leave(&k);
    close_toy();
}

/* ---- addresses ---- */

static struct client
join_unix(const char *path)
{
    struct sockaddr_un un = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    memcpy(un.sun_path, path, strlen(path) + 1);
    CHECK(connect(fd, (struct sockaddr *)&un, sizeof un) == 0);
    return client_of(fd);
}

static int
bind_unix(const char *path)
{
    struct sockaddr_un un = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    memcpy(un.sun_path, path, strlen(path) + 1);
    CHECK(bind(fd, (struct sockaddr *)&un, sizeof un) == 0);
    CHECK(listen(fd, 1) == 0);
    return fd;
}

static void
fails(struct http_options o, int want, const char *reason)
{
    char why[256] = "";
    int err = try_open(o, why);

    if (!CHECK(err == want && strstr(why, reason) != NULL))
        fprintf(stderr, "%d %s\n", err, why);
    loop_free(toy.loop);
}

TEST(unix_socket)
{
    char *dir = test_tmpdir(), path[512], name[520], why[256];
    struct client k;
    struct stat st;
    struct http *first;
    struct loop *l;
    int fd;

    snprintf(path, sizeof path, "%s/s", dir);
    snprintf(name, sizeof name, "unix:%s", path);
    close(bind_unix(path)); /* nobody answers */
    open_with((struct http_options){.fd = -1, .unix_path = path});
    CHECK(strcmp(http_address(toy.http), name) == 0);
    CHECK(stat(path, &st) == 0 && (st.st_mode & 0777) == 0600);
    k = join_unix(path);
    say(&k, POST("1", "u"));
    CHECK(hears(&k, "\r\n\r\nu"));
    leave(&k);
    first = toy.http;
    l = toy.loop;
    fails((struct http_options){.fd = -1, .unix_path = path}, ERR_IO, path);
    CHECK(stat(path, &st) == 0);
    http_free(first);
    loop_free(l);
    CHECK(stat(path, &st) != 0 && errno == ENOENT);
    fd = open(path, O_CREAT | O_WRONLY, 0600);
    close(fd);
    CHECK(try_open((struct http_options){.fd = -1, .unix_path = path},
                   why) == ERR_IO);
    loop_free(toy.loop);
    CHECK(stat(path, &st) == 0 && S_ISREG(st.st_mode));
    memset(path, 'x', 200);
    path[200] = '\0';
    fails((struct http_options){.fd = -1, .unix_path = path}, ERR_INVALID,
          "too long");
    free(dir);
}

TEST(passed_socket)
{
    char *dir = test_tmpdir(), path[512];
    struct client k;
    int fd[2];

    snprintf(path, sizeof path, "%s/s", dir);
    CHECK(pipe(fd) == 0);
    fails((struct http_options){.fd = fd[0]}, ERR_INVALID, "listening");
    close(fd[0]);
    close(fd[1]);
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, fd) == 0);
    fails((struct http_options){.fd = fd[0]}, ERR_INVALID, "listening");
    close(fd[0]);
    close(fd[1]);
    fd[0] = bind_unix(path); /* it listens, but it is not TCP */
    unlink(path);
    sys.name.sin6_family = AF_DECnet;
    fails((struct http_options){.fd = fd[0]}, ERR_INVALID, "TCP or Unix");
    sys.name.sin6_family = 0;
    close(fd[0]);
    open_with((struct http_options){.fd = bind_unix(path)});
    k = join_unix(path);
    say(&k, POST("1", "p"));
    CHECK(hears(&k, "\r\n\r\np"));
    leave(&k);
    close_toy();
    CHECK(access(path, F_OK) == 0); /* it is not ours */
    free(dir);
}

TEST(addresses)
{
    struct http_options v6 = {.host = "::1", .fd = -1};
    char port[8], why[256];
    struct http *first;
    struct loop *l;

    if (try_open(v6, why) == 0) {
        CHECK(strncmp(http_address(toy.http), "[::1]:", 6) == 0);
        CHECK(atoi(http_address(toy.http) + 6) > 0);
        close_toy();
    } else { /* there may be none */
        loop_free(toy.loop);
    }
    fails((struct http_options){.host = "localhost", .fd = -1}, ERR_INVALID,
          "localhost: not a numeric address such as 127.0.0.1");
    open_toy();
    CHECK(strncmp(http_address(toy.http), "127.0.0.1:", 10) == 0);
    snprintf(port, sizeof port, "%s", http_address(toy.http) + 10);
    first = toy.http;
    l = toy.loop;
    fails((struct http_options){.port = (uint16_t)atoi(port), .fd = -1},
          ERR_IO, port);
    http_free(first);
    loop_free(l);
}

/* In whatever form: addresses as clients write them. */
TEST(names_of_ipv6)
{
    static const struct {
        const char *address, *name;
    } cases[] = { /* RFC 5952, 4 */
        {"::", "[::]"},
        {"::1", "[::1]"},
        {"1::", "[1::]"},
        {"2001:0DB8::0001", "[2001:db8::1]"},
        {"FE80::ABCD:0:10", "[fe80::abcd:0:10]"},
        {"2001:db8:0:1:1:1:1:1", "[2001:db8:0:1:1:1:1:1]"},
        {"0:1:1:1:1:1:1:0", "[0:1:1:1:1:1:1:0]"},
        {"2001:0:0:1:0:0:0:1", "[2001:0:0:1::1]"},
        {"2001:db8:0:0:1:0:0:1", "[2001:db8::1:0:0:1]"},
        {"1:2:3:4:5:6::", "[1:2:3:4:5:6::]"},
        {"::3:4:5:6:7:8", "[::3:4:5:6:7:8]"},
        {"1:2:3:4:5:6:7:89ab", "[1:2:3:4:5:6:7:89ab]"},
    };
    static const struct web_options o = {.read_only = false};
    struct http_head h = {.minor = 1};
    char want[64];
    size_t i;

    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        sys.name = (struct sockaddr_in6){.sin6_family = AF_INET6,
                                         .sin6_port = htons(8766)};
        CHECK(inet_pton(AF_INET6, cases[i].address,
                        &sys.name.sin6_addr) == 1);
        open_toy();
        snprintf(want, sizeof want, "%s:8766", cases[i].name);
        if (!CHECK(strcmp(http_address(toy.http), want) == 0))
            fprintf(stderr, "%s: %s\n", want, http_address(toy.http));
        h.host = str_of(want);
        CHECK(access_is_ours(&o, http_address(toy.http), &h));
        h.host = STR("[2001:db8::2]:8766");
        CHECK(!access_is_ours(&o, http_address(toy.http), &h));
        close_toy();
    }
    sys.name.sin6_family = 0;
}

/* ---- the end ---- */

TEST(stop)
{
    struct client idle, stream, later, half;

    open_toy();
    idle = join();
    half = join();
    stream = join_stream();
    later = join();
    say(&half, "GET /echo");
    say(&later, GET("/later") GET("/echo"));
    turn(2);
    CHECK(toy.n == 2);
    http_stop(toy.http);
    http_stop(toy.http);
    CHECK(hears_end(&idle) && hears_end(&half) && !http_is_idle(toy.http));
    http_event(toy.later[0], STR_NONE, STR_NONE, 0, STR("bye"));
    http_stream_end(toy.later[0]);
    http_reply(toy.later[1], 200, NULL, NULL, STR("done"));
    toy.n = 0;
    CHECK(hears_end(&stream) && hears_end(&later));
    CHECK(strstr(stream.got, "data: bye\n\n\r\n0\r\n\r\n") != NULL);
    CHECK(strstr(later.got, "Connection: close\r\n") != NULL);
    CHECK(strstr(later.got, "\r\n\r\ndone") != NULL);
    CHECK(times(later.got, "HTTP/1.1") == 1);
    leave(&idle);
    leave(&half);
    leave(&stream);
    leave(&later);
    turn(2);
    CHECK(http_is_idle(toy.http) && toy.closed == 4);
    close_toy();
}

TEST(free_with_all_open)
{
    struct client a, b, c;

    open_toy();
    a = join_stream();
    b = join();
    c = join();
    say(&b, GET("/later"));
    say(&c, "POST");
    turn(2);
    close_toy();
    CHECK(toy.closed == 3);
    leave(&a);
    leave(&b);
    leave(&c);
}

/* Whichever allocation fails, only connections are lost. */
TEST(without_memory)
{
    struct client a, b;
    bool hit = true;
    long n;

    for (n = 0; hit && n < 500; n++) {
        open_toy();
        a = join();
        b = join();
        nomem_start(n, n % 2 == 0);
        (void)!send(a.fd, CHUNKED GET("/stream"),
                    strlen(CHUNKED GET("/stream")), MSG_NOSIGNAL);
        (void)!send(b.fd, GET("/later"), strlen(GET("/later")),
                    MSG_NOSIGNAL);
        turn(4);
        while (toy.n > 0) {
            struct http_conn *c = toy.later[toy.n - 1];

            if (http_is_stream(c)) {
                http_event(c, STR("e"), STR("1"), 1, STR("a\nb"));
                http_stream_end(c);
            } else {
                http_reply(c, 200, NULL, NULL, STR("x"));
            }
            drop_later(c);
            turn(1);
        }
        pass(2000);
        hit = nomem_stop();
        leave(&a);
        leave(&b);
        a = join();
        say(&a, POST("1", "y"));
        CHECK(hears(&a, "\r\n\r\ny"));
        leave(&a);
        turn(2);
        CHECK(counts().open == 0 && counts().held == 0);
        close_toy();
    }
    CHECK(n > 5 && !hit);
}

int
main(void)
{
    limit_files(4096);
    test_run();
    test_a_slow_server_has_more_time(200, " 200 OK");
    test_a_slow_server_has_more_time(500, " 408 ");
    return test_end("t_http_load");
}
