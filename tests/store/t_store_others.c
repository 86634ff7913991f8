/* What store.h promises when others write to the log: concurrent processes,
   files replaced or cut, wrong marks, torn tails, damage. */

#include "store/lock.h"
#include "store/state.h"
#include "tests/lib/store_test.h"

/* ---- other processes ---- */

static void
read_then_put(struct tstore *t)
{
    CHECK(strcmp(ts_get(t, "task/parent"), "\"v\":\"parent\"") == 0);
    put_from_child(t);
    CHECK(ts_is_replay(t));
}

TEST(two_processes)
{
    char *path = path_fresh("tasks.log");
    struct tstore t;
    CHECK(ts_open(&t, path) == 0);
    CHECK(ts_put(&t, "task/parent", "\"v\":\"parent\"") == 0);
    for (uint64_t i = 1; i < 5; i++) {
        CHECK(in_child(path, read_then_put));
        CHECK(state_of(&t).head == 2 * i - 1);
        CHECK(store_follow(t.s) == 0 && state_of(&t).head == 2 * i);
        CHECK(strcmp(ts_get(&t, "task/child"), "\"v\":\"child\"") == 0);
        CHECK(ts_put(&t, "task/parent", "\"v\":\"parent\"") == 0);
        CHECK(ts_is_replay(&t));
    }
    close_log(&t, path);
}

static void
find_it_locked(struct tstore *t)
{
    CHECK(store_lock(t->s) == ERR_BUSY && !store_locked(t->s));
    CHECK(store_lock_wait(t->s) == ERR_BUSY); /* and returns */
    CHECK(store_follow(t->s) == 0 && state_of(t).head == 3);
    CHECK(strcmp(ts_get(t, "task/1"), "\"v\":1") == 0);
    for (int i = 0; i < 5; i++) /* makes no progress and changes nothing */
        CHECK(store_compact(t->s) == ERR_PENDING);
    store_compact_stop(t->s);
    CHECK(ts_is_replay(t) && state_of(t).g == 1);
}

TEST(lock_held_by_another)
{
    struct tstore t;
    bool unknown;
    char *path = open_log(&t, 3, 3);
    CHECK(store_lock(t.s) == 0);
    CHECK(store_stage(t.s, STR("task/1"), STR("\"v\":7")) == 0);
    CHECK(in_child(path, find_it_locked));
    CHECK(store_commit(t.s, &unknown) == 0);
    store_unlock(t.s);
    CHECK(in_child(path, put_from_child));
    close_log(&t, path);
}

TEST(lock_file_replaced)
{
    for (int gone = 0; gone < 2; gone++) {
        char *path = path_fresh("tasks.log");
        const char *lock = path_with(path, ".lock");
        struct tstore t;
        CHECK(ts_open(&t, path) == 0);
        put_many(&t, 3, 3);
        CHECK(rename(lock, path_with(path, ".away")) == 0);
        if (!gone)
            file_put(lock, "", 0);
        CHECK(in_child(path, put_from_child));
        CHECK(ts_put(&t, "task/1", "\"v\":1") == 0);
        CHECK(state_of(&t).head == 5 && ts_is_replay(&t));
        CHECK(in_child(path, put_from_child));
        CHECK(store_follow(t.s) == 0 && state_of(&t).head == 6);
        close_log(&t, path);
    }
}

TEST(log_deleted)
{
    struct tstore t;
    char *path = open_log(&t, 3, 3);
    CHECK(unlink(path) == 0);
    CHECK(ts_put(&t, "task/1", "\"v\":1") == ERR_IO);
    CHECK(strstr(state_of(&t).why, "disappeared") && state_of(&t).err != 0);
    CHECK(!file_exists(path) && store_follow(t.s) == 0);
    CHECK(strcmp(ts_get(&t, "task/1"), "\"v\":1") == 0);
    /* A process that starts now begins a new log beside the old lock file. */
    CHECK(in_child(path, put_from_child));
    CHECK(ts_put(&t, "task/1", "\"v\":1") == ERR_IO);
    ts_close(&t);
    CHECK(ts_open(&t, path) == 0);
    CHECK(state_of(&t).head == 1 && state_of(&t).err == 0);
    CHECK(ts_put(&t, "task/1", "\"v\":1") == 0 && ts_is_replay(&t));
    close_log(&t, path);
}

