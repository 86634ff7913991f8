#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

/* command - what a command is, and one run of it. Data only, for the files
   that implement commands. */

#include "base/env.h"
#include "json/write.h"
#include "task/change.h"
#include "task/fields.h"

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
    struct tools *tools; /* and what runs them, once one has to run */
    struct mcp *mcp;
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

/* The value of an option that is an argument of a tool. The option's kind says
   which member it has. */
union cli_value {
    bool flag;
    uint64_t number;  /* UINT64_MAX: not given */
    const char *text; /* NULL: not given */
    const char *list[ENV_MAX_LIST]; /* up to the first NULL */
};

/* The values of all other options. */
struct cli_args {
    const char *status, *title, *format, *repair;
    const char *before, *from, *by, *token_file, *token_env, *port;
    const char *artifact, *match, *words;
    uint64_t limit, timeout, every, version, end;
    uint64_t lines; /* UINT64_MAX: not given */
    bool http, calls, follow, strict, orphans;
    bool ids, watch, close, detach, hide_command, dry_run;
    bool decline, cancel, again, reset_time, hooks, any_repo, brief;
};

enum cli_opens { CLOSED, READ, WRITE,
                 SERVED = 4 /* a bit: it needs no store, or asks a server for
                               the same with --server */,
                 LISTS = 8 /* a bit: where there are no tasks it prints
                              nothing, and says so on a terminal */ };
#define CLI_ANY UINT8_MAX /* operands: any number */

enum cli_group { /* of commands, in the order in which help has them */
    GROUP_LOOK, GROUP_WORK, GROUP_ASK, GROUP_SETUP, GROUP_STORE, GROUP_HOSTS,
    CLI_GROUPS
};

/* A row of the table. In operands, [X] is optional, X... may be repeated and
   X|Y is a choice. Their names, like those of the values of options, tell
   completion what stands there: see cli/help.c. */
struct cli_command {
    const char *name;
    const char *operands;
    enum cli_group group;
    const char *summary; /* a line, in the imperative */
    int (*run)(struct cli *c); /* returns the exit code */
    uint8_t min, max; /* number of operands; max may be CLI_ANY */
    uint8_t store;    /* how cli_main opens it: enum cli_opens, and its bits */
    uint8_t n_opts;
    const struct env_opt *opts;
};

/* Every command, and every option of a command, a row each, by group; one
   without a name ends them. The source of the parser, of --help, of completion
   and of the manual's lists. */
extern const struct cli_command cli_commands[];

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
    int64_t answer_by; /* clock_mono_ms when the server must have answered;
                          0: each request has 30 seconds */
    uint64_t head;  /* the newest seq that the server has told */
    uint64_t found; /* tasks that the last list has in all, */
    bool found_more; /* or more: not all were looked at */
    bool gone;      /* the server said that the task asked for is archived */
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
    bool wrote;     /* something was written to stdout */
    int out_errno;  /* of the write that failed; nothing is written after it */
    size_t columns; /* how many cli_flush aligns, each ends with two blanks */
    size_t width[CLI_COLUMNS];
    bool fit;       /* these lines are cut where the terminal ends */
    struct cli_args args;
    union cli_value arg[TASK_N_ARGS]; /* by enum task_field and task_arg */
    struct cli_tool_args tool;
    struct str session, client; /* in which it takes leases; or empty */
    const struct env_opt *own_agent; /* the option whose value is that of
                                        MCP_TASK_AGENT; NULL: none */
    bool person;    /* neither that variable nor --agent names an agent */
};

#endif
