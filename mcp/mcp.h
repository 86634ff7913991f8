#ifndef MCP_H
#define MCP_H

/* mcp - the Model Context Protocol in all its revisions, over a catalogue and
   the facts of each message. It knows neither tasks nor HTTP. */

#include "mcp/wire.h"
#include "store.h"

/* sign and calls are of this store, calls with the catalogue's alias; sign may
   be NULL where no message will come. All must outlive it. Returns 0 or
   ERR_NOMEM. */
int mcp_new(struct mcp **out, const struct mcp_catalogue *c,
            struct store *store, struct sign *sign, struct calls *calls);
/* All messages and joined sessions must be gone. */
void mcp_free(struct mcp *m);
/* Says which principals there are besides the one of a message. */
typedef bool mcp_principal_fn(const void *of, struct str name);
void mcp_principals(struct mcp *m, mcp_principal_fn *is, const void *of);

/* ---- one message ---- */

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

/* Parses and judges one message, and copies it into memory of its own, so that
   text and f may go; initialize, responses and notifications take effect. With
   text NULL it is the end of the session that f names (HTTP DELETE), whose
   answer is MCP_OK without a body, or MCP_NOT_FOUND. Bad bytes are no failure:
   mcp_run then answers with the fault. Returns 0; ERR_NOMEM; ERR_INVALID: f
   says that it is sent again, and mcp_repeats is false for it. */
int mcp_accept(struct mcp *m, const struct mcp_facts *f, const struct str *text,
               struct mcp_message **out);
/* The bytes that it holds beside its text, for which transports have limits. */
size_t mcp_judged_len(const struct mcp_message *m);
/* Whether a run may stage records, and so needs the write lock. */
bool mcp_writes(const struct mcp_message *m);
/* Runs the prepare functions of its calls. Call it once, without the lock. */
void mcp_prepare(struct mcp_message *m);
/* Runs it. Appends its answer to out, without a line feed, and to notes the
   messages before it, each with one. May be called again with both cut back:
   each run starts from the arguments. If memory runs out the answer is an
   internal error, or, without memory even for that, out->err is set. */
enum mcp_status mcp_run(struct mcp_message *m, struct buf *out,
                        struct buf *notes);
/* The memory that runs took since mcp_end_turn, which frees it: by then all is
   answered or kept. */
size_t mcp_runs_len(const struct mcp *m);
void mcp_end_turn(struct mcp *m);
/* The id of the session that it began, for Mcp-Session-Id, or NULL. */
const char *mcp_made_session(const struct mcp_message *m);
/* Frees a message, at any time; if it has no answer yet it gets none. The
   session in its facts must still exist. */
void mcp_release(struct mcp_message *m);

/* ---- messages that wait ---- */

/* What a channel sends: a message of ours, or what becomes of a message of its
   client. The texts are valid only during the call. */
struct mcp_out {
    struct str text;        /* one message; or empty: there is none */
    struct str event;       /* of a message of ours, the id of its SSE event;
                               or empty */
    const struct mcp_message *to; /* what it answers; NULL: it is ours */
    enum mcp_status status; /* of an answer. MCP_WAITS: it comes later, see
                               mcp_polls and mcp_repeats. MCP_LOST: its client
                               must learn that it gets none */
};

/* The way to one client, in the memory of its transport. All but send may be
   NULL. */
struct mcp_channel {
    /* Sends it, or keeps it to be sent. False: there is no memory for it; then
       a short error follows instead of an answer. */
    bool (*send)(void *ctx, const struct mcp_out *o);
    /* Whether its client has yet to read some of what it was sent. */
    bool (*behind)(void *ctx);
    /* Whether its client has left and no longer waits for an answer. */
    bool (*gone)(void *ctx);
    /* This turn has no more answers for it: time to write and, if no message
       of its client is left, to push more. */
    void (*done)(void *ctx);
    void *ctx;
    bool blocked;             /* see mcp_channel_block */
    struct mcp_channel *next; /* mcp's own */
};

/* Sends a message of ours; event as in mcp_out. */
void mcp_send(const struct mcp_channel *to, struct str text, struct str event);
/* Sends each message of notes, where each ends with a line feed. */
void mcp_send_notes(const struct mcp_channel *to, struct str notes);

/* Makes a message whose run returned MCP_WAITS wait, after the commit of that
   run: mcp_next will return owner, and its later notes go to channel. Only the
   state of the run is kept. Returns 0 or ERR_NOMEM. */
int mcp_keep(struct mcp_message *m, struct mcp_channel *channel, void *owner);
/* Returns the owner of the next waiting message to be run again, and the
   message, each once until it waits again; or NULL. */
