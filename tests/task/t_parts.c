/* Tasks that are parts of another one. */

#include "tests/lib/catalogue.h"
#include "task/query.h"

/* Whether id has as many parts, unfinished, done and failed ones. */
static bool
has_parts(const struct fixture *f, const char *id, unsigned total,
          unsigned unfinished, unsigned done, unsigned failed)
{
    struct task_parts p = tasks_parts(f->t, str_of(id));

    return p.total == total && p.unfinished == unfinished && p.done == done &&
           p.failed == failed;
}

/* Archives a task, as the command does. */
static void
archive(struct fixture *f, const char *id)
{
    struct store_rec r;
    bool unknown;
    char key[40];

    snprintf(key, sizeof key, "task/%s", id);
    CHECK(store_lock(f->s) == 0 &&
          store_read(f->s, store_find(f->s, str_of(key)), &f->a, &r) == 0 &&
          task_archive(f->t, &r) == 0 && store_commit(f->s, &unknown) == 0);
    store_unlock(f->s);
}

/* An epic e of four parts. */
static void
begin(struct fixture *f)
{
    fixture_init(f);
    STEPS(f, {"create_task", "{'tasks':[{'task_id':'e','title':'E'},"
              "{'task_id':'a','title':'A','parent_id':'e'},"
              "{'task_id':'b','title':'B','parent_id':'e'},"
              "{'task_id':'c','title':'C','parent_id':'e'},"
              "{'task_id':'d','title':'D','parent_id':'e'}]}", 0, 0, 0});
}

/* ---- how many there are ---- */

/* The numbers follow each change of a part, and are the same after a replay of
   the log, in which a part may come before what it is a part of. */
TEST(parts_are_counted)
{
    struct fixture f;

    begin(&f);
    CHECK(has_parts(&f, "e", 4, 4, 0, 0) && has_parts(&f, "a", 0, 0, 0, 0));
    STEPS(&f, {"update_task", "{'task_id':'a','status':'done'}", 0, 0, 0},
          {"update_task", "{'task_id':'b','status':'failed'}", 0, 0, 0},
          {"update_task", "{'task_id':'c','status':'cancelled'}", 0, 0, 0},
          {"update_task", "{'task_id':'e','goal':'last'}", 0, 0, 0});
    CHECK(has_parts(&f, "e", 4, 1, 1, 1));
    archive(&f, "a");
    archive(&f, "b");
    archive(&f, "c");
    CHECK(has_parts(&f, "e", 4, 1, 1, 1));
    while (store_compact(f.s) == ERR_PENDING)
        continue;
    CHECK(has_parts(&f, "e", 4, 1, 1, 1) && is_replay(&f));
    reopen(&f);
    CHECK(has_parts(&f, "e", 4, 1, 1, 1));
    STEPS(&f, {"create_task", "{'task_id':'n','title':'N'}", 0, 0, 0},
          {"update_task", "{'task_id':'d','parent_id':'n'}", 0, 0, 0});
    CHECK(has_parts(&f, "e", 3, 0, 1, 1) && has_parts(&f, "n", 1, 1, 0, 0));
    CHECK(strcmp(import(&f, "{'task_id':'a','title':'A','parent_id':'e'}"),
                 "") == 0 && has_parts(&f, "e", 3, 1, 0, 1));
    STEPS(&f, {"update_task", "{'task_id':'d','clear':['parent_id']}", 0, 0,
               0});
    CHECK(has_parts(&f, "n", 0, 0, 0, 0));
    fixture_fini(&f);
}

/* What an import adds before its parent is counted, too. */
TEST(parts_come_first)
{
    struct fixture f;

    fixture_init(&f);
    CHECK(strcmp(import(&f, "{'task_id':'p','title':'P','parent_id':'e'}"),
                 "") == 0);
    CHECK(strcmp(import(&f, "{'task_id':'e','title':'E'}"), "") == 0);
    CHECK(has_parts(&f, "e", 1, 1, 0, 0));
    /* No more than the parent's name: it also owns the task. */
    STEPS(&f, {"update_task", "{'task_id':'p','current_owner':'e',"
               "'tags':['e'],'status':'done'}", 0, 0, 0});
    CHECK(has_parts(&f, "e", 1, 0, 1, 0));
    fixture_fini(&f);
}

