/* Over HTTP with tokens: who may do what, and what a stranger can spoil. */

#include "tests/lib/web.h"

#define ALICE "Authorization: Bearer alice-0123456789abcdef\r\n"
#define BOB "Authorization: bearer bob-0123456789abcdef\r\n"
#define READER "Authorization: Bearer reader-0123456789abcdef\r\n"

static void
write_tokens(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

    CHECK(fd >= 0 &&
          write(fd, text, strlen(text)) == (ssize_t)strlen(text) &&
          close(fd) == 0);
}

/* A server whose tokens are in the file of this path. */
static struct rig
rig_of_tokens(char path[400], const char *text)
{
    struct rig r = {.dir = test_tmpdir()};
    char *files = test_tmpdir(), options[512];

    snprintf(path, 400, "%s/tokens", files);
    snprintf(options, sizeof(options), "--http --port 0 --token-file %s",
             path);
    write_tokens(path, text);
    rig_begin(&r, options);
    free(files);
    return r;
}

static void
test_who_has_a_token(const struct rig *r)
{
    struct client c = dial(r->address);

    CHECK(fetch(&c, "POST", "/mcp", TYPES, PING) == 401);
    CHECK(has(c.head, "WWW-Authenticate: Bearer"));
    CHECK(has(c.head, "Content-Type: application/json"));
    CHECK(strstr(c.body.p, "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{"
                 "\"code\":-32000,\"message\":\"this server needs") != NULL);
    CHECK(strstr(c.body.p, "Authorization: Bearer TOKEN") != NULL);
    hang_up(&c);
    c = dial(r->address);
    CHECK(fetch(&c, "POST", "/mcp", TYPES "Origin: http://evil.example\r\n",
                PING) == 403);
    CHECK(strstr(c.body.p, "\"message\":\"Host or Origin not") != NULL);
    hang_up(&c);
    c = dial(r->address);
    CHECK(fetch(&c, "POST", "/register", TYPES, "{}") == 400);
    CHECK(strstr(c.body.p, "\"error_description\":\"this server has no "
                 "OAuth; ask its operator") != NULL);
    CHECK(once(r, "GET", "/register", "", NULL) == 405);
    hang_up(&c);
    CHECK(once(r, "GET", "/health", "", NULL) == 200);
    CHECK(once(r, "GET", "/ready", "", NULL) == 401);
    CHECK(once(r, "GET", "/metrics", "", NULL) == 401);
    CHECK(once(r, "GET", "/metrics", ALICE, NULL) == 200);
    CHECK(once(r, "GET", "/sse", STREAM, NULL) == 401);
    CHECK(once(r, "GET", "/nothing", "", NULL) == 404);
    CHECK(once(r, "POST", "/message?clientId=x", TYPES, PING) == 401);
    CHECK(once(r, "POST", "/mcp", TYPES "Authorization: Bearer x\r\n",
               PING) == 401);
    CHECK(once(r, "POST", "/mcp", TYPES "Authorization: Basic YTpi\r\n",
               PING) == 401);
    c = dial(r->address);
    CHECK(posts(&c, TYPES ALICE, CREATE("a"), SAYS("seq", "1")));
    CHECK(posts(&c, TYPES BOB, UPDATE("a", "1"), SAYS("version", "2")));
    CHECK(posts(&c, TYPES READER, PING, "\"result\":{}"));
    CHECK(posts(&c, TYPES READER, CREATE("b"), "unauthorized"));
    CHECK(fetch(&c, "GET", "/ready", ALICE, NULL) == 200);
    CHECK(strstr(c.body.p, "\"writable\":true,\"agent\":\"alice\"") != NULL);
    CHECK(fetch(&c, "GET", "/ready", READER, NULL) == 200);
    CHECK(strstr(c.body.p, "\"writable\":false") != NULL);
    hang_up(&c);
}

#define CLAIM(more) \
    RPC(6, "tools/call", "{\"name\":\"claim_task\",\"arguments\":{" \
        "\"task_id\":\"a\"" more "}}")
