/* The real binary, its path in argv[1] or MCPTASK, over pipes and sockets. */

#include "store/record.h"
#include "tests/lib/server.h"

#include <sys/stat.h>

TEST(takes_a_line_byte_by_byte)
{
    char *dir = test_tmpdir();
    struct srv s = start(dir, NULL, PLAIN);
    struct text t = {0}, one;
    size_t i;

    add_ping(&t, 1);
    add(&t, "\r\n  \n", 5);
    add_ping(&t, 2);
    for (i = 0; i < t.len; i++) {
        one = (struct text){t.p + i, 1, 1};
        CHECK(say(&s, &one));
    }
    CHECK(answers(next_line(&s), 1));
    CHECK(answers(next_line(&s), 2));
    CHECK(finish(&s) == 0);
    free(t.p);
    free(dir);
}

static char *
path_in(const char *dir, const char *name)
{
    static char path[512];

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    return path;
}

static bool
log_has(const struct text *log, const char *task)
{
    char want[64];

    snprintf(want, sizeof(want), "/%s\",\"t\":", task);
    return strstr(log->p, want) != NULL;
}

static void
test_answers_a_burst_in_order(int how)
{
    char *dir = test_tmpdir(), task[32];
    struct srv s = start(dir, NULL, how);
    struct text t = {0}, log;
    int i, good = 0;

    for (i = 0; i < 200; i++) {
        snprintf(task, sizeof(task), "t%d", i);
        add_call(&t, 2 * i, "create_task", task);
        add_call(&t, 2 * i + 1, "get_task", task);
    }
    CHECK(send_text(&s, &t));
    for (i = 0; i < 400; i++) {
        char *line = next_line(&s);

        good += answers(line, i) && is_good(line);
    }
    CHECK(good == 400);
    log = file_text(path_in(dir, "tasks.log"));
    CHECK(count_lines(&log, 0) == 201); /* and the header */
    CHECK(log_has(&log, "t0") && log_has(&log, "t199"));
    CHECK(finish(&s) == 0);
    free(log.p);
    free(t.p);
    free(dir);
}

/* A ping of len bytes and a line feed. */
static void
add_long_ping(struct text *t, int id, size_t len)
{
    size_t from = t->len;

    addf(t, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"ping\"", id);
    while (t->len - from < len - 1)
        add(t, "                                ",
            len - 1 - (t->len - from) < 32 ? len - 1 - (t->len - from) : 32);
    add(t, "}\n", 2);
}

static void
add_cancel(struct text *t, int id)
{
    addf(t, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
         "\"params\":{\"requestId\":%d}}\n", id);
}

/* In one read with their calls, and late. A call with the id of a cancelled one
   is a call like any other. */
TEST(takes_every_cancellation)
{
    char *dir = test_tmpdir(), *line;
    struct srv s = start(dir, NULL, PLAIN);
    struct text t = {0};
    int i, waited = 0, wrote = 0;

    add_call(&t, 0, "create_task", "a");
    for (i = 1; i <= 100; i++)
        add_call(&t, i, "wait_for_task", "a");
    for (i = 0; i <= 100; i++)
        add_cancel(&t, i < 100 ? i + 1 : 1);
    add_ping(&t, 1000);
    CHECK(send_text(&s, &t));
    CHECK(is_good(next_line(&s)));
    CHECK(answers(next_line(&s), 1000));
    t.len = 0;
    add_cancel(&t, 1000);
    add_cancel(&t, 7);
    add_call(&t, 7, "wait_for_task", "a");
    add_ping(&t, 1000);
    CHECK(send_text(&s, &t));
    CHECK(answers(next_line(&s), 1000));
    t.len = 0;
    add_call(&t, 2000, "update_task", "a\",\"title\":\"y");
    CHECK(send_text(&s, &t));
    for (i = 0; i < 2; i++) {
        line = next_line(&s);
        waited += strstr(line, "\"id\":7,\"result\"") != NULL;
        wrote += strstr(line, "\"id\":2000,\"result\"") != NULL;
    }
    CHECK(waited == 1 && wrote == 1);
    t.len = 0;
    add_ping(&t, 3000);
    CHECK(send_text(&s, &t) && answers(next_line(&s), 3000));
    CHECK(finish(&s) == 0);
    free(t.p);
    free(dir);
}

