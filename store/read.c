/* read - reads records by entry, by number, and in order.

   Records of closed generations can be found by number too. Numbers rise with
   the offset in every file, so a binary search replaces an index of numbers. It
   starts where the last one ended, since reads along a chain ask for nearby
   numbers, and trusts the numbers it sees on its way. If that finds nothing, a
   careful search of the whole file trusts only whole records.

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

int
store_read(struct store *s, const struct store_entry *e, struct arena *a,
           struct store_rec *out)
{
    char *line = arena_alloc(a, e->len);
    if (line == NULL)
        return ERR_NOMEM;
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

/* A file to search. */
struct search {
    int fd;
    int64_t end;
    bool careful;
};

/* Finds the first line that begins after off: its offset and number. False: it
   is bad or missing. A careful search accepts only a whole record, so that a
   damaged digit cannot mislead it. */
static bool
probe_line(const struct search *f, int64_t off, int64_t *at, uint64_t *n)
{
    struct record_reader rd = {.fd = f->fd, .off = off, .end = f->end,
                               .chunk = 4096};
    struct store_rec r;
    struct str line;
    bool found = record_skip(&rd) == 1; /* the rest of the one before */
    *at = rd.off;
    if (found && !f->careful)
        found = record_peek_n(record_glance(&rd), n);
    else if (found)
        found = record_next(&rd, &line, at) == 1 && record_peek_n(line, n) &&
                record_parse(line, &r) == 0;
    record_reader_fini(&rd);
    return found;
}

/* Offset to start reading at for record n: no earlier line has that number. */
static int64_t
search_file(const struct search *f, uint64_t n, int64_t near, int64_t step)
{
    int64_t lo = 0, hi = near > 0 ? near : f->end;
    while (hi - lo > SEARCH_LINEAR) {
        int64_t mid = near > step ? near - step : lo + (hi - lo) / 2, at;
        uint64_t found;
        step *= 2;
        bool seen = probe_line(f, mid, &at, &found) && at < hi;
        if (seen && found == n && !f->careful)
            return at; /* or its end record, which has the same number */
        if (!seen || found >= n) {
            hi = mid; /* a bad line: what is before it is sure to be */
        } else {
            lo = at;
            near = 0; /* it is between the two */
        }
    }
    return lo;
}

int64_t
store_search(int fd, int64_t end, uint64_t n)
{
    return search_file(&(struct search){fd, end, true}, n, 0, 0);
}

/* Reads record n of generation g. */
static int
find_record_in(struct store *s, uint64_t g, const struct search *file,
               uint64_t n, struct arena *a, struct store_rec *out)
{
    int64_t near = !file->careful && s->near_g == g && n < s->near_n &&
                   s->near_off <= file->end ? s->near_off : 0;
    /* The one before is likely to be about as long. */
    int64_t step = SEARCH_LINEAR / 4 + (int64_t)s->near_len;
    struct record_reader rd = {.fd = file->fd, .end = file->end,
                               .off = search_file(file, n, near, step),
                               .chunk = SEARCH_LINEAR};
    struct str line;
    uint64_t shown;
    int64_t off;
    int rc, result = ERR_NOT_FOUND;
    while ((rc = record_next(&rd, &line, &off)) != 0 && rc != ERR_IO &&
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
            s->near_g = g;
            s->near_n = n;
            s->near_off = off;
            s->near_len = line.len;
            break;
        }
    }
    record_reader_fini(&rd);
    return rc == ERR_IO || rc == ERR_NOMEM ? rc : result;
}

/* Searches all generations, newest first. */
static int
find_record(struct store *s, uint64_t n, bool careful, struct arena *a,
            struct store_rec *out)
{
    struct search file = {s->log.fd, s->log.end, careful};
    struct stat st;
    int rc = file.fd < 0 ? ERR_NOT_FOUND
                         : find_record_in(s, s->log.g, &file, n, a, out);
    for (uint64_t g = s->log.g; rc == ERR_NOT_FOUND && g > 1; g--) {
        file.fd = store_open_closed(s, g - 1);
        if (file.fd < 0)
            return errno == ENOENT ? ERR_NOT_FOUND : ERR_IO;
        rc = fstat(file.fd, &st) == 0 ? 0 : ERR_IO;
        file.end = st.st_size;
        if (rc == 0)
            rc = find_record_in(s, g - 1, &file, n, a, out);
        close(file.fd);
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
    int rc = find_record(s, n, false, a, out);
    if (rc == ERR_NOT_FOUND || rc == ERR_DAMAGED)
        rc = find_record(s, n, true, a, out);
    return rc;
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
