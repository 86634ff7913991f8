/* The real binary, its path in argv[1] or MCPTASK, under attack by clients
   over raw sockets: requests that two parsers may read in two ways, endless
   ones, slow ones, more connections than there are descriptors, clients that
   do not read or that vanish, large and deep JSON. While each attack runs
   another process asks for /health and has to get it. Behind the attack the
   server has to be there, to have needed no more than MAX_KIB, and to end
   when it is told to. How long all that took is printed and not checked. */

#include "tests/lib/client.h"

#include <limits.h>
#include <netinet/tcp.h>
#include <time.h>

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

/* What is sanitized is slow, and its memory means nothing. */
#define MAX_KIB (SANITIZED ? LONG_MAX : 64 * 1024)
#define MANY 2000   /* connections */
#define CROWD (SANITIZED ? 60 : 240) /* clients, nearly all that are let in */
#define UNREAD (SANITIZED ? 10 : 50) /* large answers */
#define FULL_TABLE 1000 /* clients, beside the probe, of all that select can */
#define SLOW 50
#define HELD 16     /* low descriptors that a server may inherit */
#define MIB ((size_t)1024 * 1024)

#define HOST "Host: localhost\r\n"
#define TYPES "Content-Type: application/json\r\n" \
    "Accept: application/json, text/event-stream\r\n"
#define GET(path, more) "GET " path " HTTP/1.1\r\n" HOST more "\r\n"
#define POST(more) "POST /mcp HTTP/1.1\r\n" HOST TYPES more "\r\n"
#define CHUNKED "Transfer-Encoding: chunked\r\n"
#define RPC(id, method, params) \
    "{\"jsonrpc\":\"2.0\",\"id\":" #id ",\"method\":\"" method "\"," \
    "\"params\":" params "}"
#define PING RPC(1, "ping", "{}")
#define META \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"," \
    "\"io.modelcontextprotocol/clientInfo\":{\"name\":\"t\"," \
    "\"version\":\"1\"}," \
    "\"io.modelcontextprotocol/clientCapabilities\":{}}"

/* ---- a server, and who asks for its health ---- */

struct rig {
    char *dir;
    struct srv s;
    char address[256];
    pid_t probe;
    int stop, told; /* our ends of two pipes to the probe */
};

static int64_t worst_us, worst_end_us; /* of all rigs */
static const char *worst_what = "nothing";
static long worst_kib, idle_percent;
static const char *product;
static int held[HELD];

static int64_t
now_us(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

static bool
is_healthy(struct client *c)
{
    return fetch(c, "GET", "/health", "", NULL) == 200 &&
           has(c->body.p, "{\"status\":\"ok\",\"store\":\"");
}

/* Asks until a byte comes from stop: the slowest answer, -1: a wrong one.
   Every other time, where fresh, on a connection of its own. */
static int64_t
probe(const struct rig *r, struct client *kept, int stop, bool fresh)
{
    struct pollfd p = {.fd = stop, .events = POLLIN};
    int64_t worst = 0;
    bool own = false;

    while (poll(&p, 1, 3) == 0 && worst >= 0) {
        int64_t from = now_us(), took;
        struct client c = own ? dial(r->address) : *kept;
        bool ok = is_healthy(&c);

        took = now_us() - from;
        worst = !ok ? -1 : took > worst ? took : worst;
        if (own)
            hang_up(&c);
        else
            *kept = c;
        own = fresh && !own;
    }
    return worst;
}

static void
probe_begin(struct rig *r, bool fresh)
{
    struct client kept = dial(r->address);
    int stop[2], told[2];
    int64_t worst;

    CHECK(is_healthy(&kept));
    make_pipe(stop, false);
    make_pipe(told, false);
    fflush(NULL);
    r->probe = fork();
    if (r->probe == 0) {
        worst = probe(r, &kept, stop[0], fresh);
        _exit(write(told[1], &worst, sizeof(worst)) != sizeof(worst));
    }
    close(stop[0]);
    close(told[1]);
    r->stop = stop[1];
    r->told = told[0];
    hang_up(&kept);
}

static void
probe_end(struct rig *r, const char *what)
{
    int64_t worst = -1;

    if (r->probe == 0)
        return;
    CHECK(write(r->stop, "", 1) == 1);
    CHECK(can(r->told, POLLIN) &&
          read(r->told, &worst, sizeof(worst)) == sizeof(worst));
    CHECK(worst >= 0);
    if (worst > worst_us) {
        worst_us = worst;
        worst_what = what;
    }
    waitpid(r->probe, NULL, 0);
    close(r->stop);
    close(r->told);
    r->probe = 0;
}

/* The most memory that it ever had; 0: nobody says. */
static long
peak_kib(pid_t pid)
{
    char path[64], line[256];
    long kib = 0;
    FILE *f;

    snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    f = fopen(path, "r");
    while (f != NULL && fgets(line, sizeof(line), f) != NULL)
        if (strncmp(line, "VmHWM:", 6) == 0)
            kib = atol(line + 6);
    if (f != NULL)
        fclose(f);
    return kib;
}

/* What it has used of a processor, in clock ticks; -1: nobody says. */
static long
cpu_ticks(pid_t pid)
{
    char path[64], line[1024] = "", *at;
    long user = 0, sys = -1;
    FILE *f;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    f = fopen(path, "r");
    at = f != NULL && fgets(line, sizeof(line), f) != NULL
             ? strrchr(line, ')') : NULL;
    if (at != NULL &&
        sscanf(at + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %ld %ld",
               &user, &sys) != 2)
        sys = -1;
    if (f != NULL)
        fclose(f);
    return sys < 0 ? -1 : user + sys;
}

/* A program that runs the product with n descriptors at most. */
static void
limit_files(const char *dir, unsigned n)
{
    static char path[400];
    struct rlimit l;
    FILE *f;

    getrlimit(RLIMIT_NOFILE, &l);
    n = l.rlim_max < n ? (unsigned)l.rlim_max : n;
    snprintf(path, sizeof(path), "%s/limited", dir);
    f = fopen(path, "w");
    CHECK(f != NULL &&
          fprintf(f, "#!/bin/sh\nulimit -n %u && exec %s \"$@\"\n", n,
                  product) > 0 &&
          fclose(f) == 0 && chmod(path, 0700) == 0);
    binary = path;
}

/* files 0: as many as there are. */
static struct rig
rig_new(const char *options, unsigned files)
{
    struct rig r = {.dir = test_tmpdir()};

    if (files > 0)
        limit_files(r.dir, files);
    r.s = start(r.dir, options, PLAIN);
    binary = product;
    snprintf(r.address, sizeof(r.address), "%s", address_of(&r.s));
    CHECK(r.address[0] != '\0');
    return r;
}

static struct rig
rig_probed(void)
{
    struct rig r = rig_new("--http --port 0", 0);

    probe_begin(&r, true);
    return r;
}

/* Whether it serves who comes now, as soon as it has seen that others have
   gone. */
static bool
is_back(const struct rig *r)
{
    int64_t from = now_us();
    bool ok;

    do {
        struct client c = dial(r->address);

        ok = is_healthy(&c);
        hang_up(&c);
    } while (!ok && now_us() - from < 1000 * DEADLINE_MS);
    return ok;
}

static void
rig_end(struct rig *r, const char *what)
{
    int64_t from;
    long kib;

    CHECK(is_back(r));
    probe_end(r, what);
    kib = peak_kib(r->s.pid);
    if (!CHECK(kib < MAX_KIB))
        fprintf(stderr, "%s: %ld KiB\n", what, kib);
    worst_kib = kib > worst_kib ? kib : worst_kib;
    from = now_us();
    kill(r->s.pid, SIGTERM);
    if (!CHECK(ended(&r->s) == 0))
        fprintf(stderr, "after %s\n", what);
    from = now_us() - from;
    worst_end_us = from > worst_end_us ? from : worst_end_us;
    free(r->dir);
}

/* ---- clients ---- */

static void
send_z(struct client *c, const char *z)
{
    send_bytes(c, z, strlen(z));
}

/* Vanishes: what is on its way is lost, and the server told so. */
static void
reset(struct client *c)
{
    struct linger l = {.l_onoff = 1};

    if (c->fd >= 0)
        setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &l, sizeof(l));
    hang_up(c);
}

