/* The rules of tasks: workflow, transitions, dependencies, import; and memory
   always equals a fresh replay of the log. */

#include "base/utf8.h"
#include "tests/lib/catalogue.h"

#include <errno.h>

/* The steps of a search: looks into the index, and records read. */
static long n_looks;

struct store_entry *__real_store_find(struct store *s, struct str key);
struct store_entry *__wrap_store_find(struct store *s, struct str key);
int __real_store_read(struct store *s, const struct store_entry *e,
                      struct arena *a, struct store_rec *out);
int __wrap_store_read(struct store *s, const struct store_entry *e,
                      struct arena *a, struct store_rec *out);

struct store_entry *
__wrap_store_find(struct store *s, struct str key)
{
    n_looks++;
    return __real_store_find(s, key);
}

int
__wrap_store_read(struct store *s, const struct store_entry *e,
                  struct arena *a, struct store_rec *out)
{
    n_looks++;
    return __real_store_read(s, e, a, out);
}

/* ---- the workflow ---- */

static void
test_predecessors_workflow(void)
{
    struct fixture f;

    fixture_init(&f);
    call(&f, "create_task", "{'task_id':'task-001','title':'Fix login',"
         "'goal':'Users can log in','repo_path':'/srv/app'}");
    CHECK(ok(&f) && has(&f, "status", "open") && number(&f, "version") == 1);
    call(&f, "save_checkpoint", "{'task_id':'task-001','agent':"
         "'claude-code','completed_steps':['read code'],'remaining_steps':"
         "['fix','test'],'resume_prompt':'Go on in auth.c'}");
    CHECK(ok(&f) && has(&f, "status", "in_progress"));
    call(&f, "get_task", "{'task_id':'task-001'}");
    CHECK(has(&f, "current_owner", "claude-code"));
    call(&f, "handoff_task", "{'task_id':'task-001','from_agent':"
         "'claude-code','to_agent':'hermes','reason':'quota'}");
    CHECK(ok(&f) && has(&f, "status", "handoff_ready") &&
          has(&f, "current_owner", "hermes"));
    call(&f, "get_task", "{'task_id':'task-001'}");
    CHECK(has(&f, "status", "handoff_ready") &&
          has(&f, "current_owner", "hermes") &&
          has(&f, "resume_prompt", "Go on in auth.c"));
    CHECK(json_is(json_get(json_get(f.json, "handoff"), "to_agent"),
                  "hermes"));
    CHECK(json_get(f.json, "remaining_steps")->n == 2);
    call(&f, "update_task", "{'task_id':'task-001','title':'Fix login',"
         "'goal':'Users can log in','status':'in_progress','current_owner':"
         "'hermes','completed_steps':['read code','fix'],"
         "'remaining_steps':['test']}");
    CHECK(ok(&f) && has(&f, "status", "in_progress") &&
          number(&f, "version") == 4 && number(&f, "seq") == 4);
    CHECK(json_get(f.json, "warnings") == NULL);
    CHECK(is_replay(&f));
    fixture_fini(&f);
}

/* ---- statuses ---- */

/* Makes a task with the status. */
static void
make_in(struct fixture *f, const char *id, enum task_status s)
{
    char text[256];

    snprintf(text, sizeof text, "{'task_id':'%s','title':'t'}", id);
    call(f, "create_task", text);
    if (s == TASK_DONE) {
        snprintf(text, sizeof text, "{'task_id':'%s','status':'in_progress',"
                 "'agent':'x'}", id);
        call(f, "update_task", text);
    }
    if (s == TASK_OPEN)
        return;
    snprintf(text, sizeof text, "{'task_id':'%s','status':'%s'%s}", id,
             task_status_name(s), s == TASK_DONE ? ",'agent':'x'" : "");
    call(f, "update_task", text);
    CHECK(ok(f) && has(f, "status", task_status_name(s)));
}

static bool
allowed_names(const struct fixture *f, const char *row)
{
    const struct json_tok *list = json_get(f->json, "allowed");
    uint32_t i, n = 0;

    for (i = 0; i < TASK_N_STATUSES; i++)
        n += row[i] == 'y';
    return list && list->n == n;
}

static void
test_every_transition(void)
{
    /* From the status of the row to that of the column. "y": allowed, "s": the
       same status, "r": only with a reason, "n": refused. */
    static const char *const table[] = {
        /*               o i h e d f c */
        [TASK_OPEN] =        "syyyyyy",
        [TASK_IN_PROGRESS] = "ysyyyyy",
        [TASK_HANDOFF_READY] = "yysynyy",
        [TASK_EXHAUSTED] =   "yyysnyy",
        [TASK_DONE] =        "rrnnnnn",
        [TASK_FAILED] =      "rrnnnnn",
        [TASK_CANCELLED] =   "rrnnnnn",
    };
    struct fixture f;
    int from, to;
    char id[32], text[128];

    fixture_init(&f);
    for (from = 0; from < TASK_N_STATUSES; from++)
        for (to = 0; to < TASK_N_STATUSES; to++) {
            char want = table[from][to];

            snprintf(id, sizeof id, "t%d-%d", from, to);
            make_in(&f, id, (enum task_status)from);
            snprintf(text, sizeof text, "{'task_id':'%s','status':'%s'}", id,
                     task_status_name((enum task_status)to));
            call(&f, "update_task", text);
            if (want == 'y' || want == 's') {
                CHECK(ok(&f));
                continue;
            }
            CHECK(failed(&f, task_status_ended((enum task_status)from)
                             ? "terminal" : "invalid_transition"));
            if (want == 'n' && !task_status_ended((enum task_status)from))
                CHECK(allowed_names(&f, table[from]));
            snprintf(text, sizeof text, "{'task_id':'%s','status':'%s',"
                     "'reason':'again'}", id,
                     task_status_name((enum task_status)to));
            call(&f, "update_task", text);
            CHECK(f.is_error == (want == 'n'));
        }
    CHECK(is_replay(&f));
    fixture_fini(&f);
}

