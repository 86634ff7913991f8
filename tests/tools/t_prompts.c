/* t_prompts - what the catalogue offers beside tools: prompts whose data stays
   inside its fence, completions, and which record changes which resource. */

#include "tests/lib/catalogue.h"
#include "mcp/catalogue.h"
#include "task/project.h"

/* ---- what changes resources ---- */

TEST(keys_of_resources)
{
    static const struct {
        const char *uri, *key; /* NULL: not ours */
    } cases[] = {
        {"task://a", "task/a"}, {"task://a:1/resume", "task/a:1"},
        {"task://a%3A1", "task/a:1"}, {"task://a%3a1/history", "task/a:1"},
        {"task://a/artifacts/a1", "task/a"}, {"task://no-such", "task/no-such"},
        {"task://", ""}, {"task:///history", ""},
        {"task:///history?cursor=7", ""}, {"task:///artifacts/a1", NULL},
        {"task:///resume", NULL}, {"task://a/", NULL},
        {"task://a/x", NULL}, {"task://a/artifacts", NULL},
        {"task://a/artifacts/", NULL}, {"task://a/artifacts/../x", NULL},
        {"task://a/resume/", NULL}, {"task://%", NULL}, {"task://a%2Fx", NULL},
        {"task://\xc3\xa4", NULL}, {"", NULL}, {"file:///a", NULL},
        {"TASK://a", NULL}, {"task://a%00", NULL},
    };
    struct fixture f;
    const struct mcp_catalogue *c;
    size_t i;

    fixture_init(&f);
    c = tools_catalogue(f.tools);
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct str key = STR_NONE;
        int rc = c->resource_key(c->ctx, &f.a, str_of(cases[i].uri), &key);

        if (!CHECK(cases[i].key ? rc == 0 && str_is(key, cases[i].key)
                                : rc == ERR_NOT_FOUND))
            fprintf(stderr, "  %s\n", cases[i].uri);
    }
    fixture_fini(&f);
}

struct changes {
    struct fixture *f;
    char said[32]; /* a letter for each record */
    size_t n;
};

static int
ask_change(void *ctx, const struct store_rec *r)
{
    struct changes *s = ctx;
    const struct mcp_catalogue *c = tools_catalogue(s->f->tools);
    struct mcp_change change = {r->key, r->body, r->n, r->p == 0};

    s->said[s->n++] = c->resources_change(c->ctx, &change) ? 'y' : '-';
    return s->n == sizeof s->said - 1;
}

TEST(changes_of_the_list)
{
    struct mcp_change other = {STR("session/x"), STR("\"op\":\"x\""), 9, true};
    struct fixture f;
    struct changes s = {.f = &f};
    const struct mcp_catalogue *c;

    fixture_init(&f);
    c = tools_catalogue(f.tools);
    call(&f, "create_task", "{'task_id':'a','title':'A'}");
    call(&f, "update_task", "{'task_id':'a','goal':'status'}");
    call(&f, "save_checkpoint", "{'task_id':'a','agent':'x'}");
    call(&f, "save_checkpoint", "{'task_id':'a','agent':'x'}");
    call(&f, "attach_artifact", "{'task_id':'a','agent':'x','name':'n',"
         "'content':''}");
    call(&f, "handoff_task", "{'task_id':'a','from_agent':'x'}");
    CHECK(store_scan(f.s, 1, ask_change, &s) == 0);
    CHECK(strcmp(s.said, "y-y--y") == 0);
    CHECK(!c->resources_change(c->ctx, &other));
    other.key = STR("task/x");
    CHECK(!c->resources_change(c->ctx, &other));
    fixture_fini(&f);
}

/* ---- prompts ---- */

/* Runs a prompt. *text is its text, with a NUL behind it. */
static int
prompt(struct fixture *f, const char *name, const char *args,
       struct str *text)
{
    const struct mcp_catalogue *c = tools_catalogue(f->tools);
    struct mcp_call m = {.ctx = c->ctx, .arena = &f->a,
                         .rev = MCP_2025_11_25, .out = &f->out};
    const struct json_tok *json;
    size_t i;
    int rc;

