/* record - the log's bytes: one line per record, and nothing else.

   A line is a JSON object on its own and ends with a line feed:

   {"c":"<crc>","g":G,"n":N,"b":B,"p":P,"k":"<key>","t":"<time>",<body>}

   c  CRC-32C (Castagnoli) in 8 lower-case hex digits, of every byte from
      after the comma that follows it up to the line feed, not included
   g  generation: how often the log was compacted, from 1
   n  number of the record, from 1; never restarts, never reused
   b  n of the first record of the batch it was written in, b <= n
   p  n of the key's previous record, p < n; 0 for the first
   k  key, "<kind>/<id>": 1-255 printable ASCII bytes without " and \
   t  RFC 3339, UTC, milliseconds; never goes back, except after a record of
      another host whose clock was ahead
   <body>  members of the kind's own: at least one, no line feed

   Before it replaced a log, version 0.2.0 appended a record with the key
   log/closed to both files. To later versions that is a record like any
   other.

   The numbers are decimal without leading zeros. The seven members come in this
   order without blanks, so a reader needs no JSON parser for them.

   The first line is the header: k is "log", n is 0, and the body is
   "mcptask-log":VERSION,"id":"<store id>"[,"compacted":true], followed by
   ,"archive":true in files written by the command archive. In every future
   version the first line has "mcptask-log": and a number; a reader that does
   not know the number leaves the file alone, whatever else the line holds. If
   that line is damaged, a whole record after it shows that the file is a log.

   In a compacted file, records with rising n follow (some left out), then the
   end record: k is "end", n is the highest number ever given, the body is
   "count":<records between header and end>. After it, or after the header of a
   file that was never compacted, n rises by one per record.

   Replay reads every byte of the log through this file, so the CRC and the
   splitting of lines are written for speed. It judges a line in isolation;
   log.c judges whether the line may follow the one before.

   Invariants:
   1. record_parse accepts exactly what record_put writes.
   2. No length or number found in the file is trusted. */

#include "store/record.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"

#include <string.h>

#define READ_CHUNK (256 * 1024)
#define PEEK 64 /* bytes with g and n of a record */

/* CRC-32C by slicing-by-8: eight bytes a step, one table each. The tables are
   made at first use: as zero pages, 8 KiB cost nothing in the binary. */
#define CRC_POLY 0x82f63b78u
static uint32_t crc_table[8][256];

static void
crc_init(void)
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t c = i;
        for (int k = 0; k < 8; k++)
            c = c & 1 ? c >> 1 ^ CRC_POLY : c >> 1;
        crc_table[0][i] = c;
    }
    for (uint32_t i = 0; i < 256; i++)
        for (int t = 1; t < 8; t++) {
            uint32_t c = crc_table[t - 1][i];
            crc_table[t][i] = c >> 8 ^ crc_table[0][c & 0xff];
        }
}

static uint32_t
le32(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
           (uint32_t)p[3] << 24;
}

uint32_t
crc32c_table(uint32_t crc, const void *data, size_t n)
{
    const uint8_t *p = data;
    if (crc_table[0][1] == 0)
        crc_init();
    crc = ~crc;
    for (; n >= 8; p += 8, n -= 8) {
        uint32_t a = le32(p) ^ crc, b = le32(p + 4);
        crc = crc_table[7][a & 0xff] ^ crc_table[6][a >> 8 & 0xff] ^
              crc_table[5][a >> 16 & 0xff] ^ crc_table[4][a >> 24] ^
              crc_table[3][b & 0xff] ^ crc_table[2][b >> 8 & 0xff] ^
              crc_table[1][b >> 16 & 0xff] ^ crc_table[0][b >> 24];
    }
    for (; n > 0; p++, n--)
        crc = crc >> 8 ^ crc_table[0][(crc ^ *p) & 0xff];
    return ~crc;
}

#if defined(__x86_64__) && defined(__GNUC__)
#include <cpuid.h>

#if defined(__clang__) && __clang_major__ >= 14
#define SSE42 "sse4.2,crc32" /* zig turns the latter off by itself */
#else
#define SSE42 "sse4.2"
#endif

/* The CPU's own instruction, if it has one: every byte written, read or
   replayed pays for this sum. */
__attribute__((target(SSE42))) static uint32_t
crc32c_sse42(uint32_t crc, const void *data, size_t n)
{
    const uint8_t *p = data;
    uint64_t c = ~crc, word;
    for (; n >= sizeof word; p += sizeof word, n -= sizeof word) {
        memcpy(&word, p, sizeof word);
        c = __builtin_ia32_crc32di(c, word);
    }
    for (; n > 0; p++, n--)
        c = __builtin_ia32_crc32qi((uint32_t)c, *p);
    return ~(uint32_t)c;
}

