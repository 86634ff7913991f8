/* t_call - deferred calls: that one ends once, that no event passes a call
   that waits for it, and that memory always is what a fresh replay of the
   log gives. */

#include "mcp/calls.h"
#include "tests/lib/nomem.h"
#include "tests/lib/random.h"
#include "tests/lib/same.h"
#include "tests/lib/still.h"
#include "tests/lib/store_test.h"

#include <signal.h>

/* ---- a store with calls ---- */

struct world {
    char *path;
    struct calls_options opt;
    int64_t compact_at;
    struct store_kind kinds[2];
    struct calls *c;
    struct store *s;
    struct arena a;
};

#define ME STR("me")
#define ID_LEN (CALL_ID_LEN + 1)

/* A record of a task that begins with "owner":"<name>" is also its owner's,
   or with | between both of theirs; an escape in the name is resolved. */
static struct str
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

static int
try_open(struct world *w)
{
    struct store_options o = {.path = w->path,
                              .compact_at = w->compact_at};
    char why[256];
    int rc;

    w->c = calls_new(&w->opt);
    if (w->c == NULL)
        return ERR_NOMEM;
    calls_kind(w->c, &w->kinds[0]);
    w->kinds[1] = (struct store_kind){
        .prefix = "task/", .entry_size = sizeof(struct store_entry)};
    rc = store_open(&w->s, &o, w->kinds, 2, why);
    if (rc == 0) {
        calls_bind(w->c, w->s);
        return 0;
    }
    calls_free(w->c);
    w->c = NULL;
    return rc;
}

static void
world_close(struct world *w)
{
    store_close(w->s);
    calls_free(w->c);
    arena_fini(&w->a);
    w->s = NULL;
    w->c = NULL;
}

static void
world_open(struct world *w)
{
    if (!CHECK(try_open(w) == 0))
        exit(1);
}

static void
reopen(struct world *w)
{
    world_close(w);
    world_open(w);
}

static void
world_init(struct world *w)
{
    *w = (struct world){.opt = {.alias = owner_of}};
    w->path = path_fresh("tasks.log");
    world_open(w);
}

static void
world_fini(struct world *w)
{
    world_close(w);
    free(w->path);
    ahead_ms = 0;
}

static void
lock(struct world *w)
{
    CHECK(store_lock_patiently(w->s) == 0);
}

static void
commit(struct world *w)
{
    bool unknown;

    CHECK(store_commit(w->s, &unknown) == 0);
    store_unlock(w->s);
}

/* The disk is full when it comes to that. */
static void
commit_fails(struct world *w)
{
    bool unknown;

    disk_full = true;
    CHECK(store_commit(w->s, &unknown) == ERR_FULL && !unknown);
    store_unlock(w->s);
}

static void
compact(struct world *w)
{
    CHECK(ts_compact(&(struct tstore){.s = w->s}) == 0);
}

static void
stage(struct world *w, const char *key, const char *body)
{
    CHECK(store_stage(w->s, str_of(key), str_of(body)) == 0);
}

static void
put(struct world *w, const char *key)
{
    lock(w);
    stage(w, key, "\"v\":1");
    commit(w);
}

static void
put_owned(struct world *w, const char *owner)
{
    char body[64];

    snprintf(body, sizeof body, "\"owner\":\"%s\"", owner);
    lock(w);
    stage(w, "task/owned", body);
    commit(w);
}

/* One call that waits for watch, under the lock; its id is in id. */
static void
make(struct world *w, const char *watch, char id[ID_LEN])
{
    struct call k = {.principal = ME, .tool = STR("wait_for_task"),
                     .shape = STR("1"), .watch = str_of(watch)};

    CHECK(calls_create(w->c, &w->a, &k) == 0);
    CHECK(k.id.len == CALL_ID_LEN);
    memcpy(id, k.id.p, CALL_ID_LEN);
    id[CALL_ID_LEN] = '\0';
}

static void
make_one(struct world *w, const char *watch, char id[ID_LEN])
{
    lock(w);
    make(w, watch, id);
    commit(w);
}

/* A call, in a batch of its own; what calls_create said. */
static int
create(struct world *w, struct call *k)
{
    int rc;

    lock(w);
    rc = calls_create(w->c, &w->a, k);
    commit(w);
    return rc;
}

static int
get(struct world *w, const char *id, struct call *k)
{
    return calls_get(w->c, &w->a, str_of(id), STR_NONE, k);
}

/* The call's status becomes s, under the lock; what calls_stage said. */
static int
become(struct world *w, const char *id, enum call_status s)
{
    struct call k;
    int rc = get(w, id, &k);

    k.status = s;
    return rc != 0 ? rc : calls_stage(w->c, &w->a, &k, "end");
}

static int
become_one(struct world *w, const char *id, enum call_status s)
{
    int rc;

    lock(w);
    rc = become(w, id, s);
    commit(w);
    return rc;
}

static bool
marked(struct world *w, const char *id)
{
    return calls_is_marked(w->c, str_of(id));
}

static bool
next_is(struct world *w, const char *id)
{
    char next[ID_LEN];

    return calls_next_marked(w->c, next) && strcmp(next, id) == 0;
}

/* ---- memory against replay ---- */

/* All that can be seen of all calls, marks apart where marks is NULL. */
static void
dump(struct world *w, struct buf *b, bool marks)
{
    static char ids[1000][ID_LEN];
    struct calls_counts count;
    struct call k;
    uint64_t last;
    bool more;
    size_t i, n = calls_list(w->c, STR_NONE, 0, ids, 1000, &last, &more);

    buf_reset(b, b->cap);
    CHECK(!more);
    for (i = 0; i < n; i++) {
        CHECK(get(w, ids[i], &k) == 0);
        buf_printf(b, "%s %llu %llu %d %.*s %d\n", ids[i],
                   (unsigned long long)k.n, (unsigned long long)k.born,
                   k.status, STR_ARG(k.watch), marks && marked(w, ids[i]));
    }
    calls_count(w->c, &count);
    for (i = 0; i < CALL_N_STATUSES; i++)
        buf_printf(b, "%llu ", (unsigned long long)count.by_status[i]);
    buf_printf(b, "%d\n", marks && calls_any_marked(w->c));
    arena_fini(&w->a);
}

static bool
is_replay(struct world *w, bool marks)
{
    struct world fresh = {.path = w->path, .opt = w->opt};
    struct buf a = {0}, b = {0};
    bool same;

    world_open(&fresh);
    dump(w, &a, marks);
    dump(&fresh, &b, marks);
    same = is_same_text(&b, &a);
    buf_fini(&a);
    buf_fini(&b);
    world_close(&fresh);
    return same;
}

