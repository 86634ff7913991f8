/* call - tools called for a command.

   A call is a message of MCP, whoever runs it: a server, or this process as a
   server would, in cli/store.c. A tool's answer is JSON that this program's
   views wrote, so it is read as the records of a log are, by raw slices; but
   only once it is known to be JSON, since a server is not to be believed.

   Where a tool answers in pieces, its resource has the whole. */

#include "cli/call.h"
#include "cli/server.h"
#include "cli/store.h"
#include "cli/text.h"
#include "base/base64.h"
#include "base/clock.h"
#include "base/text.h"
#include "json/raw.h"
#include "task/project.h"
#include "task/view.h"
#include "tools/tools.h"

#include <string.h>

#define META "io.modelcontextprotocol/"
#define HISTORY_PART UINT64_C(200) /* events of one answer */

int64_t
cli_now_ms(const struct cli *c)
{
    return c->env->server != NULL ? clock_wall_ms()
                                  : store_now_ms(c->s.store);
}

void
cli_put_task_json(const struct cli *c, struct buf *b, const struct task *k)
{
    if (c->env->server != NULL)
        buf_str(b, k->ev.v);
    else
        view_task_json(b, k);
}

void
cli_put_summary_json(const struct cli *c, struct buf *b, const struct task *k)
{
    if (c->env->server != NULL)
        buf_str(b, k->ev.v);
    else
        view_summary_json(b, k);
}

/* ---- errors ---- */

static int
fail_strange(struct cli *c)
{
    if (c->env->server == NULL) /* no memory to read what was just written */
        return cli_fail_store(c, ERR_NOMEM);
    return cli_fail(c, ERR_FORMAT, "%s: its answer is not understood: use the "
                    "mcptask of that server", c->env->server);
}

/* An error of JSON-RPC, which no tool has made. */
static int
fail_rpc(struct cli *c, const char *what, const struct json_tok *error)
{
    struct str message = json_str(&c->a, json_get(error, "message"));
    const char *server = c->env->server;

    if (server == NULL && str_is(message, "Internal error: out of memory"))
        return cli_fail_store(c, ERR_NOMEM);
    return cli_fail(c, ERR_IO, "%s: %s: %.*s",
                    server != NULL ? server : c->env->log_path, what,
                    STR_ARG(message));
}

static int
error_code_of(struct str name)
{
    for (int i = ERR_NOMEM; i >= ERR_NOT_YOURS; i--)
        if (str_is(name, err_name(i)))
            return i;
    return ERR_IO; /* a newer version's */
}

/* Reads what view_error_json wrote. */
static void
read_error(struct cli *c, struct str raw, struct task_error *e)
{
    struct str allowed = raw_member(raw, "allowed"), item = STR_NONE;

    *e = (struct task_error){
        .code = error_code_of(raw_text(&c->a, raw_member(raw, "code"))),
        .message = raw_text(&c->a, raw_member(raw, "message")),
        .field = raw_text(&c->a, raw_member(raw, "field")),
        .next = raw_text(&c->a, raw_member(raw, "next")),
        .version = raw_u64(raw_member(raw, "current_version")),
        .holder = raw_member(raw, "holder"),
        .expires = raw_member(raw, "expires_at"),
        .taken = raw_member(raw, "taken_over"),
        .blocked_by = raw_member(raw, "blocked_by"),
        .deps_failed = raw_member(raw, "deps_failed"),
        .unknown = raw_member(raw, "outcome").p != NULL,
        .for_now = str_is(raw_member(raw, "retryable"), "true"),
        .gone = raw_member(raw, "agent_gone").p != NULL,
    };
    if (e->unknown)
        e->code = ERR_UNKNOWN;
    while ((item = raw_list_next(allowed, item)).p != NULL) {
        int s = task_status_of(raw_inner(item));

        e->allowed |= s >= 0 ? 1u << s : 0;
    }
}

/* ---- requests ---- */

/* Makes the message of q with these members of params, and runs it: on the
   server or, without one, here, where the command is no client of ours but acts
   for itself. Returns what server_ask does. */
