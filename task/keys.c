/* keys - rings of {hash of the key, number of its record}.

   1. Slots are in order of n. A bucket has its newest position, and each slot
      the one before; positions below low have been overwritten.
   2. The ring holds more than TASK_KEYS_MAX, but finds only the newest
      TASK_KEYS_MAX. A batch fits into the difference, so undoing one never
      needs overwritten slots. */

#include "task/keys.h"

#include <stdlib.h>
#include <string.h>

#include "store.h"

#define RING_MAX (1u << 17)
#define SHORTEST_RECORD 180 /* bytes, with a key */

_Static_assert(RING_MAX - TASK_KEYS_MAX > STORE_MAX_BATCH / SHORTEST_RECORD,
               "a batch must fit beside the keys that count");

static void
link_key(struct key_ring *k, uint64_t pos)
{
    struct task_key_slot *s = &k->slot[pos & (k->cap - 1)];
    uint64_t *head = &k->bucket[s->hash & (k->cap - 1)];

    s->before = *head;
    *head = pos;
}

static int
grow_ring(struct key_ring *k)
{
    struct key_ring to = {.low = k->low, .high = k->high};

    to.cap = k->cap ? k->cap * 2 : 256;
    to.slot = calloc((size_t)to.cap, sizeof *to.slot);
    to.bucket = calloc((size_t)to.cap, sizeof *to.bucket);
    if (!to.slot || !to.bucket) {
        free(to.slot);
        free(to.bucket);
        return ERR_NOMEM;
    }
    for (uint64_t i = k->low; i < k->high; i++) {
        to.slot[i & (to.cap - 1)] = k->slot[i & (k->cap - 1)];
        link_key(&to, i);
    }
    free(k->slot);
    free(k->bucket);
    *k = to;
    return 0;
}

int
keys_add(struct task_keys *k, uint64_t who, uint64_t hash, uint64_t n)
{
    struct key_ring **at = &k->ring[who % TASK_KEYS_RINGS], *r = *at;

    if (r == NULL) {
        r = *at = calloc(1, sizeof *r);
        if (r == NULL)
            return ERR_NOMEM;
        r->low = r->high = 1; /* 0 ends a chain */
    }
    if (r->high - r->low == r->cap && r->cap < RING_MAX && grow_ring(r) != 0)
        return ERR_NOMEM;
    if (r->high - r->low == r->cap)
        r->low++;
    r->slot[r->high & (r->cap - 1)] = (struct task_key_slot){hash, n, 0};
    link_key(r, r->high++);
    return 0;
}

void
keys_undo(struct task_keys *k, uint64_t n)
{
    for (size_t i = 0; i < TASK_KEYS_RINGS; i++) {
        struct key_ring *r = k->ring[i];

        if (r == NULL || r->high == r->low)
            continue;
        struct task_key_slot *s = &r->slot[(r->high - 1) & (r->cap - 1)];
        if (s->n != n)
            continue;
        r->bucket[s->hash & (r->cap - 1)] = s->before;
        r->high--;
        return;
    }
}

bool
keys_find(const struct task_keys *k, uint64_t who, uint64_t hash, uint64_t *n)
{
    const struct key_ring *r = k->ring[who % TASK_KEYS_RINGS];
    uint64_t pos, low;

    if (r == NULL || r->cap == 0)
        return false;
    low = r->low;
    if (r->high - low > TASK_KEYS_MAX)
        low = r->high - TASK_KEYS_MAX;
    pos = r->bucket[hash & (r->cap - 1)];
    while (pos && pos >= low) {
        const struct task_key_slot *s = &r->slot[pos & (r->cap - 1)];

        if (s->hash == hash && s->n < *n) {
            *n = s->n;
            return true;
        }
        pos = s->before;
    }
    return false;
}

void
keys_fini(struct task_keys *k)
{
    for (size_t i = 0; i < TASK_KEYS_RINGS; i++) {
        if (k->ring[i] == NULL)
            continue;
        free(k->ring[i]->slot);
        free(k->ring[i]->bucket);
        free(k->ring[i]);
        k->ring[i] = NULL;
    }
}
