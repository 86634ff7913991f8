#ifndef TASK_EVENT_H
#define TASK_EVENT_H

/* event - a record of a task, split into raw JSON slices. */

#include "store.h"
#include "task/fields.h"

#define TASK_PREFIX "task/" /* of the record's key; the task's id follows */
#define TASK_N_HEAD F_TITLE /* number of fields of v that the index reads */

struct task_event {
    struct store_rec r;
    struct str id;   /* the task's */
    struct str op;   /* create checkpoint handoff exhaust attach update claim
                        ask import leave; newer versions may add some */
    struct str by;   /* raw JSON string: the agent */
    struct str set;  /* raw JSON array of field names, .p NULL: absent */
    struct str note; /* raw JSON string, .p NULL: absent */
    struct str idem; /* raw JSON object, .p NULL: absent */
    struct str warn; /* raw JSON array, .p NULL: absent */
    struct str token; /* raw true: a token proved who by is; .p NULL: nothing
                         did */
    struct str seqs; /* raw JSON object, .p NULL: absent; see task_reached */
    struct str v;    /* raw JSON object: the whole state after it */
};

/* Reads the record r of a key "task/..." (from store_scan, store_observe,
   store_read). Slices point into r, and each is JSON. ERR_FORMAT: no such
   record, or a newer version wrote it. ERR_GARBLED: it is not JSON; *out then
   has r, the id and the op "damaged", and nothing else. */
int task_event_of(const struct store_rec *r, struct task_event *out);
/* The same by a scan, which costs little and makes sure of no more than where
   values end: for replay, and for names and flags that no one is shown.
   ERR_FORMAT: it makes no sense; *out is unchanged. */
int task_event_scan(const struct store_rec *r, struct task_event *out);
/* Whether ev archived its task: such a record holds only the id, what it
   depends on, its artifacts, and how it ended. */
bool task_event_archives(const struct task_event *ev);
/* The version at which ev left its task. */
uint64_t task_event_version(const struct task_event *ev);
/* Finds the first fields of a state v, raw, without reading the rest. 0 or
   ERR_FORMAT. */
int task_head_of(struct str v, struct str f[TASK_N_HEAD]);

#endif