static void
test_rules(void)
{
    static const struct step steps[] = {
        {"get_task", "{'task_id':'no'}", "not_found", "field", "task_id"},
        {"update_task", "{'task_id':'no','title':'x'}", "not_found", 0, 0},
        {"create_task", "{'task_id':'a','title':'A','tags':['x']}", 0,
         "status", "open"},
        {"create_task", "{'task_id':'a','title':'A'}", 0, "task_id", "a"},
        {"create_task", "{'task_id':'a','title':'B'}", "already_exists",
         "field", "title"},
        {"create_task", "{'task_id':'b','title':'B','status':'failed'}",
         "invalid_transition", 0, 0},
        {"update_task", "{'task_id':'a'}", "invalid_argument", 0, 0},
        {"update_task", "{'task_id':'a','clear':['title']}",
         "invalid_argument", "field", "clear"},
        {"update_task", "{'task_id':'a','expected_version':7,'title':'C'}",
         "version_conflict", 0, 0},
        {"update_task", "{'task_id':'a','expected_version':1,'title':'C'}",
         0, 0, 0},
        /* who starts it owns it */
        {"update_task", "{'task_id':'a','status':'in_progress',"
         "'agent':'me'}", 0, 0, 0},
        {"get_task", "{'task_id':'a'}", 0, "current_owner", "me"},
        {"handoff_task", "{'task_id':'a','from_agent':'you'}", "lease_held",
         "holder", "me"},
        {"handoff_task", "{'task_id':'a','from_agent':'me'}", 0, "status",
         "handoff_ready"},
        {"save_checkpoint", "{'task_id':'a','agent':'you','notes':'n'}", 0,
         0, 0},
        {"get_task", "{'task_id':'a'}", 0, "current_owner", "you"},
        {"mark_exhausted", "{'task_id':'a','agent':'you','reason':'quota'}",
         0, "status", "agent_exhausted"},
        {"handoff_task", "{'task_id':'a','from_agent':'any','to_agent':"
         "'me','remaining_steps':['z']}", 0, "current_owner", "me"},
        {"update_task", "{'task_id':'a','status':'done'}",
         "invalid_transition", 0, 0},
        {"save_checkpoint", "{'task_id':'a','agent':'me'}", 0, "status",
         "in_progress"},
        {"update_task", "{'task_id':'a','agent':'me','status':'done',"
         "'test_results':[{'command':'make test','exit_code':0,'passed':3}]}",
         0, "status", "done"},
        {"save_checkpoint", "{'task_id':'a','agent':'me'}", "terminal", 0,
         0},
        {"attach_artifact", "{'task_id':'a','name':'n','content':'c'}",
         "terminal", 0, 0},
        {"update_task", "{'task_id':'a','status':'open'}", "terminal",
         "field", "reason"},
        {"update_task", "{'task_id':'a','status':'open','reason':'bug'}", 0,
         "status", "open"},
        {"update_task", "{'task_id':'a','current_owner':'me'}", 0, 0, 0},
        {"handoff_task", "{'task_id':'a'}", "kept", "holder", "me"},
        {"save_checkpoint", "{'task_id':'a'}", 0, "current_owner", "me"},
        {"create_task", "{}", "invalid_argument", "field", "title"},
        {"create_task", "{'title':'x','nonsense':1}", "invalid_argument",
         "field", "nonsense"},
        {"create_task", "{'title':'x','task_id':'new','expected_version':1}",
         "invalid_argument", "field", "expected_version"},
    };
    struct fixture f;

    fixture_init(&f);
    RUN_STEPS(&f, steps);
    call(&f, "update_task", "{'task_id':'a','expected_version':1,'goal':"
         "'C'}");
    CHECK(failed(&f, "version_conflict") &&
          number(&f, "current_version") == 12);
    call(&f, "create_task", "{'title':'x'}");
    CHECK(ok(&f) && str_starts(json_str(&f.a, json_get(f.json, "task_id")),
                               "t-"));
    CHECK(is_replay(&f));
    fixture_fini(&f);
}

static void
test_evidence_and_warnings(void)
{
    struct fixture f;

    fixture_init(&f);
    call(&f, "create_task", "{'task_id':'a','title':'A','status':"
         "'in_progress','agent':'me'}");
    CHECK(ok(&f) && !json_get(f.json, "current_owner")); /* the caller's */
    clock_ahead_s = 960;
    call(&f, "save_checkpoint", "{'task_id':'a','agent':'you',"
         "'remaining_steps':['r']}");
    CHECK(has(&f, "current_owner", "me"));
    CHECK(warned(&f, "another agent owns this task"));
    f.env.require_evidence = true;
    call(&f, "update_task", "{'task_id':'a','status':'done'}");
    CHECK(failed(&f, "evidence_required"));
    call(&f, "create_task", "{'title':'B','status':'done'}");
    CHECK(failed(&f, "evidence_required"));
    f.env.require_evidence = false;
    call(&f, "create_task", "{'title':'B','status':'done'}");
    CHECK(has(&f, "status", "done") && warned(&f, "done without test_results"));
    call(&f, "update_task", "{'task_id':'a','status':'done'}");
    CHECK(ok(&f) && warned(&f, "done without test_results"));
    CHECK(warned(&f, "done, but remaining_steps is not empty"));
    clock_ahead_s = 0;
    fixture_fini(&f);
}

#define DONE "'task_id':'a','agent':'me','status':'done'"

static const struct json_tok *
ends(struct fixture *f, const char *args)
{
    char text[512];

    snprintf(text, sizeof text, "{" DONE "%s}", args);
    return call(f, "update_task", text);
}

static bool
lacks_evidence(struct fixture *f, const char *args, const char *message)
{
    ends(f, args);
    return failed(f, "evidence_required") && has(f, "message", message);
}

static void
test_tests_must_pass(void)
{
    static const struct {
        const char *results, *why;
    } bad[] = {
        {"", "done needs test_results"},
        {",'test_results':[]", "done needs test_results"},
        {",'test_results':[{'command':'x'}]", "done needs tests that pass, but "
         "test_results[0] has no exit_code 0"},
        {",'test_results':[{'command':'x','exit_code':0},{'command':'y',"
         "'exit_code':2}]", "done needs tests that pass, but test_results[1] "
         "has no exit_code 0"},
        {",'test_results':[{'command':'x','exit_code':0,'failed':1}]",
         "done needs tests that pass, but test_results[0] has failed tests"},
        {",'test_results':[{'command':'x','exit_code':0,'failed':true}]",
         "done needs tests that pass, but test_results[0] has failed tests"},
        {",'test_results':[{'command':'x','exit_code':0,'passed':false}]",
         "done needs tests that pass, but test_results[0] has not passed"},
    };
    struct fixture f;

    fixture_init(&f);
    f.env.require_evidence = f.env.require_pass = true;
    call(&f, "create_task", "{'task_id':'a','title':'A','status':"
         "'in_progress','agent':'me'}");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CHECK(lacks_evidence(&f, bad[i].results, bad[i].why));
    ends(&f, ",'test_results':[{'command':'x','exit_code':0,'failed':0,"
         "'passed':7},{'command':'y','exit_code':0,'failed':false}]");
    CHECK(ok(&f));
    fixture_fini(&f);
}

#define PASSED "'test_results':[{'command':'x','exit_code':0}]"
#define OLD "test_results are older than the last change of commit"

static void
test_tests_must_be_of_this_commit(void)
{
    struct fixture f;

    fixture_init(&f);
    f.env.require_evidence = f.env.require_pass = true;
    call(&f, "create_task", "{'task_id':'a','title':'A'}");
    call(&f, "save_checkpoint", "{'task_id':'a','agent':'me'," PASSED "}");
    call(&f, "save_checkpoint", "{'task_id':'a','agent':'me','commit':'1'}");
    CHECK(lacks_evidence(&f, "", OLD));
    /* The same results given again are newer, and one call may give results and
       commit. */
    call(&f, "save_checkpoint", "{'task_id':'a','agent':'me'," PASSED "}");
    CHECK(lacks_evidence(&f, ",'commit':'2'", OLD));
    call(&f, "save_checkpoint", "{'task_id':'a','agent':'me','commit':'2',"
         PASSED "}");
    call(&f, "get_task", "{'task_id':'a'}");
    CHECK(has(&f, "tested_commit", "2"));
    CHECK(lacks_evidence(&f, ",'commit':''", OLD));
    fixture_close(&f);
    fixture_open(&f);
    ends(&f, "");
    CHECK(ok(&f));
    fixture_fini(&f);
}

