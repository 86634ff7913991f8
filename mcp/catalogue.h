#ifndef MCP_CATALOGUE_H
#define MCP_CATALOGUE_H

/* catalogue - what a server offers: tools, prompts, resources, completions; and
   what their calls may ask mcp for. */

#include "base/clock.h"
#include "json.h"
#include "mcp/calls.h"

/* ---- a call, and what it may ask for ---- */

enum mcp_rev { /* in order of time, so that they compare */
    MCP_2024_11_05,
    MCP_2025_03_26,
    MCP_2025_06_18,
    MCP_2025_11_25,
    MCP_2026_07_28,
    MCP_N_REVS
};

/* What a run returns if it has no answer yet: it has said for what it waits,
   and will be run again. It is below every enum err. */
enum { MCP_RUN_WAITS = -100 };

/* Capabilities of a client, a bit each. */
enum mcp_cap { MCP_ELICITATION = 1, MCP_SAMPLING = 2, MCP_ROOTS = 4 };

/* One call of a tool or prompt, or one read of resources. The caller of mcp_run
   commits what it stages in a store; it may be run again. */
struct mcp_call {
    void *ctx;                   /* the catalogue's */
    unsigned number;             /* of the tool or prompt, from its row */
    enum mcp_rev rev;
    struct arena *arena;         /* of this run, until its answer is out */
    struct buf *out;             /* see mcp_tool.run */
    bool is_error;
    bool content;                /* see mcp_tool.run */
    struct request *of;          /* mcp's own */
    struct str client;           /* clientInfo.name, or empty */
    struct str agent;            /* the catalogue's, for a client on a pipe; or
                                    empty */
    struct str session;          /* mcp_session_mark of a deferred call */
    bool first;                  /* the first tool call of a session on HTTP */
    struct str here;             /* the catalogue's: where the caller is. A run
                                    may set it; that of a deferred call has what
                                    the run had that deferred it, or "". Else
                                    .p NULL */
    struct str principal;        /* empty: there is only one */
    unsigned caps;               /* enum mcp_cap of the client, or 0 */
    bool read_only;              /* the principal may not write */
    bool person;                 /* a person asks, not a program */
    bool may_wait;               /* false: it has to be answered at once */
    const char *why;             /* set by a prompt that refuses; or NULL */
    uint64_t since;              /* it has not seen records above this */
    int64_t until_ms;            /* clock_mono_ms by which the run has to end,
                                    or to call mcp_go_on; 0: never */
    size_t read_max;             /* bytes of records that it may read; 0: no
                                    limit */
    const struct json_tok *args; /* an object, or NULL when absent */
    void *prepared;              /* set by the tool's prepare */
    unsigned round;              /* how often it has waited */
    int64_t made_ms;             /* when a deferred call was made, or one that
                                    is sent again was sent first, by
                                    store_now_ms; 0: it is made now */
    struct str state;            /* mcp_state of the last round, or empty */
};

/* Asks the client by method ("elicitation/create", "sampling/createMessage",
   "roots/list") with the object params; key names the question within the call.
   Returns the client's result, in memory of the call (JSON_NULL: it refused or
   failed); or NULL if it has not come: then the run asks for all it needs and
   returns MCP_RUN_WAITS. A question that a later run of a deferred call does
   not ask again is withdrawn, unless that run goes on. If the client cannot be
   asked, this is as if mcp_need had failed. Before 2026-07-28 only a tool that
   writes, or a call that defers, can ask, in its first run or in later ones of
   that call, which becomes a record as after mcp_defer, whatever that returned.
   An answer after its end gets one more run, for what that stages. */
const struct json_tok *mcp_request(struct mcp_call *c, const char *key,
                                   const char *method, struct str params);
/* What mcp_request returned for key is no answer: the question is open again,
   for any client. In a deferred call, one that cancelled it is not asked
   again. */
void mcp_ask_again(struct mcp_call *c, const char *key);
/* Returns 0 if the client has all of caps; else ERR_CAPABILITY, which the run
   has to return: the answer names the missing ones. */
int mcp_need(struct mcp_call *c, unsigned caps);
/* Tells the client of a deferred call how it stands while it waits, in its
   status and, if it is news and the client gave a token, as progress; copies
   text, up to 256 bytes. It counts until the next run of the call. */
void mcp_explain(struct mcp_call *c, struct str text);
/* Sets c->state of the next round; copies it. */
void mcp_state(struct mcp_call *c, struct str state);
/* If the call has to wait, runs it again after ms at the latest. */
void mcp_wait(struct mcp_call *c, int64_t ms);
/* Ends a run that needs more time: the next one begins with state after others
   had their turn, with the same c->since. Returns MCP_RUN_WAITS. */
int mcp_go_on(struct mcp_call *c, struct str state);
#define MCP_SLICE_MS 10 /* until c->until_ms */
#define MCP_READ_MAX ((size_t)2 * 1024 * 1024) /* c->read_max, of a batch */
/* If the call has to wait, runs it again when a record with this key or
   alias is committed; two names have a tab between them. The last watch set
   counts. The run may find nothing new: what is new is above c->since. */
void mcp_watch(struct mcp_call *c, struct str what);
/* From now on a wait makes this a deferred call, if its client allows that:
   it is kept in the store, and any process that commits or sees its event runs
   it again from its arguments, with its round, state and answers. Returns
   whether it is, or will be, deferred. */
bool mcp_defer(struct mcp_call *c);
/* Whether a first run may wait, deferred or not. If not, waiting ends it with
   an error, whatever it has staged. */
