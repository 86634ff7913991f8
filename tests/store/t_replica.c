/* Stores of several hosts with one remote: each has its own log, and all see
   one order of commits. */

#include "store/state.h"
#include "store/remote.h"
#include "base/clock.h"
#include "base/text.h"
#include "tests/lib/faults.h"
#include "tests/lib/hosts_rig.h"
#include "tests/lib/told.h"

#include <sys/statvfs.h>

TEST(one_order)
{
    begin(3);
    CHECK(put(&host[0], "task/a", "\"v\":1") == 0);
    CHECK(host[0].f.pulls == 1 && host[0].f.commits == 1);
    CHECK(put(&host[0], "task/a", "\"v\":2") == 0);
    CHECK(host[0].f.pulls == 1 && host[0].f.commits == 2); /* one round trip */
    /* The second host's log has another id: it takes over the store's. */
    CHECK(put(&host[1], "task/b", "\"v\":3") == 0);
    CHECK(sees(&host[1], "task/a", "\"v\":2"));
    CHECK(sees(&host[1], "task/b", "\"v\":3"));
    CHECK(confirm(&host[0]) == 0 && sees(&host[0], "task/b", "\"v\":3"));
    for (int i = 0; i < 40; i++)
        CHECK(put(&host[i % 3], "task/a", i % 2 ? "\"v\":5" : "\"v\":4") == 0);
    for (int i = 0; i < 3; i++)
        CHECK(confirm(&host[i]) == 0 && sees(&host[i], "task/a", "\"v\":5"));
    CHECK(list.n == 1 + 43);
    end();
}

static void
rival(void *ctx)
{
    CHECK(put(ctx, "task/a", "\"v\":\"theirs\"") == 0);
}

TEST(others_first)
{
    begin(2);
    CHECK(put(&host[0], "task/a", "\"v\":1") == 0);
    CHECK(put(&host[1], "task/b", "\"v\":1") == 0);
    CHECK(confirm(&host[0]) == 0);
    host[0].f.first = rival;
    host[0].f.first_ctx = &host[1];
    CHECK(put_once(&host[0], "task/a", "\"v\":\"ours\"") == ERR_AGAIN);
    CHECK(sees(&host[0], "task/a", "\"v\":\"theirs\""));
    CHECK(put_once(&host[0], "task/a", "\"v\":\"ours\"") == 0);
    CHECK(sees(&host[0], "task/a", "\"v\":\"ours\""));
    CHECK(list.n == 5);
    end();
}

/* The mark holds the head: a new process commits in one round trip, once it
   has heard what time it is. */
TEST(next_process)
{
    begin(1);
    CHECK(put(&host[0], "task/a", "\"v\":1") == 0);
    ts_close(&host[0].t);
    open_host(&host[0]);
    host[0].t.s->replica->heard = true;
    host[0].f.pulls = host[0].f.commits = 0;
    CHECK(put(&host[0], "task/a", "\"v\":2") == 0);
    CHECK(host[0].f.pulls == 0 && host[0].f.commits == 1);
    /* Without the mark it pulls first. */
    ts_close(&host[0].t);
    CHECK(unlink(path_with(host[0].path, ".lock")) == 0);
    open_host(&host[0]);
    host[0].f.pulls = host[0].f.commits = 0;
    CHECK(put(&host[0], "task/a", "\"v\":3") == 0);
    CHECK(host[0].f.pulls == 1 && host[0].f.commits == 1);
    CHECK(sees(&host[0], "task/a", "\"v\":3"));
    end();
}

/* Without the remote a replica is read-only, and a log of its own cannot join
   one. */
TEST(foreign)
{
    struct tstore t;

    begin(1);
    CHECK(put(&host[0], "task/a", "\"v\":1") == 0);
    CHECK(ts_open(&t, host[0].path) == 0);
    CHECK(ts_put(&t, "task/a", "\"v\":2") == ERR_READONLY);
    CHECK(strcmp(ts_get(&t, "task/a"), "\"v\":1") == 0);
    ts_close(&t);
    ts_close(&host[0].t);
    free(host[0].path);
    host[0].path = path_fresh("tasks.log");
    CHECK(ts_open(&t, host[0].path) == 0);
    CHECK(ts_put(&t, "task/a", "\"v\":2") == 0);
    ts_close(&t);
    open_host(&host[0]);
    CHECK(put(&host[0], "task/a", "\"v\":3") == ERR_READONLY);
    end();
}

/* A host that only reads keeps up with the others. */
TEST(readonly)
{
    begin(2);
    CHECK(put(&host[0], "task/a", "\"v\":1") == 0);
    ts_close(&host[1].t);
    CHECK(ts_open_with(&host[1].t, &(struct store_options){
        .path = host[1].path, .remote = &host[1].f.remote,
        .readonly = true}) == 0);
    CHECK(confirm(&host[1]) == 0 && sees(&host[1], "task/a", "\"v\":1"));
    CHECK(put(&host[1], "task/b", "\"v\":1") == ERR_READONLY);
    CHECK(put(&host[0], "task/a", "\"v\":2") == 0);
    CHECK(confirm(&host[1]) == 0 && sees(&host[1], "task/a", "\"v\":2"));
    CHECK(store_is_readonly(host[1].t.s) && host[1].f.commits == 0);
    CHECK(store_state(host[1].t.s)->err == ERR_READONLY);
    /* It says so when it cannot. */
    host[1].f.fail = ERR_UNREACHABLE;
    host[1].f.n_fail = 1;
    CHECK(confirm(&host[1]) == ERR_UNREACHABLE);
    CHECK(store_state(host[1].t.s)->err == ERR_UNREACHABLE);
    CHECK(store_stale_ms(host[1].t.s) > 0);
    CHECK(put(&host[1], "task/b", "\"v\":1") == ERR_READONLY);
    end();
}

