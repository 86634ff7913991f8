#ifndef TASK_TASK_H
#define TASK_TASK_H

/* task - the agent's unit of work, and the index over all of them. What a
   task holds is in task/fields.h; task/query.h searches, task/claim.h finds
   the next one to work on, task/change.h changes tasks and task/view.h writes
   them out. Other folders include these, task/check.h, task/error.h and
   task/artifact.h, and no others. */

#include "base/base.h"
#include "json/raw.h"
#include "task/error.h"
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
struct store *tasks_store(const struct tasks *t);
/* What store_damage says of task id; .p NULL: nothing. */
struct str tasks_damage(struct tasks *t, struct str id);
/* How many tasks have this status. */
uint64_t tasks_count(const struct tasks *t, enum task_status s);
/* Whether task id is in an archive. */
bool tasks_is_archived(struct tasks *t, struct str id);

/* ---- the events of a task ---- */

/* The newest event of task id: 0, ERR_NOT_FOUND (also of an archived one), or
   what store_read says; ERR_DAMAGED too when it may be lost. */
int task_event_last(struct tasks *t, struct arena *a, struct str id,
                    struct task_event *out);
/* The event with number n. ERR_NOT_FOUND: it went with a closed generation,
   or archived its task; ERR_FORMAT: it is of no task; or store_read_n's. */
int task_event_n(struct tasks *t, struct arena *a, uint64_t n,
                 struct task_event *out);
/* Makes ev the task's event before it, as task_event_n; ERR_NOT_FOUND also
   where it was the first (ev->r.p is 0). After an error ev is as it was. */
int task_event_prev(struct tasks *t, struct arena *a, struct task_event *ev);

/* Makes ev, an event of a task, the newest one that left it at version. With
   ERR_NOT_FOUND, where no such one is kept, and with ERR_TOO_LARGE, after
   about max bytes of records (0: any), ev is the oldest that was read. */
int task_event_back(struct tasks *t, struct arena *a, uint64_t version,
                    size_t max, struct task_event *ev);
/* ---- a task as an event left it, split into raw JSON slices ---- */

struct task {
    struct task_event ev;
    struct str f[TASK_N_FIELDS]; /* raw JSON, .p NULL: absent */
    struct str extra; /* members unknown here: "a":1,"b":2; or empty */
    enum task_status status;
    uint64_t version;
    struct str blocked_by; /* raw JSON array of the depends_on not done */
    struct str deps_failed; /* those of them that failed, were cancelled */
    bool blocked, stale;
    bool free;  /* nobody works on it, as far as can be told */
    bool ready; /* it may be begun */
    bool leased, lease_expired; /* a lease runs, or has run out */
    bool needs_input;           /* it has an open question */
    bool kept;          /* for its owner, whom it was just handed over to */
    struct str damaged; /* why it may not be all there, .p NULL: it is */
};

/* The task after event ev, with what is derived from the time and the
   other tasks now. ERR_FORMAT. */
int task_of(struct tasks *t, struct arena *a, const struct task_event *ev,
            struct task *out);
/* The same with only the fields before title split: all that view_task_json
   needs, at the price of a few bytes whatever the task's size. */
int task_peek(struct tasks *t, struct arena *a, const struct task_event *ev,
              struct task *out);
/* Adds to *blocked_by those of a list of dependencies that are not done, and to
   *failed those of them that failed or were cancelled. ERR_NOMEM. */
int task_find_blockers(struct tasks *t, struct arena *a, struct str deps,
                       struct str *blocked_by, struct str *failed);
/* task_event_last and task_of in one. */
int task_get(struct tasks *t, struct arena *a, struct str id,
             struct task *out);
/* Says why task id could not be read: what one of the reads returned, rc. */
int task_fail_read(struct task_ctx *c, struct tasks *t, struct str id, int rc);

#endif
