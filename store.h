#ifndef STORE_H
#define STORE_H

/* store - the log: records in a text file, one index over their keys, one
   function that commits a batch and one that follows what others wrote. store.c
   describes the protocol, store/record.c the format. store/verify.h has check,
   repair and backup, store/remote.h a store that several hosts share. */

#include "base/base.h"

#define STORE_MAX_RECORD (384 * 1024)      /* bytes of one line */
#define STORE_MAX_BATCH (4 * 1024 * 1024)  /* bytes staged in one turn */
#define STORE_MAX_KEY 255
#define STORE_LOCK_WAIT_MS 5000 /* then callers get ERR_BUSY */
#define STORE_COMPACT_AT (64LL * 1024 * 1024)
#define STORE_CLOSED_MAX (1024LL * 1024 * 1024) /* default of closed_max */

struct store;
struct remote; /* store/remote.h */

/* ---- records and their kinds ---- */

/* One record. The slices point into the memory of whoever made it. */
struct store_rec {
    uint64_t g; /* generation of the file it was read from */
    uint64_t n; /* number in the log, from 1, never reused */
    uint64_t b; /* n of the first record of its batch */
    uint64_t p; /* n of the key's previous record, or 0 */
    struct str key;
    struct str time; /* RFC 3339, as in the log */
    struct str body; /* members after "t": "op":...,"v":{...} */
    struct str line; /* the whole line, without its line feed */
};

/* What the index holds for a key. A kind's own entry type begins with it. */
struct store_entry {
    struct store_entry *chain; /* private to the store */
    const char *key;           /* key_len bytes */
    uint64_t n;                /* of the newest record */
    int64_t off;               /* its offset */
    uint32_t len;              /* length of its line */
    uint32_t hash;
    uint32_t g;                /* generation of off, its low bits */
    uint8_t key_len;
    uint8_t kind; /* private to the store: index into its kinds */
    bool held;    /* set by apply: compaction may keep the record for a while
                     after a newer one of the key */
};

/* A kind of record, selected by the prefix of its keys. Records of unknown
   kinds are indexed and kept. Any function may be NULL. */
struct store_kind {
    const char *prefix; /* "task/" */
    size_t entry_size;  /* at most 256; new entries are zeroed */
    void *ctx;
    /* e's newest record is now r; e->n, off and len are already set. Called
       once per record, live or replayed. 0, or ERR_NOMEM with nothing
       changed. */
    int (*apply)(void *ctx, struct store_entry *e, const struct store_rec *r);
    /* Undoes the last apply. old is the previous e (old->n 0: it was new).
       Called in reverse order; the store then copies old over e, including
       what undo has changed in old. */
    void (*undo)(void *ctx, struct store_entry *e,
                 struct store_entry *old);
    /* A record of another or an unknown kind was applied; never undone. */
    void (*other)(void *ctx, const struct store_rec *r);
    /* Returns whether compaction keeps r; newest: r is its key's newest record.
       NULL: keep only the newest. */
    bool (*keep)(void *ctx, const struct store_rec *r, bool newest,
                 int64_t now_ms);
    /* Records are not kept for long (see keep): all their bytes count as
       superseded at once, so a log of nothing else gets compacted. */
    bool transient;
    /* All entries are about to go: the log is read again, or a compacted one
       instead of it. */
    void (*reset)(void *ctx);
};

/* ---- open and close ---- */

