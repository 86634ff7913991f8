#ifndef MCP_CATALOGUE_H
#define MCP_CATALOGUE_H

/* catalogue - what a server offers: tools, prompts, resources, completions. */

#include "base/clock.h"
#include "mcp/calls.h"
#include "mcp/talk.h"

struct mcp_change; /* mcp/stream.h */

/* Whether a call of a tool may outlive its request, as what MCP calls a task:
   execution.taskSupport of 2025-11-25, the tasks extension of 2026-07-28. */
enum mcp_support { MCP_TASK_FORBIDDEN, MCP_TASK_OPTIONAL, MCP_TASK_REQUIRED };

/* An argument that HTTP clients repeat as a header Mcp-Param-<header>. */
struct mcp_param {
    const char *arg, *header; /* a top-level string, integer or boolean */
};

struct mcp_tool {
    const char *name, *title, *description;
    const char *input_schema; /* JSON text of an object */
    const struct mcp_param *params; /* ended by one without arg; or NULL */
    bool writes; /* run under the write lock, and committed */
    bool destructive, idempotent;
    uint8_t tasks;            /* enum mcp_support */
    const char *ui;           /* uri of its MCP App, or NULL */
    /* Work that must be done before the lock, as syncing a file. May be NULL;
       its errors run sees in prepared. */
    void (*prepare)(struct mcp_call *c);
    /* Appends one JSON object, on one line, to c->out, which is sent as text;
       with c->is_error it is an error; or, with c->content set, the array of
       content blocks. 0; ERR_NOMEM; ERR_MORE: it waits (see mcp/talk.h);
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
       ERR_NOT_FOUND, ERR_INVALID: the arguments name nothing. */
    int (*run)(struct mcp_call *c);
};

/* What completion/complete asks, and what is known beside the values. */
struct mcp_completion {
    bool prompt; /* ref is the name of one; else a uri template */
    struct str ref, argument, value;
    uint64_t total;
    bool more;
};
#define MCP_COMPLETE_MAX 100 /* values of one answer */

struct mcp_catalogue {
    const char *name, *title, *version; /* of the server */
    const char *instructions, *website; /* or NULL */
    void *ctx;
    const struct mcp_tool *tools;
    const struct mcp_prompt *prompts;
    const struct mcp_template *templates;
    size_t n_tools, n_prompts, n_templates;
    bool tools_change, prompts_change; /* mcp_list_changed is called */
    bool no_logging;                   /* mcp_log never is */
    bool structured; /* what tools say goes out as structuredContent too */
    /* Appends to the object of a tool what every answer has to say just now:
       members, each with a comma in front. May be NULL. */
    void (*put_notice)(void *ctx, struct buf *out);
    /* Appends resource objects, comma separated, to c->out; *next is the
       cursor of the next page or empty. ERR_INVALID: an unknown cursor. NULL,
       as the other resource functions then: there are no resources. */
    int (*resources)(struct mcp_call *c, struct str cursor, struct str *next);
    /* Appends contents objects, comma separated. ERR_NOT_FOUND: no such
       resource; ERR_MORE and ERR_CAPABILITY as tools. */
    int (*resource_read)(struct mcp_call *c, struct str uri);
    /* The key whose records change what uri names, in a; empty: any key; .p
       NULL: no uri of ours. */
    struct str (*resource_key)(void *ctx, struct arena *a, struct str uri);
    /* Whether a record changes the list of resources. */
    bool (*resources_change)(void *ctx, const struct mcp_change *c);
    /* As in calls_options. */
    struct str (*alias)(struct str key, struct str body,
                        char buf[CALL_WATCH_MAX]);
    /* Appends up to MCP_COMPLETE_MAX JSON strings, comma separated, and
       fills in what it knows of q. May be NULL. ERR_INVALID: unknown ref. */
    int (*complete)(struct mcp_call *c, struct mcp_completion *q);
};

#endif
