/* mcptask - options, environment and exit codes; connects the parts.

   Without a command it serves MCP on standard input and output until the input
   ends, a signal arrives or the parent dies; or, with an option for it, over
   HTTP until a signal arrives. It refuses to start with an unknown option or a
   store of an unknown version. Starting writes no record, except for commands
   of mcptask run that ended when no process was left to report it. A damaged
   store is served as far as it is whole, since that is when its owner needs it
   most. */

#include "mcp/calls.h"
#include "mcp/mcp.h"
#include "cli/cli.h"
#include "cli/run.h"
#include "cli/store.h"
#include "cli/text.h"
#include "base/env.h"
#include "base/file.h"
#include "serve/stdio.h"
#include "serve/turn.h"
#include "mcp/sign.h"
#include "store.h"
#include "store/remote.h"
#include "task/project.h"
#include "task/query.h"
#include "task/task.h"
#include "base/text.h"
#include "tools/tools.h"
#include "serve/web.h"
#ifndef NO_ETCD
#include "etcd/remote.h"
#endif

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- options ---- */

#define NOT_GIVEN UINT64_MAX
#define DEFAULT_HOST "127.0.0.1"
#define DEFAULT_PORT 8766
#define MAX_CALLS 1000000
#define MAX_RATE 1000000
#define PASSED_FD 3 /* the first socket that systemd passes */

/* The options before the command. */
struct options {
    struct cli_env e;
    const char *tools, *ownership, *evidence, *artifact_root;
    uint64_t port, connections;
    bool help, version, http;
    char **rest; /* the words after the options, or from a wrong one on */
    struct web_options web;
};
_Static_assert(ENV_MAX_LIST == WEB_MAX_ALLOW, "as env_option fills them");

/* An option: where its value goes, the range of a number, what help calls the
   value, and what the option does. */
#define OPT(kind, name, letter, member, min, max, value, help) \
    {name, value, help, letter, kind, offsetof(struct options, member), \
     min, max}
#define TEXT(name, member, value, help) \
    OPT(OPT_TEXT, name, 0, member, 0, 0, value, help)
#define LIST(name, member, value, help) \
    OPT(OPT_LIST, name, 0, member, 0, 0, value, help)
#define NUMBER(name, member, min, max, value, help) \
    OPT(OPT_NUMBER, name, 0, member, min, max, value, help)
#define LETTER(name, letter, member, help) \
    OPT(OPT_FLAG, name, letter, member, 0, 0, NULL, help)
#define FLAG(name, member, help) LETTER(name, 0, member, help)

static const struct env_opt opts[] = {
    TEXT("tools", tools, "core|all", "which tools to offer (all)"),
    FLAG("read-only", e.read_only,
         "offer only tools that read; write nothing"),
    OPT(OPT_MAY, "require-evidence", 0, evidence, 0, 0, "pass",
        "refuse done without test_results; with pass, also require that they "
        "passed at this commit and that completed_steps has each item of "
        "acceptance"),
    TEXT("ownership", ownership, "enforce|warn",
         "refuse writes during another agent's lease, or only warn (enforce)"),
    FLAG("structured", e.structured,
         "also send results as structuredContent"),
    TEXT("artifact-root", artifact_root, "DIR",
         "let attach_artifact read files under DIR"),
    TEXT("server", e.server, "ADDRESS",
         "send commands to the server at unix:FILE or 127.0.0.1:PORT instead "
         "of opening the store"),
    TEXT("token-file", web.token_file, "FILE",
         "accept only these clients over HTTP: one TOKEN AGENT [read|person] "
         "per line; for a command, the token for --server"),
    LETTER("help", 'h', help, "show help"),
    LETTER("version", 'V', version, "print the version"),
};

static const struct env_opt store_opts[] = {
    NUMBER("compact-at", e.compact_at, 1, 0, "BYTES",
        "compact the log when this much of it is outdated (67108864)"),
    NUMBER("closed-max", e.closed_mib, 0, UINT32_MAX, "MIB",
        "MiB of old logs to keep for the history (1024)"),
    NUMBER("calls-own", e.calls_own, 1, MAX_CALLS, "N",
        "at most N deferred calls (MCP Tasks) per agent (1000)"),
    NUMBER("calls-max", e.calls_max, 1, MAX_CALLS, "N",
         "at most N deferred calls of all agents (10000)"),
};

static const struct env_opt hosts_opts[] = {
    TEXT("store", e.store, "URL",
         "share a store with other hosts through etcd: "
         "etcd://HOST:PORT[,HOST:PORT...]/PREFIX"),
    FLAG("insecure", e.insecure,
         "allow --server on another host, without TLS"),
};

