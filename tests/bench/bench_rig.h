#ifndef TEST_BENCH_BENCH_RIG_H
#define TEST_BENCH_BENCH_RIG_H

/* bench_rig - what the benches measure with: options, the clock, rounds and
   medians, children over pipes, servers, a directory on a disk, facts about the
   machine. A failure ends the program with 1 and a message; no function returns
   it. */

#include "base/base.h"

#include <sys/types.h>

/* ---- the run ---- */

struct rig_run {
    const char *mcptask;
    const char *beside; /* the directory of this program */
    size_t rounds;
    double round_s;     /* of each side of a round */
    uint64_t tasks;     /* in a big store */
    bool quick;
};

struct rig_measure {
    const char *name;
    void (*run)(const struct rig_run *run);
};

/* Runs the measures that the options name, of a table that ends with NULL, in a
   fresh directory below $BENCH_DIR or build. Returns main's result. */
int rig_main(int argc, char **argv, const struct rig_measure *measures);
_Noreturn void rig_die(const char *fmt, ...)
    __attribute__((format(printf, 1, 2)));
/* Reports one figure: value, measured in unit, what fmt adds, and whether it
   reaches the bound: its least (sign ">=") or its most ("<="). sign NULL: it
   has no bound. */
void rig_report(const char *what, double value, const char *unit,
                const char *sign, double bound, const char *fmt, ...)
    __attribute__((format(printf, 6, 7)));
/* Seconds on a clock that never steps. */
double rig_now(void);
/* Any number below n. */
uint64_t rig_any(uint64_t n);

/* ---- answers ---- */

/* The part of s after the first z; .p is NULL if z is missing. */
struct str rig_behind(struct str s, const char *z);
/* Whether a JSON-RPC answer is a result, and not a tool's error. Only its ends
   are checked, so that the check costs the same for all. */
bool rig_is_result(struct str answer);

/* ---- children ---- */

/* A process whose standard input and output we hold. */
struct rig_child {
    pid_t pid;
    int in, out;   /* what we write to and read from */
    struct buf rx; /* what was read */
    size_t pos;    /* of the next line in rx */
};

/* Starts argv, with MCP_TASK_BASE_DIR set to base unless that is NULL. */
void rig_start(struct rig_child *c, const char *const *argv,
               const char *base);
/* Writes all of them. */
void rig_send(int fd, struct str bytes);
/* The next line without its line feed, valid until the next call. */
struct str rig_line(struct rig_child *c);
/* Whether rig_line need not read. */
bool rig_has_line(const struct rig_child *c);
/* Ends its input and waits for it to end, which must be with 0. */
void rig_stop(struct rig_child *c);
/* Starts a network server, which ends with this program at the latest; rig_line
   returns the lines on its stderr. */
void rig_serve(struct rig_child *c, const char *const *argv,
               const char *base);
/* Asks it to end and waits until it does, which must be with 0. */
void rig_end(struct rig_child *c);
/* The path of a program, valid until the next call, or NULL if it is not
   installed. */
const char *rig_find(const char *name);
/* A connection to 127.0.0.1, or -1. */
int rig_connect(uint16_t port);
/* A port of 127.0.0.1 that nobody uses now. */
uint16_t rig_free_port(void);
/* The number after "VmRSS:" or the like in its status; 0: not available. */
uint64_t rig_status_kb(const struct rig_child *c, const char *field);

/* ---- rounds ---- */

#define RIG_MAX_ROUNDS 32

/* Something that can be done again and again. */
struct rig_side {
    /* Does it for so many seconds. Returns the rate per second. */
    double (*run)(void *ctx, double seconds);
    void *ctx;
};

struct rig_result {
    double ratio;      /* median of a / b over the rounds */
    double low, high;  /* of the ratios */
    double a, b;       /* median rates */
};

/* Calls `once` again and again for so many seconds, at least one time. Returns
   the rate per second. */
double rig_rate(void (*once)(void *ctx), void *ctx, double seconds);
/* Runs both in turn, in rounds, so that noise of the machine meets both. */
struct rig_result rig_compare(const struct rig_run *run, struct rig_side a,
                              struct rig_side b);
/* Compares two rates and reports their ratio, whose bound is least. */
void rig_race(const struct rig_run *run, const char *what, struct rig_side a,
              struct rig_side b, const char *unit, double least);
/* Sorts v as well. */
double rig_median(double *v, size_t n);

/* ---- the place ---- */

/* Makes a directory in the run's; the caller frees its name. */
char *rig_make(const char *name);
/* In bytes. */
double rig_file_size(const char *path);
/* Keeps this process, and those that it starts from now on, on the first or the
   last core that it may use, or lets them run anywhere. False: that is
   impossible here, or there is only one core. */
enum rig_core { RIG_ANY, RIG_FIRST, RIG_LAST };
bool rig_keep_to(enum rig_core which);

#endif
