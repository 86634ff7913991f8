#ifndef TEST_SERVER_H
#define TEST_SERVER_H

/* The real binary as a child, over pipes or sockets. Nothing here sleeps: waits
   poll a descriptor. Their deadline only ends a hung test; no check depends on
   it. */

#include "tests/lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

#define DEADLINE_MS 30000
#define MAX_LINE (8 * 1024 * 1024)

struct text {
    char *p;
    size_t len, cap;
};

struct srv {
    pid_t pid;
    int in, out, err; /* our ends; -1: closed */
    int life;         /* ends when the process does */
    struct text got;  /* its output */
    size_t taken;     /* bytes of got used by next_line */
};

enum { /* how to start it */
    PLAIN = 0,
    SOCKET = 1, /* one for both directions, as in Node's child_process */
    NO_STDIN = 2,
    NO_STDOUT = 4,
    ORPHAN = 8, /* its parent ends soon */
    FULL = 16   /* no file may exceed FULL_LEN */
};
#define FULL_LEN 4096

static const char *binary;
static int (*instead)(int argc, char **argv); /* of the binary; or NULL */
static int passed = -1; /* a listening socket to pass as descriptor 3, or -1 */
static int passed_too = -1; /* with it another one, as 4; both above 4 */
static int gate[2]; /* the ORPHAN's parent lives until it is closed */

static inline void
add(struct text *t, const char *p, size_t n)
{
    if (t->len + n + 1 > t->cap) {
        t->cap = 2 * (t->len + n + 1);
        t->p = realloc(t->p, t->cap);
    }
    if (n > 0)
        memcpy(t->p + t->len, p, n);
    t->len += n;
    t->p[t->len] = '\0';
}

/* All of a file, or "" if there is none; the caller frees it. */
static inline struct text
file_text(const char *path)
{
    struct text t = {0};
    char chunk[65536];
    size_t n;
    FILE *f = fopen(path, "r");

    add(&t, "", 0);
    while (f != NULL && (n = fread(chunk, 1, sizeof(chunk), f)) > 0)
        add(&t, chunk, n);
    if (f != NULL)
        fclose(f);
    return t;
}

