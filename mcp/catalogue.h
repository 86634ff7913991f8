#ifndef MCP_CATALOGUE_H
#define MCP_CATALOGUE_H

/* catalogue - what a server offers, as mcp is given it: tools, prompts,
   resources, completions; and what a call may ask of mcp while it runs. */

#include "base/base.h"
#include "base/clock.h"
#include "mcp/calls.h"
#include "json.h"

enum mcp_rev { /* in order of time, so that they compare */
    MCP_2024_11_05,
    MCP_2025_03_26,
    MCP_2025_06_18,
    MCP_2025_11_25,
    MCP_2026_07_28,
    MCP_N_REVS
};

/* What a client can be asked for, a bit each. */
enum mcp_cap { MCP_ELICITATION = 1, MCP_SAMPLING = 2, MCP_ROOTS = 4 };

/* Whether a call of a tool may outlive its request, as what MCP calls a task:
   execution.taskSupport of 2025-11-25, the tasks extension of 2026-07-28. */
enum mcp_support { MCP_TASK_FORBIDDEN, MCP_TASK_OPTIONAL, MCP_TASK_REQUIRED };

/* One call of a tool or prompt, or one look at resources. What it stages in
   a store is committed by the caller of mcp_run; it may be run again. */
struct mcp_call {
    void *ctx;                   /* the catalogue's */
    struct arena *arena;         /* of this run, until its answer is out */
    enum mcp_rev rev;
    struct str client;           /* clientInfo.name, or empty */
    struct str principal;        /* who is authorised; empty: the one */
    unsigned caps;               /* enum mcp_cap of the client, or 0 */
    bool read_only;              /* the principal may not write */
    bool may_wait;               /* false: it has to be answered at once */
    const char *why;             /* set by a prompt that refuses; or NULL */
    uint64_t since;              /* records above this are news to it */
    int64_t until_ms;            /* clock_mono_ms by which the run is to end,
                                    or to go on in a later one; 0: never */
    size_t read_max;             /* bytes of records that it may read; 0: as
                                    many as it likes */
    const struct json_tok *args; /* an object, or NULL when absent */
    void *prepared;              /* what the tool's prepare left here */
    unsigned round;              /* how often it had to wait before */
    struct str state;            /* mcp_state's of the round before; empty */
    struct buf *out;             /* see mcp_tool.run */
    bool is_error;
    bool content;                /* see mcp_tool.run */
    struct request *of;          /* mcp's own */
};

/* An argument that HTTP clients repeat as a header Mcp-Param-<header>; the
   schema says so with x-mcp-header. */
struct mcp_param {
    const char *arg, *header; /* a top-level string, integer or boolean */
};

struct mcp_tool {
    const char *name;
    const char *title;
    const char *description;
    const char *input_schema; /* JSON text of an object */
    const struct mcp_param *params; /* ended by one without arg; or NULL */
    bool writes;              /* run under the write lock, and committed */
    bool destructive, idempotent;
    uint8_t tasks;            /* enum mcp_support */
    const char *ui;           /* uri of the MCP App that goes with it; NULL */
    /* Work that needs no lock and must be done before it, as syncing a file.
       May be NULL. 0, or an error that run will see in prepared. */
    void (*prepare)(struct mcp_call *c);
    /* Appends one JSON object, on one line, to c->out, which is sent as text:
       what it says, or with c->is_error the error; or, with c->content set,
       the array of content blocks. Sets nothing else. 0; ERR_NOMEM; ERR_MORE:
       it waits for what mcp_ask or mcp_wait said, and is run again then;
       ERR_CAPABILITY: as mcp_need returned. */
    int (*run)(struct mcp_call *c);
};

struct mcp_template {
    const char *uri_template;
    const char *name, *title, *description, *mime_type;
};

struct mcp_prompt_arg {
    const char *name, *description;
    bool required;
};

struct mcp_prompt {
    const char *name, *title, *description;
    const struct mcp_prompt_arg *args; /* ended by one without a name */
    /* Appends message objects, comma separated. As mcp_tool.run; also
       ERR_NOT_FOUND and ERR_INVALID: the arguments name nothing. */
    int (*run)(struct mcp_call *c);
};

/* What completion/complete asks, and what is known beside the values. */
struct mcp_completion {
    bool prompt;          /* ref is the name of one; else a uri template */
    struct str ref, argument, value;
    uint64_t total;
    bool more;
};
#define MCP_COMPLETE_MAX 100 /* values of one answer */

/* A committed record, as far as subscriptions care. */
struct mcp_change {
    struct str key, body;
    uint64_t n;
    bool first; /* of its key */
};

