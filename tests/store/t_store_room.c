/* A log on a disk of 2 MB. t_cli.sh does the same with a real disk, if it may
   mount one. */

#include "tests/lib/room.h"

#include <signal.h>
#include <sys/resource.h>

static uint64_t
checkpoints(int n, int tasks, int fill)
{
    struct store_state st;
    int failed = 0;
    for (int i = 0; i < n; i++)
        failed += put_served(i % tasks, i, fill) != 0;
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

/* Room that is enough for a compaction is enough while one writes: no history
   has to go. */
static void
test_history_stays(void)
{
    begin(&(struct store_options){.closed_max = STORE_CLOSED_MAX});
    CHECK(put(0, 1, 10) == 0 && ts_compact(&t) == 0 && exists(".1"));
    for (int i = 0; i < 500; i++)
        CHECK(put(i, 2, 1000) == 0);
    alien = disk - used() - t.s->live * 3 / 2;
    CHECK(ts_compact(&t) == 0 && exists(".1") && exists(".2"));
    end();
}

/* ---- a full disk ---- */

/* Writes new tasks until there is no room. */
static int
fill_up(void)
{
    int n = 0;
    while (n < 10000 && put(n, 0, 1000) == 0)
        n++;
    return n;
}

/* What is the last of a task. */
static int
put_last(int task, int v)
{
    char body[64];
    snprintf(body, sizeof body, "\"v\":%d,\"done\":true", v);
    return commit_text(task, body, true);
}

/* Nothing is superseded. The log takes half of the disk, and tasks can still be
   changed as often as one likes. */
static void
test_full_of_tasks(void)
{
    begin(&(struct store_options){.closed_max = STORE_CLOSED_MAX});
    int n = fill_up(), failed = 0;
    int64_t half = (disk - 64 * 1024) / 2; /* without the reserve */
    CHECK(store_state(t.s)->len > half - 24 * 1024 &&
          store_state(t.s)->len < half);
    CHECK(put(n, 0, 1000) == ERR_FULL && put(n + 1, 0, 3000) == ERR_FULL);
    CHECK(strncmp(ts_get(&t, "task/0"), "\"v\":0,", 6) == 0);
    for (int i = 1; i < 300; i++)
        failed += put(i % 7, i, 1000) != 0;
    CHECK(failed == 0 && store_state(t.s)->g > 10);
    CHECK(put(n, 0, 1000) == ERR_FULL && ts_compact(&t) == 0);
    end();
}

/* What store_missing_room says is the rule: with the room that it needs a new
   key of 8 KB is accepted, with some blocks less it is not, unless a closed
   generation makes way. */
static void
test_the_room_that_is_needed(void)
{
    int64_t need;

    begin(&(struct store_options){.closed_max = STORE_CLOSED_MAX});
    for (int i = 0; i < 100; i++)
        CHECK(put(i, 1, 1000) == 0);
    CHECK(ts_compact(&t) == 0 && exists(".1"));
    CHECK(store_missing_room(t.s, &need) == 0);
    CHECK(need > 100 * 1000 && need < DISK / 4);
    alien = disk - used() - need + 2 * BLOCK;
    CHECK(store_missing_room(t.s, &need) == 0);
    CHECK(put(100, 1, 8000) == 0 && !exists(".1")); /* it made way */
    store_missing_room(t.s, &need);
    alien += disk - used() - need - BLOCK;
    CHECK(store_missing_room(t.s, &need) == 0);
    CHECK(put(101, 1, 8000) == 0);
    store_missing_room(t.s, &need);
    alien += disk - used() - need + 2 * BLOCK;
    CHECK(store_missing_room(t.s, &need) > 0);
    CHECK(store_state(t.s)->err == 0);
    CHECK(put(102, 1, 8000) == ERR_FULL);
    end();
}

/* A server that was refused once, and then only reads, does not compact after
   each change of others once there is room again. */
static void
test_full_no_more(void)
{
    struct tstore other;
    int n = 0;
    begin(&(struct store_options){.closed_max = 0,
                                  .compact_at = 128 * 1024});
    CHECK(fill_up() > 0 && store_state(t.s)->err == ERR_FULL);
    disk = 1 << 30;
    CHECK(ts_open(&other, path) == 0);
    uint64_t g = store_state(t.s)->g;
    int64_t len = store_state(t.s)->len;
    for (; n < 5000 && store_state(t.s)->g == g; n++) {
        char body[1024];
        snprintf(body, sizeof body, "\"v\":%d,\"fill\":\"%0900d\"", n, 0);
        CHECK(ts_put(&other, "task/1", body) == 0);
        CHECK(store_follow(t.s) == 0);
        between_turns();
    }
    CHECK(n < 5000 && n > len / 1100); /* by half of it, as if never full */
    ts_close(&other);
    end();
}

/* Others take the room: it is told how much is missing, only what is the last
   of a task is still taken, and everything as soon as they free that much. */
static void
test_others_take_the_room(void)
{
    begin(&(struct store_options){.closed_max = 0});
    for (int i = 0; i < 400; i++)
        CHECK(put(i, 1, 1000) == 0);
    const struct store_state *st = store_state(t.s);
    CHECK(st->missing == 0 && st->err == 0);
    alien = disk - used() - 60 * 1024;
    CHECK(put(0, 2, 1000) == ERR_FULL && !store_wants_compact(t.s));
    char number[32];
    st = store_state(t.s);
    snprintf(number, sizeof number, "need %lld more", (long long)st->missing);
    CHECK(st->err == ERR_FULL && strstr(st->why, number) != NULL);
    for (int i = 0; i < 100; i++)
        CHECK(put_last(i, 3) == 0);
    CHECK(store_state(t.s)->err == ERR_FULL);
    CHECK(store_lock(t.s) == 0 && store_probe(t.s) == ERR_FULL);
    store_unlock(t.s);
    CHECK(put(0, 4, 1000) == ERR_FULL);
    alien -= (store_state(t.s)->missing + BLOCK) / BLOCK * BLOCK;
    CHECK(put(0, 4, 1000) == 0);
    st = store_state(t.s);
    CHECK(st->err == 0 && st->missing == 0);
    alien += disk - used();
    CHECK(put(0, 5, 1000) == ERR_FULL);
    alien = 0;
    CHECK(store_lock(t.s) == 0 && store_probe(t.s) == 0);
    store_unlock(t.s);
    CHECK(store_state(t.s)->err == 0);
    end();
}

/* Records that a compaction has to keep for now count as well. */
static void
test_held_records(void)
{
    char body[2048];
    int n = 0, rc = 0;
    begin(&(struct store_options){.closed_max = 0});
    for (; n < 10000 && rc == 0; n++) {
        snprintf(body, sizeof body, "\"keep\":%d,\"fill\":\"%01000d\"", n, 0);
        rc = commit_text(n % 10, body, false);
    }
    CHECK(rc == ERR_FULL && store_state(t.s)->len < disk / 2);
    CHECK(store_state(t.s)->g == 2); /* it was tried once, in vain */
    CHECK(!store_wants_compact(t.s) && !exists(".compact"));
    CHECK(t.s->held > t.s->live && put_last(3, 1) == 0);
    CHECK(ts_compact(&t) == 0 && t.s->held > t.s->live);
    /* The next process reads in the log that nothing was superseded since one
       that was in vain. */
    for (int last = 0; last < 2; last++) { /* which supersedes one */
        ts_close(&t);
        CHECK(ts_open_with(&t, &(struct store_options){.path = path}) == 0);
        alien += disk - used() - 300 * 1024;
        CHECK(last ? put_last(4, 2) == 0 : put(4, 1, 1000) == ERR_FULL);
        CHECK(t.s->room.tried_ms == 0 && store_make_room(t.s) == last);
    }
    end();
}

/* A compaction that others leave no room for leaves no file, and is wanted
   again as soon as there is room, with what a killed one has left. */
static void
test_failed_compaction(void)
{
    static const char left[256 * 1024];
    begin(&(struct store_options){.closed_max = 0});
    disk = 8LL * DISK;
    for (int i = 0; i < 3000; i++)
        CHECK(put(i % 1500, 1, 1000) == 0);
    CHECK(store_compact(t.s) == ERR_PENDING && exists(".compact"));
    int rc = ERR_PENDING;
    for (alien = disk - used(); rc == ERR_PENDING;)
        rc = store_compact(t.s);
    CHECK(rc == ERR_FULL && !exists(".compact"));
    CHECK(put(0, 1, 1000) == ERR_FULL && put(0, 1, 1000) == ERR_FULL);
    file_put(path_with(path, ".compact"), left, sizeof left);
    alien = 0;
    alien = disk - used() + (int64_t)sizeof left - t.s->live - 12 * 1024;
    CHECK(put(0, 1, 1000) == 0 && store_state(t.s)->g == 2 &&
          !exists(".compact"));
    end();
}

/* If nobody knows how much room there is, the write that fails decides. */
static void
test_unknown_room(void)
{
    begin(&(struct store_options){.closed_max = STORE_CLOSED_MAX});
    no_statvfs = true;
    int n = 0;
    while (n < 10000 && put(n % 100, n, 1000) == 0)
        n++;
    CHECK(n < 2000 && store_state(t.s)->err == ERR_FULL && !exists(".compact"));
    alien = -4 * BLOCK; /* somebody frees it */
    CHECK(put_last(0, 1) == 0 && put(0, 2, 1000) == 0);
    CHECK(store_state(t.s)->err == 0);
    alien = -64 * BLOCK;
    CHECK(ts_compact(&t) == 0);
    no_statvfs = false;
    end();
}

/* What version 0.2.0 kept for a full disk is freed. */
static void
test_old_reserve(void)
{
    begin(&(struct store_options){.closed_max = 0});
    CHECK(put(0, 1, 10) == 0);
    file_put(path_with(path, ".reserve"), "", 1);
    CHECK(ts_compact(&t) == 0 && !exists(".reserve"));
    end();
}

/* ---- the reserve ---- */

static int64_t
reserve(void)
{
    struct stat st;
    return stat(path_with(path, ".spare"), &st) == 0 ? (int64_t)st.st_size : -1;
}

/* Ends tasks by records of len bytes while others take each block that is
   free, until one is refused. Returns how many were not. */
static int
end_tasks(int len)
{
    char body[16 * 1024];
    int n = 0;
    snprintf(body, sizeof body, "\"end\":\"%0*d\"", len - 80, 0);
    for (; n < 1000; n++) {
        alien += disk - used();
        if (commit_text(n % 100, body, true) != 0)
            break;
    }
    return n;
}

/* Others fill the disk, and take what becomes free: tasks can still be ended,
   and nothing else takes the reserve. The state says when it is used up. It is
   made again, for the next time, once there is room. */
static void
test_reserve(void)
{
    static const int lens[] = {600, 5000};
    begin(&(struct store_options){.closed_max = 0});
    CHECK(reserve() < 0);
    for (int i = 0; i < 4; i++) {
        CHECK(put(0, i, 10) == 0 && reserve() == 64 * 1024);
        alien += disk - used();
        CHECK(put(0, i, 4000) == ERR_FULL);
        CHECK(store_lock(t.s) == 0 && store_probe(t.s) == ERR_FULL);
        store_unlock(t.s);
        CHECK(reserve() == 64 * 1024 && store_state(t.s)->takes_last);
        CHECK(strstr(store_state(t.s)->why, "can still be ended") != NULL);
        int n = end_tasks(lens[i % 2]);
        CHECK(n > 64 * 1024 / lens[i % 2] / 2 && n < 1000);
        CHECK(reserve() < BLOCK && !store_state(t.s)->takes_last);
        CHECK(put(0, i, 10) == ERR_FULL);
        CHECK(strstr(store_state(t.s)->why, "can still") == NULL);
        alien = 0;
    }
    end();
}

/* A record that is too large for it leaves it to others. */
static void
test_reserve_too_small(void)
{
    static char body[80 * 1024];
    begin(&(struct store_options){.closed_max = 0});
    CHECK(put(0, 1, 10) == 0 && put(1, 1, 10) == 0);
    alien = disk - used();
    snprintf(body, sizeof body, "\"end\":\"%0*d\"", 70 * 1024, 0);
    CHECK(commit_text(0, body, true) == ERR_FULL && reserve() == 64 * 1024);
    snprintf(body, sizeof body, "\"end\":\"%0*d\"", 50 * 1024, 0);
    CHECK(commit_text(0, body, true) == 0 && put_last(1, 1) == 0);
    end();
}

/* ---- history ---- */

/* Only as many old generations make way as are needed, the oldest first; none
   if all would not do, nor for a limit of another kind. */
static void
test_history_makes_way(void)
{
    struct rlimit lim;
    begin(&(struct store_options){.closed_max = STORE_CLOSED_MAX});
    for (int i = 0; i < 90; i++)
        CHECK(put(i % 20, i, 4000) == 0 && (i % 30 != 29 ||
                                             ts_compact(&t) == 0));
    CHECK(exists(".1") && exists(".2") && exists(".3"));
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &lim);
    rlim_t most = lim.rlim_cur;
    lim.rlim_cur = (rlim_t)store_state(t.s)->len + 100;
    setrlimit(RLIMIT_FSIZE, &lim);
    CHECK(put(0, 1, 1000) == ERR_FULL && put_last(0, 1) == ERR_FULL);
    lim.rlim_cur = most;
    setrlimit(RLIMIT_FSIZE, &lim);
    CHECK(exists(".1") && reserve() == 64 * 1024);
    CHECK(store_state(t.s)->missing == 0);

    alien = disk - used() - 64 * 1024;
    CHECK(put(0, 1, 1000) == 0 && !exists(".1") && exists(".2") &&
          exists(".3"));
    alien = 0;
    for (int i = 100; i < 200; i++)
        CHECK(put(i, 1, 4000) == 0);
    alien = disk - used();
    CHECK(put(0, 1, 1000) == ERR_FULL && exists(".2") && exists(".3"));
    end();
}

