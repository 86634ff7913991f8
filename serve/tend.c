/* tend - what a server does for its store between turns.

   It compacts the log in slices, and watches the descriptor of the remote, if
   the store has one. The remote may close it in any step, so the loop watches
   it only during its wait. */

#include "serve/tend.h"
#include "store/remote.h"

#include "base/text.h"

/* Does one slice of a compaction, if one is due. */
static void
compact_slice(struct tend *t)
{
    int err;

    if (!t->compacting && !store_wants_compact(t->store))
        return;
    err = store_compact(t->store);
    t->compacting = err == ERR_PENDING;
    if (err >= 0 || err == ERR_PENDING || err == ERR_BUSY || err == ERR_FULL ||
        t->compact_failed) /* a full disk is reported when a write fails */
        return;
    text_tell("mcptask: the log cannot be compacted, so it keeps growing; run "
              "\"mcptask compact\" to see why\n");
    t->compact_failed = true;
}

void
tend_log(struct tend *t, bool idle)
{
    if (idle)
        compact_slice(t);
}

bool
tend_has_more(const struct tend *t)
{
    return t->compacting;
}

bool
tend_can_make_room(const struct tend *t)
{
    return tend_has_more(t) || store_wants_compact(t->store);
}

void
tend_make_room(struct tend *t)
{
    store_make_room(t->store);
    t->compacting = false;
}

void
tend_end(struct tend *t)
{
    tend_unwatch(t);
    if (t->compacting)
        store_compact_stop(t->store);
}

/* ---- the remote ---- */

static void
on_remote_ready(void *ctx, int fd, int events)
{
    struct tend *t = ctx;

    (void)fd;
    (void)events;
    t->ready = true;
}

static void
on_remote_due(void *ctx)
{
    ((struct tend *)ctx)->ready = true;
}

void
tend_watch(struct tend *t)
{
    int64_t due;
    bool write;
    int fd;

    store_watch(t->store, &fd, &write, &due);
    t->ready = false;
    if (fd >= 0 && loop_watch(t->loop, fd, write ? LOOP_WRITE : LOOP_READ,
                              on_remote_ready, t) == 0)
        t->fd = fd + 1;
    if (due == INT64_MAX)
        return;
    t->timer.fn = on_remote_due;
    t->timer.ctx = t;
    loop_timer_set(t->loop, &t->timer, due);
}

bool
tend_unwatch(struct tend *t)
{
    if (t->fd != 0)
        loop_watch(t->loop, t->fd - 1, 0, NULL, NULL);
    t->fd = 0;
    if (t->timer.set)
        loop_timer_stop(t->loop, &t->timer);
    return t->ready;
}
