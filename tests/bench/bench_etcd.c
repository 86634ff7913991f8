/* bench_etcd - what a store that etcd orders costs, beside a client of the same
   gateway that does nothing else.

   usage: bench_etcd [--quick] [--tasks N] MCPTASK [MEASURE...]

   As in bench, each figure stands beside one measured in the same rounds, and
   none fails the run. Without etcd nothing is measured. N is for bench only.

   1. Three nodes run on one machine, so etcd has its quorum and its syncs, but
      no network.
   2. The raw client commits as mcptask does: one transaction that compares the
      head with the last one and puts a head and a batch of the same length. */

#include "base/base64.h"
#include "base/clock.h"
#include "etcd/client.h"
#include "json.h"
#include "tests/bench/bench_pipe.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NODES 3
#define HOSTS 3
#define WAKES 50
#define TASKS 100
#define BUDGET_MS 20000
#define HEAD_LEN 70 /* of the head's text */

static char endpoints[128]; /* "": no node was started */
static struct rig_child node[NODES];

/* ---- nodes ---- */

/* Starts etcd on ports of its own; it runs until this program ends. */
static void
start_nodes(void)
{
    uint16_t port[2 * NODES];
    char command[1024], cluster[256], *dir;
    const char *const argv[] = {"/bin/sh", "-c", command, NULL};
    size_t n = 0, len = 0;

    for (size_t i = 0; i < 2 * NODES; i++)
        port[i] = rig_free_port();
    for (size_t i = 0; i < NODES; i++) {
        n += (size_t)snprintf(cluster + n, sizeof(cluster) - n,
                              "%sn%zu=http://127.0.0.1:%u", i > 0 ? "," : "", i,
                              (unsigned)port[NODES + i]);
        len += (size_t)snprintf(endpoints + len, sizeof(endpoints) - len,
                                "%s127.0.0.1:%u", i > 0 ? "," : "",
                                (unsigned)port[i]);
    }
    dir = rig_make("etcd");
    for (size_t i = 0; i < NODES; i++) {
        snprintf(command, sizeof(command), "exec etcd --name n%zu --data-dir "
                 "'%s/%zu' --listen-client-urls http://127.0.0.1:%u "
                 "--advertise-client-urls http://127.0.0.1:%u "
                 "--listen-peer-urls http://127.0.0.1:%u "
                 "--initial-advertise-peer-urls http://127.0.0.1:%u "
                 "--initial-cluster %s >/dev/null 2>&1", i, dir, i,
                 (unsigned)port[i], (unsigned)port[i],
                 (unsigned)port[NODES + i],
                 (unsigned)port[NODES + i], cluster);
        rig_serve(&node[i], argv, NULL);
    }
    free(dir);
}

/* Returns whether there is an etcd. The first call starts it. */
static bool
has_etcd(const char *what)
{
    if (endpoints[0] == '\0' && rig_find("etcd") == NULL) {
        printf("%-20s etcd is not installed: left out\n", what);
        return false;
    }
    if (endpoints[0] == '\0')
        start_nodes();
    return true;
}

/* ---- the raw client ---- */

struct raw {
    struct etcd *e;
    struct buf body;
    char key[32];  /* its head */
    uint64_t n;    /* of the last batch */
    size_t len;    /* of a batch */
    struct etcd_answer answer;
};

/* key: of its head; at: the endpoints. */
static void
raw_open_at(struct raw *r, const char *key, struct str at)
{
    struct etcd_options o = {.endpoints = at};
    char why[256];

    memset(r, 0, sizeof(*r));
    snprintf(r->key, sizeof(r->key), "%s", key);
    if (etcd_new(&r->e, &o, why) != 0)
        rig_die("%s", why);
}

static void
raw_open(struct raw *r, const char *key)
{
    raw_open_at(r, key, str_of(endpoints));
}

static void
raw_close(struct raw *r)
{
    etcd_free(r->e);
    buf_fini(&r->body);
}

static void
raw_begin(struct raw *r, const char *path)
{
    if (etcd_begin(r->e, path, buf_view(&r->body), BUDGET_MS) != 0)
        rig_die("no memory");
}

/* Goes on. Returns whether there is an answer. */
static bool
raw_step(struct raw *r)
{
    int rc = etcd_step(r->e, &r->answer);

    if (rc != 0 && rc != ERR_PENDING)
        rig_die("etcd: %s", r->answer.why);
    return rc == 0;
}

