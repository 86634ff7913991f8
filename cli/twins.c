/* twins - ids that come more than once in an import.

   1. Ids are known by a keyed hash of 64 bits, so that the ids of a long input
      fit into memory. */

#include "cli/twins.h"
#include "task/fields.h"

#include <stdlib.h>

#define TWINS_MAX 100 /* tasks that would have one id */

struct twin {
    uint64_t id;  /* 0: free */
    uint64_t was; /* the id before, and ... */
    uint64_t who; /* ... when the task was born */
    uint64_t state;
    int64_t changed_ms;
};

/* The place of the id, or the free one where it goes. */
static struct twin *
find_twin(struct twin *all, size_t cap, uint64_t id)
{
    size_t i = id & (cap - 1);

    while (all[i].id != 0 && all[i].id != id)
        i = (i + 1) & (cap - 1);
    return &all[i];
}

/* Makes room for one more. */
static int
grow_twins(struct twins *t)
{
    size_t cap = t->cap > 0 ? 2 * t->cap : 256;
    struct twin *all;

    if (t->cap > 2 * t->n)
        return 0;
    if (t->cap == 0)
        (void)random_bytes(t->seed, sizeof(t->seed));
    all = calloc(cap, sizeof(*all));
    if (all == NULL)
        return ERR_NOMEM;
    for (size_t i = 0; i < t->cap; i++)
        if (t->all[i].id != 0)
            *find_twin(all, cap, t->all[i].id) = t->all[i];
    free(t->all);
    t->all = all;
    t->cap = cap;
    return 0;
}

static int
rename_id(struct twins *t, struct str was, struct str id)
{
    struct str *all = arena_grow(&t->a, t->renamed,
                                 2 * t->n_renamed * sizeof(*all),
                                 2 * (t->n_renamed + 1) * sizeof(*all));

    if (all == NULL)
        return ERR_NOMEM;
    t->renamed = all;
    all[2 * t->n_renamed] = arena_str(&t->a, was);
    all[2 * t->n_renamed + 1] = arena_str(&t->a, id);
    if (all[2 * t->n_renamed].p == NULL || all[2 * t->n_renamed + 1].p == NULL)
        return ERR_NOMEM;
    t->n_renamed++;
    return 0;
}

int
twins_add(struct twins *t, struct arena *a, struct str *id,
          const struct twin_of *of)
{
    struct str first = {id->p, id->len < TASK_MAX_ID - 4 ? id->len
                                                         : TASK_MAX_ID - 4};
    bool other = false; /* a task whose id was another has the id */
    struct twin *twin, now = {.changed_ms = of->changed_ms};

    if (grow_twins(t) != 0)
        return ERR_NOMEM;
    now.was = str_sip(t->seed, of->was);
    now.who = now.was ^ str_sip(t->seed, of->born) * 3;
    now.state = str_sip(t->seed, of->state);
    for (unsigned n = 1; n <= TWINS_MAX; n++) {
        if (n > 1)
            *id = arena_printf(a, "%.*s-%u", STR_ARG(first), n);
        if (id->p == NULL)
            return ERR_NOMEM;
        now.id = str_sip(t->seed, *id) | 1;
        twin = find_twin(t->all, t->cap, now.id);
        if (twin->id == 0) {
            *twin = now;
            t->n++;
            if (other && rename_id(t, of->was, *id) != 0)
                return ERR_NOMEM;
            return n > 1 ? TWIN_OTHER : TWIN_NONE;
        }
        if (twin->who == now.who && twin->state == now.state)
            return TWIN_SAME;
        if (twin->who == now.who && now.changed_ms < twin->changed_ms)
            return TWIN_OLDER;
        if (twin->who == now.who) {
            *twin = now;
            return TWIN_NEWER;
        }
        other |= twin->was != now.was;
    }
    return ERR_TOO_LARGE;
}

void
twins_fini(struct twins *t)
{
    free(t->all);
    arena_fini(&t->a);
    *t = (struct twins){0};
}
