#ifndef TEST_FUZZ_FUZZ_H
#define TEST_FUZZ_FUZZ_H

/* What the fuzz targets share: a condition that must hold, else the target
   aborts; copies whose end a sanitizer sees; the choice of a part of the work;
   and sums of records. */

#include "base/base.h"
#include "store/record.h"

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int fuzz_err; /* stderr, which libFuzzer closes for what is tested */
int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#define HOLDS(e)                                                    \
    do {                                                            \
        if (!(e)) {                                                 \
            dprintf(fuzz_err, "%s:%d: %s\n", __FILE__, __LINE__, #e); \
            abort();                                                \
        }                                                           \
    } while (0)

/* ASAN_OPTIONS overrides this, to see where memory of a finding was allocated:
   that takes a tenth of the time. */
const char *__asan_default_options(void);

const char *
__asan_default_options(void)
{
    return "malloc_context_size=1";
}

/* Leaves the alarm, which tests/lib/test.h takes, to libFuzzer. */
int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    signal(SIGALRM, SIG_DFL);
    fuzz_err = dup(STDERR_FILENO);
    return 0;
}

/* A copy of exactly n bytes, on the heap. */
static inline char *
fuzz_copy(const void *p, size_t n)
{
    char *copy = malloc(n);

    HOLDS(copy != NULL || n == 0);
    if (n > 0)
        memcpy(copy, p, n);
    return copy;
}

/* The same in an arena. */
static inline struct str
fuzz_part(struct arena *a, struct str s)
{
    char *p = arena_alloc(a, s.len);

    HOLDS(p != NULL);
    if (s.len > 0)
        memcpy(p, s.p, s.len);
    return (struct str){p, s.len};
}

/* Which of n parts of its work a target does with an input. One part is several
   times as fast as all of them, and an input that is new to it is mutated into
   some for the others. */
static inline unsigned
fuzz_choice(const uint8_t *data, size_t len, unsigned n)
{
    return crc32c(0, data, len) % n;
}

/* Corrects the sum of each line that begins like a record. */
static inline void
fuzz_mend_sums(char *p, size_t n)
{
    for (size_t at = 0, len; at < n; at += len + 1) {
        char *line = p + at, *lf = memchr(line, '\n', n - at);

        len = lf != NULL ? (size_t)(lf - line) : n - at;
        if (len > RECORD_SUM_FROM && memcmp(line, "{\"c\":\"", 6) == 0)
            text_hex(line + RECORD_CRC_AT, 8,
                     crc32c(0, line + RECORD_SUM_FROM, len - RECORD_SUM_FROM));
    }
}

#endif
