#ifndef MCP_DELIVERY_H
#define MCP_DELIVERY_H

/* delivery - the calls that a session follows, and what it is sent of them. */

#include "mcp/dialect.h"

#define MCP_POLL_MS 1000       /* unless a client's task says otherwise */
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
    enum call_status sent_status; /* CALL_N_STATUSES: nothing yet */
    uint64_t sent_text;    /* hash of the message then; 0: not known */
    uint64_t sent_n;       /* deliveries up to this n have been sent */
    uint32_t fetch;        /* a bit for each question: its client's task has
                              ended */
    uint32_t withdrawn;    /* and: nobody waits for it any more */
    uint32_t refused;      /* and: it will not ask its user */
    bool cancelled;        /* its client wants no more of the call */
    int64_t poll_ms;       /* when its client's tasks are polled; 0: never */
    int64_t send_ms;        /* nothing is sent before */
    struct buf notes;      /* of runs, a line each */
};

/* From now on the session of r follows k and is told of its status. */
void mcp_follow(struct request *r, const struct call *k, bool maker);
/* Makes s follow call id; NULL if memory ran out. */
struct mcp_follow *mcp_follow_call(struct mcp_session *s, struct str id,
                                   enum call_status known);
/* Finds how s follows call id, or NULL. */
struct mcp_follow *mcp_follow_of(const struct mcp_session *s, struct str id);
/* Something about the call may have to be sent. */
void mcp_follow_later(struct mcp_session *s, struct mcp_follow *at);
/* The record of a call was committed. */
void mcp_follow_changed(struct mcp *m, struct str id);
/* Takes the notes of a run of a call for the session that made it, to be sent
   after the commit. The second is for a failed commit: it drops them. */
void mcp_follow_notes(struct mcp *m, struct str id, struct str notes);
void mcp_follow_undo(struct mcp *m);
/* Frees what s follows; s is about to go. */
void mcp_follow_end(struct mcp_session *s);

/* Delivers q to s: it is sent after the commit. */
void mcp_deliver_to(const struct mcp_session *s, struct mcp_question *q);
/* Whether a question is delivered to s, or was when its server died. */
bool mcp_was_delivered_to(const struct mcp_session *s,
                          const struct mcp_delivery *d);
/* Whether s is asked to run q as a task. */
bool mcp_is_task_first(const struct mcp_session *s,
                       const struct mcp_question *q);
/* The channel that takes messages about call id to s now, or NULL. */
struct mcp_channel *mcp_channel_of(const struct mcp_session *s, struct str id);
/* Delivers to r's session, under the lock, the questions of k that it can be
   asked; the second tells whether there may be any. */
void mcp_deliver(struct request *r, struct call *k);
bool mcp_delivery_wanted(const struct request *r);
/* The client of r has cancelled it: withdraws the questions it was sent. */
void mcp_withdraw(const struct request *r, struct buf *to);
/* After the answers of a turn: sends what is due, and sets the next time. */
void mcp_delivery_tick(struct mcp *m, int64_t now_ms);
int64_t mcp_delivery_due_ms(const struct mcp *m);
/* s has a stream again; back: its client named the last event it got. */
void mcp_delivery_rewind(struct mcp_session *s, bool back);

#endif
