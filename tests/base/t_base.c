/* t_base - slices, arenas, buffers, error names, time, randomness, and the
   digests of sha256. Tables come from the standards; where there is no table,
   the result is compared with a slower way to the same answer. */

#include "base/base.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/sha256.h"
#include "tests/lib/faults.h"
#include "tests/lib/test.h"
#include "base/text.h"
#include "base/utf8.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

TEST(slices)
{
    CHECK(str_from(STR_NONE, 0).p == NULL && str_end(STR_NONE) == NULL);
    CHECK(str_of("abc").len == 3 && str_of("").len == 0);
    CHECK(str_eq(STR("ab"), STR("ab")) && !str_eq(STR("ab"), STR("ac")));
    CHECK(!str_eq(STR("ab"), STR("abc")) && str_eq(STR_NONE, STR("")));
    CHECK(str_compare(STR("ab"), STR("b")) < 0 &&
          str_compare(STR("ab"), STR("a")) > 0 &&
          str_compare(STR_NONE, STR("a")) < 0 &&
          str_compare(STR_NONE, STR("")) == 0);
    CHECK(str_is(STR("ab"), "ab") && !str_is(STR("ab"), "a"));
    CHECK(!str_is((struct str){"a\0b", 3}, "a") && str_is(STR_NONE, ""));
    CHECK(str_starts(STR("abc"), "ab") && str_starts(STR_NONE, ""));
    CHECK(!str_starts(STR("a"), "ab") && !str_starts(STR_NONE, "a"));
    CHECK(str_hash(STR_NONE) == UINT64_C(0xcbf29ce484222325));
    CHECK(str_hash(STR("a")) == UINT64_C(0xaf63dc4c8601ec8c));
    CHECK(str_hash(STR("foobar")) == UINT64_C(0x85944171f73967e8));
}

/* Words of eight bytes, and bytes, at every place in a word. */
TEST(slices_of_every_length)
{
    char from[128], to[128];
    struct buf b = {0};

    for (size_t i = 0; i < sizeof(from); i++)
        from[i] = (char)(i * 7 + 1);
    for (size_t n = 0; n <= 80; n++)
        for (size_t at = 0; at < 9; at++) {
            const char *p = guard_copy(from, n);

            memcpy(to + at, from, n);
            CHECK(str_eq((struct str){p, n}, (struct str){to + at, n}));
            for (size_t i = 0; i < n; i++, to[at + i - 1] ^= 1) {
                to[at + i] ^= 1;
                CHECK(!str_eq((struct str){p, n}, (struct str){to + at, n}));
            }
            buf_reset(&b, 256);
            buf_put(&b, "12345678", at);
            buf_put(&b, p, n);
            buf_char(&b, 'x');
            CHECK(b.len == at + n + 1 && memcmp(b.p, "12345678", at) == 0);
            CHECK(memcmp(b.p + at, from, n) == 0 && b.p[at + n] == 'x');
        }
    buf_fini(&b);
}

TEST(slips)
{
    CHECK(str_slips(STR("list"), "list") == 0);
    CHECK(str_slips(STR("lst"), "list") == 1);
    CHECK(str_slips(STR("lisst"), "list") == 1);
    CHECK(str_slips(STR("stauts"), "status") == 2);
    CHECK(str_slips(STR("ls"), "list") == SIZE_MAX);
    CHECK(str_slips(STR(""), "a") == 1 && str_slips(STR("a"), "") == 1);
    CHECK(str_slips(STR("frobnicate"), "list") == SIZE_MAX);
    CHECK(str_slips(STR("0123456789012345678901234567890123"),
                    "0123456789012345678901234567890123") == SIZE_MAX);
}

