#ifndef TEST_MCP_WORLD_H
#define TEST_MCP_WORLD_H

/* mcp_world - worlds whose catalogue is toys, for the tests of sessions and
   streams: their records, their processes and restarts, and messages run as
   serve runs them. */

#include "base/clock.h"
#include "tests/lib/faults.h"
#include "tests/lib/mcp_toy.h"
#include "tests/lib/test.h"
#include "tests/lib/world.h"

/* Opens it in a fresh directory. */
static inline void
toys_open(struct world *w)
{
    *w = (struct world){.m = NULL};
    world_place(w);
    world_open(w, &toys);
}

/* Opens the store of another world again, as another process. */
static inline void
open_beside(struct world *w, const struct world *other, bool readonly)
{
    *w = world_beside(other);
    CHECK(world_try(w, &toys, readonly) == 0);
}

/* As after kill -9: no stream is closed, nothing is sent. */
static inline void
restart(struct world *w)
{
    struct world again = world_beside(w);

    world_close(w);
    *w = again;
    world_open(w, &toys);
}

static inline bool
lock(struct world *w)
{
    return CHECK(store_lock_patiently(w->s) == 0);
}

static inline int
commit(struct world *w)
{
    bool unknown;
    int rc = store_commit(w->s, &unknown);

    store_unlock(w->s);
    mcp_tick(w->m, clock_mono_ms());
    return rc;
}

/* Follows what others committed, as a server does. */
static inline int
follow(struct world *w)
{
    int rc = store_follow(w->s);

    mcp_tick(w->m, clock_mono_ms());
    return rc;
}

static inline void
stage(struct world *w, const char *name)
{
    char key[64];

    snprintf(key, sizeof(key), "toy/%s", name);
    CHECK(store_stage(w->s, str_of(key), STR("\"v\":{}")) == 0);
}

/* Commits one record of a toy. Returns its n. */
static unsigned long long
put(struct world *w, const char *name)
{
    lock(w);
    stage(w, name);
    CHECK(commit(w) == 0);
    return mcp_head(w->m);
}

/* ---- clients ---- */

#define UPDATED(uri)                                                     \
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/resources/updated\"," \
    "\"params\":{\"uri\":\"" uri "\"}}"
#define LIST(what)                                         \
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/" what \
    "/list_changed\",\"params\":{}}"

/* Whether the client was told this as its i-th message, at this place: "n.i",
   or "" if there must be no event id. */
static inline bool
told(const struct who *c, size_t i, const char *place, const char *text)
{
    size_t len = strlen(place);
    const char *event = i < c->n ? c->event[i] : "";
    bool ok = i < c->n && strcmp(c->said[i], text) == 0 &&
              (len == 0 ? *event == '\0'
                        : strlen(event) > len + 1 &&
                              event[strlen(event) - len - 1] == '.' &&
                              strcmp(event + strlen(event) - len, place) == 0);

    if (!ok)
        fprintf(stderr, "wanted %s %s, told %s %s\n", place, text, event,
                i < c->n ? c->said[i] : "nothing");
    return ok;
}

static inline char *
place(unsigned long long n, unsigned i)
{
    static char text[4][32];
    static unsigned k;

    k = (k + 1) % 4;
    snprintf(text[k], sizeof(text[k]), "%llu.%u", n, i);
    return text[k];
}

/* ---- messages ---- */

static inline struct str
no_header(void *ctx, const char *name)
{
    const char *method = ctx;

    return strcmp(name, "mcp-method") == 0 ? str_of(method) : STR_NONE;
}

/* Runs one message as a turn does. Returns its answer, valid until the next. */
static inline const char *
run(struct world *w, const struct mcp_facts *f, const char *text,
    struct who *c)
{
    struct mcp_message *m;
    struct str in = text != NULL ? str_of(text) : STR_NONE;
    bool writes, kept;

