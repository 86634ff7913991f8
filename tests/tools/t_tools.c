/* t_tools - the tools as a client sees them: schemas and what is enforced,
   limits at their edge, answers in pieces, artifacts, resources, principals,
   log messages, errors. */

#include "task/artifact.h"
#include "base/file.h"
#include "tests/lib/catalogue.h"
#include "mcp/mcp.h"
#include "task/fields.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

/* ---- faults ---- */

/* WRITE is that into an empty file, which is a content's; PWRITE any other. */
enum fault { FAULT_NONE, FAULT_WRITE, FAULT_FSYNC, FAULT_RENAME,
             FAULT_PWRITE };

static enum fault fault; /* the call that fails, then none */
static int fault_after;  /* after so many that do not */

ssize_t __real_pwrite(int fd, const void *p, size_t n, off_t off);
ssize_t __real_pwrite64(int fd, const void *p, size_t n, off_t off);
#ifndef __GLIBC__
#pragma weak __real_pwrite64
#endif
ssize_t __wrap_pwrite(int fd, const void *p, size_t n, off_t off);
ssize_t __wrap_pwrite64(int fd, const void *p, size_t n, off_t off);
int __real_fsync(int fd);
int __wrap_fsync(int fd);
int __real_renameat(int a, const char *from, int b, const char *to);
int __wrap_renameat(int a, const char *from, int b, const char *to);

static bool
fails(enum fault f, int error)
{
    if (fault != f || fault_after-- > 0)
        return false;
    fault = FAULT_NONE;
    errno = error;
    return true;
}

static bool
pwrite_fails(int fd)
{
    struct stat st;
    bool new = fstat(fd, &st) == 0 && st.st_size == 0;

    return fails(new ? FAULT_WRITE : FAULT_PWRITE, ENOSPC);
}

ssize_t
__wrap_pwrite(int fd, const void *p, size_t n, off_t off)
{
    return pwrite_fails(fd) ? -1 : __real_pwrite(fd, p, n, off);
}

/* Where off_t has 64 bits by another name; there alone it is called. */
ssize_t
__wrap_pwrite64(int fd, const void *p, size_t n, off_t off)
{
    return pwrite_fails(fd) ? -1 : __real_pwrite64(fd, p, n, off);
}

static ino_t synced[64]; /* what fsync was called with */
static size_t n_synced;

int
__wrap_fsync(int fd)
{
    struct stat st;

    if (n_synced < 64 && fstat(fd, &st) == 0)
        synced[n_synced++] = st.st_ino;
    return fails(FAULT_FSYNC, EIO) ? -1 : __real_fsync(fd);
}

int
__wrap_renameat(int a, const char *from, int b, const char *to)
{
    return fails(FAULT_RENAME, EROFS) ? -1
                                      : __real_renameat(a, from, b, to);
}

static int
count_files(const char *dir)
{
    DIR *d = opendir(dir);
    struct dirent *e;
    int n = 0;

    while (d && (e = readdir(d)))
        n += e->d_name[0] != '.';
    if (d)
        closedir(d);
    return n;
}

/* ---- what clients are shown ---- */

static const char *const names[TASK_N_TOOLS] = {
    "create_task", "get_task", "save_checkpoint", "handoff_task",
    "mark_exhausted", "attach_artifact", "list_tasks", "update_task",
    "claim_task", "request_input", "wait_for_task",
};

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

        if (!CHECK(task_tool_takes(tool, name.p, &required)))
            fprintf(stderr, "  %s: %s\n", t->name, name.p);
        needed += required;
    }
    for (i = 0, p = list + 1; i < list->n; i++, p++) {
        struct str name = arena_str(a, json_str(a, p));

        CHECK(task_tool_takes(tool, name.p, &required) && required);
        CHECK(json_get(props, name.p) != NULL);
        n++;
    }
    CHECK(n == needed);
    for (arg = 0; arg < TASK_N_ARGS; arg++) {
        const char *name = task_arg_name(arg).p;

        if (task_tool_takes(tool, name, &required)) {
            takes++;
            if (!CHECK(json_get(props, name) != NULL))
                fprintf(stderr, "  %s lacks %s\n", t->name, name);
        }
    }
    CHECK(takes > 0);
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
        CHECK(!c->tools[i].destructive);
    }
    CHECK(strlen(c->instructions) < 800);
    fixture_fini(&f);
}

