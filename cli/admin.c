/* admin - maintains the store: verify, compact, backup, archive.

   A store may be larger than memory, so memory holds only one record, one
   artifact, or one batch of file names.

   Names from records are checked before they become part of a path. The file
   of an artifact is named by the 64 hex digits of its SHA-256, a file being
   written "tmp-" and 16 digits. No other file is ever opened or removed.

   Invariants:
   1. No existing file is written, except the log by the store.
   2. A file is removed only a day after its last change, under the write lock,
      and when no record up to the newest names it: attaching an artifact
      stores the file first and the record after. A temporary file needs no
      lock, as no record can name it.
   3. An archive is new, whole and synced with its directory before the first
      record that drops a task is staged. A crash in between leaves tasks
      twice, in the file and in the log, and loses none.
   4. A task is dropped under the write lock, and only if the file holds its
      newest record: a task that has changed meanwhile stays.
   5. Tasks are dropped as read from the file, so all of them can be read. */

#include "cli/admin.h"
#include "cli/store.h"
#include "cli/text.h"
#include "task/artifact.h"
#include "store/verify.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/os.h"
#include "store/record.h"
#include "store/remote.h"
#include "task/change.h"
#include "json/raw.h"
#include "base/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define UPLOAD_MS 10000 /* without progress */
#define PATH_ROOM 4400 /* the longest path, and a name in it */
#define ORPHAN_AGE_S (24 * 60 * 60)
#define FLUSH_AT (1024 * 1024)
#define DROP_BATCH 200 /* records dropped by one commit, */
#define DROP_LEN 256   /* of so many bytes each; more with many dependencies */
#define NAMES_ROOM 65536          /* 16^4: a slot for each four digits */
#define NAMES_MAX (NAMES_ROOM / 4 * 3) /* file names held at once */

/* ---- artifacts ---- */

/* What verify or compact has found. */
struct artifacts {
    struct cli *c;
    uint64_t named, bad; /* artifacts that records name, and bad ones */
    bool verifies;       /* that records are JSON, too */
    uint64_t garbled;    /* newest records that are not */
    bool share;          /* put each where the other hosts find it */
    bool remove;         /* the files that no record names; else list them */
    uint64_t unnamed;
    int64_t bytes;       /* of the unnamed ones */
    uint64_t dropped;    /* where all hosts find them */
};

/* Finds the next run of exactly 64 hex digits, from *at on. Where there are no
   digits, it looks at one byte in 64. */
static bool
next_digest(struct str line, size_t *at, struct str *out)
{
    size_t i = *at; /* no digit comes just before it */

    while (line.len - i >= SHA256_HEX) {
        size_t k = SHA256_HEX, end;

        while (k > 0 && text_hex_digit(line.p[i + k - 1]) >= 0)
            k--;
        i += k;
        if (k > 0)
            continue;
        end = i + SHA256_HEX;
        while (end < line.len && text_hex_digit(line.p[end]) >= 0)
            end++;
        *out = (struct str){line.p + i, SHA256_HEX};
        *at = end;
        if (end == i + SHA256_HEX)
            return true;
        i = end;
    }
    return false;
}

struct artifact_ref {
    struct str task_id;
    struct str sha256; /* checked: 64 hex digits */
    uint64_t size;
};

/* Calls fn with each artifact in a file that the record names. */
static int
each_artifact(const struct store_rec *r,
              int (*fn)(void *ctx, const struct artifact_ref *ref), void *ctx)
{
    struct task_event ev;
    struct str list, one = STR_NONE, any;
    size_t at = 0;
    int rc = 0;

    if (!str_starts(r->key, "task/") || !next_digest(r->line, &at, &any) ||
        task_event_of(r, &ev) < 0)
        return 0;
    list = raw_member(ev.v, "artifacts");
    while (rc == 0 && list.p != NULL &&
           (one = raw_list_next(list, one)).p != NULL) {
        struct artifact_ref ref = {
            ev.id, raw_inner(raw_member(one, "sha256")),
            raw_u64(raw_member(one, "size"))};

        if (artifact_is_name(ref.sha256))
            rc = fn(ctx, &ref);
    }
    return rc;
}

/* Returns NULL if its content is there and whole, even if only fetched
   now; else what is wrong. */