static bool
refuses(const char *line, int id)
{
    char want[64];

    snprintf(want, sizeof(want), "\"id\":%d,\"error\"", id);
    return has(line, want);
}

TEST(limits_the_length_of_a_line)
{
    char *dir = test_tmpdir();
    struct srv s = start(dir, NULL, PLAIN);
    struct text t = {0};
    int i;

    add_long_ping(&t, 1, MAX_LINE);
    add_long_ping(&t, 2, MAX_LINE + 1);
    add_ping(&t, 3);
    add_long_ping(&t, 4, 2 * MAX_LINE);
    add_ping(&t, 5);
    CHECK(send_text(&s, &t));
    for (i = 1; i <= 5; i++) {
        char *line = next_line(&s);

        CHECK(i == 2 || i == 4 ? refuses(line, i) : answers(line, i));
    }
    CHECK(finish(&s) == 0);
    free(t.p);
    free(dir);
}

/* As JavaScript clients write it, with the id last; and as the last line,
   without a line feed. */
TEST(answers_a_long_line_with_its_id)
{
    char *dir = test_tmpdir();
    struct srv s = start(dir, NULL, PLAIN);
    struct text t = {0};

    addf(&t, "{\"method\":\"ping\",\"params\":{\"id\":1,\"a\":\"");
    while (t.len < 2 * MAX_LINE)
        add(&t, "a\\\"}]b,{\\\"id\\\":2", 17);
    addf(&t, "\"},\"jsonrpc\":\"2.0\",\"id\":3}\n");
    add_ping(&t, 4);
    add_long_ping(&t, 5, MAX_LINE + 4096);
    t.len--;
    CHECK(send_text(&s, &t));
    shut(&s.in);
    CHECK(refuses(next_line(&s), 3));
    CHECK(answers(next_line(&s), 4));
    CHECK(refuses(next_line(&s), 5));
    CHECK(finish(&s) == 0);
    free(t.p);
    free(dir);
}

TEST(answers_all_at_the_end_of_input)
{
    int cut;

    for (cut = 0; cut < 2; cut++) { /* with the last line feed, or without */
        char *dir = test_tmpdir();
        struct srv s = start(dir, NULL, PLAIN);
        struct text t = {0}, log;

        add_call(&t, 1, "create_task", "a");
        add_call(&t, 2, "get_task", "a");
        t.len -= (size_t)cut;
        CHECK(send_text(&s, &t));
        shut(&s.in);
        CHECK(is_good(next_line(&s)));
        CHECK(is_good(next_line(&s)));
        CHECK(finish(&s) == 0);
        log = file_text(path_in(dir, "tasks.log"));
        CHECK(log_has(&log, "a"));
        free(log.p);
        free(t.p);
        free(dir);
    }
}

TEST(answers_garbage_with_errors)
{
    static const char *const lines[] = {
        "\x00x", "\xff\xfe", "{\"jsonrpc\":\"2.0\"", "[]", "[[[[",
        "\"\xed\xa0\x80\"", "{}", "nul", "\x1b[2J",
        "{\"jsonrpc\":\"2.0\",\"id\":1}"};
    static const size_t lens[] = {2, 2, 16, 2, 4, 5, 2, 3, 4, 24};
    char *dir = test_tmpdir();
    struct srv s = start(dir, NULL, PLAIN);
    struct text t = {0};
    size_t i, n = sizeof(lines) / sizeof(lines[0]);

    for (i = 0; i < n; i++) {
        add(&t, lines[i], lens[i]);
        add(&t, "\n", 1);
    }
    add_ping(&t, 9);
    CHECK(send_text(&s, &t));
    for (i = 0; i < n; i++)
        CHECK(has(next_line(&s), "\"error\":{\"code\":-32"));
    CHECK(answers(next_line(&s), 9));
    CHECK(finish(&s) == 0);
    free(t.p);
    free(dir);
}

/* Sends requests and reads nothing until the server stops reading, too, so that
   the pipe stays full. Returns how many lines went in. */
static int
fill_up(struct srv *s, struct text *t)
{
    int id = 0;

    for (;;) {
        struct pollfd p = {.fd = s->in, .events = POLLOUT};
        ssize_t n;

        if (t->len == 0)
            addf(t,
                 "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/list\"}\n",
                 id++);
        if (id > 1000000 || poll(&p, 1, 500) != 1)
            return id;
        n = write(s->in, t->p, t->len);
        if (n > 0) {
            memmove(t->p, t->p + n, t->len - (size_t)n + 1);
            t->len -= (size_t)n;
        }
    }
}

