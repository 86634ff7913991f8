#ifndef MCP_DIALECT_H
#define MCP_DIALECT_H

/* dialect - a deferred call as its clients see it: its questions, and the call
   as a task. */

#include "mcp/mcp.h"

/* ---- questions ---- */

/* To whom a question was delivered. */
struct mcp_delivery {
    int64_t n;       /* place of the request; 0: delivered to nobody */
    int64_t by;      /* the process that sent it */
    struct str to;   /* id of the session; empty: that of a pipe */
    struct str task; /* the client's task, or .p NULL */
    bool bare;       /* asked once more, without a task */
};

struct mcp_question {
    struct mcp_question *next;
    unsigned i; /* its place in the record */
    struct str key, method, params;
    const struct json_tok *answer; /* NULL: not yet; JSON_NULL: none came, or
                                      it was withdrawn */
    bool asked;                    /* by this run */
    struct mcp_delivery delivery;
};

/* Reads the questions of a record; raw.p NULL is an empty list. ERR_NOMEM, or
   ERR_INVALID if they have another form. */
int mcp_read_questions(struct arena *a, struct str raw,
                       struct mcp_question **out);
/* A list of questions in the form of a record, in a, without void deliveries.
   .p NULL: it is empty, or memory ran out. */
struct str mcp_raw_questions(struct mcp *m, struct arena *a,
                             const struct mcp_question *q);
/* Writes the inputRequests of a list of questions: those without an answer, by
   their keys. */
void mcp_put_inputs(struct json_w *w, const struct mcp_question *q);
/* Whether k stands for a plain call: its client knows of no task. */
bool mcp_is_plain(const struct call *k);
/* Whether the client that has the question can still be reached, through any
   process. If its session is in this process now, the delivery becomes this
   process's. */
bool mcp_delivery_lives(struct mcp *m, struct mcp_delivery *h);
bool mcp_is_reachable(const struct mcp_session *s);

/* ---- the call as a task ---- */

/* Writes the _meta of a message that belongs to a task. */
void mcp_put_related(struct json_w *w, struct str id);
/* Whether a tool's result in rev has structured content beside its text; and
   writes the members of a result with this text, then an object. */
bool mcp_is_structured(const struct mcp *m, enum mcp_rev rev);
void mcp_put_output(struct json_w *w, struct str text, bool structured);
/* Writes the members of k's stored result. Structured content depends on this
   server: another may have stored it, as 0.1.0 always did, or left it out. */
void mcp_put_outcome(struct json_w *w, const struct mcp *m, struct arena *a,
                     const struct call *k, enum mcp_rev rev);
/* Writes the members of k as a task of the revision, from 2026-07-28 on with
   its result, error or questions. Memory in a. */
void mcp_put_call(struct json_w *w, const struct mcp *m, struct arena *a,
                  const struct call *k, enum mcp_rev rev);
/* Writes those members that all revisions share, with k's status. */
void mcp_put_call_head(struct json_w *w, const struct mcp *m,
                       const struct call *k, enum mcp_rev rev);
/* Writes the members of r's result: the task that k has become. */
void mcp_put_created(struct request *r, const struct call *k);

#endif
