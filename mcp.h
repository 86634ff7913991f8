#ifndef MCP_H
#define MCP_H

/* mcp - JSON-RPC 2.0 and the Model Context Protocol in all its revisions:
   envelopes, versions, the method table, the shape of results. It is given a
   catalogue and the facts of a message, and knows neither task nor HTTP. */

#include "base.h"
#include "json.h"

enum mcp_rev { /* in order of time, so that they compare */
    MCP_2024_11_05,
    MCP_2025_03_26,
    MCP_2025_06_18,
    MCP_2025_11_25,
    MCP_2026_07_28,
    MCP_N_REVS
};

/* ---- what a catalogue offers ---- */

/* One call of a tool, or one look at resources. What it stages in a store
   is committed by the caller of mcp_run; it may be run again. */
struct mcp_call {
    void *ctx;                   /* the catalogue's */
    struct arena *arena;         /* lives until the answer is out */
    enum mcp_rev rev;
    struct str client;           /* clientInfo.name, or empty */
    struct str principal;        /* who is authorised; empty: the one */
    const struct json_tok *args; /* an object, or NULL when absent */
    void *prepared;              /* what the tool's prepare left here */
    struct buf *out;             /* see mcp_tool.run */
    bool is_error;
};

struct mcp_tool {
    const char *name;
    const char *title;
    const char *description;
    const char *input_schema; /* JSON text of an object */
    bool writes;              /* run under the write lock, and committed */
    bool destructive, idempotent;
    /* Work that needs no lock and must be done before it, as syncing a file.
       May be NULL. 0, or an error that run will see in prepared. */
    void (*prepare)(struct mcp_call *c);
    /* Appends one JSON object, on one line, to c->out: the structured
       content, or with c->is_error the error. Sets nothing else. ERR_NOMEM,
       or 0. */
    int (*run)(struct mcp_call *c);
};

struct mcp_template {
    const char *uri_template;
    const char *name, *title, *description, *mime_type;
};

struct mcp_catalogue {
    const char *name, *title, *version; /* of the server */
    const char *instructions;           /* NULL: none */
    const char *website;                /* NULL: none */
    void *ctx;
    const struct mcp_tool *tools;
    size_t n_tools;
    const struct mcp_template *templates;
    size_t n_templates;
    /* Appends resource objects, comma separated, to c->out; *next is the
       cursor of the next page or empty. ERR_INVALID: not a cursor of ours.
       NULL together with resource_read: no resources. */
    int (*resources)(struct mcp_call *c, struct str cursor, struct str *next);
    /* Appends contents objects, comma separated. ERR_NOT_FOUND: no such
       resource. Others: an internal error. */
    int (*resource_read)(struct mcp_call *c, struct str uri);
};

/* ---- one message ---- */

/* What initialize agreed with a peer, and what it set since. Zeroed = new. */
struct mcp_session {
    bool initialized; /* an initialize was answered */
    enum mcp_rev rev;
    int log_level;    /* RFC 5424 severity asked for, 0-7; default 6 */
    char client[64];  /* clientInfo.name, cut */
};

/* What a transport knows of a message beside its bytes. */
struct mcp_facts {
    bool http;                /* false: stdio, there are no headers */
    struct str version;       /* MCP-Protocol-Version, .p NULL: absent */
    /* By its name in lower case, without blanks around it; .p NULL: absent.
       Called for http only, and during mcp_accept only. */
    struct str (*header)(void *ctx, const char *name);
    void *header_ctx;
    struct str principal;
};

enum mcp_status { /* what a transport does with the answer */
    MCP_OK,          /* 200 */
    MCP_ACCEPTED,    /* nothing to answer: 202 */
    MCP_BAD_REQUEST, /* 400, body as appended */
    MCP_NOT_FOUND    /* 404, body as appended */
};

struct mcp_message; /* parsed and judged, in the arena it was given */

/* Parses and judges one message, and makes initialize take effect on s.
   Never fails for what the bytes say: the fault is then what mcp_run
   answers. ERR_NOMEM. text, a, s, c and the bytes of f->principal must
   outlive *out. */
int mcp_accept(const struct mcp_catalogue *c, struct mcp_session *s,
               const struct mcp_facts *f, struct arena *a, struct str text,
               struct mcp_message **out);
/* Whether running it may stage records: it needs the write lock. */
bool mcp_writes(const struct mcp_message *m);
/* Runs the prepare functions of its calls; without the lock, once. */
void mcp_prepare(struct mcp_message *m);
/* Runs it and appends its answer to out, without a line feed. May be called
   again with out cut back: the answer is made anew from the arguments.
   Where memory runs out the answer is an internal error; where there is not
   even memory for that, out->err says so. */
enum mcp_status mcp_run(struct mcp_message *m, struct buf *out);

/* The name of a revision ("2025-11-25") and back; -1: unknown. */
const char *mcp_rev_name(enum mcp_rev rev);
int mcp_rev_of(struct str name);

/* A message that could not even be kept (a line over the limit): an error
   answer with a null id. */
void mcp_too_large(struct buf *out, size_t limit);
/* One for which mcp_accept had no memory: an internal error, null id. */
void mcp_no_memory(struct buf *out);

#endif
