#ifndef TEST_CATALOGUE_H
#define TEST_CATALOGUE_H

/* A store in a fresh directory and the catalogue over it, for the tests of
   task and tools. JSON in tests is written with ' in place of ". */

#include "base/text.h"
#include "mcp/mcp.h"
#include "json.h"
#include "json/raw.h"
#include "store.h"
#include "task/change.h"
#include "task/claim.h"
#include "task/index.h"
#include "tests/lib/faults.h"
#include "tests/lib/model.h"
#include "tests/lib/test.h"
#include "tools/tools.h"
#include "task/view.h"

#include <dirent.h>

static int logs, log_level; /* messages of the last call, and the level of the
                               last message */
static char log_text[512];  /* its data */

void __wrap_mcp_log(struct mcp_call *c, int level, struct str data);
bool __wrap_mcp_logs(const struct mcp_call *c, int level);

/* What a waiting call reported. */
static bool deferring;               /* returned by mcp_defer */
static const struct json_tok *reply;  /* returned by mcp_request */
static char asked_form[4096], watched[CALL_WATCH_MAX], state[256];
static int64_t wait_ms;

/* The session that calls, and one that is gone; NULL: none. */
static const char *session_mark, *session_dead;
static const char *other_token; /* another principal; NULL: none */

bool __wrap_mcp_defer(struct mcp_call *c);
const struct json_tok *__wrap_mcp_request(struct mcp_call *c,
                                          const char *key,
                                          const char *method,
                                          struct str params);
void __wrap_mcp_watch(struct mcp_call *c, struct str what);
void __wrap_mcp_state(struct mcp_call *c, struct str text);
void __wrap_mcp_wait(struct mcp_call *c, int64_t ms);
void __wrap_mcp_progress(struct mcp_call *c, uint64_t progress,
                         uint64_t total, const char *message);

struct str __wrap_mcp_session_mark(const struct mcp_call *c);
bool __wrap_mcp_is_principal(const struct mcp_call *c, struct str name);

struct str
__wrap_mcp_session_mark(const struct mcp_call *c)
{
    (void)c;
    return session_mark ? str_of(session_mark) : STR_NONE;
}

/* What is seen of a session: all live but session_dead, and nothing is seen of
   one whose mark ends in "?". */
static enum sight
see_session(const void *of, struct str mark)
{
    CHECK(of == &session_dead);
    if (mark.p[mark.len - 1] == '?')
        return SIGHT_UNKNOWN;
    return session_dead && str_is(mark, session_dead) ? SIGHT_GONE
                                                      : SIGHT_ALIVE;
}

bool
__wrap_mcp_is_principal(const struct mcp_call *c, struct str name)
{
    (void)c;
    return other_token && str_is(name, other_token);
}

bool
__wrap_mcp_defer(struct mcp_call *c)
{
    (void)c;
    return deferring;
}

const struct json_tok *
__wrap_mcp_request(struct mcp_call *c, const char *key, const char *method,
                   struct str params)
{
    (void)c;
    CHECK(strcmp(key, "answer") == 0);
    CHECK(strcmp(method, "elicitation/create") == 0);
    snprintf(asked_form, sizeof asked_form, "%.*s", STR_ARG(params));
    return reply;
}

void
__wrap_mcp_watch(struct mcp_call *c, struct str what)
{
    (void)c;
    snprintf(watched, sizeof watched, "%.*s", STR_ARG(what));
}

void
__wrap_mcp_state(struct mcp_call *c, struct str text)
{
    (void)c;
    snprintf(state, sizeof state, "%.*s", STR_ARG(text));
}

void
__wrap_mcp_wait(struct mcp_call *c, int64_t ms)
{
    (void)c;
    wait_ms = ms;
}

void
__wrap_mcp_progress(struct mcp_call *c, uint64_t progress, uint64_t total,
                    const char *message)
{
    (void)c;
    CHECK(progress <= total);
    CHECK(message[0] != '\0');
}

/* Programs that include this are linked with TALK wrapped. */
bool
__wrap_mcp_logs(const struct mcp_call *c, int level)
{
    (void)c;
    return level >= 0;
}

void
__wrap_mcp_log(struct mcp_call *c, int level, struct str data)
{
    (void)c;
    logs++;
    log_level = level;
    snprintf(log_text, sizeof log_text, "%.*s", STR_ARG(data));
}

