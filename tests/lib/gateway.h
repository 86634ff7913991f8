#ifndef TEST_GATEWAY_H
#define TEST_GATEWAY_H

/* A member of a fake cluster: etcd's JSON gateway on a loopback port, in the
   test's own thread. It works only inside gateway_step, so the test decides
   what has happened by when. Several members can stand before one map.

   It answers as etcd 3.4 does: chunked above 2 KB, errors with a trailer; or,
   with map->spaced, as 3.5.16 does. Faults are planned by the number of the
   request. */

#include "http/parse.h"
#include "tests/lib/gateway_map.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#define GATEWAY_CONNS 64
#define GATEWAY_FAULTS 32
#define GATEWAY_HELD 8

enum gateway_fault {
    GATEWAY_LOSE,        /* closes instead: no effect */
    GATEWAY_LOSE_ANSWER, /* takes effect, then closes */
    GATEWAY_TWICE,       /* takes effect twice; the first answer counts */
    GATEWAY_HOLD,        /* until gateway_release: no effect, no answer */
    GATEWAY_HOLD_ANSWER, /* takes effect; the answer waits for that */
    GATEWAY_CUT,         /* takes effect; closes after n bytes of the answer */
    GATEWAY_ERROR,       /* code n of gRPC with this text: no effect */
    GATEWAY_ERROR_AFTER, /* the same, but it has taken effect */
    GATEWAY_SAY          /* these bytes, then closes: no effect */
};

struct gateway_conn {
    int fd; /* -1: free */
    struct buf in, out;
    struct http_scan scan;
    bool closing;   /* once out is written */
};

struct gateway_held {
    struct gateway_conn *conn; /* NULL: it was closed meanwhile */
    bool used, done;           /* has taken effect */
    char path[64];
    struct str body; /* of the request, or with done the answer; on the heap */
};

struct gateway {
    struct gw_map own, *map;
    int fd;
    uint16_t port;
    char endpoint[32]; /* 127.0.0.1:PORT */
    struct gateway_conn conn[GATEWAY_CONNS];
    struct {
        uint64_t at; /* number of the request; 0: free */
        enum gateway_fault kind;
        int n;
        const char *text;
    } fault[GATEWAY_FAULTS];
    struct gateway_held held[GATEWAY_HELD];
    uint64_t requests, accepted; /* so far */
    char last_path[64];          /* of the newest request */
    const char *user, *password; /* NULL: authentication is off */
    unsigned logins;             /* tokens given out; the last one counts */
    bool younger;    /* than its tokens: etcd, restored from a backup or made
                        anew, answers those only when its log is as long */
    int64_t date_ms; /* how far its clock is ahead */
    size_t drip;     /* bytes written in a step; 0: all */
    size_t chunk;    /* bytes of a chunk; 0: all in one */
    bool frozen;     /* as if stopped by SIGSTOP */
    const char *version; /* NULL: 3.4.23 */
};

/* ---- sockets ---- */

static inline void
gateway_bind(struct gateway *g)
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(g->port)};
    socklen_t len = sizeof(in);
    int on = 1;

    in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    g->fd = socket(AF_INET, SOCK_STREAM, 0);
    setsockopt(g->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (bind(g->fd, (struct sockaddr *)&in, len) != 0 ||
        getsockname(g->fd, (struct sockaddr *)&in, &len) != 0 ||
        fcntl(g->fd, F_SETFL, O_NONBLOCK) != 0)
        abort();
    g->port = ntohs(in.sin_port);
}

/* Makes a member with keys of its own, or those of another one. */
static inline struct gateway *
gateway_new(struct gw_map *map)
{
    struct gateway *g = calloc(1, sizeof(*g));

    for (size_t i = 0; i < GATEWAY_CONNS; i++)
        g->conn[i].fd = -1;
    g->own.revision = 1;
    g->map = map != NULL ? map : &g->own;
    gateway_bind(g);
    snprintf(g->endpoint, sizeof(g->endpoint), "127.0.0.1:%u",
             (unsigned)g->port);
    if (listen(g->fd, GATEWAY_CONNS) != 0)
        abort();
    return g;
}

static inline void
gateway_close(struct gateway *g, struct gateway_conn *c)
{
    for (size_t i = 0; i < GATEWAY_HELD; i++)
        if (g->held[i].conn == c)
            g->held[i].conn = NULL;
    close(c->fd);
    buf_fini(&c->in);
    buf_fini(&c->out);
    memset(c, 0, sizeof(*c));
    c->fd = -1;
}

/* Closes every connection. */
static inline void
gateway_hang_up(struct gateway *g)
{
    for (size_t i = 0; i < GATEWAY_CONNS; i++)
        if (g->conn[i].fd >= 0)
            gateway_close(g, &g->conn[i]);
}

