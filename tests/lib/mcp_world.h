#ifndef TEST_MCP_WORLD_H
#define TEST_MCP_WORLD_H

/* A server without descriptors, for the tests of mcp that need a store: its
   catalogue, its processes and restarts, messages run as serve runs them, and
   clients that remember what they were told. The test controls the clock and
   the disk: WRAP is malloc calloc realloc, clock_gettime, and the files of
   fault.h. */

#include "mcp/message.h"
#include "mcp/session.h"
#include "mcp/message.h"
#include "tests/lib/faults.h"
#include "tests/lib/test.h"
#include "base/clock.h"

/* ---- a catalogue ---- */

/* toy://NAME and toy://NAME/... are the record toy/NAME. */

static inline int
toy_resources(struct mcp_call *c, struct str cursor, struct str *next)
{
    (void)c;
    (void)next;
    return cursor.p == NULL ? 0 : ERR_INVALID;
}

static inline int
toy_read(struct mcp_call *c, struct str uri)
{
    (void)c;
    (void)uri;
    return ERR_NOT_FOUND;
}

static inline int
toy_key(void *ctx, struct arena *a, struct str uri, struct str *key)
{
    size_t n = strlen("toy://");

    (void)ctx;
    if (!str_starts(uri, "toy://"))
        return ERR_NOT_FOUND;
    while (n < uri.len && uri.p[n] != '/')
        n++;
    *key = arena_printf(a, "toy/%.*s", (int)(n - 6), uri.p + 6);
    return key->p != NULL ? 0 : ERR_NOMEM;
}

static inline bool
toy_change(void *ctx, const struct mcp_change *c)
{
    (void)ctx;
    return c->first;
}

static const struct mcp_catalogue toys = {
    .name = "toys",
    .version = "1",
    .tools_change = true,
    .resources = toy_resources,
    .resource_read = toy_read,
    .resource_key = toy_key,
    .resources_change = toy_change,
};

/* ---- a server without descriptors ---- */

struct world {
    char path[300];
    struct store_kind kinds[2];
    struct calls *calls;
    struct store *s;
    struct sign *sign;
    struct mcp *m;
    struct arena a;
    struct buf out, notes;
    enum mcp_status status;
    struct mcp_message *kept; /* the last one kept */
    char made[MCP_ID_MAX];    /* the last session made */
};

static inline void
on_record(void *ctx, const struct store_entry *e, const struct store_rec *r)
{
    struct world *w = ctx;
    struct mcp_change c = {r->key, r->body, r->n, r->p == 0};

    (void)e;
    mcp_changed(w->m, &c);
}

static inline void
open_with(struct world *w, const char *path, bool readonly)
{
    struct store_options o = {.readonly = readonly};
    char why[256];

    memset(w, 0, sizeof(*w));
    snprintf(w->path, sizeof(w->path), "%s", path);
    o.path = w->path;
    w->calls = calls_new(&(struct calls_options){0});
    if (!CHECK(w->calls != NULL))
        exit(1);
    calls_kind(w->calls, &w->kinds[0]);
    mcp_session_kind(&w->kinds[1]);
    if (!CHECK(store_open(&w->s, &o, w->kinds, 2, why) == 0) ||
        !CHECK(sign_new(&w->sign, w->s) == 0) ||
        !CHECK(mcp_new(&w->m, &toys, w->s, w->sign, w->calls) == 0))
        exit(1);
    calls_bind(w->calls, w->s);
    store_observe(w->s, on_record, w);
}

static inline void
open_world(struct world *w)
{
    char *dir = test_tmpdir(), path[280];

    snprintf(path, sizeof(path), "%s/log", dir);
    free(dir);
    open_with(w, path, false);
}

static inline void
close_world(struct world *w)
{
    store_close(w->s);
    calls_free(w->calls);
    mcp_free(w->m);
    sign_free(w->sign);
    arena_fini(&w->a);
    buf_fini(&w->out);
    buf_fini(&w->notes);
}

/* As after kill -9: no stream is closed, nothing is sent. */
static inline void
restart(struct world *w)
{
    char path[300];

    memcpy(path, w->path, sizeof(path));
    while (w->m->messages != NULL)
        mcp_release(w->m->messages);
    close_world(w);
    open_with(w, path, false);
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

#define SEEN 600

struct client {
    struct mcp_sink sink;
    size_t n;
    char event[SEEN][128];
    char *text[SEEN];
};

static inline void
on_send(void *ctx, struct str message, struct str event)
{
    struct client *c = ctx;
    bool on;

    if (c->n == SEEN)
        abort();
    snprintf(c->event[c->n], sizeof(c->event[0]), "%.*s", STR_ARG(event));
    on = fault.on;
    fault.on = false; /* the rig's own memory must not fail */
    c->text[c->n] = strndup(message.p, message.len);
    fault.on = on;
    c->n++;
}

static inline struct client *
client(void)
{
    struct client *c = calloc(1, sizeof(*c));

    if (c == NULL)
        abort();
    c->sink = (struct mcp_sink){.send = on_send, .ctx = c};
    return c;
}

/* Forgets what it was told. */
static inline void
clear(struct client *c)
{
    while (c->n > 0)
        free(c->text[--c->n]);
}

static inline void
drop(struct client *c)
{
    clear(c);
    free(c);
}

#define UPDATED(uri)                                                     \
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/resources/updated\"," \
    "\"params\":{\"uri\":\"" uri "\"}}"
#define LIST(what)                                         \
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/" what \
    "/list_changed\",\"params\":{}}"

/* Whether the client was told this as its i-th message, at this place: "n.i",
   or "" if there must be no event id. */
static inline bool
told(const struct client *c, size_t i, const char *place, const char *text)
{
    size_t len = strlen(place);
    const char *event = i < c->n ? c->event[i] : "";
    bool ok = i < c->n && strcmp(c->text[i], text) == 0 &&
              (len == 0 ? *event == '\0'
                        : strlen(event) > len + 1 &&
                              event[strlen(event) - len - 1] == '.' &&
                              strcmp(event + strlen(event) - len, place) == 0);

    if (!ok)
        fprintf(stderr, "wanted %s %s, told %s %s\n", place, text, event,
                i < c->n ? c->text[i] : "nothing");
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
    struct client *c)
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
        kept = mcp_keep(m, &c->sink, c) == 0;
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
          struct client *c, struct mcp_session **s)
{
    struct mcp_facts f = facts(who, id);

    return mcp_stream_open(w->m, &f, last, &c->sink, s);
}

static inline int
sse_as(struct world *w, const char *who, struct str last, struct client *c,
       struct mcp_session **s)
{
    struct mcp_facts f = facts(who, NULL);

    return mcp_sse_open(w->m, &f, last, &c->sink, s);
}

/* Opens a stream, with the Last-Event-ID last_place unless that is NULL. */
static inline struct mcp_session *
stream(struct world *w, const char *id, const char *last_place,
       struct client *c)
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
