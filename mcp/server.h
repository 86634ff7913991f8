#ifndef MCP_SERVER_H
#define MCP_SERVER_H

/* server - what a server remembers: struct mcp, and its sessions. */

#include "mcp/listener.h"
#include "mcp/sign.h"

#define MCP_MAX_SESSIONS 1024 /* in memory */
#define MCP_CHAINS 256        /* that they stand in, by their ids */
#define MCP_LOG_DEFAULT 6     /* info */

struct mcp_session {
    struct mcp_session *next, **at; /* in m->sessions */
    struct mcp_session *same;       /* next in its chain of m->by_id */
    struct mcp *m;
    bool initialized; /* an initialize was answered */
    bool local;       /* a pipe's: no id, no record, no header */
    bool sse;         /* of the SSE transport */
    bool read_only;    /* of who may not write: it has no record, and an id
                         that nobody knows when it has left memory */
    bool ended;
    enum mcp_rev rev;
    unsigned caps;      /* enum mcp_cap */
    int log_level;      /* RFC 5424 severity asked for, 0-7; default 6 */
    char client[64];    /* clientInfo.name, cut */
    char id[MCP_ID_MAX]; /* "" until it has one */
    char *principal;    /* behind this */
    uint64_t n;         /* of its record */
    uint64_t seen;      /* store_next_n when that record was looked for */
    struct mcp_listener news; /* what it hears of, and where */
    struct arena own;   /* of news.subs */
    bool revived;       /* made from its id alone, for who comes back */
    int64_t born_ms;    /* as its id has it */
    size_t n_waiting;      /* messages of it that wait */
    size_t n_queued;    /* that mcp_release is yet to come for */
    int64_t heard_ms;   /* when its client was last there */
    struct mcp_follow *follows; /* the newest first */
};

struct mcp {
    const struct mcp_catalogue *cat;
    const struct method *call; /* tools/call, for deferred calls */
    struct store *store; /* or NULL */
    struct sign *sign;   /* or NULL: no ids, no states */
    struct calls *calls; /* or NULL: nothing is deferred */
    struct mcp_session *sessions;
    struct mcp_session *by_id[MCP_CHAINS];
    size_t n_sessions;
    size_t n_sinks, n_subs;   /* of all sessions; of the listens as well */
    struct mcp_message *waiting; /* those that waited last first */
    struct mcp_message *going; /* that was given out to go on; or NULL */
    uint64_t last_looker;      /* hash of the principal of the last of those */
    size_t waiting_len;          /* bytes of all that they keep */
    struct arena runs;        /* what the runs of this turn take */
    uint64_t last_ask;        /* in the id of the last poll of a client */
    uint64_t list_clock;      /* counts changes of lists */
    uint64_t list_n[MCP_N_LISTS]; /* clock of the last change */
    unsigned list_due;        /* a bit for each mcp_list to be told */
    int64_t list_sent_ms;
    uint64_t list_at;         /* n of the last list_changed; 0: any, to head */
    uint64_t ran, ran_clock;  /* head and list_clock when a listen last ran */
    uint64_t changed_n;       /* n of the last change of the catalogue's; 0:
                                 not known, none above head */
    bool tell_if_due;       /* a session is due to be told, by mcp_tick */
    bool followed;       /* the store was looked at in this turn */
    bool stopping;
    bool follows_due;    /* something of deferred calls is to be told */
    int64_t marked_ms;   /* not before that, after an error */
    int64_t delivery_ms; /* when the deliveries are looked after */
    struct mcp_counts counts;
};

#endif
