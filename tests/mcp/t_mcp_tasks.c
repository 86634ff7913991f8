/* t_mcp_tasks - calls that outlive their requests, in both dialects, over a
   real store: what each method answers, and what clients are told. */

#include "tests/lib/mcp_asked.h"
#include "base/clock.h"

/* ---- methods in both dialects ---- */

TEST(old_dialect)
{
    begin();
    CHECK(has(makes(&ann, TASK("await", "{'key':'go'}")),
              "{'jsonrpc':'2.0','id':1,'result':{'task':{"
              OLD_TASK("working", "") "},'_meta':{"
              KEY("model-immediate-response") ":'await continues as task ID"));
    CHECK(has(ann.said[ann.n - 1], "'," KEY("related-task")
              ":{'taskId':'ID'}}}}"));
    CHECK(mcp_listens(box.m) == MCP_HEARS_ALL);
    says(&ann, OLD("tasks/get"));
    CHECK(is_text(str_of(ann.said[0]), RES("2", OLD_TASK("working", ""))));
    /* Clients repeat their options. */
    CHECK(has(says(&ann, REQ("2", "tasks/get", "{'taskId':'ID','task':{}}")),
              "working"));
    says(&ann, OLD("tasks/result"));
    CHECK(ann.n == 0);
    toy_comes("go");
    CHECK(is_status("completed"));
    CHECK(is_next(&ann, STATUS_NOTE("completed", "")));
    turn();
    CHECK(is_next(&ann, RES("2", CAME "," RELATED)));
    settle_all();
    CHECK(is_quiet(&ann));
    CHECK(is_text(str_of(says(&ann, OLD("tasks/result"))),
                  RES("2", CAME "," RELATED)));
    CHECK(is_text(str_of(says(&ann, REQ("3", "tasks/list", "{}"))),
                  RES("3", "'tasks':[{" OLD_TASK("completed", "") "}]")));
    CHECK(is_text(str_of(says(&ann, OLD("tasks/cancel"))),
                  BAD("2", "The task has already ended: ID")));
    end();
}

/* A call whose record is not JSON answers an error, and stops no other. */
TEST(a_record_that_is_not_json)
{
    char bad[CALL_ID_LEN + 1], key[64];

    begin();
    makes(&ann, TASK("await", "{'key':'go'}"));
    memcpy(bad, task_id, sizeof(bad));
    snprintf(key, sizeof(key), "call/%s", bad);
    CHECK(store_lock_patiently(box.s) == 0);
    CHECK(store_stage(box.s, str_of(key), STR("\"op\":\"\\u")) == 0);
    turn_commit(SIZE_MAX);
    settle_all();
    for (int i = 0; i < 2; i++) {
        CHECK(has(says(&ann, OLD("tasks/get")),
                  "Damaged: its newest record is not JSON"));
        CHECK(has(says(&ann, OLD("tasks/result")), "'error':"));
        CHECK(has(says(&ann, OLD("tasks/cancel")), "'error':"));
        CHECK(has(says(&neo, NEWER_ID("tasks/get")), "Damaged"));
        restart();
    }
    makes(&ann, TASK("await", "{'key':'go'}"));
    CHECK(has(says(&ann, REQ("3", "tasks/list", "{}")), "'taskId':'ID'"));
    toy_comes("go");
    settle_all();
    CHECK(is_status("completed"));
    end();
}

TEST(new_dialect)
{
    begin();
    CHECK(is_text(str_of(makes(&neo, NEWER_CALL("await", "{'key':'go'}"))),
                  NEW_RES(NEW_TASK("working", "") ",", "task")));
    CHECK(is_text(str_of(says(&neo, NEWER_ID("tasks/get"))),
                  NEW_RES(NEW_TASK("working", "") ",", "complete")));
    toy_comes("go");
    CHECK(is_text(str_of(says(&neo, NEWER_ID("tasks/get"))),
                  NEW_RES(NEW_TASK("completed", "")
                          ",'result':{'resultType':'complete'," CAME "},",
                          "complete")));
    CHECK(is_text(str_of(says(&neo, NEWER_ID("tasks/cancel"))),
                  NEW_RES("", "complete")));
    CHECK(is_status("completed"));
    /* A result that is there at once is not a task. */
    CHECK(is_text(str_of(says(&neo, NEWER_CALL("later", "{}"))),
                  NEW_RES(TEXT("{\\'late\\':true}") ",", "complete")));
    makes(&neo, NEWER_CALL("await", "{'key':'other'}"));
    CHECK(is_text(str_of(says(&neo, NEWER_ID("tasks/cancel"))),
                  NEW_RES("", "complete")));
    CHECK(has(says(&neo, NEWER_ID("tasks/get")), "'status':'cancelled'"));
    toy_comes("other");
    settle_all();
    CHECK(is_status("cancelled"));
    end();
}

