#ifndef ETCD_SNAPSHOT_H
#define ETCD_SNAPSHOT_H

/* snapshot - makes a whole local log, empty or from the snapshot in etcd. */

#include "etcd/engine.h"

/* Makes the log that replaces the local one, for e->meta. As an engine_fn: in
   the end e->news has the file, and e->mine is its head. */
int snapshot_take(struct engine *e);
/* Removes its file, unless the store has taken it. */
void snapshot_drop(struct engine *e);

#endif