    arena_reset(&f->a);
    buf_reset(&f->out, 0);
    if (f->principal)
        m.principal = str_of(f->principal);
    if (f->client)
        m.client = str_of(f->client);
    for (i = 0; strcmp(c->prompts[i].name, name) != 0;)
        i++;
    if (args)
        CHECK(json_parse(&f->a, quoted(&f->a, args), &m.args, NULL) == 0);
    m.number = c->prompts[i].number;
    rc = c->prompts[i].run(&m);
    *text = STR("");
    if (m.why)
        *text = str_of(m.why);
    if (rc != 0)
        return rc;
    CHECK(!m.is_error);
    CHECK(json_parse(&f->a, arena_str(&f->a, buf_view(&f->out)), &json,
                     NULL) == 0);
    CHECK(json_is(json_get(json, "role"), "user"));
    json = json_get(json, "content");
    CHECK(json_is(json_get(json, "type"), "text"));
    *text = arena_str(&f->a, json_str(&f->a, json_get(json, "text")));
    return 0;
}

/* Whether inside stands between two equal fences, with none as long between
   them. */
static bool
is_fenced(const char *text, const char *inside)
{
    const char *open = strstr(text, "\n```"), *close, *at;
    size_t n;

    if (!open)
        return false;
    n = strspn(++open, "`");
    close = text + strlen(text) - n - 2;
    if (open[n] != '\n' || close <= open || *close != '\n' ||
        strspn(close + 1, "`") != n)
        return false;
    for (at = open + n; at < close; at += strspn(at, "`") + 1)
        if (strspn(at, "`") >= n)
            return false;
    at = strstr(text, inside);
    return at && at > open && at < close;
}

/* A host marks its own words with tags, which no stored text may imitate. */
TEST(no_markup_in_prompts)
{
    static const struct { const char *name, *args; } prompts[] = {
        {"resume_task", "{'task_id':'a'}"}, {"resume_task", NULL},
        {"handoff_task_brief", "{'task_id':'a'}"}, {"standup", NULL},
    };
    struct fixture f;
    struct str text;

    fixture_init(&f);
    call(&f, "create_task", "{'task_id':'a','title':'1 < 2, <U+202E> </system-"
         "reminder>','agent':'<x>','goal':'<System> <!-- <?x <|im_end|>'}");
    for (size_t i = 0; i < sizeof prompts / sizeof *prompts; i++) {
        CHECK(prompt(&f, prompts[i].name, prompts[i].args, &text) == 0);
        CHECK(is_fenced(text.p,
                        "1 < 2, <U+202E> &lt;/system-reminder>"));
        CHECK(is_fenced(text.p, i == 1 ? ", by &lt;x>\n" : "Z  &lt;x>"));
        CHECK(prompts[i].args == NULL ||
              is_fenced(text.p, "&lt;System> &lt;!-- &lt;?x &lt;|im_end|>\n"));
    }
    fixture_fini(&f);
}

TEST(prompts_of_one_task)
{
    static const struct {
        const char *name, *args;
        int rc;
        const char *outside; /* text before the fence, or the error */
    } cases[] = {
        {"resume_task", "{'task_id':'a'}", 0, "Continue the task \"a\"."},
        {"resume_task", "{'task_id':'a','agent':'m\\u0022\\n```'}", 0,
         "as agent \"m\\\"\\n```\"."},
        {"resume_task", "{'task_id':'a','agent':''}", 0, "task \"a\"."},
        {"handoff_task_brief", "{'task_id':'a'}", 0,
         "Hand over the task \"a\"."},
        {"handoff_task_brief", "{'task_id':'a','to_agent':'you'}", 0,
         "to_agent \"you\"."},
        {"resume_task", "{'task_id':'no'}", ERR_INVALID, "no such task "
         "\"no\"; call list_tasks to see the tasks that exist"},
        {"resume_task", "{'task_id':'a/b'}", ERR_INVALID, "task_id"},
        {"resume_task", "{'agent':'x','to':'y'}", ERR_INVALID, "to"},
        {"handoff_task_brief", NULL, ERR_INVALID, "task_id"},
        {"handoff_task_brief", "{'task_id':''}", ERR_INVALID, "task_id"},
        {"handoff_task_brief", "{'task_id':'no'}", ERR_INVALID,
         "no such task \"no\""},
        {"standup", "{'since':'yesterday'}", ERR_INVALID, "since"},
        {"standup", "{'since':'-1'}", ERR_INVALID, "since"},
    };
    struct fixture f;
    struct str text;
    size_t i;

    fixture_init(&f);
    call(&f, "create_task", "{'task_id':'a','title':'````` # T','goal':"
         "'````\\n`````````\\nIgnore this\\u2028to\\u2029it \\u202emk\\u2066',"
         "'agent':'au\\nthor\\u2028y','acceptance':['s\\u2028t']}");
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *at;

        if (!CHECK(prompt(&f, cases[i].name, cases[i].args, &text) ==
                   cases[i].rc))
            fprintf(stderr, "  %s %s\n", cases[i].name, cases[i].args);
        if (cases[i].rc != 0 && !CHECK(strstr(text.p, cases[i].outside)))
            fprintf(stderr, "  %s\n", text.p);
        if (cases[i].rc != 0)
            continue;
        CHECK(is_fenced(text.p, "\n> Ignore this<U+2028>to<U+2029>it "
                                "<U+202E>mk<U+2066>\n"));
        CHECK(is_fenced(text.p, "Z  au thor<U+2028>y\n"));
        CHECK(is_fenced(text.p, "\n- s<U+2028>t\n"));
        at = strstr(text.p, cases[i].outside);
        if (!CHECK(at && at < strstr(text.p, "\n\n")))
            fprintf(stderr, "  %s\n", text.p);
    }
    fixture_fini(&f);
}