struct fixture {
    char dir[300], log[320], artifacts[320], root[320];
    struct cli_env env;
    struct store_kind kind; /* outlives the store */
    struct tasks *t;
    struct store *s;
    struct tools *tools;
    struct arena a;
    struct buf out;       /* the last answer */
    const struct json_tok *json; /* out, parsed */
    bool is_error;
    const char *principal; /* the caller; NULL: the only one */
    const char *client;   /* the client's name; NULL: none */
    const char *agent;    /* MCP_TASK_AGENT; NULL: none */
    bool read_only;       /* the caller's permission */
    bool person;          /* the caller is a person */
    bool first;           /* the first call of a session on HTTP */
    bool hold;            /* run without commit: stage only */
    bool keep_arena;      /* keep earlier answers valid */
};

/* Replaces apostrophes by quotes, in the arena. */
static inline struct str
quoted(struct arena *a, const char *text)
{
    struct str s = arena_str(a, str_of(text));
    size_t i;

    for (i = 0; i < s.len; i++)
        if (s.p[i] == '\'')
            ((char *)(uintptr_t)s.p)[i] = '"';
    return s;
}

static inline void
fixture_open(struct fixture *f)
{
    struct store_options o = {.path = f->log};
    char why[256];

    f->t = tasks_new();
    tasks_kind(f->t, &f->kind);
    if (!CHECK(store_open(&f->s, &o, &f->kind, 1, why) == 0)) {
        fprintf(stderr, "%s\n", why);
        exit(1);
    }
    tasks_bind(f->t, f->s);
    tasks_watch(f->t, see_session, &session_dead);
    f->env.log_path = f->log;
    f->env.artifacts_dir = f->artifacts;
    CHECK(tools_new(&f->tools, f->t, &f->env) == 0);
}

static inline void
fixture_close(struct fixture *f)
{
    tools_free(f->tools);
    store_close(f->s);
    tasks_free(f->t);
}

static inline void
fixture_init(struct fixture *f)
{
    char *dir = test_tmpdir();

    memset(f, 0, sizeof *f);
    snprintf(f->dir, sizeof f->dir, "%s", dir);
    snprintf(f->log, sizeof f->log, "%s/tasks.log", dir);
    snprintf(f->artifacts, sizeof f->artifacts, "%s/sub/artifacts", dir);
    snprintf(f->root, sizeof f->root, "%s/root", dir);
    free(dir);
    fixture_open(f);
}

static inline void
fixture_fini(struct fixture *f)
{
    fixture_close(f);
    arena_fini(&f->a);
    buf_fini(&f->out);
}

/* Runs a tool as a turn does. Returns the parsed answer; its text is in f->out
   until the next call. */
static inline const struct json_tok *
call_raw(struct fixture *f, const char *name, struct str args)
{
    const struct mcp_catalogue *c = tools_catalogue(f->tools);
    const struct mcp_tool *tool = NULL;
    struct mcp_call call = {.ctx = c->ctx, .arena = &f->a,
                            .rev = MCP_2025_11_25, .out = &f->out,
                            .read_only = f->read_only,
                            .person = f->person,
                            .first = f->first};
    bool unknown;
    size_t i;

    for (i = 0; i < c->n_tools; i++)
        if (strcmp(c->tools[i].name, name) == 0)
            tool = &c->tools[i];
    if (!CHECK(tool != NULL))
        exit(1);
    if (args.len && json_parse(&f->a, args, &call.args, NULL) != 0) {
        fprintf(stderr, "bad JSON in test: %.*s\n", STR_ARG(args));
        exit(1);
    }
    if (f->principal)
        call.principal = str_of(f->principal);
    if (f->client)
        call.client = str_of(f->client);
    if (f->agent)
        call.agent = str_of(f->agent);
    call.number = tool->number;
    logs = 0;
    if (tool->prepare && !f->read_only)
        tool->prepare(&call);
    if (tool->writes && !store_locked(f->s))
        CHECK(store_lock_patiently(f->s) == 0);
    buf_reset(&f->out, f->out.cap);
    CHECK(tool->run(&call) == 0);
    if (tool->writes && !f->hold) {
        CHECK(store_commit(f->s, &unknown) == 0);
        store_unlock(f->s);
    }
    f->is_error = call.is_error;
    f->json = NULL;
    if (!CHECK(json_parse(&f->a, arena_str(&f->a, buf_view(&f->out)),
                          &f->json, NULL) == 0))
        fprintf(stderr, "%.*s\n", STR_ARG(buf_view(&f->out)));
    return f->json;
}

