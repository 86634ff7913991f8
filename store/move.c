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
#include "store/apply.h"
#include "store/read.h"

#include <string.h>
#include <unistd.h>

#define SLICE (1024 * 1024)   /* bytes read by one call */
#define NEAR (32 * 1024)      /* bytes read at a time to find one record */

/* Where the record behind head starts, end: there is none; -1: not found. */
static int64_t
first_behind(int fd, int64_t end, uint64_t head)
{
    struct record_reader rd = {.fd = fd, .end = end, .chunk = NEAR,
                               .off = store_search(fd, end, head + 1)};
    struct store_rec r = {.n = 0};
    struct str line;
    int64_t off;
    int rc;
    while ((rc = record_next(&rd, &line, &off)) > 0 && r.n <= head)
        if (record_parse(line, &r) != 0)
            r.n = 0; /* the header; what is damaged is found by the pass */
        else if (r.n > head)
            end = r.n == head + 1 ? off : -1;
    record_reader_fini(&rd);
    return rc < 0 ? -1 : end;
}

bool
store_move_begin(struct store *s, int fd, const struct stat *st,
                 const struct record_header *h, int64_t end)
{
    struct stat old;
    /* More than one generation on, what was thinned out lies ahead. */
    if (!s->loaded || s->damaged || s->in_compacted || s->moving ||
        h->g != s->g + 1 || fstat(s->fd, &old) != 0 || old.st_size != s->end)
        return false;
    int64_t start = first_behind(fd, end, s->head);
    if (start < h->end)
        return false;
    s->moving = true;
    s->move = (struct move){.fd = s->fd, .left = s->index.n,
                            .head = s->head,
                            .rd = {.fd = fd, .off = h->end, .end = start}};
    s->file = !s->file;
    s->fd = fd;
    s->dev = st->st_dev;
    s->ino = st->st_ino;
    s->g = h->g;
    s->end = start;
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

/* Whether r is what has to follow, by its number. */
static bool
in_order(struct move *m, const struct store_rec *r)
{
    if (str_is(r->key, RECORD_KEY_END)) {
        bool first = !m->ended;
        m->ended = true;
        m->base = m->superseded;
        return first && r->n >= m->n && record_end_count(r) == m->count;
    }
    m->count++;
    return m->ended ? r->n == m->n + 1 : r->n > m->n;
}

/* One line of the pass; false: it is not what memory is of. */
static bool
take(struct store *s, struct str line, int64_t off)
{
    struct move *m = &s->move;
    struct store_rec r;
    if (record_parse(line, &r) != 0 || r.g != s->g || !in_order(m, &r))
        return false;
    m->n = r.n;
    struct store_entry *e = index_find(&s->index, r.key);
    if (e == NULL)
        return str_is(r.key, RECORD_KEY_END);
    bool newest = e->n == r.n;
    if (newest) {
        e->file = s->file;
        e->off = off;
        e->len = (uint32_t)line.len;
        m->left--;
    }
    if (!newest || store_kind(s, e->kind)->transient)
        m->superseded += (int64_t)line.len + 1;
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
    int64_t until = m->rd.off + SLICE, off;
    struct str line;
    int rc = 1;
    while (m->rd.off < until && (rc = record_next(&m->rd, &line, &off)) == 1)
        if (!take(s, line, off))
            rc = ERR_DAMAGED;
    return rc == 0 && (!m->ended || m->n != m->head) ? ERR_DAMAGED : rc;
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