static void
test_acceptance_must_be_ticked(void)
{
    struct fixture f;

    fixture_init(&f);
    f.env.require_evidence = f.env.require_pass = true;
    call(&f, "create_task", "{'task_id':'a','title':'A','acceptance':"
         "['p95 < 1 ms','docs','no todo']}");
    call(&f, "save_checkpoint", "{'task_id':'a','agent':'me',"
         "'completed_steps':['Docs','docs']," PASSED "}");
    CHECK(lacks_evidence(&f, "", "completed_steps lacks acceptance[0], "
                         "acceptance[2]"));
    CHECK(has(&f, "field", "acceptance"));
    ends(&f, ",'completed_steps':['docs','p95 < 1 ms','no todo']");
    CHECK(ok(&f));
    /* More than a message has room for. */
    call(&f, "create_task", "{'task_id':'b','title':'B','acceptance':['1','2',"
         "'3','4','5','6','7','8','9','10','11','12','13','14','15','16']}");
    call(&f, "update_task", "{'task_id':'b','status':'done'," PASSED "}");
    CHECK(failed(&f, "evidence_required"));
    CHECK(strstr(f.out.p, "acceptance[10], acceptance[11], ...\""));
    /* The option without a value asks for results only. */
    f.env.require_pass = false;
    call(&f, "update_task", "{'task_id':'a','status':'open','reason':'r'}");
    ends(&f, ",'test_results':[{'command':'x','exit_code':1}]");
    CHECK(ok(&f));
    fixture_fini(&f);
}

/* ---- several tasks at once ---- */

static bool
is_there(struct fixture *f, const char *id)
{
    return tasks_find(f->t, str_of(id)) != NULL;
}

#define PLAN "'tasks':[{'task_id':'p','title':'Plan'},{'task_id':'q'," \
    "'title':'Q','parent_id':'#0'},{'title':'R','depends_on':['#1','p']}]"

static void
test_tasks_are_created_together(void)
{
    struct fixture f;
    const struct json_tok *ids;
    char first[2000];
    uint64_t next;

    fixture_init(&f);
    next = store_next_n(f.s);
    call(&f, "create_task", "{'agent':'me','idempotency_key':'k'," PLAN "}");
    ids = json_get(f.json, "task_ids");
    CHECK(ok(&f) && ids && ids->n == 3 && json_is(ids + 1, "p"));
    CHECK(store_next_n(f.s) == next + 3 && logs == 3);
    snprintf(first, sizeof first, "%.*s", STR_ARG(buf_view(&f.out)));
    call(&f, "get_task", "{'task_id':'q'}");
    CHECK(has(&f, "parent_id", "p") && has(&f, "created_by", "me"));
    call(&f, "list_tasks", "{'query':'R'}");
    CHECK(strstr(f.out.p, "\"blocked_by\":[\"q\",\"p\"]") != NULL);
    /* The same request gets the first answer again, even after a restart. */
    fixture_close(&f);
    fixture_open(&f);
    call(&f, "create_task", "{'agent':'me','idempotency_key':'k'," PLAN "}");
    CHECK(str_is(buf_view(&f.out), first));
    CHECK(store_next_n(f.s) == next + 3 && logs == 0);
    call(&f, "create_task", "{'agent':'me','idempotency_key':'k','tasks':["
         "{'title':'X'}]}");
    CHECK(failed(&f, "idempotency_conflict"));
    fixture_fini(&f);
}

#define INSIDE "tasks[0]: agent, tasks and idempotency_key belong beside " \
    "tasks, not in its items"

static void
test_all_or_none(void)
{
    static const struct {
        const char *args, *code, *message;
    } bad[] = {
        {"{'tasks':[{'task_id':'n','title':'N'},{'task_id':'m'}]}",
         "invalid_argument", "tasks[1]: title is missing"},
        {"{'tasks':[{'task_id':'n','title':'N'},{'title':'M','depends_on':"
         "['#1']}]}", "invalid_argument", "tasks[1]: depends_on[0] must refer "
         "to an earlier item of tasks (\"#0\" is the first)"},
        {"{'tasks':[{'task_id':'n','title':'N'},{'title':'M','depends_on':"
         "['no']}]}", "not_found", "tasks[1]: depends_on: no such task "
         "\"no\""},
        {"{'tasks':[{'task_id':'n','title':'N'},{'task_id':'n','title':"
         "'N'}]}", "already_exists", "tasks[1] already exists, but others do "
         "not"},
        {"{'tasks':[{'task_id':'n','title':'N'},{'task_id':'old','title':"
         "'O'}]}", "already_exists", "tasks[1] already exists, but others do "
         "not"},
        {"{'tasks':[{'task_id':'old','title':'O'},{'task_id':'n','title':"
         "'N'}]}", "already_exists", "tasks[0] already exists, but others do "
         "not"},
        {"{'tasks':[{'task_id':'n','title':'N','tasks':[]}]}",
         "invalid_argument", INSIDE},
        {"{'agent':'me','tasks':[{'task_id':'n','title':'N','agent':'you'}]}",
         "invalid_argument", INSIDE},
        {"{'expected_version':1,'tasks':[{'task_id':'n','title':'N'}]}",
         "invalid_argument", "unknown argument \"expected_version\""},
        {"{'title':'N','tasks':[{'title':'N'}]}", "invalid_argument",
         "put title in each item of tasks"},
        {"{'tasks':[]}", "invalid_argument", "tasks must have 1 to 50 items, "
         "at most 262144 bytes in all"},
        {"{'tasks':{}}", "invalid_argument", "tasks must be an array"},
        {"{'tasks':[1]}", "invalid_argument", "tasks[0]: the arguments must "
         "be an object"},
        {"{}", "invalid_argument", "title is missing"},
    };
    struct fixture f;
    uint64_t next;
    bool unknown;

    fixture_init(&f);
    call(&f, "create_task", "{'task_id':'old','title':'O'}");
    next = store_next_n(f.s);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        call(&f, "create_task", bad[i].args);
        CHECK(failed(&f, bad[i].code) && has(&f, "message", bad[i].message));
        CHECK(store_next_n(f.s) == next && !is_there(&f, "n"));
    }
    /* What a call staged earlier in the same commit stays. */
    CHECK(store_lock_patiently(f.s) == 0);
    f.hold = true;
    call(&f, "create_task", "{'task_id':'first','title':'F'}");
    call(&f, "create_task", bad[0].args);
    CHECK(f.is_error && store_staged_n(f.s) == 1);
    CHECK(store_commit(f.s, &unknown) == 0); /* only of the first call */
    f.hold = false;
    call(&f, "create_task", "{'tasks':[{'task_id':'n','title':'N'}]}");
    CHECK(ok(&f) && is_there(&f, "first") && is_there(&f, "n"));
    CHECK(store_next_n(f.s) == next + 2);
    fixture_close(&f);
    fixture_open(&f);
    CHECK(is_there(&f, "first") && is_there(&f, "n") && !is_there(&f, "m"));
    /* If all of them exist, nothing changes. */
    call(&f, "create_task", "{'tasks':[{'task_id':'n','title':'N'}]}");
    CHECK(ok(&f) && store_next_n(f.s) == next + 2);
    CHECK(warned(&f, "the task already exists; nothing was changed"));
    fixture_fini(&f);
}

