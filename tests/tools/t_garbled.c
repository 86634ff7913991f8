/* t_garbled - records that are whole, by their sum, but not JSON. A task with
   such a record answers `damaged`; everything else goes on, and a change of the
   task mends it. No bytes in a record's body end the process. */

#include "cli/cli.h"
#include "mcp/catalogue.h"
#include "base/clock.h"
#include "tests/lib/catalogue.h"

#include <fcntl.h>
#include <sys/wait.h>

/* ---- records made by hand ---- */

/* Stages the next record of a key with this body. */
static void
stage(struct fixture *f, const char *key, struct str body)
{
    if (!store_locked(f->s))
        CHECK(store_lock_patiently(f->s) == 0);
    CHECK(store_stage(f->s, str_of(key), body) == 0);
}

static void
commit(struct fixture *f)
{
    bool unknown;

    CHECK(store_commit(f->s, &unknown) == 0);
    store_unlock(f->s);
}

static void
put(struct fixture *f, const char *key, const char *body)
{
    stage(f, key, quoted(&f->a, body));
    commit(f);
}

#define BODY(v) "'op':'update','by':'x','set':['title'],'v':" v
#define HEAD(id) "{'task_id':'" id "','status':'open','version':2,"

/* Bodies of task/d. */
static const char *const broken[] = {
    BODY(HEAD("d") "'title':'cut \\u00'}"),
    BODY(HEAD("d") "'title':'cut \\u'}"),
    BODY(HEAD("d") "'title':'half a pair \\ud83d'}"),
    BODY(HEAD("d") "'title':'no escape \\x'}"),
    BODY(HEAD("d") "'title':'a\ttab'}"),
    BODY(HEAD("d") "'title':'not UTF-8 \xff'}"),
    BODY(HEAD("d") "'title':'T','completed_steps':['a'}}"),
    BODY(HEAD("d") "'title':'T','completed_steps':['a'],}"),
    BODY(HEAD("d") "'title':T}"),
    BODY("{'task_id':'d','status':'open','current_owner':'a\tb',"
         "'version':2,'title':'T'}"),
    BODY("{'task_id':'d','status':'done','current_owner':'\\u','title':'T'}"),
    BODY("{'task_id':'d','status':'open','tags':['a'},'title':'T'}"),
    BODY("{'task_id':'d','status':'op\x01n','current_owner':'x','priority':0,"
         "'version':2,'depends_on':['a'],'title':'T'}"),
    BODY("{'task_id':'d','status':'op\\xn','title':'T'}"),
    BODY("{'task_id':'d','status':'opened','title':'T'"),
    BODY("{'task_id':'d'"),
    BODY("{}}"),
    "'op':'update','by':'x\t','v':" HEAD("d") "'title':'T'}",
    "'op':'update','by':'x','note':'\\u','v':" HEAD("d") "'title':'T'}",
    "'op':'update','by':'x','v':" HEAD("d") "'title':'T'},'v':{",
    "'op", "'", "]]]]", "'v':{'a':[[[[[[", "\\", "'op':'\\",
};
enum { N_BROKEN = sizeof broken / sizeof *broken };

/* ---- what others see ---- */

static const struct json_tok *
find_task(const struct fixture *f, const char *id)
{
    const struct json_tok *list = json_get(f->json, "tasks"), *t = list + 1;

    for (uint32_t i = 0; list && i < list->n; i++, t += t->span)
        if (json_is(json_get(t, "task_id"), id))
            return t;
    return NULL;
}

static int
read_uri(struct fixture *f, const char *uri)
{
    const struct mcp_catalogue *c = tools_catalogue(f->tools);
    struct mcp_call m = {.ctx = c->ctx, .arena = &f->a,
                         .rev = MCP_2025_11_25, .out = &f->out};

    arena_reset(&f->a);
    buf_reset(&f->out, 0);
    return c->resource_read(&m, str_of(uri));
}

