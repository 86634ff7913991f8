#ifndef TEST_BENCH_BENCH_PIPE_H
#define TEST_BENCH_BENCH_PIPE_H

/* bench_pipe - an mcptask that speaks MCP over pipes, as clients start it, and
   its store. As in bench_rig, a failure ends the program. */

#include "tests/bench/bench_rig.h"

#define WINDOW 64 /* requests that server_window has in flight */

/* A running mcptask, or a program that answers like it. */
struct server {
    struct rig_child child;
    struct buf tx;  /* requests not yet sent */
    uint64_t id;    /* of the last request */
    uint64_t tasks; /* their ids are prefix and 0 to tasks - 1 */
    char prefix;
};

/* Starts one on the store in base and waits for its answer to initialize. */
void server_start(struct server *s, const struct rig_run *run,
                  const char *base, char prefix, uint64_t tasks);
void server_stop(struct server *s);

/* ---- requests: put into s->tx, then sent ---- */

#define ID "\"task_id\":\"%c%07llu\""
/* The method, and params up to the arguments. */
#define CALL(tool) "tools/call", "\"name\":\"" tool "\",\"arguments\":"

/* Puts a request whose params have the members fmt. */
void server_put(struct server *s, const char *method, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* These three use any of its tasks. */
void server_put_get(struct server *s);
void server_put_list(struct server *s);
void server_put_update(struct server *s);
void server_send(struct server *s);
/* Whether a line is an answer, which must be a result, and not a
   notification. */
bool server_is_answer(struct str line);
/* The next answer, valid until the next call. */
struct str server_answer(struct server *s);
/* Sends what was put and takes one answer. */
struct str server_call(struct server *s);

/* ---- ways of running them, each a side of rig_compare ---- */

struct server_load {
    struct server *s;
    void (*put)(struct server *s); /* puts one request */
};

struct server_starts {
    const struct rig_run *run;
    const char *base;
    bool list; /* asks for a page of tasks as well */
};

/* One request of a struct server_load at a time. */
double server_single(void *load, double seconds);
/* WINDOW of them at a time. */
double server_window(void *load, double seconds);
/* Starts by a struct server_starts, from fork to the last answer; the end of
   the process is not counted. */
double server_starts(void *starts, double seconds);

/* ---- stores ---- */

/* Adds n tasks by import, each with a goal of goal_len bytes, below 4096. */
void server_import(const struct rig_run *run, const char *base, char prefix,
                   uint64_t n, size_t goal_len);
/* The same in turn to the projects /srv/p0 and so on, each task with two paths,
   which every MODULES-th task of a project shares. */
#define MODULES 100
void server_import_projects(const struct rig_run *run, const char *base,
                            char prefix, uint64_t n, unsigned projects);
/* The path of the log in base, valid until the next call. */
char *server_log(const char *base);

#endif
