#ifndef TEST_RANDOM_H
#define TEST_RANDOM_H

/* Numbers that look random, the same in each run. */

#include <stdint.h>

static uint32_t seed = 12345;

static inline uint32_t
rnd(uint32_t below)
{
    seed = seed * 1664525 + 1013904223;
    return (seed >> 8) % below;
}

#endif
