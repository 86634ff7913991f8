#ifndef TEST_FAULT_STORE_H
#define TEST_FAULT_STORE_H

/* A store whose system calls and memory fail when told to, under a clock that
   can be set ahead: WRAP is what clock.h and fault.h name. */

#include "tests/lib/clock.h"
#include "tests/lib/fault.h"
#include "tests/lib/store_test.h"

static char *path; /* of the log, or of the one file that a test is about */

/* In a directory that has yet to be made. */
static inline void
fresh(void)
{
    free(path);
    path = path_fresh("new/tasks.log");
}

#endif
