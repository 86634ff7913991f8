/* The tools as a client sees them: schemas and what enforces them, values at
   the limits, principals, log messages, errors, the rounds of a wait. */

#include "mcp/mcp.h"
#include "task/project.h"
#include "task/rows.h"
#include "tests/lib/catalogue.h"

/* ---- what clients are shown ---- */

/* Icons come once, and what tools are found by with each list. */
static void
test_list_in_both_eras(void)
{
    static const char *const texts[] = {
        "{'jsonrpc':'2.0','id':0,'method':'initialize','params':"
        "{'protocolVersion':'2025-11-25','capabilities':{},'clientInfo':"
        "{'name':'t','version':'1'}}}",
        "{'jsonrpc':'2.0','id':1,'method':'tools/list'}",
        "{'jsonrpc':'2.0','id':1,'method':'tools/list','params':{'_meta':{"
        "'io.modelcontextprotocol/protocolVersion':'2026-07-28',"
        "'io.modelcontextprotocol/clientInfo':{'name':'t','version':'1'},"
        "'io.modelcontextprotocol/clientCapabilities':{}}}}",
    };
    struct fixture f;
    struct calls *calls;
    struct mcp *mcp;
    struct mcp_channel channel = {.send = NULL};
    struct mcp_facts facts = {.http = false};
    struct mcp_message *m;
    struct buf notes = {0};
    struct str text;
    size_t i;

    fixture_init(&f);
    calls = calls_new(&(struct calls_options){0});
    calls_bind(calls, f.s);
    CHECK(mcp_new(&mcp, tools_catalogue(f.tools), f.s, NULL, calls) == 0);
    facts.session = mcp_join(mcp, &channel);
    for (i = 0; i < 3; i++) {
        buf_reset(&f.out, 0);
        text = quoted(&f.a, texts[i]);
        CHECK(mcp_accept(mcp, &facts, &text, &m) == 0);
        CHECK(mcp_run(m, &f.out, &notes) == MCP_OK);
        mcp_release(m);
        CHECK(i == 0 || f.out.len > 4096);
        CHECK(str_find(buf_view(&f.out), STR("\"icons\":[{\"src\":\"data:")) !=
              SIZE_MAX ? i == 0 : i > 0); /* told once */
        CHECK((i > 0) == (str_find(buf_view(&f.out), STR("searchHint\":\"")) !=
                          SIZE_MAX));
    }
    mcp_leave(facts.session);
    mcp_free(mcp);
    calls_free(calls);
    buf_fini(&notes);
    fixture_fini(&f);
}

static void
test_read_only(void)
{
    struct fixture f;
    const struct mcp_catalogue *c;

    fixture_init(&f);
    tools_free(f.tools);
    f.env.read_only = true;
    CHECK(tools_new(&f.tools, f.t, &f.env) == 0);
    c = tools_catalogue(f.tools);
    CHECK(c->n_tools == 3);
    CHECK(!c->tools[0].writes && !c->tools[1].writes);
    tools_free(f.tools);
    f.env.read_only = false;
    f.env.core = true;
    CHECK(tools_new(&f.tools, f.t, &f.env) == 0);
    CHECK(tools_catalogue(f.tools)->n_tools == 8);
    fixture_fini(&f);
}

static const char *const names[TASK_N_TOOLS] = {
    "create_task", "get_task", "save_checkpoint", "handoff_task",
    "mark_exhausted", "attach_artifact", "list_tasks", "update_task",
    "claim_task", "request_input", "wait_for_task",
};

/* Whether the tool has this argument; *required: it requires it. */
static bool
takes_arg(enum task_tool tool, const char *name, bool *required)
{
    const struct row *r = row_named(task_rows, TASK_N_ARGS, 1u << tool,
                                    str_of(name));

    *required = r && r->needs & 1u << tool;
    return r != NULL;
}

static void
check_schema(struct arena *a, enum task_tool tool, const struct mcp_tool *t)
{
    const struct json_tok *schema, *props, *list, *p;
    uint32_t i, needed = 0, n = 0, takes = 0;
    bool required;
    int arg;

    if (!CHECK(json_parse(a, str_of(t->input_schema), &schema, NULL) == 0))
        return;
    CHECK(json_is(json_get(schema, "type"), "object"));
    props = json_get(schema, "properties");
    list = json_get(schema, "required");
    for (i = 0, p = props + 1; i < props->n; i++, p += 1 + p[1].span) {
        struct str name = arena_str(a, json_str(a, p));

        if (!CHECK(takes_arg(tool, name.p, &required)))
            fprintf(stderr, "  %s: %s\n", t->name, name.p);
        /* They stand first, and so does a title. */
        CHECK(!required || needed == i);
        needed += required;
    }
    CHECK(tool != TOOL_CREATE || json_is(props + 1, "title"));
    CHECK(list == NULL || list->n > 0);
    for (i = 0, p = list; list && i < list->n; i++) {
        struct str name = arena_str(a, json_str(a, ++p));

        CHECK(takes_arg(tool, name.p, &required) && required);
        CHECK(json_get(props, name.p) != NULL);
        n++;
    }
    CHECK(n == needed);
    for (arg = 0; arg < TASK_N_ARGS; arg++) {
        const char *name = task_arg_name(arg).p;

        if (takes_arg(tool, name, &required)) {
            takes++;
            if (!CHECK((json_get(props, name) == NULL) == (arg == ARG_LEFT)))
                fprintf(stderr, "  %s lacks %s\n", t->name, name);
        }
    }
    CHECK(takes > 0);
}

static size_t
count_text(const char *s, const char *part)
{
    size_t n = 0;

    while ((s = strstr(s, part)) != NULL) {
        s += strlen(part);
        n++;
    }
    return n;
}

