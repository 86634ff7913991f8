/* t_lock - who may write a log: the locks on its lock file, the log's names,
   and the mark with the log's identity and time.

   Tests can make fcntl lack locks by open file description, and set the two
   clocks apart. */

#include "base/clock.h"
#include "store/remote.h"
#include "base/file.h"
#include "task/artifact.h"
#include "tests/lib/fake_remote.h"
#include "tests/lib/lock_rig.h"

/* ---- locks ---- */

static void
read_lock_file(const char *path)
{
    size_t len;
    free(file_get(path_with(path, ".lock"), &len));
    CHECK(len > 0);
}

static void
test_reading_the_lock_file_drops_no_lock(void)
{
    struct tstore t;
    char *path = open_log(&t, 3, 3);
    CHECK(store_lock(t.s) == 0);
    read_lock_file(path);
    CHECK(lock_elsewhere(path) == ERR_BUSY);
    store_unlock(t.s);
    CHECK(lock_elsewhere(path) == 0);
    CHECK(store_instance(t.s) != 0);
    read_lock_file(path);
    pid_t pid = child_begin();
    if (pid == 0) {
        struct tstore other;
        CHECK(ts_open(&other, path) == 0 &&
              store_alive(other.s, store_instance(t.s)));
        child_end();
    }
    CHECK(child_ok(pid));
    close_log(&t, path);
}

/* Process-owned locks are used instead, and conflict with ours. */
TEST(kernel_without_them)
{
    struct tstore t;
    char *path = open_log(&t, 3, 3);
    CHECK(store_lock(t.s) == 0);
    pid_t pid = child_begin();
    if (pid == 0) {
        struct tstore old;
        struct lock l = {.path = path_with(path, ".lock"), .fd = -1};
        old_kernel = true;
        CHECK(ts_open(&old, path) == 0);
        CHECK(store_lock(old.s) == ERR_BUSY && os_lock_is_by_process());
        CHECK(lock_open(&l, false) == 0 && !lock_is_free(&l, LOCK_WRITE));
        child_end();
    }
    CHECK(child_ok(pid));
    store_unlock(t.s);
    pid = child_begin();
    if (pid == 0) {
        struct tstore old;
        old_kernel = true;
        CHECK(ts_open(&old, path) == 0 && store_lock(old.s) == 0);
        CHECK(lock_elsewhere(path) == ERR_BUSY);
        child_end();
    }
    CHECK(child_ok(pid));
    close_log(&t, path);
}

/* A compaction stops if another file replaced its new file. */
TEST(file_in_the_making_is_replaced)
{
    static char body[300 * 1000] = "\"v\":\"";
    struct tstore t;
    char *path = open_log(&t, 9, 3), key[32];
    const char *making = path_with(path, ".compact");
    memset(body + 5, 'x', sizeof body - 7);
    body[sizeof body - 2] = '"';
    for (int i = 0; i < 5; i++) { /* more than one slice */
        snprintf(key, sizeof key, "task/x%d", i);
        CHECK(ts_put(&t, key, body) == 0);
    }
    CHECK(store_compact(t.s) == ERR_PENDING);
    CHECK(unlink(making) == 0);
    file_put(making, "half of another", 15);
    CHECK(ts_compact(&t) == ERR_BUSY);
    CHECK(file_is(making, "half of another", 15));
    CHECK(ts_put(&t, "task/1", "\"v\":2") == 0 && ts_is_replay(&t));
    CHECK(ts_compact(&t) == 0 && ts_is_replay(&t));
    close_log(&t, path);
}

/* ---- names ---- */

static bool
is_refused(struct tstore *t, const char *why)
{
    struct store_state st;
    bool refused = ts_put(t, "task/x", "\"v\":1") == ERR_READONLY;
    st = *store_state(t->s);
    return refused && st.err == ERR_READONLY && strstr(st.why, why) != NULL;
}

