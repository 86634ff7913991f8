/* draft - a change of a task before it is a record: what it is made from,
   what it says so far, and why it was refused. */

#include "task/draft.h"
#include "json/raw.h"

int
draft_refuse(struct draft *d, int code, const char *field, const char *message)
{
    return DRAFT_FAIL(d, code, field, "%s", message);
}

int
draft_fail_store(struct draft *d, int code)
{
    return task_fail_store(&d->c->e, code);
}

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
    if (d->n_warn < DRAFT_MAX_WARNINGS)
        d->warn[d->n_warn++] = text;
}

void
draft_take_fields(struct draft *d)
{
    int i;

    for (i = 0; i < TASK_N_FIELDS; i++)
        if (draft_given(d, i) && i != F_STATUS)
            d->k.f[i] = str_is(d->args->v[i], "null") ? STR_NONE
                                                       : d->args->v[i];
}

bool
draft_has_fields(const struct draft *d)
{
    int i;

    for (i = F_TASK_ID + 1; i < TASK_N_FIELDS; i++)
        if (draft_given(d, i))
            return true;
    return false;
}

void
draft_object(struct draft *d, int field, const char *const names[],
             const struct str raw[], size_t n)
{
    struct buf b = {0};
    struct json_w w;
    size_t i;

    json_w_init(&w, &b);
    json_obj(&w);
    for (i = 0; i < n; i++)
        if (raw[i].p)
            json_put_raw(&w, names[i], raw[i]);
    json_close(&w);
    d->k.f[field] = draft_keep(d, arena_str(d->c->a, buf_view(&b)));
    d->nomem |= b.err != 0;
    buf_fini(&b);
}
