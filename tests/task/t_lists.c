/* Lists of tasks: filters, search, and pages while tasks change. */

#include "tests/lib/catalogue.h"
#include "task/query.h"

/* ---- lists ---- */

/* A search that finds nothing in many tasks ends after a few calls. */
TEST(search_is_bounded)
{
    struct fixture f;
    struct buf b = {0};
    bool unknown;
    int i, calls = 0;
    char cursor[600] = "", text[900];
    struct str next;

    fixture_init(&f);
    f.hold = true;
    buf_z(&b, "{'title':'needle','goal':'");
    for (i = 0; i < 8000; i++)
        buf_char(&b, 'x');
    buf_put(&b, "'}", 3);
    for (i = 0; i < 600; i++) {
        call(&f, "create_task", b.p);
        if (i % 100 == 99)
            CHECK(store_commit(f.s, &unknown) == 0);
    }
    f.hold = false;
    store_unlock(f.s);
    do {
        snprintf(text, sizeof text, "{'query':'%s'%s%s%s}",
                 "nowhere", *cursor ? ",'cursor':'" : "", cursor,
                 *cursor ? "'" : "");
        call(&f, "list_tasks", text);
        next = json_str(&f.a, json_get(f.json, "next_cursor"));
        CHECK((json_get(f.json, "partial") != NULL) == (next.p != NULL));
        CHECK((number(&f, "total") == 0) == (next.p == NULL));
        snprintf(cursor, sizeof cursor, "%.*s", STR_ARG(next));
    } while (*cursor && ++calls < 20);
    CHECK(calls == 2); /* 5 MB of text, 2 MB a call */
    buf_fini(&b);
    fixture_fini(&f);
}

/* Lists in the order of work: by priority, then by the wait, in pages, while
   tasks that were listed change. It is the order of claims. */
TEST(order_of_work)
{
    enum { N = 3000 };
    struct fixture f;
    char text[900], last[40] = "", cursor[600] = "", first[40] = "";
    int64_t before = -1;
    int i, n = 0, pages = 0;
    bool unknown;

    fixture_init(&f);
    f.hold = true;
    for (i = 0; i < N; i++) {
        snprintf(text, sizeof text, "{'task_id':'t%05d','title':'%s',"
                 "'priority':%d}", i, i % 7 ? "A" : "B", i * 7 % 5);
        call(&f, "create_task", text);
        if (i % 100 == 99)
            CHECK(store_commit(f.s, &unknown) == 0);
    }
    f.hold = false;
    store_unlock(f.s);
    do {
        const struct json_tok *list, *k;
        struct str next;

        snprintf(text, sizeof text, "{'order':'work','limit':100%s%s%s}",
                 *cursor ? ",'cursor':'" : "", cursor, *cursor ? "'" : "");
        call(&f, "list_tasks", text);
        CHECK(number(&f, "total") == N);
        list = json_get(f.json, "tasks");
        k = list + 1;
        for (uint32_t t = 0; t < list->n; t++, k += k->span, n++) {
            struct str id = json_str(&f.a, json_get(k, "task_id"));
            int64_t priority = 2; /* a summary omits that */

            json_int(json_get(k, "priority"), &priority);
            CHECK(priority > before || (n > 0 && str_is(id, first)) ||
                  (priority == before && strncmp(id.p, last, id.len) > 0));
            before = priority;
            snprintf(last, sizeof last, "%.*s", STR_ARG(id));
            if (n == 0)
                snprintf(first, sizeof first, "%s", last);
        }
        next = json_str(&f.a, json_get(f.json, "next_cursor"));
        snprintf(cursor, sizeof cursor, "%.*s", STR_ARG(next));
        if (pages == 3) { /* one that has changed comes again */
            snprintf(text, sizeof text, "{'task_id':'%s','goal':'g'}", first);
            CHECK(call(&f, "update_task", text) && ok(&f));
            n--;
        }
    } while (*cursor && ++pages < 100);
    CHECK(n == N && pages == N / 100);
    call(&f, "list_tasks", "{'order':'work','limit':1,'query':'B'}");
    CHECK(number(&f, "total_at_least") > 100 || number(&f, "total") > 100);
    call(&f, "claim_task", "{'agent':'ann'}");
    CHECK(has(&f, "task_id", "t00005"));
    call(&f, "list_tasks", "{'order':'work','ready':true,'limit':1}");
    CHECK(json_is(json_get(json_get(f.json, "tasks") + 1, "task_id"),
                  "t00010"));
    /* Ended tasks are behind, whatever their priority, the newest one first. */
    call(&f, "update_task", "{'task_id':'t00000','status':'cancelled'}");
    call(&f, "update_task", "{'task_id':'t00001','status':'cancelled'}");
    call(&f, "list_tasks", "{'order':'work','include_done':true,'limit':1,"
         "'cursor':'work/2998/2999/9'}");
    CHECK(json_is(json_get(json_get(f.json, "tasks") + 1, "task_id"),
                  "t00001"));
    snprintf(text, sizeof text, "{'order':'work','include_done':true,"
             "'cursor':'%.*s'}",
             STR_ARG(json_str(&f.a, json_get(f.json, "next_cursor"))));
    call(&f, "list_tasks", text);
    CHECK(number(&f, "total") == N &&
          json_is(json_get(json_get(f.json, "tasks") + 1, "task_id"),
                  "t00000"));
    call(&f, "list_tasks", "{'order':'work','cursor':'5/0/a/b'}");
    CHECK(failed(&f, "invalid_argument") && has(&f, "field", "cursor"));
    call(&f, "list_tasks", "{'order':'work','cursor':'work/0/5/high'}");
    CHECK(failed(&f, "invalid_argument") && has(&f, "field", "cursor"));
    call(&f, "list_tasks", "{'cursor':'work/0/5/1'}");
    CHECK(failed(&f, "invalid_argument") && has(&f, "field", "cursor"));
    fixture_fini(&f);
}

