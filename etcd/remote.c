/* remote - the order of the batches of several hosts, in etcd.

   A batch is committed by one transaction: if P/head still is what the replica
   follows, it puts the new head and the batch; else it returns the head and the
   batches that the replica lacks. The head names its batch by a random id, so a
   batch takes effect at only one place in the order, no matter how often it is
   sent. If an answer was lost, the id of the batch found at that place shows
   whose it is.

   Each batch names the one before it. So a replica never continues a history
   other than its own, even if etcd was restored from a backup and has passed
   the replica's number since.

   A process attaches before it pulls for the first time, and again when head or
   batches are not what it expects: it reads meta, head and the batch of its own
   newest record, and decides what the replica is: a prefix, which is followed;
   a prefix whose next batch is dropped, which a snapshot replaces; or something
   else, which is kept aside and replaced. */

#include "etcd/remote.h"
#include "base/clock.h"
#include "base/env.h"
#include "base/file.h"
#include "base/text.h"
#include "etcd/content.h"
#include "etcd/engine.h"
#include "etcd/snapshot.h"
#include "store/record.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h> /* rename */
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#define WINDOW_MIN 8    /* records; with the largest ones 4 MiB */
#define WINDOW_MAX 4096 /* their tokens must fit into JSON_MAX_TOKENS */
#define WINDOW_BYTES (1024 * 1024) /* larger answers do not grow */
#define MAX_TRIES 3     /* attaches in one operation */
#define AHEAD_MS (60 * 1000) /* more than any host that may write */
#define AUTH_MAX 256    /* bytes of "user:password" */

#define OLDEST "3.4.0"   /* of etcd */
#define BAD_FROM "3.5.0" /* they can lose data */
#define BAD_TO "3.5.3"   /* the first that cannot */

#define LEASE "15" /* seconds */
#define RENEW_MS 5000
#define REST_MS 1000 /* after a failure */
#define DOUBT_MS 3000
#define GONE_MS 60000 /* a host that was cut off may come back before */
#define LOOK_MS 60000 /* how long after a question the list is kept current */

#define SCHEME "etcd://"
#define PATIENCE_MS 5000
#define PATIENCE_MAX_MS 600000
#define ARTIFACTS_MIB 512
#define ARTIFACTS_MAX_MIB (1024 * 1024)

/* ---- the key ---- */

/* The key in <log>.key is the same on all hosts of a store: what one of them
   signs is good on each. mcp/sign.c uses the file. */

/* Reads the key at path. False: there is none, or others may know it. */
static bool
read_key_file(const char *path, char out[KEY_LEN])
{
    const char *why;
    size_t len;
    int fd = file_open_private(path, O_NOFOLLOW, &len, &why);
    bool ok;

    if (fd < 0)
        return false;
    ok = len == KEY_LEN && file_read_at(fd, out, KEY_LEN, 0) == KEY_LEN;
    close(fd);
    return ok;
}

/* Makes the store's key that of this host. A file that cannot be written is for
   mcp/sign.c to report. */
static void
keep_key(struct engine *e, struct str key)
{
    char *path = engine_path(e, ".key"), *temp = engine_path(e, ".key-");
    char own[KEY_LEN];

    if (path != NULL && temp != NULL && key.len == KEY_LEN &&
        (!read_key_file(path, own) || memcmp(own, key.p, KEY_LEN) != 0)) {
        unlink(temp);
        if (file_write_new(temp, e->log, key, true) == 0 &&
            rename(temp, path) != 0)
            unlink(temp);
    }
    free(path);
    free(temp);
}

/* ---- what follows the replica ---- */

static void
put_window(struct engine *e, uint64_t from)
{
    txn_range(&e->body, "head", NULL);
    txn_range(&e->body, head_key(HEAD_BATCH, (unsigned long long)from).z,
              head_key(HEAD_BATCH, (unsigned long long)(from + e->window)).z);
}

/* A host whose clock is right, or that knows it to be wrong, commits no such
   time. It is reported once on stderr: only an operator can set that clock. */
static void
check_batch_time(struct engine *e, const struct batch *b)
{
    char host[sizeof(e->ahead)];
    int64_t ahead_ms;
    struct store_rec r;

    if (record_parse(b->newest, &r) != 0 || !time_parse(r.time, &ahead_ms))
        return;
    ahead_ms -= clock_wall_ms() + e->skew_ms;
    text_put(host, sizeof(host), "%.*s", STR_ARG(b->host));
    if (ahead_ms <= AHEAD_MS || strcmp(host, e->ahead) == 0)
        return;
    text_put(e->ahead, sizeof(e->ahead), "%s", host);
    text_tell("mcptask: record %llu, by host %s, is %lld s ahead of etcd's "
              "clocks, so its time is ignored; correct the clock of that "
              "host\n",
              (unsigned long long)b->last, host, (long long)ahead_ms / 1000);
}

/* Appends a batch to lines, if it follows the head at. ERR_FORMAT: it is
   damaged, or one before it is missing; ERR_AGAIN: it is of another history. */