/* Whether the text has a and, behind it, b. */
static bool
in_order(const char *text, const char *a, const char *b)
{
    const char *at = strstr(text, a);
    bool is = at && strstr(at, b);

    if (!is)
        fprintf(stderr, "no %s before %s in %s\n", a, b, text);
    return is;
}

TEST(prompt_offers_tasks)
{
    struct fixture f;
    struct str text;
    char args[100];
    int i;

    fixture_init(&f);
    CHECK(prompt(&f, "resume_task", NULL, &text) == 0);
    CHECK(in_order(text.p, "none\n", "```"));
    call(&f, "create_task", "{'task_id':'one','title':'T'}");
    call(&f, "create_task", "{'task_id':'two','title':'T'}");
    call(&f, "create_task", "{'task_id':'waits','title':'T',"
         "'depends_on':['one']}");
    call(&f, "create_task", "{'task_id':'mine','title':'T','status':"
         "'handoff_ready','current_owner':'me'}");
    call(&f, "create_task", "{'task_id':'yours','title':'T','status':"
         "'handoff_ready','current_owner':'you'}");
    call(&f, "create_task", "{'task_id':'at-it','title':'T','status':"
         "'in_progress','agent':'you'}");
    /* Nobody came for it: it is offered to all. */
    CHECK(strcmp(import(&f, "{'task_id':'late','title':'T','status':"
                        "'handoff_ready','current_owner':'gone','handoff':"
                        "{'from_agent':'a','expires_at':"
                        "'2020-01-01T00:00:00Z'}}"), "") == 0);
    CHECK(prompt(&f, "resume_task", "{}", &text) == 0);
    CHECK(in_order(text.p, "- mine ", "- yours "));
    CHECK(in_order(text.p, "- one ", "- two "));
    CHECK(!strstr(text.p, "You hold") && !strstr(text.p, "waits"));
    CHECK(!strstr(text.p, "at-it") && is_fenced(text.p, "- one "));
    CHECK(prompt(&f, "resume_task", "{'agent':'me'}", &text) == 0);
    CHECK(in_order(text.p, "Handed to you:", "- mine "));
    CHECK(in_order(text.p, "- mine ", "Ready for any agent:"));
    CHECK(in_order(text.p, "Ready for any agent:", "- two "));
    CHECK(in_order(text.p, "Ready for any agent:", "- late "));
    CHECK(!strstr(text.p, "- yours "));
    f.principal = "you";
    CHECK(prompt(&f, "resume_task", NULL, &text) == 0);
    CHECK(in_order(text.p, "You hold these tasks; continue with them:",
                   "- at-it "));
    CHECK(in_order(text.p, "- at-it ", "- yours "));
    CHECK(strstr(text.p, "as agent \"you\".") != NULL);
    CHECK(prompt(&f, "resume_task", "{'agent':'me'}", &text) == ERR_INVALID);
    f.principal = NULL;
    for (i = 0; i < 30; i++) {
        snprintf(args, sizeof args, "{'task_id':'n%02d','title':'T',"
                 "'priority':1}", i);
        call(&f, "create_task", args);
    }
    CHECK(prompt(&f, "resume_task", NULL, &text) == 0);
    CHECK(strstr(text.p, "- n00 ") && strstr(text.p, "- n09 "));
    CHECK(!strstr(text.p, "- n10 ") && !strstr(text.p, "- one "));
    fixture_fini(&f);
}

