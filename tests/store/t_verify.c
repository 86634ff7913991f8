/* t_verify - checking, repairing, copying and archiving a log. */

#include "cli/cli.h"
#include "store/lock.h"
#include "tests/lib/store_test.h"

static char *dir, *path;

static void
fresh(void)
{
    free(dir);
    free(path);
    dir = test_tmpdir();
    path = path_in(dir, "tasks.log");
}

struct regions {
    int n;
    int64_t off[8], len[8];
    int64_t passed, size;
    uint64_t missing;
    char legible[64]; /* the keys found in damaged bytes, each with a blank */
};

static void
note_region(void *ctx, int64_t off, int64_t len, const char *what)
{
    struct regions *r = ctx;
    CHECK(what != NULL && what[0] != '\0' && len >= 0 && r->n < 8);
    r->off[r->n] = off;
    r->len[r->n++] = len;
}

static void
note_passed(void *ctx, int64_t off, int64_t size)
{
    struct regions *r = ctx;
    CHECK(off >= r->passed + 1024 * 1024 && off <= size);
    r->passed = off;
    r->size = size;
}

static void
note_lost(void *ctx, uint64_t from, uint64_t to)
{
    struct regions *r = ctx;
    CHECK(from <= to);
    r->missing += to - from + 1;
}

static void
note_legible(void *ctx, struct str key)
{
    struct regions *r = ctx;
    size_t n = strlen(r->legible);
    snprintf(r->legible + n, sizeof r->legible - n, "%.*s ", STR_ARG(key));
}

static int
verify(struct store_report *rep, struct regions *r)
{
    struct store_verify_callbacks w = {note_region, note_lost, note_legible,
                                      note_passed, r};
    return store_verify(path, rep, &w);
}

/* n records on k keys; every third shares a batch with the one before. */
static void
fill(struct tstore *t, int n, int k)
{
    bool unknown;
    for (int i = 0; i < n; i++) {
        char key[32];
        snprintf(key, sizeof key, "%s/%d", i % 2 ? "task" : "odd", i % k);
        if (i % 3 != 2)
            CHECK(store_lock(t->s) == 0);
        CHECK(store_stage(t->s, str_of(key), STR("\"v\":1")) == 0);
        if (i % 3 != 1 || i == n - 1) {
            CHECK(store_commit(t->s, &unknown) == 0);
            store_unlock(t->s);
        }
    }
}

TEST(whole_logs)
{
    struct store_report rep;
    struct regions none = {0};
    struct tstore t;
    struct store_state st;
    fresh();
    CHECK(verify(&rep, &none) == ERR_NOT_FOUND);
    CHECK(ts_open(&t, path) == 0);
    for (uint64_t g = 1; g < 4; g++) {
        fill(&t, 60, 11);
        st = *store_state(t.s);
        CHECK(verify(&rep, &none) == 0);
        CHECK(!rep.torn && !rep.damaged && rep.bad == 0 && rep.off == -1 &&
              rep.what[0] == '\0' && none.n == 0);
        CHECK(rep.g == g && rep.last_n == g * 60 && rep.bytes == st.len &&
              rep.keys == st.keys && rep.version == 1 &&
              strcmp(rep.id, st.id) == 0);
        CHECK((g == 1) == (rep.first_n == 1));
        CHECK(ts_compact(&t) == 0);
        CHECK(verify(&rep, &none) == 0);
        CHECK(!rep.torn && !rep.damaged && rep.g == g + 1);
    }
    ts_close(&t);
}

TEST(not_a_log)
{
    struct store_report rep;
    fresh();
    file_put(path, "", 0);
    CHECK(store_verify(path, &rep, NULL) == ERR_NOT_FOUND);
    file_put(path, "hello\n", 6);
    CHECK(store_verify(path, &rep, NULL) == ERR_FORMAT &&
          strstr(rep.what, "not an mcptask log"));
    file_put(path, "{\"mcptask-log\":3}\n", 18);
    CHECK(store_verify(path, &rep, NULL) == ERR_FORMAT &&
          strstr(rep.what, "version 3"));
    CHECK(store_verify(dir, &rep, NULL) == ERR_FORMAT);
    CHECK(store_repair(path, path_with(path, ".out"), &rep) == ERR_FORMAT);
    CHECK(access(path_with(path, ".out"), F_OK) != 0);
}

