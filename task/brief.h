#ifndef TASK_BRIEF_H
#define TASK_BRIEF_H

/* brief - what an agent is told when it begins: what it holds, what was left
   for it, what was handed to it, and what is ready. The hook and the prompt
   resume_task tell the same, whether the tasks come from the store or from
   the answers of a server. */

#include "task/query.h"

/* In the order in which claim_task chooses. A task is in one part at most. */
enum brief_part {
    BRIEF_LOST,   /* it was taken from it */
    BRIEF_MINE,   /* under its name */
    BRIEF_LEFT,   /* by another session of its client */
    BRIEF_HANDED, /* to it, by its name or its client's */
    BRIEF_OTHERS, /* left by another agent a moment ago */
    BRIEF_READY,  /* for any agent */
    BRIEF_N_PARTS
};

/* Whom it is for. */
struct brief {
    struct task_actor who; /* without a name: for anybody */
    bool goes_on; /* the same session may have had another name before */
    int64_t now_ms;
};

const char *brief_heading(const struct brief *b, enum brief_part part);
/* Asks for the tasks among which those of a part are. */
struct task_query brief_query(const struct brief *b, enum brief_part part);
/* Whether k, whole or a summary, is in the part. */
bool brief_has(const struct brief *b, enum brief_part part,
               const struct task *k);
/* Appends a line for k, which is whole; and for what is its own, with prompts,
   what it needs to go on. Text of agents is on one line each, with markup. */
void brief_put(struct buf *out, struct arena *a, const struct brief *b,
               enum brief_part part, const struct task *k, bool prompts);

#endif
