#ifndef MCP_WIRE_H
#define MCP_WIRE_H

/* wire - names of the protocol, small readings of JSON, and errors. */

#include "mcp/mcp.h"

struct request;

#define MCP_META "io.modelcontextprotocol/"
#define MCP_RELATED "\"" MCP_META "related-task\":{\"taskId\":\""
#define MCP_NEWEST_HANDSHAKE MCP_2025_11_25
#define MCP_OLDEST_MODERN MCP_2026_07_28
#define MCP_ID_MAX 80 /* bytes of a session's id, with its NUL */

enum rpc_code {
    RPC_PARSE_ERROR = -32700,
    RPC_INVALID_REQUEST = -32600,
    RPC_METHOD_NOT_FOUND = -32601,
    RPC_INVALID_PARAMS = -32602,
    RPC_INTERNAL_ERROR = -32603,
    RPC_SESSION_NOT_FOUND = -32001,  /* as the SDKs' servers say */
    RPC_RESOURCE_NOT_FOUND = -32002, /* through 2025-11-25 */
    RPC_TOO_MANY_REQUESTS = -32010,  /* from -32019 on they are our own */
    RPC_HEADER_MISMATCH = -32020,
    RPC_MISSING_CAPABILITY = -32021,
    RPC_UNSUPPORTED_VERSION = -32022
};

/* Capabilities beside enum mcp_cap. */
enum {
    MCP_CLIENT_TASKS = 8,   /* runs questions as tasks (2025-11-25), */
    MCP_CLIENT_CANCEL = 16, /* and cancels them */
    MCP_EXTENSION = 32,     /* the tasks extension (2026-07-28) */
    MCP_UI = 64             /* it shows MCP Apps */
};

/* Why a request is refused; code 0: it is not. */
struct fault {
    enum mcp_status status;
    enum rpc_code code;
    const char *text;
    const char *key;  /* of value in the error's data, or NULL */
    struct str value; /* what it is about, also in the message; or empty */
    unsigned caps;    /* that are missing, for RPC_MISSING_CAPABILITY */
};

/* Clients write null for what they leave out. */
static inline bool
is_absent(const struct json_tok *t)
{
    return t == NULL || t->type == JSON_NULL;
}

/* The severity (RFC 5424) that t names, or -1; and its name. */
int mcp_level_of(const struct json_tok *t);
const char *mcp_level_name(int level);
/* Writes the array of the revisions that a request can name for itself. */
void mcp_put_versions(struct json_w *w);
/* The capability that a method of ours needs, a bit; 0: it is unknown. */
unsigned mcp_cap_of(struct str method);
/* The name of the capability of bit i, or NULL behind the last. */
const char *mcp_cap_name(unsigned i);
/* The capabilities object of a client as bits, and bits as an object. */
unsigned mcp_caps_of(const struct json_tok *caps);
void mcp_put_caps(struct json_w *w, unsigned caps);

/* The text of t in *out, whose .p is NULL where t is no string; ERR_NOMEM. */
int mcp_text(struct arena *a, const struct json_tok *t, struct str *out);
/* The first max bytes of s or less, on a whole code point. */
struct str mcp_cut(struct str s, size_t max);
/* Whether t can be an id, or a progress token. */
bool mcp_is_id(const struct json_tok *t);
/* A number in 8 bytes, its highest first. */
void mcp_put_be64(uint8_t to[8], uint64_t v);
uint64_t mcp_get_be64(const uint8_t p[8]);

/* Sets the fault of r; returns MCP_REFUSED. */
int mcp_refuse(struct request *r, enum mcp_status status, enum rpc_code code,
               const char *text, const char *key, struct str value);
enum { MCP_REFUSED = 1 };
/* What an error of r's run is on the wire. */
struct fault mcp_fault_of(const struct request *r, int err);
/* Appends the error object that it comes to. */
void mcp_put_fault(const struct request *r, int err, struct buf *out);
/* Appends an error answer; id.p NULL: without one; raw.p not NULL: with that
   as its error object instead of f. */
void mcp_put_error(struct str id, const struct fault *f, struct str raw,
                   struct buf *out);

#endif