static inline const struct json_tok *
call(struct fixture *f, const char *name, const char *args)
{
    if (!f->keep_arena && !f->hold)
        arena_reset(&f->a);
    return call_raw(f, name, quoted(&f->a, args));
}

/* Returns whether the last answer is the error with this code. */
static inline bool
failed(const struct fixture *f, const char *code)
{
    bool is = f->is_error && json_is(json_get(f->json, "code"), code);

    if (!is)
        fprintf(stderr, "wanted %s: %.*s\n", code,
                STR_ARG(buf_view(&f->out)));
    return is;
}

static inline bool
ok(const struct fixture *f)
{
    if (f->is_error)
        fprintf(stderr, "%.*s\n", STR_ARG(buf_view(&f->out)));
    return !f->is_error;
}

static inline bool
has(const struct fixture *f, const char *name, const char *value)
{
    bool is = json_is(json_get(f->json, name), value);

    if (!is)
        fprintf(stderr, "wanted %s=%s: %.*s\n", name, value,
                STR_ARG(buf_view(&f->out)));
    return is;
}

static inline int64_t
number(const struct fixture *f, const char *name)
{
    int64_t v;

    return json_int(json_get(f->json, name), &v) ? v : -1;
}

static inline bool
is_true(const struct fixture *f, const char *name)
{
    const struct json_tok *t = json_get(f->json, name);

    return t && t->type == JSON_TRUE;
}

/* Whether the last answer has this warning. */
static inline bool
warned(const struct fixture *f, const char *text)
{
    const struct json_tok *list = json_get(f->json, "warnings"), *t = list + 1;

    for (uint32_t i = 0; list && i < list->n; i++, t += t->span)
        if (json_is(t, text))
            return true;
    return false;
}

/* Seconds until the expires_at of an object; -1: it has none. */
static inline int64_t
expires_in(const struct fixture *f, const struct json_tok *of)
{
    const struct json_tok *at = json_get(of, "expires_at");
    struct arena a = {0};
    int64_t end = 0, left = -1;

    if (at && CHECK(time_parse(json_str(&a, at), &end)))
        left = (end - store_now_ms(f->s) + 999) / 1000;
    arena_fini(&a);
    return left;
}

static inline size_t
answer_len(const struct fixture *f)
{
    struct str s = buf_view(&f->out);

    return s.len + json_quoted_len(s) + 1024;
}

/* A fixture with these tasks, named by a letter each. */
static inline void
begin_with(struct fixture *f, const char *tasks)
{
    char args[64];

    clock_ahead_s = 0;
    fixture_init(f);
    for (; *tasks; tasks++) {
        snprintf(args, sizeof args, "{'task_id':'%c','title':'T'}", *tasks);
        call(f, "create_task", args);
        CHECK(ok(f));
    }
}

/* Imports one task. Returns "", or the name of the error. */
static inline const char *
import_raw(struct fixture *f, struct str text)
{
    struct task_ctx c = {.a = &f->a};
    const struct json_tok *obj;
    struct task_receipt r;
    bool unknown;
    int rc;

    CHECK(json_parse(&f->a, text, &obj, NULL) == 0);
    CHECK(store_lock_patiently(f->s) == 0);
    rc = task_import(f->t, &c, obj, &r);
    CHECK(store_commit(f->s, &unknown) == 0);
    store_unlock(f->s);
    CHECK(rc == c.e.code);
    return rc == 0 ? "" : err_name(rc);
}

static inline const char *
import(struct fixture *f, const char *text)
{
    arena_reset(&f->a);
    return import_raw(f, quoted(&f->a, text));
}

/* The number of files in a directory; 0 if it does not exist. */
static inline int
count_files(const char *dir)
{
    DIR *d = opendir(dir);
    struct dirent *e;
    int n = 0;

    while (d && (e = readdir(d)))
        n += e->d_name[0] != '.';
    if (d)
        closedir(d);
    return n;
}

