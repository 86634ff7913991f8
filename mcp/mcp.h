#ifndef MCP_H
#define MCP_H

/* mcp - the Model Context Protocol in all its revisions. It is given a
   catalogue and the facts of a message, and knows neither task nor HTTP. */

#include "mcp/error.h"
#include "mcp/scan.h"
#include "mcp/stream.h"

/* All three must outlive it. store may be NULL: nothing is remembered, nor
   any resource watched. 0 or ERR_NOMEM. */
int mcp_new(struct mcp **out, const struct mcp_catalogue *c,
            struct store *store, struct sign *sign);
/* Calls can be deferred from here on. c, of the same store and with the
   catalogue's alias, must outlive m. */
void mcp_defers(struct mcp *m, struct calls *c);
/* All messages kept and sessions joined must be gone. */
void mcp_free(struct mcp *m);

/* ---- one message ---- */

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
/* The memory that runs took since mcp_end_turn: all is answered or kept. */
size_t mcp_runs_len(const struct mcp *m);
void mcp_end_turn(struct mcp *m);
/* The id of the session that it made, for Mcp-Session-Id, or NULL. */
const char *mcp_made_session(const struct mcp_message *m);
/* A message, unless mcp_keep made it, is done with: until here what it refers
   to stays in memory. */
void mcp_release(struct mcp_message *m);

/* The error answer to a message over the limit, with the id that was found. */
void mcp_too_large(struct buf *out, size_t limit, const struct mcp_scan *s);

/* ---- messages that wait ---- */

/* Has a message whose run gave MCP_WAITS wait, behind the commit of that run.
   One that is new is copied, with its arguments, into memory of its own; owner
   is what mcp_next gives back, sink where its later notes go. One that was
   kept before is *out itself. Of the run only its state is kept. 0 or
   ERR_NOMEM. */
int mcp_keep(struct mcp_message *m, struct mcp_sink *sink, void *owner,
             struct mcp_message **out);
/* The owner of the next kept message that is to be run again, and the
   message; each is given once until it waits again; or NULL. */
void *mcp_next(struct mcp *m, int64_t now_ms, struct mcp_message **out);
/* When mcp_next or a held-back notification is due; INT64_MAX: never. */
int64_t mcp_due_ms(const struct mcp *m);
/* Whether its client may come back for the answer on another stream, and
   after how many milliseconds; 0: no. */
unsigned mcp_polls(const struct mcp_message *m);
/* Ends a kept message; its client gets no answer. */
void mcp_drop(struct mcp_message *m);

/* ---- deferred calls ---- */

/* Under the write lock, before a commit: runs the deferred calls again that
   wait for what was staged, or committed before, and stages what they came
   to. What cannot be done now stays to be done. */
void mcp_run_marked(struct mcp *m);
/* The commit failed: what it had settled has to be settled again, later. */
void mcp_undo_marked(struct mcp *m);
/* When there are calls to be settled, by loop_now's clock: 0 is at once,
   INT64_MAX never. */
int64_t mcp_marked_due_ms(const struct mcp *m);

struct mcp_counts {
    uint64_t requests, errors, waiting, sessions, subscriptions;
    struct calls_counts calls;
};
void mcp_count(const struct mcp *m, struct mcp_counts *out);
uint64_t mcp_requests(const struct mcp *m);

#endif