#define HAY "hay hay hay hay hay hay hay hay hay hay hay hay "
#define EURO "\xe2\x82\xac"
#define EUROS EURO EURO EURO EURO EURO EURO EURO

/* A search looks in all text of a record, and shows where it found it. */
TEST(search_whole_record)
{
    static const struct {
        const char *query, *match; /* "": title or id; NULL: is not found */
    } cases[] = {
        {"The Whole", ""}, {"WHOLE-1", ""}, {"gOAL", "goal: The goal"},
        {"line two", "goal: line two"}, {"goal\\nline", "goal: The goal"},
        {"red", "tags: red"}, {"resume", "resume_prompt: Resume it."},
        {"step one", "completed_steps: step one"},
        {"step two", "remaining_steps: step two"},
        {"we decided", "decisions: We decided"},
        {"a counter", "failed_approaches: a counter"},
        {"accepted", "acceptance: accepted"},
        {"which way", "question: Which way?"}, {"lane 7", "options: lane 7"},
        {"answer so", "text: answer so"}, {"note well", "notes: Note well."},
        {"lunch", "reason: lunch"}, {"made it", "result: I made it."},
        {"why not", "note: why not"}, {"build.log", "name: build.log"},
        {"of the build", "description: of the build"},
        {"make all", "command: make all"}, {"hey there", "text: Hey there."},
        {"src/main", "paths: src/main.c"}, {"topic/x", "branch: topic/x"},
        {"\xc3\xa4pfel", "decisions: \xc3\xa4pfel\t\\ und"},
        {"L\\t\\\\ U", "decisions: \xc3\xa4pfel\t\\ und"},
        {"needle", "failed_approaches: ..." HAY "needle " EUROS EUROS EUROS
         EUROS EUROS "..."},
        {"\xc3\x84pfel", NULL}, /* only ASCII letters have a case */
        {"completed", NULL}, {"failed", NULL}, {"ann", NULL}, {"2026", NULL},
        {"/r/api", NULL}, {"q5", NULL}, {"other", NULL}, {"approval", NULL},
        {"the content", NULL}, {"needle\\nhay", NULL},
    };
    static const struct step steps[] = {
        {"create_task", "{'task_id':'whole-1','title':'The whole','goal':"
         "'The goal\\nline two','tags':['red'],'acceptance':['accepted'],"
         "'repo_path':'/r/api','paths':['src/main.c'],'parent_id':'other'}",
         0, 0, 0},
        {"save_checkpoint", "{'task_id':'whole-1','agent':'ann','notes':"
         "'Note well.','resume_prompt':'Resume it.',"
          "'completed_steps':['step one'],"
         "'remaining_steps':['step two'],'branch':'topic/x','decisions':["
         "'We decided','\xc3\xa4pfel\\t\\\\ und'],'test_results':[{'command':"
         "'make all','exit_code':0}]}", 0, 0, 0},
        {"attach_artifact", "{'task_id':'whole-1','agent':'ann','name':"
         "'build.log','type':'log','content':'the content','description':"
         "'of the build'}", 0, 0, 0},
        {"request_input", "{'task_id':'whole-1','agent':'ann','question':"
         "'Which way?'}", 0, 0, 0},
        {"update_task", "{'task_id':'whole-1','agent':'bob','answer':{'text':"
         "'answer so'},'message':'Hey there.'}", 0, 0, 0},
        {"request_input", "{'task_id':'whole-1','agent':'ann','question':"
         "'Which?','kind':'approval','options':['lane 7']}", 0, 0, 0},
        {"handoff_task", "{'task_id':'whole-1','from_agent':'ann','reason':"
         "'lunch'}", 0, 0, 0},
        {"update_task", "{'task_id':'whole-1','agent':'ann','status':'failed',"
         "'result':'I made it.','reason':'why not','failed_approaches':["
         "'a counter','hay\\n" HAY HAY
          "needle " EUROS EUROS EUROS EUROS EUROS "...']}",
         0, 0, 0},
    };
    struct fixture f;
    char text[400];

    fixture_init(&f);
    call(&f, "create_task", "{'task_id':'other','title':'x'}");
    RUN_STEPS(&f, steps);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *match = cases[i].match;
        struct str line;

        snprintf(text, sizeof text, "{'query':'%s','status':'failed'}",
                 cases[i].query);
        call(&f, "list_tasks", text);
        line = json_str(&f.a, json_get(json_get(f.json, "tasks") + 1,
                                       "match"));
        if (!CHECK(number(&f, "total") == (match != NULL)) ||
            !CHECK(!match || *match == '\0' ? !line.p : str_is(line, match)))
            fprintf(stderr, "  %s: %.*s\n", cases[i].query, STR_ARG(line));
    }
    fixture_fini(&f);
}

