#ifndef TOOLS_LOOK_H
#define TOOLS_LOOK_H

/* look - whether the condition of wait_for_task is met. */

#include "task/check.h"
#include "task/task.h"

enum look_until {
    UNTIL_CHANGE, UNTIL_TERMINAL, UNTIL_ANSWERED, UNTIL_HANDOFF, UNTIL_READY,
    UNTIL_WORK, UNTIL_QUESTION, UNTIL_STATUS
};

/* What a look comes to; LOOK_MESSAGE: not yet, but agent has a message;
   LOOK_UNFINISHED: the time of the run is over, before all was looked at. */
enum { LOOK_NOT_YET, LOOK_MESSAGE, LOOK_MET, LOOK_NEVER, LOOK_UNFINISHED };

/* What is waited for, how far the look for it has come, which may take
   several runs, and what was found. */
struct look {
    struct tasks *t;
    struct arena *a;
    int64_t until_ms;     /* of this run; 0: it has no end */
    struct str id;        /* .p NULL: any */
    struct str agent;     /* raw; .p NULL: anyone's */
    struct task_actor who; /* the caller, under that name */
    struct str self;      /* raw: the own name of who waits; or .p NULL */
    struct str repo;      /* raw: the root of its project; or .p NULL */
    struct str repo_path; /* as in struct task_want */
    enum look_until until;
    unsigned statuses;    /* those waited for, a bit each; or 0 */
    bool holds;           /* one counts while it holds, whenever reached */

    uint64_t since; /* events up to this are known, */
    uint64_t from;  /* or looked at already, up to this, */
    uint64_t heard; /* and messages: only a call that waits is interrupted */
    uint64_t top;   /* the newest one when the look began; 0: it has not */
    char pass;      /* which tasks are looked at: see tools/look.c */
    struct str cursor; /* of the next ones */

    uint64_t seq;      /* of the event that met it; 0: none */
    struct str found;  /* the id of its task; .p NULL: none */
    struct str told;   /* of a task with a message for agent */
    struct task task;  /* as it was when met, or is; without an id and unmet,
                          or without a task, its ev.r.n is 0 */
    struct task_event event; /* that met it */
    int64_t due_ms;    /* wall clock, when time alone may meet the condition; 0:
                          never */
};

/* Begins to look for what args, those of wait_for_task, ask for. Without a
   since_seq, news is what comes after since. 0, or a code that x->e explains.
   *w refers to args and uses x->a. */
int look_begin(struct tasks *t, struct task_ctx *x,
               const struct task_args *args, uint64_t since, struct look *w);
/* After look_begin, look_resume or look_again: one of LOOK_*, or a code that
   x->e explains. */
int look_take(struct look *w, struct task_ctx *x);
/* After a look that found nothing: the next one looks at what came since. */
void look_again(struct look *w);
/* The names to watch for what may meet the condition: one, or two with a tab
   between them; .p NULL: no memory. */
struct str look_watch(const struct look *w);
/* How far it has come, as text; .p NULL: no memory. */
struct str look_state(const struct look *w);
/* Goes on from there; a text that look_state did not write changes nothing. */
void look_resume(struct look *w, struct str state);
/* Appends what wait_for_task answers. */
void look_put(struct buf *out, const struct look *w, int outcome);

#endif
