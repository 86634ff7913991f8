#ifndef TEST_ABUSE_H
#define TEST_ABUSE_H

/* Shared by the tests that attack the real binary. While an attack runs, a
   separate probe process requests /health and must get it every time. After the
   attack rig_end checks that the server still answers, used at most MAX_KIB,
   and ends on SIGTERM. Times are printed but not checked. */

#include "tests/lib/client.h"

#include <limits.h>
#include <netinet/tcp.h>
#include <time.h>

/* A sanitized server is slow, and its memory use means nothing. */
#define MAX_KIB (SANITIZED ? LONG_MAX : 64 * 1024)
#define CROWD (SANITIZED ? 60 : 240) /* clients, nearly all that are admitted */
#define HELD 16     /* low descriptors that a server may inherit */
#define MIB ((size_t)1024 * 1024)

#define HOST "Host: localhost\r\n"
#define GET(path, more) "GET " path " HTTP/1.1\r\n" HOST more "\r\n"
#define POST(more) "POST /mcp HTTP/1.1\r\n" HOST TYPES more "\r\n"
#define CHUNKED "Transfer-Encoding: chunked\r\n"
#define PING RPC(1, "ping", "{}")

/* ---- a server and its health probe ---- */

struct rig {
    char *dir;
    struct srv s;
    char address[256];
    pid_t probe;
    int stop, told; /* our ends of two pipes to the probe */
};

static int64_t worst_us, worst_end_us; /* of all rigs */
static const char *worst_what = "nothing";
static long worst_kib;
static const char *product;
static int held[HELD];

static inline int64_t
now_us(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

static inline bool
is_healthy(struct client *c)
{
    return fetch(c, "GET", "/health", "", NULL) == 200 &&
           has(c->body.p, "{\"status\":\"ok\",\"store\":\"");
}

/* Asks until a byte comes from stop. Returns the slowest answer, -1 after a
   wrong one. If fresh, uses a new connection every other time. */
static inline int64_t
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

static inline void
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

static inline void
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

/* The process's peak memory; 0 if the system does not say. */
static inline long
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

/* Its CPU time in clock ticks; -1 if the system does not say. */
static inline long
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

/* Writes a program that runs the product with at most n descriptors. */
static inline void
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

/* files 0: keep the limit of descriptors. */
static inline struct rig
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

static inline struct rig
rig_probed(void)
{
    struct rig r = rig_new("--http --port 0", 0);

    probe_begin(&r, true);
    return r;
}

/* Returns whether it serves a new client, once it has noticed that others
   left. */
static inline bool
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

static inline void
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

static inline void
send_z(struct client *c, const char *z)
{
    send_bytes(c, z, strlen(z));
}

/* Vanishes: bytes in flight are lost, and the server gets a reset. */
static inline void
reset(struct client *c)
{
    struct linger l = {.l_onoff = 1};

    if (c->fd >= 0)
        setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &l, sizeof(l));
    hang_up(c);
}

/* A client with small socket buffers, so that the server has to hold back. */
static inline struct client
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

/* Returns whether the server ends the connection, after sending anything. */
static inline bool
ends(struct client *c)
{
    char byte;

    while (receive(c))
        ;
    return can(c->fd, POLLIN) && recv(c->fd, &byte, 1, 0) <= 0;
}

/* A number in the figures that c has fetched, or -1. */
static inline long
figure(const struct client *c, const char *name)
{
    char line[64];
    const char *at;

    snprintf(line, sizeof(line), "\nmcptask_%s ", name);
    at = strstr(c->body.p, line);
    return at != NULL ? atol(at + strlen(line)) : -1;
}

/* A number from /metrics, or -1. The figures are made anew in time: they count
   the request for those before. */
static inline long
metric(struct client *c, const char *name)
{
    int64_t from = now_us();
    long requests = -1;

    do {
        if (!CHECK(fetch(c, "GET", "/metrics", "", NULL) == 200))
            return -1;
        if (requests < 0)
            requests = figure(c, "http_requests_total");
        if (figure(c, "http_requests_total") > requests)
            return figure(c, name);
    } while (now_us() - from < 1000 * DEADLINE_MS && poll(NULL, 0, 20) == 0);
    return -1;
}

static inline bool
is_readable(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};

    return poll(&p, 1, 0) == 1;
}

/* Returns whether POST /mcp of body gets 200 and an answer that contains
   what. */
