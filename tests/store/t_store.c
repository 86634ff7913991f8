/* What store.h promises to one process: paths and files, staging, reading by
   number, the observer, time. */

#include "base/clock.h"
#include "tests/lib/store_test.h"

#include <signal.h>
#include <sys/resource.h>

/* ---- paths ---- */

TEST(open_creates_nothing)
{
    char *dir = test_tmpdir(), *path = path_in(dir, "no/such/tasks.log");
    struct arena a = {0};
    struct store_rec r;
    struct tstore t;
    CHECK(ts_open(&t, path) == 0);
    struct store_state st = state_of(&t);
    CHECK(st.g == 0 && st.head == 0 && st.keys == 0 && st.err == 0 &&
          st.id[0] == '\0');
    CHECK(store_follow(t.s) == 0 && store_find(t.s, STR("task/1")) == NULL);
    CHECK(store_read_n(t.s, 1, &a, &r) == ERR_NOT_FOUND);
    CHECK(store_scan(t.s, 1, NULL, NULL) == 0);
    CHECK(!store_wants_compact(t.s) && ts_compact(&t) == 0);
    ts_close(&t);
    CHECK(rmdir(dir) == 0); /* still empty */
    free(path);
    free(dir);
}

TEST(first_write_makes_files)
{
    char *dir = test_tmpdir(), *path = path_in(dir, "a/b/tasks.log");
    struct tstore t;
    struct stat st;
    mode_t mask = umask(0);
    CHECK(ts_open(&t, path) == 0);
    CHECK(ts_put(&t, "task/1", "\"v\":1") == 0);
    CHECK(stat(path, &st) == 0 && (st.st_mode & 07777) == 0600);
    CHECK(stat(path_with(path, ".lock"), &st) == 0 &&
          (st.st_mode & 07777) == 0600);
    CHECK(stat(path_with(dir, "/a/b"), &st) == 0 &&
          (st.st_mode & 07777) == 0700);
    CHECK(stat(path_with(dir, "/a"), &st) == 0 &&
          (st.st_mode & 07777) == 0700);
    struct store_state now = state_of(&t);
    CHECK(now.g == 1 && now.head == 1 && strlen(now.id) == 32);
    CHECK(ts_is_replay(&t));
    ts_close(&t);
    umask(mask);
    free(path);
    free(dir);
}

/* Makes the directory for files beside the log, also through a link; makes
   neither log nor lock file. */
TEST(make_dir)
{
    char *dir = test_tmpdir(), *path = path_in(dir, "link/a/b/tasks.log");
    struct store_options o = {.path = path, .readonly = true};
    struct tstore t;
    struct stat st;
    mode_t mask = umask(0);
    CHECK(mkdir(path_with(dir, "/real"), 0700) == 0 &&
          symlink("real", path_with(dir, "/link")) == 0);
    CHECK(ts_open_with(&t, &o) == 0 && store_make_dir(t.s) == ERR_READONLY);
    CHECK(!file_exists(path_with(dir, "/real/a")));
    ts_close(&t);
    CHECK(ts_open(&t, path) == 0);
    for (int i = 0; i < 2; i++) {
        CHECK(store_make_dir(t.s) == 0);
        CHECK(strcmp(state_of(&t).path,
                     path_with(dir, "/real/a/b/tasks.log")) == 0);
    }
    CHECK(stat(path_with(dir, "/real/a/b"), &st) == 0 &&
          S_ISDIR(st.st_mode) && (st.st_mode & 07777) == 0700);
    CHECK(rmdir(path_with(dir, "/real/a/b")) == 0); /* it was empty */
    CHECK(ts_put(&t, "task/1", "\"v\":1") == 0 && ts_is_replay(&t));
    CHECK(store_make_dir(t.s) == 0 && ts_is_replay(&t));
    close_log(&t, path);
    path = path_in(dir, "no/tasks.log");
    CHECK(ts_open(&t, path) == 0);
    file_put(path_with(dir, "/no"), "x", 1); /* in the directory's place */
    CHECK(store_make_dir(t.s) == ERR_IO);
    ts_close(&t);
    umask(mask);
    free(path);
    free(dir);
}