/* In each part of a search, hits in title and id come first, each kind with the
   newest change first. Together the parts have each hit once, however many
   bytes a part may read. */
TEST(titles_come_first)
{
    enum { N = 120 };
    static const char *const kinds[] = {"'title':'%d'", "'title':'a needle%d'",
                                        "'title':'x','goal':'needle %d'"};
    struct fixture f;
    char text[160], cursor[600] = "";
    struct task_query q = {.text = STR("Needle"), .include_done = true};
    struct task_list list;
    bool hit[N];

    fixture_init(&f);
    for (int i = 0; i < N; i++) {
        unsigned kind = rnd(3);
        bool in_id = rnd(9) == 0;

        hit[i] = kind != 0 || in_id;
        snprintf(text, sizeof text, kinds[kind], i);
        snprintf(cursor, sizeof cursor, "{'task_id':'%d%s',%s}", i,
                 in_id ? "-NEEDLE" : "", text);
        call(&f, "create_task", cursor);
        snprintf(text, sizeof text, "{'task_id':'%d%s','status':'failed'}", i,
                 in_id ? "-NEEDLE" : "");
        if (i % 5 == 0)
            call(&f, "update_task", text);
    }
    for (int round = 0; round < 60; round++) {
        int seen[N] = {0}, parts = 0;
        bool whole = round % 2 == 0, titles = true; /* all in one part */
        uint64_t before = UINT64_MAX;

        q.limit = 1 + rnd(9);
        *cursor = '\0';
        do {
            q.cursor = str_of(cursor);
            q.read_max = whole ? 0 : 1 + rnd(9000);
            arena_reset(&f.a);
            CHECK(tasks_list(f.t, &f.a, &q, &list) == 0);
            CHECK(list.n == q.limit || list.partial || list.exact);
            if (!whole) {
                titles = true;
                before = UINT64_MAX;
            }
            for (size_t i = 0; i < list.n; i++) {
                const struct task *k = &list.tasks[i];

                if (titles && k->match.p) {
                    titles = false;
                    before = UINT64_MAX;
                }
                CHECK(titles == !k->match.p && k->ev.r.n < before);
                before = k->ev.r.n;
                seen[atoi(k->ev.id.p)]++;
            }
            snprintf(cursor, sizeof cursor, "%.*s", STR_ARG(list.next));
        } while (*cursor && ++parts < 4 * N);
        for (int i = 0; i < N; i++)
            if (!CHECK(seen[i] == hit[i]))
                fprintf(stderr, "  %d: seen %d times\n", i, seen[i]);
    }
    fixture_fini(&f);
}

