#ifndef MCP_TOY_H
#define MCP_TOY_H

/* A catalogue that has nothing to do with tasks, for the tests of mcp. */

#include "../mcp.h"

static unsigned toy_prepared, toy_runs; /* calls of keep's functions */

static int
toy_echo(struct mcp_call *c)
{
    struct json_w w;

    json_w_init(&w, c->out);
    json_obj(&w);
    json_key(&w, "args");
    if (c->args != NULL)
        json_splice(&w, json_raw(c->args));
    else
        json_null(&w);
    json_put_str(&w, "client", c->client);
    json_put_str(&w, "principal", c->principal);
    json_put_z(&w, "rev", mcp_rev_name(c->rev));
    json_close(&w);
    json_w_end(&w);
    return 0;
}

static void
toy_prepare(struct mcp_call *c)
{
    toy_prepared++;
    c->prepared = &toy_prepared;
}

static int
toy_keep(struct mcp_call *c)
{
    toy_runs++;
    buf_z(c->out, c->prepared == &toy_prepared ? "{\"kept\":true}"
                                               : "{\"kept\":false}");
    return 0;
}

static int
toy_fail(struct mcp_call *c)
{
    c->is_error = true;
    buf_z(c->out, "{\"code\":\"too_late\"}");
    return 0;
}

static int
toy_broken(struct mcp_call *c)
{
    buf_z(c->out, "{\"half\":");
    return ERR_IO;
}

static const struct mcp_tool toy_tools[] = {
    {"echo", "Echo", "Says it \"again\"", "{\"type\":\"object\"}", false,
     false, true, NULL, toy_echo},
    {"keep", "Keep", "Keeps it", "{\"type\":\"object\",\"properties\":{}}",
     true, false, true, toy_prepare, toy_keep},
    {"fail", "Fail", "Never works", "{\"type\":\"object\"}", true, true,
     false, NULL, toy_fail},
    {"broken", "Broken", "Breaks", "{\"type\":\"object\"}", false, false,
     false, NULL, toy_broken},
};

static const struct mcp_template toy_templates[] = {
    {"toy://{id}", "toy", "A toy", "One of them", "text/plain"},
};

/* Two pages; the second cursor needs quoting. */
static int
toy_resources(struct mcp_call *c, struct str cursor, struct str *next)
{
    if (cursor.p == NULL) {
        buf_z(c->out, "{\"uri\":\"toy://1\",\"name\":\"one\"},"
                      "{\"uri\":\"toy://2\",\"name\":\"two\"}");
        *next = STR("\"\xc3\xa9");
        return 0;
    }
    if (!str_is(cursor, "\"\xc3\xa9"))
        return ERR_INVALID;
    buf_z(c->out, "{\"uri\":\"toy://3\",\"name\":\"three\"}");
    return 0;
}

static int
toy_read(struct mcp_call *c, struct str uri)
{
    if (str_is(uri, "toy://busy"))
        return ERR_BUSY;
    if (!str_is(uri, "toy://1"))
        return ERR_NOT_FOUND;
    buf_z(c->out, "{\"uri\":\"toy://1\",\"text\":\"bear\"}");
    return 0;
}

static const struct mcp_catalogue toy_catalogue = {
    .name = "toybox",
    .title = "Toy box",
    .version = "7",
    .instructions = "Play.",
    .website = "https://toys.example/",
    .tools = toy_tools,
    .n_tools = 4,
    .templates = toy_templates,
    .n_templates = 1,
    .resources = toy_resources,
    .resource_read = toy_read,
};

#endif
