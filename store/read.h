#ifndef STORE_READ_H
#define STORE_READ_H

/* read - records by their entry, by number, in order. */

#include "store/state.h"

/* Where to begin to read for record n: no line before it has that number. */
int64_t store_search(int fd, int64_t end, uint64_t n);

#endif
