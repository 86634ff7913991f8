/* bench - whether mcptask is as fast and as small as it has to be.

   usage: bench [--quick] [--tasks N] MCPTASK [MEASURE...]

   Each line says one figure as a ratio to something that was measured in the
   same run, the absolute figures behind it, the bound, and whether it was
   reached. No figure fails the run: a machine that is slow or busy is not a
   fault of the program. Only what breaks does: a refused call, a child that
   ends early.

   1. A call counts when its answer is there and is a result, not an error.
   2. The servers are children that speak MCP over pipes, as clients start
      them; their store is in a fresh directory below $BENCH_DIR, or build/,
      since what counts is a disk and not a memory file system.
   3. bench_echo and bench_empty are found beside this program. */

#include "../base.h"
#include "bench_rig.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WINDOW 64        /* requests in flight on one pipe */
#define FLEET 4          /* processes on one log */
#define BARE_RECORD 300  /* bytes of a bare append */
#define SMALL_STORE 100  /* tasks, beside the big store */
#define REPLAY_TASKS 100000

struct bench {
    const char *mcptask;
    char beside[1024]; /* the directory of this program */
    size_t rounds;
    double round_s;
    uint64_t tasks; /* in the big store */
};

/* A running mcptask, or bench_echo, and the tasks that we know it to have. */
struct server {
    struct rig_child child;
    struct buf tx;    /* requests not yet sent */
    uint64_t id;      /* of the last request */
    uint64_t tasks;   /* ids are prefix and 0 to tasks - 1 */
    uint64_t random;
    char prefix;      /* of ids, one for each client of a store */
};

/* ---- calls ---- */

