#ifndef JSON_WORD_H
#define JSON_WORD_H

/* word - eight bytes of text at a time. */

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define ONES (UINT64_MAX / 255) /* 1 in each byte */

/* The low byte is the one at p, whatever the machine's order. */
static inline uint64_t
load64(const char *p)
{
    uint64_t w;

    memcpy(&w, p, sizeof(w));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    w = __builtin_bswap64(w);
#endif
    return w;
}

/* Whether any of the bytes is c. */
static inline bool
has_byte(uint64_t w, char c)
{
    w ^= ONES * (uint8_t)c;
    return ((w - ONES) & ~w & ONES * 0x80) != 0;
}

#endif
