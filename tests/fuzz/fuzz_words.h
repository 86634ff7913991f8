#ifndef TEST_FUZZ_FUZZ_WORDS_H
#define TEST_FUZZ_FUZZ_WORDS_H

/* A text made from an input. Its first bytes seed the lengths of the parts in
   which the text is sent; some of the others stand for words, which chance
   alone would never spell. */

#include "http/parse.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

#define WORD 0x80 /* the first byte that stands for a word */
#define MAX_TEXT (4 * HTTP_MAX_HEAD)

static uint8_t text[MAX_TEXT];
static uint32_t seed;

/* Makes the text. Returns its length. */
static inline size_t
spell(const char *const *words, size_t n_words, const uint8_t *data, size_t n)
{
    size_t i = sizeof(seed), len = 0, size;
    const void *from;

    if (n < i)
        return 0;
    for (memcpy(&seed, data, i); i < n; i++, len += size) {
        unsigned word = data[i] - (unsigned)WORD;
        bool is_word = word < n_words;

        from = is_word ? (const void *)words[word] : &data[i];
        size = is_word ? strlen(words[word]) : 1;
        if (size > MAX_TEXT - len)
            break;
        memcpy(text + len, from, size);
    }
    return len;
}

/* The length of the next part, when left bytes are left. */
static inline size_t
random_part(size_t left)
{
    size_t n;

    seed = seed * 1664525 + 1013904223;
    n = seed >> 28 == 0 ? left : 1 + (seed >> 16) % (1u << (seed >> 28));
    return n < left ? n : left;
}

#endif
