#ifndef TEST_STORE_TEST_H
#define TEST_STORE_TEST_H

/* Shared by the tests of the store: two kinds of records whose entries can be
   checked, reading and writing whole files, child processes, and the main
   comparison: memory against a fresh replay. */

#include "store/record.h"
#include "store/state.h"
#include "store/verify.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* An entry that records what was applied: how often, a checksum, and the
   newest. */
struct totals { /* also over all items of a store */
    uint64_t times, sum, newest;
};

struct item {
    struct store_entry e;
    struct totals t;
};

static inline int
item_apply(void *ctx, struct store_entry *e, const struct store_rec *r)
{
    struct item *it = (struct item *)e;
    struct totals *t = ctx;
    uint64_t add = r->n * 31 + str_hash(r->body);
    it->t.times++;
    it->t.sum += add;
    t->times++;
    t->sum += add;
    t->newest += add - it->t.newest;
    it->t.newest = add;
    e->held = str_starts(r->body, "\"keep\"");
    return 0;
}

static inline void
item_undo(void *ctx, struct store_entry *e, struct store_entry *old)
{
    const struct item *now = (struct item *)e, *was = (const void *)old;
    struct totals *t = ctx;
    t->times -= now->t.times - was->t.times;
    t->sum -= now->t.sum - was->t.sum;
    t->newest -= now->t.newest - was->t.newest;
}

static inline bool
item_keep(void *ctx, const struct store_rec *r, bool newest, int64_t now_ms)
{
    (void)ctx;
    (void)now_ms;
    return newest || str_starts(r->body, "\"keep\"");
}

static inline void
item_reset(void *ctx)
{
    memset(ctx, 0, sizeof(struct totals));
}

struct tstore {
    struct store *s;
    struct totals totals;
    struct store_kind kinds[2];
    struct store_options opt;
    char why[256];
};

/* store_open with the kinds above; returns its result. */
static inline int
ts_open_with(struct tstore *t, const struct store_options *o)
{
    memset(t, 0, sizeof *t);
    t->opt = *o;
    t->kinds[0] = (struct store_kind){
        .prefix = "task/", .entry_size = sizeof(struct item),
        .ctx = &t->totals, .apply = item_apply, .undo = item_undo,
        .keep = item_keep, .reset = item_reset};
    t->kinds[1] = (struct store_kind){
        .prefix = "call/", .entry_size = sizeof(struct store_entry)};
    return store_open(&t->s, &t->opt, t->kinds, 2, t->why);
}

static inline int
ts_open(struct tstore *t, const char *path)
{
    return ts_open_with(t, &(struct store_options){
                               .path = path, .closed_max = STORE_CLOSED_MAX});
}

static inline void
ts_close(struct tstore *t)
{
    store_close(t->s);
    t->s = NULL;
}

/* Locks, commits one record and unlocks. */
static inline int
ts_put(struct tstore *t, const char *key, const char *body)
{
    bool unknown;
    int rc = store_lock_patiently(t->s);
    if (rc != 0)
        return rc;
    rc = store_stage(t->s, str_of(key), str_of(body));
    int done = store_commit(t->s, &unknown);
    store_unlock(t->s);
    return rc != 0 ? rc : done;
}

/* The body of the key's newest record, "" if it is missing or unreadable. Valid
   until the next call. */
static inline const char *
ts_get(struct tstore *t, const char *key)
{
    static char body[4096];
    struct arena a = {0};
    struct store_rec r;
    struct store_entry *e = store_find(t->s, str_of(key));
    body[0] = '\0';
    if (e != NULL && store_read(t->s, e, &a, &r) == 0)
        snprintf(body, sizeof body, "%.*s", STR_ARG(r.body));
    arena_fini(&a);
    return body;
}

struct ts_pair {
    struct tstore *a, *b;
    bool all; /* of the same records: compaction dropped nothing */
    bool same;
};

/* Compares two of times, sum, newest. A process from before a compaction keeps
   its memory, and so knows what that dropped. */
static inline bool
ts_same(const struct totals *a, const struct totals *b, bool all)
{
    return a->newest == b->newest &&
           (!all || (a->times == b->times && a->sum == b->sum));
}

static inline int
ts_compare_key(void *ctx, const struct store_rec *r)
{
    struct ts_pair *p = ctx;
    struct store_entry *a = store_find(p->a->s, r->key);
    struct store_entry *b = store_find(p->b->s, r->key);
    struct arena mem = {0};
    struct store_rec was;
    if (a != NULL && store_read(p->a->s, a, &mem, &was) != 0) /* finds it */
        p->same = false;
    arena_fini(&mem);
    if (a == NULL || b == NULL || a->n != b->n || a->off != b->off ||
        a->len != b->len || a->kind != b->kind)
        p->same = false;
    else if (a->kind == 0)
        p->same &= ts_same(&((struct item *)a)->t, &((struct item *)b)->t,
                           p->all);
    return 0;
}

/* Returns whether memory equals a fresh replay of the file. */
static inline bool
ts_is_replay(struct tstore *t)
{
    struct tstore fresh;
    struct store_state a, b;
    struct ts_pair p = {t, &fresh, false, true};
    struct store_options o = {.path = t->opt.path, .readonly = true};
    if (ts_open_with(&fresh, &o) != 0)
        return false;
    a = *store_state(t->s);
    b = *store_state(fresh.s);
    p.all = b.g == 1;
    if (store_scan(fresh.s, 1, ts_compare_key, &p) != 0)
        p.same = false;
    p.same = p.same && a.head == b.head && a.len == b.len && a.g == b.g &&
             a.keys == b.keys && (!p.all || a.superseded == b.superseded) &&
             t->s->live == fresh.s->live && t->s->held >= fresh.s->held &&
             strcmp(a.id, b.id) == 0 &&
             ts_same(&t->totals, &fresh.totals, p.all);
    ts_close(&fresh);
    return p.same;
}

