/* metrics - figures of the tasks, for monitoring.

   The index counts tasks by status. The rest takes a look at each live task. A
   record is read only where its entry does not tell: of a task with an open
   question, and of one that no agent works on and that has dependencies or
   paths. */

#include "task/metrics.h"
#include "base/clock.h"
#include "base/text.h"
#include "json/raw.h"
#include "task/cause.h"
#include "task/index.h"
#include "task/query.h"

#include <string.h>

struct figures {
    struct tasks *t;
    int64_t now_ms;
    struct arena a;
    size_t read; /* bytes of records */
    uint64_t looked, unread;
    uint64_t stuck, asking, leases;
    int64_t asked_ms; /* when the oldest open question was asked */
};

static bool
needs_record(const struct figures *f, const struct task_entry *e)
{
    return e->has_open ||
           ((e->has_deps || e->atom[ENTRY_PATHS]) &&
            (e->status == TASK_OPEN || e->status == TASK_IN_PROGRESS) &&
            task_entry_free(f->t, e, f->now_ms));
}

/* The task of e as far as its entry tells. */
static struct task
task_of_entry(const struct figures *f, const struct task_entry *e)
{
    bool left = e->status == TASK_IN_PROGRESS &&
                task_entry_free(f->t, e, f->now_ms);

    return (struct task){.status = (enum task_status)e->status,
                         .early = task_entry_is_early(e, f->now_ms),
                         .needs_input = e->has_open,
                         .lease_expired = left && e->has_lease,
                         .stale = left && !e->has_lease};
}

static struct task
read_live_task(struct figures *f, struct task_entry *e)
{
    struct task_event ev;
    struct task k;

    f->read += e->e.len;
    if (task_entry_event(f->t, e, &f->a, &ev) != 0 ||
        task_peek(f->t, &f->a, &ev, &k) != 0) {
        k = task_of_entry(f, e);
        k.garbled = true;
    }
    return k;
}

static void
note_question(struct figures *f, const struct task *k)
{
    struct str asked = task_open_question(k->f[F_QUESTIONS]);
    int64_t at;

    if (time_parse(raw_inner(raw_member(asked, "at")), &at) &&
        at < f->asked_ms)
        f->asked_ms = at;
}

static void
measure_task(struct figures *f, struct task_entry *e)
{
    struct task k = {.garbled = false};

    f->looked++;
    f->leases += e->has_lease && !task_entry_free(f->t, e, f->now_ms);
    f->asking += e->has_open;
    if (!needs_record(f, e)) {
        k = task_of_entry(f, e);
    } else if (f->read < TASK_READ_MAX) {
        k = read_live_task(f, e);
        note_question(f, &k);
        arena_reset(&f->a);
    } else {
        f->unread++;
        return;
    }
    f->stuck += task_column(&k) == COLUMN_STUCK;
}

static void
put_tasks(struct buf *b, const struct tasks *t)
{
    buf_metric(b, "tasks", "Tasks by status.");
    for (int s = 0; s < TASK_N_STATUSES; s++)
        buf_printf(b, "mcptask_tasks{status=\"%s\"} %llu\n",
                   task_status_name((enum task_status)s),
                   (unsigned long long)tasks_count(t, (enum task_status)s));
}

void
tasks_put_metrics(struct tasks *t, struct buf *b)
{
    int64_t now = store_now_ms(t->store);
    struct figures f = {.t = t, .now_ms = now, .asked_ms = now};
    uint64_t live = 0;

    for (int s = 0; s < TASK_N_STATUSES; s++)
        live += task_status_ended((enum task_status)s) ? 0 : t->count[s];
    for (struct task_entry *e = t->newest[LIST_LIVE];
         e && f.looked < TASK_LOOK_MAX; e = e->older)
        measure_task(&f, e);
    arena_fini(&f.a);

    const struct {
        const char *name, *help;
        uint64_t value;
    } gauges[] = {
        {"tasks_stuck", "Live tasks that a person has to look after.",
         f.stuck},
        {"tasks_asking", "Live tasks with an open question.", f.asking},
        {"question_oldest_seconds",
         "Age of the oldest open question, 0 if none is open.",
         (uint64_t)(now - f.asked_ms) / 1000},
        {"leases", "Leases that have not ended.", f.leases},
        {"tasks_unexamined", "Live tasks that the figures above leave out.",
         live - f.looked + f.unread},
    };

    put_tasks(b, t);
    for (size_t i = 0; i < sizeof gauges / sizeof *gauges; i++) {
        buf_metric(b, gauges[i].name, gauges[i].help);
        buf_printf(b, "mcptask_%s %llu\n", gauges[i].name,
                   (unsigned long long)gauges[i].value);
    }
}
