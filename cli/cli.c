/* cli - the commands of the command line, which need no server.

   Each command is a row of one table: its name, what help says, what it
   takes, how it needs the store, and the function that runs it. The rows for
   the care of the store run functions of cli/admin.c and cli/import.c; what
   a command writes goes through cli/text.c.

   It serves nobody but the one who called it, so it may wait for the lock,
   and it ends with an exit code instead of answering. It never prints what a
   task holds to a terminal as it is: agents wrote that.

   Human output passes cli_safe; --json and export jsonl do not need to, JSON
   being for programs, but all control characters are escaped there. */

#include "cli/cli.h"
#include "cli/admin.h"
#include "cli/archive.h"
#include "cli/board.h"
#include "cli/complete.h"
#include "cli/config.h"
#include "cli/help.h"
#include "cli/show.h"
#include "cli/store.h"
#include "cli/text.h"
#include "cli/work.h"
#include "cli/doctor.h"
#include "cli/import.h"
#include "base/text.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#define TAIL_EVENTS 10

#define ANY_NUMBER UINT8_MAX

/* ---- options ---- */

static const struct env_opt any_opts[] = {
    {"json", 0, OPT_FLAG, offsetof(struct cli, json)}, {0}};

/* Takes the command's options out of argv; operands are left, *argc - 1 of
   them from argv[1] on. 0, or CLI_USAGE, said. */
static int
take_options(struct cli *c, int *argc, char **argv)
{
    const struct cli_command *cmd = c->cmd;
    int kept = 1, words;
    char why[256];

    for (int i = 1; i < *argc; i += words) {
        words = 1;
        if (argv[i][0] != '-' || argv[i][1] == '\0') {
            argv[kept++] = argv[i];
        } else if (strcmp(argv[i], "--") == 0) {
            while (++i < *argc) /* the rest are operands */
                argv[kept++] = argv[i];
        } else {
            words = env_option(cmd->opts, c, argv + i, why);
            if (words == 0)
                words = env_option(any_opts, c, argv + i, why);
            if (words <= 0)
                return cli_misuse(c, why, "");
        }
    }
    *argc = kept;
    if (kept - 1 < cmd->min)
        return cli_misuse(c, "", "something is missing");
    if (cmd->max != ANY_NUMBER && kept - 1 > cmd->max)
        return cli_misuse(c, argv[cmd->max + 1], "too much: ");
    return 0;
}

/* ---- the commands ---- */

static int run_help(struct cli *c, int argc, char **argv);

#define ARG(member) offsetof(struct cli, args.member)
static const struct env_opt list_opts[] = {
    {"status", 's', OPT_TEXT, ARG(status)},
    {"owner", 'o', OPT_TEXT, ARG(owner)},
    {"repo", 'r', OPT_TEXT, ARG(repo)},
    {"tag", 't', OPT_TEXT, ARG(tag)},
    {"parent", 0, OPT_TEXT, ARG(parent)},
    {"query", 'q', OPT_TEXT, ARG(query)},
    {"ready", 0, OPT_FLAG, ARG(ready)},
    {"stale", 0, OPT_FLAG, ARG(stale)},
    {"needs-input", 0, OPT_FLAG, ARG(needs_input)},
    {"calls", 0, OPT_FLAG, ARG(calls)},
    {"all", 'a', OPT_FLAG, ARG(all)},
    {"limit", 'n', OPT_NUMBER, ARG(limit)},
    {0}};
static const struct env_opt history_opts[] = {
    {"since", 0, OPT_NUMBER, ARG(since)},
    {"limit", 'n', OPT_NUMBER, ARG(limit)},
    {0}};
static const struct env_opt tail_opts[] = {
    {"follow", 'f', OPT_FLAG, ARG(follow)},
    {"lines", 'n', OPT_NUMBER, ARG(lines)},
    {0}};
static const struct env_opt export_opts[] = {
    {"format", 'f', OPT_TEXT, ARG(format)}, {0}};