/* ---- what is ready ---- */

/* Whether a claim of any task by agent gets this one; "": none. */
static bool
gets(struct fixture *f, const char *agent, const char *id)
{
    char args[60];

    snprintf(args, sizeof args, "{'agent':'%s'}", agent);
    call(f, "claim_task", args);
    return ok(f) && (*id ? has(f, "task_id", id)
                         : !json_get(f->json, "task_id"));
}

static bool
is_ready(struct fixture *f, const char *id)
{
    char args[60];

    snprintf(args, sizeof args, "{'task_id':'%s'}", id);
    call(f, "get_task", args);
    return ok(f) && json_get(f->json, "ready") != NULL;
}

static void
becomes(struct fixture *f, const char *agent, const char *id,
        const char *status)
{
    char args[100];

    snprintf(args, sizeof args, "{'agent':'%s','task_id':'%s','status':'%s',"
             "'reason':'r'}", agent, id, status);
    call(f, "update_task", args);
    CHECK(ok(f));
}

/* An epic is offered after the last of its parts has ended, and no open part
   refuses an act by its id. */
TEST(parts_come_before_the_whole)
{
    struct fixture f;

    begin(&f);
    CHECK(!is_ready(&f, "e"));
    call(&f, "list_tasks", "{'ready':true}");
    CHECK(number(&f, "total") == 4);
    CHECK(gets(&f, "ann", "a") && gets(&f, "bob", "b") &&
          gets(&f, "cy", "c") && gets(&f, "dan", "d") && gets(&f, "eve", ""));
    CHECK(number(&f, "waiting") == 1);
    becomes(&f, "ann", "a", "done");
    becomes(&f, "bob", "b", "failed");
    becomes(&f, "cy", "c", "cancelled");
    CHECK(gets(&f, "eve", "") && number(&f, "waiting") == 1);
    call(&f, "list_tasks", "{'query':'E'}");
    buf_char(&f.out, '\0');
    CHECK(strstr(f.out.p, "\"parts\":{\"total\":4,\"unfinished\":1,\"done\":1,"
                 "\"failed\":1}"));
    becomes(&f, "dan", "d", "done");
    CHECK(is_ready(&f, "e") && gets(&f, "eve", "e"));
    becomes(&f, "dan", "d", "open");
    STEPS(&f, {"save_checkpoint", "{'task_id':'e','agent':'eve'}", 0, 0, 0},
          {"handoff_task", "{'task_id':'e','from_agent':'eve','to_agent':"
           "'fay'}", 0, 0, 0});
    CHECK(gets(&f, "fay", "d") && gets(&f, "gus", "") &&
          !json_get(f.json, "could_claim"));
    STEPS(&f, {"claim_task", "{'task_id':'e','agent':'fay'}", 0, 0, 0},
          {"update_task", "{'task_id':'e','agent':'fay','status':'open'}", 0,
           0, 0},
          {"update_task", "{'task_id':'e','agent':'fay','status':"
           "'in_progress'}", 0, 0, 0},
          {"update_task", "{'task_id':'e','agent':'fay','status':'done'}", 0,
           0, 0});
    buf_char(&f.out, '\0');
    CHECK(strstr(f.out.p, "done, but child tasks have not ended"));
    fixture_fini(&f);
}

/* A ready task is found behind more than a search reads, of what has parts. */
TEST(behind_many_wholes)
{
    struct fixture f;
    struct buf b = {0};
    char text[100];

    fixture_init(&f);
    for (int i = 0; i < 150; i++) {
        buf_reset(&b, b.cap);
        buf_printf(&b, "{'task_id':'e%d','title':'E','tags':['g'],'goal':'"
                   "%08000d'}%c", i, i, '\0');
        call(&f, "create_task", b.p);
        snprintf(text, sizeof text, "{'title':'P','parent_id':'e%d'}", i);
        call(&f, "create_task", text);
    }
    STEPS(&f, {"create_task", "{'task_id':'x','title':'X','tags':['g'],"
               "'priority':4}", 0, 0, 0},
          {"claim_task", "{'agent':'ann','tag':'g'}", 0, "task_id", "x"});
    buf_fini(&b);
    fixture_fini(&f);
}

