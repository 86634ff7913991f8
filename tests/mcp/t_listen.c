/* Streams and subscriptions/listen: who is told what, once, in order, and again
   after a loss. Messages go through mcp as serve passes them; the test controls
   the clock and the disk. */

#include "tests/lib/mcp_world.h"

/* ---- streams ---- */

TEST(streams_take_turns)
{
    struct world w;
    struct who *one = who_new(), *two = who_new(), *three = who_new();
    struct mcp_session *s;
    char id[MCP_ID_MAX];
    unsigned long long n;

    toys_open(&w);
    join(&w, "ann", id);
    CHECK(subscribe(&w, id, "toy://a"));
    CHECK(!mcp_listens(w.m));
    s = stream(&w, id, NULL, one);
    stream(&w, id, NULL, two);
    CHECK(mcp_listens(w.m) == MCP_HEARS_ALL);
    tick(&w, 2000);
    n = put(&w, "a");
    CHECK(one->n == 2 && told(one, 0, place(n, 1), UPDATED("toy://a")) &&
          told(one, 1, place(n, MCP_LIST_PLACE), LIST("resources")));
    stream(&w, id, place(n, 1), three);
    n = put(&w, "a");
    CHECK(three->n == 1 && told(three, 0, place(n, 1), UPDATED("toy://a")));
    mcp_stream_close(s, &one->pipe);
    n = put(&w, "a");
    CHECK(three->n == 2 && told(three, 1, place(n, 1), UPDATED("toy://a")));
    mcp_stream_close(s, &three->pipe);
    n = put(&w, "a");
    CHECK(two->n == 1 && told(two, 0, place(n, 1), UPDATED("toy://a")));
    mcp_stream_close(s, &two->pipe);
    CHECK(!mcp_listens(w.m));
    put(&w, "a");
    n = put(&w, "a");
    who_forget(one);
    stream(&w, id, NULL, one);
    CHECK(one->n == 1 && told(one, 0, place(n, 1), UPDATED("toy://a")));
    CHECK(two->n == 1 && three->n == 2);
    world_close(&w);
    who_free(one);
    who_free(two);
    who_free(three);
}

TEST(streams_are_told_in_order)
{
    struct world w;
    struct who *c = who_new();
    char id[MCP_ID_MAX];
    unsigned long long a, b;

    toys_open(&w);
    join(&w, "ann", id);
    CHECK(subscribe(&w, id, "toy://b") && subscribe(&w, id, "toy://a/1") &&
          subscribe(&w, id, "toy://c") && subscribe(&w, id, "toy://a/2"));
    put(&w, "b");
    a = put(&w, "a");
    b = put(&w, "b");
    stream(&w, id, NULL, c);
    tick(&w, 1000);
    CHECK(c->n == 4 && told(c, 0, place(a, 2), UPDATED("toy://a/1")) &&
          told(c, 1, place(a, 4), UPDATED("toy://a/2")) &&
          told(c, 2, place(b, 1), UPDATED("toy://b")) &&
          told(c, 3, place(b, MCP_LIST_PLACE), LIST("resources")));
    who_forget(c);
    lock(&w); /* one batch: of two changes the last is told */
    stage(&w, "b");
    stage(&w, "a");
    stage(&w, "x");
    stage(&w, "b");
    CHECK(commit(&w) == 0);
    a = b + 2;
    b = b + 4;
    CHECK(c->n == 3 && told(c, 0, place(a, 2), UPDATED("toy://a/1")) &&
          told(c, 1, place(a, 4), UPDATED("toy://a/2")) &&
          told(c, 2, place(b, 1), UPDATED("toy://b")));
    world_close(&w);
    who_free(c);
}

/* A subscription is told of what follows its record in the same batch. */
TEST(subscription_within_a_batch)
{
    struct world w;
    struct who *c = who_new();
    struct mcp_session *s;
    char id[MCP_ID_MAX];

    toys_open(&w);
    join(&w, "ann", id);
    CHECK(subscribe(&w, id, "toy://y"));
    put(&w, "x");
    put(&w, "y");
    s = stream(&w, id, NULL, c);
    tick(&w, 1000);
    who_forget(c);
    lock(&w);
    stage(&w, "x");
    stage(&w, "y");
    CHECK(mcp_session_set(s, -1, false, STR("toy://x"), STR_NONE) == 0);
    stage(&w, "y");
    stage(&w, "x");
    CHECK(commit(&w) == 0);
    CHECK(c->n == 2 && told(c, 0, "7.1", UPDATED("toy://y")) &&
          told(c, 1, "8.2", UPDATED("toy://x")));
    world_close(&w);
    who_free(c);
}

