/* intern - interned texts with reference counts.

   1. A text keeps its number from the first hold until a sweep frees it.
   2. A text whose count drops to zero goes on the dead list once, and only
      atoms_sweep frees it. The index sweeps when a new batch begins; until then
      an undo may hold the text again.
   3. atoms_hold changes nothing when it fails. */

#include "task/intern.h"
#include "json.h"

#include <stdlib.h>
#include <string.h>

struct atom {
    char *p;
    uint32_t len, refs, hash;
    uint32_t chain;     /* next in the bucket, or next unused */
    uint32_t next_dead; /* next on the dead list */
    bool dead;          /* on the dead list */
    struct atom_use use;
};

static uint32_t
hash_of(const struct atoms *s, struct str text)
{
    uint64_t h = str_sip(s->seed, text);

    return (uint32_t)(h ^ h >> 32);
}

static bool
is(const struct atom *a, struct str text)
{
    return a->len == text.len && memcmp(a->p, text.p, text.len) == 0;
}

static uint32_t
find_atom(const struct atoms *s, struct str text, uint32_t hash)
{
    uint32_t id;

    if (s->n_buckets == 0)
        return 0;
    id = s->bucket[hash & (s->n_buckets - 1)];
    while (id && !(s->atom[id].hash == hash && is(&s->atom[id], text)))
        id = s->atom[id].chain;
    return id;
}

static void
link_atom(struct atoms *s, uint32_t id)
{
    uint32_t *head = &s->bucket[s->atom[id].hash & (s->n_buckets - 1)];

    s->atom[id].chain = *head;
    *head = id;
}

static void
unlink_from(struct atoms *s, uint32_t id)
{
    uint32_t *at = &s->bucket[s->atom[id].hash & (s->n_buckets - 1)];

    while (*at != id)
        at = &s->atom[*at].chain;
    *at = s->atom[id].chain;
}

/* Doubles atoms and buckets, so that chains stay short. */
static int
grow_atoms(struct atoms *s)
{
    uint32_t cap = s->cap ? s->cap * 2 : 64, i, *bucket;
    struct atom *atom;

    if (s->cap > UINT32_MAX / 2)
        return ERR_NOMEM;
    bucket = calloc(cap, sizeof *bucket);
    atom = realloc(s->atom, cap * sizeof *atom);
    if (atom)
        s->atom = atom;
    if (!bucket || !atom) {
        free(bucket);
        return ERR_NOMEM;
    }
    free(s->bucket);
    s->bucket = bucket;
    s->cap = s->n_buckets = cap;
    if (s->n == 0)
        s->n = 1; /* 0 is no text */
    for (i = 1; i < s->n; i++)
        if (s->atom[i].p)
            link_atom(s, i);
    return 0;
}

static int
make(struct atoms *s, struct str text, uint32_t hash, uint32_t *id)
{
    char *p;

    if (!json_is_valid(text)) /* a text is told from its entry alone */
        return ERR_FORMAT;
    if (!s->free && s->n == s->cap && grow_atoms(s) != 0)
        return ERR_NOMEM;
    p = malloc(text.len + 1);
    if (!p)
        return ERR_NOMEM;
    memcpy(p, text.p, text.len);
    p[text.len] = '\0';
    *id = s->free ? s->free : s->n++;
    if (s->free)
        s->free = s->atom[*id].chain;
    s->atom[*id] = (struct atom){.p = p, .len = (uint32_t)text.len,
                                 .hash = hash};
    link_atom(s, *id);
    return 0;
}

int
atoms_hold(struct atoms *s, struct str text, uint32_t like, uint32_t *id)
{
    uint32_t hash;
    int rc = 0;

    *id = 0;
    if (!text.p)
        return 0;
    if (like && is(&s->atom[like], text)) {
        *id = like;
    } else {
        hash = hash_of(s, text);
        *id = find_atom(s, text, hash);
        if (!*id)
            rc = make(s, text, hash, id);
    }
    if (rc == 0)
        s->atom[*id].refs++;
    return rc;
}

void
atoms_hold_again(struct atoms *s, uint32_t id)
{
    if (id)
        s->atom[id].refs++;
}

void
atoms_drop(struct atoms *s, uint32_t id)
{
    struct atom *a = id ? &s->atom[id] : NULL;

    if (!a || --a->refs || a->dead)
        return;
    a->dead = true;
    a->next_dead = s->dead;
    s->dead = id;
}

void
atoms_sweep(struct atoms *s)
{
    while (s->dead) {
        uint32_t id = s->dead;
        struct atom *a = &s->atom[id];

        s->dead = a->next_dead;
        a->dead = false;
        if (a->refs)
            continue;
        unlink_from(s, id);
        free(a->p);
        a->p = NULL;
        a->chain = s->free;
        s->free = id;
    }
}

uint32_t
atoms_find(const struct atoms *s, struct str text)
{
    uint32_t id = find_atom(s, text, hash_of(s, text));

    return id && s->atom[id].refs ? id : 0;
}

struct str
atoms_text(const struct atoms *s, uint32_t id)
{
    if (!id)
        return STR_NONE;
    return (struct str){s->atom[id].p, s->atom[id].len};
}

struct atom_use *
atoms_use(const struct atoms *s, uint32_t id)
{
    return &s->atom[id].use;
}

void
atoms_fini(struct atoms *s)
{
    for (uint32_t i = 1; i < s->n; i++)
        free(s->atom[i].p);
    free(s->atom);
    free(s->bucket);
    *s = (struct atoms){.seed = {s->seed[0], s->seed[1]}};
}
