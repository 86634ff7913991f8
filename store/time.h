#ifndef STORE_TIME_H
#define STORE_TIME_H

/* time - the log's own time, and the mark that carries it. */

#include "store/lock.h"
#include "store.h"

/* Time of the log is that of the boot clock and off, where the wall clock is
   not ahead of it. */
struct store_time {
    int64_t off;
    int64_t jump_ms; /* how far the clock was set ahead ... */
    int64_t jump_at; /* ... and the time of the log before that */
    bool same_boot;  /* off is from no other boot than this */
};

/* A record has the time t. */
void store_note_time(struct store *s, struct str t);
/* Whether m may be the mark of the log with this id and inode; if so, time
   goes on from it. */
bool store_takes_mark(struct store *s, const struct mark *m, const char *id,
                      ino_t ino);
/* Under the lock: writes the mark of the log with this inode. 0, ERR_IO. */
int store_put_mark(struct store *s, uint64_t g, uint64_t n, int64_t end,
                   ino_t ino);

#endif