TEST(log_replaced_by_another)
{
    struct tstore t;
    struct buf b = {0};
    char *path = open_log(&t, 3, 3);
    log_header(&b, 1, false);
    for (uint64_t n = 1; n < 40; n++)
        log_record(&b, 1, n, n, n - 1, "task/other");
    file_put(path_with(path, ".tmp"), b.p, b.len);
    CHECK(rename(path, path_with(path, ".own")) == 0);
    CHECK(ts_put(&t, "task/1", "\"v\":9") == ERR_IO); /* the file is missing */
    CHECK(rename(path_with(path, ".tmp"), path) == 0);
    CHECK(ts_put(&t, "task/1", "\"v\":9") == ERR_IO);
    CHECK(strstr(state_of(&t).why, "another store") != NULL);
    CHECK(file_is(path, b.p, b.len));
    CHECK(ts_put(&t, "task/1", "\"v\":9") == ERR_IO); /* until restart */
    CHECK(unlink(path) == 0);
    CHECK(mkdir(path, 0700) == 0); /* not a log at all */
    CHECK(ts_put(&t, "task/1", "\"v\":9") == ERR_FORMAT && rmdir(path) == 0);
    CHECK(rename(path_with(path, ".own"), path) == 0); /* or put back */
    CHECK(ts_put(&t, "task/1", "\"v\":9") == 0 && state_of(&t).err == 0);
    CHECK(ts_is_replay(&t) && state_of(&t).head == 4);
    ts_close(&t);
    buf_fini(&b);
    free(path);
}

/* A copy of the log is accepted, in whatever state. */
TEST(log_replaced_by_copy)
{
    for (int more = 0; more < 2; more++) {
        struct tstore t;
        size_t len;
        char *path = open_log(&t, 3, 3);
        char *p = file_get(path, &len);
        file_put(path_with(path, ".tmp"), p, len);
        CHECK(rename(path_with(path, ".tmp"), path) == 0);
        if (more) { /* others have changed over already */
            CHECK(in_child(path, put_from_child));
            CHECK(store_follow(t.s) == 0 && state_of(&t).head == 4);
        }
        CHECK(ts_put(&t, "task/1", "\"v\":9") == 0);
        CHECK(state_of(&t).head == (more ? 5 : 4) && ts_is_replay(&t));
        ts_close(&t);
        free(p);
        free(path);
    }
}

/* An older copy lacks what the mark says was committed. */
TEST(log_cut_under_a_process)
{
    for (int follow = 0; follow < 2; follow++) {
        struct tstore t;
        size_t len;
        char *path = open_log(&t, 3, 3);
        char *p = file_get(path, &len);
        CHECK(in_child(path, put_from_child));
        CHECK(in_child(path, put_from_child));
        CHECK(truncate(path, (off_t)len + 10) == 0);
        if (follow)
            CHECK(store_follow(t.s) == ERR_DAMAGED);
        CHECK(ts_put(&t, "task/1", "\"v\":9") == ERR_DAMAGED);
        CHECK(state_of(&t).err == ERR_DAMAGED);
        struct stat st;
        CHECK(stat(path, &st) == 0 && st.st_size == (off_t)len + 10);
        CHECK(strcmp(ts_get(&t, "task/2"), "\"v\":2") == 0);
        ts_close(&t);
        free(p);
        free(path);
    }
}

/* ---- marks and tails ---- */

