/* Over HTTP: routes and refusals, sessions, streams and their replay, the SSE
   transport; and tools that ask their client or let it come back, with the
   fixture, its path in argv[2]. */

#include "base/base64.h"
#include "tests/lib/web.h"

/* A refusal does not wait for a body that never comes. */
TEST(refuses_before_the_body)
{
    static const char *const heads[] = {
        "Host: evil.example.com\r\nContent-Type: application/json\r\n",
        "Host: localhost\r\nContent-Type: text/plain\r\n"};
    struct rig r = rig_new(NULL);
    size_t i;

    for (i = 0; i < 2; i++) {
        struct client c = dial(r.address);
        char fields[256];

        snprintf(fields, sizeof(fields), "%sContent-Length: 1000000\r\n",
                 heads[i]);
        ask(&c, "POST", "/mcp", fields, NULL);
        CHECK(reply_of(&c) == (i == 0 ? 403 : 415));
        CHECK(!receive(&c)); /* closed */
        hang_up(&c);
    }
    rig_end(&r);
}

TEST(routes_and_refusals)
{
    static const struct {
        const char *method, *path, *fields, *body;
        int status;
        const char *want; /* in the head, or NULL */
    } cases[] = {
        {"GET", "/health", "", NULL, 200, "application/json"},
        {"HEAD", "/health", "", NULL, 200, "ontent-"},
        {"GET", "/ready", "", NULL, 200, NULL},
        {"GET", "/metrics", "", NULL, 200, "text/plain"},
        {"GET", "/", "", NULL, 200, "text/html; charset=utf-8"},
        {"HEAD", "/", "", NULL, 200, "Content-Security-Policy: default-src"},
        {"GET", "/", "Host: evil.example\r\n", NULL, 403, NULL},
        {"GET", "/", "Origin: http://evil.example\r\n", NULL, 403, NULL},
        {"POST", "/", TYPES, "{}", 405, "Allow: GET, HEAD\r\n"},
        {"GET", "/nothing", "", NULL, 404, NULL},
        {"POST", "/register", TYPES, "{}", 404, NULL},
        {"GET", "/register", "", NULL, 404, NULL},
        {"GET", "/.well-known/oauth-protected-resource", "", NULL, 404, NULL},
        {"GET", "/mcp/x", "", NULL, 404, NULL},
        {"PUT", "/mcp", "", NULL, 405, "Allow: POST, GET, DELETE\r\n"},
        {"OPTIONS", "/mcp", "", NULL, 405, "Allow: "},
        {"HEAD", "/mcp", "", NULL, 405, "Allow: "},
        {"POST", "/sse", TYPES, PING, 405, "Allow: GET\r\n"},
        {"POST", "/health", TYPES, "{}", 405, "Allow: GET, HEAD\r\n"},
        {"GET", "/message", "", NULL, 405, "Allow: POST\r\n"},
        {"POST", "/message?clientId=x", TYPES, PING, 404, NULL},
        {"POST", "/message", TYPES, PING, 400, NULL},
        {"GET", "/mcp", STREAM, NULL, 400, NULL},
        {"GET", "/mcp", "Accept: text/html\r\n", NULL, 406, NULL},
        {"GET", "/mcp", STREAM "Mcp-Session-Id: x\r\n", NULL, 404, NULL},
        {"GET", "/mcp", STREAM "MCP-Protocol-Version: 2026-07-28\r\n", NULL,
         405, "Allow: POST\r\n"},
        {"GET", "/mcp", STREAM "Mcp-Session-Id: x\r\n"
         "MCP-Protocol-Version: 2099-01-01\r\n", NULL, 400, NULL},
        {"DELETE", "/mcp", "Mcp-Session-Id: x\r\n"
         "MCP-Protocol-Version:\r\n", NULL, 400, NULL},
        {"POST", "/mcp", "Content-Type: application/json\r\n"
         "Accept: application/json\r\n"
         "Mcp-Method: subscriptions/listen\r\n", PING, 406, NULL},
        {"DELETE", "/mcp", "", NULL, 400, NULL},
        {"DELETE", "/mcp", "Mcp-Session-Id: x\r\n", NULL, 404, NULL},
        {"DELETE", "/mcp", "MCP-Protocol-Version: 2026-07-28\r\n", NULL, 405,
         "Allow: POST\r\n"},
        {"POST", "/mcp", "Content-Type: text/plain\r\n", PING, 415, NULL},
        {"POST", "/mcp", "", PING, 415, NULL},
        {"POST", "/mcp", TYPES "Content-Encoding: gzip\r\n", PING, 415,
         "Accept-Encoding: identity\r\n"},
        {"POST", "/message?clientId=x", TYPES "Content-Encoding: br\r\n",
         PING, 415, NULL},
        {"POST", "/mcp", TYPES "Content-Encoding: Identity\r\n", PING, 200,
         NULL},
        {"POST", "/mcp", "Content-Type: application/json; charset=utf-8\r\n",
         PING, 200, "application/json"},
        {"POST", "/mcp", "Content-Type: application/json\r\n"
         "Accept: text/html\r\n", PING, 406, NULL},
        {"POST", "/mcp", "Content-Type: application/json\r\n" STREAM, PING,
         200, "text/event-stream"},
        {"POST", "/mcp", TYPES, "{", 400, "application/json"},
        {"POST", "/mcp", TYPES, "", 400, NULL},
        {"POST", "/mcp", TYPES "Mcp-Session-Id: x\r\n", PING, 404, NULL},
        {"GET", "/health", "Host: 127.0.0.1:1\r\n", NULL, 200, NULL},
        {"GET", "/health", "Host: [::1]\r\n", NULL, 200, NULL},
        {"GET", "/health", "Host: LOCALHOST:80\r\n", NULL, 200, NULL},
        {"GET", "/health", "Host: localhost:\r\n", NULL, 200, NULL},
        {"GET", "/health", "Host: evil.example.com\r\n", NULL, 403, NULL},
        {"GET", "/health", "Host: localhost.evil.com\r\n", NULL, 403, NULL},
        {"GET", "/health", "Host: 127.0.0.1.evil.com\r\n", NULL, 403, NULL},
        {"GET", "/nothing", "Host: evil.example.com\r\n", NULL, 403, NULL},
        {"GET", "/health", "Origin: http://localhost:3000\r\n", NULL, 200,
         NULL},
        {"GET", "/health", "Origin: https://127.0.0.1\r\n", NULL, 200, NULL},
        {"GET", "/health", "Origin: http://evil.example.com\r\n", NULL, 403,
         NULL},
        {"GET", "/health", "Origin: null\r\n", NULL, 403, NULL},
        {"GET", "/health", "Origin: http://localhost\r\n"
         "Origin: http://localhost\r\n", NULL, 403, NULL},
        {"POST", "/mcp", TYPES "Origin: http://localhost\r\n"
         "Origin: http://evil.example.com\r\n", PING, 403, NULL},
        {"GET", "/health", "Origin: ftp://localhost\r\n", NULL, 403, NULL},
        {"POST", "/mcp", TYPES "Origin: http://evil.example.com\r\n", PING,
         403, NULL},
        {"GET", "/sse", "Host: evil.example.com\r\n" STREAM, NULL, 403, NULL},
        {"GET", "/sse", "Sec-Fetch-Site: cross-site\r\n" STREAM, NULL, 403,
         NULL},
        {"GET", "/metrics", "Sec-Fetch-Site: cross-site\r\n", NULL, 403, NULL},
        {"GET", "/metrics", "Sec-Fetch-Site: cross-site\r\n"
         "Origin: app://it\r\n", NULL, 200, NULL},
        {"GET", "/metrics", "Sec-Fetch-Site: same-origin\r\n", NULL, 200,
         NULL},
        {"GET", "/", "Sec-Fetch-Site: cross-site\r\n", NULL, 200, NULL},
        {"GET", "/health", "Host: localhost\r\nHost: localhost\r\n", NULL, 400,
         NULL},
        {"GET", "/metrics", "Authorization: Bearer x\r\n"
         "authorization: Bearer x\r\n", NULL, 400, NULL},
        {"GET", "/mcp", STREAM "Mcp-Session-Id: x\r\nMcp-Session-Id: x\r\n",
         NULL, 400, "text/plain"},
        {"POST", "/mcp", TYPES "Mcp-Session-Id: x\r\nmcp-session-id: y\r\n",
         PING, 400, "text/plain"},
        {"GET", "/health", "Host: tasks.example.com\r\n", NULL, 200, NULL},
        {"GET", "/health", "Host: tasks.example.com:99\r\n", NULL, 200, NULL},
        {"GET", "/health", "Host: other.example.com:8443\r\n", NULL, 200,
         NULL},
        {"GET", "/health", "Host: other.example.com\r\n", NULL, 403, NULL},
        {"GET", "/health", "Origin: https://tasks.example.com\r\n", NULL, 200,
         NULL},
        {"GET", "/health", "Origin: app://it\r\n", NULL, 200, NULL},
    };
    struct rig r = rig_new("--http --port 0 --allow-host tasks.example.com "
                           "--allow-host other.example.com:8443 "
                           "--allow-origin app://it");
    size_t i;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct client c = dial(r.address);
        int status = fetch(&c, cases[i].method, cases[i].path,
                           cases[i].fields, cases[i].body);

        if (!CHECK(status == cases[i].status))
            fprintf(stderr, "%s %s %s: %d\n", cases[i].method, cases[i].path,
                    cases[i].fields, status);
        CHECK(cases[i].want == NULL || has(c.head, cases[i].want));
        CHECK(strstr(c.head, "Access-Control") == NULL);
        CHECK(status != 415 ||
              (has(c.body.p, "application/json") &&
               has(c.body.p, "without Content-Encoding")));
        hang_up(&c);
    }
    rig_end(&r);
}

