#ifndef MCP_ERROR_H
#define MCP_ERROR_H

/* error - error answers. */

#include "mcp/wire.h"

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
enum { MCP_REFUSED = 1 };
/* The error to send for an error of r's run. */
struct mcp_fault mcp_fault_of(const struct request *r, int err);
/* Sets the text that explains err of r's run; returns err. */
int mcp_fail(struct request *r, int err, const char *why);
/* Appends the error object for err of r's run. */
void mcp_put_fault(const struct request *r, int err, struct buf *out);
/* Appends an error answer; id.p NULL: without one. */
void mcp_put_error(struct str id, const struct mcp_fault *f, struct buf *out);

extern const struct mcp_fault mcp_out_of_memory;
/* Appends that error for each request of a message. */
void mcp_no_memory(const struct mcp_message *m, struct buf *out);
/* Appends an error answer to a message above the rate. False: it is not one
   request, so it gets no answer. */
bool mcp_too_many(struct buf *out, struct str text, unsigned wait_ms);

#endif
