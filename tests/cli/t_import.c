/* What an import of tasks that depend on each other takes, and how long it
   keeps the lock. */

#include "cli/cli.h"
#include "store.h"
#include "base/clock.h"
#include "tests/lib/test.h"

static int64_t look_ms;  /* by which a look at the clock advances it */
static int64_t ahead_ms; /* of the real time */
static size_t n_commits, most; /* commits, and the most records of one */
static size_t n_looks; /* looks into the index, and records read */

int __real_clock_gettime(clockid_t id, struct timespec *t);
int __wrap_clock_gettime(clockid_t id, struct timespec *t);
int __real_store_commit(struct store *s, bool *unknown);
int __wrap_store_commit(struct store *s, bool *unknown);
struct store_entry *__real_store_find(struct store *s, struct str key);
struct store_entry *__wrap_store_find(struct store *s, struct str key);
int __real_store_read(struct store *s, struct store_entry *e,
                      struct arena *a, struct store_rec *out);
int __wrap_store_read(struct store *s, struct store_entry *e,
                      struct arena *a, struct store_rec *out);

int
__wrap_clock_gettime(clockid_t id, struct timespec *t)
{
    int rc = __real_clock_gettime(id, t);

    ahead_ms += look_ms;
    t->tv_sec += ahead_ms / 1000;
    t->tv_nsec += ahead_ms % 1000 * 1000000;
    t->tv_sec += t->tv_nsec / 1000000000;
    t->tv_nsec %= 1000000000;
    return rc;
}

int
__wrap_store_commit(struct store *s, bool *unknown)
{
    size_t n = store_staged_n(s);

    n_commits++;
    most = n > most ? n : most;
    return __real_store_commit(s, unknown);
}

struct store_entry *
__wrap_store_find(struct store *s, struct str key)
{
    n_looks++;
    return __real_store_find(s, key);
}

int
__wrap_store_read(struct store *s, struct store_entry *e,
                  struct arena *a, struct store_rec *out)
{
    n_looks++;
    return __real_store_read(s, e, a, out);
}

/* Runs the command into a store of its own; returns its exit code. */
static int
import(struct str text)
{
    char *dir = test_tmpdir(), path[300], log[300];
    char *argv[] = {(char[]){"import"}, path, NULL};
    struct cli_env env = {.log_path = log, .artifacts_dir = dir};
    FILE *f;
    int rc;

    snprintf(path, sizeof path, "%s/in", dir);
    snprintf(log, sizeof log, "%s/tasks.log", dir);
    f = fopen(path, "w");
    CHECK(f != NULL && fwrite(text.p, text.len, 1, f) == 1 && fclose(f) == 0);
    n_commits = most = n_looks = 0;
    rc = cli_main(&env, argv);
    free(dir);
    return rc;
}

/* Tasks that depend on the 20 before each, in several orders. Afterwards the
   first is made to depend on the last, which is then on a circle. */
static void
test_any_order_will_do(void)
{
    enum { N = 601, DEPS = 20 }; /* N is prime */
    static const int steps[] = {1, N - 1, 7, 210};

    for (size_t i = 0; i < 2 * sizeof steps / sizeof *steps; i++) {
        bool circle = i % 2 == 1;
        struct buf b = {0};

        for (int k = 0; k < N; k++) {
            int n = (k + 1) * steps[i / 2] % N;
            const char *before = "";

            buf_printf(&b, "{\"task_id\":\"t%d\",\"title\":\"t\","
                       "\"depends_on\":[", n);
            for (int to = n - DEPS; to < n; to++) {
                int dep = circle && to == -1 && n == 0 ? N - 1 : to;

                if (dep < 0)
                    continue;
                buf_printf(&b, "%s\"t%d\"", before, dep);
                before = ",";
            }
            buf_z(&b, "]}\n");
        }
        CHECK(import(buf_view(&b)) == 0);
        if (!CHECK(n_looks < 5 * N * DEPS * (circle ? 2 : 1)))
            fprintf(stderr, "    step %d: %zu\n", steps[i / 2], n_looks);
        buf_fini(&b);
    }
}

/* Where each task takes a millisecond, a commit comes after ten of them; and
   one that takes longer than a turn is committed alone. */
static void
test_turns_are_short(void)
{
    static const struct {
        int64_t look_ms;
        size_t most;
    } turns[] = {{0, 300}, {1, 10}, {50, 1}};
    struct buf b = {0};

    for (int i = 0; i < 300; i++)
        buf_printf(&b, "{\"task_id\":\"t%d\",\"title\":\"t\"}\n", i);
    for (size_t i = 0; i < sizeof turns / sizeof *turns; i++) {
        look_ms = turns[i].look_ms;
        CHECK(import(buf_view(&b)) == 0);
        look_ms = 0;
        CHECK(most <= turns[i].most && n_commits >= 300 / turns[i].most);
    }
    buf_fini(&b);
}

int
main(void)
{
    test_any_order_will_do();
    test_turns_are_short();
    return test_end("import");
}
