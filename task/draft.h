#ifndef TASK_DRAFT_H
#define TASK_DRAFT_H

/* draft - a change of a task before it is a record: what a tool was
   given, the task as it was and as it shall be. Rules and actions work on
   it, task_change makes the record of it. */

#include "task/task.h"
#include "task/check.h"

#define DRAFT_MAX_WARNINGS 8
#define DRAFT_UNCHANGED 1 /* the task is already as it was asked to be */

struct draft {
    struct tasks *t;
    struct task_ctx *c;
    const struct task_args *args;
    enum task_tool tool;
    bool exists;       /* old is the task as it was */
    bool nomem;        /* something could not be kept; stage says so */
    const char *op;
    struct str id;     /* text, .p NULL: to be minted */
    struct str by;     /* raw: the agent */
    struct str note;   /* raw, .p NULL: none */
    struct str now;    /* raw: the time as a JSON string */
    const struct task_blob *blob;
    size_t n_warn;
    struct str artifact_id; /* raw, of an attached one */
    struct str question_id; /* raw, of one that was asked */
    const char *warn[DRAFT_MAX_WARNINGS];
    char hex[65];      /* digest of the arguments, where there is a key */
    struct task k;     /* as it shall be; f and status only */
    struct task old;
};

static inline bool
draft_given(const struct draft *d, int arg)
{
    return d->args->v[arg].p != NULL;
}

/* Refuses the change, by task_fail's rules. */
#define DRAFT_FAIL(d, ...) task_fail(&(d)->c->e, (d)->c->a, __VA_ARGS__)
/* The same for a message without numbers in it. */
int draft_refuse(struct draft *d, int code, const char *field,
                 const char *message);
/* The same for what the store said. */
int draft_fail_store(struct draft *d, int code);
/* Tells the agent; text is a constant. */
void draft_warn(struct draft *d, const char *text);

/* s itself; where there was no memory for it the change fails at its end. So
   it does with the others. */
struct str draft_keep(struct draft *d, struct str s);
/* Text without escapes, or a number, as raw JSON. */
struct str draft_quoted(struct draft *d, const char *text);
struct str draft_number(struct draft *d, uint64_t v);

/* Takes the fields that were given over into the new state, all but the
   status. */
void draft_take_fields(struct draft *d);
/* Whether one was given beside task_id. */
bool draft_has_fields(const struct draft *d);
/* Writes an object as a field's new value, of those of n that are there. */
void draft_object(struct draft *d, int field, const char *const names[],
                  const struct str raw[], size_t n);

#endif
