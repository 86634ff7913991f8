/* commands - the table of the commands and their options.

   1. A new command or option is a row here. The parser, --help, completion and
      the lists of man/mcptask.1 ("make man") are made from it; longer text on a
      command stands in cli/help.txt.
   2. Where the value of an option goes is a member of struct cli_args or, as
      ARG(), an argument of the tool that the command calls. cli_args_begin
      writes the latter for every command alike.
   3. A number that a person typed is used or refused. A tool replaces one that
      is out of its range, for models, so the option has the same range. */

#include "cli/admin.h"
#include "cli/board.h"
#include "cli/config.h"
#include "cli/help.h"
#include "cli/hook.h"
#include "cli/import.h"
#include "cli/push.h"
#include "cli/run.h"
#include "cli/show.h"
#include "cli/undo.h"
#include "cli/who.h"
#include "cli/work.h"

/* An option: its name, its letter or 0, where its value goes, what help calls
   the value, and what the option does. */
#define OPT(kind, name, letter, at, value, help) \
    {name, value, help, letter, kind, offsetof(struct cli, at), 0, 0}
#define TEXT(...) OPT(OPT_TEXT, __VA_ARGS__)
#define LIST(...) OPT(OPT_LIST, __VA_ARGS__)
#define NUMBER(...) OPT(OPT_NUMBER, __VA_ARGS__)
#define RANGE(name, letter, at, min, max, value, help) \
    {name, value, help, letter, OPT_NUMBER, offsetof(struct cli, at), min, max}
#define FLAG(name, letter, at, help) \
    OPT(OPT_FLAG, name, letter, at, NULL, help)
#define ARG(which) arg[which]
#define AGENT(help) TEXT("agent", 'a', ARG(ARG_AGENT), "AGENT", help)
#define LEASE(help) \
    RANGE("lease", 0, ARG(ARG_LEASE_SECONDS), 5, 86400, "SECONDS", help)
#define SECONDS(name, letter, help) \
    RANGE(name, letter, args.timeout, 0, UINT32_MAX, "SECONDS", help)
#define WORDS(name, value) \
    TEXT(name, 'm', args.words, value, \
         "the same as one argument; all others are then ids")
#define OPTS(...) N_OPTS((const struct env_opt[]){__VA_ARGS__}), \
    (const struct env_opt[]){__VA_ARGS__}
#define N_OPTS(...) sizeof(__VA_ARGS__) / sizeof(struct env_opt)
#define NO_OPTS 0, NULL

#define PATHS \
    LIST("path", 0, ARG(F_PATHS), "PATH", \
         "a file or directory that the work changes; may be repeated")
#define NOT_BEFORE \
    TEXT("not-before", 0, ARG(F_NOT_BEFORE), "TIME", \
         "not ready before this time, such as 2026-07-28T14:00:00+02:00, " \
         "or this day")

/* The fields of a task that add and edit set. */
#define FIELDS \
    TEXT("goal", 'g', ARG(F_GOAL), "TEXT", "the goal"), \
    RANGE("priority", 'p', ARG(F_PRIORITY), 0, 4, "N", \
          "0 (most urgent) to 4 (default 2)"), \
    LIST("tag", 't', ARG(F_TAGS), "TAG", "a tag; may be repeated"), \
    LIST("after", 0, ARG(F_DEPENDS_ON), "ID", \
         "a task that must be done before; may be repeated"), \
    TEXT("parent", 0, ARG(F_PARENT_ID), "ID", "the task that it is part of"), \
    TEXT("repo", 'r', ARG(F_REPO_PATH), "DIR", \
         "the repository of the work (default: the current one)"), \
    TEXT("owner", 'o', ARG(F_CURRENT_OWNER), "AGENT", "the owner"), \
    PATHS, \
    NOT_BEFORE

