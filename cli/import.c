/* import - adds tasks from JSON, or from files of Backlog.md.

   The input may be anything, of any length: memory holds one piece of it, one
   batch of records, and a few bytes for each id. A bad record is reported and
   counted, and the import goes on.

   1. Input is read, and contents are stored, before the write lock is taken: it
      may come from a pipe that nobody writes to.
   2. The counts printed at the end are of records on disk, and so are the tasks
      that were not taken over exactly.
   3. Each piece is judged by itself, whatever others are. */

#include "cli/import.h"
#include "cli/backlog.h"
#include "cli/fit.h"
#include "cli/foreign.h"
#include "cli/input.h"
#include "cli/store.h"
#include "cli/text.h"
#include "cli/twins.h"
#include "store/record.h"
#include "task/change.h"
#include "task/query.h"
#include "base/clock.h"
#include "base/text.h"
#include "base/utf8.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define IMPORT_RECORDS 5000        /* in one commit, at most */
#define IMPORT_BYTES (1024 * 1024) /* of records in memory, about */
#define BAD_MAX 5   /* bad records that are shown without --json */
#define TOLD_MAX 20 /* the same of tasks that are not taken over exactly */
#define STATE_MAX ((size_t)276 * 1024) /* bytes of a task that fits whole */

struct import {
    struct cli *c;
    struct input in;
    struct foreign foreign;
    struct twins twins;
    struct str by;  /* who created tasks that have no author */
    uint64_t first; /* seq of the first record of this import */
    int end;        /* the exit code, unless 0 */
    bool stop;
    struct buf text;  /* of one batch: its tasks, as task_import takes them, */
    struct buf notes; /* and their notes, each behind the id */
    struct piece {
        const char *name; /* of its input */
        enum input_form form;
        uint64_t number;
        size_t at, len, note_at, id_len, note_len;
        bool newer; /* an older state of the task came before */
        bool taken;
        struct str cycle; /* the field that leads back to the task */
    } piece[IMPORT_RECORDS];
    size_t n;    /* number of pieces */
    size_t done; /* of these, committed */
    uint64_t imported;
    struct arena a; /* of the piece that is being read */
    struct counts {
        uint64_t skipped, failed;
        uint64_t n_archive; /* records of an archive so far, */
        bool archive;       /* while within them */
    } counts;
    uint64_t strangers; /* records of no kind that is known */
    uint64_t n_told;    /* tasks not taken over exactly, */
    struct buf told;    /* and lines about the first of them */
    bool folder;        /* of which ... */
    size_t n_files;     /* ... so many files were read */
    bool again; /* the batch is tried again */
};

/* ---- what is told ---- */

/* Reports an error in a record; returns the exit code for err. */
static int
say(const struct import *im, const struct piece *p, int err, struct str what)
{
    if (p->form == INPUT_MARKDOWN || p->form == INPUT_UNKNOWN)
        return cli_fail(im->c, err, "%s: %.*s", p->name, STR_ARG(what));
    return cli_fail(im->c, err, "%s: %s %llu: %.*s", p->name,
                    p->form == INPUT_ARRAY ? "element" : "line",
                    (unsigned long long)p->number, STR_ARG(what));
}

/* Reports and counts a bad record. */
static void
bad_record(struct import *im, const struct piece *p, struct str what)
{
    if (!im->again && (im->c->json || im->counts.failed < BAD_MAX))
        say(im, p, ERR_INVALID, what);
    im->counts.failed++;
    im->stop |= im->c->args.strict;
}

/* The piece that is being read. */
static struct piece
here(const struct import *im)
{
    return (struct piece){.name = im->in.name, .form = im->in.form,
                          .number = im->in.number};
}

static void
bad_here(struct import *im, struct str what)
{
    struct piece p = here(im);

    bad_record(im, &p, what);
}

/* Counts a task that is here already. */
static void
known_task(struct import *im, const struct piece *p)
{
    im->counts.skipped++;
    if (!im->c->args.strict)
        return;
    im->stop = true;
    im->end = say(im, p, ERR_EXISTS, STR("the task exists: without --strict "
                                         "it is skipped"));
}