static inline void
put_times(struct buf *b, const char *z, size_t n)
{
    while (n--)
        buf_z(b, z);
}

/* ---- memory against replay ---- */

/* How long an entry is kept for its owner; -2: it is free, and may have been
   parked in memory, which forgets it. */
static inline int
kept_ms(const struct tasks *t, const struct task_entry *e)
{
    int64_t now = store_now_ms(tasks_store(t));

    return task_entry_free(t, e, now) && !task_entry_kept_for(t, e, now).p
        ? -2 : e->kept_ms;
}

static inline void
dump_atom(struct buf *b, const struct tasks *t, uint32_t id)
{
    buf_char(b, ' ');
    buf_str(b, atoms_text(&t->atoms, id));
}

/* Counts the tasks in a queue or park, checking the links. */
static inline int
check_queue(const struct task_queue *q, bool parked)
{
    const struct task_entry *e, *sooner = NULL;
    int n = 0;

    for (e = q->first; e; sooner = e, e = e->later, n++)
        CHECK(e->sooner == sooner && e->parked == parked &&
              (parked || !sooner || sooner->e.n < e->e.n));
    CHECK(q->last == sooner);
    return n;
}

/* Counts the tasks in held, checking the links, the runs of sessions and the
   end of the first lease. */
static inline int
check_held(const struct tasks *t)
{
    const struct task_entry *e, *sooner = NULL;
    const struct atom_use *of, *last = NULL;
    int n = 0;

    for (e = t->held.first; e; sooner = e, e = e->later, last = of, n++) {
        of = e->atom[ENTRY_SESSION]
            ? atoms_use(&t->atoms, e->atom[ENTRY_SESSION]) : &t->unknown;
        CHECK(e->sooner == sooner && e->status == TASK_IN_PROGRESS &&
              e->has_lease && !e->released && !e->parked);
        CHECK((of == last) == (of->first != e) &&
              (of->last == e) ==
                  (!e->later || e->later->atom[ENTRY_SESSION] !=
                                    e->atom[ENTRY_SESSION]));
        CHECK(t->held_ms <= e->changed_ms + e->kept_ms);
    }
    CHECK(t->held.last == sooner);
    return n;
}

/* Checks that what a search skips is in its queue. */
static inline void
check_skips(const struct tasks *t)
{
    const struct task_skip *s;
    const struct task_entry *e;

    for (s = t->skips; s < t->skips + TASK_SKIPS; s++) {
        if (!s->last)
            continue;
        for (e = s->q->first; e && e != s->last; e = e->later)
            ;
        CHECK(e == s->last && e->passed);
    }
}

/* Counts the tasks in queues and writes them. Blocked tasks may be parked in
   memory, and leases released, and queued or held in a replay, which is allowed
   for. */
static inline int
dump_queues(const struct tasks *t, struct buf *b)
{
    const struct task_entry *e;
    int i, k, n = 0;

    for (i = 0; i < TASK_PARKS; i++)
        n += check_queue(&t->parks[i], true);
    CHECK(n == (int)t->n_parked);
    n += check_held(t);
    check_skips(t);
    for (i = 0; i < TASK_N_PRIORITIES; i++)
        for (k = 0; k < N_QUEUES; k++) {
            n += check_queue(&t->queue[i][k], false);
            for (e = t->queue[i][k].first; e; e = e->later) {
                CHECK(e->priority == i &&
                      (k == QUEUE_HANDED ? e->status == TASK_HANDOFF_READY
                       : k == QUEUE_RELEASED
                           ? e->status == TASK_IN_PROGRESS && e->has_lease
                       : k == QUEUE_BEGUN
                           ? e->status != TASK_OPEN && !e->has_lease
                           : e->status == TASK_OPEN &&
                                 e->has_deps == (k == QUEUE_DEPS)));
                if ((!e->has_deps || kept_ms(t, e) != -2) &&
                    k != QUEUE_RELEASED)
                    buf_printf(b, "%d %d: %.*s\n", i, k,
                               STR_ARG(task_entry_id(e)));
            }
        }
    return n;
}

static inline uint64_t
count_keys(const struct task_keys *k)
{
    uint64_t n = 0;
    size_t i;

    for (i = 0; i < TASK_KEYS_RINGS; i++)
        if (k->ring[i] != NULL)
            n += k->ring[i]->high - k->ring[i]->low;
    return n;
}

