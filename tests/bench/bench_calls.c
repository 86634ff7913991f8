/* bench_calls - whether calls that wait are quick and cheap enough, and what
   claims and polls cost.

   usage: bench_calls [--quick] [--tasks N] MCPTASK [MEASURE...]

   As in bench, each figure stands beside one measured in the same rounds, or
   beside its bound, and none fails the run. N is for bench only.

   1. The time from event to answer begins when the answer of the process that
      wrote the event is read here, and ends when that of the waiting process
      is. Writes come at random times, since a waiting process looks at the log
      at fixed ones.
   2. Calls wait for a change of tasks named w, which nobody writes. */

#include "tests/bench/bench_pipe.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WAITS 10000     /* calls that wait */
#define POLLED 100      /* of these, the last ones made */
#define WRITTEN 1000    /* tasks that are written */
#define CREW 8          /* processes that claim */
#define EACH 8          /* claimers in each */
#define READY 1000      /* tasks to be claimed */
#define PAUSE_MS 100    /* at most, between a wait and its event */
#define MAX_EVENTS 100
#define CALL_ID_LEN 22

/* ---- calls that wait ---- */

static char waits[WAITS][CALL_ID_LEN + 1]; /* of the last add_waits */

/* The id of the task that an answer says was made. */
static void
take_task(struct str answer, char id[CALL_ID_LEN + 1])
{
    struct str s = rig_behind(answer, "\"taskId\":\"");

    if (s.len < CALL_ID_LEN)
        rig_die("no task was made: %.*s", STR_ARG(answer));
    memcpy(id, s.p, CALL_ID_LEN);
    id[CALL_ID_LEN] = '\0';
}

/* Has s make the calls that wait (2). */
static void
add_waits(struct server *s)
{
    for (uint64_t i = 0; i < WAITS; i++) {
        server_put(s, CALL("wait_for_task") "{" ID "},\"task\":{}", 'w',
                   (unsigned long long)i);
        if (i % WINDOW < WINDOW - 1 && i + 1 < WAITS)
            continue;
        server_send(s);
        for (uint64_t n = i % WINDOW + 1; n > 0; n--)
            take_task(server_answer(s), waits[i + 1 - n]);
    }
}

/* ---- from an event to the answer of a waiting call ---- */

static void
wait_change(struct server *y)
{
    server_put(y, CALL("wait_for_task") "{" ID ",\"timeout_seconds\":50}", 't',
               0ull);
}

static void
wait_handoff(struct server *y)
{
    server_put(y, CALL("wait_for_task") "{\"agent\":\"y\",\"until\":"
               "\"handoff\",\"timeout_seconds\":50}");
}

/* As a task, made here, so that y can wait for its result. */
static void
wait_deferred(struct server *y)
{
    char id[CALL_ID_LEN + 1];

    server_put(y, CALL("wait_for_task") "{" ID "},\"task\":{}", 't', 0ull);
    take_task(server_call(y), id);
    server_put(y, "tasks/result", "\"taskId\":\"%s\"", id);
}

static void
do_change(struct server *x, uint64_t i)
{
    server_put(x, CALL("update_task") "{" ID ",\"title\":\"changed %llu\"}",
               't', 0ull, (unsigned long long)i);
}

static void
do_handoff(struct server *x, uint64_t i)
{
    server_put(x, CALL("handoff_task") "{" ID ",\"from_agent\":\"x\","
               "\"to_agent\":\"y\"}", 't', (unsigned long long)i + 1);
}

static const struct {
    const char *what;
    void (*wait)(struct server *y); /* puts one request */
    void (*event)(struct server *x, uint64_t i);
} events[] = {
    {"wait_for_task", wait_change, do_change},
    {"wait for a handoff", wait_handoff, do_handoff},
    {"tasks/result", wait_deferred, do_change},
};

/* Seconds (1). Once y has answered the ping, it waits. */
static double
one_event(struct server *x, struct server *y, size_t kind, uint64_t i)
{
    double from;

    events[kind].wait(y);
    server_put(y, "ping", "%s", "");
    server_call(y);
    poll(NULL, 0, (int)rig_any(PAUSE_MS));
    events[kind].event(x, i);
    server_call(x);
    from = rig_now();
    server_answer(y);
    return rig_now() - from;
}

