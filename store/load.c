/* load - the log into memory, and the recovery of its tail.

   Lines are judged here by where they stand. Below the mark every line must
   be a record with the next number: what is not is damage. Behind the mark,
   or where there is none, a bad line may also be torn: written by a process
   or machine that died before its sync, and so promised to nobody. It is
   torn unless a whole record behind it belongs to a later batch, since such
   a batch was begun only after the bad bytes had been synced. In a compacted
   file nothing before the end record can be torn: the file got its name
   after it had been synced.

   Invariants:
   1. Live records and replayed ones go through store_apply, and only there
      does the index change.
   2. Only a tail that store_recover has cut is ever lost, and its bytes are
      kept beside the log. */

#include "store/internal.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define JUMP_MS (60 * 60 * 1000) /* less is no matter to who asks for ages */
#define JUMP_KEPT_MS (7 * 24 * JUMP_MS) /* older ones are no matter, too */
#define TIME_MAX_MS (INT64_C(1) << 50) /* beyond the year 9999 */
#define LINE_KEEP (16 * 1024) /* of what following the log needs */

/* ---- one record ---- */

uint8_t
store_kind_of(const struct store *s, struct str key)
{
    for (size_t i = 0; i < s->n_kinds; i++)
        if (str_starts(key, s->kinds[i].prefix))
            return (uint8_t)i;
    return STORE_NO_KIND;
}

size_t
store_entry_size(const struct store *s, uint8_t kind)
{
    return kind == STORE_NO_KIND ? sizeof(struct store_entry)
                                 : s->kinds[kind].entry_size;
}

bool
store_is_transient(const struct store *s, const struct store_entry *e)
{
    return e->kind != STORE_NO_KIND && s->kinds[e->kind].transient;
}

/* A record has the time t: where it is well ahead of what the boot clock
   says, and was written just now, somebody set the clock. */
static void
note_time(struct store *s, struct str t)
{
    int64_t ms, now = s->time_off + clock_boot_ms();
    if (!time_parse(t, &ms) || ms <= now)
        return;
    if (s->same_boot && s->loaded && ms - now > JUMP_MS) {
        if (now - s->jump_at > JUMP_KEPT_MS)
            s->jump_ms = 0;
        s->jump_ms += ms - now;
        s->jump_at = now;
    }
    s->time_off += ms - now;
}

static void
take_time(struct store *s, const struct mark *m)
{
    if (strcmp(m->boot, lock_boot_id()) != 0 || m->time_ms > TIME_MAX_MS ||
        m->jump_ms > TIME_MAX_MS || m->boot_ms > clock_boot_ms())
        return;
    if (s->time_off < m->time_ms - m->boot_ms)
        s->time_off = m->time_ms - m->boot_ms;
    if (s->jump_at <= m->jump_at) {
        s->jump_at = m->jump_at;
        s->jump_ms = m->jump_ms;
    }
    s->same_boot = true;
}

bool
store_takes_mark(struct store *s, const struct mark *m, const char *id,
                 ino_t ino)
{
    bool fits = mark_is_of(m, id, (uint64_t)ino);
    if (fits && m->id[0] != '\0')
        take_time(s, m);
    return fits;
}

int
store_put_mark(struct store *s, uint64_t g, uint64_t n, int64_t end,
               ino_t ino)
{
    struct mark m = {.g = g, .n = n, .end = end, .ino = (uint64_t)ino,
                     .boot_ms = clock_boot_ms()};
    int64_t ahead = clock_wall_ms() - m.boot_ms;
    if (!s->same_boot && s->time_off < ahead)
        s->time_off = ahead; /* what passed between two boots is no jump */
    s->same_boot = lock_boot_id()[0] != '\0';
    m.time_ms = s->time_off + m.boot_ms;
    m.jump_ms = s->jump_ms;
    m.jump_at = s->jump_at;
    text_put(m.id, sizeof m.id, "%s", s->id);
    text_put(m.boot, sizeof m.boot, "%s", lock_boot_id());
    return mark_write(&s->lock, &m);
}

int64_t
store_now_ms(const struct store *s)
{
    int64_t wall = clock_wall_ms(), seen = s->time_off + clock_boot_ms();
    return seen > wall ? seen : wall;
}

int64_t
store_age_ms(const struct store *s, int64_t t)
{
    int64_t now = s->same_boot ? s->time_off + clock_boot_ms()
                               : store_now_ms(s);
    return now - t - (s->same_boot && t <= s->jump_at ? s->jump_ms : 0);
}

