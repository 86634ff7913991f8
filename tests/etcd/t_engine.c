/* t_engine - the order of several hosts' batches, against two fake members of a
   cluster before one map. A host here is what the store is to the engine: a log
   and where it stands. Each story is played again and again, with another one
   of its requests lost, doubled or late each time. */

#include "base/clock.h"
#include "base/file.h"
#include "etcd/remote.h"
#include "store/record.h"
#include "tests/lib/clock.h"
#include "tests/lib/gateway.h"
#include "tests/lib/test.h"
#include "tests/lib/tmpdir.h"

#include <sys/stat.h>

#define TIME "2026-07-28T09:30:00.000Z"
#define SWEPT_MS (11 * 60000)

static struct gateway *g[2];
static char url[128];

/* ---- hosts ---- */

struct host {
    const struct remote *r;
    struct remote_at at;
    struct remote_news news;
    char log[300];
    struct buf lines;   /* of the log, behind its header */
    unsigned wins, asides, replaced;
};

static void
setup(void)
{
    g[0] = gateway_new(NULL);
    g[1] = gateway_new(g[0]->map);
    snprintf(url, sizeof(url), "etcd://%s,%s/t/main", g[0]->endpoint,
             g[1]->endpoint);
}

static void
teardown(void)
{
    gateway_free(g[1]);
    gateway_free(g[0]);
}

static void
engine_open(struct host *h)
{
    char why[256];

    CHECK(remote_new(&h->r, str_of(url), STR(""), h->log, why) == 0);
}

static struct host
host_new(const char *dir, const char *name)
{
    struct host h = {.at.g = 0};

    snprintf(h.log, sizeof(h.log), "%s/%s", dir, name);
    return h;
}

static void
host_free(struct host *h)
{
    remote_free(h->r);
    buf_fini(&h->lines);
}

/* The process ends; the next one has lost the head, or reads it. */
static void
restart(struct host *h, bool knows)
{
    remote_free(h->r);
    engine_open(h);
    if (!knows)
        h->at.head[0] = '\0';
}

/* One step of everybody. Where the client waits for time, or for an answer that
   is held, the clock goes on. */
static int
step(struct host *h)
{
    int rc = h->r->step(h->r->ctx, &h->news);
    int64_t due;
    bool write;
    int fd = h->r->watch(h->r->ctx, &write, &due);
    struct pollfd p = {.fd = fd, .events = write ? POLLOUT : POLLIN};

    gateway_step(g[0]);
    gateway_step(g[1]);
    if (rc == ERR_MORE && due > clock_mono_ms() && due < INT64_MAX &&
        (fd < 0 || ((g[0]->held[0].used || g[1]->held[0].used) &&
                    poll(&p, 1, 0) == 0)))
        clock_ahead_ms += due - clock_mono_ms();
    return rc;
}

static int
finish(struct host *h, int rc)
{
    while (rc == 0 && (rc = step(h)) == ERR_MORE)
        rc = 0;
    /* What was late takes effect now. */
    while (gateway_release(g[0], false) || gateway_release(g[1], false))
        ;
    return rc;
}

/* Between operations, until nothing is due for a while. What only waits for a
   ring, the clock goes on for. */
static void
tend(struct host *h, int64_t for_ms)
{
    int64_t end = clock_mono_ms() + for_ms, due;
    bool write, quiet;
    int rc;

    for (;;) {
        struct pollfd p = {.events = POLLIN};

        p.fd = h->r->watch(h->r->ctx, &write, &due);
        quiet = p.fd < 0 || (!write && poll(&p, 1, 1) == 0);
        if (quiet && due > end)
            break;
        if (quiet && due > clock_mono_ms())
            clock_ahead_ms += due - clock_mono_ms();
        rc = step(h);
        CHECK(rc == ERR_MORE || (rc == 0 && h->news.what == REMOTE_SAME));
    }
}

/* ---- what a store does ---- */

static void
stand_at(struct host *h, struct str line)
{
    struct store_rec r;

    CHECK(record_parse(line, &r) == 0);
    h->at.n = r.n;
    h->at.b = r.b;
    h->at.sum = record_sum(line);
}

