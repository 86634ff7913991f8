#ifndef TASK_H
#define TASK_H

/* task - the agent's unit of work: what it is, how it may change, who is
   told no and why. Reads come from the store's newest records; every change
   is one staged record that holds the whole state after it. */

#include "base/base.h"
#include "json.h"
#include "store.h"
#include "task/error.h"
#include "task/fields.h"
#include "json/raw.h"

#define TASK_MAX_STATE (256 * 1024) /* bytes of v */
#define TASK_STALE_MS (24 * 60 * 60 * 1000) /* in_progress without an event */
#define TASK_KEY_AGE_MS (24 * 60 * 60 * 1000) /* life of an idempotency key */

/* ---- all the tasks of a store ---- */

struct tasks;

/* The index over the records "task/<id>". The order: tasks_new, store_open
   with what tasks_kind filled in, tasks_bind; at the end store_close, then
   tasks_free. NULL: no memory. */
struct tasks *tasks_new(void);
void tasks_kind(struct tasks *t, struct store_kind *out);
void tasks_bind(struct tasks *t, struct store *s);
void tasks_free(struct tasks *t);
struct store *tasks_store(const struct tasks *t);
/* What store_damage says of task id; .p NULL: nothing. */
struct str tasks_damage(struct tasks *t, struct str id);
/* How many tasks have this status. */
uint64_t tasks_count(const struct tasks *t, enum task_status s);
/* Heap held beside the store's entries: atoms and idempotency keys. */
size_t tasks_index_bytes(const struct tasks *t);

/* ---- reading ---- */

/* One event of a task: a record, and what stands in it. */
struct task_event {
    struct store_rec r;
    struct str id;   /* the task's */
    struct str op;   /* create checkpoint handoff exhaust attach update
                        claim ask import; a newer binary's may be unknown
                        here */
    struct str by;   /* raw JSON string: the agent */
    struct str set;  /* raw JSON array of field names, .p NULL: none */
    struct str note; /* raw JSON string, .p NULL: none */
    struct str idem; /* raw JSON object, .p NULL: none */
    struct str warn; /* raw JSON array, .p NULL: none */
    struct str v;    /* raw JSON object: the whole state after it */
};

/* A task as its newest event left it, split into raw JSON slices. */
struct task {
    struct task_event ev;
    struct str f[TASK_N_FIELDS]; /* raw JSON, .p NULL: absent */
    struct str extra; /* members unknown here: "a":1,"b":2; or empty */
    enum task_status status;
    uint64_t version;
    struct str blocked_by; /* raw JSON array of the depends_on not done */
    bool blocked, ready, stale;
    bool leased, lease_expired; /* a lease runs, or has run out */
    bool needs_input;           /* it has an open question */
    struct str damaged; /* why it may not be all there, .p NULL: it is */
};

/* What a task waits for; people see tasks sorted by this. */
enum task_column {
    COLUMN_NEEDS_INPUT, /* an answer */
    COLUMN_READY,       /* somebody who takes it up */
    COLUMN_IN_PROGRESS, /* nothing, it is worked on */
    COLUMN_HANDED_OVER, /* the agent that it was handed to, or anyone */
    COLUMN_STUCK,       /* somebody who looks after it */
    COLUMN_DONE,        /* nothing more: it has ended */
    TASK_N_COLUMNS
};
/* board/board.html has the same rule: there a task changes its column when
   those that it depends on are done. */
enum task_column task_column(const struct task *k);

/* Reads the record r of a key "task/..." (from store_scan, store_observe,
   store_read). Slices point into r. ERR_FORMAT: no such record. */
int task_event_of(const struct store_rec *r, struct task_event *out);
/* Whether it is the one by which its task went to an archive: a record that
   only holds the id, what it depends on, its artifacts, and how it ended. */
bool task_event_archives(const struct task_event *ev);
/* Makes ev the task's event before it. ERR_NOT_FOUND: it was the first
   (ev->r.p 0), or the older ones went with a closed generation or before it
   was in an archive (not 0). */
int task_event_prev(struct tasks *t, struct arena *a, struct task_event *ev);

/* Whether task id is in an archive. */
bool tasks_is_archived(struct tasks *t, struct str id);
/* The newest event of task id: 0, ERR_NOT_FOUND (also of an archived one), or
   what store_read says; ERR_DAMAGED too when it may be lost. */
int task_event_last(struct tasks *t, struct arena *a, struct str id,
                    struct task_event *out);
/* The task after event ev, with what is derived from the time and the
   other tasks now. ERR_FORMAT. */
int task_of(struct tasks *t, struct arena *a, const struct task_event *ev,
            struct task *out);
/* The same with only the fields before title split: all that view_task_json
   needs, at the price of a few bytes whatever the task's size. */
