#ifndef TASK_EVENT_H
#define TASK_EVENT_H

/* event - a record of a task, split into raw JSON slices, and what the objects
   inside it say. */

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

/* ---- leases, handoffs, questions: all are raw JSON ---- */

#define TASK_LEASE_S "900" /* its length, if nobody says another */
#define TASK_LEASE_MAX_MS (86400 * 1000)
#define TASK_HANDOFF_MAX_MS (7 * 86400 * 1000)
#define TASK_STALE_MS (86400 * 1000) /* in_progress without an event for this
                                        long */
#define TASK_RECENT_MS (3 * 86400 * 1000) /* a failure is news this long */

/* When a lease {agent, expires_at, seconds, session} ends; or false. */
bool task_lease_end(struct str lease, int64_t *ms);
/* When its agent last changed the task, since that renews the lease: its end
   without its seconds (900 if it does not say). False: once it was left, it
   ends at another time. */
bool task_lease_wrote(struct str lease, int64_t *ms);
/* A lease of agent that runs for seconds (.p NULL: 900) from now on. seat is
   where it was taken, as members after a comma, or empty: see task_seat. .p
   NULL: no memory. */
struct str task_lease_make(struct arena *a, struct str agent,
                           struct str seconds, struct str seat, int64_t now);
/* The lease once its holder is gone, which was noted now for a reason (raw): it
   has left {at, reason}, and ends a minute later at most, so that others may
   go on; but not where several sessions worked on the task, as of a client that
   opens one for each turn: that may come back. Whoever renews it takes this
   back. */
struct str task_lease_leave(struct arena *a, struct str lease,
                            struct str reason, int64_t now);
/* Where a lease was taken, as its last members: the session, the client,
   whether that was the first call of a session over HTTP, as of a client that
   opens one for each call, and whether other sessions had the lease before.
   Empty: not known. Leases of 0.2.0 lack the client, and their sessions say
   nothing. */
struct str task_seat_make(struct arena *a, struct str session,
                          struct str client, bool first, bool many);
/* The client of a lease that mcptask run holds, as long as it runs. */
#define TASK_RUN_CLIENT "mcptask run"
bool task_lease_is_run(struct str lease);
struct str task_seat(struct str lease);
/* Before when a task may not be begun, from its field, raw; 0: it may. */
int64_t task_from_ms(struct str not_before);
/* When a task that was handed over becomes open to anyone: the time in the
   handoff, or 900 seconds after it. at is the time of the record or, if that
   is later, that before which the task may not be begun. */
int64_t task_handoff_end(struct str handoff, int64_t at);
/* When a live task with this status, lease and handoff is free for any agent,
   if nothing changes it after its record of the time at: its lease has ended,
   or the time for which it was handed to one agent; without either, it is
   stale. INT64_MAX: it is open, and so its owner's at any time. at is as for
   task_handoff_end if it was handed over. */
int64_t task_kept_until(enum task_status status, struct str lease,
                        struct str handoff, int64_t at);
/* The oldest question of the list that has no answer; .p NULL: all have one.
   Each is {question_id, question, options, kind, to, by, at, answer}; an answer
   is {text, action, by, at}. */
struct str task_open_question(struct str questions);

#endif