TEST(filters)
{
    static const struct {
        const char *args;
        int64_t total;
    } cases[] = {
        {"{}", 4},
        {"{'include_done':true}", 5},
        {"{'status':'open'}", 4},
        {"{'status':'done'}", 1},
        {"{'status':'failed'}", 0},
        {"{'current_owner':'ann'}", 2},
        {"{'current_owner':'nobody'}", 0},
        {"{'repo_path':'/r'}", 1},
        {"{'repo_path':'*'}", 4},
        {"{'tag':'red'}", 2},
        {"{'tag':'re'}", 0},
        {"{'parent_id':'a'}", 1},
        {"{'query':'RED'}", 2},
        {"{'query':'lOgIn'}", 1},
        {"{'query':'tab\\there\\n'}", 1},
        {"{'query':'n'}", 1}, /* does not match the n of an escape */
        {"{'query':'aab'}", 1},
        {"{'query':'aaaab'}", 0},
        {"{'ready':true}", 3}, /* a has a part */
        {"{'ready':false}", 1},
        {"{'stale':true}", 0},
        {"{'stale':false}", 4},
        {"{'needs_input':true}", 0},
        {"{'needs_input':false}", 4},
        {"{'changed_since':5}", 1},
        {"{'changed_since':'5','include_done':true}", 2},
        {"{'changed_since':'2000-01-01T00:00:00Z'}", 4},
        {"{'changed_since':'2999-01-01T00:00:00Z'}", 0},
        {"{'current_owner':'ann','tag':'red','query':'log'}", 1},
        {"{'current_owner':'ann','order':'work'}", 2},
        {"{'include_done':true,'order':'work'}", 5},
        {"{'query':'RED','order':'changed'}", 2},
        {"{'current_owner':'','tag':null}", 4}, /* as if left out */
    };
    static const struct step steps[] = {
        {"create_task", "{'task_id':'a','title':'Login','tags':['red',"
         "'blue'],'current_owner':'ann'}", 0, 0, 0},
        {"create_task", "{'task_id':'b','title':'b','goal':'tab\\there\\n',"
         "'tags':['red'],'repo_path':'/r'}", 0, 0, 0},
        {"create_task", "{'task_id':'c','title':'aaab','parent_id':'a'}", 0,
         0, 0},
        {"create_task", "{'task_id':'d','title':'d'}", 0, 0, 0},
        {"create_task", "{'task_id':'e','title':'e','status':'in_progress'}",
         0, 0, 0},
        {"update_task", "{'task_id':'d','current_owner':'ann'}", 0, 0, 0},
        {"update_task", "{'task_id':'e','status':'done'}", 0, 0, 0},
    };
    struct fixture f;
    size_t i;

    fixture_init(&f);
    RUN_STEPS(&f, steps);
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        call(&f, "list_tasks", cases[i].args);
        if (!CHECK(ok(&f) && number(&f, "total") == cases[i].total &&
                   json_get(f.json, "tasks")->n == cases[i].total))
            fprintf(stderr, "  %s: %.*s\n", cases[i].args,
                    STR_ARG(buf_view(&f.out)));
    }
    CHECK(number(&f, "head_seq") == 7);
    call(&f, "list_tasks", "{'cursor':'nonsense'}");
    CHECK(failed(&f, "invalid_argument") && has(&f, "field", "cursor"));
    call(&f, "list_tasks", "{'cursor':'1/2'}");
    CHECK(ok(&f));
    call(&f, "list_tasks", "{'changed_since':-1}");
    CHECK(failed(&f, "invalid_argument") && has(&f, "message", "changed_since "
          "must be a seq or an RFC 3339 time such as 2026-07-28T09:30:00Z"));
    fixture_fini(&f);
}