int task_peek(struct tasks *t, struct arena *a, const struct task_event *ev,
              struct task *out);
/* task_event_last and task_of in one. */
int task_get(struct tasks *t, struct arena *a, struct str id,
             struct task *out);
/* That there is no task id, or that it is in an archive. ERR_NOT_FOUND. */
int task_fail_missing(struct task_error *e, struct arena *a, struct tasks *t,
                      struct str id);
/* Reads the answer (raw) to the question of an id (raw) of a task as it is
   now, .p NULL: it is open. ERR_NOT_FOUND: there is no such question, or it
   is no longer kept; or what task_event_last says. */
int task_question_answer(struct tasks *t, struct arena *a, struct str task_id,
                         struct str question_id, struct str *answer);
#define TASK_ALIAS_MAX 312
#define TASK_ENDED "ended" /* the name under which all that end are watched */
#define TASK_NAMES_MAX (TASK_ALIAS_MAX + sizeof("\t" TASK_ENDED) - 1)
/* The name "owner/..." under which all the tasks of an agent (a raw JSON
   string) can be watched, made in a buf of TASK_ALIAS_MAX bytes; of a very
   long name only the start counts. .p NULL: owner is none. */
struct str task_alias_of(struct str owner, char *buf);
/* That of the task that a record leaves behind it, and TASK_ENDED if it has,
   with a tab between, in a buf of TASK_NAMES_MAX bytes. */
struct str task_names(struct str key, struct str body, char *buf);

/* ---- searching ---- */

#define TASK_LOOK_MAX 20000             /* entries looked at by one call */
#define TASK_READ_MAX (2 * 1024 * 1024) /* bytes of records read by one */
#define TASK_LIST_MAX 100               /* tasks of one page */

enum task_ask { TASK_EITHER, TASK_YES, TASK_NO };

/* Zeroed: all live tasks. Text filters with .p NULL are not asked. */
struct task_query {
    unsigned status; /* a bit (1u << status) each, 0: not asked; naming an
                        ended status looks at ended tasks too */
    struct str owner, repo_path, tag, parent_id;
    struct str text; /* in title, goal, task_id, tags or resume_prompt, with
                        ASCII letters of either case taken as the same */
    enum task_ask ready, stale, needs_input;
    int64_t since_ms;  /* changed at or after, 0: not asked */
    uint64_t since_n;  /* seq above, 0: not asked */
    bool include_done; /* ended ones too */
    unsigned limit;    /* 1 to TASK_LIST_MAX, 0: 20 */
    struct str cursor; /* of the page before, empty: the first page */
    bool uncounted;    /* no total is wanted */
    size_t read_max;   /* bytes of records to be read, 0: TASK_READ_MAX */
};

struct task_page {
    struct task *tasks; /* newest change first; in the arena */
    size_t n;
    struct str *after; /* of each task: the cursor to go on behind it */
    struct str next; /* cursor of the next page, empty: there is none */
    bool partial;    /* the page ended for TASK_LOOK_MAX or read_max */
    bool exact;      /* total is; else it is at least that */
    uint64_t total;  /* matches in all pages */
    uint64_t head;   /* newest seq of the log */
};

/* One page of the tasks that match, newest change first. A cursor holds a
   position in the log: tasks that change meanwhile make no page skip or
   repeat those that do not. ERR_INVALID: not a cursor; or store_read's. */
int tasks_list(struct tasks *t, struct arena *a, const struct task_query *q,
               struct task_page *out);

/* ---- changing ---- */

struct task_receipt {
    struct str id;
    struct str op;          /* as in struct task_event */
    uint64_t version, seq;
    enum task_status status;
    struct str owner;       /* raw JSON string, .p NULL: nobody */
    struct str warnings;    /* raw JSON array, .p NULL: none */
    struct str artifact_id; /* raw JSON string, .p NULL: none attached */
    struct str question_id; /* raw JSON string, .p NULL: none asked */
    struct str lease;       /* raw JSON object, .p NULL: none */
    struct str damaged;     /* as in struct task */
    bool partial; /* no task was found to claim, but not all were seen */
};

/* Takes over a task from elsewhere as a whole: an object as view_task_json
   writes it, or the predecessor's. Its task_id, created_at, steps and all
   other fields are kept once checked, derived ones dropped, unknown ones
   carried along; a missing status is open. One staged record; under the
   lock. ERR_EXISTS: there is such a task, in no archive; nothing changed. */
int task_import(struct tasks *t, struct task_ctx *c,
                const struct json_tok *obj, struct task_receipt *out);
/* Stages the record that says that the task of r, its newest record, is in
   an archive. Under the lock. ERR_VERSION: r is not the newest any more. */
int task_archive(struct tasks *t, const struct store_rec *r);

#endif
