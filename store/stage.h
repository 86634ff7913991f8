#ifndef STORE_STAGE_H
#define STORE_STAGE_H

/* stage - the batch; store_stage, store_unstage and others are in store.h. */

#include "store/state.h"

/* store_commit to the log of this host. */
int store_commit_here(struct store *s, bool *unknown);

#endif
