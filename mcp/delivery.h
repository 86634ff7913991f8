#ifndef MCP_DELIVERY_H
#define MCP_DELIVERY_H

/* delivery - which calls a session follows, and what it is sent of them. */

#include "mcp/question.h"

#define MCP_POLL_MS 1000       /* where a client's task says nothing */
#define MCP_LOST_POLL_MS 60000 /* for the answer to a poll */
#define MCP_MAX_DELIVERED 32        /* questions of a call; the others wait */

/* A call that a session follows. */
struct mcp_follow {
    struct mcp_follow *next;
    char id[CALL_ID_LEN + 1];
    bool maker;            /* the session made the call */
    bool due;              /* something may have to be sent */
    bool own;              /* the last question may have gone out on the
                              session's own stream */
    enum call_status told; /* CALL_N_STATUSES: nothing yet */
    uint64_t asked;        /* deliveries up to this n have been sent */
    uint32_t fetch;        /* a bit for each question: its client's task has
                              ended */
    uint32_t gone;         /* and: it was withdrawn */
    uint32_t refused;      /* and: it will not ask its user */
    bool cancelled;        /* its client wants no more of the call */
    int64_t poll_ms;       /* when its client's tasks are polled; 0: never */
    int64_t ask_ms;        /* nothing is sent before */
    struct buf notes;      /* of runs, a line each */
};

/* The session of r follows k from here on: it is told how that does. */
void mcp_follow(struct request *r, const struct call *k, bool maker);
/* How s follows call id, from here on; NULL: there is no memory for it. */
struct mcp_follow *mcp_follow_call(struct mcp_session *s, struct str id,
                                   enum call_status told);
/* The same if it does, or NULL. */
struct mcp_follow *mcp_follow_of(const struct mcp_session *s, struct str id);
/* Something of it may have to be sent. */
void mcp_follow_later(struct mcp_session *s, struct mcp_follow *at);
/* The record of a call was committed. */
void mcp_follow_changed(struct mcp *m, struct str id);
/* What a run of a call had to tell to the session that made it: sent behind
   the commit. And it failed: the run will be another. */
void mcp_follow_notes(struct mcp *m, struct str id, struct str notes);
void mcp_follow_undo(struct mcp *m);
/* s is going. */
void mcp_follow_end(struct mcp_session *s);

/* Delivers q to s, behind the commit of that. */
void mcp_deliver_to(const struct mcp_session *s, struct mcp_question *q);
/* Whether a question is delivered to s, or was when its server died. */
bool mcp_was_delivered_to(const struct mcp_session *s,
                          const struct mcp_delivery *d);
/* Whether q goes to s as what it is to make a task of. */
bool mcp_is_task_first(const struct mcp_session *s,
                       const struct mcp_question *q);
/* Where s hears of call id now, or NULL. */
struct mcp_sink *mcp_channel(const struct mcp_session *s, struct str id);
/* Delivers to r's session the questions of k that it can be asked, under the
   lock; and whether there are any. */
void mcp_deliver(struct request *r, struct call *k);
bool mcp_delivery_wanted(const struct request *r);
/* The client of r has cancelled it: takes back what it was asked for it. */
void mcp_withdraw(const struct request *r, struct buf *to);
/* Behind the answers of a turn: sends what is to be sent; when it is next. */
void mcp_delivery_tick(struct mcp *m, int64_t now_ms);
int64_t mcp_delivery_due_ms(const struct mcp *m);
/* s has a stream again; back: its client said where it was. */
void mcp_delivery_rewind(struct mcp_session *s, bool back);

#endif
