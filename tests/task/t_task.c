/* t_task - the task's rules and the index over them: workflow, transitions,
   idempotency, dependencies, lists, and that memory always is what a fresh
   replay of the log gives. */

#include "tests/lib/catalogue.h"
#include "tests/lib/clock.h"
#include "tests/lib/nomem.h"
#include "tests/lib/random.h"
#include "tests/lib/same.h"
#include "json/raw.h"
#include "task/index.h"
#include "base/text.h"

#include <errno.h>

static unsigned syncs_fail; /* bit 0: the next one, and so on */

int __real_fdatasync(int fd);
int __wrap_fdatasync(int fd);

int
__wrap_fdatasync(int fd)
{
    bool fails = syncs_fail & 1;
    syncs_fail >>= 1;
    if (!fails)
        return __real_fdatasync(fd);
    errno = EIO;
    return -1;
}

/* ---- memory against replay ---- */

static void
dump_atom(struct buf *b, const struct tasks *t, uint32_t id)
{
    buf_char(b, ' ');
    buf_str(b, atoms_text(&t->atoms, id));
}

/* Those that stand in queues; links are checked on the way. */
static int
dump_queues(const struct tasks *t, struct buf *b)
{
    const struct task_entry *e, *sooner;
    int i, n = 0;

    for (i = 0; i < 2 * TASK_N_PRIORITIES; i++) {
        const struct task_queue *q = &t->queue[i / 2][i % 2];

        for (sooner = NULL, e = q->first; e; n++, sooner = e, e = e->later) {
            CHECK(e->sooner == sooner && e->priority == i / 2);
            CHECK(e->has_deps == i % 2 && (!sooner || sooner->e.n < e->e.n));
            buf_printf(b, "%d: %.*s\n", i, STR_ARG(task_entry_id(e)));
        }
        CHECK(q->last == sooner);
    }
    return n;
}

static uint64_t
count_keys(const struct task_keys *k)
{
    uint64_t n = 0;
    size_t i;

    for (i = 0; i < TASK_KEYS_RINGS; i++)
        if (k->ring[i] != NULL)
            n += k->ring[i]->high - k->ring[i]->low;
    return n;
}

/* All that the index says, as text; links are checked on the way. */
static void
dump(const struct tasks *t, struct buf *b)
{
    const struct task_entry *e;
    int i, a, queued = 0;

    buf_reset(b, b->cap);
    for (i = 0; i < N_LISTS; i++) {
        const struct task_entry *newer = NULL;

        for (e = t->newest[i]; e; newer = e, e = e->older) {
            CHECK(e->newer == newer && !e->seen && e->known);
            queued += e->status < TASK_DONE &&
                      (e->status != TASK_IN_PROGRESS || e->has_lease);
            CHECK(!newer || newer->e.n > e->e.n);
            buf_printf(b, "%d %llu %.*s %d %d %d %lld %d %d", i,
                       (unsigned long long)e->e.n,
                       STR_ARG(task_entry_id(e)), e->status, e->priority,
                       e->has_deps, (long long)e->changed_ms,
                       e->has_lease ? (int)e->lease_ms : -2, e->has_open);
            for (a = 0; a < TASK_N_ATOMS; a++)
                dump_atom(b, t, e->atom[a]);
            buf_char(b, '\n');
        }
    }
    CHECK(dump_queues(t, b) == queued);
    for (i = 0; i <= TASK_N_STATUSES; i++)
        buf_printf(b, "%llu ", (unsigned long long)t->count[i]);
    for (i = 0; i < 12; i++) { /* those of random_call */
        char id[8];
        struct str quoted_id = {id, text_put(id, sizeof id, "\"t%d\"", i)};

        buf_printf(b, "%d%d ",
                   tasks_is_archived((struct tasks *)t, raw_inner(quoted_id)),
                   tasks_is_done((struct tasks *)t, quoted_id));
    }
    buf_printf(b, "%llu keys\n", (unsigned long long)count_keys(&t->keys));
}

/* Whether the index of f is what its log gives when read anew. */
static bool
is_replay(const struct fixture *f)
{
    struct fixture fresh = {.s = NULL};
    struct buf a = {0}, b = {0};
    bool same;

    memcpy(fresh.log, f->log, sizeof fresh.log);
    fixture_open(&fresh);
    dump(f->t, &a);
    dump(fresh.t, &b);
    same = is_same_text(&b, &a);
    buf_fini(&a);
    buf_fini(&b);
    fixture_fini(&fresh);
    return same;
}

static void
reopen(struct fixture *f)
{
    fixture_close(f);
    fixture_open(f);
}

/* ---- the workflow ---- */

static void
test_predecessors_workflow(void)
{
    struct fixture f;

    fixture_init(&f);
    call(&f, "create_task", "{'task_id':'task-001','title':'Fix login',"
         "'goal':'Users can log in','repo_path':'/srv/app'}");
    CHECK(ok(&f) && has(&f, "status", "open") && number(&f, "version") == 1);
    call(&f, "save_checkpoint", "{'task_id':'task-001','agent':"
         "'claude-code','completed_steps':['read code'],'remaining_steps':"
         "['fix','test'],'resume_prompt':'Go on in auth.c'}");
    CHECK(ok(&f) && has(&f, "status", "in_progress") &&
          has(&f, "current_owner", "claude-code"));
    call(&f, "handoff_task", "{'task_id':'task-001','from_agent':"
         "'claude-code','to_agent':'hermes','reason':'quota'}");
    CHECK(ok(&f) && has(&f, "status", "handoff_ready") &&
          has(&f, "current_owner", "hermes"));
    call(&f, "get_task", "{'task_id':'task-001'}");
    CHECK(has(&f, "status", "handoff_ready") &&
          has(&f, "current_owner", "hermes") &&
          has(&f, "resume_prompt", "Go on in auth.c"));
    CHECK(json_is(json_get(json_get(f.json, "handoff"), "to_agent"),
                  "hermes"));
    CHECK(json_get(f.json, "remaining_steps")->n == 2);
    call(&f, "update_task", "{'task_id':'task-001','title':'Fix login',"
         "'goal':'Users can log in','status':'in_progress','current_owner':"
         "'hermes','completed_steps':['read code','fix'],"
         "'remaining_steps':['test']}");
    CHECK(ok(&f) && has(&f, "status", "in_progress") &&
          number(&f, "version") == 4 && number(&f, "seq") == 4);
    CHECK(json_get(f.json, "warnings")->n == 0);
    CHECK(is_replay(&f));
    fixture_fini(&f);
}

/* ---- statuses ---- */

/* Makes a task id that has the status. */
static void
make_in(struct fixture *f, const char *id, enum task_status s)
{
    char text[256];

    snprintf(text, sizeof text, "{'task_id':'%s','title':'t'}", id);
    call(f, "create_task", text);
    if (s == TASK_DONE) {
        snprintf(text, sizeof text, "{'task_id':'%s','status':'in_progress',"
                 "'agent':'x'}", id);
        call(f, "update_task", text);
    }
    if (s == TASK_OPEN)
        return;
    snprintf(text, sizeof text, "{'task_id':'%s','status':'%s'}", id,
             task_status_name(s));
    call(f, "update_task", text);
    CHECK(ok(f) && has(f, "status", task_status_name(s)));
}

