/* t_lease - leases and how they end, which task a claim gets, questions and
   their answers; and many processes that claim, of which no two get one task.

   argv[1]: how many tasks these claim; 200 if it is not a number. */

#include "tests/lib/catalogue.h"
#include "task/change.h"
#include "task/may.h"
#include "task/query.h"
#include "base/clock.h"
#include "base/utf8.h"

#include <sys/wait.h>

#define PROCESSES 8
#define CLAIMERS 8 /* agents of each process */

/* The seconds left of the lease in the last answer; -1: no lease. */
static int64_t
lease_left(const struct fixture *f)
{
    return expires_in(f, json_get(f->json, "lease"));
}

static bool
warned_only(const struct fixture *f, const char *text)
{
    return warned(f, text) && json_get(f->json, "warnings")->n == 1;
}

/* ---- leases ---- */

TEST(a_lease_keeps_others_out)
{
    static const char *const others[][2] = {
        {"update_task", "{'task_id':'a','agent':'you','goal':'g'}"},
        {"update_task", "{'task_id':'a','goal':'g'}"},
        {"update_task", "{'task_id':'a','agent':'you','goal':'g','answer':"
         "{'text':'t'}}"},
        {"save_checkpoint", "{'task_id':'a','agent':'you'}"},
        {"handoff_task", "{'task_id':'a','from_agent':'you'}"},
        {"mark_exhausted", "{'task_id':'a','agent':'you'}"},
        {"attach_artifact", "{'task_id':'a','name':'n','content':'c'}"},
        {"request_input", "{'task_id':'a','agent':'you','question':'q'}"},
        {"claim_task", "{'task_id':'a','agent':'you'}"},
    };
    struct fixture f;
    size_t i;

    begin_with(&f, "a");
    call(&f, "claim_task", "{'agent':'me','task_id':'a'}");
    CHECK(ok(&f) && is_true(&f, "claimed") && has(&f, "title", "T"));
    CHECK(has(&f, "status", "in_progress") && has(&f, "current_owner", "me"));
    CHECK(number(&f, "version") == 2 && number(&f, "seq") == 2);
    CHECK(lease_left(&f) == 900 && !is_true(&f, "ready"));
    CHECK(json_get(f.json, "warnings") == NULL);
    for (i = 0; i < sizeof others / sizeof *others; i++) {
        call(&f, others[i][0], others[i][1]);
        if (!CHECK(failed(&f, "lease_held") && has(&f, "holder", "me") &&
                   is_true(&f, "retryable") &&
                   strstr(f.out.p, "a lease on the task a until 20") &&
                   strstr(f.out.p, "call update_task with message")))
            fprintf(stderr, "  %s %s\n", others[i][0], others[i][1]);
    }
    STEPS(&f, {"claim_task", "{'agent':'you'}", 0, "message",
               "no task is ready"},
          {"save_checkpoint", "{'task_id':'a','agent':'me'}", 0, 0, 0},
          {"update_task", "{'task_id':'a','agent':'me','goal':'g'}", 0, 0,
           0});
    CHECK(lease_left(&f) == 900);
    call(&f, "list_tasks", "{'ready':true}");
    CHECK(number(&f, "total") == 0);
    fixture_fini(&f);
}

TEST(writes_of_the_holder_renew)
{
    struct fixture f;

    begin_with(&f, "a");
    call(&f, "claim_task", "{'agent':'me','lease_seconds':100}");
    CHECK(lease_left(&f) == 100);
    clock_ahead_s = 90;
    call(&f, "save_checkpoint", "{'task_id':'a','agent':'me'}");
    CHECK(lease_left(&f) == 100);
    clock_ahead_s = 180;
    call(&f, "attach_artifact", "{'task_id':'a','agent':'me','name':'n',"
         "'content':'c'}");
    CHECK(lease_left(&f) == 100);
    clock_ahead_s = 270;
    call(&f, "claim_task", "{'task_id':'a','agent':'me'}");
    CHECK(lease_left(&f) == 100);
    call(&f, "claim_task", "{'task_id':'a','agent':'me','lease_seconds':30}");
    CHECK(lease_left(&f) == 30);
    call(&f, "get_task", "{'task_id':'a','section':'history','limit':1}");
    CHECK(json_get(json_get(f.json, "events") + 1, "changed")->n == 0);
    /* Somebody else's answer does not renew the holder's lease. */
    call(&f, "request_input", "{'task_id':'a','agent':'me','question':'q'}");
    clock_ahead_s += 20;
    call(&f, "update_task", "{'task_id':'a','answer':{'text':'t'}}");
    CHECK(ok(&f) && lease_left(&f) == 10);
    clock_ahead_s = 0;
    fixture_fini(&f);
}

TEST(a_lease_that_ends)
{
    struct fixture f;

    begin_with(&f, "a");
    call(&f, "claim_task", "{'agent':'me','lease_seconds':30}");
    clock_ahead_s = 29;
    call(&f, "update_task", "{'task_id':'a','agent':'you','goal':'g'}");
    CHECK(failed(&f, "lease_held"));
    clock_ahead_s = 31;
    call(&f, "get_task", "{'task_id':'a'}");
    CHECK(is_true(&f, "lease_expired") && is_true(&f, "ready"));
    CHECK(has(&f, "current_owner", "me") && has(&f, "status", "in_progress"));
    call(&f, "list_tasks", "{'ready':true}");
    CHECK(number(&f, "total") == 1 &&
          json_get(json_get(f.json, "tasks") + 1, "lease_expired"));
    call(&f, "list_tasks", "{'ready':false}");
    CHECK(number(&f, "total") == 0);
    /* It stays its owner's until claimed; the owner's writes renew it. */
    call(&f, "update_task", "{'task_id':'a','agent':'you','goal':'g'}");
    CHECK(ok(&f) && has(&f, "current_owner", "me") &&
          warned_only(&f, "another agent owns this task"));
    call(&f, "update_task", "{'task_id':'a','agent':'me','goal':'h'}");
    CHECK(ok(&f) && lease_left(&f) == 30);
    call(&f, "claim_task", "{'agent':'you'}");
    CHECK(!is_true(&f, "claimed"));
    clock_ahead_s += 31;
    call(&f, "claim_task", "{'agent':'you'}");
    CHECK(ok(&f) && has(&f, "current_owner", "you") &&
          lease_left(&f) == 900);
    call(&f, "save_checkpoint", "{'task_id':'a','agent':'me'}");
    CHECK(failed(&f, "lease_held") && has(&f, "holder", "you"));
    clock_ahead_s = 0;
    fixture_fini(&f);
}

