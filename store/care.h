#ifndef STORE_CARE_H
#define STORE_CARE_H

/* care - the state of the log, its processes, and compaction. */

#include "base/base.h"

struct store;

struct store_state {
    const char *path;    /* real path of the log */
    char id[33];         /* of the store, "" when there is no log yet */
    uint64_t g;          /* generation, 0: no log yet */
    uint64_t head;       /* newest n */
    int64_t len;         /* committed bytes */
    int64_t superseded;  /* of those, bytes of records that are not newest, or
                            of a transient kind */
    uint64_t keys;
    size_t index_bytes;  /* heap held by index and entries */
    int err;             /* 0: writable; else why writes are refused */
    char why[256];       /* says it, with file and offset; "" */
    bool torn;           /* a torn tail was cut when this process opened */
    bool weak_locks;     /* as lock_is_by_process says */
};
void store_state(const struct store *s, struct store_state *out);

/* Why what a damaged log still says of a key, or of any (key.p NULL), may not
   be all: a sentence, valid until the next call; NULL: it is all there. */
const char *store_damage(struct store *s, struct str key);
/* Whether a record could be committed: writes behind the end, syncs, and cuts
   it off again. Under the lock, with nothing staged. 0, or what store_commit
   would return; store_state then says why. */
int store_probe(struct store *s);

/* A number that names this process to others on this log while it lives, or 0
   where the lock file cannot be used. It changes where the lock file was
   replaced by one in which that number is taken. */
uint64_t store_instance(struct store *s);
/* Whether a process of that number lives: this one, or another. */
bool store_alive(const struct store *s, uint64_t instance);

/* Whether a new generation is in use while memory still leads to the old one:
   then there are slices of store_move to do, between turns. Nothing waits for
   them. */
bool store_moving(const struct store *s);
/* One slice, of about 1 MiB: ERR_MORE: there are more; 0: done; else as
   store_follow. Nothing may be staged. */
int store_move(struct store *s);

/* Whether superseded bytes pass compact_at and half of the log; or a quarter of
   it, where the disk has just the room that a compaction needs. Keeps the
   reserve. */
bool store_wants_compact(struct store *s);
/* One slice of a compaction, of about 1 MiB, or its start. ERR_MORE: call
   again, now or later; 0: done, the new generation is in use; else it has
   been given up and removed (ERR_BUSY: another process compacts, or the
   write lock was not to be had). */
int store_compact(struct store *s);
/* Gives up a compaction that has begun. */
void store_compact_stop(struct store *s);

#endif
