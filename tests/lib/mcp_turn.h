#ifndef TEST_MCP_TURN_H
#define TEST_MCP_TURN_H

/* A server of toy_worker without descriptors: a store, its calls, and turns as
   serve runs them. Clients keep what they are told. In texts ' stands for a
   quote and ID for the task made last; in what clients are told T stands for a
   time. */

#include "tests/lib/mcp_rig.h"

extern struct who ann, bob, neo; /* neo: a modern client of ann's principal */

/* Opens box for a catalogue; for the worker; for it in a fresh directory. */
void box_open_as(const struct mcp_catalogue *c, bool readonly);
void box_open(void);
void box_new(void);
void box_close(void);

extern bool box_refuses; /* the next turn cannot take the lock */

extern char task_id[CALL_ID_LEN + 1]; /* of the task made last */

/* A pipe whose client speaks this revision and can be asked by forms. */
void who_pipe(struct who *w, const char *principal, const char *rev);

/* ---- turns ---- */

struct job {
    struct who *w;
    struct mcp_message *m;
    enum mcp_status status;
    struct buf out, notes;
};

extern struct job jobs[32];
extern size_t n_jobs;

struct str bare_header(void *ctx, const char *name);

/* Replaces ' and ID by what they stand for. */
struct str meant(const char *z);

/* Queues a message for the next turn. */
void post_text(struct who *w, struct str text);
void post(struct who *w, const char *text);
void job_run(struct job *j, int refuse);
void job_give(struct job *j);
void turn_commit(size_t first);

/* Runs one turn of the server, with what was posted and what is ready. */
void turn(void);

/* Runs turns until nothing is left to do at once. */
void settle_all(void);

/* ---- what was said ---- */

/* Replaces times in text by T and the task's id by ID. */
void normalize(char *text);

/* What w was told next; "" if there is nothing more. */
const char *next(struct who *w);
bool is_next(struct who *w, const char *want);
bool has(const char *got, const char *part);

/* The same for JSON in the text of a tool's result. */
bool text_has(const char *got, const char *part);

/* Whether w has nothing left to read. */
bool is_quiet(struct who *w);

/* Sends text in a turn of its own. Returns the last thing that w was told and
   forgets all before it. */
const char *says(struct who *w, const char *text);

/* Like says, for a text that makes a task: its id is ID from here on. */
const char *makes(struct who *w, const char *text);
const char *status_of(const char *id);

/* Whether the task made last has this status. */
bool is_status(const char *want);

/* Stages a record of a toy. */
int stage_toy(const char *name, const char *body);

/* Like stage_toy, but takes the lock first. */
bool lock_and_stage(const char *name, const char *body);

/* Commits a toy in a turn of its own. */
void toy_comes(const char *name);

/* ---- texts of both dialects ---- */

#define CAPS26(caps) \
    "'_meta':{" KEY("protocolVersion") ":'" V26 "'," \
    KEY("clientCapabilities") ":" caps "}"
#define EXTENDS CAPS26("{'elicitation':{},'extensions':{" KEY("tasks") ":{}}}")
#define NEWER(method, params) REQ("'x'", method, "{" params EXTENDS "}")
#define NEWER_CALL(name, args) \
    NEWER("tools/call", "'name':'" name "','arguments':" args ",")
#define NEWER_ID(method) NEWER(method, "'taskId':'ID',")
#define TASK(name, args) TASK_TTL(name, args, "")
#define TASK_TTL(name, args, ttl) \
    REQ("1", "tools/call", "{'name':'" name "','arguments':" args \
        ",'task':{" ttl "}}")
#define OLD(method) REQ("2", method, "{'taskId':'ID'}")
#define WORLD9 "'_meta':{" KEY("serverInfo") ":{'name':'toybox','version':'9'}}"

#define TIMES "'createdAt':'T','lastUpdatedAt':'T'"
#define OLD_TASK(status, more) \
    "'taskId':'ID','status':'" status "'," more TIMES \
    ",'ttl':86400000,'pollInterval':1000"
#define NEW_TASK(status, more) \
    "'taskId':'ID','status':'" status "'," more TIMES \
    ",'ttlMs':86400000,'pollIntervalMs':1000"
#define NEW_RES(members, type) \
    RES("'x'", members "'resultType':'" type "'," WORLD9)
#define RELATED "'_meta':{" KEY("related-task") ":{'taskId':'ID'}}"
#define CAME TEXT("{\\'came\\':true}")
#define NO_TASK(id) BAD(id, "No such task, or it has expired: ID")
#define MISSING \
    ERR_DATA("'x'", "-32021", "Missing required client capability", \
             "{'requiredCapabilities':{'extensions':{" KEY("tasks") ":{}}}}")
#define STATUS_NOTE(status, more) \
    "{'jsonrpc':'2.0','method':'notifications/tasks/status','params':{" \
    OLD_TASK(status, more) "}}"

#endif
