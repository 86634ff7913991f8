/* file - shared code for writing files.

   A new name survives a power loss only after its directory, and those above
   it, were synced. A file's existence proves nothing: its creator may have been
   killed before the sync. So code that relies on a name syncs all directories
   above it. An interrupted sync is repeated. A failed one never is: the kernel
   may have dropped the dirty pages and would report success. The caller writes
   its data again first. */

#include "base/file.h"
#include "base/os.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h> /* rename */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINKS_MAX 40
#define ACCOUNTS_MAX (256 * 1024) /* bytes of a list of users or groups */
#define ACCOUNT_FIELDS (ACCOUNT_HOME + 1)

int
file_error(void)
{
    switch (errno) {
    case ENOSPC: case EDQUOT: case EFBIG:
        return ERR_FULL;
    case EROFS: case EACCES: case EPERM:
        return ERR_READONLY;
    case EEXIST:
        return ERR_EXISTS;
    case ENOMEM:
        return ERR_NOMEM;
    default:
        return ERR_IO;
    }
}

int
file_write_at(int fd, const char *p, size_t n, int64_t off)
{
    while (n > 0) {
        ssize_t done = pwrite(fd, p, n, (off_t)off);
        if (done < 0 && errno == EINTR)
            continue;
        if (done == 0)
            errno = EIO;
        if (done <= 0)
            return file_error();
        p += done;
        off += done;
        n -= (size_t)done;
    }
    return 0;
}

