/* methods - the parameters and results of each method, in each revision.

   The table of methods says which revisions have a method, what it needs from
   the catalogue, and how long its result may be cached. Only the functions next
   to it depend on the revision as well: put_capabilities, put_title,
   put_server, run_tools_list, run_call, mcp_put_result.

   Invariants:
   1. A judge is called once, a handler as often as the caller likes: its answer
      and what it stages are its only effects.
   2. A handler appends members of a result, the first without a comma. The
      caller adds the frame around them, and cuts all of it back on failure.
   3. The output of a tool or resource is trusted to be JSON, and never
      parsed. */

#include "mcp/methods.h"
#include "store/remote.h"
#include "base/text.h"
#include "base/utf8.h"
#include "mcp/deferred.h"
#include "mcp/dialect.h"
#include "mcp/run.h"
#include "mcp/session.h"
#include "mcp/stream.h"

#include <string.h>

#define LIST_TTL_MS 300000 /* a restart may bring another catalogue */

/* The names of capabilities; CORE and SKILLS have none. */
static const char feature_names[N_FEATURES][sizeof "completions"] = {
    "", "tools", "prompts", "resources", "completions", "logging", "tasks",
};

static bool
offers(const struct mcp *m, enum feature f)
{
    const struct mcp_catalogue *c = m->cat;
    size_t i = 0;

    switch (f) {
    case TOOLS:
        return c->n_tools > 0;
    case PROMPTS:
        return c->n_prompts > 0 || c->prompts_change;
    case RESOURCES:
        return c->resources != NULL;
    case COMPLETIONS:
        return c->complete != NULL;
    case TASKS:
        while (i < c->n_tools && c->tools[i].tasks == MCP_TASK_FORBIDDEN)
            i++;
        return i < c->n_tools;
    case SKILLS:
        return c->skills != NULL;
    default:
        return true;
    }
}

/* ---- parameters, by method ---- */

/* Agrees to a known revision. Else it offers the newest that has a handshake,
   and the client decides whether to go on. The session that it sets up is that
   of its channel or, over HTTP, a new one. Without a key to sign its id there
   is none, and each later request stands alone. */
static int
judge_initialize(struct request *r)
{
    const struct json_tok *asked = json_get(r->params, "protocolVersion");
    struct mcp_message *m = r->m;
    struct str version = mcp_text_of(m, asked),
               client = mcp_text_of(
                   m, json_get(json_get(r->params, "clientInfo"), "name"));
    int rev = mcp_rev_of(version), err;
    struct mcp_session *s;

    if (m->no_memory)
        return ERR_NOMEM;
    if (asked != NULL && version.p == NULL)
        return mcp_refuse_params(r, "protocolVersion must be a string");
    if (rev < 0 || rev > MCP_NEWEST_HANDSHAKE)
        rev = MCP_NEWEST_HANDSHAKE;
    if (m->s == &m->scratch && m->http) {
        m->s = mcp_session_new(m->m, m->f);
        m->made = true;
    }
    s = m->s;
    if (s == NULL)
        return ERR_NOMEM;
    r->rev = s->rev = (enum mcp_rev)rev;
    s->initialized = true;
    s->caps = mcp_caps_of(json_get(r->params, "capabilities")) &
              ~(unsigned)MCP_EXTENSION; /* a matter of each request */
    s->log_level = MCP_LOG_DEFAULT;
    client = utf8_cut(client, sizeof(s->client) - 1);
    text_put(s->client, sizeof(s->client), "%.*s", STR_ARG(client));
    err = m->made ? mcp_session_seal(s) : 0;
    if (err == 0)
        return 0;
    mcp_session_free(s);
    m->s = &m->scratch;
    m->made = false;
    return err == ERR_NOMEM ? err : 0;
}

static bool
is_subscribe(const struct request *r)
{
    return str_is(r->name, "resources/subscribe");
}

/* Decides whether r has to write, before anybody takes a lock for it or even
   makes a log. Messages queued before it may still change that. */
