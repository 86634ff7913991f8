#ifndef TEST_STILL_H
#define TEST_STILL_H

/* A clock that stands still, and a disk that tests can fill. Programs that
   include this are linked with -Wl,--wrap= for clock_gettime, pwrite and
   pwrite64. */

#include "tests/lib/test.h"

#include <errno.h>
#include <time.h>
#include <unistd.h>

static bool disk_full; /* for the next write to a file; as if by a limit of its
                          size, for which the store keeps no reserve */

#define WRAP_PWRITE(name)                                                 \
    ssize_t __real_##name(int fd, const void *p, size_t n, off_t off);    \
    ssize_t __wrap_##name(int fd, const void *p, size_t n, off_t off);    \
    ssize_t __wrap_##name(int fd, const void *p, size_t n, off_t off)     \
    {                                                                     \
        if (!disk_full)                                                   \
            return __real_##name(fd, p, n, off);                          \
        disk_full = false;                                                \
        errno = EFBIG;                                                    \
        return -1;                                                        \
    }
WRAP_PWRITE(pwrite)
WRAP_PWRITE(pwrite64)

/* Time stands still, ahead_ms after the first reading; but each reading of the
   monotonic clock advances it by step_ms. The wall clock is also ahead by
   wall_ms, and each of its readings advances it by wall_step_ms. */
static int64_t ahead_ms, step_ms, wall_ms, wall_step_ms;

int __real_clock_gettime(clockid_t id, struct timespec *t);
int __wrap_clock_gettime(clockid_t id, struct timespec *t);

int
__wrap_clock_gettime(clockid_t id, struct timespec *t)
{
    static struct timespec first[2];
    struct timespec *f = &first[id == CLOCK_REALTIME];
    int64_t ms;

    if (f->tv_sec == 0)
        CHECK(__real_clock_gettime(id, f) == 0);
    ms = f->tv_nsec / 1000000 + ahead_ms;
    ahead_ms += id == CLOCK_MONOTONIC ? step_ms : 0;
    ms += id == CLOCK_REALTIME ? wall_ms : 0;
    wall_ms += id == CLOCK_REALTIME ? wall_step_ms : 0;
    t->tv_sec = f->tv_sec + (time_t)(ms / 1000);
    t->tv_nsec = (long)(ms % 1000 * 1000000);
    return 0;
}

#endif