static void
call(struct server *s, const char *tool, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Puts a request with these arguments into s->tx. */
static void
call(struct server *s, const char *tool, const char *fmt, ...)
{
    char args[8192];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(args, sizeof(args), fmt, ap);
    va_end(ap);
    buf_printf(&s->tx, "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"method\":"
               "\"tools/call\",\"params\":{\"name\":\"%s\",\"arguments\":"
               "{%s}}}\n", (unsigned long long)++s->id, tool, args);
}

static void
flush_calls(struct server *s)
{
    if (s->tx.err != 0)
        rig_die("no memory");
    rig_send(&s->child, buf_view(&s->tx));
    s->tx.len = 0;
}

static bool
contains(struct str s, const char *z)
{
    size_t n = strlen(z);

    for (; s.len >= n; s.p++, s.len--)
        if (memcmp(s.p, z, n) == 0)
            return true;
    return false;
}

/* The next answer (1). Only the ends of a long line are looked at, where
   "result" and "isError" stand, so that looking costs the same for all. */
static struct str
take_answer(struct server *s)
{
    struct str line, head, tail;

    do
        line = rig_line(&s->child);
    while (str_starts(line, "{\"jsonrpc\":\"2.0\",\"method\":"));
    head = tail = line;
    if (head.len > 64)
        head.len = 64;
    if (tail.len > 64) {
        tail.p += tail.len - 64;
        tail.len = 64;
    }
    if (!contains(head, "\"result\":") || contains(tail, "\"isError\":true"))
        rig_die("refused: %.*s", STR_ARG(line));
    return line;
}

/* ---- servers ---- */

static void
handshake(struct server *s)
{
    buf_z(&s->tx, "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\","
          "\"params\":{\"protocolVersion\":\"2025-11-25\","
          "\"capabilities\":{},\"clientInfo\":{\"name\":\"bench\","
          "\"version\":\"1\"}}}\n");
    flush_calls(s);
    take_answer(s);
    buf_z(&s->tx, "{\"jsonrpc\":\"2.0\",\"method\":"
          "\"notifications/initialized\"}\n");
}

static void
server_start(const struct bench *b, struct server *s, const char *base,
             char prefix, uint64_t tasks)
{
    const char *const argv[] = {b->mcptask, NULL};

    memset(s, 0, sizeof(*s));
    s->prefix = prefix;
    s->tasks = tasks;
    s->random = 88172645463325252u;
    rig_start(&s->child, argv, base);
    handshake(s);
}

static void
server_stop(struct server *s)
{
    rig_stop(&s->child);
    buf_fini(&s->tx);
}

/* The number of a task, any of them. */
static uint64_t
any_task(struct server *s)
{
    s->random ^= s->random << 13;
    s->random ^= s->random >> 7;
    s->random ^= s->random << 17;
    return s->random % s->tasks;
}

/* ---- operations: each puts one request into s->tx ---- */

#define ID "\"task_id\":\"%c%07llu\""

static void
put_create(struct server *s)
{
    call(s, "create_task", ID ",\"title\":\"measured\"", s->prefix,
         (unsigned long long)s->tasks++);
}

static void
put_update(struct server *s)
{
    call(s, "update_task", ID ",\"title\":\"changed %llu\"", s->prefix,
         (unsigned long long)any_task(s), (unsigned long long)s->id);
}

static void
put_get(struct server *s)
{
    call(s, "get_task", ID, s->prefix, (unsigned long long)any_task(s));
}

static void
put_list(struct server *s)
{
    call(s, "list_tasks", "\"include_done\":false");
}

/* A create, then an update, and so on. */
static void
put_write(struct server *s)
{
    if (s->id % 2 == 0 || s->tasks == 0)
        put_create(s);
    else
        put_update(s);
}

/* ---- ways of running them ---- */

struct load {
    struct server *s;
    void (*put)(struct server *s);
};

static void
ask(void *ctx)
{
    struct load *l = ctx;

    l->put(l->s);
    flush_calls(l->s);
    take_answer(l->s);
}

/* One client, one request at a time. */
static double
run_single(void *ctx, double seconds)
{
    return rig_rate(ask, ctx, seconds);
}

/* One client with WINDOW requests in flight. */
static double
run_window(void *ctx, double seconds)
{
    struct load *l = ctx;
    double from = rig_now();
    uint64_t n = 0;
    size_t flying = 0;

    do {
        while (flying < WINDOW && rig_now() - from < seconds) {
            l->put(l->s);
            flying++;
        }
        flush_calls(l->s);
        do {
            take_answer(l->s);
            flying--;
            n++;
        } while (rig_has_line(&l->s->child));
    } while (flying > 0);
    return (double)n / (rig_now() - from);
}

/* FLEET clients, each one request at a time to a server of its own. */
static double
run_fleet(void *ctx, double seconds)
{
    struct server *s = ctx;
    struct pollfd fd[FLEET];
    double from = rig_now();
    size_t live = FLEET;
    uint64_t n = 0;

    for (size_t i = 0; i < FLEET; i++) {
        fd[i] = (struct pollfd){.fd = s[i].child.out, .events = POLLIN};
        put_write(&s[i]);
        flush_calls(&s[i]);
    }
    while (live > 0 && poll(fd, FLEET, -1) > 0)
        for (size_t i = 0; i < FLEET; i++) {
            if (fd[i].revents == 0)
                continue;
            take_answer(&s[i]);
            n++;
            if (rig_now() - from < seconds) {
                put_write(&s[i]);
                flush_calls(&s[i]);
            } else {
                fd[i].fd = -1;
                live--;
            }
        }
    return (double)n / (rig_now() - from);
}

/* Appends to a file and syncs it, as a log that did nothing else would. */
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

static struct rig_result
compare(const struct bench *b, double (*run_a)(void *, double), void *a,
        double (*run_b)(void *, double), void *ctx_b)
{
    return rig_compare((struct rig_side){run_a, a},
                       (struct rig_side){run_b, ctx_b}, b->rounds,
                       b->round_s);
}

/* ---- stores ---- */

/* Valid until the next call. */
static char *
log_path(const char *base)
{
    static char path[4200];

    snprintf(path, sizeof(path), "%s/tasks.log", base);
    return path;
}

static double
log_size(const char *base)
{
    return (double)rig_file_size(log_path(base));
}

/* Text of n bytes as people write it, escapes included; n < 4096. */
static const char *
prose(size_t n)
{
    static const char line[] = "Every step is \\\"done\\\" once it is shown"
                               " to work, and not before.\\n";
    static char text[4096];

    for (size_t i = 0; i < n; i++)
        text[i] = line[i % (sizeof(line) - 1)];
    if (n > 0 && text[n - 1] == '\\') /* half an escape */
        text[n - 1] = '.';
    text[n] = '\0';
    return text;
}

/* Fills the store in base with tasks a0000000 and so on, by import. */
static void
import_tasks(const struct bench *b, const char *base, uint64_t n,
             size_t goal_len)
{
    const char *const argv[] = {b->mcptask, "import", "-", NULL};
    const char *goal = prose(goal_len);
    struct rig_child import;
    struct buf lines = {0};

    rig_start(&import, argv, base);
    for (uint64_t i = 0; i < n; i++) {
        buf_printf(&lines, "{" ID ",\"title\":\"task %llu\"%s%s%s}\n", 'a',
                   (unsigned long long)i, (unsigned long long)i,
                   goal_len > 0 ? ",\"goal\":\"" : "", goal,
                   goal_len > 0 ? "\"" : "");
        if (lines.len > 60000 || i + 1 == n) {
            rig_send(&import, buf_view(&lines));
            buf_reset(&lines, 65536);
        }
    }
    buf_fini(&lines);
    rig_stop(&import);
}

/* ---- measures ---- */

static void
measure_writes(const struct bench *b)
{
    char *base = rig_make("writes");
    struct server s;
    struct load l = {&s, put_write};
    struct rig_result r;
    double before;
    uint64_t id;
    char path[4200];
    int fd;

    snprintf(path, sizeof(path), "%s/bare", base);
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND, 0600);
    if (fd < 0)
        rig_die("%s: %s", path, strerror(errno));
    server_start(b, &s, base, 'a', 0);
    ask(&l); /* the log is made */
    before = log_size(base);
    id = s.id;
    r = compare(b, run_single, &l, run_bare, &fd);
    rig_report("writes", r.ratio, "of bare appends", ">=", 0.8,
               "%.0f/s, records of %.0f bytes, to %.0f/s of %d; "
               "rounds %.2f-%.2f",
               r.a, (log_size(base) - before) / (double)(s.id - id), r.b,
               BARE_RECORD, r.low, r.high);
    server_stop(&s);
    close(fd);
    free(base);
}