#define TAKE ",\"takeover\":true,\"reason\":\"r\""
#define OURS "Origin: http://localhost\r\n"
#define HELD "lease_held"

/* With tokens, a person is a caller whose token says so; without, one who uses
   the page, as an Origin of ours shows. */
TEST(a_person_takes_over)
{
    static const char tokens[] = "alice-0123456789abcdef alice\n"
                                 "bob-0123456789abcdef bob person\n";
    char path[400];
    struct rig r = rig_of_tokens(path, tokens), open = rig_new(NULL);
    struct client c = dial(r.address);

    CHECK(posts(&c, TYPES ALICE, CREATE("a"), SAYS("seq", "1")));
    CHECK(posts(&c, TYPES ALICE, CLAIM(""), SAYS("claimed", "true")));
    CHECK(posts(&c, TYPES BOB, CLAIM(""), HELD));
    CHECK(posts(&c, TYPES BOB, CLAIM(TAKE), SAYS("claimed", "true")));
    CHECK(posts(&c, TYPES OURS ALICE, CLAIM(TAKE), HELD));
    CHECK(posts(&c, TYPES ALICE, UPDATE("a", "1"), SAYS("taken_over", "")));
    hang_up(&c);
    rig_end(&r);

    c = dial(open.address);
    CHECK(posts(&c, TYPES, CREATE("a"), SAYS("seq", "1")));
    CHECK(posts(&c, TYPES, CLAIM(",\"agent\":\"x\""), SAYS("seq", "2")));
    CHECK(posts(&c, TYPES, CLAIM(",\"agent\":\"y\"" TAKE), HELD));
    CHECK(posts(&c, TYPES OURS, CLAIM(",\"agent\":\"y\""), HELD));
    CHECK(posts(&c, TYPES "Origin: http://localhost:1\r\n",
                CLAIM(",\"agent\":\"y\"" TAKE), HELD));
    CHECK(posts(&c, TYPES OURS, CLAIM(",\"agent\":\"y\"" TAKE),
                SAYS("claimed", "true")));
    hang_up(&c);
    rig_end(&open);
}

/* Whether nothing is in the directory of the store. */
static bool
is_empty(const char *dir)
{
    char command[512];

    snprintf(command, sizeof(command), "test -z \"$(ls -A '%s')\"", dir);
    return system(command) == 0;
}

/* A token that may only read creates no file, whatever it asks for. Its
   sessions end with the process. */
TEST(a_reader_leaves_no_trace)
{
    char path[400], options[512];
    struct rig r = rig_of_tokens(path, "reader-0123456789abcdef carol read\n"
                                       "writer-0123456789abcdef carol\n");
    struct client c = dial(r.address), stream;
    struct session s = session_new(&c, READER);

    snprintf(options, sizeof(options), "--http --port 0 --token-file %s",
             path);
    CHECK(posts(&c, s.fields, SUBSCRIBE("a"), "\"result\":{}"));
    CHECK(posts(&c, s.fields, RPC(1, "logging/setLevel",
                                  "{\"level\":\"error\"}"), "\"result\":{}"));
    CHECK(posts(&c, s.fields, CREATE("a"), "unauthorized"));
    stream = dial(r.address);
    ask(&stream, "GET", "/sse", STREAM READER, NULL);
    CHECK(status_of(&stream) == 200);
    free(next_event(&stream));
    snprintf(path, sizeof(path), "/message?clientId=%.*s",
             (int)strcspn(stream.id, "."), stream.id);
    CHECK(once(&r, "POST", path, TYPES READER, SUBSCRIBE("a")) == 202);
    CHECK(hears(&stream, "\"result\":{}"));
    CHECK(once(&r, "POST", path, TYPES "Authorization: Bearer "
               "writer-0123456789abcdef\r\n", SUBSCRIBE("a")) == 404);
    hang_up(&stream);
    stream = stream_of(&r, &s, NULL);
    CHECK(is_empty(r.dir));
    CHECK(posts(&c, TYPES "Authorization: Bearer writer-0123456789abcdef\r\n",
                CREATE("a"), SAYS("seq", "1")));
    CHECK(hears(&stream, UPDATED));
    CHECK(fetch(&c, "DELETE", "/mcp", s.fields, NULL) == 200);
    CHECK(!hears(&stream, UPDATED) && stream.ended);
    CHECK(fetch(&c, "POST", "/mcp", s.fields, PING) == 404);
    s = session_new(&c, READER);
    hang_up(&stream);
    hang_up(&c);
    kill(r.s.pid, SIGTERM);
    CHECK(ended(&r.s) == 0);
    rig_begin(&r, options);
    CHECK(once(&r, "POST", "/mcp", s.fields, PING) == 404);
    rig_end(&r);
}