static void
test_schemas_are_what_is_enforced(void)
{
    struct fixture f;
    const struct mcp_catalogue *c;
    size_t i;

    fixture_init(&f);
    c = tools_catalogue(f.tools);
    CHECK(c->n_tools == TASK_N_TOOLS);
    for (i = 0; i < TASK_N_TOOLS; i++) {
        CHECK(strcmp(c->tools[i].name, names[i]) == 0);
        check_schema(&f.a, (enum task_tool)i, &c->tools[i]);
        CHECK(strstr(c->tools[i].input_schema, "$ref") == NULL);
        CHECK(strstr(c->tools[i].input_schema, "Of\"") == NULL);
        /* Each object says what it has. */
        CHECK(count_text(c->tools[i].input_schema, "\"type\":\"object\"") ==
              count_text(c->tools[i].input_schema, "\"properties\":{\""));
    }
    CHECK(strlen(c->instructions) < 800);
    /* current_owner is another's, too. */
    CHECK(strstr(c->tools[TOOL_CREATE].input_schema,
                 "\"agent\":{\"type\":\"string\",\"description\":") != NULL);
    fixture_fini(&f);
}

/* ---- limits ---- */

enum unit { ASCII, UMLAUT, SLASH, ITEMS };

/* Writes arguments with a field of n units. */
static void
put_args(struct buf *b, const char *start, const char *field, size_t n,
         enum unit unit, bool list)
{
    buf_reset(b, b->cap);
    buf_printf(b, "%s,'%s':%s'", start, field, list ? "[" : "");
    if (unit == ITEMS) {
        put_times(b, "x','", n - 1);
        buf_char(b, 'x');
    } else {
        static const char *const units[] = {"x", "\xc3\xa4", "/"};

        put_times(b, units[unit], n);
    }
    buf_printf(b, "'%s}%c", list ? "]" : "", '\0');
}

static void
test_limits_at_their_edge(void)
{
    static const struct {
        const char *tool, *field;
        size_t max;
        enum unit unit;
        bool list;
    } cases[] = {
        {"update_task", "title", 256, UMLAUT, false},
        {"update_task", "goal", 8192, ASCII, false},
        {"update_task", "goal", 4096, UMLAUT, false},
        {"update_task", "repo_path", 4096, SLASH, false},
        {"update_task", "current_owner", 128, UMLAUT, false},
        {"update_task", "tags", 64, UMLAUT, true},
        {"update_task", "tags", 16, ITEMS, true},
        {"update_task", "acceptance", 512, UMLAUT, true},
        {"update_task", "acceptance", 32, ITEMS, true},
        {"update_task", "completed_steps", 1024, ASCII, true},
        {"update_task", "completed_steps", 200, ITEMS, true},
        {"update_task", "remaining_steps", 200, ITEMS, true},
        {"update_task", "decisions", 64, ITEMS, true},
        {"update_task", "failed_approaches", 64, ITEMS, true},
        {"update_task", "failed_approaches", 1024, ASCII, true},
        {"update_task", "resume_prompt", 16384, ASCII, false},
        {"update_task", "result", 16384, ASCII, false},
        {"update_task", "branch", 256, ASCII, false},
        {"save_checkpoint", "notes", 4096, ASCII, false},
        {"save_checkpoint", "idempotency_key", 128, UMLAUT, false},
        {"handoff_task", "reason", 2048, ASCII, false},
        {"handoff_task", "to_agent", 128, UMLAUT, false},
        {"list_tasks", "query", 256, UMLAUT, false},
        {"attach_artifact", "name", 256, UMLAUT, false},
        {"attach_artifact", "description", 512, ASCII, false},
        {"attach_artifact", "path", 2048, ASCII, false},
    };
    static const struct {
        const char *tool, *start;
    } starts[] = {
        {"update_task", "{'task_id':'a'"},
        {"save_checkpoint", "{'task_id':'a','agent':'b'"},
        {"handoff_task", "{'task_id':'a','from_agent':'b'"},
        {"list_tasks", "{'limit':1"},
        {"attach_artifact", "{'task_id':'a','content':''"},
    };
    struct buf b = {0};
    size_t i, k, over;

    for (i = 0; i < sizeof cases / sizeof *cases; i++)
        for (over = 0; over < 2; over++) {
            struct fixture f;
            char start[128];

            fixture_init(&f);
            call(&f, "create_task", "{'task_id':'a','title':'A'}");
            for (k = 0; strcmp(starts[k].tool, cases[i].tool) != 0;)
                k++;
            snprintf(start, sizeof start, "%s%s", starts[k].start,
                     k == 4 && strcmp(cases[i].field, "name") ? ",'name':'n'"
                                                              : "");
            put_args(&b, start, cases[i].field, cases[i].max + over,
                     cases[i].unit, cases[i].list);
            call(&f, cases[i].tool, b.p);
            if (over ? !CHECK(failed(&f, "too_large") &&
                              has(&f, "field", cases[i].field))
                     : !CHECK(ok(&f)))
                fprintf(stderr, "  %s.%s\n", cases[i].tool, cases[i].field);
            fixture_fini(&f);
        }
    buf_fini(&b);
}

