/* t_engine_tend - what the engine does between operations, and the options that
   a store's URL gives it. */

#include "tests/lib/engine_rig.h"
#include "store/remote.h"
#include "tests/lib/faults.h"

/* Frequent snapshots, of one host or of two, do not delay the sweep of what
   came before the first of them. */
static void
test_sweep_often(bool two)
{
    int i;

    begin();
    for (i = 0; i < 10 && (i == 0 || keys("t/main/b/0000000000000001") > 0);
         i++) {
        struct host *h = two && i % 2 == 1 ? &b : &a;

        commit(h, "k/a", 1000);
        compact(h);
        tend(h, 5000);
        CHECK(keys("t/main/s/") > 0);
        ahead_ms += 4 * 60000;
        tend(&a, 5000);
        tend(&b, 5000);
    }
    CHECK(i < 10);
    CHECK(keys("t/main/b/") > 0); /* after a younger one */
    for (i = 0; i < 10 && keys("t/main/b/") > 0; i++) {
        tend(&a, SWEPT_MS);
        tend(&b, SWEPT_MS);
    }
    CHECK(i < 10);
    CHECK(pull(&a) == 0 && pull(&b) == 0 && equal(&a, &b));
    end();
}

/* Nor does it matter that no process lives until a snapshot is old. */
TEST(sweep_by_many)
{
    uint64_t done, all;
    size_t n = 0, most = 0;
    bool oldest = true;

    begin();
    for (int i = 0; i < 30; i++) {
        buf_reset(&a.lines, 0); /* the newest 1,000 are all that counts */
        commit(&a, "k/a", 1000);
        compact(&a);
        tend(&a, 5000);
        ahead_ms += 4 * 60000;
        restart(&a, true);
        CHECK(pull(&a) == 0);
        for (int k = 0; k < 1000 && a.r->uploads(a.r->ctx, &done, &all); k++)
            step(&a);
        n = keys("t/main/b/");
        most = n > most ? n : most;
        oldest = oldest && keys("t/main/b/0000000000000001") > 0;
    }
    CHECK(!oldest && most < 20); /* how far each process gets is up to chance */
    CHECK(pull(&b) == 0 && b.at.n == a.at.n);
    end();
}

/* A host whose clock is ahead drops nothing too early. */
TEST(sweep_by_a_wrong_clock)
{
    begin();
    commit(&a, "k/a", 1);
    compact(&a);
    tend(&a, 5000);
    wall_ahead_s = 3600;
    g[0]->date_ms = g[1]->date_ms = -3600 * 1000;
    CHECK(pull(&b) == 0);
    tend(&b, 5000);
    CHECK(keys("t/main/b/") == 1);
    wall_ahead_s = 0;
    end();
}

/* A host still drops what the last snapshot covers if etcd has no room for the
   next one. */
TEST(sweep_without_room)
{
    begin();
    commit(&a, "k/a", 1000);
    compact(&a);
    tend(&a, 5000);
    commit(&a, "k/a", 1000);
    ahead_ms += SWEPT_MS;
    compact(&a);
    CHECK(keys("t/main/s/") == 1 && keys("t/main/b/") == 2);
    gateway_plan(g[0], 1, GATEWAY_ERROR, 8,
                 "etcdserver: mvcc: database space exceeded");
    for (int i = 0; i < 1000 && keys("t/main/s/") == 1 &&
                    keys("t/main/b/") == 2; i++)
        step(&a);
    CHECK(keys("t/main/s/") == 1 && keys("t/main/b/") == 1);
    end();
}

/* patience= limits an operation, even if no endpoint answers. */
static void
test_patience(int64_t ms)
{
    struct host h;
    int64_t ahead, began;

    begin();
    snprintf(url + strlen(url), sizeof(url) - strlen(url), "?patience=%lld",
             (long long)ms);
    h = host_new(dir, "h");
    engine_open(&h);
    CHECK(pull(&h) == 0);
    gateway_down(g[0]);
    gateway_down(g[1]);
    ahead = ahead_ms;
    began = clock_mono_ms();
    CHECK(pull(&h) == ERR_UNREACHABLE);
    CHECK(clock_mono_ms() - began >= ms && ahead_ms - ahead <= ms);
    host_free(&h);
    end();
}

/* shared=1 keeps the revisions of an etcd that others use, too. */
static void
test_shared(bool shared)
{
    struct host h;

    begin();
    if (shared)
        snprintf(url + strlen(url), sizeof(url) - strlen(url), "?shared=1");
    h = host_new(dir, "h");
    engine_open(&h);
    commit(&h, "k/a", 1);
    compact(&h);
    for (int i = 0; i < 10 && keys("t/main/b/") > 0; i++)
        tend(&h, SWEPT_MS);
    tend(&h, 5000);
    CHECK(keys("t/main/b/") == 0);
    CHECK((g[0]->map->compacted == 0) == shared);
    host_free(&h);
    end();
}

