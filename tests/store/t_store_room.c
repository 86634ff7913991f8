/* A log on a disk of 2 MB. t_cli.sh does the same with a real disk, if it may
   mount one. */

#include "tests/lib/room.h"

static uint64_t
checkpoints(int n, int tasks, int fill)
{
    struct store_state st;
    int failed = 0;
    for (int i = 0; i < n; i++)
        failed += put(i % tasks, i, fill) != 0;
    CHECK(failed == 0);
    for (int i = n - tasks; i < n; i++) {
        char key[32], want[32];
        snprintf(key, sizeof key, "task/%d", i % tasks);
        snprintf(want, sizeof want, "\"v\":%d,", i);
        CHECK(strncmp(ts_get(&t, key), want, strlen(want)) == 0);
    }
    st = *store_state(t.s);
    return st.g;
}

static void
test_ten_thousand_checkpoints(void)
{
    static const struct store_options options[] = {
        {.closed_max = STORE_CLOSED_MAX},
        {.closed_max = 0},
        {.closed_max = 0, .compact_at = 128 * 1024},
    };
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        begin(&options[i]);
        uint64_t g = checkpoints(10000, 500, 1000);
        CHECK(g > 5 && (options[i].compact_at == 0 || g > 10));
        CHECK(exists(".reserve"));
        char closed[24];
        snprintf(closed, sizeof closed, ".%llu", (unsigned long long)g - 1);
        CHECK(!exists(closed) || options[i].closed_max > 0);
        end();
    }
}

/* Earlier closed generations are deleted too, even after a process with
   closed_max 0 was killed before it deleted them. */
static void
test_closed_max_0(void)
{
    for (int killed = 0; killed < 2; killed++) {
        begin(&(struct store_options){.closed_max = STORE_CLOSED_MAX});
        for (int i = 0; i < 3; i++)
            CHECK(put(i, 1, 10) == 0 && ts_compact(&t) == 0);
        CHECK(exists(".1") && exists(".2") && exists(".3"));
        ts_close(&t);
        CHECK(!killed || unlink(path_with(path, ".3")) == 0);
        CHECK(ts_open_with(&t, &(struct store_options){.path = path}) == 0);
        CHECK(put(0, 2, 10) == 0 && ts_compact(&t) == 0);
        CHECK(!exists(".1") && !exists(".2") && !exists(".3") &&
              !exists(".4"));
        end();
    }
}

/* ---- the reserve ---- */

/* Writes new tasks until there is no room. */
static int
fill_up(void)
{
    int n = 0;
    while (n < 10000 && put(n, 0, 1000) == 0)
        n++;
    return n;
}

/* Others fill the disk: some tasks can still be ended and then the log
   compacted, although the room for that is not free. */
static void
test_reserve_is_given_up(void)
{
    begin(&(struct store_options){.closed_max = 0});
    for (int i = 0; i < 100; i++)
        CHECK(put(i, 1, 1000) == 0);
    CHECK(exists(".reserve"));
    alien = DISK - used();
    for (int i = 0; i < 20; i++)
        CHECK(put(i, 2, 1000) == 0);
    CHECK(!exists(".reserve"));
    CHECK(put(0, 2, 1000) == 0 && fill_up() > 0);
    CHECK(put(0, 3, 1000) == ERR_FULL);
    alien = 0;
    CHECK(put(0, 4, 1000) == 0);
    for (int i = 0; i < 20; i++)
        CHECK(put(i, 5, 1000) == 0);
    CHECK(exists(".reserve")); /* as soon as there is room */
    end();
}

static void
test_compaction_takes_the_reserve(void)
{
    begin(&(struct store_options){.closed_max = 0});
    for (int i = 0; i < 50; i++)
        CHECK(put(i % 25, 1, 1000) == 0);
    CHECK(exists(".reserve"));
    alien = DISK - used();
    CHECK(ts_compact(&t) == 0 && !exists(".reserve"));
    end();
}

/* Nothing is superseded: a full store stays readable and reports it. */
static void
test_full_of_tasks(void)
{
    begin(&(struct store_options){.closed_max = STORE_CLOSED_MAX});
    int n = fill_up();
    CHECK(n > 1000 && n < 10000 && !exists(".reserve"));
    CHECK(put(0, 1, 1000) == ERR_FULL && ts_compact(&t) == ERR_FULL);
    CHECK(strncmp(ts_get(&t, "task/0"), "\"v\":0,", 6) == 0);
    end();
}

int
main(void)
{
    test_in_memory();
    test_ten_thousand_checkpoints();
    test_closed_max_0();
    test_reserve_is_given_up();
    test_compaction_takes_the_reserve();
    test_full_of_tasks();
    free(path);
    return test_end("t_store_room");
}
