#ifndef TASK_DRAFT_H
#define TASK_DRAFT_H

/* draft - a change of a task before it is a record. Actions work on a draft,
   task/rules.c checks it, task/change.c makes the record. */

#include "task/check.h"
#include "task/may.h"
#include "task/task.h"

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
/* Copies the given fields into the new state, finds what blocks the task then
   and whether it may be begun by now, and notes at which commit the tests
   ran. */
void draft_take_fields(struct draft *d);
/* Warns the agent; text is as it stands in JSON. */
void draft_warn(struct draft *d, const char *text);

/* Returns s. If .p is NULL, the draft remembers that memory ran out, and so it
   does in the following functions. */
struct str draft_keep(struct draft *d, struct str s);
/* Text without escapes, or a number, as raw JSON. */
struct str draft_quoted(struct draft *d, const char *text);
struct str draft_number(struct draft *d, uint64_t v);
/* An object of n members, without those whose .p is NULL. */
struct str draft_object(struct draft *d, const char *const names[],
                        const struct str raw[], size_t n);
/* Edits the list of a field: see raw_list_edit. */
void draft_edit(struct draft *d, int field, struct str old, struct str item);
/* The first id of letter and a number, from n on, that no object in the list of
   a field has under this name. Imported lists may have any ids. */
struct str draft_new_id(struct draft *d, int field, const char *name,
                        char letter, uint64_t n);

#endif