static int
ask_for(struct cli *c, struct server_request *q, struct str params,
        const struct json_tok **result, const struct json_tok **error)
{
    static const char client[] = ",\"" META "clientInfo\":{\"name\":"
        "\"mcptask\",\"version\":\"" MCPTASK_VERSION "\"}";
    const struct json_tok *root;
    struct str answer;
    int rc;

    q->body = arena_printf(&c->a, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":"
        "\"%s\",\"params\":{%.*s,\"_meta\":{\"" META "protocolVersion\":\""
        SERVER_REV "\"%s,\"" META "clientCapabilities\":{}}}}", q->method,
        STR_ARG(params), c->env->server != NULL ? client : "");
    if (params.p == NULL || q->body.p == NULL)
        return cli_fail_store(c, ERR_NOMEM);
    if (c->env->server != NULL)
        return server_ask(c, q, result, error);
    rc = cli_run_message(c, q->body, q->person, &answer);
    if (rc == 0)
        rc = json_parse(&c->a, answer, &root, NULL);
    if (rc != 0)
        return rc < 0 ? cli_fail_store(c, rc) : rc;
    *result = json_get(root, "result");
    *error = json_get(root, "error");
    return 0;
}

/* The text, if it is an object as this program writes it; else .p NULL. */
static struct str
object_of(struct str text)
{
    struct raw_members m;
    int rc;

    if (text.p == NULL || !str_starts(text, "{") || !json_is_valid(text))
        return STR_NONE;
    m = raw_members_of(text);
    while ((rc = raw_next(&m)) == 1)
        ;
    return rc == 0 ? text : STR_NONE;
}

int
call_tool(struct cli *c, enum task_tool tool, struct str args,
          unsigned wait_s, struct str *answer, struct task_error *e)
{
    const char *name = tools_name(tool);
    struct server_request q = {.method = "tools/call", .name = str_of(name),
                               .wait_s = wait_s,
                               .person = c->person,
                               .writes = tools_writes(tool)};
    const struct json_tok *result, *error, *content;
    struct str text;
    int rc;

    *e = (struct task_error){.code = 0};
    if (args.p == NULL)
        return cli_fail_store(c, ERR_NOMEM);
    if (q.writes && c->env->read_only && c->env->server != NULL)
        return cli_fail(c, ERR_READONLY, "%s: leave --read-only out to change "
                        "tasks", c->cmd->name);
    rc = ask_for(c, &q, arena_printf(&c->a, "\"name\":\"%s\",\"arguments\":"
                                     "%.*s", name, STR_ARG(args)),
                 &result, &error);
    if (rc != 0)
        return rc;
    if (result == NULL)
        return fail_rpc(c, name, error);
    content = json_get(result, "content");
    text = content != NULL && content->type == JSON_ARRAY && content->n > 0
               ? json_str(&c->a, json_get(content + 1, "text")) : STR_NONE;
    *answer = object_of(text);
    if (answer->p == NULL && q.writes && c->env->server != NULL)
        return cli_fail(c, ERR_UNKNOWN, "%s: its answer is not understood"
                        SERVER_MAY_HAVE_WRITTEN, c->env->server);
    if (answer->p == NULL)
        return fail_strange(c);
    if (json_get(result, "isError") != NULL &&
        json_get(result, "isError")->type == JSON_TRUE)
        read_error(c, *answer, e);
    return 0;
}

/* Reads the resource at uri. 0 with its only content; ERR_NOT_FOUND with the
   server's error; or an exit code. */
static int
read_resource(struct cli *c, struct str uri, const struct json_tok **content,
              const struct json_tok **error)
{
    struct server_request q = {.method = "resources/read", .name = uri};
    const struct json_tok *result, *list;
    int rc;

    if (uri.p == NULL)
        return cli_fail_store(c, ERR_NOMEM);
    rc = ask_for(c, &q, arena_printf(&c->a, "\"uri\":\"%.*s\"", STR_ARG(uri)),
                 &result, error);
    if (rc != 0)
        return rc;
    if (result == NULL)
        return ERR_NOT_FOUND;
    list = json_get(result, "contents");
    if (list == NULL || list->type != JSON_ARRAY || list->n != 1)
        return fail_strange(c);
    *content = list + 1;
    return 0;
}

/* ---- tasks ---- */

/* Calls get_task with id and more members. 0; ERR_NOT_FOUND with *e; or an exit
   code. */
