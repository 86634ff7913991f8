#ifndef TEST_TEST_H
#define TEST_TEST_H

/* Shared by all test programs. A failed check prints itself and the program
   goes on; main returns test_end(), which prints the counts. A program that has
   not ended after TEST_SECONDS (600; 0: never) says where it was and fails. */

#include "tests/lib/tmpdir.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int test_checks, test_failed;

/* Where the last check was, and the last one outside a header. */
static struct {
    const char *file;
    int line;
} test_at, test_at_c;

#define CHECK(e) test_check(e, __FILE__, __LINE__, #e)

static inline bool
test_check(bool ok, const char *file, int line, const char *expr)
{
    test_checks++;
    test_at.file = file;
    test_at.line = line;
    if (file[strlen(file) - 1] == 'c')
        test_at_c = test_at;
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
            test_at_c.file != NULL ? test_at_c.file : "main", test_at_c.line,
            test_at.file != NULL ? test_at.file : "main", test_at.line);
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

static inline int
test_end(const char *name)
{
    test_failed += test_remove_dirs() != 0;
    if (test_failed == 0)
        printf("%s: %d checks passed\n", name, test_checks);
    return test_failed == 0 ? 0 : 1;
}

#endif
