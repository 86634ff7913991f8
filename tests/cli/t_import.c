/* How long an import keeps the lock. */

#include "cli/cli.h"
#include "store.h"
#include "base/clock.h"
#include "tests/lib/test.h"

static int64_t look_ms;  /* by which a look at the clock advances it */
static int64_t ahead_ms; /* of the real time */
static size_t n_commits, most; /* commits, and the most records of one */

int __real_clock_gettime(clockid_t id, struct timespec *t);
int __wrap_clock_gettime(clockid_t id, struct timespec *t);
int __real_store_commit(struct store *s, bool *unknown);
int __wrap_store_commit(struct store *s, bool *unknown);

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
    n_commits = most = 0;
    rc = cli_main(&env, argv);
    free(dir);
    return rc;
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
    test_turns_are_short();
    return test_end("import");
}