/* Somebody sets the clock back: the lease ends when it would have ended, and a
   claim gives a whole one. */
TEST(a_lease_and_the_clock_set_back)
{
    struct fixture f;

    begin_with(&f, "a");
    call(&f, "claim_task", "{'agent':'me','lease_seconds':30}");
    wall_ahead_s = -3600;
    clock_ahead_s = 29;
    call(&f, "claim_task", "{'task_id':'a','agent':'you'}");
    CHECK(failed(&f, "lease_held"));
    clock_ahead_s = 31;
    call(&f, "claim_task", "{'agent':'you','lease_seconds':30}");
    CHECK(ok(&f) && has(&f, "current_owner", "you"));
    clock_ahead_s = 60;
    call(&f, "claim_task", "{'task_id':'a','agent':'me'}");
    CHECK(failed(&f, "lease_held"));
    clock_ahead_s = 62;
    call(&f, "claim_task", "{'agent':'me'}");
    CHECK(ok(&f) && has(&f, "current_owner", "me"));
    clock_ahead_s = wall_ahead_s = 0;
    fixture_fini(&f);
}

TEST(what_releases_a_lease)
{
    static const char *const ways[][2] = {
        {"handoff_task", "{'task_id':'a','from_agent':'me'}"},
        {"handoff_task", "{'task_id':'a','from_agent':'me','to_agent':'me'}"},
        {"mark_exhausted", "{'task_id':'a','agent':'me'}"},
        {"update_task", "{'task_id':'a','agent':'me','status':'done'}"},
        {"update_task", "{'task_id':'a','agent':'me','status':'failed'}"},
        {"update_task", "{'task_id':'a','agent':'me','status':'cancelled'}"},
        {"update_task", "{'task_id':'a','agent':'me','status':'open'}"},
        {"update_task", "{'task_id':'a','agent':'me','current_owner':'you'}"},
    };
    struct fixture f;
    size_t i;

    for (i = 0; i < sizeof ways / sizeof *ways; i++) {
        begin_with(&f, "a");
        call(&f, "claim_task", "{'agent':'me'}");
        CHECK(lease_left(&f) == 900);
        call(&f, ways[i][0], ways[i][1]);
        CHECK(ok(&f) && lease_left(&f) == -1);
        /* Nobody else begins what was handed to somebody. */
        call(&f, "update_task", strstr(ways[i][1], "to_agent")
             ? "{'task_id':'a','agent':'me','status':'in_progress'}"
             : "{'task_id':'a','agent':'you','status':'in_progress','reason':"
               "'r'}");
        /* It was meant for another agent, or whoever begins it has one. */
        if (!CHECK(ok(&f) && lease_left(&f) == 900))
            fprintf(stderr, "  %s %s\n", ways[i][0], ways[i][1]);
        fixture_fini(&f);
    }
}

TEST(ownership_warn)
{
    static const char text[] = "another agent holds a lease on this task";
    struct fixture f;

    begin_with(&f, "a");
    f.env.ownership_warn = true;
    call(&f, "claim_task", "{'agent':'me'}");
    call(&f, "attach_artifact", "{'task_id':'a','name':'n','content':'c'}");
    CHECK(ok(&f) && warned_only(&f, text) && lease_left(&f) == 900);
    clock_ahead_s = 60;
    call(&f, "update_task", "{'task_id':'a','goal':'g'}");
    CHECK(ok(&f) && warned_only(&f, text) && lease_left(&f) == 840);
    /* Even so there is one winner. */
    STEPS(&f, {"claim_task", "{'agent':'you','task_id':'a'}", "lease_held",
               "holder", "me"},
          {"mark_exhausted", "{'task_id':'a','agent':'you'}", 0, "status",
           "agent_exhausted"});
    CHECK(lease_left(&f) == -1);
    clock_ahead_s = 0;
    fixture_fini(&f);
}

/* ---- claims ---- */

TEST(what_may_be_claimed)
{
    struct fixture f;

    begin_with(&f, "abcdef");
    STEPS(&f,
        {"claim_task", "{'agent':'unknown'}", "invalid_argument", "field",
         "agent"},
        {"claim_task", "{'agent':'me','lease_seconds':2.5}",
         "invalid_argument", "field", "lease_seconds"},
        {"claim_task", "{'agent':'me','lease_seconds':'long'}",
         "invalid_argument", "field", "lease_seconds"},
        {"claim_task", "{'agent':'me','task_id':'no'}", "not_found", 0, 0},
        {"claim_task", "{'agent':'me','task_id':'a','expected_version':7}",
         "version_conflict", 0, 0},
        {"claim_task", "{'agent':'me','task_id':'a','expected_version':1,"
         "'lease_seconds':86400}", 0, "status", "in_progress"},
        /* who begins a task takes a lease, too */
        {"save_checkpoint", "{'task_id':'b','agent':'me'}", 0, 0, 0},
        {"claim_task", "{'agent':'you','task_id':'b'}", "lease_held",
         "holder", "me"},
        {"claim_task", "{'agent':'me','task_id':'b'}", 0, "current_owner",
         "me"},
        /* it is kept for whom it is handed to */
        {"handoff_task", "{'task_id':'c','from_agent':'x','to_agent':'me'}",
         0, 0, 0},
        {"claim_task", "{'agent':'you','task_id':'c'}", "kept",
         "holder", "me"},
        {"claim_task", "{'agent':'me','task_id':'c'}", 0, "current_owner",
         "me"},
        {"handoff_task", "{'task_id':'c','from_agent':'me'}", 0, 0, 0},
        {"claim_task", "{'agent':'you','task_id':'c'}", 0, "current_owner",
         "you"},
        {"mark_exhausted", "{'task_id':'c','agent':'you'}", 0, 0, 0},
        {"claim_task", "{'agent':'me','task_id':'c'}", 0, "current_owner",
         "me"},
        {"update_task", "{'task_id':'d','depends_on':['c']}", 0, 0, 0},
        {"claim_task", "{'agent':'me','task_id':'d'}", "blocked", 0, 0},
        {"update_task", "{'task_id':'e','status':'cancelled'}", 0, 0, 0},
        {"claim_task", "{'agent':'me','task_id':'e'}", "terminal", 0, 0});
    fixture_fini(&f);
}