/* While the store in etcd cannot be used, nothing wakes the process. */
TEST(rests)
{
    int64_t due;
    bool write;

    begin();
    CHECK(pull(&a) == 0);
    drop_key("t/main/head");
    CHECK(pull(&a) == ERR_FORMAT);
    CHECK(a.r->step(a.r->ctx, &a.news) == ERR_PENDING);
    CHECK(a.r->watch(a.r->ctx, &write, &due) < 0);
    CHECK(due > clock_mono_ms());
    end();
}

/* Each answer says by how much the clock of its endpoint is ahead of this
   host's, beginning with the first one. */
TEST(clocks)
{
    const int64_t hour = 3600 * 1000;

    begin();
    g[0]->date_ms = hour;
    CHECK(pull(&a) == 0 && a.news.skew_ms > hour / 2);
    gateway_down(g[0]);
    CHECK(pull(&a) == 0 && llabs(a.news.skew_ms) < 5000);
    g[1]->date_ms = -hour;
    CHECK(pull(&a) == 0 && a.news.skew_ms < -hour / 2);
    g[1]->date_ms = 0; /* one of them is set */
    CHECK(pull(&a) == 0 && llabs(a.news.skew_ms) < 5000);
    end();
}

/* After the first endpoint was away, it is used again. */
TEST(return)
{
    uint64_t before;
    int64_t us;

    begin();
    CHECK(strcmp(a.r->member(a.r->ctx, &us), g[0]->endpoint) == 0 && us == 0);
    commit(&a, "k/a", 1);
    CHECK(g[1]->requests == 0);
    gateway_down(g[0]);
    commit(&a, "k/a", 1);
    CHECK(strcmp(a.r->member(a.r->ctx, &us), g[1]->endpoint) == 0 && us > 0);
    gateway_up(g[0]);
    ahead_ms += 60000;
    before = g[1]->requests;
    commit(&a, "k/a", 1);
    CHECK(g[1]->requests == before);
    CHECK(pull(&b) == 0 && pull(&a) == 0 && equal(&a, &b));
    end();
}

/* What member i says of itself. */
static bool
is_found(unsigned i, int rc, const char *what)
{
    int begun = a.r->examine(a.r->ctx, i);
    bool good = CHECK((begun == 0 ? finish(&a, 0) : begun) == rc) &&
                CHECK(strstr(a.r->why(a.r->ctx), what) != NULL);

    if (!good)
        printf("%s\n", a.r->why(a.r->ctx));
    return good;
}

TEST(examine)
{
    static const struct {
        const char *version;
        int rc;
    } cases[] = {{"3.3.25", ERR_VERSION}, {"2.3.8", ERR_VERSION},
                 {"3.4.0", 0}, {"3.5.0", ERR_VERSION}, {"3.5.2", ERR_VERSION},
                 {"3.5.3", 0}, {"3.5.16", 0}, {"3.6.0-rc.1", 0}, {"4.0.0", 0}};

    begin();
    CHECK(pull(&a) == 0);
    is_found(0, 0, ": etcd 3.4.23, answers in ");
    is_found(1, 0, g[1]->endpoint);
    CHECK(a.r->examine(a.r->ctx, 2) == ERR_NOT_FOUND);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        g[1]->version = cases[i].version;
        is_found(1, cases[i].rc, cases[i].rc != 0 ? "3.4 or newer"
                                                  : "answers in");
    }
    g[1]->date_ms = 3600 * 1000;
    is_found(1, ERR_SKEW, "ahead of this host's; correct the wrong clock");
    is_found(0, 0, "answers in");
    g[1]->date_ms = 0;
    gateway_plan(g[1], 1, GATEWAY_ERROR, 14, "etcdserver: no leader");
    is_found(1, ERR_UNREACHABLE, "no leader");
    gateway_down(g[1]);
    is_found(1, ERR_UNREACHABLE, "refused");
    commit(&a, "k/a", 1);
    end();
}

/* Nodes that were set up apart are healthy, each in a cluster of its own. */
TEST(apart)
{
    const char *other = "1 0123456789abcdef 0 00000000000000000000000000000000 "
                        "00000000";

    begin();
    CHECK(pull(&a) == 0);
    commit(&a, "k/a", 1);
    is_found(1, 0, "answers in");
    g[1]->map = &g[1]->own;
    is_found(1, ERR_FORMAT, ": in another cluster than 127.0.0.1:");
    gw_set(g[1]->map, STR("t/main/head"), str_of(other), 0, 2);
    is_found(1, ERR_FORMAT, "another cluster");
    is_found(0, 0, "answers in");
    g[1]->map = g[0]->map;
    is_found(1, 0, "answers in");
    end();
}

