/* t_calls_procs - processes that share calls and are killed at random: each
   call completes once, with one result that all of them see.

   argv[1]: rounds of killing, 40 without it. */

#include "base/clock.h"
#include "store/verify.h"
#include "tests/lib/mcp_turn.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#define PROCS 4
#define CALLS 200
#define TOYS 50 /* to wait for */

static char ids[CALLS][CALL_ID_LEN + 1];

static uint64_t told[CALLS]; /* results that were seen; 0: none yet */

static void make_calls(void);
static pid_t start(unsigned seed, int fd);
static bool await_progress(int fd, unsigned n);
static bool see(uint32_t call, uint64_t result);
static void judge(void);

/* ---- killing ---- */

static void
run_round(unsigned seed)
{
    pid_t pids[PROCS];
    int fd[2], status;
    unsigned i, kills;

    memset(told, 0, sizeof(told));
    make_calls();
    if (pipe(fd) != 0)
        abort();
    for (i = 0; i < PROCS; i++)
        pids[i] = start(seed + i, fd[1]);
    for (kills = 0; kills < 2 * PROCS; kills++) {
        unsigned k = (seed + kills) % PROCS;
        volatile unsigned spin;

        CHECK(await_progress(fd[0], 1 + (seed + kills) % 60));
        for (spin = 0; spin < (seed + kills) * 7919 % 50000; spin++)
            ;
        kill(pids[k], SIGKILL);
        CHECK(waitpid(pids[k], &status, 0) == pids[k] &&
              WIFSIGNALED(status));
        pids[k] = kills < PROCS ? start(seed + kills * 31, fd[1]) : 0;
    }
    for (i = 0; i < PROCS; i++) {
        if (pids[i] == 0)
            continue;
        kill(pids[i], SIGKILL);
        CHECK(waitpid(pids[i], &status, 0) == pids[i] &&
              WIFSIGNALED(status));
    }
    close(fd[0]);
    close(fd[1]);
    judge();
}

struct report { /* of one turn, which may have seen a result */
    uint32_t call; /* CALLS: none */
    uint64_t result;
};

/* Reads the reports of n turns, so that no process is killed before it has done
   something, and a stuck one shows. */
static bool
await_progress(int fd, unsigned n)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    struct report r;

    while (n > 0) {
        if (poll(&p, 1, 60000) != 1 || read(fd, &r, sizeof(r)) != sizeof(r))
            return false;
        n -= r.call == CALLS;
        if (r.call < CALLS && !see(r.call, r.result))
            return false;
    }
    return true;
}

/* ---- what a process does until it is killed ---- */

/* The call that an answer of tasks/result belongs to; its id is ID from here
   on. */
static uint32_t
call_of(char *text)
{
    const char *at = strstr(text, "\"taskId\":\"");
    uint32_t i;

    if (at == NULL || strstr(text, "\"content\":[{") == NULL)
        return CALLS;
    memcpy(task_id, at + 10, CALL_ID_LEN);
    for (i = 0; i < CALLS && strcmp(ids[i], task_id) != 0; i++)
        ;
    normalize(text);
    return i;
}

static void
report(struct who *me, int fd)
{
    struct report r = {.call = CALLS};
    size_t i;

    for (i = 0; i < me->n; i++) {
        if (strstr(me->said[i], "\"error\"") != NULL)
            _exit(8);
        r.call = call_of(me->said[i]);
        r.result = str_hash(str_of(me->said[i]));
        if (r.call != CALLS && write(fd, &r, sizeof(r)) != sizeof(r))
            _exit(7);
    }
    r.call = CALLS;
    if (write(fd, &r, sizeof(r)) != sizeof(r))
        _exit(7);
}

/* Ends calls by their event or by an answer, reads them and waits for them. */
static void
work(unsigned seed, int fd)
{
    struct who me;
    char text[300];

    who_pipe(&me, "ann", V11);
    for (;;) {
        unsigned i = (seed >> 8) % CALLS, what = (seed >> 20) % 4;

        seed = seed * 1103515245 + 12345;
        memcpy(task_id, ids[i], sizeof(task_id));
        if (what == 0) {
            if (store_lock_patiently(box.s) != 0)
                _exit(9);
            snprintf(text, sizeof(text), "%u", i % TOYS);
            if (stage_toy(text, "'v':{}") != 0)
                _exit(9);
            turn_commit(SIZE_MAX);
        } else if (what == 1) {
            post(&me, REQ("1", "tasks/result", "{'taskId':'ID'}"));
        } else if (what == 2) {
            post(&me, REQ("1", "tasks/get", "{'taskId':'ID'}"));
        } else {
            snprintf(text, sizeof(text), "{'jsonrpc':'2.0','id':"
                     "'mcptask-c.ID.0.1','result':{'by':%u}}", seed);
            post(&me, text);
        }
        turn();
        report(&me, fd);
        who_forget(&me);
        arena_reset(&arena);
    }
}

