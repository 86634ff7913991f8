/* What stands in the place of system calls where WRAP_NAME says so. */

#include "tests/lib/faults.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* Weak, for tests that replace one of these in their own way. */
#define WRAPS(type, name, params)                     \
    type __real_##name params;                        \
    __attribute__((weak)) type __wrap_##name params;  \
    type __wrap_##name params

/* The names that end in 64 are glibc's variants for large files, which other
   libraries lack and never call. */
#ifndef __GLIBC__
#pragma weak __real_pread64
#pragma weak __real_pwrite64
#pragma weak __real_ftruncate64
#pragma weak __real_open64
#endif

#define FAILS(call, type, name, params, args) \
    WRAPS(type, name, params)                 \
    {                                         \
        if (fault_now(call))                  \
            return -1;                        \
        return __real_##name args;            \
    }

FAILS(FAULT_PREAD, ssize_t, pread,
      (int fd, void *p, size_t n, off_t off), (fd, p, n, off))
FAILS(FAULT_PREAD, ssize_t, pread64,
      (int fd, void *p, size_t n, off_t off), (fd, p, n, off))
FAILS(FAULT_FSYNC, int, fsync, (int fd), (fd))
FAILS(FAULT_FTRUNCATE, int, ftruncate, (int fd, off_t n), (fd, n))
FAILS(FAULT_FTRUNCATE, int, ftruncate64, (int fd, off_t n), (fd, n))
FAILS(FAULT_RENAME, int, rename, (const char *a, const char *b), (a, b))
FAILS(FAULT_LINK, int, link, (const char *a, const char *b), (a, b))

WRAPS(int, fdatasync, (int fd))
{
    fault.synced = fd;
    if ((fault.only_fd == 0 || fault.only_fd == fd) &&
        fault_now(FAULT_FDATASYNC))
        return -1;
    return __real_fdatasync(fd);
}

/* Whether n bytes cannot be written; of a short write half of them can. */
static bool
write_fails(size_t *n)
{
    if (!fault_now(FAULT_WRITE))
        return false;
    if (fault.err != FAULT_SHORT || *n < 2)
        return true;
    *n /= 2;
    return false;
}

WRAPS(ssize_t, write, (int fd, const void *p, size_t n))
{
    return write_fails(&n) ? -1 : __real_write(fd, p, n);
}

#define FAILS_PWRITE(name)                                            \
    WRAPS(ssize_t, name, (int fd, const void *p, size_t n, off_t off)) \
    {                                                                 \
        if (disk_full) {                                              \
            disk_full = false;                                        \
            errno = EFBIG;                                            \
            return -1;                                                \
        }                                                             \
        return write_fails(&n) ? -1 : __real_##name(fd, p, n, off);   \
    }
FAILS_PWRITE(pwrite)
FAILS_PWRITE(pwrite64)

#define FAILS_OPEN(name)                                                   \
    WRAPS(int, name, (const char *path, int flags, ...))                   \
    {                                                                      \
        va_list ap;                                                        \
        va_start(ap, flags);                                               \
        mode_t mode = flags & O_CREAT ? va_arg(ap, mode_t) : (mode_t)0;    \
        va_end(ap);                                                        \
        return fault_now(FAULT_OPEN) ? -1                                  \
                                     : __real_##name(path, flags, mode);   \
    }
FAILS_OPEN(open)
FAILS_OPEN(open64)

#define FAILS_MEMORY(name, params, args)            \
    WRAPS(void *, name, params)                     \
    {                                               \
        if (nomem_now() || fault_now(FAULT_MEMORY)) \
            return NULL;                            \
        return __real_##name args;                  \
    }
FAILS_MEMORY(malloc, (size_t n), (n))
FAILS_MEMORY(calloc, (size_t n, size_t size), (n, size))
FAILS_MEMORY(realloc, (void *p, size_t n), (p, n))

WRAPS(int, clock_gettime, (clockid_t id, struct timespec *t))
{
    static struct timespec first[2];
    bool wall = id == CLOCK_REALTIME;
    int64_t ns, ms;

    if (!clock_still || first[wall].tv_sec == 0) {
        if (__real_clock_gettime(id, t) != 0)
            return -1;
        if (clock_still)
            first[wall] = *t;
    } else {
        *t = first[wall];
    }
    ms = clock_ahead_s * 1000 + ahead_ms;
    ahead_ms += wall ? 0 : step_ms;
    ms += wall ? wall_ahead_s * 1000 + wall_ms : 0;
    wall_ms += wall ? wall_step_ms : 0;
    /* A clock that is still shows whole milliseconds. */
    ns = clock_still ? t->tv_nsec / 1000000 * 1000000 : t->tv_nsec;
    ns += ms % 1000 * 1000000;
    t->tv_sec += (time_t)(ms / 1000 + (ns < 0 ? -1 : ns / 1000000000));
    t->tv_nsec = (long)(ns < 0 ? ns + 1000000000 : ns % 1000000000);
    return 0;
}
