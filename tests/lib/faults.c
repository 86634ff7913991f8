#include "tests/lib/faults.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- memory ---- */

const char *
guard_copy(const void *p, size_t n)
{
    static char *end;
    long page = sysconf(_SC_PAGESIZE);
    char *map;
    int fd;

    if (end == NULL) {
        /* POSIX of 2008 has no anonymous mapping. */
        fd = open("/dev/zero", O_RDWR | O_CLOEXEC);
        map = mmap(NULL, GUARD_MAX + (size_t)page, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE, fd, 0);
        if (fd < 0 || map == MAP_FAILED)
            abort();
        close(fd);
        end = map + GUARD_MAX;
        if (mprotect(end, (size_t)page, PROT_NONE) != 0)
            abort();
    }
    if (n > GUARD_MAX)
        abort();
    if (n > 0)
        memcpy(end - n, p, n);
    return end - n;
}

long nomem_after = LONG_MAX;
bool nomem_hit, *nomem_told;
static bool nomem_once;

void
nomem_start(long after, bool once)
{
    nomem_after = after;
    nomem_once = once;
    nomem_hit = false;
}

bool
nomem_stop(void)
{
    nomem_after = LONG_MAX;
    return nomem_hit;
}

long
nomem_pause(void)
{
    long after = nomem_after;

    nomem_after = LONG_MAX;
    return after;
}

bool
nomem_now(void)
{
    if (nomem_after == LONG_MAX || nomem_after-- > 0)
        return false;
    nomem_hit = true;
    if (nomem_told != NULL)
        *nomem_told = true;
    nomem_after = nomem_once ? LONG_MAX : 0;
    return true;
}

/* ---- calls ---- */

struct fault fault = {.also = FAULT_CALLS};
bool disk_full;

void
fault_start(enum fault_call call, long after, bool forever, int err)
{
    fault.call = call;
    fault.after = after;
    fault.forever = forever;
    fault.err = err;
    fault.hit = false;
    fault.only_fd = 0;
    fault.on = true;
}

bool
fault_now(enum fault_call call)
{
    if (!fault.on)
        return false;
    if (fault.hit && call == fault.also) {
        errno = EIO;
        return true;
    }
    if (call != fault.call || fault.after-- > 0)
        return false;
    fault.hit = true;
    fault.after = fault.forever ? 0 : LONG_MAX;
    errno = fault.err;
    return true;
}

/* ---- clocks ---- */

bool clock_still;
int64_t clock_ahead_s, wall_ahead_s;
int64_t ahead_ms, wall_ms, step_ms, wall_step_ms;