/* The values come from another implementation. */
TEST(sip)
{
    static const uint64_t seed[] = {UINT64_C(0x0706050403020100),
                                    UINT64_C(0x0f0e0d0c0b0a0908)};
    static const struct {
        size_t len;
        uint64_t hash;
    } table[] = {
        {0, UINT64_C(0xabac0158050fc4dc)}, {1, UINT64_C(0xc9f49bf37d57ca93)},
        {7, UINT64_C(0xd3927d989bb11140)}, {8, UINT64_C(0x369095118d299a8e)},
        {9, UINT64_C(0x25a48eb36c063de4)}, {15, UINT64_C(0xd320d86d2a519956)},
        {16, UINT64_C(0xcc4fdd1a7d908b66)}, {63, UINT64_C(0x9d199062b7bbb3a8)},
    };
    char bytes[64];
    size_t i;

    for (i = 0; i < sizeof(bytes); i++)
        bytes[i] = (char)i;
    for (i = 0; i < COUNT(table); i++)
        CHECK(str_sip(seed, (struct str){guard_copy(bytes, table[i].len),
                                         table[i].len}) == table[i].hash);
    CHECK(str_sip((uint64_t[]){0, 0}, STR("hello, world")) ==
          UINT64_C(0xd792fbf81ec197f9));
    CHECK(str_sip(seed, STR_NONE) == table[0].hash);
    bytes[0] = (char)0xff; /* char may be signed */
    CHECK(str_sip((uint64_t[]){0, 0}, (struct str){bytes, 1}) ==
          UINT64_C(0x30406ea523c53def));
}

TEST(u64)
{
    static const char *const bad[] = {"",   "-1", "+1", " 1", "1 ", "0x1",
                                      "1.", "a",  "18446744073709551616",
                                      "99999999999999999999999"};
    uint64_t v = 5;
    size_t i;

    CHECK(str_u64(STR("0"), &v) && v == 0);
    CHECK(str_u64(STR("007"), &v) && v == 7);
    CHECK(str_u64(STR("18446744073709551615"), &v) && v == UINT64_MAX);
    for (i = 0; i < COUNT(bad); i++)
        CHECK(!str_u64(str_of(bad[i]), &v) && v == UINT64_MAX);
    CHECK(!str_u64(STR_NONE, &v));
}

/* The bytes of one code point by the book, surrogates too. */
static size_t
encode(uint32_t c, char to[4])
{
    static const uint8_t lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4, i;

    for (i = n - 1; i > 0; i--, c >>= 6)
        to[i] = (char)(0x80 | (c & 0x3f));
    to[0] = (char)(lead[n] | c);
    return n;
}

TEST(utf8_takes_every_code_point)
{
    uint32_t c, wrong = 0;
    char text[4];
    size_t n, cut;
    const char *p;

    for (c = 0; c < 0x140000; c++) {
        bool good = c < 0x110000 && (c < 0xd800 || c > 0xdfff);

        n = encode(c, text);
        wrong += utf8_len(text, text + n) != (good ? n : 0);
        for (cut = 0; cut < n; cut++) {
            p = guard_copy(text, cut);
            wrong += utf8_len(p, p + cut) != 0;
        }
    }
    CHECK(wrong == 0);
    CHECK(utf8_count(STR("a\xc3\xa9\xe4\xb8\xad\xf0\x9f\x98\x80")) == 4);
    CHECK(utf8_count(STR_NONE) == 0);
}

/* Every code point is accepted. If no more sequences are accepted than there
   are code points, nothing else is. */
TEST(utf8_takes_nothing_else)
{
    static const uint8_t edge[] = {0x00, 0x7f, 0x80, 0x8f, 0x90,
                                   0x9f, 0xa0, 0xbf, 0xc0, 0xff};
    uint32_t a, b, c, count[5] = {0}, four = 0;
    char text[4];

    for (a = 0; a < 256; a++)
        for (b = 0; b < 256; b++) {
            text[0] = (char)a;
            text[1] = (char)b;
            count[utf8_len(text, text + 2)]++;
            for (c = 0; c < COUNT(edge) * COUNT(edge); c++) {
                text[2] = (char)edge[c / COUNT(edge)];
                text[3] = (char)edge[c % COUNT(edge)];
                four += utf8_len(text, text + 4) == 4;
                count[3] += c % COUNT(edge) == 0 &&
                            utf8_len(text, text + 3) == 3;
            }
        }
    CHECK(count[1] == 128 * 256 && count[2] == 0x800 - 0x80);
    /* Of the ten edges six are tail bytes. */
    CHECK(count[3] == (0x10000 - 0x800 - 0x800) / 64 * 6);
    CHECK(four == 0x100000 / 4096 * 36);
}

