/* The marks of deferred calls: no event is missed by a call that waits for it,
   in any process; and what removes a mark. */

#include "tests/lib/calls.h"

TEST(what_marks)
{
    char a[ID_LEN], b[ID_LEN], owned[ID_LEN], odd[ID_LEN], none[ID_LEN];
    struct world w;

    world_init(&w);
    make_one(&w, "task/a", a);
    make_one(&w, "task/b", b);
    make_one(&w, "owner/ann", owned);
    make_one(&w, "owner/\"b\\", odd);
    make_one(&w, "", none);
    CHECK(!calls_any_marked(w.calls) && !marked(&w, a));
    put(&w, "task/c");
    put(&w, "task/aa");
    put(&w, "else/task/a");
    put_owned(&w, "an");
    CHECK(!calls_any_marked(w.calls));
    put(&w, "task/b");
    put_owned(&w, "\\\"b\\\\");
    put(&w, "task/a");
    put_owned(&w, "ann");
    put(&w, "task/b"); /* already marked: it keeps its place */
    CHECK(marked(&w, a) && marked(&w, b) && marked(&w, owned) &&
          marked(&w, odd) && !marked(&w, none));
    CHECK(is_replay(&w, true));
    CHECK(next_is(&w, b) && next_is(&w, odd) && next_is(&w, a) &&
          next_is(&w, owned) && !calls_any_marked(w.calls));
    CHECK(!next_is(&w, a) && !marked(&w, a));
    world_fini(&w);
}

TEST(next_name)
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

/* An event of each of the names marks id; no other event does. */
static void
check_names(struct world *w, const char *id)
{
    put(w, "task/a");
    CHECK(next_is(w, id) && !calls_any_marked(w->calls));
    put_owned(w, "ann");
    CHECK(next_is(w, id) && !calls_any_marked(w->calls));
    put_owned(w, "bob|ann");
    CHECK(next_is(w, id) && !calls_any_marked(w->calls));
    put(w, "task/owner/ann");
    CHECK(!calls_any_marked(w->calls));
}

TEST(two_names)
{
    char id[ID_LEN], twice[ID_LEN];
    struct world w;
    struct call k;

    world_init(&w);
    make_one(&w, "task/b\ttask/b", twice);
    make_one(&w, "task/a\towner/ann", id);
    check_names(&w, id);
    put(&w, "task/b");
    CHECK(next_is(&w, twice) && !calls_any_marked(w.calls));
    lock(&w);
    CHECK(get(&w, id, &k) == 0);
    k.watch = STR("task/b\ttask/c");
    CHECK(calls_stage(w.calls, &k, "wait") == 0);
    commit_fails(&w);
    CHECK(next_is(&w, id)); /* it may have been run in vain */
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
    CHECK(!calls_any_marked(w.calls));
    world_fini(&w);
}

TEST(own_record_takes_mark_off)
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
    CHECK(calls_stage(w.calls, &k, "wait") == 0);
    stage(&w, "task/a", "\"v\":3");
    CHECK(!marked(&w, a));
    stage(&w, "task/other", "\"v\":3");
    commit(&w);
    CHECK(marked(&w, a) && next_is(&w, a) && !calls_any_marked(w.calls));
    world_fini(&w);
}

TEST(marks_by_hand)
{
    char a[ID_LEN], b[ID_LEN], c[ID_LEN];
    struct world w;

    world_init(&w);
    make_one(&w, "", a);
    make_one(&w, "task/b", b);
    make_one(&w, "task/c", c);
    calls_mark(w.calls, str_of(c));
    calls_mark(w.calls, str_of(a));
    calls_mark(w.calls, str_of(b));
    calls_unmark(w.calls, str_of(a));
    calls_unmark(w.calls, str_of(a));
    CHECK(!marked(&w, a) && marked(&w, b) && calls_any_marked(w.calls));
    CHECK(next_is(&w, c) && next_is(&w, b) && !next_is(&w, a));
    CHECK(become_one(&w, a, CALL_FAILED) == 0);
    calls_mark(w.calls, str_of(a)); /* it has ended */
    CHECK(!calls_any_marked(w.calls) && !next_is(&w, a));
    calls_mark(w.calls, str_of(b));
    CHECK(become_one(&w, b, CALL_CANCELLED) == 0);
    CHECK(!calls_any_marked(w.calls) && !next_is(&w, b));
    world_fini(&w);
}

TEST(marks_across_processes)
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
        struct world mine = world_beside(&w);

        world_open(&mine, NULL);
        put(&mine, "task/a");
        put_owned(&mine, "ann");
        CHECK(marked(&mine, a) && become_one(&mine, a, CALL_FAILED) == 0);
        world_close(&mine);
        child_end();
    }
    CHECK(child_ok(pid) && !calls_any_marked(w.calls));
    CHECK(store_follow(w.s) == 0);
    CHECK(!marked(&w, a) && marked(&w, b) && next_is(&w, b));
    CHECK(get(&w, a, &k) == 0 && k.status == CALL_FAILED);
    CHECK(become_one(&w, a, CALL_COMPLETED) == ERR_TERMINAL);
    put(&w, "task/a");
    CHECK(!calls_any_marked(w.calls));
    world_fini(&w);
}

TEST(marks_after_replay)
{
    char a[ID_LEN], b[ID_LEN], c[ID_LEN], d[ID_LEN];
    struct world w;

    world_init(&w);
    put(&w, "task/a");
    make_one(&w, "task/a", a); /* nothing since */
    make_one(&w, "task/b", b);
    make_one(&w, "task/b", c); /* then its own event */
    make_one(&w, "task/b", d); /* then it ended */
    put(&w, "task/b");
    CHECK(become_one(&w, c, CALL_INPUT_REQUIRED) == 0);
    CHECK(become_one(&w, d, CALL_COMPLETED) == 0);
    CHECK(next_is(&w, b)); /* then this process ended */
    reopen(&w);
    CHECK(!marked(&w, a) && marked(&w, b) && !marked(&w, c) &&
          !marked(&w, d));
    compact(&w);
    CHECK(!marked(&w, a) && marked(&w, b) && !marked(&w, c) &&
          !marked(&w, d));
    CHECK(is_replay(&w, true));
    world_fini(&w);
}

int
main(void)
{
    test_in_memory();
    test_run();
    return test_end("call_marks");
}
