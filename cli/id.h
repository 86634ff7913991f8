#ifndef CLI_ID_H
#define CLI_ID_H

/* id - task ids as people type them: any part of the start will do. */

#include "cli/command.h"

/* Whether the operands of a command are ids of tasks: the first, or all. */
bool cli_takes_id(const struct cli_command *cmd);
/* Completes the ids among the operands and options. An id that starts no
   other stays, so that the command can say what is wrong with it. Returns 0,
   or an exit code after printing the error: several ids start so. */
int cli_complete_ids(struct cli *c);
/* For an error with task id: not found, or one of the store. */
int cli_fail_task(struct cli *c, int err, const char *id);

#endif
