#ifndef CLI_TEXT_H
#define CLI_TEXT_H

/* text - what a command writes, and says of what went wrong. */

#include "cli/command.h"

#include <inttypes.h>

/* Writes b to a descriptor and frees it: whether all of it went. In one
   write where it can be, so that lines of several processes do not mix. */
bool cli_say(int fd, struct buf *b);

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

/* Says on stderr what went wrong, one line, or one object with --json, and
   returns the exit code for err; 0: it is only a warning. c may be NULL: no
   command runs. */
int cli_fail(const struct cli *c, int err, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* The same for a change or a question that was refused. */
int cli_refuse(const struct cli *c, const struct task_error *e);
/* Says what is wrong with the operands or options, and the usage: CLI_USAGE. */
int cli_misuse(const struct cli *c, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* cli_fail for a path: with what err means, or what errno does. */
int cli_fail_path(const struct cli *c, int err, const char *path);
int cli_fail_errno(const struct cli *c, int err, const char *path);
/* For what the store said; what it keeps in store_state is told. */
int cli_fail_store(const struct cli *c, int err);
/* For what was said of task id, by the store or that there is none. */
int cli_fail_task(const struct cli *c, int err, const char *id);
/* What err means, in words. */
struct str cli_why(int err);

#define U64 "%" PRIu64

/* Appends to c->out, with --json, the facts as one object, else text, with
   {name} in it replaced by that fact. Facts are "name=%s other=" U64, by
   printf's rules: %s and %.*s are texts, U64 numbers, %d true or false. */
void cli_tell(struct cli *c, const char *text, const char *facts, ...)
    __attribute__((format(printf, 3, 4)));
/* Makes b from byte from on harmless for a terminal: control and bidi
   characters become <U+202E>, only line feeds and tabs stay. In JSON, where
   most are escaped already, the rest of the control characters is, too. */
void cli_safe(struct buf *b, size_t from, bool json);
/* Writes c->out to stdout where it is long, or all of it. False: it went
   nowhere, and the command may as well end. */
bool cli_drain(struct cli *c);
bool cli_flush(struct cli *c);

#endif