static void
see_all(struct tstore *t)
{
    struct store_state st = state_of(t);
    CHECK(st.head == 6 && st.err == 0 && !st.torn);
    CHECK(ts_put(t, "task/new", "\"v\":1") == 0 && ts_is_replay(t));
}

/* No lock file, no mark, zeros, garbage, an older mark, one of another
   generation: each is rebuilt, and no whole record is lost. */
TEST(wrong_marks)
{
    for (int kind = 0; kind < 6; kind++) {
        char *path = path_fresh("tasks.log"), zero[LOCK_MARK_LEN] = {0};
        const char *lock = path_with(path, ".lock");
        struct tstore t;
        size_t len;
        CHECK(ts_open(&t, path) == 0);
        put_many(&t, 3, 3);
        char *old = file_get(lock, &len);
        put_many(&t, 3, 3);
        ts_close(&t);
        switch (kind) {
        case 0: CHECK(unlink(lock) == 0); break;
        case 1: file_put(lock, "", 0); break;
        case 2: file_put(lock, zero, sizeof zero); break;
        case 3: file_put(lock, "what is this\n", 13); break;
        case 4: file_put(lock, old, len); break;
        default:
            old[9]++; /* its checksum is now wrong too */
            file_put(lock, old, len);
        }
        CHECK(in_child(path, see_all));
        CHECK(!has_torn_file(path));
        free(old);
        free(path);
    }
}

static void
see_torn(struct tstore *t)
{
    struct store_state st = state_of(t);
    CHECK(st.head == 6 && st.err == 0 && st.torn);
    CHECK(ts_put(t, "task/new", "\"v\":1") == 0 && ts_is_replay(t));
}

/* Also one that begins like the blanks of a probe, or is longer than they. */
TEST(torn_tail_is_cut_and_kept)
{
    static char blanks[STORE_BLANKS + 1];
    memset(blanks, STORE_BLANK, sizeof blanks);
    const struct str tails[] = {
        STR("{\"c\":\"1234"), STR("\n{\"c\":\"1234"), STR("\n\n\n\n\nx"),
        {blanks, sizeof blanks},
    };
    for (size_t i = 0; i < sizeof tails / sizeof *tails; i++) {
        struct tstore t;
        char *path = open_log(&t, 6, 3);
        int fd = open(path, O_WRONLY | O_APPEND);
        CHECK(write(fd, tails[i].p, tails[i].len) == (ssize_t)tails[i].len);
        close(fd);
        CHECK(store_follow(t.s) == 0 && state_of(&t).head == 6);
        CHECK(in_child(path, see_torn) && has_torn_file(path));
        CHECK(store_follow(t.s) == 0 && state_of(&t).head == 7);
        CHECK(ts_put(&t, "task/1", "\"v\":1") == 0 && ts_is_replay(&t));
        close_log(&t, path);
    }
}

/* Whole records after the mark, from a writer that died before moving it: the
   next process to open the log accepts them; running readers do not see them
   yet. */
TEST(whole_tail_is_taken)
{
    struct tstore t;
    size_t len, lock_len;
    char *path = open_log(&t, 3, 3);
    char *lock = file_get(path_with(path, ".lock"), &lock_len);
    ts_close(&t);
    CHECK(ts_open(&t, path) == 0);
    put_many(&t, 3, 3);
    ts_close(&t);
    char *all = file_get(path, &len);
    file_put(path_with(path, ".lock"), lock, lock_len);
    CHECK(in_child(path, see_all));
    free(lock);
    free(all);
    free(path);
}

/* ---- damage ---- */