TEST(hard_link)
{
    struct tstore t, other;
    struct store_state st;
    char *path = open_log(&t, 3, 3);
    const char *link_path = path_with(path, ".link");
    CHECK(link(path, link_path) == 0);
    CHECK(is_refused(&t, "mount the directory instead"));
    CHECK(store_compact(t.s) == ERR_READONLY);
    CHECK(ts_open(&other, link_path) == 0);
    st = *store_state(other.s); /* reported before anybody writes */
    CHECK(st.mode == STORE_READONLY && st.err == ERR_READONLY &&
          strstr(st.why, "a second hard link") != NULL);
    CHECK(is_refused(&other, "a second hard link"));
    CHECK(ts_get(&other, "task/1")[0] != '\0');
    ts_close(&other);
    CHECK(unlink(link_path) == 0);
    CHECK(ts_put(&t, "task/x", "\"v\":1") == 0 && ts_compact(&t) == 0);
    close_log(&t, path);
}

int unshare(int flags); /* Linux's; the headers hide it */
#define NEW_MOUNTS 0x20000

/* A privileged user mounts the log over another name in its file system. */
static void
test_bind_mount(void)
{
    struct tstore t, other;
    char *path = open_log(&t, 3, 3), *dir = test_tmpdir(), command[1500];
    char *name = path_in(dir, "tasks.log");
    pid_t pid = child_begin();
    if (pid == 0) {
        snprintf(command, sizeof command, "mount --bind '%s' '%s' 2>/dev/null",
                 path, name);
        if (unshare(NEW_MOUNTS) != 0 ||
            system("mount --make-rprivate / 2>/dev/null") != 0)
            child_end();
        file_put(name, "", 0);
        if (system(command) == 0 && CHECK(ts_open(&other, name) == 0)) {
            CHECK(is_refused(&other, "the file itself is mounted"));
            CHECK(store_compact(other.s) == ERR_READONLY);
            CHECK(ts_open(&other, path) == 0);
            CHECK(ts_put(&other, "task/y", "\"v\":1") == 0);
        }
        child_end();
    }
    CHECK(child_ok(pid));
    free(name);
    free(dir);
    close_log(&t, path);
}

static void
mount_again(const char *dir, const char *how)
{
    char command[1000];
    snprintf(command, sizeof command, "mount -o remount,bind,%s '%s' "
             "2>/dev/null", how, dir);
    CHECK(system(command) == 0);
}

/* A file system that can only be read: that is told before anybody writes, and
   stays the reason. Once it can be written, so can an open store. */
TEST(readonly_mount)
{
    struct tstore t;
    struct store_state st;
    char *path = open_log(&t, 3, 3), *dir = test_tmpdir(), command[1500];
    char *log = path_in(dir, "tasks.log");
    pid_t pid;
    ts_close(&t);
    file_put(log, "", 0);
    CHECK(unlink(log) == 0 && rename(path, log) == 0);
    for (int locked = 0; locked < 2; locked++) {
        CHECK(ts_open(&t, log) == 0 && ts_put(&t, "task/l", "\"v\":1") == 0);
        ts_close(&t);
        CHECK(locked || unlink(path_with(log, ".lock")) == 0);
        pid = child_begin();
        if (pid == 0) {
            snprintf(command, sizeof command, "mount --make-rprivate / "
                     "2>/dev/null && mount --bind '%s' '%s' 2>/dev/null", dir,
                     dir);
            if (unshare(NEW_MOUNTS) != 0 || system(command) != 0)
                child_end();
            mount_again(dir, "ro");
            CHECK(ts_open(&t, log) == 0);
            for (int i = 0; i < 3; i++) {
                store_check_access(t.s);
                st = *store_state(t.s);
                CHECK(st.err == ERR_READONLY);
                CHECK(strstr(st.why, "Read-only file system") != NULL);
                CHECK(is_refused(&t, "Read-only file system"));
            }
            mount_again(dir, "rw");
            CHECK(ts_put(&t, "task/y", "\"v\":1") == 0);
            st = *store_state(t.s);
            CHECK(st.err == 0);
            ts_close(&t);
            child_end();
        }
        CHECK(child_ok(pid));
    }
    free(log);
    free(dir);
    free(path);
}

/* ---- a compaction that does not end ---- */

static uint64_t
generation(struct tstore *t)
{
    struct store_state st;
    st = *store_state(t->s);
    return st.g;
}