static void
test_fifty_tasks_at_once(void)
{
    struct fixture f;
    struct buf b = {0};

    fixture_init(&f);
    buf_z(&b, "{'tasks':[");
    for (int i = 0; i < 51; i++) {
        if (i == 50) {
            buf_printf(&b, "]}%c", '\0');
            call(&f, "create_task", b.p);
            CHECK(ok(&f) && json_get(f.json, "task_ids")->n == 50);
            CHECK(answer_len(&f) < 16384);
            b.len -= 3;
        }
        buf_printf(&b, "%s{'title':'T','depends_on':[%s]}", i ? "," : "",
                   i ? "'#0'" : "");
    }
    buf_printf(&b, "]}%c", '\0');
    call(&f, "create_task", b.p);
    CHECK(failed(&f, "too_large"));
    buf_fini(&b);
    fixture_fini(&f);
}

/* ---- dependencies ---- */

static void
test_dependencies(void)
{
    static const struct step steps[] = {
        {"create_task", "{'task_id':'a','title':'A'}", 0, 0, 0},
        {"create_task", "{'task_id':'b','title':'B','depends_on':['a']}", 0,
         0, 0},
        {"create_task", "{'task_id':'c','title':'C','depends_on':['b']}", 0,
         0, 0},
        {"create_task", "{'task_id':'p','title':'P','parent_id':'a'}", 0, 0,
         0},
        {"create_task", "{'task_id':'d','title':'D','depends_on':['no']}",
         "not_found", "field", "depends_on"},
        {"create_task", "{'task_id':'d','title':'D','parent_id':'no'}",
         "not_found", "field", "parent_id"},
        {"create_task", "{'task_id':'d','title':'D','depends_on':['d']}",
         "dependency_cycle", 0, 0},
        {"update_task", "{'task_id':'a','depends_on':['c']}",
         "dependency_cycle", "field", "depends_on"},
        {"update_task", "{'task_id':'a','parent_id':'p'}",
         "dependency_cycle", "field", "parent_id"},
        {"update_task", "{'task_id':'p','status':'cancelled'}", 0, 0, 0},
        {"update_task", "{'task_id':'a','parent_id':'a'}",
         "dependency_cycle", 0, 0},
        {"create_task", "{'task_id':'d','title':'D','depends_on':['a'],"
         "'status':'in_progress'}", "blocked", 0, 0},
        {"update_task", "{'task_id':'b','status':'in_progress'}", "blocked",
         0, 0},
        {"save_checkpoint", "{'task_id':'b','agent':'x'}", 0, "status",
         "in_progress"},
        {"update_task", "{'task_id':'a','status':'in_progress'}", 0, 0, 0},
        {"update_task", "{'task_id':'a','status':'done'}", 0, 0, 0},
        {"update_task", "{'task_id':'b','agent':'x','status':'open'}", 0, 0,
         0},
        {"update_task", "{'task_id':'b','status':'in_progress'}", 0, 0, 0},
        {"update_task", "{'task_id':'c','depends_on':[]}", 0, 0, 0},
    };
    struct fixture f;

    fixture_init(&f);
    RUN_STEPS(&f, steps);
    call(&f, "create_task", "{'task_id':'w','title':'W','depends_on':"
         "['a','b','c']}");
    call(&f, "get_task", "{'task_id':'w'}");
    CHECK(json_get(f.json, "blocked_by")->n == 2);
    CHECK(json_get(f.json, "ready") == NULL);
    call(&f, "list_tasks", "{'ready':true}");
    CHECK(number(&f, "total") == 1);
    call(&f, "list_tasks", "{'ready':false}");
    CHECK(number(&f, "total") == 2);
    CHECK(is_replay(&f));
    fixture_fini(&f);
}

/* A tree with more tasks than a walk may look at: 3 * 64 * 64. */
static void
test_walk_is_bounded(void)
{
    struct fixture f;
    struct buf b = {0};
    bool unknown;
    int i, k, leaves = 3 * 64 * 64, made = 0;

    fixture_init(&f);
    f.hold = true;
    for (i = 0; i < leaves + 3 * 64 + 3; i++) {
        /* Task i depends on nothing, or on the next 64 tasks. */
        buf_reset(&b, b.cap);
        buf_printf(&b, "{'task_id':'w%d','title':'w'", i);
        for (k = 0; i >= leaves && k < 64; k++)
            buf_printf(&b, "%s'w%d'", k ? "," : ",'depends_on':[",
                       (i - leaves) * 64 + k);
        buf_printf(&b, "%s}%c", i >= leaves ? "]" : "", '\0');
        call(&f, "create_task", b.p);
        if (!f.is_error)
            made++;
        if (i % 500 == 0) {
            CHECK(store_commit(f.s, &unknown) == 0);
            arena_reset(&f.a);
        }
    }
    f.hold = false;
    CHECK(made == i);
    /* A task that none depends on needs no walk. */
    call(&f, "create_task", "{'task_id':'x','title':'x','depends_on':["
         "'w12480','w12481','w12482']}");
    CHECK(ok(&f));
    call(&f, "create_task", "{'task_id':'y','title':'y','depends_on':['x']}");
    call(&f, "update_task", "{'task_id':'x','depends_on':['w12480']}");
    CHECK(ok(&f)); /* 64 and 64 * 64 are fine */
    call(&f, "update_task", "{'task_id':'x','depends_on':['w12480','w12481'"
         ",'w12482']}");
    CHECK(failed(&f, "too_large") && has(&f, "field", "depends_on"));
    call(&f, "update_task", "{'task_id':'w0','depends_on':['x']}");
    CHECK(failed(&f, "dependency_cycle"));
    CHECK(is_replay(&f));
    buf_fini(&b);
    fixture_fini(&f);
}

enum { N_ROW = 400, N_DEPS = 20 };

/* Adds task i of a row, by create_task or as an import: it depends on the 20
   before it, or the one before is its parent. */
static void
add_of_row(struct fixture *f, int i, bool deps, bool imports)
{
    const char *before = deps ? ",'depends_on':[" : ",'parent_id':";
    struct buf b = {0};

    buf_printf(&b, "{'task_id':'r%d','title':'t'", i);
    for (int k = i - (deps ? N_DEPS : 1); k < i; k++) {
        if (k < 0)
            continue;
        buf_printf(&b, "%s'r%d'", before, k);
        before = ",";
    }
    buf_z(&b, deps && i > 0 ? "]}" : "}");
    buf_char(&b, '\0');
    if (imports)
        CHECK(strcmp(import(f, b.p), "") == 0);
    else
        call(f, "create_task", b.p);
    buf_fini(&b);
}

/* What it takes to add a task does not grow with the number of those that lead
   to it, in whatever order they come; and afterwards circles are found. */
static void
test_new_tasks_need_no_search(void)
{
    struct fixture f;

    for (int kind = 0; kind < 6; kind++) {
        bool deps = kind % 2 == 0, imports = kind < 4, back = kind / 2 == 1;
        long before = n_looks;

        fixture_init(&f);
        for (int i = 0; i < N_ROW; i++)
            add_of_row(&f, back ? N_ROW - 1 - i : i, deps, imports);
        if (!CHECK(n_looks - before < 5L * N_ROW * (deps ? N_DEPS : 2)))
            fprintf(stderr, "    kind %d: %ld steps\n", kind,
                    n_looks - before);
        call(&f, "update_task", deps ? "{'task_id':'r0','depends_on':['r399']}"
                                     : "{'task_id':'r0','parent_id':'r399'}");
        CHECK(failed(&f, "dependency_cycle"));
        CHECK(is_replay(&f));
        fixture_fini(&f);
    }
}

