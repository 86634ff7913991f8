/* config - what to paste into an MCP client so that it starts mcptask.

   It only prints: a client's settings belong to its user. A client does not
   start the server from this shell, so the settings spell out every variable
   and option that leads this process to its store. Over HTTP they hold the
   address and, if the server wants tokens, one token in plain text. */

#include "cli/config.h"
#include "cli/text.h"
#include "mcp/calls.h"
#include "base/file.h"
#include "base/text.h"
#include "json/write.h"
#include "base/token.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* How a client is to start or reach this server. */
struct launch {
    struct str command;
    struct str args[16];
    size_t n_args;
    struct str url; /* .p NULL: the client starts the server */
    struct pair { const char *name, *value; } env[4]; /* or headers */
    size_t n_env;
};

struct str
cli_own_path(struct arena *a)
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
    if (wanted)
        l->args[l->n_args++] = str_of(name);
    if (wanted && value != NULL)
        l->args[l->n_args++] = str_of(value);
}

static void
add_env(struct launch *l, bool wanted, const char *name, const char *value)
{
    if (wanted)
        l->env[l->n_env++] = (struct pair){name, value};
}

static void
add_number(struct cli *c, struct launch *l, bool wanted, const char *name,
           uint64_t n)
{
    add_arg(l, wanted, name, arena_printf(&c->a, U64, n).p);
}

