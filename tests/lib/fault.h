#ifndef TEST_FAULT_H
#define TEST_FAULT_H

/* System calls and allocations that fail on demand. A program that includes
   this is linked with -Wl,--wrap= for each name in ALLOC and FILES of tests.mk.
   The names that end in 64 are glibc's variants for large files. They are weak,
   since other libraries lack them and never call them. */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

enum fault_call {
    FAULT_WRITE, FAULT_PREAD, FAULT_FDATASYNC, FAULT_FSYNC, FAULT_FTRUNCATE,
    FAULT_RENAME, FAULT_LINK, FAULT_OPEN, FAULT_MEMORY, FAULT_CALLS
};
#define FAULT_SHORT (-1) /* instead of an errno: write only half */

static struct {
    bool on;
    int only_fd;  /* only its fdatasync fails, 0: any */
    int synced;   /* argument of the last fdatasync */
    enum fault_call call;
    long after;   /* calls that still succeed */
    bool forever; /* all later calls fail, not only the next */
    int err;
    bool hit;     /* a call did fail */
    enum fault_call also; /* fails too from then on; FAULT_CALLS: none */
} fault = {.also = FAULT_CALLS};

static inline void
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

static inline bool
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

#define FAULT_WRAP(call, type, name, params, args) \
    type __real_##name params;                     \
    type __wrap_##name params;                     \
    type __wrap_##name params                      \
    {                                              \
        if (fault_now(call))                       \
            return -1;                             \
        return __real_##name args;                 \
    }

#ifndef __GLIBC__
#pragma weak __real_pread64
#pragma weak __real_pwrite64
#pragma weak __real_ftruncate64
#pragma weak __real_open64
#endif

FAULT_WRAP(FAULT_PREAD, ssize_t, pread,
           (int fd, void *p, size_t n, off_t off), (fd, p, n, off))
FAULT_WRAP(FAULT_PREAD, ssize_t, pread64,
           (int fd, void *p, size_t n, off_t off), (fd, p, n, off))
FAULT_WRAP(FAULT_FSYNC, int, fsync, (int fd), (fd))
FAULT_WRAP(FAULT_FTRUNCATE, int, ftruncate, (int fd, off_t n), (fd, n))
FAULT_WRAP(FAULT_FTRUNCATE, int, ftruncate64, (int fd, off_t n), (fd, n))
FAULT_WRAP(FAULT_RENAME, int, rename, (const char *a, const char *b), (a, b))
FAULT_WRAP(FAULT_LINK, int, link, (const char *a, const char *b), (a, b))

int __real_fdatasync(int fd);
int __wrap_fdatasync(int fd);
int
__wrap_fdatasync(int fd)
{
    fault.synced = fd;
    if ((fault.only_fd == 0 || fault.only_fd == fd) &&
        fault_now(FAULT_FDATASYNC))
        return -1;
    return __real_fdatasync(fd);
}

#define FAULT_WRAP_WRITE(name, params, args)       \
    ssize_t __real_##name params;                  \
    ssize_t __wrap_##name params;                  \
    ssize_t __wrap_##name params                   \
    {                                              \
        if (fault_now(FAULT_WRITE)) {              \
            if (fault.err != FAULT_SHORT || n < 2) \
                return -1;                         \
            n /= 2;                                \
        }                                          \
        return __real_##name args;                 \
    }

FAULT_WRAP_WRITE(write, (int fd, const void *p, size_t n), (fd, p, n))
FAULT_WRAP_WRITE(pwrite, (int fd, const void *p, size_t n, off_t off),
                 (fd, p, n, off))
FAULT_WRAP_WRITE(pwrite64, (int fd, const void *p, size_t n, off_t off),
                 (fd, p, n, off))

#define FAULT_WRAP_OPEN(name)                                             \
    int __real_##name(const char *path, int flags, ...);                  \
    int __wrap_##name(const char *path, int flags, ...);                  \
    int __wrap_##name(const char *path, int flags, ...)                   \
    {                                                                     \
        va_list ap;                                                       \
        va_start(ap, flags);                                              \
        mode_t mode = flags & O_CREAT ? va_arg(ap, mode_t) : (mode_t)0;   \
        va_end(ap);                                                       \
        return fault_now(FAULT_OPEN) ? -1                                 \
                                     : __real_##name(path, flags, mode);  \
    }

FAULT_WRAP_OPEN(open)
FAULT_WRAP_OPEN(open64)

#define FAULT_WRAP_MEMORY(name, params, args) \
    void *__real_##name params;               \
    void *__wrap_##name params;               \
    void *__wrap_##name params                \
    {                                         \
        if (fault_now(FAULT_MEMORY))          \
            return NULL;                      \
        return __real_##name args;            \
    }

FAULT_WRAP_MEMORY(malloc, (size_t n), (n))
FAULT_WRAP_MEMORY(calloc, (size_t n, size_t size), (n, size))
FAULT_WRAP_MEMORY(realloc, (void *p, size_t n), (p, n))

#endif
