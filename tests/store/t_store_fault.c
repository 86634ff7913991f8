/* t_store_fault - each system call and allocation of a store's life fails in
   turn, once and from then on.

   A life: open, batches, a compaction, more batches, a tail left by another
   process, close. The result of each batch is compared with the log afterwards:
   after success it is there, after an error it is not, unless the outcome was
   reported as unknown. */

#include "serve/web.h"
#include "tests/lib/fault_store.h"

/* ---- a disk that is full, and then has room again ---- */

static int
state_err(struct tstore *t)
{
    struct store_state st;
    st = *store_state(t->s);
    return st.err;
}

/* A descriptor reports another process's failure, here every time. */
TEST(inherited_failure)
{
    struct tstore t;
    fresh();
    CHECK(ts_open(&t, path) == 0);
    for (int i = 0; i < 3; i++) {
        CHECK(ts_put(&t, "task/1", "\"v\":1") == 0);
        fault_start(FAULT_FDATASYNC, 0, true, ENOSPC);
        fault.only_fd = fault.synced;
        CHECK(ts_put(&t, "task/2", "\"v\":2") == 0);
        CHECK(fault.hit && state_err(&t) == 0);
        fault.on = false;
    }
    CHECK(ts_is_replay(&t));
    ts_close(&t);
}

static int
put_one(struct tstore *t, bool *unknown)
{
    CHECK(store_lock(t->s) == 0);
    CHECK(store_stage(t->s, STR("task/2"), STR("\"v\":2")) == 0);
    int rc = store_commit(t->s, unknown);
    store_unlock(t->s);
    return rc;
}

/* Neither the batch nor the cut reaches the disk. The outcome is unknown; the
   lock is released, and another process goes on. */
TEST(cut_that_failed)
{
    bool unknown;
    struct tstore t, other;
    fresh();
    CHECK(ts_open(&t, path) == 0 && ts_put(&t, "task/1", "\"v\":1") == 0);
    for (int i = 0; i < 3; i++) {
        fault.also = FAULT_FTRUNCATE;
        fault_start(FAULT_FDATASYNC, 0, true, ENOSPC);
        CHECK(put_one(&t, &unknown) == ERR_FULL && unknown);
        CHECK(state_err(&t) == ERR_FULL && !store_locked(t.s));
        CHECK(store_lock(t.s) == ERR_FULL && state_err(&t) == ERR_FULL);
        fault.on = false;
        pid_t pid = i == 1 ? -1 : child_begin();
        if (pid == 0) {
            CHECK(ts_open(&other, path) == 0);
            CHECK(ts_put(&other, "task/3", "\"v\":3") == 0);
            CHECK(ts_is_replay(&other));
            child_end();
        }
        CHECK(pid < 0 || child_ok(pid));
        CHECK(ts_put(&t, "task/4", "\"v\":4") == 0 && state_err(&t) == 0);
        CHECK(ts_is_replay(&t));
    }
    fault.also = FAULT_CALLS;
    ts_close(&t);
}

static bool
is_ready(struct tstore *t, const char *says)
{
    struct buf b = {0};
    int status = web_put_ready(&b, t->s, false, STR(""), false);
    buf_char(&b, '\0');
    bool ok = CHECK(strstr(b.p, says) != NULL) && !store_locked(t->s);
    buf_fini(&b);
    return ok && status == 200;
}

/* /ready reports a failed write, later that writes would work again, and that
   another process keeps the lock. */
TEST(ready)
{
    bool unknown;
    struct tstore t, other;
    int go[2], said[2];
    char c;
    fresh();
    CHECK(ts_open(&t, path) == 0 && ts_put(&t, "task/1", "\"v\":1") == 0);
    CHECK(is_ready(&t, "\"writable\":true"));
    fault_start(FAULT_FDATASYNC, 0, true, EDQUOT);
    CHECK(put_one(&t, &unknown) == ERR_FULL);
    CHECK(!is_ready(&t, "store_full") && !is_ready(&t, "fdatasync"));
    fault.on = false;
    CHECK(is_ready(&t, "\"writable\":true"));
    if (pipe(go) != 0 || pipe(said) != 0)
        abort();
    pid_t pid = child_begin();
    if (pid == 0) {
        close(go[1]);
        CHECK(ts_open(&other, path) == 0 && store_lock(other.s) == 0);
        CHECK(write(said[1], "", 1) == 1 && read(go[0], &c, 1) == 0);
        child_end();
    }
    close(said[1]);
    CHECK(read(said[0], &c, 1) == 1 && store_lock(t.s) == ERR_BUSY);
    CHECK(is_ready(&t, "\"writable\":true")); /* it may be working */
    clock_ahead_s = STORE_LOCK_WAIT_MS / 1000 + 1;
    CHECK(!is_ready(&t, "store_busy") && !is_ready(&t, "holds the lock"));
    close(go[0]);
    close(go[1]);
    close(said[0]);
    CHECK(child_ok(pid));
    CHECK(is_ready(&t, "\"writable\":true") && ts_is_replay(&t));
    ts_close(&t);
}

