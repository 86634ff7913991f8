#ifndef TASK_RULES_H
#define TASK_RULES_H

/* rules - what a change of a task must keep to. A function that returns an int
   returns 0, or a code that c->e explains. */

#include "task/draft.h"

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
/* Refuses to begin a task that is blocked as the change leaves it; field names
   the argument at fault. */
int rules_check_begin(struct draft *d, const char *field);
/* Adds a warning if another agent owns the task. */
void rules_warn_owner(struct draft *d);

/* Drops the note of a takeover once the agent that lost the task owns it again;
   or, if that was another session of the same name, once that name does not. */
void rules_forget_loss(struct draft *d);
/* Keeps the lease only if it is the owner's and the task is in progress, and
   renews it with every write of its holder. An imported lease that is longer
   than a day is dropped. */
void rules_renew_lease(struct draft *d);
/* Notes that the holder, who has a lease, is gone; reason is raw. Earlier
   versions see a lease that ends sooner. */
void rules_leave(struct draft *d, struct str reason);
/* Marks the messages as seen that the owner gets with the answer to this
   change, as many as fit into it. */
void rules_deliver(struct draft *d);

/* Checks that the tasks which this one names exist and that no way leads back,
   by what it depends on, or from there to parts. Imports come in any order, so
   tasks that they name may still be missing; and of them, a way by parts only
   sets d->circle. */
int rules_check_links(struct draft *d);

#endif
