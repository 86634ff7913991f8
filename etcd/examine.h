#ifndef ETCD_EXAMINE_H
#define ETCD_EXAMINE_H

/* examine - the state of one endpoint. */

#include <stdint.h>

struct engine;

struct examine {
    unsigned at;       /* the endpoint */
    char version[24];  /* of its etcd */
    int64_t sent_ms;
};

/* Begins what examine of store/remote.h does. As an engine_fn. */
int examine_begin(struct engine *e, unsigned i);

#endif