static int
add_batch(struct engine *e, struct head *at, const struct batch *b)
{
    struct str lines = b->lines;
    struct store_rec r;

    while (lines.len > 0) {
        if (record_parse(str_cut(&lines, '\n'), &r) != 0)
            return ERR_FORMAT;
        batch_check(&r, e->url.prefix, &e->reported);
    }
    if (b->first != at->n + 1)
        return ERR_FORMAT;
    if (strcmp(b->before, at->wid) != 0) {
        e->doubt = DOUBT_CHAIN;
        return ERR_AGAIN;
    }
    check_batch_time(e, b);
    buf_str(&e->lines, b->lines);
    at->n = b->last;
    at->sum = record_sum(b->newest);
    memcpy(at->wid, b->wid, sizeof(at->wid));
    return e->lines.err;
}

/* Reads the batches up to record n that operation 1 found into lines, and
   advances *at past them. Damaged ones count as gone. */
static int
add_batches(struct engine *e, const struct txn_answer *t, struct head *at,
            uint64_t n)
{
    const struct json_tok *kv = NULL;
    struct batch b;
    struct txn_kv v;
    int rc = 0;

    buf_reset(&e->lines, WINDOW_BYTES);
    while (rc == 0 && at->n < n && (kv = txn_next(t, 1, kv)) != NULL) {
        rc = txn_kv(&e->mem, kv, &v);
        if (rc == 0)
            rc = batch_read(v.value, &b);
        if (rc == 0)
            rc = add_batch(e, at, &b);
    }
    if (rc == ERR_FORMAT || (rc == 0 && e->lines.len == 0)) {
        e->doubt = DOUBT_GAP;
        rc = ERR_AGAIN;
    }
    return rc;
}

/* Reads the head that operation i found. */
static int
read_store_head(struct engine *e, const struct txn_answer *t, uint32_t i,
                struct head *out)
{
    struct txn_kv kv;
    int rc = txn_only(&e->mem, t, i, &kv);

    e->head_mod = rc == 0 ? kv.mod : 0;
    if (rc == 0 && !head_parse(kv.value, out))
        rc = engine_fail(e, ERR_FORMAT, "etcd: %.*s is not a store's head",
                         STR_ARG(kv.key));
    return rc;
}

/* Compares head and batches in an answer with the replica, into news. */
static int
follow_head(struct engine *e, const struct txn_answer *t)
{
    struct head head, at = e->mine;
    int rc = read_store_head(e, t, 0, &head);

    if (rc == ERR_NOT_FOUND)
        return ERR_AGAIN;
    if (rc != 0)
        return rc;
    e->news.what = REMOTE_SAME;
    head_text(&at, e->news.head);
    if (head_equal(&head, &at))
        return 0;
    if (strcmp(head.epoch, at.epoch) != 0 || head.n <= at.n)
        return ERR_AGAIN;
    rc = add_batches(e, t, &at, head.n);
    if (rc != 0)
        return rc;
    if (at.n >= head.n && !head_equal(&at, &head)) {
        e->doubt = DOUBT_CHAIN;
        return ERR_AGAIN;
    }
    head_text(&at, e->news.head);
    e->news.what = REMOTE_BEHIND;
    e->news.lines = buf_view(&e->lines);
    e->news.more = at.n < head.n || e->at.push == REMOTE_CONTINUE;
    return 0;
}

static int
on_window(struct engine *e, const struct txn_answer *t)
{
    int rc = follow_head(e, t);

    if (rc == 0 && e->news.more && t->len < WINDOW_BYTES &&
        e->window < WINDOW_MAX)
        e->window *= 2;
    else if (rc == 0)
        e->window = WINDOW_MIN;
    return rc;
}

static int
request_window(struct engine *e)
{
    txn_then(&e->body);
    put_window(e, e->mine.n + 1);
    return engine_send_txn(e, on_window);
}

/* ---- attach ---- */

static int
fail_batches(struct engine *e)
{
    return engine_fail(e, ERR_FORMAT, "etcd: the batches after record %llu at "
                       "%.80s are incomplete; " ENGINE_REPAIR,
                       (unsigned long long)e->at.n, e->url.prefix);
}

/* Returns whether the snapshot may end the doubt: it goes beyond the gap, or is
   of another history than the replica. */
static bool
may_help(const struct engine *e)
{
    const struct head *snap = &e->meta.snap.head;

    return e->doubt == DOUBT_NO || snap->n > e->at.n ||
           (e->doubt == DOUBT_CHAIN &&
            (snap->n < e->at.n ||
             snap->sum != (e->known ? e->mine.sum : e->at.sum)));
}

/* Replaces the replica; keep: it may have records that are nowhere else. */
static int
replace_replica(struct engine *e, bool keep)
{
    if (!may_help(e))
        return fail_batches(e);
    if (e->at.push == REMOTE_PUSH) {
        e->news.aside = "before-etcd";
    } else if (keep) {
        text_put(e->aside, sizeof(e->aside), "diverged-%s-%llu",
                 e->known ? e->mine.epoch : "unknown",
                 (unsigned long long)e->at.n);
        e->news.aside = e->aside;
    }
    return snapshot_take(e);
}

/* The store in etcd was made, or continues the log. */
static int
on_store_made(struct engine *e, const struct txn_answer *t)
{
    (void)t;
    keep_key(e, (struct str){e->key, KEY_LEN});
    e->attached = etcd_endpoint(e->client);
    e->mine = e->meta.snap.head;
    head_text(&e->mine, e->news.head);
    return e->at.push == REMOTE_PUSH || strcmp(e->at.id, e->meta.id) != 0
               ? replace_replica(e, false) : 0;
}

