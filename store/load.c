/* load - the log into memory, and the recovery of its tail.

   Lines are judged here by where they stand. Below the mark every line must
   be a record with the next number: what is not is damage. Behind the mark,
   or where there is none, a bad line may also be torn: written by a process
   or machine that died before its sync, and so promised to nobody. It is
   torn unless a whole record behind it belongs to a later batch, since such
   a batch was begun only after the bad bytes had been synced. In a compacted
   file nothing before the end record can be torn: the file got its name
   after it had been synced.

   Only a tail that store_recover has cut is ever lost, and its bytes are kept
   beside the log. */

#include "store/load.h"
#include "store/apply.h"
#include "store/files.h"
#include "store/move.h"
#include "store/write.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINE_KEEP (16 * 1024) /* of what following the log needs */

/* ---- lines ---- */

/* Whether r may follow the records read so far. */
static bool
in_order(const struct store *s, const struct store_rec *r)
{
    if (r->g != s->g || str_is(r->key, RECORD_KEY_LOG))
        return false;
    if (str_is(r->key, RECORD_KEY_END))
        return (s->in_compacted || s->damaged) && r->n >= s->head &&
               (record_end_count(r) == s->counted ||
                (s->damaged && record_end_count(r) > s->counted));
    if (!record_key_ok(r->key))
        return false;
    if (s->in_compacted || s->damaged)
        return r->n > s->head;
    return r->n == s->head + 1;
}

/* One whole line: 0 when it was taken, ERR_SYNTAX when it is bad here. The
   observer is told when memory knows of all of it: he may read it. */
static int
take_line(struct store *s, struct str line, int64_t off)
{
    struct store_rec r;
    struct store_entry *e;
    if (record_parse(line, &r) != 0 || !in_order(s, &r))
        return ERR_SYNTAX;
    bool end = str_is(r.key, RECORD_KEY_END);
    int rc = 0;
    if (s->damaged && end)
        lost_end(&s->lost, &r, s->counted);
    else if (s->damaged)
        rc = lost_record(&s->lost, &s->index, &r, s->head, !s->in_compacted);
    if (rc == 0 && !end)
        rc = store_apply(s, &r, off, &e);
    if (rc != 0)
        return rc;
    s->head = r.n;
    s->end = off + (int64_t)line.len + 1;
    if (end) {
        s->in_compacted = false;
        s->superseded_base = s->superseded;
    } else {
        s->counted++;
        store_tell(s, e, &r);
    }
    return 0;
}

int
store_proven_synced(int fd, uint64_t g, uint64_t head, int64_t off,
                    int64_t end)
{
    struct record_reader rd = {.fd = fd, .off = off, .end = end};
    struct store_rec r;
    struct str line;
    int rc, result = 0;
    while (result == 0 && (rc = record_next(&rd, &line, &off)) != 0) {
        if (rc == ERR_IO || rc == ERR_NOMEM)
            result = rc;
        else if (rc == 1 && record_parse(line, &r) == 0 && r.g == g)
            result = r.b > head + 1;
    }
    record_reader_fini(&rd);
    return result;
}

/* A line that is damage: taken all the same where a record is whole, but
   others before it are missing; else what it shows of itself is noted. */
static int
take_damaged(struct store *s, int rc, struct str line, int64_t off)
{
    if (rc == ERR_SYNTAX)
        rc = take_line(s, line, off);
    return rc == 0 || rc == ERR_NOMEM
               ? rc
               : lost_line(&s->lost, &s->index, line, s->head,
                           !s->in_compacted);
}

/* Reads lines from s->end to end, which becomes s->end, or, where the rest
   is torn, s->end stays before it. committed: nothing can be torn. */
