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
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- options ---- */

#define NOT_GIVEN UINT64_MAX

/* Those that stand before the command. */
struct options {
    const char *tools, *artifact_root;
    uint64_t closed_mib;
    bool read_only, require_evidence;
};

static const struct env_opt opts[] = {
    {"tools", 0, OPT_TEXT, offsetof(struct options, tools)},
    {"read-only", 0, OPT_FLAG, offsetof(struct options, read_only)},
    {"require-evidence", 0, OPT_FLAG,
     offsetof(struct options, require_evidence)},
    {"artifact-root", 0, OPT_TEXT, offsetof(struct options, artifact_root)},
    {"closed-max", 0, OPT_NUMBER, offsetof(struct options, closed_mib)},
    {0}};

static void
put_help(struct buf *b)
{
    buf_z(b, "usage: mcptask [OPTIONS]              serve MCP on stdin and "
         "stdout\n"
         "       mcptask [OPTIONS] COMMAND ...\n"
         "\n"
         "Options:\n"
         "  --tools core|all        which tools to offer (all)\n"
         "  --read-only             offer the reads only; never write the "
         "store\n"
         "  --require-evidence      refuse done without test_results\n"
         "  --artifact-root DIR     let attach_artifact read files beneath "
         "DIR\n"
         "  --closed-max MIB        keep this much of closed generations "
         "(1024)\n"
         "  -h, --help              this text\n"
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

static bool
is_directory(const char *path)
{
    struct stat st;

    return path != NULL && stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Checks what was asked for, and puts it where the parts look for it. NULL,
   or what is wrong. */
static const char *
apply(struct cli_env *e, const struct options *o)
{
    e->read_only = o->read_only;
    e->require_evidence = o->require_evidence;
    e->core = o->tools != NULL && strcmp(o->tools, "core") == 0;
    if (o->tools != NULL && !e->core && strcmp(o->tools, "all") != 0)
        return "--tools: takes core or all";
    if (o->artifact_root != NULL)
        e->artifact_root = env_absolute(o->artifact_root);
    if (o->artifact_root != NULL &&
        (o->artifact_root[0] == '\0' || !is_directory(e->artifact_root)))
        return "--artifact-root: takes a directory that is there";
    if (o->closed_mib == NOT_GIVEN)
        return NULL;
    if (o->closed_mib < 1 || o->closed_mib > INT64_MAX >> 20)
        return "--closed-max: takes a number of MiB, 1 or more";
    e->closed_max = (int64_t)(o->closed_mib << 20);
    return NULL;
}

/* How many words of argv were options, or CLI_USAGE negated, said. */
static int
take_options(struct cli_env *e, char **argv)
{
    struct options o = {.closed_mib = NOT_GIVEN};
    const char *wrong;
    char why[256];
    int i = 0, words;

    for (; argv[i] != NULL && argv[i][0] == '-'; i += words) {
        words = env_option(opts, &o, argv + i, why);
        if (words <= 0)
            return -cli_fail(NULL, ERR_INVALID, "%s; see mcptask --help", why);
    }
    wrong = apply(e, &o);
    return wrong == NULL ? i : -cli_fail(NULL, ERR_INVALID, "%s", wrong);
}

/* ---- serving ---- */

static void
tell_state(const struct store *store)
{
    struct store_state st;

    store_state(store, &st);
    if (st.torn)
        cli_fail(NULL, 0, "%s: cut a torn tail, which nobody had been promised",
                 st.path);
    if (st.err != 0 && st.err != ERR_READONLY)
        cli_fail(NULL, 0, "%s", st.why);
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
        cli_fail(NULL, 0, "%s: serving on stdin and stdout", e->log_path);
    err = serve_run(serve, pipe_ended, io);
    if (err == 0)
        exit_code = CLI_OK;
    else
        text_put(why, sizeof(why), "select failed");
out:
    if (err < 0)
        cli_fail(NULL, err, "%s", why);
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

    if (tasks == NULL)
        return cli_fail(NULL, ERR_NOMEM, "out of memory");
    exit_code = serve_store(e, tasks);
    tasks_free(tasks);
    return exit_code;
}

/* ---- main ---- */

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
    int exit_code, i;

    pipe_fill();
    /* The store sleeps for its lock until this signal comes, even where who
       started us had it blocked; and a limit on the size of files has to be
       an error of write, not the end. */
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    sigprocmask(SIG_UNBLOCK, &alarm, NULL);
    signal(SIGXFSZ, SIG_IGN);
    if (argc > 1 && is_one_of(argv[1], "-h", "--help"))
        put_help(&b);
    if (argc > 1 && is_one_of(argv[1], "-V", "--version"))
        buf_z(&b, "mcptask " MCPTASK_VERSION "\n");
    if (b.len > 0 || b.err)
        return cli_say(STDOUT_FILENO, &b) ? CLI_OK : CLI_NOT_MET;
    if (env_resolve(&e, why) < 0)
        return cli_fail(NULL, ERR_INVALID, "%s", why);
    i = 1 + take_options(&e, argv + 1);
    exit_code = i < 1 ? 1 - i
                : i < argc ? cli_main(&e, argc - i, argv + i)
                           : serve_stdio(&e);
    env_fini(&e);
    return exit_code;
}
