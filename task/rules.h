#ifndef TASK_RULES_H
#define TASK_RULES_H

/* rules - a change of a task before it is a record, and what it must keep to.
   task/change.c makes the changes. Used only in this folder. */

#include "task/check.h"
#include "task/may.h"
#include "task/task.h"

/* ---- the draft ---- */

#define DRAFT_UNCHANGED 1 /* the change would change nothing */

struct draft {
    struct tasks *t;
    struct task_ctx *c;
    const struct task_args *args;
    enum task_tool tool;
    bool exists;       /* old is the stored task */
    bool nomem;        /* memory ran out; the change fails at its end */
    bool only_says;    /* work is unchanged: the version stays */
    bool renews;       /* a claim by the task's holder */
    bool circle;       /* it depends on what waits for it as a part */
    bool mends;        /* the newest record is not JSON; old is older */
    enum task_act act;   /* what it does, */
    enum task_hold hold; /* and how the caller stands to the lease */
    const char *op;
    struct str id;     /* text, .p NULL: to be generated */
    struct str by;     /* raw: the agent */
    struct str note;   /* raw, .p NULL: no note */
    struct str now;    /* raw: the time as a JSON string */
    struct str idem;   /* raw object, .p NULL: no idempotency key */
    const struct task_blob *blob;
    struct str warnings;    /* raw array, .p NULL: no warning */
    struct str artifact_id; /* raw, of an attached one */
    struct str question_id; /* raw, of one that was asked */
    struct str was;         /* whose the task was before; .p NULL: nobody's */
    struct task k;     /* the new state; f and status only */
    struct task old;
};

static inline bool
draft_given(const struct draft *d, int arg)
{
    return d->args->v[arg].p != NULL;
}

/* Whether a field was given that describes the work: neither task_id nor a
   request to stop nor, when the work is left, until when. */
bool draft_has_fields(const struct draft *d);
/* The new value of a given field; .p NULL if it is cleared. */
struct str draft_value(const struct draft *d, int field);
/* Warns the agent; text is as it stands in JSON. */
void draft_warn(struct draft *d, const char *text);

/* Returns s. If .p is NULL, the draft remembers that memory ran out. */
struct str draft_keep(struct draft *d, struct str s);
/* Text without escapes as raw JSON; if memory ran out, as draft_keep. */
struct str draft_quoted(struct draft *d, const char *text);

/* ---- rules ----

   A function that returns an int returns 0, or a code that c->e explains. */

/* Whether the task has the evidence that done requires. */
int rules_check_evidence(struct draft *d);

/* Sets the status, if it may follow the old one. */
int rules_set_status(struct draft *d, enum task_status to);
/* Sets d->act and d->hold. If the caller has the lease under another name, it
   is that agent from now on, unless it only says something; then true. */
bool rules_meet_holder(struct draft *d);
/* After that, refuses what the caller may not do to the task:
   see task/may.h. */
int rules_check_may(struct draft *d);
/* Adds a warning if another agent owns the task. */
void rules_warn_owner(struct draft *d);

/* Checks that the tasks which this one names exist and that no way leads back,
   by what it depends on, or from there to parts. Imports come in any order, so
   tasks that they name may still be missing; and of them, a way by parts only
   sets d->circle. */
int rules_check_links(struct draft *d);

#endif
