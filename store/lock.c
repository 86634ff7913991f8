/* lock - the file beside the log: fcntl locks on its bytes, and the mark.

   The locks belong to the open file and end with it. Where a kernel has none
   like these, they belong to the process; both kinds conflict with each other.

   Invariants:
   1. The file is opened once and never closed while a lock on it is held. A
      second descriptor would have to wait for the first; or, by the rule of
      base/os.h, would get each lock too and drop them all when it is closed.
   2. The mark is overwritten in place by one pwrite of fixed length. It is
      never synced: if it is stale or broken, the next process that opens the
      log reads the log's tail, and that is all. Its CRCs detect a read during a
      write.
   3. A process sleeps for the lock only while a repeating timer runs: a single
      signal could arrive just before the sleep. */

#include "store/lock.h"

#include "store/record.h"
#include "store/remote.h"
#include "base/file.h"
#include "base/os.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#define SUM_AT 53 /* offset of the first line's CRC */

_Static_assert(LOCK_MARK_LEN + REMOTE_HEAD_MAX < LOCK_FULL_LEN - 9, "it fits");

static int
lock_byte(int fd, int cmd, short type, uint64_t at)
{
    struct flock fl = {.l_type = type, .l_whence = SEEK_SET,
                       .l_start = (off_t)at, .l_len = 1};
    if (os_lock(fd, cmd, &fl) == 0)
        return 0;
    return errno == EACCES || errno == EAGAIN || errno == EINTR ? ERR_BUSY
                                                                : ERR_IO;
}

int
lock_log(int fd, bool take)
{
    return lock_byte(fd, F_SETLK, take ? F_WRLCK : F_UNLCK, 0);
}

int
lock_open(struct lock *l, bool create)
{
    int flags = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
    if (l->fd >= 0 && !(create && l->readonly != 0)) {
        errno = l->readonly;
        return l->readonly != 0 ? ERR_READONLY : 0;
    }
    lock_close(l); /* opened for reading, it has no locks */
    int fd = open(l->path, O_RDWR | flags | (create ? O_CREAT : 0), 0600);
    int e = errno;
    l->readonly = fd < 0 && file_error() == ERR_READONLY ? e : 0;
    if (l->readonly != 0)
        fd = open(l->path, O_RDONLY | flags);
    errno = e;
    if (fd < 0 && l->readonly == 0)
        return e == ENOENT ? ERR_NOT_FOUND : ERR_IO;
    if (fd < 0)
        return ERR_READONLY;
    struct stat st;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        close(fd);
        errno = EINVAL;
        return ERR_IO;
    }
    l->fd = fd;
    l->dev = st.st_dev;
    l->ino = st.st_ino;
    mark_forget(l);
    if (l->instance != 0 && lock_try(l, l->instance) != 0)
        l->instance = 0;
    errno = l->readonly;
    return l->readonly != 0 ? ERR_READONLY : 0;
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
lock_try(struct lock *l, uint64_t at)
{
    int rc = lock_byte(l->fd, F_SETLK, F_WRLCK, at);
    l->held |= rc == 0 && at == LOCK_WRITE;
    return rc;
}

static void
on_alarm(int sig)
{
    (void)sig; /* it only has to interrupt fcntl */
}

int
lock_wait(struct lock *l)
{
    static bool handled;
    struct itimerval tick = {{0, LOCK_WAIT_TICK_MS * 1000},
                             {0, LOCK_WAIT_TICK_MS * 1000}};
    if (!handled) {
        struct sigaction sa = {.sa_handler = on_alarm}; /* no SA_RESTART */
        sigemptyset(&sa.sa_mask);
        sigaddset(&sa.sa_mask, SIGALRM);
        if (sigaction(SIGALRM, &sa, NULL) != 0 || /* the parent may have blocked
                                                     it */
            sigprocmask(SIG_UNBLOCK, &sa.sa_mask, NULL) != 0)
            return ERR_IO;
        handled = true;
    }
    if (setitimer(ITIMER_REAL, &tick, NULL) != 0)
        return ERR_IO;
    int rc = lock_byte(l->fd, F_SETLKW, F_WRLCK, LOCK_WRITE);
    l->held |= rc == 0;
    setitimer(ITIMER_REAL, &(struct itimerval){{0, 0}, {0, 0}}, NULL);
    return rc;
}

void
lock_release(struct lock *l, enum lock_byte which)
{
    if (lock_byte(l->fd, F_SETLK, F_UNLCK, which) == 0 && which == LOCK_WRITE)
        l->held = false;
}

bool
lock_is_free(const struct lock *l, uint64_t at)
{
    struct flock fl = {.l_type = F_WRLCK, .l_whence = SEEK_SET,
                       .l_start = (off_t)at, .l_len = 1};
    return os_lock(l->fd, F_GETLK, &fl) == 0 && fl.l_type == F_UNLCK;
}

/* The first of the numbers of this host's processes: 28 bits are made from the
   file and the boot. 0: the boot is unknown, so hosts may look alike. */
static uint64_t
first_here(const struct lock *l)
{
    uint64_t file[] = {(uint64_t)l->dev, (uint64_t)l->ino};
    const char *boot = os_boot_id();
    uint32_t sum = crc32c(crc32c(0, boot, strlen(boot)), file, sizeof file);
    return boot[0] == '\0' ? 0
                           : REMOTE_INSTANCES + ((uint64_t)(sum >> 4) << 24);
}

bool
lock_has(const struct lock *l, uint64_t instance)
{
    return instance >= LOCK_INSTANCES &&
           (l->hosts ? instance - first_here(l) < 1 << 24
                     : instance <= LOCK_INSTANCES_END);
}

