/* index - the store's hash table from keys to entries.

   Buckets are in segments of a fixed size, reached through a small directory,
   so growth copies only the directory. With each entry one bucket is split in
   two, in turn; a round of splits doubles the table.

   Entries and their keys are cut from the newest block. They are freed only
   with the whole index, except the newest entry, which a failed commit removes.

   Invariants:
   1. An entry is in bucket hash mod 2*low or, if that bucket does not exist
      yet, in hash mod low.
   2. low <= n_buckets < 2*low, and low is a power of two, once there is a
      bucket. */

#include "store/index.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

#define SEGMENT 512              /* buckets */
#define BLOCK_MIN (4 * 1024)     /* bytes of the first block */
#define BLOCK_MAX (64 * 1024)
#define ALIGN 8

struct index_block {
    struct index_block *next;
    size_t used, cap;
    _Alignas(16) char mem[];
};

static uint32_t
hash_key(const struct index *x, struct str key)
{
    uint64_t h = str_sip(x->seed, key);
    return (uint32_t)(h ^ h >> 32);
}

int
index_init(struct index *x)
{
    memset(x, 0, sizeof *x);
    return random_bytes(x->seed, sizeof x->seed);
}

void
index_fini(struct index *x)
{
    for (size_t i = 0; i < x->n_segments; i++)
        free(x->segments[i]);
    free(x->segments);
    while (x->block != NULL) {
        struct index_block *next = x->block->next;
        free(x->block);
        x->block = next;
    }
    *x = (struct index){.seed = {x->seed[0], x->seed[1]}};
}

static struct store_entry **
bucket_at(const struct index *x, size_t i)
{
    return &x->segments[i / SEGMENT][i % SEGMENT];
}

static struct store_entry **
bucket_of(const struct index *x, uint32_t hash)
{
    size_t i = hash & (2 * x->low - 1);
    return bucket_at(x, i < x->n_buckets ? i : i - x->low);
}

struct store_entry *
index_find(const struct index *x, struct str key)
{
    if (x->n_buckets == 0)
        return NULL;
    uint32_t hash = hash_key(x, key);
    struct store_entry *e = *bucket_of(x, hash);
    for (; e != NULL; e = e->chain)
        if (e->hash == hash &&
            str_eq((struct str){e->key, e->key_len}, key))
            return e;
    return NULL;
}

/* Adds a bucket and moves the entries that belong there by invariant 1. */
static bool
add_bucket(struct index *x)
{
    if (x->n_buckets == x->n_segments * SEGMENT) {
        if (x->n_segments == x->cap_segments) {
            size_t cap = x->cap_segments ? 2 * x->cap_segments : 8;
            void *p = realloc(x->segments, cap * sizeof *x->segments);
            if (p == NULL)
                return false;
            x->bytes += (cap - x->cap_segments) * sizeof *x->segments;
            x->segments = p;
            x->cap_segments = cap;
        }
        struct store_entry **seg = calloc(SEGMENT, sizeof *seg);
        if (seg == NULL)
            return false;
        x->segments[x->n_segments++] = seg;
        x->bytes += SEGMENT * sizeof *seg;
    }
    if (x->low == 0) {
        x->low = x->n_buckets = SEGMENT;
        return true;
    }
    size_t to = x->n_buckets++, from = to - x->low;
    struct store_entry **link = bucket_at(x, from);
    while (*link != NULL) {
        struct store_entry *e = *link;
        if ((e->hash & (2 * x->low - 1)) == to) {
            *link = e->chain;
            e->chain = *bucket_at(x, to);
            *bucket_at(x, to) = e;
        } else {
            link = &e->chain;
        }
    }
    if (x->n_buckets == 2 * x->low)
        x->low = x->n_buckets;
    return true;
}

struct store_entry *
index_add(struct index *x, struct str key, size_t size)
{
    ASSERT(key.len <= STORE_MAX_KEY && size >= sizeof(struct store_entry));
    if (x->n >= x->n_buckets && !add_bucket(x))
        return NULL;
    size_t len = (size + key.len + ALIGN - 1) & ~(size_t)(ALIGN - 1);
    struct index_block *b = x->block;
    if (b == NULL || b->cap - b->used < len) {
        size_t cap = b == NULL ? BLOCK_MIN : 2 * b->cap;
        if (cap > BLOCK_MAX)
            cap = BLOCK_MAX;
        struct index_block *fresh = malloc(sizeof *fresh + cap);
        if (fresh == NULL)
            return NULL;
        *fresh = (struct index_block){.next = b, .cap = cap};
        x->block = b = fresh;
        x->bytes += sizeof *fresh + cap;
    }
    struct store_entry *e = (void *)(b->mem + b->used);
    b->used += len;
    memset(e, 0, size);
    e->key = memcpy((char *)e + size, key.p, key.len);
    e->key_len = (uint8_t)key.len;
    e->hash = hash_key(x, key);
    struct store_entry **link = bucket_of(x, e->hash);
    e->chain = *link;
    *link = e;
    x->n++;
    return e;
}

void
index_pop(struct index *x, struct store_entry *e)
{
    struct store_entry **link = bucket_of(x, e->hash);
    while (*link != e)
        link = &(*link)->chain;
    *link = e->chain;
    x->n--;
    /* The block stays even if it is now empty. */
    size_t at = (size_t)((uintptr_t)e - (uintptr_t)x->block->mem);
    if (at < x->block->used) /* else it is in an older block */
        x->block->used = at;
}

void
index_lengthen(struct index *x)
{
    for (size_t i = 0; i < x->n_buckets; i++)
        for (struct store_entry *e = *bucket_at(x, i); e; e = e->chain)
            e->len++;
}