static bool
allowed_names(const struct fixture *f, const char *row)
{
    const struct json_tok *list = json_get(f->json, "allowed");
    uint32_t i, n = 0;

    for (i = 0; i < TASK_N_STATUSES; i++)
        n += row[i] == 'y';
    return list && list->n == n;
}

static void
test_every_transition(void)
{
    /* A row a status, a column the one that follows. "y": may
       follow, "s": it is the same, "r": with a reason only. */
    static const char *const table[] = {
        /*               o i h e d f c */
        [TASK_OPEN] =        "syyynyy",
        [TASK_IN_PROGRESS] = "ysyyyyy",
        [TASK_HANDOFF_READY] = "yysynyy",
        [TASK_EXHAUSTED] =   "yyysnyy",
        [TASK_DONE] =        "rrnnnnn",
        [TASK_FAILED] =      "rrnnnnn",
        [TASK_CANCELLED] =   "rrnnnnn",
    };
    struct fixture f;
    int from, to;
    char id[32], text[128];

    fixture_init(&f);
    for (from = 0; from < TASK_N_STATUSES; from++)
        for (to = 0; to < TASK_N_STATUSES; to++) {
            char want = table[from][to];

            snprintf(id, sizeof id, "t%d-%d", from, to);
            make_in(&f, id, (enum task_status)from);
            snprintf(text, sizeof text, "{'task_id':'%s','status':'%s'}", id,
                     task_status_name((enum task_status)to));
            call(&f, "update_task", text);
            if (want == 'y' || want == 's') {
                CHECK(ok(&f));
                continue;
            }
            CHECK(failed(&f, task_status_ended((enum task_status)from)
                             ? "terminal" : "invalid_transition"));
            if (want == 'n' && !task_status_ended((enum task_status)from))
                CHECK(allowed_names(&f, table[from]));
            snprintf(text, sizeof text, "{'task_id':'%s','status':'%s',"
                     "'reason':'again'}", id,
                     task_status_name((enum task_status)to));
            call(&f, "update_task", text);
            CHECK(f.is_error == (want == 'n'));
        }
    CHECK(is_replay(&f));
    fixture_fini(&f);
}

static void
test_rules(void)
{
    static const struct step steps[] = {
        {"get_task", "{'task_id':'no'}", "not_found", "field", "task_id"},
        {"update_task", "{'task_id':'no','title':'x'}", "not_found", 0, 0},
        {"create_task", "{'task_id':'a','title':'A','tags':['x']}", 0,
         "status", "open"},
        {"create_task", "{'task_id':'a','title':'A'}", 0, "task_id", "a"},
        {"create_task", "{'task_id':'a','title':'B'}", "already_exists",
         "field", "title"},
        {"create_task", "{'task_id':'b','title':'B','status':'done'}",
         "invalid_transition", 0, 0},
        {"update_task", "{'task_id':'a'}", "invalid_argument", 0, 0},
        {"update_task", "{'task_id':'a','title':null}", "invalid_argument",
         "field", "title"},
        {"update_task", "{'task_id':'a','expected_version':7,'title':'C'}",
         "version_conflict", 0, 0},
        {"update_task", "{'task_id':'a','expected_version':1,'title':'C'}",
         0, 0, 0},
        /* who starts it, owns it */
        {"update_task", "{'task_id':'a','status':'in_progress',"
         "'agent':'me'}", 0, "current_owner", "me"},
        {"handoff_task", "{'task_id':'a','from_agent':'you'}", "not_owner",
         "field", "from_agent"},
        {"handoff_task", "{'task_id':'a','from_agent':'you'}", "not_owner",
         "holder", "me"},
        {"handoff_task", "{'task_id':'a','from_agent':'me'}", 0, "status",
         "handoff_ready"},
        {"save_checkpoint", "{'task_id':'a','agent':'you','notes':'n'}", 0,
         "current_owner", "you"},
        {"mark_exhausted", "{'task_id':'a','agent':'you','reason':'quota'}",
         0, "status", "agent_exhausted"},
        {"handoff_task", "{'task_id':'a','from_agent':'any','to_agent':"
         "'me','remaining_steps':['z']}", 0, "current_owner", "me"},
        {"update_task", "{'task_id':'a','status':'done'}",
         "invalid_transition", 0, 0},
        {"save_checkpoint", "{'task_id':'a','agent':'me'}", 0, "status",
         "in_progress"},
        {"update_task", "{'task_id':'a','status':'done','test_results':"
         "[{'command':'make test','exit_code':0,'passed':3}]}", 0, "status",
         "done"},
        {"save_checkpoint", "{'task_id':'a','agent':'me'}", "terminal", 0,
         0},
        {"attach_artifact", "{'task_id':'a','name':'n','content':'c'}",
         "terminal", 0, 0},
        {"update_task", "{'task_id':'a','status':'open'}", "terminal",
         "field", "reason"},
        {"update_task", "{'task_id':'a','status':'open','reason':'bug'}", 0,
         "status", "open"},
        {"handoff_task", "{'task_id':'a'}", "invalid_argument", "field",
         "from_agent"},
        {"save_checkpoint", "{'task_id':'a'}", "invalid_argument", "field",
         "agent"},
        {"create_task", "{}", "invalid_argument", "field", "title"},
        {"create_task", "{'title':'x','nonsense':1}", "invalid_argument",
         "field", "nonsense"},
        {"create_task", "{'title':'x','task_id':'new','expected_version':1}",
         "not_found", 0, 0},
    };
    struct fixture f;

    fixture_init(&f);
    RUN_STEPS(&f, steps);
    call(&f, "update_task", "{'task_id':'a','expected_version':1,'goal':"
         "'C'}");
    CHECK(failed(&f, "version_conflict") &&
          number(&f, "current_version") == 10);
    call(&f, "create_task", "{'title':'x'}");
    CHECK(ok(&f) && str_starts(json_str(&f.a, json_get(f.json, "task_id")),
                               "t-"));
    CHECK(is_replay(&f));
    fixture_fini(&f);
}

static bool
warned(const struct fixture *f, const char *text)
{
    const struct json_tok *list = json_get(f->json, "warnings"), *t = list + 1;
    uint32_t i;

    for (i = 0; list && i < list->n; i++, t += t->span)
        if (json_is(t, text))
            return true;
    return false;
}

static void
test_evidence_and_warnings(void)
{
    struct fixture f;

    fixture_init(&f);
    call(&f, "create_task", "{'task_id':'a','title':'A','status':"
         "'in_progress','agent':'me'}");
    CHECK(has(&f, "current_owner", "me"));
    call(&f, "save_checkpoint", "{'task_id':'a','agent':'you',"
         "'remaining_steps':['r']}");
    CHECK(has(&f, "current_owner", "me"));
    CHECK(warned(&f, "another agent owns this task"));
    f.env.require_evidence = true;
    call(&f, "update_task", "{'task_id':'a','status':'done'}");
    CHECK(failed(&f, "evidence_required"));
    f.env.require_evidence = false;
    call(&f, "update_task", "{'task_id':'a','status':'done'}");
    CHECK(ok(&f) && warned(&f, "done without test_results"));
    CHECK(warned(&f, "done with remaining_steps"));
    fixture_fini(&f);
}

/* ---- idempotency ---- */

