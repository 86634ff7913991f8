/* snapshot - a whole local log, made from the snapshot in etcd, or put there.

   A snapshot is the log of a host, after a compaction there, in parts. Where it
   is taken, each line gets the generation of this host while the parts arrive,
   so no more than a part and a line is in memory. The file appears beside the
   log under a name of this process and is synced before the store sees it. A
   process that was killed leaves its file; the next one that makes such a file
   removes it.

   meta has the id of the one snapshot that counts. The parts of a new one have
   keys with its own id and are put only while meta is unchanged; then one
   transaction puts that id into meta, if that is still unchanged, and deletes
   all other parts. So one of several rivals wins, and the parts of the others
   are deleted. A host that stops halfway leaves parts that no host reads, until
   the next one wins. Parts are deleted at no other time: they might be those of
   a snapshot that is about to win.

   The batches that a snapshot covers are dropped ten minutes later: a host that
   lost the answer to its commit must find its batch, which takes seconds. Newer
   snapshots, of any host, do not delay that: they cover as much. So meta has
   the time since which batches are covered, and the last one, until the ten
   minutes are over; then any host drops them.

   Where a store is made, or goes on after a loss, that transaction puts the
   head as well. Such a push belongs to an operation: each step sends the
   request of the next. */

#include "etcd/snapshot.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/os.h"
#include "base/text.h"
#include "store/record.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BUFFER (256 * 1024)
#define LEFT_S (60 * 60) /* without a write: its process was killed */
#define MIN_RECORDS 1000     /* between two snapshots */
#define KEEP_MS (10 * 60000)
#define SWEEP 1000           /* batches per request */
#define PAUSE_MS 1000        /* after a request that failed */

/* ---- from etcd ---- */

void
snapshot_drop(struct engine *e)
{
    if (e->file.fd >= 0)
        close(e->file.fd);
    if (e->file.path != NULL)
        unlink(e->file.path); /* unless the store has taken it */
    free(e->file.path);
    e->file.path = NULL;
    e->file.fd = -1;
    buf_fini(&e->file.in);
    buf_fini(&e->file.out);
}

static int
fail_file(struct engine *e, int err)
{
    engine_fail(e, err, "%.200s: %s", e->file.path, strerror(errno));
    snapshot_drop(e);
    return err;
}

/* Removes the files beside path that killed processes left. Their numbers may
   be those of another container, so their age decides. */
