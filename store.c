/* store - the log, from what one process reads of it to what it writes.

   Every process that uses a store holds an index of all keys in memory, read
   from the log once and kept current by following it. No process serves the
   others; they meet in two files only, and this is how.

   THE FILES. tasks.log holds the records and only grows, until a compaction
   replaces it. tasks.log.lock holds locks and the mark. The mark is a fixed
   number of bytes at the start of that file (store/lock.h) and says: generation
   G, newest record N, committed end E, so everything below E may be believed;
   also which store and inode that is true of, and what time it was.

   THE LOCKS are on single bytes, and end with the process that holds them.
     write     byte 0 of the lock file. Who holds it may change the log and the
               mark, and nobody else does.
     log       byte 0 of the log itself, taken after the write lock. It is
               needed only if the lock file was removed while in use, and there
               are two of them: both holders of a write lock want this one.
     compact   held by the process that writes tasks.log.compact.
     pull      held by the process that asks a remote for all on this host.
     instance  one random byte per process, held for life, so that others can
               tell whether it is alive.
   They are taken in the order compact, write, log. Nobody sleeps for one while
   it holds another, but for the compactor: for the write lock, 10 ms at a time
   and for 5 s at most.

   READING takes no lock. A reader looks at the mark. If it has not changed,
   neither has the log. If it is of the same log, the reader reads on to E. If
   it is of another generation, it opens the log at the path again, and reads
   that one. Bytes beyond E belong to a commit under way, or to one that died.
   The mark is overwritten in place, so a reader may see half of each: its sums
   tell, and the reader looks again.

   WRITING is done by one process at a time, each step after the one before:
     1. follow, so that little is left to read under the lock;
     2. take the write lock and the log's lock, and check that both files are
        still those at their paths; read what was committed since 1;
     3. stage records: into the index and the batch, which are memory;
     4. one write of the batch at E;
     5. fdatasync;
     6. the mark, with the new E;
     7. tell the observer, unlock, and only then send the answers.
   The mark is not synced. What it says after a power loss is old or nothing,
   and then the log is read to its end instead.

   WHERE A PROCESS OR MACHINE MAY DIE, and what the next one finds:
     before 4     nothing happened.
     in 4         a torn tail beyond E. Nobody was told of it. The next writer
                  keeps the whole records in it, which is allowed, saves the
                  rest in a file beside the log, and cuts it off.
     after 4      whole records beyond E that may not be on the disk. The next
                  writer writes them again and syncs before it believes them:
                  after a failed sync the kernel takes them for clean.
     after 5      the same, but they are on the disk.
     after 6      the commit is complete; only its answer was not sent.
   A process that may not write, and finds bytes beyond E while nobody holds the
   write lock, syncs the log and reads what is whole of them.
   If a step fails and the process lives, it cuts the log back to E and undoes
   memory; if it cannot cut, what is beyond E is again what a dead process left.

   A CHANGE OF GENERATION. The compactor copies what is still needed into
   tasks.log.compact without the write lock, takes it for the rest, syncs the
   copy, links the log as tasks.log.G, renames the copy over tasks.log, and
   writes a mark of generation G+1. All others notice by the mark. What was in
   the old log beyond one's own position is read from the old file, which is
   still open, so that the observer is shown each record once. If the new log
   has the newest record of the old one unchanged, it is a compaction of what
   memory has: memory is kept, only what follows that record is read, and any
   other record is found by its number when it is first asked for. Else the new
   log is read whole, which takes long: who has just taken the write lock and
   finds that the path leads to another file gives the lock back, goes over
   without it, and takes it again. Deaths:
     before link    a file .compact is left; the next compaction removes it.
     before rename  the log has two names; the next writer removes the second.
     after rename   the mark is of generation G, and of another inode: it does
                    not fit, so the next writer reads the new log to its end,
                    syncs the directory, and writes the mark.
   The path is never without a log. A log with any other second name, or one
   that is mounted by itself, is not written: a rename would not be seen by all
   who use it.

   REMOVED AND REPLACED FILES. If the lock file is not the one at its path any
   more, its mark no longer moves and its locks exclude nobody: it is closed,
   the new one is opened, and a compaction is given up. A mark counts only for
   the log whose id and inode it has, so a copy of either file that is put back
   gets a new mark.

   TIME. Records carry the log's time, which never goes back: that of the newest
   record, plus what the boot clock counts since. The mark holds a pair of both
   clocks and the boot's name. A process of the same boot goes on from the pair;
   after a boot, the first process takes the wall clock, if that is ahead, and
   writes a new mark (store/state.c).

   SEVERAL HOSTS. With a remote, that orders the commits: store_commit asks it
   first, and the log here is a replica, which is not synced, since others have
   its records. Locks and mark are as above among the processes of one host
   (store/replica.c).

   Invariants:
   1. Bytes below the mark's end are on disk and never change. A bad record
      among them is damage: writes are refused, the file stays untouched, and
      whole records remain readable.
   2. Bytes after it count only once the lock holder has checked and synced them
      (recover_tail).
   3. Memory equals the log read up to s->log.end, plus what is staged. It may
      also have some of what the last compaction has dropped by its age.
   4. Without the lock, the log and its mark do not change. A compaction writes
      its own file, and closed generations may be deleted (store_prune). */

#include "store.h"
#include "store/compact.h"
#include "store/remote.h"
#include "store/state.h"
#include "base/clock.h"
#include "base/os.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h> /* rename */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINE_KEEP (16 * 1024) /* kept of the buffer used to follow the log */
#define BATCH_KEEP (64 * 1024)
#define LOCK_CHECK_MS 50 /* between checks of the lock file */
#define TRIES 8 /* at a lock, while its files are replaced */
#define BUSY_GAP_MS (60 * 1000) /* an attempt of longer ago says nothing about
                                   the time since */

_Static_assert(REMOTE_MAX_BATCH > 2 * STORE_MAX_RECORD, "a batch has room");

/* Outcomes of reading the log, beside 0 and errors. */
enum view {
    VIEW_SAME = 1, /* the mark has not changed */
    VIEW_TAIL,     /* only the lock holder can recover the tail */
    VIEW_AGAIN,    /* lock file or log was replaced: lock again */
    VIEW_NEXT      /* the log is of another generation, and its mark is valid:
                      unlock, read it, lock again */
};

