#ifndef STORE_READ_H
#define STORE_READ_H

/* read - reads records by entry, by number, and in order. */

#include "store/state.h"

/* Offset to start reading at for record n: no earlier line has that number. */
int64_t store_search(int fd, int64_t end, uint64_t n);
/* Looks at record n: the number of the first record of its batch, and its
   record_sum; both 0 if it is missing. Returns the offset of the lines after
   it. */
int64_t store_seek(int fd, int64_t end, uint64_t n, uint64_t *b,
                   uint32_t *sum);

#endif
