/* What one principal leaves to others: turns, requests a second, connections.
   The clock stands still, except for a tool that takes a whole turn each time
   it runs. */

#include "serve/stdio.h"
#include "serve/web.h"
#include "tests/lib/faults.h"
#include "tests/lib/serve_rig.h"

#include <sys/wait.h>

/* ---- turns ---- */

/* However many connections one principal searches on. */
static void
test_a_call_waits_for_no_crowd(void)
{
    begin(2);
    push("ann", 6, SEARCH);
    push("bob", 2, QUICK);
    push("eve", 1, QUICK);
    CHECK(serves("abbea" "aaaa" "aaaaaa"));
}

static void
test_principals_take_turns(void)
{
    begin(1);
    push("ann", 5, SEARCH);
    push("bob", 2, SEARCH);
    push("eve", 1, SEARCH);
    CHECK(serves("abeabaaa"));
    begin(3);
    push("ann", 3, SEARCH);
    push("bob", 1, SEARCH);
    /* Each begins with a step, then one at a time goes on. */
    CHECK(serves("abaa" "abab" "aaaa"));
}

/* All connections of one principal get their turn. */
static void
test_own_connections_take_turns(void)
{
    begin(1);
    push("ann", 2, SEARCH);
    push("ann", 1, QUICK);
    push("ann", 2, SEARCH);
    CHECK(serves("aaaaa"));
}

/* ---- lines ---- */

struct lines { /* a client on standard input and output */
    int old[2], in[2], out[2];
    struct srv s;
    struct stdio *io;
};

static void
lines_begin(struct lines *l)
{
    *l = (struct lines){.old = {dup(0), dup(1)}};
    make_pipe(l->in, false);
    make_pipe(l->out, false);
    dup2(l->in[0], 0);
    dup2(l->out[1], 1);
    l->s.out = l->out[0];
    CHECK(stdio_open(&l->io, turn, loop) == 0);
}

static void
lines_end(struct lines *l)
{
    stdio_close(l->io);
    for (int i = 0; i < 2; i++) {
        dup2(l->old[i], i);
        close(l->old[i]);
        close(l->in[i]);
        close(l->out[i]);
    }
    free(l->s.got.p);
}

static void
put_line(const struct lines *l, const char *text)
{
    size_t n = strlen(text);

    CHECK(write(l->in[1], text, n) == (ssize_t)n &&
          write(l->in[1], "\n", 1) == 1);
}

static bool
has_output(void *ctx)
{
    return can_now(*(int *)ctx) || n_turns++ == 1000;
}

/* The next line that the server sends, of a request or by itself. */
static const char *
line_of(struct lines *l, const char *text)
{
    if (text != NULL)
        put_line(l, text);
    n_turns = 0;
    CHECK(turn_run(turn, has_output, &l->s.out) == 0);
    return next_line(&l->s);
}

/* ---- idle ---- */

static time_t started_s;

/* Another process commits a record. */
static void
commit_there(const char *key)
{
    struct store_options o = {.path = store_path(store)};
    struct store *other;
    bool unknown;
    char why[256];

    CHECK(store_open(&other, &o, NULL, 0, why) == 0);
    CHECK(store_lock(other) == 0);
    CHECK(store_stage(other, str_of(key), STR("\"v\":1")) == 0);
    CHECK(store_commit(other, &unknown) == 0);
    store_close(other);
}

/* There is always something to read, once a second. */
static void
on_time(void *ctx, int fd, int events)
{
    (void)ctx;
    (void)fd;
    (void)events;
    if (++now_s == started_s + 5)
        commit_there("task/1");
}

static bool
has_followed(void *ctx)
{
    (void)ctx;
    return store_state(store)->head > 0 || now_s > started_s + 1000;
}

/* It has to let go of an old generation of the log. */
static void
test_an_idle_server_follows(void)
{
    int ends[2];

    started_s = now_s;
    CHECK(pipe(ends) == 0 && write(ends[1], "", 1) == 1);
    CHECK(loop_watch(loop, ends[0], LOOP_READ, on_time, NULL) == 0);
    CHECK(turn_run(turn, has_followed, NULL) == 0);
    CHECK(store_state(store)->head == 1);
    CHECK(now_s > started_s + 5 && now_s <= started_s + 22);
    CHECK(loop_watch(loop, ends[0], 0, NULL, NULL) == 0);
    close(ends[0]);
    close(ends[1]);
}