/* ---- records into memory: the same way for live and replayed ones ---- */

static uint8_t
kind_of(const struct store *s, struct str key)
{
    uint8_t i = 0;
    while (!str_starts(key, s->kinds[i].prefix))
        i++;
    return i;
}

/* Applies a record at off to the index and the kinds. 0, or ERR_NOMEM with
   nothing changed. */
static int
apply_record(struct store *s, const struct store_rec *r, int64_t off,
             struct store_entry **out)
{
    struct store_entry *e = index_find(&s->index, r->key);
    bool fresh = e == NULL;
    int64_t ms;
    if (fresh) {
        uint8_t kind = kind_of(s, r->key);
        e = index_add(&s->index, r->key, s->kinds[kind].entry_size);
        if (e == NULL)
            return ERR_NOMEM;
        e->kind = kind;
    }
    struct store_entry was = *e;
    e->n = r->n;
    e->off = off;
    e->g = (uint32_t)r->g;
    e->len = (uint32_t)r->line.len;
    e->held = false;
    const struct store_kind *k = &s->kinds[e->kind];
    int rc = k->apply != NULL ? k->apply(k->ctx, e, r) : 0;
    if (rc != 0) {
        *e = was;
        if (fresh)
            index_pop(&s->index, e);
        return rc;
    }
    for (size_t i = 0; i < s->n_kinds; i++)
        if (i != e->kind && s->kinds[i].other != NULL)
            s->kinds[i].other(s->kinds[i].ctx, r);
    s->live += (int64_t)e->len + 1;
    if (!fresh)
        s->live -= (int64_t)was.len + 1;
    if (was.held)
        s->held += (int64_t)was.len + 1;
    if (k->transient)
        s->superseded += e->len + 1;
    else if (!fresh)
        s->superseded += was.len + 1;
    if (time_parse(r->time, &ms))
        store_advance_time(s, ms - clock_boot_ms());
    *out = e;
    return 0;
}

static void
tell_observer(struct store *s, const struct store_entry *e,
              const struct store_rec *r)
{
    if (r->n <= s->observed)
        return;
    s->observed = r->n;
    if (s->observe != NULL)
        s->observe(s->observe_ctx, e, r);
}

/* Drops everything that was read. */
static void
forget_log(struct store *s)
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

/* ---- bytes behind the committed end, under the lock ----

   After a failed step the log is cut to its committed end and the cut is
   synced. After a failed sync the log is also reopened, since a descriptor
   reports the failures of others too, and the bytes are written and synced once
   more. A sync alone is never retried: the kernel may have dropped the dirty
   pages and would report success. So if even the cut fails, nobody relies on
   the bytes after the mark: the next lock holder writes them again before it
   syncs them. */

/* Reopens the log for writing if it is the file memory was read from. */
static bool
reopen_log(struct store *s)
{
    struct stat st;
    int fd = open(s->path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return false;
    if (fstat(fd, &st) != 0 || !store_is_log(s, &st)) {
        close(fd);
        return false;
    }
    lock_log(s->log.fd, false); /* a compaction may have it open as well */
    close(s->log.fd);
    s->log.fd = fd;
    s->log.readonly = false;
    lock_log(fd, true);
    return true;
}

static int
sync_log(struct store *s)
{
    if (file_sync(s->log.fd, os_sync_data) == 0)
        return 0;
    int e = errno;
    reopen_log(s); /* otherwise the old descriptor has reported its error */
    errno = e;
    return -1;
}

/* Cuts the log to its committed end. Returns whether that is on disk. */
static bool
cut_log(struct store *s)
{
    for (int tries = 0; tries < 2; tries++) {
        int rc;
        do
            rc = ftruncate(s->log.fd, (off_t)s->log.end);
        while (rc != 0 && errno == EINTR);
        if (rc == 0 && sync_log(s) == 0)
            return true;
    }
    return false;
}

int
store_put(struct store *s, struct str bytes, const struct mark *m, bool *cut)
{
    struct stat st;
    *cut = true;
    /* Where locks belong to the process, closing another descriptor of the log
       has dropped the lock on it. Meanwhile a process with another lock file
       may have written. */
    if (os_lock_is_by_process() &&
        (lock_log(s->log.fd, true) == ERR_BUSY || stat(s->path, &st) != 0 ||
         !store_is_log(s, &st) || st.st_size != s->log.end))
        return ERR_BUSY;
    for (bool retries = false;; retries = true) {
        const char *step = "write";
        int rc = file_write_at(s->log.fd, bytes.p, bytes.len, s->log.end);
        if (rc == 0 && s->replica == NULL) { /* else others have the records */
            step = "fdatasync";
            rc = sync_log(s);
        }
        if (rc == 0 && m != NULL) {
            step = "the mark";
            rc = store_put_mark(s, m->g, m->n, m->end, s->ino);
        }
        if (rc == 0)
            return 0;
        int e = errno;
        int64_t missing = e == EFBIG ? 0 : (int64_t)bytes.len;
        rc = file_error();
        *cut = cut_log(s);
        if (*cut && !retries && strcmp(step, "fdatasync") == 0)
            continue;
        if (*cut && rc == ERR_FULL && missing > 0 &&
            room_make_way(s, missing, m != NULL && !s->room.ordinary))
            continue;
        if (rc == ERR_FULL)
            room_note_full(s, missing);
        return store_deny(s, rc, "%s: %s failed: %s", s->path, step,
                          strerror(e));
    }
}

/* ---- reading on ---- */

/* Records that the log is damaged, first at off. */
static void
note_damage(struct store *s, int64_t off, uint64_t after_n,
            const char *what)
{
    s->log.damaged = true;
    store_deny(s, ERR_DAMAGED, "%s: damaged at byte %lld, after record "
               "%llu: %s", s->path, (long long)off,
               (unsigned long long)after_n, what);
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
            note_damage(s, j.off, j.after_n, j.wrong);
        if (j.as == LOG_END)
            s->superseded_base = s->superseded;
        if (j.as != LOG_RECORD)
            continue;
        rc = apply_record(s, &j.r, j.off, &e);
        if (rc != 0)
            break;
        tell_observer(s, e, &j.r);
    }
    if (rc == 0 && s->log.end < end && committed) {
        note_damage(s, s->log.end, s->log.head,
                    "the file ends before its committed end");
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
        note_damage(s, s->log.end, s->log.head,
                    "the end record of a compaction is missing");
    return s->log.damaged ? ERR_DAMAGED : 0;
}

int
store_load_to(struct store *s, const struct mark *m)
{
    store_adopt_mark(s, m);
    s->log.last = m->n;
    return read_lines(s, m->end, true);
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
        f->h.g != s->log.g + 1)
        return 0;
    log_seek(s->log.fd, s->log.end, s->log.head, &b, &sum);
    int64_t rest = log_seek(f->fd, end, s->log.head, &new_b, &new_sum);
    bool same = b != 0 && new_b == b && new_sum == sum;
    /* Keys that were dropped stay in memory, if they are not many. */
    return same && s->live <= rest + rest / 4 ? rest : 0;
}

