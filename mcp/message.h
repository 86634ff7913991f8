#ifndef MCP_MESSAGE_H
#define MCP_MESSAGE_H

/* message - a message with its requests, new or waiting. */

#include "mcp/request.h"

struct mcp_message {
    struct mcp *m;
    struct mcp_session *s;
    const struct mcp_facts *f; /* while it is judged */
    int named;                 /* the revision in f->version, or -1 */
    bool modern;               /* its first value claims to be */
    struct arena *a;
    bool no_memory;            /* memory ran out while it was judged */
    bool batch, ends, made;     /* ends: of mcp_accept_end */
    bool queued;                /* counted in s, until mcp_release */
    bool http;
    struct str text;
    struct request *v;
    size_t n;
    /* while it waits; then it has an at */
    size_t len;           /* bytes of all this, as counted in waiting_len */
    struct mcp_message *next, **at; /* in m->waiting */
    void *owner;
    struct mcp_sink *sink;
    int64_t due_ms;  /* INT64_MAX: never */
    uint64_t watch[CALL_NAMES_MAX]; /* hashes of what it watches; 0: nothing */
    bool ready;      /* to be run again */
    bool given;      /* by mcp_next, and did not wait again since */
    bool cancelled;
    struct arena own;     /* holds it all */
    struct buf state;     /* call.state of its next run */

    struct mcp_session scratch; /* stands in for a session */
};

/* The text of t; .p is NULL if it is not a string, or if memory ran out, which
   ends the judging of m. */
struct str mcp_text_of(struct mcp_message *m, const struct json_tok *t);

#endif
