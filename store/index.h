#ifndef STORE_INDEX_H
#define STORE_INDEX_H

/* index - the store's hash table from keys to entries. It grows by one bucket
   per entry (linear hashing), so no insertion waits for a rehash, and entries
   never move. Keys are hashed with a secret, since callers choose them. */

#include "store.h"

struct index {
    struct store_entry ***segments; /* of buckets */
    size_t n_segments, cap_segments;
    size_t n_buckets; /* in use */
    size_t low;       /* buckets at the start of this round of splits */
    uint64_t n;       /* entries */
    uint64_t seed[2];
    struct index_block *block; /* entries are cut from it */
    size_t bytes;              /* heap held */
};

/* Makes an empty index without heap. ERR_IO: no randomness. */
int index_init(struct index *x);
void index_fini(struct index *x);

/* The entry of key, or NULL. */
struct store_entry *index_find(const struct index *x, struct str key);
/* Adds a zeroed entry of size bytes for a key that is absent, and copies the
   key. NULL: out of memory. */
struct store_entry *index_add(struct index *x, struct str key, size_t size);
/* Removes e, which must be the newest entry. */
void index_pop(struct index *x, struct store_entry *e);
/* Notes that the line of each entry is now longer by one byte. */
void index_lengthen(struct index *x);

#endif
