#ifndef TASK_RULES_H
#define TASK_RULES_H

/* rules - what a change of a task must keep to. A function that returns an int
   returns 0, or a code that c->e explains. */

#include "task/draft.h"

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