/* Each of these implies --http. */
static const struct env_opt http_opts[] = {
    FLAG("http", http, "serve over HTTP instead of standard input and output"),
    TEXT("host", web.http.host, "ADDRESS",
         "listen on this numeric address (127.0.0.1)"),
    NUMBER("port", port, 0, UINT16_MAX, "PORT",
        "listen on this port, or any free one with 0 (8766)"),
    TEXT("unix", web.http.unix_path, "FILE",
         "listen on this Unix socket instead"),
    LIST("allow-host", web.allow_host, "HOST[:PORT]",
         "accept requests with this Host; may be repeated"),
    LIST("allow-origin", web.allow_origin, "ORIGIN",
         "accept requests from pages of this origin; may be repeated"),
    NUMBER("connections", connections, 1, HTTP_MAX_CONNECTIONS, "N",
        "accept at most N connections (256)"),
    NUMBER("rate", web.rate, 0, MAX_RATE, "N",
        "accept at most N requests per second of an agent; 0: any number (0)"),
};

#define TOPIC(name, opts) {name, opts, sizeof(opts) / sizeof(*opts)}
static const struct env_topic topics[] = {
    TOPIC("options", opts), TOPIC("http", http_opts),
    TOPIC("store", store_opts), TOPIC("hosts", hosts_opts), {0},
};

/* Parses text as one of two words, no being the default. *is_yes: it is yes.
   False: it is neither. */
static bool
choose_word(const char *text, const char *yes, const char *no, bool *is_yes)
{
    *is_yes = text != NULL && strcmp(text, yes) == 0;
    return text == NULL || *is_yes || strcmp(text, no) == 0;
}

/* Sets whom a command asks, and what the token file is for: a command's token,
   or those of the clients. Returns NULL, or what is wrong. */
static const char *
apply_server(struct options *o, bool command)
{
    struct cli_env *e = &o->e;

    if (!command) {
        o->http = o->http || o->web.token_file != NULL;
        return e->server != NULL || e->insecure
                   ? "--server and --insecure need a command" : NULL;
    }
    if (e->server != NULL && e->store != NULL)
        return "--server cannot be used with --store";
    if (e->server == NULL && e->store == NULL)
        e->server = env_get("MCP_TASK_SERVER");
    if (e->server == NULL)
        return o->web.token_file != NULL
                   ? "--token-file with a command needs --server" : NULL;
    e->token_file = o->web.token_file;
    if (e->token_file == NULL)
        e->token_file = env_get("MCP_TASK_TOKEN_FILE");
    o->web.token_file = NULL;
    return NULL;
}

/* Checks the options and passes them to the parts. Returns NULL, or what is
   wrong. */
static const char *
apply_options(struct options *o)
{
    struct cli_env *e = &o->e;
    const char *root = o->artifact_root;
    struct stat st;
    int n = 0;

    if (!choose_word(o->tools, "core", "all", &e->core))
        return "--tools needs core or all";
    if (!choose_word(o->ownership, "warn", "enforce", &e->ownership_warn))
        return "--ownership needs enforce or warn";
    if (!choose_word(o->evidence, "pass", "", &e->require_pass))
        return "--require-evidence accepts only the value pass";
    e->require_evidence = o->evidence != NULL;
    if (e->store == NULL && e->server == NULL)
        e->store = env_get("MCP_TASK_STORE");
    if (o->web.token_file != NULL)
        e->secrets[n++] = o->web.token_file;
    e->secrets[n] = env_get("MCP_TASK_STORE_AUTH");
    if (root == NULL)
        return NULL;
    e->artifact_root = env_absolute(root);
    return root[0] != '\0' && e->artifact_root != NULL &&
           stat(e->artifact_root, &st) == 0 && S_ISDIR(st.st_mode)
               ? NULL : "--artifact-root needs a directory that exists";
}

/* Checks and sets options that only HTTP needs: where to listen, and the
   sockets passed to this process. Returns NULL, or what is wrong. */
static const char *
apply_http(struct options *o, bool command)
{
    const char *env = env_get("MCP_TASK_PORT"), *pid = env_get("LISTEN_PID");
    const char *n_passed = env_get("LISTEN_FDS");
    struct http_options *h = &o->web.http;
    bool given = o->port != NOT_GIVEN;
    uint64_t n;

    if (!o->http)
        return NULL;
    if (command)
        return "options for HTTP cannot be used with a command";
    if (h->unix_path != NULL && (given || h->host != NULL))
        return "--unix cannot be used with --host or --port";
    if (h->host == NULL)
        h->host = DEFAULT_HOST;
    if (!given && env == NULL)
        o->port = DEFAULT_PORT;
    else if (!given && (!str_u64(str_of(env), &o->port) ||
                        o->port > UINT16_MAX))
        return "MCP_TASK_PORT needs a number from 0 to 65535";
    h->port = (uint16_t)o->port;
    h->fd = -1;
    if (pid != NULL && n_passed != NULL && str_u64(str_of(pid), &n) &&
        n == (uint64_t)getpid() && strcmp(n_passed, "0") != 0) {
        if (strcmp(n_passed, "1") != 0 && strcmp(n_passed, "2") != 0)
            return "LISTEN_FDS: at most two sockets can be served";
        h->fd = PASSED_FD;
        if (*n_passed == '2')
            h->also_fd = PASSED_FD + 1;
    }
    h->connections = (unsigned)o->connections;
    o->web.read_only = o->e.read_only;
    return NULL;
}