ssize_t
file_read_at(int fd, void *p, size_t n, int64_t off)
{
    size_t at = 0;
    while (at < n) {
        ssize_t got = pread(fd, (char *)p + at, n - at, (off_t)off + (off_t)at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -1;
        if (got == 0)
            break;
        at += (size_t)got;
    }
    return (ssize_t)at;
}

int
file_flush(int fd, struct buf *b, int64_t *off, size_t keep)
{
    int rc = b->err != 0 ? ERR_NOMEM : file_write_at(fd, b->p, b->len, *off);
    if (rc != 0)
        return rc;
    *off += (int64_t)b->len;
    buf_reset(b, keep);
    return 0;
}

char *
file_join(const char *a, const char *b)
{
    size_t n = strlen(a) + strlen(b) + 1;
    char *p = malloc(n);
    if (p != NULL)
        text_put(p, n, "%s%s", a, b);
    return p;
}

bool
file_cut(char *path)
{
    char *slash = strrchr(path, '/');
    if (slash == NULL || slash[slash == path] == '\0')
        return false;
    slash[slash == path] = '\0';
    return true;
}

int
file_why_not_writable(const char *path)
{
    char up[FILE_PATH_MAX + 64]; /* a path that exists and a name beside it */
    if (text_put(up, sizeof up, "%s", path) >= sizeof up)
        return ENAMETOOLONG;
    while (access(up, W_OK) != 0)
        if (errno != ENOENT || !file_cut(up))
            return errno;
    return 0;
}

char *
file_dir_of(const char *path)
{
    bool here = strchr(path, '/') == NULL;
    char *d = file_join(here ? "." : path, "");
    if (d != NULL)
        file_cut(d);
    return d;
}

const char *
file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

/* Sets rest to the target of link, followed by left. -1 with errno; EINVAL: it
   is not a link. */
static int
put_link(const char *link, char rest[FILE_PATH_MAX], const char *left)
{
    char to[FILE_PATH_MAX];
    ssize_t n = readlink(link, to, sizeof to);
    size_t len = strlen(left);
    if (n < 0)
        return -1;
    if ((size_t)n + len >= FILE_PATH_MAX) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memmove(rest + n, left, len + 1);
    memcpy(rest, to, (size_t)n);
    return 0;
}

char *
file_real(const char *path)
{
    char at[2 * FILE_PATH_MAX] = "", rest[FILE_PATH_MAX], *p = rest;
    size_t given = text_put(rest, sizeof rest, "%s", path), n, left;
    int links = 0;
    errno = ENAMETOOLONG;
    if (given >= sizeof rest ||
        (path[0] != '/' && getcwd(at, FILE_PATH_MAX) == NULL))
        return NULL;
    for (n = at[0] && at[1] ? strlen(at) : 0; *p != '\0';) {
        p += *p == '/';
        struct str name = {p, strcspn(p, "/")};
        size_t above = n;
        p += name.len;
        left = strlen(p);
        if (str_is(name, ".."))
            while (n > 0 && at[--n] != '/')
                continue;
        if (name.len == 0 || str_is(name, ".") || str_is(name, ".."))
            continue;
        n += text_put(at + n, sizeof at - n, "/%.*s", STR_ARG(name));
        if (put_link(at, rest, p) == 0) {
            errno = ELOOP;
            if (links++ == LINKS_MAX)
                return NULL;
            given = left < given ? left : given;
            n = rest[0] == '/' ? 0 : above;
            p = rest;
        } else if (errno != EINVAL &&
                   (errno != ENOENT || name.len + left > given)) {
            return NULL;
        }
    }
    at[n] = '\0';
    return file_join(n > 0 ? at : "/", "");
}

int
file_open_dir(const char *dir)
{
    return open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

int
file_sync(int fd, int (*sync)(int fd))
{
    int rc;
    do
        rc = sync(fd) == 0 ? 0 : file_error();
    while (rc != 0 && errno == EINTR);
    return rc;
}

int
file_create(const char *path)
{
    return open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
}

int
file_finish(int fd, const char *path, int rc)
{
    if (rc == 0)
        rc = file_sync(fd, os_sync);
    if (close(fd) != 0 && rc == 0)
        rc = file_error();
    int e = errno;
    if (rc != 0)
        unlink(path);
    errno = e;
    return rc;
}

int
file_sync_dir(int dir_fd)
{
    int rc = file_sync(dir_fd, os_sync), e = errno;
    close(dir_fd);
    errno = e;
    return rc == 0 || e == EINVAL ? 0 : rc; /* some file systems do not support
                                               it */
}

/* Opens the directory above fd, if it is on the same file system. -1: there is
   none; or this user cannot read it, and so did not make it; or it failed with
   errno in *e. */
static int
open_above(int fd, int *e)
{
    struct stat st, up_st;
    int up = openat(fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (up < 0 && errno != EACCES)
        *e = errno;
    if (up < 0 || (fstat(fd, &st) == 0 && fstat(up, &up_st) == 0 &&
                   st.st_dev == up_st.st_dev && st.st_ino != up_st.st_ino))
        return up;
    close(up);
    return -1;
}

int
file_sync_path(const char *dir)
{
    int fd = file_open_dir(dir), up, e = fd < 0 ? errno : 0;
    for (; fd >= 0; fd = up) {
        up = open_above(fd, &e);
        if (file_sync_dir(fd) != 0)
            e = errno;
    }
    errno = e;
    return e != 0 ? file_error() : 0;
}

int
file_sync_path_of(const char *path)
{
    char *dir = file_dir_of(path);
    int rc = dir == NULL ? ERR_NOMEM : file_sync_path(dir);
    free(dir);
    return rc;
}

void
file_read_text(const char *path, char *out, size_t cap)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : file_read_at(fd, out, cap - 1, 0);
    out[n > 0 ? n : 0] = '\0';
    if (fd >= 0)
        close(fd);
}

/* ---- who owns it ---- */

/* Reads the list itself: in a static program the C library could not. The line
   in which the first ACCOUNTS_MAX bytes end is cut, so it counts as absent. */
bool
file_account(const char *list, unsigned long id, int field, char *out,
             size_t cap)
{
    static char text[ACCOUNTS_MAX];
    struct str rest, line, part[ACCOUNT_FIELDS];
    uint64_t n;

    file_read_text(list, text, sizeof text);
    rest = str_of(text);
    while (rest.len > 0) {
        line = str_cut(&rest, '\n');
        for (int i = 0; i < ACCOUNT_FIELDS; i++)
            part[i] = str_cut(&line, ':');
        if (str_u64(part[2], &n) && n == id && rest.p != NULL &&
            part[field].len > 0 && part[field].len < cap) {
            text_put(out, cap, "%.*s", STR_ARG(part[field]));
            return true;
        }
    }
    return false;
}

static const char *
name_of_id(const char *list, unsigned long id, char out[FILE_USER_MAX])
{
    if (!file_account(list, id, ACCOUNT_NAME, out, FILE_USER_MAX))
        text_put(out, FILE_USER_MAX, "%lu", id);
    return out;
}

const char *
file_user(uid_t user, char out[FILE_USER_MAX])
{
    return name_of_id("/etc/passwd", user, out);
}

const char *
file_group(gid_t group, char out[FILE_USER_MAX])
{
    return name_of_id("/etc/group", group, out);
}

/* The files of a store lie in one directory, so chown is given that; of one
   further up this user would take away what belongs to others. */
const char *
file_why(int err, const char *path, char out[FILE_WHY_MAX])
{
    char at[FILE_PATH_MAX + 64], owner[FILE_USER_MAX], me[FILE_USER_MAX];
    struct stat st;
    size_t n;
    int up = 0, e = errno;

    n = text_put(out, FILE_WHY_MAX, "%s", strerror(err));
    if ((err != EACCES && err != EPERM) ||
        text_put(at, sizeof at, "%s", path) >= sizeof at)
        goto out;
    while (stat(at, &st) != 0 && file_cut(at))
        up++;
    if (stat(at, &st) != 0)
        goto out;
    file_user(st.st_uid, owner);
    n += text_put(out + n, FILE_WHY_MAX - n, ", %s%sbelongs to %s with mode "
                  "%04o; ", up > 0 ? at : "", up > 0 ? " " : "", owner,
                  (unsigned)st.st_mode & 07777);
    if (n >= FILE_WHY_MAX)
        goto out;
    if (up == 0 && !S_ISDIR(st.st_mode))
        file_cut(at);
    if (st.st_uid == geteuid())
        text_put(out + n, FILE_WHY_MAX - n, "run \"chmod -R u+rwX %s\"", at);
    else if (up < 2)
        text_put(out + n, FILE_WHY_MAX - n, "run mcptask as %s, or take it "
                 "over with \"sudo chown -R %s %s\"", owner,
                 file_user(geteuid(), me), at);
    else
        text_put(out + n, FILE_WHY_MAX - n, "run mcptask as %s, or choose "
                 "another MCP_TASK_BASE_DIR", owner);
out:
    errno = e;
    return out;
}

/* Whether path is in the directory of the service manager's credentials, which
   no other user can enter (systemd.exec(5)). The read bit of the group may be
   set there, for what is the mask of an access control list. */
static bool
is_credential(const char *path)
{
    const char *dir = getenv("CREDENTIALS_DIRECTORY");
    size_t n = dir != NULL ? strlen(dir) : 0;

    return n > 0 && strncmp(path, dir, n) == 0 && path[n] == '/' &&
           strstr(path + n, "/..") == NULL;
}

int
file_open_private(const char *path, int flags, size_t *len, const char **why)
{
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | flags);
    struct stat st = {0};
    *why = NULL;
    if (fd < 0 || fstat(fd, &st) != 0)
        *why = strerror(errno);
    else if (!S_ISREG(st.st_mode))
        *why = "not a regular file";
    else if (st.st_mode & (is_credential(path) ? 037 : 077))
        *why = "other users can read it; run chmod 600";
    if (fd < 0)
        return ERR_IO;
    *len = (size_t)st.st_size;
    if (*why == NULL)
        return fd;
    close(fd);
    return ERR_INVALID;
}

void
file_give(int fd, const char *like)
{
    struct stat st, to;
    char *dir;
    int rc;
    if (fstat(fd, &st) != 0 || st.st_uid != geteuid() ||
        (!S_ISDIR(st.st_mode) && (st.st_size != 0 || st.st_nlink != 1)))
        return; /* it may be a link to another file */
    rc = stat(like, &to);
    if (rc != 0 && (dir = file_dir_of(like)) != NULL) {
        rc = stat(dir, &to);
        free(dir);
    }
    if (rc != 0)
        return;
    mode_t group = to.st_mode & (S_ISDIR(st.st_mode) ? 070 : 060);
    if (S_ISDIR(to.st_mode) && !(to.st_mode & S_ISGID))
        group = 0; /* a directory's group matters only if it is setgid */
    /* Without permission the file keeps its owner. */
    if ((st.st_uid == 0 || group != 0) &&
        fchown(fd, st.st_uid == 0 ? to.st_uid : (uid_t)-1, to.st_gid) == 0 &&
        group != 0)
        (void)fchmod(fd, (st.st_mode & 07777) | group);
}

int
file_write_new(const char *path, const char *like, struct str content,
               bool own)
{
    int fd = file_create(path);
    if (fd < 0)
        return file_error();
    file_give(fd, like);
    int rc = own && fchmod(fd, 0600) != 0
                 ? file_error() : file_write_at(fd, content.p, content.len, 0);
    rc = file_finish(fd, path, rc);
    return rc == ERR_READONLY ? ERR_IO : rc; /* the directory is writable */
}

/* Calls file_give for a new directory, with its parent. */
static void
give_dir(const char *made)
{
    char *in = file_dir_of(made);
    int fd = open(made, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (in != NULL && fd >= 0)
        file_give(fd, in);
    if (fd >= 0)
        close(fd);
    free(in);
}

int
file_make_dirs(const char *dir)
{
    struct stat st;
    if (stat(dir, &st) == 0)
        return 0;
    char *part = file_join(dir, "");
    int rc = part == NULL ? ERR_NOMEM : 0;
    for (size_t i = 1; rc == 0 && i <= strlen(dir); i++) {
        if (dir[i] != '/' && dir[i] != '\0')
            continue;
        part[i] = '\0';
        if (mkdir(part, 0700) == 0)
            give_dir(part);
        else if (errno != EEXIST)
            rc = file_error();
        part[i] = dir[i];
    }
    free(part);
    return rc;
}

int
file_write_whole(const char *dir, const char *name, struct str content)
{
    char temp[4096], path[4096];
    uint64_t r;
    int rc = file_make_dirs(dir);
    if (rc == 0)
        rc = random_bytes(&r, sizeof r);
    if (rc != 0)
        return rc;
    text_put(temp, sizeof temp, "%s/tmp-%016llx", dir, (unsigned long long)r);
    text_put(path, sizeof path, "%s/%s", dir, name);
    rc = file_write_new(temp, dir, content, false);
    if (rc == 0 && rename(temp, path) != 0) {
        rc = file_error();
        unlink(temp);
    }
    return rc;
}
