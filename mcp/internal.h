#ifndef MCP_INTERNAL_H
#define MCP_INTERNAL_H

/* internal - what the files of mcp share: mcp/mcp.c (envelope, eras, answers),
   mcp/methods.c (what each method takes and gives), mcp/waiting.c (calls that
   ask, wait and tell), mcp/session.c (sessions and their records) and
   mcp/listen.c (subscriptions). Nobody else includes it. */

#include "mcp/mcp.h"
#include "mcp/answer.h"
#include "mcp/delivery.h"
#include "mcp/dialect.h"
#include "mcp/listener.h"
#include "mcp/question.h"
#include "mcp/sign.h"
#include "mcp/wire.h"

#define MCP_MAX_SESSIONS 1024    /* in memory */
#define MCP_CHAINS 256           /* that they stand in, by their ids */
#define MCP_SESSION_AGE_MS ((int64_t)30 * 24 * 60 * 60 * 1000)
#define MCP_LOG_DEFAULT 6        /* info */
#define MCP_MAX_KEPT 256         /* messages of one session that wait */
#define MCP_KEPT_LEN ((size_t)8 * 1024 * 1024) /* memory of all that do */

struct mcp_session {
    struct mcp_session *next, **at; /* in m->sessions */
    struct mcp_session *same;       /* next in its chain of m->by_id */
    struct mcp *m;
    bool initialized; /* an initialize was answered */
    bool local;       /* a pipe's: no id, no record, no header */
    bool sse;         /* of the SSE transport */
    bool fleeting;    /* of who may not write: it has no record, and an id
                         that nobody knows when it has left memory */
    bool ended;
    enum mcp_rev rev;
    unsigned caps;      /* enum mcp_cap */
    int log_level;      /* RFC 5424 severity asked for, 0-7; default 6 */
    char client[64];    /* clientInfo.name, cut */
    char id[MCP_ID_MAX]; /* "" until it has one */
    char *principal;    /* heap */
    uint64_t n;         /* of the record that the next three come from */
    uint64_t seen;      /* store_next_n when that record was looked for */
    struct mcp_sub *subs; /* of uris that a record may change */
    size_t n_subs;
    struct arena own;   /* of a session's subs */
    uint64_t told;      /* its streams know of changes up to this n, */
    uint64_t told_i;    /* and of those at it that this event's i covers */
    uint64_t listed;    /* lists that change at this of list_clock are news */
    unsigned lists;     /* that a listen wants, a bit for each mcp_list */
    struct str tag;     /* id of a listen, in what it is told; or none */
    bool back;          /* made from its id alone, for who comes back */
    bool due;           /* to be told, by mcp_tick */
    int64_t born_ms;    /* as its id has it */
    struct mcp_sink *sinks; /* the first gets what there is */
    size_t n_kept;      /* messages of it that wait */
    size_t n_held;      /* messages of it that mcp_release is yet to come for */
    int64_t heard_ms;   /* when its client was last there */
    struct mcp_attend *attends; /* the newest first */
};