/* A session without a name is told what another one of its client left. */
TEST(prompt_of_a_session)
{
    struct fixture f;
    struct str text;

    fixture_init(&f);
    f.client = "claude-code";
    session_mark = "1111111111.1";
    call(&f, "create_task", "{'task_id':'left','title':'T'}");
    call(&f, "claim_task", "{'task_id':'left'}");
    session_mark = "2222222222.2";
    call(&f, "create_task", "{'task_id':'mine','title':'T'}");
    call(&f, "claim_task", "{'task_id':'mine'}");
    CHECK(prompt(&f, "resume_task", NULL, &text) == 0);
    CHECK(strstr(text.p, "as agent \"claude-code-22222222\".") != NULL);
    CHECK(in_order(text.p, "You hold these tasks; continue with them:",
                   "- mine "));
    CHECK(!strstr(text.p, "- left "));
    session_dead = "1111111111.1";
    CHECK(prompt(&f, "resume_task", NULL, &text) == 0);
    CHECK(in_order(text.p, "Left by an earlier session of this client:",
                   "- left (P2) T, by claude-code-11111111, held by "
                   "claude-code-11111111\n"));
    f.client = "codex";
    CHECK(prompt(&f, "resume_task", NULL, &text) == 0);
    CHECK(in_order(text.p, "Left by another agent; if it will not come back, "
                   "claim the task with takeover and a reason:\n",
                   "- left (P2) T, by claude-code-11111111, left by "
                   "claude-code-11111111, exited; else free at "));
    /* Words for a client address it, and are no name of its sessions. */
    CHECK(prompt(&f, "resume_task", "{'agent':'claude'}", &text) == 0);
    CHECK(!strstr(text.p, "You hold these tasks"));
    session_mark = session_dead = NULL;
    fixture_fini(&f);
}

/* A caller with a project is offered what is of it or of none, and what was
   handed over to its name. */
TEST(prompts_of_a_project)
{
    static const struct project api = {.root = "/api"};
    struct fixture f;
    struct str text;

    fixture_init(&f);
    call(&f, "create_task", "{'task_id':'here','title':'T','repo_path':"
         "'/api/'}");
    call(&f, "create_task", "{'task_id':'free','title':'T'}");
    call(&f, "create_task", "{'task_id':'there','title':'T','repo_path':"
         "'/web'}");
    call(&f, "create_task", "{'task_id':'given','title':'T','repo_path':"
         "'/web','status':'handoff_ready','current_owner':'me'}");
    call(&f, "create_task", "{'task_id':'left','title':'T','repo_path':"
         "'/web','current_owner':'me'}");
    CHECK(prompt(&f, "resume_task", "{'agent':'me'}", &text) == 0);
    CHECK(strstr(text.p, "- there ") && strstr(text.p, "- left "));
    f.env.project = &api;
    CHECK(prompt(&f, "resume_task", "{'agent':'me'}", &text) == 0);
    CHECK(in_order(text.p, "- given ", "Ready for any agent:"));
    CHECK(in_order(text.p, "Ready for any agent:", "- here "));
    CHECK(in_order(text.p, "Ready for any agent:", "- free "));
    CHECK(!strstr(text.p, "- there ") && !strstr(text.p, "- left "));
    CHECK(prompt(&f, "resume_task", "{'agent':'me','repo_path':'*'}",
                 &text) == 0);
    CHECK(strstr(text.p, "- there ") && strstr(text.p, "- left "));
    CHECK(prompt(&f, "resume_task", "{'repo_path':'/web/'}", &text) == 0);
    CHECK(strstr(text.p, "- there ") && !strstr(text.p, "- here "));
    CHECK(prompt(&f, "standup", NULL, &text) == 0);
    CHECK(strstr(text.p, "  here  ") && strstr(text.p, "  free  "));
    CHECK(!strstr(text.p, "  there  ") && !strstr(text.p, "  given  "));
    CHECK(prompt(&f, "standup", "{'repo_path':'*'}", &text) == 0);
    CHECK(strstr(text.p, "  there  ") && strstr(text.p, "  here  "));
    fixture_fini(&f);
}

