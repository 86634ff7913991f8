#ifndef CLI_SERVICE_H
#define CLI_SERVICE_H

/* service - a server that this machine runs as a service, with a store of its
   own: see docs/install.md. */

#include "cli/command.h"
#include "base/file.h"

struct service {
    const char *server; /* for --server */
    char closed[200];   /* who may open its socket, if this user may not: see
                           service_put_closed; or "" */
};

/* Looks for one by its files, without connecting to it. False also if its store
   is that of c. */
bool service_find(const struct cli *c, struct service *out);
/* If this user's own store has no task and there is a service, says on a
   terminal's stderr how to reach that. */
void service_hint(struct cli *c);
/* Says who may open the socket at path, to follow "is", and how this user joins
   them. False: there is no such file. */
bool service_put_closed(const char *path, char *out, size_t cap);

#endif
