/* t_record - the format of a line, its checksum, and reading lines in order. */

#include "store/record.h"
#include "tests/lib/faults.h"
#include "tests/lib/test.h"

#include <fcntl.h>

/* RFC 3720, B.4, and the check value of the CRC catalogues. */
TEST(crc32c_known)
{
    uint8_t p[48];
    CHECK(crc32c(0, "", 0) == 0);
    CHECK(crc32c(0, "123456789", 9) == 0xe3069283u);
    CHECK(crc32c(0, "a", 1) == 0xc1d04330u);
    memset(p, 0, 32);
    CHECK(crc32c(0, p, 32) == 0x8a9136aau);
    memset(p, 0xff, 32);
    CHECK(crc32c(0, p, 32) == 0x62a8ab43u);
    for (uint8_t i = 0; i < 32; i++)
        p[i] = i;
    CHECK(crc32c(0, p, 32) == 0x46dd794eu);
    for (uint8_t i = 0; i < 32; i++)
        p[i] = (uint8_t)(31 - i);
    CHECK(crc32c(0, p, 32) == 0x113fdb5cu);
}

TEST(crc32c_in_parts)
{
    char p[100];
    for (size_t i = 0; i < sizeof p; i++)
        p[i] = (char)(i * 37 + 11);
    uint32_t whole = crc32c(0, p, sizeof p);
    for (size_t cut = 0; cut <= sizeof p; cut++)
        CHECK(crc32c(crc32c(0, p, cut), p + cut, sizeof p - cut) == whole);
}

/* Logs are read on CPUs with and without an instruction for this. */
TEST(crc32c_without_instruction)
{
    char p[100];
    for (size_t i = 0; i < sizeof p; i++)
        p[i] = (char)(i * 37 + 11);
    for (size_t n = 0; n < sizeof p; n++)
        CHECK(crc32c_table(7, p + 1, n) == crc32c(7, p + 1, n));
}

TEST(key_forms)
{
    static const struct {
        const char *key;
        bool ok;
    } cases[] = {
        {"task/1", true},    {"a/b", true},       {"a/b/c", true},
        {"task/", false},    {"/x", false},       {"task", false},
        {"", false},         {"/", false},        {"log", false},
        {"end", false},      {"task/a b", false}, {"task/a\"b", false},
        {"task/\\", false},  {"task/\x7f", false}, {"task/\n", false},
        {"task/\xc3\xa9", false}, {"task/~!{}", true},
    };
    char key[STORE_MAX_KEY + 2];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CHECK(record_key_ok(str_of(cases[i].key)) == cases[i].ok);
    memset(key, 'x', sizeof key);
    key[1] = '/';
    CHECK(record_key_ok((struct str){key, STORE_MAX_KEY}));
    CHECK(!record_key_ok((struct str){key, STORE_MAX_KEY + 1}));
}

#define SAMPLE_MS INT64_C(1785231000000)

static const struct store_rec sample = {
    .g = 3, .n = 1234567890123456789u, .b = 1234567890123456780u, .p = 17,
    .key = {"task/abc", 8}, .time = {"2026-07-28T09:30:00.000Z", 24},
    .body = {"\"op\":\"create\",\"v\":{\"a\":[1,2]}", 30}};

TEST(put_then_parse)
{
    struct buf b = {0};
    struct store_rec r;
    uint64_t n;
    record_put(&b, &sample);
    record_put(&b, &sample); /* the second is appended after the first */
    CHECK(b.err == 0 && b.len % 2 == 0);
    struct str line = {b.p + b.len / 2, b.len / 2 - 1};
    CHECK(memcmp(b.p, line.p, line.len + 1) == 0 && line.p[line.len] == '\n');
    line.p = guard_copy(line.p, line.len);
    CHECK(record_parse(line, &r) == 0);
    CHECK(r.g == sample.g && r.n == sample.n && r.b == sample.b &&
          r.p == sample.p);
    CHECK(str_eq(r.key, sample.key) && str_eq(r.time, sample.time) &&
          str_eq(r.body, sample.body) && r.line.p == line.p &&
          r.line.len == line.len);
    CHECK(record_peek_n(line, &n) && n == sample.n);
    buf_fini(&b);
}

