/* bench - whether mcptask is fast and small enough.

   usage: bench [--quick] [--tasks N] MCPTASK [MEASURE...]

   Each line gives one figure as a ratio to something measured in the same run,
   the absolute figures behind it, the bound, and whether it was reached. No
   figure fails the run, since a slow or busy machine is not a fault of the
   program. A refused call or a child that ends early does.

   1. Stores are in a fresh directory below $BENCH_DIR, or build/: the figures
      are those of a disk, not of a file system in memory.
   2. bench_echo and bench_empty are found beside this program. */

#include "board/page.h"
#include "tests/bench/bench_pipe.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BARE_RECORD 300  /* bytes of a bare append */
#define SMALL_STORE 100  /* tasks, beside the big store */
#define REPLAY_TASKS 100000
#define PAUSED 8         /* processes that write during a compaction */

/* ---- ways of running them ---- */

static void
put_create(struct server *s)
{
    server_put(s, CALL("create_task") "{" ID ",\"title\":\"measured\"}",
               s->prefix, (unsigned long long)s->tasks++);
}

/* A create, then an update, and so on. */
static void
put_write(struct server *s)
{
    if (s->id % 2 == 0 || s->tasks == 0)
        put_create(s);
    else
        server_put_update(s);
}

/* Appends to a file and syncs it, as the barest log would. */
static void
append(void *ctx)
{
    static const char record[BARE_RECORD];
    int fd = *(int *)ctx;

    if (write(fd, record, sizeof(record)) != (ssize_t)sizeof(record) ||
        fdatasync(fd) != 0)
        rig_die("append: %s", strerror(errno));
}

static double
run_bare(void *ctx, double seconds)
{
    return rig_rate(append, ctx, seconds);
}

/* ---- measures ---- */

static void
measure_writes(const struct rig_run *run)
{
    char *base = rig_make("writes"), *log = server_log(base);
    struct server s;
    struct server_load l = {&s, put_write};
    struct rig_result r;
    double before;
    uint64_t id;
    char path[4200];
    int fd;

    snprintf(path, sizeof(path), "%s/bare", base);
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND, 0600);
    if (fd < 0)
        rig_die("%s: %s", path, strerror(errno));
    server_start(&s, run, base, 'a', 0);
    put_write(&s);
    server_call(&s); /* the log is made */
    before = rig_file_size(log);
    id = s.id;
    r = rig_compare(run, (struct rig_side){server_single, &l},
                    (struct rig_side){run_bare, &fd});
    rig_report("writes", r.ratio, "of bare appends", ">=", 0.8,
               "%.0f/s, records of %.0f bytes, to %.0f/s of %d; "
               "rounds %.2f-%.2f", r.a,
               (rig_file_size(log) - before) / (double)(s.id - id), r.b,
               BARE_RECORD, r.low, r.high);
    server_stop(&s);
    close(fd);
    free(base);
}

/* Starts bench_echo, with answers of len bytes. */
static void
echo_start(const struct rig_run *run, struct server *s, size_t len)
{
    char path[1100], size[24];
    const char *const argv[] = {path, size, NULL};

    snprintf(path, sizeof(path), "%s/bench_echo", run->beside);
    snprintf(size, sizeof(size), "%zu", len);
    rig_start(&s->child, argv, NULL);
}

/* Reads tasks of about 2 KB, the servers on one core, we on another. */
static void
reads_on(const struct rig_run *run, const char *base, const char *what,
         enum rig_core servers, enum rig_core client)
{
    struct server s, echo = {.tasks = SMALL_STORE, .prefix = 'a'};
    struct server_load l = {&s, server_put_get}, e = {&echo, server_put_get};
    struct rig_result r;
    size_t len;

