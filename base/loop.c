/* loop - descriptors, deadlines and signals in one pselect.

   It knows nothing of the data or the owners of descriptors, does no I/O of its
   own, and needs neither a thread nor a pipe.

   Invariants:
   1. No descriptor at or above FD_SETSIZE enters a set: FD_SET would write past
      its end. loop_watch refuses it.
   2. The three signals are blocked except inside pselect and when a busy loop
      looks for one, so they interrupt no other system call. The handler only
      sets a flag.
   3. A callback gets only events that were ready when pselect returned and are
      still wanted when its turn comes. The newest fn is called.
   4. The clock is read once per turn, after pselect.
   5. A turn's work depends only on the number of ready descriptors: the sets
      persist between turns and are copied, skipping empty words.
   6. A turn calls each timer at most once: one set for now by a timer's
      callback is due in the next turn, which does not wait.
   7. A wait includes the idle tier if the last one found nothing, or if
      LOOP_IDLE_MS or more have passed since the tier was last included. Such a
      wait may be as long as any other, so an idle process sleeps. */

#include "base/loop.h"
#include "base/clock.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/select.h>
#include <time.h>

/* While descriptors are ready, pselect leaves a signal pending. So under steady
   load the loop checks for signals after this many turns and milliseconds,
   added up. */
#define MAX_BUSY 64

#define WORD_BITS ((unsigned)(8 * sizeof(unsigned long)))
#define WORDS (sizeof(fd_set) / sizeof(unsigned long))

/* Word i of a set covers WORD_BITS descriptors from i * WORD_BITS on, in any
   order of bits. */
union set {
    fd_set fds;
    unsigned long word[WORDS];
};

_Static_assert(sizeof(union set) == sizeof(fd_set), "nothing but words");
_Static_assert(WORDS * WORD_BITS >= FD_SETSIZE, "a bit for each");

struct sets {
    union set rd, wr;
};

struct watch {
    void (*fn)(void *ctx, int fd, int events);
    void *ctx;
    int events; /* wanted events; 0: not watched */
};

struct loop {
    struct watch watch[FD_SETSIZE]; /* indexed by descriptor */
    struct sets wanted, idle;  /* wanted events, in two tiers */
    struct sets ready;         /* found by pselect, callback not yet called */
    int64_t idle_ms;           /* next time to check the idle tier */
    int64_t busy;              /* turns that found something, one after another,
                                  and their milliseconds; since a check */
    struct loop_timer *timers; /* earliest first */
    int64_t now_ms;
    sigset_t open; /* the signal mask inside pselect */
};

static const int signals[] = {SIGTERM, SIGINT, SIGHUP}; /* SIGHUP last */
#define SIGNALS_N (sizeof(signals) / sizeof(signals[0]))

static volatile sig_atomic_t got[SIGNALS_N]; /* in the order of signals */

static void
note_signal(int sig)
{
    for (size_t i = 0; i < SIGNALS_N; i++)
        if (signals[i] == sig)
            got[i] = 1;
}

static void
install_signals(struct loop *l)
{
    struct sigaction sa = {0}, old;
    sigset_t shut;

    sigemptyset(&shut);
    sigemptyset(&sa.sa_mask);
    for (size_t i = 0; i < SIGNALS_N; i++)
        sigaddset(&shut, signals[i]);
    sigprocmask(SIG_BLOCK, &shut, &l->open);
    for (size_t i = 0; i < SIGNALS_N; i++) {
        sigdelset(&l->open, signals[i]);
        /* If our parent had the signal ignored, as nohup does, keep that. */
        sa.sa_handler = note_signal;
        if (sigaction(signals[i], NULL, &old) == 0 &&
            old.sa_handler != SIG_IGN)
            sigaction(signals[i], &sa, NULL);
    }
    sa.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &sa, NULL);
}

int
loop_new(struct loop **out)
{
    struct loop *l = calloc(1, sizeof(*l));

    if (l == NULL)
        return ERR_NOMEM;
    install_signals(l);
    l->now_ms = clock_mono_ms();
    *out = l;
    return 0;
}

void
loop_free(struct loop *l)
{
    free(l);
}

/* ---- descriptors ---- */

static void
sets_put(struct sets *s, unsigned fd, int events)
{
    FD_CLR(fd, &s->rd.fds);
    FD_CLR(fd, &s->wr.fds);
    if (events & LOOP_READ)
        FD_SET(fd, &s->rd.fds);
    if (events & LOOP_WRITE)
        FD_SET(fd, &s->wr.fds);
}

int
loop_watch(struct loop *l, int fd, int events,
           void (*fn)(void *ctx, int fd, int events), void *ctx)
{
    bool idle = (events & LOOP_IDLE) != 0;

    if (fd < 0 || fd >= FD_SETSIZE)
        return ERR_TOO_LARGE;
    l->watch[fd] = (struct watch){fn, ctx, events};
    sets_put(&l->wanted, (unsigned)fd, idle ? 0 : events);
    sets_put(&l->idle, (unsigned)fd, idle ? events : 0);
    if (events == 0) /* the next file may reuse this number */
        sets_put(&l->ready, (unsigned)fd, 0);
    return 0;
}

void
loop_change(struct loop *l, int fd, int events)
{
    const struct watch *w = &l->watch[fd];

    loop_watch(l, fd, events, w->fn, w->ctx);
}

static bool
has_any(const struct sets *s, size_t word)
{
    return (s->rd.word[word] | s->wr.word[word]) != 0;
}

/* Returns one more than the highest descriptor in the sets, or a little
   above. */
