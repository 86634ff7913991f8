/* move - changes to the next generation without reading it all again.

   A compacted log holds the same newest records as memory, with the same
   numbers, at other offsets. So memory stays: the rest of the old file is read,
   the first later record is found in the new one, and the new one is followed
   from there. That takes milliseconds, whatever the size of the log. Entries
   still refer to the old file, which stays open. A pass over the part of the
   new file before that record then learns the new offsets, in slices between
   turns.

   Invariants:
   1. An entry's file says which of the two files has its record.
   2. The pass makes the same checks as reading the log. If it finds anything
      that differs from memory, the log is read again, and that reports what is
      wrong. */

#include "store/move.h"
#include "store/state.h"
#include "store/read.h"

#include <string.h>
#include <unistd.h>

#define SLICE (1024 * 1024)   /* bytes read per call */
#define NEAR (32 * 1024)      /* bytes read at a time to find one record */

/* Offset of the record after head; end if head is the last; -1: not found. The
   pass finds damage before it. */
static int64_t
first_behind(int fd, int64_t end, uint64_t head)
{
    struct record_reader rd = {.fd = fd, .end = end, .chunk = NEAR,
                               .off = store_search(fd, end, head + 1)};
    struct store_rec r;
    int64_t off;
    int rc;
    while ((rc = record_next_whole(&rd, &r, &off)) == 1 && r.n <= head)
        continue;
    record_reader_fini(&rd);
    return rc == 0 ? end : rc == 1 && r.n == head + 1 ? off : -1;
}

bool
store_move_begin(struct store *s, const struct log_file *f, int64_t end)
{
    struct move *m = &s->move;
    struct stat old;
    /* More than one generation on, the thinned-out part has unread records. */
    if (!s->loaded || s->log.damaged || s->log.compacted || s->moving ||
        f->h.g != s->log.g + 1 || fstat(s->log.fd, &old) != 0 ||
        old.st_size != s->log.end)
        return false;
    int64_t start = first_behind(f->fd, end, s->log.head);
    if (start < f->h.end)
        return false;
    *m = (struct move){.fd = s->log.fd, .left = s->index.n,
                       .head = s->log.head, .held = -s->held,
                       .rd = {.fd = f->fd, .off = f->h.end, .end = start}};
    log_begin(&m->log, f->fd, &f->h);
    s->moving = true;
    s->file = !s->file;
    s->log.fd = f->fd;
    s->log.g = f->h.g;
    s->log.end = start;
    s->superseded = s->superseded_base = 0;
    return true;
}

void
store_move_stop(struct store *s)
{
    if (s->moving)
        close(s->move.fd);
    s->moving = false;
    record_reader_fini(&s->move.rd);
}

/* Takes a record of the pass. False: memory does not have its key. */
static bool
take(struct store *s, const struct judged *j)
{
    struct move *m = &s->move;
    struct store_entry *e = index_find(&s->index, j->r.key);
    if (e == NULL)
        return false;
    bool newest = e->n == j->r.n;
    int64_t len = (int64_t)j->r.line.len;
    if (newest) {
        s->live += len - e->len;
        e->file = s->file;
        e->off = j->off;
        e->len = (uint32_t)len;
        m->left--;
    } else {
        m->held += len + 1;
    }
    if (!newest || s->kinds[e->kind].transient)
        m->superseded += len + 1;
    return true;
}

/* Drops an entry whose record the new file does not have. */
static bool
leave_out(void *ctx, struct store_entry *e)
{
    struct store *s = ctx;
    const struct store_kind *k = &s->kinds[e->kind];
    if (e->file == s->file)
        return false;
    s->live -= (int64_t)e->len + 1;
    /* Only transient records may be left out; any other is missing. */
    if (!k->transient)
        s->loaded = false;
    else if (k->leave != NULL)
        k->leave(k->ctx, e);
    return true;
}

/* Removes the remaining entries, in slices. Returns whether more remain. */
static bool
sweep(struct store *s)
{
    struct move *m = &s->move;
    if (m->left > 0 && index_drop(&s->index, &m->swept, leave_out, s))
        return true;
    s->superseded += m->superseded;
    s->held += m->held;
    s->superseded_base = m->base;
    s->n_left_out += m->left;
    store_move_stop(s);
    return false;
}

/* Does the next slice of the pass. 1: more remain; 0: done; else an error. */
static int
pass(struct store *s)
{
    struct move *m = &s->move;
    int64_t until = m->rd.off + SLICE;
    struct judged j;
    int rc = 1;
    while (m->rd.off < until && (rc = log_next(&m->log, &m->rd, INT64_MAX,
                                               &j)) == 1) {
        if (j.wrong != NULL || (j.as == LOG_RECORD && !take(s, &j)))
            return ERR_DAMAGED;
        if (j.as == LOG_END)
            m->base = m->superseded;
    }
    return rc == 0 && (m->log.compacted || m->log.head != m->head)
               ? ERR_DAMAGED : rc;
}

int
store_move_slice(struct store *s)
{
    int rc = pass(s);
    if (rc == 1 || (rc == 0 && sweep(s)))
        return ERR_MORE;
    /* Reading the log again frees the memory of entries left out. */
    if (rc == 0 && s->n_left_out > s->index.n / 4 + 1000)
        s->loaded = false;
    return rc != 0 ? rc : s->loaded ? 0 : ERR_DAMAGED;
}