TEST(the_best_one_is_claimed)
{
    static const struct {
        const char *args, *id; /* NULL: none is ready */
    } claims[] = {
        {"{'agent':'me','repo_path':'/none'}", NULL},
        {"{'agent':'me','tag':'re'}", NULL},
        {"{'agent':'me','tag':'red'}", "e"},
        {"{'agent':'me'}", "d"},   /* the highest priority */
        {"{'agent':'me','repo_path':'/r'}", "g"},
        {"{'agent':'you'}", "b"},  /* it waits longest */
        {"{'agent':'him'}", "h"},  /* handed to him, */
        {"{'agent':'him'}", "f"},  /* and so is the lowest */
        {"{'agent':'you'}", "a"},  /* changed since */
        {"{'agent':'you'}", NULL}, /* one is blocked, one is his */
    };
    struct fixture f;
    size_t i;

    begin_with(&f, "abcdefghi");
    STEPS(&f, {"update_task", "{'task_id':'c','depends_on':['i']}", 0, 0, 0},
          {"update_task", "{'task_id':'d','priority':0}", 0, 0, 0},
          {"update_task", "{'task_id':'e','priority':3,'tags':['blue','red']"
           "}", 0, 0, 0},
          {"update_task", "{'task_id':'f','priority':4}", 0, 0, 0},
          {"update_task", "{'task_id':'g','priority':3,'repo_path':'/r'}", 0,
           0, 0},
          {"update_task", "{'task_id':'h','priority':1}", 0, 0, 0},
          {"handoff_task", "{'task_id':'f','from_agent':'x','to_agent':"
           "'him'}", 0, 0, 0},
          {"handoff_task", "{'task_id':'h','from_agent':'x','to_agent':"
           "'him'}", 0, 0, 0},
          {"handoff_task", "{'task_id':'i','from_agent':'x','to_agent':"
           "'nobody'}", 0, 0, 0},
          {"update_task", "{'task_id':'a','goal':'g'}", 0, 0, 0});
    for (i = 0; i < sizeof claims / sizeof *claims; i++) {
        call(&f, "claim_task", claims[i].args);
        if (claims[i].id ? !CHECK(has(&f, "task_id", claims[i].id))
                         : !CHECK(ok(&f) && !is_true(&f, "claimed")))
            fprintf(stderr, "  claim %zu\n", i);
    }
    STEPS(&f, {"claim_task", "{'agent':'nobody'}", 0, "task_id", "i"},
          {"claim_task", "{'agent':'you'}", 0, "message",
           "no task is ready"},
          {"update_task", "{'task_id':'i','agent':'nobody','status':'done'}",
           0, 0, 0},
          {"claim_task", "{'agent':'you'}", 0, "task_id", "c"});
    fixture_fini(&f);
}

/* A claim repeated with its key gets the same answer, whatever came later. */
TEST(a_claim_is_repeated)
{
    static const char again[] = "{'agent':'me','idempotency_key':'k'}";
    struct fixture f;
    char first[1024];

    begin_with(&f, "ab");
    call(&f, "claim_task", again);
    CHECK(ok(&f) && has(&f, "task_id", "a") && f.out.len < sizeof first);
    snprintf(first, sizeof first, "%.*s", STR_ARG(buf_view(&f.out)));
    call(&f, "claim_task", again);
    CHECK(str_is(buf_view(&f.out), first));
    call(&f, "handoff_task", "{'task_id':'a','from_agent':'me'}");
    fixture_close(&f);
    fixture_open(&f);
    call(&f, "claim_task", again);
    CHECK(str_is(buf_view(&f.out), first));
    /* What was begun comes first. */
    call(&f, "claim_task", "{'agent':'me'}");
    CHECK(has(&f, "task_id", "a"));
    fixture_fini(&f);
}

/* Blocked tasks do not hide the ready ones, however many they are. */
TEST(few_ready_among_many)
{
    enum { N = 12000 };
    struct fixture f;
    char args[96];
    bool unknown;
    int i;

    begin_with(&f, "x");
    f.hold = true;
    for (i = 0; i < N; i++) {
        snprintf(args, sizeof args, "{'task_id':'t%d','title':'T',"
                 "'depends_on':['x']}", i);
        call(&f, "create_task", args);
        if (i % 1000 == 999) {
            CHECK(store_commit(f.s, &unknown) == 0);
            arena_reset(&f.a);
        }
    }
    f.hold = false;
    store_unlock(f.s);
    call(&f, "claim_task", "{'agent':'me','task_id':'x'}");
    call(&f, "claim_task", "{'agent':'me'}");
    CHECK(!is_true(&f, "claimed") && is_true(&f, "partial"));
    CHECK(has(&f, "message", "no task is ready in the part that was searched"));
    call(&f, "create_task", "{'task_id':'y','title':'T'}");
    call(&f, "claim_task", "{'agent':'me'}");
    CHECK(has(&f, "task_id", "y"));
    call(&f, "update_task", "{'task_id':'x','agent':'me','status':'done'}");
    call(&f, "claim_task", "{'agent':'me'}");
    CHECK(has(&f, "task_id", "t0"));
    fixture_fini(&f);
}

/* Nor do tasks that only a newer version can read. */
TEST(unreadable_tasks_are_not_claimed)
{
#define HEAD "'task_id':'n','status':'open','priority':0"
    static const char *const states[] = {
        "{" HEAD "}", "{" HEAD ",'depends_on':['a']}",
        "{" HEAD ",'title':'T','more':}",
        "{'task_id':'n','status':'paused','priority':0,'title':'T'}",
    };
    struct fixture f;
    char key[16], body[256];
    bool unknown;
    size_t i;

    begin_with(&f, "a");
    STEPS(&f, {"claim_task", "{'agent':'me'}", 0, "task_id", "a"},
          {"update_task", "{'task_id':'a','agent':'me','status':'done'}", 0,
           0, 0});
    CHECK(store_lock_patiently(f.s) == 0);
    for (i = 0; i < sizeof states / sizeof *states; i++) {
        snprintf(key, sizeof key, "task/new%zu", i);
        snprintf(body, sizeof body, "'op':'create','by':'you','v':%s",
                 states[i]);
        CHECK(store_stage(f.s, str_of(key), quoted(&f.a, body)) == 0);
    }
    CHECK(store_commit(f.s, &unknown) == 0);
    store_unlock(f.s);
    clock_ahead_s = 86401; /* longer than any lease here */
    call(&f, "claim_task", "{'agent':'me'}");
    CHECK(ok(&f) && !is_true(&f, "claimed"));
    STEPS(&f, {"create_task", "{'task_id':'b','title':'T'}", 0, 0, 0},
          {"claim_task", "{'agent':'me'}", 0, "task_id", "b"},
          {"claim_task", "{'agent':'me','task_id':'new0'}", "store_error", 0,
           0});
#undef HEAD
    clock_ahead_s = 0;
    fixture_fini(&f);
}