    if (!rig_keep_to(servers))
        return;
    server_start(&s, run, base, 'a', SMALL_STORE);
    server_put_get(&s);
    len = server_call(&s).len + 1; /* with its line feed */
    echo_start(run, &echo, len);
    rig_keep_to(client);
    r = rig_compare(run, (struct rig_side){server_single, &l},
                    (struct rig_side){server_single, &e});
    rig_keep_to(RIG_ANY);
    rig_report(what, r.ratio, "of an echo", ">=", 0.7,
               "%.0f/s to %.0f/s, answers of %zu bytes; rounds %.2f-%.2f", r.a,
               r.b, len, r.low, r.high);
    server_stop(&s);
    server_stop(&echo);
}

static void
measure_reads(const struct rig_run *run)
{
    char *base = rig_make("reads");

    server_import(run, base, 'a', SMALL_STORE, 1700);
    reads_on(run, base, "reads, two cores", RIG_LAST, RIG_FIRST);
    reads_on(run, base, "reads, one core", RIG_FIRST, RIG_FIRST);
    reads_on(run, base, "reads, any core", RIG_ANY, RIG_ANY);
    free(base);
}

static const struct {
    const char *what;
    void (*put)(struct server *s);
} scaled[] = { /* those that add tasks and records come last */
    {"get at scale", server_put_get},
    {"list at scale", server_put_list},
    {"update at scale", server_put_update},
    {"create at scale", put_create},
};

static uint64_t
empty_kb(const struct rig_run *run, const char *field)
{
    char *base = rig_make(field);
    struct server s;
    uint64_t kb;

    server_start(&s, run, base, 'a', 0);
    kb = rig_status_kb(&s.child, field);
    server_stop(&s);
    free(base);
    return kb;
}

/* The memory that s needs for each of its tasks. */
static void
report_index(const struct rig_run *run, struct server *s, const char *base)
{
    uint64_t empty = empty_kb(run, "VmRSS"), kb;
    double tasks = (double)s->tasks, log = rig_file_size(server_log(base));

    server_put_list(s);
    server_call(s); /* a server that reads the log only when asked has read it
                      now */
    kb = rig_status_kb(&s->child, "VmRSS");
    if (kb > empty)
        rig_report("index", (double)(kb - empty) * 1024 / tasks,
                   "bytes a task", "<=", 200,
                   "%llu KB resident, %llu empty, log %.0f bytes a task: %.2f",
                   (unsigned long long)kb, (unsigned long long)empty,
                   log / tasks, (double)(kb - empty) * 1024 / log);
}

static void
measure_scale(const struct rig_run *run)
{
    char *small = rig_make("small"), *big = rig_make("big");
    struct server s[2];
    double from = rig_now(), took;

    server_import(run, big, 'a', run->tasks, 0);
    took = rig_now() - from;
    printf("%-20s %8.2f s for %llu tasks\n", "import", took,
           (unsigned long long)run->tasks);
    server_import(run, small, 'a', SMALL_STORE, 0);
    rig_keep_to(RIG_FIRST);
    server_start(&s[0], run, small, 'a', SMALL_STORE);
    server_start(&s[1], run, big, 'a', run->tasks);
    report_index(run, &s[1], big);
    for (size_t i = 0; i < sizeof(scaled) / sizeof(scaled[0]); i++) {
        struct server_load l[2] = {{&s[0], scaled[i].put},
                                   {&s[1], scaled[i].put}};
        struct rig_result r = rig_compare(
            run, (struct rig_side){server_single, &l[0]},
            (struct rig_side){server_single, &l[1]});

        rig_report(scaled[i].what, r.ratio, "of the cost at 100", "<=", 1.2,
                   "%.2f us at %llu, %.2f us at 100; rounds %.2f-%.2f",
                   1e6 / r.b, (unsigned long long)run->tasks, 1e6 / r.a, r.low,
                   r.high);
    }
    rig_keep_to(RIG_ANY);
    server_stop(&s[0]);
    server_stop(&s[1]);
    free(small);
    free(big);
}

/* ---- starting ---- */

/* From fork until the program, which does nothing, has ended. */
static void
start_empty(void *ctx)
{
    const char *const argv[] = {ctx, NULL};
    struct rig_child c;

    rig_start(&c, argv, NULL);
    rig_stop(&c);
}

