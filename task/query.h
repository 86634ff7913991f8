#ifndef TASK_QUERY_H
#define TASK_QUERY_H

/* query - lists of tasks, searches, figures, and the names by which changes of
   tasks are watched. */

#include "task/check.h"
#include "task/task.h"

/* ---- lists ---- */

#define TASK_LOOK_MAX 20000             /* entries that one call examines */
#define TASK_READ_MAX (2 * 1024 * 1024) /* bytes of records that it reads */
#define TASK_LIST_MAX 100               /* tasks of one list of a tool, */
#define TASK_PART_MAX 1000              /* and of one in this process */

enum task_ask { TASK_EITHER, TASK_YES, TASK_NO };
enum task_text { /* where to search for a text */
    TEXT_ANYWHERE, /* in all text of the record */
    TEXT_IN_TITLE,
    TEXT_STARTS_ID /* compared byte by byte */
};

/* If zeroed: all live tasks. A text with .p NULL is not asked for. */
struct task_query {
    unsigned status; /* a bit (1u << status) each, 0: any; one that has ended
                        includes ended tasks */
    struct str has[TASK_N_ATOMS]; /* raw: what a task has to have; several
                                     repo_paths: one of them */
    const struct task_actor *offered; /* only what is offered to this caller, as
                                         far as projects go; NULL: any */
    struct str text; /* ASCII letters of either case are the same */
    enum task_text in;
    enum task_ask ready, stale, needs_input;
    int64_t since_ms;  /* changed at or after, 0: any time */
    uint64_t since_n;  /* seq above, 0: any */
    bool include_done; /* include ended tasks */
    enum task_order order;
    unsigned limit;    /* 1 to TASK_PART_MAX, 0: 20 */
    struct str cursor; /* from the last part, empty: from the start */
    bool uncounted;    /* total is not needed */
    size_t read_max;   /* bytes of records to read, 0: TASK_READ_MAX */
};

struct task_list {
    struct task *tasks; /* in the arena */
    size_t n;
    struct str *after; /* for each task: the cursor that goes on after it */
    struct str next; /* cursor of the next part, empty: this was the last */
    bool partial;    /* ended because of TASK_LOOK_MAX or read_max */
    bool exact;      /* total is exact; else there are at least that many */
    uint64_t total;  /* matches in all */
    uint64_t head;   /* newest seq of the log */
};

/* The query that the arguments of list_tasks make. 0 or ERR_NOMEM. */
int task_query_of(struct arena *a, const struct task_args *args,
                  struct task_query *out);
/* Asks for changes since the time or seq of an argument. */
void task_query_since(const struct task_args *args, int arg,
                      struct task_query *q);
/* Reads one part of the list of matching tasks. A cursor holds a position in
   its order: changes made meanwhile cause no part to skip or repeat a task that
   did not change. By ORDER_CHANGED, a search lists those of its hits first that
   are in title or id. A task whose record is not JSON matches any text, is not
   ready, and is garbled: it has only id, status, priority, event, damaged, and
   a title that says so. ERR_INVALID: not a cursor; or an
   error of store_read. */
int tasks_list(struct tasks *t, struct arena *a, const struct task_query *q,
               struct task_list *out);
/* Sets k->part_list to the first TASK_PARTS_SHOWN parts of k, a raw array of
   {task_id, title, status, current_owner} in a; .p NULL: there are none. Those
   that have not ended come first, and of each kind the latest change. A part
   that tasks_list would not reach is left out; k->parts counts all. 0, or an
   error of tasks_list. */
#define TASK_PARTS_SHOWN 20
int tasks_list_parts(struct tasks *t, struct arena *a, struct task *k);
/* Finds up to max owners (raw) that start with prefix (raw, without its last
   quote), the one with the newest change first. Returns how many; *more: there
   may be others. They live until the index changes. */
size_t tasks_owners(struct tasks *t, struct str prefix, struct str *out,
                    size_t max, bool *more);

/* ---- waiting for a change ---- */

#define TASK_ALIAS_MAX 312
/* Names for watching all tasks that end, or that others may wait for no longer;
   that change what may be claimed, since they end, nobody works on them, or a
   lease may end sooner; and that have questions. Who watches an end is run
   before those who may claim then. */
#define TASK_ENDED "ended"
#define TASK_FREE "free"
#define TASK_ASKED "asked"
#define TASK_NAMES_MAX \
    (TASK_ALIAS_MAX + sizeof("\t" TASK_ENDED "\t" TASK_FREE "\t" TASK_ASKED))
/* The name "owner/..." for watching all tasks of an agent (a raw JSON string),
   made in a buf of TASK_ALIAS_MAX bytes. Of a very long name only the start
   counts. .p NULL: owner is not a string. */
struct str task_alias_of(struct str owner, char *buf);
/* The names of the task as a record leaves it, with a tab between two, in a buf
   of TASK_NAMES_MAX bytes. */
struct str task_names(struct str key, struct str body, char *buf);

/* ---- figures for monitoring ---- */

/* Appends figures of the tasks in the text format of Prometheus. It looks at no
   more live tasks than a list does (TASK_LOOK_MAX, TASK_READ_MAX), the newest
   changes first; mcptask_tasks_unexamined says how many are left. */
void tasks_put_metrics(struct tasks *t, struct buf *b);

#endif