uint32_t
crc32c(uint32_t crc, const void *p, size_t n)
{
    static signed char has; /* 0: not tested yet */
    unsigned a, b, c, d;
    if (has == 0)
        has = __get_cpuid(1, &a, &b, &c, &d) && c & bit_SSE4_2 ? 1 : -1;
    return has > 0 ? crc32c_sse42(crc, p, n) : crc32c_table(crc, p, n);
}
#else
uint32_t
crc32c(uint32_t crc, const void *p, size_t n)
{
    return crc32c_table(crc, p, n);
}
#endif

/* ---- writing ---- */

static bool
key_chars_ok(struct str key)
{
    for (size_t i = 0; i < key.len; i++) {
        unsigned char c = (unsigned char)key.p[i];
        if (c <= ' ' || c >= 0x7f || c == '"' || c == '\\')
            return false;
    }
    return key.len > 0 && key.len <= STORE_MAX_KEY;
}

bool
record_key_ok(struct str key)
{
    const char *slash = key.len > 0 ? memchr(key.p, '/', key.len) : NULL;
    return key_chars_ok(key) && slash != NULL && slash > key.p &&
           slash < key.p + key.len - 1;
}

static void
put_u64(struct buf *b, const char *before, uint64_t v)
{
    buf_z(b, before);
    buf_u64(b, v);
}

static void
put_str(struct buf *b, const char *before, struct str s)
{
    buf_z(b, before);
    buf_str(b, s);
}

void
record_put(struct buf *b, const struct store_rec *r)
{
    size_t at = b->len;
    put_u64(b, "{\"c\":\"00000000\",\"g\":", r->g);
    put_u64(b, ",\"n\":", r->n);
    put_u64(b, ",\"b\":", r->b);
    put_u64(b, ",\"p\":", r->p);
    put_str(b, ",\"k\":\"", r->key);
    put_str(b, "\",\"t\":\"", r->time);
    put_str(b, "\",", r->body);
    buf_z(b, "}\n");
    if (b->err)
        return;
    char *line = b->p + at;
    size_t len = b->len - at - 1;
    text_hex(line + RECORD_CRC_AT, 8,
             crc32c(0, line + RECORD_SUM_FROM, len - RECORD_SUM_FROM));
}

/* A program that knows version 1 only must not write a replica. */
#define VERSION "\"mcptask-log\":"
#define PLAIN VERSION "1"
#define REPLICA VERSION "2"
#define ARCHIVE ",\"archive\":true"

bool
record_archives(const struct store_rec *r)
{
    size_t n = sizeof ARCHIVE - 1;

    return str_is(r->key, RECORD_KEY_LOG) && r->body.len > n &&
           memcmp(r->body.p + r->body.len - n, ARCHIVE, n) == 0;
}

/* Appends one of the log's own records. */
static void
put_own(struct buf *b, struct store_rec *r, const char *body, int64_t now_ms)
{
    r->time = str_of(time_text(now_ms));
    r->body = str_of(body);
    record_put(b, r);
}

void
record_put_header(struct buf *b, const struct record_header *h,
                  int64_t now_ms)
{
    char body[128];
    struct store_rec r = {.g = h->g, .key = STR(RECORD_KEY_LOG)};
    text_put(body, sizeof body, "%s,\"id\":\"%s\"%s%s",
             h->replica ? REPLICA : PLAIN, h->id,
             h->compacted || h->archive ? ",\"compacted\":true" : "",
             h->archive ? ARCHIVE : "");
    put_own(b, &r, body, now_ms);
}

void
record_put_end(struct buf *b, uint64_t g, uint64_t n, uint64_t count,
               int64_t now_ms)
{
    char body[48];
    struct store_rec r = {.g = g, .n = n, .b = n, .key = STR(RECORD_KEY_END)};
    text_put(body, sizeof body, "\"count\":%llu", (unsigned long long)count);
    put_own(b, &r, body, now_ms);
}

/* ---- reading ---- */

/* Steps over the text z at *p. */
static bool
skip_text(const char **p, const char *end, const char *z)
{
    const char *at = *p;
    for (; *z != '\0'; z++)
        if (at == end || *at++ != *z)
            return false;
    *p = at;
    return true;
}

/* Steps over a member "x":<number>, and z is its text before the number. */
static bool
parse_u64(const char **p, const char *end, const char *z, uint64_t *out)
{
    if (!skip_text(p, end, z))
        return false;
    const char *from = *p;
    uint64_t v = 0;
    while (*p < end && **p >= '0' && **p <= '9' && *p - from < 19)
        v = v * 10 + (uint64_t)(*(*p)++ - '0');
    *out = v;
    return *p > from && (*from != '0' || *p == from + 1) &&
           skip_text(p, end, ",");
}