static double
run_empty(void *ctx, double seconds)
{
    return rig_rate(start_empty, ctx, seconds);
}

/* Valid until the next call. */
static char *
empty_path(const struct rig_run *run)
{
    static char path[1100];

    snprintf(path, sizeof(path), "%s/bench_empty", run->beside);
    return path;
}

static void
measure_start(const struct rig_run *run)
{
    char *base = rig_make("start");
    struct server_starts st = {run, base, false};
    struct rig_result r = rig_compare(
        run, (struct rig_side){server_starts, &st},
        (struct rig_side){run_empty, empty_path(run)});

    rig_report("cold start", 1e3 / r.a - 1e3 / r.b, "ms above an empty one",
               "<=", 2, "%.2f ms to %.2f ms, %.2f times; rounds %.2f-%.2f",
               1e3 / r.a, 1e3 / r.b, r.b / r.a, 1 / r.high, 1 / r.low);
    free(base);
}

/* Reads a file in one go: the fastest way there is. */
static void
read_file(void *ctx)
{
    static char block[65536];
    int fd = open(ctx, O_RDONLY);

    if (fd < 0)
        rig_die("%s: %s", (char *)ctx, strerror(errno));
    while (read(fd, block, sizeof(block)) > 0)
        ;
    close(fd);
}

static void
measure_replay(const struct rig_run *run)
{
    char *base = rig_make("replay"), *none = rig_make("none");
    char *log = server_log(base);
    struct server_starts full = {run, base, true}, empty = {run, none, true};
    struct rig_result r;
    double mb, plain, above;

    server_import(run, base, 'a', REPLAY_TASKS, 700);
    mb = rig_file_size(log) / 1e6;
    r = rig_compare(run, (struct rig_side){server_starts, &full},
                    (struct rig_side){server_starts, &empty});
    plain = mb * rig_rate(read_file, log, run->round_s);
    above = 1 / r.a - 1 / r.b;
    rig_report("replay", mb / above, "MB/s", ">=", 500,
               "%.0f MB of %d records in %.1f ms, empty %.2f ms; %.2f of "
               "read() at %.0f MB/s", mb, REPLAY_TASKS, above * 1e3, 1e3 / r.b,
               mb / above / plain, plain);
    free(base);
    free(none);
}

/* ---- compaction ---- */

static void
put_one(struct server *s)
{
    server_put_update(s);
    server_send(s);
}

/* n clients, each with its own server, write one request at a time: for some
   seconds or, with a compaction, until it has ended and each has written in
   the new generation. Returns the longest seconds that one waited for its
   answer. */
static double
longest_write(struct server *s, size_t n, struct rig_child *compaction,
              double seconds)
{
    struct pollfd fd[PAUSED + 1] = {{.fd = compaction ? compaction->out : -1,
                                     .events = POLLIN}};
    double from = rig_now(), sent[PAUSED], longest = 0, now;
    size_t left = n; /* servers that have not written as often as they must */
    int after[PAUSED] = {0};

    for (size_t i = 0; i < n; i++) {
        fd[i + 1] = (struct pollfd){.fd = s[i].child.out, .events = POLLIN};
        put_one(&s[i]);
        sent[i] = rig_now();
    }
    while (left > 0 && poll(fd, n + 1, -1) > 0) {
        if (fd[0].fd >= 0 && fd[0].revents != 0) {
            rig_stop(compaction);
            fd[0].fd = -1;
        }
        for (size_t i = 0; i < n; i++) {
            if (fd[i + 1].revents == 0)
                continue;
            server_answer(&s[i]);
            now = rig_now();
            if (now - sent[i] > longest)
                longest = now - sent[i];
            /* The first answer may be to what was sent before the end. */
            if (fd[0].fd < 0 && now - from >= seconds && ++after[i] == 2) {
                fd[i + 1].fd = -1;
                left--;
                continue;
            }
            put_one(&s[i]);
            sent[i] = rig_now();
        }
    }
    return longest;
}