static void
find_launch(struct cli *c, struct launch *l)
{
    const struct cli_env *e = c->env;

    *l = (struct launch){.command = cli_own_path(&c->a)};
    add_arg(l, e->core, "--tools", "core");
    add_arg(l, e->read_only, "--read-only", NULL);
    add_arg(l, e->require_evidence, "--require-evidence", NULL);
    add_arg(l, e->structured, "--structured", NULL);
    add_arg(l, e->ownership_warn, "--ownership", "warn");
    add_arg(l, e->artifact_root != NULL, "--artifact-root", e->artifact_root);
    add_number(c, l, e->compact_at != STORE_COMPACT_AT, "--compact-at",
               e->compact_at);
    add_number(c, l, e->closed_mib != STORE_CLOSED_MAX >> 20, "--closed-max",
               e->closed_mib);
    add_number(c, l, e->calls_own != CALL_MAX_OWN, "--calls-own",
               e->calls_own);
    add_number(c, l, e->calls_max != CALL_MAX_ALL, "--calls-max",
               e->calls_max);
    add_env(l, env_get("MCP_TASK_BASE_DIR") || env_get("XDG_STATE_HOME"),
            "MCP_TASK_BASE_DIR", e->base_dir);
    add_env(l, env_get("MCP_TASK_DB_PATH") != NULL, "MCP_TASK_DB_PATH",
            e->log_path);
    add_env(l, env_get("MCP_TASK_ARTIFACTS_DIR") != NULL,
            "MCP_TASK_ARTIFACTS_DIR", e->artifacts_dir);
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

/* Appends variables or headers as a JSON object, which YAML reads too, or
   with another sep as an inline table of TOML. */
static void
put_pairs(struct buf *b, const struct pair *pair, size_t n, const char *sep)
{
    buf_char(b, '{');
    for (size_t i = 0; i < n; i++) {
        buf_printf(b, "%s\"%s%s", i > 0 ? ", " : "", pair[i].name, sep);
        json_quote(b, str_of(pair[i].value));
    }
    buf_char(b, '}');
}

/* The syntax of a file of settings. */
struct form {
    const char *open; /* before the name of the servers */
    const char *next; /* after it */
    const char *before, *sep, *between, *close; /* of the members */
};
static const struct form json = {"{\n  \"", "\": {\n    \"mcptask\": {\n",
                                 "      \"", "\": ", ",\n",
                                 "\n    }\n  }\n}\n"};
static const struct form toml = {"[", ".mcptask]\n", "", " = ", "\n", "\n"};
static const struct form yaml = {"", ":\n  mcptask:\n", "    ", ": ", "\n",
                                 "\n"};

struct client {
    const char *name;
    const char *where;
    const struct form *form;
    const char *servers; /* the name of the servers in its file, */
    const char *url, *headers; /* and of these; NULL: stdio only */
    bool typed, http_typed;
};

static void
put_name(struct buf *b, const struct form *f, bool first, const char *name)
{
    buf_printf(b, "%s%s%s%s", first ? "" : f->between, f->before, name, f->sep);
}

static void
put_servers(struct buf *b, const struct client *k, const struct launch *l)
{
    const struct form *f = k->form;
    const char *pair = f == &toml ? "\" = " : "\": ";
    bool http = l->url.p != NULL, typed = http ? k->http_typed : k->typed;

    buf_printf(b, "%s%s%s", f->open, k->servers, f->next);
    if (typed) {
        put_name(b, f, true, "type");
        buf_z(b, http ? "\"http\"" : "\"stdio\"");
    }
    put_name(b, f, !typed, http ? k->url : "command");
    json_quote(b, http ? l->url : l->command);
    if (!http) {
        put_name(b, f, false, "args");
        put_args(b, l);
    }
    if (l->n_env > 0) {
        put_name(b, f, false, http ? k->headers : "env");
        put_pairs(b, l->env, l->n_env, pair);
    }
    buf_z(b, f->close);
}

/* Appends s as one word for sh, quoted where sh needs it. A NUL ends s. */
static void
put_word(struct buf *b, struct str s)
{
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
        "0123456789/._-+=:,@%";
    bool quoted = s.len == 0 || strspn(s.p, plain) < s.len;

    buf_z(b, quoted ? "'" : "");
    for (size_t i = 0; i < s.len; i++) {
        if (s.p[i] == '\'')
            buf_z(b, "'\\'");
        buf_char(b, s.p[i]);
    }
    buf_z(b, quoted ? "'" : "");
}

/* All options go before the name. --env takes any number of values, so it may
   not be the last of them; so does --header, which goes to the very end. */
static void
put_claude_code(struct cli *c, const struct client *k, const struct launch *l)
{
    bool http = l->url.p != NULL;
    struct buf *b = &c->out;

    buf_z(b, "claude mcp add");
    for (size_t i = 0; i < l->n_env && !http; i++) {
        buf_z(b, " --env ");
        put_word(b, arena_printf(&c->a, "%s=%s", l->env[i].name,
                                 l->env[i].value));
    }
    buf_printf(b, " --scope user --transport %s mcptask%s ",
               http ? "http" : "stdio", http ? "" : " --");
    put_word(b, http ? l->url : l->command);
    for (size_t i = 0; i < l->n_args; i++) {
        buf_char(b, ' ');
        put_word(b, l->args[i]);
    }
    if (http && l->n_env > 0) {
        buf_z(b, " --header ");
        put_word(b, arena_printf(&c->a, "%s: %s", l->env[0].name,
                                 l->env[0].value));
    }
    buf_z(b, "\n\n# or, for all who work on one project, in its .mcp.json:\n");
    put_servers(b, k, l);
}

static const struct client clients[] = {
    {"claude-code", "run this, once, for all your projects", &json,
     "mcpServers", "url", "headers", true, true},
    {"claude-desktop", "for claude_desktop_config.json (Settings, Developer, "
                       "Edit Config)", &json, "mcpServers", NULL, NULL, false,
     false},
    {"cursor", "for ~/.cursor/mcp.json, or .cursor/mcp.json in a project",
     &json, "mcpServers", "url", "headers", true, false},
    {"vscode", "for .vscode/mcp.json, or what \"MCP: Open User "
               "Configuration\" opens", &json, "servers", "url", "headers",
     true, true},
    {"codex", "for ~/.codex/config.toml", &toml, "mcp_servers", "url",
     "http_headers", false, false},
    {"gemini", "for ~/.gemini/settings.json, or .gemini/settings.json in a "
               "project", &json, "mcpServers", "httpUrl", "headers", false,
     false},
    {"hermes", "for ~/.hermes/config.yaml", &yaml, "mcp_servers", "url",
     "headers", false, false},
};
#define N_CLIENTS (sizeof(clients) / sizeof(clients[0]))

void
cli_put_clients(struct buf *b)
{
    for (size_t i = 0; i < N_CLIENTS; i++)
        buf_printf(b, " %s", clients[i].name);
}

static void
put_launch_json(struct cli *c, const struct client *client,
                const struct launch *l)
{
    struct buf *b = &c->out;
    bool http = l->url.p != NULL;

    buf_printf(b, "{\"client\":\"%s\",\"%s\":", client->name,
               http ? "url" : "command");
    json_quote(b, http ? l->url : l->command);
    if (!http) {
        buf_z(b, ",\"args\":");
        put_args(b, l);
    }
    buf_z(b, http ? ",\"headers\":" : ",\"env\":");
    put_pairs(b, l->env, l->n_env, "\":");
    buf_z(b, "}\n");
}

/* ---- over HTTP ---- */

/* Finds the agent's token in the token file, which must be one that the server
   accepts. Returns 0, or an exit code after printing the error. */
static int
find_token(struct cli *c, const char *agent, struct str *out)
{
    static const char blanks[] = " \t\r\n";
    const char *path = c->args.token_file, *p, *who;
    struct tokens *tokens = NULL;
    char *text = arena_alloc(&c->a, TOKEN_MAX_FILE + 1), why[256];
    int rc = text == NULL ? ERR_NOMEM : tokens_load(&tokens, path, why);

    tokens_free(tokens);
    if (rc < 0)
        return cli_fail(c, rc, "%s", rc == ERR_NOMEM ? "out of memory" : why);
    file_read_text(path, text, TOKEN_MAX_FILE + 1);
    for (p = text; *p != '\0'; p += strcspn(p, "\n")) {
        p += strspn(p, blanks);
        *out = (struct str){p, strcspn(p, blanks)};
        who = p + out->len;
        who += strspn(who, " \t");
        if (str_is((struct str){who, strcspn(who, blanks)}, agent))
            return 0;
    }
    return cli_fail(c, ERR_NOT_FOUND, "%s: no token for agent %s: name another "
                    "with --agent", path, agent);
}

/* A client that can only start servers starts a bridge. */
static void
add_bridge(struct launch *l, const char *bearer)
{
    l->command = STR("npx");
    add_arg(l, true, "-y", "mcp-remote");
    add_arg(l, true, l->url.p, "--allow-http");
    if (bearer != NULL) {
        /* mcp-remote's arguments must not hold blanks. */
        add_arg(l, true, "--header", "Authorization:${MCPTASK_AUTHORIZATION}");
        add_env(l, true, "MCPTASK_AUTHORIZATION", bearer);
    }
    l->url = STR_NONE;
}

static int
find_url(struct cli *c, const struct client *k, const char *url,
         struct launch *l)
{
    const char *port = env_get("MCP_TASK_PORT");
    struct str token = STR_NONE, bearer = STR_NONE;
    int rc = 0;

    *l = (struct launch){.url = url != NULL ? str_of(url) : arena_printf(&c->a,
                         "http://127.0.0.1:%s/mcp", port ? port : "8766")};
    if (url != NULL && !str_starts(l->url, "http"))
        return cli_misuse(c, "not an HTTP address: %s", url);
    if (c->args.token_file != NULL)
        rc = find_token(c, c->args.agent != NULL ? c->args.agent : k->name,
                        &token);
    if (token.p != NULL)
        bearer = arena_printf(&c->a, "Bearer %.*s", STR_ARG(token));
    if (k->url == NULL)
        add_bridge(l, bearer.p);
    else
        add_env(l, bearer.p != NULL, "Authorization", bearer.p);
    return rc;
}

int
cli_config(struct cli *c)
{
    const char *name = c->operand[0], *url = c->operand[1];
    const struct client *k = clients;
    struct launch l;
    int rc = 0;

    c->exact = true;
    while (k < clients + N_CLIENTS && strcmp(k->name, name) != 0)
        k++;
    if (k == clients + N_CLIENTS)
        return cli_misuse(c, "no such client: %s", name);
    if (c->args.http || c->args.token_file != NULL || url != NULL)
        rc = find_url(c, k, url, &l);
    else
        find_launch(c, &l);
    if (rc != 0)
        return rc;
    if (c->json) {
        put_launch_json(c, k, &l);
        return CLI_OK;
    }
    /* On stderr, so that stdout can go into the file unchanged. */
    text_tell("# %s:\n", k->where);
    if (k == clients)
        put_claude_code(c, k, &l);
    else
        put_servers(&c->out, k, &l);
    return CLI_OK;
}
