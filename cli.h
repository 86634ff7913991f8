#ifndef CLI_H
#define CLI_H

/* cli - the commands: one table of them, how they read their options and
   write, and those on tasks (list show history tail health config). */

#include "env.h"
#include "task.h"

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
/* Appends the commands, one a line. */
void cli_usage(struct buf *b);
/* Writes b to a descriptor and frees it: whether all of it went. In one
   write where it can be, so that lines of several processes do not mix. */
bool cli_say(int fd, struct buf *b);

/* ---- for admin.c alone from here on ---- */

#define CLI_COLUMNS 6

/* One run of a command. */
struct cli {
    const struct cli_env *env;
    const struct cli_command *cmd;
    struct buf out; /* for stdout, written by cli_flush */
    int out_errno;  /* of the write that failed; then nothing more is */
    size_t columns; /* of each line in out that are padded; 0: none */
    size_t width[CLI_COLUMNS];
    bool json;      /* --json */
    struct arena a; /* reset as a command sees fit */
    struct store_kind kind;
    struct tasks *tasks;
    struct store *store; /* NULL: not opened */
};

struct cli_opt {
    const char *name; /* without its dashes */
    char letter;      /* short form, or 0 */
    enum { OPT_FLAG, OPT_TEXT, OPT_NUMBER } kind;
    void *to; /* bool, const char * or uint64_t */
};

/* Takes opts and --json out of argv; operands are left, *argc - 1 of them
   from argv[1] on, at least min and at most max. 0, or CLI_USAGE, said. */
int cli_options(struct cli *c, const struct cli_opt *opts, size_t n,
                int *argc, char **argv, int min, int max);
/* Says on stderr what went wrong, one line, or one object with --json, and
   returns the exit code for err. */
int cli_fail(const struct cli *c, int err, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* The same for what the store said; what it keeps in store_state is told. */
int cli_fail_store(const struct cli *c, int err);
/* What err means, in words. */
struct str cli_why(int err);
/* Opens the store: 0, or an exit code, said. */
int cli_open(struct cli *c, bool readonly);
/* Makes b from byte from on harmless for a terminal: control and bidi
   characters become <U+202E>, only line feeds and tabs stay. */
void cli_safe(struct buf *b, size_t from);
/* Writes c->out to stdout where it is long, or all of it. False: it went
   nowhere, and the command may as well end. */
bool cli_drain(struct cli *c);
bool cli_flush(struct cli *c);

#endif
