/* task - reading a task from its record. Changes are made in task/change.c,
   lists in task/query.c.

   A task is split into slices of its record, never decoded and encoded again:
   what was stored is what is shown, unknown members included. */

#include "task/task.h"
#include "task/index.h"
#include "base/clock.h"

#include <string.h>

int
task_event_prev(struct tasks *t, struct arena *a, struct task_event *ev)
{
    struct store_rec r;
    int rc;

    if (ev->r.p == 0)
        return ERR_NOT_FOUND;
    rc = store_read_n(t->store, ev->r.p, a, &r);
    if (rc == 0)
        rc = task_event_of(&r, ev);
    return rc == 0 && task_event_archives(ev) ? ERR_NOT_FOUND : rc;
}

int
task_event_last(struct tasks *t, struct arena *a, struct str id,
                struct task_event *out)
{
    struct task_entry *e = tasks_find(t, id);

    if (!store_loaded(t->store))
        return ERR_IO; /* what is not found may be there */
    if (!e && tasks_damage(t, id).p)
        return ERR_DAMAGED;
    return e && !e->archived ? task_entry_event(t, e, a, out) : ERR_NOT_FOUND;
}

/* All of them together are no longer than v, so one block is enough: *p,
   NULL before the first. */
static int
add_extra(struct arena *a, struct task *k, const struct raw_members *m,
          char **p)
{
    /* A member's bytes are in one piece: from its name's quote on. */
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

static int
split(struct arena *a, struct task *k)
{
    struct raw_members m = raw_members_of(k->ev.v);
    char *extra = NULL;
    int i, at = 0, rc;

    while ((rc = raw_next(&m)) == 1) {
        for (i = at; i < TASK_N_FIELDS; i++)
            if (str_eq(m.name, task_arg_name(i)))
                break;
        /* The order is fixed: a name that is not ahead is unknown, or was
           moved by a newer version. */
        if (i == TASK_N_FIELDS)
            i = task_field_of(m.name);
        if (i < 0 && add_extra(a, k, &m, &extra) != 0)
            return ERR_NOMEM;
        if (i < 0)
            continue;
        k->f[i] = m.value;
        at = i + 1;
    }
    return rc;
}

/* Which of the tasks that it depends on are not done. */
static int
find_blockers(struct tasks *t, struct arena *a, struct task *k)
{
    struct str deps = k->f[F_DEPENDS_ON], dep;
    size_t at = 0, len = 0;
    char *p;

    if (deps.len <= 2)
        return 0;
    p = arena_alloc(a, deps.len);
    if (!p)
        return ERR_NOMEM;
    while ((dep = raw_list_next(deps, &at)).p) {
        if (tasks_is_done(t, dep))
            continue;
        p[len] = len ? ',' : '[';
        memcpy(p + len + 1, dep.p, dep.len);
        len += dep.len + 1;
    }
    if (len == 0)
        return 0;
    p[len] = ']';
    k->blocked_by = (struct str){p, len + 1};
    k->blocked = true;
    return 0;
}

static int
derive(struct tasks *t, struct arena *a, struct task *k)
{
    int status = task_status_of(raw_inner(k->f[F_STATUS])), rc;
    int64_t at, now = store_now_ms(t->store);
    bool ended;

    if (status < 0)
        return ERR_FORMAT;
    k->status = (enum task_status)status;
    k->version = raw_u64(k->f[F_VERSION]);
    ended = task_status_ended(k->status);
    rc = find_blockers(t, a, k);
    if (task_lease_end(k->f[F_LEASE], &at)) {
        k->leased = at > now;
        k->lease_expired = at <= now;
    }
    k->needs_input = !ended && task_has_open(k->f[F_QUESTIONS]);
    k->ready = !k->blocked && !ended &&
               (k->status != TASK_IN_PROGRESS || k->lease_expired);
    k->damaged = tasks_damage(t, k->ev.id);
    k->stale = k->status == TASK_IN_PROGRESS &&
               time_parse(k->ev.r.time, &at) && now - at > TASK_STALE_MS;
    return rc;
}

/* The task after ev, all of it or only the fields before title. */
static int
fill(struct tasks *t, struct arena *a, const struct task_event *ev,
     struct task *out, bool whole)
{
    int rc;

    memset(out, 0, sizeof *out);
    out->ev = *ev;
    rc = whole ? split(a, out) : task_head_of(ev->v, out->f);
    if (rc == 0 && whole && (!out->f[F_TITLE].p || !out->f[F_TASK_ID].p))
        rc = ERR_FORMAT;
    return rc == 0 ? derive(t, a, out) : rc;
}

int
task_of(struct tasks *t, struct arena *a, const struct task_event *ev,
        struct task *out)
{
    return fill(t, a, ev, out, true);
}

int
task_peek(struct tasks *t, struct arena *a, const struct task_event *ev,
          struct task *out)
{
    return fill(t, a, ev, out, false);
}

int
task_get(struct tasks *t, struct arena *a, struct str id, struct task *out)
{
    struct task_event ev;
    int rc = task_event_last(t, a, id, &ev);

    return rc == 0 ? task_of(t, a, &ev, out) : rc;
}

int
task_question_answer(struct tasks *t, struct arena *a, struct str task_id,
                     struct str question_id, struct str *answer)
{
    struct task_event ev;
    struct str item;
    int rc = task_event_last(t, a, task_id, &ev);

    if (rc != 0)
        return rc;
    item = task_question_find(raw_member(ev.v, "questions"), question_id);
    *answer = raw_member(item, "answer");
    return item.p ? 0 : ERR_NOT_FOUND;
}

int
task_fail_missing(struct task_error *e, struct arena *a, struct tasks *t,
                  struct str id)
{
    if (!tasks_is_archived(t, id))
        return task_fail(e, a, ERR_NOT_FOUND, "task_id",
                         "there is no such task");
    task_fail(e, a, ERR_NOT_FOUND, "task_id", "the task was archived");
    e->next = STR("tell the operator: mcptask import of the log's .archive-DAY "
                  "that holds it brings it back");
    return ERR_NOT_FOUND;
}

enum task_column
task_column(const struct task *k)
{
    return task_status_ended(k->status)        ? COLUMN_DONE
           : k->needs_input                    ? COLUMN_NEEDS_INPUT
           : k->status == TASK_HANDOFF_READY   ? COLUMN_HANDED_OVER
           : k->status == TASK_EXHAUSTED || k->lease_expired || k->stale ||
                   (k->status == TASK_OPEN && k->blocked)
                                               ? COLUMN_STUCK
           : k->status == TASK_IN_PROGRESS     ? COLUMN_IN_PROGRESS
                                               : COLUMN_READY;
}

/* ---- other names ---- */

struct str
task_alias_of(struct str owner, char *buf)
{
    static const char prefix[] = "owner/";
    size_t head = sizeof prefix - 1, n = owner.len - 2;

    if (owner.len < 2)
        return STR_NONE;
    if (n > TASK_ALIAS_MAX - head)
        n = TASK_ALIAS_MAX - head;
    memcpy(buf, prefix, head);
    memcpy(buf + head, owner.p + 1, n);
    return (struct str){buf, head + n};
}

struct str
task_names(struct str key, struct str body, char *buf)
{
    const struct store_rec r = {.key = key, .body = body};
    struct str f[TASK_N_HEAD], name;
    struct task_event ev;
    size_t n;

    if (task_event_of(&r, &ev) != 0)
        return STR_NONE;
    (void)task_head_of(ev.v, f); /* what it does not find is empty */
    name = task_alias_of(f[F_CURRENT_OWNER], buf);
    if (!task_raw_ended(f[F_STATUS]))
        return name;
    n = name.p != NULL ? name.len : 0;
    if (n > 0)
        buf[n++] = '\t';
    memcpy(buf + n, TASK_ENDED, sizeof TASK_ENDED - 1);
    return (struct str){buf, n + sizeof TASK_ENDED - 1};
}
