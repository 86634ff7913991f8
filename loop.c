/* loop - descriptors, deadlines and signals in one pselect.

   It knows neither what the descriptors carry nor who waits for them, does
   no input or output of its own, and keeps no thread and no pipe to itself.

   Invariants:
   1. No descriptor at or above FD_SETSIZE gets into a set: FD_SET would
      write behind its end. loop_watch refuses it.
   2. The three signals are blocked except inside pselect, so that no other
      system call of the process ever ends early because of them, and the
      handler only sets a flag.
   3. A callback is called only for what was ready when pselect returned and
      is still asked for when its turn comes, by whoever asked for it then.
   4. The clock is read once a turn, after pselect. */

#include "loop.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/select.h>
#include <time.h>

/* pselect leaves a signal pending as long as descriptors are ready, so under
   steady traffic it is asked for by hand, once in so many turns. */
#define BUSY_TURNS 64

struct watch {
    void (*fn)(void *ctx, int fd, int events);
    void *ctx;
    unsigned char events; /* what is asked for; 0: not watched */
    unsigned char ready;  /* of that, found in this turn (invariant 3) */
};

struct loop {
    struct watch *watch; /* by descriptor */
    int cap;
    unsigned n;                /* one more than the highest ever watched */
    int busy;                  /* turns in a row that found something */
    struct loop_timer *timers; /* the earliest first */
    int64_t now_ms;
    sigset_t open; /* the mask inside pselect */
};

static const int signals[] = {SIGTERM, SIGINT, SIGHUP};
#define SIGNALS_N (sizeof(signals) / sizeof(signals[0]))

static volatile sig_atomic_t got;

static void
note_signal(int sig)
{
    got = sig;
}

static void
take_signals(struct loop *l)
{
    struct sigaction sa = {0}, old;
    sigset_t shut;
    size_t i;

    sigemptyset(&shut);
    sigemptyset(&sa.sa_mask);
    for (i = 0; i < SIGNALS_N; i++)
        sigaddset(&shut, signals[i]);
    sigprocmask(SIG_BLOCK, &shut, &l->open);
    for (i = 0; i < SIGNALS_N; i++) {
        sigdelset(&l->open, signals[i]);
        /* Whoever started us with a signal ignored, as nohup does, means
           it. */
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
    take_signals(l);
    l->now_ms = clock_mono_ms();
    *out = l;
    return 0;
}

void
loop_free(struct loop *l)
{
    if (l == NULL)
        return;
    free(l->watch);
    free(l);
}

/* ---- descriptors ---- */

static int
grow(struct loop *l, int fd)
{
    int cap = fd < 8 ? 8 : fd * 2, i;
    struct watch *w = realloc(l->watch, (size_t)cap * sizeof(*w));

    if (w == NULL)
        return ERR_NOMEM;
    for (i = l->cap; i < cap; i++)
        w[i] = (struct watch){0};
    l->watch = w;
    l->cap = cap;
    return 0;
}

int
loop_watch(struct loop *l, int fd, int events,
           void (*fn)(void *ctx, int fd, int events), void *ctx)
{
    struct watch *w;

    if (fd < 0 || fd >= FD_SETSIZE)
        return ERR_TOO_LARGE;
    if (fd >= l->cap && events == 0)
        return 0;
    if (fd >= l->cap && grow(l, fd) < 0)
        return ERR_NOMEM;
    w = &l->watch[fd];
    if (w->events == 0)
        w->ready = 0; /* whoever had this number before is not meant */
    w->fn = fn;
    w->ctx = ctx;
    w->events = (unsigned char)events;
    if (events != 0 && (unsigned)fd >= l->n)
        l->n = (unsigned)fd + 1;
    return 0;
}

static void
fill_sets(const struct loop *l, fd_set *rd, fd_set *wr)
{
    unsigned fd;

    FD_ZERO(rd);
    FD_ZERO(wr);
    for (fd = 0; fd < l->n; fd++) {
        if (l->watch[fd].events & LOOP_READ)
            FD_SET(fd, rd);
        if (l->watch[fd].events & LOOP_WRITE)
            FD_SET(fd, wr);
    }
}

static void
call_ready(struct loop *l, const fd_set *rd, const fd_set *wr)
{
    unsigned fd, n = l->n;

    for (fd = 0; fd < n; fd++)
        l->watch[fd].ready =
            (unsigned char)((FD_ISSET(fd, rd) ? LOOP_READ : 0) |
                            (FD_ISSET(fd, wr) ? LOOP_WRITE : 0));
    for (fd = 0; fd < n; fd++) {
        struct watch w = l->watch[fd]; /* the table may move meanwhile */

        if ((w.ready & w.events) != 0)
            w.fn(w.ctx, (int)fd, w.ready & w.events);
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
    while (*at != NULL && (*at)->at_ms <= at_ms)
        at = &(*at)->next;
    t->next = *at;
    t->at_ms = at_ms;
    t->set = true;
    *at = t;
}

static void
call_due(struct loop *l)
{
    struct loop_timer *t;

    while ((t = l->timers) != NULL && t->at_ms <= l->now_ms) {
        loop_timer_stop(l, t);
        t->fn(t->ctx);
    }
}

/* ---- a turn ---- */

static void
look_for_signal(void)
{
    sigset_t pending;
    size_t i;

    if (sigpending(&pending) != 0)
        return;
    for (i = 0; i < SIGNALS_N; i++)
        if (sigismember(&pending, signals[i]) == 1)
            got = signals[i];
}

int
loop_turn(struct loop *l, bool wait)
{
    struct timespec ts = {0, 0}, *timeout = &ts;
    fd_set rd, wr;
    int n;

    fill_sets(l, &rd, &wr);
    if (wait && l->timers == NULL) {
        timeout = NULL;
    } else if (wait && l->timers->at_ms > l->now_ms) {
        int64_t ms = l->timers->at_ms - l->now_ms;

        ts.tv_sec = (time_t)(ms / 1000);
        ts.tv_nsec = (long)(ms % 1000) * 1000000;
    }
    n = pselect((int)l->n, &rd, &wr, NULL, timeout, &l->open);
    if (n < 0 && errno != EINTR)
        return ERR_IO;
    l->now_ms = clock_mono_ms();
    l->busy = n > 0 ? l->busy + 1 : 0;
    if (l->busy >= BUSY_TURNS) {
        l->busy = 0;
        look_for_signal();
    }
    if (n > 0)
        call_ready(l, &rd, &wr);
    call_due(l);
    return 0;
}

int64_t
loop_now(const struct loop *l)
{
    return l->now_ms;
}

int
loop_signal(const struct loop *l)
{
    (void)l;
    return got;
}