/* Whether the figures have this text in time: they may be a second old. */
static bool
figures_have(struct client *c, const char *text)
{
    int i = 0;

    do {
        if (!CHECK(fetch(c, "GET", "/metrics", "", NULL) == 200))
            return false;
    } while (strstr(c->body.p, text) == NULL && i++ < DEADLINE_MS / 20 &&
             poll(NULL, 0, 20) == 0);
    return has(c->body.p, text);
}

TEST(health_ready_metrics)
{
    struct rig r = rig_new(NULL);
    struct client c = dial(r.address);
    char store[64]; /* the member with its id */

    CHECK(fetch(&c, "GET", "/health", "", NULL) == 200);
    CHECK(strcmp(c.body.p, "{\"status\":\"ok\",\"store\":\"\"}") == 0);
    CHECK(fetch(&c, "HEAD", "/health", "", NULL) == 200);
    CHECK(posts(&c, TYPES, CREATE("a"), SAYS("seq", "1")));
    CHECK(fetch(&c, "GET", "/health", "", NULL) == 200);
    CHECK(has(c.body.p, "{\"status\":\"ok\",\"store\":\"") &&
          strlen(c.body.p) == sizeof("{'status':'ok','store':''}") + 31);
    snprintf(store, sizeof(store), "%.*s", 42,
             c.body.p + strlen("{'status':'ok',"));
    CHECK(fetch(&c, "GET", "/ready", "", NULL) == 200);
    CHECK(has(c.body.p, "\"head_seq\":1") && has(c.body.p, "ready"));
    CHECK(has(c.body.p, store));
    CHECK(fetch(&c, "GET", "/metrics", "", NULL) == 200);
    CHECK(has(c.body.p, "# TYPE mcptask_store_keys gauge\n"));
    CHECK(has(c.body.p, "\nmcptask_build_info{version=\""));
    CHECK(has(c.body.p, "# HELP mcptask_http_requests_total Requests received."
              "\n# TYPE mcptask_http_requests_total counter\n"));
    CHECK(has(c.body.p, "\nmcptask_store_stale_seconds 0.000\n"));
    CHECK(has(c.body.p, "\nmcptask_tasks{status=\"open\"} 1\n"));
    CHECK(has(c.body.p, "\nmcptask_store_keys 1\n"));
    CHECK(has(c.body.p, "\nmcptask_http_connections 1\n"));
    CHECK(has(c.body.p, "\nmcptask_calls_oldest_seconds 0\n"));
    CHECK(has(c.body.p, "\n# TYPE mcptask_calls gauge\n"
                        "mcptask_calls{status=\"working\"} 0\n"));
    CHECK(posts(&c, session_new(&c, "").fields,
                RPC(4, "tools/call", "{\"name\":\"request_input\","
                    "\"arguments\":{\"task_id\":\"a\",\"agent\":\"me\","
                    "\"question\":\"Sure?\"},\"task\":{}}"),
                "\"taskId\""));
    CHECK(figures_have(&c, "\nmcptask_calls{status=\"input_required\"} 1\n"));
    CHECK(has(c.body.p, "\nmcptask_calls{status=\"working\"} 0\n"));
    CHECK(posts(&c, TYPES, RPC(5, "tools/call", "{\"name\":\"update_task\","
                               "\"arguments\":{\"task_id\":\"a\","
                               "\"answer\":{\"text\":\"yes\"}}}"),
                SAYS("seq", "")));
    CHECK(figures_have(&c, "\nmcptask_calls{status=\"input_required\"} 0\n"
                           "mcptask_calls{status=\"completed\"} 1\n"));
    hang_up(&c);
    rig_end(&r);
}