static void
test_idempotency(void)
{
    static const char first[] = "{'task_id':'a','agent':'me','notes':'one',"
        "'completed_steps':['x'],'idempotency_key':'k1'}";
    static const char same[] = "{'idempotency_key':'k1','completed_steps': "
        "['x'], 'agent':'me','notes':'one','task_id':'a'}";
    static const struct step others[] = {
        {"save_checkpoint", "{'task_id':'a','agent':'me','notes':'two',"
         "'idempotency_key':'k1'}", "idempotency_conflict", 0, 0},
        {"save_checkpoint", "{'task_id':'a','agent':'you','notes':'two',"
         "'idempotency_key':'k1'}", 0, 0, 0},
        {"update_task", "{'task_id':'a','agent':'me','goal':'g',"
         "'idempotency_key':'k1'}", 0, 0, 0},
    };
    struct fixture f;
    char answer[1024];
    int round;

    fixture_init(&f);
    call(&f, "create_task", "{'task_id':'a','title':'A'}");
    call(&f, "save_checkpoint", first);
    CHECK(ok(&f) && f.out.len < sizeof answer);
    snprintf(answer, sizeof answer, "%.*s", STR_ARG(buf_view(&f.out)));
    RUN_STEPS(&f, others);
    for (round = 0; round < 3; round++) {
        call(&f, "save_checkpoint", same);
        CHECK(ok(&f) && str_is(buf_view(&f.out), answer));
        if (round == 0)
            reopen(&f);
        if (round == 1)
            while (store_compact(f.s) == ERR_MORE)
                continue;
    }
    call(&f, "get_task", "{'task_id':'a'}");
    CHECK(number(&f, "version") == 4);
    /* One that fails is not remembered. */
    call(&f, "update_task", "{'task_id':'a','status':'done',"
         "'expected_version':99,'idempotency_key':'k2'}");
    CHECK(failed(&f, "version_conflict"));
    call(&f, "update_task", "{'task_id':'a','status':'cancelled',"
         "'expected_version':4,'idempotency_key':'k2'}");
    CHECK(ok(&f) && number(&f, "version") == 5);
    /* A replay is an answer even where the request would fail now. */
    call(&f, "update_task", "{'task_id':'a','status':'cancelled',"
         "'expected_version':4,'idempotency_key':'k2'}");
    CHECK(ok(&f) && number(&f, "version") == 5);
    call(&f, "create_task", "{'title':'minted','idempotency_key':'k3'}");
    snprintf(answer, sizeof answer, "%.*s", STR_ARG(buf_view(&f.out)));
    call(&f, "create_task", "{'title':'minted','idempotency_key':'k3'}");
    CHECK(str_is(buf_view(&f.out), answer));
    call(&f, "attach_artifact", "{'task_id':'a','name':'n','content':'c'}");
    CHECK(failed(&f, "terminal"));
    fixture_fini(&f);
}

/* A key is one's own, even where another has the same name. */
static void
test_keys_of_principals(void)
{
    static const char args[] = "{'task_id':'a','notes':'n','agent':'me',"
                               "'idempotency_key':'k'}";
    static const struct {
        const char *principal;
        int64_t version;
    } cases[] = {
        {"me", 2}, {NULL, 3}, {"me", 2}, {NULL, 3}, {"", 3}, {"you", 4},
        {"me", 2}, {"you", 4},
    };
    struct fixture f;
    size_t i;

    fixture_init(&f);
    call(&f, "create_task", "{'task_id':'a','title':'A'}");
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *p = f.principal = cases[i].principal;

        /* Who has a token need not say who it is. */
        call(&f, "save_checkpoint", p && strcmp(p, "you") == 0
             ? "{'task_id':'a','notes':'n','idempotency_key':'k'}" : args);
        if (!CHECK(ok(&f) && number(&f, "version") == cases[i].version))
            fprintf(stderr, "  case %zu\n", i);
        if (i == 4)
            reopen(&f);
    }
    f.principal = "me";
    call(&f, "save_checkpoint", "{'task_id':'a','notes':'n',"
         "'idempotency_key':'k'}");
    CHECK(ok(&f) && number(&f, "version") == 2);
    call(&f, "save_checkpoint", "{'task_id':'a','notes':'other',"
         "'idempotency_key':'k'}");
    CHECK(failed(&f, "idempotency_conflict"));
    CHECK(is_replay(&f));
    fixture_fini(&f);
}

/* Whether the last answer's text has what. */
static bool
answer_has(struct fixture *f, const char *what)
{
    struct str want = quoted(&f->a, what), text = buf_view(&f->out);
    size_t i;

    for (i = 0; i + want.len <= text.len; i++)
        if (memcmp(text.p + i, want.p, want.len) == 0)
            return true;
    fprintf(stderr, "no %s in %.*s\n", what, STR_ARG(text));
    return false;
}

static void
test_who_takes_over_owns(void)
{
    struct fixture f;

    fixture_init(&f);
    call(&f, "create_task", "{'task_id':'a','title':'A'}");
    call(&f, "save_checkpoint", "{'task_id':'a','agent':'x','notes':'mind "
         "the gap'}");
    call(&f, "get_task", "{'task_id':'a'}");
    CHECK(answer_has(&f, "'notes':'mind the gap'"));
    call(&f, "handoff_task", "{'task_id':'a','from_agent':'x',"
         "'to_agent':'y'}");
    call(&f, "update_task", "{'task_id':'a','agent':'w',"
         "'status':'in_progress'}");
    CHECK(answer_has(&f, "'current_owner':'w'"));
    call(&f, "mark_exhausted", "{'task_id':'a','agent':'w'}");
    call(&f, "update_task", "{'task_id':'a','agent':'v','status':"
         "'in_progress','current_owner':'u'}");
    CHECK(answer_has(&f, "'current_owner':'u'"));
    call(&f, "create_task", "{'task_id':'b','title':'B',"
         "'depends_on':['a']}");
    call(&f, "save_checkpoint", "{'task_id':'b','agent':'x'}");
    call(&f, "update_task", "{'task_id':'b','status':'done'}");
    CHECK(answer_has(&f, "done although tasks that it depends on are not"));
    call(&f, "get_task", "{'task_id':'a','section':'artifact',"
         "'artifact_id':'a9'}");
    CHECK(answer_has(&f, "get_task names the"));
    fixture_fini(&f);
}

static void
test_what_a_day_changes(void)
{
    static const char start[] = "{'task_id':'a','agent':'me','status':"
        "'in_progress','idempotency_key':'k'}";
    struct fixture f;

    fixture_init(&f);
    call(&f, "create_task", "{'task_id':'a','title':'A'}");
    call(&f, "update_task", start);
    clock_ahead_s = 24 * 60 * 60 - 60;
    call(&f, "update_task", start);
    CHECK(number(&f, "version") == 2);
    call(&f, "list_tasks", "{'stale':true}");
    CHECK(number(&f, "total") == 0);
    clock_ahead_s += 120;
    call(&f, "list_tasks", "{'stale':true}");
    CHECK(number(&f, "total") == 1);
    call(&f, "get_task", "{'task_id':'a'}");
    CHECK(json_get(f.json, "stale")->type == JSON_TRUE);
    call(&f, "update_task", start); /* the key is forgotten */
    CHECK(ok(&f) && number(&f, "version") == 3);
    call(&f, "list_tasks", "{'stale':false}");
    CHECK(number(&f, "total") == 1);
    clock_ahead_s = 0;
    fixture_fini(&f);
}