/* Puts the log into etcd, this head, and the key of this host or a new one. If
   another host was faster, attaches to its own. */
static int
put_log(struct engine *e, const struct head *head)
{
    char *path = engine_path(e, ".key");
    int rc = 0;

    if (path == NULL || !read_key_file(path, e->key))
        rc = random_bytes(e->key, KEY_LEN);
    free(path);
    return rc == 0 ? snapshot_push(e, head, on_store_made) : rc;
}

/* Puts an epoch that begins where the log ends. */
static int
make_epoch(struct engine *e)
{
    struct head h = e->known ? e->mine : head_first(e->meta.epoch);
    int rc = random_hex(h.epoch, HEAD_EPOCH);

    if (!e->known)
        h.sum = e->at.sum;
    h.n = e->at.n;
    return rc == 0 ? put_log(e, &h) : rc;
}

/* Makes the store in etcd. */
static int
create_store(struct engine *e)
{
    int rc = 0;

    if (e->at.n > 0 && e->at.push == REMOTE_FOLLOW)
        return engine_fail(e, ERR_FORMAT,
                           "etcd has no store at %.100s, but the log %.80s has "
                           "records; to copy them to etcd, run \"mcptask push "
                           "--continue\"",
                           e->url.prefix, e->log);
    e->meta = (struct meta){0};
    memcpy(e->meta.id, e->at.id, sizeof(e->meta.id));
    if (e->meta.id[0] == '\0')
        rc = random_hex(e->meta.id, RECORD_ID);
    return rc == 0 ? make_epoch(e) : rc;
}

/* Continues the log in etcd, if it has the newest record there. If they are
   equal, etcd may still have lost its snapshot. */
static int
continue_at(struct engine *e, const struct head *head)
{
    struct record_reader rd = {.fd = open(e->log, O_RDONLY | O_CLOEXEC)};
    bool found = head->n == 0;
    struct store_rec r;
    int64_t off;

    rd.end = lseek(rd.fd, 0, SEEK_END);
    while (!found && record_next_whole(&rd, &r, &off) == 1)
        found = r.n == head->n && record_sum(r.line) == head->sum;
    record_reader_fini(&rd);
    if (rd.fd >= 0)
        close(rd.fd);
    if (!found)
        return engine_fail(e, ERR_FORMAT, "the log %.80s lacks record %llu of "
                           "etcd at %.80s; push to another prefix",
                           e->log, (unsigned long long)head->n,
                           e->url.prefix);
    return e->at.n > head->n ? make_epoch(e) : put_log(e, head);
}

static int
read_store_meta(struct engine *e, const struct txn_answer *t)
{
    struct str newer = STR("");
    struct txn_kv kv;
    int rc = txn_only(&e->mem, t, 0, &kv);

    if (rc == 0)
        rc = meta_read(&e->mem, kv.value, &e->meta, &newer);
    e->meta_mod = rc == 0 ? kv.mod : 0;
    if (rc == ERR_VERSION)
        return engine_fail(e, ERR_FORMAT,
                           "the store in etcd needs mcptask %.*s; this is "
                           MCPTASK_VERSION, STR_ARG(newer));
    if (rc == ERR_FORMAT)
        return engine_fail(e, rc, "etcd: %.128s/meta is not a store's meta",
                           e->url.prefix);
    return rc;
}

/* Finds the head of a replica that has lost its text: its newest record is the
   last one of a batch in etcd. */
static int
find_mine(struct engine *e, const struct txn_answer *t,
          const struct head *head)
{
    struct txn_kv kv;
    struct batch b;
    int rc;

    if (e->at.n == head->n) {
        e->mine = *head;
        return e->at.sum == head->sum ? 0 : replace_replica(e, true);
    }
    rc = txn_only(&e->mem, t, 2, &kv);
    if (rc == 0)
        rc = batch_read(kv.value, &b);
    if (rc == ERR_NOT_FOUND ||
        (rc == 0 && (b.last != e->at.n || record_sum(b.newest) != e->at.sum)))
        return replace_replica(e, true);
    if (rc != 0)
        return rc;
    e->mine = (struct head){.n = b.last, .sum = e->at.sum};
    memcpy(e->mine.wid, b.wid, sizeof(b.wid));
    return 0;
}

/* Decides what the replica is. The window then shows whether the next batch has
   the id of its newest one. */
static int
classify_replica(struct engine *e, const struct txn_answer *t,
                 const struct head *head)
{
    int rc = 0;

    if (e->at.n > head->n || e->doubt == DOUBT_CHAIN)
        return replace_replica(e, true);
    if (e->doubt == DOUBT_GAP) /* its next batch is dropped */
        return replace_replica(e, strstr(e->at.head, head->epoch) == NULL);
    if (!e->known)
        rc = find_mine(e, t, head);
    else if (e->at.n == head->n && (strcmp(e->mine.wid, head->wid) != 0 ||
                                    e->mine.sum != head->sum))
        return replace_replica(e, true);
    memcpy(e->mine.epoch, head->epoch, sizeof(head->epoch));
    return rc;
}