#define INIT RPC(1, "initialize", "{\"protocolVersion\":\"2025-11-25\"," \
    "\"capabilities\":{},\"clientInfo\":{\"name\":\"c\",\"version\":\"1\"}}")
#define SUBSCRIBE RPC(2, "resources/subscribe", "{\"uri\":\"toy://a\"}")
#define LISTEN(what) \
    RPC(3, "subscriptions/listen", "{" META ",\"notifications\":{" what "}}")

/* What its client sent, and how often an idle server wakes in a minute then: as
   often as it looks for changes that it has to tell, and little more. */
static void
test_an_idle_server_sleeps(void)
{
    static const struct {
        const char *line[2];
        unsigned looks;
    } cases[] = {
        {{RPC(1, "tools/list", "{" META "}")}, 6},
        {{LISTEN("\"toolsListChanged\":true")}, 6},
        {{LISTEN("\"resourcesListChanged\":true")}, 60},
        {{LISTEN("\"resourceSubscriptions\":[\"toy://a\"]")}, 1200},
        {{INIT}, 60},
        {{INIT, SUBSCRIBE}, 1200},
        {{INIT, CALL("await")}, 1200},
    };
    struct lines l;
    unsigned wakes;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        begin(0);
        lines_begin(&l);
        for (int k = 0; k < 2 && cases[i].line[k] != NULL; k++)
            if (strstr(cases[i].line[k], "await") == NULL)
                CHECK(line_of(&l, cases[i].line[k]) != NULL);
            else
                put_line(&l, cases[i].line[k]);
        wakes_of(12); /* until what was set before is over */
        wakes = wakes_of(60);
        /* And every 5 s whether its parent lives. */
        if (!CHECK(wakes >= cases[i].looks - 1 && wakes <= cases[i].looks + 8))
            fprintf(stderr, "%s: %u\n", cases[i].line[0], wakes);
        lines_end(&l);
    }
}

/* It sleeps once at most before it tells of what another process did. */
static void
test_an_idle_server_tells(void)
{
    struct lines l;

    begin(0);
    lines_begin(&l);
    CHECK(line_of(&l, INIT) != NULL);
    wakes_of(12);
    commit_there("task/2");
    sleeps = 0;
    skips = true;
    CHECK(has(line_of(&l, NULL), "notifications/resources/list_changed"));
    skips = false;
    CHECK(sleeps <= 1);
    lines_end(&l);
}

/* ---- memory ---- */

#define NO_MEMORY "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32603," \
    "\"message\":\"Internal error: out of memory\"}}"

static bool comes_back; /* memory, when the message was run */

enum mcp_status __real_mcp_run(struct mcp_message *m, struct buf *out,
                               struct buf *notes);
enum mcp_status __wrap_mcp_run(struct mcp_message *m, struct buf *out,
                               struct buf *notes);

enum mcp_status
__wrap_mcp_run(struct mcp_message *m, struct buf *out, struct buf *notes)
{
    enum mcp_status status = __real_mcp_run(m, out, notes);

    if (comes_back)
        nomem_after = LONG_MAX;
    return status;
}

static bool
is_served(void *ctx)
{
    (void)ctx;
    return !turn_pending(peers[0]);
}

static void
test_an_answer_finds_no_room(void)
{
    begin(0);
    no_room = 1;
    push("ann", 1, QUICK);
    CHECK(turn_run(turn, is_served, NULL) == 0);
    CHECK(n_answers == 1 && strcmp(said, NO_MEMORY) == 0);
}

/* A request is answered wherever memory runs out, unless for good. */
static void
test_no_memory(bool once)
{
    bool hit = true;

    comes_back = !once;
    for (long after = 0; hit; after++) {
        if (!server_begin())
            return;
        begin(0);
        push("ann", 1, QUICK);
        nomem_start(after, once);
        CHECK(turn_run(turn, is_served, NULL) == 0);
        hit = nomem_stop();
        CHECK(n_answers == 1 && strstr(said, "\"id\":1,") != NULL);
        begin(0);
        server_end();
    }
    comes_back = false;
}