/* Returns whether the log is itself a mount point, so that nothing can be
   renamed over it. Where the mounts are unknown, the device is a less reliable
   sign: some stacked file systems have one for files and one for
   directories. */
static bool
is_mounted(const struct store *s)
{
    struct stat st;
    int dir = file_open_dir(s->dir);
    int64_t own = os_mount_of(s->log.fd), around = os_mount_of(dir);
    bool mounted = own != around;
    if (own < 0 || around < 0)
        mounted = dir >= 0 && fstat(dir, &st) == 0 && st.st_dev != s->dev;
    if (dir >= 0)
        close(dir);
    return mounted;
}

/* Whether generation g has a digit more than the one before it, and so each of
   its lines. */
static bool
has_more_digits(uint64_t g)
{
    while (g > 9 && g % 10 == 0)
        g /= 10;
    return g == 1;
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
    if (rest > 0) { /* store_read finds where a record is now */
        bool longer = has_more_digits(f->h.g);
        if (longer) {
            index_lengthen(&s->index);
            s->live += (int64_t)s->index.n;
        }
        int64_t older = rest > s->live ? rest - s->live : 0;
        int64_t own = RECORD_HEADER_MAX; /* the first line and the end record */
        close(s->log.fd);
        s->log = (struct log){.fd = f->fd, .g = f->h.g, .head = s->log.head,
                              .end = rest};
        s->held = s->held < older && !longer ? s->held : older;
        s->superseded = s->superseded_base = older > own ? older - own : 0;
    } else {
        forget_log(s);
        log_begin(&s->log, f->fd, &f->h);
        text_put(s->id, sizeof s->id, "%s", f->h.id);
    }
    s->dev = f->st.st_dev;
    s->ino = f->st.st_ino;
    s->log.readonly = f->readonly;
    s->log.foreign = f->h.replica != (s->replica != NULL);
    if (s->lock.held && lock_log(f->fd, true) == ERR_BUSY) {
        s->loaded = false;
        return ERR_BUSY;
    }
    s->log.mounted = is_mounted(s);
    store_note_names(s);
    return rest > 0;
}