/* Writes all of the index as text, checking the links. */
static inline void
dump(const struct tasks *t, struct buf *b)
{
    const struct task_entry *e;
    int i, a, queued = 0;

    buf_reset(b, b->cap);
    for (i = 0; i < N_LISTS; i++) {
        const struct task_entry *newer = NULL;

        for (e = t->newest[i]; e; newer = e, e = e->older) {
            CHECK(e->newer == newer && !e->seen && e->known);
            queued += e->status < TASK_DONE;
            CHECK(!newer || newer->e.n > e->e.n);
            buf_printf(b, "%d %llu %.*s %d %d %d %lld %d %d", i,
                       (unsigned long long)e->e.n,
                       STR_ARG(task_entry_id(e)), e->status, e->priority,
                       e->has_deps, (long long)e->changed_ms,
                       kept_ms(t, e), e->has_open);
            for (a = 0; a < TASK_N_ATOMS; a++)
                dump_atom(b, t, e->atom[a]);
            buf_char(b, '\n');
        }
    }
    CHECK(dump_queues(t, b) == queued);
    for (i = 0; i <= TASK_N_STATUSES; i++)
        buf_printf(b, "%llu ", (unsigned long long)t->count[i]);
    for (i = 0; i < 12; i++) { /* ids of random_call */
        char id[8];
        struct str quoted_id = {id, text_put(id, sizeof id, "\"t%d\"", i)};

        struct task_parts parts = tasks_parts(t, raw_inner(quoted_id));

        buf_printf(b, "%d%d:%llu/%llu+%llu/%llu ",
                   tasks_is_archived((struct tasks *)t, raw_inner(quoted_id)),
                   tasks_fate((struct tasks *)t, quoted_id) == PARTS_DONE,
                   (unsigned long long)parts.unfinished,
                   (unsigned long long)parts.done,
                   (unsigned long long)parts.failed,
                   (unsigned long long)parts.total);
    }
    buf_printf(b, "%llu keys\n", (unsigned long long)count_keys(&t->keys));
}

/* Whether both find the same tasks to claim, in each project of random_call. */
static inline bool
finds_the_same(struct tasks *t, struct tasks *fresh)
{
    char repo[8];
    bool same = true;

    for (int i = 0; i < 9; i++) {
        struct task_want want = {.who = {.name = STR("\"a1\"")}};
        struct str id, other;

        want.repo_path = (struct str){repo, text_put(repo, sizeof repo,
                                                     "\"/r%d\"", i)};
        CHECK(tasks_find_ready(t, &want, &id) == 0 &&
              tasks_find_ready(fresh, &want, &other) == 0);
        same = same && str_eq(id, other);
    }
    return same;
}

/* Returns whether f's index equals one read from its log. */
static inline bool
is_replay(const struct fixture *f)
{
    struct fixture fresh = {.s = NULL};
    struct buf a = {0}, b = {0};
    bool same;

    memcpy(fresh.log, f->log, sizeof fresh.log);
    fixture_open(&fresh);
    dump(f->t, &a);
    dump(fresh.t, &b);
    same = is_same_text(&b, &a) && finds_the_same(f->t, fresh.t);
    buf_fini(&a);
    buf_fini(&b);
    fixture_fini(&fresh);
    return same;
}

static inline void
reopen(struct fixture *f)
{
    fixture_close(f);
    fixture_open(f);
}

/* ---- tables of calls ---- */

struct step {
    const char *tool, *args;
    const char *code;         /* expected error code, or NULL */
    const char *name, *value; /* a member of the answer, or NULL */
};

static inline void
run_steps(struct fixture *f, const struct step *s, size_t n)
{
    for (; n; n--, s++) {
        call(f, s->tool, s->args);
        if (s->code ? !CHECK(failed(f, s->code)) : !CHECK(ok(f)))
            fprintf(stderr, "  in %s %s\n", s->tool, s->args);
        if (s->name && !CHECK(has(f, s->name, s->value)))
            fprintf(stderr, "  in %s %s\n", s->tool, s->args);
    }
}

#define RUN_STEPS(f, list) run_steps(f, list, sizeof list / sizeof *list)
#define STEPS(f, ...) \
    RUN_STEPS(f, ((const struct step[]){__VA_ARGS__}))

#endif
