/* The order of system calls, which decides what survives a power loss. The
   store's are recorded as words, one per call, with their file: log, lock, new
   (a file that is not at its place yet), torn, dir, up (any number of
   directories above dir). begin clears the list; traced compares it. */

#include "tests/lib/locks.h"
#include "tests/lib/store_test.h"

/* glibc's variants for large files; other libraries lack them and never call
   them. */
#ifndef __GLIBC__
#pragma weak __real_pread64
#pragma weak __real_pwrite64
#pragma weak __real_ftruncate64
#pragma weak __real_open64
#pragma weak __real_openat64
#endif

static char trace[4096];
static struct {
    const char *name; /* NULL: not a file of the store */
} files[64];

static void
note(const char *call, const char *name)
{
    size_t n = strlen(trace);
    if (name != NULL && strcmp(name, "up") == 0 && n > 7 &&
        strcmp(trace + n - 7, "sync:up") == 0)
        return;
    if (name != NULL && n + 40 < sizeof trace)
        snprintf(trace + n, sizeof trace - n, "%s%s:%s", n ? " " : "", call,
                 name);
}

static const char *
name_of(const char *path, int flags)
{
    static const struct {
        const char *ending, *name;
    } names[] = {{".log", "log"}, {".lock", "lock"}, {".new", "new"},
                 {".compact", "new"}};
    if (flags & O_DIRECTORY)
        return strcmp(path, "..") == 0 ? "up" : "dir";
    if (strstr(path, ".log.torn-") != NULL)
        return "torn";
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t n = strlen(path), m = strlen(names[i].ending);
        if (n > m && strcmp(path + n - m, names[i].ending) == 0)
            return names[i].name;
    }
    return NULL;
}

static const char *
file_at(int fd)
{
    return fd >= 0 && fd < 64 ? files[fd].name : NULL;
}

#define WRAP(type, name, params, args, call, fd) \
    type __real_##name params;                   \
    type __wrap_##name params;                   \
    type __wrap_##name params                    \
    {                                            \
        note(call, file_at(fd));                 \
        return __real_##name args;               \
    }

WRAP(ssize_t, write, (int fd, const void *p, size_t n), (fd, p, n), "write",
     fd)
WRAP(ssize_t, pwrite, (int fd, const void *p, size_t n, off_t off),
     (fd, p, n, off), "write", fd)
WRAP(ssize_t, pwrite64, (int fd, const void *p, size_t n, off_t off),
     (fd, p, n, off), "write", fd)
WRAP(int, fdatasync, (int fd), (fd), "sync", fd)
WRAP(int, fsync, (int fd), (fd), "sync", fd)
WRAP(int, ftruncate, (int fd, off_t n), (fd, n), "cut", fd)
WRAP(int, ftruncate64, (int fd, off_t n), (fd, n), "cut", fd)

/* Reads are counted, but not recorded as words. */
static int mark_reads, log_reads;

static void
count_read(const char *name)
{
    mark_reads += name != NULL && strcmp(name, "lock") == 0;
    log_reads += name != NULL && strcmp(name, "log") == 0;
}

ssize_t __real_pread(int fd, void *p, size_t n, off_t off);
ssize_t __wrap_pread(int fd, void *p, size_t n, off_t off);
ssize_t
__wrap_pread(int fd, void *p, size_t n, off_t off)
{
    count_read(file_at(fd));
    return __real_pread(fd, p, n, off);
}

ssize_t __real_pread64(int fd, void *p, size_t n, off_t off);
ssize_t __wrap_pread64(int fd, void *p, size_t n, off_t off);
ssize_t
__wrap_pread64(int fd, void *p, size_t n, off_t off)
{
    count_read(file_at(fd));
    return __real_pread64(fd, p, n, off);
}

int __real_close(int fd);
int __wrap_close(int fd);
int
__wrap_close(int fd)
{
    if (fd >= 0 && fd < 64)
        files[fd].name = NULL;
    return __real_close(fd);
}

int __real_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to);
int
__wrap_rename(const char *from, const char *to)
{
    note("rename", name_of(to, 0));
    return __real_rename(from, to);
}

int __real_link(const char *from, const char *to);
int __wrap_link(const char *from, const char *to);
int
__wrap_link(const char *from, const char *to)
{
    note("link", name_of(from, 0));
    return __real_link(from, to);
}

