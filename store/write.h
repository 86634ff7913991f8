#ifndef STORE_WRITE_H
#define STORE_WRITE_H

/* write - bytes behind the committed end of the log, under its lock. */

#include "store/state.h"

#define STORE_BLANK '\n' /* what store_probe writes behind the end */

/* Opens the log anew for writing, if it is the one that memory is of. */
bool store_reopen(struct store *s);
/* Cuts the log to its committed end; whether that is on disk. */
bool store_cut(struct store *s);
/* Writes bytes behind the committed end, syncs them and moves the mark to m,
   if there is one. What failed is cut off and tried once more: after a sync,
   or where the reserve gives room to what counts. *cut: whether nothing of it
   is on disk. 0 or enum err. */
int store_put(struct store *s, struct str bytes, const struct mark *m,
              bool *cut);

/* Has what stands between the committed end and size on disk. */
int store_sync_tail(struct store *s, int64_t size);
/* Cuts the log, which has size bytes, to s->end, and keeps the rest beside
   it; then moves the mark there. */
int store_settle_tail(struct store *s, int64_t size);

#endif