static void
test_list_is_small(void)
{
    static const char *const texts[] = {
        "{'jsonrpc':'2.0','id':0,'method':'initialize','params':"
        "{'protocolVersion':'2025-11-25','capabilities':{},'clientInfo':"
        "{'name':'t','version':'1'}}}",
        "{'jsonrpc':'2.0','id':1,'method':'tools/list'}",
    };
    struct fixture f;
    struct mcp *mcp;
    struct mcp_sink sink = {.send = NULL};
    struct mcp_facts facts = {.http = false};
    struct mcp_message *m;
    struct buf notes = {0};
    size_t i;

    fixture_init(&f);
    CHECK(mcp_new(&mcp, tools_catalogue(f.tools), NULL, NULL) == 0);
    facts.session = mcp_join(mcp, &sink);
    for (i = 0; i < 2; i++) {
        buf_reset(&f.out, 0);
        CHECK(mcp_accept(mcp, &facts, &f.a, quoted(&f.a, texts[i]),
                         &m) == 0);
        CHECK(mcp_run(m, &f.out, &notes) == MCP_OK);
    }
    CHECK(f.out.len > 4096);
    if (!CHECK(f.out.len <= 12 * 1024))
        fprintf(stderr, "  tools/list has %zu bytes\n", f.out.len);
    mcp_part(facts.session);
    mcp_free(mcp);
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

/* ---- limits ---- */

enum unit { ASCII, UMLAUT, ITEMS };

/* The arguments with a field of n units. */
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
        put_times(b, unit == ASCII ? "x" : "\xc3\xa4", n);
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
        {"update_task", "repo_path", 4096, ASCII, false},
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
    const char *code; /* NULL: it is taken */
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
    {"create_task", "{'title':'t','task_id':'../x'}",
     "invalid_argument"},
    {"create_task", "{'title':'t','task_id':'\\u00e4'}",
     "invalid_argument"},
    {"create_task", "{'title':'t','tags':'x'}", "invalid_argument"},
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
    {"update_task", "{'task_id':'a','tags':null,'goal':null}", NULL},
    {"update_task", "{'task_id':'a','status':null}",
     "invalid_argument"},
    {"update_task", "{'task_id':'a','version':4}", "invalid_argument"},
    {"update_task", "{'task_id':'a','artifacts':[]}",
     "invalid_argument"},
    {"get_task", "{'task_id':'a','section':'all'}", "invalid_argument"},
    {"get_task", "{'task_id':'a','limit':0}", "invalid_argument"},
    {"get_task", "{'task_id':'a','limit':200}", NULL},
    {"get_task", "{'task_id':'a','limit':201}", "invalid_argument"},
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
    {"list_tasks", "{'limit':101}", "invalid_argument"},
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

/* ---- big tasks ---- */

/* Fills a task until it is refused; what is refused is named. */
static void
make_big(struct fixture *f, const char *unit, size_t step_len)
{
    static const char *const fields[] = {"decisions", "failed_approaches",
        "completed_steps", "remaining_steps"};
    static const size_t n[] = {64, 64, 50, 20};
    struct buf b = {0};
    size_t i, k;

    call(f, "create_task", "{'task_id':'big','title':'B','tags':['x']}");
    for (i = 0; i < 4; i++) {
        buf_reset(&b, b.cap);
        buf_printf(&b, "{'task_id':'big','%s':[", fields[i]);
        for (k = 0; k < n[i]; k++) {
            buf_printf(&b, "%s'%zu ", k ? "," : "", k);
            put_times(&b, unit, step_len);
            buf_char(&b, '\'');
        }
        buf_printf(&b, "]}%c", '\0');
        call(f, "update_task", b.p);
        if (!ok(f))
            fprintf(stderr, "  %s\n", fields[i]);
    }
    buf_reset(&b, b.cap);
    buf_z(&b, "{'task_id':'big','resume_prompt':'");
    put_times(&b, unit, 4000);
    buf_put(&b, "'}", 3);
    call(f, "update_task", b.p);
    CHECK(ok(f));
    buf_fini(&b);
}

static size_t
answer_len(const struct fixture *f)
{
    struct str s = buf_view(&f->out);

    return s.len + json_quoted_len(s) + 1024;
}

/* Puts member m with this value behind what was collected of it. */
static void
collect(struct buf *to, const struct json_tok *v, struct arena *a)
{
    struct str raw = json_raw(v);
    bool list = v->type == JSON_ARRAY;

    if (v->type != JSON_STRING && !list) {
        buf_reset(to, to->cap);
        buf_str(to, raw);
    } else if (to->len == 0) {
        buf_str(to, raw);
    } else {
        to->len--; /* the quote or bracket */
        if (list && raw.len > 2 && to->p[to->len - 1] != '[')
            buf_char(to, ',');
        buf_put(to, raw.p + 1, raw.len - 1);
    }
    (void)a;
}

/* Reads the whole task by cursor and compares it with the record. */
static void
check_pieces(struct fixture *f, bool change)
{
    struct buf got[TASK_N_FIELDS] = {{0}};
    char args[256] = "{'task_id':'big'}";
    struct task k;
    int i, pages = 0;
    bool more;

    arena_reset(&f->a);
    f->keep_arena = true;
    CHECK(task_get(f->t, &f->a, STR("big"), &k) == 0);
    do {
        const struct json_tok *t = call(f, "get_task", args), *p;
        uint32_t m;

        CHECK(ok(f));
        if (!CHECK(answer_len(f) <= 49152))
            fprintf(stderr, "  %zu bytes\n", answer_len(f));
        for (m = 0, p = t + 1; m < t->n; m++, p += 1 + p[1].span) {
            int field = task_field_of(json_str(&f->a, p));

            if (field == F_TASK_ID || field == F_VERSION)
                got[field].len = 0;
            if (field >= 0)
                collect(&got[field], p + 1, &f->a);
        }
        more = json_get(t, "truncated") &&
               json_get(t, "truncated")->type == JSON_TRUE;
        CHECK(more == (json_get(t, "next_cursor") != NULL));
        CHECK(more == (json_get(t, "cut") != NULL));
        if (more)
            snprintf(args, sizeof args, "{'task_id':'big','cursor':'%.*s'}",
                     STR_ARG(json_str(&f->a, json_get(t, "next_cursor"))));
        if (change)
            call(f, "update_task", "{'task_id':'big','goal':'changed'}");
    } while (more && ++pages < 100);
    CHECK(pages > 1);
    for (i = 0; i < TASK_N_FIELDS; i++) {
        if (!CHECK(str_eq(buf_view(&got[i]), k.f[i])))
            fprintf(stderr, "  field %s: %zu of %zu\n", task_arg_name(i).p,
                    got[i].len, k.f[i].len);
        buf_fini(&got[i]);
    }
    f->keep_arena = false;
}

static void
test_big_tasks_in_pieces(void)
{
    static const struct {
        const char *unit;
        size_t len;
    } cases[] = {
        {"x", 1000}, {"\xc3\xa4", 500}, {"\\u0001", 150}, {"\\\\", 480},
        {"\xf0\x9f\x98\x80", 250}, {"\\n", 450},
    };
    struct fixture f;
    size_t i;

    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        fixture_init(&f);
        make_big(&f, cases[i].unit, cases[i].len);
        check_pieces(&f, false);
        check_pieces(&f, true);
        fixture_fini(&f);
    }
}