/* Taking the lock does not show that writes work; a probe does, and leaves no
   trace. */
TEST(probe)
{
    bool unknown;
    struct tstore t;
    struct store_report rep;
    size_t len, now;
    fresh();
    CHECK(ts_open(&t, path) == 0 && ts_put(&t, "task/1", "\"v\":1") == 0);
    free(file_get(path, &len));
    fault_start(FAULT_WRITE, 0, true, ENOSPC);
    CHECK(put_one(&t, &unknown) == ERR_FULL && !unknown);
    for (int i = 0; i < 2; i++) {
        CHECK(store_lock(t.s) == 0 && state_err(&t) == ERR_FULL);
        CHECK(store_probe(t.s) == (i ? 0 : ERR_FULL));
        store_unlock(t.s);
        CHECK(state_err(&t) == (i ? 0 : ERR_FULL));
        fault.on = false;
        free(file_get(path, &now));
        CHECK(now == len);
    }
    /* Killed during a probe: nothing is saved or reported as torn. */
    int fd = open(path, O_WRONLY | O_APPEND);
    CHECK(write(fd, "\n\n\n", 3) == 3 && close(fd) == 0);
    CHECK(ts_put(&t, "task/2", "\"v\":2") == 0 && ts_is_replay(&t));
    struct store_state st;
    st = *store_state(t.s);
    CHECK(!st.torn);
    ts_close(&t);
    CHECK(store_verify(path, &rep, NULL) == 0 && !rep.damaged && !rep.torn);
}

/* ---- a life ---- */

#define BATCHES 8

enum said { SAID_NOTHING, SAID_YES, SAID_NO, SAID_UNKNOWN };

struct life {
    struct tstore t;
    enum said said[BATCHES];
    int errors;
    int lost; /* batches not committed */
    bool opened;
};

static int
stage_batch(struct life *l, int i)
{
    char key[32], body[400];
    int rc = 0;
    for (int k = 0; rc == 0 && k <= i % 3; k++) {
        snprintf(key, sizeof key, "task/%d-%d", i, k);
        rc = store_stage(l->t.s, str_of(key), STR("\"v\":1"));
    }
    snprintf(body, sizeof body, "\"v\":%d,\"fill\":\"%0300d\"", i, 0);
    return rc != 0 ? rc : store_stage(l->t.s, STR("task/shared"),
                                      str_of(body));
}

/* Like a turn: if a record cannot be staged, the batch so far is committed.
   Here no result belongs to it, so it counts as unknown: it must be whole or
   absent. */
static void
one_batch(struct life *l, int i)
{
    bool unknown = false;
    l->said[i] = SAID_NO;
    int rc = store_lock(l->t.s);
    if (rc == 0) {
        int staged = stage_batch(l, i);
        rc = store_commit(l->t.s, &unknown);
        if (staged != 0 && rc == 0)
            l->said[i] = SAID_UNKNOWN;
        else if (rc == 0)
            l->said[i] = SAID_YES;
        if (unknown)
            l->said[i] = SAID_UNKNOWN;
        rc = rc != 0 ? rc : staged;
        CHECK(rc == 0 || store_staged_n(l->t.s) == 0);
        store_unlock(l->t.s);
    }
    l->errors += rc != 0;
    l->lost += rc != 0;
}

/* Leaves what a process killed while writing would leave. */
static void
leave_tail(void)
{
    fault.on = false;
    int fd = open(path, O_WRONLY | O_APPEND);
    if (fd >= 0)
        CHECK(write(fd, "{\"c\":\"12", 8) == 8 && close(fd) == 0);
    fault.on = true;
}

