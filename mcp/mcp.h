#ifndef MCP_H
#define MCP_H

/* mcp - JSON-RPC 2.0 and the Model Context Protocol in all its revisions:
   envelopes, versions, the method table, the shape of results, sessions and
   subscriptions. It is given a catalogue and the facts of a message, and
   knows neither task nor HTTP. */

#include "mcp/catalogue.h"
#include "store.h"

struct mcp;         /* one server */
struct mcp_session; /* what initialize agreed, and what was set since */
struct mcp_message; /* parsed and judged, in the arena it was given */
struct sign;

/* All three must outlive it. store may be NULL: nothing is remembered, nor
   any resource watched. 0 or
   ERR_NOMEM. */
int mcp_new(struct mcp **out, const struct mcp_catalogue *c,
            struct store *store, struct sign *sign);
/* Has calls be deferred from here on: c must outlive m, be of its store, and
   have the catalogue's alias. */
void mcp_defers(struct mcp *m, struct calls *c);
/* All messages kept and sessions joined must be gone. */
void mcp_free(struct mcp *m);
/* The kind of the records "session/<id>", for store_open. */
void mcp_session_kind(struct store_kind *out);

/* ---- one message ---- */

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

enum mcp_status { /* what a transport does with the answer */
    MCP_OK,          /* 200 */
    MCP_ACCEPTED,    /* nothing to answer: 202; or it was cancelled */
    MCP_BAD_REQUEST, /* 400, body as appended */
    MCP_NOT_FOUND,   /* 404, body as appended */
    MCP_TOO_MANY,    /* 429, body as appended; none of mcp_run */
    MCP_WAITS        /* no answer yet: to be kept, see below */
};

/* Parses and judges one message; makes initialize take effect, and responses
   and notifications. Never fails for what the bytes say: the fault is then
   what mcp_run answers. ERR_NOMEM. text, a, and the bytes of f->principal
   must outlive *out. */
int mcp_accept(struct mcp *m, const struct mcp_facts *f, struct arena *a,
               struct str text, struct mcp_message **out);
/* A message that stands for the end of the session that f names (HTTP
   DELETE): answered MCP_OK without a body, or MCP_NOT_FOUND. */
int mcp_accept_end(struct mcp *m, const struct mcp_facts *f, struct arena *a,
                   struct mcp_message **out);
/* Whether by, a message that was accepted, cancels requests which do not wait;
   and does so: those of m that it names are neither run nor answered. m, of
   whatever session, came before by and was not run yet. */
bool mcp_cancels(const struct mcp_message *by);
void mcp_cancel(struct mcp_message *m, const struct mcp_message *by);
/* Whether running it may stage records: it needs the write lock. */
bool mcp_writes(const struct mcp_message *m);
/* Runs the prepare functions of its calls; without the lock, once. */
void mcp_prepare(struct mcp_message *m);
/* Runs it and appends its answer to out, without a line feed, and to notes
   the messages that go before it, each with one. May be called again with
   both cut back: all is made anew from the arguments. Where memory runs out
   the answer is an internal error; where there is not even memory for that,
   out->err says so. */
enum mcp_status mcp_run(struct mcp_message *m, struct buf *out,
                        struct buf *notes);
/* The memory that runs have taken since mcp_end_turn, and its end: all that
   was run is answered or kept. */
size_t mcp_runs_len(const struct mcp *m);
void mcp_end_turn(struct mcp *m);
/* Gives what mcp_run appended to notes to send, a message at a time. */
void mcp_give_notes(struct str notes,
                    void (*send)(void *ctx, struct str message,
                                 struct str event),
                    void *ctx);
/* The id of the session that it made, for Mcp-Session-Id, or NULL. */
const char *mcp_made_session(const struct mcp_message *m);

/* A message is done with: run and answered, copied by mcp_keep, or not to be
   run at all. Before that what it refers to stays in memory. Not for those
   that mcp_keep made. */
void mcp_release(struct mcp_message *m);

/* Looks for the id of a message that cannot be parsed, or kept: all zero
   first, then fed its bytes in any pieces. */
struct mcp_scan {
    char text[128];
    size_t len;
    uint32_t depth; /* of brackets */
    bool quoted, escaped, wanted, done;
};
void mcp_scan(struct mcp_scan *s, struct str piece);

/* A message that could not even be taken (over the limit): an error answer,
   with the id that was found; and one that mcp_keep had no memory for. */
void mcp_too_large(struct buf *out, size_t limit, const struct mcp_scan *s);
void mcp_no_memory(const struct mcp_message *m, struct buf *out);
/* Appends an error answer for a message of somebody who sends too many. False:
   there is none, since it is not one request. */
bool mcp_too_many(struct buf *out, struct str text, unsigned wait_ms);

/* ---- messages that wait ---- */

/* Where messages to a client go, in the storage of who gives it. */
struct mcp_sink {
    /* Sends one message; event is the id of its SSE event, or empty. */
    void (*send)(void *ctx, struct str message, struct str event);
    void *ctx;
    bool blocked;          /* see mcp_sink_block */
    struct mcp_sink *next; /* mcp's own */
};

/* Has a message whose run gave MCP_WAITS wait, behind the commit of that run.
   One that is new is copied, with its arguments, into memory of its own; owner
   is what mcp_next gives back, sink where its later notes go. One that was
   kept before is *out itself. Of the run only its state is kept. 0 or
   ERR_NOMEM. */
int mcp_keep(struct mcp_message *m, struct mcp_sink *sink, void *owner,
             struct mcp_message **out);
/* The owner of the next kept message that is to be run again, and the
   message; each is given once until it waits again. NULL: none. */
void *mcp_next(struct mcp *m, int64_t now_ms, struct mcp_message **out);
/* When mcp_next or a held-back notification is due; INT64_MAX: never. */
int64_t mcp_due_ms(const struct mcp *m);
/* Whether its client may come back for the answer on another stream, and
   after how many milliseconds; 0: no. */
unsigned mcp_polls(const struct mcp_message *m);
/* Ends a kept message; its client gets no answer. */
void mcp_drop(struct mcp_message *m);

/* ---- deferred calls: mcp/deferred.c, mcp/tasks.c, mcp/delivery.c ---- */

/* Under the write lock, before a commit: runs the deferred calls again that
   wait for what was staged, or committed before, and stages what they came
   to. What cannot be done now stays to be done. */
void mcp_settle(struct mcp *m);
/* The commit failed: what it had settled has to be settled again, later. */
void mcp_unsettle(struct mcp *m);
/* When there are calls to be settled, by loop_now's clock: 0 is at once,
   INT64_MAX never. */
int64_t mcp_settle_due_ms(const struct mcp *m);

/* ---- sessions and subscriptions: mcp/session.c, mcp/listen.c ---- */

/* The session of a channel that is one client's alone (stdio), or NULL when
   there is no memory. */
struct mcp_session *mcp_join(struct mcp *m, struct mcp_sink *sink);
void mcp_part(struct mcp_session *s);
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

struct mcp_counts {
    uint64_t requests, errors, waiting, sessions, subscriptions;
    struct calls_counts calls;
};
void mcp_count(const struct mcp *m, struct mcp_counts *out);
uint64_t mcp_requests(const struct mcp *m); /* of those, at once */

/* The name of a revision ("2025-11-25") and back; -1: unknown. */
const char *mcp_rev_name(enum mcp_rev rev);
int mcp_rev_of(struct str name);

#endif