TEST(error_names)
{
    int e;

    for (e = 5; e > -40; e--)
        CHECK(err_name(e) != NULL && err_name(e)[0] != '\0');
    CHECK(strcmp(err_name(ERR_NOT_FOUND), "not_found") == 0);
    CHECK(strcmp(err_name(ERR_FULL), "store_full") == 0);
    CHECK(strcmp(err_name(ERR_FORMAT), "store_error") == 0);
    CHECK(err_row(ERR_BUSY)->retryable && err_row(ERR_FULL)->retryable);
    CHECK(!err_row(ERR_INVALID)->retryable && !err_row(0)->retryable);
    CHECK(err_row(-1000) == err_row(1000) && err_row(0) == err_row(INT_MIN));
}

/* ---- memory ---- */

TEST(arena_blocks_are_apart_and_aligned)
{
    struct arena a = {0};
    unsigned char *block[500];
    size_t i, j, wrong = 0;
    int round;

    for (round = 0; round < 3; round++) {
        for (i = 0; i < COUNT(block); i++) {
            block[i] = arena_alloc(&a, i * 3);
            wrong += (uintptr_t)block[i] % _Alignof(max_align_t) != 0;
            memset(block[i], (int)(i & 255), i * 3);
        }
        for (i = 0; i < COUNT(block); i++)
            for (j = 0; j < i * 3; j++)
                wrong += block[i][j] != (i & 255);
        arena_reset(&a);
    }
    CHECK(wrong == 0);
    CHECK(arena_alloc(&a, 0) != NULL);
    CHECK(arena_alloc(&a, SIZE_MAX) == NULL);
    CHECK(arena_alloc(&a, SIZE_MAX - 40) == NULL);
    arena_fini(&a);
    CHECK(a.chunk == NULL && a.last == NULL);
    arena_fini(&a);
}

TEST(arena_grows_by_moving)
{
    struct arena a = {0};
    char *p = arena_alloc(&a, 20), *big;

    strcpy(p, "123456789");
    CHECK(arena_alloc(&a, 10) != NULL);
    /* No longer the newest block: shrinking keeps its place, growing moves
       it. */
    CHECK(arena_grow(&a, p, 20, 10) == p);
    big = arena_grow(&a, p, 10, 200000);
    CHECK(big != p && strcmp(big, "123456789") == 0);
    CHECK(strcmp(p, "123456789") == 0);
    CHECK(arena_grow(&a, big, 200000, SIZE_MAX) == NULL);
    CHECK(arena_grow(&a, NULL, 0, 8) != NULL);
    arena_fini(&a);
}

#ifndef ARENA_ALLOCATIONS /* with it, blocks share no chunks */

TEST(arena_grows_in_place)
{
    struct arena a = {0};
    char *p = arena_alloc(&a, 10), *q;

    CHECK(arena_grow(&a, p, 10, 1000) == p);
    CHECK(arena_grow(&a, p, 1000, 10) == p);
    q = arena_alloc(&a, 10);
    CHECK(q > p && q - p < 64);
    arena_fini(&a);
}

/* An idle process holds one chunk, and not a large one. */
TEST(arena_reset_keeps_little)
{
    struct arena a = {0};
    void *first;
    int i;

    for (i = 0; i < 3000; i++)
        CHECK(arena_alloc(&a, 1000) != NULL);
    arena_reset(&a);
    nomem_start(0, false);
    first = arena_alloc(&a, 255000);
    CHECK(first != NULL);
    CHECK(arena_alloc(&a, 10000) == NULL);
    CHECK(nomem_stop());
    arena_fini(&a);
    CHECK(arena_alloc(&a, 3000000) != NULL);
    arena_reset(&a);
    CHECK(a.chunk == NULL);
    CHECK(arena_alloc(&a, 1) != NULL);
    arena_fini(&a);
}

#endif

TEST(arena_text)
{
    const char *volatile nothing = NULL; /* so that no compiler warns */
    struct arena a = {0};
    struct str s = arena_str(&a, (struct str){"ab\0c", 4});

    CHECK(s.len == 4 && memcmp(s.p, "ab\0c", 5) == 0);
    s = arena_str(&a, STR_NONE);
    CHECK(s.p != NULL && s.len == 0 && s.p[0] == '\0');
    s = arena_printf(&a, "%s-%d-%.*s", "x", 42, STR_ARG(STR("yz")));
    CHECK(str_is(s, "x-42-yz") && s.p[s.len] == '\0');
    s = arena_printf(&a, "(%.*s)", 0, nothing);
    CHECK(str_is(s, "()"));
    s = arena_printf(&a, "%5000d", 7);
    CHECK(s.len == 5000 && s.p[4999] == '7');
    arena_fini(&a);
}