/* A log whose compaction ended just before the rename. */
static char *
open_not_renamed(struct tstore *t, bool dies)
{
    char *path = open_log(t, 9, 3);
    pid_t pid = child_begin();
    if (pid == 0) {
        struct tstore c;
        at_rename = dies ? DIES : FAILS;
        CHECK(ts_open(&c, path) == 0);
        CHECK(ts_compact(&c) != 0);
        child_end();
    }
    CHECK(child_ok(pid));
    return path;
}

/* The old log stays in use. */
TEST(not_renamed_is_written_on)
{
    for (int dies = 0; dies < 2; dies++) {
        struct tstore t;
        char *path = open_not_renamed(&t, dies);
        CHECK(access(path_with(path, ".1"), F_OK) == (dies ? 0 : -1));
        CHECK(access(path_with(path, ".compact"), F_OK) == (dies ? 0 : -1));
        CHECK(ts_put(&t, "task/x", "\"v\":1") == 0 && generation(&t) == 1);
        CHECK(access(path_with(path, ".1"), F_OK) != 0);
        CHECK(ts_is_replay(&t) && ts_compact(&t) == 0 && ts_is_replay(&t));
        CHECK(ts_get(&t, "task/x")[0] != '\0' && generation(&t) == 2);
        CHECK(access(path_with(path, ".compact"), F_OK) != 0);
        close_log(&t, path);
    }
}

/* In a copy of such a store, the log and its second name are two files. */
TEST(copy_of_not_renamed)
{
    struct tstore t;
    char *path = open_not_renamed(&t, true), *log;
    size_t len;
    log = file_get(path, &len);
    CHECK(log != NULL && unlink(path_with(path, ".1")) == 0);
    file_put(path_with(path, ".1"), log, len);
    free(log);
    for (int i = 0; i < 2; i++) {
        CHECK(ts_put(&t, "task/x", "\"v\":1") == 0);
        CHECK(generation(&t) == 1 && ts_is_replay(&t));
    }
    CHECK(access(path_with(path, ".1"), F_OK) == 0);
    close_log(&t, path);
}

/* Version 0.2.0 was killed just before its rename, when both logs ended in a
   record that says so. */
TEST(closed_by_0_2_0)
{
    struct tstore t;
    struct arena a = {0};
    struct store_rec r;
    struct store_report rep;
    size_t len;
    char *path = path_fresh("tasks.log");
    char *log = file_get("tests/data/whole-closed.log", &len);
    if (!CHECK(log != NULL))
        exit(1);
    file_put(path, log, len);
    file_put(path_with(path, ".compact"), log, len);
    free(log);
    CHECK(link(path, path_with(path, ".1")) == 0);
    CHECK(ts_open(&t, path) == 0);
    CHECK(ts_put(&t, "task/x", "\"v\":1") == 0 && generation(&t) == 1);
    CHECK(store_read_n(t.s, 10, &a, &r) == 0 && str_is(r.key, "log/closed"));
    CHECK(store_read_n(t.s, 11, &a, &r) == 0 && str_is(r.key, "task/x"));
    for (int i = 0; i < 2; i++) {
        CHECK(ts_compact(&t) == 0 && ts_is_replay(&t));
        CHECK(ts_get(&t, "task/2")[0] != '\0');
        CHECK(ts_get(&t, "task/x")[0] != '\0');
        CHECK(store_verify(path, &rep, NULL) == 0 && !rep.damaged);
    }
    arena_fini(&a);
    close_log(&t, path);
}

/* After a process was killed during a compaction, the next one finds everything
   and continues. */