struct request {
    struct mcp_message *m;
    struct str id; /* its text as it came */
    struct str name;
    const struct json_tok *params; /* an object or NULL */
    const struct json_tok *meta;   /* params._meta, whatever it is, or NULL */
    enum mcp_rev rev;
    bool silent; /* a notification or a response: nothing to answer; or it
                    was cancelled before it was run */
    struct str cancels; /* raw id: of one that was not kept; or none */
    bool changes; /* something of its session */
    struct fault fault;
    const struct method *method;
    struct str target; /* tool, prompt, uri or cursor that it names; or none */
    const struct mcp_tool *tool;
    const struct mcp_prompt *prompt;
    struct mcp_session *listen; /* whom a listen tells, or NULL */
    struct mcp_completion complete;
    struct mcp_call call;
    int log_level;      /* of a modern one, wanted up to this, or of
                           logging/setLevel; -1: none */
    struct str token;   /* raw progressToken, .p NULL: none */
    uint64_t told, telling; /* above the progress that its client was told,
                               and that it is told in this run */
    const struct json_tok *inputs; /* inputResponses of a modern one */
    struct buf *notes;  /* while it runs */
    struct mcp_question *questions; /* of its record, then of this run */
    unsigned missing;   /* capabilities that this run lacked */
    bool asked;         /* in this run: a question without an answer */
    struct str state;   /* mcp_state's in this run; .p NULL: none */
    int64_t wait_ms;    /* mcp_wait's in this run; -1: none */
    unsigned poll_ms;   /* mcp_poll's */
    bool goes_on;       /* mcp_go_on was called in this run */
    struct str watch;   /* mcp_watch's in this run; empty: none */
    uint64_t seen;      /* records up to this n are no news to it */
    /* of deferred calls */
    bool task;          /* params.task of 2025-11-25 */
    bool extends;       /* the client declared the tasks extension */
    bool defers;        /* an ERR_MORE of this run makes a deferred call */
    int64_t ttl_ms;     /* that it wants; 0: none */
    const struct call *again; /* the deferred call that this runs again */
    struct str runs_as; /* id of the one that a plain call has become, in
                           its first run; or none */
    const char *why;    /* instead of an error's own text; or NULL */
    struct str error;   /* raw: the error to answer with; or none */
    char answers;       /* a response: what kind; see mcp_take_answer */
    unsigned question;  /* of which question of the call target, */
    uint64_t place;     /* and of which request for it */
};

struct mcp_message {
    struct mcp *m;
    struct mcp_session *s;
    const struct mcp_facts *f; /* while it is judged */
    struct arena *a;
    struct mcp_session scratch; /* for what belongs to no session */
    bool batch, ends, made;     /* ends: of mcp_accept_end */
    bool holds;                 /* s, until mcp_release */
    bool http;
    struct str text;
    struct request *v;
    size_t n;
    /* of kept ones, which have an at */
    struct arena own;     /* what it is */
    struct buf state;     /* what its next run finds in call.state */
    size_t len;           /* bytes of all this, as counted in kept_len */
    struct mcp_message *next, **at; /* in mcp's list of kept ones */
    void *owner;
    struct mcp_sink *sink;
    int64_t due_ms;  /* INT64_MAX: none */
    uint64_t watch;  /* hash of what it watches; 0: nothing */
    bool ready;      /* to be run again */
    bool given;      /* by mcp_next, and did not wait again since */
    bool cancelled;
};

struct mcp {
    const struct mcp_catalogue *cat;
    struct store *store; /* or NULL */
    struct sign *sign;   /* or NULL: no ids, no states */
    struct mcp_session *sessions;
    struct mcp_session *by_id[MCP_CHAINS];
    size_t n_sessions;
    struct mcp_message *kept; /* those that waited last first */
    struct mcp_message *going; /* that was given out to go on; or NULL */
    uint64_t last_looker;      /* hash of the principal of the last of those */
    size_t kept_len;          /* bytes of all that they keep */
    struct arena runs;        /* what the runs of this turn take */
    uint64_t last_ask;        /* in the id of the last poll of a client */
    uint64_t list_clock;      /* counts changes of lists */
    uint64_t list_n[3];       /* by enum mcp_list: clock of the last change */
    uint64_t list_at;         /* n of the last list_changed; 0: any, to head */
    uint64_t ran, ran_clock;  /* head and list_clock when a listen last ran */
    uint64_t changed_n;       /* n of the last change of the catalogue's; 0:
                                 not known, none above head */
    size_t n_sinks, n_subs;   /* of all sessions; of the listens as well */
    bool tell_due;            /* a session is due to be told, by mcp_tick */
    int64_t list_sent_ms;
    bool list_due[3];
    bool followed;       /* the store was looked at in this turn */
    bool stopping;
    struct mcp_counts counts;
    struct calls *calls; /* or NULL: none is deferred */
    int64_t settle_ms;   /* not before that, after an error */
    bool attends_due;    /* something of deferred calls is to be told */
    int64_t hold_ms;     /* when those who hold questions are looked after */
};