/* One for whom the systems hold back little, so that the server has to. */
static struct client
dial_narrow(const struct rig *r)
{
    struct client c = dial("unix:");
    struct sockaddr_in in = {.sin_family = AF_INET};
    int bytes = 4096, mss = 536, more = 16 * 1024;

    in.sin_port = htons((uint16_t)atoi(strrchr(r->address, ':') + 1));
    in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    c.fd = socket(AF_INET, SOCK_STREAM, 0);
    fcntl(c.fd, F_SETFD, FD_CLOEXEC);
    setsockopt(c.fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
    setsockopt(c.fd, SOL_SOCKET, SO_SNDBUF, &more, sizeof(more));
    setsockopt(c.fd, IPPROTO_TCP, TCP_MAXSEG, &mss, sizeof(mss));
    if (connect(c.fd, (void *)&in, sizeof(in)) != 0)
        shut(&c.fd);
    return c;
}

/* Whether the server ends the connection, after whatever. */
static bool
ends(struct client *c)
{
    char byte;

    while (receive(c))
        ;
    return can(c->fd, POLLIN) && recv(c->fd, &byte, 1, 0) <= 0;
}

/* A number of /metrics. */
static long
metric(struct client *c, const char *name)
{
    char line[64];
    const char *at;

    snprintf(line, sizeof(line), "\nmcptask_%s ", name);
    CHECK(fetch(c, "GET", "/metrics", "", NULL) == 200);
    at = strstr(c->body.p, line);
    return at != NULL ? atol(at + strlen(line)) : -1;
}

static bool
is_readable(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};

    return poll(&p, 1, 0) == 1;
}

/* Whether POST /mcp of body is answered with 200 and has what in it. */
static bool
posts(const struct rig *r, const char *body, const char *what)
{
    struct client c = dial(r->address);
    bool ok = fetch(&c, "POST", "/mcp", TYPES, body) == 200 &&
              has(c.body.p, what);

    hang_up(&c);
    return ok;
}

/* ---- smuggling ---- */

#define T(text) text, sizeof(text) - 1
#define SECRET "GET /metrics HTTP/1.1\r\n" HOST "\r\n"
#define FIELD(line) POST(CHUNKED line "\r\n") "0\r\n\r\n" SECRET
#define CODING(line) POST(line "\r\n") "0\r\n\r\n" SECRET
#define LENGTH(v) POST("Content-Length:" v "\r\n") "12345" SECRET
#define SIZE(line) POST(CHUNKED) line "12345\r\n0\r\n\r\n" SECRET
#define LAST GET("/health", "Connection: close\r\n")

/* Each is sent with LAST behind it. Where the end of a request is in doubt
   one reply says so and nothing behind it is looked at; where it is not, what
   looks like a request in a body is none. */