TEST(link_leads_to_log)
{
    char *path = path_fresh("tasks.log");
    const char *link = path_with(path, ".link");
    struct tstore t;
    struct stat st;
    CHECK(ts_open(&t, path) == 0 && ts_put(&t, "task/1", "\"v\":1") == 0);
    ts_close(&t);
    CHECK(symlink("tasks.log", link) == 0);
    CHECK(ts_open(&t, link) == 0 && ts_put(&t, "task/2", "\"v\":2") == 0);
    CHECK(strstr(state_of(&t).path, ".link") == NULL);
    CHECK(ts_compact(&t) == 0); /* renames over the log, not the link */
    ts_close(&t);
    CHECK(lstat(link, &st) == 0 && S_ISLNK(st.st_mode));
    CHECK(!file_exists(path_with(link, ".lock")));
    CHECK(ts_open(&t, path) == 0 && state_of(&t).head == 2 &&
          state_of(&t).g == 2);
    close_log(&t, path);
}

/* A file that is not a log is refused by name and left unchanged. */
TEST(wrong_paths)
{
    char *path = path_fresh("tasks.log");
    struct tstore t;
    CHECK(symlink("nowhere", path) == 0);
    CHECK(ts_open(&t, path) == ERR_IO && strstr(t.why, "tasks.log") != NULL);
    CHECK(unlink(path) == 0 && symlink("tasks.log", path) == 0);
    CHECK(ts_open(&t, path) == ERR_IO && t.s == NULL);
    CHECK(unlink(path) == 0 && mkfifo(path, 0600) == 0);
    CHECK(ts_open(&t, path) == ERR_FORMAT && strstr(t.why, "regular"));
    CHECK(unlink(path) == 0 && mkdir(path, 0700) == 0);
    CHECK(ts_open(&t, path) == ERR_FORMAT && rmdir(path) == 0);
    CHECK(ts_open(&t, "/dev/null") == ERR_FORMAT);
    file_put(path, "x", 1);
    CHECK(ts_open(&t, path_with(path, "/below")) == ERR_IO);
    CHECK(!file_exists(path_with(path, ".lock")));
    free(path);
}

/* So is a lock file that is something else, and the error says what to do. */
TEST(odd_lock_files)
{
    for (int i = 0; i < 3; i++) {
        char *path = path_fresh("tasks.log");
        const char *lock = path_with(path, ".lock");
        struct tstore t;
        CHECK(ts_open(&t, path) == 0);
        CHECK((i == 0   ? mkdir(lock, 0700)
               : i == 1 ? symlink("elsewhere", lock)
                        : mkfifo(lock, 0600)) == 0);
        CHECK(ts_put(&t, "task/1", "\"v\":1") == ERR_IO);
        CHECK(strstr(state_of(&t).why, lock) != NULL &&
              strstr(state_of(&t).why, "move it away") != NULL);
        ts_close(&t);
        CHECK(ts_open(&t, path) == ERR_IO && strstr(t.why, "move it away"));
        CHECK(remove(lock) == 0 && !file_exists(path));
        CHECK(ts_open(&t, path) == 0);
        CHECK(ts_put(&t, "task/1", "\"v\":1") == 0 && ts_is_replay(&t));
        ts_close(&t);
        free(path);
    }
}

TEST(foreign_files_untouched)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"SQLite format 3\0.....", "import"},
        {"{\"mcptask-log\":3,\"more\":[1,2]}\n{\"x\":1}\n", "version 3"},
        {"{\"c\":\"00000000\",\"g\":1,\"k\":\"log\",\"mcptask-log\":77}",
         "version 77"},
        {"notes of mine\n", "not an mcptask log"},
        {"\n", "not an mcptask log"},
        {"{}\n", "not an mcptask log"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *path = path_fresh("tasks.log");
        struct tstore t;
        size_t len = i == 0 ? 20 : strlen(cases[i].text);
        file_put(path, cases[i].text, len);
        CHECK(ts_open(&t, path) == ERR_FORMAT && t.s == NULL);
        CHECK(strstr(t.why, cases[i].says) != NULL &&
              strstr(t.why, path) != NULL);
        CHECK(file_is(path, cases[i].text, len));
        CHECK(!file_exists(path_with(path, ".lock")));
        free(path);
    }
}