/* The format is a promise to every later version: byte for byte. */
TEST(bytes)
{
    static const char want[] =
        "{\"c\":\"360d4fb3\",\"g\":1,\"n\":2,\"b\":1,\"p\":0,"
        "\"k\":\"task/x\",\"t\":\"2026-07-28T09:30:00.000Z\",\"v\":{}}\n";
    struct store_rec r = {.g = 1, .n = 2, .b = 1, .key = STR("task/x"),
                          .time = sample.time, .body = STR("\"v\":{}")};
    struct buf b = {0};
    record_put(&b, &r);
    CHECK(str_is(buf_view(&b), want));
    buf_fini(&b);
}

/* Every byte of a line counts: any other value is refused. */
TEST(parse_no_altered_byte)
{
    struct buf b = {0};
    struct store_rec r;
    int taken = 0;
    record_put(&b, &sample);
    for (size_t i = 0; i < b.len - 1; i++) {
        char was = b.p[i];
        for (int v = 0; v < 256; v++) {
            b.p[i] = (char)v;
            taken += record_parse((struct str){b.p, b.len - 1}, &r) == 0;
        }
        b.p[i] = was;
    }
    CHECK(taken == (int)b.len - 1); /* only the unchanged bytes */
    for (size_t len = 0; len < b.len - 1; len++)
        CHECK(record_parse((struct str){guard_copy(b.p, len), len}, &r) ==
              ERR_SYNTAX);
    buf_fini(&b);
}

#define REST ",\"k\":\"a/b\",\"t\":\"x\",\"v\":1}"

/* Lines with a valid checksum but another form. */
TEST(parse_forms)
{
    static const struct {
        const char *rest; /* after c */
        bool ok;
    } cases[] = {
        {"\"g\":1,\"n\":2,\"b\":1,\"p\":1" REST, true},
        {"\"g\":1,\"n\":2,\"b\":2,\"p\":0"
         ",\"k\":\"a/b\",\"t\":\"\",\"v\":1}", true},
        {"\"g\":1,\"n\":2,\"b\":3,\"p\":0" REST, false},
        {"\"g\":1,\"n\":2,\"b\":1,\"p\":2" REST, false},
        {"\"g\":01,\"n\":2,\"b\":1,\"p\":1" REST, false},
        {"\"g\":,\"n\":2,\"b\":1,\"p\":1" REST, false},
        {"\"g\":-1,\"n\":2,\"b\":1,\"p\":1" REST, false},
        {"\"g\": 1,\"n\":2,\"b\":1,\"p\":1" REST, false},
        {"\"n\":2,\"g\":1,\"b\":1,\"p\":1" REST, false},
        {"\"g\":1,\"n\":2,\"b\":1,\"p\":1"
         ",\"k\":\"a/\\u\",\"t\":\"x\",\"v\":1}", false},
        {"\"g\":1,\"n\":2,\"b\":1,\"p\":1"
         ",\"k\":\"\",\"t\":\"x\",\"v\":1}", false},
        {"\"g\":1,\"n\":2,\"b\":1,\"p\":1"
         ",\"k\":\"a/b\",\"t\":\"x\",\"v\":1]", false},
        {"\"g\":1,\"n\":2,\"b\":1,\"p\":1,\"k\":\"a/b\",\"t\":\"x\",}", false},
        {"\"g\":1,\"n\":2,\"b\":1,\"p\":1,\"k\":\"a/b\",\"t\":\"x\"}", false},
        {"\"g\":1,\"n\":18446744073709551617,\"b\":1,\"p\":1" REST, false},
        {"", false}, {"}", false},
    };
    struct store_rec r;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char line[256];
        size_t n = strlen(cases[i].rest);
        snprintf(line, sizeof line, "{\"c\":\"%08x\",%s",
                 (unsigned)crc32c(0, cases[i].rest, n), cases[i].rest);
        struct str s = str_of(line);
        s.p = guard_copy(s.p, s.len);
        if (!CHECK((record_parse(s, &r) == 0) == cases[i].ok))
            fprintf(stderr, "    %s\n", line);
    }
}