static void
raw_ask(struct raw *r, const char *path)
{
    struct pollfd p;
    int64_t due;
    bool write;

    raw_begin(r, path);
    while (!raw_step(r)) {
        p.fd = etcd_watch(r->e, &write, &due);
        p.events = write ? POLLOUT : POLLIN;
        due -= clock_mono_ms();
        poll(&p, 1, due > 0 ? (int)due : 0);
    }
}

/* Puts n bytes in base64 that begin with a name and a number. */
static void
put_text(struct buf *b, const char *key, uint64_t number, size_t n)
{
    char text[8192];

    if (n == 0 || n >= sizeof(text))
        n = (size_t)snprintf(text, sizeof(text), "%s/%016llu", key,
                             (unsigned long long)number);
    else
        memset(text + snprintf(text, sizeof(text), "%016llu",
                               (unsigned long long)number), 'x', n - 16);
    base64_encode(b, (struct str){text, n});
}

static void
put_key(struct raw *r)
{
    buf_z(&r->body, "\"key\":\"");
    base64_encode(&r->body, str_of(r->key));
    buf_z(&r->body, "\"");
}

/* The next commit (2). The first one finds no head. */
static void
put_commit(struct raw *r)
{
    struct buf *b = &r->body;

    buf_reset(b, SIZE_MAX);
    buf_z(b, "{\"compare\":[{");
    put_key(r);
    if (r->n == 0) {
        buf_z(b, ",\"target\":\"CREATE\",\"create_revision\":\"0\"}],");
    } else {
        buf_z(b, ",\"target\":\"VALUE\",\"value\":\"");
        put_text(b, "", r->n, HEAD_LEN);
        buf_z(b, "\"}],");
    }
    buf_z(b, "\"success\":[{\"request_put\":{");
    put_key(r);
    buf_z(b, ",\"value\":\"");
    put_text(b, "", ++r->n, HEAD_LEN);
    buf_z(b, "\"}},{\"request_put\":{\"key\":\"");
    put_text(b, r->key, r->n, 0);
    buf_z(b, "\",\"value\":\"");
    put_text(b, "", r->n, r->len);
    buf_z(b, "\"}}],\"failure\":[{\"request_range\":{");
    put_key(r);
    buf_z(b, "}},{\"request_range\":{\"key\":\"");
    put_text(b, r->key, r->n, 0);
    buf_z(b, "\",\"range_end\":\"");
    put_text(b, r->key, r->n + 16, 0);
    buf_z(b, "\"}}]}");
}

static void
put_range(struct raw *r)
{
    buf_reset(&r->body, SIZE_MAX);
    buf_z(&r->body, "{");
    put_key(r);
    buf_z(&r->body, "}");
}

static void
one_commit(void *ctx)
{
    struct raw *r = ctx;

    put_commit(r);
    raw_ask(r, "/v3/kv/txn");
    if (rig_behind(r->answer.body, "\"succeeded\":true").p == NULL)
        rig_die("a commit of nobody else was lost");
}

static void
one_range(void *ctx)
{
    struct raw *r = ctx;

    put_range(r);
    raw_ask(r, "/v3/kv/range");
}

static double
raw_commits(void *ctx, double seconds)
{
    return rig_rate(one_commit, ctx, seconds);
}

static double
raw_ranges(void *ctx, double seconds)
{
    return rig_rate(one_range, ctx, seconds);
}

/* ---- what is measured ---- */

/* The length of the newest batch of the store with this prefix. */
static size_t
batch_len(const char *prefix)
{
    struct arena a = {0};
    const struct json_tok *root;
    struct str at, value = STR_NONE, text;
    struct raw r;
    char end[48];

    raw_open(&r, "");
    snprintf(r.key, sizeof(r.key), "%s/b/", prefix);
    snprintf(end, sizeof(end), "%s/b0", prefix);
    buf_z(&r.body, "{");
    put_key(&r);
    buf_z(&r.body, ",\"range_end\":\"");
    base64_encode(&r.body, str_of(end));
    buf_z(&r.body, "\"}");
    raw_ask(&r, "/v3/kv/range");
    if (json_parse(&a, r.answer.body, &root, NULL) != 0)
        rig_die("not JSON");
    at = r.answer.body;
    while ((at = rig_behind(at, "\"value\":\"")).p != NULL)
        value = at;
    if (base64_decode(&a, str_cut(&value, '"'), &text) != 0)
        rig_die("no batch");
    arena_fini(&a);
    raw_close(&r);
    return text.len;
}

/* Children from now on use the store of that name. */
static void
use_store(const char *name, const char *options)
{
    char url[256];

    snprintf(url, sizeof(url), "etcd://%s/%s%s", endpoints, name, options);
    setenv("MCP_TASK_STORE", url, 1);
}

