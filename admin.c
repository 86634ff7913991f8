/* admin - care of the store, and tasks brought from one store to another.

   Stores may be larger than memory and the input may be anything, so nothing
   here holds more than one record, one piece of a file, one batch of an
   import, or one batch of file names.

   What is taken from records or from input is checked before it becomes part
   of a path: a file of an artifact is named by the 64 hex digits of its
   SHA-256, and nothing else is ever looked for, copied or removed.

   Invariants:
   1. No file that exists is written to, except the log by the store.
   2. A file is removed only under the write lock, after every record up to
      the newest has been seen not to name it, and a day after its last
      change: whoever attaches it stores the file first and the record after.
   3. The write lock is never held while input is read, since input may come
      from a pipe that nobody writes to. */

#include "admin.h"

#include "artifact.h"
#include "task_raw.h"
#include "text.h"
#include "view.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define CHUNK (64 * 1024)
#define PATH_ROOM 4400 /* a path that exists and a name in it */
#define ORPHAN_AGE_S (24 * 60 * 60)
#define NAMES_MAX 65536           /* file names held at once */
#define IMPORT_RECORDS 500        /* of one commit */
#define IMPORT_BYTES (1024 * 1024) /* of input for one commit, about */
#define IMPORT_MAX (2 * 1024 * 1024) /* one record: a state, escaped */

_Static_assert(IMPORT_BYTES + IMPORT_MAX < STORE_MAX_BATCH,
               "a batch of input fits a batch of the store");

/* ---- small help ---- */