static void
take_lines(struct host *h, struct str lines)
{
    struct store_rec r;

    while (lines.len > 0) {
        struct str line = str_cut(&lines, '\n');

        CHECK(record_parse(line, &r) == 0 && r.n == h->at.n + 1);
        stand_at(h, line);
        buf_str(&h->lines, line);
        buf_char(&h->lines, '\n');
    }
}

static void
take_file(struct host *h)
{
    static char text[1 << 21];
    struct record_header head;
    struct str rest = {text, 0}, line;

    CHECK(rename(h->news.path, h->log) == 0);
    file_read_text(h->log, text, sizeof(text));
    rest.len = strlen(text);
    line = str_cut(&rest, '\n');
    CHECK(record_parse_header(line, &head) == 0 && head.replica);
    CHECK(head.g == h->at.g + 1);
    h->asides += h->news.aside != NULL;
    h->replaced++;
    h->at = (struct remote_at){.g = head.g};
    snprintf(h->at.id, sizeof(h->at.id), "%s", head.id);
    buf_reset(&h->lines, 0);
    buf_str(&h->lines, rest);
    while (rest.len > 0)
        stand_at(h, str_cut(&rest, '\n'));
}

static void
take_news(struct host *h)
{
    if (h->news.what == REMOTE_REPLACE)
        take_file(h);
    else if (h->news.what == REMOTE_BEHIND)
        take_lines(h, h->news.lines);
    snprintf(h->at.head, sizeof(h->at.head), "%s", h->news.head);
}

static int
pull(struct host *h)
{
    int rc;

    do {
        rc = finish(h, h->r->pull(h->r->ctx, &h->at));
        if (rc == 0)
            take_news(h);
    } while (rc == 0 && h->news.what != REMOTE_SAME);
    return rc;
}

/* Commits a batch of records of this key, until it has won. */
static void
commit(struct host *h, const char *key, unsigned records)
{
    for (bool won = false; !won;) {
        struct store_rec r = {.key = str_of(key), .time = STR(TIME),
                              .body = STR("\"op\":\"x\""), .g = h->at.g};
        struct buf b = {0};
        size_t at = 0;

        CHECK(pull(h) == 0);
        r.b = h->at.n + 1;
        for (unsigned i = 0; i < records; i++) {
            at = b.len;
            r.n = r.b + i;
            record_put(&b, &r);
        }
        CHECK(finish(h, h->r->commit(
            h->r->ctx, &h->at, buf_view(&b), r.b, r.n,
            record_sum((struct str){b.p + at, b.len - at - 1}))) == 0);
        won = h->news.what == REMOTE_WON;
        if (won)
            take_lines(h, buf_view(&b));
        take_news(h);
        h->wins += won;
        buf_fini(&b);
    }
}

/* Writes the log, as a compaction would, and offers it as a snapshot. */
static void
compact(struct host *h)
{
    struct record_header head = {.g = h->at.g, .replica = true};
    struct buf b = {0};

    snprintf(head.id, sizeof(head.id), "%s", h->at.id);
    record_put_header(&b, &head, 0);
    buf_str(&b, buf_view(&h->lines));
    unlink(h->log);
    CHECK(file_write_new(h->log, h->log, buf_view(&b), true) == 0);
    h->r->compacted(h->r->ctx, h->log, h->at.head, (int64_t)b.len);
    buf_fini(&b);
}

/* Whether two hosts have the same records. */
static bool
equal(const struct host *a, const struct host *b)
{
    struct str x = buf_view(&a->lines), y = buf_view(&b->lines);

    while (x.len > 0 && y.len > 0)
        if (record_sum(str_cut(&x, '\n')) != record_sum(str_cut(&y, '\n')))
            return false;
    return x.len == 0 && y.len == 0 && strcmp(a->at.head, b->at.head) == 0;
}

static size_t
count(const struct host *h, const char *key)
{
    struct str rest = buf_view(&h->lines);
    struct store_rec r;
    size_t n = 0;

    while (rest.len > 0)
        n += record_parse(str_cut(&rest, '\n'), &r) == 0 && str_is(r.key, key);
    return n;
}

