/* t_store_cut - small logs cut at every byte, and with every bit flipped.

   The expected outcome is computed from the list of lines, by the rules at the
   top of store/log.c, and not by the code under test:

     cut below the mark, or in the header      refused, left as it is
     cut behind it, or without a mark          the whole lines are kept, the
                                               rest is set aside and cut
     before a compacted file's end record      refused, left as it is
     a bit flipped in a line below the mark    refused
     without a mark                            refused, if a later batch
                                               proves the line; else cut

   After each recovery a new write succeeds and is there when the log is opened
   again. Damage leaves every other record readable and unaltered. */

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

static void
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

static void
add(struct sample *s, uint64_t n, uint64_t b, const char *key)
{
    uint64_t p = 0;
    for (size_t i = 0; i < s->n_lines; i++)
        if (strcmp(s->lines[i].key, key) == 0)
            p = s->lines[i].n;
    log_record(&s->bytes, s->g, n, b, p, key);
    note_line(s, n, b, key);
}

static void
make(struct sample *s, const char *name, uint64_t g, bool compacted)
{
    memset(s, 0, sizeof *s);
    s->name = name;
    s->g = g;
    log_header(&s->bytes, g, compacted);
    note_line(s, 0, 0, "log");
}

/* Makes n records in batches of size records, with a few keys. */
static void
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

static void
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
static void
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
static int64_t
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

static bool
is_in(const struct part *p, size_t line)
{
    return line < p->lines && line != p->s->end_line &&
           (line < p->bad || line >= p->bad + p->n_bad);
}

static size_t
next_in(const struct part *p, size_t line)
{
    do
        line++;
    while (line < p->lines && !is_in(p, line));
    return line;
}

static int
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
static bool
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
static bool
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
static bool
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
static bool
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

/* ---- every cut ---- */

static bool cut_is_right(const struct sample *s, size_t len, size_t marked);

static void
cut_everywhere(const struct sample *s)
{
    size_t marks[] = {0, s->n_lines, s->n_lines / 2};
    for (size_t m = 0; m < sizeof marks / sizeof *marks; m++) {
        if (marks[m] != 0 && marks[m] <= s->end_line)
            marks[m] = s->end_line + 2;
        for (size_t len = 0; len <= s->bytes.len; len += TEST_STEP)
            if (!CHECK(cut_is_right(s, len, marks[m])))
                fprintf(stderr, "    %s cut to %zu of %zu bytes, mark behind "
                        "%zu lines\n", s->name, len, s->bytes.len, marks[m]);
    }
}

static bool
cut_is_right(const struct sample *s, size_t len, size_t marked)
{
    size_t lines = 0;
    while (lines < s->n_lines && s->lines[lines].end <= len)
        lines++;
    file_put(log_path, s->bytes.p, len);
    put_mark(s, marked);
    if (len == 0 && marked == 0)
        return true; /* an empty file is an empty store: t_store.c */
    if (len == 0) {
        struct tstore t;
        bool ok = ts_open(&t, log_path) == 0 &&
                  ts_put(&t, "task/1", "\"v\":1") == ERR_DAMAGED;
        ts_close(&t);
        return ok && file_is(log_path, "", 0);
    }
    if (lines == 0 || lines < marked || lines <= s->end_line)
        return is_refused(&(struct part){.s = s, .lines = lines,
                                         .bad = lines ? SIZE_MAX : 0});
    return is_recovered(s, len, lines);
}

/* ---- every bit ---- */

/* Returns whether a line after bad, as in the file, belongs to a batch begun
   after bad was synced. A lost line feed joins the next line to it. */
static bool
is_proven(const struct sample *s, size_t bad, bool joined)
{
    for (size_t i = bad + 1 + joined; i < s->n_lines; i++)
        if (s->lines[i].b > s->lines[bad - 1].n + 1)
            return true;
    return false;
}

static bool
flip_is_right(const struct sample *s, size_t at, size_t marked)
{
    size_t bad = 0;
    while (s->lines[bad].end <= at)
        bad++;
    bool joined = at == s->lines[bad].end - 1;
    if (bad == 0 || bad < marked || bad <= s->end_line ||
        is_proven(s, bad, joined))
        /* damage below the mark: what follows is not checked */
        return is_refused(&(struct part){
            .s = s, .lines = bad < marked ? marked : s->n_lines, .bad = bad,
            .n_bad = joined ? 2 : 1});
    return is_recovered(s, s->bytes.len, bad);
}

/* Flips all bits, or one per byte, a different one each time; without a mark,
   with one at the end, and with an older one. */
static void
flip_everywhere(const struct sample *s, bool all, size_t first, size_t last)
{
    size_t marks[] = {0, s->n_lines, s->n_lines - 4};
    char *p = malloc(s->bytes.len);
    memcpy(p, s->bytes.p, s->bytes.len);
    for (size_t m = first; m <= last; m++)
        for (size_t i = 0; i < 8 * s->bytes.len; i += TEST_STEP) {
            if (!all && i % 8 != (i / 8 + m) % 8)
                continue;
            p[i / 8] = (char)(p[i / 8] ^ 1 << i % 8);
            file_put(log_path, p, s->bytes.len);
            put_mark(s, marks[m]);
            bool ok = flip_is_right(s, i / 8, marks[m]);
            ok &= marks[m] != s->n_lines ||
                  file_is(log_path, p, s->bytes.len);
            if (!CHECK(ok))
                fprintf(stderr, "    %s, bit %zu of byte %zu of %zu, mark "
                        "behind %zu lines\n", s->name, i % 8, i / 8,
                        s->bytes.len, marks[m]);
            p[i / 8] = (char)(p[i / 8] ^ 1 << i % 8);
        }
    free(p);
}

/* One of main's jobs, each in its own directory. */
static void
run_job(int job, bool all)
{
    static struct sample s;
    size_t first = job < 2 ? (size_t)job : 0, last = job < 2 ? first : 2;
    /* Five batches suffice, and keys that are written again. */
    uint64_t records = all ? 40 : job < 3 ? 12 : 20;
    log_dir = test_tmpdir();
    log_path = path_in(log_dir, "tasks.log");
    lock_path = path_in(log_dir, "tasks.log.lock");
    if (job < 3)
        make_plain(&s, "single records", records, 1);
    else if (job == 3)
        make_plain(&s, "batches", records, 4);
    else
        make_compacted(&s);
    if (job > 1)
        cut_everywhere(&s);
    flip_everywhere(&s, all || job < 2, job == 2 ? 2 : first, last);
    buf_fini(&s.bytes);
    free(log_path);
    free(lock_path);
    free(log_dir);
}

/* With "all": every bit of every log, not only the first, and twice the
   records. */
int
main(int argc, char **argv)
{
    enum { JOBS = 5 };
    pid_t pids[JOBS];
    bool all = argc > 1 && strcmp(argv[1], "all") == 0;
    test_in_memory();
    free(test_tmpdir());
    for (int i = 0; i < JOBS; i++) {
        pids[i] = child_begin();
        if (pids[i] == 0) {
            run_job(i, all);
            child_end();
        }
    }
    for (int i = 0; i < JOBS; i++)
        CHECK(child_ok(pids[i]));
    return test_end("t_store_cut");
}
