/* Deferred calls: what the store keeps of one, that it ends once, when it
   expires, and how many there may be. */

#include "tests/lib/calls.h"

/* ---- one call ---- */

TEST(statuses)
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

TEST(whole_call)
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
    CHECK(calls_create(w.calls, &w.a, &all) == 0 && all.n == 1 &&
          all.born == 1);
    CHECK(calls_create(w.calls, &w.a, &few) == 0 && few.n == 2 &&
          few.born == 2);
    CHECK(get(&w, all.id.p, &k) == 0 && same_call(&k, &all)); /* staged */
    commit(&w);
    CHECK(get(&w, all.id.p, &k) == 0 && same_call(&k, &all));
    CHECK(k.created_ms == k.updated_ms && k.created_ms > 1500000000000);
    CHECK(get(&w, few.id.p, &k) == 0 && same_call(&k, &few));
    CHECK(k.args.p == NULL && k.questions.p == NULL && k.round == 0);
    lock(&w);
    all.round++;
    all.state = all.questions = STR_NONE;
    CHECK(calls_stage(w.calls, &all, "wait") == 0 && all.n == 3);
    all.status = CALL_COMPLETED; /* again in the same batch */
    CHECK(calls_stage(w.calls, &all, "end") == 0 && all.n == 4);
    commit(&w);
    CHECK(get(&w, all.id.p, &k) == 0 && same_call(&k, &all) && k.born == 1);
    CHECK(is_replay(&w, true));
    world_fini(&w);
}

/* JSON from outside may have line feeds between its tokens. */
TEST(line_feeds)
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

TEST(ids_and_principals)
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
    CHECK(calls_get(w.calls, &w.a, str_of(a), ME, &k) == 0);
    CHECK(str_is(k.id, a) && str_eq(k.principal, ME));
    CHECK(calls_get(w.calls, &w.a, str_of(a), STR("you"), &k) == ERR_NOT_FOUND);
    CHECK(calls_get(w.calls, &w.a, str_of(a), STR(""), &k) == ERR_NOT_FOUND);
    for (i = 0; i < sizeof none / sizeof *none; i++) {
        CHECK(get(&w, none[i], &k) == ERR_NOT_FOUND);
        CHECK(!marked(&w, none[i]));
        calls_mark(w.calls, str_of(none[i]));
        calls_unmark(w.calls, str_of(none[i]));
    }
    CHECK(!calls_any_marked(w.calls));
    world_fini(&w);
}

TEST(ends_once)
{
    char id[ID_LEN];
    struct call first, second;
    struct world w;

    world_init(&w);
    make_one(&w, "task/a", id);
    lock(&w);
    CHECK(get(&w, id, &first) == 0 && get(&w, id, &second) == 0);
    first.round = second.round = 1;
    CHECK(calls_stage(w.calls, &first, "wait") == 0);
    CHECK(calls_stage(w.calls, &second, "wait") == ERR_VERSION);
    first.status = CALL_CANCELLED;
    second.status = CALL_COMPLETED;
    CHECK(calls_stage(w.calls, &first, "cancel") == 0);
    CHECK(calls_stage(w.calls, &second, "end") == ERR_TERMINAL);
    CHECK(calls_stage(w.calls, &first, "cancel") == ERR_TERMINAL);
    first.id = STR("aaaaaaaaaaaaaaaaaaaaaa");
    CHECK(calls_stage(w.calls, &first, "end") == ERR_NOT_FOUND);
    commit(&w);
    CHECK(get(&w, id, &first) == 0 && first.status == CALL_CANCELLED);
    CHECK(is_replay(&w, true));
    world_fini(&w);
}

/* A live status may change to any other, one that has ended to none. */
TEST(what_may_follow)
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

/* ---- time ---- */

/* What a run has seen is not news to the next run. What was only staged then
   is, and to another process everything is. */
TEST(what_a_run_has_seen)
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
    calls_saw(w.calls, str_of(id));
    CHECK(get(&w, id, &k) == 0 && k.since == 2);
    commit(&w);
    CHECK(get(&w, id, &k) == 0 && k.since == 2);
    calls_saw(w.calls, str_of(id));
    CHECK(get(&w, id, &k) == 0 && k.since == 3);
    reopen(&w);
    CHECK(get(&w, id, &k) == 0 && k.since == 0 && marked(&w, id));
    lock(&w);
    calls_saw(w.calls, str_of(id));
    CHECK(get(&w, id, &k) == 0 && calls_stage(w.calls, &k, "wait") == 0);
    commit(&w);
    reopen(&w);
    CHECK(get(&w, id, &k) == 0 && k.since == 3 && !marked(&w, id));
    world_fini(&w);
}

