#ifndef MCP_CALLS_H
#define MCP_CALLS_H

/* calls - all deferred calls of a store, and what wakes them.

   A call waits for a change of one thing, for answers to its questions, for
   a time, or for several of these. Whoever stages a record, or sees one that
   another process has committed, thereby marks the calls that wait for it;
   calls_next_marked gives those out, to be run again under the write lock. So
   no event is missed, and no process has to be there when one comes. A mark
   is a hint: what made it may be of no use to the call, or was undone. */

#include "mcp/call.h"
#include "store.h"

#define CALL_ID_LEN 22 /* characters of an id: 128 random bits, base64url */
#define CALL_MAX_OWN 1000  /* live calls of a principal */
#define CALL_MAX_ALL 10000 /* live calls of a store */

struct calls_options {
    unsigned max_own, max_all; /* live calls; 0: CALL_MAX_OWN, CALL_MAX_ALL */
    /* Other names by which a record can be waited for, as watch has them, in
       buf or in the record, or .p NULL. Their first bytes are not that of the
       key. The function may be NULL. */
    struct str (*alias)(struct str key, struct str body,
                        char buf[CALL_WATCH_MAX]);
};

struct calls;

/* The index over the records "call/<id>". The order: calls_new, store_open
   with what calls_kind filled in, calls_bind; at the end store_close, then
   calls_free. NULL: no memory. */
struct calls *calls_new(const struct calls_options *o);
void calls_kind(struct calls *c, struct store_kind *out);
void calls_bind(struct calls *c, struct store *s);
void calls_free(struct calls *c);

/* Reads call id; memory in a. ERR_NOT_FOUND: this principal (.p NULL: any) has
   no such call, its time is over, or it is of a newer version; else what
   store_read says. */
int calls_get(struct calls *c, struct arena *a, struct str id,
              struct str principal, struct call *out);
/* Checks the limits, gives k an id, created_ms, a ttl_ms within bounds (0 or
   less: the default) and stages its first record, under the lock. Status may
   be one that has ended: those are not limited. ERR_TOO_LARGE: there are too
   many live ones, or it is too large: k->message then says which, for the
   caller's eyes. ERR_NOMEM, ERR_IO, or what store_stage says. */
int calls_create(struct calls *c, struct arena *a, struct call *k);
/* Whether a principal may have one more live one. */
bool calls_have_room(struct calls *c, struct str principal);
/* Stages k as it is now, with updated_ms, under the lock; op, a plain word,
   names what was done. It takes the call's mark off. ERR_TERMINAL: its newest
   record has ended; ERR_VERSION: k is not its newest record; ERR_NOT_FOUND as
   for calls_get; or what store_stage says. */
int calls_stage(struct calls *c, struct call *k, const char *op);

/* Whether the call can be run again with profit: it is marked, or its time
   has come. False for what has ended, or is not there. */
bool calls_is_marked(struct calls *c, struct str id);
/* Marks it by hand: an answer has come. Memory only: who records the answer
   and does not run the call in the same batch sets due_ms as well. */
void calls_mark(struct calls *c, struct str id);
/* Marks it if its time has come; false: it has ended, or is not there. */
bool calls_mark_due(struct calls *c, struct str id);
/* A run of it has come to nothing by all that is committed: from here on, in
   this process, calls_get gives the end of that as its since. */
void calls_saw(struct calls *c, struct str id);
/* Whether there are any marked ones. Those whose time has come are not among
   them: who reads one finds it with calls_is_marked. */
bool calls_any_marked(const struct calls *c);
/* Takes the mark off one, oldest mark first, and gives its id out in id;
   false: there are no more. */
bool calls_next_marked(struct calls *c, char id[CALL_ID_LEN + 1]);
/* Takes the mark off this one, where it has one. */
void calls_unmark(struct calls *c, struct str id);

/* The calls of a principal, newest first, from the one behind born `before`
   (0: the newest) on: up to max ids into ids, their count; *more says whether
   there are others behind them, *last what before is for those. With
   principal.p NULL: of all. Those whose time is over are left out. */
size_t calls_list(struct calls *c, struct str principal, uint64_t before,
                  char ids[][CALL_ID_LEN + 1], size_t max, uint64_t *last,
                  bool *more);

struct calls_counts {
    uint64_t by_status[CALL_N_STATUSES]; /* whose time is not over */
    int64_t oldest_ms; /* age of the oldest live one, or 0 */
    size_t bytes;      /* heap held beside store's entries */
};
void calls_count(struct calls *c, struct calls_counts *out);

#endif
