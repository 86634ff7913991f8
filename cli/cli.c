/* cli - the command line. No command needs a running server.

   Each command is a row of one table: its name, its operands, the function
   that runs it, how it opens the store, and its options. All output goes
   through cli/text.c, which makes it safe for a terminal: agents wrote the
   tasks.

   A command serves one caller only, so it may wait for the lock, and it ends
   with an exit code. */

#include "cli/cli.h"
#include "cli/admin.h"
#include "cli/board.h"
#include "cli/config.h"
#include "cli/doctor.h"
#include "cli/edit.h"
#include "cli/export.h"
#include "cli/help.h"
#include "cli/id.h"
#include "cli/import.h"
#include "cli/push.h"
#include "cli/run.h"
#include "cli/show.h"
#include "cli/store.h"
#include "cli/text.h"
#include "cli/work.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#define TAIL_EVENTS 10

static int run_help(struct cli *c);

/* An option, its letter, and where its value goes in struct cli_args. */
#define OPT(name, letter, kind, member) \
    {name, letter, kind, offsetof(struct cli, args.member), 0}
#define TEXT(name, letter, member) OPT(name, letter, OPT_TEXT, member)
#define LIST(name, letter, member) OPT(name, letter, OPT_LIST, member)
#define NUMBER(name, letter, member) OPT(name, letter, OPT_NUMBER, member)
#define COUNT(name, letter, member) OPT(name, letter, OPT_COUNT, member)
#define FLAG(name, letter, member) OPT(name, letter, OPT_FLAG, member)
#define AGENT TEXT("agent", 'a', agent)
#define OPTS(...) N_OPTS((const struct env_opt[]){__VA_ARGS__}), \
    (const struct env_opt[]){__VA_ARGS__}
#define N_OPTS(...) sizeof(__VA_ARGS__) / sizeof(struct env_opt)
/* The fields of a task that add and edit take. */
#define FIELDS TEXT("goal", 'g', goal), TEXT("priority", 'p', priority), \
    LIST("tag", 't', tags), LIST("after", 0, after), \
    TEXT("parent", 0, parent), TEXT("repo", 'r', repo), \
    TEXT("owner", 'o', new_owner)
#define NO_OPTS 0, NULL
#define AGENT_ONLY 1, agent_opt

static const struct env_opt agent_opt[] = {AGENT};

