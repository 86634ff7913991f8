/* artifact - the files that hold the contents of artifacts.

   1. A name is 64 lower-case hex digits, computed or checked here, so no input
      from a caller becomes part of a path in the directory.
   2. A file gets its name only by rename, complete and synced, and the
      directory is synced before the call returns. Equal contents share a file.
   3. An existing file is used only if its bytes are the same; then its time is
      updated, so that a cleanup by age keeps it. If they differ, it is
      replaced. Every read checks the content against its name. An existing name
      is synced too, as are the directories above it: the process that made them
      may have been killed before it could.
   4. A path that a caller names is walked by openat from the root, part by
      part, without following links, so no race can lead it elsewhere. */

#include "task/artifact.h"
#include "store/remote.h"
#include "base/file.h"
#include "base/os.h"
#include "base/text.h"
#include "base/utf8.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h> /* rename */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- contents ---- */

bool
artifact_is_name(struct str hex)
{
    return str_is_hex(hex, SHA256_HEX);
}

static int
read_all(int fd, struct arena *a, size_t len, struct str *out)
{
    char *p = arena_alloc(a, len + 1);
    ssize_t n;

    if (!p)
        return ERR_NOMEM;
    n = file_read_at(fd, p, len, 0);
    if (n < 0)
        return ERR_IO;
    p[n] = '\0';
    *out = (struct str){p, (size_t)n};
    return 0;
}

/* Opens a content for reading and sets *size. */
static int
open_content(const char *dir, struct str hex, size_t *size)
{
    char path[FILE_PATH_MAX];
    struct stat st;
    int fd;

    if (!artifact_is_name(hex))
        return ERR_NOT_FOUND;
    text_put(path, sizeof path, "%s/%.*s", dir, STR_ARG(hex));
    fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? ERR_NOT_FOUND : ERR_IO;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
        st.st_size <= ARTIFACT_MAX) {
        *size = (size_t)st.st_size;
        return fd;
    }
    close(fd);
    return ERR_DAMAGED;
}

/* If the file of this name holds content, sets its time to now. 0,
   ERR_NOT_FOUND, or another error; *made: no file had this name. */
static int
renew_file(const char *dir, const char *hex, struct str content, bool *made)
{
    char part[4096];
    size_t size;
    ssize_t n;
    int fd = open_content(dir, str_of(hex), &size), rc = 0;

    *made = fd == ERR_NOT_FOUND;
    if (fd < 0)
        return ERR_NOT_FOUND;
    while (rc == 0 && (n = read(fd, part, sizeof part)) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 || (size_t)n > content.len ||
            memcmp(part, content.p, (size_t)n) != 0)
            rc = ERR_NOT_FOUND;
        else
            content = str_from(content, (size_t)n);
    }
    if (content.len > 0)
        rc = ERR_NOT_FOUND;
    if (rc == 0)
        rc = futimens(fd, NULL) == 0 ? file_sync(fd, os_sync) : file_error();
    close(fd);
    return rc;
}

int
artifact_put(const char *dir, struct str content, char hex[SHA256_HEX + 1],
             bool *made)
{
    int rc;

    *made = false;
    if (content.len > ARTIFACT_MAX)
        return ERR_TOO_LARGE;
    sha256_hex(content, hex);
    rc = renew_file(dir, hex, content, made);
    if (rc == ERR_NOT_FOUND)
        rc = file_write_whole(dir, hex, content);
    return rc == 0 ? file_sync_path(dir) : rc;
}

void
artifact_remove(const char *dir, const char *hex)
{
    char path[FILE_PATH_MAX];

    text_put(path, sizeof path, "%s/%s", dir, hex);
    unlink(path);
}

bool
artifact_has(const char *dir, struct str hex, uint64_t size)
{
    size_t is;
    int fd = open_content(dir, hex, &is);

    if (fd < 0)
        return false;
    close(fd);
    return is == size;
}

int
artifact_get(const char *dir, struct str hex, struct arena *a,
             struct str *out)
{
    char is[SHA256_HEX + 1];
    size_t size;
    int fd = open_content(dir, hex, &size), rc;

    if (fd < 0)
        return fd;
    rc = read_all(fd, a, size, out);
    close(fd);
    if (rc != 0)
        return rc;
    sha256_hex(*out, is);
    return str_is(hex, is) ? 0 : ERR_DAMAGED;
}

int
artifact_fetch(struct store *s, const char *dir, struct str hex, bool wait,
               struct arena *a, struct str *out)
{
    int rc = artifact_get(dir, hex, a, out), got;

    if ((rc != ERR_NOT_FOUND && rc != ERR_DAMAGED) || !artifact_is_name(hex))
        return rc;
    got = wait ? store_share(s, dir, hex, REMOTE_FETCH)
               : store_content(s, dir, hex, false);
    if (got == 0)
        return artifact_get(dir, hex, a, out);
    if (got == ERR_NOT_FOUND)
        return rc;
    return got == ERR_PENDING ? ERR_BUSY : got;
}

/* ---- lines of a content ---- */

#define LINE_MAX_LEN 1024 /* bytes of a line that are shown */

