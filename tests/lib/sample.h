#ifndef TEST_SAMPLE_H
#define TEST_SAMPLE_H

/* Small logs as lists of lines, and the expected outcome of damage: is_refused
   and is_recovered check it. */

#include "store/lock.h"
#include "tests/lib/store_test.h"

#include <dirent.h>

#define MAX_LINES 64

struct line {
    size_t off, end; /* line feed included */
    uint64_t n, b;
    char key[16];
};

/* A log, as its bytes and as the list of its lines; line 0 is the header. */
struct sample {
    const char *name;
    struct buf bytes;
    struct line lines[MAX_LINES];
    size_t n_lines;
    size_t end_line; /* the end record; 0: none */
    uint64_t g;
};

static char *log_path, *lock_path, *log_dir;

/* ---- samples ---- */

static inline void
note_line(struct sample *s, uint64_t n, uint64_t b, const char *key)
{
    struct line *l = &s->lines[s->n_lines];
    l->off = s->n_lines ? l[-1].end : 0;
    l->end = s->bytes.len;
    l->n = n;
    l->b = b;
    snprintf(l->key, sizeof l->key, "%s", key);
    s->n_lines++;
}

static inline void
add(struct sample *s, uint64_t n, uint64_t b, const char *key)
{
    uint64_t p = 0;
    for (size_t i = 0; i < s->n_lines; i++)
        if (strcmp(s->lines[i].key, key) == 0)
            p = s->lines[i].n;
    log_record(&s->bytes, s->g, n, b, p, key);
    note_line(s, n, b, key);
}

static inline void
make(struct sample *s, const char *name, uint64_t g, bool compacted)
{
    memset(s, 0, sizeof *s);
    s->name = name;
    s->g = g;
    log_header(&s->bytes, g, compacted);
    note_line(s, 0, 0, "log");
}

/* Makes n records in batches of size records, with a few keys. */
static inline void
make_plain(struct sample *s, const char *name, uint64_t records, uint64_t size)
{
    char key[16];
    make(s, name, 1, false);
    for (uint64_t n = 1; n <= records; n++) {
        snprintf(key, sizeof key, "%s/%d",
                 n % 5 ? "task" : "odd", (int)(n % 7));
        add(s, n, n - (n - 1) % size, key);
    }
}

static inline void
make_compacted(struct sample *s)
{
    char key[16];
    make(s, "compacted", 3, true);
    for (uint64_t n = 3; n <= 36; n += 3) {
        snprintf(key, sizeof key, "task/%d", (int)n);
        add(s, n, n - n % 2, key);
    }
    record_put_end(&s->bytes, 3, 38, s->n_lines - 1, TEST_TIME_MS);
    note_line(s, 38, 38, "end");
    s->end_line = s->n_lines - 1;
    for (uint64_t n = 39; n <= 50; n++)
        add(s, n, n - (n - 39) % 3, n % 2 ? "task/3" : "task/new");
}

/* ---- the file ---- */

/* Writes the mark after the first lines; 0: no mark. */
static inline void
put_mark(const struct sample *s, size_t lines)
{
    struct mark m;
    struct lock l = {.path = lock_path, .fd = -1};
    unlink(lock_path);
    if (lines == 0)
        return;
    m = (struct mark){.g = s->g, .n = s->lines[lines - 1].n,
                      .end = (int64_t)s->lines[lines - 1].end};
    if (lock_open(&l, true) != 0 || mark_write(&l, &m) != 0)
        abort();
    lock_close(&l);
}

/* Finds and removes files of torn bytes. Returns their length; -1: no file. */
static inline int64_t
take_torn(void)
{
    DIR *d = opendir(log_dir);
    struct dirent *e;
    struct stat st;
    int64_t len = -1;
    while ((e = readdir(d)) != NULL)
        if (strncmp(e->d_name, "tasks.log.torn-", 15) == 0) {
            char *p = path_in(log_dir, e->d_name);
            if (stat(p, &st) == 0)
                len = st.st_size;
            unlink(p);
            free(p);
        }
    closedir(d);
    return len;
}

/* ---- the outcome ---- */

/* Some lines of a sample: the first ones, except bad ones. */
struct part {
    const struct sample *s;
    size_t lines;
    size_t bad, n_bad;
    size_t next; /* the line a scan must find next */
    bool ok;
};

static inline bool
is_in(const struct part *p, size_t line)
{
    return line < p->lines && line != p->s->end_line &&
           (line < p->bad || line >= p->bad + p->n_bad);
}

