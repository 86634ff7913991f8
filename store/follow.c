/* follow - reads what others committed, and takes the lock.

   sync_view reads without the lock, as far as the mark says. take_lock does
   that first, so that under the lock only the newest records are left to read,
   and then checks that lock file and log are still those at their paths. What
   has to be true when is told at the top of store.c. */

#include "store/follow.h"
#include "store/load.h"
#include "store/write.h"
#include "store/remote.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"

#include <errno.h>
#include <string.h>
#include <poll.h>
#include <stdio.h> /* rename */
#include <stdlib.h>
#include <unistd.h>

#define LOCK_CHECK_MS 50 /* between checks of the lock file */
#define TRIES 8 /* at a lock, while its files are replaced */
#define BUSY_GAP_MS (60 * 1000) /* see note_busy */

int
store_find_path(struct store *s)
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

/* ---- following ---- */

/* Returns whether the log has changed, judged without a mark. */
static bool
unmarked_changed(const struct store *s)
{
    struct stat st;
    if (!s->loaded)
        return true;
    if (stat(s->path, &st) != 0)
        return false;
    return s->log.fd < 0 || st.st_size != s->unmarked_len ||
           !store_is_log(s, &st);
}

/* Returns whether the open log is at least as long as the mark says. It is not
   if another file was copied over it. */
static bool
reaches(const struct store *s, int64_t end)
{
    struct stat st;
    return s->log.fd >= 0 && fstat(s->log.fd, &st) == 0 && st.st_size >= end;
}

/* If the lock file was replaced, the old one's mark no longer moves. Checked
   every LOCK_CHECK_MS, since a stat for each read is expensive. */
static void
check_lock_file(struct store *s)
{
    int64_t now = clock_mono_ms();
    if (s->lock.fd < 0 || now - s->lock_checked_ms < LOCK_CHECK_MS)
        return;
    s->lock_checked_ms = now;
    if (!lock_is_at_path(&s->lock)) {
        store_compact_lost(s);
        lock_close(&s->lock);
    }
}