static int
attach_to_store(struct engine *e, const struct txn_answer *t,
                const struct head *head)
{
    bool same = strcmp(e->at.id, e->meta.id) == 0;
    int rc = 0;

    if (e->at.n > 0 && !same)
        return engine_fail(e, ERR_FORMAT,
                           "the log %.80s belongs to another store than etcd "
                           "at %.100s; its id is %s, not %s",
                           e->log, e->url.prefix, e->at.id, e->meta.id);
    e->attached = etcd_endpoint(e->client);
    snapshot_sweep(e);
    if (e->at.push == REMOTE_CONTINUE && e->at.n > 0 && e->at.n >= head->n)
        return continue_at(e, head);
    if (e->at.push == REMOTE_PUSH && e->at.n > 0 &&
        (e->meta.snap.head.n != e->at.n || e->meta.snap.head.sum != e->at.sum))
        return engine_fail(e, ERR_FORMAT, "etcd already has a store at %.100s; "
                           "push to another prefix", e->url.prefix);
    if (e->at.g == 0 || !same || e->at.push == REMOTE_PUSH)
        return replace_replica(e, false);
    if (e->at.n > 0) {
        rc = classify_replica(e, t, head);
    } else {
        e->mine = head_first(head->epoch);
        if (e->doubt != DOUBT_NO)
            return replace_replica(e, false);
    }
    e->known = rc == 0;
    if (rc != 0 || e->news.what == REMOTE_REPLACE)
        return rc;
    head_text(&e->mine, e->news.head);
    return head_equal(&e->mine, head) ? 0 : request_window(e);
}

static int
on_attach(struct engine *e, const struct txn_answer *t)
{
    struct txn_kv key;
    struct head head;
    int rc, head_rc;

    if (txn_only(&e->mem, t, 3, &key) == 0)
        keep_key(e, key.value);
    rc = read_store_meta(e, t);
    head_rc = read_store_head(e, t, 1, &head);
    if (rc == ERR_NOT_FOUND && head_rc == ERR_NOT_FOUND)
        return create_store(e);
    if (rc == ERR_NOT_FOUND || head_rc == ERR_NOT_FOUND)
        return engine_fail(e, ERR_FORMAT, "etcd: only one of head and meta is "
                                          "at %.100s", e->url.prefix);
    if (rc == 0)
        rc = head_rc;
    return rc == 0 ? attach_to_store(e, t, &head) : rc;
}

static int
attach_replica(struct engine *e)
{
    if (e->tries++ == MAX_TRIES)
        return e->why[0] != '\0' ? ERR_FORMAT /* the snapshot is damaged */
                                 : fail_batches(e);
    e->attached = NULL;
    e->news = (struct remote_news){0};
    txn_then(&e->body);
    txn_range(&e->body, "meta", NULL);
    txn_range(&e->body, "head", NULL);
    txn_range(&e->body, head_key(HEAD_BATCH, (unsigned long long)e->at.b).z,
              NULL);
    txn_range(&e->body, "key", NULL);
    return engine_send_txn(e, on_attach);
}

/* ---- commit ---- */

static int
fail_unread(struct engine *e)
{
    return engine_fail(e, ERR_UNKNOWN, "etcd: the answer cannot be read");
}

static int
on_commit(struct engine *e, const struct txn_answer *t)
{
    const struct json_tok *kv = t->succeeded ? NULL : txn_next(t, 1, NULL);
    bool won = t->succeeded;
    struct batch b;
    struct txn_kv v;
    int rc;

    if (kv != NULL) {
        rc = txn_kv(&e->mem, kv, &v);
        if (rc != 0)
            return fail_unread(e); /* it may be this one */
        won = batch_read(v.value, &b) == 0 && strcmp(b.wid, e->next.wid) == 0;
    }
    if (won) {
        e->news.what = REMOTE_WON;
        head_text(&e->next, e->news.head);
        return 0;
    }
    rc = follow_head(e, t);
    if (rc == 0 && e->news.what != REMOTE_SAME)
        return 0;
    if (rc != 0 && rc != ERR_AGAIN)
        return rc;
    /* The next pull finds out. */
    e->news = (struct remote_news){.what = REMOTE_BEHIND, .more = true};
    head_text(&e->mine, e->news.head);
    return 0;
}

/* ---- examine: the version of one endpoint, and then a read ---- */

/* It answers, as only a member with a majority can: reports how fast, or that
   its clock is wrong, or that it is not in the cluster that has the store,
   since nodes that were set up apart seem healthy. */
static int
on_examined_head(struct engine *e, const struct txn_answer *t)
{
    const char *name = etcd_endpoint(e->client);
    struct txn_kv kv;
    struct head h;

    if (e->attached && (txn_only(&e->mem, t, 0, &kv) != 0 ||
                        !head_parse(kv.value, &h) ||
                        strcmp(h.epoch, e->meta.epoch) != 0))
        return engine_fail(e, ERR_FORMAT, "%s: in another cluster than %s, "
                           "without this store; join them as in "
                           "docs/cluster.md",
                           name, e->attached);
    if (llabs(e->skew_ms) > REMOTE_SKEW_MS)
        return engine_fail(e, ERR_SKEW, "%s: its clock is %lld ms %s this "
                           "host's; correct the wrong clock", name,
                           llabs(e->skew_ms),
                           e->skew_ms > 0 ? "ahead of" : "behind");
    return engine_fail(e, 0, "%s: etcd %s, answers in %lld ms", name,
                       e->examine.version,
                       (long long)(clock_mono_ms() - e->examine.sent_ms));
}

