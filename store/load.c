/* load - reads the log into memory, goes over to the next one, and recovers the
   tail.

   Only a tail cut by store_recover is ever lost, and its bytes are saved beside
   the log. */

#include "store/load.h"
#include "store/write.h"
#include "base/os.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINE_KEEP (16 * 1024) /* kept of the buffer used to follow the log */

/* Records damage where the log, as read so far, ends. */
static void
note_end(struct store *s, const char *what)
{
    store_note_damage(s, s->log.end, s->log.head, what);
}

/* Reads lines from the known end to a new one. If the rest is torn, the known
   end stays before it. committed: nothing can be torn. */
static int
read_lines(struct store *s, int64_t end, bool committed)
{
    struct record_reader rd = {.fd = s->log.fd, .off = s->log.end,
                               .end = end, .b = s->line};
    struct store_entry *e;
    struct judged j;
    int rc;
    while ((rc = log_next(&s->log, &rd, committed ? end : 0, &j)) == 1 &&
           j.as != LOG_TORN) {
        if (j.wrong != NULL)
            store_note_damage(s, j.off, j.behind, j.wrong);
        if (j.as == LOG_END)
            s->superseded_base = s->superseded;
        if (j.as != LOG_RECORD)
            continue;
        rc = store_apply(s, &j.r, j.off, &e);
        if (rc != 0)
            break;
        store_tell(s, e, &j.r);
    }
    if (rc == 0 && s->log.end < end && committed) {
        note_end(s, "the file ends before its committed end");
        s->log.end = end;
    }
    if (rc == ERR_IO)
        store_deny_errno(s, s->path, "read failed: ");
    s->line = rd.b;
    buf_reset(&s->line, LINE_KEEP);
    s->loaded = rc >= 0;
    if (!s->loaded) { /* memory may be half updated: read it all again */
        mark_forget(&s->lock);
        return rc;
    }
    s->observed = s->log.head;
    if (s->log.compacted)
        note_end(s, "the end record of a compaction is missing");
    return s->log.damaged ? ERR_DAMAGED : 0;
}

/* ---- the whole log ---- */

void
store_forget(struct store *s)
{
    for (size_t i = 0; i < s->n_kinds; i++)
        if (s->kinds[i].reset != NULL)
            s->kinds[i].reset(s->kinds[i].ctx);
    index_fini(&s->index);
    if (s->log.fd >= 0)
        close(s->log.fd);
    if (s->log.damaged)
        store_allow(s);
    s->log = (struct log){.fd = -1, .g = s->log.g};
    s->superseded = s->superseded_base = s->live = s->held = 0;
    s->loaded = false;
    if (s->replica != NULL)
        s->replica->head[0] = '\0';
}

/* Begins with an opened log, before its first record. */
static void
adopt(struct store *s, const struct log_file *f)
{
    store_forget(s);
    log_begin(&s->log, f->fd, &f->h);
    text_put(s->id, sizeof s->id, "%s", f->h.id);
}

int
store_load_to(struct store *s, const struct mark *m)
{
    s->log.last = m->n;
    return read_lines(s, m->end, true);
}

/* Reads as much as is whole of a log that has no valid mark and cannot be
   locked. */
static int
load_unmarked(struct store *s, int64_t size)
{
    s->unmarked_len = size;
    return read_lines(s, size, false);
}

/* Without the lock: committed records may follow the mark, which is never
   synced and may be older than the log after a power loss. While the lock is
   free, a sync makes those records safe to read. */
static int
load_behind_mark(struct store *s, int64_t size)
{
    if (s->lock.held || !lock_is_free(&s->lock, LOCK_WRITE) ||
        (file_sync(s->log.fd, os_sync_data) != 0 && errno != EINVAL &&
         errno != EROFS))
        return 0;
    return load_unmarked(s, size);
}

/* Returns whether a line of generation g is longer than one of g - 1. */
static bool
has_more_digits(uint64_t g)
{
    while (g % 10 == 0)
        g /= 10;
    return g == 1;
}

/* If an opened log, which ends at end, is a compaction of the one that memory
   was read from, memory can be kept: returns where the records begin that it
   does not have, or 0. Such a log has the newest record unchanged, unless that
   was dropped by its age or its time taken back. */
static int64_t
find_rest(const struct store *s, const struct log_file *f, int64_t end)
{
    uint64_t b, new_b;
    uint32_t sum, new_sum;
    if (!s->loaded || s->log.fd < 0 || s->log.damaged ||
        f->h.g != s->log.g + 1 || has_more_digits(f->h.g))
        return 0;
    log_seek(s->log.fd, s->log.end, s->log.head, &b, &sum);
    int64_t rest = log_seek(f->fd, end, s->log.head, &new_b, &new_sum);
    bool same = b != 0 && new_b == b && new_sum == sum;
    /* Keys that were dropped stay in memory, if they are not many. */
    return same && s->live <= rest + rest / 4 ? rest : 0;
}

/* Begins with an opened log after what memory has of it. store_read finds where
   a record is now. */
static void
keep_memory(struct store *s, const struct log_file *f, int64_t rest)
{
    int64_t older = rest > s->live ? rest - s->live : 0;
    int64_t own = RECORD_HEADER_MAX; /* the first line and the end record */
    close(s->log.fd);
    s->log = (struct log){.fd = f->fd, .g = f->h.g, .head = s->log.head,
                          .end = rest};
    s->held = s->held < older ? s->held : older;
    s->superseded = s->superseded_base = older > own ? older - own : 0;
}

/* Switches to an opened log; end: its committed end, or 0 if that is unknown.
   First reads the rest of the old generation, so that the observer misses
   nothing; it is not told again of what the new one has of that. 1: memory was
   kept; 0: it is empty. Under the write lock, ERR_BUSY: a process with another
   lock file is writing. */
