#ifndef TEST_TEST_H
#define TEST_TEST_H

/* Shared by all test programs. A failed check prints itself and the program
   goes on; main returns test_end(), which prints the counts. A program that has
   not ended after TEST_SECONDS (600; 0: never) says where it was and fails. */

#include "tests/lib/tmpdir.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern int test_failed; /* checks of this process */

#define CHECK(e) test_check(e, __FILE__, __LINE__, #e)

bool test_check(bool ok, const char *file, int line, const char *expr);

/* The exit status of the program, whose directories it removes. */
int test_end(const char *name);

#endif