static const struct {
    const char *tool, *args;
    const char *code; /* NULL: it is accepted */
} kinds[] = {
    {"create_task", "{'title':123}", NULL}, /* numbers for texts */
    {"create_task", "{'title':1.50e2,'task_id':7}", NULL},
    {"create_task", "{'title':'t','priority':'3'}", NULL},
    {"create_task", "{'title':'t','priority':3.0}", NULL},
    {"create_task", "{'title':'t','priority':5}", "invalid_argument"},
    {"create_task", "{'title':'t','priority':-1}", "invalid_argument"},
    {"create_task", "{'title':'t','priority':1.5}", "invalid_argument"},
    {"create_task", "{'title':'t','priority':'x'}", "invalid_argument"},
    {"create_task", "{'title':'t','priority':null}", NULL},
    {"create_task", "{'title':true}", "invalid_argument"},
    {"create_task", "{'title':''}", "invalid_argument"},
    {"create_task", "{'title':['t']}", "invalid_argument"},
    {"create_task", "{'title':'t','task_id':''}", NULL},
    {"create_task", "{'title':'t','agent':''}", "invalid_argument"},
    {"create_task", "{'title':'t','agent':null}", NULL},
    {"create_task", "{'title':'t','task_id':'a/b'}", "invalid_argument"},
    {"create_task", "{'title':'t','task_id':'.'}", "invalid_argument"},
    {"create_task", "{'tasks':[{'title':'t','task_id':'..'}]}",
     "invalid_argument"},
    {"get_task", "{'task_id':'..'}", "not_found"},
    {"create_task", "{'title':'t','task_id':'../x'}",
     "invalid_argument"},
    {"create_task", "{'title':'t','task_id':'\\u00e4'}",
     "invalid_argument"},
    {"create_task", "{'title':'t','tags':'x'}", NULL},
    {"create_task", "{'title':'t','tags':{}}", "invalid_argument"},
    {"create_task", "{'title':'t','tags':5}", "invalid_argument"},
    {"create_task", "{'title':'t','tags':['']}", "invalid_argument"},
    {"create_task", "{'title':'t','tags':[{}]}", "invalid_argument"},
    {"create_task", "{'title':'t','status':'new'}", "invalid_argument"},
    {"create_task", "{'title':'t','parent_id':''}", NULL},
    {"create_task", "{'title':'t','title':'u'}", NULL},
    {"update_task", "{'task_id':'a','test_results':[{'command':'c',"
     "'exit_code':-1,'passed':true,'failed':0,'summary':'s'}]}", NULL},
    {"update_task", "{'task_id':'a','test_results':[{'exit_code':1}]}",
     "invalid_argument"},
    {"update_task", "{'task_id':'a','test_results':[{'command':'c',"
     "'more':1}]}", "invalid_argument"},
    {"update_task", "{'task_id':'a','test_results':['c']}",
     "invalid_argument"},
    {"update_task", "{'task_id':'a','agent':'','goal':'g'}",
     "invalid_argument"},
    {"update_task", "{'task_id':'a','dirty':'true'}", NULL},
    {"update_task", "{'task_id':'a','dirty':1}", "invalid_argument"},
    {"update_task", "{'task_id':'a','tags':[],'goal':''}", NULL},
    {"update_task", "{'task_id':'a','tags':null,'goal':null}",
     "invalid_argument"}, /* nothing to change */
    {"update_task", "{'task_id':'a','clear':['status']}", "invalid_argument"},
    {"update_task", "{'task_id':'a','clear':['colour']}", "invalid_argument"},
    {"update_task", "{'task_id':'a','clear':['goal'],'goal':'g'}",
     "invalid_argument"},
    {"update_task", "{'task_id':'a','clear':'goal'}", NULL},
    {"update_task", "{'task_id':'a','clear':'[\\'goal\\',\\'tags\\']'}",
     NULL},
    {"update_task", "{'task_id':'a','version':4}", "invalid_argument"},
    {"update_task", "{'task_id':'a','artifacts':[]}",
     "invalid_argument"},
    {"get_task", "{'task_id':'a','section':'all'}", "invalid_argument"},
    {"get_task", "{'task_id':'a','limit':'many'}", "invalid_argument"},
    {"get_task", "{'task_id':'a','section':'history','limit':200}", NULL},
    {"get_task", "{'task_id':'a','limit':200}", "invalid_argument"},
    {"claim_task", "{'task_id':'a','tag':'x'}", "invalid_argument"},
    {"attach_artifact", "{'task_id':'a','name':'n','path':'/x',"
     "'encoding':'utf-8'}", "invalid_argument"},
    {"get_task", "{'task_id':'a','cursor':'x'}", "invalid_argument"},
    {"get_task", "{'task_id':'a','cursor':'1.0.99999'}",
     "invalid_argument"},
    {"get_task", "{'task_id':'a','cursor':'2.0.0'}",
     "invalid_argument"},
    {"get_task", "{'task_id':'a','section':'history','cursor':'2'}",
     "invalid_argument"},
    {"get_task", "{'task_id':'a','section':'artifact'}",
     "invalid_argument"},
    {"get_task", "{'task_id':'a','section':'artifact','artifact_id':"
     "'a9'}", "not_found"},
    {"list_tasks", "{'limit':2.5}", "invalid_argument"},
    {"list_tasks", "{'limit':'100'}", NULL},
    {"list_tasks", "{'changed_since':'yesterday'}", "invalid_argument"},
    {"list_tasks", "{'changed_since':-1}", "invalid_argument"},
    {"attach_artifact", "{'task_id':'a','name':'n'}",
     "invalid_argument"},
    {"attach_artifact", "{'task_id':'a','name':'n','content':'x',"
     "'type':'exe'}", "invalid_argument"},
};

static void
test_kinds_of_values(void)
{
    struct fixture f;
    size_t i;

    fixture_init(&f);
    call(&f, "create_task", "{'task_id':'a','title':'A'}");
    call(&f, "create_task", "{'task_id':'other','title':'A'}");
    for (i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        call(&f, kinds[i].tool, kinds[i].args);
        if (kinds[i].code ? !CHECK(failed(&f, kinds[i].code))
                          : !CHECK(ok(&f)))
            fprintf(stderr, "  %s %s\n", kinds[i].tool, kinds[i].args);
    }
    call(&f, "get_task", "{'task_id':'7'}");
    CHECK(has(&f, "title", "1.50e2"));
    call_raw(&f, "list_tasks", STR_NONE);
    CHECK(ok(&f));
    call_raw(&f, "get_task", STR_NONE);
    CHECK(failed(&f, "invalid_argument"));
    fixture_fini(&f);
}

/* Whether a member of the answer is this JSON, with ' for its quotes. */
static bool
is_text(const struct fixture *f, const char *name, const char *want)
{
    const struct json_tok *t = json_get(f->json, name);
    char got[256];
    size_t n = t ? text_put(got, sizeof got, "%.*s", STR_ARG(json_raw(t))) : 0;

    for (size_t i = 0; i < n; i++)
        if (got[i] == '"')
            got[i] = '\'';
    if (n > 0 && strcmp(got, want) == 0)
        return true;
    fprintf(stderr, "wanted %s: %s: %.*s\n", name, want,
            STR_ARG(buf_view(&f->out)));
    return false;
}