/* A log of a later version with the first line head, before records that look
   like ours, is left alone. */
static void
check_left_alone(struct str head, const char *version, struct str records)
{
    struct buf b = {0};
    struct tstore t;
    struct store_report rep;
    char *path = path_fresh("tasks.log");
    buf_str(&b, head);
    buf_str(&b, records);
    file_put(path, b.p, b.len);
    CHECK(ts_open(&t, path) == ERR_FORMAT && t.s == NULL);
    CHECK(strstr(t.why, "written by a newer mcptask") != NULL &&
          strstr(t.why, version) && !strstr(t.why, "verify"));
    CHECK(store_repair(path, path_with(path, ".out"), &rep) ==
              ERR_FORMAT && !file_exists(path_with(path, ".out")));
    CHECK(strstr(rep.what, "written by a newer mcptask") != NULL);
    CHECK(file_is(path, b.p, b.len));
    CHECK(!file_exists(path_with(path, ".lock")));
    buf_fini(&b);
    free(path);
}

/* A later version may have any first line with this text and a number; also a
   whole record. */
TEST(later_versions_untouched)
{
    static const char *const forms[] = {
        "{\"c\":\"00000000\",\"v\":7,\"mcptask-log\":3}",
        "{\"c\":\"00000000\",\"mcptask-log\":3,\"more\":\"%0600d\"}",
        "{\"c\":\"00000000\",\"more\":\"%0600d\",\"mcptask-log\":3}",
        "%0200000d \"mcptask-log\":31",
    };
    static const int versions[] = {3, 10, 12, 25};
    size_t len;
    struct tstore t;
    char *made = open_log(&t, 3, 3), *log = file_get(made, &len);
    size_t head = (size_t)(strchr(log, '\n') - log);
    struct str records = {log + head, len - head};
    close_log(&t, made);
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        struct buf b = {0};
        buf_printf(&b, forms[i], 0);
        check_left_alone(buf_view(&b), "version 3", records);
        buf_fini(&b);
    }
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) {
        struct buf b = {0};
        char body[96], version[24];
        snprintf(version, sizeof version, "version %d", versions[i]);
        snprintf(body, sizeof body, "\"mcptask-log\":%d,\"id\":\"%032d\"",
                 versions[i], 7);
        struct store_rec r = {.g = 1, .key = STR(RECORD_KEY_LOG),
                              .time = STR("2026-07-28T09:00:00.000Z"),
                              .body = str_of(body)};
        record_put(&b, &r);
        check_left_alone((struct str){b.p, b.len - 1}, version, records);
        buf_fini(&b);
    }
    free(log);
}

TEST(empty_file_is_empty_store)
{
    char *path = path_fresh("tasks.log");
    struct tstore t;
    file_put(path, "", 0);
    CHECK(ts_open(&t, path) == 0 && state_of(&t).g == 0);
    CHECK(ts_put(&t, "task/1", "\"v\":1") == 0 && ts_is_replay(&t));
    close_log(&t, path);
}

static void
drop_root(void)
{
    if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0))
        abort();
}

static bool
is_denied(struct tstore *t, const char *why)
{
    struct store_state st;
    st = *store_state(t->s);
    return st.mode == STORE_READONLY && st.err == ERR_READONLY &&
           strstr(st.why, why) != NULL;
}

/* Without write permission: reads to the end, with and without a lock file and
   its mark; creates nothing. */