TEST(tokens)
{
    static const char all[] = "alice-0123456789abcdef alice\n"
                              "bob-0123456789abcdef bob\n"
                              "reader-0123456789abcdef carol read\n";
    char path[400];
    struct rig r = rig_of_tokens(path, all);
    struct client c, stream, half;
    struct session s;
    struct text t = {0};

    test_who_has_a_token(&r);

    /* a session is its token's */
    c = dial(r.address);
    s = session_new(&c, ALICE);
    CHECK(posts(&c, s.fields, PING, "\"result\":{}"));
    addf(&t, "%s%s%s", TYPES, BOB, strstr(s.fields, "Mcp-Session-Id"));
    CHECK(once(&r, "POST", "/mcp", t.p, PING) == 404);
    CHECK(once(&r, "GET", "/mcp", t.p, NULL) == 404);
    CHECK(once(&r, "DELETE", "/mcp", t.p, NULL) == 404);
    t.len = 0;
    addf(&t, "%s%sExpect: 100-continue\r\n", TYPES, ALICE);
    CHECK(posts(&c, s.fields, PING, "\"result\":{}"));

    /* an invalid file changes nothing, a valid one counts at once */
    stream = stream_of(&r, &s, NULL);
    write_tokens(path, "short x\n");
    kill(r.s.pid, SIGHUP);
    CHECK(has(err_line(&r.s), "the old tokens stay"));
    CHECK(posts(&c, s.fields, PING, "\"result\":{}"));
    write_tokens(path, strchr(all, '\n') + 1);
    half = dial(r.address); /* its body is still to come */
    addf(&t, "Content-Length: %zu\r\n", strlen(PING));
    ask(&half, "POST", "/mcp", t.p, NULL);
    CHECK(status_of(&half) == 100);
    kill(r.s.pid, SIGHUP);
    CHECK(next_event(&stream) == NULL);
    send_bytes(&half, PING, strlen(PING));
    CHECK(status_of(&half) == 0);
    hang_up(&half);
    CHECK(once(&r, "POST", "/mcp", s.fields, PING) == 401);
    CHECK(once(&r, "POST", "/mcp", TYPES BOB, PING) == 200);
    hang_up(&stream);
    hang_up(&c);
    free(t.p);
    rig_end(&r);
}

#define SILENT 300 /* more than are served at a time */

/* Clients without a token keep nobody out who has one. */
TEST(strangers_lock_nobody_out)
{
    char path[400];
    struct rig r = rig_of_tokens(path, "alice-0123456789abcdef alice\n");
    struct client kept = dial(r.address), c, silent[SILENT];
    int i;

    CHECK(fetch(&kept, "GET", "/ready", ALICE, NULL) == 200);
    for (i = 0; i < SILENT; i++) {
        silent[i] = dial(r.address);
        if (i % 2 == 0) /* /health, open to all, proves no token */
            ask(&silent[i], "GET", "/health", "", NULL);
    }
    c = dial(r.address);
    CHECK(fetch(&c, "GET", "/ready", ALICE, NULL) == 200);
    CHECK(fetch(&kept, "GET", "/ready", ALICE, NULL) == 200);
    CHECK(!receive(&silent[1]));
    for (i = 0; i < SILENT; i++)
        hang_up(&silent[i]);
    hang_up(&c);
    hang_up(&kept);
    rig_end(&r);
}

#define CROWD 60
#define MIB 1048576
#define LARGEST 8388608

