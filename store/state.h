#ifndef STORE_STATE_H
#define STORE_STATE_H

/* state - a store's data, what it can do now, and its time: see state.c. */

#include "base/file.h"
#include "store/compact.h"
#include "store/index.h"
#include "store/lock.h"
#include "store/log.h"
#include "store/replica.h"
#include "store.h"

#define STORE_MAX_KINDS 8

/* The log's time is the boot clock plus off, or the wall clock if that is
   ahead. */
struct store_time {
    int64_t off;
    int64_t near;    /* as off, for leases and ages in a replica */
    bool same_boot;  /* off was set during this boot */
    bool takes_back; /* the next compaction does so */
};

/* store_probe writes this many of these after the end. */
#define STORE_BLANK '\n'
#define STORE_BLANKS 4096

/* A staged record, and its entry's previous state for undo. */
struct staged {
    struct staged *before, *next;
    struct store_entry *e;
    int64_t superseded, live, held; /* the store's */
    size_t at, len;         /* its line in the batch */
    struct store_entry old; /* the kind's entry_size bytes; n is 0 for a new
                               entry */
};

/* What store_stage returns instead of staging; 0: it stages. */
struct refusal {
    int all;      /* set by store_refuse */
    int ordinary; /* ERR_FULL: until store_unlock only what store_stage_last
                     takes */
};

/* Frequently used members come first: code that reaches into the first 128
   bytes is shorter. */
struct store {
    char *path;       /* real path of the log */
    bool loaded;      /* memory matches the log; else read it again */
    bool was_read;    /* a record was looked for since store_follow */
    struct replica *replica; /* NULL: there is no remote */

    int err;          /* of the last failure, 0: none since; why in words */
    bool torn;        /* a torn tail was cut */

    /* the batch */
    struct staged *first, *last;
    size_t n_staged;
    struct buf batch;
    struct refusal refuse;

    struct log log;   /* as in memory; its end is the committed end */
    struct lock lock;
    struct arena mem; /* for what is staged */

    struct store_kind kinds[STORE_MAX_KINDS + 1]; /* the last: of all others */
    size_t n_kinds;
    struct index index;
    int64_t superseded;
    int64_t superseded_base; /* of those, kept by the last compaction */
    int64_t live; /* bytes of all keys' newest records */
    int64_t held; /* of older ones that compaction may keep for a while */
    char lost_why[96]; /* by store_damage */
    dev_t dev;
    ino_t ino;
    struct room room;
    int64_t unmarked_len; /* file size when it was read without a mark */
    int64_t lock_checked_ms; /* last check of the lock file */
    int64_t busy_ms;      /* since when others hold the lock, 0: they do not */
    int64_t tried_ms;     /* last attempt to lock */
    int64_t access_ms;    /* last store_check_access */
    struct store_time time;
    char *dir;
    struct store_options opt;
    struct buf line; /* buffer of the reader that follows the log */

    void (*observe)(void *ctx, const struct store_entry *e,
                    const struct store_rec *r);
    void *observe_ctx;
    uint64_t observed; /* newest n the observer knows or need not know */

    struct compaction *compaction;
    char id[RECORD_ID + 1];
    char why[256];
    struct store_state shown; /* by store_state */
};

/* Records why this process cannot write, until a commit or probe succeeds, and
   returns err. Formats as printf. */
int store_deny(struct store *s, int err, const char *fmt, ...) PRINTF(3, 4);
/* The same for a step that failed with errno: "path: what: why". */
int store_deny_errno(struct store *s, const char *path, const char *what);
/* Returns whether nothing but a passing reason prevents this process from
   writing the log, which is whole. */
bool store_is_writable(const struct store *s);
/* store_deny, if only a person can change that; or 0. */
int store_deny_standing(struct store *s);
/* Whether the log and its lock file are not even written to follow. A replica's
   are, though callers may only read. */
bool store_only_reads(const struct store *s);
/* Ends the refusal of writes. */
void store_allow(struct store *s);

/* Returns whether st is the file that memory was read from. */
bool store_is_log(const struct store *s, const struct stat *st);
#define STORE_CLOSED_PATH_MAX (FILE_PATH_MAX + 32) /* including the NUL */
/* The path of closed generation g, until the next call. */
const char *store_closed_path(const struct store *s, uint64_t g);
/* Notes whether the log has a name except its own and that of its closed
   generation: a process that uses the other name has another lock file. */
void store_note_names(struct store *s);

/* The time for a new record: not before that of any other, but for those of
   hosts whose clocks are ahead. */
int64_t store_stamp_ms(const struct store *s);
/* Advances the log's time to the boot clock plus off, unless that is too far
   ahead. */
void store_advance_time(struct store *s, int64_t off);
/* The log's time continues from its mark m, and a replica's head is the one in
   it. */
void store_adopt_mark(struct store *s, const struct mark *m);
/* Under the lock: writes the mark for the log with this inode. 0, ERR_IO. */
int store_put_mark(struct store *s, uint64_t g, uint64_t n, int64_t end,
                   ino_t ino);

/* ---- steps of store.c ---- */

/* As store_lock, or as store_lock_wait, but whatever the remote's state. */
int store_take_lock(struct store *s, bool wait);
/* Reads the whole log at the path into memory. With the write lock it also
   recovers the tail; without, a positive result means the tail needs it, and if
   this process may not lock, what is whole of the tail is read. 0, also if
   there never was a log; ERR_NOT_FOUND: the log vanished, memory is unchanged;
   or another error. */
int store_load(struct store *s, bool may_lock);
/* Reads committed bytes up to the mark, and takes its time. */
int store_load_to(struct store *s, const struct mark *m);
/* Writes bytes after the committed end, syncs them and moves the mark to m, if
   not NULL. A failed attempt is cut off, and made once more after a failed
   sync, or if room was made for it. *cut: nothing of it is on disk. 0 or enum
   err. */
int store_put(struct store *s, struct str bytes, const struct mark *m,
              bool *cut);
/* store_commit to the log of this host. */
int store_commit_here(struct store *s, bool *unknown);

#endif