static const char *
check_artifact(struct cli *c, const char *dir, const struct artifact_ref *ref,
               struct str *content)
{
    int rc = artifact_fetch(c->s.store, dir, ref->sha256, true, &c->a,
                            content);

    switch (rc) {
    case 0:
        return content->len == ref->size ? NULL : "wrong size";
    case ERR_NOT_FOUND:
        return "missing";
    case ERR_DAMAGED:
        return "wrong content";
    default:
        return err_name(rc);
    }
}

/* ---- artifacts that no record names ---- */

/* A name in the artifacts directory. A batch is a hash table of NAMES_ROOM
   slots by the first digits, so that files are listed roughly in order. */
struct name {
    char hex[SHA256_HEX + 1]; /* "": a free slot */
    bool used;
};

/* The slot of the name, or a free one for it; the table is never full. */
static struct name *
find_name(struct name *names, const char *hex)
{
    size_t i = 0;

    for (int k = 0; k < 4; k++)
        i = i << 4 | (size_t)text_hex_digit(hex[k]);
    while (names[i].hex[0] != '\0' &&
           memcmp(names[i].hex, hex, SHA256_HEX) != 0)
        i = (i + 1) % NAMES_ROOM;
    return &names[i];
}

/* Marks all names in a record, whatever its kind and in any member. */
static int
mark_used(void *ctx, const struct store_rec *r)
{
    struct str hex;
    size_t at = 0;

    while (next_digest(r->line, &at, &hex))
        find_name(ctx, hex.p)->used = true; /* harmless on a free slot */
    return 0;
}

static void
unnamed_file(struct artifacts *u, int dir_fd, const char *name, bool young)
{
    struct stat st;

    if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
        !S_ISREG(st.st_mode))
        return;
    if ((u->remove || !young) &&
        clock_wall_ms() / 1000 - st.st_mtime <= ORPHAN_AGE_S)
        return;
    if (u->remove && unlinkat(dir_fd, name, 0) != 0)
        return;
    u->unnamed++;
    u->bytes += st.st_size;
    if (u->remove)
        return;
    cli_tell(u->c, "artifact {sha256}: no record names it\n",
             "finding=%s sha256=%s size=" U64, "artifact_unnamed", name,
             (uint64_t)st.st_size);
}

/* A file that a killed process left behind: no record names it. */
static bool
is_temp(const char *name)
{
    return strncmp(name, "tmp-", 4) == 0 && str_is_hex(str_of(name + 4), 16);
}

/* Reads the next batch; false if there are no more names. */
static bool
read_names(struct artifacts *u, DIR *d, struct name *names)
{
    struct dirent *e;
    size_t n = 0;

    memset(names, 0, NAMES_ROOM * sizeof(*names));
    while (n < NAMES_MAX && (e = readdir(d)) != NULL)
        if (is_temp(e->d_name)) {
            unnamed_file(u, dirfd(d), e->d_name, false);
        } else if (artifact_is_name(str_of(e->d_name))) {
            memcpy(find_name(names, e->d_name)->hex, e->d_name, SHA256_HEX);
            n++;
        }
    return n > 0;
}

/* Handles a name that no record has, of a file in d or, if that is NULL, of
   what the hosts share. */
static void
unnamed(struct artifacts *u, DIR *d, const char *name)
{
    if (d != NULL)
        unnamed_file(u, dirfd(d), name, true);
    else if (store_share(u->c->s.store, "", str_of(name), REMOTE_DROP) == 0)
        u->dropped++;
}

/* Handles one batch. Reads most of the log without the lock, and under it only
   the records that came since. */
static int
unnamed_batch(struct artifacts *u, DIR *d, struct name *names)
{
    struct store *s = u->c->s.store;
    uint64_t seen = store_next_n(s);
    int rc = store_scan(s, 1, mark_used, names);

    if (rc == 0 && u->remove && (rc = store_lock_patiently(s)) == 0)
        rc = store_scan(s, seen, mark_used, names);
    for (size_t i = 0; rc == 0 && i < NAMES_ROOM; i++)
        if (names[i].hex[0] != '\0' && !names[i].used)
            unnamed(u, d, names[i].hex);
    if (store_locked(s))
        store_unlock(s);
    return rc;
}