/* The process has ended: connections are closed, new ones refused. The port
   stays taken. */
static inline void
gateway_down(struct gateway *g)
{
    gateway_hang_up(g);
    close(g->fd);
    gateway_bind(g);
}

static inline void
gateway_up(struct gateway *g)
{
    if (listen(g->fd, GATEWAY_CONNS) != 0)
        abort();
}

static inline void
gateway_free(struct gateway *g)
{
    gateway_hang_up(g);
    close(g->fd);
    for (size_t i = 0; i < GATEWAY_HELD; i++)
        free((char *)(uintptr_t)g->held[i].body.p);
    gw_fini(&g->own);
    free(g);
}

/* ---- answers ---- */

static inline void
gateway_put_head(struct gateway *g, struct buf *out, int status, bool error)
{
    static const char days[] = "ThuFriSatSunMonTueWed";
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    int64_t ms = clock_wall_ms() + g->date_ms;
    char t[TIME_LEN + 1];

    time_format(ms, t);
    buf_printf(out, "HTTP/1.1 %d %s\r\n"
               "Access-Control-Allow-Headers: accept, content-type, "
               "authorization\r\n"
               "Access-Control-Allow-Methods: POST, GET, OPTIONS, PUT, "
               "DELETE\r\n"
               "Access-Control-Allow-Origin: *\r\n"
               "Content-Type: application/json\r\n%s", status,
               status == 200 ? "OK" : "Bad Request",
               error ? "Trailer: Grpc-Trailer-Content-Type\r\n"
                     : "Grpc-Metadata-Content-Type: application/grpc\r\n");
    buf_printf(out, "Date: %.3s, %.2s %.3s %.4s %.8s GMT\r\n",
               days + ms / 86400000 % 7 * 3, t + 8,
               months + ((t[5] - '0') * 10 + t[6] - '1') * 3, t, t + 11);
}

static inline void
gateway_put_chunks(struct gateway *g, struct buf *out, struct str body)
{
    size_t n;

    for (; body.len > 0; body = str_from(body, n)) {
        n = g->chunk > 0 && g->chunk < body.len ? g->chunk : body.len;
        buf_printf(out, "%zx\r\n%.*s\r\n", n, (int)n, body.p);
    }
}

/* A whole answer. stream: as lease/keepalive answers. */
static inline void
gateway_put_answer(struct gateway *g, struct buf *out, int code,
                   struct str body, bool stream)
{
    gateway_put_head(g, out, gw_status(code), code != 0 && !g->map->spaced);
    if (!stream && g->chunk == 0 &&
        (g->map->spaced || (code == 0 && body.len <= 2048))) {
        buf_printf(out, "Content-Length: %zu\r\n\r\n", body.len);
        buf_str(out, body);
        return;
    }
    buf_z(out, "Transfer-Encoding: chunked\r\n\r\n");
    gateway_put_chunks(g, out, body);
    buf_printf(out, "0\r\n%s\r\n", code == 0 ? ""
               : "Grpc-Trailer-Content-Type: application/grpc\r\n");
}

static inline void
gateway_say_error(struct gateway *g, struct gateway_conn *c, int code,
                  const char *error)
{
    struct buf body = {0};

    gw_put_error(g->map, &body, code, error);
    gateway_put_answer(g, &c->out, code, buf_view(&body), false);
    buf_fini(&body);
}

/* ---- requests ---- */

/* Runs the request and appends its answer to out. */
static inline void
gateway_call(struct gateway *g, const char *path, struct str body,
             struct buf *out)
{
    bool stream = strcmp(path, "lease/keepalive") == 0;
    struct buf answer = {0}, whole = {0};
    int code = gw_call(g->map, path, body, &answer);

    if (stream && code == 0)
        buf_printf(&whole, "{\"result\":%.*s}\n", STR_ARG(buf_view(&answer)));
    else
        buf_str(&whole, buf_view(&answer));
    gateway_put_answer(g, out, code, buf_view(&whole), stream);
    buf_fini(&answer);
    buf_fini(&whole);
}

/* Plans the fault of a request; after 0 is the next one. */
static inline void
gateway_plan(struct gateway *g, uint64_t after, enum gateway_fault kind, int n,
             const char *text)
{
    size_t i;

    for (i = 0; i < GATEWAY_FAULTS && g->fault[i].at != 0; i++)
        ;
    if (i == GATEWAY_FAULTS)
        abort();
    g->fault[i].at = g->requests + after + 1;
    g->fault[i].kind = kind;
    g->fault[i].n = n;
    g->fault[i].text = text;
}

static inline void
gateway_hold(struct gateway *g, struct gateway_conn *c, const char *path,
             struct str body, bool done)
{
    struct gateway_held *h = g->held;
    struct buf answer = {0};

