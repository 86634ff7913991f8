#ifndef TEST_FUZZ_FUZZ_H
#define TEST_FUZZ_FUZZ_H

/* What the fuzz targets share: a condition that must hold, else the target
   aborts. */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define HOLDS(e)                                                     \
    do {                                                             \
        if (!(e)) {                                                  \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #e);  \
            abort();                                                 \
        }                                                            \
    } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#endif
