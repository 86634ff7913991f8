#ifndef STORE_APPLY_H
#define STORE_APPLY_H

/* apply - a record into the index and to the kinds. */

#include "store/index.h"

/* A staged record, and what its entry was before, to be taken back. */
struct staged {
    struct staged *before, *next;
    struct store_entry *e;
    int64_t superseded;
    size_t at, len;         /* of its line, in the batch */
    struct store_entry old; /* the kind's entry_size bytes; n 0: new */
};

/* The kind of this number; for STORE_NO_KIND one that does nothing. */
const struct store_kind *store_kind(const struct store *s, uint8_t kind);
/* The index and its kinds learn of a record at off; told to the observer
   by store_tell. 0 or ERR_NOMEM, and then nothing has changed. */
int store_apply(struct store *s, const struct store_rec *r, int64_t off,
                struct store_entry **out);
void store_tell(struct store *s, const struct store_entry *e,
                const struct store_rec *r);
/* Begins to stage a record of key, whose entry is e, if there is one: what it
   was is noted, so that taking it back needs no memory and no disk. NULL: no
   memory. */
struct staged *store_note_old(struct store *s, struct str key,
                              const struct store_entry *e);
/* Takes the newest store_apply back. */
void store_unapply(struct store *s, struct staged *g);

#endif
