/* stage - the batch: records staged in memory, undone, or written at once.

   A staged record is in the index and in the batch's bytes. Undoing takes it
   out of both in reverse order, and needs neither memory nor disk. */

#include "store/stage.h"
#include "store/write.h"
#include "store/remote.h"
#include "base/clock.h"
#include "base/text.h"

#include <string.h>

_Static_assert(REMOTE_MAX_BATCH > 2 * STORE_MAX_RECORD, "a batch has room");

uint64_t
store_next_n(const struct store *s)
{
    return s->log.head + s->n_staged + 1;
}

bool
store_batch_is_full(const struct store *s)
{
    size_t max = s->replica != NULL ? REMOTE_MAX_BATCH : STORE_MAX_BATCH;
    return s->batch.len >= max - 2 * STORE_MAX_RECORD;
}

size_t
store_staged_n(const struct store *s)
{
    return s->n_staged;
}

void
store_refuse(struct store *s, int err)
{
    s->refuse.all = err;
}

int
store_stage_last(struct store *s, struct str key, struct str body)
{
    char time[TIME_LEN + 1];
    if (s->refuse.all != 0)
        return s->refuse.all;
    ASSERT(s->lock.held && record_key_ok(key));
    size_t len = body.len + key.len + 160;
    if (len > STORE_MAX_RECORD ||
        (s->replica != NULL && s->batch.len + len > REMOTE_MAX_BATCH))
        return ERR_TOO_LARGE;
    if (store_next_n(s) > RECORD_MAX_N)
        return ERR_FULL;
    struct store_entry *e = index_find(&s->index, key);
    struct staged *g = store_note_old(s, key, e);
    if (g == NULL)
        return ERR_NOMEM;
    time_format(store_stamp_ms(s), time);
    struct store_rec r = {.g = s->log.g, .n = store_next_n(s),
                          .b = s->log.head + 1, .p = e ? e->n : 0,
                          .key = key, .time = str_of(time), .body = body};
    record_put(&s->batch, &r);
    int rc = s->batch.err;
    if (rc == 0) {
        g->len = s->batch.len - g->at - 1;
        r.line = (struct str){s->batch.p + g->at, g->len};
        rc = store_apply(s, &r, s->log.end + (int64_t)g->at, &g->e);
    }
    if (rc != 0) {
        s->batch.err = 0;
        s->batch.len = g->at;
        return rc;
    }
    *(g->before ? &g->before->next : &s->first) = g;
    s->last = g;
    s->n_staged++;
    return 0;
}

int
store_stage(struct store *s, struct str key, struct str body)
{
    bool refused = s->refuse.ordinary != 0 && s->refuse.all == 0;
    int rc = refused ? s->refuse.ordinary : store_stage_last(s, key, body);
    s->room.ordinary |= rc == 0;
    return rc;
}

static void
batch_done(struct store *s)
{
    s->first = s->last = NULL;
    s->n_staged = 0;
    s->room.ordinary = false;
    buf_reset(&s->batch, 64 * 1024);
    arena_reset(&s->mem);
}

void
store_unstage(struct store *s, size_t n)
{
    for (; s->n_staged > n; s->n_staged--) {
        store_unapply(s, s->last);
        s->batch.len = s->last->at;
        s->last = s->last->before;
    }
    if (n == 0)
        batch_done(s);
    else
        s->last->next = NULL;
}

/* ---- commit ---- */

int
store_probe(struct store *s)
{
    char blank[STORE_BLANKS];
    bool cut;
    ASSERT(s->lock.held && s->n_staged == 0);
    if (s->replica != NULL && s->replica->full)
        return ERR_FULL; /* store_tend asks whether that is over */
    if (!store_has_room(s))
        return ERR_FULL;
    memset(blank, STORE_BLANK, sizeof blank);
    int rc = store_put(s, (struct str){blank, sizeof blank}, NULL, &cut);
    if (rc == 0 && !store_cut(s))
        rc = store_deny_errno(s, s->path, "cannot be cut: ");
    if (rc == 0)
        store_allow(s);
    return rc;
}

int
store_commit_here(struct store *s, bool *unknown)
{
    bool cut = true;
    ASSERT(s->lock.held);
    struct mark m = {.g = s->log.g, .n = s->log.head + s->n_staged,
                     .end = s->log.end + (int64_t)s->batch.len};
    int rc = store_put(s, buf_view(&s->batch), &m, &cut);
    *unknown = rc != 0 && !cut;
    if (rc != 0) {
        store_unstage(s, 0);
        return rc;
    }
    s->log.end = m.end;
    s->log.head = m.n;
    s->n_staged = 0;
    if (!s->room.full) /* else it was of what still may be written */
        store_allow(s);
    if (!s->room.full && s->room.ordinary)
        room_fill(s);
    for (struct staged *g = s->first; g != NULL; g = g->next) {
        struct store_rec r;
        rc = record_parse((struct str){s->batch.p + g->at, g->len}, &r);
        ASSERT(rc == 0); /* record_put wrote it */
        store_tell(s, g->e, &r);
    }
    batch_done(s);
    return 0;
}
