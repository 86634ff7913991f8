#ifndef BASE_LOOP_H
#define BASE_LOOP_H

/* loop - descriptors, deadlines and signals in one pselect. One loop per
   process, since signals belong to the process. */

#include "base/base.h"

#define LOOP_READ 1
#define LOOP_WRITE 2
#define LOOP_IDLE 4 /* with other events: if busy, check each LOOP_IDLE_MS */
#define LOOP_IDLE_MS 100

struct loop;

/* A deadline, stored by its owner. Set fn and ctx, or leave them zero to make
   a turn end by then; zero the rest. */
struct loop_timer {
    void (*fn)(void *ctx);
    void *ctx;
    struct loop_timer *next;
    int64_t at_ms;
    bool set;
};

/* Makes the loop; blocks SIGTERM, SIGINT and SIGHUP outside loop_turn and
   ignores SIGPIPE. 0 or ERR_NOMEM. */
int loop_new(struct loop **out);
/* Frees the loop. Descriptors stay open, and signals as they are. */
void loop_free(struct loop *l);

/* Calls fn when fd is ready for some of events. Replaces any earlier watch of
   fd; events 0 removes it, as you must before closing fd. 0, or ERR_TOO_LARGE
   if select cannot hold fd. */
int loop_watch(struct loop *l, int fd, int events,
               void (*fn)(void *ctx, int fd, int events), void *ctx);

/* Changes the events of a watched fd. events may be 0: none until the next
   change. */
void loop_change(struct loop *l, int fd, int events);

/* Calls t->fn once, in the first turn that ends at or after at_ms on loop_now's
   scale. Setting it again moves it. One that the function of a timer sets for
   now is called in the next turn. */
void loop_timer_set(struct loop *l, struct loop_timer *t, int64_t at_ms);
void loop_timer_stop(struct loop *l, struct loop_timer *t);

/* One turn: waits for a descriptor, a deadline or a signal (or, without wait,
   only checks), then calls the callbacks. 0 or ERR_IO. */
int loop_turn(struct loop *l, bool wait);
/* The monotonic clock in milliseconds, read once per turn. */
int64_t loop_now(const struct loop *l);
/* The next time that is a multiple of ms: deadlines that need not be exact fall
   together, so that an idle process wakes once for all of them. */
int64_t loop_next(const struct loop *l, int64_t ms);
/* SIGTERM, SIGINT or SIGHUP if it was received; else 0. */
int loop_signal(void);
/* Returns whether SIGHUP was received, and clears it. */
bool loop_hung_up(void);

#endif
