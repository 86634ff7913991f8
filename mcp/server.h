#ifndef MCP_SERVER_H
#define MCP_SERVER_H

/* server - the state of a server: struct mcp, and its sessions. */

#include "mcp/listener.h"
#include "mcp/sign.h"

#define MCP_MAX_SESSIONS 1024 /* in memory */
#define MCP_CHAINS 256        /* hash chains of sessions, by id */
#define MCP_LOG_DEFAULT 6     /* info */
#define MCP_NAME_MAX 24       /* bytes of a client's name that stay known */

struct mcp_session {
    struct mcp_session *next, **at; /* in m->sessions */
    struct mcp_session *same;       /* next in its chain of m->by_id */
    struct mcp *m;
    bool initialized; /* an initialize was answered */
    bool local;       /* of a pipe: no id, no record, no header */
    bool sse;         /* of the SSE transport */
    bool read_only;    /* its principal may not write: it has no record, and
                         its id is unknown once it leaves memory */
    bool ended;
    bool called;        /* it has called a tool */
    enum mcp_rev rev;
    unsigned caps;      /* enum mcp_cap */
    int log_level;      /* RFC 5424 severity asked for, 0-7; default 6 */
    struct mcp_follow *follows; /* the newest first */
    size_t n_waiting;      /* number of its messages that wait */
    size_t n_queued;    /* and of those that have not waited yet */
    struct mcp_listener news; /* its subscriptions and streams */
    struct arena own;   /* holds news.subs */
    char client[64];    /* clientInfo.name, cut; to MCP_NAME_MAX, revived */
    char id[MCP_ID_MAX]; /* "" until it has one */
    char *principal;    /* stored after this struct */
    uint64_t n;         /* of its record */
    uint64_t seen;      /* store_next_n when that record was looked for */
    bool streamed;      /* it has or had a stream */
    bool revived;       /* made from its id, for a client that came back */
    int64_t born_ms;    /* from its id */
    int64_t heard_ms;   /* when its client last sent something */
};

struct mcp {
    const struct mcp_catalogue *cat;
    const struct method *call; /* tools/call, for deferred calls */
    struct store *store;
    struct sign *sign;
    struct calls *calls;
    mcp_principal_fn *is_principal; /* of mcp_principals; or NULL */
    const void *principals;
    struct mcp_session *sessions;
    size_t n_sessions;
    size_t n_channels, n_subs; /* of all sessions; n_subs of listens too */
    struct mcp_message *messages; /* see mcp/message.c */
    struct mcp_message *going; /* returned by mcp_next to go on; or NULL */
    uint64_t last_looker;      /* hash of the principal of the last of those */
    size_t waiting_len;          /* bytes kept by all waiting messages */
    unsigned list_due;        /* lists to tell of, a bit for each mcp_list */
    bool notify_if_due;       /* mcp_tick has to tell a session */
    int64_t notify_ms;        /* but not before this */
    bool followed;       /* the store was followed in this turn */
    bool stopping;
    bool follows_due;    /* a session has to be told of deferred calls */
    int64_t look_ms;     /* when to ask the catalogue for what is unrecorded */
    int64_t delivery_ms; /* when mcp_delivery_tick is due */
    struct arena runs;        /* memory of the runs of this turn */
    uint64_t last_poll;        /* in the id of the last poll of a client */
    uint64_t list_clock;      /* counts changes of lists */
    uint64_t list_n[MCP_N_LISTS]; /* clock of the last change */
    int64_t list_sent_ms;
    uint64_t list_at;         /* n of the last list_changed; 0: any, to head */
    uint64_t ran, ran_clock;  /* head and list_clock when a listen last ran */
    uint64_t changed_n;       /* n of the last change of the catalogue's; 0:
                                 not known, none above head */
    int64_t marked_ms;   /* when to retry after an error */
    struct mcp_counts counts;
    struct mcp_session *by_id[MCP_CHAINS];
};

#endif
