#ifndef CLI_TEXT_H
#define CLI_TEXT_H

/* text - the output of commands, and their error messages. */

#include "cli/screen.h"

#include <inttypes.h>

/* Writes b to a descriptor and frees it. Returns whether all of it was
   written; in one write if possible, so that lines of processes do not mix. */
bool cli_say(int fd, struct buf *b);

/* If stderr is a terminal, shows now and then that n of total are done. The
   next cli_fail or cli_flush wipes that out. */
void cli_progress(struct cli *c, uint64_t n, uint64_t total);
/* Appends s as one word for sh, quoted where sh needs it. */
void cli_put_word(struct buf *b, struct str s);
/* A duration in the largest unit that it fills, such as "3m"; in buf. */
const char *cli_span(char buf[24], int64_t ms);

/* From now on SIGINT, SIGTERM, SIGHUP and SIGQUIT only set what
   cli_interrupted returns, for a command that ends by them without an error. */
void cli_catch_signals(void);
bool cli_interrupted(void);

/* Prints the error on stderr: a line that begins with the command, or one
   object with --json. What follows a line feed in fmt is the next step, on a
   line of its own. Returns the exit code for err; err 0 makes it a warning. c
   is NULL while no command runs. */
int cli_fail(const struct cli *c, int err, const char *fmt, ...) PRINTF(3, 4);
/* The same for a refused change or query. */
int cli_refuse(const struct cli *c, const struct task_error *e);
/* Asks a question on the terminal. Whether the answer is yes: no where there is
   no terminal. */
bool cli_confirm(const struct cli *c, const char *fmt, ...) PRINTF(2, 3);
/* Appends the line "usage: mcptask CMD ...". */
void cli_put_usage(struct buf *b, const struct cli_command *cmd);
/* Prints an error in the operands or options, and below it the usage unless
   --json is given. Returns CLI_USAGE. */
int cli_misuse(const struct cli *c, const char *fmt, ...) PRINTF(2, 3);
/* Prints that what does not work with a server. Returns CLI_USAGE. */
int cli_fail_beside(const struct cli *c, const char *what);
/* cli_fail for a path, with the meaning of err or of errno. */
int cli_fail_path(const struct cli *c, int err, const char *path);
int cli_fail_errno(const struct cli *c, int err, const char *path);
/* For an error of the store; explained as in store_state. */
int cli_fail_store(const struct cli *c, int err);
/* Whether task id is in an archive, as far as is known. */
bool cli_is_archived(const struct cli *c, const char *id);

#define U64 "%" PRIu64

/* Appends to c->out the facts as one object with --json, else text, in which
   each {name} is replaced by that fact. Facts are "name=%s other=" U64, by
   printf's rules: %s and %.*s are texts, U64 numbers, %d true or false. */
void cli_tell(struct cli *c, const char *text, const char *facts, ...)
    PRINTF(3, 4);
/* Makes b safe for a terminal from byte from on: control and bidi characters
   become <U+202E>. In a text line feeds and tabs stay, in a line tabs. JSON has
   most of them escaped; there this escapes the other control characters. */
enum cli_safe_as { SAFE_TEXT, SAFE_LINE, SAFE_JSON };
void cli_safe(struct buf *b, size_t from, enum cli_safe_as as);
/* cli_flush writes c->out to stdout; cli_drain does so only once it is long.
   False: writing failed, and the command may as well end. */
bool cli_drain(struct cli *c);
bool cli_flush(struct cli *c);

#endif
