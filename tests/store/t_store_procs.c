/* t_store_procs - many processes on one log, and processes that are killed.

   argv[1]: rounds of killing, 100 if it is not a number. */

#include "task/artifact.h"
#include "mcp/sign.h"
#include "tests/lib/store_test.h"

#include <signal.h>

static char *path;

static void
fresh(void)
{
    free(path);
    path = path_fresh("tasks.log");
}

/* ---- ownership of files ---- */

#define OWNER 12345
#define GROUP 23456

static bool
is_theirs(const char *name)
{
    struct stat st;
    bool ok = lstat(name, &st) == 0 && st.st_uid == OWNER &&
              st.st_gid == GROUP;
    if (!ok)
        fprintf(stderr, "    %s\n", name);
    return ok;
}

/* Creates each file that belongs beside the log. */
static void
make_all(struct tstore *t, const char *artifacts)
{
    char hex[SHA256_HEX + 1];
    bool made;
    struct buf b = {0};
    struct sign *sign;
    CHECK(ts_put(t, "task/1", "\"v\":1") == 0);
    CHECK(sign_new(&sign, t->s) == 0);
    CHECK(sign_seal(sign, "session", STR("x"), STR("y"), &b) == 0);
    CHECK(artifact_put(artifacts, STR("abc"), hex, &made) == 0);
    int fd = open(path, O_WRONLY | O_APPEND);
    CHECK(write(fd, "{\"c", 3) == 3 && close(fd) == 0);
    CHECK(ts_put(t, "task/1", "\"v\":2") == 0 && ts_compact(t) == 0);
    buf_fini(&b);
    sign_free(sign);
}

/* What root creates in another user's store belongs to that user. */
TEST(root_in_anothers_store)
{
    char *dir = test_tmpdir(), *artifacts = path_in(dir, "artifacts");
    char command[1200];
    struct tstore t;
    free(path);
    path = path_in(dir, "tasks.log");
    if (geteuid() == 0 && CHECK(chown(dir, OWNER, GROUP) == 0)) {
        CHECK(ts_open(&t, path) == 0);
        make_all(&t, artifacts);
        ts_close(&t);
        CHECK(is_theirs(path) && is_theirs(path_with(path, ".lock")));
        CHECK(is_theirs(path_with(path, ".1")));
        CHECK(is_theirs(path_with(path, ".key")) && is_theirs(artifacts));
        snprintf(command, sizeof command, "test -e %s.torn-* && "
                 "test -z \"$(find %s ! -user %d -o ! -group %d)\"", path, dir,
                 OWNER, GROUP);
        CHECK(system(command) == 0);
        CHECK(chown(path, 0, 0) == 0); /* the log's owner, if there is one */
        CHECK(unlink(path_with(path, ".key")) == 0);
        CHECK(ts_open(&t, path) == 0);
        make_all(&t, artifacts);
        ts_close(&t);
        struct stat st;
        CHECK(stat(path_with(path, ".key"), &st) == 0 && st.st_uid == 0);
    }
    free(artifacts);
    free(dir);
}

/* ---- nothing is lost, and all agree ---- */

#define WRITERS 8
#define UPDATES 250
#define KEYS 20

/* Increments the number in the key's record: lost or doubled writes change the
   sum. */
static bool
increment(struct tstore *t, const char *key)
{
    char body[64];
    bool unknown;
    unsigned long long v = 0;
    if (store_lock_patiently(t->s) != 0)
        return false;
    if (store_find(t->s, str_of(key)) != NULL &&
        sscanf(ts_get(t, key), "\"v\":%llu", &v) != 1)
        return false;
    snprintf(body, sizeof body, "\"v\":%llu", v + 1);
    bool ok = store_stage(t->s, str_of(key), str_of(body)) == 0;
    ok &= store_commit(t->s, &unknown) == 0;
    store_unlock(t->s);
    return ok;
}

static uint64_t
sum_of(struct tstore *t)
{
    uint64_t sum = 0;
    for (int i = 0; i < KEYS; i++) {
        char key[32];
        unsigned long long v = 0;
        snprintf(key, sizeof key, "task/%d", i);
        sscanf(ts_get(t, key), "\"v\":%llu", &v);
        sum += v;
    }
    return sum;
}

static uint64_t
head_of(const struct tstore *t)
{
    struct store_state st;
    st = *store_state(t->s);
    return st.head;
}

static void
write_updates(int seed)
{
    struct tstore t;
    if (!CHECK(ts_open(&t, path) == 0))
        return;
    for (int i = 0; i < UPDATES; i++) {
        char key[32];
        snprintf(key, sizeof key, "task/%d", (i * 7 + seed * 3) % KEYS);
        CHECK(increment(&t, key));
    }
    /* a snapshot while others are still writing */
    CHECK(store_follow(t.s) == 0 && head_of(&t) == sum_of(&t));
    ts_close(&t);
}

static void
compact_until(int stop_fd)
{
    struct tstore t;
    char c;
    int done = 0;
    if (!CHECK(ts_open(&t, path) == 0))
        return;
    CHECK(fcntl(stop_fd, F_SETFL, O_NONBLOCK) == 0);
    while (read(stop_fd, &c, 1) != 0) { /* until the parent closes it */
        int rc = ts_compact(&t);
        CHECK(rc == 0);
        done += rc == 0;
    }
    CHECK(done > 2 && store_follow(t.s) == 0);
    CHECK(sum_of(&t) == WRITERS * UPDATES);
    ts_close(&t);
}