/* A step of judging: 0 goes on, MCP_REFUSED when the request's fault or
   silence says it all, or ERR_NOMEM. */
typedef int step(struct request *r);

enum feature {
    CORE, TOOLS, PROMPTS, RESOURCES, COMPLETIONS, LOGGING, TASKS, N_FEATURES
};
enum cache { UNCACHED, CACHE_PUBLIC, CACHE_PRIVATE };

struct method {
    const char *name;
    uint8_t from, to; /* enum mcp_rev */
    uint8_t feature;
    uint8_t cache;
    const char *target; /* the parameter that Mcp-Name repeats, or NULL */
    step *judge;        /* of its parameters, or NULL */
    /* Appends the members of the result: 0 or an error; ERR_MORE: waits. */
    int (*run)(struct request *r, struct buf *out);
};

static inline bool
is_modern(const struct request *r)
{
    return r->rev >= MCP_OLDEST_MODERN;
}

/* The principal of r, whose .p is not NULL. */
static inline struct str
mcp_who(const struct request *r)
{
    return r->call.principal.p != NULL ? r->call.principal : STR("");
}

/* The id of the deferred call that r is about, or waits for. */
static inline struct str
mcp_call_of(const struct request *r)
{
    return r->runs_as.len > 0 ? r->runs_as : r->target;
}

/* ---- mcp/mcp.c ---- */

/* Parses and judges m->text by f; all else of m is zero but m->m, m->a and
   what m->scratch has. ERR_NOMEM. */
int mcp_judge(struct mcp_message *m, const struct mcp_facts *f);
/* Whether there is a store to write to. */
bool mcp_is_writable(const struct mcp *m);
/* A step of judging tools/call: the headers that repeat its arguments. */
int mcp_check_params_headers(struct request *r);

/* ---- mcp/scan.c ---- */

/* Sets *id to the raw id that was found, if any; memory in a. ERR_NOMEM. */
int mcp_scan_id(const struct mcp_scan *s, struct arena *a, struct str *id);

/* ---- mcp/methods.c ---- */

/* Sets method and target of r; no method where its revision or the catalogue
   has none of that name. ERR_NOMEM. */
int mcp_find_method(struct request *r);
/* The last step of judging: its parameters. */
int mcp_check_params(struct request *r);
/* Appends the whole answer of a request that has a method; 0, or an error
   with out in any state; and out->err. ERR_MORE: it waits. */
int mcp_put_result(struct request *r, struct buf *out);
/* ---- mcp/waiting.c ---- */

/* Reads inputResponses and requestState of a modern request: a forged, old
   or foreign state is refused. */
int mcp_check_inputs(struct request *r);
/* Whether r's message waits already, or may: what clients do not take back
   has to end somewhere. */
bool mcp_may_keep(const struct request *r);
/* Before a run: forgets what the last one left. */
void mcp_begin_run(struct request *r);
/* What a run comes to that ended with err, its members in out from at on. 0:
   a result; MCP_ASKS: they are of an input_required one; ERR_MORE: it waits,
   and the requests to the client are in r->notes; another error. */
int mcp_end_run(struct request *r, int err, size_t at, struct buf *out);
enum { MCP_ASKS = 1 };
/* A record was committed: those that watch it are to be run again. */
void mcp_wake(struct mcp *m, const struct mcp_change *c);
/* What r, a notifications/cancelled, says: ends what is kept, or sets
   r->cancels. */
void mcp_take_cancel(struct request *r, const struct json_tok *params);

/* ---- mcp/session.c ---- */

/* A session for whom f names, without an id; NULL: no memory. */
struct mcp_session *mcp_session_new(struct mcp *m, const struct mcp_facts *f);
/* Gives it an id, once revision and capabilities are known. ERR_IO. */
int mcp_session_seal(struct mcp_session *s);
/* The session that f names. ERR_NOT_FOUND: none of its principal and right to
   write, or ended. */
