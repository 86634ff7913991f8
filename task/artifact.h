#ifndef TASK_ARTIFACT_H
#define TASK_ARTIFACT_H

/* artifact - contents as files named by their SHA-256, in one directory. */

#include "base/sha256.h"
#include "store.h"
#include "store/remote.h"

#define ARTIFACT_MAX (1024 * 1024) /* bytes per content */

/* Stores content in dir (created with its parents if missing, mode 0700). File
   and directory are synced when this returns 0; hex is then its name, and *made
   tells whether no such file existed. ERR_TOO_LARGE, ERR_FULL, ERR_READONLY,
   ERR_IO. */
int artifact_put(const char *dir, struct str content,
                 char hex[SHA256_HEX + 1], bool *made);
/* Removes a content that no record names. */
void artifact_remove(const char *dir, const char *hex);
/* Whether hex is a name: SHA256_HEX lower-case digits. */
bool artifact_is_name(struct str hex);
/* Returns whether the content exists with this size. */
bool artifact_has(const char *dir, struct str hex, uint64_t size);
/* Reads a content, NUL-terminated, and checks its SHA-256. ERR_NOT_FOUND,
   ERR_DAMAGED, ERR_IO, ERR_NOMEM. */
int artifact_get(const char *dir, struct str hex, struct arena *a,
                 struct str *out);

/* The same; what dir lacks, or has damaged, is taken from the other hosts of
   the store. Unless wait, in a turn that then runs again. Also the errors of
   store_content. */
int artifact_fetch(struct store *s, const char *dir, struct str hex, bool wait,
                   struct arena *a, struct str *out);

/* Appends the lines of content, from offset *at on, that contain text, with up
   to `around` lines before and after each, as "12:line" and "13-line"; "--"
   separates lines that are not neighbours. Long lines are cut. Stops once out
   has max bytes more; *at is then where to go on, or content.len at the end. */
void artifact_match(struct buf *out, struct str content, struct str text,
                    uint64_t around, size_t max, size_t *at);

/* Reads the regular file at path, beneath root, without "..", symbolic links or
   other kinds of file. path is relative to root, or absolute and begins with
   root. kept ends with NULL. ERR_NOT_FOUND: no such file; ERR_INVALID: it is
   one of the files kept, or one that is named like it with a suffix after a
   dot, whatever link leads to it; ERR_TOO_LARGE, ERR_IO, ERR_NOMEM. */
int artifact_read_path(const char *root, struct str path,
                       const char *const *kept, struct arena *a,
                       struct str *out);

#endif