TEST(killed_while_compacting)
{
    bool done = false;
    for (int calls = 1; !done; calls++) {
        struct tstore t;
        struct store_report rep;
        int status = 0;
        char *path = open_log(&t, 9, 3);
        pid_t pid = child_begin();
        if (pid == 0) {
            struct tstore c;
            CHECK(ts_open(&c, path) == 0);
            lives_for = calls;
            _exit(ts_compact(&c) == 0 ? 1 : 2);
        }
        CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
              WEXITSTATUS(status) < 2);
        done = WEXITSTATUS(status) == 1;
        CHECK(store_verify(path, &rep, NULL) == 0 && !rep.damaged);
        CHECK(store_follow(t.s) == 0 && ts_get(&t, "task/2")[0] != '\0');
        CHECK(ts_put(&t, "task/x", "\"v\":1") == 0 && ts_is_replay(&t));
        CHECK(ts_compact(&t) == 0 && ts_is_replay(&t));
        CHECK(ts_get(&t, "task/0")[0] != '\0' &&
              ts_get(&t, "task/x")[0] != '\0');
        CHECK(store_verify(path, &rep, NULL) == 0 && !rep.damaged &&
              !rep.torn);
        CHECK(lock_elsewhere(path) == 0);
        CHECK(!done || calls > 12);
        close_log(&t, path);
    }
}

/* A process that has read the log by another descriptor may have lost its lock
   on it, and then notices that another has written without the lock file. */
TEST(log_lock_dropped)
{
    struct tstore t, other;
    bool unknown = true;
    size_t len;
    char *path = open_log(&t, 3, 3);
    CHECK(store_lock(t.s) == 0);
    CHECK(store_stage(t.s, STR("task/x"), STR("\"v\":1")) == 0);
    free(file_get(path, &len));
    CHECK(unlink(path_with(path, ".lock")) == 0);
    pid_t pid = child_begin();
    if (pid == 0) {
        bool wrote = ts_open(&other, path) == 0 &&
                     ts_put(&other, "task/o", "\"v\":2") == 0;
        CHECK(wrote == os_lock_is_by_process());
        child_end();
    }
    CHECK(child_ok(pid));
    CHECK(store_commit(t.s, &unknown) ==
          (os_lock_is_by_process() ? ERR_BUSY : 0));
    CHECK(!unknown && store_staged_n(t.s) == 0);
    store_unlock(t.s);
    CHECK(ts_put(&t, "task/y", "\"v\":3") == 0 && ts_is_replay(&t));
    close_log(&t, path);
}

/* What an agent asks for by its path: the lock file is refused unopened. */
TEST(lock_file_as_an_artifact)
{
    struct tstore t;
    struct arena a = {0};
    struct str out;
    char *path = open_log(&t, 3, 3), *dir = file_dir_of(path);
    const char *kept[] = {path, NULL};
    CHECK(store_lock(t.s) == 0);
    CHECK(artifact_read_path(dir, str_of(path_with(path, ".lock")), kept, &a,
                             &out) == ERR_INVALID);
    pid_t pid = child_begin();
    if (pid == 0) {
        struct lock l = {.path = path_with(path, ".lock"), .fd = -1};
        CHECK(lock_open(&l, false) == 0 && !lock_is_free(&l, LOCK_WRITE));
        child_end();
    }
    CHECK(child_ok(pid));
    store_unlock(t.s);
    arena_fini(&a);
    free(dir);
    close_log(&t, path);
}

/* A process that does not see the other's lock waits all the same, and
   continues after what the other wrote. */
TEST(lock_file_removed_in_a_commit)
{
    struct tstore t;
    bool unknown;
    char *path = open_log(&t, 3, 3);
    CHECK(ts_open(&kept_out, path) == 0);
    CHECK(store_lock(t.s) == 0);
    lose_lock();
    CHECK(store_stage(t.s, STR("task/x"), STR("\"v\":1")) == 0);
    CHECK(store_commit(t.s, &unknown) == 0);
    store_unlock(t.s);
    CHECK(ts_put(&kept_out, "task/o", "\"v\":2") == 0);
    CHECK(ts_put(&t, "task/x", "\"v\":3") == 0);
    CHECK(strcmp(ts_get(&t, "task/o"), "\"v\":2") == 0);
    CHECK(store_follow(kept_out.s) == 0);
    CHECK(ts_is_replay(&t) && ts_is_replay(&kept_out));
    ts_close(&kept_out);
    close_log(&t, path);
}

/* Another process takes the lock in the new file before it has the log's: what
   the lock of the removed file got must not keep it out. */
