/* bench_calls - whether calls that wait are as quick and as cheap as they
   have to be, and what claims and polls cost.

   usage: bench_calls [--quick] [--tasks N] MCPTASK [MEASURE...]

   As bench does: each figure stands beside one measured in the same rounds or
   beside the bound that it has, and a short one fails nothing. N is for bench
   alone.

   1. An answer counts when it is a result, not an error; what servers say
      besides is passed over.
   2. From event to answer is from when the answer of the process that wrote
      the event was read here until that of the process that waits was. Writes
      come at random times, since who waits looks at the log at fixed ones.
   3. Calls wait for a change of tasks of their own, named w, which nobody
      writes. */

#include "../base.h"
#include "bench_rig.h"

#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WAITS 10000     /* calls that wait */
#define TEXT(n) #n
#define DIGITS(n) TEXT(n)
#define POLLED 100      /* of them, those made last */
#define WRITTEN 1000    /* tasks that are written */
#define CREW 8          /* processes that claim */
#define EACH 8          /* claimers in each */
#define READY 1000      /* tasks to be claimed */
#define WINDOW 64       /* requests in flight on one pipe */
#define RECORDS 100000  /* of a log that is read anew */
#define GOAL_LEN 700
#define PAUSE_MS 100    /* at most, between a wait and its event */
#define MAX_EVENTS 100
#define CALL_ID_LEN 22

struct bench {
    const char *mcptask;
    size_t rounds, events;
    double round_s;
};

struct server {
    struct rig_child child;
    struct buf tx; /* requests not yet sent */
    uint64_t id;   /* of the last request */
    uint64_t random;
    bool done;     /* nothing was left to be claimed */
};

