#ifndef TASK_KEYS_H
#define TASK_KEYS_H

/* keys - which record was made with an idempotency key: bounded tables of
   hashes; the oldest leave first. The record itself tells whether it has that
   key. Each principal has its own table, so one cannot displace another's
   keys. */

#include "base/base.h"

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