static int
read_lines(struct store *s, int64_t end, bool committed)
{
    struct record_reader rd = {.fd = s->fd, .off = s->end, .end = end,
                               .b = s->line};
    struct str line;
    int64_t off;
    int rc;
    while ((rc = record_next(&rd, &line, &off)) != 0) {
        if (rc == ERR_IO || rc == ERR_NOMEM)
            break;
        if (rc == 1)
            rc = take_line(s, line, off);
        if (rc != 0 && rc != ERR_NOMEM) {
            int proven = committed || s->in_compacted || s->damaged;
            if (!proven)
                proven = store_proven_synced(s->fd, s->g, s->head, rd.off,
                                             end);
            if (proven <= 0) { /* 0: torn, s->end stands before it */
                rc = proven;
                break;
            }
            store_note_damage(s, off, rc == ERR_MORE ? "the line is cut off"
                                               : "no record with the next "
                                                 "number and a right sum");
            rc = take_damaged(s, rc, line, off);
        }
        if (rc == ERR_NOMEM)
            break;
        s->end = rd.off;
    }
    if (rc == 0 && s->end == rd.off && s->end < end && committed) {
        store_note_damage(s, s->end, "the file ends before its committed end");
        s->end = end;
    }
    if (rc == ERR_IO)
        store_deny(s, ERR_IO, "%s: read failed: %s", s->path,
                   strerror(errno));
    s->line = rd.b;
    buf_reset(&s->line, LINE_KEEP);
    return rc;
}

/* ---- the whole log ---- */

/* What a header said that cannot be read: its generation, if a record behind
   it is whole, since they all say that; and what is left of its text. False:
   there is no such record. */
static bool
guess_header(int fd, struct str text, struct record_header *h)
{
    struct record_reader rd = {.fd = fd, .end = 2 * STORE_MAX_RECORD};
    struct store_rec r;
    struct str line;
    int64_t off;
    int rc;
    while (h->g == 0 && (rc = record_next(&rd, &line, &off)) != 0 &&
           rc != ERR_IO && rc != ERR_NOMEM)
        if (rc == 1 && record_parse(line, &r) == 0)
            h->g = r.g;
    record_reader_fini(&rd);
    record_guess_header(text, h);
    return h->g != 0;
}

/* Reads the first line. 0, ERR_SYNTAX: it is damaged, but a log's;
   ERR_NOT_FOUND: the file is empty; ERR_FORMAT, ERR_IO. */
static int
read_header(struct store *s, int fd, struct record_header *h)
{
    char text[RECORD_HEADER_MAX];
    struct store_rec r;
    ssize_t n;
    do
        n = pread(fd, text, sizeof text, 0);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return store_deny(s, ERR_IO, "%s: %s", s->path,
                          strerror(errno));
    if (n == 0)
        return ERR_NOT_FOUND;
    if (n >= 16 && memcmp(text, "SQLite format 3", 16) == 0)
        return store_deny(s, ERR_FORMAT, "%s: an SQLite file, not a "
                          "log; choose another MCP_TASK_DB_PATH and bring "
                          "its tasks over with: mcptask import", s->path);
    const char *lf = memchr(text, '\n', (size_t)n);
    struct str line = {text, lf ? (size_t)(lf - text) : (size_t)n};
    int rc = record_parse_header(line, h);
    int64_t end = lf ? lf - text + 1 : n;
    /* Where the line is whole, it says what the file is; where it is not, a
       record behind it does. */
    if (rc != 0 && record_parse(line, &r) != 0 &&
        (guess_header(fd, line, h) || rc == ERR_SYNTAX))
        rc = ERR_SYNTAX;
    h->end = end;
    if (rc == ERR_FORMAT && h->version != 0)
        return store_deny(s, rc, "%s: version %llu of the format, this "
                          "mcptask knows %d; use a newer one", s->path,
                          (unsigned long long)h->version, RECORD_VERSION);
    if (rc == ERR_FORMAT)
        return store_deny(s, rc, "%s: not an mcptask log; choose another "
                          "MCP_TASK_DB_PATH", s->path);
    return lf == NULL ? ERR_SYNTAX : rc;
}

