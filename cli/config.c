/* config - what to paste into an MCP client so that it starts mcptask, and the
   client's own command that does so: config, setup.

   config only prints: a client's settings belong to its user. A client does not
   start the server from this shell, so the settings spell out every variable
   and option that leads this process to its store. Over HTTP they hold the
   address and, if the server wants tokens, one token in plain text, or the name
   of the variable that holds it.

   setup runs the client's own command instead, where there is one. For hooks
   none has such a command: setup --hooks prints them, and for a client that has
   none what to tell its agents. */

#include "cli/config.h"
#include "cli/run.h"

#include "cli/text.h"
#include "mcp/calls.h"
#include "tools/resources.h"
#include "base/file.h"
#include "base/os.h"
#include "base/text.h"
#include "json/write.h"
#include "base/token.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_WORDS 64

struct words {
    struct str word[MAX_WORDS + 1];
    size_t n;
};

static void
add_word(struct words *w, struct str s)
{
    w->word[w->n++] = s;
}

static void
add_words(struct words *w, const char *a, const char *b)
{
    add_word(w, str_of(a));
    add_word(w, str_of(b));
}

static void
add_all(struct words *w, const struct words *more)
{
    for (size_t i = 0; i < more->n; i++)
        add_word(w, more->word[i]);
}

/* How a client is to start or reach this server. */
struct launch {
    struct str command;
    struct str url; /* .p NULL: the client starts the server */
    size_t n_env;
    struct pair { const char *name, *value; } env[5]; /* or headers */
    const char *token_env; /* a variable that holds the token, or NULL */
    struct words args;
};

/* The program of this name in PATH; .p NULL: there is none. */
static struct str
find_program(struct arena *a, const char *program)
{
    char name[4096];
    const char *at = env_get("PATH");

    while (at != NULL && *at != '\0') {
        int len = (int)strcspn(at, ":");

        text_put(name, sizeof(name), "%.*s/%s", len, at, program);
        if (name[0] == '/' && access(name, X_OK) == 0)
            return arena_str(a, str_of(name));
        at += len + (at[len] == ':');
    }
    return STR_NONE;
}