/* A log of this host alone, at the path of a host that is closed. */
static void
put_alone(struct host *h)
{
    struct tstore t;

    CHECK(ts_open(&t, h->path) == 0);
    for (int i = 0; i < 12; i++)
        CHECK(ts_put(&t, "task/a", "\"v\":1") == 0);
    CHECK(ts_put(&t, "task/b", "\"v\":2") == 0);
    ts_close(&t);
}

/* A remote does not begin with such a log if it is damaged or empty. */
TEST(foreign_damage)
{
    size_t len, now;
    char *log, *same;

    begin(1);
    ts_close(&host[0].t);
    put_alone(&host[0]);
    log = file_get(host[0].path, &len);
    log[len / 2] ^= 1;
    file_put(host[0].path, log, len);
    open_host(&host[0]);
    CHECK(put(&host[0], "task/b", "\"v\":3") == ERR_DAMAGED);
    CHECK(confirm(&host[0]) == ERR_READONLY && list.n == 0);
    CHECK(store_push(host[0].t.s, false) == ERR_DAMAGED && list.n == 0);
    same = file_get(host[0].path, &now);
    CHECK(same != NULL && now == len && memcmp(log, same, len) == 0);
    free(log);
    free(same);
    end();
}

/* Such a log becomes the store, and its replica; then the remote loses
   everything. */
TEST(push)
{
    const char *aside;
    size_t len, kept;
    char *log, *old;
    int rc;

    begin(2);
    ts_close(&host[0].t);
    put_alone(&host[0]);
    log = file_get(host[0].path, &len);
    aside = path_with(host[0].path, ".before-etcd");
    open_host(&host[0]);
    CHECK(store_push(host[0].t.s, true) == ERR_READONLY);
    file_put(aside, "", 0);
    CHECK(store_push(host[0].t.s, false) == ERR_EXISTS && list.n == 0);
    unlink(aside);
    host[0].f.fail = ERR_FULL;
    host[0].f.n_fail = 1;
    CHECK(store_push(host[0].t.s, false) == ERR_FULL && list.n == 0);
    CHECK(put(&host[0], "task/b", "\"v\":3") == ERR_READONLY);
    host[0].f.hold = 3; /* who waits can show how far it is */
    CHECK(store_push(host[0].t.s, false) == ERR_PENDING && list.n == 0);
    while ((rc = store_push(host[0].t.s, false)) == ERR_PENDING)
        store_await(host[0].t.s);
    CHECK(rc == 0 && list.n == 2);
    CHECK(!store_locked(host[0].t.s) && sees(&host[0], "task/b", "\"v\":2"));
    old = file_get(aside, &kept);
    CHECK(old != NULL && kept == len && memcmp(log, old, len) == 0);
    free(log);
    free(old);
    CHECK(put(&host[0], "task/b", "\"v\":4") == 0);
    CHECK(confirm(&host[1]) == 0 && sees(&host[1], "task/b", "\"v\":4"));
    CHECK(store_push(host[0].t.s, false) == ERR_EXISTS);
    fake_free(&list);
    CHECK(confirm(&host[1]) == ERR_FORMAT);
    CHECK(store_push(host[0].t.s, true) == 0);
    CHECK(put(&host[0], "task/b", "\"v\":5") == 0);
    host[1].t.s->replica->until_ms = 0;
    CHECK(confirm(&host[1]) == 0 && sees(&host[1], "task/b", "\"v\":5"));
    /* A replica that is behind catches up before it gives all back. */
    CHECK(put(&host[1], "task/b", "\"v\":6") == 0);
    CHECK(store_push(host[0].t.s, true) == 0 && host[0].f.continued == 1);
    CHECK(sees(&host[0], "task/b", "\"v\":6"));
    end();
}

TEST(unknown)
{
    begin(2);
    CHECK(put(&host[0], "task/a", "\"v\":1") == 0);
    host[0].f.fail = ERR_UNKNOWN;
    host[0].f.n_fail = 1;
    host[0].f.late = true;
    CHECK(put(&host[0], "task/a", "\"v\":2") == ERR_UNKNOWN);
    CHECK(sees(&host[0], "task/a", "\"v\":1"));
    CHECK(store_stale_ms(host[0].t.s) > 0);
    /* It pauses before it tries again. */
    CHECK(host[0].t.s->replica->until_ms > 0);
    host[0].t.s->replica->until_ms = INT64_MAX;
    CHECK(put(&host[0], "task/a", "\"v\":3") == ERR_UNREACHABLE);
    CHECK(host[0].f.commits == 2);
    fake_settle(&host[0].f);
    CHECK(put(&host[1], "task/b", "\"v\":4") == 0);
    host[0].t.s->replica->until_ms = 0; /* the pause is over */
    CHECK(confirm(&host[0]) == 0 && store_stale_ms(host[0].t.s) == 0);
    CHECK(sees(&host[0], "task/a", "\"v\":2"));
    CHECK(sees(&host[0], "task/b", "\"v\":4"));
    end();
}

