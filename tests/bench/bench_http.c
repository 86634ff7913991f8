/* bench_http - whether mcptask is fast enough over HTTP.

   usage: bench_http [--quick] [--tasks N] MCPTASK [MEASURE...]

   As in bench, each figure is a ratio to something measured in the same rounds,
   and none fails the run. N is for bench only.

   1. One load drives every HTTP server here, with the same bytes except for
      the session's id, so that it costs both sides of a ratio the same. It is
      a closed loop: each connection has one request in flight.
   2. An answer counts when it is whole, its status is 200 and it is a result,
      not an error. nginx returns an answer that mcptask gave.
   3. What is measured against nginx or redis-server is left out if that is not
      installed. They listen on loopback only, keep their files in the bench's
      own directory, and end with it. */

#include "tests/bench/bench_rig.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>
#include <unistd.h>

#define MAX_CONNS 64
#define TASKS 100       /* to read */
#define GOAL_LEN 1700   /* so that a task is about 2 KB */
#define IDLE 1000       /* streams */
#define IDLE_CONNS 4    /* beside them: select holds 1,024 descriptors */
#define DEADLINE_MS 10000
#define READ_SIZE 16384
#define DIGITS 7        /* of every number that changes in a request */
#define FIRST_ID 1000000

struct server {
    struct rig_child child;
    uint16_t port;
};

/* ---- a connection ---- */

struct conn {
    int fd;
    struct buf rx;      /* the part of the answer that was read */
    struct str body;    /* of a whole one, in rx */
    struct buf request; /* the next one; its numbers are overwritten */
    size_t id_at, task_at;
    uint64_t id;
    double asked;
    char session[128];
};

static void
conn_open(struct conn *c, const struct server *s)
{
    memset(c, 0, sizeof(*c));
    c->id = FIRST_ID;
    c->fd = rig_connect(s->port);
    if (c->fd < 0)
        rig_die("connect: %s", strerror(errno));
}

static void
conn_close(struct conn *c)
{
    close(c->fd);
    buf_fini(&c->rx);
    buf_fini(&c->request);
}

/* The value of a field in the head of an answer, or an empty one. */
static struct str
field(struct str head, const char *name)
{
    size_t n = strlen(name);

    while ((head = rig_behind(head, "\r\n")).p != NULL)
        if (head.len > n && head.p[n] == ':' &&
            strncasecmp(head.p, name, n) == 0) {
            size_t at = n + 1 + (head.p[n + 1] == ' ');
            struct str end = rig_behind(head, "\r\n");

            return (struct str){head.p + at, head.len - at - end.len - 2};
        }
    return STR("");
}

/* Reads once. */
static void
hear(struct conn *c)
{
    char *room = buf_room(&c->rx, READ_SIZE);
    ssize_t n = room != NULL ? read(c->fd, room, READ_SIZE) : -1;

    if (n < 0 && errno == EINTR)
        return;
    if (n <= 0)
        rig_die("no answer comes: %s", n < 0 ? strerror(errno) : "closed");
    c->rx.len += (size_t)n;
}

/* Whether the answer in rx is complete; if so, sets *head and c->body. */
static bool
is_whole(struct conn *c, struct str *head)
{
    struct str all = buf_view(&c->rx), len;
    uint64_t n = 0;

    c->body = rig_behind(all, "\r\n\r\n");
    if (c->body.p == NULL)
        return false;
    *head = (struct str){all.p, all.len - c->body.len - 2};
    len = field(*head, "content-length");
    if (len.len > 0 ? !str_u64(len, &n)
                    : rig_behind(*head, " 202 ").p == NULL)
        rig_die("an answer without a length: %.*s", STR_ARG(*head));
    if (c->body.len > n)
        rig_die("more than was asked for: %.*s", STR_ARG(all));
    return c->body.len == n;
}

/* Reads once. Returns whether an answer is complete; it must be good (2). */
static bool
take_answer(struct conn *c)
{
    struct str head;

    hear(c);
    if (!is_whole(c, &head))
        return false;
    if (!str_starts(head, "HTTP/1.1 200 ") || !rig_is_result(c->body))
        rig_die("refused: %.*s", STR_ARG(buf_view(&c->rx)));
    c->rx.len = 0; /* body stays readable until the next hear */
    return true;
}

