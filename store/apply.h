#ifndef STORE_APPLY_H
#define STORE_APPLY_H

/* apply - applies records to the index and to their kinds. */

#include "store/index.h"

/* A staged record, and its entry's previous state for undo. */
struct staged {
    struct staged *before, *next;
    struct store_entry *e;
    int64_t superseded, live, held; /* the store's */
    size_t at, len;         /* its line in the batch */
    struct store_entry old; /* the kind's entry_size bytes; n is 0 for a new
                               entry */
};

/* Applies a record at off to the index and the kinds; store_tell tells the
   observer. 0, or ERR_NOMEM with nothing changed. */
int store_apply(struct store *s, const struct store_rec *r, int64_t off,
                struct store_entry **out);
void store_tell(struct store *s, const struct store_entry *e,
                const struct store_rec *r);
/* Begins staging a record of key with entry e, or NULL: saves the entry, so
   that undo needs no memory or disk. NULL: out of memory. */
struct staged *store_note_old(struct store *s, struct str key,
                              const struct store_entry *e);
/* Undoes the newest store_apply. */
void store_unapply(struct store *s, struct staged *g);

#endif
