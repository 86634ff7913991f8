#ifndef TASK_TASK_H
#define TASK_TASK_H

/* task - the agent's unit of work, and the index over all of them. What a
   task holds is in task/fields.h; task/query.h searches, task/claim.h finds
   the next one to work on, task/change.h changes tasks, task/view.h writes them
   out and task/brief.h chooses what an agent is told. */

#include "base/base.h"
#include "json/raw.h"
#include "task/caller.h"
#include "task/event.h"
#include "task/fields.h"

/* ---- all the tasks of a store ---- */

struct tasks;

/* The index over the records "task/<id>". The order: tasks_new, store_open
   with what tasks_kind filled in, tasks_bind; at the end store_close, then
   tasks_free. NULL: no memory. */
struct tasks *tasks_new(void);
void tasks_kind(struct tasks *t, struct store_kind *out);
void tasks_bind(struct tasks *t, struct store *s);
void tasks_free(struct tasks *t);
/* From now on see says what can be seen of the session in which a lease was
   taken; without it that is unknown. */
typedef enum sight task_see_fn(const void *of, struct str session);
void tasks_watch(struct tasks *t, task_see_fn *see, const void *of);
/* Whether other holders are gone than at the last call: no record says so. */
bool tasks_lost(struct tasks *t);
struct store *tasks_store(const struct tasks *t);
/* How many tasks have this status. */
uint64_t tasks_count(const struct tasks *t, enum task_status s);
/* Whether task id is in an archive. */
bool tasks_is_archived(struct tasks *t, struct str id);
/* The tasks whose parent is one task; the archived ones as they ended. Those
   not counted by unfinished, done and failed were cancelled. */
struct task_parts {
    uint64_t total, unfinished, done, failed;
};
struct task_parts tasks_parts(const struct tasks *t, struct str id);

/* ---- the events of a task ---- */

/* The newest event of task id. 0; ERR_NOT_FOUND, also for an archived task; an
   error of store_read or task_event_of; or ERR_DAMAGED if the task may be
   lost. */
int task_event_last(struct tasks *t, struct arena *a, struct str id,
                    struct task_event *out);
/* The event with number n. ERR_NOT_FOUND: it was dropped with a closed
   generation, or archived its task; ERR_FORMAT, ERR_GARBLED: as task_event_of;
   or an error of store_read_n. */
int task_event_n(struct tasks *t, struct arena *a, uint64_t n,
                 struct task_event *out);
/* Makes ev the task's event before it, as task_event_n; ERR_NOT_FOUND also if
   ev was the first (ev->r.p is 0). After an error ev is unchanged. One whose
   record is not JSON is no error: ev is as task_event_of leaves it. */
int task_event_prev(struct tasks *t, struct arena *a, struct task_event *ev);

/* Makes ev, whose record is not JSON, the newest event before it whose record
   is. ERR_GARBLED: there is none any more, or not among the last ten. */
int task_event_whole(struct tasks *t, struct arena *a, struct task_event *ev);

/* Makes ev, an event of a task, the newest event that left the task at version.
   ERR_NOT_FOUND: there is no such event any more; ERR_TOO_LARGE: about max
   bytes of records (0: no limit) were read. Then ev is the oldest event
   read. */
int task_event_back(struct tasks *t, struct arena *a, uint64_t version,
                    size_t max, struct task_event *ev);
/* ---- a task as an event left it, split into raw JSON slices ---- */

struct task {
    enum task_status status;
    uint64_t version;
    bool blocked, stale;
    struct task_parts parts; /* that it has, */
    struct str part_list;    /* and the first of them: see tasks_list_parts */
    bool free;  /* nobody seems to work on it */
    bool early; /* it may be begun only later, by its not_before */
    bool able;  /* it may be begun, but for clashes */
    bool ready; /* it may be begun */
    bool leased, lease_expired; /* a lease runs, or has run out */
    enum sight sight;           /* of the holder, also after that */
    bool gone;                  /* it is seen to be gone, */
    bool connected;             /* or to be there, as far as is known */
    bool needs_input;           /* it has an open question */
    bool recent;                /* it failed less than TASK_RECENT_MS ago */
    bool kept;          /* for its owner, which works without a lease, to whom
                           it was just handed over, or whom it is meant for */
    int64_t until_ms;   /* when that, or the lease, ends; 0: at no time */
    bool garbled;       /* its record is not JSON: see tasks_list */
    struct task_event ev;
    struct str f[TASK_N_FIELDS]; /* raw JSON, .p NULL: absent */
    struct str extra; /* members unknown here: "a":1,"b":2; or empty */
    struct str blocked_by; /* raw JSON array: depends_on that are not done */
    struct str deps_failed; /* those that failed or were cancelled */
    struct str above;   /* raw: the task above it that is to begin later or was
                           cancelled, until when it is not ready; .p NULL: none
                           is */
    struct str clashes; /* raw array of {task_id, agent}: tasks that agents work
                           on, with paths that overlap; .p NULL: none */
    int64_t clash_ms;   /* when the first of their leases ends */
    struct str match;   /* raw: the line that a search found, unless title or
                           id show it; else .p NULL */
    uint64_t steps_done, steps_all; /* of a summary; else f has the lists */
};

/* The task after event ev, with what is derived from the time and the
   other tasks now. ERR_FORMAT. */
int task_of(struct tasks *t, struct arena *a, const struct task_event *ev,
            struct task *out);
/* The same, but splits only the fields before title. That is all view_task_json
   needs, and costs little however large the task is. */
int task_peek(struct tasks *t, struct arena *a, const struct task_event *ev,
              struct task *out);
/* The seq of the event by which k last reached the status s, whether or not it
   still has it; its owner was last told something; or a question of its list
   was answered. 0: never. So a record shows what came and went before it. The
   first record of a task and those of 0.2.0 do not say: what they show counts
   as their own doing. */
uint64_t task_reached(const struct task *k, enum task_status s);
uint64_t task_told(const struct task *k);
uint64_t task_answered(const struct task *k, struct str question);
/* Adds to k->blocked_by its dependencies that are not done, but for those above
   it, which wait for their parts; and to k->deps_failed those of them that
   failed or were cancelled. ERR_NOMEM. */
int task_find_blockers(struct tasks *t, struct arena *a, struct task *k);
/* task_event_last and task_of in one. */
int task_get(struct tasks *t, struct arena *a, struct str id,
             struct task *out);
/* Reads a task from JSON as view_task_json or view_summary_json wrote it, which
   may have been another process: a view shows it as it shows the task there.
   ev has raw as its v, the time, the seq and the note, and nothing else.
   ERR_FORMAT: it is neither; ERR_NOMEM. */
int task_of_json(struct arena *a, struct str raw, struct task *out);
/* Refuses a call that names k and, by asked (raw, .p NULL: by nothing), the
   project of other tasks. 0, or ERR_INVALID with the error set. */
int task_check_place(struct task_ctx *c, struct str asked,
                     const struct task *k);
/* The not_before of k, which has one, up to its minute. */
struct str task_from_text(const struct task *k);
/* The number of completed steps, and of all. */
void task_steps(const struct task *k, size_t *done, size_t *all);
/* Sums up its last test results: each by its numbers, or as one test by its
   exit code. False: it has none; nor has a summary that was read. */
bool task_tests(const struct task *k, uint64_t *passed, uint64_t *failed);
/* Sets the error for rc, which one of the reads of task id returned. */
int task_fail_read(struct task_ctx *c, struct tasks *t, struct str id, int rc);

#endif
