#ifndef MCP_SESSION_H
#define MCP_SESSION_H

/* session - the state of a server: struct mcp, and its sessions. */

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
    size_t n_channels, n_subs;/* of all sessions; n_subs of listens too */
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

#define MCP_SESSION_AGE_MS ((int64_t)30 * 24 * 60 * 60 * 1000)

/* Whether there is a store that can be written. */
bool mcp_is_writable(const struct mcp *m);
/* Makes a session for the principal of f, without an id; NULL if memory ran
   out. */
struct mcp_session *mcp_session_new(struct mcp *m, const struct mcp_facts *f);
/* Gives it an id, once revision and capabilities are known. 0 or ERR_IO. */
int mcp_session_seal(struct mcp_session *s);
/* Finds the session of this id, for its principal in f. ERR_NOT_FOUND: it is
   unknown, has ended, or has another principal or right to write. */
int mcp_session_find(struct mcp *m, const struct mcp_facts *f, struct str id,
                     struct mcp_session **out);
/* Frees a session that nobody uses. */
void mcp_session_free(struct mcp_session *s);
/* Changes the log level (-1: unchanged), ends s, or adds or removes uri. Stages
   a record of s with the change, which memory takes over once it is committed;
   or, if s has no record, changes s. Returns 0, ERR_TOO_LARGE for too many
   subscriptions, or an error of store_stage. */
int mcp_session_set(struct mcp_session *s, int level, bool end,
                    struct str add, struct str drop);
/* Whether mcp_session_set would change anything. */
bool mcp_session_changes(const struct mcp_session *s, int level,
                         struct str add, struct str drop);
/* Whether changes of s are records. */
bool mcp_session_stored(const struct mcp_session *s);
/* Outside of a turn: brings memory up to the record of s. Returns 0, ERR_NOMEM,
   ERR_GARBLED if that is not JSON, or an error of store_read. */
int mcp_session_refresh(struct mcp_session *s);
/* Call it when a record "session/<id>" was committed. */
void mcp_session_changed(struct mcp *m, const struct mcp_change *c);

#endif
