#ifndef TEST_GUARD_H
#define TEST_GUARD_H

/* Text that ends where memory ends: a parser that reads one byte too far is
   killed on the spot, with any compiler and without a sanitizer. */

#include <fcntl.h>
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

#endif