TEST(buf)
{
    struct buf b = {0};
    char *room;

    CHECK(buf_view(&b).len == 0);
    buf_put(&b, NULL, 0);
    buf_str(&b, STR_NONE);
    CHECK(b.p == NULL && b.err == 0);
    buf_z(&b, "ab");
    buf_char(&b, '-');
    buf_u64(&b, 0);
    buf_u64(&b, UINT64_MAX);
    buf_str(&b, STR("/"));
    buf_printf(&b, "%d%s", -5, "x");
    CHECK(str_is(buf_view(&b), "ab-018446744073709551615/-5x"));
    buf_consume(&b, 24);
    CHECK(str_is(buf_view(&b), "/-5x"));
    buf_consume(&b, 0);
    buf_consume(&b, 4);
    CHECK(b.len == 0 && b.err == 0);
    room = buf_room(&b, 1000);
    CHECK(room != NULL && room == b.p && b.cap >= 1000);
    memset(room, 'x', 1000);
    b.len += 1000;
    buf_printf(&b, "%3000d", 1);
    CHECK(b.len == 4000 && b.p[999] == 'x' && b.p[3999] == '1');
    room = b.p;
    buf_reset(&b, b.cap);
    CHECK(b.len == 0 && b.cap >= 4000 && b.p == room);
    buf_reset(&b, 1024);
    CHECK(b.cap == 0 && b.p == NULL);
    CHECK(buf_room(&b, 0) != NULL);
    buf_fini(&b);
    buf_fini(&b);
}

TEST(buf_keeps_its_first_error)
{
    struct buf b = {0};

    buf_z(&b, "kept");
    CHECK(buf_room(&b, SIZE_MAX) == NULL && b.err == ERR_NOMEM);
    buf_z(&b, "lost");
    buf_printf(&b, "%d", 1);
    CHECK(buf_room(&b, 1) == NULL);
    CHECK(str_is(buf_view(&b), "kept"));
    buf_reset(&b, SIZE_MAX);
    CHECK(b.err == 0 && b.len == 0);
    buf_z(&b, "new");
    CHECK(str_is(buf_view(&b), "new"));
    buf_fini(&b);
}

/* Few growths for many bytes, so that no sequence of writes is quadratic. */
TEST(growth_doubles)
{
    struct buf b = {0};
    size_t cap = 0, growths = 0;
    int i;

    for (i = 0; i < 1000000; i++) {
        buf_char(&b, 'x');
        growths += b.cap != cap;
        cap = b.cap;
    }
    CHECK(b.len == 1000000 && growths < 20);
    buf_fini(&b);
}

static bool
memory_job(void)
{
    struct arena a = {0};
    struct buf b = {0};
    struct str s = arena_str(&a, STR("text"));
    char *p = arena_alloc(&a, 5000), *q;
    bool whole = s.p != NULL && p != NULL;

    CHECK(s.p == NULL || str_is(s, "text"));
    if (p != NULL) {
        memset(p, 'p', 5000);
        q = arena_grow(&a, p, 5000, 100000);
        whole = whole && q != NULL;
        CHECK(p[4999] == 'p' && (q == NULL || q[4999] == 'p'));
    }
    whole = arena_printf(&a, "%9000d", 1).p != NULL && whole;
    buf_printf(&b, "%200d", 1);
    buf_printf(&b, "%9000d", 1);
    CHECK(b.err == 0 ? b.len == 9200 : b.len <= 200);
    whole = whole && b.err == 0;
    buf_reset(&b, 300);
    buf_z(&b, "x");
    CHECK(b.err == ERR_NOMEM || str_is(buf_view(&b), "x"));
    buf_fini(&b);
    arena_fini(&a);
    return whole;
}