TEST(not_ready_on_a_damaged_log)
{
    struct rig r = rig_new(NULL);
    char path[512];
    struct client c;
    FILE *f;

    change(&r, CREATE("a"));
    change(&r, CREATE("b"));
    change(&r, CREATE("c"));
    kill(r.s.pid, SIGTERM);
    CHECK(ended(&r.s) == 0);
    snprintf(path, sizeof(path), "%s/tasks.log", r.dir);
    f = fopen(path, "r+");
    CHECK(f != NULL && fseek(f, 400, SEEK_SET) == 0 && fputc('\1', f) == 1 &&
          fclose(f) == 0);
    rig_begin(&r, "--http --port 0");
    c = dial(r.address);
    CHECK(fetch(&c, "GET", "/ready", "", NULL) == 503);
    CHECK(has(c.body.p, "\"writable\":false") && has(c.body.p, "reason"));
    CHECK(fetch(&c, "GET", "/health", "", NULL) == 200);
    hang_up(&c);
    rig_end(&r);
}

/* A log with two names is read-only: /ready says so before anybody writes, and
   so does a tool. */
TEST(not_ready_with_two_names)
{
    struct rig r = rig_new(NULL);
    char path[512], second[520];
    struct client c = dial(r.address);

    CHECK(posts(&c, TYPES, CREATE("a"), SAYS("seq", "1")));
    snprintf(path, sizeof(path), "%s/tasks.log", r.dir);
    snprintf(second, sizeof(second), "%s.second", path);
    CHECK(link(path, second) == 0);
    CHECK(fetch(&c, "GET", "/ready", "", NULL) == 503);
    CHECK(has(c.body.p, "\"writable\":false") &&
          has(c.body.p, "store_readonly") &&
          has(c.body.p, "a second hard link"));
    CHECK(posts(&c, TYPES, CREATE("b"), "store_readonly"));
    CHECK(has(c.body.p, "a second hard link"));
    CHECK(unlink(second) == 0);
    CHECK(fetch(&c, "GET", "/ready", "", NULL) == 200);
    CHECK(posts(&c, TYPES, CREATE("b"), SAYS("seq", "2")));
    hang_up(&c);
    rig_end(&r);
}

TEST(a_call_without_a_handshake)
{
    struct rig r = rig_new(NULL);
    struct client c = dial(r.address);
    struct text two = {0};

    CHECK(posts(&c, "Content-Type: application/json\r\n", CREATE("a"),
                SAYS("task_id", "\\\"a\\\"")));
    CHECK(field_of(&c, "mcp-session-id") == NULL);
    CHECK(posts(&c, TYPES, UPDATE("a", "1"), SAYS("version", "2")));
    /* two at once, answered in order */
    addf(&two, "POST /mcp/ HTTP/1.1\r\nHost: localhost\r\n%s"
         "Content-Length: %zu\r\n\r\n\xef\xbb\xbf%s", TYPES,
         3 + strlen(CREATE("b")), CREATE("b"));
    addf(&two, "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n");
    send_bytes(&c, two.p, two.len);
    CHECK(reply_of(&c) == 200);
    CHECK(has(c.body.p, SAYS("task_id", "\\\"b\\\"")));
    CHECK(reply_of(&c) == 200);
    CHECK(has(c.body.p, "ok"));
    free(two.p);
    hang_up(&c);
    rig_end(&r);
}

TEST(statuses_of_2026)
{
    static const struct {
        const char *fields, *body;
        int status;
        const char *want;
    } cases[] = {
        {MODERN("server/discover"), RPC(1, "server/discover", "{" META "}"),
         200, "supportedVersions"},
        {MODERN("tools/list"), RPC(1, "tools/list", "{" META "}"), 200,
         "\"resultType\":\"complete\""},
        {MODERN("tools/call") "Mcp-Name: get_task\r\n",
         RPC(1, "tools/call", "{\"name\":\"get_task\",\"arguments\":{"
             "\"task_id\":\"none\"}," META "}"), 200, "not_found"},
        {MODERN("tools/call") "Mcp-Name: other\r\n",
         RPC(1, "tools/call", "{\"name\":\"get_task\",\"arguments\":{"
             "\"task_id\":\"none\"}," META "}"), 400, "-32020"},
        /* Each header once, since a proxy may have read the other one. */
        {MODERN("tools/list") "Mcp-Method: ping\r\n",
         RPC(1, "tools/list", "{" META "}"), 400, "-32020"},
        {MODERN("tools/list") "mcp-method: tools/list\r\n",
         RPC(1, "tools/list", "{" META "}"), 400, "-32020"},
        {MODERN("tools/call") "Mcp-Name: get_task\r\nMcp-Name: other\r\n",
         RPC(1, "tools/call", "{\"name\":\"get_task\",\"arguments\":{"
             "\"task_id\":\"none\"}," META "}"), 400, "-32020"},
        {MODERN("tools/list") "MCP-Protocol-Version: 2025-11-25\r\n",
         RPC(1, "tools/list", "{" META "}"), 400, "-32020"},
        {MODERN("tools/list") "MCP-Protocol-Version: 2026-07-28\r\n",
         RPC(1, "tools/list", "{" META "}"), 400, "-32020"},
        {MODERN("ping"), RPC(1, "ping", "{" META "}"), 404, "-32601"},
        {MODERN("tools/list"), RPC(1, "tools/list", "{}"), 400, "-32602"},
        {TYPES "MCP-Protocol-Version: 2025-11-25\r\n",
         RPC(1, "tools/list", "{" META "}"), 400, "-32020"},
        {MODERN("ping") "", "[", 400, "-32700"},
        {MODERN("notifications/cancelled"),
         "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
         "\"params\":{\"requestId\":\"x\"," META "}}", 202, ""},
        {TYPES "MCP-Protocol-Version: 2025-11-25\r\n",
         RPC(1, "no/such", "{}"), 200, "-32601"},
    };
    struct rig r = rig_new(NULL);
    size_t i;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct client c = dial(r.address);
        int status = fetch(&c, "POST", "/mcp", cases[i].fields,
                           cases[i].body);

        if (!CHECK(status == cases[i].status && has(c.body.p, cases[i].want)))
            fprintf(stderr, "%s: %d\n", cases[i].body, status);
        hang_up(&c);
    }
    rig_end(&r);
}