/* What was answered minutes ago is not forgotten when the clock is set ten
   years ahead: not before the next record, nor behind it, nor elsewhere. */
static void
test_clock_is_set_ahead(void)
{
    static const char start[] = "{'task_id':'a','agent':'me','status':"
        "'in_progress','idempotency_key':'k'}";
    struct fixture f;
    int i;

    fixture_init(&f);
    call(&f, "create_task", "{'task_id':'a','title':'A'}");
    call(&f, "update_task", start);
    clock_ahead_s = 180;
    wall_ahead_s = 10LL * 365 * 24 * 3600;
    for (i = 0; i < 4; i++) {
        call(&f, "update_task", start);
        CHECK(number(&f, "version") == 2);
        if (i == 0 || i == 2)
            reopen(&f);
        if (i == 1)
            call(&f, "create_task", "{'task_id':'b','title':'B'}");
        while (i == 2 && store_compact(f.s) == ERR_MORE)
            continue;
    }
    clock_ahead_s += 24 * 60 * 60; /* what passes on both counts */
    call(&f, "update_task", start);
    CHECK(number(&f, "version") == 3);
    clock_ahead_s = wall_ahead_s = 0;
    fixture_fini(&f);
}

/* Nobody can tell which keys have one hash: it has a secret in it. */
static void
test_hashes_of_keys_are_secret(void)
{
    static const char idem[] = "{\"key\":\"k\",\"who\":\"me\"}";
    static const char other[] = "{\"key\":\"k\",\"who\":\"you\"}";
    struct tasks *t[] = {tasks_new(), tasks_new()};
    uint64_t h[2], who, another;
    int i;

    for (i = 0; i < 2; i++) {
        h[i] = task_key_hash(t[i], STR("create"), STR("\"me\""),
                             str_of(idem), &who);
        CHECK(h[i] == task_key_hash(t[i], STR("create"), STR("\"me\""),
                                    str_of(idem), &who));
        CHECK(h[i] != task_key_hash(t[i], STR("update"), STR("\"me\""),
                                    str_of(idem), &who));
        task_key_hash(t[i], STR("create"), STR("\"me\""), str_of(other),
                      &another);
        CHECK(who != another); /* each is filed with its principal's */
    }
    CHECK(h[0] != h[1]);
    for (i = 0; i < 2; i++)
        tasks_free(t[i]);
}

static void
test_key_table_is_bounded(void)
{
    static struct task_keys k;
    uint64_t i, n;

    CHECK(keys_reserve(&k, 8) == 0); /* another principal's one key */
    keys_add(&k, 8, 7, 1);

    for (i = 1; i <= 300000; i++) {
        if (!CHECK(keys_reserve(&k, 7) == 0))
            break;
        keys_add(&k, 7, i * 7, i);
    }
    n = UINT64_MAX;
    CHECK(keys_find(&k, 7, 300000 * 7, &n) && n == 300000);
    n = UINT64_MAX;
    CHECK(keys_find(&k, 7, (300000 - TASK_KEYS_MAX + 1) * 7, &n));
    n = UINT64_MAX;
    CHECK(!keys_find(&k, 7, (300000 - TASK_KEYS_MAX) * 7, &n));
    n = UINT64_MAX;
    CHECK(keys_find(&k, 8, 7, &n) && n == 1);
    keys_undo(&k, 299999); /* not the newest */
    for (i = 300000; i > 300000 - 20000; i--) {
        keys_undo(&k, i);
        n = UINT64_MAX;
        CHECK(!keys_find(&k, 7, i * 7, &n));
    }
    n = UINT64_MAX;
    CHECK(keys_find(&k, 7, (300000 - 20000 - TASK_KEYS_MAX + 1) * 7, &n));
    CHECK(k.ring[7]->cap * (sizeof(struct task_key_slot) + sizeof(uint64_t)) <
          6u << 20);
    keys_fini(&k);
}

/* ---- undo ---- */

/* As the command does it with a task's newest record: 0, or an error. */
static int
archive(struct fixture *f, const char *key)
{
    struct store_rec r;
    struct store_entry *e;
    bool unknown;
    int rc;

    if (!f->hold)
        CHECK(store_lock(f->s) == 0);
    e = store_find(f->s, str_of(key));
    rc = e ? store_read(f->s, e, &f->a, &r) : ERR_NOT_FOUND;
    if (rc == 0)
        rc = task_archive(f->t, &r);
    if (!f->hold) {
        CHECK(store_commit(f->s, &unknown) == 0);
        store_unlock(f->s);
    }
    return rc;
}

static void
random_call(struct fixture *f)
{
    static const char *const owners[] = {"'ann'", "'bob'", "'cy'", "null"};
    char text[512];
    unsigned id = rnd(12);

    switch (rnd(9)) {
    case 7:
        snprintf(text, sizeof text, "task/t%u", id);
        if (rnd(2) == 0)
            archive(f, text);
        break;
    case 0:
        snprintf(text, sizeof text, "{'task_id':'t%u','title':'T','tags':"
                 "['g%u'],'repo_path':'/r%u','current_owner':%s,"
                 "'idempotency_key':'%u'}", id, rnd(3), rnd(9),
                 owners[rnd(4)], rnd(1000000));
        call(f, "create_task", text);
        break;
    case 1:
        snprintf(text, sizeof text, "{'task_id':'t%u','agent':'a%u',"
                 "'notes':'n','idempotency_key':'%u'}", id, rnd(5),
                 rnd(1000000));
        call(f, "save_checkpoint", text);
        break;
    case 2:
        snprintf(text, sizeof text, "{'task_id':'t%u','status':'%s',"
                 "'reason':'r'}", id,
                 task_status_name((enum task_status)rnd(7)));
        call(f, "update_task", text);
        break;
    case 4:
        snprintf(text, sizeof text, "{'agent':'a%u','lease_seconds':30}",
                 rnd(5));
        call(f, "claim_task", text);
        break;
    case 5:
        snprintf(text, sizeof text, "{'task_id':'t%u','agent':'a%u',"
                 "'question':'?'}", id, rnd(5));
        call(f, "request_input", text);
        break;
    case 6:
        snprintf(text, sizeof text, "{'task_id':'t%u','answer':{'text':'!'}}",
                 id);
        call(f, "update_task", text);
        break;
    case 3:
        snprintf(text, sizeof text, "{'task_id':'t%u','repo_path':'/only/%u'"
                 ",'depends_on':['t%u']}", id, rnd(1000000), rnd(12));
        call(f, "update_task", text);
        break;
    default:
        snprintf(text, sizeof text, "{'task_id':'t%u','agent':'a%u'}", id,
                 rnd(5));
        call(f, "mark_exhausted", text);
    }
}

