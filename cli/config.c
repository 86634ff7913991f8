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
#include "cli/text.h"
#include "mcp/calls.h"
#include "tools/skill.h"
#include "base/file.h"
#include "base/os.h"
#include "base/text.h"
#include "json/write.h"
#include "base/token.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
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
absolute(struct arena *a, const char *path)
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
    else if ((path = absolute(&c->a, called)) != NULL)
        found = str_of(path);
    return found.p != NULL ? found : str_of(called);
}

/* How to start this program: by its path, unless that is in the cache of a
   runner, which may drop it and fetches it again. */
static void
put_program(struct cli *c, struct launch *l)
{
    l->command = cli_own_path(c);
    if (strstr(l->command.p, "/_npx/") != NULL) {
        l->command = STR("npx");
        add_words(&l->args, "-y", "mcptask");
    } else if (strstr(l->command.p, "/archive-v") != NULL) {
        l->command = STR("uvx");
        add_word(&l->args, STR("mcptask"));
    }
}

static void
find_launch(struct cli *c, struct launch *l)
{
    const struct cli_env *e = c->env;
    const char *auth = env_get("MCP_TASK_STORE_AUTH");

    *l = (struct launch){.n_env = 0};
    put_program(c, l);
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
            auth != NULL ? absolute(&c->a, auth) : NULL);
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
    const char *program; /* that adds servers itself, or NULL */
    /* The command that does so. */
    void (*put)(struct cli *c, const struct client *k, const struct launch *l,
                struct words *w);
    const char *variable; /* before the name of a variable, or NULL */
    const char *hooks; /* where its hooks are; NULL: it has none like these */
    bool joined; /* its command holds the arguments, too */
    bool subs;   /* there is a hook for a sub-agent, too */
};

static void
put_name(struct buf *b, const struct form *f, bool first, const char *name)
{
    buf_printf(b, "%s%s%s%s", first ? "" : f->between, f->before, name, f->sep);
}

/* What a client calls its servers here or over HTTP, and the variables. */
static struct str
transport_of(const struct client *k, bool http)
{
    if (k->joined)
        return str_of(http ? "remote" : "local");
    return str_of(http ? "http" : "stdio");
}

static const char *
variables_of(const struct client *k)
{
    return k->joined ? "environment" : "env";
}

/* The program and its arguments as one list. */
static void
put_joined(struct buf *b, const struct launch *l)
{
    struct words w = {.n = 0};

    add_word(&w, l->command);
    for (size_t i = 0; i < l->args.n; i++)
        add_word(&w, l->args.word[i]);
    put_word_list(b, &w, ", ");
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
        json_quote(b, transport_of(k, http));
    }
    put_name(b, f, !typed, http ? k->url : "command");
    if (!http && k->joined)
        put_joined(b, l);
    else
        json_quote(b, http ? l->url : l->command);
    if (!http && !k->joined) {
        put_name(b, f, false, "args");
        put_word_list(b, &l->args, ", ");
    }
    if (l->token_env != NULL && k->variable == NULL) {
        put_name(b, f, false, "bearer_token_env_var");
        json_quote(b, str_of(l->token_env));
    } else if (l->n_env > 0) {
        put_name(b, f, false, http ? k->headers : variables_of(k));
        put_pairs(b, l->env, l->n_env, pair);
    }
    buf_z(b, f->close);
}

/* ---- the client's own command ---- */

/* The rest of an object, after its first members: how to start or reach the
   server, where url names the address. */
static void
put_launch(struct buf *b, const struct launch *l, const char *url)
{
    bool http = l->url.p != NULL;

    buf_printf(b, ",\"%s\":", http ? url : "command");
    json_quote(b, http ? l->url : l->command);
    if (!http) {
        buf_z(b, ",\"args\":");
        put_word_list(b, &l->args, ", ");
    }
    buf_z(b, http ? ",\"headers\":" : ",\"env\":");
    put_pairs(b, l->env, l->n_env, "\":");
    buf_char(b, '}');
}

/* VS Code takes one object. */
static void
vscode_words(struct cli *c, const struct client *k, const struct launch *l,
             struct words *w)
{
    struct buf b = {0};

    buf_printf(&b, "{\"name\":\"mcptask\",\"type\":\"%s\"",
               l->url.p != NULL ? "http" : "stdio");
    put_launch(&b, l, k->url);
    add_words(w, k->program, "--add-mcp");
    add_word(w, buf_take(&b, &c->a));
}