static int
note_change(struct request *r)
{
    const struct mcp_message *m = r->m;
    bool adds = is_subscribe(r);

    r->changes = m->s != &m->scratch &&
                 (m->s->n_queued > 0 || m->batch ||
                  mcp_session_changes(m->s, r->log_level,
                                      adds ? r->target : STR_NONE,
                                      adds ? STR_NONE : r->target));
    return 0;
}

static int
judge_level(struct request *r)
{
    r->log_level = mcp_level_of(json_get(r->params, "level"));
    return r->log_level >= 0 ? note_change(r)
                             : mcp_refuse_params(r, "Unknown log level");
}

static int
judge_page(struct request *r)
{
    const struct json_tok *cursor = json_get(r->params, "cursor");

    r->target = mcp_text_of(r->m, cursor);
    if (!is_absent(cursor) && r->target.p == NULL)
        return mcp_refuse_params(r, "cursor must be a string");
    return 0;
}

/* A list that has only one page never gives out a cursor. */
static int
judge_only_page(struct request *r)
{
    int err = judge_page(r);

    if (err == 0 && r->target.p != NULL)
        return mcp_refuse_params(r, "Unknown cursor");
    return err;
}

static int
judge_read(struct request *r)
{
    return r->target.p != NULL ? 0
                               : mcp_refuse_params(r, "uri must be a string");
}

/* No header repeats the uri of a skill. */
static int
judge_skill(struct request *r)
{
    r->target = mcp_text_of(r->m, json_get(r->params, "uri"));
    return judge_read(r);
}

/* Any uri is valid: its resource may be created later. */
static int
judge_subscription(struct request *r)
{
    if (r->m->s == &r->m->scratch)
        return mcp_refuse(r, MCP_OK, RPC_INVALID_REQUEST,
                          "A subscription needs a session", STR_NONE);
    return r->target.p != NULL ? note_change(r) : judge_read(r);
}

/* Arguments that are not an object are an error of the protocol. Errors inside
   them the tool reports to the model, as a result. */
static int
judge_args(struct request *r)
{
    const struct json_tok *args = json_get(r->params, "arguments");

    if (!is_absent(args) && args->type != JSON_OBJECT)
        return mcp_refuse_params(r, "arguments must be an object");
    r->call.args = is_absent(args) ? NULL : args;
    return 0;
}

static int
refuse_name(struct request *r, const char *text)
{
    if (r->target.p == NULL)
        return mcp_refuse_params(r, "name must be a string");
    return mcp_refuse(r, MCP_OK, RPC_INVALID_PARAMS, text, r->target);
}

static int
judge_call(struct request *r)
{
    const struct mcp_tool *tool = mcp_find_tool(r->m->m->cat, r->target);
    int err = tool == NULL ? refuse_name(r, "Unknown tool") : judge_args(r);

    if (err != 0)
        return err;
    r->tool = tool;
    r->call.number = tool->number;
    return mcp_task_judge_call(r);
}

static int
judge_prompt(struct request *r)
{
    const struct mcp_catalogue *c = r->m->m->cat;
    const struct json_tok *name;
    size_t i = 0;
    int err;

    while (i < c->n_prompts && !str_is(r->target, c->prompts[i].name))
        i++;
    err = i == c->n_prompts ? refuse_name(r, "Unknown prompt") : judge_args(r);
    if (err != 0)
        return err;
    r->prompt = &c->prompts[i];
    r->call.number = r->prompt->number;
    name = r->call.args != NULL ? r->call.args + 1 : NULL;
    for (uint32_t k = 0; name != NULL && k < r->call.args->n;
         k++, name += 1 + name[1].span)
        if (name[1].type != JSON_STRING)
            return mcp_refuse_params(r, "arguments must be strings");
    for (const struct mcp_prompt_arg *arg = r->prompt->args;
         arg != NULL && arg->name != NULL; arg++)
        if (arg->required && json_get(r->call.args, arg->name) == NULL)
            return mcp_refuse(r, MCP_OK, RPC_INVALID_PARAMS,
                              "Missing argument", str_of(arg->name));
    return 0;
}