TEST(nothing_lost_while_compacting)
{
    pid_t pids[WRITERS], compactor;
    struct tstore t;
    int stop[2];
    fresh();
    CHECK(pipe(stop) == 0);
    compactor = child_begin();
    if (compactor == 0) {
        close(stop[1]);
        compact_until(stop[0]);
        child_end();
    }
    close(stop[0]);
    for (int i = 0; i < WRITERS; i++) {
        pids[i] = child_begin();
        if (pids[i] == 0) {
            close(stop[1]);
            write_updates(i);
            child_end();
        }
    }
    CHECK(ts_open(&t, path) == 0); /* a reader that follows all the time */
    for (int i = 0; i < WRITERS; i++) {
        CHECK(child_ok(pids[i]));
        CHECK(store_follow(t.s) == 0 && head_of(&t) == sum_of(&t));
    }
    close(stop[1]);
    CHECK(child_ok(compactor));
    CHECK(store_follow(t.s) == 0 && sum_of(&t) == WRITERS * UPDATES &&
          head_of(&t) == WRITERS * UPDATES);
    CHECK(ts_is_replay(&t));
    ts_close(&t);
}

/* ---- killed ---- */

#define KILLED 4
#define PER_ROUND 400 /* more than a writer survives to write */

/* A writer's report of each acknowledged record. */
struct ack {
    uint64_t n;
    uint32_t writer, i;
};

static void
write_until_killed(uint32_t writer, int fd)
{
    struct tstore t;
    bool unknown;
    if (ts_open(&t, path) != 0)
        return;
    for (uint32_t i = 0; i < PER_ROUND; i++) {
        struct ack acks[3];
        int rc, batch = 1 + (int)(i % 3);
        while ((rc = store_lock_wait(t.s)) == ERR_BUSY)
            continue;
        if (rc != 0)
            return;
        for (int k = 0; k < batch; k++) {
            char key[32], body[64];
            acks[k] = (struct ack){store_next_n(t.s), writer, i};
            snprintf(key, sizeof key, "task/%u", (writer + i) % KEYS);
            snprintf(body, sizeof body, "\"w\":%u,\"i\":%u", writer, i);
            if (store_stage(t.s, str_of(key), str_of(body)) != 0)
                return;
        }
        if (store_commit(t.s, &unknown) != 0)
            return;
        store_unlock(t.s);
        size_t len = (size_t)batch * sizeof *acks;
        if (write(fd, acks, len) != (ssize_t)len)
            return;
        if (writer == 0 && i % 8 == 7 && ts_compact(&t) != 0)
            return;
    }
}

/* Returns whether a reported record is there unchanged. */
static bool
is_there(struct tstore *t, const struct ack *ack)
{
    char body[64];
    struct arena a = {0};
    struct store_rec r;
    snprintf(body, sizeof body, "\"w\":%u,\"i\":%u", ack->writer, ack->i);
    bool ok = store_read_n(t->s, ack->n, &a, &r) == 0 && str_is(r.body, body);
    arena_fini(&a);
    return ok;
}

static bool
kill_round(unsigned seed)
{
    pid_t pids[KILLED];
    struct store_report rep;
    struct tstore t;
    int fd[2], status;
    bool ok = true;
    if (pipe(fd) != 0)
        abort();
    for (uint32_t i = 0; i < KILLED; i++) {
        pids[i] = child_begin();
        if (pids[i] == 0) {
            close(fd[0]);
            write_until_killed(i, fd[1]);
            _exit(9); /* an error: the parent counts the children that were not
                         killed */
        }
    }
    /* Kills after some acknowledgements and a short spin. */
    struct ack first[8], ack;
    for (unsigned i = 0; i <= seed % 8; i++)
        ok &= read(fd[0], &first[i], sizeof *first) == sizeof *first;
    for (volatile unsigned spin = 0; spin < seed * 7919 % 100000; spin++)
        continue;
    for (int i = 0; i < KILLED; i++)
        kill(pids[i], SIGKILL);
    for (int i = 0; i < KILLED; i++)
        ok &= waitpid(pids[i], &status, 0) == pids[i] && WIFSIGNALED(status);
    close(fd[1]);
    if (ts_open(&t, path) != 0)
        return false;
    for (unsigned i = 0; i <= seed % 8; i++)
        ok &= is_there(&t, &first[i]);
    while (read(fd[0], &ack, sizeof ack) == sizeof ack)
        ok &= is_there(&t, &ack);
    ok &= ts_put(&t, "task/after", "\"v\":1") == 0 && ts_is_replay(&t);
    ts_close(&t);
    close(fd[0]);
    ok &= store_verify(path, &rep, NULL) == 0 && !rep.damaged &&
          !rep.torn;
    return ok;
}

static void
test_killed_writers(unsigned rounds)
{
    fresh();
    for (unsigned i = 0; i < rounds; i++) {
        if (!CHECK(kill_round(i + (unsigned)getpid())))
            fprintf(stderr, "    round %u of pid %d\n", i, (int)getpid());
        if (i % 4 == 3)
            fresh(); /* so that creating the log is contended too */
    }
}

int
main(int argc, char **argv)
{
    long rounds = argc > 1 ? strtol(argv[1], NULL, 10) : 0;
    test_run();
    test_killed_writers(rounds > 0 ? (unsigned)rounds : 100);
    free(path);
    return test_end("t_store_procs");
}