/* Removes what no record names from what the hosts share. */
static int
drop_shared(struct artifacts *u, struct name *names)
{
    struct store *s = u->c->s.store;
    char last[SHA256_HEX + 1] = "";
    struct str list, hex;
    int rc = store_confirm_patiently(s);

    while (rc == 0 && (rc = store_contents(s, last, &list)) == 0 &&
           list.len > 0) {
        memset(names, 0, NAMES_ROOM * sizeof(*names));
        while (list.len > 0) {
            hex = str_cut(&list, '\n');
            text_put(last, sizeof(last), "%.*s", STR_ARG(hex));
            if (artifact_is_name(str_of(last)))
                memcpy(find_name(names, last)->hex, last, SHA256_HEX);
        }
        rc = unnamed_batch(u, NULL, names);
    }
    if (u->dropped > 0 && !u->c->json)
        buf_printf(&u->c->out, "%s: " U64 " artifacts removed\n",
                   u->c->env->store, u->dropped);
    return rc < 0 ? cli_fail_store(u->c, rc) : rc;
}

/* Lists or removes the files that no record names. */
static int
each_unnamed(struct artifacts *u)
{
    const char *dir = u->c->env->artifacts_dir;
    DIR *d = opendir(dir);
    struct name *names = malloc(NAMES_ROOM * sizeof(*names));
    int rc = 0;

    if (d == NULL && errno != ENOENT)
        rc = cli_fail_errno(u->c, ERR_IO, dir);
    else if (names == NULL)
        rc = cli_fail(u->c, ERR_NOMEM, "out of memory");
    while (rc == 0 && d != NULL && names != NULL && read_names(u, d, names)) {
        rc = unnamed_batch(u, d, names);
        rc = rc < 0 ? cli_fail_store(u->c, rc) : rc;
        if (!cli_drain(u->c))
            break;
    }
    if (u->remove && u->unnamed > 0)
        file_sync_path(dir);
    if (d != NULL)
        closedir(d);
    if (rc == 0 && u->remove && names != NULL)
        rc = drop_shared(u, names);
    free(names);
    return rc;
}

/* ---- verify ---- */

static void
put_region(void *ctx, int64_t off, int64_t len, const char *what)
{
    struct cli *c = ctx;

    cli_drain(c);
    cli_tell(c, "bytes {offset} to {end}: {what}\n",
             "finding=%s offset=" U64 " length=" U64 " end=" U64 " what=%s",
             "bad_region", (uint64_t)off, (uint64_t)len,
             (uint64_t)(off + len), what);
}

static void
put_lost(void *ctx, uint64_t from, uint64_t to)
{
    struct cli *c = ctx;

    cli_drain(c);
    cli_tell(c, from == to ? "record {first_seq} is missing\n"
                           : "records {first_seq} to {last_seq} are missing\n",
             "finding=%s first_seq=" U64 " last_seq=" U64, "records_lost",
             from, to);
}

static void
put_legible(void *ctx, struct str key)
{
    struct cli *c = ctx;

    cli_drain(c);
    cli_tell(c, "{key}: a damaged record still shows this key\n",
             "finding=%s key=%.*s", "damaged_key", STR_ARG(key));
}

static void
passed(void *ctx, int64_t off, int64_t size)
{
    cli_progress(ctx, (uint64_t)off, (uint64_t)size);
}

static int
verify_artifact(void *ctx, const struct artifact_ref *ref)
{
    struct artifacts *v = ctx;
    const char *dir = v->c->env->artifacts_dir;
    struct store *s = v->c->s.store;
    struct str content;
    const char *what = check_artifact(v->c, dir, ref, &content);

    if (what == NULL && v->share &&
        store_share(s, dir, ref->sha256, REMOTE_PUT) != 0)
        what = store_content_why(s);
    v->named++;
    if (what != NULL) {
        v->bad++;
        cli_tell(v->c, "artifact {sha256} of task {task_id}: {what}\n",
                 "finding=%s task_id=%.*s sha256=%.*s what=%s", "artifact_bad",
                 STR_ARG(ref->task_id), STR_ARG(ref->sha256), what);
    }
    arena_reset(&v->c->a);
    return cli_drain(v->c) ? 0 : 1;
}

