#ifndef ETCD_CONTENT_H
#define ETCD_CONTENT_H

/* content - the contents of artifacts in etcd. */

#include "etcd/engine.h"

/* Begins what content of store/remote.h says. As an engine_fn. ERR_NOT_FOUND:
   the file, or the content, is not there; ERR_DAMAGED: it is not what hex says,
   and in etcd no longer; ERR_FULL: there is room for no more; ERR_BUSY: others
   change it all the time. */
int content_begin(struct engine *e, const char *dir, const char *hex,
                  enum remote_content what);

#endif
