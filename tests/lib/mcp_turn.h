#ifndef TEST_MCP_TURN_H
#define TEST_MCP_TURN_H

/* A server of toy_worker without descriptors: a store, its calls, and turns as
   serve runs them. Clients keep what they are told. In texts ' stands for a
   quote and ID for the task made last; in what clients are told T stands for a
   time. */

#include "tests/lib/mcp_rig.h"
#include "base/clock.h"

#include <errno.h>

/* The rig's own memory must not fail. */
static inline long
rig_pause(void)
{
    long after = nomem_after;

    nomem_after = LONG_MAX;
    return after;
}

static inline void
rig_go_on(long after)
{
    nomem_after = after;
}

/* ---- the server ---- */

static struct box {
    char path[300];
    struct calls_options opt;
    struct store_kind kinds[3]; /* the last one: another catalogue's, if any */
    struct calls *calls;
    struct store *store;
    struct sign *sign;
    struct mcp *m;
    bool refuses; /* the next turn cannot take the lock */
} box = {.opt = {.alias = worker_alias}};

static inline void
box_on_record(void *ctx, const struct store_entry *e,
              const struct store_rec *r)
{
    struct mcp_change c = {r->key, r->body, r->n, r->p == 0};

    (void)ctx;
    (void)e;
    mcp_changed(box.m, &c);
}

static inline void
box_open_as(const struct mcp_catalogue *c, bool readonly)
{
    struct store_options o = {.path = box.path, .readonly = readonly};
    char why[256];

    box.calls = calls_new(&box.opt);
    calls_kind(box.calls, &box.kinds[0]);
    mcp_session_kind(&box.kinds[1]);
    if (store_open(&box.store, &o, box.kinds,
                   box.kinds[2].prefix != NULL ? 3 : 2, why) != 0 ||
        sign_new(&box.sign, box.store) != 0 ||
        mcp_new(&box.m, c, box.store, box.sign, box.calls) != 0)
        abort();
    calls_bind(box.calls, box.store);
    toy_store = box.store;
    store_observe(box.store, box_on_record, NULL);
}

static inline void
box_open(void)
{
    box_open_as(&toy_worker, false);
}

/* Makes a fresh place, without a store yet. */
static inline void
box_place(void)
{
    char *dir = test_tmpdir();

    snprintf(box.path, sizeof(box.path), "%s/log", dir);
    free(dir);
}

static inline void
box_new(void)
{
    box_place();
    box_open();
}

/* Ends like a killed process: nothing is sent, no stream is closed. */
static inline void
box_close(void)
{
    while (box.m->messages != NULL)
        mcp_release(box.m->messages);
    mcp_free(box.m);
    sign_free(box.sign);
    store_close(box.store);
    calls_free(box.calls);
    arena_fini(&arena);
}

/* ---- clients ---- */

#define HEARD 1024

struct who {
    const char *principal;
    bool read_only;
    struct mcp_session *s; /* of its pipe or stream */
    char id[MCP_ID_MAX];   /* of its HTTP session, or "" */
    struct mcp_sink pipe, post;
    char *said[HEARD];     /* what it was told, oldest first */
    char event[HEARD][MCP_EVENT_MAX];
    bool posted[HEARD];    /* on the stream of a request */
    size_t n, read;        /* n: told; read: by next */
};

static char task_id[CALL_ID_LEN + 1] = "none";

static inline void
hear(struct who *w, struct str text, struct str event, bool posted)
{
    long after = rig_pause();

    if (w->n == HEARD)
        abort();
    w->said[w->n] = strndup(text.p, text.len);
    rig_go_on(after);
    w->event[w->n][0] = '\0';
    if (event.len > 0)
        snprintf(w->event[w->n], MCP_EVENT_MAX, "%.*s", STR_ARG(event));
    w->posted[w->n++] = posted;
}

static inline void
on_pipe(void *ctx, struct str text, struct str event)
{
    hear(ctx, text, event, false);
}

static inline void
on_post(void *ctx, struct str text, struct str event)
{
    hear(ctx, text, event, true);
}

static inline void
who_init(struct who *w, const char *principal)
{
    *w = (struct who){.principal = principal,
                      .pipe = {.send = on_pipe, .ctx = w},
                      .post = {.send = on_post, .ctx = w}};
}

static inline void
who_forget(struct who *w)
{
    while (w->n > 0)
        free(w->said[--w->n]);
    w->read = 0;
}

/* A pipe whose client speaks this revision and can be asked by forms. */
static inline void
who_pipe(struct who *w, const char *principal, const char *rev)
{
    who_init(w, principal);
    w->s = mcp_join(box.m, &w->pipe);
    if (w->s == NULL)
        abort();
    w->s->initialized = true;
    w->s->rev = (enum mcp_rev)mcp_rev_of(str_of(rev));
    w->s->caps = MCP_ELICITATION;
}

