#ifndef CLI_ARGS_H
#define CLI_ARGS_H

/* args - the arguments of a tool, as a command puts them together. */

#include "cli/command.h"
#include "json.h"
#include "task/change.h"

/* Reads fd to its end, or max + 1 bytes, into c->a. 0, ERR_NOMEM, or ERR_IO
   with errno. */
int cli_args_input(struct cli *c, int fd, size_t max, struct str *out);
/* Reads text, what standard input had, as a JSON object into *root, which lives
   in c->a. Returns 0, or an exit code after printing the error. */
int cli_args_object(struct cli *c, struct str text,
                    const struct json_tok **root);
/* The same with all of standard input. */
int cli_args_read(struct cli *c, const struct json_tok **root);
/* The argument of a tool that an option stands for (enum task_field or enum
   task_arg): the one into whose value, in c->arg, it is parsed. -1: none. */
int cli_arg_of(const struct env_opt *o);
/* Whether an option was given; always false for a number that stands for no
   argument. */
bool cli_args_given(const struct cli *c, const struct env_opt *o);
/* Begins c->tool with the members of input, then id as task_id and all options
   of the command that stand for an argument and were given. input may be NULL,
   and id too: then --id counts. Each begin needs a parse or a change, which
   ends it. */
void cli_args_begin(struct cli *c, const struct json_tok *input,
                    const char *id);
/* Adds a text, or nothing if value is NULL. */
void cli_args_put(struct cli *c, const char *name, const char *value);
/* Whether an option of the command was given that is not one of but, which NULL
   ends. */
bool cli_args_others(const struct cli *c, const char *const *but);
/* Stores content, on the other hosts of the store too, and fills out. Returns
   0, or an exit code after printing the error. */
int cli_args_store(struct cli *c, struct str content, struct task_blob *out);
/* Ends the arguments and checks them as those of tool, for a caller in *x.
   Returns 0, or an exit code after printing the error. */
int cli_args_parse(struct cli *c, enum task_tool tool, struct task_ctx *x,
                   struct task_args *out);
/* The words of list with a blank between two, in c->kept; .p is NULL if memory
   ran out. */
struct str cli_args_join(struct cli *c, char **list);

/* Ends the arguments. Their text, a JSON object in c->a; .p NULL if memory ran
   out. */
struct str cli_args_end(struct cli *c);

/* Ends the arguments and calls tool, one that changes a task. Prints what the
   receipt says besides the task, unless c->json. Returns 0 and the receipt, a
   JSON object in c->a, or an exit code after printing the error. */
int cli_call(struct cli *c, enum task_tool tool, struct str *receipt);
/* For mcptask run, whose changes are made in a session, two in one batch, or
   only if nobody was first: without the tool, on the store itself. Ends the
   arguments and makes the change: 0 and the receipt; or a code, which x->e
   explains if it is set. */
int cli_try_change(struct cli *c, enum task_tool tool, struct task_ctx *x,
                   struct task_receipt *r);
/* Prints why that failed, if rc says so. 0, or an exit code. */
int cli_report_change(struct cli *c, int rc, struct task_ctx *x);
/* Both. */
int cli_change(struct cli *c, enum task_tool tool, struct task_receipt *r);
/* Prints why a tool refused, with the id and in the words of the command line,
   and who took the task over. Returns the exit code. */
int cli_refuse_change(struct cli *c, struct task_error *e);
/* Prints what a receipt says besides the task, unless c->json. */
void cli_say_receipt(struct cli *c, struct str receipt);
/* Like cli_call, and prints the task, or with c->json the receipt. */
int cli_change_and_tell(struct cli *c, enum task_tool tool);

#endif
