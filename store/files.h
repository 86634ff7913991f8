#ifndef STORE_FILES_H
#define STORE_FILES_H

/* files - what lies beside the log: closed generations, and a reserve. */

#include "store/state.h"

#include <sys/stat.h>

#define STORE_RESERVE (64 * 1024)

/* Copies the bytes between from and end to at in fd, which may be the same
   file. 0 or -1 with errno. */
int store_copy(int from_fd, int64_t from, int64_t end, int fd, int64_t at);
/* Whether st is of the file that memory is of. */
bool store_is_log(const struct store *s, const struct stat *st);
#define STORE_CLOSED_PATH_MAX (STORE_PATH_MAX + 32) /* with its NUL */
/* Path of a closed generation: out. */
const char *store_closed_path(const struct store *s, uint64_t g,
                              char out[STORE_CLOSED_PATH_MAX]);
/* A descriptor to read it, or -1 with errno. */
int store_open_closed(const struct store *s, uint64_t g);
/* Drops the oldest closed generations until the rest has no more than max
   bytes. */
void store_prune(struct store *s, int64_t max);
/* Gives the log its second name, which becomes that of a closed generation.
   0, or enum err with errno. */
int store_link_old(struct store *s);
/* Under the lock, when the log has more than one name: takes back what a
   compaction left that ended between its link and its rename. */
void store_unlink_old(struct store *s);
/* 0 where the log has one name, beside its closed generation's; else
   ERR_READONLY: a process that uses the other name has another lock file. */
int store_check_names(struct store *s);
/* Whether the log is mounted by itself, so that nothing can be renamed over
   it. */
bool store_is_mounted(const struct store *s);

/* Whether so many bytes are free, at last without closed generations. */
bool store_has_room(struct store *s, int64_t need);
/* Whether there is too little room for a compaction. Makes the reserve. */
bool store_is_short(struct store *s);
/* A write found no room: drops closed generations, has store_is_short say so,
   and gives up the reserve. Whether there was one. errno stays. */
bool store_give_reserve(struct store *s);

#endif
