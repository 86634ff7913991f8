#ifndef TEST_SERVE_RIG_H
#define TEST_SERVE_RIG_H

/* A server of a few tools, without descriptors of its own: push sends a
   principal's message over n connections; serves checks the order in which
   principals are served, by the first letters of their names. The clock stands
   still, except that each run of search takes a whole turn, and that in
   wakes_of it advances where the loop would sleep. Each resource is the record
   task/1. */

#include "base/loop.h"
#include "serve/turn.h"
#include "tests/lib/client.h"
#include "tests/lib/signed_store.h"

#include <sys/select.h>
#include <time.h>

#define MAX_PEERS 32
#define CALL(name) "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\"," \
    "\"params\":{\"name\":\"" name "\"}}"
#define SEARCH CALL("search")
#define QUICK CALL("quick")
#define OBJECT "{\"type\":\"object\"}"

static time_t now_s = 1600000000;
static long now_ms;    /* besides */
static bool skips;     /* the time for which the loop would sleep, */
static unsigned sleeps; /* and counts how often */
static char trace[256]; /* first letters of the served principals, in order */
static unsigned slices; /* slices a search takes */

int __wrap_clock_gettime(clockid_t id, struct timespec *t);

int
__wrap_clock_gettime(clockid_t id, struct timespec *t)
{
    (void)id;
    *t = (struct timespec){.tv_sec = now_s, .tv_nsec = now_ms * 1000000};
    return 0;
}

int __real_pselect(int n, fd_set *rd, fd_set *wr, fd_set *ex,
                   const struct timespec *t, const sigset_t *mask);
int __wrap_pselect(int n, fd_set *rd, fd_set *wr, fd_set *ex,
                   const struct timespec *t, const sigset_t *mask);

int
__wrap_pselect(int n, fd_set *rd, fd_set *wr, fd_set *ex,
               const struct timespec *t, const sigset_t *mask)
{
    static const struct timespec none = {0, 0}, second = {1, 0};
    const struct timespec *ask = t != NULL ? t : &second;
    int got = __real_pselect(n, rd, wr, ex, skips ? &none : t, mask);

    if (skips && got == 0 && (ask->tv_sec > 0 || ask->tv_nsec > 0)) {
        sleeps++;
        now_ms += ask->tv_nsec / 1000000;
        now_s += ask->tv_sec + now_ms / 1000;
        now_ms %= 1000;
    }
    return got;
}

static inline void
note(const struct mcp_call *c)
{
    size_t n = strlen(trace);

    if (n + 1 < sizeof(trace))
        trace[n] = c->principal.len > 0 ? c->principal.p[0] : '-';
}

static inline int
quick(struct mcp_call *c)
{
    note(c);
    buf_z(c->out, "{}");
    return 0;
}

static inline int
search(struct mcp_call *c)
{
    note(c);
    now_s++;
    if (c->round + 1 < slices)
        return mcp_go_on(c, STR("x"));
    buf_z(c->out, "{}");
    return 0;
}

static inline int
await(struct mcp_call *c)
{
    mcp_watch(c, STR("task/1"));
    return MCP_RUN_WAITS;
}

static inline int
list_nothing(struct mcp_call *c, struct str cursor, struct str *next)
{
    (void)c;
    (void)cursor;
    (void)next;
    return 0;
}

static inline int
read_nothing(struct mcp_call *c, struct str uri)
{
    (void)c;
    (void)uri;
    return ERR_NOT_FOUND;
}

static inline int
key_of(void *ctx, struct arena *a, struct str uri, struct str *key)
{
    (void)ctx;
    (void)uri;
    *key = arena_str(a, STR("task/1"));
    return key->p != NULL ? 0 : ERR_NOMEM;
}

static inline bool
is_first(void *ctx, const struct mcp_change *c)
{
    (void)ctx;
    return c->first;
}

