/* t_lock - who may write a log: the locks on its lock file, the names that
   the log has, and the mark that says which log and what time it is of.

   fcntl can be made to know no locks by open file description, and the two
   clocks can be set apart. */

#include "store_test.h"

#include "lock.h"

#include <stdarg.h>

#ifndef __GLIBC__
#pragma weak __real_fcntl64
#endif

int unshare(int flags); /* Linux's; the headers hide it */
#define NEW_MOUNTS 0x20000
#define OFD_GETLK 36
#define OFD_SETLKW 38

static bool old_kernel;

#define WRAP_FCNTL(name)                                    \
    int __real_##name(int fd, int cmd, ...);                \
    int __wrap_##name(int fd, int cmd, ...);                \
    int __wrap_##name(int fd, int cmd, ...)                 \
    {                                                       \
        va_list ap;                                         \
        va_start(ap, cmd);                                  \
        void *arg = va_arg(ap, void *);                     \
        va_end(ap);                                         \
        if (old_kernel && cmd >= OFD_GETLK && cmd <= OFD_SETLKW) { \
            errno = EINVAL;                                 \
            return -1;                                      \
        }                                                   \
        return __real_##name(fd, cmd, arg);                 \
    }

WRAP_FCNTL(fcntl)
WRAP_FCNTL(fcntl64)

/* A log of n records in a fresh directory. */
static char *
open_log(struct tstore *t, int n)
{
    char *path = path_fresh("tasks.log"), key[32];
    CHECK(ts_open(t, path) == 0);
    for (int i = 0; i < n; i++) {
        snprintf(key, sizeof key, "task/%d", i % 3);
        CHECK(ts_put(t, key, "\"v\":1") == 0);
    }
    return path;
}

static void
close_log(struct tstore *t, char *path)
{
    ts_close(t);
    free(path);
}

/* What store_lock says to a process that starts now. */
static int
lock_elsewhere(const char *path)
{
    int status = 0;
    pid_t pid = child_begin();
    if (pid == 0) {
        struct tstore t;
        int rc = ts_open(&t, path);
        _exit(rc != 0 ? 99 : -store_lock(t.s));
    }
    while (waitpid(pid, &status, 0) < 0)
        continue;
    return WIFEXITED(status) ? -WEXITSTATUS(status) : 1;
}

/* Before a rename: the process ends, or the rename fails, or the lock file
   goes and somebody writes who sees no lock. */
static enum { RENAMES, DIES, FAILS, LOSES_LOCK } at_rename;
static char *lost_path; /* of the log */

static void
lose_lock(void)
{
    struct tstore other;
    pid_t pid;
    at_rename = RENAMES;
    CHECK(unlink(path_with(lost_path, ".lock")) == 0);
    pid = child_begin();
    if (pid == 0) {
        CHECK(ts_open(&other, lost_path) == 0);
        CHECK(ts_put(&other, "task/o", "\"v\":1") == 0);
        CHECK(ts_put(&other, "task/o", "\"v\":2") == 0);
        child_end();
    }
    CHECK(child_ok(pid));
}

int __real_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to);
int
__wrap_rename(const char *from, const char *to)
{
    if (at_rename == DIES)
        _exit(0);
    if (at_rename == LOSES_LOCK)
        lose_lock();
    errno = EIO;
    return at_rename == FAILS ? -1 : __real_rename(from, to);
}

/* ---- locks ---- */

static void
read_lock_file(const char *path)
{
    size_t len;
    free(file_get(path_with(path, ".lock"), &len));
    CHECK(len > 0);
}

static void
test_reading_the_lock_file_drops_no_lock(void)
{
    struct tstore t;
    char *path = open_log(&t, 3);
    CHECK(!lock_is_by_process());
    CHECK(store_lock(t.s) == 0);
    read_lock_file(path);
    CHECK(lock_elsewhere(path) == ERR_MORE);
    store_unlock(t.s);
    CHECK(lock_elsewhere(path) == 0);
    CHECK(store_instance(t.s) != 0);
    read_lock_file(path);
    pid_t pid = child_begin();
    if (pid == 0) {
        struct tstore other;
        CHECK(ts_open(&other, path) == 0 &&
              store_alive(other.s, store_instance(t.s)));
        child_end();
    }
    CHECK(child_ok(pid));
    close_log(&t, path);
}

