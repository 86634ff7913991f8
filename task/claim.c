/* claim - which task is the next to be taken up.

   1. Looking for a task is bounded: by READ_MAX bytes of records, then those
      that depend on others are passed over, by twice as many, and by
      TASK_LOOK_MAX tasks.
   2. What is found has been read, as far as a change of it has to: a task that
      only a newer version can read is in nobody's way. */

#include "task/claim.h"
#include "task/index.h"

#define READ_MAX (TASK_READ_MAX / 4) /* under the lock, while others wait */

/* Whether the task of e is ready, and can be read (invariant 2): 1, 0, or an
   error. */
static int
is_ready(struct tasks *t, const struct task_entry *e, struct arena *a)
{
    struct task_event ev;
    struct task k;
    int rc = task_entry_event(t, e, a, &ev);

    if (rc == 0)
        rc = task_of(t, a, &ev, &k);
    return rc == 0 ? k.ready : rc == ERR_FORMAT ? 0 : rc;
}

/* Who is named by a task that is handed over is the one who may take it. */
static bool
is_wanted(struct tasks *t, const struct task_want *w,
          const struct task_entry *e)
{
    const struct atoms *s = &t->atoms;

    return task_entry_free(t, e) &&
           (e->status != TASK_HANDOFF_READY || !e->owner ||
            str_eq(atoms_text(s, e->owner), w->by)) &&
           (!w->repo_path.p ||
            str_eq(atoms_text(s, e->repo_path), w->repo_path)) &&
           (!w->tag.p || raw_list_has(atoms_text(s, e->tags), w->tag));
}

struct search {
    struct tasks *t;
    struct task_want *w;
    struct arena a;
    size_t looked;
    uint64_t bytes;
};

/* The two queues of one priority: 1: *out is the task; 0: it is not in them;
   or an error. */
static int
find_in(struct search *s, const struct task_queue q[2],
        struct task_entry **out)
{
    struct task_entry *plain = q[0].first, *deps = q[1].first, **at, *e;
    int rc = 0;

    while (rc == 0 && (plain || deps)) {
        at = !plain || (deps && deps->e.n < plain->e.n) ? &deps : &plain;
        e = *at;
        if (s->looked == TASK_LOOK_MAX ||
            s->bytes > (at == &deps ? READ_MAX : 2 * READ_MAX)) {
            s->w->partial = true;
            *at = NULL; /* invariant 1 */
            continue;
        }
        *at = e->later;
        s->looked++;
        if (!is_wanted(s->t, s->w, e))
            continue;
        *out = e;
        s->bytes += e->e.len;
        arena_reset(&s->a);
        rc = is_ready(s->t, e, &s->a);
    }
    return rc;
}

int
task_find_ready(struct tasks *t, struct task_want *w, struct task_entry **out)
{
    struct search s = {.t = t, .w = w};
    int i, rc = 0;

    w->partial = false;
    for (i = 0; i < TASK_N_PRIORITIES && rc == 0; i++)
        rc = find_in(&s, t->queue[i], out);
    if (rc != 1)
        *out = NULL;
    arena_fini(&s.a);
    return rc < 0 ? rc : 0;
}
