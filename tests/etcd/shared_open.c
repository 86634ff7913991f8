/* shared_open - programs linked with this, as tests/etcd/suite.mk does it, keep
   each of their stores in etcd: at the address in TEST_ETCD, under a prefix
   made from the path of the log. They know nothing of it: a commit waits for
   etcd. A test may set its clock as it likes. */

#include "etcd/remote.h"
#include "store/state.h"
#include "store/remote.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int __real_store_open(struct store **out, const struct store_options *o,
                      const struct store_kind *kinds, size_t n_kinds,
                      char why[256]);
int __wrap_store_open(struct store **out, const struct store_options *o,
                      const struct store_kind *kinds, size_t n_kinds,
                      char why[256]);
void __real_store_close(struct store *s);
void __wrap_store_close(struct store *s);

/* What is the remote's: table is a copy, but for step. */
struct shared {
    struct remote table;
    const struct remote *engine;
    char url[512];
};

static int (*engine_step)(void *ctx, struct remote_news *news);

static int
step_by_any_clock(void *ctx, struct remote_news *news)
{
    int rc = engine_step(ctx, news);

    news->skew_ms = 0;
    return rc;
}

static int
shared_new(struct shared **out, const char *path, char why[256])
{
    const char *at = getenv("TEST_ETCD");
    struct shared *s = *out = calloc(1, sizeof(*s));
    int rc;

    if (s == NULL)
        return ERR_NOMEM;
    snprintf(s->url, sizeof(s->url), "etcd://%s%s", at ? at : "", path);
    for (char *p = s->url + strlen(s->url) - strlen(path) + 1; *p != '\0'; p++)
        *p = *p == '/' ? '.' : *p;
    rc = remote_new(&s->engine, str_of(s->url), STR(""), path, why);
    if (rc != 0)
        return rc;
    engine_step = s->engine->step;
    s->table = *s->engine;
    s->table.step = step_by_any_clock;
    return 0;
}

static void
shared_free(struct shared *s)
{
    if (s != NULL)
        remote_free(s->engine);
    free(s);
}

int
__wrap_store_open(struct store **out, const struct store_options *o,
                  const struct store_kind *kinds, size_t n_kinds,
                  char why[256])
{
    struct store_options with = *o;
    struct shared *s = NULL;
    int rc = 0;

    *out = NULL;
    if (o->remote == NULL && !o->readonly)
        rc = shared_new(&s, o->path, why);
    if (s != NULL)
        with.remote = &s->table;
    if (rc == 0)
        rc = __real_store_open(out, &with, kinds, n_kinds, why);
    if (rc != 0)
        shared_free(s);
#ifdef MEETS_HOSTS /* as a server does before it serves */
    else
        store_confirm_patiently(*out);
#endif
    return rc;
}

void
__wrap_store_close(struct store *s)
{
    const struct remote *r = s != NULL ? s->opt.remote : NULL;

    __real_store_close(s);
    if (r != NULL && r->step == step_by_any_clock)
        shared_free((struct shared *)(uintptr_t)r);
}

#ifndef MEETS_HOSTS /* a server waits for its commits itself */
int __real_store_lock(struct store *s);
int __wrap_store_lock(struct store *s);
int __real_store_lock_patiently(struct store *s);
int __wrap_store_lock_patiently(struct store *s);
int __real_store_commit(struct store *s, bool *unknown);
int __wrap_store_commit(struct store *s, bool *unknown);

/* Takes what a process of this host had committed when it was killed: then no
   commit comes too late. */
static int
catch_up(struct store *s, int rc)
{
    if (rc == 0 && store_staged_n(s) == 0)
        store_confirm_patiently(s);
    return rc;
}

int
__wrap_store_lock(struct store *s)
{
    return catch_up(s, __real_store_lock(s));
}

int
__wrap_store_lock_patiently(struct store *s)
{
    return catch_up(s, __real_store_lock_patiently(s));
}

int
__wrap_store_commit(struct store *s, bool *unknown)
{
    int rc;

    while ((rc = __real_store_commit(s, unknown)) == ERR_PENDING)
        store_await(s);
    return rc;
}
#endif
