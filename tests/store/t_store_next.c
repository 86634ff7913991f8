/* t_store_next - changing over to a log that another process, perhaps of
   another user, has compacted: memory is kept if that is a compaction of its
   log, nothing is read under the lock, and the observer misses nothing. */

#include "store/state.h"
#include "task/artifact.h"
#include "tests/lib/locks.h"
#include "tests/lib/store_test.h"

#define KEYS 3000
#define FILL 400
#define UNDER_LOCK (128 * 1024) /* bytes that may be read under the lock */

static char *path;
static struct tstore t;     /* the store under observation */
static size_t under_lock;   /* bytes read while it held the lock, */
static size_t all_read;     /* and in all */
static bool fail_writes;
static int compact_first;      /* another compacts so often before it locks */

static void begin(void);
static void end(void);
static void other(int compactions, int updates);
static bool has(const char *key, int v);
static bool state_is_good(const struct tstore *ts);
static void put_keys(struct tstore *ts, int from, int to, int v);
static bool keep_none(void *ctx, const struct store_rec *r, bool newest,
                      int64_t now_ms);
static void calls_are_transient(struct tstore *ts);

/* ---- the lock is not held meanwhile ---- */

static void
test_nothing_is_read_under_the_lock(void)
{
    static const struct {
        int compactions, updates;
    } cases[] = {{1, 0}, {1, 4}, {2, 0}, {2, 4}, {0, 4}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        begin();
        other(cases[i].compactions, cases[i].updates);
        under_lock = 0;
        CHECK(store_lock(t.s) == 0 && under_lock < UNDER_LOCK);
        store_unlock(t.s);
        CHECK(has("task/0", 3) && ts_put(&t, "task/0", "\"v\":5,") == 0);
        CHECK(under_lock < UNDER_LOCK && has("task/0", 5) && ts_is_replay(&t));
        end();
    }
}

/* The log was compacted just before it was locked: the lock is given back, and
   taken again once the new one was read. */
static void
test_compacted_before_the_lock(void)
{
    for (int n = 1; n < 3; n++) {
        begin();
        compact_first = n;
        under_lock = 0;
        CHECK(store_lock(t.s) == 0 && compact_first == 0);
        CHECK(under_lock < UNDER_LOCK);
        CHECK(store_state(t.s)->g == 1 + (uint64_t)n);
        store_unlock(t.s);
        CHECK(has("task/0", 3) && ts_is_replay(&t));
        end();
    }
}

/* Another compacts before each attempt: the log is read under the lock in the
   end. */
static void
test_compacted_before_each_lock(void)
{
    begin();
    compact_first = 100;
    CHECK(store_lock(t.s) == 0 && compact_first > 90);
    compact_first = 0;
    store_unlock(t.s);
    CHECK(has("task/0", 3) && ts_is_replay(&t));
    end();
}

/* ---- memory is that of the new log ---- */

/* Whether memory was kept when the log was compacted: then an entry is not of
   the new generation until it is read. */
static bool
is_kept(void)
{
    return store_find(t.s, STR("task/2999"))->g != t.s->log.g;
}

/* Only what was written since is read, then what is asked for: each record is
   that of a fresh replay. In generation 10 all lines are longer by a digit. */
static void
test_kept(void)
{
    begin();
    for (uint64_t g = 2; g <= 12; g++) {
        other(1, g % 3 == 0);
        all_read = 0;
        CHECK(store_follow(t.s) == 0 && t.s->log.g == g);
        CHECK(is_kept());
        if (g % 3 != 0)
            CHECK(all_read < UNDER_LOCK);
        CHECK(has("task/0", 3) && ts_put(&t, "task/7", "\"v\":9,") == 0);
        CHECK(ts_is_replay(&t) && !is_kept());
    }
    end();
}

/* The log at the path was replaced by a copy, which others wrote to and
   compacted: its records are not those that memory read before. */
static void
test_compacted_copy(void)
{
    begin();
    pid_t pid = child_begin();
    if (pid == 0) {
        size_t len;
        char *copy = file_get(path, &len);
        ts_close(&t);
        file_put(path_with(path, ".copy"), copy, len);
        CHECK(rename(path_with(path, ".copy"), path) == 0);
        CHECK(ts_open(&t, path) == 0);
        put_keys(&t, KEYS, KEYS + 9, 1);
        CHECK(ts_compact(&t) == 0);
        child_end();
    }
    CHECK(child_ok(pid) && store_follow(t.s) == 0 && !is_kept());
    CHECK(has("task/3008", 1) && ts_is_replay(&t) && state_is_good(&t));
    end();
}

struct seen {
    uint64_t next;
    int wrong;
};

static void
observe(void *ctx, const struct store_entry *e, const struct store_rec *r)
{
    struct seen *seen = ctx;
    seen->wrong += r->n != seen->next || e == NULL || e->n < r->n;
    seen->next = r->n + 1;
}