static void
test_whole_state_is_bounded(void)
{
    struct fixture f;
    struct buf b = {0};
    int i, k;
    static const char *const fields[] = {"completed_steps",
                                         "remaining_steps"};

    fixture_init(&f);
    call(&f, "create_task", "{'task_id':'a','title':'A'}");
    for (i = 0; i < 2; i++) {
        buf_reset(&b, b.cap);
        buf_printf(&b, "{'task_id':'a','%s':[", fields[i]);
        for (k = 0; k < (i ? 60 : 199); k++) {
            buf_z(&b, k ? ",'" : "'");
            put_times(&b, "x", 1020);
            buf_char(&b, '\'');
        }
        buf_put(&b, "]}", 3);
        call(&f, "update_task", b.p);
        if (i == 0)
            CHECK(ok(&f));
    }
    CHECK(failed(&f, "too_large") && has(&f, "field", "completed_steps"));
    buf_fini(&b);
    fixture_fini(&f);
}

static void
test_many_events(void)
{
    struct fixture f;
    struct buf b = {0};
    char args[200] = "{'task_id':'a','section':'history','limit':200}";
    int i, pages = 0;
    int64_t last = INT64_MAX, n, seen = 0;
    bool more;

    fixture_init(&f);
    call(&f, "create_task", "{'task_id':'a','title':'A'}");
    for (i = 0; i < 60; i++) {
        buf_reset(&b, b.cap);
        buf_z(&b, "{'task_id':'a','agent':'me','notes':'");
        put_times(&b, i % 3 == 0 ? "\\u0001" : "n", 4096);
        buf_put(&b, "'}", 3);
        call(&f, "save_checkpoint", b.p);
    }
    do {
        const struct json_tok *list, *t;

        call(&f, "get_task", args);
        CHECK(ok(&f) && answer_len(&f) <= 49152);
        list = json_get(f.json, "events");
        for (i = 0, t = list + 1; i < (int)list->n; i++, t += t->span) {
            CHECK(json_int(json_get(t, "seq"), &n) && n < last);
            last = n;
            seen++;
        }
        more = json_get(f.json, "truncated")->type == JSON_TRUE;
        snprintf(args, sizeof args, "{'task_id':'a','section':'history',"
                 "'limit':200,'cursor':'%.*s'}",
                 STR_ARG(json_str(&f.a, json_get(f.json, "next_cursor"))));
    } while (more && ++pages < 50);
    CHECK(seen == 61 && last == 1 && pages > 3);
    call(&f, "get_task", "{'task_id':'a','section':'history',"
         "'since_seq':59}");
    CHECK(json_get(f.json, "events")->n == 2);
    CHECK(json_get(f.json, "truncated")->type == JSON_FALSE);
    call(&f, "get_task", "{'task_id':'a','section':'history','limit':3}");
    CHECK(json_get(f.json, "events")->n == 3);
    CHECK(json_get(f.json, "truncated")->type == JSON_TRUE);
    buf_fini(&b);
    fixture_fini(&f);
}

static void
test_long_summaries(void)
{
    struct fixture f;
    struct buf b = {0};
    char args[900] = "{'limit':100}";
    struct str next;
    int i, k, seen = 0, pages = 0;

    fixture_init(&f);
    for (i = 0; i < 100; i++) {
        buf_reset(&b, b.cap);
        buf_z(&b, "{'title':'");
        put_times(&b, "\xf0\x9f\x98\x80", 256);
        buf_z(&b, "','tags':[");
        for (k = 0; k < 16; k++) {
            buf_printf(&b, "%s'%d", k ? "," : "", k);
            put_times(&b, "\\u0001", 60);
            buf_char(&b, '\'');
        }
        buf_put(&b, "]}", 3);
        call(&f, "create_task", b.p);
    }
    do {
        call(&f, "list_tasks", args);
        CHECK(ok(&f) && answer_len(&f) <= 49152);
        CHECK(number(&f, "total") == 100);
        seen += (int)json_get(f.json, "tasks")->n;
        next = json_str(&f.a, json_get(f.json, "next_cursor"));
        snprintf(args, sizeof args, "{'limit':100,'cursor':'%.*s'}",
                 STR_ARG(next));
    } while (next.p && ++pages < 100);
    CHECK(seen == 100 && pages > 10);
    buf_fini(&b);
    fixture_fini(&f);
}

/* ---- artifacts ---- */