    arena_reset(&w->a);
    w->out.len = w->notes.len = 0;
    w->out.err = w->notes.err = 0;
    w->status = MCP_BAD_REQUEST;
    w->made[0] = '\0';
    if (mcp_accept(w->m, f, text != NULL ? &in : NULL, &m) != 0)
        return "no memory";
    writes = mcp_writes(m);
    if (writes)
        lock(w);
    w->status = mcp_run(m, &w->out, &w->notes);
    kept = !writes || commit(w) == 0;
    if (mcp_made_session(m) != NULL)
        snprintf(w->made, sizeof(w->made), "%s", mcp_made_session(m));
    if (kept && w->status == MCP_WAITS)
        kept = mcp_keep(m, &c->pipe, c) == 0;
    if (kept && w->status == MCP_WAITS)
        w->kept = m;
    else
        mcp_release(m);
    if (!kept)
        return "not kept";
    buf_char(&w->out, '\0');
    return w->out.err != 0 ? "no memory" : w->out.p;
}

static inline struct mcp_facts
facts(const char *principal, const char *id)
{
    return (struct mcp_facts){.http = true,
                              .header = no_header,
                              .principal = str_of(principal),
                              .session_id = id ? str_of(id) : STR_NONE};
}

#define INIT                                                               \
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{" \
    "\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"elicitation\":" \
    "{}},\"clientInfo\":{\"name\":\"c\",\"version\":\"1\"}}}"
#define OK "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}"

/* Begins an HTTP session of principal. False: out of memory. */
static inline bool
try_join(struct world *w, const char *principal, char id[MCP_ID_MAX])
{
    struct mcp_facts f = facts(principal, NULL);

    run(w, &f, INIT, NULL);
    memcpy(id, w->made, MCP_ID_MAX);
    return id[0] != '\0';
}

static inline void
join(struct world *w, const char *principal, char id[MCP_ID_MAX])
{
    CHECK(try_join(w, principal, id));
}

/* Sends a request with one parameter, as the caller in f. */
static inline bool
ask_by(struct world *w, const struct mcp_facts *f, const char *method,
       const char *name, const char *value)
{
    char text[2048];

    snprintf(text, sizeof(text),
             "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\",\"params\":{"
             "\"%s\":\"%s\"}}", method, name, value);
    return strcmp(run(w, f, text, NULL), OK) == 0;
}

/* The same in a session. */
static inline bool
ask(struct world *w, const char *id, const char *method, const char *name,
    const char *value)
{
    struct mcp_facts f = facts("ann", id);

    return ask_by(w, &f, method, name, value);
}

static inline bool
subscribe(struct world *w, const char *id, const char *uri)
{
    return ask(w, id, "resources/subscribe", "uri", uri);
}

static inline bool
unsubscribe(struct world *w, const char *id, const char *uri)
{
    return ask(w, id, "resources/unsubscribe", "uri", uri);
}

static inline bool
end(struct world *w, const char *id)
{
    struct mcp_facts f = facts("ann", id);

    run(w, &f, NULL, NULL);
    return w->status == MCP_OK;
}

/* NULL: not found. */
static inline struct mcp_session *
find_as(struct world *w, const char *who, const char *id)
{
    struct mcp_facts f = facts(who, id);
    struct mcp_session *s = NULL;

    return mcp_session_find(w->m, &f, f.session_id, &s) == 0 ? s : NULL;
}

static inline struct mcp_session *
find(struct world *w, const char *id)
{
    return find_as(w, "ann", id);
}

static inline int
stream_as(struct world *w, const char *who, const char *id, struct str last,
          struct who *c, struct mcp_session **s)
{
    struct mcp_facts f = facts(who, id);

    return mcp_stream_open(w->m, &f, last, &c->pipe, s);
}

static inline int
sse_as(struct world *w, const char *who, struct str last, struct who *c,
       struct mcp_session **s)
{
    struct mcp_facts f = facts(who, NULL);

    return mcp_sse_open(w->m, &f, last, &c->pipe, s);
}

/* Opens a stream, with the Last-Event-ID last_place unless that is NULL. */
static inline struct mcp_session *
stream(struct world *w, const char *id, const char *last_place,
       struct who *c)
{
    struct mcp_session *s = NULL;
    char last[160];

    snprintf(last, sizeof(last), "%s.%s", id, last_place ? last_place : "");
    CHECK(stream_as(w, "ann", id, last_place ? str_of(last) : STR_NONE, c,
                    &s) == 0);
    mcp_tick(w->m, clock_mono_ms());
    return s;
}

static inline void
tick(struct world *w, int64_t ms)
{
    ahead_ms += ms;
    mcp_tick(w->m, clock_mono_ms());
}

#endif
