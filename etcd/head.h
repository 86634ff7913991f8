#ifndef ETCD_HEAD_H
#define ETCD_HEAD_H

/* head - the texts that a store has in etcd: its keys, its head, its batches,
   and its description, meta.
   All keys begin with the store's prefix P:

   P/head         "1 EPOCH N WID SUM": format; 16 hex digits, new at each create
                  and push; newest record; id of its batch; record_sum
   P/meta         JSON, see struct meta
   P/b/<n>        a batch, by its first record: a line {"w":WID,"p":WID of the
                  batch before,"h":host}, then the records' lines
   P/s/<id>/<i>   part i of a snapshot, which is a whole log
   P/a            bytes of all contents, see etcd/content.c
   P/a/<sha256>   "PARTS BYTES AT": of a content
   P/c/<sha256>/<i>  part i of it
   P/key          the key that signs sessions, as in <log>.key
   P/i/<n>        the host of a process, while its lease lives */

#include "base/sha256.h"
#include "store/record.h"
#include "store/remote.h"

#define HEAD_WID 32      /* hex digits */
#define HEAD_EPOCH 16
#define HEAD_PREFIX 128  /* longest prefix */
#define HEAD_KEY 96    /* longest key without it, with its NUL */

struct head {
    char epoch[HEAD_EPOCH + 1];
    uint64_t n;
    char wid[HEAD_WID + 1]; /* zeros: no batch yet, or unknown */
    uint32_t sum;
};

/* The head of an epoch before its first batch. */
struct head head_first(const char epoch[HEAD_EPOCH + 1]);
/* False: not a head's text. */
bool head_parse(struct str text, struct head *out);
void head_text(const struct head *h, char out[REMOTE_HEAD_MAX]);
bool head_equal(const struct head *a, const struct head *b);

struct head_key {
    char z[HEAD_KEY];
};
/* Formats a key without the prefix. */
struct head_key head_key(const char *fmt, ...) PRINTF(1, 2);
#define HEAD_BATCH "b/%016llu"
#define HEAD_PART "s/%s/%06llu"
#define PART_MAX (512 * 1024) /* bytes; etcd takes requests of 1.5 MiB */

struct batch {
    char wid[HEAD_WID + 1];
    char before[HEAD_WID + 1]; /* the batch before this one */
    struct str host;           /* that committed it, raw JSON */
    struct str lines;          /* of its records */
    uint64_t first, last;      /* their numbers */
    struct str newest;         /* the last line, without its line feed */
};

void batch_put(struct buf *b, const char *wid, const char *before,
               const char *host, struct str lines);
/* Reads what batch_put wrote. 0 or ERR_FORMAT. */
int batch_read(struct str value, struct batch *out);
/* Reports a record from another host that is not JSON on stderr, unless
   *reported, which it sets. The record is accepted even so: its place in the
   order of all hosts is fixed, and only its key is damaged. */
void batch_check(const struct store_rec *r, const char *prefix, bool *reported);

#define META_SNAP_ID 16 /* hex digits of a snapshot's id */

/* The description of a store:
   {"mcptask":1,"id":ID,"epoch":EPOCH,"min":VERSION,"snap":null or
   {"id":...,"head":...,"parts":K,"bytes":B,"at":MS,
   "upto":N,"sha256":...}} */
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
