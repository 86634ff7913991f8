#ifndef TEST_ENGINE_RIG_H
#define TEST_ENGINE_RIG_H

/* Hosts of a store in etcd, before two fake members of a cluster with one map.
   A host here is what the engine needs of a store: a log and its position. */

#include "base/clock.h"
#include "base/file.h"
#include "etcd/remote.h"
#include "store/record.h"
#include "store/remote.h"
#include "tests/lib/faults.h"
#include "tests/lib/gateway.h"
#include "tests/lib/test.h"
#include "tests/lib/tmpdir.h"

#include <sys/stat.h>

#define TIME "2026-07-28T09:30:00.000Z"
#define SWEPT_MS (11 * 60000)

/* What becomes of a request, in turn. */
static const enum gateway_fault fault_kinds[] = {
    GATEWAY_LOSE, GATEWAY_LOSE_ANSWER, GATEWAY_TWICE, GATEWAY_HOLD,
    GATEWAY_HOLD_ANSWER, GATEWAY_ERROR, GATEWAY_ERROR_AFTER};
#define FAULT_KINDS (sizeof(fault_kinds) / sizeof(fault_kinds[0]))

static struct gateway *g[2];
static char url[128];
static const char *body = "\"op\":\"x\""; /* of the records committed */

/* ---- hosts ---- */

struct host {
    const struct remote *r;
    struct remote_at at;
    struct remote_news news;
    char log[300];
    struct buf lines;   /* of the log, behind its header */
    unsigned wins, asides, replaced;
};

static inline void
setup(void)
{
    g[0] = gateway_new(NULL);
    g[1] = gateway_new(g[0]->map);
    snprintf(url, sizeof(url), "etcd://%s,%s/t/main", g[0]->endpoint,
             g[1]->endpoint);
}

static inline void
teardown(void)
{
    gateway_free(g[1]);
    gateway_free(g[0]);
}

static inline void
engine_open(struct host *h)
{
    char why[256];

    CHECK(remote_new(&h->r, str_of(url), STR(""), h->log, why) == 0);
}

static inline struct host
host_new(const char *dir, const char *name)
{
    struct host h = {.at.g = 0};

    snprintf(h.log, sizeof(h.log), "%s/%s", dir, name);
    return h;
}

static inline void
host_free(struct host *h)
{
    remote_free(h->r);
    buf_fini(&h->lines);
}

/* Ends the process of a host and begins the next, which has lost the head or
   reads it. */
static inline void
restart(struct host *h, bool knows)
{
    remote_free(h->r);
    engine_open(h);
    if (!knows)
        h->at.head[0] = '\0';
}

/* Whether fd gets ready for nothing that the members do now. */
static inline bool
waits(struct pollfd p)
{
    for (int i = 0; i < 50; i++) {
        if (poll(&p, 1, 0) != 0)
            return false;
        gateway_step(g[0]);
        gateway_step(g[1]);
    }
    return true;
}

/* A step of the members, after one of h that returned rc. If the client waits
   for time, or for an answer that is held, the clock advances. */
static inline void
members_step(struct host *h, int rc)
{
    int64_t due;
    bool write;
    int fd = h->r->watch(h->r->ctx, &write, &due);
    struct pollfd p = {.fd = fd, .events = write ? POLLOUT : POLLIN};

    gateway_step(g[0]);
    gateway_step(g[1]);
    if (rc == ERR_PENDING && due > clock_mono_ms() && due < INT64_MAX &&
        (fd < 0 || ((g[0]->held[0].used || g[1]->held[0].used) &&
                    waits(p))))
        ahead_ms += due - clock_mono_ms();
}

/* One step of everybody. */
static inline int
step(struct host *h)
{
    int rc = h->r->step(h->r->ctx, &h->news);

    members_step(h, rc);
    return rc;
}

static inline int
finish(struct host *h, int rc)
{
    while (rc == 0 && (rc = step(h)) == ERR_PENDING)
        rc = 0;
    /* Held requests take effect now. */
    while (gateway_release(g[0], false) || gateway_release(g[1], false))
        ;
    return rc;
}

/* Steps between operations until nothing is due for a while; the clock advances
   while the host only waits for the time. */
static inline void
tend(struct host *h, int64_t for_ms)
{
    int64_t end = clock_mono_ms() + for_ms, due;
    bool write, quiet;

    for (;;) {
        struct pollfd p = {.events = POLLIN};

        p.fd = h->r->watch(h->r->ctx, &write, &due);
        quiet = p.fd < 0 || (!write && waits(p));
        if (quiet && due > end)
            break;
        if (quiet && due > clock_mono_ms())
            ahead_ms += due - clock_mono_ms();
        CHECK(h->r->step(h->r->ctx, &h->news) == ERR_PENDING);
        gateway_step(g[0]);
        gateway_step(g[1]);
    }
}