TEST(memory_may_fail_at_any_call)
{
    int once;
    long n;

    for (once = 0; once < 2; once++)
        for (n = 0; n < 100; n++) {
            bool whole;

            nomem_start(n, once != 0);
            whole = memory_job();
            if (!nomem_stop()) {
                CHECK(whole && n >= 6);
                break;
            }
        }
}

/* ---- time ---- */

TEST(time_format)
{
    static const struct {
        int64_t ms;
        const char *z;
    } table[] = {
        {0, "1970-01-01T00:00:00.000Z"},
        {-1, "1970-01-01T00:00:00.000Z"},
        {INT64_MIN, "1970-01-01T00:00:00.000Z"},
        {951782400000, "2000-02-29T00:00:00.000Z"},
        {1785231000000, "2026-07-28T09:30:00.000Z"},
        {4107542399999, "2100-02-28T23:59:59.999Z"},
        {4107542400000, "2100-03-01T00:00:00.000Z"},
        {253402300799999, "9999-12-31T23:59:59.999Z"},
        {INT64_MAX, "9999-12-31T23:59:59.999Z"},
    };
    char out[TIME_LEN + 1];
    size_t i;

    for (i = 0; i < COUNT(table); i++) {
        time_format(table[i].ms, out);
        CHECK(strcmp(out, table[i].z) == 0);
    }
}

TEST(time_parse)
{
    static const struct {
        const char *z;
        int64_t ms;
    } good[] = {
        {"1970-01-01T00:00:00Z", 0},
        {"1970-01-01t00:00:00z", 0},
        {"1970-01-01T00:00:00.001Z", 1},
        {"1969-12-31T23:59:59.999Z", -1},
        {"1970-01-01T00:00:00.9Z", 900},
        {"1970-01-01T00:00:00.123999999Z", 123},
        {"1970-01-01T01:30:00+01:30", 0},
        {"1969-12-31T16:00:00-08:00", 0},
        {"1970-01-01T00:00:00-00:00", 0},
        {"2026-07-28T09:30:00.000Z", 1785231000000},
        {"1996-02-29T00:00:00Z", 825552000000},
        {"2000-02-29T00:00:00Z", 951782400000},
        {"2016-12-31T23:59:60Z", 1483228799999},
        {"2016-12-31T15:59:60.5-08:00", 1483228799999},
        {"0000-01-01T00:00:00Z", -62167219200000},
        {"0001-01-01T00:00:00Z", -62135596800000},
        {"9999-12-31T23:59:59.999Z", 253402300799999},
    };
    static const char *const bad[] = {
        "", "1970", "1970-01-01", "1970-01-01T00:00:00", "T00:00:00Z",
        "1970-00-01T00:00:00Z", "1970-13-01T00:00:00Z",
        "1970-01-00T00:00:00Z", "1970-01-32T00:00:00Z",
        "1970-04-31T00:00:00Z", "1970-02-29T00:00:00Z",
        "1900-02-29T00:00:00Z", "2100-02-29T00:00:00Z",
        "2000-02-30T00:00:00Z", "1970-01-01T24:00:00Z",
        "1970-01-01T00:60:00Z", "1970-01-01T00:00:61Z",
        "1970-01-01T12:00:60Z", "2016-12-31T23:59:60+01:00",
        "1970-01-01T00:00:00.Z", "1970-01-01T00:00:00.1234567890Z",
        "1970-01-01T00:00:00,5Z", "1970-01-01T00:00:00+24:00",
        "1970-01-01T00:00:00+00:60", "1970-01-01T00:00:00+0000",
        "1970-01-01T00:00:00+00", "1970-01-01T00:00:00 Z",
        "1970-01-01T00:00:00Zx", "1970-01-01T00:00:00Z ",
        " 1970-01-01T00:00:00Z", "1970-01-01 00:00:00Z",
        "1970-1-01T00:00:00Z", "70-01-01T00:00:00Z", "+970-01-01T00:00:00Z",
        "-1970-01-01T00:00:00Z", "1970/01/01T00:00:00Z",
        "1970-01-01T00:00Z", "1970-01-01T0a:00:00Z", "19700101T000000Z",
    };
    int64_t ms;
    size_t i, n;

    for (i = 0; i < COUNT(good); i++) {
        size_t len = strlen(good[i].z);
        const char *p = guard_copy(good[i].z, len);

        ms = 7;
        if (!CHECK(time_parse((struct str){p, len}, &ms) &&
                   ms == good[i].ms))
            fprintf(stderr, "of %s: %lld\n", good[i].z, (long long)ms);
        for (n = 0; n < len; n++) {
            p = guard_copy(good[i].z, n);
            CHECK(!time_parse((struct str){p, n}, &ms));
        }
    }
    for (i = 0; i < COUNT(bad); i++)
        if (!CHECK(!time_parse(str_of(bad[i]), &ms)))
            fprintf(stderr, "of %s\n", bad[i]);
    CHECK(!time_parse((struct str){"1970-01-01T00:00:00\0", 20}, &ms));
    CHECK(!time_parse(STR_NONE, &ms));
}