/* Tells how a task is not as it was. */
static void
tell_change(struct import *im, struct str id, struct str note)
{
    struct buf *b = im->c->json ? &im->c->out : &im->told;
    struct json_w w;

    if (im->c->json) {
        json_begin(&w, b);
        json_put_str(&w, "task_id", id);
        json_put_str(&w, "note", note);
        json_end(&w);
        buf_char(b, '\n');
        cli_drain(im->c);
    } else if (im->n_told < TOLD_MAX) {
        buf_printf(b, "  %.*s: %.*s\n", STR_ARG(id), STR_ARG(note));
    }
    im->n_told++;
}

#define COUNTS "{imported} imported, {skipped} skipped, {failed} failed"

static void
put_summary(struct import *im)
{
    struct cli *c = im->c;
    uint64_t more = im->n_told > TOLD_MAX ? im->n_told - TOLD_MAX : 0;

    cli_tell(c, im->stop && c->args.strict
                        ? COUNTS "; stopped there; to continue, import again "
                          "without --strict\n"
                        : COUNTS "\n",
             "imported=" U64 " skipped=" U64 " failed=" U64,
             im->imported, im->counts.skipped, im->counts.failed);
    if (c->json)
        return;
    if (im->counts.failed > BAD_MAX)
        buf_printf(&c->out, "only the first %d of " U64 " errors are shown; "
                   "pass --json for all\n", BAD_MAX, im->counts.failed);
    if (im->n_told > 0)
        buf_z(&c->out, "not imported exactly:\n");
    buf_str(&c->out, buf_view(&im->told));
    if (more > 0)
        buf_printf(&c->out, "  and %llu more; pass --json for all\n",
                   (unsigned long long)more);
    if (c->out.err == 0)
        c->out.err = im->told.err;
}

/* ---- from records to tasks ---- */

static bool
is_of_store(int err)
{
    return err == ERR_NOMEM || err == ERR_BUSY || err == ERR_FULL ||
           err == ERR_IO || err == ERR_READONLY || err == ERR_DAMAGED ||
           err == ERR_UNREACHABLE || err == ERR_SKEW;
}

#define CUT "records of the archive before it are missing"

/* Whether a piece is a line of a log, damaged or not: a task may have a member
   c, too. */
static bool
is_record(const struct import *im, struct str piece)
{
    static const char begin[] = "{\"c\":\"";
    struct record_header h;
    uint32_t crc;

    if (!str_starts(piece, begin))
        return false;
    if (im->counts.archive || (record_parse_header(piece, &h) == ERR_FORMAT &&
                               h.version > 0))
        return true;
    piece = str_from(piece, sizeof(begin) - 1);
    return piece.len > 8 && text_hex32(piece.p, &crc) &&
           str_starts(str_from(piece, 8), "\",\"g\":");
}

/* Whether a line of a log is a task in an archive; its state is then in *root.
   Other logs hold many records of each task: export finds the newest. */
static bool
take_record(struct import *im, struct str line, const struct json_tok **root)
{
    struct record_header h;
    struct store_rec r;
    bool ok = record_parse(line, &r) == 0;
    bool header = ok && str_is(r.key, RECORD_KEY_LOG);
    bool end = ok && str_is(r.key, RECORD_KEY_END);

    if ((!ok || header) && record_parse_header(line, &h) == ERR_FORMAT &&
        h.version > 0) {
        im->stop = true;
        bad_here(im, STR("a log of a later version of mcptask; import it with "
                         "that version"));
        return false;
    }
    if (im->counts.archive && (header || (end && record_end_count(&r) !=
                                              im->counts.n_archive)))
        bad_here(im, STR(CUT));
    if (header || end) {
        im->counts.archive = header && record_archives(&r);
        im->counts.n_archive = 0;
    }
    im->counts.n_archive += ok && im->counts.archive && !header;
    if (!ok || !(im->counts.archive || end))
        bad_here(im, ok ? STR("a log, but not an archive: import what export "
                              "writes of it")
                        : STR("the record is damaged"));
    im->stop |= header && !im->counts.archive;
    *root = json_get(*root, "v");
    return ok && im->counts.archive && !header && *root != NULL;
}