static void
test_undo_is_exact(void)
{
    struct buf before = {0}, after = {0};
    bool unknown;
    int round, i;

    for (round = 0; round < 25; round++) {
        struct fixture f;

        fixture_init(&f);
        for (i = 0; i < 30; i++)
            random_call(&f);
        CHECK(is_replay(&f));
        dump(f.t, &before);
        f.hold = true;
        for (i = 0; i < 60; i++)
            random_call(&f);
        syncs_fail = 5; /* of the batch and, behind the cut, once more */
        CHECK(store_commit(f.s, &unknown) == ERR_IO && !unknown);
        store_unlock(f.s);
        dump(f.t, &after);
        if (!CHECK(str_eq(buf_view(&before), buf_view(&after))))
            fprintf(stderr, "before:\n%.*s\nafter:\n%.*s\n",
                    STR_ARG(buf_view(&before)), STR_ARG(buf_view(&after)));
        CHECK(is_replay(&f));
        f.hold = false;
        reopen(&f);
        for (i = 0; i < 30; i++)
            random_call(&f);
        CHECK(is_replay(&f));
        fixture_fini(&f);
    }
    buf_fini(&before);
    buf_fini(&after);
}

/* ---- dependencies ---- */

static void
test_dependencies(void)
{
    static const struct step steps[] = {
        {"create_task", "{'task_id':'a','title':'A'}", 0, 0, 0},
        {"create_task", "{'task_id':'b','title':'B','depends_on':['a']}", 0,
         0, 0},
        {"create_task", "{'task_id':'c','title':'C','depends_on':['b'],"
         "'parent_id':'a'}", 0, 0, 0},
        {"create_task", "{'task_id':'d','title':'D','depends_on':['no']}",
         "not_found", "field", "depends_on"},
        {"create_task", "{'task_id':'d','title':'D','parent_id':'no'}",
         "not_found", "field", "parent_id"},
        {"create_task", "{'task_id':'d','title':'D','depends_on':['d']}",
         "dependency_cycle", 0, 0},
        {"update_task", "{'task_id':'a','depends_on':['c']}",
         "dependency_cycle", "field", "depends_on"},
        {"update_task", "{'task_id':'a','parent_id':'c'}",
         "dependency_cycle", "field", "parent_id"},
        {"update_task", "{'task_id':'a','parent_id':'a'}",
         "dependency_cycle", 0, 0},
        {"create_task", "{'task_id':'d','title':'D','depends_on':['a'],"
         "'status':'in_progress'}", "blocked", 0, 0},
        {"update_task", "{'task_id':'b','status':'in_progress'}", "blocked",
         0, 0},
        {"save_checkpoint", "{'task_id':'b','agent':'x'}", 0, "status",
         "in_progress"},
        {"update_task", "{'task_id':'a','status':'in_progress'}", 0, 0, 0},
        {"update_task", "{'task_id':'a','status':'done'}", 0, 0, 0},
        {"update_task", "{'task_id':'b','status':'open'}", 0, 0, 0},
        {"update_task", "{'task_id':'b','status':'in_progress'}", 0, 0, 0},
        {"update_task", "{'task_id':'c','depends_on':null}", 0, 0, 0},
    };
    struct fixture f;

    fixture_init(&f);
    RUN_STEPS(&f, steps);
    call(&f, "create_task", "{'task_id':'w','title':'W','depends_on':"
         "['a','b','c']}");
    call(&f, "get_task", "{'task_id':'w'}");
    CHECK(json_get(f.json, "blocked_by")->n == 2);
    CHECK(json_get(f.json, "ready")->type == JSON_FALSE);
    call(&f, "list_tasks", "{'ready':true}");
    CHECK(number(&f, "total") == 1);
    call(&f, "list_tasks", "{'ready':false}");
    CHECK(number(&f, "total") == 2);
    CHECK(is_replay(&f));
    fixture_fini(&f);
}

/* A tree of more tasks than a walk may look at: 3 of 64 of 64. */
static void
test_walk_is_bounded(void)
{
    struct fixture f;
    struct buf b = {0};
    bool unknown;
    int i, k, leaves = 3 * 64 * 64, made = 0;

    fixture_init(&f);
    f.hold = true;
    for (i = 0; i < leaves + 3 * 64 + 3; i++) {
        /* The tasks that task i depends on: none, or 64 in a row. */
        buf_reset(&b, b.cap);
        buf_printf(&b, "{'task_id':'w%d','title':'w'", i);
        for (k = 0; i >= leaves && k < 64; k++)
            buf_printf(&b, "%s'w%d'", k ? "," : ",'depends_on':[",
                       (i - leaves) * 64 + k);
        buf_printf(&b, "%s}%c", i >= leaves ? "]" : "", '\0');
        call(&f, "create_task", b.p);
        if (!f.is_error)
            made++;
        if (i % 500 == 0) {
            CHECK(store_commit(f.s, &unknown) == 0);
            arena_reset(&f.a);
        }
    }
    f.hold = false;
    CHECK(made == i);
    call(&f, "create_task", "{'task_id':'x','title':'x'}");
    call(&f, "update_task", "{'task_id':'x','depends_on':['w12480']}");
    CHECK(ok(&f)); /* 64 and 64 * 64 are fine */
    call(&f, "update_task", "{'task_id':'x','depends_on':['w12480','w12481'"
         ",'w12482']}");
    CHECK(failed(&f, "too_large") && has(&f, "field", "depends_on"));
    call(&f, "update_task", "{'task_id':'w0','depends_on':['x']}");
    CHECK(failed(&f, "dependency_cycle"));
    CHECK(is_replay(&f));
    buf_fini(&b);
    fixture_fini(&f);
}

/* ---- lists ---- */

static void
test_filters(void)
{
    static const struct {
        const char *args;
        int64_t total;
    } cases[] = {
        {"{}", 4},
        {"{'include_done':true}", 5},
        {"{'status':'open'}", 4},
        {"{'status':'done'}", 1},
        {"{'status':'failed'}", 0},
        {"{'current_owner':'ann'}", 2},
        {"{'current_owner':'nobody'}", 0},
        {"{'repo_path':'/r'}", 1},
        {"{'tag':'red'}", 2},
        {"{'tag':'re'}", 0},
        {"{'parent_id':'a'}", 1},
        {"{'query':'RED'}", 2},
        {"{'query':'lOgIn'}", 1},
        {"{'query':'tab\\there\\n'}", 1},
        {"{'query':'n'}", 1}, /* not the n of an escape */
        {"{'query':'aab'}", 1},
        {"{'query':'aaaab'}", 0},
        {"{'ready':true}", 4},
        {"{'ready':false}", 0},
        {"{'stale':true}", 0},
        {"{'stale':false}", 4},
        {"{'needs_input':true}", 0},
        {"{'needs_input':false}", 4},
        {"{'changed_since':5}", 1},
        {"{'changed_since':'5','include_done':true}", 2},
        {"{'changed_since':'2000-01-01T00:00:00Z'}", 4},
        {"{'changed_since':'2999-01-01T00:00:00Z'}", 0},
        {"{'current_owner':'ann','tag':'red','query':'log'}", 1},
        {"{'current_owner':'','tag':null}", 4}, /* not given */
    };
    static const struct step steps[] = {
        {"create_task", "{'task_id':'a','title':'Login','tags':['red',"
         "'blue'],'current_owner':'ann'}", 0, 0, 0},
        {"create_task", "{'task_id':'b','title':'b','goal':'tab\\there\\n',"
         "'tags':['red'],'repo_path':'/r'}", 0, 0, 0},
        {"create_task", "{'task_id':'c','title':'aaab','parent_id':'a'}", 0,
         0, 0},
        {"create_task", "{'task_id':'d','title':'d'}", 0, 0, 0},
        {"create_task", "{'task_id':'e','title':'e','status':'in_progress'}",
         0, 0, 0},
        {"update_task", "{'task_id':'d','current_owner':'ann'}", 0, 0, 0},
        {"update_task", "{'task_id':'e','status':'done'}", 0, 0, 0},
    };
    struct fixture f;
    size_t i;

    fixture_init(&f);
    RUN_STEPS(&f, steps);
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        call(&f, "list_tasks", cases[i].args);
        if (!CHECK(ok(&f) && number(&f, "total") == cases[i].total &&
                   json_get(f.json, "tasks")->n == cases[i].total))
            fprintf(stderr, "  %s: %.*s\n", cases[i].args,
                    STR_ARG(buf_view(&f.out)));
    }
    CHECK(number(&f, "head_seq") == 7);
    call(&f, "list_tasks", "{'cursor':'nonsense'}");
    CHECK(failed(&f, "invalid_argument") && has(&f, "field", "cursor"));
    call(&f, "list_tasks", "{'cursor':'1/2'}");
    CHECK(ok(&f));
    fixture_fini(&f);
}

