/* mcp_methods - what each method takes and gives, in each revision.

   The table of methods says in which revisions there is one, what it needs
   of the catalogue, and how long its result may be kept. Next to it stands
   all else that depends on the revision: offers, put_server, put_tool,
   run_templates_list, run_call, close_result. The judges of parameters and
   the other handlers never ask for it.

   Invariants:
   1. A judge is called once, a handler as often as the caller likes: only
      judges write to the session, and a handler leaves nothing behind but
      its answer.
   2. A handler appends members of a result, the first without a comma; what
      frames them is added around it, and all of it is cut back by the caller
      when it fails.
   3. What a tool or resource appends is taken as the JSON that it has to be,
      and never parsed. */

#include "mcp_int.h"

#include <string.h>

#define LIST_TTL_MS 300000 /* a restart may bring another catalogue */
#define LEVEL_DEFAULT 6     /* info */

static const char rev_names[MCP_N_REVS][sizeof "2024-11-05"] = {
    "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28",
};

/* By RFC 5424 severity. */
static const char level_names[][sizeof "emergency"] = {
    "emergency", "alert", "critical", "error",
    "warning",   "notice", "info",    "debug",
};

/* As capabilities are called; CORE is none. */
static const char feature_names[N_FEATURES][sizeof "resources"] = {
    "", "tools", "resources", "logging",
};

const char *
mcp_rev_name(enum mcp_rev rev)
{
    return rev_names[rev];
}

int
mcp_rev_of(struct str name)
{
    int i;

    for (i = 0; i < MCP_N_REVS; i++)
        if (str_is(name, rev_names[i]))
            return i;
    return -1;
}

static bool
offers(const struct mcp_catalogue *c, enum mcp_rev rev, enum feature f)
{
    switch (f) {
    case TOOLS:
        return c->n_tools > 0;
    case RESOURCES:
        return c->resources != NULL;
    case LOGGING: /* deprecated and set per request from 2026-07-28 on */
        return rev <= MCP_2025_11_25;
    default:
        return true;
    }
}

int
mcp_level_of(const struct json_tok *t)
{
    size_t i;

    for (i = 0; i < sizeof(level_names) / sizeof(*level_names); i++)
        if (json_is(t, level_names[i]))
            return (int)i;
    return -1;
}

/* What is wrong with parameters alone goes out with 200 in both eras. */
static int
refuse_params(struct request *r, const char *text)
{
    return mcp_refuse(r, MCP_OK, RPC_INVALID_PARAMS, text, NULL, STR_NONE);
}

/* ---- parameters, by method ---- */

/* Known here: agreed to. Else the newest that has a handshake, and the client
   decides whether it can live with that. */
static int
judge_initialize(struct request *r)
{
    const struct json_tok *asked = json_get(r->params, "protocolVersion");
    const struct json_tok *info = json_get(r->params, "clientInfo");
    struct mcp_session *s = r->m->s;
    struct str version, client;
    int rev;

    if (mcp_text(r->m->a, asked, &version) != 0 ||
        mcp_text(r->m->a, json_get(info, "name"), &client) != 0)
        return ERR_NOMEM;
    if (asked != NULL && version.p == NULL)
        return refuse_params(r, "protocolVersion must be a string");
    rev = mcp_rev_of(version);
    if (rev < 0 || rev > MCP_NEWEST_HANDSHAKE)
        rev = MCP_NEWEST_HANDSHAKE;
    client = mcp_cut(client, sizeof(s->client) - 1);
    *s = (struct mcp_session){.initialized = true,
                              .rev = (enum mcp_rev)rev,
                              .log_level = LEVEL_DEFAULT};
    if (client.len > 0)
        memcpy(s->client, client.p, client.len);
    r->rev = s->rev;
    return 0;
}

static int
judge_level(struct request *r)
{
    int level = mcp_level_of(json_get(r->params, "level"));

    if (level < 0)
        return refuse_params(r, "Unknown log level");
    r->m->s->log_level = level;
    return 0;
}

static int
judge_page(struct request *r)
{
    const struct json_tok *cursor = json_get(r->params, "cursor");

    if (mcp_text(r->m->a, cursor, &r->target) != 0)
        return ERR_NOMEM;
    if (!is_absent(cursor) && r->target.p == NULL)
        return refuse_params(r, "cursor must be a string");
    return 0;
}