static void
test_artifact_round_trip(void)
{
    static const char *const base64[][2] = {
        {"", ""}, {"AA==", "1"}, {"AAE=", "2"}, {"AAEC", "3"},
    };
    struct fixture f;
    struct stat st;
    size_t i;

    fixture_init(&f);
    call(&f, "create_task", "{'task_id':'a','title':'A'}");
    call(&f, "attach_artifact", "{'task_id':'a','agent':'me','name':'../n',"
         "'content':'h\\u00e4\\u0000\\n','type':'log','description':'d'}");
    CHECK(ok(&f) && has(&f, "artifact_id", "a1"));
    CHECK(stat(f.artifacts, &st) == 0 && (st.st_mode & 0777) == 0700);
    call(&f, "get_task", "{'task_id':'a','section':'artifact',"
         "'artifact_id':'a1'}");
    CHECK(has(&f, "encoding", "utf8"));
    CHECK(str_eq(json_str(&f.a, json_get(f.json, "content")),
                 (struct str){"h\xc3\xa4\0\n", 5}));
    for (i = 0; i < 4; i++) {
        char args[256];

        snprintf(args, sizeof args, "{'task_id':'a','name':'b%zu','content':"
                 "'%s','encoding':'base64'}", i, base64[i][0]);
        call(&f, "attach_artifact", args);
        CHECK(ok(&f));
        snprintf(args, sizeof args, "{'task_id':'a','section':'artifact',"
                 "'artifact_id':'a%zu'}", i + 2);
        call(&f, "get_task", args);
        CHECK(number(&f, "offset") == 0);
        CHECK(has(&f, "encoding", "utf8")); /* NUL and SOH are UTF-8 */
    }
    call(&f, "attach_artifact", "{'task_id':'a','name':'bin','content':"
         "'/wA=','encoding':'base64'}");
    call(&f, "get_task", "{'task_id':'a','section':'artifact',"
         "'artifact_id':'a6'}");
    CHECK(has(&f, "encoding", "base64") && has(&f, "content", "/wA="));
    call(&f, "get_task", "{'task_id':'a','artifact_id':'a6'}");
    CHECK(has(&f, "content", "/wA="));
    call(&f, "get_task", "{'task_id':'a','artifact_id':'a6','section':"
         "'current'}");
    CHECK(has(&f, "title", "A"));
    for (i = 0; i < 6; i++) {
        static const char *const bad[] = {"A", "AA=", "A===", "AB==", "AA=A",
                                          "AA ="};
        char args[256];

        snprintf(args, sizeof args, "{'task_id':'a','name':'b','content':"
                 "'%s','encoding':'base64'}", bad[i]);
        call(&f, "attach_artifact", args);
        CHECK(failed(&f, "invalid_argument") && has(&f, "field", "content"));
    }
    /* The same again is the same; another name is another entry. */
    call(&f, "attach_artifact", "{'task_id':'a','agent':'you','name':'bin',"
         "'content':'/wA=','encoding':'base64'}");
    CHECK(has(&f, "artifact_id", "a6") && number(&f, "version") == 7);
    call(&f, "attach_artifact", "{'task_id':'a','name':'bin2',"
         "'content':'/wA=','encoding':'base64'}");
    CHECK(has(&f, "artifact_id", "a7") && number(&f, "version") == 8);
    fixture_fini(&f);
}

/* Where the only file of the artifacts directory is. */
static void
find_file(const struct fixture *f, const char *content, char path[512])
{
    char hex[SHA256_HEX + 1];

    sha256_hex(str_of(content), hex);
    snprintf(path, 512, "%s/%s", f->artifacts, hex);
}

static void
test_artifact_that_is_gone_or_changed(void)
{
    struct fixture f;
    char path[512];
    int fd;

    fixture_init(&f);
    call(&f, "create_task", "{'task_id':'a','title':'A'}");
    call(&f, "attach_artifact", "{'task_id':'a','name':'n','content':"
         "'abc'}");
    find_file(&f, "abc", path);
    fd = open(path, O_WRONLY);
    CHECK(fd >= 0 && write(fd, "abd", 3) == 3 && close(fd) == 0);
    call(&f, "get_task", "{'task_id':'a','section':'artifact',"
         "'artifact_id':'a1'}");
    CHECK(failed(&f, "store_error"));
    CHECK(unlink(path) == 0);
    call(&f, "get_task", "{'task_id':'a','section':'artifact',"
         "'artifact_id':'a1'}");
    CHECK(failed(&f, "not_found"));
    /* A link in its place is not followed, a wrong size not believed. */
    CHECK(symlink("/etc/passwd", path) == 0);
    call(&f, "get_task", "{'task_id':'a','section':'artifact',"
         "'artifact_id':'a1'}");
    CHECK(failed(&f, "store_error"));
    call(&f, "attach_artifact", "{'task_id':'a','name':'m','content':"
         "'abc'}");
    CHECK(ok(&f));
    call(&f, "get_task", "{'task_id':'a','section':'artifact',"
         "'artifact_id':'a1'}");
    CHECK(has(&f, "content", "abc"));
    /* Nor are bytes of the right number. */
    fd = open(path, O_WRONLY);
    CHECK(fd >= 0 && write(fd, "abd", 3) == 3 && close(fd) == 0);
    call(&f, "attach_artifact", "{'task_id':'a','name':'m','content':"
         "'abc'}");
    CHECK(ok(&f));
    call(&f, "get_task", "{'task_id':'a','section':'artifact',"
         "'artifact_id':'a1'}");
    CHECK(has(&f, "content", "abc"));
    fixture_fini(&f);
}

#define ATTACH(task) \
    "{'task_id':'" task "','name':'n','content':'abc'}"

/* An attach_artifact that was prepared, to be run later. */
static struct mcp_call
prepared(struct fixture *f, const char *args)
{
    const struct mcp_catalogue *c = tools_catalogue(f->tools);
    struct mcp_call call = {.ctx = c->ctx, .arena = &f->a,
                            .rev = MCP_2025_11_25, .out = &f->out};

    CHECK(json_parse(&f->a, quoted(&f->a, args), &call.args, NULL) == 0);
    c->tools[TOOL_ATTACH].prepare(&call);
    return call;
}

/* Runs it under the lock, which it leaves; whether it did not fail. */
static bool
runs(struct fixture *f, struct mcp_call *call, int refuse)
{
    const struct mcp_catalogue *c = tools_catalogue(f->tools);

    if (!store_locked(f->s))
        CHECK(store_lock_patiently(f->s) == 0);
    buf_reset(&f->out, 0);
    call->is_error = false;
    store_refuse(f->s, refuse);
    CHECK(c->tools[TOOL_ATTACH].run(call) == 0);
    store_refuse(f->s, 0);
    return !call->is_error;
}

static void
commits(struct fixture *f, bool well)
{
    bool unknown;

    fault = well ? FAULT_NONE : FAULT_PWRITE;
    fault_after = 0;
    CHECK((store_commit(f->s, &unknown) == 0) == well);
    fault = FAULT_NONE;
}