/* Each variable as an option of its own. */
static void
add_variables(struct cli *c, const struct launch *l, struct words *w)
{
    for (size_t i = 0; i < l->n_env; i++) {
        add_word(w, STR("--env"));
        add_word(w, arena_printf(&c->a, "%s=%s", l->env[i].name,
                                 l->env[i].value));
    }
}

static void
opencode_words(struct cli *c, const struct client *k, const struct launch *l,
               struct words *w)
{
    bool http = l->url.p != NULL;

    add_words(w, k->program, "mcp");
    add_words(w, "add", "mcptask");
    if (http) {
        add_words(w, "--url", l->url.p);
        if (l->n_env > 0)
            add_words(w, "--header",
                      arena_printf(&c->a, "%s=%s", l->env[0].name,
                                   l->env[0].value).p);
        return;
    }
    add_variables(c, l, w);
    add_word(w, STR("--"));
    add_word(w, l->command);
    for (size_t i = 0; i < l->args.n; i++)
        add_word(w, l->args.word[i]);
}

/* The command of the client that adds this server. --env and --header take
   any number of values in some clients, so what follows them is an option, or
   nothing; and gemini takes "--" only after the program. */
static void
client_words(struct cli *c, const struct client *k, const struct launch *l,
             struct words *w)
{
    bool http = l->url.p != NULL, codex = k->form == &toml;
    bool late = k->form == &json && k->program[0] == 'g';