/* ---- one call ---- */

static void
test_statuses(void)
{
    static const char *const names[] = {"working", "input_required",
                                        "completed", "failed", "cancelled"};
    int from;

    for (from = 0; from < CALL_N_STATUSES; from++) {
        CHECK(strcmp(call_status_name((enum call_status)from),
                     names[from]) == 0);
        CHECK(call_status_ended((enum call_status)from) == (from >= 2));
    }
}

static bool
same_call(const struct call *a, const struct call *b)
{
    const struct str *const pairs[][2] = {
        {&a->id, &b->id}, {&a->principal, &b->principal},
        {&a->tool, &b->tool}, {&a->watch, &b->watch},
        {&a->args, &b->args}, {&a->shape, &b->shape},
        {&a->state, &b->state}, {&a->questions, &b->questions},
        {&a->message, &b->message}, {&a->result, &b->result},
        {&a->error, &b->error}};
    size_t i;

    for (i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (pairs[i][0]->len != pairs[i][1]->len ||
            (pairs[i][0]->len > 0 && !str_eq(*pairs[i][0], *pairs[i][1])))
            return false;
    return a->n == b->n && a->born == b->born && a->status == b->status &&
           a->is_error == b->is_error && a->created_ms == b->created_ms &&
           a->updated_ms == b->updated_ms && a->ttl_ms == b->ttl_ms &&
           a->since == b->since && a->due_ms == b->due_ms &&
           a->round == b->round;
}

static void
test_whole_call(void)
{
    struct call all = {
        .principal = STR("p\"\\\n\xc3\xa9"), .tool = STR("a\"tool"),
        .args = STR("{\"a\":\"\\n}\",\"b\":[1,{}]}"), .shape = STR("null"),
        .status = CALL_INPUT_REQUIRED, .is_error = true, .since = 77,
        .watch = STR("owner/\"\\\xe2\x82\xac"), .due_ms = 1234567890123,
        .round = 3, .state = STR("s\t\""), .ttl_ms = 60000,
        .questions = STR("[{\"key\":\"q\"}]"), .message = STR("why\"\n"),
        .result = STR("{\"content\":[]}"), .error = STR("{\"code\":1}")};
    struct call few = {.principal = STR(""), .shape = STR("{}")}, k;
    struct world w;

    world_init(&w);
    lock(&w);
    CHECK(calls_create(w.c, &w.a, &all) == 0 && all.n == 1 && all.born == 1);
    CHECK(calls_create(w.c, &w.a, &few) == 0 && few.n == 2 && few.born == 2);
    CHECK(get(&w, all.id.p, &k) == 0 && same_call(&k, &all)); /* staged */
    commit(&w);
    CHECK(get(&w, all.id.p, &k) == 0 && same_call(&k, &all));
    CHECK(k.created_ms == k.updated_ms && k.created_ms > 1500000000000);
    CHECK(get(&w, few.id.p, &k) == 0 && same_call(&k, &few));
    CHECK(k.args.p == NULL && k.questions.p == NULL && k.round == 0);
    lock(&w);
    all.round++;
    all.state = all.questions = STR_NONE;
    CHECK(calls_stage(w.c, &w.a, &all, "wait") == 0 && all.n == 3);
    all.status = CALL_COMPLETED; /* once more in the same batch */
    CHECK(calls_stage(w.c, &w.a, &all, "end") == 0 && all.n == 4);
    commit(&w);
    CHECK(get(&w, all.id.p, &k) == 0 && same_call(&k, &all) && k.born == 1);
    CHECK(is_replay(&w, true));
    world_fini(&w);
}

/* JSON from outside may have line feeds between its tokens. */
static void
test_line_feeds(void)
{
    struct call k = {.args = STR("{\n\"a\"\n:\r\n\"\\n\"\n}"),
                     .shape = STR("[\n]")};
    struct world w;
    struct call got;

    world_init(&w);
    CHECK(create(&w, &k) == 0);
    CHECK(get(&w, k.id.p, &got) == 0);
    CHECK(str_is(got.args, "{ \"a\" :\r \"\\n\" }"));
    CHECK(is_replay(&w, true));
    world_fini(&w);
}

static void
test_ids_and_principals(void)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz"
        "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
    static const char *const none[] = {"", "x", "aaaaaaaaaaaaaaaaaaaaaa",
                                       "aaaaaaaaaaaaaaaaaaaaaaa",
                                       "../../../../../etc/pas"};
    char a[ID_LEN], b[ID_LEN];
    struct world w;
    struct call k;
    size_t i;

    world_init(&w);
    make_one(&w, "task/a", a);
    make_one(&w, "task/a", b);
    CHECK(strcmp(a, b) != 0 && strspn(a, letters) == CALL_ID_LEN);
    CHECK(calls_get(w.c, &w.a, str_of(a), ME, &k) == 0);
    CHECK(str_is(k.id, a) && str_eq(k.principal, ME));
    CHECK(calls_get(w.c, &w.a, str_of(a), STR("you"), &k) == ERR_NOT_FOUND);
    CHECK(calls_get(w.c, &w.a, str_of(a), STR(""), &k) == ERR_NOT_FOUND);
    for (i = 0; i < sizeof none / sizeof *none; i++) {
        CHECK(get(&w, none[i], &k) == ERR_NOT_FOUND);
        CHECK(!marked(&w, none[i]));
        calls_mark(w.c, str_of(none[i]));
        calls_unmark(w.c, str_of(none[i]));
    }
    CHECK(!calls_any_marked(w.c));
    world_fini(&w);
}

static void
test_ends_once(void)
{
    char id[ID_LEN];
    struct call first, second;
    struct world w;

    world_init(&w);
    make_one(&w, "task/a", id);
    lock(&w);
    CHECK(get(&w, id, &first) == 0 && get(&w, id, &second) == 0);
    first.round = second.round = 1;
    CHECK(calls_stage(w.c, &w.a, &first, "wait") == 0);
    CHECK(calls_stage(w.c, &w.a, &second, "wait") == ERR_VERSION);
    first.status = CALL_CANCELLED;
    second.status = CALL_COMPLETED;
    CHECK(calls_stage(w.c, &w.a, &first, "cancel") == 0);
    CHECK(calls_stage(w.c, &w.a, &second, "end") == ERR_TERMINAL);
    CHECK(calls_stage(w.c, &w.a, &first, "cancel") == ERR_TERMINAL);
    first.id = STR("aaaaaaaaaaaaaaaaaaaaaa");
    CHECK(calls_stage(w.c, &w.a, &first, "end") == ERR_NOT_FOUND);
    commit(&w);
    CHECK(get(&w, id, &first) == 0 && first.status == CALL_CANCELLED);
    CHECK(is_replay(&w, true));
    world_fini(&w);
}