int mcp_session_find(struct mcp *m, const struct mcp_facts *f,
                     struct mcp_session **out);
/* Frees one that nobody uses. */
void mcp_session_free(struct mcp_session *s);
/* Stages the record of s with a change, or, where s has none, changes it:
   log level (-1: as it is), ended, uri added or taken away. What memory
   holds follows the record once it is committed. 0, ERR_TOO_LARGE: too many
   subscriptions, or what store_stage says. */
int mcp_session_set(struct mcp_session *s, int level, bool end,
                    struct str add, struct str drop);
/* Whether such a change would be one. */
bool mcp_session_changes(const struct mcp_session *s, int level,
                         struct str add, struct str drop);
/* Whether changes of s are records. */
bool mcp_session_stored(const struct mcp_session *s);
/* Brings memory up to the record of s, unless it is; outside of a turn. 0,
   ERR_NOMEM, or what store_read says. */
int mcp_session_refresh(struct mcp_session *s);
/* A record "session/<id>" was committed. */
void mcp_session_changed(struct mcp *m, const struct mcp_change *c);

/* ---- mcp/listen.c ---- */

/* Judges and runs subscriptions/listen. run: ERR_MORE with the
   acknowledgement in r->notes; 0 when the server ends it. */
int mcp_listen_judge(struct request *r);
int mcp_listen_run(struct request *r, struct buf *out);
/* It was kept: it hears of changes from its run on. */
void mcp_listen_begin(struct mcp_message *m);
/* It is dropped: frees what it has beside the message's arenas. */
void mcp_listen_end(struct mcp_message *m);
/* What an answer's _meta has of a listen: its id as the subscriptionId, and a
   comma. Nothing where r is none. */
void mcp_listen_put_meta(const struct request *r, struct buf *out);
/* Behind the answer of a listen that the server ended: on stdio a line feed
   and notifications/cancelled. Nothing where r is none, or not ended. */
void mcp_listen_put_end(const struct request *r, struct buf *out);

/* ---- mcp/deferred.c ---- */

enum { MCP_TASK = 2 }; /* as MCP_ASKS: the members are of a task, just made */

/* Whether a call of r's tool by its principal can be a record, and whether it
   can be deferred at all. */
bool mcp_can_record(const struct request *r);
bool mcp_can_defer(const struct request *r);
/* Makes a call of a run that ended with err, its members in out from at on.
   MCP_TASK, with those of the task in their place; ERR_MORE, where a plain
   call waits for it; or an error. */
int mcp_defer_create(struct request *r, int err, size_t at, struct buf *out);
/* Runs a call that has ended once more, for an answer among its questions, a
   list as a record has it: what it stages counts, its outcome does not. 0 or
   an error; ERR_INVALID: the tool does not take it. */
int mcp_run_late(struct mcp *m, struct str id, struct str questions);
/* Runs the call id again if it is marked, under the lock. 0 or an error. */
int mcp_settle_call(struct mcp *m, struct str id);

/* ---- mcp/tasks.c ---- */

/* Whether r's client has declared the extension on it. */
bool mcp_extends(const struct request *r);
/* Refuses r for the want of the extension; MCP_REFUSED. */
int mcp_refuse_extension(struct request *r);
/* Judges: of what names a task, of tasks/update, and of what tools/call says
   of tasks. */
int mcp_task_judge(struct request *r);
int mcp_task_judge_update(struct request *r);
int mcp_task_judge_call(struct request *r);
/* Whether running one of these methods may stage records. */
bool mcp_task_writes(const struct request *r);
/* Has r wait for k, and its session asked what it can be. ERR_MORE. */
int mcp_await(struct request *r, struct call *k);
int mcp_task_get(struct request *r, struct buf *out);
int mcp_task_result(struct request *r, struct buf *out);
int mcp_task_list(struct request *r, struct buf *out);
int mcp_task_cancel(struct request *r, struct buf *out);
int mcp_task_update(struct request *r, struct buf *out);
#endif
