#ifndef TASK_RULES_H
#define TASK_RULES_H

/* rules - what a change of a task has to keep to. Each returns 0, or the
   code that the draft's error explains. */

#include "task/draft.h"

#define TASK_WALK_MAX 10000 /* tasks looked at for one cycle check */
#define TASK_WALK_BYTES (32 * 1024 * 1024) /* and bytes read */

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

/* While a lease runs, its holder alone changes the task. An answer is no
   change of the work: it may be anybody's. */
int rules_check_lease(struct draft *d);
/* A lease is the owner's, of a task in progress, and every write of its
   holder renews it. One from elsewhere ends within a day, or is none. */
void rules_settle_lease(struct draft *d);

/* Tasks that this one names: they exist, and no way leads back. A whole
   import comes in any order, so there they may be missing still. */
int rules_check_links(struct draft *d);
/* Whether a task that it depends on is not done. */
bool rules_is_blocked(const struct draft *d);

#endif
