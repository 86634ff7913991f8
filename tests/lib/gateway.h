#ifndef TEST_GATEWAY_H
#define TEST_GATEWAY_H

/* A member of a fake cluster: etcd's JSON gateway on a loopback port, in the
   test's own thread. It works only inside gateway_step, so the test decides
   what has happened by when. Several members can stand before one map.

   It answers as etcd 3.4 does: chunked above 2 KB, errors with a trailer; or,
   with map->spaced, as 3.5.16 does. Faults are planned by the number of the
   request. */

#include "base/base64.h"
#include "base/clock.h"
#include "http/parse.h"
#include "json.h"

#include <poll.h>

/* ---- the map behind it ---- */

/* What stands behind the fake gateway: keys with revisions, transactions and
   leases, asked and answered in JSON as by etcd 3.4's gateway: numbers of 64
   bits as strings, zeros and empty values absent, the same order of members.

   A member of a request that etcd would ignore is an error here: the program
   sends none without a purpose. */

#define GW_MAX_OPS 128
#define GW_MAX_REQUEST 1572864
#define GW_LEASES 64

struct gw_kv {
    struct str key, value; /* on the heap */
    int64_t create, mod, version, lease;
};

struct gw_lease {
    int64_t id, ttl, due_ms;
};

struct gw_map {
    struct gw_kv *kv; /* sorted by key */
    size_t n, cap;
    int64_t revision, compacted;
    struct gw_lease lease[GW_LEASES];
    size_t leases;
    int64_t next_lease;
    bool full;     /* the quota is reached: no puts */
    bool spaced;   /* answers as Debian's 3.5.16 writes them: a blank after each
                      comma, errors without "error" and trailer */
    struct str allowed; /* prefix of the keys a user may touch; .p NULL: all */
    struct arena arena;
    const char *error; /* of the current request, with its code */
    int code;
};

/* ---- reading requests ---- */

/* ---- keys ---- */

/* The place of the first key that is not less than key. */
size_t gw_place(const struct gw_map *m, struct str key);
struct gw_kv *gw_find(struct gw_map *m, struct str key);

/* For tests: the value of a key given as text; .p NULL: there is none. */
struct str gw_value(struct gw_map *m, const char *key);
void gw_set(struct gw_map *m, struct str key, struct str value, int64_t lease,
            int64_t revision);
void gw_remove(struct gw_map *m, size_t i);

/* ---- answers ---- */

/* ---- transactions ---- */

/* ---- leases ---- */

/* Ends a lease and removes its keys. */
void gw_lease_end(struct gw_map *m, struct gw_lease *l);

/* ---- requests ---- */

/* ---- the gateway ---- */

#define GATEWAY_CONNS 64
#define GATEWAY_FAULTS 32
#define GATEWAY_HELD 8

enum gateway_fault {
    GATEWAY_LOSE,        /* closes instead: no effect */
    GATEWAY_LOSE_ANSWER, /* takes effect, then closes */
    GATEWAY_TWICE,       /* takes effect twice; the first answer counts */
    GATEWAY_HOLD,        /* until gateway_release: no effect, no answer */
    GATEWAY_HOLD_ANSWER, /* takes effect; the answer waits for that */
    GATEWAY_CUT,         /* takes effect; closes after n bytes of the answer */
    GATEWAY_ERROR,       /* code n of gRPC with this text: no effect */
    GATEWAY_ERROR_AFTER, /* the same, but it has taken effect */
    GATEWAY_SAY          /* these bytes, then closes: no effect */
};

struct gateway_conn {
    int fd; /* -1: free */
    struct buf in, out;
    struct http_scan scan;
    bool closing;   /* once out is written */
};

struct gateway_held {
    struct gateway_conn *conn; /* NULL: it was closed meanwhile */
    bool used, done;           /* has taken effect */
    char path[64];
    struct str body; /* of the request, or with done the answer; on the heap */
};

struct gateway {
    struct gw_map own, *map;
    int fd;
    uint16_t port;
    char endpoint[32]; /* 127.0.0.1:PORT */
    struct gateway_conn conn[GATEWAY_CONNS];
    struct {
        uint64_t at; /* number of the request; 0: free */
        enum gateway_fault kind;
        int n;
        const char *text;
    } fault[GATEWAY_FAULTS];
    struct gateway_held held[GATEWAY_HELD];
    uint64_t requests, accepted; /* so far */
    char last_path[64];          /* of the newest request */
    const char *user, *password; /* NULL: authentication is off */
    unsigned logins;             /* tokens given out; the last one counts */
    bool younger;    /* than its tokens: etcd, restored from a backup or made
                        anew, answers those only when its log is as long */
    int64_t date_ms; /* how far its clock is ahead */
    size_t drip;     /* bytes written in a step; 0: all */
    size_t chunk;    /* bytes of a chunk; 0: all in one */
    bool frozen;     /* as if stopped by SIGSTOP */
    const char *version; /* NULL: 3.4.23 */
};

/* ---- sockets ---- */

/* Makes a member with keys of its own, or those of another one. */
struct gateway *gateway_new(struct gw_map *map);

/* Closes every connection. */
void gateway_hang_up(struct gateway *g);

/* The process has ended: connections are closed, new ones refused. The port
   stays taken. */
void gateway_down(struct gateway *g);
void gateway_up(struct gateway *g);
void gateway_free(struct gateway *g);

/* ---- answers ---- */

/* ---- requests ---- */

/* Plans the fault of a request; after 0 is the next one. */
void gateway_plan(struct gateway *g, uint64_t after, enum gateway_fault kind,
                  int n, const char *text);

/* Lets the oldest held request go on, or the newest. Returns whether there was
   one. Nobody gets the answer if the client has closed. */
bool gateway_release(struct gateway *g, bool newest);

/* Forgets the token. */
void gateway_expire(struct gateway *g);

/* ---- the loop ---- */

/* Reads what has come and writes what it can, without waiting. */
void gateway_step(struct gateway *g);

/* Serves until the process is killed: for a child of the test. */
void gateway_serve(struct gateway *g);

#endif