void *mcp_next(struct mcp *m, int64_t now_ms, struct mcp_message **out);
/* When mcp_next, or a delayed notification, is due; INT64_MAX: never. */
int64_t mcp_due_ms(const struct mcp *m);
/* Whether its client is to come back on another stream, where mcp_repeats, and
   after how many milliseconds; 0: no. */
unsigned mcp_polls(const struct mcp_message *m);
/* Whether its client may send it again if it loses the answer: it changes
   nothing, and waits as *out says. That is so in 2025-11-25 only, whose clients
   come back by themselves. */
bool mcp_repeats(const struct mcp_message *m, struct mcp_repeat *out);

/* ---- deferred calls ---- */

/* Under the write lock, before a commit: runs the marked deferred calls again,
   and stages their outcome. What cannot be done now stays marked. */
void mcp_run_marked(struct mcp *m);
/* After a failed commit: the calls that it had settled are marked again. They
   stay out of others' commits for a while, unless this one is retried. */
void mcp_undo_marked(struct mcp *m, bool retried);
/* When mcp_run_marked has work, by loop_now's clock; 0: now, INT64_MAX:
   never. */
int64_t mcp_marked_due_ms(const struct mcp *m);

/* ---- marks: names of sessions, for records ---- */

/* A name for the session of c, or for the process on a pipe, that records and
   other processes understand; in c's memory. It begins with eight characters
   that differ from session to session. .p is NULL if there is no session. */
struct str mcp_session_mark(const struct mcp_call *c);
/* The mark of this process, in a; .p NULL: it has none. */
struct str mcp_process_mark(struct arena *a, struct store *s);
/* Whether two marks are of one session. */
bool mcp_session_is(struct str a, struct str b);
/* What can be seen of the session of a mark; of is a struct mcp, or a struct
   store where there is none. One on a pipe is alive or gone with its process.
   One over HTTP is gone once it was deleted, and alive while it has an open
   stream or a request under way or, for other processes, while its server runs;
   that the server has ended says nothing of it. */
enum sight mcp_see(const void *of, struct str mark);
enum sight mcp_see_process(const void *of, struct str mark);
/* Whether a token of this process has that agent. */
bool mcp_is_principal(const struct mcp_call *c, struct str name);

/* ---- sessions, and what changes ---- */

/* The kind of the records "session/<id>", for store_open. */
void mcp_session_kind(struct store_kind *out);

/* Makes the session of a channel with one client (stdio); NULL if memory ran
   out. */
struct mcp_session *mcp_join(struct mcp *m, struct mcp_channel *channel);
void mcp_leave(struct mcp_session *s);
/* Opens a stream of the session that f names, for messages that belong to no
   request. With last (a Last-Event-ID, or .p NULL) the next mcp_tick sends what
   came since. A second stream gets nothing while the first is open, unless it
   has last. ERR_NOT_FOUND: that principal has no such session; ERR_NOMEM. */
int mcp_stream_open(struct mcp *m, const struct mcp_facts *f, struct str last,
                    struct mcp_channel *channel, struct mcp_session **out);
/* Opens a stream of the SSE transport, with a new session or the one that last
   belongs to. ERR_IO, ERR_NOMEM. */
int mcp_sse_open(struct mcp *m, const struct mcp_facts *f, struct str last,
                 struct mcp_channel *channel, struct mcp_session **out);
/* Writes the id of the first event of such a stream, with which a client can
   come back. Returns its length. */
#define MCP_EVENT_MAX (MCP_ID_MAX + 2 * 21)
size_t mcp_stream_event(const struct mcp_session *s, char out[MCP_EVENT_MAX]);
void mcp_stream_close(struct mcp_session *s, struct mcp_channel *channel);
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
/* A blocked channel gets no notifications. Once it is open again it is told of
   each thing that changed meanwhile. */
void mcp_channel_block(struct mcp *m, struct mcp_channel *channel,
                       bool blocked);
/* Once a turn, after its answers: sends notifications; of each list at most one
   per second, and none to a channel that is behind. */
void mcp_tick(struct mcp *m, int64_t now_ms);
/* Makes the server end each subscriptions/listen: mcp_next returns them, and
   their run answers them. */
void mcp_end_listens(struct mcp *m);

/* ---- counts ---- */

struct mcp_counts {
    uint64_t requests, errors, waiting, sessions, subscriptions;
    struct calls_counts calls;
};
void mcp_count(const struct mcp *m, struct mcp_counts *out);
uint64_t mcp_requests(const struct mcp *m);

#endif