/* Parses a piece. Returns 1, 0 where it is no task, or ERR_NOMEM. */
static int
parse_piece(struct import *im, struct str text, const struct json_tok **root)
{
    bool md = im->in.form == INPUT_MARKDOWN;
    struct arena *a = &im->a;
    size_t at = 0;
    int rc = md ? cli_backlog(a, text, &text) : 0;

    if (rc == 0)
        rc = json_parse(a, text, root, &at);
    if (rc == ERR_NOMEM)
        return rc;
    if (rc < 0 && md)
        bad_here(im, STR("no front matter between two lines of ---"));
    else if (rc < 0)
        bad_here(im, arena_printf(a, rc == ERR_TOO_LARGE
                          ? "too many values, or too deep, at byte %zu"
                          : "not JSON from byte %zu on", at + 1));
    return rc == 0 && (md || !is_record(im, text) ||
                       take_record(im, text, root));
}

#define KINDS "a task has task_id and title, an issue of beads id, title and " \
    "priority, a task of taskwarrior uuid, description and entry, one of " \
    "Taskmaster id, title and subtasks"

/* Reports a record of no kind that is known; only the first of them. */
static void
report_stranger(struct import *im, const struct json_tok *t)
{
    const struct json_tok *m = t + 1;
    struct buf b = {0};

    if (im->strangers++ > 0 && !im->c->json) {
        im->counts.failed++;
        im->stop |= im->c->args.strict;
        return;
    }
    buf_z(&b, "there is no task_id; it has ");
    for (uint32_t i = 0; i < t->n && i < 5; i++, m += 1 + m[1].span)
        buf_printf(&b, "%s%.*s", i > 0 ? ", " : "",
                   STR_ARG(utf8_cut((struct str){m->p, m->len}, 40)));
    if (t->n == 0)
        buf_z(&b, "nothing");
    else if (t->n > 5)
        buf_z(&b, " and more");
    buf_z(&b, ": " KINDS);
    bad_here(im, b.err == 0 ? buf_view(&b) : STR("there is no task_id"));
    buf_fini(&b);
}

/* Whether the store has another task of this id: *how it is another, or
   NULL. */
static int
is_taken(struct import *im, const struct fit *f, struct str id,
         const char **how)
{
    struct arena *a = &im->a;
    struct str born = f->args.v[F_CREATED_AT];
    struct task_event ev;
    struct task k;
    int rc = task_event_last(im->c->s.tasks, a, id, &ev);

    *how = NULL;
    if (rc == 0)
        rc = task_of(im->c->s.tasks, a, &ev, &k);
    if (rc == 0 && born.p != NULL && !str_eq(born, k.f[F_CREATED_AT]))
        *how = "was created at another time";
    if (rc == 0 && born.p == NULL &&
        !str_eq(f->args.v[F_TITLE], k.f[F_TITLE]))
        *how = "has another title";
    return rc == ERR_NOMEM ? rc : 0;
}

static int import_batch(struct import *im);

/* Adds a task to the batch. text is what to import, .p NULL: what f has. */
static int
add_piece(struct import *im, const struct fit *f, struct str text,
          const struct json_tok *task, struct str id, bool newer)
{
    int rc = im->n == IMPORT_RECORDS ? import_batch(im) : 0;
    struct piece *p = &im->piece[im->n];

    if (rc != 0)
        return rc;
    *p = here(im);
    p->at = im->text.len;
    p->newer = newer;
    p->note_at = im->notes.len;
    if (text.p != NULL)
        buf_str(&im->text, text);
    else
        fit_put(f, &im->text, raw_quote(&im->a, id), task);
    p->len = im->text.len - p->at;
    p->id_len = id.len;
    p->note_len = f->notes.len;
    buf_str(&im->notes, id);
    buf_str(&im->notes, buf_view(&f->notes));
    im->n++;
    if (im->text.err != 0)
        return im->text.err;
    return im->notes.err != 0 ? im->notes.err : f->notes.err;
}

