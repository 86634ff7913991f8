#ifndef MCP_STREAM_H
#define MCP_STREAM_H

/* stream - streams of messages to clients, and what they are told. */

#include "mcp/wire.h"
#include "store.h"

/* What a request that is sent again had when it was sent first. */
struct mcp_repeat {
    uint64_t since;   /* it had seen records up to this */
    int64_t began_ms; /* when that was, by store_now_ms; 0: it is not sent
                         again */
};

/* What a transport knows of a message besides its bytes. */
struct mcp_facts {
    bool http;          /* false: there are no headers */
    struct str version; /* MCP-Protocol-Version, .p NULL: absent */
    /* The value of a header, named in lower case, without blanks around it; .p
       NULL: absent. Called only for http, and only during mcp_accept. */
    struct str (*header)(void *ctx, const char *name);
    void *header_ctx;
    struct str principal;        /* empty: the only one */
    bool read_only;              /* it may not write */
    bool person;                 /* a person asks, not a program */
    struct mcp_session *session; /* of the channel; NULL: by session_id */
    struct str session_id;       /* Mcp-Session-Id, .p NULL: absent */
    struct mcp_repeat repeat;    /* of mcp_repeats, if it is sent again */
};

/* Where messages to a client go, in the transport's memory. */
struct mcp_sink {
    /* Sends one message; event is the id of its SSE event, or empty. */
    void (*send)(void *ctx, struct str message, struct str event);
    /* Whether its client has yet to read some of that; NULL: never. */
    bool (*behind)(void *ctx);
    void *ctx;
    bool blocked;          /* see mcp_sink_block */
    struct mcp_sink *next; /* mcp's own */
};

/* Calls send with each message of notes, where each ends with a line feed. */
void mcp_give_notes(struct str notes,
                    void (*send)(void *ctx, struct str message,
                                 struct str event),
                    void *ctx);

/* The kind of the records "session/<id>", for store_open. */
void mcp_session_kind(struct store_kind *out);

/* Makes the session of a channel with one client (stdio); NULL if memory ran
   out. */
struct mcp_session *mcp_join(struct mcp *m, struct mcp_sink *sink);
void mcp_leave(struct mcp_session *s);
/* Opens a stream of the session that f names, for messages that belong to no
   request. With last (a Last-Event-ID, or .p NULL) the next mcp_tick sends what
   came since. A second stream gets nothing while the first is open, unless it
   has last. ERR_NOT_FOUND: that principal has no such session; ERR_NOMEM. */
int mcp_stream_open(struct mcp *m, const struct mcp_facts *f, struct str last,
                    struct mcp_sink *sink, struct mcp_session **out);
/* Opens a stream of the SSE transport, with a new session or the one that last
   belongs to. ERR_IO, ERR_NOMEM. */
int mcp_sse_open(struct mcp *m, const struct mcp_facts *f, struct str last,
                 struct mcp_sink *sink, struct mcp_session **out);
/* Writes the id of the first event of such a stream, with which a client can
   come back. Returns its length. */
#define MCP_EVENT_MAX (MCP_ID_MAX + 2 * 21)
size_t mcp_stream_event(const struct mcp_session *s, char out[MCP_EVENT_MAX]);
void mcp_stream_close(struct mcp_session *s, struct mcp_sink *sink);
const char *mcp_session_id(const struct mcp_session *s);

/* A committed record, as subscriptions see it. */
struct mcp_change {
    struct str key, body;
    uint64_t n;
    bool first; /* of its key */
};

/* The changes that a client listens for: then the commits of other processes
   have to be read. Changes of lists alone may be told later than those of a
   resource or of a call, for which a client waits. */
enum mcp_hearing { MCP_HEARS_NOTHING, MCP_HEARS_LISTS, MCP_HEARS_ALL };
enum mcp_hearing mcp_listens(const struct mcp *m);
/* Whether the answer to a message waits for one. */
bool mcp_waits(const struct mcp *m);
/* Call it for each committed record, of any process. */
void mcp_changed(struct mcp *m, const struct mcp_change *c);
enum mcp_list { MCP_LIST_RESOURCES, MCP_LIST_TOOLS, MCP_LIST_PROMPTS };
void mcp_list_changed(struct mcp *m, enum mcp_list which);
/* A blocked sink gets no notifications. Once it is open again it is told of
   each thing that changed meanwhile. */
void mcp_sink_block(struct mcp *m, struct mcp_sink *sink, bool blocked);
/* Once a turn, after its answers: sends notifications; of each list at most one
   per second, and none to a sink that is behind. */
void mcp_tick(struct mcp *m, int64_t now_ms);
/* Makes the server end each subscriptions/listen: mcp_next returns them, and
   their run answers them. */
void mcp_end_listens(struct mcp *m);

#endif