/* Logs made by hand whose lines are whole but contradict each other. */
TEST(order_and_links)
{
    static const struct {
        const char *why;
        uint64_t n, b, p;
        const char *key;
        bool good;
    } cases[] = {
        {"next", 4, 4, 3, "task/c", true},
        {"same batch", 4, 3, 2, "task/b", true},
        {"new key", 4, 4, 0, "task/d", true},
        {"number left out", 5, 5, 3, "task/c", false},
        {"number again", 3, 3, 2, "task/b", false},
        {"p: wrong key's", 4, 4, 2, "task/c", false},
        {"p: lost", 4, 4, 0, "task/c", false},
        {"p: of a new key", 4, 4, 2, "task/d", false},
        {"b: back", 4, 2, 3, "task/c", false},
        {"wrong key", 4, 4, 0, "task", false},
        {"a header", 4, 4, 0, "log", false},
        {"an end record", 4, 4, 0, "end", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct store_report rep;
        struct buf b = {0};
        fresh();
        log_header(&b, 1, false);
        log_record(&b, 1, 1, 1, 0, "task/a");
        log_record(&b, 1, 2, 2, 0, "task/b");
        log_record(&b, 1, 3, 3, 0, "task/c");
        size_t at = b.len;
        log_record(&b, 1, cases[i].n, cases[i].b, cases[i].p, cases[i].key);
        size_t end = b.len;
        uint64_t next = cases[i].n > 4 ? 6 : 5;
        log_record(&b, 1, next, next, 1, "task/a");
        file_put(path, b.p, b.len);
        CHECK(store_verify(path, &rep, NULL) == 0);
        bool ok = rep.damaged != cases[i].good && !rep.torn &&
                  rep.bad == !cases[i].good;
        ok &= cases[i].good || (rep.off == (int64_t)at && rep.line == 5);
        if (!CHECK(ok))
            fprintf(stderr, "    %s: %s\n", cases[i].why, rep.what);
        CHECK(end < b.len);
        buf_fini(&b);
    }
}

/* The numbers of missing records are reported, and each key that a damaged line
   still shows. */
TEST(what_is_lost)
{
    static const struct {
        const char *why;
        int cut, spoil, at; /* line numbers by n, 0: none; at: the byte to
                               change */
        uint64_t missing;
        const char *legible;
    } cases[] = {
        {"its body", 0, 4, 90, 1, "task/b "},
        {"not a byte of it", 3, 0, 0, 1, ""},
        {"its number", 0, 4, 26, 1, "task/b "},
        {"a letter of its key", 0, 4, 50, 1, "task/B "},
        {"the kind of its key", 0, 4, 49, 1, ""},
        {"the quote before its key", 0, 4, 44, 1, ""},
        {"its line feed", 0, 3, -1, 2, "task/a task/b "},
        {"two", 3, 4, 90, 2, "task/b "},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        static const char *const keys[] = {"task/a", "task/b", "task/a",
                                           "task/b", "task/a", "task/c",
                                           "task/d", "task/d"};
        static const uint64_t p[] = {0, 0, 1, 2, 3, 0, 0, 7};
        struct store_report rep;
        struct regions r = {0};
        struct buf b = {0};
        fresh();
        log_header(&b, 1, false);
        for (int n = 1; n <= 8; n++) {
            size_t from = b.len;
            log_record(&b, 1, (uint64_t)n, (uint64_t)n, p[n - 1], keys[n - 1]);
            if (n == cases[i].cut)
                b.len = from;
            if (n == cases[i].spoil)
                b.p[cases[i].at < 0 ? b.len - 1
                                    : from + (size_t)cases[i].at] ^= 0x20;
        }
        file_put(path, b.p, b.len);
        CHECK(verify(&rep, &r) == 0 && rep.damaged);
        if (!CHECK(r.missing == cases[i].missing &&
                   rep.lost == cases[i].missing &&
                   strcmp(r.legible, cases[i].legible) == 0))
            fprintf(stderr, "    %s: %d missing, %d lost: %s\n", cases[i].why,
                    (int)r.missing, (int)rep.lost, r.legible);
        buf_fini(&b);
    }
}

/* A flipped bit anywhere in the first line loses no record. The repaired log
   has another generation and, if it was legible, the same id. */
TEST(header_is_mended)
{
    char *out;
    size_t len, line;
    struct store_state st;
    struct store_report rep;
    struct tstore t;
    fresh();
    out = path_in(dir, "mended.log");
    CHECK(ts_open(&t, path) == 0);
    fill(&t, 5, 5);
    CHECK(ts_compact(&t) == 0);
    fill(&t, 5, 3);
    st = *store_state(t.s);
    ts_close(&t);
    char *log = file_get(path, &len);
    line = (size_t)((char *)memchr(log, '\n', len) - log);
    for (size_t i = 0; i < 8 * line; i++) {
        log[i / 8] = (char)(log[i / 8] ^ 1 << i % 8);
        file_put(path, log, len);
        log[i / 8] = (char)(log[i / 8] ^ 1 << i % 8);
        unlink(out);
        bool ok = store_repair(path, out, &rep) == 0 && rep.damaged &&
                  rep.records == 10 && rep.lost == 0 && rep.bad == 1;
        ok &= store_verify(out, &rep, NULL) == 0 && !rep.damaged &&
              rep.records == 10 && rep.g == st.g + LOG_NEXT_G;
        ok &= strlen(rep.id) == 32;
        if (i == 0)
            ok &= strcmp(rep.id, st.id) == 0;
        if (!CHECK(ok))
            fprintf(stderr, "    bit %zu of byte %zu: %s\n", i % 8, i / 8,
                    rep.what);
    }
    free(log);
    free(out);
}

/* p may name records that compaction dropped, and no others. */
TEST(links_in_compacted)
{
    static const uint64_t p_of[][2] = {
        {4, true}, {6, true}, {3, false}, {9, true}, {10, true}, {11, false}};
    for (size_t i = 0; i < sizeof p_of / sizeof *p_of; i++) {
        struct store_report rep;
        struct buf b = {0};
        fresh();
        log_header(&b, 3, true);
        log_record(&b, 3, 4, 3, 2, "task/a");
        log_record(&b, 3, 7, 7, 6, "task/b");
        record_put_end(&b, 3, 10, 2, TEST_TIME_MS);
        log_record(&b, 3, 11, 11, 0, "task/c");
        log_record(&b, 3, 12, 12, p_of[i][0], "task/a");
        file_put(path, b.p, b.len);
        CHECK(store_verify(path, &rep, NULL) == 0);
        CHECK(rep.damaged != p_of[i][1] && rep.records == 4);
        buf_fini(&b);
    }
}

TEST(end_record_counts)
{
    for (uint64_t count = 0; count < 4; count++) {
        struct store_report rep;
        struct buf b = {0};
        fresh();
        log_header(&b, 2, true);
        log_record(&b, 2, 4, 3, 2, "task/a");
        log_record(&b, 2, 7, 7, 6, "task/b");
        if (count > 0)
            record_put_end(&b, 2, 10, count, TEST_TIME_MS);
        file_put(path, b.p, b.len);
        CHECK(store_verify(path, &rep, NULL) == 0);
        CHECK(rep.damaged == (count != 2) && !rep.torn);
        buf_fini(&b);
    }
}

/* Order is by number. A host whose clock was ahead may have written a record of
   a shared store, so an earlier time after it is no damage. */
TEST(times)
{
    struct store_report rep;
    struct buf b = {0};
    struct store_rec r = {.g = 1, .n = 2, .b = 2, .p = 1,
                          .key = STR("task/a"), .body = STR("\"v\":1"),
                          .time = STR("2026-07-28T09:29:59.999Z")};
    fresh();
    log_header(&b, 1, false);
    log_record(&b, 1, 1, 1, 0, "task/a");
    record_put(&b, &r);
    file_put(path, b.p, b.len);
    CHECK(store_verify(path, &rep, NULL) == 0 && !rep.damaged);
    r.n = r.b = 3;
    r.p = 2;
    r.time = STR("2026-07-28T09:60:00.000Z");
    record_put(&b, &r);
    file_put(path, b.p, b.len);
    CHECK(store_verify(path, &rep, NULL) == 0 && rep.damaged &&
          strstr(rep.what, "time") && rep.line == 4);
    buf_fini(&b);
}

/* ---- torn, damaged, repaired ---- */

/* A log of 30 records with its line i flipped; returns its offset. */
static int64_t
spoil(int line, bool marked, size_t *line_len)
{
    struct tstore t;
    size_t len;
    fresh();
    CHECK(ts_open(&t, path) == 0);
    fill(&t, 30, 7);
    ts_close(&t);
    char *p = file_get(path, &len), *at = p;
    for (int i = 0; i < line; i++)
        at = strchr(at, '\n') + 1;
    at[60] ^= 1;
    *line_len = (size_t)(strchr(at, '\n') + 1 - at);
    file_put(path, p, len);
    if (!marked)
        CHECK(unlink(path_with(path, ".lock")) == 0);
    int64_t off = at - p;
    free(p);
    return off;
}

static int
count_one(void *ctx, const struct store_rec *r)
{
    (void)r;
    ++*(int *)ctx;
    return 0;
}

/* A repaired log is like any other. */
static void
check_mended(uint64_t records, const struct store_report *old)
{
    const char *out = path_with(path, ".mended");
    struct store_report rep;
    struct tstore t;
    int n = 0;
    CHECK(store_verify(out, &rep, NULL) == 0 && !rep.damaged &&
          !rep.torn && rep.g == old->g + LOG_NEXT_G);
    CHECK(old->id[0] == '\0' || strcmp(rep.id, old->id) == 0);
    CHECK(rep.records == records && rep.last_n == old->last_n);
    CHECK(ts_open(&t, out) == 0);
    CHECK(ts_put(&t, "task/after", "\"v\":1") == 0 && ts_is_replay(&t));
    CHECK(store_scan(t.s, 1, count_one, &n) == 0 && n == (int)records + 1);
    CHECK(store_find(t.s, STR("task/after"))->n == old->last_n + 1);
    ts_close(&t);
}

TEST(how_far_it_is)
{
    struct store_report rep;
    struct regions reg = {0};
    struct tstore t;
    struct buf b = {0};
    bool unknown;
    fresh();
    CHECK(ts_open(&t, path) == 0);
    buf_z(&b, "\"v\":\"");
    for (int i = 0; i < 100 * 1024; i++)
        buf_char(&b, 'x');
    buf_char(&b, '"');
    for (int i = 0; i < 40; i++) {
        CHECK(store_lock(t.s) == 0);
        CHECK(store_stage(t.s, STR("task/a"), buf_view(&b)) == 0);
        CHECK(store_commit(t.s, &unknown) == 0);
        store_unlock(t.s);
    }
    buf_fini(&b);
    CHECK(verify(&rep, &reg) == 0 && reg.n == 0);
    CHECK(reg.passed > 3 * 1024 * 1024 && reg.size == rep.bytes);
    ts_close(&t);
}

TEST(damage_is_told_and_mended)
{
    for (int i = 0; i <= 30; i++)
        for (int marked = 0; marked < 2; marked++) {
            struct store_report rep;
            struct regions reg = {0};
            size_t bad_len, len;
            int64_t off = spoil(i, marked, &bad_len);
            char *p = file_get(path, &len);
            /* for the last batches, only a mark shows that they were synced */
            bool torn = !marked && i >= 29;
            uint64_t left = i == 0 ? 30 : torn ? (uint64_t)i - 1 : 29;
            CHECK(verify(&rep, &reg) == 0);
            CHECK(rep.torn == torn && rep.damaged == !torn && rep.bad == 1);
            CHECK(rep.off == off && rep.line == (uint64_t)i + 1);
            CHECK(rep.records == left && reg.n == 1 && reg.off[0] == off);
            CHECK(torn ? reg.len[0] == (int64_t)len - off
                       : reg.len[0] == (int64_t)bad_len);
            CHECK(store_repair(path, path_with(path, ".mended"), &rep) ==
                  0);
            /* no number is reused, not even that of a lost record */
            CHECK(rep.last_n == (torn ? left : 30));
            struct store_report again;
            CHECK(store_repair(path, path_with(path, ".mended"), &again) ==
                  ERR_EXISTS);
            check_mended(left, &rep);
            CHECK(file_is(path, p, len));
            free(p);
        }
}

TEST(regions_are_joined)
{
    struct store_report rep;
    struct regions reg = {0};
    struct buf b = {0};
    fresh();
    log_header(&b, 1, false);
    log_record(&b, 1, 1, 1, 0, "task/a");
    int64_t off = (int64_t)b.len;
    buf_z(&b, "rubbish\n\nmore rubbish\n");
    int64_t end = (int64_t)b.len;
    log_record(&b, 1, 3, 3, 1, "task/a");
    buf_z(&b, "rubbish\n");
    log_record(&b, 1, 4, 4, 3, "task/a");
    file_put(path, b.p, b.len);
    CHECK(verify(&rep, &reg) == 0 && rep.damaged);
    CHECK(rep.bad == 2 && reg.n == 2 && reg.off[0] == off &&
          reg.len[0] == end - off && reg.len[1] == 8);
    CHECK(rep.records == 3 && rep.last_n == 4 && rep.line == 3);
    buf_fini(&b);
}

TEST(shorter_than_the_mark)
{
    struct store_report rep;
    struct tstore t;
    size_t len;
    fresh();
    CHECK(ts_open(&t, path) == 0);
    fill(&t, 9, 3);
    char *p = file_get(path, &len);
    ts_close(&t);
    p[len - 1] = '\0'; /* cut to a whole line */
    file_put(path, p, (size_t)(strrchr(p, '\n') + 1 - p));
    CHECK(store_verify(path, &rep, NULL) == 0 && rep.damaged &&
          !rep.torn && strstr(rep.what, "committed end"));
    free(p);
}

/* Only the mark is left; without it, the log is new. */
TEST(emptied)
{
    struct store_report rep;
    struct regions reg = {0};
    struct tstore t;
    fresh();
    CHECK(ts_open(&t, path) == 0);
    fill(&t, 9, 3);
    CHECK(ts_compact(&t) == 0 && ts_put(&t, "task/a", "\"v\":1") == 0);
    ts_close(&t);
    file_put(path, "", 0);
    CHECK(verify(&rep, &reg) == 0 && rep.damaged && !rep.torn);
    CHECK(strstr(rep.what, "the log is empty, but") != NULL && rep.off == 0);
    CHECK(rep.bad == 1 && reg.n == 1 && reg.off[0] == 0 && reg.len[0] == 0);
    CHECK(rep.g == 2 && rep.records == 0 && rep.bytes == 0);
    CHECK(store_repair(path, path_with(path, ".mended"), &rep) == 0);
    CHECK(rep.g == 2 && rep.last_n == 10);
    check_mended(0, &rep);
    CHECK(unlink(path_with(path, ".lock")) == 0);
    CHECK(verify(&rep, &reg) == ERR_NOT_FOUND && reg.n == 1);
}

/* Bytes after the mark are not torn while their writer is alive. */
TEST(beside_a_writer)
{
    struct store_report rep;
    struct regions reg = {0};
    struct tstore t;
    struct store_state st;
    int said[2], heard[2];
    char c;
    fresh();
    CHECK(pipe(said) == 0 && pipe(heard) == 0);
    CHECK(ts_open(&t, path) == 0);
    fill(&t, 9, 3);
    st = *store_state(t.s);
    ts_close(&t);
    pid_t pid = child_begin();
    if (pid == 0) {
        close(heard[1]);
        CHECK(ts_open(&t, path) == 0 && store_lock(t.s) == 0);
        int fd = open(path, O_WRONLY | O_APPEND);
        CHECK(write(fd, "{\"c\":\"12", 8) == 8);
        CHECK(write(said[1], "!", 1) == 1 && read(heard[0], &c, 1) == 0);
        _exit(test_failed != 0); /* as if killed */
    }
    close(said[1]);
    close(heard[0]);
    CHECK(read(said[0], &c, 1) == 1);
    CHECK(verify(&rep, &reg) == 0 && !rep.torn && !rep.damaged);
    CHECK(rep.records == 9 && rep.bytes == st.len && reg.n == 0);
    close(said[0]);
    close(heard[1]);
    CHECK(child_ok(pid));
    CHECK(verify(&rep, &reg) == 0 && rep.torn && !rep.damaged);
    CHECK(reg.n == 1 && reg.off[0] == st.len && reg.len[0] == 8);
}

/* ---- backup ---- */

struct copied {
    uint64_t n;
    int stop_at;
};

static int
note_copied(void *ctx, const struct store_rec *r)
{
    struct copied *c = ctx;
    CHECK(r->n > 0 && r->body.len > 0);
    c->n++;
    return c->stop_at != 0 && c->n == (uint64_t)c->stop_at ? 77 : 0;
}

static bool
same_file(const char *a, const char *b)
{
    size_t len;
    char *p = file_get(a, &len);
    bool same = p != NULL && file_is(b, p, len);
    free(p);
    return same;
}

TEST(backup)
{
    struct tstore t, copy;
    struct copied got = {0};
    fresh();
    CHECK(ts_open(&t, path) == 0);
    char *to = path_in(dir, "copy"), *log = path_in(to, "tasks.log");
    CHECK(store_backup(t.s, to, NULL, NULL) == ERR_NOT_FOUND);
    for (int g = 0; g < 3; g++) {
        fill(&t, 30, 7);
        CHECK(g == 2 || ts_compact(&t) == 0);
    }
    CHECK(store_backup(t.s, to, NULL, NULL) != 0); /* the directory must
                                                      exist */
    CHECK(mkdir(to, 0700) == 0);
    /* bytes after the mark are not copied */
    size_t len;
    char *p = file_get(path, &len);
    int fd = open(path, O_WRONLY | O_APPEND);
    CHECK(write(fd, "{\"c\":", 5) == 5 && close(fd) == 0);
    CHECK(store_backup(t.s, to, note_copied, &got) == 0);
    CHECK(file_is(log, p, len));
    CHECK(same_file(path_with(path, ".1"), path_with(log, ".1")) &&
          same_file(path_with(path, ".2"), path_with(log, ".2")));
    CHECK(access(path_with(log, ".lock"), F_OK) != 0);
    CHECK(got.n >= 90);
    CHECK(store_backup(t.s, to, NULL, NULL) == ERR_EXISTS);
    CHECK(file_is(log, p, len));
    CHECK(ts_open(&copy, log) == 0);
    CHECK(ts_put(&copy, "task/after", "\"v\":1") == 0 && ts_is_replay(&copy));
    ts_close(&copy);
    ts_close(&t);
    free(p);
    free(log);
    free(to);
}

/* If one name is taken, or the caller ends it, no copy is there. */
TEST(backup_leaves_no_half)
{
    static const char *const taken[] = {"", ".1", ".2", ".lock"};
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++) {
        struct tstore t;
        struct copied got = {.stop_at = 3};
        fresh();
        CHECK(ts_open(&t, path) == 0);
        char *to = path_in(dir, "copy"), *log = path_in(to, "tasks.log");
        for (int g = 0; g < 3; g++) {
            fill(&t, 3, 2);
            CHECK(g == 2 || ts_compact(&t) == 0);
        }
        CHECK(mkdir(to, 0700) == 0);
        const char *there = path_with(log, taken[i]);
        file_put(there, "mine", 4);
        CHECK(store_backup(t.s, to, NULL, NULL) == ERR_EXISTS);
        CHECK(file_is(there, "mine", 4) && unlink(there) == 0);
        CHECK(rmdir(to) == 0 && mkdir(to, 0700) == 0);
        CHECK(store_backup(t.s, to, note_copied, &got) == 77 && got.n == 3);
        CHECK(rmdir(to) == 0);
        ts_close(&t);
        free(log);
        free(to);
    }
}

