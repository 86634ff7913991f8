#ifndef TEST_WORLD_H
#define TEST_WORLD_H

/* world - a server without descriptors: a store with its deferred calls and
   sessions, their signer, and mcp with a catalogue. Two worlds at one path are
   two processes. The caller zeroes it first. */

#include "mcp/calls.h"
#include "mcp/message.h"
#include "mcp/session.h"
#include "mcp/sign.h"

struct world {
    char path[320]; /* of the log */
    struct calls_options opt;
    int64_t compact_at;
    struct store_kind kinds[3]; /* calls, sessions, and another if it has a
                                   prefix */
    struct store *s;
    struct calls *calls;
    struct sign *sign;
    struct mcp *m; /* NULL: without a catalogue */
    struct arena a;
    /* What world_run leaves. */
    struct buf out, notes;
    enum mcp_status status;
    struct mcp_message *kept;  /* the last one kept */
    char made[MCP_ID_MAX];     /* the session made */
};

/* Names a log in a fresh directory. */
void world_place(struct world *w);

/* Opens the store at w's path, with a catalogue or NULL, whose resources are
   told of each record. Returns 0 or an error, after which nothing is open. */
int world_try(struct world *w, const struct mcp_catalogue *c, bool readonly);

/* The same, or the program ends. */
void world_open(struct world *w, const struct mcp_catalogue *c);

/* A world with w's path and options that is not open. */
struct world world_beside(const struct world *w);

/* Ends it like a killed process: nothing is sent, no stream is closed. */
void world_close(struct world *w);

/* Ends mcp only, if it is there, and serves another catalogue. */
void world_serve(struct world *w, const struct mcp_catalogue *c);

/* Whether others may use the file of the signer's key, which then is none. */
void world_expose_key(struct world *w, bool others);

/* ---- clients ---- */

#define HEARD 1024

struct who {
    const char *principal;
    bool read_only;
    struct mcp_session *s; /* of its pipe or stream */
    char id[MCP_ID_MAX];   /* of its HTTP session, or "" */
    struct mcp_channel pipe, post;
    char *said[HEARD];     /* what it was told, oldest first */
    char event[HEARD][MCP_EVENT_MAX];
    bool posted[HEARD];    /* on the stream of a request */
    size_t n, read;        /* n: told; read: by next */
};

void who_init(struct who *w, const char *principal);

/* The same on the heap, until who_free. */
struct who *who_new(void);
void who_free(struct who *w);

/* Forgets what it was told. */
void who_forget(struct who *w);

/* Tells it something; on the stream of a request: posted. */
void who_hear(struct who *w, struct str text, struct str event, bool posted);

#endif