TEST(lock_file_replaced_before_the_lock)
{
    struct tstore t;
    int said[2], stop[2];
    size_t len;
    char *path = open_log(&t, 3, 3), c;
    const char *lock = path_with(path, ".lock");
    char *copy = file_get(lock, &len);
    CHECK(pipe(said) == 0 && pipe(stop) == 0);
    CHECK(store_follow(t.s) == 0); /* it looks whether the file is the same */
    CHECK(unlink(lock) == 0);
    file_put(lock, copy, len);
    free(copy);
    pid_t pid = child_begin();
    if (pid == 0) {
        struct lock l = {.path = lock, .fd = -1};
        close(stop[1]);
        CHECK(lock_open(&l, true) == 0 && lock_try(&l, LOCK_WRITE) == 0);
        CHECK(write(said[1], "l", 1) == 1);
        CHECK(read(stop[0], &c, 1) == 0); /* until the parent closes it */
        child_end();
    }
    CHECK(read(said[0], &c, 1) == 1);
    CHECK(store_lock(t.s) == ERR_BUSY && !store_locked(t.s));
    close(stop[1]);
    CHECK(child_ok(pid));
    CHECK(lock_elsewhere(path) == 0);
    close(stop[0]);
    close(said[0]);
    close(said[1]);
    close_log(&t, path);
}

TEST(lock_file_removed_before_the_rename)
{
    struct tstore t;
    struct store_report rep;
    char *path = open_log(&t, 9, 3);
    CHECK(ts_open(&kept_out, path) == 0);
    at_rename = LOSES_LOCK;
    CHECK(ts_compact(&t) == 0 && at_rename == RENAMES);
    CHECK(ts_put(&kept_out, "task/o", "\"v\":2") == 0);
    CHECK(ts_put(&t, "task/x", "\"v\":1") == 0 && ts_is_replay(&t));
    CHECK(generation(&t) == 2);
    CHECK(strcmp(ts_get(&t, "task/o"), "\"v\":2") == 0);
    CHECK(store_verify(path, &rep, NULL) == 0 && !rep.damaged && !rep.torn);
    CHECK(access(path_with(path, ".1"), F_OK) == 0);
    ts_close(&kept_out);
    close_log(&t, path);
}

/* ---- the mark and its log ---- */

static char *
copy_file(const char *from, const char *dir, const char *name, size_t less)
{
    size_t len;
    char *p = file_get(from, &len), *to = path_in(dir, name);
    file_put(to, p, len - less);
    free(p);
    return to;
}

/* A live store is copied file by file: the mark is newer or older than the log,
   or its end is inside a record. */
TEST(copied_with_its_mark)
{
    static const uint64_t heads[] = {3, 4, 2};
    for (int how = 0; how < 3; how++) {
        struct tstore t, copy;
        struct store_report rep;
        struct store_state st;
        char *path = open_log(&t, 3, 3), *dir = test_tmpdir(), *log, *lock;
        const char *lock_at = path_with(path, ".lock");
        log = copy_file(path, dir, "tasks.log", how == 2 ? 20 : 0);
        if (how == 0)
            CHECK(ts_put(&t, "task/1", "\"v\":2") == 0);
        lock = copy_file(lock_at, dir, "tasks.log.lock", 0);
        if (how == 1) {
            CHECK(ts_put(&t, "task/1", "\"v\":2") == 0);
            free(log);
            log = copy_file(path, dir, "tasks.log", 0);
        }
        CHECK(store_verify(log, &rep, NULL) == 0 && !rep.damaged);
        CHECK(ts_open(&copy, log) == 0);
        st = *store_state(copy.s);
        CHECK(st.err == 0 && st.torn == (how == 2));
        CHECK(st.head == heads[how]);
        CHECK(ts_put(&copy, "task/1", "\"v\":3") == 0);
        CHECK(store_verify(log, &rep, NULL) == 0 && !rep.torn);
        ts_close(&copy);
        free(log);
        free(lock);
        free(dir);
        close_log(&t, path);
    }
}