/* ---- requests ---- */

/* Puts a POST of body into c->request. */
static void
put_post(struct conn *c, const char *fields, struct str body)
{
    buf_reset(&c->request, 4096);
    buf_printf(&c->request, "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n"
               "Content-Type: application/json\r\n"
               "Accept: application/json, text/event-stream\r\n%s"
               "Content-Length: %zu\r\n\r\n", fields, body.len);
    buf_str(&c->request, body);
    if (c->request.err != 0)
        rig_die("no memory");
}

/* Sends c->request. Returns the head of the answer, whatever its status. */
static struct str
exchange(struct conn *c)
{
    struct str head;

    c->rx.len = 0;
    rig_send(c->fd, buf_view(&c->request));
    do
        hear(c);
    while (!is_whole(c, &head));
    return head;
}

#define SESSION \
    "Mcp-Session-Id: %s\r\nMCP-Protocol-Version: 2025-11-25\r\n"

/* Opens a session for what follows on c. */
static void
handshake(struct conn *c)
{
    char fields[512];
    struct str id;

    put_post(c, "", STR("{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":"
                        "\"initialize\",\"params\":{\"protocolVersion\":"
                        "\"2025-11-25\",\"capabilities\":{},\"clientInfo\":"
                        "{\"name\":\"bench\",\"version\":\"1\"}}}"));
    id = field(exchange(c), "mcp-session-id");
    if (id.len == 0 || id.len >= sizeof(c->session))
        rig_die("no session: %.*s", STR_ARG(buf_view(&c->rx)));
    memcpy(c->session, id.p, id.len);
    snprintf(fields, sizeof(fields), SESSION, c->session);
    put_post(c, fields, STR("{\"jsonrpc\":\"2.0\",\"method\":"
                            "\"notifications/initialized\"}"));
    exchange(c);
    c->rx.len = 0;
}

/* What a request calls, and how. */
struct call {
    const char *tool;
    const char *id;   /* of the task, before its number */
    const char *more; /* more arguments after a comma, or "" */
    bool stateless;   /* 2026-07-28 in place of a session of 2025-11-25 */
};

#define STATELESS \
    "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\n" \
    "Mcp-Name: %s\r\n"
#define META \
    ",\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":" \
    "\"2026-07-28\",\"io.modelcontextprotocol/clientInfo\":{\"name\":" \
    "\"bench\",\"version\":\"1\"}," \
    "\"io.modelcontextprotocol/clientCapabilities\":{}}"

/* Has c->request call that, with places for the numbers of its JSON-RPC id
   and of its task. */
static void
put_call(struct conn *c, const struct call *call)
{
    char fields[512];
    struct buf b = {0};
    size_t id_at, task_at;

    buf_z(&b, "{\"jsonrpc\":\"2.0\",\"id\":");
    id_at = b.len;
    buf_printf(&b, "%07d,\"method\":\"tools/call\",\"params\":{\"name\":"
               "\"%s\",\"arguments\":{\"task_id\":\"%s", 0, call->tool,
               call->id);
    task_at = b.len;
    buf_printf(&b, "%07d\"%s}%s}}", 0, call->more,
               call->stateless ? META : "");
    snprintf(fields, sizeof(fields), call->stateless ? STATELESS : SESSION,
             call->stateless ? call->tool : c->session);
    put_post(c, fields, buf_view(&b));
    c->id_at = c->request.len - b.len + id_at;
    c->task_at = c->request.len - b.len + task_at;
    buf_fini(&b);
}

static void
put_number(struct conn *c, size_t at, uint64_t v)
{
    for (size_t i = DIGITS; i > 0; i--, v /= 10)
        c->request.p[at + i - 1] = (char)('0' + v % 10);
}

static void
ask(struct conn *c, uint64_t task, double now)
{
    put_number(c, c->id_at, c->id++);
    put_number(c, c->task_at, task);
    c->asked = now;
    rig_send(c->fd, buf_view(&c->request));
}

