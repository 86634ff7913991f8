#ifndef BASE_FILE_H
#define BASE_FILE_H

/* file - shared code for writing files: errors, complete writes, and synced
   directories. It knows no format. */

#include "base/base.h"

#include <sys/types.h>

#define FILE_PATH_MAX 4096

/* The enum err for the errno of a file operation. */
int file_error(void);
/* Writes n bytes at off, resuming after interrupts. 0, or enum err with
   errno. */
int file_write_at(int fd, const char *p, size_t n, int64_t off);
/* Reads n bytes at off, fewer only at the end of the file. Returns how many, or
   -1 with errno. */
ssize_t file_read_at(int fd, void *p, size_t n, int64_t off);
/* Writes all of b at *off, advances *off, and empties b, whose capacity is then
   at most keep. 0, ERR_NOMEM if b has that error, or enum err. */
int file_flush(int fd, struct buf *b, int64_t *off, size_t keep);

/* a and b concatenated, on the heap; or NULL. */
char *file_join(const char *a, const char *b);
/* Cuts path down to its directory. False: path has no slash or is "/", and is
   unchanged. */
bool file_cut(char *path);
/* Whether path can be written or, if it does not exist, made in the nearest
   directory above it that does: 0, or errno. */
int file_why_not_writable(const char *path);
/* The directory of path, on the heap; or NULL. */
char *file_dir_of(const char *path);
/* The last component of path. */
const char *file_name(const char *path);
/* The absolute path with all links resolved, on the heap. Components that are
   missing at its end stay as given, where realpath would fail, but no link may
   dangle. NULL with errno. */
char *file_real(const char *path);
/* Makes dir and missing directories above it, with mode 0700; file_sync_path
   syncs them. 0 or enum err. */
int file_make_dirs(const char *dir);
/* Sets the group and mode of a new directory or empty file to those of like or,
   if like is missing, of like's directory if that is setgid. If root made it,
   also sets its owner. */
void file_give(int fd, const char *like);

/* Makes and syncs a new file with this content, after file_give; own: no access
   for the group. 0, or an error that leaves no file; ERR_READONLY only if the
   directory is not writable. */
int file_write_new(const char *path, const char *like, struct str content,
                   bool own);
/* Makes dir if it is missing, and writes and syncs a file of this name in it.
   A rename from tmp-<16 digits> makes it appear whole. 0, or enum err. */
int file_write_whole(const char *dir, const char *name, struct str content);
/* Opens a regular file that only its owner may access, with flags besides
   O_RDONLY; or a credential of the service manager, beneath
   $CREDENTIALS_DIRECTORY (systemd.exec(5)). Returns the descriptor, with *len
   and a NULL *why; or ERR_IO with errno or ERR_INVALID, explained in *why. */
int file_open_private(const char *path, int flags, size_t *len,
                      const char **why);
/* Syncs fd by os_sync or os_sync_data, resuming after interrupts. 0, or enum
   err with errno. */
int file_sync(int fd, int (*sync)(int fd));
/* Makes a new file with mode 0600, to read and write. -1 with errno. */
int file_create(const char *path);
/* Syncs the new file at path, if rc is 0, and closes it. Removes it if rc is
   not 0 or that fails. Returns rc, or enum err with errno. */
int file_finish(int fd, const char *path, int rc);
/* Opens a directory, to sync after a rename. -1 with errno. */
int file_open_dir(const char *dir);
/* Syncs and closes a directory. 0, or enum err with errno. */
int file_sync_dir(int dir_fd);
/* Syncs dir and each directory above it, up to the root of the file system or
   an unreadable one. 0, or enum err with errno. */
int file_sync_path(const char *dir);
/* The same for the directory of path; also ERR_NOMEM. */
int file_sync_path_of(const char *path);
/* Copies a field of the line with this id in a list like /etc/passwd or
   /etc/group. False: there is none, or it is empty or too long for out. */
enum { ACCOUNT_NAME, ACCOUNT_HOME = 5 };
bool file_account(const char *list, unsigned long id, int field, char *out,
                  size_t cap);
/* The name of a user or group by /etc/passwd or /etc/group, else its number, in
   out, which it returns. */
#define FILE_USER_MAX 33
const char *file_user(uid_t user, char out[FILE_USER_MAX]);
const char *file_group(gid_t group, char out[FILE_USER_MAX]);
/* Why path could not be used, for an errno, in out, which it returns. Where
   this user lacks permission, that is who owns the file or the directory in the
   way, and what to do. */
#define FILE_WHY_MAX 256
const char *file_why(int err, const char *path, char out[FILE_WHY_MAX]);
/* Reads the first cap - 1 bytes of a file and adds a NUL. out is empty if the
   file cannot be read. */
void file_read_text(const char *path, char *out, size_t cap);

#endif
