/* base - slices, memory, growing buffers, randomness.

   It knows no file, no protocol and no other part of mcptask. All memory comes
   from malloc and realloc, and any call may fail.

   Invariants:
   1. A failed allocation changes nothing: the arena, the block that should have
      grown, or the buffer keeps its content and stays usable.
   2. No sum or product of sizes wraps: each is checked before it is computed.
   3. In an arena, `last` is NULL or the newest block of the newest chunk;
      only such a block grows or shrinks in place.
   4. A buffer's err, once set, stays until buf_reset; len <= cap always. */

#include "base/base.h"
#include "base/os.h"
#include "base/text.h"
#include "base/word.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

const char mcptask_version[] =
#include "version.inc"
;

#define ARENA_MIN ((size_t)2 << 10)
#ifndef ARENA_ALLOCATIONS
#define ARENA_ALIGN _Alignof(max_align_t)
#define ARENA_MAX ((size_t)1 << 20)
#define ARENA_KEEP ((size_t)256 << 10) /* that an idle process may keep */
#define ASAN_POISON_MEMORY_REGION(p, n) ((void)0)
#else /* one block per chunk, so that a sanitizer sees its end */
#include <sanitizer/asan_interface.h>
#define ARENA_ALIGN ((size_t)1)
#define ARENA_MAX ((size_t)0)
#define ARENA_KEEP ((size_t)0)
#endif
#define BUF_MIN ((size_t)256)
#define RANDOM_BYTES_MAX 256

/* ---- slices ---- */

struct str
str_of(const char *z)
{
    return (struct str){z, strlen(z)};
}

bool
str_eq(struct str a, struct str b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.p, b.p, a.len) == 0);
}

int
str_compare(struct str a, struct str b)
{
    size_t n = a.len < b.len ? a.len : b.len;
    int order = n > 0 ? memcmp(a.p, b.p, n) : 0;

    if (order == 0 && a.len != b.len)
        order = a.len < b.len ? -1 : 1;
    return order;
}

bool
str_is(struct str a, const char *z)
{
    size_t i;

    /* Most comparisons fail at the first byte. */
    for (i = 0; i < a.len && z[i] != '\0' && a.p[i] == z[i]; i++)
        ;
    return i == a.len && z[i] == '\0';
}

bool
str_begins(struct str s, struct str prefix)
{
    return s.len >= prefix.len &&
           (prefix.len == 0 || memcmp(s.p, prefix.p, prefix.len) == 0);
}

bool
str_starts(struct str s, const char *prefix)
{
    return str_begins(s, str_of(prefix));
}

struct str
str_cut(struct str *s, char c)
{
    struct str head = *s;
    const char *at = s->len > 0 ? memchr(s->p, c, s->len) : NULL;

    *s = STR_NONE;
    if (at != NULL) {
        *s = (struct str){at + 1, (size_t)(head.p + head.len - at) - 1};
        head.len = (size_t)(at - head.p);
    }
    return head;
}

struct str
str_line(struct str *s)
{
    struct str line = str_cut(s, '\n');

    if (str_starts(line, "\xef\xbb\xbf"))
        line = str_from(line, 3);
    if (line.len > 0 && line.p[line.len - 1] == '\r')
        line.len--;
    return line;
}

size_t
str_slips(struct str word, const char *name)
{
    size_t row[32], n = strlen(name), most = word.len > 4 ? 2 : 1;

    if (n >= sizeof(row) / sizeof(row[0]) || word.len > n + most)
        return SIZE_MAX;
    /* row[j]: how far what was seen of word is from the first j of name. */
    for (size_t j = 0; j <= n; j++)
        row[j] = j;
    for (size_t i = 0; i < word.len; i++) {
        size_t corner = row[0]++;

        for (size_t j = 0; j < n; j++) {
            size_t least = corner + (word.p[i] != name[j]);

            corner = row[j + 1];
            if (corner + 1 < least)
                least = corner + 1;
            if (row[j] + 1 < least)
                least = row[j] + 1;
            row[j + 1] = least;
        }
    }
    return row[n] <= most ? row[n] : SIZE_MAX;
}

struct str
str_from(struct str s, size_t n)
{
    /* C does not define NULL + 0, and STR_NONE is NULL. */
    return n > 0 ? (struct str){s.p + n, s.len - n} : s;
}

const char *
str_end(struct str s)
{
    return s.len > 0 ? s.p + s.len : s.p;
}

