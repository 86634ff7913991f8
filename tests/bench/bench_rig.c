/* bench_rig - the run of a bench: its options, children, rounds and facts.

   A child that ends early, an answer that does not come or a directory that
   cannot be made ends the run; a slow one does not.

   1. Both sides of a ratio are measured in the same rounds, a few tenths of
      a second apart and in changing order, and the median of the rounds'
      ratios counts: machines are shared and their disks are noisy.
   2. No child holds another one's pipe, so closing its input ends it.
   3. If a round trip takes microseconds, the cores on which the two processes
      run matter several times more than what they do, and the scheduler moves
      them from round to round: hence rig_keep_to. */

#ifdef __linux__
#define _GNU_SOURCE /* sched_setaffinity */
#endif
#include "tests/bench/bench_rig.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define READ_SIZE 65536
#define MAX_SERVERS 8

void
rig_die(const char *fmt, ...)
{
    va_list ap;

    fflush(stdout);
    va_start(ap, fmt);
    fputs("bench: ", stderr);
    vfprintf(stderr, fmt, ap);
    fputc('\n', stderr);
    va_end(ap);
    exit(1);
}

void
rig_report(const char *what, double value, const char *unit,
           const char *sign, double bound, const char *fmt, ...)
{
    va_list ap;

    printf("%-20s %8.2f %-21s ", what, value, unit);
    va_start(ap, fmt);
    vprintf(fmt, ap);
    va_end(ap);
    if (sign != NULL)
        printf("; %s %g: %s", sign, bound, (sign[0] == '>' ? value >= bound
               : value <= bound) ? "ok" : "short");
    putchar('\n');
    fflush(stdout);
}

double
rig_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

uint64_t
rig_any(uint64_t n)
{
    static uint64_t x = 88172645463325252u;

    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return x % n;
}

/* ---- answers ---- */

struct str
rig_behind(struct str s, const char *z)
{
    size_t n = strlen(z);

    for (; s.len >= n; s.p++, s.len--)
        if (s.p[0] == z[0] && memcmp(s.p, z, n) == 0)
            return (struct str){s.p + n, s.len - n};
    return STR_NONE;
}

bool
rig_is_result(struct str answer)
{
    size_t n = answer.len < 64 ? answer.len : 64;
    struct str head = {answer.p, n}, tail = {answer.p + answer.len - n, n};

    return rig_behind(head, "\"result\":").p != NULL &&
           rig_behind(tail, "\"isError\":true").p == NULL;
}

/* ---- children ---- */

static void
make_pipe(int fd[2])
{
    if (pipe(fd) != 0 || fcntl(fd[0], F_SETFD, FD_CLOEXEC) != 0 ||
        fcntl(fd[1], F_SETFD, FD_CLOEXEC) != 0) /* (2) */
        rig_die("pipe: %s", strerror(errno));
}

/* In the child. exec keeps what argv points to and never changes it. A server
   reports on its stderr. */
static _Noreturn void
become(const char *const *argv, const char *base, int in, int out,
       bool serves)
{
    if (dup2(in, 0) >= 0 && dup2(out, 1) >= 0 &&
        (!serves || dup2(out, 2) >= 0) &&
        (base == NULL || setenv("MCP_TASK_BASE_DIR", base, 1) == 0))
        execvp(argv[0], (char *const *)(uintptr_t)argv);
    _exit(127);
}

static void
start(struct rig_child *c, const char *const *argv, const char *base,
      bool serves)
{
    int to[2], from[2];

    memset(c, 0, sizeof(*c));
    make_pipe(to);
    make_pipe(from);
    c->pid = fork();
    if (c->pid < 0)
        rig_die("fork: %s", strerror(errno));
    if (c->pid == 0)
        become(argv, base, to[0], from[1], serves);
    close(to[0]);
    close(from[1]);
    c->in = to[1];
    c->out = from[0];
}

void
rig_start(struct rig_child *c, const char *const *argv, const char *base)
{
    start(c, argv, base, false);
}

void
rig_send(int fd, struct str bytes)
{
    while (bytes.len > 0) {
        ssize_t n = write(fd, bytes.p, bytes.len);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            rig_die("sending: %s", strerror(errno));
        bytes.p += n;
        bytes.len -= (size_t)n;
    }
}

