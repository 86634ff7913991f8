/* The whole program without memory: from the n-th allocation on every one
   fails, for each n until a run has enough. Each run is a child. It answers
   with an error, closes the connection, or ends; what it has acknowledged is in
   the log; and it never turns in circles, of which a bound on the turns of its
   loop makes sure. */

#define main mcptask_main
#include "mcptask.c"
#undef main

#include "tests/lib/faults.h"
#include "tests/lib/gateway.h"
#include "tests/lib/web.h"

#include <sys/mman.h>
#include <sys/select.h>

#define MAX_TURNS 300 /* a run that meets no failure takes some 30 */
#define CIRCLES 97    /* exit code */
#define MAX_CPU_S 60  /* for loops that call neither pselect nor poll */

static struct {
    bool hit;       /* an allocation failed, perhaps in a child of its own */
    unsigned turns;
} *run; /* shared with the child */

static long n_good; /* allocations that succeed */
static unsigned most_turns;

/* ---- the child ---- */

int __real_pselect(int n, fd_set *rd, fd_set *wr, fd_set *ex,
                   const struct timespec *t, const sigset_t *mask);
int __wrap_pselect(int n, fd_set *rd, fd_set *wr, fd_set *ex,
                   const struct timespec *t, const sigset_t *mask);
int __real_poll(struct pollfd *p, nfds_t n, int ms);
int __wrap_poll(struct pollfd *p, nfds_t n, int ms);

/* Counts a turn, unless all that it did was to wait. */
static void
count_turn(bool waited)
{
    if (nomem_after != LONG_MAX && !waited && ++run->turns > MAX_TURNS)
        _exit(CIRCLES);
}

int
__wrap_pselect(int n, fd_set *rd, fd_set *wr, fd_set *ex,
               const struct timespec *t, const sigset_t *mask)
{
    bool waits = t == NULL || t->tv_sec > 0 || t->tv_nsec >= 10000000;
    int ready = __real_pselect(n, rd, wr, ex, t, mask);

    count_turn(waits && ready == 0);
    return ready;
}

int
__wrap_poll(struct pollfd *p, nfds_t n, int ms)
{
    int ready = __real_poll(p, n, ms);

    count_turn(ms >= 10 && ready == 0);
    return ready;
}

static int
run_program(int argc, char **argv)
{
    int code;

    setrlimit(RLIMIT_CPU, &(struct rlimit){MAX_CPU_S, MAX_CPU_S});
    nomem_start(n_good, false);
    code = mcptask_main(argc, argv);
    nomem_stop();
    return code;
}

static const char *product; /* the real program */

/* n_good is the KiB that it may have. */
static int
run_product(int argc, char **argv)
{
    rlim_t len = (rlim_t)n_good * 1024;

    (void)argc;
    run->hit = true;
    setrlimit(RLIMIT_CPU, &(struct rlimit){MAX_CPU_S, MAX_CPU_S});
    setrlimit(RLIMIT_DATA, &(struct rlimit){len, len});
    execv(product, argv);
    return 99;
}

/* ---- the parent ---- */

static struct srv
begin(const char *dir, const char *options)
{
    run->hit = false;
    run->turns = 0;
    return start(dir, options, PLAIN);
}

/* Checks how the run ended: well, or with an error if memory ran out. Returns
   its exit code. */
static int
end_run(struct srv *s, const char *what)
{
    struct text err = {0};
    char chunk[1024];
    ssize_t n;
    int code;

    add(&err, "", 0);
    while (can(s->err, POLLIN) && (n = read(s->err, chunk, sizeof(chunk))) > 0)
        add(&err, chunk, (size_t)n);
    code = ended(s);
    if (!CHECK((code == 0 || (run->hit && code > 0 && code <= CLI_CONFLICT)) &&
               strstr(err.p, "mcptask: \n") == NULL))
        fprintf(stderr, "%s without allocation %ld: exit code %d, %u turns: "
                "%s\n", what, n_good, code, run->turns, err.p);
    if (code != CIRCLES && run->turns > most_turns)
        most_turns = run->turns;
    free(err.p);
    return code;
}