static const struct env_opt import_opts[] = {
    {"strict", 0, OPT_FLAG, ARG(strict)}, {0}};
static const struct env_opt verify_opts[] = {
    {"repair", 0, OPT_TEXT, ARG(repair)}, {0}};
static const struct env_opt compact_opts[] = {
    {"orphans", 0, OPT_FLAG, ARG(orphans)}, {0}};
static const struct env_opt claim_opts[] = {
    {"agent", 'a', OPT_TEXT, ARG(agent)},
    {"repo", 'r', OPT_TEXT, ARG(repo)},
    {"tag", 't', OPT_TEXT, ARG(tag)},
    {"lease", 0, OPT_TEXT, ARG(lease)},
    {0}};
static const struct env_opt checkpoint_opts[] = {
    {"agent", 'a', OPT_TEXT, ARG(agent)},
    {"resume-prompt", 'p', OPT_TEXT, ARG(resume_prompt)},
    {"notes", 'n', OPT_TEXT, ARG(notes)},
    {0}};
static const struct env_opt handoff_opts[] = {
    {"agent", 'a', OPT_TEXT, ARG(from)},
    {"to", 't', OPT_TEXT, ARG(to)},
    {"reason", 'r', OPT_TEXT, ARG(reason)},
    {"resume-prompt", 'p', OPT_TEXT, ARG(resume_prompt)},
    {0}};
static const struct env_opt answer_opts[] = {
    {"agent", 'a', OPT_TEXT, ARG(agent)},
    {"decline", 0, OPT_FLAG, ARG(decline)},
    {"cancel", 0, OPT_FLAG, ARG(cancel)},
    {0}};
static const struct env_opt wait_opts[] = {
    {"agent", 'a', OPT_TEXT, ARG(agent)},
    {"until", 'u', OPT_TEXT, ARG(until)},
    {"since-seq", 0, OPT_TEXT, ARG(since_seq)},
    {"timeout", 't', OPT_NUMBER, ARG(timeout)},
    {0}};
static const struct env_opt board_opts[] = {
    {"limit", 'n', OPT_NUMBER, ARG(limit)}, {0}};
static const struct env_opt archive_opts[] = {
    {"done-before", 0, OPT_TEXT, ARG(before)}, {0}};
static const struct env_opt doctor_opts[] = {
    {"port", 0, OPT_TEXT, ARG(port)},
    {"token-file", 0, OPT_TEXT, ARG(token_file)},
    {0}};
static const struct env_opt config_opts[] = {
    {"http", 0, OPT_FLAG, ARG(http)},
    {"agent", 'a', OPT_TEXT, ARG(agent)},
    {"token-file", 0, OPT_TEXT, ARG(token_file)},
    {0}};
static const struct env_opt no_opts[] = {{0}};