TEST(backup_of_damage)
{
    struct tstore t;
    size_t len;
    spoil(10, true, &len);
    CHECK(ts_open(&t, path) == 0);
    char *to = path_in(dir, "copy"), *log = path_in(to, "tasks.log");
    CHECK(mkdir(to, 0700) == 0);
    CHECK(store_backup(t.s, to, NULL, NULL) == ERR_DAMAGED);
    CHECK(same_file(path, log));
    ts_close(&t);
    free(log);
    free(to);
}

/* ---- archives ---- */

/* Runs when this process next waits for the write lock. */
static void (*meanwhile)(void);

int __real_store_lock_patiently(struct store *s);
int __wrap_store_lock_patiently(struct store *s);

int
__wrap_store_lock_patiently(struct store *s)
{
    void (*act)(void) = meanwhile;
    meanwhile = NULL;
    if (act != NULL) {
        pid_t pid = child_begin();
        if (pid == 0) {
            act();
            child_end();
        }
        CHECK(child_ok(pid));
    }
    return __real_store_lock_patiently(s);
}

static void
put_done(const char *key)
{
    struct tstore t;
    CHECK(ts_open(&t, path) == 0);
    CHECK(ts_put(&t, key, "\"op\":\"create\",\"by\":\"me\",\"v\":{"
                          "\"status\":\"done\"}") == 0);
    ts_close(&t);
}