/* Pages through all tasks; between pages others change. Every task that
   did not change is seen exactly once. */
static void
page_through(struct fixture *f, const char *filter, bool with_done)
{
    enum { N = 230 };
    int seen[N] = {0}, changed[N] = {0}, i, pages = 0;
    char cursor[600] = "", text[900];
    struct str id;

    do {
        const struct json_tok *list, *t;

        snprintf(text, sizeof text, "{%s'limit':7,'include_done':%s%s%s%s}",
                 filter, with_done ? "true" : "false",
                 *cursor ? ",'cursor':'" : "", cursor, *cursor ? "'" : "");
        call(f, "list_tasks", text);
        if (!CHECK(ok(f)))
            return;
        list = json_get(f->json, "tasks");
        for (i = 0, t = list + 1; i < (int)list->n; i++, t += t->span) {
            id = json_str(&f->a, json_get(t, "task_id"));
            seen[atoi(id.p + 1)]++;
        }
        id = json_str(&f->a, json_get(f->json, "next_cursor"));
        snprintf(cursor, sizeof cursor, "%.*s", STR_ARG(id));
        for (i = 0; i < 5; i++) {
            int k = (int)rnd(N);

            changed[k] = 1;
            snprintf(text, sizeof text, i ? "{'task_id':'p%d','goal':'%u'}"
                     : "{'task_id':'p%d','status':'cancelled','goal':'%u'}",
                     k, rnd(100));
            call(f, "update_task", text);
        }
    } while (*cursor && ++pages < 200);
    CHECK(pages > 5 && pages < 60);
    for (i = 0; i < N; i++)
        if (!CHECK(changed[i] || seen[i] == 1))
            fprintf(stderr, "  p%d seen %d times\n", i, seen[i]);
}

static void
test_paging_while_tasks_change(void)
{
    static const char *const filters[] = {"", "'tag':'x',", "'query':'P',"};
    struct fixture f;
    size_t i;
    char text[128];
    int k;

    for (i = 0; i < 6; i++) {
        fixture_init(&f);
        for (k = 0; k < 230; k++) {
            snprintf(text, sizeof text, "{'task_id':'p%d','title':'p',"
                     "'tags':['x']}", k);
            call(&f, "create_task", text);
            if (i % 2 && k % 3 == 0) {
                snprintf(text, sizeof text, "{'task_id':'p%d','status':"
                         "'failed'}", k);
                call(&f, "update_task", text);
            }
        }
        if (i % 2)
            page_through(&f, filters[i / 2], true);
        else
            page_through(&f, filters[i / 2], false);
        CHECK(is_replay(&f));
        fixture_fini(&f);
    }
}

/* A search that finds nothing in many tasks stops, and comes to an end. */
static void
test_search_is_bounded(void)
{
    struct fixture f;
    struct buf b = {0};
    bool unknown;
    int i, calls = 0;
    char cursor[600] = "", text[900];
    struct str next;

    fixture_init(&f);
    f.hold = true;
    buf_z(&b, "{'title':'needle','goal':'");
    for (i = 0; i < 8000; i++)
        buf_char(&b, 'x');
    buf_put(&b, "'}", 3);
    for (i = 0; i < 600; i++) {
        call(&f, "create_task", b.p);
        if (i % 100 == 99)
            CHECK(store_commit(f.s, &unknown) == 0);
    }
    f.hold = false;
    store_unlock(f.s);
    do {
        snprintf(text, sizeof text, "{'query':'%s'%s%s%s}",
                 "nowhere", *cursor ? ",'cursor':'" : "", cursor,
                 *cursor ? "'" : "");
        call(&f, "list_tasks", text);
        next = json_str(&f.a, json_get(f.json, "next_cursor"));
        CHECK((json_get(f.json, "partial") != NULL) == (next.p != NULL));
        CHECK((number(&f, "total") == 0) == (next.p == NULL));
        snprintf(cursor, sizeof cursor, "%.*s", STR_ARG(next));
    } while (*cursor && ++calls < 20);
    CHECK(calls == 2); /* 5 MB of text, 2 MB a call */
    buf_fini(&b);
    fixture_fini(&f);
}

/* Totals and the bound on what one call looks at, with many tasks. */
static void
test_many_tasks(void)
{
    enum { N = 20500, TAGGED = 1200 };
    struct fixture f;
    char text[900];
    bool unknown;
    int i;

    fixture_init(&f);
    f.hold = true;
    for (i = 0; i < N; i++) {
        snprintf(text, sizeof text, "{'task_id':'m%d','title':'m'%s%s}", i,
                 i >= N - TAGGED ? ",'tags':['x']" : "",
                 i == 3 ? ",'status':'handoff_ready'" : "");
        call(&f, "create_task", text);
        if (i % 1000 == 999) {
            CHECK(store_commit(f.s, &unknown) == 0);
            arena_reset(&f.a);
        }
    }
    CHECK(store_commit(f.s, &unknown) == 0);
    store_unlock(f.s);
    f.hold = false;
    call(&f, "list_tasks", "{}");
    CHECK(number(&f, "total") == N && json_get(f.json, "tasks")->n == 20);
    call(&f, "list_tasks", "{'tag':'x','limit':10}");
    CHECK(number(&f, "total_at_least") > 1000 && number(&f, "total") < 0);
    call(&f, "list_tasks", "{'tag':'x','ready':false}");
    CHECK(json_get(f.json, "partial") != NULL);
    /* The only one stands beyond what one call looks at. */
    call(&f, "list_tasks", "{'status':'handoff_ready'}");
    CHECK(json_get(f.json, "tasks")->n == 0 && number(&f, "total") == 1);
    CHECK(json_get(f.json, "partial") != NULL);
    snprintf(text, sizeof text, "{'status':'handoff_ready','cursor':'%.*s'}",
             STR_ARG(json_str(&f.a, json_get(f.json, "next_cursor"))));
    /* What it was to go on from has changed: still found. */
    call(&f, "update_task", "{'task_id':'m499','goal':'g'}");
    CHECK(ok(&f));
    for (i = 0; i < 3; i++) {
        call(&f, "list_tasks", text);
        if (json_get(f.json, "tasks")->n > 0)
            break;
        snprintf(text, sizeof text, "{'status':'handoff_ready','cursor':"
                 "'%.*s'}", STR_ARG(json_str(&f.a, json_get(f.json,
                                                            "next_cursor"))));
    }
    CHECK(i < 3 && json_get(f.json, "next_cursor") == NULL);
    fixture_fini(&f);
}