/* Prints that there is no such option, and which one may be meant. Returns the
   exit code. */
static int
fail_option(const char *arg)
{
    const char *near = NULL;

    for (const struct env_topic *t = topics; near == NULL && t->n > 0; t++)
        near = env_nearest(t->opts, t->n, arg);
    if (near != NULL)
        return cli_fail(NULL, ERR_INVALID, "unknown option %s\ndid you mean "
                        "\"--%s\"?", arg, near);
    return cli_fail(NULL, ERR_INVALID, "unknown option %s\nrun \"mcptask help "
                    "options\"", arg);
}

/* Returns how many words of argv were options; or, after an error message,
   -CLI_USAGE. Either way o->rest are those after them. */
static int
parse_options(struct options *o, char **argv)
{
    const char *wrong;
    char why[256];
    int words;

    for (o->rest = argv; *o->rest != NULL && **o->rest == '-';
         o->rest += words) {
        words = 0;
        for (const struct env_topic *t = topics; words == 0 && t->n > 0; t++) {
            words = env_option(t->opts, t->n, o, o->rest, why);
            o->http |= words > 0 && t->opts == http_opts;
        }
        if (words == 0)
            return -fail_option(*o->rest);
        if (words < 0)
            return -cli_fail(NULL, ERR_INVALID, "%s\nrun \"mcptask help "
                             "options\"", why);
        if (o->help || o->version)
            return 0; /* the rest does not matter */
    }
    wrong = apply_server(o, *o->rest != NULL);
    if (wrong == NULL)
        wrong = apply_options(o);
    if (wrong == NULL)
        wrong = apply_http(o, *o->rest != NULL);
    return wrong == NULL ? (int)(o->rest - argv)
                         : -cli_fail(NULL, ERR_INVALID, "%s", wrong);
}

/* Whether the command is hook, even if an option before it is wrong. Its
   clients take an exit code for a veto, 2 above all. */
static bool
runs_hook(const struct options *o)
{
    char **at = o->rest;

    while (*at != NULL && **at == '-')
        at++;
    return *at != NULL && strcmp(*at, "hook") == 0;
}

/* ---- a store of several hosts ---- */

/* Joins the other hosts, if --store names some. Returns 0, or ERR_INVALID or
   ERR_NOMEM with *why. */
static int
join_hosts(struct cli_env *e, char why[256])
{
    if (e->store == NULL || e->no_store != NULL)
        return 0;
#ifdef NO_ETCD
    text_put(why, 256, "%s: this program was built without etcd",
             e->store == env_get("MCP_TASK_STORE") ? "MCP_TASK_STORE"
                                                   : "--store");
    return ERR_INVALID;
#else
    return remote_join(&e->remote, e->store, e->log_path, why);
#endif
}

/* ---- serving ---- */

struct parts { /* each depends on those before */
    struct cli_store s;
    struct sign *sign;
    struct tools *tools;
    struct mcp *mcp;
    struct loop *loop;
    struct turn *turn;
    struct stdio *stdio; /* one of these two */
    struct web *web;
};

/* Tells where the server is; a person, also what is there. */
static void
report_web(const struct cli_env *e, const char *address)
{
    bool local = str_starts(str_of(address), "unix:");

    text_tell("mcptask: %s%s\n", local ? "" : "http://", address);
    if (cli_terminal(STDERR_FILENO) == 0)
        return;
    if (!local)
        text_tell("  board  http://%s/\n  MCP    http://%s/mcp\n", address,
                  address);
    text_tell("  store  %s\nCtrl-C stops it.\n",
              e->store != NULL ? e->store : e->log_path);
}

static void
report_stdio(const struct cli_env *e)
{
    if (cli_terminal(STDIN_FILENO) > 0)
        cli_fail(NULL, 0, "this is an MCP server, normally started by an MCP "
                 "client\nfor the commands, press Ctrl-D and run \"mcptask "
                 "help\"");
    else if (env_get("MCP_TASK_SERVER") != NULL)
        cli_fail(NULL, 0, "MCP_TASK_SERVER is for commands; this server uses "
                 "its own store, %s", e->store != NULL ? e->store
                                                       : e->log_path);
    else if (e->debug)
        cli_fail(NULL, 0, "%s: serving on stdin and stdout", e->log_path);
}

