#ifndef MCP_INT_H
#define MCP_INT_H

/* mcp_int - what the files of mcp share: mcp.c (envelope, eras, answers) and
   mcp_methods.c (what each method takes and gives). Nobody else includes
   it. */

#include "mcp.h"

#define MCP_META "io.modelcontextprotocol/"
#define MCP_NEWEST_HANDSHAKE MCP_2025_11_25
#define MCP_OLDEST_MODERN MCP_2026_07_28

enum rpc_code {
    RPC_PARSE_ERROR = -32700,
    RPC_INVALID_REQUEST = -32600,
    RPC_METHOD_NOT_FOUND = -32601,
    RPC_INVALID_PARAMS = -32602,
    RPC_INTERNAL_ERROR = -32603,
    RPC_RESOURCE_NOT_FOUND = -32002, /* through 2025-11-25 */
    RPC_HEADER_MISMATCH = -32020,
    RPC_UNSUPPORTED_VERSION = -32022
};

/* Why a request is refused; code 0: it is not. */
struct fault {
    enum mcp_status status;
    enum rpc_code code;
    const char *text;
    const char *key;  /* of value in the error's data, or NULL */
    struct str value; /* what it is about, also in the message; or none */
};

struct request {
    struct mcp_message *m;
    struct str id; /* its text as it came */
    struct str name;
    const struct json_tok *params; /* an object or NULL */
    const struct json_tok *meta;   /* params._meta, whatever it is, or NULL */
    enum mcp_rev rev;
    bool silent; /* a notification or a response: nothing to answer */
    struct fault fault;
    const struct method *method;
    struct str target; /* tool, uri or cursor that it names; or none */
    const struct mcp_tool *tool;
    struct mcp_call call;
};

struct mcp_message {
    const struct mcp_catalogue *cat;
    struct mcp_session *s;
    const struct mcp_facts *f; /* while it is judged */
    struct arena *a;
    bool batch;
    struct request *v;
    size_t n;
};

/* A step of judging: 0 goes on, MCP_REFUSED when the request's fault or
   silence says it all, or ERR_NOMEM. */
typedef int step(struct request *r);
enum { MCP_REFUSED = 1 };

enum feature { CORE, TOOLS, RESOURCES, LOGGING, N_FEATURES };
enum cache { UNCACHED, CACHE_PUBLIC, CACHE_PRIVATE };

struct method {
    const char *name;
    uint8_t from, to; /* enum mcp_rev */
    uint8_t feature;
    uint8_t cache;
    const char *target; /* the parameter that Mcp-Name repeats, or NULL */
    step *judge;        /* of its parameters, or NULL */
    /* Appends the members of the result: 0 or an error. */
    int (*run)(struct request *r, struct buf *out);
};

static inline bool
is_modern(const struct request *r)
{
    return r->rev >= MCP_OLDEST_MODERN;
}

/* Clients write null for what they leave out. */
static inline bool
is_absent(const struct json_tok *t)
{
    return t == NULL || t->type == JSON_NULL;
}

/* ---- mcp.c ---- */

/* Sets the fault of r; returns MCP_REFUSED. */
int mcp_refuse(struct request *r, enum mcp_status status, enum rpc_code code,
               const char *text, const char *key, struct str value);
/* The text of t in *out, whose .p is NULL where t is no string; ERR_NOMEM. */
int mcp_text(struct arena *a, const struct json_tok *t, struct str *out);
/* The first max bytes of s or less, on a whole code point. */
struct str mcp_cut(struct str s, size_t max);

/* ---- mcp_methods.c ---- */

/* Sets method and target of r; no method where its revision or the catalogue
   has none of that name. ERR_NOMEM. */
int mcp_find_method(struct request *r);
/* The last step of judging: its parameters. */
int mcp_check_params(struct request *r);
/* Appends the whole answer of a request that has a method; 0, or an error
   with out in any state; and out->err. */
int mcp_put_result(struct request *r, struct buf *out);
/* The severity that t names, or -1. */
int mcp_level_of(const struct json_tok *t);
/* The array of the revisions that a request can name for itself. */
void mcp_put_versions(struct json_w *w);

#endif