TEST(readonly_directory)
{
    for (int locked = 0; locked < 3; locked++) {
        char *dir = test_tmpdir(), *path = path_in(dir, "tasks.log");
        struct tstore t;
        CHECK(ts_open(&t, path) == 0);
        put_many(&t, 5, 3);
        ts_close(&t);
        const char *lock = path_with(path, ".lock");
        if (locked == 0)
            CHECK(unlink(lock) == 0);
        CHECK(locked == 0 || chmod(lock, locked == 1 ? 0444 : 0) == 0);
        CHECK(chmod(path, 0444) == 0 && chmod(dir, 0555) == 0 &&
              chmod(test_root, 0755) == 0);
        pid_t pid = child_begin();
        if (pid == 0) {
            drop_root();
            if (CHECK(ts_open(&t, path) == 0)) {
                CHECK(strcmp(ts_get(&t, "task/1"), "\"v\":4") == 0);
                CHECK(state_of(&t).head == 5 && state_of(&t).err == 0);
                store_check_access(t.s);
                CHECK(is_denied(&t, "Permission denied"));
                CHECK(ts_put(&t, "task/1", "\"v\":9") == ERR_READONLY);
                CHECK(is_denied(&t, "Permission denied"));
                CHECK(store_follow(t.s) == 0 && state_of(&t).head == 5);
                CHECK(ts_compact(&t) == ERR_READONLY);
                ts_close(&t);
            }
            child_end();
        }
        CHECK(child_ok(pid));
        CHECK(chmod(dir, 0700) == 0);
        CHECK(!file_exists(path_with(path, ".compact")));
        free(path);
        free(dir);
    }
}

TEST(readonly_option)
{
    char *path = path_fresh("tasks.log");
    struct tstore t, r;
    struct store_options o = {.path = path, .readonly = true};
    CHECK(ts_open(&t, path) == 0);
    put_many(&t, 4, 2);
    CHECK(ts_open_with(&r, &o) == 0 && state_of(&r).head == 4);
    CHECK(ts_put(&r, "task/1", "\"v\":1") == ERR_READONLY &&
          state_of(&r).err == ERR_READONLY);
    put_many(&t, 4, 2);
    CHECK(store_follow(r.s) == 0 && state_of(&r).head == 8);
    CHECK(strcmp(ts_get(&r, "task/1"), "\"v\":3") == 0);
    ts_close(&r);
    close_log(&t, path);
}

/* ---- staging ---- */

TEST(staged_can_be_read)
{
    char *path = path_fresh("tasks.log"), big[3000];
    struct arena a = {0};
    struct store_rec r;
    struct tstore t;
    bool unknown;
    memset(big, 'x', sizeof big - 1);
    memcpy(big, "\"v\":\"", 5);
    memcpy(big + sizeof big - 2, "\"", 2);
    CHECK(ts_open(&t, path) == 0 && ts_put(&t, "task/0", "\"v\":0") == 0);
    CHECK(store_lock(t.s) == 0 && store_locked(t.s));
    CHECK(store_next_n(t.s) == 2 && store_staged_n(t.s) == 0);
    for (int i = 0; i < 50; i++) /* the batch buffer moves as it grows */
        CHECK(store_stage(t.s, STR("task/a"), str_of(big)) == 0);
    CHECK(store_stage(t.s, STR("task/0"), STR("\"v\":1")) == 0);
    CHECK(store_next_n(t.s) == 53 && store_staged_n(t.s) == 51);
    CHECK(strcmp(ts_get(&t, "task/a"), big) == 0);
    CHECK(strcmp(ts_get(&t, "task/0"), "\"v\":1") == 0);
    CHECK(store_read_n(t.s, 1, &a, &r) == 0 && str_is(r.body, "\"v\":0"));
    CHECK(store_read_n(t.s, 52, &a, &r) == 0 && r.p == 1 && r.b == 2);
    CHECK(store_read_n(t.s, 2, &a, &r) == 0 && r.p == 0 && r.b == 2);
    CHECK(store_read_n(t.s, 53, &a, &r) == ERR_NOT_FOUND);
    CHECK(state_of(&t).head == 1);
    CHECK(store_commit(t.s, &unknown) == 0 && !unknown);
    CHECK(store_commit(t.s, &unknown) == 0); /* nothing is staged */
    store_unlock(t.s);
    CHECK(state_of(&t).head == 52 && !store_locked(t.s));
    CHECK(strcmp(ts_get(&t, "task/a"), big) == 0 && ts_is_replay(&t));
    arena_fini(&a);
    close_log(&t, path);
}

