#ifndef ETCD_TEND_H
#define ETCD_TEND_H

/* tend - what the engine does between operations: its lease, the list of living
   processes, snapshots and the sweep after them. One request at a time, so an
   operation waits for no more than one. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LIFE_MAX 1024 /* living processes that are known */
#define LIFE_DOUBTS 256

struct engine;

/* What the engine knows of processes: its own, and those of other hosts. */
struct life {
    uint64_t instance;   /* 0: not needed yet */
    int64_t lease;       /* 0: not granted */
    bool put;            /* the key is there */
    int64_t due_ms, renewed_ms;
    int64_t rest_ms;     /* until then nothing is sent: memory ran out */
    int64_t wanted_ms;   /* when tend_alive was last called */
    int64_t requested_ms; /* when the list under way was requested, */
    int64_t list_ms;      /* and when the one in living was */
    uint64_t living[LIFE_MAX];
    size_t n_living;
    struct {
        uint64_t instance;
        int64_t since_ms;
    } doubt[LIFE_DOUBTS];
    unsigned next_doubt;
};

/* Sends the next request that is due. Returns whether there is one. */
bool tend(struct engine *e);
/* When to call tend; INT64_MAX: never. */
int64_t tend_due(const struct engine *e);

/* As instance, alive and gone in store/remote.h. */
void tend_instance(struct engine *e, uint64_t instance);
bool tend_alive(struct engine *e, uint64_t instance);
bool tend_gone(struct engine *e, uint64_t instance);

#endif