#define WRAP_OPEN(fn)                                                   \
    int __real_##fn(const char *path, int flags, ...);                  \
    int __wrap_##fn(const char *path, int flags, ...);                  \
    int __wrap_##fn(const char *path, int flags, ...)                   \
    {                                                                   \
        va_list ap;                                                     \
        va_start(ap, flags);                                            \
        mode_t mode = flags & O_CREAT ? va_arg(ap, mode_t) : (mode_t)0; \
        va_end(ap);                                                     \
        int fd = __real_##fn(path, flags, mode);                        \
        if (fd >= 0 && fd < 64)                                         \
            files[fd].name = name_of(path, flags);                      \
        return fd;                                                      \
    }

WRAP_OPEN(open)
WRAP_OPEN(open64)

/* Records only openings of the directory above. */
#define WRAP_OPENAT(fn)                                        \
    int __real_##fn(int at, const char *path, int flags, ...); \
    int __wrap_##fn(int at, const char *path, int flags, ...); \
    int __wrap_##fn(int at, const char *path, int flags, ...)  \
    {                                                          \
        int fd = __real_##fn(at, path, flags, 0);              \
        if (fd >= 0 && fd < 64)                                \
            files[fd].name = name_of(path, flags);             \
        return fd;                                             \
    }

WRAP_OPENAT(openat)
WRAP_OPENAT(openat64)

static bool no_unlock; /* the system cannot split a lock */
static void (*before_lock)(void); /* called once, before the next lock */

/* Records locks by their byte: "lock:lock" and "unlock:lock" are the write
   lock's. Returns whether the call must fail. */
static bool
note_lock(int fd, int cmd, const struct flock *fl)
{
    void (*before)(void) = before_lock;
    before_lock = NULL;
    if (before != NULL)
        before();
    if (cmd != F_GETLK && cmd != OFD_GETLK && fl->l_start == 0)
        note(fl->l_type == F_UNLCK ? "unlock" : "lock", file_at(fd));
    errno = ENOLCK;
    return cmd != F_GETLK && cmd != OFD_GETLK && fl->l_type == F_UNLCK &&
           no_unlock;
}

WRAP_FCNTL(fcntl, note_lock)
WRAP_FCNTL(fcntl64, note_lock)

/* ---- what was called ---- */

static char *path;

static void
begin(void)
{
    trace[0] = '\0';
}

static bool
traced(const char *want)
{
    if (strcmp(trace, want) == 0)
        return true;
    fprintf(stderr, "    calls: %s\n    not:   %s\n", trace, want);
    return false;
}

/* Commits one record, with a word where the answer would be sent. */
static void
put(struct tstore *t)
{
    bool unknown;
    CHECK(store_lock(t->s) == 0);
    CHECK(store_stage(t->s, STR("task/1"), STR("\"v\":1")) == 0);
    CHECK(store_stage(t->s, STR("task/2"), STR("\"v\":2")) == 0);
    CHECK(store_commit(t->s, &unknown) == 0);
    note("answer", "log");
    store_unlock(t->s);
}

#define UNLOCK "unlock:log unlock:lock"
#ifdef OS_POSIX_ONLY
#define AGAIN "lock:log " /* as the rule of base/os.h wants it */
#else
#define AGAIN ""
#endif
#define COMMIT AGAIN "write:log sync:log write:lock answer:log " UNLOCK

static void
test_creation(struct tstore *t)
{
    begin();
    put(t);
    /* The log is complete before it gets its name, and a mark left by another
       log is voided. It is then synced like a tail that nobody acknowledged,
       with its directory and all above it. */
    CHECK(traced("lock:lock write:new sync:new write:lock rename:log "
                 "lock:log sync:log sync:dir sync:up write:lock lock:log "
                 COMMIT));
}

/* Directories, lock and log exist, but the process that made them was killed
   before it synced any of them. */
static void
test_made_by_another(void)
{
    size_t len;
    char *old = path, *log = file_get(path, &len);
    char *lf = log == NULL ? NULL : strchr(log, '\n');
    struct tstore t;
    path = path_fresh("tasks.log");
    if (CHECK(lf != NULL))
        file_put(path, log, (size_t)(lf + 1 - log));
    file_put(path_with(path, ".lock"), "", 0);
    begin();
    CHECK(ts_open(&t, path) == 0);
    CHECK(traced("lock:lock lock:log sync:log sync:dir sync:up write:lock "
                 "lock:log " UNLOCK));
    begin();
    put(&t);
    CHECK(traced("lock:lock lock:log " COMMIT));
    ts_close(&t);
    free(path);
    free(log);
    path = old;
}

static void
test_commit(struct tstore *t)
{
    for (int i = 0; i < 3; i++) {
        begin();
        put(t);
        CHECK(traced("lock:lock lock:log " COMMIT));
    }
}