bool mcp_can_wait(struct mcp_call *c, bool deferred);
/* Has a client of 2025-11-25 on HTTP come back on another stream after
   retry_ms, where a call that changes nothing begins again; does nothing
   elsewhere, nor when it has come back. */
void mcp_poll(struct mcp_call *c, unsigned retry_ms);
/* Reports progress, if the client gave a token. total may be 0, message
   NULL. */
void mcp_progress(struct mcp_call *c, uint64_t progress, uint64_t total,
                  const char *message);
/* Whether the client wants log messages of this level (RFC 5424 severity,
   0-7). */
bool mcp_logs(const struct mcp_call *c, int level);
/* Sends a log message with JSON data, if the client wants its level. */
void mcp_log(struct mcp_call *c, int level, struct str data);

/* ---- what is offered ---- */

struct mcp_change; /* mcp/mcp.h */

/* Whether a call of a tool may become a task of MCP and outlive its request. */
enum mcp_support { MCP_TASK_FORBIDDEN, MCP_TASK_OPTIONAL, MCP_TASK_REQUIRED };

/* An argument that HTTP clients repeat as a header Mcp-Param-<header>. */
struct mcp_param {
    const char *arg, *header; /* a top-level string, integer or boolean */
};

struct mcp_tool {
    const char *name, *title, *description;
    const char *input_schema; /* JSON text of an object */
    const struct mcp_param *params; /* ended by one without arg; or NULL */
    bool writes; /* run under the write lock, and committed; destroys nothing */
    bool idempotent;
    uint8_t tasks;            /* enum mcp_support */
    const char *ui;           /* uri of its MCP App, or NULL */
    const char *hint;         /* what it is for, in the words of an agent that
                                 searches, for clients that hide tools behind a
                                 search; or NULL */
    /* Does work that must precede the lock, such as syncing a file. May be
       NULL; run finds its errors in prepared. */
    void (*prepare)(struct mcp_call *c);
    /* Appends one JSON object, on one line, to c->out, which is sent as text;
       c->is_error makes it an error; or, if it sets c->content, the array of
       content blocks. Returns 0; ERR_NOMEM; MCP_RUN_WAITS; or
       ERR_CAPABILITY from mcp_need. */
    int (*run)(struct mcp_call *c);
    unsigned number;          /* the catalogue's own; mcp_call repeats it */
};

struct mcp_template {
    const char *uri_template;
    const char *name, *title, *description, *mime_type; /* NULL: differs */
};

struct mcp_prompt_arg {
    const char *name, *description;
    bool required;
};

struct mcp_prompt {
    const char *name, *title, *description;
    const struct mcp_prompt_arg *args; /* ended by one without a name */
    /* Appends message objects, comma separated. Returns what mcp_tool.run does,
       or ERR_NOT_FOUND or ERR_INVALID for its arguments. */
    int (*run)(struct mcp_call *c);
    unsigned number; /* as in mcp_tool */
};

/* A completion/complete, and its answer apart from the values. */
struct mcp_completion {
    bool prompt; /* ref names a prompt; else a uri template */
    struct str ref, argument, value;
    uint64_t total;
    bool more;
};
#define MCP_COMPLETE_MAX 100 /* values of one answer */

struct mcp_catalogue {
    const char *name, *title, *version; /* of the server */
    const char *description, *icon;     /* a sentence, a data: URI; or NULL */
    const char *instructions; /* or NULL */
    const char *agent;        /* whom clients on a pipe act for; or NULL */
    void *ctx;
    const struct mcp_tool *tools;
    const struct mcp_prompt *prompts;
    const struct mcp_template *templates;
    size_t n_tools, n_prompts, n_templates;
    bool tools_change, prompts_change; /* it calls mcp_list_changed */
    bool structured; /* results of tools are sent as structuredContent too */
    /* Appends to the object of every tool members that concern all answers,
       each after a comma. May be NULL. */
    void (*put_notice)(void *ctx, struct buf *out);
    /* Appends resource objects, comma separated, to c->out; *next is the
       cursor of the next page or empty. ERR_INVALID: an unknown cursor. NULL,
       like the other resource functions, if there are no resources. */
    int (*resources)(struct mcp_call *c, struct str cursor, struct str *next);
    /* Like mcp_tool.run: appends contents objects; or ERR_NOT_FOUND. */
    int (*resource_read)(struct mcp_call *c, struct str uri);
    /* Appends the entries of skills, comma separated: all or, unless uri is
       empty, that of uri; or ERR_NOT_FOUND. Their files are resources. NULL:
       there are none. */
    int (*skills)(struct mcp_call *c, struct str uri);
    /* Finds the key whose records change the resource at uri, in a; empty: any
       key. 0; ERR_NOT_FOUND: no uri of ours; ERR_NOMEM. */
    int (*resource_key)(void *ctx, struct arena *a, struct str uri,
                        struct str *key);
    /* Whether a record changes the list of resources. */
    bool (*resources_change)(void *ctx, const struct mcp_change *c);
    /* Asked every few seconds while deferred calls wait: the name, as of a
       watch, under which something has changed that no record says; or NULL. */
    const char *(*unrecorded)(void *ctx);
    /* As in calls_options. */
    struct str (*alias)(struct str key, struct str body,
                        char buf[CALL_WATCH_MAX]);
    /* Appends up to MCP_COMPLETE_MAX JSON strings, comma separated, and sets
       total and more. May be NULL. ERR_INVALID: an unknown ref. */
    int (*complete)(struct mcp_call *c, struct mcp_completion *q);
};

#endif