static inline size_t
next_in(const struct part *p, size_t line)
{
    do
        line++;
    while (line < p->lines && !is_in(p, line));
    return line;
}

static inline int
compare_line(void *ctx, const struct store_rec *r)
{
    struct part *p = ctx;
    const struct line *l = &p->s->lines[p->next];
    p->ok &= p->next < p->lines && r->line.len == l->end - l->off - 1 &&
             memcmp(r->line.p, p->s->bytes.p + l->off, r->line.len) == 0;
    p->next = next_in(p, p->next);
    return 0;
}

/* Returns whether exactly that part of the sample can be read. */
static inline bool
holds(struct tstore *t, struct part p)
{
    struct store_state st;
    uint64_t keys = 0;
    p.ok = true;
    if (p.lines == 0)
        p.lines = 1; /* the header is not a record anyway */
    p.next = next_in(&p, 0);
    if (store_scan(t->s, 1, compare_line, &p) != 0 || p.next != p.lines)
        return false;
    for (size_t i = 1; i < p.lines; i++) {
        const struct line *l = &p.s->lines[i];
        bool newest = is_in(&p, i);
        for (size_t k = next_in(&p, i); k < p.lines; k = next_in(&p, k))
            newest &= strcmp(p.s->lines[k].key, l->key) != 0;
        if (!newest)
            continue;
        struct store_entry *e = store_find(t->s, str_of(l->key));
        p.ok &= e != NULL && e->n == l->n && e->off == (int64_t)l->off;
        keys++;
    }
    st = *store_state(t->s);
    return p.ok && st.keys == keys;
}

/* Returns whether readers are warned that as many records are lost as there are
   damaged ones, and are not warned if there are none. */
static inline bool
is_told(struct tstore *t, const struct part *p)
{
    unsigned long long lost = 0;
    const char *what = store_damage(t->s);
    for (size_t i = p->bad; i < p->lines && i < p->bad + p->n_bad; i++)
        lost += i > 0 && i != p->s->end_line;
    /* Without its end record, a compacted file does not tell how many records
       it had. */
    if (p->bad <= p->s->end_line && p->s->end_line < p->bad + p->n_bad)
        return lost == 0 || what != NULL;
    return lost == 0 ? what == NULL
                     : what != NULL && strtoull(what, NULL, 10) == lost;
}

/* Checks that the log is refused and left unchanged. */
static inline bool
is_refused(const struct part *p)
{
    struct tstore t;
    struct store_state st;
    size_t len;
    char *before = file_get(log_path, &len);
    int rc = ts_open(&t, log_path);
    bool ok = rc == ERR_FORMAT && p->lines == 0; /* no header, no record */
    if (p->bad == 0)
        ok |= rc == ERR_DAMAGED; /* a bad header */
    else if (rc == 0) {
        ok = ts_put(&t, "task/after", "\"v\":1") == ERR_DAMAGED;
        st = *store_state(t.s);
        ok &= st.err == ERR_DAMAGED && holds(&t, *p);
        ok &= p->n_bad == 0 || is_told(&t, p);
        ts_close(&t);
    }
    ok &= file_is(log_path, before, len) && take_torn() == -1;
    free(before);
    return ok;
}

/* Checks that the log opens with its first lines, saves the rest in a file, and
   can be written to. */
static inline bool
is_recovered(const struct sample *s, size_t len, size_t lines)
{
    struct tstore t;
    size_t whole = s->lines[lines - 1].end;
    if (ts_open(&t, log_path) != 0)
        return false;
    bool ok = holds(&t, (struct part){.s = s, .lines = lines});
    ok &= take_torn() == (len > whole ? (int64_t)(len - whole) : -1);
    ok &= ts_put(&t, "task/after", "\"v\":1") == 0;
    ok &= strcmp(ts_get(&t, "task/after"), "\"v\":1") == 0;
    ok &= store_find(t.s, STR("task/after"))->n == s->lines[lines - 1].n + 1;
    ts_close(&t);
    ok &= ts_open(&t, log_path) == 0;
    if (t.s == NULL)
        return false;
    ok &= strcmp(ts_get(&t, "task/after"), "\"v\":1") == 0;
    ok &= take_torn() == -1 && ts_is_replay(&t);
    ts_close(&t);
    char *p = file_get(log_path, &len);
    ok &= len > whole && memcmp(p, s->bytes.p, whole) == 0;
    free(p);
    return ok;
}

#endif
