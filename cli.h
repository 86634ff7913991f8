#ifndef CLI_H
#define CLI_H

/* cli - the commands: one table of them, how they read their options and
   write, and those that look at tasks and calls (list show history tail
   health). */

#include "env.h"
#include "task.h"

#include <inttypes.h>

enum cli_exit { /* of the process */
    CLI_OK,
    CLI_NOT_MET,  /* no such task, a bad record, output that went nowhere */
    CLI_USAGE,
    CLI_STORE,    /* the store cannot be used; verify: damage found */
    CLI_CONFLICT  /* it exists already */
};

/* Runs the command argv[0] with what stands behind it, which is reordered.
   Returns the exit code, a text about an error having gone to stderr. */
int cli_main(const struct cli_env *env, int argc, char **argv);
/* A store with every kind of record that this program knows. */
struct cli_store {
    struct store *store;
    struct tasks *tasks;
    struct calls *calls;
};
/* Opens one, once in a process; why as in store_open. To be closed also after
   an error. */
int cli_open_store(const struct cli_env *env, bool readonly,
                   struct cli_store *out, char why[256]);
void cli_close_store(struct cli_store *s);
/* Writes b to a descriptor and frees it: whether all of it went. In one
   write where it can be, so that lines of several processes do not mix. */
bool cli_say(int fd, struct buf *b);

/* Says on stderr what went wrong, one line, or one object with --json, and
   returns the exit code for err; 0: it is only a warning. c may be NULL:
   there is no command. */
struct cli;
int cli_fail(const struct cli *c, int err, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- for the files of the commands alone from here on ---- */

#define CLI_COLUMNS 6
#define CLI_WIPE "\r\033[K" /* what cli_progress wrote */

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
    int (*run)(struct cli *c, int argc, char **argv);
    const struct env_opt *opts;
    uint8_t min, max; /* operands */
    enum { CLOSED, READ, WRITE } store; /* how it is open for run */
};
/* All of them; the last has no name. */
extern const struct cli_command cli_commands[];
/* Appends the help of a command or, where cmd is NULL, of the program. Its exit
   code. */
int cli_help(struct buf *b, const struct cli_command *cmd);

/* One run of a command. */
struct cli {
    const struct cli_env *env;
    const struct cli_command *cmd;
    struct cli_store s; /* its store is NULL: not opened */
    bool json;      /* --json */
    bool tty;       /* stdout is a terminal, */
    bool color;     /* and takes colours */
    int64_t begun_ms, shown_ms; /* first and last cli_progress; 0: none */
    int out_errno;  /* of the write that failed; then nothing more is */
    struct buf out; /* for stdout, written by cli_flush */
    struct arena a; /* reset as a command sees fit */
    bool md;        /* out is markdown */
    size_t columns; /* of each line in out that are padded; 0: none */
    size_t width[CLI_COLUMNS];
    struct cli_args args;
};

/* The usage, and why this is none, on stderr: CLI_USAGE. */
int cli_misuse(const struct cli *c, const char *what, const char *about);
/* cli_fail for a path: with what err means, or what errno does. */
int cli_fail_path(const struct cli *c, int err, const char *path);
int cli_fail_errno(const struct cli *c, int err, const char *path);
/* For what the store said; what it keeps in store_state is told. */
int cli_fail_store(const struct cli *c, int err);
/* For what was said of task id, by the store or that there is none. */
int cli_fail_task(const struct cli *c, int err, const char *id);
/* What err means, in words. */
struct str cli_why(int err);
/* Opens the store: 0, or an exit code, said. */
int cli_open(struct cli *c, bool readonly);

/* Before a commit, under the lock: settles the calls that wait for what was
   staged. What cannot be settled now will be by whoever comes next. */
void cli_settle(struct cli *c);

/* The exit code that goes with an error. */
int cli_exit(int err);

/* One of the store's paths that cannot be written, and errno; NULL: all
   can, or can be made. */
const char *cli_not_writable(struct cli *c, const char *log, int *why);
/* This binary's own path; where the system does not tell, what PATH finds. */
struct str cli_own_path(struct arena *a);
/* Appends the names of the clients that config knows, a blank before each. */
void cli_put_clients(struct buf *b);

/* The commands of the other files. */
int cli_board(struct cli *c, int argc, char **argv);
int cli_completion(struct cli *c, int argc, char **argv);
int cli_config(struct cli *c, int argc, char **argv);
int cli_doctor(struct cli *c, int argc, char **argv);
int cli_claim(struct cli *c, int argc, char **argv);
int cli_checkpoint(struct cli *c, int argc, char **argv);
int cli_handoff(struct cli *c, int argc, char **argv);
int cli_answer(struct cli *c, int argc, char **argv);
int cli_wait(struct cli *c, int argc, char **argv);

/* ---- cli_text.c ---- */

/* How wide the terminal is that fd is; 0: it is none. */
size_t cli_terminal(int fd);
/* Where stderr is a terminal: says that n of total are done, now and then.
   It is wiped out by the next cli_fail, and by cli_flush at the end. */
void cli_progress(struct cli *c, uint64_t n, uint64_t total);
void cli_progress_end(struct cli *c);
/* Appends s, in a colour ("31;1") where stdout takes any and sgr is one. */
void cli_paint(struct cli *c, struct buf *b, struct str s, const char *sgr);
/* A time as "3m": in the largest unit that it fills. */
const char *cli_span(char buf[24], int64_t ms);

#define U64 "%" PRIu64

/* Appends to c->out, with --json, the facts as one object, else text, with
   {name} in it replaced by that fact. Facts are "name=%s other=" U64, by
   printf's rules: %s and %.*s are texts, U64 numbers, %d true or false. */
void cli_tell(struct cli *c, const char *text, const char *facts, ...)
    __attribute__((format(printf, 3, 4)));
/* Appends the task, as markdown or as JSON. */
void cli_task(struct cli *c, const struct task *k, bool md);
/* Makes b from byte from on harmless for a terminal: control and bidi
   characters become <U+202E>, only line feeds and tabs stay. */
void cli_safe(struct buf *b, size_t from);
/* Writes c->out to stdout where it is long, or all of it. False: it went
   nowhere, and the command may as well end. */
bool cli_drain(struct cli *c);
bool cli_flush(struct cli *c);

#endif
