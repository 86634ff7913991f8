#ifndef TEST_TRACE_H
#define TEST_TRACE_H

/* The store's system calls as words, one per call, with their file: log, lock,
   new (a file that is not at its place yet), torn, dir, up (any number of
   directories above dir). begin clears the list; traced compares it. A program
   that includes this is linked with the WRAP of t_order. */

#include "tests/lib/locks.h"
#include "tests/lib/store_test.h"

/* glibc's variants for large files; other libraries lack them and never call
   them. */
#ifndef __GLIBC__
#pragma weak __real_pread64
#pragma weak __real_pwrite64
#pragma weak __real_ftruncate64
#pragma weak __real_open64
#pragma weak __real_openat64
#endif

static char trace[4096];
static struct {
    const char *name; /* NULL: not a file of the store */
} files[64];

static inline void
note(const char *call, const char *name)
{
    size_t n = strlen(trace);
    if (name != NULL && strcmp(name, "up") == 0 && n > 7 &&
        strcmp(trace + n - 7, "sync:up") == 0)
        return;
    if (name != NULL && n + 40 < sizeof trace)
        snprintf(trace + n, sizeof trace - n, "%s%s:%s", n ? " " : "", call,
                 name);
}

static inline const char *
name_of(const char *path, int flags)
{
    static const struct {
        const char *ending, *name;
    } names[] = {{".log", "log"}, {".lock", "lock"}, {".new", "new"},
                 {".compact", "new"}};
    if (flags & O_DIRECTORY)
        return strcmp(path, "..") == 0 ? "up" : "dir";
    if (strstr(path, ".log.torn-") != NULL)
        return "torn";
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t n = strlen(path), m = strlen(names[i].ending);
        if (n > m && strcmp(path + n - m, names[i].ending) == 0)
            return names[i].name;
    }
    return NULL;
}

static inline const char *
file_at(int fd)
{
    return fd >= 0 && fd < 64 ? files[fd].name : NULL;
}

#define WRAP(type, name, params, args, call, fd) \
    type __real_##name params;                   \
    type __wrap_##name params;                   \
    type __wrap_##name params                    \
    {                                            \
        note(call, file_at(fd));                 \
        return __real_##name args;               \
    }

WRAP(ssize_t, write, (int fd, const void *p, size_t n), (fd, p, n), "write",
     fd)
WRAP(ssize_t, pwrite, (int fd, const void *p, size_t n, off_t off),
     (fd, p, n, off), "write", fd)
WRAP(ssize_t, pwrite64, (int fd, const void *p, size_t n, off_t off),
     (fd, p, n, off), "write", fd)
WRAP(int, fdatasync, (int fd), (fd), "sync", fd)
WRAP(int, fsync, (int fd), (fd), "sync", fd)
WRAP(int, ftruncate, (int fd, off_t n), (fd, n), "cut", fd)
WRAP(int, ftruncate64, (int fd, off_t n), (fd, n), "cut", fd)

/* Reads are counted, but not recorded as words. */
static int mark_reads, log_reads;

static void
count_read(const char *name)
{
    mark_reads += name != NULL && strcmp(name, "lock") == 0;
    log_reads += name != NULL && strcmp(name, "log") == 0;
}

ssize_t __real_pread(int fd, void *p, size_t n, off_t off);
ssize_t __wrap_pread(int fd, void *p, size_t n, off_t off);
ssize_t
__wrap_pread(int fd, void *p, size_t n, off_t off)
{
    count_read(file_at(fd));
    return __real_pread(fd, p, n, off);
}

ssize_t __real_pread64(int fd, void *p, size_t n, off_t off);
ssize_t __wrap_pread64(int fd, void *p, size_t n, off_t off);
ssize_t
__wrap_pread64(int fd, void *p, size_t n, off_t off)
{
    count_read(file_at(fd));
    return __real_pread64(fd, p, n, off);
}

int __real_close(int fd);
int __wrap_close(int fd);
int
__wrap_close(int fd)
{
    if (fd >= 0 && fd < 64)
        files[fd].name = NULL;
    return __real_close(fd);
}

int __real_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to);
int
__wrap_rename(const char *from, const char *to)
{
    note("rename", name_of(to, 0));
    return __real_rename(from, to);
}

int __real_link(const char *from, const char *to);
int __wrap_link(const char *from, const char *to);
int
__wrap_link(const char *from, const char *to)
{
    note("link", name_of(from, 0));
    return __real_link(from, to);
}

#define WRAP_OPEN(fn)                                                   \
    int __real_##fn(const char *path, int flags, ...);                  \
    int __wrap_##fn(const char *path, int flags, ...);                  \
    int __wrap_##fn(const char *path, int flags, ...)                   \
    {                                                                   \
        va_list ap;                                                     \
        va_start(ap, flags);                                            \
        mode_t mode = flags & O_CREAT ? va_arg(ap, mode_t) : (mode_t)0; \
        va_end(ap);                                                     \
        int fd = __real_##fn(path, flags, mode);                        \
        if (fd >= 0 && fd < 64)                                         \
            files[fd].name = name_of(path, flags);                      \
        return fd;                                                      \
    }

WRAP_OPEN(open)
WRAP_OPEN(open64)

/* Records only openings of the directory above. */
#define WRAP_OPENAT(fn)                                        \
    int __real_##fn(int at, const char *path, int flags, ...); \
    int __wrap_##fn(int at, const char *path, int flags, ...); \
    int __wrap_##fn(int at, const char *path, int flags, ...)  \
    {                                                          \
        int fd = __real_##fn(at, path, flags, 0);              \
        if (fd >= 0 && fd < 64)                                \
            files[fd].name = name_of(path, flags);             \
        return fd;                                             \
    }

WRAP_OPENAT(openat)
WRAP_OPENAT(openat64)

static bool no_unlock; /* the system cannot split a lock */
static void (*before_lock)(void); /* called once, before the next lock */

/* Records locks by their byte: "lock:lock" and "unlock:lock" are the write
   lock's. Returns whether the call must fail. */
static inline bool
note_lock(int fd, int cmd, const struct flock *fl)
{
    void (*before)(void) = before_lock;
    before_lock = NULL;
    if (before != NULL)
        before();
    if (cmd != F_GETLK && cmd != OFD_GETLK && fl->l_start == 0)
        note(fl->l_type == F_UNLCK ? "unlock" : "lock", file_at(fd));
    errno = ENOLCK;
    return cmd != F_GETLK && cmd != OFD_GETLK && fl->l_type == F_UNLCK &&
           no_unlock;
}

WRAP_FCNTL(fcntl, note_lock)
WRAP_FCNTL(fcntl64, note_lock)

/* ---- what was called ---- */

static char *path;

static inline void
begin(void)
{
    trace[0] = '\0';
}

static inline bool
traced(const char *want)
{
    if (strcmp(trace, want) == 0)
        return true;
    fprintf(stderr, "    calls: %s\n    not:   %s\n", trace, want);
    return false;
}

#endif
