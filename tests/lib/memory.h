#ifndef TEST_MEMORY_H
#define TEST_MEMORY_H

/* Text that ends where memory ends: a parser that reads one byte too far is
   killed on the spot, with any compiler. And memory that runs out on demand:
   programs that include this are linked with malloc, calloc and realloc
   wrapped. */

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define GUARD_MAX ((size_t)4 << 20)
/* A copy of n bytes at p, valid until the next call. */
static inline const char *
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

static long nomem_after = LONG_MAX; /* calls that still succeed */
static bool nomem_once;             /* only one call fails, later ones
                                       succeed */
static bool nomem_hit;              /* a call failed */
static bool *nomem_told;            /* set as well, unless it is NULL */

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);

static inline void
nomem_start(long after, bool once)
{
    nomem_after = after;
    nomem_once = once;
    nomem_hit = false;
}

/* Ends the failures. Returns whether any call failed. */
static inline bool
nomem_stop(void)
{
    nomem_after = LONG_MAX;
    return nomem_hit;
}

static inline bool
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

void *
__wrap_malloc(size_t n)
{
    return nomem_now() ? NULL : __real_malloc(n);
}

void *
__wrap_calloc(size_t n, size_t size)
{
    return nomem_now() ? NULL : __real_calloc(n, size);
}

void *
__wrap_realloc(void *p, size_t n)
{
    return nomem_now() ? NULL : __real_realloc(p, n);
}

#endif
