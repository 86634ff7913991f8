/* base - slices, memory, growing buffers, error names, time, randomness.

   It knows no file, no protocol and no other part of mcptask. It refuses to
   depend on the locale, on the time zone or on any allocator of its own: all
   memory comes from malloc and realloc, and each of them may fail at any
   call.

   Invariants:
   1. A failed allocation changes nothing: an arena, a block that was to grow
      and a buffer keep what they held, and stay usable.
   2. No sum or product of sizes wraps: it is checked before it is taken.
   3. In an arena, `last` is NULL or the newest block of the newest chunk;
      only such a block grows or shrinks in place.
   4. A buffer's err, once set, stays until buf_reset; len <= cap always.
   5. Time is milliseconds since 1970 in UTC, computed here by the calendar's
      rules; no time_t narrower than 64 bits is ever passed on. */

#include "base/base.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define ARENA_ALIGN _Alignof(max_align_t)
#define ARENA_MIN ((size_t)2 << 10)
#define ARENA_MAX ((size_t)1 << 20)
#define ARENA_KEEP ((size_t)64 << 10) /* what an idle process may hold */
#define BUF_MIN ((size_t)256)
#define RANDOM_MAX 256

#define SECOND_MS INT64_C(1000)
#define MINUTE_MS (60 * SECOND_MS)
#define DAY_MS (24 * 60 * MINUTE_MS)
#define TIME_MAX_MS INT64_C(253402300799999) /* the end of the year 9999 */

/* ---- slices ---- */

struct str
str_of(const char *z)
{
    return (struct str){z, strlen(z)};
}

bool
str_eq(struct str a, struct str b)
{
    /* memcmp may not be given NULL, which an empty slice can hold. */
    return a.len == b.len && (a.len == 0 || memcmp(a.p, b.p, a.len) == 0);
}

bool
str_is(struct str a, const char *z)
{
    size_t i;

    /* Mostly it is not, and the first byte says so. */
    for (i = 0; i < a.len && z[i] != '\0' && a.p[i] == z[i]; i++)
        ;
    return i == a.len && z[i] == '\0';
}

bool
str_starts(struct str s, const char *prefix)
{
    size_t n = strlen(prefix);

    return s.len >= n && (n == 0 || memcmp(s.p, prefix, n) == 0);
}

uint64_t
str_hash(struct str s)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    size_t i;

    for (i = 0; i < s.len; i++)
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