TEST(each_dialect_reads_the_other)
{
    begin();
    makes(&neo, NEWER_CALL("await", "{'key':'go'}"));
    CHECK(is_text(str_of(says(&ann, OLD("tasks/get"))),
                  RES("2", OLD_TASK("working", ""))));
    toy_comes("go");
    CHECK(is_text(str_of(says(&ann, OLD("tasks/result"))),
                  RES("2", CAME "," RELATED)));
    makes(&ann, TASK("await", "{'key':'go'}"));
    says(&ann, OLD("tasks/cancel"));
    ann.read = 0;
    CHECK(is_next(&ann, RES("2", OLD_TASK("cancelled", "'statusMessage':"
                                   "'The task was cancelled on request.',"))));
    CHECK(has(next(&ann), "notifications/tasks/status"));
    CHECK(has(says(&neo, NEWER_ID("tasks/get")), "'status':'cancelled'"));
    CHECK(is_text(str_of(says(&ann, OLD("tasks/result"))),
                  ERR("2", "-32603", "The task was cancelled")));
    end();
}

/* An error that a tool returns is failed in one dialect and completed in the
   other. An error in place of a result is failed in both, and is repeated as it
   was. */
TEST(failures)
{
    int i;

    begin();
    makes(&ann, TASK("bad", "{}"));
    toy_comes("go");
    CHECK(is_text(str_of(says(&ann, OLD("tasks/get"))),
                  RES("2", OLD_TASK("failed", "'statusMessage':'{\\'code\\':"
                                    "\\'too_late\\'}',"))));
    CHECK(has(says(&neo, NEWER_ID("tasks/get")), "'status':'completed'"));
    CHECK(has(neo.said[0], "'result':{'resultType':'complete','content':["
              "{'type':'text','text':'{\\'code\\':\\'too_late\\'}'}],"
              "'isError':true}"));
    CHECK(has(says(&ann, OLD("tasks/result")), "'isError':true,'_meta'"));
    makes(&neo, NEWER_CALL("broke", "{}"));
    toy_comes("go");
    CHECK(has(says(&ann, OLD("tasks/get")), "'status':'failed',"
              "'statusMessage':'Internal error: store_error'"));
    CHECK(has(says(&neo, NEWER_ID("tasks/get")), "'error':{'code':-32603,"
              "'message':'Internal error: store_error'}"));
    CHECK(is_text(str_of(says(&ann, OLD("tasks/result"))),
                  ERR("2", "-32603", "Internal error: store_error")));
    /* A call that failed before it became a task has failed. */
    makes(&ann, TASK("once", "{}"));
    CHECK(has(ann.said[0], "'status':'working'"));
    CHECK(is_status("completed"));
    makes(&ann, TASK("big", "{}"));
    toy_comes("go");
    CHECK(is_text(str_of(says(&ann, OLD("tasks/result"))),
                  ERR("2", "-32603", "The result is too large to store")));
    for (i = 0; i < 2; i++) { /* only keeps a state */
        if (i == 0)
            makes(&ann, TASK("spin", "{}"));
        else
            makes(&neo, NEWER_CALL("spin", "{}"));
        ahead_ms++;
        CHECK(has(says(&ann, OLD("tasks/get")), "working"));
        ahead_ms++;
        says(&neo, NEWER_ID("tasks/get"));
        CHECK(is_status("completed"));
    }
    end();
}

TEST(failing_at_once)
{
    begin();
    makes(&ann, TASK("bad", "{'now':'x'}"));
    CHECK(has(ann.said[0], "'status':'working','createdAt'"));
    CHECK(has(says(&ann, OLD("tasks/get")), "'failed','statusMessage'"));
    end();
}

