/* Deferred calls and their log: compaction, records of other versions, undo,
   memory that runs out, and the processes that a call belongs to. */

#include "tests/lib/calls.h"

#include <signal.h>

/* ---- compaction, and records of others ---- */

static uint64_t
records_of(const char *path)
{
    struct store_report r;

    CHECK(store_verify(path, &r, NULL) == 0 && !r.damaged);
    return r.records;
}

TEST(compaction)
{
    char live[ID_LEN], done[ID_LEN], late[ID_LEN];
    struct call k, got;
    struct world w;

    world_init(&w);
    make_one(&w, "task/a", live);
    make_one(&w, "task/a", done);
    CHECK(create_of(&w, "ann", CALL_WORKING, &k) == 0);
    memcpy(late, k.id.p, ID_LEN);
    put(&w, "task/a");
    CHECK(become_one(&w, live, CALL_INPUT_REQUIRED) == 0);
    CHECK(become_one(&w, late, CALL_WORKING) == 0);
    CHECK(become_one(&w, done, CALL_COMPLETED) == 0);
    compact(&w);
    CHECK(get(&w, live, &got) == 0 && got.born == 1 && got.n == 5);
    CHECK(get(&w, done, &got) == 0 && got.status == CALL_COMPLETED);
    CHECK(get(&w, late, &got) == 0 && is_replay(&w, true));
    ahead_ms = 60000; /* late has expired; the others have a day */
    compact(&w);
    CHECK(get(&w, live, &got) == 0 && get(&w, done, &got) == 0);
    ahead_ms = 0;
    reopen(&w);
    CHECK(get(&w, late, &got) == ERR_NOT_FOUND && is_replay(&w, true));
    world_close(&w);
    CHECK(records_of(w.path) == 3);
    world_open(&w, NULL);
    ahead_ms = CALL_TTL_MS;
    compact(&w);
    world_close(&w);
    CHECK(records_of(w.path) == 1); /* the task's */
    world_open(&w, NULL);
    world_fini(&w);
}

/* The clock was ten years ahead for a while: when that is taken back, calls of
   before go on, and those of then are over. */
TEST(time_is_taken_back)
{
    char before[ID_LEN], then[ID_LEN];
    struct call got;
    struct world w;

    world_init(&w);
    make_one(&w, "task/a", before);
    wall_ms = 3650 * CALL_TTL_MS;
    make_one(&w, "task/a", then);
    wall_ms = 0;
    CHECK(get(&w, before, &got) == ERR_NOT_FOUND);
    CHECK(get(&w, then, &got) == 0);
    store_take_back_time(w.s);
    compact(&w);
    for (int i = 0; i < 2; i++) {
        CHECK(get(&w, before, &got) == 0);
        CHECK(get(&w, then, &got) == ERR_NOT_FOUND);
        CHECK(is_replay(&w, true));
        reopen(&w);
    }
    world_fini(&w);
}

static bool
wants_compact(struct world *w, uint64_t keys, int64_t *len)
{
    struct store_state st;

    st = *store_state(w->s);
    CHECK(st.keys == keys);
    *len = st.len;
    return store_wants_compact(w->s);
}

static void
make_many(struct world *w, int n)
{
    char id[ID_LEN];

    while (n-- > 0)
        make_one(w, "", id);
}

/* None of their records is superseded: the log shrinks because they end. */
TEST(calls_alone_are_compacted)
{
    char id[ID_LEN];
    struct world w;
    int64_t full, len;
    int i;

    world_init(&w);
    w.compact_at = 4096;
    reopen(&w);
    make_many(&w, 40);
    CHECK(wants_compact(&w, 40, &full));
    compact(&w); /* all live: all stay, and no other compaction is due */
    for (i = 0; i < 2; i++) {
        CHECK(!wants_compact(&w, 40, &len) && len >= full);
        CHECK(is_replay(&w, true));
        reopen(&w);
    }
    make_many(&w, 10);
    CHECK(!wants_compact(&w, 50, &len));
    lock(&w);
    for (i = 0; i < 100; i++)
        make(&w, "", id);
    CHECK(store_wants_compact(w.s));
    commit_fails(&w); /* so they do not count */
    lock(&w);
    CHECK(store_probe(w.s) == 0); /* there is room again */
    store_unlock(w.s);
    CHECK(!wants_compact(&w, 50, &len));
    ahead_ms = CALL_TTL_MS;
    make_many(&w, 50);
    CHECK(wants_compact(&w, 100, &len));
    compact(&w);
    reopen(&w);
    CHECK(!wants_compact(&w, 50, &len) && len < 2 * full);
    ahead_ms = 2 * CALL_TTL_MS;
    compact(&w);
    ahead_ms = CALL_TTL_MS; /* expired calls stay away */
    CHECK(!wants_compact(&w, 0, &len) && is_replay(&w, true));
    ahead_ms = 2 * CALL_TTL_MS;
    reopen(&w);
    CHECK(!wants_compact(&w, 0, &len) && len < full / 10);
    world_fini(&w);
}

