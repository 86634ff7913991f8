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

#include "tests/lib/sample.h"

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
