#ifndef ETCD_MEMBERS_H
#define ETCD_MEMBERS_H

/* members - what each endpoint says of itself, beside the one in use. They are
   asked one at a time, by a client of their own. */

#include "etcd/client.h"

struct engine;

struct members {
    struct etcd *client;
    bool asking;     /* endpoint `at` */
    bool held;       /* an operation has ended, and waits for that */
    enum { EXAMINE_NOT, EXAMINE_VERSION, EXAMINE_HEAD } examining;
    int64_t asked_ms;
    char version[24];
    unsigned at;
    int64_t due_ms;  /* when to ask next, between operations */
    struct {
        bool asked;
        bool dated;       /* it has said what time it is */
        int64_t clock_ms; /* that, minus the boot clock */
    } of[ETCD_MAX_ENDPOINTS];
};

/* Notes by how much the clock of endpoint i is ahead, as in etcd_answer. */
void members_note(struct engine *e, unsigned i, int64_t skew_ms);
/* By how much the clocks of most endpoints that were heard are ahead. */
int64_t members_skew(const struct engine *e);
/* If the clock of one is far off, asks the others: it may be that clock which
   is wrong, or this host's. ERR_MORE: not all have answered; else 0. */
int members_hear(struct engine *e);
/* Between operations: asks the next one if it is time. */
void members_tend(struct engine *e);
/* When to call that; INT64_MAX: never. */
int64_t members_due(const struct engine *e);

/* As examine in store/remote.h, and the step after it. */
int members_examine(struct engine *e, unsigned i);
int members_examined(struct engine *e);

#endif