/* ---- questions ---- */

static char asked[64][16]; /* ids of questions, in their order */
static int n_asked;

static void
ask(struct fixture *f, const char *text)
{
    char args[128];
    struct str id;

    snprintf(args, sizeof args, "{'task_id':'a','agent':'me','question':'%s'}",
             text);
    call(f, "request_input", args);
    id = json_str(&f->a, json_get(f->json, "question_id"));
    snprintf(asked[n_asked++ % 64], sizeof *asked, "%.*s", STR_ARG(id));
}

/* Finds the question in task a, and its answer. */
static bool
answer_of(struct fixture *f, struct str question, struct str *answer)
{
    struct task_event ev;
    struct str item = STR_NONE;

    if (CHECK(task_event_last(f->t, &f->a, STR("a"), &ev) == 0))
        item = raw_list_find(raw_member(ev.v, "questions"), "question_id",
                             question);
    *answer = raw_member(item, "answer");
    return item.p;
}

TEST(the_first_answer_wins)
{
    struct str a;
    struct fixture f;
    const struct json_tok *q;

    begin_with(&f, "ab");
    call(&f, "claim_task", "{'agent':'me','task_id':'a'}");
    call(&f, "request_input", "{'task_id':'a','agent':'me','question':"
         "'Which?','options':['x','y'],'kind':'approval'}");
    CHECK(ok(&f) && has(&f, "question_id", "q4") && lease_left(&f) == 900);
    CHECK(has(&f, "status", "in_progress") && !is_true(&f, "answered"));
    CHECK(json_get(f.json, "how_to_answer") != NULL);
    CHECK(answer_of(&f, STR("\"q4\""), &a) && !a.p);
    CHECK(!answer_of(&f, STR("\"q2\""), &a));
    call(&f, "list_tasks", "{'needs_input':true}");
    CHECK(number(&f, "total") == 1);
    call(&f, "list_tasks", "{'needs_input':false}");
    CHECK(number(&f, "total") == 1);
    f.person = true; /* since it is an approval */
    STEPS(&f,
        {"update_task", "{'task_id':'b','answer':{'text':'t'}}",
         "not_found", "field", "answer"},
        {"update_task", "{'task_id':'a','answer':{'question_id':'q2',"
         "'text':'t'}}", "not_found", "field", "answer"},
        {"update_task", "{'task_id':'a','answer':{'question_id':'q4'}}",
         "invalid_argument", "field", "answer"},
        {"update_task", "{'task_id':'a','answer':{'text':'t','more':1}}",
         "invalid_argument", "field", "answer"},
        {"update_task", "{'task_id':'a','answer':{'question_id':'q4',"
         "'action':'accept'}}", "invalid_argument", "field", "answer"},
        {"update_task", "{'task_id':'a','answer':{'question_id':'q4',"
         "'text':''}}", "invalid_argument", "field", "answer"},
        {"update_task", "{'task_id':'a','answer':{'question_id':'q4',"
         "'text':'xy'}}", "invalid_argument", "message",
         "the answer must be one of [\"x\",\"y\"]"},
        {"update_task", "{'task_id':'a','agent':'you','answer':"
         "{'question_id':'q4','text':'x'},'idempotency_key':'k'}", 0,
         "status", "in_progress"},
        {"update_task", "{'task_id':'a','agent':'you','answer':"
         "{'question_id':'q4','text':'x'},'idempotency_key':'k'}", 0,
         "status", "in_progress"},
        {"update_task", "{'task_id':'a','agent':'me','answer':"
         "{'question_id':'q4','text':'y'}}", "already_exists", "field",
         "answer"});
    call(&f, "get_task", "{'task_id':'a'}");
    CHECK(!is_true(&f, "needs_input"));
    q = json_get(f.json, "questions") + 1;
    CHECK(json_is(json_get(q, "question"), "Which?") &&
          json_is(json_get(q, "kind"), "approval") &&
          json_is(json_get(q, "by"), "me") &&
          json_get(q, "options")->n == 2);
    q = json_get(q, "answer");
    CHECK(json_is(json_get(q, "text"), "x") &&
          json_is(json_get(q, "action"), "accept") &&
          json_is(json_get(q, "by"), "you") && json_get(q, "at"));
    CHECK(answer_of(&f, STR("\"q4\""), &a) &&
          str_is(raw_member(a, "text"), "\"x\""));
    fixture_fini(&f);
}

/* An empty list of options offers nothing, so any text is an answer. Earlier
   versions stored such a list. */
TEST(no_options)
{
    struct fixture f;

    begin_with(&f, "a");
    call(&f, "request_input", "{'task_id':'a','question':'?','options':[]}");
    call(&f, "get_task", "{'task_id':'a'}");
    CHECK(json_get(json_get(f.json, "questions") + 1, "options") == NULL);
    call(&f, "update_task", "{'task_id':'a','answer':{'text':'t'}}");
    CHECK(ok(&f));
    CHECK(strcmp(import(&f, "{'task_id':'i','title':'I','questions':["
                        "{'question_id':'q1','question':'?','options':[],"
                        "'kind':'question','by':'me',"
                        "'at':'2026-01-01T00:00:00.000Z'}]}"), "") == 0);
    call(&f, "update_task", "{'task_id':'i','answer':{'text':'t'}}");
    CHECK(ok(&f));
    fixture_fini(&f);
}

