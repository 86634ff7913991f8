#ifndef MCP_LISTENER_H
#define MCP_LISTENER_H

/* listener - a session or a subscriptions/listen that is told of changes. */

#include "mcp/mcp.h"
#include "mcp/wire.h"

#define MCP_MAX_URI 1024  /* bytes, in a subscription */
#define MCP_MAX_SUBS 256  /* of one listener */
#define MCP_LIST_PLACE (MCP_MAX_SUBS + 1) /* of a list_changed, in an event */
#define MCP_LIST_PAUSE_MS 1000 /* between two list_changed */
#define MCP_SUBSCRIPTION MCP_META "subscriptionId"

/* A subscription to one uri. */
struct mcp_sub {
    const char *uri, *key; /* of a deferred call: its id */
    bool call;
    uint64_t since; /* changes up to this n are known */
    uint64_t n;     /* of the newest change that it was matched with */
};

struct mcp_listener {
    struct mcp *m;
    struct mcp_session *of; /* or NULL: a listen */
    struct mcp_channel *channels; /* the first one gets everything */
    struct mcp_sub *subs; /* to uris that a record may change */
    size_t n_subs;
    uint64_t sent_n;      /* it was told of changes up to this n, */
    uint64_t sent_slot;   /* and at this n up to this slot */
    uint64_t listed;      /* it was told of lists before this list_clock */
    struct str tag;       /* of a listen: its id, in all it is sent */
    unsigned lists;       /* of a listen: its lists, a bit for each mcp_list */
    bool due;             /* mcp_tick has to tell it something */
};

struct mcp_list_names {
    const char *wanted, *method; /* in a filter; of its notification */
};
enum { MCP_N_LISTS = 3 };
extern const struct mcp_list_names mcp_lists[MCP_N_LISTS]; /* enum mcp_list */

/* The newest n that is committed. */
uint64_t mcp_head(const struct mcp *m);
/* The id of an event of s, which has one itself; its length. */
size_t mcp_event_id(const struct mcp_session *s, uint64_t n, uint64_t i,
                    char out[MCP_EVENT_MAX]);

/* Fills in sub, in memory of a; its key is NULL if no record changes it. caller
   not NULL: uri is the id of a deferred call, which has to be this principal's.
   ERR_NOMEM. */
int mcp_sub_init(struct mcp *m, struct arena *a, struct mcp_sub *sub,
                 struct str uri, uint64_t since, const struct str *caller);
/* Adds to the subscriptions of l those of a list: of uris or, as in a record,
   of pairs [uri, since]; with caller, of ids of its deferred calls. Leaves out
   repeated ones and uris that no record changes. Returns 0; ERR_INVALID if it
   is not such a list, or too long; ERR_NOMEM. */
int mcp_subs_read(struct mcp_listener *l, struct arena *a,
                  const struct json_tok *list, bool pairs,
                  const struct str *caller);
/* The subscription of l to uri, or NULL. */
const struct mcp_sub *mcp_sub_find(const struct mcp_listener *l,
                                   struct str uri);
/* Whether the catalogue ever changes that list. */
bool mcp_list_can_change(const struct mcp *m, unsigned list);

/* Writes the _meta of a notification to a listen. */
void mcp_put_tag(struct json_w *w, struct str tag);
/* Whether l can be sent something now. */
bool mcp_hears(const struct mcp_listener *l);
/* Makes mcp_tick tell l; the second only after a while, for it failed. */
void mcp_notify_later(struct mcp_listener *l);
void mcp_notify_again(struct mcp_listener *l);
/* Shows a change to all: those who subscribe to it will be told. */
void mcp_listeners_hear(struct mcp *m, const struct mcp_change *c);
/* Tells the first stream of l what has changed since l->sent_n, and lists. */
void mcp_listener_notify(struct mcp_listener *l);
/* If it is time, tells all listeners of the lists that changed. Everything up
   to mcp_head has been told. */
void mcp_flush_lists(struct mcp *m, int64_t now);
/* Calls fn for all that can be sent something now. */
void mcp_each_listener(struct mcp *m,
                       void (*fn)(struct mcp_listener *l, const void *with),
                       const void *with);

/* A listen begins to wait: it hears of changes from its run on. */
void mcp_listen_begin(struct mcp_message *m);
/* A listen is about to be freed, whether it has waited or not. */
void mcp_listen_end(struct mcp_message *m);
/* Marks the due calls that a listener subscribes to; returns whether it
   subscribes to any. */
bool mcp_mark_listened(struct mcp *m);

#endif