TEST(the_life_of_a_session)
{
    struct rig r = rig_new(NULL);
    struct client c = dial(r.address), stream, second;
    struct session s = session_new(&c, "");

    change(&r, CREATE("a"));
    CHECK(posts(&c, s.fields, SUBSCRIBE("a"), "\"result\":{}"));
    stream = stream_of(&r, &s, NULL);
    second = stream_of(&r, &s, NULL); /* does not take over */
    change(&r, UPDATE("a", "1"));
    CHECK(hears(&stream, UPDATED) && has(stream.id, "."));
    CHECK(posts(&c, s.fields, PING, "\"result\":{}"));
    CHECK(fetch(&c, "DELETE", "/mcp", s.fields, NULL) == 200);
    CHECK(next_event(&stream) == NULL && stream.ended);
    CHECK(next_event(&second) == NULL && second.ended);
    CHECK(second.seen == second.body.len); /* it heard nothing */
    CHECK(fetch(&c, "POST", "/mcp", s.fields, PING) == 404);
    CHECK(fetch(&c, "GET", "/mcp", s.fields, NULL) == 404);
    CHECK(fetch(&c, "DELETE", "/mcp", s.fields, NULL) == 404);
    hang_up(&stream);
    hang_up(&second);
    hang_up(&c);
    rig_end(&r);
}

static bool
is_file(const char *dir, const char *name)
{
    char path[512];
    struct stat st;

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    return stat(path, &st) == 0;
}

TEST(reading_leaves_no_log)
{
    struct rig r = rig_new(NULL);
    struct client c = dial(r.address), stream;
    struct session s = session_new(&c, "");

    CHECK(posts(&c, s.fields, RPC(1, "logging/setLevel",
                                  "{\"level\":\"info\"}"), "\"result\":{}"));
    CHECK(posts(&c, s.fields, RPC(1, "resources/subscribe",
                                  "{\"uri\":\"other://x\"}"),
                "\"result\":{}"));
    CHECK(posts(&c, s.fields, RPC(1, "resources/list", "{}"), "resources"));
    stream = stream_of(&r, &s, NULL);
    CHECK(!is_file(r.dir, "tasks.log"));
    CHECK(posts(&c, s.fields, SUBSCRIBE("a"), "\"result\":{}"));
    CHECK(is_file(r.dir, "tasks.log"));
    hang_up(&stream);
    hang_up(&c);
    rig_end(&r);
}

/* A client whose stream died before anything came returns with the id of the
   first event, while the server still thinks the stream lives. */
TEST(a_stream_is_taken_over_from_its_beginning)
{
    struct rig r = rig_new(NULL);
    struct client c = dial(r.address), dead, alive;
    struct session s = session_new(&c, "");

    CHECK(posts(&c, s.fields, SUBSCRIBE("a"), "\"result\":{}"));
    dead = stream_of(&r, &s, NULL);
    change(&r, CREATE("a"));
    alive = stream_of(&r, &s, dead.id);
    CHECK(hears(&alive, UPDATED));
    change(&r, UPDATE("a", "1"));
    CHECK(hears(&alive, UPDATED));
    hang_up(&dead);
    hang_up(&alive);
    hang_up(&c);
    rig_end(&r);
}

/* The end of a session must be written: if that fails, it has not ended and its
   client may try again. */
TEST(an_end_that_cannot_be_written)
{
    struct rig r = {.dir = test_tmpdir()};
    struct client c;
    struct session s, other;
    int i;

    r.s = start(r.dir, "--http --port 0", FULL);
    snprintf(r.address, sizeof(r.address), "%s", address_of(&r.s));
    c = dial(r.address);
    s = session_new(&c, "");
    CHECK(posts(&c, s.fields, SUBSCRIBE("its-end-is-longer-than-others-are"),
                "\"result\":{}"));
    for (i = 0; i < 40; i++) { /* a record each, which no compaction drops */
        other = session_new(&c, "");
        CHECK(fetch(&c, "POST", "/mcp", other.fields, SUBSCRIBE("a")) == 200);
        if (strstr(c.body.p, "store_full") != NULL)
            break;
    }
    CHECK(i < 40);
    CHECK(fetch(&c, "DELETE", "/mcp", s.fields, NULL) == 503);
    CHECK(has(c.body.p, "store_full"));
    CHECK(posts(&c, s.fields, PING, "\"result\":{}"));
    hang_up(&c);
    rig_end(&r);
}