/* ---- turns ---- */

struct job {
    struct who *w;
    struct mcp_message *m;
    enum mcp_status status;
    struct buf out, notes;
};

static struct job jobs[32];
static size_t n_jobs;

static inline struct str
bare_header(void *ctx, const char *name)
{
    (void)ctx;
    (void)name;
    return STR_NONE;
}

/* Whether text, with quotes, has the word ID at i. A random id may contain
   it. */
static inline bool
is_id(struct str text, size_t i)
{
    const char *p = text.p + i;

    return text.len - i > 2 && memcmp(p, "ID", 2) == 0 && i > 0 &&
           strchr("\".", p[-1]) != NULL && strchr("\".", p[2]) != NULL;
}

/* Replaces ' and ID by what they stand for. */
static inline struct str
meant(const char *z)
{
    struct str text = quoted(z);
    struct buf b = {0};
    struct str s;
    long after = rig_pause();
    size_t i;

    for (i = 0; i < text.len; i++) {
        if (is_id(text, i)) {
            buf_z(&b, task_id);
            i++;
        } else {
            buf_char(&b, text.p[i]);
        }
    }
    s = arena_str(&arena, buf_view(&b));
    buf_fini(&b);
    rig_go_on(after);
    if (s.p == NULL)
        abort();
    return s;
}

/* Queues a message for the next turn. */
static inline void
post_text(struct who *w, struct str text)
{
    struct mcp_facts f = {.principal = str_of(w->principal),
                          .read_only = w->read_only};
    struct job *j = &jobs[n_jobs];

    if (w->id[0] != '\0') {
        f.http = true;
        f.header = bare_header;
        f.session_id = str_of(w->id);
    } else {
        f.session = w->s;
    }
    *j = (struct job){.w = w};
    if (mcp_accept(box.m, &f, &text, &j->m) == 0)
        n_jobs++;
}

static inline void
post(struct who *w, const char *text)
{
    post_text(w, meant(text));
}

static inline void
job_run(struct job *j, int refuse)
{
    j->out.len = j->notes.len = 0;
    j->out.err = j->notes.err = 0;
    store_refuse(box.store, refuse);
    j->status = mcp_run(j->m, &j->out, &j->notes);
    store_refuse(box.store, 0);
}

static inline void
job_give(struct job *j)
{
    struct str told = buf_view(&j->notes);
    struct who *w = j->w;

    while (told.len > 0)
        hear(w, str_cut(&told, '\n'), STR_NONE, true);
    if (j->status == MCP_WAITS)
        mcp_keep(j->m, w->id[0] != '\0' ? &w->post : &w->pipe, w);
    else if (j->out.len > 0)
        hear(w, buf_view(&j->out), STR_NONE, true);
    if (mcp_made_session(j->m) != NULL)
        snprintf(w->id, sizeof(w->id), "%s", mcp_made_session(j->m));
    if (j->status != MCP_WAITS)
        mcp_release(j->m);
    buf_fini(&j->out);
    buf_fini(&j->notes);
}

static inline void
turn_commit(size_t first)
{
    bool unknown;
    int err;

    mcp_run_marked(box.m);
    err = store_commit(box.store, &unknown);
    if (err != 0)
        mcp_undo_marked(box.m, false);
    for (; err != 0 && first < n_jobs; first++)
        job_run(&jobs[first], err);
    store_unlock(box.store);
}

/* Runs one turn of the server, with what was posted and what is ready. */
static inline void
turn(void)
{
    bool writes = mcp_marked_due_ms(box.m) <= clock_mono_ms();
    struct mcp_message *m;
    struct who *w;
    size_t i, first = SIZE_MAX;
    int err = 0;

    while (n_jobs < sizeof(jobs) / sizeof(*jobs) &&
           (w = mcp_next(box.m, clock_mono_ms(), &m)) != NULL)
        jobs[n_jobs++] = (struct job){.w = w, .m = m};
    for (i = 0; i < n_jobs; i++)
        writes |= mcp_writes(jobs[i].m);
    if (writes)
        err = box.refuses ? ERR_BUSY : store_lock_patiently(box.store);
    box.refuses = false;
    if (!writes || err != 0)
        store_follow(box.store);
    for (i = 0; i < n_jobs; i++) {
        size_t staged = store_staged_n(box.store);

        job_run(&jobs[i], err);
        if (store_staged_n(box.store) > staged && first == SIZE_MAX)
            first = i;
    }
    if (writes && err == 0)
        turn_commit(first);
    for (i = 0; i < n_jobs; i++)
        job_give(&jobs[i]);
    n_jobs = 0;
    mcp_end_turn(box.m);
    mcp_tick(box.m, clock_mono_ms());
    mcp_tick(box.m, clock_mono_ms() + 50); /* questions go out after a poll */
}