/* Starts a server on a store in etcd, of TASKS tasks. */
static void
start_shared(struct server *s, const struct rig_run *run, const char *name,
             const char *options)
{
    char *base = rig_make(name);

    use_store(name, options);
    server_import(run, base, 'a', TASKS, 0);
    server_start(s, run, base, 'a', TASKS);
    unsetenv("MCP_TASK_STORE");
    free(base);
}

/* Starts a server of another host on the same store. */
static void
join_shared(struct server *s, const struct rig_run *run, const char *name,
            const char *host)
{
    char *base = rig_make(host);

    use_store(name, "");
    server_start(s, run, base, 'a', TASKS);
    unsetenv("MCP_TASK_STORE");
    free(base);
}

static void
measure_writes(const struct rig_run *run)
{
    struct server s;
    struct server_load l = {&s, server_put_update};
    struct raw r;
    struct rig_side one = {server_single, &l};

    if (!has_etcd("etcd writes"))
        return;
    start_shared(&s, run, "writes", "");
    server_put_update(&s);
    server_call(&s);
    raw_open(&r, "raw/writes");
    r.len = batch_len("writes");
    printf("%-20s %8zu bytes\n", "etcd batch", r.len);
    rig_race(run, "etcd writes", one, (struct rig_side){raw_commits, &r},
             "of raw transactions", 0.7);
    rig_race(run, "etcd writes, 64", (struct rig_side){server_window, &l}, one,
             "times one", 10);
    raw_close(&r);
    server_stop(&s);
}

static void
measure_reads(const struct rig_run *run)
{
    struct server s;
    struct server_load l = {&s, server_put_get};
    struct raw r;
    struct rig_side one = {server_single, &l};

    if (!has_etcd("etcd reads"))
        return;
    start_shared(&s, run, "reads", "");
    raw_open(&r, "reads/head");
    rig_race(run, "etcd reads", one, (struct rig_side){raw_ranges, &r},
             "of raw ranges", 0.55);
    rig_race(run, "etcd reads, 64", (struct rig_side){server_window, &l}, one,
             "times one", 15);
    raw_close(&r);
    server_stop(&s);
}

/* ---- several hosts ---- */

struct hosts {
    struct server s[HOSTS];
    uint64_t n[HOSTS]; /* writes of each in all rounds */
};

/* Takes an answer of a host, if there is one. */
static bool
host_answered(struct server *s, const struct pollfd *p)
{
    if (!rig_has_line(&s->child) && p->revents == 0)
        return false;
    server_answer(s);
    return true;
}

/* Each writes one after the other, all at the same time. */
static double
hosts_write(void *ctx, double seconds)
{
    struct hosts *h = ctx;
    struct pollfd p[HOSTS] = {{.fd = -1}};
    double from = rig_now();
    uint64_t done = 0;
    size_t busy = HOSTS;

    for (size_t i = 0; i < HOSTS; i++) {
        p[i] = (struct pollfd){.fd = h->s[i].child.out, .events = POLLIN};
        server_put_update(&h->s[i]);
        server_send(&h->s[i]);
    }
    while (busy > 0) {
        poll(p, HOSTS, 10);
        for (size_t i = 0; i < HOSTS; i++) {
            if (p[i].fd < 0 || !host_answered(&h->s[i], &p[i]))
                continue;
            h->n[i]++;
            done++;
            if (rig_now() - from < seconds) {
                server_put_update(&h->s[i]);
                server_send(&h->s[i]);
            } else {
                p[i].fd = -1;
                busy--;
            }
        }
    }
    return (double)done / (rig_now() - from);
}

static void
measure_hosts(const struct rig_run *run)
{
    struct hosts h = {.n = {0}};
    struct server_load l = {&h.s[0], server_put_update};
    uint64_t sum = 0, least = UINT64_MAX;

    if (!has_etcd("etcd hosts"))
        return;
    start_shared(&h.s[0], run, "hosts", "");
    join_shared(&h.s[1], run, "hosts", "hosts-b");
    join_shared(&h.s[2], run, "hosts", "hosts-c");
    rig_race(run, "etcd hosts", (struct rig_side){hosts_write, &h},
             (struct rig_side){server_single, &l}, "of one", 0.6);
    for (size_t i = 0; i < HOSTS; i++) {
        sum += h.n[i];
        least = h.n[i] < least ? h.n[i] : least;
        server_stop(&h.s[i]);
    }
    rig_report("etcd hosts, least", (double)least / (double)sum,
               "of all writes", ">=", 0.1, "of %d hosts", HOSTS);
}