const struct cli_command cli_commands[] = {
    {"list", "[OPTION...]", "tasks, newest change first", cli_list,
     list_opts, 0, 0, READ},
    {"show", "ID", "one task, as a brief for whoever takes over", cli_show,
     no_opts, 1, 1, READ},
    {"history", "[-n N] [--since SEQ] ID", "the events of a task",
     cli_history,
     history_opts, 1, 1, READ},
    {"tail", "[-f] [-n N]", "the newest events of all tasks", cli_tail,
     tail_opts, 0, 0, READ},
    {"board", "[-n N]", "all tasks in columns, by what they wait for",
     cli_board,
     board_opts, 0, 0, READ},
    {"claim", "--agent A [OPTION...] [ID]", "takes up a task, or the best one",
     cli_claim,
     claim_opts, 0, 1, WRITE},
    {"checkpoint", "ID --agent A [OPTION...] [-]",
     "saves where the work stands", cli_checkpoint,
     checkpoint_opts, 1, 2, WRITE},
    {"handoff", "ID --agent A [OPTION...] [-]",
     "gives a task to another agent", cli_handoff,
     handoff_opts, 1, 2, WRITE},
    {"answer", "[--agent A] ID [QUESTION] TEXT", "answers a question of a task",
     cli_answer,
     answer_opts, 1, 3, WRITE},
    {"wait", "[ID] [OPTION...]", "until something becomes of a task", cli_wait,
     wait_opts, 0, 1, READ},
    {"export", "[--format jsonl|md] [ID...]",
     "tasks as JSON lines or markdown", admin_export,
     export_opts, 0, ANY_NUMBER, READ},
    {"import", "[--strict] FILE|-", "tasks from JSON lines or a JSON array",
     admin_import,
     import_opts, 1, 1, WRITE},
    {"verify", "[--repair OUT]", "checks the log and the artifacts",
     admin_verify,
     verify_opts, 0, 0, CLOSED},
    {"compact", "[--orphans]", "drops superseded records from the log",
     admin_compact,
     compact_opts, 0, 0, WRITE},
    {"archive", "--done-before D", "moves ended tasks out of the log",
     admin_archive,
     archive_opts, 0, 0, WRITE},
    {"backup", "DIR", "a verified copy of log and artifacts", admin_backup,
     no_opts, 1, 1, READ},
    {"health", "", "whether the store can be used", cli_health,
     no_opts, 0, 0, WRITE},
    {"doctor", "[OPTION...]", "what is wrong, and what to do about it",
     cli_doctor,
     doctor_opts, 0, 0, CLOSED},
    {"config", "CLIENT [--http] [--token-file FILE] [URL]",
     "what to paste into an MCP client", cli_config,
     config_opts, 1, 2, CLOSED},
    {"completion", "bash|zsh|fish", "a script that completes commands",
     cli_completion,
     no_opts, 1, 1, CLOSED},
    {"help", "[COMMAND]", "this, or more about a command", run_help,
     no_opts, 0, 1, CLOSED},
    {0},
};

static const struct cli_command *
find_command(const char *name)
{
    const struct cli_command *cmd = cli_commands;

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
run_help(struct cli *c, int argc, char **argv)
{
    const struct cli_command *cmd = argc > 1 ? find_command(argv[1]) : NULL;

    if (argc > 1 && cmd == NULL)
        return no_command(c, argv[1]);
    return cli_help(&c->out, c->commands, cmd);
}

static bool
wants_help(int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return true;
    return false;
}

static int
run(struct cli *c, int argc, char **argv)
{
    int rc = take_options(c, &argc, argv);
    const char *term = env_get("TERM");

    c->tty = cli_terminal(STDOUT_FILENO) > 0;
    c->color = c->tty && !c->json && env_get("NO_COLOR") == NULL &&
               term != NULL && strcmp(term, "dumb") != 0;
    if (rc == 0 && c->cmd->store != CLOSED)
        rc = cli_open(c, c->cmd->store == READ);
    return rc != 0 ? rc : c->cmd->run(c, argc, argv);
}

int
cli_main(const struct cli_env *env, int argc, char **argv)
{
    struct cli c = {.env = env, .commands = cli_commands,
                    .cmd = find_command(argv[0]),
                    .args = {.limit = UINT64_MAX, .lines = TAIL_EVENTS,
                             .timeout = UINT64_MAX}};
    int rc;

    /* What is wrong with the options is told as they ask for, too. */
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        c.json |= strcmp(argv[i], "--json") == 0;
    signal(SIGPIPE, SIG_IGN); /* a write says EPIPE, and no lock is lost */
    if (c.cmd == NULL)
        return no_command(&c, argv[0]);
    rc = wants_help(argc, argv) ? cli_help(&c.out, cli_commands, c.cmd)
                                : run(&c, argc, argv);
    rc = cli_close(&c, rc);
    cli_progress_end(&c);
    if (!cli_flush(&c)) {
        if (c.out_errno != EPIPE)
            cli_fail(&c, ERR_FULL, "standard output: %s",
                     strerror(c.out_errno));
        rc = rc == CLI_OK ? CLI_NOT_MET : rc;
    }
    arena_fini(&c.a);
    buf_fini(&c.out);
    return rc;
}
