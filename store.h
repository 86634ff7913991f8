#ifndef STORE_H
#define STORE_H

/* store - the log: records in a text file, one index over their keys, one
   function that commits a batch and one that follows what others wrote. store.c
   describes the protocol, store/record.c the format. store/verify.h has check,
   repair and backup. */

#include "store/care.h"
#include "store/hosts.h"
#include "store/kind.h"

#define STORE_LOCK_WAIT_MS 5000 /* then callers get ERR_BUSY */
#define STORE_COMPACT_AT (64LL * 1024 * 1024)
#define STORE_CLOSED_MAX (1024LL * 1024 * 1024) /* default of closed_max */

struct store;

struct store_options {
    const char *path;       /* of the log; need not exist */
    bool readonly;          /* never writes or locks, but to follow remote */
    int64_t compact_at;     /* compact beyond; 0: STORE_COMPACT_AT */
    int64_t closed_max;     /* bytes of closed generations to keep */
    const struct remote *remote; /* see store/hosts.h; NULL: there is none */
};

/* Opens and reads the log at o->path, which must stay valid. A missing file is
   an empty store. Creates no file except the lock file of a log whose tail
   needs recovery. A damaged log opens too, readable as far as it is whole.
   kinds are copied. Errors: ERR_FORMAT (file untouched), ERR_DAMAGED (the
   first line is, and there is no remote), ERR_IO, ERR_NOMEM; *out is then NULL
   and *why names the file and the reason. */
int store_open(struct store **out, const struct store_options *o,
               const struct store_kind *kinds, size_t n_kinds,
               char why[256]);
void store_close(struct store *s);

/* Updates memory to the mark, and so to everything any process has committed.
   Takes the lock only if bytes after the mark need recovery. 0, ERR_IO,
   ERR_NOMEM, or ERR_DAMAGED (reads may continue). */
int store_follow(struct store *s);

/* Whether memory matches the log. After a failed follow or lock it may be half
   read; a missing key then means nothing. */
bool store_loaded(struct store *s);
/* Takes the write lock and follows. 0; ERR_MORE: another process holds it, call
   store_lock_wait; ERR_READONLY, ERR_IO, ERR_DAMAGED, ERR_FULL: this process
   cannot write now, store_state says why; with a remote also ERR_UNREACHABLE,
   ERR_SKEW. */
int store_lock(struct store *s);
/* store_lock, but queues for the lock for up to 10 ms. */
int store_lock_wait(struct store *s);
/* store_lock, for up to STORE_LOCK_WAIT_MS, then ERR_BUSY. For commands. */
int store_lock_patiently(struct store *s);
/* Makes the log's directory if it is missing, for files beside the log. 0,
   ERR_READONLY, ERR_FULL, ERR_IO, ERR_NOMEM. */
int store_make_dir(struct store *s);
/* Releases the lock. Nothing may be staged. */
void store_unlock(struct store *s);
bool store_locked(const struct store *s);

/* Stages a record; needs the lock. body is a run of JSON members
   ("op":...,"v":{...}). Memory has it at once, the disk after store_commit. 0,
   ERR_TOO_LARGE (record or batch), ERR_NOMEM, or store_refuse's err. */
int store_stage(struct store *s, struct str key, struct str body);
/* The same for what ends or hands over work: it may take the last room. */
int store_stage_last(struct store *s, struct str key, struct str body);
/* Undoes what was staged after the first n records, newest first. */
void store_unstage(struct store *s, size_t n);
/* The number n of the next staged record, and how many are staged. */
uint64_t store_next_n(const struct store *s);
size_t store_staged_n(const struct store *s);
/* Whether the batch should be committed before more is staged. If not, there is
   room for the largest record and those it brings along. */
bool store_batch_is_full(const struct store *s);
/* Writes and syncs what is staged and moves the mark: one write, one fdatasync.
   On an error everything staged is undone in memory. After ERR_FULL and ERR_IO
   nothing of it is on disk, unless *unknown is set; store_make_room may make
   room. With a remote it does more: see store/hosts.h. */
int store_commit(struct store *s, bool *unknown);
/* Makes store_stage return err and stage nothing, until called with 0. */
void store_refuse(struct store *s, int err);

/* The key's entry, or NULL. Valid until the next follow, lock or commit (undo)
   of this store. */
struct store_entry *store_find(struct store *s, struct str key);
/* Reads an entry's record, staged or not, into a and checks its CRC. 0, ERR_IO,
   ERR_DAMAGED, ERR_NOMEM. */
int store_read(struct store *s, const struct store_entry *e, struct arena *a,
               struct store_rec *out);
/* Reads record n from this generation or a closed one. ERR_NOT_FOUND: it was
   dropped with an old generation, or never existed. */
int store_read_n(struct store *s, uint64_t n, struct arena *a,
                 struct store_rec *out);
/* Calls fn in order with each record of this generation from number `from` on,
   until fn returns non-zero. Returns that value, 0 at the end, or an error. A
   record is valid only during the call. */
int store_scan(struct store *s, uint64_t from,
               int (*fn)(void *ctx, const struct store_rec *r), void *ctx);

#endif