/* Without a write: a store that would refuse a new key says so, and by how
   much; and that it is well once it is. */
static void
test_is_it_well(void)
{
    int64_t need;
    begin(&(struct store_options){.closed_max = 0});
    for (int i = 0; i < 100; i++)
        CHECK(put(i, 1, 1000) == 0);
    store_check_room(t.s);
    CHECK(store_state(t.s)->err == 0);
    store_missing_room(t.s, &need);
    alien = disk - used() - need + 4 * BLOCK;
    store_check_room(t.s);
    CHECK(store_state(t.s)->err == ERR_FULL);
    CHECK(store_state(t.s)->missing > 3 * BLOCK &&
          store_state(t.s)->missing <= 5 * BLOCK);
    alien = 0;
    CHECK(store_lock(t.s) == 0 && store_probe(t.s) == 0);
    store_unlock(t.s);
    CHECK(store_state(t.s)->err == 0);
    /* A compaction would help. */
    for (int i = 0; i < 400; i++)
        CHECK(put(i % 100, 2, 1000) == 0);
    store_missing_room(t.s, &need);
    alien = disk - used() - need + 4 * BLOCK;
    store_check_room(t.s);
    CHECK(store_state(t.s)->err == 0 && put(100, 1, 8000) == 0);
    end();
}

int
main(void)
{
    test_in_memory();
    test_ten_thousand_checkpoints();
    test_closed_max_0();
    test_history_stays();
    test_full_of_tasks();
    test_the_room_that_is_needed();
    test_full_no_more();
    test_others_take_the_room();
    test_held_records();
    test_failed_compaction();
    test_unknown_room();
    test_old_reserve();
    test_reserve();
    test_reserve_too_small();
    test_history_makes_way();
    test_is_it_well();
    free(path);
    return test_end("t_store_room");
}
