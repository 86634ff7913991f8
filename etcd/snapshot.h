#ifndef ETCD_SNAPSHOT_H
#define ETCD_SNAPSHOT_H

/* snapshot - makes a whole local log, empty or from the snapshot in etcd. */

#include "etcd/engine.h"

/* Makes the log that replaces the local one, for e->meta. As an engine_fn: in
   the end e->news has the file, and e->mine is its head. */
int snapshot_take(struct engine *e);
/* Removes a file that was not finished. */
void snapshot_drop(struct engine *e);

#endif
