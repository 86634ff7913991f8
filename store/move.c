/* move - from one generation to the next without reading it all anew.

   A compacted log holds the newest records that memory is of, with their
   numbers, at other offsets. So going over to it leaves memory as it is: the
   rest of the old file is read, the first record behind it is looked for in
   the new one, and from there the new one is followed. That takes
   milliseconds, whatever the log holds. What is left is to learn the offsets:
   until then an entry leads to the old file, which stays open. They are
   learned in slices between turns, by a pass over what stands before the
   place where following began.

   Invariants:
   1. An entry's file says in which of the two files its record stands.
   2. The pass checks what reading the log would have checked. Where it finds
      anything but what memory holds, the log is read anew, and what is wrong
      with it is found there. */

#include "store/move.h"
#include "store/state.h"
#include "store/read.h"

#include <string.h>
#include <unistd.h>

#define SLICE (1024 * 1024)   /* bytes read by one call */
#define NEAR (32 * 1024)      /* bytes read at a time to find one record */

/* Where the record behind head starts; end where head is the last; -1: not
   found. The pass finds what is damaged before it. */
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
    /* More than one generation on, what was thinned out lies ahead. */
    if (!s->loaded || s->log.damaged || s->log.compacted || s->moving ||
        f->h.g != s->log.g + 1 || fstat(s->log.fd, &old) != 0 ||
        old.st_size != s->log.end)
        return false;
    int64_t start = first_behind(f->fd, end, s->log.head);
    if (start < f->h.end)
        return false;
    *m = (struct move){.fd = s->log.fd, .left = s->index.n,
                       .head = s->log.head,
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
    lost_reset(&s->move.log.lost);
}

/* A record of the pass; false: it is not what memory is of. */
static bool
take(struct store *s, const struct judged *j)
{
    struct move *m = &s->move;
    struct store_entry *e = index_find(&s->index, j->r.key);
    if (e == NULL)
        return false;
    bool newest = e->n == j->r.n;
    if (newest) {
        e->file = s->file;
        e->off = j->off;
        e->len = (uint32_t)j->r.line.len;
        m->left--;
    }
    if (!newest || store_kind(s, e->kind)->transient)
        m->superseded += (int64_t)j->r.line.len + 1;
    return true;
}

/* An entry whose record the new file does not hold. */
static bool
leave_out(void *ctx, struct store_entry *e)
{
    struct store *s = ctx;
    const struct store_kind *k = store_kind(s, e->kind);
    if (e->file == s->file)
        return false;
    /* Only such records may be left out; any other is missing. */
    if (!k->transient)
        s->loaded = false;
    else if (k->leave != NULL)
        k->leave(k->ctx, e);
    return true;
}

/* Removes what is left, in slices: whether there is more. */
static bool
sweep(struct store *s)
{
    struct move *m = &s->move;
    if (m->left > 0 && index_drop(&s->index, &m->swept, leave_out, s))
        return true;
    s->superseded += m->superseded;
    s->superseded_base = m->base;
    s->n_left_out += m->left;
    store_move_stop(s);
    return false;
}

/* The next slice of the pass: 1: there are more; 0: all is as it has to be;
   else an error. */
static int
pass(struct store *s)
{
    struct move *m = &s->move;
    int64_t until = m->rd.off + SLICE;
    struct judged j;
    int rc = 1;
    while (m->rd.off < until && (rc = log_next(&m->log, &m->rd, &s->index,
                                               INT64_MAX, &j)) == 1) {
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
    /* The memory of those left out comes back when the log is read anew. */
    if (rc == 0 && s->n_left_out > s->index.n / 4 + 1000)
        s->loaded = false;
    return rc != 0 ? rc : s->loaded ? 0 : ERR_DAMAGED;
}
