#ifndef STORE_STATE_H
#define STORE_STATE_H

/* state - a store's data, and why writes are refused: see state.c. */

#include "base/file.h"
#include "store/apply.h"
#include "store/log.h"
#include "store/replica.h"
#include "store/room.h"
#include "store/time.h"
#include "store.h"

#define STORE_MAX_KINDS 8

/* Frequently used members come first: code that reaches into the first 128
   bytes is shorter. */
struct store {
    char *path;       /* real path of the log */
    bool loaded;      /* memory matches the log; else read it again */
    bool log_readonly; /* fd is read-only */
    bool mounted;     /* the log itself is a mount point */
    bool no_lock;     /* no locks here: opened or mounted read-only */
    bool was_read;    /* a record was looked for since store_follow */
    bool foreign;     /* a replica without its remote, or the reverse */
    struct replica *replica; /* NULL: there is no remote */

    /* why writes are refused, in words in why[]; err 0: they are not */
    bool torn;
    int err;
    int refuse;

    /* the batch */
    struct staged *first, *last;
    size_t n_staged;
    struct buf batch;

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

    /* The record last found by number. */
    uint64_t near_g, near_n;
    int64_t near_off;
    size_t near_len;

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
/* Returns whether this process has the permissions and files to write, and the
   log is whole. */
bool store_is_writable(const struct store *s);
/* Ends the refusal of writes. */
void store_allow(struct store *s);
/* Records that the log is damaged, first at off. */
void store_note_damage(struct store *s, int64_t off, uint64_t behind,
                       const char *what);

#endif
