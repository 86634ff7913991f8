/* t_loop - signals while every turn of the loop finds something to do: then no
   wait lets them in, and the loop must check for them itself. And timers that
   set themselves again. */

#include "base/loop.h"
#include "tests/lib/faults.h"
#include "tests/lib/test.h"

#include <signal.h>

#define MANY 200 /* turns: more than between two checks */
#define FEW 2    /* turns of a second */

static struct loop *loop;
static int turns; /* that found something */
static bool slow;

static void
on_ready(void *ctx, int fd, int events)
{
    CHECK(ctx == &turns && fd >= 0 && events == LOOP_READ);
    turns++;
    clock_ahead_s += slow;
}

/* The signal that the loop has noticed after n busy turns. */
static int
signal_behind(int sig, int n)
{
    int i;

    turns = 0;
    raise(sig);
    for (i = 0; i < n; i++)
        CHECK(loop_turn(loop, false) == 0);
    CHECK(turns == n);
    return loop_signal();
}

static struct loop_timer eager;
static int calls; /* of its function */

static void
set_again(void *ctx)
{
    CHECK(ctx == &calls);
    if (++calls < MANY)
        loop_timer_set(loop, &eager, loop_now(loop) - calls % 2);
}

/* One that sets itself for now, or for earlier, has a call in each turn, and no
   turn waits for it. */
TEST(a_timer_has_one_call_in_a_turn)
{
    struct loop_timer other = {.fn = set_again, .ctx = &calls};
    int i;

    eager = other;
    loop_timer_set(loop, &eager, loop_now(loop));
    for (i = 1; i <= MANY && CHECK(calls == i - 1); i++)
        CHECK(loop_turn(loop, true) == 0);
    CHECK(calls == MANY && !eager.set);
    loop_timer_set(loop, &eager, loop_now(loop));
    loop_timer_set(loop, &other, loop_now(loop));
    CHECK(loop_turn(loop, false) == 0 && calls == MANY + 2);
}

int
main(void)
{
    int fd[2];

    signal(SIGINT, SIG_IGN); /* as our parent may have left it, ... */
    signal(SIGHUP, SIG_DFL); /* ... but these must be noticed */
    signal(SIGTERM, SIG_DFL);
    CHECK(loop_new(&loop) == 0 && pipe(fd) == 0 && write(fd[1], "x", 1) == 1);
    CHECK(loop_watch(loop, fd[0], LOOP_READ, on_ready, &turns) == 0);
    CHECK(signal_behind(SIGINT, MANY) == 0);
    CHECK(signal_behind(SIGHUP, MANY) == SIGHUP && loop_hung_up());
    CHECK(signal_behind(SIGINT, MANY) == 0); /* it is reported only once */
    slow = true;
    CHECK(signal_behind(SIGHUP, FEW) == SIGHUP && loop_hung_up());
    slow = false;
    CHECK(signal_behind(SIGTERM, MANY) == SIGTERM);
    CHECK(loop_watch(loop, fd[0], 0, NULL, NULL) == 0);
    test_run();
    loop_free(loop);
    close(fd[0]);
    close(fd[1]);
    return test_end("t_loop");
}