static int
judge_complete(struct request *r)
{
    const struct json_tok *ref = json_get(r->params, "ref"),
                          *arg = json_get(r->params, "argument");
    struct mcp_completion *q = &r->complete;

    q->prompt = json_is(json_get(ref, "type"), "ref/prompt");
    q->ref = mcp_text_of(r->m, json_get(ref, q->prompt ? "name" : "uri"));
    q->argument = mcp_text_of(r->m, json_get(arg, "name"));
    q->value = mcp_text_of(r->m, json_get(arg, "value"));
    if ((!q->prompt && !json_is(json_get(ref, "type"), "ref/resource")) ||
        q->ref.p == NULL || q->argument.p == NULL || q->value.p == NULL)
        return mcp_refuse_params(r, "ref needs a type and a name or uri, "
                                    "argument a name and a value");
    return 0;
}

/* ---- results ---- */

static void
put_if_text(struct json_w *w, const char *name, const char *text)
{
    if (text != NULL)
        json_put_z(w, name, text);
}

static void
put_title(struct json_w *w, const char *title, enum mcp_rev rev)
{
    if (rev >= MCP_2025_06_18)
        put_if_text(w, "title", title);
}

/* Writes the Implementation that each schema has. A modern client gets it with
   every answer, and its description only when it asks what this server is. */
static void
put_server(struct json_w *w, const char *key, const struct request *r)
{
    const struct mcp_catalogue *c = r->m->m->cat;

    json_put_obj(w, key);
    json_put_z(w, "name", c->name);
    put_title(w, c->title, r->rev);
    json_put_z(w, "version", c->version);
    if (r->rev >= MCP_2025_11_25 &&
        (!is_modern(r) || str_is(r->name, "server/discover"))) {
        put_if_text(w, "description", c->description);
        if (c->icon != NULL) {
            json_put_arr(w, "icons");
            json_obj(w);
            json_put_z(w, "src", c->icon);
            json_put_z(w, "mimeType", "image/svg+xml");
            json_close(w);
            json_close(w);
        }
    }
    json_close(w);
}

/* The first schema has the method of completions, but no capability. From
   2026-07-28 on this is cached for all clients: see run_tools_list. */
static void
put_capabilities(struct json_w *w, const struct request *r)
{
    const struct mcp_catalogue *c = r->m->m->cat;
    bool tasks = offers(r->m->m, TASKS), skills = offers(r->m->m, SKILLS);
    bool ui = false; /* whether a tool has an MCP App */
    bool changes[N_FEATURES] = {[TOOLS] = c->tools_change,
                                [PROMPTS] = c->prompts_change,
                                [RESOURCES] = true};

    for (size_t i = 0; i < c->n_tools; i++)
        ui |= c->tools[i].ui != NULL;
    json_put_obj(w, "capabilities");
    if (is_modern(r) && (tasks || skills || ui)) {
        json_put_obj(w, "extensions");
        if (tasks)
            json_put_raw(w, MCP_META "tasks", STR("{}"));
        if (skills)
            json_put_raw(w, MCP_META "skills", STR("{}"));
        if (ui)
            json_put_raw(w, MCP_META "ui", STR("{}"));
        json_close(w);
    }
    if (tasks && r->rev == MCP_2025_11_25)
        json_put_raw(w, feature_names[TASKS],
                     STR("{\"list\":{},\"cancel\":{},\"requests\":"
                         "{\"tools\":{\"call\":{}}}}"));
    for (int f = CORE + 1; f < TASKS; f++) {
        if (!offers(r->m->m, (enum feature)f) ||
            (f == COMPLETIONS && r->rev < MCP_2025_03_26))
            continue;
        json_put_obj(w, feature_names[f]);
        if (f == RESOURCES)
            json_put_bool(w, "subscribe", true);
        if (changes[f])
            json_put_bool(w, "listChanged", true);
        json_close(w);
    }
    json_close(w);
}

static int
run_empty(struct request *r)
{
    (void)r;
    return 0;
}