/* ---- requests a second ---- */

#define JSON "Content-Type: application/json\r\n" \
    "Accept: application/json, text/event-stream\r\n"
#define OLD JSON "MCP-Protocol-Version: 2025-11-25\r\n"
#define NEW JSON "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: ping\r\n"
#define STREAM "Accept: text/event-stream\r\n"
#define ANN "Authorization: Bearer ann-0123456789abcdef\r\n"
#define BOB "Authorization: Bearer bob-0123456789abcdef\r\n"
#define PING "{\"jsonrpc\":\"2.0\",\"id\":\"p\",\"method\":\"ping\"}"
#define NOTE "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}"
#define ANSWER "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}"
#define REFUSED(ms) "{\"jsonrpc\":\"2.0\",\"id\":\"p\",\"error\":{" \
    "\"code\":-32010,\"message\":\"Too many requests: try again in " #ms \
    " ms\",\"data\":{\"retryAfterMs\":" #ms "}}}"

static struct web *web;
static unsigned n_looks; /* at the tasks, for /metrics */

static void
look_at_tasks(void *ctx, struct buf *b)
{
    (void)ctx;
    buf_printf(b, "looks %u\n", ++n_looks);
}

/* With the tokens of ann and bob, or without tokens. */
static void
web_begin(uint64_t rate, unsigned connections, bool tokens)
{
    struct web_options o = {.http = {.host = "127.0.0.1", .fd = -1,
                                     .connections = connections},
                            .rate = rate,
                            .put_metrics = look_at_tasks};
    static char path[400];
    char why[256], *dir = test_tmpdir();
    FILE *f;

    snprintf(path, sizeof(path), "%s/tokens", dir);
    free(dir);
    umask(077);
    f = fopen(path, "w");
    if (f == NULL ||
        fputs("ann-0123456789abcdef ann\nbob-0123456789abcdef bob\n", f) < 0 ||
        fclose(f) != 0)
        abort();
    o.token_file = tokens ? path : NULL;
    if (!CHECK(web_open(&web, turn, loop, store, &o, why) == 0))
        abort();
    now_s += 100;
}

/* Whether c has something to read, or nothing more can come. */
static bool
has_reply(void *ctx)
{
    struct client *c = ctx;

    web_ended(web);
    return can_now(c->fd) || n_turns++ == 1000;
}

static int
again(struct client *c, const char *method, const char *path,
      const char *fields, const char *body)
{
    n_turns = 0;
    ask(c, method, path, fields, body);
    CHECK(turn_run(turn, has_reply, c) == 0);
    return strstr(fields, STREAM) != NULL ? status_of(c) : reply_of(c);
}

/* Sends one request on a connection of its own. Returns the status; the reply
   is in *c. */
static int
get(struct client *c, const char *method, const char *path,
    const char *fields, const char *body)
{
    *c = dial(web_address(web));
    return again(c, method, path, fields, body);
}

static int
once(const char *method, const char *path, const char *fields,
     const char *body)
{
    struct client c;
    int status = get(&c, method, path, fields, body);

    hang_up(&c);
    return status;
}

#define AHEAD 40

/* Sends as many requests together. */
static void
ask_ahead(struct client *c, const char *method, const char *path,
          const char *body)
{
    const char *fields = strcmp(method, "POST") == 0 ? OLD ANN : STREAM ANN;

    for (int i = 0; i < AHEAD; i++)
        ask(c, method, path, fields, body);
}

/* How many answers c has got so far. */
static unsigned
answers_so_far(struct client *c)
{
    const char *at;
    unsigned n = 0;

    while (can_now(c->fd) && receive(c))
        ;
    for (at = c->raw.p; (at = strstr(at, "HTTP/1.1 ")) != NULL; at++)
        n++;
    return n;
}

static unsigned awaited;

static bool
has_awaited(void *ctx)
{
    web_ended(web);
    return answers_so_far(ctx) >= awaited || n_turns++ == 1000;
}

