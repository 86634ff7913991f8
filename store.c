/* store - the log: open, lock, commit, push, compact.

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
   If a step fails and the process lives, store/write.c cuts the log back to E
   and memory is undone; if it cannot cut, what is beyond E is again what a dead
   process left.

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
      (store_recover).
   3. Memory equals the log read up to s->log.end, plus what is staged. It may
      also have some of what the last compaction has dropped by its age.
   4. Without the lock, the log and its mark do not change. A compaction writes
      its own file, and closed generations may be deleted (store_prune). */

#include "store.h"
#include "store/compact.h"
#include "store/follow.h"
#include "store/load.h"
#include "store/stage.h"
#include "store/remote.h"
#include "base/clock.h"
#include "base/os.h"
#include "base/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ASIDE_MAX (FILE_PATH_MAX + 64)

/* ---- open and close ---- */

/* The first process after a boot, or after a writer that knows only the wall
   clock, writes a mark from which later processes continue the log's time. */
static void
note_boot(struct store *s)
{
    if (s->time.same_boot || !store_is_writable(s) ||
        os_boot_id()[0] == '\0' || store_lock(s) != 0)
        return;
    store_put_mark(s, s->log.g, s->log.head, s->log.end, s->ino);
    store_unlock(s);
}

static int
begin_replica(struct store *s)
{
    struct replica *r = s->replica = calloc(1, sizeof *r);
    if (r == NULL)
        return ERR_NOMEM;
    r->remote = s->opt.remote;
    r->fresh_ms = clock_mono_ms();
    return 0;
}

int
store_open(struct store **out, const struct store_options *o,
           const struct store_kind *kinds, size_t n_kinds, char why[256])
{
    ASSERT(n_kinds <= STORE_MAX_KINDS);
    struct store *s = malloc(sizeof *s);
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
    int rc = o->remote == NULL ? 0 : begin_replica(s);
    if (rc == 0)
        rc = index_init(&s->index);
    if (rc == ERR_IO)
        store_deny(s, rc, "no source of random numbers");
    if (rc == 0)
        rc = store_find_path(s);
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
    note_boot(s);
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
    store_forget(s);
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

/* ---- the lock ---- */

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

bool
store_alive(const struct store *s, uint64_t instance)
{
    const struct remote *r = s->opt.remote;
    if (instance == s->lock.instance)
        return instance != 0;
    if (lock_has(&s->lock, instance))
        return s->lock.fd >= 0 && !lock_is_free(&s->lock, instance);
    return r != NULL && r->alive(r->ctx, instance);
}

enum sight
store_sight(const struct store *s, uint64_t instance)
{
    const struct remote *r = s->opt.remote;
    bool here = lock_has(&s->lock, instance);

    if (instance == 0 || s->lock.fd < 0 || (!here && r == NULL))
        return SIGHT_UNKNOWN;
    if (instance == s->lock.instance)
        return SIGHT_ALIVE;
    if (here)
        return lock_is_free(&s->lock, instance) ? SIGHT_GONE : SIGHT_ALIVE;
    if (r->alive(r->ctx, instance))
        return SIGHT_ALIVE;
    return r->gone(r->ctx, instance) ? SIGHT_GONE : SIGHT_UNKNOWN;
}

/* ---- commit ---- */

static int
commit_alone(struct store *s, bool *unknown)
{
    if (s->n_staged == 0)
        return 0;
    if (store_lacks_room(s)) {
        store_unstage(s, 0);
        return ERR_FULL;
    }
    int rc = store_commit_here(s, unknown);
    if (rc == ERR_FULL)
        s->refuse.ordinary = rc;
    return rc;
}

int
store_commit(struct store *s, bool *unknown)
{
    *unknown = false;
    return s->replica != NULL ? store_commit_shared(s, unknown)
                              : commit_alone(s, unknown);
}

/* Checks what is to be pushed; under the lock. */
static int
check_push(struct store *s)
{
    char aside[ASIDE_MAX];
    if (s->replica->push == REMOTE_CONTINUE)
        return 0; /* else the lock was refused */
    if (!s->log.foreign)
        return store_deny(s, ERR_EXISTS, "%s: already shared in etcd; if etcd "
                          "has lost its records, run \"mcptask push "
                          "--continue\"", s->path);
    text_put(aside, sizeof aside, "%s.before-etcd", s->path);
    if (access(aside, F_OK) == 0)
        return store_deny(s, ERR_EXISTS, "%s: already exists; rename it",
                          aside);
    return 0;
}

int
store_push(struct store *s, bool again)
{
    int rc = 0;
    if (!s->lock.held) {
        s->replica->push = again ? REMOTE_CONTINUE : REMOTE_PUSH;
        rc = store_lock_patiently(s);
        if (rc == 0)
            rc = check_push(s);
    }
    if (rc == 0)
        rc = store_confirm(s);
    if (rc == ERR_PENDING)
        return rc;
    s->replica->push = REMOTE_FOLLOW;
    store_unlock(s);
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
