#ifndef TEST_SIGNED_STORE_H
#define TEST_SIGNED_STORE_H

/* A world without a catalogue: its store, signer and calls. */

#include "tests/lib/test.h"
#include "tests/lib/world.h"

static struct world signed_world;
static struct store *store;
static struct sign *sign;
static struct calls *the_calls;

/* Returns whether all could be made. */
static inline bool
signed_store_open(bool readonly)
{
    world_place(&signed_world);
    if (!CHECK(world_try(&signed_world, NULL, readonly) == 0))
        return false;
    store = signed_world.s;
    sign = signed_world.sign;
    the_calls = signed_world.calls;
    return true;
}

static inline void
signed_store_close(void)
{
    world_close(&signed_world);
}

#endif