/* A full batch still has room for two of the largest records. */
TEST(batch_is_full)
{
    char *path = path_fresh("tasks.log");
    static char big[100001];
    struct tstore t;
    bool unknown;
    memset(big, 'x', sizeof big - 1);
    memcpy(big, "\"v\":\"", 5);
    big[sizeof big - 2] = '"';
    CHECK(ts_open(&t, path) == 0 && store_lock(t.s) == 0);
    while (!store_batch_is_full(t.s) && store_staged_n(t.s) < 100)
        CHECK(store_stage(t.s, STR("task/a"), str_of(big)) == 0);
    size_t len = STORE_MAX_BATCH - 2 * STORE_MAX_RECORD;
    CHECK(store_staged_n(t.s) == len / sizeof big + 1);
    CHECK(store_commit(t.s, &unknown) == 0 && !store_batch_is_full(t.s));
    store_unlock(t.s);
    close_log(&t, path);
}

TEST(refuse)
{
    char *path = path_fresh("tasks.log");
    struct tstore t;
    bool unknown;
    CHECK(ts_open(&t, path) == 0 && store_lock(t.s) == 0);
    store_refuse(t.s, ERR_FULL);
    CHECK(store_stage(t.s, STR("task/1"), STR("\"v\":1")) == ERR_FULL);
    CHECK(store_staged_n(t.s) == 0 && store_find(t.s, STR("task/1")) == NULL);
    store_refuse(t.s, 0);
    CHECK(store_stage(t.s, STR("task/1"), STR("\"v\":1")) == 0);
    CHECK(store_commit(t.s, &unknown) == 0);
    store_unlock(t.s);
    CHECK(ts_is_replay(&t) && state_of(&t).head == 1);
    close_log(&t, path);
}

TEST(record_limit)
{
    char *path = path_fresh("tasks.log"), *body = malloc(STORE_MAX_RECORD + 2);
    struct tstore t;
    memset(body, 'x', STORE_MAX_RECORD + 1);
    memcpy(body, "\"v\":\"", 5);
    CHECK(ts_open(&t, path) == 0);
    body[STORE_MAX_RECORD] = '"';
    body[STORE_MAX_RECORD + 1] = '\0';
    CHECK(ts_put(&t, "task/1", body) == ERR_TOO_LARGE);
    CHECK(store_find(t.s, STR("task/1")) == NULL);
    size_t most = STORE_MAX_RECORD - 160 - 6; /* store_stage leaves this much */
    body[most - 1] = '"';
    body[most] = '\0';
    CHECK(ts_put(&t, "task/1", body) == 0 && ts_put(&t, "task/2", body) == 0);
    CHECK(store_find(t.s, STR("task/1"))->len <= STORE_MAX_RECORD);
    CHECK(ts_is_replay(&t));
    ts_close(&t);
    free(body);
    free(path);
}

/* A file size limit simulates a full disk. */
static void
limit_growth(rlim_t bytes)
{
    struct rlimit lim;
    getrlimit(RLIMIT_FSIZE, &lim);
    lim.rlim_cur = bytes;
    setrlimit(RLIMIT_FSIZE, &lim);
}