static void
put_another(void)
{
    put_done("task/b");
}

static void
put_and_compact(void)
{
    struct tstore t;
    put_another();
    CHECK(ts_open(&t, path) == 0 && ts_compact(&t) == 0);
    ts_close(&t);
}

/* Whatever a process wrote that got the lock first is archived too. */
TEST(archive_behind_a_writer)
{
    static void (*const acts[])(void) = {NULL, put_another, put_and_compact};
    for (size_t i = 0; i < sizeof acts / sizeof *acts; i++) {
        char *argv[] = {(char[]){"archive"}, (char[]){"--done-before"},
                        (char[]){"2999-01-01"}, NULL};
        struct store_report rep;
        fresh();
        put_done("task/a");
        pid_t pid = child_begin();
        if (pid == 0) {
            struct cli_env env = {.log_path = path, .artifacts_dir = dir};
            CHECK(freopen("/dev/null", "w", stdout) != NULL);
            meanwhile = acts[i];
            CHECK(cli_main(&env, argv) == 0 && meanwhile == NULL);
            child_end();
        }
        CHECK(child_ok(pid));
        CHECK(store_verify(path_with(path, ".archive-2999-01-01"), &rep,
                           NULL) == 0);
        if (!CHECK(!rep.damaged && !rep.torn && rep.records == 1 + (i > 0)))
            fprintf(stderr, "    %s\n", rep.what);
        CHECK(store_verify(path, &rep, NULL) == 0 && !rep.damaged);
    }
}