/* From a live status to any, from one that has ended to none. */
static void
test_what_may_follow(void)
{
    enum call_status from, to;
    char id[ID_LEN];
    struct world w;

    world_init(&w);
    for (from = CALL_WORKING; from < CALL_N_STATUSES; from++)
        for (to = CALL_WORKING; to < CALL_N_STATUSES; to++) {
            make_one(&w, "task/a", id);
            CHECK(become_one(&w, id, from) == 0);
            CHECK(become_one(&w, id, to) ==
                  (from >= CALL_COMPLETED ? ERR_TERMINAL : 0));
        }
    world_fini(&w);
}

/* ---- marks ---- */

static void
test_what_marks(void)
{
    char a[ID_LEN], b[ID_LEN], owned[ID_LEN], odd[ID_LEN], none[ID_LEN];
    struct world w;

    world_init(&w);
    make_one(&w, "task/a", a);
    make_one(&w, "task/b", b);
    make_one(&w, "owner/ann", owned);
    make_one(&w, "owner/\"b\\", odd);
    make_one(&w, "", none);
    CHECK(!calls_any_marked(w.c) && !marked(&w, a));
    put(&w, "task/c");
    put(&w, "task/aa");
    put(&w, "else/task/a");
    put_owned(&w, "an");
    CHECK(!calls_any_marked(w.c));
    put(&w, "task/b");
    put_owned(&w, "\\\"b\\\\");
    put(&w, "task/a");
    put_owned(&w, "ann");
    put(&w, "task/b"); /* marked already: its place stays */
    CHECK(marked(&w, a) && marked(&w, b) && marked(&w, owned) &&
          marked(&w, odd) && !marked(&w, none));
    CHECK(is_replay(&w, true));
    CHECK(next_is(&w, b) && next_is(&w, odd) && next_is(&w, a) &&
          next_is(&w, owned) && !calls_any_marked(w.c));
    CHECK(!next_is(&w, a) && !marked(&w, a));
    world_fini(&w);
}

static void
test_next_name(void)
{
    static const struct {
        const char *names, *first, *second; /* NULL: none */
    } cases[] = {{"", NULL, NULL}, {"a", "a", NULL}, {"ab\tc", "ab", "c"},
                 {"a\t", "a", NULL}, {"\ta", "", "a"}, {"\t", "", NULL}};
    struct str names, name;
    size_t i;
    int k;

    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        names = str_of(cases[i].names);
        for (k = 0; k < 2; k++) {
            const char *want = k == 0 ? cases[i].first : cases[i].second;

            name = call_next_name(&names);
            CHECK(want != NULL ? str_is(name, want) : name.p == NULL);
        }
        CHECK(call_next_name(&names).p == NULL);
    }
    names = STR_NONE;
    CHECK(call_next_name(&names).p == NULL);
}

/* An event of each of the names marks id, and no other. */
static void
check_names(struct world *w, const char *id)
{
    put(w, "task/a");
    CHECK(next_is(w, id) && !calls_any_marked(w->c));
    put_owned(w, "ann");
    CHECK(next_is(w, id) && !calls_any_marked(w->c));
    put_owned(w, "bob|ann");
    CHECK(next_is(w, id) && !calls_any_marked(w->c));
    put(w, "task/owner/ann");
    CHECK(!calls_any_marked(w->c));
}

static void
test_two_names(void)
{
    char id[ID_LEN], twice[ID_LEN];
    struct world w;
    struct call k;

    world_init(&w);
    make_one(&w, "task/b\ttask/b", twice);
    make_one(&w, "task/a\towner/ann", id);
    check_names(&w, id);
    put(&w, "task/b");
    CHECK(next_is(&w, twice) && !calls_any_marked(w.c));
    lock(&w);
    CHECK(get(&w, id, &k) == 0);
    k.watch = STR("task/b\ttask/c");
    CHECK(calls_stage(w.c, &w.a, &k, "wait") == 0);
    commit_fails(&w);
    CHECK(next_is(&w, id)); /* it may have been run for naught */
    check_names(&w, id);
    CHECK(become_one(&w, id, CALL_INPUT_REQUIRED) == 0);
    CHECK(become_one(&w, twice, CALL_INPUT_REQUIRED) == 0);
    compact(&w);
    check_names(&w, id);
    CHECK(become_one(&w, id, CALL_WORKING) == 0);
    CHECK(become_one(&w, twice, CALL_COMPLETED) == 0);
    reopen(&w);
    check_names(&w, id);
    CHECK(become_one(&w, id, CALL_COMPLETED) == 0);
    put(&w, "task/a");
    CHECK(!calls_any_marked(w.c));
    world_fini(&w);
}

static void
test_own_record_takes_mark_off(void)
{
    char a[ID_LEN], b[ID_LEN];
    struct call k;
    struct world w;

    world_init(&w);
    make_one(&w, "task/a", a);
    make_one(&w, "task/a", b);
    lock(&w); /* all in one batch */
    stage(&w, "task/a", "\"v\":1");
    CHECK(marked(&w, a) && marked(&w, b));
    CHECK(become(&w, a, CALL_INPUT_REQUIRED) == 0 && !marked(&w, a));
    CHECK(become(&w, b, CALL_COMPLETED) == 0 && !marked(&w, b));
    stage(&w, "task/a", "\"v\":2");
    CHECK(marked(&w, a) && !marked(&w, b));
    CHECK(get(&w, a, &k) == 0);
    k.watch = STR("task/other");
    CHECK(calls_stage(w.c, &w.a, &k, "wait") == 0);
    stage(&w, "task/a", "\"v\":3");
    CHECK(!marked(&w, a));
    stage(&w, "task/other", "\"v\":3");
    commit(&w);
    CHECK(marked(&w, a) && next_is(&w, a) && !calls_any_marked(w.c));
    world_fini(&w);
}

