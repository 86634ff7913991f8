#ifndef ETCD_URL_H
#define ETCD_URL_H

/* url - where a store of several hosts is:
   etcd://HOST:PORT,HOST:PORT/PREFIX?reads=local&patience=5000&artifacts=512 */

#include "etcd/head.h"

struct etcd_url {
    struct str endpoints; /* of text */
    char prefix[HEAD_PREFIX + 1];
    bool local_reads;     /* reads=local */
    bool shared;          /* shared=1: others use this etcd, too */
    int64_t patience_ms;  /* of a commit; 5,000 */
    uint64_t artifacts_mib; /* room for their contents; 512; 0: etcd has none */
};

/* Reads text, which must outlive out. 0, or ERR_INVALID with *why. */
int etcd_url_read(struct str text, struct etcd_url *out, char why[256]);

#endif