static bool
is_json(const struct fixture *f)
{
    return CHECK(f->out.len == 0 || json_is_valid(buf_view(&f->out)));
}

/* Runs prompt i. */
static int
prompt(struct fixture *f, size_t i, const char *args)
{
    const struct mcp_catalogue *c = tools_catalogue(f->tools);
    struct mcp_call m = {.ctx = c->ctx, .arena = &f->a,
                         .number = c->prompts[i].number,
                         .rev = MCP_2025_11_25, .out = &f->out};
    int rc;

    arena_reset(&f->a);
    buf_reset(&f->out, 0);
    CHECK(json_parse(&f->a, quoted(&f->a, args), &m.args, NULL) == 0);
    rc = c->prompts[i].run(&m);
    CHECK(rc == 0 || rc == ERR_INVALID || rc == ERR_FORMAT);
    return rc;
}

static void
complete(struct fixture *f, const char *argument, const char *value)
{
    const struct mcp_catalogue *c = tools_catalogue(f->tools);
    struct mcp_call m = {.ctx = c->ctx, .arena = &f->a,
                         .rev = MCP_2025_11_25, .out = &f->out};
    struct mcp_completion q = {.prompt = true, .ref = STR("resume_task"),
                               .argument = str_of(argument),
                               .value = str_of(value)};

    buf_reset(&f->out, 0);
    buf_char(&f->out, '[');
    CHECK(c->complete(&m, &q) == 0);
    buf_char(&f->out, ']');
    is_json(f);
}

/* Reads all that concerns task id, and what lists it. */
static void
look(struct fixture *f, const char *id)
{
    static const char *const tools[][2] = {
        {"get_task", "{'task_id':'%s'}"},
        {"get_task", "{'task_id':'%s','section':'history'}"},
        {"list_tasks", "{'include_done':true}"},
        {"list_tasks", "{'query':'need','ready':false}"},
        {"list_tasks", "{'ready':true,'current_owner':'x'}"},
    };
    static const char *const uris[] = {
        "task://%s", "task://%s/resume", "task://%s/history", "task://",
        "task://%s/artifacts/a1"};
    char text[128];
    struct str next = STR_NONE;
    const struct mcp_catalogue *c = tools_catalogue(f->tools);
    struct mcp_call m = {.ctx = c->ctx, .arena = &f->a,
                         .rev = MCP_2025_11_25, .out = &f->out};

    for (size_t i = 0; i < sizeof tools / sizeof *tools; i++) {
        snprintf(text, sizeof text, tools[i][1], id);
        call(f, tools[i][0], text);
        CHECK(i < 2 || ok(f));
    }
    for (size_t i = 0; i < sizeof uris / sizeof *uris; i++) {
        snprintf(text, sizeof text, uris[i], id);
        read_uri(f, text);
        is_json(f);
    }
    snprintf(text, sizeof text, "{'task_id':'%s'}", id);
    for (size_t i = 0; i < c->n_prompts; i++) {
        prompt(f, i, i == 2 ? "{}" : text);
        is_json(f);
    }
    CHECK(prompt(f, 0, "{'agent':'x'}") == 0 && is_json(f));
    buf_reset(&f->out, 0);
    buf_char(&f->out, '[');
    CHECK(c->resources(&m, STR_NONE, &next) == 0);
    buf_char(&f->out, ']');
    is_json(f);
    complete(f, "agent", "");
    complete(f, "task_id", "");
}