TEST(a_stream_resumes_after_the_last_event_id)
{
    struct world w;
    struct mcp_session *s;
    char id[MCP_ID_MAX], other[MCP_ID_MAX];
    unsigned long long a, b;
    int i;

    toys_open(&w);
    join(&w, "ann", id);
    join(&w, "ann", other);
    put(&w, "a");
    put(&w, "b");
    CHECK(subscribe(&w, id, "toy://a/1") && subscribe(&w, id, "toy://b") &&
          subscribe(&w, id, "toy://a/2"));
    a = put(&w, "a");
    b = put(&w, "b");
    for (i = 0; i < 2; i++) {
        const struct {
            unsigned long long n;
            unsigned i;
            size_t rest; /* updates that are left, of three */
        } cases[] = {
            {a - 1, 1, 3}, {a, 0, 3}, {a, 1, 2}, {a, 2, 2}, {a, 3, 1},
            {b, 0, 1}, {b, 2, 0},
        };
        size_t k, rest;

        for (k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
            struct who *c = who_new();

            rest = cases[k].rest;
            s = stream(&w, id, place(cases[k].n, cases[k].i), c);
            tick(&w, 2000);
            while (c->n > 0 && strstr(c->said[c->n - 1], "list_changed"))
                free(c->said[--c->n]);
            CHECK(c->n == rest);
            CHECK(rest < 1 || told(c, rest - 1, place(b, 2),
                                   UPDATED("toy://b")));
            CHECK(rest < 2 || told(c, rest - 2, place(a, 3),
                                   UPDATED("toy://a/2")));
            CHECK(rest < 3 || told(c, 0, place(a, 1), UPDATED("toy://a/1")));
            mcp_stream_close(s, &c->pipe);
            who_free(c);
        }
        restart(&w);
    }
    world_close(&w);
}

TEST(invalid_last_event_ids)
{
    static const char *const cases[] = {
        "", ".", "..", "1", ".1", ".1.", ".1.x", ".x.1", ".-1.0", ".1.1.",
        ".18446744073709551616.0", ".99.0", " .1.0", ".1.0 ",
    };
    struct world w;
    struct who *one = who_new(), *two = who_new();
    struct mcp_session *s;
    char id[MCP_ID_MAX], other[MCP_ID_MAX], last[160];
    size_t i;

    toys_open(&w);
    join(&w, "ann", id);
    join(&w, "ann", other);
    CHECK(subscribe(&w, id, "toy://a"));
    put(&w, "a");
    stream(&w, id, NULL, one);
    tick(&w, 2000);
    CHECK(one->n == 2);
    for (i = 0; i <= sizeof(cases) / sizeof(cases[0]); i++) {
        if (i < sizeof(cases) / sizeof(cases[0]))
            snprintf(last, sizeof(last), "%s%s", id, cases[i]);
        else
            snprintf(last, sizeof(last), "%s.1.0", other);
        CHECK(stream_as(&w, "ann", id, str_of(last), two, &s) == 0);
        if (!CHECK(s->news.channels == &one->pipe && two->n == 0))
            fprintf(stderr, "%s\n", last);
        mcp_stream_close(s, &two->pipe);
    }
    CHECK(stream_as(&w, "bob", id, STR_NONE, two, &s) == ERR_NOT_FOUND);
    CHECK(stream_as(&w, "ann", "x", STR_NONE, two, &s) == ERR_NOT_FOUND);
    world_close(&w);
    who_free(one);
    who_free(two);
}