/* A ping of so many bytes. */
static char *
long_ping(size_t len)
{
    char *body = malloc(len + 1);

    memset(body, ' ', len);
    memcpy(body, PING, strlen(PING));
    body[len] = '\0';
    return body;
}

/* Sends n bytes, unless the server answers before. */
static bool
sends_all(const struct client *c, size_t n)
{
    static char spaces[65536];
    struct pollfd p = {.fd = c->fd, .events = POLLIN | POLLOUT};
    ssize_t done;

    memset(spaces, ' ', sizeof(spaces));
    while (n > 0) {
        if (poll(&p, 1, DEADLINE_MS) != 1 || (p.revents & ~POLLOUT) != 0)
            return false;
        done = send(c->fd, spaces, n < sizeof(spaces) ? n : sizeof(spaces),
                    MSG_NOSIGNAL | MSG_DONTWAIT);
        if (done < 0 && errno != EAGAIN)
            return false;
        n -= done > 0 ? (size_t)done : 0;
    }
    return true;
}

/* Each sends a body of the largest size, but for its last byte. Returns whether
   the first n are still read, and the others are refused. */
static bool
only_take(const struct rig *r, const char *fields, struct client c[CROWD],
          int n)
{
    char all[512];
    bool ok = true;
    int i;

    snprintf(all, sizeof(all), "%s%sContent-Length: %d\r\n", TYPES, fields,
             LARGEST);
    for (i = 0; i < CROWD; i++) {
        c[i] = dial(r->address);
        ask(&c[i], "POST", "/mcp", all, NULL);
        if (i < n)
            ok = ok && sends_all(&c[i], LARGEST - 1);
        else
            ok = ok && reply_of(&c[i]) == 503 &&
                 has(c[i].head, "Retry-After: 1\r\n");
    }
    return ok;
}

static bool
is_unanswered(const struct client *c)
{
    return poll(&(struct pollfd){.fd = c->fd, .events = POLLIN}, 1, 0) == 0;
}

/* A body that never ends takes room from its own agent alone, or without tokens
   from large bodies. */
TEST(unfinished_bodies)
{
    static const size_t sizes[] = {200, 12000, 64000, MIB, LARGEST};
    char path[400], *body;
    struct rig r = rig_of_tokens(path, "alice-0123456789abcdef alice\n"
                                       "reader-0123456789abcdef carol read\n");
    struct rig open = rig_new(NULL);
    struct client c[CROWD];
    size_t i;

    CHECK(only_take(&r, READER, c, 1));
    for (i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        body = long_ping(sizes[i]);
        CHECK(once(&r, "POST", "/mcp", TYPES ALICE, body) == 200);
        CHECK(is_unanswered(&c[0]));
        free(body);
    }
    CHECK(once(&r, "POST", "/mcp", TYPES READER, PING) == 200);
    send_bytes(&c[0], " ", 1);
    CHECK(reply_of(&c[0]) == 400);
    for (i = 0; i < CROWD; i++)
        hang_up(&c[i]);
    rig_end(&r);

    CHECK(only_take(&open, "", c, 2));
    for (i = 0; i < 3; i++) {
        body = long_ping(sizes[i]);
        CHECK(once(&open, "POST", "/mcp", TYPES, body) == 200);
        free(body);
    }
    CHECK(is_unanswered(&c[0]) && is_unanswered(&c[1]));
    for (i = 0; i < CROWD; i++)
        hang_up(&c[i]);
    rig_end(&open);
}

/* Who needs no token has no use for a large body. */
TEST(large_bodies_are_messages)
{
    struct rig r = rig_new(NULL);
    char *body = long_ping(MIB);

    CHECK(once(&r, "GET", "/health", "", PING) == 200);
    CHECK(once(&r, "GET", "/health", "", body) == 413);
    CHECK(once(&r, "GET", "/", "", body) == 413);
    CHECK(once(&r, "POST", "/mcp", TYPES, body) == 200);
    rig_end(&r);
    free(body);
}

int
main(int argc, char **argv)
{
    if (!web_begin(argc, argv))
        return 2;
    test_run();
    return test_end("web_token");
}
