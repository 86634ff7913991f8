#ifndef CLI_FIT_H
#define CLI_FIT_H

/* fit - has a record fit into a task, and keeps beside it what does not. */

#include "cli/command.h"
#include "task/check.h"

struct fit {
    struct cli *c;
    struct arena *a;
    struct task_args args; /* the fields */
    struct buf extra;      /* members that are no field: ,"a":1,"b":2 */
    struct buf artifacts;  /* raw objects, with commas */
    struct buf notes;      /* what was not taken over exactly: "a; b" */
    unsigned n_artifacts;
    int failed; /* an exit code: a content was not stored, and this is told */
};

/* Adds a note to those before it. */
void fit_note(struct buf *notes, const char *fmt, ...) PRINTF(2, 3);
/* Reads the object task into f->args, and stores the contents that are kept
   beside it. f is zeroed but for c and a. Returns 0; ERR_NOMEM; ERR_IO with
   f->failed; or a code that x->e explains. */
int fit_take(struct fit *f, struct task_ctx *x, const struct json_tok *task);
/* Keeps a whole text of any bytes as an artifact of that name. */
int fit_keep(struct fit *f, struct str name, struct str content);
/* Appends the object that task_import takes, as a task of this id (raw). */
void fit_put(const struct fit *f, struct buf *b, struct str id,
             const struct json_tok *task);
void fit_fini(struct fit *f);

#endif