TEST(slots_that_moved_lose_nothing)
{
    struct world w;
    struct who *c = who_new();
    struct mcp_session *s;
    char id[MCP_ID_MAX];
    unsigned long long n;

    toys_open(&w);
    join(&w, "ann", id);
    CHECK(subscribe(&w, id, "toy://a/1") && subscribe(&w, id, "toy://a/2"));
    s = stream(&w, id, NULL, c);
    n = put(&w, "a");
    mcp_stream_close(s, &c->pipe);
    CHECK(unsubscribe(&w, id, "toy://a/1"));
    who_forget(c);
    stream(&w, id, place(n, 1), c); /* the second never arrived */
    CHECK(c->n > 0 && told(c, 0, place(n, 1), UPDATED("toy://a/2")));
    world_close(&w);
    who_free(c);
}

/* ---- several processes, restarts ---- */

TEST(other_processes_are_heard)
{
    struct world a, b;
    struct who *c = who_new();
    char id[MCP_ID_MAX];
    unsigned long long n;

    toys_open(&a);
    join(&a, "ann", id);
    open_beside(&b, &a, false);
    stream(&a, id, NULL, c);
    put(&b, "a");
    CHECK(follow(&a) == 0);
    CHECK(c->n == 1 && told(c, 0, "1.257", LIST("resources")));
    CHECK(subscribe(&b, id, "toy://a")); /* posted to the other process */
    n = put(&b, "a");
    CHECK(follow(&a) == 0);
    CHECK(c->n == 2 && told(c, 1, place(n, 1), UPDATED("toy://a")));
    CHECK(unsubscribe(&b, id, "toy://a"));
    put(&b, "a");
    CHECK(follow(&a) == 0 && c->n == 2);
    world_close(&b);
    world_close(&a);
    who_free(c);
}

TEST(after_a_restart_the_rest_is_told)
{
    struct world w;
    struct who *c = who_new();
    struct mcp_session *s;
    char id[MCP_ID_MAX], last[MCP_EVENT_MAX];
    unsigned long long n;

    toys_open(&w);
    join(&w, "ann", id);
    put(&w, "a");
    CHECK(subscribe(&w, id, "toy://a") && subscribe(&w, id, "toy://b"));
    s = stream(&w, id, NULL, c);
    mcp_stream_event(s, last);
    restart(&w);
    n = put(&w, "b");
    who_forget(c);
    CHECK(stream_as(&w, "ann", id, str_of(last), c, &s) == 0);
    tick(&w, 0);
    CHECK(c->n == 3 && told(c, 0, place(n, 2), UPDATED("toy://b")) &&
          told(c, 1, place(n, MCP_LIST_PLACE), LIST("resources")) &&
          told(c, 2, "", LIST("tools")));
    restart(&w); /* nothing comes twice, by the last id */
    snprintf(last, sizeof(last), "%s", c->event[0]);
    who_forget(c);
    CHECK(stream_as(&w, "ann", id, str_of(last), c, &s) == 0);
    tick(&w, 2000);
    CHECK(c->n == 2 && strstr(c->said[0], "resources/list_changed"));
    CHECK(c->n == 2 && strstr(c->said[1], "tools/list_changed"));
    restart(&w);
    who_forget(c);
    stream(&w, id, NULL, c); /* without a place it hears all since then */
    CHECK(c->n > 0 && told(c, 0, place(n, 2), UPDATED("toy://b")));
    world_close(&w);
    who_free(c);
}

/* ---- lists ---- */