const struct cli_command cli_commands[] = {
    /* Work */
    {"add", "TITLE...", GROUP_WORK, "Create a task, or with - those of a list",
     cli_add, 1, CLI_ANY, WRITE | SERVED,
     OPTS(AGENT("who creates it"),
          TEXT("id", 0, ARG(F_TASK_ID), "ID", "use this id, not a random one"),
          FIELDS)},
    {"edit", "ID", GROUP_WORK, "Change a task",
     cli_edit, 1, 1, WRITE | SERVED,
     OPTS(AGENT("who changes it"),
          TEXT("title", 0, ARG(F_TITLE), "TEXT", "the title"),
          FIELDS)},
    {"claim", "[ID]", GROUP_WORK, "Claim a task, or the most urgent one",
     cli_claim, 0, 1, WRITE | SERVED,
     OPTS(AGENT("the agent that claims it"),
          TEXT("repo", 'r', ARG(F_REPO_PATH), "DIR",
               "only tasks of this repository or of none (default: the "
               "current one)"),
          FLAG("any-repo", 0, args.any_repo, "tasks of any repository"),
          TEXT("tag", 't', ARG(ARG_TAG), "TAG", "only tasks with this tag"),
          LEASE("lease length (900); each change renews it"),
          SECONDS("wait", 0,
                  "wait up to this long for a task to become ready"),
          FLAG("takeover", 0, ARG(ARG_TAKEOVER),
               "even if another agent has it; needs --reason"),
          TEXT("reason", 0, ARG(ARG_REASON), "TEXT",
               "why you take it over"))},
    {"checkpoint", "ID [-]", GROUP_WORK, "Save how far the work is",
     cli_checkpoint, 1, 2, WRITE | SERVED,
     OPTS(AGENT("the agent that works on the task"),
          TEXT("resume-prompt", 'p', ARG(F_RESUME_PROMPT), "TEXT",
               "how to continue"),
          TEXT("notes", 'n', ARG(ARG_NOTES), "TEXT",
               "a note for the history"))},
    {"handoff", "ID [-]", GROUP_WORK, "Hand a task to another agent",
     cli_handoff, 1, 2, WRITE | SERVED,
     OPTS(TEXT("agent", 'a', ARG(ARG_FROM_AGENT), "AGENT",
               "the agent that hands it over"),
          TEXT("to", 't', ARG(ARG_TO_AGENT), "AGENT",
               "its next owner (default: any agent)"),
          TEXT("reason", 'r', ARG(ARG_REASON), "TEXT", "the reason"),
          RANGE("expires", 0, ARG(ARG_EXPIRES_SECONDS), 60, 604800, "SECONDS",
                "then any agent may claim it (900)"),
          NOT_BEFORE,
          TEXT("resume-prompt", 'p', ARG(F_RESUME_PROMPT), "TEXT",
               "how to continue"))},
    {"attach", "ID FILE|-", GROUP_WORK, "Attach a file to a task",
     cli_attach, 2, 2, WRITE | SERVED,
     OPTS(AGENT("who attaches it"),
          TEXT("name", 'n', ARG(ARG_NAME), "NAME",
               "store it under this name; .log, .diff and .patch set the "
               "type"))},
    {"done", "ID... [RESULT...]", GROUP_WORK, "End tasks as done",
     cli_done, 1, CLI_ANY, WRITE | SERVED,
     OPTS(AGENT("who ends them"), WORDS("result", "RESULT"))},
    {"fail", "ID... REASON...", GROUP_WORK, "End tasks as failed",
     cli_failed, 1, CLI_ANY, WRITE | SERVED,
     OPTS(AGENT("who ends them"), WORDS("reason", "REASON"))},
    {"cancel", "ID... [REASON...]", GROUP_WORK,
     "Cancel tasks, or ask their agents to stop",
     cli_cancel, 1, CLI_ANY, WRITE | SERVED,
     OPTS(AGENT("who cancels them"), WORDS("reason", "REASON"))},
    {"reopen", "ID... REASON...", GROUP_WORK, "Reopen tasks that have ended",
     cli_reopen, 1, CLI_ANY, WRITE | SERVED,
     OPTS(AGENT("who reopens them"), WORDS("reason", "REASON"))},
    {"undo", "", GROUP_WORK, "Take back your last change",
     cli_undo, 0, 0, WRITE | SERVED, OPTS(AGENT("whose last change"))},
    {"run", "[ID] -- COMMAND...", GROUP_WORK,
     "Run a command and record it as a task",
     cli_run, 1, CLI_ANY, CLOSED,
     OPTS(AGENT("who holds the task ($MCP_TASK_AGENT, else run)"),
          TEXT("title", 0, args.title, "TEXT",
               "title of the new task (default: COMMAND)"),
          FLAG("close", 0, args.close,
               "end the task ID when the command ends"),
          FLAG("detach", 'd', args.detach,
               "run in the background and print the id"),
          FLAG("hide-command", 0, args.hide_command,
               "store only the program's name"),
          LEASE("lease length (900); it is renewed while the command runs"),
          RANGE("every", 0, args.every, 1, 86400, "SECONDS",
                "how often to save the last line of output (60)"))},

    /* Ask and answer */
    {"ask", "ID QUESTION...", GROUP_ASK, "Ask a question about a task",
     cli_ask, 2, CLI_ANY, WRITE | SERVED,
     OPTS(AGENT("who asks"),
          TEXT("kind", 'k', ARG(ARG_KIND), "KIND",
               "question (default), approval or action"),
          LIST("option", 'o', ARG(ARG_OPTIONS), "TEXT",
               "an answer to choose from; may be repeated"),
          TEXT("to", 't', ARG(ARG_TO), "AGENT",
               "the person or agent to ask (default: anyone)"))},
    {"answer", "ID [QUESTION] ANSWER...", GROUP_ASK,
     "Answer a question about a task",
     cli_answer, 1, CLI_ANY, WRITE | SERVED,
     OPTS(AGENT("who answers"),
          FLAG("decline", 0, args.decline,
               "answer no; ANSWER, the reason, is optional"),
          FLAG("cancel", 0, args.cancel,
               "say that no answer will come; arguments as with "
               "--decline"))},
    {"message", "ID TEXT...", GROUP_ASK,
     "Send a message to the owner of a task",
     cli_message, 2, CLI_ANY, WRITE | SERVED, OPTS(AGENT("who sends it"))},
    {"wait", "[ID]", GROUP_ASK, "Wait for an event of a task",
     cli_wait, 0, 1, READ | SERVED,
     OPTS(AGENT("without ID, wait for this agent's tasks"),
          TEXT("until", 'u', ARG(ARG_UNTIL), "EVENT",
               "change (default), terminal (ended), answered (a question of "
               "AGENT), handoff, ready, work (that AGENT can claim), "
               "question (that AGENT can answer), or a status"),
          TEXT("repo", 'r', ARG(F_REPO_PATH), "DIR",
               "without ID, only ready and work of this repository or of "
               "none (default: the current one)"),
          FLAG("any-repo", 0, args.any_repo, "of any repository"),
          NUMBER("since-seq", 0, ARG(ARG_SINCE_SEQ), "SEQ",
                 "count only events after SEQ"),
          SECONDS("timeout", 't', "wait at most this long; 0 only checks"))},

    /* Look */
    {"list", "", GROUP_LOOK, "List tasks, the most urgent first",
     cli_list, 0, 0, READ | SERVED | LISTS,
     OPTS(TEXT("query", 'q', ARG(ARG_QUERY), "TEXT",
               "only tasks with TEXT in their record, those with TEXT in title "
               "or id first"),
          FLAG("ready", 0, ARG(ARG_READY),
               "only tasks that can be claimed, also those that are stuck or "
               "handed over"),
          FLAG("needs-input", 0, ARG(ARG_NEEDS_INPUT),
               "only tasks with an open question"),
          TEXT("repo", 'r', ARG(F_REPO_PATH), "DIR",
               "only tasks of this repository"),
          TEXT("owner", 'o', ARG(F_CURRENT_OWNER), "AGENT",
               "only tasks of this owner"),
          TEXT("tag", 't', ARG(ARG_TAG), "TAG", "only tasks with this tag"),
          TEXT("parent", 0, ARG(F_PARENT_ID), "ID", "only children of ID"),
          TEXT("status", 's', args.status, "STATUS,...",
               "only tasks with these statuses"),
          FLAG("stale", 0, ARG(ARG_STALE),
               "only tasks in progress that did not change for a day"),
          FLAG("all", 'a', ARG(ARG_INCLUDE_DONE),
               "include done, failed and cancelled tasks"),
          NUMBER("limit", 'n', args.limit, "N",
                 "at most N (on a terminal 50); 0: all"),
          TEXT("order", 0, ARG(ARG_ORDER), "work|changed",
               "by priority and age, ended tasks last (default without "
               "--query), or newest change first"),
          FLAG("ids", 0, args.ids, "print ids only"),
          FLAG("calls", 0, args.calls,
               "for programs: deferred calls instead of tasks"))},
    {"board", "", GROUP_LOOK, "Show all tasks by what they wait for",
     cli_board, 0, 0, READ | SERVED | LISTS,
     OPTS(FLAG("watch", 'w', args.watch,
               "redraw it at each change until q"),
          NUMBER("limit", 'n', args.limit, "N",
                 "at most N tasks in a column (on a terminal, as many as fit; "
                 "else 10); 0: all"))},
    {"show", "ID", GROUP_LOOK, "Show a task, or an artifact of it",
     cli_show, 1, 1, READ | SERVED,
     OPTS(FLAG("brief", 0, args.brief,
               "on a terminal, too, the brief for the agent that takes over"),
          RANGE("version", 0, args.version, 1, 0, "N",
                "as it was at version N"),
          TEXT("artifact", 0, args.artifact, "ARTIFACT",
               "the content of this artifact, by id or name, instead"),
          RANGE("tail", 0, args.end, 1, 0, "N", "only its last N lines"),
          TEXT("match", 0, args.match, "TEXT",
               "only its lines with TEXT, and their numbers"))},
    {"history", "ID", GROUP_LOOK, "List the events of a task, newest first",
     cli_history, 1, 1, READ | SERVED,
     OPTS(NUMBER("limit", 'n', args.limit, "N", "at most N"))},
    {"tail", "", GROUP_LOOK,
     "List the newest events of all tasks, oldest first",
     cli_tail, 0, 0, READ | SERVED | LISTS,
     OPTS(FLAG("follow", 'f', args.follow,
               "continue with new events until interrupted"),
          NUMBER("lines", 'n', args.lines, "N",
                 "the number of events (10; with --since, all)"),
          TEXT("since", 's', args.from, "WHEN",
               "only events since today, yesterday, a day such as 2026-07-28, "
               "or a time"),
          TEXT("agent", 'a', args.by, "AGENT", "only what this agent did"))},
    {"who", "", GROUP_LOOK, "Show what each agent does",
     cli_who, 0, 0, READ | SERVED, NO_OPTS},

    {"stats", "", GROUP_LOOK, "Show what ended, by day and by agent",
     cli_stats, 0, 0, READ | SERVED, NO_OPTS},

    /* Store */
    {"export", "[ID...]", GROUP_STORE, "Export tasks as JSON lines or Markdown",
     cli_export, 0, CLI_ANY, READ | SERVED | LISTS,
     OPTS(TEXT("format", 'f', args.format, "jsonl|md",
               "jsonl (default), for import, or md, for people"))},
    {"import", "FILE|-", GROUP_STORE, "Import tasks from a file",
     cli_import, 1, 1, WRITE,
     OPTS(FLAG("strict", 0, args.strict,
               "stop at the first bad record or task that exists, and drop "
               "its commit"))},
    {"verify", "", GROUP_STORE, "Check the log and artifacts for damage",
     cli_verify, 0, 0, CLOSED,
     OPTS(TEXT("repair", 0, args.repair, "FILE",
               "write all undamaged records to this new file"))},
    {"compact", "", GROUP_STORE, "Shrink the log",
     cli_compact, 0, 0, WRITE,
     OPTS(FLAG("orphans", 0, args.orphans,
               "also remove artifacts that no task has had for a day; with "
               "--store, those in etcd too"),
          FLAG("reset-time", 0, args.reset_time,
               "after the clock was ahead: correct the times of the records "
               "that were written then"))},
    {"archive", "", GROUP_STORE, "Move ended tasks to an archive file",
     cli_archive, 0, 0, WRITE,
     OPTS(TEXT("done-before", 0, args.before, "DAY",
               "tasks that last changed before DAY, such as 2026-07-28 "
               "(required)"))},
    {"backup", "DIR", GROUP_STORE, "Back up the log and artifacts",
     cli_backup, 1, 1, READ, NO_OPTS},
    {"health", "", GROUP_STORE, "Check that the store can be written",
     cli_health, 0, 0, WRITE, NO_OPTS},

    /* Several hosts */
    {"push", "", GROUP_HOSTS, "Move the store into etcd, for several hosts",
     cli_push, 0, 0, CLOSED,
     OPTS(FLAG("continue", 0, args.again,
               "restore from this replica what etcd has lost"))},
    {"pull", "FILE", GROUP_HOSTS, "Copy the store from etcd to a file",
     cli_pull, 1, 1, READ, NO_OPTS},

    /* Set up */
    {"setup", "CLIENT [URL]", GROUP_SETUP, "Add this server to an MCP client",
     cli_setup, 1, 2, CLOSED | SERVED,
     OPTS(FLAG("dry-run", 'n', args.dry_run, "print the command only"),
          FLAG("hooks", 0, args.hooks,
               "print hooks instead, or lines for AGENTS.md"),
          FLAG("http", 0, args.http,
               "connect to URL (http://127.0.0.1:8766/mcp)"),
          TEXT("token-env", 0, args.token_env, "VARIABLE",
               "with the token in this variable when CLIENT starts"))},
    {"config", "CLIENT [URL]", GROUP_SETUP,
     "Print settings to paste into an MCP client",
     cli_config, 1, 2, CLOSED | SERVED,
     OPTS(FLAG("http", 0, args.http,
               "connect to URL (http://127.0.0.1:8766/mcp)"),
          AGENT("the agent of the token, instead of CLIENT"),
          TEXT("token-env", 0, args.token_env, "VARIABLE",
               "with the token in this variable when CLIENT starts"),
          TEXT("token-file", 0, args.token_file, "FILE",
               "with a token of FILE, over HTTP"))},
    {"doctor", "", GROUP_SETUP, "Diagnose problems and suggest fixes",
     cli_doctor, 0, 0, CLOSED | SERVED,
     OPTS(TEXT("port", 0, args.port, "PORT",
               "the port that serves HTTP ($MCP_TASK_PORT, 8766)"),
          TEXT("token-file", 0, args.token_file, "FILE",
               "also check this token file"))},
    {"hook", "CLIENT", GROUP_SETUP,
     "Brief an agent, as a hook of its client",
     cli_hook, 1, 1, CLOSED | SERVED, NO_OPTS},
    {"completion", "bash|zsh|fish", GROUP_SETUP,
     "Print a completion script for a shell",
     cli_completion, 1, 2, CLOSED | SERVED, NO_OPTS},
    {"help", "[TOPIC]", GROUP_SETUP, "Show help on a command or topic",
     cli_help, 0, 1, CLOSED | SERVED, NO_OPTS},
    {0},
};