uint64_t
str_sip(const uint64_t seed[2], struct str s)
{
    uint64_t v[4] = {seed[0] ^ 0x736f6d6570736575u,
                     seed[1] ^ 0x646f72616e646f6du,
                     seed[0] ^ 0x6c7967656e657261u,
                     seed[1] ^ 0x7465646279746573u};
    const unsigned char *p = (const unsigned char *)s.p;
    uint64_t m = 0;
    size_t i;

    for (i = 0; i < s.len; i++) {
        m |= (uint64_t)p[i] << (i % 8 * 8);
        if (i % 8 == 7) {
            v[3] ^= m;
            sip_round(v);
            v[0] ^= m;
            m = 0;
        }
    }
    m |= (uint64_t)s.len << 56;
    v[3] ^= m;
    sip_round(v);
    v[0] ^= m;
    v[2] ^= 0xff;
    for (i = 0; i < 3; i++)
        sip_round(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

bool
str_u64(struct str s, uint64_t *out)
{
    uint64_t v = 0;
    size_t i;

    for (i = 0; i < s.len; i++) {
        /* What stands below '0' wraps to a large number. */
        uint64_t d = (uint64_t)(uint8_t)s.p[i] - '0';

        if (d > 9 || v > (UINT64_MAX - d) / 10)
            return false;
        v = v * 10 + d;
    }
    if (s.len == 0)
        return false;
    *out = v;
    return true;
}

/* Whether c can only continue a sequence in UTF-8. */
static bool
is_tail(uint8_t c)
{
    return (c & 0xc0) == 0x80;
}

size_t
utf8_len(const char *p, const char *end)
{
    const uint8_t *s = (const uint8_t *)p;
    size_t room = (size_t)(end - p);

    if (room == 0)
        return 0;
    if (s[0] < 0x80)
        return 1;
    if (s[0] < 0xc2 || s[0] > 0xf4 || room < 2 || !is_tail(s[1]))
        return 0;
    if (s[0] < 0xe0)
        return 2;
    if (room < 3 || !is_tail(s[2]))
        return 0;
    /* Overlong forms, surrogates and what lies beyond U+10FFFF all show in
       the second byte. */
    if (s[0] < 0xf0) {
        if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f))
            return 0;
        return 3;
    }
    if ((s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
        return 0;
    return room >= 4 && is_tail(s[3]) ? 4 : 0;
}

size_t
utf8_count(struct str s)
{
    size_t i, n = 0;

    for (i = 0; i < s.len; i++)
        n += !is_tail((uint8_t)s.p[i]);
    return n;
}

/* ---- base64 ---- */

static const char base64[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* The value of a digit, or 64. */
static unsigned
digit(char c)
{
    if (c >= 'A' && c <= 'Z')
        return (unsigned)(c - 'A');
    if (c >= 'a' && c <= 'z')
        return (unsigned)(c - 'a') + 26;
    if (c >= '0' && c <= '9')
        return (unsigned)(c - '0') + 52;
    return c == '+' ? 62 : c == '/' ? 63 : 64;
}

int
base64_decode(struct arena *a, struct str text, struct str *out)
{
    size_t pad = 0, i, j, n = 0;
    char *p = arena_alloc(a, text.len / 4 * 3 + 1);

    if (!p)
        return ERR_NOMEM;
    if (text.len % 4)
        return ERR_SYNTAX;
    while (pad < 2 && pad < text.len && text.p[text.len - 1 - pad] == '=')
        pad++;
    for (i = 0; i < text.len; i += 4) {
        size_t drop = i + 4 == text.len ? pad : 0;
        uint32_t v = 0;

        for (j = 0; j < 4; j++) {
            unsigned d = j < 4 - drop ? digit(text.p[i + j]) : 0;

            if (d > 63)
                return ERR_SYNTAX;
            v = v << 6 | d;
        }
        /* Bits that no byte takes must be zero: one text for one content. */
        if (v & ((1u << 8 * drop) - 1))
            return ERR_SYNTAX;
        for (j = 0; j < 3 - drop; j++)
            p[n++] = (char)(v >> (16 - 8 * j));
    }
    *out = (struct str){p, n};
    return 0;
}

void
base64_encode(struct buf *b, struct str bytes)
{
    const uint8_t *p = (const uint8_t *)bytes.p;
    size_t i, n = bytes.len;
    char *to = buf_room(b, (n + 2) / 3 * 4);

    if (!to)
        return;
    for (i = 0; i < n; i += 3, to += 4) {
        uint32_t v = (uint32_t)p[i] << 16;

        v |= i + 1 < n ? (uint32_t)p[i + 1] << 8 : 0;
        v |= i + 2 < n ? p[i + 2] : 0;
        to[0] = base64[v >> 18];
        to[1] = base64[v >> 12 & 63];
        to[2] = i + 1 < n ? base64[v >> 6 & 63] : '=';
        to[3] = i + 2 < n ? base64[v & 63] : '=';
    }
    b->len += (n + 2) / 3 * 4;
}

/* ---- errors ---- */

/* Indexed by the code's magnitude. The names are part of the interface to
   agents: several codes share one where a caller can do nothing different,
   and none is ever renamed. */
static const struct {
    const char *name;
    bool retryable;
} errors[] = {
    [-ERR_MORE] = {"invalid_argument", false},
    [-ERR_SYNTAX] = {"invalid_argument", false},
    [-ERR_NOMEM] = {"out_of_memory", true},
    [-ERR_INVALID] = {"invalid_argument", false},
    [-ERR_NOT_FOUND] = {"not_found", false},
    [-ERR_EXISTS] = {"already_exists", false},
    [-ERR_TOO_LARGE] = {"too_large", false},
    [-ERR_VERSION] = {"version_conflict", false},
    [-ERR_NOT_OWNER] = {"not_owner", false},
    [-ERR_BLOCKED] = {"blocked", true},
    [-ERR_TRANSITION] = {"invalid_transition", false},
    [-ERR_TERMINAL] = {"terminal", false},
    [-ERR_CYCLE] = {"dependency_cycle", false},
    [-ERR_IDEMPOTENCY] = {"idempotency_conflict", false},
    [-ERR_EVIDENCE] = {"evidence_required", false},
    [-ERR_BUSY] = {"store_busy", true},
    [-ERR_FULL] = {"store_full", true},
    /* After a failed sync the process writes no more, so that asking it
       again would only ask it again. */
    [-ERR_IO] = {"store_error", false},
    [-ERR_READONLY] = {"store_readonly", false},
    [-ERR_DAMAGED] = {"store_error", false},
    [-ERR_FORMAT] = {"store_error", false},
    [-ERR_UNKNOWN] = {"store_error", false},
    [-ERR_UNAUTHORIZED] = {"unauthorized", false},
    [-ERR_CAPABILITY] = {"unauthorized", false},
    [-ERR_LEASE] = {"lease_held", true},
};

#define ERRORS_N ((int)(sizeof(errors) / sizeof(errors[0])))

const char *
err_name(int err)
{
    /* A code from a newer table is still a fault of ours, not the caller's. */
    if (err >= 0 || err <= -ERRORS_N || errors[-err].name == NULL)
        return "store_error";
    return errors[-err].name;
}

bool
err_retryable(int err)
{
    return err < 0 && err > -ERRORS_N && errors[-err].retryable;
}

/* ---- arena ---- */

struct arena_chunk {
    struct arena_chunk *older;
    size_t cap;  /* bytes in mem */
    size_t used; /* a multiple of ARENA_ALIGN */
    max_align_t mem[]; /* so that the first block is aligned */
};

#define CHUNK_HEAD offsetof(struct arena_chunk, mem)

/* n rounded up to whole units of alignment, or 0 where that would wrap. */
static size_t
round_up(size_t n)
{
    if (n > SIZE_MAX - CHUNK_HEAD - ARENA_ALIGN)
        return 0;
    return (n + (n == 0) + ARENA_ALIGN - 1) / ARENA_ALIGN * ARENA_ALIGN;
}

/* Puts a chunk with room for need bytes in front. Sizes double, so that a
   large turn costs few calls; a block above the limit gets a chunk of its own
   size. What is left of the older chunk is not used again. */
static int
chunk_add(struct arena *a, size_t need)
{
    size_t size = ARENA_MIN;
    struct arena_chunk *c;

    if (a->chunk != NULL && a->chunk->cap >= ARENA_MAX / 2)
        size = ARENA_MAX;
    else if (a->chunk != NULL)
        size = (a->chunk->cap + CHUNK_HEAD) * 2;
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
    if (old != NULL && old == a->last) {
        size_t off = (size_t)((char *)old - (char *)a->chunk->mem);

        if (need <= a->chunk->cap - off) {
            a->chunk->used = off + need;
            return old;
        }
    }
    if (old != NULL && n <= old_n)
        return old;
    /* The old block stays where it is until the reset, readable still, as
       others may hold slices of it. Callers double n, which bounds both the
       copying and the waste. */
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
arena_printf(struct arena *a, const char *fmt, ...)
{
    va_list ap;
    char *p;
    size_t n;

    va_start(ap, fmt);
    n = text_vput(NULL, 0, fmt, ap);
    va_end(ap);
    /* Measured first: a guess that is too small would waste its block. */
    p = arena_alloc(a, n + 1);
    if (p == NULL)
        return STR_NONE;
    va_start(ap, fmt);
    n = text_vput(p, n + 1, fmt, ap);
    va_end(ap);
    return (struct str){p, n};
}

void
arena_reset(struct arena *a)
{
    struct arena_chunk *c, *older, *keep = NULL;

    /* The newest chunk small enough to keep is the largest such one, as
       sizes only grow up to that point. */
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
    struct arena_chunk *c, *older;

    for (c = a->chunk; c != NULL; c = older) {
        older = c->older;
        free(c);
    }
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
    char *p = b->err == 0 && cap > b->cap ? realloc(b->p, cap) : NULL;

    if (p != NULL) {
        b->p = p;
        b->cap = cap;
    } else if (cap > b->cap) {
        b->err = ERR_NOMEM;
    }
}

char *
buf_room(struct buf *b, size_t n)
{
    size_t cap = b->cap < BUF_MIN ? BUF_MIN : b->cap;

    if (b->err != 0)
        return NULL;
    if (b->p != NULL && n <= b->cap - b->len)
        return b->p + b->len;
    /* Doubling keeps many small writes linear; one large write gets what it
       asks for and no more. */
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
    char *to;

    if (n == 0)
        return; /* p may be NULL then, which memcpy does not allow */
    to = buf_room(b, n);
    if (to == NULL)
        return;
    memcpy(to, p, n);
    b->len += n;
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

    if (to == NULL)
        return;
    *to = c;
    b->len++;
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
    n = text_vput(NULL, 0, fmt, ap);
    va_end(ap);
    /* The NUL is written behind len and not counted. */
    to = buf_room(b, n + 1);
    if (to == NULL)
        return;
    va_start(ap, fmt);
    b->len += text_vput(to, n + 1, fmt, ap);
    va_end(ap);
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
    char *p;

    b->len = 0;
    b->err = 0;
    if (b->cap <= keep)
        return;
    if (keep < BUF_MIN) {
        /* realloc to nothing is undefined, and to little saves nothing. */
        buf_fini(b);
        return;
    }
    p = realloc(b->p, keep);
    /* Even giving back may fail; then the larger block stays. */
    if (p != NULL) {
        b->p = p;
        b->cap = keep;
    }
}

void
buf_fini(struct buf *b)
{
    free(b->p);
    *b = (struct buf){NULL, 0, 0, 0};
}

/* ---- time ---- */

static int64_t
clock_ms(clockid_t id)
{
    struct timespec ts;
    int rc = clock_gettime(id, &ts);

    /* Both clocks are required by POSIX and the argument is a constant. */
    ASSERT(rc == 0);
    return (int64_t)ts.tv_sec * SECOND_MS + ts.tv_nsec / 1000000;
}

int64_t
clock_wall_ms(void)
{
    return clock_ms(CLOCK_REALTIME);
}

int64_t
clock_mono_ms(void)
{
    return clock_ms(CLOCK_MONOTONIC);
}

int64_t
clock_boot_ms(void)
{
#ifdef CLOCK_BOOTTIME
    return clock_ms(CLOCK_BOOTTIME);
#else
    return clock_mono_ms();
#endif
}

/* Both ways between days since 1970 and the date, for years from 0 on: the
   year is taken to begin in March, so that a leap day is its last one. */
static int
days_of_date(int y, int m, int d)
{
    int era, year, day;

    y += 400 - (m <= 2); /* one cycle of the calendar keeps it positive */
    era = y / 400;
    year = y % 400;
    day = (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1;
    return (era - 1) * 146097 + year * 365 + year / 4 - year / 100 + day -
           719468;
}

static void
date_of_days(int days, int *y, int *m, int *d)
{
    int era, day, year;

    days += 719468; /* from 1 March of the year 0 */
    era = days / 146097;
    day = days % 146097;
    year = (day - day / 1460 + day / 36524 - day / 146096) / 365;
    day -= 365 * year + year / 4 - year / 100;
    *m = (5 * day + 2) / 153;
    *d = day - (153 * *m + 2) / 5 + 1;
    *m += *m < 10 ? 3 : -9;
    *y = era * 400 + year + (*m <= 2);
}

/* The parts of a time in RFC 3339: how many digits, and what follows them. */
enum { YEAR, MONTH, DAY, HOUR, MINUTE, SECOND, MILLI, N_PARTS };
static const char part_len[N_PARTS] = {4, 2, 2, 2, 2, 2, 3};
static const char part_end[N_PARTS] = {'-', '-', 'T', ':', ':', '.', 'Z'};

void
time_format(int64_t ms, char out[TIME_LEN + 1])
{
    int part[N_PARTS], i, k, rest;

    if (ms < 0)
        ms = 0;
    if (ms > TIME_MAX_MS)
        ms = TIME_MAX_MS;
    date_of_days((int)(ms / DAY_MS), &part[YEAR], &part[MONTH], &part[DAY]);
    rest = (int)(ms % DAY_MS);
    part[MILLI] = rest % 1000;
    part[SECOND] = rest / 1000 % 60;
    part[MINUTE] = rest / 60000 % 60;
    part[HOUR] = rest / 3600000;
    for (i = 0; i < N_PARTS; i++) {
        for (k = part_len[i]; k-- > 0; part[i] /= 10)
            out[k] = (char)('0' + part[i] % 10);
        out += part_len[i];
        *out++ = part_end[i];
    }
    *out = '\0';
}

/* What follows takes its piece off the front of s, or returns false and
   leaves s anywhere. */

/* Exactly n digits. */
static bool
take_digits(struct str *s, size_t n, int *out)
{
    uint64_t v;

    if (s->len < n || !str_u64((struct str){s->p, n}, &v))
        return false;
    *out = (int)v;
    s->p += n;
    s->len -= n;
    return true;
}

/* c, a letter in either case. */
static bool
take_char(struct str *s, char c)
{
    if (s->len == 0 || (*s->p != c && (c < 'A' || *s->p != (c | 0x20))))
        return false;
    s->p++;
    s->len--;
    return true;
}

/* Date and time, to the seconds. */
static bool
take_parts(struct str *s, int part[N_PARTS])
{
    int i;

    for (i = YEAR; i <= SECOND; i++)
        if ((i > YEAR && !take_char(s, part_end[i - 1])) ||
            !take_digits(s, (size_t)part_len[i], &part[i]))
            return false;
    return true;
}

/* What stands behind the seconds' point, cut to milliseconds. */
static bool
take_fraction(struct str *s, int *ms)
{
    int digit, unit = 100, n = 0;

    *ms = 0;
    if (!take_char(s, '.'))
        return true;
    /* From the fourth digit on the unit is 0: cut, as rounding up could
       carry into the next year. */
    for (; take_digits(s, 1, &digit); n++) {
        *ms += digit * unit;
        unit /= 10;
    }
    return n >= 1 && n <= 9; /* nanoseconds are as fine as anyone writes */
}

/* -00:00 says that the zone is unknown; the instant is the same. */
static bool
take_zone(struct str *s, int *minutes)
{
    bool west = take_char(s, '-');
    int h, m;

    *minutes = 0;
    if (!west && take_char(s, 'Z'))
        return true;
    if ((!west && !take_char(s, '+')) || !take_digits(s, 2, &h) ||
        !take_char(s, ':') || !take_digits(s, 2, &m) || h > 23 || m > 59)
        return false;
    *minutes = west ? -(h * 60 + m) : h * 60 + m;
    return true;
}

static bool
is_date(int y, int m, int d)
{
    static const char len[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = y % 4 == 0 && (y % 100 != 0 || y % 400 == 0);

    return m >= 1 && m <= 12 && d >= 1 && d <= len[m - 1] + (m == 2 && leap);
}

bool
time_parse(struct str s, int64_t *ms)
{
    int part[N_PARTS], zone;
    int64_t minute;

    if (!take_parts(&s, part) || !take_fraction(&s, &part[MILLI]) ||
        !take_zone(&s, &zone) || s.len != 0)
        return false;
    if (!is_date(part[YEAR], part[MONTH], part[DAY]) || part[HOUR] > 23 ||
        part[MINUTE] > 59 || part[SECOND] > 60)
        return false;
    minute = INT64_C(1440) * days_of_date(part[YEAR], part[MONTH], part[DAY]) +
             part[HOUR] * 60 + part[MINUTE] - zone;
    if (part[SECOND] == 60) {
        /* A leap second ends a day in UTC and has no number of its own: it
           becomes the last millisecond before it. */
        if ((minute + 1) % 1440 != 0)
            return false;
        part[SECOND] = 59;
        part[MILLI] = 999;
    }
    *ms = minute * MINUTE_MS + part[SECOND] * SECOND_MS + part[MILLI];
    return true;
}

/* ---- random ---- */

/* For kernels without the system call; an empty root has no /dev either. */
static int
urandom(void *p, size_t n)
{
    char *to = p;
    ssize_t got;
    int fd, rc = ERR_IO;

    do
        fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
    while (fd < 0 && errno == EINTR);
    if (fd < 0)
        return ERR_IO;
    while (n > 0) {
        got = read(fd, to, n);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            goto out; /* an end of file is no randomness either */
        to += got;
        n -= (size_t)got;
    }
    rc = 0;
out:
    close(fd);
    return rc;
}

int
random_bytes(void *p, size_t n)
{
    ASSERT(n <= RANDOM_MAX);
    /* Never falls back to anything weaker: ids and keys come from here. */
    if (n == 0 || getentropy(p, n) == 0)
        return 0;
    return urandom(p, n);
}
