#ifndef TEST_LOCK_RIG_H
#define TEST_LOCK_RIG_H

/* Stores that fail while they are locked: a kernel without the locks, a process
   that dies at any change of a file, a rename that fails or loses the lock.
   WRAP is that of t_lock. */

#include "store/lock.h"
#include "tests/lib/faults.h"
#include "tests/lib/locks.h"
#include "tests/lib/store_test.h"

#ifndef __GLIBC__
#pragma weak __real_pwrite64
#endif

static bool old_kernel; /* lacks locks by open file description */

static inline bool
lacks_lock(int fd, int cmd, const struct flock *fl)
{
    (void)fd;
    (void)fl;
    errno = EINVAL;
    return old_kernel && IS_OFD_LOCK(cmd);
}

WRAP_FCNTL(fcntl, lacks_lock)
WRAP_FCNTL(fcntl64, lacks_lock)

/* What store_lock returns in a process that starts now. */
static inline int
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

/* What happens before a rename: the process dies, or the rename fails, or the
   lock file is removed and another process wants to write. */
static enum { RENAMES, DIES, FAILS, LOSES_LOCK } at_rename;
static struct tstore kept_out;

/* Replaces the lock file by a copy. Only the lock on the log itself then keeps
   another process out. */
static inline void
lose_lock(void)
{
    struct store_state st;
    size_t len;
    pid_t pid;
    at_rename = RENAMES;
    st = *store_state(kept_out.s);
    const char *lock = path_with(st.path, ".lock");
    char *copy = file_get(lock, &len);
    CHECK(unlink(lock) == 0);
    file_put(lock, copy, len);
    free(copy);
    clock_ahead_s++; /* or it does not check for the file */
    CHECK(store_follow(kept_out.s) == 0);
    pid = child_begin();
    if (pid == 0) {
        CHECK(store_lock(kept_out.s) == ERR_BUSY);
        CHECK(store_lock_wait(kept_out.s) == ERR_BUSY);
        CHECK(!store_locked(kept_out.s));
        child_end();
    }
    CHECK(child_ok(pid));
}

/* Calls that change a file before the process dies; 0: it does not die. */
static int lives_for;

static inline void
live(void)
{
    if (lives_for > 0 && --lives_for == 0)
        _exit(0);
}

#define WRAP(type, name, params, args)  \
    type __real_##name params;          \
    type __wrap_##name params;          \
    type __wrap_##name params           \
    {                                   \
        live();                         \
        return __real_##name args;      \
    }

WRAP(int, link, (const char *from, const char *to), (from, to))
WRAP(int, unlink, (const char *path), (path))
WRAP(int, fsync, (int fd), (fd))
WRAP(int, fdatasync, (int fd), (fd))

static size_t mark_part; /* what is written of a mark; 0: all */

#define MARK_PART(n, off) (off == 0 && n > mark_part && mark_part > 0 \
                               ? mark_part : n)
WRAP(ssize_t, pwrite, (int fd, const void *p, size_t n, off_t off),
     (fd, p, MARK_PART(n, off), off))
WRAP(ssize_t, pwrite64, (int fd, const void *p, size_t n, off_t off),
     (fd, p, MARK_PART(n, off), off))

int __real_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to);
int
__wrap_rename(const char *from, const char *to)
{
    live();
    if (at_rename == DIES)
        _exit(0);
    if (at_rename == LOSES_LOCK)
        lose_lock();
    errno = EIO;
    return at_rename == FAILS ? -1 : __real_rename(from, to);
}

#endif