int
store_open_log(struct store *s, int *fd, struct stat *st,
               struct record_header *h)
{
    int flags = O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
    st->st_size = -1;
    if (stat(s->path, st) != 0)
        return errno == ENOENT ? ERR_NOT_FOUND
                               : store_deny(s, ERR_IO, "%s: %s",
                                            s->path, strerror(errno));
    if (!S_ISREG(st->st_mode))
        return store_deny(s, ERR_FORMAT, "%s: not a regular file; choose "
                          "another MCP_TASK_DB_PATH", s->path);
    *fd = s->opt.readonly ? -1 : open(s->path, O_RDWR | flags);
    s->log_readonly = *fd < 0 && (s->opt.readonly ||
                                  file_errno(errno) == ERR_READONLY);
    if (s->log_readonly)
        *fd = open(s->path, O_RDONLY | flags);
    if (*fd < 0 || fstat(*fd, st) != 0) {
        if (*fd >= 0)
            close(*fd);
        return store_deny(s, ERR_IO, "%s: %s", s->path,
                          strerror(errno));
    }
    int rc = read_header(s, *fd, h);
    if (rc != 0 && rc != ERR_SYNTAX)
        close(*fd);
    return rc;
}

void
store_forget(struct store *s)
{
    for (size_t i = 0; i < s->n_kinds; i++)
        if (s->kinds[i].reset != NULL)
            s->kinds[i].reset(s->kinds[i].ctx);
    index_fini(&s->index);
    store_move_stop(s);
    s->n_left_out = 0;
    if (s->fd >= 0)
        close(s->fd);
    s->fd = -1;
    s->end = 0;
    s->head = 0;
    s->counted = 0;
    s->superseded = s->superseded_base = 0;
    lost_reset(&s->lost);
    s->loaded = false;
    if (s->damaged) {
        s->err = 0;
        s->why[0] = '\0';
    }
    s->damaged = false;
}

/* Makes an opened log the one that memory is of, before its first record. */
static void
adopt(struct store *s, int fd, const struct stat *st,
      const struct record_header *h)
{
    store_forget(s);
    s->fd = fd;
    s->dev = st->st_dev;
    s->ino = st->st_ino;
    s->g = h->g;
    s->in_compacted = h->compacted;
    text_put(s->id, sizeof s->id, "%s", h->id);
    s->end = h->end;
}

int
store_load_to(struct store *s, const struct mark *m)
{
    s->lost.last = m->n;
    int rc = read_lines(s, m->end, true);
    if (rc == 0) {
        s->observed = s->head;
        s->loaded = true;
        return s->damaged ? ERR_DAMAGED : 0;
    }
    s->loaded = false; /* memory may hold half of it: read it all again */
    mark_forget(&s->lock);
    return rc;
}

/* A log without a right mark, on which no lock can be had: as far as it is
   whole. */
static int
load_unmarked(struct store *s, int64_t size)
{
    int rc = read_lines(s, size, false);
    s->unmarked_len = size;
    s->loaded = rc == 0;
    if (rc == 0)
        s->observed = s->head;
    return rc == 0 && s->damaged ? ERR_DAMAGED : rc;
}

/* Without the lock, committed records may stand behind the mark: it is never
   synced, and after a power loss older than the log. When nobody holds the
   lock they can be made sure of all the same. */
static int
load_behind_mark(struct store *s, int64_t size)
{
    if (s->lock.held || !lock_is_free(&s->lock, LOCK_WRITE) ||
        (file_sync(s->fd, fdatasync) != 0 && errno != EINVAL &&
         errno != EROFS))
        return 0;
    return load_unmarked(s, size);
}

/* Makes an opened log the one that is used; end: its committed one, where
   that is known. Under the write lock ERR_BUSY: who has that of another lock
   file answers for the tail. */
static int
go_over(struct store *s, int fd, const struct stat *st,
        const struct record_header *h, int64_t end)
{
    struct stat old;
    /* What was committed to the generation that is left, behind what is known
       of it, is read first, so that the observer misses nothing. */
    if (s->loaded && s->fd >= 0 && h->g > s->g && fstat(s->fd, &old) == 0)
        (void)read_lines(s, old.st_size, false);
    if (s->lock.held && s->fd >= 0)
        lock_log(s->fd, false);
    if (end == 0 || !store_move_begin(s, fd, st, h, end))
        adopt(s, fd, st, h);
    if (s->lock.held && lock_log(fd, true) == ERR_MORE) {
        s->loaded = false;
        return ERR_BUSY;
    }
    s->mounted = store_is_mounted(s);
    store_check_names(s);
    return 0;
}

