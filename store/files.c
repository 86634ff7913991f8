/* files - the files beside the log.

   A closed generation is the log file from before a compaction, under its own
   name. Between link and rename, the log has both names. */

#include "store/files.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

int
store_open_closed(const struct store *s, uint64_t g)
{
    return open(store_closed_path(s, g),
                O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
}

/* Looks at the closed generations, the newest first. Returns their bytes.
   *oldest: the one before the oldest; *keep_from: the oldest of those that have
   no more than max bytes together, 0: all. */
static int64_t
measure_closed(const struct store *s, int64_t max, uint64_t *oldest,
               uint64_t *keep_from)
{
    int64_t sum = 0;
    struct stat st;
    *oldest = s->log.g;
    *keep_from = 0;
    for (uint64_t g = s->log.g; g > 0; g--, *oldest = g) {
        if (lstat(store_closed_path(s, g), &st) != 0 ||
            !S_ISREG(st.st_mode)) {
            /* Not closed, or not kept. The one before may be missing too, if a
               process was killed before it pruned. */
            if (g + 1 >= s->log.g)
                continue;
            break;
        }
        sum += st.st_size;
        if (sum > max && *keep_from == 0)
            *keep_from = g + 1;
    }
    return sum;
}

int64_t
store_closed_len(const struct store *s)
{
    uint64_t oldest, keep_from;
    return measure_closed(s, INT64_MAX, &oldest, &keep_from);
}

void
store_prune(struct store *s, int64_t max)
{
    char reserve[FILE_PATH_MAX + 32];
    uint64_t oldest, keep_from;
    measure_closed(s, max, &oldest, &keep_from);
    for (uint64_t g = oldest + 1; g < keep_from; g++)
        unlink(store_closed_path(s, g));
    text_put(reserve, sizeof reserve, "%s.reserve", s->path);
    unlink(reserve); /* version 0.2.0 kept it for a full disk */
}

/* Without hard links (FAT, some network file systems) the old log gets no
   second name, and history begins again. A file of that name exists only in a
   copy of the store: see open_new. */
int
store_link_old(struct store *s)
{
    if (link(s->path, store_closed_path(s, s->log.g)) == 0)
        return file_sync_path(s->dir);
    return errno == EPERM || errno == ENOSYS || errno == EOPNOTSUPP ||
                   errno == EMLINK || errno == EEXIST ? 0 : file_error();
}

void
store_unlink_old(struct store *s)
{
    struct stat st;
    if (stat(s->path, &st) != 0 || !store_is_log(s, &st))
        return; /* the open file is already the closed generation */
    if (lstat(store_closed_path(s, s->log.g), &st) == 0 &&
        store_is_log(s, &st))
        unlink(store_closed_path(s, s->log.g));
}

int
store_copy(int from_fd, int64_t from, int64_t end, int fd, int64_t at)
{
    char buf[16 * 1024];
    while (from < end) {
        int64_t left = end - from;
        ssize_t n = file_read_at(from_fd, buf,
                                 left < (int64_t)sizeof buf ? (size_t)left
                                                            : sizeof buf, from);
        if (n == 0)
            errno = EIO;
        int rc = n <= 0 ? file_error() : file_write_at(fd, buf, (size_t)n, at);
        if (rc != 0)
            return rc;
        from += n;
        at += n;
    }
    return 0;
}
