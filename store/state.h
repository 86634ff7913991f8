#ifndef STORE_STATE_H
#define STORE_STATE_H

/* state - the data of a store, and why writes are refused. */

#include "base/file.h"
#include "store/apply.h"
#include "store/move.h"
#include "store/time.h"
#include "store.h"

#define STORE_MAX_KINDS 8
#define STORE_PATH_MAX 4096

/* What most functions look at stands first: code that reaches into the first
   128 bytes is shorter. */
struct store {
    struct log log;   /* as memory has it: end is that of what is committed */
    char *path;       /* of the log, real */
    bool loaded;      /* memory is that of the log; else read it anew */
    bool log_readonly; /* fd is open for reading only */
    bool mounted;     /* the log is, by itself, apart from its directory */
    bool no_lock;     /* a lock cannot be had here: read-only media */
    bool file;        /* of the entries that lead to fd */
    bool moving;      /* the others lead to move.fd */

    /* why writes are refused, and why[] with it; err 0: they are not */
    bool torn;
    int err;
    int refuse;

    /* the batch */
    struct staged *first, *last;
    size_t n_staged;
    struct buf batch;
    struct lock lock;
    struct arena mem; /* of what is staged */

    const struct store_kind *kinds;
    size_t n_kinds;
    struct index index;
    int64_t superseded;
    int64_t superseded_base; /* of those, what the last compaction kept */
    char lost_why[96];
    dev_t dev;
    ino_t ino;
    int64_t looked_end;   /* s->end when room was last looked for */
    bool is_short;        /* and there was too little */
    int64_t unmarked_len; /* file size when it was read without a mark */
    int64_t looked_ms;    /* when the lock file was last looked for */
    int64_t busy_ms;      /* since when another has had the lock, 0: not ... */
    int64_t tried_ms;     /* ... when that was last tried */
    struct store_time time;
    char *dir;
    struct store_options opt;
    struct buf line; /* of the reader that follows the log, kept */

    /* Of the record that was last found by its number. */
    uint64_t near_g, near_n;
    int64_t near_off;
    size_t near_len;

    void (*observe)(void *ctx, const struct store_entry *e,
                    const struct store_rec *r);
    void *observe_ctx;
    uint64_t observed; /* newest n that the observer need not be told */

    struct compaction *compaction;
    struct move move;
    uint64_t n_left_out; /* entries whose memory is held in vain */
    char id[33];
    char why[256];
};

/* Notes why this process cannot write, until a commit or probe shows that it
   can, and returns err. Text by printf's rules. */
int store_deny(struct store *s, int err, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* The same for a step that failed with errno: "path: what: why". */
int store_deny_errno(struct store *s, int err, const char *path,
                     const char *what);
/* The same, where this user has no write permission. */
int store_deny_write(struct store *s);
/* Whether this process has the right and the files to write, and the log is
   whole. */
bool store_is_writable(const struct store *s);
/* Writes are not refused any longer. */
void store_allow(struct store *s);
/* Notes that the log is damaged, first at off. */
void store_note_damage(struct store *s, int64_t off, uint64_t behind,
                       const char *what);
/* Notes that the log is empty although bytes of it were committed. */
int store_note_empty(struct store *s, const struct mark *m);

#endif
