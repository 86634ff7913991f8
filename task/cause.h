#ifndef TASK_CAUSE_H
#define TASK_CAUSE_H

/* cause - why a task stands where it does: what it waits for, and who can move
   it. What a certain agent may do to it is in task/may.h. */

#include "task/task.h"

/* The first of these that is so, in the order of task_cause. */
enum task_cause {
    CAUSE_FAILED,    /* it failed a short while ago */
    CAUSE_ENDED,     /* it is done, failed or cancelled */
    CAUSE_QUESTION,  /* it waits for an answer */
    CAUSE_LATER,     /* it may not be begun yet */
    CAUSE_PARTS,     /* nobody works on it, and it has unfinished parts */
    CAUSE_PARENT,    /* it is open, and one above it is put off */
    CAUSE_HANDED,    /* it waits for the agent it was handed to, or any */
    CAUSE_EXHAUSTED, /* its agent gave it up */
    CAUSE_DAMAGED,   /* its newest record is not JSON */
    CAUSE_BLOCKED,   /* it is open, and tasks that it needs have failed */
    CAUSE_WAITS,     /* it is open, and waits for other tasks */
    CAUSE_BESIDE,    /* it is open, and an agent works on paths that overlap */
    CAUSE_EXPIRED,   /* the lease of its agent ran out */
    CAUSE_STALE,     /* its agent has no lease, and was silent for a day */
    CAUSE_HELD,      /* an agent works on it */
    CAUSE_READY,     /* it waits for an agent */
    TASK_N_CAUSES
};
enum task_cause task_cause(const struct task *k);
/* The same in a few words for people, with the names and reasons that agents
   stored, unescaped. In a, or a constant; empty: the column says it all. .p
   NULL: no memory. */
struct str task_cause_text(struct arena *a, const struct task *k);

/* The cause CAUSE_READY of a task that has parts. */
#define TASK_CLOSE "all parts ended: check the acceptance and close it"
/* "2 of 10 parts done, 1 failed"; without those that were cancelled. In a; .p
   NULL: no memory. */
struct str task_parts_text(struct arena *a, const struct task *k);

/* Whose the task was up to now, and how it came to be left, for agents: "left
   by codex-01c709ed, exited 20 s ago". Names are as agents stored them. In a;
   .p NULL: nobody's, or no memory. */
struct str task_was(struct arena *a, const struct task *k, int64_t now_ms);

/* What a task waits for. People see tasks sorted by this. */
enum task_column {
    COLUMN_NEEDS_INPUT, /* an answer */
    COLUMN_READY,       /* an agent to begin it */
    COLUMN_IN_PROGRESS, /* nothing: an agent works on it */
    COLUMN_HANDED_OVER, /* the agent it was handed to, or anyone */
    COLUMN_STUCK,       /* a person to look after it */
    COLUMN_WAITING,     /* other tasks, its parts, or a time */
    COLUMN_DONE,        /* nothing more: it has ended */
    TASK_N_COLUMNS
};
/* board/board.html has the same rule, since there a task changes its column
   when those that it depends on end. */
enum task_column task_column(const struct task *k);
/* Whether what has waited longest comes first in a column, by priority, as in
   ORDER_WORK; in the others the newest change does. */
bool task_column_is_urgent(int column);

#endif