/* A wait on one host, a change on another: from one answer to the other. */
static double
one_wake(struct server *waits, struct server *changes)
{
    double from;

    server_put(waits, CALL("wait_for_task")
               "{" ID ",\"timeout_seconds\":50}", 'a', 0ULL);
    server_put_get(waits); /* answered first: then the other one waits */
    server_call(waits);
    server_put(changes, CALL("update_task")
               "{" ID ",\"title\":\"changed %llu\"}", 'a', 0ULL,
               (unsigned long long)changes->id);
    server_call(changes);
    from = rig_now();
    server_answer(waits);
    return (rig_now() - from) * 1000;
}

static void
measure_wake(const struct rig_run *run)
{
    struct server a, b;
    double ms[WAKES], median;

    if (!has_etcd("etcd wake"))
        return;
    start_shared(&a, run, "wake", "");
    join_shared(&b, run, "wake", "wake-b");
    one_wake(&a, &b);
    for (size_t i = 0; i < WAKES; i++)
        ms[i] = one_wake(&a, &b);
    median = rig_median(ms, WAKES); /* sorts them */
    rig_report("etcd wake", median, "ms", "<=", 75, "p90 %.1f",
               ms[WAKES * 9 / 10]);
    server_stop(&a);
    server_stop(&b);
}

/* Seconds that a new host takes until it has all, or an old one. */
static double
one_list(const struct rig_run *run, const char *base)
{
    const char *const argv[] = {run->mcptask, "list", "--limit", "1", NULL};
    double from = rig_now();
    struct rig_child c;

    rig_start(&c, argv, base);
    rig_line(&c);
    rig_stop(&c);
    return rig_now() - from;
}

static void
measure_cold(const struct rig_run *run)
{
    size_t n = run->quick ? 500 : 5000, rounds = run->quick ? 1 : 5;
    struct server s;
    double rate[5];

    if (!has_etcd("etcd cold start"))
        return;
    start_shared(&s, run, "cold", "");
    for (size_t i = 0; i < n; i++) {
        server_put_update(&s);
        server_call(&s);
    }
    server_stop(&s);
    use_store("cold", "");
    for (size_t i = 0; i < rounds; i++) {
        char name[32], *base;

        snprintf(name, sizeof(name), "cold-%zu", i);
        base = rig_make(name);
        rate[i] = one_list(run, base);
        rate[i] = (double)n / (rate[i] - one_list(run, base));
        free(base);
    }
    unsetenv("MCP_TASK_STORE");
    rig_report("etcd cold start", rig_median(rate, rounds), "batches a second",
               ">=", 8000, "of %zu", n);
}

/* ---- a leader dies ---- */

/* The text of a member in an answer to a request for the status of a node. */
static struct str
member(struct str answer, const char *name)
{
    struct str rest = rig_behind(answer, name);

    if (rest.p == NULL)
        rig_die("etcd has no status");
    return str_cut(&rest, '"');
}

/* The leader. */
static size_t
leader(void)
{
    struct str all = str_of(endpoints), status;
    struct raw r;
    bool leads;
    size_t i;

    for (i = 0; i < NODES; i++) {
        raw_open_at(&r, "", str_cut(&all, ','));
        buf_z(&r.body, "{}");
        raw_ask(&r, "/v3/maintenance/status");
        status = r.answer.body;
        leads = str_eq(member(status, "\"member_id\":\""),
                       member(status, "\"leader\":\""));
        raw_close(&r);
        if (leads)
            return i;
    }
    rig_die("no node leads");
}

/* The last one: the node stays dead. */
static void
measure_leader(const struct rig_run *run)
{
    double from, at, longest = 0;
    struct server s;
    size_t n;

    if (!has_etcd("etcd leader killed"))
        return;
    start_shared(&s, run, "leader", "");
    server_put_update(&s);
    server_call(&s);
    kill(node[leader()].pid, SIGKILL);
    from = rig_now();
    for (n = 0; (at = rig_now()) - from < 5; n++) {
        server_put_update(&s);
        server_call(&s);
        longest = rig_now() - at > longest ? rig_now() - at : longest;
    }
    rig_report("etcd leader killed", longest, "s for the longest write", "<=",
               2.5, "of %zu", n);
    server_stop(&s);
}

static const struct rig_measure measures[] = {
    {"etcd-writes", measure_writes}, {"etcd-reads", measure_reads},
    {"etcd-hosts", measure_hosts},   {"etcd-wake", measure_wake},
    {"etcd-cold", measure_cold},     {"etcd-leader", measure_leader},
    {NULL, NULL},
};

int
main(int argc, char **argv)
{
    return rig_main(argc, argv, measures);
}