TEST(kinds_of_answers)
{
    struct str a;
    struct fixture f;

    begin_with(&f, "a");
    ask(&f, "one");
    ask(&f, "two");
    STEPS(&f,
        {"update_task", "{'task_id':'a','answer':{'text':'t'}}",
         "invalid_argument", 0, 0}, /* two are open */
        {"update_task", "{'task_id':'a','answer':{'question_id':'q2',"
         "'action':'decline'}}", 0, 0, 0},
        {"update_task", "{'task_id':'a','goal':'both','answer':{'text':'t'}}",
         0, 0, 0});
    CHECK(answer_of(&f, STR("\"q2\""), &a) &&
          str_is(raw_member(a, "action"), "\"decline\"") &&
          !raw_member(a, "text").p && !raw_member(a, "question_id").p);
    CHECK(answer_of(&f, STR("\"q3\""), &a) &&
          str_is(raw_member(a, "action"), "\"accept\""));
    call(&f, "get_task", "{'task_id':'a'}");
    CHECK(has(&f, "goal", "both"));
    /* Nobody needs the answers of a task that has ended. */
    ask(&f, "three");
    call(&f, "update_task", "{'task_id':'a','status':'cancelled'}");
    call(&f, "list_tasks", "{'needs_input':true,'include_done':true}");
    CHECK(number(&f, "total") == 0);
    STEPS(&f, {"request_input", "{'task_id':'a','agent':'me','question':'q'}",
               "terminal", 0, 0},
          {"update_task", "{'task_id':'a','answer':{'text':'t'}}",
           "terminal", 0, 0});
    fixture_fini(&f);
}

/* Whichever bytes of the last option do not fit. */
TEST(long_options_end_with_a_character)
{
    struct fixture f;
    struct buf b = {0};

    begin_with(&f, "abc");
    for (int i = 0; i < 3; i++) {
        buf_reset(&b, b.cap);
        buf_printf(&b, "{'task_id':'%c','question':'q','options':['%.*s",
                   'a' + i, i, "xx");
        put_times(&b, "\xe4\xb8\xad", 250);
        buf_put(&b, "']}", 4);
        call(&f, "request_input", b.p);
        CHECK(ok(&f));
        buf_reset(&b, b.cap);
        buf_printf(&b, "{'task_id':'%c','answer':{'text':'t'}}", 'a' + i);
        buf_char(&b, '\0');
        call(&f, "update_task", b.p);
        CHECK(failed(&f, "invalid_argument"));
        buf_char(&f.out, '\0');
        CHECK(strstr(f.out.p, "must be one of [") != NULL);
        CHECK(strstr(f.out.p, "\xef\xbf\xbd") == NULL);
    }
    buf_fini(&b);
    fixture_fini(&f);
}

TEST(how_many_questions)
{
    struct fixture f;
    struct buf b = {0};
    const struct json_tok *list;
    char args[128];
    int i;

    begin_with(&f, "a");
    n_asked = 0;
    for (i = 0; i < TASK_MAX_OPEN; i++)
        ask(&f, "q");
    CHECK(ok(&f));
    ask(&f, "q");
    CHECK(failed(&f, "too_large") && has(&f, "field", "question"));
    CHECK(has(&f, "next", "ask again after one of them is answered") &&
          is_true(&f, "retryable"));
    n_asked--;
    call(&f, "update_task", "{'task_id':'a','answer':{'text':'t'}}");
    CHECK(failed(&f, "invalid_argument") && has(&f, "message", "8 questions "
          "are open, so the answer needs a question_id"));
    for (i = 1; i <= 40; i++) {
        /* The second one stays open. */
        snprintf(args, sizeof args, "{'task_id':'a','answer':{'question_id':"
                 "'%s','text':'t'}}", asked[i == 1 ? 0 : i]);
        call(&f, "update_task", args);
        CHECK(ok(&f));
        ask(&f, "q");
        CHECK(ok(&f));
    }
    call(&f, "get_task", "{'task_id':'a'}");
    list = json_get(f.json, "questions");
    CHECK(list->n == TASK_MAX_QUESTIONS);
    CHECK(json_is(json_get(list + 1, "question_id"), asked[1]) &&
          !json_get(list + 1, "answer"));
    CHECK(json_is(json_get(list + 1 + list[1].span, "question_id"),
                  asked[17]));
    /* An answer that is too long once escaped. */
    buf_printf(&b, "{'task_id':'a','answer':{'question_id':'%s','text':'",
               asked[1]);
    for (i = 0; i < 4096; i++)
        buf_z(&b, "\\u0001");
    buf_put(&b, "'}}", 4);
    call(&f, "update_task", b.p);
    CHECK(failed(&f, "too_large") && has(&f, "field", "answer"));
    CHECK(has(&f, "next", "make it shorter"));
    buf_fini(&b);
    fixture_fini(&f);
}

/* ---- what answers show ---- */

static bool
shows(const struct fixture *f, const char *what)
{
    bool is;

    buf_char((struct buf *)(uintptr_t)&f->out, '\0');
    is = strstr(f->out.p, what) != NULL;
    if (!is)
        fprintf(stderr, "no %s in %s\n", what, f->out.p);
    return is;
}

/* Claims without an id get what list_tasks shows in the order of work. */
TEST(claims_keep_the_order_of_lists)
{
    enum { N = 40 };
    char text[160], ids[N][8];
    const struct json_tok *list, *k;
    struct fixture f;
    uint32_t n, i;

    fixture_init(&f);
    for (i = 0; i < N; i++) {
        snprintf(text, sizeof text, "{'task_id':'t%02u','title':'T','priority'"
                 ":%u%s}", i, i * 7 % 5, i % 4 == 0 && i > 0
                 ? ",'depends_on':['t00']" : "");
        call(&f, "create_task", text);
    }
    for (i = 1; i < N; i += 3) {
        snprintf(text, sizeof text, "{'task_id':'t%02u','from_agent':'x',"
                 "'reason':'r'%s}", i, i % 2 ? ",'to_agent':'you'" : "");
        call(&f, "handoff_task", text);
        snprintf(text, sizeof text, "{'task_id':'t%02u','goal':'g'}", N - i);
        call(&f, "update_task", text);
    }
    call(&f, "update_task", "{'task_id':'t00','status':'done'}");
    clock_ahead_s = 910; /* handoffs are open to all, on all hosts */
    call(&f, "list_tasks", "{'ready':true,'order':'work','limit':100}");
    list = json_get(f.json, "tasks");
    n = list->n;
    CHECK(n == N - 1);
    for (i = 0, k = list + 1; i < n; i++, k += k->span)
        snprintf(ids[i], sizeof ids[i], "%.*s",
                 STR_ARG(json_str(&f.a, json_get(k, "task_id"))));
    for (i = 0; i < n; i++) {
        call(&f, "claim_task", "{'agent':'me'}");
        CHECK(has(&f, "task_id", ids[i]));
    }
    call(&f, "claim_task", "{'agent':'me'}");
    CHECK(!is_true(&f, "claimed"));
    clock_ahead_s = 0;
    fixture_fini(&f);
}