/* ---- the load ---- */

struct load {
    struct conn conn[MAX_CONNS];
    size_t n;
    bool adds;       /* each call adds a task; else it reads one */
    uint64_t tasks;
    double *took;    /* seconds for each answer of the last run */
    size_t n_took, cap_took;
};

/* n connections to s; each with a session of its own, or with that of the
   server whose answers this one gives. */
static void
load_open(struct load *l, const struct server *s, size_t n,
          const struct call *call, const char *session)
{
    memset(l, 0, sizeof(*l));
    l->n = n;
    l->tasks = TASKS;
    for (size_t i = 0; i < n; i++) {
        struct conn *c = &l->conn[i];

        conn_open(c, s);
        if (session != NULL)
            snprintf(c->session, sizeof(c->session), "%s", session);
        else if (!call->stateless)
            handshake(c);
        put_call(c, call);
    }
}

static void
load_close(struct load *l)
{
    for (size_t i = 0; i < l->n; i++)
        conn_close(&l->conn[i]);
    free(l->took);
}

static uint64_t
next_task(struct load *l)
{
    return l->adds ? l->tasks++ : rig_any(l->tasks);
}

static void
note(struct load *l, double took)
{
    if (l->n_took == l->cap_took) {
        l->cap_took = l->cap_took * 2 + 4096;
        l->took = realloc(l->took, l->cap_took * sizeof(*l->took));
        if (l->took == NULL)
            rig_die("no memory");
    }
    l->took[l->n_took++] = took;
}

static double
run_load(void *ctx, double seconds)
{
    struct load *l = ctx;
    struct pollfd fd[MAX_CONNS];
    double from = rig_now(), now = from;
    size_t live = l->n;

    l->n_took = 0;
    for (size_t i = 0; i < l->n; i++) {
        fd[i] = (struct pollfd){.fd = l->conn[i].fd, .events = POLLIN};
        ask(&l->conn[i], next_task(l), now);
    }
    while (live > 0) {
        if (poll(fd, l->n, DEADLINE_MS) < 1)
            rig_die("no answer comes");
        for (size_t i = 0; i < l->n; i++) {
            if (fd[i].revents == 0 || !take_answer(&l->conn[i]))
                continue;
            now = rig_now();
            note(l, now - l->conn[i].asked);
            if (now - from < seconds) {
                ask(&l->conn[i], next_task(l), now);
            } else {
                fd[i].fd = -1;
                live--;
            }
        }
    }
    return (double)l->n_took / (now - from);
}

/* Reports the 99th percentile beside the median. */
static void
report_tail(struct load *l, const char *what, double seconds)
{
    double median, p99;

    run_load(l, seconds);
    median = rig_median(l->took, l->n_took);
    p99 = l->took[l->n_took * 99 / 100];
    rig_report(what, p99 / median, "p99 by the median", "<=", 5,
               "%.0f us to %.0f us, at most %.0f us; %zu answers", p99 * 1e6,
               median * 1e6, l->took[l->n_took - 1] * 1e6, l->n_took);
}

/* ---- servers ---- */

static void
mcptask_start(const struct rig_run *run, struct server *s, const char *base)
{
    static const char says[] = "mcptask: http://127.0.0.1:";
    const char *const argv[] = {run->mcptask, "--http", "--port", "0",
                                "--connections", "1008", NULL};
    struct str line;
    uint64_t port = 0;

    rig_serve(&s->child, argv, base);
    line = rig_line(&s->child);
    if (!str_starts(line, says) ||
        !str_u64((struct str){line.p + sizeof(says) - 1,
                              line.len - (sizeof(says) - 1)}, &port) ||
        port == 0 || port > UINT16_MAX)
        rig_die("no address: %.*s", STR_ARG(line));
    s->port = (uint16_t)port;
}

/* Starts a server that does not report that it listens. False: it does not. */
static bool
other_start(struct server *s, const char *const *argv, const char *what)
{
    double from = rig_now();
    int fd;

    rig_serve(&s->child, argv, NULL);
    while ((fd = rig_connect(s->port)) < 0 && rig_now() - from < 5)
        poll(NULL, 0, 5);
    if (fd >= 0) {
        close(fd);
        return true;
    }
    printf("%-20s does not start: left out\n", what);
    return false;
}

