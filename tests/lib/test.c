#include "tests/lib/test.h"

int test_failed;
static int test_checks;

/* Where the last check was, and the last one outside tests/lib. */
static struct {
    const char *file;
    int line;
} test_at = {"main", 0}, test_at_test = {"main", 0};

bool
test_check(bool ok, const char *file, int line, const char *expr)
{
    test_checks++;
    test_at.file = file;
    test_at.line = line;
    if (strstr(file, "tests/lib/") == NULL)
        test_at_test = test_at;
    test_failed += !ok;
    if (!ok)
        fprintf(stderr, "%s:%d: failed: %s\n", file, line, expr);
    return ok;
}

static void
test_is_late(int sig)
{
    (void)sig;
    alarm(5); /* stdio may be what hangs; the second one kills */
    fprintf(stderr, "no end; the last checks were at %s:%d and %s:%d\n",
            test_at_test.file, test_at_test.line, test_at.file, test_at.line);
    _exit(1);
}

__attribute__((constructor)) static void
test_bound(void)
{
    const char *seconds = getenv("TEST_SECONDS");
    struct sigaction sa = {.sa_handler = test_is_late,
                           .sa_flags = (int)(SA_RESETHAND | SA_NODEFER)};

    sigaction(SIGALRM, &sa, NULL);
    alarm(seconds != NULL ? (unsigned)atoi(seconds) : 600);
}

/* ---- the tests ---- */

static struct test {
    const char *name;
    void (*run)(void);
    int line;
} tests[64];
static size_t n_tests;

void
test_add(const char *name, void (*run)(void), int line)
{
    size_t i = n_tests++;

    if (n_tests > sizeof(tests) / sizeof(*tests))
        abort();
    for (; i > 0 && tests[i - 1].line > line; i--)
        tests[i] = tests[i - 1];
    tests[i] = (struct test){name, run, line};
}

/* Whether TEST_ONLY lists the name, or is not set. */
static bool
is_wanted(const char *name)
{
    const char *at = getenv("TEST_ONLY");
    size_t n = strlen(name);

    if (at == NULL)
        return true;
    while (*at != '\0') {
        at += strspn(at, " ");
        if (strcspn(at, " ") == n && strncmp(at, name, n) == 0)
            return true;
        at += strcspn(at, " ");
    }
    return false;
}

void
test_run(void)
{
    for (size_t i = 0; i < n_tests; i++)
        if (is_wanted(tests[i].name))
            tests[i].run();
}

int
test_end(const char *name)
{
    test_failed += test_remove_dirs() != 0;
    if (test_failed == 0)
        printf("%s: %d checks passed\n", name, test_checks);
    return test_failed == 0 ? 0 : 1;
}