/* Records of calls that this binary must leave alone. */
TEST(records_of_another_version)
{
#define FORM(n) "\"op\":\"a\",\"v\":{\"form\":" n
#define HEAD FORM("1") NO_WATCH
#define NO_WATCH ",\"status\":\"working\",\"born\":1,\"created\":17900000" \
                 "00000,\"ttl\":2592000000,\"due\":0,\"principal\":\"\""
#define REST ",\"born\":1,\"created\":1,\"ttl\":1,\"due\":0,\"principal\":" \
             "\"\",\"watch\":\"\"}"
    static const char *const bodies[] = {
        FORM("2") NO_WATCH ",\"watch\":\"task/a\"}",
        FORM("10") NO_WATCH ",\"watch\":\"task/a\"}",
        "\"op\":\"a\",\"v\":{\"status\":\"working\"" REST,
        HEAD "}", HEAD ",\"watch\":7}",
        HEAD ",\"watch\":\"\\", HEAD ",\"watch\":\"", HEAD ",\"watch\":",
        HEAD ",\"watch\":}", HEAD ",\"watch\":{\"}", HEAD ",\"watch\":[[]",
        FORM("1") ",\"status\":\"paused\"" REST,
        FORM("1") ",\"status\":\"" REST, FORM("1") ",\"status\":1" REST,
        FORM("1") "}", FORM("1"), "\"op\":\"a\",\"v\":{}", "\"op\":7",
        "\"v\":{}"};
    enum { N = sizeof bodies / sizeof *bodies };
    char id[ID_LEN], key[64], ids[2][ID_LEN];
    struct calls_counts count;
    struct world w;
    struct call k;
    uint64_t last;
    bool more;
    int i;

    world_init(&w);
    for (i = 0; i < N; i++) {
        lock(&w);
        snprintf(key, sizeof key, "call/%022d", i);
        stage(&w, key, bodies[i]);
        stage(&w, "call/short", bodies[i]);
        commit(&w);
    }
    make_one(&w, "task/a", id); /* a newer version takes it over */
    snprintf(key, sizeof key, "call/%s", id);
    lock(&w);
    stage(&w, key, bodies[0]);
    stage(&w, "task/a", "\"v\":1");
    commit(&w);
    for (i = 0; i < 2; i++) {
        CHECK(calls_list(w.calls, STR_NONE, 0, ids, 2, &last, &more) == 0);
        calls_count(w.calls, &count);
        CHECK(count.by_status[CALL_WORKING] == 0 && !calls_any_marked(w.calls));
        CHECK(get(&w, id, &k) == ERR_NOT_FOUND);
        CHECK(get(&w, "0000000000000000000000", &k) == ERR_NOT_FOUND);
        calls_mark(w.calls, str_of(id));
        CHECK(become_one(&w, id, CALL_COMPLETED) == ERR_NOT_FOUND);
        compact(&w);
    }
    lock(&w); /* an unknown member in a known form */
    stage(&w, key, HEAD ",\"watch\":\"task/a\",\"news\":1}");
    stage(&w, "task/a", "\"v\":1");
    commit(&w);
    CHECK(get(&w, id, &k) == ERR_NOT_FOUND);
    CHECK(become_one(&w, id, CALL_COMPLETED) == ERR_NOT_FOUND);
    world_close(&w);
    /* Two each of id and task/a, and the last of call/short. */
    CHECK(records_of(w.path) == N + 5);
    world_open(&w, NULL);
    world_fini(&w);
#undef REST
#undef NO_WATCH
#undef HEAD
#undef FORM
}

/* A record that is whole but not JSON: its call cannot be read, and the log can
   be. */