/* On any route: while one connection sends many requests together, each other
   one waits for no more than one of them. */
static void
test_requests_sent_ahead_delay_nobody(void)
{
    static const struct {
        const char *method, *path, *body;
        unsigned answers;
    } cases[] = {
        {"GET", "/", NULL, AHEAD},
        {"GET", "/health", NULL, AHEAD},
        {"GET", "/ready", NULL, AHEAD},
        {"GET", "/metrics", NULL, AHEAD},
        {"GET", "/artifacts/a", NULL, 1}, /* after a 404 it closes */
        {"POST", "/mcp", PING, AHEAD},
        {"POST", "/mcp", "{", AHEAD},
        {"GET", "/sse", NULL, 1}, /* the stream does not end */
        {"POST", "/message?clientId=", QUICK, AHEAD},
    };
    struct client bob, stream, ann;
    char *to;
    unsigned i, k, n;

    begin(0);
    web_begin(0, 0, true);
    CHECK(get(&bob, "GET", "/health", "", NULL) == 200);
    CHECK(get(&stream, "GET", "/sse", STREAM ANN, NULL) == 200);
    to = next_event(&stream);
    for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        ann = dial(web_address(web));
        CHECK(again(&bob, "GET", "/health", "", NULL) == 200);
        ask_ahead(&ann, cases[i].method,
                  strchr(cases[i].path, '?') ? to : cases[i].path,
                  cases[i].body);
        for (k = 1; k < AHEAD / 2; k++) {
            if (k % 2 == 0)
                CHECK(again(&bob, "GET", "/health", "", NULL) == 200);
            else
                CHECK(again(&bob, "POST", "/mcp", OLD BOB, PING) == 200);
            n = answers_so_far(&ann);
            if (!CHECK(n <= k))
                fprintf(stderr, "%s: %u before %u\n", cases[i].path, n, k);
        }
        awaited = cases[i].answers;
        n_turns = 0;
        CHECK(turn_run(turn, has_awaited, &ann) == 0);
        CHECK(answers_so_far(&ann) == awaited);
        hang_up(&ann);
    }
    hang_up(&bob);
    hang_up(&stream);
    free(to);
    web_close(web);
}

/* The stream of a session waits for the same changes. Every 15 s it gets a
   comment, and its connection is watched even so. */
static void
test_an_idle_stream(void)
{
    struct client c, stream;
    char fields[1200];
    unsigned wakes;

    web_begin(0, 0, false);
    CHECK(get(&c, "POST", "/mcp", OLD, INIT) == 200);
    snprintf(fields, sizeof(fields), STREAM "Mcp-Session-Id: %s\r\n",
             field_of(&c, "mcp-session-id"));
    hang_up(&c);
    CHECK(get(&stream, "GET", "/mcp", fields, NULL) == 200);
    wakes_of(12);
    wakes = wakes_of(60);
    if (!CHECK(wakes >= 59 && wakes <= 68))
        fprintf(stderr, "%u\n", wakes);
    hang_up(&stream);
    web_close(web);
}

/* Uses up what a client may send at once. */
static void
spend(const char *fields)
{
    int i;

    for (i = 0; i < 4; i++)
        CHECK(once("POST", "/mcp", fields, PING) != 429);
}

static bool
posts(const char *fields, const char *body, int status, const char *want)
{
    struct client c;
    bool ok = get(&c, "POST", "/mcp", fields, body) == status &&
              strcmp(c.body.p, want) == 0 &&
              strcmp(field_of(&c, "retry-after"), "1") == 0;

    if (!ok)
        fprintf(stderr, "%s%s\n", c.head, c.body.p);
    hang_up(&c);
    return ok;
}

/* In the form of each revision, and for messages that are not requests. */
static void
test_one_request_too_many(void)
{
    web_begin(2, 0, false);
    spend(OLD);
    CHECK(posts(OLD, PING, 200, REFUSED(500)));
    CHECK(posts(JSON, PING, 200, REFUSED(500)));
    CHECK(posts(NEW, PING, 429, REFUSED(500)));
    CHECK(posts(OLD, NOTE, 429, ""));
    CHECK(posts(OLD, ANSWER, 429, ""));
    CHECK(posts(OLD, "[" PING "]", 429, ""));
    CHECK(posts(OLD, "{", 429, ""));
    now_s++; /* two more */
    CHECK(once("POST", "/mcp", OLD, NOTE) == 202);
    CHECK(once("POST", "/mcp", OLD, PING) == 200);
    CHECK(posts(OLD, PING, 200, REFUSED(500)));
    web_close(web);
}

