#ifndef ETCD_ENGINE_H
#define ETCD_ENGINE_H

/* engine - what the engine knows, and how it sends requests to etcd. */

#include "etcd/client.h"
#include "etcd/content.h"
#include "etcd/remote.h"
#include "etcd/txn.h"

#define LIFE_MAX 1024 /* living processes that are known */
#define LIFE_DOUBTS 256
#define KEY_LEN 32    /* of the key that signs sessions */

struct engine;
/* One request is under way at a time. An operation of the store follows one
   that belongs to none. */
enum engine_state {
    ENGINE_IDLE,    /* no request is under way */
    ENGINE_TENDS,   /* a request of no operation is under way */
    ENGINE_WAITS,   /* likewise; body is the first one of an operation */
    ENGINE_OPERATES /* one of an operation is, or is about to be sent */
};

/* Takes the answer to a request. 0: e->news is ready; ERR_PENDING: it has sent
   another one; ERR_AGAIN: attach again; or an error of remote's step. */
typedef int engine_fn(struct engine *e, const struct txn_answer *t);

struct engine {
    struct etcd *client;
    struct etcd_url url;
    const char *log;   /* path of the local log */
    char host[65];

    enum engine_state state;
    engine_fn *then;   /* takes the answer to the request under way; in TENDS
                          and WAITS it gets NULL if that failed, and sends
                          nothing */
    bool is_txn;       /* that request is a transaction */
    engine_fn *first;  /* in WAITS: takes the answer to body */
    struct txn body;   /* of the next request */
    struct arena mem;  /* of the answer */
    char why[256];

    char key[KEY_LEN];      /* offered by make */
    struct meta meta;  /* of the store as of the last attach */
    int64_t meta_mod, head_mod; /* revisions of meta and head; 0: none */
    const char *attached; /* the endpoint at which this process has seen that
                             store and log agree; NULL: not yet */
    int64_t skew_ms;   /* by how much the clock of the last one that answered is
                          ahead of this host's */
    enum { DOUBT_NO, DOUBT_GAP, DOUBT_CHAIN } doubt; /* why it attaches again */
    unsigned tries;    /* how often, in this operation */

    struct remote_at at; /* of the operation */
    struct head mine;    /* at.head, or what it was found to be */
    bool known;          /* mine is known */
    struct head next;    /* of the batch offered */
    bool committing;
    bool reported;       /* in this operation: see batch_check */
    uint64_t window;     /* how many records a request is for */
    char ahead[65];      /* the host last reported whose clock is ahead */

    struct remote_news news;
    struct buf lines;
    char aside[48];
    struct {           /* a log being made */
        char *path;
        int fd;        /* or -1 */
        int64_t len;
        bool header;   /* it has one */
        struct buf in, out;
        struct sha256 sum;
        uint64_t part; /* requested next */
    } file;

    struct content content;
    struct {           /* see etcd/snapshot.c */
        int state, fd;
        int64_t end, due_ms, revision;
        struct meta meta;    /* as it will be; its parts are those put */
        struct sha256 sum;
        uint64_t summed;     /* parts in sum */
        engine_fn *pushed;   /* NULL: not a push */
    } up;
    struct {
        int state;
        int64_t due_ms, revision;
        int64_t meta_mod;    /* of the snapshot that covers the batches */
        char epoch[HEAD_EPOCH + 1];
        uint64_t base, from;
    } sweep;
    struct { /* processes: this one, and those of other hosts */
        uint64_t instance;   /* 0: not needed yet */
        int64_t lease;       /* 0: not granted */
        bool put;            /* the key is there */
        int64_t due_ms, renewed_ms;
        int64_t rest_ms;     /* until then nothing is sent: memory ran out */
        int64_t wanted_ms;   /* when remote_alive was last called */
        int64_t requested_ms; /* when the list under way was requested, */
        int64_t list_ms;      /* and when the one in living was */
        uint64_t living[LIFE_MAX];
        size_t n_living;
        struct {
            uint64_t instance;
            int64_t since_ms;
        } doubt[LIFE_DOUBTS];
        unsigned next_doubt;
    } life;
    struct {           /* the examination of one endpoint */
        unsigned at;
        char version[24]; /* of its etcd */
        int64_t sent_ms;
    } examine;
};

/* Sets why and returns err. */
int engine_fail(struct engine *e, int err, const char *fmt, ...) PRINTF(3, 4);
/* What a person does about a store that lacks something. */
#define ENGINE_REPAIR "run \"mcptask push --continue\" on a host that has " \
                      "all records"
/* The path of the local log, or of the file it links to, with the suffix; one
   that ends in "-" is followed by the number of this process. Makes the
   directory. On the heap, or NULL. */
char *engine_path(struct engine *e, const char *suffix);
/* Sends e->body and empties it; in WAITS it must be a transaction, and is sent
   later. ERR_PENDING or ERR_NOMEM. */
int engine_send(struct engine *e, const char *path, engine_fn *then);
/* Sends it to endpoint i alone; not in WAITS. */
int engine_send_to(struct engine *e, unsigned i, const char *path,
                   engine_fn *then);
/* Ends the transaction in e->body and sends it. */
#define TXN "/v3/kv/txn"
int engine_send_txn(struct engine *e, engine_fn *then);

#endif