TEST(records_that_are_not_json)
{
#define HEAD(principal) \
    "\"op\":\"a\",\"v\":{\"form\":1,\"status\":\"working\",\"born\":1," \
    "\"created\":%lld,\"ttl\":86400000,\"due\":0,\"principal\":\"" principal \
    "\",\"watch\":\"task/a\""
    static const char *const bodies[] = {
        HEAD("\\u00") "}", HEAD("\\") "}", HEAD("me") ",\"tool\":\"\\u\"}",
        HEAD("me") ",\"args\":{\"a\":]}}", HEAD("a\tb") "}", HEAD("me"),
        HEAD("me") ",\"result\":\xff}", "\"op", "\\"};
#undef HEAD
    char id[ID_LEN], other[ID_LEN], key[64], body[512];
    struct world w;
    struct call k;

    world_init(&w);
    make_one(&w, "task/a", other);
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        make_one(&w, "task/a", id);
        snprintf(key, sizeof key, "call/%s", id);
        snprintf(body, sizeof body, bodies[i],
                 (long long)store_now_ms(w.s));
        lock(&w);
        stage(&w, key, body);
        commit(&w);
        CHECK(get(&w, id, &k) == ERR_GARBLED);
        CHECK(become_one(&w, id, CALL_COMPLETED) == ERR_GARBLED);
        reopen(&w);
        CHECK(get(&w, id, &k) == ERR_GARBLED);
        CHECK(get(&w, other, &k) == 0);
        put(&w, "task/a");
        CHECK(marked(&w, other));
        CHECK(become_one(&w, other, CALL_WORKING) == 0);
    }
    compact(&w);
    CHECK(get(&w, id, &k) == ERR_GARBLED && get(&w, other, &k) == 0);
    world_fini(&w);
}

/* Stages a call of which one byte was changed, and undoes it. */
static void
stage_changed(struct world *w, const char *key, struct str body,
              const char *other)
{
    struct call k;
    int rc;

    CHECK(store_stage(w->s, str_of(key), body) == 0);
    rc = get(w, key + strlen("call/"), &k);
    CHECK(rc == 0 || rc == ERR_NOT_FOUND || rc == ERR_GARBLED);
    stage(w, "task/a", "\"v\":1");
    CHECK(get(w, other, &k) == 0 && marked(w, other));
    store_unstage(w->s, 0);
    arena_reset(&w->a);
}

/* Any bytes, at any place of a call's record. */
TEST(any_bytes)
{
    static const char into[] = "\t\"\\{}[]u,:9 \xff";
    struct call k = {.principal = STR("m\"e"), .tool = STR("wait"),
                     .args = STR("{\"a\":[1,\"b\"]}"), .shape = STR("{}"),
                     .watch = STR("task/a\tfree"), .state = STR("s\n"),
                     .questions = STR("[{\"key\":\"k\",\"answer\":{}}]")};
    struct store_rec r;
    char key[64], other[ID_LEN];
    struct world w;
    struct str body;

    world_init(&w);
    make_one(&w, "task/a", other);
    CHECK(create(&w, &k) == 0);
    snprintf(key, sizeof key, "call/%.*s", STR_ARG(k.id));
    CHECK(store_read(w.s, store_find(w.s, str_of(key)), &w.a, &r) == 0);
    body = (struct str){malloc(r.body.len), r.body.len};
    memcpy((char *)(uintptr_t)body.p, r.body.p, body.len);
    arena_reset(&w.a);
    lock(&w);
    for (size_t at = 0; at < body.len; at++) {
        char *p = (char *)(uintptr_t)body.p + at, was = *p;

        if (at > 0)
            stage_changed(&w, key, (struct str){body.p, at}, other);
        for (size_t i = 0; i < sizeof into - 1; i++) {
            *p = into[i];
            stage_changed(&w, key, body, other);
        }
        *p = was;
    }
    store_unlock(w.s);
    CHECK(is_replay(&w, false));
    free((char *)(uintptr_t)body.p);
    world_fini(&w);
}

/* ---- undo ---- */

