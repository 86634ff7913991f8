/* admin - maintains the store: verify, compact, backup, archive, health and
   doctor.

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
   5. Tasks are dropped as read from the file, so all of them can be read.

   health says in one line whether the store can be used. doctor checks
   everything that a server needs, a line each, and says how to mend it. A
   server that answers for another store than this command's is a problem, too:
   its clients do not see our tasks. doctor starts this binary as a client
   would, and asks whatever listens on loopback for /health, or MCP_TASK_SERVER
   for /ready; else it connects to the nodes of --store only. It opens and locks
   the store as any writer does, and changes nothing in it. */

#include "cli/admin.h"
#include "cli/config.h"
#include "cli/run.h"
#include "cli/server.h"
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
#include "base/token.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#define UPLOAD_MS 10000 /* without progress */
#define PATH_ROOM 4400 /* the longest path, and a name in it */
#define ORPHAN_AGE_S (24 * 60 * 60)
#define FLUSH_AT (1024 * 1024)
#define DROP_BATCH 200 /* records dropped by one commit, */
#define DROP_LEN 256   /* of so many bytes each; more with many dependencies */
#define NAMES_ROOM 65536          /* 16^4: a slot for each four digits */
#define NAMES_MAX (NAMES_ROOM / 4 * 3) /* file names held at once */
#define ANSWER_MS 5000 /* until a server has answered doctor, */
#define ANSWER_MAX 4096
#define AHEAD_MS (60 * 1000)

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

/* Handles one batch, of files in d or, if that is NULL, of what the hosts
   share. Reads most of the log without the lock, and under it only the records
   that came since. */