static void
measure_window(const struct bench *b)
{
    char *base = rig_make("window");
    struct server s;
    struct load l = {&s, put_write};
    struct rig_result r;

    server_start(b, &s, base, 'a', 0);
    r = compare(b, run_window, &l, run_single, &l);
    rig_report("64 in flight", r.ratio, "of one at a time", ">=", 6,
               "%.0f/s to %.0f/s; rounds %.2f-%.2f", r.a, r.b, r.low, r.high);
    server_stop(&s);
    free(base);
}

static void
measure_fleet(const struct bench *b)
{
    char *base = rig_make("fleet");
    struct server s[FLEET];
    struct load l = {&s[0], put_write};
    struct rig_result r;

    for (int i = 0; i < FLEET; i++)
        server_start(b, &s[i], base, (char)('a' + i), 0);
    r = compare(b, run_fleet, s, run_single, &l);
    rig_report("4 processes", r.ratio, "of one", ">=", 1,
               "%.0f/s to %.0f/s; rounds %.2f-%.2f", r.a, r.b, r.low, r.high);
    for (int i = 0; i < FLEET; i++)
        server_stop(&s[i]);
    free(base);
}

/* Starts bench_echo, with answers of len bytes. */
static void
echo_start(const struct bench *b, struct server *s, size_t len)
{
    char path[1100], size[24];
    const char *const argv[] = {path, size, NULL};

    snprintf(path, sizeof(path), "%s/bench_echo", b->beside);
    snprintf(size, sizeof(size), "%zu", len);
    rig_start(&s->child, argv, NULL);
}

/* Reads tasks of about 2 KB, the servers on one core, we on another. */
static void
reads_on(const struct bench *b, const char *base, const char *what,
         enum rig_core servers, enum rig_core client)
{
    struct server s, echo = {.tasks = SMALL_STORE, .random = 1,
                             .prefix = 'a'};
    struct load l = {&s, put_get}, e = {&echo, put_get};
    struct rig_result r;
    size_t len;

    if (!rig_keep_to(servers))
        return;
    server_start(b, &s, base, 'a', SMALL_STORE);
    put_get(&s);
    flush_calls(&s);
    len = take_answer(&s).len + 1; /* with its line feed */
    echo_start(b, &echo, len);
    rig_keep_to(client);
    r = compare(b, run_single, &l, run_single, &e);
    rig_keep_to(RIG_ANY);
    rig_report(what, r.ratio, "of an echo", ">=", 0.7,
               "%.0f/s to %.0f/s, answers of %zu bytes; rounds %.2f-%.2f", r.a,
               r.b, len, r.low, r.high);
    server_stop(&s);
    server_stop(&echo);
}

