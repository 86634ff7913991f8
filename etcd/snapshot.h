#ifndef ETCD_SNAPSHOT_H
#define ETCD_SNAPSHOT_H

/* snapshot - makes a whole local log, empty or from the snapshot in etcd; and
   puts one there as the snapshot of its store, which may be new, and drops the
   batches that it covers. */

#include "etcd/engine.h"

/* Makes the log that replaces the local one, for e->meta. As an engine_fn: in
   the end e->news has the file, and e->mine is its head. */
int snapshot_take(struct engine *e);
/* Removes its file, unless the store has taken it. */
void snapshot_drop(struct engine *e);

/* Begins to upload the first `end` bytes of the log open at fd, whose newest
   record is that of head, and closes fd later. If an upload is under way, only
   closes fd. */
void snapshot_upload(struct engine *e, int fd, int64_t end,
                  const struct head *head);
/* Puts meta with the id of e->meta, this head and e->key into etcd, if meta and
   head there are as e has read them; first the log, as a snapshot, if it has
   records. As an engine_fn: in the end calls pushed, with all that in e->meta,
   or returns ERR_AGAIN: others were faster. */
int snapshot_push(struct engine *e, const struct head *head, engine_fn *pushed);
/* Plans to drop the batches that the snapshot in e->meta covers. */
void snapshot_sweep(struct engine *e);
/* When to send next, by clock_mono_ms; INT64_MAX: there is nothing to do. */
int64_t snapshot_due(const struct engine *e);
/* Sends the request of the next step. ERR_PENDING; or an error: it has sent
   nothing. */
int snapshot_send(struct engine *e);
/* As uploads in store/remote.h: it is in the table. */
bool snapshot_uploads(void *engine, uint64_t *done, uint64_t *all);
/* Ends the upload or push in any state. */
void snapshot_stop(struct engine *e);

#endif