static const struct {
    const char *text;
    size_t len;
    const char *want; /* the statuses of all replies */
} smuggled[] = {
    /* a length and a coding, two lengths, lengths that are none */
    {T(FIELD("Content-Length: 5")), "400"},
    {T(POST("Content-Length: 5\r\n" CHUNKED) "0\r\n\r\n" SECRET), "400"},
    {T(LENGTH(" 5\r\nContent-Length: 6")), "400"},
    {T(LENGTH(" 5\r\nContent-Length: 5")), "400"},
    {T(LENGTH(" 5\r\ncontent-length: 0")), "400"},
    {T(LENGTH(" 5, 5")), "400"},
    {T(LENGTH(" 5,")), "400"},
    {T(LENGTH(" +5")), "400"},
    {T(LENGTH(" -5")), "400"},
    {T(LENGTH(" 0x5")), "400"},
    {T(LENGTH(" 5 5")), "400"},
    {T(LENGTH(" 5\v")), "400"},
    {T(LENGTH(" 5\0")), "400"},
    {T(LENGTH(" \"5\"")), "400"},
    {T(LENGTH("")), "400"},
    {T(LENGTH(" 18446744073709551621")), "413"},
    {T(LENGTH(" 99999999999999999999999")), "413"},
    {T(LENGTH(" 8388609")), "413"},
    {T(LENGTH("\t5 ")), "400 200 200"}, /* 12345 is no message */
    {T(LENGTH(" 0000000005")), "400 200 200"},
    /* codings */
    {T(FIELD(CHUNKED "X: y")), "501"},
    {T(FIELD("Transfer-Encoding: identity")), "501"},
    {T(CODING("Transfer-Encoding: xchunked")), "501"},
    {T(CODING("Transfer-Encoding: identity")), "501"},
    {T(CODING("Transfer-Encoding: gzip, chunked")), "501"},
    {T(CODING("Transfer-Encoding: chunked, identity")), "501"},
    {T(CODING("Transfer-Encoding: chunked,")), "501"},
    {T(CODING("Transfer-Encoding: ,chunked")), "501"},
    {T(CODING("Transfer-Encoding: \"chunked\"")), "501"},
    {T(CODING("Transfer-Encoding: chunked;q=1")), "501"},
    {T(CODING("Transfer-Encoding: chunked chunked")), "501"},
    {T(CODING("Transfer-Encoding: ch\xc3\xbcnked")), "501"},
    {T(CODING("Transfer-Encoding:")), "501"},
    {T(CODING("Transfer-Encoding:\vchunked")), "400"},
    {T(CODING("Transfer-Encoding: chunked\f")), "400"},
    {T(CODING("Transfer-Encoding: chunked\0")), "400"},
    {T(CODING("Transfer-Encoding: chun\0ked")), "400"},
    {T(CODING("Transfer-Encoding : chunked")), "400"},
    {T(CODING("Transfer-Encoding\t: chunked")), "400"},
    {T(CODING("Transfer Encoding: chunked")), "400"},
    {T(CODING("Transfer-Encoding\0: chunked")), "400"},
    {T(CODING("Transfer-Encoding; chunked")), "400"},
    {T(CODING("Transfer-Encoding")), "400"},
    {T(CODING("\"Transfer-Encoding\": chunked")), "400"},
    {T(CODING("(X): y\r\n" "Transfer-Encoding: chunked")), "400"},
    {T(CODING(": y\r\n" "Transfer-Encoding: chunked")), "400"},
    {T(CODING("Transfer-Encoding:\tCHUNKED\t")), "400 200 200"},
    /* lines that end otherwise, or go on */
    {T(CODING("X: y\nTransfer-Encoding: chunked")), "400"},
    {T(CODING("X: y\rTransfer-Encoding: chunked")), "400"},
    {T(CODING("X: y\r\rTransfer-Encoding: chunked")), "400"},
    {T(CODING("X: y\n\rTransfer-Encoding: chunked")), "400"},
    {T(CODING("X: y\r\n Transfer-Encoding: chunked")), "400"},
    {T(CODING("Transfer-Encoding:\r\n chunked")), "400"},
    {T(CODING("Transfer-Encoding: chunked\r\n\tx")), "400"},
    {T(CODING(" Transfer-Encoding: chunked")), "400"},
    {T("POST /mcp HTTP/1.1\r\n Host: localhost\r\n\r\n" SECRET), "400"},
    {T("GET /health HTTP/1.1\n" HOST "\r\n" SECRET), "400"},
    {T("GET /health HTTP/1.1\r\n" HOST "\n" SECRET), "400"},
    {T("GET /health HTTP/1.1\r\nHost: localhost\n\n" SECRET), "400"},
    {T("\nGET /health HTTP/1.1\r\n" HOST "\r\n" SECRET), "400"},
    {T("\r\n\r\n\r\n" GET("/health", "") SECRET), "400"},
    {T(" " GET("/health", "") SECRET), "400"},
    /* request lines and hosts */
    {T("GET  /health HTTP/1.1\r\n" HOST "\r\n" SECRET), "400"},
    {T("GET /health  HTTP/1.1\r\n" HOST "\r\n" SECRET), "400"},
    {T("GET /health HTTP/1.1 \r\n" HOST "\r\n" SECRET), "400"},
    {T("GET\t/health HTTP/1.1\r\n" HOST "\r\n" SECRET), "400"},
    {T("GET /health /x HTTP/1.1\r\n" HOST "\r\n" SECRET), "400"},
    {T("GET /health\0 HTTP/1.1\r\n" HOST "\r\n" SECRET), "400"},
    {T("GET /health\r\n" SECRET), "400"},
    {T("GET /health HTTP/1.10\r\n" HOST "\r\n" SECRET), "400"},
    {T("GET /health http/1.1\r\n" HOST "\r\n" SECRET), "400"},
    {T("GET /health HTTP/2.0\r\n" HOST "\r\n" SECRET), "505"},
    {T("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" SECRET), "505"},
    {T("GET /health HTTP/1.1\r\n\r\n" SECRET), "400"},
    {T(GET("/health", HOST) SECRET), "400"},
    {T(GET("/health", "Host: evil.example.com\r\n") SECRET), "400"},
    {T("GET http://evil.example.com/health HTTP/1.1\r\n" HOST "\r\n"
       SECRET), "403"},
    {T("GET http://localhost@evil.example.com/health HTTP/1.1\r\n" HOST
       "\r\n" SECRET), "400"},
    {T("POST /mcp HTTP/1.0\r\n" HOST TYPES CHUNKED "\r\n0\r\n\r\n"
       SECRET), "400"},
    /* chunks */
    {T(SIZE("\r\n")), "400"},
    {T(SIZE("5\n")), "400"},
    {T(SIZE("5\r")), "400"},
    {T(SIZE(" 5\r\n")), "400"},
    {T(SIZE("5 \r\n")), "400"},
    {T(SIZE("\t5\r\n")), "400"},
    {T(SIZE("+5\r\n")), "400"},
    {T(SIZE("-5\r\n")), "400"},
    {T(SIZE("0x5\r\n")), "400"},
    {T(SIZE("5h\r\n")), "400"},
    {T(SIZE("5\0\r\n")), "400"},
    {T(SIZE("5,5\r\n")), "400"},
    {T(SIZE("4\r\n")), "400"},
    {T(SIZE("6\r\n")), "400"},
    {T(SIZE("00000000000000005\r\n")), "400"},
    {T(SIZE("10000000000000005\r\n")), "413"},
    {T(SIZE("ffffffffffffffff\r\n")), "413"},
    {T(SIZE("fffffffffffffffb\r\n")), "413"},
    {T(SIZE("800001\r\n")), "413"},
    {T(SIZE("5;a\n")), "400"},
    {T(SIZE("5;a\rb\r\n")), "400"},
    {T(SIZE("5;a\0b\r\n")), "400"},
    {T(SIZE("5;a=\x7f\r\n")), "400"},
    {T(SIZE("5;\n" SECRET "\r\n")), "400"},
    {T(SIZE("5;;;=\"\\, GET /metrics HTTP/1.1\r\n")), "400 200 200"},
    {T(SIZE("0005\r\n")), "400 200 200"},
    {T(POST(CHUNKED) "5\r\n12345\n0\r\n\r\n" SECRET), "400"},
    {T(POST(CHUNKED) "5\r\n12345\r0\r\n\r\n" SECRET), "400"},
    {T(POST(CHUNKED) "5\r\n123450\r\n\r\n" SECRET), "400"},
    {T(POST(CHUNKED) "0\r\nX : y\r\n\r\n" SECRET), "400"},
    {T(POST(CHUNKED) "0\r\nX: y\n\r\n" SECRET), "400"},
    {T(POST(CHUNKED) "0\r\nX: y\r\n z\r\n\r\n" SECRET), "400"},
    {T(POST(CHUNKED) "0\r\n" SECRET), "400"},
    {T(POST(CHUNKED) "0\r\nContent-Length: 90\r\n" CHUNKED "\r\n"),
     "400 200"},
    /* a second request inside of the first one's body */
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

static void
test_smuggling(void)
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

/* Each goes on after its reply, too, and never reads more than that. */
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

static void
add_times(struct text *t, const char *z, size_t n)
{
    while (n-- > 0)
        add(t, z, strlen(z));
}

/* Whole repetitions of it, 64 KiB or a little more. */
static struct text
repeat(const char *z)
{
    struct text t = {0};

    add_times(&t, z, MIB / 16 / strlen(z) + 1);
    return t;
}

/* Sends the next bytes of what is repeated, as many as go. */
static void
send_more(struct client *c, const struct text *t, size_t *sent)
{
    size_t at = *sent % t->len;
    ssize_t n = send(c->fd, t->p + at, t->len - at,
                     MSG_NOSIGNAL | MSG_DONTWAIT);

    if (n > 0)
        *sent += (size_t)n;
    else if (errno != EAGAIN && errno != EWOULDBLOCK)
        shut(&c->fd);
}

static void
test_endless_requests(void)
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
            bool more = endless[i].status != 0 || sent[i] < 4 * MIB;

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
            }
            if (p[i].revents & POLLOUT)
                send_more(&c[i], &again[i], &sent[i]);
        }
    }
    CHECK(metric(&good, "http_held_bytes") < 2 * (long)MIB);
    hang_up(&good);
    for (i = 0; i < ENDLESS; i++) {
        /* A slow machine may run out of time before. */
        if (!CHECK(endless[i].status == 0 || status[i] == 408 ||
                   status[i] == endless[i].status))
            fprintf(stderr, "%s: %d\n", endless[i].begin, status[i]);
        free(again[i].p);
        hang_up(&c[i]);
    }
    rig_end(&r, "endless requests");
}