/* ---- import ---- */

static void
test_import(void)
{
    static const char whole[] = "{'task_id':'old-1','title':'T','status':"
        "'done','priority':4,'tags':['a'],'created_at':"
        "'2024-05-06T07:08:09.123456+02:00','updated_at':"
        "'2024-05-07 00:00:00Z','completed_steps':['x'],'goal':null,"
        "'legacy':{'deep': [1, 2.50, 'n\\n']},'seq':99,'ready':true,"
        "'version':12,'depends_on':['later'],'handoff':{'from_agent':'a',"
        "'to_agent':'b','more':1},'created_by':'ann'}";
    struct fixture f;
    struct buf first = {0};
    struct str text;

    fixture_init(&f);
    CHECK(strcmp(import(&f, whole), "") == 0);
    CHECK(strcmp(import(&f, whole), "already_exists") == 0);
    CHECK(strcmp(import(&f, "{'task_id':'x'}"), "invalid_argument") == 0);
    CHECK(strcmp(import(&f, "{'task_id':'x','title':'t','tags':'t'}"),
                 "invalid_argument") == 0);
    CHECK(strcmp(import(&f, "{'task_id':'later','title':'t','depends_on':"
                        "['old-1']}"), "dependency_cycle") == 0);
    CHECK(strcmp(import(&f, "{'task_id':'later','title':'t',"
                        "'created_at':'2024-05-06 07:08:09'}"), "") == 0);
    call(&f, "get_task", "{'task_id':'old-1'}");
    CHECK(has(&f, "status", "done") && number(&f, "version") == 12);
    CHECK(has(&f, "created_at", "2024-05-06T05:08:09.123Z"));
    CHECK(has(&f, "created_by", "ann") && number(&f, "seq") == 1);
    CHECK(json_get(f.json, "goal") == NULL);
    text = json_raw(json_get(f.json, "legacy"));
    CHECK(str_is(text, "{\"deep\":[1,2.50,\"n\\n\"]}"));
    /* What is exported can be imported, and is the same. */
    buf_str(&first, buf_view(&f.out));
    buf_char(&first, '\0');
    fixture_fini(&f);
    fixture_init(&f);
    CHECK(strcmp(import(&f, first.p), "") == 0);
    call(&f, "get_task", "{'task_id':'old-1'}");
    text = buf_view(&f.out);
    CHECK(memcmp(text.p, first.p, 700 < text.len ? 300 : 200) == 0);
    CHECK(str_is(json_raw(json_get(f.json, "legacy")),
                 "{\"deep\":[1,2.50,\"n\\n\"]}"));
    /* Carried along by a change, too. */
    call(&f, "update_task", "{'task_id':'old-1','status':'open','reason':"
         "'r'}");
    call(&f, "get_task", "{'task_id':'old-1'}");
    CHECK(json_get(f.json, "legacy") != NULL);
    CHECK(is_replay(&f));
    buf_fini(&first);
    fixture_fini(&f);
}

/* Members unknown to us, however many, cost what they are long. */
static void
test_many_unknown_members(void)
{
    enum { N = 8000 };
    struct buf text = {0}, extra = {0};
    struct fixture f;
    struct arena a = {0};
    struct task k;
    int i;

    for (i = 0; i < N; i++)
        buf_printf(&extra, "%s\"own%d\":%d", i ? "," : "", i, i);
    buf_printf(&text, "{\"task_id\":\"a\",\"title\":\"T\",%.*s}",
               STR_ARG(buf_view(&extra)));
    fixture_init(&f);
    CHECK(strcmp(import_raw(&f, buf_view(&text)), "") == 0);
    CHECK(task_get(f.t, &a, STR("a"), &k) == 0);
    CHECK(str_eq(k.extra, buf_view(&extra)));
    CHECK(arena_size(&a) < 8 * extra.len);
    /* Carried along by a change. */
    call(&f, "update_task", "{'task_id':'a','goal':'g'}");
    arena_reset(&a);
    CHECK(ok(&f) && task_get(f.t, &a, STR("a"), &k) == 0);
    CHECK(str_eq(k.extra, buf_view(&extra)));
    CHECK(arena_size(&a) < 8 * extra.len);
    arena_fini(&a);
    fixture_fini(&f);
    buf_fini(&text);
    buf_fini(&extra);
}

/* ---- texts ---- */

static void
test_archived_tasks(void)
{
    struct fixture f;
    struct store_rec r;
    bool unknown;

    fixture_init(&f);
    f.keep_arena = true;
    call(&f, "create_task", "{'task_id':'a','title':'A','tags':['x'],"
         "'current_owner':'ann'}");
    call(&f, "create_task", "{'task_id':'b','title':'B','depends_on':['a']}");
    call(&f, "save_checkpoint", "{'task_id':'a','agent':'ann'}");
    call(&f, "update_task", "{'task_id':'a','status':'done'}");
    CHECK(ok(&f) &&
          store_read(f.s, store_find(f.s, STR("task/a")), &f.a, &r) == 0);
    CHECK(archive(&f, "task/a") == 0);
    CHECK(is_replay(&f) && tasks_count(f.t, TASK_DONE) == 0);
    call(&f, "get_task", "{'task_id':'a'}");
    CHECK(failed(&f, "not_found"));
    call(&f, "get_task", "{'task_id':'a','section':'history'}");
    CHECK(failed(&f, "not_found"));
    call(&f, "update_task", "{'task_id':'a','title':'Other'}");
    CHECK(failed(&f, "not_found"));
    call(&f, "create_task", "{'task_id':'a','title':'A'}");
    CHECK(failed(&f, "already_exists"));
    call(&f, "create_task", "{'task_id':'c','title':'C','depends_on':['a']}");
    call(&f, "claim_task", "{'task_id':'b','agent':'me'}");
    CHECK(ok(&f) && has(&f, "status", "in_progress"));
    /* What has changed since is not dropped; nor what was dropped. */
    CHECK(store_lock(f.s) == 0);
    CHECK(task_archive(f.t, &r) == ERR_VERSION);
    CHECK(store_commit(f.s, &unknown) == 0);
    store_unlock(f.s);
    CHECK(strcmp(import(&f, "{'task_id':'a','title':'A','status':'done',"
                        "'depends_on':['c']}"), "dependency_cycle") == 0);
    CHECK(strcmp(import(&f, "{'task_id':'a','title':'A','status':'done',"
                        "'version':7}"), "") == 0);
    call(&f, "get_task", "{'task_id':'a'}");
    CHECK(number(&f, "version") == 7);
    CHECK(is_replay(&f));
    reopen(&f);
    call(&f, "get_task", "{'task_id':'a','section':'history'}");
    CHECK(is_replay(&f));
    fixture_fini(&f);
}

