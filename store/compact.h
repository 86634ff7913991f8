#ifndef STORE_COMPACT_H
#define STORE_COMPACT_H

/* compact - replaces the log by one without superseded records; the closed
   generations that this leaves, and the room on the disk: see compact.c. */

#include "store/record.h"

struct store;

struct room {
    int64_t free;      /* bytes when it was last looked at, */
    int64_t end;       /* and s->log.end then */
    int64_t missing;   /* bytes that the last batch lacked */
    bool full;         /* it was refused, or a write failed for want of room, */
    int64_t refused;   /* and so much was free then, */
    bool takes_last;   /* which was enough for what store_stage_last takes */
    bool ordinary;     /* the batch has other records than of
                          store_stage_last */
    bool told;         /* that old generations made way */
    int64_t tried_ms;  /* end of the last compaction, 0: there was none, */
    int64_t needed;    /* and another needs more room than this, INT64_MAX: more
                          will not help, -1: it succeeded */
};

/* Whether the batch has to wait for room. What ends or hands over work only
   waits for a compaction that its caller can make. */
bool store_lacks_room(struct store *s);
/* A write of len bytes found no room: gives up a piece of the reserve, if they
   are the last of tasks, or the oldest closed generations. Returns whether it
   may be tried again. */
bool room_make_way(struct store *s, int64_t len, bool last);
/* Fills the reserve, after a batch for which there was room. */
void room_fill(const struct store *s);
/* A write failed for want of so many bytes, 0: unknown. */
void room_note_full(struct store *s, int64_t missing);

/* Opens closed generation g for reading; -1 with errno. */
int store_open_closed(const struct store *s, uint64_t g);
/* Deletes the oldest closed generations until at most max bytes remain. */
void store_prune(struct store *s, int64_t max);
/* Under the lock, if the log has more than one name: removes the second name
   left by a compaction that ended between link and rename. */
void store_unlink_old(struct store *s);

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
/* Notes how an attempt ended, before store_compact_stop. */
void room_note_attempt(struct store *s, int rc);

#endif