/* A search that has passed by tasks of other projects finds one that comes back
   to its place before them. */
TEST(a_task_comes_back_before_those_that_were_passed)
{
    struct fixture f;

    fixture_init(&f);
    STEPS(&f,
        {"create_task", "{'task_id':'d','title':'T','repo_path':'/b'}",
         NULL, NULL, NULL},
        {"create_task", "{'task_id':'a','title':'T','repo_path':'/a',"
         "'depends_on':['d']}", NULL, NULL, NULL},
        {"create_task", "{'task_id':'b','title':'T','repo_path':'/b',"
         "'depends_on':['d']}", NULL, NULL, NULL},
        {"claim_task", "{'agent':'me','repo_path':'/a'}", NULL, NULL, NULL},
        {"claim_task", "{'agent':'me','repo_path':'/a'}", NULL, NULL, NULL},
        {"update_task", "{'task_id':'d','status':'done'}", NULL, NULL, NULL},
        {"claim_task", "{'agent':'me','repo_path':'/a'}", NULL, "task_id",
         "a"},
        {"claim_task", "{'agent':'me','repo_path':'/b'}", NULL, "task_id",
         "b"});
    fixture_fini(&f);
}

/* The search for work judges by the index what may() judges by the record. */
TEST(the_index_agrees_with_may)
{
    static const char *const make[][2] = {
        {"claim_task", "{'agent':'me','task_id':'t0','lease_seconds':30}"},
        {"update_task", "{'agent':'me','task_id':'t1','status':"
         "'in_progress'}"},
        {"handoff_task", "{'from_agent':'me','to_agent':'you','task_id':'t2',"
         "'reason':'r'}"},
        {"handoff_task", "{'from_agent':'me','task_id':'t3','reason':'r'}"},
        {"mark_exhausted", "{'agent':'me','task_id':'t4','reason':'r'}"},
        {"update_task", "{'agent':'me','task_id':'t5','depends_on':['t0']}"},
        {"update_task", "{'agent':'me','task_id':'t6','status':'done'}"},
        {"update_task", "{'agent':'me','task_id':'t7','goal':'g'}"},
        {"handoff_task", "{'from_agent':'me','to_agent':'you','task_id':'t8',"
         "'reason':'r','expires_seconds':60}"},
        {"update_task", "{'task_id':'t9','current_owner':'you'}"},
    };
    static const int times[] = {0, 29, 31, 59, 61, 899, 901, 86399, 86401};
    static const struct str names[] = {STR("\"me\""), STR("\"you\""),
                                       STR("\"other\"")};
    enum { N_MADE = sizeof make / sizeof *make };
    struct fixture f;
    char args[64];
    size_t i, at, who;

    fixture_init(&f);
    for (i = 0; i < N_MADE; i++) {
        snprintf(args, sizeof args, "{'task_id':'t%zu','title':'T',"
                 "'tags':['t%zu']}", i, i);
        call(&f, "create_task", args);
    }
    for (i = 0; i < N_MADE; i++) {
        call(&f, make[i][0], make[i][1]);
        CHECK(ok(&f));
    }
    for (at = 0; at < sizeof times / sizeof *times; at++)
        for (who = 0; who < 3; who++)
            for (i = 0; i < N_MADE; i++) {
                struct str id = arena_printf(&f.a, "t%zu", i), found;
                struct task_want want = {.who = {.name = names[who]}};
                struct task k;
                bool may_begin;

                want.tag = raw_quote(&f.a, id);
                clock_ahead_s = times[at];
                CHECK(task_get(f.t, &f.a, id, &k) == 0);
                may_begin = k.ready &&
                            may(&want.who, &k, ACT_CLAIM) == MAY_YES;
                CHECK(tasks_find_ready(f.t, &want, &found) == 0);
                if (!CHECK(str_eq(found, id) == may_begin))
                    fprintf(stderr, "  %s at %d for %.*s\n", id.p, times[at],
                            STR_ARG(names[who]));
            }
    clock_ahead_s = 0;
    fixture_fini(&f);
}

TEST(a_brief_tells)
{
    struct fixture f;
    struct task k;

    begin_with(&f, "a");
    call(&f, "claim_task", "{'agent':'me','lease_seconds':30}");
    ask(&f, "Why?\\n# not a heading");
    call(&f, "update_task", "{'task_id':'a','agent':'you','answer':{'text':"
         "'So.\\nThere'}}");
    ask(&f, "How?");
    CHECK(task_get(f.t, &f.a, STR("a"), &k) == 0);
    buf_reset(&f.out, 0);
    view_task_markdown(&f.out, &f.a, &k);
    CHECK(shows(&f, "\n## Lease\n\n- agent: me\n- expires_at: 2"));
    CHECK(shows(&f, "\n## Questions\n\n- question_id: q3, question: Why? "
                    "# not a heading, kind: question, by: me, at: 2"));
    CHECK(shows(&f, "Z, answer: {\"text\":\"So.\\nThere\",\"action\""));
    CHECK(shows(&f, "}\n- question_id: q5, question: How?, kind: question"));
    clock_ahead_s = 40;
    CHECK(task_get(f.t, &f.a, STR("a"), &k) == 0);
    buf_reset(&f.out, 0);
    view_task_markdown(&f.out, &f.a, &k);
    view_task_line(&f.out, &f.a, &k);
    CHECK(shows(&f, "- lease_expired: true\n") &&
          shows(&f, "a  in_progress (needs input) (lease expired)  P2"));
    clock_ahead_s = 0;
    fixture_fini(&f);
}