static void
test_marks_by_hand(void)
{
    char a[ID_LEN], b[ID_LEN], c[ID_LEN];
    struct world w;

    world_init(&w);
    make_one(&w, "", a);
    make_one(&w, "task/b", b);
    make_one(&w, "task/c", c);
    calls_mark(w.c, str_of(c));
    calls_mark(w.c, str_of(a));
    calls_mark(w.c, str_of(b));
    calls_unmark(w.c, str_of(a));
    calls_unmark(w.c, str_of(a));
    CHECK(!marked(&w, a) && marked(&w, b) && calls_any_marked(w.c));
    CHECK(next_is(&w, c) && next_is(&w, b) && !next_is(&w, a));
    CHECK(become_one(&w, a, CALL_FAILED) == 0);
    calls_mark(w.c, str_of(a)); /* it has ended */
    CHECK(!calls_any_marked(w.c) && !next_is(&w, a));
    calls_mark(w.c, str_of(b));
    CHECK(become_one(&w, b, CALL_CANCELLED) == 0);
    CHECK(!calls_any_marked(w.c) && !next_is(&w, b));
    world_fini(&w);
}

static void
test_marks_across_processes(void)
{
    char a[ID_LEN], b[ID_LEN];
    struct world w;
    struct call k;
    pid_t pid;

    world_init(&w);
    make_one(&w, "task/a", a);
    make_one(&w, "owner/ann", b);
    pid = child_begin();
    if (pid == 0) {
        struct world mine = {.path = w.path, .opt = w.opt};

        world_open(&mine);
        put(&mine, "task/a");
        put_owned(&mine, "ann");
        CHECK(marked(&mine, a) && become_one(&mine, a, CALL_FAILED) == 0);
        world_close(&mine);
        child_end();
    }
    CHECK(child_ok(pid) && !calls_any_marked(w.c));
    CHECK(store_follow(w.s) == 0);
    CHECK(!marked(&w, a) && marked(&w, b) && next_is(&w, b));
    CHECK(get(&w, a, &k) == 0 && k.status == CALL_FAILED);
    CHECK(become_one(&w, a, CALL_COMPLETED) == ERR_TERMINAL);
    put(&w, "task/a");
    CHECK(!calls_any_marked(w.c));
    world_fini(&w);
}

static void
test_marks_after_replay(void)
{
    char a[ID_LEN], b[ID_LEN], c[ID_LEN], d[ID_LEN];
    struct world w;

    world_init(&w);
    put(&w, "task/a");
    make_one(&w, "task/a", a); /* nothing since */
    make_one(&w, "task/b", b);
    make_one(&w, "task/b", c); /* and then its own */
    make_one(&w, "task/b", d); /* and then it ended */
    put(&w, "task/b");
    CHECK(become_one(&w, c, CALL_INPUT_REQUIRED) == 0);
    CHECK(become_one(&w, d, CALL_COMPLETED) == 0);
    CHECK(next_is(&w, b)); /* and then this process ended */
    reopen(&w);
    CHECK(!marked(&w, a) && marked(&w, b) && !marked(&w, c) &&
          !marked(&w, d));
    compact(&w);
    CHECK(!marked(&w, a) && marked(&w, b) && !marked(&w, c) &&
          !marked(&w, d));
    CHECK(is_replay(&w, true));
    world_fini(&w);
}

/* ---- time ---- */

/* What a run came to nothing by is no news to the next; what was only staged
   then is, and so is everything to another process. */
static void
test_what_a_run_has_seen(void)
{
    char id[ID_LEN];
    struct world w;
    struct call k;

    world_init(&w);
    make_one(&w, "task/a", id);
    put(&w, "task/a");
    CHECK(get(&w, id, &k) == 0 && k.since == 0);
    lock(&w);
    stage(&w, "task/a", "\"v\":1");
    calls_saw(w.c, str_of(id));
    CHECK(get(&w, id, &k) == 0 && k.since == 2);
    commit(&w);
    CHECK(get(&w, id, &k) == 0 && k.since == 2);
    calls_saw(w.c, str_of(id));
    CHECK(get(&w, id, &k) == 0 && k.since == 3);
    reopen(&w);
    CHECK(get(&w, id, &k) == 0 && k.since == 0 && marked(&w, id));
    lock(&w);
    calls_saw(w.c, str_of(id));
    CHECK(get(&w, id, &k) == 0 && calls_stage(w.c, &w.a, &k, "wait") == 0);
    commit(&w);
    reopen(&w);
    CHECK(get(&w, id, &k) == 0 && k.since == 3 && !marked(&w, id));
    world_fini(&w);
}

static void
test_due(void)
{
    struct call k = {.shape = STR("1"), .ttl_ms = 100000}, got;
    char id[ID_LEN];
    struct world w;
    int i;

    world_init(&w);
    k.due_ms = store_now_ms(w.s) + 30000;
    CHECK(create(&w, &k) == 0);
    memcpy(id, k.id.p, ID_LEN);
    for (i = 0; i < 2; i++) {
        ahead_ms += 29999;
        CHECK(!marked(&w, id));
        ahead_ms++;
        CHECK(marked(&w, id) && !calls_any_marked(w.c));
        reopen(&w);
        CHECK(marked(&w, id) && get(&w, id, &got) == 0);
        lock(&w);
        got.due_ms = store_now_ms(w.s) + 30000;
        CHECK(calls_stage(w.c, &w.a, &got, "wait") == 0);
        commit(&w);
    }
    lock(&w);
    CHECK(get(&w, id, &got) == 0);
    got.due_ms = 1; /* long past */
    CHECK(calls_stage(w.c, &w.a, &got, "wait") == 0 && marked(&w, id));
    got.due_ms = INT64_MAX;
    CHECK(calls_stage(w.c, &w.a, &got, "wait") == 0 && !marked(&w, id));
    commit(&w);
    CHECK(get(&w, id, &k) == 0 && k.due_ms == INT64_MAX);
    CHECK(become_one(&w, id, CALL_COMPLETED) == 0);
    world_fini(&w);
}

static void
test_ttl(void)
{
    static const struct {
        int64_t asked, given;
    } cases[] = {
        {0, CALL_TTL_MS}, {-1, CALL_TTL_MS}, {INT64_MIN, CALL_TTL_MS},
        {1, 1000}, {1000, 1000}, {60000, 60000},
        {CALL_MAX_TTL_MS, CALL_MAX_TTL_MS},
        {CALL_MAX_TTL_MS + 1, CALL_MAX_TTL_MS}, {INT64_MAX, CALL_MAX_TTL_MS}};
    struct world w;
    struct call got;
    size_t i;

    world_init(&w);
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct call k = {.shape = STR("1"), .ttl_ms = cases[i].asked};

        ahead_ms = 0;
        reopen(&w);
        CHECK(create(&w, &k) == 0);
        CHECK(get(&w, k.id.p, &got) == 0 && got.ttl_ms == cases[i].given);
        ahead_ms = cases[i].given - 1;
        CHECK(get(&w, k.id.p, &got) == 0);
        ahead_ms = cases[i].given;
        CHECK(get(&w, k.id.p, &got) == ERR_NOT_FOUND);
    }
    world_fini(&w);
}

