#ifndef MCP_H
#define MCP_H

/* mcp - the Model Context Protocol in all its revisions, over a catalogue and
   the facts of each message. It knows neither tasks nor HTTP. */

#include "mcp/stream.h"

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

/* Makes a message whose run returned MCP_WAITS wait, after the commit of that
   run: mcp_next will return owner, and its later notes go to sink. Only the
   state of the run is kept. Returns 0 or ERR_NOMEM. */
int mcp_keep(struct mcp_message *m, struct mcp_sink *sink, void *owner);
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

/* ---- counts ---- */

struct mcp_counts {
    uint64_t requests, errors, waiting, sessions, subscriptions;
    struct calls_counts calls;
};
void mcp_count(const struct mcp *m, struct mcp_counts *out);
uint64_t mcp_requests(const struct mcp *m);

#endif