/* What a task can be given, it can be rid of, but for what each task has. */
static void
test_every_field_can_be_cleared(void)
{
    struct fixture f;
    char args[96];
    int n = 0;

    fixture_init(&f);
    call(&f, "create_task", "{'task_id':'b','title':'B'}");
    call(&f, "create_task", "{'task_id':'c','title':'C'}");
    call(&f, "create_task", "{'task_id':'a','title':'A','goal':'g',"
         "'current_owner':'me','repo_path':'/src','parent_id':'b',"
         "'tags':['x'],'depends_on':['c'],'paths':['src'],"
         "'acceptance':['it works'],'not_before':'2030-01-01T00:00:00Z'}");
    call(&f, "update_task", "{'task_id':'a','agent':'me',"
         "'cancel_requested':{'reason':'r'},'resume_prompt':'p',"
         "'remaining_steps':['1'],'completed_steps':['2'],"
         "'decisions':['3'],'failed_approaches':['4'],'branch':'main',"
         "'commit':'c','dirty':true,'result':'r',"
         "'test_results':[{'command':'make'}]}");
    for (int i = 0; i < TASK_N_FIELDS; i++) {
        const struct row *r = &task_rows[i];

        if (!(r->tools & 1u << TOOL_UPDATE) || i == F_TASK_ID ||
            r->flags & FIXED)
            continue;
        call(&f, "get_task", "{'task_id':'a'}");
        n += json_get(f.json, r->name) != NULL;
        snprintf(args, sizeof args, "{'task_id':'a','agent':'me',"
                 "'clear':['%s']}", r->name);
        call(&f, "update_task", args);
        call(&f, "get_task", "{'task_id':'a'}");
        if (!CHECK(!json_get(f.json, r->name)))
            fprintf(stderr, "%s is not cleared\n", r->name);
    }
    CHECK(n == 20); /* it had all that this test knows */
    fixture_fini(&f);
}

/* What models and hosts send for lists, for what they leave unset, and for
   numbers that they do not know the range of. */
static void
test_as_it_is_meant(void)
{
    struct fixture f;

    fixture_init(&f);
    call(&f, "create_task", "{'task_id':'a','title':'A','goal':'g',"
         "'tags':'[\\'x\\', \\'y\\']','depends_on':'','acceptance':"
         "'[not JSON','priority':''}");
    call(&f, "get_task", "{'task_id':'a','since_seq':''}");
    CHECK(is_text(&f, "tags", "['x','y']"));
    CHECK(is_text(&f, "acceptance", "['[not JSON']"));
    CHECK(is_text(&f, "priority", "2"));
    call(&f, "save_checkpoint", "{'task_id':'a','expected_version':0,"
         "'from_agent':'me','test_results':"
         "'{\\'command\\':\\'make\\'}','remaining_steps':'one',"
         "'completed_steps':null}");
    call(&f, "get_task", "{'task_id':'a'}");
    CHECK(is_text(&f, "test_results", "[{'command':'make'}]"));
    CHECK(is_text(&f, "remaining_steps", "['one']"));
    CHECK(has(&f, "current_owner", "me"));
    call(&f, "update_task", "{'task_id':'a','agent':'me','tags':null,"
         "'goal':null,"
         "'remaining_steps':null,'priority':1}");
    call(&f, "get_task", "{'task_id':'a'}");
    CHECK(is_text(&f, "tags", "['x','y']") && is_text(&f, "goal", "'g'"));
    CHECK(is_text(&f, "remaining_steps", "['one']"));
    call(&f, "update_task", "{'task_id':'a','agent':'me','clear':['tags',"
         "'goal']}");
    call(&f, "get_task", "{'task_id':'a'}");
    CHECK(!json_get(f.json, "tags") && !json_get(f.json, "goal"));
    CHECK(is_text(&f, "remaining_steps", "['one']"));
    call(&f, "list_tasks", "{'limit':1000}");
    CHECK(is_text(&f, "warnings", "['limit was set to 100, the maximum']"));
    call(&f, "list_tasks", "{'limit':100}");
    CHECK(ok(&f) && !json_get(f.json, "warnings"));
    call(&f, "get_task", "{'task_id':'a','section':'history','limit':-1}");
    CHECK(is_text(&f, "warnings", "['limit was set to 1, the minimum']"));
    call(&f, "claim_task", "{'task_id':'a','agent':'me','lease_seconds':1}");
    CHECK(is_text(&f, "warnings",
                  "['lease_seconds was set to 5, the minimum']"));
    call(&f, "claim_task", "{'agent':'me','wait_seconds':-5}");
    CHECK(is_text(&f, "warnings",
                  "['wait_seconds was set to 0, the minimum']"));
    call(&f, "wait_for_task", "{'task_id':'a','until':'done',"
         "'timeout_seconds':-1}");
    CHECK(is_text(&f, "warnings",
                  "['wait_seconds was set to 0, the minimum']"));
    call(&f, "save_checkpoint", "{'task_id':'a','agent':'me',"
         "'from_agent':null}");
    CHECK(ok(&f));
    call(&f, "save_checkpoint", "{'task_id':'a','from_agent':null,"
         "'agent':'me'}");
    CHECK(ok(&f));
    call(&f, "save_checkpoint", "{'task_id':'a','from_agent':'me',"
         "'agent':'me'}");
    CHECK(ok(&f));
    call(&f, "save_checkpoint", "{'task_id':'a','from_agent':'you',"
         "'agent':'me'}");
    CHECK(failed(&f, "invalid_argument") && has(&f, "field", "agent"));
    call(&f, "list_tasks", "{'status':['open','in_progress']}");
    CHECK(number(&f, "total") == 1);
    call(&f, "list_tasks", "{'status':['open','done']}");
    CHECK(number(&f, "total") == 0);
    call(&f, "list_tasks", "{'status':'in_progress'}");
    CHECK(number(&f, "total") == 1);
    call(&f, "save_checkpoint", "{'task_id':'a','compleded_steps':['x']}");
    CHECK(failed(&f, "invalid_argument") &&
          has(&f, "next", "did you mean completed_steps?"));
    call(&f, "list_tasks", "{'colour':'red'}");
    CHECK(failed(&f, "invalid_argument") && str_starts(
        json_str(&f.a, json_get(f.json, "next")),
        "valid arguments are "));
    /* One that only our own hook sends is not named. */
    call(&f, "update_task", "{'task_id':'a','colour':'red'}");
    CHECK(failed(&f, "invalid_argument") && str_find(
        json_str(&f.a, json_get(f.json, "next")),
        STR("message, clear")) != SIZE_MAX);
    fixture_fini(&f);
}