/* An agent gets back what it held, whatever parts that has since. */
/* Nothing is seen of its session, which may wait for the part. */
TEST(a_whole_is_not_inherited_while_its_parts_are_open)
{
    struct fixture f;

    fixture_init(&f);
    f.client = "claude-code";
    session_mark = "1111111111.1?";
    STEPS(&f, {"create_task", "{'task_id':'e','title':'E'}", 0, 0, 0},
          {"claim_task", "{'task_id':'e'}", 0, 0, 0},
          {"create_task", "{'task_id':'p','title':'P','parent_id':'e'}", 0, 0,
           0});
    clock_ahead_s = 3600;
    session_mark = "2222222222.2?";
    STEPS(&f, {"claim_task", "{}", 0, "task_id", "p"},
          {"claim_task", "{}", 0, "message", "no task is ready"},
          {"update_task", "{'task_id':'p','status':'done'}", 0, 0, 0},
          {"claim_task", "{}", 0, "task_id", "e"});
    session_mark = NULL;
    clock_ahead_s = 0;
    fixture_fini(&f);
}

TEST(parts_hide_no_task_from_its_holder)
{
    struct fixture f;

    fixture_init(&f);
    session_mark = "s1";
    STEPS(&f, {"create_task", "{'task_id':'e','title':'E'}", 0, 0, 0},
          {"claim_task", "{'task_id':'e','agent':'ann'}", 0, 0, 0},
          {"create_task", "{'task_id':'p','title':'P','parent_id':'e'}", 0, 0,
           0});
    session_dead = "s1";
    session_mark = "s2";
    CHECK(gets(&f, "ann", "e"));
    session_dead = session_mark = NULL;
    fixture_fini(&f);
}

/* Parts of a task that is to begin later, was cancelled, or is below such a
   one, are not ready. */
TEST(parts_are_put_off_with_the_whole)
{
    struct fixture f;

    fixture_init(&f);
    STEPS(&f, {"create_task", "{'tasks':[{'task_id':'e','title':'E'},"
               "{'task_id':'m','title':'M','parent_id':'e'},"
               "{'task_id':'p','title':'P','parent_id':'m'}]}", 0, 0, 0},
          {"update_task", "{'task_id':'e','not_before':"
           "'2999-01-01T00:00:00Z'}", 0, 0, 0},
          {"get_task", "{'task_id':'p'}", 0, "parent_waits", "e"});
    CHECK(!json_get(f.json, "ready") && gets(&f, "ann", ""));
    call(&f, "list_tasks", "{'ready':true}");
    CHECK(number(&f, "total") == 0);
    STEPS(&f, {"claim_task", "{'task_id':'p','agent':'ann'}", 0, 0, 0},
          {"update_task", "{'task_id':'p','agent':'ann','status':'open'}", 0,
           0, 0},
          {"update_task", "{'task_id':'e','clear':['not_before']}", 0, 0, 0});
    CHECK(is_ready(&f, "p"));
    becomes(&f, "bob", "m", "cancelled");
    call(&f, "get_task", "{'task_id':'p'}");
    CHECK(has(&f, "parent_waits", "m") && !json_get(f.json, "ready"));
    archive(&f, "m");
    CHECK(!is_ready(&f, "p") && gets(&f, "bob", "e"));
    reopen(&f);
    CHECK(!is_ready(&f, "p"));
    STEPS(&f, {"update_task", "{'task_id':'p','parent_id':'e'}", 0, 0, 0});
    CHECK(is_ready(&f, "p"));
    becomes(&f, "bob", "e", "done");
    CHECK(is_ready(&f, "p")); /* only cancelled ones stop their parts */
    fixture_fini(&f);
}

/* Stages a task as 0.3.0 would. */
static void
stage_old(struct fixture *f, const char *id, const char *more)
{
    char text[400], key[40];
    bool unknown;

    snprintf(key, sizeof key, "task/%s", id);
    snprintf(text, sizeof text, "'op':'create','by':'ann','set':[],'v':"
             "{'task_id':'%s','status':'open','priority':2%s,'version':1,"
             "'created_at':'2026-01-01T00:00:00.000Z','title':'T'}", id, more);
    CHECK(store_lock_patiently(f->s) == 0 &&
          store_stage(f->s, str_of(key), quoted(&f->a, text)) == 0 &&
          store_commit(f->s, &unknown) == 0);
    store_unlock(f->s);
}

