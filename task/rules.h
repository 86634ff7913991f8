#ifndef TASK_RULES_H
#define TASK_RULES_H

/* rules - a change of a task before it is a record, and what it has to keep
   to. Actions work on a draft, task/change.c makes the record of it. A
   function that returns an int returns 0, or the code that c->e explains. */

#include "task/check.h"
#include "task/task.h"

#define DRAFT_UNCHANGED 1 /* the task is already as it was asked to be */

struct draft {
    struct tasks *t;
    struct task_ctx *c;
    const struct task_args *args;
    enum task_tool tool;
    bool exists;       /* old is the task as it was */
    bool nomem;        /* memory ran out; the change fails at its end */
    bool only_says;    /* it changes no work: the version stays */
    bool elsewhere;    /* another session of the caller's name has the lease */
    bool renews;       /* a claim of what the caller had already */
    const char *op;
    struct str id;     /* text, .p NULL: to be minted */
    struct str by;     /* raw: the agent */
    struct str note;   /* raw, .p NULL: no note */
    struct str now;    /* raw: the time as a JSON string */
    struct str idem;   /* raw object, .p NULL: no idempotency key */
    const struct task_blob *blob;
    struct str warnings;    /* raw array, .p NULL: no warning */
    struct str artifact_id; /* raw, of an attached one */
    struct str question_id; /* raw, of one that was asked */
    struct task k;     /* as it shall be; f and status only */
    struct task old;
};

/* ---- making a draft ---- */

static inline bool
draft_given(const struct draft *d, int arg)
{
    return d->args->v[arg].p != NULL;
}

/* Whether a field was given that describes the work: not task_id, nor that
   somebody asks to stop it. */
bool draft_has_fields(const struct draft *d);
/* The new value of a given field; .p NULL if it is cleared. */
struct str draft_value(const struct draft *d, int field);
/* Takes the fields that were given over into the new state, and notes at which
   commit the tests were run. */
void draft_take_fields(struct draft *d);
/* Warns the agent; text is a constant without escapes. */
void draft_warn(struct draft *d, const char *text);

/* s itself; where there was no memory for it the draft remembers that. So it
   does with the others. */
struct str draft_keep(struct draft *d, struct str s);
/* Text without escapes, or a number, as raw JSON. */
struct str draft_quoted(struct draft *d, const char *text);
struct str draft_number(struct draft *d, uint64_t v);
/* An object of those of n members that are there. */
struct str draft_object(struct draft *d, const char *const names[],
                        const struct str raw[], size_t n);

/* ---- rules ---- */

/* Whether done has the evidence that is asked for. */
int rules_check_evidence(struct draft *d);

/* Sets the status, where it may follow on the old one. */
int rules_set_status(struct draft *d, enum task_status to);
/* An ended task takes nothing but an update that reopens it and says why. */
int rules_check_ended(struct draft *d);

/* Whether by (raw) is nobody in particular. */
bool rules_is_unknown(struct str by);
/* Refuses the change: another agent owns the task. */
int rules_not_owner(struct draft *d, const char *field, const char *message);
/* Warns where another agent owns it. */
void rules_warn_owner(struct draft *d);

/* Whether the caller claims the task with takeover: for a reason, which is
   checked to be there. */
bool rules_takes_over(const struct draft *d);
/* Whether the lease is of the caller's name, but another session's, which still
   lives. */
bool rules_other_session(const struct draft *d);
/* What the lease is to say of the caller's session, raw; old: what it said of
   the same agent's. .p NULL: it is not known. */
struct str rules_session(struct draft *d, struct str old);
/* Who took the task over from the caller, raw; .p NULL: nobody, or it was
   somebody else's. */
struct str rules_loss(const struct draft *d, struct str takeover);
/* While a lease runs, its holder alone changes the task. An answer, a message
   and a wish to stop change no work: they may be anybody's. */
int rules_check_lease(struct draft *d);
/* A lease is the owner's, of a task in progress, and every write of its
   holder renews it. One from elsewhere that is longer than a day is void. */
void rules_renew_lease(struct draft *d);
/* Marks as seen the messages that the owner reads with the answer to this
   change, as many as fit into it. */
void rules_deliver(struct draft *d);

/* Tasks that this one names: they exist, and no way leads back. A whole
   import comes in any order, so there they may be missing still. */
int rules_check_links(struct draft *d);
/* Whether a task that it depends on is not done. */
bool rules_is_blocked(const struct draft *d);
/* Refuses to begin a task that is blocked, and names by what. */
int rules_fail_blocked(struct draft *d, const char *field);

#endif