static void
add_arg(struct launch *l, bool wanted, const char *name, const char *value)
{
    if (wanted)
        add_word(&l->args, str_of(name));
    if (wanted && value != NULL)
        add_word(&l->args, str_of(value));
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

/* The path in a form that holds wherever the client starts. */
static const char *
absolute_path(struct arena *a, const char *path)
{
    char *found = env_absolute(path);

    path = found != NULL ? arena_str(a, str_of(found)).p : path;
    free(found);
    return path;
}

struct str
cli_own_path(struct cli *c)
{
    char name[FILE_PATH_MAX];
    size_t n = os_own_path(name, sizeof(name));
    const char *called = c->env->called != NULL ? c->env->called : "mcptask";
    const char *path;
    struct str found = STR_NONE;

    if (n > 0)
        found = arena_str(&c->a, (struct str){name, n});
    else if (strchr(called, '/') == NULL)
        found = find_program(&c->a, called);
    else if ((path = absolute_path(&c->a, called)) != NULL)
        found = str_of(path);
    return found.p != NULL ? found : str_of(called);
}

/* How to start this program: by its path, unless that is in the cache of a
   runner, which may drop it and fetches it again. */
static void
find_launch(struct cli *c, struct launch *l)
{
    const struct cli_env *e = c->env;
    const char *auth = env_get("MCP_TASK_STORE_AUTH");

    *l = (struct launch){.command = cli_own_path(c)};
    if (strstr(l->command.p, "/_npx/") != NULL) {
        l->command = STR("npx");
        add_words(&l->args, "-y", "mcptask");
    } else if (strstr(l->command.p, "/archive-v") != NULL) {
        l->command = STR("uvx");
        add_word(&l->args, STR("mcptask"));
    }
    add_arg(l, e->core, "--tools", "core");
    add_arg(l, e->read_only, "--read-only", NULL);
    add_arg(l, e->require_evidence, e->require_pass
                ? "--require-evidence=pass" : "--require-evidence", NULL);
    add_arg(l, e->structured, "--structured", NULL);
    add_arg(l, e->ownership_warn, "--ownership", "warn");
    add_arg(l, e->store != NULL, "--store", e->store);
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
    add_env(l, auth != NULL, "MCP_TASK_STORE_AUTH",
            auth != NULL ? absolute_path(&c->a, auth) : NULL);
    add_env(l, env_get("MCP_TASK_ARTIFACTS_DIR") != NULL,
            "MCP_TASK_ARTIFACTS_DIR", e->artifacts_dir);
    add_env(l, e->debug, "MCP_DEBUG", "1");
}

static void
put_word_list(struct buf *b, const struct words *w, const char *between)
{
    buf_char(b, '[');
    for (size_t i = 0; i < w->n; i++) {
        buf_z(b, i > 0 ? between : "");
        json_quote(b, w->word[i]);
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

/* How to start or reach the server, as the members of a JSON object, the first
   with a comma before it. */
static void
put_launch(struct buf *b, const struct launch *l)
{
    bool http = l->url.p != NULL;

    buf_printf(b, ",\"%s\":", http ? "url" : "command");
    json_quote(b, http ? l->url : l->command);
    if (!http) {
        buf_z(b, ",\"args\":");
        put_word_list(b, &l->args, ", ");
    }
    buf_z(b, http ? ",\"headers\":" : ",\"env\":");
    put_pairs(b, l->env, l->n_env, "\":");
    buf_char(b, '}');
}

/* ---- the clients ---- */

/* What a $NAME in a template stands for, in settings and in a command. */
enum value { COMMAND, ARGS, LAUNCH, ENV, URL, HEADER, FIELD, TABLE, TOKEN,
             OBJECT, N_VALUES };
static const char *const value_names[N_VALUES] = {
    [COMMAND] = "command", /* the program */
    [ARGS] = "args",       /* its arguments */
    [LAUNCH] = "launch",   /* both, as one list */
    [ENV] = "env",         /* the variables */
    [URL] = "url",         /* the address */
    [HEADER] = "header",   /* the header */
    [FIELD] = "field",     /* the same, for opencode's command */
    [TABLE] = "table",     /* variables or the header as a table of TOML */
    [TOKEN] = "token",     /* the name of the variable with the token */
    [OBJECT] = "object",   /* all of it as JSON, for the command of VS Code */
};

/* A client is a row of templates: of its settings and of its own command that
   makes them, each for stdio and for HTTP. In them <NAME text> is left out
   where $NAME is empty. */
struct client {
    const char *name;
    const char *where;
    const char *stdio, *http; /* settings; http NULL: stdio only */
    const char *run, *run_http; /* its command, or NULL */
    const char *remove; /* its command that has to come before another run */
    const char *variable; /* before the name of a variable; NULL: it reads
                             none */
    const char *hooks; /* where its hooks are; NULL: it has none like these */
    bool subs;         /* there is a hook for a sub-agent, too */
};

#define JSON(servers, members) "{\n  \"" servers "\": {\n" \
    "    \"mcptask\": {\n" members "\n    }\n  }\n}\n"
#define TYPE(t) "      \"type\": \"" t "\",\n"
#define STDIO "      \"command\": $command,\n      \"args\": $args<env,\n" \
    "      \"env\": $env>"
#define HTTP(url) "      \"" url "\": $url<header,\n      \"headers\": $header>"
#define GEMINI(program) \
    .stdio = JSON("mcpServers", STDIO), \
    .http = JSON("mcpServers", HTTP("httpUrl")), \
    .run = program " mcp add $env --scope user --transport stdio mcptask " \
           "$command<args -- $args>", \
    .run_http = program " mcp add --scope user --transport http mcptask $url" \
                "<header --header $header>", \
    .variable = "${"

static const struct client clients[] = {
    {.name = "claude-code", .where = "run this, once, for all your projects",
     .stdio = JSON("mcpServers", TYPE("stdio") STDIO),
     .http = JSON("mcpServers", TYPE("http") HTTP("url")),
     .run = "claude mcp add $env --scope user --transport stdio mcptask -- "
            "$command $args",
     .run_http = "claude mcp add --scope user --transport http mcptask $url"
                 "<header --header $header>",
     .remove = "claude mcp remove --scope user mcptask", .variable = "${",
     .hooks = "~/.claude/settings.json", .subs = true},
    {.name = "claude-desktop",
     .where = "for claude_desktop_config.json (Settings, Developer, Edit "
              "Config)",
     .stdio = JSON("mcpServers", STDIO), .variable = "${"},
    {.name = "cursor",
     .where = "for ~/.cursor/mcp.json, or .cursor/mcp.json in a project",
     .stdio = JSON("mcpServers", TYPE("stdio") STDIO),
     .http = JSON("mcpServers", HTTP("url")), .variable = "${env:"},
    {.name = "vscode",
     .where = "for .vscode/mcp.json, or what \"MCP: Open User "
              "Configuration\" opens",
     .stdio = JSON("servers", TYPE("stdio") STDIO),
     .http = JSON("servers", TYPE("http") HTTP("url")),
     .run = "code --add-mcp $object", .run_http = "code --add-mcp $object",
     .variable = "${env:"},
    {.name = "codex", .where = "for ~/.codex/config.toml",
     .stdio = "[mcp_servers.mcptask]\ncommand = $command\nargs = $args"
              "<table\nenv = $table>\n",
     .http = "[mcp_servers.mcptask]\nurl = $url"
             "<token\nbearer_token_env_var = $token>"
             "<table\nhttp_headers = $table>\n",
     .run = "codex mcp add $env mcptask -- $command $args",
     .run_http = "codex mcp add mcptask --url $url"
                 "<token --bearer-token-env-var $token>",
     .variable = "",
     .hooks = "~/.codex/hooks.json; then say yes to them in /hooks of codex",
     .subs = true},
    {.name = "gemini",
     .where = "for ~/.gemini/settings.json, or .gemini/settings.json in a "
              "project", GEMINI("gemini"), .hooks = "~/.gemini/settings.json"},
    {.name = "qwen",
     .where = "for ~/.qwen/settings.json, or .qwen/settings.json in a project",
     GEMINI("qwen")},
    {.name = "copilot", .where = "for ~/.copilot/mcp-config.json",
     .stdio = JSON("mcpServers", "      \"tools\": [\"*\"],\n" TYPE("local")
                   STDIO),
     .http = JSON("mcpServers", "      \"tools\": [\"*\"],\n" TYPE("http")
                  HTTP("url")),
     .run = "copilot mcp add $env mcptask -- $command $args",
     .run_http = "copilot mcp add --transport http mcptask $url"
                 "<header --header $header>",
     .remove = "copilot mcp remove mcptask"},
    {.name = "cline",
     .where = "for cline_mcp_settings.json (MCP Servers, Configure)",
     .stdio = JSON("mcpServers", STDIO),
     .http = JSON("mcpServers", TYPE("streamableHttp") HTTP("url"))},
    {.name = "opencode",
     .where = "for ~/.config/opencode/opencode.json, or opencode.json in a "
              "project",
     .stdio = JSON("mcp", TYPE("local") "      \"command\": $launch<env,\n"
                   "      \"environment\": $env>"),
     .http = JSON("mcp", TYPE("remote") HTTP("url")),
     .run = "opencode mcp add mcptask $env -- $command $args",
     .run_http = "opencode mcp add mcptask --url $url<header --header $field>",
     .variable = "{env:"},
    {.name = "hermes", .where = "for ~/.hermes/config.yaml",
     .stdio = "mcp_servers:\n  mcptask:\n    command: $command\n"
              "    args: $args<env\n    env: $env>\n",
     .http = "mcp_servers:\n  mcptask:\n    url: $url"
             "<header\n    headers: $header>\n",
     .variable = "${"},
};
#define N_CLIENTS (sizeof(clients) / sizeof(clients[0]))

void
cli_put_clients(struct buf *b)
{
    for (size_t i = 0; i < N_CLIENTS; i++)
        buf_printf(b, " %s", clients[i].name);
}

/* Reads the name of a value at *t, and moves that behind it. */
static enum value
value_named_at(const char **t)
{
    size_t v = 0;

    while (strncmp(*t, value_names[v], strlen(value_names[v])) != 0)
        v++;
    *t += strlen(value_names[v]);
    return (enum value)v;
}

/* Follows a template: skips what is left out and brackets. Returns the next
   character of its text, or '$'. */
static const char *
next_in_template(const char *t, const struct launch *l)
{
    bool empty;

    for (; *t == '<' || *t == '>'; t++) {
        if (*t == '>')
            continue;
        t++;
        switch (value_named_at(&t)) {
        case ARGS:
            empty = l->args.n == 0;
            break;
        case TOKEN:
            empty = l->token_env == NULL;
            break;
        default:
            empty = l->n_env == 0;
        }
        t = empty ? strchr(t, '>') : t - 1;
    }
    return t;
}

static void
put_servers(struct buf *b, const struct client *k, const struct launch *l)
{
    const char *t = next_in_template(l->url.p != NULL ? k->http : k->stdio, l);
    struct words all = {.n = 0};
    enum value v;

    add_word(&all, l->command);
    add_all(&all, &l->args);
    for (; *t != '\0'; t = next_in_template(t, l)) {
        if (*t != '$') {
            buf_char(b, *t++);
            continue;
        }
        t++;
        v = value_named_at(&t);
        if (v == ARGS || v == LAUNCH)
            put_word_list(b, v == ARGS ? &l->args : &all, ", ");
        else if (v == ENV || v == HEADER || v == TABLE)
            put_pairs(b, l->env, l->n_env, v == TABLE ? "\" = " : "\": ");
        else if (v == TOKEN)
            json_quote(b, str_of(l->token_env));
        else
            json_quote(b, v == URL ? l->url : l->command);
    }
}

/* The words of a command. */
static void
put_client_words(struct cli *c, const char *t, const struct launch *l,
                 struct words *w)
{
    const struct pair *e = l->env;
    struct buf b = {0};
    size_t len;

    for (t = next_in_template(t, l); *t != '\0'; t = next_in_template(t, l)) {
        if (*t != '$') {
            len = strcspn(t, " <>$");
            if (len > 0)
                add_word(w, arena_str(&c->a, (struct str){t, len}));
            t += len > 0 ? len : 1; /* a blank */
            continue;
        }
        t++;
        switch (value_named_at(&t)) {
        case ARGS:
            add_all(w, &l->args);
            break;
        case ENV:
            for (size_t i = 0; i < l->n_env; i++) {
                add_word(w, STR("--env"));
                add_word(w, arena_printf(&c->a, "%s=%s", e[i].name,
                                         e[i].value));
            }
            break;
        case HEADER:
            add_word(w, arena_printf(&c->a, "%s: %s", e->name, e->value));
            break;
        case FIELD:
            add_word(w, arena_printf(&c->a, "%s=%s", e->name, e->value));
            break;
        case OBJECT:
            buf_printf(&b, "{\"name\":\"mcptask\",\"type\":\"%s\"",
                       l->url.p != NULL ? "http" : "stdio");
            put_launch(&b, l);
            add_word(w, buf_take(&b, &c->a));
            break;
        case TOKEN:
            add_word(w, str_of(l->token_env));
            break;
        case URL:
            add_word(w, l->url);
            break;
        default:
            add_word(w, l->command);
        }
    }
}

static void
put_words(struct buf *b, const struct words *w)
{
    for (size_t i = 0; i < w->n; i++) {
        buf_z(b, i > 0 ? " " : "");
        cli_put_word(b, w->word[i]);
    }
    buf_char(b, '\n');
}

/* Whether the settings hold a token itself. */
static bool
holds_token(const struct cli *c)
{
    return c->args.token_file != NULL && c->args.token_env == NULL;
}

/* ---- over HTTP ---- */

/* Finds the agent's token in the token file, which must be one that the server
   accepts. Returns 0, or an exit code after printing the error. */
static int
find_token(struct cli *c, const char *agent, struct str *out)
{
    const char *path = c->args.token_file;
    struct str rest, line;
    struct tokens *tokens = NULL;
    char *text = arena_alloc(&c->a, TOKEN_MAX_FILE + 1), why[256];
    int rc = text == NULL ? ERR_NOMEM : tokens_load(&tokens, path, why);

    tokens_free(tokens);
    if (rc < 0)
        return cli_fail(c, rc, "%s", rc == ERR_NOMEM ? "out of memory" : why);
    file_read_text(path, text, TOKEN_MAX_FILE + 1);
    for (rest = str_of(text); rest.len > 0;) {
        line = str_line(&rest);
        *out = token_word(&line);
        if (!str_starts(*out, "#") && str_is(token_word(&line), agent))
            return 0;
    }
    return cli_fail(c, ERR_NOT_FOUND, "%s: no token for agent %s\nname another "
                    "with --agent", path, agent);
}

static int
find_url(struct cli *c, const struct client *k, const char *url,
         struct launch *l)
{
    static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ_"
                                  "abcdefghijklmnopqrstuvwxyz0123456789";
    const char *port = env_get("MCP_TASK_PORT"), *variable = c->args.token_env;
    const char *agent = c->arg[ARG_AGENT].text;
    struct str token = STR_NONE, bearer = STR_NONE;
    int rc = 0;

    if (port == NULL)
        port = "8766";
    *l = (struct launch){.url = url != NULL ? str_of(url) :
             arena_printf(&c->a, "http://127.0.0.1:%s/mcp", port)};
    if (url != NULL && !str_starts(l->url, "http://") &&
        !str_starts(l->url, "https://"))
        return cli_misuse(c, "URL needs an HTTP address, not \"%s\"", url);
    /* Most tokens that are given by mistake cannot name a variable. */
    if (variable != NULL &&
        (variable[0] == '\0' || strchr("0123456789", variable[0]) != NULL ||
         variable[strspn(variable, allowed)] != '\0'))
        return cli_misuse(c, "--token-env needs the name of a variable");
    if (variable != NULL && k->variable == NULL)
        return cli_misuse(c, "the settings of %s cannot refer to a variable; "
                          "use --token-file", k->name);
    if (c->args.token_file != NULL)
        rc = find_token(c, agent != NULL ? agent : k->name, &token);
    l->token_env = variable;
    if (l->token_env != NULL && k->variable[0] != '\0')
        token = arena_printf(&c->a, "%s%s}", k->variable, l->token_env);
    if (token.p != NULL)
        bearer = arena_printf(&c->a, "Bearer %.*s", STR_ARG(token));
    if (k->http != NULL) {
        add_env(l, bearer.p != NULL, "Authorization", bearer.p);
        return rc;
    }
    /* A client that can only start servers starts a bridge. */
    l->command = STR("npx");
    add_words(&l->args, "-y", "mcp-remote");
    add_words(&l->args, l->url.p, "--allow-http");
    if (bearer.p != NULL) {
        /* mcp-remote's arguments must not hold blanks. */
        add_words(&l->args, "--header",
                  "Authorization:${MCPTASK_AUTHORIZATION}");
        add_env(l, true, "MCPTASK_AUTHORIZATION", bearer.p);
    }
    l->url = STR_NONE;
    return rc;
}

/* Finds the client, and how it is to reach the server. Returns 0, or an exit
   code after printing the error. */
static int
find_client(struct cli *c, const struct client **out, struct launch *l)
{
    const char *name = c->operand[0], *url = c->operand[1];
    const struct cli_args *a = &c->args;
    const struct client *k = clients;

    c->exact = true;
    while (k < clients + N_CLIENTS && strcmp(k->name, name) != 0)
        k++;
    if (k == clients + N_CLIENTS)
        return cli_fail(c, ERR_INVALID, "unknown client \"%s\"\nrun \"mcptask "
                        "help config\" for the list", name);
    *out = k;
    if (a->http || a->token_file != NULL || a->token_env != NULL || url != NULL)
        return find_url(c, k, url, l);
    find_launch(c, l);
    return 0;
}

static void
put_settings(struct cli *c, const struct client *k, const struct launch *l)
{
    struct words w = {.n = 0};

    /* On stderr, so that stdout can go into the file unchanged. */
    text_tell("# %s:\n", k->where);
    if (holds_token(c))
        text_tell("# it holds a token: keep it out of repositories, or give "
                  "--token-env\n");
    if (k == clients) {
        put_client_words(c, l->url.p != NULL ? k->run_http : k->run, l, &w);
        put_words(&c->out, &w);
        if (holds_token(c))
            return;
        buf_z(&c->out, "\n# or, for all who work on one project, in its "
              ".mcp.json:\n");
    }
    put_servers(&c->out, k, l);
}

int
cli_config(struct cli *c)
{
    const struct client *k;
    struct launch l;
    int rc = find_client(c, &k, &l);

    if (rc != 0)
        return rc;
    if (c->json) {
        buf_printf(&c->out, "{\"client\":\"%s\"", k->name);
        put_launch(&c->out, &l);
        buf_char(&c->out, '\n');
    } else {
        put_settings(c, k, &l);
    }
    return 0;
}

/* ---- setup ---- */

/* What to put where, as JSON. */
static void
put_settings_json(struct buf *b, const struct client *k, const struct buf *text,
                  const char *where)
{
    struct json_w w;

    json_begin(&w, b);
    json_put_z(&w, "client", k->name);
    json_put_str(&w, "settings", buf_view(text));
    json_put_z(&w, "where", where);
    json_end(&w);
    buf_char(b, '\n');
}

/* Runs the client's command, whose output goes to stderr with --json. Returns
   its exit code, or one of ours after printing the error. */
static int
run_words(struct cli *c, struct str program, const struct words *w)
{
    char *argv[MAX_WORDS + 1];
    size_t i;

    for (i = 0; i < w->n; i++)
        argv[i] = (char *)w->word[i].p;
    argv[i] = NULL;
    cli_flush(c);
    return cli_wait_program(c, program.p, cli_start_program(
        c, program.p, argv, STDIN_FILENO,
        c->json ? STDERR_FILENO : STDOUT_FILENO, STDERR_FILENO));
}

/* For a client that has hooks, these; for another one, what its agents are to
   know, as lines for AGENTS.md. */
static int
print_hooks(struct cli *c, const struct client *k, const struct launch *l)
{
    static const char *const events[] = {"SubagentStart", "SessionStart",
                                         "SessionEnd"};
    const char *where = k->hooks != NULL ? k->hooks : "AGENTS.md";
    struct words w = {.n = 0};
    struct buf b = {0}, command = {0};
    struct str text;

    if (l->url.p != NULL)
        return cli_misuse(c, "--hooks is for a store of this host");
    if (k->hooks != NULL) {
        /* The command, for sh: the store is that of this process. */
        if (l->n_env > 0)
            add_word(&w, STR("env"));
        for (size_t i = 0; i < l->n_env; i++)
            add_word(&w, arena_printf(&c->a, "%s=%s", l->env[i].name,
                                      l->env[i].value));
        add_word(&w, l->command);
        add_all(&w, &l->args);
        add_words(&w, "hook", k->name);
        put_words(&command, &w);
        text = buf_take(&command, &c->a);
        text.len -= text.len > 0; /* the line feed */
        buf_z(&b, "{\n  \"hooks\": {\n");
        for (int i = k->subs ? 0 : 1; i < 3; i++) {
            buf_printf(&b, "    \"%s\": [{\"hooks\": [\n"
                       "      {\"type\": \"command\", \"command\": ",
                       events[i]);
            json_quote(&b, text);
            buf_printf(&b, "}]}]%s\n", i < 2 ? "," : "");
        }
        buf_z(&b, "  }\n}\n");
    } else {
        if (tools_skill_body(&text) != 0)
            return cli_fail(c, ERR_NOMEM, "out of memory");
        buf_str(&b, text);
    }
    if (c->json) {
        put_settings_json(&c->out, k, &b, where);
    } else {
        text_tell("# add this to %s:\n", where);
        buf_str(&c->out, buf_view(&b));
    }
    buf_fini(&b);
    return CLI_OK;
}

int
cli_setup(struct cli *c)
{
    struct words w = {.n = 0}, remove = {.n = 0};
    const struct client *k;
    struct str program = STR_NONE;
    struct launch l;
    struct buf text = {0};
    int rc = find_client(c, &k, &l);

    if (rc != 0)
        return rc;
    if (c->args.hooks)
        return print_hooks(c, k, &l);
    if (k->run != NULL) {
        put_client_words(c, l.url.p != NULL ? k->run_http : k->run, &l, &w);
        program = find_program(&c->a, w.word[0].p);
    }
    if (program.p == NULL) {
        if (c->json) {
            put_servers(&text, k, &l);
            put_settings_json(&c->out, k, &text, k->where);
            buf_fini(&text);
            return CLI_OK;
        }
        if (k->run != NULL)
            cli_fail(c, 0, "%.*s is not in PATH; run this yourself:",
                     STR_ARG(w.word[0]));
        put_settings(c, k, &l);
        return CLI_OK;
    }
    if (c->json) {
        buf_printf(&c->out, "{\"client\":\"%s\",\"run\":", k->name);
        put_word_list(&c->out, &w, ",");
        buf_z(&c->out, "}\n");
    } else {
        put_words(c->args.dry_run ? &c->out : &text, &w);
    }
    if (c->args.dry_run)
        return CLI_OK;
    cli_say(STDERR_FILENO, &text);
    rc = run_words(c, program, &w);
    if (rc != 0 && k->remove != NULL) {
        /* Some clients refuse a server that they have, where others replace it.
           What was there is removed only now, so that it stays if the command
           failed for another reason and there is none. */
        put_client_words(c, k->remove, &l, &remove);
        if (run_words(c, program, &remove) == 0)
            rc = run_words(c, program, &w);
    }
    if (rc == 0 && !c->json && l.url.p == NULL)
        text_tell("# To show agents their tasks when a session starts, run: "
                  "mcptask setup %s --hooks\n", k->name);
    return rc;
}