static pid_t
start(unsigned seed, int fd)
{
    pid_t pid;

    fflush(NULL);
    pid = fork();
    if (pid < 0)
        abort();
    if (pid == 0) {
        box_open();
        work(seed, fd);
    }
    return pid;
}

/* ---- the judge ---- */

struct tally {
    unsigned ends[CALLS];
};

/* Counts a record that ends a call. */
static int
count_end(void *ctx, const struct store_rec *r)
{
    struct tally *t = ctx;
    unsigned i;

    if (!str_starts(r->key, "call/") ||
        !str_starts(r->body, "\"op\":\"end\""))
        return 0;
    for (i = 0; i < CALLS; i++)
        if (memcmp(r->key.p + 5, ids[i], CALL_ID_LEN) == 0)
            t->ends[i]++;
    return 0;
}

/* Makes the calls to wait for, then closes the store. */
static void
make_calls(void)
{
    struct who me;
    char text[300];
    unsigned i;

    box_open();
    who_pipe(&me, "ann", V11);
    for (i = 0; i < CALLS; i++) {
        snprintf(text, sizeof(text),
                 REQ("1", "tools/call", "{'name':'%s','arguments':"
                     "{'key':'%u'},'task':{}}"), i % 2 ? "await" : "either",
                 i / 2 % TOYS);
        makes(&me, text);
        memcpy(ids[i], task_id, sizeof(task_id));
        arena_reset(&arena);
    }
    who_forget(&me);
    box_close();
}

/* What a client reads of call i. The caller frees it. */
static char *
result_of(unsigned i)
{
    static struct who me;
    char *text;

    if (me.principal == NULL || me.s == NULL)
        who_pipe(&me, "ann", V11);
    memcpy(task_id, ids[i], sizeof(task_id));
    text = strdup(says(&me, REQ("1", "tasks/result", "{'taskId':'ID'}")));
    who_forget(&me);
    arena_reset(&arena);
    if (i + 1 == CALLS)
        me.s = NULL;
    return text;
}

/* Notes the result of a call. Returns whether it is the one seen before. */
static bool
see(uint32_t call, uint64_t result)
{
    if (told[call] == 0)
        told[call] = result;
    return told[call] == result;
}

/* Checks that each call ended once, and that two more processes read the same
   result. */
static void
judge(void)
{
    static struct tally t;
    struct store_report rep;
    unsigned i, round;

    memset(&t, 0, sizeof(t));
    for (round = 0; round < 2; round++) {
        box_open();
        for (i = 0; round == 0 && i < TOYS; i++) {
            char name[16];

            snprintf(name, sizeof(name), "%u", i);
            toy_comes(name); /* for calls whose event never came */
        }
        settle_all();
        for (i = 0; i < CALLS; i++) {
            char *text = result_of(i);

            if (!CHECK(has(text, "'content':[{") &&
                       see(i, str_hash(str_of(text)))))
                fprintf(stderr, "  call %u: %s\n", i, text);
            free(text);
        }
        CHECK(round != 0 || store_scan(box.s, 1, count_end, &t) == 0);
        box_close();
    }
    for (i = 0; i < CALLS; i++)
        CHECK(t.ends[i] == 1);
    CHECK(store_verify(box.path, &rep, NULL) == 0 && !rep.damaged &&
          !rep.torn);
}

int
main(int argc, char **argv)
{
    unsigned rounds = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 40;

    signal(SIGPIPE, SIG_IGN);
    test_in_memory();
    for (unsigned round = 0; round < rounds; round++) {
        char *dir = test_tmpdir();

        snprintf(box.path, sizeof(box.path), "%s/log", dir);
        free(dir);
        run_round((unsigned)getpid() * 97 + round * 1009);
    }
    return test_end("t_calls_procs");
}