static void
test_refused_artifact_leaves_no_file(void)
{
    struct fixture f;
    struct mcp_call good, bad;
    char path[512];

    fixture_init(&f);
    find_file(&f, "abc", path);
    call(&f, "create_task", "{'task_id':'a','title':'A'}");
    call(&f, "attach_artifact", ATTACH("no"));
    CHECK(failed(&f, "not_found") && count_files(f.artifacts) == 0);
    /* What another call of the turn counts on: refused before it, and
       behind it; and where that is undone. */
    bad = prepared(&f, ATTACH("no"));
    good = prepared(&f, ATTACH("a"));
    CHECK(!runs(&f, &bad, 0) && access(path, F_OK) != 0);
    CHECK(runs(&f, &good, 0) && access(path, F_OK) == 0);
    commits(&f, false);
    CHECK(!runs(&f, &good, ERR_IO) && access(path, F_OK) != 0);
    store_unlock(f.s);
    bad = prepared(&f, ATTACH("no"));
    good = prepared(&f, ATTACH("a"));
    CHECK(runs(&f, &good, 0) && !runs(&f, &bad, 0));
    CHECK(access(path, F_OK) == 0);
    commits(&f, false);
    CHECK(!runs(&f, &good, ERR_UNKNOWN) && !runs(&f, &bad, ERR_UNKNOWN));
    CHECK(access(path, F_OK) == 0); /* nobody knows */
    CHECK(unlink(path) == 0);
    /* A record that came between. */
    bad = prepared(&f, ATTACH("no"));
    good = prepared(&f, ATTACH("a"));
    CHECK(runs(&f, &good, 0));
    commits(&f, true);
    CHECK(!runs(&f, &bad, 0) && access(path, F_OK) == 0);
    store_unlock(f.s);
    /* Not this call's. */
    call(&f, "attach_artifact", ATTACH("no"));
    CHECK(failed(&f, "not_found") && access(path, F_OK) == 0);
    call(&f, "get_task", "{'task_id':'a','section':'artifact',"
         "'artifact_id':'a1'}");
    CHECK(has(&f, "content", "abc"));
    fixture_fini(&f);
}

static void
test_artifact_sizes(void)
{
    struct fixture f;
    struct buf b = {0}, whole = {0};
    char args[200];
    size_t over;
    int pages = 0;
    struct str next;

    fixture_init(&f);
    call(&f, "create_task", "{'task_id':'a','title':'A'}");
    for (over = 0; over < 2; over++) {
        buf_reset(&b, b.cap);
        buf_z(&b, "{'task_id':'a','name':'n','content':'");
        put_times(&b, "\xc3\xa4\\n", ARTIFACT_MAX / 3);
        put_times(&b, "x", ARTIFACT_MAX % 3 + over);
        buf_put(&b, "'}", 3);
        call(&f, "attach_artifact", b.p);
        if (over)
            CHECK(failed(&f, "too_large") && has(&f, "field", "content"));
        else
            CHECK(ok(&f));
    }
    snprintf(args, sizeof args, "{'task_id':'a','section':'artifact',"
             "'artifact_id':'a1'}");
    do {
        call(&f, "get_task", args);
        CHECK(ok(&f) && answer_len(&f) <= 49152);
        CHECK(number(&f, "offset") == (int64_t)whole.len);
        buf_str(&whole, json_str(&f.a, json_get(f.json, "content")));
        next = json_str(&f.a, json_get(f.json, "next_cursor"));
        snprintf(args, sizeof args, "{'task_id':'a','section':'artifact',"
                 "'artifact_id':'a1','cursor':'%.*s'}", STR_ARG(next));
    } while (next.p && ++pages < 200);
    CHECK(whole.len == ARTIFACT_MAX && pages > 20 && pages < 100);
    CHECK(memcmp(whole.p, "\xc3\xa4\n\xc3\xa4\n", 6) == 0);
    call(&f, "get_task", "{'task_id':'a','section':'artifact',"
         "'artifact_id':'a1','cursor':'1'}"); /* within a character */
    CHECK(failed(&f, "invalid_argument"));
    call(&f, "get_task", "{'task_id':'a','section':'artifact',"
         "'artifact_id':'a1','cursor':'1048577'}");
    CHECK(failed(&f, "invalid_argument"));
    buf_fini(&b);
    buf_fini(&whole);
    fixture_fini(&f);
}

static void
write_file(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CREAT, 0600);

    CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close(fd);
}

static void
test_artifact_paths(void)
{
    static const struct {
        const char *path;
        bool read;
    } cases[] = {
        {"in.txt", true}, {"./in.txt", true}, {"sub/deep.txt", true},
        {"sub//deep.txt", true}, {"%/in.txt", true},
        {"%/sub/../in.txt", false}, {"../root/in.txt", false},
        {"/etc/passwd", false}, {"%", false}, {"%2/in.txt", false},
        {"sub", false}, {"link", false}, {"dirlink/deep.txt", false},
        {"fifo", false}, {"missing", false}, {"in.txt/", false},
        {"in.txt/x", false}, {"in.txt\\u0000x", false}, {"/", false},
    };
    struct fixture f;
    char path[700], args[900];
    size_t i, k, n;

    fixture_init(&f);
    call(&f, "create_task", "{'task_id':'a','title':'A'}");
    CHECK(mkdir(f.root, 0700) == 0);
    snprintf(path, sizeof path, "%s/in.txt", f.root);
    write_file(path, "inside");
    snprintf(path, sizeof path, "%s/link", f.root);
    CHECK(symlink("in.txt", path) == 0);
    snprintf(path, sizeof path, "%s/dirlink", f.root);
    CHECK(symlink("sub", path) == 0);
    snprintf(path, sizeof path, "%s/fifo", f.root);
    CHECK(mkfifo(path, 0600) == 0);
    snprintf(path, sizeof path, "%s/sub", f.root);
    CHECK(mkdir(path, 0700) == 0);
    strcat(path, "/deep.txt");
    write_file(path, "inside");
    call(&f, "attach_artifact", "{'task_id':'a','name':'n','path':"
         "'in.txt'}");
    CHECK(ok(&f) && json_get(f.json, "warnings")->n == 1);
    f.env.artifact_root = f.root;
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct json_tok *entry;

        for (k = n = 0; cases[i].path[k]; k++)
            if (cases[i].path[k] == '%')
                n += (size_t)snprintf(path + n, sizeof path - n, "%s",
                                      f.root);
            else
                path[n++] = cases[i].path[k];
        path[n] = '\0';
        snprintf(args, sizeof args, "{'task_id':'a','name':'n%zu','path':"
                 "'%s'}", i, path);
        call(&f, "attach_artifact", args);
        CHECK(ok(&f));
        snprintf(args, sizeof args, "{'task_id':'a','section':'artifact',"
                 "'artifact_id':'%.*s'}",
                 STR_ARG(json_str(&f.a, json_get(f.json, "artifact_id"))));
        call(&f, "get_task", args);
        entry = json_get(f.json, "artifact");
        if (!CHECK((json_get(entry, "sha256") != NULL) == cases[i].read))
            fprintf(stderr, "  %s\n", cases[i].path);
        if (cases[i].read)
            CHECK(has(&f, "content", "inside"));
    }
    fixture_fini(&f);
}

