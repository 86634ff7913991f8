/* t_request - a command that asks a server which is not there, is slow, dies,
   or answers what no server should. The command runs in a process of its own,
   and this one is the server. */

#include "cli/cli.h"
#include "cli/command.h"
#include "tests/lib/test.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>

#ifndef TEST_STEP
#define TEST_STEP 1
#endif

static char server[128]; /* "unix:..." */
static int listener;
static const char *said_path;
static char said[64 * 1024]; /* what the last command wrote, stderr and all */

/* ---- time that passes while it waits ---- */

int __real_clock_gettime(clockid_t id, struct timespec *ts);
int __wrap_clock_gettime(clockid_t id, struct timespec *ts);
int __real_poll(struct pollfd *p, nfds_t n, int ms);
int __wrap_poll(struct pollfd *p, nfds_t n, int ms);
static bool hurries;
static int64_t passed_ms; /* in polls that only seemed to wait, */
static int64_t may_pass_ms = 31000; /* and how long they may */

int
__wrap_clock_gettime(clockid_t id, struct timespec *ts)
{
    int rc = __real_clock_gettime(id, ts);

    ts->tv_sec += passed_ms / 1000;
    return rc;
}

int
__wrap_poll(struct pollfd *p, nfds_t n, int ms)
{
    int rc = __real_poll(p, n, hurries ? 0 : ms);

    if (hurries && ms < 0)
        abort(); /* it would have no end */
    passed_ms += hurries && rc == 0 ? ms : 0;
    if (passed_ms > may_pass_ms)
        abort();
    return rc;
}

/* ---- the command ---- */

static const char *input; /* its standard input; NULL: as it is */

