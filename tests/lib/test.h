#ifndef TEST_TEST_H
#define TEST_TEST_H

/* Shared by all test programs. A failed check prints itself and the program
   goes on. A program that has not ended after TEST_SECONDS (600; 0: never) says
   where it was and fails. */

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

/* TEST(a_behaviour) { ... } is run by test_run, which runs all that the
   program has, in the order of their lines, or those whose names TEST_ONLY
   lists, with blanks between. */
#define TEST(name)                                       \
    static void test_##name(void);                       \
    __attribute__((constructor)) static void             \
    test_add_##name(void)                                \
    {                                                    \
        test_add(#name, test_##name, __LINE__);          \
    }                                                    \
    static void test_##name(void)

void test_add(const char *name, void (*run)(void), int line);
void test_run(void);

/* Prints the counts and removes the directories. Returns the exit status. A
   program without a main of its own only calls test_run and this. */
int test_end(const char *name);

#endif