/* Stages some event. */
static void
happen(struct world *w)
{
    static char ids[1000][ID_LEN];
    char text[64];
    struct call k;
    uint64_t last;
    bool more;
    size_t n = calls_list(w->calls, STR_NONE, 0, ids, 1000, &last, &more);

    if (rnd(3) == 0 || n == 0) {
        snprintf(text, sizeof text, rnd(2) ? "task/%u" : "task/%u\ttask/%u",
                 rnd(8), rnd(8));
        make(w, rnd(4) ? text : "", ids[0]);
    } else if (rnd(2)) {
        snprintf(text, sizeof text, rnd(4) ? "task/%u" : "else/%u", rnd(8));
        stage(w, text, "\"v\":1");
    } else {
        CHECK(get(w, ids[rnd((uint32_t)n)], &k) == 0);
        snprintf(text, sizeof text, rnd(2) ? "task/%u" : "task/%u\ttask/%u",
                 rnd(8), rnd(8));
        k.watch = rnd(4) ? str_of(text) : k.watch;
        k.status = (enum call_status)rnd(rnd(2) ? 2 : CALL_N_STATUSES);
        CHECK(calls_stage(w->calls, &k, "wait") % ERR_TERMINAL == 0);
    }
}

/* An event marks exactly the calls that watch it. */
static bool
chains_are_whole(struct world *w)
{
    char key[32], id[ID_LEN];
    int i;

    while (calls_next_marked(w->calls, id))
        continue;
    lock(w);
    for (i = 0; i < 8; i++) {
        snprintf(key, sizeof key, "task/%d", i);
        stage(w, key, "\"v\":1");
    }
    commit(w);
    return is_replay(w, true);
}

TEST(undo_is_exact)
{
    struct buf before = {0}, after = {0};
    int round, i;

    for (round = 0; round < 40; round++) {
        struct world w;

        world_init(&w);
        for (i = 0; i < 60; i++) {
            lock(&w);
            happen(&w);
            happen(&w);
            commit(&w);
        }
        CHECK(is_replay(&w, true));
        dump(&w, &before, false);
        lock(&w);
        for (i = 0; i < 100; i++)
            happen(&w);
        commit_fails(&w);
        dump(&w, &after, false);
        CHECK(is_same_text(&before, &after));
        CHECK(is_replay(&w, false) && chains_are_whole(&w));
        for (i = 0; i < 60; i++) {
            lock(&w);
            happen(&w);
            commit(&w);
        }
        CHECK(is_replay(&w, true));
        world_fini(&w);
    }
    buf_fini(&before);
    buf_fini(&after);
}

/* After an undo, what a call was run for may be news to it again. */
TEST(undo_marks)
{
    char id[ID_LEN], fresh[ID_LEN], next[ID_LEN];
    struct world w;

    world_init(&w);
    make_one(&w, "task/a", id);
    put(&w, "task/a");
    CHECK(next_is(&w, id));
    lock(&w);
    CHECK(become(&w, id, CALL_COMPLETED) == 0);
    make(&w, "task/a", fresh);
    stage(&w, "task/a", "\"v\":1");
    CHECK(marked(&w, fresh) && !marked(&w, id));
    commit_fails(&w);
    CHECK(marked(&w, id) && !marked(&w, fresh));
    CHECK(calls_next_marked(w.calls, next) && strcmp(next, id) == 0);
    CHECK(!calls_next_marked(w.calls, next) && !calls_any_marked(w.calls));
    world_fini(&w);
}

/* ---- no memory ---- */

TEST(no_memory)
{
    char id[ID_LEN];
    struct world w;
    struct call k;
    long after;
    int step, rounds = 0;

    world_init(&w);
    for (step = 0; step < 70; step++) /* more than there is room for at first */
        for (after = 0;; after++, rounds++) {
            bool hit, unknown;
            int rc;

            k = (struct call){.shape = STR("1"), .watch = STR("owner/\""),
                              .args = STR("{}")};
            CHECK(store_lock_patiently(w.s) == 0);
            arena_fini(&w.a);
            nomem_start(after, after % 2);
            rc = calls_create(w.calls, &w.a, &k);
            if (rc == 0) {
                memcpy(id, k.id.p, ID_LEN);
                rc = get(&w, id, &k);
            }
            k.status = step % 2 ? CALL_WORKING : CALL_FAILED;
            k.state = STR("\n");
            if (rc == 0)
                rc = calls_stage(w.calls, &k, "wait");
            hit = nomem_stop();
            CHECK(rc == 0 || (hit && rc == ERR_NOMEM));
            if (rc == 0)
                CHECK(get(&w, id, &k) == 0);
            disk_full = rc != 0 && store_staged_n(w.s) > 0;
            rc = store_commit(w.s, &unknown);
            CHECK(rc == 0 || rc == ERR_FULL);
            disk_full = false;
            store_unlock(w.s);
            if (!hit)
                break;
        }
    CHECK(rounds > 200);
    make_one(&w, "", id);
    CHECK(is_replay(&w, true));
    world_fini(&w);
}