/* The log of dir; the caller frees it. */
static struct text
log_of(const char *dir)
{
    char path[400];

    snprintf(path, sizeof(path), "%s/tasks.log", dir);
    return file_text(path);
}

/* Whether each number of a record in text is in the log of dir. */
static bool
are_logged(const char *dir, const char *text)
{
    static const char name[] = "\\\"seq\\\":";
    struct text log = log_of(dir);
    char want[32];
    bool all = true;

    while (all && (text = strstr(text, name)) != NULL) {
        text += sizeof(name) - 1;
        snprintf(want, sizeof(want), ",\"n\":%ld,", atol(text));
        all = has(log.p, want);
    }
    free(log.p);
    return all;
}

/* ---- standard input and output ---- */

#define CALL_TOOL(id, tool, args) \
    RPC(id, "tools/call", "{\"name\":\"" tool "\",\"arguments\":{" args "}}") \
    "\n"

/* A request to attach 200 KB. */
static struct text
large_request(void)
{
    struct text t = {0};

    addf(&t, "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\","
         "\"params\":{\"name\":\"attach_artifact\",\"arguments\":{"
         "\"task_id\":\"a\",\"name\":\"n\",\"content\":\"");
    for (int i = 0; i < 200; i++)
        addf(&t, "%01000d", i);
    addf(&t, "\"}}}");
    return t;
}

static void
add_lines(struct text *t)
{
    struct text large;

    addf(t, "%s\n%s\n", HELLO, INITIALIZED);
    addf(t, "%s", CALL_TOOL(2, "create_task", "\"task_id\":\"a\","
                            "\"title\":\"x\""));
    addf(t, "%s\n", RPC(3, "resources/subscribe", "{\"uri\":\"task://a\"}"));
    addf(t, "%s", CALL_TOOL(4, "update_task", "\"task_id\":\"a\","
                            "\"priority\":1"));
    addf(t, "%s", CALL_TOOL(5, "wait_for_task", "\"task_id\":\"a\",\"until\":"
                            "\"failed\",\"timeout_seconds\":0"));
    addf(t, "%s\n", RPC(6, "tools/call", "{\"name\":\"wait_for_task\","
                        "\"arguments\":{\"task_id\":\"a\",\"until\":\"done\","
                        "\"timeout_seconds\":9},\"task\":{\"ttl\":60000}}"));
    large = large_request();
    add(t, large.p, large.len);
    add(t, "\n", 1);
    free(large.p);
    addf(t, "%s\n", RPC(8, "resources/read", "{\"uri\":\"task://a/resume\"}"));
    addf(t, "%s", CALL_TOOL(9, "update_task", "\"task_id\":\"a\","
                            "\"status\":\"done\""));
    addf(t, "{\"jsonrpc\":\"2.0\",\"id\":10,\"method\":\"tools/list\"}\n"
         "no message\n");
    addf(t, "%s", CALL_TOOL(11, "list_tasks", "\"query\":\"x\""));
}
#define LAST_ID 11
#define WITH_ID "{\"jsonrpc\":\"2.0\",\"id\":"

/* Whether text has an answer to request id. Where an arena has no room left,
   an answer may lack even its id. */
static bool
has_answer(const char *text, int id)
{
    char want[32];

    snprintf(want, sizeof(want), "\"id\":%d,", id);
#ifdef ARENA_ALLOCATIONS
    if (strstr(text, "\"2.0\",\"error\":") != NULL)
        return true;
#endif
    return strstr(text, want) != NULL;
}

/* Sends all lines at once, or each once the one before is answered. A server
   that ends well has answered all of them; last is the last id. */