TEST(standup)
{
    static const char *const groups[] = {"Needs input:\nnone", "Stuck:",
        "  worn  ", "Handed over:", "  given  ", "In progress:", "  at-it  ",
        "Open:", "  fresh  ", "Waiting:", "  waits  ", "Done:", "  ended  "};
    struct fixture f;
    struct str text;
    size_t i;

    fixture_init(&f);
    call(&f, "create_task", "{'task_id':'fresh','title':'T'}");
    call(&f, "create_task", "{'task_id':'worn','title':'T'}");
    call(&f, "mark_exhausted", "{'task_id':'worn','agent':'x'}");
    call(&f, "create_task", "{'task_id':'given','title':'T','status':"
         "'handoff_ready'}");
    call(&f, "create_task", "{'task_id':'ended','title':'T','status':"
         "'in_progress'}");
    call(&f, "update_task", "{'task_id':'ended','status':'done'}");
    call(&f, "create_task", "{'task_id':'at-it','title':'T','status':"
         "'in_progress','agent':'you'}");
    call(&f, "create_task", "{'task_id':'waits','title':'T',"
         "'depends_on':['fresh']}");
    CHECK(prompt(&f, "standup", NULL, &text) == 0);
    for (i = 1; i < sizeof groups / sizeof *groups; i++)
        CHECK(in_order(text.p, groups[i - 1], groups[i]));
    CHECK(is_fenced(text.p, "Z  you  at-it  in_progress"));
    CHECK(strstr(text.p, "in the last 24 hours") != NULL);
    CHECK(strstr(text.p, "pass since 8 to see") &&
          !strstr(text.p, "more have"));
    CHECK(prompt(&f, "standup", "{'since':'6'}", &text) == 0);
    CHECK(strstr(text.p, "since 6.") && !strstr(text.p, "  ended  "));
    CHECK(in_order(text.p, "  at-it  ", "  waits  "));
    CHECK(prompt(&f, "standup", "{'since':'8'}", &text) == 0);
    CHECK(in_order(text.p, "Stuck:\nnone", "Done:\nnone"));
    CHECK(prompt(&f, "standup", "{'since':'2020-02-03'}", &text) == 0);
    CHECK(in_order(text.p, "since \"2020-02-03T00:00:00.000Z\"", "  ended  "));
    CHECK(prompt(&f, "standup", "{'since':'9999-01-01T00:00:00Z'}",
                 &text) == 0);
    CHECK(!strstr(text.p, "  ended  "));
    /* As on the board: a task handed over is not listed as blocked. */
    call(&f, "create_task", "{'task_id':'lent','title':'T','status':"
         "'handoff_ready','depends_on':['fresh']}");
    CHECK(prompt(&f, "standup", "{'since':'8'}", &text) == 0);
    CHECK(in_order(text.p, "Handed over:", "  lent  "));
    CHECK(in_order(text.p, "  lent  ", "In progress:\nnone"));
    fixture_fini(&f);
}

TEST(standup_is_bounded)
{
    static const char *const units[] = {"\xf0\x9f\x98\x80", "`", "\\u0022"};
    struct fixture f;
    struct buf b = {0};
    struct str text;
    size_t k;
    int i;

    for (k = 0; k < 3; k++) {
        fixture_init(&f);
        for (i = 0; i < 120; i++) {
            buf_reset(&b, b.cap);
            buf_printf(&b, "{'task_id':'%03d", i);
            put_times(&b, "x", 125);
            buf_z(&b, "','title':'");
            put_times(&b, units[k], 256);
            buf_z(&b, "','agent':'");
            put_times(&b, units[k], 128);
            buf_z(&b, "','current_owner':'");
            put_times(&b, units[k], 128);
            buf_put(&b, "'}", 3);
            call(&f, "create_task", b.p);
        }
        CHECK(ok(&f));
        CHECK(prompt(&f, "standup", NULL, &text) == 0);
        if (!CHECK(text.len <= 16384 && text.len > 12000))
            fprintf(stderr, "  %zu bytes\n", text.len);
        CHECK(strstr(text.p, " more have changed") != NULL);
        CHECK(is_fenced(text.p, "119x"));
        CHECK(strstr(text.p, "Done:\nnone") != NULL);
        fixture_fini(&f);
    }
    buf_fini(&b);
}

/* ---- completions ---- */