TEST(list_changed_once_a_second)
{
    struct world w;
    struct who *c = who_new();
    struct mcp_session *s;
    char id[MCP_ID_MAX], name[16];
    int i;

    toys_open(&w);
    join(&w, "ann", id);
    s = stream(&w, id, NULL, c);
    tick(&w, 2000);
    for (i = 0; i < 10; i++) {
        snprintf(name, sizeof(name), "a%d", i);
        put(&w, name);
    }
    CHECK(c->n == 1 && told(c, 0, "1.257", LIST("resources")));
    CHECK(mcp_due_ms(w.m) != INT64_MAX);
    tick(&w, 0);
    CHECK(c->n == 1);
    tick(&w, 1000);
    CHECK(c->n == 2 && told(c, 1, "10.257", LIST("resources")));
    CHECK(mcp_due_ms(w.m) == INT64_MAX);
    tick(&w, 2000);
    put(&w, "a0"); /* not a new one */
    mcp_list_changed(w.m, MCP_LIST_PROMPTS); /* not declared */
    CHECK(c->n == 2);
    mcp_list_changed(w.m, MCP_LIST_TOOLS);
    tick(&w, 2000);
    CHECK(c->n == 3 && told(c, 2, "", LIST("tools")));
    mcp_stream_close(s, &c->pipe);
    put(&w, "b");
    who_forget(c);
    stream(&w, id, NULL, c); /* what happened meanwhile comes with the others */
    tick(&w, 1000);
    CHECK(c->n == 1 && told(c, 0, "12.257", LIST("resources")));
    mcp_stream_close(s, &c->pipe);
    who_forget(c);
    stream(&w, id, "12.257", c); /* this one arrived */
    tick(&w, 2000);
    CHECK(c->n == 0);
    mcp_stream_close(s, &c->pipe);
    stream(&w, id, "10.257", c); /* this one did not */
    tick(&w, 2000);
    CHECK(c->n == 2 && told(c, 0, "12.257", LIST("resources")));
    world_close(&w);
    who_free(c);
}

static bool client_is_behind;

static bool
is_client_behind(void *ctx)
{
    (void)ctx;
    return client_is_behind;
}

/* However often lists change, one notification waits for a client that does not
   read; another client is told as usual. */
TEST(no_second_list_changed_for_a_slow_client)
{
    struct world w;
    struct who *slow = who_new(), *good = who_new();
    char id[MCP_ID_MAX], name[16];
    int i;

    toys_open(&w);
    slow->pipe.behind = is_client_behind;
    join(&w, "ann", id);
    stream(&w, id, NULL, slow);
    join(&w, "ann", id);
    stream(&w, id, NULL, good);
    tick(&w, 2000);
    put(&w, "a");
    CHECK(slow->n == 1 && good->n == 1);
    client_is_behind = true;
    for (i = 0; i < 5; i++) {
        snprintf(name, sizeof(name), "b%d", i);
        put(&w, name);
        tick(&w, 1000);
        CHECK(slow->n == 1 && good->n == 2 + (size_t)i);
    }
    CHECK(mcp_due_ms(w.m) != INT64_MAX);
    client_is_behind = false;
    tick(&w, 2000);
    CHECK(slow->n == 2 && told(slow, 1, "6.257", LIST("resources")));
    CHECK(good->n == 6 && mcp_due_ms(w.m) == INT64_MAX);
    world_close(&w);
    who_free(slow);
    who_free(good);
}

/* A session that left memory meanwhile cannot have been told. */
TEST(list_changed_while_nobody_was_there)
{
    struct world w;
    struct who *c = who_new();
    struct mcp_session *s;
    char id[MCP_ID_MAX], other[MCP_ID_MAX];
    int i;

    toys_open(&w);
    join(&w, "ann", id);
    s = stream(&w, id, NULL, c);
    tick(&w, 2000);
    put(&w, "a");
    CHECK(c->n == 1 && told(c, 0, "1.257", LIST("resources")));
    for (i = 0; i < 3; i++) {
        who_forget(c);
        mcp_stream_close(s, &c->pipe);
        mcp_session_free(s);
        if (i == 1)
            put(&w, "b");
        if (i == 2) { /* one was sent, the next waits its second */
            join(&w, "ann", other);
            put(&w, "c");
            put(&w, "d");
        }
        s = stream(&w, id, i < 2 ? "1.257" : "3.257", c);
        tick(&w, i < 2 ? 2000 : 1000);
        CHECK((c->n > 0 && strstr(c->said[0], "resources/list_changed")) ==
              (i > 0));
    }
    world_close(&w);
    who_free(c);
}

/* ---- the SSE transport ---- */

