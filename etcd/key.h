#ifndef ETCD_KEY_H
#define ETCD_KEY_H

/* key - the key in <log>.key, which all hosts of a store share: what one of
   them signs is good on each. mcp/sign.c uses the file. */

#include "etcd/engine.h"

#define KEY_LEN 32

/* Offers the key of this host, or a new one, for a new store. 0, ERR_IO. */
int key_offer(struct engine *e, char out[KEY_LEN]);
/* Makes the store's key that of this host. A file that cannot be written is for
   sign.c to report. */
void key_keep(struct engine *e, struct str key);

#endif