/* Whether the views show k, read from its JSON, as they show it here. */
static bool
is_shown_alike(struct fixture *f, const struct task *k, bool whole)
{
    struct buf json = {0}, here = {0}, there = {0};
    struct task read;
    bool same;

    if (whole) {
        view_task_json(&json, k);
        view_task_markdown(&here, &f->a, k);
    } else {
        view_summary_json(&json, k);
    }
    view_task_line(&here, &f->a, k);
    if (!CHECK(task_of_json(&f->a, buf_view(&json), &read) == 0))
        return false;
    if (whole)
        view_task_markdown(&there, &f->a, &read);
    view_task_line(&there, &f->a, &read);
    same = str_eq(buf_view(&here), buf_view(&there)) &&
           task_column(k) == task_column(&read) && k->ready == read.ready &&
           (whole || str_eq(task_cause_text(&f->a, k),
                            task_cause_text(&f->a, &read))) &&
           k->leased == read.leased && k->ev.r.n == read.ev.r.n;
    if (!same)
        fprintf(stderr, "%.*s\nnot\n%.*s\n", STR_ARG(buf_view(&there)),
                STR_ARG(buf_view(&here)));
    buf_fini(&json);
    buf_fini(&here);
    buf_fini(&there);
    return same;
}

static void
check_all_alike(struct fixture *f)
{
    struct task_query q = {.include_done = true, .limit = TASK_LIST_MAX};
    struct task_list list;

    CHECK(tasks_list(f->t, &f->a, &q, &list) == 0 && list.n > 0);
    for (size_t i = 0; i < list.n; i++) {
        CHECK(is_shown_alike(f, &list.tasks[i], false));
        CHECK(is_shown_alike(f, &list.tasks[i], true));
    }
}

TEST(json_is_read_as_the_task)
{
    static const char *const changes[][2] = {
        {"create_task", "{'task_id':'b','title':'B \\u00e9\\n\\\"',"
                        "'depends_on':['a'],'tags':['x','y'],'goal':'g'}"},
        {"claim_task", "{'task_id':'a','agent':'me','lease_seconds':30}"},
        {"save_checkpoint", "{'task_id':'a','agent':'me','completed_steps':"
                            "['1'],'remaining_steps':['2','3'],'test_results'"
                            ":[{'command':'x','exit_code':1}]}"},
        {"request_input", "{'task_id':'a','agent':'me','question':'Why?'}"},
        {"update_task", "{'task_id':'a','agent':'you','answer':"
                        "{'text':'So'},'message':'now'}"},
        {"handoff_task", "{'task_id':'a','from_agent':'me','reason':'r'}"},
        {"claim_task", "{'task_id':'a','agent':'me'}"},
        {"mark_exhausted", "{'task_id':'a','agent':'me','reason':'quota'}"},
        {"update_task", "{'task_id':'a','status':'failed','reason':'r'}"},
    };
    struct fixture f;
    struct task k;

    begin_with(&f, "a");
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        call(&f, changes[i][0], changes[i][1]);
        clock_ahead_s = 40;
        check_all_alike(&f);
        clock_ahead_s = 0;
        check_all_alike(&f);
        arena_reset(&f.a);
    }
    CHECK(task_of_json(&f.a, STR("{}"), &k) == ERR_FORMAT);
    CHECK(task_of_json(&f.a, STR("[]"), &k) == ERR_FORMAT);
    CHECK(task_of_json(&f.a, STR(""), &k) == ERR_FORMAT);
    CHECK(task_of_json(&f.a, STR("{\"task_id\":\"a\",\"title\":\"t\","
                                 "\"status\":\"new\"}"), &k) == ERR_FORMAT);
    CHECK(task_of_json(&f.a, STR("{\"task_id\":\"a\",\"title\":\"t\","
                                 "\"status\":\"open\",\"tags\":1}"),
                       &k) == ERR_FORMAT);
    CHECK(task_of_json(&f.a, STR("{\"task_id\":\"a\",\"title\":\"t\","
                                 "\"status\":\"open\",\"x\":[1"),
                       &k) == ERR_FORMAT);
    fixture_fini(&f);
}

TEST(a_failure_is_news_for_three_days)
{
    struct fixture f;
    struct task k;

    begin_with(&f, "a");
    call(&f, "update_task", "{'task_id':'a','status':'failed','reason':'r'}");
    for (int over = 0; over < 2; over++) {
        clock_ahead_s = 3 * 86400 + (over ? 60 : -60);
        CHECK(task_get(f.t, &f.a, STR("a"), &k) == 0);
        CHECK(task_column(&k) == (over ? COLUMN_DONE : COLUMN_STUCK));
        check_all_alike(&f);
    }
    clock_ahead_s = 0;
    fixture_fini(&f);
}

TEST(names_to_watch)
{
    static const struct {
        const char *key, *body, *alias; /* NULL: none */
    } cases[] = {
        {"task/a", "'op':'x','by':'y','v':{'status':'open','current_owner':"
         "'ann'}", "owner/ann\tfree"},
        {"task/a", "'op':'x','by':'y','v':{'status':'open','title':'ann'}",
         "free"},
        {"task/a", "'op':'x','by':'y','v':{'status':'handoff_ready',"
         "'current_owner':'ann','questions':[]}", "owner/ann\tfree\tasked"},
        {"task/a", "'op':'x','by':'y','v':{'status':'in_progress',"
         "'title':'ann'}", NULL},
        {"call/a", "'op':'x','by':'y','v':{'current_owner':'ann'}", NULL},
        {"task/a", "'op':'x'", NULL},
        {"task/a", "'op':'x','by':'y','v':{'status':'failed'}",
         "ended\tfree"},
        {"task/a", "'op':'claim','by':'y','v':{'status':'in_progress'}",
         "free"},
        {"task/a", "'op':'x','by':'y','v':{'status':'done','current_owner':"
         "'ann'}", "owner/ann\tended\tfree"},
        {"task/a", "'op':'x','by':'y','v':{'current_owner':'a\\nb'}",
         "owner/a\\nb"},
    };
    char name[TASK_NAMES_MAX], other[TASK_NAMES_MAX], longest[700];
    struct arena a = {0};
    struct str got;
    size_t i;

    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        got = task_names(str_of(cases[i].key), quoted(&a, cases[i].body),
                         name);
        if (!CHECK(cases[i].alias ? str_is(got, cases[i].alias) : !got.p))
            fprintf(stderr, "  %s\n", cases[i].body);
    }
    memset(longest, 'x', sizeof longest);
    longest[0] = longest[sizeof longest - 1] = '"';
    got = task_alias_of((struct str){longest, sizeof longest}, name);
    CHECK(got.len == TASK_ALIAS_MAX);
    CHECK(str_eq(got, task_names(STR("task/a"), arena_printf(&a,
        "\"op\":\"x\",\"by\":\"y\",\"v\":{\"current_owner\":%.*s}",
        (int)sizeof longest, longest), other)));
    /* It is cut between two characters: the record of a call holds it. */
    for (i = 1; i < 4; i++) {
        memset(longest + 1, 'x', i - 1);
        for (size_t at = i; at + 3 < sizeof longest; at += 3)
            memcpy(longest + at, "\xe4\xb8\xad", 3);
        got = task_alias_of((struct str){longest, sizeof longest}, name);
        CHECK(utf8_is_valid(got) && got.len > TASK_ALIAS_MAX - 3);
    }
    arena_fini(&a);
}

