#ifndef MCP_QUESTION_H
#define MCP_QUESTION_H

/* question - a question of a call to its client, and how a record has it. */

#include "mcp/mcp.h"

struct request;

/* To whom a question was delivered. */
struct mcp_delivery {
    int64_t n;       /* place of the request for it; 0: to nobody */
    int64_t by;      /* process */
    struct str to;   /* id of the session, or empty: a pipe's */
    struct str task; /* of the client, or .p NULL */
    bool bare;       /* it was asked once more, not to make a task of it */
};

struct mcp_question {
    struct mcp_question *next;
    struct str key, method, params;
    const struct json_tok *answer; /* NULL: not yet */
    struct mcp_delivery delivery;
};

/* The questions of a record, an empty list where raw.p is NULL; ERR_NOMEM, or
   ERR_INVALID: they are not ours. */
int mcp_read_questions(struct arena *a, struct str raw,
                       struct mcp_question **out);
/* A list of questions as a record has it, in a: without deliveries that are
   void. .p NULL: it is empty, or there is no memory. */
struct str mcp_raw_questions(struct mcp *m, struct arena *a,
                             const struct mcp_question *q);
/* Stages k with its questions, of which some have new answers, and marks
   it. */
int mcp_stage_answers(struct request *r, const struct mcp_question *q,
                      struct call *k);
/* Writes the inputRequests that a list of questions comes to: those without
   an answer, by their keys. */
void mcp_put_inputs(struct json_w *w, const struct mcp_question *q);
/* Whether k stands for a plain call: its client knows of no task. */
bool mcp_is_plain(const struct call *k);
/* Whether its client can be reached still, in whatever process; one that has
   come here is of this one then. */
bool mcp_delivery_lives(struct mcp *m, struct mcp_delivery *h);
bool mcp_is_reachable(const struct mcp_session *s);

#endif
