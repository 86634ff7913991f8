/* fixture - the catalogue that the official conformance suite calls, served
   by the real protocol code. usage: fixture DIR PORT, or fixture DIR - for
   standard input and output

   Over HTTP the first line on stderr is its address, and SIGTERM ends it. The
   names, and the texts that the suite compares, are the suite's. A tool has one
   body for all revisions: if it asks the client, mcp turns that into requests
   of the server or into an input_required result.

   Invariants:
   1. A run depends only on its arguments, its round, its state and the answers
      of the client.
   2. Only mcp itself writes to the store. */

#include "tests/mcp/fixture_tools.h"
#include "base/loop.h"
#include "mcp/mcp.h"
#include "serve/stdio.h"
#include "serve/turn.h"
#include "mcp/sign.h"
#include "store.h"
#include "serve/web.h"

#include <stdio.h>
#include <string.h>

/* ---- prompts ---- */

#define MESSAGE(content) "{\"role\":\"user\",\"content\":" content "}"

static int
simple_prompt(struct mcp_call *c)
{
    buf_z(c->out, MESSAGE(BLOCK_TEXT("This is a simple prompt.")));
    return 0;
}

/* A message that quotes two arguments, both strings. */
static int
prompt_with_arguments(struct mcp_call *c)
{
    struct buf b = {0};
    int err;

    buf_z(&b, "The arguments are ");
    buf_str(&b, arg(c, "arg1"));
    buf_z(&b, " and ");
    buf_str(&b, arg(c, "arg2"));
    buf_z(c->out, "{\"role\":\"user\",\"content\":{\"type\":\"text\","
                  "\"text\":");
    json_quote(c->out, buf_view(&b));
    buf_z(c->out, "}}");
    err = b.err;
    buf_fini(&b);
    return err;
}

static int
prompt_with_resource(struct mcp_call *c)
{
    buf_z(c->out, "{\"role\":\"user\",\"content\":{\"type\":\"resource\","
                  "\"resource\":{\"uri\":");
    json_quote(c->out, arg(c, "resourceUri"));
    buf_z(c->out, ",\"mimeType\":\"text/plain\",\"text\":\"It came along.\""
                  "}}}");
    return 0;
}

static int
prompt_with_image(struct mcp_call *c)
{
    buf_z(c->out, MESSAGE(BLOCK_IMAGE));
    return 0;
}

static int
prompt_that_asks(struct mcp_call *c)
{
    if (mcp_request(c, "user_context", ELICIT, FORM_OF("context", "string")) ==
        NULL)
        return MCP_RUN_WAITS;
    return simple_prompt(c);
}

static const struct mcp_prompt_arg two_args[] = {
    {"arg1", "The first", true}, {"arg2", "The second", true}, {0}};
static const struct mcp_prompt_arg uri_arg[] = {
    {"resourceUri", "What to embed", true}, {0}};

static const struct mcp_prompt prompts[] = {
    {"test_simple_prompt", NULL, "One text", NULL, simple_prompt, 0},
    {"test_prompt_with_arguments", NULL, "Takes two arguments", two_args,
     prompt_with_arguments, 0},
    {"test_prompt_with_embedded_resource", NULL, "Embeds a resource", uri_arg,
     prompt_with_resource, 0},
    {"test_prompt_with_image", NULL, "Shows an image", NULL,
     prompt_with_image, 0},
    {"test_input_required_result_prompt", NULL, "Asks the user first", NULL,
     prompt_that_asks, 0},
};

static int
complete(struct mcp_call *c, struct mcp_completion *q)
{
    if (!q->prompt || !str_is(q->ref, "test_prompt_with_arguments"))
        return ERR_INVALID;
    if (!str_is(q->argument, "arg1") || !str_is(q->value, "test"))
        return 0;
    buf_z(c->out, "\"test value\"");
    q->total = 1;
    return 0;
}

/* ---- resources ---- */

#define STATIC_TEXT "test://static-text"
#define STATIC_BINARY "test://static-binary"
#define WATCHED "test://watched-resource"
#define TEMPLATE_HEAD "test://template/"
#define TEMPLATE_TAIL "/data"

static const struct mcp_template templates[] = {
    {TEMPLATE_HEAD "{id}" TEMPLATE_TAIL, "template", NULL,
     "Data by an id", "application/json"},
};

static int
list_resources(struct mcp_call *c, struct str cursor, struct str *next)
{
    *next = STR_NONE;
    if (cursor.p != NULL)
        return ERR_INVALID;
    buf_z(c->out,
          "{\"uri\":\"" STATIC_TEXT "\",\"name\":\"static-text\","
          "\"mimeType\":\"text/plain\"},"
          "{\"uri\":\"" STATIC_BINARY "\",\"name\":\"static-binary\","
          "\"mimeType\":\"image/png\"},"
          "{\"uri\":\"" WATCHED "\",\"name\":\"watched-resource\","
          "\"mimeType\":\"text/plain\"}");
    return 0;
}

/* The id in a uri made from the template, or .p NULL. */
static struct str
template_id(struct str uri)
{
    size_t head = strlen(TEMPLATE_HEAD), tail = strlen(TEMPLATE_TAIL);

    if (uri.len <= head + tail || !str_starts(uri, TEMPLATE_HEAD) ||
        memcmp(uri.p + uri.len - tail, TEMPLATE_TAIL, tail) != 0)
        return STR_NONE;
    return (struct str){uri.p + head, uri.len - head - tail};
}

