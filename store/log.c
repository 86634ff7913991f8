/* log - reads a log file: its header, and a judgement of each line.

   A line is judged by its position. Below the mark every line must be a record
   with the next number; anything else is damage. After the mark, or without
   one, a bad line may also be torn: written by a process or machine that died
   before the sync, and so never acknowledged. It is torn unless a later whole
   record belongs to a later batch, since that batch was begun only after the
   bad bytes were synced. In a compacted file nothing before the end record can
   be torn: the file was synced before it got its name. Nothing after damage is
   torn either.

   The records that a damaged log has lost are counted by the numbers that are
   missing. Before the end record of a compacted file, where numbers may have
   gaps, each bad line counts as one until the end record gives the count.

   Replay and verify share this judgement.

   Numbers rise with the offset in every file, so a binary search finds a record
   by its number. It trusts only whole records, so that a damaged digit cannot
   mislead it. */

#include "store/log.h"
#include "base/file.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define SEARCH_LINEAR (32 * 1024) /* bytes that are read rather than bisected */

/* ---- the header ---- */

static int
deny_file(int err, const char *path, struct log_file *f, const char *what)
{
    text_put(f->why, sizeof f->why, "%s: %s", path, what);
    return err;
}

static int
io_error(const char *path, struct log_file *f)
{
    char why[FILE_WHY_MAX];
    return deny_file(ERR_IO, path, f, file_why(errno, path, why));
}

/* Recovers what it can from an unreadable header: the generation from any whole
   record after it, and whatever is left of its text. */
static void
guess_header(int fd, struct str text, struct record_header *h)
{
    struct record_reader rd = {.fd = fd, .end = 2 * STORE_MAX_RECORD};
    struct store_rec r;
    int64_t off;
    h->damaged = true;
    if (record_next_whole(&rd, &r, &off) == 1)
        h->g = r.g;
    record_reader_fini(&rd);
    record_guess_header(text, h);
}

/* Parses a first line that is longer than any of this version. */
static int
parse_long_header(int fd, struct record_header *h)
{
    struct record_reader rd = {.fd = fd, .end = STORE_MAX_RECORD};
    struct str line;
    int64_t off;
    int rc = record_next(&rd, &line, &off);
    if (rc == 1 || rc == ERR_INCOMPLETE)
        rc = record_parse_header(line, h);
    record_reader_fini(&rd);
    return rc;
}

/* Reads the first line. */
static int
read_header(const char *path, struct log_file *f)
{
    char text[RECORD_HEADER_MAX];
    struct record_header *h = &f->h;
    struct store_rec r;
    ssize_t n = file_read_at(f->fd, text, sizeof text, 0);
    if (n < 0)
        return io_error(path, f);
    if (n == 0)
        return ERR_NOT_FOUND;
    if (n >= 16 && memcmp(text, "SQLite format 3", 16) == 0)
        return deny_file(ERR_FORMAT, path, f, "an SQLite file, not a log; set "
                         "MCP_TASK_DB_PATH to another file, then run \"mcptask "
                         "import\" to import its tasks");
    const char *lf = memchr(text, '\n', (size_t)n);
    struct str line = {text, lf ? (size_t)(lf - text) : (size_t)n};
    int rc = lf == NULL && n == sizeof text
                 ? parse_long_header(f->fd, h) : record_parse_header(line, h);
    if (rc == ERR_IO)
        return io_error(path, f);
    if (rc == ERR_NOMEM)
        return deny_file(rc, path, f, "out of memory");
    if (rc == ERR_FORMAT && h->version > RECORD_VERSION) {
        text_put(text, sizeof text, "written by a newer mcptask, in format "
                 "version %llu; update mcptask to use it",
                 (unsigned long long)h->version);
        return deny_file(rc, path, f, text);
    }
    /* A whole line says what the file is; else a record after it does. */
    if (rc != 0 && record_parse(line, &r) != 0)
        guess_header(f->fd, line, h);
    if (rc == ERR_FORMAT && (!h->damaged || h->g == 0))
        return deny_file(rc, path, f, "not an mcptask log; set "
                         "MCP_TASK_DB_PATH to another file");
    h->damaged = rc != 0 || lf == NULL;
    h->end = (int64_t)line.len + 1;
    return 0;
}

int
log_open(const char *path, bool readonly, struct log_file *f)
{
    int flags = O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
    f->st.st_size = -1;
    if (stat(path, &f->st) != 0)
        return errno == ENOENT ? ERR_NOT_FOUND : io_error(path, f);
    if (!S_ISREG(f->st.st_mode))
        return deny_file(ERR_FORMAT, path, f, "not a regular file; set "
                         "MCP_TASK_DB_PATH to another file");
    f->fd = readonly ? -1 : open(path, O_RDWR | flags);
    f->readonly = f->fd < 0 &&
                  (readonly || file_error() == ERR_READONLY);
    if (f->readonly)
        f->fd = open(path, O_RDONLY | flags);
    if (f->fd < 0)
        return io_error(path, f);
    int rc = fstat(f->fd, &f->st) != 0 ? io_error(path, f)
                                       : read_header(path, f);
    if (rc != 0)
        close(f->fd);
    return rc;
}

bool
log_is(int fd, uint64_t g, const char *id)
{
    struct log_file f = {.fd = fd};
    return read_header("", &f) == 0 && !f.h.damaged && f.h.g == g &&
           strcmp(f.h.id, id) == 0;
}