/* Of a list that has one page no cursor was ever given out. */
static int
judge_only_page(struct request *r)
{
    int err = judge_page(r);

    if (err == 0 && r->target.p != NULL)
        return refuse_params(r, "Unknown cursor");
    return err;
}

static int
judge_read(struct request *r)
{
    return r->target.p != NULL ? 0
                               : refuse_params(r, "uri must be a string");
}

/* Arguments that are no object make it no tools/call request at all. What is
   wrong inside of them the tool tells the model, as a result. */
static int
judge_call(struct request *r)
{
    const struct json_tok *args = json_get(r->params, "arguments");
    const struct mcp_catalogue *c = r->m->cat;
    size_t i;

    if (r->target.p == NULL)
        return refuse_params(r, "name must be a string");
    for (i = 0; i < c->n_tools; i++)
        if (str_is(r->target, c->tools[i].name))
            break;
    if (i == c->n_tools)
        return mcp_refuse(r, MCP_OK, RPC_INVALID_PARAMS, "Unknown tool", NULL,
                          r->target);
    if (is_absent(args))
        args = NULL;
    else if (args->type != JSON_OBJECT)
        return refuse_params(r, "arguments must be an object");
    r->call.args = args;
    r->tool = &c->tools[i];
    return 0;
}

/* ---- results ---- */

/* As serverInfo: what each schema knows of an Implementation. The web site
   is left to those answers that introduce the server. */
static void
put_server(const struct request *r, bool introduce, struct buf *out)
{
    const struct mcp_catalogue *c = r->m->cat;
    struct json_w w;

    json_w_init(&w, out);
    json_obj(&w);
    json_put_z(&w, "name", c->name);
    if (c->title != NULL && r->rev >= MCP_2025_06_18)
        json_put_z(&w, "title", c->title);
    json_put_z(&w, "version", c->version);
    if (introduce && c->website != NULL && r->rev >= MCP_2025_11_25)
        json_put_z(&w, "websiteUrl", c->website);
    json_close(&w);
    json_w_end(&w);
}

static void
put_capabilities(const struct request *r, struct buf *out)
{
    struct json_w w;
    int f;

    json_w_init(&w, out);
    json_obj(&w);
    for (f = CORE + 1; f < N_FEATURES; f++)
        if (offers(r->m->cat, r->rev, (enum feature)f))
            json_put_raw(&w, feature_names[f], STR("{}"));
    json_close(&w);
    json_w_end(&w);
}

/* The revisions that a request can name for itself. The older ones are
   served too, but are not among them: a client takes one of this list and
   puts it into the _meta of its next request, where they do not work, being
   agreed on by initialize only. A client that knows none of the list falls
   back to that by itself. */
void
mcp_put_versions(struct json_w *w)
{
    int i;

    json_arr(w);
    for (i = MCP_OLDEST_MODERN; i < MCP_N_REVS; i++)
        json_z(w, rev_names[i]);
    json_close(w);
}

static void
put_instructions(const struct request *r, struct buf *out)
{
    const char *text = r->m->cat->instructions;

    if (text == NULL)
        return;
    buf_z(out, ",\"instructions\":");
    json_quote(out, str_of(text));
}

static int
run_empty(struct request *r, struct buf *out)
{
    (void)r;
    (void)out;
    return 0;
}

static int
run_initialize(struct request *r, struct buf *out)
{
    buf_z(out, "\"protocolVersion\":\"");
    buf_z(out, rev_names[r->rev]);
    buf_z(out, "\",\"capabilities\":");
    put_capabilities(r, out);
    buf_z(out, ",\"serverInfo\":");
    put_server(r, true, out);
    put_instructions(r, out);
    return 0;
}

static int
run_discover(struct request *r, struct buf *out)
{
    struct json_w w;

    buf_z(out, "\"supportedVersions\":");
    json_w_init(&w, out);
    mcp_put_versions(&w);
    json_w_end(&w);
    buf_z(out, ",\"capabilities\":");
    put_capabilities(r, out);
    put_instructions(r, out);
    return 0;
}

