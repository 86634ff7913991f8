#ifndef TEST_MCP_SIGNED_H
#define TEST_MCP_SIGNED_H

/* mcp_signed - the server of mcp_rig with a store and a signer, so that calls
   can ask and wait, under a clock that can be set ahead. */

#include "tests/lib/clock.h"
#include "tests/lib/mcp_rig.h"
#include "tests/lib/signed_store.h"

/* Serves toy_talker; false if setup failed. */
static inline bool
signed_rig_init(void)
{
    if (!signed_store_open())
        return false;
    rig_serve(&toy_talker, store, sign);
    rig_agree(NULL);
    return true;
}

static inline void
signed_rig_fini(void)
{
    rig_fini();
    signed_store_close();
}

#endif
