/* task_keys - a ring of {hash of the key, number of its record}.

   1. Slots are in the order of n. A bucket leads to its newest position, a
      slot to the one before; positions below low have been overwritten.
   2. The ring has room for more than TASK_KEYS_MAX, and only the newest
      TASK_KEYS_MAX are found. A batch fits into the difference: to take a
      whole batch back never needs what was overwritten. */

#include "task_keys.h"

#include <stdlib.h>
#include <string.h>

#include "store.h"

#define RING_MAX (1u << 17)
#define SHORTEST_RECORD 180 /* bytes, of one with a key */

struct task_key_slot {
    uint64_t hash, n;
    uint64_t before; /* older position in the same bucket */
};

_Static_assert(RING_MAX - TASK_KEYS_MAX > STORE_MAX_BATCH / SHORTEST_RECORD,
               "a batch must fit beside the keys that count");

static void
link_in(struct task_keys *k, uint64_t pos)
{
    struct task_key_slot *s = &k->slot[pos & (k->cap - 1)];
    uint64_t *head = &k->bucket[s->hash & (k->cap - 1)];

    s->before = *head;
    *head = pos;
}

static int
grow(struct task_keys *k)
{
    struct task_keys to = {.low = k->low, .high = k->high};
    uint64_t i;

    to.cap = k->cap ? k->cap * 2 : 256;
    to.slot = calloc((size_t)to.cap, sizeof *to.slot);
    to.bucket = calloc((size_t)to.cap, sizeof *to.bucket);
    if (!to.slot || !to.bucket) {
        free(to.slot);
        free(to.bucket);
        return ERR_NOMEM;
    }
    for (i = k->low; i < k->high; i++) {
        to.slot[i & (to.cap - 1)] = k->slot[i & (k->cap - 1)];
        link_in(&to, i);
    }
    free(k->slot);
    free(k->bucket);
    *k = to;
    return 0;
}

int
keys_reserve(struct task_keys *k)
{
    if (k->high == 0)
        k->low = k->high = 1; /* position 0 means none */
    if (k->high - k->low < k->cap || k->cap == RING_MAX)
        return 0;
    return grow(k);
}

void
keys_add(struct task_keys *k, uint64_t hash, uint64_t n)
{
    if (k->high - k->low == k->cap)
        k->low++;
    k->slot[k->high & (k->cap - 1)] = (struct task_key_slot){hash, n, 0};
    link_in(k, k->high++);
}

void
keys_undo(struct task_keys *k, uint64_t n)
{
    struct task_key_slot *s;

    if (k->high == k->low)
        return;
    s = &k->slot[(k->high - 1) & (k->cap - 1)];
    if (s->n != n)
        return;
    k->bucket[s->hash & (k->cap - 1)] = s->before;
    k->high--;
}

bool
keys_find(const struct task_keys *k, uint64_t hash, uint64_t *n)
{
    uint64_t pos, low = k->low;

    if (k->cap == 0)
        return false;
    if (k->high - low > TASK_KEYS_MAX)
        low = k->high - TASK_KEYS_MAX;
    pos = k->bucket[hash & (k->cap - 1)];
    while (pos && pos >= low) {
        const struct task_key_slot *s = &k->slot[pos & (k->cap - 1)];

        if (s->hash == hash && s->n < *n) {
            *n = s->n;
            return true;
        }
        pos = s->before;
    }
    return false;
}

size_t
keys_bytes(const struct task_keys *k)
{
    return (size_t)k->cap * (sizeof *k->slot + sizeof *k->bucket);
}

void
keys_fini(struct task_keys *k)
{
    free(k->slot);
    free(k->bucket);
    memset(k, 0, sizeof *k);
}
