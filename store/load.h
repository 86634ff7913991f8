#ifndef STORE_LOAD_H
#define STORE_LOAD_H

/* load - the log into memory, and the recovery of its tail. */

#include "store/state.h"

#include <sys/stat.h>

/* Opens the log at the path and checks what it is. 0 and *fd, *st, *h;
   ERR_NOT_FOUND: no log, or st says an empty one; ERR_SYNTAX: its header is
   damaged, and *h what can be told all the same, g 0 where that cannot;
   ERR_FORMAT, ERR_IO with s->why. */
int store_open_log(struct store *s, int *fd, struct stat *st,
                   struct record_header *h);
/* Reads the log at the path into memory, from its start. With the write
   lock, its tail is recovered as well; without, ERR_MORE says that it needs
   to be. 0, ERR_MORE, ERR_NOT_FOUND (memory is left alone), others. */
int store_load(struct store *s);
/* Reads committed bytes up to the mark. */
int store_load_to(struct store *s, const struct mark *m);
/* Under the lock: takes the whole records between the known end and size,
   cuts what is torn, syncs, and moves the mark. */
int store_recover(struct store *s, int64_t size);
/* Whether a whole record between off and end proves that a bad line before
   them, which had to be record head + 1, had once been synced. 1, 0, ERR_IO,
   ERR_NOMEM. */
int store_proven_synced(int fd, uint64_t g, uint64_t head, int64_t off,
                        int64_t end);
/* Forgets everything that was read. */
void store_forget(struct store *s);

#endif
