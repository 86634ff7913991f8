/* verify - checks, repairs and copies a log while others may write to it.

   All three read a log line by line, like replay and with the same judgement
   (store/log.c), but keep in memory only the last number of each key. They also
   check what replay trusts: each key's chain, the batches and the times.

   Nothing here takes a lock or changes an existing file.

   Invariants:
   1. A bad line after the mark may be one that is just being written. It is
      judged only while the write lock is free and after the mark was read
      again.
   2. A new file that is not complete and synced is removed again, so a backup
      writes the log last. */

#include "store/verify.h"
#include "store/state.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COPY_CHUNK (64 * 1024)
#define TELL_EACH (1024 * 1024)
#define NO_MARK (-1)
#define SCAN_AGAIN 2
/* The mark of another file that was here would explain this. */
#define IF_COPIED "; if you replaced the log with a copy, remove the .lock " \
                  "file"

struct scan {
    const char *path;
    struct store_report *report;
    const struct store_verify_callbacks *watch; /* or NULL */
    int (*good)(void *ctx, const struct store_rec *r); /* non-zero ends the
                                                          scan */
    void *good_ctx;
    int64_t size;
    uint64_t line;
    int64_t told;     /* offset last reported to watch */
    int64_t region;   /* start of the bad lines, -1: the last was good */
    struct log log;
    struct lock lock; /* fd -1: no mark */
    struct mark mark; /* bytes below its end were once synced, or NO_MARK; its n
                         is the highest ever given, or 0 */
    struct index keys;
    uint64_t end_n;   /* n of the end record; 0: never compacted */
    uint64_t b;       /* batch of the previous record */
    const char *region_what;
    int stopped;      /* good's last result */
};

/* ---- bad regions ---- */

static void
note_bad(struct scan *sc, int64_t off, uint64_t after_n, const char *what)
{
    struct store_report *rep = sc->report;
    if (rep->off < 0) {
        rep->off = off;
        rep->line = sc->line;
        text_put(rep->what, sizeof rep->what, "byte %lld, line %llu, after "
                 "record %llu: %s", (long long)off,
                 (unsigned long long)sc->line, (unsigned long long)after_n,
                 what);
    }
    if (sc->region < 0) {
        sc->region = off;
        sc->region_what = what;
        rep->bad++;
    }
}

/* Ends the bad region, if there is one, before off. */
static void
end_region(struct scan *sc, int64_t off)
{
    if (sc->region >= 0 && sc->watch != NULL)
        sc->watch->bad(sc->watch->ctx, sc->region, off - sc->region,
                       sc->region_what);
    sc->region = -1;
}

/* Records a bad region that begins at off, after the whole lines. */
static void
note_bad_end(struct scan *sc, int64_t off, const char *what)
{
    sc->log.damaged = true;
    note_bad(sc, off, sc->log.head, what);
    end_region(sc, off);
}

/* ---- records ---- */

/* What a whole record in its place reveals as wrong, or NULL; last is the
   number of its key's previous record. */
static const char *
check_links(struct scan *sc, const struct store_rec *r, uint64_t last)
{
    bool gaps = sc->log.compacted || sc->log.damaged;
    /* Compaction may have dropped the record that p names. */
    bool dropped = r->p > last &&
                   (gaps || (last <= sc->end_n && r->p <= sc->end_n));
    if (r->p != last && !dropped)
        return "it does not refer to the key's previous record";
    if (r->b < sc->b || (r->b != r->n && r->b != sc->b && !gaps))
        return "its batch differs from that of the records around it";
    int64_t ms;
    return time_parse(r->time, &ms) ? NULL : "the time is invalid";
}

/* Reports the numbers `from` to `to` as lost, if there are any. */
static void
report_lost(const struct scan *sc, uint64_t from, uint64_t to)
{
    if (from <= to && sc->watch != NULL)
        sc->watch->lost(sc->watch->ctx, from, to);
}

