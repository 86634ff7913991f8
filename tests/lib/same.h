#ifndef TEST_SAME_H
#define TEST_SAME_H

/* What an index says of itself, twice, as text. */

#include "base/base.h"

#include <stdio.h>

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