static void
put_metrics(void *tasks, struct buf *b)
{
    tasks_put_metrics(tasks, b);
}

static int
open_parts(struct parts *p, const struct options *o, char why[256])
{
    const struct cli_env *e = &o->e;
    struct web_options web = o->web;
    const struct store_state *st;
    int err;

    if ((err = cli_open_store(e, false, &p->s, why)) < 0)
        return err;
    /* A new host first fetches the key that the others use: sessions sealed
       with a new one would be invalid to them. */
    st = store_state(p->s.store);
    if (st->shared && st->g == 0)
        store_confirm_patiently(p->s.store);
    cli_run_tell_lost(e, &p->s);
    if ((err = sign_new(&p->sign, p->s.store)) < 0 ||
        (err = tools_new(&p->tools, p->s.tasks, e)) < 0 ||
        (err = mcp_new(&p->mcp, tools_catalogue(p->tools), p->s.store,
                       p->sign, p->s.calls)) < 0 ||
        (err = loop_new(&p->loop)) < 0 ||
        (err = turn_new(&p->turn, p->loop, p->s.store, p->mcp)) < 0)
        return err;
    tasks_watch(p->s.tasks, mcp_see, p->mcp);
    web.put_metrics = put_metrics;
    web.metrics_ctx = p->s.tasks;
    return o->http ? web_open(&p->web, p->turn, p->loop, p->s.store, &web, why)
                   : stdio_open(&p->stdio, p->turn, p->loop);
}

static void
close_parts(struct parts *p)
{
    web_close(p->web);
    stdio_close(p->stdio);
    turn_free(p->turn);
    loop_free(p->loop);
    mcp_free(p->mcp);
    tools_free(p->tools);
    sign_free(p->sign);
    cli_close_store(&p->s);
}

static int
serve_clients(const struct options *o)
{
    const struct store_state *st;
    struct parts p = {0};
    char why[256] = "";
    int err = open_parts(&p, o, why), exit_code = CLI_OK;

    if (err == 0) {
        if (p.web != NULL)
            report_web(&o->e, web_address(p.web));
        else
            report_stdio(&o->e);
        st = store_state(p.s.store);
        if (st->torn)
            cli_fail(NULL, 0, "%s: removed an incomplete last record; no "
                     "acknowledged data was lost", st->path);
        if (st->why[0] != '\0')
            cli_fail(NULL, 0, "%s", st->why);
        err = p.web != NULL ? turn_run(p.turn, web_ended, p.web)
                            : turn_run(p.turn, stdio_ended, p.stdio);
        if (err == ERR_IO)
            text_put(why, sizeof(why), "select failed");
    }
    if (err < 0)
        exit_code = cli_fail(NULL, err, "%s",
                             why[0] != '\0' ? why : err_row(err)->message);
    close_parts(&p);
    return exit_code;
}

/* ---- main ---- */

int
main(int argc, char **argv)
{
    struct options o = {.e = {.called = argv[0],
                              .topics = topics,
                              .compact_at = STORE_COMPACT_AT,
                              .closed_mib = STORE_CLOSED_MAX >> 20,
                              .calls_own = CALL_MAX_OWN,
                              .calls_max = CALL_MAX_ALL},
                        .port = NOT_GIVEN,
                        .connections = HTTP_CONNECTIONS};
    char *help[] = {"help", NULL};
    struct project here;
    struct buf b = {0};
    char why[256];
    int exit_code, i, err;

    stdio_fill();
    /* A file size limit must make write fail, not end the process. */
    signal(SIGXFSZ, SIG_IGN);
    i = 1 + parse_options(&o, argv + 1);
    if (o.help)
        return cli_main(&o.e, help);
    if (o.version) {
        buf_printf(&b, "mcptask %s\n", mcptask_version);
        return cli_say(STDOUT_FILENO, &b) ? CLI_OK
            : cli_fail(NULL, ERR_NOT_FOUND, "standard output: %s",
                       strerror(errno));
    }
    if (i > 0 && (err = env_resolve(&o.e, why)) < 0)
        i = 1 - cli_fail(NULL, err, "%s", why);
    if (i > 0 && !o.http) {
        project_here(&here);
        o.e.project = &here;
    }
    o.web.debug = o.e.debug;
    if (i > 0 && (err = join_hosts(&o.e, why)) < 0)
        i = 1 - cli_fail(NULL, err, "%s", why);
    if (i < 1)
        exit_code = 1 - i;
    else if (i < argc)
        exit_code = cli_main(&o.e, argv + i);
    else
        exit_code = serve_clients(&o);
    if (o.e.remote != NULL)
        o.e.remote->leave(o.e.remote);
    env_fini(&o.e);
    return runs_hook(&o) ? CLI_OK : exit_code;
}