static void
test_time_is_over(void)
{
    struct call k = {.principal = ME, .shape = STR("1"), .ttl_ms = 60000,
                     .watch = STR("task/a"), .due_ms = 1}, got;
    struct calls_counts count;
    char ids[4][ID_LEN], next[ID_LEN];
    struct world w;
    uint64_t last;
    bool more;

    world_init(&w);
    CHECK(create(&w, &k) == 0);
    put(&w, "task/a");
    ahead_ms = 10000;
    calls_count(w.c, &count);
    CHECK(count.by_status[CALL_WORKING] == 1 && count.oldest_ms == 10000);
    CHECK(calls_list(w.c, ME, 0, ids, 4, &last, &more) == 1);
    CHECK(get(&w, k.id.p, &got) == 0 && marked(&w, k.id.p));
    ahead_ms = 60000;
    CHECK(get(&w, k.id.p, &got) == ERR_NOT_FOUND && !marked(&w, k.id.p));
    CHECK(calls_any_marked(w.c) && !calls_next_marked(w.c, next));
    CHECK(!calls_any_marked(w.c));
    CHECK(become_one(&w, k.id.p, CALL_COMPLETED) == ERR_NOT_FOUND);
    CHECK(calls_list(w.c, ME, 0, ids, 4, &last, &more) == 0 && !more);
    calls_count(w.c, &count);
    CHECK(count.by_status[CALL_WORKING] == 0 && count.oldest_ms == 0);
    world_fini(&w);
}

/* ---- many calls ---- */

static int
create_of(struct world *w, const char *principal, enum call_status s,
          struct call *k)
{
    *k = (struct call){.principal = str_of(principal), .shape = STR("1"),
                       .status = s, .ttl_ms = 60000};
    return create(w, k);
}

static void
test_limits(void)
{
    struct call k, first;
    struct world w;
    int i;

    world_init(&w);
    w.opt.max_own = 3;
    w.opt.max_all = 5;
    reopen(&w);
    CHECK(create_of(&w, "ann", CALL_WORKING, &first) == 0);
    CHECK(create_of(&w, "ann", CALL_INPUT_REQUIRED, &k) == 0);
    for (i = 0; i < 4; i++)
        CHECK(create_of(&w, "ann", CALL_COMPLETED, &k) == 0);
    CHECK(create_of(&w, "ann", CALL_WORKING, &k) == 0);
    CHECK(create_of(&w, "ann", CALL_WORKING, &k) == ERR_TOO_LARGE);
    CHECK(str_starts(k.message, "you have too many"));
    CHECK(create_of(&w, "ann", CALL_FAILED, &k) == 0);
    CHECK(create_of(&w, "bob", CALL_WORKING, &k) == 0);
    CHECK(k.message.p == NULL);
    CHECK(create_of(&w, "", CALL_WORKING, &k) == 0);
    CHECK(create_of(&w, "", CALL_WORKING, &k) == ERR_TOO_LARGE);
    CHECK(str_starts(k.message, "the server has too many"));
    CHECK(become_one(&w, first.id.p, CALL_CANCELLED) == 0);
    CHECK(create_of(&w, "ann", CALL_WORKING, &k) == 0);
    CHECK(create_of(&w, "ann", CALL_WORKING, &k) == ERR_TOO_LARGE);
    ahead_ms = 60000;
    CHECK(create_of(&w, "ann", CALL_WORKING, &k) == 0);
    reopen(&w);
    for (i = 0; i < 2; i++)
        CHECK(create_of(&w, "ann", CALL_WORKING, &k) == 0);
    CHECK(create_of(&w, "ann", CALL_WORKING, &k) == ERR_TOO_LARGE);
    CHECK(is_replay(&w, true));
    world_fini(&w);
}

static void
test_too_large(void)
{
    struct call k = {.shape = STR("1")};
    struct world w;
    char *big = malloc(STORE_MAX_RECORD);

    if (big == NULL)
        abort();
    memset(big, 'x', STORE_MAX_RECORD);
    world_init(&w);
    k.state = (struct str){big, STORE_MAX_RECORD};
    lock(&w);
    CHECK(calls_create(w.c, &w.a, &k) == ERR_TOO_LARGE);
    CHECK(str_is(k.message, "the task is too large"));
    CHECK(store_staged_n(w.s) == 0);
    k.state = STR_NONE;
    CHECK(calls_create(w.c, &w.a, &k) == 0);
    k.state = (struct str){big, STORE_MAX_RECORD};
    CHECK(calls_stage(w.c, &w.a, &k, "wait") == ERR_TOO_LARGE);
    k.state = STR_NONE;
    k.status = CALL_FAILED; /* still the newest record's */
    CHECK(calls_stage(w.c, &w.a, &k, "end") == 0);
    commit(&w);
    free(big);
    world_fini(&w);
}

/* Reads principal's list in pages: the ids in list, their count. */
static size_t
read_pages(struct world *w, struct str principal, size_t page,
           char list[][ID_LEN])
{
    uint64_t before = 0;
    size_t n = 0, got;
    bool more = true;

    while (more) {
        got = calls_list(w->c, principal, before, list + n, page, &before,
                         &more);
        CHECK(got == page || !more);
        n += got;
    }
    return n;
}

static void
test_list(void)
{
    enum { N = 40 };
    static char made[N][ID_LEN], list[N + 4][ID_LEN];
    struct world w;
    struct call k;
    uint64_t last;
    size_t page, i;
    bool more;
    int round;

    world_init(&w);
    CHECK(calls_list(w.c, ME, 0, list, 4, &last, &more) == 0 && !more);
    for (i = 0; i < N; i++) {
        CHECK(create_of(&w, i % 2 ? "ann" : "bob", CALL_WORKING, &k) == 0);
        memcpy(made[i], k.id.p, ID_LEN);
    }
    /* Others than the newest change: that is not what the list goes by. */
    for (i = 0; i < N; i += 3)
        CHECK(become_one(&w, made[N - 1 - i], CALL_COMPLETED) == 0);
    for (round = 0; round < 3; round++) {
        for (page = 1; page <= N + 1; page += 3) {
            CHECK(read_pages(&w, STR_NONE, page, list) == N);
            for (i = 0; i < N; i++)
                CHECK(strcmp(list[i], made[N - 1 - i]) == 0);
            CHECK(read_pages(&w, STR("ann"), page, list) == N / 2);
            for (i = 0; i < N / 2; i++)
                CHECK(strcmp(list[i], made[N - 1 - 2 * i]) == 0);
        }
        CHECK(read_pages(&w, STR("cy"), 4, list) == 0);
        if (round == 0) /* records stand in another order then */
            compact(&w);
        else
            reopen(&w);
    }
    CHECK(calls_list(w.c, STR("ann"), 0, list, 4, &last, &more) == 4 && more);
    CHECK(create_of(&w, "ann", CALL_WORKING, &k) == 0);
    CHECK(calls_list(w.c, STR("ann"), last, list, 4, &last, &more) == 4);
    CHECK(strcmp(list[0], made[N - 9]) == 0); /* a new one moves nothing */
    CHECK(calls_list(w.c, STR("ann"), 0, list, 1, &last, &more) == 1);
    CHECK(strcmp(list[0], k.id.p) == 0);
    world_fini(&w);
}