/* ---- clients that vanish ---- */

#define LISTENS "MCP-Protocol-Version: 2026-07-28\r\n" \
    "Mcp-Method: subscriptions/listen\r\n"
#define LISTEN \
    RPC(1, "subscriptions/listen", "{\"notifications\":{" \
        "\"resourcesListChanged\":true}," META "}")
_Static_assert(sizeof(PING) == 53 && sizeof(LISTEN) == 291, "as said below");

static const char *const stages[] = {
    POST(CHUNKED) "5;x=y\r\n{\"jso\r\n2f\r\nnrpc\":\"2.0\",\"id\":1,"
    "\"method\":\"ping\",\"params\":{}}\r\n0\r\nX: y\r\n\r\n",
    POST("Expect: 100-continue\r\nContent-Length: 52\r\n") PING,
    POST(LISTENS "Content-Length: 290\r\n") LISTEN,
    GET("/sse", "Accept: text/event-stream\r\n"),
    GET("/health", "") GET("/metrics", "") GET("/nothing", ""),
};
#define STAGES (sizeof(stages) / sizeof(stages[0]))

/* Each byte of each request is the last one that comes: then the connection
   is reset, or half of it closed and read to its end. */
static void
test_vanishing_clients(void)
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
#define ROUNDS_TO_NOTICE 20000 /* fewer than their calls have time for */

/* Who waits for long and has sent more behind it is noticed as well when he
   goes, or they would fill the table until their calls end. */
static void
test_vanishing_waiters(void)
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

/* ---- JSON ---- */

/* begin, then again and again until there is a MiB, then end. */
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

static void
test_large_json(void)
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

/* ---- many at once ---- */

#define URIS 64   /* that each stream hears of; as many fit into a batch */
#define STALLED 20
#define ROUNDS 400

/* One message of the batch for each uri; the name of the task is long. */
static struct text
batch(const char *method, const char *before, int from, const char *after)
{
    struct text t = {0};
    int i;

    for (i = 0; i < URIS; i++) {
        addf(&t, "%c{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"%s\","
             "\"params\":{%s%0100d\"", i == 0 ? '[' : ',', i, method, before,
             URIS * from + i);
        add(&t, after, strlen(after));
        add(&t, "}}", 2);
    }
    add(&t, "]", 1);
    return t;
}

static struct text
batch_of_calls(const char *tool, int from, const char *after)
{
    char before[256];

    snprintf(before, sizeof(before),
             "\"name\":\"%s\",\"arguments\":{\"task_id\":\"", tool);
    return batch("tools/call", before, from, after);
}

/* Fields that go with each request of a new session that takes batches. */
static void
session_new(struct client *c, char fields[1024])
{
    CHECK(fetch(c, "POST", "/mcp", TYPES,
                RPC(1, "initialize", "{\"protocolVersion\":\"2025-03-26\","
                    "\"capabilities\":{},\"clientInfo\":{\"name\":\"t\","
                    "\"version\":\"1\"}}")) == 200);
    snprintf(fields, 1024, "%sMcp-Session-Id: %.256s\r\n", TYPES,
             field_of(c, "mcp-session-id"));
}

/* Whether n messages, each of them text, are answered with a status. */
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

static void
test_batches(void)
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

/* Lets all that the crowd sends meanwhile come in one turn of the server. */
static void
halt(const struct rig *r, bool on)
{
    kill(r->s.pid, on ? SIGSTOP : SIGCONT);
}

/* n clients send body, all but for its last byte, and that all at once. */
static void
crowd(const struct rig *r, int n, const struct text *body, int want)
{
    struct client *c = calloc((size_t)n, sizeof(*c));
    char fields[256];
    int i, served = 0;

    snprintf(fields, sizeof(fields), "%sContent-Length: %zu\r\n", TYPES,
             body->len);
    for (i = 0; i < n; i++) {
        c[i] = dial(r->address);
        ask(&c[i], "POST", "/mcp", fields, NULL);
        send_bytes(&c[i], body->p, body->len - 1);
    }
    halt(r, true);
    for (i = 0; i < n; i++)
        send_bytes(&c[i], body->p + body->len - 1, 1);
    halt(r, false);
    for (i = 0; i < n; i++)
        served += reply_of(&c[i]) == want;
    CHECK(served == n);
    for (i = 0; i < n; i++)
        hang_up(&c[i]);
    free(c);
}

/* Each message has nearly as many tokens as there may be. */
static void
test_a_crowd_of_tokens(void)
{
    struct rig r = rig_probed();
    struct text t = {0};

    add(&t, "[", 1);
    add_times(&t, "0,", 65000);
    add(&t, "0]", 2);
    crowd(&r, CROWD, &t, 400);
    free(t.p);
    rig_end(&r, "a crowd of tokens");
}

#define CREATE(task) \
    RPC(1, "tools/call", "{\"name\":\"create_task\",\"arguments\":{" \
        "\"task_id\":\"" task "\",\"title\":\"x\"}}")