/* The other locks are there, and agree with ours. */
static void
test_kernel_without_them(void)
{
    struct tstore t;
    char *path = open_log(&t, 3);
    CHECK(store_lock(t.s) == 0);
    pid_t pid = child_begin();
    if (pid == 0) {
        struct tstore old;
        struct lock l = {.path = path_with(path, ".lock"), .fd = -1};
        old_kernel = true;
        CHECK(ts_open(&old, path) == 0);
        CHECK(store_lock(old.s) == ERR_MORE && lock_is_by_process());
        CHECK(lock_open(&l, false) == 0 && !lock_is_free(&l, LOCK_WRITE));
        child_end();
    }
    CHECK(child_ok(pid));
    store_unlock(t.s);
    pid = child_begin();
    if (pid == 0) {
        struct tstore old;
        old_kernel = true;
        CHECK(ts_open(&old, path) == 0 && store_lock(old.s) == 0);
        CHECK(lock_elsewhere(path) == ERR_MORE);
        child_end();
    }
    CHECK(child_ok(pid));
    close_log(&t, path);
}

/* A compaction gives way to whatever took the place of its new file. */
static void
test_file_in_the_making_is_replaced(void)
{
    static char body[300 * 1000] = "\"v\":\"";
    struct tstore t;
    char *path = open_log(&t, 9), key[32];
    const char *making = path_with(path, ".compact");
    memset(body + 5, 'x', sizeof body - 7);
    body[sizeof body - 2] = '"';
    for (int i = 0; i < 5; i++) { /* more than the first slice */
        snprintf(key, sizeof key, "task/x%d", i);
        CHECK(ts_put(&t, key, body) == 0);
    }
    CHECK(store_compact(t.s) == ERR_MORE);
    CHECK(unlink(making) == 0);
    file_put(making, "half of another", 15);
    CHECK(ts_compact(&t) == ERR_BUSY);
    CHECK(file_is(making, "half of another", 15));
    CHECK(ts_put(&t, "task/1", "\"v\":2") == 0 && ts_is_replay(&t));
    CHECK(ts_compact(&t) == 0 && ts_is_replay(&t));
    close_log(&t, path);
}

/* ---- names ---- */

static bool
is_refused(struct tstore *t, const char *why)
{
    struct store_state st;
    bool refused = ts_put(t, "task/x", "\"v\":1") == ERR_READONLY;
    store_state(t->s, &st);
    return refused && st.err == ERR_READONLY && strstr(st.why, why) != NULL;
}

static void
test_hard_link(void)
{
    struct tstore t, other;
    struct store_state st;
    char *path = open_log(&t, 3);
    const char *link_path = path_with(path, ".link");
    CHECK(link(path, link_path) == 0);
    CHECK(is_refused(&t, "mount the directory, not the file"));
    CHECK(store_compact(t.s) == ERR_READONLY);
    CHECK(ts_open(&other, link_path) == 0);
    store_state(other.s, &st); /* said before anybody writes */
    CHECK(st.err == ERR_READONLY && strstr(st.why, "a hard link") != NULL);
    CHECK(is_refused(&other, "a hard link"));
    CHECK(ts_get(&other, "task/1")[0] != '\0');
    ts_close(&other);
    CHECK(unlink(link_path) == 0);
    CHECK(ts_put(&t, "task/x", "\"v\":1") == 0 && ts_compact(&t) == 0);
    close_log(&t, path);
}

/* Who may mount has the log mounted over another name of its file system. */
static void
test_bind_mount(void)
{
    struct tstore t, other;
    char *path = open_log(&t, 3), *dir = test_tmpdir(), command[1500];
    char *name = path_in(dir, "tasks.log");
    pid_t pid = child_begin();
    if (pid == 0) {
        snprintf(command, sizeof command, "mount --bind '%s' '%s' 2>/dev/null",
                 path, name);
        if (unshare(NEW_MOUNTS) != 0 ||
            system("mount --make-rprivate / 2>/dev/null") != 0)
            child_end();
        file_put(name, "", 0);
        if (system(command) == 0 && CHECK(ts_open(&other, name) == 0)) {
            CHECK(is_refused(&other, "is mounted by itself"));
            CHECK(store_compact(other.s) == ERR_READONLY);
            CHECK(ts_open(&other, path) == 0);
            CHECK(ts_put(&other, "task/y", "\"v\":1") == 0);
        }
        child_end();
    }
    CHECK(child_ok(pid));
    free(name);
    free(dir);
    close_log(&t, path);
}

