/* write - writes bytes after the committed end, and handles failures.

   After a failed step the log is cut to its committed end and the cut is
   synced. After a failed sync the log is also reopened, since a descriptor
   reports the failures of others too, and the bytes are written and synced once
   more. A sync alone is never retried: the kernel may have dropped the dirty
   pages and would report success. So if even the cut fails, nobody relies on
   the bytes after the mark: the next lock holder writes them again before it
   syncs them.

   Everything here is done under the write lock. */

#include "store/write.h"
#include "base/clock.h"
#include "base/os.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

bool
store_reopen(struct store *s)
{
    struct stat st;
    int fd = open(s->path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return false;
    if (fstat(fd, &st) != 0 || !store_is_log(s, &st)) {
        close(fd);
        return false;
    }
    lock_log(s->log.fd, false); /* a compaction may have it open as well */
    close(s->log.fd);
    s->log.fd = fd;
    s->log.readonly = false;
    lock_log(fd, true);
    return true;
}

static int
sync_log(struct store *s)
{
    if (file_sync(s->log.fd, os_sync_data) == 0)
        return 0;
    int e = errno;
    store_reopen(s); /* otherwise the old descriptor has reported its error */
    errno = e;
    return -1;
}

bool
store_cut(struct store *s)
{
    for (int tries = 0; tries < 2; tries++) {
        int rc;
        do
            rc = ftruncate(s->log.fd, (off_t)s->log.end);
        while (rc != 0 && errno == EINTR);
        if (rc == 0 && sync_log(s) == 0)
            return true;
    }
    return false;
}

/* Writes bytes after the committed end, syncs them and moves the mark to m, if
   not NULL. A replica is not synced: others have its records. 0, or -1 with
   errno and the failed step in *step. */
static int
put_behind(struct store *s, struct str bytes, const struct mark *m,
           const char **step)
{
    *step = "write";
    if (file_write_at(s->log.fd, bytes.p, bytes.len, s->log.end) != 0)
        return -1;
    *step = "fdatasync";
    if (s->replica == NULL && sync_log(s) != 0)
        return -1;
    *step = "the mark";
    return m == NULL || store_put_mark(s, m->g, m->n, m->end, s->ino) == 0
               ? 0 : -1;
}

/* Where locks belong to the process, closing another descriptor of the log has
   dropped the lock on it: takes it again. False: meanwhile a process with
   another lock file has written. */
static bool
still_owns_log(const struct store *s)
{
    struct stat st;
    return !os_lock_is_by_process() ||
           (lock_log(s->log.fd, true) != ERR_BUSY &&
            stat(s->path, &st) == 0 && store_is_log(s, &st) &&
            st.st_size == s->log.end);
}

int
store_put(struct store *s, struct str bytes, const struct mark *m, bool *cut)
{
    const char *step;
    *cut = true;
    if (!still_owns_log(s))
        return ERR_BUSY;
    for (bool again = false;; again = true) {
        if (put_behind(s, bytes, m, &step) == 0)
            return 0;
        int e = errno, rc = file_error();
        int64_t missing = e == EFBIG ? 0 : (int64_t)bytes.len;
        *cut = store_cut(s);
        if (*cut && !again && strcmp(step, "fdatasync") == 0)
            continue;
        if (*cut && rc == ERR_FULL && missing > 0 &&
            room_make_way(s, missing, m != NULL && !s->room.ordinary))
            continue;
        if (rc == ERR_FULL)
            room_note_full(s, missing);
        return store_deny(s, rc, "%s: %s failed: %s", s->path, step,
                          strerror(e));
    }
}

/* Saves the bytes that are about to be cut for a person to examine; as far as
   is known, they were never acknowledged. 0 with the path of the copy, or -1
   with errno. */
static int
keep_torn(struct store *s, int64_t size, char *path, size_t cap)
{
    int64_t ms = clock_wall_ms();
    int fd;
    do {
        text_put(path, cap, "%s.torn-%llu-%lld", s->path,
                 (unsigned long long)s->log.head + 1, (long long)ms++);
        fd = file_create(path);
    } while (fd < 0 && errno == EEXIST); /* another in the same millisecond */
    if (fd < 0)
        return -1;
    file_give(fd, s->path);
    return file_finish(fd, path,
                       log_copy(s->log.fd, s->log.end, size, fd, 0));
}

static int
deny_recovery(struct store *s)
{
    return store_deny_errno(s, s->path, "cannot be recovered: ");
}

/* Whether the rest is what a probe left. */
static bool
was_probed(const struct store *s, int64_t size)
{
    char rest[STORE_BLANKS];
    int64_t len = size - s->log.end;
    if (len > STORE_BLANKS ||
        file_read_at(s->log.fd, rest, (size_t)len, s->log.end) != len)
        return false;
    for (int64_t i = 0; i < len; i++)
        if (rest[i] != STORE_BLANK)
            return false;
    return true;
}

/* Cuts the torn rest, which was saved and synced. The blanks of a probe are not
   worth saving. */
static int
cut_torn(struct store *s, int64_t size)
{
    char torn[FILE_PATH_MAX + 64];
    struct stat st;
    bool keep = !was_probed(s, size);
    if (keep && keep_torn(s, size, torn, sizeof torn) != 0)
        return deny_recovery(s);
    int rc = file_sync_path(s->dir) == 0 && store_cut(s) ? 0
                                                         : deny_recovery(s);
    if (keep && rc != 0 && fstat(s->log.fd, &st) == 0 && st.st_size >= size)
        unlink(torn); /* the next attempt writes it again */
    s->torn = s->torn || (keep && rc == 0);
    return rc;
}

/* The directories are synced first: the process that made or renamed the log
   may have died before it did so. */
int
store_settle_tail(struct store *s, int64_t size)
{
    int rc = 0;
    if (s->log.end < size)
        rc = cut_torn(s, size);
    else if (file_sync_path(s->dir) != 0)
        rc = deny_recovery(s);
    if (rc == 0 && store_put_mark(s, s->log.g, s->log.head, s->log.end,
                                  s->ino) != 0)
        rc = deny_recovery(s);
    return rc;
}

/* Writes the bytes again before syncing: if the writer's sync failed, the
   kernel considers them clean. Only the last batch can be affected, since each
   batch begins after the previous one was synced. */
int
store_sync_tail(struct store *s, int64_t size)
{
    int64_t from = size - 2 * STORE_MAX_BATCH;
    if (from < s->log.end)
        from = s->log.end;
    for (int tries = 0; tries < 2; tries++)
        if (log_copy(s->log.fd, from, size, s->log.fd, from) == 0 &&
            sync_log(s) == 0)
            return 0;
    return deny_recovery(s);
}