TEST(refusals)
{
    static const struct {
        const char *in, *out;
    } old[] = {
#define BAD_TTL BAD("1", "ttl must be a whole number of milliseconds")
        {TASK("echo", "{}"),
         ERR("1", "-32601", "This tool cannot run as a task")},
        {CALL("must", "{}"),
         ERR("1", "-32601", "This tool runs only as a task; send params.task")},
        {REQ("1", "tools/call", "{'name':'await','task':7}"),
         BAD("1", "task must be an object")},
        {TASK_TTL("await", "{}", "'ttl':'x'"), BAD_TTL},
        {TASK_TTL("await", "{}", "'ttl':1.5"), BAD_TTL},
        {OLD("tasks/get"), NO_TASK("2")},
        {OLD("tasks/result"), NO_TASK("2")},
        {OLD("tasks/cancel"), NO_TASK("2")},
        {REQ("2", "tasks/get", "{}"), BAD("2", "taskId must be a string")},
        {REQ("2", "tasks/list", "{'cursor':'x'}"),
         BAD("2", "Unknown cursor: x")},
        {REQ("2", "tasks/list", "{'cursor':7}"),
         BAD("2", "cursor must be a string")},
        {OLD("tasks/update"),
         ERR("2", "-32601", "Method not found: tasks/update")},
    }, modern[] = {
        {NEWER_ID("tasks/get"), NO_TASK("'x'")},
        {NEWER_ID("tasks/cancel"), NO_TASK("'x'")},
        {NEWER_ID("tasks/update"), BAD("'x'", "inputResponses is missing")},
        {NEWER("tasks/update", "'taskId':'ID','inputResponses':{},"),
         NO_TASK("'x'")},
        {NEWER("tasks/update", "'taskId':'ID','inputResponses':[],"),
         BAD("'x'", "inputResponses must be an object")},
        {NEWER("tasks/get", ""), BAD("'x'", "taskId must be a string")},
        {NEWER_ID("tasks/result"),
         ERR("'x'", "-32601", "Method not found: tasks/result")},
        {NEWER("tasks/list", ""),
         ERR("'x'", "-32601", "Method not found: tasks/list")},
        {MODERN("tasks/get", "'taskId':'ID'"), MISSING},
        {MODERN("tasks/get", "'taskId':7"), MISSING},
        {MODERN("tasks/update", "'taskId':'ID'"), MISSING},
        {MODERN("tasks/cancel", "'taskId':'ID'"), MISSING},
        {MODERN("subscriptions/listen", "'notifications':{'taskIds':[]}"),
         MISSING},
        {MODERN_CALL("must", ""), MISSING},
        {REQ("'x'", "tasks/get", "{'taskId':'ID',"
             CAPS26("{'extensions':{" KEY("tasks") ":true}}") "}"), MISSING},
    };
    size_t i;

    begin();
    memcpy(task_id, "abcdefghijklmnopqrstuv", CALL_ID_LEN);
    for (i = 0; i < sizeof(old) / sizeof(*old); i++)
        if (!CHECK(is_text(str_of(says(&ann, old[i].in)), old[i].out)))
            fprintf(stderr, "  for %s\n", old[i].in);
    for (i = 0; i < sizeof(modern) / sizeof(*modern); i++)
        if (!CHECK(is_text(str_of(says(&neo, modern[i].in)), modern[i].out)))
            fprintf(stderr, "  for %s\n", modern[i].in);
    /* Other revisions have no tasks and no task parameter. */
    ann.s->rev = MCP_2025_06_18;
    CHECK(has(says(&ann, OLD("tasks/get")), "-32601"));
    CHECK(has(says(&ann, TASK("echo", "{}")), "'content':[{"));
    end();
}