static int
run_initialize(struct request *r)
{
    struct json_w *w = &r->run.w;

    json_put_z(w, "protocolVersion", mcp_rev_name(r->rev));
    put_capabilities(w, r);
    put_server(w, "serverInfo", r);
    put_if_text(w, "instructions", r->m->m->cat->instructions);
    return 0;
}

static int
run_discover(struct request *r)
{
    struct json_w *w = &r->run.w;

    json_key(w, "supportedVersions");
    mcp_put_versions(w);
    put_capabilities(w, r);
    put_if_text(w, "instructions", r->m->m->cat->instructions);
    return 0;
}

/* A list of the server's own has one page. What is cached for all clients must
   not depend on one. */
static int
run_tools_list(struct request *r)
{
    const struct mcp_catalogue *c = r->m->m->cat;
    struct json_w *w = &r->run.w;

    json_put_arr(w, "tools");
    for (const struct mcp_tool *t = c->tools; t < c->tools + c->n_tools; t++) {
        bool ui = t->ui != NULL && (is_modern(r) || (r->call.caps & MCP_UI));

        json_obj(w);
        json_put_z(w, "name", t->name);
        put_title(w, t->title, r->rev);
        put_if_text(w, "description", t->description);
        json_put_raw(w, "inputSchema", str_of(t->input_schema));
        if (r->rev >= MCP_2025_03_26) {
            json_put_obj(w, "annotations");
            if (r->rev < MCP_2025_06_18)
                put_if_text(w, "title", t->title);
            /* A hint left out is false, and means nothing for a tool that
               reads. */
            json_put_bool(w, t->writes ? "destructiveHint" : "readOnlyHint",
                          !t->writes);
            if (t->writes && t->idempotent)
                json_put_bool(w, "idempotentHint", true);
            json_put_bool(w, "openWorldHint", false);
            json_close(w);
        }
        if (r->rev == MCP_2025_11_25 && t->tasks != MCP_TASK_FORBIDDEN)
            json_put_raw(w, "execution",
                         t->tasks == MCP_TASK_REQUIRED
                             ? STR("{\"taskSupport\":\"required\"}")
                             : STR("{\"taskSupport\":\"optional\"}"));
        if (ui || t->hint != NULL) {
            json_put_obj(w, "_meta");
            put_if_text(w, "anthropic/searchHint", t->hint);
            if (ui) {
                json_put_obj(w, "ui");
                json_put_z(w, "resourceUri", t->ui);
                json_close(w);
            }
            json_close(w);
        }
        json_close(w);
    }
    json_close(w);
    return 0;
}

static int
run_templates_list(struct request *r)
{
    const struct mcp_catalogue *c = r->m->m->cat;
    struct json_w *w = &r->run.w;

    json_put_arr(w, "resourceTemplates");
    for (size_t i = 0; i < c->n_templates; i++) {
        const struct mcp_template *t = &c->templates[i];

        json_obj(w);
        json_put_z(w, "uriTemplate", t->uri_template);
        json_put_z(w, "name", t->name);
        put_title(w, t->title, r->rev);
        put_if_text(w, "description", t->description);
        put_if_text(w, "mimeType", t->mime_type);
        json_close(w);
    }
    json_close(w);
    return 0;
}

static int
run_prompts_list(struct request *r)
{
    const struct mcp_catalogue *c = r->m->m->cat;
    struct json_w *w = &r->run.w;

    json_put_arr(w, "prompts");
    for (size_t i = 0; i < c->n_prompts; i++) {
        const struct mcp_prompt *p = &c->prompts[i];
        const struct mcp_prompt_arg *arg = p->args;

        json_obj(w);
        json_put_z(w, "name", p->name);
        put_title(w, p->title, r->rev);
        put_if_text(w, "description", p->description);
        json_put_arr(w, "arguments");
        for (; arg != NULL && arg->name != NULL; arg++) {
            json_obj(w);
            json_put_z(w, "name", arg->name);
            put_if_text(w, "description", arg->description);
            json_put_bool(w, "required", arg->required);
            json_close(w);
        }
        json_close(w);
        json_close(w);
    }
    json_close(w);
    return 0;
}