/* The observer is shown each record once, whether it was written before or
   after the change, and whether follow or lock finds the new log. */
static void
test_observed_exactly_once(void)
{
    for (int locks = 0; locks < 2; locks++) {
        begin();
        struct seen seen = {.next = store_next_n(t.s)};
        store_observe(t.s, observe, &seen);
        for (int i = 0; i < 4; i++) {
            uint64_t head = store_state(t.s)->head;
            other(1, i);
            CHECK((locks ? store_lock(t.s) : store_follow(t.s)) == 0);
            if (locks)
                store_unlock(t.s);
            CHECK(seen.next == store_next_n(t.s) && seen.next > head + 1);
            CHECK(ts_put(&t, "task/k", "\"keep\":3") == 0);
            CHECK(seen.next == store_next_n(t.s) && seen.wrong == 0);
        }
        CHECK(ts_is_replay(&t));
        store_observe(t.s, NULL, NULL);
        end();
    }
}

/* After a failed commit, undone entries refer to their records again. */
static void
test_undone_in_the_next(void)
{
    bool unknown;
    begin();
    other(1, 0);
    CHECK(store_lock(t.s) == 0);
    CHECK(store_stage(t.s, STR("task/0"), STR("\"v\":9,")) == 0);
    CHECK(has("task/0", 9));
    fail_writes = true;
    CHECK(store_commit(t.s, &unknown) == ERR_FULL && !unknown);
    fail_writes = false;
    store_unlock(t.s);
    CHECK(has("task/0", 3) && ts_is_replay(&t) && has("task/0", 3));
    end();
}

/* Several generations appear one after the other, or at once. */
static void
test_overtaken(void)
{
    begin();
    for (int i = 0; i < 3; i++) {
        other(i + 1, 0);
        CHECK(store_follow(t.s) == 0);
        CHECK(has("task/0", 3) && has("task/2999", 1) && ts_is_replay(&t));
    }
    end();
}

/* ---- what was left out ---- */

/* What compaction drops leaves memory: immediately if it is much, else when it
   is asked for. */
static void
test_left_out(void)
{
    static const int lens[] = {1, STORE_MAX_RECORD / 2};
    for (int much = 0; much < 2; much++) {
        char key[] = "call/0", *body = malloc((size_t)lens[much] + 16);
        begin();
        for (int i = 0; i < 10; i++) {
            key[5] = (char)('0' + i);
            snprintf(body, (size_t)lens[much] + 16, "\"v\":\"%0*d\"",
                     lens[much], 1);
            CHECK(ts_put(&t, key, body) == 0);
        }
        other(1, 0);
        CHECK(store_follow(t.s) == 0 && ts_put(&t, "call/3", "\"v\":2") == 0);
        CHECK((store_find(t.s, STR("call/2")) == NULL) == much);
        CHECK(strcmp(ts_get(&t, "call/2"), "") == 0 && store_follow(t.s) == 0);
        CHECK(store_find(t.s, STR("call/2")) == NULL && state_is_good(&t));
        CHECK(strcmp(ts_get(&t, "call/3"), "\"v\":2") == 0 && ts_is_replay(&t));
        free(body);
        end();
    }
}

/* A file that lacks records which compaction always keeps is believed. */
static void
test_another_past(void)
{
    begin();
    pid_t pid = child_begin();
    if (pid == 0) {
        t.s->kinds[0].keep = keep_none;
        CHECK(ts_compact(&t) == 0);
        child_end();
    }
    CHECK(child_ok(pid) && store_follow(t.s) == 0);
    CHECK(ts_is_replay(&t) && store_find(t.s, STR("task/7")) == NULL);
    end();
}

/* A repaired copy is no compaction, although its newest record is the same: it
   lacks what was damaged. */
static void
test_repaired(void)
{
    struct store_report rep;
    const char *copy;
    size_t len;
    begin();
    char *log = file_get(path, &len);
    flip(path, (size_t)(strstr(log, "\"k\":\"task/2500\"") - log), 1);
    copy = path_with(path, ".copy");
    CHECK(store_repair(path, copy, &rep) == 0 && rep.bad == 1);
    CHECK(rename(copy, path) == 0);
    other(0, 0);
    CHECK(store_follow(t.s) == 0 && !is_kept() && ts_is_replay(&t));
    CHECK(store_find(t.s, STR("task/2500")) == NULL);
    free(log);
    end();
}

/* Damage in the new log is reported when it is met: in the records that are
   read first, or in one that is asked for. If that is not found any more, the
   log is read again, and nothing is written. */
