#ifndef CLI_ID_H
#define CLI_ID_H

/* id - task ids as people type them: any part of the start will do. */

#include "cli/command.h"

/* Completes the ids among the operands and options. An id that starts no
   other stays, so that the command can say what is wrong with it. Returns 0,
   or an exit code after printing the error: several ids start so. */
int cli_complete_ids(struct cli *c);
/* Sets *known to whether word is the whole id of a task. Returns 0, or an exit
   code after printing the error. */
int cli_knows_id(struct cli *c, const char *word, bool *known);
/* For an error with task id: not found, or one of the store. */
int cli_fail_task(struct cli *c, int err, const char *id);

#endif