/* Every day from 1970 to 9999, there and back, in order and without a gap. */
TEST(time_of_every_day)
{
    char out[TIME_LEN + 1], before[TIME_LEN + 1] = "";
    int64_t day, ms, wrong = 0;

    for (day = 2932896 % TEST_STEP; day <= 2932896; day += TEST_STEP) {
        int64_t at = day * 86400000 + day * 7919 % 86400000;

        time_format(at, out);
        wrong += !time_parse(str_of(out), &ms) || ms != at;
        wrong += strcmp(before, out) >= 0;
        memcpy(before, out, sizeof(out));
    }
    CHECK(wrong == 0 && strncmp(out, "9999-12-31", 10) == 0);
}

TEST(clocks)
{
    int64_t mono = clock_mono_ms();

    CHECK(clock_wall_ms() > INT64_C(1500000000000));
    CHECK(clock_mono_ms() >= mono && mono >= 0);
}

/* ---- random and digests ---- */

TEST(random)
{
    uint8_t a[256], b[256];
    size_t i, zeros = 0;

    memset(a, 0, sizeof(a));
    memset(b, 0, sizeof(b));
    CHECK(random_bytes(a, sizeof(a)) == 0 && random_bytes(b, 255) == 0);
    CHECK(memcmp(a, b, 255) != 0 && b[255] == 0);
    CHECK(random_bytes(a, 0) == 0);
    for (i = 0; i < sizeof(a); i++)
        zeros += a[i] == 0;
    CHECK(zeros < 32);
}

TEST(sha256)
{
    static const struct {
        const char *z, *hex;
    } table[] = {
        {"", "e3b0c44298fc1c149afbf4c8996fb924"
             "27ae41e4649b934ca495991b7852b855"},
        {"abc", "ba7816bf8f01cfea414140de5dae2223"
                "b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "248d6a61d20638b8e5c026930c3e6039"
         "a33ce45964ff2167f6ecedd419db06c1"},
        {"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmn"
         "hijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu",
         "cf5b16a778af8380036ce59e7b049237"
         "0b249b11e8f07a51afac45037afee9d1"},
    };
    char hex[SHA256_HEX + 1];
    size_t i;

    for (i = 0; i < COUNT(table); i++) {
        sha256_hex(str_of(table[i].z), hex);
        CHECK(strcmp(hex, table[i].hex) == 0);
    }
    sha256_hex(STR_NONE, hex);
    CHECK(strcmp(hex, table[0].hex) == 0);
}

/* A million times "a", then every cut of a text into two pieces. */
TEST(sha256_in_pieces)
{
    static const uint8_t million[] = {0xcd, 0xc7, 0x6e, 0x5c,
                                      0x99, 0x14, 0xfb, 0x92};
    uint8_t out[SHA256_LEN], again[SHA256_LEN];
    struct sha256 s;
    char text[200];
    size_t n, cut;

    memset(text, 'a', sizeof(text));
    sha256_init(&s);
    for (n = 0; n < 1000000; n += 125)
        sha256_add(&s, text, 125);
    sha256_end(&s, out);
    CHECK(memcmp(out, million, sizeof(million)) == 0);
    for (n = 0; n < sizeof(text); n++)
        for (cut = 0; cut <= n; cut++) {
            sha256_init(&s);
            sha256_add(&s, guard_copy(text, cut), cut);
            sha256_add(&s, guard_copy(text + cut, n - cut), n - cut);
            sha256_end(&s, cut == 0 ? out : again);
            if (cut > 0)
                CHECK(memcmp(out, again, sizeof(out)) == 0);
        }
}

