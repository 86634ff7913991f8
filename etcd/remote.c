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
#include "etcd/key.h"
#include "etcd/snapshot.h"
#include "etcd/tend.h"
#include "etcd/upload.h"
#include "store/record.h"

#include <fcntl.h>
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

/* ---- what follows the replica ---- */

static void
put_window(struct engine *e, uint64_t from)
{
    txn_range(&e->body, "head", NULL);
    txn_range(&e->body, head_key(HEAD_BATCH, (unsigned long long)from).z,
              head_key(HEAD_BATCH, (unsigned long long)(from + e->window)).z);
}

static bool
are_whole(struct engine *e, struct str lines)
{
    struct store_rec r;

    while (lines.len > 0) {
        if (record_parse(str_cut(&lines, '\n'), &r) != 0)
            return false;
        batch_check(&r, e->url.prefix, &e->reported);
    }
    return true;
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
    if (!are_whole(e, b->lines) || b->first != at->n + 1)
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
    key_keep(e, (struct str){e->key, KEY_LEN});
    e->attached = etcd_endpoint(e->client);
    e->mine = e->meta.snap.head;
    head_text(&e->mine, e->news.head);
    return e->at.push == REMOTE_PUSH || strcmp(e->at.id, e->meta.id) != 0
               ? replace_replica(e, false) : 0;
}

/* Puts the log into etcd, and this head. If another host was faster, attaches
   to its own. */
static int
put_log(struct engine *e, const struct head *head)
{
    int rc = key_offer(e, e->key);

    return rc == 0 ? upload_push(e, head, on_store_made) : rc;
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

/* Returns whether the log has the record of a head. */
static bool
log_has_record(const struct engine *e, const struct head *head)
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
    return found;
}

/* Continues the log in etcd, if it follows what etcd has. If they are equal,
   etcd may still have lost its snapshot. */