static void
remove_left(const char *path)
{
    const char *name = file_name(path);
    size_t n = (size_t)(strrchr(name, '-') + 1 - name);
    char *in = file_dir_of(path);
    DIR *dir = in != NULL ? opendir(in) : NULL;
    struct dirent *f;
    struct stat st;

    while (dir != NULL && (f = readdir(dir)) != NULL)
        if (strncmp(f->d_name, name, n) == 0 &&
            fstatat(dirfd(dir), f->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            clock_wall_ms() / 1000 - st.st_mtime > LEFT_S)
            unlinkat(dirfd(dir), f->d_name, 0);
    if (dir != NULL)
        closedir(dir);
    free(in);
}

static void
put_header(struct engine *e, bool compacted)
{
    struct record_header h = {.g = e->at.g + 1, .compacted = compacted,
                              .replica = true};

    memcpy(h.id, e->meta.id, sizeof(h.id));
    record_put_header(&e->file.out, &h, clock_wall_ms());
    e->file.header = true;
}

/* Writes what is in out, if it is much or the last. */
static int
flush_file(struct engine *e, bool last)
{
    int rc;

    if (e->file.out.len < BUFFER && !last && e->file.out.err == 0)
        return 0;
    rc = file_flush(e->file.fd, &e->file.out, &e->file.len, BUFFER);
    return rc != 0 ? fail_file(e, rc) : 0;
}

/* Adds the whole lines in in, of another host's log. ERR_FORMAT: one is
   damaged. */
static int
add_snapshot_lines(struct engine *e)
{
    struct str in = buf_view(&e->file.in), rest = in, line;
    struct record_header h;
    struct store_rec r;
    int rc = e->file.in.err;

    while (rc == 0 && rest.len > 0 &&
           memchr(rest.p, '\n', rest.len) != NULL) {
        line = str_cut(&rest, '\n');
        if (!e->file.header) {
            if (record_parse_header(line, &h) != 0 ||
                strcmp(h.id, e->meta.id) != 0)
                return ERR_FORMAT;
            put_header(e, h.compacted);
            continue;
        }
        if (record_parse(line, &r) != 0)
            return ERR_FORMAT;
        batch_check(&r, e->url.prefix, &e->reported);
        r.g = e->at.g + 1;
        record_put(&e->file.out, &r);
        rc = flush_file(e, false);
    }
    if (rc == 0)
        buf_consume(&e->file.in, in.len - rest.len);
    return rc;
}

/* The file is whole: hands it over. */
static int
finish_file(struct engine *e)
{
    int rc = flush_file(e, true);

    if (rc != 0)
        return rc;
    rc = file_sync(e->file.fd, os_sync);
    if (rc != 0)
        return fail_file(e, rc);
    close(e->file.fd);
    e->file.fd = -1;
    e->news.what = REMOTE_REPLACE;
    e->news.more = true; /* the batches after it */
    e->news.path = e->file.path;
    e->known = true;
    head_text(&e->mine, e->news.head);
    return 0;
}

/* Another host has put a new snapshot in place, so its parts may be gone. */
static int
start_over(struct engine *e)
{
    snapshot_drop(e);
    engine_fail(e, 0, "etcd: the snapshot at %.80s is damaged; " ENGINE_REPAIR,
                e->url.prefix);
    return ERR_AGAIN;
}

static int request_snapshot_part(struct engine *e);

static int
on_snapshot_part(struct engine *e, const struct txn_answer *t)
{
    char hex[SHA256_HEX + 1];
    struct txn_kv kv;
    int rc = txn_only(&e->mem, t, 0, &kv);

    if (rc == 0) {
        sha256_add(&e->file.sum, kv.value.p, kv.value.len);
        buf_str(&e->file.in, kv.value);
        rc = add_snapshot_lines(e);
    }
    if (rc == ERR_NOT_FOUND || rc == ERR_FORMAT)
        return start_over(e);
    if (rc != 0)
        return rc;
    if (++e->file.part < e->meta.snap.parts)
        return request_snapshot_part(e);
    sha256_end_hex(&e->file.sum, hex);
    if (strcmp(hex, e->meta.snap.sha256) != 0 || e->file.in.len > 0)
        return start_over(e);
    e->mine = e->meta.snap.head;
    memcpy(e->mine.epoch, e->meta.epoch, sizeof(e->mine.epoch));
    return finish_file(e);
}

static int
request_snapshot_part(struct engine *e)
{
    txn_then(&e->body);
    txn_range(&e->body, head_key(HEAD_PART, e->meta.snap.id,
                                 (unsigned long long)e->file.part).z, NULL);
    return engine_send_txn(e, on_snapshot_part);
}

int
snapshot_take(struct engine *e)
{
    snapshot_drop(e);
    e->file.path = engine_path(e, ".replica-");
    if (e->file.path == NULL)
        return ERR_NOMEM;
    remove_left(e->file.path);
    unlink(e->file.path); /* left by a process of that number */
    e->file.fd = file_create(e->file.path);
    if (e->file.fd < 0)
        return fail_file(e, file_error());
    file_give(e->file.fd, e->log);
    e->file.len = 0;
    e->file.header = false;
    if (e->meta.snap.id[0] != '\0') {
        sha256_init(&e->file.sum);
        e->file.part = 0;
        return request_snapshot_part(e);
    }
    put_header(e, false);
    e->mine = head_first(e->meta.epoch);
    return finish_file(e);
}

/* ---- to etcd ---- */

/* What to send next. */
enum { IDLE, READ_META, PUT_PART, SWITCH };
enum { REST, FIND, DROP, FORGET }; /* the sweep */

/* Now, as etcd has it. */
static int64_t
now_ms(const struct engine *e)
{
    return clock_wall_ms() + e->skew_ms;
}

void
snapshot_stop(struct engine *e)
{
    if (e->up.state != IDLE && e->up.fd >= 0)
        close(e->up.fd);
    e->up.state = IDLE;
    e->up.fd = -1;
    e->up.pushed = NULL;
}

void
snapshot_upload(struct engine *e, int fd, int64_t end, const struct head *head)
{
    if (e->up.state != IDLE) {
        close(fd);
        return;
    }
    e->up.fd = fd;
    e->up.end = end;
    e->up.meta = (struct meta){.snap = {.head = *head, .bytes = (uint64_t)end}};
    e->up.due_ms = 0;
    e->up.state = READ_META;
    sha256_init(&e->up.sum);
    if (random_hex(e->up.meta.snap.id, META_SNAP_ID) != 0)
        snapshot_stop(e);
}

/* After a step of a push: sends the request of the next one. */
static int
continue_push(struct engine *e)
{
    if (e->up.pushed == NULL)
        return 0;
    if (snapshot_send(e) == ERR_PENDING)
        return ERR_PENDING;
    return engine_fail(e, ERR_IO, "%.200s: cannot copy it to etcd", e->log);
}

int
snapshot_push(struct engine *e, const struct head *head, engine_fn *pushed)
{
    int fd = head->n > 0 ? open(e->log, O_RDONLY | O_CLOEXEC) : -1;

    if (head->n > 0 && fd < 0)
        return engine_fail(e, ERR_IO, "%.200s: %s", e->log, strerror(errno));
    snapshot_stop(e);
    snapshot_upload(e, fd, fd >= 0 ? lseek(fd, 0, SEEK_END) : 0, head);
    if (head->n == 0)
        e->up.meta.snap.id[0] = '\0';
    memcpy(e->up.meta.id, e->meta.id, sizeof(e->meta.id));
    memcpy(e->up.meta.epoch, head->epoch, sizeof(head->epoch));
    e->up.revision = e->meta_mod;
    e->up.summed = 0;
    e->up.state = head->n > 0 ? PUT_PART : SWITCH;
    e->up.pushed = pushed;
    return continue_push(e);
}

/* ---- the parts and the switch ---- */

/* Reads the meta that operation 0 found. Returns the revision of its newest
   change; 0: the answer has none of this epoch. */
static int64_t
meta_in(struct engine *e, const struct txn_answer *t, const char *epoch,
        struct meta *m)
{
    struct str newer;
    struct txn_kv kv;

    return t != NULL && txn_only(&e->mem, t, 0, &kv) == 0 &&
           meta_read(&e->mem, kv.value, m, &newer) == 0 &&
           strcmp(m->epoch, epoch) == 0 ? kv.mod : 0;
}

static int
on_meta(struct engine *e, const struct txn_answer *t)
{
    struct head head = e->up.meta.snap.head;
    char id[META_SNAP_ID + 1];
    struct meta m;
    int64_t mod = meta_in(e, t, head.epoch, &m);

    if (mod == 0 ||
        (m.snap.id[0] != '\0' && m.snap.head.n + MIN_RECORDS > head.n)) {
        snapshot_stop(e);
        return 0;
    }
    memcpy(id, e->up.meta.snap.id, sizeof(id));
    m.snap.bytes = e->up.meta.snap.bytes;
    m.snap.head = head;
    m.snap.parts = 0;
    memcpy(m.snap.id, id, sizeof(id));
    e->up.meta = m;
    e->up.revision = mod;
    e->up.state = PUT_PART;
    return 0;
}

/* A request has failed: the same again later. */
static int
pause_upload(struct engine *e)
{
    e->up.due_ms = clock_mono_ms() + PAUSE_MS;
    return 0;
}

/* The upload is over; with an answer, it is the snapshot. */
static int
end_upload(struct engine *e, const struct txn_answer *won)
{
    engine_fn *pushed = e->up.pushed;

    snapshot_stop(e);
    if (pushed == NULL)
        return 0;
    return won != NULL ? pushed(e, won) : ERR_AGAIN;
}

static int
on_part_put(struct engine *e, const struct txn_answer *t)
{
    if (t == NULL)
        return pause_upload(e);
    if (!t->succeeded) /* another one is */
        return end_upload(e, NULL);
    if (++e->up.meta.snap.parts * PART_MAX >= e->up.meta.snap.bytes) {
        sha256_end_hex(&e->up.sum, e->up.meta.snap.sha256);
        e->up.state = SWITCH;
    }
    return continue_push(e);
}

static int
put_snapshot_part(struct engine *e)
{
    int64_t at = (int64_t)e->up.meta.snap.parts * PART_MAX, n = e->up.end - at;
    struct buf part = {0};
    char *room = buf_room(&part, PART_MAX);

    n = n > PART_MAX ? PART_MAX : n;
    if (room == NULL || file_read_at(e->up.fd, room, (size_t)n, at) != n) {
        buf_fini(&part);
        snapshot_stop(e);
        return ERR_IO;
    }
    part.len = (size_t)n;
    if (e->up.summed == e->up.meta.snap.parts) {
        sha256_add(&e->up.sum, part.p, part.len);
        e->up.summed++;
    }
    txn_if_mod(&e->body, "meta", e->up.revision);
    txn_then(&e->body);
    txn_put(&e->body,
            head_key(HEAD_PART, e->up.meta.snap.id,
                     (unsigned long long)e->up.meta.snap.parts).z,
            buf_view(&part), 0);
    buf_fini(&part);
    return engine_send_txn(e, on_part_put);
}

static int
on_switch(struct engine *e, const struct txn_answer *t)
{
    struct meta m;
    int64_t mod;

    if (t == NULL)
        return pause_upload(e);
    mod = t->revision;
    if (!t->succeeded) {
        /* An earlier answer may have been lost: then it is named already. */
        mod = meta_in(e, t, e->up.meta.epoch, &m);
        if (mod == 0 || strcmp(m.snap.id, e->up.meta.snap.id) != 0)
            return end_upload(e, NULL);
    }
    e->meta_mod = mod;
    e->meta = e->up.meta;
    snapshot_sweep(e);
    return end_upload(e, t);
}

static int
switch_snapshot(struct engine *e)
{
    struct buf text = {0};
    char head[REMOTE_HEAD_MAX];
    const char *id = e->up.meta.snap.id;
    bool push = e->up.pushed != NULL;
    int64_t now = now_ms(e);

    head_text(&e->up.meta.snap.head, head);
    if (llabs(now - e->up.meta.snap.at_ms) >= KEEP_MS) {
        e->up.meta.snap.at_ms = now;
        e->up.meta.snap.upto = e->up.meta.snap.head.n;
    }
    meta_put(&text, &e->up.meta);
    txn_if_mod(&e->body, "meta", e->up.revision);
    if (push)
        txn_if_mod(&e->body, "head", e->head_mod);
    txn_then(&e->body);
    txn_put(&e->body, "meta", buf_view(&text), 0);
    txn_delete(&e->body, "s/", head_key("s/%s/", id).z);
    txn_delete(&e->body, head_key("s/%s0", id).z, "s0");
    if (push) {
        txn_put(&e->body, "head", str_of(head), 0);
        txn_put(&e->body, "key", (struct str){e->key, sizeof(e->key)}, 0);
    }
    txn_else(&e->body);
    txn_range(&e->body, "meta", NULL);
    if (text.err != 0)
        e->body.b.err = text.err;
    buf_fini(&text);
    return engine_send_txn(e, on_switch);
}

/* ---- the sweep ---- */

/* Plans to drop the batches up to base, which are covered for age. */
static void
plan_sweep(struct engine *e, uint64_t base, int64_t age)
{
    if (age < 0)
        age = 0;
    if (age > KEEP_MS)
        age = KEEP_MS;
    e->sweep.due_ms = clock_mono_ms() + KEEP_MS - age;
    memcpy(e->sweep.epoch, e->meta.epoch, sizeof(e->sweep.epoch));
    e->sweep.base = base;
    e->sweep.state = FIND;
}

void
snapshot_sweep(struct engine *e)
{
    if (e->meta.snap.id[0] != '\0' &&
        (e->sweep.state == REST || strcmp(e->sweep.epoch, e->meta.epoch) != 0))
        plan_sweep(e, e->meta.snap.upto, now_ms(e) - e->meta.snap.at_ms);
}

/* The sweep is over. The next one is for the batches that only the newest
   snapshot known here covers. */
static int
end_sweep(struct engine *e)
{
    e->sweep.state = REST;
    if (e->meta.snap.head.n > e->sweep.base)
        plan_sweep(e, e->meta.snap.head.n, 0);
    return 0;
}

/* Finds the snapshot that counts now and the oldest batch. */
static int
on_oldest(struct engine *e, const struct txn_answer *t)
{
    int64_t mod;
    struct txn_kv kv;
    struct batch b;
    struct meta m;

    if (t == NULL) {
        e->sweep.due_ms = clock_mono_ms() + KEEP_MS;
        return 0;
    }
    mod = meta_in(e, t, e->sweep.epoch, &m);
    if (mod == 0 || m.snap.head.n < e->sweep.base)
        return end_sweep(e);
    e->sweep.meta_mod = mod;
    e->sweep.revision = t->revision;
    if (txn_only(&e->mem, t, 1, &kv) != 0 || batch_read(kv.value, &b) != 0)
        return end_sweep(e);
    e->sweep.from = b.first;
    e->sweep.state = DROP;
    return 0;
}

static int
on_swept(struct engine *e, const struct txn_answer *t)
{
    if (t == NULL) {
        e->sweep.due_ms = clock_mono_ms() + KEEP_MS;
        return 0;
    }
    e->sweep.revision = t->revision;
    e->sweep.from += SWEEP;
    if (!t->succeeded) /* another snapshot counts now */
        e->sweep.state = FIND;
    else if (e->sweep.from > e->sweep.base)
        return e->url.shared ? end_sweep(e) : (e->sweep.state = FORGET, 0);
    return 0;
}

static int
on_forgot(struct engine *e, const struct txn_answer *t)
{
    (void)t;
    return end_sweep(e);
}

static int
send_sweep(struct engine *e)
{
    uint64_t end = e->sweep.base + 1;
    struct head_key from, to;

    if (e->sweep.state == FORGET) { /* etcd keeps old revisions otherwise */
        buf_printf(&e->body.b, "{\"revision\":\"%lld\"}",
                   (long long)e->sweep.revision);
        return engine_send(e, "/v3/kv/compaction", on_forgot);
    }
    if (e->sweep.state == DROP && e->sweep.from + SWEEP < end)
        end = e->sweep.from + SWEEP;
    from = head_key(HEAD_BATCH, 0ull);
    to = head_key(HEAD_BATCH, (unsigned long long)end);
    if (e->sweep.state == DROP)
        txn_if_mod(&e->body, "meta", e->sweep.meta_mod);
    txn_then(&e->body);
    if (e->sweep.state == DROP) {
        txn_delete(&e->body, from.z, to.z);
    } else {
        txn_range(&e->body, "meta", NULL);
        txn_first(&e->body, from.z, to.z, 1);
    }
    return engine_send_txn(e, e->sweep.state == DROP ? on_swept : on_oldest);
}

/* ---- both ---- */

bool
snapshot_uploads(void *engine, uint64_t *done, uint64_t *all)
{
    const struct engine *e = engine;

    *done = e->up.meta.snap.parts * PART_MAX;
    *all = e->up.meta.snap.bytes;
    return e->up.state != IDLE ||
           (e->sweep.state != REST && e->sweep.due_ms <= clock_mono_ms());
}

int64_t
snapshot_due(const struct engine *e)
{
    int64_t sweep = e->sweep.state != REST ? e->sweep.due_ms : INT64_MAX;

    return e->up.state != IDLE && e->up.due_ms < sweep ? e->up.due_ms : sweep;
}

int
snapshot_send(struct engine *e)
{
    bool rests = e->up.due_ms > clock_mono_ms(); /* then the sweep is due */

    switch (rests ? IDLE : e->up.state) {
    case READ_META:
        e->up.summed = 0;
        txn_then(&e->body);
        txn_range(&e->body, "meta", NULL);
        return engine_send_txn(e, on_meta);
    case PUT_PART:
        return put_snapshot_part(e);
    case SWITCH:
        return switch_snapshot(e);
    default:
        return send_sweep(e);
    }
}