/* Sessions need a key: the operator is told what is wrong with it. */
TEST(a_bad_key_is_told)
{
    struct rig r = {.dir = test_tmpdir()};
    struct client c;
    char path[512];
    int fd, i;

    snprintf(path, sizeof(path), "%s/tasks.log.key", r.dir);
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    CHECK(fd >= 0 && write(fd, "short", 5) == 5 && close(fd) == 0);
    rig_begin(&r, "--http --port 0");
    for (i = 0; i < 2; i++) {
        c = dial(r.address);
        CHECK(posts(&c, TYPES, HELLO, "\"protocolVersion\""));
        CHECK(field_of(&c, "mcp-session-id") == NULL);
        hang_up(&c);
        if (i == 0)
            CHECK(has(err_line(&r.s), path));
    }
    CHECK(!can_now(r.s.err)); /* it is said once */
    CHECK(unlink(path) == 0);
    c = dial(r.address);
    session_new(&c, "");
    hang_up(&c);
    rig_end(&r);
}

/* A client that comes back with the id of the last event is told what another
   process changed while nobody served. */
TEST(replay_across_a_kill)
{
    struct rig r = rig_new(NULL);
    struct client c = dial(r.address), stream;
    struct session s = session_new(&c, "");
    struct srv other;
    struct text t = {0};
    char last[1024];

    change(&r, CREATE("a"));
    CHECK(posts(&c, s.fields, SUBSCRIBE("a"), "\"result\":{}"));
    stream = stream_of(&r, &s, NULL);
    change(&r, UPDATE("a", "1"));
    CHECK(hears(&stream, UPDATED));
    snprintf(last, sizeof(last), "%s", stream.id);
    kill(r.s.pid, SIGKILL);
    CHECK(ended(&r.s) == -1);
    CHECK(next_event(&stream) == NULL);
    hang_up(&stream);
    hang_up(&c);

    other = start(r.dir, NULL, PLAIN);
    addf(&t, "%s\n", UPDATE("a", "3"));
    CHECK(send_text(&other, &t) && is_good(next_line(&other)));
    rig_begin(&r, "--http --port 0");
    c = dial(r.address);
    CHECK(posts(&c, s.fields, PING, "\"result\":{}"));
    stream = stream_of(&r, &s, last);
    CHECK(hears(&stream, UPDATED) && strcmp(stream.id, last) != 0);

    /* and what it changes while a client listens */
    addf(&t, "%s\n", UPDATE("a", "4"));
    CHECK(send_text(&other, &t) && is_good(next_line(&other)));
    CHECK(hears(&stream, "task://a"));
    CHECK(finish(&other) == 0);
    free(t.p);
    hang_up(&stream);
    hang_up(&c);
    rig_end(&r);
}

/* Packed or not, as the client accepts; sent again only if it has changed. */
TEST(the_page)
{
    struct rig r = rig_new(NULL);
    struct client c = dial(r.address);
    char known[256], tag[64];

    CHECK(fetch(&c, "GET", "/", "Accept-Encoding: br, gzip\r\n", NULL) == 200);
    CHECK(has(c.head, "Content-Encoding: gzip\r\n"));
    CHECK(memcmp(c.body.p, "\x1f\x8b", 2) == 0);
    CHECK(has(c.head, "Vary: Accept-Encoding\r\n"));
    CHECK(has(c.head, "Cache-Control: no-cache\r\n"));
    CHECK(strstr(c.head, "no-store") == NULL);
    CHECK(has(c.head, "X-Content-Type-Options: nosniff\r\n"));
    CHECK(has(c.head, "Referrer-Policy: no-referrer\r\n"));
    CHECK(has(c.head, "; frame-ancestors 'none'\r\n"));
    CHECK(field_of(&c, "etag") != NULL);
    snprintf(tag, sizeof(tag), "%.60s", field_of(&c, "etag"));
    CHECK(fetch(&c, "GET", "/", "Accept-Encoding: gzip;q=0\r\n", NULL) == 200);
    CHECK(strstr(c.head, "Content-Encoding") == NULL);
    CHECK(strncmp(c.body.p, "<!doctype html>", 15) == 0);
    snprintf(known, sizeof(known), "If-None-Match: \"x\", %s\r\n", tag);
    CHECK(fetch(&c, "GET", "/", known, NULL) == 304);
    CHECK(c.body.len == 0 && strstr(c.head, "Content-Length") == NULL);
    CHECK(has(c.head, "ETag: "));
    CHECK(fetch(&c, "GET", "/", "If-None-Match: \"x\"\r\n", NULL) == 200);
    CHECK(fetch(&c, "HEAD", "/", "Accept-Encoding: gzip\r\n", NULL) == 200);
    hang_up(&c);
    rig_end(&r);
}

/* ---- the SSE transport ---- */

struct legacy {
    struct client stream, posts;
    char path[256];
};

static void
legacy_open(struct legacy *l, const struct rig *r, const char *last)
{
    char fields[512], *data;

    snprintf(fields, sizeof(fields), STREAM "%s%s%s",
             last ? "Last-Event-ID: " : "", last ? last : "",
             last ? "\r\n" : "");
    l->stream = dial(r->address);
    l->posts = dial(r->address);
    ask(&l->stream, "GET", "/sse", fields, NULL);
    CHECK(status_of(&l->stream) == 200);
    data = next_event(&l->stream);
    CHECK(data != NULL && has(data, "/message?clientId="));
    CHECK(strcmp(l->stream.event, "endpoint") == 0);
    CHECK(l->stream.retry == 2000);
    snprintf(l->path, sizeof(l->path), "%s", data != NULL ? data : "");
    free(data);
}

static bool
legacy_post(struct legacy *l, const char *body)
{
    return fetch(&l->posts, "POST", l->path,
                 "Content-Type: application/json\r\nAccept: */*\r\n"
                 "mcp-protocol-version: 2024-11-05\r\n", body) == 202;
}

static bool
legacy_call(struct legacy *l, const char *body, const char *want)
{
    return legacy_post(l, body) && hears(&l->stream, want) &&
           strcmp(l->stream.event, "message") == 0;
}

static void
legacy_close(struct legacy *l)
{
    hang_up(&l->stream);
    hang_up(&l->posts);
}