/* Finds the id that a task gets, and adds it to the batch unless it comes in
   vain. text as in add_piece. */
static int
place(struct import *im, struct fit *f, struct str text,
      const struct foreign_task *ft)
{
    const struct str *v = f->args.v;
    struct str id = raw_inner(v[F_TASK_ID]), was = ft->id.p ? ft->id : id;
    /* Two files are two tasks, unless their titles are the same. */
    size_t title = im->in.form == INPUT_MARKDOWN ? v[F_TITLE].len : 0;
    struct twin_of of = {.was = was, .state = json_raw(ft->record),
                         .changed_ms = ft->updated_ms};
    size_t n_renamed = im->twins.n_renamed;
    const char *how = NULL;
    struct piece p;
    int rc;

    of.born = arena_printf(&im->a, "%.*s%.*s", STR_ARG(v[F_CREATED_AT]),
                           (int)title, v[F_TITLE].p);
    rc = of.born.p != NULL ? twins_add(&im->twins, &im->a, &id, &of)
                           : ERR_NOMEM;
    im->foreign.renamed = im->twins.renamed;
    im->foreign.n_renamed = im->twins.n_renamed;
    if (rc == ERR_NOMEM)
        return rc;
    if (rc == TWIN_SAME || rc == TWIN_OLDER) {
        p = here(im);
        known_task(im, &p);
        if (rc == TWIN_OLDER)
            tell_change(im, id,
                        STR("it came twice; the older one was omitted"));
        return 0;
    }
    if (rc == TWIN_NEWER)
        fit_note(&f->notes, "it came twice; this is the newer one");
    else if (rc >= 0 && is_taken(im, f, id, &how) != 0)
        return ERR_NOMEM;
    if (rc < 0 || how != NULL) {
        bad_here(im, rc < 0 ? STR("too many tasks before it have its id")
                 : arena_printf(&im->a, "a task %.*s exists, and %s",
                                STR_ARG(id), how));
        return 0;
    }
    if (rc == TWIN_OTHER)
        fit_note(&f->notes, "its id was \"%.*s\", which another task has: "
                 "references %s mean that one", STR_ARG(utf8_cut(was, 64)),
                 im->twins.n_renamed > n_renamed ? "that came before it"
                                                 : "to it");
    if (!str_eq(id, raw_inner(v[F_TASK_ID])))
        text = STR_NONE; /* it has the other id */
    return add_piece(im, f, text, ft->task, id, rc == TWIN_NEWER);
}

/* Reports what is wrong with a task. */
static void
refused(struct import *im, struct task_ctx *x, const struct foreign_task *ft)
{
    struct str why = ft->task->type == JSON_OBJECT ? x->e.message
                                                   : STR("it is not an object");

    if (ft->of == NULL && ft->task->type == JSON_OBJECT &&
        json_get(ft->task, "task_id") == NULL) {
        if (json_get(ft->record, "task_id") == NULL)
            report_stranger(im, ft->task);
        else
            bad_here(im, STR("task_id is empty"));
        return;
    }
    bad_here(im, ft->of == NULL ? why
             : arena_printf(x->a, "%.*s (it was read as a task of %s)",
                            STR_ARG(why), ft->of));
}

/* Makes a record one that fits, and adds it. piece: all of its input. */
static int
fit_record(struct import *im, struct foreign_task *ft, struct str piece)
{
    struct fit f = {.c = im->c, .a = &im->a};
    struct task_ctx x = {.a = &im->a, .at = im->c->env->project};
    int rc = 0;

    buf_str(&f.notes, ft->notes);
    if (im->in.form == INPUT_MARKDOWN && !utf8_is_valid(piece)) {
        fit_note(&f.notes, "its file is not UTF-8, and kept whole as an "
                 "artifact");
        rc = fit_keep(&f, STR("imported.md"), piece);
    }
    if (rc == 0)
        rc = fit_take(&f, &x, ft->task);
    if (f.failed != 0) {
        im->end = f.failed;
        im->stop = true;
        rc = 0;
    } else if (rc == 0) {
        rc = place(im, &f, STR_NONE, ft);
    } else if (rc != ERR_NOMEM) {
        refused(im, &x, ft);
        rc = 0;
    }
    fit_fini(&f);
    return rc;
}

