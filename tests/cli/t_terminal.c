/* t_terminal - what a person at a terminal sees: the commands that show tasks,
   on a pseudo-terminal, beside a store with a history of two weeks.

   The files in tests/cli/look say what has to be seen, COMMAND.COLUMNS each.
   With UPDATE=1 they are written instead: look at them before you commit. */

#include "base/clock.h"
#include "cli/cli.h"
#include "store.h"
#include "task/project.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>

#define NOW INT64_C(1795782600) /* 2026-11-27 12:30 UTC, when it is looked at */
#define SEEN_MAX (256 * 1024)   /* bytes that a command shows */

static const char *look;  /* the directory of the files */
static const char *server; /* that commands ask; NULL: none */
static int64_t ago_s;     /* how long before NOW it is */
static char seen[SEEN_MAX]; /* by the person, with a NUL */
static size_t n_seen;

/* ---- the clock ---- */

int __real_clock_gettime(clockid_t id, struct timespec *t);
int __wrap_clock_gettime(clockid_t id, struct timespec *t);

int
__wrap_clock_gettime(clockid_t id, struct timespec *t)
{
    if (id == CLOCK_MONOTONIC)
        return __real_clock_gettime(id, t);
    *t = (struct timespec){.tv_sec = NOW - ago_s};
    if (id != CLOCK_REALTIME)
        t->tv_sec -= 1700000000; /* since the boot */
    return 0;
}

/* ---- commands ---- */

/* Runs a command in this process, which ends with it. */
static void
run_command(char **argv)
{
    struct cli_env e = {.called = "mcptask", .compact_at = STORE_COMPACT_AT,
                        .closed_mib = STORE_CLOSED_MAX >> 20};
    struct project here;
    char why[256];

    project_here(&here);
    e.project = &here;
    e.server = server;
    _exit(env_resolve(&e, why) == 0 ? cli_main(&e, argv) : 99);
}

/* Splits a line at blanks outside of quotes, in place. */
static void
split_words(char *line, char **words, size_t max)
{
    size_t n = 0;

    while (*line != '\0' && n + 1 < max) {
        char end = *line == '\'' || *line == '"' ? *line++ : ' ';

        words[n++] = line;
        line += strcspn(line, (char[]){end, '\0'});
        if (*line != '\0')
            *line++ = '\0';
        line += strspn(line, " ");
    }
    words[n] = NULL;
}

static int64_t
seconds_of(const char *age)
{
    char *unit;
    int64_t n = strtoll(age, &unit, 10);

    if (*unit == 'd')
        return n * 86400;
    return *unit == 'h' ? n * 3600 : n * 60;
}

/* Does what a line of tests/cli/look/store says. */
static void
do_line(char *line)
{
    char *words[64], *in = strstr(line, " < ");
    int fds[2], status = -1;

    if (in != NULL)
        *in = '\0';
    split_words(line, words, 64);
    ago_s = seconds_of(words[0]);
    if (!CHECK(pipe(fds) == 0))
        return;
    if (in != NULL)
        CHECK(write(fds[1], in + 3, strlen(in + 3)) > 0);
    close(fds[1]);
    if (fork() == 0) {
        dup2(fds[0], STDIN_FILENO);
        dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO);
        dup2(STDOUT_FILENO, STDERR_FILENO); /* warnings */
        run_command(words + 1);
    }
    close(fds[0]);
    wait(&status);
    if (!CHECK(status == 0))
        fprintf(stderr, "%s ago: %s %s\n", words[0], words[1], words[2]);
}

/* Reads a whole file; the caller frees it. */
static char *
read_look(const char *name)
{
    char path[512], *text = calloc(1, SEEN_MAX);
    int fd;

    snprintf(path, sizeof path, "%s/%s", look, name);
    fd = open(path, O_RDONLY);
    if (fd >= 0 && read(fd, text, SEEN_MAX - 1) < 0)
        text[0] = '\0';
    close(fd);
    return text;
}