static pid_t
begin(char **argv)
{
    struct cli_env env = {.server = server};
    pid_t pid = fork();
    int fd, in[2];

    if (pid != 0)
        return pid;
    if (input != NULL &&
        (pipe(in) != 0 || dup2(in[0], STDIN_FILENO) < 0 ||
         write(in[1], input, strlen(input)) < 0))
        abort();
    fd = open(said_path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    dup2(fd, STDOUT_FILENO);
    dup2(fd, STDERR_FILENO);
    close(listener);
    _exit(cli_main(&env, argv));
}

/* The exit code of the command, or minus the signal that ended it. */
static int
end(pid_t pid)
{
    int status, fd = open(said_path, O_RDONLY);
    ssize_t n;

    if (waitpid(pid, &status, 0) != pid)
        abort();
    n = read(fd, said, sizeof said - 1);
    said[n > 0 ? n : 0] = '\0';
    close(fd);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/* ---- the server ---- */

/* Takes a connection and reads its request. */
static int
take_request(void)
{
    char text[8192];
    size_t len = 0, body = 0;
    int fd = accept(listener, NULL, NULL);

    for (;;) {
        const char *head_end, *length;
        ssize_t n = read(fd, text + len, sizeof text - 1 - len);

        if (n <= 0)
            return fd;
        len += (size_t)n;
        text[len] = '\0';
        head_end = strstr(text, "\r\n\r\n");
        length = strstr(text, "Content-Length: ");
        if (head_end == NULL || length == NULL)
            continue;
        body = (size_t)strtoul(length + 16, NULL, 10);
        if (len >= (size_t)(head_end + 4 - text) + body)
            return fd;
    }
}

/* Answers with len bytes, in pieces of that many, and closes. The command may
   have gone. */
static void
reply(int fd, const char *bytes, size_t len, size_t piece)
{
    for (size_t at = 0; at < len; at += piece)
        if (send(fd, bytes + at, len - at < piece ? len - at : piece,
                 MSG_NOSIGNAL) < 0)
            break;
    close(fd);
}

/* Runs the command, and answers its only request with these bytes. */
static int
run_with(char **argv, const char *bytes, size_t len, size_t piece)
{
    pid_t pid = begin(argv);

    reply(take_request(), bytes, len, piece);
    return end(pid);
}

static char *list[] = {"list", NULL};
static char *list_json[] = {"list", "--json", NULL};
static char *add[] = {"add", "One", NULL};

/* Whether list exits with code and says so. */
static bool
lists(const char *bytes, int code, const char *what)
{
    int got = run_with(list, bytes, strlen(bytes), SIZE_MAX);
    bool ok = got == code && strstr(said, what) != NULL;

    if (!ok)
        fprintf(stderr, "%d: %s", got, said);
    return ok;
}

/* Whether it does for a result of this JSON. */
static bool
lists_result(const char *json, int code, const char *what)
{
    char all[4096];

    snprintf(all, sizeof all, "HTTP/1.1 200 OK\r\nContent-Type: "
             "application/json\r\nContent-Length: %zu\r\n\r\n%s", strlen(json),
             json);
    return lists(all, code, what);
}

#define SAYS(text) "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[{" \
    "\"type\":\"text\",\"text\":\"" text "\"}]}}"
#define TASK "{\\\"task_id\\\":\\\"one\\\",\\\"title\\\":\\\"The first\\\"," \
    "\\\"status\\\":\\\"open\\\",\\\"priority\\\":2,\\\"steps_done\\\":1," \
    "\\\"steps_total\\\":3,\\\"version\\\":1,\\\"seq\\\":7," \
    "\\\"updated_at\\\":\\\"2026-07-28T09:30:00.000Z\\\"}"
#define LIST(tasks) SAYS("{\\\"tasks\\\":[" tasks "],\\\"head_seq\\\":7," \
    "\\\"total\\\":1}")
#define STRANGE "its answer is not understood"

TEST(takes_an_answer)
{
    static const char chunked[] =
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
        "Transfer-Encoding: chunked\r\n\r\n"
        "10\r\n: comment\n\ndata\n\r\n";
    char all[4096], event[2048];
    int n;

    CHECK(lists_result(LIST(TASK), 0, "one  open  P2  -  1/3  The first\n"));
    CHECK(lists_result(LIST(""), 0, ""));
    n = snprintf(event, sizeof event, "data: {\"jsonrpc\":\"2.0\",\"method\":"
                 "\"notifications/progress\"}\n\nevent: message\ndata: %s\n\n",
                 LIST(TASK));
    n = snprintf(all, sizeof all, "%s%x\r\n%s\r\n0\r\n\r\n", chunked,
                 (unsigned)n, event);
    if (!CHECK(run_with(list, all, (size_t)n, 1) == 0))
        fprintf(stderr, "%s", said);
    CHECK(strcmp(said, "one  open  P2  -  1/3  The first\n") == 0);
    CHECK(run_with(list_json, all, (size_t)n, 700) == 0);
    CHECK(strncmp(said, "{\"task_id\":\"one\",", 17) == 0);
}

TEST(refuses_rubbish)
{
    CHECK(lists("hello\r\n\r\n", 3, "its answer is not HTTP"));
    CHECK(lists("\377\376\r\n\r\n", 3, "its answer is not HTTP"));
    CHECK(lists("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", 3,
                "its answer is not one of MCP"));
    CHECK(lists("HTTP/1.1 404 No\r\nContent-Length: 13\r\n\r\nno such path\n",
                3, "answered with status 404: no such path\n"));
    CHECK(lists("HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n", 3,
                "answered with status 503\n"));
    CHECK(lists("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz", 3,
                "its answer is malformed"));
    CHECK(lists_result("{\"id\":1,\"error\":{\"code\":-1,\"message\":"
                       "\"no\\u001b[31m\\u202e\"}}", 3,
                       "list_tasks: no<U+001B>[31m<U+202E>\n"));
    CHECK(lists_result("{\"id\":2,\"result\":{}}", 3, "not one of MCP"));
    CHECK(lists_result("{\"id\":1,\"result\":{}}", 3, STRANGE));
    CHECK(lists_result("{\"id\":1,\"result\":{\"content\":7}}", 3, STRANGE));
    CHECK(lists_result("{\"id\":1,\"result\":{\"content\":[]}}", 3, STRANGE));
    CHECK(lists_result(SAYS("[]"), 3, STRANGE));
    CHECK(lists_result(SAYS("{"), 3, STRANGE));
    CHECK(lists_result(SAYS("{ }"), 3, STRANGE));
    CHECK(lists_result(SAYS("{}"), 3, STRANGE));
    CHECK(lists_result(LIST("7"), 3, STRANGE));
    CHECK(lists_result(LIST("{\\\"task_id\\\":\\\"one\\\"}"), 3, STRANGE));
    CHECK(lists_result(LIST("{\\\"task_id\\\":1,\\\"title\\\":2,\\\"status\\\":"
                            "\\\"open\\\"}"), 3, STRANGE));
}

TEST(bounds_the_answer)
{
    static const char chunk[] = "100000\r\n";
    size_t len = 0, n = sizeof chunk - 1;
    char *all = malloc(10 * ((size_t)1 << 20));

    CHECK(lists("HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n", 3,
                "is too long"));
    len = (size_t)sprintf(all, "HTTP/1.1 200 OK\r\n"
                          "Transfer-Encoding: chunked\r\n\r\n");
    for (int i = 0; i < 9; i++) {
        memcpy(all + len, chunk, n);
        memset(all + len + n, 'x', (size_t)1 << 20);
        len += n + ((size_t)1 << 20);
        memcpy(all + len, "\r\n", 2);
        len += 2;
    }
    CHECK(run_with(list, all, len, SIZE_MAX) == 3);
    CHECK(strstr(said, "its answer is too long") != NULL);
    memset(all, 'x', (size_t)1 << 20);
    memcpy(all, "HTTP/1.1 200 OK\r\nX: ", 20);
    CHECK(run_with(list, all, (size_t)1 << 20, SIZE_MAX) == 3);
    CHECK(strstr(said, "its answer is not HTTP, or is too long") != NULL);
    free(all);
}

/* Whether add exits with code and reports that the change may have been made,
   or does not. */
static bool
adds(const char *bytes, const char *what, bool made)
{
    int got = run_with(add, bytes, strlen(bytes), SIZE_MAX);
    bool ok = got == 3 && strstr(said, what) != NULL &&
              (strstr(said, "the change may have been made\nrun ") != NULL) ==
                  made;

    if (!ok)
        fprintf(stderr, "%d: %s", got, said);
    return ok;
}

#define STATUS(status, body) "HTTP/1.1 " status " No\r\nContent-Length: " body

/* A proxy in between answers so if it has lost the server, which may have run
   the request. */
TEST(a_proxy_loses_the_server)
{
    CHECK(adds(STATUS("500", "0\r\n\r\n"), "status 500, and", true));
    CHECK(adds(STATUS("502", "4\r\n\r\nBad\n"), "status 502: Bad, and",
               true));
    CHECK(adds(STATUS("504", "48\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":1,"
                      "\"error\":{\"code\":-32000}}"), "status 504", true));
    CHECK(adds(STATUS("503", "0\r\n\r\n"), "with status 503\n", false));
    CHECK(adds(STATUS("413", "0\r\n\r\n"), "with status 413\n", false));
    CHECK(adds(STATUS("200", "36\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":1,"
                      "\"result\":{}}"), STRANGE ", and", true));
    CHECK(lists(STATUS("502", "0\r\n\r\n"), 3,
                "answered with status 502\ntry again"));
}

/* What was asked for a change may have happened; a read did nothing. */
TEST(server_dies)
{
    static const char half[] = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{";
    pid_t pid;
    int fd;

    CHECK(lists("", 3, "closed the connection without an answer\ntry again"));
    CHECK(lists(half, 3, "in the middle of its answer\ntry again"));
    CHECK(run_with(add, half, sizeof half - 1, 1) == 3);
    CHECK(strstr(said, "the change may have been made\nrun ") !=
          NULL);
    pid = begin(add);
    fd = accept(listener, NULL, NULL);
    close(fd); /* perhaps before all of the request was sent */
    CHECK(end(pid) == 3);
    CHECK(strstr(said, server) != NULL);
}

TEST(a_slow_server)
{
    pid_t pid;
    int fd;

    hurries = true;
    pid = begin(list);
    hurries = false;
    CHECK(end(pid) == 3);
    CHECK(strstr(said, "no answer in time\ntry again") != NULL);
    fd = accept(listener, NULL, NULL);
    close(fd);
    pid = begin(list);
    fd = take_request();
    kill(pid, SIGINT);
    CHECK(end(pid) == -SIGINT);
    CHECK(said[0] == '\0');
    close(fd);
}

/* A hook keeps a session waiting, and at its end has only a part of 1.5 s. */
TEST(a_hook_waits_less)
{
    static char *argv[] = {"hook", "claude-code", NULL};
    static const struct { const char *event; int64_t ms; } rows[] = {
        {"{\"session_id\":\"01234567\",\"hook_event_name\":\"SessionStart\"}",
         2000},
        {"{\"session_id\":\"01234567\",\"hook_event_name\":\"SessionEnd\"}",
         1000}, /* the clock here has no less */
    };

    for (int i = 0; i < 2; i++) {
        input = rows[i].event;
        may_pass_ms = rows[i].ms;
        hurries = true;
        pid_t pid = begin(argv);
        hurries = false;
        CHECK(end(pid) == 0);
        CHECK(strstr(said, "no answer in time") != NULL);
        CHECK(strstr(said, "hookSpecificOutput") == NULL);
        close(accept(listener, NULL, NULL));
    }
    input = NULL;
}

/* It ends without an error, also while it asks. */
TEST(following_is_interrupted)
{
    static char *argv[] = {"tail", "-f", "-n", "0", NULL};
    static const char empty[] = LIST("");
    char all[1024];
    pid_t pid = begin(argv);
    int fd, n;

    n = snprintf(all, sizeof all, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n"
                 "\r\n%s", sizeof empty - 1, empty);
    reply(take_request(), all, (size_t)n, SIZE_MAX);
    fd = take_request();
    kill(pid, SIGINT);
    CHECK(end(pid) == 0);
    CHECK(said[0] == '\0');
    close(fd);
}

/* Whatever becomes of a byte of an answer, the command ends by itself. */
TEST(any_byte_may_differ)
{
    static const char bytes[] = "\"\\{}[],:0-x\n\377";
    static const char good[] = LIST(TASK "," TASK);
    char all[4096];
    int n = snprintf(all, sizeof all, "HTTP/1.1 200 OK\r\nContent-Length: %zu"
                     "\r\n\r\n", sizeof good - 1);
    size_t len = (size_t)n + sizeof good - 1;

    memcpy(all + n, good, sizeof good);
    for (size_t i = 0; i < len; i += 1 + 3 * TEST_STEP) {
        char was = all[i];
        int code;

        all[i] = bytes[i % (sizeof bytes - 1)];
        code = run_with(list, all, len, SIZE_MAX);
        CHECK(code >= 0 && code <= 4);
        all[i] = was;
    }
}

int
main(void)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    char *dir = test_tmpdir(), path[300];

    signal(SIGINT, SIG_DFL); /* a shell ignores it for its background jobs */
    snprintf(server, sizeof server, "unix:%s/s", dir);
    snprintf(to.sun_path, sizeof to.sun_path, "%s", server + 5);
    snprintf(path, sizeof path, "%s/said", dir);
    said_path = path;
    listener = socket(AF_UNIX, SOCK_STREAM, 0);
    if (bind(listener, (struct sockaddr *)&to, sizeof to) != 0 ||
        listen(listener, 8) != 0)
        abort();
    test_run();
    close(listener);
    free(dir);
    return test_end("request");
}
