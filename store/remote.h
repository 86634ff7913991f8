#ifndef STORE_REMOTE_H
#define STORE_REMOTE_H

/* remote - a store that several hosts share, and the engine that orders their
   batches. Each host's log is then a replica: a prefix of that one order. The
   store calls the engine through a table and knows nothing else of it. None of
   the engine's functions blocks.

   One operation is under way at a time: pull, commit, examine or content begins
   it, and it ends when step returns anything but ERR_PENDING. Until then, step
   is called whenever the descriptor of watch is ready or its time has come. */

#include "store.h"

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
    /* Frees the engine, and this table with it. */
    void (*leave)(const struct remote *r);
};

/* ---- a store with a remote ----

   With one, store_commit also confirms what a turn has read, even without the
   lock and with nothing staged. ERR_PENDING: it is under way; wait as
   store_watch says, call it again, and only read until it has ended.
   ERR_AGAIN: others committed first; what was staged is undone and memory has
   their batches, so run the whole turn again. ERR_BUSY: that has gone on for 5
   s. If the remote does not answer, reads may still go out: store_stale_ms says
   how old they are. */

/* Fetches all that was committed before this call. 0; ERR_PENDING as above;
   else an error, and memory may be stale. 0 without a remote. */
int store_confirm(struct store *s);
/* The same, and waits for the answer as store_await does. */
int store_confirm_patiently(struct store *s);
/* Makes the log, which was of this host alone, a new store of the remote, and
   then a replica of that; the old log stays as <log>.before-etcd. again: the
   log is a replica already, and the remote has lost its newest records, or all.
   ERR_PENDING: call it again after store_await. Else 0 or an error of
   store_lock or store_commit, ERR_EXISTS or ERR_BUSY. For the command line;
   needs a remote. */
int store_push(struct store *s, bool again);
/* Whether store_push or store_tend is sending a whole log, pushed or compacted,
   to the remote, which has *done of *all bytes. */
bool store_uploads(const struct store *s, uint64_t *done, uint64_t *all);
/* Puts the content dir/hex, a file named by its SHA-256, where all hosts find
   it, before the record staged next is committed; or, without put, fetches it
   from there. ERR_PENDING: store_commit will do it, and returns ERR_AGAIN if
   that may change an answer. Else the outcome in this turn: 0, ERR_NOT_FOUND,
   ERR_DAMAGED, ERR_FULL, ERR_BUSY (too many in one turn), or an error of the
   file or the remote. Without a remote nothing is put or found. dir must stay
   valid. */
int store_content(struct store *s, const char *dir, struct str hex, bool put);
/* The same, but waits until it is done. For the command line; nothing may be
   staged, and no commit under way. */
int store_share(struct store *s, const char *dir, struct str hex,
                enum remote_content what);
/* Likewise lists the names of contents after hex, in order, each with a line
   feed; "": there are no more. Valid until the next call of the store. */
int store_contents(struct store *s, const char *hex, struct str *names);
/* Why the last one failed, in words; "" without a remote. */
const char *store_content_why(const struct store *s);
/* What to wait for while an operation of the remote is under way, and between
   calls of store_tend: as watch above. *fd -1 and *due_ms INT64_MAX
   without a remote. */
void store_watch(const struct store *s, int *fd, bool *write, int64_t *due_ms);
/* Sleeps until then. For the command line. */
void store_await(const struct store *s);
/* Tests whether a commit could succeed now. Needs the lock, with nothing
   staged. 0, or the remote's error. Waits as store_await does; 0 without a
   remote. */
int store_probe_hosts(struct store *s);
/* Asks member i of the remote about itself, and waits as store_await does.
   *what has the answer in words, until the next call. 0, or as examine
   above. */
int store_examine(struct store *s, unsigned i, const char **what);
/* Learns what other hosts commit: within 50 ms if somebody waits for it, else
   within a second. Call it between turns, when store_watch says so. */
void store_tend(struct store *s, bool waits);
/* The member of the remote in use, and how long it takes to answer, smoothed;
   NULL without a remote. */
const char *store_member(const struct store *s, int64_t *trip_us);
/* For how many milliseconds memory may have missed commits of other hosts; 0:
   for no longer than a turn takes. */
int64_t store_stale_ms(const struct store *s);
/* How long after its end a lease still counts for others, since clocks differ;
   0 without a remote. */
int64_t store_skew_ms(const struct store *s);
/* Whether it has a remote. */
bool store_is_shared(const struct store *s);

#endif