static int
call_get(struct cli *c, const char *id, struct str more, struct str *answer,
         struct task_error *e)
{
    struct buf b = {0};
    int rc;

    buf_z(&b, "{\"task_id\":");
    json_quote(&b, str_of(id));
    buf_printf(&b, "%.*s}", STR_ARG(more));
    b.err |= more.p == NULL ? ERR_NOMEM : 0;
    rc = call_tool(c, TOOL_GET, buf_take(&b, &c->a), 0, answer, e);
    if (rc != 0 || e->code == 0)
        return rc;
    /* The command line has words of its own for both. */
    c->gone = e->code == ERR_NOT_FOUND && str_is(e->field, "task_id") &&
              str_find(e->message, STR("archived")) != SIZE_MAX;
    return e->code == ERR_NOT_FOUND ? ERR_NOT_FOUND : cli_refuse(c, e);
}

static struct str
uri_of(struct cli *c, const char *id, const char *below)
{
    struct buf b = {0};

    buf_z(&b, "task://");
    for (; *id != '\0'; id++)
        if (*id == ':') /* else what follows would be a port */
            buf_z(&b, "%3A");
        else
            buf_char(&b, *id);
    buf_z(&b, below);
    return buf_take(&b, &c->a);
}

int
call_task_of(struct cli *c, struct str raw, struct task *k)
{
    int rc = raw.p == NULL ? ERR_FORMAT : task_of_json(&c->a, raw, k);

    if (rc == ERR_NOMEM)
        return cli_fail_store(c, rc);
    return rc == 0 ? 0 : fail_strange(c);
}

int
call_task(struct cli *c, const char *id, uint64_t version, struct task *k,
          struct task_error *e)
{
    const struct json_tok *content = NULL, *error;
    struct str text = STR_NONE;
    int rc = ERR_NOT_FOUND;

    *e = (struct task_error){.code = 0};
    if (version == 0 && task_is_id(str_of(id)))
        rc = read_resource(c, uri_of(c, id, ""), &content, &error);
    if (rc > 0)
        return rc;
    if (content != NULL) {
        text = object_of(json_str(&c->a, json_get(content, "text")));
    } else { /* which says why there is none */
        text = version > 0 ? arena_printf(&c->a, ",\"version\":" U64, version)
                           : STR("");
        rc = call_get(c, id, text, &text, e);
        if (rc != 0)
            return rc;
    }
    if (str_is(raw_member(text, "truncated"), "true"))
        return cli_fail(c, ERR_TOO_LARGE, "%s: its version " U64 " is too long "
                        "for an answer: show it where the store is", id,
                        version);
    return call_task_of(c, text, k);
}

int
call_tasks(struct cli *c, const char *const *id, size_t n,
           bool (*fn)(void *ctx, const struct task *k), void *ctx, bool *more)
{
    struct server_request q = {.method = "resources/read", .batch = true};
    const struct json_tok *list = NULL, *error, *item = NULL, *content;
    struct task_error e;
    struct buf b = {0};
    struct str text;
    struct task k;
    int rc;

    for (size_t i = 0; i < n; i++)
        buf_printf(&b, "%s{\"jsonrpc\":\"2.0\",\"id\":%zu,\"method\":"
                   "\"%s\",\"params\":{\"uri\":\"%.*s\"}}",
                   i > 0 ? "," : "[", i, q.method,
                   STR_ARG(uri_of(c, id[i], "")));
    buf_char(&b, ']');
    q.body = buf_take(&b, &c->a);
    rc = q.body.p == NULL ? cli_fail_store(c, ERR_NOMEM)
                          : server_ask(c, &q, &list, &error);
    /* A server that takes none is asked for each alone. */
    if (list != NULL && list->type == JSON_ARRAY && list->n == n)
        item = list + 1;
    for (size_t i = 0; rc == 0 && *more && i < n; i++) {
        content = json_get(json_get(item, "result"), "contents");
        text = content != NULL && content->type == JSON_ARRAY && content->n == 1
                   ? object_of(json_str(&c->a, json_get(content + 1, "text")))
                   : STR_NONE;
        rc = text.p != NULL ? call_task_of(c, text, &k)
                            : call_task(c, id[i], 0, &k, &e);
        if (rc == 0)
            *more = fn(ctx, &k);
        rc = rc == ERR_NOT_FOUND ? 0 : rc;
        item = item != NULL ? item + item->span : NULL;
    }
    return rc;
}

