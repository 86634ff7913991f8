/* task - reads a task from its record. Changes are made in task/change.c, lists
   in task/query.c.

   A task is split into slices of its record, never decoded and encoded again:
   it is shown as it was stored, unknown members included. */

#include "task/task.h"
#include "store/remote.h"
#include "task/index.h"
#include "task/project.h"
#include "base/clock.h"
#include "base/utf8.h"

#include <string.h>

#define MINUTES_LEN 16  /* of a time up to its minutes */
#define WHOLE_WITHIN 10 /* events: a change looks for one under the lock */

int
task_event_n(struct tasks *t, struct arena *a, uint64_t n,
             struct task_event *out)
{
    const struct task_entry *e = NULL;
    struct task_event ev;
    struct store_rec r;
    int rc = store_read_n(t->store, n, a, &r);

    if (rc == 0 && str_starts(r.key, TASK_PREFIX))
        e = tasks_find(t, str_from(r.key, sizeof TASK_PREFIX - 1));
    if (rc == 0)
        rc = e && e->e.n == n && e->checked ? task_event_scan(&r, &ev)
                                            : task_event_of(&r, &ev);
    if (rc == 0 && task_event_archives(&ev))
        rc = ERR_NOT_FOUND;
    if (rc == 0 || rc == ERR_GARBLED)
        *out = ev;
    return rc;
}

int
task_event_prev(struct tasks *t, struct arena *a, struct task_event *ev)
{
    struct task_event before;
    int rc = ev->r.p == 0 ? ERR_NOT_FOUND
                          : task_event_n(t, a, ev->r.p, &before);

    if (rc != 0 && rc != ERR_GARBLED)
        return rc;
    if (!str_eq(before.id, ev->id)) /* no record of ours names another's */
        return ERR_NOT_FOUND;
    *ev = before;
    return 0;
}

int
task_event_whole(struct tasks *t, struct arena *a, struct task_event *ev)
{
    int rc = 0;

    for (int i = 0; i < WHOLE_WITHIN && rc == 0 && !ev->v.p; i++)
        rc = task_event_prev(t, a, ev);
    return rc == ERR_NOT_FOUND || rc == ERR_FORMAT || (rc == 0 && !ev->v.p)
               ? ERR_GARBLED : rc;
}

int
task_event_back(struct tasks *t, struct arena *a, uint64_t version,
                size_t max, struct task_event *ev)
{
    size_t read = 0;
    int rc = 0;

    while (rc == 0 && (!ev->v.p || task_event_version(ev) > version)) {
        read += ev->v.len;
        rc = max && read > max ? ERR_TOO_LARGE : task_event_prev(t, a, ev);
    }
    return rc == 0 && task_event_version(ev) != version ? ERR_NOT_FOUND : rc;
}

int
task_event_last(struct tasks *t, struct arena *a, struct str id,
                struct task_event *out)
{
    struct task_entry *e = tasks_find(t, id);

    if (!store_loaded(t->store))
        return ERR_IO; /* an id that is not found may exist */
    if (!e && store_damage(t->store))
        return ERR_DAMAGED;
    return e && !e->archived ? task_entry_event(t, e, a, out) : ERR_NOT_FOUND;
}

/* Together they are no longer than v, so one block is enough: *p, NULL before
   the first. */
static int
add_extra(struct arena *a, struct task *k, const struct raw_members *m,
          char **p)
{
    /* A member's bytes are contiguous and begin with the quote of its name. */
    struct str member = {m->name.p - 1,
                         (size_t)(m->value.p + m->value.len - m->name.p) + 1};

    if (!*p && !(*p = arena_alloc(a, k->ev.v.len)))
        return ERR_NOMEM;
    if (k->extra.len)
        (*p)[k->extra.len++] = ',';
    memcpy(*p + k->extra.len, member.p, member.len);
    k->extra = (struct str){*p, k->extra.len + member.len};
    return 0;
}

int
task_find_blockers(struct tasks *t, struct arena *a, struct task *k)
{
    struct str dep = STR_NONE;

    while ((dep = raw_list_next(k->f[F_DEPENDS_ON], dep)).p) {
        int fate = tasks_fate(t, dep);
        bool ended = fate != PARTS_UNFINISHED; /* and is not done */

        if (fate == PARTS_DONE ||
            tasks_is_above(t, raw_inner(dep), k->f[F_PARENT_ID]))
            continue;
        k->blocked_by = raw_list_edit(a, k->blocked_by, STR_NONE, dep);
        if (ended)
            k->deps_failed = raw_list_edit(a, k->deps_failed, STR_NONE, dep);
        if (!k->blocked_by.p || (ended && !k->deps_failed.p))
            return ERR_NOMEM;
    }
    return 0;
}