/* Each broken record is told as such, and nothing else is touched by it. */
TEST(damaged)
{
    struct fixture f;

    for (size_t i = 0; i < N_BROKEN; i++) {
        int before = test_failed;

        begin_with(&f, "abd");
        put(&f, "task/d", broken[i]);
        for (int again = 0; again < 2; again++) {
            call(&f, "get_task", "{'task_id':'d'}");
            CHECK(failed(&f, "damaged") && !is_true(&f, "retryable"));
            CHECK(json_get(f.json, "next"));
            call(&f, "get_task", "{'task_id':'d','section':'history'}");
            CHECK(failed(&f, "damaged"));
            call(&f, "get_task", "{'task_id':'d','section':'artifact',"
                                 "'artifact_id':'a1'}");
            CHECK(failed(&f, "damaged"));
            call(&f, "wait_for_task", "{'task_id':'d','agent':'x'}");
            CHECK(failed(&f, "damaged"));
            CHECK(read_uri(&f, "task://d") == ERR_GARBLED);
            CHECK(read_uri(&f, "task://d/resume") == ERR_GARBLED);
            CHECK(read_uri(&f, "task://d/history") == ERR_GARBLED);
            CHECK(prompt(&f, 0, "{'task_id':'d'}") == ERR_INVALID);
            call(&f, "list_tasks", "{'include_done':true}");
            CHECK(ok(&f) && number(&f, "total") == 3);
            CHECK(find_task(&f, "a") && find_task(&f, "b"));
            CHECK(json_is(json_get(find_task(&f, "d"), "damaged"),
                          "its newest record is not JSON"));
            call(&f, "list_tasks", "{'query':'T'}");
            CHECK(ok(&f) && find_task(&f, "a") && find_task(&f, "b"));
            call(&f, "list_tasks", "{'ready':true}");
            CHECK(ok(&f) && find_task(&f, "a") && !find_task(&f, "d"));
            look(&f, "d");
            reopen(&f);
        }
        CHECK(is_replay(&f));
        call(&f, "update_task", "{'task_id':'b','depends_on':['d']}");
        CHECK(ok(&f));
        call(&f, "create_task", "{'task_id':'d','title':'T'}");
        CHECK(failed(&f, "damaged"));
        call(&f, "claim_task", "{'agent':'x'}");
        CHECK(ok(&f) && has(&f, "task_id", "a"));
        call(&f, "claim_task", "{'agent':'x'}");
        CHECK(ok(&f) && !is_true(&f, "claimed"));
        /* A change goes on from the record before. */
        call(&f, "update_task", "{'task_id':'d','goal':'G'}");
        CHECK(ok(&f) && number(&f, "version") == 3);
        CHECK(warned(&f, "the newest record was not JSON, so this change "
                         "continues from the one before it"));
        call(&f, "get_task", "{'task_id':'d'}");
        CHECK(ok(&f) && has(&f, "title", "T") && has(&f, "goal", "G"));
        call(&f, "get_task", "{'task_id':'d','section':'history'}");
        CHECK(ok(&f) && json_get(f.json, "events")->n == 3);
        CHECK(strstr(arena_str(&f.a, buf_view(&f.out)).p,
                     "\"op\":\"damaged\"}"));
        call(&f, "get_task", "{'task_id':'d','version':1}");
        CHECK(ok(&f) && has(&f, "title", "T"));
        call(&f, "wait_for_task", "{'task_id':'d','until':'done',"
                                  "'since_seq':1,'timeout_seconds':0}");
        CHECK(ok(&f));
        CHECK(is_replay(&f));
        fixture_fini(&f);
        if (test_failed != before)
            fprintf(stderr, "  body %zu: %s\n", i, broken[i]);
    }
}

/* Without a whole record before it, create_task begins the task anew; a change
   that changes nothing mends it; import replaces it in any case. */