int
cli_task(struct cli *c, const char *id, struct task *k)
{
    struct task_error e;
    int rc;

    if (c->env->server != NULL)
        return call_task(c, id, 0, k, &e);
    rc = task_get(c->s.tasks, &c->a, str_of(id), k);
    return rc == 0 ? tasks_list_parts(c->s.tasks, &c->a, k) : rc;
}

/* The arguments of list_tasks that q stands for: all but what only a process
   with the store can ask. */
static struct str
list_args(struct cli *c, const struct task_query *q)
{
    static const int atoms[TASK_N_ATOMS] = {
        [ATOM_OWNER] = F_CURRENT_OWNER, [ATOM_REPO_PATH] = F_REPO_PATH,
        [ATOM_PARENT_ID] = F_PARENT_ID, [ATOM_TAGS] = ARG_TAG,
    };
    struct buf b = {0};
    struct json_w w;

    json_begin(&w, &b);
    json_put_int(&w, "limit", q->limit);
    for (int i = 0; i < TASK_N_ATOMS; i++)
        if (q->has[i].p != NULL) {
            json_key_str(&w, task_arg_name(atoms[i]));
            /* A project has several names, which a server finds itself. */
            json_splice(&w, project_first(q->has[i]));
        }
    if (q->text.p != NULL)
        json_put_str(&w, "query", q->text);
    if (q->ready == TASK_YES)
        json_put_bool(&w, "ready", true);
    if (q->stale == TASK_YES)
        json_put_bool(&w, "stale", true);
    if (q->needs_input == TASK_YES)
        json_put_bool(&w, "needs_input", true);
    if (q->include_done)
        json_put_bool(&w, "include_done", true);
    if (q->order != ORDER_CHANGED)
        json_put_z(&w, "order", task_arg_choices(ARG_ORDER)[q->order]);
    if (q->since_n > 0)
        json_put_int(&w, "changed_since", (int64_t)q->since_n);
    if (q->cursor.len > 0)
        json_put_str(&w, "cursor", q->cursor);
    if (q->status != 0)
        json_put_arr(&w, "status");
    for (int s = 0; s < TASK_N_STATUSES; s++)
        if (q->status & 1u << s)
            json_z(&w, task_status_name((enum task_status)s));
    if (q->status != 0)
        json_close(&w);
    json_end(&w);
    return buf_take(&b, &c->a);
}

int
call_list(struct cli *c, const struct task_query *q, struct task_list *out)
{
    struct str answer, tasks, item = STR_NONE;
    struct task_error e;
    int rc = call_tool(c, TOOL_LIST, list_args(c, q), 0, &answer, &e);

    if (rc != 0)
        return rc;
    if (e.code != 0)
        return cli_refuse(c, &e);
    tasks = raw_member(answer, "tasks");
    *out = (struct task_list){
        .tasks = arena_alloc(&c->a, (raw_list_n(tasks) + 1) *
                                    sizeof *out->tasks),
        .next = raw_text(&c->a, raw_member(answer, "next_cursor")),
        .exact = raw_member(answer, "total").p != NULL,
        .head = raw_u64(raw_member(answer, "head_seq")),
    };
    out->total = raw_u64(raw_member(answer, out->exact ? "total"
                                                       : "total_at_least"));
    if (out->tasks == NULL)
        return cli_fail_store(c, ERR_NOMEM);
    while (rc == 0 && (item = raw_list_next(tasks, item)).p != NULL)
        rc = call_task_of(c, item, &out->tasks[out->n++]);
    return rc == 0 && !str_starts(tasks, "[") ? fail_strange(c) : rc;
}

/* ---- events ---- */

