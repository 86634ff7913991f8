#ifndef TEST_CALLS_H
#define TEST_CALLS_H

/* A store with deferred calls in it. Most helpers lock, stage one thing and
   commit it; is_replay compares memory with a fresh replay of the log. The
   clock stands still. */

#include "tests/lib/faults.h"
#include "tests/lib/model.h"
#include "tests/lib/store_test.h"
#include "tests/lib/world.h"

#define ME STR("me")
#define ID_LEN (CALL_ID_LEN + 1)

/* A record whose body begins with "owner":"<name>" also belongs to its owner,
   or to both owners if the name has a |. Escapes in the name are resolved. */
static inline struct str
owner_of(struct str key, struct str body, char buf[CALL_WATCH_MAX])
{
    static const char member[] = "\"owner\":\"";
    size_t n = sizeof member - 1, len = 6;

    if (!str_starts(key, "task/") || !str_starts(body, member))
        return STR_NONE;
    memcpy(buf, "owner/", len);
    for (; body.p[n] != '"'; n++) {
        n += body.p[n] == '\\';
        buf[len++] = body.p[n];
        if (body.p[n] == '|') {
            memcpy(buf + len - 1, "\towner/", 7);
            len += 6;
        }
    }
    return (struct str){buf, len};
}

static inline void
reopen(struct world *w)
{
    world_close(w);
    world_open(w, NULL);
}

/* The tasks are plain records. */
static inline void
world_init(struct world *w)
{
    clock_still = true;
    *w = (struct world){
        .opt = {.alias = owner_of},
        .kinds[2] = {.prefix = "task/",
                     .entry_size = sizeof(struct store_entry)}};
    world_place(w);
    world_open(w, NULL);
}

static inline void
world_fini(struct world *w)
{
    world_close(w);
    ahead_ms = 0;
}

static inline void
lock(struct world *w)
{
    CHECK(store_lock_patiently(w->s) == 0);
}

static inline void
commit(struct world *w)
{
    bool unknown;

    CHECK(store_commit(w->s, &unknown) == 0);
    store_unlock(w->s);
}

/* Fills the disk when it is called. */
static inline void
commit_fails(struct world *w)
{
    bool unknown;

    disk_full = true;
    CHECK(store_commit(w->s, &unknown) == ERR_FULL && !unknown);
    store_unlock(w->s);
}

static inline void
compact(struct world *w)
{
    CHECK(ts_compact(&(struct tstore){.s = w->s}) == 0);
}

static inline void
stage(struct world *w, const char *key, const char *body)
{
    CHECK(store_stage(w->s, str_of(key), str_of(body)) == 0);
}

static inline void
put(struct world *w, const char *key)
{
    lock(w);
    stage(w, key, "\"v\":1");
    commit(w);
}

static inline void
put_owned(struct world *w, const char *owner)
{
    char body[64];

    snprintf(body, sizeof body, "\"owner\":\"%s\"", owner);
    lock(w);
    stage(w, "task/owned", body);
    commit(w);
}

/* Stages one call that waits for watch, under the lock; its id goes to id. */
static inline void
make(struct world *w, const char *watch, char id[ID_LEN])
{
    struct call k = {.principal = ME, .tool = STR("wait_for_task"),
                     .shape = STR("1"), .watch = str_of(watch)};

    CHECK(calls_create(w->calls, &w->a, &k) == 0);
    CHECK(k.id.len == CALL_ID_LEN);
    memcpy(id, k.id.p, CALL_ID_LEN);
    id[CALL_ID_LEN] = '\0';
}

static inline void
make_one(struct world *w, const char *watch, char id[ID_LEN])
{
    lock(w);
    make(w, watch, id);
    commit(w);
}

/* Commits a call in its own batch; returns what calls_create returned. */
static inline int
create(struct world *w, struct call *k)
{
    int rc;

    lock(w);
    rc = calls_create(w->calls, &w->a, k);
    commit(w);
    return rc;
}

static inline int
get(struct world *w, const char *id, struct call *k)
{
    return calls_get(w->calls, &w->a, str_of(id), STR_NONE, k);
}

/* Sets the call's status to s, under the lock; returns what calls_stage
   returned. */
static inline int
become(struct world *w, const char *id, enum call_status s)
{
    struct call k;
    int rc = get(w, id, &k);

    k.status = s;
    return rc != 0 ? rc : calls_stage(w->calls, &k, "end");
}

static inline int
become_one(struct world *w, const char *id, enum call_status s)
{
    int rc;

    lock(w);
    rc = become(w, id, s);
    commit(w);
    return rc;
}

static inline bool
marked(struct world *w, const char *id)
{
    return calls_is_marked(w->calls, str_of(id));
}

static inline bool
next_is(struct world *w, const char *id)
{
    char next[ID_LEN];

    return calls_next_marked(w->calls, next) && strcmp(next, id) == 0;
}

static inline int
create_of(struct world *w, const char *principal, enum call_status s,
          struct call *k)
{
    *k = (struct call){.principal = str_of(principal), .shape = STR("1"),
                       .status = s, .ttl_ms = 60000};
    return create(w, k);
}

/* ---- memory against replay ---- */

/* Writes everything visible of all calls; without marks if marks is NULL. */
static inline void
dump(struct world *w, struct buf *b, bool marks)
{
    static char ids[1000][ID_LEN];
    struct calls_counts count;
    struct call k;
    uint64_t last;
    bool more;
    size_t i, n = calls_list(w->calls, STR_NONE, 0, ids, 1000, &last, &more);

    buf_reset(b, b->cap);
    CHECK(!more);
    for (i = 0; i < n; i++) {
        CHECK(get(w, ids[i], &k) == 0);
        buf_printf(b, "%s %llu %llu %d %.*s %d\n", ids[i],
                   (unsigned long long)k.n, (unsigned long long)k.born,
                   k.status, STR_ARG(k.watch), marks && marked(w, ids[i]));
    }
    calls_count(w->calls, &count);
    for (i = 0; i < CALL_N_STATUSES; i++)
        buf_printf(b, "%llu ", (unsigned long long)count.by_status[i]);
    buf_printf(b, "%d\n", marks && calls_any_marked(w->calls));
    arena_fini(&w->a);
}

static inline bool
is_replay(struct world *w, bool marks)
{
    struct world fresh = world_beside(w);
    struct buf a = {0}, b = {0};
    bool same;

    world_open(&fresh, NULL);
    dump(w, &a, marks);
    dump(&fresh, &b, marks);
    same = is_same_text(&b, &a);
    buf_fini(&a);
    buf_fini(&b);
    world_close(&fresh);
    return same;
}

#endif
