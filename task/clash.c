/* clash - tasks whose paths overlap.

   Paths are advice between agents: no file is locked. They are compared as raw
   JSON strings, which are canonical, by component and without globs. The paths
   of a task under a lease are in its entry, so that no record is read. */

#include "task/clash.h"
#include "task/index.h"
#include "task/project.h"

#include <string.h>

#define LEVELS 64 /* of parents that are looked at */

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

/* Whether the task of id is above the one whose parent (raw) is given. */
static bool
is_above(struct tasks *t, struct str id, struct str parent)
{
    const struct task_entry *e;

    for (int n = 0; parent.p && n < LEVELS; n++) {
        if (str_eq(raw_inner(parent), id))
            return true;
        e = tasks_find(t, raw_inner(parent));
        parent = e ? task_entry_text(t, e, ATOM_PARENT_ID) : STR_NONE;
    }
    return false;
}

static bool
clashes_with(struct tasks *t, const struct task *k, const struct task_entry *e)
{
    struct str paths = task_entry_text(t, e, ENTRY_PATHS);

    return paths.p && !task_entry_free(t, e) &&
           !str_eq(task_entry_id(e), k->ev.id) &&
           project_same(k->f[F_REPO_PATH],
                        task_entry_text(t, e, ATOM_REPO_PATH)) &&
           lists_meet(k->f[F_PATHS], paths) &&
           !is_above(t, task_entry_id(e), k->f[F_PARENT_ID]) &&
           !is_above(t, k->ev.id, task_entry_text(t, e, ATOM_PARENT_ID));
}

int
task_find_clashes(struct tasks *t, struct arena *a, struct task *k)
{
    struct sights seen = {{0}, {0}};
    struct buf b = {0};
    int64_t due;
    size_t n = 0;

    k->clashes = STR_NONE;
    k->clash_ms = 0;
    if (!k->f[F_PATHS].p)
        return 0;
    for (int p = 0; p < TASK_N_PRIORITIES; p++)
        for (const struct task_entry *e = t->queue[p][QUEUE_HELD].first;
             e && n < TASK_CLASHES; e = e->later) {
            if (!clashes_with(t, k, e) ||
                task_entry_sight(t, e, &seen) == SIGHT_GONE)
                continue;
            buf_printf(&b, "%s{\"task_id\":\"%.*s\",\"agent\":%.*s}",
                       n > 0 ? "," : "[", STR_ARG(task_entry_id(e)),
                       STR_ARG(task_entry_text(t, e, ATOM_OWNER)));
            due = task_entry_due(t, e);
            if (n++ == 0 || due < k->clash_ms)
                k->clash_ms = due;
        }
    if (n == 0)
        return 0;
    buf_char(&b, ']');
    k->clashes = buf_take(&b, a);
    return k->clashes.p ? 0 : ERR_NOMEM;
}
