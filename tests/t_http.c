/* t_http - the HTTP server over real sockets, in this process: the test turns
   the loop, and time is a number that moves when the loop would wait. */

#include "http.h"
#include "nomem.h"
#include "test.h"
#include "web_int.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>

#define MIB ((size_t)1024 * 1024)
#define CLIENT_FDS 1100 /* ours stand above all that select can hold */
#define PATIENCE 20000  /* turns, before a test that hangs ends */

/* ---- time, and what the server asks of the system ---- */

static struct {
    int64_t ms;           /* the time */
    unsigned selects, full_selects, reads, writes;
    unsigned many;        /* descriptors that make a select full */
    struct sockaddr_in6 name; /* of every socket, where it has a family */
} sys = {.ms = 1000, .many = 100};

int __real_pselect(int n, fd_set *rd, fd_set *wr, fd_set *ex,
                   const struct timespec *t, const sigset_t *mask);
int __wrap_pselect(int n, fd_set *rd, fd_set *wr, fd_set *ex,
                   const struct timespec *t, const sigset_t *mask);
int __wrap_clock_gettime(clockid_t id, struct timespec *ts);
int __real_getsockname(int fd, struct sockaddr *a, socklen_t *len);
int __wrap_getsockname(int fd, struct sockaddr *a, socklen_t *len);
ssize_t __real_read(int fd, void *p, size_t n);
ssize_t __wrap_read(int fd, void *p, size_t n);
ssize_t __real_write(int fd, const void *p, size_t n);
ssize_t __wrap_write(int fd, const void *p, size_t n);

int
__wrap_clock_gettime(clockid_t id, struct timespec *ts)
{
    (void)id;
    ts->tv_sec = (time_t)(sys.ms / 1000);
    ts->tv_nsec = (long)(sys.ms % 1000) * 1000000;
    return 0;
}

/* Where the loop would wait for long, the time has passed. */
int
__wrap_pselect(int n, fd_set *rd, fd_set *wr, fd_set *ex,
               const struct timespec *t, const sigset_t *mask)
{
    struct timespec soon = {0, 1000000};
    bool wait = t == NULL || t->tv_sec > 0 || t->tv_nsec > 0;
    unsigned bits = 0;
    int fd, got;

    for (fd = 0; fd < n; fd++)
        bits += (FD_ISSET((unsigned)fd, rd) ? 1U : 0U) +
                (FD_ISSET((unsigned)fd, wr) ? 1U : 0U);
    sys.selects++;
    sys.full_selects += bits >= sys.many;
    if (!wait)
        soon.tv_nsec = 0;
    got = __real_pselect(n, rd, wr, ex, &soon, mask);
    if (got == 0 && wait)
        sys.ms += t == NULL ? 1000
                            : t->tv_sec * 1000 +
                                  (t->tv_nsec + 999999) / 1000000;
    return got;
}

int
__wrap_getsockname(int fd, struct sockaddr *a, socklen_t *len)
{
    if (sys.name.sin6_family == 0)
        return __real_getsockname(fd, a, len);
    memcpy(a, &sys.name, sizeof sys.name);
    *len = sizeof sys.name;
    return 0;
}

ssize_t
__wrap_read(int fd, void *p, size_t n)
{
    sys.reads++;
    return __real_read(fd, p, n);
}

ssize_t
__wrap_write(int fd, const void *p, size_t n)
{
    sys.writes++;
    return __real_write(fd, p, n);
}

/* ---- the server, with a handler that does what the path says ---- */

static struct {
    struct loop *loop;
    struct http *http;
    struct http_conn *later[1100]; /* requests at /later and /stream */
    unsigned n;
    unsigned requests, closed;
    bool forget;
    int inside; /* a call of http's */
} toy;

static void
drop_later(struct http_conn *c)
{
    unsigned i;

    for (i = 0; i < toy.n; i++)
        if (toy.later[i] == c)
            toy.later[i] = toy.later[--toy.n];
}

