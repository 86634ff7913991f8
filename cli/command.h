#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

/* command - what a command is, and one run of it. Data only, for the files
   that implement commands. */

#include "base/env.h"
#include "json/write.h"
#include "task/change.h"

enum cli_exit { /* exit codes */
    CLI_OK,
    CLI_NOT_MET,  /* no such task, a bad record, output that was lost */
    CLI_USAGE,
    CLI_STORE,    /* the store cannot be used; verify: damage found */
    CLI_CONFLICT  /* it exists already, or its state forbids the change */
};

/* The store, with every kind of record that mcptask knows. */
struct cli_store {
    struct store *store;
    struct tasks *tasks;
    struct calls *calls;
};

/* The arguments of a tool, being written: see cli/args.h. */
struct cli_tool_args {
    struct buf b;
    struct json_w w;
    struct task_blob blob; /* of attach_artifact, once it is stored */
    bool once; /* cli_try_change may return ERR_AGAIN: others were first */
    bool stays; /* the change stays staged, and the lock held, for the next */
};

#define CLI_COLUMNS 6

struct cli;

/* The values of the options of all commands. */
struct cli_args {
    const char *status, *repo, *tag, *parent, *query;
    const char *format, *repair, *agent, *lease, *until, *since_seq;
    const char *from, *to, *reason, *expires, *resume_prompt, *notes;
    const char *before, *token_file, *token_env, *port;
    const char *id, *title, *goal, *priority, *new_owner, *name, *kind;
    const char *whom, *message, *artifact, *match, *order;
    const char *tags[ENV_MAX_LIST], *after[ENV_MAX_LIST];
    const char *options[ENV_MAX_LIST];
    const char *statuses[ENV_MAX_LIST + 1]; /* import's; NULL ends them */
    const char *priorities[ENV_MAX_LIST + 1];
    uint64_t limit, lines, since, timeout, every, version, end;
    bool http, all, ready, stale, needs_input, calls, follow, strict, orphans;
    bool ids, watch, close, detach, hide_command, dry_run;
    bool decline, cancel, takeover, again, reset_time;
};

enum cli_opens { CLOSED, READ, WRITE };
#define CLI_ANY UINT8_MAX /* operands: any number */

struct cli_command {
    const char *name;
    const char *args;
    int (*run)(struct cli *c); /* returns the exit code */
    uint8_t min, max; /* number of operands; max may be CLI_ANY */
    uint8_t store;    /* how cli_main opens it: enum cli_opens */
    uint8_t n_opts;
    const struct env_opt *opts;
};

/* One run of a command. */
struct cli {
    const struct cli_env *env;
    const struct cli_command *commands; /* all; one without a name ends them */
    const struct cli_command *cmd;
    char **operand; /* the words after cmd, without options; then NULL */
    int n_operands;
    int behind; /* the first operand after "--"; n_operands: there is none */
    struct cli_store s; /* s.store is NULL while it is closed */
    bool json;      /* --json */
    bool quiet;     /* nobody reads what becomes of a change */
    int no_room;    /* commits in a row that failed for want of room */
    bool stale;     /* it was told that other hosts may have newer records */
    bool tty;       /* stdout is a terminal */
    bool color;     /* stdout is a terminal that shows colours */
    bool exact;     /* out is JSON, or safe for a terminal already */
    bool raw;       /* out is the content of an artifact, for a file */
    bool md;        /* out is markdown */
    struct arena a; /* each command resets it when it likes */
    struct buf out; /* for stdout, written by cli_flush */
    struct arena kept; /* for completed ids; freed at the end */
    int64_t begun_ms, shown_ms; /* first and last cli_progress; 0: never */
    int out_errno;  /* of the write that failed; nothing is written after it */
    size_t columns; /* how many cli_flush pads in each line; 0: none */
    size_t width[CLI_COLUMNS];
    struct cli_args args;
    struct cli_tool_args tool;
    size_t own_agent; /* offset of the member of args that is
                         MCP_TASK_AGENT, by default; 0: none is */
};

#endif
