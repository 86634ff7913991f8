/* mcptask - options, environment, exit codes; joins the parts.

   Without a command it serves MCP on standard input and output, until the
   input ends, a signal comes or the parent is gone. It refuses to start on
   what it cannot understand: an option, a store of a version unknown here.
   Starting changes nothing on disk and takes no lock; a damaged store is
   served as far as it is whole, since its reader needs it most then. */

#include "cli.h"
#include "env.h"
#include "pipe.h"
#include "serve.h"
#include "store.h"
#include "task.h"
#include "text.h"
#include "tools.h"

#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void
warn(const char *fmt, ...)
    __attribute__((format(printf, 1, 2)));

static void
warn(const char *fmt, ...)
{
    char text[1024];
    struct buf b = {0};
    va_list ap;

    va_start(ap, fmt);
    text_vput(text, sizeof(text), fmt, ap);
    va_end(ap);
    buf_printf(&b, "mcptask: %s\n", text);
    cli_say(STDERR_FILENO, &b);
}

/* ---- options ---- */

/* An option that stands before the command. set returns NULL, or what the
   value should have been. */
struct option {
    const char *name;
    const char *value; /* what it is called in the help, NULL: takes none */
    const char *help;
    const char *(*set)(struct cli_env *e, const char *v);
};

static const char *
set_tools(struct cli_env *e, const char *v)
{
    e->core = strcmp(v, "core") == 0;
    return e->core || strcmp(v, "all") == 0 ? NULL : "core or all";
}

static const char *
set_read_only(struct cli_env *e, const char *v)
{
    (void)v;
    e->read_only = true;
    return NULL;
}

static const char *
set_require_evidence(struct cli_env *e, const char *v)
{
    (void)v;
    e->require_evidence = true;
    return NULL;
}

static const char *
set_artifact_root(struct cli_env *e, const char *v)
{
    struct stat st;

    free(e->artifact_root);
    e->artifact_root = env_absolute(v);
    if (v[0] == '\0' || e->artifact_root == NULL ||
        stat(e->artifact_root, &st) != 0 || !S_ISDIR(st.st_mode))
        return "a directory that is there";
    return NULL;
}

static const char *
set_closed_max(struct cli_env *e, const char *v)
{
    uint64_t mib;

    if (!str_u64(str_of(v), &mib) || mib < 1 || mib > INT64_MAX >> 20)
        return "a number of MiB, 1 or more";
    e->closed_max = (int64_t)(mib << 20);
    return NULL;
}

static const struct option options[] = {
    {"--tools", "core|all", "which tools to offer (all)", set_tools},
    {"--read-only", NULL, "offer the reads only; never write the store",
     set_read_only},
    {"--require-evidence", NULL, "refuse done without test_results",
     set_require_evidence},
    {"--artifact-root", "DIR", "let attach_artifact read files beneath DIR",
     set_artifact_root},
    {"--closed-max", "MIB", "keep this much of closed generations (1024)",
     set_closed_max},
};

static void
put_help(struct buf *b)
{
    size_t i;

    buf_z(b, "usage: mcptask [OPTIONS]              serve MCP on stdin and stdout\n"
         "       mcptask [OPTIONS] COMMAND ...\n"
         "\n"
         "Options:\n");
    for (i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
        const struct option *o = &options[i];
        size_t at = b->len;

        buf_printf(b, "  %s %s ", o->name, o->value ? o->value : "");
        buf_printf(b, "%*s%s\n", 26 - (int)(b->len - at), "", o->help);
    }
    buf_z(b, "  -h, --help              this text\n"
         "  -V, --version           the version\n"
         "\n"
         "Commands:\n");
    cli_usage(b);
    buf_z(b, "\n"
         "Environment:\n"
         "  MCP_TASK_BASE_DIR       where all is kept "
         "($XDG_STATE_HOME/mcptask,\n"
         "                          else ~/.local/state/mcptask)\n"
         "  MCP_TASK_DB_PATH        the log (BASE_DIR/tasks.log)\n"
         "  MCP_TASK_ARTIFACTS_DIR  artifacts (BASE_DIR/artifacts)\n"
         "  MCP_DEBUG               1: say on stderr what happens\n"
         "\n"
         "Exit codes: 0 ok, 1 not met, 2 usage, 3 store, 4 conflict.\n");
}

/* Whether arg is o, alone or with "=value" behind it; *value is that, or
   NULL. */
static bool
is_option(const struct option *o, const char *arg, const char **value)
{
    size_t n = strlen(o->name);

    if (strncmp(arg, o->name, n) != 0 || (arg[n] != '\0' && arg[n] != '='))
        return false;
    *value = arg[n] == '=' ? arg + n + 1 : NULL;
    return true;
}