static const struct cli_command commands[] = {
    {"list", "[OPTION...]", cli_list, 0, 0, READ,
     OPTS(TEXT("status", 's', status),
          TEXT("owner", 'o', new_owner),
          TEXT("repo", 'r', repo),
          TEXT("tag", 't', tag),
          TEXT("parent", 0, parent),
          TEXT("query", 'q', query),
          TEXT("order", 0, order),
          FLAG("ready", 0, ready),
          FLAG("stale", 0, stale),
          FLAG("needs-input", 0, needs_input),
          FLAG("calls", 0, calls),
          FLAG("ids", 0, ids),
          FLAG("all", 'a', all),
          NUMBER("limit", 'n', limit))},
    {"show", "[OPTION...] ID", cli_show, 1, 1, READ,
     OPTS(COUNT("version", 0, version),
          TEXT("artifact", 0, artifact),
          COUNT("tail", 0, end),
          TEXT("match", 0, match))},
    {"history", "[-n N] [--since SEQ] ID", cli_history, 1, 1, READ,
     OPTS(NUMBER("since", 0, since),
          NUMBER("limit", 'n', limit))},
    {"tail", "[-f] [-n N]", cli_tail, 0, 0, READ,
     OPTS(FLAG("follow", 'f', follow),
          NUMBER("lines", 'n', lines))},
    {"board", "[-w] [-n N]", cli_board, 0, 0, READ,
     OPTS(FLAG("watch", 'w', watch),
          NUMBER("limit", 'n', limit))},
    {"add", "[OPTION...] TITLE...", cli_add, 1, CLI_ANY, WRITE,
     OPTS(AGENT,
          TEXT("id", 0, id),
          FIELDS)},
    {"edit", "ID OPTION...", cli_edit, 1, 1, WRITE,
     OPTS(AGENT,
          TEXT("title", 0, title),
          FIELDS)},
    {"done", "[--agent A] ID [RESULT]", cli_done, 1, 2, WRITE, AGENT_ONLY},
    {"fail", "[--agent A] ID REASON", cli_failed, 2, 2, WRITE, AGENT_ONLY},
    {"cancel", "[--agent A] ID [REASON]", cli_cancel, 1, 2, WRITE, AGENT_ONLY},
    {"reopen", "[--agent A] ID REASON", cli_reopen, 2, 2, WRITE, AGENT_ONLY},
    {"ask", "--agent A [OPTION...] ID QUESTION", cli_ask, 2, 2, WRITE,
     OPTS(AGENT,
          TEXT("kind", 'k', kind),
          LIST("option", 'o', options),
          TEXT("to", 't', whom))},
    {"message", "[--agent A] ID TEXT", cli_message, 2, 2, WRITE, AGENT_ONLY},
    {"attach", "[--agent A] [--name N] ID FILE|-", cli_attach, 2, 2, WRITE,
     OPTS(AGENT,
          TEXT("name", 'n', name))},
    {"claim", "--agent A [OPTION...] [ID]", cli_claim, 0, 1, WRITE,
     OPTS(AGENT,
          TEXT("repo", 'r', repo),
          TEXT("tag", 't', tag),
          TEXT("lease", 0, lease), NUMBER("wait", 0, timeout),
          FLAG("takeover", 0, takeover),
          TEXT("reason", 0, reason))},
    {"checkpoint", "ID --agent A [OPTION...] [-]", cli_checkpoint, 1, 2, WRITE,
     OPTS(AGENT,
          TEXT("resume-prompt", 'p', resume_prompt),
          TEXT("notes", 'n', notes))},
    {"handoff", "ID --agent A [OPTION...] [-]", cli_handoff, 1, 2, WRITE,
     OPTS(TEXT("agent", 'a', from),
          TEXT("to", 't', to),
          TEXT("reason", 'r', reason),
          TEXT("expires", 0, expires),
          TEXT("resume-prompt", 'p', resume_prompt))},
    {"answer", "[--agent A] ID [QUESTION] TEXT", cli_answer, 1, 3, WRITE,
     OPTS(AGENT,
          FLAG("decline", 0, decline),
          FLAG("cancel", 0, cancel))},
    {"wait", "[ID] [OPTION...]", cli_wait, 0, 1, READ,
     OPTS(AGENT,
          TEXT("until", 'u', until),
          TEXT("since-seq", 0, since_seq),
          NUMBER("timeout", 't', timeout))},
    {"run", "[OPTION...] [ID] -- COMMAND...", cli_run, 1, CLI_ANY, CLOSED,
     OPTS(AGENT,
          TEXT("title", 0, title),
          FLAG("close", 0, close),
          FLAG("detach", 'd', detach),
          FLAG("hide-command", 0, hide_command),
          TEXT("lease", 0, lease),
          NUMBER("every", 0, every))},
    {"export", "[--format jsonl|md] [ID...]", cli_export, 0, CLI_ANY, READ,
     OPTS(TEXT("format", 'f', format))},
    {"import", "[OPTION...] FILE|FOLDER|-", cli_import, 1, 1, WRITE,
     OPTS(FLAG("strict", 0, strict),
          LIST("status", 0, statuses),
          LIST("priority", 0, priorities))},
    {"verify", "[--repair OUT]", cli_verify, 0, 0, CLOSED,
     OPTS(TEXT("repair", 0, repair))},
    {"compact", "[--orphans] [--reset-time]", cli_compact, 0, 0, WRITE,
     OPTS(FLAG("orphans", 0, orphans),
          FLAG("reset-time", 0, reset_time))},
    {"archive", "--done-before D", cli_archive, 0, 0, WRITE,
     OPTS(TEXT("done-before", 0, before))},
    {"backup", "DIR", cli_backup, 1, 1, READ, NO_OPTS},
    {"push", "[--continue]", cli_push, 0, 0, CLOSED,
     OPTS(FLAG("continue", 0, again))},
    {"pull", "FILE", cli_pull, 1, 1, READ, NO_OPTS},
    {"health", "", cli_health, 0, 0, WRITE, NO_OPTS},
    {"doctor", "[OPTION...]", cli_doctor, 0, 0, CLOSED,
     OPTS(TEXT("port", 0, port),
          TEXT("token-file", 0, token_file))},
    {"config", "CLIENT [--http] [--token-file FILE] [URL]",
     cli_config, 1, 2, CLOSED,
     OPTS(FLAG("http", 0, http),
          AGENT,
          TEXT("token-env", 0, token_env),
          TEXT("token-file", 0, token_file))},
    {"setup", "CLIENT [--dry-run] [OPTION...] [URL]", cli_setup, 1, 2, CLOSED,
     OPTS(FLAG("dry-run", 'n', dry_run),
          FLAG("http", 0, http),
          TEXT("token-env", 0, token_env))},
    {"completion", "bash|zsh|fish", cli_completion, 1, 1, CLOSED, NO_OPTS},
    {"help", "[COMMAND]", run_help, 0, 1, CLOSED, NO_OPTS},
    {0},
};