static void
report_pause(const struct rig_run *run, const char *base, size_t n)
{
    const char *const argv[] = {run->mcptask, "compact", NULL};
    double with[RIG_MAX_ROUNDS], without[RIG_MAX_ROUNDS], median;
    size_t rounds = run->rounds / 2 | 1;
    struct rig_child compaction;
    struct server s[PAUSED];
    char what[32];

    for (size_t i = 0; i < n; i++)
        server_start(&s[i], run, base, 'a', run->tasks);
    for (size_t i = 0; i < rounds; i++) {
        without[i] = 1e3 * longest_write(s, n, NULL, run->round_s);
        rig_start(&compaction, argv, base);
        with[i] = 1e3 * longest_write(s, n, &compaction, 0);
    }
    snprintf(what, sizeof(what), "pause of %zu", n);
    median = rig_median(with, rounds);
    rig_report(what, median, "ms in a compaction", NULL, 0, "%.0f ms to %.0f "
               "ms, %.0f ms without one; %llu tasks, log %.0f MB",
               with[0], with[rounds - 1], rig_median(without, rounds),
               (unsigned long long)run->tasks,
               rig_file_size(server_log(base)) / 1e6);
    for (size_t i = 0; i < n; i++)
        server_stop(&s[i]);
}

/* The longest time that a write takes while another process compacts. */
static void
measure_pause(const struct rig_run *run)
{
    char *base = rig_make("pause");

    server_import(run, base, 'a', run->tasks, 0);
    report_pause(run, base, 1);
    report_pause(run, base, PAUSED);
    free(base);
}

/* ---- size ---- */

/* Reports how much of its context a client spends on the tools. */
static void
report_list(const struct rig_run *run, const char *base, const char *tools,
            const char *what, double most)
{
    const char *const argv[] = {run->mcptask, "--tools", tools, NULL};
    struct server s = {0};
    struct str answer;

    rig_start(&s.child, argv, base);
    server_put(&s, "tools/list", "%s", "");
    answer = server_call(&s);
    rig_report(what, (double)answer.len / 1024, "KB", "<=", most,
               "%zu bytes", answer.len);
    server_stop(&s);
}

static void
measure_size(const struct rig_run *run)
{
    char *base = rig_make("size");
    struct server s, echo = {.tasks = 1, .prefix = 'a'};
    double size = rig_file_size(run->mcptask) / 1024;
    double empty = rig_file_size(empty_path(run)) / 1024;
    uint64_t rss, floor;

    rig_report("binary", size, "KB", NULL, 0,
               "an empty program %.1f KB: %.2f times", empty, size / empty);
    rig_report("page", (double)page_packed().len / 1024, "KB, compressed", "<=",
               48, "%zu bytes", page_packed().len);
    report_list(run, base, "all", "tools/list", 16);
    report_list(run, base, "core", "tools/list, core", 13);
    server_start(&s, run, base, 'a', 0);
    server_put(&s, "tools/list", "%s", "");
    server_call(&s);
    echo_start(run, &echo, 100);
    server_put_get(&echo);
    server_call(&echo);
    rss = rig_status_kb(&s.child, "VmRSS");
    floor = rig_status_kb(&echo.child, "VmRSS");
    if (rss > 0 && floor > 0)
        rig_report("resident", (double)rss, "KB", NULL, 0,
                   "%llu KB of it anonymous; an echo %llu KB: %.2f times",
                   (unsigned long long)rig_status_kb(&s.child, "RssAnon"),
                   (unsigned long long)floor, (double)rss / (double)floor);
    server_stop(&s);
    server_stop(&echo);
    free(base);
}

/* ---- the run ---- */

static const struct rig_measure measures[] = {
    {"size", measure_size},     {"start", measure_start},
    {"reads", measure_reads},   {"writes", measure_writes},
    {"replay", measure_replay}, {"scale", measure_scale},
    {"pause", measure_pause},   {NULL, NULL},
};

int
main(int argc, char **argv)
{
    return rig_main(argc, argv, measures);
}