static void
live(struct life *l)
{
    for (int tries = 0; !l->opened && tries < 2; tries++) {
        l->opened = ts_open(&l->t, path) == 0;
        l->errors += !l->opened;
    }
    if (!l->opened)
        return;
    for (int i = 0; i < BATCHES; i++) {
        if (i == BATCHES / 2 || i == BATCHES - 1)
            l->errors += ts_compact(&l->t) != 0;
        if (i == 2)
            leave_tail();
        one_batch(l, i);
    }
}

/* Returns whether the log agrees with the result of batch i. */
static bool
kept_its_word(struct tstore *t, const struct life *l, int i)
{
    bool ok = true;
    for (int k = 0; k <= i % 3; k++) {
        char key[32];
        snprintf(key, sizeof key, "task/%d-%d", i, k);
        bool there = strcmp(ts_get(t, key), "\"v\":1") == 0;
        ok &= l->said[i] == SAID_YES ? there
              : l->said[i] == SAID_NO ||
                      l->said[i] == SAID_NOTHING ? !there : true;
    }
    return ok;
}

static bool
all_kept(struct tstore *t, const struct life *l)
{
    int last = -1, found = -1;
    bool ok = true, sure = true;
    for (int i = 0; i < BATCHES; i++) {
        ok &= kept_its_word(t, l, i);
        sure &= l->said[i] != SAID_UNKNOWN;
        if (l->said[i] == SAID_YES)
            last = i;
    }
    if (store_find(t->s, STR("task/shared")) != NULL)
        sscanf(ts_get(t, "task/shared"), "\"v\":%d", &found);
    return ok && (!sure || found == last);
}

/* One life with the after-th call failing; false if there were fewer calls. */
static bool
fail_at(enum fault_call call, long after, bool forever, int err)
{
    struct life l = {.opened = false};
    struct store_report rep;
    struct store_state st;
    struct tstore t;
    bool ok = true, sick;
    fresh();
    fault_start(call, after, forever, err);
    live(&l);
    fault.on = false;
    if (l.opened) {
        /* After the failure, memory equals the log, and this process can write
           again, unless it could not open the lock file. */
        ok &= CHECK(!store_locked(l.t.s));
        sick = call == FAULT_OPEN && err == EACCES;
        ok &= CHECK(sick || ts_put(&l.t, "odd/later", "\"v\":1") == 0);
        st = *store_state(l.t.s);
        ok &= CHECK(sick || st.err == 0);
        ok &= CHECK(store_follow(l.t.s) == 0 && ts_is_replay(&l.t));
        ok &= CHECK(all_kept(&l.t, &l));
        ts_close(&l.t);
    } else {
        ok &= CHECK(forever || call == FAULT_MEMORY);
    }
    ok &= CHECK(ts_open(&t, path) == 0);
    if (t.s != NULL) {
        ok &= CHECK(all_kept(&t, &l));
        ok &= CHECK(ts_put(&t, "odd/again", "\"v\":1") == 0);
        ok &= CHECK(ts_is_replay(&t) && ts_compact(&t) == 0);
        ok &= CHECK(all_kept(&t, &l) && ts_is_replay(&t));
        ts_close(&t);
    }
    ok &= CHECK(store_verify(path, &rep, NULL) == 0 && !rep.damaged &&
                !rep.torn);
    if (!fault.hit || err == EINTR)
        ok &= CHECK(l.errors == 0);
    if (call == FAULT_FDATASYNC && !forever && fault.also == FAULT_CALLS)
        ok &= CHECK(l.lost == 0);
    if (!ok)
        fprintf(stderr, "    call %d, number %ld, %s, error %d; %d errors\n",
                (int)call, after, forever ? "for good" : "once", err,
                l.errors);
    return fault.hit;
}