static int
on_version(struct engine *e, const struct txn_answer *t)
{
    struct str v = json_str(&e->mem, json_get(t->root, "etcdserver"));

    text_put(e->examine.version, sizeof(e->examine.version), "%.*s",
             STR_ARG(v));
    if (meta_is_newer(STR(OLDEST), v) ||
        (!meta_is_newer(STR(BAD_FROM), v) && meta_is_newer(STR(BAD_TO), v)))
        return engine_fail(e, ERR_VERSION, "%s: etcd %s; use 3.4 or newer, but "
                           "not 3.5.0 to 3.5.2, which can lose data",
                           etcd_endpoint(e->client), e->examine.version);
    txn_then(&e->body);
    txn_range(&e->body, "head", NULL);
    txn_end(&e->body);
    e->examine.sent_ms = clock_mono_ms();
    return engine_send_to(e, e->examine.at, TXN, on_examined_head);
}

/* ---- upkeep, between operations ---- */

/* A process that holds questions has a key P/i/<instance>, bound to a lease of
   15 s. It renews that every 5 s, and every second if that fails. An instance
   in another host's record counts as alive until a list of the keys lacks it
   that was requested after some seconds of doubt: a new process puts its key a
   moment after it first uses its number. Snapshots and the sweep after them are
   upkeep, too. One request at a time, so an operation waits for no more than
   one. */

static int
on_living(struct engine *e, const struct txn_answer *t)
{
    const struct json_tok *kv = NULL;
    size_t skip = strlen(e->url.prefix) + 3;
    struct txn_kv v;
    uint64_t n;

    e->life.due_ms = clock_mono_ms() + REST_MS;
    if (t == NULL) {
        if (!e->life.put)
            e->life.lease = 0; /* it may have ended */
        return 0;
    }
    e->life.due_ms = clock_mono_ms() + RENEW_MS;
    e->life.put = e->life.lease != 0;
    e->life.n_living = 0;
    while ((kv = txn_next(t, 0, kv)) != NULL)
        if (txn_kv(&e->mem, kv, &v) == 0 && v.key.len > skip &&
            str_u64(str_from(v.key, skip), &n) &&
            e->life.n_living < LIFE_MAX)
            e->life.living[e->life.n_living++] = n;
    e->life.list_ms = e->life.requested_ms;
    return 0;
}

static int
on_grant(struct engine *e, const struct txn_answer *t)
{
    e->life.due_ms = clock_mono_ms() + REST_MS;
    e->life.put = false;
    if (t != NULL && (e->life.lease = txn_number(t->root, "ID")) != 0)
        e->life.due_ms = 0; /* puts the key */
    return 0;
}

/* A lease that has ended comes back without its time to live. */
static int
on_renewed(struct engine *e, const struct txn_answer *t)
{
    e->life.due_ms = clock_mono_ms() + REST_MS;
    if (t == NULL)
        return 0;
    e->life.due_ms = 0; /* the list is next, or a new lease */
    e->life.renewed_ms = clock_mono_ms();
    if (txn_number(json_get(t->root, "result"), "TTL") == 0)
        e->life.lease = 0;
    return 0;
}

static int
send_life(struct engine *e)
{
    int64_t now = clock_mono_ms();

    if (e->life.instance != 0 && e->life.lease == 0) {
        buf_z(&e->body.b, "{\"TTL\":\"" LEASE "\"}");
        return engine_send(e, "/v3/lease/grant", on_grant);
    }
    if (e->life.lease != 0 && e->life.put &&
        now - e->life.renewed_ms >= RENEW_MS) {
        buf_printf(&e->body.b, "{\"ID\":\"%lld\"}", (long long)e->life.lease);
        return engine_send(e, "/v3/lease/keepalive", on_renewed);
    }
    e->life.requested_ms = now;
    txn_then(&e->body);
    txn_range(&e->body, "i/", "i0");
    if (e->life.lease != 0 && !e->life.put)
        txn_put(&e->body,
                head_key("i/%llu", (unsigned long long)e->life.instance).z,
                str_of(e->host), e->life.lease);
    return engine_send_txn(e, on_living);
}

/* Returns whether there is a lease to renew or a list to keep. */
static bool
life_is_needed(const struct engine *e)
{
    return e->attached &&
           (e->life.instance != 0 ||
            e->life.wanted_ms + LOOK_MS > clock_mono_ms());
}

/* When upkeep sends next; INT64_MAX: never. */
static int64_t
upkeep_due(const struct engine *e)
{
    int64_t due = snapshot_due(e);

    if (life_is_needed(e) && e->life.due_ms < due)
        due = e->life.due_ms;
    return due < e->life.rest_ms ? e->life.rest_ms : due;
}