/* Appends line n. Of a long line it shows the part around the match. */
static void
put_matched(struct buf *out, uint64_t n, struct str line, size_t found)
{
    size_t skip = found != SIZE_MAX && found > LINE_MAX_LEN / 2
                      ? found - LINE_MAX_LEN / 2 : 0;
    struct str part;

    while (utf8_is_within(line, skip))
        skip++;
    part = utf8_cut(str_from(line, skip), LINE_MAX_LEN);
    buf_printf(out, "%llu%s%s", (unsigned long long)n,
               found == SIZE_MAX ? "-" : ":", skip > 0 ? "..." : "");
    buf_str(out, part);
    buf_z(out, skip + part.len < line.len ? "...\n" : "\n");
}

void
artifact_match(struct buf *out, struct str content, struct str text,
               uint64_t around, size_t max, size_t *at)
{
    struct str rest = content, ahead = content, line;
    uint64_t looked = 0, before = 0, next = 0, shown = 0;
    size_t from = *at, start = out->len, end;

    for (uint64_t n = 1; rest.len > 0; n++) {
        *at = (size_t)(rest.p - content.p);
        line = str_cut(&rest, '\n');
        if (next < n) { /* find the next line with text; before had it last */
            before = next;
            for (next = UINT64_MAX; next > looked && ahead.len > 0; looked++)
                if (str_find(str_cut(&ahead, '\n'), text) != SIZE_MAX)
                    next = looked + 1;
        }
        if (*at < from || (next - n > around &&
                           (before == 0 || n - before > around)))
            continue;
        end = out->len;
        if (shown > 0 && n > shown + 1)
            buf_z(out, "--\n");
        put_matched(out, n, line, next == n ? str_find(line, text) : SIZE_MAX);
        if (out->len - start > max && shown > 0) {
            out->len = end;
            return;
        }
        shown = n;
    }
    *at = content.len;
}

/* ---- paths of callers ---- */

/* Removes root from an absolute path. False: the path is not beneath root. */
static bool
below(const char *root, struct str *path)
{
    struct str base = str_of(root), rest;

    while (base.len > 0 && root[base.len - 1] == '/')
        base.len--;
    if (memchr(path->p, '\0', path->len))
        return false;
    if (path->len == 0 || *path->p != '/')
        return path->len > 0;
    if (!str_begins(*path, base))
        return false;
    rest = str_from(*path, base.len);
    if (rest.len == 0 || *rest.p != '/')
        return false;
    *path = rest;
    return true;
}

static bool
is_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Whether st is the file kept or is named after it, as the lock, the key and
   the closed generations of the log are. True if it cannot be told. */
static bool
is_kept(const char *kept, const struct stat *st)
{
    const char *base = file_name(kept);
    size_t n = strlen(base);
    char *path = file_dir_of(kept);
    DIR *dir = path ? opendir(path) : NULL;
    struct dirent *e;
    struct stat is;
    bool found = false;

    if (!dir) /* it may still be possible to reach files there by name */
        found = stat(kept, &is) == 0 ? is_same(&is, st) : errno != ENOENT;
    while (dir && !found && (e = readdir(dir)))
        found = strncmp(e->d_name, base, n) == 0 &&
                (e->d_name[n] == '\0' || e->d_name[n] == '.') &&
                fstatat(dirfd(dir), e->d_name, &is, 0) == 0 &&
                is_same(&is, st);
    if (dir)
        closedir(dir);
    free(path);
    return found;
}

/* Whether st is any of them. */
static bool
is_kept_any(const char *const *kept, const struct stat *st)
{
    while (*kept && !is_kept(*kept, st))
        kept++;
    return *kept;
}

/* Opens the next component of path in the directory at and removes it from
   path. ERR_INVALID: it is kept, and so must not even be opened, since closing
   the lock file may drop its locks (base/os.h). ERR_NOT_FOUND: any other
   failure. */
static int
open_part(int at, struct str *path, const char *const *kept)
{
    struct str name = str_cut(path, '/');
    char part[256] = ".";
    struct stat st;
    int fd;

    if (name.len >= sizeof part || str_is(name, ".."))
        return ERR_NOT_FOUND;
    if (name.len > 0)
        text_put(part, sizeof part, "%.*s", STR_ARG(name));
    if (fstatat(at, part, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISREG(st.st_mode) && is_kept_any(kept, &st))
        return ERR_INVALID;
    fd = openat(at, part, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY |
                O_CLOEXEC | (path->p ? O_DIRECTORY : 0));
    return fd >= 0 ? fd : ERR_NOT_FOUND;
}

int
artifact_read_path(const char *root, struct str path, const char *const *kept,
                   struct arena *a, struct str *out)
{
    struct stat st;
    bool beneath = below(root, &path);
    int fd, next, rc;

    if (!beneath) { /* with links, or a relative one */
        char *real = file_real(root);

        beneath = real && below(real, &path);
        free(real);
    }
    if (!beneath)
        return ERR_NOT_FOUND;
    fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    while (fd >= 0 && path.len) {
        next = open_part(fd, &path, kept);
        close(fd);
        fd = next;
    }
    if (fd < 0)
        return fd == ERR_INVALID ? fd : ERR_NOT_FOUND;
    if (fstat(fd, &st) != 0)
        rc = ERR_IO;
    else if (!S_ISREG(st.st_mode))
        rc = ERR_NOT_FOUND;
    else if (is_kept_any(kept, &st))
        rc = ERR_INVALID;
    else if (st.st_size > ARTIFACT_MAX)
        rc = ERR_TOO_LARGE;
    else
        rc = read_all(fd, a, (size_t)st.st_size, out);
    close(fd);
    return rc;
}