int
store_apply(struct store *s, const struct store_rec *r, int64_t off,
            struct store_entry **out)
{
    struct store_entry *e = index_find(&s->index, r->key);
    bool fresh = e == NULL;
    if (fresh) {
        uint8_t kind = store_kind_of(s, r->key);
        e = index_add(&s->index, r->key, store_entry_size(s, kind));
        if (e == NULL)
            return ERR_NOMEM;
        e->kind = kind;
    }
    struct store_entry was = *e;
    e->n = r->n;
    e->off = off;
    e->len = (uint32_t)r->line.len;
    e->file = s->file;
    const struct store_kind *k =
        e->kind == STORE_NO_KIND ? NULL : &s->kinds[e->kind];
    int rc = k != NULL && k->apply != NULL ? k->apply(k->ctx, e, r) : 0;
    if (rc != 0) {
        e->n = was.n;
        e->off = was.off;
        e->len = was.len;
        e->file = was.file;
        if (fresh)
            index_pop(&s->index, e);
        return rc;
    }
    for (size_t i = 0; i < s->n_kinds; i++)
        if (i != e->kind && s->kinds[i].other != NULL)
            s->kinds[i].other(s->kinds[i].ctx, r);
    bool moved = !fresh && was.file != s->file;
    s->move.left -= moved;
    if (store_is_transient(s, e))
        s->superseded += e->len + 1;
    else if (!fresh && !moved) /* else the pass of store_move counts it */
        s->superseded += was.len + 1;
    note_time(s, r->time);
    *out = e;
    return 0;
}

void
store_tell(struct store *s, const struct store_entry *e,
           const struct store_rec *r)
{
    if (r->n <= s->observed)
        return;
    s->observed = r->n;
    if (s->observe != NULL)
        s->observe(s->observe_ctx, e, r);
}

/* ---- lines ---- */

static void
note_damage(struct store *s, int64_t off, const char *what)
{
    if (!s->damaged)
        store_deny(s, ERR_DAMAGED, "%s: damaged at byte %lld, behind "
                   "record %llu: %s; see mcptask verify", s->path,
                   (long long)off, (unsigned long long)s->head, what);
    s->damaged = true;
}

int
store_note_empty(struct store *s, const struct mark *m)
{
    s->damaged = true;
    s->lost.last = m->n;
    return store_deny(s, ERR_DAMAGED, "%s: is empty, but %lld bytes "
                      "of it were committed; see mcptask verify", s->path,
                      (long long)m->end);
}