TEST(pauses)
{
    static const int64_t want[] = {500, 1000, 2000, 4000, 5000, 5000};
    struct store_state st;

    begin(1);
    CHECK(put(&host[0], "task/a", "\"v\":1") == 0);
    host[0].f.fail = ERR_UNREACHABLE;
    host[0].f.n_fail = 6;
    for (int i = 0; i < 6; i++) {
        CHECK(confirm(&host[0]) == ERR_UNREACHABLE);
        CHECK(host[0].t.s->replica->pause_ms == want[i]);
        host[0].t.s->replica->until_ms = 0;
    }
    st = *store_state(host[0].t.s);
    CHECK(st.mode == STORE_REFUSED && st.err == ERR_UNREACHABLE &&
          strstr(st.why, "fake") != NULL);
    CHECK(confirm(&host[0]) == 0);
    st = *store_state(host[0].t.s);
    CHECK(st.mode == STORE_LOADED && st.err == 0 &&
          host[0].t.s->replica->pause_ms == 0);
    host[0].f.fail = ERR_TOO_LARGE; /* no reason to pause */
    host[0].f.n_fail = 1;
    CHECK(put(&host[0], "task/a", "\"v\":2") == ERR_TOO_LARGE);
    CHECK(put(&host[0], "task/a", "\"v\":2") == 0);
    end();
}

/* A replica that is damaged, in its first line or later, is set aside, and a
   new one begins. */
static void
test_damage(bool header)
{
    struct store_state st;
    size_t len;
    char *log;

    begin(1);
    for (int i = 0; i < 12; i++)
        CHECK(put(&host[0], "task/a", "\"v\":1") == 0);
    CHECK(put(&host[0], "task/b", "\"v\":2") == 0);
    ts_close(&host[0].t);
    log = file_get(host[0].path, &len);
    log[header ? 30 : len / 2] ^= 1;
    file_put(host[0].path, log, len);
    free(log);
    open_host(&host[0]);
    CHECK(put(&host[0], "task/b", "\"v\":3") == 0);
    CHECK(sees(&host[0], "task/b", "\"v\":3"));
    st = *store_state(host[0].t.s);
    CHECK(st.err == 0 && st.head == 14 && st.g > 2);
    end();
}

TEST(wiped)
{
    begin(2);
    for (int i = 0; i < 12; i++)
        CHECK(put(&host[0], "task/a", "\"v\":1") == 0);
    CHECK(confirm(&host[1]) == 0);
    /* The log is removed while it is open, */
    CHECK(unlink(host[0].path) == 0);
    CHECK(put(&host[0], "task/a", "\"v\":2") == 0);
    CHECK(sees(&host[0], "task/a", "\"v\":2"));
    /* and before it is opened. */
    ts_close(&host[1].t);
    CHECK(unlink(host[1].path) == 0);
    open_host(&host[1]);
    CHECK(confirm(&host[1]) == 0 && sees(&host[1], "task/a", "\"v\":2"));
    end();
}

/* The store was restored from a backup: records that only this host has are set
   aside. */
TEST(diverged)
{
    struct stat st;

    begin(2);
    for (int i = 0; i < 6; i++)
        CHECK(put(&host[0], "task/a", "\"v\":1") == 0);
    CHECK(confirm(&host[1]) == 0);
    fake_restore(&list, 4);
    CHECK(confirm(&host[1]) == 0);
    CHECK(put(&host[1], "task/a", "\"v\":2") == 0);
    CHECK(put(&host[0], "task/b", "\"v\":3") == 0);
    CHECK(sees(&host[0], "task/a", "\"v\":2"));
    CHECK(stat(path_with(host[0].path, ".diverged-6"), &st) == 0);
    CHECK(confirm(&host[1]) == 0 && sees(&host[1], "task/b", "\"v\":3"));
    /* A new epoch with the same records changes nothing. */
    fake_restore(&list, 6);
    CHECK(put(&host[0], "task/b", "\"v\":4") == 0);
    CHECK(stat(path_with(host[0].path, ".diverged-6"), &st) == 0);
    end();
}

/* Host 1 is a second process of host 0. */
static struct host *
second_process(void)
{
    host[1].path = strdup(host[0].path);
    fake_new(&host[1].f, &list, host[0].f.dir);
    open_host(&host[1]);
    return &host[1];
}

/* Two processes of one host share its replica. */
TEST(two_processes)
{
    struct host *b;

    begin(1);
    CHECK(put(&host[0], "task/a", "\"v\":1") == 0);
    b = second_process();
    CHECK(put(b, "task/a", "\"v\":2") == 0);
    CHECK(b->f.pulls == 1 && b->f.commits == 1);
    CHECK(put(&host[0], "task/a", "\"v\":3") == 0);
    CHECK(host[0].f.pulls == 1 && host[0].f.commits == 2);
    CHECK(store_follow(b->t.s) == 0 && sees(b, "task/a", "\"v\":3"));
    CHECK(confirm(b) == 0 && b->f.pulls == 2);
    end();
}

/* The log that another process made by compaction is damaged in its first line
   before this one reads it. */
TEST(damage_in_the_next)
{
    struct host *b;
    int fd;

    begin(1);
    for (int i = 0; i < 6; i++)
        CHECK(put(&host[0], "task/a", "\"v\":1") == 0);
    b = second_process();
    CHECK(confirm(b) == 0);
    CHECK(ts_compact(&host[0].t) == 0);
    fd = open(b->path, O_RDWR);
    CHECK(fd >= 0 && pwrite(fd, "#", 1, 9) == 1 && close(fd) == 0);
    CHECK(put(b, "task/a", "\"v\":2") == 0 && sees(b, "task/a", "\"v\":2"));
    CHECK(store_state(b->t.s)->err == 0);
    end();
}