/* The tool's output is copied first, since out moves as it grows. An error is
   only text: clients check structured content against an outputSchema. */
static int
run_call(struct request *r)
{
    struct mcp_call *c = &r->call;
    struct json_w *w = &r->run.w;
    struct buf *out = c->out;
    size_t at = out->len;
    struct str said;
    int err;

    if (r->tool->writes && c->read_only)
        return ERR_UNAUTHORIZED;
    if (r->runs_as.len > 0)
        return mcp_task_result(r);
    err = r->tool->run(c);
    if (err != 0 || out->err != 0)
        return err != 0 ? err : out->err;
    if (r->m->m->cat->put_notice != NULL && !c->content) {
        out->len--; /* its brace */
        r->m->m->cat->put_notice(c->ctx, out);
        buf_char(out, '}');
    }
    said = arena_str(c->arena, (struct str){out->p + at, out->len - at});
    if (said.p == NULL)
        return ERR_NOMEM;
    out->len = at;
    if (c->content) {
        json_put_raw(w, "content", said);
    } else {
        mcp_put_output(w, said, !c->is_error &&
                       mcp_is_structured(r->m->m, r->rev));
    }
    if (c->is_error)
        json_put_bool(w, "isError", true);
    return 0;
}

static int
run_resources_list(struct request *r)
{
    struct json_w *w = &r->run.w;
    struct str next = STR_NONE;
    int err;

    json_put_arr(w, "resources");
    err = r->m->m->cat->resources(&r->call, r->target, &next);
    json_close(w);
    if (next.len > 0)
        json_put_str(w, "nextCursor", next);
    return err;
}

static int
run_resource_read(struct request *r)
{
    int err;

    json_put_arr(&r->run.w, "contents");
    err = r->m->m->cat->resource_read(&r->call, r->target);
    json_close(&r->run.w);
    return err;
}

static int
run_skills_list(struct request *r)
{
    int err;

    json_put_arr(&r->run.w, "skills");
    err = r->m->m->cat->skills(&r->call, STR(""));
    json_close(&r->run.w);
    return err;
}

/* The entry is copied first, since out moves as it grows. */
static int
run_skill(struct request *r)
{
    struct buf *out = r->call.out;
    size_t at = out->len;
    int err = r->target.len > 0 ? r->m->m->cat->skills(&r->call, r->target)
                                : ERR_NOT_FOUND;
    struct str entry = arena_str(r->call.arena, str_from(buf_view(out), at));

    r->call.why = "Unknown skill";
    if (err != 0)
        return err == ERR_NOT_FOUND ? ERR_INVALID : err;
    if (entry.p == NULL)
        return ERR_NOMEM;
    out->len = at;
    json_put_raw(&r->run.w, "skill", entry);
    return 0;
}

static int
run_prompt(struct request *r)
{
    int err;

    r->call.why = NULL;
    json_put_arr(&r->run.w, "messages");
    err = r->prompt->run(&r->call);
    json_close(&r->run.w);
    put_if_text(&r->run.w, "description", r->prompt->description);
    return err == ERR_NOT_FOUND ? ERR_INVALID : err;
}

static int
run_complete(struct request *r)
{
    struct mcp_completion q = r->complete;
    struct json_w *w = &r->run.w;
    size_t start;
    int err;

    r->call.why = "Unknown prompt, template or argument";
    json_put_obj(w, "completion");
    json_put_arr(w, "values");
    start = r->call.out->len;
    err = r->m->m->cat->complete(&r->call, &q);
    json_close(w);
    if (q.total > 0 || r->call.out->len == start + 1)
        json_put_int(w, "total", (int64_t)q.total);
    json_put_bool(w, "hasMore", q.more);
    json_close(w);
    return err;
}

