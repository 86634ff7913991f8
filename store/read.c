/* read - reads records by entry, by number, and in order.

   Records of closed generations can be found by number too. Numbers rise with
   the offset in every file, so a binary search replaces an index of numbers. It
   trusts only whole records, so that a damaged digit cannot mislead it.

   An entry that is older than the last compaction has an offset in the log
   before that. Its record is found by its number, once.

   Every record's CRC is checked: bytes that changed on disk cause an error,
   never an answer. */

#include "store/read.h"
#include "store/files.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define SEARCH_LINEAR (32 * 1024) /* bytes that are read rather than bisected */

struct store_entry *
store_find(struct store *s, struct str key)
{
    s->was_read = true;
    return index_find(&s->index, key);
}

void
store_observe(struct store *s,
              void (*fn)(void *ctx, const struct store_entry *e,
                         const struct store_rec *r),
              void *ctx)
{
    s->observe = fn;
    s->observe_ctx = ctx;
}

/* Finds the first whole record that begins after off: its offset and number.
   False: the line there is bad or missing. */
static bool
probe_line(int fd, int64_t end, int64_t off, int64_t *at, uint64_t *n)
{
    struct record_reader rd = {.fd = fd, .off = off, .end = end,
                               .chunk = 4096};
    struct store_rec r;
    struct str line;
    bool found = record_skip(&rd) == 1 && /* the rest of the one before */
                 record_next(&rd, &line, at) == 1 &&
                 record_peek_n(line, n) && record_parse(line, &r) == 0;
    record_reader_fini(&rd);
    return found;
}

int64_t
store_search(int fd, int64_t end, uint64_t n)
{
    int64_t lo = 0, hi = end, mid, at;
    uint64_t found;
    while (hi - lo > SEARCH_LINEAR) {
        mid = lo + (hi - lo) / 2;
        if (probe_line(fd, end, mid, &at, &found) && at < hi && found < n)
            lo = at;
        else
            hi = mid; /* a bad line: what is before it is sure to be */
    }
    return lo;
}

int64_t
store_seek(int fd, int64_t end, uint64_t n, uint64_t *b, uint32_t *sum)
{
    struct record_reader rd = {.fd = fd, .end = end,
                               .off = store_search(fd, end, n),
                               .chunk = SEARCH_LINEAR};
    int64_t behind = rd.off, off;
    struct store_rec r;
    *b = *sum = 0;
    while (record_next_whole(&rd, &r, &off) == 1 && r.n <= n) {
        behind = rd.off;
        if (r.n == n && record_key_ok(r.key)) {
            *b = r.b;
            *sum = record_sum(r.line);
        }
    }
    record_reader_fini(&rd);
    return behind;
}

/* Reads record n of a file, at *off. */
static int
find_record_in(int fd, int64_t end, uint64_t n, struct arena *a,
               struct store_rec *out, int64_t *off)
{
    struct record_reader rd = {.fd = fd, .end = end,
                               .off = store_search(fd, end, n),
                               .chunk = SEARCH_LINEAR};
    struct str line;
    uint64_t shown;
    int rc, result = ERR_NOT_FOUND;
    while ((rc = record_next(&rd, &line, off)) != 0 && rc != ERR_IO &&
           rc != ERR_NOMEM) {
        if (!record_peek_n(line, &shown) || shown < n)
            continue;
        if (rc != 1 || record_parse(line, out) != 0) {
            if (shown == n) /* this number may itself be damaged */
                result = ERR_DAMAGED;
        } else if (out->n > n) {
            break;
        } else if (record_key_ok(out->key)) { /* not a header or end record */
            line = arena_str(a, line);
            result = line.p == NULL ? ERR_NOMEM : record_parse(line, out);
            break;
        }
    }
    record_reader_fini(&rd);
    return rc == ERR_IO || rc == ERR_NOMEM ? rc : result;
}

/* Searches all generations, newest first. */
static int
find_record(struct store *s, uint64_t n, struct arena *a,
            struct store_rec *out)
{
    struct stat st;
    int64_t off;
    int fd, rc = s->log.fd < 0 ? ERR_NOT_FOUND
                     : find_record_in(s->log.fd, s->log.end, n, a, out, &off);
    for (uint64_t g = s->log.g; rc == ERR_NOT_FOUND && g > 1; g--) {
        fd = store_open_closed(s, g - 1);
        if (fd < 0)
            return errno == ENOENT ? ERR_NOT_FOUND : ERR_IO;
        rc = fstat(fd, &st) != 0 ? ERR_IO
                 : find_record_in(fd, st.st_size, n, a, out, &off);
        close(fd);
    }
    return rc;
}

int
store_read_n(struct store *s, uint64_t n, struct arena *a,
             struct store_rec *out)
{
    s->was_read = true;
    if (!s->loaded)
        return ERR_IO;
    if (n == 0 || n > s->log.head + s->n_staged)
        return ERR_NOT_FOUND;
    if (n > s->log.head) {
        const struct staged *g = s->first;
        while (n-- > s->log.head + 1)
            g = g->next;
        struct str line = arena_str(a, (struct str){s->batch.p + g->at,
                                                    g->len});
        return line.p == NULL ? ERR_NOMEM : record_parse(line, out);
    }
    return find_record(s, n, a, out);
}

/* Finds where a compaction has put the record of an entry. If it was dropped,
   memory has to be read again. */
static int
find_moved(struct store *s, struct store_entry *e, struct arena *a)
{
    struct store_rec r;
    int64_t off;
    int rc = find_record_in(s->log.fd, s->log.end, e->n, a, &r, &off);
    if (rc == 0) {
        e->g = (uint32_t)s->log.g;
        e->off = off;
    } else if (rc == ERR_NOT_FOUND) {
        s->loaded = false;
        rc = ERR_DAMAGED;
    }
    return rc;
}

int
store_read(struct store *s, struct store_entry *e, struct arena *a,
           struct store_rec *out)
{
    int rc = e->g == (uint32_t)s->log.g ? 0 : find_moved(s, e, a);
    char *line = arena_alloc(a, e->len);
    if (rc != 0 || line == NULL)
        return rc != 0 ? rc : ERR_NOMEM;
    if (e->off >= s->log.end) { /* staged in this turn */
        size_t at = (size_t)(e->off - s->log.end);
        ASSERT(at + e->len <= s->batch.len);
        memcpy(line, s->batch.p + at, e->len);
    } else if (file_read_at(s->log.fd, line, e->len, e->off) !=
               (ssize_t)e->len) {
        return ERR_IO;
    }
    struct str key = {e->key, e->key_len};
    if (record_parse((struct str){line, e->len}, out) != 0 ||
        out->n != e->n || !str_eq(out->key, key))
        return ERR_DAMAGED;
    return 0;
}

int
store_scan(struct store *s, uint64_t from,
           int (*fn)(void *ctx, const struct store_rec *r), void *ctx)
{
    s->was_read = true;
    if (s->log.fd < 0)
        return 0;
    struct record_reader rd = {.fd = s->log.fd, .end = s->log.end,
                               .off = store_search(s->log.fd, s->log.end,
                                                   from)};
    struct store_rec r;
    int64_t off;
    int rc, result = 0;
    while (result == 0 && (rc = record_next_whole(&rd, &r, &off)) != 0)
        if (rc < 0)
            result = rc;
        else if (r.n >= from && record_key_ok(r.key))
            result = fn(ctx, &r);
    record_reader_fini(&rd);
    return result;
}