TEST(a_client_that_does_not_read)
{
    char *dir = test_tmpdir();
    struct srv s = start(dir, NULL, PLAIN), other;
    struct text t = {0}, ping = {0};
    int i, n = fill_up(&s, &t), good = 0;

    CHECK(n < 1000000);
    other = start(dir, NULL, PLAIN);
    add_call(&ping, 1, "create_task", "a");
    CHECK(send_text(&other, &ping) && is_good(next_line(&other)));
    CHECK(finish(&other) == 0);

    CHECK(send_text(&s, &t)); /* this reads, so that the rest can go in */
    for (i = 0; i < n; i++)
        good += answers(next_line(&s), i);
    CHECK(good == n);
    CHECK(finish(&s) == 0);

    s = start(dir, NULL, PLAIN);
    fill_up(&s, &t);
    shut(&s.in); /* never reads: the server gives up after a while */
    CHECK(ended(&s) == 0);
    free(t.p);
    free(ping.p);
    free(dir);
}

TEST(signals_end_it)
{
    static const int sig[] = {SIGTERM, SIGINT, SIGHUP};
    size_t i;

    for (i = 0; i < 3; i++) {
        char *dir = test_tmpdir();
        struct srv s = start(dir, NULL, PLAIN);
        struct text t = {0};

        add_ping(&t, 1);
        CHECK(send_text(&s, &t) && answers(next_line(&s), 1));
        CHECK(kill(s.pid, sig[i]) == 0);
        CHECK(!hear(&s));
        CHECK(ended(&s) == 0);
        free(t.p);
        free(dir);
    }
}

TEST(a_signal_in_a_burst_loses_nothing)
{
    char *dir = test_tmpdir(), task[32], *line;
    struct srv s = start(dir, NULL, PLAIN);
    struct text t = {0}, log;
    int i, acknowledged = 0;

    for (i = 0; i < 2000; i++) {
        snprintf(task, sizeof(task), "t%d", i);
        add_call(&t, i, "create_task", task);
        if (i == 20) { /* the first answer comes before it ends */
            CHECK(send_text(&s, &t));
            CHECK(is_good(next_line(&s)));
            kill(s.pid, SIGTERM);
            acknowledged = 1;
        }
    }
    send_text(&s, &t); /* as much as goes in */
    while (hear(&s))
        ;
    log = file_text(path_in(dir, "tasks.log"));
    while (*(line = next_line(&s)) != '\0') {
        CHECK(answers(line, acknowledged) && is_good(line));
        snprintf(task, sizeof(task), "t%d", acknowledged++);
        CHECK(log_has(&log, task));
    }
    CHECK(ended(&s) == 0);
    free(log.p);
    free(t.p);
    free(dir);
}

/* The text after name and ":" in a line; up to 99 bytes. */
static const char *
text_in(const char *line, const char *name)
{
    static char text[100];
    const char *at = strstr(line, name);

    at = at != NULL ? at + strlen(name) + 3 : "";
    snprintf(text, sizeof(text), "%.*s", (int)strcspn(at, "\""), at);
    return text;
}

/* The next line that contains `what`, however many others come before. */
static char *
line_with(struct srv *s, const char *what)
{
    char *line = next_line(s);

    while (*line != '\0' && strstr(line, what) == NULL)
        line = next_line(s);
    return line;
}

/* The answer to a task's question has n values, nested or side by side: too
   many to keep. The call ends without an answer, and the question can be
   answered again. */