struct str
str_trim(struct str s)
{
    for (; s.len > 0 && (uint8_t)*s.p <= ' '; s.len--)
        s.p++;
    while (s.len > 0 && (uint8_t)s.p[s.len - 1] <= ' ')
        s.len--;
    return s;
}

/* Rabin-Karp: a rolling hash of what.len bytes moves along s, so that
   repetitive text does not take longer. */
size_t
str_find(struct str s, struct str what)
{
    const uint64_t base = UINT64_C(0x100000001b3);
    uint64_t wanted = 0, hash = 0, first = 1;
    size_t i;

    if (what.len > s.len)
        return SIZE_MAX;
    for (i = 0; i < what.len; i++) {
        wanted = wanted * base + (uint8_t)what.p[i];
        hash = hash * base + (uint8_t)s.p[i];
        first *= base;
    }
    for (i = 0; hash != wanted || memcmp(s.p + i, what.p, what.len) != 0;
         i++) {
        if (i == s.len - what.len)
            return SIZE_MAX;
        hash = hash * base + (uint8_t)s.p[i + what.len] -
               first * (uint8_t)s.p[i];
    }
    return i;
}

uint64_t
str_hash(struct str s)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);

    for (size_t i = 0; i < s.len; i++)
        h = (h ^ (uint8_t)s.p[i]) * UINT64_C(0x100000001b3);
    return h;
}

bool
share_fits(size_t own, size_t all, size_t max)
{
    return all <= max && own / 3 <= max - all;
}

/* SipHash-1-3 (Aumasson, Bernstein). */
static uint64_t
rotl(uint64_t v, int n)
{
    return v << n | v >> (64 - n);
}

static void
sip_round(uint64_t v[4])
{
    v[0] += v[1], v[1] = rotl(v[1], 13) ^ v[0], v[0] = rotl(v[0], 32);
    v[2] += v[3], v[3] = rotl(v[3], 16) ^ v[2];
    v[0] += v[3], v[3] = rotl(v[3], 21) ^ v[0];
    v[2] += v[1], v[1] = rotl(v[1], 17) ^ v[2], v[2] = rotl(v[2], 32);
}

static void
sip_word(uint64_t v[4], uint64_t m)
{
    v[3] ^= m;
    sip_round(v);
    v[0] ^= m;
}