/* A line on stderr may quote text from anywhere. */
TEST(text_tell_is_safe_for_a_terminal)
{
    char said[64] = "";
    int old = dup(2), p[2];

    CHECK(old >= 0 && pipe(p) == 0 && dup2(p[1], 2) == 2);
    text_tell("a%sb\n", "\x1b\x7f\xc2\x9b\xc3\x9b\n\xe2\x80\xa8\xff");
    CHECK(dup2(old, 2) == 2);
    CHECK(read(p[0], said, sizeof(said) - 1) == 14);
    CHECK(strcmp(said, "a????\xc3\x9b?????b\n") == 0);
    close(old);
    close(p[0]);
    close(p[1]);
}

/* Every text of 12 letters a and b, and the first place of each of its
   beginnings of up to 6 letters, turned around. */
TEST(finding_slices)
{
    char in[12], what[6];
    size_t i, n, at;

    CHECK(str_find(STR("ab"), STR("")) == 0 && str_find(STR(""), STR("")) == 0);
    CHECK(str_find(STR("ab"), STR("abc")) == SIZE_MAX);
    CHECK(str_find((struct str){"a\0b", 3}, STR("b")) == 2);
    for (unsigned bits = 0; bits < 1u << sizeof in; bits++) {
        for (i = 0; i < sizeof in; i++)
            in[i] = bits >> i & 1 ? 'a' : 'b';
        for (n = 1; n <= sizeof what; n++) {
            for (i = 0; i < n; i++)
                what[i] = in[n - 1 - i];
            for (at = 0; at + n <= sizeof in &&
                         memcmp(in + at, what, n) != 0; at++)
                continue;
            if (!CHECK(str_find((struct str){in, sizeof in},
                                (struct str){what, n}) ==
                       (at + n <= sizeof in ? at : SIZE_MAX)))
                return;
        }
    }
}

/* As realpath sees it, if it is there. */
TEST(real_paths)
{
    static const char *const there[] = {
        ".", "a", "a/b/", "a//./b/../b/f", "f", "up/a/b/f", "a/b/up/up/f",
        "chain", "chain/f", "/", "/..", "a/b/abs/a", "f/f", "loop",
        "loop/f"};
    static const char *const missing[][2] = {
        {"new", "/new"}, {"no/such/f", "/no/such/f"}, {"no/../f", "/f"},
        {"chain/new", "/a/b/new"}, {"up/no/f", "/no/f"}, {"void", NULL},
        {"void/f", NULL}, {"to_void", NULL}, {"a/up/to_void/f", NULL}};
    char *top = test_tmpdir(), at[512], *got, *want;

    CHECK(chdir(top) == 0 && mkdir("a", 0700) == 0 && mkdir("a/b", 0700) == 0);
    CHECK(symlink("../..", "a/b/up") == 0 && symlink("a/b/up", "up") == 0);
    CHECK(symlink(".//up/a/b", "chain") == 0 && symlink(top, "a/b/abs") == 0);
    CHECK(symlink("loop", "loop") == 0 && symlink("..", "a/up") == 0);
    CHECK(symlink("no/where", "void") == 0 && symlink("void", "to_void") == 0);
    CHECK(fclose(fopen("f", "w")) == 0 && link("f", "a/b/f") == 0);
    for (size_t i = 0; i < COUNT(there); i++) {
        want = realpath(there[i], NULL);
        int e = errno;
        got = file_real(there[i]);
        CHECK((got == NULL) == (want == NULL));
        CHECK(got == NULL ? errno == e : strcmp(got, want) == 0);
        free(want);
        free(got);
    }
    want = realpath(".", NULL);
    for (size_t i = 0; i < COUNT(missing); i++) {
        text_put(at, sizeof at, "%s%s", want, missing[i][1] ? missing[i][1]
                                                            : "");
        got = file_real(missing[i][0]);
        CHECK(missing[i][1] != NULL ? got != NULL && strcmp(got, at) == 0
                                    : got == NULL && errno == ENOENT);
        free(got);
    }
    free(want);
    CHECK(chdir("/") == 0 && (got = file_real("tmp/..")) != NULL);
    CHECK(strcmp(got, "/") == 0);
    free(got);
    free(top);
}