static void
write_elsewhere(void)
{
    struct tstore other;
    pid_t pid = child_begin();
    if (pid == 0) {
        CHECK(ts_open(&other, path) == 0);
        CHECK(ts_put(&other, "task/3", "\"v\":3") == 0);
        child_end();
    }
    CHECK(child_ok(pid));
}

/* The mark is read before the lock is taken, and again under it only if the log
   has grown. */
static void
test_mark_is_read_once(struct tstore *t)
{
    mark_reads = 0;
    put(t);
    CHECK(mark_reads == 1);
    before_lock = write_elsewhere;
    put(t);
    CHECK(mark_reads == 3);
    CHECK(strcmp(ts_get(t, "task/3"), "\"v\":3") == 0 && ts_is_replay(t));
}

static void
test_read_takes_no_lock(struct tstore *t)
{
    struct tstore other;
    begin();
    CHECK(store_follow(t->s) == 0 && ts_get(t, "task/1")[0] != '\0');
    CHECK(traced(""));
    pid_t pid = child_begin();
    if (pid == 0) {
        begin();
        CHECK(ts_open(&other, path) == 0 && store_follow(other.s) == 0);
        CHECK(traced(""));
        child_end();
    }
    CHECK(child_ok(pid));
}

static void
test_torn_tail(struct tstore *t)
{
    int fd = open(path, O_WRONLY | O_APPEND);
    CHECK(write(fd, "{\"c", 3) == 3 && close(fd) == 0);
    begin();
    put(t);
    /* A tail is written again before it is trusted, and saved before it is
       cut. */
    CHECK(traced("lock:lock lock:log write:log sync:log write:torn "
                 "sync:torn sync:dir sync:up cut:log sync:log "
                 "write:lock " COMMIT));
}

static void
test_compaction(struct tstore *t)
{
    begin();
    CHECK(ts_compact(t) == 0);
    /* Only the last part is done under the lock. */
    const char *locked = strstr(trace, "lock:lock");
    CHECK(locked != NULL && strstr(trace, "write:new") < locked);
    if (locked != NULL) {
        memmove(trace, locked, strlen(locked) + 1);
        CHECK(traced("lock:lock lock:log sync:new link:log sync:dir sync:up "
                     "rename:log sync:dir write:lock " UNLOCK));
    }
}

/* Going back in the history of a long task reads a part of the log for each
   record. */
static void
test_long_history(void)
{
    enum { LONG = 200 * 1000, EVENTS = 40 };
    char *own = path_fresh("tasks.log"), *body = malloc(LONG + 1);
    struct arena a = {0};
    struct store_rec r;
    struct tstore t;
    int found = 0;
    memset(body, 'x', LONG);
    memcpy(body, "\"v\":\"", 5);
    body[LONG - 1] = '"';
    body[LONG] = '\0';
    CHECK(ts_open(&t, own) == 0);
    for (int i = 0; i < EVENTS; i++)
        CHECK(ts_put(&t, "task/long", body) == 0);
    log_reads = 0;
    uint64_t n = store_find(t.s, STR("task/long"))->n;
    for (; n != 0 && store_read_n(t.s, n, &a, &r) == 0; n = r.p) {
        found++;
        arena_reset(&a);
    }
    CHECK(found == EVENTS && log_reads < EVENTS * 64);
    ts_close(&t);
    arena_fini(&a);
    free(body);
    free(own);
}

/* A lock that cannot be released is released by closing its descriptor. */
static void
test_refused_unlock(struct tstore *t)
{
    no_unlock = true;
    for (int i = 0; i < 2; i++) {
        put(t);
        CHECK(!store_locked(t->s));
        CHECK(ts_compact(t) == 0 && !store_locked(t->s));
    }
    pid_t pid = child_begin();
    if (pid == 0) {
        struct tstore other;
        CHECK(ts_open(&other, path) == 0 && store_lock(other.s) == 0);
        child_end();
    }
    CHECK(child_ok(pid));
    no_unlock = false;
    CHECK(ts_put(t, "task/1", "\"v\":3") == 0 && ts_is_replay(t));
}

int
main(void)
{
    char *dir = test_tmpdir();
    struct tstore t;
    path = path_in(dir, "a/b/tasks.log");
    CHECK(ts_open(&t, path) == 0);
    test_creation(&t);
    test_made_by_another();
    test_commit(&t);
    test_mark_is_read_once(&t);
    test_read_takes_no_lock(&t);
    test_torn_tail(&t);
    test_commit(&t);
    test_mark_is_read_once(&t);
    test_compaction(&t);
    test_commit(&t);
    test_mark_is_read_once(&t);
    test_refused_unlock(&t);
    test_long_history();
    ts_close(&t);
    free(path);
    free(dir);
    return test_end("t_order");
}
