#ifndef STORE_STATE_H
#define STORE_STATE_H

/* state - the data of a store; why writes are refused; what time it is. */

#include "base/file.h"
#include "store/index.h"
#include "store/lock.h"
#include "store/log.h"
#include "store.h"

#include <sys/stat.h>

#define STORE_MAX_KINDS 8
#define STORE_PATH_MAX 4096

/* A staged record, and what its entry was before, to be taken back. */
struct staged {
    struct staged *before, *next;
    struct store_entry *e;
    int64_t superseded;
    size_t at, len;         /* of its line, in the batch */
    struct store_entry old; /* the kind's entry_size bytes; n 0: none */
};

/* What reading the log may come to, beside 0 and errors. */
enum view {
    VIEW_TAIL = 1, /* there are bytes that only who has the lock answers for */
    VIEW_AGAIN     /* lock file or log were replaced: lock anew */
};

/* On the way to a new generation; see store/move.c. */
struct move {
    int fd;             /* of the old file */
    uint64_t left;      /* entries that lead there */
    uint64_t head;      /* that file's last n */
    int64_t superseded; /* bytes, in what was passed of the new file */
    int64_t base;       /* the same, before the end record */
    size_t swept;       /* buckets of the index without what is left */
    struct log log;     /* as far as it was passed */
    struct record_reader rd;
};

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
    /* Time of the log is that of the boot clock and time_off, where the wall
       clock is not ahead of it. */
    int64_t time_off;
    int64_t jump_ms;  /* how far the clock was set ahead ... */
    int64_t jump_at;  /* ... and the time of the log before that */
    bool same_boot;   /* time_off is from no other boot than this */
    char *lock_path;
    char *dir;
    struct store_options opt;
    struct buf line; /* of the reader that follows the log, kept */

    /* closed generations are opened when history asks for them */
    int closed_fd;
    uint64_t closed_g;
    /* Of the record that was last found by its number. */
    uint64_t near_g, near_n;
    int64_t near_off;

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
/* Because this user may not write the log. */
int store_deny_write(struct store *s);
/* What was refused before is not any more. */
void store_allow(struct store *s);
/* Notes that the log is damaged, first at off. */
void store_note_damage(struct store *s, int64_t off, uint64_t behind,
                       const char *what);
/* Notes that the log is empty although bytes of it were committed. */
int store_note_empty(struct store *s, const struct mark *m);

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
