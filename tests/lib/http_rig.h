#ifndef TEST_HTTP_RIG_H
#define TEST_HTTP_RIG_H

/* http_rig - the HTTP server over real sockets, in the process of the test: the
   test turns the loop, and time is a number that advances when the loop would
   wait. Link it with the wraps of t_http. */


#include "http.h"
#include "tests/lib/faults.h"
#include "tests/lib/test.h"
#include "serve/access.h"

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
#define CLIENT_FDS 1100 /* client descriptors are above all that select can
                           hold */
#define PATIENCE 20000  /* turns before a hanging test ends */

#define CHUNKED                                                         \
    "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" \
    "5\r\nhello\r\n7;a=b\r\n, world\r\n0\r\nT: 1\r\n\r\n"

/* ---- time, and the server's system calls ---- */

static struct {
    int64_t ms;           /* the time */
    unsigned selects, full_selects, reads, writes;
    unsigned many;        /* this many descriptors make a select full */
    struct sockaddr_in6 name; /* name of every socket, if its family is set */
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

/* Where the loop would wait long, time advances instead. */
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

/* ---- the server; its handler acts by the path ---- */

static struct {
    struct loop *loop;
    struct http *http;
    struct http_conn *later[1100]; /* requests at /later and /stream */
    unsigned n;
    unsigned requests, closed;
    bool forget;
    int inside; /* depth of calls into http */
} toy;

static inline void
drop_later(struct http_conn *c)
{
    unsigned i;

    for (i = 0; i < toy.n; i++)
        if (toy.later[i] == c)
            toy.later[i] = toy.later[--toy.n];
}

static inline void
on_head(void *ctx, struct http_conn *c)
{
    struct str path = http_request(c)->path;
    uint64_t who = (uintptr_t)c;

    CHECK(ctx == &toy && http_body(c).len == 0);
    str_u64(http_field_of(http_request(c), "who"), &who);
    if (who != 0)
        http_share(c, who);
    if (str_is(path, "/refuse"))
        http_reply(c, 401, "WWW-Authenticate: Bearer\r\n", "text/plain",
                   STR("no\n"));
    if (str_is(path, "/drop_head"))
        http_drop(c);
}

static inline void
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

static inline void
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
        if (toy.forget)
            http_forget(c);
    } else if (str_is(h->path, "/stream")) {
        http_stream(c, NULL);
        if (toy.forget)
            http_forget(c);
        if (http_is_stream(c))
            toy.later[toy.n++] = c;
    } else {
        CHECK(str_is(h->path, "/echo") || str_is(h->path, "/know"));
        CHECK(str_is(http_field_of(h, "host"), "x"));
        if (str_is(h->path, "/know"))
            http_know(c);
        http_reply(c, 200, "X-Toy: 1\r\n", "text/plain", http_body(c));
    }
    toy.inside--;
}

static inline void
on_closed(void *ctx, struct http_conn *c)
{
    (void)ctx;
    CHECK(toy.inside == 0);
    toy.closed++;
    drop_later(c);
}

static const struct http_handler handler = {&toy, on_head, on_request,
                                            on_closed};

static inline int
try_open(struct http_options o, char why[256])
{
    if (o.host == NULL)
        o.host = "127.0.0.1";
    memset(&toy, 0, sizeof toy);
    loop_new(&toy.loop);
    return http_open(&toy.http, toy.loop, &o, &handler, why);
}

static inline void
open_with(struct http_options o)
{
    char why[256] = "";

    if (!CHECK(try_open(o, why) == 0)) {
        fprintf(stderr, "%s\n", why);
        exit(1);
    }
}

static inline void
open_toy(void)
{
    open_with((struct http_options){.fd = -1});
}

static inline void
close_toy(void)
{
    http_free(toy.http);
    CHECK(toy.n == 0);
    loop_free(toy.loop);
}

static inline void
turn(int n)
{
    while (n-- > 0)
        CHECK(loop_turn(toy.loop, false) == 0);
}

/* Lets ms pass with nothing else happening. */
static inline void
pass(int64_t ms)
{
    int64_t end = sys.ms + ms;
    int i;

    for (i = 0; sys.ms < end && i < PATIENCE; i++)
        CHECK(loop_turn(toy.loop, true) == 0);
    CHECK(sys.ms >= end);
}

static inline struct http_counts
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

static inline struct client
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

static inline struct client
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

static inline void
leave(struct client *k)
{
    if (k->fd >= 0)
        close(k->fd);
    free(k->got);
    *k = (struct client){.fd = -1};
}

/* Reads all available bytes. */
static inline void
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

/* Sends everything, turning the loop while the socket is full. */
static inline void
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

static inline void
say(struct client *k, const char *z)
{
    say_n(k, z, strlen(z));
}

/* Returns whether text arrives or has arrived. */
static inline bool
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

/* Returns whether the connection ends without a reset. */
static inline bool
hears_end(struct client *k)
{
    int i;

    for (i = 0; i < PATIENCE && !k->eof && k->err == 0; i++) {
        hear(k);
        turn(1);
    }
    return k->eof && k->err == 0;
}

static inline unsigned
times(const char *text, const char *what)
{
    unsigned n = 0;

    for (; (text = strstr(text, what)) != NULL; text++)
        n++;
    return n;
}

static inline void
forget_heard(struct client *k)
{
    k->len = 0;
    k->got[0] = '\0';
}

#define GET(path) "GET " path " HTTP/1.1\r\nHost: x\r\n\r\n"
#define POST(len, body) \
    "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: " len "\r\n\r\n" body

/* A client known to the server. */
static inline struct client
join_known(void)
{
    struct client k = join();

    say(&k, GET("/know"));
    CHECK(hears(&k, "Length: 0\r\n\r\n"));
    k.len = 0;
    return k;
}

static inline struct client
join_stream(void)
{
    struct client k = join();

    say(&k, GET("/stream"));
    CHECK(hears(&k, "\r\n\r\n"));
    return k;
}

static inline void
limit_files(rlim_t n)
{
    struct rlimit r;

    getrlimit(RLIMIT_NOFILE, &r);
    r.rlim_cur = n < r.rlim_max ? n : r.rlim_max;
    setrlimit(RLIMIT_NOFILE, &r);
}

#endif
