/* Answers too large for one reply: big tasks, long histories and resources,
   which clients read in pieces. */

#include "tests/lib/catalogue.h"

/* ---- past states ---- */

TEST(past_versions)
{
    struct fixture f;

    fixture_init(&f);
    call(&f, "create_task", "{'task_id':'a','title':'One'}");
    call(&f, "update_task", "{'task_id':'a','title':'Two'}");
    call(&f, "update_task", "{'task_id':'a','message':'of no version'}");
    call(&f, "update_task", "{'task_id':'a','title':'Three'}");
    call(&f, "get_task", "{'task_id':'a','version':1}");
    CHECK(has(&f, "title", "One") && number(&f, "current_version") == 3);
    CHECK(json_get(f.json, "ready") == NULL); /* it is about now */
    call(&f, "get_task", "{'task_id':'a','version':2}");
    CHECK(has(&f, "title", "Two") && json_get(f.json, "messages") != NULL);
    call(&f, "get_task", "{'task_id':'a','version':3}");
    CHECK(has(&f, "title", "Three") && number(&f, "version") == 3);
    call(&f, "get_task", "{'task_id':'a','version':2,'section':'history'}");
    CHECK(json_get(f.json, "events")->n == 3);
    call(&f, "get_task", "{'task_id':'a','version':4}");
    CHECK(failed(&f, "not_found") && has(&f, "message",
                                         "the task is at version 3"));
    CHECK(number(&f, "current_version") == 3);
    /* An imported task has no older state here. */
    CHECK(strcmp(import(&f, "{'task_id':'i','title':'I','version':7}"),
                 "") == 0);
    call(&f, "get_task", "{'task_id':'i','version':6}");
    CHECK(failed(&f, "not_found"));
    CHECK(has(&f, "message", "version 6 cannot be read; the oldest readable "
              "one is 7"));
    fixture_fini(&f);
}

/* A past state in pieces says so too. A history cannot go on where a generation
   of the log is gone. */
TEST(past_of_a_big_task)
{
    struct fixture f;
    struct buf b = {0};

    fixture_init(&f);
    call(&f, "create_task", "{'task_id':'a','title':'One'}");
    buf_z(&b, "{'task_id':'a','completed_steps':['1'");
    for (int i = 0; i < 40; i++) {
        buf_z(&b, ",'");
        put_times(&b, "x", 1000);
        buf_char(&b, '\'');
    }
    buf_put(&b, "]}", 3);
    call(&f, "update_task", b.p);
    call(&f, "update_task", "{'task_id':'a','completed_steps':[]}");
    call(&f, "get_task", "{'task_id':'a','version':2}");
    CHECK(has(&f, "next_cursor", "2.6.24") &&
          number(&f, "current_version") == 3);
    CHECK(json_get(f.json, "ready") == NULL);
    while (store_compact(f.s) == ERR_PENDING)
        continue;
    call(&f, "get_task", "{'task_id':'a','section':'history'}");
    CHECK(json_get(f.json, "older_dropped") != NULL);
    call(&f, "get_task", "{'task_id':'a','section':'history','cursor':'2'}");
    CHECK(failed(&f, "invalid_argument") && has(&f, "message", "this cursor "
          "has expired; call again without it"));
    buf_fini(&b);
    fixture_fini(&f);
}

/* If a version lies further back than one call may read, the error says how to
   get there. */
TEST(versions_far_back)
{
    struct fixture f;
    struct task_event ev;
    struct buf b = {0};

    fixture_init(&f);
    call(&f, "create_task", "{'task_id':'a','title':'One'}");
    buf_z(&b, "{'task_id':'a','goal':'");
    put_times(&b, "x", 8000);
    buf_put(&b, "'}", 3);
    call(&f, "update_task", b.p);
    call(&f, "update_task", "{'task_id':'a','title':'Two'}");
    CHECK(task_event_last(f.t, &f.a, STR("a"), &ev) == 0);
    CHECK(task_event_back(f.t, &f.a, 1, 10000, &ev) == ERR_TOO_LARGE);
    CHECK(task_event_version(&ev) == 2);
    CHECK(task_event_back(f.t, &f.a, 1, 10000, &ev) == 0);
    call(&f, "get_task", "{'task_id':'a','cursor':'1.0.0'}");
    CHECK(has(&f, "title", "One"));
    /* No member comes twice. */
    buf_char(&f.out, '\0');
    CHECK(!strstr(strstr(f.out.p, "\"task_id\"") + 1, "\"task_id\""));
    CHECK(!strstr(strstr(f.out.p, "\"version\"") + 1, "\"version\""));
    buf_fini(&b);
    fixture_fini(&f);
}

/* ---- big tasks ---- */

TEST(whole_state_is_bounded)
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

/* A task that is as big as it may be can still be claimed: it may be the first
   that is ready. */