static int
verify_record(void *ctx, const struct store_rec *r)
{
    struct artifacts *v = ctx;

    cli_progress(v->c, r->n, store_next_n(v->c->s.store));
    if (!cli_is_newest(v->c, r))
        return 0;
    if (v->verifies && !json_is_valid(r->line)) {
        v->garbled++;
        cli_tell(v->c, "{key}: record {seq}, its newest, is not JSON\n",
                 "finding=%s key=%.*s seq=" U64, "record_not_json",
                 STR_ARG(r->key), r->n);
    }
    return each_artifact(r, verify_artifact, v);
}

#define REPORT_TEXT \
    "{log}: {records} record{s} of {keys} key{s}, seq {first_seq} to " \
    "{last_seq}, {bytes} bytes: {verdict}: {what}\n{artifacts}: "

static void
put_report(struct cli *c, const struct store_report *rep,
           const struct artifacts *v)
{
    const char *text = REPORT_TEXT
        "{artifacts_named} artifact{s} named, {artifacts_bad} of them bad; "
        "{artifacts_unnamed} file{s} that no record names\n";
    const char *verdict = "there is no log yet";

    if (rep->damaged)
        verdict = "damaged (\"mcptask verify --repair OUT\" copies the rest)";
    else if (rep->torn)
        verdict = "torn, but nothing acknowledged is lost";
    else if (rep->g > 0)
        verdict = "good";
    if (rep->headless)
        text = REPORT_TEXT "not checked; verify the repaired copy\n";
    if (!c->json && rep->lost > 0)
        buf_printf(&c->out, "lost records: " U64 "\n", rep->lost);
    cli_tell(c, text, "log=%s damaged=%d torn=%d verdict=%s what=%s offset=" U64
             " line=" U64 " bad_regions=" U64 " lost=" U64
             " records=" U64 " keys=" U64 " first_seq=" U64 " last_seq=" U64
             " generation=" U64 " bytes=" U64 " artifacts=%s artifacts_named="
             U64 " artifacts_bad=" U64 " artifacts_unnamed=" U64,
             c->env->log_path, rep->damaged, rep->torn, verdict,
             rep->what[0] ? rep->what : "nothing is wrong",
             (uint64_t)rep->off, rep->line, rep->bad, rep->lost,
             rep->records, rep->keys, rep->first_n, rep->last_n, rep->g,
             (uint64_t)rep->bytes,
             c->env->artifacts_dir, v->named, v->bad, v->unnamed);
}

/* Checks the artifacts that the newest records name, as far as the log can be
   read. */
static int
verify_artifacts(struct artifacts *v)
{
    int rc = cli_open(v->c, true);

    if (rc != 0)
        return rc;
    rc = store_scan(v->c->s.store, 1, verify_record, v);
    return rc < 0 ? cli_fail_store(v->c, rc) : each_unnamed(v);
}

int
cli_artifacts(struct cli *c, bool share, uint64_t *n, uint64_t *bad)
{
    struct artifacts v = {.c = c, .share = share};
    int rc = store_scan(c->s.store, 1, verify_record, &v);

    *n = v.named;
    *bad = v.bad;
    if (rc < 0)
        return cli_fail_store(c, rc);
    return v.bad > 0 ? CLI_STORE : CLI_OK;
}

int
cli_repair(struct cli *c, const char *out)
{
    struct store_report rep;
    int rc = store_repair(c->env->log_path, out, &rep);

    if (rc == ERR_EXISTS)
        return cli_fail(c, rc, "%s: exists\nname a new file", out);
    if (rc == ERR_NOT_FOUND)
        return cli_fail(c, rc, "%s: there is no log yet", c->env->log_path);
    if (rc == ERR_IO || rc == ERR_READONLY)
        return cli_fail_errno(c, rc, out);
    if (rc < 0)
        return cli_fail_path(c, rc, out);
    if (!c->json)
        buf_printf(&c->out, "%s: " U64 " whole record%s written\n", out,
                   rep.records, rep.records == 1 ? "" : "s");
    return 0;
}