    add_words(w, k->program, "mcp");
    add_word(w, STR("add"));
    if (!http)
        add_variables(c, l, w);
    if (!codex) {
        add_words(w, "--scope", "user");
        add_words(w, "--transport", http ? "http" : "stdio");
    }
    add_word(w, STR("mcptask"));
    if (!late && (codex || !http))
        add_word(w, str_of(http ? "--url" : "--"));
    add_word(w, http ? l->url : l->command);
    if (late && l->args.n > 0)
        add_word(w, STR("--"));
    for (size_t i = 0; i < l->args.n; i++)
        add_word(w, l->args.word[i]);
    if (http && codex && l->token_env != NULL)
        add_words(w, "--bearer-token-env-var", l->token_env);
    else if (http && l->n_env > 0)
        add_words(w, "--header", arena_printf(&c->a, "%s: %s", l->env[0].name,
                                              l->env[0].value).p);
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

static void
put_claude_code(struct cli *c, const struct client *k, const struct launch *l)
{
    struct words w = {.n = 0};

    client_words(c, k, l, &w);
    put_words(&c->out, &w);
    if (holds_token(c))
        return;
    buf_z(&c->out, "\n# or, for all who work on one project, in its .mcp.json:"
                   "\n");
    put_servers(&c->out, k, l);
}

static const struct client clients[] = {
    {.name = "claude-code", .where = "run this, once, for all your projects",
     .form = &json, .servers = "mcpServers", .url = "url",
     .headers = "headers", .typed = true, .http_typed = true,
     .program = "claude", .put = client_words, .variable = "${",
     .hooks = "~/.claude/settings.json", .subs = true},
    {.name = "claude-desktop",
     .where = "for claude_desktop_config.json (Settings, Developer, Edit "
              "Config)",
     .form = &json, .servers = "mcpServers", .variable = "${"},
    {.name = "cursor",
     .where = "for ~/.cursor/mcp.json, or .cursor/mcp.json in a project",
     .form = &json, .servers = "mcpServers", .url = "url",
     .headers = "headers", .typed = true, .variable = "${env:"},
    {.name = "vscode",
     .where = "for .vscode/mcp.json, or what \"MCP: Open User "
              "Configuration\" opens",
     .form = &json, .servers = "servers", .url = "url", .headers = "headers",
     .typed = true, .http_typed = true, .program = "code",
     .put = vscode_words, .variable = "${env:"},
    {.name = "codex", .where = "for ~/.codex/config.toml", .form = &toml,
     .servers = "mcp_servers", .url = "url", .headers = "http_headers",
     .program = "codex", .put = client_words,
     .hooks = "~/.codex/hooks.json; then say yes to them in /hooks of codex",
     .subs = true},
    {.name = "gemini",
     .where = "for ~/.gemini/settings.json, or .gemini/settings.json in a "
              "project",
     .form = &json, .servers = "mcpServers", .url = "httpUrl",
     .headers = "headers", .program = "gemini", .put = client_words,
     .variable = "${", .hooks = "~/.gemini/settings.json"},
    {.name = "opencode",
     .where = "for ~/.config/opencode/opencode.json, or opencode.json in a "
              "project",
     .form = &json, .servers = "mcp", .url = "url", .headers = "headers",
     .typed = true, .http_typed = true, .program = "opencode",
     .put = opencode_words, .variable = "{env:", .joined = true},
    {.name = "hermes", .where = "for ~/.hermes/config.yaml", .form = &yaml,
     .servers = "mcp_servers", .url = "url", .headers = "headers",
     .variable = "${"},
};
#define N_CLIENTS (sizeof(clients) / sizeof(clients[0]))

void
cli_put_clients(struct buf *b)
{
    for (size_t i = 0; i < N_CLIENTS; i++)
        buf_printf(b, " %s", clients[i].name);
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

/* A client that can only start servers starts a bridge. */
static void
add_bridge(struct launch *l, const char *bearer)
{
    l->command = STR("npx");
    add_words(&l->args, "-y", "mcp-remote");
    add_words(&l->args, l->url.p, "--allow-http");
    if (bearer != NULL) {
        /* mcp-remote's arguments must not hold blanks. */
        add_words(&l->args, "--header",
                  "Authorization:${MCPTASK_AUTHORIZATION}");
        add_env(l, true, "MCPTASK_AUTHORIZATION", bearer);
    }
    l->url = STR_NONE;
}

/* Whether z can name a variable: a token given by mistake mostly cannot. */
static bool
is_name(const char *z)
{
    static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ_"
                                  "abcdefghijklmnopqrstuvwxyz0123456789";
    size_t n = strlen(z);

    return n > 0 && strspn(z, allowed) == n && (z[0] < '0' || z[0] > '9');
}

static int
find_url(struct cli *c, const struct client *k, const char *url,
         struct launch *l)
{
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
    if (variable != NULL && !is_name(variable))
        return cli_misuse(c, "--token-env needs the name of a variable");
    if (c->args.token_file != NULL)
        rc = find_token(c, agent != NULL ? agent : k->name, &token);
    l->token_env = variable;
    if (l->token_env != NULL && k->variable != NULL)
        token = arena_printf(&c->a, "%s%s}", k->variable, l->token_env);
    if (token.p != NULL)
        bearer = arena_printf(&c->a, "Bearer %.*s", STR_ARG(token));
    if (k->url == NULL)
        add_bridge(l, bearer.p);
    else
        add_env(l, bearer.p != NULL, "Authorization", bearer.p);
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
    /* On stderr, so that stdout can go into the file unchanged. */
    text_tell("# %s:\n", k->where);
    if (holds_token(c))
        text_tell("# it holds a token: keep it out of repositories, or give "
                  "--token-env\n");
    if (k == clients)
        put_claude_code(c, k, l);
    else
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
        put_launch(&c->out, &l, "url");
        buf_char(&c->out, '\n');
    } else {
        put_settings(c, k, &l);
    }
    return 0;
}

/* ---- setup ---- */

/* The words that are run, or what to put where. */
static void
put_setup_json(struct cli *c, const struct client *k, const struct launch *l,
               const struct words *w)
{
    struct buf *b = &c->out, text = {0};

    buf_printf(b, "{\"client\":\"%s\",\"%s", k->name,
               w->n > 0 ? "run\":" : "settings\":");
    if (w->n > 0) {
        put_word_list(b, w, ",");
        buf_z(b, "}\n");
        return;
    }
    put_servers(&text, k, l);
    json_quote(b, buf_view(&text));
    buf_fini(&text);
    buf_z(b, ",\"where\":");
    json_quote(b, str_of(k->where));
    buf_z(b, "}\n");
}

/* Runs the client's command, whose output goes to stderr with --json. Returns
   its exit code, or one of ours after printing the error. */
static int
run_words(struct cli *c, struct str program, const struct words *w)
{
    char *argv[MAX_WORDS + 1];
    int status = 0;
    pid_t pid;
    size_t i;

    for (i = 0; i < w->n; i++)
        argv[i] = (char *)w->word[i].p;
    argv[i] = NULL;
    cli_flush(c);
    pid = fork();
    if (pid == 0) {
        if (c->json)
            dup2(STDERR_FILENO, STDOUT_FILENO);
        signal(SIGPIPE, SIG_DFL);
        signal(SIGXFSZ, SIG_DFL);
        execv(program.p, argv);
        _exit(cli_fail_errno(c, ERR_NOT_FOUND, program.p));
    }
    if (pid < 0)
        return cli_fail_errno(c, ERR_NOMEM, program.p);
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return cli_fail_errno(c, ERR_IO, program.p);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Claude Code refuses a server that it has, where the others replace it. What
   was there is removed only after that, so that it stays if the command fails
   for another reason and there is none. */
static int
add_server(struct cli *c, const struct client *k, struct str program,
           const struct words *w)
{
    struct words remove = {.n = 0};
    int rc = run_words(c, program, w);

    if (rc == 0 || k != clients)
        return rc;
    add_words(&remove, k->program, "mcp");
    add_words(&remove, "remove", "--scope");
    add_words(&remove, "user", "mcptask");
    return run_words(c, program, &remove) == 0 ? run_words(c, program, w) : rc;
}

/* ---- hooks ---- */

/* The command of a hook, for sh: the store is that of this process. */
static struct str
hook_command(struct cli *c, const struct client *k, const struct launch *l)
{
    struct words w = {.n = 0};
    struct buf b = {0};

    if (l->n_env > 0)
        add_word(&w, STR("env"));
    for (size_t i = 0; i < l->n_env; i++)
        add_word(&w, arena_printf(&c->a, "%s=%s", l->env[i].name,
                                  l->env[i].value));
    add_word(&w, l->command);
    for (size_t i = 0; i < l->args.n; i++)
        add_word(&w, l->args.word[i]);
    add_words(&w, "hook", k->name);
    put_words(&b, &w);
    b.len -= b.len > 0; /* the line feed */
    return buf_take(&b, &c->a);
}

static void
put_hooks(struct buf *b, const struct client *k, struct str command)
{
    static const char *const events[] = {"SubagentStart", "SessionStart",
                                         "SessionEnd"};

    buf_z(b, "{\n  \"hooks\": {\n");
    for (int i = k->subs ? 0 : 1; i < 3; i++) {
        buf_printf(b, "    \"%s\": [{\"hooks\": [\n"
                   "      {\"type\": \"command\", \"command\": ", events[i]);
        json_quote(b, command);
        buf_printf(b, "}]}]%s\n", i < 2 ? "," : "");
    }
    buf_z(b, "  }\n}\n");
}

/* For a client that has hooks, these; for another one, what its agents are to
   know, as lines for AGENTS.md. */
static int
print_hooks(struct cli *c, const struct client *k, const struct launch *l)
{
    struct str text;
    struct buf b = {0};

    if (l->url.p != NULL)
        return cli_misuse(c, "--hooks is for a store of this host");
    if (k->hooks != NULL) {
        put_hooks(&b, k, hook_command(c, k, l));
    } else {
        if (tools_skill_body(&text) != 0)
            return cli_fail(c, ERR_NOMEM, "out of memory");
        buf_str(&b, text);
    }
    text = str_of(k->hooks != NULL ? k->hooks : "AGENTS.md");
    if (c->json) {
        buf_printf(&c->out, "{\"client\":\"%s\",\"settings\":", k->name);
        json_quote(&c->out, buf_view(&b));
        buf_z(&c->out, ",\"where\":");
        json_quote(&c->out, text);
        buf_z(&c->out, "}\n");
    } else {
        text_tell("# add this to %.*s:\n", STR_ARG(text));
        buf_str(&c->out, buf_view(&b));
    }
    buf_fini(&b);
    return CLI_OK;
}

int
cli_setup(struct cli *c)
{
    struct words w = {.n = 0};
    const struct client *k;
    struct str program = STR_NONE;
    struct launch l;
    struct buf said = {0};
    int rc = find_client(c, &k, &l);

    if (rc != 0)
        return rc;
    if (c->args.hooks)
        return print_hooks(c, k, &l);
    if (k->program != NULL)
        program = find_program(&c->a, k->program);
    if (program.p == NULL) {
        if (k->program != NULL && !c->json)
            cli_fail(c, 0, "%s is not in PATH; run this yourself:",
                     k->program);
        if (c->json)
            put_setup_json(c, k, &l, &w);
        else
            put_settings(c, k, &l);
        return CLI_OK;
    }
    k->put(c, k, &l, &w);
    if (c->json)
        put_setup_json(c, k, &l, &w);
    else
        put_words(c->args.dry_run ? &c->out : &said, &w);
    if (c->args.dry_run)
        return CLI_OK;
    cli_say(STDERR_FILENO, &said);
    rc = add_server(c, k, program, &w);
    if (rc == 0 && !c->json && l.url.p == NULL)
        text_tell("# mcptask setup %s --hooks prints what tells agents of "
                  "their tasks\n", k->name);
    return rc;
}