/* What to do about etcd's quota stands in the error. */
TEST(full)
{
    begin();
    CHECK(pull(&a) == 0);
    gateway_plan(g[0], 0, GATEWAY_ERROR, 8,
                 "etcdserver: mvcc: database space exceeded");
    CHECK(finish(&a, a.r->commit(a.r->ctx, &a.at, STR("\n"), 1, 1, 0)) ==
          ERR_FULL);
    CHECK(strstr(a.r->why(a.r->ctx), "space exceeded; ") != NULL);
    CHECK(strstr(a.r->why(a.r->ctx), "alarm disarm") != NULL);
    end();
}

/* Many processes that died at once are all known to be dead in the end. */
TEST(many_dead)
{
    begin();
    CHECK(pull(&a) == 0);
    for (int round = 0; round < 3; round++) {
        for (uint64_t i = 0; i < 100; i++)
            CHECK(a.r->alive(a.r->ctx, REMOTE_INSTANCES + i) == (round < 2));
        tend(&a, round == 0 ? 1000 : 12000);
    }
    end();
}

/* b looks for the process n of another host for some time, and sees it at last
   as alive or not, and as gone or not. */
static void
looks(uint64_t n, int64_t for_ms, bool alive, bool gone)
{
    for (int64_t end = clock_mono_ms() + for_ms; clock_mono_ms() < end;) {
        b.r->alive(b.r->ctx, n);
        tend(&b, 5000);
    }
    CHECK(b.r->alive(b.r->ctx, n) == alive);
    CHECK(b.r->gone(b.r->ctx, n) == gone);
}

/* A host that is cut off is missing when its lease has ended, 15 s later, and
   gone a minute after that. If it comes back before, the minute starts anew. */
TEST(cut_off)
{
    uint64_t n = REMOTE_INSTANCES + 7;

    begin();
    CHECK(pull(&a) == 0 && pull(&b) == 0);
    a.r->instance(a.r->ctx, n);
    tend(&a, 1000);
    looks(n, 10000, true, false);
    looks(n, 50000, false, false);
    tend(&a, 10000);
    looks(n, 5000, true, false);
    looks(n, 60000, false, false);
    looks(n, 30000, false, true);
    tend(&a, 10000);
    looks(n, 5000, true, false);
    end();
}

/* A lease that ends before its key is there is asked for anew. */
TEST(late_lease)
{
    struct gw_map *m;

    begin();
    m = g[0]->map;
    CHECK(pull(&a) == 0);
    a.r->instance(a.r->ctx, REMOTE_INSTANCES);
    for (int i = 0; i < 1000 && m->leases == 0; i++)
        step(&a);
    CHECK(m->leases == 1 && keys("t/main/i/") == 0);
    gw_lease_end(m, &m->lease[0]);
    tend(&a, 12000);
    CHECK(m->leases == 1 && keys("t/main/i/") == 1);
    end();
}

/* No member answers for most of a lease's time: it is renewed right after, and
   not with the next renewal that would be due. */
TEST(late_renewal)
{
    int64_t began;

    begin();
    CHECK(pull(&a) == 0);
    a.r->instance(a.r->ctx, REMOTE_INSTANCES + 7);
    tend(&a, 1000);
    CHECK(keys("t/main/i/") == 1);
    began = clock_mono_ms();
    gateway_down(g[0]);
    gateway_down(g[1]);
    tend(&a, 13200);
    gateway_up(g[0]);
    gateway_up(g[1]);
    tend(&a, 1500);
    CHECK(clock_mono_ms() - began < 15000);
    ahead_ms += began + 16000 - clock_mono_ms();
    gateway_step(g[0]);
    CHECK(keys("t/main/i/") == 1);
    end();
}

/* The memory for a request runs out: what an operation wants fails, and what
   nobody waits for is asked a while later. */
TEST(no_memory)
{
    static char big[300000];
    int64_t due = 0;
    bool write;
    int rc, i;

    begin();
    CHECK(pull(&a) == 0);
    a.r->instance(a.r->ctx, REMOTE_INSTANCES + 7);
    memset(big, 'x', sizeof(big) - 1);
    big[sizeof(big) - 1] = '\n';
    CHECK(a.r->step(a.r->ctx, &a.news) == ERR_PENDING); /* asks for a lease */
    CHECK(a.r->commit(a.r->ctx, &a.at, (struct str){big, sizeof(big)}, 1, 1,
                      0) == 0);
    for (rc = ERR_PENDING, i = 0; rc == ERR_PENDING && i < 1000; i++) {
        gateway_step(g[0]);
        nomem_start(0, false);
        rc = a.r->step(a.r->ctx, &a.news);
        CHECK(nomem_stop() || rc == ERR_PENDING);
    }
    CHECK(rc == ERR_NOMEM);
    nomem_start(0, false);
    for (i = 0; i < 10 && due <= clock_mono_ms(); i++) {
        CHECK(a.r->step(a.r->ctx, &a.news) == ERR_PENDING);
        a.r->watch(a.r->ctx, &write, &due);
    }
    nomem_stop();
    CHECK(due > clock_mono_ms());
    commit(&a, "k/a", 1);
    tend(&a, 10000);
    CHECK(keys("t/main/i/") == 1);
    end();
}

