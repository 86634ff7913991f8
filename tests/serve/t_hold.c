/* A server whose store other hosts share: a turn stays open while its commit,
   or the confirmation of what it read, is under way. The remote is a fake: a
   test says how long it takes, and what other hosts do first. */

#include "serve/turn.h"
#include "cli/cli.h"
#include "serve/web.h"
#include "store/state.h"
#include "store/remote.h"
#include "task/change.h"
#include "tests/lib/fake_remote.h"
#include "tests/lib/store_test.h"
#include "tools/tools.h"

#define MAX_PEERS 8
#define CALL(name, args) "{\"jsonrpc\":\"2.0\",\"id\":1," \
    "\"method\":\"tools/call\",\"params\":{\"name\":\"" name "\"," \
    "\"arguments\":{" args "}}}"
#define CREATE(id) CALL("create_task", "\"task_id\":\"" id "\"," \
    "\"title\":\"T\",\"goal\":\"G\"")
#define CLAIM(id) CALL("claim_task", "\"task_id\":\"" id "\"," \
    "\"agent\":\"ann\"")
#define WAIT(id) CALL("wait_for_task", "\"task_id\":\"" id "\"," \
    "\"until\":\"done\",\"timeout_seconds\":60")
#define GET(id) CALL("get_task", "\"task_id\":\"" id "\"")

#define ATTACH(id) CALL("attach_artifact", "\"task_id\":\"" id "\"," \
    "\"agent\":\"ann\",\"name\":\"n\",\"content\":\"one\"")
#define CONTENT(id) CALL("get_task", "\"task_id\":\"" id "\"," \
    "\"artifact_id\":\"a1\"")
/* printf one | sha256sum */
#define ONE "7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed"

static struct fake_list list;

/* A host: store and tasks over its engine. */
struct host {
    struct fake fake;
    struct store *store;
    struct tasks *tasks;
    struct store_kind kinds[2];
    char path[300];
};

static struct host here, there;
static struct cli_env env;
static char contents[320], content[400]; /* the directory; the file of ONE */
static struct tools *tools;
static struct loop *loop;
static struct mcp *mcp;
static struct calls *calls;
static struct turn *turn;

static struct client { /* one that sends messages, and keeps the last answer */
    struct peer *peer;
    struct mcp_channel channel;
    struct str text;
    struct mcp_facts facts;
    char answer[4096];
    unsigned answers, dones;
} clients[MAX_PEERS];
static struct mcp_session *session; /* of all clients, or NULL */
static unsigned turns; /* of the loop; a test ends after so many */
static void (*between)(void); /* called after each turn of the loop */

/* ---- hosts ---- */

static void
host_open(struct host *h, bool reads_local)
{
    char *dir = test_tmpdir(), why[256];

    memset(h, 0, sizeof(*h));
    snprintf(h->path, sizeof(h->path), "%s/tasks.log", dir);
    fake_new(&h->fake, &list, dir);
    h->fake.remote.reads_local = reads_local;
    free(dir);
    h->tasks = tasks_new();
    tasks_kind(h->tasks, &h->kinds[0]);
    mcp_session_kind(&h->kinds[1]);
    CHECK(store_open(&h->store,
                     &(struct store_options){.path = h->path,
                                             .remote = &h->fake.remote},
                     h->kinds, 2, why) == 0);
    tasks_bind(h->tasks, h->store);
}

static void
host_close(struct host *h)
{
    store_close(h->store);
    tasks_free(h->tasks);
    fake_end(&h->fake);
}

/* A change on the other host. */
static int
change_there(enum task_tool tool, const char *args)
{
    struct arena a = {0};
    struct task_receipt r;
    struct task_ctx x;
    bool unknown;
    int rc, done;

    do {
        x = (struct task_ctx){.a = &a};
        CHECK(store_lock_patiently(there.store) == 0);
        rc = task_change_text(there.tasks, &x, tool, str_of(args), NULL, &r);
        while ((done = store_commit(there.store, &unknown)) == ERR_PENDING)
            store_await(there.store);
        store_unlock(there.store);
    } while (done == ERR_AGAIN);
    arena_fini(&a);
    return rc != 0 ? rc : done;
}

static void
claim_there(void *ctx)
{
    (void)ctx;
    CHECK(change_there(TOOL_CLAIM, "{\"task_id\":\"a\",\"agent\":\"bob\"}") ==
          0);
}