static void
measure_waits(const struct rig_run *run)
{
    char *base = rig_make("waits");
    size_t n = run->quick ? 12 : MAX_EVENTS;
    double took[MAX_EVENTS], median;
    struct server x, y;

    server_import(run, base, 't', MAX_EVENTS + 1, 0);
    server_start(&x, run, base, 't', 0);
    server_start(&y, run, base, 't', 0);
    for (size_t kind = 0; kind < sizeof(events) / sizeof(events[0]); kind++) {
        for (size_t i = 0; i < n; i++)
            took[i] = 1e3 * one_event(&x, &y, kind, i);
        median = rig_median(took, n);
        rig_report(events[kind].what, median, "ms behind the event", "<=", 75,
                   "95 of 100 within %.1f ms, all within %.1f ms; %zu events "
                   "in another process", took[n * 95 / 100], took[n - 1], n);
    }
    server_stop(&x);
    server_stop(&y);
    free(base);
}

/* ---- what waiting calls cost ---- */

static void
report_write(const struct rig_run *run, struct server s[2], const char *what,
             double (*way)(void *, double))
{
    struct server_load without = {&s[0], server_put_update};
    struct server_load with = {&s[1], server_put_update};
    struct rig_result r = rig_compare(run, (struct rig_side){way, &without},
                                      (struct rig_side){way, &with});

    rig_report(what, r.ratio, "of one without", "<=", 1.1,
               "%.1f us beside %d waiting calls, %.1f us; rounds %.2f-%.2f",
               1e6 / r.b, WAITS, 1e6 / r.a, r.low, r.high);
}

static void
put_poll(struct server *s)
{
    server_put(s, "tasks/get", "\"taskId\":\"%s\"",
               waits[WAITS - 1 - rig_any(POLLED)]);
}

static void
report_polls(const struct rig_run *run, struct server *s)
{
    struct server_load polls = {s, put_poll}, gets = {s, server_put_get};
    struct rig_result r = rig_compare(
        run, (struct rig_side){server_window, &polls},
        (struct rig_side){server_window, &gets});

    rig_report("polls of a call", r.ratio, "of get_task", ">=", 0.8,
               "%.0f/s to %.0f/s, 64 in flight; rounds %.2f-%.2f", r.a, r.b,
               r.low, r.high);
}

/* Two servers that differ only in that one has calls that wait (2). */
static void
measure_costs(const struct rig_run *run)
{
    char *base[2] = {rig_make("without"), rig_make("with")};
    struct server s[2];
    uint64_t kb[2];

    rig_keep_to(RIG_FIRST);
    for (int i = 0; i < 2; i++) {
        server_import(run, base[i], 'a', WRITTEN, 0);
        server_import(run, base[i], 'w', WAITS, 0);
        server_start(&s[i], run, base[i], 'a', WRITTEN);
        server_window(&(struct server_load){&s[i], server_put_update},
                      run->round_s);
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
    report_write(run, s, "a write", server_single);
    report_write(run, s, "a write of 64", server_window);
    report_polls(run, &s[1]);
    rig_keep_to(RIG_ANY);
    for (int i = 0; i < 2; i++) {
        server_stop(&s[i]);
        free(base[i]);
    }
}

/* ---- claims ---- */

struct crew {
    struct server s[CREW];
    bool done[CREW]; /* nothing is left to claim */
    uint64_t left;   /* writes still to be requested */
    bool claimed[READY];
    uint64_t n_claimed;
};

static bool
put_claim(struct crew *c, size_t i)
{
    if (!c->done[i])
        server_put(&c->s[i], CALL("claim_task") "{\"agent\":\"c%zu-%llu\"}",
                   i, (unsigned long long)c->s[i].id % EACH);
    return !c->done[i];
}

static void
note_claim(struct crew *c, size_t i, struct str answer)
{
    struct str id = rig_behind(answer, "\\\"task_id\\\":\\\"r");
    uint64_t n = READY;

    if (rig_behind(answer, "\\\"claimed\\\":false").p != NULL) {
        c->done[i] = true;
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
    server_put(&c->s[i], CALL("update_task") "{" ID ",\"title\":"
               "\"changed\"}", 'r', (unsigned long long)--c->left);
    return true;
}

/* Takes the answers of c->s[i] that have come, and sends a request for each.
   Returns by how much the number of requests in flight has changed. */
static int
go_on(struct crew *c, size_t i, bool (*more)(struct crew *, size_t),
      void (*note)(struct crew *, size_t, struct str))
{
    int n = 0;

    do {
        struct str line = rig_line(&c->s[i].child);

        if (!server_is_answer(line))
            continue;
        if (note != NULL)
            note(c, i, line);
        n += (int)more(c, i) - 1;
    } while (rig_has_line(&c->s[i].child));
    server_send(&c->s[i]);
    return n;
}

/* Keeps EACH requests in flight in each process until all are done. Returns
   the seconds that it took. */
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
        server_send(&c->s[i]);
    }
    while (flying > 0 && poll(fd, CREW, -1) > 0)
        for (size_t i = 0; i < CREW; i++)
            if (fd[i].revents != 0)
                flying += go_on(c, i, more, note);
    return rig_now() - from;
}

