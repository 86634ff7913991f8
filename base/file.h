#ifndef BASE_FILE_H
#define BASE_FILE_H

/* file - what all who write files do alike: errors, whole writes, and
   directories that are synced. It knows no format. */

#include "base/base.h"

#include <sys/types.h>

/* enum err for an errno of a file operation. */
int file_errno(int e);
/* Writes n bytes at off, whatever is interrupted: 0 or -1 with errno. */
int file_write_at(int fd, const char *p, size_t n, int64_t off);
/* Reads n bytes at off, fewer only where the file ends: how many, or -1 with
   errno. */
ssize_t file_read_at(int fd, void *p, size_t n, int64_t off);
/* Writes all of b at *off, which is moved on, and empties it, with no more
   room left than keep. 0, ERR_NOMEM where b is not whole, or enum err. */
int file_flush(int fd, struct buf *b, int64_t *off, size_t keep);

/* a and b as one text, heap, or NULL. */
char *file_join(const char *a, const char *b);
/* Cuts path down to its directory; false, and path stays: it has no slash, or
   is "/". */
bool file_cut(char *path);
/* The directory that path is in, heap, or NULL. */
char *file_dir_of(const char *path);
/* The last name of path. */
const char *file_name(const char *path);
/* Makes dir and what is missing above it, mode 0700; file_sync_path syncs
   them. 0 or enum err. */
int file_make_dirs(const char *dir);
/* Gives a new file, still empty, or directory the group of like and its rights;
   where like is missing, those of its directory, if that is setgid. What root
   made gets the owner of like as well. */
void file_give(int fd, const char *like);

/* Makes and syncs a new file of content, after file_give; with own no group may
   use it. Returns 0, or an error without leaving a file; ERR_READONLY only if
   its directory may not be written. */
int file_write_new(const char *path, const char *like, struct str content,
                   bool own);
/* Opens a regular file that only its owner may use, with flags beside O_RDONLY.
   Returns the descriptor, with *len and a NULL *why; or, explained in *why,
   ERR_IO with errno or ERR_INVALID. */
int file_open_private(const char *path, int flags, size_t *len,
                      const char **why);
/* fsync or fdatasync of fd, whatever is interrupted: 0 or -1 with errno. */
int file_sync(int fd, int (*sync)(int fd));
/* Syncs what was written, if rc is 0, and closes fd: rc, or enum err. */
int file_finish(int fd, int rc);
/* A descriptor of a directory, to be synced after a rename. -1: errno. */
int file_open_dir(const char *dir);
/* fsync of a directory and close: 0, or -1 with errno. */
int file_sync_dir(int dir_fd);
/* Syncs dir and each directory above it, up to the root of the file system
   or one that may not be read. 0 or enum err with errno. */
int file_sync_path(const char *dir);
/* The same for the directory that path is in; ERR_NOMEM. */
int file_sync_path_of(const char *path);
/* Reads the first cap - 1 bytes of a file, or none of one that cannot be
   read; a NUL ends them. */
void file_read_text(const char *path, char *out, size_t cap);

#endif