void
log_begin(struct log *l, int fd, const struct record_header *h)
{
    l->fd = fd;
    l->g = h->g;
    l->compacted = h->compacted;
    l->headless = h->damaged;
    l->end = h->damaged ? 0 : h->end; /* the header is the first bad line */
}

/* ---- lines ---- */

/* What is wrong with a line for which record_next returned got, by itself or
   after what was read so far, or NULL with its record in r. */
static const char *
fault_of(const struct log *l, int got, struct str line, struct store_rec *r)
{
    if (got == ERR_INCOMPLETE)
        return "a truncated line";
    if (got == ERR_TOO_LARGE)
        return "a line over the limit";
    if (record_parse(line, r) != 0)
        return "not a record, or its checksum is wrong";
    if (l->g != 0 && r->g != l->g)
        return "a record of another generation";
    if (str_is(r->key, RECORD_KEY_END)) {
        uint64_t count = record_end_count(r);
        if ((!l->compacted && !l->headless) || r->n < l->head)
            return "an end record that does not belong here";
        if (count != l->counted && !(l->damaged && count > l->counted))
            return "the end record's count is wrong";
        return NULL;
    }
    if (!record_key_ok(r->key))
        return "a record with a wrong key";
    if (r->n <= l->head)
        return "a record with a wrong number";
    if (!l->compacted && !l->damaged && r->n != l->head + 1)
        return "records before it are missing";
    return NULL;
}

/* Returns whether a whole record proves that a bad line, where the next record
   should be, had been synced. 1, 0, or an error. */
static int
proven_synced(const struct log *l, const struct record_reader *at)
{
    struct record_reader rd = {.fd = at->fd, .off = at->off, .end = at->end};
    struct store_rec r;
    int64_t off;
    int rc;
    while ((rc = record_next_whole(&rd, &r, &off)) == 1 &&
           (r.g != l->g || r.b <= l->head + 1))
        continue;
    record_reader_fini(&rd);
    return rc;
}

uint64_t
log_lost(const struct log *l)
{
    return l->missing + (l->last > l->head ? l->last - l->head : 0);
}

int
log_next(struct log *l, struct record_reader *rd, int64_t committed,
         struct judged *j)
{
    int got = record_next(rd, &j->line, &j->off);
    if (got == 0 || got == ERR_IO || got == ERR_NOMEM)
        return got;
    j->after_n = l->head;
    j->wrong = j->off == 0 ? "the first line is damaged"
                           : fault_of(l, got, j->line, &j->r);
    if (j->wrong == NULL && j->off < committed && committed < rd->off)
        j->wrong = "the committed end is inside the record; if you replaced "
                   "the log with a copy, remove the .lock file";
    if (j->wrong != NULL) {
        bool sure = j->off == 0 || j->off < committed || l->compacted ||
                    l->damaged;
        int synced = sure ? 1 : proven_synced(l, rd);
        j->as = LOG_TORN;
        if (synced <= 0)
            return synced < 0 ? synced : 1;
        l->damaged = true;
    }
    l->end = rd->off;
    /* If only records before it are missing, it is itself whole. */
    if (j->wrong != NULL &&
        (j->off == 0 || fault_of(l, got, j->line, &j->r) != NULL)) {
        j->as = LOG_DAMAGE;
        l->missing += l->compacted && j->off > 0;
        return 1;
    }
    if (str_is(j->r.key, RECORD_KEY_END)) {
        uint64_t count = record_end_count(&j->r);
        j->as = LOG_END;
        l->missing = count > l->counted ? count - l->counted : 0;
        l->compacted = l->headless = false;
    } else {
        j->as = LOG_RECORD;
        if (l->damaged && !l->compacted)
            l->missing += j->r.n - l->head - 1;
        l->counted++;
    }
    l->g = j->r.g;
    l->head = j->r.n;
    return 1;
}

/* ---- a record by its number ---- */

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
log_search(int fd, int64_t end, uint64_t n)
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
log_seek(int fd, int64_t end, uint64_t n, uint64_t *b, uint32_t *sum)
{
    struct record_reader rd = {.fd = fd, .end = end,
                               .off = log_search(fd, end, n),
                               .chunk = SEARCH_LINEAR};
    int64_t after = rd.off, off;
    struct store_rec r;
    *b = *sum = 0;
    while (record_next_whole(&rd, &r, &off) == 1 && r.n <= n) {
        after = rd.off;
        if (r.n == n && record_key_ok(r.key)) {
            *b = r.b;
            *sum = record_sum(r.line);
        }
    }
    record_reader_fini(&rd);
    return after;
}

int
log_find(int fd, int64_t end, uint64_t n, struct arena *a,
         struct store_rec *out, int64_t *off)
{
    struct record_reader rd = {.fd = fd, .end = end,
                               .off = log_search(fd, end, n),
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

int
log_copy(int from_fd, int64_t from, int64_t end, int fd, int64_t at)
{
    char buf[16 * 1024];
    while (from < end) {
        int64_t left = end - from;
        ssize_t n = file_read_at(from_fd, buf,
                                 left < (int64_t)sizeof buf ? (size_t)left
                                                            : sizeof buf, from);
        if (n == 0)
            errno = EIO;
        int rc = n <= 0 ? file_error() : file_write_at(fd, buf, (size_t)n, at);
        if (rc != 0)
            return rc;
        from += n;
        at += n;
    }
    return 0;
}