static size_t
heap_of(struct world *w)
{
    struct calls_counts count;
    struct store_state st;

    store_state(w->s, &st);
    calls_count(w->c, &count);
    return st.index_bytes + count.bytes;
}

static void
test_memory_of_a_call(void)
{
    enum { N = 10000 };
    struct world w;
    char id[ID_LEN], watch[32];
    size_t before, bytes;
    int i;

    world_init(&w);
    w.opt.max_own = w.opt.max_all = 1000000;
    reopen(&w);
    put(&w, "task/first");
    before = heap_of(&w);
    lock(&w);
    for (i = 0; i < N; i++) {
        snprintf(watch, sizeof watch, i % 2 ? "task/%d" : "task/same", i);
        make(&w, watch, id);
        if (i % 1000 == 999) {
            commit(&w);
            lock(&w);
        }
    }
    commit(&w);
    bytes = heap_of(&w) - before;
    CHECK(bytes <= 300 * N);
    if (getenv("V") != NULL)
        printf("%zu bytes a waiting call\n", bytes / N);
    put(&w, "task/same");
    for (i = 0; calls_next_marked(w.c, id); i++)
        continue;
    CHECK(i == N / 2);
    world_fini(&w);
}

/* ---- compaction, and records of others ---- */

static uint64_t
records_of(const char *path)
{
    struct store_report r;

    CHECK(store_verify(path, &r, NULL) == 0 && !r.damaged);
    return r.records;
}

static void
test_compaction(void)
{
    char live[ID_LEN], done[ID_LEN], late[ID_LEN];
    struct call k, got;
    struct world w;

    world_init(&w);
    make_one(&w, "task/a", live);
    make_one(&w, "task/a", done);
    CHECK(create_of(&w, "ann", CALL_WORKING, &k) == 0);
    memcpy(late, k.id.p, ID_LEN);
    put(&w, "task/a");
    CHECK(become_one(&w, live, CALL_INPUT_REQUIRED) == 0);
    CHECK(become_one(&w, late, CALL_WORKING) == 0);
    CHECK(become_one(&w, done, CALL_COMPLETED) == 0);
    compact(&w);
    CHECK(get(&w, live, &got) == 0 && got.born == 1 && got.n == 5);
    CHECK(get(&w, done, &got) == 0 && got.status == CALL_COMPLETED);
    CHECK(get(&w, late, &got) == 0 && is_replay(&w, true));
    ahead_ms = 60000; /* late's; the others have a day */
    compact(&w);
    CHECK(get(&w, live, &got) == 0 && get(&w, done, &got) == 0);
    ahead_ms = 0;
    reopen(&w);
    CHECK(get(&w, late, &got) == ERR_NOT_FOUND && is_replay(&w, true));
    world_close(&w);
    CHECK(records_of(w.path) == 4); /* and the one that closes a log */
    world_open(&w);
    ahead_ms = CALL_TTL_MS;
    compact(&w);
    world_close(&w);
    CHECK(records_of(w.path) == 2); /* the task's, and that one */
    world_open(&w);
    world_fini(&w);
}

static bool
wants_compact(struct world *w, uint64_t keys, int64_t *len)
{
    struct store_state st;

    store_state(w->s, &st);
    CHECK(st.keys == keys);
    *len = st.len;
    return store_wants_compact(w->s);
}

static void
make_many(struct world *w, int n)
{
    char id[ID_LEN];

    while (n-- > 0)
        make_one(w, "", id);
}

/* Nothing of them is superseded: that they end makes the log shrink. */
static void
test_calls_alone_are_compacted(void)
{
    char id[ID_LEN];
    struct world w;
    int64_t full, len;
    int i;

    world_init(&w);
    w.compact_at = 4096;
    reopen(&w);
    make_many(&w, 40);
    CHECK(wants_compact(&w, 40, &full));
    compact(&w); /* all live: all stay, and the next one is not now */
    for (i = 0; i < 2; i++) { /* 41: a record closed the log before */
        CHECK(!wants_compact(&w, 41, &len) && len >= full);
        CHECK(is_replay(&w, true));
        reopen(&w);
    }
    make_many(&w, 10);
    CHECK(!wants_compact(&w, 51, &len));
    lock(&w);
    for (i = 0; i < 100; i++)
        make(&w, "", id);
    CHECK(store_wants_compact(w.s));
    commit_fails(&w); /* and so they do not count */
    CHECK(!wants_compact(&w, 51, &len));
    ahead_ms = CALL_TTL_MS;
    make_many(&w, 50);
    CHECK(wants_compact(&w, 101, &len));
    compact(&w);
    reopen(&w);
    CHECK(!wants_compact(&w, 51, &len) && len < 2 * full);
    ahead_ms = 2 * CALL_TTL_MS;
    compact(&w);
    while (store_move(w.s) == ERR_MORE)
        continue;
    ahead_ms = CALL_TTL_MS; /* what is gone stays gone */
    CHECK(!wants_compact(&w, 1, &len) && is_replay(&w, true));
    ahead_ms = 2 * CALL_TTL_MS;
    reopen(&w);
    CHECK(!wants_compact(&w, 1, &len) && len < full / 10);
    world_fini(&w);
}

