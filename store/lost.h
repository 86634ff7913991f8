#ifndef STORE_LOST_H
#define STORE_LOST_H

/* lost - what a damaged log has lost: how many records, and of which keys as
   far as that can be told. A bad line often still shows its key, and the next
   record of a key names by its p the one that is missing.

   A record that is lost is *named* when its key is known for sure, and that
   key has a record that is whole: readers of the key are told. While others
   are lost, any key may be older than it was, or missing. */

#include "store/index.h"
#include "store/record.h"

struct lost_key {
    struct store_entry e; /* e.n: the newest of its numbers that is lost */
    struct lost_key *next;
    bool named;  /* that number is counted in named */
    bool passed; /* a whole record of the key stands behind it */
};

struct lost {
    struct index keys; /* of struct lost_key, and chained: */
    struct lost_key *first;
    uint64_t n;     /* records that are missing before the newest */
    uint64_t pending; /* bad lines of a part in which numbers leave gaps */
    uint64_t named; /* how many of all that are missing are named */
    uint64_t next;  /* the number of the next bad line, if all others are there */
    uint64_t floor; /* a compaction may have left out what is not above it */
    uint64_t last;  /* the highest number ever given, where the mark says it */
};

/* Forgets everything. */
void lost_reset(struct lost *l);

/* All three are called only once damage was found; keys are those of the
   whole records so far, head the number of the last; dense: numbers rise by
   one here. 0 or ERR_NOMEM. */

/* A bad line was read. */
int lost_line(struct lost *l, const struct index *keys, struct str line,
              uint64_t head, bool dense);
/* The whole record r follows. */
int lost_record(struct lost *l, const struct index *keys,
                const struct store_rec *r, uint64_t head, bool dense);
/* The end record of a compacted file follows on so many records. */
void lost_end(struct lost *l, const struct store_rec *end, uint64_t counted);

/* How many records are lost, head being the newest that is there. */
uint64_t lost_count(const struct lost *l, uint64_t head);
/* How many of those are not named. */
uint64_t lost_unnamed(const struct lost *l, uint64_t head);
/* What is known of a key, or NULL. */
const struct lost_key *lost_find(const struct lost *l, struct str key);

#endif