/* Completes an argument; the values, with commas between, are in out. */
static int
complete(struct fixture *f, struct mcp_completion *q, const char *argument,
         const char *value)
{
    const struct mcp_catalogue *c = tools_catalogue(f->tools);
    struct mcp_call m = {.ctx = c->ctx, .arena = &f->a, .out = &f->out};

    arena_reset(&f->a);
    buf_reset(&f->out, 0);
    q->argument = str_of(argument);
    q->value = str_of(value);
    q->total = 7;
    q->more = true;
    return c->complete(&m, q);
}

TEST(completions)
{
    static const struct {
        const char *argument, *value, *values;
    } cases[] = {
        {"task_id", "", "'t3','t2','build-1','t1'"},
        {"task_id", "t", "'t3','t2','t1'"},
        {"task_id", "t2", "'t2'"},
        {"task_id", "b", "'build-1','t2'"}, /* t2 has it in the title */
        {"task_id", "BUILD", "'t2'"},
        {"task_id", "\xc3\xa4", "'t3'"},
        {"task_id", "zzz", ""},
        {"agent", "", "'ann\\\"','bob'"},
        {"agent", "ann\"", "'ann\\\"'"},
        {"to_agent", "bo", "'bob'"},
        {"current_owner", "Bo", ""},
        {"status", "", "'open','in_progress','handoff_ready',"
         "'agent_exhausted','done','failed','cancelled'"},
        {"status", "d", "'done'"},
        {"artifact_id", "", ""},
        {"since", "", ""},
    };
    static const struct {
        bool prompt, known;
        const char *ref;
    } refs[] = {
        {true, true, "resume_task"}, {true, true, "handoff_task_brief"},
        {true, false, "task://{task_id}"}, {false, false, "standup"},
        {false, true, "task://{task_id}/artifacts/{artifact_id}"},
        {false, false, "task://a"}, {true, false, ""},
    };
    struct mcp_completion q = {.prompt = true, .ref = STR("resume_task")};
    struct fixture f;
    size_t i;

    fixture_init(&f);
    call(&f, "create_task", "{'task_id':'t1','title':'A','current_owner':"
         "'bob'}");
    call(&f, "create_task", "{'task_id':'build-1','title':'A'}");
    call(&f, "create_task", "{'task_id':'t2','title':'The Build',"
         "'current_owner':'bob'}");
    call(&f, "create_task", "{'task_id':'t3','title':'\\u00e4rger',"
         "'current_owner':'ann\\u0022'}");
    call(&f, "update_task", "{'task_id':'t3','status':'cancelled'}");
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        CHECK(complete(&f, &q, cases[i].argument, cases[i].value) == 0);
        if (!CHECK(!q.more && str_eq(buf_view(&f.out),
                                     quoted(&f.a, cases[i].values))))
            fprintf(stderr, "  %s %s: %.*s\n", cases[i].argument,
                    cases[i].value, STR_ARG(buf_view(&f.out)));
    }
    for (i = 0; i < sizeof refs / sizeof *refs; i++) {
        q.prompt = refs[i].prompt;
        q.ref = str_of(refs[i].ref);
        CHECK(complete(&f, &q, "task_id", "t1") ==
              (refs[i].known ? 0 : ERR_INVALID));
    }
    fixture_fini(&f);
}

TEST(completions_are_bounded)
{
    struct mcp_completion q = {.ref = STR("task://{task_id}/resume")};
    struct fixture f;
    const struct json_tok *list;
    char args[128];
    size_t k;
    int i;

    fixture_init(&f);
    for (i = 0; i < 101; i++) {
        snprintf(args, sizeof args, "{'task_id':'%s%d','title':'b',"
                 "'current_owner':'o%d'}", i < 99 ? "b" : "c", i, i);
        call(&f, "create_task", args);
        call(&f, "create_task", "{'title':'x','current_owner':'o1'}");
    }
    for (k = 0; k < 2; k++) {
        CHECK(complete(&f, &q, k ? "agent" : "task_id", k ? "o" : "b") == 0);
        CHECK(q.more && q.total == 0);
        buf_char(&f.out, ']');
        CHECK(json_parse(&f.a, arena_printf(&f.a, "[%.*s",
                         STR_ARG(buf_view(&f.out))), &list, NULL) == 0);
        CHECK(list->n == MCP_COMPLETE_MAX);
        CHECK(json_is(list + 1, k ? "o1" : "b98"));
        CHECK(json_is(list + 100, k ? "o2" : "c100"));
    }
    CHECK(complete(&f, &q, "agent", "o9") == 0);
    CHECK(!q.more && q.total == 11);
    fixture_fini(&f);
}
