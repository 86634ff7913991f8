#ifndef TASK_ARTIFACT_H
#define TASK_ARTIFACT_H

/* artifact - contents as files named by their SHA-256, in one directory. */

#include "base/base.h"
#include "base/sha256.h"

#define ARTIFACT_MAX (1024 * 1024) /* bytes of one content */

/* Stores content in dir (made with its parents when missing, 0700), synced
   with its directory when this returns 0; hex is its name, and *made whether
   there was no file of that. ERR_TOO_LARGE, ERR_FULL, ERR_READONLY, ERR_IO. */
int artifact_put(const char *dir, struct str content,
                 char hex[SHA256_HEX + 1], bool *made);
/* Removes a content that no record names. */
void artifact_remove(const char *dir, const char *hex);
/* Whether hex is a name: SHA256_HEX digits in lower case. */
bool artifact_is_name(struct str hex);
/* Whether the content is there, by its size. */
bool artifact_has(const char *dir, struct str hex, uint64_t size);
/* Reads a content, NUL-terminated as well, and checks its SHA-256.
   ERR_NOT_FOUND, ERR_DAMAGED, ERR_IO, ERR_NOMEM. */
int artifact_get(const char *dir, struct str hex, struct arena *a,
                 struct str *out);

/* Reads the regular file that path names, which must lie beneath root: no
   "..", no symbolic link in any part, no other kind of file. path is taken
   from root on, or absolute with root in front. ERR_NOT_FOUND: not so, or
   not there; ERR_INVALID: it is the log or a file that is named after it,
   by whatever name; ERR_TOO_LARGE, ERR_IO, ERR_NOMEM. */
int artifact_read_path(const char *root, struct str path, const char *log,
                       struct arena *a, struct str *out);

#endif
