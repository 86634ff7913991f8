#ifndef STORE_FOLLOW_H
#define STORE_FOLLOW_H

/* follow - reads what others committed, and takes the lock. store_follow,
   store_unlock and store_make_dir are in store.h. */

#include "store/state.h"

/* Sets the paths of log, lock file and directory, with links resolved. 0, or an
   error. */
int store_find_path(struct store *s);
/* As store_lock, or as store_lock_wait, but whatever the remote's state. */
int store_take_lock(struct store *s, bool wait);

#endif
