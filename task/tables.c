/* tables - what the index keeps beside its entries: texts that many tasks
   share, with reference counts, and rings of {hash of an idempotency key,
   number of its record}.

   1. A text keeps its number from the first hold until a sweep frees it.
   2. A text whose count drops to zero goes on the dead list once, and only
      atoms_sweep frees it. The index sweeps when a new batch begins; until then
      an undo may hold the text again.
   3. atoms_hold changes nothing when it fails.
   4. Slots of a ring are in order of n. A bucket has its newest position, and
      each slot the one before; positions below low have been overwritten.
   5. A ring holds more than TASK_KEYS_MAX, but finds only the newest
      TASK_KEYS_MAX. A batch fits into the difference, so undoing one never
      needs overwritten slots. */

#include "task/tables.h"
#include "json.h"
#include "store.h"

#include <stdlib.h>
#include <string.h>

#define RING_MAX (1u << 17)
#define SHORTEST_RECORD 180 /* bytes, with a key */

_Static_assert(RING_MAX - TASK_KEYS_MAX > STORE_MAX_BATCH / SHORTEST_RECORD,
               "a batch must fit beside the keys that count");

/* ---- texts ---- */

struct atom {
    char *p;
    uint32_t len, refs, hash;
    uint32_t chain;     /* next in the bucket, or next unused */
    uint32_t next_dead; /* next on the dead list */
    bool dead;          /* on the dead list */
    struct atom_use use;
};

static uint32_t
hash_of(const struct atoms *s, struct str text)
{
    uint64_t h = str_sip(s->seed, text);

    return (uint32_t)(h ^ h >> 32);
}

static bool
is_atom(const struct atom *a, struct str text)
{
    return a->len == text.len && memcmp(a->p, text.p, text.len) == 0;
}

static uint32_t
find_atom(const struct atoms *s, struct str text, uint32_t hash)
{
    uint32_t id;

    if (s->n_buckets == 0)
        return 0;
    id = s->bucket[hash & (s->n_buckets - 1)];
    while (id && !(s->atom[id].hash == hash && is_atom(&s->atom[id], text)))
        id = s->atom[id].chain;
    return id;
}

static void
link_atom(struct atoms *s, uint32_t id)
{
    uint32_t *head = &s->bucket[s->atom[id].hash & (s->n_buckets - 1)];

    s->atom[id].chain = *head;
    *head = id;
}

/* Doubles atoms and buckets, so that chains stay short. */
static int
grow_atoms(struct atoms *s)
{
    uint32_t cap = s->cap ? s->cap * 2 : 64, i, *bucket;
    struct atom *atom;

    if (s->cap > UINT32_MAX / 2)
        return ERR_NOMEM;
    bucket = calloc(cap, sizeof *bucket);
    atom = realloc(s->atom, cap * sizeof *atom);
    if (atom)
        s->atom = atom;
    if (!bucket || !atom) {
        free(bucket);
        return ERR_NOMEM;
    }
    free(s->bucket);
    s->bucket = bucket;
    s->cap = s->n_buckets = cap;
    if (s->n == 0)
        s->n = 1; /* 0 is no text */
    for (i = 1; i < s->n; i++)
        if (s->atom[i].p)
            link_atom(s, i);
    return 0;
}

int
atoms_hold(struct atoms *s, struct str text, uint32_t like, uint32_t *id)
{
    uint32_t hash;
    char *p;

    *id = 0;
    if (!text.p)
        return 0;
    if (like && is_atom(&s->atom[like], text)) {
        s->atom[like].refs++;
        *id = like;
        return 0;
    }
    hash = hash_of(s, text);
    *id = find_atom(s, text, hash);
    if (*id) {
        s->atom[*id].refs++;
        return 0;
    }
    if (!json_is_valid(text)) /* a text is told from its entry alone */
        return ERR_FORMAT;
    if (!s->free && s->n == s->cap && grow_atoms(s) != 0)
        return ERR_NOMEM;
    p = malloc(text.len + 1);
    if (!p)
        return ERR_NOMEM;
    memcpy(p, text.p, text.len);
    p[text.len] = '\0';
    *id = s->free ? s->free : s->n++;
    if (s->free)
        s->free = s->atom[*id].chain;
    s->atom[*id] = (struct atom){.p = p, .len = (uint32_t)text.len,
                                 .hash = hash, .refs = 1};
    link_atom(s, *id);
    return 0;
}

void
atoms_hold_again(struct atoms *s, uint32_t id)
{
    if (id)
        s->atom[id].refs++;
}

void
atoms_drop(struct atoms *s, uint32_t id)
{
    struct atom *a = id ? &s->atom[id] : NULL;

    if (!a || --a->refs || a->dead)
        return;
    a->dead = true;
    a->next_dead = s->dead;
    s->dead = id;
}

void
atoms_sweep(struct atoms *s)
{
    while (s->dead) {
        uint32_t id = s->dead, *at;
        struct atom *a = &s->atom[id];

        s->dead = a->next_dead;
        a->dead = false;
        if (a->refs)
            continue;
        at = &s->bucket[a->hash & (s->n_buckets - 1)];
        while (*at != id)
            at = &s->atom[*at].chain;
        *at = a->chain;
        free(a->p);
        a->p = NULL;
        a->chain = s->free;
        s->free = id;
    }
}

uint32_t
atoms_find(const struct atoms *s, struct str text)
{
    uint32_t id = find_atom(s, text, hash_of(s, text));

    return id && s->atom[id].refs ? id : 0;
}

struct str
atoms_text(const struct atoms *s, uint32_t id)
{
    if (!id)
        return STR_NONE;
    return (struct str){s->atom[id].p, s->atom[id].len};
}

struct atom_use *
atoms_use(const struct atoms *s, uint32_t id)
{
    return &s->atom[id].use;
}

void
atoms_fini(struct atoms *s)
{
    for (uint32_t i = 1; i < s->n; i++)
        free(s->atom[i].p);
    free(s->atom);
    free(s->bucket);
    *s = (struct atoms){.seed = {s->seed[0], s->seed[1]}};
}

/* ---- keys ---- */

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