int
cli_verify(struct cli *c)
{
    const char *out = c->args.repair, *path = c->env->log_path;
    struct store_report rep;
    struct store_verify_callbacks w = {put_region, put_lost, put_legible,
                                      passed, c};
    struct artifacts v = {.c = c, .verifies = true};
    int rc = store_verify(path, &rep, &w);

    if (rc == ERR_NOT_FOUND) { /* no log or an empty file: an empty store */
        rep = (struct store_report){.off = -1};
        rc = 0;
    }
    if (rc < 0 && rep.what[0] != '\0')
        return cli_fail(c, rc, "%s", rep.what);
    if (rc < 0)
        return cli_fail_path(c, rc, path);
    if (!rep.headless) /* else the log cannot be opened */
        rc = verify_artifacts(&v);
    put_report(c, &rep, &v);
    if (rc == 0 && out != NULL)
        rc = cli_repair(c, out);
    if (rc != 0)
        return rc;
    return rep.damaged || v.bad > 0 || v.garbled > 0 ? CLI_STORE : CLI_OK;
}

/* ---- compact ---- */

/* Waits until the remote has the compacted log as its snapshot, if it wants
   it. */
static int
upload(struct cli *c)
{
    int64_t since = clock_mono_ms();
    uint64_t done, all, before = 0;

    for (; store_uploads(c->s.store, &done, &all); before = done) {
        if (done != before)
            since = clock_mono_ms();
        if (clock_mono_ms() - since > UPLOAD_MS)
            return cli_fail(c, ERR_UNREACHABLE, "%s: compacted, but etcd does "
                            "not accept it\nrun \"mcptask doctor\"",
                            c->env->log_path);
        cli_await_upload(c);
        store_tend(c->s.store, false);
    }
    return 0;
}

static int
compact_log(struct cli *c, int64_t len)
{
    const struct store_state *st;
    uint64_t slices = 0;
    int rc = cli_try_lock(c);

    if (rc == 0)
        while ((rc = store_compact(c->s.store)) == ERR_PENDING)
            cli_progress(c, slices++ << 20, (uint64_t)len);
    if (rc == ERR_BUSY)
        return cli_fail(c, rc, "%s: another process compacts it or holds its "
                        "lock\ntry again", c->env->log_path);
    st = store_state(c->s.store);
    if (rc == ERR_READONLY && st->err == 0)
        return cli_fail(c, rc, "%s: only its owner, or a group that may read "
                        "and write it, can replace it\nlet its owner compact "
                        "it, or run \"chmod g+rw\" on it", st->path);
    if (rc == ERR_EXISTS)
        return cli_fail(c, rc, "%s.%llu: exists, and is another log\nrename "
                        "it, because this generation needs that name",
                        st->path, (unsigned long long)st->g);
    return rc < 0 ? cli_fail_store(c, rc) : upload(c);
}

/* Has the compaction take back times that are ahead of the clock. */
static int
reset_time(struct cli *c)
{
    int64_t now = clock_wall_ms();
    int64_t ahead = store_now_ms(c->s.store) - now;
    char span[24] = "not";

    if (ahead >= 1000) /* else the two clocks were read one after the other */
        cli_span(span, ahead);
    if (store_is_shared(c->s.store))
        return cli_fail(c, ERR_INVALID, "--reset-time: not for a store of "
                        "several hosts, which omits such times");
    if (now < CLOCK_NOT_BEFORE)
        return cli_fail(c, ERR_INVALID, "--reset-time: the clock shows %s\nset "
                        "it first", time_text(now));
    store_take_back_time(c->s.store);
    if (!c->json)
        buf_printf(&c->out, "%s: its time was %s ahead of the clock, %s\n",
                   c->env->log_path, span, time_text(now));
    /* Where a mark cannot carry it, no other process is told: store/state.c. */
    if (!c->json && os_boot_id()[0] == '\0')
        buf_z(&c->out, "if servers run, end them and do this again: on this "
              "system their next change brings the old time back\n");
    return 0;
}

