#ifndef TEST_TEST_H
#define TEST_TEST_H

/* What the test programs share. A failed check prints itself and the program
   goes on; main returns test_end(), which says how many there were. */

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int test_checks, test_failed;
static char test_root[256]; /* holds each test_tmpdir of this program */

#define CHECK(e) test_check(e, __FILE__, __LINE__, #e)

static inline bool
test_check(bool ok, const char *file, int line, const char *expr)
{
    test_checks++;
    test_failed += !ok;
    if (!ok)
        fprintf(stderr, "%s:%d: failed: %s\n", file, line, expr);
    return ok;
}

/* A fresh directory, removed by test_end; the caller frees its name. */
static inline char *
test_tmpdir(void)
{
    const char *tmp = getenv("TMPDIR");
    char *dir = malloc(sizeof(test_root) + 8);

    if (test_root[0] == '\0') {
        snprintf(test_root, 240, "%s/mcptask-XXXXXX", tmp ? tmp : "/tmp");
        if (mkdtemp(test_root) == NULL)
            abort();
    }
    snprintf(dir, sizeof(test_root) + 8, "%s/XXXXXX", test_root);
    return mkdtemp(dir);
}

/* Has the tests in memory where that can be, for those that sync too often
   to wait for a disk. Before the first test_tmpdir. */
static inline void
test_in_memory(void)
{
    if (access("/dev/shm", W_OK) == 0)
        setenv("TMPDIR", "/dev/shm", 0);
}

static inline int
test_end(const char *name)
{
    char command[sizeof(test_root) + 16];

    snprintf(command, sizeof(command), "rm -rf '%s'", test_root);
    if (test_root[0] != '\0' && system(command) != 0)
        test_failed++;
    if (test_failed == 0)
        printf("%s: %d checks passed\n", name, test_checks);
    return test_failed == 0 ? 0 : 1;
}

#endif
