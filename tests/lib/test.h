#ifndef TEST_TEST_H
#define TEST_TEST_H

/* Shared by all test programs. A failed check prints itself and the program
   goes on; main returns test_end(), which prints the counts. */

#include "tests/lib/tmpdir.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int test_checks, test_failed;

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

static inline int
test_end(const char *name)
{
    test_failed += test_remove_dirs() != 0;
    if (test_failed == 0)
        printf("%s: %d checks passed\n", name, test_checks);
    return test_failed == 0 ? 0 : 1;
}

#endif
