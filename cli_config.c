/* cli_config - what to paste into an MCP client so that it starts mcptask.

   It prints and changes nothing: each client's own file is its user's. A
   client does not start the server from this shell, so all that leads this
   process to its store is spelt out. */

#include "cli.h"

#include "call.h"
#include "text.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* How a client is to start this server. */
struct launch {
    struct str command;
    struct str args[16];
    size_t n_args;
    struct { const char *name, *value; } env[4];
    size_t n_env;
};

/* The binary's own path; where the system does not tell, what PATH finds. */
static struct str
own_path(struct arena *a)
{
    char name[4096];
    ssize_t n = readlink("/proc/self/exe", name, sizeof(name));
    const char *at = env_get("PATH");

    if (n > 0 && (size_t)n < sizeof(name))
        return arena_str(a, (struct str){name, (size_t)n});
    while (at != NULL && *at != '\0') {
        int len = (int)strcspn(at, ":");

        text_put(name, sizeof(name), "%.*s/mcptask", len, at);
        if (name[0] == '/' && access(name, X_OK) == 0)
            return arena_str(a, str_of(name));
        at += len + (at[len] == ':');
    }
    return STR("mcptask");
}

static void
add_arg(struct launch *l, bool wanted, const char *name, const char *value)
{
    if (!wanted)
        return;
    l->args[l->n_args++] = str_of(name);
    if (value != NULL)
        l->args[l->n_args++] = str_of(value);
}

static void
add_env(struct launch *l, bool wanted, const char *name, const char *value)
{
    if (!wanted)
        return;
    l->env[l->n_env].name = name;
    l->env[l->n_env++].value = value;
}

static void
add_number(struct cli *c, struct launch *l, bool wanted, const char *name,
           int64_t n)
{
    add_arg(l, wanted, name, arena_printf(&c->a, "%lld", (long long)n).p);
}

static bool
is_set(const char *name)
{
    return env_get(name) != NULL;
}

static void
find_launch(struct cli *c, struct launch *l)
{
    const struct cli_env *e = c->env;

    *l = (struct launch){.command = own_path(&c->a)};
    add_arg(l, e->core, "--tools", "core");
    add_arg(l, e->read_only, "--read-only", NULL);
    add_arg(l, e->require_evidence, "--require-evidence", NULL);
    add_arg(l, e->ownership_warn, "--ownership", "warn");
    add_arg(l, e->artifact_root != NULL, "--artifact-root", e->artifact_root);
    add_number(c, l, e->closed_max > 0, "--closed-max", e->closed_max >> 20);
    add_number(c, l, e->calls_own != CALL_MAX_OWN, "--calls-own",
               e->calls_own);
    add_number(c, l, e->calls_max != CALL_MAX_ALL, "--calls-max",
               e->calls_max);
    add_env(l, is_set("MCP_TASK_BASE_DIR") || is_set("XDG_STATE_HOME"),
            "MCP_TASK_BASE_DIR", e->base_dir);
    add_env(l, is_set("MCP_TASK_DB_PATH"), "MCP_TASK_DB_PATH", e->log_path);
    add_env(l, is_set("MCP_TASK_ARTIFACTS_DIR"), "MCP_TASK_ARTIFACTS_DIR",
            e->artifacts_dir);
    add_env(l, e->debug, "MCP_DEBUG", "1");
}

static void
put_args(struct buf *b, const struct launch *l)
{
    buf_char(b, '[');
    for (size_t i = 0; i < l->n_args; i++) {
        buf_z(b, i > 0 ? ", " : "");
        json_quote(b, l->args[i]);
    }
    buf_char(b, ']');
}

/* The variables as members of an object, or as what TOML calls a table. */
static void
put_env(struct buf *b, const struct launch *l, bool json)
{
    for (size_t i = 0; i < l->n_env; i++) {
        buf_printf(b, json ? "%s\"%s\": " : "%s%s = ", i > 0 ? ", " : "",
                   l->env[i].name);
        json_quote(b, str_of(l->env[i].value));
    }
}

/* The file that most clients read: an object of servers under one name. */
static void
put_servers(struct buf *b, const struct launch *l, const char *servers,
            bool typed)
{
    buf_printf(b, "{\n  \"%s\": {\n    \"mcptask\": {\n%s      \"command\": ",
               servers, typed ? "      \"type\": \"stdio\",\n" : "");
    json_quote(b, l->command);
    buf_z(b, ",\n      \"args\": ");
    put_args(b, l);
    if (l->n_env > 0) {
        buf_z(b, ",\n      \"env\": {");
        put_env(b, l, true);
        buf_char(b, '}');
    }
    buf_z(b, "\n    }\n  }\n}\n");
}