void
lock_instance(struct lock *l)
{
    uint64_t at, first = l->hosts ? first_here(l) : LOCK_INSTANCES;
    if (random_bytes(&at, sizeof at) != 0)
        return;
    /* 40 or 52 bits: exact in JSON */
    if (!l->hosts)
        at = first + (at >> 24);
    else
        at = first != 0 ? first + (at >> 40) : REMOTE_INSTANCES + (at >> 12);
    if (lock_try(l, at) == 0)
        l->instance = at;
}

/* ---- the mark ---- */

bool
mark_is_of(const struct mark *m, const char *id, uint64_t ino)
{
    return m->id[0] == '\0' ||
           (m->ino == ino && (id[0] == '\0' || strcmp(m->id, id) == 0));
}

void
mark_forget(struct lock *l)
{
    memset(l->seen, 0, sizeof l->seen);
}

/* The parts of a mark, in the order of its bytes. */
static const struct part {
    uint16_t at, len; /* in the file */
    uint8_t in;       /* in struct mark */
    enum { NUMBER, TEXT, LINE /* text; empty: the mark ends before */,
           SUM /* of all before */ } kind : 8;
} parts[] = {
#define PART(at, len, member, kind) \
    {at, len, offsetof(struct mark, member), kind}
    PART(0, 10, g, NUMBER), PART(11, 20, n, NUMBER), PART(32, 20, end, NUMBER),
    PART(SUM_AT, 8, g, SUM),
    PART(64, 32, id, LINE), PART(97, 20, ino, NUMBER),
    PART(118, 20, time_ms, NUMBER), PART(139, 20, boot_ms, NUMBER),
    PART(160, OS_BOOT_LEN, boot, TEXT), PART(197, 20, unused[0], NUMBER),
    PART(218, 20, unused[1], NUMBER), PART(LOCK_MARK_LEN - 9, 8, g, SUM),
    PART(LOCK_MARK_LEN, REMOTE_HEAD_MAX - 1, head, LINE),
    PART(LOCK_FULL_LEN - 9, 8, g, SUM),
};
#define PARTS_END (parts + sizeof parts / sizeof *parts)

/* Every commit does this, so it avoids text_put. Returns the length. */
static size_t
mark_format(const struct mark *m, char out[LOCK_FULL_LEN])
{
    memset(out, ' ', LOCK_FULL_LEN);
    for (const struct part *f = parts; f < PARTS_END; f++) {
        const char *from = (const char *)m + f->in;
        char *to = out + f->at;
        if (f->kind == LINE && *from == '\0')
            return LOCK_MARK_LEN;
        if (f->kind == SUM) {
            text_hex(to, f->len, crc32c(0, out, f->at));
            to[f->len] = '\n';
        } else if (f->kind != NUMBER) {
            memcpy(to, from, strlen(from));
        } else {
            uint64_t v = *(const uint64_t *)(const void *)from;
            for (int i = f->len; i-- > 0; v /= 10)
                to[i] = (char)('0' + v % 10);
        }
    }
    return LOCK_FULL_LEN;
}

/* Checks nothing while reading: a mark is valid if formatting it again gives
   the same bytes. */
static bool
mark_parse(const char *p, struct mark *out)
{
    char same[LOCK_FULL_LEN];
    memset(out, 0, sizeof *out);
    for (const struct part *f = parts; f < PARTS_END; f++) {
        char *to = (char *)out + f->in;
        uint64_t v = 0;
        for (int i = 0; i < f->len && f->kind == NUMBER; i++)
            v = v * 10 + (uint64_t)(p[f->at + i] - '0');
        if (f->kind == NUMBER)
            memcpy(to, &v, sizeof v);
        else if (f->kind != SUM)
            memcpy(to, p + f->at, f->len);
    }
    for (size_t i = REMOTE_HEAD_MAX - 1; i-- > 0 && out->head[i] == ' ';)
        out->head[i] = '\0';
    if (mark_format(out, same) != LOCK_FULL_LEN ||
        memcmp(p, same, LOCK_FULL_LEN) != 0)
        out->head[0] = '\0';
    if (memcmp(p, same, LOCK_MARK_LEN) != 0)
        out->id[0] = '\0';
    return out->end >= 0 && memcmp(p, same, SUM_AT + 9) == 0;
}

int
mark_read(struct lock *l, struct mark *out)
{
    char now[LOCK_FULL_LEN];
    for (int tries = 0; tries < 4; tries++) { /* invariant 2 */
        ssize_t n = pread(l->fd, now, sizeof now, 0);
        if (n < 0 && errno != EINTR)
            return ERR_IO;
        if (n < SUM_AT + 9)
            continue;
        memset(now + n, 0, sizeof now - (size_t)n);
        if (str_eq((struct str){now, sizeof now},
                   (struct str){l->seen, sizeof l->seen}))
            return MARK_SAME;
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
    char line[LOCK_FULL_LEN], now[SUM_AT + 9];
    size_t len = mark_format(m, line);
    ssize_t n;
    do
        n = pwrite(l->fd, line, len, 0);
    while (n < 0 && errno == EINTR);
    if (n == (ssize_t)len) {
        memset(l->seen, 0, LOCK_FULL_LEN);
        memcpy(l->seen, line, len);
        return 0;
    }
    mark_forget(l);
    if (n >= 0)
        errno = EIO;
    /* A part may complete the first line, which says what is committed. */
    return pread(l->fd, now, sizeof now, 0) == (ssize_t)sizeof now &&
                   memcmp(now, line, sizeof now) == 0 ? 0 : ERR_IO;
}
