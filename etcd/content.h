#ifndef ETCD_CONTENT_H
#define ETCD_CONTENT_H

/* content - the contents of artifacts in etcd. */

#include "base/sha256.h"
#include "etcd/head.h"

struct engine;

/* The operation on a content that is under way. */
struct content {
    const char *dir;
    char hex[SHA256_HEX + 1];
    char about[HEAD_KEY]; /* the key of the content */
    bool changes;      /* the request makes a change */
    bool damaged;      /* in etcd: dropped, however young */
    struct buf buf;
    uint64_t next;     /* part to fetch */
    uint64_t parts, bytes, sum;  /* in etcd: of this one; of all */
    int64_t mod, sum_mod;        /* revisions of these; 0: none */
    uint64_t at_ms;              /* when this one was put last */
};

/* Begins what content of store/remote.h does. As an engine_fn. ERR_NOT_FOUND:
   the file, or the content, is not there; ERR_DAMAGED: its digest is not hex,
   and etcd no longer has it; ERR_FULL: there is room for no more; ERR_BUSY:
   other hosts keep changing it. */
int content_begin(struct engine *e, const char *dir, const char *hex,
                  enum remote_content what);

#endif