static void
test_hostile_text(void)
{
    static const char *const texts[] = {
        "\\u0000", "\\\\", "\\\\\\u0022}", "],[", "{\\u0022v\\u0022:{",
        "\\ud83d\\ude00", "\xc3\xa9", "\\u2028", "\\r\\n\\t\\b",
        "\\u007f", "\\u0022,\\u0022v\\u0022:{\\u0022status\\u0022:1",
    };
    struct fixture f;
    size_t i;
    char args[512];

    fixture_init(&f);
    for (i = 0; i < sizeof texts / sizeof *texts; i++) {
        const struct json_tok *want;
        struct str v, title, note;

        snprintf(args, sizeof args, "{'task_id':'h%zu','title':'%s','tags':"
                 "['%s'],'current_owner':'%s'}", i, texts[i], texts[i],
                 texts[i]);
        call(&f, "create_task", args);
        CHECK(ok(&f));
        snprintf(args, sizeof args, "{'task_id':'h%zu','agent':'%s','notes':"
                 "'%s'}", i, texts[i],
                 texts[i]);
        call(&f, "save_checkpoint", args);
        CHECK(ok(&f));
        CHECK(is_replay(&f));
        snprintf(args, sizeof args, "{'tag':'%s','current_owner':'%s',"
                 "'query':'%s'}", texts[i],
                 texts[i],
                 texts[i]);
        call(&f, "list_tasks", args);
        if (!CHECK(ok(&f) && number(&f, "total") == 1))
            fprintf(stderr, "  %s: %.*s\n", args, STR_ARG(buf_view(&f.out)));
        snprintf(args, sizeof args, "{'task_id':'h%zu','section':'history'}",
                 i);
        call(&f, "get_task", args);
        note = json_str(&f.a, json_get(json_get(f.json, "events") + 1,
                                       "note"));
        snprintf(args, sizeof args, "{'task_id':'h%zu'}", i);
        f.keep_arena = true;
        call(&f, "get_task", args);
        f.keep_arena = false;
        title = json_str(&f.a, json_get(f.json, "title"));
        snprintf(args, sizeof args, "'%s'", texts[i]);
        v = quoted(&f.a, args);
        CHECK(json_parse(&f.a, v, &want, NULL) == 0);
        CHECK(str_eq(title, json_str(&f.a, want)));
        CHECK(str_eq(note, title));
    }
    fixture_fini(&f);
}

/* ---- memory that runs out ---- */

static bool
memmem_z(struct str s, const char *z)
{
    size_t i, n = strlen(z);

    for (i = 0; i + n <= s.len; i++)
        if (memcmp(s.p + i, z, n) == 0)
            return true;
    return false;
}

static void
test_no_memory(void)
{
    static const char *const steps[][2] = {
        {"create_task", "{'task_id':'a','title':'A','tags':['t']}"},
        {"save_checkpoint", "{'task_id':'a','agent':'me','notes':'n',"
         "'idempotency_key':'k','completed_steps':['x\\n','y']}"},
        {"update_task", "{'task_id':'a','repo_path':'/new','depends_on':"
         "['b'],'current_owner':'you','reason':'r\\n'}"},
        {"handoff_task", "{'task_id':'a','from_agent':'you','to_agent':"
         "'him'}"},
        {"get_task", "{'task_id':'a'}"},
        {"get_task", "{'task_id':'a','section':'history'}"},
        {"list_tasks", "{'query':'A','tag':'t','ready':false}"},
        {"request_input", "{'task_id':'a','agent':'him','question':'q?',"
         "'options':['x','y'],'idempotency_key':'q'}"},
        {"update_task", "{'task_id':'a','answer':{'text':"
         "'x'},'goal':'g'}"},
        {"claim_task", "{'agent':'me'}"},
    };
    struct fixture f;
    size_t i;
    long after;
    int rounds = 0;

    fixture_init(&f);
    call(&f, "create_task", "{'task_id':'b','title':'B'}");
    for (i = 0; i < sizeof steps / sizeof *steps; i++)
        for (after = 0;; after++, rounds++) {
            const struct mcp_catalogue *c = tools_catalogue(f.tools);
            struct mcp_call m = {.ctx = c->ctx, .arena = &f.a,
                                 .rev = MCP_2025_11_25, .out = &f.out};
            size_t k = 0;
            bool hit, unknown;
            int rc;

            while (strcmp(c->tools[k].name, steps[i][0]) != 0)
                k++;
            CHECK(store_lock_patiently(f.s) == 0);
            arena_fini(&f.a);
            buf_fini(&f.out);
            memset(&f.out, 0, sizeof f.out);
            CHECK(json_parse(&f.a, quoted(&f.a, steps[i][1]), &m.args,
                             NULL) == 0);
            nomem_start(after, after % 2);
            rc = c->tools[k].run(&m);
            hit = nomem_stop();
            CHECK(rc == 0 || rc == ERR_NOMEM);
            CHECK(store_commit(f.s, &unknown) == 0);
            store_unlock(f.s);
            if (!hit) {
                if (!CHECK(rc == 0 && !m.is_error))
                    fprintf(stderr, "  %s: %.*s\n", steps[i][0],
                            STR_ARG(buf_view(&f.out)));
                break;
            }
            if (rc == 0 && m.is_error)
                CHECK(memmem_z(buf_view(&f.out), "out_of_memory"));
        }
    CHECK(rounds > 30);
    CHECK(is_replay(&f));
    fixture_fini(&f);
}

/* A prompt or a completion is whole, or it fails. */
static void
test_no_memory_for_prompts(void)
{
    static const char *const steps[] = {
        "{'task_id':'a','agent':'x'}", "{'task_id':'a','to_agent':'x'}",
        "{'since':'1'}", "{'agent':'x'}", "T", "x",
    };
    struct fixture f;
    const struct mcp_catalogue *c;
    size_t i;
    long after;

    fixture_init(&f);
    call(&f, "create_task", "{'task_id':'a','title':'A \\u00e4 T','agent':"
         "'x','current_owner':'x','goal':'g\\n'}");
    c = tools_catalogue(f.tools);
    for (i = 0; i < 6; i++)
        for (after = 0;; after++) {
            struct mcp_call m = {.ctx = c->ctx, .arena = &f.a,
                                 .out = &f.out};
            struct mcp_completion q = {.prompt = true, .ref = STR("standup"),
                .value = str_of(steps[i]),
                .argument = str_of(i == 4 ? "task_id" : "agent")};
            bool hit;
            int rc;

            arena_fini(&f.a);
            buf_fini(&f.out);
            memset(&f.out, 0, sizeof f.out);
            if (i < 4)
                CHECK(json_parse(&f.a, quoted(&f.a, steps[i]), &m.args,
                                 NULL) == 0);
            nomem_start(after, true);
            rc = i < 4 ? c->prompts[i % 3].run(&m) : c->complete(&m, &q);
            hit = nomem_stop();
            CHECK(rc == (hit ? ERR_NOMEM : 0));
            if (!hit)
                break;
        }
    CHECK(f.out.len > 0);
    fixture_fini(&f);
}

int
main(void)
{
    test_predecessors_workflow();
    test_every_transition();
    test_rules();
    test_evidence_and_warnings();
    test_idempotency();
    test_keys_of_principals();
    test_who_takes_over_owns();
    test_what_a_day_changes();
    test_clock_is_set_ahead();
    test_hashes_of_keys_are_secret();
    test_key_table_is_bounded();
    test_undo_is_exact();
    test_dependencies();
    test_walk_is_bounded();
    test_filters();
    test_paging_while_tasks_change();
    test_search_is_bounded();
    test_many_tasks();
    test_import();
    test_many_unknown_members();
    test_archived_tasks();
    test_hostile_text();
    test_no_memory();
    test_no_memory_for_prompts();
    return test_end("task");
}