/* How many keys begin with the prefix. */
static size_t
keys(const char *prefix)
{
    const struct gw_map *m = g[0]->map;
    size_t n = 0;

    for (size_t i = 0; i < m->n; i++)
        n += str_starts(m->kv[i].key, prefix);
    return n;
}

static void
set_key(const char *key, const char *value)
{
    struct gw_map *m = g[0]->map;

    gw_set(m, str_of(key), str_of(value), 0, ++m->revision);
}

static void
drop_key(const char *key)
{
    struct gw_map *m = g[0]->map;

    CHECK(gw_find(m, str_of(key)) != NULL);
    gw_remove(m, gw_place(m, str_of(key)));
    m->revision++;
}

/* ---- the story, with faults ---- */

/* Two hosts commit in turn, one of them starts anew, a snapshot is made and
   swept behind, a third host comes. */
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
    char *dir = test_tmpdir();
    struct host h[3];
    uint64_t requests;

    setup();
    for (int i = 0; i < 3; i++) {
        char name[8] = {(char)('a' + i)};

        h[i] = host_new(dir, name);
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
    free(dir);
    return requests;
}

static void
test_faults(void)
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

/* ---- what a replica can be ---- */

static char *dir;
static struct host a, b;

static void
begin(void)
{
    setup();
    dir = test_tmpdir();
    a = host_new(dir, "a");
    b = host_new(dir, "b");
    engine_open(&a);
    engine_open(&b);
}

static void
end(void)
{
    host_free(&a);
    host_free(&b);
    teardown();
    free(dir);
}

static void
test_create(void)
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

/* A log with records does not become a store by itself. */
static void
test_no_create(void)
{
    begin();
    a.at.n = a.at.g = 1;
    snprintf(a.at.id, sizeof(a.at.id), "00112233445566778899aabbccddeeff");
    CHECK(pull(&a) == ERR_FORMAT && keys("t/main/") == 0);
    end();
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

/* What store_push does. */
static int
push(struct host *h, enum remote_push how)
{
    int rc;

    h->at.push = how;
    rc = finish(h, h->r->pull(h->r->ctx, &h->at));
    h->at.push = REMOTE_FOLLOW;
    if (rc == 0)
        take_news(h);
    return rc;
}

/* Writes what a host has as its log. */
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
    /* The same again, from a copy of the log. */
    write_log(&b, "aabac");
    restart(&b, false);
    CHECK(push(&b, REMOTE_PUSH) == 0 && pull(&b) == 0 && equal(&a, &b));
    /* Another history; and another store. */
    write_log(&b, "aabacd");
    restart(&b, false);
    CHECK(push(&b, REMOTE_PUSH) == ERR_FORMAT);
    CHECK(strstr(b.r->why(b.r->ctx), "another prefix") != NULL);
    b.at.id[0] = 'f';
    CHECK(push(&b, REMOTE_PUSH) == ERR_FORMAT);
    CHECK(strstr(b.r->why(b.r->ctx), "its id is") != NULL);
    /* One without records becomes a replica. */
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
    gateway_plan(g[0], before + at, kind, 14, "etcdserver: request timed out");
    CHECK(push(&a, REMOTE_CONTINUE) == 0 && a.replaced == 1);
    before = g[0]->requests - before;
    CHECK(push(&a, REMOTE_CONTINUE) == 0 && a.replaced == 1);
    /* The one that has all goes on; the other one takes the snapshot. */
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

static void
test_push(void)
{
    static const enum gateway_fault kinds[] = {
        GATEWAY_LOSE, GATEWAY_LOSE_ANSWER, GATEWAY_TWICE, GATEWAY_HOLD,
        GATEWAY_HOLD_ANSWER, GATEWAY_ERROR, GATEWAY_ERROR_AFTER};

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        for (uint64_t at = 0, all = 1; at < all; at += TEST_STEP)
            all = push_with(kinds[i], at);
        for (uint64_t at = 0, all = 1; at < all; at += TEST_STEP)
            all = continue_with(kinds[i], at, at % 2 == 0);
        for (uint64_t at = 0, all = 1; at < all; at += TEST_STEP)
            all = continue_with(kinds[i], at, at % 2 != 0);
    }
}