const char *
store_damage(struct store *s, struct str key)
{
    const struct lost_key *k = NULL;
    uint64_t n = s->damaged ? lost_unnamed(&s->lost, s->head) : 0;
    if (s->damaged && key.p != NULL)
        k = lost_find(&s->lost, key);
    if (k != NULL && !k->passed)
        return "records of it are lost; it may be older than it was";
    if (n > 0) {
        text_put(s->lost_why, sizeof s->lost_why, "%llu record%s lost; any "
                 "task may be older than it was: see mcptask verify",
                 (unsigned long long)n, n == 1 ? " is" : "s are");
        return s->lost_why;
    }
    return k != NULL ? "records of its history are lost" : NULL;
}

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
            note_damage(s, off, rc == ERR_MORE ? "the line is cut off"
                                               : "no record with the next "
                                                 "number and a right sum");
            rc = take_damaged(s, rc, line, off);
        }
        if (rc == ERR_NOMEM)
            break;
        s->end = rd.off;
    }
    if (rc == 0 && s->end == rd.off && s->end < end && committed) {
        note_damage(s, s->end, "the file ends before its committed end");
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

/* Which mount fd's file was reached by, or -1; Linux alone says that. */
static int64_t
mount_of(int fd)
{
    char text[256];
    uint64_t id;
    text_put(text, sizeof text, "/proc/self/fdinfo/%d", fd);
    int info = open(text, O_RDONLY | O_CLOEXEC);
    ssize_t n = info < 0 ? -1 : read(info, text, sizeof text - 1);
    if (info >= 0)
        close(info);
    text[n > 0 ? n : 0] = '\0';
    const char *at = text_find(text, "mnt_id:");
    at = at == NULL ? text : at + 7 + strspn(at + 7, " \t");
    return str_u64((struct str){at, strspn(at, "0123456789")}, &id)
               ? (int64_t)id : -1;
}

/* Whether the log is mounted by itself, so that nothing can be renamed over
   it. Its device tells that less well: some stacked file systems have one
   for files and one for directories. */
static bool
is_mounted(const struct store *s)
{
    struct stat st;
    int dir = file_open_dir(s->dir);
    int64_t own = mount_of(s->fd), around = dir < 0 ? -1 : mount_of(dir);
    bool mounted = own != around;
    if (own < 0 || around < 0)
        mounted = dir >= 0 && fstat(dir, &st) == 0 && st.st_dev != s->dev;
    if (dir >= 0)
        close(dir);
    return mounted;
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
    s->mounted = is_mounted(s);
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
        note_damage(s, 0, "the header");
    if (!marked)
        return s->lock.held ? store_recover(s, st.st_size)
                            : load_unmarked(s, st.st_size);
    rc = store_load_to(s, &m);
    if (rc == 0 && s->in_compacted)
        note_damage(s, s->end, "the end record of a compaction is missing");
    if (rc != 0 || st.st_size <= s->end)
        return rc;
    if (s->no_lock)
        return load_behind_mark(s, st.st_size);
    return s->lock.held ? store_recover(s, st.st_size) : ERR_MORE;
}

/* ---- recovery ---- */

/* Copies the log's bytes between from and end to at in fd, which may be the
   log itself. 0 or -1 with errno. */
static int
copy_bytes(struct store *s, int64_t from, int64_t end, int fd, int64_t at)
{
    char buf[16 * 1024];
    while (from < end) {
        int64_t left = end - from;
        ssize_t n = file_read_at(s->fd, buf,
                                 left < (int64_t)sizeof buf ? (size_t)left
                                                            : sizeof buf, from);
        if (n == 0)
            errno = EIO;
        if (n <= 0 || file_write_at(fd, buf, (size_t)n, at) != 0)
            return -1;
        from += n;
        at += n;
    }
    return 0;
}

/* Keeps the bytes that are about to be cut: they were promised to nobody, as
   far as can be told, but somebody may want to look. 0 and the path of the
   copy, or -1 with errno. */
static int
keep_torn(struct store *s, int64_t size, char *path, size_t cap)
{
    int64_t ms = clock_wall_ms();
    int fd;
    do {
        text_put(path, cap, "%s.torn-%llu-%lld", s->path,
                 (unsigned long long)s->head + 1, (long long)ms++);
        fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    } while (fd < 0 && errno == EEXIST); /* one more in one millisecond */
    if (fd < 0)
        return -1;
    file_give(fd, s->path);
    int rc = copy_bytes(s, s->end, size, fd, 0);
    if (rc == 0)
        rc = file_sync(fd, fsync);
    int e = errno;
    close(fd);
    if (rc != 0)
        unlink(path);
    errno = e;
    return rc;
}

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

static int
deny_recovery(struct store *s)
{
    return store_deny(s, file_errno(errno),
                      "%s: cannot be recovered: %s", s->path,
                      strerror(errno));
}

/* Cuts the torn rest, kept and synced before. What a probe left is blank, and
   not worth keeping. */
static int
cut_torn(struct store *s, int64_t size)
{
    char torn[STORE_PATH_MAX + 64], first = 0;
    struct stat st;
    bool keep = pread(s->fd, &first, 1, s->end) != 1 || first != STORE_BLANK;
    if (keep && keep_torn(s, size, torn, sizeof torn) != 0)
        return deny_recovery(s);
    int rc = file_sync_path(s->dir) == 0 && store_cut(s) ? 0
                                                         : deny_recovery(s);
    if (keep && rc != 0 && fstat(s->fd, &st) == 0 && st.st_size >= size)
        unlink(torn); /* the next one who tries makes it anew */
    s->torn = s->torn || (keep && rc == 0);
    return rc;
}

/* Cuts the torn rest, and moves the mark. The directories are synced first:
   whoever made the log, or renamed it, may have died before that. */
static int
settle_tail(struct store *s, int64_t size)
{
    int rc = s->end < size ? cut_torn(s, size)
             : file_sync_path(s->dir) != 0 ? deny_recovery(s) : 0;
    if (rc == 0 && store_put_mark(s, s->g, s->head, s->end, s->ino) != 0)
        rc = deny_recovery(s);
    return rc;
}

/* Has what stands behind the committed end on disk. It is written again
   first: where the sync of whoever wrote it failed, the kernel holds it for
   clean. That can only be a last batch, as none is begun before the one
   before it was synced. */
static int
sync_tail(struct store *s, int64_t size)
{
    int64_t from = size - 2 * STORE_MAX_BATCH;
    if (from < s->end)
        from = s->end;
    for (int tries = 0; tries < 2; tries++)
        if (copy_bytes(s, from, size, s->fd, from) == 0 && store_sync(s) == 0)
            return 0;
    return deny_recovery(s);
}

int
store_recover(struct store *s, int64_t size)
{
    ASSERT(s->lock.held);
    if (s->loaded && !same_log(s))
        return store_load(s);
    if (size < s->end) {
        note_damage(s, size, "the file ends before its committed end");
        return ERR_DAMAGED;
    }
    /* On disk first: read_lines tells the observer of what stands there. */
    int rc = s->log_readonly ? 0 : sync_tail(s, size);
    if (rc != 0)
        return rc;
    s->loaded = false;
    rc = read_lines(s, size, false);
    if (rc != 0)
        return rc;
    if (s->in_compacted)
        note_damage(s, s->end, "the end record of a compaction is missing");
    s->loaded = true;
    s->observed = s->head;
    if (s->damaged)
        return ERR_DAMAGED;
    if (s->log_readonly)
        return store_deny_write(s);
    return settle_tail(s, size);
}