/* Stores an artifact that makes an answer of 6 MiB; cuts its uri out. */
static void
attach(const struct rig *r, char uri[128])
{
    struct client c = dial(r->address);
    struct text t = {0};
    const char *id;

    CHECK(posts(r, CREATE("a"), "\\\"seq\\\":1"));
    addf(&t, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\","
         "\"params\":{\"name\":\"attach_artifact\",\"arguments\":{"
         "\"task_id\":\"a\",\"name\":\"n\",\"content\":\"");
    add_times(&t, "\\u0001", MIB);
    addf(&t, "\"}}}");
    CHECK(fetch(&c, "POST", "/mcp", TYPES, t.p) == 200);
    id = strstr(c.body.p, "artifact_id\\\":\\\"");
    if (!CHECK(id != NULL))
        fprintf(stderr, "%.300s\n", c.body.p);
    id = id != NULL ? id + strlen("artifact_id\\\":\\\"") : "";
    snprintf(uri, 128, "task://a/artifacts/%.*s", (int)strcspn(id, "\\"), id);
    free(t.p);
    hang_up(&c);
}

#define CALL(tool, args) \
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\"," \
    "\"params\":{\"name\":\"" tool "\",\"arguments\":{" args "}}}"

/* A store of 1.5 MiB of tasks, and what looks through them for what is not
   there. */
#define SEARCH CALL("list_tasks", "\"query\":\"aaaaaaaab\"")

static void
write_tasks(const struct rig *r)
{
    struct client c = dial(r->address);
    struct text create, goal = {0};
    char fields[1024];
    int i;

    session_new(&c, fields);
    addf(&goal, ",\"title\":\"x\",\"goal\":\"");
    add_times(&goal, "a", 8000);
    addf(&goal, "\"}");
    for (i = 0; i < 3; i++) {
        create = batch_of_calls("create_task", i, goal.p);
        CHECK(fetch(&c, "POST", "/mcp", fields, create.p) == 200 &&
              has(c.body.p, "seq"));
        free(create.p);
    }
    free(goal.p);
    hang_up(&c);
}

static void
test_a_crowd_of_searches(void)
{
    struct rig r = rig_probed();
    struct text search = {0};

    write_tasks(&r);
    addf(&search, "%s", SEARCH);
    crowd(&r, CROWD / 2, &search, 200);
    free(search.p);
    rig_end(&r, "a crowd of searches");
}

static long
seq_of(const char *text)
{
    const char *at = strstr(text, "\\\"seq\\\":");

    return CHECK(at != NULL) ? atol(at + 8) : 0;
}

#define QUEUE 60

/* One client has sent many searches and then makes a task: who came behind
   all that is served before it. */
static void
test_a_long_queue(void)
{
    struct rig r = rig_probed();
    struct client stream = dial(r.address), c[QUEUE], other;
    char path[256], *data = NULL;
    int i;

    write_tasks(&r);
    ask(&stream, "GET", "/sse", "Accept: text/event-stream\r\n", NULL);
    CHECK(status_of(&stream) == 200);
    free(next_event(&stream));
    snprintf(path, sizeof(path), "/message?clientId=%.*s",
             (int)strcspn(stream.id, "."), stream.id);
    for (i = 0; i < QUEUE; i++) {
        c[i] = dial(r.address);
        CHECK(is_healthy(&c[i]));
    }
    other = dial(r.address);
    CHECK(is_healthy(&other));
    halt(&r, true);
    for (i = 0; i < QUEUE; i++)
        ask(&c[i], "POST", path, TYPES, i < QUEUE - 1 ? SEARCH : CREATE("q"));
    ask(&other, "POST", "/mcp", TYPES, CREATE("o"));
    halt(&r, false);
    for (i = 0; i < QUEUE; i++) {
        CHECK(reply_of(&c[i]) == 202);
        hang_up(&c[i]);
    }
    do {
        free(data);
        data = next_event(&stream);
    } while (data != NULL && strstr(data, "\"q\\\"") == NULL);
    CHECK(reply_of(&other) == 200 && data != NULL &&
          seq_of(other.body.p) < seq_of(data));
    free(data);
    hang_up(&other);
    hang_up(&stream);
    rig_end(&r, "a long queue");
}

/* ---- long histories ---- */

#define EVENTS (SANITIZED ? 40 : 400) /* of a task, 200 KB each */
#define READERS 20
#define LOOKERS 3
#define WAIT(args) CALL("wait_for_task", "\"until\":\"failed\"," args)

/* A task with so much in it, and then its small changes. */
static void
write_events(const struct rig *r)
{
    struct client c = dial(r->address);
    struct text t = {0};
    int i;

    CHECK(posts(r, CREATE("t"), "seq"));
    addf(&t, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\","
         "\"params\":{\"name\":\"save_checkpoint\",\"arguments\":{"
         "\"task_id\":\"t\",\"agent\":\"me\","
         "\"completed_steps\":[");
    for (i = 0; i < 200; i++)
        addf(&t, "%s\"%01000d\"", i > 0 ? "," : "", i);
    addf(&t, "]}}}");
    CHECK(fetch(&c, "POST", "/mcp", TYPES, t.p) == 200 &&
          has(c.body.p, "seq"));
    free(t.p);
    for (i = 2; i < EVENTS; i++)
        if (!CHECK(fetch(&c, "POST", "/mcp", TYPES,
                         CALL("update_task", "\"task_id\":\"t\","
                              "\"agent\":\"me\",\"dirty\":true")) == 200 &&
                   has(c.body.p, "seq")))
            break;
    hang_up(&c);
}

/* Sends body as n clients, all in one turn, and reads what each is told. */
static void
all_ask(const struct rig *r, int n, const char *body, const char *what)
{
    struct client *c = calloc((size_t)n, sizeof(*c));
    int i, served = 0;

    for (i = 0; i < n; i++)
        c[i] = dial(r->address);
    halt(r, true);
    for (i = 0; i < n; i++)
        ask(&c[i], "POST", "/mcp", TYPES, body);
    halt(r, false);
    for (i = 0; i < n; i++)
        served += reply_of(&c[i]) == 200 && has(c[i].body.p, what);
    CHECK(served == n);
    for (i = 0; i < n; i++)
        hang_up(&c[i]);
    free(c);
}

