#ifndef MCP_QUESTION_H
#define MCP_QUESTION_H

/* question - a question of a call to its client, and its form in a record. */

#include "mcp/mcp.h"

struct request;

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
/* Stages k with its questions, of which some have new answers, and marks
   it. */
int mcp_stage_answers(struct request *r, const struct mcp_question *q,
                      struct call *k);
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

#endif