/* While one process fetches a whole log, another has fetched one, and goes on
   from it: the older file does not take its place. Only the one that keeps a
   log aside says so. */
TEST(two_replace)
{
    struct host *b;

    begin(1);
    for (int i = 0; i < 6; i++)
        CHECK(put(&host[0], "task/a", "\"v\":1") == 0);
    b = second_process();
    fake_restore(&list, 4);
    b->f.hold = 1;
    store_tend(b->t.s, false);
    CHECK(b->f.pulls == 1 && b->t.s->replica->doing == REPLICA_PULLS);
    listen_to(true);
    CHECK(put(&host[0], "task/a", "\"v\":2") == 0);
    listen_to(false);
    CHECK(strstr(told, "is kept as") != NULL);
    list.n--; /* its file is of before that */
    listen_to(true);
    store_tend(b->t.s, false);
    listen_to(false);
    CHECK(told[0] == '\0');
    list.n++;
    CHECK(b->t.s->replica->doing == REPLICA_IDLE);
    CHECK(store_follow(host[0].t.s) == 0);
    CHECK(sees(&host[0], "task/a", "\"v\":2"));
    CHECK(confirm(b) == 0 && sees(b, "task/a", "\"v\":2"));
    end();
}

/* Lines asked for behind a log that is lost meanwhile are of no use. */
TEST(lost_meanwhile)
{
    begin(2);
    for (int i = 0; i < 6; i++)
        CHECK(put(&host[0], "task/a", "\"v\":1") == 0);
    CHECK(confirm(&host[1]) == 0);
    CHECK(put(&host[0], "task/a", "\"v\":2") == 0);
    host[1].f.hold = 1;
    host[1].t.s->replica->next_ms = 0;
    store_tend(host[1].t.s, false);
    CHECK(host[1].t.s->replica->doing == REPLICA_PULLS);
    CHECK(unlink(host[1].path) == 0);
    store_tend(host[1].t.s, false);
    CHECK(host[1].t.s->err == 0);
    CHECK(confirm(&host[1]) == 0 && sees(&host[1], "task/a", "\"v\":2"));
    end();
}

/* Two processes of a new host have made an empty log; one of them takes that of
   the other hosts. */
TEST(two_new)
{
    struct host *b;

    begin(2);
    CHECK(put(&host[1], "task/a", "\"v\":1") == 0);
    ts_close(&host[1].t);
    fake_end(&host[1].f);
    free(host[1].path);
    CHECK(store_lock_patiently(host[0].t.s) == 0);
    store_unlock(host[0].t.s);
    b = second_process();
    CHECK(store_lock_patiently(b->t.s) == 0);
    store_unlock(b->t.s);
    CHECK(confirm(&host[0]) == 0 && sees(&host[0], "task/a", "\"v\":1"));
    CHECK(confirm(b) == 0 && sees(b, "task/a", "\"v\":1"));
    CHECK(put(b, "task/a", "\"v\":2") == 0);
    end();
}

/* A turn has read, and while it is confirmed another process of the host takes
   what is new, and the lock: the turn runs again. So it does where there was no
   log yet. */
TEST(read_meanwhile)
{
    struct host *b;
    bool unknown;

    begin(1);
    CHECK(store_follow(host[0].t.s) == 0);
    CHECK(strcmp(ts_get(&host[0].t, "task/a"), "") == 0);
    b = second_process();
    CHECK(put(b, "task/a", "\"v\":1") == 0);
    CHECK(finish(&host[0], &unknown) == ERR_AGAIN);
    CHECK(sees(&host[0], "task/a", "\"v\":1"));
    CHECK(store_follow(host[0].t.s) == 0);
    CHECK(strcmp(ts_get(&host[0].t, "task/a"), "\"v\":1") == 0);
    host[0].f.hold = 1;
    CHECK(store_commit(host[0].t.s, &unknown) == ERR_PENDING);
    CHECK(put(b, "task/a", "\"v\":2") == 0);
    if (!os_lock_is_by_process()) { /* two of one process do not conflict */
        CHECK(store_lock_patiently(b->t.s) == 0);
        CHECK(store_commit(host[0].t.s, &unknown) == ERR_PENDING);
        store_unlock(b->t.s);
    }
    CHECK(finish(&host[0], &unknown) == ERR_AGAIN);
    CHECK(sees(&host[0], "task/a", "\"v\":2"));
    end();
}

/* Compaction of one host does not concern the others. */
TEST(compact)
{
    struct store_state st;

    begin(2);
    for (int i = 0; i < 8; i++)
        CHECK(put(&host[0], "task/a", "\"v\":1") == 0);
    CHECK(confirm(&host[1]) == 0);
    CHECK(ts_compact(&host[0].t) == 0 && host[0].f.n_compacted == 1);
    st = *store_state(host[0].t.s);
    CHECK(st.g == 2 && st.head == 8 && list.n == 9);
    CHECK(put(&host[0], "task/a", "\"v\":2") == 0);
    CHECK(put(&host[1], "task/b", "\"v\":3") == 0);
    CHECK(confirm(&host[0]) == 0);
    for (int i = 0; i < 2; i++)
        CHECK(sees(&host[i], "task/a", "\"v\":2") &&
              sees(&host[i], "task/b", "\"v\":3"));
    end();
}