static int
unnamed_batch(struct artifacts *u, DIR *d, struct name *names)
{
    struct store *s = u->c->s.store;
    uint64_t seen = store_next_n(s);
    int rc = store_scan(s, 1, mark_used, names);

    if (rc == 0 && u->remove && (rc = store_lock_patiently(s)) == 0)
        rc = store_scan(s, seen, mark_used, names);
    for (size_t i = 0; rc == 0 && i < NAMES_ROOM; i++) {
        const char *hex = names[i].hex;

        if (hex[0] == '\0' || names[i].used)
            continue;
        if (d != NULL)
            unnamed_file(u, dirfd(d), hex, true);
        else if (store_share(s, "", str_of(hex), REMOTE_DROP) == 0)
            u->dropped++;
    }
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
    struct dirent *e;
    size_t n = 1;
    int rc = 0;

    if (d == NULL && errno != ENOENT)
        rc = cli_fail_errno(u->c, ERR_IO, dir);
    else if (names == NULL)
        rc = cli_fail(u->c, ERR_NOMEM, "out of memory");
    while (rc == 0 && d != NULL && names != NULL && n > 0) {
        memset(names, 0, NAMES_ROOM * sizeof(*names));
        for (n = 0; n < NAMES_MAX && (e = readdir(d)) != NULL;) {
            if (artifact_is_name(str_of(e->d_name))) {
                memcpy(find_name(names, e->d_name)->hex, e->d_name, SHA256_HEX);
                n++;
            } else if (strncmp(e->d_name, "tmp-", 4) == 0 &&
                       str_is_hex(str_of(e->d_name + 4), 16)) {
                /* A killed process left it behind. */
                unnamed_file(u, dirfd(d), e->d_name, false);
            }
        }
        if (n > 0)
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
put_passed(void *ctx, int64_t off, int64_t size)
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

#define REPORT_TEXT \
    "{log}: {records} record{s} of {keys} key{s}, seq {first_seq} to " \
    "{last_seq}, {bytes} bytes: {verdict}: {what}\n{artifacts}: "

int
cli_verify(struct cli *c)
{
    const char *out = c->args.repair, *path = c->env->log_path;
    const char *verdict = "there is no log yet", *text = REPORT_TEXT
        "{artifacts_named} artifact{s} named, {artifacts_bad} of them bad; "
        "{artifacts_unnamed} file{s} that no record names\n";
    struct store_report rep;
    struct store_verify_callbacks w = {put_region, put_lost, put_legible,
                                       put_passed, c};
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
    /* The artifacts that the newest records name, as far as the log can be
       read; a headless one cannot be opened. */
    if (!rep.headless && (rc = cli_open(c, true)) == 0) {
        rc = store_scan(c->s.store, 1, verify_record, &v);
        rc = rc < 0 ? cli_fail_store(c, rc) : each_unnamed(&v);
    }
    if (rep.damaged)
        verdict = "damaged (\"mcptask verify --repair OUT\" copies the rest)";
    else if (rep.torn)
        verdict = "torn, but nothing acknowledged is lost";
    else if (rep.g > 0)
        verdict = "good";
    if (rep.headless)
        text = REPORT_TEXT "not checked; verify the repaired copy\n";
    if (!c->json && rep.lost > 0)
        buf_printf(&c->out, "lost records: " U64 "\n", rep.lost);
    cli_tell(c, text, "log=%s damaged=%d torn=%d verdict=%s what=%s offset=" U64
             " line=" U64 " bad_regions=" U64 " lost=" U64
             " records=" U64 " keys=" U64 " first_seq=" U64 " last_seq=" U64
             " generation=" U64 " bytes=" U64 " artifacts=%s artifacts_named="
             U64 " artifacts_bad=" U64 " artifacts_unnamed=" U64,
             path, rep.damaged, rep.torn, verdict,
             rep.what[0] ? rep.what : "nothing is wrong",
             (uint64_t)rep.off, rep.line, rep.bad, rep.lost, rep.records,
             rep.keys, rep.first_n, rep.last_n, rep.g, (uint64_t)rep.bytes,
             c->env->artifacts_dir, v.named, v.bad, v.unnamed);
    if (rc == 0 && out != NULL)
        rc = cli_repair(c, out);
    if (rc != 0)
        return rc;
    return rep.damaged || v.bad > 0 || v.garbled > 0 ? CLI_STORE : CLI_OK;
}

/* ---- compact ---- */

/* Compacts the log, and waits until the remote has that as its snapshot, if it
   wants it. Returns 0, or an exit code after printing the error. */
static int
compact_log(struct cli *c, int64_t len)
{
    struct store *s = c->s.store;
    const struct store_state *st;
    uint64_t slices = 0, sent, all, before = 0;
    int64_t since;
    int rc = cli_try_lock(c);

    if (rc == 0)
        while ((rc = store_compact(s)) == ERR_PENDING)
            cli_progress(c, slices++ << 20, (uint64_t)len);
    if (rc == ERR_BUSY)
        return cli_fail(c, rc, "%s: another process compacts it or holds its "
                        "lock\ntry again", c->env->log_path);
    st = store_state(s);
    if (rc == ERR_READONLY && st->err == 0)
        return cli_fail(c, rc, "%s: only its owner, or a group that may read "
                        "and write it, can replace it\nlet its owner compact "
                        "it, or run \"chmod g+rw\" on it", st->path);
    if (rc == ERR_EXISTS)
        return cli_fail(c, rc, "%s.%llu: exists, and is another log\nrename "
                        "it, because this generation needs that name",
                        st->path, (unsigned long long)st->g);
    if (rc < 0)
        return cli_fail_store(c, rc);
    since = clock_mono_ms();
    for (; store_uploads(s, &sent, &all); before = sent) {
        if (sent != before)
            since = clock_mono_ms();
        if (clock_mono_ms() - since > UPLOAD_MS)
            return cli_fail(c, ERR_UNREACHABLE, "%s: compacted, but etcd does "
                            "not accept it\nrun \"mcptask doctor\"",
                            c->env->log_path);
        cli_await_upload(c);
        store_tend(s, false);
    }
    return 0;
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

#define SHRUNK_TEXT "{log}: {bytes_before} -> {bytes_after} bytes\n"
#define SHRUNK "log=%s bytes_before=" U64 " bytes_after=" U64

int
cli_compact(struct cli *c)
{
    const struct store_state *st = store_state(c->s.store);
    struct artifacts u = {.c = c, .remove = true};
    bool orphans = c->args.orphans;
    int64_t before = st->len, after;
    int rc = 0;

    if (st->g > 0 && c->args.reset_time)
        rc = reset_time(c);
    if (rc == 0 && st->g > 0) /* else there is no log to compact */
        rc = compact_log(c, before);
    after = store_state(c->s.store)->len;
    if (rc == 0 && orphans && st->g > 0)
        rc = each_unnamed(&u);
    if (rc == 0)
        cli_tell(c, orphans ? SHRUNK_TEXT
                              "{artifacts}: {artifacts_removed} artifacts of "
                              "{artifact_bytes_removed} bytes removed\n"
                            : SHRUNK_TEXT,
                 orphans ? SHRUNK " artifacts=%s artifacts_removed=" U64
                           " artifact_bytes_removed=" U64
                           " artifacts_dropped=" U64 : SHRUNK,
                 c->env->log_path, (uint64_t)before, (uint64_t)after,
                 c->env->artifacts_dir, u.unnamed, (uint64_t)u.bytes,
                 u.dropped);
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

/* Removes the directory of artifacts, which cli_backup made. Before the first
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
    if (mkdir(dir, 0700) != 0 && errno != EEXIST)
        return cli_fail_errno(c, ERR_IO, dir);
    text_put(b.dir, sizeof(b.dir), "%s/artifacts", dir);
    if (mkdir(b.dir, 0700) != 0)
        return errno == EEXIST ? fail_exists(c, b.dir)
                               : cli_fail_errno(c, ERR_IO, b.dir);
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
archive(struct archive *x)
{
    struct record_reader rd;
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
    if (rc == ERR_FULL) {
        rc = cli_fail(x->c, rc, "%s: the disk lacks room for it and for the "
                      "compaction after it, so no task was moved\nfree some "
                      "space, or move fewer tasks, with an earlier "
                      "--done-before", x->path);
    } else if (rc != 0) {
        rc = cli_fail_path(x->c, rc, x->path);
    } else if (x->n > 0) {
        rd = (struct record_reader){.fd = x->fd, .off = x->body, .end = x->len};
        while ((rc = drop_some(x, &rd)) == 1 || rc == ERR_AGAIN)
            cli_progress(x->c, x->dropped, x->n);
        record_reader_fini(&rd);
        if (rc < 0)
            rc = cli_fail_store(x->c, rc);
    }
    close(x->fd);
    return rc;
}

int
cli_archive(struct cli *c)
{
    const char *before = c->args.before;
    struct archive x = {.c = c, .st = *store_state(c->s.store)};
    struct str day;
    int rc;

    if (before == NULL)
        return cli_misuse(c, "--done-before is missing");
    day = arena_printf(&c->a, "%sT00:00:00Z", before);
    if (!time_parse(str_of(before), &x.before_ms) &&
        (day.p == NULL || !time_parse(day, &x.before_ms)))
        return cli_misuse(c, "--done-before needs a day or a time, for "
                          "example 2026-07-28, not \"%s\"", before);
    text_put(x.path, sizeof(x.path), "%s.archive-%.10s", x.st.path,
             time_text(x.before_ms));
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

/* ---- health ---- */

/* Returns 0 if all paths of the store can be written or made; else errno, and
   in path the first that cannot. */
static int
find_not_writable(const struct cli *c, const char *log, char path[PATH_ROOM])
{
    int err = 0;

    for (int i = 0; i < 4 && err == 0; i++) {
        text_put(path, PATH_ROOM, "%s%s", i < 3 ? log : c->env->artifacts_dir,
                 i == 1 ? ".lock" : "");
        if (i == 2)
            file_cut(path);
        err = file_why_not_writable(path);
    }
    return err;
}

/* Whether st says that the store cannot be used in the way asked for. */
static bool
is_unusable(const struct cli *c, const struct store_state *st)
{
    return st->why[0] != '\0' &&
           (st->err != ERR_READONLY || !c->env->read_only);
}

/* Whether a change could be written now: 0, or the error. */
static int
try_writing(struct cli *c)
{
    int rc = store_lock_patiently(c->s.store);

    if (rc == 0)
        rc = store_probe(c->s.store);
    if (rc == 0)
        rc = store_probe_hosts(c->s.store);
    if (store_locked(c->s.store))
        store_unlock(c->s.store);
    return rc;
}

int
cli_health(struct cli *c)
{
    const struct store_state *st = store_state(c->s.store);
    uint64_t live = 0, all = 0, n;
    bool writes = !c->env->read_only;
    char path[PATH_ROOM], why[FILE_WHY_MAX];
    int rc = 0;

    if (is_unusable(c, st))
        return cli_fail_store(c, st->err);
    if (writes && (rc = find_not_writable(c, st->path, path)) != 0)
        return cli_fail(c, ERR_READONLY, "%s: cannot be written: %s", path,
                        file_why(rc, path, why));
    if (writes && st->g > 0)
        rc = try_writing(c);
    if (rc == ERR_FULL && store_make_room(c->s.store))
        rc = try_writing(c);
    if (rc != 0)
        return cli_fail_store(c, rc);
    for (int s = 0; s < TASK_N_STATUSES; s++) {
        n = tasks_count(c->s.tasks, (enum task_status)s);
        all += n;
        live += task_status_ended((enum task_status)s) ? 0 : n;
    }
    st = store_state(c->s.store);
    cli_tell(c, "ok: {store}: {tasks} task{s}, {live} of them live, seq "
             "{seq}\n",
             "status=%s version=%s store=%s tasks=" U64 " live=" U64 " seq="
             U64 " bytes=" U64,
             "ok", mcptask_version, st->path, all, live, st->head,
             (uint64_t)st->len);
    return CLI_OK;
}

/* ---- doctor ---- */

struct doctor {
    struct cli *c;
    bool problem; /* a check has failed */
    struct store_state st; /* as last looked at */
};

/* Prints the result of a check: ok, or a problem and its fix. */
static void PRINTF(4, 5)
tell(struct doctor *d, const char *check, const char *fix, const char *fmt, ...)
{
    char text[4096];
    va_list ap;

    va_start(ap, fmt);
    text_vput(text, sizeof(text), fmt, ap);
    va_end(ap);
    d->problem |= fix != NULL;
    cli_tell(d->c, fix != NULL ? "problem  {check}  {found}: {fix}\n"
                               : "ok  {check}  {found}\n",
             "check=%s ok=%d found=%s fix=%s", check, fix == NULL, text,
             fix != NULL ? fix : "");
}

/* Cuts off the advice that an error text holds after its last semicolon, and
   returns it; "" if there is none. The path that the text may begin with can
   have semicolons, too. */
static char *
cut_advice(char *why)
{
    char *path_end = *why == '/' ? strstr(why, ": ") : NULL;
    char *next = path_end != NULL ? path_end : why, *at = NULL;

    while ((next = strstr(next, "; ")) != NULL)
        at = next++;
    if (at == NULL)
        return why + strlen(why);
    *at = '\0';
    return at + 2;
}

/* ---- the store ---- */

static void
check_lock(struct doctor *d)
{
    int rc = cli_try_lock(d->c);
    const char *why = store_state(d->c->s.store)->why;
    const char *fix = "run \"mcptask verify\"";

    if (rc == ERR_READONLY && why[0] != '\0') {
        tell(d, "lock", "see docs/cluster.md", "%s", why);
        return;
    }
    if (rc == 0)
        fix = NULL;
    else if (rc == ERR_BUSY)
        fix = "end the process that holds it (see fuser -v)";
    tell(d, "lock", fix, "%s.lock: %s", d->c->env->log_path,
         rc == 0 ? "is free" : err_row(rc)->message);
}

static void
check_store(struct doctor *d)
{
    struct cli *c = d->c;
    struct store_state *st = &d->st;
    bool writes = !c->env->read_only;
    char why[256], path[PATH_ROOM];
    const char *fix;
    int err = 0, rc = cli_open_store(c->env, !writes, &c->s, why);

    if (rc == 0) {
        *st = *store_state(c->s.store);
        text_put(why, sizeof(why), "%s", st->why);
        err = writes ? find_not_writable(c, st->path, path) : 0;
    }
    if (err != 0 && !is_unusable(c, st))
        file_why(err, path, why);
    fix = cut_advice(why);
    if (*fix == '\0' && err != 0)
        fix = "let this user write it, or set MCP_TASK_BASE_DIR";
    else if (*fix == '\0' && rc == 0 && st->err == ERR_READONLY)
        fix = "see docs/cluster.md";
    else if (*fix == '\0')
        fix = "correct the path or its permissions";
    if (rc < 0 || is_unusable(c, st))
        tell(d, "store", fix, "%s", why);
    else if (err != 0)
        tell(d, "store", fix, "%s: cannot be written: %s", path, why);
    else if (st->g == 0)
        tell(d, "store", NULL, "%s: made with the first change", st->path);
    else
        tell(d, "store", NULL, "%s: log format %d", st->path,
             st->shared ? RECORD_VERSION : 1);
    if (st->g > 0 && st->err == 0 && err == 0 && writes)
        check_lock(d); /* else it would create the missing files */
}

/* What to do where etcd does not answer as it should. */
static const char *
hosts_advice(int err, const char *why)
{
    if (strstr(why, "gateway") != NULL)
        return "--store needs etcd's client port, 2379, without TLS; with a "
               "configuration file etcd needs enable-grpc-gateway: true";
    if (strstr(why, "mcptask push") != NULL)
        return "mcptask help push";
    if (err == ERR_UNREACHABLE && strstr(why, "in time") != NULL)
        return "most nodes of etcd must run and reach each other";
    switch (err) {
    case ERR_UNREACHABLE:
        return "start etcd; --store needs its client port, 2379, without TLS";
    case ERR_READONLY: case ERR_UNAUTHORIZED:
        return "MCP_TASK_STORE_AUTH needs a user who may write the prefix";
    case ERR_SKEW:
        return "set the clocks of the hosts by NTP";
    default:
        return "see docs/cluster.md";
    }
}

/* Asks etcd, and then each of its members, if the store is shared with other
   hosts. */
static void
check_hosts(struct doctor *d)
{
    const struct cli_env *env = d->c->env;
    struct store *s = d->c->s.store;
    int64_t begun = clock_mono_ms();
    char why[256], what[512];
    const char *said, *fix;
    int rc;

    if (env->remote == NULL || s == NULL)
        return;
    rc = store_confirm_patiently(s);
    begun = clock_mono_ms() - begun;
    if (rc == 0 && !env->read_only)
        rc = try_writing(d->c);
    d->st = *store_state(s); /* etcd may have given it an id */
    text_put(why, sizeof(why), "%s", d->st.why);
    fix = cut_advice(why);
    if (rc != 0)
        tell(d, "hosts", *fix != '\0' ? fix : hosts_advice(rc, why), "%s",
             why[0] != '\0' ? why : err_name(rc));
    else
        tell(d, "hosts", NULL, "%s: answers in %lld ms%s", env->store,
             (long long)begun,
             env_get("MCP_TASK_STORE_AUTH") == NULL
                 ? "; whoever reaches it can write: MCP_TASK_STORE_AUTH" : "");
    for (unsigned i = 0; (rc = store_examine(s, i, &said)) != ERR_NOT_FOUND;
         i++) {
        text_put(what, sizeof(what), "%s", said);
        fix = cut_advice(what);
        if (*fix == '\0')
            fix = hosts_advice(rc, what);
        tell(d, "node", rc == 0 ? NULL : fix, "%s", what);
    }
}

/* Checks the log, the files beside it, and their directory: other users than
   the owner and the group must not read or write them. */
static void
check_access(struct doctor *d)
{
    static const char beside[4][6] = {"", ".lock", ".key", ""};
    char path[PATH_ROOM];
    bool closed = true;
    struct stat st;

    for (int i = 0; i < 4; i++) {
        text_put(path, sizeof(path), "%s%s", d->st.path, beside[i]);
        if (i == 3)
            file_cut(path);
        if (stat(path, &st) != 0) {
            closed &= errno == ENOENT; /* else there is no telling */
        } else if ((st.st_mode & (i < 3 ? 07 : 02)) != 0 &&
                   (st.st_mode & S_ISVTX) == 0) {
            tell(d, "access", "chmod o-rwx it", "%s: open to every user", path);
            closed = false;
        }
    }
    if (closed)
        tell(d, "access", NULL, "%s: closed to other users", d->st.path);
}

static int
names_artifact(void *ctx, const struct store_rec *r)
{
    struct task_event ev;

    (void)ctx;
    return task_event_of(r, &ev) == 0 &&
           raw_member(ev.v, "artifacts").len > 2;
}

static void
check_artifacts(struct doctor *d)
{
    const char *path = d->c->env->artifacts_dir, *what = "";
    struct stat st;
    bool there = stat(path, &st) == 0, missed;

    if (!there && errno != ENOENT)
        return; /* there is no telling */
    missed = !there && d->c->s.store != NULL &&
             !store_is_shared(d->c->s.store) &&
             store_scan(d->c->s.store, 1, names_artifact, NULL) != 0;
    if (missed)
        what = ": missing, and tasks have artifacts";
    else if (!there)
        what = ": made with the first artifact";
    else if (!S_ISDIR(st.st_mode))
        what = ": not a directory";
    tell(d, "artifacts", missed || (there && !S_ISDIR(st.st_mode))
         ? "restore it, or set MCP_TASK_ARTIFACTS_DIR" : NULL, "%s%s", path,
         what);
}

/* The first record that is ahead of the clock. */
struct ahead {
    int64_t now_ms, at_ms;
    char what[512]; /* in words; "": there is none */
};

static int
is_ahead(void *ctx, const struct store_rec *r)
{
    struct ahead *a = ctx;
    struct task_event ev;

    if (!time_parse(r->time, &a->at_ms) || a->at_ms - a->now_ms <= AHEAD_MS)
        return 0;
    if (task_event_of(r, &ev) != 0)
        ev.by = STR_NONE;
    text_put(a->what, sizeof(a->what), "record " U64 ", %.*s%s%.*s at %.*s",
             r->n, STR_ARG(r->key), ev.by.p != NULL ? " by " : "",
             STR_ARG(raw_inner(ev.by)), STR_ARG(r->time));
    return 1;
}

/* The clock of a host that shares its store is compared with etcd's, so it is
   the record that is wrong. Alone, a host cannot tell which of them is. */
static void
check_clock(struct doctor *d)
{
    struct ahead a = {.now_ms = clock_wall_ms()};
    struct store *s = d->c->s.store;
    int64_t ahead = s == NULL ? 0 : store_now_ms(s) - a.now_ms;
    char now[TIME_LEN + 1], span[24];

    time_format(a.now_ms, now);
    if (a.now_ms < CLOCK_NOT_BEFORE) {
        tell(d, "clock", "set it", "%s", now);
        return;
    }
    if (s != NULL && (ahead > AHEAD_MS || store_is_shared(s)))
        store_scan(s, 1, is_ahead, &a);
    if (ahead > AHEAD_MS)
        tell(d, "clock", "if the clock is right: mcptask compact --reset-time; "
             "else set it", "%s, the log's time is %s ahead%s%s, so new "
             "records and leases get that time", now, cli_span(span, ahead),
             a.what[0] != '\0' ? " since " : "", a.what);
    else if (a.what[0] != '\0')
        tell(d, "clock", NULL, "%s; %s is %s ahead, and its time is left out",
             now, a.what, cli_span(span, a.at_ms - a.now_ms));
    else
        tell(d, "clock", NULL, "%s", now);
}

static void
put_size(char out[24], int64_t bytes)
{
    bool large = bytes >= 10 * 1024 * 1024;

    text_put(out, 24, "%lld %s", (long long)(bytes >> (large ? 20 : 10)),
             large ? "MiB" : "KiB");
}

/* By the store's own rule, a small disk is enough, and a large one may not be.
   Where the store cannot be read, there is only the room. */
static void
check_room(struct doctor *d)
{
    const struct store *s = d->c->s.store;
    char path[PATH_ROOM], has[24], needs[24];
    struct statvfs v = {.f_bavail = 0};
    int64_t need = 0, missing;
    bool known;
    int fd = -1;

    /* A missing directory will be made in the one above it. */
    text_put(path, PATH_ROOM, "%s", d->c->env->log_path);
    while (fd < 0 && file_cut(path))
        fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    known = fd >= 0 && fstatvfs(fd, &v) == 0 &&
            v.f_bavail <= (uint64_t)INT64_MAX / 2 / (v.f_frsize + 1);
    if (fd >= 0)
        close(fd);
    missing = s != NULL ? store_missing_room(s, &need) : 0;
    if (!known)
        return;
    put_size(has, (int64_t)((uint64_t)v.f_bavail * v.f_frsize));
    put_size(needs, need);
    tell(d, "room", missing > 0 ? "free some space on this disk; mcptask "
         "compact --orphans or mcptask archive may help" : NULL, "%s: %s free, "
         "%s needed for a change and the next compaction", path, has, needs);
}

static void
check_tokens(struct doctor *d)
{
    const char *path = d->c->args.token_file;
    struct tokens *t = NULL;
    char why[256];

    if (path == NULL)
        return;
    if (tokens_load(&t, path, why) < 0)
        tell(d, "tokens", "fix it: no server starts with this file", "%s",
             why);
    else if (tokens_count(t) == 0)
        tell(d, "tokens", "add a line \"TOKEN AGENT\"", "%s: empty: no client "
             "can connect", path);
    else
        tell(d, "tokens", NULL, "%s: open to its owner alone", path);
    tokens_free(t);
}

/* ---- who answers ---- */

/* Sends the request and reads into got until that contains want. Returns
   whether it came. */
static bool
server_answers(int to, int from, const char *request, const char *want,
               char got[ANSWER_MAX])
{
    int64_t until = clock_mono_ms() + ANSWER_MS, left;
    struct pollfd p = {.fd = from, .events = POLLIN};
    size_t len = strlen(request), n = 0;
    ssize_t r;

    if (write(to, request, len) != (ssize_t)len)
        return false;
    do {
        left = until - clock_mono_ms();
        r = left > 0 && poll(&p, 1, (int)left) == 1
                ? read(from, got + n, ANSWER_MAX - 1 - n) : 0;
        n += r > 0 ? (size_t)r : 0;
        got[n] = '\0';
    } while (r > 0 && strstr(got, want) == NULL);
    return r > 0;
}

static void
check_stdio(struct doctor *d)
{
    struct str path = cli_own_path(d->c);
    char got[ANSWER_MAX], *argv[] = {(char *)path.p, NULL};
    int in[2], out[2];
    pid_t pid;
    bool ok;

    tell(d, "version", NULL, "%s, %.*s", mcptask_version, STR_ARG(path));
    if (path.p == NULL || pipe(in) != 0 || pipe(out) != 0)
        return;
    /* The checks before say what is wrong. */
    pid = cli_start_program(d->c, path.p, argv, in[0], out[1], -1);
    close(in[0]);
    close(out[1]);
    ok = pid > 0 &&
         server_answers(in[1], out[0],
                        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":"
                        "\"initialize\",\"params\":{\"protocolVersion\":"
                        "\"2025-11-25\",\"capabilities\":{},\"clientInfo\":{"
                        "\"name\":\"doctor\",\"version\":\"1\"}}}\n",
                        "\"version\":\"" MCPTASK_VERSION, got);
    close(in[1]);
    close(out[0]);
    if (pid > 0) {
        kill(pid, SIGKILL); /* it has answered, or never will */
        waitpid(pid, NULL, 0);
    }
    tell(d, "stdio", ok ? NULL : "run mcptask to see why",
         ok ? "answers initialize" : "no answer");
}

#define ID_AT "\"store\":\"" /* in what /health answers */

static void
check_http(struct doctor *d)
{
    const char *text = d->c->args.port != NULL ? d->c->args.port
                                               : env_get("MCP_TASK_PORT");
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(0x7f000001)};
    uint64_t port = 8766;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    const char *fix = NULL, *found = "nothing is listening, start it with "
                                    "\"mcptask --http\"";
    char got[ANSWER_MAX], own[64];

    text_put(own, sizeof(own), ID_AT "%s\"", d->st.id);
    if (text != NULL && (!str_u64(str_of(text), &port) || port > UINT16_MAX)) {
        found = "no such port";
        fix = "name one from 0 to 65535";
        port = 0;
    }
    to.sin_port = htons((uint16_t)port);
    if (fix == NULL && fd >= 0 &&
        connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0) {
        found = "answers /health, on the same store";
        if (!server_answers(fd, fd, "GET /health HTTP/1.1\r\n"
                            "Host: localhost\r\nConnection: close\r\n\r\n",
                            "\"}", got) ||
            strstr(got, "{\"status\":\"ok\"") == NULL) {
            found = "no answer, or not from mcptask";
            fix = "serve on another --port";
        } else if (strstr(got, ID_AT) == NULL) {
            found = "answers /health"; /* an older version */
        } else if (strstr(got, own) == NULL) {
            found = "answers /health, but serves another store";
            fix = "start it and the clients with the same MCP_TASK_BASE_DIR, "
                  "or set MCP_TASK_SERVER for commands to use it";
        }
    }
    if (fd >= 0)
        close(fd);
    tell(d, "http", fix, "127.0.0.1:" U64 ": %s", port, found);
}

/* Commands use the store of the server of MCP_TASK_SERVER, and agents whose
   client starts mcptask that of this host: they see the same tasks only if
   these are one. */
static void
check_server(struct doctor *d)
{
    const struct cli_env *env = d->c->env;
    struct server_request q = {.path = "/ready"};
    const struct json_tok *ready, *error;
    const char *own = env_get("MCP_TASK_STORE"), *which = ", another one";
    struct str id, why;

    d->c->answer_by = clock_mono_ms() + ANSWER_MS;
    if (server_ask(d->c, &q, &ready, &error) != 0) {
        tell(d, "server", "see the error on standard error", "%s: commands "
             "cannot use it", env->server);
        return;
    }
    id = json_str(&d->c->a, json_get(ready, "store"));
    why = json_str(&d->c->a, json_get(ready, "reason"));
    if (own == NULL && str_is(id, d->st.id)) /* neither: not yet made */
        which = id.len > 0 ? ", the same one" : "";
    if (!json_is(json_get(ready, "status"), "ready"))
        tell(d, "server", "run \"mcptask doctor\" where it runs",
             "%s: not ready: %.*s", env->server, STR_ARG(why));
    else
        tell(d, "server", NULL, "%s: ready, and commands use its store; agents "
             "whose client starts mcptask use %s%s", env->server,
             own != NULL ? own : env->log_path, which);
}

/* A service has a store of its own, which this command does not look at. */
static void
check_service(struct doctor *d)
{
    struct service s;

    if (!service_find(d->c, &s))
        return;
    if (s.closed[0] != '\0')
        tell(d, "service", NULL, "%s: has another store, %s", s.server,
             s.closed);
    else
        tell(d, "service", NULL, "%s: has another store; to use it, set "
             "MCP_TASK_SERVER=%s", s.server, s.server);
}

int
cli_doctor(struct cli *c)
{
    struct doctor d = {.c = c, .st.path = c->env->log_path};

    c->columns = 2;
    check_store(&d);
    check_hosts(&d);
    check_access(&d);
    check_artifacts(&d);
    check_clock(&d);
    check_room(&d);
    check_tokens(&d);
    check_stdio(&d);
    if (c->env->server != NULL) {
        check_server(&d);
    } else {
        check_http(&d);
        check_service(&d);
    }
    return d.problem ? CLI_NOT_MET : CLI_OK;
}