/* No file of the store is read, whatever its name is, and reading it costs
   nobody a lock. */
static void
test_files_of_the_store(void)
{
    static const char *const of_store[] = {
        "tasks.log", "tasks.log.lock", "tasks.log.key", "tasks.log.1",
        "other.txt",
    };
    struct fixture f;
    char path[700], other[700], args[900];
    size_t i;

    fixture_init(&f);
    call(&f, "create_task", "{'task_id':'a','title':'A'}");
    snprintf(path, sizeof path, "%s/tasks.log.1", f.dir);
    write_file(path, "closed");
    snprintf(path, sizeof path, "%s/tasks.log.key", f.dir);
    write_file(path, "secret");
    snprintf(other, sizeof other, "%s/other.txt", f.dir);
    CHECK(link(path, other) == 0);
    snprintf(path, sizeof path, "%s/tasks.logbook", f.dir);
    write_file(path, "no secret");
    f.env.artifact_root = f.dir;
    for (i = 0; i < sizeof of_store / sizeof *of_store; i++) {
        snprintf(args, sizeof args, "{'task_id':'a','name':'n%zu','path':"
                 "'%s'}", i, of_store[i]);
        call(&f, "attach_artifact", args);
        CHECK(ok(&f) && json_get(f.json, "warnings")->n == 1 &&
              str_is(json_str(&f.a, json_get(f.json, "warnings") + 1),
                     "path was not read: it is a file of the store itself"));
    }
    call(&f, "attach_artifact", "{'task_id':'a','name':'b','path':"
         "'tasks.logbook'}");
    CHECK(ok(&f) && json_get(f.json, "warnings")->n == 0);
    fixture_fini(&f);
}

static void
test_artifact_count(void)
{
    struct fixture f;
    char args[128];
    int i;

    fixture_init(&f);
    call(&f, "create_task", "{'task_id':'a','title':'A'}");
    for (i = 0; i <= 256; i++) {
        snprintf(args, sizeof args, "{'task_id':'a','name':'%d','content':"
                 "'same'}", i);
        call(&f, "attach_artifact", args);
        if (i < 256)
            CHECK(ok(&f));
    }
    CHECK(failed(&f, "too_large") && has(&f, "field", "artifacts"));
    fixture_fini(&f);
}

/* The artifact's files are made by calls that may fail, each of them. */
static void
test_artifact_faults(void)
{
    static const struct {
        enum fault fault;
        const char *code;
    } cases[] = {
        {FAULT_WRITE, "store_full"}, {FAULT_FSYNC, "store_error"},
        {FAULT_RENAME, "store_readonly"},
    };
    struct fixture f;
    struct stat st;
    char path[512];
    size_t i;
    int n;

    fixture_init(&f);
    call(&f, "create_task", "{'task_id':'a','title':'A'}");
    find_file(&f, "abc", path);
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (n = 0;; n++) {
            fault = cases[i].fault;
            fault_after = n;
            call(&f, "attach_artifact", "{'task_id':'a','name':'n',"
                 "'content':'abc'}");
            if (fault == FAULT_NONE) {
                CHECK(failed(&f, cases[i].code));
                CHECK(stat(path, &st) != 0);
            } else {
                CHECK(ok(&f));
                break;
            }
        }
        CHECK(n > 0);
        fault = FAULT_NONE;
        CHECK(count_files(f.artifacts) == 1 && unlink(path) == 0);
    }
    fixture_fini(&f);
}

static bool
was_synced(const char *path)
{
    struct stat st;
    size_t i;

    for (i = 0; i < n_synced && stat(path, &st) == 0; i++)
        if (synced[i] == st.st_ino)
            return true;
    return false;
}

/* The file is there, and so are its directories, but whoever made them was
   killed before he synced any of it. */
static void
test_artifact_of_a_killed_process(void)
{
    struct fixture f;
    char path[512], up[512];
    int fd;

    fixture_init(&f);
    call(&f, "create_task", "{'task_id':'a','title':'A'}");
    find_file(&f, "abc", path);
    CHECK(file_make_dirs(f.artifacts) == 0);
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    CHECK(write(fd, "abc", 3) == 3 && close(fd) == 0);
    n_synced = 0;
    call(&f, "attach_artifact", "{'task_id':'a','name':'n',"
         "'content':'abc'}");
    snprintf(up, sizeof up, "%s/..", f.artifacts);
    CHECK(ok(&f) && was_synced(path) && was_synced(f.artifacts) &&
          was_synced(up));
    fixture_fini(&f);
}