/* A commit succeeds even if this host has no room for it. */
TEST(no_room)
{
    struct store_state st;

    begin(1);
    CHECK(put(&host[0], "task/a", "\"v\":1") == 0);
    fault_start(FAULT_WRITE, 0, true, ENOSPC);
    CHECK(put(&host[0], "task/a", "\"v\":2") == 0);
    CHECK(fault.hit && store_stale_ms(host[0].t.s) > 0);
    st = *store_state(host[0].t.s);
    CHECK(st.err == ERR_FULL && st.head == 1);
    CHECK(put(&host[0], "task/a", "\"v\":3") == ERR_FULL);
    fault.on = false;
    CHECK(confirm(&host[0]) == 0 && store_stale_ms(host[0].t.s) == 0);
    CHECK(sees(&host[0], "task/a", "\"v\":2"));
    CHECK(put(&host[0], "task/a", "\"v\":3") == 0);
    st = *store_state(host[0].t.s);
    CHECK(st.err == 0 && list.n == 4);
    end();
}

static bool short_of_room;

#ifndef __GLIBC__
#pragma weak __real_statvfs64
#endif

#define WRAP_STATVFS(name)                                  \
    int __real_##name(const char *at, struct statvfs *out); \
    int __wrap_##name(const char *at, struct statvfs *out); \
    int __wrap_##name(const char *at, struct statvfs *out)  \
    {                                                       \
        int rc = __real_##name(at, out);                    \
        if (short_of_room)                                  \
            out->f_bavail = 1;                              \
        return rc;                                          \
    }

WRAP_STATVFS(statvfs)
WRAP_STATVFS(statvfs64)

/* A host whose disk is nearly full offers no changes, but ends work, and
   follows the others. */
TEST(little_room)
{
    struct store *s;
    bool unknown;
    int rc;

    begin(2);
    CHECK(put(&host[0], "task/a", "\"v\":1") == 0);
    CHECK(put(&host[1], "task/b", "\"v\":1") == 0);
    CHECK(confirm(&host[0]) == 0);
    s = host[0].t.s;
    short_of_room = true;
    CHECK(put(&host[0], "task/a", "\"v\":2") == ERR_FULL);
    CHECK(store_state(s)->err == ERR_FULL && store_state(s)->missing > 0);
    CHECK(store_lock_patiently(s) == 0);
    CHECK(store_stage(s, STR("task/a"), STR("\"v\":2")) == 0);
    while ((rc = store_commit(s, &unknown)) == ERR_AGAIN || rc == ERR_PENDING)
        store_await(s);
    CHECK(rc == ERR_FULL && store_takes_last(s));
    CHECK(store_stage(s, STR("task/a"), STR("\"v\":2")) == ERR_FULL);
    CHECK(store_stage_last(s, STR("task/a"), STR("\"v\":3")) == 0);
    while ((rc = store_commit(s, &unknown)) == ERR_PENDING)
        store_await(s);
    CHECK(rc == 0);
    store_unlock(s);
    CHECK(confirm(&host[1]) == 0 && sees(&host[1], "task/a", "\"v\":3"));
    CHECK(put(&host[1], "task/b", "\"v\":4") == ERR_FULL);
    short_of_room = false;
    CHECK(put(&host[1], "task/b", "\"v\":4") == 0);
    short_of_room = true;
    CHECK(confirm(&host[0]) == 0 && sees(&host[0], "task/b", "\"v\":4"));
    short_of_room = false;
    CHECK(put(&host[0], "task/a", "\"v\":5") == 0);
    CHECK(store_state(s)->err == 0);
    end();
}

/* Appends a record of another host, whose clock is at ms. */
static void
commit_body_there(const char *key, uint64_t p, int64_t ms, const char *body)
{
    struct fake_batch *newest = fake_newest(&list);
    char time[TIME_LEN + 1];
    struct buf b = {0};
    struct store_rec r = {.g = 1, .n = newest->last + 1, .b = newest->last + 1,
                          .p = p, .key = str_of(key), .body = str_of(body)};

    time_format(ms, time);
    r.time = str_of(time);
    record_put(&b, &r);
    fake_add(&list, buf_view(&b), r.n,
             record_sum((struct str){b.p, b.len - 1}));
    buf_fini(&b);
}

static void
commit_there(const char *key, int64_t ms)
{
    commit_body_there(key, 0, ms, "\"v\":1");
}

/* A probe finds out, without a commit, whether one could succeed. */
TEST(probe)
{
    struct store_state st;

    begin(1);
    CHECK(put(&host[0], "task/a", "\"v\":1") == 0);
    CHECK(store_take_lock(host[0].t.s, false) == 0);
    CHECK(store_probe_hosts(host[0].t.s) == 0);
    host[0].f.fail = ERR_FULL;
    host[0].f.n_fail = 1;
    CHECK(store_probe_hosts(host[0].t.s) == ERR_FULL);
    store_unlock(host[0].t.s);
    st = *store_state(host[0].t.s);
    CHECK(st.head == 1 && list.n == 2);
    CHECK(put(&host[0], "task/b", "\"v\":1") == 0);
    end();
}

/* A host whose clock is far ahead ends no lease here, and what is written after
   its record has the right time. One that is within the bounds keeps times in
   order. */