static void
measure_reads(const struct bench *b)
{
    char *base = rig_make("reads");

    import_tasks(b, base, SMALL_STORE, 1700);
    reads_on(b, base, "reads, two cores", RIG_LAST, RIG_FIRST);
    reads_on(b, base, "reads, one core", RIG_FIRST, RIG_FIRST);
    reads_on(b, base, "reads, any core", RIG_ANY, RIG_ANY);
    free(base);
}

static const struct {
    const char *what;
    void (*put)(struct server *s);
} scaled[] = { /* the two that add tasks and records come last */
    {"get at scale", put_get},
    {"list at scale", put_list},
    {"update at scale", put_update},
    {"create at scale", put_create},
};

static uint64_t
empty_kb(const struct bench *b, const char *field)
{
    char *base = rig_make(field);
    struct server s;
    uint64_t kb;

    server_start(b, &s, base, 'a', 0);
    kb = rig_status_kb(&s.child, field);
    server_stop(&s);
    free(base);
    return kb;
}

/* What s holds in memory for each of its tasks. */
static void
report_index(const struct bench *b, struct server *s, const char *base)
{
    struct load l = {s, put_list};
    uint64_t empty = empty_kb(b, "VmRSS"), kb;
    double tasks = (double)s->tasks, log = log_size(base);

    ask(&l); /* whatever reads the log only when asked has now */
    kb = rig_status_kb(&s->child, "VmRSS");
    if (kb > empty)
        rig_report("index", (double)(kb - empty) * 1024 / tasks,
                   "bytes a task", "<=", 200,
                   "%llu KB resident, %llu empty, log %.0f bytes a task: %.2f",
                   (unsigned long long)kb, (unsigned long long)empty,
                   log / tasks, (double)(kb - empty) * 1024 / log);
}

static void
measure_scale(const struct bench *b)
{
    char *small = rig_make("small"), *big = rig_make("big");
    struct server s[2];
    double from = rig_now(), took;

    import_tasks(b, big, b->tasks, 0);
    took = rig_now() - from;
    printf("%-20s %8.2f s for %llu tasks\n", "import", took,
           (unsigned long long)b->tasks);
    import_tasks(b, small, SMALL_STORE, 0);
    rig_keep_to(RIG_FIRST);
    server_start(b, &s[0], small, 'a', SMALL_STORE);
    server_start(b, &s[1], big, 'a', b->tasks);
    report_index(b, &s[1], big);
    for (size_t i = 0; i < sizeof(scaled) / sizeof(scaled[0]); i++) {
        struct load l[2] = {{&s[0], scaled[i].put}, {&s[1], scaled[i].put}};
        struct rig_result r = compare(b, run_single, &l[0], run_single,
                                      &l[1]);

        rig_report(scaled[i].what, r.ratio, "of the cost at 100", "<=", 1.2,
                   "%.2f us at %llu, %.2f us at 100; rounds %.2f-%.2f",
                   1e6 / r.b, (unsigned long long)b->tasks, 1e6 / r.a, r.low,
                   r.high);
    }
    rig_keep_to(RIG_ANY);
    server_stop(&s[0]);
    server_stop(&s[1]);
    free(small);
    free(big);
}

/* ---- starting ---- */

struct start {
    const struct bench *b;
    const char *base;
    bool list; /* ask for a page of tasks as well */
};

/* From fork to the answer; the end of the process is not counted. */
static double
start_once(const struct start *st)
{
    struct load l = {NULL, put_list};
    struct server s;
    double from = rig_now(), took;

    server_start(st->b, &s, st->base, 'a', 0);
    l.s = &s;
    if (st->list)
        ask(&l);
    took = rig_now() - from;
    server_stop(&s);
    return took;
}

static double
run_starts(void *ctx, double seconds)
{
    double sum = 0;
    uint64_t n = 0;

    for (; sum < seconds; n++)
        sum += start_once(ctx);
    return (double)n / sum;
}

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