/* ---- the server ---- */

static bool
on_answer(void *ctx, const struct mcp_out *o)
{
    struct client *c = ctx;

    if (c == NULL || o->to == NULL || o->status == MCP_WAITS)
        return true;
    CHECK(!store_locked(here.store) && store_staged_n(here.store) == 0);
    if (o->text.len > 0)
        snprintf(c->answer, sizeof(c->answer), "%.*s", STR_ARG(o->text));
    c->answers++;
    return true;
}

static void
on_done(void *ctx)
{
    struct client *c = ctx;

    c->dones++;
    free((char *)(uintptr_t)c->text.p); /* nobody may look at it again */
    c->text = STR_NONE;
}

static struct client *
sends(const char *text)
{
    struct client *c = clients;

    while (c->peer != NULL)
        c++;
    *c = (struct client){.facts = {.principal = STR("ann"),
                                   .session = session}};
    c->text = str_of(strdup(text));
    c->channel = (struct mcp_channel){.send = on_answer, .done = on_done,
                                      .ctx = c};
    c->peer = turn_join(turn, &c->channel);
    CHECK(turn_push(c->peer, &c->facts, &c->text) == 0);
    return c;
}

static void
leaves(struct client *c)
{
    turn_leave(c->peer);
    c->peer = NULL;
    free((char *)(uintptr_t)c->text.p);
    c->text = STR_NONE;
}

static bool
ended(void *ctx)
{
    bool all = true;

    (void)ctx;
    if (between != NULL)
        between();
    for (struct client *c = clients; c < clients + MAX_PEERS; c++)
        all &= c->peer == NULL || c->answers > 0;
    return all || turns++ > 2000;
}

/* Runs the server until all are answered. */
static void
serve(void)
{
    turns = 0;
    CHECK(turn_run(turn, ended, NULL) == 0);
    CHECK(turns < 2000);
}

static bool
says(const struct client *c, const char *what)
{
    bool found = strstr(c->answer, what) != NULL;

    if (!found)
        printf("%s\n", c->answer);
    return found;
}

static void
all_leave(void)
{
    for (struct client *c = clients; c < clients + MAX_PEERS; c++)
        if (c->peer != NULL)
            leaves(c);
}

static void
begin(bool reads_local)
{
    host_open(&here, reads_local);
    host_open(&there, false);
    snprintf(contents, sizeof(contents), "%s.contents", here.path);
    snprintf(content, sizeof(content), "%s/" ONE, contents);
    env.artifacts_dir = contents;
    CHECK(tools_new(&tools, here.tasks, &env) == 0);
    calls = calls_new(&(struct calls_options){0});
    calls_bind(calls, here.store);
    CHECK(mcp_new(&mcp, tools_catalogue(tools), here.store, NULL, calls) == 0);
    CHECK(loop_new(&loop) == 0);
    CHECK(turn_new(&turn, loop, here.store, mcp) == 0);
    between = NULL;
    sends(CREATE("a"));
    serve();
    all_leave();
    here.store->replica->next_ms = INT64_MAX; /* nothing comes by time alone */
}

static void
end(void)
{
    all_leave();
    turn_free(turn);
    loop_free(loop);
    mcp_free(mcp);
    calls_free(calls);
    tools_free(tools);
    host_close(&here);
    host_close(&there);
    fake_free(&list);
}

/* Whatever it waits for is over. */
static void
tend_now(void)
{
    here.store->replica->until_ms = here.store->replica->next_ms = 0;
    store_tend(here.store, false);
    store_tend(here.store, false);
}

/* ---- tests ---- */

/* While the remote takes its time, messages are taken, and none is run. */
static struct client *late;

static void
push_late(void)
{
    if (here.fake.hold == 5 && late == NULL)
        late = sends(GET("b"));
    if (late != NULL && here.fake.hold > 0)
        CHECK(late->answers == 0);
}

TEST(open)
{
    struct client *b;

    begin(false);
    b = sends(CREATE("b"));
    here.fake.hold = 10;
    late = NULL;
    between = push_late;
    serve();
    CHECK(late != NULL && says(b, "\"version\\\":1"));
    CHECK(says(late, "\\\"task_id\\\":\\\"b\\\""));
    end();
}