static void
put_tool(struct json_w *w, const struct mcp_tool *t, enum mcp_rev rev)
{
    json_obj(w);
    json_put_z(w, "name", t->name);
    if (rev >= MCP_2025_06_18)
        json_put_z(w, "title", t->title);
    json_put_z(w, "description", t->description);
    json_put_raw(w, "inputSchema", str_of(t->input_schema));
    if (rev >= MCP_2025_03_26) {
        json_key(w, "annotations");
        json_obj(w);
        if (rev < MCP_2025_06_18)
            json_put_z(w, "title", t->title);
        json_put_bool(w, "readOnlyHint", !t->writes);
        json_put_bool(w, "destructiveHint", t->destructive);
        json_put_bool(w, "idempotentHint", t->idempotent);
        json_put_bool(w, "openWorldHint", false);
        json_close(w);
    }
    json_close(w);
}

static int
run_tools_list(struct request *r, struct buf *out)
{
    const struct mcp_catalogue *c = r->m->cat;
    struct json_w w;
    size_t i;

    buf_z(out, "\"tools\":");
    json_w_init(&w, out);
    json_arr(&w);
    for (i = 0; i < c->n_tools; i++)
        put_tool(&w, &c->tools[i], r->rev);
    json_close(&w);
    json_w_end(&w);
    return 0;
}

static int
run_templates_list(struct request *r, struct buf *out)
{
    const struct mcp_catalogue *c = r->m->cat;
    const struct mcp_template *t;
    struct json_w w;

    buf_z(out, "\"resourceTemplates\":");
    json_w_init(&w, out);
    json_arr(&w);
    for (t = c->templates; t != c->templates + c->n_templates; t++) {
        json_obj(&w);
        json_put_z(&w, "uriTemplate", t->uri_template);
        json_put_z(&w, "name", t->name);
        if (r->rev >= MCP_2025_06_18)
            json_put_z(&w, "title", t->title);
        json_put_z(&w, "description", t->description);
        json_put_z(&w, "mimeType", t->mime_type);
        json_close(&w);
    }
    json_close(&w);
    json_w_end(&w);
    return 0;
}

/* The tool writes its object where the structured content stands, which is
   taken back where there must be none: with an error, as clients hold it
   against an outputSchema, and before 2025-06-18. The text is a copy, since
   out moves as it grows. */
static int
run_call(struct request *r, struct buf *out)
{
    size_t start = out->len, at;
    struct str text;
    int err;

    buf_z(out, "\"structuredContent\":");
    at = out->len;
    r->call.out = out;
    r->call.is_error = false;
    err = r->tool->run(&r->call);
    if (err != 0 || out->err != 0)
        return err != 0 ? err : out->err;
    text = arena_str(r->m->a, (struct str){out->p + at, out->len - at});
    if (text.p == NULL)
        return ERR_NOMEM;
    if (r->call.is_error || r->rev < MCP_2025_06_18)
        out->len = start;
    else
        buf_char(out, ',');
    buf_z(out, "\"content\":[{\"type\":\"text\",\"text\":");
    json_quote(out, text);
    buf_z(out, r->call.is_error ? "}],\"isError\":true" : "}]");
    return 0;
}

static int
run_resources_list(struct request *r, struct buf *out)
{
    struct str next = STR_NONE;
    int err;

    buf_z(out, "\"resources\":[");
    r->call.out = out;
    err = r->m->cat->resources(&r->call, r->target, &next);
    buf_char(out, ']');
    if (next.len > 0) {
        buf_z(out, ",\"nextCursor\":");
        json_quote(out, next);
    }
    return err;
}

static int
run_resource_read(struct request *r, struct buf *out)
{
    int err;

    buf_z(out, "\"contents\":[");
    r->call.out = out;
    err = r->m->cat->resource_read(&r->call, r->target);
    buf_char(out, ']');
    return err;
}

/* ---- methods ---- */