TEST(sse_session_comes_back_with_its_last_event)
{
    struct world w;
    struct who *c = who_new(), *d = who_new();
    struct mcp_session *s, *again;
    struct mcp_facts f = facts("ann", NULL);
    char id[MCP_ID_MAX], event[MCP_EVENT_MAX];
    struct str last;

    toys_open(&w);
    CHECK(sse_as(&w, "ann", STR_NONE, c, &s) == 0);
    CHECK(s->sse && !s->initialized && mcp_session_id(s)[0] != '\0');
    put(&w, "a");
    CHECK(c->n == 0 && !mcp_listens(w.m)); /* no initialize yet */
    f.session = s;
    run(&w, &f, INIT, NULL);
    tick(&w, 2000);
    put(&w, "b");
    lock(&w);
    CHECK(mcp_session_set(s, -1, false, STR("toy://a"), STR_NONE) == 0);
    CHECK(commit(&w) == 0 && s->news.n_subs == 1);
    snprintf(id, sizeof(id), "%s", s->id);
    last = (struct str){event, mcp_stream_event(s, event)};
    mcp_stream_close(s, &c->pipe);
    put(&w, "a");
    who_forget(c);
    CHECK(sse_as(&w, "ann", last, c, &again) == 0);
    CHECK(again == s && c->n == 0); /* the endpoint comes first */
    CHECK(mcp_due_ms(w.m) <= clock_mono_ms());
    tick(&w, 0);
    CHECK(c->n > 0 && told(c, 0, "4.1", UPDATED("toy://a")));
    restart(&w);
    who_forget(c);
    CHECK(sse_as(&w, "ann", last, c, &s) == 0);
    CHECK(strcmp(s->id, id) == 0 && s->sse && !s->initialized);
    tick(&w, 0);
    CHECK(c->n > 0 && told(c, 0, "4.1", UPDATED("toy://a")));
    CHECK(sse_as(&w, "bob", last, d, &again) == 0);
    CHECK(again != s && strcmp(again->id, id) != 0);
    mcp_stream_close(again, &d->pipe);
    CHECK(sse_as(&w, "ann", STR("x.1.0"), d, &again) == 0);
    CHECK(again != s);
    mcp_stream_close(again, &d->pipe);
    join(&w, "ann", id); /* another kind of session */
    snprintf(event, sizeof(event), "%s.0.0", id);
    CHECK(sse_as(&w, "ann", str_of(event), d, &again) ==
          0 && again->sse);
    world_close(&w);
    who_free(c);
    who_free(d);
}

/* ---- subscriptions/listen ---- */

#define MODERN                                                              \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"," \
    "\"io.modelcontextprotocol/clientCapabilities\":{}}"
#define TAG(id) "\"_meta\":{\"io.modelcontextprotocol/subscriptionId\":" id "}"

/* Listens with that id and params.notifications, on a pipe or, if s is NULL, on
   a connection of its own. */
static const char *
listen_to(struct world *w, struct mcp_session *s, const char *id,
          const char *filter, struct who *c)
{
    struct mcp_facts f = {.http = s == NULL, .session = s,
                          .version = s == NULL ? STR("2026-07-28") : STR_NONE,
                          .header = no_header,
                          .header_ctx = (void *)(uintptr_t)
                                        "subscriptions/listen"};
    char text[32768];

    snprintf(text, sizeof(text), "{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":"
             "\"subscriptions/listen\",\"params\":{" MODERN "%s%s}}", id,
             filter[0] != '\0' ? ",\"notifications\":" : "", filter);
    return run(w, &f, text, c);
}

/* Whether the last run acknowledged exactly this filter, as its first note. */
static bool
acknowledged(const struct world *w, const char *id, const char *filter)
{
    char want[2048];
    size_t n = (size_t)snprintf(
        want, sizeof(want), "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
        "subscriptions/acknowledged\",\"params\":{\"_meta\":{\"io."
        "modelcontextprotocol/subscriptionId\":%s},\"notifications\":%s}}\n",
        id, filter);
    bool ok = w->status == MCP_WAITS && w->notes.len == n &&
              memcmp(w->notes.p, want, n) == 0;

    if (!ok)
        fprintf(stderr, "wanted %sgot %.*s", want, (int)w->notes.len,
                w->notes.p);
    return ok;
}