/* A task as export writes it is taken as it is, unless it may refer to one that
   got another id. Returns 1; 0: it is none; or ERR_NOMEM. */
static int
take_exact(struct import *im, const struct json_tok *root)
{
    struct fit f = {.c = im->c, .a = &im->a};
    struct task_ctx x = {.a = &im->a, .at = im->c->env->project};
    struct str text = json_raw(root), updated;
    struct foreign_task ft = {.task = root, .record = root};
    int rc;

    if (im->foreign.statuses[0] != NULL || im->foreign.priorities[0] != NULL ||
        im->foreign.n_renamed > 0 || text.len > STATE_MAX ||
        json_get(root, "task_id") == NULL)
        return 0;
    rc = task_args_parse(&x, TOOL_IMPORT, root, &f.args);
    if (rc != 0)
        return rc == ERR_NOMEM ? rc : 0;
    updated = json_str(x.a, json_get(root, "updated_at"));
    if (!task_time_parse(updated, &ft.updated_ms))
        ft.updated_ms = 0;
    rc = place(im, &f, text, &ft);
    fit_fini(&f);
    return rc == 0 ? 1 : rc;
}

/* Takes the tasks of one piece into the batch. */
static int
take_tasks(struct import *im, struct str text)
{
    enum foreign_kind kind = FOREIGN_ANY;
    struct foreign_task ft = {.n_subs = 0};
    const struct json_tok *root;
    int rc = parse_piece(im, text, &root);

    if (rc <= 0)
        return rc;
    if (im->in.form == INPUT_MARKDOWN)
        kind = FOREIGN_BACKLOG;
    else if (im->in.list > 0)
        kind = FOREIGN_TASKMASTER;
    if (im->folder && json_get(root, "id") == NULL &&
        json_get(root, "status") == NULL)
        return 0; /* another document */
    rc = kind == FOREIGN_ANY ? take_exact(im, root) : 0;
    if (rc != 0)
        return rc < 0 ? rc : 0;
    for (uint32_t sub = 0; sub <= ft.n_subs && rc == 0 && !im->stop; sub++) {
        rc = foreign_take(&im->a, &im->foreign, kind, im->in.tag, root, sub,
                          &ft);
        if (rc == 0)
            rc = fit_record(im, &ft, text);
        else if (rc == ERR_TOO_LARGE)
            bad_here(im, STR("too many values"));
        rc = rc == ERR_TOO_LARGE ? 0 : rc;
    }
    return rc;
}

/* ---- batches ---- */

/* A field leads back to the task itself: it becomes imported_NAME. A task that
   could never begin is not ready, still. */
static int
cut_cycle(struct arena *a, const struct json_tok **task, struct str name)
{
    const struct json_tok *m = *task + 1;
    struct str text, key;
    struct buf b = {0};
    struct json_w w;

    json_begin(&w, &b);
    for (uint32_t i = 0; i < (*task)->n; i++, m += m[1].span + 1) {
        key = json_str(a, m);
        if (str_eq(key, name))
            key = arena_printf(a, "imported_%.*s", STR_ARG(name));
        json_key_str(&w, key);
        json_splice(&w, json_raw(m + 1));
        b.err = key.p == NULL ? ERR_NOMEM : b.err;
    }
    if (str_is(name, "depends_on")) {
        json_put_arr(&w, "depends_on");
        json_z(&w, "status:cycle");
        json_close(&w);
    }
    json_end(&w);
    text = buf_take(&b, a);
    return text.p == NULL ? ERR_NOMEM : json_parse(a, text, task, NULL);
}

/* Stages or skips a piece, or counts it as bad. Returns 0, or an error of the
   store. */
