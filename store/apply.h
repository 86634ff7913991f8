#ifndef STORE_APPLY_H
#define STORE_APPLY_H

/* apply - a record into the index and to the kinds. */

#include "store/state.h"

/* The kind of a key, and of an entry. What is of no kind is of one that does
   nothing. */
uint8_t store_kind_of(const struct store *s, struct str key);
const struct store_kind *store_kind(const struct store *s, uint8_t kind);
/* The index and its kinds learn of a record at off; told to the observer
   by store_tell. 0 or ERR_NOMEM, and then nothing has changed. */
int store_apply(struct store *s, const struct store_rec *r, int64_t off,
                struct store_entry **out);
void store_tell(struct store *s, const struct store_entry *e,
                const struct store_rec *r);

#endif