/* Others are first: all of the turn runs again on what they did. */
TEST(rival)
{
    struct client *read, *claim, *other;
    unsigned commits;

    begin(false);
    read = sends(GET("a"));
    claim = sends(CLAIM("a"));
    other = sends(CREATE("c"));
    here.fake.first = claim_there;
    commits = here.fake.commits;
    serve();
    CHECK(says(read, "bob")); /* on the state that the commit follows */
    CHECK(says(claim, "lease_held") && says(claim, "bob"));
    CHECK(says(other, "\\\"task_id\\\":\\\"c\\\""));
    CHECK(here.fake.commits == commits + 2);
    end();
}

/* A turn that only reads is confirmed, and gets what others committed. */
TEST(read)
{
    struct client *read, *ping;
    unsigned pulls;

    begin(false);
    CHECK(change_there(TOOL_CREATE, "{\"task_id\":\"d\",\"title\":\"T\","
                                    "\"goal\":\"G\"}") == 0);
    read = sends(GET("d"));
    serve();
    CHECK(says(read, "\\\"task_id\\\":\\\"d\\\""));
    all_leave();
    /* What looks at no record asks nobody. */
    pulls = here.fake.pulls;
    ping = sends("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}");
    serve();
    CHECK(says(ping, "\"result\":{}") && here.fake.pulls == pulls);
    end();
}

/* When it is time to end, an open turn is the last one. */
static void
push_last(void)
{
    push_late();
    if (late != NULL)
        turn_stop(turn);
}

static bool
is_stopped(void *ctx)
{
    (void)ctx;
    between();
    return turn_stopping(turn);
}

TEST(stop)
{
    struct client *b;

    begin(false);
    b = sends(CREATE("b"));
    here.fake.hold = 10;
    late = NULL;
    between = push_last;
    CHECK(turn_run(turn, is_stopped, NULL) == 0);
    CHECK(says(b, "\"version\\\":1"));
    CHECK(late != NULL && late->answers == 0);
    end();
}

/* A peer that leaves while the turn is open gets no answer, and its text is not
   looked at again. */
static struct client *leaver;
static bool rival_too;

static void
leave_open(void)
{
    if (leaver == NULL || here.fake.hold != 2)
        return;
    leaves(leaver);
    leaver = NULL;
    if (rival_too)
        claim_there(NULL);
}

static void
test_leave(bool rival)
{
    struct client *stay;

    begin(false);
    leaver = sends(CREATE("e"));
    stay = sends(CREATE("f"));
    rival_too = rival;
    here.fake.hold = 4;
    between = leave_open;
    serve();
    CHECK(leaver == NULL && says(stay, "\\\"task_id\\\":\\\"f\\\""));
    between = NULL;
    stay = sends(GET("e"));
    serve();
    /* Its change was under way, and stands; or it was to run again. */
    CHECK(says(stay, rival ? "not_found" : "\\\"task_id\\\":\\\"e\\\""));
    end();
}

/* A cancel that comes while the turn is open ends the wait that begins in it.
   What does not wait is answered, even if it has to run again. */
static struct client *canceller;

static void
cancel_open(void)
{
    static const struct str text = STR(
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
        "\"params\":{\"requestId\":1}}");

    if (canceller == NULL || here.fake.hold != 2)
        return;
    CHECK(turn_push(canceller->peer, &canceller->facts, &text) == 0);
    canceller = NULL;
    if (rival_too)
        claim_there(NULL);
}

static void
test_cancel(bool waits, bool rival)
{
    struct mcp_channel channel = {.send = on_answer};
    struct mcp_counts n;
    struct client *c;

    begin(false);
    session = mcp_join(mcp, &channel);
    c = sends(waits ? WAIT("a") : GET("a"));
    canceller = c;
    rival_too = rival;
    here.fake.hold = 4;
    between = cancel_open;
    serve();
    mcp_count(mcp, &n);
    CHECK(canceller == NULL && n.waiting == 0);
    CHECK(waits ? c->answer[0] == '\0' : says(c, "\\\"task_id\\\":\\\"a\\\""));
    all_leave();
    mcp_leave(session);
    session = NULL;
    end();
}