static void
run_lines(const char *options, const struct text *lines, bool at_once,
          int last)
{
    char *dir = test_tmpdir();
    struct srv s = begin(dir, options);
    const char *line = lines->p, *end;
    int id;

    if (at_once)
        say(&s, lines);
    for (; !at_once && (end = strchr(line, '\n')) != NULL; line = end + 1) {
        say(&s, &(struct text){(char *)(uintptr_t)line,
                               (size_t)(end + 1 - line), 0});
        id = strncmp(line, WITH_ID, strlen(WITH_ID)) == 0
                 ? atoi(line + strlen(WITH_ID)) : 0;
        while (id != 0 && (s.got.p == NULL || !has_answer(s.got.p, id)) &&
               hear(&s))
            ;
    }
    shut(&s.in);
    while (hear(&s))
        ;
    add(&s.got, "", 0);
    /* What etcd has committed may not be written here. */
    CHECK(options[0] != '\0' || are_logged(dir, s.got.p));
    for (id = 1; id <= last && has_answer(s.got.p, id); id++)
        ;
    CHECK(end_run(&s, "lines") != 0 || id > last);
    free(dir);
}

static void
test_lines(bool at_once)
{
    struct text lines = {0};

    add_lines(&lines);
    for (n_good = 0, run->hit = true; run->hit; n_good += TEST_STEP)
        run_lines("", &lines, at_once, LAST_ID);
    free(lines.p);
}

/* The store is in etcd, unless the program was built without. Whatever memory
   the client of that lacks, it gives up once its patience is over. */
TEST(shared_lines)
{
#ifndef NO_ETCD
    struct gateway *g = gateway_new(NULL);
    struct text lines = {0};
    char options[96];
    pid_t pid = fork();

    if (pid == 0)
        gateway_serve(g);
    add_lines(&lines);
    for (n_good = 0, run->hit = true; run->hit; n_good += TEST_STEP) {
        snprintf(options, sizeof(options), "--store etcd://%s/%ld?patience=100",
                 g->endpoint, n_good);
        run_lines(options, &lines, false, LAST_ID);
    }
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    gateway_free(g);
    free(lines.p);
#endif
}

static long least; /* KiB that the C library needs to start a program */

static void
find_least(void)
{
    char *dir = test_tmpdir();
    struct srv s;
    int code = -1;

    for (n_good = 64; code != 0 && CHECK(n_good < 4096); n_good += 32) {
        s = begin(dir, "--version");
        code = ended(&s);
    }
    least = n_good + 32;
    free(dir);
}

/* Adds a message of 4 MiB, for which the memory that runs out is that of its
   line. */
static void
test_limited_lines(void)
{
    struct text lines = {0};

    add_lines(&lines);
    addf(&lines, WITH_ID "12,\"method\":\"ping\",\"params\":{\"a\":\"");
    for (int i = 0; i < 4 * 1024; i++)
        addf(&lines, "%01000d", i);
    addf(&lines, "\"}}\n");
    for (n_good = least; n_good < 16 * 1024; n_good += n_good / 4)
        run_lines("", &lines, true, LAST_ID + 1);
    free(lines.p);
}

/* ---- HTTP ---- */

/* Whether the server has closed the connection. */
static bool
is_closed(const struct client *c)
{
    char byte;

    return c->fd < 0 || (can(c->fd, POLLIN) && recv(c->fd, &byte, 1, 0) <= 0);
}

static bool
has_status(const struct client *c, const char *status)
{
    return strstr(c->head, status) == c->head + strlen("HTTP/1.1");
}

/* Sends a request on a connection of its own, which gets a whole reply or is
   closed. A reply of 200 contains what. The caller hangs up. */
static struct client
request(const char *address, const char *method, const char *path,
        const char *fields, const char *body, const char *what)
{
    struct client c = dial(address);
    bool streams = strcmp(method, "GET") == 0 && fields[0] != '\0';
    int status;

    ask(&c, method, path, fields, body);
    status = streams ? status_of(&c) : reply_of(&c);
    if (!CHECK(status == 0 ? is_closed(&c)
                           : streams || c.ended || is_closed(&c)))
        fprintf(stderr, "%s %s without allocation %ld: %d %s\n", method, path,
                n_good, status, c.body.p);
    if (status == 200 && !streams && c.ended)
        CHECK(has(c.body.p, what));
    return c;
}

/* The same with POST /mcp; an answer is a result or an error. What it
   acknowledges is added to said. */
