#ifndef MCP_WIRE_H
#define MCP_WIRE_H

/* wire - names of the protocol, small readers of JSON, error answers, and the
   id of a message that cannot be parsed or is too long. */

#include "json/write.h"
#include "mcp/catalogue.h"

struct mcp;         /* one server */
struct mcp_session; /* what initialize agreed on, and later settings */
struct mcp_message; /* parsed and judged, in the arena given for it */
struct request;
struct sign;

#define MCP_META "io.modelcontextprotocol/"
#define MCP_NEWEST_HANDSHAKE MCP_2025_11_25
#define MCP_OLDEST_MODERN MCP_2026_07_28
#define MCP_ID_MAX 96 /* bytes of a session's id, with its NUL */

enum mcp_status { /* what a transport does with the answer */
    MCP_OK,          /* 200 */
    MCP_ACCEPTED,    /* no answer: 202; or it was cancelled */
    MCP_BAD_REQUEST, /* 400, body as appended */
    MCP_NOT_FOUND,   /* 404, body as appended */
    MCP_TOO_MANY,    /* 429, body as appended; not by mcp_run */
    MCP_WAITS,       /* no answer yet: see mcp_keep */
    MCP_LOST         /* no memory for an answer; not by mcp_run */
};

/* Capabilities besides enum mcp_cap. */
enum {
    MCP_CLIENT_TASKS = 8,   /* runs questions as tasks (2025-11-25), */
    MCP_CLIENT_CANCEL = 16, /* and cancels them */
    MCP_EXTENSION = 32,     /* the tasks extension (2026-07-28) */
    MCP_UI = 64             /* it shows MCP Apps */
};

/* Some clients write null instead of leaving a member out. */
static inline bool
is_absent(const struct json_tok *t)
{
    return t == NULL || t->type == JSON_NULL;
}

/* v within bounds. */
static inline int64_t
mcp_clamp(int64_t v, int64_t min, int64_t max)
{
    if (v < min)
        return min;
    return v > max ? max : v;
}

/* The name of a revision ("2025-11-25") and back; -1: unknown. */
const char *mcp_rev_name(enum mcp_rev rev);
int mcp_rev_of(struct str name);

/* The severity (RFC 5424) that t names, or -1; and its name. */
int mcp_level_of(const struct json_tok *t);
const char *mcp_level_name(int level);
/* Writes the array of the revisions that a request may name in its _meta. */
void mcp_put_versions(struct json_w *w);
/* The capability, a bit, that a request to a client needs; 0: unknown. */
unsigned mcp_cap_of(struct str method);
/* The name of the capability of bit i, or NULL after the last. */
const char *mcp_cap_name(unsigned i);
/* The capabilities object of a client as bits. */
unsigned mcp_caps_of(const struct json_tok *caps);

/* Writes a request, or with id NULL a notification, at the end of b, up to
   its params; and its end. */
void mcp_open_message(struct json_w *w, struct buf *b, const char *id,
                      struct str method);
void mcp_close_message(struct json_w *w);
/* Opens an answer, up to its result or error; id.p NULL: without one. */
void mcp_open_answer(struct json_w *w, struct str id);
/* The end of a message in notes, with the end of its line. */
void mcp_close_note(struct json_w *w);
/* Writes the members of an object that is JSON text. */
void mcp_put_members(struct json_w *w, struct str object);
/* The text of t in *out; .p is NULL if t is not a string. 0 or ERR_NOMEM. */
int mcp_text(struct arena *a, const struct json_tok *t, struct str *out);
/* Whether t can be an id, or a progress token. */
bool mcp_is_id(const struct json_tok *t);
/* The tool of that name, or NULL. */
const struct mcp_tool *mcp_find_tool(const struct mcp_catalogue *c,
                                     struct str name);
/* A number in 8 bytes, its highest first. */
void mcp_put_be64(uint8_t to[8], uint64_t v);
uint64_t mcp_get_be64(const uint8_t p[8]);

/* ---- errors ---- */

enum mcp_code {
    RPC_PARSE_ERROR = -32700,
    RPC_INVALID_REQUEST = -32600,
    RPC_METHOD_NOT_FOUND = -32601,
    RPC_INVALID_PARAMS = -32602,
    RPC_INTERNAL_ERROR = -32603,
    RPC_SESSION_NOT_FOUND = -32001,  /* as in the servers of the SDKs */
    RPC_RESOURCE_NOT_FOUND = -32002, /* through 2025-11-25 */
    RPC_TOO_MANY_REQUESTS = -32010,  /* our own; MCP has no code for it */
    RPC_HEADER_MISMATCH = -32020,
    RPC_MISSING_CAPABILITY = -32021,
    RPC_UNSUPPORTED_VERSION = -32022
};

/* Why a request is refused; code 0 if it is not. */
struct mcp_fault {
    enum mcp_status status;
    enum mcp_code code;
    const char *text;
    const char *key;  /* of value in the error's data, or NULL */
    struct str value; /* its subject, also in the message; or empty */
    unsigned caps;    /* the missing ones, for RPC_MISSING_CAPABILITY */
    struct str raw;   /* the error object itself, instead of all but status and
                         code; or .p NULL */
};

/* Sets the fault of r; returns MCP_REFUSED. */
int mcp_refuse(struct request *r, enum mcp_status status, enum mcp_code code,
               const char *text, struct str value);
/* The same for wrong parameters: HTTP status 200 in both eras. */
int mcp_refuse_params(struct request *r, const char *text);
/* The same because its client lacks the extension of tasks. */
int mcp_refuse_extension(struct request *r);
enum { MCP_REFUSED = 1 };
/* The error to send for an error of r's run. */
struct mcp_fault mcp_fault_of(const struct request *r, int err);
/* Sets the text that explains err of r's run; returns err. */
int mcp_fail(struct request *r, int err, const char *why);
/* Appends the error object for err of r's run. */
void mcp_put_fault(const struct request *r, int err, struct buf *out);
/* Appends an error answer; id.p NULL: without one. */
void mcp_put_error(struct str id, const struct mcp_fault *f, struct buf *out);

/* Appends the error that memory ran out for each request of a message. */
void mcp_no_memory(const struct mcp_message *m, struct buf *out);
/* Appends an error answer to a message above the rate. False: it is not one
   request, so it gets no answer. */
bool mcp_too_many(struct buf *out, struct str text, unsigned wait_ms);

/* ---- the id of a message that cannot be read ---- */

/* All zero at first, then fed the message in any pieces. */
struct mcp_scan {
    char text[128];
    size_t len;
    uint32_t depth; /* of brackets */
    bool quoted, escaped, wanted, done;
};
void mcp_scan(struct mcp_scan *s, struct str piece);
/* Sets *id to the raw id found, if any; memory in a. ERR_NOMEM. */
int mcp_scan_id(const struct mcp_scan *s, struct arena *a, struct str *id);
/* Appends the error answer to a message that was not kept, with the id found:
   it is over the limit or, if that is 0, there was no memory for it. a is
   for the id. */
void mcp_refuse_unread(struct buf *out, size_t limit, const struct mcp_scan *s,
                       struct arena *a);

#endif
