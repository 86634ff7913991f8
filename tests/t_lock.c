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
    struct tstore t;
    char *path = open_log(&t, 9);
    const char *making = path_with(path, ".compact");
    CHECK(store_compact(t.s) == ERR_MORE);
    CHECK(unlink(making) == 0);
    file_put(making, "half of another", 15);
    CHECK(ts_compact(&t) == ERR_BUSY);
    CHECK(file_is(making, "half of another", 15));
    CHECK(ts_put(&t, "task/1", "\"v\":2") == 0 && ts_is_replay(&t));
    CHECK(ts_compact(&t) == 0 && ts_is_replay(&t));
    close_log(&t, path);
}

int
main(void)
{
    test_reading_the_lock_file_drops_no_lock();
    test_kernel_without_them();
    test_file_in_the_making_is_replaced();
    return test_end("t_lock");
}
