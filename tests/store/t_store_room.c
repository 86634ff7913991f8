/* t_store_room - a log on a disk of 2 MB.

   The disk is a directory whose files, and those that are open without a
   name, are counted at each write: there is no room above DISK. t_cli.sh does
   the same with a real one, where it may mount it. */

#include "tests/lib/store_test.h"

#include <dirent.h>
#include <sys/statvfs.h>

#define DISK (2 * 1024 * 1024)
#define BLOCK 4096
#define FDS 64
#define RESERVE (64 * 1024)

static char *path;
static struct tstore t;
static char *dir;     /* NULL: room without end */
static int64_t alien; /* bytes that others have written */

static int64_t
blocks(const struct stat *st)
{
    return ((int64_t)st->st_size + BLOCK - 1) / BLOCK * BLOCK;
}

static int64_t
used(void)
{
    struct stat st;
    struct dirent *d;
    int64_t sum = alien;
    DIR *open_dir = opendir(dir);
    while (open_dir != NULL && (d = readdir(open_dir)) != NULL) {
        char *name = path_in(dir, d->d_name);
        if (lstat(name, &st) == 0 && S_ISREG(st.st_mode))
            sum += blocks(&st) / (int64_t)st.st_nlink;
        free(name);
    }
    if (open_dir != NULL)
        closedir(open_dir);
    for (int fd = 3; fd < FDS; fd++)
        if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_nlink == 0)
            sum += blocks(&st);
    return sum;
}

#ifndef __GLIBC__
#pragma weak __real_pwrite64
#pragma weak __real_statvfs64
#endif

/* A write takes new blocks only where the file grows. */
static bool
no_room(int fd, size_t n, off_t off)
{
    struct stat st;
    if (dir == NULL || fstat(fd, &st) != 0)
        return false;
    struct stat to = {.st_size = off + (off_t)n};
    int64_t more = blocks(&to) - blocks(&st);
    bool full = more > 0 && used() + more > DISK;
    errno = ENOSPC;
    return full;
}

#define WRAP_PWRITE(name)                                               \
    ssize_t __real_##name(int fd, const void *p, size_t n, off_t off);  \
    ssize_t __wrap_##name(int fd, const void *p, size_t n, off_t off);  \
    ssize_t __wrap_##name(int fd, const void *p, size_t n, off_t off)   \
    {                                                                   \
        return no_room(fd, n, off) ? -1 : __real_##name(fd, p, n, off); \
    }

WRAP_PWRITE(pwrite)
WRAP_PWRITE(pwrite64)

#define WRAP_STATVFS(name)                                   \
    int __real_##name(const char *at, struct statvfs *out);  \
    int __wrap_##name(const char *at, struct statvfs *out);  \
    int __wrap_##name(const char *at, struct statvfs *out)   \
    {                                                        \
        if (dir == NULL)                                     \
            return __real_##name(at, out);                   \
        int64_t room = DISK - used();                        \
        memset(out, 0, sizeof *out);                         \
        out->f_frsize = BLOCK;                               \
        out->f_bavail = room < 0 ? 0 : (fsblkcnt_t)(room / BLOCK); \
        return 0;                                            \
    }

WRAP_STATVFS(statvfs)
WRAP_STATVFS(statvfs64)

static void
begin(const struct store_options *o)
{
    free(path);
    free(dir);
    path = path_fresh("tasks.log");
    dir = strdup(path);
    *strrchr(dir, '/') = '\0';
    alien = 0;
    struct store_options with = *o;
    with.path = path;
    CHECK(ts_open_with(&t, &with) == 0);
}

static void
end(void)
{
    struct store_report rep;
    CHECK(ts_is_replay(&t));
    ts_close(&t);
    CHECK(store_verify(path, &rep, NULL) == 0 && !rep.damaged && !rep.torn);
    free(dir);
    dir = NULL;
}

static bool
exists(const char *ending)
{
    return access(path_with(path, ending), F_OK) == 0;
}

/* What a server does between turns. */
static void
between_turns(void)
{
    static bool compacting;
    if (store_move(t.s) == ERR_MORE)
        return;
    if (compacting || store_wants_compact(t.s))
        compacting = store_compact(t.s) == ERR_MORE;
}

static int
put(int task, int v, int fill)
{
    char key[32], body[4096];
    snprintf(key, sizeof key, "task/%d", task);
    snprintf(body, sizeof body, "\"v\":%d,\"fill\":\"%0*d\"", v, fill, 0);
    int rc = ts_put(&t, key, body);
    between_turns();
    return rc;
}

