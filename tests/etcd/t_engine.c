/* t_engine - the order of several hosts' batches, against two fake members of a
   cluster with one map. Each story is played once for each of its requests,
   which is lost, doubled or late in turn. */

#include "tests/lib/engine_rig.h"
#include "store/remote.h"
#include "tests/lib/told.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/utsname.h>

/* ---- the story, with faults ---- */

/* Two hosts commit in turn, one of them restarts, a snapshot is made and the
   batches before it are swept, a third host comes. */
static void
play(struct host h[3])
{
    commit(&h[0], "k/a", 2);
    commit(&h[1], "k/b", 1);
    commit(&h[0], "k/a", 1);
    restart(&h[1], false);
    commit(&h[1], "k/b", 3);
    commit(&h[0], "k/a", 1);
    CHECK(pull(&h[1]) == 0);
    compact(&h[0]);
    tend(&h[0], 5000);
    commit(&h[1], "k/b", 1);
    tend(&h[0], SWEPT_MS);
    commit(&h[2], "k/c", 1);
    for (int i = 0; i < 3; i++)
        CHECK(pull(&h[i]) == 0);
}

/* Returns how many requests it took. */
static uint64_t
play_with(enum gateway_fault kind, int code, const char *text, uint64_t at)
{
    char *own = test_tmpdir();
    struct host h[3];
    uint64_t requests;

    setup();
    for (int i = 0; i < 3; i++) {
        char name[8] = {(char)('a' + i)};

        h[i] = host_new(own, name);
        engine_open(&h[i]);
    }
    gateway_plan(g[0], at, kind, code, text);
    play(h);
    CHECK(equal(&h[0], &h[1]) && equal(&h[0], &h[2]));
    CHECK(count(&h[0], "k/a") == 4 && count(&h[0], "k/b") == 5 &&
          count(&h[0], "k/c") == 1 && h[0].at.n == 10);
    for (int i = 0; i < 3; i++) {
        CHECK(h[i].asides == 0);
        host_free(&h[i]);
    }
    requests = g[0]->requests;
    teardown();
    free(own);
    return requests;
}