static int
import_one(struct import *im, struct piece *p)
{
    struct task_ctx x = {.a = &im->c->a, .at = im->c->env->project,
                         .who.self = im->by, .unread = true,
                         .replaces = p->newer ? im->first : 0};
    struct str text = {im->text.p + p->at, p->len};
    struct task_receipt receipt;
    const struct json_tok *task;
    int rc = json_parse(x.a, text, &task, NULL);

    p->cycle = STR_NONE;
    if (rc == 0)
        rc = task_import(im->c->s.tasks, &x, task, &receipt);
    for (int i = 0; i < 2 && rc == ERR_CYCLE; i++) {
        p->cycle = x.e.field;
        rc = cut_cycle(x.a, &task, x.e.field);
        if (rc == 0)
            rc = task_import(im->c->s.tasks, &x, task, &receipt);
    }
    p->taken = rc == 0;
    if (rc == ERR_EXISTS)
        known_task(im, p);
    else if (is_of_store(rc))
        return rc;
    else if (rc < 0)
        bad_record(im, p, x.e.message);
    return 0;
}

/* Counts a piece that is on disk, and tells how it is not as it was. */
static void
count_taken(struct import *im, const struct piece *p)
{
    struct str id = {im->notes.p + p->note_at, p->id_len}, note = STR_NONE;

    if (p->note_len > 0)
        note = (struct str){id.p + id.len, p->note_len};
    if (p->cycle.p != NULL)
        note = arena_printf(&im->c->a, "%.*s%s%.*s leads back to the task",
                            STR_ARG(note), note.len > 0 ? "; " : "",
                            STR_ARG(p->cycle));
    if (!p->taken)
        return;
    im->imported += !p->newer; /* else it is counted already */
    if (note.len > 0)
        tell_change(im, id, note);
}

/* Commits as many pieces as the store takes at once, or nothing where the
   import is to stop. The counts grow by what is then on disk. ERR_AGAIN: others
   were first. */
static int
try_batch(struct import *im)
{
    struct cli *c = im->c;
    bool unknown = false;
    size_t i = im->done;
    int done = 0, rc = store_lock_patiently(c->s.store);

    if (rc == 0 && im->first == 0)
        im->first = store_next_n(c->s.store);
    for (; i < im->n && rc == 0 && !im->stop &&
           !store_batch_is_full(c->s.store); i++) {
        rc = import_one(im, &im->piece[i]);
        arena_reset(&c->a);
    }
    task_import_end();
    if (im->stop)
        store_unstage(c->s.store, 0);
    if (store_locked(c->s.store)) {
        done = cli_commit(c, &unknown);
        rc = rc == 0 || done == ERR_AGAIN ? done : rc;
    }
    for (size_t k = im->done; done == 0 && !im->stop && k < i; k++)
        count_taken(im, &im->piece[k]);
    arena_reset(&c->a);
    im->done = rc == 0 ? i : im->done;
    return rc;
}

static int
import_batch(struct import *im)
{
    int rc = 0;

    while (rc == ERR_AGAIN || (rc == 0 && im->done < im->n && !im->stop)) {
        struct counts before = im->counts;

        rc = try_batch(im);
        im->again = rc == ERR_AGAIN; /* bad records have been reported */
        if (im->again) {
            im->counts = before;
            im->stop = false;
        }
    }
    im->n = im->done = 0;
    buf_reset(&im->text, IMPORT_BYTES + INPUT_MAX);
    buf_reset(&im->notes, IMPORT_BYTES);
    return rc;
}

/* Takes one piece into the batch. */
static int
take_piece(struct import *im)
{
    struct input *in = &im->in;
    struct str text = buf_view(&in->piece);
    int rc = 0;

    if (in->long_piece)
        bad_here(im, STR("longer than 2 MiB"));
    else if (text.len > 0)
        rc = take_tasks(im, text);
    else if (in->form == INPUT_ARRAY && !(in->closed && in->number == 1))
        bad_here(im, STR("the element is missing"));
    arena_reset(&im->a);
    return rc;
}

/* Reads the input, and commits whenever there is enough for a batch. Returns 0,
   ERR_NOMEM, or an error of the store; *got is what input_next returned
   last. */
