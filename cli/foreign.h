#ifndef CLI_FOREIGN_H
#define CLI_FOREIGN_H

/* foreign - what other programs write of their tasks. */

#include "json.h"

/* If *task is one of beads, of taskwarrior or of Backlog.md, makes it one that
   task_import takes, in a; any other stays. With md it is one of Backlog.md.
   *of is the program's name, or NULL. Returns 0 or ERR_NOMEM. */
int cli_foreign(struct arena *a, bool md, const struct json_tok **task,
                const char **of);

#endif