/* A part that depends on what it is a part of, as 0.3.0 allowed, is begun. */
TEST(old_circles_do_not_block)
{
    struct fixture f;

    fixture_init(&f);
    stage_old(&f, "e", "");
    stage_old(&f, "m", ",'parent_id':'e'");
    stage_old(&f, "p", ",'parent_id':'m','depends_on':['e','m']");
    call(&f, "get_task", "{'task_id':'p'}");
    CHECK(!json_get(f.json, "blocked_by") && json_get(f.json, "ready"));
    CHECK(gets(&f, "ann", "p"));
    becomes(&f, "ann", "p", "done");
    CHECK(gets(&f, "ann", "m"));
    fixture_fini(&f);
}

/* ---- circles ---- */

/* An epic e with the parts a and b, of which a waits for x; and x with the part
   y. */
TEST(circles_over_both_links)
{
    static const struct step refused[] = {
        {"update_task", "{'task_id':'a','depends_on':['e']}",
         "dependency_cycle", "field", "depends_on"},
        {"create_task", "{'task_id':'n','title':'N','parent_id':'a',"
         "'depends_on':['e']}", "dependency_cycle", "field", "depends_on"},
        /* a waits for x, which waits for y, which waits for e or a. */
        {"update_task", "{'task_id':'y','depends_on':['e']}",
         "dependency_cycle", "field", "depends_on"},
        {"update_task", "{'task_id':'y','depends_on':['a']}",
         "dependency_cycle", "field", "depends_on"},
        {"update_task", "{'task_id':'e','parent_id':'y'}",
         "dependency_cycle", "field", "parent_id"},
        {"update_task", "{'task_id':'a','parent_id':'x'}",
         "dependency_cycle", "field", "parent_id"},
        {"create_task", "{'tasks':[{'task_id':'p','title':'P'},{'title':'Q',"
         "'parent_id':'#0','depends_on':['p']}]}", "dependency_cycle", 0, 0},
    }, allowed[] = {
        {"update_task", "{'task_id':'e','depends_on':['a','b']}", 0, 0, 0},
        {"update_task", "{'task_id':'b','depends_on':['a']}", 0, 0, 0},
        {"create_task", "{'task_id':'z','title':'Z','parent_id':'x',"
         "'depends_on':['y']}", 0, 0, 0},
    };
    struct fixture f;

    fixture_init(&f);
    STEPS(&f, {"create_task", "{'tasks':[{'task_id':'e','title':'E'},"
               "{'task_id':'x','title':'X'},"
               "{'task_id':'y','title':'Y','parent_id':'x'},"
               "{'task_id':'a','title':'A','parent_id':'e',"
               "'depends_on':['x']},"
               "{'task_id':'b','title':'B','parent_id':'e'}]}", 0, 0, 0});
    RUN_STEPS(&f, refused);
    CHECK(is_replay(&f));
    RUN_STEPS(&f, allowed);
    CHECK(is_replay(&f));
    fixture_fini(&f);
}

/* A task that gets a parent brings its own parts along: e waits for m, that for
   its part p, and p for e. */
TEST(circles_by_a_new_parent)
{
    struct fixture f;

    fixture_init(&f);
    STEPS(&f, {"create_task", "{'tasks':[{'task_id':'e','title':'E'},"
               "{'task_id':'m','title':'M'},"
               "{'task_id':'p','title':'P','parent_id':'m',"
               "'depends_on':['e']}]}", 0, 0, 0},
          {"update_task", "{'task_id':'m','parent_id':'e'}",
           "dependency_cycle", "field", "parent_id"},
          {"update_task", "{'task_id':'p','depends_on':[]}", 0, 0, 0},
          {"update_task", "{'task_id':'m','parent_id':'e','depends_on':['p']}",
           0, 0, 0},
          {"update_task", "{'task_id':'p','depends_on':['e']}",
           "dependency_cycle", "field", "depends_on"});
    fixture_fini(&f);
}

