/* lock - the file beside the log: fcntl locks on its bytes, and the mark.

   The locks belong to the open file description, so they end with that
   descriptor alone. Locks that belong to the process, as other programs and
   older kernels have them, conflict with these all the same.

   Invariants:
   1. The file is opened once and never closed while a lock on it is held.
      A second descriptor would have to wait for the first, and where locks
      belong to the process, closing it would drop them all.
   2. The mark is overwritten in place by one pwrite of fixed length. It is
      never synced: a stale or broken one costs a look at the log's tail, by
      whoever opens it next, and nothing else. Its CRC catches a read that
      meets a write.
   3. Nobody sleeps for the lock without a repeating timer running, so that
      the signal cannot fall between a test and the sleep. */

#include "lock.h"

#include "record.h"
#include "text.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#define MARK_SUM_FROM (LOCK_MARK_LEN - 9)

/* Of POSIX.1-2024; under the edition before it the C library hides them. */
#if defined(__linux__) && !defined(F_OFD_SETLK)
#define F_OFD_GETLK 36
#define F_OFD_SETLK 37
#define F_OFD_SETLKW 38
#endif

/* What locks belong to, which the first call finds out. */
static enum { UNKNOWN, DESCRIPTION, PROCESS } owner;

/* fcntl for a command that is given as F_SETLK, F_SETLKW or F_GETLK. */
static int
call_fcntl(int fd, int cmd, struct flock *fl)
{
#ifdef F_OFD_SETLK
    int own = cmd == F_SETLK    ? F_OFD_SETLK
              : cmd == F_SETLKW ? F_OFD_SETLKW
                                : F_OFD_GETLK;
    int rc = owner == PROCESS ? -1 : fcntl(fd, own, fl);
    if (owner != PROCESS && (rc == 0 || errno != EINVAL)) {
        owner = DESCRIPTION;
        return rc;
    }
#endif
    owner = PROCESS;
    return fcntl(fd, cmd, fl);
}

bool
lock_is_by_process(void)
{
    struct flock fl = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
    if (owner == UNKNOWN)
        call_fcntl(STDERR_FILENO, F_GETLK, &fl); /* any file will do */
    return owner == PROCESS;
}

static int
set_lock(struct lock *l, int cmd, short type, uint64_t at)
{
    struct flock fl = {.l_type = type, .l_whence = SEEK_SET,
                       .l_start = (off_t)at, .l_len = 1};
    int rc = call_fcntl(l->fd, cmd, &fl);
    if (rc == 0) {
        if (at == LOCK_WRITE)
            l->held = type != F_UNLCK;
        return 0;
    }
    return errno == EACCES || errno == EAGAIN || errno == EINTR ? ERR_MORE
                                                                : ERR_IO;
}

int
lock_open(struct lock *l, bool create)
{
    int flags = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
    bool readonly = false;
    if (l->fd >= 0)
        return l->readonly ? ERR_READONLY : 0;
    int fd = open(l->path, O_RDWR | flags | (create ? O_CREAT : 0), 0600);
    if (fd < 0 && (errno == EACCES || errno == EROFS || errno == EPERM)) {
        readonly = true;
        fd = open(l->path, O_RDONLY | flags);
        if (fd < 0)
            return ERR_READONLY;
    }
    if (fd < 0)
        return errno == ENOENT ? ERR_NOT_FOUND : ERR_IO;
    struct stat st;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        close(fd);
        errno = EINVAL;
        return ERR_IO;
    }
    l->fd = fd;
    l->dev = st.st_dev;
    l->ino = st.st_ino;
    l->readonly = readonly;
    mark_forget(l);
    if (l->instance != 0 &&
        set_lock(l, F_SETLK, F_WRLCK, l->instance) != 0)
        l->instance = 0;
    return readonly ? ERR_READONLY : 0;
}

bool
lock_is_at_path(const struct lock *l)
{
    struct stat st;
    return stat(l->path, &st) == 0 && st.st_dev == l->dev &&
           st.st_ino == l->ino;
}

void
lock_close(struct lock *l)
{
    if (l->fd >= 0)
        close(l->fd);
    l->fd = -1;
    l->held = false;
}

int
lock_try(struct lock *l, enum lock_byte which)
{
    return set_lock(l, F_SETLK, F_WRLCK, which);
}

static void
on_alarm(int sig)
{
    (void)sig; /* its one purpose is to interrupt fcntl */
}

