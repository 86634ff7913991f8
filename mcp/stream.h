#ifndef MCP_STREAM_H
#define MCP_STREAM_H

/* stream - where messages to clients go, and what is told there. */

#include "mcp/wire.h"
#include "store.h"

/* What a transport knows of a message beside its bytes. */
struct mcp_facts {
    bool http;          /* false: there are no headers */
    struct str version; /* MCP-Protocol-Version, .p NULL: absent */
    /* By its name in lower case, without blanks around it; .p NULL: absent.
       Called for http only, and during mcp_accept only. */
    struct str (*header)(void *ctx, const char *name);
    void *header_ctx;
    struct str principal;        /* empty: the one */
    bool read_only;              /* it may not write */
    struct mcp_session *session; /* of the channel; NULL: by session_id */
    struct str session_id;       /* Mcp-Session-Id, .p NULL: absent */
};

/* Where messages to a client go, in the storage of who gives it. */
struct mcp_sink {
    /* Sends one message; event is the id of its SSE event, or empty. */
    void (*send)(void *ctx, struct str message, struct str event);
    void *ctx;
    bool blocked;          /* see mcp_sink_block */
    struct mcp_sink *next; /* mcp's own */
};

/* Gives what mcp_run appended to notes to send, a message at a time. */
void mcp_give_notes(struct str notes,
                    void (*send)(void *ctx, struct str message,
                                 struct str event),
                    void *ctx);

/* The kind of the records "session/<id>", for store_open. */
void mcp_session_kind(struct store_kind *out);

/* The session of a channel that is one client's alone (stdio), or NULL when
   there is no memory. */
struct mcp_session *mcp_join(struct mcp *m, struct mcp_sink *sink);
void mcp_leave(struct mcp_session *s);
/* A stream for what belongs to no request: of the session that f names, and
   with last (a Last-Event-ID, or .p NULL) what came since is sent by the next
   mcp_tick. A second one gets nothing while the first is open, unless it has
   last. ERR_NOT_FOUND: no such session of that principal; ERR_NOMEM. */
int mcp_stream_open(struct mcp *m, const struct mcp_facts *f, struct str last,
                    struct mcp_sink *sink, struct mcp_session **out);
/* The stream of the SSE transport: a new session, or the one that last
   belongs to. ERR_IO, ERR_NOMEM. */
int mcp_sse_open(struct mcp *m, const struct mcp_facts *f, struct str last,
                 struct mcp_sink *sink, struct mcp_session **out);
/* The id of the first event of such a stream, so that a client that comes
   back says where it was; appended to b. */
void mcp_stream_event(const struct mcp_session *s, struct buf *b);
void mcp_stream_close(struct mcp_session *s, struct mcp_sink *sink);
const char *mcp_session_id(const struct mcp_session *s);

/* A committed record, as far as subscriptions care. */
struct mcp_change {
    struct str key, body;
    uint64_t n;
    bool first; /* of its key */
};

/* Whether anybody would hear of a change: then what other processes commit
   has to be looked for. */
bool mcp_listens(const struct mcp *m);
/* A record was committed, by whomever. */
void mcp_changed(struct mcp *m, const struct mcp_change *c);
enum mcp_list { MCP_LIST_RESOURCES, MCP_LIST_TOOLS, MCP_LIST_PROMPTS };
void mcp_list_changed(struct mcp *m, enum mcp_list which);
/* While a sink is blocked nothing unasked goes there; what it missed is told
   when it no longer is, once for each thing that changed. */
void mcp_sink_block(struct mcp *m, struct mcp_sink *sink, bool blocked);
/* Once a turn, behind its answers: sends what is to be told, and lists, for
   at most one list_changed a second. */
void mcp_tick(struct mcp *m, int64_t now_ms);
/* Ends each subscriptions/listen as the server's own doing: they are given
   out by mcp_next, and answered when run. */
void mcp_end_listens(struct mcp *m);

#endif