/* Records of calls that this binary must leave alone. */
static void
test_of_another_version(void)
{
#define FORM(n) "\"op\":\"a\",\"v\":{\"form\":" n
#define HEAD FORM("1") NO_WATCH
#define NO_WATCH ",\"status\":\"working\",\"born\":1,\"created\":17900000" \
                 "00000,\"ttl\":2592000000,\"due\":0,\"principal\":\"\""
#define REST ",\"born\":1,\"created\":1,\"ttl\":1,\"due\":0,\"principal\":" \
             "\"\",\"watch\":\"\"}"
    static const char *const bodies[] = {
        FORM("2") NO_WATCH ",\"watch\":\"task/a\"}",
        FORM("10") NO_WATCH ",\"watch\":\"task/a\"}",
        "\"op\":\"a\",\"v\":{\"status\":\"working\"" REST,
        HEAD "}", HEAD ",\"watch\":7}",
        HEAD ",\"watch\":\"\\", HEAD ",\"watch\":\"", HEAD ",\"watch\":",
        HEAD ",\"watch\":}", HEAD ",\"watch\":{\"}", HEAD ",\"watch\":[[]",
        FORM("1") ",\"status\":\"paused\"" REST,
        FORM("1") ",\"status\":\"" REST, FORM("1") ",\"status\":1" REST,
        FORM("1") "}", FORM("1"), "\"op\":\"a\",\"v\":{}", "\"op\":7",
        "\"v\":{}"};
    enum { N = sizeof bodies / sizeof *bodies };
    char id[ID_LEN], key[64], ids[2][ID_LEN];
    struct calls_counts count;
    struct world w;
    struct call k;
    uint64_t last;
    bool more;
    int i;

    world_init(&w);
    for (i = 0; i < N; i++) {
        lock(&w);
        snprintf(key, sizeof key, "call/%022d", i);
        stage(&w, key, bodies[i]);
        stage(&w, "call/short", bodies[i]);
        commit(&w);
    }
    make_one(&w, "task/a", id); /* a newer one takes it over */
    snprintf(key, sizeof key, "call/%s", id);
    lock(&w);
    stage(&w, key, bodies[0]);
    stage(&w, "task/a", "\"v\":1");
    commit(&w);
    for (i = 0; i < 2; i++) {
        CHECK(calls_list(w.c, STR_NONE, 0, ids, 2, &last, &more) == 0);
        calls_count(w.c, &count);
        CHECK(count.by_status[CALL_WORKING] == 0 && !calls_any_marked(w.c));
        CHECK(get(&w, id, &k) == ERR_NOT_FOUND);
        CHECK(get(&w, "0000000000000000000000", &k) == ERR_NOT_FOUND);
        calls_mark(w.c, str_of(id));
        CHECK(become_one(&w, id, CALL_COMPLETED) == ERR_NOT_FOUND);
        compact(&w);
    }
    lock(&w); /* an unknown member, although the form is known */
    stage(&w, key, HEAD ",\"watch\":\"task/a\",\"news\":1}");
    stage(&w, "task/a", "\"v\":1");
    commit(&w);
    CHECK(get(&w, id, &k) == ERR_NOT_FOUND);
    CHECK(become_one(&w, id, CALL_COMPLETED) == ERR_NOT_FOUND);
    world_close(&w);
    /* Of id and task/a two each, and the one that closes a log. */
    CHECK(records_of(w.path) == N + 6);
    world_open(&w);
    world_fini(&w);
#undef REST
#undef NO_WATCH
#undef HEAD
#undef FORM
}

/* ---- undo ---- */

/* Stages something that happens. */
static void
happen(struct world *w)
{
    static char ids[1000][ID_LEN];
    char text[64];
    struct call k;
    uint64_t last;
    bool more;
    size_t n = calls_list(w->c, STR_NONE, 0, ids, 1000, &last, &more);

    if (rnd(3) == 0 || n == 0) {
        snprintf(text, sizeof text, rnd(2) ? "task/%u" : "task/%u\ttask/%u",
                 rnd(8), rnd(8));
        make(w, rnd(4) ? text : "", ids[0]);
    } else if (rnd(2)) {
        snprintf(text, sizeof text, rnd(4) ? "task/%u" : "else/%u", rnd(8));
        stage(w, text, "\"v\":1");
    } else {
        CHECK(get(w, ids[rnd((uint32_t)n)], &k) == 0);
        snprintf(text, sizeof text, rnd(2) ? "task/%u" : "task/%u\ttask/%u",
                 rnd(8), rnd(8));
        k.watch = rnd(4) ? str_of(text) : k.watch;
        k.status = (enum call_status)rnd(rnd(2) ? 2 : CALL_N_STATUSES);
        CHECK(calls_stage(w->c, &w->a, &k, "wait") % ERR_TERMINAL == 0);
    }
}

/* An event for each watch marks just those that wait for it. */
static bool
chains_are_whole(struct world *w)
{
    char key[32], id[ID_LEN];
    int i;

    while (calls_next_marked(w->c, id))
        continue;
    lock(w);
    for (i = 0; i < 8; i++) {
        snprintf(key, sizeof key, "task/%d", i);
        stage(w, key, "\"v\":1");
    }
    commit(w);
    return is_replay(w, true);
}

static void
test_undo_is_exact(void)
{
    struct buf before = {0}, after = {0};
    int round, i;

    for (round = 0; round < 40; round++) {
        struct world w;

        world_init(&w);
        for (i = 0; i < 60; i++) {
            lock(&w);
            happen(&w);
            happen(&w);
            commit(&w);
        }
        CHECK(is_replay(&w, true));
        dump(&w, &before, false);
        lock(&w);
        for (i = 0; i < 100; i++)
            happen(&w);
        commit_fails(&w);
        dump(&w, &after, false);
        CHECK(is_same_text(&before, &after));
        CHECK(is_replay(&w, false) && chains_are_whole(&w));
        for (i = 0; i < 60; i++) {
            lock(&w);
            happen(&w);
            commit(&w);
        }
        CHECK(is_replay(&w, true));
        world_fini(&w);
    }
    buf_fini(&before);
    buf_fini(&after);
}

/* What a call was run for may still be news to it when that is undone. */
static void
test_undo_marks(void)
{
    char id[ID_LEN], fresh[ID_LEN], next[ID_LEN];
    struct world w;

    world_init(&w);
    make_one(&w, "task/a", id);
    put(&w, "task/a");
    CHECK(next_is(&w, id));
    lock(&w);
    CHECK(become(&w, id, CALL_COMPLETED) == 0);
    make(&w, "task/a", fresh);
    stage(&w, "task/a", "\"v\":1");
    CHECK(marked(&w, fresh) && !marked(&w, id));
    commit_fails(&w);
    CHECK(marked(&w, id) && !marked(&w, fresh));
    CHECK(calls_next_marked(w.c, next) && strcmp(next, id) == 0);
    CHECK(!calls_next_marked(w.c, next) && !calls_any_marked(w.c));
    world_fini(&w);
}

