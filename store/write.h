#ifndef STORE_WRITE_H
#define STORE_WRITE_H

/* write - writes bytes after the committed end of the log, under its lock. */

#include "store/state.h"

/* store_probe writes this many of these after the end. */
#define STORE_BLANK '\n'
#define STORE_BLANKS 4096

/* Reopens the log for writing if it is the file memory was read from. */
bool store_reopen(struct store *s);
/* Cuts the log to its committed end. Returns whether that is on disk. */
bool store_cut(struct store *s);
/* Writes bytes after the committed end, syncs them and moves the mark to m, if
   not NULL. A failed attempt is cut off, and made once more after a failed
   sync, or if room was made for it. *cut: nothing of it is on disk. 0 or enum
   err. */
int store_put(struct store *s, struct str bytes, const struct mark *m,
              bool *cut);

/* Makes sure that the bytes between the committed end and size are on disk. */
int store_sync_tail(struct store *s, int64_t size);
/* Cuts the log, of size bytes, to s->end, saves the rest in a file beside it,
   then moves the mark. */
int store_settle_tail(struct store *s, int64_t size);

#endif
