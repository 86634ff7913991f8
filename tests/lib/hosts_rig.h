#ifndef TEST_HOSTS_RIG_H
#define TEST_HOSTS_RIG_H

/* Hosts with a store each, over one remote in memory. */

#include "cli/cli.h"
#include "store/state.h"
#include "store/remote.h"
#include "tests/lib/fake_remote.h"
#include "tests/lib/store_test.h"

#define HOSTS 3

static struct fake_list list;

/* A host: a store over its engine. */
static struct host {
    struct tstore t;
    struct fake f;
    char *path;
    char artifacts[300]; /* the directory of their contents */
} host[HOSTS];

static inline void
open_host(struct host *h)
{
    CHECK(ts_open_with(&h->t, &(struct store_options){
        .path = h->path, .closed_max = STORE_CLOSED_MAX, .compact_at = 1,
        .remote = &h->f.remote}) == 0);
}

static inline void
begin(int n)
{
    for (int i = 0; i < n; i++) {
        char *dir = test_tmpdir();

        host[i].path = path_in(dir, "tasks.log");
        fake_new(&host[i].f, &list, dir);
        snprintf(host[i].artifacts, sizeof(host[i].artifacts), "%s/artifacts",
                 dir);
        open_host(&host[i]);
        free(dir);
    }
}

static inline void
end(void)
{
    for (int i = 0; i < HOSTS; i++) {
        if (host[i].path == NULL)
            continue;
        ts_close(&host[i].t);
        fake_end(&host[i].f);
        free(host[i].path);
        host[i].path = NULL;
    }
    fake_free(&list);
    list.epoch = 0;
}

/* Commits what is staged, or confirms. */
static inline int
finish(struct host *h, bool *unknown)
{
    int rc;

    while ((rc = store_commit(h->t.s, unknown)) == ERR_PENDING)
        store_await(h->t.s);
    return rc;
}

/* Locks, stages a record and tries once to commit. */
static inline int
put_once(struct host *h, const char *key, const char *body)
{
    bool unknown;
    int rc = store_lock_patiently(h->t.s);

    if (rc != 0)
        return rc;
    CHECK(store_stage(h->t.s, str_of(key), str_of(body)) == 0);
    rc = finish(h, &unknown);
    CHECK(store_staged_n(h->t.s) == 0 && unknown == (rc == ERR_UNKNOWN));
    store_unlock(h->t.s);
    return rc;
}

static inline int
put(struct host *h, const char *key, const char *body)
{
    int rc;

    do
        rc = put_once(h, key, body);
    while (rc == ERR_AGAIN);
    return rc;
}

static inline int
confirm(struct host *h)
{
    CHECK(store_follow(h->t.s) == 0);
    return store_confirm_patiently(h->t.s);
}

/* Whether the host sees this body, and its memory equals its log. */
static inline bool
sees(struct host *h, const char *key, const char *body)
{
    return CHECK(strcmp(ts_get(&h->t, key), body) == 0) &&
           CHECK(ts_is_replay(&h->t));
}

/* Runs a command on the log of h. Returns its exit code. */
static inline int
command_of(struct host *h, char **argv)
{
    struct cli_env env = {.base_dir = h->f.dir, .log_path = h->path,
                          .artifacts_dir = h->artifacts,
                          .remote = &h->f.remote, .store = "fake://"};

    return cli_main(&env, argv);
}

static inline int
command(struct host *h, char *cmd, char *a)
{
    return command_of(h, (char *[]){cmd, a, NULL});
}

#endif