static void
test_an_answer_that_cannot_be_kept(size_t n, bool deep)
{
    char *dir = test_tmpdir(), task[100];
    struct srv s = start(dir, NULL, PLAIN);
    struct text t = {0};
    size_t i;

    addf(&t, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\","
         "\"params\":{\"protocolVersion\":\"2025-11-25\",\"capabilities\":"
         "{\"elicitation\":{}},\"clientInfo\":{\"name\":\"t\","
         "\"version\":\"1\"}}}\n");
    add_call(&t, 2, "create_task", "a");
    addf(&t, "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\","
         "\"params\":{\"name\":\"request_input\",\"arguments\":{"
         "\"task_id\":\"a\",\"agent\":\"b\",\"question\":\"q?\"},"
         "\"task\":{}}}\n");
    CHECK(send_text(&s, &t));
    snprintf(task, sizeof(task), "%s",
             text_in(line_with(&s, "\"id\":3,"), "\"taskId"));
    addf(&t, "{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"tasks/result\","
         "\"params\":{\"taskId\":\"%s\"}}\n", task);
    CHECK(send_text(&s, &t));
    addf(&t, "{\"jsonrpc\":\"2.0\",\"id\":\"%s\",\"result\":{\"action\":"
         "\"accept\",\"content\":{\"answer\":\"yes\",\"x\":",
         text_in(line_with(&s, "elicitation/create"), "\"id"));
    for (i = 0; i < n; i++)
        addf(&t, deep ? "[" : i == 0 ? "[0" : ",0");
    for (i = 0; i < (deep ? n : 1); i++)
        addf(&t, "]");
    addf(&t, "}}}\n");
    CHECK(send_text(&s, &t));
    CHECK(has(line_with(&s, "\"id\":4,"), "\\\"answered\\\":false"));
    addf(&t, "{\"jsonrpc\":\"2.0\",\"id\":6,\"method\":\"tools/call\","
         "\"params\":{\"name\":\"update_task\",\"arguments\":{"
         "\"task_id\":\"a\",\"answer\":{\"question_id\":\"q2\","
         "\"text\":\"blue\",\"action\":\"decline\"}}}}\n");
    CHECK(send_text(&s, &t));
    CHECK(has(line_with(&s, "\"id\":6,"), "\"version\\\":3"));
    CHECK(finish(&s) == 0);
    free(t.p);
    free(dir);
}

/* A batch that does not fit is undone as a whole: its writers report that, and
   its readers, which had seen it, are run again. */
TEST(a_full_disk)
{
    char *dir = test_tmpdir(), task[32], said[1024];
    struct srv s = start(dir, NULL, FULL);
    struct text t = {0}, log;
    int i, failed = 0;

    add_call(&t, 0, "create_task", "t0");
    CHECK(send_text(&s, &t) && is_good(next_line(&s)));
    for (i = 1; i <= 200; i++) {
        snprintf(task, sizeof(task), "t%d", i);
        add_call(&t, 2 * i, "create_task", task);
        add_call(&t, 2 * i + 1, "get_task", task);
    }
    CHECK(send_text(&s, &t));
    while (count_lines(&s.got, s.taken) < 400 && hear(&s))
        ;
    log = file_text(path_in(dir, "tasks.log"));
    for (i = 1; i <= 200; i++) {
        char *line = next_line(&s);
        bool good = is_good(line);

        snprintf(task, sizeof(task), "t%d", i);
        CHECK(good || has(line, "store_full"));
        CHECK(log_has(&log, task) == good);
        line = next_line(&s);
        CHECK(is_good(line) == good && (good || has(line, "not_found")));
        failed += !good;
    }
    CHECK(failed > 0);
    CHECK(log.len <= FULL_LEN && log.p[log.len - 1] == '\n');
    i = can(s.err, POLLIN) ? (int)read(s.err, said, sizeof(said) - 1) : 0;
    said[i > 0 ? i : 0] = '\0';
    CHECK(has(said, "tasks.log: write failed") && has(said, "writes fail"));
    CHECK(finish(&s) == 0);
    free(log.p);
    free(t.p);
    free(dir);
}

TEST(closed_descriptors)
{
    static const int how[] = {NO_STDIN, NO_STDOUT, NO_STDIN | NO_STDOUT};
    size_t i;

    for (i = 0; i < 3; i++) {
        char *dir = test_tmpdir();
        struct srv s = start(dir, NULL, how[i]);
        struct text t = {0}, log;

        add_call(&t, 1, "create_task", "a");
        say(&s, &t);
        CHECK(finish(&s) == 0);
        log = file_text(path_in(dir, "tasks.log"));
        CHECK(log_has(&log, "a") == (how[i] == NO_STDOUT));
        CHECK(strstr(log.p, "jsonrpc") == NULL);
        free(log.p);
        free(t.p);
        free(dir);
    }
}