/* Archives a task by its newest record, as the command does. Returns 0 or an
   error. */
static int
archive(struct fixture *f, const char *key)
{
    struct store_rec r;
    struct store_entry *e;
    bool unknown;
    int rc;

    if (!store_locked(f->s))
        CHECK(store_lock(f->s) == 0);
    e = store_find(f->s, str_of(key));
    rc = e ? store_read(f->s, e, &f->a, &r) : ERR_NOT_FOUND;
    if (rc == 0)
        rc = task_archive(f->t, &r);
    if (!f->hold) {
        CHECK(store_commit(f->s, &unknown) == 0);
        store_unlock(f->s);
    }
    return rc;
}

/* ---- import ---- */

static void
test_import(void)
{
    static const char whole[] = "{'task_id':'old-1','title':'T','status':"
        "'done','priority':4,'tags':['a'],'created_at':"
        "'2024-05-06T07:08:09.123456+02:00','updated_at':"
        "'2024-05-07 00:00:00Z','completed_steps':['x'],'goal':null,"
        "'legacy':{'deep': [1, 2.50, 'n\\n']},'seq':99,'ready':true,"
        "'version':12,'depends_on':['later'],'handoff':{'from_agent':'a',"
        "'to_agent':'b','more':1},'created_by':'ann'}";
    struct fixture f;
    struct buf first = {0};
    struct str text;

    fixture_init(&f);
    CHECK(strcmp(import(&f, whole), "") == 0);
    reopen(&f);
    CHECK(strcmp(import(&f, whole), "already_exists") == 0);
    CHECK(strcmp(import(&f, "{'task_id':'x'}"), "invalid_argument") == 0);
    CHECK(strcmp(import(&f, "{'task_id':'x','title':'t','tags':{}}"),
                 "invalid_argument") == 0);
    CHECK(strcmp(import(&f, "{'task_id':'later','title':'t','depends_on':"
                        "['old-1']}"), "dependency_cycle") == 0);
    CHECK(strcmp(import(&f, "{'task_id':'later','title':'t',"
                        "'created_at':'2024-05-06 07:08:09'}"), "") == 0);
    call(&f, "get_task", "{'task_id':'old-1'}");
    CHECK(has(&f, "status", "done") && number(&f, "version") == 12);
    CHECK(has(&f, "created_at", "2024-05-06T05:08:09.123Z"));
    CHECK(has(&f, "created_by", "ann") && number(&f, "seq") == 1);
    CHECK(json_get(f.json, "goal") == NULL);
    text = json_raw(json_get(f.json, "legacy"));
    CHECK(str_is(text, "{\"deep\":[1,2.50,\"n\\n\"]}"));
    /* What was exported can be imported, and is the same task. */
    buf_str(&first, buf_view(&f.out));
    buf_char(&first, '\0');
    fixture_fini(&f);
    fixture_init(&f);
    CHECK(strcmp(import(&f, first.p), "") == 0);
    call(&f, "get_task", "{'task_id':'old-1'}");
    text = buf_view(&f.out);
    CHECK(memcmp(text.p, first.p, 700 < text.len ? 300 : 200) == 0);
    CHECK(str_is(json_raw(json_get(f.json, "legacy")),
                 "{\"deep\":[1,2.50,\"n\\n\"]}"));
    /* Unknown members survive a change. */
    call(&f, "update_task", "{'task_id':'old-1','status':'open','reason':"
         "'r'}");
    call(&f, "get_task", "{'task_id':'old-1'}");
    CHECK(json_get(f.json, "legacy") != NULL);
    CHECK(is_replay(&f));
    buf_fini(&first);
    fixture_fini(&f);
}

static int
note_lost(void *of, struct str field, const struct json_tok *whole,
          struct str why)
{
    CHECK(whole != NULL && why.len > field.len &&
          str_begins(why, field));
    buf_printf(of, "%.*s ", STR_ARG(field));
    return 0;
}

/* What does not fit is cut at a character, or left out, and given away. */
static void
test_import_in_part(void)
{
    struct fixture f;
    struct buf text = {0}, lost = {0};
    const struct task_lost to = {note_lost, &lost};
    const struct json_tok *obj;
    struct task_args args;
    struct task_ctx c;

    fixture_init(&f);
    c = (struct task_ctx){.a = &f.a};
    buf_z(&text, "{\"task_id\":\"a\",\"title\":\"");
    for (int i = 0; i < 300; i++)
        buf_z(&text, "\xc3\xa9");
    buf_z(&text, "\",\"goal\":\"");
    for (int i = 0; i < 3000; i++)
        buf_z(&text, "\xe2\x82\xac");
    buf_z(&text, "\",\"status\":\"odd\",\"priority\":9,"
          "\"tags\":[\"x\",{},\"y\"],"
          "\"depends_on\":\"[1\",\"questions\":[{\"question_id\":\"q\","
          "\"question\":\"Q\",\"options\":[[],\"o\"]},{\"kind\":1}],"
          "\"created_at\":1753695000,\"branch\":\"b\",\"own\":[1]}");
    CHECK(json_parse(&f.a, buf_view(&text), &obj, NULL) == 0);
    CHECK(task_args_fit(&c, obj, &to, &args) == 0 && c.e.code == 0);
    buf_char(&lost, '\0');
    CHECK(strcmp(lost.p, "title goal status priority tags depends_on questions "
                 ) == 0);
    CHECK(args.v[F_TITLE].len == 2 * 256 + 2);
    CHECK(args.v[F_GOAL].len == 8190 + 2);
    CHECK(utf8_is_valid(args.v[F_GOAL]));
    CHECK(!args.v[F_STATUS].p && !args.v[F_PRIORITY].p);
    CHECK(str_is(args.v[F_TAGS], "[\"x\",\"y\"]"));
    CHECK(str_is(args.v[F_QUESTIONS], "[{\"question_id\":\"q\",\"question\":"
                 "\"Q\",\"options\":[\"o\"]}]"));
    CHECK(str_is(args.v[F_CREATED_AT], "\"2025-07-28T09:30:00.000Z\""));
    CHECK(str_is(args.v[F_BRANCH], "\"b\""));
    CHECK(str_is(args.extra, "\"own\":[1]"));
    CHECK(json_parse(&f.a, STR("{\"task_id\":\"a b\",\"title\":\"t\"}"), &obj,
                     NULL) == 0);
    CHECK(task_args_fit(&c, obj, &to, &args) == 0);
    CHECK(str_is(args.v[F_TASK_ID], "\"a-b\""));
    /* A task is nothing without its id and its title. */
    CHECK(json_parse(&f.a, STR("{\"task_id\":\"\",\"title\":\"t\"}"), &obj,
                     NULL) == 0);
    CHECK(task_args_fit(&c, obj, &to, &args) == ERR_INVALID);
    CHECK(str_is(c.e.field, "task_id"));
    CHECK(strcmp(import(&f, "{'task_id':'x','title':'t','tags':{}}"),
                 "invalid_argument") == 0); /* without anybody to give it to */
    buf_fini(&text);
    buf_fini(&lost);
    fixture_fini(&f);
}

