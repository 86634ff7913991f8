/* Idempotency keys: which answer a key repeats and to whom, for how long, and
   how many are kept. */

#include "tests/lib/catalogue.h"

/* ---- idempotency ---- */

TEST(idempotency)
{
    static const char first[] = "{'task_id':'a','agent':'me','notes':'one',"
        "'completed_steps':['x'],'idempotency_key':'k1'}";
    static const char same[] = "{'idempotency_key':'k1','completed_steps': "
        "['x'], 'agent':'me','notes':'one','task_id':'a'}";
    static const struct step others[] = {
        {"save_checkpoint", "{'task_id':'a','agent':'me','notes':'two',"
         "'idempotency_key':'k1'}", "idempotency_conflict", 0, 0},
        {"save_checkpoint", "{'task_id':'a','agent':'you','notes':'two',"
         "'idempotency_key':'k1'}", 0, 0, 0},
        {"update_task", "{'task_id':'a','agent':'me','goal':'g',"
         "'idempotency_key':'k1'}", 0, 0, 0},
    };
    struct fixture f;
    char answer[1024];
    int round;

    fixture_init(&f);
    f.env.ownership_warn = true;
    call(&f, "create_task", "{'task_id':'a','title':'A'}");
    call(&f, "save_checkpoint", first);
    CHECK(ok(&f) && f.out.len < sizeof answer);
    snprintf(answer, sizeof answer, "%.*s", STR_ARG(buf_view(&f.out)));
    RUN_STEPS(&f, others);
    for (round = 0; round < 3; round++) {
        call(&f, "save_checkpoint", same);
        CHECK(ok(&f) && str_is(buf_view(&f.out), answer));
        if (round == 0)
            reopen(&f);
        if (round == 1)
            while (store_compact(f.s) == ERR_PENDING)
                continue;
    }
    call(&f, "get_task", "{'task_id':'a'}");
    CHECK(number(&f, "version") == 4);
    /* A request that fails is not remembered. */
    call(&f, "update_task", "{'task_id':'a','status':'done',"
         "'expected_version':99,'idempotency_key':'k2'}");
    CHECK(failed(&f, "version_conflict"));
    call(&f, "update_task", "{'task_id':'a','status':'cancelled',"
         "'expected_version':4,'idempotency_key':'k2'}");
    CHECK(ok(&f) && number(&f, "version") == 5);
    /* A repeated request succeeds even if it would fail now. */
    call(&f, "update_task", "{'task_id':'a','status':'cancelled',"
         "'expected_version':4,'idempotency_key':'k2'}");
    CHECK(ok(&f) && number(&f, "version") == 5);
    call(&f, "create_task", "{'title':'minted','idempotency_key':'k3'}");
    snprintf(answer, sizeof answer, "%.*s", STR_ARG(buf_view(&f.out)));
    call(&f, "create_task", "{'title':'minted','idempotency_key':'k3'}");
    CHECK(str_is(buf_view(&f.out), answer));
    call(&f, "attach_artifact", "{'task_id':'a','name':'n','content':'c'}");
    CHECK(failed(&f, "terminal"));
    fixture_fini(&f);
}

/* The key of several tasks still answers for all of them when each has changed
   and the log was compacted. */
TEST(key_of_several_tasks)
{
    static const char plan[] = "{'agent':'me','idempotency_key':'k','tasks':["
        "{'task_id':'a','title':'A'},{'task_id':'b','title':'B'},"
        "{'task_id':'c','title':'C'}]}";
    char answer[256], args[100];
    struct fixture f;

    fixture_init(&f);
    call(&f, "create_task", plan);
    CHECK(ok(&f) && f.out.len < sizeof answer);
    snprintf(answer, sizeof answer, "%.*s", STR_ARG(buf_view(&f.out)));
    for (const char *id = "abc"; *id != '\0'; id++) {
        snprintf(args, sizeof args, "{'task_id':'%c','goal':'g'}", *id);
        call(&f, "update_task", args);
        CHECK(ok(&f));
    }
    while (store_compact(f.s) == ERR_PENDING)
        continue;
    reopen(&f);
    call(&f, "create_task", plan);
    CHECK(str_is(buf_view(&f.out), answer));
    fixture_fini(&f);
}

