/* fuzz_log - any bytes as a log: as they are; or behind a header, of a log that
   was compacted or not, with the checksums of their lines corrected, to reach
   what lies behind those checks.

   What must hold:
   1. No log crashes a process that opens, reads, verifies or repairs it.
   2. A log that is refused stays the same, byte for byte.
   3. A log that verify calls whole can be written to; one that store_open
      calls damaged, or refuses because its header is, is damaged for verify,
      too.
   4. An acknowledged record is there when the log is opened again, and memory
      is the same.
   5. A repaired log can be opened and written to. */

#include "tests/fuzz/fuzz.h"
#include "tests/lib/store_test.h"

static char *log_path, *lock_path, *out_path;

static int
read_one(void *ctx, const struct store_rec *r)
{
    struct tstore *t = ctx;
    struct arena a = {0};
    struct store_rec again;
    struct store_entry *e = store_find(t->s, r->key);
    if (e != NULL)
        HOLDS(store_read(t->s, e, &a, &again) != ERR_NOMEM);
    HOLDS(store_read_n(t->s, r->n, &a, &again) != ERR_NOMEM);
    arena_fini(&a);
    return 0;
}

/* Whether the whole log at path accepts a record and keeps it. */
static bool
can_write(const char *path)
{
    struct tstore t;
    if (ts_open(&t, path) != 0)
        return false;
    int rc = ts_put(&t, "task/fuzz", "\"v\":1");
    bool ok = rc == 0 && ts_is_replay(&t);
    ok |= rc == ERR_FULL; /* no number is left */
    ts_close(&t);
    return ok;
}

/* Checks a log that could be opened, and closes it. */
static void
check_open(struct tstore *t, int judged, const struct store_report *rep,
           const char *p, size_t n)
{
    struct store_state st;

    HOLDS(store_scan(t->s, 0, read_one, t) == 0);
    st = *store_state(t->s);
    if (st.err == ERR_DAMAGED) {
        HOLDS(rep->damaged && ts_put(t, "task/x", "\"v\":1") == ERR_DAMAGED);
        HOLDS(file_is(log_path, p, n));
    }
    ts_close(t);
    if (st.err == 0)
        HOLDS(can_write(log_path));
    else
        HOLDS(judged == 0 && rep->damaged);
}

static void
check_log(const char *p, size_t n)
{
    struct store_report rep;
    struct tstore t;
    file_put(log_path, p, n);
    unlink(lock_path);
    int judged = store_verify(log_path, &rep, NULL);
    int rc = ts_open(&t, log_path);
    HOLDS((judged == ERR_FORMAT) == (rc == ERR_FORMAT));
    HOLDS((judged == 0 && rep.headless) == (rc == ERR_DAMAGED));
    if (rc != 0) {
        HOLDS(file_is(log_path, p, n));
        HOLDS(rc == ERR_FORMAT || (rc == ERR_DAMAGED && rep.damaged));
    } else {
        check_open(&t, judged, &rep, p, n);
    }
    if (judged != 0)
        return;
    file_put(log_path, p, n);
    unlink(lock_path);
    rc = store_repair(log_path, out_path, &rep);
    HOLDS(rc == 0 || rc == ERR_FULL);
    if (rc == 0)
        HOLDS(can_write(out_path));
    unlink(out_path);
    unlink(path_with(out_path, ".lock"));
}

static void
remove_torn(void)
{
    char command[600];
    snprintf(command, sizeof command, "rm -f '%s'.torn-*", log_path);
    if (system(command) != 0)
        abort();
}

static void
remove_all(void)
{
    test_end("fuzz_log");
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    unsigned part = fuzz_choice(data, n, 3);
    static unsigned runs;
    struct buf b = {0};
    if (log_path == NULL) {
        test_in_memory();
        char *dir = test_tmpdir();
        log_path = path_in(dir, "tasks.log");
        lock_path = path_in(dir, "tasks.log.lock");
        out_path = path_in(dir, "mended.log");
        free(dir);
        atexit(remove_all);
    }
    buf_reserve(&b, n + 1);
    if (part > 0)
        log_header(&b, 1, part == 2);
    buf_put(&b, data, n);
    HOLDS(b.err == 0);
    if (part > 0)
        fuzz_mend_sums(b.p, b.len);
    check_log(b.p, b.len);
    buf_fini(&b);
    if (++runs % 4096 == 0)
        remove_torn();
    return 0;
}