TEST(mended)
{
    struct fixture f;

    begin_with(&f, "d");
    put(&f, "task/n", broken[0]);
    call(&f, "update_task", "{'task_id':'n','goal':'G'}");
    CHECK(failed(&f, "damaged"));
    call(&f, "create_task", "{'task_id':'n','title':'N'}");
    CHECK(ok(&f) && number(&f, "version") == 1);
    call(&f, "get_task", "{'task_id':'n'}");
    CHECK(ok(&f) && has(&f, "title", "N"));
    put(&f, "task/d", broken[0]);
    put(&f, "task/d", broken[4]);
    call(&f, "update_task", "{'task_id':'d','title':'T'}");
    CHECK(ok(&f));
    call(&f, "get_task", "{'task_id':'d'}");
    CHECK(ok(&f) && has(&f, "title", "T"));
    put(&f, "task/d", broken[0]);
    CHECK(strcmp(import(&f, "{'task_id':'d','title':'I','status':'open'}"),
                 "") == 0);
    call(&f, "get_task", "{'task_id':'d'}");
    CHECK(ok(&f) && has(&f, "title", "I"));
    CHECK(strcmp(import(&f, "{'task_id':'d','title':'J','status':'open'}"),
                 "already_exists") == 0);
    CHECK(is_replay(&f));
    fixture_fini(&f);
}

/* A claim says how many tasks nobody can read; the idempotency key of a broken
   record counts for nothing. */
TEST(claims)
{
    struct fixture f;

    begin_with(&f, "d");
    put(&f, "task/d", "'op':'update','by':'x','idem':{'key':'k','args':'\\u'},"
                      "'v':" HEAD("d") "'title':'T'}");
    call(&f, "claim_task", "{'agent':'x'}");
    CHECK(ok(&f) && number(&f, "damaged") == 1);
    call(&f, "update_task", "{'task_id':'d','agent':'x','goal':'G',"
                            "'idempotency_key':'k'}");
    CHECK(ok(&f) && number(&f, "version") == 3);
    fixture_fini(&f);
}

/* Records that are JSON, but not as this program writes it. */
TEST(other_json)
{
    static const char *const bodies[] = {
        "'op': 'update','by':'x','v':" HEAD("d") "'title':'T'}",
        BODY("{'task_id':'d','status':'open','title': 'a,\\'b'}"),
        BODY("{'task_id':'d','status':'open','title':'T','decisions':[ 1 ]}"),
        BODY("{'task_id':'d','status':'open','title':5,'depends_on':[1,"
             "{'a':[]},[],''],'questions':3,'lease':[],'tags':{'a':1},"
             "'completed_steps':{},'artifacts':['x',{}],'messages':7}"),
        BODY("{'task_id':'d','status':'in_progress','title':'T','lease':"
             "{'agent':'x','expires_at':'2999-01-01T00:00:00Z',"
             "'seconds':9223372036854775807},'current_owner':'x',"
             "'version':18446744073709551615}"),
        "'op':'update','by':'x','v':" HEAD("d") "'title':'T'},'w':{}",
        "'op':5,'by':[],'set':5,'note':[],'warn':5,'v':{'status':5}",
        "'a':1",
    };
    struct fixture f;

    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        begin_with(&f, "ad");
        put(&f, "task/d", bodies[i]);
        look(&f, "d");
        call(&f, "claim_task", "{'agent':'y'}");
        CHECK(ok(&f) && is_true(&f, "claimed"));
        call(&f, "save_checkpoint", "{'task_id':'d','agent':'x'}");
        call(&f, "handoff_task", "{'task_id':'d','from_agent':'x'}");
        look(&f, "d");
        CHECK(is_replay(&f));
        fixture_fini(&f);
    }
}

/* What is added to an object of the record makes JSON of an empty one, too. */
TEST(empty_objects)
{
    struct fixture f;

    begin_with(&f, "d");
    put(&f, "task/d", BODY("{'task_id':'d','status':'open','title':'T',"
                           "'current_owner':'y','questions':[{}],"
                           "'messages':[{}]}"));
    call(&f, "save_checkpoint", "{'task_id':'d','agent':'y'}");
    CHECK(ok(&f));
    call(&f, "update_task", "{'task_id':'d','agent':'x',"
         "'answer':{'text':'yes'}}");
    CHECK(ok(&f));
    call(&f, "get_task", "{'task_id':'d'}");
    CHECK(ok(&f) && number(&f, "version") > 0);
    look(&f, "d");
    CHECK(is_replay(&f));
    fixture_fini(&f);
}