/* Takes a record in its place. 1, 0 if good ends the scan, or ERR_NOMEM. */
static int
scan_record(struct scan *sc, const struct judged *j)
{
    struct store_report *rep = sc->report;
    const struct store_rec *r = &j->r;
    struct store_entry *e = index_find(&sc->keys, r->key);
    if (!sc->log.compacted)
        report_lost(sc, j->after_n + 1, r->n - 1);
    if (e == NULL)
        e = index_add(&sc->keys, r->key, sizeof *e);
    if (e == NULL)
        return ERR_NOMEM;
    const char *wrong = check_links(sc, r, e->n);
    if (wrong != NULL) {
        sc->log.damaged = true;
        note_bad(sc, j->off, j->after_n, wrong);
        end_region(sc, sc->log.end);
    }
    e->n = r->n;
    sc->b = r->b;
    if (rep->records++ == 0)
        rep->first_n = r->n;
    if (sc->good != NULL)
        sc->stopped = sc->good(sc->good_ctx, r);
    return sc->stopped == 0;
}

/* ---- the file ---- */

/* Returns whether the mark has moved since it was read (invariant 1). */
static bool
mark_moved(struct scan *sc)
{
    struct mark m;
    struct stat st;
    if (sc->lock.fd < 0 || mark_read(&sc->lock, &m) != 0 ||
        fstat(sc->log.fd, &st) != 0)
        return false;
    sc->size = st.st_size;
    if (m.g == sc->log.g &&
        mark_is_of(&m, sc->report->id, (uint64_t)st.st_ino))
        sc->mark = m;
    return true;
}

/* Takes a judged line. 1: continue; 0: stop; SCAN_AGAIN: read it again. */
static int
scan_line(struct scan *sc, const struct judged *j)
{
    struct str line = j->line, key;
    if (j->as == LOG_TORN) { /* unless a process is writing it */
        if (mark_moved(sc))
            return SCAN_AGAIN;
        if (sc->lock.fd >= 0 && !lock_is_free(&sc->lock, LOCK_WRITE)) {
            sc->size = j->off;
            return 0;
        }
        if (mark_moved(sc)) /* the lock was released in between */
            return SCAN_AGAIN;
        sc->report->torn = true;
        note_bad(sc, j->off, j->after_n, j->wrong);
        end_region(sc, sc->size);
        return 0;
    }
    if (j->wrong != NULL)
        note_bad(sc, j->off, j->after_n, j->wrong);
    if (j->as == LOG_DAMAGE) {
        /* It may show several keys: if a line feed was lost, the next line is
           part of this one. */
        while (sc->watch != NULL && record_peek_key(&line, &key))
            if (record_key_ok(key))
                sc->watch->legible(sc->watch->ctx, key);
        return 1;
    }
    end_region(sc, j->off);
    if (j->as == LOG_RECORD)
        return scan_record(sc, j);
    sc->end_n = j->r.n;
    return 1;
}

static int
scan_lines(struct scan *sc)
{
    struct record_reader rd = {.fd = sc->log.fd, .off = sc->log.end,
                               .end = sc->size};
    struct judged j;
    int rc;
    sc->line = sc->log.end > 0; /* the header */
    while ((rc = log_next(&sc->log, &rd, sc->mark.end, &j)) == 1) {
        sc->line++;
        rc = scan_line(sc, &j);
        if (sc->watch != NULL && j.off - sc->told >= TELL_EACH) {
            sc->told = j.off;
            sc->watch->passed(sc->watch->ctx, j.off, sc->size);
        }
        if (rc == SCAN_AGAIN) {
            record_reader_fini(&rd);
            rd = (struct record_reader){.fd = sc->log.fd, .off = j.off,
                                        .end = sc->size};
            sc->line--;
        } else if (rc != 1) {
            break;
        }
    }
    record_reader_fini(&rd);
    if (rc < 0 || sc->stopped != 0)
        return rc < 0 ? rc : sc->stopped;
    end_region(sc, rd.off);
    sc->report->bytes = sc->size;
    if (sc->log.compacted)
        note_bad_end(sc, rd.off, "the end record is missing");
    else if (rd.off < sc->mark.end)
        note_bad_end(sc, rd.off, "the file ends before its committed end"
                 IF_COPIED);
    return 0;
}

/* Opens the log at sc->path and reads its header and, unless the committed end
   is known already, its mark. */