TEST(listen_acknowledges_what_exists)
{
    static const struct {
        const char *asked, *had; /* NULL: refused */
    } cases[] = {
        {"{}", "{}"},
        {"{\"toolsListChanged\":true,\"promptsListChanged\":true,"
         "\"resourcesListChanged\":true}",
         "{\"resourcesListChanged\":true,\"toolsListChanged\":true}"},
        {"{\"toolsListChanged\":false,\"resourcesListChanged\":null}", "{}"},
        {"{\"resourceSubscriptions\":[\"toy://a\",\"other://b\",\"toy://a\","
         "\"toy://\\u00e9\"]}",
         "{\"resourceSubscriptions\":[\"toy://a\",\"toy://\xc3\xa9\"]}"},
        {"{\"resourceSubscriptions\":[\"other://b\"]}", "{}"},
        {"{\"resourceSubscriptions\":[]}", "{}"},
        {"{\"unknown\":7,\"toolsListChanged\":true}",
         "{\"toolsListChanged\":true}"},
        {"", NULL},
        {"[]", NULL},
        {"null", NULL},
        {"{\"toolsListChanged\":1}", NULL},
        {"{\"resourcesListChanged\":\"true\"}", NULL},
        {"{\"resourceSubscriptions\":\"toy://a\"}", NULL},
        {"{\"resourceSubscriptions\":[7]}", NULL},
    };
    struct world w;
    struct who *c = who_new();
    const char *answer;
    size_t i;

    toys_open(&w);
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        answer = listen_to(&w, NULL, "\"l:0\"", cases[i].asked, c);
        if (cases[i].had != NULL)
            CHECK(acknowledged(&w, "\"l:0\"", cases[i].had));
        else if (!CHECK(w.status == MCP_OK && w.notes.len == 0 &&
                        strstr(answer, "\"code\":-32602")))
            fprintf(stderr, "%s: %s\n", cases[i].asked, answer);
        if (w.status == MCP_WAITS)
            mcp_release(w.kept);
    }
    CHECK(w.m->n_subs == 0 && !mcp_listens(w.m));
    world_close(&w);
    who_free(c);
}

TEST(listen_has_limits)
{
    struct world w;
    struct who *c = who_new();
    struct mcp_session *s;
    struct buf b = {0};
    char id[16];
    int i, k;

    toys_open(&w);
    for (k = 0; k < 2; k++) {
        b.len = 0;
        for (i = 0; i < MCP_MAX_SUBS + k; i++)
            buf_printf(&b, "%s\"toy://%d\"",
                       i == 0 ? "{\"resourceSubscriptions\":[" : ",", i);
        buf_put(&b, "]}", 3);
        listen_to(&w, NULL, "1", b.p, c);
        CHECK(w.status == (k == 0 ? MCP_WAITS : MCP_OK));
    }
    for (k = 0; k < 2; k++) {
        b.len = 0;
        buf_z(&b, "{\"resourceSubscriptions\":[\"");
        for (i = 0; i < MCP_MAX_URI + k; i++)
            buf_z(&b, i < 6 ? (const char *[]){"t", "o", "y", ":", "/",
                                               "/"}[i] : "x");
        buf_put(&b, "\"]}", 4);
        listen_to(&w, NULL, "1", b.p, c);
        CHECK(w.status == (k == 0 ? MCP_WAITS : MCP_OK));
    }
    s = mcp_join(w.m, &c->pipe);
    for (i = 0; i < MCP_MAX_WAITING; i++) {
        snprintf(id, sizeof(id), "%d", i);
        listen_to(&w, s, id, "{}", c);
        CHECK(w.status == MCP_WAITS);
    }
    CHECK(strstr(listen_to(&w, s, "999", "{}", c), "-32602"));
    CHECK(w.notes.len == 0); /* it is not acknowledged either */
    listen_to(&w, NULL, "64", "{}", c);
    CHECK(w.status == MCP_WAITS);
    while (w.m->messages != NULL)
        mcp_release(w.m->messages);
    CHECK(w.m->n_subs == 0);
    mcp_leave(s);
    buf_fini(&b);
    world_close(&w);
    who_free(c);
}

#define TAGGED(what, id, rest)                                          \
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/" what "\",\"params\":{" \
    TAG(id) rest "}}"