/* Reads the history of t from its newest event to its first. */
static void
read_back(const struct rig *r)
{
    struct client c = dial(r->address);
    char body[256], cursor[32] = "";
    const char *at;
    int events = 0, pages = 0;

    do {
        snprintf(body, sizeof(body), RPC(1, "resources/read", "{\"uri\":"
                 "\"task://t/history%s%s\"}"),
                 cursor[0] != '\0' ? "?cursor=" : "", cursor);
        if (!CHECK(fetch(&c, "POST", "/mcp", TYPES, body) == 200 &&
                   has(c.body.p, "truncated")))
            break;
        for (at = c.body.p; (at = strstr(at, "\\\"seq\\\":")) != NULL; at++)
            events++;
        at = strstr(c.body.p, "next_cursor\\\":\\\"");
        snprintf(cursor, sizeof(cursor), "%.*s",
                 at != NULL ? (int)strspn(at + 16, "0123456789") : 0,
                 at != NULL ? at + 16 : "");
    } while (cursor[0] != '\0' && pages++ < EVENTS);
    CHECK(events == EVENTS);
    hang_up(&c);
}

/* Reads and waits that have to look at all events. */
static void
test_long_histories(void)
{
    struct rig r = rig_new("--http --port 0", 0);

    write_events(&r);
    probe_begin(&r, true);
    all_ask(&r, READERS, RPC(1, "resources/read",
                             "{\"uri\":\"task://t/history\"}"),
            "truncated\\\":true,\\\"next_cursor");
    all_ask(&r, READERS, CALL("get_task", "\"task_id\":\"t\","
                              "\"section\":\"history\",\"limit\":200"),
            "truncated\\\":true,\\\"next_cursor");
    read_back(&r);
    all_ask(&r, LOOKERS, WAIT("\"agent\":\"me\",\"since_seq\":0,"
                              "\"timeout_seconds\":0"), "met\\\":false");
    all_ask(&r, LOOKERS, WAIT("\"task_id\":\"t\",\"since_seq\":0,"
                              "\"timeout_seconds\":0"), "met\\\":false");
    rig_end(&r, "long histories");
}

/* A batch is one message, whose answers would take 400 MiB. */
static void
test_a_batch_of_reads(void)
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
    CHECK(strstr(c.body.p, "The batch is too large to answer") != NULL);
    free(t.p);
    hang_up(&c);
    rig_end(&r, "a batch of reads");
}

#define WAITERS (SANITIZED ? 30 : 500)

/* What they wait for is large, and then comes: small changes run them all
   again. */
static void
test_a_crowd_of_waiters(void)
{
    struct rig r = rig_new("--port 0 --connections 65536", 8192);
    struct client *c = calloc(WAITERS, sizeof(*c)), w = dial(r.address);
    int64_t from;
    int i, told = 0;

    write_events(&r);
    probe_begin(&r, false);
    for (i = 0; i < WAITERS; i++) {
        c[i] = dial(r.address);
        ask(&c[i], "POST", "/mcp", TYPES,
            WAIT("\"task_id\":\"t\",\"timeout_seconds\":50"));
    }
    for (from = now_us(); metric(&w, "mcp_waiting") < WAITERS;)
        if (!CHECK(now_us() - from < 1000 * DEADLINE_MS))
            break;
    for (i = 0; i < 4; i++)
        CHECK(fetch(&w, "POST", "/mcp", TYPES,
                    CALL("update_task", "\"task_id\":\"t\",\"agent\":"
                         "\"me\",\"dirty\":true")) == 200);
    CHECK(fetch(&w, "POST", "/mcp", TYPES,
                CALL("update_task", "\"task_id\":\"t\",\"status\":"
                     "\"failed\",\"agent\":\"me\"")) == 200);
    for (i = 0; i < WAITERS; i++)
        told += reply_of(&c[i]) == 200 && has(c[i].body.p, "met\\\":true");
    CHECK(told == WAITERS);
    for (i = 0; i < WAITERS; i++)
        hang_up(&c[i]);
    hang_up(&w);
    free(c);
    rig_end(&r, "a crowd of waiters");
}

/* As many as there can be that have had a large request and a large answer,
   and stay. */
static void
test_a_crowd_that_stays(void)
{
    struct rig r = rig_new("--port 0 --connections 65536", 8192);
    struct client *c = calloc(FULL_TABLE, sizeof(*c));
    struct text t = {0};
    int i, served = 0;

    probe_begin(&r, false);
    addf(&t, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\","
         "\"params\":{\"a\":\"");
    add_times(&t, "aaaaaaaaaaaaaaaa", 3800);
    addf(&t, "\"}}");
    for (i = 0; i < FULL_TABLE; i++) {
        c[i] = dial(r.address);
        served += fetch(&c[i], "POST", "/mcp", TYPES, t.p) == 200;
    }
    CHECK(served == FULL_TABLE);
    for (i = 0; i < FULL_TABLE; i++)
        hang_up(&c[i]);
    free(t.p);
    free(c);
    rig_end(&r, "a crowd that stays");
}

/* A CROWD that has 8 MiB each to send, of which the server takes what it has
   room for, and a reply for none. */
static void
test_a_crowd_of_bodies(void)
{
    struct rig r = rig_probed();
    struct client *c = calloc(CROWD, sizeof(*c));
    struct pollfd *p = calloc(CROWD, sizeof(*p));
    struct text t = repeat("[");
    size_t *sent = calloc(CROWD, sizeof(*sent)), i;

    for (i = 0; i < CROWD; i++) {
        c[i] = dial(r.address);
        ask(&c[i], "POST", "/mcp", TYPES "Content-Length: 8388608\r\n", NULL);
        p[i] = (struct pollfd){c[i].fd, POLLOUT, 0};
    }
    while (poll(p, CROWD, 100) > 0)
        for (i = 0; i < CROWD; i++)
            if (p[i].revents != 0 && sent[i] < 8 * MIB - t.len)
                send_more(&c[i], &t, &sent[i]);
            else if (p[i].revents != 0)
                p[i].fd = -1;
    for (i = 0; i < CROWD; i++)
        reset(&c[i]);
    free(t.p);
    free(sent);
    free(p);
    free(c);
    rig_end(&r, "a crowd of bodies");
}

/* Asks for it, and does not read. */
static struct client
ask_for(const struct rig *r, const char *uri)
{
    struct client c = dial_narrow(r);
    char body[512];

    snprintf(body, sizeof(body), "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":"
             "\"resources/read\",\"params\":{\"uri\":\"%s\"}}", uri);
    ask(&c, "POST", "/mcp", TYPES, body);
    return c;
}

static void
test_unread_answers(void)
{
    struct rig r = rig_probed();
    struct client c[UNREAD], good;
    char uri[128];
    int i;

    attach(&r, uri);
    halt(&r, true);
    for (i = 0; i < UNREAD; i++)
        c[i] = ask_for(&r, uri);
    halt(&r, false);
    for (i = 0; i < UNREAD; i++)
        CHECK(can(c[i].fd, POLLIN)); /* a reply has begun */
    for (i = 0; i < UNREAD; i++)
        if (i % 2 == 0)
            reset(&c[i]);
        else
            hang_up(&c[i]);
    good = ask_for(&r, uri);
    CHECK(reply_of(&good) == 200 && good.body.len > 6 * MIB);
    hang_up(&good);
    rig_end(&r, "unread answers");
}

