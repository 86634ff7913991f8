#ifndef CLI_FOREIGN_H
#define CLI_FOREIGN_H

/* foreign - what other programs write of their tasks, and older stores. */

#include "json.h"

/* What is the same for all records of an import. */
struct foreign {
    /* WORD=STATUS and WORD=N, as options give them; NULL ends each. */
    const char *const *statuses, *const *priorities;
    int64_t now_ms;
    /* Ids that others had already, and what they are here instead: two each. */
    const struct str *renamed;
    size_t n_renamed;
};

enum foreign_kind { FOREIGN_ANY, FOREIGN_BACKLOG, FOREIGN_TASKMASTER };

/* A record that becomes a task. */
struct foreign_task {
    const struct json_tok *record; /* as it came */
    const struct json_tok *task;   /* what task_import takes */
    const char *of;       /* the program; NULL: it is none that is known */
    struct str id;        /* as it was; .p NULL: it has none */
    int64_t updated_ms;   /* its last change there; 0: unknown */
    uint32_t n_subs;      /* tasks within it */
    struct str notes;     /* what was not taken over exactly: "a; b" */
};

/* The option WORD=VALUE of list that s is the word of, in either case and with
   "_" or "-" for a blank: VALUE, or NULL. */
const char *foreign_option(const char *const *list, struct str s);
/* Makes record, of a kind, one that task_import takes, in a; with sub the task
   within it of that number, from 1. tag is that of its list. One of no known
   program stays as it is. Returns 0, ERR_NOMEM, or ERR_TOO_LARGE. */
int foreign_take(struct arena *a, const struct foreign *f,
                 enum foreign_kind kind, const char *tag,
                 const struct json_tok *record, uint32_t sub,
                 struct foreign_task *out);

#endif