/* What others depend on is of use only where all of them are listed. */
TEST(parts_depend)
{
    static const struct step steps[] = {
        {"create_task", "{'task_id':'a','title':'Whole'}", 0, 0, 0},
        {"create_task", "{'task_id':'b','title':'b','parent_id':'a'}", 0, 0,
         0},
        {"create_task", "{'task_id':'c','title':'c','parent_id':'a',"
         "'depends_on':['b']}", 0, 0, 0},
    };
    struct fixture f;
    const struct json_tok *c;

    fixture_init(&f);
    RUN_STEPS(&f, steps);
    call(&f, "update_task", "{'task_id':'b','status':'done'}");
    call(&f, "list_tasks", "{'parent_id':'a','include_done':true}");
    CHECK(ok(&f) && json_get(f.json, "tasks")->n == 2);
    c = json_get(f.json, "tasks") + 1;
    c += c->span; /* after b, which changed last */
    CHECK(json_is(json_get(c, "task_id"), "c"));
    CHECK(json_is(json_get(c, "depends_on") + 1, "b"));
    call(&f, "list_tasks", "{}");
    CHECK(ok(&f) && strstr(f.out.p, "depends_on") == NULL);
    fixture_fini(&f);
}

/* Whether the summary of a task contains part. */
static bool
tells(struct fixture *f, const char *id, const char *part)
{
    char text[400];

    snprintf(text, sizeof text, "{'query':'%s','include_done':true}", id);
    call(f, "list_tasks", text);
    buf_char(&f->out, '\0');
    if (f->out.err == 0 && strstr(f->out.p, part))
        return true;
    fprintf(stderr, "%s: %.*s\n", id, STR_ARG(buf_view(&f->out)));
    return false;
}

