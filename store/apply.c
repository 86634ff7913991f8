/* apply - a record into the index and to the kinds.

   Live and replayed records both pass through store_apply. Only this file
   changes the index. */

#include "store/apply.h"
#include "store/state.h"

#include <stddef.h>
#include <string.h>

static uint8_t
kind_of(const struct store *s, struct str key)
{
    uint8_t i = 0;
    while (!str_starts(key, s->kinds[i].prefix))
        i++;
    return i;
}

int
store_apply(struct store *s, const struct store_rec *r, int64_t off,
            struct store_entry **out)
{
    struct store_entry *e = index_find(&s->index, r->key);
    bool fresh = e == NULL;
    if (fresh) {
        uint8_t kind = kind_of(s, r->key);
        e = index_add(&s->index, r->key, s->kinds[kind].entry_size);
        if (e == NULL)
            return ERR_NOMEM;
        e->kind = kind;
    }
    struct store_entry was = *e;
    e->n = r->n;
    e->off = off;
    e->g = (uint32_t)r->g;
    e->len = (uint32_t)r->line.len;
    e->held = false;
    const struct store_kind *k = &s->kinds[e->kind];
    int rc = k->apply != NULL ? k->apply(k->ctx, e, r) : 0;
    if (rc != 0) {
        *e = was;
        if (fresh)
            index_pop(&s->index, e);
        return rc;
    }
    for (size_t i = 0; i < s->n_kinds; i++)
        if (i != e->kind && s->kinds[i].other != NULL)
            s->kinds[i].other(s->kinds[i].ctx, r);
    s->live += (int64_t)e->len + 1;
    if (!fresh)
        s->live -= (int64_t)was.len + 1;
    if (was.held)
        s->held += (int64_t)was.len + 1;
    if (k->transient)
        s->superseded += e->len + 1;
    else if (!fresh)
        s->superseded += was.len + 1;
    store_note_time(s, r->time);
    *out = e;
    return 0;
}

void
store_tell(struct store *s, const struct store_entry *e,
           const struct store_rec *r)
{
    if (r->n <= s->observed)
        return;
    s->observed = r->n;
    if (s->observe != NULL)
        s->observe(s->observe_ctx, e, r);
}

struct staged *
store_note_old(struct store *s, struct str key, const struct store_entry *e)
{
    size_t size = s->kinds[kind_of(s, key)].entry_size;
    size_t all = offsetof(struct staged, old) + size;
    struct staged *g = arena_alloc(&s->mem, all);
    if (g == NULL)
        return NULL;
    memset(g, 0, all);
    g->before = s->last;
    g->superseded = s->superseded;
    g->live = s->live;
    g->held = s->held;
    g->at = s->batch.len;
    if (e != NULL)
        memcpy(&g->old, e, size);
    return g;
}

void
store_unapply(struct store *s, struct staged *g)
{
    struct store_entry *e = g->e;
    const struct store_kind *k = &s->kinds[e->kind];
    if (k->undo != NULL)
        k->undo(k->ctx, e, &g->old);
    s->superseded = g->superseded;
    s->live = g->live;
    s->held = g->held;
    if (g->old.n == 0)
        index_pop(&s->index, e);
    else /* keep the chain: a split or a new key may have changed it */
        memcpy((char *)e + sizeof e->chain,
               (const char *)&g->old + sizeof e->chain,
               k->entry_size - sizeof e->chain);
}