static void
put_compact(struct cli *c, int64_t before, int64_t after,
            const struct artifacts *u)
{
    bool orphans = c->args.orphans;

#define SHRUNK "log=%s bytes_before=" U64 " bytes_after=" U64
    cli_tell(c, orphans ? "{log}: {bytes_before} -> {bytes_after} bytes\n"
                          "{artifacts}: {artifacts_removed} artifacts of "
                          "{artifact_bytes_removed} bytes removed\n"
                        : "{log}: {bytes_before} -> {bytes_after} bytes\n",
             orphans ? SHRUNK " artifacts=%s artifacts_removed=" U64
                       " artifact_bytes_removed=" U64
                       " artifacts_dropped=" U64 : SHRUNK,
             c->env->log_path, (uint64_t)before, (uint64_t)after,
             c->env->artifacts_dir, u->unnamed, (uint64_t)u->bytes,
             u->dropped);
}

int
cli_compact(struct cli *c)
{
    const struct store_state *st = store_state(c->s.store);
    struct artifacts u = {.c = c, .remove = true};
    int64_t before = st->len, after;
    int rc = 0;

    if (st->g > 0 && c->args.reset_time)
        rc = reset_time(c);
    if (rc == 0 && st->g > 0) /* else there is no log to compact */
        rc = compact_log(c, before);
    after = store_state(c->s.store)->len;
    if (rc == 0 && c->args.orphans && st->g > 0)
        rc = each_unnamed(&u);
    if (rc == 0)
        put_compact(c, before, after, &u);
    return rc;
}

/* ---- backup ---- */

struct backup {
    struct cli *c;
    char dir[PATH_ROOM]; /* of the copied artifacts */
    uint64_t records, files, bad;
};

/* A missing or damaged artifact is reported, and the rest is still saved; a
   copy that cannot be written ends the backup. */
static int
backup_artifact(void *ctx, const struct artifact_ref *ref)
{
    struct backup *b = ctx;
    char hex[SHA256_HEX + 1];
    struct str content;
    const char *what;
    bool made;
    int rc = 0;

    if (artifact_has(b->dir, ref->sha256, ref->size))
        return 0; /* another record named it */
    what = check_artifact(b->c, b->c->env->artifacts_dir, ref, &content);
    if (what == NULL) {
        rc = artifact_put(b->dir, content, hex, &made);
        what = check_artifact(b->c, b->dir, ref, &content);
    }
    arena_reset(&b->c->a);
    if (rc < 0)
        return cli_fail_path(b->c, rc, b->dir);
    b->files += what == NULL;
    b->bad += what != NULL;
    if (what != NULL)
        cli_fail(b->c, ERR_DAMAGED, "artifact %.*s of task %.*s: %s",
                 STR_ARG(ref->sha256), STR_ARG(ref->task_id), what);
    return 0;
}

static int
backup_record(void *ctx, const struct store_rec *r)
{
    struct backup *b = ctx;

    b->records++;
    cli_progress(b->c, r->n, store_next_n(b->c->s.store));
    return each_artifact(r, backup_artifact, b);
}

static int
fail_exists(const struct cli *c, const char *path)
{
    return cli_fail(c, ERR_EXISTS, "%s: exists\nback up into a new directory",
                    path);
}

/* Makes dir and dir/artifacts. */
static int
make_dirs(struct backup *b, const char *dir)
{
    struct cli *c = b->c;

    if (mkdir(dir, 0700) != 0 && errno != EEXIST)
        return cli_fail_errno(c, ERR_IO, dir);
    text_put(b->dir, sizeof(b->dir), "%s/artifacts", dir);
    if (mkdir(b->dir, 0700) == 0)
        return 0;
    return errno == EEXIST ? fail_exists(c, b->dir)
                           : cli_fail_errno(c, ERR_IO, b->dir);
}

/* Removes the directory of artifacts, which make_dirs made. Before the first
   record nothing was copied there; and it may now be the store's own. */
static void
remove_artifacts(const struct backup *b)
{
    DIR *d = b->records > 0 ? opendir(b->dir) : NULL;
    struct stat is, own;
    bool ours = d != NULL && fstat(dirfd(d), &is) == 0 &&
                (stat(b->c->env->artifacts_dir, &own) != 0 ||
                 is.st_dev != own.st_dev || is.st_ino != own.st_ino);
    struct dirent *e;

    while (ours && (e = readdir(d)) != NULL)
        if (artifact_is_name(str_of(e->d_name)))
            unlinkat(dirfd(d), e->d_name, 0);
    if (d != NULL)
        closedir(d);
    rmdir(b->dir);
}