TEST(clocks)
{
    int64_t hour = 60 * 60 * 1000, wall = clock_wall_ms(), at;
    struct store_report rep;
    struct store_rec r;
    struct arena a = {0};

    begin(1);
    CHECK(put(&host[0], "task/a", "\"v\":1") == 0);
    commit_there("task/b", wall + hour);
    commit_there("task/e", INT64_MAX); /* in the year 9999 */
    CHECK(put(&host[0], "task/c", "\"v\":1") == 0);
    CHECK(store_now_ms(host[0].t.s) < wall + hour / 2);
    CHECK(store_skew_ms(host[0].t.s) == 5000);
    CHECK(store_read(host[0].t.s, store_find(host[0].t.s, STR("task/c")), &a,
                     &r) == 0);
    CHECK(time_parse(r.time, &at) && at >= wall && at < wall + hour / 2);
    /* The mark holds both. */
    ts_close(&host[0].t);
    open_host(&host[0]);
    CHECK(store_now_ms(host[0].t.s) < wall + hour / 2);
    commit_there("task/d", clock_wall_ms() + 4000);
    CHECK(confirm(&host[0]) == 0);
    CHECK(store_now_ms(host[0].t.s) >= wall + 3900);
    commit_there("task/f", wall + 9000);
    CHECK(put(&host[0], "task/c", "\"v\":2") == 0);
    CHECK(store_now_ms(host[0].t.s) < wall + 9000);
    CHECK(store_read(host[0].t.s, store_find(host[0].t.s, STR("task/c")), &a,
                     &r) == 0);
    CHECK(time_parse(r.time, &at) && at >= wall + 9000);
    arena_fini(&a);
    ts_close(&host[0].t);
    CHECK(store_verify(host[0].path, &rep, NULL) == 0 && !rep.damaged);
    open_host(&host[0]);
    end();
}

/* The first commit of a process that knows the head waits for the time, too. */
TEST(first_clock)
{
    begin(1);
    CHECK(put(&host[0], "task/a", "\"v\":1") == 0);
    ts_close(&host[0].t);
    host[0].f.skew_ms = 6000;
    open_host(&host[0]);
    CHECK(put(&host[0], "task/b", "\"v\":1") == ERR_SKEW && list.n == 2);
    host[0].f.skew_ms = 0;
    CHECK(confirm(&host[0]) == 0);
    CHECK(put(&host[0], "task/b", "\"v\":1") == 0);
    end();
}

/* ---- between turns ---- */

static void
tend(struct host *h, bool waits)
{
    store_tend(h->t.s, waits);
    store_tend(h->t.s, waits);
}

TEST(tend)
{
    struct host *b = &host[1];
    int64_t due, now;
    bool write;
    int fd;

    begin(2);
    CHECK(put(b, "task/a", "\"v\":1") == 0);
    tend(&host[0], true);
    CHECK(strcmp(ts_get(&host[0].t, "task/a"), "\"v\":1") == 0);
    store_watch(host[0].t.s, &fd, &write, &due);
    now = clock_mono_ms();
    CHECK(fd == -1 && due <= now + 50);
    host[0].t.s->replica->next_ms = now + 60 * 60 * 1000;
    host[0].f.pulls = 0;
    tend(&host[0], false); /* not due yet */
    CHECK(host[0].f.pulls == 0);
    CHECK(put(b, "task/a", "\"v\":2") == 0);
    host[0].t.s->replica->next_ms = 0;
    tend(&host[0], false);
    CHECK(host[0].f.pulls == 1 && sees(&host[0], "task/a", "\"v\":2"));
    store_watch(host[0].t.s, &fd, &write, &due);
    CHECK(due > now + 500 && due <= clock_mono_ms() + 1000);
    /* A turn that needs an answer finishes an operation that has begun. */
    CHECK(put(b, "task/a", "\"v\":3") == 0);
    host[0].f.hold = 3;
    store_tend(host[0].t.s, true);
    CHECK(host[0].f.pulls == 2);
    CHECK(put_once(&host[0], "task/b", "\"v\":1") == ERR_AGAIN);
    CHECK(put_once(&host[0], "task/b", "\"v\":1") == 0);
    CHECK(sees(&host[0], "task/a", "\"v\":3"));
    end();
}

/* One process of a host pulls for all. */
static void
test_tend_once(void)
{
    struct host *b;

    begin(1);
    CHECK(put(&host[0], "task/a", "\"v\":1") == 0);
    b = second_process();
    tend(&host[0], true);
    b->f.pulls = 0;
    tend(b, true);
    CHECK(b->f.pulls == 0);
    ts_close(&host[0].t);
    b->t.s->replica->next_ms = 0;
    tend(b, true);
    CHECK(b->f.pulls == 1);
    open_host(&host[0]);
    end();
}

/* After a failure only store_tend tries again. */
TEST(tend_after_failure)
{
    begin(1);
    CHECK(put(&host[0], "task/a", "\"v\":1") == 0);
    tend(&host[0], false);
    host[0].f.fail = ERR_UNREACHABLE;
    host[0].f.n_fail = 2;
    CHECK(put(&host[0], "task/a", "\"v\":2") == ERR_UNREACHABLE);
    host[0].t.s->replica->until_ms = 0;
    CHECK(put(&host[0], "task/a", "\"v\":2") == ERR_UNREACHABLE);
    CHECK(host[0].f.n_fail == 1);
    host[0].t.s->replica->next_ms = 0;
    tend(&host[0], false);
    CHECK(host[0].f.n_fail == 0 && store_stale_ms(host[0].t.s) > 0);
    host[0].t.s->replica->next_ms = host[0].t.s->replica->until_ms = 0;
    tend(&host[0], false);
    CHECK(store_stale_ms(host[0].t.s) == 0);
    CHECK(put(&host[0], "task/a", "\"v\":2") == 0);
    end();
}

/* Each system call fails in turn, once and from then on: what was acknowledged
   is in the list, and the replica catches up with it. */