/* Makes the store. A text in quotes may have several lines. */
static void
make_store(void)
{
    char *text = read_look("store"), *at = text;

    while (*at != '\0') {
        char *end = at, quote = 0;

        for (; *end != '\0' && (*end != '\n' || quote != 0); end++)
            if (*at == '#' || strncmp(end, " < ", 3) == 0) {
                end += strcspn(end, "\n");
                break;
            } else if (quote == 0 && (*end == '\'' || *end == '"')) {
                quote = *end;
            } else if (*end == quote) {
                quote = 0;
            }
        if (*end != '\0')
            *end++ = '\0';
        if (*at != '#')
            do_line(at);
        at = end;
    }
    free(text);
    ago_s = -30; /* an age is not at the edge of another: time may go by */
}

/* ---- the terminal ---- */

struct person {
    int tty;    /* the terminal's other side */
    pid_t pid;  /* the command */
};

static void
resize(int tty, unsigned short columns, unsigned short rows)
{
    struct winsize w = {.ws_col = columns, .ws_row = rows};

    CHECK(ioctl(tty, TIOCSWINSZ, &w) == 0);
}

/* Starts a command at a terminal of its own. */
static struct person
begin(const char *command, unsigned short columns, unsigned short rows)
{
    struct person p = {.tty = posix_openpt(O_RDWR | O_NOCTTY)};
    char line[256], *words[16];
    int fd;

    CHECK(p.tty >= 0 && grantpt(p.tty) == 0 && unlockpt(p.tty) == 0);
    fd = open(ptsname(p.tty), O_RDWR | O_NOCTTY);
    CHECK(fd >= 0);
    resize(fd, columns, rows);
    snprintf(line, sizeof line, "%s", command);
    split_words(line, words, 16);
    n_seen = 0;
    seen[0] = '\0';
    p.pid = fork();
    if (p.pid == 0) {
        setsid();
        close(open(ptsname(p.tty), O_RDWR)); /* it controls this session */
        close(p.tty);
        for (int i = 0; i < 3; i++)
            dup2(fd, i);
        close(fd);
        run_command(words);
    }
    close(fd);
    return p;
}

/* Reads what comes next. False: that was all. */
static bool
read_more(struct person *p)
{
    ssize_t n = read(p->tty, seen + n_seen, SEEN_MAX - 1 - n_seen);

    if (n <= 0)
        return false;
    for (ssize_t i = 0; i < n; i++) /* without what the terminal adds */
        if (seen[n_seen + (size_t)i] == '\r')
            memmove(seen + n_seen + i, seen + n_seen + i + 1,
                    (size_t)(--n - i));
    n_seen += (size_t)n;
    seen[n_seen] = '\0';
    return true;
}

/* Reads until the text has been seen since `from`. False: never. */
static bool
sees(struct person *p, size_t from, const char *text)
{
    while (strstr(seen + from, text) == NULL)
        if (!read_more(p))
            return false;
    return true;
}

/* Reads the rest. Returns the status with which the command ended; the caller
   closes the terminal. */
static int
ends(struct person *p)
{
    int status = -1;

    while (read_more(p))
        ;
    waitpid(p->pid, &status, 0);
    return status;
}

/* ---- what is seen ---- */

static bool
is_same_line(const char *a, const char *b)
{
    size_t n = strcspn(a, "\n");

    return n == strcspn(b, "\n") && memcmp(a, b, n) == 0;
}

/* Prints the first line that differs. */
static void
print_difference(const char *name, const char *want, const char *have)
{
    int line = 1;

    for (; *want != '\0' && is_same_line(want, have); line++) {
        want += strcspn(want, "\n");
        have += strcspn(have, "\n");
        want += *want != '\0';
        have += *have != '\0';
    }
    fprintf(stderr, "%s:%d:\n-%.*s\n+%.*s\n", name, line,
            (int)strcspn(want, "\n"), want, (int)strcspn(have, "\n"), have);
}

/* Compares what was seen with the file of that name. */
static void
compare(const char *name)
{
    char path[512], *want;
    int fd;

    for (char *at = seen; (at = strchr(at, '\033')) != NULL; )
        *at = '~'; /* legible */
    if (getenv("UPDATE") != NULL) {
        snprintf(path, sizeof path, "%s/%s", look, name);
        fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
        CHECK(write(fd, seen, n_seen) == (ssize_t)n_seen);
        close(fd);
        return;
    }
    want = read_look(name);
    if (!CHECK(strcmp(want, seen) == 0))
        print_difference(name, want, seen);
    free(want);
}