/* An older copy replaces the log, in use or not. */
TEST(restored_alone)
{
    for (int open = 0; open < 2; open++) {
        struct tstore t;
        struct store_report rep;
        size_t len;
        char *path = open_log(&t, 3, 3), *p = file_get(path, &len);
        CHECK(ts_put(&t, "task/1", "\"v\":2") == 0);
        if (!open)
            ts_close(&t);
        file_put(path_with(path, ".restored"), p, len);
        CHECK(rename(path_with(path, ".restored"), path) == 0);
        CHECK(store_verify(path, &rep, NULL) == 0 && !rep.damaged &&
              rep.last_n == 3);
        if (!open)
            CHECK(ts_open(&t, path) == 0);
        CHECK(ts_put(&t, "task/1", "\"v\":3") == 0 && ts_is_replay(&t));
        free(p);
        close_log(&t, path);
    }
}

static bool
read_mark(const char *path, struct mark *m)
{
    struct lock l = {.path = path_with(path, ".lock"), .fd = -1};
    bool ok = lock_open(&l, false) == 0 && mark_read(&l, m) == 0;
    lock_close(&l);
    return ok;
}

static void
write_mark(const char *path, const struct mark *m)
{
    struct lock l = {.path = path_with(path, ".lock"), .fd = -1};
    CHECK(lock_open(&l, false) == 0 && mark_write(&l, m) == 0);
    lock_close(&l);
}

/* A writer of version 0.1.0 leaves the second line unchanged. */
TEST(first_line_alone)
{
    struct tstore t;
    struct mark m;
    size_t old_len, len;
    char *path = open_log(&t, 3, 3), *old, *now;
    const char *lock = path_with(path, ".lock");
    old = file_get(lock, &old_len);
    CHECK(old_len == 256 && old[61] == '\n' && old[255] == '\n');
    CHECK(read_mark(path, &m) && strlen(m.id) == 32 && m.n == 3);
    CHECK(ts_put(&t, "task/1", "\"v\":2") == 0);
    ts_close(&t);
    now = file_get(lock, &len);
    memcpy(now + 62, old + 62, len - 62);
    file_put(lock, now, len);
    CHECK(read_mark(path, &m) && m.id[0] == '\0' && m.n == 4);
    CHECK(ts_open(&t, path) == 0); /* completes it, if the boot is known */
    CHECK(read_mark(path, &m) && m.n == 4 &&
          (m.id[0] == '\0') == (os_boot_id()[0] == '\0'));
    file_put(lock, now, 62);
    CHECK(ts_put(&t, "task/1", "\"v\":3") == 0 && ts_is_replay(&t));
    free(old);
    free(now);
    close_log(&t, path);
}

/* A part of a mark may be the whole of what changes in it: then it counts. */
TEST(part_of_a_mark)
{
    struct store_report rep;
    struct tstore t;
    char *path = open_log(&t, 3, 3), body[32];
    for (int i = 0; i < 300; i++) {
        snprintf(body, sizeof body, "\"v\":%d", 1000 + i);
        mark_part = (size_t)(55 + i % 8);
        int rc = ts_put(&t, "task/1", body);
        mark_part = 0;
        CHECK(rc == 0 || rc == ERR_IO);
        CHECK((strcmp(ts_get(&t, "task/1"), body) == 0) == (rc == 0));
        CHECK(store_verify(path, &rep, NULL) == 0 && !rep.damaged);
        CHECK(ts_put(&t, "task/2", body) == 0);
    }
    CHECK(ts_is_replay(&t));
    close_log(&t, path);
}

/* Verify must not accept a mark that the server refuses. */
TEST(mark_within_a_record)
{
    struct tstore t;
    struct mark m;
    struct store_report rep;
    struct store_state st;
    char *path = open_log(&t, 3, 3);
    ts_close(&t);
    CHECK(read_mark(path, &m));
    m.end -= 5;
    write_mark(path, &m);
    CHECK(store_verify(path, &rep, NULL) == 0 && rep.damaged &&
          strstr(rep.what, "remove the .lock file") != NULL);
    CHECK(ts_open(&t, path) == 0);
    st = *store_state(t.s);
    CHECK(st.mode == STORE_DAMAGED && st.err == ERR_DAMAGED);
    ts_close(&t);
    CHECK(unlink(path_with(path, ".lock")) == 0);
    CHECK(ts_open(&t, path) == 0 && ts_put(&t, "task/1", "\"v\":3") == 0);
    close_log(&t, path);
}

/* ---- time ---- */

#define HOUR_MS (3600 * 1000LL)

