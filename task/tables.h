#ifndef TASK_TABLES_H
#define TASK_TABLES_H

/* tables - what the index keeps beside its entries. Used only in this
   folder. */

#include "base/base.h"

/* ---- texts ----

   Texts shared by many tasks (owners, paths, parents, tags), stored once and
   counted. An index entry holds a number of 4 bytes, and filters compare
   numbers. */

struct atom;

/* What the caller keeps with a text; zero when that is new. */
#define ATOM_TALLIES 5
struct atom_use {
    void *first, *last;
    uint32_t tally[ATOM_TALLIES];
};

/* Initialize to zero; seed may be set before the first use. */
struct atoms {
    struct atom *atom; /* [0] is never used: 0 is "no text" */
    uint32_t n, cap;
    uint32_t *bucket;  /* n_buckets heads of chains, 0: empty */
    uint32_t n_buckets;
    uint32_t free;     /* head of the unused list */
    uint32_t dead;     /* head of the dead list */
    uint64_t seed[2];  /* for the hashes: callers choose the texts */
};

/* Counts one more holder of text, which is JSON. *id is its number, 0 if text.p
   is NULL. Tries the number like first, whose text is probably the same. 0,
   ERR_FORMAT if it is not JSON, or ERR_NOMEM. */
int atoms_hold(struct atoms *s, struct str text, uint32_t like, uint32_t *id);
/* Counts a holder again for an atom dropped since the last sweep. */
void atoms_hold_again(struct atoms *s, uint32_t id);
/* Counts one holder less. The text stays until the next sweep, so that a drop
   can be undone. */
void atoms_drop(struct atoms *s, uint32_t id);
void atoms_sweep(struct atoms *s);
/* The number of a text with holders, or 0. */
uint32_t atoms_find(const struct atoms *s, struct str text);
/* The text of a number; .p NULL for 0. Valid until swept. */
struct str atoms_text(const struct atoms *s, uint32_t id);
/* What the caller keeps with a text, to be changed until that is swept. Moves
   when a text is added. */
struct atom_use *atoms_use(const struct atoms *s, uint32_t id);
/* Frees everything except the seed. */
void atoms_fini(struct atoms *s);

/* ---- keys ----

   Which record was made with an idempotency key: bounded tables of hashes; the
   oldest leave first. The record itself tells whether it has that key. Each
   principal has its own table, so one cannot displace another's keys. */

#define TASK_KEYS_MAX 100000 /* keys remembered per principal */
#define TASK_KEYS_RINGS 1024 /* principals share these by hash */

#define TASK_KEY_AGE_MS (24 * 60 * 60 * 1000) /* life of a key */

struct task_key_slot {
    uint64_t hash, n;
    uint64_t before; /* older position in the same bucket */
};

struct key_ring {
    struct task_key_slot *slot; /* a ring of cap; position i is at i &
                                   (cap-1) */
    uint64_t *bucket;           /* cap newest positions, 0: empty */
    uint64_t low, high;         /* positions in the ring: low <= i < high */
    uint64_t cap;               /* 0, or a power of two */
};

/* Initialize to zero. who is always a hash of the principal. */
struct task_keys {
    struct key_ring *ring[TASK_KEYS_RINGS]; /* heap; NULL: no key yet */
};

/* Adds record n, made with a key of this hash. n must increase. 0 or
   ERR_NOMEM. */
int keys_add(struct task_keys *k, uint64_t who, uint64_t hash, uint64_t n);
/* Removes the newest key, if it is record n's. */
void keys_undo(struct task_keys *k, uint64_t n);
/* Finds the newest record below *n with this hash: true and *n. Begin with *n =
   UINT64_MAX. */
bool keys_find(const struct task_keys *k, uint64_t who, uint64_t hash,
               uint64_t *n);
void keys_fini(struct task_keys *k);

#endif