/* Keys are separate for each principal, even under one agent's name. */
TEST(keys_of_principals)
{
    static const char args[] = "{'task_id':'a','notes':'n','agent':'me',"
                               "'idempotency_key':'k'}";
    static const struct {
        const char *principal;
        int64_t version;
    } cases[] = {
        {"me", 2}, {NULL, 3}, {"me", 2}, {NULL, 3}, {"", 3}, {"you", 4},
        {"me", 2}, {"you", 4},
    };
    struct fixture f;
    size_t i;

    fixture_init(&f);
    f.env.ownership_warn = true;
    call(&f, "create_task", "{'task_id':'a','title':'A'}");
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *p = f.principal = cases[i].principal;

        /* With a token the agent may be left out. */
        call(&f, "save_checkpoint", p && strcmp(p, "you") == 0
             ? "{'task_id':'a','notes':'n','idempotency_key':'k'}" : args);
        if (!CHECK(ok(&f) && number(&f, "version") == cases[i].version))
            fprintf(stderr, "  case %zu\n", i);
        if (i == 4)
            reopen(&f);
    }
    f.principal = "me";
    call(&f, "save_checkpoint", "{'task_id':'a','notes':'n',"
         "'idempotency_key':'k'}");
    CHECK(ok(&f) && number(&f, "version") == 2);
    call(&f, "save_checkpoint", "{'task_id':'a','notes':'other',"
         "'idempotency_key':'k'}");
    CHECK(failed(&f, "idempotency_conflict"));
    CHECK(is_replay(&f));
    fixture_fini(&f);
}

/* Whether the last answer contains what. */
static bool
answer_has(struct fixture *f, const char *what)
{
    struct str want = quoted(&f->a, what), text = buf_view(&f->out);
    size_t i;

    for (i = 0; i + want.len <= text.len; i++)
        if (memcmp(text.p + i, want.p, want.len) == 0)
            return true;
    fprintf(stderr, "no %s in %.*s\n", what, STR_ARG(text));
    return false;
}

TEST(who_takes_over_owns)
{
    struct fixture f;

    fixture_init(&f);
    call(&f, "create_task", "{'task_id':'a','title':'A'}");
    call(&f, "save_checkpoint", "{'task_id':'a','agent':'x','notes':'mind "
         "the gap'}");
    call(&f, "get_task", "{'task_id':'a'}");
    CHECK(answer_has(&f, "'notes':'mind the gap'"));
    call(&f, "handoff_task", "{'task_id':'a','from_agent':'x',"
         "'to_agent':'y'}");
    call(&f, "update_task", "{'task_id':'a','agent':'w',"
         "'status':'in_progress'}");
    CHECK(failed(&f, "kept"));
    call(&f, "save_checkpoint", "{'task_id':'a','agent':'w'}");
    CHECK(failed(&f, "kept") && has(&f, "holder", "y"));
    call(&f, "update_task", "{'task_id':'a','agent':'y',"
         "'status':'in_progress'}");
    CHECK(ok(&f));
    call(&f, "get_task", "{'task_id':'a'}");
    CHECK(has(&f, "current_owner", "y"));
    call(&f, "update_task", "{'task_id':'a','agent':'w',"
         "'status':'in_progress'}");
    CHECK(failed(&f, "lease_held"));
    /* A checkpoint of work that goes on takes nothing from its owner. */
    clock_ahead_s = 960;
    call(&f, "save_checkpoint", "{'task_id':'a','agent':'w'}");
    CHECK(ok(&f) && warned(&f, "another agent owns this task"));
    clock_ahead_s = 0;
    call(&f, "mark_exhausted", "{'task_id':'a','agent':'y'}");
    call(&f, "update_task", "{'task_id':'a','agent':'v','status':"
         "'in_progress','current_owner':'u'}");
    CHECK(answer_has(&f, "'current_owner':'u'"));
    call(&f, "create_task", "{'task_id':'b','title':'B',"
         "'depends_on':['a']}");
    call(&f, "save_checkpoint", "{'task_id':'b','agent':'x'}");
    call(&f, "update_task", "{'task_id':'b','agent':'x','status':'done'}");
    CHECK(answer_has(&f, "done, but tasks that it depends on are not"));
    call(&f, "get_task", "{'task_id':'a','section':'artifact',"
         "'artifact_id':'a9'}");
    CHECK(answer_has(&f, "call get_task to list the"));
    fixture_fini(&f);
}