static const struct cli_command *
find_command(const char *name)
{
    const struct cli_command *cmd = commands;

    while (cmd->name != NULL && strcmp(cmd->name, name) != 0)
        cmd++;
    return cmd->name != NULL ? cmd : NULL;
}

static int
no_command(const struct cli *c, const char *name)
{
    return cli_fail(c, ERR_INVALID, "%s: no such command: mcptask --help "
                    "lists them", name);
}

static int
run_help(struct cli *c)
{
    const char *name = c->operand[0];
    const struct cli_command *cmd = name ? find_command(name) : NULL;

    if (name != NULL && cmd == NULL)
        return no_command(c, name);
    return cli_help(&c->out, cmd);
}

/* Takes the command's options out of argv, which leaves its operands. Returns
   0, or CLI_USAGE after printing the error. */
static int
take_options(struct cli *c, char **argv)
{
    static const struct env_opt any = {"json", 0, OPT_FLAG,
                                       offsetof(struct cli, json), 0};
    int words;
    char why[256];

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
            words = env_option(c->cmd->opts, c->cmd->n_opts, c, argv, why);
            if (words == 0)
                words = env_option(&any, 1, c, argv, why);
            if (words <= 0)
                return cli_misuse(c, "%s", why);
        }
    }
    c->operand[c->n_operands] = NULL;
    c->behind = c->behind < 0 ? c->n_operands : c->behind;
    if (c->n_operands < c->cmd->min)
        return cli_misuse(c, "an operand is missing");
    if (c->cmd->max != CLI_ANY && c->n_operands > c->cmd->max)
        return cli_misuse(c, "unexpected operand: %s",
                          c->operand[c->cmd->max]);
    return 0;
}

/* The agent of a command that names none. */
static void
take_own_agent(struct cli *c)
{
    const char *name = env_get("MCP_TASK_AGENT");

    for (size_t i = 0; i < c->cmd->n_opts; i++) {
        const struct env_opt *o = &c->cmd->opts[i];
        const char **at = (const char **)(void *)((char *)c + o->at);

        if (strcmp(o->name, "agent") == 0 && name != NULL && *at == NULL &&
            c->cmd->store != CLOSED) {
            *at = name;
            c->own_agent = o->at;
        }
    }
}

static int
run(struct cli *c, char **argv)
{
    int rc = take_options(c, argv);
    const char *term = env_get("TERM");

    take_own_agent(c);
    c->exact = c->json;
    c->tty = cli_terminal(STDOUT_FILENO) > 0;
    c->color = c->tty && !c->json && env_get("NO_COLOR") == NULL &&
               term != NULL && strcmp(term, "dumb") != 0;
    if (rc == 0 && c->cmd->store != CLOSED &&
        (rc = cli_open(c, c->cmd->store == READ)) == 0)
        rc = cli_complete_ids(c);
    return rc != 0 ? rc : c->cmd->run(c);
}

int
cli_main(const struct cli_env *env, char **argv)
{
    struct cli c = {.env = env, .commands = commands,
                    .cmd = find_command(argv[0]),
                    .args = {.limit = UINT64_MAX, .lines = TAIL_EVENTS,
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
        return no_command(&c, argv[0]);
    rc = help ? cli_help(&c.out, c.cmd) : run(&c, argv + 1);
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