static inline bool
posts(const struct rig *r, const char *body, const char *what)
{
    struct client c = dial(r->address);
    bool ok = fetch(&c, "POST", "/mcp", TYPES, body) == 200 &&
              has(c.body.p, what);

    hang_up(&c);
    return ok;
}

/* Sets the fields for each request of a new session that accepts batches. */
static inline void
session_new(struct client *c, char fields[1024])
{
    CHECK(fetch(c, "POST", "/mcp", TYPES,
                RPC(1, "initialize", "{\"protocolVersion\":\"2025-03-26\","
                    "\"capabilities\":{},\"clientInfo\":{\"name\":\"t\","
                    "\"version\":\"1\"}}")) == 200);
    snprintf(fields, 1024, "%sMcp-Session-Id: %.256s\r\n", TYPES,
             field_of(c, "mcp-session-id"));
}

/* ---- what they send ---- */

static inline void
add_times(struct text *t, const char *z, size_t n)
{
    while (n-- > 0)
        add(t, z, strlen(z));
}

/* Repeats it up to 64 KiB or slightly more. */
static inline struct text
repeat(const char *z)
{
    struct text t = {0};

    add_times(&t, z, MIB / 16 / strlen(z) + 1);
    return t;
}

/* Sends the next bytes of the repeated text, as many as fit. */
static inline void
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

#define URIS 64   /* that each stream subscribes to; as many fit into a batch */
#define STALLED 20
#define ROUNDS 400

/* A batch with one message per uri; the task's name is long. */
static inline struct text
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

static inline struct text
batch_of_calls(const char *tool, int from, const char *after)
{
    char before[256];

    snprintf(before, sizeof(before),
             "\"name\":\"%s\",\"arguments\":{\"task_id\":\"", tool);
    return batch("tools/call", before, from, after);
}

#define LISTENS "MCP-Protocol-Version: 2026-07-28\r\n" \
    "Mcp-Method: subscriptions/listen\r\n"
#define LISTEN \
    RPC(1, "subscriptions/listen", "{\"notifications\":{" \
        "\"resourcesListChanged\":true}," META "}")
_Static_assert(sizeof(PING) == 53 && sizeof(LISTEN) == 291, "as said below");

#define CREATE(task) \
    RPC(1, "tools/call", "{\"name\":\"create_task\",\"arguments\":{" \
        "\"task_id\":\"" task "\",\"title\":\"x\"}}")

#define CALL(tool, args) \
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\"," \
    "\"params\":{\"name\":\"" tool "\",\"arguments\":{" args "}}}"

/* Stores an artifact whose answer takes 6 MiB, and cuts out its uri. */
static inline void
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

#define EVENTS (SANITIZED ? 40 : 400) /* of a task, 200 KB each */
#define READERS 20
#define LOOKERS 2
#define WAIT(args) CALL("wait_for_task", "\"until\":\"failed\"," args)

/* A task with large content, followed by small changes. */
static inline void
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

/* Makes the server take everything the crowd sends meanwhile in one turn. */
static inline void
halt(const struct rig *r, bool on)
{
    kill(r->s.pid, on ? SIGSTOP : SIGCONT);
}

/* How many descriptors are allowed, up to 8192. */
static inline unsigned
take_files(void)
{
    struct rlimit l;

    getrlimit(RLIMIT_NOFILE, &l);
    l.rlim_cur = l.rlim_max < 8192 ? l.rlim_max : 8192;
    setrlimit(RLIMIT_NOFILE, &l);
    return (unsigned)l.rlim_cur;
}

/* ---- the program ---- */

/* Takes the binary from argv[1] or MCPTASK; false if neither is set. */
static inline bool
abuse_begin(int argc, char **argv)
{
    int i;

    product = binary = argc > 1 ? argv[1] : getenv("MCPTASK");
    if (binary == NULL) {
        fprintf(stderr, "usage: %s MCPTASK\n", argv[0]);
        return false;
    }
    signal(SIGPIPE, SIG_IGN);
    for (i = 0; i < HELD; i++)
        held[i] = open("/dev/null", O_RDWR | O_CLOEXEC);
    return true;
}

static inline int
abuse_end(const char *name)
{
    printf("%s: /health took at most %lld ms (%s), the end %lld ms, memory "
           "%ld KiB\n", name, (long long)worst_us / 1000, worst_what,
           (long long)worst_end_us / 1000, worst_kib);
    return test_end(name);
}

#endif