TEST(due)
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
        CHECK(marked(&w, id) && !calls_any_marked(w.calls));
        reopen(&w);
        CHECK(marked(&w, id) && get(&w, id, &got) == 0);
        lock(&w);
        got.due_ms = store_now_ms(w.s) + 30000;
        CHECK(calls_stage(w.calls, &got, "wait") == 0);
        commit(&w);
    }
    lock(&w);
    CHECK(get(&w, id, &got) == 0);
    got.due_ms = 1; /* long past */
    CHECK(calls_stage(w.calls, &got, "wait") == 0 && marked(&w, id));
    got.due_ms = INT64_MAX;
    CHECK(calls_stage(w.calls, &got, "wait") == 0 && !marked(&w, id));
    commit(&w);
    CHECK(get(&w, id, &k) == 0 && k.due_ms == INT64_MAX);
    CHECK(become_one(&w, id, CALL_COMPLETED) == 0);
    world_fini(&w);
}

TEST(ttl)
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

TEST(expired_calls)
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
    calls_count(w.calls, &count);
    CHECK(count.by_status[CALL_WORKING] == 1 && count.oldest_ms == 10000);
    CHECK(calls_list(w.calls, ME, 0, ids, 4, &last, &more) == 1);
    CHECK(get(&w, k.id.p, &got) == 0 && marked(&w, k.id.p));
    ahead_ms = 60000;
    CHECK(get(&w, k.id.p, &got) == ERR_NOT_FOUND && !marked(&w, k.id.p));
    CHECK(calls_any_marked(w.calls) && !calls_next_marked(w.calls, next));
    CHECK(!calls_any_marked(w.calls));
    CHECK(become_one(&w, k.id.p, CALL_COMPLETED) == ERR_NOT_FOUND);
    CHECK(calls_list(w.calls, ME, 0, ids, 4, &last, &more) == 0 && !more);
    calls_count(w.calls, &count);
    CHECK(count.by_status[CALL_WORKING] == 0 && count.oldest_ms == 0);
    world_fini(&w);
}

/* ---- many calls ---- */

TEST(limits)
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

TEST(too_large)
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
    CHECK(calls_create(w.calls, &w.a, &k) == ERR_TOO_LARGE);
    CHECK(str_is(k.message, "the call is too large to store"));
    CHECK(store_staged_n(w.s) == 0);
    k.state = STR_NONE;
    CHECK(calls_create(w.calls, &w.a, &k) == 0);
    k.state = (struct str){big, STORE_MAX_RECORD};
    CHECK(calls_stage(w.calls, &k, "wait") == ERR_TOO_LARGE);
    k.state = STR_NONE;
    k.status = CALL_FAILED; /* still of the newest record */
    CHECK(calls_stage(w.calls, &k, "end") == 0);
    commit(&w);
    free(big);
    world_fini(&w);
}

/* Reads principal's list in pages, with the ids in list. Returns their
   number. */
static size_t
read_pages(struct world *w, struct str principal, size_t page,
           char list[][ID_LEN])
{
    uint64_t before = 0;
    size_t n = 0, got;
    bool more = true;

    while (more) {
        got = calls_list(w->calls, principal, before, list + n, page, &before,
                         &more);
        CHECK(got == page || !more);
        n += got;
    }
    return n;
}

TEST(list)
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
    CHECK(calls_list(w.calls, ME, 0, list, 4, &last, &more) == 0 && !more);
    for (i = 0; i < N; i++) {
        CHECK(create_of(&w, i % 2 ? "ann" : "bob", CALL_WORKING, &k) == 0);
        memcpy(made[i], k.id.p, ID_LEN);
    }
    /* Older calls change, which does not move them in the list. */
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
        if (round == 0) /* then the records are in another order */
            compact(&w);
        else
            reopen(&w);
    }
    CHECK(calls_list(w.calls, STR("ann"), 0, list, 4, &last, &more) == 4 &&
          more);
    CHECK(create_of(&w, "ann", CALL_WORKING, &k) == 0);
    CHECK(calls_list(w.calls, STR("ann"), last, list, 4, &last, &more) == 4);
    CHECK(strcmp(list[0], made[N - 9]) == 0); /* a new one moves no other */
    CHECK(calls_list(w.calls, STR("ann"), 0, list, 1, &last, &more) == 1);
    CHECK(strcmp(list[0], k.id.p) == 0);
    world_fini(&w);
}

static size_t
heap_of(struct world *w)
{
    struct calls_counts count;
    struct store_state st;

    st = *store_state(w->s);
    calls_count(w->calls, &count);
    return st.index_bytes + count.bytes;
}

TEST(memory_of_a_call)
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
    for (i = 0; calls_next_marked(w.calls, id); i++)
        continue;
    CHECK(i == N / 2);
    world_fini(&w);
}

int
main(void)
{
    test_in_memory();
    test_run();
    return test_end("call");
}
