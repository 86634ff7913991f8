#ifndef MCP_CATALOGUE_H
#define MCP_CATALOGUE_H

/* catalogue - what a server offers: tools, prompts, resources, completions. */

#include "base/clock.h"
#include "mcp/calls.h"
#include "mcp/talk.h"

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
       content blocks. Returns 0; ERR_NOMEM; MCP_RUN_WAITS (mcp/talk.h); or
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
