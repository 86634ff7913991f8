#ifndef TASK_ANSWER_H
#define TASK_ANSWER_H

/* answer - who may answer a question of a task, why not, and what to do
   next. */

#include "task/may.h"

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
