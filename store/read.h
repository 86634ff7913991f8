#ifndef STORE_READ_H
#define STORE_READ_H

/* read - reads records by entry, by number, and in order. */

#include "store/state.h"

/* Offset to start reading at for record n: no earlier line has that number. */
int64_t store_search(int fd, int64_t end, uint64_t n);

#endif
