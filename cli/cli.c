/* cli - the command line. No command needs a running server.

   Each command is a row of the table in cli/commands.c. All output goes through
   cli/text.c, which makes it safe for a terminal: agents wrote the tasks.

   A command serves one caller only, so it may wait for the lock, and it ends
   with an exit code. */

#include "cli/cli.h"
#include "cli/args.h"
#include "cli/help.h"
#include "cli/id.h"
#include "cli/server.h"
#include "cli/show.h"
#include "cli/store.h"
#include "cli/text.h"
#include "task/project.h"
#include "task/task.h"
#include "base/file.h"
#include "json/raw.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OPENS (SERVED - 1)

/* The name of the first required operand that is missing, such as "ID". */
static struct str
missing_operand(const struct cli *c)
{
    struct str rest = str_of(c->cmd->operands), word = rest;
    int required = 0;

    while (rest.len > 0 && required <= c->n_operands) {
        word = str_cut(&rest, ' ');
        if (!str_starts(word, "[") && !str_is(word, "--"))
            required++;
    }
    while (word.len > 0 && word.p[word.len - 1] == '.')
        word.len--;
    return word;
}

/* Takes the command's options out of argv, which leaves its operands. Returns
   0, or CLI_USAGE after printing the error. */
static int
take_options(struct cli *c, char **argv)
{
    const struct env_opt *opts = c->cmd->opts;
    size_t n_opts = c->cmd->n_opts;
    const char *near;
    char why[256];
    int words;

    c->operand = argv;
    c->behind = -1;
    for (; *argv != NULL; argv += words) {
        words = 1;
        if (argv[0][0] != '-' || argv[0][1] == '\0') {
            c->operand[c->n_operands++] = *argv;
        } else if (strcmp(*argv, "--") == 0) {
            c->behind = c->n_operands;
            while (*++argv != NULL) /* the rest are operands */
                c->operand[c->n_operands++] = *argv;
            words = 0;
        } else {
            words = env_option(&cli_json_opt, 1, c, argv, why);
            if (words == 0)
                words = env_option(opts, n_opts, c, argv, why);
            near = words == 0 ? env_nearest(opts, n_opts, argv[0]) : NULL;
            if (near == NULL && words == 0)
                near = env_nearest(&cli_json_opt, 1, argv[0]);
            if (near != NULL)
                return cli_fail(c, ERR_INVALID, "%s\ndid you mean \"--%s\"?",
                                why, near);
            if (words <= 0)
                return cli_fail(c, ERR_INVALID, "%s\nrun \"mcptask help %s\"",
                                why, c->cmd->name);
        }
    }
    c->operand[c->n_operands] = NULL;
    c->behind = c->behind < 0 ? c->n_operands : c->behind;
    if (c->n_operands < c->cmd->min)
        return cli_misuse(c, "%.*s is missing", STR_ARG(missing_operand(c)));
    if (c->cmd->max != CLI_ANY && c->n_operands > c->cmd->max)
        return cli_misuse(c, "unexpected argument \"%s\"",
                          c->operand[c->cmd->max]);
    return 0;
}

/* Whether a person gives the command, and the agent of one that names none.
   What only reads looks at all agents, unless MCP_TASK_AGENT says for whom; a
   server knows it by the token. */
static void
take_own_agent(struct cli *c)
{
    bool writes = (c->cmd->store & OPENS) == WRITE;
    bool token = c->env->server != NULL && c->env->token_file != NULL;
    const char *name = writes && !token ? env_person(c->env) : c->env->agent;

    c->person = c->env->agent == NULL;
    for (size_t i = 0; i < c->cmd->n_opts; i++) {
        const struct env_opt *o = &c->cmd->opts[i];

        /* That of tail is no argument: whose events are wanted. */
        if (strcmp(o->name, "agent") != 0 || cli_arg_of(o) < 0)
            continue;
        if (cli_args_given(c, o)) {
            c->person = false;
        } else if (name != NULL && (c->cmd->store & OPENS) != CLOSED) {
            c->arg[cli_arg_of(o)].text = name;
            c->own_agent = o;
        }
    }
}

/* Makes a text of the path in --repo. A server does not know this directory, so
   it gets the project that the path is of. Returns 0, or an exit code after
   printing the error. */
