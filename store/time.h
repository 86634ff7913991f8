#ifndef STORE_TIME_H
#define STORE_TIME_H

/* time - the log's own clock, and the mark that carries it. */

#include "store/lock.h"
#include "store.h"

/* The log's time is the boot clock plus off, or the wall clock if that is
   ahead. */
struct store_time {
    int64_t off;
    int64_t near;    /* as off, for leases and ages in a replica */
    bool same_boot;  /* off was set during this boot */
    bool takes_back; /* the next compaction does so */
};

/* The time for a new record: not before that of any other, but for those of
   hosts whose clocks are ahead. */
int64_t store_stamp_ms(const struct store *s);

/* Advances the log's time to a record's time t. */
void store_note_time(struct store *s, struct str t);
/* The log's time continues from its mark m, and a replica's head is the one in
   it. */
void store_take_mark(struct store *s, const struct mark *m);
/* Under the lock: writes the mark for the log with this inode. 0, ERR_IO. */
int store_put_mark(struct store *s, uint64_t g, uint64_t n, int64_t end,
                   ino_t ino);

#endif