/* Compacts to the end; returns the last result of store_compact. */
static inline int
ts_compact(struct tstore *t)
{
    int rc;
    do
        rc = store_compact(t->s);
    while (rc == ERR_PENDING);
    return rc;
}

/* ---- files ---- */

/* dir/name, on the heap. */
static inline char *
path_in(const char *dir, const char *name)
{
    size_t n = strlen(dir) + strlen(name) + 2;
    char *p = malloc(n);
    if (p == NULL)
        abort();
    snprintf(p, n, "%s/%s", dir, name);
    return p;
}

/* The same in a fresh directory. */
static inline char *
path_fresh(const char *name)
{
    char *dir = test_tmpdir(), *path = path_in(dir, name);
    free(dir);
    return path;
}

/* The log's name with a suffix; the last four results stay valid. */
static inline const char *
path_with(const char *path, const char *ending)
{
    static char names[4][512];
    static int i;
    i = (i + 1) % 4;
    snprintf(names[i], sizeof names[i], "%s%s", path, ending);
    return names[i];
}

/* A whole file, on the heap, NUL-terminated; NULL if it does not exist. */
static inline char *
file_get(const char *path, size_t *len)
{
    int fd = open(path, O_RDONLY);
    struct stat st;
    *len = 0;
    if (fd < 0 || fstat(fd, &st) != 0)
        return NULL;
    char *p = malloc((size_t)st.st_size + 1);
    ssize_t n = p == NULL ? -1 : read(fd, p, (size_t)st.st_size);
    if (n != st.st_size)
        abort();
    close(fd);
    p[n] = '\0';
    *len = (size_t)n;
    return p;
}

/* Writes in place, so the inode stays. */
static inline void
file_put(const char *path, const void *p, size_t len)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (fd < 0 || write(fd, p, len) != (ssize_t)len || close(fd) != 0)
        abort();
}

static inline bool
file_is(const char *path, const void *p, size_t len)
{
    size_t have;
    char *now = file_get(path, &have);
    bool same = now != NULL && have == len && memcmp(now, p, len) == 0;
    free(now);
    return same;
}

/* ---- logs made by hand ---- */

#define TEST_ID "0123456789abcdef0123456789abcdef"
#define TEST_TIME "2026-07-28T09:30:00.000Z"
#define TEST_TIME_MS INT64_C(1785231000000)

static inline void
log_header(struct buf *b, uint64_t g, bool compacted)
{
    struct record_header h = {.g = g, .id = TEST_ID, .compacted = compacted};
    record_put_header(b, &h, TEST_TIME_MS);
}

static inline void
log_record(struct buf *b, uint64_t g, uint64_t n, uint64_t batch, uint64_t p,
           const char *key)
{
    char body[64];
    snprintf(body, sizeof body, "\"v\":{\"made\":%llu}",
             (unsigned long long)n);
    struct store_rec r = {.g = g, .n = n, .b = batch, .p = p,
                          .key = str_of(key), .time = STR(TEST_TIME),
                          .body = str_of(body)};
    record_put(b, &r);
}

/* ---- children ---- */

static inline pid_t
child_begin(void)
{
    fflush(NULL);
    pid_t pid = fork();
    if (pid < 0)
        abort();
    if (pid == 0)
        test_failed = 0;
    return pid;
}

/* Ends a child without running the parent's atexit functions. */
static inline void
child_end(void)
{
    fflush(NULL);
    _exit(test_failed != 0);
}

static inline bool
child_ok(pid_t pid)
{
    int status;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return false;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* ---- logs with many records, and other processes' view of them ---- */

static inline struct store_state
state_of(const struct tstore *t)
{
    struct store_state st;
    st = *store_state(t->s);
    return st;
}

static inline bool
file_exists(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0;
}

/* Returns whether a name in path's directory begins with path and ending. */
static inline bool
has_torn_file(const char *path)
{
    char command[600];
    snprintf(command, sizeof command, "ls '%s'.torn-* >/dev/null 2>&1", path);
    return system(command) == 0;
}

static inline void
flip(const char *path, size_t at, int bit)
{
    size_t len;
    char *p = file_get(path, &len);
    p[at] = (char)(p[at] ^ 1 << bit);
    file_put(path, p, len);
    free(p);
}

/* Writes n records, cycling through k keys, one batch each. */
static inline void
put_many(struct tstore *t, int n, int k)
{
    for (int i = 0; i < n; i++) {
        char key[32], body[64];
        snprintf(key, sizeof key, "task/%d", i % k);
        snprintf(body, sizeof body, "\"v\":%d", i);
        CHECK(ts_put(t, key, body) == 0);
    }
}

/* Opens a log with n records of k keys in a fresh directory. Returns its path,
   for close_log. */
static inline char *
open_log(struct tstore *t, int n, int k)
{
    char *path = path_fresh("tasks.log");
    CHECK(ts_open(t, path) == 0);
    put_many(t, n, k);
    return path;
}

static inline void
close_log(struct tstore *t, char *path)
{
    ts_close(t);
    free(path);
}

/* Runs fn in a child that opens the store now; 0 if its checks hold. */
static inline bool
in_child(const char *path, void (*fn)(struct tstore *t))
{
    pid_t pid = child_begin();
    if (pid == 0) {
        struct tstore t;
        if (CHECK(ts_open(&t, path) == 0)) {
            fn(&t);
            ts_close(&t);
        }
        child_end();
    }
    return child_ok(pid);
}

static inline void
put_from_child(struct tstore *t)
{
    CHECK(ts_put(t, "task/child", "\"v\":\"child\"") == 0);
}

#endif
