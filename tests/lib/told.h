#ifndef TEST_TOLD_H
#define TEST_TOLD_H

/* What a test's own process writes to stderr. */

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

static char told[1024]; /* between the last listen_to(true) and (false) */

static inline void
listen_to(bool on)
{
    static int keep = -1, ends[2];
    ssize_t n;

    if (keep < 0 && ((keep = dup(STDERR_FILENO)) < 0 || pipe(ends) != 0 ||
                     fcntl(ends[0], F_SETFL, O_NONBLOCK) != 0))
        abort();
    dup2(on ? ends[1] : keep, STDERR_FILENO);
    n = on ? 0 : read(ends[0], told, sizeof(told) - 1);
    told[n > 0 ? n : 0] = '\0';
}

#endif