/* ---- streams that nobody reads ---- */

/* Stalled: a session's stream, subscribed to all. */
static struct client
stall_session(const struct rig *r, const struct text *subscribe)
{
    struct client c = dial(r->address), stream = dial_narrow(r);
    char fields[1024];

    session_new(&c, fields);
    CHECK(fetch(&c, "POST", "/mcp", fields, subscribe->p) == 200);
    ask(&stream, "GET", "/mcp", fields, NULL);
    CHECK(status_of(&stream) == 200);
    hang_up(&c);
    return stream;
}

/* Listens to all, on a connection of its own. */
static struct client
listen_to_all(struct client c)
{
    struct text t = {0};
    char *ack;
    int i;

    addf(&t, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":"
         "\"subscriptions/listen\",\"params\":{" META ",\"notifications\":{"
         "\"resourceSubscriptions\":[");
    for (i = 0; i < URIS; i++)
        addf(&t, "%s\"task://%0100d\"", i == 0 ? "" : ",", i);
    addf(&t, "]}}}");
    ask(&c, "POST", "/mcp", TYPES LISTENS, t.p);
    CHECK(status_of(&c) == 200);
    ack = next_event(&c);
    CHECK(ack != NULL && has(ack, "acknowledged"));
    free(ack);
    free(t.p);
    return c;
}

/* Whether it hears of every uri once. */
static bool
hears_all(struct client *c)
{
    char *data;
    int n = 0;

    while (n < URIS && (data = next_event(c)) != NULL) {
        n += strstr(data, "notifications/resources/updated") != NULL;
        free(data);
    }
    return n == URIS;
}

/* Who stalls is cut off, who reads hears all. */
static void
test_stalled_streams(void)
{
    struct rig r = rig_probed();
    struct client c = dial(r.address), good, bad[STALLED];
    struct text create = batch_of_calls("create_task", 0, ",\"title\":\"x\"}"),
                update = batch_of_calls("update_task", 0, ",\"title\":\"y\"}"),
                subscribe = batch("resources/subscribe", "\"uri\":\"task://",
                                  0, "");
    char fields[1024];
    int i;

    session_new(&c, fields);
    CHECK(fetch(&c, "POST", "/mcp", fields, create.p) == 200);
    for (i = 0; i < STALLED; i++)
        bad[i] = i % 2 == 0 ? stall_session(&r, &subscribe)
                            : listen_to_all(dial_narrow(&r));
    good = listen_to_all(dial(r.address));
    CHECK(metric(&c, "http_streams") == STALLED + 1);
    for (i = 0; i < ROUNDS && metric(&c, "http_streams") > 1; i++) {
        CHECK(fetch(&c, "POST", "/mcp", fields, update.p) == 200);
        CHECK(hears_all(&good));
    }
    CHECK(metric(&c, "http_streams") == 1);
    CHECK(metric(&c, "http_held_bytes") < 65536);
    for (i = 0; i < STALLED; i++) {
        CHECK(ends(&bad[i]));
        hang_up(&bad[i]);
    }
    free(create.p);
    free(update.p);
    free(subscribe.p);
    hang_up(&good);
    hang_up(&c);
    rig_end(&r, "stalled streams");
}

/* Each listens to as much as it may, by names as long as can be. */
static void
test_a_crowd_of_listeners(void)
{
    struct rig r = rig_probed();
    struct client c[CROWD];
    struct text t = {0};
    int i;

    addf(&t, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":"
         "\"subscriptions/listen\",\"params\":{" META ",\"notifications\":{"
         "\"resourceSubscriptions\":[");
    for (i = 0; i < 256; i++) {
        addf(&t, "%s\"task://%03d", i == 0 ? "" : ",", i);
        add_times(&t, "%61", 125);
        addf(&t, "\"");
    }
    addf(&t, "]}}}");
    for (i = 0; i < CROWD; i++) {
        c[i] = dial_narrow(&r);
        ask(&c[i], "POST", "/mcp", TYPES LISTENS, t.p);
    }
    for (i = 0; i < CROWD; i++)
        CHECK(status_of(&c[i]) == 200);
    for (i = 0; i < CROWD; i++)
        hang_up(&c[i]);
    free(t.p);
    rig_end(&r, "a crowd of listeners");
}

/* ---- more connections than descriptors ---- */

/* MANY connect and say nothing; who comes last is served, at the cost of who
   came first, or told that there is no room. */
static void
crowd_in(const struct rig *r, int least, int most)
{
    struct client *c = calloc(MANY, sizeof(*c));
    int i, in = 0, status;

    for (i = 0; i < MANY; i++)
        c[i] = dial(r->address);
    ask(&c[MANY - 1], "GET", "/health", "", NULL);
    CHECK(can(c[MANY - 1].fd, POLLIN)); /* behind it nobody is undecided */
    for (i = 0; i < MANY; i++)
        if (is_readable(c[i].fd)) {
            status = reply_of(&c[i]);
            CHECK(status == 0 || status == 503 || i == MANY - 1);
            in += status == 200;
        } else {
            CHECK(is_healthy(&c[i]));
            in++;
        }
    if (!CHECK(in >= least && in <= most))
        fprintf(stderr, "%d let in\n", in);
    for (i = 0; i < MANY; i++)
        if (i % 2 == 0)
            reset(&c[i]);
        else
            hang_up(&c[i]);
    free(c);
}

static void
test_many_connections(void)
{
    static const struct {
        const char *options, *name;
        unsigned files, inherits;
        int least, most;
    } cases[] = {
        {"--http --port 0", "many connections", 8192, 0, 192, 192},
        {"--http --port 0", "many connections, 24 files", 24, 0, 6, 6},
        {"--port 0 --connections 65536", "all connections", 8192, 0, 756, 756},
        /* numbers run out at FD_SETSIZE before the table is full */
        {"--port 0 --connections 65536", "high numbers", 8192, 900, 50, 120},
    };
    int fd[1024];
    unsigned i, k;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct rig r;

        for (k = 0; k < cases[i].inherits; k++)
            fd[k] = open("/dev/null", O_RDWR);
        r = rig_new(cases[i].options, cases[i].files);
        while (k > 0)
            close(fd[--k]);
        probe_begin(&r, false);
        crowd_in(&r, cases[i].least, cases[i].most);
        rig_end(&r, cases[i].name);
    }
}

static void
inherit(bool on)
{
    int i;

    for (i = 0; i < HELD; i++)
        fcntl(held[i], F_SETFD, on ? 0 : FD_CLOEXEC);
}

