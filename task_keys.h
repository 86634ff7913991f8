#ifndef TASK_KEYS_H
#define TASK_KEYS_H

/* task_keys - which record an idempotency key had made: a bounded table of
   hashes, oldest out first. The record itself says whether it is that key. */

#include "base.h"

#define TASK_KEYS_MAX 100000 /* keys that are remembered */

/* Zeroed = empty. */
struct task_keys {
    struct task_key_slot *slot; /* a ring of cap; position i at i & (cap-1) */
    uint64_t *bucket;           /* cap newest positions, 0: none */
    uint64_t low, high;         /* positions in the ring: low <= i < high */
    uint64_t cap;               /* 0, or a power of two */
};

/* Makes room, so that the next keys_add cannot fail. */
int keys_reserve(struct task_keys *k);
/* Record n was made with a key of this hash; n only ever grows. */
void keys_add(struct task_keys *k, uint64_t hash, uint64_t n);
/* Takes the newest back, if it is of record n. */
void keys_undo(struct task_keys *k, uint64_t n);
/* The newest record below *n with this hash in *n, or false. Begin with
   UINT64_MAX. */
bool keys_find(const struct task_keys *k, uint64_t hash, uint64_t *n);
size_t keys_bytes(const struct task_keys *k);
void keys_fini(struct task_keys *k);

#endif