TEST(the_sse_transport)
{
    struct rig r = rig_new(NULL);
    struct legacy l;
    char last[1024];

    legacy_open(&l, &r, NULL);
    snprintf(last, sizeof(last), "%s", l.stream.id);
    CHECK(last[0] != '\0');
    CHECK(fetch(&l.posts, "POST", l.path, "Content-Type: application/json\r\n",
                RPC(1, "initialize", "{\"protocolVersion\":\"2024-11-05\","
                    "\"capabilities\":{},\"clientInfo\":{\"name\":\"t\","
                    "\"version\":\"1\"}}")) == 202);
    CHECK(has(l.posts.body.p, "Accepted"));
    CHECK(hears(&l.stream, "\"protocolVersion\":\"2024-11-05\""));
    CHECK(legacy_post(&l, INITIALIZED));
    CHECK(legacy_call(&l, CREATE("a"), SAYS("seq", "1")));
    CHECK(legacy_call(&l, SUBSCRIBE("a"), "\"result\":{}"));
    change(&r, UPDATE("a", "1"));
    CHECK(hears(&l.stream, UPDATED));
    snprintf(last, sizeof(last), "%s", l.stream.id);
    CHECK(legacy_call(&l, "{", "-32700"));

    /* the server is gone, the client goes on without initialize */
    kill(r.s.pid, SIGKILL);
    CHECK(ended(&r.s) == -1);
    legacy_close(&l);
    rig_begin(&r, "--http --port 0");
    legacy_open(&l, &r, NULL);
    CHECK(legacy_call(&l, UPDATE("a", "3"), SAYS("version", "3")));
    CHECK(legacy_call(&l, PING, "\"result\":{}"));
    legacy_close(&l);
    legacy_open(&l, &r, last);
    CHECK(hears(&l.stream, UPDATED)); /* its subscription has survived */
    CHECK(legacy_call(&l, PING, "\"result\":{}"));
    CHECK(once(&r, "POST", "/message?clientId=none",
               "Content-Type: application/json\r\n", PING) == 404);

    kill(r.s.pid, SIGTERM);
    CHECK(next_event(&l.stream) == NULL && l.stream.ended);
    CHECK(ended(&r.s) == 0);
    legacy_close(&l);
    free(r.dir);
}

/* A stream of /sse has the answers to requests, too. A question that belongs to
   one has no place there: a client that comes back would be asked twice, and
   miss a later notification. */
TEST(a_question_on_sse_has_no_place)
{
    struct rig r = rig_new(NULL);
    struct legacy l;

    legacy_open(&l, &r, NULL);
    CHECK(legacy_call(&l, RPC(1, "initialize",
                              "{\"protocolVersion\":\"2025-06-18\","
                              "\"capabilities\":{\"elicitation\":{}},"
                              "\"clientInfo\":{\"name\":\"t\","
                              "\"version\":\"1\"}}"),
                      "\"protocolVersion\":\"2025-06-18\""));
    CHECK(legacy_post(&l, INITIALIZED));
    CHECK(legacy_call(&l, CREATE("a"), SAYS("seq", "1")));
    CHECK(legacy_call(&l, RPC(2, "tools/call", "{\"name\":\"claim_task\","
                              "\"arguments\":{\"task_id\":\"a\"}}"),
                      SAYS("version", "2")));
    CHECK(legacy_call(&l, RPC(3, "tools/call", "{\"name\":\"request_input\","
                              "\"arguments\":{\"task_id\":\"a\","
                              "\"question\":\"Well?\",\"wait_seconds\":30}}"),
                      "elicitation/create"));
    CHECK(l.stream.id[0] == '\0');
    legacy_close(&l);
    rig_end(&r);
}

/* ---- listening in 2026-07-28 ---- */

TEST(listens)
{
    struct rig r = rig_new(NULL);
    struct client c = dial(r.address), gone;

    change(&r, CREATE("a"));
    ask(&c, "POST", "/mcp", MODERN("subscriptions/listen"),
        RPC("l1", "subscriptions/listen",
            "{\"notifications\":{\"resourcesListChanged\":true,"
            "\"resourceSubscriptions\":[\"task://a\"]}," META "}"));
    CHECK(status_of(&c) == 200 && has(c.head, "text/event-stream"));
    CHECK(hears(&c, "notifications/subscriptions/acknowledged"));
    change(&r, UPDATE("a", "1"));
    CHECK(hears(&c, UPDATED));
    change(&r, CREATE("b"));
    CHECK(hears(&c, LIST_CHANGED));

    gone = dial(r.address); /* hanging up cancels the call */
    ask(&gone, "POST", "/mcp", MODERN("subscriptions/listen"),
        RPC(9, "subscriptions/listen",
            "{\"notifications\":{\"resourcesListChanged\":true}," META "}"));
    CHECK(status_of(&gone) == 200 && hears(&gone, "acknowledged"));
    hang_up(&gone);

    kill(r.s.pid, SIGTERM);
    CHECK(hears(&c, "\"id\":\"l1\",\"result\""));
    CHECK(next_event(&c) == NULL && c.ended);
    CHECK(ended(&r.s) == 0);
    hang_up(&c);
    free(r.dir);
}

/* The loop checks waiting connections ten times a second: a claim checks
   itself. */
TEST(no_claim_for_a_client_that_left)
{
    struct rig r = rig_new(NULL);
    struct client gone = dial(r.address), c;

    ask(&gone, "POST", "/mcp", MODERN("tools/call") "Mcp-Name: claim_task\r\n",
        RPC(1, "tools/call", "{\"name\":\"claim_task\",\"arguments\":{"
            "\"agent\":\"gone\",\"wait_seconds\":50}," META "}"));
    CHECK(status_of(&gone) == 200);
    hang_up(&gone);
    c = dial(r.address);
    CHECK(posts(&c, TYPES, CREATE("a"), SAYS("seq", "")));
    CHECK(posts(&c, TYPES, RPC(2, "tools/call", "{\"name\":\"get_task\","
                "\"arguments\":{\"task_id\":\"a\"}}"),
                SAYS("status", "\\\"open\\\"")));
    hang_up(&c);
    kill(r.s.pid, SIGTERM);
    CHECK(ended(&r.s) == 0);
    free(r.dir);
}

