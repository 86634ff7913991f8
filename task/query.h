#ifndef TASK_QUERY_H
#define TASK_QUERY_H

/* query - lists of tasks, searches, and the names by which changes of tasks are
   watched. */

#include "task/check.h"
#include "task/task.h"

/* ---- lists ---- */

#define TASK_LOOK_MAX 20000             /* entries looked at by one call */
#define TASK_READ_MAX (2 * 1024 * 1024) /* bytes of records read by one */
#define TASK_LIST_MAX 100               /* tasks of one list */

enum task_ask { TASK_EITHER, TASK_YES, TASK_NO };
enum task_text { /* where a text is looked for */
    TEXT_ANYWHERE, /* in title, goal, task_id, tags and resume_prompt */
    TEXT_IN_TITLE,
    TEXT_STARTS_ID /* by its bytes, as they are */
};

/* Zeroed: all live tasks. Text filters with .p NULL are not applied. */
struct task_query {
    unsigned status; /* a bit (1u << status) each, 0: any; naming an ended
                        status looks at ended tasks too */
    struct str owner, repo_path, tag, parent_id;
    struct str text; /* ASCII letters of either case are the same */
    enum task_text in;
    enum task_ask ready, stale, needs_input;
    int64_t since_ms;  /* changed at or after, 0: any time */
    uint64_t since_n;  /* seq above, 0: any */
    bool include_done; /* ended ones too */
    unsigned limit;    /* 1 to TASK_LIST_MAX, 0: 20 */
    struct str cursor; /* of the list before, empty: from the start */
    bool uncounted;    /* no total is wanted */
    size_t read_max;   /* bytes of records to be read, 0: TASK_READ_MAX */
};

struct task_list {
    struct task *tasks; /* newest change first; in the arena */
    size_t n;
    struct str *after; /* of each task: the cursor to go on behind it */
    struct str next; /* cursor of what follows, empty: nothing does */
    bool partial;    /* the list ended for TASK_LOOK_MAX or read_max */
    bool exact;      /* total is; else it is at least that */
    uint64_t total;  /* matches in all */
    uint64_t head;   /* newest seq of the log */
};

/* One part of the list of tasks that match, newest change first. A cursor
   holds a position in the log: tasks that change meanwhile make no part skip
   or repeat those that do not. ERR_INVALID: not a cursor; or store_read's. */
int tasks_list(struct tasks *t, struct arena *a, const struct task_query *q,
               struct task_list *out);
/* Up to max owners (raw) that start with prefix (raw, without its last quote)
   in out, that of the newest change first; how many. *more: there may be
   others. They live as long as the index is not changed. */
size_t tasks_owners(struct tasks *t, struct str prefix, struct str *out,
                    size_t max, bool *more);

/* ---- waiting for a change ---- */

#define TASK_ALIAS_MAX 312
/* The names under which all tasks are watched that end; that are live, and
   nobody works on them; and that have questions. */
#define TASK_ENDED "ended"
#define TASK_FREE "free"
#define TASK_ASKED "asked"
#define TASK_NAMES_MAX \
    (TASK_ALIAS_MAX + sizeof("\t" TASK_ENDED "\t" TASK_ASKED))
/* The name "owner/..." under which all the tasks of an agent (a raw JSON
   string) can be watched, made in a buf of TASK_ALIAS_MAX bytes; of a very
   long name only the start counts. .p NULL: owner is not a string. */
struct str task_alias_of(struct str owner, char *buf);
/* That of the task that a record leaves behind it, and the others that it has
   then, a tab between two, in a buf of TASK_NAMES_MAX bytes. */
struct str task_names(struct str key, struct str body, char *buf);

#endif