/* ---- import ---- */

TEST(exported_and_imported)
{
    struct fixture from, to;
    struct str text, lease, questions;

    begin_with(&from, "a");
    call(&from, "claim_task", "{'agent':'me','lease_seconds':600}");
    call(&from, "request_input", "{'task_id':'a','agent':'me','question':"
         "'q','options':['x'],'kind':'action'}");
    call(&from, "update_task", "{'task_id':'a','answer':{'text':'t'}}");
    ask(&from, "r");
    call(&from, "get_task", "{'task_id':'a'}");
    lease = json_raw(json_get(from.json, "lease"));
    questions = json_raw(json_get(from.json, "questions"));
    CHECK(lease.p && questions.p);
    fixture_init(&to);
    text = buf_view(&from.out);
    CHECK(strcmp(import_raw(&to, text), "") == 0);
    call(&to, "get_task", "{'task_id':'a'}");
    CHECK(str_eq(json_raw(json_get(to.json, "lease")), lease));
    CHECK(str_eq(json_raw(json_get(to.json, "questions")), questions));
    CHECK(is_true(&to, "needs_input"));
    call(&to, "update_task", "{'task_id':'a','agent':'you','goal':'g'}");
    CHECK(failed(&to, "lease_held"));
    ask(&to, "s");
    CHECK(ok(&to));
    fixture_fini(&to);
    fixture_fini(&from);
}

TEST(what_an_import_drops)
{
    static const struct {
        const char *more;
        bool kept;
    } cases[] = {
        {"'status':'in_progress','current_owner':'me','lease':{'agent':'me',"
         "'expires_at':'2020-01-01T00:00:00Z'}", true},
        {"'status':'in_progress','current_owner':'you','lease':{'agent':"
         "'me','expires_at':'2020-01-01T00:00:00Z'}", false},
        {"'status':'open','current_owner':'me','lease':{'agent':'me',"
         "'expires_at':'2020-01-01T00:00:00Z'}", false},
        {"'status':'in_progress','current_owner':'me','lease':{'agent':'me',"
         "'expires_at':'9999-01-01T00:00:00Z'}", false},
        {"'status':'in_progress','current_owner':'unknown','lease':{'agent':"
         "'unknown','expires_at':'2020-01-01T00:00:00Z'}", false},
    };
    struct fixture f;
    char text[256], args[32];
    size_t i;

    fixture_init(&f);
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(text, sizeof text, "{'task_id':'t%zu','title':'T',%s}", i,
                 cases[i].more);
        CHECK(strcmp(import(&f, text), "") == 0);
        snprintf(args, sizeof args, "{'task_id':'t%zu'}", i);
        call(&f, "get_task", args);
        if (!CHECK((json_get(f.json, "lease") != NULL) == cases[i].kept &&
                   is_true(&f, "lease_expired") == cases[i].kept))
            fprintf(stderr, "  %s\n", text);
    }
    CHECK(strcmp(import(&f, "{'task_id':'x','title':'T','questions':"
                        "[{'question':'q'}]}"), "invalid_argument") == 0);
    CHECK(strcmp(import(&f, "{'task_id':'x','title':'T','questions':"
                        "[{'question_id':'q1','question':'q','options':"
                        "[7]}]}"), "") == 0);
    fixture_fini(&f);
}

/* ---- many processes that claim ---- */

static void
claim_until_none(const char *log, int process)
{
    struct fixture f = {.s = NULL};
    char args[64];
    int i;

    snprintf(f.log, sizeof f.log, "%s", log);
    fixture_open(&f);
    for (i = 0;; i++) {
        snprintf(args, sizeof args, "{'agent':'p%d-%d'}", process,
                 i % CLAIMERS);
        call(&f, "claim_task", args);
        CHECK(ok(&f));
        if (!is_true(&f, "claimed"))
            break;
    }
    fixture_fini(&f);
}

struct claims {
    int created, claimed;
};

static int
count_claim(void *ctx, const struct store_rec *r)
{
    struct claims *c = ctx;
    struct task_event ev;

    if (!CHECK(task_event_of(r, &ev) == 0))
        return 0;
    c->created += str_is(ev.op, "create");
    c->claimed += str_is(ev.op, "claim");
    CHECK(str_is(ev.op, "create") == (r->p == 0)); /* no second claim */
    return 0;
}

static void
test_each_task_is_claimed_once(int tasks)
{
    struct claims c = {0};
    struct fixture f;
    pid_t pid[PROCESSES];
    bool unknown;
    int i, status;

    fixture_init(&f);
    f.hold = true;
    for (i = 0; i < tasks; i++) {
        call(&f, "create_task", "{'title':'T'}");
        if (i % 1000 == 999 || i + 1 == tasks) {
            CHECK(store_commit(f.s, &unknown) == 0);
            arena_reset(&f.a);
        }
    }
    store_unlock(f.s);
    fflush(NULL);
    for (i = 0; i < PROCESSES; i++) {
        pid[i] = fork();
        if (pid[i] == 0) {
            test_failed = 0;
            claim_until_none(f.log, i);
            fflush(NULL);
            _exit(test_failed != 0);
        }
    }
    for (i = 0; i < PROCESSES; i++)
        CHECK(waitpid(pid[i], &status, 0) == pid[i] && WIFEXITED(status) &&
              WEXITSTATUS(status) == 0);
    CHECK(store_follow(f.s) == 0);
    CHECK(store_scan(f.s, 1, count_claim, &c) == 0);
    CHECK(c.created == tasks && c.claimed == tasks);
    CHECK(tasks_count(f.t, TASK_IN_PROGRESS) == (uint64_t)tasks);
    fixture_fini(&f);
}

int
main(int argc, char **argv)
{
    long tasks = argc > 1 ? strtol(argv[1], NULL, 10) : 0;

    test_run();
    test_each_task_is_claimed_once(tasks > 0 ? (int)tasks : 200);
    return test_end("lease");
}