TEST(header_versions)
{
    struct record_header h = {.g = 7, .compacted = true}, got;
    static const struct {
        const char *line;
        int err;
        uint64_t version;
    } cases[] = {
        {"", ERR_FORMAT, 0},
        {"SQLite format 3", ERR_FORMAT, 0},
        {"{\"jsonrpc\":\"2.0\"}", ERR_FORMAT, 0},
        {"{\"mcptask-log\":}", ERR_FORMAT, 0},
        {"{\"mcptask-log\":\"1\"}", ERR_FORMAT, 0},
        {"{\"mcptask-log\":3,\"whatever\":1}", ERR_FORMAT, 3},
        {"{\"c\":\"0\",\"mcptask-log\":99}", ERR_FORMAT, 99},
        {"{\"mcptask-log\":1}", ERR_SYNTAX, 1},
        {"# any text \"mcptask-log\":20260729 and more", ERR_FORMAT, 20260729},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CHECK(record_parse_header(str_of(cases[i].line), &got) ==
              cases[i].err);
        CHECK(got.version == cases[i].version);
    }
    snprintf(h.id, sizeof h.id, "00112233445566778899aabbccddeeff");
    for (unsigned version = 3; version < 40; version++) { /* whole lines */
        char body[80];
        struct buf b = {0};
        snprintf(body, sizeof body, "\"mcptask-log\":%u,\"id\":\"%s\"",
                 version, h.id);
        struct store_rec r = {.g = 1, .key = STR(RECORD_KEY_LOG),
                              .time = STR("2026-07-28T09:00:00.000Z"),
                              .body = str_of(body)};
        record_put(&b, &r);
        CHECK(record_parse_header((struct str){b.p, b.len - 1}, &got) ==
                  ERR_FORMAT && got.version == version);
        buf_fini(&b);
    }
    for (int i = 0; i < 4; i++) {
        struct buf b = {0};
        h.compacted = i & 1;
        h.replica = i & 2;
        record_put_header(&b, &h, SAMPLE_MS);
        CHECK(b.len < RECORD_HEADER_MAX);
        struct str line = {guard_copy(b.p, b.len - 1), b.len - 1};
        CHECK(record_parse_header(line, &got) == 0 && got.g == 7 &&
              got.version == (h.replica ? 2 : 1) &&
              got.compacted == h.compacted &&
              got.replica == h.replica && strcmp(got.id, h.id) == 0);
        char *digit = strstr(b.p, "\"mcptask-log\":") + 14;
        for (int bit = 0; bit < 8; bit++) { /* damage, no later version */
            *digit ^= (char)(1 << bit);
            CHECK(record_parse_header((struct str){b.p, b.len - 1}, &got) !=
                      0 && got.version <= RECORD_VERSION);
            *digit ^= (char)(1 << bit);
        }
        b.p[RECORD_CRC_AT] ^= 1;
        CHECK(record_parse_header((struct str){b.p, b.len - 1}, &got) ==
              ERR_SYNTAX);
        buf_fini(&b);
    }
}

TEST(end_record)
{
    struct buf b = {0};
    struct store_rec r;
    record_put_end(&b, 2, 500, 123, SAMPLE_MS);
    CHECK(record_parse((struct str){b.p, b.len - 1}, &r) == 0);
    CHECK(r.n == 500 && r.b == 500 && str_is(r.key, RECORD_KEY_END));
    CHECK(record_end_count(&r) == 123);
    buf_fini(&b);
}

/* Hosts compact when they like, so g and c are not part of the sum. */
TEST(sum)
{
    struct store_rec r = {.g = 2, .n = 42, .b = 41, .p = 7,
                          .key = STR("task/1"),
                          .time = STR("2026-07-28T09:30:00.000Z"),
                          .body = STR("\"op\":\"x\"")};
    struct buf a = {0}, b = {0};

    record_put(&a, &r);
    r.g = 1234;
    record_put(&b, &r);
    struct str one = {a.p, a.len - 1}, other = {b.p, b.len - 1};
    const char *from = strstr(one.p, "\"n\":");
    CHECK(record_sum(one) == crc32c(0, from, (size_t)(one.p + one.len - from)));
    CHECK(record_sum(one) == record_sum(other) && record_sum(one) != 0);
    CHECK(record_sum((struct str){one.p, one.len - 1}) != record_sum(one));
    CHECK(record_sum(STR("")) == 0);
    CHECK(record_sum(STR("{\"c\":\"00000000\",\"x\":1}")) == 0);
    buf_fini(&a);
    buf_fini(&b);
}

/* ---- lines ---- */

static int
file_of(const char *dir, const char *p, size_t n)
{
    char path[300];
    snprintf(path, sizeof path, "%s/lines", dir);
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (fd < 0 || write(fd, p, n) != (ssize_t)n)
        abort();
    return fd;
}