TEST(a_client_that_is_gone)
{
    char *dir = test_tmpdir();
    struct srv s = start(dir, NULL, PLAIN);
    struct text t = {0};

    add_ping(&t, 1);
    shut(&s.out);
    CHECK(write(s.in, t.p, t.len) == (ssize_t)t.len);
    CHECK(ended(&s) == 0);
    free(t.p);
    free(dir);
}

/* A claim that waits takes nothing once its client has closed the input, even
   if the server hears of both at once. */
TEST(no_claim_after_the_end_of_input)
{
    char *dir = test_tmpdir();
    struct srv s = start(dir, NULL, PLAIN), other = start(dir, NULL, PLAIN);
    struct text t = {0};
    int status;

    addf(&t, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\","
         "\"params\":{\"name\":\"claim_task\",\"arguments\":{"
         "\"agent\":\"me\",\"wait_seconds\":50}}}\n");
    add_ping(&t, 2);
    CHECK(send_text(&s, &t) && answers(next_line(&s), 2));
    kill(s.pid, SIGSTOP);
    CHECK(waitpid(s.pid, &status, WUNTRACED) == s.pid && WIFSTOPPED(status));
    shut(&s.in);
    add_call(&t, 1, "create_task", "a");
    addf(&t, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\","
         "\"params\":{\"name\":\"wait_for_task\",\"arguments\":{"
         "\"task_id\":\"a\",\"timeout_seconds\":1}}}\n");
    CHECK(send_text(&other, &t) && answers(next_line(&other), 1));
    CHECK(answers(next_line(&other), 2)); /* its timers are due by now */
    kill(s.pid, SIGCONT);
    CHECK(ended(&s) == 0);
    add_call(&t, 3, "get_task", "a");
    CHECK(send_text(&other, &t));
    CHECK(has(next_line(&other), "\\\"status\\\":\\\"open\\\""));
    CHECK(finish(&other) == 0);
    free(t.p);
    free(dir);
}

TEST(reads_leave_no_trace)
{
    char *top = test_tmpdir(), dir[400];
    struct srv s;
    struct text t = {0};

    snprintf(dir, sizeof(dir), "%s/none", top);
    s = start(dir, NULL, PLAIN);
    add_ping(&t, 1);
    add_call(&t, 2, "get_task", "a");
    CHECK(send_text(&s, &t));
    CHECK(answers(next_line(&s), 1));
    CHECK(has(next_line(&s), "not_found"));
    CHECK(finish(&s) == 0);
    CHECK(access(dir, F_OK) != 0);
    free(t.p);
    free(top);
}

TEST(puts_the_flags_of_stdout_back)
{
    char *dir = test_tmpdir();
    int out[2], flags, status = -1;
    pid_t pid;

    make_pipe(out, false);
    flags = fcntl(out[1], F_GETFL);
    pid = fork();
    if (pid == 0)
        run_binary(dir, NULL, NO_STDIN, (int[3]){out[0], out[1], 2}, out[1]);
    waitpid(pid, &status, 0);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    CHECK(fcntl(out[1], F_GETFL) == flags);
    close(out[0]);
    close(out[1]);
    free(dir);
}

/* Two readers around a writer, while the lock is held elsewhere. */
static void
ask_around_a_writer(struct srv *s, struct srv *other, const char *task)
{
    struct text t = {0};

    add_call(&t, 2, "get_task", "a");
    add_call(&t, 3, "create_task", task);
    add_call(&t, 4, "get_task", "a");
    CHECK(send_text(s, &t));
    CHECK(is_good(next_line(s))); /* this one came before the writer */
    add_call(&t, 5, "get_task", "a");
    CHECK(send_text(other, &t) && is_good(next_line(other)));
    CHECK(s->got.len == s->taken);
    free(t.p);
}

/* Takes the write lock of the store in dir, as any process may, for as long as
   the descriptor is open. A server that checks a torn tail may hold it just
   now. */
static int
hold_lock(const char *dir)
{
    struct flock fl = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
    int fd = open(path_in(dir, "tasks.log.lock"), O_RDWR | O_CLOEXEC);

    CHECK(fd >= 0 && fcntl(fd, F_SETLKW, &fl) == 0);
    return fd;
}