static bool
is_hex(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

static bool
is_digest(struct str s)
{
    size_t i = 0;

    while (i < s.len && is_hex(s.p[i]))
        i++;
    return i == s.len && s.len == SHA256_HEX;
}

static ssize_t
read_some(int fd, void *p, size_t n)
{
    ssize_t got;

    do
        got = read(fd, p, n);
    while (got < 0 && errno == EINTR);
    return got;
}

static bool
sync_dir(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool ok = fd >= 0 && (fsync(fd) == 0 || errno == EINVAL);

    if (fd >= 0)
        close(fd);
    return ok;
}

static void
begin_json(struct cli *c, struct json_w *w)
{
    json_w_init(w, &c->out);
    json_obj(w);
}

static void
end_json(struct cli *c, struct json_w *w)
{
    json_close(w);
    json_w_end(w);
    buf_char(&c->out, '\n');
}

/* ---- artifacts ---- */

/* The next 64 hex digits that stand alone in a line, from *at on. Looks at
   one byte in 64 where there are none. */
static bool
next_digest(struct str line, size_t *at, struct str *out)
{
    size_t i = *at; /* what stands before i is no digit */

    while (line.len - i >= SHA256_HEX) {
        size_t k = SHA256_HEX, end;

        while (k > 0 && is_hex(line.p[i + k - 1]))
            k--;
        i += k;
        if (k > 0)
            continue;
        for (end = i + SHA256_HEX; end < line.len && is_hex(line.p[end]); )
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

/* Calls fn with each artifact that the record names and that has a file. */
static int
each_artifact(const struct store_rec *r,
              int (*fn)(void *ctx, const struct artifact_ref *ref), void *ctx)
{
    struct task_event ev;
    struct str list, one, any;
    size_t at = 0;
    int rc = 0;

    if (!str_starts(r->key, "task/") || !next_digest(r->line, &at, &any) ||
        task_event_of(r, &ev) < 0)
        return 0;
    at = 0;
    list = task_member(ev.v, "artifacts");
    while (rc == 0 && list.p != NULL &&
           (one = task_list_next(list, &at)).p != NULL) {
        struct artifact_ref ref = {
            ev.id, raw_inner(task_member(one, "sha256")),
            raw_u64(task_member(one, "size"))};

        if (is_digest(ref.sha256))
            rc = fn(ctx, &ref);
    }
    return rc;
}

/* NULL: its content is there and whole; else what is wrong with it. */
static const char *
check_artifact(const char *dir, const struct artifact_ref *ref,
               struct arena *a, struct str *content)
{
    int rc = artifact_get(dir, ref->sha256, a, content);

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

struct name {
    char hex[SHA256_HEX];
    bool used;
};

/* A batch of the names in the artifacts directory, sorted. */
struct names {
    struct name *v; /* NAMES_MAX of them */
    size_t n;
};

static int
compare_names(const void *a, const void *b)
{
    return memcmp(a, b, SHA256_HEX);
}

/* Marks what any record of any kind names, in whatever member. */
static int
mark_used(void *ctx, const struct store_rec *r)
{
    struct names *names = ctx;
    struct str hex;
    size_t at = 0;

    while (next_digest(r->line, &at, &hex)) {
        struct name *found = bsearch(hex.p, names->v, names->n,
                                     sizeof(*names->v), compare_names);

        if (found != NULL)
            found->used = true;
    }
    return 0;
}

/* The next batch; false: there are no more. */
static bool
read_names(DIR *d, struct names *names)
{
    struct dirent *e;

    names->n = 0;
    while (names->n < NAMES_MAX && (e = readdir(d)) != NULL) {
        if (!is_digest(str_of(e->d_name)))
            continue;
        memcpy(names->v[names->n].hex, e->d_name, SHA256_HEX);
        names->v[names->n++].used = false;
    }
    qsort(names->v, names->n, sizeof(*names->v), compare_names);
    return names->n > 0;
}

struct unnamed {
    struct cli *c;
    bool remove; /* else they are only listed */
    uint64_t n;
    int64_t bytes;
};

static void
unnamed_file(struct unnamed *u, int dir_fd, const char *hex)
{
    char name[SHA256_HEX + 1] = {0};
    struct stat st;
    struct json_w w;

    memcpy(name, hex, SHA256_HEX);
    if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
        !S_ISREG(st.st_mode))
        return;
    if (u->remove && (time(NULL) - st.st_mtime <= ORPHAN_AGE_S ||
                      unlinkat(dir_fd, name, 0) != 0))
        return;
    u->n++;
    u->bytes += st.st_size;
    if (u->remove)
        return;
    if (u->c->json) {
        begin_json(u->c, &w);
        json_put_z(&w, "finding", "artifact_unnamed");
        json_put_z(&w, "sha256", name);
        json_put_int(&w, "size", (int64_t)st.st_size);
        end_json(u->c, &w);
    } else {
        buf_printf(&u->c->out, "artifact %s: no record names it\n", name);
    }
}

/* One batch. Most of the log is read without the lock; with it, only what
   came since. */
static int
unnamed_batch(struct unnamed *u, DIR *d, struct names *names)
{
    struct store *s = u->c->store;
    struct store_state st;
    int rc;

    store_state(s, &st);
    rc = store_scan(s, 1, mark_used, names);
    if (rc == 0 && u->remove)
        rc = store_lock_patiently(s);
    if (rc == 0 && u->remove)
        rc = store_scan(s, st.head + 1, mark_used, names);
    for (size_t i = 0; rc == 0 && i < names->n; i++)
        if (!names->v[i].used)
            unnamed_file(u, dirfd(d), names->v[i].hex);
    if (store_locked(s))
        store_unlock(s);
    return rc;
}

/* Lists or removes the files that no record names. */
static int
each_unnamed(struct unnamed *u)
{
    const char *dir = u->c->env->artifacts_dir;
    DIR *d = opendir(dir);
    struct names names = {.v = malloc(NAMES_MAX * sizeof(struct name))};
    int rc = 0;

    if (d == NULL && errno != ENOENT)
        rc = cli_fail(u->c, ERR_IO, "%s: %s", dir, strerror(errno));
    else if (names.v == NULL)
        rc = cli_fail(u->c, ERR_NOMEM, "out of memory");
    while (d != NULL && rc == 0 && read_names(d, &names)) {
        rc = unnamed_batch(u, d, &names);
        rc = rc < 0 ? cli_fail_store(u->c, rc) : rc;
        if (!cli_drain(u->c))
            break;
    }
    if (u->remove && u->n > 0)
        sync_dir(dir);
    if (d != NULL)
        closedir(d);
    free(names.v);
    return rc;
}

/* ---- verify ---- */

struct verify {
    struct cli *c;
    uint64_t named, bad;
};

static void
put_region(void *ctx, int64_t off, int64_t len, const char *what)
{
    struct cli *c = ctx;
    struct json_w w;

    cli_drain(c);
    if (!c->json) {
        buf_printf(&c->out, "bytes %lld to %lld: %s\n", (long long)off,
                   (long long)(off + len), what);
        return;
    }
    begin_json(c, &w);
    json_put_z(&w, "finding", "bad_region");
    json_put_int(&w, "offset", off);
    json_put_int(&w, "length", len);
    json_put_z(&w, "what", what);
    end_json(c, &w);
}

static int
verify_artifact(void *ctx, const struct artifact_ref *ref)
{
    struct verify *v = ctx;
    struct str content;
    const char *what = check_artifact(v->c->env->artifacts_dir, ref,
                                      &v->c->a, &content);
    struct json_w w;

    arena_reset(&v->c->a);
    v->named++;
    if (what == NULL)
        return 0;
    v->bad++;
    if (v->c->json) {
        begin_json(v->c, &w);
        json_put_z(&w, "finding", "artifact_bad");
        json_put_str(&w, "task_id", ref->task_id);
        json_put_str(&w, "sha256", ref->sha256);
        json_put_z(&w, "what", what);
        end_json(v->c, &w);
    } else {
        buf_printf(&v->c->out, "artifact %.*s of task %.*s: %s\n",
                   STR_ARG(ref->sha256), STR_ARG(ref->task_id), what);
    }
    return cli_drain(v->c) ? 0 : 1;
}

/* Whether r is what its key has come to. */
static bool
is_newest(struct cli *c, const struct store_rec *r)
{
    struct store_entry *e = store_find(c->store, r->key);

    return e != NULL && e->n == r->n;
}

static int
verify_record(void *ctx, const struct store_rec *r)
{
    struct verify *v = ctx;

    return is_newest(v->c, r) ? each_artifact(r, verify_artifact, v) : 0;
}

static void
put_report_text(struct cli *c, const struct store_report *rep,
                const struct verify *v, const struct unnamed *u)
{
    buf_printf(&c->out, "%s: ", c->env->log_path);
    if (rep->g == 0 && !rep->damaged)
        buf_z(&c->out, "there is no log yet");
    else
        buf_printf(&c->out, "%llu records of %llu keys, seq %llu to %llu, "
                   "%lld bytes: ", (unsigned long long)rep->records,
                   (unsigned long long)rep->keys,
                   (unsigned long long)rep->first_n,
                   (unsigned long long)rep->last_n, (long long)rep->bytes);
    if (rep->damaged)
        buf_printf(&c->out, "damaged: %s (verify --repair OUT writes what is "
                   "whole)", rep->what);
    else if (rep->torn)
        buf_printf(&c->out, "torn, but nothing promised is lost: %s",
                   rep->what);
    else if (rep->g > 0)
        buf_z(&c->out, "good");
    buf_printf(&c->out, "\n%s: %llu artifacts named, %llu of them bad; %llu "
               "files that no record names\n", c->env->artifacts_dir,
               (unsigned long long)v->named, (unsigned long long)v->bad,
               (unsigned long long)u->n);
}

static void
put_report(struct cli *c, const struct store_report *rep,
           const struct verify *v, const struct unnamed *u)
{
    struct json_w w;

    if (!c->json) {
        put_report_text(c, rep, v, u);
        return;
    }
    begin_json(c, &w);
    json_put_z(&w, "log", c->env->log_path);
    json_put_bool(&w, "damaged", rep->damaged);
    json_put_bool(&w, "torn", rep->torn);
    if (rep->damaged || rep->torn) {
        json_put_z(&w, "what", rep->what);
        json_put_int(&w, "offset", rep->off);
        json_put_int(&w, "line", (int64_t)rep->line);
    }
    json_put_int(&w, "bad_regions", (int64_t)rep->bad);
    json_put_int(&w, "records", (int64_t)rep->records);
    json_put_int(&w, "keys", (int64_t)rep->keys);
    json_put_int(&w, "first_seq", (int64_t)rep->first_n);
    json_put_int(&w, "last_seq", (int64_t)rep->last_n);
    json_put_int(&w, "generation", (int64_t)rep->g);
    json_put_int(&w, "bytes", rep->bytes);
    json_put_int(&w, "artifacts_named", (int64_t)v->named);
    json_put_int(&w, "artifacts_bad", (int64_t)v->bad);
    json_put_int(&w, "artifacts_unnamed", (int64_t)u->n);
    end_json(c, &w);
}

/* Checks what the log's newest records name, as far as it can be read. */
static int
verify_artifacts(struct verify *v, struct unnamed *u)
{
    int rc = cli_open(v->c, true);

    if (rc != 0)
        return rc;
    rc = store_scan(v->c->store, 1, verify_record, v);
    return rc < 0 ? cli_fail_store(v->c, rc) : each_unnamed(u);
}

static int
repair(struct cli *c, const char *out)
{
    struct store_report rep;
    int rc = store_repair(c->env->log_path, out, &rep);

    if (rc == ERR_EXISTS)
        return cli_fail(c, rc, "%s: exists: name a file that does not", out);
    if (rc < 0)
        return cli_fail(c, rc, "%s: %.*s", out, STR_ARG(cli_why(rc)));
    if (!c->json)
        buf_printf(&c->out, "%s: %llu whole records written\n", out,
                   (unsigned long long)rep.records);
    return 0;
}

int
admin_verify(struct cli *c, int argc, char **argv)
{
    const char *out = NULL, *path = c->env->log_path;
    const struct cli_opt opt = {"repair", 0, OPT_TEXT, &out};
    struct store_report rep;
    struct verify v = {.c = c};
    struct unnamed u = {.c = c};
    int rc = cli_options(c, &opt, 1, &argc, argv, 0, 0);

    if (rc != 0)
        return rc;
    if (access(path, F_OK) != 0 && errno == ENOENT)
        rep = (struct store_report){.off = -1}; /* no log: an empty store */
    else
        rc = store_verify(path, &rep, put_region, c);
    if (rc < 0)
        return cli_fail(c, rc, "%s: %.*s", path,
                        STR_ARG(rep.what[0] ? str_of(rep.what)
                                            : cli_why(rc)));
    rc = verify_artifacts(&v, &u);
    put_report(c, &rep, &v, &u);
    if (rc == 0 && out != NULL)
        rc = repair(c, out);
    return rc != 0 ? rc : rep.damaged || v.bad > 0 ? CLI_STORE : CLI_OK;
}

/* ---- compact ---- */

static int
compact(struct cli *c)
{
    int rc = store_lock_patiently(c->store); /* mends a tail, if there is */

    if (rc == 0) {
        store_unlock(c->store);
        while ((rc = store_compact(c->store)) == ERR_MORE)
            continue;
    }
    if (rc == ERR_BUSY)
        return cli_fail(c, rc, "%s: another process compacts it or holds its "
                        "lock: try again", c->env->log_path);
    return rc < 0 ? cli_fail_store(c, rc) : 0;
}

static void
put_compact(struct cli *c, int64_t before, int64_t after, bool orphans,
            const struct unnamed *u)
{
    struct json_w w;

    if (!c->json) {
        buf_printf(&c->out, "%s: %lld bytes, were %lld\n", c->env->log_path,
                   (long long)after, (long long)before);
        if (orphans)
            buf_printf(&c->out, "%s: %llu artifacts of %lld bytes removed\n",
                       c->env->artifacts_dir, (unsigned long long)u->n,
                       (long long)u->bytes);
        return;
    }
    begin_json(c, &w);
    json_put_int(&w, "bytes_before", before);
    json_put_int(&w, "bytes_after", after);
    if (orphans) {
        json_put_int(&w, "artifacts_removed", (int64_t)u->n);
        json_put_int(&w, "artifact_bytes_removed", u->bytes);
    }
    end_json(c, &w);
}

int
admin_compact(struct cli *c, int argc, char **argv)
{
    bool orphans = false;
    const struct cli_opt opt = {"orphans", 0, OPT_FLAG, &orphans};
    struct store_state before, after;
    struct unnamed u = {.c = c, .remove = true};
    int rc = cli_options(c, &opt, 1, &argc, argv, 0, 0);

    if (rc == 0)
        rc = cli_open(c, false);
    if (rc != 0)
        return rc;
    store_state(c->store, &before);
    if (before.g > 0) /* else there is no log, which is fine */
        rc = compact(c);
    store_state(c->store, &after);
    if (rc == 0 && orphans && after.g > 0)
        rc = each_unnamed(&u);
    if (rc == 0)
        put_compact(c, before.len, after.len, orphans, &u);
    return rc;
}

/* ---- backup ---- */

struct backup {
    struct cli *c;
    char dir[PATH_ROOM]; /* of the copied artifacts */
    uint64_t records, files, bad;
};

/* A missing or damaged artifact is reported and does not keep the rest from
   being saved; a copy that cannot be written does. */
static int
backup_artifact(void *ctx, const struct artifact_ref *ref)
{
    struct backup *b = ctx;
    struct arena *a = &b->c->a;
    char hex[SHA256_HEX + 1];
    struct str content;
    const char *what;
    int rc = 0;

    if (artifact_has(b->dir, ref->sha256, ref->size))
        return 0; /* another record named it */
    what = check_artifact(b->c->env->artifacts_dir, ref, a, &content);
    if (what == NULL) {
        rc = artifact_put(b->dir, content, hex);
        what = check_artifact(b->dir, ref, a, &content);
    }
    arena_reset(a);
    if (rc < 0)
        return cli_fail(b->c, rc, "%s: %.*s", b->dir, STR_ARG(cli_why(rc)));
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
    return each_artifact(r, backup_artifact, b);
}

static int
fail_exists(const struct cli *c, const char *path)
{
    return cli_fail(c, ERR_EXISTS, "%s: exists: back up into a new directory",
                    path);
}

/* Makes dir and dir/artifacts. */
static int
make_dirs(struct backup *b, const char *dir)
{
    struct cli *c = b->c;

    if (mkdir(dir, 0700) != 0 && errno != EEXIST)
        return cli_fail(c, ERR_IO, "%s: %s", dir, strerror(errno));
    text_put(b->dir, sizeof(b->dir), "%s/artifacts", dir);
    if (mkdir(b->dir, 0700) == 0)
        return 0;
    return errno == EEXIST
               ? fail_exists(c, b->dir)
               : cli_fail(c, ERR_IO, "%s: %s", b->dir, strerror(errno));
}

/* Syncs dir, whose files are synced, and the directory above. */
static int
sync_dirs(struct backup *b, const char *dir)
{
    char up[PATH_ROOM];

    text_put(up, sizeof(up), "%s/..", dir);
    if (!sync_dir(dir) || !sync_dir(up))
        return cli_fail(b->c, ERR_IO, "%s: cannot be synced: %s", dir,
                        strerror(errno));
    return 0;
}

static void
put_backup(const struct backup *b, const char *dir)
{
    struct cli *c = b->c;
    struct json_w w;

    if (!c->json) {
        buf_printf(&c->out, "%s: %llu records and %llu artifacts\n", dir,
                   (unsigned long long)b->records,
                   (unsigned long long)b->files);
        return;
    }
    begin_json(c, &w);
    json_put_z(&w, "dir", dir);
    json_put_int(&w, "records", (int64_t)b->records);
    json_put_int(&w, "artifacts", (int64_t)b->files);
    json_put_int(&w, "artifacts_bad", (int64_t)b->bad);
    end_json(c, &w);
}

int
admin_backup(struct cli *c, int argc, char **argv)
{
    struct backup b = {.c = c};
    struct store_state st;
    int rc = cli_options(c, NULL, 0, &argc, argv, 1, 1);

    if (rc == 0)
        rc = cli_open(c, true);
    if (rc != 0)
        return rc;
    store_state(c->store, &st);
    if (st.g == 0)
        return cli_fail(c, ERR_NOT_FOUND, "%s: there is no log yet", st.path);
    rc = make_dirs(&b, argv[1]);
    if (rc != 0)
        return rc;
    rc = store_backup(c->store, argv[1], backup_record, &b);
    if (rc < 0)
        rmdir(b.dir); /* where nothing was copied */
    if (rc == ERR_EXISTS)
        return fail_exists(c, argv[1]);
    if (rc < 0)
        return cli_fail(c, rc, "%s: %.*s", argv[1], STR_ARG(cli_why(rc)));
    if (rc == 0)
        rc = sync_dirs(&b, argv[1]);
    if (rc == 0)
        put_backup(&b, argv[1]);
    return rc != 0 ? rc : b.bad > 0 ? CLI_STORE : CLI_OK;
}

/* ---- export ---- */

struct export {
    struct cli *c;
    bool md;
    bool any; /* one was written */
};

/* 0; 1: stdout is gone; or an error. */
static int
export_event(struct export *x, const struct task_event *ev)
{
    struct cli *c = x->c;
    struct task k;
    size_t from = c->out.len;
    int rc;

    if (x->md)
        rc = task_of(c->tasks, &c->a, ev, &k);
    else
        rc = task_peek(c->tasks, &c->a, ev, &k);
    if (rc < 0)
        return rc;
    if (x->md) {
        buf_z(&c->out, x->any ? "\n---\n\n" : "");
        view_task_markdown(&c->out, &c->a, &k);
        cli_safe(&c->out, from);
    } else {
        view_task_json(&c->out, &k);
        buf_char(&c->out, '\n');
    }
    x->any = true;
    arena_reset(&c->a);
    return cli_drain(c) ? 0 : 1;
}

static int
export_record(void *ctx, const struct store_rec *r)
{
    struct export *x = ctx;
    struct task_event ev;
    int rc;

    if (!str_starts(r->key, "task/") || !is_newest(x->c, r))
        return 0;
    rc = task_event_of(r, &ev);
    return rc < 0 ? rc : export_event(x, &ev);
}

static int
export_named(struct export *x, int argc, char **argv)
{
    struct cli *c = x->c;
    struct task_event ev;
    int rc = 0;

    for (int i = 1; i < argc && rc == 0; i++) {
        rc = task_event_last(c->tasks, &c->a, str_of(argv[i]), &ev);
        if (rc == ERR_NOT_FOUND)
            return cli_fail(c, rc, "%s: no such task: mcptask list --all "
                            "shows which there are", argv[i]);
        if (rc == 0)
            rc = export_event(x, &ev);
    }
    return rc;
}

int
admin_export(struct cli *c, int argc, char **argv)
{
    const char *format = "jsonl";
    const struct cli_opt opt = {"format", 'f', OPT_TEXT, &format};
    struct export x = {.c = c};
    int rc = cli_options(c, &opt, 1, &argc, argv, 0, argc);

    if (rc != 0)
        return rc;
    x.md = strcmp(format, "md") == 0;
    if (!x.md && strcmp(format, "jsonl") != 0)
        return cli_fail(c, ERR_INVALID, "export: no such format: %s: jsonl or "
                        "md", format);
    rc = cli_open(c, true);
    if (rc != 0)
        return rc;
    if (argc > 1)
        rc = export_named(&x, argc, argv);
    else
        rc = store_scan(c->store, 1, export_record, &x);
    return rc < 0 ? cli_fail_store(c, rc) : rc;
}

/* ---- import: the input cut into records ---- */

/* Cuts JSON lines, or the elements of one array, without looking at them
   more closely than that takes. A piece need not be JSON. */
struct input {
    const char *name;
    int fd;
    char *chunk;       /* CHUNK bytes */
    size_t at, n;      /* what of it has not been looked at */
    bool array;
    bool closed;       /* the array's end was there */
    bool string, escape; /* within the current element */
    uint32_t depth;
    uint64_t number;   /* of the piece, from 1: its line or element */
    struct buf piece;
    bool long_piece;   /* longer than IMPORT_MAX: what follows was dropped */
};

static bool
is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool
all_blank(struct str s)
{
    while (s.len > 0 && is_blank(s.p[s.len - 1]))
        s.len--;
    return s.len == 0;
}

/* 1: there is more in the chunk; 0: the end; ERR_IO with errno. */
static int
fill(struct input *in)
{
    ssize_t n;

    if (in->at < in->n)
        return 1;
    n = read_some(in->fd, in->chunk, CHUNK);
    in->at = 0;
    in->n = n > 0 ? (size_t)n : 0;
    return n > 0 ? 1 : n < 0 ? ERR_IO : 0;
}

/* Steps over a byte order mark and blanks; an array begins with a bracket.
   Lines are counted from where the first record stands. */
static int
begin_input(struct input *in)
{
    static const char bom[] = "\xef\xbb\xbf";
    int rc;

    for (size_t i = 0; (rc = fill(in)) == 1; ) {
        char ch = in->chunk[in->at];

        if (i < 3 && ch == bom[i])
            i++;
        else if (is_blank(ch))
            i = 3;
        else
            break;
        in->number += ch == '\n';
        in->at++;
    }
    if (rc == 1 && in->chunk[in->at] == '[') {
        in->array = true;
        in->at++;
        in->number = 0;
    }
    return rc < 0 ? rc : 0;
}

/* How many bytes of the chunk belong to the piece: all, or up to the comma
   or bracket behind it. */
static size_t
element_len(struct input *in)
{
    for (size_t i = in->at; i < in->n; i++) {
        char ch = in->chunk[i];

        if (in->string) {
            in->string = in->escape || ch != '"';
            in->escape = !in->escape && ch == '\\';
        } else if (ch == '"') {
            in->string = true;
        } else if (ch == '[' || ch == '{') {
            in->depth++;
        } else if (in->depth == 0 && (ch == ',' || ch == ']')) {
            in->closed = ch == ']';
            return i - in->at;
        } else if ((ch == ']' || ch == '}') && in->depth > 0) {
            in->depth--;
        }
    }
    return in->n - in->at;
}

static size_t
line_len(const struct input *in)
{
    const char *p = in->chunk + in->at;
    const char *lf = memchr(p, '\n', in->n - in->at);

    return lf == NULL ? in->n - in->at : (size_t)(lf - p);
}

/* Whether nothing but blanks is left: 1, 0: something is, ERR_IO. */
static int
ends_blank(struct input *in)
{
    int rc;

    while ((rc = fill(in)) == 1 && is_blank(in->chunk[in->at]))
        in->at++;
    return rc < 0 ? rc : !rc;
}

/* The next piece: 1; 0: the end; ERR_IO with errno; ERR_MORE: the array was
   not closed; ERR_SYNTAX: something stands behind it. */
static int
next_piece(struct input *in)
{
    int rc;

    if (in->closed) {
        rc = ends_blank(in);
        return rc < 0 ? rc : rc ? 0 : ERR_SYNTAX;
    }
    buf_reset(&in->piece, IMPORT_MAX);
    in->long_piece = false;
    in->number++;
    while ((rc = fill(in)) == 1) {
        size_t len = in->array ? element_len(in) : line_len(in);

        in->long_piece |= in->piece.len + len > IMPORT_MAX;
        if (!in->long_piece)
            buf_put(&in->piece, in->chunk + in->at, len);
        in->at += len;
        if (in->at < in->n) { /* the piece ended, not only the chunk */
            in->at++;
            return 1;
        }
    }
    if (rc == 0 && (in->piece.len > 0 || in->long_piece))
        return 1;
    return rc == 0 && in->array ? ERR_MORE : rc;
}

/* ---- import: records into tasks ---- */

struct import {
    struct cli *c;
    struct input in;
    bool strict;
    int end;     /* exit code to end with, where set */
    bool stop;
    struct buf text; /* the pieces of one batch ... */
    struct { size_t at, len; uint64_t number; } piece[IMPORT_RECORDS];
    size_t n;    /* ... and how many they are */
    uint64_t imported, skipped, failed;
};

static void
bad_record(struct import *im, uint64_t number, struct str what)
{
    im->failed++;
    cli_fail(im->c, ERR_INVALID, "%s: %s %llu: %.*s", im->in.name,
             im->in.array ? "element" : "line", (unsigned long long)number,
             STR_ARG(what));
    im->stop |= im->strict;
}

static void
known_task(struct import *im, uint64_t number)
{
    im->skipped++;
    if (!im->strict)
        return;
    im->stop = true;
    im->end = cli_fail(im->c, ERR_EXISTS, "%s: %s %llu: there is such a task: "
                       "without --strict it is skipped", im->in.name,
                       im->in.array ? "element" : "line",
                       (unsigned long long)number);
}

static bool
is_of_store(int err)
{
    return err == ERR_NOMEM || err == ERR_BUSY || err == ERR_FULL ||
           err == ERR_IO || err == ERR_READONLY || err == ERR_DAMAGED;
}

/* 0, the record being staged, skipped or counted as bad; or what the store
   said. */
static int
import_one(struct import *im, struct str text, uint64_t number)
{
    struct task_ctx ctx = {.a = &im->c->a};
    struct task_receipt receipt;
    const struct json_tok *root;
    struct str what;
    size_t at;
    int rc = json_parse(ctx.a, text, &root, &at);

    if (rc == ERR_NOMEM)
        return rc;
    if (rc < 0) {
        what = arena_printf(ctx.a, rc == ERR_TOO_LARGE
                            ? "too many values, or too deep, at byte %zu"
                            : "not JSON from byte %zu on", at + 1);
        bad_record(im, number, what);
        return 0;
    }
    rc = task_import(im->c->tasks, &ctx, root, &receipt);
    if (rc == ERR_EXISTS)
        known_task(im, number);
    else if (is_of_store(rc))
        return rc;
    else if (rc < 0)
        bad_record(im, number, ctx.e.message);
    return 0;
}

/* Commits what has been read. The counts say what is on disk. */
static int
import_batch(struct import *im)
{
    struct cli *c = im->c;
    size_t staged;
    bool unknown = false;
    int rc = im->n == 0 ? 0 : store_lock_patiently(c->store);

    for (size_t i = 0; i < im->n && rc == 0 && !im->stop; i++) {
        rc = import_one(im, (struct str){im->text.p + im->piece[i].at,
                                         im->piece[i].len},
                        im->piece[i].number);
        arena_reset(&c->a);
    }
    if (store_locked(c->store)) {
        staged = store_staged_n(c->store);
        int done = staged > 0 ? store_commit(c->store, &unknown) : 0;
        im->imported += done == 0 ? staged : 0;
        rc = rc == 0 ? done : rc;
        store_unlock(c->store);
    }
    im->n = 0;
    buf_reset(&im->text, IMPORT_BYTES + IMPORT_MAX);
    return rc;
}

/* Takes one piece into the batch. */
static int
take_piece(struct import *im)
{
    struct input *in = &im->in;
    struct str text = buf_view(&in->piece);

    if (in->piece.err)
        return ERR_NOMEM;
    if (in->long_piece) {
        bad_record(im, in->number, STR("longer than 2 MiB"));
    } else if (all_blank(text)) {
        if (in->array && !(in->closed && in->number == 1))
            bad_record(im, in->number, STR("there is nothing"));
    } else {
        im->piece[im->n].at = im->text.len;
        im->piece[im->n].len = text.len;
        im->piece[im->n++].number = in->number;
        buf_str(&im->text, text);
    }
    return im->text.err;
}

/* Reads, and commits whenever enough is there. 0, or what the store said. */
static int
import_all(struct import *im)
{
    int rc = 0, got = begin_input(&im->in);

    while (got >= 0 && rc == 0 && !im->stop &&
           (got = next_piece(&im->in)) == 1) {
        rc = take_piece(im);
        if (rc == 0 && (im->n == IMPORT_RECORDS || im->stop ||
                        im->text.len >= IMPORT_BYTES))
            rc = import_batch(im);
    }
    if (rc == 0)
        rc = import_batch(im);
    if (rc != 0 || im->stop)
        return rc;
    if (got == ERR_MORE)
        bad_record(im, im->in.number, STR("the input ends within the array"));
    else if (got == ERR_SYNTAX)
        bad_record(im, im->in.number, STR("something stands behind the array"));
    else if (got < 0)
        im->end = cli_fail(im->c, ERR_NOT_FOUND, "%s: %s", im->in.name,
                           strerror(errno));
    return 0;
}

static void
put_import(const struct import *im)
{
    struct cli *c = im->c;
    struct json_w w;

    if (!c->json) {
        buf_printf(&c->out, "%llu imported, %llu skipped, %llu failed\n",
                   (unsigned long long)im->imported,
                   (unsigned long long)im->skipped,
                   (unsigned long long)im->failed);
        return;
    }
    begin_json(c, &w);
    json_put_int(&w, "imported", (int64_t)im->imported);
    json_put_int(&w, "skipped", (int64_t)im->skipped);
    json_put_int(&w, "failed", (int64_t)im->failed);
    end_json(c, &w);
}

static int
open_input(struct cli *c, struct input *in, const char *name)
{
    in->fd = STDIN_FILENO;
    in->name = "standard input";
    in->chunk = malloc(CHUNK);
    if (in->chunk == NULL)
        return cli_fail(c, ERR_NOMEM, "out of memory");
    if (strcmp(name, "-") == 0)
        return 0;
    in->name = name;
    in->fd = open(name, O_RDONLY | O_CLOEXEC);
    if (in->fd < 0)
        return cli_fail(c, ERR_NOT_FOUND, "%s: %s", name, strerror(errno));
    if (pread(in->fd, in->chunk, 16, 0) == 16 && /* a pipe has no start */
        memcmp(in->chunk, "SQLite format 3", 16) == 0)
        return cli_fail(c, ERR_INVALID, "%s: an SQLite file: write its tasks "
                        "out as JSON first, such as by sqlite3 -json %s "
                        "'select * from tasks'", name, name);
    return 0;
}

int
admin_import(struct cli *c, int argc, char **argv)
{
    struct import im = {.c = c, .in.fd = -1};
    const struct cli_opt opt = {"strict", 0, OPT_FLAG, &im.strict};
    int rc = cli_options(c, &opt, 1, &argc, argv, 1, 1);

    if (rc == 0)
        rc = open_input(c, &im.in, argv[1]);
    if (rc == 0)
        rc = cli_open(c, false);
    if (rc == 0) {
        rc = import_all(&im);
        rc = rc < 0 ? cli_fail_store(c, rc) : im.end;
        put_import(&im);
    }
    if (im.in.fd > STDIN_FILENO)
        close(im.in.fd);
    free(im.in.chunk);
    buf_fini(&im.in.piece);
    buf_fini(&im.text);
    return rc == 0 && im.failed > 0 ? CLI_NOT_MET : rc;
}
