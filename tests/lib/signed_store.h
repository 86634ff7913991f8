#ifndef TEST_SIGNED_STORE_H
#define TEST_SIGNED_STORE_H

/* A store of sessions and deferred calls in a fresh directory, and its
   signer. */

#include "mcp/calls.h"
#include "mcp/session.h"
#include "mcp/sign.h"
#include "tests/lib/test.h"

#include <sys/stat.h>

static struct store *store;
static struct sign *sign;
static struct calls *the_calls;

/* Returns whether all could be made. */
static inline bool
signed_store_open(bool readonly)
{
    static struct store_kind kinds[2]; /* the store keeps both */
    static char path[400];
    char *dir = test_tmpdir(), why[256];
    struct store_options o = {.path = path, .readonly = readonly};

    snprintf(path, sizeof(path), "%s/log", dir);
    free(dir);
    the_calls = calls_new(&(struct calls_options){0});
    if (!CHECK(the_calls != NULL))
        return false;
    calls_kind(the_calls, &kinds[0]);
    mcp_session_kind(&kinds[1]);
    if (!CHECK(store_open(&store, &o, kinds, 2, why) == 0))
        return false;
    calls_bind(the_calls, store);
    return CHECK(sign_new(&sign, store) == 0);
}

/* Whether others may use the file of the key, which then is none. */
static inline void
signed_store_expose_key(bool others)
{
    struct store_state st;
    char key[400];

    st = *store_state(store);
    snprintf(key, sizeof(key), "%s.key", st.path);
    CHECK(chmod(key, others ? 0644 : 0600) == 0);
    sign_free(sign);
    CHECK(sign_new(&sign, store) == 0);
}

static inline void
signed_store_close(void)
{
    sign_free(sign);
    store_close(store);
    calls_free(the_calls);
}

#endif
