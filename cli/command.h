#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

/* command - a command, and one run of it, as the files of the commands
   know them. Data alone. */

#include "base/env.h"
#include "task/task.h"

enum cli_exit { /* of the process */
    CLI_OK,
    CLI_NOT_MET,  /* no such task, a bad record, output that went nowhere */
    CLI_USAGE,
    CLI_STORE,    /* the store cannot be used; verify: damage found */
    CLI_CONFLICT  /* it exists already */
};

/* A store with every kind of record that this program knows. */
struct cli_store {
    struct store *store;
    struct tasks *tasks;
    struct calls *calls;
};

#define CLI_COLUMNS 6

struct cli;

/* What a command was asked for, those of all commands. */
struct cli_args {
    const char *status, *owner, *repo, *tag, *parent, *query;
    const char *format, *repair, *agent, *lease, *until, *since_seq;
    const char *from, *to, *reason, *resume_prompt, *notes;
    const char *before, *token_file, *port;
    uint64_t limit, lines, since, timeout;
    bool http, all, ready, stale, needs_input, calls, follow, strict, orphans;
    bool decline, cancel;
};

/* A command. */
struct cli_command {
    const char *name;
    const char *args;
    const char *about; /* for the list of commands */
    int (*run)(struct cli *c); /* its exit code */
    uint8_t min, max; /* operands */
    enum { CLOSED, READ, WRITE } store; /* how it is open for run */
    const struct env_opt *opts;
};

/* One run of a command. */
struct cli {
    const struct cli_env *env;
    const struct cli_command *commands; /* all; the last has no name */
    const struct cli_command *cmd;
    char **operand; /* what follows cmd, without options; then NULL */
    int n_operands;
    struct cli_store s; /* its store is NULL: not opened */
    bool json;      /* --json */
    bool tty;       /* stdout is a terminal, */
    bool color;     /* and takes colours */
    int64_t begun_ms, shown_ms; /* first and last cli_progress; 0: none */
    int out_errno;  /* of the write that failed; then nothing more is */
    struct buf out; /* for stdout, written by cli_flush */
    bool exact;     /* out is JSON, or has been made harmless already */
    bool md;        /* out is markdown */
    struct arena a; /* reset as a command sees fit */
    size_t columns; /* of each line in out that are padded; 0: none */
    size_t width[CLI_COLUMNS];
    struct cli_args args;
};

#endif
