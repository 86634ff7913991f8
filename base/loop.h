#ifndef BASE_LOOP_H
#define BASE_LOOP_H

/* loop - descriptors, deadlines and signals in one pselect. There is one
   loop in a process, since signals belong to the process. */

#include "base/base.h"

#define LOOP_READ 1
#define LOOP_WRITE 2
#define LOOP_IDLE 4 /* with the others: looked at each LOOP_IDLE_MS only */
#define LOOP_IDLE_MS 100

struct loop;

/* A deadline, in its owner's storage. Fill fn and ctx; the rest is zero. */
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
/* Leaves descriptors open and signals as they are. */
void loop_free(struct loop *l);

/* Calls fn with what fd is ready for, of events; replaces what was said of
   fd before, and events 0 forgets it, which must happen before fd is closed.
   0, ERR_NOMEM, or ERR_TOO_LARGE: fd is no number that select can hold. */
int loop_watch(struct loop *l, int fd, int events,
               void (*fn)(void *ctx, int fd, int events), void *ctx);

/* Changes what fd, which is watched, is looked at for. events may be 0 here:
   for nothing, until the next change. */
void loop_change(struct loop *l, int fd, int events);

/* Calls t->fn once, in the first turn that ends at or after at_ms on
   loop_now's scale. Setting it again moves it; a timer that sets itself from
   within its fn must do so for the future. */
void loop_timer_set(struct loop *l, struct loop_timer *t, int64_t at_ms);
void loop_timer_stop(struct loop *l, struct loop_timer *t);

/* One turn: waits (or, without wait, only looks) for a descriptor, a
   deadline or a signal, then calls whom it concerns. 0, or ERR_IO. */
int loop_turn(struct loop *l, bool wait);
/* The monotonic clock in milliseconds, read once a turn. */
int64_t loop_now(const struct loop *l);
/* One of the three signals, if it has come; else 0. */
int loop_signal(const struct loop *l);
/* Whether SIGHUP has come, which is forgotten then. */
bool loop_hung_up(struct loop *l);

#endif