/* ---- the closed record ---- */

static uint64_t
generation(struct tstore *t)
{
    struct store_state st;
    store_state(t->s, &st);
    return st.g;
}

/* A log whose compaction ended just before the rename. */
static char *
open_closed(struct tstore *t, bool dies)
{
    char *path = open_log(t, 9);
    pid_t pid = child_begin();
    if (pid == 0) {
        struct tstore c;
        at_rename = dies ? DIES : FAILS;
        CHECK(ts_open(&c, path) == 0);
        CHECK(ts_compact(&c) != 0);
        child_end();
    }
    CHECK(child_ok(pid));
    return path;
}

static void
test_next_writer_finishes(void)
{
    struct tstore t;
    struct arena a = {0};
    struct store_rec r;
    char *path = open_closed(&t, true);
    CHECK(store_follow(t.s) == 0 && generation(&t) == 1);
    CHECK(ts_put(&t, "task/x", "\"v\":1") == 0 && generation(&t) == 2);
    CHECK(ts_is_replay(&t) && ts_get(&t, "task/2")[0] != '\0');
    CHECK(store_read_n(t.s, 10, &a, &r) == 0 && str_is(r.key, "log/closed"));
    CHECK(store_read_n(t.s, 11, &a, &r) == 0 && str_is(r.key, "task/x"));
    CHECK(store_read_n(t.s, 1, &a, &r) == 0); /* of the closed one */
    CHECK(access(path_with(path, ".compact"), F_OK) != 0);
    CHECK(ts_compact(&t) == 0 && generation(&t) == 3 && ts_is_replay(&t));
    arena_fini(&a);
    close_log(&t, path);
}

/* Without the new file, or with half of it, the old one goes on. */
static void
test_given_up_is_written_on(void)
{
    size_t len;
    for (int how = 0; how < 3; how++) {
        struct tstore t;
        char *path = open_closed(&t, how > 0), *making;
        if (how > 0) {
            making = file_get(path_with(path, ".compact"), &len);
            CHECK(making != NULL && unlink(path_with(path, ".compact")) == 0);
            if (how == 2)
                file_put(path_with(path, ".compact"), making, len - 1);
            free(making);
        }
        CHECK(access(path_with(path, ".1"), F_OK) == (how == 0 ? -1 : 0));
        CHECK(ts_put(&t, "task/x", "\"v\":1") == 0 && generation(&t) == 1);
        CHECK(access(path_with(path, ".1"), F_OK) != 0);
        CHECK(ts_is_replay(&t) && ts_compact(&t) == 0 && ts_is_replay(&t));
        CHECK(ts_get(&t, "task/x")[0] != '\0');
        close_log(&t, path);
    }
}

/* Two that do not see each other's lock: who comes second finds the log
   closed and goes over to the new one, and the first gives way. */
static void
test_lock_file_removed_before_the_rename(void)
{
    struct tstore t;
    struct store_report rep;
    char *path = open_log(&t, 9);
    lost_path = path;
    at_rename = LOSES_LOCK;
    CHECK(ts_compact(&t) != 0);
    CHECK(ts_put(&t, "task/x", "\"v\":1") == 0 && ts_is_replay(&t));
    CHECK(generation(&t) == 2);
    CHECK(strcmp(ts_get(&t, "task/o"), "\"v\":2") == 0);
    CHECK(store_verify(path, &rep, NULL) == 0 && !rep.damaged && !rep.torn);
    CHECK(access(path_with(path, ".1"), F_OK) == 0);
    close_log(&t, path);
}

int
main(void)
{
    test_reading_the_lock_file_drops_no_lock();
    test_kernel_without_them();
    test_file_in_the_making_is_replaced();
    test_hard_link();
    test_bind_mount();
    test_next_writer_finishes();
    test_given_up_is_written_on();
    test_lock_file_removed_before_the_rename();
    return test_end("t_lock");
}