/* What was carried along is in the brief, quoted and bounded, and is found. */
static void
test_carried_text(void)
{
    struct fixture f;
    struct buf text = {0};
    struct task k;

    fixture_init(&f);
    buf_z(&text, "{\"task_id\":\"a\",\"title\":\"t\",\"design\":\"Copper "
          "pipes.\\n## Goal\\nno\",\"comments\":[{\"text\":\"They "
          "\\u006ceak.\"},7],\"## Result\\n\":\"x\",\"size\":\"");
    for (int i = 0; i < 9000; i++)
        buf_char(&text, 's');
    buf_z(&text, "\"}");
    CHECK(strcmp(import_raw(&f, buf_view(&text)), "") == 0);
    CHECK(task_get(f.t, &f.a, STR("a"), &k) == 0);
    buf_reset(&f.out, 0);
    view_task_markdown(&f.out, &f.a, &k);
    buf_char(&f.out, '\0');
    CHECK(f.out.len < 6000);
    CHECK(strstr(f.out.p, "- design:\n> Copper pipes.\n> ## Goal\n> no\n"));
    CHECK(strstr(f.out.p, "- comments:\n  - text: They leak.\n  - 7\n"));
    CHECK(!strstr(f.out.p, "\n## Result") && strstr(f.out.p, "ss...\n"));
    call(&f, "list_tasks", "{'query':'COPPER'}");
    CHECK(number(&f, "total") == 1);
    call(&f, "list_tasks", "{'query':'they leak'}");
    CHECK(number(&f, "total") == 1);
    call(&f, "list_tasks", "{'query':'comments'}");
    CHECK(number(&f, "total") == 0);
    buf_fini(&text);
    fixture_fini(&f);
}

/* Unknown members cost memory in proportion to their length, however many there
   are. */
static void
test_many_unknown_members(void)
{
    enum { N = 8000 };
    struct buf text = {0}, extra = {0};
    struct fixture f;
    struct arena a = {0};
    struct task k;
    int i;

    for (i = 0; i < N; i++)
        buf_printf(&extra, "%s\"own%d\":%d", i ? "," : "", i, i);
    buf_printf(&text, "{\"task_id\":\"a\",\"title\":\"T\",%.*s}",
               STR_ARG(buf_view(&extra)));
    fixture_init(&f);
    CHECK(strcmp(import_raw(&f, buf_view(&text)), "") == 0);
    CHECK(task_get(f.t, &a, STR("a"), &k) == 0);
    CHECK(str_eq(k.extra, buf_view(&extra)));
    CHECK(arena_size(&a) < 8 * extra.len);
    /* They survive a change. */
    call(&f, "update_task", "{'task_id':'a','goal':'g'}");
    arena_reset(&a);
    CHECK(ok(&f) && task_get(f.t, &a, STR("a"), &k) == 0);
    CHECK(str_eq(k.extra, buf_view(&extra)));
    CHECK(arena_size(&a) < 8 * extra.len);
    arena_fini(&a);
    fixture_fini(&f);
    buf_fini(&text);
    buf_fini(&extra);
}

/* ---- texts ---- */

static void
test_archived_tasks(void)
{
    struct fixture f;
    struct store_rec r;
    bool unknown;

    fixture_init(&f);
    f.keep_arena = true;
    call(&f, "create_task", "{'task_id':'a','title':'A','tags':['x'],"
         "'current_owner':'ann'}");
    call(&f, "create_task", "{'task_id':'b','title':'B','depends_on':['a']}");
    call(&f, "save_checkpoint", "{'task_id':'a','agent':'ann'}");
    call(&f, "update_task", "{'task_id':'a','agent':'ann','status':'done'}");
    CHECK(ok(&f) &&
          store_read(f.s, store_find(f.s, STR("task/a")), &f.a, &r) == 0);
    CHECK(archive(&f, "task/a") == 0);
    CHECK(is_replay(&f) && tasks_count(f.t, TASK_DONE) == 0);
    call(&f, "get_task", "{'task_id':'a'}");
    CHECK(failed(&f, "not_found"));
    call(&f, "get_task", "{'task_id':'a','section':'history'}");
    CHECK(failed(&f, "not_found"));
    call(&f, "update_task", "{'task_id':'a','title':'Other'}");
    CHECK(failed(&f, "not_found"));
    call(&f, "create_task", "{'task_id':'a','title':'A'}");
    CHECK(failed(&f, "already_exists"));
    CHECK(has(&f, "next", "use another task_id"));
    call(&f, "create_task", "{'task_id':'c','title':'C','depends_on':['a']}");
    call(&f, "claim_task", "{'task_id':'b','agent':'me'}");
    CHECK(ok(&f) && has(&f, "status", "in_progress"));
    /* A task that has changed since is not archived; nor is one twice. */
    CHECK(store_lock(f.s) == 0);
    CHECK(task_archive(f.t, &r) == ERR_VERSION);
    CHECK(store_commit(f.s, &unknown) == 0);
    store_unlock(f.s);
    CHECK(strcmp(import(&f, "{'task_id':'a','title':'A','status':'done',"
                        "'depends_on':['c']}"), "dependency_cycle") == 0);
    CHECK(strcmp(import(&f, "{'task_id':'a','title':'A','status':'done',"
                        "'version':7}"), "") == 0);
    call(&f, "get_task", "{'task_id':'a'}");
    CHECK(number(&f, "version") == 7);
    CHECK(is_replay(&f));
    reopen(&f);
    call(&f, "get_task", "{'task_id':'a','section':'history'}");
    CHECK(is_replay(&f));
    fixture_fini(&f);
}

/* Imports under one lock, as the command does; is it refused, and why? */
static void
test_row_of_imports(void)
{
    static const struct {
        const char *task, *error;
    } row[] = {
        {"{'task_id':'a','title':'A','depends_on':['later']}", ""},
        {"{'task_id':'b','title':'B','depends_on':['a']}", ""},
        {"{'task_id':'later','title':'L','depends_on':['b']}",
         "dependency_cycle"},
        {"{'task_id':'c','title':'C'}", ""},
        {"{'task_id':'d','title':'D','depends_on':['c']}", ""},
        {"{'task_id':'e','title':'E','depends_on':['d','c']}", ""},
        {"{'task_id':'f','title':'F','depends_on':['e','e','d']}", ""},
        {"{'task_id':'g','title':'G','depends_on':['f','b','g']}",
         "dependency_cycle"},
        {"{'task_id':'later','title':'L','depends_on':['f','b']}",
         "dependency_cycle"},
        {"{'task_id':'later','title':'L','depends_on':['f']}", ""},
        {"{'task_id':'p','title':'P','depends_on':['old']}", ""},
        {"{'task_id':'q','title':'Q','depends_on':['p']}", ""},
        {"{'task_id':'old','title':'O','depends_on':['q']}",
         "dependency_cycle"},
    };
    struct fixture f;
    struct task_receipt r;
    bool unknown;

    fixture_init(&f);
    CHECK(strcmp(import(&f, "{'task_id':'old','title':'O','status':'done'}"),
                 "") == 0);
    CHECK(archive(&f, "task/old") == 0);
    CHECK(store_lock(f.s) == 0);
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct task_ctx c = {.a = &f.a};
        const struct json_tok *obj;
        int rc = json_parse(&f.a, quoted(&f.a, row[i].task), &obj, NULL);

        rc = rc == 0 ? task_import(f.t, &c, obj, &r) : rc;
        CHECK(strcmp(rc == 0 ? "" : err_name(rc), row[i].error) == 0);
    }
    CHECK(store_commit(f.s, &unknown) == 0);
    store_unlock(f.s);
    CHECK(is_replay(&f));
    fixture_fini(&f);
}