static int
read_pieces(struct import *im, int *got)
{
    int rc = 0;

    while (rc == 0 && !im->stop && (*got = input_next(&im->in)) == 1) {
        rc = take_piece(im);
        if (im->in.size > 0)
            cli_progress(im->c, (uint64_t)im->in.read, (uint64_t)im->in.size);
        if (rc == 0 && (im->n == IMPORT_RECORDS || im->stop ||
                        im->text.len >= IMPORT_BYTES))
            rc = import_batch(im);
    }
    return rc == 0 && *got == ERR_NOMEM ? ERR_NOMEM : rc;
}

/* Reports an input that ends too early, or cannot be read. */
static void
end_input(struct import *im, int got)
{
    if (im->counts.archive && got == 0)
        bad_here(im, STR(CUT ", and its end"));
    if (got == ERR_INCOMPLETE)
        bad_here(im, STR("the input ends within the array"));
    else if (got == ERR_SYNTAX)
        bad_here(im, STR("there is text after the array"));
    else if (got < 0)
        im->end = cli_fail(im->c, ERR_INVALID, "%s: %s", im->in.name,
                           strerror(im->in.err));
}

static int
import_all(struct import *im)
{
    int got = 1, rc;

    input_begin(&im->in);
    if (im->in.form == INPUT_UNKNOWN)
        return cli_fail(im->c, ERR_INVALID, "%s: this looks like %s\nimport "
                        "reads JSON of mcptask, mcp-task-server, beads, "
                        "taskwarrior and Taskmaster, and Markdown files of "
                        "Backlog.md", im->in.name, input_looks(&im->in));
    rc = read_pieces(im, &got);
    if (rc == 0)
        rc = import_batch(im);
    if (rc == 0 && !im->stop)
        end_input(im, got);
    return rc;
}

static int
open_input(struct cli *c, struct input *in, const char *name)
{
    struct stat st;

    in->fd = STDIN_FILENO;
    in->name = "standard input";
    if (strcmp(name, "-") == 0)
        return 0;
    in->name = name;
    in->fd = open(name, O_RDONLY | O_CLOEXEC);
    if (in->fd < 0)
        return cli_fail_errno(c, ERR_INVALID, name);
    if (fstat(in->fd, &st) == 0)
        in->size = st.st_size;
    return 0;
}

/* ---- a folder of Backlog.md ---- */

/* A file or a folder that cannot be read counts as a bad record. */
static void
count_unreadable(struct import *im)
{
    im->n_files++;
    im->counts.failed++;
    im->stop |= im->c->args.strict;
}

/* Takes the file in, if front matter opens it. */
static int
import_file(struct import *im, const char *path)
{
    int got = 0, rc = open_input(im->c, &im->in, path);

    if (rc != 0) {
        count_unreadable(im);
        return 0;
    }
    input_begin(&im->in);
    im->n_files += im->in.form == INPUT_MARKDOWN;
    if (im->in.form == INPUT_MARKDOWN)
        rc = read_pieces(im, &got);
    if (rc == 0)
        end_input(im, got);
    close(im->in.fd);
    im->in.fd = -1;
    return rc;
}

/* Whether a folder's entry may be a task: not what editors leave. */
static bool
is_markdown(const char *name)
{
    size_t n = strlen(name);

    return n > 3 && name[0] != '.' && strcmp(name + n - 3, ".md") == 0;
}

static int
by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Lists the Markdown files of a folder, which need not exist: in each element
   of list is a path. */
static void
list_files(struct import *im, const char *path, struct buf *list)
{
    struct arena *a = &im->c->kept; /* errors name the file later */
    DIR *dir = opendir(path);
    bool failed = dir == NULL && errno != ENOENT && errno != ENOTDIR;
    struct dirent *e;
    const char *name;

    while (dir != NULL && list->err == 0) {
        errno = 0;
        e = readdir(dir);
        failed = e == NULL && errno != 0;
        if (e == NULL)
            break;
        if (!is_markdown(e->d_name))
            continue;
        name = arena_printf(a, "%s/%s", path, e->d_name).p;
        buf_put(list, &name, sizeof(name));
        list->err = name == NULL ? ERR_NOMEM : list->err;
    }
    if (failed) {
        cli_fail_errno(im->c, ERR_NOT_FOUND, path);
        count_unreadable(im);
    }
    if (dir != NULL)
        closedir(dir);
}

