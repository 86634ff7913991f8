#ifndef STORE_INTERNAL_H
#define STORE_INTERNAL_H

/* internal - what the files of the store share: store.c (open, follow,
   lock, commit), store/load.c (the log into memory, recovery), store/read.c
   (records by number, closed generations), store/compact.c. Nobody
   else includes it. */

#include "base/file.h"
#include "store/index.h"
#include "store/lock.h"
#include "store/lost.h"
#include "store/record.h"
#include "store.h"

#include <sys/stat.h>

#define STORE_MAX_KINDS 8
#define STORE_PATH_MAX 4096

/* What one staged record changed, to be taken back. */
struct undo {
    struct store_entry *e;
    int64_t superseded;
    size_t old_at; /* in undo_old; the kind's entry_size bytes */
};

/* On the way to a new generation; see store/move.c. */
struct move {
    int fd;             /* of the old file */
    uint64_t left;      /* entries that lead there */
    uint64_t head;      /* that file's last n */
    int64_t superseded; /* bytes, in what was passed of the new file */
    int64_t base;       /* the same, before the end record */
    uint64_t n, count;  /* of the last record passed; of them all */
    bool ended;         /* the end record was */
    size_t swept;       /* buckets of the index without what is left */
    struct record_reader rd;
};

/* What most functions look at stands first: code that reaches into the first
   128 bytes is shorter. */
struct store {
    /* the log as memory has it */
    int64_t end;      /* committed bytes */
    char *path;       /* of the log, real */
    uint64_t g;
    uint64_t head;    /* newest committed n */
    int fd;           /* -1: there is none */
    bool loaded;      /* memory is that of the log; else read it anew */
    bool damaged;     /* what memory was read from is; writes are refused */
    bool in_compacted; /* before the end record of a compacted file */
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
    size_t n_undo, cap_undo;
    struct undo *undo;
    struct buf batch;
    struct lock lock;
    struct buf undo_old;

    const struct store_kind *kinds;
    size_t n_kinds;
    struct index index;
    int64_t superseded;
    int64_t superseded_base; /* of those, what the last compaction kept */
    uint64_t counted; /* records since its header */
    struct lost lost; /* where damaged: of what */
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

/* ---- store.c ---- */

/* Notes why this process cannot write, until a commit or probe shows that it
   can, and returns err. Text by printf's rules. */
int store_deny(struct store *s, int err, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Because this user may not write the log. */
int store_deny_write(struct store *s);
/* Syncs the log, after what it is to hold was written: 0 or -1 with errno.
   Once it has failed the log is open anew. */
int store_sync(struct store *s);
/* Cuts the log to its committed end; whether that is on disk. */
bool store_cut(struct store *s);

#define STORE_BLANK '\n' /* what store_probe writes behind the end */
/* Takes back what is staged. */
void store_unstage(struct store *s);

/* ---- store/load.c ---- */

/* Opens the log at the path and checks what it is. 0 and *fd, *st, *h;
   ERR_NOT_FOUND: no log, or st says an empty one; ERR_SYNTAX: its header is
   damaged, and *h what can be told all the same, g 0 where that cannot;
   ERR_FORMAT, ERR_IO with s->why. */
int store_open_log(struct store *s, int *fd, struct stat *st,
                   struct record_header *h);
/* Reads the log at the path into memory, from its start. With the write
   lock, its tail is recovered as well; without, ERR_MORE says that it needs
   to be. 0, ERR_MORE, ERR_NOT_FOUND (memory is left alone), others. */
int store_load(struct store *s);
/* Reads committed bytes up to the mark. */
int store_load_to(struct store *s, const struct mark *m);
/* Notes that the log is empty although bytes of it were committed. */
int store_note_empty(struct store *s, const struct mark *m);
/* Under the lock: takes the whole records between the known end and size,
   cuts what is torn, syncs, and moves the mark. */
int store_recover(struct store *s, int64_t size);
/* Whether a whole record between off and end proves that a bad line before
   them, which had to be record head + 1, had once been synced. 1, 0, ERR_IO,
   ERR_NOMEM. */
int store_proven_synced(int fd, uint64_t g, uint64_t head, int64_t off,
                        int64_t end);
/* Whether m may be the mark of the log with this id and inode; if so, time
   goes on from it. */
bool store_takes_mark(struct store *s, const struct mark *m, const char *id,
                      ino_t ino);
/* Under the lock: writes the mark of the log with this inode. 0, ERR_IO. */
int store_put_mark(struct store *s, uint64_t g, uint64_t n, int64_t end,
                   ino_t ino);
/* Forgets everything that was read. */
void store_forget(struct store *s);
/* The index and its kinds learn of a record at off; told to the observer
   by store_tell. */
int store_apply(struct store *s, const struct store_rec *r, int64_t off,
                struct store_entry **out);
void store_tell(struct store *s, const struct store_entry *e,
                const struct store_rec *r);
/* The kind of a key. */
uint8_t store_kind_of(const struct store *s, struct str key);
size_t store_entry_size(const struct store *s, uint8_t kind);

/* Whether e is of a transient kind. */
bool store_is_transient(const struct store *s, const struct store_entry *e);

/* ---- store/read.c ---- */

/* Where to begin to read for record n: no line before it has that number. */
int64_t store_search(int fd, int64_t end, uint64_t n);

/* ---- store/move.c ---- */

/* Goes over to the log of the next generation, open as fd, whose committed
   end is given; the old one has been read to its end. What is to be read from
   there, behind s->end, is up to the caller. false: memory cannot be kept,
   and nothing has changed. */
bool store_move_begin(struct store *s, int fd, const struct stat *st,
                      const struct record_header *h, int64_t end);
void store_move_stop(struct store *s);

/* ---- store/room.c ---- */

#define STORE_RESERVE (64 * 1024)

/* Whether so many bytes are free, at last without closed generations. */
bool store_has_room(struct store *s, int64_t need);
/* Whether there is too little room for a compaction. Makes the reserve. */
bool store_is_short(struct store *s);
/* A write found no room: whether there is more of it now. errno stays. */
bool store_give_reserve(struct store *s);

/* ---- store/compact.c ---- */

/* The lock file is a foreign one: so is, maybe, the file in the making. */
void store_compact_lost(struct store *s);
/* Under the lock, when the log has more than one name: takes back what a
   compaction left that ended between its link and its rename. */
void store_compact_tidy(struct store *s);
/* Drops the oldest closed generations until the rest has no more than max
   bytes. */
void store_prune(struct store *s, int64_t max);
/* 0 where the log has one name, beside its closed generation's; else
   ERR_READONLY: who uses the other name has another lock file. */
int store_check_names(struct store *s);
/* Under the lock: goes over to the next generation where a compaction that
   ended has closed this one. 0, or an error. */
int store_finish_closed(struct store *s);
/* Path of a closed generation, in out. */
void store_closed_path(const struct store *s, uint64_t g, char *out,
                       size_t cap);

#endif