int
cli_backup(struct cli *c)
{
    const char *dir = c->operand[0];
    const struct store_state *st = store_state(c->s.store);
    struct backup b = {.c = c};
    int rc;

    if (st->g == 0)
        return cli_fail(c, ERR_NOT_FOUND, "%s: there is no log yet", st->path);
    rc = make_dirs(&b, dir);
    if (rc != 0)
        return rc;
    rc = store_backup(c->s.store, dir, backup_record, &b);
    if (rc != 0 && rc != ERR_DAMAGED)
        remove_artifacts(&b);
    if (rc == ERR_EXISTS)
        return fail_exists(c, dir);
    if (rc < 0)
        return cli_fail_path(c, rc, dir);
    if (rc == 0 && file_sync_path(dir) != 0) /* its files are synced */
        rc = cli_fail_errno(c, ERR_IO, dir);
    if (rc == 0)
        cli_tell(c, "{dir}: {records} record{s} and {artifacts} artifact{s}"
                 "\n",
                 "dir=%s records=" U64 " artifacts=" U64 " artifacts_bad=" U64,
                 dir, b.records, b.files, b.bad);
    if (rc == 0 && b.bad > 0)
        rc = CLI_STORE;
    return rc;
}

/* ---- archive ---- */

struct archive {
    struct cli *c;
    char path[PATH_ROOM];
    int fd;
    int64_t before_ms;
    int64_t len, body; /* bytes written; offset of the first record */
    int64_t dropped_len; /* of them, those that the log's compaction will not
                            keep for a while */
    struct buf out;
    struct store_state st; /* of the log */
    uint64_t n, dropped;
};

static int
flush_archive(struct archive *x)
{
    return file_flush(x->fd, &x->out, &x->len, FLUSH_AT);
}

static int
archive_record(void *ctx, const struct store_rec *r)
{
    struct archive *x = ctx;
    struct task_event ev;
    int64_t at;

    cli_progress(x->c, r->n, x->st.head);
    if (!str_starts(r->key, "task/") || !cli_is_newest(x->c, r) ||
        !time_parse(r->time, &at) || at >= x->before_ms ||
        task_event_of(r, &ev) != 0 ||
        !task_raw_ended(raw_member(ev.v, "status")))
        return 0;
    record_put(&x->out, r);
    if (!store_find(x->c->s.store, r->key)->held)
        x->dropped_len += (int64_t)r->line.len;
    x->n++;
    return x->out.len < FLUSH_AT ? x->out.err : flush_archive(x);
}

/* Writes and syncs the whole file. */
static int
write_archive(struct archive *x)
{
    struct record_header h = {.g = x->st.g, .archive = true};
    int64_t now_ms = store_now_ms(x->c->s.store);
    int rc = random_hex(h.id, RECORD_ID);

    record_put_header(&x->out, &h, now_ms);
    x->body = (int64_t)x->out.len;
    if (rc == 0)
        rc = store_scan(x->c->s.store, 1, archive_record, x);
    record_put_end(&x->out, x->st.g, x->st.head, x->n, now_ms);
    if (rc == 0)
        rc = flush_archive(x);
    if (rc == 0)
        rc = file_sync(x->fd, os_sync);
    return rc == 0 ? file_sync_path_of(x->path) : rc;
}

/* Whether there is room for the records that drop the tasks, and then for a
   compaction; before the file is written, for one with what it will have. Else
   the archive would take the room that it should make. */
static bool
can_drop(const struct archive *x)
{
    int64_t drops = (int64_t)x->n * DROP_LEN;

    return store_can_compact(x->c->s.store, 2 * drops - x->dropped_len);
}

/* Drops tasks in one commit; returns 1 if there are more, ERR_AGAIN if others
   were first. */