int
call_event_of(struct cli *c, struct arena *a, struct str raw, struct str title,
              struct task_event *out)
{
    *out = (struct task_event){
        .r.n = raw_u64(raw_member(raw, "seq")),
        .r.time = raw_inner(raw_member(raw, "at")),
        .id = raw_inner(raw_member(raw, "task_id")),
        .op = raw_inner(raw_member(raw, "op")),
        .by = raw_member(raw, "by"),
        .set = raw_member(raw, "changed"),
        .note = raw_member(raw, "note"),
        .warn = raw_member(raw, "warnings"),
        .token = raw_member(raw, "token"),
        .v = raw, /* it has status and version, as a state has */
    };
    if (title.p != NULL)
        out->v = arena_printf(a, "%.*s,\"title\":%.*s}", (int)raw.len - 1,
                              raw.p, STR_ARG(title));
    if (out->v.p == NULL)
        return cli_fail_store(c, ERR_NOMEM);
    return out->r.n > 0 && out->id.p != NULL && out->op.p != NULL
               ? 0 : fail_strange(c);
}

int
call_history(struct cli *c, const char *id, uint64_t since, uint64_t max,
             bool (*fn)(void *ctx, struct str raw), void *ctx, bool *dropped)
{
    struct arena kept = c->a; /* the caller may be in the middle of a list */
    struct str answer, item, cursor;
    struct task_error e;
    char next[32] = "";
    bool more = max > 0;
    int rc = 0;

    c->a = (struct arena){NULL, NULL};
    *dropped = false;
    while (rc == 0 && more) {
        rc = call_get(c, id, arena_printf(&c->a, ",\"section\":\"history\","
                                          "\"since_seq\":" U64 ",\"limit\":" U64
                                          "%s%s%s", since,
                                          max < HISTORY_PART ? max
                                                             : HISTORY_PART,
                                          next[0] ? ",\"cursor\":\"" : "", next,
                                          next[0] ? "\"" : ""),
                      &answer, &e);
        if (rc != 0)
            break;
        item = STR_NONE;
        while (more && (item = raw_list_next(raw_member(answer, "events"),
                                             item)).p != NULL)
            more = fn(ctx, item) && --max > 0;
        *dropped = raw_member(answer, "older_dropped").p != NULL;
        cursor = raw_inner(raw_member(answer, "next_cursor"));
        more = more && cursor.p != NULL;
        text_put(next, sizeof next, "%.*s", STR_ARG(cursor));
        arena_reset(&c->a);
    }
    arena_fini(&c->a);
    c->a = kept;
    return rc;
}

/* ---- artifacts, ids ---- */

int
call_content(struct cli *c, const char *id, const char *artifact,
             struct str *content)
{
    const struct json_tok *got = NULL, *error;
    struct str below = arena_printf(&c->a, "/artifacts/%s", artifact);
    int rc;

    if (below.p == NULL)
        return cli_fail_store(c, ERR_NOMEM);
    rc = read_resource(c, uri_of(c, id, below.p), &got, &error);
    if (rc == ERR_NOT_FOUND)
        return fail_rpc(c, "its content cannot be read", error);
    if (rc != 0)
        return rc;
    *content = json_str(&c->a, json_get(got, "text"));
    if (content->p != NULL)
        return 0;
    *content = json_str(&c->a, json_get(got, "blob"));
    if (content->p == NULL)
        return fail_strange(c);
    rc = base64_decode(&c->a, *content, content);
    if (rc == ERR_NOMEM)
        return cli_fail_store(c, rc);
    return rc == 0 ? 0 : fail_strange(c);
}

int
call_ids(struct cli *c, struct str start, struct str *ids, int max)
{
    struct server_request q = {.method = "completion/complete"};
    const struct json_tok *result, *error, *list, *item;
    int rc, n = 0;

    rc = ask_for(c, &q, arena_printf(&c->a, "\"ref\":{\"type\":"
                                     "\"ref/resource\","
                                     "\"uri\":\"task://{task_id}\"},"
                                     "\"argument\":{\"name\":\"task_id\","
                                     "\"value\":\"%.*s\"}", STR_ARG(start)),
                 &result, &error);
    if (rc != 0)
        return -rc;
    if (result == NULL)
        return -fail_rpc(c, "completion", error);
    list = json_get(json_get(result, "completion"), "values");
    if (list == NULL || list->type != JSON_ARRAY)
        return -fail_strange(c);
    item = list + 1;
    for (uint32_t i = 0; i < list->n && n < max; i++, item += item->span) {
        ids[n] = json_str(&c->a, item);
        n += task_is_id(ids[n]) && str_begins(ids[n], start);
    }
    return n;
}