/* Takes one option, argv[0], and its value. How many words that were, or
   CLI_USAGE negated, said. */
static int
take_option(struct cli_env *e, char **argv)
{
    size_t i;

    for (i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
        const struct option *o = &options[i];
        const char *value, *want;
        int words = 1;

        if (!is_option(o, argv[0], &value))
            continue;
        if (o->value != NULL && value == NULL) {
            value = argv[1];
            words = 2;
        }
        want = (o->value != NULL) != (value != NULL)
                   ? (o->value != NULL ? o->value : "nothing behind it")
                   : o->set(e, value);
        if (want == NULL)
            return words;
        warn("%s: takes %s", o->name, want);
        return -CLI_USAGE;
    }
    warn("unknown option %s; see mcptask --help", argv[0]);
    return -CLI_USAGE;
}

/* ---- serving ---- */

static void
tell_state(const struct store *store)
{
    struct store_state st;

    store_state(store, &st);
    if (st.torn)
        warn("%s: cut a torn tail, which nobody had been promised", st.path);
    if (st.err != 0 && st.err != ERR_READONLY)
        warn("%s", st.why);
}

/* Opens the store and what stands on it, and serves. */
static int
serve_store(const struct cli_env *e, struct tasks *tasks)
{
    struct store_options opt = {.path = e->log_path,
                                .readonly = e->read_only,
                                .closed_max = e->closed_max};
    struct store_kind kind;
    struct store *store = NULL;
    struct tools *tools = NULL;
    struct loop *loop = NULL;
    struct serve *serve = NULL;
    struct pipe *io = NULL;
    char why[256] = "out of memory";
    int exit_code = CLI_STORE, err;

    tasks_kind(tasks, &kind);
    err = store_open(&store, &opt, &kind, 1, why);
    if (err < 0)
        goto out;
    tasks_bind(tasks, store);
    tell_state(store);
    if ((err = tools_new(&tools, tasks, e)) < 0 ||
        (err = loop_new(&loop)) < 0 ||
        (err = serve_new(&serve, loop, store, tools_catalogue(tools))) < 0 ||
        (err = pipe_open(&io, serve, loop)) < 0)
        goto out;
    if (e->debug)
        warn("%s: serving on stdin and stdout", e->log_path);
    err = serve_run(serve, pipe_ended, io);
    if (err == 0)
        exit_code = CLI_OK;
    else
        text_put(why, sizeof(why), "select failed");
out:
    if (err < 0)
        warn("%s", why);
    pipe_close(io);
    serve_free(serve);
    loop_free(loop);
    tools_free(tools);
    store_close(store);
    return exit_code;
}

static int
serve_stdio(const struct cli_env *e)
{
    struct tasks *tasks = tasks_new();
    int exit_code;

    if (tasks == NULL) {
        warn("out of memory");
        return CLI_STORE;
    }
    exit_code = serve_store(e, tasks);
    tasks_free(tasks);
    return exit_code;
}

/* ---- main ---- */

/* Takes the options, and does what is asked for behind them. */
static int
run(struct cli_env *e, int argc, char **argv)
{
    int i = 1;

    while (i < argc && argv[i][0] == '-') {
        int words = take_option(e, argv + i);

        if (words < 0)
            return -words;
        i += words;
    }
    return i < argc ? cli_main(e, argc - i, argv + i) : serve_stdio(e);
}

static bool
is_one_of(const char *arg, const char *a, const char *b)
{
    return strcmp(arg, a) == 0 || strcmp(arg, b) == 0;
}

int
main(int argc, char **argv)
{
    struct cli_env e;
    struct buf b = {0};
    char why[256];
    sigset_t alarm;
    int exit_code;

    pipe_fill();
    /* The store sleeps for its lock until this signal comes, even where who
       started us had it blocked; and a limit on the size of files has to be
       an error of write, not the end. */
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    sigprocmask(SIG_UNBLOCK, &alarm, NULL);
    signal(SIGXFSZ, SIG_IGN);
    if (argc > 1 && is_one_of(argv[1], "-h", "--help")) {
        put_help(&b);
        return cli_say(STDOUT_FILENO, &b) ? CLI_OK : CLI_NOT_MET;
    }
    if (argc > 1 && is_one_of(argv[1], "-V", "--version")) {
        buf_z(&b, "mcptask " MCPTASK_VERSION "\n");
        return cli_say(STDOUT_FILENO, &b) ? CLI_OK : CLI_NOT_MET;
    }
    if (env_resolve(&e, why) < 0) {
        warn("%s", why);
        return CLI_USAGE;
    }
    exit_code = run(&e, argc, argv);
    env_fini(&e);
    return exit_code;
}
