/* Turns on a disk of 2 MB: full batches come faster than a compaction in slices
   can follow. The clock stands still, so that a turn takes everything that is
   pushed. */

#include "base/loop.h"
#include "http.h"
#include "mcp/sign.h"
#include "serve/web.h"
#include "serve/turn.h"
#include "tests/lib/room.h"

#include <time.h>

#define BATCH TURN_MAX_QUEUE
#define TASKS 10
#define CALL(name) "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\"," \
    "\"params\":{\"name\":\"" name "\"}}"

static unsigned saved, refused, ended, fill;
static struct loop *loop;
static struct sign *sign;
static struct calls *calls;
static struct mcp *mcp;
static struct turn *turn;
static struct peer *peer;

int __wrap_clock_gettime(clockid_t id, struct timespec *ts);

int
__wrap_clock_gettime(clockid_t id, struct timespec *ts)
{
    (void)id;
    *ts = (struct timespec){.tv_sec = 1600000000};
    return 0;
}

/* Saves the next checkpoint, of one task after the other. */
static int
save(struct mcp_call *c)
{
    char key[32], body[4096];

    snprintf(key, sizeof(key), "task/%llu",
             (unsigned long long)store_next_n(t.s) % TASKS);
    snprintf(body, sizeof(body), "\"v\":{\"fill\":\"%0*d\"}", (int)fill, 0);
    c->is_error = store_stage(t.s, str_of(key), str_of(body)) != 0;
    buf_z(c->out, "{}");
    return 0;
}

/* Ends the first task. */
static int
end_one(struct mcp_call *c)
{
    c->is_error = store_stage_last(t.s, STR("task/0"),
                                   STR("\"v\":{\"done\":true}")) != 0;
    buf_z(c->out, c->is_error ? "{}" : "{\"end\":true}");
    return 0;
}

static const struct mcp_tool tools[] = {
    {.name = "save", .title = "Save", .description = "Saves", .writes = true,
     .input_schema = "{\"type\":\"object\"}", .run = save},
    {.name = "end", .title = "End", .description = "Ends", .writes = true,
     .input_schema = "{\"type\":\"object\"}", .run = end_one},
};
static const struct mcp_catalogue catalogue = {
    .name = "room", .title = "Room", .version = "1", .tools = tools,
    .n_tools = 2,
};

static bool
on_answer(void *ctx, const struct mcp_out *o)
{
    char text[256];
    bool ok;

    (void)ctx;
    snprintf(text, sizeof(text), "%.*s", STR_ARG(o->text));
    ok = strstr(text, "\"isError\":true") == NULL;
    ended += strstr(text, "\\\"end\\\":true") != NULL;
    saved += ok;
    refused += !ok;
    return true;
}

static struct mcp_channel channel = {.send = on_answer};

static bool
all_answered(void *ctx)
{
    (void)ctx;
    return !turn_pending(peer);
}

static void
run_calls(const char *first, const char *second)
{
    struct mcp_facts f = {.principal = STR("ann")};
    struct str text[] = {str_of(first), str_of(second)};

    for (int i = 0; i < BATCH; i++)
        CHECK(turn_push(peer, &f, &text[i % 2]) == 0);
    CHECK(turn_run(turn, all_answered, NULL) == 0);
}

static void
run_batch(void)
{
    run_calls(CALL("save"), CALL("save"));
}

static void
start(const struct store_options *o)
{
    saved = refused = ended = 0;
    begin(o);
    calls = calls_new(&(struct calls_options){0});
    calls_bind(calls, t.s);
    if (!CHECK(sign_new(&sign, t.s) == 0) ||
        !CHECK(mcp_new(&mcp, &catalogue, t.s, sign, calls) == 0) ||
        !CHECK(turn_new(&turn, loop, t.s, mcp) == 0))
        abort();
    peer = turn_join(turn, &channel);
}

static void
stop(void)
{
    turn_leave(peer);
    turn_free(turn);
    mcp_free(mcp);
    calls_free(calls);
    sign_free(sign);
    end();
}

