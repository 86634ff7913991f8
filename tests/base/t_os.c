/* t_os - what base/os.c does on this system, and when the kernel lacks it. */

#include "base/os.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/wait.h>

/* ---- sync ---- */

#define FULL_SYNC 51 /* F_FULLFSYNC of macOS */

static int full_err; /* of FULL_SYNC; 0: it succeeds */
static int n_full, n_sync, n_data;

#define WRAP_FCNTL(name)                                         \
    int __real_##name(int fd, int cmd, ...);                     \
    int __wrap_##name(int fd, int cmd, ...);                     \
    int __wrap_##name(int fd, int cmd, ...)                      \
    {                                                            \
        va_list ap;                                              \
        void *arg;                                               \
        if (cmd == FULL_SYNC) {                                  \
            n_full++;                                            \
            errno = full_err;                                    \
            return full_err != 0 ? -1 : 0;                       \
        }                                                        \
        va_start(ap, cmd);                                       \
        arg = va_arg(ap, void *);                                \
        va_end(ap);                                              \
        return __real_##name(fd, cmd, arg);                      \
    }

#ifndef __GLIBC__
#pragma weak __real_fcntl64
#endif
WRAP_FCNTL(fcntl)
WRAP_FCNTL(fcntl64)

int __wrap_fsync(int fd);
int __wrap_fdatasync(int fd);

int
__wrap_fsync(int fd)
{
    n_sync++;
    return fd >= 0 ? 0 : -1;
}

int
__wrap_fdatasync(int fd)
{
    n_data++;
    return fd >= 0 ? 0 : -1;
}

#ifdef OS_POSIX_ONLY
/* The disk's cache is emptied where the file system can; an error of the disk
   never becomes a success. */
TEST(sync)
{
    static const struct {
        int err, gives, synced;
    } cases[] = {
        {0, 0, 0}, {ENOTSUP, 0, 1}, {ENOTTY, 0, 1}, {EINVAL, 0, 1},
        {EIO, -1, 0}, {EINTR, -1, 0}, {ENOSPC, -1, 0}, {EBADF, -1, 0},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        full_err = cases[i].err;
        n_full = n_sync = n_data = 0;
        CHECK(os_sync(0) == cases[i].gives);
        CHECK(n_full == 1 && n_sync == cases[i].synced && n_data == 0);
        CHECK(os_sync_data(0) == cases[i].gives);
        CHECK(n_full == 2 && n_sync + n_data == 2 * cases[i].synced);
    }
}
#else
TEST(sync)
{
    CHECK(os_sync(0) == 0 && n_sync == 1 && n_data == 0);
    CHECK(os_sync_data(0) == 0 && n_sync == 1 && n_data == 1);
    CHECK(os_sync(-1) == -1 && os_sync_data(-1) == -1 && n_full == 0);
}
#endif

/* ---- locks ---- */

/* A file that a child has inherited stays locked until it ends, too. */
TEST(inherited_lock)
{
    char *dir = test_tmpdir(), path[1100], byte;
    int held, other, to[2], from[2];
    pid_t pid;

    snprintf(path, sizeof path, "%s/file", dir);
    held = open(path, O_RDWR | O_CREAT, 0600);
    other = open(path, O_RDWR);
    CHECK(pipe(to) == 0 && pipe(from) == 0);
    CHECK(os_lock_file(held, false) == 0);
    CHECK(os_lock_file(other, false) == -1 && errno == EWOULDBLOCK);
    pid = fork();
    if (pid == 0) {
        close(to[1]);
        if (write(from[1], "", 1) != 1 || read(to[0], &byte, 1) != 0)
            _exit(1);
        _exit(0);
    }
    close(to[0]);
    CHECK(read(from[0], &byte, 1) == 1);
    close(held);
    CHECK(os_lock_file(other, false) == -1);
    close(to[1]);
    CHECK(waitpid(pid, NULL, 0) == pid);
    CHECK(os_lock_file(other, true) == 0);
    close(other);
    close(from[0]);
    close(from[1]);
    free(dir);
}

/* Another process sees the lock; only where locks belong to the process does
   closing a descriptor drop it. */
TEST(owner)
{
    struct flock fl = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
    char *dir = test_tmpdir(), path[1100];
    int fd, status;

    snprintf(path, sizeof path, "%s/file", dir);
    fd = open(path, O_RDWR | O_CREAT, 0600);
    CHECK(os_lock(fd, F_SETLK, &fl) == 0);
    for (int closed = 0; closed < 2; closed++) {
        pid_t pid = fork();

        if (pid == 0) {
            int own = open(path, O_RDWR);
            bool got = os_lock(own, F_SETLK, &fl) == 0;

            _exit(got == (closed && os_lock_is_by_process()) ? 0 : 1);
        }
        CHECK(waitpid(pid, &status, 0) == pid && status == 0);
        close(open(path, O_RDONLY));
    }
    close(fd);
    free(dir);
}

/* ---- what the system tells ---- */

TEST(identities)
{
    char a[256] = "", b[256] = "", path[4096];
    struct timespec before, after;
    size_t n = os_own_path(path, sizeof path);

    CHECK(os_random(a, sizeof a) == 0 && os_random(b, sizeof b) == 0);
    CHECK(memcmp(a, b, sizeof a) != 0);
    CHECK(n == 0 || (path[0] == '/' && memchr(path, '\0', n) == NULL));
    CHECK(os_boot_id()[0] == '\0' || strlen(os_boot_id()) == OS_BOOT_LEN);
    CHECK(clock_gettime(os_boot_clock, &before) == 0);
    CHECK(clock_gettime(os_boot_clock, &after) == 0);
    CHECK(after.tv_sec >= before.tv_sec);
#if defined(__linux__) && !defined(OS_POSIX_ONLY)
    CHECK(n > 0 && n < sizeof path && os_mount_of(0) >= 0);
    CHECK(os_own_path(path, n) == 0); /* no room for all of it */
#endif
}

/* ---- descriptors ---- */

TEST(descriptors_are_closed)
{
    static const int fds[] = {20, 21, 300, 1000};
    int status = -1, left = 0;
    pid_t pid = fork();

    if (pid == 0) {
        for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
            dup2(STDERR_FILENO, fds[i]);
        os_close_from(21);
        for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
            left += fcntl(fds[i], F_GETFD) >= 0;
        _exit(left == 1 && fcntl(20, F_GETFD) >= 0 ? 0 : 1);
    }
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
}