uint64_t
str_sip(const uint64_t seed[2], struct str s)
{
    uint64_t v[4] = {seed[0] ^ 0x736f6d6570736575u,
                     seed[1] ^ 0x646f72616e646f6du,
                     seed[0] ^ 0x6c7967656e657261u,
                     seed[1] ^ 0x7465646279746573u};
    const unsigned char *p = (const unsigned char *)s.p;
    uint64_t m = (uint64_t)s.len << 56;
    size_t i = 0;

    for (; s.len - i >= 8; i += 8)
        sip_word(v, load64(s.p + i));
    for (; i < s.len; i++)
        m |= (uint64_t)p[i] << (i % 8 * 8);
    sip_word(v, m);
    v[2] ^= 0xff;
    for (i = 0; i < 3; i++)
        sip_round(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

bool
str_is_hex(struct str s, size_t n)
{
    size_t i = 0;

    while (i < s.len && text_hex_digit(s.p[i]) >= 0)
        i++;
    return i == s.len && i == n;
}

bool
str_u64(struct str s, uint64_t *out)
{
    uint64_t v = 0;

    for (size_t i = 0; i < s.len; i++) {
        /* characters below '0' wrap to a large number */
        uint64_t d = (uint64_t)(uint8_t)s.p[i] - '0';

        if (d > 9 || v > UINT64_MAX / 10 || v * 10 > UINT64_MAX - d)
            return false;
        v = v * 10 + d;
    }
    if (s.len == 0)
        return false;
    *out = v;
    return true;
}

/* ---- arena ---- */

struct arena_chunk {
    struct arena_chunk *older;
    size_t cap;  /* bytes in mem */
    size_t used; /* a multiple of ARENA_ALIGN */
    max_align_t mem[]; /* so that the first block is aligned */
};

#define CHUNK_HEAD offsetof(struct arena_chunk, mem)

/* n rounded up to a multiple of the alignment; 0: no memory is that large. */
static size_t
round_up(size_t n)
{
    if (n > SIZE_MAX / 4)
        return 0;
    return (n + (n == 0) + ARENA_ALIGN - 1) / ARENA_ALIGN * ARENA_ALIGN;
}

/* Adds a chunk with room for need bytes. Sizes double, so that a large turn
   needs few calls; a block above the limit gets a chunk that fits it. The rest
   of the older chunk stays unused until the reset. */
static int
chunk_add(struct arena *a, size_t need)
{
    size_t size = ARENA_MIN;
    struct arena_chunk *c;

    if (a->chunk != NULL)
        size = (a->chunk->cap + CHUNK_HEAD) * 2;
    if (size > ARENA_MAX)
        size = ARENA_MAX;
    if (size < need + CHUNK_HEAD)
        size = need + CHUNK_HEAD;
    c = malloc(size);
    if (c == NULL)
        return ERR_NOMEM;
    c->older = a->chunk;
    c->cap = size - CHUNK_HEAD;
    c->used = 0;
    a->chunk = c;
    return 0;
}

void *
arena_alloc(struct arena *a, size_t n)
{
    size_t need = round_up(n);

    if (need == 0)
        return NULL;
    if (a->chunk == NULL || a->chunk->cap - a->chunk->used < need)
        if (chunk_add(a, need) < 0)
            return NULL;
    a->last = (char *)a->chunk->mem + a->chunk->used;
    a->chunk->used += need;
    return a->last;
}

void *
arena_grow(struct arena *a, void *old, size_t old_n, size_t n)
{
    size_t need = round_up(n);
    void *p;

    if (need == 0)
        return NULL;
    if (old != NULL && old == a->last && ARENA_MAX > 0) {
        size_t off = (size_t)((char *)old - (char *)a->chunk->mem);

        if (need <= a->chunk->cap - off) {
            a->chunk->used = off + need;
            return old;
        }
    }
    if (old != NULL && n <= old_n) {
        ASAN_POISON_MEMORY_REGION((char *)old + n, old_n - n);
        return old;
    }
    /* The old block stays readable until the reset, since others may hold
       slices of it. Callers double n, which bounds both the copying and the
       waste. */
    p = arena_alloc(a, n);
    if (p != NULL && old_n > 0)
        memcpy(p, old, old_n);
    return p;
}

struct str
arena_str(struct arena *a, struct str s)
{
    char *p = s.len < SIZE_MAX ? arena_alloc(a, s.len + 1) : NULL;

    if (p == NULL)
        return STR_NONE;
    if (s.len > 0)
        memcpy(p, s.p, s.len);
    p[s.len] = '\0';
    return (struct str){p, s.len};
}

struct str
arena_unescape(struct arena *a, struct str s)
{
    char *p = (char *)arena_str(a, s).p;
    int high, low;
    size_t n = 0;

    for (size_t i = 0; p != NULL && i < s.len; i++) {
        p[n++] = s.p[i];
        if (i + 2 < s.len && s.p[i] == '%' &&
            (high = text_hex_digit(text_lower(s.p[i + 1]))) >= 0 &&
            (low = text_hex_digit(text_lower(s.p[i + 2]))) >= 0) {
            p[n - 1] = (char)(high * 16 + low);
            i += 2;
        }
    }
    if (p != NULL)
        p[n] = '\0';
    return (struct str){p, n};
}

struct str
arena_printf(struct arena *a, const char *fmt, ...)
{
    struct arena_chunk *c = a->chunk;
    size_t room = c != NULL ? c->cap - c->used : 0, n;
    va_list ap;
    char *p;

    va_start(ap, fmt);
    /* Where the block will be, if it fits. */
    n = text_vput(room > 0 ? (char *)c->mem + c->used : NULL, room, fmt, ap);
    p = arena_alloc(a, n + 1);
    if (p != NULL && n >= room)
        text_vput(p, n + 1, fmt, ap);
    va_end(ap);
    return p != NULL ? (struct str){p, n} : STR_NONE;
}

void
arena_reset(struct arena *a)
{
    struct arena_chunk *c, *older, *keep = NULL;

    /* Keep the newest chunk that is small enough. It is the largest of those,
       as sizes only grow up to that point. */
    for (c = a->chunk; c != NULL; c = older) {
        older = c->older;
        if (keep == NULL && c->cap + CHUNK_HEAD <= ARENA_KEEP)
            keep = c;
        else
            free(c);
    }
    if (keep != NULL) {
        keep->older = NULL;
        keep->used = 0;
    }
    a->chunk = keep;
    a->last = NULL;
}

void
arena_fini(struct arena *a)
{
    arena_reset(a);
    free(a->chunk); /* the one that the reset kept */
    *a = (struct arena){NULL, NULL};
}

size_t
arena_size(const struct arena *a)
{
    const struct arena_chunk *c;
    size_t n = 0;

    for (c = a->chunk; c != NULL; c = c->older)
        n += CHUNK_HEAD + c->cap;
    return n;
}

/* ---- buf ---- */

void
buf_reserve(struct buf *b, size_t cap)
{
    char *p;

    if (b->err != 0 || cap <= b->cap)
        return;
    p = realloc(b->p, cap);
    if (p == NULL) {
        b->err = ERR_NOMEM;
        return;
    }
    b->p = p;
    b->cap = cap;
}

char *
buf_room(struct buf *b, size_t n)
{
    size_t cap = b->cap < BUF_MIN ? BUF_MIN : b->cap;

    if (b->err != 0)
        return NULL;
    if (b->p != NULL && n <= b->cap - b->len)
        return b->p + b->len;
    /* Doubling keeps many small writes linear; one large write gets exactly
       what it needs. */
    if (cap < b->len + n)
        cap = cap <= SIZE_MAX / 2 ? cap * 2 : SIZE_MAX;
    if (cap < b->len + n)
        cap = b->len + n;
    if (n <= SIZE_MAX - b->len)
        buf_reserve(b, cap);
    else
        b->err = ERR_NOMEM;
    return b->err == 0 ? b->p + b->len : NULL;
}

void
buf_put(struct buf *b, const void *p, size_t n)
{
    /* p may be NULL for no bytes. */
    char *to = n > 0 ? buf_room(b, n) : NULL;

    if (to != NULL) {
        memcpy(to, p, n);
        b->len += n;
    }
}

void
buf_str(struct buf *b, struct str s)
{
    buf_put(b, s.p, s.len);
}

void
buf_z(struct buf *b, const char *z)
{
    buf_put(b, z, strlen(z));
}

void
buf_char(struct buf *b, char c)
{
    char *to = buf_room(b, 1);

    if (to != NULL) {
        *to = c;
        b->len++;
    }
}

void
buf_u64(struct buf *b, uint64_t v)
{
    char digits[20]; /* as many as UINT64_MAX has */
    size_t i = sizeof(digits);

    do {
        digits[--i] = (char)('0' + v % 10);
        v /= 10;
    } while (v != 0);
    buf_put(b, digits + i, sizeof(digits) - i);
}

void
buf_printf(struct buf *b, const char *fmt, ...)
{
    va_list ap;
    char *to;
    size_t n;

    va_start(ap, fmt);
    /* The NUL comes after len and is not counted. Usually there is room. */
    to = buf_room(b, 1);
    n = to != NULL ? text_vput(to, b->cap - b->len, fmt, ap) : 0;
    if (n >= b->cap - b->len && (to = buf_room(b, n + 1)) != NULL)
        text_vput(to, n + 1, fmt, ap);
    if (to != NULL)
        b->len += n;
    va_end(ap);
}

void
buf_metric(struct buf *b, const char *name, const char *help)
{
    size_t n = strlen(name), end = sizeof "_total" - 1;
    bool counts = n > end && strcmp(name + n - end, "_total") == 0;

    buf_printf(b, "# HELP mcptask_%s %s\n# TYPE mcptask_%s %s\n", name, help,
               name, counts ? "counter" : "gauge");
}

void
buf_consume(struct buf *b, size_t n)
{
    ASSERT(n <= b->len);
    b->len -= n;
    if (n > 0 && b->len > 0)
        memmove(b->p, b->p + n, b->len);
}

struct str
buf_view(const struct buf *b)
{
    return (struct str){b->p, b->len};
}

void
buf_reset(struct buf *b, size_t keep)
{
    b->len = 0;
    b->err = 0;
    if (b->cap > keep)
        buf_fini(b);
}

void
buf_fini(struct buf *b)
{
    free(b->p);
    *b = (struct buf){NULL, 0, 0, 0};
}

struct str
buf_take(struct buf *b, struct arena *a)
{
    struct str s = b->err == 0 ? arena_str(a, buf_view(b)) : STR_NONE;

    buf_fini(b);
    return s;
}

/* ---- random ---- */

int
random_bytes(void *p, size_t n)
{
    ASSERT(n <= RANDOM_BYTES_MAX);
    /* Never falls back to anything weaker: ids and keys depend on it. */
    return n == 0 || os_random(p, n) == 0 ? 0 : ERR_IO;
}

int
random_hex(char *out, int n)
{
    unsigned char raw[32];
    int rc = random_bytes(raw, sizeof raw);

    for (int i = 0; i < n; i++)
        text_hex(out + i, 1, (uint32_t)raw[i / 2] >> (i & 1 ? 4 : 0));
    out[n] = '\0';
    return rc;
}