static int
continue_at(struct engine *e, const struct head *head)
{
    if (!log_has_record(e, head))
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
judge_replica(struct engine *e, const struct txn_answer *t,
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
    upload_sweep(e);
    if (e->at.push == REMOTE_CONTINUE && e->at.n > 0 && e->at.n >= head->n)
        return continue_at(e, head);
    if (e->at.push == REMOTE_PUSH && e->at.n > 0 &&
        (e->meta.snap.head.n != e->at.n || e->meta.snap.head.sum != e->at.sum))
        return engine_fail(e, ERR_FORMAT, "etcd already has a store at %.100s; "
                           "push to another prefix", e->url.prefix);
    if (e->at.g == 0 || !same || e->at.push == REMOTE_PUSH)
        return replace_replica(e, false);
    if (e->at.n > 0) {
        rc = judge_replica(e, t, head);
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
        key_keep(e, key.value);
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
        upload_drop(e);
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
    e->committing = false;
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
judge_failure(struct engine *e, int rc, const struct etcd_answer *a)
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
read_answer(struct engine *e, const struct etcd_answer *a,
            struct txn_answer *t)
{
    e->skew_ms = a->skew_ms;
    arena_reset(&e->mem);
    return txn_read(&e->mem, a->body, e->is_txn, t);
}

/* Handles the answer to a request of upkeep, and sends that of an operation
   which waited for it. As an engine_fn. */
static int
take_tended_answer(struct engine *e, int rc, const struct etcd_answer *a)
{
    struct txn_answer t;

    e->then(e, rc == 0 && read_answer(e, a, &t) == 0 ? &t : NULL);
    if (e->state == ENGINE_TENDS) {
        e->state = ENGINE_IDLE;
        return ERR_PENDING;
    }
    e->state = ENGINE_OPERATES;
    return engine_send(e, TXN, e->first);
}

/* Handles the answer to a request of the operation. As an engine_fn. */
static int
take_operation_answer(struct engine *e, int rc, const struct etcd_answer *a)
{
    struct txn_answer t;

    if (rc == 0) {
        rc = read_answer(e, a, &t);
        if (rc != 0 && e->committing)
            rc = fail_unread(e);
    }
    rc = rc == 0 ? e->then(e, &t) : judge_failure(e, rc, a);
    return rc == ERR_AGAIN ? attach_replica(e) : rc;
}

static int
remote_step(void *ctx, struct remote_news *news)
{
    struct engine *e = ctx;
    struct etcd_answer a;
    int rc;

    do {
        if (e->state == ENGINE_IDLE && !tend(e))
            return ERR_PENDING;
        rc = etcd_step(e->client, &a);
        if (rc == ERR_PENDING)
            return rc;
        rc = e->state == ENGINE_OPERATES ? take_operation_answer(e, rc, &a)
                                         : take_tended_answer(e, rc, &a);
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
    *due_ms = tend_due(e);
    return -1;
}

static int
remote_examine(void *ctx, unsigned i)
{
    struct remote_at at = {.n = 0};
    struct engine *e = ctx;

    if (i >= etcd_places(e->client))
        return ERR_NOT_FOUND;
    etcd_cancel(e->client);
    e->state = ENGINE_IDLE;
    begin_operation(e, &at);
    e->committing = false;
    return begin_result(e, examine_begin(e, i));
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

static bool
remote_alive(void *ctx, uint64_t instance)
{
    return tend_alive(ctx, instance);
}

static void
remote_instance(void *ctx, uint64_t instance)
{
    tend_instance(ctx, instance);
}

static bool
remote_gone(void *ctx, uint64_t instance)
{
    return tend_gone(ctx, instance);
}

static void
remote_compacted(void *ctx, const char *path, const char *head, int64_t end)
{
    struct engine *e = ctx;
    struct head h;
    int fd = head_parse(str_of(head), &h) ? open(path, O_RDONLY | O_CLOEXEC)
                                          : -1;

    if (fd >= 0)
        upload_begin(e, fd, end, &h);
}

static int
remote_content(void *ctx, const char *dir, const char *hex,
               enum remote_content what)
{
    struct remote_at at = {.n = 0};
    struct engine *e = ctx;

    begin_operation(e, &at);
    e->committing = false;
    e->window = WINDOW_MIN;
    return begin_result(e, content_begin(e, dir, hex, what));
}

static bool
remote_uploads(void *ctx, uint64_t *done, uint64_t *all)
{
    return upload_is_under_way(ctx, done, all);
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
        remote_instance, remote_gone, remote_compacted, remote_uploads,
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
    upload_drop(&b->e);
    buf_fini(&b->e.body.b);
    buf_fini(&b->e.lines);
    buf_fini(&b->e.content.buf);
    arena_fini(&b->e.mem);
    etcd_free(b->e.client);
    free(b);
}

/* Reads "user:password" from the file in MCP_TASK_STORE_AUTH; "" if that is not
   set. */
static int
read_auth(char auth[AUTH_MAX], char why[256])
{
    const char *path = env_get("MCP_TASK_STORE_AUTH"), *wrong;
    struct str text, line;
    size_t len;
    ssize_t n;
    int fd;

    auth[0] = '\0';
    if (path == NULL)
        return 0;
    fd = file_open_private(path, 0, &len, &wrong);
    n = fd < 0 ? -1 : read(fd, auth, AUTH_MAX - 1);
    if (fd >= 0)
        close(fd);
    text = (struct str){auth, n > 0 ? (size_t)n : 0};
    line = str_line(&text);
    memmove(auth, line.p, line.len);
    auth[line.len] = '\0';
    if (auth[0] != ':' && strchr(auth, ':') != NULL)
        return 0;
    text_put(why, 256, "MCP_TASK_STORE_AUTH: %.150s: %s", path,
             fd < 0 ? wrong : "needs a line USER:PASSWORD");
    return ERR_INVALID;
}

int
remote_join(const struct remote **out, const char *url, const char *path,
            char why[256])
{
    const char *named = url == env_get("MCP_TASK_STORE") ? "MCP_TASK_STORE"
                                                         : "--store";
    char auth[AUTH_MAX], wrong[256];
    int rc = read_auth(auth, why);

    if (rc != 0)
        return rc;
    rc = remote_new(out, str_of(url), str_of(auth), path, wrong);
    if (rc != 0)
        text_put(why, 256, "%s: %s", named, wrong);
    return rc;
}