static size_t
sets_end(const struct sets *s)
{
    size_t i = WORDS;

    while (i > 0 && !has_any(s, i - 1))
        i--;
    return i * WORD_BITS < FD_SETSIZE ? i * WORD_BITS : FD_SETSIZE;
}

static void
call_ready(struct loop *l)
{
    size_t end = sets_end(&l->ready);

    for (unsigned fd = 0; fd < end; fd++) {
        const struct watch *w = &l->watch[fd];
        int events = 0;

        if (!has_any(&l->ready, fd / WORD_BITS)) {
            fd |= WORD_BITS - 1; /* none in this word */
            continue;
        }
        if (FD_ISSET(fd, &l->ready.rd.fds))
            events |= w->events & LOOP_READ;
        if (FD_ISSET(fd, &l->ready.wr.fds))
            events |= w->events & LOOP_WRITE;
        if (events != 0)
            w->fn(w->ctx, (int)fd, events);
    }
}

/* ---- deadlines ---- */

void
loop_timer_stop(struct loop *l, struct loop_timer *t)
{
    struct loop_timer **at = &l->timers;

    if (!t->set)
        return;
    while (*at != t)
        at = &(*at)->next;
    *at = t->next;
    t->set = false;
}

void
loop_timer_set(struct loop *l, struct loop_timer *t, int64_t at_ms)
{
    struct loop_timer **at = &l->timers;

    loop_timer_stop(l, t);
    if (at_ms < l->now_ms)
        at_ms = l->now_ms; /* not before the mark of call_due */
    while (*at != NULL && (*at)->at_ms <= at_ms)
        at = &(*at)->next;
    t->next = *at;
    t->at_ms = at_ms;
    t->set = true;
    *at = t;
}

/* Invariant 6: timers behind the mark were not due when it was set. */
static void
call_due(struct loop *l)
{
    struct loop_timer mark = {.set = false}, *t;

    loop_timer_set(l, &mark, l->now_ms);
    while ((t = l->timers) != &mark) {
        loop_timer_stop(l, t);
        if (t->fn != NULL)
            t->fn(t->ctx);
    }
    loop_timer_stop(l, &mark);
}

/* ---- a turn ---- */

/* How long to wait if the turn ends at `until`; NULL: forever. */
static const struct timespec *
time_until(const struct loop *l, int64_t until, struct timespec *ts)
{
    int64_t ms = until > l->now_ms ? until - l->now_ms : 0;

    if (until == INT64_MAX)
        return NULL;
    ts->tv_sec = (time_t)(ms / 1000);
    ts->tv_nsec = (long)(ms % 1000) * 1000000;
    return ts;
}

/* Why this order. The sets are copied before the wait, since pselect overwrites
   them. Signals are open only during pselect, so one that arrives at any other
   time stays pending and ends the next wait: none is lost between looking at
   the flag and waiting. But while a descriptor is ready, Linux returns from
   pselect without delivering a pending signal, so a busy loop looks for one by
   itself. The clock is read after the wait and once per turn: all callbacks of
   a turn see the same time, and a deadline that passed during the wait is due
   in this turn. Descriptors come before deadlines, because what has just been
   read may move a deadline, for example that of a client which was about to
   time out. */
int
loop_turn(struct loop *l, bool wait)
{
    int64_t until = wait ? INT64_MAX : 0, from = l->now_ms;
    bool idle = sets_end(&l->idle) > 0;
    struct timespec ts;
    sigset_t shut;
    int n;

    if (l->timers != NULL && l->timers->at_ms < until)
        until = l->timers->at_ms;
    l->ready = l->wanted;
    if (idle && l->now_ms >= l->idle_ms) { /* invariant 7 */
        for (size_t i = 0; i < WORDS; i++) {
            l->ready.rd.word[i] |= l->idle.rd.word[i];
            l->ready.wr.word[i] |= l->idle.wr.word[i];
        }
        l->idle_ms = 0; /* until the wait is over */
    } else if (idle && until > l->idle_ms) {
        until = l->idle_ms;
    }
    n = pselect((int)sets_end(&l->ready), &l->ready.rd.fds,
                &l->ready.wr.fds, NULL, time_until(l, until, &ts), &l->open);
    if (n < 0 && errno != EINTR)
        return ERR_IO;
    l->now_ms = clock_mono_ms();
    if (n == 0)
        l->idle_ms = l->now_ms; /* invariant 7: it is not busy */
    else if (l->idle_ms == 0)
        l->idle_ms = l->now_ms + LOOP_IDLE_MS;
    l->busy = n > 0 ? l->busy + 1 + l->now_ms - from : 0;
    if (l->busy >= MAX_BUSY) {
        l->busy = 0;
        /* Pending signals are open between two system calls. So each is
           delivered once, and ignored ones, which Linux also keeps pending
           while blocked, are dropped. */
        if (sigprocmask(SIG_SETMASK, &l->open, &shut) == 0)
            sigprocmask(SIG_SETMASK, &shut, NULL);
    }
    if (n > 0)
        call_ready(l);
    call_due(l);
    return 0;
}

int64_t
loop_now(const struct loop *l)
{
    return l->now_ms;
}

int64_t
loop_next(const struct loop *l, int64_t ms)
{
    return (l->now_ms / ms + 1) * ms;
}

int
loop_signal(void)
{
    for (size_t i = 0; i < SIGNALS_N; i++)
        if (got[i])
            return signals[i];
    return 0;
}

bool
loop_hung_up(void)
{
    bool hung_up = got[SIGNALS_N - 1] != 0;

    got[SIGNALS_N - 1] = 0;
    return hung_up;
}