static void
look_at(const char *command, const char *name, unsigned short columns,
        unsigned short rows)
{
    char file[64];
    struct person p = begin(command, columns, rows);

    CHECK(ends(&p) == 0);
    close(p.tty);
    snprintf(file, sizeof file, "%s.%d", name, columns);
    compare(file);
}

TEST(what_commands_show)
{
    static const char *const commands[][2] = {
        {"list", "list"}, {"list --all", "list-all"},
        {"list --ready", "list-ready"}, {"list --all -q acquirer", "search"},
        {"list --needs-input", "needs-input"}, {"board", "board"},
        {"show PAY-1185", "show"}, {"show PAY-1182", "show-parts"},
        {"show api-41", "show-failed"},
        {"wait PAY-1180 --until terminal", "wait"},
        {"history PAY-1185", "history"}, {"tail -n 20", "tail"},
        {"history web-306", "history-answered"},
        {"show web-306", "show-answered"},
    };

    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        look_at(commands[i][0], commands[i][1], 80, 40);
        look_at(commands[i][0], commands[i][1], 140, 50);
    }
    look_at("list", "list", 40, 40);
    look_at("list --needs-input", "needs-input", 40, 40);
    look_at("board", "board", 40, 24);
    look_at("history PAY-1185", "history", 40, 40);
    look_at("tail -n 20", "tail", 40, 40);
    look_at("show PAY-1182", "show-parts", 40, 40);
    look_at("show api-41", "show-failed", 40, 40);
    look_at("list --all -q acquirer", "search", 40, 40);
    unsetenv("NO_COLOR");
    look_at("board -n 2", "board-colour", 80, 40);
    setenv("NO_COLOR", "1", 1);
    setenv("LC_ALL", "C", 1);
    look_at("list", "list-ascii", 80, 40);
    setenv("LC_ALL", "C.UTF-8", 1);
}


/* ---- board --watch ---- */

#define OPEN "\033[?1049h"
#define CLOSE "\033[?25h\033[?1049l"

static void
press(struct person *p, const char *key)
{
    CHECK(write(p->tty, key, strlen(key)) == (ssize_t)strlen(key));
}

/* Whether the terminal is as it was before: its screen, and its keys. */
static bool
is_given_back(const struct person *p)
{
    size_t n = strlen(CLOSE);
    struct termios t;

    return n_seen > n && strcmp(seen + n_seen - n, CLOSE) == 0 &&
           tcgetattr(p->tty, &t) == 0 && t.c_lflag & ECHO &&
           t.c_lflag & ICANON;
}

/* The lines of the last frame, which ends with the status. */
static int
count_lines(void)
{
    const char *at = seen + n_seen;
    int n = 1;

    while (at > seen && strncmp(at, "\033[H", 3) != 0)
        n += *--at == '\n';
    return n;
}

TEST(watch_takes_keys_and_follows_the_size)
{
    struct person p = begin("board --watch", 80, 24);
    size_t from;

    CHECK(sees(&p, 0, OPEN) && sees(&p, 0, "q quits"));
    CHECK(strstr(seen, "NEEDS YOU 2 of 3") != NULL &&
          strstr(seen, "STUCK") != NULL && count_lines() <= 24);
    CHECK(strstr(seen, "live \xc2\xb7 20 tasks") != NULL);
    from = n_seen;
    press(&p, "2");
    CHECK(sees(&p, from, "0 shows all") && strstr(seen + from, "READY 5"));
    CHECK(strstr(seen + from, "STUCK") == NULL);
    from = n_seen;
    press(&p, "0");
    CHECK(sees(&p, from, "q quits") && strstr(seen + from, "STUCK"));
    from = n_seen;
    resize(p.tty, 120, 60);
    CHECK(sees(&p, from, "q quits") && strstr(seen + from, "NEEDS YOU 3"));
    press(&p, "xq");
    CHECK(ends(&p) == 0 && is_given_back(&p));
    close(p.tty);
}

/* A number is that of a group that is seen, and fits it to the screen. */
TEST(watch_shows_one_group)
{
    struct person p = begin("board --watch", 80, 12);
    size_t from;

    CHECK(sees(&p, 0, "q quits"));
    from = n_seen;
    press(&p, "7");
    CHECK(sees(&p, from, "Done, 0 shows all"));
    CHECK(strstr(seen + from, "DONE 6") != NULL && count_lines() <= 12);
    press(&p, "q");
    CHECK(ends(&p) == 0);
    close(p.tty);
}

