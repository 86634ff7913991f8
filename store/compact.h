#ifndef STORE_COMPACT_H
#define STORE_COMPACT_H

/* compact - replaces the log by one without superseded records. */

#include "store/state.h"

struct compaction {
    uint64_t g; /* generation being made */
    char *path; /* of the new file, until it is renamed */
    int fd;
    int old_fd;      /* own descriptor of the log: a reload closes the
                        store's */
    int64_t out_len, out_synced; /* bytes written, and how many of them are on
                                    disk */
    struct buf out;  /* not yet written */
    uint64_t count;
    uint64_t old_head; /* highest n in the part that is thinned out */
    bool ended;      /* the end record is written; later records are all kept */
    int64_t until_ms; /* deadline for the write lock, 0: not set */
    int64_t latest_ms; /* later times become this one; 0: they stay */
    struct record_reader rd;
};

/* Begins a compaction. 0, ERR_BUSY (another process is compacting), or an
   error. */
int store_compact_begin(struct store *s);
/* Does a slice without the write lock. ERR_PENDING: more remain; 0: the rest
   needs that lock; else abandon it. */
int store_compact_slice(struct store *s);
/* Under the lock: copies the last records, and renames the new file over the
   log. */
int store_compact_switch(struct store *s);
/* The lock file was replaced, so the new file may be another process's too:
   drops the compaction without touching it. */
void store_compact_lost(struct store *s);

#endif