/* What /ready says. */
static bool
ready(int status, const char *what)
{
    struct buf b = {0};
    bool good = CHECK(web_put_ready(&b, here.store, false, STR(""), false) ==
                      status);

    buf_char(&b, '\0');
    good = good && CHECK(b.err == 0 && strstr(b.p, what) != NULL);
    buf_fini(&b);
    return good;
}

/* /ready does not disturb an open turn. */
static void
look_ready(void)
{
    if (here.fake.hold > 0)
        CHECK(ready(200, "\"ready\""));
}

TEST(ready)
{
    struct client *write;

    begin(false);
    write = sends(CREATE("k"));
    here.fake.hold = 3;
    between = look_ready;
    serve();
    CHECK(says(write, "\\\"task_id\\\":\\\"k\\\""));
    end();
}

/* Without an answer writes fail, and reads say how old they are. */
TEST(unreachable)
{
    struct client *write, *read;

    begin(false);
    write = sends(CREATE("g"));
    read = sends(GET("a"));
    here.fake.fail = ERR_UNREACHABLE;
    here.fake.n_fail = 1;
    serve();
    CHECK(says(write, "store_unreachable") && says(write, "store_stale"));
    CHECK(says(read, "\\\"task_id\\\":\\\"a\\\"") && says(read, "store_stale"));
    CHECK(says(read, "\"mcptask/stale_ms\":"));
    all_leave();
    here.fake.n_fail = 100; /* nobody waits for it again */
    here.store->replica->until_ms = INT64_MAX;
    here.fake.hold = 100;
    write = sends(CREATE("g"));
    read = sends(GET("a"));
    serve();
    CHECK(says(write, "store_unreachable") && says(read, "store_stale"));
    CHECK(here.fake.hold > 90);
    CHECK(ready(503, "\"stale_ms\":") && ready(503, "store_unreachable"));
    all_leave();
    here.fake.hold = here.fake.n_fail = 0;
    tend_now();
    CHECK(store_stale_ms(here.store) == 0);
    write = sends(CREATE("g"));
    serve();
    CHECK(says(write, "\\\"task_id\\\":\\\"g\\\"") &&
          strstr(write->answer, "stale") == NULL);
    end();
}

/* No room in the remote: the disk here has some, which proves nothing. */
TEST(full)
{
    struct client *write, *read;

    begin(false);
    here.fake.full = true;
    write = sends(CREATE("g"));
    serve();
    CHECK(says(write, "store_full") && says(write, "quota"));
    all_leave();
    CHECK(ready(503, "store_full") && ready(503, "store_full"));
    for (int i = 0; i < 3; i++)
        tend_now();
    CHECK(ready(503, "store_full"));
    here.fake.fail = ERR_UNREACHABLE; /* that says nothing about room */
    here.fake.n_fail = 1;
    for (int i = 0; i < 4; i++)
        tend_now();
    CHECK(ready(503, "store_full"));
    read = sends(GET("a"));
    serve();
    CHECK(says(read, "\\\"task_id\\\":\\\"a\\\"") &&
          strstr(read->answer, "stale") == NULL);
    all_leave();
    here.fake.full = false; /* nobody writes; it is noticed */
    tend_now();
    tend_now();
    CHECK(ready(200, "\"writable\":true"));
    here.fake.full = true; /* asked while a turn is under way */
    write = sends(CREATE("g"));
    serve();
    all_leave();
    here.fake.hold = 2;
    tend_now();
    CHECK(here.store->replica->doing == REPLICA_PROBES);
    here.fake.full = false;
    write = sends(CREATE("h"));
    read = sends(GET("a"));
    serve();
    CHECK(says(write, "\\\"task_id\\\":\\\"h\\\""));
    CHECK(says(read, "\\\"task_id\\\":\\\"a\\\""));
    CHECK(ready(200, "\"writable\":true"));
    end();
}

TEST(unknown)
{
    struct client *write;

    begin(false);
    write = sends(CREATE("h"));
    here.fake.fail = ERR_UNKNOWN;
    here.fake.n_fail = 1;
    here.fake.late = true;
    serve();
    CHECK(says(write, "store_error") && says(write, "unknown"));
    all_leave();
    fake_settle(&here.fake);
    tend_now();
    write = sends(GET("h"));
    serve();
    CHECK(says(write, "\\\"task_id\\\":\\\"h\\\""));
    end();
}