static inline void addf(struct text *t, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static inline void
addf(struct text *t, const char *fmt, ...)
{
    char line[1024];
    va_list ap;
    int n;

    va_start(ap, fmt);
    n = vsnprintf(line, sizeof(line), fmt, ap);
    va_end(ap);
    add(t, line, (size_t)n);
}

/* Adds a tools/call of a tool on one task, with a title if the tool writes. */
static inline void
add_call(struct text *t, int id, const char *tool, const char *task)
{
    addf(t,
         "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/call\","
         "\"params\":{\"name\":\"%s\",\"arguments\":{\"task_id\":\"%s\"%s}}}"
         "\n",
         id, tool, task,
         strcmp(tool, "create_task") == 0 ? ",\"title\":\"x\"" : "");
}

static inline void
add_ping(struct text *t, int id)
{
    addf(t, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"ping\"}\n", id);
}

static inline void
make_pipe(int p[2], bool sock)
{
    if ((sock ? socketpair(AF_UNIX, SOCK_STREAM, 0, p) : pipe(p)) != 0)
        abort();
    fcntl(p[0], F_SETFD, FD_CLOEXEC);
    fcntl(p[1], F_SETFD, FD_CLOEXEC);
}

/* Splits the binary and its options at blanks. */
static inline void
exec_binary(const char *options)
{
    char *argv[32] = {(char *)binary}, *words = strdup(options);
    size_t n = 1;

    for (words = strtok(words, " "); words != NULL && n < 31;
         words = strtok(NULL, " "))
        argv[n++] = words;
    for (int fd = 3; instead != NULL && fd < 1024; fd++)
        if (fcntl(fd, F_GETFD) == FD_CLOEXEC)
            close(fd);
    if (instead != NULL)
        exit(instead((int)n, argv));
    execv(binary, argv);
}

/* Passes a listening socket as systemd does. */
static inline void
pass_socket(int fd)
{
    char pid[16];

    snprintf(pid, sizeof(pid), "%d", (int)getpid());
    setenv("LISTEN_PID", pid, 1);
    setenv("LISTEN_FDS", passed_too >= 0 ? "2" : "1", 0);
    if (passed_too >= 0)
        dup2(passed_too, 4);
    dup2(fd, 3);
}

static inline void
run_binary(const char *dir, const char *option, int how, const int fd[3],
           int life)
{
    if ((how & ORPHAN) && fork() != 0) {
        char c;

        close(gate[1]);
        _exit(read(gate[0], &c, 1) != 0);
    }
    for (size_t i = 0; i < 3; i++) /* nohup or a shell's & may have ignored
                                      them */
        signal((int[]){SIGTERM, SIGINT, SIGHUP}[i], SIG_DFL);
    if (how & FULL)
        setrlimit(RLIMIT_FSIZE, &(struct rlimit){FULL_LEN, FULL_LEN});
    setenv("MCP_TASK_BASE_DIR", dir, 1);
    unsetenv("MCP_TASK_DB_PATH");
    dup2(fd[0], 0);
    dup2(fd[1], 1);
    dup2(fd[2], 2);
    if (how & NO_STDIN)
        close(0);
    if (how & NO_STDOUT)
        close(1);
    fcntl(life, F_SETFD, 0);
    if (passed >= 0)
        pass_socket(passed);
    exec_binary(option != NULL ? option : "");
    _exit(99);
}

/* Starts it on the store in dir, with options or NULL. */
static inline struct srv
start(const char *dir, const char *option, int how)
{
    struct srv s = {0};
    int in[2], out[2], err[2], life[2];

    make_pipe(in, how & SOCKET);
    if (how & SOCKET)
        out[0] = dup(in[1]), out[1] = dup(in[0]);
    else
        make_pipe(out, false);
    make_pipe(err, false);
    make_pipe(life, false);
    s.pid = fork();
    if (s.pid == 0)
        run_binary(dir, option, how, (int[3]){in[0], out[1], err[1]},
                   life[1]);
    close(in[0]);
    close(out[1]);
    close(err[1]);
    close(life[1]);
    fcntl(in[1], F_SETFL, O_NONBLOCK);
    s.in = in[1];
    s.out = out[0];
    s.err = err[0];
    s.life = life[0];
    return s;
}

static inline void
shut(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static inline bool
can(int fd, short events)
{
    struct pollfd p = {.fd = fd, .events = events};

    return poll(&p, 1, DEADLINE_MS) == 1;
}

/* Reads once; false at the end of the output or on a timeout. */
static inline bool
hear(struct srv *s)
{
    static char chunk[65536];
    ssize_t n;

    if (!can(s->out, POLLIN))
        return false;
    n = read(s->out, chunk, sizeof(chunk));
    if (n > 0)
        add(&s->got, chunk, (size_t)n);
    return n > 0;
}

static inline size_t
count_lines(const struct text *t, size_t from)
{
    size_t i, n = 0;

    for (i = from; i < t->len; i++)
        n += t->p[i] == '\n';
    return n;
}

/* Sends all of t while reading output. False: it cannot be sent. */
static inline bool
say(struct srv *s, const struct text *t)
{
    size_t off = 0;
    bool hears = true; /* it may close its output and keep reading */

    while (off < t->len) {
        struct pollfd p[2] = {{.fd = s->in, .events = POLLOUT},
                              {.fd = hears ? s->out : -1, .events = POLLIN}};
        ssize_t n;

        if (poll(p, 2, DEADLINE_MS) < 1)
            return false;
        hears = hears && (p[1].revents == 0 || hear(s));
        if (p[0].revents == 0)
            continue;
        n = write(s->in, t->p + off, t->len - off);
        if (n < 0 && errno != EAGAIN)
            return false;
        off += n > 0 ? (size_t)n : 0;
    }
    return true;
}

/* Sends t and empties it. */
static inline bool
send_text(struct srv *s, struct text *t)
{
    bool ok = say(s, t);

    t->len = 0;
    return ok;
}

/* The next output line, without its end; "" if there is no more. */
static inline char *
next_line(struct srv *s)
{
    static char none[1];
    char *line, *lf;

    while (s->got.p == NULL ||
           (lf = strchr(s->got.p + s->taken, '\n')) == NULL)
        if (!hear(s))
            return none[0] = '\0', none;
    line = s->got.p + s->taken;
    *lf = '\0';
    s->taken = (size_t)(lf + 1 - s->got.p);
    return line;
}

static inline bool
has(const char *line, const char *what)
{
    bool found = strstr(line, what) != NULL;

    if (!found)
        fprintf(stderr, "no %s in: %.300s\n", what, line);
    return found;
}

static inline bool
answers(const char *line, int id)
{
    char want[64];

    snprintf(want, sizeof(want), "\"id\":%d,\"result\"", id);
    return has(line, want);
}

static inline bool
is_good(const char *line)
{
    return strstr(line, "\"result\"") != NULL &&
           strstr(line, "\"isError\":true") == NULL;
}

/* Its exit code, once it ends by itself; -1: it did not. */
static inline int
ended(struct srv *s)
{
    int status;

    if (!can(s->life, POLLIN))
        kill(s->pid, SIGKILL);
    waitpid(s->pid, &status, 0);
    shut(&s->in);
    shut(&s->out);
    shut(&s->err);
    shut(&s->life);
    free(s->got.p);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Ends the input and reads the rest of the output. Returns as ended. */
static inline int
finish(struct srv *s)
{
    if (s->in >= 0)
        shutdown(s->in, SHUT_WR);
    shut(&s->in);
    while (hear(s))
        ;
    return ended(s);
}

#endif