/* Its path, valid until the next call, or NULL. */
static const char *
program(const char *name)
{
    const char *path = rig_find(name);

    if (path == NULL)
        printf("%-20s is not installed: left out\n", name);
    return path;
}

/* Writes body for nginx's configuration: as variables, since a text there has
   at most 4,096 bytes. */
static void
put_static(struct buf *b, struct str body)
{
    size_t n = 0;

    for (size_t i = 0; i < body.len; i++) {
        if (i % 1500 == 0)
            buf_printf(b, "%sset $b%zu '", i > 0 ? "'; " : "", n++);
        if (body.p[i] == '\\' || body.p[i] == '\'')
            buf_char(b, '\\');
        if (body.p[i] == '$')
            rig_die("a body that nginx cannot return");
        buf_char(b, body.p[i]);
    }
    buf_z(b, "'; return 200 \"");
    for (size_t i = 0; i < n; i++)
        buf_printf(b, "${b%zu}", i);
    buf_z(b, "\";");
}

/* Its configuration: one worker, its only process, that returns body for
   every request and does nothing else. */
static void
nginx_configure(const struct server *s, const char *dir, const char *conf,
                struct str body)
{
    static const char *const temps[] = {"client_body", "proxy", "fastcgi",
                                        "uwsgi", "scgi"};
    struct buf b = {0};
    FILE *f = fopen(conf, "w");

    buf_printf(&b, "daemon off; master_process off; pid %s/pid;\n"
               "error_log stderr crit;\nevents { worker_connections 256; }\n"
               "http {\naccess_log off; keepalive_requests 1000000000;\n"
               "keepalive_timeout 1h; tcp_nodelay on;\n"
               "default_type application/json;\n", dir);
    for (size_t i = 0; i < sizeof(temps) / sizeof(temps[0]); i++)
        buf_printf(&b, "%s_temp_path %s;\n", temps[i], dir);
    buf_printf(&b, "server { listen 127.0.0.1:%u; location / {\n",
               (unsigned)s->port);
    put_static(&b, body);
    buf_z(&b, "\n}}}\n");
    if (b.err != 0 || f == NULL || fwrite(b.p, 1, b.len, f) != b.len ||
        fclose(f) != 0)
        rig_die("%s: cannot be written", conf);
    buf_fini(&b);
}

static bool
nginx_start(struct server *s, struct str body)
{
    const char *path = program("nginx");
    char *dir, conf[4200];
    bool ok;

    if (path == NULL)
        return false;
    dir = rig_make("nginx");
    snprintf(conf, sizeof(conf), "%s/conf", dir);
    const char *const argv[] = {path, "-p", dir, "-c", conf, NULL};
    s->port = rig_free_port();
    nginx_configure(s, dir, conf, body);
    ok = other_start(s, argv, "nginx");
    free(dir);
    return ok;
}

static bool
redis_start(struct server *s)
{
    const char *path = program("redis-server");
    char *dir, port[8];
    bool ok;

    if (path == NULL)
        return false;
    dir = rig_make("redis");
    s->port = rig_free_port();
    snprintf(port, sizeof(port), "%u", (unsigned)s->port);
    const char *const argv[] = {
        path, "--bind", "127.0.0.1", "--port", port, "--dir", dir,
        "--appendonly", "yes", "--appendfsync", "always", "--save", "",
        "--daemonize", "no", "--logfile", "", "--loglevel", "warning", NULL};
    ok = other_start(s, argv, "redis-server");
    free(dir);
    return ok;
}

/* ---- measures ---- */

static const struct call get = {"get_task", "r", "", false};
static const struct call get_stateless = {"get_task", "r", "", true};
static const struct call create = {"create_task", "c",
                                   ",\"title\":\"measured\"", false};