/* ---- resources ---- */

static int
read_uri(struct fixture *f, const char *uri)
{
    const struct mcp_catalogue *c = tools_catalogue(f->tools);
    struct mcp_call m = {.ctx = c->ctx, .arena = &f->a,
                         .rev = MCP_2025_11_25, .out = &f->out};
    int rc;

    arena_reset(&f->a);
    buf_reset(&f->out, 0);
    f->is_error = false;
    rc = c->resource_read(&m, str_of(uri));
    f->json = NULL;
    if (rc == 0)
        CHECK(json_parse(&f->a, arena_str(&f->a, buf_view(&f->out)),
                         &f->json, NULL) == 0);
    return rc;
}

static void
test_resources(void)
{
    static const char *const missing[] = {"", "task:///", "task://no",
        "file:///etc/passwd", "task://a:1/", "task://a:1/x",
        "task://a:1/resume/", "task://a:1/artifacts/", "task://../a:1",
        "task://a:1/artifacts/../../x", "task://a:1/artifacts/a9"};
    struct fixture f;
    const struct json_tok *inner;
    struct str text;
    size_t i;

    fixture_init(&f);
    call(&f, "create_task", "{'task_id':'a:1','title':'# T','goal':"
         "'one\\n# two'}");
    call(&f, "attach_artifact", "{'task_id':'a:1','name':'n','content':"
         "'text'}");
    call(&f, "attach_artifact", "{'task_id':'a:1','name':'m','content':"
         "'/w==','encoding':'base64'}");
    for (i = 0; i < sizeof missing / sizeof *missing; i++)
        CHECK(read_uri(&f, missing[i]) == ERR_NOT_FOUND);
    CHECK(read_uri(&f, "task://") == 0);
    CHECK(has(&f, "uri", "task://"));
    CHECK(read_uri(&f, "ui://mcptask/board") == 0);
    CHECK(has(&f, "mimeType", "text/html;profile=mcp-app"));
    CHECK(read_uri(&f, "task://a:1") == 0);
    CHECK(has(&f, "uri", "task://a:1"));
    CHECK(has(&f, "mimeType", "application/json"));
    text = json_str(&f.a, json_get(f.json, "text"));
    CHECK(json_parse(&f.a, text, &inner, NULL) == 0);
    CHECK(json_is(json_get(inner, "task_id"), "a:1"));
    CHECK(read_uri(&f, "task://a%3A1/resume") == 0);
    text = arena_str(&f.a, json_str(&f.a, json_get(f.json, "text")));
    CHECK(strstr(text.p, "\n> # two\n") && !strstr(text.p, "\n# two"));
    CHECK(strstr(text.p, "\n> # T\n") != NULL);
    CHECK(read_uri(&f, "task://a:1/history") == 0);
    text = json_str(&f.a, json_get(f.json, "text"));
    CHECK(json_parse(&f.a, text, &inner, NULL) == 0);
    CHECK(json_get(inner, "events")->n == 3);
    CHECK(read_uri(&f, "task://a:1/artifacts/a1") == 0);
    CHECK(has(&f, "text", "text"));
    CHECK(read_uri(&f, "task://a:1/artifacts/a2") == 0);
    CHECK(has(&f, "blob", "/w=="));
    fixture_fini(&f);
}

/* One read of the history of a resource, of at most max bytes of records: how
   many events it shows, and where it says to go on. */
static int
history_from(struct fixture *f, size_t max, char cursor[32])
{
    const struct mcp_catalogue *c = tools_catalogue(f->tools);
    struct mcp_call m = {.ctx = c->ctx, .arena = &f->a, .out = &f->out,
                         .rev = MCP_2025_11_25, .read_max = max};
    const struct json_tok *t;
    char uri[100];

    snprintf(uri, sizeof uri, "task://a/history%s%s",
             cursor[0] != '\0' ? "?cursor=" : "", cursor);
    arena_reset(&f->a);
    buf_reset(&f->out, f->out.cap);
    if (!CHECK(c->resource_read(&m, str_of(uri)) == 0) ||
        !CHECK(json_parse(&f->a, buf_view(&f->out), &t, NULL) == 0) ||
        !CHECK(json_parse(&f->a, json_str(&f->a, json_get(t, "text")), &t,
                          NULL) == 0))
        return 0;
    snprintf(cursor, 32, "%.*s",
             STR_ARG(json_str(&f->a, json_get(t, "next_cursor"))));
    CHECK((json_get(t, "truncated")->type == JSON_TRUE) == (cursor[0] != '\0'));
    return (int)json_get(t, "events")->n;
}

/* What one read may take bounds it, be its events small or large. */
static void
test_history_in_pieces(void)
{
    struct fixture f;
    struct buf b = {0};
    char cursor[32] = "";
    int i, n, seen = 0, reads = 0;

    fixture_init(&f);
    call(&f, "create_task", "{'task_id':'b','title':'B'}");
    call(&f, "create_task", "{'task_id':'a','title':'A'}");
    buf_z(&b, "{'task_id':'a','goal':'");
    put_times(&b, "g", 8000);
    buf_put(&b, "'}", 3);
    call(&f, "update_task", b.p);
    for (i = 0; i < 28; i++)
        call(&f, "update_task", "{'task_id':'a','dirty':true}");
    do {
        n = history_from(&f, 50000, cursor);
        CHECK(n > 0 && n <= 6);
        seen += n;
    } while (cursor[0] != '\0' && ++reads < 50);
    CHECK(seen == 30 && reads >= 5);
    CHECK(history_from(&f, 1, cursor) == 1 && cursor[0] != '\0');
    /* Of another task, and of none. */
    CHECK(read_uri(&f, "task://a/history?cursor=1") == ERR_INVALID);
    CHECK(read_uri(&f, "task://a/history?cursor=x") == ERR_NOT_FOUND);
    CHECK(read_uri(&f, "task://a/history?cursor=999") == ERR_NOT_FOUND);
    buf_fini(&b);
    fixture_fini(&f);
}