/* Changes a session: its log level, or a subscription to target. */
static int
run_change(struct request *r)
{
    bool adds = is_subscribe(r);

    if (!r->changes)
        return 0;
    return mcp_session_set(r->m->s, r->log_level, false,
                           adds ? r->target : STR_NONE,
                           adds ? STR_NONE : r->target);
}

/* ---- methods ---- */

#define EVER MCP_2024_11_05, MCP_2026_07_28
#define HANDSHAKE MCP_2024_11_05, MCP_NEWEST_HANDSHAKE
#define MODERN MCP_OLDEST_MODERN, MCP_2026_07_28
#define SEP_1686 MCP_2025_11_25, MCP_2025_11_25
#define TASKED MCP_2025_11_25, MCP_2026_07_28

static const struct method methods[] = {
    {"tools/call", EVER, TOOLS, UNCACHED, "name", judge_call, run_call},
    {"tools/list", EVER, TOOLS, CACHE_PUBLIC, NULL, judge_only_page,
     run_tools_list},
    {"tasks/get", TASKED, TASKS, UNCACHED, "taskId", mcp_task_judge,
     mcp_task_get},
    {"tasks/cancel", TASKED, TASKS, WRITES, "taskId", mcp_task_judge,
     mcp_task_cancel},
    {"tasks/result", SEP_1686, TASKS, UNCACHED, "taskId", mcp_task_judge,
     mcp_task_result},
    {"tasks/list", SEP_1686, TASKS, UNCACHED, NULL, judge_page,
     mcp_task_list},
    {"tasks/update", MODERN, TASKS, WRITES, "taskId", mcp_task_judge_update,
     mcp_task_update},
    {"resources/list", EVER, RESOURCES, CACHE_PRIVATE, NULL, judge_page,
     run_resources_list},
    {"resources/read", EVER, RESOURCES, CACHE_PRIVATE, "uri", judge_read,
     run_resource_read},
    {"resources/templates/list", EVER, RESOURCES, CACHE_PUBLIC, NULL,
     judge_only_page, run_templates_list},
    {"skills/list", MODERN, SKILLS, CACHE_PUBLIC, NULL, judge_only_page,
     run_skills_list},
    {"skills/get", MODERN, SKILLS, CACHE_PUBLIC, NULL, judge_skill, run_skill},
    {"prompts/get", EVER, PROMPTS, UNCACHED, "name", judge_prompt, run_prompt},
    {"prompts/list", EVER, PROMPTS, CACHE_PUBLIC, NULL, judge_only_page,
     run_prompts_list},
    {"completion/complete", EVER, COMPLETIONS, UNCACHED, NULL, judge_complete,
     run_complete},
    {"server/discover", MODERN, CORE, CACHE_PUBLIC, NULL, NULL, run_discover},
    {"subscriptions/listen", MODERN, CORE, UNCACHED, NULL, mcp_listen_judge,
     mcp_listen_run},
    {"initialize", HANDSHAKE, CORE, UNCACHED, NULL, judge_initialize,
     run_initialize},
    {"ping", HANDSHAKE, CORE, UNCACHED, NULL, NULL, run_empty},
    {"logging/setLevel", HANDSHAKE, LOGGING, UNCACHED, NULL, judge_level,
     run_change},
    {"resources/subscribe", HANDSHAKE, RESOURCES, UNCACHED, "uri",
     judge_subscription, run_change},
    {"resources/unsubscribe", HANDSHAKE, RESOURCES, UNCACHED, "uri",
     judge_subscription, run_change},
};

const struct method *const mcp_method_call = &methods[0];

/* Finds the method that r names in its revision, if any, and its target.
   mcp_accept judges later whether there is one. */
void
mcp_find_method(struct request *r)
{
    const struct method *m, *end = methods + sizeof(methods) / sizeof(*methods);

    for (m = methods; m < end && r->method == NULL; m++)
        if (str_is(r->name, m->name) && r->rev >= m->from &&
            r->rev <= m->to && offers(r->m->m, (enum feature)m->feature))
            r->method = m;
    if (r->method != NULL && r->method->target != NULL)
        r->target = mcp_text_of(r->m, json_get(r->params, r->method->target));
}

