#ifndef ETCD_REMOTE_H
#define ETCD_REMOTE_H

/* remote - the order of the batches of several hosts, in etcd. */

#include "etcd/head.h"

/* Where a store of several hosts is:
   etcd://HOST:PORT,HOST:PORT/PREFIX?reads=local&patience=5000&artifacts=512 */
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

/* Makes the engine for a store at url, for the log at path; both texts must
   outlive it. auth is "user:password", or empty. It sends nothing yet. 0, or
   ERR_INVALID or ERR_NOMEM with *why. */
int remote_new(const struct remote **out, struct str url, struct str auth,
               const char *path, char why[256]);
/* The same for a store as --store or MCP_TASK_STORE names it, with the login
   from the file in MCP_TASK_STORE_AUTH. *why also says which of them is
   wrong. */
int remote_join(const struct remote **out, const char *url, const char *path,
                char why[256]);
/* NULL is allowed. The table has it as leave. */
void remote_free(const struct remote *r);

#endif