static void
test_faults(enum fault_call call, bool forever)
{
    char body[32];
    bool hit = true;
    size_t n;
    int rc;

    begin(2);
    CHECK(put(&host[0], "task/a", "\"v\":0") == 0);
    CHECK(confirm(&host[1]) == 0);
    for (int i = 1; i < 60 && hit; i++) {
        CHECK(put(&host[1], "task/b", "\"v\":1") == 0);
        snprintf(body, sizeof(body), "\"v\":%d", i);
        n = list.n;
        fault_start(call, i - 1, forever, EIO);
        rc = put(&host[0], "task/a", body);
        hit = fault.hit;
        fault.on = false;
        CHECK(rc != 0 || list.n == n + 1);
        CHECK(confirm(&host[0]) == 0 && store_stale_ms(host[0].t.s) == 0);
        CHECK(put(&host[0], "task/a", body) == 0);
        CHECK(sees(&host[0], "task/a", body));
    }
    CHECK(!hit);
    end();
}

/* A host that loses for too long gives up. */
TEST(patience)
{
    begin(2);
    CHECK(put(&host[0], "task/a", "\"v\":1") == 0);
    CHECK(confirm(&host[1]) == 0);
    for (int i = 0; i < 2; i++) {
        host[0].f.first = rival;
        host[0].f.first_ctx = &host[1];
        CHECK(put_once(&host[0], "task/a", "\"v\":2") ==
              (i == 0 ? ERR_AGAIN : ERR_BUSY));
        host[0].t.s->replica->lost_ms -= REPLICA_PATIENCE_MS;
    }
    CHECK(sees(&host[0], "task/a", "\"v\":\"theirs\""));
    end();
}

/* ---- the command line ---- */

static void
rival_elsewhere(void *ctx)
{
    CHECK(put(ctx, "note/a", "\"v\":1") == 0);
}

/* Runs a command beside the open store of h. */
static int
run_words(struct host *h, char *const *words)
{
    char *argv[8] = {0};

    for (int i = 0; words[i] != NULL; i++)
        argv[i] = words[i];
    return command_of(h, argv);
}

TEST(commands)
{
    char create[] = "add", list_all[] = "list", title[] = "Moved";
    char verify[] = "verify", compact[] = "compact", health[] = "health";
    struct str lines;

    begin(2);
    ts_close(&host[0].t);
    CHECK(command(&host[0], create, title) == 0);
    CHECK(list.n == 2);
    /* Another host commits first: the command runs again. */
    host[0].f.first = rival_elsewhere;
    host[0].f.first_ctx = &host[1];
    CHECK(command(&host[0], create, title) == 0);
    CHECK(list.n == 4 && host[0].f.first == NULL);
    lines = buf_view(&list.b[3].lines);
    CHECK(strstr(lines.p, "\"n\":3") != NULL);
    /* A command that reads sees the changes of other hosts. */
    CHECK(put(&host[1], "note/b", "\"v\":1") == 0);
    CHECK(command(&host[0], list_all, NULL) == 0);
    CHECK(command(&host[0], verify, NULL) == 0);
    host[0].f.uploads = 20; /* the command waits for that */
    CHECK(command(&host[0], compact, NULL) == 0 && host[0].f.n_compacted == 1);
    CHECK(host[0].f.uploads == 0);
    CHECK(command(&host[0], verify, NULL) == 0);
    CHECK(command(&host[0], health, NULL) == 0);
    open_host(&host[0]);
    CHECK(sees(&host[0], "note/b", "\"v\":1"));
    ts_close(&host[0].t);
    host[0].f.fail = ERR_UNREACHABLE;
    host[0].f.n_fail = 1;
    CHECK(command(&host[0], health, NULL) == CLI_STORE);
    host[0].f.fail = ERR_UNREACHABLE;
    host[0].f.n_fail = 3;
    CHECK(command(&host[0], list_all, NULL) == 0);
    CHECK(command(&host[0], create, title) == CLI_STORE);
    end();
}

#define FAR "9999-06-01T00:00:00.000Z"
#define TASK(id, rest) "\"op\":\"import\",\"by\":\"far\",\"v\":{" \
    "\"task_id\":\"" id "\"," rest ",\"title\":\"T\"}"
#define HELD "\"status\":\"in_progress\",\"current_owner\":\"far\"," \
    "\"priority\":2,\"version\":1,\"created_at\":\"" FAR "\""

/* A host whose clock is in the year 9999 holds nothing for ever: its leases,
   its work without one, and what it has handed over. */
TEST(far_future_holds_nothing)
{
    static const char *const bodies[] = {
        TASK("f1", HELD ",\"lease\":{\"agent\":\"far\",\"expires_at\":"
             "\"9999-06-01T00:15:00.000Z\",\"seconds\":900}"),
        TASK("f2", HELD),
        TASK("f3", "\"status\":\"handoff_ready\",\"current_owner\":\"x\","
             "\"priority\":2,\"version\":1,\"created_at\":\"" FAR "\","
             "\"handoff\":{\"from_agent\":\"far\",\"to_agent\":\"x\","
             "\"at\":\"" FAR "\"}"),
    };
    char claim[] = "claim", agent[] = "--agent=me", key[16];
    int64_t far;

    begin(1);
    CHECK(put(&host[0], "note/a", "\"v\":1") == 0);
    CHECK(time_parse(STR(FAR), &far));
    for (int i = 0; i < 3; i++) {
        snprintf(key, sizeof key, "task/f%d", i + 1);
        commit_body_there(key, 0, far, bodies[i]);
    }
    ts_close(&host[0].t);
    for (int i = 0; i < 3; i++)
        CHECK(command_of(&host[0], (char *[]){claim, agent, NULL}) == 0);
    CHECK(command_of(&host[0], (char *[]){claim, agent, NULL}) != 0);
    end();
}