int
lock_wait(struct lock *l)
{
    static bool handled;
    struct itimerval tick = {{0, LOCK_WAIT_TICK_MS * 1000},
                             {0, LOCK_WAIT_TICK_MS * 1000}};
    struct itimerval off = {{0, 0}, {0, 0}};
    if (!handled) {
        struct sigaction sa;
        memset(&sa, 0, sizeof sa);
        sa.sa_handler = on_alarm; /* without SA_RESTART */
        sigemptyset(&sa.sa_mask);
        sigset_t alarm; /* blocked, maybe, by whoever started us */
        sigemptyset(&alarm);
        sigaddset(&alarm, SIGALRM);
        if (sigaction(SIGALRM, &sa, NULL) != 0 ||
            sigprocmask(SIG_UNBLOCK, &alarm, NULL) != 0)
            return ERR_IO;
        handled = true;
    }
    if (setitimer(ITIMER_REAL, &tick, NULL) != 0)
        return ERR_IO;
    int rc = set_lock(l, F_SETLKW, F_WRLCK, LOCK_WRITE);
    setitimer(ITIMER_REAL, &off, NULL);
    return rc;
}

void
lock_release(struct lock *l, enum lock_byte which)
{
    set_lock(l, F_SETLK, F_UNLCK, which);
}

bool
lock_is_free(const struct lock *l, uint64_t at)
{
    struct flock fl = {.l_type = F_WRLCK, .l_whence = SEEK_SET,
                       .l_start = (off_t)at, .l_len = 1};
    return call_fcntl(l->fd, F_GETLK, &fl) == 0 && fl.l_type == F_UNLCK;
}

void
lock_instance(struct lock *l)
{
    uint64_t at;
    if (random_bytes(&at, sizeof at) != 0)
        return;
    at = LOCK_INSTANCES + (at >> 24); /* 40 bits: exact in JSON */
    if (set_lock(l, F_SETLK, F_WRLCK, at) == 0)
        l->instance = at;
}

/* ---- the mark ---- */

void
mark_forget(struct lock *l)
{
    memset(l->seen, 0, sizeof l->seen);
}

/* v in exactly n digits, or its last n, and a blank. */
static char *
put_digits(char *p, int n, uint64_t v)
{
    for (int i = n; i > 0; i--, v /= 10)
        p[i - 1] = (char)('0' + v % 10);
    p[n] = ' ';
    return p + n + 1;
}

static void
mark_format(const struct mark *m, char out[LOCK_MARK_LEN])
{
    char *p = put_digits(out, 10, m->g);
    p = put_digits(p, 20, m->n);
    p = put_digits(p, 20, (uint64_t)m->end);
    record_put_hex(p, crc32c(0, out, MARK_SUM_FROM));
    p[8] = '\n';
}

static bool
mark_parse(const char *p, struct mark *out)
{
    char again[LOCK_MARK_LEN];
    uint64_t end;
    if (!str_u64((struct str){p, 10}, &out->g) ||
        !str_u64((struct str){p + 11, 20}, &out->n) ||
        !str_u64((struct str){p + 32, 20}, &end) || end > INT64_MAX)
        return false;
    out->end = (int64_t)end;
    mark_format(out, again);
    return memcmp(p, again, LOCK_MARK_LEN) == 0;
}

int
mark_read(struct lock *l, struct mark *out)
{
    char now[LOCK_MARK_LEN];
    for (int tries = 0; tries < 4; tries++) { /* invariant 2 */
        ssize_t n = pread(l->fd, now, sizeof now, 0);
        if (n < 0 && errno != EINTR)
            return ERR_IO;
        if (n != sizeof now)
            continue;
        if (memcmp(now, l->seen, sizeof now) == 0)
            return ERR_MORE;
        if (mark_parse(now, out)) {
            memcpy(l->seen, now, sizeof now);
            return 0;
        }
    }
    return ERR_SYNTAX;
}

int
mark_write(struct lock *l, const struct mark *m)
{
    char line[LOCK_MARK_LEN];
    ssize_t n;
    mark_format(m, line);
    do
        n = pwrite(l->fd, line, LOCK_MARK_LEN, 0);
    while (n < 0 && errno == EINTR);
    if (n != LOCK_MARK_LEN) {
        if (n >= 0)
            errno = EIO;
        mark_forget(l);
        return ERR_IO;
    }
    memcpy(l->seen, line, LOCK_MARK_LEN);
    return 0;
}