/* A log of more than one part; others make the store meanwhile; and the push is
   given up. */
static void
test_push_parts(void)
{
    static char letters[12000];

    memset(letters, 'x', sizeof(letters) - 1);
    begin();
    write_log(&a, letters);
    CHECK(push(&a, REMOTE_PUSH) == 0 && keys("t/main/s/") > 1);
    CHECK(a.at.n == sizeof(letters) - 1);
    end();
    begin();
    write_log(&a, letters);
    a.at.push = REMOTE_PUSH;
    CHECK(a.r->pull(a.r->ctx, &a.at) == 0);
    while (keys("t/main/s/") == 0)
        CHECK(step(&a) == ERR_MORE);
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
        CHECK(step(&a) == ERR_MORE);
    a.at.push = REMOTE_FOLLOW;
    CHECK(pull(&a) == ERR_FORMAT);
    CHECK(keys("t/main/s/") == 1);
    tend(&a, 5000);
    CHECK(keys("t/main/") == 1);
    end();
}

/* etcd has gone on from a backup; and the log cannot be read. */
static void
test_push_refused(void)
{
    struct remote_at old;

    begin();
    commit(&a, "k/a", 1);
    CHECK(pull(&b) == 0);
    old = b.at;
    commit(&b, "k/lost", 2);
    drop_key("t/main/b/0000000000000002");
    set_key("t/main/head", old.head);
    commit(&a, "k/a", 1);
    write_replica(&b);
    restart(&b, true);
    CHECK(push(&b, REMOTE_CONTINUE) == ERR_FORMAT && b.replaced == 1);
    CHECK(strstr(b.r->why(b.r->ctx), "another prefix") != NULL);
    drop_all();
    unlink(b.log);
    CHECK(push(&b, REMOTE_CONTINUE) == ERR_IO && keys("t/") == 0);
    end();
}

/* ---- etcd loses something ---- */

/* etcd was restored from a backup and has passed the number of a host since:
   its next batch follows another one. */
static void
test_restored(void)
{
    struct remote_at old;

    begin();
    commit(&a, "k/a", 1);
    CHECK(pull(&b) == 0);
    old = b.at;
    commit(&b, "k/lost", 1);
    /* What b committed is gone, and a goes on. */
    drop_key("t/main/b/0000000000000002");
    set_key("t/main/head", old.head);
    commit(&a, "k/a", 1);
    commit(&a, "k/a", 1);
    CHECK(pull(&b) == 0 && b.asides == 1);
    CHECK(count(&b, "k/lost") == 0 && equal(&a, &b));
    end();
}

/* The same, and the host commits before it looks. */
static void
test_rolled_back(void)
{
    struct remote_at old;

    begin();
    commit(&a, "k/a", 1);
    old = a.at;
    commit(&a, "k/lost", 2);
    drop_key("t/main/b/0000000000000002");
    set_key("t/main/head", old.head);
    commit(&a, "k/a", 1);
    CHECK(a.asides == 1 && a.at.n == 2 && count(&a, "k/a") == 2);
    CHECK(pull(&b) == 0 && equal(&a, &b));
    end();
}

/* Its next batch was dropped while a host slept: it gets the snapshot, and
   nothing is kept aside. */
static void
test_slept(void)
{
    begin();
    commit(&a, "k/a", 1);
    CHECK(pull(&b) == 0);
    commit(&a, "k/a", 2);
    commit(&a, "k/a", 1);
    compact(&a);
    tend(&a, SWEPT_MS);
    CHECK(keys("t/main/b/") == 0 && keys("t/main/s/") == 1);
    commit(&a, "k/a", 1); /* within the window of b, which is at 1 */
    commit(&b, "k/b", 1);
    CHECK(b.asides == 0 && b.replaced == 2 && b.at.n == 6);
    CHECK(pull(&a) == 0 && equal(&a, &b));
    end();
}

