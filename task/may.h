#ifndef TASK_MAY_H
#define TASK_MAY_H

/* may - who holds a task, who may do what to it and answer its questions, why
   not, and what to do next. Nothing here reads the store or changes a task. */

#include "task/task.h"

/* ---- who is who ---- */

/* Whether the caller has a name; "unknown" is none. */
bool actor_is_named(const struct task_actor *who);
/* Whether name (raw, .p NULL: nobody's) in a task is the caller's: its owner,
   or an agent that handed it over, gave it up or lost it. */
bool actor_is(const struct task_actor *who, struct str name);
/* Whether session, of a lease or a question, is known and the caller's. */
bool actor_is_session(const struct task_actor *who, struct str session);

/* Whether the caller, with a token, may go by this name (raw): its agent's, or
   that with digits, unless another token has it. */
bool actor_has_token_name(const struct task_actor *who, struct str name);
/* Whether what is addressed to word (raw) is for the caller: see name_reaches.
   What is addressed to the agent of a token is for nobody else. */
bool actor_reached(const struct task_actor *who, struct str word);
/* The first of k's clashes (raw) with a task of another agent; .p NULL: there
   is none. */
struct str actor_clash(const struct task_actor *who, const struct task *k);
/* Whether the caller handed the task over and nobody has claimed it since. */
bool actor_gave(const struct task_actor *who, const struct task *k);

/* The lease of a task. */
struct task_holder {
    struct str name;    /* raw: the agent; .p NULL: there is no lease */
    struct str session; /* in which it was taken; empty: unknown */
    struct str client;  /* the product of that; .p NULL: a lease of 0.2.0 */
    enum sight sight;   /* of the session, while the lease runs */
    bool runs;          /* it has not run out */
    bool gone;          /* but the holder is seen to be gone, or was */
};
struct task_holder task_holder_of(const struct task *k);

/* How the caller stands to a lease. */
enum task_hold {
    HOLD_NONE,   /* there is none that keeps it out */
    HOLD_OWN,    /* it is the caller's, even if it has run out */
    HOLD_SESSION, /* it is that of the caller's session under another name, */
    HOLD_CLIENT, /* or that of its client, under a default name: it acts as the
                    holder */
    HOLD_TWIN,   /* another session of the same name, which lives, has it */
    HOLD_OTHER   /* another agent has it */
};
/* The only function that decides who the holder of a task is. */
enum task_hold actor_hold(const struct task_actor *who,
                          const struct task_holder *h);
/* Whether the caller may go on where the holder, a session of its product under
   a default name or a hook's, was when it ended or its lease did. Names that
   somebody chose come back under their name. With a token it is a session of
   the token's agent. */
bool actor_inherits(const struct task_actor *who, const struct task_holder *h);
/* Whether name (raw) is one that sessions of the caller's client have by
   default, or from a hook. */
bool actor_is_kin(const struct task_actor *who, struct str name);
/* Who took the task from the caller by takeover (raw), {by, at, reason}; .p
   NULL: nobody did. In a. */
struct str actor_loss(struct arena *a, const struct task_actor *who,
                      struct str takeover);

/* ---- who may do what ---- */

enum task_act {
    ACT_SAY,       /* answer, send a message, ask to stop: changes no work */
    ACT_WORK,      /* any other change */
    ACT_BEGIN,     /* set it in progress */
    ACT_REOPEN,    /* set an ended task to a status that may follow */
    ACT_HAND_OVER,
    ACT_CLAIM,
    ACT_TAKE_OVER, /* claim it from whom it is kept for */
    ACT_TAKE_UP    /* begin it by a change, which makes the caller its owner */
};
enum task_may {
    MAY_YES,
    MAY_NOT_UNNAMED,    /* a lease is for an agent with a name */
    MAY_NOT_ENDED,      /* the task has ended */
    MAY_NOT_LEASED,     /* another agent has the lease */
    MAY_NOT_TWIN,       /* another session of the caller's name has it */
    MAY_NOT_LEFT,       /* its holder is gone since a moment, */
    MAY_NOT_KEPT,       /* or it is another agent's without a lease: both are
                           preferences, which takeover passes by */
    MAY_NOT_YET,        /* its not_before has not come */
    MAY_NOT_BESIDE,     /* another agent works on paths that overlap */
    MAY_NOT_BLOCKED,    /* a task that it depends on is not done, */
    MAY_NOT_FAILED      /* or has failed or was cancelled */
};
/* The only function that decides it. k is as task_of makes it; NULL: any task,
   since nobody knows yet which. */
enum task_may may(const struct task_actor *who, const struct task *k,
                  enum task_act what);
/* Fills c->e with why the caller may not, and what it can do next. Returns the
   code; 0 for MAY_YES. */
int may_refuse(struct task_ctx *c, const struct task *k, enum task_may why);
/* Whether a refused claim may succeed later, by time or by what others do. Of
   tasks that failed this is not to be expected. */
bool may_later(const struct task_error *e);

/* ---- who may answer ---- */

enum answer_may {
    ANSWER_YES,
    ANSWER_WITHDRAW,     /* the caller asked it, and may only decline it */
    ANSWER_NOT_ADDRESSED, /* it is addressed to another agent, or a person */
    ANSWER_NOT_PERSON    /* it is an approval, which is for persons */
};
/* Whether the caller may answer asked, a question of a task (raw); or, if user,
   whether the user of the client that asked it may, when that passes it on. The
   only function that decides it. */
enum answer_may answer_may(const struct task_actor *who, struct str asked,
                           bool user);
/* Fills c->e with why the caller may not, and what it can do next. Returns
   ERR_NOT_YOURS; 0 for ANSWER_YES. */
int answer_refuse(struct task_ctx *c, enum answer_may why);

#endif