/* Runs turns until nothing is left to do at once. */
static inline void
settle_all(void)
{
    int n;

    for (n = 0; n < 50; n++) {
        turn();
        if (mcp_due_ms(box.m) > clock_mono_ms() &&
            mcp_marked_due_ms(box.m) > clock_mono_ms())
            return;
    }
    CHECK(n < 50); /* it settled */
}

/* ---- what was said ---- */

/* Replaces times in text by T and the task's id by ID. */
static inline void
normalize(char *text)
{
    char *to = text;

    while (*text != '\0') {
        if (strncmp(text, task_id, CALL_ID_LEN) == 0) {
            memcpy(to, "ID", 2);
            to += 2;
            text += CALL_ID_LEN;
        } else if (strncmp(text, "\"20", 3) == 0 && strlen(text) > 25 &&
                   text[25] == '"' && text[24] == 'Z') {
            memcpy(to, "\"T\"", 3);
            to += 3;
            text += 26;
        } else {
            *to++ = *text++;
        }
    }
    *to = '\0';
}

/* What w was told next; "" if there is nothing more. */
static inline const char *
next(struct who *w)
{
    if (w->read == w->n)
        return "";
    normalize(w->said[w->read]);
    return w->said[w->read++];
}

static inline bool
is_next(struct who *w, const char *want)
{
    const char *got = next(w);
    struct str text = quoted(want);

    if (strlen(got) == text.len && memcmp(got, text.p, text.len) == 0)
        return true;
    fprintf(stderr, "want %.*s\ngot  %s\n", STR_ARG(text), got);
    return false;
}

static inline bool
has(const char *got, const char *part)
{
    char want[1024];
    struct str text = quoted(part);

    snprintf(want, sizeof(want), "%.*s", STR_ARG(text));
    if (strstr(got, want) != NULL)
        return true;
    fprintf(stderr, "want ...%s...\ngot  %s\n", want, got);
    return false;
}

/* The same for JSON in the text of a tool's result. */
static inline bool
text_has(const char *got, const char *part)
{
    char want[1024];
    size_t n = 0;

    for (; *part != '\0' && n < sizeof(want) - 3; part++) {
        if (*part == '\'')
            want[n++] = '\\';
        want[n++] = *part;
    }
    want[n] = '\0';
    return has(got, want);
}

/* Whether w has nothing left to read. */
static inline bool
is_quiet(struct who *w)
{
    if (w->read == w->n)
        return true;
    fprintf(stderr, "told %s\n", w->said[w->read]);
    return false;
}

/* Sends text in a turn of its own. Returns the last thing that w was told and
   forgets all before it. */
static inline const char *
says(struct who *w, const char *text)
{
    who_forget(w);
    post(w, text);
    turn();
    if (w->n > 0)
        normalize(w->said[w->n - 1]);
    w->read = w->n;
    return w->n > 0 ? w->said[w->n - 1] : "";
}

/* Like says, for a text that makes a task: its id is ID from here on. */
static inline const char *
makes(struct who *w, const char *text)
{
    char *at;

    who_forget(w);
    post(w, text);
    turn();
    at = w->n > 0 ? strstr(w->said[w->n - 1], "\"taskId\":\"") : NULL;
    if (!CHECK(at != NULL))
        fprintf(stderr, "got %s\n", w->n > 0 ? w->said[w->n - 1] : "nothing");
    if (at == NULL)
        return "";
    memcpy(task_id, at + 10, CALL_ID_LEN);
    normalize(w->said[w->n - 1]);
    w->read = w->n;
    return w->said[w->n - 1];
}

static inline const char *
status_of(const char *id)
{
    struct arena a = {0};
    struct call k;
    const char *name = "none";

    if (calls_get(box.calls, &a, str_of(id), STR_NONE, &k) == 0)
        name = call_status_name(k.status);
    arena_fini(&a);
    return name;
}

/* Whether the task made last has this status. */
static inline bool
is_status(const char *want)
{
    if (strcmp(status_of(task_id), want) == 0)
        return true;
    fprintf(stderr, "status %s\n", status_of(task_id));
    return false;
}

/* Stages a record of a toy. */
static inline int
stage_toy(const char *name, const char *body)
{
    char key[64] = "toy/";

    strncat(key, name, sizeof(key) - 5);
    return store_stage(box.store, str_of(key), quoted(body));
}

/* Like stage_toy, but takes the lock first. */
static inline bool
lock_and_stage(const char *name, const char *body)
{
    return CHECK(store_lock_patiently(box.store) == 0) &&
           CHECK(stage_toy(name, body) == 0);
}

/* Commits a toy in a turn of its own. */
static inline void
toy_comes(const char *name)
{
    if (!lock_and_stage(name, "'v':{}"))
        return;
    turn_commit(SIZE_MAX);
    mcp_tick(box.m, clock_mono_ms());
}

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