static int
scan_open(struct scan *sc)
{
    char path[FILE_PATH_MAX + 1], lock_path[FILE_PATH_MAX + 8];
    struct log_file f;
    struct mark m;
    char *real = file_real(sc->path);
    text_put(path, sizeof path, "%s", real ? real : sc->path);
    text_put(lock_path, sizeof lock_path, "%s.lock", path);
    free(real);
    sc->lock.path = lock_path;
    bool marked = sc->mark.end == NO_MARK &&
                  (lock_open(&sc->lock, false), sc->lock.fd >= 0) &&
                  mark_read(&sc->lock, &m) == 0;
    sc->lock.path = NULL;
    int rc = log_open(path, true, &f);
    marked = marked && mark_is_of(&m, rc == 0 && !f.h.damaged ? f.h.id : "",
                                  (uint64_t)f.st.st_ino);
    if (rc == ERR_NOT_FOUND && f.st.st_size == 0 && marked && m.end > 0) {
        sc->log.g = m.g;
        sc->mark = m;
        note_bad_end(sc, 0, "the log is empty, but bytes of it were committed"
                 IF_COPIED);
        return ERR_DAMAGED;
    }
    if (rc != 0) {
        text_put(sc->report->what, sizeof sc->report->what, "%s",
                 rc == ERR_NOT_FOUND ? "there is no log" : f.why);
        return rc;
    }
    log_begin(&sc->log, f.fd, &f.h);
    sc->size = f.st.st_size;
    sc->report->version = (uint32_t)f.h.version;
    sc->report->headless = f.h.damaged;
    text_put(sc->report->id, sizeof sc->report->id, "%s", f.h.id);
    if (marked && (m.g == f.h.g || f.h.damaged))
        sc->mark = m;
    return 0;
}

/* Judges the log at sc->path. */
static int
scan_log(struct scan *sc, struct store_report *out)
{
    struct log *l = &sc->log;
    *out = (struct store_report){.off = -1};
    sc->report = out;
    l->fd = sc->lock.fd = -1;
    sc->region = -1;
    int rc = index_init(&sc->keys);
    if (rc == 0)
        rc = scan_open(sc);
    if (rc == 0)
        rc = scan_lines(sc);
    else if (rc == ERR_DAMAGED)
        rc = 0;
    if (rc == 0) {
        out->keys = sc->keys.n;
        out->last_n = l->head;
        out->g = l->g;
        out->damaged = l->damaged;
    }
    if (rc == 0 && l->damaged) {
        l->last = sc->mark.n;
        report_lost(sc, l->head + 1, l->last);
        out->lost = log_lost(l);
    }
    if (rc == ERR_IO && out->what[0] == '\0')
        text_put(out->what, sizeof out->what, "%s: %s", sc->path,
                 strerror(errno));
    if (l->fd >= 0)
        close(l->fd);
    lock_close(&sc->lock);
    index_fini(&sc->keys);
    return rc;
}

int
store_verify(const char *path, struct store_report *out,
             const struct store_verify_callbacks *w)
{
    struct scan sc = {.path = path, .watch = w, .mark.end = NO_MARK};
    return scan_log(&sc, out);
}

/* ---- repair ---- */

struct repair {
    struct buf b;
    int fd;
    int64_t off;
    uint64_t g;
    uint64_t count;
};

static int
repair_flush(struct repair *m)
{
    return file_flush(m->fd, &m->b, &m->off, 2 * COPY_CHUNK);
}

static int
repair_record(void *ctx, const struct store_rec *r)
{
    struct repair *m = ctx;
    struct store_rec with = *r;
    with.g = m->g;
    record_put(&m->b, &with);
    m->count++;
    return m->b.len < COPY_CHUNK && !m->b.err ? 0 : repair_flush(m);
}