/* A lease of any length is renewed for a day at most. */
TEST(long_lease)
{
    struct fixture f;
    const char *end;

    begin_with(&f, "d");
    end = time_text(store_now_ms(f.s) + 60000);
    stage(&f, "task/d", arena_printf(&f.a, "\"op\":\"claim\",\"by\":\"x\","
          "\"v\":{\"task_id\":\"d\",\"status\":\"in_progress\","
          "\"current_owner\":\"x\",\"version\":2,\"lease\":{\"agent\":\"x\","
          "\"expires_at\":\"%s\",\"seconds\":9223372036854775807},"
          "\"title\":\"T\"}", end));
    commit(&f);
    call(&f, "save_checkpoint", "{'task_id':'d','agent':'x'}");
    CHECK(ok(&f) && expires_in(&f, json_get(f.json, "lease")) == 86400);
    fixture_fini(&f);
}

/* What is no name is not told as one. */
TEST(names_that_are_none)
{
    struct fixture f;

    begin_with(&f, "d");
    put(&f, "task/e", "'op':'update','by':{'by':1},'set':['title'],'v':"
        HEAD("e") "'current_owner':['x'],'title':'T'}");
    call(&f, "claim_task", "{'task_id':'d','agent':'me'}");
    call(&f, "handoff_task", "{'task_id':'d','from_agent':'me','to_agent':"
         "'you'}");
    CHECK(ok(&f));
    CHECK(str_find(buf_view(&f.out), STR("known: me\"")) != SIZE_MAX);
    fixture_fini(&f);
}

/* ---- any bytes ---- */

/* Makes a task with a bit of everything; returns the body of its record. */
static struct str
rich_body(struct fixture *f)
{
    struct store_rec r;
    struct str body;

    begin_with(f, "abc");
    call(f, "update_task", "{'task_id':'c','status':'done'}");
    call(f, "create_task", "{'task_id':'d','title':'a \\u00e9 need','tags':"
         "['x','y'],'repo_path':'/r','parent_id':'a','depends_on':['c'],"
         "'goal':'g\\n'}");
    CHECK(ok(f));
    call(f, "request_input", "{'task_id':'d','agent':'x','question':'why?',"
                             "'options':['p','q']}");
    call(f, "claim_task", "{'task_id':'d','agent':'x','lease_seconds':60}");
    CHECK(ok(f));
    call(f, "update_task", "{'task_id':'d','agent':'y','message':'hear \\''}");
    call(f, "save_checkpoint", "{'task_id':'d','agent':'x',"
         "'completed_steps':['1'],'remaining_steps':['2','3'],"
         "'test_results':[{'command':'n','exit_code':0}],"
         "'notes':'n\\t','idempotency_key':'k'}");
    CHECK(ok(f));
    CHECK(store_read(f->s, store_find(f->s, STR("task/d")), &f->a, &r) == 0);
    body = (struct str){malloc(r.body.len), r.body.len};
    memcpy((char *)(uintptr_t)body.p, r.body.p, body.len);
    return body;
}

/* Change i of the byte at `at` of a body, in to. False: there are no more. */
static bool
change(struct str body, size_t at, int i, struct str *to)
{
    static const char into[] = "\t\"\\{}[]u,:0 \xff";
    char *p = (char *)(uintptr_t)to->p;

    memcpy(p, body.p, body.len);
    to->len = body.len;
    if (i == 0)
        to->len = at;
    else if (i == 1)
        memmove(p + at, p + at + 1, --to->len - at);
    else if (i - 2 < (int)sizeof into - 1)
        p[at] = into[i - 2];
    else
        return false;
    return to->len > 0;
}

/* Each byte of a body cut off, left out and replaced: whatever comes of it, all
   answers are JSON and others' tasks are there. */
