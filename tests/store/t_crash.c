/* t_crash - servers that are killed while they write, and two that claim the
   same task. usage: t_crash MCPTASK [ROUNDS]

   Whatever a server wrote before it died counts as acknowledged, even if
   unread: it is still in the pipe. */

#include "tests/lib/server.h"

#include <stdint.h>

/* ---- two claims of one task ---- */

TEST(two_create_one_id)
{
    char *dir = test_tmpdir(), id[32];
    struct srv a = start(dir, NULL, PLAIN), b = start(dir, NULL, PLAIN);
    int k;

    for (k = 0; k < 100; k++) {
        struct text ta = {0}, tb = {0};
        bool won_a, won_b;

        snprintf(id, sizeof id, "one-%d", k);
        addf(&ta, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\","
                  "\"params\":{\"name\":\"create_task\",\"arguments\":"
                  "{\"task_id\":\"%s\",\"title\":\"of a\"}}}\n", id);
        add(&tb, ta.p, ta.len);
        memcpy(strstr(tb.p, "of a"), "of b", 4);
        CHECK(send_text(&a, &ta) && send_text(&b, &tb));
        won_a = is_good(next_line(&a));
        won_b = is_good(next_line(&b));
        CHECK(won_a != won_b);
        add_call(&ta, 2, "get_task", id);
        add_call(&tb, 2, "get_task", id);
        CHECK(send_text(&a, &ta) && send_text(&b, &tb));
        CHECK(has(next_line(&a), won_a ? "of a" : "of b"));
        CHECK(has(next_line(&b), won_a ? "of a" : "of b"));
        free(ta.p);
        free(tb.p);
    }
    CHECK(finish(&a) == 0 && finish(&b) == 0);
    free(dir);
}

/* ---- killed while they write ---- */

#define WRITERS 4
#define BURST 64 /* requests in flight to each */
#define PER_STORE 10 /* rounds */

static uint32_t seed = 2463534242u;

static uint32_t
some(uint32_t below)
{
    seed ^= seed << 13;
    seed ^= seed >> 17;
    seed ^= seed << 5;
    return seed % below;
}

static void
name_task(char out[32], int round, int writer, int k)
{
    snprintf(out, 32, "r%u.w%u.%u", (unsigned)round % 100000,
             (unsigned)writer % 10, (unsigned)k % 1000);
}

/* The newest successful answer in t; answers come in order. */
static int
acknowledged(struct text *t, bool *refused)
{
    int n = 0;
    char *line = t->p, *lf;

    for (; line != NULL && (lf = strchr(line, '\n')) != NULL; line = lf + 1) {
        *lf = '\0';
        *refused = *refused || !is_good(line);
        n++;
    }
    return n;
}

/* Four servers create tasks and die. acked[w] is the number of tasks that
   server w acknowledged. */
static void
kill_writers(const char *dir, int round, int acked[WRITERS])
{
    struct srv s[WRITERS];
    bool refused = false;
    int w, k;

    for (w = 0; w < WRITERS; w++) {
        struct text t = {0};
        char id[32];

        s[w] = start(dir, NULL, PLAIN);
        for (k = 0; k < BURST; k++) {
            name_task(id, round, w, k);
            add_call(&t, k, "create_task", id);
        }
        CHECK(send_text(&s[w], &t));
        free(t.p);
    }
    for (w = 0; w < WRITERS; w++) {
        size_t until = some(BURST);

        while (count_lines(&s[w].got, 0) < until && hear(&s[w]))
            continue;
        kill(s[w].pid, SIGKILL);
    }
    for (w = 0; w < WRITERS; w++) {
        while (hear(&s[w]))
            continue;
        acked[w] = acknowledged(&s[w].got, &refused);
        CHECK(ended(&s[w]) == -1);
    }
    CHECK(!refused);
}

/* Checks that every acknowledged task is there, and no task is incomplete. */
static void
look_for(struct srv *s, int round, const int acked[WRITERS])
{
    struct text t = {0};
    char id[32], want[64];
    int w, k;

    for (w = 0; w < WRITERS; w++)
        for (k = 0; k < BURST; k++) {
            name_task(id, round, w, k);
            add_call(&t, k, "get_task", id);
        }
    CHECK(send_text(s, &t));
    for (w = 0; w < WRITERS; w++)
        for (k = 0; k < BURST; k++) {
            char *line = next_line(s);

            name_task(id, round, w, k);
            snprintf(want, sizeof want, "\\\"task_id\\\":\\\"%s\\\"", id);
            if (k < acked[w] || is_good(line))
                CHECK(is_good(line) && has(line, want) &&
                      has(line, "\\\"title\\\":\\\"x\\\""));
            else
                CHECK(has(line, "not_found"));
        }
    free(t.p);
}

static int
run_command(const char *dir, const char *command)
{
    pid_t pid = fork();
    int status;

    if (pid == 0) {
        setenv("MCP_TASK_BASE_DIR", dir, 1);
        close(1);
        execl(binary, binary, command, (char *)NULL);
        _exit(99);
    }
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Each server starts by reading the store, so a store lasts few rounds. */
static void
test_nothing_promised_is_lost(int rounds)
{
    char *dir = NULL;
    int acked[WRITERS];
    int round;

    for (round = 0; round < rounds; round++) {
        struct srv s;

        if (dir == NULL)
            dir = test_tmpdir();
        kill_writers(dir, round, acked);
        s = start(dir, NULL, PLAIN);
        look_for(&s, round, acked);
        CHECK(finish(&s) == 0);
        if (round % PER_STORE != PER_STORE - 1 && round + 1 < rounds)
            continue;
        CHECK(run_command(dir, "verify") == 0);
        free(dir);
        dir = NULL;
    }
}

int
main(int argc, char **argv)
{
    int rounds = argc > 2 ? atoi(argv[2]) : 100;

    if (argc < 2) {
        fprintf(stderr, "usage: t_crash MCPTASK [ROUNDS]\n");
        return 2;
    }
    binary = argv[1];
    signal(SIGPIPE, SIG_IGN);
    test_run();
    test_nothing_promised_is_lost(rounds);
    return test_end("t_crash");
}
