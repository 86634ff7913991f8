#ifndef TEST_ROOM_H
#define TEST_ROOM_H

/* A store on a disk of 2 MB. The disk is a directory. Each write counts its
   files and open files without a name; beyond DISK there is no room. A program
   that includes this is linked with pwrite and statvfs wrapped. */

#include "tests/lib/store_test.h"

#include <dirent.h>
#include <sys/statvfs.h>

#define DISK (2 * 1024 * 1024)
#define BLOCK 4096
#define FDS 64

static char *path;
static struct tstore t;
static char *dir;     /* NULL: unlimited room */
static int64_t disk;  /* its bytes: DISK, unless a test sets it after begin */
static int64_t alien; /* bytes used by others */
static bool no_statvfs; /* it is not known how much room there is */

static inline int64_t
blocks(const struct stat *st)
{
    return ((int64_t)st->st_size + BLOCK - 1) / BLOCK * BLOCK;
}

static inline int64_t
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

/* A write takes new blocks only if the file grows. */
static inline bool
no_room(int fd, size_t n, off_t off)
{
    struct stat st;
    if (dir == NULL || fstat(fd, &st) != 0)
        return false;
    struct stat to = {.st_size = off + (off_t)n};
    int64_t more = blocks(&to) - blocks(&st);
    bool full = more > 0 && used() + more > disk;
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
        int64_t room = disk - used();                        \
        memset(out, 0, sizeof *out);                         \
        if (no_statvfs)                                      \
            return 0;                                        \
        out->f_frsize = BLOCK;                               \
        out->f_blocks = (fsblkcnt_t)(disk / BLOCK);          \
        out->f_bavail = room < 0 ? 0 : (fsblkcnt_t)(room / BLOCK); \
        return 0;                                            \
    }

WRAP_STATVFS(statvfs)
WRAP_STATVFS(statvfs64)

static inline void
begin(const struct store_options *o)
{
    free(path);
    free(dir);
    path = path_fresh("tasks.log");
    dir = strdup(path);
    *strrchr(dir, '/') = '\0';
    alien = 0;
    disk = DISK;
    struct store_options with = *o;
    with.path = path;
    CHECK(ts_open_with(&t, &with) == 0);
}

static inline void
end(void)
{
    struct store_report rep;
    CHECK(ts_is_replay(&t));
    ts_close(&t);
    CHECK(store_verify(path, &rep, NULL) == 0 && !rep.damaged && !rep.torn);
    free(dir);
    dir = NULL;
}

static inline bool
exists(const char *ending)
{
    return access(path_with(path, ending), F_OK) == 0;
}

/* Does a server's work between turns. */
static inline void
between_turns(void)
{
    static bool compacting;
    if (compacting || store_wants_compact(t.s))
        compacting = store_compact(t.s) == ERR_PENDING;
}

/* Commits a record of a task, as a command does. */
static inline int
commit_once(int task, const char *body, bool last)
{
    char key[32];
    bool unknown;
    snprintf(key, sizeof key, "task/%d", task);
    int rc = store_lock_patiently(t.s);
    if (rc != 0)
        return rc;
    rc = last ? store_stage_last(t.s, str_of(key), str_of(body))
              : store_stage(t.s, str_of(key), str_of(body));
    int done = store_commit(t.s, &unknown);
    store_unlock(t.s);
    return rc != 0 ? rc : done;
}

static inline int
commit_text(int task, const char *body, bool last)
{
    int rc = commit_once(task, body, last);
    if (rc == ERR_FULL && store_make_room(t.s))
        rc = commit_once(task, body, last);
    return rc;
}

static inline int
put(int task, int v, int fill)
{
    char body[16 * 1024];
    snprintf(body, sizeof body, "\"v\":%d,\"fill\":\"%0*d\"", v, fill, 0);
    return commit_text(task, body, false);
}

/* The same as a server that has nothing else to do. */
static inline int
put_served(int task, int v, int fill)
{
    int rc = put(task, v, fill);
    between_turns();
    return rc;
}

#endif