/* ---- stored logs ---- */

/* The files in tests/data have the format as released: it must stay
   readable. */
TEST(kept_logs)
{
    static const struct {
        const char *name;
        int err; /* of store_open */
        uint64_t records;
        bool torn, damaged;
    } cases[] = {
        {"whole-empty.log", 0, 0, false, false},
        {"whole-single.log", 0, 12, false, false},
        {"whole-batches.log", 0, 12, false, false},
        {"whole-compacted.log", 0, 5, false, false},
        {"whole-closed.log", 0, 10, false, false},
        {"torn-line.log", 0, 11, true, false},
        {"torn-batch.log", 0, 10, true, false},
        {"damaged-header.log", ERR_DAMAGED, 12, false, true},
        {"damaged-record.log", 0, 11, false, true},
        {"damaged-no-end.log", 0, 2, false, true},
        {"refused-version.log", ERR_FORMAT, 0, false, false},
        {"refused-sqlite.log", ERR_FORMAT, 0, false, false},
        {"refused-text.log", ERR_FORMAT, 0, false, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct store_report rep;
        struct store_state st;
        struct tstore t;
        size_t len;
        char *from = path_in("tests/data", cases[i].name);
        char *p = file_get(from, &len);
        fresh();
        if (!CHECK(p != NULL))
            break;
        file_put(path, p, len);
        int err = cases[i].damaged ? 0 : cases[i].err;
        bool ok = store_verify(path, &rep, NULL) == err &&
                  rep.headless == (cases[i].err == ERR_DAMAGED) &&
                  rep.records == cases[i].records &&
                  rep.torn == cases[i].torn &&
                  rep.damaged == cases[i].damaged;
        ok &= ts_open(&t, path) == cases[i].err;
        if (t.s != NULL) {
            st = *store_state(t.s);
            ok &= st.torn == cases[i].torn;
            ok &= ts_put(&t, "task/after", "\"v\":1") ==
                  (cases[i].damaged ? ERR_DAMAGED : 0);
            ts_close(&t);
        }
        if (!CHECK(ok))
            fprintf(stderr, "    %s: %s\n", from, rep.what);
        free(p);
        free(from);
    }
}

int
main(void)
{
    test_in_memory();
    test_run();
    free(dir);
    free(path);
    return test_end("t_verify");
}
