#ifndef TASK_INTERN_H
#define TASK_INTERN_H

/* intern - texts that many tasks share (owners, paths, parents, tags),
   kept once and counted, so that an index entry holds a number of 4 bytes
   and a filter compares numbers. */

#include "base/base.h"

struct atom;

/* Zeroed = empty; seed may be set before the first use. */
struct atoms {
    struct atom *atom; /* [0] is never used: 0 is "no text" */
    uint32_t n, cap;
    uint32_t *bucket;  /* n_buckets heads of chains, 0: empty */
    uint32_t n_buckets;
    uint32_t free;     /* head of the unused ones */
    uint32_t dead;     /* head of those that lost their last holder */
    uint64_t seed[2];  /* of the hashes: callers choose the texts */
};

/* Holds text once more: its number in *id (0 for a text with .p NULL). like
   is a number whose text is probably the same: it is tried first. */
int atoms_hold(struct atoms *s, struct str text, uint32_t like, uint32_t *id);
/* Holds an atom that had been dropped since the last sweep. */
void atoms_hold_again(struct atoms *s, uint32_t id);
/* Holds it once less. The text stays until the next sweep, so that a drop
   can be taken back. */
void atoms_drop(struct atoms *s, uint32_t id);
void atoms_sweep(struct atoms *s);
/* The number of a text that is held, or 0. */
uint32_t atoms_find(const struct atoms *s, struct str text);
/* The text of a number; .p is NULL for 0. Valid until it is swept. */
struct str atoms_text(const struct atoms *s, uint32_t id);
/* Frees all; the seed stays. */
void atoms_fini(struct atoms *s);

#endif