TEST(a_busy_lock)
{
    char *dir = test_tmpdir();
    struct srv s = start(dir, NULL, PLAIN), other = start(dir, NULL, PLAIN);
    struct text t = {0};
    char *line;
    int fd;

    add_call(&t, 1, "create_task", "a");
    CHECK(send_text(&s, &t) && is_good(next_line(&s)));
    fd = hold_lock(dir);
    ask_around_a_writer(&s, &other, "b");
    close(fd);
    CHECK(is_good(next_line(&s)));
    CHECK(answers(next_line(&s), 4));

    fd = hold_lock(dir);
    ask_around_a_writer(&s, &other, "c");
    line = next_line(&s); /* after five seconds */
    CHECK(has(line, "\"id\":3,") && has(line, "store_busy"));
    CHECK(answers(next_line(&s), 4));
    close(fd);
    add_call(&t, 6, "create_task", "c");
    CHECK(send_text(&s, &t) && is_good(next_line(&s)));
    CHECK(finish(&s) == 0 && finish(&other) == 0);
    free(t.p);
    free(dir);
}

TEST(serves_the_whole_records_of_a_damaged_log)
{
    char *dir = test_tmpdir(), *log_path;
    struct srv s = start(dir, NULL, PLAIN);
    struct text t = {0}, log;
    FILE *f;

    add_call(&t, 1, "create_task", "a");
    add_call(&t, 2, "create_task", "b");
    CHECK(send_text(&s, &t) && is_good(next_line(&s)));
    add_call(&t, 3, "create_task", "c");
    CHECK(is_good(next_line(&s)) && send_text(&s, &t));
    CHECK(is_good(next_line(&s)) && finish(&s) == 0);

    log_path = path_in(dir, "tasks.log");
    log = file_text(log_path);
    f = fopen(log_path, "r+");
    CHECK(fseek(f, strstr(log.p, "/b\"") - log.p, SEEK_SET) == 0 &&
          fputc('?', f) == '?' && fclose(f) == 0);
    s = start(dir, NULL, PLAIN);
    add_call(&t, 1, "get_task", "a");
    add_call(&t, 2, "create_task", "d");
    CHECK(send_text(&s, &t) && is_good(next_line(&s)));
    CHECK(has(next_line(&s), "store_error"));
    CHECK(finish(&s) == 0);
    free(log.p);
    free(t.p);
    free(dir);
}

/* A record that is whole but not JSON: its task answers `damaged` in every
   form, also after a restart, until a change mends it. */
TEST(serves_beside_records_that_are_not_json)
{
    static const char *const uris[] = {"", "/resume", "/history"};
    struct record_header h = {.g = 1,
                              .id = "0123456789abcdef0123456789abcdef"};
    struct store_rec r = {.g = 1, .time = STR("2026-07-28T09:30:00.000Z")};
    char *dir = test_tmpdir(), *line;
    struct text t = {0};
    struct buf log = {0};
    FILE *f;

    record_put_header(&log, &h, 0);
    for (int i = 0; i < 3; i++) {
        r.key = i == 0 ? STR("task/good") : STR("task/bad");
        r.p = i == 2 ? 2 : 0;
        r.n = r.b = (uint64_t)i + 1;
        r.body = i < 2 ? STR("\"op\":\"create\",\"by\":\"x\",\"v\":{"
                             "\"task_id\":\"?\",\"status\":\"open\","
                             "\"version\":1,\"title\":\"T\"}")
                       : STR("\"op\":\"update\",\"by\":\"x\",\"v\":{"
                             "\"task_id\":\"bad\",\"status\":\"open\","
                             "\"version\":2,\"title\":\"cut \\u\"}");
        record_put(&log, &r);
    }
    f = fopen(path_in(dir, "tasks.log"), "w");
    CHECK(f != NULL && fwrite(log.p, 1, log.len, f) == log.len);
    fclose(f);
    for (int again = 0; again < 2; again++) {
        struct srv s = start(dir, NULL, PLAIN);

        for (int i = 0; i < 3; i++)
            addf(&t, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":"
                 "\"resources/read\",\"params\":{\"uri\":\"task://bad%s\"}}\n",
                 i, uris[i]);
        add_call(&t, 3, "get_task", "bad");
        add_call(&t, 4, "get_task", "good");
        addf(&t, "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"tools/call\","
             "\"params\":{\"name\":\"list_tasks\",\"arguments\":{}}}\n");
        CHECK(send_text(&s, &t));
        for (int i = 0; i < 3; i++)
            CHECK(has(next_line(&s), "Damaged: its newest record is not"));
        line = next_line(&s);
        CHECK(answers(line, 3) && has(line, "\\\"code\\\":\\\"damaged\\\""));
        CHECK(is_good(next_line(&s)));
        line = next_line(&s);
        CHECK(is_good(line) && has(line, "its newest record is not JSON"));
        if (again) {
            addf(&t, "{\"jsonrpc\":\"2.0\",\"id\":6,\"method\":\"tools/call\","
                 "\"params\":{\"name\":\"update_task\",\"arguments\":{"
                 "\"task_id\":\"bad\",\"goal\":\"G\"}}}\n");
            add_call(&t, 7, "get_task", "bad");
            CHECK(send_text(&s, &t));
            CHECK(has(next_line(&s), "the newest record was not JSON"));
            CHECK(is_good(next_line(&s)) && is_good(next_line(&s)));
        }
        CHECK(finish(&s) == 0);
    }
    buf_fini(&log);
    free(t.p);
    free(dir);
}