static void
on_head(void *ctx, struct http_conn *c)
{
    struct str path = http_request(c)->path;

    CHECK(ctx == &toy && http_body(c).len == 0);
    if (str_is(path, "/refuse"))
        http_reply(c, 401, "WWW-Authenticate: Bearer\r\n", "text/plain",
                   STR("no\n"));
    if (str_is(path, "/drop_head"))
        http_drop(c);
}

static void
reply_size(struct http_conn *c)
{
    uint64_t n = 0;
    char *p;

    CHECK(str_u64(http_request(c)->query, &n));
    p = calloc(1, (size_t)n + 1);
    memset(p, 'x', (size_t)n);
    http_reply(c, 200, NULL, "text/plain", (struct str){p, (size_t)n});
    free(p);
}

static void
on_request(void *ctx, struct http_conn *c)
{
    const struct http_head *h = http_request(c);

    (void)ctx;
    toy.requests++;
    toy.inside++;
    if (str_is(h->path, "/drop")) {
        http_drop(c);
        http_reply(c, 200, NULL, NULL, STR_NONE);
    } else if (str_is(h->path, "/size")) {
        reply_size(c);
    } else if (str_is(h->path, "/later")) {
        toy.later[toy.n++] = c;
    } else if (str_is(h->path, "/stream")) {
        http_stream(c, NULL);
        if (toy.forget)
            http_forget(c);
        if (http_is_stream(c))
            toy.later[toy.n++] = c;
    } else {
        CHECK(str_is(h->path, "/echo") &&
              str_is(http_field_of(h, "host"), "x"));
        http_reply(c, 200, "X-Toy: 1\r\n", "text/plain", http_body(c));
    }
    toy.inside--;
}

static void
on_closed(void *ctx, struct http_conn *c)
{
    (void)ctx;
    CHECK(toy.inside == 0);
    toy.closed++;
    drop_later(c);
}

static const struct http_handler handler = {&toy, on_head, on_request,
                                            on_closed};

static int
try_open(struct http_options o, char why[256])
{
    if (o.host == NULL)
        o.host = "127.0.0.1";
    memset(&toy, 0, sizeof toy);
    loop_new(&toy.loop);
    return http_open(&toy.http, toy.loop, &o, &handler, why);
}

static void
open_with(struct http_options o)
{
    char why[256] = "";

    if (!CHECK(try_open(o, why) == 0)) {
        fprintf(stderr, "%s\n", why);
        exit(1);
    }
}

static void
open_toy(void)
{
    open_with((struct http_options){.fd = -1});
}

static void
close_toy(void)
{
    http_free(toy.http);
    CHECK(toy.n == 0);
    loop_free(toy.loop);
}

static void
turn(int n)
{
    while (n-- > 0)
        CHECK(loop_turn(toy.loop, false) == 0);
}

/* Lets ms pass as they do when nothing else happens. */
static void
pass(int64_t ms)
{
    int64_t end = sys.ms + ms;
    int i;

    for (i = 0; sys.ms < end && i < PATIENCE; i++)
        CHECK(loop_turn(toy.loop, true) == 0);
    CHECK(sys.ms >= end);
}

static struct http_counts
counts(void)
{
    struct http_counts n;

    http_count(toy.http, &n);
    return n;
}

/* ---- clients ---- */

struct client {
    int fd;
    char *got; /* ends with a NUL */
    size_t len, cap;
    bool eof;
    int err;
};

