/* lost - what a damaged log has lost.

   It counts the numbers that no record has. In a compacted file's first part
   numbers do not rise by one; there it uses the end record's count.

   A key read from a bad line may itself be corrupt. It is believed if the line
   has the missing number and its p is that key's newest record. Otherwise
   readers of that key are warned, and so is everybody else. */

#include "store/lost.h"

#include <string.h>

void
lost_reset(struct lost *l)
{
    index_fini(&l->keys);
    *l = (struct lost){.keys = l->keys};
}

const struct lost_key *
lost_find(const struct lost *l, struct str key)
{
    return (const struct lost_key *)index_find(&l->keys, key);
}

static struct lost_key *
add(struct lost *l, struct str key)
{
    struct lost_key *k = (struct lost_key *)index_find(&l->keys, key);

    if (k != NULL)
        return k;
    k = (struct lost_key *)index_add(&l->keys, key, sizeof(*k));
    if (k != NULL) {
        k->next = l->first;
        l->first = k;
    }
    return k;
}

int
lost_line(struct lost *l, const struct index *keys, struct str line,
          uint64_t head, bool dense)
{
    const struct store_entry *e;
    struct lost_key *k;
    struct store_rec r;
    bool end = false;

    if (l->next <= head)
        l->next = head + 1;
    if (record_parse(line, &r) == 0)
        return 0; /* whole, but misplaced */
    while (record_peek(&line, &r)) {
        end = str_is(r.key, RECORD_KEY_END);
        if (!record_key_ok(r.key))
            continue;
        e = index_find(keys, r.key);
        k = add(l, r.key);
        if (k == NULL)
            return ERR_NOMEM;
        k->named = e != NULL && r.n == l->next &&
                   r.p == (k->e.n > e->n ? k->e.n : e->n);
        k->passed = false;
        l->named += k->named;
        k->e.n = r.n > l->next ? r.n : l->next;
        l->next = k->e.n + 1;
    }
    l->pending += !dense && !end;
    return 0;
}

int
lost_record(struct lost *l, const struct index *keys,
            const struct store_rec *r, uint64_t head, bool dense)
{
    const struct store_entry *e = index_find(keys, r->key);
    struct lost_key *k = (struct lost_key *)index_find(&l->keys, r->key);

    l->next = r->n + 1;
    if (dense)
        l->n += r->n - head - 1;
    if (dense && r->p > l->floor && r->p > (e != NULL ? e->n : 0) &&
        (k == NULL || !k->named || k->e.n != r->p)) {
        k = add(l, r->key);
        if (k == NULL)
            return ERR_NOMEM;
        k->e.n = r->p;
        k->named = true;
        l->named++;
    }
    if (k != NULL)
        k->passed = true;
    return 0;
}

void
lost_end(struct lost *l, const struct store_rec *end, uint64_t counted)
{
    uint64_t count = record_end_count(end);

    /* With a damaged header, gaps before the end record were counted as
       losses. */
    l->n = count > counted ? count - counted : 0;
    l->pending = l->named = 0;
    l->next = end->n + 1;
    l->floor = end->n;
}

uint64_t
lost_count(const struct lost *l, uint64_t head)
{
    return l->n + l->pending + (l->last > head ? l->last - head : 0);
}

uint64_t
lost_unnamed(const struct lost *l, uint64_t head)
{
    uint64_t n = lost_count(l, head);

    return n > l->named ? n - l->named : 0;
}
