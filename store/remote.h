#ifndef STORE_REMOTE_H
#define STORE_REMOTE_H

/* remote - the engine that orders the batches of several hosts. Each host's log
   is then a replica: a prefix of that one order. The store calls the engine
   through this table and knows nothing else of it. Nothing here blocks.

   One operation is under way at a time: pull, commit, examine or content begins
   it, and it ends when step returns anything but ERR_PENDING. Until then, step
   is called whenever the descriptor of watch is ready or its time has come. */

#include "base/base.h"

#define REMOTE_MAX_BATCH (1024 * 1024) /* bytes of lines in a commit */

/* The lowest number of a process with an engine; others are up to 52 bits
   above it. */
#define REMOTE_INSTANCES ((UINT64_C(1) << 41) + 1)

#define REMOTE_SKEW_MS 5000 /* by which clocks may differ */

#define REMOTE_HEAD_MAX 112 /* text of a head, with its NUL */
#define REMOTE_NOWHERE "-"  /* the head of no record */

/* Where a replica stands. */
struct remote_at {
    char head[REMOTE_HEAD_MAX]; /* the engine's text for the newest record; "":
                                   unknown, so the engine compares the rest */
    uint64_t n;   /* newest record; 0: none */
    uint64_t b;   /* first record of its batch */
    uint32_t sum; /* record_sum of the newest record; with head, 0 and b too */
    uint64_t g;   /* a file to REPLACE the log is of generation g + 1 */
    char id[33];  /* of the store; if n is 0, others may have another one */
    enum remote_push {
        REMOTE_FOLLOW,
        REMOTE_PUSH,    /* a log of this host alone, with no bytes after record
                           n, becomes a new store; then REPLACE, aside as
                           <log>.before-etcd */
        REMOTE_CONTINUE /* a replica, likewise, once it has all records: what
                           the engine has lost comes back */
    } push;
};

struct remote_news {
    enum {
        REMOTE_SAME,    /* pull: the replica has all; at->head is set */
        REMOTE_WON,     /* commit: the batch is the next one */
        REMOTE_BEHIND,  /* lines follow the replica's; a commit has failed */
        REMOTE_REPLACE, /* the replica is of no use: take the file instead */
        REMOTE_SHARED   /* content: it is done */
    } what;
    char head[REMOTE_HEAD_MAX]; /* text of the head after this news */
    struct str lines; /* BEHIND: whole batches, each line with its line feed;
                         g and c are of another host. Valid until the next
                         call. */
    bool more;        /* pull again: others follow, or a replica that continues
                         has caught up */
    const char *path; /* REPLACE: a whole log, synced, in the log's directory,
                         of generation at->g + 1, to be renamed over the log */
    const char *aside; /* REPLACE: keep the old log as <log>.<aside>, since it
                          has records that are nowhere else; NULL: drop it */
    int64_t skew_ms;  /* by how much the clock of the member that answered is
                         ahead of this host's */
};

enum remote_content {
    REMOTE_FETCH, /* from where all hosts find it */
    REMOTE_PUT,   /* there */
    REMOTE_DROP,  /* from there; ERR_BUSY: it was put in the last 24 hours */
    REMOTE_LIST   /* news->lines: the names of some after hex, in order */
};

struct remote {
    void *ctx;
    bool reads_local; /* reads need not be confirmed by it */
    /* Asks whether `at` is the newest, and for what follows it if it is not.
       An engine that lacks this store makes it if the local log is empty. 0, or
       an error as from step. */
    int (*pull)(void *ctx, const struct remote_at *at);
    /* Offers a batch that follows directly on `at`, whose head is not "". lines
       are its records first..last, and are copied; sum is that of the last.
       With the head REMOTE_NOWHERE it can be refused like any other, but never
       wins. */
    int (*commit)(void *ctx, const struct remote_at *at, struct str lines,
                  uint64_t first, uint64_t last, uint32_t sum);
    /* Continues. 0 with *news; ERR_PENDING; else the operation has failed:
       ERR_UNREACHABLE: no member took it; ERR_UNKNOWN: a commit may still take
       effect; ERR_FULL, ERR_TOO_LARGE, ERR_READONLY, ERR_FORMAT (another store,
       or a newer version), ERR_IO, ERR_NOMEM. why() says more. */
    int (*step)(void *ctx, struct remote_news *news);
    /* The descriptor to wait for, or -1; *write: for writing. *due_ms is when
       to call step at the latest, by clock_mono_ms; INT64_MAX: never. This goes
       for the time between operations too: step then does the engine's own
       work, and returns ERR_PENDING. */
    int (*watch)(void *ctx, bool *write, int64_t *due_ms);
    /* Asks member i, in use or not, about itself. ERR_NOT_FOUND: there is no
       such member; else 0 or an error as from step. step then returns 0,
       ERR_VERSION (it is too old), ERR_SKEW (its clock is wrong) or another
       error, and why() describes the member. */
    int (*examine)(void *ctx, unsigned i);
    /* The member in use, and how long an answer takes, smoothed. */
    const char *(*member)(void *ctx, int64_t *trip_us);
    /* Why the last operation failed, in words; "" if it did not. */
    const char *(*why)(void *ctx);
    /* Whether the process of another host with this instance is alive, as far
       as is known. instance() gives that of this process, to be announced to
       others while it lives. */
    bool (*alive)(void *ctx, uint64_t instance);
    void (*instance)(void *ctx, uint64_t instance);
    /* Whether it was missing for a minute in all lists that were asked for. */
    bool (*gone)(void *ctx, uint64_t instance);
    /* A local compaction has ended: the log at path has the records up to head,
       which may be "", in its first `end` bytes. The engine may keep it as a
       snapshot and drop the batches that it covers. */
    void (*compacted)(void *ctx, const char *path, const char *head,
                      int64_t end);
    /* Whether that snapshot, or a push, is being sent, or batches are being
       dropped; *done of *all bytes are there. */
    bool (*uploads)(void *ctx, uint64_t *done, uint64_t *all);
    /* Begins an operation on a content, which is a file dir/hex, named by its
       SHA-256. NULL: contents stay where they are. Errors as from step, and
       ERR_NOT_FOUND, ERR_DAMAGED. */
    int (*content)(void *ctx, const char *dir, const char *hex,
                   enum remote_content what);
};

#endif