TEST(what_is_offered)
{
    static const char offer[] =
        "'tasks':{'list':{},'cancel':{},'requests':{'tools':{'call':{}}}}";
    const char *text;
    struct str quote = quoted(offer);
    char want[128];

    begin();
    snprintf(want, sizeof(want), "%.*s", STR_ARG(quote));
    CHECK(has(says(&ann, INIT("{'protocolVersion':'" V11 "'}")), offer));
    CHECK(strstr(says(&ann, INIT("{'protocolVersion':'" V06 "'}")), want) ==
          NULL);
    text = says(&neo, NEWER("server/discover", ""));
    CHECK(has(text, "'extensions':{" KEY("tasks") ":{}}"));
    CHECK(strstr(text, "\"tasks\":{\"list\"") == NULL);
    CHECK(strstr(says(&neo, NEWER("tools/list", "")), "taskSupport") == NULL);
    ann.s->rev = MCP_2025_11_25;
    text = says(&ann, MESSAGE("1", "tools/list") "}");
    CHECK(has(text, "'execution':{'taskSupport':'required'}"));
    CHECK(has(text, "'execution':{'taskSupport':'optional'}"));
    end();
}

/* Ends a call with this result in its record. It is the task from here on. */
static void
keeps(const char *result)
{
    struct str raw = quoted(result);
    struct call k = {.principal = STR("ann"), .tool = STR("await"),
                     .shape = STR("{\"rev\":3,\"caps\":0}"),
                     .status = CALL_COMPLETED, .result = raw};
    bool unknown;

    CHECK(store_lock_patiently(box.s) == 0 &&
          calls_create(box.calls, &arena, &k) == 0 &&
          store_commit(box.s, &unknown) == 0);
    store_unlock(box.s);
    memcpy(task_id, k.id.p, CALL_ID_LEN);
}

/* The task's result, in both dialects. */
static bool
gives_result(const char *want)
{
    char old[600], modern[600];

    snprintf(old, sizeof(old), RES("2", "%s," RELATED), want);
    snprintf(modern, sizeof(modern),
             "'result':{'resultType':'complete',%s},", want);
    return is_text(str_of(says(&ann, OLD("tasks/result"))), old) &&
           has(says(&neo, NEWER_ID("tasks/get")), modern);
}

#define TWICE "'structuredContent':{'came':true}," CAME
#define OWN "'content':[{'type':'text','text':'Done'}]"

/* Version 0.1.0 kept a tool's output twice, as do servers that send it twice.
   It is sent as the current server is told to. */
TEST(structured_results)
{
    struct mcp_catalogue c = toy_worker;

    c.structured = true;
    begin();
    keeps("{" TWICE "}");
    CHECK(gives_result(CAME));
    box_close();
    box_open_as(&c, false);
    who_forget(&ann);
    who_pipe(&ann, "ann", V11);
    neo.s = NULL;
    CHECK(gives_result(TWICE));
    keeps("{" CAME "}");
    CHECK(gives_result(TWICE));
    keeps("{" OWN "}");
    CHECK(gives_result(OWN));
    makes(&ann, TASK("await", "{'key':'go'}"));
    toy_comes("go");
    CHECK(gives_result(TWICE));
    makes(&ann, TASK("bad", "{}"));
    toy_comes("go");
    says(&ann, OLD("tasks/result"));
    CHECK(has(ann.said[0], "'result':{'content':[{"));
    end();
}

