#ifndef TEST_NOMEM_H
#define TEST_NOMEM_H

/* Memory that runs out when told to. A program that includes this is linked
   with -Wl,--wrap=malloc -Wl,--wrap=calloc -Wl,--wrap=realloc. */

#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>

static long nomem_after = LONG_MAX; /* calls that still succeed */
static bool nomem_once;             /* only one call fails, not all later */
static bool nomem_hit;              /* a call did fail */

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);

static inline void
nomem_start(long after, bool once)
{
    nomem_after = after;
    nomem_once = once;
    nomem_hit = false;
}

/* Ends it and says whether any call failed. */
static inline bool
nomem_stop(void)
{
    nomem_after = LONG_MAX;
    return nomem_hit;
}

static inline bool
nomem_now(void)
{
    if (nomem_after == LONG_MAX || nomem_after-- > 0)
        return false;
    nomem_hit = true;
    nomem_after = nomem_once ? LONG_MAX : 0;
    return true;
}

void *
__wrap_malloc(size_t n)
{
    return nomem_now() ? NULL : __real_malloc(n);
}

void *
__wrap_calloc(size_t n, size_t size)
{
    return nomem_now() ? NULL : __real_calloc(n, size);
}

void *
__wrap_realloc(void *p, size_t n)
{
    return nomem_now() ? NULL : __real_realloc(p, n);
}

#endif