static void
see_damage(struct tstore *t)
{
    struct store_state st = state_of(t);
    struct arena a = {0};
    struct store_rec r;
    CHECK(st.err == ERR_DAMAGED && strstr(st.why, "damaged at byte") &&
          strstr(st.why, "tasks.log"));
    CHECK(ts_put(t, "task/9", "\"v\":1") == ERR_DAMAGED);
    CHECK(ts_put(t, "task/9", "\"v\":1") == ERR_DAMAGED);
    CHECK(store_lock(t->s) == ERR_DAMAGED && !store_locked(t->s));
    CHECK(strcmp(ts_get(t, "task/1"), "\"v\":1") == 0);
    CHECK(strcmp(ts_get(t, "task/9"), "\"v\":9") == 0);
    CHECK(store_find(t->s, STR("task/5")) == NULL);
    for (uint64_t n = 1; n <= 10; n++)
        CHECK((store_read_n(t->s, n, &a, &r) == 0) == (n != 6));
    CHECK(!store_wants_compact(t->s) && ts_compact(t) == ERR_DAMAGED);
    arena_fini(&a);
}

TEST(damage_refuses_writes_only)
{
    static const int at[] = {3, 8, 25, 26, 60, 85};
    for (size_t i = 0; i < 2 * sizeof at / sizeof *at; i++) {
        struct tstore t;
        size_t len;
        char *path = open_log(&t, 10, 10);
        int64_t off = store_find(t.s, STR("task/5"))->off;
        flip(path, (size_t)off + (size_t)at[i / 2], 0);
        if (i % 2)
            CHECK(unlink(path_with(path, ".lock")) == 0);
        char *p = file_get(path, &len);
        CHECK(strcmp(ts_get(&t, "task/5"), "") == 0); /* no altered answer */
        ts_close(&t);
        CHECK(in_child(path, see_damage));
        CHECK(file_is(path, p, len) && !has_torn_file(path));
        free(p);
        free(path);
    }
}

/* A log whose first line is damaged is left alone. A process that has read it
   before keeps its memory, and continues once the line is whole. */
TEST(damaged_header)
{
    struct tstore t;
    size_t len;
    char *path = open_log(&t, 10, 10), *p = file_get(path, &len);
    char *other = strdup(path_with(path, ".other"));
    for (int i = 0; i < 2; i++) {
        struct tstore late;
        file_put(other, p, len);
        flip(other, 30, 0);
        CHECK(rename(other, path) == 0);
        CHECK(ts_put(&t, "task/5", "\"v\":0") == ERR_DAMAGED);
        CHECK(strstr(state_of(&t).why, "the first line is damaged; run "));
        CHECK(strcmp(ts_get(&t, "task/5"), "\"v\":5") == 0);
        CHECK(ts_open(&late, path) == ERR_DAMAGED && late.s == NULL);
        file_put(other, p, len);
        CHECK(rename(other, path) == 0);
        CHECK(ts_put(&t, "task/5", "\"v\":5") == 0 && ts_is_replay(&t));
        free(p);
        p = file_get(path, &len);
    }
    free(p);
    free(other);
    close_log(&t, path);
}

/* ---- another process creates the log while this one looks for it ---- */

static const char *made_meanwhile; /* created at the first look at its path */

ssize_t __real_readlink(const char *path, char *out, size_t cap);
ssize_t __wrap_readlink(const char *path, char *out, size_t cap);

ssize_t
__wrap_readlink(const char *path, char *out, size_t cap)
{
    const char *log = made_meanwhile;

    if (log == NULL || strcmp(path, log) != 0)
        return __real_readlink(path, out, cap);
    made_meanwhile = NULL;
    pid_t pid = child_begin();
    if (pid == 0) {
        struct tstore t;
        CHECK(ts_open(&t, log) == 0 && ts_put(&t, "task/a", "\"v\":1") == 0);
        ts_close(&t);
        child_end();
    }
    CHECK(child_ok(pid));
    errno = ENOENT; /* as when it was called */
    return -1;
}

TEST(log_made_while_it_is_looked_for)
{
    char *path = path_fresh("tasks.log");
    struct tstore t;
    made_meanwhile = path;
    CHECK(ts_open(&t, path) == 0);
    CHECK(store_find(t.s, STR("task/a")) != NULL);
    close_log(&t, path);
}