/* Reads once; false at the end. */
static bool
read_more(struct rig_child *c)
{
    char *room;
    ssize_t n;

    buf_consume(&c->rx, c->pos);
    c->pos = 0;
    room = buf_room(&c->rx, READ_SIZE);
    if (room == NULL)
        rig_die("no memory");
    do
        n = read(c->out, room, READ_SIZE);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        rig_die("reading from a child: %s", strerror(errno));
    c->rx.len += (size_t)n;
    return n > 0;
}

static const char *
line_end(const struct rig_child *c)
{
    if (c->rx.len == c->pos)
        return NULL;
    return memchr(c->rx.p + c->pos, '\n', c->rx.len - c->pos);
}

bool
rig_has_line(const struct rig_child *c)
{
    return line_end(c) != NULL;
}

struct str
rig_line(struct rig_child *c)
{
    const char *end;
    struct str line;

    while ((end = line_end(c)) == NULL)
        if (!read_more(c))
            rig_die("a child ended before it had answered");
    line.p = c->rx.p + c->pos;
    line.len = (size_t)(end - line.p);
    c->pos += line.len + 1;
    return line;
}

void
rig_stop(struct rig_child *c)
{
    int status = 0;

    close(c->in);
    while (read_more(c))
        c->pos = c->rx.len;
    close(c->out);
    buf_fini(&c->rx);
    while (waitpid(c->pid, &status, 0) < 0)
        if (errno != EINTR)
            rig_die("waitpid: %s", strerror(errno));
    if (status != 0)
        rig_die("a child ended with status %#x", (unsigned)status);
}

/* ---- servers ---- */

static pid_t servers[MAX_SERVERS]; /* that run; the others are 0 */

/* No server outlives this program, unless that is killed. */
static void
end_servers(void)
{
    for (int i = 0; i < MAX_SERVERS; i++)
        if (servers[i] != 0)
            kill(servers[i], SIGKILL);
}

void
rig_serve(struct rig_child *c, const char *const *argv, const char *base)
{
    static bool told;
    int i = 0;

    if (!told && atexit(end_servers) != 0)
        rig_die("atexit");
    told = true;
    while (i < MAX_SERVERS && servers[i] != 0)
        i++;
    if (i == MAX_SERVERS)
        rig_die("too many servers");
    start(c, argv, base, true);
    servers[i] = c->pid;
}

void
rig_end(struct rig_child *c)
{
    kill(c->pid, SIGTERM);
    for (int i = 0; i < MAX_SERVERS; i++)
        if (servers[i] == c->pid)
            servers[i] = 0;
    rig_stop(c);
}

const char *
rig_find(const char *name)
{
    static char found[PATH_MAX];
    const char *path = getenv("PATH"), *more = "/usr/local/sbin:/usr/sbin";
    char all[PATH_MAX];

    snprintf(all, sizeof(all), "%s:%s", path != NULL ? path : "", more);
    for (char *dir = strtok(all, ":"); dir != NULL; dir = strtok(NULL, ":")) {
        int n = snprintf(found, sizeof(found), "%s/%s", dir, name);

        if (n > 0 && (size_t)n < sizeof(found) && access(found, X_OK) == 0)
            return found;
    }
    return NULL;
}

static struct sockaddr_in
loopback(uint16_t port)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(port)};

    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return a;
}

int
rig_connect(uint16_t port)
{
    struct sockaddr_in a = loopback(port);
    int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;

    if (fd < 0 || fcntl(fd, F_SETFD, FD_CLOEXEC) != 0)
        rig_die("socket: %s", strerror(errno));
    if (connect(fd, (struct sockaddr *)&a, sizeof(a)) == 0 &&
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) == 0)
        return fd;
    close(fd);
    return -1;
}

uint16_t
rig_free_port(void)
{
    struct sockaddr_in a = loopback(0);
    socklen_t len = sizeof(a);
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    if (fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof(a)) != 0 ||
        getsockname(fd, (struct sockaddr *)&a, &len) != 0)
        rig_die("a port: %s", strerror(errno));
    close(fd);
    return ntohs(a.sin_port);
}

/* ---- facts ---- */

/* The first line of a file that begins with key, without the key, colon and
   blanks; empty if there is none. */