/* ---- arguments ---- */

/* Calls tool with a name of up to 2 letters and 40 characters of 3 bytes. */
static void
call_with_name(struct fixture *f, const char *tool, const char *before,
               int letters, const char *behind)
{
    struct buf b = {0};

    buf_printf(&b, "%s%.*s", before, letters, "nn");
    put_times(&b, "\xe4\xb8\xad", 40);
    buf_put(&b, behind, strlen(behind) + 1);
    call(f, tool, b.p);
    buf_fini(&b);
}

/* A call with a task's id may also name its project, and no other. */
static void
test_project_beside_an_id(void)
{
    static const struct {
        const char *id, *path;
        bool agrees;
    } cases[] = {
        {"p", "/r", true}, {"p", "/r/", true}, {"p", "*", true},
        {"none", "/r", true}, {"p", "/other", false}, {"p", "/r/x", false},
    };
    static const char *const tools[][2] = {
        {"claim_task", ""}, {"wait_for_task", ",'until':'in_progress'"},
    };
    struct fixture f;
    char args[200];

    fixture_init(&f);
    call(&f, "create_task", "{'task_id':'p','title':'T','repo_path':'/r'}");
    call(&f, "create_task", "{'task_id':'none','title':'T'}");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t k = 0; k < 2; k++) {
            snprintf(args, sizeof args, "{'task_id':'%s','agent':'me',"
                     "'repo_path':'%s'%s}", cases[i].id, cases[i].path,
                     tools[k][1]);
            call(&f, tools[k][0], args);
            if (!CHECK(cases[i].agrees ? ok(&f)
                                       : failed(&f, "invalid_argument") &&
                                             has(&f, "field", "repo_path") &&
                                             has(&f, "message", "the task is "
                                                 "in another project, "
                                                 "\"/r\"")))
                fprintf(stderr, "  %s %s\n", tools[k][0], args);
        }
    call(&f, "get_task", "{'task_id':'p'}");
    CHECK(number(&f, "version") == 4); /* three claims */
    fixture_fini(&f);
}

/* A caller in a project: what it creates is of that one unless it says
   otherwise, and a checkpoint or handoff says where it worked. */
static void
test_project_of_a_caller(void)
{
    static const struct project here = {.root = "/srv/api",
                                        .tree = "/srv/api-2"};
    static const struct project bare = {.root = "/srv/api"};
    static const struct {
        const char *args, *path; /* NULL: none */
    } made[] = {
        {"", "'/srv/api'"}, {",'repo_path':null", "'/srv/api'"},
        {",'repo_path':''", NULL}, {",'repo_path':'/nowhere/'", "'/nowhere'"},
    };
    static const char *const refused[][2] = {
        {"create_task", "'title':'T',"}, {"update_task", "'task_id':'p',"},
        {"list_tasks", ""}, {"claim_task", "'agent':'me',"},
        {"wait_for_task", "'agent':'me','until':'work',"},
        {"create_task", "'tasks':[{'title':'T','repo_path':'.'}],"},
    };
    const struct json_tok *made_of;
    struct fixture f;
    char args[200];
    size_t i;

    fixture_init(&f);
    f.env.project = &here;
    for (i = 0; i < sizeof made / sizeof *made; i++) {
        snprintf(args, sizeof args, "{'task_id':'t%zu','title':'T'%s}", i,
                 made[i].args);
        call(&f, "create_task", args);
        CHECK(ok(&f));
        call(&f, "create_task", args); /* nothing is changed */
        CHECK(ok(&f) && number(&f, "version") == 1);
        snprintf(args, sizeof args, "{'task_id':'t%zu'}", i);
        call(&f, "get_task", args);
        CHECK(made[i].path ? is_text(&f, "repo_path", made[i].path)
                           : !json_get(f.json, "repo_path"));
    }
    call(&f, "create_task", "{'tasks':[{'task_id':'p','title':'T'},"
         "{'task_id':'q','title':'T','repo_path':''}]}");
    call(&f, "get_task", "{'task_id':'p'}");
    CHECK(is_text(&f, "repo_path", "'/srv/api'"));
    call(&f, "get_task", "{'task_id':'q'}");
    CHECK(!json_get(f.json, "repo_path"));

    call(&f, "save_checkpoint", "{'task_id':'p','agent':'me','notes':'n'}");
    call(&f, "get_task", "{'task_id':'p'}");
    made_of = json_get(f.json, "checkpoint");
    CHECK(json_is(json_get(made_of, "worktree"), "/srv/api-2"));
    call(&f, "handoff_task", "{'task_id':'p','from_agent':'me'}");
    call(&f, "get_task", "{'task_id':'p'}");
    made_of = json_get(f.json, "handoff");
    CHECK(json_is(json_get(made_of, "worktree"), "/srv/api-2"));
    f.env.project = &bare;
    call(&f, "handoff_task", "{'task_id':'q','from_agent':'me','branch':'b'}");
    call(&f, "get_task", "{'task_id':'q'}");
    CHECK(json_get(f.json, "checkpoint"));
    CHECK(str_find(buf_view(&f.out), STR("worktree")) == SIZE_MAX);
    f.env.project = NULL;
    for (i = 0; i < sizeof refused / sizeof *refused; i++) {
        bool whole = i < 5; /* it is an argument of the call itself */

        snprintf(args, sizeof args, "{%s%s}", refused[i][1],
                 whole ? "'repo_path':'.'" : "'agent':'me'");
        call(&f, refused[i][0], args);
        CHECK(has(&f, "code", "invalid_argument"));
        CHECK(str_find(buf_view(&f.out), STR("must be an absolute path")) !=
              SIZE_MAX);
    }
    call(&f, "create_task", "{'task_id':'h','title':'T','repo_path':'/a/'}");
    call(&f, "get_task", "{'task_id':'h'}");
    CHECK(is_text(&f, "repo_path", "'/a/'"));
    call(&f, "list_tasks", "{'repo_path':'/a'}");
    CHECK(number(&f, "total") == 1);
    call(&f, "list_tasks", "{'repo_path':'/a//'}");
    CHECK(number(&f, "total") == 1);
    call(&f, "list_tasks", "{'repo_path':'/b'}");
    CHECK(number(&f, "total") == 0);
    fixture_fini(&f);
}