TEST(listen_is_told_what_it_asked_for)
{
    struct world w;
    struct who *c = who_new(), *d = who_new(), *e = who_new();

    toys_open(&w);
    put(&w, "a");
    listen_to(&w, NULL, "\"l:0\"", "{\"resourceSubscriptions\":[\"toy://b\","
              "\"toy://a\"]}", c);
    listen_to(&w, NULL, "7", "{\"resourcesListChanged\":true}", d);
    listen_to(&w, NULL, "8", "{\"toolsListChanged\":true}", e);
    CHECK(mcp_listens(w.m) && c->n + d->n + e->n == 0);
    tick(&w, 2000);
    put(&w, "a");
    CHECK(c->n == 1 && told(c, 0, "", TAGGED("resources/updated", "\"l:0\"",
                                             ",\"uri\":\"toy://a\"")));
    put(&w, "b");
    CHECK(c->n == 2 && told(c, 1, "", TAGGED("resources/updated", "\"l:0\"",
                                             ",\"uri\":\"toy://b\"")));
    CHECK(d->n == 1 && told(d, 0, "", TAGGED("resources/list_changed", "7",
                                             "")));
    mcp_list_changed(w.m, MCP_LIST_TOOLS);
    tick(&w, 1000);
    CHECK(e->n == 1 && told(e, 0, "", TAGGED("tools/list_changed", "8", "")));
    CHECK(c->n == 2 && d->n == 1);
    while (w.m->messages != NULL)
        mcp_release(w.m->messages);
    put(&w, "a");
    CHECK(c->n == 2 && !mcp_listens(w.m));
    world_close(&w);
    who_free(c);
    who_free(d);
    who_free(e);
}

/* The commit of its turn comes between its run and when it is kept. */
TEST(listen_loses_nothing_in_between)
{
    struct world w;
    struct who *c = who_new();
    struct mcp_facts f = {0};
    struct mcp_message *m;
    struct str text = STR(
        "{\"jsonrpc\":\"2.0\",\"id\":1,"
        "\"method\":\"subscriptions/listen\",\"params\":{" MODERN
        ",\"notifications\":{\"resourcesListChanged\":true,"
        "\"resourceSubscriptions\":[\"toy://a\",\"toy://b\"]}}}");

    toys_open(&w);
    put(&w, "a");
    f.session = mcp_join(w.m, &c->pipe);
    CHECK(mcp_accept(w.m, &f, &text, &m) == 0);
    lock(&w);
    CHECK(mcp_run(m, &w.out, &w.notes) == MCP_WAITS);
    stage(&w, "b");
    CHECK(commit(&w) == 0 && c->n == 0);
    CHECK(mcp_keep(m, &c->pipe, c) == 0);
    tick(&w, 1000);
    CHECK(c->n == 2 && told(c, 0, "", TAGGED("resources/updated", "1",
                                             ",\"uri\":\"toy://b\"")));
    CHECK(told(c, 1, "", TAGGED("resources/list_changed", "1", "")));
    mcp_release(m);
    mcp_leave(f.session);
    world_close(&w);
    who_free(c);
}

TEST(listen_ends_with_a_result)
{
    static const char result[] =
        "{\"jsonrpc\":\"2.0\",\"id\":\"l:0\",\"result\":{\"resultType\":"
        "\"complete\",\"_meta\":{\"io.modelcontextprotocol/subscriptionId\":"
        "\"l:0\",";
    static const char cancelled[] =
        "\n{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
        "\"params\":{\"requestId\":\"l:0\"}}";
    struct world w;
    struct who *c = who_new();
    struct mcp_message *m = NULL;
    struct mcp_session *s;
    int i;

    toys_open(&w);
    s = mcp_join(w.m, &c->pipe);
    listen_to(&w, NULL, "\"l:0\"", "{}", c);
    listen_to(&w, s, "\"l:0\"", "{\"resourceSubscriptions\":[\"toy://a\"]}",
              c);
    CHECK(mcp_next(w.m, clock_mono_ms(), &m) == NULL);
    mcp_end_listens(w.m);
    put(&w, "a");
    CHECK(c->n == 0); /* it is over */
    for (i = 0; i < 2; i++) {
        if (!CHECK(mcp_next(w.m, clock_mono_ms(), &m) == c))
            break;
        w.out.len = w.notes.len = 0;
        CHECK(mcp_run(m, &w.out, &w.notes) == MCP_OK && w.notes.len == 0);
        buf_char(&w.out, '\0');
        CHECK(strncmp(w.out.p, result, strlen(result)) == 0);
        CHECK((strstr(w.out.p, cancelled) != NULL) == m->s->local);
        mcp_release(m);
    }
    listen_to(&w, s, "9", "{}", c); /* too late, but acknowledged */
    CHECK(w.status == MCP_OK && w.notes.len > 0);
    mcp_leave(s);
    world_close(&w);
    who_free(c);
}

