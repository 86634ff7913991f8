/* os - the only file with code for one system.

   It uses names that POSIX does not have, so it makes the headers declare all
   they know. It uses nothing else of the program. */

#undef _XOPEN_SOURCE
#define _DEFAULT_SOURCE 1

#include "base/os.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <unistd.h>

#define MAX_CLOSED 65536 /* descriptors, one by one */

#if defined(OS_POSIX_ONLY)
#define ON_LINUX 0
#define ON_MACOS 0
#elif defined(__linux__)
#define ON_LINUX 1
#define ON_MACOS 0
#include <sys/syscall.h>
#elif defined(__APPLE__)
#define ON_LINUX 0
#define ON_MACOS 1
#include <mach-o/dyld.h>
#include <sys/random.h>
#include <sys/sysctl.h>
#else
#define ON_LINUX 0
#define ON_MACOS 0
#endif

/* ---- sync ---- */

#if ON_MACOS
#define fdatasync fsync /* it does no more there, and is not declared */
#elif defined(OS_POSIX_ONLY)
#define F_FULLFSYNC 51 /* no kernel but that of macOS knows it */
#endif

/* fsync of macOS leaves data in the cache of the drive, which F_FULLFSYNC
   empties. Network file systems lack it and fail with one of these errors. Any
   other error must stay an error. */
static int
sync_fully(int fd, int (*sync)(int fd))
{
#ifdef F_FULLFSYNC
    if (fcntl(fd, F_FULLFSYNC, 0) == 0)
        return 0;
    if (errno != ENOTSUP && errno != ENOTTY && errno != EINVAL)
        return -1;
#endif
    return sync(fd);
}

int
os_sync(int fd)
{
    return sync_fully(fd, fsync);
}

int
os_sync_data(int fd)
{
    return sync_fully(fd, fdatasync);
}

/* ---- locks ---- */

/* POSIX.1-2024; C libraries hide them under the edition before. */
#if ON_LINUX && !defined(F_OFD_SETLK)
#define F_OFD_GETLK 36
#define F_OFD_SETLK 37
#define F_OFD_SETLKW 38
#endif

/* The owner of locks; the first call finds out. */
static enum { UNKNOWN, OPEN_FILE, PROCESS } owner;

int
os_lock(int fd, int cmd, struct flock *fl)
{
#if defined(F_OFD_SETLK) && !defined(OS_POSIX_ONLY)
    int own = cmd == F_SETLKW ? F_OFD_SETLKW : F_OFD_SETLK;

    if (cmd == F_GETLK)
        own = F_OFD_GETLK;
    if (owner != PROCESS) {
        int rc = fcntl(fd, own, fl);

        if (rc == 0 || errno != EINVAL) {
            owner = OPEN_FILE;
            return rc;
        }
    }
#endif
    owner = PROCESS;
    return fcntl(fd, cmd, fl);
}

bool
os_lock_is_by_process(void)
{
    struct flock fl = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};

    if (owner == UNKNOWN)
        os_lock(STDERR_FILENO, F_GETLK, &fl); /* any file will do */
    return owner == PROCESS;
}

int
os_lock_file(int fd, bool wait)
{
    return flock(fd, wait ? LOCK_EX : LOCK_EX | LOCK_NB);
}

/* ---- the boot ---- */

#if ON_LINUX
/* Reads the beginning of a file of /proc, "" if there is none. */
static void
read_proc(const char *path, char *out, size_t cap)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, out, cap - 1) : -1;

    out[n > 0 ? n : 0] = '\0';
    if (fd >= 0)
        close(fd);
}
#endif

/* macOS also reports when it was booted, but that time changes when the clock
   is set. */
const char *
os_boot_id(void)
{
    static char id[OS_BOOT_LEN + 1];
    static bool looked;

    if (looked)
        return id;
    looked = true;
#if ON_LINUX
    read_proc("/proc/sys/kernel/random/boot_id", id, sizeof id);
#elif ON_MACOS
    size_t len = sizeof id;
    if (sysctlbyname("kern.bootsessionuuid", id, &len, NULL, 0) != 0)
        id[0] = '\0';
#endif
    if (strlen(id) != OS_BOOT_LEN)
        id[0] = '\0';
    return id;
}

/* CLOCK_MONOTONIC of macOS continues while the system sleeps, but it is derived
   from the time of day and may lag behind it. */
#if ON_LINUX
const clockid_t os_boot_clock = CLOCK_BOOTTIME;
#elif ON_MACOS
const clockid_t os_boot_clock = CLOCK_MONOTONIC_RAW;
#else
const clockid_t os_boot_clock = CLOCK_MONOTONIC;
#endif

/* ---- the rest ---- */

/* For kernels without getentropy's system call; an empty root has no /dev
   either. Reads of up to 256 bytes are neither short nor interrupted:
   random(4). */
static int
read_urandom(void *p, size_t n)
{
    int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
    ssize_t got = fd >= 0 ? read(fd, p, n) : -1;

    if (fd >= 0)
        close(fd);
    return got == (ssize_t)n ? 0 : -1;
}

int
os_random(void *p, size_t n)
{
    return getentropy(p, n) == 0 ? 0 : read_urandom(p, n);
}

size_t
os_own_path(char *out, size_t cap)
{
#if ON_LINUX
    ssize_t n = readlink("/proc/self/exe", out, cap);

    return n > 0 && (size_t)n < cap ? (size_t)n : 0;
#elif ON_MACOS
    uint32_t size = (uint32_t)cap;

    return _NSGetExecutablePath(out, &size) == 0 ? strlen(out) : 0;
#else
    (void)out;
    (void)cap;
    return 0;
#endif
}

/* The limit of descriptors may be a billion, as in containers. */
void
os_close_from(int fd)
{
    long end = sysconf(_SC_OPEN_MAX);

#if ON_LINUX && defined(SYS_close_range)
    if (syscall(SYS_close_range, (unsigned)fd, ~0u, 0u) == 0)
        return;
#endif
    if (end < 0 || end > MAX_CLOSED)
        end = MAX_CLOSED;
    for (; fd < end; fd++)
        close(fd);
}

int64_t
os_mount_of(int fd)
{
#if ON_LINUX
    char text[256];
    const char *at;

    snprintf(text, sizeof text, "/proc/self/fdinfo/%d", fd);
    read_proc(text, text, sizeof text);
    at = strstr(text, "mnt_id:");
    return at != NULL ? strtoll(at + 7, NULL, 10) : -1;
#else
    (void)fd;
    return -1;
#endif
}

void
os_keep_alive(int fd, int idle_s, int probe_s, int probes)
{
    int on = 1;

    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
#if defined(TCP_KEEPIDLE)
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
#elif defined(TCP_KEEPALIVE) /* macOS */
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPALIVE, &idle_s, sizeof idle_s);
#endif
#if defined(TCP_KEEPINTVL) && defined(TCP_KEEPCNT)
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &probe_s, sizeof probe_s);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
#endif
    (void)idle_s;
    (void)probe_s;
    (void)probes;
}

/* ---- terminals ---- */

int
os_resize_signal(void)
{
    return SIGWINCH;
}