static void
test_resource_pages(void)
{
    struct fixture f;
    struct str next = STR_NONE;
    const struct mcp_catalogue *c;
    char text[100];
    int i, pages = 0, seen = 0;

    fixture_init(&f);
    c = tools_catalogue(f.tools);
    for (i = 0; i < 120; i++) {
        snprintf(text, sizeof text, "{'task_id':'r%d','title':'\\u0022'}",
                 i);
        call(&f, "create_task", text);
    }
    call(&f, "update_task", "{'task_id':'r3','status':'failed'}");
    arena_reset(&f.a);
    do {
        struct mcp_call m = {.ctx = c->ctx, .arena = &f.a,
                             .rev = MCP_2025_11_25, .out = &f.out};
        const struct json_tok *list;

        buf_reset(&f.out, 0);
        buf_char(&f.out, '[');
        CHECK(c->resources(&m, next, &next) == 0);
        buf_char(&f.out, ']');
        CHECK(json_parse(&f.a, arena_str(&f.a, buf_view(&f.out)), &list,
                         NULL) == 0);
        seen += (int)list->n;
        CHECK(list->n <= 50);
    } while (next.len && ++pages < 10);
    CHECK(seen == 119 && pages == 2);
    fixture_fini(&f);
}

/* ---- who calls ---- */

static void
test_principals(void)
{
    static const struct {
        const char *tool, *args;
        const char *field; /* of the refusal; NULL: it is taken */
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
    CHECK(failed(&f, "invalid_argument") && has(&f, "field", "agent"));
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
        int level; /* 0: nothing is said */
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
        {"save_checkpoint", "{'task_id':'a','agent':'y'}", 4, "checkpoint"},
        {"attach_artifact", "{'task_id':'a','agent':'x','name':'n',"
         "'content':'c'}", 7, "attach"},
        {"attach_artifact", "{'task_id':'a','agent':'x','name':'n',"
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

/* ---- arguments ---- */

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
    buf_fini(&b);
    /* Lists that are sets; others keep what stands in them twice. */
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

/* ---- waits ---- */

/* A round of wait_for_task that began behind event `since`, its state as the
   one before left it: what the tool says. */
static int
wait_round(struct fixture *f, const char *args, unsigned round,
           uint64_t since)
{
    const struct mcp_catalogue *c = tools_catalogue(f->tools);
    struct mcp_call call = {.ctx = c->ctx, .arena = &f->a, .out = &f->out,
                            .rev = MCP_2025_11_25, .round = round,
                            .since = since};
    size_t i = TOOL_WAIT;

    arena_reset(&f->a);
    buf_reset(&f->out, f->out.cap);
    call.state = arena_str(&f->a, str_of(state));
    CHECK(json_parse(&f->a, quoted(&f->a, args), &call.args, NULL) == 0);
    return c->tools[i].run(&call);
}

/* The task is what it was, but was done in between: the event of that. */
static uint64_t
end_and_reopen(struct fixture *f)
{
    uint64_t n;

    call(f, "update_task", "{'task_id':'a','status':'done'}");
    CHECK(ok(f));
    n = (uint64_t)number(f, "seq");
    call(f, "update_task", "{'task_id':'a','status':'in_progress',"
         "'reason':'more'}");
    CHECK(ok(f));
    return n;
}

/* What one round has looked at no later one reads again, and what comes
   between two rounds is found by the second. */
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
    CHECK(wait_round(&f, until_end, 0, 1) == ERR_MORE);
    for (i = 0; i < 9; i++)
        call(&f, "save_checkpoint", "{'task_id':'a','agent':'b'}");
    CHECK(wait_round(&f, until_end, 1, 1) == ERR_MORE);
    seen = store_next_n(f.s) - 1;
    n = end_and_reopen(&f);
    CHECK(wait_round(&f, until_end, 2, seen) == 0);
    snprintf(want, sizeof want, "\"met\":true,\"seq\":%llu,",
             (unsigned long long)n);
    buf_char(&f.out, '\0');
    CHECK(strstr(f.out.p, want) != NULL);
    /* As if that round had been the one before: it is not looked at twice. */
    seen = store_next_n(f.s) - 1;
    CHECK(wait_round(&f, until_end, 3, seen) == ERR_MORE);
    CHECK(wait_round(&f, from_1, 3, seen) == ERR_MORE);
    /* A deferred one has no deadline. */
    state[0] = '\0';
    CHECK(wait_round(&f, from_1, 0, n + 1) == 0);
    deferring = true;
    CHECK(wait_round(&f, from_1, 1, n + 1) == ERR_MORE && state[0] == '\0');
    CHECK(wait_round(&f, from_1, 1, n - 1) == 0);
    deferring = false;
    fixture_fini(&f);
}

int
main(void)
{
    test_schemas_are_what_is_enforced();
    test_list_is_small();
    test_read_only();
    test_limits_at_their_edge();
    test_kinds_of_values();
    test_big_tasks_in_pieces();
    test_whole_state_is_bounded();
    test_many_events();
    test_long_summaries();
    test_artifact_round_trip();
    test_artifact_that_is_gone_or_changed();
    test_refused_artifact_leaves_no_file();
    test_artifact_sizes();
    test_artifact_paths();
    test_files_of_the_store();
    test_artifact_count();
    test_artifact_faults();
    test_artifact_of_a_killed_process();
    test_resources();
    test_history_in_pieces();
    test_resource_pages();
    test_principals();
    test_principal_that_may_only_read();
    test_changes_are_logged();
    test_arguments_that_are_too_many();
    test_store_errors();
    test_rounds_of_a_wait();
    return test_end("tools");
}
