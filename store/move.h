#ifndef STORE_MOVE_H
#define STORE_MOVE_H

/* move - from one generation to the next without reading it all anew. */

#include "store/log.h"

struct move {
    int fd;             /* of the old file */
    uint64_t left;      /* entries that lead there */
    uint64_t head;      /* that file's last n */
    int64_t superseded; /* bytes, in what was passed of the new file */
    int64_t base;       /* the same, before the end record */
    size_t swept;       /* buckets of the index without what is left */
    struct log log;     /* as far as it was passed */
    struct record_reader rd;
};

struct store;

/* Goes over to the log of the next generation, whose committed end is given;
   the old one has been read to its end. What is to be read from
   there, behind s->end, is up to the caller. false: memory cannot be kept,
   and nothing has changed. */
bool store_move_begin(struct store *s, const struct log_file *f, int64_t end);
/* One slice of about 1 MiB. ERR_MORE: there are more; 0: all is as it has to
   be; else the log is to be read anew. */
int store_move_slice(struct store *s);
void store_move_stop(struct store *s);

#endif