/* Returns whether memory can continue from its position to the mark m. */
static bool
leads_on(const struct store *s, const struct mark *m)
{
    return m->g == s->log.g && m->end >= s->log.end &&
           mark_is_of(m, s->id, (uint64_t)s->ino);
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

/* Follows what others committed, as far as possible without the lock. 0,
   VIEW_SAME, VIEW_TAIL, or an error. */
static int
sync_view(struct store *s)
{
    struct mark m;
    check_lock_file(s);
    int rc = lock_open(&s->lock, false);
    if (rc == ERR_IO)
        return deny_lock(s);
    bool may_lock = !store_only_reads(s) && rc != ERR_READONLY;
    rc = s->lock.fd < 0 ? ERR_SYNTAX : mark_read(&s->lock, &m);
    if (rc == MARK_SAME && s->loaded)
        return VIEW_SAME;
    if (rc == 0 && s->loaded && leads_on(s, &m) && reaches(s, m.end)) {
        store_take_mark(s, &m);
        return store_load_to(s, &m);
    }
    if (rc == ERR_SYNTAX && !unmarked_changed(s))
        return 0;
    rc = store_load(s, may_lock);
    if (rc == 0 && (s->err == ERR_IO || s->err == ERR_FORMAT))
        store_allow(s); /* it is readable again */
    return rc;
}

/* Takes the lock to recover the tail. If another process holds the lock, that
   one recovers it; it is waited for if memory is still empty. If recovery is
   impossible, reads continue as far as the log is whole. */
static int
recover(struct store *s)
{
    int64_t until = clock_mono_ms() + STORE_LOCK_WAIT_MS;
    int rc = store_take_lock(s, false);
    while (rc == ERR_BUSY && !s->loaded && clock_mono_ms() < until)
        rc = store_take_lock(s, true);
    if (rc == 0)
        store_unlock(s);
    if (rc == ERR_BUSY && !s->loaded)
        store_deny(s, rc, "%s: another process holds the lock; try again",
                   s->lock.path);
    if (rc == ERR_READONLY || (rc != 0 && rc != ERR_NOMEM && !s->loaded)) {
        rc = store_load(s, false);
    }
    return rc != ERR_NOMEM && s->loaded ? 0 : rc;
}

static void
begin_reads(struct store *s)
{
    s->was_read = false;
    if (s->replica != NULL)
        s->replica->fresh = false;
}

int
store_follow(struct store *s)
{
    if (s->lock.held)
        return 0; /* store_lock has followed already */
    begin_reads(s);
    int rc = sync_view(s);
    if (rc == VIEW_TAIL)
        return recover(s);
    return rc == VIEW_SAME ? 0 : rc;
}

/* ---- the lock ---- */

/* Writes the file of a new log, before its rename. */
static int
write_new(struct store *s, const char *tmp)
{
    struct record_header h = {.g = 1, .replica = s->replica != NULL};
    struct buf b = {0};
    int rc = random_hex(h.id, RECORD_ID);
    if (s->replica != NULL && s->log.g > 0) { /* one was set aside */
        h.g = s->log.g + LOG_NEXT_G;
        if (s->id[0] != '\0')
            text_put(h.id, sizeof h.id, "%s", s->id);
    }
    if (rc != 0)
        return rc;
    unlink(tmp); /* left by a process that was killed here */
    record_put_header(&b, &h, store_now_ms(s));
    rc = b.err != 0 ? b.err
                    : file_write_new(tmp, s->path, buf_view(&b), false);
    buf_fini(&b);
    return rc;
}

/* Creates the first log: a temporary file with the header, synced, renamed.
   Under the lock, and only if nothing exists at the path. store_recover syncs
   the new name before the first mark. */
static int
create_log(struct store *s)
{
    struct mark none = {0};
    char *tmp = file_join(s->path, ".new");
    int rc = tmp == NULL ? ERR_NOMEM : write_new(s, tmp);
    /* Any mark belongs to a log that was here before. */
    if (rc == 0 && (mark_write(&s->lock, &none) != 0 ||
                    rename(tmp, s->path) != 0))
        rc = file_error();
    if (rc != 0 && rc != ERR_NOMEM)
        store_deny(s, rc, "%s: cannot create it (%s); set MCP_TASK_BASE_DIR to "
                   "another directory", s->path, strerror(errno));
    if (rc != 0 && tmp != NULL)
        unlink(tmp);
    free(tmp);
    return rc;
}

/* Whether the log at the path is of another generation, and so much of it is
   committed that it can be read without the lock. */
static bool
is_next(struct store *s, const struct stat *st)
{
    struct mark m;
    mark_forget(&s->lock);
    bool marked = mark_read(&s->lock, &m) == 0;
    mark_forget(&s->lock);
    return marked && m.g != s->log.g &&
           mark_is_of(&m, s->id, (uint64_t)st->st_ino);
}

/* Under the lock: checks that the paths still lead to the open lock file and
   log; creates or reads the log if not. may_unlock: a log of the next
   generation may be left to be read without the lock. */
static int
check_files(struct store *s, struct stat *st, bool may_unlock)
{
    if (!lock_is_at_path(&s->lock))
        return VIEW_AGAIN;
    bool there = stat(s->path, st) == 0, known = s->loaded && s->log.fd >= 0;
    if (there && known && store_is_log(s, st))
        return 0;
    if (there && known && may_unlock && is_next(s, st))
        return VIEW_NEXT;
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

/* Checks that neither lock file nor log was replaced, and locks the log.
   Returns as own_log. */
static int
own_known_log(struct store *s, struct stat *st)
{
    int rc = s->loaded && s->log.fd >= 0 ? own_log(s, st) : VIEW_AGAIN;
    return rc == 0 && st->st_size == 0 ? VIEW_AGAIN : rc;
}

/* Whether the log is about to become a replica. */
static bool
is_pushed(const struct store *s)
{
    return s->replica != NULL && s->replica->push == REMOTE_PUSH;
}

/* Under the lock: reads what others committed, and recovers the tail. view:
   what sync_view returned just before. may_unlock: VIEW_NEXT may be returned;
   otherwise the next log is read under the lock. */
static int
catch_up(struct store *s, int view, bool may_unlock)
{
    struct stat st;
    struct mark m;
    int rc = own_known_log(s, &st);
    bool known = rc == 0;
    if (rc == VIEW_AGAIN)
        rc = check_files(s, &st, may_unlock && view >= 0);
    if (rc != 0)
        return rc;
    if (s->log.damaged)
        return ERR_DAMAGED;
    if (s->log.foreign && !is_pushed(s))
        return store_deny_standing(s);
    if (s->log.readonly && !store_reopen(s)) /* permission may have been granted
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
    rc = view == VIEW_SAME && known && st.st_size == s->log.end
             ? MARK_SAME : mark_read(&s->lock, &m);
    if (rc == 0 && leads_on(s, &m)) {
        store_take_mark(s, &m);
        rc = store_load_to(s, &m);
    } else if (rc == 0) {
        rc = ERR_SYNTAX; /* a mark of another log, or of an older one */
    }
    if (rc == ERR_SYNTAX ||
        ((rc == 0 || rc == MARK_SAME) && st.st_size != s->log.end))
        rc = store_recover(s, st.st_size);
    return rc == MARK_SAME ? 0 : rc;
}

int
store_make_dir(struct store *s)
{
    int rc = store_only_reads(s) ? ERR_READONLY : file_make_dirs(s->dir);

    return rc == 0 && s->log.fd < 0 ? store_find_path(s) : rc;
}

/* Opens the lock file; creates it and its directory if missing. */
static int
open_lock(struct store *s)
{
    /* Without a log, links may have been made since. */
    int rc = s->log.fd < 0 ? store_find_path(s) : 0;
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

/* Records since when another process has had the lock. An attempt of long ago
   says nothing about the time since. */
static void
note_busy(struct store *s, bool busy)
{
    int64_t now = clock_mono_ms();
    if (!busy)
        s->busy_ms = 0;
    else if (s->busy_ms == 0 || now - s->tried_ms > BUSY_GAP_MS)
        s->busy_ms = now;
    s->tried_ms = now;
}

/* A damaged replica starts over: others have its records. */
static int
set_aside(struct store *s)
{
    char aside[FILE_PATH_MAX + 32];
    text_put(aside, sizeof aside, "%s.broken-%lld", s->path,
             (long long)clock_wall_ms());
    if (rename(s->path, aside) != 0 && errno != ENOENT)
        return store_deny_errno(s, s->path, "cannot be set aside: ");
    store_forget(s);
    return VIEW_AGAIN;
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
        rc = open_lock(s);
        if (rc != 0)
            return rc;
        /* Errors show again under the lock. */
        int view = sync_view(s);
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
            rc = set_aside(s);
        note_busy(s, rc == ERR_BUSY);
        if (rc >= VIEW_AGAIN)
            store_unlock(s);
        if (rc == VIEW_AGAIN) { /* its lock excludes nobody */
            store_compact_lost(s);
            lock_close(&s->lock);
        }
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
    if (s->lock.held) { /* unlocking failed; closing always unlocks */
        store_compact_lost(s);
        lock_close(&s->lock);
    }
}
