#ifndef STORE_H
#define STORE_H

/* store - the log: records in a text file, one index over their keys, one
   function that commits a batch and one that follows what others wrote.
   The protocol is described in store.c, the format in store/record.c; and
   what else can be done with a log in store/verify.h. */

#include "store/care.h"
#include "store/kind.h"

#define STORE_LOCK_WAIT_MS 5000 /* then ERR_BUSY is what a caller sees */
#define STORE_COMPACT_AT (64LL * 1024 * 1024)
#define STORE_CLOSED_MAX (1024LL * 1024 * 1024) /* where nothing is asked for */

struct store;

struct store_options {
    const char *path;       /* of the log; need not exist */
    bool readonly;          /* never write, never lock */
    int64_t compact_at;     /* superseded bytes, 0: STORE_COMPACT_AT */
    int64_t closed_max;     /* bytes of closed generations to keep */
};

/* Opens the log at o->path, which must stay, and reads it. A missing file is
   an empty store. Makes no file, except the lock file of a log whose tail has
   to be recovered. Errors: ERR_FORMAT (untouched), ERR_IO, ERR_NOMEM; then
   *why names the file and the reason, and *out is NULL. A damaged log
   opens, readable as far as it is whole. kinds must outlive the store. */
int store_open(struct store **out, const struct store_options *o,
               const struct store_kind *kinds, size_t n_kinds,
               char why[256]);
void store_close(struct store *s);

/* Brings memory up to the mark: what any process has committed is seen from
   here on. Takes the lock only where bytes behind the mark have to be
   recovered. 0, ERR_IO, ERR_NOMEM, ERR_DAMAGED (reads may go on). */
int store_follow(struct store *s);

/* Whether memory is that of the log. It is not after an error of follow or
   lock that left it half read: no key that is missing says anything then. */
bool store_loaded(const struct store *s);

/* Takes the write lock and follows. 0; ERR_MORE: another process holds it,
   call store_lock_wait; ERR_READONLY, ERR_IO, ERR_DAMAGED, ERR_FULL: this
   process cannot write now, store_state says why. */
int store_lock(struct store *s);
/* As store_lock, but sleeps for it up to 10 ms, in line with the others. */
int store_lock_wait(struct store *s);
/* store_lock and waits up to STORE_LOCK_WAIT_MS, then ERR_BUSY; for the
   command line, which serves no other peer. */
int store_lock_patiently(struct store *s);
/* Makes the directory of the log where it is missing, for files beside it.
   0, ERR_READONLY, ERR_FULL, ERR_IO, ERR_NOMEM. */
int store_make_place(struct store *s);
/* Nothing may be staged. */
void store_unlock(struct store *s);
bool store_locked(const struct store *s);

/* Stages a record; under the lock only. body is a run of JSON members
   ("op":...,"v":{...}). Applied to memory at once, on disk by store_commit.
   0, ERR_TOO_LARGE, ERR_NOMEM, or what store_refuse said. */
int store_stage(struct store *s, struct str key, struct str body);
/* The n that the next staged record will have. */
uint64_t store_next_n(const struct store *s);
/* Bytes and records staged so far. */
size_t store_staged_len(const struct store *s);
size_t store_staged_n(const struct store *s);
/* Writes what is staged, syncs it, moves the mark: one write, one fdatasync.
   On an error everything staged is undone in memory: ERR_FULL and ERR_IO
   promise that nothing of it is on disk, unless *unknown is set. */
int store_commit(struct store *s, bool *unknown);
/* Until called with 0, store_stage stages nothing and returns err. */
void store_refuse(struct store *s, int err);

/* The key's entry, or NULL. Valid until the next follow, lock or commit
   (undo) of this store. */
struct store_entry *store_find(struct store *s, struct str key);
/* Reads an entry's record, staged ones included; memory in a. Checks the
   CRC. 0, ERR_IO, ERR_DAMAGED, ERR_NOMEM. */
int store_read(struct store *s, const struct store_entry *e, struct arena *a,
               struct store_rec *out);
/* Reads record n, in this generation or a closed one. ERR_NOT_FOUND: it was
   dropped with an old generation, or never was. */
int store_read_n(struct store *s, uint64_t n, struct arena *a,
                 struct store_rec *out);
/* Calls fn with the records from the first with a number >= from on, in
   order, as far as this generation holds them, until fn returns non-zero;
   that, 0, or an error. The records live only during the call. */
int store_scan(struct store *s, uint64_t from,
               int (*fn)(void *ctx, const struct store_rec *r), void *ctx);

/* max(wall clock, newest time in the log + boot-clock time since then). */
int64_t store_now_ms(const struct store *s);
/* How long ago the log's time t was, by the boot clock as far as it goes: a
   clock that is set ahead makes nothing older. */
int64_t store_age_ms(const struct store *s, int64_t t);

#endif
