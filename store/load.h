#ifndef STORE_LOAD_H
#define STORE_LOAD_H

/* load - reads the log into memory and recovers its tail. */

#include "store/state.h"

/* Outcomes of reading the log, beside 0 and errors. */
enum view {
    VIEW_SAME = 1, /* the mark has not changed */
    VIEW_TAIL,     /* only the lock holder can recover the tail */
    VIEW_AGAIN,    /* lock file or log was replaced: lock again */
    VIEW_NEXT      /* the log is of another generation, and its mark is valid:
                      unlock, read it, lock again */
};

/* Reads the whole log at the path into memory. With the write lock it also
   recovers the tail; without, VIEW_TAIL means the tail needs it, and if this
   process may not lock, what is whole of the tail is read. 0, also if
   there never was a log; ERR_NOT_FOUND: the log vanished, memory is unchanged;
   or another error. */
int store_load(struct store *s, bool may_lock);
/* Reads committed bytes up to the mark. */
int store_load_to(struct store *s, const struct mark *m);
/* Under the lock: accepts the whole records between the known end and size,
   cuts a torn rest, syncs, and moves the mark. */
int store_recover(struct store *s, int64_t size);
/* Drops everything that was read. */
void store_forget(struct store *s);

#endif
