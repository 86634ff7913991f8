/* In which order the turn serves peers. The clock stands still, but for a tool
   that takes a whole turn each time that it is run. */

#include "../loop.h"
#include "../serve.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX_PEERS 32
#define CALL(name) "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\"," \
    "\"params\":{\"name\":\"" name "\"}}"
#define SEARCH CALL("search")
#define QUICK CALL("quick")
#define OBJECT "{\"type\":\"object\"}"

static time_t now_s = 1600000000;
static char trace[256]; /* the first letters of who was served, in order */
static unsigned slices; /* that a search takes */

int __wrap_clock_gettime(clockid_t id, struct timespec *t);

int
__wrap_clock_gettime(clockid_t id, struct timespec *t)
{
    (void)id;
    *t = (struct timespec){.tv_sec = now_s};
    return 0;
}

static void
note(const struct mcp_call *c)
{
    size_t n = strlen(trace);

    if (n + 1 < sizeof(trace))
        trace[n] = c->principal.p[0];
}

static int
quick(struct mcp_call *c)
{
    note(c);
    buf_z(c->out, "{}");
    return 0;
}

static int
search(struct mcp_call *c)
{
    note(c);
    now_s++;
    if (c->round + 1 < slices)
        return mcp_go_on(c, STR("x"));
    buf_z(c->out, "{}");
    return 0;
}

static const struct mcp_tool tools[] = {
    {.name = "quick", .title = "Quick", .description = "Is quick",
     .input_schema = OBJECT, .run = quick},
    {.name = "search", .title = "Search", .description = "Takes turns",
     .input_schema = OBJECT, .run = search},
};
static const struct mcp_catalogue catalogue = {
    .name = "order", .title = "Order", .version = "1", .tools = tools,
    .n_tools = sizeof(tools) / sizeof(*tools),
};

/* ---- a server ---- */

static struct loop *loop;
static struct store *store;
static struct mcp *mcp;
static struct serve *serve;
static struct peer *peers[MAX_PEERS];
static unsigned n_peers, n_answers, n_turns;

static void
on_message(void *ctx, struct str body, struct str event)
{
    (void)ctx;
    (void)body;
    (void)event;
}

static void
on_answer(void *ctx, const struct serve_answer *a)
{
    (void)ctx;
    n_answers += a->status == MCP_OK;
}

static void
on_later(void *ctx, unsigned poll_ms)
{
    (void)ctx;
    (void)poll_ms;
}

static void
on_nothing(void *ctx)
{
    (void)ctx;
}

static const struct peer_ops ops = {on_message, on_answer, on_later,
                                    on_nothing, on_nothing};

/* What principal sends over n connections. */
static void
push(const char *principal, unsigned n, const char *text)
{
    static struct mcp_facts f[MAX_PEERS];

    for (; n > 0; n--, n_peers++) {
        if (n_peers == MAX_PEERS)
            abort();
        f[n_peers] = (struct mcp_facts){.principal = str_of(principal)};
        peers[n_peers] = serve_join(serve, &ops, NULL);
        CHECK(serve_push(peers[n_peers], &f[n_peers], str_of(text)) == 0);
    }
}

static bool
all_answered(void *ctx)
{
    (void)ctx;
    return n_answers == n_peers || n_turns++ == 1000;
}

/* Whether they were served in that order. */
static bool
serves(const char *want)
{
    CHECK(serve_run(serve, all_answered, NULL) == 0);
    CHECK(n_answers == n_peers);
    if (strcmp(trace, want) != 0)
        printf("served %s\n", trace);
    return strcmp(trace, want) == 0;
}

static void
begin(unsigned of_search)
{
    while (n_peers > 0)
        serve_leave(peers[--n_peers]);
    n_answers = n_turns = 0;
    memset(trace, 0, sizeof(trace));
    slices = of_search;
}

/* ---- the tests ---- */

/* However many connections search for somebody. */
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
    CHECK(serves("ababab" "aaaaaa"));
}

/* Nobody's connections are left behind his own others. */
static void
test_own_connections_take_turns(void)
{
    begin(1);
    push("ann", 2, SEARCH);
    push("ann", 1, QUICK);
    push("ann", 2, SEARCH);
    CHECK(serves("aaaaa"));
}

int
main(void)
{
    char *dir = test_tmpdir(), path[400], why[256];
    struct store_options o = {.path = path};
    struct store_kind kind;

    snprintf(path, sizeof(path), "%s/log", dir);
    free(dir);
    mcp_session_kind(&kind);
    if (!CHECK(store_open(&store, &o, &kind, 1, why) == 0) ||
        !CHECK(mcp_new(&mcp, &catalogue, store, NULL) == 0) ||
        !CHECK(loop_new(&loop) == 0) ||
        !CHECK(serve_new(&serve, loop, store, mcp) == 0))
        return test_end("t_serve");
    test_a_call_waits_for_no_crowd();
    test_principals_take_turns();
    test_own_connections_take_turns();
    begin(0);
    serve_free(serve);
    loop_free(loop);
    mcp_free(mcp);
    store_close(store);
    return test_end("t_serve");
}