static const struct mcp_tool tools[] = {
    {.name = "quick", .title = "Quick", .description = "Is quick",
     .input_schema = OBJECT, .run = quick},
    {.name = "write", .title = "Write", .description = "Takes the lock",
     .input_schema = OBJECT, .run = quick, .writes = true},
    {.name = "search", .title = "Search", .description = "Takes turns",
     .input_schema = OBJECT, .run = search},
    {.name = "await", .title = "Await", .description = "Waits for task/1",
     .input_schema = OBJECT, .run = await},
};
static const struct mcp_catalogue catalogue = {
    .name = "order", .title = "Order", .version = "1", .tools = tools,
    .n_tools = sizeof(tools) / sizeof(*tools), .resources = list_nothing,
    .resource_read = read_nothing, .resource_key = key_of,
    .resources_change = is_first,
};

/* ---- a server ---- */

static struct loop *loop;
static struct mcp *mcp;
static struct turn *turn;
static struct peer *peers[MAX_PEERS];
static unsigned n_peers, n_answers, n_turns;
static unsigned no_room; /* this many answers find no memory */
static char said[256];   /* the last answer */

static inline bool
on_out(void *ctx, const struct mcp_out *o)
{
    (void)ctx;
    if (o->to == NULL || o->status == MCP_WAITS)
        return true;
    if (no_room > 0)
        return no_room-- == 0;
    snprintf(said, sizeof(said), "%.*s", STR_ARG(o->text));
    n_answers += o->status == MCP_OK;
    return true;
}

/* Pushes a message of principal on n connections. */
static inline void
push(const char *principal, unsigned n, const char *text)
{
    static struct mcp_facts f[MAX_PEERS];
    static struct mcp_channel channels[MAX_PEERS];
    struct str body = str_of(text);

    for (; n > 0; n--, n_peers++) {
        if (n_peers == MAX_PEERS)
            abort();
        f[n_peers] = (struct mcp_facts){.principal = str_of(principal)};
        channels[n_peers] = (struct mcp_channel){.send = on_out};
        peers[n_peers] = turn_join(turn, &channels[n_peers]);
        CHECK(turn_push(peers[n_peers], &f[n_peers], &body) == 0);
    }
}

static inline bool
can_now(int fd)
{
    return poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, 0) == 1;
}

static inline bool
all_answered(void *ctx)
{
    (void)ctx;
    return n_answers == n_peers || n_turns++ == 1000;
}

static time_t wakes_end_s;

static inline bool
has_slept(void *ctx)
{
    (void)ctx;
    return now_s >= wakes_end_s;
}

/* How often the server wakes in so many idle seconds. */
static inline unsigned
wakes_of(time_t seconds)
{
    wakes_end_s = now_s + seconds;
    sleeps = 0;
    skips = true;
    CHECK(turn_run(turn, has_slept, NULL) == 0);
    skips = false;
    return sleeps;
}

/* Returns whether they were served in that order. */
static inline bool
serves(const char *want)
{
    CHECK(turn_run(turn, all_answered, NULL) == 0);
    CHECK(n_answers == n_peers);
    if (strcmp(trace, want) != 0)
        printf("served %s\n", trace);
    return strcmp(trace, want) == 0;
}

static inline void
begin(unsigned of_search)
{
    while (n_peers > 0)
        turn_leave(peers[--n_peers]);
    n_answers = n_turns = 0;
    memset(trace, 0, sizeof(trace));
    slices = of_search;
}

static inline bool
server_begin(void)
{
    return signed_store_open(false) &&
           CHECK(mcp_new(&mcp, &catalogue, store, sign, the_calls) == 0) &&
           CHECK(loop_new(&loop) == 0) &&
           CHECK(turn_new(&turn, loop, store, mcp) == 0);
}

static inline void
server_end(void)
{
    turn_free(turn);
    loop_free(loop);
    mcp_free(mcp);
    signed_store_close();
}

#endif