/* Sends the next request that is due. Returns whether there is one. */
static bool
send_upkeep(struct engine *e)
{
    int64_t now = clock_mono_ms();
    bool sent;

    if (now < upkeep_due(e))
        return false;
    e->state = ENGINE_TENDS;
    if (life_is_needed(e) && now >= e->life.due_ms)
        sent = send_life(e) == ERR_PENDING;
    else
        sent = snapshot_send(e) == ERR_PENDING;
    if (!sent)
        e->state = ENGINE_IDLE;
    e->life.rest_ms = sent ? 0 : now + REST_MS;
    return sent;
}

/* The place of an instance that was missing when it was last asked for, or
   LIFE_DOUBTS. */
static size_t
find_doubt(const struct engine *e, uint64_t instance)
{
    size_t i = 0;

    while (i < LIFE_DOUBTS && e->life.doubt[i].instance != instance)
        i++;
    return i;
}

static bool
remote_alive(void *ctx, uint64_t instance)
{
    struct engine *e = ctx;
    int64_t now = clock_mono_ms();
    size_t i, doubt = find_doubt(e, instance);

    if (instance < REMOTE_INSTANCES)
        return false; /* a process that uses no engine */
    e->life.wanted_ms = now;
    for (i = 0; i < e->life.n_living; i++)
        if (e->life.living[i] == instance) {
            if (doubt < LIFE_DOUBTS)
                e->life.doubt[doubt].instance = 0;
            return true;
        }
    if (i == LIFE_MAX) /* there may be more */
        return true;
    if (doubt < LIFE_DOUBTS)
        return e->life.list_ms < e->life.doubt[doubt].since_ms + DOUBT_MS;
    i = e->life.next_doubt++ % LIFE_DOUBTS;
    e->life.doubt[i].instance = instance;
    e->life.doubt[i].since_ms = now;
    return true;
}

static bool
remote_gone(void *ctx, uint64_t instance)
{
    const struct engine *e = ctx;
    size_t i = find_doubt(e, instance);

    return instance >= REMOTE_INSTANCES && i < LIFE_DOUBTS &&
           e->life.list_ms >= e->life.doubt[i].since_ms + GONE_MS;
}

/* ---- the table ---- */

/* The operation is over, or was abandoned. */
static void
end_operation(struct engine *e)
{
    if (e->state == ENGINE_WAITS)
        e->state = ENGINE_TENDS;
    if (e->state == ENGINE_OPERATES)
        e->state = ENGINE_IDLE;
    buf_reset(&e->body.b, 0);
    buf_fini(&e->content.buf);
    if (e->up.pushed != NULL)
        snapshot_stop(e);
}

static void
begin_operation(struct engine *e, const struct remote_at *at)
{
    if (e->state == ENGINE_OPERATES)
        etcd_cancel(e->client);
    end_operation(e);
    e->state = e->state == ENGINE_TENDS ? ENGINE_WAITS : ENGINE_OPERATES;
    snapshot_drop(e);
    e->why[0] = '\0';
    e->reported = false;
    e->news = (struct remote_news){0};
    e->committing = false;
    e->at = *at;
    e->known = head_parse(str_of(at->head), &e->mine) && e->mine.n == at->n;
    e->doubt = DOUBT_NO;
    e->tries = 0;
}

/* Turns the result of an engine_fn into that of pull and commit. */
static int
begin_result(struct engine *e, int rc)
{
    if (rc == ERR_PENDING)
        return 0;
    end_operation(e);
    return rc;
}

static int
remote_pull(void *ctx, const struct remote_at *at)
{
    struct engine *e = ctx;
    int rc;

    begin_operation(e, at);
    rc = e->attached && e->known && at->push == REMOTE_FOLLOW &&
                 strcmp(e->mine.epoch, e->meta.epoch) == 0
             ? request_window(e) : attach_replica(e);
    return begin_result(e, rc);
}

static int
remote_commit(void *ctx, const struct remote_at *at, struct str lines,
              uint64_t first, uint64_t last, uint32_t sum)
{
    char text[REMOTE_HEAD_MAX];
    struct engine *e = ctx;
    struct buf batch = {0};
    int rc;

    begin_operation(e, at);
    e->committing = true;
    e->window = WINDOW_MIN;
    e->next = (struct head){.n = last, .sum = sum};
    memcpy(e->next.epoch, e->mine.epoch, sizeof(e->next.epoch));
    rc = random_hex(e->next.wid, HEAD_WID);
    batch_put(&batch, e->next.wid, e->mine.wid, e->host, lines);
    head_text(&e->next, text);
    txn_if_value(&e->body, "head", str_of(at->head));
    txn_then(&e->body);
    txn_put(&e->body, "head", str_of(text), 0);
    txn_put(&e->body, head_key(HEAD_BATCH, (unsigned long long)first).z,
            buf_view(&batch), 0);
    txn_else(&e->body);
    put_window(e, first);
    if (rc == 0)
        rc = batch.err;
    buf_fini(&batch);
    if (rc == 0)
        rc = engine_send_txn(e, on_commit);
    return begin_result(e, rc);
}

/* What a failed request means for an operation. */
static int
handle_failure(struct engine *e, int rc, const struct etcd_answer *a)
{
    if (a->why[0] != '\0')
        engine_fail(e, 0, rc == ERR_FULL ? "%s; run etcdctl compact, defrag, "
                                           "then alarm disarm" : "%s", a->why);
    if (rc == ERR_UNAUTHORIZED)
        return ERR_READONLY;
    if (rc == ERR_TOO_LARGE && !e->committing && e->window > WINDOW_MIN) {
        e->window = WINDOW_MIN;
        return request_window(e);
    }
    return rc == ERR_UNKNOWN && !e->committing ? ERR_UNREACHABLE : rc;
}

