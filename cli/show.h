#ifndef CLI_SHOW_H
#define CLI_SHOW_H

/* show - the commands that show tasks and calls. */

#include "cli/command.h"
#include "task/query.h"

int cli_list(struct cli *c);
int cli_show(struct cli *c);
int cli_history(struct cli *c);
int cli_tail(struct cli *c);
int cli_stats(struct cli *c);
int cli_export(struct cli *c);

/* Appends the whole task, as markdown or as JSON. */
void cli_put_whole(struct cli *c, const struct task *k, bool md);

/* Calls fn with each task that q finds, which is in c->a, until fn returns
   false or stdout fails. Returns 0; an error of the store; or an exit code
   after printing why a server does not tell. */
int cli_each_task(struct cli *c, struct task_query *q,
                  bool (*fn)(void *ctx, const struct task *k), void *ctx);
/* Writes c->out, waits 50 ms, and reads what was written meanwhile; the
   store's observer sees it. With a server, waits 500 ms and asks for its head,
   c->head. Returns 0 with *more, which is false if a signal or the reader of
   stdout has ended it; or what cli_each_task does. */
int cli_follow(struct cli *c, bool *more);

#endif