/* ---- what a store does ---- */

static inline void
stand_at(struct host *h, struct str line)
{
    struct store_rec r;

    CHECK(record_parse(line, &r) == 0);
    h->at.n = r.n;
    h->at.b = r.b;
    h->at.sum = record_sum(line);
}

static inline void
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

static inline void
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

static inline void
take_news(struct host *h)
{
    if (h->news.what == REMOTE_REPLACE)
        take_file(h);
    else if (h->news.what == REMOTE_BEHIND)
        take_lines(h, h->news.lines);
    snprintf(h->at.head, sizeof(h->at.head), "%s", h->news.head);
}

/* What a store says of its log: where it knows the head's text, no more. */
static inline struct remote_at
place(const struct host *h)
{
    struct remote_at at = h->at;

    if (at.head[0] != '\0')
        at.b = at.sum = 0;
    return at;
}

static inline int
pull(struct host *h)
{
    struct remote_at at;
    int rc;

    do {
        at = place(h);
        rc = finish(h, h->r->pull(h->r->ctx, &at));
        if (rc == 0)
            take_news(h);
    } while (rc == 0 && h->news.what != REMOTE_SAME);
    return rc;
}

static const char *commit_time = TIME;

/* Begins to commit a batch of records of this key, written into b. Returns
   ERR_PENDING, or an error. */
static inline int
begin_commit(struct host *h, const char *key, unsigned records, struct buf *b)
{
    struct store_rec r = {.key = str_of(key), .g = h->at.g,
                          .time = str_of(commit_time), .body = str_of(body)};
    size_t at = 0;
    int rc;

    buf_reset(b, 0);
    r.b = h->at.n + 1;
    for (unsigned i = 0; i < records; i++) {
        at = b->len;
        r.n = r.b + i;
        record_put(b, &r);
    }
    rc = h->r->commit(h->r->ctx, &h->at, buf_view(b), r.b, r.n,
                      record_sum((struct str){b->p + at, b->len - at - 1}));
    return rc == 0 ? ERR_PENDING : rc;
}

/* Ends that commit; rc is what its last step returned. Returns whether it
   won. */
static inline bool
end_commit(struct host *h, int rc, const struct buf *b)
{
    bool won;

    CHECK((rc == ERR_PENDING ? finish(h, 0) : rc) == 0);
    won = h->news.what == REMOTE_WON;
    if (won)
        take_lines(h, buf_view(b));
    take_news(h);
    h->wins += won;
    return won;
}

/* Commits a batch of records of this key, until it has won. */
static inline void
commit(struct host *h, const char *key, unsigned records)
{
    struct buf b = {0};

    do
        CHECK(pull(h) == 0);
    while (!end_commit(h, begin_commit(h, key, records, &b), &b));
    buf_fini(&b);
}

/* Writes the log, as a compaction would, and offers it as a snapshot. */
static inline void
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
static inline bool
equal(const struct host *a, const struct host *b)
{
    struct str x = buf_view(&a->lines), y = buf_view(&b->lines);

    while (x.len > 0 && y.len > 0)
        if (record_sum(str_cut(&x, '\n')) != record_sum(str_cut(&y, '\n')))
            return false;
    return x.len == 0 && y.len == 0 && strcmp(a->at.head, b->at.head) == 0;
}

static inline size_t
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
static inline size_t
keys(const char *prefix)
{
    const struct gw_map *m = g[0]->map;
    size_t n = 0;

    for (size_t i = 0; i < m->n; i++)
        n += str_starts(m->kv[i].key, prefix);
    return n;
}

static inline void
set_key(const char *key, const char *value)
{
    struct gw_map *m = g[0]->map;

    gw_set(m, str_of(key), str_of(value), 0, ++m->revision);
}

static inline void
drop_key(const char *key)
{
    struct gw_map *m = g[0]->map;

    CHECK(gw_find(m, str_of(key)) != NULL);
    gw_remove(m, gw_place(m, str_of(key)));
    m->revision++;
}

static char *dir;
static struct host a, b;

static inline void
begin(void)
{
    setup();
    dir = test_tmpdir();
    a = host_new(dir, "a");
    b = host_new(dir, "b");
    engine_open(&a);
    engine_open(&b);
}

static inline void
end(void)
{
    host_free(&a);
    host_free(&b);
    teardown();
    free(dir);
}

#endif
