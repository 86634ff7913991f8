/* tend - what a server does for its store between turns.

   It compacts the log in slices, and watches the descriptor of the remote, if
   the store has one. The remote may close it in any step, so the loop has it
   only while it waits. */

#include "serve/tend.h"

#include "base/text.h"

#define COMPACT_PAUSE_MS (60 * 1000) /* after a failed compaction */

/* Does one slice of a compaction, if one is due. */
static void
compact(struct tend *t)
{
    int err;

    if (loop_now(t->loop) < t->compact_at_ms)
        return;
    if (!t->compacting && !store_wants_compact(t->store))
        return;
    err = store_compact(t->store);
    t->compacting = err == ERR_MORE;
    if (err >= 0 || err == ERR_MORE)
        return;
    t->compact_at_ms = loop_now(t->loop) + COMPACT_PAUSE_MS;
    if (err != ERR_BUSY && !t->compact_failed)
        text_tell("mcptask: the log cannot be compacted: mcptask compact says "
                  "why; until then it grows\n");
    t->compact_failed |= err != ERR_BUSY;
}

void
tend_log(struct tend *t, bool idle)
{
    if (!t->moving && idle)
        compact(t);
    t->moving = store_move(t->store) == ERR_MORE;
}

bool
tend_has_more(const struct tend *t)
{
    return t->compacting || t->moving;
}

/* Twice, since a compaction may be due when a move ends. */
void
tend_make_room(struct tend *t)
{
    for (int i = 0; i < 2; i++)
        do
            tend_log(t, true);
        while (tend_has_more(t));
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
on_ready(void *ctx, int fd, int events)
{
    struct tend *t = ctx;

    (void)fd;
    (void)events;
    t->ready = true;
}

static void
on_due(void *ctx)
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
                              on_ready, t) == 0)
        t->fd = fd + 1;
    if (due == INT64_MAX)
        return;
    t->timer.fn = on_due;
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