/* What leads to a stored circle is not on it. */
TEST(beside_an_old_circle)
{
    struct fixture f;

    fixture_init(&f);
    stage_old(&f, "e", "");
    stage_old(&f, "p", ",'parent_id':'e','depends_on':['e']");
    STEPS(&f, {"create_task", "{'task_id':'q','title':'Q','parent_id':'e',"
               "'depends_on':['p']}", 0, 0, 0},
          {"update_task", "{'task_id':'p','depends_on':['q']}",
           "dependency_cycle", "field", "depends_on"});
    fixture_fini(&f);
}

/* ---- what is shown ---- */

/* Whether a resource of a task has the text. */
static bool
resource_has(struct fixture *f, const char *uri, const char *text)
{
    const struct mcp_catalogue *c = tools_catalogue(f->tools);
    struct mcp_call m = {.ctx = c->ctx, .arena = &f->a,
                         .rev = MCP_2025_11_25, .out = &f->out};
    const struct json_tok *t;
    struct str got;

    arena_reset(&f->a);
    buf_reset(&f->out, f->out.cap);
    CHECK(c->resource_read(&m, str_of(uri)) == 0 &&
          json_parse(&f->a, buf_view(&f->out), &t, NULL) == 0);
    got = json_str(&f->a, json_get(t, "text"));
    return str_find(got, quoted(&f->a, text)) != SIZE_MAX;
}

/* Whoever is shown the whole task sees its parts: those that have not ended
   first, and no more than 20 of them. */
TEST(parts_are_shown)
{
    struct fixture f;
    const struct json_tok *parts;
    char text[300];

    begin(&f);
    STEPS(&f, {"update_task", "{'task_id':'d','status':'done'}", 0, 0, 0},
          {"claim_task", "{'task_id':'a','agent':'ann'}", 0, 0, 0},
          {"claim_task", "{'task_id':'e','agent':'orc'}", 0, 0, 0});
    parts = json_get(f.json, "parts");
    CHECK(str_is(json_raw(json_get(parts, "total")), "4"));
    CHECK(str_is(json_raw(json_get(parts, "tasks")), quoted(&f.a,
          "[{'task_id':'a','title':'A','status':'in_progress',"
          "'current_owner':'ann'},{'task_id':'c','title':'C','status':'open'},"
          "{'task_id':'b','title':'B','status':'open'},"
          "{'task_id':'d','title':'D','status':'done'}]").p));
    CHECK(!json_get(parts, "next"));
    CHECK(resource_has(&f, "task://e", "'parts':{'total':4,'unfinished':3,"
                       "'done':1,'tasks':[{'task_id':'a',"));
    CHECK(resource_has(&f, "task://e/resume", "- parts: 1 of 4 parts done\n"));
    CHECK(resource_has(&f, "task://e/resume", "## Parts\n\n- task_id: a, "));
    for (int i = 0; i < 40; i++) {
        snprintf(text, sizeof text, "{'task_id':'p%d','title':'%0200d',"
                 "'parent_id':'e'}", i, i);
        call(&f, "create_task", text);
    }
    call(&f, "get_task", "{'task_id':'e'}");
    parts = json_get(f.json, "parts");
    CHECK(str_is(json_raw(json_get(parts, "total")), "44") &&
          json_get(parts, "tasks")->n == TASK_PARTS_SHOWN);
    CHECK(json_str(&f.a, json_get(json_get(parts, "tasks") + 1,
                                  "title")).len == 80);
    call(&f, "get_task", "{'task_id':'e','version':1}");
    CHECK(!json_get(f.json, "parts"));
    for (const char *id = "abc"; *id; id++) {
        snprintf(text, sizeof text, "{'task_id':'%c','status':'cancelled',"
                 "'agent':'ann'}", *id);
        call(&f, "update_task", text);
    }
    for (int i = 0; i < 40; i++) {
        snprintf(text, sizeof text, "{'task_id':'p%d','status':'cancelled'}",
                 i);
        call(&f, "update_task", text);
    }
    call(&f, "get_task", "{'task_id':'e'}");
    CHECK(json_is(json_get(json_get(f.json, "parts"), "next"), TASK_CLOSE));
    fixture_fini(&f);
}