/* The time of a newly opened store minus the wall clock's. */
static int64_t
ahead_of_wall(const char *path)
{
    struct tstore t;
    CHECK(ts_open(&t, path) == 0);
    int64_t ms = store_now_ms(t.s) - clock_wall_ms();
    ts_close(&t);
    return ms;
}

static bool
about(int64_t is, int64_t want)
{
    return is > want - 30 * 1000 && is < want + 30 * 1000;
}

/* After the clock was once an hour ahead, time goes on for later processes. */
static void
test_time_goes_on(void)
{
    struct tstore t;
    char *path = open_log(&t, 3, 3);
    wall_ahead_s = 3600;
    CHECK(ts_put(&t, "task/1", "\"v\":2") == 0);
    ts_close(&t);
    wall_ahead_s = 0;
    CHECK(about(ahead_of_wall(path), HOUR_MS));
    clock_ahead_s = 600;
    CHECK(about(ahead_of_wall(path), HOUR_MS));
    clock_ahead_s = 0;
    free(path);
}

/* After another boot, time continues from the newest record and from the first
   process that may write. */
static void
test_time_after_a_boot(void)
{
    struct tstore t;
    struct mark m;
    char *path = open_log(&t, 3, 3);
    wall_ahead_s = 3600;
    CHECK(ts_put(&t, "task/1", "\"v\":2") == 0);
    ts_close(&t);
    wall_ahead_s = 0;
    CHECK(read_mark(path, &m));
    m.boot[0] = m.boot[0] == '0' ? '1' : '0';
    m.boot_ms -= HOUR_MS;
    write_mark(path, &m);
    CHECK(about(ahead_of_wall(path), HOUR_MS)); /* writes no record */
    CHECK(read_mark(path, &m) && strcmp(m.boot, os_boot_id()) == 0);
    clock_ahead_s = 600;
    CHECK(about(ahead_of_wall(path), HOUR_MS));
    clock_ahead_s = 0;
    free(path);
}

static int64_t
time_of(struct tstore *t, const char *key)
{
    struct arena a = {0};
    struct store_rec r;
    int64_t ms = -1;
    struct store_entry *e = store_find(t->s, str_of(key));
    CHECK(e != NULL && store_read(t->s, e, &a, &r) == 0 &&
          time_parse(r.time, &ms));
    arena_fini(&a);
    return ms - clock_wall_ms();
}

/* The clock was ten years ahead for a while. A compaction takes that back, also
   in processes that have seen it, for what they write, and after another
   boot. */
static void
test_time_is_taken_back(void)
{
    struct tstore t, other;
    struct mark m;
    struct store_report rep;
    char *path = open_log(&t, 3, 3);
    wall_ahead_s = 10LL * 365 * 24 * 3600;
    CHECK(ts_put(&t, "task/2", "\"v\":2") == 0);
    wall_ahead_s = 0;
    CHECK(ts_open(&other, path) == 0);
    CHECK(ts_put(&other, "task/3", "\"v\":3") == 0);
    CHECK(time_of(&t, "task/2") > HOUR_MS);
    CHECK(time_of(&other, "task/3") > HOUR_MS);
    store_take_back_time(t.s);
    CHECK(ts_compact(&t) == 0);
    for (int i = 0; i < 2; i++) {
        struct tstore *s = i == 0 ? &other : &t;
        CHECK(store_follow(s->s) == 0);
        /* Memory has times too, so it is not kept. */
        CHECK(store_find(s->s, STR("task/1"))->g == 2);
        CHECK(about(store_now_ms(s->s), clock_wall_ms()));
        CHECK(ts_put(s, "task/4", "\"v\":5") == 0);
        for (int k = 1; k <= 4; k++) {
            char key[16];
            snprintf(key, sizeof key, "task/%d", k);
            CHECK(time_of(s, key) < 30 * 1000);
        }
    }
    CHECK(strcmp(ts_get(&other, "task/3"), "\"v\":3") == 0);
    CHECK(store_follow(other.s) == 0);
    CHECK(ts_is_replay(&t) && ts_is_replay(&other));
    ts_close(&other);
    ts_close(&t);
    CHECK(store_verify(path, &rep, NULL) == 0 && !rep.damaged);
    CHECK(about(ahead_of_wall(path), 0));
    CHECK(read_mark(path, &m));
    m.boot[0] = m.boot[0] == '0' ? '1' : '0';
    write_mark(path, &m);
    CHECK(about(ahead_of_wall(path), 0));
    /* The old generation keeps the times. */
    CHECK(ts_open(&t, path_with(path, ".1")) == 0);
    CHECK(time_of(&t, "task/3") > HOUR_MS);
    close_log(&t, path);
}