    for (; h->used; h++)
        if (h == &g->held[GATEWAY_HELD - 1])
            abort();
    h->used = true;
    h->conn = c;
    h->done = done;
    snprintf(h->path, sizeof(h->path), "%s", path);
    if (done)
        gateway_call(g, path, body, &answer);
    h->body = gw_copy(done ? buf_view(&answer) : body);
    buf_fini(&answer);
}

/* Lets the oldest held request go on, or the newest. Returns whether there was
   one. Nobody gets the answer if the client has closed. */
static inline bool
gateway_release(struct gateway *g, bool newest)
{
    struct gateway_held *h = NULL;
    struct buf answer = {0};

    for (size_t i = 0; i < GATEWAY_HELD; i++)
        if (g->held[i].used && (h == NULL || newest))
            h = &g->held[i];
    if (h == NULL)
        return false;
    if (h->done)
        buf_str(&answer, h->body);
    else
        gateway_call(g, h->path, h->body, &answer);
    if (h->conn != NULL)
        buf_str(&h->conn->out, buf_view(&answer));
    buf_fini(&answer);
    free((char *)(uintptr_t)h->body.p);
    /* The others move up and keep their order. */
    memmove(h, h + 1, (size_t)(&g->held[GATEWAY_HELD - 1] - h) * sizeof(*h));
    memset(&g->held[GATEWAY_HELD - 1], 0, sizeof(*h));
    return true;
}

static inline void
gateway_fail(struct gateway *g, struct gateway_conn *c, size_t at,
             const char *path, struct str body)
{
    enum gateway_fault kind = g->fault[at].kind;
    const char *text = g->fault[at].text;
    struct buf answer = {0};
    int n = g->fault[at].n;

    g->fault[at].at = 0;
    if (kind == GATEWAY_HOLD || kind == GATEWAY_HOLD_ANSWER) {
        gateway_hold(g, c, path, body, kind == GATEWAY_HOLD_ANSWER);
        return;
    }
    if (kind == GATEWAY_LOSE_ANSWER || kind == GATEWAY_TWICE ||
        kind == GATEWAY_CUT || kind == GATEWAY_ERROR_AFTER)
        gateway_call(g, path, body, &answer);
    if (kind == GATEWAY_CUT)
        answer.len = (size_t)n < answer.len ? (size_t)n : answer.len;
    if (kind == GATEWAY_TWICE || kind == GATEWAY_CUT)
        buf_str(&c->out, buf_view(&answer));
    if (kind == GATEWAY_TWICE) {
        buf_reset(&answer, 0);
        gateway_call(g, path, body, &answer);
    }
    if (kind == GATEWAY_ERROR || kind == GATEWAY_ERROR_AFTER)
        gateway_say_error(g, c, n, text);
    if (kind == GATEWAY_SAY)
        buf_z(&c->out, text);
    c->closing = kind == GATEWAY_LOSE || kind == GATEWAY_LOSE_ANSWER ||
                 kind == GATEWAY_CUT || kind == GATEWAY_SAY;
    buf_fini(&answer);
}

/* The token of the newest login. */
static inline const char *
gateway_token(const struct gateway *g)
{
    static char token[32];

    snprintf(token, sizeof(token), "fakeTokenOfTest.%u", g->logins);
    return token;
}

/* Forgets the token. */
static inline void
gateway_expire(struct gateway *g)
{
    g->logins++;
}

static inline void
gateway_log_in(struct gateway *g, struct gateway_conn *c, struct str body)
{
    const struct json_tok *root = NULL;
    struct arena a = {0};
    struct buf answer = {0};

    json_parse(&a, body, &root, NULL);
    if (g->user == NULL) {
        gateway_say_error(g, c, 9, "etcdserver: authentication is not enabled");
    } else if (!json_is(json_get(root, "name"), g->user) ||
               !json_is(json_get(root, "password"), g->password)) {
        gateway_say_error(g, c, 3, "etcdserver: authentication failed, "
                          "invalid user ID or password");
    } else {
        g->logins++;
        gw_put_header(g->map, &answer);
        buf_printf(&answer, ",\"token\":\"%s\"}", gateway_token(g));
        gateway_put_answer(g, &c->out, 0, buf_view(&answer), false);
    }
    buf_fini(&answer);
    arena_fini(&a);
}

static inline void
gateway_say_version(struct gateway *g, struct gateway_conn *c)
{
    struct buf body = {0};

    buf_printf(&body, "{\"etcdserver\":\"%s\",\"etcdcluster\":\"3.4.0\"}",
               g->version != NULL ? g->version : "3.4.23");
    gateway_put_answer(g, &c->out, 0, buf_view(&body), false);
    buf_fini(&body);
}