static int
resolve_repo(struct cli *c)
{
    const char **repo = &c->arg[F_REPO_PATH].text;
    struct str text;
    int rc = 0;

    if (c->args.any_repo && *repo != NULL)
        return cli_misuse(c, "--repo and --any-repo exclude each other");
    if (c->args.any_repo)
        *repo = "*";
    if (*repo == NULL || **repo == '\0' || strcmp(*repo, "*") == 0)
        return 0;
    text = project_text(&c->kept, *repo);
    if (c->env->server != NULL && text.p != NULL)
        rc = project_named(&c->kept, c->env->project, text, false, &text);
    if (rc == ERR_INVALID)
        return cli_fail(c, rc, "--repo " PROJECT_NOWHERE);
    if (c->env->server != NULL && rc == 0 &&
        (text = raw_text(&c->kept, text)).p != NULL)
        text = arena_str(&c->kept, text);
    *repo = text.p;
    return *repo != NULL ? 0 : cli_fail_store(c, ERR_NOMEM);
}

/* Tells a person that there was nothing to list, and of which store. */
static void
tell_empty(const struct cli *c)
{
    const char *server = c->env->server;
    const char *at = server != NULL ? server : c->env->log_path;
    bool ended = c->arg[ARG_INCLUDE_DONE].flag || c->arg[ARG_READY].flag ||
                 c->arg[ARG_NEEDS_INPUT].flag || c->arg[ARG_STALE].flag;
    uint64_t all = c->head; /* what a server has told */

    if (c->wrote || c->out.len > 0 || c->json || c->args.follow ||
        c->args.limit == 0 || c->args.lines == 0 ||
        cli_terminal(STDERR_FILENO) == 0)
        return;
    for (int s = 0; server == NULL && s < TASK_N_STATUSES; s++)
        all += tasks_count(c->s.tasks, (enum task_status)s);
    if (all == 0)
        cli_fail(c, 0, "no tasks in %s\nto create one, run \"mcptask add "
                 "TITLE\"", at);
    else
        cli_fail(c, 0, ended ? "no task matches in %s"
                             : "no task matches in %s\nto include those that "
                               "have ended, run \"mcptask list --all\"", at);
}

static int
run(struct cli *c, char **argv)
{
    const char *term = env_get("TERM");
    int rc, opens = c->cmd->store & OPENS;

    /* A number that is an argument is not given until an option gives it. */
    for (size_t i = 0; i < c->cmd->n_opts; i++) {
        int arg = cli_arg_of(&c->cmd->opts[i]);

        if (arg >= 0 && c->cmd->opts[i].kind == OPT_NUMBER)
            c->arg[arg].number = UINT64_MAX;
    }
    rc = take_options(c, argv);
    rc = rc == 0 ? resolve_repo(c) : rc;
    take_own_agent(c);
    c->exact = c->json;
    c->tty = cli_terminal(STDOUT_FILENO) > 0;
    c->color = c->tty && !c->json && env_get("NO_COLOR") == NULL &&
               term != NULL && strcmp(term, "dumb") != 0;
    if (rc == 0 && c->env->server != NULL && !(c->cmd->store & SERVED))
        rc = cli_fail_beside(c, "this");
    if (rc == 0 && c->env->server == NULL && opens != CLOSED)
        rc = cli_open(c, opens == READ);
    if (rc == 0 && opens != CLOSED)
        rc = cli_complete_ids(c);
    if (rc != 0)
        return rc;
    rc = c->cmd->run(c);
    if (rc == 0 && c->cmd->store & LISTS)
        tell_empty(c);
    service_hint(c);
    return rc;
}

int
cli_main(const struct cli_env *env, char **argv)
{
    struct cli c = {.env = env, .commands = cli_commands,
                    .cmd = cli_find_command(cli_commands, argv[0]),
                    .args = {.limit = UINT64_MAX, .lines = UINT64_MAX,
                             .timeout = UINT64_MAX}};
    bool help = false;
    int rc;

    /* --json counts for an error in the options, too. */
    for (char **at = argv + 1; *at != NULL && strcmp(*at, "--") != 0; at++) {
        c.json |= strcmp(*at, "--json") == 0;
        help |= strcmp(*at, "--help") == 0 || strcmp(*at, "-h") == 0;
    }
    signal(SIGPIPE, SIG_IGN); /* write fails with EPIPE instead */
    if (c.cmd == NULL)
        return cli_fail_command(&c, argv[0]);
    rc = help ? cli_help_command(&c) : run(&c, argv + 1);
    rc = cli_close(&c, rc);
    if (!cli_flush(&c)) {
        if (c.out_errno != EPIPE)
            cli_fail(&c, ERR_FULL, "standard output: %s",
                     strerror(c.out_errno));
        rc = rc == CLI_OK ? CLI_NOT_MET : rc;
    }
    arena_fini(&c.a);
    arena_fini(&c.kept);
    buf_fini(&c.out);
    return rc;
}
