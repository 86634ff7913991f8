#ifndef CLI_BACKLOG_H
#define CLI_BACKLOG_H

/* backlog - a task file of Backlog.md: Markdown below front matter. */

#include "json.h"

/* Makes the text an object, in a: the members of its front matter, and its
   sections, named in lower case with '_' for blanks; items that are ticked in
   the acceptance criteria are its completed_steps, too. Returns 0, ERR_SYNTAX
   if no front matter opens the text, or ERR_NOMEM. */
int cli_backlog(struct arena *a, struct str text, struct str *out);

#endif