/* What needs no body is refused after the head; /health, /ready and the page
   always answer. */
static void
test_refused_by_the_head(void)
{
    static char large[65 * 1024];
    struct client c;

    web_begin(2, 0, false);
    spend(OLD);
    CHECK(get(&c, "GET", "/mcp", STREAM "Mcp-Session-Id: x\r\n", NULL) ==
          429);
    CHECK(strcmp(field_of(&c, "retry-after"), "1") == 0);
    hang_up(&c);
    CHECK(once("GET", "/sse", STREAM, NULL) == 429);
    CHECK(once("DELETE", "/mcp", "Mcp-Session-Id: x\r\n", NULL) == 429);
    CHECK(once("POST", "/message?clientId=x", JSON, PING) == 429);
    memset(large, ' ', sizeof(large) - 1);
    memcpy(large, PING, strlen(PING));
    CHECK(once("POST", "/mcp", OLD, large) == 429);
    CHECK(once("GET", "/health", "", NULL) == 200);
    CHECK(once("GET", "/ready", "", NULL) == 200);
    CHECK(once("GET", "/", "", NULL) == 200);
    CHECK(once("GET", "/metrics", "", NULL) == 429);
    CHECK(once("GET", "/nothing", "", NULL) == 404);
    now_s++;
    CHECK(once("GET", "/metrics", "", NULL) == 200);
    CHECK(once("GET", "/metrics", "", NULL) == 200);
    CHECK(posts(OLD, PING, 200, REFUSED(500)));
    web_close(web);
}

/* However many ask for the figures, they are made once a second. */
static void
test_figures_of_a_second(void)
{
    struct client c;
    int i;

    web_begin(0, 0, true);
    n_looks = 0;
    for (i = 0; i < 10; i++) {
        CHECK(get(&c, "GET", "/metrics", i % 2 ? ANN : BOB, NULL) == 200);
        CHECK(has(c.body.p, i < 5 ? "\nlooks 1\n" : "\nlooks 2\n"));
        hang_up(&c);
        now_s += i == 4;
    }
    CHECK(n_looks == 2);
    web_close(web);
}

static void
test_a_rate_is_of_one_principal(void)
{
    web_begin(2, 0, true);
    spend(OLD ANN);
    CHECK(posts(OLD ANN, PING, 200, REFUSED(500)));
    CHECK(once("POST", "/mcp", OLD, PING) == 401);
    spend(OLD BOB);
    CHECK(posts(OLD BOB, PING, 200, REFUSED(500)));
    web_close(web);
}