uint64_t
task_reached(const struct task *k, enum task_status s)
{
    if (!k->ev.seqs.p)
        return k->status == s ? k->ev.r.n : 0;
    return raw_u64(raw_member(k->ev.seqs, task_status_name(s)));
}

uint64_t
task_told(const struct task *k)
{
    bool tells = k->f[F_MESSAGES].p || k->f[F_CANCEL_REQUESTED].p;

    if (!k->ev.seqs.p)
        return tells ? k->ev.r.n : 0;
    return raw_u64(raw_member(k->ev.seqs, "told"));
}

uint64_t
task_answered(const struct task *k, struct str question)
{
    struct raw_members m = raw_members_of(raw_member(k->ev.seqs, "answers"));
    struct str id = raw_inner(raw_member(question, "question_id"));

    if (!raw_member(question, "answer").p)
        return 0;
    if (!k->ev.seqs.p)
        return k->ev.r.n;
    while (raw_next(&m) == 1)
        if (str_eq(m.name, id))
            return raw_u64(m.value);
    return 0;
}

/* Sets for whom the task is kept, and until when, after a record of the time
   at. Returns whether a lease runs or a preference counts: an open task is
   its owner's at any time. */
static bool
set_kept(struct task *k, int64_t at, int64_t now)
{
    int64_t end = task_kept_until(k->status, k->f[F_LEASE], k->f[F_HANDOFF],
                                  at);
    bool open = k->status == TASK_OPEN, kept = end > now;

    k->until_ms = kept && !open ? end : 0;
    k->kept = k->f[F_CURRENT_OWNER].p && kept && !k->f[F_LEASE].p;
    return kept;
}

/* A failure is news for a while, and then history. */
static bool
failed_lately(const struct task *k, int64_t now)
{
    int64_t at;

    return k->status == TASK_FAILED && time_parse(k->ev.r.time, &at) &&
           now - at < TASK_RECENT_MS;
}

/* Sets what is derived from the time and the other tasks. Most tasks have
   nothing that depends on the time. */
static int
derive(struct tasks *t, struct arena *a, struct task *k)
{
    int64_t now = store_now_ms(t->store), sure = now - store_skew_ms(t->store);
    int64_t from = task_from_ms(k->f[F_NOT_BEFORE]), at, end;
    int status = task_status_of(raw_inner(k->f[F_STATUS]));
    const struct task_entry *above;
    bool ended, kept, left;

    if (status < 0)
        return ERR_FORMAT;
    k->status = (enum task_status)status;
    k->version = raw_u64(k->f[F_VERSION]);
    k->parts = tasks_parts(t, k->ev.id);
    k->recent = failed_lately(k, now);
    ended = task_status_ended(k->status);
    k->needs_input = !ended && task_open_question(k->f[F_QUESTIONS]).p;
    if (task_find_blockers(t, a, k) != 0)
        return ERR_NOMEM;
    k->blocked = k->blocked_by.p;
    k->free = true;
    if (ended)
        return 0;
    above = tasks_put_off(t, k->f[F_PARENT_ID], now);
    if (above) {
        k->above = arena_printf(a, "\"%.*s\"", STR_ARG(task_entry_id(above)));
        if (!k->above.p)
            return ERR_NOMEM;
    }
    if (k->f[F_CURRENT_OWNER].p || k->f[F_LEASE].p ||
        k->status == TASK_IN_PROGRESS) {
        if (!time_parse(k->ev.r.time, &at))
            at = sure;
        at = store_past_ms(at, sure);
        if (k->status == TASK_HANDOFF_READY && from > at)
            at = from;
        kept = set_kept(k, at, sure);
        if (task_lease_end(k->f[F_LEASE], &end)) {
            k->leased = kept;
            k->lease_expired = !kept;
            k->sight = tasks_see(t, k->f[F_LEASE]);
            left = raw_member(k->f[F_LEASE], "left").p != NULL;
            k->connected = k->sight == SIGHT_ALIVE && !left;
            k->gone = kept && (k->sight == SIGHT_GONE || left);
        }
        k->stale = k->status == TASK_IN_PROGRESS && sure - at > TASK_STALE_MS;
        k->free = k->status != TASK_IN_PROGRESS || !kept;
    }
    k->early = k->free && from > now;
    k->able = k->free && !k->blocked && !k->early && !k->above.p &&
              k->parts.unfinished == 0;
    if (k->free && task_find_clashes(t, a, k) != 0)
        return ERR_NOMEM;
    k->ready = k->able && !k->clashes.p;
    return 0;
}

