/* The real binary, its path in argv[1] or MCPTASK, and clients that read slowly
   or not at all, or that get a lot to read. */

#include "tests/lib/abuse.h"

#define UNREAD (SANITIZED ? 10 : 50) /* large answers */
#define SLOW 50

/* ---- answers that nobody reads ---- */

/* Asks for uri and does not read. */
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

TEST(unread_answers)
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
        CHECK(can(c[i].fd, POLLIN)); /* the reply has begun */
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

/* A session's stream, subscribed to everything, that stalls. */
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

/* Listens to everything, on a connection of its own. */
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

/* Whether it is told of every uri once. */
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

/* A client that stalls is cut off, one that reads gets everything. */
TEST(stalled_streams)
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
    for (i = 0; i < ROUNDS && (i % 20 || metric(&c, "http_streams") > 1);
         i++) {
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

/* Each listens to as much as it may, by the longest possible names. */
TEST(a_crowd_of_listeners)
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

/* ---- long histories ---- */

/* Sends body as n clients, all in one turn, and reads their answers. */
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

/* Reads and waits that have to examine all events. */
TEST(long_histories)
{
    struct rig r = rig_new("--http --port 0", 0);

    write_events(&r);
    probe_begin(&r, true);
    all_ask(&r, READERS, RPC(1, "resources/read",
                             "{\"uri\":\"task://t/history\"}"),
            "truncated\\\":true,\\\"next_cursor");
    all_ask(&r, READERS, RPC(1, "resources/read",
                             "{\"uri\":\"task:///history\"}"),
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

/* ---- slow clients ---- */

#define TICK_MS 100

/* What they send: one text at once, another a byte at a time, then the last
   byte over and over, or nothing. */
static const struct pace {
    const char *first, *then;
    bool again;
    int status; /* of the reply; 0: it only reads slowly */
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
    size_t sent; /* at that time */
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

/* Runs them until each has its reply. Returns how many did not get one. */
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

/* Runs beside the other tests, since it takes as long as the server allows for
   a request. */
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

int
main(int argc, char **argv)
{
    struct rig slow;
    pid_t pid;

    if (!abuse_begin(argc, argv))
        return 2;
    pid = begin_slow_clients(&slow);
    test_run();
    end_slow_clients(&slow, pid);
    return abuse_end("unread");
}