static void
post(const char *address, const char *fields, const char *body,
     struct text *said)
{
    struct client c = request(address, "POST", "/mcp", fields, body,
                              "\"jsonrpc\":\"2.0\"");

    add(said, c.body.p, c.body.len);
    hang_up(&c);
}

static void
get(const char *address, const char *path, const char *what)
{
    struct client c = request(address, "GET", path, "", NULL, what);

    hang_up(&c);
}

/* The stream has an answer, or is closed. */
static void
hear_answer(struct client *c)
{
    char *data = NULL;

    do {
        free(data);
        data = next_event(c);
    } while (data != NULL && strstr(data, "\"id\":2") == NULL);
    CHECK(data != NULL || c->ended || is_closed(c));
    free(data);
}

/* Posts a message for a stream of the SSE transport, which the caller ends. */
static struct client
run_sse(const char *address)
{
    struct client stream = request(address, "GET", "/sse", STREAM, NULL, ""),
                  c;
    char *to = NULL;

    if (has_status(&stream, " 200 ")) {
        to = next_event(&stream);
        CHECK(to != NULL || is_closed(&stream));
    }
    if (to != NULL) {
        c = request(address, "POST", to, TYPES, PING, "Accepted");
        if (has_status(&c, " 202 "))
            hear_answer(&stream);
        hang_up(&c);
    }
    free(to);
    return stream;
}

/* Ends the server while both of its streams are open: it notices only after a
   while that a client has left one. */
static void
run_requests(const struct srv *s, const char *address, const char *large,
             struct text *said)
{
    struct client c = request(address, "POST", "/mcp", TYPES, HELLO,
                              "\"jsonrpc\":\"2.0\""), stream, sse;
    const char *id = field_of(&c, "mcp-session-id");
    char fields[1024];

    snprintf(fields, sizeof(fields), "%sMcp-Session-Id: %.256s\r\n"
             "MCP-Protocol-Version: 2025-11-25\r\n", TYPES,
             id != NULL ? id : "none");
    hang_up(&c);
    post(address, fields, SUBSCRIBE("a"), said);
    stream = request(address, "GET", "/mcp", fields, NULL, "");
    post(address, fields, CREATE("a"), said);
    post(address, fields, UPDATE("a", "1"), said);
    post(address, STREAM "Content-Type: application/json\r\n", UPDATE("a", "2"),
         said);
    post(address, fields,
         RPC(6, "tools/call", "{\"name\":\"wait_for_task\",\"arguments\":{"
             "\"task_id\":\"a\",\"until\":\"done\",\"timeout_seconds\":9},"
             "\"task\":{\"ttl\":60000}}"), said);
    post(address, TYPES, large, said);
    get(address, "/", "<");
    get(address, "/metrics", "mcptask_");
    get(address, "/ready", "writable");
    sse = run_sse(address);
    kill(s->pid, SIGTERM);
    can(s->life, POLLIN);
    hang_up(&stream);
    hang_up(&sse);
}

static void
run_server(const char *large)
{
    char *dir = test_tmpdir(), address[64];
    struct srv s = begin(dir, "--http --port 0");
    const char *line = err_line(&s); /* the address or an error */
    struct text said = {0};

    add(&said, "", 0);
    CHECK(has(line, "mcptask: ") && strlen(line) > strlen("mcptask: "));
    if (sscanf(line, "mcptask: http://%63s", address) == 1)
        run_requests(&s, address, large, &said);
    end_run(&s, "requests");
    CHECK(are_logged(dir, said.p));
    free(said.p);
    free(dir);
}

TEST(requests)
{
    struct text large = large_request();

    for (n_good = 0, run->hit = true; run->hit; n_good += TEST_STEP)
        run_server(large.p);
    free(large.p);
}

static void
test_limited_requests(void)
{
    struct text large = large_request();

    for (n_good = least; n_good < 4 * 1024; n_good += n_good / 4)
        run_server(large.p);
    free(large.p);
}

/* ---- commands ---- */