static void
test_damage_in_the_next(void)
{
    static const struct {
        const char *at; /* the first byte is damaged */
        int follow, put;
    } cases[] = {{"\"v\":4,", ERR_DAMAGED, ERR_DAMAGED},
                 {"n\":2600,", 0, ERR_DAMAGED},
                 {"\"k\":\"task/2599\"", 0, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t len;
        begin();
        other(1, 1);
        char *log = file_get(path, &len), *at = strstr(log, cases[i].at);
        int fd = open(path, O_RDWR);
        CHECK(at != NULL && pwrite(fd, "#", 1, at - log) == 1);
        CHECK(close(fd) == 0 && store_follow(t.s) == cases[i].follow);
        CHECK(has("task/2599", 1) == (cases[i].follow != 0));
        CHECK(ts_put(&t, "task/0", "\"v\":5,") == cases[i].put);
        CHECK(has("task/2598", 1) && state_is_good(&t) == !cases[i].put);
        ts_close(&t);
        CHECK(ts_open(&t, path) == 0 && !state_is_good(&t));
        ts_close(&t);
        free(log);
    }
}

/* A log that cannot be read is not given back for reading again and again. */
static void
test_damaged_first_line_of_the_next(void)
{
    begin();
    other(1, 0);
    int fd = open(path, O_RDWR);
    CHECK(fd >= 0 && pwrite(fd, "#", 1, 9) == 1 && close(fd) == 0);
    CHECK(store_lock(t.s) == ERR_DAMAGED && !store_locked(t.s));
    CHECK(store_follow(t.s) == ERR_DAMAGED && !state_is_good(&t));
    ts_close(&t);
}

/* ---- a group's log ---- */

#define OWNER 12345
#define MEMBER 12346
#define GROUP 12347
#define OTHER 12348

static char *shared; /* the directory of all these files */

/* A group member uses the store: a write, an artifact, a compaction. */
static bool
uses(uid_t who, gid_t group, int want)
{
    pid_t pid = child_begin();
    if (pid == 0) {
        char hex[SHA256_HEX + 1], *artifacts = path_in(shared, "artifacts");
        struct arena a = {0};
        struct str content;
        bool made;
        CHECK(setgid(group) == 0 && setuid(who) == 0);
        CHECK(ts_open(&t, path) == 0);
        CHECK(ts_put(&t, "task/0", "\"v\":1") == 0);
        CHECK(ts_compact(&t) == want);
        if (want == 0)
            CHECK(artifact_put(artifacts, STR("same"), hex, &made)
                      == 0 &&
                  artifact_get(artifacts, str_of(hex), &a, &content) == 0);
        ts_close(&t);
        child_end();
    }
    return child_ok(pid);
}

static bool
is_shared(uid_t owner, mode_t mode)
{
    struct stat st;
    return stat(path, &st) == 0 && st.st_uid == owner &&
           st.st_gid == GROUP && (st.st_mode & 0777) == mode;
}

static void
begin_shared(mode_t mode)
{
    free(path);
    free(shared);
    shared = test_tmpdir();
    path = path_in(shared, "tasks.log");
    CHECK(chmod(test_root, 0711) == 0 && chown(shared, OWNER, GROUP) == 0 &&
          chmod(shared, mode) == 0);
}

/* In a directory of the group, everything created belongs to the group. */
static void
test_group_directory(void)
{
    begin_shared(02770);
    CHECK(uses(OWNER, OTHER, 0) && is_shared(OWNER, 0660));
    CHECK(uses(MEMBER, GROUP, 0) && is_shared(MEMBER, 0660));
    CHECK(uses(OWNER, GROUP, 0) && is_shared(OWNER, 0660));
    CHECK(uses(0, 0, 0) && is_shared(OWNER, 0660));
    CHECK(unlink(path_with(path, ".lock")) == 0);
    CHECK(uses(MEMBER, GROUP, 0) && uses(OWNER, GROUP, 0));
}

/* A process that is not the owner compacts if the group has the owner's
   permissions. */
static void
test_group_of_the_log(void)
{
    begin_shared(0777);
    CHECK(uses(OWNER, GROUP, 0) && is_shared(OWNER, 0600));
    CHECK(chmod(path_with(path, ".lock"), 0666) == 0);
    CHECK(chmod(path, 0606) == 0 && uses(MEMBER, MEMBER, ERR_READONLY));
    CHECK(is_shared(OWNER, 0606));
    CHECK(access(path_with(path, ".compact"), F_OK) != 0);
}

/* ---- the rig ---- */

#ifndef __GLIBC__
#pragma weak __real_pread64
#pragma weak __real_pwrite64
#endif

#define WRAP_PREAD(name)                                            \
    ssize_t __real_##name(int fd, void *p, size_t n, off_t off);    \
    ssize_t __wrap_##name(int fd, void *p, size_t n, off_t off);    \
    ssize_t __wrap_##name(int fd, void *p, size_t n, off_t off)     \
    {                                                               \
        ssize_t got = __real_##name(fd, p, n, off);                 \
        if (got > 0 && t.s != NULL && store_locked(t.s))            \
            under_lock += (size_t)got;                              \
        all_read += got > 0 ? (size_t)got : 0;                      \
        return got;                                                 \
    }

WRAP_PREAD(pread)
WRAP_PREAD(pread64)

#define WRAP_PWRITE(name)                                               \
    ssize_t __real_##name(int fd, const void *p, size_t n, off_t off);  \
    ssize_t __wrap_##name(int fd, const void *p, size_t n, off_t off);  \
    ssize_t __wrap_##name(int fd, const void *p, size_t n, off_t off)   \
    {                                                                   \
        errno = ENOSPC;                                                 \
        return fail_writes ? -1 : __real_##name(fd, p, n, off);         \
    }

WRAP_PWRITE(pwrite)
WRAP_PWRITE(pwrite64)

static bool
locks_log(int fd, int cmd, const struct flock *fl)
{
    int n = compact_first;
    (void)fd;
    (void)cmd;
    if (n > 0 && fl->l_type == F_WRLCK && fl->l_start == 0 &&
        !store_locked(t.s)) {
        compact_first = 0;
        other(1, 2);
        compact_first = n - 1;
    }
    return false;
}

WRAP_FCNTL(fcntl, locks_log)
WRAP_FCNTL(fcntl64, locks_log)

static bool
state_is_good(const struct tstore *ts)
{
    struct store_state st;
    st = *store_state(ts->s);
    return st.err == 0;
}

static bool
keep_none(void *ctx, const struct store_rec *r, bool newest, int64_t now_ms)
{
    (void)ctx;
    (void)r;
    (void)newest;
    (void)now_ms;
    return false;
}

static void
calls_are_transient(struct tstore *ts)
{
    ts->s->kinds[1].transient = true;
    ts->s->kinds[1].keep = keep_none;
}

/* Writes keys from..to - 1 in one or more batches. */
static void
put_keys(struct tstore *ts, int from, int to, int v)
{
    char key[32], body[FILL + 32];
    bool unknown;
    CHECK(store_lock_patiently(ts->s) == 0);
    for (int i = from; i < to; i++) {
        snprintf(key, sizeof key, "task/%d", i);
        snprintf(body, sizeof body, "\"v\":%d,\"fill\":\"%0*d\"", v, FILL, 0);
        CHECK(store_stage(ts->s, str_of(key), str_of(body)) == 0);
        if (store_batch_is_full(ts->s))
            CHECK(store_commit(ts->s, &unknown) == 0);
    }
    CHECK(store_commit(ts->s, &unknown) == 0);
    store_unlock(ts->s);
}

static bool
has(const char *key, int v)
{
    char want[32];
    snprintf(want, sizeof want, "\"v\":%d,", v);
    return strncmp(ts_get(&t, key), want, strlen(want)) == 0;
}

static void
begin(void)
{
    free(path);
    path = path_fresh("tasks.log");
    CHECK(ts_open(&t, path) == 0);
    calls_are_transient(&t);
    put_keys(&t, 0, KEYS, 1);
    CHECK(ts_put(&t, "task/k", "\"keep\":1") == 0);
    CHECK(ts_put(&t, "task/k", "\"keep\":2") == 0);
    put_keys(&t, 0, KEYS / 2, 2);
}

static void
end(void)
{
    ts_close(&t);
    CHECK(ts_open(&t, path) == 0 && state_is_good(&t));
    ts_close(&t);
}

/* Another process compacts and writes this often. */
static void
other(int compactions, int updates)
{
    pid_t pid = child_begin();
    if (pid == 0) {
        ts_close(&t);
        CHECK(ts_open(&t, path) == 0);
        calls_are_transient(&t);
        put_keys(&t, 0, 1, 3);
        for (int i = 0; i < compactions; i++)
            CHECK(ts_compact(&t) == 0);
        for (int i = 0; i < updates; i++)
            put_keys(&t, 1, KEYS / 2, 4);
        child_end();
    }
    CHECK(child_ok(pid));
}

int
main(void)
{
    test_in_memory();
    test_nothing_is_read_under_the_lock();
    test_compacted_before_the_lock();
    test_compacted_before_each_lock();
    test_kept();
    test_compacted_copy();
    test_observed_exactly_once();
    test_undone_in_the_next();
    test_overtaken();
    test_left_out();
    test_another_past();
    test_repaired();
    test_damage_in_the_next();
    test_damaged_first_line_of_the_next();
    if (geteuid() == 0) {
        test_group_directory();
        test_group_of_the_log();
    } else {
        puts("t_store_next: skipped what needs two users");
    }
    free(shared);
    free(path);
    return test_end("t_store_next");
}