static int
remote_step(void *ctx, struct remote_news *news)
{
    struct engine *e = ctx;
    struct etcd_answer a;
    struct txn_answer t;
    int rc, read;

    do {
        if (e->state == ENGINE_IDLE && !send_upkeep(e))
            return ERR_PENDING;
        rc = etcd_step(e->client, &a);
        if (rc == ERR_PENDING)
            return rc;
        read = rc;
        if (rc == 0) {
            e->skew_ms = a.skew_ms;
            arena_reset(&e->mem);
            read = txn_read(&e->mem, a.body, e->is_txn, &t);
        }
        if (e->state != ENGINE_OPERATES) { /* the answer is for upkeep */
            e->then(e, read == 0 ? &t : NULL);
            rc = ERR_PENDING;
            if (e->state == ENGINE_WAITS) {
                e->state = ENGINE_OPERATES;
                rc = engine_send(e, TXN, e->first);
            } else {
                e->state = ENGINE_IDLE;
            }
            continue;
        }
        if (rc == 0 && read != 0 && e->committing)
            read = fail_unread(e);
        rc = read == 0 ? e->then(e, &t) : handle_failure(e, read, &a);
        if (rc == ERR_AGAIN)
            rc = attach_replica(e);
    } while (rc == ERR_PENDING);
    end_operation(e);
    if (rc == 0) {
        *news = e->news;
        news->skew_ms = e->skew_ms;
    }
    return rc;
}

static int
remote_watch(void *ctx, bool *write, int64_t *due_ms)
{
    const struct engine *e = ctx;
    if (e->state != ENGINE_IDLE)
        return etcd_watch(e->client, write, due_ms);
    *write = false;
    *due_ms = upkeep_due(e);
    return -1;
}

static int
remote_examine(void *ctx, unsigned i)
{
    struct engine *e = ctx;

    if (i >= etcd_places(e->client))
        return ERR_NOT_FOUND;
    etcd_cancel(e->client);
    e->state = ENGINE_IDLE;
    begin_operation(e, &(struct remote_at){.n = 0});
    e->examine.at = i;
    return begin_result(e, engine_send_to(e, i, "/version", on_version));
}

static const char *
remote_member(void *ctx, int64_t *trip_us)
{
    const struct engine *e = ctx;

    *trip_us = etcd_trip_us(e->client);
    return etcd_endpoint(e->client);
}

static const char *
remote_why(void *ctx)
{
    const struct engine *e = ctx;

    return e->why;
}

static void
remote_instance(void *ctx, uint64_t instance)
{
    struct engine *e = ctx;

    if (e->life.instance == instance)
        return;
    e->life.instance = instance;
    e->life.put = false;
    e->life.due_ms = 0;
}

static void
remote_compacted(void *ctx, const char *path, const char *head, int64_t end)
{
    struct engine *e = ctx;
    struct head h;
    int fd = head_parse(str_of(head), &h) ? open(path, O_RDONLY | O_CLOEXEC)
                                          : -1;

    if (fd >= 0)
        snapshot_upload(e, fd, end, &h);
}

static int
remote_content(void *ctx, const char *dir, const char *hex,
               enum remote_content what)
{
    struct engine *e = ctx;

    begin_operation(e, &(struct remote_at){.n = 0});
    e->window = WINDOW_MIN;
    return begin_result(e, content_begin(e, dir, hex, what));
}

/* ---- the URL ---- */

/* Parses one "name=value". Returns NULL, or an error text. */
static const char *
read_option(struct str name, struct str value, struct etcd_url *out)
{
    uint64_t v;

    if (str_is(name, "reads")) {
        out->local_reads = str_is(value, "local");
        return out->local_reads || str_is(value, "linear")
                   ? NULL : "reads needs linear or local";
    }
    if (str_is(name, "shared")) {
        out->shared = str_is(value, "1");
        return out->shared || str_is(value, "0") ? NULL
                                                 : "shared needs 0 or 1";
    }
    if (str_is(name, "artifacts"))
        return str_u64(value, &out->artifacts_mib) &&
                       out->artifacts_mib <= ARTIFACTS_MAX_MIB
                   ? NULL : "artifacts needs MiB from 0 to 1048576";
    if (!str_is(name, "patience"))
        return "unknown option; use artifacts, reads, shared or patience";
    if (!str_u64(value, &v) || v < 100 || v > PATIENCE_MAX_MS)
        return "patience needs milliseconds from 100 to 600000";
    out->patience_ms = (int64_t)v;
    return NULL;
}