/* Whether sh takes it for one word, and as it stands. */
static bool
is_plain(struct str s)
{
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
        "0123456789/._-+=:,@%";

    for (size_t i = 0; i < s.len; i++)
        if (memchr(plain, s.p[i], sizeof(plain) - 1) == NULL)
            return false;
    return s.len > 0;
}

static void
put_word(struct buf *b, struct str s)
{
    if (is_plain(s)) {
        buf_str(b, s);
        return;
    }
    buf_char(b, '\'');
    for (size_t i = 0; i < s.len; i++) {
        if (s.p[i] == '\'')
            buf_z(b, "'\\'");
        buf_char(b, s.p[i]);
    }
    buf_char(b, '\'');
}

/* All options stand before the name, and --env, which takes any number of
   values, not last of them. */
static void
put_claude_code(struct cli *c, const struct launch *l)
{
    struct buf *b = &c->out;

    buf_z(b, "claude mcp add");
    for (size_t i = 0; i < l->n_env; i++) {
        buf_z(b, " --env ");
        put_word(b, arena_printf(&c->a, "%s=%s", l->env[i].name,
                                 l->env[i].value));
    }
    buf_z(b, " --scope user --transport stdio mcptask -- ");
    put_word(b, l->command);
    for (size_t i = 0; i < l->n_args; i++) {
        buf_char(b, ' ');
        put_word(b, l->args[i]);
    }
    buf_z(b, "\n\n# or, for all who work on one project, in its .mcp.json:\n");
    put_servers(b, l, "mcpServers", true);
}

/* JSON's strings and arrays are TOML's as well. */
static void
put_codex(struct cli *c, const struct launch *l)
{
    struct buf *b = &c->out;

    buf_z(b, "[mcp_servers.mcptask]\ncommand = ");
    json_quote(b, l->command);
    buf_z(b, "\nargs = ");
    put_args(b, l);
    buf_char(b, '\n');
    if (l->n_env > 0) {
        buf_z(b, "env = { ");
        put_env(b, l, false);
        buf_z(b, " }\n");
    }
}

static const struct client {
    const char *name;
    const char *where;
    const char *servers; /* what its file calls them; else put writes it */
    bool typed;
    void (*put)(struct cli *c, const struct launch *l);
} clients[] = {
    {"claude-code", "run this, once, for all your projects", NULL, true,
     put_claude_code},
    {"claude-desktop", "for claude_desktop_config.json (Settings, Developer, "
                       "Edit Config)", "mcpServers", false, NULL},
    {"cursor", "for ~/.cursor/mcp.json, or .cursor/mcp.json in a project",
     "mcpServers", true, NULL},
    {"vscode", "for .vscode/mcp.json, or what \"MCP: Open User "
               "Configuration\" opens", "servers", true, NULL},
    {"codex", "for ~/.codex/config.toml", NULL, true, put_codex},
};
#define N_CLIENTS (sizeof(clients) / sizeof(clients[0]))

static void
put_launch_json(struct cli *c, const struct client *client,
                const struct launch *l)
{
    struct buf *b = &c->out;

    buf_printf(b, "{\"client\":\"%s\",\"command\":", client->name);
    json_quote(b, l->command);
    buf_z(b, ",\"args\":");
    put_args(b, l);
    buf_z(b, ",\"env\":{");
    put_env(b, l, true);
    buf_z(b, "}}\n");
}

int
cli_config(struct cli *c, int argc, char **argv)
{
    const struct client *client = clients;
    struct launch l;
    struct buf note = {0};

    (void)argc;
    while (client < clients + N_CLIENTS && strcmp(client->name, argv[1]) != 0)
        client++;
    if (client == clients + N_CLIENTS)
        return cli_misuse(c, argv[1], "no such client: ");
    find_launch(c, &l);
    if (c->json) {
        put_launch_json(c, client, &l);
        return CLI_OK;
    }
    /* Apart, so that stdout can go into the file as it is. */
    buf_printf(&note, "# %s:\n", client->where);
    cli_say(STDERR_FILENO, &note);
    if (client->servers != NULL)
        put_servers(&c->out, &l, client->servers, client->typed);
    else
        client->put(c, &l);
    return CLI_OK;
}
