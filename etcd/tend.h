#ifndef ETCD_TEND_H
#define ETCD_TEND_H

/* tend - what the engine does between operations: its lease, the list of living
   processes, snapshots and the sweep behind them. One request at a time, so an
   operation waits for no more than one. */

#include "etcd/engine.h"

/* Asks for the next thing whose time has come, if there is one: e->then. */
void tend(struct engine *e);
/* When to call tend; INT64_MAX: never. */
int64_t tend_due(const struct engine *e);

/* As instance and alive in store/remote.h. */
uint64_t tend_instance(struct engine *e);
bool tend_alive(struct engine *e, uint64_t instance);

#endif