TEST(what_a_day_changes)
{
    static const char start[] = "{'task_id':'a','agent':'me','status':"
        "'in_progress','idempotency_key':'k'}";
    struct fixture f;

    fixture_init(&f);
    call(&f, "create_task", "{'task_id':'a','title':'A'}");
    call(&f, "update_task", start);
    clock_ahead_s = 24 * 60 * 60 - 60;
    call(&f, "update_task", start);
    CHECK(number(&f, "version") == 2);
    call(&f, "list_tasks", "{'stale':true}");
    CHECK(number(&f, "total") == 0);
    clock_ahead_s += 120;
    call(&f, "list_tasks", "{'stale':true}");
    CHECK(number(&f, "total") == 1);
    call(&f, "get_task", "{'task_id':'a'}");
    CHECK(json_get(f.json, "stale")->type == JSON_TRUE);
    call(&f, "update_task", start); /* the key is forgotten */
    CHECK(ok(&f) && number(&f, "version") == 3);
    call(&f, "list_tasks", "{'stale':false}");
    CHECK(number(&f, "total") == 1);
    clock_ahead_s = 0;
    fixture_fini(&f);
}

/* Nobody can predict which keys share a hash: it includes a secret. */
TEST(hashes_of_keys_are_secret)
{
    static const char idem[] = "{\"key\":\"k\",\"who\":\"me\"}";
    static const char other[] = "{\"key\":\"k\",\"who\":\"you\"}";
    struct tasks *t[] = {tasks_new(), tasks_new()};
    uint64_t h[2], who, another;
    int i;

    for (i = 0; i < 2; i++) {
        h[i] = task_key_hash(t[i], STR("create"), STR("\"me\""),
                             str_of(idem), &who);
        CHECK(h[i] == task_key_hash(t[i], STR("create"), STR("\"me\""),
                                    str_of(idem), &who));
        CHECK(h[i] != task_key_hash(t[i], STR("update"), STR("\"me\""),
                                    str_of(idem), &who));
        task_key_hash(t[i], STR("create"), STR("\"me\""), str_of(other),
                      &another);
        CHECK(who != another); /* each principal has its own */
    }
    CHECK(h[0] != h[1]);
    for (i = 0; i < 2; i++)
        tasks_free(t[i]);
}

TEST(key_table_is_bounded)
{
    static struct task_keys k;
    uint64_t i, n;

    CHECK(keys_add(&k, 8, 7, 1) == 0); /* the only key of another principal */

    for (i = 1; i <= 300000; i++)
        if (!CHECK(keys_add(&k, 7, i * 7, i) == 0))
            break;
    n = UINT64_MAX;
    CHECK(keys_find(&k, 7, 300000 * 7, &n) && n == 300000);
    n = UINT64_MAX;
    CHECK(keys_find(&k, 7, (300000 - TASK_KEYS_MAX + 1) * 7, &n));
    n = UINT64_MAX;
    CHECK(!keys_find(&k, 7, (300000 - TASK_KEYS_MAX) * 7, &n));
    n = UINT64_MAX;
    CHECK(keys_find(&k, 8, 7, &n) && n == 1);
    keys_undo(&k, 299999); /* not the newest */
    for (i = 300000; i > 300000 - 20000; i--) {
        keys_undo(&k, i);
        n = UINT64_MAX;
        CHECK(!keys_find(&k, 7, i * 7, &n));
    }
    n = UINT64_MAX;
    CHECK(keys_find(&k, 7, (300000 - 20000 - TASK_KEYS_MAX + 1) * 7, &n));
    CHECK(k.ring[7]->cap * (sizeof(struct task_key_slot) + sizeof(uint64_t)) <
          6u << 20);
    keys_fini(&k);
}