static struct str
fact(const char *path, const char *key, char *line, size_t cap)
{
    FILE *f = fopen(path, "r");
    char *p = NULL;

    while (f != NULL && p == NULL && fgets(line, (int)cap, f) != NULL)
        if (strncmp(line, key, strlen(key)) == 0)
            p = line + strlen(key);
    if (f != NULL)
        fclose(f);
    if (p == NULL)
        return STR("");
    p += strspn(p, ": \t");
    p[strcspn(p, "\n")] = '\0';
    return str_of(p);
}

uint64_t
rig_status_kb(const struct rig_child *c, const char *field)
{
    char path[64], line[256];
    struct str s;

    snprintf(path, sizeof(path), "/proc/%ld/status", (long)c->pid);
    s = fact(path, field, line, sizeof(line));
    return strtoull(s.p, NULL, 10);
}

/* ---- rounds ---- */

static int
by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

double
rig_median(double *v, size_t n)
{
    qsort(v, n, sizeof(v[0]), by_size);
    return (v[(n - 1) / 2] + v[n / 2]) / 2;
}

double
rig_rate(void (*once)(void *ctx), void *ctx, double seconds)
{
    double from = rig_now(), took;
    uint64_t n = 0;

    do {
        once(ctx);
        n++;
        took = rig_now() - from;
    } while (took < seconds);
    return (double)n / took;
}

struct rig_result
rig_compare(const struct rig_run *run, struct rig_side a, struct rig_side b)
{
    double ra[RIG_MAX_ROUNDS] = {0}, rb[RIG_MAX_ROUNDS] = {0};
    double ratio[RIG_MAX_ROUNDS] = {0};
    struct rig_result out;

    for (size_t i = 0; i < run->rounds; i++) { /* (1) */
        if (i % 2 == 0)
            ra[i] = a.run(a.ctx, run->round_s);
        rb[i] = b.run(b.ctx, run->round_s);
        if (i % 2 == 1)
            ra[i] = a.run(a.ctx, run->round_s);
        ratio[i] = ra[i] / rb[i];
    }
    out.ratio = rig_median(ratio, run->rounds);
    out.low = ratio[0];
    out.high = ratio[run->rounds - 1];
    out.a = rig_median(ra, run->rounds);
    out.b = rig_median(rb, run->rounds);
    return out;
}

void
rig_race(const struct rig_run *run, const char *what, struct rig_side a,
         struct rig_side b, const char *unit, double least)
{
    struct rig_result r = rig_compare(run, a, b);

    rig_report(what, r.ratio, unit, ">=", least,
               "%.0f/s to %.0f/s; rounds %.2f-%.2f", r.a, r.b, r.low, r.high);
}

/* ---- the place ---- */

static char root[PATH_MAX];

static void
remove_root(void)
{
    const char *const argv[] = {"rm", "-rf", root, NULL};
    struct rig_child rm;

    fflush(stdout);
    rig_start(&rm, argv, NULL);
    waitpid(rm.pid, NULL, 0);
}

/* Makes root, which this program removes when it ends. */
static void
make_root(void)
{
    const char *from = getenv("BENCH_DIR");
    const char *parent = from != NULL ? from : "build";
    char cwd[PATH_MAX] = "";
    int n;

    if (parent[0] != '/' && getcwd(cwd, sizeof(cwd)) == NULL)
        rig_die("getcwd: %s", strerror(errno));
    n = snprintf(root, sizeof(root), "%s%s%s/bench-XXXXXX", cwd,
                 parent[0] != '/' ? "/" : "", parent);
    if (n < 0 || (size_t)n >= sizeof(root) || mkdtemp(root) == NULL)
        rig_die("%s: %s", parent, strerror(errno));
    atexit(remove_root);
}

char *
rig_make(const char *name)
{
    size_t cap = strlen(root) + strlen(name) + 2;
    char *path = malloc(cap);

    if (path == NULL)
        rig_die("no memory");
    snprintf(path, cap, "%s/%s", root, name);
    if (mkdir(path, 0700) != 0)
        rig_die("%s: %s", path, strerror(errno));
    return path;
}

double
rig_file_size(const char *path)
{
    struct stat st;

    if (stat(path, &st) != 0)
        rig_die("%s: %s", path, strerror(errno));
    return (double)st.st_size;
}

