#ifndef STORE_FILES_H
#define STORE_FILES_H

/* files - the files beside the log, which are closed generations. */

#include "store/state.h"

#include <sys/stat.h>

/* Copies bytes from..end to offset `at` of fd, which may be the same file. 0,
   or enum err with errno. */
int store_copy(int from_fd, int64_t from, int64_t end, int fd, int64_t at);
/* Opens it for reading; -1 with errno. */
int store_open_closed(const struct store *s, uint64_t g);
/* The bytes of the closed generations. */
int64_t store_closed_len(const struct store *s);
/* Deletes the oldest closed generations until at most max bytes remain. */
void store_prune(struct store *s, int64_t max);
/* Gives the log its second name, that of a closed generation. 0, or enum err
   with errno. */
int store_link_old(struct store *s);
/* Under the lock, if the log has more than one name: removes the second name
   left by a compaction that ended between link and rename. */
void store_unlink_old(struct store *s);

#endif