/* Adds the tasks that get reads. */
static void
add_tasks(const struct server *s)
{
    static const char line[] = "Every step is \\\"done\\\" once it is shown"
                               " to work, and not before.\\n";
    struct call call = {"create_task", "r", NULL, false};
    struct conn c;
    struct buf more = {0};

    buf_z(&more, ",\"title\":\"a task\",\"goal\":\"");
    while (more.len < GOAL_LEN)
        buf_z(&more, line);
    buf_put(&more, "\"", 2); /* with its NUL */
    if (more.err != 0)
        rig_die("no memory");
    call.more = more.p;
    conn_open(&c, s);
    handshake(&c);
    put_call(&c, &call);
    for (uint64_t i = 0; i < TASKS; i++) {
        ask(&c, i, 0);
        while (!take_answer(&c))
            ;
    }
    conn_close(&c);
    buf_fini(&more);
}

/* Reads over n connections, compared with nginx returning such an answer. */
static void
reads_over(const struct rig_run *run, const struct server *s,
           const struct server *nginx, const struct call *call, size_t n)
{
    struct load l, other;
    char what[32];

    load_open(&l, s, n, call, NULL);
    load_open(&other, nginx, n, call, l.conn[0].session);
    snprintf(what, sizeof(what), "reads%s, %zu", call->stateless ?
             " stateless" : "", n);
    rig_race(run, what, (struct rig_side){run_load, &l},
             (struct rig_side){run_load, &other}, "of nginx", 0.7);
    load_close(&l);
    load_close(&other);
}

/* Both servers on one core, the load on another, or all where they like. */
static void
measure_reads(const struct rig_run *run)
{
    char *base = rig_make("reads");
    struct server s, nginx;
    struct load l;
    struct str body;

    rig_keep_to(RIG_LAST);
    mcptask_start(run, &s, base);
    add_tasks(&s);
    load_open(&l, &s, 1, &get, NULL);
    ask(&l.conn[0], 0, 0);
    while (!take_answer(&l.conn[0]))
        ;
    body = l.conn[0].body;
    printf("%-20s %8zu bytes\n", "body of a read", body.len);
    bool ok = nginx_start(&nginx, body);
    load_close(&l);
    rig_keep_to(RIG_FIRST);
    if (ok) {
        reads_over(run, &s, &nginx, &get, 1);
        reads_over(run, &s, &nginx, &get, 16);
        reads_over(run, &s, &nginx, &get, 64);
        reads_over(run, &s, &nginx, &get_stateless, 64);
        rig_end(&nginx.child);
    }
    load_open(&l, &s, 64, &get, NULL);
    report_tail(&l, "reads' tail, 64", 4 * run->round_s);
    load_close(&l);
    rig_keep_to(RIG_ANY);
    rig_end(&s.child);
    free(base);
}

struct redis {
    const struct server *s;
    const char *benchmark; /* path of it */
    double rate;           /* of the last run */
};

static double
run_redis(void *ctx, double seconds)
{
    struct redis *r = ctx;
    char port[8], n[24];
    const char *const argv[] = {
        r->benchmark, "-h", "127.0.0.1", "-p", port, "-t", "set", "-c", "64",
        "-d", "300", "-n", n, "--csv", NULL};
    static const char test[] = "\"SET\",\"";
    struct rig_child c;
    struct str line;

    snprintf(port, sizeof(port), "%u", (unsigned)r->s->port);
    snprintf(n, sizeof(n), "%.0f", 1000 + r->rate * seconds);
    rig_start(&c, argv, NULL);
    do
        line = rig_line(&c);
    while (!str_starts(line, test));
    r->rate = strtod(line.p + sizeof(test) - 1, NULL);
    rig_stop(&c);
    return r->rate;
}

static void
creates_against_redis(const struct rig_run *run, struct load *l)
{
    const char *path = program("redis-benchmark");
    char *benchmark = path != NULL ? strdup(path) : NULL;
    struct server s;
    struct redis redis = {&s, benchmark, 0};

    if (benchmark != NULL && redis_start(&s)) {
        run_redis(&redis, 0); /* finds how many a round takes */
        rig_race(run, "creates, 64", (struct rig_side){run_load, l},
                 (struct rig_side){run_redis, &redis}, "of redis, synced",
                 0.8);
        rig_end(&s.child);
    }
    free(benchmark);
}

