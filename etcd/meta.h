#ifndef ETCD_META_H
#define ETCD_META_H

/* meta - the description of a store in etcd:
   {"mcptask":1,"id":ID,"epoch":EPOCH,"min":VERSION,"snap":null or
   {"id":...,"head":...,"parts":K,"bytes":B,"at":MS,
   "upto":N,"sha256":...}} */

#include "base/sha256.h"
#include "etcd/head.h"

#define META_SNAP_ID 16 /* hex digits of a snapshot's id */

struct meta {
    char id[33]; /* of the store, as in a log's header */
    char epoch[HEAD_EPOCH + 1];
    struct {
        char id[META_SNAP_ID + 1]; /* "": there is no snapshot */
        struct head head;  /* of the store when it was taken */
        uint64_t parts, bytes;
        int64_t at_ms;     /* since then, by the clock of some host, */
        uint64_t upto;     /* snapshots have the batches up to this record */
        char sha256[SHA256_HEX + 1];
    } snap;
};

void meta_put(struct buf *b, const struct meta *m);
/* 0; ERR_VERSION: only a newer version reads this store: *newer, in a;
   ERR_FORMAT: not the meta of a store; ERR_NOMEM. */
int meta_read(struct arena *a, struct str text, struct meta *out,
              struct str *newer);

/* Compares versions "1.2.3", number by number. */
bool meta_is_newer(struct str a, struct str b);

#endif