TEST(ttl)
{
    static const struct {
        const char *in, *ttl;
    } cases[] = {
        {TASK_TTL("later", "{'ms':1}", "'ttl':5000"), "'ttl':5000,"},
        {TASK_TTL("later", "{'ms':1}", "'ttl':1"), "'ttl':1000,"},
        {TASK_TTL("later", "{'ms':1}", "'ttl':0"), "'ttl':86400000,"},
        {TASK_TTL("later", "{'ms':1}", "'ttl':-9"), "'ttl':86400000,"},
        {TASK_TTL("later", "{'ms':1}", "'ttl':null"), "'ttl':86400000,"},
        {TASK_TTL("later", "{'ms':1}", "'ttl':1e15"), "'ttl':2592000000,"},
    };
    size_t i;

    begin();
    for (i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        CHECK(has(makes(&ann, cases[i].in), cases[i].ttl));
    makes(&ann, TASK_TTL("await", "{'key':'go'}", "'ttl':60000"));
    says(&ann, OLD("tasks/result"));
    ahead_ms += 20000;
    CHECK(has(says(&neo, NEWER_ID("tasks/get")), "'pollIntervalMs':2000"));
    ahead_ms += 39999;
    CHECK(has(says(&neo, NEWER_ID("tasks/get")), "'pollIntervalMs':5999"));
    who_forget(&ann);
    settle_after(1);
    CHECK(has(next(&ann), "No such task, or it has expired"));
    CHECK(has(says(&neo, NEWER_ID("tasks/get")), "-32602"));
    CHECK(has(says(&ann, OLD("tasks/cancel")), "-32602"));
    toy_comes("go");
    settle_all();
    CHECK(is_status("none"));
    restart();
    CHECK(has(says(&neo, NEWER_ID("tasks/get")), "-32602"));
    end();
}

/* A call that waits for a time is settled by whoever reads it then. */
TEST(times)
{
    begin();
    makes(&ann, TASK("later", "{'ms':3000}"));
    says(&ann, OLD("tasks/result"));
    settle_after(2999);
    CHECK(is_quiet(&ann) && is_status("working"));
    settle_after(1);
    CHECK(text_has(next(&ann), "'late':true"));
    CHECK(is_next(&ann, STATUS_NOTE("completed", "")));
    makes(&neo, NEWER_CALL("later", "{'ms':3000}"));
    ahead_ms += 3000;
    restart();
    CHECK(has(says(&neo, NEWER_ID("tasks/get")), "'status':'completed'"));
    end();
}

TEST(limits)
{
    int i;

    box.opt.max_own = 3;
    box.opt.max_all = 4;
    begin();
    for (i = 0; i < 3; i++)
        makes(&ann, TASK("await", "{'key':'go'}"));
    CHECK(has(says(&ann, TASK("await", "{'key':'go'}")),
              "-32602,'message':'you have too many live calls"));
    CHECK(has(says(&neo, NEWER_CALL("await", "{'key':'go'}")), "too many"));
    makes(&bob, NEWER_CALL("await", "{'key':'go'}"));
    CHECK(has(says(&bob, NEWER_CALL("await", "{'key':'go'}")),
              "the server has too many"));
    CHECK(has(says(&bob, NEWER_ID("tasks/cancel")), "complete"));
    makes(&bob, NEWER_CALL("await", "{'key':'go'}"));
    end();
    box.opt.max_own = box.opt.max_all = 0;
}

TEST(lists)
{
    char cursor[32] = "", in[200], *at;
    const char *text;
    int i, n = 0, pages = 0;

    begin();
    for (i = 0; i < 120; i++)
        makes(&ann, TASK("await", "{'key':'go'}"));
    makes(&bob, NEWER_CALL("await", "{'key':'go'}"));
    do {
        snprintf(in, sizeof(in), REQ("3", "tasks/list", "{%s}"), cursor);
        text = says(&ann, in);
        for (at = ann.said[0]; (at = strstr(at, "taskId")) != NULL; at++)
            n++;
        at = strstr(text, "\"nextCursor\":");
        snprintf(cursor, sizeof(cursor), "'cursor':%.*s",
                 at != NULL ? (int)strcspn(at + 13, "}") : 0,
                 at != NULL ? at + 13 : "");
        pages++;
    } while (at != NULL && pages < 9);
    CHECK(n == 120 && pages == 3);
    end();
}

TEST(principals_are_apart)
{
    struct who reader;

    begin();
    who_init(&reader, "ann");
    reader.read_only = true;
    makes(&neo, NEWER_CALL("await", "{'key':'go'}"));
    CHECK(is_text(str_of(says(&bob, NEWER_ID("tasks/get"))), NO_TASK("'x'")));
    CHECK(is_text(str_of(says(&bob, NEWER_ID("tasks/cancel"))),
                  NO_TASK("'x'")));
    CHECK(has(says(&bob, NEWER("tasks/update", "'taskId':'ID',"
                               "'inputResponses':{'who':{}},")), "-32602"));
    /* A caller that may only read can read it. */
    CHECK(has(says(&reader, NEWER_ID("tasks/get")), "'status':'working'"));
    CHECK(is_text(str_of(says(&reader, NEWER_ID("tasks/cancel"))),
                  ERR("'x'", "-32600", "This token is read-only")));
    CHECK(has(says(&reader, NEWER("tasks/update", "'taskId':'ID',"
                                  "'inputResponses':{'who':{}},")),
              "is read-only"));
    post(&neo, NEWER_CALL("await", "{'key':'else'}"));
    post(&reader, NEWER_ID("tasks/cancel"));
    turn();
    CHECK(is_status("working"));
    /* Its own call does not become a task: it waits. */
    who_forget(&reader);
    post(&reader, NEWER_CALL("await", "{'key':'go'}"));
    turn();
    CHECK(reader.n == 0);
    toy_comes("go");
    settle_all();
    CHECK(has(next(&reader), "'resultType':'complete'"));
    CHECK(is_status("completed"));
    who_forget(&reader);
    end();
}

/* Without a writable store no task is made or ended. */
TEST(read_only_store)
{
    begin();
    makes(&neo, NEWER_CALL("task", "{}"));
    box_close();
    box_open_as(&toy_worker, true);
    CHECK(has(says(&neo, NEWER_ID("tasks/get")), "input_required"));
    CHECK(has(says(&neo, NEWER_ID("tasks/cancel")), "'error':{"));
    CHECK(has(says(&neo, NEWER("tasks/update", "'taskId':'ID',"
                               "'inputResponses':{'who':{}},")), "'error':{"));
    who_pipe(&ann, "ann", V11);
    CHECK(has(says(&ann, TASK("await", "{}")),
              "The store is read-only, so no task can be created"));
    ann.read_only = true;
    CHECK(has(says(&ann, TASK("await", "{}")), "This token is read-only"));
    ann.read_only = false;
    says(&ann, "{'jsonrpc':'2.0','id':'mcptask-c.ID.0.1','result':{}}");
    CHECK(is_status("input_required"));
    end();
}

/* ---- events ---- */

/* Events of the turn in which a call was made, before it and after it. */
TEST(events_of_one_turn)
{
    bool unknown;

    begin();
    lock_and_stage("go", "'v':{}");
    CHECK(store_commit(box.s, &unknown) == 0);
    store_unlock(box.s);
    makes(&ann, TASK("await", "{'key':'go'}"));
    CHECK(is_status("working")); /* that was not news */
    post(&ann, OLD("tasks/result"));
    post(&ann, TASK("await", "{'key':'go'}"));
    turn();
    who_forget(&ann);
    toy_comes("go");
    settle_all();
    CHECK(is_status("completed"));
    /* By another name of a record with any key. */
    makes(&ann, TASK("await", "{'owner':'hermes'}"));
    lock_and_stage("any", "'owner':'zeus','v':{}");
    turn_commit(SIZE_MAX);
    CHECK(is_status("working"));
    lock_and_stage("else", "'owner':'hermes','v':{}");
    turn_commit(SIZE_MAX);
    CHECK(is_status("completed"));
    end();
}

/* Plain calls that wait notice what their own turn commits. */
TEST(waiting_calls_miss_nothing)
{
    begin();
    who_forget(&ann);
    post(&ann, CALL("await", "{'key':'go'}"));
    post(&neo, NEWER_CALL("once", "{}"));
    toy_runs = 0;
    /* The record comes after its run, before it is kept. */
    CHECK(store_lock_patiently(box.s) == 0);
    job_run(&jobs[0], 0);
    CHECK(jobs[0].status == MCP_WAITS);
    CHECK(stage_toy("go", "'v':{}") == 0);
    turn_commit(SIZE_MAX);
    job_give(&jobs[0]);
    n_jobs = 0;
    settle_all();
    CHECK(text_has(next(&ann), "'came':true") && toy_runs == 2);
    /* And while it is run again. */
    post(&ann, CALL("await", "{'key':'two'}"));
    turn();
    toy_comes("other");
    CHECK(toy_runs == 3);
    settle_all();
    CHECK(toy_runs == 3);
    toy_comes("two");
    settle_all();
    CHECK(text_has(next(&ann), "'came':true") && toy_runs == 4);
    /* It also finds what others committed before. */
    post(&ann, CALL("await", "{'owner':'me'}"));
    turn();
    lock_and_stage("any", "'owner':'me'");
    turn_commit(SIZE_MAX);
    settle_all();
    CHECK(text_has(next(&ann), "'came':true"));
    CHECK(is_quiet(&ann));
    end();
}

TEST(unknown_tools_are_left_alone)
{
    struct mcp_catalogue few = toy_worker;

    begin();
    makes(&ann, TASK("await", "{'key':'go'}"));
    who_forget(&ann);
    box_close();
    box_open_as(&toy_catalogue, false);
    toy_comes("go");
    settle_all();
    CHECK(is_status("working"));
    box_close();
    box_open();
    settle_all();
    CHECK(is_status("completed"));
    who_pipe(&ann, "ann", V11);
    /* A call that is due but cannot be run keeps nobody busy. */
    makes(&ann, TASK("later", "{'ms':10}"));
    ahead_ms += 10;
    who_forget(&ann);
    box_close();
    few.n_tools = 3;
    box_open_as(&few, false);
    who_pipe(&ann, "ann", V11);
    post(&ann, OLD("tasks/result"));
    settle_all();
    CHECK(is_quiet(&ann) && is_status("working"));
    end();
}

/* Nor are calls of a revision that this binary does not know. */
TEST(unknown_revisions_are_left_alone)
{
    static const char *const shapes[] = {
        "{\"rev\":-1,\"caps\":0}", "{\"rev\":99,\"caps\":0}",
        "{\"rev\":4}", "{\"caps\":0}", "{\"rev\":4,\"caps\":0}"};
    size_t n = sizeof(shapes) / sizeof(shapes[0]);
    bool unknown;

    for (size_t i = 0; i < n; i++) {
        struct call k = {.principal = STR("ann"), .tool = STR("await"),
                         .args = STR("{\"key\":\"go\"}"),
                         .shape = str_of(shapes[i]), .watch = STR("toy/go")};

        begin();
        CHECK(store_lock_patiently(box.s) == 0 &&
              calls_create(box.calls, &arena, &k) == 0 &&
              store_commit(box.s, &unknown) == 0);
        store_unlock(box.s);
        snprintf(task_id, sizeof(task_id), "%.*s", STR_ARG(k.id));
        toy_comes("go");
        settle_all();
        CHECK(is_status(i < n - 1 ? "working" : "completed"));
        end();
    }
}

TEST(progress)
{
    begin();
    who_forget(&ann);
    post(&ann, REQ("1", "tools/call", "{'name':'await','arguments':{'key':"
                   "'go'},'task':{},'_meta':{'progressToken':'p'}}"));
    turn();
    CHECK(ann.n == 2 && has(ann.said[0], "notifications/progress"));
    memcpy(task_id, strstr(ann.said[1], "taskId\":\"") + 9, CALL_ID_LEN);
    who_forget(&ann);
    disk_full = true; /* what was not committed is not reported */
    lock_and_stage("go", "'v':{}");
    turn_commit(SIZE_MAX);
    mcp_tick(box.m, clock_mono_ms());
    CHECK(is_quiet(&ann));
    ahead_ms += 1000;
    toy_comes("go");
    CHECK(has(next(&ann), "'method':'notifications/progress','params':{"
              RELATED ",'progressToken':'p','progress':"));
    CHECK(is_next(&ann, STATUS_NOTE("completed", "")));
    CHECK(is_quiet(&ann));
    end();
}

TEST(listen)
{
    begin();
    makes(&neo, NEWER_CALL("task", "{}"));
    who_forget(&neo);
    neo.s = NULL;
    post(&neo, NEWER("subscriptions/listen", "'notifications':{'taskIds':"
                     "['ID','nobodys','ID']},"));
    turn();
    CHECK(has(next(&neo), "'notifications':{'taskIds':['ID']}"));
    CHECK(is_quiet(&neo));
    post(&bob, NEWER("subscriptions/listen",
                     "'notifications':{'taskIds':['ID']},"));
    turn();
    CHECK(has(next(&bob), "'notifications':{}"));
    says(&ann, NEWER("tasks/update", "'taskId':'ID','inputResponses':"
                     "{'who':" ANSWER "},"));
    settle_all();
    CHECK(has(next(&neo), "{'jsonrpc':'2.0','method':'notifications/tasks',"
              "'params':{'_meta':{" KEY("subscriptionId") ":'x'},"
              NEW_TASK("completed", "") ",'result':{'resultType':'complete',"));
    CHECK(is_quiet(&neo) && is_quiet(&bob));
    end();
}

int
main(void)
{
    test_in_memory();
    test_run();
    arena_fini(&arena);
    return test_end("t_mcp_tasks");
}
