/* The whole program without memory: from the n-th allocation on every one
   fails, for each n until a run has enough. Each run is a child. It answers
   with an error, closes the connection, or ends; what it has acknowledged is in
   the log; and it never turns in circles, of which a bound on the turns of its
   loop makes sure. */

#define main mcptask_main
#include "mcptask.c"
#undef main

#include "tests/lib/memory.h"
#include "tests/lib/web.h"

#include <sys/select.h>

#define MAX_TURNS 300 /* a run that meets no failure takes some 30 */
#define CIRCLES 97     /* exit code */
#define MAX_CPU_S 60   /* for loops that call neither pselect nor poll */

static struct {
    bool hit;       /* an allocation failed */
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

static void
count_turn(void)
{
    if (nomem_after != LONG_MAX && ++run->turns > MAX_TURNS)
        _exit(CIRCLES);
}

int
__wrap_pselect(int n, fd_set *rd, fd_set *wr, fd_set *ex,
               const struct timespec *t, const sigset_t *mask)
{
    count_turn();
    return __real_pselect(n, rd, wr, ex, t, mask);
}

int
__wrap_poll(struct pollfd *p, nfds_t n, int ms)
{
    count_turn();
    return __real_poll(p, n, ms);
}

static int
run_program(int argc, char **argv)
{
    int code;

    setrlimit(RLIMIT_CPU, &(struct rlimit){MAX_CPU_S, MAX_CPU_S});
    nomem_start(n_good, false);
    code = mcptask_main(argc, argv);
    run->hit = nomem_stop();
    return code;
}

/* ---- the parent ---- */

static struct srv
begin(const char *dir, const char *options)
{
    run->hit = true; /* one that is killed does not say */
    run->turns = 0;
    return start(dir, options, PLAIN);
}

/* Whether each number of a record in text is in the log of dir. */
static bool
are_logged(const char *dir, const char *text)
{
    static const char name[] = "\\\"seq\\\":";
    char path[400], want[32], *log = NULL;
    size_t len = 0;
    FILE *f;
    bool all = true;

    snprintf(path, sizeof(path), "%s/tasks.log", dir);
    f = fopen(path, "r");
    if (f != NULL && getdelim(&log, &len, '\0', f) < 0)
        log[0] = '\0';
    if (f != NULL)
        fclose(f);
    while (all && (text = strstr(text, name)) != NULL) {
        text += sizeof(name) - 1;
        snprintf(want, sizeof(want), ",\"n\":%ld,", atol(text));
        all = log != NULL && has(log, want);
    }
    free(log);
    return all;
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
    if (!CHECK(code == 0 || (run->hit && code > 0 && code <= CLI_CONFLICT)))
        fprintf(stderr, "%s without allocation %ld: exit code %d, %u turns: "
                "%s\n", what, n_good, code, run->turns, err.p);
    if (code != CIRCLES && run->turns > most_turns)
        most_turns = run->turns;
    free(err.p);
    return code;
}

/* ---- standard input and output ---- */

#define CALL_TOOL(id, tool, args) \
    RPC(id, "tools/call", "{\"name\":\"" tool "\",\"arguments\":{" args "}}") \
    "\n"

static void
add_lines(struct text *t)
{
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
    addf(t, "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\","
         "\"params\":{\"name\":\"attach_artifact\",\"arguments\":{"
         "\"task_id\":\"a\",\"name\":\"n\",\"content\":\"");
    for (int i = 0; i < 200; i++)
        addf(t, "%01000d", i);
    addf(t, "\"}}}\n");
    addf(t, "%s\n", RPC(8, "resources/read", "{\"uri\":\"task://a/resume\"}"));
    addf(t, "%s", CALL_TOOL(9, "update_task", "\"task_id\":\"a\","
                            "\"status\":\"done\""));
    addf(t, "{\"jsonrpc\":\"2.0\",\"id\":10,\"method\":\"tools/list\"}\n"
         "no message\n");
    addf(t, "%s", CALL_TOOL(11, "list_tasks", "\"query\":\"x\""));
}
#define LAST_ID 11
#define WITH_ID "{\"jsonrpc\":\"2.0\",\"id\":"

/* Whether text has an answer to request id. */
static bool
has_answer(const char *text, int id)
{
    char want[32];

    snprintf(want, sizeof(want), "\"id\":%d,", id);
    return strstr(text, want) != NULL;
}

/* Sends all lines at once, or each once the one before is answered. A server
   that ends well has answered all of them. */
static void
run_lines(const struct text *lines, bool at_once)
{
    char *dir = test_tmpdir();
    struct srv s = begin(dir, "");
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
    CHECK(are_logged(dir, s.got.p));
    for (id = 1; id <= LAST_ID && has_answer(s.got.p, id); id++)
        ;
    CHECK(end_run(&s, "lines") != 0 || id > LAST_ID);
    free(dir);
}

static void
test_lines(bool at_once)
{
    struct text lines = {0};

    add_lines(&lines);
    for (n_good = 0, run->hit = true; run->hit; n_good += TEST_STEP)
        run_lines(&lines, at_once);
    free(lines.p);
}

int
main(int argc, char **argv)
{
    int fd = open("/dev/zero", O_RDWR | O_CLOEXEC);

    (void)argc;
    signal(SIGPIPE, SIG_IGN);
    test_in_memory();
    run = mmap(NULL, sizeof(*run), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd < 0 || run == MAP_FAILED)
        abort();
    binary = argv[0];
    instead = run_program;
    test_lines(true);
    test_lines(false);
    printf("t_nomem: at most %u turns\n", most_turns);
    return test_end("t_nomem");
}