/* The task after ev, all of it or only the fields before title. */
static int
fill_task(struct tasks *t, struct arena *a, const struct task_event *ev,
          struct task *out, bool whole)
{
    struct raw_members m = raw_members_of(ev->v);
    char *extra = NULL;
    int i, at = 0, rc = 0;

    memset(out, 0, sizeof *out);
    out->ev = *ev;
    if (!whole)
        rc = task_head_of(ev->v, out->f);
    while (whole && (rc = raw_next(&m)) == 1) {
        for (i = at; i < TASK_N_FIELDS; i++)
            if (str_eq(m.name, task_arg_name(i)))
                break;
        /* The order is fixed: a name that does not follow is unknown, or a
           newer version moved it. */
        if (i == TASK_N_FIELDS)
            i = task_field_of(m.name);
        if (i < 0 && add_extra(a, out, &m, &extra) != 0)
            return ERR_NOMEM;
        if (i < 0)
            continue;
        out->f[i] = m.value;
        at = i + 1;
    }
    if (rc == 0 && whole && (!out->f[F_TITLE].p || !out->f[F_TASK_ID].p))
        rc = ERR_FORMAT;
    for (i = 0; rc == 0 && i < TASK_N_FIELDS; i++)
        if (out->f[i].p && !task_value_fits(i, out->f[i]))
            rc = ERR_FORMAT;
    return rc == 0 ? derive(t, a, out) : rc;
}

int
task_of(struct tasks *t, struct arena *a, const struct task_event *ev,
        struct task *out)
{
    return fill_task(t, a, ev, out, true);
}

int
task_peek(struct tasks *t, struct arena *a, const struct task_event *ev,
          struct task *out)
{
    return fill_task(t, a, ev, out, false);
}

int
task_get(struct tasks *t, struct arena *a, struct str id, struct task *out)
{
    struct task_event ev;
    int rc = task_event_last(t, a, id, &ev);

    return rc == 0 ? task_of(t, a, &ev, out) : rc;
}