TEST(no_memory_to_open)
{
    char id[ID_LEN];
    struct world w;
    long after;
    int i;

    world_init(&w);
    for (i = 0; i < 70; i++)
        make_one(&w, i % 2 ? "task/a" : "owner/\"", id);
    world_close(&w);
    for (after = 0;; after++) {
        bool hit;
        int rc;

        nomem_start(after, after % 2);
        rc = world_try(&w, NULL, false);
        hit = nomem_stop();
        CHECK(rc == 0 || hit);
        if (rc == 0) {
            CHECK(store_follow(w.s) == 0 && is_replay(&w, true));
            world_close(&w);
        }
        if (!hit)
            break;
    }
    CHECK(after > 10);
    world_fini(&w);
}

/* ---- instances ---- */

/* A child that opens the store, reports its instance, and lives until it is
   killed. */
static pid_t
begin_instance(const struct world *w, uint64_t *instance)
{
    int fd[2];
    pid_t pid;

    if (pipe(fd) != 0)
        abort();
    pid = child_begin();
    if (pid == 0) {
        struct world mine = world_beside(w);

        world_open(&mine, NULL);
        *instance = store_instance(mine.s);
        for (int i = 0; i < 3; i++)
            put(&mine, "task/a");
        CHECK(store_instance(mine.s) == *instance);
        if (write(fd[1], instance, sizeof *instance) !=
                (ssize_t)sizeof *instance)
            abort();
        for (;;)
            pause();
    }
    close(fd[1]);
    CHECK(read(fd[0], instance, sizeof *instance) ==
          (ssize_t)sizeof *instance);
    close(fd[0]);
    return pid;
}

static void
end_instance(pid_t pid)
{
    int status;

    CHECK(kill(pid, SIGKILL) == 0);
    CHECK(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status));
}

TEST(instances)
{
    static const uint64_t none[] = {0, 1, 2, 1 << 20, UINT64_C(1) << 41,
                                    UINT64_C(1) << 50, UINT64_C(1) << 63,
                                    UINT64_MAX};
    uint64_t me, a, b;
    pid_t pid_a, pid_b;
    struct world w;
    size_t i;

    world_init(&w);
    CHECK(store_instance(w.s) == 0); /* there is no lock file yet */
    put(&w, "task/a");
    me = store_instance(w.s);
    CHECK(me >= 1 << 20 && me == store_instance(w.s));
    pid_a = begin_instance(&w, &a);
    pid_b = begin_instance(&w, &b);
    CHECK(a != 0 && b != 0 && a != b && a != me && b != me);
    CHECK(store_alive(w.s, me) && store_alive(w.s, a) && store_alive(w.s, b));
    end_instance(pid_a);
    CHECK(!store_alive(w.s, a) && store_alive(w.s, b));
    compact(&w);
    CHECK(store_alive(w.s, b) && store_instance(w.s) == me);
    end_instance(pid_b);
    CHECK(!store_alive(w.s, b));
    lock(&w); /* bytes of other locks are not instances */
    for (i = 0; i < sizeof none / sizeof *none; i++)
        CHECK(!store_alive(w.s, none[i]));
    store_unlock(w.s);
    world_fini(&w);
}

/* If somebody removes the lock file, the next writer makes another. */
TEST(instance_in_another_lock_file)
{
    uint64_t me, alive;
    struct world w;
    pid_t pid;

    world_init(&w);
    put(&w, "task/a");
    me = store_instance(w.s);
    CHECK(unlink(path_with(w.path, ".lock")) == 0);
    put(&w, "task/a");
    CHECK(me != 0 && store_instance(w.s) == me);
    pid = child_begin();
    if (pid == 0) {
        struct world mine = world_beside(&w);

        world_open(&mine, NULL);
        CHECK(store_alive(mine.s, me));
        world_close(&mine);
        child_end();
    }
    CHECK(child_ok(pid));
    pid = begin_instance(&w, &alive);
    CHECK(store_alive(w.s, alive));
    end_instance(pid);
    CHECK(!store_alive(w.s, alive) && store_alive(w.s, me));
    world_fini(&w);
}

int
main(void)
{
    test_in_memory();
    test_run();
    return test_end("call_store");
}
