#ifndef TEST_SIGNED_STORE_H
#define TEST_SIGNED_STORE_H

/* A store of sessions in a fresh directory, and its signer. */

#include "mcp/session.h"
#include "mcp/sign.h"
#include "tests/lib/test.h"

static struct store *store;
static struct sign *sign;

/* Returns whether both could be made. */
static inline bool
signed_store_open(void)
{
    static struct store_kind kind; /* the store keeps both */
    static char path[400];
    char *dir = test_tmpdir(), why[256];
    struct store_options o = {.path = path};

    snprintf(path, sizeof(path), "%s/log", dir);
    free(dir);
    mcp_session_kind(&kind);
    return CHECK(store_open(&store, &o, &kind, 1, why) == 0) &&
           CHECK(sign_new(&sign, store) == 0);
}

static inline void
signed_store_close(void)
{
    sign_free(sign);
    store_close(store);
}

#endif