TEST(any_bytes)
{
    struct fixture f;
    struct str body = rich_body(&f), to = {malloc(body.len), 0};
    size_t n = 0;

    for (size_t at = 1; at < body.len; at++)
        for (int i = 0; change(body, at, i, &to); i++) {
            if (n++ % (3 * TEST_STEP) != 0)
                continue;
            stage(&f, "task/d", to);
            look(&f, "d");
            call(&f, "list_tasks", "{}");
            CHECK(ok(&f) && find_task(&f, "a") && find_task(&f, "b"));
            f.hold = true;
            call(&f, "update_task", "{'task_id':'a','depends_on':['d']}");
            call(&f, "claim_task", "{'agent':'z'}");
            call(&f, "save_checkpoint", "{'task_id':'d','agent':'x'}");
            f.hold = false;
            look(&f, "d");
            store_unstage(f.s, 0);
        }
    store_unlock(f.s);
    CHECK(is_replay(&f));
    look(&f, "d");
    free((char *)(uintptr_t)body.p);
    free((char *)(uintptr_t)to.p);
    fixture_fini(&f);
}

/* Runs a command on the store of f, and shows nothing of it. Returns its exit
   code; -1: something else has ended it. */
static int
run(const struct fixture *f, char **argv)
{
    enum { AS_MAIN = 100 }; /* a sanitizer ends a process with 1 */
    pid_t pid;
    int status, null;

    fflush(NULL);
    pid = fork();
    if (pid == 0) {
        null = open("/dev/null", O_RDWR);
        dup2(null, STDOUT_FILENO);
        dup2(null, STDERR_FILENO);
        _exit(AS_MAIN + cli_main(&f->env, argv));
    }
    if (!CHECK(pid > 0 && waitpid(pid, &status, 0) == pid))
        return -1;
    return WIFEXITED(status) && WEXITSTATUS(status) >= AS_MAIN
               ? WEXITSTATUS(status) - AS_MAIN : -1;
}

/* The same for the commands, over a log in which each task has one of these
   changes. */
TEST(commands)
{
    struct fixture f;
    struct str body = rich_body(&f), to = {malloc(body.len), 0};
    char *const commands[][5] = {
        {"list", "--all"}, {"list", "--query", "need"}, {"board"},
        {"board", "--json"}, {"tail", "-n", "100000"},
        {"tail", "--json", "-n", "100000"}, {"show", "d"}, {"history", "d"},
        {"verify"}, {"doctor"}, {"export"}, {"export", "--format", "md"},
        {"claim", "--agent", "z"}, {"compact"}, {"list", "--all", "--json"},
    };
    char key[32], id[24];
    size_t n = 0;

    for (size_t at = 1; at < body.len; at += 3)
        for (int i = (int)at % 5; change(body, at, i, &to); i += 5) {
            snprintf(key, sizeof key, "task/m%zu", n++);
            if (store_batch_is_full(f.s))
                commit(&f);
            stage(&f, key, to);
        }
    stage(&f, "task/d", STR(BODY("\\")));
    commit(&f);
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        char *argv[6] = {0};
        int code;

        memcpy(argv, commands[i], sizeof commands[i]);
        code = run(&f, argv);
        if (!CHECK(code >= 0 && code <= 4))
            fprintf(stderr, "  %s: %d\n", argv[0], code);
    }
    for (size_t i = 0; i < n; i += 97) {
        snprintf(id, sizeof id, "m%zu", i);
        CHECK(run(&f, (char *[]){"show", id, NULL}) >= 0);
        CHECK(run(&f, (char *[]){"history", id, NULL}) >= 0);
    }
    reopen(&f);
    call(&f, "get_task", "{'task_id':'a'}");
    CHECK(ok(&f));
    call(&f, "get_task", "{'task_id':'d'}");
    CHECK(failed(&f, "damaged"));
    free((char *)(uintptr_t)body.p);
    free((char *)(uintptr_t)to.p);
    fixture_fini(&f);
}