/* Takes a member that is no field: derived, of a summary, or carried along. */
static int
set_derived(struct arena *a, struct task *k, const struct raw_members *m,
            char **extra)
{
    static const struct {
        char name[16];
        uint16_t at;
        bool text; /* a raw string, without its quotes; else raw */
    } raws[] = {
        {"blocked_by", offsetof(struct task, blocked_by), false},
        {"deps_failed", offsetof(struct task, deps_failed), false},
        {"overlaps", offsetof(struct task, clashes), false},
        {"parent_waits", offsetof(struct task, above), false},
        {"note", offsetof(struct task, ev.note), false},
        {"match", offsetof(struct task, match), false},
        {"updated_at", offsetof(struct task, ev.r.time), true},
    };
    static const struct {
        char name[16];
        uint16_t at;
    } flags[] = {
        {"ready", offsetof(struct task, ready)},
        {"needs_input", offsetof(struct task, needs_input)},
        {"lease_expired", offsetof(struct task, lease_expired)},
        {"agent_gone", offsetof(struct task, gone)},
        {"agent_connected", offsetof(struct task, connected)},
        {"stale", offsetof(struct task, stale)},
    }, numbers[] = {
        {"seq", offsetof(struct task, ev.r.n)},
        {"steps_done", offsetof(struct task, steps_done)},
        {"steps_total", offsetof(struct task, steps_all)},
    };
    static const char *const others[] = {"tests", "truncated",
                                         "current_version"};
    char *at = (char *)k;
    size_t i;

    for (i = 0; i < sizeof raws / sizeof *raws; i++)
        if (str_is(m->name, raws[i].name)) {
            *(struct str *)(void *)(at + raws[i].at) =
                raws[i].text ? raw_inner(m->value) : m->value;
            return 0;
        }
    for (i = 0; i < sizeof flags / sizeof *flags; i++)
        if (str_is(m->name, flags[i].name)) {
            *(bool *)(void *)(at + flags[i].at) = str_is(m->value, "true");
            return 0;
        }
    for (i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (str_is(m->name, numbers[i].name)) {
            *(uint64_t *)(void *)(at + numbers[i].at) = raw_u64(m->value);
            return 0;
        }
    for (i = 0; i < sizeof others / sizeof *others; i++)
        if (str_is(m->name, others[i]))
            return 0;
    if (str_is(m->name, "parts")) {
        k->parts = (struct task_parts){
            .total = raw_u64(raw_member(m->value, "total")),
            .unfinished = raw_u64(raw_member(m->value, "unfinished")),
            .done = raw_u64(raw_member(m->value, "done")),
            .failed = raw_u64(raw_member(m->value, "failed")),
        };
        k->part_list = raw_member(m->value, "tasks");
        return 0;
    }
    if (str_is(m->name, "damaged")) {
        k->garbled = true;
        return 0;
    }
    if (str_is(m->name, "question")) { /* a summary has the first open one */
        k->f[F_QUESTIONS] = arena_printf(a, "[%.*s]", STR_ARG(m->value));
        return k->f[F_QUESTIONS].p != NULL ? 0 : ERR_NOMEM;
    }
    return add_extra(a, k, m, extra);
}

int
task_of_json(struct arena *a, struct str raw, struct task *out)
{
    struct raw_members m = raw_members_of(raw);
    char *extra = NULL;
    int i, rc, status;
    int64_t at;

    *out = (struct task){.ev.v = raw};
    while ((rc = raw_next(&m)) == 1) {
        i = task_field_of(m.name);
        if (i >= 0)
            out->f[i] = m.value;
        else if (set_derived(a, out, &m, &extra) != 0)
            return ERR_NOMEM;
    }
    status = task_status_of(raw_inner(out->f[F_STATUS]));
    if (rc != 0 || status < 0 || !out->f[F_TASK_ID].p || !out->f[F_TITLE].p)
        return ERR_FORMAT;
    for (i = 0; i < TASK_N_FIELDS; i++)
        if (out->f[i].p && !task_value_fits(i, out->f[i]))
            return ERR_FORMAT;
    if (!out->f[F_PRIORITY].p)
        out->f[F_PRIORITY] = STR(TASK_PRIORITY); /* a summary omits it */
    out->status = (enum task_status)status;
    out->version = raw_u64(out->f[F_VERSION]);
    out->ev.id = raw_inner(out->f[F_TASK_ID]);
    out->blocked = out->blocked_by.p != NULL;
    out->recent = failed_lately(out, clock_wall_ms());
    out->leased = out->f[F_LEASE].p != NULL && !out->lease_expired;
    out->early = !task_status_ended(out->status) &&
                 (out->status != TASK_IN_PROGRESS || out->lease_expired ||
                  out->stale) &&
                 task_from_ms(out->f[F_NOT_BEFORE]) > clock_wall_ms();
    out->sight = out->gone ? SIGHT_GONE : SIGHT_UNKNOWN;
    if (!time_parse(out->ev.r.time, &at))
        at = 0;
    set_kept(out, at, clock_wall_ms());
    return 0;
}

int
task_check_place(struct task_ctx *c, struct str asked, const struct task *k)
{
    if (project_offers(asked, k->f[F_REPO_PATH]))
        return 0;
    task_fail(c, ERR_INVALID, "repo_path", "the task is in another project, "
              "%.*s", STR_ARG(utf8_cut(k->f[F_REPO_PATH], 256)));
    return task_next(c, "call again without repo_path");
}

struct str
task_from_text(const struct task *k)
{
    struct str s = raw_inner(k->f[F_NOT_BEFORE]);

    s.len = s.len > MINUTES_LEN ? MINUTES_LEN : s.len;
    return s;
}

void
task_steps(const struct task *k, size_t *done, size_t *all)
{
    *done = (size_t)k->steps_done;
    *all = (size_t)k->steps_all;
    if (*all > 0)
        return;
    *done = raw_list_n(k->f[F_COMPLETED_STEPS]);
    *all = *done + raw_list_n(k->f[F_REMAINING_STEPS]);
}

bool
task_tests(const struct task *k, uint64_t *passed, uint64_t *failed)
{
    struct str item = STR_NONE;

    *passed = *failed = 0;
    while ((item = raw_list_next(k->f[F_TEST_RESULTS], item)).p) {
        struct str code = raw_member(item, "exit_code");
        uint64_t good = raw_u64(raw_member(item, "passed"));
        uint64_t bad = raw_u64(raw_member(item, "failed"));

        *passed += good ? good : str_is(code, "0");
        *failed += bad ? bad : code.p && !str_is(code, "0");
    }
    return *passed || *failed;
}

int
task_fail_read(struct task_ctx *c, struct tasks *t, struct str id, int rc)
{
    if (rc == ERR_GARBLED)
        return task_fail(c, rc, "task_id", "the newest record of the task %.*s "
                         "is not JSON", STR_ARG(id));
    if (rc != ERR_NOT_FOUND)
        return task_fail_store(c, rc);
    if (!tasks_is_archived(t, id))
        return task_fail(c, rc, "task_id", "no such task \"%.*s\"",
                         STR_ARG(id));
    task_fail(c, rc, "task_id", "the task %.*s was archived", STR_ARG(id));
    return task_next(c, "tell the operator to run \"mcptask import\" on the "
                     ".archive-DAY file that has it");
}