static int
drop_some(struct archive *x, struct record_reader *rd)
{
    struct cli *c = x->c;
    struct store_rec r;
    struct str line;
    uint64_t staged = 0;
    bool unknown;
    int64_t off, from = rd->off;
    int got = 1, done, rc = store_lock_patiently(c->s.store);

    if (rc != 0)
        return rc;
    for (int i = 0; i < DROP_BATCH && rc == 0 &&
                    !store_batch_is_full(c->s.store) &&
                    (got = record_next(rd, &line, &off)) == 1; i++) {
        if (record_parse(line, &r) != 0)
            rc = ERR_DAMAGED;
        else if (str_starts(r.key, "task/"))
            rc = task_archive(c->s.tasks, &r);
        else
            rc = ERR_VERSION;
        staged += rc == 0;
        rc = rc == ERR_VERSION ? 0 : rc;
    }
    done = cli_commit(c, &unknown);
    x->dropped += done == 0 ? staged : 0;
    if (done == ERR_AGAIN) {
        record_reader_fini(rd);
        *rd = (struct record_reader){.fd = x->fd, .off = from, .end = x->len};
    }
    if (done != 0)
        return done;
    return rc != 0 ? rc : got;
}

static int
drop_all(struct archive *x)
{
    struct record_reader rd = {.fd = x->fd, .off = x->body, .end = x->len};
    int rc;

    while ((rc = drop_some(x, &rd)) == 1 || rc == ERR_AGAIN)
        cli_progress(x->c, x->dropped, x->n);
    record_reader_fini(&rd);
    return rc;
}

/* Reads the time of --done-before, and names the file after its day. */
static int
begin_archive(struct archive *x)
{
    const char *arg = x->c->args.before;
    struct str day;

    x->st = *store_state(x->c->s.store);
    if (arg == NULL)
        return cli_misuse(x->c, "--done-before is missing");
    day = arena_printf(&x->c->a, "%sT00:00:00Z", arg);
    if (!time_parse(str_of(arg), &x->before_ms) &&
        (day.p == NULL || !time_parse(day, &x->before_ms)))
        return cli_misuse(x->c, "--done-before needs a day or a time, for "
                          "example 2026-07-28, not \"%s\"", arg);
    text_put(x->path, sizeof(x->path), "%s.archive-%.10s", x->st.path,
             time_text(x->before_ms));
    return 0;
}

static int
archive(struct archive *x)
{
    int rc;

    if (x->st.g == 0)
        return 0; /* there is no log yet */
    if ((rc = cli_try_lock(x->c)) != 0)
        return cli_fail_store(x->c, rc);
    x->st = *store_state(x->c->s.store); /* others may have written to it */
    x->fd = file_create(x->path);
    if (x->fd < 0 && errno == EEXIST)
        return cli_fail(x->c, ERR_EXISTS, "%s: exists\nrename it, or import "
                        "it and then remove it", x->path);
    if (x->fd < 0)
        return cli_fail_errno(x->c, ERR_IO, x->path);
    file_give(x->fd, x->st.path);
    rc = can_drop(x) ? write_archive(x) : ERR_FULL;
    if (rc == 0 && !can_drop(x))
        rc = ERR_FULL;
    if (rc != 0 || x->n == 0) /* no task will be dropped */
        unlink(x->path);
    if (rc == ERR_FULL)
        rc = cli_fail(x->c, rc, "%s: the disk lacks room for it and for the "
                      "compaction after it, so no task was moved\nfree some "
                      "space, or move fewer tasks, with an earlier "
                      "--done-before", x->path);
    else if (rc != 0)
        rc = cli_fail_path(x->c, rc, x->path);
    else if (x->n > 0 && (rc = drop_all(x)) < 0)
        rc = cli_fail_store(x->c, rc);
    close(x->fd);
    return rc;
}

int
cli_archive(struct cli *c)
{
    struct archive x = {.c = c};
    int rc = begin_archive(&x);

    if (rc == 0)
        rc = archive(&x);
    if (rc == 0)
        cli_tell(c, x.n > 0 ? "{archive}: {archived} task{s} moved, {changed} "
                              "changed in the meantime and were not moved\n"
                            : "nothing to archive\n",
                 "archive=%s archived=" U64 " changed=" U64,
                 x.n > 0 ? x.path : "", x.dropped, x.n - x.dropped);
    if (rc == 0 && x.n > 0 && !cli_make_room(c))
        rc = cli_fail_store(c, ERR_FULL);
    buf_fini(&x.out);
    return rc;
}