/* All requests in it count, however few were left. */
static void
test_a_batch_is_many_requests(void)
{
    static const char hello[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":"
        "\"initialize\",\"params\":{\"protocolVersion\":\"2025-03-26\","
        "\"capabilities\":{},\"clientInfo\":{\"name\":\"t\","
        "\"version\":\"1\"}}}";
    char fields[512];
    struct client c;

    web_begin(2, 0, false);
    CHECK(get(&c, "POST", "/mcp", JSON, hello) == 200);
    snprintf(fields, sizeof(fields), JSON "Mcp-Session-Id: %s\r\n",
             field_of(&c, "mcp-session-id"));
    hang_up(&c);
    CHECK(once("POST", "/mcp", fields, "[" PING "," PING "," NOTE "," PING ","
               PING "]") == 200);
    CHECK(posts(JSON, PING, 200, REFUSED(1000)));
    web_close(web);
}

static void
test_no_rate(void)
{
    int i;

    web_begin(0, 0, false);
    for (i = 0; i < 20; i++)
        CHECK(once("POST", "/mcp", OLD, PING) == 200);
    web_close(web);
}

/* ---- connections ---- */

/* How many of 8 connections are served and stay open; c[0] is the first. */
static unsigned
connect_all(struct client c[9], const char *fields)
{
    unsigned n = 0;
    int status;

    do
        status = get(&c[n++], "POST", "/mcp", fields, PING);
    while (status == 200 && n < 9);
    hang_up(&c[--n]);
    return n;
}

static void
test_nobody_has_all_connections(void)
{
    struct client ann[9], bob[9];
    unsigned n, m;

    web_begin(0, 8, true);
    n = connect_all(ann, OLD ANN);
    CHECK(n == 6);
    CHECK(again(&ann[0], "POST", "/mcp", OLD ANN, PING) == 200);
    CHECK(again(&ann[0], "GET", "/health", "", NULL) == 200);
    CHECK(once("POST", "/mcp", OLD ANN, PING) == 429);
    m = connect_all(bob, OLD BOB);
    CHECK(m > 0 && n + m <= 8);
    while (m > 0)
        hang_up(&bob[--m]);
    hang_up(&ann[--n]);
    /* The first was idle when one of bob's came, and made way. */
    CHECK(again(&ann[1], "GET", "/health", "", NULL) == 200);
    CHECK(once("POST", "/mcp", OLD ANN, PING) == 200);
    while (n > 0)
        hang_up(&ann[--n]);
    web_close(web);
    web_begin(0, 8, false);
    n = connect_all(ann, OLD); /* the last one at the cost of the first */
    CHECK(n == 8 && once("GET", "/health", "", NULL) == 200);
    CHECK(again(&ann[7], "POST", "/mcp", OLD, PING) == 200);
    while (n > 0)
        hang_up(&ann[--n]);
    web_close(web);
}

/* ---- what serve has no room for ---- */

#define HEAVY 16 /* two of them fill what is taken at a time */
#define VALUES 60000

/* Whether anybody was served, or nothing more can come. */
static bool
is_busy(void *ctx)
{
    (void)ctx;
    web_ended(web);
    return trace[0] != '\0' || n_turns++ == 1000;
}

/* Each client asks for something that takes much memory. */
static void
ask_heavy(struct client c[HEAVY])
{
    static char body[2 * VALUES + 200];
    int i, n, len = 200 * 1024;

    n = snprintf(body, sizeof(body), "{\"jsonrpc\":\"2.0\",\"id\":1,"
                 "\"method\":\"tools/call\",\"params\":{\"name\":\"quick\","
                 "\"arguments\":{\"a\":[0");
    for (i = 1; i < VALUES; i++)
        n += snprintf(body + n, sizeof(body) - (size_t)n, ",0");
    snprintf(body + n, sizeof(body) - (size_t)n, "]}}}");
    for (i = 0; i < HEAVY; i++) {
        c[i] = dial(web_address(web));
        setsockopt(c[i].fd, SOL_SOCKET, SO_SNDBUF, &len, sizeof(len));
        ask(&c[i], "POST", "/mcp", OLD ANN, body);
    }
    n_turns = 0;
}

static void
test_heavy_messages_take_turns(void)
{
    struct client ann[HEAVY], bob;
    int i;

    web_begin(0, 0, true);
    begin(0);
    ask_heavy(ann);
    CHECK(turn_run(turn, is_busy, NULL) == 0);
    CHECK(get(&bob, "POST", "/mcp", OLD BOB, QUICK) == 200);
    hang_up(&bob);
    n_turns = 0;
    CHECK(turn_run(turn, has_reply, &ann[0]) == 0);
    if (!CHECK(strchr(trace, 'b') != NULL && strlen(trace) < HEAVY / 2))
        fprintf(stderr, "served %s\n", trace);
    for (i = 0; i < HEAVY; i++) {
        n_turns = 0;
        CHECK(turn_run(turn, has_reply, &ann[i]) == 0);
        CHECK(reply_of(&ann[i]) == 200);
        hang_up(&ann[i]);
    }
    CHECK(strlen(trace) == HEAVY + 1);
    web_close(web);
}

/* What the turn has no room for waits, but not for ever. */
static void
test_the_wait_for_room_ends(void)
{
    struct client c[HEAVY];
    int i, status, served = 0, refused = 0;

    web_begin(0, 0, true);
    begin(0);
    ask_heavy(c);
    CHECK(turn_run(turn, is_busy, NULL) == 0);
    now_s += 50; /* longer than a client has for its request */
    n_turns = 0;
    CHECK(turn_run(turn, has_reply, &c[HEAVY / 2]) == 0);
    now_s += 60;
    for (i = 0; i < HEAVY; i++) {
        n_turns = 0;
        CHECK(turn_run(turn, has_reply, &c[i]) == 0);
        status = reply_of(&c[i]);
        CHECK(status == 200 || status == 503);
        served += status == 200;
        refused += status == 503 &&
                   strcmp(field_of(&c[i], "retry-after"), "1") == 0;
        hang_up(&c[i]);
    }
    CHECK(served > HEAVY / 2 && refused > 0 && served + refused == HEAVY);
    CHECK(once("POST", "/mcp", OLD ANN, PING) == 200);
    web_close(web);
}

/* A turn that was stopped takes nothing more. And if its store is in etcd, a
   leap of the clock may have ended a request, and writes fail since. */
static void
server_again(void)
{
    begin(0);
    server_end();
    if (!server_begin())
        abort();
}

/* Each search takes a turn of a second, and the server stops after the first:
   there is no time for all. */
static void
test_the_end_answers_what_was_taken(void)
{
    struct client c[6];
    int status, answered = 0;

    begin(1);
    web_begin(0, 0, true);
    for (int i = 0; i < 6; i++) {
        c[i] = dial(web_address(web));
        ask(&c[i], "POST", "/mcp", OLD ANN, SEARCH);
    }
    CHECK(turn_run(turn, has_reply, &c[0]) == 0);
    turn_stop(turn);
    CHECK(turn_run(turn, web_ended, web) == 0);
    web_close(web);
    for (int i = 0; i < 6; i++) {
        status = reply_of(&c[i]);
        CHECK(status == 200 || status == 503);
        answered += status == 200;
        hang_up(&c[i]);
    }
    CHECK(answered > 1 && answered < 6);
}

/* What was posted for a stream of the SSE transport, too. */
static void
test_the_end_answers_on_the_stream(void)
{
    struct client stream, c;
    char *to;
    int i;

    begin(1);
    web_begin(0, 0, true);
    CHECK(get(&stream, "GET", "/sse", STREAM ANN, NULL) == 200);
    to = next_event(&stream);
    c = dial(web_address(web));
    for (i = 0; i < 3 && CHECK(to != NULL); i++)
        ask(&c, "POST", to, JSON ANN, SEARCH);
    CHECK(turn_run(turn, has_reply, &stream) == 0);
    turn_stop(turn);
    CHECK(turn_run(turn, web_ended, web) == 0);
    for (i = 0; i < 3; i++)
        CHECK(hears_past(&stream, "none", "\"id\":1,"));
    CHECK(next_event(&stream) == NULL && stream.ended);
    hang_up(&c);
    hang_up(&stream);
    free(to);
    web_close(web);
}

#define POSTS 8 /* each of half a body */

/* Another process has the lock, and posts a long message for each stream.
   Returns how many were accepted. */
static int
post_behind_the_lock(char *const to[POSTS])
{
    static const char head[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":"
        "\"tools/call\",\"params\":{\"name\":\"write\",\"arguments\":{\"a\":\"";
    size_t len = HTTP_MAX_BODY / 2;
    char *body = malloc(len + sizeof(head) + 5), why[256];
    struct store_options o = {.path = store_path(store)};
    struct store *other;
    struct client c;
    int i, accepted = 0;

    if (body == NULL || store_open(&other, &o, NULL, 0, why) != 0 ||
        store_lock(other) != 0)
        return -1;
    memcpy(body, head, sizeof(head));
    memset(body + sizeof(head) - 1, 'a', len);
    memcpy(body + sizeof(head) - 1 + len, "\"}}}", 5);
    for (i = 0; i < POSTS; i++) {
        c = dial(web_address(web));
        ask(&c, "POST", to[i], JSON ANN, body);
        accepted += reply_of(&c) == 202;
        hang_up(&c);
    }
    store_close(other);
    free(body);
    return accepted;
}

static bool
has_ended(void *ctx)
{
    int *status = ctx;

    web_ended(web);
    return waitpid(-1, status, WNOHANG) > 0;
}

/* What is posted for streams while nothing can be run has one limit for all of
   them, and leaves room for others. */
static void
test_streams_share_what_is_posted(void)
{
    struct client stream[POSTS], bob, c;
    char *to[POSTS], *bobs;
    int i, status = -1;

    begin(1);
    web_begin(0, 0, true);
    for (i = 0; i < POSTS; i++) {
        CHECK(get(&stream[i], "GET", "/sse", STREAM ANN, NULL) == 200);
        to[i] = next_event(&stream[i]);
    }
    CHECK(get(&bob, "GET", "/sse", STREAM BOB, NULL) == 200);
    bobs = next_event(&bob);
    if (fork() == 0)
        _exit(post_behind_the_lock(to));
    CHECK(turn_run(turn, has_ended, &status) == 0);
    /* The sixth would be more than three quarters of the room. */
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 5);
    for (i = 0; i < 5; i++) {
        n_turns = 0;
        CHECK(turn_run(turn, has_reply, &stream[i]) == 0);
        CHECK(hears_past(&stream[i], "none", "\"id\":1,"));
    }
    CHECK(get(&c, "POST", to[POSTS - 1], JSON ANN, QUICK) == 202);
    hang_up(&c);
    CHECK(get(&c, "POST", bobs, JSON BOB, QUICK) == 202);
    hang_up(&c);
    for (i = 0; i < POSTS; i++) {
        hang_up(&stream[i]);
        free(to[i]);
    }
    hang_up(&bob);
    free(bobs);
    web_close(web);
}

/* And on standard output. */
static void
test_the_end_answers_the_lines(void)
{
    struct lines l;

    begin(1);
    lines_begin(&l);
    put_line(&l, SEARCH);
    put_line(&l, SEARCH);
    CHECK(turn_run(turn, has_output, &l.s.out) == 0);
    turn_stop(turn);
    CHECK(turn_run(turn, stdio_ended, l.io) == 0);
    CHECK(answers(next_line(&l.s), 1) && answers(next_line(&l.s), 1));
    lines_end(&l);
}

/* One that waits to be taken is refused, also if it is the first of its
   connection. */
static void
test_the_end_refuses_what_was_not_taken(void)
{
    struct client c[HEAVY];
    int i, status, taken = 0, refused = 0;

    web_begin(0, 0, true);
    begin(0);
    ask_heavy(c);
    CHECK(turn_run(turn, is_busy, NULL) == 0);
    turn_stop(turn);
    CHECK(turn_run(turn, web_ended, web) == 0);
    for (i = 0; i < HEAVY; i++) {
        status = reply_of(&c[i]);
        taken += status == 200;
        refused += status == 503;
        hang_up(&c[i]);
    }
    CHECK(taken >= 2 && refused > 0 && taken + refused == HEAVY);
    web_close(web);
}

int
main(void)
{
    test_no_memory(true);
    test_no_memory(false);
    if (!server_begin())
        return test_end("t_serve");
    test_an_idle_server_follows();
    test_an_idle_server_sleeps();
    test_an_idle_server_tells();
    test_an_idle_stream();
    test_a_call_waits_for_no_crowd();
    test_principals_take_turns();
    test_own_connections_take_turns();
    test_an_answer_finds_no_room();
    begin(0);
    test_one_request_too_many();
    test_refused_by_the_head();
    test_a_rate_is_of_one_principal();
    test_a_batch_is_many_requests();
    test_no_rate();
    test_figures_of_a_second();
    test_requests_sent_ahead_delay_nobody();
    test_nobody_has_all_connections();
    test_heavy_messages_take_turns();
    test_the_wait_for_room_ends();
    server_again();
    test_streams_share_what_is_posted();
    test_the_end_answers_what_was_taken();
    server_again();
    test_the_end_answers_on_the_stream();
    server_again();
    test_the_end_answers_the_lines();
    server_again();
    test_the_end_refuses_what_was_not_taken();
    server_end();
    return test_end("t_serve");
}
