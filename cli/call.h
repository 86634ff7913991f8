#ifndef CLI_CALL_H
#define CLI_CALL_H

/* call - tools called for a command, on the server of --server or, without one,
   in this process; and what a server answers, as the types that commands show.
   Where there is no server, commands read the store itself.

   Unless a contract says otherwise, functions return 0, or an exit code after
   printing the error; what they give is in c->a. */

#include "cli/command.h"
#include "task/query.h"
#include "task/task.h"

/* The wall clock that ages are counted from: the store's or, with a server,
   this host's. */
int64_t cli_now_ms(const struct cli *c);
/* Appends a summary, or a whole task, as JSON: as the server wrote it, if there
   is one. */
void cli_put_summary_json(const struct cli *c, struct buf *b,
                          const struct task *k);
void cli_put_task_json(const struct cli *c, struct buf *b,
                       const struct task *k);

/* Calls tool with args, a JSON object; the server may wait wait_s before it
   answers. 0 with the tool's answer, an object; or with its error in *e, if
   e->code is not 0. */
int call_tool(struct cli *c, enum task_tool tool, struct str args,
              unsigned wait_s, struct str *answer, struct task_error *e);
/* Reads the whole task id, as it was at version; 0: as it is. 0; ERR_NOT_FOUND:
   *e says why; or an exit code. */
int call_task(struct cli *c, const char *id, uint64_t version,
              struct task *k, struct task_error *e);
/* The same without a version, with a server or without: 0; an error, of the
   store or as above; or an exit code. The tool would answer with less: a task
   has the note of its last event. */
int cli_task(struct cli *c, const char *id, struct task *k);
/* Reads up to CALL_MANY whole tasks in one exchange, and gives them to fn, in
   c->a, until that returns false; then *more is false. Leaves out those that
   are gone. 0, or an exit code. */
#define CALL_MANY 32
int call_tasks(struct cli *c, const char *const *id, size_t n,
               bool (*fn)(void *ctx, const struct task *k), void *ctx,
               bool *more);
/* Reads a task of a list, or another one, as task_of_json does. */
int call_task_of(struct cli *c, struct str raw, struct task *k);
/* Reads one part of a list, as tasks_list does; of out, neither after nor
   partial is set. Of q, no text in particular places nor a time counts. */
int call_list(struct cli *c, const struct task_query *q, struct task_list *out);
/* Gives fn the events of a task, newest first: those after since, up to max.
   raw is valid during the call, and nothing is left in c->a. Sets *dropped if
   older ones are gone. fn returns whether it wants more. */
int call_history(struct cli *c, const char *id, uint64_t since, uint64_t max,
                 bool (*fn)(void *ctx, struct str raw), void *ctx,
                 bool *dropped);
/* Reads an event as view_event_json wrote it; title (raw) is its task's, or
   .p NULL. Its text is in a. */
int call_event_of(struct cli *c, struct arena *a, struct str raw,
                  struct str title, struct task_event *out);
/* The content of an artifact. */
int call_content(struct cli *c, const char *id, const char *artifact,
                 struct str *content);
/* Finds up to max ids that begin with start, of all tasks. Returns how many, or
   less than 0: minus an exit code. */
int call_ids(struct cli *c, struct str start, struct str *ids, int max);

#endif