struct mcp_catalogue {
    const char *name, *title, *version; /* of the server */
    const char *instructions;           /* NULL: none */
    const char *website;                /* NULL: none */
    void *ctx;
    const struct mcp_tool *tools;
    size_t n_tools;
    const struct mcp_prompt *prompts;
    size_t n_prompts;
    const struct mcp_template *templates;
    size_t n_templates;
    bool tools_change, prompts_change; /* mcp_list_changed is called */
    bool no_logging;                   /* mcp_log never is */
    bool structured; /* what tools say goes out as structuredContent too */
    /* Appends to the object that a tool has written what every answer has to
       say just now: members, each with a comma in front. May be NULL. */
    void (*put_notice)(void *ctx, struct buf *out);
    /* Appends resource objects, comma separated, to c->out; *next is the
       cursor of the next page or empty. ERR_INVALID: not a cursor of ours.
       NULL together with the other resource functions: no resources. */
    int (*resources)(struct mcp_call *c, struct str cursor, struct str *next);
    /* Appends contents objects, comma separated. ERR_NOT_FOUND: no such
       resource. ERR_MORE, ERR_CAPABILITY as tools. Others: an internal
       error. */
    int (*resource_read)(struct mcp_call *c, struct str uri);
    /* The key whose records change what uri names, in a; empty: those of
       any key do; .p NULL: no uri of ours. */
    struct str (*resource_key)(void *ctx, struct arena *a, struct str uri);
    /* Whether a record makes the list of resources another one. */
    bool (*resources_change)(void *ctx, const struct mcp_change *c);
    /* Another name by which a record can be watched, made in buf, or .p NULL.
       May be NULL. */
    struct str (*alias)(struct str key, struct str body,
                        char buf[CALL_WATCH_MAX]);
    /* Appends up to MCP_COMPLETE_MAX JSON strings, comma separated, and
       fills in what it knows of q. NULL: no completions. ERR_INVALID: there
       is no such ref. */
    int (*complete)(struct mcp_call *c, struct mcp_completion *q);
};

/* ---- for a call that runs ---- */

/* Asks the client by method ("elicitation/create", "sampling/createMessage",
   "roots/list") with the object params. The client's result once it has come
   (JSON_NULL: it refused or failed), in memory of the call; NULL: not yet,
   and the run returns ERR_MORE when it has asked for all that it needs. key
   names the question within the call. Where the client cannot be asked so,
   it is as if mcp_need had failed: before 2026-07-28 only a tool that writes
   can ask, in its first run or in those that follow on that. The call is then
   a record, as behind mcp_defer, though mcp_defer says otherwise; an answer
   that comes when it has ended is given to one more run, for what that
   stages. */
const struct json_tok *mcp_ask(struct mcp_call *c, const char *key,
                               const char *method, struct str params);
/* 0 where the client has all of caps; ERR_CAPABILITY else, to be returned:
   the answer says what is needed. */
int mcp_need(struct mcp_call *c, unsigned caps);
/* What the next round shall find in c->state; copied. */
void mcp_state(struct mcp_call *c, struct str state);
/* A call that returns ERR_MORE is run again after ms at the latest. */
void mcp_wait(struct mcp_call *c, int64_t ms);
/* Ends a run whose time is over before its work is: the next one begins at
   state as soon as others have had theirs, with c->since as it is. Returns
   ERR_MORE. */
int mcp_go_on(struct mcp_call *c, struct str state);
#define MCP_SLICE_MS 10 /* until c->until_ms */
#define MCP_READ_MAX ((size_t)2 * 1024 * 1024) /* c->read_max, of a batch */
/* A call that returns ERR_MORE is run again when a record is committed whose
   key this is, or that has it as its alias; the last one counts. Such a run
   may come for nothing, and finds all that happened above c->since. */
void mcp_watch(struct mcp_call *c, struct str what);
/* From here on an ERR_MORE of this run makes it a deferred call, where its
   client took that for possible: it is kept in the store, and run again from
   its arguments, with its round, state and answers, by whichever process
   brings about or sees what it waits for. Whether it is one, or will be. */
bool mcp_defer(struct mcp_call *c);
/* Whether a first run that waits, deferred or not, is let wait: else it ends
   with an error, whatever it has staged. */
bool mcp_can_wait(struct mcp_call *c, bool deferred);
/* Lets a client of 2025-11-25 on HTTP come back for the answer on another
   stream, as it may after retry_ms; does nothing elsewhere. */
void mcp_poll(struct mcp_call *c, unsigned retry_ms);
/* Tells how far it is, where the client gave a token; in thousandths where
   total is 0. message may be NULL. */
void mcp_progress(struct mcp_call *c, uint64_t progress, uint64_t total,
                  const char *message);
/* A log message with JSON data, where the client wants that level (RFC 5424
   severity, 0-7). */
void mcp_log(struct mcp_call *c, int level, const char *logger,
             struct str data);

#endif