static bool
parse_quoted(const char **p, const char *end, const char *z, struct str *out)
{
    if (!skip_text(p, end, z))
        return false;
    const char *quote = memchr(*p, '"', (size_t)(end - *p));
    if (quote == NULL)
        return false;
    *out = (struct str){*p, (size_t)(quote - *p)};
    *p = quote + 1;
    return skip_text(p, end, ",");
}

int
record_parse(struct str line, struct store_rec *out)
{
    const char *p = line.p, *end = line.p + line.len;
    uint32_t crc;
    memset(out, 0, sizeof *out);
    if (!skip_text(&p, end, "{\"c\":\"") || end - p < 10 ||
        !text_hex32(p, &crc))
        return ERR_SYNTAX;
    p += 8;
    if (!skip_text(&p, end, "\",") ||
        crc != crc32c(0, p, (size_t)(end - p)))
        return ERR_SYNTAX;
    if (!parse_u64(&p, end, "\"g\":", &out->g) ||
        !parse_u64(&p, end, "\"n\":", &out->n) ||
        !parse_u64(&p, end, "\"b\":", &out->b) ||
        !parse_u64(&p, end, "\"p\":", &out->p) ||
        !parse_quoted(&p, end, "\"k\":\"", &out->key) ||
        !parse_quoted(&p, end, "\"t\":\"", &out->time))
        return ERR_SYNTAX;
    if (out->g > RECORD_MAX_G || out->n > RECORD_MAX_N ||
        out->b > out->n || (out->n > 0 && out->p >= out->n) ||
        !key_chars_ok(out->key) || end - p < 2 || end[-1] != '}')
        return ERR_SYNTAX;
    out->body = (struct str){p, (size_t)(end - p) - 1};
    out->line = line;
    return 0;
}

bool
record_peek_n(struct str line, uint64_t *n)
{
    const char *p = line.p, *end = line.p + line.len;
    uint64_t g;
    if (line.len <= RECORD_SUM_FROM)
        return false;
    p += RECORD_SUM_FROM;
    return parse_u64(&p, end, "\"g\":", &g) && parse_u64(&p, end, "\"n\":", n);
}

uint32_t
record_sum(struct str line)
{
    const char *p = line.p + RECORD_SUM_FROM, *end = line.p + line.len;
    uint64_t g;
    if (line.len <= RECORD_SUM_FROM || !parse_u64(&p, end, "\"g\":", &g))
        return 0;
    return crc32c(0, p, (size_t)(end - p));
}

/* Finds the number after the text z, anywhere in s. */
static bool
find_u64(struct str s, const char *z, uint64_t *out)
{
    size_t at = str_find(s, str_of(z)), n = 0;
    if (at == SIZE_MAX)
        return false;
    s = str_from(s, at + strlen(z));
    while (n < s.len && s.p[n] >= '0' && s.p[n] <= '9')
        n++;
    return str_u64((struct str){s.p, n}, out);
}

#define HEAD_MAX 120 /* bytes of a line before its key */

/* Reads the key of the record at the start of the line, if possible. */
static bool
peek_own_key(struct str line, struct str *key)
{
    const char *p = line.p, *end = line.p + line.len;
    const char *last = line.len < HEAD_MAX ? end : p + HEAD_MAX;

    while (p < last && !parse_quoted(&p, end, "\"k\":\"", key))
        p++;
    return p < last && key_chars_ok(*key);
}

bool
record_peek_key(struct str *line, struct str *key)
{
    static const char begin[] = "{\"c\":\"";
    size_t n = sizeof begin - 1;
    bool found = false;

    while (!found && line->len > n) {
        found = peek_own_key(*line, key);
        do { /* to where another record begins */
            line->p++;
            line->len--;
        } while (line->len > n && memcmp(line->p, begin, n) != 0);
    }
    return found;
}

/* Whether only the digit of the version of a damaged line is wrong: with that
   of a known version the line is whole. */
static bool
has_wrong_digit(struct str line)
{
    char copy[RECORD_HEADER_MAX];
    struct store_rec r;
    size_t at = str_find(line, STR(VERSION)) + sizeof VERSION - 1;
    if (line.len > sizeof copy)
        return false;
    memcpy(copy, line.p, line.len);
    for (int known = 1; known <= RECORD_VERSION; known++) {
        copy[at] = (char)('0' + known);
        if (record_parse((struct str){copy, line.len}, &r) == 0)
            return true;
    }
    return false;
}

