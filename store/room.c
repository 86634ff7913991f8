/* room - a log on a disk that is small, or nearly full.

   A compaction needs room for all that it carries along. So, while there is
   little, it is looked now and then whether that much is still there; where
   it is not, closed generations go, and the log is compacted early. And there
   is a reserve, a file of written bytes that no file system can make smaller:
   it is given up by the first write that finds no room, so that a task can
   still be ended and the log still be compacted.

   Invariants:
   1. The reserve is made only where what is left is enough for a compaction,
      so that it is never the reason for one.
   2. It is not synced: what a power loss makes of it is seen by its length,
      and it is made anew. */

#include "store/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define SCARCE (64LL * 1024 * 1024) /* with more free room, no reserve */
#define LOOK_STEP (16 * 1024)       /* bytes that the log grows between looks */
#define MARGIN (256 * 1024)         /* what is written until it is done */
#define PIECE 256

static int64_t
free_room(const struct store *s)
{
    struct statvfs v;
    if (statvfs(s->dir, &v) != 0)
        return INT64_MAX;
    return (int64_t)v.f_bavail * (int64_t)v.f_frsize;
}

/* Writes the reserve, unless it is there. */
static void
make_reserve(const struct store *s)
{
    char piece[PIECE], *path = file_join(s->path, ".reserve");
    int64_t at = STORE_RESERVE;
    struct stat st = {.st_size = 0};
    int fd = path == NULL ? -1 : open(path, O_WRONLY | O_CREAT | O_CLOEXEC |
                                      O_NOFOLLOW | O_NONBLOCK, 0600);
    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
        st.st_size < STORE_RESERVE)
        for (at = 0; at < STORE_RESERVE; at += PIECE)
            if (random_bytes(piece, PIECE) != 0 ||
                file_write_at(fd, piece, PIECE, at) != 0)
                break;
    if (fd >= 0)
        close(fd);
    if (at < STORE_RESERVE)
        unlink(path);
    free(path);
}

bool
store_give_reserve(struct store *s)
{
    int e = errno;
    char *path = file_join(s->path, ".reserve");
    bool given = path != NULL && unlink(path) == 0;
    free(path);
    if (given)
        s->looked_end = -LOOK_STEP; /* the next look is now */
    errno = e;
    return given;
}

bool
store_has_room(struct store *s, int64_t need)
{
    if (free_room(s) >= need)
        return true;
    store_prune(s, 0);
    return free_room(s) >= need;
}

bool
store_is_short(struct store *s)
{
    int64_t need = s->end - (s->superseded - s->superseded_base) + MARGIN;
    if (llabs(s->end - s->looked_end) < LOOK_STEP)
        return s->is_short;
    s->looked_end = s->end;
    int64_t room = free_room(s);
    if (room < SCARCE && room >= need + 2 * STORE_RESERVE)
        make_reserve(s);
    s->is_short = !store_has_room(s, need);
    return s->is_short;
}