static void
measure_creates(const struct rig_run *run)
{
    static const struct call single = {"create_task", "s",
                                       ",\"title\":\"measured\"", false};
    char *base = rig_make("creates");
    struct server s;
    struct load many, one;

    mcptask_start(run, &s, base);
    load_open(&many, &s, 64, &create, NULL);
    load_open(&one, &s, 1, &single, NULL);
    many.adds = one.adds = true;
    rig_race(run, "creates, 64", (struct rig_side){run_load, &many},
             (struct rig_side){run_load, &one}, "of one at a time", 6);
    report_tail(&many, "creates' tail, 64", 4 * run->round_s);
    creates_against_redis(run, &many);
    load_close(&many);
    load_close(&one);
    rig_end(&s.child);
    free(base);
}

/* Opens a stream of events and waits for the first. */
static void
stream_open(struct conn *c, const struct server *s)
{
    conn_open(c, s);
    rig_send(c->fd, STR("GET /sse HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                    "Accept: text/event-stream\r\n\r\n"));
    do
        hear(c);
    while (rig_behind(buf_view(&c->rx), "event: endpoint").p == NULL);
    if (!str_starts(buf_view(&c->rx), "HTTP/1.1 200 "))
        rig_die("no stream: %.*s", STR_ARG(buf_view(&c->rx)));
    buf_fini(&c->rx);
}

/* Two equal servers under the same load, one of them with idle streams. */
static void
measure_idle(const struct rig_run *run)
{
    static struct conn streams[IDLE];
    char *base[2] = {rig_make("idle"), rig_make("none")};
    struct server s[2];
    struct load l[2];
    struct rig_result r;
    uint64_t before, after;

    rig_keep_to(RIG_LAST);
    for (int i = 0; i < 2; i++) {
        mcptask_start(run, &s[i], base[i]);
        add_tasks(&s[i]);
        load_open(&l[i], &s[i], IDLE_CONNS, &get, NULL);
    }
    rig_keep_to(RIG_FIRST);
    run_load(&l[0], run->round_s); /* it grows by what a load needs */
    before = rig_status_kb(&s[0].child, "VmRSS");
    for (int i = 0; i < IDLE; i++)
        stream_open(&streams[i], &s[0]);
    r = rig_compare(run, (struct rig_side){run_load, &l[0]},
                    (struct rig_side){run_load, &l[1]});
    rig_report("1,000 idle streams", r.ratio, "of the rate without", ">=",
               0.95, "%.0f/s to %.0f/s over %d connections; rounds "
               "%.2f-%.2f", r.a, r.b, IDLE_CONNS, r.low, r.high);
    after = rig_status_kb(&s[0].child, "VmRSS");
    if (before > 0)
        rig_report("an idle stream", ((double)after - (double)before) * 1024 /
                   IDLE, "bytes resident", "<=", 4096,
                   "%llu KB, %llu KB before", (unsigned long long)after,
                   (unsigned long long)before);
    for (int i = 0; i < IDLE; i++)
        conn_close(&streams[i]);
    rig_keep_to(RIG_ANY);
    for (int i = 0; i < 2; i++) {
        load_close(&l[i]);
        rig_end(&s[i].child);
        free(base[i]);
    }
}

/* ---- the run ---- */

static const struct rig_measure measures[] = {
    {"http-reads", measure_reads},
    {"http-creates", measure_creates},
    {"http-idle", measure_idle},
    {NULL, NULL},
};

/* Makes room for our ends of the streams. */
static void
raise_limit(void)
{
    struct rlimit r;
    rlim_t want = 2 * IDLE + 256;

    if (getrlimit(RLIMIT_NOFILE, &r) != 0)
        return;
    if (r.rlim_cur < want)
        r.rlim_cur = want < r.rlim_max ? want : r.rlim_max;
    setrlimit(RLIMIT_NOFILE, &r);
}

int
main(int argc, char **argv)
{
    raise_limit();
    return rig_main(argc, argv, measures);
}
