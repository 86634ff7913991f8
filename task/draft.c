/* draft - the new state of a task, being made. If memory runs out, the draft
   remembers it, and the change fails at its end. */

#include "task/draft.h"
#include "task/index.h"

struct str
draft_keep(struct draft *d, struct str s)
{
    d->nomem |= !s.p;
    return s;
}

struct str
draft_quoted(struct draft *d, const char *text)
{
    return draft_keep(d, arena_printf(d->c->a, "\"%s\"", text));
}

struct str
draft_number(struct draft *d, uint64_t v)
{
    return draft_keep(d, arena_printf(d->c->a, "%llu", (unsigned long long)v));
}

void
draft_warn(struct draft *d, const char *text)
{
    d->warnings = draft_keep(d, raw_list_edit(d->c->a, d->warnings, STR_NONE,
                                              draft_quoted(d, text)));
}

struct str
draft_value(const struct draft *d, int field)
{
    struct str v = d->args->v[field];

    return str_is(v, "null") ? STR_NONE : v;
}

static void
find_blockers(struct draft *d)
{
    struct task *k = &d->k;

    k->blocked_by = k->deps_failed = STR_NONE;
    d->nomem |= task_find_blockers(d->t, d->c->a, k) != 0;
    k->blocked = k->blocked_by.p != NULL;
}

void
draft_take_fields(struct draft *d)
{
    for (int i = 0; i < TASK_N_FIELDS; i++)
        if (draft_given(d, i))
            d->k.f[i] = draft_value(d, i);
    if (draft_given(d, F_DEPENDS_ON))
        find_blockers(d);
    if (draft_given(d, F_NOT_BEFORE))
        d->k.early = task_from_ms(d->k.f[F_NOT_BEFORE]) >
                     store_now_ms(tasks_store(d->t));
    if (draft_given(d, F_PATHS) || draft_given(d, F_REPO_PATH) ||
        draft_given(d, F_PARENT_ID))
        d->nomem |= task_find_clashes(d->t, d->c->a, &d->k) != 0;
    if (draft_given(d, F_TEST_RESULTS) && d->tool != TOOL_IMPORT)
        d->k.f[F_TESTED_COMMIT] = d->k.f[F_COMMIT];
}

bool
draft_has_fields(const struct draft *d)
{
    for (int i = F_TASK_ID + 1; i < TASK_N_FIELDS; i++)
        if (i != F_CANCEL_REQUESTED && draft_given(d, i) &&
            !(i == F_NOT_BEFORE && d->tool != TOOL_UPDATE))
            return true;
    return false;
}

struct str
draft_object(struct draft *d, const char *const names[],
             const struct str raw[], size_t n)
{
    struct buf b = {0};

    for (size_t i = 0; i < n; i++)
        if (raw[i].p)
            buf_printf(&b, "%s\"%s\":%.*s", b.len ? "," : "{", names[i],
                       STR_ARG(raw[i]));
    buf_char(&b, '}');
    return draft_keep(d, buf_take(&b, d->c->a));
}

void
draft_edit(struct draft *d, int field, struct str old, struct str item)
{
    struct str *list = &d->k.f[field];

    *list = draft_keep(d, raw_list_edit(d->c->a, *list, old, item));
}

struct str
draft_new_id(struct draft *d, int field, const char *name, char letter,
             uint64_t n)
{
    struct str id;

    do
        id = draft_keep(d, arena_printf(d->c->a, "\"%c%llu\"", letter,
                                        (unsigned long long)n++));
    while (raw_list_find(d->k.f[field], name, id).p);
    return id;
}