#ifdef __linux__
bool
rig_keep_to(enum rig_core which) /* (3) */
{
    static cpu_set_t all; /* as at the first call */
    cpu_set_t one;
    size_t first = CPU_SETSIZE, last = first;

    if (CPU_COUNT(&all) == 0 && sched_getaffinity(0, sizeof(all), &all) != 0)
        return false;
    for (size_t i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, &all)) {
            first = first == CPU_SETSIZE ? i : first;
            last = i;
        }
    CPU_ZERO(&one);
    CPU_SET(which == RIG_FIRST ? first : last, &one);
    if (first == last)
        return which == RIG_ANY;
    return sched_setaffinity(0, sizeof(one), which == RIG_ANY ? &all : &one)
           == 0;
}
#else
bool
rig_keep_to(enum rig_core which)
{
    return which == RIG_ANY;
}
#endif

/* The type of the file system with the longest mount point above root. */
static void
file_system(char *type, size_t cap)
{
    FILE *f = fopen("/proc/mounts", "r");
    char line[2048], at[1024], kind[64];
    size_t best = 0, n;

    snprintf(type, cap, "unknown");
    while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
        if (sscanf(line, "%*s %1023s %63s", at, kind) != 2)
            continue;
        n = strcmp(at, "/") == 0 ? 0 : strlen(at);
        if (n < best || strncmp(root, at, n) != 0 || root[n] != '/')
            continue;
        best = n;
        snprintf(type, cap, "%s", kind);
    }
    if (f != NULL)
        fclose(f);
}

static void
print_machine(void)
{
    char cpu[256], load[256], type[64];
    struct utsname u;
    struct str model = fact("/proc/cpuinfo", "model name", cpu, sizeof(cpu));
    struct str busy = fact("/proc/loadavg", "", load, sizeof(load));

    if (uname(&u) != 0)
        rig_die("uname: %s", strerror(errno));
    file_system(type, sizeof(type));
    printf("cpu %.*s, %ld cores, %s; %s %s; load %.*s\n", STR_ARG(model),
           sysconf(_SC_NPROCESSORS_ONLN), u.machine, u.sysname, u.release,
           STR_ARG(busy));
    printf("store in %s, on %s\n", root, type);
    if (strcmp(type, "tmpfs") == 0)
        puts("a sync costs nothing here: set BENCH_DIR to a disk");
}

/* ---- the run ---- */

/* Reads the options; what is left are the operands. */
static char **
options(struct rig_run *run, char **argv)
{
    for (argv++; *argv != NULL && **argv == '-'; argv++) {
        if (strcmp(*argv, "--quick") == 0) {
            run->quick = true;
            run->rounds = 7;
            run->round_s = 0.2;
            run->tasks = 100000;
        } else if (strcmp(*argv, "--tasks") == 0 && argv[1] != NULL &&
                   str_u64(str_of(argv[1]), &run->tasks) && run->tasks > 0) {
            argv++;
        } else {
            return NULL;
        }
    }
    return *argv == NULL ? NULL : argv;
}

static bool
is_wanted(const char *name, char **names)
{
    bool all = *names == NULL;

    for (; *names != NULL; names++)
        all |= strcmp(*names, name) == 0;
    return all;
}

int
rig_main(int argc, char **argv, const struct rig_measure *measures)
{
    static const char *const unset[] = {"MCP_TASK_DB_PATH", "MCP_DEBUG",
                                        "MCP_TASK_ARTIFACTS_DIR",
                                        "MCP_TASK_PORT"};
    struct rig_run run = {.rounds = 12, .round_s = 0.5, .tasks = 1000000};
    char **names = argc > 0 ? options(&run, argv) : NULL;

    if (names == NULL) {
        fprintf(stderr, "usage: %s [--quick] [--tasks N] MCPTASK "
                "[MEASURE...]\n", argv[0]);
        return 2;
    }
    run.mcptask = *names++;
    run.beside = dirname(argv[0]);
    for (size_t i = 0; i < sizeof(unset) / sizeof(unset[0]); i++)
        unsetenv(unset[i]);
    signal(SIGPIPE, SIG_IGN);
    make_root();
    print_machine();
    for (; measures->name != NULL; measures++)
        if (is_wanted(measures->name, names))
            measures->run(&run);
    return 0;
}