static int
go_over(struct store *s, const struct log_file *f, int64_t end)
{
    struct stat old;
    if (s->loaded && s->log.fd >= 0 && f->h.g > s->log.g &&
        fstat(s->log.fd, &old) == 0)
        (void)read_lines(s, old.st_size, false);
    if (s->lock.held && s->log.fd >= 0)
        lock_log(s->log.fd, false);
    int64_t rest = end > 0 ? find_rest(s, f, end) : 0;
    if (rest > 0)
        keep_memory(s, f, rest);
    else
        adopt(s, f);
    s->dev = f->st.st_dev;
    s->ino = f->st.st_ino;
    s->log.readonly = f->readonly;
    s->log.foreign = f->h.replica != (s->replica != NULL);
    if (s->lock.held && lock_log(f->fd, true) == ERR_BUSY) {
        s->loaded = false;
        return ERR_BUSY;
    }
    s->log.mounted = store_is_mounted(s);
    store_note_names(s);
    return rest > 0;
}

/* Returns whether an opened log can belong to this store: it has the same id,
   or the log was empty and another process of a new host has replaced it by the
   replica. */
static bool
is_ours(const struct store *s, const struct record_header *h)
{
    return s->id[0] == '\0' || strcmp(s->id, h->id) == 0 ||
           (s->replica != NULL && s->log.head == 0);
}

/* Records that the log is empty although bytes of it were committed. */
static int
note_empty(struct store *s, const struct mark *m)
{
    s->log.damaged = true;
    s->log.last = m->n;
    return store_deny(s, ERR_DAMAGED, "%s: the log is empty, but %lld bytes of "
                      "it were committed", s->path, (long long)m->end);
}

/* The log could not be opened; rc is log_open's result. */
static int
deny_open(struct store *s, const struct log_file *f, int rc,
          const struct mark *m)
{
    if (rc == ERR_NOT_FOUND && f->st.st_size == 0 && m->end > 0 &&
        mark_is_of(m, "", f->st.st_ino)) {
        store_forget(s);
        store_take_mark(s, m);
        s->loaded = true;
        return note_empty(s, m);
    }
    if (rc == ERR_NOT_FOUND && s->log.fd < 0) { /* an empty store */
        s->loaded = true;
        return 0;
    }
    if (rc == ERR_NOT_FOUND)
        return rc;
    mark_forget(&s->lock); /* the log at the mark was not read */
    return store_deny(s, rc, "%s", f->why);
}

/* The first line of an opened log is damaged. Only verify guesses what it
   said; but a new replica needs a generation after this one. */
static int
deny_header(struct store *s, const struct log_file *f)
{
    close(f->fd);
    mark_forget(&s->lock);
    s->log.damaged = true;
    if (s->log.g == 0)
        s->log.g = f->h.g;
    return store_deny(s, ERR_DAMAGED, "%s: the first line is damaged", s->path);
}

int
store_load(struct store *s, bool may_lock)
{
    struct mark m = {.end = 0};
    struct log_file f;
    mark_forget(&s->lock);
    bool marked = s->lock.fd >= 0 && mark_read(&s->lock, &m) == 0;
    int rc = log_open(s->path, store_only_reads(s), &f);
    if (rc != 0)
        return deny_open(s, &f, rc, &m);
    if (f.h.damaged)
        return deny_header(s, &f);
    may_lock = may_lock && !f.readonly;
    bool held = s->lock.held && may_lock;
    if (!is_ours(s, &f.h)) {
        close(f.fd);
        return store_deny(s, ERR_IO, "%s: the log of another store has "
                          "replaced this one; put the old one back, or restart "
                          "to use the new one", s->path);
    }
    marked = marked && m.g == f.h.g && mark_is_of(&m, f.h.id, f.st.st_ino);
    if (!marked && !held && may_lock) {
        close(f.fd);
        mark_forget(&s->lock);
        s->loaded = false; /* memory may be of a generation that is gone */
        return VIEW_TAIL;
    }
    rc = go_over(s, &f, marked ? m.end : 0);
    if (rc < 0)
        return rc;
    bool kept = rc > 0;
    if (!marked)
        return held ? store_recover(s, f.st.st_size)
                    : load_unmarked(s, f.st.st_size);
    store_take_mark(s, &m);
    rc = store_load_to(s, &m);
    if (rc == ERR_DAMAGED && kept) { /* it may not be of that log after all */
        s->loaded = false;
        return store_load(s, may_lock);
    }
    if (rc != 0 || f.st.st_size <= s->log.end)
        return rc;
    if (!may_lock)
        return load_behind_mark(s, f.st.st_size);
    return held ? store_recover(s, f.st.st_size) : VIEW_TAIL;
}

/* ---- recovery ---- */

/* Returns whether the open file is still the one that memory was read from.
   Another may have been copied over it in place. */
static bool
same_log(struct store *s)
{
    char lf = 0;
    return log_is(s->log.fd, s->log.g, s->id) &&
           pread(s->log.fd, &lf, 1, s->log.end - 1) == 1 && lf == '\n';
}

int
store_recover(struct store *s, int64_t size)
{
    ASSERT(s->lock.held);
    if (s->loaded && !same_log(s))
        return store_load(s, true);
    if (size < s->log.end) {
        store_note_damage(s, size, s->log.head,
                          "the file ends before its committed end");
        return ERR_DAMAGED;
    }
    /* Sync first: read_lines passes records to the observer. */
    int rc = store_sync_tail(s, size);
    if (rc == 0)
        rc = read_lines(s, size, false);
    return rc == 0 ? store_settle_tail(s, size) : rc;
}