TEST(a_full_task_is_claimed)
{
    static const struct {
        const char *field;
        size_t n, len;
    } lists[] = {{"completed_steps", 200, 1020}, {"remaining_steps", 55, 1020}};
    size_t low = 0, high = 16384, i, k;
    struct fixture f;
    struct buf b = {0};

    fixture_init(&f);
    call(&f, "create_task", "{'task_id':'a','title':'A'}");
    for (i = 0; i < 2; i++) {
        buf_reset(&b, b.cap);
        buf_printf(&b, "{'task_id':'a','%s':[", lists[i].field);
        for (k = 0; k < lists[i].n; k++) {
            buf_z(&b, k ? ",'" : "'");
            put_times(&b, "x", lists[i].len);
            buf_char(&b, '\'');
        }
        buf_put(&b, "]}", 3);
        call(&f, "update_task", b.p);
        CHECK(ok(&f));
    }
    while (low < high) {
        size_t n = (low + high + 1) / 2;

        buf_reset(&b, b.cap);
        buf_z(&b, "{'task_id':'a','resume_prompt':'");
        put_times(&b, "x", n);
        buf_put(&b, "'}", 3);
        call(&f, "update_task", b.p);
        if (f.is_error)
            high = n - 1;
        else
            low = n;
    }
    CHECK(high > 0 && high < 16384);
    call(&f, "claim_task", "{'agent':'me'}");
    CHECK(ok(&f) && has(&f, "task_id", "a") && has(&f, "current_owner", "me"));
    call(&f, "update_task", "{'task_id':'a','agent':'me','goal':'more'}");
    CHECK(failed(&f, "too_large"));
    call(&f, "update_task", "{'task_id':'a','agent':'me','remaining_steps':"
         "[]}");
    CHECK(ok(&f));
    buf_fini(&b);
    fixture_fini(&f);
}

/* Fills a task until a change is refused; the error names the field. */
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

/* Appends this value to what was collected of the member. */
static void
collect(struct buf *to, const struct json_tok *v)
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
                collect(&got[field], p + 1);
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

TEST(big_tasks_in_pieces)
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

TEST(many_events)
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

TEST(long_summaries)
{
    struct fixture f;
    struct buf b = {0};
    char args[900] = "{'limit':100}";
    const struct json_tok *first;
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
    /* One that no answer would have room for is cut. */
    buf_reset(&b, b.cap);
    buf_z(&b, "{'title':'T','tags':['x'],'repo_path':'/");
    put_times(&b, "\\u0001", 4095);
    buf_put(&b, "'}", 3);
    call(&f, "create_task", b.p);
    call(&f, "list_tasks", "{'limit':1}");
    first = json_get(f.json, "tasks") + 1;
    CHECK(ok(&f) && answer_len(&f) <= 49152);
    CHECK(json_get(first, "truncated") && !json_get(first, "repo_path"));
    CHECK(json_is(json_get(first, "title"), "T") && json_get(first, "tags"));
    buf_fini(&b);
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

TEST(resources)
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
    CHECK(has(&f, "text", "text") && has(&f, "mimeType", "text/plain"));
    CHECK(read_uri(&f, "task://a:1/artifacts/a2") == 0);
    CHECK(has(&f, "blob", "/w==") &&
          has(&f, "mimeType", "application/octet-stream"));
    fixture_fini(&f);
}

/* Clients that check uris refuse the whole list for one with a bad port. */
TEST(listed_uris)
{
    struct fixture f;
    const struct mcp_catalogue *c;
    struct mcp_call m = {.rev = MCP_2025_11_25, .arena = &f.a, .out = &f.out};
    struct str next;

    fixture_init(&f);
    call(&f, "create_task", "{'task_id':'a:b:1','title':'T'}");
    c = tools_catalogue(f.tools);
    m.ctx = c->ctx;
    buf_reset(&f.out, 0);
    CHECK(c->resources(&m, STR_NONE, &next) == 0);
    CHECK(json_parse(&f.a, buf_view(&f.out), &f.json, NULL) == 0);
    CHECK(has(&f, "uri", "task://a%3Ab%3A1") && has(&f, "name", "a:b:1"));
    CHECK(read_uri(&f, "task://a%3Ab%3A1") == 0);
    fixture_fini(&f);
}

/* A template has a type only if all resources of it have that. */
TEST(template_of_artifacts)
{
    const struct mcp_template *at;
    struct fixture f;

    fixture_init(&f);
    at = &tools_catalogue(f.tools)->templates[3];
    CHECK(strcmp(at->name, "artifact") == 0 && at->mime_type == NULL);
    fixture_fini(&f);
}

/* Reads the history of a task, or with id "" of all, once, with at most max
   bytes of records. Returns its events, and the cursor that goes on. */