static const struct method methods[] = {
    {"tools/call", MCP_2024_11_05, MCP_2026_07_28, TOOLS, UNCACHED, "name",
     judge_call, run_call},
    {"tools/list", MCP_2024_11_05, MCP_2026_07_28, TOOLS, CACHE_PUBLIC, NULL,
     judge_only_page, run_tools_list},
    {"resources/list", MCP_2024_11_05, MCP_2026_07_28, RESOURCES,
     CACHE_PRIVATE, NULL, judge_page, run_resources_list},
    {"resources/read", MCP_2024_11_05, MCP_2026_07_28, RESOURCES,
     CACHE_PRIVATE, "uri", judge_read, run_resource_read},
    {"resources/templates/list", MCP_2024_11_05, MCP_2026_07_28, RESOURCES,
     CACHE_PUBLIC, NULL, judge_only_page, run_templates_list},
    {"server/discover", MCP_2026_07_28, MCP_2026_07_28, CORE, CACHE_PUBLIC,
     NULL, NULL, run_discover},
    {"initialize", MCP_2024_11_05, MCP_2025_11_25, CORE, UNCACHED, NULL,
     judge_initialize, run_initialize},
    {"ping", MCP_2024_11_05, MCP_2025_11_25, CORE, UNCACHED, NULL, NULL,
     run_empty},
    {"logging/setLevel", MCP_2024_11_05, MCP_2025_11_25, LOGGING, UNCACHED,
     NULL, judge_level, run_empty},
};

/* The method that r names in its revision, if any, and what that is about.
   Whether there is one is judged later: see check_method. */
int
mcp_find_method(struct request *r)
{
    const struct method *m, *end = methods + sizeof(methods) / sizeof(*methods);

    for (m = methods; m < end; m++)
        if (str_is(r->name, m->name) && r->rev >= m->from &&
            r->rev <= m->to &&
            offers(r->m->cat, r->rev, (enum feature)m->feature))
            break;
    if (m == end)
        return 0;
    r->method = m;
    if (m->target == NULL)
        return 0;
    return mcp_text(r->m->a, json_get(r->params, m->target), &r->target);
}

/* Who asks, as tools and resources see it. */
static int
fill_call(struct request *r)
{
    struct mcp_message *m = r->m;
    struct mcp_call *c = &r->call;
    const struct json_tok *info = json_get(r->meta, MCP_META "clientInfo");
    struct str name;

    if (!is_modern(r))
        name = arena_str(m->a, str_of(m->s->client));
    else if (mcp_text(m->a, json_get(info, "name"), &name) != 0)
        return ERR_NOMEM;
    if (!is_modern(r) && name.p == NULL)
        return ERR_NOMEM;
    c->ctx = m->cat->ctx;
    c->arena = m->a;
    c->rev = r->rev;
    c->client = mcp_cut(name, sizeof(m->s->client) - 1);
    c->principal = m->f->principal;
    return 0;
}

int
mcp_check_params(struct request *r)
{
    int err = fill_call(r);

    if (err == 0 && r->method->judge != NULL)
        err = r->method->judge(r);
    return err;
}

/* ---- results, for a revision ---- */

static void
open_result(const struct request *r, struct buf *out)
{
    buf_z(out, "{\"jsonrpc\":\"2.0\",\"id\":");
    buf_str(out, r->id);
    buf_z(out, ",\"result\":{");
}

/* Behind the handler's members, as only then it is known what kind of result
   they make. */
static void
close_result(const struct request *r, struct buf *out)
{
    int cache = r->method->cache;

    if (is_modern(r) && out->err == 0) {
        if (out->p[out->len - 1] != '{')
            buf_char(out, ',');
        buf_z(out, "\"resultType\":\"complete\",");
        if (cache != UNCACHED) {
            buf_z(out, "\"ttlMs\":");
            buf_u64(out, cache == CACHE_PUBLIC ? LIST_TTL_MS : 0);
            buf_z(out, cache == CACHE_PUBLIC ? ",\"cacheScope\":\"public\","
                                             : ",\"cacheScope\":\"private\",");
        }
        buf_z(out, "\"_meta\":{\"" MCP_META "serverInfo\":");
        put_server(r, r->method->run == run_discover, out);
        buf_char(out, '}');
    }
    buf_z(out, "}}");
}

int
mcp_put_result(struct request *r, struct buf *out)
{
    int err;

    open_result(r, out);
    err = r->method->run(r, out);
    close_result(r, out);
    return err;
}
