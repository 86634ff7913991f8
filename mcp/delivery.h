#ifndef MCP_DELIVERY_H
#define MCP_DELIVERY_H

/* delivery - which calls a session attends, and what it is sent of them. */

#include "mcp/question.h"

#define MCP_POLL_MS 1000       /* where a client's task says nothing */
#define MCP_LOST_POLL_MS 60000 /* for the answer to a poll */
#define MCP_MAX_HELD 32        /* questions of a call; the others wait */

/* A call that a session attends. */
struct mcp_attend {
    struct mcp_attend *next;
    char id[CALL_ID_LEN + 1];
    bool maker;            /* the session made the call */
    bool due;              /* something may have to be sent */
    bool own;              /* the last question may have gone out on the
                              session's own stream */
    enum call_status told; /* CALL_N_STATUSES: of none yet */
    uint64_t asked;        /* holds up to this n have been sent */
    uint32_t fetch;        /* a bit for each question: its client's task has
                              ended */
    uint32_t gone;         /* and: it was withdrawn */
    uint32_t refused;      /* and: it will not ask its user */
    bool cancelled;        /* its client wants no more of the call */
    int64_t poll_ms;       /* when its client's tasks are polled; 0: none */
    int64_t ask_ms;        /* nothing is sent before */
    struct buf notes;      /* of runs, a line each */
};

/* The session of r attends k from here on: it is told how that does. */
void mcp_attend(struct request *r, const struct call *k, bool maker);
/* How s attends call id, from here on; NULL: there is no memory for it. */
struct mcp_attend *mcp_attend_call(struct mcp_session *s, struct str id,
                                   enum call_status told);
/* The same if it does, or NULL. */
struct mcp_attend *mcp_attend_of(const struct mcp_session *s, struct str id);
/* Something of it may have to be sent. */
void mcp_attend_later(struct mcp_session *s, struct mcp_attend *at);
/* The record of a call was committed. */
void mcp_attend_changed(struct mcp *m, struct str id);
/* What a run of a call had to tell to the session that made it: sent behind
   the commit. And it failed: the run will be another. */
void mcp_attend_notes(struct mcp *m, struct str id, struct str notes);
void mcp_attend_undo(struct mcp *m);
/* s is going. */
void mcp_attend_end(struct mcp_session *s);

/* Has s hold q, which is sent behind the commit of that. */
void mcp_give_hold(const struct mcp_session *s, struct mcp_question *q);
/* Whether s is the one that holds a question, or was when its server died. */
bool mcp_is_holder(const struct mcp_session *s, const struct mcp_hold *h);
/* Whether q goes to s as what it is to make a task of. */
bool mcp_is_task_first(const struct mcp_session *s,
                       const struct mcp_question *q);
/* Where s hears of call id now, or NULL. */
struct mcp_sink *mcp_channel(const struct mcp_session *s, struct str id);
/* Has r's session hold what questions of k it can be asked; under the lock
   only. And whether it could. */
void mcp_hold(struct request *r, struct call *k);
bool mcp_hold_wanted(const struct request *r);
/* The client of r has cancelled it: takes back what it was asked for it. */
void mcp_withdraw(const struct request *r, struct buf *to);
/* Behind the answers of a turn: sends what is to be sent; when it is next. */
void mcp_hold_tick(struct mcp *m, int64_t now_ms);
int64_t mcp_hold_due_ms(const struct mcp *m);
/* s has a stream again; back: its client said where it was. */
void mcp_hold_rewind(struct mcp_session *s, bool back);

#endif