/* The first group that has tasks is 1; and a store without any says how to
   begin. */
TEST(watch_counts_groups_with_tasks)
{
    char *dir = test_tmpdir(), *old = strdup(getenv("MCP_TASK_BASE_DIR"));
    char line[] = "0m add --id one One";
    struct person p;

    setenv("MCP_TASK_BASE_DIR", dir, 1);
    p = begin("board --watch", 80, 24);
    CHECK(sees(&p, 0, "0 tasks \xc2\xb7 run \"mcptask add TITLE\""));
    press(&p, "q");
    CHECK(ends(&p) == 0);
    close(p.tty);
    do_line(line);
    p = begin("board --watch", 80, 24);
    CHECK(sees(&p, 0, "q quits") && strstr(seen, "NEEDS YOU") == NULL);
    press(&p, "1");
    CHECK(sees(&p, 0, "Ready, 0 shows all"));
    press(&p, "q");
    CHECK(ends(&p) == 0);
    close(p.tty);
    setenv("MCP_TASK_BASE_DIR", old, 1);
    free(old);
    free(dir);
}

TEST(watch_has_24_rows_where_the_terminal_does_not_say)
{
    struct person p = begin("board --watch", 0, 0);

    CHECK(sees(&p, 0, "q quits") && strstr(seen, "\033[24;1H") != NULL);
    CHECK(count_lines() <= 24);
    press(&p, "q");
    CHECK(ends(&p) == 0);
    close(p.tty);
}

/* However it ends, the terminal is given back. */
TEST(watch_gives_the_terminal_back)
{
    static const int signals[] = {SIGTERM, SIGHUP, SIGQUIT, SIGINT};

    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        struct person p = begin("board --watch", 80, 24);

        CHECK(sees(&p, 0, "q quits"));
        if (signals[i] == SIGINT)
            press(&p, "\003");
        else
            CHECK(kill(p.pid, signals[i]) == 0);
        CHECK(ends(&p) == 0 && is_given_back(&p));
        close(p.tty);
    }
}

/* ^Z gives it back, too, and takes it again when the process goes on: here that
   is immediately, since no shell could wake it. */
TEST(watch_stops)
{
    struct person p = begin("board --watch", 80, 24);
    const char *closed;

    CHECK(sees(&p, 0, "q quits"));
    press(&p, "\032");
    CHECK(sees(&p, 0, CLOSE));
    closed = strstr(seen, CLOSE);
    CHECK(sees(&p, (size_t)(closed - seen), OPEN));
    CHECK(sees(&p, (size_t)(closed - seen), "q quits"));
    press(&p, "q");
    CHECK(ends(&p) == 0 && is_given_back(&p));
    close(p.tty);
}

/* An error is seen on the screen that was there before. */
TEST(watch_ends_with_an_error)
{
    struct person p;
    char *closed;

    server = "unix:/nowhere";
    p = begin("board --watch", 80, 24);
    server = NULL;
    CHECK(WEXITSTATUS(ends(&p)) == CLI_STORE);
    closed = strstr(seen, CLOSE);
    CHECK(strstr(seen, OPEN) != NULL && closed != NULL &&
          strstr(closed, "mcptask board: unix:/nowhere") != NULL);
    CHECK(closed != NULL && strstr(closed, OPEN) == NULL);
    close(p.tty);
}

int
main(int argc, char **argv)
{
    char *dir = test_tmpdir();

    look = argc > 1 ? argv[1] : "tests/cli/look";
    setenv("MCP_TASK_BASE_DIR", dir, 1);
    setenv("MCP_TASK_AGENT", "anna", 1);
    setenv("MCP_TASK_REPO", "/src/pay", 1);
    setenv("TZ", "CET-1", 1);
    setenv("TERM", "xterm", 1);
    setenv("NO_COLOR", "1", 1);
    setenv("LC_ALL", "C.UTF-8", 1);
    unsetenv("COLUMNS");
    unsetenv("MCP_TASK_SERVER");
    make_store();
    test_run();
    free(dir);
    return test_end("terminal");
}
