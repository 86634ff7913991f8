#ifndef MCP_REQUEST_H
#define MCP_REQUEST_H

/* request - one request: its envelope, and its runs. */

#include "json/write.h"
#include "mcp/wire.h"
#include "mcp/question.h"
#include "mcp/server.h"

/* What a run asks for, and its outcome; all zero when it begins. */
struct run {
    struct json_w w;    /* writes its answer */
    size_t at;          /* where the members of that begin */
    uint16_t depth;
    struct buf *notes;  /* messages before the answer, a line each */
    struct mcp_question *questions; /* of its record, then of this run */
    bool unanswered;    /* a question has no answer yet */
    bool defers;        /* a wait makes it a deferred call */
    bool goes_on;       /* mcp_go_on was called */
    unsigned missing;   /* capabilities that the client lacks */
    unsigned poll_ms;   /* mcp_poll's */
    int64_t wait_ms;    /* mcp_wait's; -1: not called */
    struct str state;   /* mcp_state's; .p NULL: not called */
    struct str watch;   /* mcp_watch's; empty: not called */
    struct str message; /* mcp_explain's; empty: not called */
    uint64_t seen;      /* it has seen records up to this n */
    uint64_t progress;  /* that it reported, plus 1 */
    const char *why;    /* replaces the text of an error; or NULL */
    struct str error;   /* raw: the error to answer with; or .p NULL */
};

/* A response to a request of ours: see mcp_take_answer. */
struct reply {
    char kind;         /* of that request; '\0': not a response to one */
    unsigned question; /* of the call target */
    uint64_t place;    /* of that request */
};

struct request {
    /* the envelope: const once it is judged */
    struct mcp_message *m;
    struct str id; /* its text as it came */
    const struct json_tok *params; /* an object or NULL */
    enum mcp_rev rev;
    bool no_reply; /* it gets no answer: a notification, a response, or
                    cancelled before it was run */
    bool changes; /* it changes its session */
    const struct method *method;
    struct str target; /* tool, prompt, uri or cursor that it names */
    const struct mcp_tool *tool;
    struct mcp_listener *listen; /* of a listen, else NULL */
    struct reply reply;
    struct str name;
    struct mcp_fault fault;
    const struct json_tok *meta;   /* params._meta, whatever it is, or NULL */
    const struct mcp_prompt *prompt;
    struct mcp_completion complete;
    struct str token;   /* raw progressToken, or .p NULL */
    const struct json_tok *inputs; /* inputResponses of a modern one */
    int log_level;      /* of a modern one, wanted up to this, or of
                           logging/setLevel; -1: absent */
    bool extends;       /* the client declared the tasks extension */
    bool task;          /* it has params.task (2025-11-25) */
    int64_t ttl_ms;     /* from params.task; 0: absent */
    /* its run, and what stays from one to the next */
    struct mcp_call call;
    struct run run;
    uint64_t progress;  /* that its client was sent, plus 1 */
    /* the deferred call that it runs again, or that it, a plain call, became
       in its first run */
    const struct call *again;
    struct str runs_as;
};

static inline bool
is_modern(const struct request *r)
{
    return r->rev >= MCP_OLDEST_MODERN;
}

/* The principal of r, whose .p is not NULL. */
static inline struct str
mcp_who(const struct request *r)
{
    return r->call.principal.p != NULL ? r->call.principal : STR("");
}

/* The id of the deferred call that r is about, or waits for. */
static inline struct str
mcp_call_of(const struct request *r)
{
    return r->runs_as.len > 0 ? r->runs_as : r->target;
}

#endif