TEST(summaries_say_why)
{
    static const struct step steps[] = {
        {"create_task", "{'task_id':'ask','title':'x'}", 0, 0, 0},
        {"request_input", "{'task_id':'ask','agent':'ann','question':"
         "'One?'}", 0, 0, 0},
        {"request_input", "{'task_id':'ask','agent':'ann','question':"
         "'Two?'}", 0, 0, 0},
        {"update_task", "{'task_id':'ask','answer':{'question_id':'q2',"
         "'text':'t'}}", 0, 0, 0},
        {"create_task", "{'task_id':'hand','title':'x'}", 0, 0, 0},
        {"handoff_task", "{'task_id':'hand','from_agent':'ann','to_agent':"
         "'bob','reason':'lunch','test_results':[{'command':'a','exit_code':"
         "0,'passed':7},{'command':'b','exit_code':1},{'command':'c',"
         "'exit_code':0}]}", 0, 0, 0},
        {"create_task", "{'task_id':'gone','title':'x'}", 0, 0, 0},
        {"mark_exhausted", "{'task_id':'gone','agent':'ann','reason':"
         "'quota'}", 0, 0, 0},
        {"create_task", "{'task_id':'off','title':'x'}", 0, 0, 0},
        {"update_task", "{'task_id':'off','status':'failed','reason':"
         "'no disk'}", 0, 0, 0},
    };
    struct fixture f;

    fixture_init(&f);
    RUN_STEPS(&f, steps);
    CHECK(tells(&f, "ask", "\"question\":{\"question_id\":\"q3\""));
    CHECK(tells(&f, "hand", "\"tests\":{\"passed\":8,\"failed\":1},"
                "\"handoff\":{\"from_agent\":\"ann\",\"to_agent\":\"bob\","
                "\"reason\":\"lunch\","));
    CHECK(tells(&f, "gone", "\"exhausted\":{\"agent\":\"ann\",\"reason\":"
                "\"quota\","));
    CHECK(tells(&f, "off", "\"note\":\"no disk\""));
    call(&f, "update_task", "{'task_id':'hand','agent':'bob','status':"
         "'in_progress'}");
    CHECK(ok(&f) && tells(&f, "hand", "\"failed\":1},\"version\""));
    fixture_fini(&f);
}

/* Pages through all tasks while some change between pages. Every task that did
   not change is seen exactly once. */
static void
page_through(struct fixture *f, const char *filter, bool with_done)
{
    enum { N = 230 };
    int seen[N] = {0}, changed[N] = {0}, i, pages = 0;
    char cursor[600] = "", text[900];
    struct str id;

    do {
        const struct json_tok *list, *t;

        snprintf(text, sizeof text, "{%s'limit':7,'include_done':%s%s%s%s}",
                 filter, with_done ? "true" : "false",
                 *cursor ? ",'cursor':'" : "", cursor, *cursor ? "'" : "");
        call(f, "list_tasks", text);
        if (!CHECK(ok(f)))
            return;
        list = json_get(f->json, "tasks");
        for (i = 0, t = list + 1; i < (int)list->n; i++, t += t->span) {
            id = json_str(&f->a, json_get(t, "task_id"));
            seen[atoi(id.p + 1)]++;
        }
        id = json_str(&f->a, json_get(f->json, "next_cursor"));
        snprintf(cursor, sizeof cursor, "%.*s", STR_ARG(id));
        for (i = 0; i < 5; i++) {
            int k = (int)rnd(N);

            changed[k] = 1;
            snprintf(text, sizeof text, i ? "{'task_id':'p%d','goal':'%u'}"
                     : "{'task_id':'p%d','status':'cancelled','goal':'%u'}",
                     k, rnd(100));
            call(f, "update_task", text);
        }
    } while (*cursor && ++pages < 200);
    CHECK(pages > 5 && pages < 60);
    for (i = 0; i < N; i++)
        if (!CHECK(changed[i] || seen[i] == 1))
            fprintf(stderr, "  p%d seen %d times\n", i, seen[i]);
}

TEST(paging_while_tasks_change)
{
    static const char *const filters[] = {"", "'tag':'x',", "'query':'P',",
                                          "'query':'X',"};
    struct fixture f;
    size_t i;
    char text[128];
    int k;

    for (i = 0; i < 8; i++) {
        fixture_init(&f);
        for (k = 0; k < 230; k++) {
            snprintf(text, sizeof text, "{'task_id':'p%d','title':'p%s',"
                     "'tags':['x']}", k, k % 4 ? "" : "x");
            call(&f, "create_task", text);
            if (i % 2 && k % 3 == 0) {
                snprintf(text, sizeof text, "{'task_id':'p%d','status':"
                         "'failed'}", k);
                call(&f, "update_task", text);
            }
        }
        if (i % 2)
            page_through(&f, filters[i / 2], true);
        else
            page_through(&f, filters[i / 2], false);
        CHECK(is_replay(&f));
        fixture_fini(&f);
    }
}