static struct client
client_of(int fd)
{
    struct client k = {.fd = fcntl(fd, F_DUPFD, CLIENT_FDS)};
    int on = 1;

    CHECK(k.fd >= 0);
    close(fd);
    fcntl(k.fd, F_SETFL, O_NONBLOCK);
    setsockopt(k.fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    k.got = calloc(1, k.cap = 256);
    return k;
}

static struct client
join(void)
{
    struct sockaddr_in in = {.sin_family = AF_INET};
    const char *port = strrchr(http_address(toy.http), ':');
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    in.sin_port = htons((uint16_t)atoi(port + 1));
    CHECK(connect(fd, (struct sockaddr *)&in, sizeof in) == 0);
    return client_of(fd);
}

static void
leave(struct client *k)
{
    if (k->fd >= 0)
        close(k->fd);
    free(k->got);
    *k = (struct client){.fd = -1};
}

/* Reads what is there. */
static void
hear(struct client *k)
{
    ssize_t n = 1;

    while (n > 0 && !k->eof) {
        if (k->cap - k->len < 65536)
            k->got = realloc(k->got, k->cap = 2 * k->cap + 65536);
        n = recv(k->fd, k->got + k->len, k->cap - k->len - 1, 0);
        if (n > 0)
            k->len += (size_t)n;
        k->eof = n == 0;
        if (n < 0 && errno != EAGAIN)
            k->err = errno;
        k->got[k->len] = '\0';
    }
}

/* Sends all, turning the loop where it does not go at once. */
static void
say_n(struct client *k, const char *p, size_t n)
{
    int i;

    for (i = 0; n > 0 && i < PATIENCE; i++) {
        ssize_t done = send(k->fd, p, n, MSG_NOSIGNAL);

        if (done > 0) {
            p += done;
            n -= (size_t)done;
        } else if (done < 0 && errno != EAGAIN) {
            return;
        }
        turn(1);
    }
}

static void
say(struct client *k, const char *z)
{
    say_n(k, z, strlen(z));
}

/* Whether text comes, or has come. */
static bool
hears(struct client *k, const char *text)
{
    size_t from = 0, n = strlen(text);
    int i;

    for (i = 0; i < PATIENCE; i++) {
        hear(k);
        if (k->len >= n && strstr(k->got + from, text) != NULL)
            return true;
        if (k->eof || k->err != 0)
            return false;
        from = k->len >= n ? k->len - n + 1 : 0;
        turn(1);
    }
    return false;
}

/* Whether the end comes, and no reset. */
static bool
hears_end(struct client *k)
{
    int i;

    for (i = 0; i < PATIENCE && !k->eof && k->err == 0; i++) {
        hear(k);
        turn(1);
    }
    return k->eof && k->err == 0;
}

static unsigned
times(const char *text, const char *what)
{
    unsigned n = 0;

    for (; (text = strstr(text, what)) != NULL; text++)
        n++;
    return n;
}

static void
forget_heard(struct client *k)
{
    k->len = 0;
    k->got[0] = '\0';
}

#define GET(path) "GET " path " HTTP/1.1\r\nHost: x\r\n\r\n"
#define POST(len, body) \
    "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: " len "\r\n\r\n" body

static struct client
join_stream(void)
{
    struct client k = join();

    say(&k, GET("/stream"));
    CHECK(hears(&k, "\r\n\r\n"));
    return k;
}

/* ---- requests and replies ---- */

static void
test_keep_alive(void)
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
    CHECK(counts().held == 0);
    say(&k, "POST /echo HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
            "Content-Length: 2\r\n\r\nno");
    CHECK(hears_end(&k) && strstr(k.got, "Connection: close\r\n") != NULL);
    CHECK(toy.closed == 1);
    leave(&k);
    close_toy();
}

static void
test_pipelining(void)
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

static void
test_many_pipelined_behind_a_slow_one(void)
{
    struct client k;
    int i;

    open_toy();
    k = join();
    say(&k, GET("/later"));
    for (i = 0; i < 400; i++) /* no more than fits is read */
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

#define CHUNKED                                                         \
    "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" \
    "5\r\nhello\r\n7;a=b\r\n, world\r\n0\r\nT: 1\r\n\r\n"

static void
test_chunked(void)
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

/* Whatever the pieces, the answers are the same. */
static void
test_splits(void)
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

static void
test_large_body(void)
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
    CHECK(hears(&k, "Length: 0\r\n\r\n") && counts().held == 0);
    leave(&k);
    close_toy();
    free(body);
}

static void
test_continue(void)
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

static void
test_head_method(void)
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

static void
test_http_1_0(void)
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

