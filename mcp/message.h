#ifndef MCP_MESSAGE_H
#define MCP_MESSAGE_H

/* message - a message with its requests and their runs, from mcp_accept to
   mcp_release. */

#include "json/write.h"
#include "mcp/dialect.h"
#include "mcp/session.h"
#include "mcp/wire.h"

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
    const struct call *reruns;
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

/* ---- a message ---- */

#define MCP_MAX_WAITING 256 /* messages of one session */
#define MCP_WAITING_LEN ((size_t)8 * 1024 * 1024) /* memory of all */

enum message_state { /* those that wait come last */
    MESSAGE_QUEUED,  /* to be run: it is new, or its wait is over */
    MESSAGE_RUN,     /* run in this turn: its answer is not out yet */
    MESSAGE_WAITS,   /* for its event, or for a time */
    MESSAGE_GOES_ON  /* with a long search, when the others had their turn */
};

struct mcp_message {
    struct mcp *m;
    struct mcp_message *next, **at; /* in m->messages */
    enum message_state state;
    struct arena own;          /* holds itself and all but the text */
    struct arena *a;           /* &own */
    struct mcp_session *s;
    const struct mcp_facts *f; /* while it is judged */
    int named;                 /* the revision in f->version, or -1 */
    bool modern;               /* its first value claims to be */
    bool no_memory;            /* memory ran out while it was judged */
    bool batch, ends, made;    /* ends: it ends its session */
    bool http;
    struct mcp_repeat repeat;  /* as in its facts */
    struct buf text;           /* as it came */
    struct request *v;
    size_t n;
    /* if it waits, or has waited: then it has one request */
    bool waited;
    bool ready;      /* to be run again */
    bool cancelled;
    size_t len;      /* bytes of all this, as counted in waiting_len */
    void *owner;
    struct mcp_channel *channel;
    int64_t due_ms;  /* INT64_MAX: never */
    uint64_t watch[CALL_NAMES_MAX]; /* hashes of what it watches; 0: nothing */
    struct buf next_state; /* call.state of its next run */

    struct mcp_session scratch; /* stands in for a session */
};

/* Makes a message without text or requests, in memory of its own; NULL if
   memory ran out. mcp_release frees it. */
struct mcp_message *mcp_message_new(struct mcp *m);
/* Puts m, which is judged, into the list. */
void mcp_message_queue(struct mcp_message *m);
/* Whether k waits now. */
bool mcp_is_waiting(const struct mcp_message *k);
/* Whether r's message has waited, or may: the limits are there because clients
   may never cancel. */
bool mcp_may_wait(const struct request *r);
/* Call it for each committed record: messages that watch it will run again. */
void mcp_wake(struct mcp *m, const struct mcp_change *c);
/* When mcp_next has something; INT64_MAX: nobody knows. */
int64_t mcp_waiting_due_ms(const struct mcp *m);
/* Takes r, a notifications/cancelled: ends a waiting request of its session, or
   makes a queued one get neither run nor answer. */
void mcp_take_cancel(struct request *r, const struct json_tok *params);

/* The text of t; .p NULL if it is not a string, or if memory ran out, which
   ends the judging of m. */
struct str mcp_text_of(struct mcp_message *m, const struct json_tok *t);

#endif