/* Local reads ask nobody. */
TEST(local)
{
    struct client *read;

    begin(true);
    CHECK(change_there(TOOL_CREATE, "{\"task_id\":\"i\",\"title\":\"T\","
                                    "\"goal\":\"G\"}") == 0);
    here.fake.pulls = 0;
    read = sends(GET("i"));
    serve();
    CHECK(says(read, "not_found") && here.fake.pulls == 0);
    end();
}

/* /metrics says which member is in use, and how far it is. */
TEST(metrics)
{
    const struct http_options o = {.host = "127.0.0.1", .fd = -1};
    const struct http_handler handler = {.ctx = NULL};
    struct buf b = {0};
    struct http *http;
    char why[256];

    begin(false);
    CHECK(http_open(&http, loop, &o, &handler, why) == 0);
    web_put_metrics(&b, here.store, http, mcp);
    buf_char(&b, '\0');
    CHECK(strstr(b.p, "\nmcptask_store_round_trip_seconds 1.002003\n") != NULL);
    CHECK(strstr(b.p, "\nmcptask_store_endpoint{address=\"[::1]:2379\"} 1\n") !=
          NULL);
    buf_fini(&b);
    http_free(http);
    end();
}

/* A clock that is far off: reads only. */
TEST(skew)
{
    struct client *write, *read;

    begin(false);
    here.fake.skew_ms = -6000;
    read = sends(GET("a"));
    serve();
    all_leave();
    write = sends(CREATE("j"));
    read = sends(GET("a"));
    serve();
    CHECK(says(write, "clock_skew") && says(read, "\\\"task_id\\\":\\\"a\\\""));
    end();
}

/* ---- batches ---- */

/* Several tasks in one call, of 250 KB in all. */
static struct client *
creates_many(char name)
{
    struct buf b = {0};
    struct client *c;

    buf_z(&b, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\","
              "\"params\":{\"name\":\"create_task\",\"arguments\":{"
              "\"tasks\":[");
    for (int i = 0; i < 32; i++)
        buf_printf(&b, "%s{\"task_id\":\"%c%d\",\"title\":\"T\","
                   "\"goal\":\"%07700d\"}", i > 0 ? "," : "", name, i, i);
    buf_z(&b, "]}}}");
    buf_char(&b, '\0');
    c = sends(b.p);
    buf_fini(&b);
    return c;
}

/* One turn does not stage more than the remote takes: whoever finds it full is
   served by the next. */
TEST(full_turn)
{
    struct client *c[6];
    unsigned commits;

    begin(false);
    for (int i = 0; i < 6; i++)
        c[i] = creates_many((char)('a' + i));
    commits = here.fake.commits;
    serve();
    for (int i = 0; i < 6; i++)
        CHECK(says(c[i], "31\\\"],\\\"seq\\\":"));
    CHECK(here.fake.commits > commits + 1);
    end();
}

/* What is staged beyond that is refused alone. */
TEST(full_batch)
{
    static char body[STORE_MAX_RECORD - 200];
    bool unknown;
    int rc = 0, n = 0;

    begin(false);
    memset(body, 'x', sizeof(body));
    memcpy(body, "\"v\":\"", 5);
    body[sizeof(body) - 1] = '"';
    CHECK(store_lock_patiently(here.store) == 0);
    CHECK(!store_batch_is_full(here.store));
    while (rc == 0 && n < 100) {
        rc = store_stage(here.store, STR("x/1"),
                         (struct str){body, sizeof(body)});
        n += rc == 0;
    }
    CHECK(rc == ERR_TOO_LARGE && n == 2 && store_batch_is_full(here.store));
    while ((rc = store_commit(here.store, &unknown)) == ERR_PENDING)
        store_await(here.store);
    store_unlock(here.store);
    CHECK(rc == 0 && !store_batch_is_full(here.store));
    end();
}

/* An import commits as often as it takes, also where others come first. */
TEST(import)
{
    char *path = path_fresh("in"), import[] = "import";
    FILE *f = fopen(path, "w");
    char *argv[] = {import, path, NULL};
    struct client *read;

    begin(false);
    for (int i = 0; i < 400; i++)
        fprintf(f, "{\"task_id\":\"i%d\",\"title\":\"T\",\"status\":"
                   "\"open\",\"goal\":\"%07700d\"}\n", i, i);
    CHECK(fclose(f) == 0);
    here.fake.first = claim_there;
    CHECK(cli_main(&(struct cli_env){.base_dir = here.fake.dir,
                                     .log_path = here.path,
                                     .artifacts_dir = here.fake.dir,
                                     .remote = &here.fake.remote,
                                     .store = "fake://"}, argv) == 0);
    read = sends(GET("i399"));
    serve();
    CHECK(says(read, "\\\"task_id\\\":\\\"i399\\\""));
    unlink(path);
    free(path);
    end();
}