static void
test_errors(void)
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
        say(&k, GET("/echo")); /* nothing behind it is a request */
        CHECK(hears_end(&k) && strstr(k.got, cases[i].status) != NULL);
        CHECK(times(k.got, "HTTP/1.1") == 1 && toy.requests == 0);
        CHECK(strstr(k.got, "Connection: close\r\n") != NULL);
        leave(&k);
    }
    close_toy();
}

/* Who sends a large body without looking up still gets the refusal. */
static void
test_early_refusal_arrives(void)
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

static void
test_drop_from_within(void)
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

static void
test_large_reply_to_a_slow_reader(void)
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
    CHECK(counts().held == 0);
    leave(&k);
    leave(&other);
    close_toy();
}

/* ---- streams ---- */

static void
test_events(void)
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

/* An answer with something before it costs one write. */
static void
test_short_stream_is_one_write(void)
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

static void
test_stalled_stream_is_dropped(void)
{
    char *data = malloc(100001);
    struct client slow, good, plain;
    struct http_conn *s, *g;
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
        turn(1);
        CHECK(counts().held <= HTTP_MAX_UNSENT + 101000);
        http_event(g, STR_NONE, STR_NONE, 0, STR("ok"));
        CHECK(hears(&good, "data: ok\n\n"));
        forget_heard(&good);
        say(&plain, GET("/echo"));
        CHECK(hears(&plain, "Length: 0\r\n\r\n"));
        forget_heard(&plain);
    }
    CHECK(toy.closed == 1 && toy.n == 1 && toy.later[0] == g);
    CHECK(counts().streams == 1 && counts().held < 100);
    leave(&slow);
    leave(&good);
    leave(&plain);
    close_toy();
    free(data);
}

static void
test_large_event_to_a_good_reader(void)
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