static void
test_hostile_text(void)
{
    static const char *const texts[] = {
        "\\u0000", "\\\\", "\\\\\\u0022}", "],[", "{\\u0022v\\u0022:{",
        "\\ud83d\\ude00", "\xc3\xa9", "\\u2028", "\\r\\n\\t\\b",
        "\\u007f", "\\u0022,\\u0022v\\u0022:{\\u0022status\\u0022:1",
    };
    struct fixture f;
    size_t i;
    char args[512];

    fixture_init(&f);
    for (i = 0; i < sizeof texts / sizeof *texts; i++) {
        const struct json_tok *want;
        struct str v, title, note;

        snprintf(args, sizeof args, "{'task_id':'h%zu','title':'%s','tags':"
                 "['%s'],'current_owner':'%s'}", i, texts[i], texts[i],
                 texts[i]);
        call(&f, "create_task", args);
        CHECK(ok(&f));
        snprintf(args, sizeof args, "{'task_id':'h%zu','agent':'%s','notes':"
                 "'%s'}", i, texts[i],
                 texts[i]);
        call(&f, "save_checkpoint", args);
        CHECK(ok(&f));
        CHECK(is_replay(&f));
        snprintf(args, sizeof args, "{'tag':'%s','current_owner':'%s',"
                 "'query':'%s'}", texts[i],
                 texts[i],
                 texts[i]);
        call(&f, "list_tasks", args);
        if (!CHECK(ok(&f) && number(&f, "total") == 1))
            fprintf(stderr, "  %s: %.*s\n", args, STR_ARG(buf_view(&f.out)));
        snprintf(args, sizeof args, "{'task_id':'h%zu','section':'history'}",
                 i);
        call(&f, "get_task", args);
        note = json_str(&f.a, json_get(json_get(f.json, "events") + 1,
                                       "note"));
        snprintf(args, sizeof args, "{'task_id':'h%zu'}", i);
        f.keep_arena = true;
        call(&f, "get_task", args);
        f.keep_arena = false;
        title = json_str(&f.a, json_get(f.json, "title"));
        snprintf(args, sizeof args, "'%s'", texts[i]);
        v = quoted(&f.a, args);
        CHECK(json_parse(&f.a, v, &want, NULL) == 0);
        CHECK(str_eq(title, json_str(&f.a, want)));
        CHECK(str_eq(note, title));
    }
    fixture_fini(&f);
}

/* ---- undo ---- */

static unsigned syncs_fail; /* bit 0: the next one, and so on */

int __real_fdatasync(int fd);
int __wrap_fdatasync(int fd);

int
__wrap_fdatasync(int fd)
{
    bool fails = syncs_fail & 1;
    syncs_fail >>= 1;
    if (!fails)
        return __real_fdatasync(fd);
    errno = EIO;
    return -1;
}

static void
random_call(struct fixture *f)
{
    static const char *const owners[] = {"'ann'", "'bob'", "'cy'", "null"};
    static const char *const repos[] = {"*", "/r0", "/r1", "/r2"};
    char text[512];
    unsigned id = rnd(12);

    switch (rnd(10)) {
    case 8:
        snprintf(text, sizeof text, rnd(4) == 0
                     ? "{'task_id':'t%u','clear':['parent_id']}"
                     : "{'task_id':'t%u','parent_id':'t%u'}", id, rnd(12));
        call(f, "update_task", text);
        break;
    case 7:
        snprintf(text, sizeof text, "task/t%u", id);
        if (rnd(2) == 0)
            archive(f, text);
        break;
    case 0:
        snprintf(text, sizeof text, "{'task_id':'t%u','title':'T','tags':"
                 "['g%u'],'repo_path':'/r%u','current_owner':%s,"
                 "'idempotency_key':'%u'}", id, rnd(3), rnd(9),
                 owners[rnd(4)], rnd(1000000));
        call(f, "create_task", text);
        break;
    case 1:
        snprintf(text, sizeof text, "{'task_id':'t%u','agent':'a%u',"
                 "'notes':'n','idempotency_key':'%u'}", id, rnd(5),
                 rnd(1000000));
        call(f, "save_checkpoint", text);
        break;
    case 2:
        snprintf(text, sizeof text, "{'task_id':'t%u','status':'%s',"
                 "'reason':'r'}", id,
                 task_status_name((enum task_status)rnd(7)));
        call(f, "update_task", text);
        break;
    case 4:
        snprintf(text, sizeof text, "{'agent':'a%u','lease_seconds':30,"
                 "'repo_path':'%s'}", rnd(5), repos[rnd(4)]);
        call(f, "claim_task", text);
        break;
    case 5:
        snprintf(text, sizeof text, "{'task_id':'t%u','agent':'a%u',"
                 "'question':'?'}", id, rnd(5));
        call(f, "request_input", text);
        break;
    case 6:
        snprintf(text, sizeof text, "{'task_id':'t%u','answer':{'text':'!'}}",
                 id);
        call(f, "update_task", text);
        break;
    case 3:
        snprintf(text, sizeof text, "{'task_id':'t%u','repo_path':'/only/%u'"
                 ",'depends_on':['t%u']}", id, rnd(1000000), rnd(12));
        call(f, "update_task", text);
        break;
    default:
        snprintf(text, sizeof text, "{'task_id':'t%u','agent':'a%u'}", id,
                 rnd(5));
        call(f, "mark_exhausted", text);
    }
}

static void
test_undo_is_exact(void)
{
    struct buf before = {0}, after = {0};
    bool unknown;
    int round, i;

    for (round = 0; round < 25; round++) {
        struct fixture f;

        fixture_init(&f);
        for (i = 0; i < 30; i++)
            random_call(&f);
        CHECK(is_replay(&f));
        dump(f.t, &before);
        f.hold = true;
        CHECK(store_lock_patiently(f.s) == 0);
        for (i = 0; i < 60; i++)
            random_call(&f);
        syncs_fail = 5; /* of the batch, and another one after the cut */
        CHECK(store_commit(f.s, &unknown) == ERR_IO && !unknown);
        store_unlock(f.s);
        dump(f.t, &after);
        if (!CHECK(str_eq(buf_view(&before), buf_view(&after))))
            fprintf(stderr, "before:\n%.*s\nafter:\n%.*s\n",
                    STR_ARG(buf_view(&before)), STR_ARG(buf_view(&after)));
        CHECK(is_replay(&f));
        f.hold = false;
        reopen(&f);
        for (i = 0; i < 30; i++)
            random_call(&f);
        CHECK(is_replay(&f));
        fixture_fini(&f);
    }
    buf_fini(&before);
    buf_fini(&after);
}

/* ---- records of another form ---- */

static void
put_record(struct fixture *f, const char *key, const char *body)
{
    bool unknown;

    CHECK(store_lock_patiently(f->s) == 0);
    CHECK(store_stage(f->s, str_of(key), quoted(&f->a, body)) == 0);
    CHECK(store_commit(f->s, &unknown) == 0);
    store_unlock(f->s);
}