/* ---- no memory ---- */

static void
test_no_memory(void)
{
    char id[ID_LEN];
    struct world w;
    struct call k;
    long after;
    int step, rounds = 0;

    world_init(&w);
    for (step = 0; step < 70; step++) /* beyond what slots begin with */
        for (after = 0;; after++, rounds++) {
            bool hit, unknown;
            int rc;

            k = (struct call){.shape = STR("1"), .watch = STR("owner/\""),
                              .args = STR("{}")};
            CHECK(store_lock_patiently(w.s) == 0);
            arena_fini(&w.a);
            nomem_start(after, after % 2);
            rc = calls_create(w.c, &w.a, &k);
            if (rc == 0) {
                memcpy(id, k.id.p, ID_LEN);
                rc = get(&w, id, &k);
            }
            k.status = step % 2 ? CALL_WORKING : CALL_FAILED;
            k.state = STR("\n");
            if (rc == 0)
                rc = calls_stage(w.c, &w.a, &k, "wait");
            hit = nomem_stop();
            CHECK(rc == 0 || (hit && rc == ERR_NOMEM));
            if (rc == 0)
                CHECK(get(&w, id, &k) == 0);
            disk_full = rc != 0 && store_staged_n(w.s) > 0;
            rc = store_commit(w.s, &unknown);
            CHECK(rc == 0 || rc == ERR_FULL);
            disk_full = false;
            store_unlock(w.s);
            if (!hit)
                break;
        }
    CHECK(rounds > 200);
    make_one(&w, "", id);
    CHECK(is_replay(&w, true));
    world_fini(&w);
}

static void
test_no_memory_to_open(void)
{
    char id[ID_LEN];
    struct world w;
    long after;
    int i;

    world_init(&w);
    for (i = 0; i < 70; i++)
        make_one(&w, i % 2 ? "task/a" : "owner/\"", id);
    world_close(&w);
    for (after = 0;; after++) {
        bool hit;
        int rc;

        nomem_start(after, after % 2);
        rc = try_open(&w);
        hit = nomem_stop();
        CHECK(rc == 0 || hit);
        if (rc == 0) {
            CHECK(store_follow(w.s) == 0 && is_replay(&w, true));
            world_close(&w);
        }
        if (!hit)
            break;
    }
    CHECK(after > 10);
    world_fini(&w);
}

/* ---- instances ---- */

/* A child that opens the store and tells its instance, then lives until it
   is killed. */
static pid_t
begin_instance(const char *path, uint64_t *instance)
{
    int fd[2];
    pid_t pid;

    if (pipe(fd) != 0)
        abort();
    pid = child_begin();
    if (pid == 0) {
        struct world mine = {.path = (char *)(uintptr_t)path};

        world_open(&mine);
        *instance = store_instance(mine.s);
        for (int i = 0; i < 3; i++)
            put(&mine, "task/a");
        CHECK(store_instance(mine.s) == *instance);
        if (write(fd[1], instance, sizeof *instance) !=
                (ssize_t)sizeof *instance)
            abort();
        for (;;)
            pause();
    }
    close(fd[1]);
    CHECK(read(fd[0], instance, sizeof *instance) ==
          (ssize_t)sizeof *instance);
    close(fd[0]);
    return pid;
}

static void
end_instance(pid_t pid)
{
    int status;

    CHECK(kill(pid, SIGKILL) == 0);
    CHECK(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status));
}

static void
test_instances(void)
{
    static const uint64_t none[] = {0, 1, 2, 1 << 20, UINT64_C(1) << 41,
                                    UINT64_C(1) << 50, UINT64_C(1) << 63,
                                    UINT64_MAX};
    uint64_t me, a, b;
    pid_t pid_a, pid_b;
    struct world w;
    size_t i;

    world_init(&w);
    CHECK(store_instance(w.s) == 0); /* nothing to lock yet */
    put(&w, "task/a");
    me = store_instance(w.s);
    CHECK(me >= 1 << 20 && me == store_instance(w.s));
    pid_a = begin_instance(w.path, &a);
    pid_b = begin_instance(w.path, &b);
    CHECK(a != 0 && b != 0 && a != b && a != me && b != me);
    CHECK(store_alive(w.s, me) && store_alive(w.s, a) && store_alive(w.s, b));
    end_instance(pid_a);
    CHECK(!store_alive(w.s, a) && store_alive(w.s, b));
    compact(&w);
    CHECK(store_alive(w.s, b) && store_instance(w.s) == me);
    end_instance(pid_b);
    CHECK(!store_alive(w.s, b));
    lock(&w); /* the bytes of other locks are no instances */
    for (i = 0; i < sizeof none / sizeof *none; i++)
        CHECK(!store_alive(w.s, none[i]));
    store_unlock(w.s);
    world_fini(&w);
}

/* Somebody removes the lock file: the next one who writes makes another. */
static void
test_instance_in_another_lock_file(void)
{
    uint64_t me, alive;
    struct world w;
    pid_t pid;

    world_init(&w);
    put(&w, "task/a");
    me = store_instance(w.s);
    CHECK(unlink(path_with(w.path, ".lock")) == 0);
    put(&w, "task/a");
    CHECK(me != 0 && store_instance(w.s) == me);
    pid = child_begin();
    if (pid == 0) {
        struct world mine = {.path = w.path};

        world_open(&mine);
        CHECK(store_alive(mine.s, me));
        world_close(&mine);
        child_end();
    }
    CHECK(child_ok(pid));
    pid = begin_instance(w.path, &alive);
    CHECK(store_alive(w.s, alive));
    end_instance(pid);
    CHECK(!store_alive(w.s, alive) && store_alive(w.s, me));
    world_fini(&w);
}

int
main(void)
{
    test_in_memory();
    test_statuses();
    test_whole_call();
    test_line_feeds();
    test_ids_and_principals();
    test_ends_once();
    test_what_may_follow();
    test_what_marks();
    test_next_name();
    test_two_names();
    test_own_record_takes_mark_off();
    test_marks_by_hand();
    test_marks_across_processes();
    test_marks_after_replay();
    test_what_a_run_has_seen();
    test_due();
    test_ttl();
    test_time_is_over();
    test_limits();
    test_too_large();
    test_list();
    test_memory_of_a_call();
    test_compaction();
    test_calls_alone_are_compacted();
    test_of_another_version();
    test_undo_is_exact();
    test_undo_marks();
    test_no_memory();
    test_no_memory_to_open();
    test_instances();
    test_instance_in_another_lock_file();
    return test_end("t_call");
}
