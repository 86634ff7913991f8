#ifndef TASK_KEYS_H
#define TASK_KEYS_H

/* keys - which record an idempotency key had made: bounded tables of
   hashes, oldest out first. The record itself says whether it is that key.
   Each principal has a table of its own, so that nobody's writes make the
   server forget another's keys. */

#include "base/base.h"

#define TASK_KEYS_MAX 100000 /* keys of one principal that are remembered */
#define TASK_KEYS_RINGS 1024 /* principals are spread over these by hash */

#define TASK_KEY_AGE_MS (24 * 60 * 60 * 1000) /* life of a key */

struct task_key_slot {
    uint64_t hash, n;
    uint64_t before; /* older position in the same bucket */
};

struct key_ring {
    struct task_key_slot *slot; /* a ring of cap; position i at i & (cap-1) */
    uint64_t *bucket;           /* cap newest positions, 0: empty */
    uint64_t low, high;         /* positions in the ring: low <= i < high */
    uint64_t cap;               /* 0, or a power of two */
};

/* Zeroed = empty. who is a hash of the principal, throughout. */
struct task_keys {
    struct key_ring *ring[TASK_KEYS_RINGS]; /* heap; NULL: no key yet */
};

/* Record n was made with a key of this hash; n only ever grows. ERR_NOMEM. */
int keys_add(struct task_keys *k, uint64_t who, uint64_t hash, uint64_t n);
/* Takes the newest back, if it is of record n. */
void keys_undo(struct task_keys *k, uint64_t n);
/* The newest record below *n with this hash in *n, or false. Begin with
   UINT64_MAX. */
bool keys_find(const struct task_keys *k, uint64_t who, uint64_t hash,
               uint64_t *n);
void keys_fini(struct task_keys *k);

#endif
