/* The real binary, its path in argv[1] or MCPTASK, and many clients at once:
   all with the same request, all waiting, or more of them than there are
   descriptors. */

#include "tests/lib/abuse.h"

#define MANY 2000       /* connections */
#define FULL_TABLE 1000 /* clients beside the probe: all that select allows */

static long idle_percent;

/* n clients send body except its last byte, then all of them the last byte. */
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
TEST(a_crowd_of_tokens)
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

/* A store of 1.5 MiB of tasks, and a search for something not in them. */
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

TEST(a_crowd_of_searches)
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

/* One client sends many searches, then creates a task. A client that comes
   after all of that is served before the task. */
TEST(a_long_queue)
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

/* Each client of a CROWD has 8 MiB to send. The server takes what it has room
   for. */
TEST(a_crowd_of_bodies)
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
        for (i = 0; i < CROWD; i++) {
            if (p[i].revents != 0)
                send_more(&c[i], &t, &sent[i]);
            if (c[i].fd < 0 || sent[i] >= 8 * MIB - t.len)
                p[i].fd = -1;
        }
    for (i = 0; i < CROWD; i++)
        reset(&c[i]);
    free(t.p);
    free(sent);
    free(p);
    free(c);
    rig_end(&r, "a crowd of bodies");
}

#define WAITERS (SANITIZED ? 30 : 500)

/* They wait for something large that then comes: small changes run them all
   again. */
static void
test_a_crowd_of_waiters(void)
{
    struct rig r = rig_new("--port 0 --connections 1008", 8192);
    struct client *c = calloc(WAITERS, sizeof(*c)), w;
    int64_t from;
    long waiting;
    int i, told = 0;

    write_events(&r);
    w = dial(r.address); /* only now: the server closes one that is silent */
    probe_begin(&r, false);
    for (i = 0; i < WAITERS; i++) {
        c[i] = dial(r.address);
        ask(&c[i], "POST", "/mcp", TYPES,
            WAIT("\"task_id\":\"t\",\"timeout_seconds\":50"));
    }
    for (from = now_us(); (waiting = metric(&w, "mcp_waiting")) < WAITERS;)
        if (!CHECK(waiting >= 0 && now_us() - from < 1000 * DEADLINE_MS))
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

/* As many clients as possible, which stay after a large request and a large
   answer. */
static void
test_a_crowd_that_stays(void)
{
    struct rig r = rig_new("--port 0 --connections 1008", 8192);
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

/* ---- more connections than descriptors ---- */

/* MANY connect and send nothing. The last one is served, at the cost of the
   first, or told that there is no room. */
static void
crowd_in(const struct rig *r, int least, int most)
{
    struct client *c = calloc(MANY, sizeof(*c));
    int i, in = 0, status;

    for (i = 0; i < MANY; i++)
        c[i] = dial(r->address);
    ask(&c[MANY - 1], "GET", "/health", "", NULL);
    CHECK(can(c[MANY - 1].fd, POLLIN)); /* by then all others are decided */
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
        {"--port 0 --connections 1008", "all connections", 8192, 0, 756, 756},
        /* descriptors reach FD_SETSIZE before the table is full */
        {"--port 0 --connections 1008", "high numbers", 8192, 900, 50, 120},
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

/* No descriptor is left to accept with: that costs nothing, and those who wait
   are served once others have left. */
TEST(no_descriptors)
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

int
main(int argc, char **argv)
{
    if (!abuse_begin(argc, argv))
        return 2;
    test_run();
    if (take_files() > MANY + 100) {
        test_a_crowd_of_waiters();
        test_a_crowd_that_stays();
        test_many_connections();
    }
    printf("crowd: idle %ld%%\n", idle_percent);
    return abuse_end("crowd");
}
