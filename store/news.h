#ifndef STORE_NEWS_H
#define STORE_NEWS_H

/* news - what a replica and its remote (store/remote.h) tell each other. */

#include "base/base.h"

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

#endif