int
record_parse_header(struct str line, struct record_header *out)
{
    struct store_rec r;
    memset(out, 0, sizeof *out);
    bool whole = record_parse(line, &r) == 0;
    if (whole && record_key_ok(r.key)) /* what it holds says nothing */
        return ERR_FORMAT;
    if (!find_u64(line, VERSION, &out->version) || out->version < 1)
        return ERR_FORMAT;
    if (out->version > RECORD_VERSION) {
        if (whole || !has_wrong_digit(line))
            return ERR_FORMAT;
        out->version = 0;
    }
    if (!whole || !str_is(r.key, RECORD_KEY_LOG))
        return ERR_SYNTAX;
    const char *p = r.body.p, *end = p + r.body.len;
    out->replica = skip_text(&p, end, REPLICA);
    if ((!out->replica && !skip_text(&p, end, PLAIN)) ||
        !skip_text(&p, end, ",\"id\":\"") || end - p <= RECORD_ID ||
        p[RECORD_ID] != '"')
        return ERR_SYNTAX;
    memcpy(out->id, p, RECORD_ID);
    p += RECORD_ID + 1;
    out->compacted = skip_text(&p, end, ",\"compacted\":true");
    out->g = r.g;
    return r.g > 0 && r.g <= RECORD_MAX_G ? 0 : ERR_SYNTAX;
}

void
record_guess_header(struct str line, struct record_header *out)
{
    const char *p = line.p, *end = line.p + line.len;
    for (; p < end; p++) {
        const char *at = p;
        out->compacted |= skip_text(&at, end, "\"compacted\":true");
        at = p;
        if (skip_text(&at, end, "\"id\":\"") && end - at > RECORD_ID &&
            at[RECORD_ID] == '"' &&
            str_is_hex((struct str){at, RECORD_ID}, RECORD_ID))
            memcpy(out->id, at, RECORD_ID);
    }
}

uint64_t
record_end_count(const struct store_rec *r)
{
    uint64_t count;
    return find_u64(r->body, "\"count\":", &count) ? count : 0;
}

/* ---- lines in order ---- */

/* Reads more bytes after those in b. 1, 0 at the end, or an error. */
static int
fill_reader(struct record_reader *r)
{
    if (r->filled == 0)
        r->filled = r->off;
    if (r->filled >= r->end)
        return 0;
    if (r->pos > 0) {
        buf_consume(&r->b, r->pos);
        r->pos = 0;
    }
    int64_t want = r->end - r->filled;
    if (want > (r->chunk > 0 ? r->chunk : READ_CHUNK))
        want = r->chunk > 0 ? r->chunk : READ_CHUNK;
    char *room = buf_room(&r->b, (size_t)want);
    if (room == NULL)
        return ERR_NOMEM;
    ssize_t n = file_read_at(r->fd, room, (size_t)want, r->filled);
    if (n < 0)
        return ERR_IO;
    if (n == 0) /* the file is shorter than announced */
        r->end = r->filled;
    r->b.len += (size_t)n;
    r->filled += n;
    if (r->chunk > 0 && r->chunk < READ_CHUNK)
        r->chunk *= 2;
    return n > 0;
}

static void
advance_reader(struct record_reader *r, size_t n)
{
    r->pos += n;
    r->off += (int64_t)n;
}

int
record_skip(struct record_reader *r)
{
    for (;;) {
        size_t have = r->b.len - r->pos;
        char *at = have ? r->b.p + r->pos : NULL;
        char *lf = have ? memchr(at, '\n', have) : NULL;
        advance_reader(r, lf ? (size_t)(lf - at) + 1 : have);
        int rc = lf ? 1 : fill_reader(r);
        if (rc <= 0 || lf)
            return rc;
    }
}

int
record_next(struct record_reader *r, struct str *line, int64_t *off)
{
    size_t have, seen = 0; /* bytes of the line already searched */
    char *at, *lf;
    *off = r->off;
    for (int more = 1;; seen = have) {
        have = r->b.len - r->pos;
        at = have ? r->b.p + r->pos : NULL; /* fill may have moved them */
        lf = have > seen ? memchr(at + seen, '\n', have - seen) : NULL;
        if (lf != NULL || have > STORE_MAX_RECORD || more == 0)
            break;
        more = fill_reader(r);
        if (more < 0)
            return more;
    }
    *line = (struct str){at, lf ? (size_t)(lf - at) : have};
    if (line->len > STORE_MAX_RECORD) {
        /* only its first bytes may be read */
        line->len = 0;
        int rc = record_skip(r);
        return rc < 0 ? rc : ERR_TOO_LARGE;
    }
    advance_reader(r, line->len + (lf != NULL));
    if (lf != NULL)
        return 1;
    return have > 0 ? ERR_INCOMPLETE : 0;
}

int
record_next_whole(struct record_reader *r, struct store_rec *out,
                  int64_t *off)
{
    struct str line;
    int rc;
    do
        rc = record_next(r, &line, off);
    while ((rc == 1 && record_parse(line, out) != 0) || rc == ERR_INCOMPLETE ||
           rc == ERR_TOO_LARGE);
    return rc;
}

void
record_reader_fini(struct record_reader *r)
{
    buf_fini(&r->b);
}
