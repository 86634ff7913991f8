/* task_lease - leases, and the queues of tasks that wait for somebody.

   1. Whether a lease runs is worked out when it is asked for, from the time
      then; no record says that one has ended.
   2. A task stands in one queue, if it is live and not in the hands of an
      agent without a lease. Which one says its priority, and whether it
      depends on others, as only then a record has to be read to know whether
      it is ready.
   3. A queue is in rising order of n: apply puts a task at its end, since its
      n is the highest so far; undo links the old one back between its
      neighbours, which are right again by then.
   4. Looking for a task is bounded: by READ_MAX bytes of records, then those
      that depend on others are passed over, by twice as many, and by
      TASK_LOOK_MAX tasks.
   5. What is found has been read, as far as a change of it has to: a task that
      only a newer version can read is in nobody's way. */

#include "task_lease.h"
#include "task_raw.h"

#define READ_MAX (TASK_READ_MAX / 4) /* under the lock, while others wait */

/* ---- leases and questions ---- */

bool
task_lease_end(struct str lease, int64_t *ms)
{
    return time_parse(raw_inner(task_member(lease, "expires_at")), ms);
}

struct str
task_lease_make(struct arena *a, struct str agent, struct str seconds,
                int64_t now)
{
    char end[TIME_LEN + 1];

    if (!seconds.p)
        seconds = STR(TASK_LEASE_S);
    time_format(now + (int64_t)raw_u64(seconds) * 1000, end);
    return arena_printf(a, "{\"agent\":%.*s,\"expires_at\":\"%s\",\"seconds\":"
                        "%.*s}", STR_ARG(agent), end, STR_ARG(seconds));
}

bool
task_has_open(struct str questions)
{
    struct str item;
    size_t at = 0;

    do
        item = task_list_next(questions, &at);
    while (item.p && task_member(item, "answer").p);
    return item.p;
}

/* ---- queues ---- */

bool
task_entry_free(const struct tasks *t, const struct task_entry *e)
{
    return e->status != TASK_IN_PROGRESS
        ? e->status < TASK_DONE
        : e->has_lease &&
          e->changed_ms + e->lease_ms <= store_now_ms(t->store);
}

static struct task_queue *
queue_of(struct tasks *t, const struct task_entry *e)
{
    if (e->status >= TASK_DONE ||
        (e->status == TASK_IN_PROGRESS && !e->has_lease))
        return NULL;
    return &t->queue[e->priority][e->has_deps];
}

void
task_queue_link(struct tasks *t, struct task_entry *e, bool in)
{
    struct task_queue *q = queue_of(t, e);

    if (!q)
        return;
    *(e->sooner ? &e->sooner->later : &q->first) = in ? e : e->later;
    *(e->later ? &e->later->sooner : &q->last) = in ? e : e->sooner;
}

void
task_queue_end(struct tasks *t, struct task_entry *e)
{
    struct task_queue *q = queue_of(t, e);

    e->sooner = q ? q->last : NULL;
    e->later = NULL;
}

/* ---- the next task ---- */

/* Whether the task of e is ready, and can be read (invariant 5): 1, 0, or an
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
           (!w->tag.p || task_list_has(atoms_text(s, e->tags), w->tag));
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
            *at = NULL; /* invariant 4 */
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