/* A step of everybody, where a has memory for *n more allocations. */
static int
step_with(long *n)
{
    int rc;

    nomem_after = *n;
    rc = a.r->step(a.r->ctx, &a.news);
    *n = nomem_after;
    nomem_after = LONG_MAX;
    members_step(&a, rc);
    return rc;
}

/* Memory runs out while a batch is committed, or while etcd says that it was:
   an error means that it is not, unless it says that nobody knows. */
static void
test_no_memory_to_commit(enum gateway_fault kind)
{
    struct buf batch = {0};
    long left;
    int rc;

    for (long n = 0; n == 0 || nomem_hit; n++) {
        begin();
        CHECK(pull(&a) == 0);
        gateway_plan(g[0], 0, kind, 0, NULL);
        nomem_start(LONG_MAX, true);
        rc = begin_commit(&a, "k/a", 3000, &batch);
        left = n;
        for (int i = 0; rc == ERR_PENDING && i < 10000; i++)
            rc = step_with(&left);
        CHECK(rc == 0 || rc == ERR_NOMEM || rc == ERR_UNKNOWN);
        CHECK(rc == ERR_UNKNOWN || keys("t/main/b/") == (rc == 0));
        end();
    }
    buf_fini(&batch);
}

/* If nothing answers at first, it is asked again soon: others would count the
   process as dead. */
TEST(first_lease)
{
    begin();
    CHECK(pull(&a) == 0);
    gateway_down(g[0]);
    gateway_down(g[1]);
    a.r->instance(a.r->ctx, REMOTE_INSTANCES);
    tend(&a, 1500);
    gateway_up(g[0]);
    gateway_up(g[1]);
    tend(&a, 2500);
    CHECK(keys("t/main/i/") == 1);
    end();
}

/* A snapshot whose meta does not say which batches it covers is taken, and they
   are dropped in the end. */
TEST(covers_unknown)
{
    struct str meta;
    char text[1024], *from, *to;

    begin();
    commit(&a, "k/a", 1);
    compact(&a);
    tend(&a, 5000);
    meta = gw_value(g[0]->map, "t/main/meta");
    snprintf(text, sizeof(text), "%.*s", STR_ARG(meta));
    from = strstr(text, "\"upto\":");
    to = from != NULL ? strchr(from, ',') + 1 : NULL;
    if (CHECK(to != NULL)) {
        memmove(from, to, strlen(to) + 1);
        set_key("t/main/meta", text);
        CHECK(pull(&b) == 0 && equal(&a, &b));
        restart(&a, true);
        CHECK(pull(&a) == 0);
        for (int i = 0; i < 4; i++)
            tend(&a, SWEPT_MS);
        CHECK(keys("t/main/b/") == 0);
    }
    end();
}

/* A store that is compacted before its first change stays usable. */
TEST(empty_snapshot)
{
    char text[1024], bad[1100], *at;
    struct str meta;

    begin();
    CHECK(pull(&a) == 0);
    compact(&a);
    tend(&a, 5000);
    CHECK(keys("t/main/s/") > 0);
    restart(&a, true);
    if (CHECK(pull(&a) == 0 && pull(&b) == 0)) {
        commit(&b, "k/b", 1);
        CHECK(pull(&a) == 0 && equal(&a, &b));
    }
    meta = gw_value(g[0]->map, "t/main/meta");
    snprintf(text, sizeof(text), "%.*s", STR_ARG(meta));
    at = strstr(text, "\"upto\":0");
    if (CHECK(at != NULL)) {
        snprintf(bad, sizeof(bad), "%.*s\"upto\":-1%s", (int)(at - text), text,
                 at + strlen("\"upto\":0"));
        set_key("t/main/meta", bad);
        restart(&b, true);
        CHECK(pull(&b) == ERR_FORMAT);
    }
    end();
}

int
main(void)
{
    test_run();
    test_sweep_often(false);
    test_sweep_often(true);
    test_patience(700);
    test_patience(20000);
    test_shared(false);
    test_shared(true);
    test_no_memory_to_commit(GATEWAY_TWICE);
    test_no_memory_to_commit(GATEWAY_LOSE_ANSWER);
    return test_end("t_engine_tend");
}