/* The order of claims, and what is said of those that are left. */
static void
test_claims_of_a_project(void)
{
    static const struct project here = {.root = "/api"};
    static const char *const order[] = {"given", "urgent", "mine", "none"};
    struct fixture f;
    size_t i;

    fixture_init(&f);
    call(&f, "create_task", "{'task_id':'there','title':'T','priority':0,"
         "'repo_path':'/web'}");
    call(&f, "create_task", "{'task_id':'mine','title':'T','repo_path':"
         "'/api/'}");
    call(&f, "create_task", "{'task_id':'none','title':'T'}");
    call(&f, "create_task", "{'task_id':'urgent','title':'T','priority':0}");
    call(&f, "create_task", "{'task_id':'given','title':'T','priority':4,"
         "'repo_path':'/web'}");
    call(&f, "handoff_task", "{'task_id':'given','from_agent':'you',"
         "'to_agent':'me'}");
    call(&f, "create_task", "{'task_id':'waits','title':'T','repo_path':"
         "'/web','depends_on':['there']}");
    call(&f, "create_task", "{'task_id':'late','title':'T','repo_path':"
         "'/web/x','depends_on':[]}");
    f.env.project = &here;
    for (i = 0; i < sizeof order / sizeof *order; i++) {
        call(&f, "claim_task", "{'agent':'me'}");
        CHECK(has(&f, "task_id", order[i]));
    }
    call(&f, "claim_task", "{'agent':'me'}");
    CHECK(ok(&f) && json_get(f.json, "claimed")->type == JSON_FALSE);
    CHECK(str_find(buf_view(&f.out), STR("other projects")) != SIZE_MAX);
    CHECK(number(&f, "elsewhere") == 2);
    CHECK(is_text(&f, "elsewhere_in", "[{'repo_path':'/web/x','tasks':1},"
                  "{'repo_path':'/web','tasks':1}]"));
    call(&f, "wait_for_task", "{'agent':'me','until':'work',"
         "'timeout_seconds':0}");
    CHECK(json_get(f.json, "met")->type == JSON_FALSE);
    call(&f, "wait_for_task", "{'agent':'me','until':'work',"
         "'timeout_seconds':0,'repo_path':'/web/x/'}");
    CHECK(json_get(f.json, "met")->type == JSON_TRUE);
    call(&f, "wait_for_task", "{'agent':'me','until':'work',"
         "'timeout_seconds':0,'repo_path':'*'}");
    CHECK(json_is(json_get(json_get(f.json, "task"), "task_id"), "there"));
    /* By id there are no projects. */
    call(&f, "claim_task", "{'agent':'me','task_id':'there'}");
    CHECK(ok(&f));
    call(&f, "claim_task", "{'agent':'me','repo_path':'/web'}");
    CHECK(number(&f, "elsewhere") == 1 && number(&f, "blocked") == 1);
    call(&f, "claim_task", "{'agent':'me','repo_path':'*'}");
    CHECK(has(&f, "task_id", "late"));
    call(&f, "claim_task", "{'agent':'me'}");
    CHECK(!json_get(f.json, "elsewhere"));
    fixture_fini(&f);
}

static void
test_arguments_that_are_too_many(void)
{
    struct fixture f;
    struct buf b = {0};
    struct str s;
    int i;

    fixture_init(&f);
    call(&f, "create_task", "{'title':'t','x':1,'prio':2,'y\\u0001':{}}");
    CHECK(failed(&f, "invalid_argument") && has(&f, "field", "x"));
    CHECK(has(&f, "message",
              "unknown argument \"x\", \"prio\", \"y\001\""));
    buf_z(&b, "{'title':'t'");
    for (i = 0; i < 100; i++) {
        buf_printf(&b, ",'%d", i);
        put_times(&b, "n", 100);
        buf_z(&b, "':1");
    }
    buf_put(&b, "}", 2);
    call(&f, "create_task", b.p);
    CHECK(failed(&f, "invalid_argument"));
    s = json_str(&f.a, json_get(f.json, "message"));
    CHECK(s.len < 256 && memcmp(s.p + s.len - 5, ", ...", 5) == 0);
    CHECK(json_str(&f.a, json_get(f.json, "field")).len == 64);
    /* A long name is cut between two characters. */
    for (i = 0; i < 3; i++) {
        call_with_name(&f, "create_task", "{'title':'t','", i, "':1}");
        s = json_str(&f.a, json_get(f.json, "field"));
        CHECK((int)s.len == i + (64 - i) / 3 * 3);
        CHECK(s.len > 60 && memcmp(s.p + s.len - 3, "\xe4\xb8\xad", 3) == 0);
        call_with_name(&f, "update_task", "{'task_id':'a','answer':{'", i,
                       "':1}}");
        s = json_str(&f.a, json_get(f.json, "message"));
        CHECK(s.len > 60 && memcmp(s.p + s.len - 4, "\xe4\xb8\xad\"", 4) ==
                                0);
    }
    buf_fini(&b);
    /* Some lists are sets; the others keep duplicates. */
    call(&f, "create_task", "{'task_id':'d','title':'D'}");
    call(&f, "create_task", "{'task_id':'e','title':'E'}");
    call(&f, "create_task", "{'task_id':'a','title':'A','tags':['y','x',"
         "'y','\\u0079','x','z'],'depends_on':['e','e','d','e'],"
         "'acceptance':['c','c']}");
    CHECK(ok(&f));
    call(&f, "get_task", "{'task_id':'a'}");
    CHECK(str_is(json_raw(json_get(f.json, "tags")), "[\"y\",\"x\",\"z\"]"));
    CHECK(str_is(json_raw(json_get(f.json, "depends_on")),
                 "[\"e\",\"d\"]"));
    CHECK(json_get(f.json, "acceptance")->n == 2);
    call(&f, "update_task", "{'task_id':'a','tags':[],'depends_on':['d']}");
    call(&f, "get_task", "{'task_id':'a'}");
    CHECK(json_get(f.json, "tags")->n == 0);
    CHECK(str_is(json_raw(json_get(f.json, "depends_on")), "[\"d\"]"));
    fixture_fini(&f);
}

