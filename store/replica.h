#ifndef STORE_REPLICA_H
#define STORE_REPLICA_H

/* replica - what a store with a remote knows about it. replica.c describes the
   operations. */

#include "base/sha256.h"
#include "store/remote.h"

#define REPLICA_PATIENCE_MS 5000 /* of a turn that others overtake */
#define REPLICA_CONTENTS 64      /* of a turn */

struct store;

struct replica {
    const struct remote *remote;
    char head[REMOTE_HEAD_MAX]; /* the remote's text for record head_n */
    uint64_t head_n;
    enum remote_push push; /* of the next pull */
    struct remote_at at; /* as the operation under way began */
    int64_t began_ms;
    enum {
        REPLICA_IDLE, REPLICA_PULLS, REPLICA_COMMITS, REPLICA_PROBES,
        REPLICA_SHARES
    } doing;
    bool asked;   /* by the turn that waits for it; else by store_tend */
    bool wanted;  /* a store_commit is not finished */
    bool changed; /* since that began, memory has got others' batches */
    bool fresh;   /* memory has all that was committed before this turn */
    bool tended;  /* store_tend is called now and then */
    bool waits;   /* what it was last told */
    bool lags;    /* what was committed could not be written here */
    bool full;    /* the remote has refused a commit for lack of room */
    bool probed;  /* store_tend has just asked whether it has room again */

    int64_t fresh_ms;  /* memory had all that was committed until then */
    int64_t due_ms;    /* while idle: when to go on; 0: at once */
    int64_t next_ms;   /* when store_tend pulls */
    int64_t lost_ms;   /* since when others overtake this turn, 0: they do
                          not */
    int64_t skew_ms;   /* by how much the remote's clock is ahead */
    bool heard;        /* the remote has said so */
    int err;           /* why the last operation failed, 0: it did not */
    int64_t pause_ms;  /* for how long nothing is tried after that */
    int64_t until_ms;  /* when that is over */

    struct content {   /* that this turn needs */
        const char *dir;
        char hex[SHA256_HEX + 1];
        enum remote_content what;
        size_t at;     /* PUT: for the records staged after so many */
        int rc;        /* what came of it; ERR_PENDING: nothing yet */
    } contents[REPLICA_CONTENTS], *shared; /* the one under way */
    size_t n_contents;
    char why[256];     /* the last failure of one */
};

/* Whether a turn asks nothing of the remote, since it has failed: store_tend
   tries again, or pause_ms has to pass first. */
bool store_is_paused(const struct replica *r);
/* 0; ERR_SKEW: the clock differs too much from the remote's. */
int store_check_clock(struct store *s);

#endif