/* Waits in session s with these arguments; takes the id of its first event. */
static struct client
wait_for(const struct rig *r, const struct session *s, const char *args,
         char id[1024])
{
    struct client c = dial(r->address);
    char body[512], *data;

    snprintf(body, sizeof(body), RPC(31, "tools/call", "{\"name\":"
             "\"wait_for_task\",\"arguments\":{%s}}"), args);
    ask(&c, "POST", "/mcp", s->fields, body);
    CHECK(status_of(&c) == 200);
    data = next_event(&c);
    CHECK(data != NULL && data[0] == '\0' && c.retry == 2000 && c.id[0]);
    snprintf(id, 1024, "%s", c.id);
    free(data);
    return c;
}

/* The same until task a changes. */
static struct client
wait_for_change(const struct rig *r, const struct session *s, char id[1024])
{
    return wait_for(r, s, "\"task_id\":\"a\",\"until\":\"change\","
                    "\"timeout_seconds\":50", id);
}

/* A wait that began before there was any record returns to what came since. */
TEST(a_wait_on_an_empty_store_misses_nothing)
{
    struct rig r = rig_new(NULL);
    struct client c = dial(r.address), wait;
    struct session s = session_new(&c, "");
    char id[1024];

    wait = wait_for(&r, &s, "\"agent\":\"bob\",\"wait_seconds\":2", id);
    CHECK(has(id, ".r0."));
    hang_up(&wait);
    change(&r, RPC(3, "tools/call", "{\"name\":\"create_task\",\"arguments\":{"
                   "\"task_id\":\"a\",\"title\":\"x\",\"current_owner\":"
                   "\"bob\"}}"));
    wait = open_stream(&r, &s, id);
    CHECK(hears(&wait, SAYS("met", "true")));
    hang_up(&wait);
    hang_up(&c);
    rig_end(&r);
}

/* The time of a wait goes on while its client is away: one that began a minute
   ago, and was to take 50 seconds, ends when its client returns. */
TEST(a_wait_ends_in_its_time)
{
    struct rig r = rig_new(NULL);
    struct client c = dial(r.address), wait;
    struct session s = session_new(&c, "");
    char id[1024], session[64], body[900], old[1200];
    unsigned long long since = 0;
    long long began = 0;

    change(&r, CREATE("a"));
    wait = wait_for_change(&r, &s, id);
    hang_up(&wait);
    CHECK(sscanf(id, "%63[^.].r%llu.%lld.%899s", session, &since, &began,
                 body) == 4);
    snprintf(old, sizeof(old), "%s.r%llu.%lld.%s", session, since,
             began - 60000, body);
    wait = open_stream(&r, &s, old);
    CHECK(hears(&wait, SAYS("met", "false")));
    hang_up(&wait);
    change(&r, UPDATE("a", "1")); /* it is found all the same */
    wait = open_stream(&r, &s, old);
    CHECK(hears(&wait, SAYS("met", "true")));
    hang_up(&wait);
    hang_up(&c);
    rig_end(&r);
}

/* The status of a request that comes back under an id made up for it. */
static int
comes_back(struct client *c, const struct session *s, const char *body)
{
    struct buf fields = {0};
    char session[64];
    int status;

    sscanf(strstr(s->fields, "Mcp-Session-Id: "), "Mcp-Session-Id: %63s",
           session);
    buf_printf(&fields, "%sLast-Event-ID: %s.r0.1.", s->fields, session);
    base64url_encode(&fields, str_of(body));
    buf_put(&fields, "\r\n", 3);
    status = fetch(c, "GET", "/mcp", fields.p, NULL);
    buf_fini(&fields);
    return status;
}

/* Under a made-up id only a wait is run, and what reads. */
TEST(no_change_comes_back)
{
    static const char *const refused[] = {
        CREATE("a"), UPDATE("a", "1"), SUBSCRIBE("a"), PING, HELLO,
        INITIALIZED, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}",
        "[" PING "]",
        RPC(6, "tools/call", "{\"name\":\"wait_for_task\",\"arguments\":{"
            "\"agent\":\"a\"},\"task\":{}}"),
    };
    struct rig r = rig_new(NULL);
    struct client c = dial(r.address);
    struct session s = session_new(&c, "");

    for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++)
        if (!CHECK(comes_back(&c, &s, refused[i]) == 405))
            fprintf(stderr, "  %s\n", refused[i]);
    CHECK(posts(&c, s.fields, CREATE("a"), SAYS("seq", "1")));
    hang_up(&c);
    rig_end(&r);
}

/* A client whose wait lost its stream returns with the id of that, to the same
   server or the next one, and gets the answer, also to what came meanwhile. */
TEST(a_wait_survives_a_kill)
{
    struct rig r = rig_new(NULL);
    struct client c = dial(r.address), wait;
    struct session s = session_new(&c, ""), other = session_new(&c, "");
    char id[1024], again[3072];

    change(&r, CREATE("a"));
    wait = wait_for_change(&r, &s, id);
    hang_up(&wait);
    change(&r, UPDATE("a", "1"));
    wait = open_stream(&r, &s, id);
    CHECK(hears(&wait, "\"id\":31,\"result\""));
    CHECK(next_event(&wait) == NULL && wait.ended);
    hang_up(&wait);

    wait = wait_for_change(&r, &s, id);
    kill(r.s.pid, SIGKILL);
    CHECK(ended(&r.s) == -1);
    hang_up(&wait);
    hang_up(&c);
    rig_begin(&r, "--http --port 0");
    wait = open_stream(&r, &s, id);
    free(next_event(&wait)); /* it waits again, under the same id */
    CHECK(strcmp(wait.id, id) == 0);
    change(&r, UPDATE("a", "3"));
    CHECK(hears(&wait, "\"id\":31,\"result\""));
    CHECK(next_event(&wait) == NULL && wait.ended);
    hang_up(&wait);

    wait = stream_of(&r, &other, id); /* another session's: a plain stream */
    hang_up(&wait);

    /* One that is cancelled must not begin again. */
    c = dial(r.address);
    wait = wait_for_change(&r, &s, id);
    CHECK(fetch(&c, "POST", "/mcp", s.fields,
                "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
                "\"params\":{\"requestId\":31}}") == 202);
    free(next_event(&wait));
    snprintf(again, sizeof(again), STREAM "%sLast-Event-ID: %s\r\n", s.fields,
             wait.id);
    CHECK(strcmp(wait.id, id) != 0 && wait.id[0] != '\0');
    CHECK(next_event(&wait) == NULL && wait.ended);
    hang_up(&wait);
    CHECK(fetch(&c, "GET", "/mcp", again, NULL) == 405);
    hang_up(&c);
    rig_end(&r);
}