/* Totals, and the limit on what one call looks at. */
TEST(many_tasks)
{
    enum { N = 20500, TAGGED = 1200 };
    struct fixture f;
    char text[900];
    bool unknown;
    int i;

    fixture_init(&f);
    f.hold = true;
    for (i = 0; i < N; i++) {
        snprintf(text, sizeof text, "{'task_id':'m%d','title':'m'%s%s}", i,
                 i >= N - TAGGED ? ",'tags':['x']" : "",
                 i == 3 ? ",'status':'handoff_ready'" : "");
        call(&f, "create_task", text);
        if (i % 1000 == 999) {
            CHECK(store_commit(f.s, &unknown) == 0);
            arena_reset(&f.a);
        }
    }
    CHECK(store_commit(f.s, &unknown) == 0);
    store_unlock(f.s);
    f.hold = false;
    call(&f, "list_tasks", "{}");
    CHECK(number(&f, "total") == N && json_get(f.json, "tasks")->n == 20);
    call(&f, "list_tasks", "{'tag':'x','limit':10}");
    CHECK(number(&f, "total_at_least") > 1000 && number(&f, "total") < 0);
    call(&f, "list_tasks", "{'tag':'x','ready':false}");
    CHECK(json_get(f.json, "partial") != NULL);
    /* The only match lies beyond what one call looks at. */
    call(&f, "list_tasks", "{'status':'handoff_ready'}");
    CHECK(json_get(f.json, "tasks")->n == 0 && number(&f, "total") == 1);
    CHECK(json_get(f.json, "partial") != NULL);
    snprintf(text, sizeof text, "{'status':'handoff_ready','cursor':'%.*s'}",
             STR_ARG(json_str(&f.a, json_get(f.json, "next_cursor"))));
    /* The task at the cursor has changed: the next page is found all the
       same. */
    call(&f, "update_task", "{'task_id':'m499','goal':'g'}");
    CHECK(ok(&f));
    for (i = 0; i < 3; i++) {
        call(&f, "list_tasks", text);
        if (json_get(f.json, "tasks")->n > 0)
            break;
        snprintf(text, sizeof text, "{'status':'handoff_ready','cursor':"
                 "'%.*s'}", STR_ARG(json_str(&f.a, json_get(f.json,
                                                            "next_cursor"))));
    }
    CHECK(i < 3 && json_get(f.json, "next_cursor") == NULL);
    fixture_fini(&f);
}

/* Tasks are parked in any order, and return to that of their queues. */
TEST(back_from_the_park)
{
    struct fixture f;
    char text[200];
    int i;

    fixture_init(&f);
    call(&f, "create_task", "{'task_id':'x','title':'t'}");
    call(&f, "create_task", "{'task_id':'y','title':'t'}");
    for (i = 0; i < 60; i++) {
        snprintf(text, sizeof text, "{'task_id':'p%d','title':'t','priority':"
                 "%d,'tags':['g%d'],'depends_on':['%s']}", i, i % 2, i % 3,
                 i % 5 < 4 ? "x" : "y");
        call(&f, "create_task", text);
    }
    for (i = 2; i >= 0; i--) {
        snprintf(text, sizeof text, "{'agent':'me','tag':'g%d'}", i);
        call(&f, "claim_task", text);
    }
    CHECK(f.t->n_parked == 60);
    call(&f, "update_task", "{'task_id':'x','status':'done'}");
    CHECK(f.t->n_parked == 12 && is_replay(&f));
    for (i = 0; i < 49; i++) { /* y, too */
        call(&f, "claim_task", "{'agent':'me'}");
        CHECK(json_get(f.json, "lease") != NULL);
    }
    call(&f, "claim_task", "{'agent':'me'}");
    CHECK(json_get(f.json, "lease") == NULL && is_replay(&f));
    fixture_fini(&f);
}