TEST(full_disk_undoes_all)
{
    struct tstore t;
    bool unknown;
    signal(SIGXFSZ, SIG_IGN);
    char *path = open_log(&t, 10, 4);
    struct totals before = t.totals;
    for (int room = 0; room < 900; room += 60) {
        CHECK(store_lock(t.s) == 0);
        for (int i = 0; i < 600; i++) { /* index splits among them */
            char key[32];
            snprintf(key, sizeof key, "task/%d", i % 500 ? i : 2);
            CHECK(store_stage(t.s, str_of(key), STR("\"v\":1")) == 0);
        }
        limit_growth((rlim_t)(state_of(&t).len + room));
        CHECK(store_commit(t.s, &unknown) == ERR_FULL && !unknown);
        limit_growth(RLIM_INFINITY);
        store_unlock(t.s);
        CHECK(memcmp(&before, &t.totals, sizeof before) == 0);
        CHECK(state_of(&t).mode == STORE_REFUSED);
        CHECK(state_of(&t).err == ERR_FULL && state_of(&t).head == 10 &&
              state_of(&t).keys == 4);
        CHECK(strcmp(ts_get(&t, "task/2"), "\"v\":6") == 0);
        CHECK(ts_is_replay(&t));
    }
    CHECK(ts_put(&t, "task/new", "\"v\":1") == 0); /* there is room again */
    CHECK(state_of(&t).err == 0 && ts_is_replay(&t));
    close_log(&t, path);
}

/* ---- reading by number ---- */

static int
count_rec(void *ctx, const struct store_rec *r)
{
    uint64_t *next = ctx;
    CHECK(r->n == *next);
    ++*next;
    return 0;
}

static int
stop_at_10(void *ctx, const struct store_rec *r)
{
    ++*(int *)ctx;
    return r->n == 10 ? 42 : 0;
}

TEST(scan)
{
    char *path = path_fresh("tasks.log");
    struct tstore t;
    int calls = 0;
    CHECK(ts_open(&t, path) == 0);
    put_many(&t, 900, 7); /* more than the linear part of a search */
    for (uint64_t from = 0; from <= 901; from += from < 890 ? 23 : 1) {
        uint64_t next = from ? from : 1;
        CHECK(store_scan(t.s, from, count_rec, &next) == 0 && next == 901);
    }
    CHECK(store_scan(t.s, 8, stop_at_10, &calls) == 42 && calls == 3);
    close_log(&t, path);
}

TEST(history_across_generations)
{
    char *path = path_fresh("tasks.log");
    struct arena a = {0};
    struct store_rec r;
    struct tstore t;
    CHECK(ts_open(&t, path) == 0);
    for (int g = 0; g < 3; g++) {
        put_many(&t, 800, 300);
        CHECK(ts_put(&t, "other/1", "\"v\":1") == 0);
        CHECK(ts_put(&t, "task/k", "\"keep\":1") == 0);
        CHECK(ts_compact(&t) == 0 && ts_is_replay(&t));
        CHECK(state_of(&t).g == (uint64_t)g + 2 && state_of(&t).keys == 302);
    }
    CHECK(state_of(&t).head == 3 * 802);
    for (uint64_t n = 1; n <= 3 * 802; n++)
        CHECK(store_read_n(t.s, n, &a, &r) == 0 && r.n == n);
    CHECK(store_read_n(t.s, 0, &a, &r) == ERR_NOT_FOUND);
    CHECK(store_read_n(t.s, 3 * 802 + 1, &a, &r) == ERR_NOT_FOUND);
    int steps = 0;
    uint64_t n = store_find(t.s, STR("task/5"))->n;
    for (; n != 0 && store_read_n(t.s, n, &a, &r) == 0; n = r.p)
        steps += str_is(r.key, "task/5");
    CHECK(n == 0 && steps == 9);
    /* without closed generations: only kept records */
    for (int g = 1; g <= 3; g++) {
        char name[16];
        snprintf(name, sizeof name, ".%d", g);
        CHECK(unlink(path_with(path, name)) == 0);
    }
    ts_close(&t);
    CHECK(ts_open(&t, path) == 0);
    CHECK(store_read_n(t.s, 1, &a, &r) == ERR_NOT_FOUND);
    CHECK(store_read_n(t.s, 802, &a, &r) == 0 && str_is(r.key, "task/k"));
    CHECK(store_read_n(t.s, 3 * 803 - 3, &a, &r) == 0);
    arena_fini(&a);
    close_log(&t, path);
}

/* A search whose middle is the end record, which has the number of the record
   before it. */