int
store_load(struct store *s)
{
    struct record_header h;
    struct stat st;
    struct mark m;
    int fd;
    mark_forget(&s->lock);
    bool marked = s->lock.fd >= 0 && mark_read(&s->lock, &m) == 0;
    int rc = store_open_log(s, &fd, &st, &h);
    bool header_bad = rc == ERR_SYNTAX;
    if (rc == ERR_NOT_FOUND && st.st_size == 0 && marked && m.end > 0 &&
        store_takes_mark(s, &m, "", st.st_ino)) {
        store_forget(s);
        s->loaded = true;
        return store_note_empty(s, &m);
    }
    if (rc != 0 && !header_bad) {
        if (rc != ERR_NOT_FOUND)
            mark_forget(&s->lock); /* what it said was not read */
        return rc;
    }
    if (header_bad && h.g == 0 && marked && mark_is_of(&m, "", st.st_ino))
        h.g = m.g;
    if (header_bad)
        h.id[0] = '\0'; /* a guess is no reason to refuse it */
    if (s->id[0] != '\0' && h.id[0] != '\0' && strcmp(s->id, h.id) != 0) {
        close(fd);
        return store_deny(s, ERR_IO, "%s: the log was replaced by that "
                          "of another store; put it back, or restart to use "
                          "this one", s->path);
    }
    marked = marked && store_takes_mark(s, &m, h.id, st.st_ino) &&
             m.g == h.g;
    if (!marked && !s->lock.held && !s->no_lock) {
        close(fd);
        mark_forget(&s->lock);
        s->loaded = false; /* it is of a generation that is gone, perhaps */
        return ERR_MORE;
    }
    rc = go_over(s, fd, &st, &h, marked && !header_bad ? m.end : 0);
    if (rc != 0)
        return rc;
    if (header_bad)
        store_note_damage(s, 0, "the header");
    if (!marked)
        return s->lock.held ? store_recover(s, st.st_size)
                            : load_unmarked(s, st.st_size);
    rc = store_load_to(s, &m);
    if (rc == 0 && s->in_compacted)
        store_note_damage(s, s->end, "the end record of a compaction is missing");
    if (rc != 0 || st.st_size <= s->end)
        return rc;
    if (s->no_lock)
        return load_behind_mark(s, st.st_size);
    return s->lock.held ? store_recover(s, st.st_size) : ERR_MORE;
}

/* ---- recovery ---- */

/* Whether the open file is still the one that memory is of: somebody may
   have copied another over it, in place. */
static bool
same_log(struct store *s)
{
    struct record_header h;
    char lf = 0;
    int rc = read_header(s, s->fd, &h);
    return rc == 0 && h.g == s->g && strcmp(h.id, s->id) == 0 &&
           pread(s->fd, &lf, 1, s->end - 1) == 1 && lf == '\n';
}

int
store_recover(struct store *s, int64_t size)
{
    ASSERT(s->lock.held);
    if (s->loaded && !same_log(s))
        return store_load(s);
    if (size < s->end) {
        store_note_damage(s, size, "the file ends before its committed end");
        return ERR_DAMAGED;
    }
    /* On disk first: read_lines tells the observer of what stands there. */
    int rc = s->log_readonly ? 0 : store_sync_tail(s, size);
    if (rc != 0)
        return rc;
    s->loaded = false;
    rc = read_lines(s, size, false);
    if (rc != 0)
        return rc;
    if (s->in_compacted)
        store_note_damage(s, s->end, "the end record of a compaction is missing");
    s->loaded = true;
    s->observed = s->head;
    if (s->damaged)
        return ERR_DAMAGED;
    if (s->log_readonly)
        return store_deny_write(s);
    return store_settle_tail(s, size);
}