static void
test_lost_clients_are_noticed(void)
{
    struct linger hard = {.l_onoff = 1};
    struct client waits, stream, reset, behind;

    open_toy();
    waits = join();
    say(&waits, GET("/later"));
    stream = join_stream();
    toy.forget = true;
    reset = join_stream();
    behind = join();
    say(&behind, GET("/later") GET("/echo")); /* with something unread */
    turn(2);
    CHECK(toy.n == 4);
    leave(&waits);
    turn(2);
    CHECK(toy.closed == 1 && toy.n == 3);
    setsockopt(reset.fd, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
    leave(&stream);
    leave(&reset);
    pass(LOOP_IDLE_MS + 1);
    CHECK(toy.closed == 3);
    leave(&behind);
    turn(2);
    CHECK(toy.closed == 4 && counts().open == 0 && counts().held == 0);
    close_toy();
}

/* The others' turns do not see them, and an idle server sleeps. */
static void
test_idle_streams_cost_nothing(void)
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

static void
test_too_many_connections(void)
{
    struct client a, b, c;

    open_with((struct http_options){.fd = -1, .connections = 2});
    a = join();
    b = join();
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
    say(&b, POST("1", "b"));
    CHECK(hears(&c, "\r\n\r\nc") && hears(&b, "\r\n\r\nb"));
    leave(&b);
    leave(&c);
    close_toy();
}

static void
limit_files(rlim_t n)
{
    struct rlimit r;

    getrlimit(RLIMIT_NOFILE, &r);
    r.rlim_cur = n < r.rlim_max ? n : r.rlim_max;
    setrlimit(RLIMIT_NOFILE, &r);
}

static void
test_few_descriptors(void)
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
    CHECK(counts().open == 8 && counts().refused == 4);
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

/* The listening socket stays ready; nobody waits for it. */
static void
test_no_descriptor_left(void)
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

static void
test_no_descriptor_left_until_one_closes(void)
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

/* ---- deadlines ---- */

static void
test_deadlines(void)
{
    struct client quiet, head, body, fine;

    open_toy();
    quiet = join();
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
    hear(&quiet);
    CHECK(!quiet.eof);
    pass(HTTP_IDLE_MS);
    CHECK(hears_end(&quiet) && quiet.len == 0);
    http_reply(toy.later[0], 200, NULL, NULL, STR("late"));
    drop_later(toy.later[0]);
    CHECK(hears(&fine, "\r\n\r\nlate"));
    leave(&quiet);
    leave(&head);
    leave(&body);
    leave(&fine);
    close_toy();
}

static void
test_slow_readers_have_an_end(void)
{
    struct client stuck, slow;
    char some[65536];
    int i, n;

    open_toy();
    stuck = join();
    slow = join();
    say(&stuck, GET("/size?30000000"));
    say(&slow, GET("/size?20000000"));
    for (i = 0; i < 5; i++) { /* one gets on, if slowly */
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

static void
test_ping(void)
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

/* ---- the budget ---- */

static void
test_budget_of_input(void)
{
    static const char head[] = "POST /echo HTTP/1.1\r\nHost: x\r\n"
                               "Content-Length: 8000000\r\n\r\n";
    char *body = calloc(1, 8000000);
    size_t sent[6] = {0};
    struct client k[6], small;
    size_t most = 0;
    int i, round;

    open_toy();
    for (i = 0; i < 6; i++) {
        k[i] = join();
        say(&k[i], head);
        if (i == 1) /* the first two run out of time before the others */
            pass(HTTP_REQUEST_MS / 2);
    }
    for (round = 0; round < 400; round++)
        for (i = 0; i < 6; i++) {
            size_t n = 7900000 - sent[i];
            ssize_t done = send(k[i].fd, body + sent[i],
                                n < 200000 ? n : 200000, MSG_NOSIGNAL);

            sent[i] += done > 0 ? (size_t)done : 0;
            turn(1);
            if (counts().held > most)
                most = counts().held;
        }
    CHECK(most > HTTP_BUDGET - MIB &&
          most <= HTTP_BUDGET + HTTP_MAX_BODY);
    small = join();
    say(&small, POST("1", "s"));
    CHECK(hears(&small, "\r\n\r\ns"));
    pass(HTTP_REQUEST_MS / 2 + 1000);
    for (i = 2; i < 6; i++)
        say_n(&k[i], body, 8000000 - sent[i]);
    for (i = 0; i < 6; i++)
        CHECK(hears(&k[i], i < 2 ? "408 Request Timeout" : "200 OK"));
    for (i = 0; i < 6; i++)
        leave(&k[i]);
    leave(&small);
    turn(3);
    CHECK(counts().held == 0);
    close_toy();
    free(body);
}

#define BODIES 60

/* Sends a little more of each body, up to n bytes of it; whether that is done
   with. */
static bool
send_round(struct client k[BODIES], size_t sent[BODIES], size_t n)
{
    static char body[9000];
    bool all = true;
    int i;

    for (i = 0; i < BODIES; i++) {
        size_t left = n - sent[i];
        ssize_t done = 0;

        if (k[i].fd >= 0 && left > 0)
            done = send(k[i].fd, body, left < 9000 ? left : 9000,
                        MSG_NOSIGNAL);
        sent[i] += done > 0 ? (size_t)done : 0;
        all &= k[i].fd < 0 || sent[i] == n;
    }
    turn(2);
    return all;
}

/* Together they are more than the budget, and none ends before it is full.
   lost: some go half-way, among them the one whose turn it is. */
static void
test_large_bodies_take_turns(bool lost)
{
    static const char head[] = "POST /size?2 HTTP/1.1\r\nHost: x\r\n"
                               "Content-Length: 1000000\r\n\r\n";
    struct client k[BODIES];
    size_t sent[BODIES] = {0};
    int i, round;

    open_toy();
    for (i = 0; i < BODIES; i++) {
        k[i] = join();
        say(&k[i], head);
    }
    for (round = 0; round < 200; round++)
        send_round(k, sent, 900000);
    CHECK(counts().held > HTTP_BUDGET - MIB && toy.requests == 0);
    /* Who is not read from is not known to have gone. */
    for (i = 0; lost && i < BODIES && counts().open == BODIES; i++) {
        leave(&k[i]);
        turn(3);
    }
    CHECK(counts().open > 0 && (counts().open < BODIES) == lost);
    for (round = 0; round < 2000 && !send_round(k, sent, 1000000); round++)
        ;
    for (i = 0; i < BODIES; i++)
        if (k[i].fd >= 0 && !CHECK(hears(&k[i], "200 OK")))
            break;
    for (i = 0; i < BODIES; i++)
        leave(&k[i]);
    turn(3);
    CHECK(counts().open == 0 && counts().held == 0);
    close_toy();
}

static void
test_budget_of_streams(void)
{
    char *data = malloc(MIB);
    struct client k[60];
    struct client good;
    int i, round;

    memset(data, 'd', MIB);
    open_with((struct http_options){.fd = -1});
    for (i = 0; i < 60; i++)
        k[i] = join_stream();
    good = join_stream();
    for (round = 0; round < 8 && toy.closed == 0; round++)
        for (i = (int)toy.n - 1; i >= 0 && toy.closed == 0; i--) {
            http_event(toy.later[i], STR_NONE, STR_NONE, 0,
                       (struct str){data, MIB - 1000});
            turn(1);
            hear(&good);
            CHECK(counts().held <= HTTP_BUDGET + MIB);
        }
    CHECK(toy.closed > 0 && counts().held <= HTTP_BUDGET);
    hear(&good);
    CHECK(!good.eof && good.err == 0);
    for (i = 0; i < 60; i++)
        leave(&k[i]);
    leave(&good);
    close_toy();
    free(data);
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

static void
test_unix_socket(void)
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

static void
test_passed_socket(void)
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
    open_with((struct http_options){.fd = bind_unix(path)});
    k = join_unix(path);
    say(&k, POST("1", "p"));
    CHECK(hears(&k, "\r\n\r\np"));
    leave(&k);
    close_toy();
    CHECK(access(path, F_OK) == 0); /* it is not ours */
    free(dir);
}

static void
test_addresses(void)
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
          "localhost: not an address");
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

/* Whatever the machine has: as clients write it, and so they may say it. */
static void
test_names_of_ipv6(void)
{
    static const struct {
        const char *address, *name;
    } cases[] = { /* RFC 5952, 4 */
        {"::", "[::]"},
        {"::1", "[::1]"},
        {"1::", "[1::]"},
        {"::1:2", "[::1:2]"},
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
        CHECK(web_is_ours(&o, http_address(toy.http), &h));
        h.host = STR("[2001:db8::2]:8766");
        CHECK(!web_is_ours(&o, http_address(toy.http), &h));
        close_toy();
    }
    sys.name.sin6_family = 0;
}

/* ---- the end ---- */

static void
test_stop(void)
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

static void
test_free_with_all_open(void)
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

/* Whatever call fails, nothing is lost but connections. */
static void
test_without_memory(void)
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
    test_keep_alive();
    test_pipelining();
    test_many_pipelined_behind_a_slow_one();
    test_chunked();
    test_splits();
    test_large_body();
    test_continue();
    test_head_method();
    test_http_1_0();
    test_errors();
    test_early_refusal_arrives();
    test_drop_from_within();
    test_large_reply_to_a_slow_reader();
    test_events();
    test_short_stream_is_one_write();
    test_stalled_stream_is_dropped();
    test_large_event_to_a_good_reader();
    test_lost_clients_are_noticed();
    test_idle_streams_cost_nothing();
    test_too_many_connections();
    test_few_descriptors();
    test_no_descriptor_left();
    test_no_descriptor_left_until_one_closes();
    test_deadlines();
    test_slow_readers_have_an_end();
    test_ping();
    test_budget_of_input();
    test_large_bodies_take_turns(false);
    test_large_bodies_take_turns(true);
    test_budget_of_streams();
    test_unix_socket();
    test_passed_socket();
    test_addresses();
    test_names_of_ipv6();
    test_stop();
    test_free_with_all_open();
    test_without_memory();
    return test_end("t_http");
}
