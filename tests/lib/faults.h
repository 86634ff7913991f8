#ifndef TEST_FAULTS_H
#define TEST_FAULTS_H

/* faults - what the system does to a program, on demand: calls and allocations
   fail, and clocks run ahead or stand still. It replaces what WRAP_NAME in
   tests.mk lists; a test that has its own __wrap_ function uses that. */

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- memory ---- */

#define GUARD_MAX ((size_t)4 << 20)

/* A copy of n bytes at p that ends where memory ends, valid until the next
   call: a parser that reads one byte too far is killed on the spot. */
const char *guard_copy(const void *p, size_t n);

extern long nomem_after; /* allocations that still succeed */
extern bool nomem_hit;   /* one failed */
extern bool *nomem_told; /* set as well, unless it is NULL */

/* After that many allocations one fails, or all from then on. */
void nomem_start(long after, bool once);

/* Ends the failures. Returns whether any allocation failed. */
bool nomem_stop(void);

/* Whether this allocation must fail. */
bool nomem_now(void);

/* No allocation fails until nomem_after is what this returned: the memory of
   the test itself must not fail. */
long nomem_pause(void);

/* ---- calls ---- */

enum fault_call {
    FAULT_WRITE, FAULT_PREAD, FAULT_FDATASYNC, FAULT_FSYNC, FAULT_FTRUNCATE,
    FAULT_RENAME, FAULT_LINK, FAULT_OPEN, FAULT_MEMORY, FAULT_CALLS
};
#define FAULT_SHORT (-1) /* instead of an errno: write only half */

extern struct fault {
    bool on;
    int only_fd;  /* only its fdatasync fails, 0: any */
    int synced;   /* argument of the last fdatasync */
    enum fault_call call;
    long after;   /* calls that still succeed */
    bool forever; /* all later calls fail, not only the next */
    int err;
    bool hit;     /* a call did fail */
    enum fault_call also; /* fails too from then on; FAULT_CALLS: none */
} fault;

extern bool disk_full; /* for the next pwrite; as if by a limit of its size, for
                          which the store keeps no reserve */

void fault_start(enum fault_call call, long after, bool forever, int err);

/* Whether this call must fail, with errno; for __wrap_ functions of tests. */
bool fault_now(enum fault_call call);

/* ---- clocks ---- */

/* All clocks are ahead by clock_ahead_s and ahead_ms, that of the wall also by
   wall_ahead_s and wall_ms. A clock that is still stands at its first reading;
   but each reading of the monotonic one advances both by step_ms, and each of
   the wall's advances that by wall_step_ms. */
extern bool clock_still;
extern int64_t clock_ahead_s, wall_ahead_s;
extern int64_t ahead_ms, wall_ms, step_ms, wall_step_ms;

#endif