TEST(listen_that_its_client_cancels)
{
    struct world w;
    struct who *c = who_new();
    struct mcp_message *m = NULL;
    struct mcp_facts f = {0};

    toys_open(&w);
    f.session = mcp_join(w.m, &c->pipe);
    listen_to(&w, f.session, "5", "{\"resourceSubscriptions\":[\"toy://a\"]}",
              c);
    run(&w, &f, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
        "\"params\":{\"requestId\":5}}", NULL);
    put(&w, "a");
    CHECK(c->n == 0 && mcp_next(w.m, clock_mono_ms(), &m) == c);
    w.out.len = 0;
    CHECK(mcp_run(m, &w.out, &w.notes) == MCP_ACCEPTED && w.out.len == 0);
    mcp_release(m);
    mcp_leave(f.session);
    world_close(&w);
    who_free(c);
}

/* ---- memory that runs out ---- */

/* A step that fails for memory is repeated with memory. */
#define AGAIN(step)        \
    do {                   \
        if (!(step)) {     \
            nomem_stop();  \
            CHECK(step);   \
        }                  \
    } while (0)

static bool
open_stream(struct world *w, const char *id, struct who *c)
{
    struct mcp_session *s;

    return stream_as(w, "ann", id, STR_NONE, c, &s) == 0;
}

static bool
try_put(struct world *w, const char *name)
{
    char key[64];
    bool ok, unknown;

    snprintf(key, sizeof(key), "toy/%s", name);
    if (store_lock_patiently(w->s) != 0)
        return false;
    ok = store_stage(w->s, str_of(key), STR("\"v\":{}")) == 0;
    ok = store_commit(w->s, &unknown) == 0 && ok;
    store_unlock(w->s);
    return ok;
}

static bool
try_listen(struct world *w, struct who *c)
{
    listen_to(w, NULL, "1", "{\"resourceSubscriptions\":[\"toy://a\"]}", c);
    return w->kept != NULL;
}

static bool
is_last(const struct who *c, const char *text)
{
    size_t i;

    for (i = 0; i < c->n; i++)
        if (strstr(c->said[i], text) != NULL)
            return true;
    return false;
}

/* Does everything once, with the n-th allocation failing, or all from it on:
   subscribers are told in the end. Returns whether one failed. */
static bool
live_without(long n, bool forever)
{
    struct world w;
    struct who *c = who_new(), *d = who_new();
    char id[MCP_ID_MAX];
    bool hit;

    toys_open(&w);
    put(&w, "a");
    nomem_start(n, !forever);
    AGAIN(try_join(&w, "ann", id));
    AGAIN(subscribe(&w, id, "toy://a"));
    AGAIN(open_stream(&w, id, c));
    AGAIN(try_listen(&w, d));
    AGAIN(subscribe(&w, id, "toy://b"));
    AGAIN(try_put(&w, "a"));
    AGAIN(try_put(&w, "b"));
    hit = nomem_stop();
    tick(&w, 2000);
    tick(&w, 2000);
    if (!CHECK(is_last(c, "toy://a") && is_last(c, "toy://b") &&
               is_last(c, "list_changed") && is_last(d, "toy://a")))
        fprintf(stderr, "without memory from call %ld on\n", n);
    CHECK(find(&w, id)->news.n_subs == 2);
    mcp_release(w.kept);
    CHECK(w.m->n_subs == 2);
    world_close(&w);
    who_free(c);
    who_free(d);
    return hit;
}

TEST(memory_that_fails_at_every_call)
{
    long n;

    for (n = 0; live_without(n, false); n++)
        ;
    CHECK(n > 20);
    for (n = 0; live_without(n, true); n++)
        ;
}