/* Takes the Markdown files of a folder in, in order, so that an import that is
   repeated meets them alike. */
static int
import_files(struct import *im, const char *path)
{
    struct buf list = {.err = path == NULL ? ERR_NOMEM : 0};
    char **all;
    struct stat st;
    size_t i, n;
    int rc;

    if (path != NULL)
        list_files(im, path, &list);
    rc = list.err;
    all = (char **)(void *)list.p;
    n = list.len / sizeof(*all);
    if (rc == 0 && n > 0)
        qsort(all, n, sizeof(*all), by_name);
    for (i = 0; i < n && rc == 0 && !im->stop; i++)
        if (stat(all[i], &st) != 0 || S_ISREG(st.st_mode))
            rc = import_file(im, all[i]);
    buf_fini(&list);
    return rc;
}

/* The tasks are in folders of it, or in itself. */
static int
import_folder(struct import *im, const char *path)
{
    static const char *const inner[] = {"/tasks", "/completed", "/drafts", ""};
    int rc = 0;

    im->folder = true;
    for (size_t i = 0; i < (im->n_files > 0 ? 3 : 4) && rc == 0 && !im->stop;
         i++)
        rc = import_files(im, arena_printf(&im->c->kept, "%s%s", path,
                                           inner[i]).p);
    if (rc == 0)
        rc = import_batch(im);
    if (rc == 0 && im->n_files == 0)
        im->end = cli_fail(im->c, ERR_NOT_FOUND, "%s: no tasks of Backlog.md "
                           "here\nname the folder that holds tasks/, or a "
                           "file, such as .beads/issues.jsonl or "
                           ".taskmaster/tasks/tasks.json", path);
    return rc;
}

/* ---- the command ---- */

/* Checks the options that say what words mean. Returns 0, or an exit code after
   printing the error. */
static int
check_words(struct cli *c)
{
    const char *const *s = c->args.statuses, *const *n = c->args.priorities;
    const char *value;

    for (; *s != NULL; s++) {
        value = strrchr(*s, '=');
        if (value == NULL || value == *s ||
            task_status_of(str_of(value + 1)) < 0)
            return cli_misuse(c, "--status needs WORD=STATUS, with one of "
                              "open, in_progress, handoff_ready, "
                              "agent_exhausted, done, failed, cancelled");
    }
    for (; *n != NULL; n++) {
        value = strrchr(*n, '=');
        if (value == NULL || value == *n || value[1] < '0' ||
            value[1] > '4' || value[2] != '\0')
            return cli_misuse(c, "--priority needs WORD=N, from 0, most "
                              "urgent, to 4");
    }
    return 0;
}

int
cli_import(struct cli *c)
{
    struct import im = {.c = c, .in.fd = -1, .by = str_of(env_person(c->env)),
                        .foreign = {.statuses = c->args.statuses,
                                    .priorities = c->args.priorities,
                                    .now_ms = clock_wall_ms()}};
    const char *path = c->operand[0];
    struct stat st;
    int rc = check_words(c);

    if (rc == 0 && c->env->read_only)
        rc = cli_fail_store(c, ERR_READONLY);
    if (rc == 0 && store_state(c->s.store)->err != 0)
        rc = cli_fail_store(c, store_state(c->s.store)->err);
    if (rc != 0)
        return rc;
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        rc = import_folder(&im, path);
    else if ((rc = open_input(c, &im.in, path)) == 0)
        rc = import_all(&im);
    if (rc <= 0) {
        rc = rc < 0 ? cli_fail_store(c, rc) : im.end;
        put_summary(&im);
    }
    if (im.in.fd > STDIN_FILENO)
        close(im.in.fd);
    input_fini(&im.in);
    twins_fini(&im.twins);
    arena_fini(&im.a);
    buf_fini(&im.text);
    buf_fini(&im.notes);
    buf_fini(&im.told);
    return rc == 0 && im.counts.failed > 0 ? CLI_NOT_MET : rc;
}