/* A figure that has no bound. */
static void
say(const char *what, double value, const char *unit, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

static void
say(const char *what, double value, const char *unit, const char *fmt, ...)
{
    va_list ap;

    printf("%-20s %8.2f %-21s ", what, value, unit);
    va_start(ap, fmt);
    vprintf(fmt, ap);
    va_end(ap);
    putchar('\n');
    fflush(stdout);
}

/* ---- requests and answers ---- */

static void
put(struct server *s, const char *method, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Puts a request with the members fmt of its params into s->tx. */
static void
put(struct server *s, const char *method, const char *fmt, ...)
{
    char params[512];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(params, sizeof(params), fmt, ap);
    va_end(ap);
    buf_printf(&s->tx, "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"method\":\"%s\","
               "\"params\":{%s}}\n", (unsigned long long)++s->id, method,
               params);
}

#define CALL(tool) "\"name\":\"" tool "\",\"arguments\":"
#define ID "\"task_id\":\"%c%07llu\""

static void
flush_calls(struct server *s)
{
    if (s->tx.err != 0)
        rig_die("no memory");
    rig_send(&s->child, buf_view(&s->tx));
    s->tx.len = 0;
}

/* Where z stands in s, from behind it; .p NULL: nowhere. */
static struct str
behind(struct str s, const char *z)
{
    size_t n = strlen(z);

    for (; s.len >= n; s.p++, s.len--)
        if (memcmp(s.p, z, n) == 0)
            return (struct str){s.p + n, s.len - n};
    return STR_NONE;
}

/* Whether a line is an answer, which then has to be good (1). Only its ends
   are looked at, so that looking costs the same for all. */
static bool
is_answer(struct str line)
{
    struct str head = line, tail = line;

    if (!str_starts(line, "{\"jsonrpc\":\"2.0\",\"id\":"))
        return false;
    if (head.len > 64)
        head.len = 64;
    if (tail.len > 64) {
        tail.p += tail.len - 64;
        tail.len = 64;
    }
    if (behind(head, "\"result\":").p == NULL ||
        behind(tail, "\"isError\":true").p != NULL)
        rig_die("refused: %.*s", STR_ARG(line));
    return true;
}

static struct str
take_answer(struct server *s)
{
    struct str line;

    do
        line = rig_line(&s->child);
    while (!is_answer(line));
    return line;
}

static struct str
ask(struct server *s)
{
    flush_calls(s);
    return take_answer(s);
}

static void
server_start(const struct bench *b, struct server *s, const char *base)
{
    const char *const argv[] = {b->mcptask, "--calls-own", DIGITS(WAITS),
                                "--calls-max", DIGITS(WAITS), NULL};

    memset(s, 0, sizeof(*s));
    s->random = 88172645463325252u;
    rig_start(&s->child, argv, base);
    put(s, "initialize", "\"protocolVersion\":\"2025-11-25\","
        "\"capabilities\":{},\"clientInfo\":{\"name\":\"bench\","
        "\"version\":\"1\"}");
    ask(s);
    buf_z(&s->tx, "{\"jsonrpc\":\"2.0\",\"method\":"
          "\"notifications/initialized\"}\n");
}

static void
server_stop(struct server *s)
{
    rig_stop(&s->child);
    buf_fini(&s->tx);
}

static uint64_t
any_of(struct server *s, uint64_t n)
{
    s->random ^= s->random << 13;
    s->random ^= s->random >> 7;
    s->random ^= s->random << 17;
    return s->random % n;
}

/* ---- ways of running them ---- */

struct load {
    struct server *s;
    void (*put)(struct server *s);
};

static void
once(void *ctx)
{
    struct load *l = ctx;

    l->put(l->s);
    ask(l->s);
}

/* One request at a time. */
static double
run_single(void *ctx, double seconds)
{
    return rig_rate(once, ctx, seconds);
}

/* WINDOW requests at a time. */
static void
many(void *ctx)
{
    struct load *l = ctx;

    for (int i = 0; i < WINDOW; i++)
        l->put(l->s);
    flush_calls(l->s);
    for (int i = 0; i < WINDOW; i++)
        take_answer(l->s);
}

static double
run_window(void *ctx, double seconds)
{
    return WINDOW * rig_rate(many, ctx, seconds);
}

static void
put_update(struct server *s)
{
    put(s, "tools/call", CALL("update_task") "{" ID ",\"title\":\"changed "
        "%llu\"}", 'a', (unsigned long long)any_of(s, WRITTEN),
        (unsigned long long)s->id);
}

static void
put_get(struct server *s)
{
    put(s, "tools/call", CALL("get_task") "{" ID "}", 'a',
        (unsigned long long)any_of(s, WRITTEN));
}

/* ---- calls that wait ---- */

static char waits[WAITS][CALL_ID_LEN + 1]; /* of the last add_waits */

/* The id of the task that an answer says was made. */
static void
take_task(struct str answer, char id[CALL_ID_LEN + 1])
{
    struct str s = behind(answer, "\"taskId\":\"");

    if (s.len < CALL_ID_LEN)
        rig_die("no task was made: %.*s", STR_ARG(answer));
    memcpy(id, s.p, CALL_ID_LEN);
    id[CALL_ID_LEN] = '\0';
}

/* Has s make the calls that wait (3). */
static void
add_waits(struct server *s)
{
    for (uint64_t i = 0; i < WAITS; i++) {
        put(s, "tools/call", CALL("wait_for_task") "{" ID "},\"task\":{}", 'w',
            (unsigned long long)i);
        if (i % WINDOW < WINDOW - 1 && i + 1 < WAITS)
            continue;
        flush_calls(s);
        for (uint64_t n = i % WINDOW + 1; n > 0; n--)
            take_task(take_answer(s), waits[i + 1 - n]);
    }
}

/* ---- stores ---- */

/* Adds n tasks by import, with ids of a prefix and a number. */
static void
import_tasks(const struct bench *b, const char *base, char prefix, uint64_t n,
             size_t goal_len)
{
    const char *const argv[] = {b->mcptask, "import", "-", NULL};
    struct rig_child import;
    struct buf lines = {0};
    char goal[GOAL_LEN + 1];

    memset(goal, 'g', sizeof(goal));
    rig_start(&import, argv, base);
    for (uint64_t i = 0; i < n; i++) {
        buf_printf(&lines, "{" ID ",\"title\":\"task %llu\",\"goal\":"
                   "\"%.*s\"}\n", prefix, (unsigned long long)i,
                   (unsigned long long)i, (int)goal_len, goal);
        if (lines.len > 60000 || i + 1 == n) {
            rig_send(&import, buf_view(&lines));
            buf_reset(&lines, 65536);
        }
    }
    buf_fini(&lines);
    rig_stop(&import);
}

static double
log_size(const char *base)
{
    char path[4200];

    snprintf(path, sizeof(path), "%s/tasks.log", base);
    return (double)rig_file_size(path);
}

/* ---- from an event to the answer of who waits for it ---- */

static void
wait_change(struct server *y, uint64_t i)
{
    (void)i;
    put(y, "tools/call", CALL("wait_for_task") "{" ID ",\"timeout_seconds\":"
        "50}", 't', 0ull);
}

static void
wait_handoff(struct server *y, uint64_t i)
{
    (void)i;
    put(y, "tools/call", CALL("wait_for_task") "{\"agent\":\"y\",\"until\":"
        "\"handoff\",\"timeout_seconds\":50}");
}

/* As a task, which is made here, so that its result can be waited for. */
static void
wait_deferred(struct server *y, uint64_t i)
{
    char id[CALL_ID_LEN + 1];

    (void)i;
    put(y, "tools/call", CALL("wait_for_task") "{" ID "},\"task\":{}", 't',
        0ull);
    take_task(ask(y), id);
    put(y, "tasks/result", "\"taskId\":\"%s\"", id);
}

static void
do_change(struct server *x, uint64_t i)
{
    put(x, "tools/call", CALL("update_task") "{" ID ",\"title\":\"changed "
        "%llu\"}", 't', 0ull, (unsigned long long)i);
}

static void
do_handoff(struct server *x, uint64_t i)
{
    put(x, "tools/call", CALL("handoff_task") "{" ID ",\"from_agent\":\"x\","
        "\"to_agent\":\"y\"}", 't', (unsigned long long)i + 1);
}

static const struct {
    const char *what;
    void (*wait)(struct server *y, uint64_t i); /* puts one request */
    void (*event)(struct server *x, uint64_t i);
} events[] = {
    {"wait_for_task", wait_change, do_change},
    {"wait for a handoff", wait_handoff, do_handoff},
    {"tasks/result", wait_deferred, do_change},
};

/* Seconds (2). That y has answered the ping says that it waits. */
static double
one_event(struct server *x, struct server *y, size_t kind, uint64_t i)
{
    double from;

    events[kind].wait(y, i);
    put(y, "ping", "%s", "");
    ask(y);
    poll(NULL, 0, (int)any_of(y, PAUSE_MS));
    events[kind].event(x, i);
    ask(x);
    from = rig_now();
    take_answer(y);
    return rig_now() - from;
}

static int
by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void
measure_waits(const struct bench *b)
{
    char *base = rig_make("waits");
    double took[MAX_EVENTS];
    struct server x, y;

    import_tasks(b, base, 't', MAX_EVENTS + 1, 0);
    server_start(b, &x, base);
    server_start(b, &y, base);
    for (size_t kind = 0; kind < sizeof(events) / sizeof(events[0]); kind++) {
        for (size_t i = 0; i < b->events; i++)
            took[i] = 1e3 * one_event(&x, &y, kind, i);
        qsort(took, b->events, sizeof(took[0]), by_size);
        rig_report(events[kind].what, took[b->events / 2],
                   "ms behind the event", "<=", 75, "95 of 100 within "
                   "%.1f ms, all within %.1f ms; %zu events in another "
                   "process", took[b->events * 95 / 100],
                   took[b->events - 1], b->events);
    }
    server_stop(&x);
    server_stop(&y);
    free(base);
}

/* ---- what waiting calls cost ---- */

static void
report_write(const struct bench *b, struct server s[2], const char *what,
             double (*run)(void *, double))
{
    struct load without = {&s[0], put_update}, with = {&s[1], put_update};
    struct rig_result r = rig_compare((struct rig_side){run, &without},
                                      (struct rig_side){run, &with},
                                      b->rounds, b->round_s);

    rig_report(what, r.ratio, "of one without", "<=", 1.1,
               "%.1f us beside %d waiting calls, %.1f us; rounds %.2f-%.2f",
               1e6 / r.b, WAITS, 1e6 / r.a, r.low, r.high);
}

static void
put_poll(struct server *s)
{
    put(s, "tasks/get", "\"taskId\":\"%s\"",
        waits[WAITS - 1 - any_of(s, POLLED)]);
}

static void
report_polls(const struct bench *b, struct server *s)
{
    struct load polls = {s, put_poll}, gets = {s, put_get};
    struct rig_result r = rig_compare((struct rig_side){run_window, &polls},
                                      (struct rig_side){run_window, &gets},
                                      b->rounds, b->round_s);

    rig_report("polls of a call", r.ratio, "of get_task", ">=", 0.8,
               "%.0f/s to %.0f/s, 64 in flight; rounds %.2f-%.2f", r.a, r.b,
               r.low, r.high);
}

/* Two servers alike, but that one has calls that wait (3). */
static void
measure_costs(const struct bench *b)
{
    char *base[2] = {rig_make("without"), rig_make("with")};
    struct server s[2];
    uint64_t kb[2];

    rig_keep_to(RIG_FIRST);
    for (int i = 0; i < 2; i++) {
        import_tasks(b, base[i], 'a', WRITTEN, 0);
        import_tasks(b, base[i], 'w', WAITS, 0);
        server_start(b, &s[i], base[i]);
        run_window(&(struct load){&s[i], put_update}, b->round_s);
        if (i == 1)
            add_waits(&s[i]);
        kb[i] = rig_status_kb(&s[i].child, "VmRSS");
    }
    if (kb[0] > 0)
        rig_report("a waiting call", ((double)kb[1] - (double)kb[0]) * 1024 /
                   WAITS, "bytes resident", "<=", 300,
                   "%llu KB with %d, %llu KB without",
                   (unsigned long long)kb[1], WAITS,
                   (unsigned long long)kb[0]);
    report_write(b, s, "a write", run_single);
    report_write(b, s, "a write of 64", run_window);
    report_polls(b, &s[1]);
    rig_keep_to(RIG_ANY);
    for (int i = 0; i < 2; i++) {
        server_stop(&s[i]);
        free(base[i]);
    }
}

/* ---- claims ---- */

struct crew {
    struct server s[CREW];
    uint64_t left; /* writes still to be asked for */
    bool claimed[READY];
    uint64_t n_claimed;
};

static bool
put_claim(struct crew *c, size_t i)
{
    if (!c->s[i].done)
        put(&c->s[i], "tools/call", CALL("claim_task") "{\"agent\":"
            "\"c%zu-%llu\"}", i, (unsigned long long)c->s[i].id % EACH);
    return !c->s[i].done;
}

static void
note_claim(struct crew *c, size_t i, struct str answer)
{
    struct str id = behind(answer, "\"task_id\":\"r");
    uint64_t n = READY;

    if (id.p == NULL) {
        c->s[i].done = true;
        return;
    }
    if (id.len < 7 || !str_u64((struct str){id.p, 7}, &n) || n >= READY ||
        c->claimed[n])
        rig_die("claimed twice: %.*s", STR_ARG(answer));
    c->claimed[n] = true;
    c->n_claimed++;
}

static bool
put_write(struct crew *c, size_t i)
{
    if (c->left == 0)
        return false;
    put(&c->s[i], "tools/call", CALL("update_task") "{" ID ",\"title\":"
        "\"changed\"}", 'r', (unsigned long long)--c->left);
    return true;
}

static void
note_write(struct crew *c, size_t i, struct str answer)
{
    (void)c;
    (void)i;
    (void)answer;
}

/* Takes the answers of c->s[i] that have come, and asks as often again; how
   many are there more or less now. */
static int
go_on(struct crew *c, size_t i, bool (*more)(struct crew *, size_t),
      void (*note)(struct crew *, size_t, struct str))
{
    int n = 0;

    do {
        struct str line = rig_line(&c->s[i].child);

        if (!is_answer(line))
            continue;
        note(c, i, line);
        n += (int)more(c, i) - 1;
    } while (rig_has_line(&c->s[i].child));
    flush_calls(&c->s[i]);
    return n;
}

/* Has EACH requests in flight in each process until there are no more:
   seconds. */
static double
run_crew(struct crew *c, bool (*more)(struct crew *, size_t),
         void (*note)(struct crew *, size_t, struct str))
{
    struct pollfd fd[CREW];
    double from = rig_now();
    int flying = 0;

    for (size_t i = 0; i < CREW; i++) {
        fd[i] = (struct pollfd){.fd = c->s[i].child.out, .events = POLLIN};
        for (int k = 0; k < EACH; k++)
            flying += more(c, i);
        flush_calls(&c->s[i]);
    }
    while (flying > 0 && poll(fd, CREW, -1) > 0)
        for (size_t i = 0; i < CREW; i++)
            if (fd[i].revents != 0)
                flying += go_on(c, i, more, note);
    return rig_now() - from;
}

struct claims {
    const struct bench *b;
    double claims, writes; /* the sums of the rates */
};

/* One round: every task is written once and claimed once; the ratio. */
static double
claim_all(struct claims *total, size_t round)
{
    static struct crew c;
    char name[32], *base;
    double writes, claims;

    snprintf(name, sizeof(name), "claims%zu", round);
    base = rig_make(name);
    import_tasks(total->b, base, 'r', READY, 0);
    memset(&c, 0, sizeof(c));
    for (int i = 0; i < CREW; i++)
        server_start(total->b, &c.s[i], base);
    c.left = READY;
    run_crew(&c, put_write, note_write); /* to warm up */
    c.left = READY;
    writes = READY / run_crew(&c, put_write, note_write);
    claims = READY / run_crew(&c, put_claim, note_claim);
    if (c.n_claimed != READY)
        rig_die("only %llu were claimed", (unsigned long long)c.n_claimed);
    for (int i = 0; i < CREW; i++)
        server_stop(&c.s[i]);
    free(base);
    total->writes += writes;
    total->claims += claims;
    return claims / writes;
}

static void
measure_claims(const struct bench *b)
{
    struct claims total = {.b = b};
    double ratio[RIG_MAX_ROUNDS];
    size_t n = b->rounds / 2 | 1;

    for (size_t i = 0; i < n; i++)
        ratio[i] = claim_all(&total, i);
    qsort(ratio, n, sizeof(ratio[0]), by_size);
    say("claims", ratio[n / 2], "of updates", "%.0f/s to %.0f/s, %d claimers "
        "in %d processes, %d tasks; rounds %.2f-%.2f",
        total.claims / (double)n, total.writes / (double)n, CREW * EACH, CREW,
        READY, ratio[0], ratio[n - 1]);
}

/* ---- starting with them ---- */

struct start {
    const struct bench *b;
    const char *base;
};

/* From fork to the answer of a server that has read the whole log; its end
   is not counted. */
static double
run_starts(void *ctx, double seconds)
{
    const struct start *st = ctx;
    struct server s;
    double sum = 0, from;
    uint64_t n = 0;

    for (; sum < seconds; n++) {
        from = rig_now();
        server_start(st->b, &s, st->base);
        put(&s, "tools/call", CALL("list_tasks") "{\"limit\":1}");
        ask(&s);
        sum += rig_now() - from;
        server_stop(&s);
    }
    return (double)n / sum;
}

/* The calls stand before all but the tasks that they wait for, so that every
   other record is looked at while they wait. */
static double
make_log(const struct bench *b, const char *base, uint64_t n_waits)
{
    struct server s;

    import_tasks(b, base, 'w', WAITS, GOAL_LEN);
    if (n_waits > 0) {
        server_start(b, &s, base);
        add_waits(&s);
        server_stop(&s);
    }
    import_tasks(b, base, 't', RECORDS - WAITS - n_waits, GOAL_LEN);
    return log_size(base) / 1e6;
}

static void
measure_replay(const struct bench *b)
{
    char *base[2] = {rig_make("calls"), rig_make("nocalls")};
    struct start calls = {b, base[0]}, none = {b, base[1]};
    double mb[2] = {make_log(b, base[0], WAITS), make_log(b, base[1], 0)};
    struct rig_result r = rig_compare((struct rig_side){run_starts, &calls},
                                      (struct rig_side){run_starts, &none},
                                      b->rounds, b->round_s);

    rig_report("replay with calls", r.ratio * mb[0] / mb[1],
               "of MB/s without", ">=", 0.9, "%.0f MB/s to %.0f MB/s, %d of "
               "%d records; a start %.1f ms to %.1f ms", mb[0] * r.a,
               mb[1] * r.b, WAITS, RECORDS, 1e3 / r.a, 1e3 / r.b);
    free(base[0]);
    free(base[1]);
}

/* ---- the run ---- */

static const struct {
    const char *name;
    void (*run)(const struct bench *b);
} measures[] = {
    {"call-waits", measure_waits},   {"call-costs", measure_costs},
    {"call-claims", measure_claims},
    {"call-replay", measure_replay},
};

static bool
is_wanted(const char *name, char **names)
{
    bool all = *names == NULL;

    for (; *names != NULL; names++)
        all |= strcmp(*names, name) == 0;
    return all;
}

/* Reads the options; what is left are the operands. */
static char **
options(struct bench *b, char **argv)
{
    b->rounds = 12;
    b->round_s = 0.5;
    b->events = MAX_EVENTS;
    for (argv++; *argv != NULL && **argv == '-'; argv++) {
        if (strcmp(*argv, "--quick") == 0) {
            b->rounds = 5;
            b->round_s = 0.1;
            b->events = 12;
        } else if (strcmp(*argv, "--tasks") == 0 && argv[1] != NULL) {
            argv++;
        } else {
            return NULL;
        }
    }
    return *argv == NULL ? NULL : argv;
}

int
main(int argc, char **argv)
{
    static const char *const unset[] = {"MCP_TASK_DB_PATH", "MCP_DEBUG",
                                        "MCP_TASK_ARTIFACTS_DIR"};
    const char *parent = getenv("BENCH_DIR");
    struct bench b = {0};
    char **names = argc > 0 ? options(&b, argv) : NULL;

    if (names == NULL) {
        fputs("usage: bench_calls [--quick] [--tasks N] MCPTASK "
              "[MEASURE...]\n", stderr);
        return 2;
    }
    b.mcptask = *names++;
    for (size_t i = 0; i < sizeof(unset) / sizeof(unset[0]); i++)
        unsetenv(unset[i]);
    signal(SIGPIPE, SIG_IGN);
    rig_directory(parent != NULL ? parent : "build");
    rig_print_machine();
    for (size_t i = 0; i < sizeof(measures) / sizeof(measures[0]); i++)
        if (is_wanted(measures[i].name, names))
            measures[i].run(&b);
    return 0;
}
