#ifndef MCP_WIRE_H
#define MCP_WIRE_H

/* wire - names of the protocol, and small readers of JSON. */

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
/* The capabilities object of a client as bits, and bits as an object. */
unsigned mcp_caps_of(const struct json_tok *caps);
void mcp_put_caps(struct json_w *w, unsigned caps);

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

#endif
