#ifndef ETCD_TXN_H
#define ETCD_TXN_H

/* txn - writes transactions for etcd's gateway and reads their answers. */

#include "json.h"

/* A request that is being written. Callers pass keys without the prefix and the
   slash after it. */
struct txn {
    struct buf b;
    const char *prefix;
};

/* A transaction is written front to back: any txn_if, txn_then, any operations,
   txn_else with others if it is wanted, txn_end. */
void txn_if_value(struct txn *t, const char *key, struct str value);
void txn_if_mod(struct txn *t, const char *key, int64_t revision);
void txn_then(struct txn *t);
void txn_else(struct txn *t);
/* lease 0: the key stays. */
void txn_put(struct txn *t, const char *key, struct str value, int64_t lease);
/* The key, or, with an end, those from it up to, not including, the end. */
void txn_range(struct txn *t, const char *key, const char *end);
/* The first n of these keys. */
void txn_first(struct txn *t, const char *key, const char *end, unsigned n);
void txn_delete(struct txn *t, const char *key, const char *end);
void txn_end(struct txn *t);

struct txn_answer {
    const struct json_tok *root; /* all of it */
    size_t len;                  /* its bytes */
    bool succeeded;
    int64_t revision; /* of all of etcd */
    const struct json_tok *responses;
};
/* Reads an answer, to a transaction or another request; what it refers to is in
   a and in body. 0, ERR_FORMAT, ERR_NOMEM. */
int txn_read(struct arena *a, struct str body, bool is_txn,
             struct txn_answer *out);

struct txn_kv {
    struct str key, value; /* decoded */
    int64_t mod;           /* revision of the newest change */
};
/* Iterates over the keys that operation i found: the first for a NULL kv, else
   the one after; NULL: no more. */
const struct json_tok *txn_next(const struct txn_answer *t, uint32_t i,
                                const struct json_tok *kv);
/* Decodes a key. 0, ERR_FORMAT, ERR_NOMEM. */
int txn_kv(struct arena *a, const struct json_tok *kv, struct txn_kv *out);
/* The only key that operation i found. 0, ERR_NOT_FOUND or as txn_kv. */
int txn_only(struct arena *a, const struct txn_answer *t, uint32_t i,
             struct txn_kv *out);
/* A member, which is a number in a string; 0: absent. */
int64_t txn_number(const struct json_tok *obj, const char *name);

#endif