struct store_options {
    const char *path;       /* of the log; need not exist */
    bool readonly;          /* never writes or locks, but to follow remote */
    const char *denied;     /* why it is readonly, for store_state; or NULL */
    int64_t compact_at;     /* compact beyond; 0: STORE_COMPACT_AT */
    int64_t closed_max;     /* bytes of closed generations to keep */
    const struct remote *remote; /* of other hosts; NULL: there is none */
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

/* ---- follow and lock ---- */

/* Updates memory to the mark, and so to everything any process has committed.
   Takes the lock only if bytes after the mark need recovery. 0, ERR_IO,
   ERR_NOMEM, or ERR_DAMAGED (reads may continue). */
int store_follow(struct store *s);

/* Whether memory matches the log. After a failed follow or lock it may be half
   read; a missing key then means nothing. */
bool store_loaded(struct store *s);
/* Takes the write lock and follows. 0; ERR_BUSY: another process holds it, call
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

/* ---- stage and commit ---- */

/* Stages a record; needs the lock. body is a run of JSON members
   ("op":...,"v":{...}). Memory has it at once, the disk after store_commit. 0,
   ERR_TOO_LARGE (record or batch), ERR_NOMEM, or store_refuse's err. */
int store_stage(struct store *s, struct str key, struct str body);
/* The same for what ends or hands over work: it may take the last room, with a
   reserve of 64 KiB that no other record gets. */
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
   room. With a remote it does more: see store/remote.h. */
int store_commit(struct store *s, bool *unknown);
/* Makes store_stage return err and stage nothing, until called with 0. */
void store_refuse(struct store *s, int err);

/* ---- read ---- */

/* The key's entry, or NULL. Valid until the next follow, lock or commit (undo)
   of this store. */
struct store_entry *store_find(struct store *s, struct str key);
/* Reads an entry's record, staged or not, into a and checks its CRC. 0, ERR_IO,
   ERR_DAMAGED, ERR_NOMEM. */
int store_read(struct store *s, struct store_entry *e, struct arena *a,
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

/* Sets the one observer. It gets each committed record, own or followed, once,
   after it was applied, in order; but none that was read when the log was
   opened, and of a whole generation that passed between two follows only those
   that compaction kept. */
void store_observe(struct store *s,
                   void (*fn)(void *ctx, const struct store_entry *e,
                              const struct store_rec *r),
                   void *ctx);

/* ---- its state ---- */

/* What a store can do now. */
enum store_mode {
    STORE_LOADED,   /* memory matches the log; changes can be committed */
    STORE_READONLY, /* it can be read; a person has to allow changes */
    STORE_DAMAGED,  /* what is whole can be read */
    STORE_FAILED,   /* a step failed; what comes next tries it again */
    STORE_REFUSED   /* it can be read, and changed when a reason has passed */
};

struct store_state {
    enum store_mode mode;
    const char *path;    /* real path of the log */
    char id[33];         /* of the store, "" before there is a log */
    uint64_t g;          /* generation, 0: no log yet */
    uint64_t head;       /* newest n */
    int64_t len;         /* committed bytes */
    int64_t superseded;  /* bytes of these that compaction would not keep: older
                            or transient records */
    uint64_t keys;
    size_t index_bytes;  /* heap of index and entries */
    int err;             /* 0: writable; else why writes are refused */
    int64_t missing;     /* if ERR_FULL: how many bytes of room, 0: unknown */
    bool takes_last;     /* if ERR_FULL: for store_stage_last there is room */
    char why[256];       /* the reason, with file and offset; or "" */
    bool torn;           /* this process cut a torn tail when it opened the
                            log */
    bool shared;         /* with other hosts, by a remote */
};
/* Valid until the next call. */
const struct store_state *store_state(struct store *s);
/* Three of its members alone: id; path; mode is STORE_READONLY. */
const char *store_id(const struct store *s);
const char *store_path(const struct store *s);
bool store_is_readonly(const struct store *s);

/* A sentence that says how many records a damaged log has lost. Valid until the
   next call. NULL: none. */
const char *store_damage(struct store *s);
/* Looks whether log and lock file can be written, unless that was seen in the
   last 5 s or they cannot, and changes nothing. store_state then says so. */
void store_check_access(struct store *s);
/* Likewise, each time, whether the disk has room: store_missing_room. */
void store_check_room(struct store *s);
/* Tests whether a record could be committed: writes after the end, syncs, and
   cuts it off again. Needs the lock, with nothing staged. 0, or store_commit's
   error; store_state then says why. */
int store_probe(struct store *s);

/* ---- time and processes ---- */

/* max(wall clock, newest time in the log + boot-clock time since then). With a
   remote, times more than store_skew_ms ahead of the wall clock are left
   out. */
int64_t store_now_ms(const struct store *s);
/* The time t that a record gives; or 0, long ago, if it is more than a day
   ahead: then it says nothing. */
int64_t store_past_ms(int64_t t, int64_t now_ms);

/* A number that identifies this process to others on this log while it lives; 0
   if the lock file cannot be used. It changes if the lock file is replaced by
   one in which the number is taken. */
uint64_t store_instance(struct store *s);
/* Returns whether the process with that number is alive, this one included. */
bool store_alive(const struct store *s, uint64_t instance);
/* What can be seen of whoever took something in a process or a session. */
enum sight { SIGHT_UNKNOWN, SIGHT_GONE, SIGHT_ALIVE };
/* What can be seen of that process. One of another host that does not answer
   is gone after a minute; 0 is unknown. */
enum sight store_sight(const struct store *s, uint64_t instance);

/* ---- room and compaction ---- */

/* The bytes that are missing on the disk for a new key of 8 KB, once closed
   generations have made way and the log is compacted; 0: it is taken. *need:
   the free bytes below which it is not: what a compaction writes, and more. */
int64_t store_missing_room(const struct store *s, int64_t *need);
/* Whether there is room to compact the log and for `more` bytes; closed
   generations make way. */
bool store_can_compact(struct store *s, int64_t more);
/* Whether the disk has room for what is staged, or for a new key of 8 KB, and
   for a compaction after it. If not, commits of other records than of
   store_stage_last are refused. */
bool store_has_room(struct store *s);
/* Whether a commit failed for want of room, and the lock is still held: then
   store_stage returns ERR_FULL, and what store_stage_last takes may yet be
   committed. */
bool store_takes_last(const struct store *s);
/* Returns whether superseded bytes exceed compact_at and half of the log; or a
   quarter of it, if the disk has only just the room for a compaction; or
   whether one may gain anything, if the disk is full. A minute after a failed
   attempt, or once there is more room. */
bool store_wants_compact(struct store *s);
/* Starts a compaction or does one slice of it, about 1 MiB. ERR_PENDING: call
   again, now or later; 0: done, the new generation is in use; else the
   compaction was abandoned and its file removed (ERR_BUSY: another process is
   compacting, or the write lock stayed taken). */
int store_compact(struct store *s);
/* Makes the next compaction take back times that are ahead of the wall clock.
   They become that clock's, in the new generation and in all processes (where
   os_boot_id is "", in this one only); the old generation keeps them. Not for a
   store with a remote. */
void store_take_back_time(struct store *s);
/* Compacts at once, if store_wants_compact, or ends what store_compact began.
   Returns whether it tried: also after a compaction that failed, what
   store_stage_last takes may be committed now. Needs the lock to be free, and
   nothing staged. */
bool store_make_room(struct store *s);
/* Abandons a compaction in progress. */
void store_compact_stop(struct store *s);

#endif
