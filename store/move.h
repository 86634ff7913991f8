#ifndef STORE_MOVE_H
#define STORE_MOVE_H

/* move - changes to the next generation without reading it all again. */

#include "store/log.h"

struct move {
    int fd;             /* of the old file */
    uint64_t left;      /* entries that still refer to it */
    uint64_t head;      /* its last n */
    int64_t superseded; /* bytes, in the part of the new file passed so far */
    int64_t held;       /* of these, kept although not the newest, less the
                           store's held before */
    int64_t base;       /* the same, up to the end record */
    size_t swept;       /* buckets already swept */
    struct log log;     /* progress of the pass */
    struct record_reader rd;
};

struct store;

/* Changes to the next generation's log; end is its committed end. The old file
   has been read to its end. The caller reads what follows s->end in the new
   one. Returns false, with nothing changed, if memory cannot be kept. */
bool store_move_begin(struct store *s, const struct log_file *f, int64_t end);
/* Does one slice, about 1 MiB. ERR_MORE: more remain; 0: done; else the log
   must be read again. */
int store_move_slice(struct store *s);
void store_move_stop(struct store *s);

#endif