/* ---- the loop ---- */

static inline void
gateway_request(struct gateway *g, struct gateway_conn *c,
                const struct http_head *head, struct str body)
{
    struct str token = http_field_of(head, "authorization");
    char path[64];

    snprintf(path, sizeof(path), "%.*s", STR_ARG(head->path));
    snprintf(g->last_path, sizeof(g->last_path), "%s", path);
    memmove(path, path + 4, sizeof(path) - 4); /* "/v3/" */
    g->requests++;
    for (size_t i = 0; i < GATEWAY_FAULTS; i++)
        if (g->fault[i].at == g->requests) {
            gateway_fail(g, c, i, path, body);
            return;
        }
    if (str_is(head->method, "GET") && strcmp(g->last_path, "/version") == 0)
        gateway_say_version(g, c);
    else if (!str_is(head->method, "POST") ||
             strncmp(g->last_path, "/v3/", 4) != 0)
        buf_z(&c->out, "HTTP/1.1 404 Not Found\r\nContent-Length: 19\r\n\r\n"
              "404 page not found\n");
    else if (strcmp(path, "auth/authenticate") == 0)
        gateway_log_in(g, c, body);
    else if (g->user != NULL && token.p == NULL &&
             strncmp(path, "lease/", 6) != 0)
        gateway_say_error(g, c, 3, "etcdserver: user name is empty");
    else if (token.p != NULL &&
             (g->user == NULL || !str_is(token, gateway_token(g)))) {
        if (!g->younger)
            gateway_say_error(g, c, 16, "etcdserver: invalid auth token");
    } else {
        gateway_call(g, path, body, &c->out);
    }
}

static inline void
gateway_read(struct gateway *g, struct gateway_conn *c)
{
    struct http_head head;
    char *p = buf_room(&c->in, 1 << 20);
    ssize_t n = recv(c->fd, p, 1 << 20, 0);
    int status, len;

    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
        gateway_close(g, c);
        return;
    }
    c->in.len += n > 0 ? (size_t)n : 0;
    if (c->closing || c->in.len == 0)
        return;
    len = http_parse_head(&c->scan, c->in.p, c->in.len, &head, &status);
    if (len == ERR_SYNTAX) {
        fprintf(stderr, "gateway: malformed request, status %d\n", status);
        gateway_close(g, c);
    } else if (len > 0 && c->in.len - (size_t)len >= head.content_length) {
        gateway_request(g, c, &head, (struct str){c->in.p + len,
                                                  head.content_length});
        buf_consume(&c->in, (size_t)len + head.content_length);
    } else if (len > 0) {
        c->scan = (struct http_scan){0}; /* parse it again with its body */
    }
}

static inline void
gateway_write(struct gateway *g, struct gateway_conn *c)
{
    size_t left = c->out.len;
    ssize_t n;

    if (g->drip > 0 && left > g->drip)
        left = g->drip;
    n = left > 0 ? send(c->fd, c->out.p, left, MSG_NOSIGNAL) : 0;
    if (n > 0)
        buf_consume(&c->out, (size_t)n);
    if ((c->closing && c->out.len == 0) || (n < 0 && errno != EAGAIN))
        gateway_close(g, c);
}

/* Reads what has come and writes what it can, without waiting. */
static inline void
gateway_step(struct gateway *g)
{
    struct gateway_conn *c = g->conn;
    int fd;

    if (g->frozen)
        return;
    while ((fd = accept(g->fd, NULL, NULL)) >= 0) {
        for (c = g->conn; c->fd >= 0; c++)
            if (c == &g->conn[GATEWAY_CONNS - 1])
                abort();
        c->fd = fd;
        g->accepted++;
        fcntl(fd, F_SETFL, O_NONBLOCK);
    }
    gw_tick(g->map);
    for (c = g->conn; c < g->conn + GATEWAY_CONNS; c++) {
        if (c->fd >= 0)
            gateway_read(g, c);
        if (c->fd >= 0)
            gateway_write(g, c);
    }
}

/* Serves until the process is killed: for a child of the test. */
static inline void
gateway_serve(struct gateway *g)
{
    struct pollfd p[GATEWAY_CONNS + 1];
    nfds_t n;

    for (;;) {
        p[0] = (struct pollfd){.fd = g->fd, .events = POLLIN};
        n = 1;
        for (size_t i = 0; i < GATEWAY_CONNS; i++)
            if (g->conn[i].fd >= 0)
                p[n++] = (struct pollfd){
                    .fd = g->conn[i].fd,
                    .events = g->conn[i].out.len > 0 ? POLLIN | POLLOUT
                                                     : POLLIN};
        poll(p, n, g->map->leases > 0 ? 100 : -1);
        gateway_step(g);
    }
}

#endif