/* No descriptor is left to accept with: that costs nothing, and who waits is
   served when others have gone. */
static void
test_no_descriptors(void)
{
    struct client c[100];
    struct rig r;
    long ticks, hz = sysconf(_SC_CLK_TCK);
    int i, n = sizeof(c) / sizeof(c[0]);

    inherit(true);
    r = rig_new("--http --port 0", 24);
    inherit(false);
    for (i = 0; i < n; i++) {
        c[i] = dial(r.address);
        ask(&c[i], "GET", "/health", "", NULL);
    }
    CHECK(status_of(&c[0]) == 200 && !is_readable(c[n - 1].fd));
    ticks = cpu_ticks(r.s.pid);
    poll(NULL, 0, 1000);
    ticks = ticks < 0 ? 0 : cpu_ticks(r.s.pid) - ticks;
    idle_percent = ticks * 100 / hz;
    CHECK(idle_percent < 50);
    CHECK(!is_readable(c[n - 1].fd));
    hang_up(&c[0]);
    for (i = 1; i < n; i++) {
        CHECK(reply_of(&c[i]) == 200);
        hang_up(&c[i]);
    }
    rig_end(&r, "no descriptors");
}

/* ---- slow clients ---- */

#define TICK_MS 100

/* What they send: a text at once, another a byte at a time, then the last
   byte again and again, or nothing. */
static const struct pace {
    const char *first, *then;
    bool again;
    int status; /* that comes in the end; 0: it reads as slowly */
} paces[] = {
    {"", GET("/health", "Connection: close\r\n"), false, 200},
    {"", "GET /aaaa", true, 408},
    {"", "G", false, 408},
    {"GET /health HTTP/1.1\r\n" HOST, "X: aaa", true, 408},
    {POST("Content-Length: 1000\r\n"), "{     ", true, 408},
    {POST("Content-Length: 1000\r\n") "{", "", false, 408},
    {POST(CHUNKED) "3e8\r\n", "{     ", true, 408},
    {POST(CHUNKED), "1;aaaaaa", true, 408},
    {POST(CHUNKED) "0\r\n", "X:aaaaaa", true, 408},
    {"", "", false, 0},
};
#define PACES (sizeof(paces) / sizeof(paces[0]))

struct slow {
    const struct pace *pace;
    struct client c;
    size_t sent; /* of then */
    bool done;
};

static struct slow
slow_new(const struct rig *r, const struct pace *p, const char *uri)
{
    struct slow s = {.pace = p};

    s.c = p->status == 0 ? ask_for(r, uri) : dial(r->address);
    send_z(&s.c, p->first);
    return s;
}

static void
slow_tick(struct slow *s)
{
    const char *then = s->pace->then;
    size_t len = strlen(then), at = s->sent++;
    char byte;

    if (s->done)
        return;
    if (s->pace->status == 0)
        s->done = is_readable(s->c.fd) && read(s->c.fd, &byte, 1) != 1;
    else if (at < len || s->pace->again)
        send_bytes(&s->c, at < len ? then + at : then + len - 1, 1);
}

static void
slow_reply(struct slow *s)
{
    int status = status_of(&s->c);

    s->done = true;
    if (!CHECK(status == s->pace->status))
        fprintf(stderr, "%s%s: %d\n", s->pace->first, s->pace->then, status);
}

/* All of them, until each has got its reply: how many did not get theirs. */
static int
run_slow_clients(const struct rig *r, const char *uri)
{
    struct slow s[SLOW];
    struct pollfd p[SLOW];
    int64_t tick_us = now_us(), end_us = tick_us + 1000 * DEADLINE_MS;
    int i, left;

    for (i = 0; i < SLOW; i++)
        s[i] = slow_new(r, &paces[(size_t)i % PACES], uri);
    do {
        left = 0;
        for (i = 0; i < SLOW; i++) {
            bool waits = !s[i].done && s[i].pace->status != 0;

            left += waits;
            p[i] = (struct pollfd){waits ? s[i].c.fd : -1, POLLIN, 0};
        }
        poll(p, SLOW, TICK_MS);
        for (i = 0; i < SLOW; i++)
            if (p[i].fd >= 0 && p[i].revents != 0)
                slow_reply(&s[i]);
        for (i = 0; i < SLOW && now_us() >= tick_us; i++)
            slow_tick(&s[i]);
        if (i == SLOW)
            tick_us += 1000 * TICK_MS;
    } while (left > 0 && now_us() < end_us);
    return left + test_failed;
}

/* Goes on beside the other tests, since it takes as long as the server gives
   to a request. */
static pid_t
begin_slow_clients(struct rig *r)
{
    char uri[128];
    pid_t pid;

    *r = rig_probed();
    attach(r, uri);
    fflush(NULL);
    pid = fork();
    if (pid == 0)
        _exit(run_slow_clients(r, uri) != 0);
    return pid;
}

static void
end_slow_clients(struct rig *r, pid_t pid)
{
    int status;

    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
    rig_end(r, "slow clients");
}

/* How many descriptors there may be, of 8192. */
static unsigned
take_files(void)
{
    struct rlimit l;

    getrlimit(RLIMIT_NOFILE, &l);
    l.rlim_cur = l.rlim_max < 8192 ? l.rlim_max : 8192;
    setrlimit(RLIMIT_NOFILE, &l);
    return (unsigned)l.rlim_cur;
}

int
main(int argc, char **argv)
{
    struct rig slow;
    pid_t pid;
    int i;

    product = binary = argc > 1 ? argv[1] : getenv("MCPTASK");
    if (binary == NULL) {
        fprintf(stderr, "usage: t_abuse MCPTASK\n");
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    for (i = 0; i < HELD; i++)
        held[i] = open("/dev/null", O_RDWR | O_CLOEXEC);
    pid = begin_slow_clients(&slow);
    test_smuggling();
    test_endless_requests();
    test_vanishing_clients();
    test_vanishing_waiters();
    test_large_json();
    test_batches();
    test_a_crowd_of_tokens();
    test_a_crowd_of_searches();
    test_a_long_queue();
    test_a_crowd_of_bodies();
    test_long_histories();
    test_a_batch_of_reads();
    test_a_crowd_of_listeners();
    test_unread_answers();
    test_stalled_streams();
    test_no_descriptors();
    if (take_files() > MANY + 100) {
        test_a_crowd_of_waiters();
        test_a_crowd_that_stays();
        test_many_connections();
    }
    end_slow_clients(&slow, pid);
    printf("abuse: /health took at most %lld ms (%s), the end %lld ms, memory "
           "%ld KiB, idle %ld%%\n", (long long)worst_us / 1000, worst_what,
           (long long)worst_end_us / 1000, worst_kib, idle_percent);
    return test_end("abuse");
}