TEST(read_n_beside_end_record)
{
    enum { BIG = 30 * 1024 };
    char *path = path_fresh("tasks.log"), *body = malloc(BIG + 1);
    struct store_rec r = {.g = 2, .n = 5, .b = 5, .p = 3,
                          .key = STR("task/a"), .time = STR(TEST_TIME)};
    struct arena a = {0};
    struct tstore t;
    struct buf b = {0};
    memset(body, 'x', BIG);
    memcpy(body, "\"v\":\"", 5);
    body[BIG - 1] = '"';
    r.body = (struct str){body, BIG};
    log_header(&b, 2, true);
    record_put(&b, &r);
    record_put_end(&b, 2, 5, 1, TEST_TIME_MS);
    for (uint64_t n = 6; b.len < 2 * BIG; n++)
        log_record(&b, 2, n, n, n == 6 ? 0 : n - 1, "task/b");
    file_put(path, b.p, b.len);
    CHECK(ts_open(&t, path) == 0);
    CHECK(store_read_n(t.s, 5, &a, &r) == 0 && r.p == 3);
    CHECK(store_read_n(t.s, 6, &a, &r) == 0 && str_is(r.key, "task/b"));
    CHECK(store_read_n(t.s, 4, &a, &r) == ERR_NOT_FOUND);
    ts_close(&t);
    arena_fini(&a);
    buf_fini(&b);
    free(body);
    free(path);
}

/* ---- the observer ---- */

struct seen {
    uint64_t next;
    int wrong;
};

static void
observe(void *ctx, const struct store_entry *e, const struct store_rec *r)
{
    struct seen *seen = ctx;
    seen->wrong += r->n != seen->next || e == NULL || e->n < r->n ||
                   e->key_len != r->key.len;
    seen->next = r->n + 1;
}

TEST(observer_exactly_once)
{
    struct tstore t;
    char *path = open_log(&t, 3, 3);
    ts_close(&t);
    CHECK(ts_open(&t, path) == 0);
    struct seen seen = {.next = 4};
    store_observe(t.s, observe, &seen);
    put_many(&t, 2, 2);
    CHECK(seen.next == 6);
    CHECK(in_child(path, put_from_child));
    CHECK(store_follow(t.s) == 0 && seen.next == 7);
    CHECK(in_child(path, put_from_child));
    CHECK(ts_compact(&t) == 0 && seen.next == 8);
    put_many(&t, 1, 1);
    CHECK(in_child(path, put_from_child));
    flip(path_with(path, ".lock"), 3, 0); /* no mark: everything is read
                                             again */
    CHECK(store_follow(t.s) == 0 && seen.next == 10 && seen.wrong == 0);
    CHECK(ts_is_replay(&t));
    close_log(&t, path);
}

/* ---- time ---- */

/* The newest record is a year ahead: time does not go back to the clock, and
   continues from the record. */
TEST(time_never_goes_back)
{
    char *path = path_fresh("tasks.log"), time[TIME_LEN + 1];
    int64_t ahead = clock_wall_ms() + 365LL * 24 * 3600 * 1000, ms = ahead;
    struct arena a = {0};
    struct store_rec r = {.g = 1, .n = 1, .b = 1, .key = STR("task/1"),
                          .body = STR("\"v\":1")};
    struct tstore t;
    struct buf b = {0};
    log_header(&b, 1, false);
    time_format(ahead, time);
    r.time = str_of(time);
    record_put(&b, &r);
    file_put(path, b.p, b.len);
    CHECK(ts_open(&t, path) == 0);
    CHECK(store_now_ms(t.s) >= ahead);
    for (uint64_t n = 2; n < 6; n++) {
        int64_t was = ms;
        CHECK(ts_put(&t, "task/1", "\"v\":2") == 0);
        CHECK(store_read_n(t.s, n, &a, &r) == 0 && time_parse(r.time, &ms) &&
              ms >= was && ms < ahead + 60 * 1000);
    }
    ts_close(&t);
    arena_fini(&a);
    buf_fini(&b);
    free(path);
}
