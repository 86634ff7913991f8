#ifndef TASK_RULES_H
#define TASK_RULES_H

/* rules - what a change of a task must keep to. A function that returns an int
   returns 0, or a code that c->e explains. */

#include "task/draft.h"

/* Whether the task has the evidence that done requires. */
int rules_check_evidence(struct draft *d);

/* Sets the status, if it may follow the old one. */
int rules_set_status(struct draft *d, enum task_status to);
/* An ended task takes only an update that reopens it with a reason. */
int rules_check_ended(struct draft *d);

/* Whether by (raw) stands for a caller without a name. */
bool rules_is_unknown(struct str by);
/* Refuses the change because another agent owns the task. */
int rules_not_owner(struct draft *d, const char *field, const char *message);
/* Adds a warning if another agent owns the task. */
void rules_warn_owner(struct draft *d);

/* Whether the caller claims the task with takeover. That a reason is given has
   been checked. */
bool rules_takes_over(const struct draft *d);
/* Whether the lease has the caller's name but belongs to another session, which
   still lives. */
bool rules_other_session(const struct draft *d);
/* Returns takeover (raw) if the task was taken from the caller by it; else .p
   is NULL. */
struct str rules_loss(const struct draft *d, struct str takeover);
/* Drops the note of a takeover once the agent that lost the task owns it again;
   or, if that was another session of the same name, once that name does not. */
void rules_forget_loss(struct draft *d);
/* While a lease runs, only its holder may change the task. Answers, messages
   and requests to stop change no work: anybody may send them. */
int rules_check_lease(struct draft *d);
/* Keeps the lease only if it is the owner's and the task is in progress, and
   renews it with every write of its holder. An imported lease that is longer
   than a day is dropped. */
void rules_renew_lease(struct draft *d);
/* Marks the messages as seen that the owner gets with the answer to this
   change, as many as fit into it. */
void rules_deliver(struct draft *d);

/* Checks that the tasks which this one names exist and that no way leads back.
   Imports come in any order, so tasks that they name may still be missing.
   After an import, and between tasks that one call creates, what the check has
   seen is kept for the next; rules_forget_walks ends the series, under the same
   lock. */
int rules_check_links(struct draft *d);
void rules_forget_walks(void);
/* Whether it depends on a task that is not done. */
bool rules_is_blocked(const struct draft *d);
/* Refuses to begin a blocked task and names what blocks it. */
int rules_fail_blocked(struct draft *d, const char *field);

#endif
