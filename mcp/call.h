#ifndef MCP_CALL_H
#define MCP_CALL_H

/* call - a deferred tool call: one that outlives its request, as a record of
   the store. MCP calls it a task. The record holds the tool, its arguments and
   caller, what the call waits for, and its result. The record says nothing of
   how a tool runs or how a client learns of it. */

#include "base/base.h"

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
    struct str questions; /* raw array, .p NULL: absent; see question.c */
    struct str message;   /* for people: explains the status; or empty */
    struct str result;    /* raw object, if it has ended with one */
    struct str error;     /* raw object, if it has failed with one */
};

/* Takes the first name from a watch; returns .p NULL after the last. */
struct str call_next_name(struct str *names);

/* Appends the body of k's record; op, a plain word, names the change. */
void call_put(struct buf *b, const struct call *k, const char *op);
/* Reads a body into *k, but for id and n; resolves texts with escapes in a.
   Returns 0, ERR_NOMEM, or ERR_FORMAT if a newer version wrote it. */
int call_read(struct arena *a, struct str body, struct call *k);
/* The same, but only up to watch: the fields of the index come first. */
int call_read_head(struct arena *a, struct str body, struct call *k);

#endif
