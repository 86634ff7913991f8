#ifndef STORE_COMPACT_H
#define STORE_COMPACT_H

/* compact - a log without what was superseded, in place of the log. */

#include "store/state.h"

#define STORE_CLOSED "\"closed\":%llu" /* body of the record that says so */

struct compaction {
    uint64_t g; /* that is being made */
    char *path; /* of the new file, until it is renamed */
    int fd;
    int old_fd;      /* of the log, own, since a reload closes the store's */
    int64_t out_len, out_synced; /* bytes written; of those, on disk */
    struct buf out;  /* bytes not yet written */
    uint64_t count;
    uint64_t old_head; /* of the part that is thinned out */
    bool ended;      /* the end record is there: what follows is all kept */
    int64_t until_ms; /* how long to try for the write lock, 0: not yet */
    struct record_reader rd;
};

/* Begins one: 0, ERR_BUSY (another process is at it), or an error. */
int store_compact_begin(struct store *s);
/* A slice of it, without the write lock. ERR_MORE: there are more; 0: what is
   left is to be done under that lock; else it is to be given up. */
int store_compact_slice(struct store *s);
/* Under the lock: copies what came last. */
int store_compact_rest(struct store *s);
/* Under the lock: ends the new file with the record that closes the old one,
   as that has it, and syncs it. */
int store_compact_close(struct store *s, struct str line);
/* Under the lock: puts the new file in place of the log. */
int store_compact_switch(struct store *s);
/* The lock file is a foreign one: so is, maybe, the file in the making. */
void store_compact_lost(struct store *s);
/* Under the lock: goes over to the next generation where a compaction that
   ended has closed this one. 0, or an error. */
int store_compact_finish(struct store *s);

#endif