struct claims {
    const struct rig_run *run;
    double claims, writes; /* the sums of the rates */
};

/* One round, in which every task is written once and claimed once. Returns the
   ratio. */
static double
claim_all(struct claims *total, size_t round)
{
    static struct crew c;
    char name[32], *base;
    double writes, claims;

    snprintf(name, sizeof(name), "claims%zu", round);
    base = rig_make(name);
    server_import(total->run, base, 'r', READY, 0);
    memset(&c, 0, sizeof(c));
    for (int i = 0; i < CREW; i++)
        server_start(&c.s[i], total->run, base, 'r', READY);
    c.left = READY;
    run_crew(&c, put_write, NULL); /* to warm up */
    c.left = READY;
    writes = READY / run_crew(&c, put_write, NULL);
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
measure_claims(const struct rig_run *run)
{
    struct claims total = {.run = run};
    double ratio[RIG_MAX_ROUNDS], median;
    size_t n = run->rounds / 2 | 1;

    for (size_t i = 0; i < n; i++)
        ratio[i] = claim_all(&total, i);
    median = rig_median(ratio, n);
    rig_report("claims", median, "of updates", NULL, 0, "%.0f/s to %.0f/s, %d "
               "claimers in %d processes, %d tasks; rounds %.2f-%.2f",
               total.claims / (double)n, total.writes / (double)n,
               CREW * EACH, CREW, READY, ratio[0], ratio[n - 1]);
}

/* ---- a claim among many tasks ---- */

#define MANY 20000  /* tasks */
#define PROJECTS 20 /* of these */
#define HELD 10     /* tasks of the first project that others work on */

struct among {
    struct server s;
    const char *scope; /* the repo_path of each claim */
};

/* Claims and gives back. Returns the rate of the claims alone. */
static double
claim_among(void *ctx, double seconds)
{
    struct among *m = ctx;
    double end = rig_now() + seconds, spent = 0, from;
    uint64_t n = 0, id;
    struct str at;

    do {
        server_put(&m->s, CALL("claim_task") "{\"agent\":\"c\","
                   "\"repo_path\":\"%s\"}", m->scope);
        from = rig_now();
        at = rig_behind(server_call(&m->s), "\\\"task_id\\\":\\\"m");
        spent += rig_now() - from;
        n++;
        if (at.len < 7 || !str_u64((struct str){at.p, 7}, &id))
            rig_die("nothing was claimed");
        server_put(&m->s, CALL("handoff_task") "{" ID ",\"agent\":\"c\"}",
                   'm', (unsigned long long)id);
        server_call(&m->s);
    } while (rig_now() < end);
    return (double)n / spent;
}

static void
measure_among(const struct rig_run *run)
{
    char *base[2] = {rig_make("projects"), rig_make("noprojects")};
    struct among with = {.scope = "/srv/p0"}, without = {.scope = "*"};
    struct rig_result r;

    server_import_projects(run, base[0], 'm', MANY, PROJECTS);
    server_import(run, base[1], 'm', MANY, 0);
    server_start(&with.s, run, base[0], 'm', MANY);
    server_start(&without.s, run, base[1], 'm', MANY);
    for (uint64_t i = 0; i < HELD; i++) {
        server_put(&with.s, CALL("claim_task") "{" ID ",\"agent\":\"h%llu\","
                   "\"lease_seconds\":86400}", 'm',
                   (unsigned long long)(i * PROJECTS), (unsigned long long)i);
        server_call(&with.s);
    }
    r = rig_compare(run, (struct rig_side){claim_among, &with},
                    (struct rig_side){claim_among, &without});
    rig_report("claims of a project", r.ratio, "of claims", NULL, 0,
               "%.0f/s to %.0f/s among %d tasks, of %d projects with paths; "
               "rounds %.2f-%.2f", r.a, r.b, MANY, PROJECTS, r.low, r.high);
    server_stop(&with.s);
    server_stop(&without.s);
    free(base[0]);
    free(base[1]);
}

/* ---- the run ---- */

static const struct rig_measure measures[] = {
    {"call-waits", measure_waits},   {"call-costs", measure_costs},
    {"call-claims", measure_claims}, {"call-among", measure_among},
    {NULL, NULL},
};

int
main(int argc, char **argv)
{
    return rig_main(argc, argv, measures);
}