static bool
is_ours(struct str uri)
{
    return str_is(uri, STATIC_TEXT) || str_is(uri, STATIC_BINARY) ||
           str_is(uri, WATCHED) || template_id(uri).p != NULL;
}

static int
read_resource(struct mcp_call *c, struct str uri)
{
    struct str id = template_id(uri);
    struct json_w w;

    if (!is_ours(uri))
        return ERR_NOT_FOUND;
    json_w_init(&w, c->out);
    json_obj(&w);
    json_put_str(&w, "uri", uri);
    if (str_is(uri, STATIC_BINARY)) {
        json_put_z(&w, "mimeType", "image/png");
        json_put_z(&w, "blob", PNG);
    } else {
        json_put_z(&w, "mimeType", id.p != NULL ? "application/json"
                                                : "text/plain");
        json_put_str(&w, "text", id.p != NULL ? id : STR("It never changes."));
    }
    json_close(&w);
    json_w_end(&w);
    return 0;
}

/* No record has such a key, so none of them ever changes. */
static int
resource_key(void *ctx, struct arena *a, struct str uri, struct str *key)
{
    (void)ctx;
    (void)a;
    *key = uri;
    return is_ours(uri) ? 0 : ERR_NOT_FOUND;
}

static bool
resources_change(void *ctx, const struct mcp_change *c)
{
    (void)ctx;
    (void)c;
    return false;
}

/* ---- serving ---- */

static struct mcp *the_mcp; /* what ctx points to */
static struct calls *the_calls;

static const struct mcp_catalogue catalogue = {
    .name = "mcptask-fixture",
    .version = mcptask_version,
    .ctx = &the_mcp,
    .tools = tools,
    .n_tools = sizeof(tools) / sizeof(*tools),
    .prompts = prompts,
    .n_prompts = sizeof(prompts) / sizeof(*prompts),
    .templates = templates,
    .n_templates = sizeof(templates) / sizeof(*templates),
    .tools_change = true,
    .prompts_change = true,
    .resources = list_resources,
    .resource_read = read_resource,
    .resource_key = resource_key,
    .resources_change = resources_change,
    .complete = complete,
};

struct parts { /* each depends on those before */
    struct store *store;
    struct sign *sign;
    struct loop *loop;
    struct turn *turn;
    struct stdio *stdio; /* one of these two */
    struct web *web;
};

static int
open_parts(struct parts *p, const char *log, const struct web_options *o,
           char why[256])
{
    static struct store_kind kinds[2]; /* live as long as the store */
    struct store_options opt = {.path = log};
    int err;

    the_calls = calls_new(&(struct calls_options){0});
    if (the_calls == NULL)
        return ERR_NOMEM;
    mcp_session_kind(&kinds[0]);
    calls_kind(the_calls, &kinds[1]);
    if ((err = store_open(&p->store, &opt, kinds, 2, why)) < 0)
        return err;
    calls_bind(the_calls, p->store);
    if ((err = sign_new(&p->sign, p->store)) < 0 ||
        (err = mcp_new(&the_mcp, &catalogue, p->store, p->sign,
                       the_calls)) < 0 ||
        (err = loop_new(&p->loop)) < 0 ||
        (err = turn_new(&p->turn, p->loop, p->store, the_mcp)) < 0)
        return err;
    return o == NULL ? stdio_open(&p->stdio, p->turn, p->loop)
                     : web_open(&p->web, p->turn, p->loop, p->store, o, why);
}

static void
close_parts(struct parts *p)
{
    web_close(p->web);
    stdio_close(p->stdio);
    turn_free(p->turn);
    loop_free(p->loop);
    mcp_free(the_mcp);
    sign_free(p->sign);
    store_close(p->store);
    calls_free(the_calls);
}

/* o is NULL for standard input and output. */
static int
serve_all(const char *log, const struct web_options *o)
{
    char why[256] = "out of memory";
    struct parts p = {0};
    int err = open_parts(&p, log, o, why);

    if (err == 0 && o != NULL)
        fprintf(stderr, "fixture: http://%s\n", web_address(p.web));
    if (err == 0) {
        snprintf(why, sizeof(why), "select failed");
        err = o == NULL ? turn_run(p.turn, stdio_ended, p.stdio)
                        : turn_run(p.turn, web_ended, p.web);
    }
    if (err < 0)
        fprintf(stderr, "fixture: %s: %s\n", err_name(err), why);
    close_parts(&p);
    return err < 0;
}

int
main(int argc, char **argv)
{
    struct web_options o = {.http = {.host = "127.0.0.1", .fd = -1}};
    bool stdio = argc == 3 && strcmp(argv[2], "-") == 0;
    uint64_t port = 0;
    char log[4096];

    stdio_fill();
    if (argc != 3 ||
        (!stdio && (!str_u64(str_of(argv[2]), &port) || port > UINT16_MAX))) {
        fprintf(stderr, "usage: fixture DIR PORT|-\n");
        return 2;
    }
    o.http.port = (uint16_t)port;
    snprintf(log, sizeof(log), "%s/tasks.log", argv[1]);
    return serve_all(log, stdio ? NULL : &o);
}