/* A line feed at every position around the end of a chunk or of the buffer. */
TEST(reader_chunk_borders)
{
    enum { CHUNK = 256 * 1024, N = CHUNK + 300 };
    char *dir = test_tmpdir(), *p = malloc(N);
    memset(p, 'x', N);
    p[N - 1] = '\n';
    int fd = file_of(dir, p, N);
    for (int at = CHUNK - 20; at < CHUNK + 20; at++) {
        struct record_reader r = {.fd = fd, .end = N};
        struct str line;
        int64_t off;
        CHECK(pwrite(fd, "\n", 1, at) == 1);
        CHECK(record_next(&r, &line, &off) == 1 && off == 0 &&
              line.len == (size_t)at &&
              memchr(line.p, '\n', line.len) == NULL);
        CHECK(record_next(&r, &line, &off) == 1 && off == at + 1 &&
              line.len == (size_t)(N - at - 2));
        CHECK(record_next(&r, &line, &off) == 0 && off == N && r.off == N);
        CHECK(pwrite(fd, "x", 1, at) == 1);
        record_reader_fini(&r);
    }
    close(fd);
    free(p);
    free(dir);
}

/* Every start and end within a few short lines. */
TEST(reader_ends)
{
    static const char text[] = "ab\n\ncdef\ngh";
    char *dir = test_tmpdir();
    int fd = file_of(dir, text, sizeof text - 1);
    for (int64_t from = 0; from < (int64_t)sizeof text; from++)
        for (int64_t end = from; end < (int64_t)sizeof text; end++) {
            struct record_reader r = {.fd = fd, .off = from, .end = end};
            struct str line;
            int64_t off, at = from;
            int rc;
            while ((rc = record_next(&r, &line, &off)) == 1) {
                CHECK(off == at && text[at + (int64_t)line.len] == '\n' &&
                      memcmp(line.p, text + at, line.len) == 0);
                at += (int64_t)line.len + 1;
            }
            CHECK(rc == (at < end ? ERR_INCOMPLETE : 0) && r.off == end);
            if (rc == ERR_INCOMPLETE)
                CHECK(off == at && line.len == (size_t)(end - at));
            CHECK(record_next(&r, &line, &off) == 0);
            record_reader_fini(&r);
        }
    close(fd);
    free(dir);
}

TEST(reader_long_lines)
{
    static const size_t lens[] = {STORE_MAX_RECORD - 1, STORE_MAX_RECORD,
                                  STORE_MAX_RECORD + 1, 1000 * 1000};
    char *dir = test_tmpdir(), *p = malloc(1000 * 1000 + 4);
    for (size_t i = 0; i < sizeof lens / sizeof *lens; i++) {
        size_t n = lens[i];
        int want = n > STORE_MAX_RECORD ? ERR_TOO_LARGE : 1;
        memset(p, 'x', n);
        memcpy(p + n, "\ny\n", 3);
        int fd = file_of(dir, p, n + 3);
        struct record_reader r = {.fd = fd, .end = (int64_t)n + 3};
        struct str line;
        int64_t off;
        CHECK(record_next(&r, &line, &off) == want && off == 0);
        CHECK(r.off == (int64_t)n + 1);
        CHECK(record_next(&r, &line, &off) == 1 && str_eq(line, STR("y")) &&
              off == (int64_t)n + 1);
        CHECK(record_next(&r, &line, &off) == 0);
        record_reader_fini(&r);
        close(fd);
    }
    free(p);
    free(dir);
}

/* A file shorter than announced, and one that is not open. */
TEST(reader_short_file)
{
    char *dir = test_tmpdir();
    int fd = file_of(dir, "ab\ncd", 5);
    struct record_reader r = {.fd = fd, .end = 100}, bad = {.fd = -1, .end = 9};
    struct str line;
    int64_t off;
    CHECK(record_next(&r, &line, &off) == 1);
    CHECK(record_next(&r, &line, &off) == ERR_INCOMPLETE && off == 3 &&
          r.off == 5);
    CHECK(record_next(&r, &line, &off) == 0);
    CHECK(record_next(&bad, &line, &off) == ERR_IO);
    record_reader_fini(&r);
    record_reader_fini(&bad);
    close(fd);
    free(dir);
}
