/* file - what all who write files do alike.

   What is new in a directory is there after a power loss only once that
   directory was synced; so whoever makes or renames something syncs what it
   is in, and a directory that had to be made is synced into its own parent.
   Nothing here is tried again after a failed sync: the kernel may have
   dropped the dirty pages and would report success. */

#include "file.h"
#include "text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int
file_errno(int e)
{
    switch (e) {
    case ENOSPC: case EDQUOT: case EFBIG:
        return ERR_FULL;
    case EROFS: case EACCES: case EPERM:
        return ERR_READONLY;
    case ENOMEM:
        return ERR_NOMEM;
    default:
        return ERR_IO;
    }
}

int
file_write_at(int fd, const char *p, size_t n, int64_t off)
{
    while (n > 0) {
        ssize_t done = pwrite(fd, p, n, (off_t)off);
        if (done < 0 && errno == EINTR)
            continue;
        if (done == 0)
            errno = EIO;
        if (done <= 0)
            return -1;
        p += done;
        off += done;
        n -= (size_t)done;
    }
    return 0;
}

int
file_flush(int fd, struct buf *b, int64_t *off, size_t keep)
{
    if (b->err != 0)
        return ERR_NOMEM;
    if (file_write_at(fd, b->p, b->len, *off) != 0)
        return file_errno(errno);
    *off += (int64_t)b->len;
    buf_reset(b, keep);
    return 0;
}

char *
file_join(const char *a, const char *b)
{
    size_t n = strlen(a) + strlen(b) + 1;
    char *p = malloc(n);
    if (p != NULL)
        text_put(p, n, "%s%s", a, b);
    return p;
}

char *
file_dir_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (slash == NULL)
        return file_join(".", "");
    char *d = file_join(path, "");
    if (d != NULL)
        d[slash == path ? 1 : slash - path] = '\0';
    return d;
}

int
file_open_dir(const char *dir)
{
    return open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

int
file_sync_dir(int dir_fd)
{
    int rc = fsync(dir_fd), e = errno;
    close(dir_fd);
    errno = e;
    return rc == 0 || e == EINVAL ? 0 : -1; /* some file systems cannot */
}

int
file_sync_path(const char *dir)
{
    int fd = file_open_dir(dir);
    return fd < 0 || file_sync_dir(fd) != 0 ? file_errno(errno) : 0;
}

int
file_make_dirs(const char *dir)
{
    struct stat st;
    if (stat(dir, &st) == 0)
        return 0;
    char *part = file_join(dir, ""), *parent;
    int rc = part == NULL ? ERR_NOMEM : 0;
    for (size_t i = 1; rc == 0 && i <= strlen(dir); i++) {
        if (dir[i] != '/' && dir[i] != '\0')
            continue;
        part[i] = '\0';
        if (mkdir(part, 0700) == 0) {
            parent = file_dir_of(part);
            rc = parent == NULL ? ERR_NOMEM : file_sync_path(parent);
            free(parent);
        } else if (errno != EEXIST) {
            rc = file_errno(errno);
        }
        part[i] = dir[i];
    }
    free(part);
    return rc;
}
