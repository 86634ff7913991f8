#ifndef TEST_SIGN_RIG_H
#define TEST_SIGN_RIG_H

/* A signer over a store that fails on demand: seals, its messages on stderr,
   its key file, and an independent computation of its checksum. WRAP is that of
   fault_store.h and random_bytes. */

#include "base/sha256.h"
#include "mcp/sign.h"
#include "tests/lib/fault_store.h"
#include "tests/lib/told.h"

#define KEY_LEN 32

static void (*before_random)(void); /* runs before the next call */
static int random_says; /* 0: call the real function */

int __real_random_bytes(void *p, size_t n);
int __wrap_random_bytes(void *p, size_t n);

int
__wrap_random_bytes(void *p, size_t n)
{
    void (*fn)(void) = before_random;

    before_random = NULL;
    if (fn != NULL)
        fn();
    return random_says != 0 ? random_says : __real_random_bytes(p, n);
}

/* ---- a store and its signer ---- */

struct rig {
    struct tstore t;
    struct sign *s;
    struct arena a;
};

static inline const char *
key_path(void)
{
    return path_with(path, ".key");
}

static inline void
open_rig(struct rig *r, bool readonly)
{
    struct store_options o = {.path = path, .readonly = readonly};

    memset(r, 0, sizeof(*r));
    if (ts_open_with(&r->t, &o) != 0 || sign_new(&r->s, r->t.s) != 0)
        abort();
}

static inline void
close_rig(struct rig *r)
{
    sign_free(r->s);
    arena_fini(&r->a);
    ts_close(&r->t);
}

/* Seals for "session" and "ann", in the rig's arena. */
static inline int
seal(struct rig *r, struct str payload, struct str *text)
{
    struct buf b = {0};
    int rc;

    listen_to(true);
    rc = sign_seal(r->s, "session", STR("ann"), payload, &b);
    listen_to(false);
    *text = arena_str(&r->a, buf_view(&b));
    CHECK((rc == 0) == (b.len > 0));
    buf_fini(&b);
    return rc;
}

static inline int
unseal(struct rig *r, struct str text, struct str *payload)
{
    int rc;

    listen_to(true);
    rc = sign_open(r->s, "session", STR("ann"), text, &r->a, payload);
    listen_to(false);
    return rc;
}

static inline bool
opens(struct rig *r, struct str text, struct str want)
{
    struct str payload;

    return unseal(r, text, &payload) == 0 && str_eq(payload, want);
}

/* Returns whether the log's directory has only the key. */
static inline bool
is_tidy(void)
{
    char command[600];

    snprintf(command, sizeof(command), "test \"$(ls '%.*s')\" = "
             "tasks.log.key", (int)(strrchr(path, '/') - path),
             path);
    return system(command) == 0;
}

static inline bool
is_there(const char *name)
{
    struct stat st;

    return lstat(name, &st) == 0;
}

static inline void
put_key(const void *p, size_t len)
{
    char command[600];

    snprintf(command, sizeof(command), "mkdir -p '%.*s'",
             (int)(strrchr(path, '/') - path), path);
    CHECK(system(command) == 0);
    file_put(key_path(), p, len);
}

/* ---- an independent checksum ---- */

static inline void
hmac(struct str key, struct str text, uint8_t out[SHA256_LEN])
{
    uint8_t inner[64], outer[64];
    struct sha256 h;

    for (size_t i = 0; i < 64; i++) {
        uint8_t k = i < key.len ? (uint8_t)key.p[i] : 0;

        inner[i] = k ^ 0x36;
        outer[i] = k ^ 0x5c;
    }
    sha256_init(&h);
    sha256_add(&h, inner, 64);
    sha256_add(&h, text.p, text.len);
    sha256_end(&h, out);
    sha256_init(&h);
    sha256_add(&h, outer, 64);
    sha256_add(&h, out, SHA256_LEN);
    sha256_end(&h, out);
}

static inline void
fill(char *p, size_t n, int from, int step)
{
    for (size_t i = 0; i < n; i++)
        p[i] = (char)(from + step * (int)i);
}

#endif