/* Snapshots that come often, of one host or of two, do not put off the sweep
   behind the first of them. */
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
        clock_ahead_ms += 4 * 60000;
        tend(&a, 5000);
        tend(&b, 5000);
    }
    CHECK(i < 10);
    CHECK(keys("t/main/b/") > 0); /* behind a younger one */
    for (i = 0; i < 10 && keys("t/main/b/") > 0; i++) {
        tend(&a, SWEPT_MS);
        tend(&b, SWEPT_MS);
    }
    CHECK(i < 10);
    CHECK(pull(&a) == 0 && pull(&b) == 0 && equal(&a, &b));
    end();
}

/* Of two who make a snapshot at once, one wins, and its parts stay. */
static void
test_rivals(void)
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

/* Many batches come in windows that grow. */
static void
test_windows(void)
{
    uint64_t before;

    begin();
    for (int i = 0; i < 300; i++)
        commit(&a, "k/a", 1);
    before = g[0]->requests;
    CHECK(pull(&b) == 0 && equal(&a, &b));
    CHECK(g[0]->requests - before < 12);
    end();
}

/* The process of another host is alive while its lease is. */
static void
test_instances(void)
{
    uint64_t n;

    begin();
    CHECK(pull(&a) == 0 && pull(&b) == 0);
    n = a.r->instance(a.r->ctx);
    CHECK(n > REMOTE_INSTANCES && n == a.r->instance(a.r->ctx));
    CHECK(b.r->alive(b.r->ctx, n)); /* in doubt */
    CHECK(!b.r->alive(b.r->ctx, 5));
    tend(&a, 1000);
    CHECK(keys("t/main/i/") == 1);
    for (int i = 0; i < 10; i++) {
        tend(&a, 6000);
        tend(&b, 6000);
        CHECK(b.r->alive(b.r->ctx, n));
    }
    clock_ahead_ms += 30000;
    gateway_step(g[0]);
    for (int i = 0; i < 3; i++)
        tend(&b, 6000);
    b.r->alive(b.r->ctx, n);
    tend(&b, 12000);
    CHECK(!b.r->alive(b.r->ctx, n));
    end();
}

/* patience=: so long an operation may take, whoever answers nothing. */
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
    ahead = clock_ahead_ms;
    began = clock_mono_ms();
    CHECK(pull(&h) == ERR_UNREACHABLE);
    CHECK(clock_mono_ms() - began >= ms && clock_ahead_ms - ahead <= ms);
    host_free(&h);
    end();
}

/* shared=1: others need the revisions of this etcd. */
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

static void
test_url(void)
{
    static const char *const bad[] = {
        "", "http://127.0.0.1:1/x", "etcd://127.0.0.1:1",
        "etcd://127.0.0.1:1/", "etcd://127.0.0.1:1/a/", "etcd:///x",
        "etcd://127.0.0.1/x", "etcd://host:1/x", "etcd://127.0.0.1:1/a b",
        "etcd://127.0.0.1:1/x?reads=some", "etcd://127.0.0.1:1/x?other=1",
        "etcd://127.0.0.1:1/x?patience=1", "etcd://127.0.0.1:1/x?shared=2"};
    const struct remote *r;
    struct etcd_url u;
    char why[256];

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        CHECK(remote_new(&r, str_of(bad[i]), STR(""), "log", why) ==
              ERR_INVALID);
        CHECK(why[0] != '\0');
    }
    CHECK(etcd_url_read(STR("etcd://127.0.0.1:1,[::1]:2/a/b?reads=local"
                            "&shared=1&patience=700"), &u, why) == 0);
    CHECK(u.local_reads && u.shared && u.patience_ms == 700);
    CHECK(str_is(u.endpoints, "127.0.0.1:1,[::1]:2"));
    CHECK(strcmp(u.prefix, "a/b") == 0);
}

int
main(void)
{
    test_in_memory();
    test_url();
    test_create();
    test_no_create();
    test_windows();
    test_push();
    test_push_parts();
    test_push_refused();
    test_restored();
    test_rolled_back();
    test_slept();
    test_sweep_often(false);
    test_sweep_often(true);
    test_rivals();
    test_instances();
    test_patience(700);
    test_patience(20000);
    test_shared(false);
    test_shared(true);
    test_faults();
    return test_end("t_engine");
}
