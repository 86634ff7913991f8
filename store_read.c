/* store_read - records out of the log: by their entry, by number, in order.

   Records of a closed generation are found by number too. Numbers rise with
   the offset in every file, so a search halves the file until a few blocks
   are left; no index of numbers is kept.

   Every record read is checked against its CRC: what the disk has turned
   into something else is an error, never an answer. */

#include "store_int.h"
#include "text.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define SEARCH_LINEAR (32 * 1024) /* bytes that are read rather than halved */

/* pread of exactly n bytes. */
static bool
read_at(int fd, char *p, size_t n, int64_t off)
{
    while (n > 0) {
        ssize_t got = pread(fd, p, n, (off_t)off);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        p += got;
        off += got;
        n -= (size_t)got;
    }
    return true;
}

int
store_read(struct store *s, const struct store_entry *e, struct arena *a,
           struct store_rec *out)
{
    char *line = arena_alloc(a, e->len);
    if (line == NULL)
        return ERR_NOMEM;
    int fd = e->file == s->file ? s->fd : s->move.fd;
    if (fd == s->fd && e->off >= s->end) { /* staged in this turn */
        size_t at = (size_t)(e->off - s->end);
        ASSERT(at + e->len <= s->batch.len);
        memcpy(line, s->batch.p + at, e->len);
    } else if (!read_at(fd, line, e->len, e->off)) {
        return ERR_IO;
    }
    struct str key = {e->key, e->key_len};
    if (record_parse((struct str){line, e->len}, out) != 0 ||
        out->n != e->n || !str_eq(out->key, key))
        return ERR_DAMAGED;
    return 0;
}

/* The offset of the first line that starts at or behind off; end: none. */
static int64_t
line_from(int fd, int64_t off, int64_t end)
{
    char buf[4096];
    if (off == 0)
        return 0;
    for (off--; off < end; off += (int64_t)sizeof buf) {
        ssize_t n = pread(fd, buf, sizeof buf, (off_t)off);
        char *lf = n > 0 ? memchr(buf, '\n', (size_t)n) : NULL;
        if (lf != NULL)
            return off + (lf - buf) + 1 < end ? off + (lf - buf) + 1 : end;
        if (n <= 0)
            break;
    }
    return end;
}

/* The number of the record at off, if there is a whole one: a damaged digit
   must not send the search astray. */
static bool
number_at(int fd, int64_t off, int64_t end, uint64_t *n)
{
    char buf[8 * 1024];
    struct record_reader rd = {.fd = fd, .off = off, .end = end};
    struct store_rec r;
    struct str line = {buf, 0};
    ssize_t got = pread(fd, buf, sizeof buf, (off_t)off);
    char *lf = got > 0 ? memchr(buf, '\n', (size_t)got) : NULL;
    line.len = lf ? (size_t)(lf - buf) : 0;
    bool found = (lf || record_next(&rd, &line, &off) == 1) &&
                 record_parse(line, &r) == 0;
    *n = found ? r.n : 0;
    record_reader_fini(&rd);
    return found;
}

int64_t
store_search(int fd, int64_t end, uint64_t n)
{
    int64_t lo = 0, hi = end;
    while (hi - lo > SEARCH_LINEAR) {
        int64_t mid = lo + (hi - lo) / 2;
        int64_t at = line_from(fd, mid, hi);
        uint64_t found;
        if (at >= hi || !number_at(fd, at, end, &found) || found >= n)
            hi = mid; /* a bad line: what is before it is sure to be */
        else
            lo = at;
    }
    return lo;
}

/* Reads record n of one file. */
static int
find_in(int fd, int64_t end, uint64_t n, struct arena *a,
        struct store_rec *out)
{
    struct record_reader rd = {.fd = fd, .off = store_search(fd, end, n),
                               .end = end, .chunk = SEARCH_LINEAR};
    struct str line;
    uint64_t found;
    int64_t off;
    int rc, result = ERR_NOT_FOUND;
    bool bad = false;
    while (result == ERR_NOT_FOUND &&
           (rc = record_next(&rd, &line, &off)) != 0) {
        if (rc == ERR_IO || rc == ERR_NOMEM)
            result = rc;
        if (rc != 1 || !record_peek_n(line, &found) || found < n)
            continue;
        if (record_parse(line, out) != 0) { /* even its number may be wrong */
            bad = bad || found == n;
            continue;
        }
        if (found > n)
            break;
        if (!record_key_ok(out->key)) /* header or end record */
            continue;
        line = arena_str(a, line);
        result = line.p == NULL ? ERR_NOMEM : record_parse(line, out);
    }
    record_reader_fini(&rd);
    return result == ERR_NOT_FOUND && bad ? ERR_DAMAGED : result;
}

/* The closed generation g, open; -1 where it is not there any more. */
static int
open_closed(struct store *s, uint64_t g)
{
    char path[STORE_PATH_MAX + 32];
    if (s->closed_fd >= 0 && s->closed_g == g)
        return s->closed_fd;
    if (s->closed_fd >= 0)
        close(s->closed_fd);
    store_closed_path(s, g, path, sizeof path);
    s->closed_fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW |
                        O_NONBLOCK);
    s->closed_g = g;
    return s->closed_fd;
}

int
store_read_n(struct store *s, uint64_t n, struct arena *a,
             struct store_rec *out)
{
    int rc = ERR_NOT_FOUND;
    if (!s->loaded)
        return ERR_IO;
    if (n == 0 || n > s->head + s->n_undo)
        return ERR_NOT_FOUND;
    if (n > s->head) {
        struct str rest = {s->batch.p, s->batch.len};
        for (uint64_t i = s->head + 1; i < n; i++) {
            const char *lf = memchr(rest.p, '\n', rest.len);
            rest.len -= (size_t)(lf + 1 - rest.p);
            rest.p = lf + 1;
        }
        const char *lf = memchr(rest.p, '\n', rest.len);
        rest = arena_str(a, (struct str){rest.p, (size_t)(lf - rest.p)});
        return rest.p == NULL ? ERR_NOMEM : record_parse(rest, out);
    }
    if (s->fd >= 0)
        rc = find_in(s->fd, s->end, n, a, out);
    for (uint64_t g = s->g; rc == ERR_NOT_FOUND && g > 1; g--) {
        struct stat st;
        int fd = open_closed(s, g - 1);
        if (fd < 0 && errno == ENOENT)
            break;
        if (fd < 0 || fstat(fd, &st) != 0)
            return ERR_IO;
        rc = find_in(fd, st.st_size, n, a, out);
    }
    return rc;
}

int
store_scan(struct store *s, uint64_t from,
           int (*fn)(void *ctx, const struct store_rec *r), void *ctx)
{
    if (s->fd < 0)
        return 0;
    struct record_reader rd = {.fd = s->fd, .end = s->end,
                               .off = store_search(s->fd, s->end, from)};
    struct store_rec r;
    struct str line;
    int64_t off;
    int rc, result = 0;
    while (result == 0 && (rc = record_next(&rd, &line, &off)) != 0) {
        if (rc == ERR_IO || rc == ERR_NOMEM)
            result = rc;
        else if (rc == 1 && record_parse(line, &r) == 0 && r.n >= from &&
                 record_key_ok(r.key))
            result = fn(ctx, &r);
    }
    record_reader_fini(&rd);
    return result;
}
