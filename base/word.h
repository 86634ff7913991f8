#ifndef BASE_WORD_H
#define BASE_WORD_H

/* word - text processing by words of eight bytes. */

#include <stdbool.h>
#include <stdint.h>

#define ONES (UINT64_MAX / 255) /* 1 in each byte */

/* Loads eight bytes, the one at p as the low byte on any machine. */
static inline uint64_t
load64(const char *p)
{
    uint64_t w;

    __builtin_memcpy(&w, p, sizeof(w));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    w = __builtin_bswap64(w);
#endif
    return w;
}

/* Returns whether any byte equals c. */
static inline bool
has_byte(uint64_t w, char c)
{
    w ^= ONES * (uint8_t)c;
    return ((w - ONES) & ~w & ONES * 0x80) != 0;
}

#endif