/* A content goes to the other hosts before the answer, and comes from them;
   meanwhile nobody is answered. */
TEST(content)
{
    struct client *attach, *other;

    begin(false);
    attach = sends(ATTACH("a"));
    other = sends(CREATE("l"));
    here.fake.hold = 10;
    late = NULL;
    between = push_late;
    serve();
    CHECK(late != NULL && says(attach, "\\\"artifact_id\\\":\\\"a1\\\""));
    CHECK(says(other, "\\\"task_id\\\":\\\"l\\\""));
    CHECK(fake_find(&list, ONE) != NULL && here.fake.shares == 1);
    all_leave();
    between = NULL;
    CHECK(unlink(content) == 0);
    attach = sends(CONTENT("a"));
    serve();
    CHECK(says(attach, "\\\"content\\\":\\\"one\\\""));
    CHECK(here.fake.shares == 2 && access(content, F_OK) == 0);
    all_leave();
    attach = sends(CONTENT("a")); /* it is here now */
    serve();
    CHECK(says(attach, "\\\"one\\\"") && here.fake.shares == 2);
    all_leave();
    CHECK(unlink(content) == 0);
    attach = sends("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":"
                   "\"resources/read\",\"params\":{\"uri\":"
                   "\"task://a/artifacts/a1\"}}");
    serve();
    CHECK(says(attach, "\"text\":\"one\"") && here.fake.shares == 3);
    end();
}

/* Others are first: it is not put twice. A call that is refused puts
   nothing. */
TEST(content_rival)
{
    struct client *refused, *attach;

    begin(false);
    attach = sends(CREATE("m"));
    serve();
    all_leave();
    attach = sends(ATTACH("m"));
    refused = sends(ATTACH("none"));
    here.fake.first = claim_there;
    serve();
    CHECK(here.fake.first == NULL && here.fake.shares == 1);
    CHECK(says(attach, "\\\"artifact_id\\\":\\\"a1\\\""));
    CHECK(says(refused, "not_found") && access(content, F_OK) == 0);
    all_leave();
    attach = sends(ATTACH("a"));
    serve();
    CHECK(says(attach, "lease_held") && here.fake.shares == 1);
    end();
}

/* It finds no room, or nobody has it, or nobody answers: that call fails. */
TEST(no_content)
{
    struct client *attach, *other;

    begin(false);
    here.fake.no_content = ERR_FULL;
    attach = sends(ATTACH("a"));
    other = sends(CREATE("n"));
    serve();
    CHECK(says(attach, "store_full") && says(attach, "no such content"));
    CHECK(says(other, "\\\"task_id\\\":\\\"n\\\""));
    CHECK(access(content, F_OK) != 0);
    all_leave();
    here.fake.no_content = 0;
    attach = sends(ATTACH("a"));
    serve();
    CHECK(says(attach, "\\\"artifact_id\\\":\\\"a1\\\""));
    all_leave();
    CHECK(unlink(content) == 0);
    here.fake.no_content = ERR_NOT_FOUND;
    attach = sends(CONTENT("a"));
    serve();
    CHECK(says(attach, "not_found") && says(attach, "no such content"));
    all_leave();
    here.fake.no_content = ERR_UNREACHABLE;
    attach = sends(CONTENT("a"));
    other = sends(CREATE("o"));
    serve();
    CHECK(says(attach, "store_unreachable"));
    CHECK(says(other, "store_unreachable"));
    all_leave();
    here.fake.no_content = 0;
    tend_now();
    attach = sends(CONTENT("a"));
    serve();
    CHECK(says(attach, "\\\"one\\\""));
    end();
}

int
main(void)
{
    test_run();
    test_leave(false);
    test_leave(true);
    test_cancel(true, false);
    test_cancel(true, true);
    test_cancel(false, false);
    test_cancel(false, true);
    return test_end("t_hold");
}