/* A task whose record has a value where this version expects another kind of
   value is one of a newer version: it is not changed, and does not get in the
   way. */
static void
test_values_of_another_form(void)
{
    static const char *const odd[] = {
        "'messages':''", "'messages':[1]", "'questions':['q']",
        "'questions':{}", "'artifacts':[[]]", "'depends_on':'a'", "'lease':1",
        "'handoff':[]", "'priority':'1'", "'goal':{}", "'dirty':0",
        "'tags':true"};
    struct fixture f;
    char body[256];
    uint64_t next;

    fixture_init(&f);
    call(&f, "create_task", "{'task_id':'a','title':'A'}");
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        snprintf(body, sizeof body, "'op':'create','by':'x','v':{'task_id':"
                 "'o','status':'open',%s,'title':'t'}", odd[i]);
        put_record(&f, "task/o", body);
        next = store_next_n(f.s);
        call(&f, "update_task", "{'task_id':'o','agent':'x','message':'m'}");
        CHECK(failed(&f, "store_error"));
        call(&f, "claim_task", "{'task_id':'o','agent':'x'}");
        CHECK(failed(&f, "store_error") && store_next_n(f.s) == next);
        call(&f, "list_tasks", "{}");
        CHECK(ok(&f) && json_get(f.json, "tasks")->n == 1);
    }
    put_record(&f, "task/o", "'op':'create','by':'x','v':{'task_id':'o',"
               "'status':'open','depends_on':[0],'tags':null,'title':'t'}");
    call(&f, "get_task", "{'task_id':'o'}");
    CHECK(ok(&f));
    fixture_fini(&f);
}

/* ---- memory that runs out ---- */

static bool
memmem_z(struct str s, const char *z)
{
    size_t i, n = strlen(z);

    for (i = 0; i + n <= s.len; i++)
        if (memcmp(s.p + i, z, n) == 0)
            return true;
    return false;
}

static void
test_no_memory(void)
{
    static const char *const steps[][2] = {
        {"create_task", "{'task_id':'a','title':'A','tags':['t']}"},
        {"save_checkpoint", "{'task_id':'a','agent':'me','notes':'n',"
         "'idempotency_key':'k','completed_steps':['x\\n','y']}"},
        {"update_task", "{'task_id':'a','agent':'me','repo_path':'/new',"
         "'depends_on':['b'],'current_owner':'you','reason':'r\\n'}"},
        {"handoff_task", "{'task_id':'a','from_agent':'you','to_agent':"
         "'him'}"},
        {"get_task", "{'task_id':'a'}"},
        {"get_task", "{'task_id':'a','section':'history'}"},
        {"list_tasks", "{'query':'A','tag':'t','ready':false}"},
        {"request_input", "{'task_id':'a','agent':'him','question':'q?',"
         "'options':['x','y'],'idempotency_key':'q'}"},
        {"update_task", "{'task_id':'a','answer':{'text':"
         "'x'},'goal':'g'}"},
        {"claim_task", "{'agent':'me'}"},
    };
    struct fixture f;
    size_t i;
    long after;
    int rounds = 0;

    fixture_init(&f);
    call(&f, "create_task", "{'task_id':'b','title':'B'}");
    for (i = 0; i < sizeof steps / sizeof *steps; i++)
        for (after = 0;; after++, rounds++) {
            const struct mcp_catalogue *c = tools_catalogue(f.tools);
            struct mcp_call m = {.ctx = c->ctx, .arena = &f.a,
                                 .rev = MCP_2025_11_25, .out = &f.out};
            size_t k = 0;
            bool hit, unknown;
            int rc;

            while (strcmp(c->tools[k].name, steps[i][0]) != 0)
                k++;
            CHECK(store_lock_patiently(f.s) == 0);
            arena_fini(&f.a);
            buf_fini(&f.out);
            memset(&f.out, 0, sizeof f.out);
            CHECK(json_parse(&f.a, quoted(&f.a, steps[i][1]), &m.args,
                             NULL) == 0);
            nomem_start(after, after % 2);
            m.number = c->tools[k].number;
            rc = c->tools[k].run(&m);
            hit = nomem_stop();
            CHECK(rc == 0 || rc == ERR_NOMEM);
            CHECK(store_commit(f.s, &unknown) == 0);
            store_unlock(f.s);
            /* A change that is made may lack its line for the log. */
            if (!hit || (rc == 0 && !m.is_error && c->tools[k].writes)) {
                if (!CHECK(rc == 0 && !m.is_error))
                    fprintf(stderr, "  %s: %.*s\n", steps[i][0],
                            STR_ARG(buf_view(&f.out)));
                break;
            }
            if (rc == 0 && m.is_error)
                CHECK(memmem_z(buf_view(&f.out), "out_of_memory"));
        }
    CHECK(rounds > 30);
    CHECK(is_replay(&f));
    fixture_fini(&f);
}

/* A prompt or completion is complete, or an error. */
static void
test_no_memory_for_prompts(void)
{
    static const char *const steps[] = {
        "{'task_id':'a','agent':'x'}", "{'task_id':'a','to_agent':'x'}",
        "{'since':'1'}", "{'agent':'x'}", "T", "x",
    };
    struct fixture f;
    const struct mcp_catalogue *c;
    size_t i;
    long after;

    fixture_init(&f);
    call(&f, "create_task", "{'task_id':'a','title':'A \\u00e4 T','agent':"
         "'x','current_owner':'x','goal':'g\\n'}");
    c = tools_catalogue(f.tools);
    for (i = 0; i < 6; i++)
        for (after = 0;; after++) {
            struct mcp_call m = {.ctx = c->ctx, .arena = &f.a, .out = &f.out,
                                 .number = c->prompts[i % 3].number};
            struct mcp_completion q = {.prompt = true, .ref = STR("standup"),
                .value = str_of(steps[i]),
                .argument = str_of(i == 4 ? "task_id" : "agent")};
            bool hit;
            int rc;

            arena_fini(&f.a);
            buf_fini(&f.out);
            memset(&f.out, 0, sizeof f.out);
            if (i < 4)
                CHECK(json_parse(&f.a, quoted(&f.a, steps[i]), &m.args,
                                 NULL) == 0);
            nomem_start(after, true);
            rc = i < 4 ? c->prompts[i % 3].run(&m) : c->complete(&m, &q);
            hit = nomem_stop();
            CHECK(rc == (hit ? ERR_NOMEM : 0));
            if (!hit)
                break;
        }
    CHECK(f.out.len > 0);
    fixture_fini(&f);
}

int
main(void)
{
    test_predecessors_workflow();
    test_every_transition();
    test_rules();
    test_evidence_and_warnings();
    test_tests_must_pass();
    test_tests_must_be_of_this_commit();
    test_acceptance_must_be_ticked();
    test_tasks_are_created_together();
    test_all_or_none();
    test_fifty_tasks_at_once();
    test_undo_is_exact();
    test_dependencies();
    test_walk_is_bounded();
    test_new_tasks_need_no_search();
    test_row_of_imports();
    test_import();
    test_import_in_part();
    test_carried_text();
    test_many_unknown_members();
    test_archived_tasks();
    test_hostile_text();
    test_values_of_another_form();
    test_no_memory();
    test_no_memory_for_prompts();
    return test_end("task");
}
