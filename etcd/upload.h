#ifndef ETCD_UPLOAD_H
#define ETCD_UPLOAD_H

/* upload - puts a local log into etcd as the snapshot of its store, which may
   be new, and drops the batches that it covers. */

#include "etcd/engine.h"

/* Begins to upload the first `end` bytes of the log open at fd, whose newest
   record is that of head, and closes fd later. If an upload is under way, only
   closes fd. */
void upload_begin(struct engine *e, int fd, int64_t end,
                  const struct head *head);
/* Puts meta with the id of e->meta, this head and e->key into etcd, if meta and
   head there are as e has read them; first the log, as a snapshot, if it has
   records. As an engine_fn: in the end calls pushed, with all that in e->meta,
   or returns ERR_AGAIN: others were faster. */
int upload_push(struct engine *e, const struct head *head, engine_fn *pushed);
/* Plans to drop the batches that the snapshot in e->meta covers. */
void upload_sweep(struct engine *e);
/* When to send next, by clock_mono_ms; INT64_MAX: there is nothing to do. */
int64_t upload_due(const struct engine *e);
/* Sends the request of the next step. ERR_PENDING; or an error: it has sent
   nothing. */
int upload_send(struct engine *e);
/* As uploads in store/remote.h. */
bool upload_is_under_way(const struct engine *e, uint64_t *done, uint64_t *all);
/* Ends it in any state. */
void upload_drop(struct engine *e);

#endif