TEST(faults)
{
    static const struct {
        enum gateway_fault kind;
        int code;
        const char *text;
    } cases[] = {
        {GATEWAY_LOSE, 0, NULL},
        {GATEWAY_LOSE_ANSWER, 0, NULL},
        {GATEWAY_TWICE, 0, NULL},
        {GATEWAY_HOLD, 0, NULL},
        {GATEWAY_HOLD_ANSWER, 0, NULL},
        {GATEWAY_ERROR, 14, "etcdserver: request timed out"},
        {GATEWAY_ERROR_AFTER, 14, "etcdserver: request timed out"},
        {GATEWAY_ERROR, 2, "context deadline exceeded"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        for (uint64_t at = 0, all = 1; at < all; at += TEST_STEP)
            all = play_with(cases[i].kind, cases[i].code, cases[i].text, at);
}

/* Two hosts commit at once, and b goes on, while the answer to a is late or
   lost: one wins, and the other learns what it missed. Returns how many
   requests it took. */
static uint64_t
race_with(enum gateway_fault kind, uint64_t at, int lead, unsigned further)
{
    struct buf of_a = {0}, of_b = {0};
    uint64_t requests;
    int rc_a, rc_b;
    bool a_won, b_won;

    begin();
    commit(&a, "k/a", 1);
    CHECK(pull(&b) == 0);
    requests = g[0]->requests;
    gateway_plan(g[0], at, kind, 14, "etcdserver: request timed out");
    rc_a = begin_commit(&a, "k/a", 1, &of_a);
    rc_b = begin_commit(&b, "k/b", 2, &of_b);
    for (int i = 0; i < lead && rc_a == ERR_PENDING; i++)
        rc_a = step(&a);
    b_won = end_commit(&b, rc_b, &of_b);
    for (unsigned i = 0; i < further; i++)
        commit(&b, "k/b", 1);
    a_won = end_commit(&a, rc_a, &of_a);
    requests = g[0]->requests - requests;
    CHECK(a_won != b_won);
    commit(&a, "k/a", 1);
    CHECK(pull(&b) == 0 && equal(&a, &b));
    CHECK(count(&a, "k/a") == (a_won ? 3 : 2));
    CHECK(count(&b, "k/b") == (b_won ? 2 : 0) + further);
    CHECK(a.asides == 0 && b.asides == 0);
    buf_fini(&of_a);
    buf_fini(&of_b);
    end();
    return requests;
}

TEST(races)
{
    for (size_t i = 0; i < FAULT_KINDS; i++)
        for (uint64_t at = 0, all = 1; at < all; at += TEST_STEP)
            for (int lead = 0; lead < 8; lead++)
                for (unsigned n = 0; n < 3; n++)
                    all = race_with(fault_kinds[i], at, lead, n);
}

/* ---- what a replica may be ---- */

TEST(create)
{
    begin();
    CHECK(pull(&a) == 0 && a.replaced == 1 && a.at.n == 0 && a.at.g == 1);
    CHECK(keys("t/main/") == 3); /* head, meta, key */
    CHECK(pull(&b) == 0 && strcmp(a.at.id, b.at.id) == 0);
    /* The head of another store. */
    commit(&a, "k/a", 1);
    snprintf(a.at.id, sizeof(a.at.id), "00112233445566778899aabbccddeeff");
    restart(&a, true);
    CHECK(pull(&a) == ERR_FORMAT && strstr(a.r->why(a.r->ctx), "id is"));
    /* A newer version has written it. */
    set_key("t/main/meta", "{\"mcptask\":1,\"min\":\"99.0.0\"}");
    restart(&b, true);
    CHECK(pull(&b) == ERR_FORMAT && strstr(b.r->why(b.r->ctx), "99.0.0"));
    end();
}

/* A host that told once what it took, and then takes nothing more. */
static void
pull_told(struct host *h)
{
    static const char of[] = ": record 2 of k/bad came from another host and "
                             "is not JSON";
    uint64_t requests;
    const char *at;

    listen_to(true);
    CHECK(pull(h) == 0);
    listen_to(false);
    at = strstr(told, of);
    CHECK(at != NULL && strstr(at + sizeof(of), "not JSON") == NULL);
    requests = g[0]->requests + g[1]->requests;
    listen_to(true);
    CHECK(pull(h) == 0 && h->news.what == REMOTE_SAME);
    listen_to(false);
    CHECK(told[0] == '\0');
    CHECK(g[0]->requests + g[1]->requests == requests + 1);
    CHECK(equal(&a, h) && h->asides == 0 && h->replaced == 1);
}

/* A record that is not JSON is taken like any other, from a batch and from a
   snapshot: the order of all hosts stays one. */
TEST(not_json)
{
    const char *was = body;
    struct host c;

    begin();
    commit(&a, "k/a", 1);
    CHECK(pull(&b) == 0);
    body = "\"op\":\"cut \\u";
    commit(&a, "k/bad", 2);
    body = was;
    pull_told(&b);
    commit(&b, "k/b", 1);
    CHECK(pull(&a) == 0 && equal(&a, &b) && a.asides == 0 && a.replaced == 1);
    compact(&b);
    tend(&b, SWEPT_MS);
    CHECK(keys("t/main/b/") == 0);
    c = host_new(dir, "c");
    engine_open(&c);
    pull_told(&c);
    commit(&c, "k/c", 1);
    CHECK(pull(&a) == 0 && equal(&a, &c));
    host_free(&c);
    end();
}

/* A log with records does not become a store by itself. */
TEST(no_create)
{
    begin();
    a.at.n = a.at.g = 1;
    snprintf(a.at.id, sizeof(a.at.id), "00112233445566778899aabbccddeeff");
    CHECK(pull(&a) == ERR_FORMAT && keys("t/main/") == 0);
    end();
}

/* What is no base64 is no meta, and is not told as the name of one. */
TEST(no_meta)
{
#define RANGE "{\"response_range\":{\"kvs\":[{\"key\":\"!\"}]}}"
    static const char text[] = "{\"header\":{\"revision\":\"5\"},"
                               "\"responses\":[" RANGE "," RANGE "]}";
    char answer[256];

    begin();
    snprintf(answer, sizeof(answer), "HTTP/1.1 200 OK\r\nContent-Length: %zu"
             "\r\n\r\n%s", sizeof(text) - 1, text);
    gateway_plan(g[0], 0, GATEWAY_SAY, 0, answer);
    CHECK(pull(&a) == ERR_FORMAT);
    CHECK(strcmp(a.r->why(a.r->ctx), "etcd: t/main/meta is not a store's "
                 "meta") == 0);
    end();
}

/* Host h commits n records that etcd loses when it is restored from a backup;
   then a commits. */
static void
lose(struct host *h, unsigned n)
{
    struct remote_at old = h->at;

    commit(h, "k/lost", n);
    drop_key("t/main/b/0000000000000002");
    set_key("t/main/head", old.head);
    commit(&a, "k/a", 1);
}

/* ---- push ---- */

/* Makes a log of this host alone, with a record for each letter. */
static void
write_log(struct host *h, const char *letters)
{
    struct record_header head = {.g = 1};
    struct store_rec r = {.g = 1, .time = STR(TIME),
                          .body = STR("\"op\":\"x\"")};
    struct buf log = {0};
    size_t at;

    snprintf(head.id, sizeof(head.id), "00112233445566778899aabbccddeeff");
    snprintf(h->at.id, sizeof(h->at.id), "%s", head.id);
    record_put_header(&log, &head, 0);
    for (at = log.len; *letters != '\0'; letters++) {
        char key[8] = {'k', '/', *letters};

        r.n++;
        r.b = r.n;
        r.key = str_of(key);
        at = log.len;
        record_put(&log, &r);
        stand_at(h, (struct str){log.p + at, log.len - at - 1});
    }
    h->at.g = 1;
    unlink(h->log);
    CHECK(file_write_new(h->log, h->log, buf_view(&log), true) == 0);
    buf_fini(&log);
}

/* Writes what a host has to its log file. */
static void
write_replica(struct host *h)
{
    struct record_header head = {.g = h->at.g, .replica = true};
    struct buf log = {0};

    snprintf(head.id, sizeof(head.id), "%s", h->at.id);
    record_put_header(&log, &head, 0);
    buf_str(&log, buf_view(&h->lines));
    unlink(h->log);
    CHECK(file_write_new(h->log, h->log, buf_view(&log), true) == 0);
    buf_fini(&log);
}

/* What store_push does. */
static int
push(struct host *h, enum remote_push how)
{
    struct remote_at at;
    int rc;

    for (;;) {
        at = place(h);
        at.push = how;
        rc = finish(h, h->r->pull(h->r->ctx, &at));
        if (rc != 0)
            return rc;
        take_news(h);
        if (h->news.what != REMOTE_BEHIND)
            return 0;
        write_replica(h);
    }
}

static void
drop_all(void)
{
    struct gw_map *m = g[0]->map;

    while (m->n > 0)
        gw_remove(m, 0);
    m->revision++;
}

/* Every request is lost, doubled or late in turn. Returns how many there
   were. */
static uint64_t
push_with(enum gateway_fault kind, uint64_t at)
{
    uint64_t requests;

    begin();
    write_log(&a, "aabac");
    set_key("t/main/s/00112233/000000", "of a push that was killed");
    gateway_plan(g[0], at, kind, 14, "etcdserver: request timed out");
    CHECK(push(&a, REMOTE_PUSH) == 0 && a.replaced == 1 && a.asides == 1);
    requests = g[0]->requests;
    CHECK(count(&a, "k/a") == 3 && a.at.n == 5 && keys("t/main/s/") == 1);
    commit(&b, "k/b", 1);
    commit(&a, "k/a", 1);
    CHECK(pull(&b) == 0 && equal(&a, &b) && b.asides == 0);
    /* Once more, from a copy of the log. */
    write_log(&b, "aabac");
    restart(&b, false);
    CHECK(push(&b, REMOTE_PUSH) == 0 && pull(&b) == 0 && equal(&a, &b));
    /* A log with another history, and one of another store. */
    write_log(&b, "aabacd");
    restart(&b, false);
    CHECK(push(&b, REMOTE_PUSH) == ERR_FORMAT);
    CHECK(strstr(b.r->why(b.r->ctx), "another prefix") != NULL);
    b.at.id[0] = 'f';
    CHECK(push(&b, REMOTE_PUSH) == ERR_FORMAT);
    CHECK(strstr(b.r->why(b.r->ctx), "its id is") != NULL);
    /* A log without records becomes a replica. */
    write_log(&b, "");
    b.at = (struct remote_at){.g = 1};
    CHECK(push(&b, REMOTE_PUSH) == 0 && pull(&b) == 0 && equal(&a, &b));
    end();
    return requests;
}

/* etcd is lost, or restored from a backup, and a replica goes on. */
static uint64_t
continue_with(enum gateway_fault kind, uint64_t at, bool lost)
{
    struct remote_at old;
    struct host c;
    uint64_t before;

    begin();
    c = host_new(dir, "c");
    engine_open(&c);
    commit(&a, "k/a", 1);
    commit(&a, "k/a", 1);
    old = a.at;
    CHECK(pull(&c) == 0);
    commit(&a, "k/a", 2);
    CHECK(pull(&b) == 0);
    if (lost) {
        drop_all();
    } else {
        drop_key("t/main/b/0000000000000003");
        set_key("t/main/head", old.head);
    }
    write_replica(&a);
    restart(&a, true);
    restart(&b, true);
    restart(&c, true);
    before = g[0]->requests;
    gateway_plan(g[0], at, kind, 14, "etcdserver: request timed out");
    CHECK(push(&a, REMOTE_CONTINUE) == 0 && a.replaced == 1);
    before = g[0]->requests - before;
    CHECK(push(&a, REMOTE_CONTINUE) == 0 && a.replaced == 1);
    /* The next process of a knows its newest record only. */
    restart(&a, false);
    CHECK(pull(&a) == 0 && a.replaced == 1);
    /* b has everything and goes on; c takes the snapshot. */
    CHECK(pull(&b) == 0 && b.replaced == 1 && equal(&a, &b));
    CHECK(pull(&c) == 0 && c.replaced == 2 && equal(&a, &c));
    commit(&c, "k/c", 1);
    commit(&b, "k/b", 1);
    CHECK(pull(&a) == 0 && pull(&c) == 0 && a.replaced == 1);
    CHECK(equal(&a, &b) && equal(&a, &c) && a.at.n == 6 && a.asides == 0);
    host_free(&c);
    end();
    return before;
}

TEST(push)
{
    for (size_t i = 0; i < FAULT_KINDS; i++) {
        for (uint64_t at = 0, all = 1; at < all; at += TEST_STEP)
            all = push_with(fault_kinds[i], at);
        for (uint64_t at = 0, all = 1; at < all; at += TEST_STEP)
            all = continue_with(fault_kinds[i], at, at % 2 == 0);
        for (uint64_t at = 0, all = 1; at < all; at += TEST_STEP)
            all = continue_with(fault_kinds[i], at, at % 2 != 0);
    }
}

/* A log of more than one part; another host makes the store meanwhile; the push
   is given up. */
TEST(push_parts)
{
    static char letters[12000];
    uint64_t done, all;

    memset(letters, 'x', sizeof(letters) - 1);
    begin();
    write_log(&a, letters);
    CHECK(push(&a, REMOTE_PUSH) == 0 && keys("t/main/s/") > 1);
    CHECK(a.at.n == sizeof(letters) - 1);
    end();
    begin();
    write_log(&a, letters);
    a.at.push = REMOTE_PUSH;
    CHECK(!a.r->uploads(a.r->ctx, &done, &all));
    CHECK(a.r->pull(a.r->ctx, &a.at) == 0);
    while (!a.r->uploads(a.r->ctx, &done, &all) || done == 0)
        CHECK(step(&a) == ERR_PENDING);
    CHECK(done < all && all > sizeof(letters) * 40 && keys("t/main/s/") > 0);
    commit(&b, "k/b", 1);
    CHECK(finish(&a, 0) == ERR_FORMAT && a.replaced == 0);
    CHECK(keys("t/main/s/") == 0);
    CHECK(strstr(a.r->why(a.r->ctx), "its id is") != NULL);
    end();
    begin();
    write_log(&a, letters);
    a.at.push = REMOTE_PUSH;
    CHECK(a.r->pull(a.r->ctx, &a.at) == 0);
    while (keys("t/main/s/") == 0)
        CHECK(step(&a) == ERR_PENDING);
    a.at.push = REMOTE_FOLLOW;
    CHECK(pull(&a) == ERR_FORMAT);
    CHECK(keys("t/main/s/") == 1);
    tend(&a, 5000);
    CHECK(keys("t/main/") == 1);
    end();
}

/* etcd has gone on from a backup, or the log cannot be read. */
TEST(push_refused)
{
    begin();
    commit(&a, "k/a", 1);
    CHECK(pull(&b) == 0);
    lose(&b, 2);
    write_replica(&b);
    restart(&b, true);
    CHECK(push(&b, REMOTE_CONTINUE) == ERR_FORMAT && b.replaced == 1);
    CHECK(strstr(b.r->why(b.r->ctx), "another prefix") != NULL);
    drop_all();
    unlink(b.log);
    CHECK(push(&b, REMOTE_CONTINUE) == ERR_IO && keys("t/") == 0);
    end();
}

/* ---- etcd has lost something ---- */

/* etcd was restored from a backup that lacks records of b. Since then others
   have committed as many, or not: b sets its log aside, also if it has lost the
   head, or commits before it pulls. */
static void
test_restored(unsigned lost, unsigned since, bool knows, bool commits)
{
    struct buf batch = {0};

    begin();
    commit(&a, "k/a", 1);
    CHECK(pull(&b) == 0);
    lose(&b, lost);
    for (unsigned i = 0; i < since; i++)
        commit(&a, "k/a", 1);
    restart(&b, knows);
    CHECK(!commits || !end_commit(&b, begin_commit(&b, "k/b", 1, &batch),
                                  &batch));
    CHECK(pull(&b) == 0 && b.asides == 1);
    CHECK(count(&b, "k/lost") == 0 && count(&b, "k/b") == 0 && equal(&a, &b));
    buf_fini(&batch);
    end();
}

/* The same, but the host commits before it pulls. */
TEST(rolled_back)
{
    begin();
    commit(&a, "k/a", 1);
    lose(&a, 2);
    CHECK(a.asides == 1 && a.at.n == 2 && count(&a, "k/a") == 2);
    CHECK(pull(&b) == 0 && equal(&a, &b));
    end();
}

/* While a host slept, the batch that it needs next was swept: it gets the
   snapshot, and nothing is set aside. */
TEST(slept)
{
    begin();
    commit(&a, "k/a", 1);
    CHECK(pull(&b) == 0);
    commit(&a, "k/a", 2);
    commit(&a, "k/a", 1);
    compact(&a);
    tend(&a, SWEPT_MS);
    CHECK(keys("t/main/b/") == 0 && keys("t/main/s/") == 1);
    commit(&a, "k/a", 1); /* inside the window that b asks for, which is at 1 */
    commit(&b, "k/b", 1);
    CHECK(b.asides == 0 && b.replaced == 2 && b.at.n == 6);
    CHECK(pull(&a) == 0 && equal(&a, &b));
    end();
}

/* Changes the value of the newest key that begins so, or drops the key. */
static void
spoil(const char *prefix, const char *from)
{
    struct gw_map *m = g[0]->map;
    char key[128] = "", value[1024] = "", *at;

    for (size_t i = 0; i < m->n; i++)
        if (str_starts(m->kv[i].key, prefix)) {
            snprintf(key, sizeof(key), "%.*s", STR_ARG(m->kv[i].key));
            snprintf(value, sizeof(value), "%.*s",
                     STR_ARG(gw_value(m, key)));
        }
    at = from != NULL ? strstr(value, from) : NULL;
    if (from == NULL) {
        drop_key(key);
    } else if (CHECK(at != NULL)) {
        at += strlen(from);
        *at = *at == '0' ? '1' : '0';
        set_key(key, value);
    }
}

/* etcd's snapshot or a batch behind it is damaged or gone. A new host is told
   what to do, and that helps. A host that was behind sets its log aside only if
   the batches say that it is of another history. */
static void
test_repaired(const char *prefix, const char *from, const char *says,
              struct host *by, unsigned asides)
{
    struct host c;

    begin();
    c = host_new(dir, "c");
    engine_open(&c);
    commit(&a, "k/a", 2);
    CHECK(pull(&b) == 0);
    compact(&a);
    tend(&a, 5000);
    commit(&a, "k/a", 1);
    spoil(prefix, from);
    for (int i = 0; i < 2; i++)
        CHECK(pull(&c) == ERR_FORMAT && c.replaced <= 1 &&
              strstr(c.r->why(c.r->ctx), says) != NULL);
    CHECK(strstr(c.r->why(c.r->ctx), "push --continue\" on a host") != NULL);
    restart(by, true);
    write_replica(by);
    CHECK(push(by, REMOTE_CONTINUE) == 0 && keys("t/main/s/") == 1);
    CHECK(pull(&c) == 0 && equal(&a, &c));
    CHECK(pull(&b) == 0 && equal(&a, &b) && b.asides == asides);
    commit(&b, "k/b", 1);
    CHECK(pull(&a) == 0 && equal(&a, &b) && a.replaced == 1);
    host_free(&c);
    end();
}

/* etcd's head is damaged, or none: a host that is behind says so. */
static void
test_head(const char *from, const char *says)
{
    begin();
    commit(&a, "k/a", 1);
    CHECK(pull(&b) == 0);
    commit(&a, "k/a", 1);
    if (from[0] != '\0')
        spoil("t/main/head", from);
    else
        set_key("t/main/head", "x");
    CHECK(pull(&b) == ERR_FORMAT);
    CHECK(strstr(b.r->why(b.r->ctx), says) != NULL);
    end();
}

/* The store goes on from a host that lacks batches: what is left of them in
   etcd, beyond the head, is nobody's. */
TEST(beyond)
{
    begin();
    commit(&a, "k/a", 1);
    commit(&b, "k/b", 1);
    commit(&a, "k/a", 1);
    commit(&a, "k/a", 1);
    drop_key("t/main/head");
    drop_key("t/main/meta");
    write_replica(&b);
    restart(&b, true);
    CHECK(push(&b, REMOTE_CONTINUE) == 0 && keys("t/main/b/") == 4);
    commit(&b, "k/b", 1);
    restart(&a, true);
    CHECK(pull(&a) == 0 && equal(&a, &b) && a.asides == 1);
    end();
}

/* If two hosts make a snapshot at once, one wins, and only its parts stay. */
TEST(rivals)
{
    for (int lead = 0; lead < 40; lead++) {
        struct host c;
        int i;

        begin();
        commit(&a, "k/a", 1);
        CHECK(pull(&b) == 0);
        compact(&a);
        compact(&b);
        for (i = 0; i < lead; i++)
            step(&a);
        tend(&b, 5000);
        tend(&a, 5000);
        CHECK(keys("t/main/s/") == 1);
        c = host_new(dir, "c");
        engine_open(&c);
        CHECK(pull(&c) == 0 && equal(&a, &c));
        host_free(&c);
        end();
    }
}

/* Nor does the winner delete the parts of the next one. */
static void
test_next_rival(int lead, int then)
{
    struct host c;

    begin();
    commit(&a, "k/a", 1);
    compact(&a);
    commit(&b, "k/b", 1000);
    compact(&b);
    for (int i = 0; i < lead; i++)
        step(&a);
    for (int i = 0; i < then; i++)
        step(&b);
    tend(&a, 5000);
    tend(&b, 5000);
    CHECK(keys("t/main/s/") == 1);
    c = host_new(dir, "c");
    engine_open(&c);
    CHECK(pull(&c) == 0 && equal(&b, &c));
    host_free(&c);
    end();
}

/* Many batches come in windows that grow; a window may be more than etcd
   sends. */
TEST(windows)
{
    uint64_t before;

    begin();
    for (int i = 0; i < 300; i++)
        commit(&a, "k/a", 1);
    before = g[0]->requests;
    gateway_plan(g[0], 5, GATEWAY_ERROR, 8,
                 "grpc: received message larger than max");
    CHECK(pull(&b) == 0 && equal(&a, &b));
    CHECK(g[0]->fault[0].at == 0 && g[0]->requests - before < 16);
    end();
}

/* The process of another host is alive while its lease is, also for one that
   has a lease itself. */
static void
test_instances(bool both)
{
    uint64_t n = REMOTE_INSTANCES + 7;

    begin();
    CHECK(pull(&a) == 0 && pull(&b) == 0);
    a.r->instance(a.r->ctx, n);
    if (both)
        b.r->instance(b.r->ctx, n + 1);
    CHECK(b.r->alive(b.r->ctx, n)); /* in doubt */
    CHECK(!b.r->alive(b.r->ctx, 5));
    tend(&a, 1000);
    CHECK(keys("t/main/i/") == 1);
    for (int i = 0; i < 10; i++) {
        tend(&a, 6000);
        tend(&b, 6000);
        CHECK(b.r->alive(b.r->ctx, n));
    }
    for (int i = 0; i < 8; i++) {
        tend(&b, 6000);
        b.r->alive(b.r->ctx, n);
    }
    CHECK(!b.r->alive(b.r->ctx, n));
    end();
}

/* A file that the store does not take, since its log is another one by then,
   does not stay. */
TEST(file_not_taken)
{
    char path[256];

    begin();
    commit(&a, "k/a", 1);
    CHECK(finish(&b, b.r->pull(b.r->ctx, &b.at)) == 0);
    CHECK(b.news.what == REMOTE_REPLACE);
    snprintf(path, sizeof(path), "%s", b.news.path);
    CHECK(access(path, F_OK) == 0);
    CHECK(pull(&b) == 0 && equal(&a, &b) && b.replaced == 1);
    CHECK(finish(&b, b.r->pull(b.r->ctx, &(struct remote_at){.g = 0})) == 0);
    CHECK(b.news.what == REMOTE_REPLACE && access(path, F_OK) == 0);
    restart(&b, true);
    CHECK(access(path, F_OK) != 0);
    end();
}

/* Makes an empty file that was last written this long ago. */
static void
make_old(const char *path, time_t seconds)
{
    struct timespec at = {.tv_sec = clock_wall_ms() / 1000 - seconds};
    int fd = open(path, O_WRONLY | O_CREAT, 0600);

    CHECK(fd >= 0 && futimens(fd, (struct timespec[]){at, at}) == 0);
    close(fd);
}

/* What killed processes left is removed, once nobody can be writing to it. */
TEST(files_left)
{
    static const struct {
        const char *name;
        time_t age;
        bool stays;
    } cases[] = {{"replica-1", 4000, false}, {"replica-2", 3000, true},
                 {"replica", 4000, true},    {"broken-1", 4000, true}};
    char path[4][320];

    begin();
    commit(&a, "k/a", 1);
    for (size_t i = 0; i < 4; i++) {
        snprintf(path[i], sizeof(path[i]), "%s.%s", b.log, cases[i].name);
        make_old(path[i], cases[i].age);
    }
    CHECK(pull(&b) == 0 && equal(&a, &b));
    for (size_t i = 0; i < 4; i++)
        CHECK((access(path[i], F_OK) == 0) == cases[i].stays);
    end();
}

/* A host whose clock is far ahead is named, once. */
TEST(clock_ahead_is_told)
{
    char want[128];
    struct utsname u;

    begin();
    CHECK(uname(&u) == 0);
    snprintf(want, sizeof(want), "record 2, by host %.64s, is ", u.nodename);
    commit(&a, "k/a", 1);
    CHECK(pull(&b) == 0);
    commit_time = "2999-01-01T00:00:00.000Z";
    for (int i = 0; i < 2; i++) {
        commit(&a, "k/a", 1);
        listen_to(true);
        CHECK(pull(&b) == 0 && equal(&a, &b));
        listen_to(false);
        CHECK((strstr(told, want) != NULL) == (i == 0));
    }
    commit_time = TIME;
    commit(&a, "k/a", 1);
    CHECK(pull(&b) == 0);
    end();
}

TEST(url)
{
    static const char *const bad[] = {
        "", "http://127.0.0.1:1/x", "etcd://127.0.0.1:1",
        "etcd://127.0.0.1:1/", "etcd://127.0.0.1:1/a/", "etcd:///x",
        "etcd://127.0.0.1/x", "etcd://host:1/x", "etcd://127.0.0.1:1/a b",
        "etcd://127.0.0.1:1/x?reads=some", "etcd://127.0.0.1:1/x?other=1",
        "etcd://127.0.0.1:1/x?patience=1", "etcd://127.0.0.1:1/x?shared=2",
        "etcd://127.0.0.1:1/x?artifacts=/x", "etcd://127.0.0.1:1/x/s",
        "etcd://127.0.0.1:1/x/s/main"};
    const struct remote *r;
    struct etcd_url u;
    char why[256];

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        CHECK(remote_new(&r, str_of(bad[i]), STR(""), "log", why) ==
              ERR_INVALID);
        CHECK(why[0] != '\0');
    }
    CHECK(etcd_url_read(STR("etcd://127.0.0.1:1,[::1]:2/a/bc?reads=local"
                            "&shared=1&patience=700&artifacts=9"),
                        &u, why) == 0);
    CHECK(u.local_reads && u.shared && u.patience_ms == 700 &&
          u.artifacts_mib == 9);
    CHECK(str_is(u.endpoints, "127.0.0.1:1,[::1]:2"));
    CHECK(strcmp(u.prefix, "a/bc") == 0);
    CHECK(etcd_url_read(STR("etcd://127.0.0.1:1/a\0b"), &u, why) ==
          ERR_INVALID);
}

int
main(void)
{
    test_in_memory();
    test_run();
    for (unsigned lost = 1; lost < 4; lost++)
        for (unsigned since = 0; since < 3; since++) {
            test_restored(lost, since, true, false);
            test_restored(lost, since, true, true);
            test_restored(lost, since, false, false);
        }
    test_repaired("t/main/s/", "\"k\":\"", "the snapshot at t/main", &a, 0);
    test_repaired("t/main/s/", NULL, "snapshot at t/main is damaged", &b, 0);
    test_repaired("t/main/b/", NULL, "after record 2 at t/main are", &a, 0);
    test_repaired("t/main/b/", "", "after record 2 at t/main are", &a, 0);
    test_repaired("t/main/b/", "\"k\":\"", "after record 2 at t/main", &a, 0);
    test_repaired("t/main/b/", "\"p\":\"", "after record 2 at t/main", &a, 1);
    test_head("", "t/main/head is not a store's head");
    test_head(" 2 ", "batches after record");
    for (int lead = 0; lead < 30; lead++)
        for (int then = 0; then < 30; then++)
            test_next_rival(lead, then);
    test_instances(false);
    test_instances(true);
    return test_end("t_engine");
}
