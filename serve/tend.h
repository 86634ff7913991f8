#ifndef SERVE_TEND_H
#define SERVE_TEND_H

/* tend - what a server does for its store between turns: compaction, and the
   remote that other hosts share. */

#include "base/loop.h"
#include "store.h"

struct tend { /* zero it; set loop and store */
    struct loop *loop;
    struct store *store;
    bool compacting, compact_failed;
    struct loop_timer timer; /* for the remote */
    int fd; /* its descriptor + 1, while it is watched; or 0 */
    bool ready;
};

/* Does one slice of a compaction, if one is due and idle. */
void tend_log(struct tend *t, bool idle);
/* Whether there is more to do without waiting for anything. */
bool tend_has_more(const struct tend *t);
/* Finishes a compaction without slices, and begins one if it can make room. It
   locks the store for that, so the lock must be free. */
void tend_make_room(struct tend *t);
/* Whether it would do anything. */
bool tend_can_make_room(const struct tend *t);
void tend_end(struct tend *t);

/* Around each turn of the loop: watches the remote's descriptor and deadline.
   tend_unwatch returns whether it is time for the store to go on. */
void tend_watch(struct tend *t);
bool tend_unwatch(struct tend *t);

#endif
