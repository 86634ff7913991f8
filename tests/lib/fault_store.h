#ifndef TEST_FAULT_STORE_H
#define TEST_FAULT_STORE_H

/* A store with system calls and memory that fail on demand, and a clock that
   can be set ahead. WRAP is as in clock.h and fault.h. */

#include "tests/lib/faults.h"
#include "tests/lib/store_test.h"

static char *path; /* of the log, or of the file under test */

/* Opens a store in a directory that does not exist yet. */
static inline void
fresh(void)
{
    free(path);
    path = path_fresh("new/tasks.log");
}

#endif