/* The log could not be opened; rc is log_open's result. */
static int
deny_open(struct store *s, const struct log_file *f, int rc,
          const struct mark *m)
{
    if (rc == ERR_NOT_FOUND && f->st.st_size == 0 && m->end > 0 &&
        mark_is_of(m, "", f->st.st_ino)) {
        forget_log(s);
        store_adopt_mark(s, m);
        s->loaded = true;
        s->log.damaged = true;
        s->log.last = m->n;
        return store_deny(s, ERR_DAMAGED, "%s: the log is empty, but %lld "
                          "bytes of it were committed", s->path,
                          (long long)m->end);
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

static int recover_tail(struct store *s, int64_t size);

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
    /* Only verify guesses what a damaged first line said; but a new replica
       needs a generation after this one. */
    if (f.h.damaged) {
        close(f.fd);
        mark_forget(&s->lock);
        s->log.damaged = true;
        if (s->log.g == 0)
            s->log.g = f.h.g;
        return store_deny(s, ERR_DAMAGED, "%s: the first line is damaged",
                          s->path);
    }
    /* An empty log may have been replaced by the replica, by another process of
       a new host. */
    if (s->id[0] != '\0' && strcmp(s->id, f.h.id) != 0 &&
        (s->replica == NULL || s->log.head != 0)) {
        close(f.fd);
        return store_deny(s, ERR_IO, "%s: the log of another store has "
                          "replaced this one; put the old one back, or restart "
                          "to use the new one", s->path);
    }
    int64_t size = f.st.st_size;
    may_lock = may_lock && !f.readonly;
    bool held = s->lock.held && may_lock;
    marked = marked && m.g == f.h.g && mark_is_of(&m, f.h.id, f.st.st_ino);
    if (!marked && !held && may_lock) {
        close(f.fd);
        mark_forget(&s->lock);
        s->loaded = false; /* memory may be of a generation that is gone */
        return VIEW_TAIL;
    }
    int kept = go_over(s, &f, marked ? m.end : 0);
    if (kept < 0)
        return kept;
    if (marked) {
        rc = store_load_to(s, &m);
        if (rc == ERR_DAMAGED && kept > 0) { /* not of that log after all */
            s->loaded = false;
            return store_load(s, may_lock);
        }
        if (rc != 0 || size <= s->log.end)
            return rc;
    }
    if (held)
        return recover_tail(s, size);
    if (marked && may_lock)
        return VIEW_TAIL;
    /* Committed records may follow the mark, which is never synced and may be
       older than the log after a power loss. While the lock is free, a sync
       makes those records safe to read. */
    if (marked && (s->lock.held || !lock_is_free(&s->lock, LOCK_WRITE) ||
                   (file_sync(s->log.fd, os_sync_data) != 0 &&
                    errno != EINVAL && errno != EROFS)))
        return 0;
    s->unmarked_len = size;
    return read_lines(s, size, false);
}

/* ---- recovery: only what is cut here is ever lost, and its bytes are saved
   beside the log ---- */

static int
deny_recovery(struct store *s)
{
    return store_deny_errno(s, s->path, "cannot be recovered: ");
}

/* Saves the bytes from the known end to size in a file, for a person to
   examine, and cuts them off. As far as is known, they were never acknowledged.
   The blanks of a probe are not worth saving. */
static int
cut_torn(struct store *s, int64_t size)
{
    char torn[FILE_PATH_MAX + 64], rest[STORE_BLANKS];
    int64_t len = size - s->log.end, ms = clock_wall_ms();
    struct stat st;
    bool keep = len > STORE_BLANKS ||
                file_read_at(s->log.fd, rest, (size_t)len, s->log.end) != len;
    for (int64_t i = 0; !keep && i < len; i++)
        keep = rest[i] != STORE_BLANK;
    if (keep) {
        int fd;
        do {
            text_put(torn, sizeof torn, "%s.torn-%llu-%lld", s->path,
                     (unsigned long long)s->log.head + 1, (long long)ms++);
            fd = file_create(torn);
        } while (fd < 0 && errno == EEXIST); /* another in that millisecond */
        if (fd < 0)
            return deny_recovery(s);
        file_give(fd, s->path);
        if (file_finish(fd, torn, log_copy(s->log.fd, s->log.end, size, fd,
                                           0)) != 0)
            return deny_recovery(s);
    }
    if (file_sync_path(s->dir) == 0 && cut_log(s)) {
        s->torn = s->torn || keep;
        return 0;
    }
    int rc = deny_recovery(s);
    if (keep && fstat(s->log.fd, &st) == 0 && st.st_size >= size)
        unlink(torn); /* the next attempt writes it again */
    return rc;
}

/* Under the lock: accepts the whole records between the known end and size,
   cuts a torn rest, syncs, and moves the mark. */
static int
recover_tail(struct store *s, int64_t size)
{
    int64_t from = size - 2 * STORE_MAX_BATCH;
    char lf = 0;
    ASSERT(s->lock.held);
    /* Another file may have been copied over the log in place. */
    if (s->loaded && (!log_is(s->log.fd, s->log.g, s->id) ||
                      pread(s->log.fd, &lf, 1, s->log.end - 1) != 1 ||
                      lf != '\n'))
        return store_load(s, true);
    if (size < s->log.end) {
        note_damage(s, size, s->log.head,
                    "the file ends before its committed end");
        return ERR_DAMAGED;
    }
    /* Synced before read_lines passes records to the observer; and written
       before that: if the writer's sync failed, the kernel considers them
       clean. Only the last batch can be affected, since each batch begins after
       the previous one was synced. */
    if (from < s->log.end)
        from = s->log.end;
    for (int tries = 0;; tries++) {
        if (log_copy(s->log.fd, from, size, s->log.fd, from) == 0 &&
            sync_log(s) == 0)
            break;
        if (tries > 0)
            return deny_recovery(s);
    }
    int rc = read_lines(s, size, false);
    if (rc != 0)
        return rc;
    /* The directories are synced before the mark: the process that made or
       renamed the log may have died before it did so. */
    if (s->log.end < size)
        rc = cut_torn(s, size);
    else if (file_sync_path(s->dir) != 0)
        rc = deny_recovery(s);
    if (rc == 0 && store_put_mark(s, s->log.g, s->log.head, s->log.end,
                                  s->ino) != 0)
        rc = deny_recovery(s);
    return rc;
}

/* ---- follow and lock ---- */

static int
find_path(struct store *s)
{
    char *path = file_real(s->opt.path);
    if (path == NULL)
        return store_deny_errno(s, s->opt.path, "");
    char *dir = file_dir_of(path), *lock_path = file_join(path, ".lock");
    if (dir == NULL || lock_path == NULL) {
        free(path);
        free(dir);
        free(lock_path);
        return ERR_NOMEM;
    }
    free(s->path);
    free(s->dir);
    free((char *)s->lock.path);
    s->path = path;
    s->dir = dir;
    s->lock.path = lock_path;
    return 0;
}

int
store_make_dir(struct store *s)
{
    int rc = store_only_reads(s) ? ERR_READONLY : file_make_dirs(s->dir);

    return rc == 0 && s->log.fd < 0 ? find_path(s) : rc;
}

/* The lock file could not be opened; errno says why. */
static int
deny_lock(struct store *s)
{
    struct stat st;
    int e = errno;
    if (lstat(s->lock.path, &st) == 0 && !S_ISREG(st.st_mode))
        return store_deny(s, ERR_IO, "%s: not a regular file; move it away",
                          s->lock.path);
    errno = e;
    return store_deny_errno(s, s->lock.path, "");
}

/* Opens the lock file; creates it and its directory if missing. */
static int
open_lock_file(struct store *s)
{
    /* Without a log, links may have been made since. */
    int rc = s->log.fd < 0 ? find_path(s) : 0;
    bool was_open = s->lock.fd >= 0;
    if (rc != 0)
        return rc;
    rc = lock_open(&s->lock, true);
    if (rc == ERR_NOT_FOUND) { /* the directory is missing */
        rc = store_make_dir(s);
        if (rc == 0)
            rc = lock_open(&s->lock, true);
    }
    if (rc == 0 && !was_open)
        file_give(s->lock.fd, s->path);
    if (rc != 0 && rc != ERR_NOMEM)
        rc = deny_lock(s);
    return rc;
}

/* The lock file was replaced: its mark no longer moves, and its locks exclude
   nobody. */
static void
close_lock_file(struct store *s)
{
    store_compact_lost(s);
    lock_close(&s->lock);
}

/* Returns whether memory can continue from its position to the mark m. */
static bool
leads_on(const struct store *s, const struct mark *m)
{
    return m->g == s->log.g && m->end >= s->log.end &&
           mark_is_of(m, s->id, (uint64_t)s->ino);
}

/* Follows what others committed, as far as possible without the lock. 0,
   VIEW_SAME, VIEW_TAIL, or an error. */
static int
read_on(struct store *s)
{
    int64_t now = clock_mono_ms();
    struct mark m;
    struct stat st;
    /* Not each time: a stat for each read is expensive. */
    if (s->lock.fd >= 0 && now - s->lock_checked_ms >= LOCK_CHECK_MS) {
        s->lock_checked_ms = now;
        if (!lock_is_at_path(&s->lock))
            close_lock_file(s);
    }
    int rc = lock_open(&s->lock, false);
    if (rc == ERR_IO)
        return deny_lock(s);
    bool may_lock = !store_only_reads(s) && rc != ERR_READONLY;
    rc = s->lock.fd < 0 ? ERR_SYNTAX : mark_read(&s->lock, &m);
    if (rc == MARK_SAME && s->loaded)
        return VIEW_SAME;
    /* The log is shorter than its mark says if another file was copied over
       it. */
    if (rc == 0 && s->loaded && leads_on(s, &m) && s->log.fd >= 0 &&
        fstat(s->log.fd, &st) == 0 && st.st_size >= m.end)
        return store_load_to(s, &m);
    /* Without a mark, a file of the same length is taken to be the same. */
    if (rc == ERR_SYNTAX && s->loaded &&
        (stat(s->path, &st) != 0 ||
         (s->log.fd >= 0 && st.st_size == s->unmarked_len &&
          store_is_log(s, &st))))
        return 0;
    rc = store_load(s, may_lock);
    if (rc == 0 && (s->err == ERR_IO || s->err == ERR_FORMAT))
        store_allow(s); /* it is readable again */
    return rc;
}

/* Creates the first log: a temporary file with the header, synced, renamed.
   Under the lock, and only if nothing exists at the path. recover_tail syncs
   the new name before the first mark. */
static int
create_log(struct store *s)
{
    struct record_header h = {.g = 1, .replica = s->replica != NULL};
    struct mark none = {0};
    struct buf b = {0};
    char *tmp = file_join(s->path, ".new");
    int rc = tmp == NULL ? ERR_NOMEM : random_hex(h.id, RECORD_ID);
    if (s->replica != NULL && s->log.g > 0) { /* one was set aside */
        h.g = s->log.g + LOG_NEXT_G;
        if (s->id[0] != '\0')
            text_put(h.id, sizeof h.id, "%s", s->id);
    }
    if (rc == 0) {
        unlink(tmp); /* left by a process that was killed here */
        record_put_header(&b, &h, store_now_ms(s));
        rc = b.err != 0 ? b.err
                        : file_write_new(tmp, s->path, buf_view(&b), false);
    }
    /* Any mark belongs to a log that was here before. */
    if (rc == 0 && (mark_write(&s->lock, &none) != 0 ||
                    rename(tmp, s->path) != 0))
        rc = file_error();
    if (rc != 0 && rc != ERR_NOMEM)
        store_deny(s, rc, "%s: cannot create it (%s); set MCP_TASK_BASE_DIR to "
                   "another directory", s->path, strerror(errno));
    if (rc != 0 && tmp != NULL)
        unlink(tmp);
    buf_fini(&b);
    free(tmp);
    return rc;
}

/* Locks the log itself, against a process with another lock file. ERR_BUSY:
   that process holds it; VIEW_AGAIN: it did, and replaced the log. */
static int
own_log(struct store *s, struct stat *st)
{
    if (lock_log(s->log.fd, true) == ERR_BUSY)
        return ERR_BUSY;
    return lock_is_at_path(&s->lock) && stat(s->path, st) == 0 &&
                   store_is_log(s, st) ? 0 : VIEW_AGAIN;
}

/* Under the lock, if the log may be another one: checks that the paths lead to
   the open lock file and log; creates or reads the log if not. may_unlock: a
   log of the next generation may be left to be read without the lock. */
static int
find_log(struct store *s, struct stat *st, bool may_unlock)
{
    struct mark m;
    if (!lock_is_at_path(&s->lock))
        return VIEW_AGAIN;
    if (s->loaded && s->log.fd >= 0 && stat(s->path, st) == 0) {
        if (store_is_log(s, st))
            return 0;
        /* What is committed of it can be read without the lock. */
        mark_forget(&s->lock);
        bool next = may_unlock && mark_read(&s->lock, &m) == 0 &&
                    m.g != s->log.g &&
                    mark_is_of(&m, s->id, (uint64_t)st->st_ino);
        mark_forget(&s->lock);
        if (next)
            return VIEW_NEXT;
    }
    int rc = store_load(s, true);
    if (rc == 0 && s->log.fd < 0)
        rc = create_log(s);
    if (rc == 0 && s->log.fd < 0)
        rc = store_load(s, true);
    if (rc == ERR_NOT_FOUND && s->replica != NULL)
        return ERR_DAMAGED;
    if (rc == ERR_NOT_FOUND)
        return store_deny(s, ERR_IO, "%s: the log has disappeared; put it "
                          "back, or restart to begin a new one", s->path);
    return rc == 0 && stat(s->path, st) != 0 ? ERR_IO : rc;
}

/* Under the lock: checks that neither lock file nor log was replaced, locks the
   log, reads what others committed, and recovers the tail. view: what read_on
   returned just before. may_unlock: VIEW_NEXT may be returned; otherwise the
   next log is read under the lock. */
static int
catch_up(struct store *s, int view, bool may_unlock)
{
    struct stat st;
    struct mark m;
    int rc = s->loaded && s->log.fd >= 0 ? own_log(s, &st) : VIEW_AGAIN;
    bool known = rc == 0 && st.st_size > 0;
    if (rc == VIEW_AGAIN || (rc == 0 && !known))
        rc = find_log(s, &st, may_unlock && view >= 0);
    if (rc != 0)
        return rc;
    if (s->log.damaged)
        return ERR_DAMAGED;
    if (s->log.foreign && /* but a log that is about to become a replica */
        (s->replica == NULL || s->replica->push != REMOTE_PUSH))
        return store_deny_standing(s);
    if (s->log.readonly && !reopen_log(s)) /* permission may have been granted
                                              since */
        return errno == EACCES
                   ? store_deny_errno(s, s->path, "cannot be written: ")
                   : store_deny(s, ERR_READONLY, "%s: cannot be written: %s; "
                                "change that, or use --read-only", s->path,
                                strerror(errno));
    rc = known ? 0 : own_log(s, &st);
    if (rc != 0)
        return rc;
    if (st.st_nlink > 1)
        store_unlink_old(s);
    if (st.st_nlink > 1 || s->log.linked)
        store_note_names(s);
    if (s->log.linked || s->log.mounted)
        return store_deny_standing(s);
    /* A log only grows until it is replaced: if its size is the same, nobody
       wrote. */
    if (view == VIEW_SAME && known && st.st_size == s->log.end)
        return 0;
    rc = mark_read(&s->lock, &m);
    if (rc == 0) /* else a mark of another log, or of an older one */
        rc = leads_on(s, &m) ? store_load_to(s, &m) : ERR_SYNTAX;
    if (rc == ERR_SYNTAX ||
        ((rc == 0 || rc == MARK_SAME) && st.st_size != s->log.end))
        rc = recover_tail(s, st.st_size);
    return rc == MARK_SAME ? 0 : rc;
}

/* A damaged replica starts over: others have its records. */
static int
set_log_aside(struct store *s)
{
    char aside[FILE_PATH_MAX + 32];
    text_put(aside, sizeof aside, "%s.broken-%lld", s->path,
             (long long)clock_wall_ms());
    if (rename(s->path, aside) != 0 && errno != ENOENT)
        return store_deny_errno(s, s->path, "cannot be set aside: ");
    forget_log(s);
    return VIEW_AGAIN;
}

static void
begin_reads(struct store *s)
{
    s->was_read = false;
    if (s->replica != NULL)
        s->replica->fresh = false;
}

/* Follows before taking the lock, so that under the lock only the newest
   records remain to be read, and it is held briefly. Another process may
   compact before each attempt, so the last ones read under the lock. */
int
store_take_lock(struct store *s, bool wait)
{
    int rc = VIEW_AGAIN;
    if (store_only_reads(s))
        return ERR_READONLY;
    begin_reads(s);
    for (int tries = 0; tries < TRIES && rc >= VIEW_AGAIN; tries++) {
        rc = open_lock_file(s);
        if (rc != 0)
            return rc;
        /* Errors show again under the lock. */
        int view = read_on(s);
        if (s->lock.fd < 0)
            rc = VIEW_AGAIN;
        else
            rc = wait ? lock_wait(&s->lock) : lock_try(&s->lock, LOCK_WRITE);
        if (rc == 0)
            rc = catch_up(s, view, tries < TRIES / 2);
        else if (rc == ERR_IO)
            store_deny_errno(s, s->lock.path, "cannot be locked: ");
        if (rc == ERR_DAMAGED && s->lock.held && s->replica != NULL &&
            !s->log.foreign)
            rc = set_log_aside(s);
        /* Since when another process has had the lock. */
        int64_t now = clock_mono_ms();
        if (rc != ERR_BUSY)
            s->busy_ms = 0;
        else if (s->busy_ms == 0 || now - s->tried_ms > BUSY_GAP_MS)
            s->busy_ms = now;
        s->tried_ms = now;
        if (rc >= VIEW_AGAIN)
            store_unlock(s);
        if (rc == VIEW_AGAIN)
            close_lock_file(s);
    }
    /* The holder uses another lock file, so it was not waited for. */
    bool elsewhere = rc == ERR_BUSY && s->lock.held;
    if (rc != 0)
        store_unlock(s);
    if (elsewhere && wait)
        poll(NULL, 0, LOCK_WAIT_TICK_MS);
    return rc >= VIEW_AGAIN ? ERR_IO : rc;
}

void
store_unlock(struct store *s)
{
    ASSERT(s->n_staged == 0);
    s->refuse.ordinary = 0;
    if (s->lock.held && s->log.fd >= 0)
        lock_log(s->log.fd, false);
    if (s->lock.held)
        lock_release(&s->lock, LOCK_WRITE);
    if (s->lock.held) /* unlocking failed; closing always unlocks */
        close_lock_file(s);
}

/* If the tail needs recovery, takes the lock for that. If another process holds
   it, that one recovers the tail; it is waited for if memory is still empty. If
   recovery is impossible, reads continue as far as the log is whole. */
int
store_follow(struct store *s)
{
    if (s->lock.held)
        return 0; /* store_lock has followed already */
    begin_reads(s);
    int rc = read_on(s);
    if (rc != VIEW_TAIL)
        return rc == VIEW_SAME ? 0 : rc;
    int64_t until = clock_mono_ms() + STORE_LOCK_WAIT_MS;
    rc = store_take_lock(s, false);
    while (rc == ERR_BUSY && !s->loaded && clock_mono_ms() < until)
        rc = store_take_lock(s, true);
    if (rc == 0)
        store_unlock(s);
    if (rc == ERR_BUSY && !s->loaded)
        store_deny(s, rc, "%s: another process holds the lock; try again",
                   s->lock.path);
    if (rc == ERR_READONLY || (rc != 0 && rc != ERR_NOMEM && !s->loaded))
        rc = store_load(s, false);
    return rc != ERR_NOMEM && s->loaded ? 0 : rc;
}

/* store_take_lock, unless the remote would not take a commit now. */
static int
lock_for_all(struct store *s, bool wait)
{
    const struct replica *r = s->replica;
    if (s->opt.readonly)
        return ERR_READONLY;
    if (r != NULL && r->wanted)
        return ERR_BUSY; /* the turn that is under way has it, or may take it */
    if (r != NULL && store_is_paused(r))
        return r->err == ERR_UNKNOWN ? ERR_UNREACHABLE : r->err;
    int rc = r != NULL ? store_check_clock(s) : 0;
    return rc != 0 ? rc : store_take_lock(s, wait);
}

int
store_lock(struct store *s)
{
    return lock_for_all(s, false);
}

int
store_lock_wait(struct store *s)
{
    return lock_for_all(s, true);
}

int
store_lock_patiently(struct store *s)
{
    int64_t until = clock_mono_ms() + STORE_LOCK_WAIT_MS;
    int rc = store_lock(s);
    while (rc == ERR_BUSY && clock_mono_ms() < until)
        rc = store_lock_wait(s);
    return rc;
}

/* ---- stage: into the index and the batch, which are memory ----

   Undoing takes a record out of both in reverse order, and needs neither memory
   nor disk. */

uint64_t
store_next_n(const struct store *s)
{
    return s->log.head + s->n_staged + 1;
}

bool
store_batch_is_full(const struct store *s)
{
    size_t max = s->replica != NULL ? REMOTE_MAX_BATCH : STORE_MAX_BATCH;
    return s->batch.len >= max - 2 * STORE_MAX_RECORD;
}

size_t
store_staged_n(const struct store *s)
{
    return s->n_staged;
}

void
store_refuse(struct store *s, int err)
{
    s->refuse.all = err;
}

int
store_stage_last(struct store *s, struct str key, struct str body)
{
    char time[TIME_LEN + 1];
    if (s->refuse.all != 0)
        return s->refuse.all;
    ASSERT(s->lock.held && record_key_ok(key));
    size_t len = body.len + key.len + 160;
    if (len > STORE_MAX_RECORD ||
        (s->replica != NULL && s->batch.len + len > REMOTE_MAX_BATCH))
        return ERR_TOO_LARGE;
    if (store_next_n(s) > RECORD_MAX_N)
        return ERR_FULL;
    struct store_entry *e = index_find(&s->index, key);
    size_t size = s->kinds[kind_of(s, key)].entry_size;
    size_t all = offsetof(struct staged, old) + size;
    struct staged *g = arena_alloc(&s->mem, all);
    if (g == NULL)
        return ERR_NOMEM;
    memset(g, 0, all);
    g->before = s->last;
    g->superseded = s->superseded;
    g->live = s->live;
    g->held = s->held;
    g->at = s->batch.len;
    if (e != NULL)
        memcpy(&g->old, e, size);
    time_format(store_stamp_ms(s), time);
    struct store_rec r = {.g = s->log.g, .n = store_next_n(s),
                          .b = s->log.head + 1, .p = e ? e->n : 0,
                          .key = key, .time = str_of(time), .body = body};
    record_put(&s->batch, &r);
    int rc = s->batch.err;
    if (rc == 0) {
        g->len = s->batch.len - g->at - 1;
        r.line = (struct str){s->batch.p + g->at, g->len};
        rc = apply_record(s, &r, s->log.end + (int64_t)g->at, &g->e);
    }
    if (rc != 0) {
        s->batch.err = 0;
        s->batch.len = g->at;
        return rc;
    }
    *(g->before ? &g->before->next : &s->first) = g;
    s->last = g;
    s->n_staged++;
    return 0;
}

int
store_stage(struct store *s, struct str key, struct str body)
{
    bool refused = s->refuse.ordinary != 0 && s->refuse.all == 0;
    int rc = refused ? s->refuse.ordinary : store_stage_last(s, key, body);
    s->room.ordinary |= rc == 0;
    return rc;
}

static void
end_batch(struct store *s)
{
    s->first = s->last = NULL;
    s->n_staged = 0;
    s->room.ordinary = false;
    buf_reset(&s->batch, BATCH_KEEP);
    arena_reset(&s->mem);
}

void
store_unstage(struct store *s, size_t n)
{
    for (; s->n_staged > n; s->n_staged--) {
        struct staged *g = s->last;
        struct store_entry *e = g->e;
        const struct store_kind *k = &s->kinds[e->kind];
        if (k->undo != NULL)
            k->undo(k->ctx, e, &g->old);
        s->superseded = g->superseded;
        s->live = g->live;
        s->held = g->held;
        if (g->old.n == 0)
            index_pop(&s->index, e);
        else /* keep the chain: a split or a new key may have changed it */
            memcpy((char *)e + sizeof e->chain,
                   (const char *)&g->old + sizeof e->chain,
                   k->entry_size - sizeof e->chain);
        s->batch.len = g->at;
        s->last = g->before;
    }
    if (n == 0)
        end_batch(s);
    else
        s->last->next = NULL;
}

/* ---- commit ---- */

int
store_commit_here(struct store *s, bool *unknown)
{
    bool cut = true;
    ASSERT(s->lock.held);
    struct mark m = {.g = s->log.g, .n = s->log.head + s->n_staged,
                     .end = s->log.end + (int64_t)s->batch.len};
    int rc = store_put(s, buf_view(&s->batch), &m, &cut);
    *unknown = rc != 0 && !cut;
    if (rc != 0) {
        store_unstage(s, 0);
        return rc;
    }
    s->log.end = m.end;
    s->log.head = m.n;
    s->n_staged = 0;
    if (!s->room.full) /* else it was of what still may be written */
        store_allow(s);
    if (!s->room.full && s->room.ordinary)
        room_fill(s);
    for (struct staged *g = s->first; g != NULL; g = g->next) {
        struct store_rec r;
        rc = record_parse((struct str){s->batch.p + g->at, g->len}, &r);
        ASSERT(rc == 0); /* record_put wrote it */
        tell_observer(s, g->e, &r);
    }
    end_batch(s);
    return 0;
}

int
store_probe(struct store *s)
{
    char blank[STORE_BLANKS];
    bool cut;
    ASSERT(s->lock.held && s->n_staged == 0);
    if (s->replica != NULL && s->replica->full)
        return ERR_FULL; /* store_tend asks whether that is over */
    if (!store_has_room(s))
        return ERR_FULL;
    memset(blank, STORE_BLANK, sizeof blank);
    int rc = store_put(s, (struct str){blank, sizeof blank}, NULL, &cut);
    if (rc == 0 && !cut_log(s))
        rc = store_deny_errno(s, s->path, "cannot be cut: ");
    if (rc == 0)
        store_allow(s);
    return rc;
}

/* ---- read ----

   Every record's CRC is checked: bytes that changed on disk cause an error,
   never an answer. */

struct store_entry *
store_find(struct store *s, struct str key)
{
    s->was_read = true;
    return index_find(&s->index, key);
}

/* An entry older than the last compaction has an offset in the log before it.
   Its record is found by its number, once. If it was dropped, memory has to be
   read again. */
int
store_read(struct store *s, struct store_entry *e, struct arena *a,
           struct store_rec *out)
{
    if (e->g != (uint32_t)s->log.g) {
        int64_t off;
        int rc = log_find(s->log.fd, s->log.end, e->n, a, out, &off);
        s->loaded = s->loaded && rc != ERR_NOT_FOUND;
        if (rc != 0)
            return rc == ERR_NOT_FOUND ? ERR_DAMAGED : rc;
        e->g = (uint32_t)s->log.g;
        e->off = off;
    }
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

int
store_read_n(struct store *s, uint64_t n, struct arena *a,
             struct store_rec *out)
{
    struct stat st;
    int64_t off;
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
    int rc = s->log.fd < 0 ? ERR_NOT_FOUND
                 : log_find(s->log.fd, s->log.end, n, a, out, &off);
    for (uint64_t g = s->log.g; rc == ERR_NOT_FOUND && g > 1; g--) {
        int fd = store_open_closed(s, g - 1);
        if (fd < 0)
            return errno == ENOENT ? ERR_NOT_FOUND : ERR_IO;
        rc = fstat(fd, &st) != 0 ? ERR_IO
                 : log_find(fd, st.st_size, n, a, out, &off);
        close(fd);
    }
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
                               .off = log_search(s->log.fd, s->log.end, from)};
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

void
store_observe(struct store *s,
              void (*fn)(void *ctx, const struct store_entry *e,
                         const struct store_rec *r),
              void *ctx)
{
    s->observe = fn;
    s->observe_ctx = ctx;
}

/* ---- from one generation to the next ---- */

/* Finishes the new file and replaces the log by it. */
static int
switch_over(struct store *s)
{
    struct compaction *c = s->compaction;
    int rc = store_take_lock(s, false);
    if (rc == ERR_BUSY)
        rc = store_lock_wait(s);
    if (c->until_ms == 0)
        c->until_ms = clock_mono_ms() + STORE_LOCK_WAIT_MS;
    if (rc == ERR_BUSY && clock_mono_ms() < c->until_ms)
        return ERR_PENDING;
    if (rc != 0)
        return rc;
    rc = c->g == s->log.g + 1 ? store_compact_switch(s) : ERR_BUSY;
    if (rc == 0 && s->replica != NULL)
        s->opt.remote->compacted(s->opt.remote->ctx, s->path,
                                 s->replica->head_n == s->log.head
                                     ? s->replica->head : "",
                                 c->out_len);
    store_unlock(s);
    if (rc == 0)
        store_prune(s, s->opt.closed_max);
    return rc;
}

int
store_compact(struct store *s)
{
    if (s->lock.held)
        return ERR_BUSY;
    int rc = store_follow(s);
    if (s->compaction == NULL) {
        if (rc != 0 || s->log.fd < 0)
            return rc;
        rc = store_compact_begin(s);
    }
    if (rc == 0)
        rc = store_compact_slice(s);
    if (rc == 0)
        rc = switch_over(s);
    if (rc == ERR_PENDING)
        return rc;
    room_note_attempt(s, rc);
    store_compact_stop(s);
    return rc == 0 ? store_follow(s) : rc;
}

bool
store_make_room(struct store *s)
{
    int rc = ERR_PENDING;
    if (s->room.full) /* one under way also copies what was written since */
        store_compact_stop(s);
    if (s->compaction == NULL && !store_wants_compact(s))
        return false;
    while (rc == ERR_PENDING)
        rc = store_compact(s);
    return true;
}

/* ---- processes ---- */

uint64_t
store_instance(struct store *s)
{
    const struct remote *r = s->opt.remote;
    if (s->lock.fd < 0)
        return 0;
    if (s->lock.instance == 0)
        lock_instance(&s->lock);
    if (r != NULL && s->lock.instance != 0)
        r->instance(r->ctx, s->lock.instance);
    return s->lock.instance;
}

enum sight
store_sight(const struct store *s, uint64_t instance)
{
    const struct remote *r = s->opt.remote;
    if (instance == 0)
        return SIGHT_UNKNOWN;
    if (instance == s->lock.instance)
        return SIGHT_ALIVE;
    if (lock_has(&s->lock, instance)) {
        if (s->lock.fd < 0)
            return SIGHT_UNKNOWN;
        return lock_is_free(&s->lock, instance) ? SIGHT_GONE : SIGHT_ALIVE;
    }
    if (r != NULL && r->alive(r->ctx, instance))
        return SIGHT_ALIVE;
    return r != NULL && s->lock.fd >= 0 && r->gone(r->ctx, instance)
               ? SIGHT_GONE : SIGHT_UNKNOWN;
}

bool
store_alive(const struct store *s, uint64_t instance)
{
    return store_sight(s, instance) == SIGHT_ALIVE;
}

/* ---- open and close ---- */

int
store_open(struct store **out, const struct store_options *o,
           const struct store_kind *kinds, size_t n_kinds, char why[256])
{
    ASSERT(n_kinds <= STORE_MAX_KINDS);
    struct store *s = malloc(sizeof *s);
    int rc = 0;
    *out = NULL;
    text_put(why, 256, "out of memory");
    if (s == NULL)
        return ERR_NOMEM;
    *s = (struct store){.opt = *o, .n_kinds = n_kinds, .log.fd = -1,
                        .lock.fd = -1, .lock.hosts = o->remote != NULL,
                        .room.free = INT64_MAX};
    if (n_kinds > 0)
        memcpy(s->kinds, kinds, n_kinds * sizeof *kinds);
    s->kinds[n_kinds] = (struct store_kind){
        .prefix = "", .entry_size = sizeof(struct store_entry)};
    if (o->remote != NULL) {
        s->replica = calloc(1, sizeof *s->replica);
        if (s->replica == NULL)
            rc = ERR_NOMEM;
        else
            *s->replica = (struct replica){.remote = o->remote,
                                           .fresh_ms = clock_mono_ms()};
    }
    if (rc == 0)
        rc = index_init(&s->index);
    if (rc == ERR_IO)
        store_deny(s, rc, "no source of random numbers");
    if (rc == 0)
        rc = find_path(s);
    if (rc == 0)
        rc = store_follow(s);
    /* A damaged log is readable as far as it is whole. A replica whose first
       line is damaged will be set aside. */
    if (rc == ERR_DAMAGED && (s->loaded || s->replica != NULL))
        rc = 0;
    if (rc != 0) {
        if (s->why[0] != '\0')
            text_put(why, 256, "%s", store_state(s)->why);
        store_close(s);
        return rc;
    }
    /* The first process after a boot, or after a writer that knows only the
       wall clock, writes a mark from which later ones continue the log's
       time. */
    if (!s->time.same_boot && store_is_writable(s) &&
        os_boot_id()[0] != '\0' && store_lock(s) == 0) {
        store_put_mark(s, s->log.g, s->log.head, s->log.end, s->ino);
        store_unlock(s);
    }
    why[0] = '\0';
    *out = s;
    return 0;
}

void
store_close(struct store *s)
{
    if (s == NULL)
        return;
    store_compact_stop(s);
    forget_log(s);
    lock_close(&s->lock);
    buf_fini(&s->line);
    buf_fini(&s->batch);
    arena_fini(&s->mem);
    free(s->path);
    free((char *)s->lock.path);
    free(s->dir);
    free(s->replica);
    free(s);
}
