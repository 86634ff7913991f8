/* bench_pipe - an mcptask that speaks MCP over pipes, for the benches.

   1. Every answer has to be a result, not an error. Other messages of a server
      may come at any time and are skipped: answers are counted, not lines.
   2. A server allows as many waiting calls as it can. */

#include "tests/bench/bench_pipe.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- requests ---- */

void
server_put(struct server *s, const char *method, const char *fmt, ...)
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

void
server_put_get(struct server *s)
{
    server_put(s, CALL("get_task") "{" ID "}", s->prefix,
               (unsigned long long)rig_any(s->tasks));
}

void
server_put_list(struct server *s)
{
    server_put(s, CALL("list_tasks") "{\"include_done\":false}");
}

void
server_put_update(struct server *s)
{
    server_put(s, CALL("update_task") "{" ID ",\"title\":\"changed %llu\"}",
               s->prefix, (unsigned long long)rig_any(s->tasks),
               (unsigned long long)s->id);
}

void
server_send(struct server *s)
{
    if (s->tx.err != 0)
        rig_die("no memory");
    rig_send(s->child.in, buf_view(&s->tx));
    s->tx.len = 0;
}

bool
server_is_answer(struct str line) /* (1) */
{
    if (str_starts(line, "{\"jsonrpc\":\"2.0\",\"method\":"))
        return false;
    if (!rig_is_result(line))
        rig_die("refused: %.*s", STR_ARG(line));
    return true;
}

struct str
server_answer(struct server *s)
{
    struct str line;

    do
        line = rig_line(&s->child);
    while (!server_is_answer(line));
    return line;
}

struct str
server_call(struct server *s)
{
    server_send(s);
    return server_answer(s);
}

/* ---- servers ---- */

void
server_start(struct server *s, const struct rig_run *run, const char *base,
             char prefix, uint64_t tasks)
{
    const char *const argv[] = {run->mcptask, "--calls-own", "1000000",
                                "--calls-max", "1000000", NULL}; /* (2) */

    *s = (struct server){.prefix = prefix, .tasks = tasks};
    rig_start(&s->child, argv, base);
    server_put(s, "initialize", "\"protocolVersion\":\"2025-11-25\","
               "\"capabilities\":{},\"clientInfo\":{\"name\":\"bench\","
               "\"version\":\"1\"}");
    server_call(s);
    buf_z(&s->tx, "{\"jsonrpc\":\"2.0\",\"method\":"
          "\"notifications/initialized\"}\n");
}

void
server_stop(struct server *s)
{
    rig_stop(&s->child);
    buf_fini(&s->tx);
}

/* ---- ways of running them ---- */

static void
one(void *ctx)
{
    struct server_load *l = ctx;

    l->put(l->s);
    server_call(l->s);
}

static void
many(void *ctx)
{
    struct server_load *l = ctx;

    for (int i = 0; i < WINDOW; i++)
        l->put(l->s);
    server_send(l->s);
    for (int i = 0; i < WINDOW; i++)
        server_answer(l->s);
}

double
server_single(void *load, double seconds)
{
    return rig_rate(one, load, seconds);
}

double
server_window(void *load, double seconds)
{
    return WINDOW * rig_rate(many, load, seconds);
}

double
server_starts(void *starts, double seconds)
{
    const struct server_starts *st = starts;
    struct server s;
    struct server_load l = {&s, server_put_list};
    double sum = 0, from;
    uint64_t n = 0;

    for (; sum < seconds; n++) {
        from = rig_now();
        server_start(&s, st->run, st->base, 'a', 0);
        if (st->list)
            one(&l);
        sum += rig_now() - from;
        server_stop(&s);
    }
    return (double)n / sum;
}

/* ---- stores ---- */

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

/* Adds n tasks; projects 0: of none, and without paths. */
static void
import_tasks(const struct rig_run *run, const char *base, char prefix,
             uint64_t n, size_t goal_len, unsigned projects)
{
    const char *const argv[] = {run->mcptask, "import", "-", NULL};
    const char *goal = prose(goal_len);
    struct rig_child import;
    struct buf lines = {0};

    rig_start(&import, argv, base);
    for (uint64_t i = 0; i < n; i++) {
        buf_printf(&lines, "{" ID ",\"title\":\"task %llu\"%s%s%s", prefix,
                   (unsigned long long)i, (unsigned long long)i,
                   goal_len > 0 ? ",\"goal\":\"" : "", goal,
                   goal_len > 0 ? "\"" : "");
        if (projects > 0)
            buf_printf(&lines, ",\"repo_path\":\"/srv/p%u\",\"paths\":["
                       "\"src/m%u\",\"docs/m%u.md\"]",
                       (unsigned)(i % projects),
                       (unsigned)(i / projects % MODULES),
                       (unsigned)(i / projects % MODULES));
        buf_z(&lines, "}\n");
        if (lines.len > 60000 || i + 1 == n) {
            rig_send(import.in, buf_view(&lines));
            buf_reset(&lines, 65536);
        }
    }
    buf_fini(&lines);
    rig_stop(&import);
}

void
server_import(const struct rig_run *run, const char *base, char prefix,
              uint64_t n, size_t goal_len)
{
    import_tasks(run, base, prefix, n, goal_len, 0);
}

void
server_import_projects(const struct rig_run *run, const char *base,
                       char prefix, uint64_t n, unsigned projects)
{
    import_tasks(run, base, prefix, n, 0, projects);
}

char *
server_log(const char *base)
{
    static char path[4200];

    snprintf(path, sizeof(path), "%s/tasks.log", base);
    return path;
}