static const struct json_tok *
events_of(struct fixture *f, const char *id, size_t max, char cursor[32])
{
    const struct mcp_catalogue *c = tools_catalogue(f->tools);
    struct mcp_call m = {.ctx = c->ctx, .arena = &f->a, .out = &f->out,
                         .rev = MCP_2025_11_25, .read_max = max};
    const struct json_tok *t;
    char uri[100];

    snprintf(uri, sizeof uri, "task://%s/history%s%s", id,
             cursor[0] != '\0' ? "?cursor=" : "", cursor);
    arena_reset(&f->a);
    buf_reset(&f->out, f->out.cap);
    if (!CHECK(c->resource_read(&m, str_of(uri)) == 0) ||
        !CHECK(json_parse(&f->a, buf_view(&f->out), &t, NULL) == 0) ||
        !CHECK(json_parse(&f->a, json_str(&f->a, json_get(t, "text")), &t,
                          NULL) == 0))
        return NULL;
    snprintf(cursor, 32, "%.*s",
             STR_ARG(json_str(&f->a, json_get(t, "next_cursor"))));
    CHECK((json_get(t, "truncated")->type == JSON_TRUE) == (cursor[0] != '\0'));
    return json_get(t, "events");
}

/* How many events a read of a's history shows. */
static int
history_from(struct fixture *f, size_t max, char cursor[32])
{
    const struct json_tok *events = events_of(f, "a", max, cursor);

    return events != NULL ? (int)events->n : 0;
}

/* Each read is bounded by bytes, whether the events are small or large. */
TEST(history_in_pieces)
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
    /* Cursors of another task, and of no event. */
    CHECK(read_uri(&f, "task://a/history?cursor=1") == ERR_INVALID);
    CHECK(read_uri(&f, "task://a/history?cursor=x") == ERR_NOT_FOUND);
    CHECK(read_uri(&f, "task://a/history?cursor=999") == ERR_NOT_FOUND);
    buf_fini(&b);
    fixture_fini(&f);
}

/* What happened to any task, the newest first, without records of others. */
TEST(history_of_all)
{
    const struct json_tok *events;
    struct fixture f;
    struct buf b = {0};
    char cursor[32] = "";
    int seen = 0, reads = 0;
    bool unknown;

    fixture_init(&f);
    events = events_of(&f, "", 0, cursor);
    CHECK(events && events->n == 0 && cursor[0] == '\0');
    call(&f, "create_task", "{'task_id':'a','title':'A'}");
    call(&f, "create_task", "{'task_id':'b','title':'B'}");
    CHECK(store_lock(f.s) == 0);
    CHECK(store_stage(f.s, STR("call/1"), STR("\"op\":\"x\"")) == 0);
    CHECK(store_commit(f.s, &unknown) == 0);
    store_unlock(f.s);
    buf_z(&b, "{'task_id':'a','status':'failed','reason':'");
    put_times(&b, "r", 2000);
    buf_put(&b, "'}", 3);
    call(&f, "update_task", b.p);
    events = events_of(&f, "", 0, cursor);
    CHECK(events && events->n == 3 && cursor[0] == '\0');
    CHECK(json_is(json_get(events + 1, "task_id"), "a"));
    CHECK(json_is(json_get(events + 1, "status"), "failed"));
    CHECK(json_str(&f.a, json_get(events + 1, "note")).len == 512);
    CHECK(json_get(events + 1, "note_cut")->type == JSON_TRUE);

    for (int i = 0; i < 228; i++)
        call(&f, "update_task", "{'task_id':'b','dirty':true}");
    cursor[0] = '\0';
    do {
        events = events_of(&f, "", reads == 0 ? 8000 : 0, cursor);
        CHECK(events && events->n > 0 && events->n <= 100);
        CHECK(reads > 0 || events->n < 5); /* no more was to be read */
        seen += events ? (int)events->n : 0;
    } while (cursor[0] != '\0' && ++reads < 9);
    CHECK(seen == 231 && reads == 3);
    /* One that is not there yet is as the newest. */
    snprintf(cursor, sizeof cursor, "9999");
    events = events_of(&f, "", 0, cursor);
    CHECK(events && events->n == 100);
    buf_fini(&b);
    fixture_fini(&f);
}

TEST(resource_pages)
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

/* Changes the first letter of text in the log. */
static void
damage(const struct fixture *f, const char *text)
{
    char bytes[8192];
    FILE *log = fopen(f->log, "r+");
    const char *at;

    bytes[fread(bytes, 1, sizeof bytes - 1, log)] = '\0';
    at = strstr(bytes, text);
    CHECK(at != NULL && fseek(log, at - bytes, SEEK_SET) == 0);
    CHECK(fputc('#', log) == '#' && fclose(log) == 0);
}

/* A record whose bytes have changed on disk hides no other one. */
TEST(history_past_damage)
{
    const struct json_tok *events;
    struct fixture f;
    char cursor[32] = "";

    fixture_init(&f);
    call(&f, "create_task", "{'task_id':'a','title':'A'}");
    call(&f, "create_task", "{'task_id':'b','title':'Damaged'}");
    call(&f, "create_task", "{'task_id':'c','title':'C'}");
    damage(&f, "Damaged");
    events = events_of(&f, "", 0, cursor);
    CHECK(events && events->n == 2 && cursor[0] == '\0');
    CHECK(events && json_is(json_get(events + 1, "task_id"), "c"));
    fixture_fini(&f);
}
