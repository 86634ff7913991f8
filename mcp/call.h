#ifndef MCP_CALL_H
#define MCP_CALL_H

/* call - a deferred tool call, what MCP calls a Task: a call that outlives
   its request, as a record of the store. It says which tool was called with
   what, by whom, what it waits for and what it came to. What a tool is, and
   how a client hears of it, is mcp's to know. */

#include "base/base.h"

#define CALL_WATCH_MAX 320 /* bytes of what a call waits for, */
#define CALL_NAMES_MAX 2   /* and names in it */
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

/* A call as its newest record has it. Strings named raw are JSON texts. To
   change it, change members and call calls_stage. */
struct call {
    struct str id;
    uint64_t n;    /* of its newest record; 0: not stored yet */
    uint64_t born; /* of its first */
    enum call_status status;
    bool is_error; /* it ended with a tool's own error */
    struct str principal;
    struct str tool;
    struct str args;  /* raw object, .p NULL: absent */
    struct str shape; /* raw: what mcp needs to run it again; kept as it is */
    int64_t created_ms, updated_ms;
    int64_t ttl_ms; /* from created_ms on */
    uint64_t since; /* events above this are news to it */
    struct str watch; /* keys or other names of what it waits for, at most
                         two, a tab between them; empty */
    int64_t due_ms;   /* wall clock, when it is to be run again; 0: never */
    unsigned round;
    struct str state;     /* what the tool wants to find in its next round */
    struct str questions; /* raw array, .p NULL: absent; mcp's to shape */
    struct str message;   /* for people: why it is as it is; or empty */
    struct str result;    /* raw object once it has ended with one */
    struct str error;     /* raw object once it has failed with one */
};

/* Takes the first name from a watch; .p NULL: that was the last. */
struct str call_next_name(struct str *names);

/* Appends the body of k's record; op, a plain word, names what was done. */
void call_put(struct buf *b, const struct call *k, const char *op);
/* Reads a body into *k, but for id and n; texts with escapes are resolved in
   a. ERR_FORMAT: it is of a newer version; ERR_NOMEM. */
int call_read(struct arena *a, struct str body, struct call *k);
/* The same up to watch: all that the index holds stands first. */
int call_read_head(struct arena *a, struct str body, struct call *k);

#endif