/* ---- calls that wait, of the fixture ---- */

#define CALL(id, tool, args) \
    RPC(id, "tools/call", "{\"name\":\"" tool "\",\"arguments\":" args "}")

static const char *fixture;

static struct rig
fixture_new(void)
{
    struct rig r = {.dir = test_tmpdir()};
    const char *product = binary;
    char options[512];

    snprintf(options, sizeof(options), "%s 0", r.dir);
    binary = fixture;
    rig_begin(&r, options);
    binary = product;
    return r;
}

/* Calls the tool that ends its stream before it answers, and takes the event
   id. */
static void
call_and_part(struct client *c, const struct session *s, char id[1024])
{
    char *data;

    ask(c, "POST", "/mcp", s->fields, CALL(7, "test_reconnection", "{}"));
    CHECK(status_of(c) == 200);
    data = next_event(c);
    CHECK(data != NULL && data[0] == '\0' && c->retry > 0 && c->id[0]);
    free(data);
    snprintf(id, 1024, "%s", c->id);
    CHECK(next_event(c) == NULL && c->ended);
}

static void
test_a_call_ends_its_stream_first(void)
{
    struct rig r = fixture_new();
    struct client c = dial(r.address), stream;
    struct session s = session_new(&c, ""), other = session_new(&c, "");
    char id[1024];

    call_and_part(&c, &s, id);
    CHECK(posts(&c, s.fields, PING, "\"result\":{}"));
    stream = stream_of(&r, &other, id); /* not bob's: a plain stream */
    hang_up(&stream);
    stream = open_stream(&r, &s, id);
    hang_up(&stream); /* before it came, or after */
    call_and_part(&c, &s, id);
    stream = open_stream(&r, &s, id);
    CHECK(hears(&stream, "")); /* the id once more */
    CHECK(hears(&stream, "\"id\":7,\"result\""));
    CHECK(next_event(&stream) == NULL && stream.ended);
    hang_up(&stream);
    stream = stream_of(&r, &s, ""); /* a plain one, which stays */
    CHECK(posts(&c, s.fields, PING, "\"result\":{}"));
    call_and_part(&c, &s, id);
    CHECK(fetch(&c, "DELETE", "/mcp", s.fields, NULL) == 200);
    CHECK(next_event(&stream) == NULL && stream.seen == stream.body.len);
    CHECK(fetch(&c, "GET", "/mcp", s.fields, NULL) == 404);
    hang_up(&stream);
    hang_up(&c);
    rig_end(&r);
}

/* Begins a call that asks for a name. Returns its stream, and the question's id
   as text. */
static struct client
call_and_wait(const struct rig *r, const struct session *s, char id[64])
{
    struct client c = dial(r->address);
    char *data, *at;

    ask(&c, "POST", "/mcp", s->fields,
        CALL(8, "test_elicitation", "{\"message\":\"who?\"}"));
    CHECK(status_of(&c) == 200 && has(c.head, "text/event-stream"));
    data = next_event(&c);
    CHECK(data != NULL && has(data, "\"elicitation/create\""));
    at = data != NULL ? strstr(data, "\"id\":") : NULL;
    snprintf(id, 64, "%.*s", at ? (int)strcspn(at + 5, ",}") : 0,
             at ? at + 5 : "");
    free(data);
    return c;
}

static void
test_a_call_asks_its_client(void)
{
    struct rig r = fixture_new();
    struct client c = dial(r.address), call;
    struct session s = session_new(&c, "");
    char id[64], answer[256];

    call = call_and_wait(&r, &s, id);
    snprintf(answer, sizeof(answer),
             "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"action\":"
             "\"accept\",\"content\":{\"username\":\"u\"}}}", id);
    CHECK(fetch(&c, "POST", "/mcp", s.fields, answer) == 202);
    CHECK(hears(&call, "\"id\":8,\"result\""));
    CHECK(next_event(&call) == NULL && call.ended);
    hang_up(&call);

    call = call_and_wait(&r, &s, id); /* a cancelled call just ends */
    CHECK(fetch(&c, "POST", "/mcp", s.fields,
                "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
                "\"params\":{\"requestId\":8}}") == 202);
    CHECK(hears(&call, "notifications/cancelled")); /* and its question */
    CHECK(next_event(&call) == NULL && call.ended);
    hang_up(&call);
    call = call_and_wait(&r, &s, id);
    kill(r.s.pid, SIGTERM); /* so does a call that waits at the end */
    CHECK(next_event(&call) == NULL && call.ended);
    CHECK(ended(&r.s) == 0);
    hang_up(&call);
    hang_up(&c);
    free(r.dir);
}

/* At the end a reply is ended once, even if its call has more to say, and its
   connection lingers for what was sent after the request. */
static void
test_the_end_of_a_call_that_waits(void)
{
    static const char *const accepts[] = {
        TYPES, "Content-Type: application/json\r\n"
               "Accept: application/json\r\n"};
    size_t i;

    for (i = 0; i < 2; i++) {
        struct rig r = fixture_new();
        struct client c = dial(r.address), other = dial(r.address);

        ask(&c, "POST", "/mcp", accepts[i],
            RPC(8, "tools/call", "{\"name\":\"test_tool_with_progress\","
                "\"_meta\":{\"progressToken\":1}}"));
        send_bytes(&c, "GET", 3);
        CHECK(i == 1 || status_of(&c) == 200);
        CHECK(fetch(&other, "GET", "/health", "", NULL) == 200);
        kill(r.s.pid, SIGTERM);
        CHECK(ended(&r.s) == 0);
        hang_up(&c);
        hang_up(&other);
        free(r.dir);
    }
}

int
main(int argc, char **argv)
{
    if (!web_begin(argc, argv))
        return 2;
    test_run();
    fixture = argc > 2 ? argv[2] : NULL;
    if (fixture != NULL) {
        test_a_call_ends_its_stream_first();
        test_a_call_asks_its_client();
        test_the_end_of_a_call_that_waits();
    }
    return test_end("web");
}
