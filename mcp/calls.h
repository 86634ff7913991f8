#ifndef MCP_CALLS_H
#define MCP_CALLS_H

/* calls - deferred tool calls: calls that outlive their request, as records of
   the store. MCP calls them tasks. A record holds the tool, its arguments and
   caller, what the call waits for, and its result. It says nothing of how a
   tool runs or how a client learns of it.

   A call waits for a record to change, for answers to its questions, for a
   time, or for several of these. Staging a record, or reading one that another
   process has committed, marks the calls that wait for it. calls_next_marked
   returns them, to be run again under the write lock. So no event is missed,
   whichever process sees it. A mark is a hint: the event may turn out to be of
   no use to the call, or be undone. */

#include "base/base.h"
#include "store.h"

/* ---- one call and its record ---- */

#define CALL_WATCH_MAX 336 /* bytes of a watch */
#define CALL_NAMES_MAX 2   /* names in a watch */
#define CALL_OWN_MAX 4     /* names that a record has beside its key */
#define CALL_TTL_MS ((int64_t)24 * 60 * 60 * 1000) /* the default */
#define CALL_MAX_TTL_MS ((int64_t)30 * 24 * 60 * 60 * 1000)

enum call_status { /* SEP-1686, SEP-2663 */
    CALL_WORKING,
    CALL_INPUT_REQUIRED,
    CALL_COMPLETED, /* from here on: ended */
    CALL_FAILED,
    CALL_CANCELLED,
    CALL_N_STATUSES
};
const char *call_status_name(enum call_status s);
bool call_status_ended(enum call_status s);

/* A call, from its newest record. Strings named raw are JSON texts. To change
   it, change members and call calls_stage. */
struct call {
    struct str id;
    uint64_t n;    /* of its newest record; 0: not stored yet */
    uint64_t born; /* of its first */
    enum call_status status;
    bool is_error; /* it ended with an error of its tool */
    struct str principal;
    struct str tool;
    struct str args;  /* raw object, .p NULL: absent */
    struct str shape; /* raw: what mcp needs to run it again; never changes */
    int64_t created_ms, updated_ms;
    int64_t ttl_ms; /* from created_ms on */
    uint64_t since; /* it has not seen events above this */
    struct str watch; /* keys, or other names, of what it waits for: at most
                         two, with a tab between them; or empty */
    int64_t due_ms;   /* wall clock, when it must run again; 0: never */
    unsigned round;
    struct str state;     /* the tool's, for its next round */
    struct str questions; /* raw array, .p NULL: absent; see dialect.h */
    struct str message;   /* for people: explains the status; or empty */
    struct str result;    /* raw object, if it has ended with one */
    struct str error;     /* raw object, if it has failed with one */
};

/* Takes the first name from a watch; returns .p NULL after the last. */
struct str call_next_name(struct str *names);

/* ---- all calls of a store ---- */

#define CALL_ID_LEN 22 /* characters of an id: 128 random bits, base64url */
#define CALL_MAX_OWN 1000  /* live calls of a principal */
#define CALL_MAX_ALL 10000 /* live calls of a store */

struct calls_options {
    unsigned max_own, max_all; /* live calls; 0: CALL_MAX_OWN, CALL_MAX_ALL */
    /* Returns other names by which a call may wait for a record, in the form of
       watch, in buf or in the record; or .p NULL. Their first bytes differ from
       that of the key. The function may be NULL. */
    struct str (*alias)(struct str key, struct str body,
                        char buf[CALL_WATCH_MAX]);
};

struct calls;

/* Makes the index over the records "call/<id>"; NULL if memory ran out. The
   order is calls_new, store_open with the kind from calls_kind, calls_bind; at
   the end store_close, then calls_free. */
struct calls *calls_new(const struct calls_options *o);
void calls_kind(struct calls *c, struct store_kind *out);
void calls_bind(struct calls *c, struct store *s);
void calls_free(struct calls *c);

/* Reads call id into memory of a. ERR_NOT_FOUND: this principal (.p NULL: any)
   has no such call, it has expired, or a newer version wrote it; ERR_GARBLED:
   its record is not JSON; or an error of store_read. */
int calls_get(struct calls *c, struct arena *a, struct str id,
              struct str principal, struct call *out);
/* Under the lock: checks the limits, gives k an id, created_ms and a ttl_ms
   within bounds (0 or less: the default), and stages its first record. Calls
   that have ended are not limited. ERR_TOO_LARGE: there are too many live
   ones, or it is too large; k->message then says which, for its client.
   ERR_NOMEM, ERR_IO, or an error of store_stage. */
int calls_create(struct calls *c, struct arena *a, struct call *k);
/* Whether a principal may have one more live call. */
bool calls_have_room(struct calls *c, struct str principal);
/* Under the lock: stages k with a new updated_ms, and removes its mark. op, a
   plain word, names the change. ERR_TERMINAL: the call has ended; ERR_VERSION:
   k is not its newest record; ERR_NOT_FOUND as for calls_get; or an error of
   store_stage. */
int calls_stage(struct calls *c, struct call *k, const char *op);

/* Whether the call should run again: it is marked, or due. False if it has
   ended or does not exist. */
bool calls_is_marked(struct calls *c, struct str id);
/* Whether it waits for answers; its record is not read. */
bool calls_has_questions(const struct calls *c, struct str id);
/* Marks the call because an answer has come; only in memory. A caller that
   records the answer without running the call in the same batch also sets
   due_ms. */
void calls_mark(struct calls *c, struct str id);
/* Marks the call if it is due; false if it has ended or does not exist. */
bool calls_mark_due(struct calls *c, struct str id);
/* Marks the calls that wait under this name, as a record of it would; only in
   memory. Whether any call waits for a name. */
void calls_wake(struct calls *c, struct str name);
bool calls_wait(const struct calls *c);
/* A run of the call found nothing in all that is committed: from now on
   calls_get returns the end of that as its since, in this process. */
void calls_saw(struct calls *c, struct str id);
/* Whether any call is marked. Due calls do not count until calls_is_marked
   finds them. */
bool calls_any_marked(const struct calls *c);
/* Removes the oldest mark, and returns the id of its call in id; false if there
   is none. */
bool calls_next_marked(struct calls *c, char id[CALL_ID_LEN + 1]);
/* Removes the mark of this call, if it has one. */
void calls_unmark(struct calls *c, struct str id);

/* Lists the calls of a principal (.p NULL: of all) that have not expired,
   newest first, born before `before` (0: from the newest on). Writes up to max
   ids and returns their number. *more tells whether older ones follow; *last
   is then the next `before`. */
size_t calls_list(struct calls *c, struct str principal, uint64_t before,
                  char ids[][CALL_ID_LEN + 1], size_t max, uint64_t *last,
                  bool *more);

struct calls_counts {
    uint64_t by_status[CALL_N_STATUSES]; /* not expired */
    int64_t oldest_ms; /* age of the oldest live one, or 0 */
    size_t bytes;      /* heap used besides the store's entries */
};
void calls_count(struct calls *c, struct calls_counts *out);

#endif