static void
test_no_batch_is_refused(void)
{
    static const struct store_options options[] = {
        {.closed_max = STORE_CLOSED_MAX},
        {.closed_max = 0},
        {.closed_max = 0, .compact_at = 128 * 1024},
    };
    static const unsigned fills[] = {100, 1000, 2000};

    for (size_t i = 0; i < 9; i++) {
        start(&options[i % 3]);
        fill = fills[i / 3];
        for (int k = 0; k < 10000 / BATCH; k++)
            run_batch();
        CHECK(saved > 0 && refused == 0);
        stop();
    }
}

/* Others have taken the room: the checkpoint is refused, and saved once they
   give it back. */
static void
test_others_fill_the_disk(void)
{
    start(&(struct store_options){.closed_max = 0});
    fill = 100;
    run_batch();
    alien = DISK - used();
    fill = 2000;
    run_batch();
    CHECK(saved == BATCH && refused == BATCH);
    alien = 0;
    run_batch();
    CHECK(saved == 2 * BATCH);
    stop();
}

/* In the same turn, what ends a task still takes the room that is left, then
   the reserve; without any nothing does. */
static void
test_ends_take_the_room_left(void)
{
    start(&(struct store_options){.closed_max = 0});
    for (int i = 0; i < 100; i++)
        CHECK(put(TASKS + i, 1, 1000) == 0);
    fill = 1000;
    run_batch();
    alien = disk - used() - 40 * 1024;
    saved = 0;
    run_calls(CALL("save"), CALL("end"));
    CHECK(ended == BATCH / 2 && refused == BATCH / 2);
    run_calls(CALL("end"), CALL("end"));
    CHECK(ended == BATCH + BATCH / 2 && refused == BATCH / 2);
    CHECK(saved == ended);
    alien += disk - used();
    refused = 0;
    run_calls(CALL("end"), CALL("end"));
    CHECK(refused == 0);
    for (int i = 0; i < 10 && refused == 0; i++)
        run_calls(CALL("end"), CALL("end"));
    CHECK(refused == BATCH);
    alien = 0;
    refused = saved = 0;
    run_calls(CALL("save"), CALL("end"));
    CHECK(saved == BATCH && refused == 0);
    stop();
}

static bool
tells(struct http *http, int status, const char *writable, bool missing)
{
    struct buf b = {0};
    bool ok = CHECK(web_put_ready(&b, t.s, false, STR(""), false) == status);

    web_put_metrics(&b, t.s, http, mcp);
    buf_char(&b, '\0');
    ok = CHECK(strstr(b.p, writable) != NULL) && ok;
    ok = CHECK((strstr(b.p, "\nmcptask_store_missing_bytes 0\n") == NULL) ==
               missing) && ok;
    buf_fini(&b);
    return ok;
}

/* /ready and /metrics report that a new task would be refused, before one is,
   and that it would not be any more. */
static void
test_is_told_before(void)
{
    const struct http_options o = {.host = "127.0.0.1", .fd = -1};
    const struct http_handler handler = {.ctx = NULL};
    struct http *http;
    char why[256];

    start(&(struct store_options){.closed_max = 0});
    for (int i = 0; i < 100; i++)
        CHECK(put(TASKS + i, 1, 1000) == 0);
    if (!CHECK(http_open(&http, loop, &o, &handler, why) == 0))
        abort();
    for (int i = 0; i < 2; i++) {
        CHECK(tells(http, 200, "\nmcptask_store_writable 1\n", false));
        alien = disk - used() - 100 * 1024;
        CHECK(tells(http, 503, "\nmcptask_store_writable 0\n", true));
        alien = 0;
    }
    CHECK(tells(http, 200, "\nmcptask_store_writable 1\n", false));
    http_free(http);
    stop();
}

int
main(void)
{
    if (!CHECK(loop_new(&loop) == 0))
        abort();
    test_no_batch_is_refused();
    test_others_fill_the_disk();
    test_ends_take_the_room_left();
    test_is_told_before();
    loop_free(loop);
    free(path);
    return test_end("t_serve_room");
}