TEST(read_only_makes_nothing)
{
    char *dir = test_tmpdir();
    struct srv s = start(dir, "--read-only", PLAIN);
    struct text t = {0};

    add_call(&t, 1, "create_task", "a");
    add_call(&t, 2, "get_task", "a");
    CHECK(send_text(&s, &t));
    CHECK(has(next_line(&s), "\"error\""));
    CHECK(has(next_line(&s), "not_found"));
    CHECK(finish(&s) == 0);
    CHECK(rmdir(dir) == 0);
    free(t.p);
    free(dir);
}

/* Whether the text is one whole line, or two. */
static bool
ends_in_two_lines(const char *text)
{
    const char *last = text + strlen(text) - 1, *end = strchr(text, '\n');

    return end != NULL && (end == last || strchr(end + 1, '\n') == last);
}

TEST(refuses_unknown_options_and_files)
{
    static const struct {
        const char *option, *log, *said;
        int code;
    } cases[] = {
        {"--no-such-option", NULL, "--no-such-option", 2},
        {"no-such-command", NULL, "no-such-command", 2},
        {"--tools=some", NULL, "--tools", 2},
        {"--read-only=1", NULL, "--read-only", 2},
        {"--artifact-root", NULL, "--artifact-root", 2},
        {NULL, "SQLite format 3", "tasks.log", 3},
        {NULL, "not a log at all\n", "tasks.log", 3},
    };
    size_t i;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *dir = test_tmpdir(), said[1024] = "";
        FILE *f = cases[i].log ? fopen(path_in(dir, "tasks.log"), "w") : NULL;
        struct srv s;

        if (f != NULL) /* with the NUL, which SQLite's header has, too */
            CHECK(fwrite(cases[i].log, strlen(cases[i].log) + 1, 1, f) == 1 &&
                  fclose(f) == 0);
        s = start(dir, cases[i].option, PLAIN);
        CHECK(can(s.life, POLLIN) && can(s.err, POLLIN));
        CHECK(read(s.err, said, sizeof(said) - 1) > 0);
        CHECK(has(said, cases[i].said));
        CHECK(ends_in_two_lines(said)); /* the error, and the next step */
        CHECK(!hear(&s));
        CHECK(ended(&s) == cases[i].code);
        free(dir);
    }
}

int
main(int argc, char **argv)
{
    char *dir = test_tmpdir();
    struct text t = {0};
    struct srv orphan;

    binary = argc > 1 ? argv[1] : getenv("MCPTASK");
    if (binary == NULL) {
        fprintf(stderr, "usage: t_server MCPTASK\n");
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    /* We hold its pipes, but its parent is gone. It checks for that every few
       seconds, while the other tests run. */
    make_pipe(gate, false);
    orphan = start(dir, NULL, ORPHAN);
    add_ping(&t, 1);
    CHECK(send_text(&orphan, &t) && answers(next_line(&orphan), 1));
    close(gate[1]);
    test_answers_a_burst_in_order(PLAIN);
    test_answers_a_burst_in_order(SOCKET);
    test_run();
    test_an_answer_that_cannot_be_kept(125, true);
    test_an_answer_that_cannot_be_kept(65500, false);
    CHECK(can(orphan.life, POLLIN));
    CHECK(finish(&orphan) == 0);
    free(t.p);
    free(dir);
    return test_end("server");
}