/* ---- errors of the store ---- */

static void
test_store_errors(void)
{
    static const struct {
        int err;
        const char *code;
        bool retryable;
    } cases[] = {
        {ERR_BUSY, "store_busy", true}, {ERR_FULL, "store_full", true},
        {ERR_IO, "store_error", false},
        {ERR_READONLY, "store_readonly", false},
        {ERR_DAMAGED, "store_error", false},
        {ERR_UNKNOWN, "store_error", false},
    };
    struct fixture f;
    size_t i;

    fixture_init(&f);
    call(&f, "create_task", "{'task_id':'a','title':'A'}");
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        store_refuse(f.s, cases[i].err);
        call(&f, "update_task", "{'task_id':'a','title':'B'}");
        CHECK(failed(&f, cases[i].code));
        CHECK(json_get(f.json, "retryable")->type ==
              (cases[i].retryable ? JSON_TRUE : JSON_FALSE));
        CHECK((json_get(f.json, "outcome") != NULL) ==
              (cases[i].err == ERR_UNKNOWN));
    }
    store_refuse(f.s, 0);
    call(&f, "get_task", "{'task_id':'a'}");
    CHECK(has(&f, "title", "A") && number(&f, "version") == 1);
    fixture_fini(&f);
}

/* ---- who calls ---- */

static void
test_principals(void)
{
    static const struct {
        const char *tool, *args;
        const char *field; /* named by the error; NULL: it is accepted */
    } cases[] = {
        {"create_task", "{'task_id':'a','title':'A','status':'in_progress'}",
         NULL},
        {"save_checkpoint", "{'task_id':'a'}", NULL},
        {"save_checkpoint", "{'task_id':'a','agent':'m\u00e9'}", NULL},
        {"save_checkpoint", "{'task_id':'a','agent':'you'}", "agent"},
        {"save_checkpoint", "{'task_id':'a','agent':'unknown'}", "agent"},
        {"update_task", "{'task_id':'a','agent':'you','goal':'g'}", "agent"},
        {"attach_artifact", "{'task_id':'a','agent':'you','name':'n',"
         "'content':'secret'}", "agent"},
        {"mark_exhausted", "{'task_id':'a','agent':'you'}", "agent"},
        {"handoff_task", "{'task_id':'a','from_agent':'you'}", "from_agent"},
        {"handoff_task", "{'task_id':'a','from_agent':'m\u00e9',"
         "'agent':'you'}", "agent"},
        {"handoff_task", "{'task_id':'a','to_agent':'you'}", NULL},
        {"update_task", "{'task_id':'a','current_owner':'other'}", NULL},
        {"mark_exhausted", "{'task_id':'a'}", NULL},
    };
    struct fixture f;
    size_t i;

    fixture_init(&f);
    f.principal = "m\xc3\xa9";
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        call(&f, cases[i].tool, cases[i].args);
        if (cases[i].field
            ? !CHECK(failed(&f, "unauthorized") &&
                     has(&f, "field", cases[i].field) &&
                     json_get(f.json, "next"))
            : !CHECK(ok(&f)))
            fprintf(stderr, "  %s %s\n", cases[i].tool, cases[i].args);
    }
    CHECK(count_files(f.artifacts) == 0);
    call(&f, "get_task", "{'task_id':'a'}");
    CHECK(has(&f, "created_by", "m\xc3\xa9"));
    CHECK(json_is(json_get(json_get(f.json, "exhausted"), "agent"),
                  "m\xc3\xa9"));
    f.principal = NULL;
    call(&f, "save_checkpoint", "{'task_id':'a'}");
    CHECK(ok(&f) && !json_get(f.json, "current_owner"));
    fixture_fini(&f);
}

static void
test_principal_that_may_only_read(void)
{
    struct fixture f;
    size_t i;

    fixture_init(&f);
    call(&f, "create_task", "{'task_id':'a','title':'A'}");
    f.read_only = true;
    f.principal = "me";
    for (i = 0; i < TASK_N_TOOLS; i++) {
        bool reads = i == TOOL_GET || i == TOOL_LIST || i == TOOL_WAIT;

        call(&f, names[i], i == TOOL_CREATE ? "{'title':'B'}"
             : i == TOOL_LIST ? "{}"
             : i == TOOL_ATTACH
             ? "{'task_id':'a','name':'n','content':'c'}"
             : i == TOOL_UPDATE ? "{'task_id':'a','goal':'g'}"
             : i == TOOL_ASK ? "{'task_id':'a','question':'q'}"
             : i == TOOL_WAIT ? "{'task_id':'a','timeout_seconds':0}"
             : "{'task_id':'a'}");
        if (reads ? !CHECK(ok(&f)) : !CHECK(failed(&f, "unauthorized")))
            fprintf(stderr, "  %s\n", names[i]);
    }
    CHECK(store_next_n(f.s) == 2 && count_files(f.artifacts) == 0);
    fixture_fini(&f);
}

/* ---- log messages ---- */

