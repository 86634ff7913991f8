#ifndef STORE_LOAD_H
#define STORE_LOAD_H

/* load - the log into memory, and the recovery of its tail. */

#include "store/state.h"

/* What reading the log may come to, beside 0 and errors. */
enum view {
    VIEW_SAME = 1, /* the mark is the one that was last seen */
    VIEW_TAIL,     /* only the holder of the lock can recover the tail */
    VIEW_AGAIN     /* lock file or log were replaced: lock anew */
};

/* Reads the log at the path into memory, from its start. With the write
   lock, its tail is recovered as well; without, VIEW_TAIL says that it needs
   to be. 0, also where there never was a log; ERR_NOT_FOUND: it vanished, and
   memory is left alone; others. */
int store_load(struct store *s);
/* Reads committed bytes up to the mark. */
int store_load_to(struct store *s, const struct mark *m);
/* Under the lock: takes the whole records between the known end and size,
   cuts what is torn, syncs, and moves the mark. */
int store_recover(struct store *s, int64_t size);
/* Forgets everything that was read. */
void store_forget(struct store *s);

#endif
