#ifndef STORE_H
#define STORE_H

/* store - the log: records in a text file, one index over their keys, one
   function that commits a batch and one that follows what others wrote.
   The format is described in store/record.h, the protocol in store.c. */

#include "base/base.h"

#define STORE_MAX_RECORD (384 * 1024)      /* bytes of one line */
#define STORE_MAX_BATCH (4 * 1024 * 1024)  /* bytes staged in one turn */
/* With so many staged, the largest record and what it brings along still have
   room; with more, a batch is full. */
#define STORE_FULL_BATCH ((size_t)STORE_MAX_BATCH - 2 * STORE_MAX_RECORD)
#define STORE_MAX_KEY 255
#define STORE_LOCK_WAIT_MS 5000 /* then ERR_BUSY is what a caller sees */

#define STORE_COMPACT_AT (64LL * 1024 * 1024)
#define STORE_CLOSED_MAX (1024LL * 1024 * 1024) /* where nothing is asked for */

struct store;

/* One record. The slices point into memory of whoever gave the record. */
struct store_rec {
    uint64_t g; /* generation of the file it was read from */
    uint64_t n; /* number in the log, from 1, never reused */
    uint64_t b; /* n of the first record of its batch */
    uint64_t p; /* n of the key's previous record, 0: none */
    struct str key;
    struct str time; /* RFC 3339, as the log has it */
    struct str body; /* the members behind "t": "op":...,"v":{...} */
    struct str line; /* the whole line, without its line feed */
};

/* What the index holds of a key. A kind's own entry begins with it. */
struct store_entry {
    struct store_entry *chain; /* store's own */
    const char *key;           /* key_len bytes */
    uint64_t n;                /* of the newest record */
    int64_t off;               /* where that stands */
    uint32_t len;              /* of its line */
    uint32_t hash;
    uint8_t key_len;
    uint8_t kind; /* index into the kinds, or STORE_NO_KIND */
    bool file;    /* store's own: which of two files it stands in */
};
#define STORE_NO_KIND 255

/* A kind of record, told by the prefix of its keys. Records of unknown kinds
   are indexed and carried along. All the functions may be NULL. */
struct store_kind {
    const char *prefix; /* "task/" */
    size_t entry_size;  /* at most 256; the entry is zeroed when made */
    void *ctx;
    /* e's newest record is now r; e->n, off and len say so already. Called
       once for each record, live and on replay alike. 0 or ERR_NOMEM, and
       then it must have changed nothing. */
    int (*apply)(void *ctx, struct store_entry *e, const struct store_rec *r);
    /* Takes the last apply back: old is e as it was (old->n 0: it had not
       existed). Called in reverse order; store copies old over e after. */
    void (*undo)(void *ctx, struct store_entry *e,
                 const struct store_entry *old);
    /* A record of another kind, or of none, was applied; never taken back. */
    void (*other)(void *ctx, const struct store_rec *r);
    /* Whether compaction carries r along; newest: it is that of its key.
       NULL: the newest are, the others not. */
    bool (*keep)(void *ctx, const struct store_rec *r, bool newest,
                 int64_t now_ms);
    /* Its records are not kept for long (see keep): all their bytes count as
       superseded from the first, so that a log of nothing else is compacted. */
    bool transient;
    /* A transient record of e was not carried along: its key is about to be
       found no more. e's memory stays until reset. */
    void (*leave)(void *ctx, struct store_entry *e);
    /* Every entry is about to go: the log is read anew. */
    void (*reset)(void *ctx);
};

struct store_options {
    const char *path;       /* of the log; need not exist */
    bool readonly;          /* never write, never lock */
    int64_t compact_at;     /* superseded bytes, 0: STORE_COMPACT_AT */
    int64_t closed_max;     /* bytes of closed generations, 0: none is kept */
};

/* Opens the log at o->path, which must stay, and reads it. No file is an
   empty store, and none is made, but for the lock file of a log whose tail
   has to be recovered. Errors: ERR_FORMAT (untouched), ERR_IO, ERR_NOMEM; then
   *why names the file and the reason, and *out is NULL. A damaged log
   opens, readable as far as it is whole. kinds must outlive the store. */
int store_open(struct store **out, const struct store_options *o,
               const struct store_kind *kinds, size_t n_kinds,
               char why[256]);
void store_close(struct store *s);

/* Brings memory up to the mark: what any process has committed is seen from
   here on. Takes no lock unless there are bytes behind a mark that nobody
   answers for. 0, ERR_IO, ERR_NOMEM, ERR_DAMAGED (reads may go on). */
int store_follow(struct store *s);

/* Whether a new generation is in use while memory still leads to the old one:
   then there are slices of store_move to do, between turns. Nothing waits for
   them. */
