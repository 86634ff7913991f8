/* clash - tasks whose paths overlap.

   Paths are advice between agents: no file is locked. They are compared as raw
   JSON strings, which are canonical, by component and without globs. They are
   in the entries of tasks, so that no record is read. */

#include "task/clash.h"
#include "task/may.h"
#include "task/project.h"

#include <string.h>

bool
task_is_path(struct str s)
{
    struct str part;

    if (s.len == 0)
        return false;
    while (s.p != NULL) {
        part = str_cut(&s, '/');
        if (part.len == 0 || str_is(part, ".") || str_is(part, ".."))
            return false;
    }
    return true;
}

/* Whether one of the paths (raw) is the other, or a directory above it. */
static bool
paths_meet(struct str one, struct str two)
{
    struct str a = raw_inner(one), b = raw_inner(two);
    size_t n = a.len < b.len ? a.len : b.len;

    return a.p && b.p && memcmp(a.p, b.p, n) == 0 &&
           (a.len == b.len || (a.len > n ? a : b).p[n] == '/');
}

/* Whether a path of one list (raw) overlaps one of the other. */
static bool
lists_meet(struct str one, struct str two)
{
    struct str a = STR_NONE, b;

    while ((a = raw_list_next(one, a)).p)
        for (b = STR_NONE; (b = raw_list_next(two, b)).p;)
            if (paths_meet(a, b))
                return true;
    return false;
}

/* Whether the task of e is held, is of the same project, and has paths that
   overlap these. */
static bool
meets(const struct tasks *t, const struct task_entry *e, struct str repo_path,
      struct str paths, int64_t now_ms)
{
    return e->atom[ENTRY_PATHS] &&
           project_same(repo_path, task_entry_text(t, e, ATOM_REPO_PATH)) &&
           lists_meet(paths, task_entry_text(t, e, ENTRY_PATHS)) &&
           !task_entry_free(t, e, now_ms);
}

/* Whether the task of e is that of id, or above or below it. */
static bool
is_related(struct tasks *t, const struct task_entry *e, struct str id,
           struct str parent)
{
    return str_eq(task_entry_id(e), id) ||
           tasks_is_above(t, task_entry_id(e), parent) ||
           tasks_is_above(t, id, task_entry_text(t, e, ATOM_PARENT_ID));
}

int
task_find_clashes(struct tasks *t, struct arena *a, struct task *k)
{
    const struct task_entry *e = t->held.first;
    struct buf b = {0};
    int64_t due, now;
    size_t n = 0;

    k->clashes = STR_NONE;
    k->clash_ms = 0;
    if (!k->f[F_PATHS].p)
        return 0;
    now = store_now_ms(t->store);
    for (; e && n < TASK_CLASHES; e = e->later) {
        if (!meets(t, e, k->f[F_REPO_PATH], k->f[F_PATHS], now) ||
            is_related(t, e, k->ev.id, k->f[F_PARENT_ID]) ||
            task_entry_sight(t, e) == SIGHT_GONE)
            continue;
        buf_printf(&b, "%s{\"task_id\":\"%.*s\",\"agent\":%.*s}",
                   n > 0 ? "," : "[", STR_ARG(task_entry_id(e)),
                   STR_ARG(task_entry_text(t, e, ATOM_OWNER)));
        due = task_entry_due(t, e, now);
        if (n++ == 0 || due < k->clash_ms)
            k->clash_ms = due;
    }
    if (n == 0)
        return 0;
    buf_char(&b, ']');
    k->clashes = buf_take(&b, a);
    return k->clashes.p ? 0 : ERR_NOMEM;
}

/* The first task of another agent that overlaps with the paths of e. */
static const struct task_entry *
find_other(struct tasks *t, const struct task_entry *e,
           const struct task_actor *who)
{
    struct str repo_path = task_entry_text(t, e, ATOM_REPO_PATH);
    struct str paths = task_entry_text(t, e, ENTRY_PATHS);
    const struct task_entry *o = t->held.first;
    int64_t now = store_now_ms(t->store);

    while (o && (!meets(t, o, repo_path, paths, now) ||
                 actor_is(who, task_entry_text(t, o, ATOM_OWNER)) ||
                 task_entry_sight(t, o) == SIGHT_GONE))
        o = o->later;
    return o;
}

int64_t
task_entry_clash(struct tasks *t, const struct task_entry *e,
                 const struct task_actor *who, struct clashes *found)
{
    uint32_t paths = e->atom[ENTRY_PATHS], repo = e->atom[ATOM_REPO_PATH];
    struct clash *c = &found->of[(paths ^ repo) % N_CLASHES];

    if (!paths)
        return 0;
    if (c->paths != paths || c->repo != repo)
        *c = (struct clash){paths, repo, find_other(t, e, who)};
    return !c->with || is_related(t, c->with, task_entry_id(e),
                                  task_entry_text(t, e, ATOM_PARENT_ID))
        ? 0 : task_entry_due(t, c->with, store_now_ms(t->store));
}
