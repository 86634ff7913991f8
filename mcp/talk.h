#ifndef MCP_TALK_H
#define MCP_TALK_H

/* talk - a call of the catalogue's, and what it may ask while it runs. */

#include "base/base.h"
#include "json.h"

enum mcp_rev { /* in order of time, so that they compare */
    MCP_2024_11_05,
    MCP_2025_03_26,
    MCP_2025_06_18,
    MCP_2025_11_25,
    MCP_2026_07_28,
    MCP_N_REVS
};

/* What a client can be asked for, a bit each. */
enum mcp_cap { MCP_ELICITATION = 1, MCP_SAMPLING = 2, MCP_ROOTS = 4 };

/* One call of a tool or prompt, or one look at resources. What it stages in
   a store is committed by the caller of mcp_run; it may be run again. */
struct mcp_call {
    void *ctx;                   /* the catalogue's */
    unsigned number;             /* of the tool or prompt, from its row */
    struct arena *arena;         /* of this run, until its answer is out */
    enum mcp_rev rev;
    struct str client;           /* clientInfo.name, or empty */
    struct str principal;        /* who is authorised; empty: the one */
    unsigned caps;               /* enum mcp_cap of the client, or 0 */
    bool read_only;              /* the principal may not write */
    bool may_wait;               /* false: it has to be answered at once */
    const char *why;             /* set by a prompt that refuses; or NULL */
    uint64_t since;              /* records above this are news to it */
    int64_t until_ms;            /* clock_mono_ms by which the run is to end,
                                    or to go on in a later one; 0: never */
    size_t read_max;             /* bytes of records that it may read; 0: as
                                    many as it likes */
    const struct json_tok *args; /* an object, or NULL when absent */
    void *prepared;              /* what the tool's prepare left here */
    unsigned round;              /* how often it had to wait before */
    struct str state;            /* mcp_state's of the round before; empty */
    struct buf *out;             /* see mcp_tool.run */
    bool is_error;
    bool content;                /* see mcp_tool.run */
    struct request *of;          /* mcp's own */
};

/* Asks the client by method ("elicitation/create", "sampling/createMessage",
   "roots/list") with the object params. The client's result once it has come
   (JSON_NULL: it refused or failed), in memory of the call; NULL: not yet,
   and the run returns ERR_MORE when it has asked for all that it needs. key
   names the question within the call. Where the client cannot be asked so,
   it is as if mcp_need had failed: before 2026-07-28 only a tool that writes
   can ask, in its first run or in those that follow on that. The call is then
   a record, as behind mcp_defer, though mcp_defer says otherwise; an answer
   that comes when it has ended is given to one more run, for what that
   stages. */
const struct json_tok *mcp_ask(struct mcp_call *c, const char *key,
                               const char *method, struct str params);
/* 0 where the client has all of caps; ERR_CAPABILITY else, to be returned:
   the answer says what is needed. */
int mcp_need(struct mcp_call *c, unsigned caps);
/* What the next round shall find in c->state; copied. */
void mcp_state(struct mcp_call *c, struct str state);
/* A call that returns ERR_MORE is run again after ms at the latest. */
void mcp_wait(struct mcp_call *c, int64_t ms);
/* Ends a run whose time is over before its work is: the next one begins at
   state as soon as others have had theirs, with c->since as it is. Returns
   ERR_MORE. */
int mcp_go_on(struct mcp_call *c, struct str state);
#define MCP_SLICE_MS 10 /* until c->until_ms */
#define MCP_READ_MAX ((size_t)2 * 1024 * 1024) /* c->read_max, of a batch */
/* A call that returns ERR_MORE is run again when a record is committed whose
   key this is, or that has it as its alias; the last one counts. Such a run
   may come for nothing, and finds all that happened above c->since. */
void mcp_watch(struct mcp_call *c, struct str what);
/* From here on an ERR_MORE of this run makes it a deferred call, where its
   client took that for possible: it is kept in the store, and run again from
   its arguments, with its round, state and answers, by whichever process
   brings about or sees what it waits for. Whether it is one, or will be. */
bool mcp_defer(struct mcp_call *c);
/* Whether a first run that waits, deferred or not, is let wait: else it ends
   with an error, whatever it has staged. */
bool mcp_can_wait(struct mcp_call *c, bool deferred);
/* Lets a client of 2025-11-25 on HTTP come back for the answer on another
   stream, as it may after retry_ms; does nothing elsewhere. */
void mcp_poll(struct mcp_call *c, unsigned retry_ms);
/* Tells how far it is, where the client gave a token; in thousandths where
   total is 0. message may be NULL. */
void mcp_progress(struct mcp_call *c, uint64_t progress, uint64_t total,
                  const char *message);
/* A log message with JSON data, where the client wants that level (RFC 5424
   severity, 0-7). */
void mcp_log(struct mcp_call *c, int level, const char *logger,
             struct str data);

#endif
