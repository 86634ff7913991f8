#ifndef TEST_MODEL_H
#define TEST_MODEL_H

/* For tests that act at random and compare memory with a replay: reproducible
   pseudo-random numbers, and whether two texts of an index are equal. */

#include "base/base.h"

#include <stdint.h>
#include <stdio.h>

static uint32_t seed = 12345;

static inline uint32_t
rnd(uint32_t below)
{
    seed = seed * 1664525 + 1013904223;
    return (seed >> 8) % below;
}

static inline bool
is_same_text(const struct buf *want, const struct buf *got)
{
    struct str a = buf_view(want), b = buf_view(got);

    if (str_eq(a, b))
        return true;
    fprintf(stderr, "want:\n%.*s\ngot:\n%.*s\n", STR_ARG(a), STR_ARG(b));
    return false;
}

#endif