static void
test_changes_are_logged(void)
{
    static const struct {
        const char *tool, *args;
        int level; /* 0: no message */
        const char *op;
    } cases[] = {
        {"create_task", "{'task_id':'a','title':'A'}", 7, "create"},
        {"create_task", "{'task_id':'a','title':'A'}", 0, 0}, /* warns */
        {"create_task", "{'task_id':'a','title':'B'}", 0, 0},
        {"create_task", "{'task_id':'a b','title':'B'}", 0, 0},
        {"save_checkpoint", "{'task_id':'a','agent':'x',"
         "'idempotency_key':'k'}", 7, "checkpoint"},
        {"save_checkpoint", "{'task_id':'a','agent':'x',"
         "'idempotency_key':'k'}", 0, 0},
        {"update_task", "{'task_id':'a','agent':'x','current_owner':'w'}", 7,
         "update"},
        {"save_checkpoint", "{'task_id':'a','agent':'y'}", 4, "checkpoint"},
        {"attach_artifact", "{'task_id':'a','agent':'w','name':'n',"
         "'content':'c'}", 7, "attach"},
        {"attach_artifact", "{'task_id':'a','agent':'w','name':'n',"
         "'content':'c'}", 0, 0},
        {"update_task", "{'task_id':'a','agent':'x','status':'done'}", 4,
         "update"},
        {"get_task", "{'task_id':'a'}", 0, 0},
        {"list_tasks", "{}", 0, 0},
    };
    struct fixture f;
    size_t i;

    fixture_init(&f);
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct json_tok *said;
        int64_t version = 0, seq = 0;

        call(&f, cases[i].tool, cases[i].args);
        if (!CHECK(logs == (cases[i].level != 0)))
            fprintf(stderr, "  %s %s\n", cases[i].tool, cases[i].args);
        if (logs == 0)
            continue;
        CHECK(log_level == cases[i].level);
        if (!CHECK(json_parse(&f.a, str_of(log_text), &said, NULL) == 0))
            continue;
        CHECK(json_is(json_get(said, "task_id"), "a"));
        CHECK(json_is(json_get(said, "op"), cases[i].op));
        CHECK(json_int(json_get(said, "version"), &version));
        CHECK(json_int(json_get(said, "seq"), &seq));
        CHECK(version == number(&f, "version") && seq == number(&f, "seq"));
        CHECK((json_get(said, "warnings") != NULL) == (log_level == 4));
        CHECK(log_level == 7 ||
              str_eq(json_raw(json_get(said, "warnings")),
                     json_raw(json_get(f.json, "warnings"))));
    }
    store_refuse(f.s, ERR_FULL);
    call(&f, "update_task", "{'task_id':'a','status':'open','reason':'r'}");
    CHECK(failed(&f, "store_full") && logs == 0);
    store_refuse(f.s, 0);
    fixture_fini(&f);
}

/* ---- waits ---- */

/* Runs a round of wait_for_task for what came after event since, with the state
   of the round before. Returns what the tool returned. */
static int
wait_round(struct fixture *f, const char *args, unsigned round,
           uint64_t since)
{
    const struct mcp_catalogue *c = tools_catalogue(f->tools);
    struct mcp_call call = {.ctx = c->ctx, .arena = &f->a, .out = &f->out,
                            .rev = MCP_2025_11_25, .round = round,
                            .since = since, .number = TOOL_WAIT};
    size_t i = TOOL_WAIT;

    arena_reset(&f->a);
    buf_reset(&f->out, f->out.cap);
    call.state = arena_str(&f->a, str_of(state));
    CHECK(json_parse(&f->a, quoted(&f->a, args), &call.args, NULL) == 0);
    return c->tools[i].run(&call);
}

/* Ends the task and reopens it. Returns the number of the event of its end. */
static uint64_t
end_and_reopen(struct fixture *f)
{
    uint64_t n;

    call(f, "update_task", "{'task_id':'a','agent':'b','status':'done'}");
    CHECK(ok(f));
    n = (uint64_t)number(f, "seq");
    call(f, "update_task", "{'task_id':'a','status':'in_progress',"
         "'reason':'more'}");
    CHECK(ok(f));
    return n;
}

/* No round reads what an earlier one has looked at, and what comes between two
   rounds is found by the second. */
static void
test_rounds_of_a_wait(void)
{
    static const char until_end[] = "{'task_id':'a','until':'terminal'}";
    static const char from_1[] =
        "{'task_id':'a','until':'terminal','since_seq':1}";
    struct fixture f;
    char want[32];
    uint64_t n, seen;
    int i;

    fixture_init(&f);
    call(&f, "create_task", "{'task_id':'a','title':'A'}");
    state[0] = '\0';
    CHECK(wait_round(&f, until_end, 0, 1) == MCP_RUN_WAITS);
    for (i = 0; i < 9; i++)
        call(&f, "save_checkpoint", "{'task_id':'a','agent':'b'}");
    CHECK(wait_round(&f, until_end, 1, 1) == MCP_RUN_WAITS);
    seen = store_next_n(f.s) - 1;
    n = end_and_reopen(&f);
    CHECK(wait_round(&f, until_end, 2, seen) == 0);
    snprintf(want, sizeof want, "\"met\":true,\"seq\":%llu,",
             (unsigned long long)n);
    buf_char(&f.out, '\0');
    CHECK(strstr(f.out.p, want) != NULL);
    /* As if the round before had come that far. */
    seen = store_next_n(f.s) - 1;
    CHECK(wait_round(&f, until_end, 3, seen) == MCP_RUN_WAITS);
    CHECK(wait_round(&f, from_1, 3, seen) == MCP_RUN_WAITS);
    /* A deferred call has no deadline. */
    state[0] = '\0';
    CHECK(wait_round(&f, from_1, 0, n + 1) == 0);
    deferring = true;
    CHECK(wait_round(&f, from_1, 1, n + 1) == MCP_RUN_WAITS);
    CHECK(state[0] == '\0');
    CHECK(wait_round(&f, from_1, 1, n - 1) == 0);
    deferring = false;
    fixture_fini(&f);
}

int
main(void)
{
    test_schemas_are_what_is_enforced();
    test_list_in_both_eras();
    test_read_only();
    test_limits_at_their_edge();
    test_kinds_of_values();
    test_every_field_can_be_cleared();
    test_as_it_is_meant();
    test_principals();
    test_principal_that_may_only_read();
    test_changes_are_logged();
    test_project_beside_an_id();
    test_project_of_a_caller();
    test_claims_of_a_project();
    test_arguments_that_are_too_many();
    test_store_errors();
    test_rounds_of_a_wait();
    return test_end("tools");
}