static const char *
read_prefix(struct str prefix, struct etcd_url *out)
{
    static const char others[] = "/._-";

    if (prefix.p == NULL || prefix.len == 0)
        return "needs a prefix after the addresses, such as /mcptask/main";
    if (prefix.len > HEAD_PREFIX)
        return "the prefix is longer than 128 bytes";
    if (prefix.p[0] == '/' || prefix.p[prefix.len - 1] == '/')
        return "a prefix cannot begin or end with a slash";
    for (size_t i = 0; i < prefix.len; i++) {
        char c = prefix.p[i];
        bool next_ends = i + 2 >= prefix.len || prefix.p[i + 2] == '/';

        if (!isalnum((uint8_t)c) && (c == '\0' || strchr(others, c) == NULL))
            return "a prefix may have only letters, digits and . _ - /";
        if (c == '/' && next_ends) /* a store at a/s would be swept by one at a,
                                      whose snapshots are there */
            return "each part after a slash needs at least two characters";
    }
    memcpy(out->prefix, prefix.p, prefix.len);
    out->prefix[prefix.len] = '\0';
    return NULL;
}

int
etcd_url_read(struct str text, struct etcd_url *out, char why[256])
{
    struct str rest = text, options;
    const char *wrong;

    *out = (struct etcd_url){.patience_ms = PATIENCE_MS,
                              .artifacts_mib = ARTIFACTS_MIB};
    wrong = str_starts(rest, SCHEME) ? NULL : "must start with etcd://";
    if (wrong == NULL) {
        rest = str_from(rest, sizeof(SCHEME) - 1);
        out->endpoints = str_cut(&rest, '/');
        options = rest;
        if (rest.p != NULL)
            rest = str_cut(&options, '?');
        wrong = read_prefix(rest, out);
        if (memchr(out->endpoints.p, '@', out->endpoints.len) != NULL) {
            /* It is not shown: it may be a password. */
            text = STR(SCHEME "...@");
            wrong = "set MCP_TASK_STORE_AUTH to a file with USER:PASSWORD";
        }
        while (wrong == NULL && options.p != NULL) {
            struct str value = str_cut(&options, '&');
            struct str name = str_cut(&value, '=');

            wrong = read_option(name, value, out);
        }
    }
    if (wrong == NULL)
        return 0;
    text_put(why, 256, "%.*s: %s", text.len < 120 ? (int)text.len : 120,
             text.p, wrong);
    return ERR_INVALID;
}

/* ---- making it ---- */

struct both { /* so that one block is freed */
    struct remote table;
    struct engine e;
};

int
remote_new(const struct remote **out, struct str url, struct str auth,
           const char *path, char why[256])
{
    struct both *b = calloc(1, sizeof(*b));
    struct etcd_options o = {0};
    struct utsname host;
    int rc = b != NULL ? 0 : ERR_NOMEM;

    *out = NULL;
    text_put(why, 256, "out of memory");
    if (rc == 0)
        rc = etcd_url_read(url, &b->e.url, why);
    if (rc == 0) {
        o.endpoints = b->e.url.endpoints;
        o.password = auth;
        o.user = str_cut(&o.password, ':');
        rc = etcd_new(&b->e.client, &o, why);
    }
    if (rc != 0) {
        free(b);
        return rc;
    }
    b->e.log = path;
    b->e.file.fd = b->e.up.fd = -1;
    b->e.window = WINDOW_MIN;
    b->e.body.prefix = b->e.url.prefix;
    if (uname(&host) == 0)
        text_put(b->e.host, sizeof(b->e.host), "%s", host.nodename);
    b->table = (struct remote){
        &b->e, b->e.url.local_reads, remote_pull, remote_commit, remote_step,
        remote_watch, remote_examine, remote_member, remote_why, remote_alive,
        remote_instance, remote_gone, remote_compacted, snapshot_uploads,
        b->e.url.artifacts_mib > 0 ? remote_content : NULL, remote_free};
    *out = &b->table;
    return 0;
}

void
remote_free(const struct remote *r)
{
    struct both *b = (struct both *)(uintptr_t)r; /* its first member */

    if (b == NULL)
        return;
    snapshot_drop(&b->e);
    snapshot_stop(&b->e);
    buf_fini(&b->e.body.b);
    buf_fini(&b->e.lines);
    buf_fini(&b->e.content.buf);
    arena_fini(&b->e.mem);
    etcd_free(b->e.client);
    free(b);
}

int
remote_join(const struct remote **out, const char *url, const char *path,
            char why[256])
{
    const char *named = url == env_get("MCP_TASK_STORE") ? "MCP_TASK_STORE"
                                                         : "--store";
    const char *auth_path = env_get("MCP_TASK_STORE_AUTH"), *wrong_file;
    char auth[AUTH_MAX], wrong[256];
    struct str text, line = STR("");
    size_t len;
    ssize_t n;
    int fd, rc;

    if (auth_path != NULL) { /* it has "user:password" */
        fd = file_open_private(auth_path, 0, &len, &wrong_file);
        n = fd < 0 ? -1 : read(fd, auth, AUTH_MAX - 1);
        if (fd >= 0)
            close(fd);
        text = (struct str){auth, n > 0 ? (size_t)n : 0};
        line = str_line(&text);
        if (str_starts(line, ":") || memchr(line.p, ':', line.len) == NULL) {
            text_put(why, 256, "MCP_TASK_STORE_AUTH: %.150s: %s", auth_path,
                     fd < 0 ? wrong_file : "needs a line USER:PASSWORD");
            return ERR_INVALID;
        }
    }
    rc = remote_new(out, str_of(url), line, path, wrong);
    if (rc != 0)
        text_put(why, 256, "%s: %s", named, wrong);
    return rc;
}