TEST(every_call)
{
    static const struct {
        enum fault_call call;
        int err;
        bool once_only; /* permanent failure would never end */
        bool no_cut;    /* then the log cannot be cut either */
    } cases[] = {
        {FAULT_WRITE, EIO, true, true},
        {FAULT_WRITE, FAULT_SHORT, true, true},
        {FAULT_FDATASYNC, EIO, true, true},
        {FAULT_WRITE, ENOSPC, false, false},
        {FAULT_WRITE, EIO, false, false},
        {FAULT_WRITE, EINTR, true, false},
        {FAULT_WRITE, FAULT_SHORT, false, false},
        {FAULT_PREAD, EIO, false, false},
        {FAULT_PREAD, EINTR, true, false},
        {FAULT_FDATASYNC, EIO, false, false},
        {FAULT_FDATASYNC, ENOSPC, false, false},
        {FAULT_FDATASYNC, EINTR, true, false},
        {FAULT_FSYNC, EINTR, true, false},
        {FAULT_FTRUNCATE, EINTR, true, false},
        {FAULT_FSYNC, EIO, false, false},
        {FAULT_FSYNC, ENOSPC, false, false},
        {FAULT_FTRUNCATE, EIO, false, false},
        {FAULT_RENAME, EIO, false, false},
        {FAULT_RENAME, ENOSPC, false, false},
        {FAULT_LINK, EIO, false, false},
        {FAULT_LINK, EPERM, false, false},
        {FAULT_OPEN, EMFILE, false, false},
        {FAULT_OPEN, EACCES, false, false},
        {FAULT_OPEN, ENOSPC, false, false},
        {FAULT_MEMORY, ENOMEM, false, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int forever = 0; forever < 2 - cases[i].once_only; forever++) {
            long after = 0;
            fault.also = cases[i].no_cut ? FAULT_FTRUNCATE : FAULT_CALLS;
            while (fail_at(cases[i].call, after, forever, cases[i].err))
                after++;
            if (getenv("VERBOSE"))
                printf("call %d error %d %d: %ld\n", (int)cases[i].call,
                       cases[i].err, forever, after);
        }
}

/* A file that could only be read when it was opened is opened again. */
TEST(only_reading)
{
    for (long after = 0; after < 4; after++) {
        struct tstore t;
        char *log = open_log(&t, 3, 1);
        ts_close(&t);
        fault_start(FAULT_OPEN, after, false, EACCES);
        CHECK(ts_open(&t, log) == 0);
        fault.on = false;
        CHECK(ts_put(&t, "task/1", "\"v\":1") == 0);
        close_log(&t, log);
    }
}

/* ---- backup and repair ---- */

/* Copies a log of two generations: all of it, or nothing. */
static bool
fail_copy(enum fault_call call, long after, int err)
{
    char *dir = test_tmpdir(), *to = path_in(dir, "copy");
    char *log = path_in(to, "tasks.log");
    struct store_report rep;
    struct tstore t;
    path = (free(path), path_in(dir, "tasks.log"));
    CHECK(ts_open(&t, path) == 0);
    for (int i = 0; i < 3; i++) {
        CHECK(ts_put(&t, "task/1", "\"v\":1") == 0);
        CHECK(i != 1 || ts_compact(&t) == 0);
    }
    CHECK(mkdir(to, 0700) == 0);
    fault_start(call, after, true, err);
    int backed = store_backup(t.s, to, NULL, NULL);
    bool hit = fault.hit;
    fault_start(call, after, true, err);
    int mended = store_repair(path, path_with(path, ".out"), &rep);
    fault.on = false;
    ts_close(&t);
    hit |= fault.hit;
    CHECK(hit || (backed == 0 && mended == 0));
    /* A copy that could not be read again is still whole. */
    if (access(log, F_OK) == 0)
        CHECK(store_verify(log, &rep, NULL) == 0 && !rep.damaged);
    else
        CHECK(backed != 0 && rmdir(to) == 0);
    if (access(path_with(path, ".out"), F_OK) == 0)
        CHECK(mended == 0 &&
              store_verify(path_with(path, ".out"), &rep, NULL) == 0 &&
              !rep.damaged);
    else
        CHECK(mended != 0);
    free(log);
    free(to);
    free(dir);
    return hit;
}

TEST(copies)
{
    static const struct {
        enum fault_call call;
        int err;
    } cases[] = {
        {FAULT_WRITE, ENOSPC}, {FAULT_WRITE, FAULT_SHORT},
        {FAULT_PREAD, EIO},    {FAULT_FSYNC, EIO},
        {FAULT_OPEN, EMFILE},  {FAULT_MEMORY, ENOMEM},
    };
    fault.also = FAULT_CALLS;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (long after = 0; fail_copy(cases[i].call, after, cases[i].err);)
            after++;
}

int
main(void)
{
    test_in_memory();
    test_run();
    free(path);
    return test_end("t_store_fault");
}