int
store_repair(const char *path, const char *out_path,
             struct store_report *out)
{
    struct repair m = {.fd = -1};
    struct scan sc = {.path = path, .mark.end = NO_MARK};
    int rc = scan_log(&sc, out); /* the header needs its result */
    if (rc == 0 && out->g > RECORD_MAX_G - LOG_NEXT_G)
        rc = ERR_FULL;
    if (rc != 0)
        return rc;
    m.fd = file_create(out_path);
    if (m.fd < 0)
        return file_error();
    /* A new generation, so that no mark beside the old log can match the copy,
       and no process takes it for a compaction. */
    m.g = out->g + LOG_NEXT_G;
    rc = file_sync_path_of(out_path);
    struct record_header h = {.g = m.g, .compacted = true};
    text_put(h.id, sizeof h.id, "%s", out->id);
    if (rc == 0 && h.id[0] == '\0' && random_hex(h.id, RECORD_ID) != 0)
        rc = ERR_IO; /* it is lost, and there is no other */
    if (rc == 0) {
        record_put_header(&m.b, &h, clock_wall_ms());
        sc = (struct scan){.path = path, .mark.end = NO_MARK,
                           .good = repair_record, .good_ctx = &m};
        rc = scan_log(&sc, out);
    }
    if (rc == 0) {
        /* The mark knows numbers of lost records: do not reuse them. */
        if (out->last_n < sc.mark.n)
            out->last_n = sc.mark.n;
        record_put_end(&m.b, m.g, out->last_n, m.count, clock_wall_ms());
        rc = repair_flush(&m);
    }
    rc = file_finish(m.fd, out_path, rc);
    buf_fini(&m.b);
    return rc;
}

/* ---- backup ---- */

/* Copies the first len bytes of fd to a new file. */
static int
copy_file(int fd, int64_t len, const char *to)
{
    int out = file_create(to);
    return out < 0 ? file_error()
                   : file_finish(out, to, log_copy(fd, 0, len, out, 0));
}

/* Path in dir of the copy of generation g, until the next call. That of the
   log, of generation newest, has the log's name. */
static const char *
backup_path(const struct store *s, const char *dir, uint64_t newest, uint64_t g)
{
    static char path[STORE_CLOSED_PATH_MAX];
    text_put(path, sizeof path, "%s/%s", dir,
             file_name(g < newest ? store_closed_path(s, g) : s->path));
    return path;
}

int
store_backup(struct store *s, const char *dir,
             int (*each)(void *ctx, const struct store_rec *r), void *ctx)
{
    char log[STORE_CLOSED_PATH_MAX], lock[STORE_CLOSED_PATH_MAX + 8];
    uint64_t newest = s->log.g, lowest = newest; /* generations copied */
    int64_t len = s->log.end;
    bool damaged = false;
    struct stat st;
    int rc = 0;
    if (s->log.fd < 0)
        return ERR_NOT_FOUND;
    if (fstat(s->log.fd, &st) != 0)
        return ERR_IO;
    if (len > st.st_size) /* damaged: copy what there is */
        len = st.st_size;
    if (strlen(dir) + strlen(file_name(s->path)) > FILE_PATH_MAX)
        return ERR_TOO_LARGE;
    text_put(log, sizeof log, "%s", backup_path(s, dir, newest, newest));
    text_put(lock, sizeof lock, "%s.lock", log);
    /* The mark of a lock file there would be wrong. */
    if (lstat(log, &st) == 0 || lstat(lock, &st) == 0)
        return ERR_EXISTS;
    for (uint64_t g = newest - 1; rc == 0 && g > 0; g--) {
        int fd = store_open_closed(s, g);
        if (fd < 0 && errno == ENOENT)
            break;
        rc = fd < 0 ? file_error() : ERR_IO;
        if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
            rc = copy_file(fd, st.st_size, backup_path(s, dir, newest, g));
        if (fd >= 0)
            close(fd);
        if (rc == 0)
            lowest = g;
    }
    if (rc == 0)
        rc = copy_file(s->log.fd, len, log);
    bool whole = rc == 0;
    if (whole)
        rc = file_sync_path(dir);
    /* Every copy is read again, oldest first; each may change s. */
    for (uint64_t g = lowest; rc == 0 && g <= newest; g++) {
        struct store_report report;
        const char *path = backup_path(s, dir, newest, g);
        struct scan sc = {.path = path, .good = each, .good_ctx = ctx};
        rc = stat(path, &st) != 0 ? ERR_IO : 0;
        sc.mark.end = st.st_size;
        if (rc == 0)
            rc = scan_log(&sc, &report);
        damaged = damaged || (rc == 0 && report.damaged);
    }
    if (rc == 0 && damaged)
        rc = ERR_DAMAGED;
    if (rc == 0 || rc == ERR_DAMAGED)
        return rc;
    if (whole)
        unlink(log);
    for (uint64_t g = lowest; g < newest; g++)
        unlink(backup_path(s, dir, newest, g));
    return rc;
}