int
mcp_check_params(struct request *r)
{
    struct mcp_message *m = r->m;
    struct mcp_call *c = &r->call;
    struct str name;
    int err = 0;

    *c = (struct mcp_call){
        .ctx = m->m->cat->ctx,
        .arena = m->a,
        .rev = r->rev,
        .principal = m->f->principal,
        .read_only = m->f->read_only,
        .person = m->f->person,
        .may_wait = !m->batch,
        .of = r,
    };
    if (r->method == mcp_method_call) {
        c->first = !m->s->local && !m->s->called;
        m->s->called = true;
    }
    if (m->s->local && m->m->cat->agent != NULL)
        c->agent = str_of(m->m->cat->agent);
    if (is_modern(r)) {
        c->caps = mcp_caps_of(json_get(r->meta, MCP_META
                                       "clientCapabilities"));
        r->extends = (c->caps & MCP_EXTENSION) != 0;
        c->caps &= ~(unsigned)MCP_EXTENSION;
        r->log_level = mcp_level_of(json_get(r->meta, MCP_META "logLevel"));
        name = mcp_text_of(
            m, json_get(json_get(r->meta, MCP_META "clientInfo"), "name"));
    } else {
        c->caps = m->batch ? 0 : m->s->caps;
        name = arena_str(m->a, str_of(m->s->client));
        m->no_memory |= name.p == NULL;
    }
    c->client = utf8_cut(name, sizeof(m->s->client) - 1);
    if (r->method->judge != NULL)
        err = r->method->judge(r);
    /* Only methods whose target is in a header may ask for input. */
    if (err == 0 && is_modern(r) && r->method->target != NULL)
        err = mcp_check_inputs(r);
    return err;
}

int
mcp_put_result(struct request *r, struct buf *out)
{
    static const char types[][sizeof "input_required"] = {
        [0] = "complete", [MCP_NEEDS_INPUT] = "input_required",
        [MCP_TASK] = "task",
    };
    struct json_w *w = &r->run.w;
    struct store *s = r->m->m->store;
    size_t start = out->len, staged = store_staged_n(s);
    int err = mcp_run_method(r, out), cache = r->method->cache;
    int64_t stale_ms = store_stale_ms(s); /* other hosts may know more */

    /* The first run makes r a deferred call if its client asked for that, or
       only a record can wait for this. */
    if (r->tool != NULL && !r->m->waited &&
        (r->task ||
         (err == MCP_RUN_WAITS && (r->run.defers || r->run.unanswered)))) {
        err = mcp_deferred_create(r, err);
        /* A client that has not asked for a record gets a plain call. */
        if (err < 0 && err != ERR_TOO_LARGE && r->extends &&
            store_staged_n(s) == staged) {
            r->extends = false;
            out->len = start;
            return mcp_put_result(r, out);
        }
    }
    if (err < 0)
        return err;
    if (is_modern(r))
        json_put_z(w, "resultType", types[err]);
    if (is_modern(r) && cache >= CACHE_PUBLIC && err != MCP_NEEDS_INPUT) {
        json_put_int(w, "ttlMs", cache == CACHE_PUBLIC ? LIST_TTL_MS : 0);
        json_put_z(w, "cacheScope",
                   cache == CACHE_PUBLIC ? "public" : "private");
    }
    /* In the handshake era few results may have _meta. */
    if (is_modern(r) ||
        (err == 0 && stale_ms > 0 && r->runs_as.len == 0 &&
         (r->method->run == run_call || r->method->run == run_resource_read))) {
        json_put_obj(w, "_meta");
        if (r->listen != NULL)
            json_put_raw(w, MCP_SUBSCRIPTION, r->id);
        if (stale_ms > 0)
            json_put_int(w, "mcptask/stale_ms", stale_ms);
        if (is_modern(r))
            put_server(w, MCP_META "serverInfo", r);
        json_close(w);
    }
    json_close(w);
    json_end(w);
    mcp_listen_put_end(r, out);
    return 0;
}
