#ifndef TEST_CLOCK_H
#define TEST_CLOCK_H

/* A clock that runs ahead of the real one. A program that includes this is
   linked with -Wl,--wrap=clock_gettime. */

#include <stdint.h>
#include <time.h>

static int64_t clock_ahead_s, wall_ahead_s; /* of all; of the wall's, too */
static int64_t clock_ahead_ms;              /* of all, besides */

int __real_clock_gettime(clockid_t id, struct timespec *t);
int __wrap_clock_gettime(clockid_t id, struct timespec *t);

int
__wrap_clock_gettime(clockid_t id, struct timespec *t)
{
    int rc = __real_clock_gettime(id, t);

    t->tv_sec += clock_ahead_s + (id == CLOCK_REALTIME ? wall_ahead_s : 0) +
                 clock_ahead_ms / 1000;
    t->tv_nsec += clock_ahead_ms % 1000 * 1000000;
    if (t->tv_nsec >= 1000000000) {
        t->tv_nsec -= 1000000000;
        t->tv_sec++;
    }
    return rc;
}

#endif