static void
empty_path(const struct bench *b, char *path, size_t cap)
{
    snprintf(path, cap, "%s/bench_empty", b->beside);
}

static void
measure_start(const struct bench *b)
{
    char *base = rig_make("start");
    struct start st = {b, base, false};
    char path[1100];
    struct rig_result r;

    empty_path(b, path, sizeof(path));
    r = compare(b, run_starts, &st, run_empty, path);
    rig_report("cold start", 1e3 / r.a - 1e3 / r.b, "ms above an empty one",
               "<=", 2, "%.2f ms to %.2f ms, %.2f times; rounds %.2f-%.2f",
               1e3 / r.a, 1e3 / r.b, r.b / r.a, 1 / r.high, 1 / r.low);
    free(base);
}

/* Reads a file in one go, as fast as anybody could. */
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
measure_replay(const struct bench *b)
{
    char *base = rig_make("replay"), *none = rig_make("none");
    struct start full = {b, base, true}, empty = {b, none, true};
    struct rig_result r;
    double mb, plain, above;

    import_tasks(b, base, REPLAY_TASKS, 700);
    mb = log_size(base) / 1e6;
    r = compare(b, run_starts, &full, run_starts, &empty);
    plain = mb * rig_rate(read_file, log_path(base), b->round_s);
    above = 1 / r.a - 1 / r.b;
    rig_report("replay", mb / above, "MB/s", ">=", 500,
               "%.0f MB of %d records in %.1f ms, empty %.2f ms; %.2f of "
               "read() at %.0f MB/s", mb, REPLAY_TASKS, above * 1e3, 1e3 / r.b,
               mb / above / plain, plain);
    free(base);
    free(none);
}

static void
measure_size(const struct bench *b)
{
    char *base = rig_make("size");
    struct server s, echo = {.tasks = 1, .random = 1, .prefix = 'a'};
    struct load l = {&echo, put_get};
    uint64_t rss, floor;
    double size, empty;
    char path[1100];

    empty_path(b, path, sizeof(path));
    size = (double)rig_file_size(b->mcptask) / 1024;
    empty = (double)rig_file_size(path) / 1024;
    rig_report("binary", size, "KB", "<=", 120,
               "an empty program %.1f KB: %.2f times", empty, size / empty);
    server_start(b, &s, base, 'a', 0);
    buf_z(&s.tx, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}\n");
    flush_calls(&s);
    take_answer(&s);
    echo_start(b, &echo, 100);
    ask(&l);
    rss = rig_status_kb(&s.child, "VmRSS");
    floor = rig_status_kb(&echo.child, "VmRSS");
    if (rss > 0 && floor > 0)
        rig_report("resident", (double)rss, "KB", "<=", 1024,
                   "%llu KB of it anonymous; an echo %llu KB: %.2f times",
                   (unsigned long long)rig_status_kb(&s.child, "RssAnon"),
                   (unsigned long long)floor, (double)rss / (double)floor);
    server_stop(&s);
    server_stop(&echo);
    free(base);
}

/* ---- the run ---- */

static const struct {
    const char *name;
    void (*run)(const struct bench *b);
} measures[] = {
    {"size", measure_size},     {"start", measure_start},
    {"reads", measure_reads},   {"writes", measure_writes},
    {"window", measure_window}, {"fleet", measure_fleet},
    {"replay", measure_replay}, {"scale", measure_scale},
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
    b->tasks = 1000000;
    for (argv++; *argv != NULL && **argv == '-'; argv++) {
        if (strcmp(*argv, "--quick") == 0) {
            b->rounds = 7;
            b->round_s = 0.2;
            b->tasks = 100000;
        } else if (strcmp(*argv, "--tasks") == 0 && argv[1] != NULL &&
                   str_u64(str_of(argv[1]), &b->tasks) && b->tasks > 0) {
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
    const char *slash = argc > 0 ? strrchr(argv[0], '/') : NULL;
    struct bench b = {0};
    char **names = argc > 0 ? options(&b, argv) : NULL;

    if (names == NULL || slash == NULL) {
        fputs("usage: DIR/bench [--quick] [--tasks N] MCPTASK [MEASURE...]\n",
              stderr);
        return 2;
    }
    b.mcptask = *names++;
    snprintf(b.beside, sizeof(b.beside), "%.*s", (int)(slash - argv[0]),
             argv[0]);
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