/* ---- processes of several hosts ---- */

static struct fake_list list;

struct host {
    struct tstore t;
    struct fake f;
    char *path;
};

static void
open_host(struct host *h)
{
    char *dir = test_tmpdir();
    h->path = path_in(dir, "tasks.log");
    fake_new(&h->f, &list, dir);
    CHECK(ts_open_with(&h->t, &(struct store_options){
        .path = h->path, .remote = &h->f.remote}) == 0);
    CHECK(store_confirm(h->t.s) == 0);
    free(dir);
}

static void
close_host(struct host *h)
{
    ts_close(&h->t);
    fake_end(&h->f);
    free(h->path);
}

/* The number of a process that has just used the log of h, and died. */
static uint64_t
instance_of_dead(struct host *h)
{
    uint64_t n = 0;
    int fd[2];
    pid_t pid;

    CHECK(pipe(fd) == 0);
    pid = child_begin();
    if (pid == 0) {
        struct tstore other;

        CHECK(ts_open_with(&other, &(struct store_options){
            .path = h->path, .remote = &h->f.remote}) == 0);
        n = store_instance(other.s);
        CHECK(store_alive(h->t.s, n) && h->f.number == n);
        CHECK(write(fd[1], &n, sizeof n) == sizeof n);
        child_end();
    }
    CHECK(child_ok(pid));
    CHECK(read(fd[0], &n, sizeof n) == sizeof n);
    close(fd[0]);
    close(fd[1]);
    return n;
}

/* Of the processes of this host the lock file knows who is alive, of those of
   others the remote. */
static void
test_instances_of_hosts(void)
{
    struct host a, b;
    open_host(&a);
    open_host(&b);
    CHECK(store_alive(a.t.s, 77) && !store_alive(a.t.s, 78));
    uint64_t n = store_instance(a.t.s);
    CHECK(n >= REMOTE_INSTANCES && n == a.f.number);
    CHECK(store_alive(a.t.s, n) && a.f.n_alive == 2);
    uint64_t dead = instance_of_dead(&a);
    a.f.living = b.f.living = dead; /* its lease lasts longer */
    CHECK(dead != n && !store_alive(a.t.s, dead) && a.f.n_alive == 2);
    CHECK(store_alive(b.t.s, dead) && !store_alive(b.t.s, n));
    CHECK(b.f.n_alive == 2);
    /* What is not seen to live is gone only after a while. */
    CHECK(store_sight(a.t.s, n) == SIGHT_ALIVE &&
          store_sight(a.t.s, dead) == SIGHT_GONE);
    CHECK(store_sight(b.t.s, dead) == SIGHT_ALIVE &&
          store_sight(b.t.s, n) == SIGHT_UNKNOWN);
    b.f.gone = n;
    CHECK(store_sight(b.t.s, n) == SIGHT_GONE &&
          store_sight(b.t.s, 0) == SIGHT_UNKNOWN);
    close_host(&a);
    close_host(&b);
    fake_free(&list);
}

int
main(void)
{
    if (!os_lock_is_by_process())
        test_reading_the_lock_file_drops_no_lock();
    else
        puts("t_lock: skipped what needs locks of open files");
    test_run();
    if (os_mount_of(STDERR_FILENO) >= 0)
        test_bind_mount();
    else
        puts("t_lock: skipped what needs the identity of mounts");
    if (os_boot_id()[0] != '\0') {
        test_time_goes_on();
        test_time_after_a_boot();
        test_time_is_taken_back();
        test_instances_of_hosts();
    } else {
        puts("t_lock: skipped what needs the identity of the boot");
    }
    return test_end("t_lock");
}