/* Another host commits records that are not JSON: all hosts have them, none
   takes anything twice, and a change on one mends the task on all. */
TEST(not_json)
{
    static const char *const bodies[] = {
        "\"op\":\"update\",\"by\":\"x\",\"v\":{\"task_id\":\"bad\","
        "\"status\":\"open\",\"title\":\"cut \\u\"}",
        "\"op\":\"update\",\"by\":\"x\",\"v\":{\"task_id\":\"bad\","
        "\"status\":\"open\",\"tags\":[\"a\"},\"title\":\"T\"}",
        "\\"};
    char *const show[] = {"show", "bad", NULL}, *const all[] = {"list", NULL},
         *const add[] = {"add", "--id", "bad", "Whole", NULL},
         *const edit[] = {"edit", "bad", "--goal", "G", NULL};
    uint64_t g[2];
    unsigned pulls;

    for (size_t i = 0; i < 2 * (sizeof(bodies) / sizeof(bodies[0])); i++) {
        const char *body = bodies[i / 2];
        bool begun = i % 2 == 0; /* a whole record is before it */

        begin(2);
        CHECK(put(&host[1], "note/a", "\"v\":1") == 0);
        if (begun)
            CHECK(run_words(&host[0], add) == 0);
        for (int h = 0; h < 2; h++) {
            CHECK(confirm(&host[h]) == 0);
            g[h] = store_state(host[h].t.s)->g;
        }
        commit_body_there("task/bad", begun ? fake_newest(&list)->last : 0,
                          clock_wall_ms(), body);
        for (int h = 0; h < 2; h++) {
            CHECK(run_words(&host[h], all) == 0);
            CHECK(run_words(&host[h], show) == CLI_STORE);
            CHECK(confirm(&host[h]) == 0);
            CHECK(sees(&host[h], "task/bad", body));
            pulls = host[h].f.pulls;
            CHECK(confirm(&host[h]) == 0 && host[h].f.pulls == pulls + 1);
            CHECK(store_state(host[h].t.s)->g == g[h]);
            CHECK(put(&host[h], "note/b", "\"v\":2") == 0);
        }
        CHECK(run_words(&host[1], begun ? edit : add) == 0);
        for (int h = 0; h < 2; h++) {
            CHECK(run_words(&host[h], show) == 0);
            CHECK(confirm(&host[h]) == 0 && ts_is_replay(&host[h].t));
        }
        end();
    }
}

/* A log is pushed, and a copy of it pulled. */
TEST(push_and_pull)
{
    char to[] = "push", from[] = "pull", again[] = "--continue";
    char *copy = path_fresh("copy.log"), *log;
    struct tstore t;
    size_t len;

    begin(1);
    ts_close(&host[0].t);
    CHECK(command(&host[0], to, NULL) == CLI_NOT_MET);
    put_alone(&host[0]);
    log = file_get(host[0].path, &len);
    log[len / 2] ^= 1;
    file_put(host[0].path, log, len);
    CHECK(command(&host[0], to, NULL) == CLI_STORE && list.n == 0);
    log[len / 2] ^= 1;
    file_put(host[0].path, log, len);
    CHECK(command(&host[0], to, again) == CLI_STORE && list.n == 0);
    CHECK(command(&host[0], to, NULL) == 0 && list.n == 2);
    CHECK(command(&host[0], to, NULL) == CLI_CONFLICT);
    CHECK(command(&host[0], from, copy) == 0);
    CHECK(command(&host[0], from, copy) == CLI_CONFLICT);
    CHECK(ts_open(&t, copy) == 0);
    CHECK(strcmp(ts_get(&t, "task/b"), "\"v\":2") == 0);
    CHECK(ts_put(&t, "task/b", "\"v\":3") == 0);
    ts_close(&t);
    free(log);
    free(copy);
    end();
}

/* Tends host 0, where somebody may wait. Returns the milliseconds from its last
   operation until it pulls. */
static int64_t
go_on(bool waits)
{
    struct store *s = host[0].t.s;
    int64_t due;
    bool write;
    int fd;

    do
        store_tend(s, waits);
    while (s->replica->doing != REPLICA_IDLE);
    store_watch(s, &fd, &write, &due);
    CHECK(fd < 0 && due == s->replica->next_ms);
    return due - s->replica->began_ms;
}

/* While somebody waits, others' commits are pulled every 50 ms, at once when
   that begins; otherwise once a second. */
TEST(follows_sooner_for_a_wait)
{
    unsigned pulls;

    begin(2);
    CHECK(put(&host[0], "task/a", "\"v\":1") == 0);
    CHECK(go_on(false) > 500);
    pulls = host[0].f.pulls;
    CHECK(put(&host[1], "task/b", "\"v\":1") == 0);
    CHECK(go_on(true) <= 50 && host[0].f.pulls == pulls + 1);
    CHECK(sees(&host[0], "task/b", "\"v\":1"));
    host[0].t.s->replica->next_ms = 0;
    CHECK(go_on(false) > 500);
    end();
}

int
main(void)
{
    test_run();
    test_damage(false);
    test_damage(true);
    if (!os_lock_is_by_process())
        test_tend_once();
    else
        puts("t_replica: skipped what needs locks of open files");
    for (int call = FAULT_WRITE; call <= FAULT_OPEN; call++) {
        test_faults((enum fault_call)call, false);
        test_faults((enum fault_call)call, true);
    }
    return test_end("t_replica");
}