bool store_moving(const struct store *s);
/* One slice, of about 1 MiB: ERR_MORE: there are more; 0: there are none;
   else as store_follow. Nothing may be staged. */
int store_move(struct store *s);

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
   command line, which has nobody else to serve. */
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
/* Whether a record could be committed: writes behind the end, syncs, and cuts
   it off again. Under the lock, with nothing staged. 0, or what store_commit
   would return; store_state then says why. */
int store_probe(struct store *s);
/* Until called with 0, store_stage stages nothing and returns err. */
void store_refuse(struct store *s, int err);

/* The key's entry, or NULL. Valid until the next follow, lock or commit
   (undo) of this store. */
struct store_entry *store_find(struct store *s, struct str key);
/* Why what a damaged log still says of a key, or of any (key.p NULL), may not
   be all: a sentence, valid until the next call; NULL: it is all there. */
const char *store_damage(struct store *s, struct str key);
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

/* One observer is told of each committed record, own and followed, after it
   was applied, in order; not of those read when the log is opened. */
void store_observe(struct store *s,
                   void (*fn)(void *ctx, const struct store_entry *e,
                              const struct store_rec *r),
                   void *ctx);

/* A number that names this process to others on this log while it lives; 0:
   none can be had now. It is another where the lock file was replaced by
   one in which that number is taken. */
uint64_t store_instance(struct store *s);
/* Whether a process of that number lives: this one, or another. */
bool store_alive(const struct store *s, uint64_t instance);

/* max(wall clock, newest time in the log + boot-clock time since then). */
int64_t store_now_ms(const struct store *s);
/* How long ago the log's time t was, by the boot clock as far as it goes: a
   clock that is set ahead makes nothing older. */
int64_t store_age_ms(const struct store *s, int64_t t);

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

/* ---- care of the log: store/compact.c, store/verify.c ---- */

/* Whether superseded bytes pass compact_at and half of the log; or a quarter of
   it, where there is no more room than a compaction needs. Sees to the
   reserve of room. */
bool store_wants_compact(struct store *s);
/* One slice of a compaction, of about 1 MiB, or its start. ERR_MORE: call
   again, now or later; 0: done, the new generation is in use; else it has
   been given up and removed (ERR_BUSY: another process compacts, or the
   write lock was not to be had). */
int store_compact(struct store *s);
/* Gives up a compaction that has begun. */
void store_compact_stop(struct store *s);

struct store_report {
    uint64_t records, keys, first_n, last_n, g;
    int64_t bytes;
    uint32_t version;
    char id[33];
    bool torn;         /* the tail is; cutting it loses nothing promised */
    bool damaged;      /* something once synced is not what it was */
    uint64_t bad;      /* regions that are no record */
    uint64_t lost;     /* records that are missing, and ... */
    uint64_t lost_unnamed; /* ... of those, how many may be of any key */
    int64_t off;       /* of the first bad byte, -1 */
    uint64_t line;     /* line number of it, from 1 */
    char what[256];    /* says it */
};
/* Records that are missing, or the newest one that a key has lost. */
struct store_loss {
    struct str key;      /* empty: of any keys */
    uint64_t from, to;   /* their numbers */
    uint64_t newest;     /* number of the key's newest record, 0: none */
    bool passed;         /* which came later than the one that is lost */
};
/* Who is told of each bad region, of each loss, and of each MiB that was
   read. */
struct store_watch {
    void (*bad)(void *ctx, int64_t off, int64_t len, const char *what);
    void (*lost)(void *ctx, const struct store_loss *l);
    void (*passed)(void *ctx, int64_t off, int64_t size);
    void *ctx;
};
/* Checks a log file without a lock or any change: every record's CRC, order,
   chain and batch. 0 when it could be read; ERR_NOT_FOUND: no log or an
   empty file, ERR_FORMAT, ERR_IO, ERR_NOMEM: out->what says why. w may be
   NULL. */
int store_verify(const char *path, struct store_report *out,
                 const struct store_watch *w);
/* Writes the whole records of the log at path to a new file; synced, never
   over one that exists (ERR_EXISTS). Else as store_verify. */
int store_repair(const char *path, const char *out_path,
                 struct store_report *out);
/* Copies the log, as it was last followed, and its closed generations, into
   an existing directory, synced and verified. No lock. ERR_EXISTS when a file
   of one of these names is there; ERR_NOT_FOUND: there is no log. each is
   told of each copied record, until it returns non-zero; that is returned
   then. ERR_DAMAGED: the copies are as damaged as the log is, and stay;
   after other errors nothing of them stays. */
int store_backup(struct store *s, const char *dir,
                 int (*each)(void *ctx, const struct store_rec *r),
                 void *ctx);

#endif
