#ifndef STORE_LOST_H
#define STORE_LOST_H

/* lost - what a damaged log has lost: how many records, and of which keys, as
   far as possible. A bad line often still shows its key, and the p of a key's
   next record names the missing one.

   A lost record is *named* when its key is certain and has a whole record;
   readers of that key are told. While unnamed records are lost, any key may be
   outdated or missing. */

#include "store/index.h"
#include "store/record.h"

struct lost_key {
    struct store_entry e; /* e.n: its newest lost number */
    struct lost_key *next;
    bool named;  /* that record counts in `named` below */
    bool passed; /* a later whole record of the key exists */
};

struct lost {
    struct index keys; /* of struct lost_key, which also form a list: */
    struct lost_key *first;
    uint64_t n;     /* records missing before the newest */
    uint64_t pending; /* bad lines where numbers may have gaps */
    uint64_t named; /* missing records that are named */
    uint64_t next;  /* number of the next bad line, if nothing before it is
                       missing */
    uint64_t floor; /* compaction may have dropped numbers up to this */
    uint64_t last;  /* highest number ever given, if the mark has it */
};

/* Forgets everything. */
void lost_reset(struct lost *l);

/* Call these three only once damage was found. keys indexes the whole records
   so far; head is the last one's number; dense: numbers rise by one here. 0 or
   ERR_NOMEM. */

/* A bad line was read. */
int lost_line(struct lost *l, const struct index *keys, struct str line,
              uint64_t head, bool dense);
/* The whole record r was read. */
int lost_record(struct lost *l, const struct index *keys,
                const struct store_rec *r, uint64_t head, bool dense);
/* The end record of a compacted file was read, after `counted` records. */
void lost_end(struct lost *l, const struct store_rec *end, uint64_t counted);

/* How many records are lost, if head is the newest present. */
uint64_t lost_count(const struct lost *l, uint64_t head);
/* How many of those are unnamed. */
uint64_t lost_unnamed(const struct lost *l, uint64_t head);
/* What is lost of a key, or NULL. */
const struct lost_key *lost_find(const struct lost *l, struct str key);

#endif