/* ---- ten thousand checkpoints ---- */

static uint64_t
checkpoints(int n, int tasks, int fill)
{
    struct store_state st;
    int failed = 0;
    for (int i = 0; i < n; i++)
        failed += put(i % tasks, i, fill) != 0;
    CHECK(failed == 0);
    for (int i = n - tasks; i < n; i++) {
        char key[32], want[32];
        snprintf(key, sizeof key, "task/%d", i % tasks);
        snprintf(want, sizeof want, "\"v\":%d,", i);
        CHECK(strncmp(ts_get(&t, key), want, strlen(want)) == 0);
    }
    store_state(t.s, &st);
    return st.g;
}

static void
test_ten_thousand_checkpoints(void)
{
    static const struct store_options options[] = {
        {.closed_max = STORE_CLOSED_MAX},
        {.closed_max = 0},
        {.closed_max = 0, .compact_at = 128 * 1024},
    };
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        begin(&options[i]);
        uint64_t g = checkpoints(10000, 500, 1000);
        CHECK(g > 5 && (options[i].compact_at == 0 || g > 10));
        CHECK(exists(".reserve"));
        char closed[24];
        snprintf(closed, sizeof closed, ".%llu", (unsigned long long)g - 1);
        CHECK(!exists(closed) || options[i].closed_max > 0);
        end();
    }
}

/* Generations that were closed before are not kept either, also where a
   process that kept none was killed before it removed them. */
static void
test_closed_max_0(void)
{
    for (int killed = 0; killed < 2; killed++) {
        begin(&(struct store_options){.closed_max = STORE_CLOSED_MAX});
        for (int i = 0; i < 3; i++)
            CHECK(put(i, 1, 10) == 0 && ts_compact(&t) == 0);
        CHECK(exists(".1") && exists(".2") && exists(".3"));
        ts_close(&t);
        CHECK(!killed || unlink(path_with(path, ".3")) == 0);
        CHECK(ts_open_with(&t, &(struct store_options){.path = path}) == 0);
        CHECK(put(0, 2, 10) == 0 && ts_compact(&t) == 0);
        CHECK(!exists(".1") && !exists(".2") && !exists(".3") &&
              !exists(".4"));
        end();
    }
}

/* ---- the reserve ---- */

/* Writes new tasks until there is no room. */
static int
fill_up(void)
{
    int n = 0;
    while (n < 10000 && put(n, 0, 1000) == 0)
        n++;
    return n;
}

/* Others fill the disk: some tasks can still be ended, and then the log be
   compacted, although what it needs is not free. */
static void
test_reserve_is_given_up(void)
{
    begin(&(struct store_options){.closed_max = 0});
    for (int i = 0; i < 100; i++)
        CHECK(put(i, 1, 1000) == 0);
    CHECK(exists(".reserve"));
    alien = DISK - used();
    for (int i = 0; i < 20; i++)
        CHECK(put(i, 2, 1000) == 0);
    CHECK(!exists(".reserve"));
    CHECK(put(0, 2, 1000) == 0 && fill_up() > 0);
    CHECK(put(0, 3, 1000) == ERR_FULL);
    alien = 0;
    CHECK(put(0, 4, 1000) == 0);
    for (int i = 0; i < 20; i++)
        CHECK(put(i, 5, 1000) == 0);
    CHECK(exists(".reserve")); /* as soon as there is room */
    end();
}

static void
test_compaction_takes_the_reserve(void)
{
    begin(&(struct store_options){.closed_max = 0});
    for (int i = 0; i < 50; i++)
        CHECK(put(i % 25, 1, 1000) == 0);
    CHECK(exists(".reserve"));
    alien = DISK - used();
    CHECK(ts_compact(&t) == 0 && !exists(".reserve"));
    end();
}

/* Nothing is superseded: what is full stays readable, and says so. */
static void
test_full_of_tasks(void)
{
    begin(&(struct store_options){.closed_max = STORE_CLOSED_MAX});
    int n = fill_up();
    CHECK(n > 1000 && n < 10000 && !exists(".reserve"));
    CHECK(put(0, 1, 1000) == ERR_FULL && ts_compact(&t) == ERR_FULL);
    CHECK(strncmp(ts_get(&t, "task/0"), "\"v\":0,", 6) == 0);
    end();
}

int
main(void)
{
    test_in_memory();
    test_ten_thousand_checkpoints();
    test_closed_max_0();
    test_reserve_is_given_up();
    test_compaction_takes_the_reserve();
    test_full_of_tasks();
    free(path);
    return test_end("t_store_room");
}