#define TASKS "{\"task_id\":\"a\",\"title\":\"A\",\"tags\":[\"x\"]}\n" \
    "{\"task_id\":\"b\",\"title\":\"B\",\"status\":\"done\"}\n"
#define MORE_TASKS "{\"task_id\":\"c\",\"title\":\"C\"}\n"

static void
put_file(const char *dir, const char *name, const char *text, size_t len)
{
    char path[400];
    FILE *f;

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    f = fopen(path, "w");
    if (f == NULL || fwrite(text, 1, len, f) != len || fclose(f) != 0)
        abort();
}

/* A directory with two files of tasks, and a log. */
static char *
dir_with(const struct text *log)
{
    char *dir = test_tmpdir();

    put_file(dir, "tasks.jsonl", TASKS, strlen(TASKS));
    put_file(dir, "more.jsonl", MORE_TASKS, strlen(MORE_TASKS));
    if (log != NULL)
        put_file(dir, "tasks.log", log->p, log->len);
    return dir;
}

/* Runs a command in dir, which is its working directory. */
static int
run_command(const char *dir, const char *words)
{
    struct srv s;

    if (chdir(dir) != 0)
        abort();
    s = begin(dir, words);
    shut(&s.in);
    while (hear(&s))
        ;
    return end_run(&s, words);
}

/* Whatever memory it lacks, a command ends; it does not say that it has changed
   something unless it has. Left out are run, which waits a day for the store to
   take its result, and doctor, which starts this program. */
TEST(commands)
{
    static const struct {
        bool writes;
        const char *words;
    } of[] = {
        {false, "list --all"}, {false, "list --query a --json"},
        {false, "show a"}, {false, "show a --json"}, {false, "history a"},
        {false, "tail"}, {false, "board"}, {true, "add --id n -t x New task"},
        {true, "edit a --title Other"}, {true, "done a Result"},
        {true, "cancel a"}, {true, "reopen b Again"},
        {true, "ask --agent me a Why"}, {true, "message a Text"},
        {true, "attach a more.jsonl"}, {true, "claim --agent me"},
        {true, "checkpoint a --agent me --notes x"},
        {true, "handoff a --agent me --to you"},
        {false, "wait b --until done"},
        {false, "export"}, {false, "export --format md"},
        {true, "import more.jsonl"}, {false, "verify"}, {false, "compact"},
        {false, "archive --done-before 2020-01-01"}, {false, "backup copy"},
        {false, "health"},
        {false, "config claude-code"}, {false, "completion bash"},
        {false, "help add"}, {false, "--help"},
    };
    struct text log, now;
    char *dir = dir_with(NULL), here[400];

    if (getcwd(here, sizeof(here)) == NULL)
        abort();
    setenv("HOME", dir, 1);
    n_good = LONG_MAX;
    CHECK(run_command(dir, "import tasks.jsonl") == 0);
    log = log_of(dir);
    for (size_t i = 0; i < sizeof(of) / sizeof(*of); i++)
        for (n_good = 0, run->hit = true; run->hit; n_good += TEST_STEP) {
            free(dir);
            dir = dir_with(&log);
            if (run_command(dir, of[i].words) != 0 || !of[i].writes)
                continue;
            now = log_of(dir);
            CHECK(now.len > log.len);
            free(now.p);
        }
    if (chdir(here) != 0)
        abort();
    free(log.p);
    free(dir);
}

int
main(int argc, char **argv)
{
    int fd = open("/dev/zero", O_RDWR | O_CLOEXEC);

    signal(SIGPIPE, SIG_IGN);
    test_in_memory();
    run = mmap(NULL, sizeof(*run), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd < 0 || run == MAP_FAILED)
        abort();
    binary = argv[0];
    instead = run_program;
    nomem_told = &run->hit;
    test_lines(true);
    test_lines(false);
    test_run();
    product = argc > 1 ? argv[1] : getenv("MCPTASK");
    if (!SANITIZED && product != NULL) {
        instead = run_product;
        find_least();
        test_limited_lines();
        test_limited_requests();
    }
    printf("t_nomem: at most %u turns\n", most_turns);
    return test_end("t_nomem");
}
