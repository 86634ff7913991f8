#ifndef TEST_JSON_RIG_H
#define TEST_JSON_RIG_H

/* A text that ends at a guard page, parsed into root; random numbers, the same
   in each run; memory that runs out; and whether two texts mean the same. */

#include "json.h"
#include "tests/lib/faults.h"
#include "tests/lib/json_same.h"
#include "tests/lib/test.h"

static struct arena arena; /* reset by each parse() */
static const struct json_tok *root;
static size_t error_at;
static uint64_t seed = UINT64_C(0x9e3779b97f4a7c15);

static inline uint32_t
random_below(uint32_t n)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (uint32_t)((seed >> 32) % n);
}

static inline int
parse(struct str text)
{
    int rc;

    arena_reset(&arena);
    error_at = SIZE_MAX;
    text.p = guard_copy(text.p, text.len);
    rc = json_parse(&arena, text, &root, &error_at);
    /* The tokens are of a copy if an escape is a lone surrogate. */
    if (rc == 0)
        CHECK(json_is_valid(text) ==
              (root->p >= text.p && root->p <= text.p + text.len));
    if (rc == ERR_SYNTAX)
        CHECK(!json_is_valid(text));
    return rc;
}

static inline int
parse_z(const char *z)
{
    return parse(str_of(z));
}

#endif
