/* t_index - the key index: growth, undo, and running out of memory. */

#include "store/index.h"
#include "tests/lib/faults.h"
#include "tests/lib/test.h"

struct num {
    struct store_entry e;
    uint64_t v;
};

static struct str
key_of(uint64_t i, char out[32])
{
    /* of every length that matters to the hash's blocks of 8 */
    int n = snprintf(out, 32, "k/%llu%.*s", (unsigned long long)i,
                     (int)(i % 11), "..........");
    return (struct str){out, (size_t)n};
}

static struct num *
add(struct index *x, uint64_t i)
{
    char key[32];
    struct num *e = (struct num *)index_add(x, key_of(i, key), sizeof *e);
    if (e != NULL)
        e->v = i;
    return e;
}

static bool
has(const struct index *x, uint64_t i)
{
    char key[32];
    struct str k = key_of(i, key);
    const struct num *e = (struct num *)index_find(x, k);
    return e != NULL && e->v == i && e->e.key_len == k.len &&
           memcmp(e->e.key, k.p, k.len) == 0;
}

TEST(longest_and_empty_keys)
{
    char key[STORE_MAX_KEY];
    struct index x;
    memset(key, 'k', sizeof key);
    CHECK(index_init(&x) == 0);
    for (size_t n = 0; n <= sizeof key; n++)
        CHECK(index_add(&x, (struct str){key, n},
                        sizeof(struct store_entry)) != NULL);
    for (size_t n = 0; n <= sizeof key; n++) {
        struct store_entry *e = index_find(&x, (struct str){key, n});
        CHECK(e != NULL && e->key_len == n);
    }
    index_fini(&x);
}

/* Returns whether each entry is found once and in its place, and none is
   lost. */
static bool
is_sound(const struct index *x)
{
    uint64_t n = 0;
    bool ok = x->n_buckets <= 2 * x->low && x->low <= x->n_buckets;
    for (size_t i = 0; i < x->n_buckets; i++)
        for (struct store_entry *e = x->segments[i / 512][i % 512]; e;
             e = e->chain, n++) {
            size_t at = e->hash & (2 * x->low - 1);
            ok &= i == (at < x->n_buckets ? at : e->hash & (x->low - 1));
            ok &= index_find(x, (struct str){e->key, e->key_len}) == e;
        }
    return ok && n == x->n;
}

TEST(many_keys)
{
    enum { N = TEST_STEP > 1 ? 10000 : 100000 };
    struct index x;
    int wrong = 0;
    CHECK(index_init(&x) == 0);
    CHECK(!has(&x, 0));
    for (uint64_t i = 0; i < N; i++) {
        wrong += add(&x, i) == NULL;
        if (i == 510 || i == 511 || i == 512 || i == 1023 || i == 1024 ||
            i == 5000)
            CHECK(is_sound(&x)); /* around a split, and around a round of
                                    splits */
    }
    CHECK(x.n == N && is_sound(&x));
    for (uint64_t i = 0; i < N; i++)
        wrong += !has(&x, i);
    for (uint64_t i = N; i < 2 * N; i++)
        wrong += has(&x, i);
    CHECK(wrong == 0);
    CHECK(x.bytes < (size_t)N * 110); /* entry, key, bucket */
    index_fini(&x);
    CHECK(x.bytes == 0 && x.n == 0 && !has(&x, 1));
    CHECK(add(&x, 1) != NULL && has(&x, 1)); /* usable again */
    index_fini(&x);
}

TEST(entries_do_not_move)
{
    struct index x;
    struct num *e[3000];
    int moved = 0;
    CHECK(index_init(&x) == 0);
    for (uint64_t i = 0; i < 3000; i++)
        e[i] = add(&x, i);
    for (uint64_t i = 0; i < 3000; i++) {
        char key[32];
        moved += (struct num *)index_find(&x, key_of(i, key)) != e[i] ||
                 e[i]->v != i;
    }
    CHECK(moved == 0);
    index_fini(&x);
}

/* Removes runs of additions, newest first, across blocks and splits. */
TEST(pop_newest_first)
{
    static struct num *e[4000];
    struct index x;
    CHECK(index_init(&x) == 0);
    for (uint64_t i = 0; i < 300; i++)
        add(&x, i);
    for (uint64_t run = 1; run <= 4000; run = run * 3 + 1) {
        for (uint64_t i = 0; i < run; i++)
            e[i] = add(&x, 1000 + i);
        CHECK(x.n == 300 + run && is_sound(&x));
        for (uint64_t i = run; i-- > 0;)
            index_pop(&x, &e[i]->e);
        CHECK(x.n == 300 && is_sound(&x) && !has(&x, 1000));
    }
    int wrong = 0;
    for (uint64_t i = 0; i < 300; i++)
        wrong += !has(&x, i);
    CHECK(wrong == 0);
    size_t bytes = x.bytes;
    for (int i = 0; i < 100000; i++) /* memory of removed entries is reused */
        index_pop(&x, &add(&x, 7777)->e);
    CHECK(x.bytes - bytes < 64 * 1024);
    index_fini(&x);
}

/* Each allocation fails in turn, once and permanently. */
TEST(no_memory)
{
    for (int once = 0; once < 2; once++)
        for (long after = 0;; after++) {
            struct index x;
            uint64_t n = 0;
            int wrong = 0;
            CHECK(index_init(&x) == 0);
            nomem_start(after, once);
            for (uint64_t i = 0; i < 6000; i++)
                if (add(&x, i) != NULL)
                    n++;
                else
                    wrong += has(&x, i);
            bool hit = nomem_stop();
            CHECK(x.n == n && is_sound(&x) && wrong == 0);
            CHECK(!once || n >= 5999 || !hit);
            for (uint64_t i = 0; i < 6000; i++)
                if (!has(&x, i))
                    wrong += add(&x, i) == NULL;
            CHECK(x.n == 6000 && is_sound(&x) && wrong == 0);
            index_fini(&x);
            if (!hit)
                break;
        }
}
